-- Firth's penalty against fits in 60 digits: test/data/firth_reference.py.
CREATE TABLE firth_rows (i serial, dataset text, y float8, weight float8, frequency float8, base float8, x float8[]);
\copy firth_rows (dataset, y, weight, frequency, base, x) FROM 'test/data/firth_rows.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE firth_fits (dataset text, intercept boolean, term text, estimate numeric, std_error numeric);
\copy firth_fits FROM 'test/data/firth_fits.csv' WITH (FORMAT csv, HEADER)
ANALYZE firth_rows;
CREATE TABLE firth_cases AS
SELECT f.*, r.weights, r.frequencies, r.offsets
FROM (SELECT DISTINCT dataset, intercept FROM firth_fits) f
JOIN (SELECT dataset, CASE WHEN count(weight) > 0 THEN 'weight' END AS weights,
             CASE WHEN count(frequency) > 0 THEN 'frequency' END AS frequencies,
             CASE WHEN count(base) > 0 THEN 'base' END AS offsets
      FROM firth_rows GROUP BY dataset) r USING (dataset);
SELECT count(*) AS fits, count(weights) AS weights, count(frequencies) AS frequencies, count(offsets) AS offsets
FROM firth_cases;

CREATE FUNCTION firth_fit(c firth_cases, also_from text DEFAULT '', also_where text DEFAULT '') RETURNS gpu_model
LANGUAGE sql AS $$
    SELECT gpu_glm_fit(format('SELECT y, %s%sx FROM firth_rows%s WHERE dataset = %L%s',
        coalesce(c.weights, c.frequencies) || ', ',
                              c.offsets || ', ', also_from, c.dataset, also_where),
                       'binomial', intercept => c.intercept, weights => c.weights, frequencies => c.frequencies,
                       offsets => c.offsets, firth => true)
$$;
CREATE TABLE firth_models (way text, dataset text, intercept boolean, m gpu_model);
INSERT INTO firth_models SELECT 'query', dataset, intercept, firth_fit(c) FROM firth_cases c;
INSERT INTO firth_models SELECT 'query, volatile', dataset, intercept, firth_fit(c, also_where => ' AND random() >= 0')
FROM firth_cases c;
-- the query run for each pass, in the session's process alone
SET gpureg.device = cpu; SET gpureg.ring_size = '1MB'; SET jit = off;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SET max_parallel_workers = 0;
INSERT INTO firth_models SELECT 'pass', dataset, intercept, firth_fit(c, also_from => ', one_of_many()')
FROM firth_cases c;
RESET ALL;
-- the rows through the ring
SET jit = off; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SET gpureg.debug_ring = on;
INSERT INTO firth_models SELECT 'ring', dataset, intercept, firth_fit(c) FROM firth_cases c;
RESET ALL;
INSERT INTO firth_models
SELECT 'gpu_logreg_fit', dataset, intercept,
       gpu_logreg_fit(format('SELECT y, x FROM firth_rows WHERE dataset = %L', dataset), intercept, firth => true)
FROM firth_cases WHERE num_nulls(weights, frequencies, offsets) = 3;

CREATE FUNCTION firth_lines(m gpu_model, intercept boolean) RETURNS TABLE (term text, estimate float8, std_error float8)
LANGUAGE sql AS $$
    SELECT (j - intercept::int)::text, t.estimate, t.std_error
    FROM gpu_tidy(m) WITH ORDINALITY AS t(name, estimate, std_error, statistic, p_value, conf_low, conf_high,
        df, class, j)
    UNION ALL SELECT 'n', (m).n, NULL
    UNION ALL SELECT 'log_lik', (m).log_lik, NULL
$$;
-- with symmetric data an estimate is 0; the log-likelihood of trials has binomial coefficients
SELECT way, count(DISTINCT f.dataset) AS fits, min(digits_or_null(l.estimate, f.estimate))
    FILTER (WHERE f.estimate <> 0) >= 12 AS estimates,
       max(abs(l.estimate)) FILTER (WHERE f.estimate = 0) < 1e-13 AS zeros,
       min(digits_or_null(l.std_error, f.std_error)) >= 12 AS std_errors,
       bool_and((m).converged AND (m).separated = '{}' AND (m).iterations < 25) AS converged
