-- Weights, frequencies and offsets against fits in 60 digits: test/data/weights_reference.py.
CREATE TABLE weights_rows (i serial, dataset text, y float8, weight float8, frequency float8, base float8, x float8[]);
\copy weights_rows (dataset, y, weight, frequency, base, x) FROM 'test/data/weights_rows.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE weights_fits (dataset text, kind text, intercept boolean, term text, estimate numeric, std_error numeric);
\copy weights_fits FROM 'test/data/weights_fits.csv' WITH (FORMAT csv, HEADER)
ANALYZE weights_rows;
CREATE VIEW weights_cases AS
SELECT dataset, f.kind, f.intercept, r.weights, r.frequencies, r.offsets
FROM (SELECT DISTINCT dataset, kind, intercept FROM weights_fits) f
JOIN (SELECT dataset, CASE WHEN count(weight) > 0 THEN 'weight' END AS weights,
             CASE WHEN count(frequency) > 0 THEN 'frequency' END AS frequencies,
             CASE WHEN count(base) > 0 THEN 'base' END AS offsets
      FROM weights_rows GROUP BY dataset) r USING (dataset);
SELECT kind, count(*) AS fits, count(weights) AS weights, count(frequencies) AS frequencies, count(offsets) AS offsets,
       count(*) FILTER (WHERE NOT intercept) AS no_intercept
FROM weights_cases GROUP BY kind ORDER BY kind;

-- A case as a query: the weight before the response, the frequency within the features, the offset last
CREATE FUNCTION weights_query(c weights_cases, also_from text, also_where text) RETURNS text LANGUAGE sql AS $$
    SELECT format('SELECT %sy, %sx%s FROM weights_rows%s WHERE dataset = %L%s', c.weights || ', ',
        c.frequencies || ', ',
                  ', ' || c.offsets, also_from, c.dataset, also_where)
$$;
CREATE FUNCTION weights_fit(c weights_cases, also_from text DEFAULT '', also_where text DEFAULT '') RETURNS gpu_model
LANGUAGE plpgsql AS $$
BEGIN
    IF c.kind = 'ols' THEN
        RETURN gpu_ols_fit(weights_query(c, also_from, also_where), c.intercept, weights => c.weights,
                           frequencies => c.frequencies);
    END IF;
    RETURN gpu_logreg_fit(weights_query(c, also_from, also_where), c.intercept, weights => c.weights,
                          frequencies => c.frequencies, offsets => c.offsets);
END
$$;

