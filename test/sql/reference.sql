-- Fits of real data against other programs' 25 digits, to 13 digits.
CREATE TEMP TABLE fits AS
SELECT 'mtcars_lm' AS fit, gpu_ols_fit('SELECT mpg, wt, hp, qsec FROM mtcars') AS model
UNION ALL SELECT 'mtcars_lm', gpu_ols_agg(mpg, wt, hp, qsec) FROM mtcars
UNION ALL SELECT 'diabetes_lm', gpu_ols_fit('TABLE diabetes')
UNION ALL SELECT 'diabetes_lm', gpu_ols_agg(y, age, sex, bmi, bp, s1, s2, s3, s4, s5, s6) FROM diabetes;
WITH t AS (
    SELECT fit, row_number() OVER (PARTITION BY fit ORDER BY ctid) AS i, term, estimate, std_error FROM reference_fits
    WHERE kind = 'ols' AND term NOT IN ('sigma', 'r2', 'rss')
), mine AS (
    SELECT fit, g.* FROM fits, gpu_tidy(model) WITH ORDINALITY AS g(term, estimate, std_error, statistic, p_value,
        conf_low, conf_high, df, class, i)
)
SELECT t.fit, count(*), min(digits(m.estimate, t.estimate)) >= 14 AS estimates,
    min(digits(m.std_error, t.std_error)) >= 14 AS std_errors
FROM t JOIN mine m USING (fit, i) GROUP BY t.fit ORDER BY t.fit;
SELECT fit, count(*), min(digits(CASE term WHEN 'sigma' THEN sigma WHEN 'r2' THEN r_squared ELSE deviance END,
    r.estimate)) >= 14 AS summaries
FROM fits JOIN reference_fits r USING (fit), gpu_glance(model) WHERE term IN ('sigma', 'r2', 'rss') GROUP BY fit
ORDER BY fit;
SELECT min(digits(b, r.estimate)) >= 14 AS arrays
FROM (SELECT gpu_ols(array_agg(ARRAY[wt, hp, qsec]), array_agg(mpg)) AS coef FROM mtcars) a,
    unnest(coef) WITH ORDINALITY AS u(b, i),
LATERAL (SELECT estimate FROM reference_fits WHERE fit = 'mtcars_lm' ORDER BY ctid OFFSET i - 1 LIMIT 1) r;
-- diamonds: R 4.2, lm(price ~ carat + depth + table + x + y + z), to the digits that R prints
SELECT min(digits(estimate, want)) > 12 AS diamonds
FROM gpu_tidy(gpu_ols_fit('SELECT price, carat, depth, "table", x, y, z FROM diamonds')) WITH ORDINALITY AS t(term,
    estimate, se, s, p, lo, hi, df, class, i)
JOIN unnest(ARRAY[20849.3164130459, 10686.3090806305, -203.154052395548, -102.445652128186, -1315.66784180353,
    66.3216023211798, 41.6276970148257])
    WITH ORDINALITY AS w(want, i) USING (i);
SELECT digits(r_squared, 0.859218683158098) > 14 AS r_squared, digits(sigma, 1496.95442019391) > 14 AS sigma
FROM gpu_glance(gpu_ols_fit('SELECT price, carat, depth, "table", x, y, z FROM diamonds'));
-- Logistic fits, to 12 digits, for each way of the rows: all of them kept, in a temporary file, or not held at all if
-- the query is run for each pass.
CREATE TEMP TABLE ways (fit text, way text, model gpu_model, reason text);
INSERT INTO ways SELECT fit, 'agg', gpu_logreg_agg(y, VARIADIC x) FROM logit_rows GROUP BY fit;
INSERT INTO ways SELECT fit, 'agg of booleans', gpu_logreg_agg(y = 1, VARIADIC x) FROM logit_rows GROUP BY fit;
INSERT INTO ways SELECT fit, 'fit', gpu_logreg_fit(query) FROM logit_queries;
INSERT INTO ways SELECT fit, 'fit of a boolean',
    gpu_logreg_fit(format('SELECT y = 1, x FROM logit_rows WHERE fit = %L', fit)) FROM logit_queries;
INSERT INTO ways SELECT fit, 'fit of a volatile query',
    gpu_logreg_fit(format('SELECT y, x FROM logit_rows WHERE fit = %L AND random() >= 0', fit)) FROM logit_queries;
SELECT way, count(*), min(right_digits(fit, (model).coef)) >= 14 AS estimates,
    min(right_digits(fit, std_errors(model), 'std_error')) >= 14 AS std_errors,
       min(digits(-0.5 * (model).deviance, r.estimate)) >= 14 AS log_lik, bool_and((model).converged) AS converged,
       max(cardinality((model).separated)) AS separated
