-- Linear regression over windows against fits in 60 digits: test/data/rolling_reference.py.
CREATE TABLE rolling_rows (dataset text, i int, y float8, x1 float8, x2 float8);
\copy rolling_rows FROM 'test/data/rolling_rows.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE rolling_fits (dataset text, width int, intercept boolean, row_number bigint, n bigint, term int,
    coef numeric, std_error numeric, sigma numeric, r_squared numeric);
\copy rolling_fits FROM 'test/data/rolling_fits.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE rolled AS
SELECT f.*, row_number, n, n_skipped, coef AS b, std_error AS se, r.sigma, r.r_squared
FROM (SELECT DISTINCT dataset, width, intercept FROM rolling_fits) f,
     gpu_ols_rolling(format('SELECT y, x1, x2 FROM rolling_rows WHERE dataset = %L ORDER BY i', dataset), width,
                     intercept => f.intercept) r;
-- a window with fewer rows than terms has no more coefficients than rows, and no errors
SELECT dataset, count(DISTINCT r.row_number) AS windows, min(r.n) AS least, max(r.n) AS most,
    bool_and(r.n = f.n AND r.n + n_skipped = width) AS same_rows,
    bool_and(abs(b[term]::numeric - f.coef) <= tolerance * abs(f.coef)) AS coef,
    bool_and(abs(se[term]::numeric - f.std_error) <= tolerance * f.std_error AND
             abs(r.sigma::numeric - f.sigma) <= tolerance * f.sigma) AS errors,
    bool_and(abs(r.r_squared::numeric - f.r_squared) <= 1e-12) AS r_squared
FROM rolled r JOIN rolling_fits f USING (dataset, width, intercept, row_number),
     LATERAL (SELECT CASE WHEN dataset = 'far' AND NOT intercept THEN 1e-11 ELSE 1e-14 END AS tolerance) t
WHERE term IS NOT NULL GROUP BY dataset ORDER BY dataset COLLATE "C";
SELECT bool_and((b IS NULL) = (r.n = 0) AND se[1] IS NULL AND r.sigma IS NULL) AS short, count(*)
FROM rolled r JOIN rolling_fits f USING (dataset, width, intercept, row_number) WHERE term IS NULL;
SELECT count(*) AS missing FROM rolling_fits f
WHERE NOT EXISTS (SELECT FROM rolled r WHERE r.dataset = f.dataset AND r.row_number = f.row_number);

-- gpu_ols_agg over the same rows: a window has another order of summing and another shift
CREATE FUNCTION same_numbers(a float8[], b float8[], tolerance float8) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT cardinality(a) = cardinality(b) AND
           bool_and(x IS NOT DISTINCT FROM y OR abs(x - y) <= tolerance * abs(y)) FROM unnest(a, b) u (x, y)
$$;
CREATE TABLE rolling_many AS
SELECT i, sin(i * 7.1) + cos(i * i * 0.3) AS y, 1e6 + i * 0.5 AS a, sin(i * 1.3) * 10 AS b, i % 7 AS c,
    CASE WHEN i % 41 > 0 THEN cos(i * 0.7) END AS d
FROM generate_series(1, 700) i;
SELECT width, step, count(*) AS windows,
    bool_and(same_numbers(r.coef, (m).coef, 1e-13) AND r.n = (m).n AND n_skipped = (m).n_skipped AND
             abs(r.std_error[3] - sqrt((m).vcov[3][3])) <= 1e-13 * r.std_error[3]) AS as_agg,
    bool_and(row_number >= width AND (row_number - width) % step = 0) AS ends,
    count(*) = (700 - width) / step + 1 AS all_of_them
FROM (VALUES (6, 1), (7, 3), (50, 1), (50, 49), (50, 50), (50, 51), (50, 120), (699, 1), (700, 1), (350, 1), (351, 2))
          v (width, step),
     gpu_ols_rolling('SELECT y, a, b, c, d FROM rolling_many ORDER BY i', width, step) r,
     LATERAL (SELECT gpu_ols_agg(y, a, b, c, d) AS m FROM rolling_many
              WHERE i BETWEEN row_number - width + 1 AND row_number) f
