-- Columns whose values are close together for their size: the offset must cost no digits. The rows are exactly those of
-- test/data/offsets_reference.py; its references come from rational arithmetic.
CREATE TABLE offset_fits (dataset text, term text, estimate numeric, std_error numeric);
\copy offset_fits FROM 'test/data/offsets.csv' WITH (FORMAT csv, HEADER)
CREATE FUNCTION spread(i int, step int, modulus int, denominator int) RETURNS float8
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (step * i % modulus - modulus / 2)::float8 / denominator
$$;
CREATE TABLE offset_rows (dataset text, i int, y float8, x float8[]);
INSERT INTO offset_rows SELECT 'one 1e' || k, i, c + 2 * spread(i, 37, 101, 64) + spread(i, 53, 89, 1024),
    ARRAY[c + spread(i, 37, 101, 64)]
FROM generate_series(0, 12) k, LATERAL (SELECT ('1e' || k)::float8) t(c), generate_series(1, 200) i;
INSERT INTO offset_rows SELECT 'two 1e' || k, i, 3 * u - v + c / 2 + spread(i, 53, 89, 1024),
    ARRAY[c + u, 7 - 3 * c + u / 16 + v]
FROM generate_series(0, 12) k, LATERAL (SELECT ('1e' || k)::float8) t(c), generate_series(1, 200) i,
     LATERAL (SELECT spread(i, 37, 101, 64), spread(i, 11, 97, 64)) s(u, v);
INSERT INTO offset_rows SELECT 'years ' || first, i, (year - first) / 4.0 + spread(i, 53, 89, 64),
    ARRAY[year, year ^ 2, year ^ 3]
FROM (VALUES (1900, 121), (1990, 30), (2014, 8)) t(first, n), generate_series(1, 200) i,
    LATERAL (SELECT (first + i * 5 % n)::float8) s(year);
INSERT INTO offset_rows SELECT 'outlier ' || last, i, y, CASE WHEN i = 200 THEN ARRAY[last::float8] ELSE x END
FROM offset_rows, (VALUES ('0.1'), ('-3e-05'), ('40000000000.0')) t(last) WHERE dataset = 'one 1e9';
INSERT INTO offset_rows SELECT 'group ' || g, i, c + 2 * spread(g * 10 + i, 37, 101, 64) + spread(g * 10 + i,
    53, 89, 1024),
       ARRAY[c + spread(g * 10 + i, 37, 101, 64)]
FROM generate_series(1, 5) g, LATERAL (SELECT g * 1e10::float8) t(c), generate_series(1, 3) i;

-- each set by every way to sum rows
CREATE TABLE offset_models AS
SELECT 'aggregate' AS way, dataset, gpu_ols_agg(y, VARIADIC x ORDER BY i) AS m FROM offset_rows GROUP BY dataset
UNION ALL SELECT 'backwards', dataset, gpu_ols_agg(y, VARIADIC x ORDER BY i DESC) FROM offset_rows GROUP BY dataset
UNION ALL SELECT 'sorted', dataset, gpu_ols_agg(y, VARIADIC x ORDER BY x, i) FROM offset_rows GROUP BY dataset
UNION ALL SELECT 'query', dataset,
    gpu_ols_fit(format('SELECT y, x FROM offset_rows WHERE dataset = %L ORDER BY i', dataset)) FROM offset_fits
GROUP BY dataset
UNION ALL SELECT 'merged', dataset, gpu_ols_solve(gpu_ols_rollup(s)) FROM
    (SELECT dataset, gpu_ols_stats_agg(y, VARIADIC x) AS s FROM offset_rows GROUP BY dataset, i % 7) t GROUP BY dataset
UNION ALL SELECT 'row by row', dataset, gpu_ols_solve(gpu_ols_rollup(s::text::gpu_ols_stats ORDER BY s::text)) FROM
    (SELECT dataset, gpu_ols_stats_agg(y, VARIADIC x) AS s FROM offset_rows GROUP BY dataset, i) t GROUP BY dataset;
CREATE VIEW offset_digits AS
SELECT way, dataset, split_part(dataset, ' ', 1) AS kind, digits(t.estimate, f.estimate) AS coef,
    digits(t.std_error, f.std_error) AS se
FROM offset_models CROSS JOIN gpu_tidy(m) WITH ORDINALITY AS t(name, estimate, std_error, statistic, p_value, lo, hi,
    df, class, j)
