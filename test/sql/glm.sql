-- Families and links against fits in 60 digits: test/data/glm_reference.py.
CREATE TABLE glm_rows (i serial, dataset text, y float8, weight float8, frequency float8, base float8, x float8[]);
\copy glm_rows (dataset, y, weight, frequency, base, x) FROM 'test/data/glm_rows.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE glm_fits (dataset text, family text, link text, theta text, l2 float8, intercept boolean, term text,
    estimate numeric, std_error numeric);
\copy glm_fits FROM 'test/data/glm_fits.csv' WITH (FORMAT csv, HEADER)
ANALYZE glm_rows;
-- All cases, without both kinds of weights at once, which no function takes
CREATE TABLE glm_cases AS
SELECT row_number() OVER (ORDER BY dataset COLLATE "C", family COLLATE "C", link COLLATE "C", theta COLLATE "C",
    l2, intercept) AS id, f.*,
       r.weights, r.frequencies, r.offsets
FROM (SELECT DISTINCT dataset, family, link, coalesce(theta, '') AS theta, l2, intercept FROM glm_fits) f
JOIN (SELECT dataset, CASE WHEN count(weight) > 0 THEN 'weight' END AS weights,
             CASE WHEN count(frequency) > 0 THEN 'frequency' END AS frequencies,
             CASE WHEN count(base) > 0 THEN 'base' END AS offsets
      FROM glm_rows GROUP BY dataset) r USING (dataset)
WHERE num_nulls(weights, frequencies) > 0;
SELECT family, link, count(*) AS fits, count(weights) AS weights, count(frequencies) AS frequencies,
    count(offsets) AS offsets,
       count(*) FILTER (WHERE NOT intercept) AS no_intercept, count(*) FILTER (WHERE l2 > 0) AS l2
FROM glm_cases GROUP BY family, link ORDER BY family COLLATE "C", link COLLATE "C";

CREATE FUNCTION glm_fit(c glm_cases, also_from text DEFAULT '', also_where text DEFAULT '') RETURNS gpu_model
LANGUAGE sql AS $$
    SELECT gpu_glm_fit(format('SELECT %sy, %sx%s FROM glm_rows%s WHERE dataset = %L%s', c.weights || ', ',
        c.frequencies || ', ',
                              ', ' || c.offsets, also_from, c.dataset, also_where),
                       c.family, c.link, c.intercept, weights => c.weights, frequencies => c.frequencies,
                       offsets => c.offsets,
                       l2 => c.l2, theta => nullif(nullif(c.theta, ''), 'ml')::float8)
$$;
-- two fits warn of terms without a finite estimate
SET client_min_messages = error;
CREATE TABLE glm_models (way text, id bigint, m gpu_model);
INSERT INTO glm_models SELECT 'query', id, glm_fit(c) FROM glm_cases c;
INSERT INTO glm_models SELECT 'query, volatile', id, glm_fit(c, also_where => ' AND random() >= 0') FROM glm_cases c;
-- the query run for each pass, in the session's process alone
SET gpureg.device = cpu; SET gpureg.ring_size = '1MB'; SET jit = off;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SET max_parallel_workers = 0;
INSERT INTO glm_models SELECT 'pass', id, glm_fit(c, also_from => ', one_of_many()') FROM glm_cases c;
RESET ALL;
SET client_min_messages = error;
-- the rows through the ring
SET jit = off; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SET gpureg.debug_ring = on;
INSERT INTO glm_models SELECT 'ring', id, glm_fit(c) FROM glm_cases c;
RESET ALL;

-- A model's numbers by the references' names. If a term has no finite estimate, only such terms are listed.
CREATE FUNCTION glm_lines(m gpu_model, intercept boolean) RETURNS TABLE (term text, estimate float8, std_error float8)
LANGUAGE sql AS $$
    SELECT (j - intercept::int)::text, t.estimate, t.std_error
    FROM gpu_tidy(m) WITH ORDINALITY AS t(name, estimate, std_error, statistic, p_value, conf_low, conf_high,
        df, class, j)
    UNION ALL SELECT key, value::float8, NULL FROM gpu_glance(m) g, jsonb_each_text(to_jsonb(g))
    WHERE key NOT IN ('converged', 'family', 'link', 'vcov', 'dispersion')
    UNION ALL SELECT 'dispersion', (m).dispersion, NULL
    UNION ALL SELECT 'theta', (m).theta, substring((m).method FROM 'theta error = ([^)]+)')::float8
