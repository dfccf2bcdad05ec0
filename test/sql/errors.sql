-- Bad input: each message with its SQLSTATE.
\set SHOW_CONTEXT never
CREATE TEMP TABLE bad (y float8, x float8, z float8);
INSERT INTO bad SELECT i, i % 7, i % 5 FROM generate_series(1, 100) i;
-- NaN and infinity name the column, in y and in x, in every form
INSERT INTO bad VALUES (1, 'NaN', 1);
SELECT gpu_ols(array_agg(ARRAY[z, x]), array_agg(y)) FROM bad;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_agg(y, z, x) FROM bad;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, z, x FROM bad');
\echo :LAST_ERROR_SQLSTATE
UPDATE bad SET x = '-Infinity' WHERE x = 'NaN';
SELECT gpu_ols_agg(x, y, z) FROM bad;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT x, y, z FROM bad');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols(array_agg(y), array_agg(x)) FROM bad;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT i, ARRAY[i, ''NaN''::float8] AS v FROM generate_series(1, 3) i');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT i, ''Infinity''::real AS r FROM generate_series(1, 3) i');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT i, ''NaN''::numeric AS num FROM generate_series(1, 3) i');
\echo :LAST_ERROR_SQLSTATE
-- NaN and infinity don't matter in a row that is left out for a NULL
UPDATE bad SET z = NULL WHERE x = '-Infinity';
SELECT (gpu_ols_agg(y, x, z)).n_skipped, (gpu_ols_fit('TABLE bad')).n_skipped FROM bad;
-- squares out of range, at both ends
SELECT gpu_ols_agg(i, i * 1e200) FROM generate_series(1, 3) i;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT i * 1e200 AS huge, i FROM generate_series(1, 3) i');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols(array_agg(i * 1e-150), array_agg(i)) FROM generate_series(1, 3) i;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_rollup(s) FROM (SELECT gpu_ols_stats_agg(i, i * 1e154) AS s FROM generate_series(1, 2) i,
    generate_series(1, 20) j GROUP BY j) t;
\echo :LAST_ERROR_SQLSTATE
-- results out of range: an error names the term whose variance is too large or too small; coefficients alone have no
-- variance
CREATE TEMP TABLE sizes AS SELECT i % 5 + i / 7.0 AS x, sin(i) AS y FROM generate_series(1, 20) i;
SELECT gpu_ols_agg(y * 1e118, x * 1e-132) FROM sizes;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y * 1e118 AS large, x AS usual, x * x * 1e-132 AS small FROM sizes');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_solve(gpu_ols_stats_agg(y * 1e-120, x * 1e130)) FROM sizes;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_solve(gpu_ols_stats_agg(y * 1e-130, x * 1e148), false) FROM sizes;
\echo :LAST_ERROR_SQLSTATE
SELECT relative_difference(gpu_ols(array_agg(x * 1e-132), array_agg(y * 1e118)),
                           (SELECT ARRAY[c[1] * 1e118, c[2] * 1e250]
                               FROM (SELECT gpu_ols(array_agg(x), array_agg(y)) FROM sizes) t(c)))
                               < 1e-14 AS coefficients
FROM sizes;
SELECT max(abs(a.statistic / b.statistic - 1)) < 1e-13 AS same FROM
    (SELECT t.* FROM (SELECT gpu_ols_agg(y, x) FROM sizes) f(m), gpu_tidy(m) t) a JOIN
    (SELECT t.* FROM (SELECT gpu_ols_agg(y * 1e50, x * 1e-100) FROM sizes) f(m), gpu_tidy(m) t) b USING (term);
-- gpu_glance of squares near the least float8: as for the same rows times a power of two
SELECT abs(a.sigma * u / b.sigma - 1) < 1e-15 AS sigma, abs(a.f_statistic / b.f_statistic - 1) < 1e-15 AS f,
    a.r_squared = b.r_squared AS r2,
       abs((a.log_lik - 20 * ln(u)) / b.log_lik - 1) < 1e-15 AS log_lik, b.deviance < 1e-290 AS small
FROM (SELECT 2::float8 ^ -445) s(u), (SELECT g.* FROM (SELECT gpu_ols_agg(x + 1e-13 * y, x) FROM sizes) f(m),
    gpu_glance(m) g) a,
     (SELECT g.* FROM (SELECT gpu_ols_agg((x + 1e-13 * y) * 2::float8 ^ -445, x) FROM sizes) f(m), gpu_glance(m) g) b;
