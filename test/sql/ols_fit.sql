-- gpu_ols_fit: a model from a query; terms take the columns' names.
SELECT (m).terms, (m).coef, (m).n, (m).n_skipped FROM
    (SELECT gpu_ols_fit('SELECT 1 + 2 * a - b AS y, a, b AS "B b" FROM generate_series(1, 4) a, generate_series(1, 5) b') AS m) t;
SELECT (gpu_ols_fit('SELECT y, x FROM (VALUES (1, 2), (2, 3), (3, 5)) AS t(x, y)', intercept => false)).terms;
-- every type of number, boolean and arrays of them, domains over them
CREATE DOMAIN dollars AS numeric(10, 2);
CREATE TABLE kinds AS SELECT i::smallint AS small, (i * i) AS int, (i % 7)::bigint AS big, (i % 5)::real AS real, sqrt(i) AS double,
    ln(i)::dollars AS money, i % 3 = 0 AS flag, ARRAY[i % 11, i % 13] AS ints, ARRAY[sin(i), cos(i)] AS doubles,
    ARRAY[i % 2 = 0] AS flags, ARRAY[i % 17, 1.5]::dollars[] AS moneys FROM generate_series(1, 200) i;
SELECT (m).terms, (m).n, (m).rank, (m).coef[14] IS NULL AS constant_aliased
FROM (SELECT gpu_ols_fit('SELECT int % 19, small, big, real, double, money, flag, ints, doubles, flags, moneys, int FROM kinds') AS m) t;
-- the same as by casts
SELECT relative_difference((gpu_ols_fit('SELECT int % 19, small, big, real, double, money, flag, ints, doubles, flags FROM kinds')).coef,
    (gpu_ols_agg(int % 19, small, big, real, double, money, flag::int, ints[1], ints[2], doubles[1], doubles[2], flags[1]::int)).coef) < 1e-15 AS same
FROM kinds;
-- a boolean response
SELECT (gpu_ols_fit('SELECT a > 2, a FROM generate_series(1, 4) a')).coef;
-- NULLs: in a column, an array, an array's element
SELECT (m).coef, (m).n, (m).n_skipped FROM (SELECT gpu_ols_fit($$SELECT y, x, a::int[] FROM (VALUES
    (1, NULL, '{1}'), (1, 1, NULL), (1, 1, '{NULL}'), (NULL, 1, '{1}'), (1, 1, '{1}'), (2, 2, '{1}'), (4, 2, '{2}')) AS t(y, x, a)$$) AS m) t;
-- any query that reads: WITH, VALUES, TABLE, a view, a partitioned and a temporary table, a trailing semicolon
SELECT (gpu_ols_fit('WITH t AS (SELECT i AS x, 2 * i AS y FROM generate_series(1, 3) i) SELECT y, x FROM t;')).coef;
SELECT (gpu_ols_fit('VALUES (3, 1), (5, 2), (7, 3)')).coef;
CREATE TEMP TABLE pairs (y float8, x float8);
INSERT INTO pairs VALUES (3, 1), (5, 2), (7, 3);
SELECT (gpu_ols_fit('TABLE pairs')).coef;
CREATE VIEW pg_temp.pairs_view AS SELECT y, x + 1 AS z FROM pairs;
SELECT (gpu_ols_fit('SELECT * FROM pairs_view')).terms, (gpu_ols_fit('SELECT * FROM pairs_view')).coef;
CREATE TABLE parted (k int, y float8, x float8) PARTITION BY LIST (k);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
CREATE TABLE parted_2 (k int, x float8, y float8);
ALTER TABLE parted ATTACH PARTITION parted_2 FOR VALUES IN (2);
INSERT INTO parted SELECT i % 2 + 1, 5 - i, i FROM generate_series(1, 100) i;
SELECT (gpu_ols_fit('SELECT y, x FROM parted')).coef;
-- rows of this transaction are seen, and the query may itself use gpureg
INSERT INTO pairs VALUES (100, 4);
SELECT (gpu_ols_fit('TABLE pairs')).n;
SELECT (gpu_ols_fit('SELECT (gpu_ols_fit(''TABLE pairs'')).n + i, i FROM generate_series(1, 3) i')).coef;
-- inside a function, and for each row of a query
SELECT d, (gpu_ols_fit(format('SELECT %s * i, i FROM generate_series(1, 5) i', d))).coef[2] FROM generate_series(1, 3) d;
-- a NULL query is a NULL model
SELECT gpu_ols_fit(NULL) IS NULL AS null_query;
-- a model is a value
CREATE TABLE models AS SELECT 'pairs' AS name, gpu_ols_fit('TABLE pairs') AS model;
SELECT name, round(gpu_predict(model, 2)::numeric, 6) AS prediction FROM models;
-- many rows
SELECT (m).n, relative_difference((m).coef, '{1, 2, -3}') < 1e-14 AS right
FROM (SELECT gpu_ols_fit('SELECT 1 + 2 * (i % 1000) - 3 * (i / 1000), i % 1000, i / 1000 FROM generate_series(1, 300000) i') AS m) t;
CREATE TABLE wide AS SELECT sin(i * 0.1) AS y, ARRAY(SELECT sin(i * j + j) FROM generate_series(1, 350) j) AS x FROM generate_series(1, 1000) i;
-- many features: a model of a megabyte
SELECT (m).rank, array_length((m).vcov, 1) AS terms, relative_difference((m).coef, (m2).coef) < 1e-13 AS same
FROM (SELECT gpu_ols_fit('SELECT y, x FROM wide') AS m) a, LATERAL (SELECT gpu_ols_agg(y, VARIADIC x) AS m2 FROM wide) b;
DROP TABLE kinds, parted, models, wide;
DROP DOMAIN dollars CASCADE;