FROM firth_models JOIN firth_fits f USING (dataset, intercept)
CROSS JOIN LATERAL firth_lines(m, intercept) AS l(term, estimate, std_error)
WHERE f.term = l.term AND (dataset, f.term) <> ('trials', 'log_lik') GROUP BY way ORDER BY way COLLATE "C";

-- The hint of a separated fit leads to Firth's penalty
\set separated 'SELECT y, x FROM (VALUES (0, 1), (0, 2), (1, 3), (1, 4)) v(y, x)'
SELECT (gpu_logreg_fit(:'separated')).separated;
SELECT m.method, m.separated, m.coef[2] BETWEEN 0 AND 10 AS finite, m.log_lik < 0 AS fits
FROM gpu_logreg_fit(:'separated', firth => true) m;
-- the model's method contains it, and the model is used like any other
SELECT split_part(gpu_summary(gpu_logreg_fit(:'separated', firth => true)), E'\n', 1);
SELECT abs(gpu_predict(m, 2.5) - 0.5) < 1e-14 AS half, (SELECT count(*) FROM gpu_wald(m)) AS wald
FROM gpu_logreg_fit(:'separated', firth => true) m;
-- collinear columns have no coefficient
SELECT m.coef[3] IS NULL AS aliased, m.rank, m.converged
FROM gpu_logreg_fit('SELECT y, x, 2 * x AS twice FROM (VALUES (0, 1), (0, 2), (1, 3), (1, 4), (0, 3)) v(y, x)',
    firth => true) m;
-- a factor whose level has one class, and a response of one class
SELECT term, abs(estimate) < 5 AS finite
FROM gpu_tidy(gpu_logreg_fit('SELECT y, g FROM (VALUES (0, ''a''), (1, ''a''), (1, ''b''), (1, ''b''), (0, ''a'')) '
    'v(y, g)', firth => true));
SELECT m.converged, m.null_deviance, m.deviance > 0 AS left_over
FROM gpu_logreg_fit('SELECT 1 AS y, x FROM generate_series(1, 9) x', firth => true) m;

-- Cases that are refused
\set VERBOSITY terse
SELECT gpu_logreg_fit(:'separated', l2 => 1, firth => true);
SELECT gpu_logreg_fit(:'separated', solver => 'lbfgs', firth => true);
SELECT gpu_logreg_fit(:'separated', vcov => 'HC1', firth => true);
SELECT gpu_glm_fit(:'separated', 'poisson', firth => true);
SELECT gpu_glm_fit(:'separated', 'quasibinomial', firth => true);
SELECT gpu_glm_fit(:'separated', 'binomial', 'probit', firth => true);
SELECT gpu_logreg_fit('SELECT 1.0 AS y, 2.0 AS x WHERE false', firth => true);
SELECT gpu_anova(a, b) FROM gpu_logreg_fit('SELECT y, x, x * x AS x2 FROM (VALUES (0, 1), (0, 2), (1, 3), (1, 4), (0, '
    '3)) v(y, x)', firth => true) a,
    gpu_logreg_fit('SELECT y, x FROM (VALUES (0, 1), (0, 2), (1, 3), (1, 4), (0, 3)) v(y, x)', firth => true) b;
SELECT gpu_tidy(jsonb_populate_record(m, '{"method": "logistic (firth) "}'))
FROM gpu_logreg_fit(:'separated', firth => true) m;
SELECT gpu_tidy(jsonb_populate_record(m, '{"family": "poisson", "link": "log", "method": "poisson (firth)"}'))
FROM gpu_logreg_fit(:'separated', firth => true) m;
DROP FUNCTION firth_lines, firth_fit;
DROP TABLE firth_rows, firth_fits, firth_cases, firth_models;
