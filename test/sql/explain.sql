-- EXPLAIN (ANALYZE) of the custom scan and of aggregates; and comments on every object.
CREATE TABLE explained AS SELECT i % 3 AS few, i AS many, i::float8 AS x, (i * i)::float8 AS y, i % 7 < 3 AS won
    FROM generate_series(1, 3000) i;
ANALYZE explained;
ALTER TABLE explained SET (parallel_workers = 2);

-- Lines of a plan with masks for figures that vary; parts that only one version prints are left out.
CREATE FUNCTION explain_filter(statement text, options text DEFAULT '') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE format('EXPLAIN (ANALYZE, COSTS OFF, SUMMARY OFF %s) %s', options, statement) LOOP
        CONTINUE WHEN line ~ 'Buffers:|Batches:|Replaces:|^\s*(Aggregate|Planning):';
        line := regexp_replace(line, 'actual time=\S+ rows=(\d+)(\.00)? ', 'actual rows=\1 ');
        line := regexp_replace(line, 'rows=(\d+)\.00 ', 'rows=\1 ');
        line := regexp_replace(line, '(Rows per Second|Memory Usage): \d+', '\1: N');
        line := regexp_replace(line, 'SubPlan expr_1', 'SubPlan 1');
        RETURN NEXT line;
    END LOOP;
END
$$;

SELECT usual_plans(true) \gset
-- the scan alone, without and with groups
SELECT explain_filter('SELECT gpu_ols_agg(y, x) FROM explained WHERE x > 100');
SELECT explain_filter('SELECT few, gpu_ols_agg(y, x) FROM explained WHERE x > 100 GROUP BY few');
-- no figures without ANALYZE, for a scan that didn't run, and no seconds without TIMING
EXPLAIN (COSTS OFF) SELECT gpu_ols_agg(y, x) FROM explained;
SELECT explain_filter('SELECT 1 FROM (SELECT gpu_ols_agg(y, x) AS m FROM explained OFFSET 1) q LIMIT 0');
SELECT explain_filter('SELECT gpu_ols_agg(y, x) FROM explained', ', TIMING OFF');
-- a scan that is repeated for each row of another query: figures are of all loops together
SELECT explain_filter('SELECT k, (SELECT gpu_ols_agg(y, x) FROM explained WHERE x < k) IS NULL
    FROM generate_series(1000, 2000, 1000) k');
-- formats for programs
CREATE FUNCTION explain_scan(statement text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT json) ' || statement INTO plan;
    RETURN jsonb_path_query_first(plan::jsonb, '$.**  ? (@."Custom Plan Provider" == "GpuregScan")');
END
$$;
SELECT key, CASE WHEN key ~ 'per Second|Memory' THEN value::text::numeric > 0 ELSE value IS NOT NULL END AS given,
    CASE WHEN key !~ 'per Second|Memory' THEN value END AS value
FROM jsonb_each(explain_scan('SELECT few, gpu_ols_agg(y, x) FROM explained GROUP BY few'))
WHERE key IN ('Columns', 'Device', 'Rows Read', 'Rows per Second', 'Scanning Workers', 'Partial Groups', 'Memory Usage')
ORDER BY key;
-- workers: rows of all processes together, and as many groups as these returned; also if all is in workers
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SELECT plan -> 'Rows Read' AS rows, (plan ->> 'Scanning Workers')::int BETWEEN 1 AND 2
    OR (plan ->> 'Scanning Workers') IS NULL AS workers, (plan ->> 'Rows per Second')::float8 > 0 AS rate,
    (plan ->> 'Partial Groups')::int BETWEEN 3 AND 9 AS groups, (plan ->> 'Memory Usage')::int > 0 AS memory
FROM explain_scan('SELECT few, gpu_ols_agg(y, x) FROM explained GROUP BY few') plan;
SET parallel_leader_participation = off;
SELECT plan -> 'Rows Read' AS rows, (plan ->> 'Scanning Workers')::int BETWEEN 1 AND 2 AS workers,
    (plan ->> 'Memory Usage')::int > 0 AS memory
FROM explain_scan('SELECT few, gpu_ols_agg(y, x) FROM explained GROUP BY few') plan;
-- groups that find no room, of which fewer were expected than are worth an exchange
ALTER TABLE explained ALTER many SET (n_distinct = 2);
ANALYZE explained;
SET work_mem = '64kB';
SELECT plan -> 'Records Exchanged' AS exchanged, (plan ->> 'Records in Files')::int > 0 AS in_files,
    (plan ->> 'Memory Usage')::int > 0 AS memory
FROM explain_scan('SELECT many, gpu_ols_agg(y, x) FROM explained GROUP BY many') plan;
-- the child's figures are of reading pages alone; files are the node's
CREATE FUNCTION explain_child(statement text, OUT starts_early bool, OUT takes_less bool, OUT child_files bigint,
    OUT has_files bool, OUT rows bigint) LANGUAGE plpgsql AS $$
DECLARE
    plan json;
    node jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT json) ' || statement INTO plan;
    node := jsonb_path_query_first(plan::jsonb, '$.**  ? (@."Custom Plan Provider" == "GpuregScan")');
    SELECT (c ->> 'Actual Startup Time')::float8 < (c ->> 'Actual Total Time')::float8,
        (c ->> 'Actual Total Time')::float8 < (node ->> 'Actual Total Time')::float8,
        (c ->> 'Temp Written Blocks')::bigint, (node ->> 'Temp Written Blocks')::bigint > 0, (c ->> 'Actual Rows')::float8
    FROM jsonb_path_query_first(node, '$.Plans[0]') c INTO starts_early, takes_less, child_files, has_files, rows;
