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
-- in a row that is left out for a NULL they don't matter
UPDATE bad SET z = NULL WHERE x = '-Infinity';
SELECT (gpu_ols_agg(y, x, z)).n_skipped, (gpu_ols_fit('TABLE bad')).n_skipped FROM bad;
-- squares out of range, both ways
SELECT gpu_ols_agg(i, i * 1e200) FROM generate_series(1, 3) i;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT i * 1e200 AS huge, i FROM generate_series(1, 3) i');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols(array_agg(i * 1e-150), array_agg(i)) FROM generate_series(1, 3) i;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_rollup(s) FROM (SELECT gpu_ols_stats_agg(i, i * 1e154) AS s FROM generate_series(1, 2) i, generate_series(1, 20) j GROUP BY j) t;
\echo :LAST_ERROR_SQLSTATE
-- no rows, or only skipped ones: the query form says so
SELECT gpu_ols_fit('SELECT y, x FROM bad WHERE false');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, NULL::float8 AS x FROM bad LIMIT 3');
\echo :LAST_ERROR_SQLSTATE
-- shapes
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
-- more than a value can hold is PostgreSQL's own error; gpu_ols_agg and gpu_ols_fit stream
SELECT gpu_ols(array_fill(0::float8, ARRAY[134217728]), '{1}');
\echo :LAST_ERROR_SQLSTATE
-- queries
SELECT gpu_ols_fit('SELECT 1');
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
-- and the session goes on
SELECT gpu_ols('{1,2,3}', '{3,5,7}');