-- every case by every way that accepts it
CREATE TABLE weights_models (way text, dataset text, m gpu_model);
INSERT INTO weights_models SELECT 'query', dataset, weights_fit(c) FROM weights_cases c;
INSERT INTO weights_models SELECT 'query, volatile', dataset, weights_fit(c, also_where => ' AND random() >= 0')
FROM weights_cases c;
INSERT INTO weights_models
SELECT 'wls_agg', dataset, gpu_wls_agg(weight, y, VARIADIC x)
FROM weights_rows JOIN weights_cases USING (dataset) WHERE kind = 'ols' AND intercept AND weights IS NOT NULL
GROUP BY dataset;
INSERT INTO weights_models
SELECT 'wls_array_agg', dataset, gpu_wls_array_agg(weight, y, x)
FROM weights_rows JOIN weights_cases USING (dataset) WHERE kind = 'ols' AND intercept AND weights IS NOT NULL
GROUP BY dataset;
CREATE TABLE weights_states AS
SELECT 'wls_stats_agg' AS way, dataset, intercept, 0 AS part, gpu_wls_stats_agg(weight, y, VARIADIC x) AS s
FROM weights_rows JOIN weights_cases USING (dataset) WHERE kind = 'ols' AND weights IS NOT NULL
GROUP BY dataset, intercept
UNION ALL SELECT 'wls_stats_array_agg', dataset, intercept, 0, gpu_wls_stats_array_agg(weight, y, x)
FROM weights_rows JOIN weights_cases USING (dataset) WHERE kind = 'ols' AND weights IS NOT NULL
GROUP BY dataset, intercept
UNION ALL SELECT 'states merged', dataset, intercept, i % 7, gpu_wls_stats_agg(weight, y, VARIADIC x)
FROM weights_rows JOIN weights_cases USING (dataset) WHERE kind = 'ols' AND weights IS NOT NULL
GROUP BY dataset, intercept, i % 7
UNION ALL SELECT 'row by row', dataset, intercept, i, gpu_wls_stats_agg(weight, y, VARIADIC x)::text::gpu_ols_stats
FROM weights_rows JOIN weights_cases USING (dataset) WHERE kind = 'ols' AND weights IS NOT NULL
GROUP BY dataset, intercept, i
-- rows of weight 1 as unweighted ones, among weighted ones
UNION ALL SELECT 'plain and weighted', dataset, intercept, i % 3, gpu_wls_stats_agg(weight, y, VARIADIC x)
FROM weights_rows JOIN weights_cases USING (dataset) WHERE dataset = 'some weights of 1' AND weight <> 1
GROUP BY dataset, intercept, i % 3
UNION ALL SELECT 'plain and weighted', dataset, intercept, 3 + i % 2, gpu_ols_stats_agg(y, VARIADIC x)
FROM weights_rows JOIN weights_cases USING (dataset) WHERE dataset = 'some weights of 1' AND weight = 1
GROUP BY dataset, intercept, 3 + i % 2;
INSERT INTO weights_models
SELECT way, dataset, gpu_ols_solve(gpu_ols_rollup(s ORDER BY part), intercept) FROM weights_states
GROUP BY way, dataset, intercept;
INSERT INTO weights_models
SELECT 'plain and weighted, weighted first', dataset, gpu_ols_solve(gpu_ols_rollup(s ORDER BY part DESC), intercept)
FROM weights_states WHERE way = 'plain and weighted' GROUP BY dataset, intercept;
-- the query run for each pass, in the session's process alone
SET gpureg.device = cpu; SET gpureg.ring_size = '1MB'; SET jit = off;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SET max_parallel_workers = 0;
INSERT INTO weights_models SELECT 'pass', dataset, weights_fit(c, also_from => ', one_of_many()') FROM weights_cases c;
RESET ALL;
-- workers, and the rows through the ring
SET jit = off; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
INSERT INTO weights_models SELECT 'workers', dataset, weights_fit(c) FROM weights_cases c;
CREATE TABLE weights_by_workers AS
SELECT dataset, gpu_wls_agg(weight, y, VARIADIC x) AS m FROM weights_rows WHERE weight IS NOT NULL GROUP BY dataset;
INSERT INTO weights_models SELECT 'wls_agg, workers', dataset, m FROM weights_by_workers
JOIN weights_cases USING (dataset) WHERE kind = 'ols' AND intercept;
SET gpureg.debug_ring = on;
INSERT INTO weights_models SELECT 'ring', dataset, weights_fit(c) FROM weights_cases c;
RESET ALL;

-- A model's numbers by the references' names; 13 digits of them, and the fits with fewer
CREATE FUNCTION weights_lines(m gpu_model, intercept boolean)
RETURNS TABLE (term text, estimate float8, std_error float8)
LANGUAGE sql AS $$
    SELECT (j - intercept::int)::text, t.estimate, t.std_error
    FROM gpu_tidy(m) WITH ORDINALITY AS t(name, estimate, std_error, statistic, p_value, conf_low, conf_high,
        df, class, j)
    UNION ALL SELECT key, value::float8, NULL FROM gpu_glance(m) g, jsonb_each_text(to_jsonb(g))
    WHERE key NOT IN ('converged', 'family', 'link', 'vcov')
$$;
CREATE TABLE weights_digits AS
SELECT way, dataset, kind, term ~ '^\d+$' AS is_term, term, digits_or_null(l.estimate, f.estimate) AS estimate,
       digits_or_null(l.std_error, f.std_error) AS std_error
FROM weights_models JOIN weights_cases c USING (dataset) CROSS JOIN LATERAL
     (SELECT * FROM weights_fits f WHERE f.dataset = c.dataset) AS f(d, k, i, term, estimate, std_error)
LEFT JOIN LATERAL (SELECT * FROM weights_lines(m, c.intercept) l WHERE l.term = f.term) AS l(name, estimate, std_error)
    ON true;
SELECT way, kind, count(DISTINCT dataset) AS fits, min(estimate) FILTER (WHERE is_term) >= 13 AS estimates,
       min(std_error) FILTER (WHERE is_term) >= 13 AS std_errors,
       min(estimate) FILTER (WHERE NOT is_term) >= 13 AS summaries,
       string_agg(format('%s: %s of %s', round(least(estimate, std_error), 1), term, dataset), ', '
           ORDER BY dataset COLLATE "C", term COLLATE "C")
           FILTER (WHERE least(estimate, std_error) < 13) AS wrong
FROM weights_digits GROUP BY way, kind ORDER BY kind COLLATE "C", way COLLATE "C";
SELECT count(*), bool_and((m).log_lik = g.log_lik) AS log_lik, bool_and((m).converged) AS converged,
    max(cardinality((m).separated)) AS separated,
       max((m).n_skipped) AS n_skipped