FROM ways JOIN reference_fits r USING (fit) WHERE r.term = 'loglik' GROUP BY way ORDER BY way;
SELECT count(*), min(right_digits(fit, gpu_logreg(x, y))) >= 14 AS arrays,
    min(right_digits(fit, gpu_logreg(x, y::boolean[]))) >= 14 AS booleans
FROM (SELECT fit, array_agg(x) AS x, array_agg(y::int) AS y FROM logit_rows GROUP BY fit) t;
SET gpureg.device = cpu; SET gpureg.ring_size = '1MB'; SET jit = off;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2; SET max_parallel_workers = 0;
TRUNCATE ways;
DO $$
DECLARE
    q record;
BEGIN
    FOR q IN SELECT fit, 'pass' AS way, format('SELECT y, x FROM logit_rows, one_of_many() WHERE fit = %L',
        fit) AS query FROM logit_queries
        UNION ALL SELECT fit, 'pass of booleans',
        format('SELECT y = 1, x FROM logit_rows, one_of_many() WHERE fit = %L', fit) FROM logit_queries
        UNION ALL SELECT fit, 'file', format('SELECT q.* FROM (%s) q, one_of_many()', query) FROM logit_queries
        UNION ALL SELECT fit, 'file, volatile', format('SELECT q.* FROM (%s) q WHERE random() >= 0', query)
        FROM logit_queries
    LOOP
        PERFORM set_config('max_parallel_workers_per_gather', CASE q.way WHEN 'file' THEN '0' ELSE '2' END, false);
        INSERT INTO ways SELECT q.fit, q.way, gpu_logreg_fit(q.query);
        UPDATE ways SET reason = r.reason FROM gpu_last_run() r WHERE ways.reason IS NULL;
    END LOOP;
END
$$;
SELECT way, count(*), min(right_digits(fit, (model).coef)) >= 14 AS estimates,
    min(right_digits(fit, std_errors(model), 'std_error')) >= 14 AS std_errors,
       min(digits(-0.5 * (model).deviance, r.estimate)) >= 14 AS log_lik, bool_and((model).converged) AS converged,
       max(cardinality((model).separated)) AS separated,
       bool_and(reason ~ 'the query was run \d+ times$') AS passes,
       bool_and(reason ~ 'the rows went to a temporary file$') AS file
FROM ways JOIN reference_fits r USING (fit) WHERE r.term = 'loglik' GROUP BY way ORDER BY way;
RESET ALL;
-- diamonds, cut = 'Ideal' from carat, depth, table, x, y and z, by Newton's method in 40 digits; the log-likelihood and
-- the null deviance are R 4.2's, whose coefficients agree to 11 digits
CREATE TEMP TABLE diamonds_logit (way text, model gpu_model, reason text);
INSERT INTO diamonds_logit SELECT 'fit',
    gpu_logreg_fit($$SELECT cut = 'Ideal', carat, depth, "table", x, y, z FROM diamonds$$);
INSERT INTO diamonds_logit SELECT 'agg', gpu_logreg_agg(cut = 'Ideal', carat, depth, "table", x, y, z) FROM diamonds;
INSERT INTO diamonds_logit SELECT 'fit of a volatile query',
    gpu_logreg_fit($$SELECT cut = 'Ideal', carat, depth, "table", x, y, z FROM diamonds WHERE random() >= 0$$);
SET gpureg.device = cpu; SET gpureg.ring_size = '1MB'; SET jit = off;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
INSERT INTO diamonds_logit SELECT 'pass',
    gpu_logreg_fit($$SELECT cut = 'Ideal', carat, depth, "table", x, y, z FROM diamonds$$);
SELECT reason ~ 'the query was run \d+ times$' AS passes, rows, features FROM gpu_last_run();
RESET ALL;
SELECT way, digits(log_lik, -23779.2557086314) >= 14 AS log_lik,
    digits(null_deviance, 72584.1770963772) >= 14 AS null_deviance, n, df_residual, converged,
    (SELECT min(digits(b, want)) >= 12
        FROM unnest((model).coef, ARRAY[92.5403099494683786, 0.220225225208813246, -0.557233243254158266,
        -1.00979203776127749, -0.282384785464432732, 0.031311650388147836, 0.0940233799098456735]) AS u(b,
        want)) AS estimates,
    (SELECT min(digits(b, want)) >= 12
        FROM unnest(std_errors(model), ARRAY[1.1897699425417, 0.12165175573662, 0.014104938142497, 0.0090893994444671,
        0.11967515735419, 0.073487528517754, 0.16092337109576]) AS u(b, want)) AS std_errors
FROM diamonds_logit, gpu_glance(model) ORDER BY way;
