-- Folds drawn from values (gpu_enet_fold) and from keys (gpu_cv_fold): plans know their number, and custom scans draw
-- them as the functions do.
\set ECHO none
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
CREATE TEMP TABLE fold_rows AS
SELECT i AS id, i::bigint * 1234567890123 AS big, (i % 300)::smallint AS small, sin(i)::float8 AS y,
	CASE WHEN i % 7 = 0 THEN '-0'::float8 WHEN i % 11 = 0 THEN 0 ELSE cos(i * 1.7) END AS a, (i % 13 - 6)::float8 AS b,
	(i % 17)::real / 3 AS r, CASE WHEN i % 5 = 0 THEN 'NaN'::float8 ELSE i END AS n
FROM generate_series(1, 5000) i;
INSERT INTO fold_rows SELECT NULL, NULL, NULL, 1, 2, 3, 4, 5 FROM generate_series(1, 20);
INSERT INTO fold_rows SELECT 5000 + i, i, 1, NULL, NULL, i, NULL, NULL FROM generate_series(1, 500) i;
INSERT INTO fold_rows SELECT 6000 + i, i, 1, i % 3, i % 4, i % 5, i, 'Infinity' FROM generate_series(1, 777) i;
ALTER TABLE fold_rows ADD COLUMN late float8 DEFAULT 1.5;
INSERT INTO fold_rows SELECT 7000 + i, -i, 2, i % 7, i % 3, i % 5, i, i, i FROM generate_series(1, 900) i;
ANALYZE fold_rows;

-- the states of all folds, as text, by a statement; an empty list of differences means that both ways agree
CREATE FUNCTION pg_temp.fold_states(expression text, aggregate text, condition text, scans boolean)
RETURNS TABLE (fold int, state text) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('gpureg.enable_scan', scans::text, true);
	RETURN QUERY EXECUTE format('SELECT %s, (%s)::text FROM fold_rows WHERE %s GROUP BY 1', expression, aggregate,
								condition);
END $$;
CREATE FUNCTION pg_temp.is_scanned(expression text, aggregate text, condition text) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
	line text;
	found boolean := false;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN SELECT %s, %s FROM fold_rows WHERE %s GROUP BY 1', expression, aggregate,
							   condition) LOOP
		found := found OR line LIKE '%GpuregScan%';
	END LOOP;
	RETURN found;