FROM weights_models, gpu_glance(m) g;

-- published results of these fits, to a unit of the last digit (R's glm stops when the deviance changes by less than
-- 1e-8)
CREATE TEMP TABLE published (dataset text, term text, estimate numeric, std_error numeric);
INSERT INTO published VALUES
-- Weisberg, Applied linear regression, 3rd ed., 5.1
    ('physics', '0', 148.473, 8.079), ('physics', '1', 530.835, 47.550), ('physics', 'sigma', 1.657, NULL),
    ('physics', 'r_squared', 0.9397, NULL),
-- Venables and Ripley, Modern applied statistics with S, 4th ed., 7.2
    ('budworm', '0', -2.9935, 0.5527), ('budworm', '1', 0.1750, 0.7783), ('budworm', '2', 0.9060, 0.1671),
    ('budworm', '3', 0.3529, 0.2700),
    ('budworm', 'null_deviance', 124.8756, NULL), ('budworm', 'deviance', 4.9937, NULL),
    ('budworm', 'aic', 43.104, NULL),
-- Dobson, An introduction to generalized linear models, 2nd ed., 7.3
    ('beetles', '0', -60.717, 5.181), ('beetles', '1', 34.270, 2.912), ('beetles', 'deviance', 11.232, NULL),
    ('beetles', 'aic', 41.43, NULL),
--     R's glm of MASS's menarche and of UCBAdmissions
    ('menarche', '0', -21.22639, 0.77068), ('menarche', '1', 1.63197, 0.05895),
    ('menarche', 'null_deviance', 3693.884, NULL),
    ('menarche', 'deviance', 26.703, NULL), ('menarche', 'aic', 114.76, NULL),
    ('berkeley shares', '1', 0.09987, 0.08085), ('berkeley shares', '6', -3.30648, 0.16998),
    ('berkeley shares', 'null_deviance', 877.056, NULL),
    ('berkeley shares', 'deviance', 20.204, NULL), ('berkeley weights', '1', 0.09987, 0.08085),
    ('berkeley weights', 'null_deviance', 6044.3, NULL),
    ('berkeley weights', 'deviance', 5187.5, NULL), ('berkeley weights', 'aic', 5201.5, NULL),
    ('berkeley frequencies', '6', -3.30648, 0.16998),
    ('berkeley frequencies', 'deviance', 5187.5, NULL), ('berkeley frequencies', 'aic', 5201.5, NULL);
SELECT p.dataset, bool_and(abs(l.estimate::numeric - p.estimate) <= 10.0 ^ -scale(p.estimate)) AS estimates,
       bool_and(abs(l.std_error::numeric - p.std_error) <= 10.0 ^ -scale(p.std_error)) AS std_errors, count(*)
FROM published p JOIN weights_models w USING (dataset), weights_lines(m, true) l
WHERE way = 'query' AND l.term = p.term GROUP BY p.dataset ORDER BY p.dataset;

-- The fields in which two models differ by a bit, and the fields that differ by more than a tolerance
CREATE FUNCTION differing(a gpu_model, b gpu_model) RETURNS text LANGUAGE sql AS $$
    SELECT coalesce(string_agg(field, ' '), 'none') FROM (VALUES
        ('terms', (a).terms IS NOT DISTINCT FROM (b).terms), ('coef', (a).coef IS NOT DISTINCT FROM (b).coef),
        ('vcov', (a).vcov IS NOT DISTINCT FROM (b).vcov), ('n', (a).n IS NOT DISTINCT FROM (b).n),
        ('n_skipped', (a).n_skipped IS NOT DISTINCT FROM (b).n_skipped), ('rank', (a).rank
            IS NOT DISTINCT FROM (b).rank),
        ('df_residual', (a).df_residual IS NOT DISTINCT FROM (b).df_residual),
        ('deviance', (a).deviance IS NOT DISTINCT FROM (b).deviance),
        ('null_deviance', (a).null_deviance IS NOT DISTINCT FROM (b).null_deviance),
        ('iterations', (a).iterations IS NOT DISTINCT FROM (b).iterations),
        ('converged', (a).converged IS NOT DISTINCT FROM (b).converged),
        ('separated', (a).separated IS NOT DISTINCT FROM (b).separated),
        ('log_lik', (a).log_lik IS NOT DISTINCT FROM (b).log_lik)) AS t(field, same) WHERE NOT same
