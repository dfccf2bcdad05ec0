-- Inflation factors, leverages, standard errors and tests near collinearity, against 100 digits
-- (test/data/near_collinear_reference.py). R has 9 digits where models of 0.1.0 had 3 without a warning.
CREATE TABLE near_rows AS SELECT i, i * 29 % 31 / 8.0::float8 AS y, i * 7 % 5 AS count,
    1000 + i * 37 % 101 / 64.0::float8 AS x,
    i * 53 % 89 / 64.0::float8 AS z FROM generate_series(1, 60) i;
CREATE TABLE near_reference (fit text, what text, item int, value numeric);
\copy near_reference FROM 'test/data/near_collinear.csv' WITH (FORMAT csv, HEADER)
-- Queries, and the values that rows have
CREATE TABLE near_fits AS
SELECT 'ols ' || k AS fit, k,
    format('SELECT %%s, x, x + z * 0.5::float8 ^ %s AS x2 FROM near_rows', k) AS query
FROM generate_series(0, 30, 5) k
UNION ALL SELECT 'poisson ' || k, k,
    format('SELECT %%s, x, x + z * 0.5::float8 ^ %s AS x2 FROM near_rows', k) FROM generate_series(0, 25, 5) k
UNION ALL SELECT 'longley', NULL, 'SELECT %s, x FROM nist_rows WHERE dataset = ''longley'''
UNION ALL SELECT 'filip ' || n, NULL,
    format('SELECT %%s, x[1:%s] AS x FROM nist_rows WHERE dataset = ''filip''', n)
FROM unnest('{3,5,7,10}'::int[]) n;
CREATE TABLE near_models AS SELECT *, CASE WHEN fit LIKE 'poisson%' THEN gpu_glm_fit(format(query, 'count'), 'poisson',
    tol => 1e-14) ELSE gpu_ols_fit(format(query, 'y')) END AS m FROM near_fits;
-- Values by row, with the last row
CREATE TABLE near_values (fit text, row int, x float8[]);
INSERT INTO near_values SELECT fit, i, ARRAY[x, x + z * 0.5::float8 ^ k] FROM near_fits, near_rows WHERE k IS NOT NULL;
INSERT INTO near_values SELECT f.fit, row_number() OVER (PARTITION BY f.fit ORDER BY r.ctid),
    CASE WHEN f.fit = 'longley' THEN x ELSE x[1:substr(f.fit, 7)::int] END
FROM near_fits f JOIN nist_rows r ON r.dataset = split_part(f.fit, ' ', 1);
CREATE FUNCTION near_results(tests boolean) RETURNS TABLE (fit text, what text, item int, value float8)
LANGUAGE sql AS $$
    SELECT fit, 'vif', (row_number() OVER (PARTITION BY fit ORDER BY ordinality))::int, vif
    FROM near_models, gpu_vif(m) WITH ORDINALITY
    UNION ALL SELECT fit, 'leverage', row, gpu_leverage(m, x) FROM near_models JOIN near_values USING (fit)
    UNION ALL SELECT v.fit, 'std_error', row, std_error / CASE WHEN v.fit LIKE 'poisson%' THEN i.fit ELSE 1 END
    FROM (near_models JOIN near_values USING (fit)) v, gpu_predict_interval(m, 'confidence', 0.95, x) i
    UNION ALL SELECT fit, 'wald', 0, statistic FROM near_models, gpu_wald(m) WHERE tests
$$;
-- With the low halves of the covariances: NULL with a WARNING, or six digits. All results have nine digits, except
-- tests and leverages of poisson fits, which are limited by the rounding of coefficients.
CREATE TABLE near_digits AS SELECT fit, what, item, digits(r.value, n.value) AS digits, r.value IS NULL AS none
FROM near_reference n LEFT JOIN near_results(true) r USING (fit, what, item);
SELECT fit, what, count(*) FILTER (WHERE none) AS nulls, min(digits) FILTER (WHERE NOT none) >= 6 AS six_digits
FROM near_digits GROUP BY fit, what HAVING min(digits) < 9 ORDER BY fit, what;
-- Without the low halves, as in models of 0.1.0: NULL with a WARNING, or six digits
UPDATE near_models SET m = jsonb_populate_record(m, '{"design": ""}');
CREATE TABLE near_digits_old AS SELECT fit, what, item, digits(r.value, n.value) AS digits, r.value IS NULL AS none
FROM near_reference n JOIN near_results(false) r USING (fit, what, item);
SELECT what, count(*) FILTER (WHERE none) AS nulls, min(digits) FILTER (WHERE NOT none) >= 6 AS six_digits
FROM near_digits_old GROUP BY what ORDER BY what;
-- A test is an error if the covariances look singular, and NULL if they don't but leave less than six digits.
SELECT statistic FROM near_models, gpu_wald(m) WHERE fit = 'ols 30';
SELECT statistic, p_value FROM near_models, gpu_wald(m) WHERE fit = 'ols 20';
-- A new response's error is known if its own variance outweighs the rounding of the mean's.
SELECT count(*) > 0 AS known, bool_and(abs(p.std_error / q.std_error - 1) < 1e-6) AS right
FROM generate_series(3, 12) k, near_rows r,
    LATERAL (SELECT gpu_ols_fit(format('SELECT y, x, x + z * 0.5::float8 ^ %s AS x2 FROM near_rows', k)) AS m) f,
    LATERAL (SELECT jsonb_populate_record(m, '{"design": ""}') AS old) o,
    LATERAL (SELECT ARRAY[x, x + z * 0.5::float8 ^ k] AS v) v,
    gpu_predict_interval(old, 'confidence', 0.95, v) i, gpu_predict_interval(old, 'prediction', 0.95, v) p,
    gpu_predict_interval(m, 'prediction', 0.95, v) q
WHERE i.std_error IS NULL AND p.std_error IS NOT NULL;

-- Low halves that no rounding can have left are an error.
SELECT gpu_leverage(with_design, 1000, 1001) FROM near_models,
    jsonb_populate_record(m, jsonb_build_object('design', '2 1 vcov_low 95 ' || repeat('0', 95))) AS with_design
WHERE fit = 'ols 20';
SELECT gpu_vif(with_design) FROM near_models,
    jsonb_populate_record(m, jsonb_build_object('design', '2 1 vcov_low 96 ' || repeat('7fefffffffffffff', 6)))
        AS with_design
WHERE fit = 'ols 20';
SELECT gpu_wald(with_design) FROM near_models,
    jsonb_populate_record(m, jsonb_build_object('design', '2 1 vcov_low 96 ' || repeat('x', 96))) AS with_design
WHERE fit = 'ols 20';
-- Models whose terms are not collinear have no low halves in their text.
SELECT (gpu_ols_fit('SELECT y, x - 1000 AS x, z FROM near_rows')).design,
    (gpu_glm_fit('SELECT count, x - 1000 AS x, z FROM near_rows', 'poisson')).design;
DROP FUNCTION near_results;
DROP TABLE near_rows, near_reference, near_fits, near_models, near_values, near_digits, near_digits_old;
