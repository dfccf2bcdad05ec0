-- Fits of real data that were computed to 25 digits elsewhere, to 13 digits.
CREATE TEMP TABLE fits AS
SELECT 'mtcars_lm' AS fit, gpu_ols_fit('SELECT mpg, wt, hp, qsec FROM mtcars') AS model
UNION ALL SELECT 'mtcars_lm', gpu_ols_agg(mpg, wt, hp, qsec) FROM mtcars
UNION ALL SELECT 'diabetes_lm', gpu_ols_fit('TABLE diabetes')
UNION ALL SELECT 'diabetes_lm', gpu_ols_agg(y, age, sex, bmi, bp, s1, s2, s3, s4, s5, s6) FROM diabetes;
WITH t AS (
    SELECT fit, row_number() OVER (PARTITION BY fit ORDER BY ctid) AS i, term, estimate, std_error FROM reference_fits
    WHERE kind = 'ols' AND term NOT IN ('sigma', 'r2', 'rss')
), mine AS (
    SELECT fit, g.* FROM fits, gpu_tidy(model) WITH ORDINALITY AS g(term, estimate, std_error, statistic, p_value, conf_low, conf_high, i)
)
SELECT t.fit, count(*), min(digits(m.estimate, t.estimate)) >= 13 AS estimates, min(digits(m.std_error, t.std_error)) >= 13 AS std_errors
FROM t JOIN mine m USING (fit, i) GROUP BY t.fit ORDER BY t.fit;
SELECT fit, count(*), min(digits(CASE term WHEN 'sigma' THEN sigma WHEN 'r2' THEN r_squared ELSE deviance END, r.estimate)) >= 13 AS summaries
FROM fits JOIN reference_fits r USING (fit), gpu_glance(model) WHERE term IN ('sigma', 'r2', 'rss') GROUP BY fit ORDER BY fit;
SELECT min(digits(b, r.estimate)) >= 13 AS arrays
FROM (SELECT gpu_ols(array_agg(ARRAY[wt, hp, qsec]), array_agg(mpg)) AS coef FROM mtcars) a, unnest(coef) WITH ORDINALITY AS u(b, i),
LATERAL (SELECT estimate FROM reference_fits WHERE fit = 'mtcars_lm' ORDER BY ctid OFFSET i - 1 LIMIT 1) r;
-- diamonds: R 4.2, lm(price ~ carat + depth + table + x + y + z), as far as R prints
SELECT min(digits(estimate, want)) > 12 AS diamonds
FROM gpu_tidy(gpu_ols_fit('SELECT price, carat, depth, "table", x, y, z FROM diamonds')) WITH ORDINALITY AS t(term, estimate, se, s, p, lo, hi, i)
JOIN unnest(ARRAY[20849.3164130459, 10686.3090806305, -203.154052395548, -102.445652128186, -1315.66784180353, 66.3216023211798, 41.6276970148257])
    WITH ORDINALITY AS w(want, i) USING (i);
SELECT digits(r_squared, 0.859218683158098) > 14 AS r_squared, digits(sigma, 1496.95442019391) > 14 AS sigma
FROM gpu_glance(gpu_ols_fit('SELECT price, carat, depth, "table", x, y, z FROM diamonds'));