$$;
CREATE FUNCTION apart(a gpu_model, b gpu_model, tolerance float8) RETURNS text LANGUAGE sql AS $$
    SELECT coalesce(string_agg(field, ' '), 'none') FROM (VALUES
        ('coef', relative_difference((a).coef, (b).coef)),
        ('std_errors', relative_difference(std_errors(a), std_errors(b))),
        ('n', abs((a).n - (b).n)), ('rank', abs((a).rank - (b).rank)),
        ('df_residual', abs((a).df_residual - (b).df_residual)),
        ('deviance', relative_difference(ARRAY[(a).deviance], ARRAY[(b).deviance])),
        ('null_deviance', relative_difference(ARRAY[(a).null_deviance], ARRAY[(b).null_deviance])),
        ('log_lik', relative_difference(ARRAY[(a).log_lik], ARRAY[(b).log_lik]))) AS t(field, difference)
    WHERE NOT coalesce(difference <= tolerance, false)
$$;

-- Weights and frequencies of 1 change no bit, of any type and in any place; offsets of 0 change where a fit begins, and
-- so its last digits
SET max_parallel_workers_per_gather = 0;
CREATE TABLE weights_bits AS
SELECT i, (i * 7 + i / 3) % 5 < 2 AS y, 3 + sin(i) * 4 + i % 11 AS z, i % 20 AS a,
    CASE WHEN i % 50 <> 0 THEN sin(i) END AS b, (1e6 + i % 13)::real AS c,
       1::float8 AS one, 0::float8 AS zero
FROM generate_series(1, 3000) i;
ANALYZE weights_bits;
SELECT intercept, differing(m, gpu_ols_fit('SELECT one, z, a, b, c FROM weights_bits', intercept,
    weights => 'one')) AS weights,
       differing(m, gpu_ols_fit('SELECT z, 1 AS one, a, b, c FROM weights_bits', intercept,
           weights => 'one')) AS integers,
       differing(m, gpu_ols_fit('SELECT z, a, 1::real AS "One row", b, c FROM weights_bits', intercept,
           weights => 'One row')) AS singles,
       differing(m, gpu_ols_fit('SELECT z, a, b, c, 1.0 AS one FROM weights_bits', intercept,
           weights => 'one')) AS numerics,
       differing(m, gpu_ols_fit('SELECT z, a, b, c, one FROM weights_bits', intercept,
           frequencies => 'one')) AS frequencies,
       differing(m, gpu_ols_fit('SELECT z, a, b, c FROM weights_bits', intercept, weights => NULL,
           frequencies => NULL)) AS nulls
FROM unnest(ARRAY[true, false]) intercept, gpu_ols_fit('SELECT z, a, b, c FROM weights_bits', intercept) m;
SELECT differing(gpu_ols_agg(z, a, b, c), gpu_wls_agg(one, z, a, b, c)) AS agg,
       differing(gpu_ols_agg(z, a, b, c), gpu_wls_array_agg(one, z, ARRAY[a, b, c])) AS array_agg,
       differing(gpu_ols_agg(z, a, b, c), gpu_ols_solve(gpu_wls_stats_agg(one, z, a, b, c))) AS stats_agg,
       differing(gpu_ols_agg(z, a, b, c),
           gpu_ols_solve(gpu_wls_stats_array_agg(one, z, ARRAY[a, b, c]))) AS stats_array_agg
FROM weights_bits;
-- a fit that doesn't converge in so few iterations warns each time
SET client_min_messages = error;
SELECT solver, string_agg(DISTINCT differing(m, gpu_logreg_fit('SELECT one, y, a, b, c FROM weights_bits', intercept,
    l2, 40, solver => solver, weights => 'one')), ', ') AS weights,
       string_agg(DISTINCT differing(m, gpu_logreg_fit('SELECT y, one, a, b, c FROM weights_bits', intercept,
           l2, 40, solver => solver, frequencies => 'one')), ', ') AS frequencies,
       string_agg(DISTINCT apart(m, gpu_logreg_fit('SELECT y, a, b, zero, c FROM weights_bits', intercept, l2,
           40, solver => solver, offsets => 'zero'), 1e-9), ', ') AS offsets,
       string_agg(DISTINCT apart(m, gpu_logreg_fit('SELECT y, a, b, c, zero, one FROM weights_bits', intercept,
           l2, 40, solver => solver, weights => 'one', offsets => 'zero'), 1e-9), ', ') AS both
FROM (VALUES (1, 'newton'), (2, 'lbfgs'), (3, 'gd')) s(k, solver), unnest(ARRAY[true, false]) intercept,
    unnest(ARRAY[0, 0.5]) l2,
     gpu_logreg_fit('SELECT y, a, b, c FROM weights_bits', intercept, l2, 40, solver => solver) m