SELECT f_statistic FROM gpu_glance(ROW('ols', '{(intercept),a}', '{1,2}', NULL, 9, 0, 2, 7, 1e-200, 1e200, 1,
    true, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::gpu_model);
\echo :LAST_ERROR_SQLSTATE
-- a prediction out of range, where infinity minus infinity arises; an infinite value is no error
SELECT gpu_predict(m, x, x)
FROM (SELECT gpu_ols_fit('VALUES (1e10, 1, 3), (5e10, 2, 4), (2e10, 3, 9), (1e10, 4, 4)')) f(m),
    (VALUES (1e300::float8)) v(x);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(m, 1e300, -1e300)
FROM (SELECT gpu_ols_fit('VALUES (1e10, 1, 3), (5e10, 2, 4), (2e10, 3, 9), (1e10, 4, 4)')) f(m);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(m, 'Infinity'::float8) FROM (SELECT gpu_ols_fit('VALUES (1, 1), (3, 2), (4, 4)')) f(m);
-- no rows, or only skipped ones: the query form reports them
SELECT gpu_ols_fit('SELECT y, x FROM bad WHERE false');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, NULL::float8 AS x FROM bad LIMIT 3');
\echo :LAST_ERROR_SQLSTATE
-- shapes of arrays
SELECT gpu_ols('{1,2,3}', '{1,2}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols('{{1,2},{3,4}}', '{1,2,3}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols('{{{1}},{{2}}}', '{1,2}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols('{1,2}', '{{1},{2}}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_agg(y, VARIADIC x) FROM (VALUES (1, '{1,2}'::float8[]), (2, '{1,2,3}')) AS t(y, x);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_agg(y, VARIADIC x) FROM (VALUES (1, '{{1,2},{3,4}}'::float8[])) AS t(y, x);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_agg(y, VARIADIC x) FROM (VALUES (1, '{}'::float8[])) AS t(y, x);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit($$SELECT y, x FROM (VALUES (1, '{1,2}'::int[]), (2, '{1,2,3}')) AS t(y, x)$$);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit($$SELECT 1, '{{1,2},{3,4}}'::int[] AS x$$);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit($$SELECT 1, '{}'::int[] AS x$$);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_rollup(s) FROM (SELECT gpu_ols_stats_agg(1, 2) AS s UNION ALL SELECT gpu_ols_stats_agg(1, 2, 3)) t;
\echo :LAST_ERROR_SQLSTATE
-- too many features
SELECT gpu_ols_agg(1, VARIADIC array_fill(0::float8, ARRAY[10001]));
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT 1, array_fill(0::float8, ARRAY[10001])');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols(array_fill(0::float8, ARRAY[1, 10001]), '{1}');
\echo :LAST_ERROR_SQLSTATE
-- an array beyond PostgreSQL's limit is PostgreSQL's own error; gpu_ols_agg and gpu_ols_fit stream
SELECT gpu_ols(array_fill(0::float8, ARRAY[134217728]), '{1}');
\echo :LAST_ERROR_SQLSTATE
-- invalid queries
SELECT gpu_ols_fit('SELECT');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT 1, ''a''::text AS name');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT ''a''::text AS name, 1');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT ''{1}''::int[] AS y, 1');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT 1, now()');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT 1, 2; SELECT 3, 4');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('INSERT INTO bad VALUES (1, 2, 3) RETURNING y, x');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('DELETE FROM bad');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('WITH d AS (DELETE FROM bad RETURNING y, x) SELECT * FROM d');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x FROM bad FOR UPDATE');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x FROM bad WHERE x IN (SELECT z FROM (SELECT z FROM bad FOR SHARE) s)');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('WITH b AS (SELECT y, x FROM bad FOR UPDATE) SELECT * FROM b');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x INTO stolen FROM bad');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('EXPLAIN SELECT y, x FROM bad');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('COMMIT');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, $1 FROM bad');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT FROM WHERE');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x FROM no_such_table');
\echo :LAST_ERROR_SQLSTATE
-- an error of the query's own, in the middle
SELECT gpu_ols_fit('SELECT i, 1 / (i - 5000) FROM generate_series(1, 10000) i');
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM bad;
-- gpu_margins over a query
CREATE TEMP TABLE fitted AS SELECT gpu_ols_agg(i + i % 3, i) AS m FROM generate_series(1, 9) i;
SELECT gpu_margins(m, 'SELECT y, x FROM bad') FROM fitted;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_margins(m, 'SELECT ''{1}''::text AS x1') FROM fitted;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_margins(m, 'SELECT x AS x1 FROM bad FOR UPDATE') FROM fitted;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_margins(m, 'SELECT 1 / (i - 5000) AS x1 FROM generate_series(1, 10000) i') FROM fitted;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_margins(m, 'SELECT i AS x1, ''NaN''::real AS w FROM generate_series(1, 3) i', weights => 'w') FROM fitted;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_margins(m, 'SELECT i AS x1 FROM generate_series(1, 3) i', weights => 'x1', offsets => 'X1') FROM fitted;
\echo :LAST_ERROR_SQLSTATE
-- the session goes on
SELECT gpu_ols('{1,2,3}', '{3,5,7}');