END
$$;
SET max_parallel_workers_per_gather = 0;
SELECT * FROM explain_child('SELECT many, gpu_ols_agg(y, x) FROM explained WHERE x > 5 GROUP BY many');
DROP FUNCTION explain_child;
RESET work_mem;
RESET parallel_leader_participation;
RESET max_parallel_workers_per_gather;
RESET min_parallel_table_scan_size;
RESET parallel_tuple_cost;
RESET parallel_setup_cost;
SELECT usual_plans(false) \gset
-- Aggregates, if the server asks for their figures, as from PostgreSQL 18 on
CREATE FUNCTION explained_aggregates(statement text, options text DEFAULT '') RETURNS TABLE (told text)
LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE format('EXPLAIN (ANALYZE %s) %s', options, statement) LOOP
        CONTINUE WHEN line !~ '^\s*Aggregate: ';
        told := regexp_replace(ltrim(line), 'per Second: \d+$', 'per Second: N');
        RETURN NEXT;
    END LOOP;
END
$$;
CREATE FUNCTION told_as(statement text, options text, VARIADIC expected text[]) RETURNS boolean LANGUAGE sql AS $$
    SELECT coalesce(array_agg(told), '{}') = CASE WHEN current_setting('server_version_num')::int >= 180000
        THEN expected ELSE '{}' END FROM explained_aggregates(statement, options)
$$;
SELECT told_as('SELECT gpu_ols_agg(y, x), gpu_auc(x, won) FROM explained', '',
    'Aggregate: gpu_ols_agg  Device: cpu  Rows: 3000  Features: 1  Groups: 1  Rows per Second: N',
    'Aggregate: gpu_auc  Device: cpu  Rows: 3000  Features: 1  Groups: 1  Rows per Second: N');
SELECT told_as('SELECT few, gpu_ols_stats_agg(y, x, x * x), avg(x) FROM explained GROUP BY few', ', TIMING OFF',
    'Aggregate: gpu_ols_stats_agg  Device: cpu  Rows: 3000  Features: 2  Groups: 3');
SELECT told_as('SELECT few, gpu_logreg_agg(won, x) FROM explained WHERE many <= 300 GROUP BY few', ', TIMING OFF',
    'Aggregate: gpu_logreg_agg  Device: cpu  Rows: 300  Features: 1  Groups: 3');
SELECT told_as('SELECT gpu_ols_agg(y, x) FROM explained WHERE x < 0', '', VARIADIC '{}');
SELECT told_as('SELECT sum(x) FROM explained', '', VARIADIC '{}');
DROP TABLE explained;

-- Comments: each function, aggregate and type must have one that is no mere name, and functions that users shouldn't
-- call must say so; columns of types must have one, too.
CREATE VIEW extension_objects AS
SELECT pg_describe_object(d.classid, d.objid, 0) AS object,
    obj_description(d.objid, d.classid::regclass::name) AS comment
FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid AND d.refclassid = 'pg_extension'::regclass
WHERE d.deptype = 'e' AND e.extname = 'gpureg'
    AND NOT EXISTS (SELECT FROM pg_type t WHERE t.typarray = d.objid AND d.classid = 'pg_type'::regclass);
SELECT count(*) > 200 AS found FROM extension_objects;
SELECT * FROM extension_objects WHERE coalesce(comment, '') !~ '^\S.{14,}[^.\s]$'
    OR comment ~* '^(the same|likewise|i/o|todo)' ORDER BY object;
SELECT comment FROM extension_objects WHERE comment NOT LIKE 'internal: %' AND length(comment) > 120;
SELECT a.attrelid::regclass AS type, a.attname AS column_name FROM pg_attribute a
JOIN pg_type t ON t.typrelid = a.attrelid
JOIN pg_depend d ON d.objid = t.oid AND d.classid = 'pg_type'::regclass AND d.deptype = 'e'
JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'gpureg'
WHERE col_description(a.attrelid, a.attnum) IS NULL ORDER BY a.attrelid, a.attnum;
DROP VIEW extension_objects;
DROP FUNCTION explain_filter, explain_scan, told_as, explained_aggregates;