$$;
CREATE TABLE glm_digits AS
SELECT way, c.id, c.dataset, c.family, c.link, f.term ~ '^\d+$' AS is_term, f.term,
       CASE WHEN abs(f.estimate) = 'Infinity' THEN CASE WHEN l.estimate::numeric = f.estimate THEN 16 ELSE 0 END
            ELSE digits_or_null(l.estimate, f.estimate) END AS estimate,
            digits_or_null(l.std_error, f.std_error) AS std_error
FROM glm_models JOIN glm_cases c USING (id)
JOIN glm_fits f ON (f.dataset, f.family, f.link, coalesce(f.theta, ''), f.l2, f.intercept) = (c.dataset, c.family,
    c.link, c.theta, c.l2, c.intercept)
LEFT JOIN LATERAL (SELECT * FROM glm_lines(m, c.intercept) l WHERE l.term = f.term) AS l(name, estimate, std_error)
    ON true
-- separated terms of a separated fit are listed
WHERE f.estimate IS NOT NULL OR f.term !~ '^\d+$' OR (m).rank < cardinality((m).terms);
SELECT family, link, way, count(DISTINCT id) AS fits, min(estimate) FILTER (WHERE is_term) >= 12 AS estimates,
       min(std_error) FILTER (WHERE is_term) >= 12 AS std_errors,
       min(estimate) FILTER (WHERE NOT is_term) >= 12 AS summaries,
       string_agg(DISTINCT dataset, ', ' ORDER BY dataset) FILTER (WHERE least(estimate, std_error) < 12) AS fewer
FROM glm_digits GROUP BY family, link, way ORDER BY family COLLATE "C", link COLLATE "C", way COLLATE "C";
-- theta by maximum likelihood, separately
SELECT way, count(DISTINCT id) AS fits, min(d.estimate) FILTER (WHERE d.term = 'theta') >= 12 AS theta,
    min(d.std_error) FILTER (WHERE d.term = 'theta') >= 12 AS its_error,
       min(least(d.estimate, d.std_error)) >= 12 AS all_numbers
FROM glm_digits d JOIN glm_cases c USING (id) WHERE c.theta = 'ml' GROUP BY way ORDER BY way COLLATE "C";
-- a response that hardly differs from its mean: its residuals have fewer digits
SELECT dataset, min(estimate) > 9 AS nine FROM glm_digits WHERE dataset LIKE '%hardly any%' GROUP BY dataset;
SELECT way, count(*), count(*) FILTER (WHERE NOT (m).converged) AS ran_off, max((m).iterations) < 25 AS enough,
    count(DISTINCT (m).separated) AS kinds
FROM glm_models GROUP BY way ORDER BY way COLLATE "C";

-- With many terms passes are coarse on the CPU, and exact if a column is collinear: the fit must be the same.
CREATE TABLE glm_wide AS
SELECT floor(3 * exp(sum(sin(i * j)) FILTER (WHERE j < 4) / 2) * abs(cos(i)))::float8 AS y,
    array_agg(sin(i * j)::float8 ORDER BY j) AS x
FROM generate_series(1, 700) i, generate_series(1, 60) j GROUP BY i;
CREATE FUNCTION glm_same(a gpu_model, b gpu_model)
RETURNS TABLE (aliased boolean, coefficients boolean, std_errors boolean, iterations boolean)
LANGUAGE sql AS $$
    SELECT b.coef[62] IS NULL, max(abs(u.estimate / v.estimate - 1)) < 1e-11,
    max(abs(u.std_error / v.std_error - 1)) < 1e-12,
           abs(a.iterations - b.iterations) <= 1
    FROM gpu_tidy(a) WITH ORDINALITY AS u(term, estimate, std_error, statistic, p, low, high, df, class, k) JOIN
         gpu_tidy(b) WITH ORDINALITY AS v(term, estimate, std_error, statistic, p, low, high, df, class, k) USING (k)
$$;
SELECT f.family, s.* FROM (VALUES ('poisson', NULL::float8), ('quasipoisson', NULL),
    ('negative binomial', 2.0)) f(family, theta),
    LATERAL glm_same(gpu_glm_fit('SELECT y, x FROM glm_wide', f.family, theta => f.theta),
                     gpu_glm_fit('SELECT y, x, x[1] - 2 * x[60] AS between FROM glm_wide', f.family,
                         theta => f.theta)) s;
SELECT s.* FROM glm_same(gpu_glm_fit('SELECT y + 1 AS y, x, x[1] / 10 AS o FROM glm_wide', 'gamma', offsets => 'o'),
                         gpu_glm_fit('SELECT y + 1 AS y, x, x[1] / 10 AS o, 2 * x[7] AS twice FROM glm_wide',
                             'gamma', offsets => 'o')) s;
DROP FUNCTION glm_same;
DROP TABLE glm_wide;

