-- Columns of values that are close together for their size: their offsets cost no digits.
-- The rows are those of test/data/offsets_reference.py, exactly; the references come from rational arithmetic.
CREATE TABLE offset_fits (dataset text, term text, estimate numeric, std_error numeric);
\copy offset_fits FROM 'test/data/offsets.csv' WITH (FORMAT csv, HEADER)
CREATE FUNCTION spread(i int, step int, modulus int, denominator int) RETURNS float8 LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (step * i % modulus - modulus / 2)::float8 / denominator
$$;
CREATE TABLE offset_rows (dataset text, i int, y float8, x float8[]);
INSERT INTO offset_rows SELECT 'one 1e' || k, i, c + 2 * spread(i, 37, 101, 64) + spread(i, 53, 89, 1024), ARRAY[c + spread(i, 37, 101, 64)]
FROM generate_series(0, 12) k, LATERAL (SELECT ('1e' || k)::float8) t(c), generate_series(1, 200) i;
INSERT INTO offset_rows SELECT 'two 1e' || k, i, 3 * u - v + c / 2 + spread(i, 53, 89, 1024), ARRAY[c + u, 7 - 3 * c + u / 16 + v]
FROM generate_series(0, 12) k, LATERAL (SELECT ('1e' || k)::float8) t(c), generate_series(1, 200) i,
     LATERAL (SELECT spread(i, 37, 101, 64), spread(i, 11, 97, 64)) s(u, v);
INSERT INTO offset_rows SELECT 'years ' || first, i, (year - first) / 4.0 + spread(i, 53, 89, 64), ARRAY[year, year ^ 2, year ^ 3]
FROM (VALUES (1900, 121), (1990, 30), (2014, 8)) t(first, n), generate_series(1, 200) i, LATERAL (SELECT (first + i * 5 % n)::float8) s(year);
INSERT INTO offset_rows SELECT 'outlier ' || last, i, y, CASE WHEN i = 200 THEN ARRAY[last::float8] ELSE x END
FROM offset_rows, (VALUES ('0.1'), ('-3e-05'), ('40000000000.0')) t(last) WHERE dataset = 'one 1e9';
INSERT INTO offset_rows SELECT 'group ' || g, i, c + 2 * spread(g * 10 + i, 37, 101, 64) + spread(g * 10 + i, 53, 89, 1024),
       ARRAY[c + spread(g * 10 + i, 37, 101, 64)]
FROM generate_series(1, 5) g, LATERAL (SELECT g * 1e10::float8) t(c), generate_series(1, 3) i;

-- each set by every way that sums rows
CREATE TABLE offset_models AS
SELECT 'aggregate' AS way, dataset, gpu_ols_agg(y, VARIADIC x ORDER BY i) AS m FROM offset_rows GROUP BY dataset
UNION ALL SELECT 'backwards', dataset, gpu_ols_agg(y, VARIADIC x ORDER BY i DESC) FROM offset_rows GROUP BY dataset
UNION ALL SELECT 'sorted', dataset, gpu_ols_agg(y, VARIADIC x ORDER BY x, i) FROM offset_rows GROUP BY dataset
UNION ALL SELECT 'query', dataset, gpu_ols_fit(format('SELECT y, x FROM offset_rows WHERE dataset = %L ORDER BY i', dataset)) FROM offset_fits GROUP BY dataset
UNION ALL SELECT 'merged', dataset, gpu_ols_solve(gpu_ols_rollup(s)) FROM
    (SELECT dataset, gpu_ols_stats_agg(y, VARIADIC x) AS s FROM offset_rows GROUP BY dataset, i % 7) t GROUP BY dataset
UNION ALL SELECT 'row by row', dataset, gpu_ols_solve(gpu_ols_rollup(s::text::gpu_ols_stats ORDER BY s::text)) FROM
    (SELECT dataset, gpu_ols_stats_agg(y, VARIADIC x) AS s FROM offset_rows GROUP BY dataset, i) t GROUP BY dataset;
CREATE VIEW offset_digits AS
SELECT way, dataset, split_part(dataset, ' ', 1) AS kind, digits(t.estimate, f.estimate) AS coef, digits(t.std_error, f.std_error) AS se
FROM offset_models CROSS JOIN gpu_tidy(m) WITH ORDINALITY AS t(name, estimate, std_error, statistic, p_value, lo, hi, j)
JOIN offset_fits f USING (dataset) WHERE f.term = 'x' || j - 1;
-- 14 digits and more, the intercept's too
SELECT kind, way, min(coef) > 14 AS coefficients, min(se) > 14 AS standard_errors, count(*) FROM offset_digits WHERE kind <> 'years' GROUP BY kind, way ORDER BY kind, way;
SELECT kind, way, min(coef) > 14 AS coefficients, min(se) > 14 AS standard_errors, count(*) FROM offset_digits WHERE kind = 'years' GROUP BY kind, way ORDER BY kind, way;