END $$;
-- a fold's numbers of rows, and its residual sum of squares to 9 places
CREATE FUNCTION pg_temp.summary(x text) RETURNS text LANGUAGE sql AS $$
	SELECT format('(gpu_ols_agg(y, %1$s)).n || '' '' || (gpu_ols_agg(y, %1$s)).n_skipped || '' '' ||
		round((gpu_ols_agg(y, %1$s)).deviance::numeric, 9)', x)
$$;
\set ECHO all

CREATE TEMP VIEW fold_cases AS
SELECT * FROM (VALUES
	('values', 'gpu_enet_fold(10, y, a, b)', 'gpu_ols_stats_agg(y, a, b)', 'true'),
	('values of another order', 'gpu_enet_fold(9, b, y, a, b)', 'gpu_ols_stats_agg(y, a, b)', 'true'),
	('values and WHERE', 'gpu_enet_fold(10, y, a, b)', 'gpu_ols_stats_agg(y, a, b)', 'b > -2 AND id <> 17'),
	('1000 folds', 'gpu_enet_fold(1000, y, a, b)', 'gpu_ols_stats_agg(y, a, b)', 'true'),
	('columns besides', 'gpu_enet_fold(10, n, r, a)', 'gpu_ols_stats_agg(y, a, b)', 'true'),
	('integers', 'gpu_enet_fold(6, id, big, small, r)', 'gpu_ols_stats_agg(y, a, b)', 'true'),
	('a late column', 'gpu_enet_fold(10, y, a, late)', 'gpu_ols_stats_agg(y, a, late)', 'true'),
	('expressions', 'gpu_enet_fold(10, y + 1, a)', 'gpu_ols_stats_agg(y, a, b)', 'true'),
	('key', 'gpu_cv_fold(id, 7, 5)', 'gpu_ols_stats_agg(y, a, b)', 'true'),
	('big key', 'gpu_cv_fold(big, 100, -1)', 'gpu_ols_stats_agg(y, a, b)', 'true'),
	('small key', 'gpu_cv_fold(small, 3, 9223372036854775807)', 'gpu_ols_stats_agg(y, a, b)', 'a < 1'),
	('text key', 'gpu_cv_fold(id::text, 7, 5)', 'gpu_ols_stats_agg(y, a, b)', 'true')
) v (name, expression, aggregate, condition);

SELECT name, pg_temp.is_scanned(expression, aggregate, condition) AS scanned,
	(SELECT count(*) FROM (SELECT * FROM pg_temp.fold_states(expression, aggregate, condition, true)
		EXCEPT ALL SELECT * FROM pg_temp.fold_states(expression, aggregate, condition, false)) x) AS differ,
	(SELECT count(*) FROM pg_temp.fold_states(expression, aggregate, condition, true)) AS groups
FROM fold_cases;

-- groups beyond work_mem go to files
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT name,
	(SELECT count(*) FROM (SELECT * FROM pg_temp.fold_states(expression, pg_temp.summary('a'), condition, true)
		EXCEPT ALL SELECT * FROM pg_temp.fold_states(expression, pg_temp.summary('a'), condition, false)) x) AS differ,
	(SELECT count(*) FROM pg_temp.fold_states(expression, pg_temp.summary('a'), condition, true)) AS groups
FROM fold_cases WHERE name IN ('1000 folds', 'big key', 'columns besides');
RESET work_mem;
RESET hash_mem_multiplier;

-- folds have the rows that SQL counts in them
SELECT count(*) AS folds, bool_and(c.n_test = s.n) AS agree
FROM gpu_ols_cv('SELECT y, a, b, id FROM fold_rows', key => 'id', folds => 12, seed => 3) c
JOIN (SELECT fold, count(y) AS n FROM (SELECT gpu_cv_fold(id, 12, 3) AS fold, y FROM fold_rows OFFSET 0) d
	GROUP BY fold) s USING (fold);
SELECT count(*) AS folds, bool_and(c.n_test = s.n) AS agree
FROM gpu_ols_cv('SELECT y, a, b, id, id % 4 AS f FROM fold_rows', fold => 'f') c
JOIN (SELECT id % 4 AS fold, count(y) AS n FROM fold_rows GROUP BY 1) s USING (fold);

-- the same answers by scans, by the executor, and from a query that cannot be scanned; rows with a NULL are counted
CREATE FUNCTION pg_temp.cv_of(query text, weights text, scans boolean) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('gpureg.enable_scan', scans::text, true);
	RETURN (SELECT string_agg(round(m::numeric, 10)::text, ' ') || ' ' || (c.model_min).n || ' '
		|| (c.model_min).n_skipped || ' ' || c.nfolds
		FROM gpu_enet_cv(query, weights => weights, nlambda => 8) c, unnest(c.mean) m
		GROUP BY c.model_min, c.nfolds);
END $$;
SELECT name, pg_temp.cv_of(query, weights, true) = pg_temp.cv_of(query, weights, false) AS agree
FROM (VALUES ('columns', 'SELECT y, a, b FROM fold_rows', NULL),
	('weights', 'SELECT y, a, b, small AS w FROM fold_rows', 'w'),
	('types', 'SELECT y, a, b, r, small FROM fold_rows', NULL),
	('join', 'SELECT d.y, d.a, e.b FROM fold_rows d JOIN fold_rows e ON d.id = e.id', NULL),
	('arrays', 'SELECT y, ARRAY[a, b] AS x FROM fold_rows', NULL)) v (name, query, weights);
SELECT pg_temp.cv_of('SELECT y, a, b FROM fold_rows', NULL, true) =
	pg_temp.cv_of('SELECT y, a, b FROM fold_rows ORDER BY id DESC NULLS FIRST', NULL, true) AS any_order;

-- as many folds as rows are not expected: neither a table nor a join is sorted
CREATE TABLE fold_table AS SELECT i AS id, sin(i) AS y, cos(i) AS x FROM generate_series(1, 20000) i;
ANALYZE fold_table;
SET gpureg.enable_scan = off;
EXPLAIN (COSTS OFF) SELECT gpu_ols_stats_agg(y, x) FROM fold_table GROUP BY gpu_enet_fold(10, y, x);
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT gpu_ols_stats_agg(y, x) FROM fold_table GROUP BY gpu_cv_fold(id, 10, 0);
RESET gpureg.enable_scan;
EXPLAIN (COSTS OFF) SELECT gpu_ols_stats_agg(y, x) FROM fold_table GROUP BY gpu_cv_fold(id, 10, 0);
SELECT sum((m).n) AS n, count(*) AS folds
FROM (SELECT gpu_ols_agg(y, x) AS m FROM fold_table GROUP BY gpu_cv_fold(id, 10, 0)) t;
DROP TABLE fold_table;