GROUP BY k, solver ORDER BY k;
RESET client_min_messages;
SET gpureg.device = cpu; SET gpureg.ring_size = '1MB'; SET jit = off;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SET max_parallel_workers = 0;
SELECT differing(gpu_logreg_fit('SELECT y, a, b, c FROM weights_bits, one_of_many()'),
                 gpu_logreg_fit('SELECT y, a, b, c, one FROM weights_bits, one_of_many()', weights => 'one')) AS pass;
RESET ALL;
SET max_parallel_workers_per_gather = 0;
SELECT differing(gpu_logreg_fit('SELECT y, a, b, c FROM weights_bits WHERE random() >= 0'),
                 gpu_logreg_fit('SELECT y, a, b, c, one FROM weights_bits WHERE random() >= 0',
                     weights => 'one')) AS file;
SELECT differing(gpu_ols_fit('SELECT price, carat, depth, "table", x, y, z FROM diamonds'),
                 gpu_ols_fit('SELECT price, carat, depth, "table", x, y, z, 1 AS w FROM diamonds',
                     weights => 'w')) AS diamonds,
       differing(gpu_logreg_fit($$SELECT cut = 'Ideal', carat, depth, "table", x, y, z FROM diamonds$$),
                 gpu_logreg_fit($$SELECT cut = 'Ideal', carat, depth, "table", x, y, z, 1 AS w FROM diamonds$$,
                     weights => 'w')) AS diamonds_logistic;

-- A row of weight or frequency 0 counts as absent
SELECT kind, count(*), string_agg(DISTINCT differing(weights_fit(c),
    weights_fit(c, also_where => ' AND coalesce(weight, frequency) > 0')), ', ') AS zeros
FROM weights_cases c WHERE dataset IN (SELECT dataset FROM weights_rows WHERE 0 IN (weight, frequency)) GROUP BY kind
ORDER BY kind;
SELECT count(*), string_agg(DISTINCT differing(a.m, p.m), ', ') AS zeros
FROM (SELECT dataset, gpu_wls_agg(weight, y, VARIADIC x ORDER BY i) AS m FROM weights_rows WHERE weight IS NOT NULL
    GROUP BY dataset) a
JOIN (SELECT dataset, gpu_wls_agg(weight, y, VARIADIC x ORDER BY i) AS m FROM weights_rows WHERE weight > 0
    GROUP BY dataset) p USING (dataset);
SELECT differing(gpu_ols_fit('SELECT price, carat, depth, x, (depth > 61)::int AS w FROM diamonds', weights => 'w'),
                 gpu_ols_fit('SELECT price, carat, depth, x FROM diamonds WHERE depth > 61')) AS diamonds,
       differing(gpu_ols_fit('SELECT price, carat, depth, x, (depth > 61)::int AS f FROM diamonds', frequencies => 'f'),
                 gpu_ols_fit('SELECT price, carat, depth, x FROM diamonds WHERE depth > 61')) AS frequencies;
-- a row with a NULL is left out, and counted
SELECT (gpu_ols_fit('SELECT nullif(i, 5) AS w, i % 5 AS y, i AS x FROM generate_series(0, 9) i',
    weights => 'w')).n_skipped AS weight,
       (gpu_ols_fit('SELECT nullif(i, 5) AS f, i % 5 AS y, i AS x FROM generate_series(0, 9) i',
           frequencies => 'f')).n_skipped AS frequency,
       (gpu_logreg_fit('SELECT i % 2 AS y, i AS x, nullif(i, 5) AS o FROM generate_series(0, 9) i',
           offsets => 'o')).n_skipped AS "offset";
SELECT (m).n, (m).n_skipped, (m).df_residual
FROM gpu_ols_fit('SELECT nullif(i, 5) AS w, i % 5 AS y, i AS x FROM generate_series(0, 9) i', weights => 'w') m;
SELECT (m).n, (m).n_skipped, (m).df_residual
FROM gpu_ols_fit('SELECT nullif(i, 5) AS f, i % 5 AS y, i AS x FROM generate_series(0, 9) i', frequencies => 'f') m;
SELECT (m).n, (m).n_skipped, (m).df_residual FROM (SELECT gpu_wls_agg(nullif(i, 5), i % 5, i) AS m
    FROM generate_series(0, 9) i) t;