-- Large fits start from a sample: the same fit as over kept rows, also if the first rows are unlike the others.
CREATE TABLE glm_many AS
SELECT i, a, b, a * a * 2 AS c, floor(-ln(u) * exp(0.4 + a - b / 2)) AS count, -ln(u) * exp(0.4 + a - b / 2) AS time
FROM (SELECT i, hashint8(i) / 2147483648.0 AS a, hashint8(i + 1000000) / 2147483648.0 AS b,
      (hashint8(i + 2000000) + 2147483649.0) / 4294967297.0 AS u FROM generate_series(1, 40000) i OFFSET 0) t;
ANALYZE glm_many;
CREATE TEMP TABLE glm_starts (name text, starts boolean, query text, family text, theta float8, l2 float8,
    weights text, vcov text);
INSERT INTO glm_starts VALUES
    ('Poisson', true, 'SELECT count, a, b, c FROM glm_many', 'poisson', NULL, 0, NULL, 'iid'),
    ('weights', true, 'SELECT count, a, b, c, 1 + i % 3 AS w FROM glm_many', 'poisson', NULL, 3, 'w', 'HC1'),
    ('gamma', true, 'SELECT time, a, b, c FROM glm_many', 'gamma', NULL, 0, NULL, 'iid'),
    ('robust', true, 'SELECT time, a + 50, b, c, 1.5 + a AS w FROM glm_many', 'gamma', NULL, 0, 'w', 'HC0'),
    ('theta', true, 'SELECT count, a, b, c FROM glm_many', 'negative binomial', 1, 0, NULL, 'iid'),
    ('unlike', false, 'SELECT CASE WHEN i < 9000 THEN 9 - 9 * a ELSE count END, a, b FROM glm_many', 'poisson', NULL, 0,
        NULL, 'iid'),
    ('first constant', false, 'SELECT time, CASE WHEN i < 9000 THEN 1 ELSE a END, b FROM glm_many', 'gamma', NULL, 0,
        NULL, 'iid'),
    ('first 0', false, 'SELECT CASE WHEN i < 9000 THEN 0 ELSE count END, a, b FROM glm_many', 'poisson', NULL, 0, NULL,
        'iid'),
    ('separated', false, 'SELECT CASE WHEN i > 39000 THEN 0 ELSE count END, a, i > 39000 AS d FROM glm_many', 'poisson',
        NULL, 0, NULL, 'iid'),
    ('unit', false, 'SELECT time * 1e-40, a, b FROM glm_many', 'gamma', NULL, 0, NULL, 'iid'),
    ('collinear', false, 'SELECT time, a, b, a + b AS ab FROM glm_many', 'gamma', NULL, 0, NULL, 'iid'),
    ('identity', false, 'SELECT count + 1 AS y, a FROM glm_many', 'gaussian', NULL, 0, NULL, 'iid');
SET client_min_messages = error; SET gpureg.device = cpu; SET max_parallel_workers_per_gather = 0;
CREATE TEMP TABLE glm_started AS SELECT name, starts, gpu_glm_fit(query, family, theta => theta, l2 => l2,
    weights => weights, vcov => vcov) AS kept, NULL::gpu_model AS again, '' AS reason FROM glm_starts;
SET gpureg.ring_size = '1MB';
DO $$
DECLARE
    q record;
    m gpu_model;
BEGIN
    FOR q IN SELECT * FROM glm_starts LOOP
        m := gpu_glm_fit(q.query, q.family, theta => q.theta, l2 => q.l2, weights => q.weights, vcov => q.vcov);
        UPDATE glm_started SET again = m, reason = r.reason FROM gpu_last_run() r WHERE name = q.name;
    END LOOP;
END
$$;
RESET ALL;
SELECT s.name, (kept).converged = (again).converged AND (kept).rank = (again).rank
       AND (kept).separated IS NOT DISTINCT FROM (again).separated AS same,
       abs((kept).deviance / (again).deviance - 1) < 1e-12 AS deviance,
       abs((kept).null_deviance / (again).null_deviance - 1) < 1e-12 AS null_deviance,
       (SELECT max(abs(u.estimate - v.estimate) / u.std_error) < 1e-10 AND max(abs(u.std_error / v.std_error - 1)) < 1e-12
        FROM gpu_tidy(kept) u JOIN gpu_tidy(again) v USING (term)) AS terms,
       (reason ~ 'after a fit to its first') = starts AS starts
FROM glm_started s ORDER BY s.name;
SELECT name, substring(reason from '(\d+) times$')::int AS times FROM glm_started
WHERE name IN ('Poisson', 'weights', 'gamma', 'robust', 'theta') ORDER BY name;
DROP TABLE glm_many;