GROUP BY width, step ORDER BY width, step;
-- arrays and other types of numbers, without an intercept, the intercept alone, and in descending order
SELECT count(*), bool_and(same_numbers(r.coef, a.coef, 1e-14)) AS arrays
FROM gpu_ols_rolling('SELECT y, a, b, c FROM rolling_many ORDER BY i', 20) r
JOIN gpu_ols_rolling('SELECT y, ARRAY[a, b], c::smallint FROM rolling_many ORDER BY i', 20) a USING (row_number);
SELECT bool_and(abs(coef[1] - mean) < 1e-14 AND abs(sigma - sd) < 1e-14) AS means
FROM gpu_ols_rolling('SELECT y FROM rolling_many ORDER BY i', 30) JOIN
     (SELECT i AS row_number, avg(y) OVER w AS mean, stddev(y) OVER w AS sd FROM rolling_many
      WINDOW w AS (ORDER BY i ROWS BETWEEN 29 PRECEDING AND CURRENT ROW)) m USING (row_number);
SELECT count(*), bool_and(same_numbers(r.coef, d.coef, 1e-13)) AS reversed
FROM gpu_ols_rolling('SELECT y, b, c FROM rolling_many ORDER BY i', 30) r
JOIN gpu_ols_rolling('SELECT y, b, c FROM rolling_many ORDER BY i DESC', 30) d
    ON d.row_number = 700 + 30 - r.row_number;
SELECT array_agg(row_number) AS rows, count(coef) AS fits
FROM gpu_ols_rolling('SELECT y, b FROM rolling_many ORDER BY i LIMIT 4', 1);
-- NULLs at the beginning: windows, and a first block, without a complete row
SELECT count(*), count(coef) AS fits, min(row_number) FILTER (WHERE coef IS NOT NULL) AS first,
    bool_and(n = greatest(least(row_number - 25, 10), 0)) AS n
FROM gpu_ols_rolling('SELECT y, CASE WHEN i > 25 THEN b END FROM rolling_many ORDER BY i', 10);
SELECT count(*), count(coef) FROM gpu_ols_rolling('SELECT y, NULL::float8 FROM rolling_many ORDER BY i', 10, 100);
-- fewer rows than a window, and no rows
SELECT count(*) FROM gpu_ols_rolling('SELECT y, b FROM rolling_many ORDER BY i', 701);
SELECT count(*) FROM gpu_ols_rolling('SELECT y, b FROM rolling_many WHERE false ORDER BY i', 1);
SELECT count(*) FROM gpu_ols_rolling('SELECT y, b FROM rolling_many ORDER BY i', 2147483647, 2147483647);
-- a perfect fit
SELECT bool_and(coef = '{1,2}' AND sigma = 0 AND r_squared = 1) AS exact
FROM gpu_ols_rolling('SELECT 1 + 2 * i, i FROM rolling_many ORDER BY i', 5);
SELECT function, device, rows, features FROM gpu_last_run();

-- bad input
SELECT * FROM gpu_ols_rolling('SELECT y, b FROM rolling_many', 10);
\set VERBOSITY terse
SELECT * FROM gpu_ols_rolling('SELECT * FROM (SELECT y, b FROM rolling_many ORDER BY i) r', 10);
SELECT * FROM gpu_ols_rolling('SELECT y, b FROM rolling_many ORDER BY i', 0);
SELECT * FROM gpu_ols_rolling('SELECT y, b FROM rolling_many ORDER BY i', 10, 0);
SELECT * FROM gpu_ols_rolling('SELECT y, b FROM rolling_many ORDER BY i', -1);
SELECT * FROM gpu_ols_rolling(NULL, 10);
SELECT * FROM gpu_ols_rolling('SELECT y, b FROM rolling_many ORDER BY i', NULL);
SELECT * FROM gpu_ols_rolling('SELECT y, b FROM rolling_many ORDER BY i', 10, NULL);
SELECT * FROM gpu_ols_rolling('SELECT y, b FROM rolling_many ORDER BY i', 10, 1, NULL);
SELECT * FROM gpu_ols_rolling('SELECT y FROM rolling_many ORDER BY i', 10, intercept => false);
SELECT * FROM gpu_ols_rolling('SELECT y, ''a''::text FROM rolling_many ORDER BY i', 10);
SELECT * FROM gpu_ols_rolling('SELECT 1, CASE WHEN i=4 THEN ''NaN''::float8 END AS nan FROM rolling_many ORDER BY i', 9);
SELECT * FROM gpu_ols_rolling('SELECT y, CASE WHEN i=40 THEN 1e200 ELSE b END AS huge FROM rolling_many ORDER BY i', 9);
SELECT * FROM gpu_ols_rolling('SELECT y, (ARRAY[b, c, d])[1:1 + i % 2] FROM rolling_many ORDER BY i', 10);
SELECT * FROM gpu_ols_rolling('DELETE FROM rolling_many RETURNING y', 10);
SELECT * FROM gpu_ols_rolling('SELECT y, b FROM rolling_many ORDER BY i; SELECT 1', 10);
SELECT * FROM gpu_ols_rolling('', 10);