-- Frequencies give the results of repeated rows
SELECT kind, count(*), string_agg(DISTINCT apart(weights_fit(c), r.m, 1e-14), ', ') AS apart
FROM weights_cases c, LATERAL (SELECT weights_fit((dataset, kind, intercept, NULL, NULL, offsets)::weights_cases,
    ', generate_series(1, frequency::int)') AS m) r
WHERE dataset IN ('frequencies', 'frequencies, no intercept', 'frequencies, collinear', 'class frequencies',
    'class frequencies, no intercept',
                  'frequencies and offset', 'berkeley frequencies')
GROUP BY kind ORDER BY kind;
SELECT solver, l2, apart(gpu_logreg_fit($$SELECT y, x, frequency FROM weights_rows
    WHERE dataset = 'class frequencies'$$, true, l2, 10000, solver => solver, frequencies => 'frequency'),
                         gpu_logreg_fit($$SELECT y, x FROM weights_rows, generate_series(1, frequency::int)
                             WHERE dataset = 'class frequencies'$$, true, l2, 10000, solver => solver), 1e-9) AS apart
FROM (VALUES (1, 'newton'), (2, 'lbfgs'), (3, 'gd')) s(k, solver), (VALUES (0), (0.5)) l(l2) ORDER BY k, l2;
-- weights give the results of repeated rows, except those that depend on the number of rows
SELECT kind, count(*), string_agg(DISTINCT apart(w.m, r.m, 1e-14), ', ') AS apart
FROM weights_cases c, LATERAL (SELECT weights_fit((dataset, kind, intercept, NULL, NULL, offsets)::weights_cases,
    ', generate_series(1, frequency::int)') AS m) r,
     LATERAL (SELECT CASE kind WHEN 'ols' THEN gpu_ols_fit(weights_query(c, '', ''), intercept, weights => frequencies)
                               ELSE gpu_logreg_fit(weights_query(c, '', ''), intercept, weights => frequencies,
                                   offsets => offsets) END) w(m)
WHERE dataset IN ('frequencies', 'frequencies, no intercept', 'class frequencies', 'class frequencies, no intercept',
    'frequencies and offset')
GROUP BY kind ORDER BY kind;
-- shares of trials give the results of their rows, except for deviances and log-likelihoods
CREATE TABLE trials AS SELECT a, 3 + a * 7 % 11 AS ones, (4 + a * 5 % 13)::float8 AS zeros
FROM generate_series(1, 12) a;
SELECT apart(gpu_logreg_fit('SELECT ones / (ones + zeros) AS y, a, ones + zeros AS trials FROM trials',
    weights => 'trials'),
             gpu_logreg_fit('SELECT k <= ones AS y, a FROM trials, generate_series(1, (ones + zeros)::int) k'),
             1e-13) AS apart;
-- weights in another unit
SELECT apart(gpu_ols_fit($$SELECT y, x, weight FROM weights_rows WHERE dataset = 'magnitudes'$$, weights => 'weight'),
             gpu_ols_fit($$SELECT y, x, weight * 1000 AS weight FROM weights_rows WHERE dataset = 'magnitudes'$$,
                 weights => 'weight'), 1e-13) AS apart;

-- An offset that is a multiple of columns changes their coefficients, or the intercept
SELECT relative_difference((a.m).coef, ARRAY[(b.m).coef[1] + 2] || (b.m).coef[2:]) < 1e-13 AS coef,
    apart(a.m, b.m, 1e-13) AS apart
FROM (SELECT gpu_logreg_fit($$SELECT y, x, base FROM weights_rows WHERE dataset = 'offset'$$, offsets => 'base')) a(m),
     (SELECT gpu_logreg_fit($$SELECT y, x, base + 2 AS base FROM weights_rows WHERE dataset = 'offset'$$,
         offsets => 'base')) b(m);
SELECT relative_difference((a.m).coef, ARRAY[(b.m).coef[1] - 3] || (b.m).coef[2:]) < 1e-13 AS coef,
    apart(a.m, b.m, 1e-13) AS apart
FROM (SELECT gpu_logreg_fit($$SELECT y, x, weight FROM weights_rows WHERE dataset = 'fractions'$$,
    weights => 'weight')) a(m),
     (SELECT gpu_logreg_fit($$SELECT y, x, weight, -3 AS base FROM weights_rows WHERE dataset = 'fractions'$$,
         weights => 'weight', offsets => 'base')) b(m);
SELECT relative_difference((a.m).coef, ARRAY[(b.m).coef[1], (b.m).coef[2] + 0.5] || (b.m).coef[3:]) < 1e-13 AS coef,
    apart(a.m, b.m, 1e-13) AS apart