JOIN offset_fits f USING (dataset) WHERE f.term = 'x' || j - 1;
-- at least 14 digits, for the intercept, too
SELECT kind, way, min(coef) > 14 AS coefficients, min(se) > 14 AS standard_errors, count(*) FROM offset_digits
GROUP BY kind, way ORDER BY kind, way;
-- powers of a year with a fraction, which float8 rounds: no order of rows changes the digits
CREATE TABLE fractions AS SELECT first, i, 5 + sin(i * 0.37) + exp(cos(i)) AS y, year AS x1, year * year AS x2,
    year * year * year AS x3
FROM (VALUES (1990, 30), (2014, 8), (2020, 1)) t(first, n), generate_series(1, 2000) i,
     LATERAL (SELECT first + n * (i * 0.6180339887 - floor(i * 0.6180339887))::float8) s(year);
SELECT first, max(relative_difference((a.m).coef, (b.m).coef)) < 1e-15 AS same FROM
    (SELECT first, gpu_ols_agg(y, x1, x2, x3) AS m FROM fractions GROUP BY first) a JOIN
    (SELECT first, gpu_ols_agg(y, x1, x2, x3 ORDER BY md5(i::text || seed)) AS m FROM fractions,
        generate_series(1, 10) seed GROUP BY first, seed) b USING (first)
GROUP BY first ORDER BY first;
-- workers, each with a shift of its own
ANALYZE offset_rows;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
CREATE TEMP TABLE by_workers AS SELECT dataset, gpu_ols_agg(y, VARIADIC x) AS m FROM offset_rows GROUP BY dataset;
INSERT INTO by_workers SELECT dataset, gpu_ols_fit(format('SELECT y, x FROM offset_rows WHERE dataset = %L', dataset))
FROM offset_fits GROUP BY dataset;
-- float4 columns as float4, and all columns through the ring; the third column has a late value that its shift doesn't
-- suit
CREATE TABLE singles AS SELECT i, (3000000 + i % 9)::float4 AS a, (i % 7)::float4 AS b,
    CASE WHEN i = 49000 THEN 1e-6 ELSE 77 + i % 2 END::float4 AS c,
       1e11 + i % 11 + i % 3 AS y FROM generate_series(1, 50000) i;
ANALYZE singles;
SET gpureg.debug_ring = on;
CREATE TEMP TABLE by_ring AS SELECT gpu_ols_fit('SELECT y, a, b, c FROM singles') AS single,
    gpu_ols_fit('SELECT y, a::float8, b, c FROM singles') AS wide;
RESET gpureg.debug_ring;
RESET max_parallel_workers_per_gather;
RESET min_parallel_table_scan_size;
RESET parallel_tuple_cost;
RESET parallel_setup_cost;
SELECT count(*), max(relative_difference((w.m).coef, (a.m).coef)) < 1e-14 AS same FROM by_workers w
JOIN offset_models a USING (dataset) WHERE way = 'aggregate';
SELECT relative_difference((single).coef, (wide).coef) < 1e-14 AS single,
    relative_difference((wide).coef[2:], (m).coef[2:]) < 1e-14 AS wide
FROM by_ring, (SELECT gpu_ols_agg(y - 1e11, a - 3000000, b, c) AS m FROM singles) a;
-- arrays
SELECT relative_difference(c, (m).coef) < 1e-15 AS arrays
FROM (SELECT gpu_ols(array_agg(x ORDER BY i), array_agg(y ORDER BY i)) AS c FROM offset_rows
    WHERE dataset = 'two 1e11') a,
    offset_models WHERE way = 'aggregate' AND dataset = 'two 1e11';
-- without an intercept: sums about 0
SELECT relative_difference((gpu_ols_solve(s, false)).coef, ARRAY[1.9999999999999998]) < 1e-15 AS slope FROM
    (SELECT gpu_ols_stats_agg(2e8 + 2 * i, 1e8 + i) AS s FROM generate_series(1, 50) i) t;
-- collinear columns are aliased at any offset, and so are constants; columns far from 0 for their spread aren't
SELECT c, (m).rank, array_position((m).coef, NULL) AS first_null, (m).coef[4] IS NULL AS constant FROM
    (SELECT c, gpu_ols_agg(sin(i), c + i % 17, (c + i % 17) * 0.3 - 7, 0.1, i % 5) AS m
        FROM (VALUES (1e3::float8), (1e6), (1e9), (1e12)) t(c), generate_series(1, 99) i GROUP BY c) t
ORDER BY c;
DROP VIEW offset_digits;
DROP TABLE offset_fits, offset_rows, offset_models, fractions, singles;
DROP FUNCTION spread;
