-- The custom scan and the rewrite of calls over array_agg at their edges: each result must be that with
-- gpureg.enable_scan = off and gpureg.enable_rewrite = off.
SET max_parallel_workers_per_gather = 0;
SET enable_sort = off;

-- Keys of groups that wait in a file: array_append returns an expanded array, whose datum is a pointer into memory
CREATE TABLE edge_rows AS SELECT i % 5000 AS k, sin(i) AS y, cos(i * 1.7) AS x, ARRAY[i % 5000] AS a
    FROM generate_series(1, 20000) i;
ANALYZE edge_rows;
CREATE FUNCTION edge_array(k int) RETURNS int[] LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    a int[] := '{}';
BEGIN
    a := a || k;
    a[2] := k % 3;
    RETURN a;
END $$;
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT count(*), sum((m).n)
    FROM (SELECT array_append(a, 1) AS key, gpu_ols_agg(y, x) AS m FROM edge_rows GROUP BY key) s;
SELECT count(*), sum((m).n) FROM (SELECT edge_array(k) AS key, gpu_ols_agg(y, x) AS m FROM edge_rows GROUP BY key) s;
RESET work_mem;
RESET hash_mem_multiplier;
RESET enable_sort;

-- A cached plan is made anew when the transition function can't be called in place any more
SET plan_cache_mode = force_generic_plan;
PREPARE edge_kept AS SELECT (gpu_ols_agg(y, x)).n FROM edge_rows;
EXECUTE edge_kept;
BEGIN;
ALTER FUNCTION gpu_ols_stats_accum(gpu_ols_stats, float8, float8[]) SET work_mem = '1MB';
EXECUTE edge_kept;
ROLLBACK;
EXECUTE edge_kept;

-- Partitions that a parameter or a stable function excludes aren't read
CREATE TABLE edge_parts (k int, y float8, x float8) PARTITION BY LIST (k);
CREATE TABLE edge_parts_1 PARTITION OF edge_parts FOR VALUES IN (1);
CREATE TABLE edge_parts_2 PARTITION OF edge_parts FOR VALUES IN (2);
CREATE TABLE edge_parts_3 PARTITION OF edge_parts FOR VALUES IN (3);
INSERT INTO edge_parts SELECT 1 + i % 3, sin(i), cos(i) FROM generate_series(1, 3000) i;
ANALYZE edge_parts;
CREATE FUNCTION edge_two() RETURNS int LANGUAGE plpgsql STABLE AS 'BEGIN RETURN 2; END';
CREATE FUNCTION edge_partitions_read(statement text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    line text;
    n bigint := 0;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || statement LOOP
        n := n + (line ~ 'Seq Scan on edge_parts_\d' AND line !~ 'never executed')::int;
    END LOOP;
    RETURN n;
END $$;
PREPARE edge_of(int) AS SELECT (gpu_ols_agg(y, x)).n FROM edge_parts WHERE k = $1;
SELECT edge_partitions_read('EXECUTE edge_of(2)');
SELECT edge_partitions_read('SELECT gpu_ols_agg(y, x) FROM edge_parts WHERE k = edge_two()');
RESET plan_cache_mode;

-- Options are evaluated once, not for each row
CREATE SEQUENCE edge_calls;
CREATE FUNCTION edge_l2() RETURNS float8 LANGUAGE plpgsql STABLE COST 1000 AS $$
BEGIN
    PERFORM nextval('edge_calls');
    RETURN 1;
END $$;
SELECT gpu_logreg(array_agg(x), array_agg(y > 0), true, edge_l2()) IS NOT NULL AS fitted FROM edge_rows;
SELECT last_value < 10 AS a_few_times FROM edge_calls;

-- A role that may not call gpu_ols may not do so by another role's plan
CREATE ROLE regress_gpureg_edge_may;
CREATE ROLE regress_gpureg_edge_may_not;
GRANT SELECT ON edge_rows TO regress_gpureg_edge_may, regress_gpureg_edge_may_not;
REVOKE EXECUTE ON FUNCTION gpu_ols(float8[], float8[], boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION gpu_ols(float8[], float8[], boolean) TO regress_gpureg_edge_may;
SET plan_cache_mode = force_generic_plan;
PREPARE edge_ols AS SELECT gpu_ols(array_agg(x), array_agg(y)) IS NOT NULL AS fitted FROM edge_rows;
SET ROLE regress_gpureg_edge_may;
EXECUTE edge_ols;
SET ROLE regress_gpureg_edge_may_not;
EXECUTE edge_ols;
RESET ROLE;
RESET plan_cache_mode;
GRANT EXECUTE ON FUNCTION gpu_ols(float8[], float8[], boolean) TO PUBLIC;
REVOKE EXECUTE ON FUNCTION gpu_ols(float8[], float8[], boolean) FROM regress_gpureg_edge_may;

-- A table whose first pages have no complete row
CREATE TABLE edge_late AS SELECT sin(i) AS y, CASE WHEN i > 1000 THEN cos(i * 1.7) END AS x
    FROM generate_series(1, 5000) i;
CREATE FUNCTION edge_outcome(statement text, scan text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    r record;
BEGIN
    PERFORM set_config('gpureg.enable_scan', scan, true);
    EXECUTE statement INTO r;
    PERFORM set_config('gpureg.enable_scan', 'on', true);
    RETURN r::text;
END $$;
SELECT statement, edge_outcome(statement, 'on') = edge_outcome(statement, 'off') AS same FROM (VALUES
    ('SELECT gpu_ols_agg(y, x) FROM edge_late'), ('SELECT gpu_ols_agg(y, x) FROM edge_late WHERE y > 0'),
    ('SELECT gpu_ols_agg(y, x) FROM edge_late WHERE y > 0 AND y < 0.9'),
    ($q$SELECT gpu_ols_fit('SELECT y, x FROM edge_late')$q$)) s(statement);

DEALLOCATE ALL;
DROP TABLE edge_rows, edge_parts, edge_late;
DROP SEQUENCE edge_calls;
DROP FUNCTION edge_array, edge_two, edge_partitions_read, edge_l2, edge_outcome;
DROP ROLE regress_gpureg_edge_may, regress_gpureg_edge_may_not;