FROM (SELECT gpu_logreg_fit($$SELECT y, x FROM weights_rows WHERE dataset = 'fractions'$$)) a(m),
     (SELECT gpu_logreg_fit($$SELECT y, x, x[1] / 2 AS base FROM weights_rows WHERE dataset = 'fractions'$$,
         offsets => 'base')) b(m);

-- Columns with a role are no features, and the response is the first of the others
SELECT (gpu_ols_fit('SELECT 1 + i % 3 AS w, sin(i) AS y, i AS a, i % 7 AS b FROM generate_series(1, 20) i',
    weights => 'w')).terms AS before,
       (gpu_ols_fit('SELECT sin(i) AS y, i AS a, 1 + i % 3 AS w, i % 7 AS b FROM generate_series(1, 20) i',
           weights => 'w')).terms AS between,
       (gpu_logreg_fit('SELECT 1 + i % 3 AS w, i % 5 AS o, (i * 7 + i / 3) % 5 < 2 AS y, i AS a FROM '
           'generate_series(1, 20) i', weights => 'w', offsets => 'o')).terms AS both;
SELECT differing(a.m, b.m) AS before, differing(a.m, c.m) AS between
FROM (SELECT gpu_ols_fit('SELECT 1 + i % 3 AS w, sin(i) AS y, i AS a, i % 7 AS b FROM generate_series(1, 20) i',
    weights => 'w')) a(m),
     (SELECT gpu_ols_fit('SELECT sin(i) AS y, i AS a, 1 + i % 3 AS w, i % 7 AS b FROM generate_series(1, 20) i',
         weights => 'w')) b(m),
     (SELECT gpu_ols_fit('SELECT sin(i) AS y, i AS a, i % 7 AS b, 1 + i % 3 AS w FROM generate_series(1, 20) i',
         weights => 'w')) c(m);
-- a weighted mean
SELECT abs((m).coef[1] - mean) < 1e-14 * abs(mean) AS mean, (m).terms
FROM gpu_ols_fit('SELECT y, weight FROM weights_rows WHERE dataset = ''magnitudes''', weights => 'weight') m,
     (SELECT (sum(y::numeric * weight::numeric) / sum(weight::numeric))::float8 FROM weights_rows
         WHERE dataset = 'magnitudes') t(mean);
-- a prediction needs the offset, but no weight
SELECT abs(gpu_predict(m, 1, 2, 3, 0) - 1 / (1 + exp(-((m).coef[1] + (m).coef[2] + 2 * (m).coef[3] + 3 * (m).coef[4]))))
    < 1e-15 AS predicted
FROM gpu_logreg_fit($$SELECT y, x, weight, base FROM weights_rows WHERE dataset = 'weights and offset'$$,
    weights => 'weight', offsets => 'base') m;

-- Groups, filters and frames
SELECT count(*), bool_and(differing(m, one) = 'none') AS same
FROM (SELECT dataset, gpu_wls_agg(weight, y, VARIADIC x ORDER BY i) FILTER (WHERE i % 3 <> 0) AS m FROM weights_rows
    WHERE weight > 0 GROUP BY dataset) g,
     LATERAL (SELECT gpu_wls_array_agg(weight, y, x ORDER BY i) AS one FROM weights_rows r
         WHERE weight > 0 AND i % 3 <> 0 AND r.dataset = g.dataset) o;
SELECT count(*), bool_and(differing(m, one) = 'none') AS same
FROM (SELECT i, gpu_wls_array_agg(weight, y, x) OVER (ORDER BY i ROWS 19 PRECEDING) AS m FROM weights_rows
    WHERE dataset = 'magnitudes') g,
     LATERAL (SELECT gpu_wls_agg(weight, y, VARIADIC x ORDER BY i) AS one FROM weights_rows r
         WHERE dataset = 'magnitudes' AND r.i BETWEEN g.i - 19 AND g.i) o;

-- Separation is tested among the rows that count; a share of both classes ends it
CREATE TABLE weights_sep AS
SELECT i, ((i * 7 + i / 3) % 5 < 2)::int AS y, i % 20 AS a, sin(i) AS b, (i % 12 = 0)::int AS d, 0.5 + i % 3 AS w
FROM generate_series(1, 240) i;
UPDATE weights_sep SET w = 0 WHERE d = 1 AND y = 0;
SET client_min_messages = error;
SELECT (m).separated, (m).converged, (m).coef[4] > 20 AS far_out, differing(m, p) AS zeros, (o).separated AS plain,
    (o).converged AS plain_converged
FROM gpu_logreg_fit('SELECT y, a, b, d, w FROM weights_sep', weights => 'w') m,
     gpu_logreg_fit('SELECT y, a, b, d, w FROM weights_sep WHERE w > 0', weights => 'w') p,
     gpu_logreg_fit('SELECT y, a, b, d FROM weights_sep') o;
SELECT (m).separated, (m).converged, relative_difference((m).coef[1:3], (p).coef) < 1e-12 AS others,
       relative_difference((std_errors(m))[1:3], std_errors(p)) < 1e-12 AS std_errors,
       abs((m).deviance / (p).deviance - 1) < 1e-12 AS deviance
FROM gpu_logreg_fit('SELECT y, a, b, d, w, b AS o FROM weights_sep', weights => 'w', offsets => 'o') m,
     gpu_logreg_fit('SELECT y, a, b, w, b AS o FROM weights_sep WHERE d = 0', weights => 'w', offsets => 'o') p;
SELECT (m).separated, differing(m, p) AS zeros
FROM gpu_logreg_fit('SELECT y, a, b, d, (w > 0)::int * 2 AS f FROM weights_sep', frequencies => 'f') m,
     gpu_logreg_fit('SELECT y, a, b, d, 2 AS f FROM weights_sep WHERE w > 0', frequencies => 'f') p;
RESET client_min_messages;
SELECT (m).separated, (m).converged
FROM gpu_logreg_fit('SELECT CASE i WHEN 12 THEN 0.75 ELSE y END AS y, a, b, d, CASE i WHEN 12 THEN 2 ELSE w END AS w '
    'FROM weights_sep', weights => 'w') m;
RESET max_parallel_workers_per_gather;

-- The rank is at most the number of rows, however often these are counted
SELECT count(*) FILTER (WHERE (m).rank > 4) AS wrong, max((m).n) AS n
FROM generate_series(1, 100) s, gpu_ols_fit(format($$
    SELECT sin(r * 7.1 * %1$s) AS y, x, 3 AS f FROM generate_series(1, 4) r,
        LATERAL (SELECT array_agg(CASE WHEN k < 5 THEN 100 * sin(r * %1$s) ELSE 0 END +
                                  CASE WHEN k < 5 THEN 10 ^ (-1 - %1$s %% 10) ELSE 1 END *
                                  sin(r * k * 3.3 + %1$s * 1.7 + k * k)) AS x FROM generate_series(1, 7) k) v$$, s),
    frequencies => 'f') m;

-- Workers, on more rows
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
CREATE TEMP TABLE weights_diamonds AS
SELECT gpu_ols_fit('SELECT price, carat, depth, x, 1 / (carat * carat) AS w FROM diamonds', weights => 'w') AS wls,
       gpu_ols_fit('SELECT price, carat, depth, x, (price % 7) AS f FROM diamonds', frequencies => 'f') AS frequencies,
       gpu_logreg_fit($$SELECT cut = 'Ideal', carat, depth, x, 1 / carat AS w, ln(price) - 8 AS o FROM diamonds$$,
           weights => 'w', offsets => 'o') AS logistic,
       gpu_logreg_fit($$SELECT cut = 'Ideal', carat, depth, x, (price % 7) AS f FROM diamonds$$,
           frequencies => 'f') AS counted;
CREATE TEMP TABLE weights_diamonds_agg AS SELECT gpu_wls_agg(1 / (carat * carat), price, carat, depth, x) AS m
FROM diamonds;
SET max_parallel_workers_per_gather = 0;
SELECT apart(wls, gpu_ols_fit('SELECT price, carat, depth, x, 1 / (carat * carat) AS w FROM diamonds', weights => 'w'),
    1e-13) AS wls,
       apart(wls, (SELECT m FROM weights_diamonds_agg), 1e-13) AS agg,
       apart(frequencies, gpu_ols_fit('SELECT price, carat, depth, x, (price % 7) AS f FROM diamonds',
           frequencies => 'f'), 1e-13) AS frequencies,
       apart(logistic, gpu_logreg_fit($$SELECT cut = 'Ideal', carat, depth, x, 1 / carat AS w, ln(price) - 8 AS o
           FROM diamonds$$, weights => 'w', offsets => 'o'), 1e-13) AS logistic,
       apart(counted, gpu_logreg_fit($$SELECT cut = 'Ideal', carat, depth, x, (price % 7) AS f FROM diamonds$$,
           frequencies => 'f'), 1e-13) AS counted
FROM weights_diamonds;
RESET ALL;
DROP TABLE weights_models, weights_states, weights_by_workers, weights_digits, weights_bits, weights_sep, trials;
