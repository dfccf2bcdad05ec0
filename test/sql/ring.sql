-- Rows that reach the CPU through the ring that feeds a device: models and errors must be the same. (The number of
-- workers that had rows is random.)
SET gpureg.device = cpu;
SET jit = off;
SET client_min_messages = error;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
CREATE DOMAIN ring_money AS numeric(10, 2);
CREATE DOMAIN ring_flag AS boolean;
CREATE DOMAIN ring_pair AS float8[];
CREATE TABLE ring_kinds AS SELECT i, sin(i) + i % 5 AS y, (i * 7 + i / 3) % 5 < 2 AS won, (i % 113)::smallint AS small,
    i % 1009 AS int, (i % 7)::bigint AS big, cos(i)::real AS real,
    sqrt(i) AS double, ln(i)::numeric AS num, (i % 17 / 4.0)::ring_money AS money, i % 3 = 0 AS flag,
    (i % 4 = 1)::ring_flag AS mark, ARRAY[i % 11, i % 13]::smallint[] AS smalls,
    ARRAY[i % 19, i % 23] AS ints, ARRAY[i * i % 29]::bigint[] AS bigs, ARRAY[sin(i * 3), cos(i * 5)]::real[] AS reals,
    ARRAY[sin(i * i), cos(i * i)] AS doubles, ARRAY[i % 31 / 3.0, 1.5 * (i % 37)] AS nums,
    ARRAY[i % 2 = 0, i % 5 = 1] AS flags, ARRAY[i % 41, i % 43 / 8.0]::ring_money[] AS moneys,
    ARRAY[sin(i / 3.0), cos(i / 7.0)]::ring_pair AS pair,
    CASE WHEN i % 10 <> 7 THEN ARRAY[i % 6, CASE WHEN i % 9 > 0 THEN i % 8 END] END AS holes,
    CASE WHEN i % 12 > 0 THEN tan(i)::real END AS gaps, NULL::float8 AS nothing
    FROM generate_series(1, 6000) i;
CREATE TABLE ring_empty (y float8, x float8, v float8[]);
CREATE TABLE ring_one AS SELECT 3::float8 AS y, 2::float8 AS x, ARRAY[1, 2]::real[] AS v;
CREATE TABLE ring_wide AS SELECT i, cos(i * 1.1) AS y, ARRAY(SELECT hashint4(1000 * i + j) / 2147483648.0
    FROM generate_series(1, 1000) j)::float8[] AS x FROM generate_series(1, 300) i;
CREATE TABLE ring_parted (k int, y float8, x float8) PARTITION BY LIST (k);
CREATE TABLE ring_parted_1 PARTITION OF ring_parted FOR VALUES IN (0, 1);
CREATE TABLE ring_parted_2 (dropped text, x float8, k int, y float8);
ALTER TABLE ring_parted_2 DROP COLUMN dropped;
ALTER TABLE ring_parted ATTACH PARTITION ring_parted_2 FOR VALUES IN (2, 3);
INSERT INTO ring_parted SELECT i % 4, sin(i) + i % 3, cos(i * i) FROM generate_series(1, 5000) i;
CREATE VIEW ring_view AS SELECT k.y, k.int + p.x AS sum, p.x FROM ring_kinds k JOIN ring_parted p ON p.k = k.i % 4
    AND p.x > 0.99;
CREATE TEMP TABLE ring_temp AS SELECT y, int, real FROM ring_kinds;
ANALYZE ring_kinds, ring_empty, ring_one, ring_wide, ring_parted, ring_temp;
-- a hundred rows, of which the planner expects one
CREATE FUNCTION ring_hundred() RETURNS SETOF int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE ROWS 1
    AS $$ BEGIN RETURN QUERY SELECT generate_series(1, 100); END $$;

-- A fit with and without the ring: whether the model is the same, whether the ring was used as expected (NULL: either
-- way), and the counts. (Logistic regression sums in float8: collinear columns in another order of rows differ as much
-- without a ring. in_order: the order of rows is the same, so all bits must be.)
CREATE FUNCTION ring_fit(method text, query text, through_ring boolean) RETURNS gpu_model
LANGUAGE plpgsql SET gpureg.debug_ring = off AS $$
DECLARE
    model gpu_model;
BEGIN
    PERFORM set_config('gpureg.debug_ring', through_ring::text, true);
    IF method = 'ols' THEN model := gpu_ols_fit(query); ELSE model := gpu_logreg_fit(query); END IF;
    RETURN model;
END
$$;
CREATE FUNCTION ring_verdict(method text, query text, expected boolean, in_order boolean DEFAULT false, OUT same boolean,
    OUT as_expected boolean, OUT n bigint, OUT n_skipped bigint) LANGUAGE plpgsql AS $$
DECLARE
    got gpu_model := ring_fit(method, query, true);
    run record;
    want gpu_model;
BEGIN
    SELECT * INTO run FROM gpu_last_run();
    want := ring_fit(method, query, false);
    same := relative_difference(got.coef, want.coef) <= CASE WHEN in_order THEN 0 WHEN method = 'ols' THEN 1e-13 ELSE 1e-11 END
        AND got.terms = want.terms AND got.n = want.n AND got.n_skipped = want.n_skipped AND got.rank = want.rank AND
        got.converged IS NOT DISTINCT FROM want.converged AND got.separated
        IS NOT DISTINCT FROM want.separated AND abs(got.deviance - want.deviance) <= 1e-13 * want.null_deviance;
    as_expected := expected IS NULL OR (run.reason = 'gpureg.debug_ring is on' AND run.rows = got.n
        AND run.function = 'gpu_' || method || '_fit') = expected;
    n := got.n;
    n_skipped := got.n_skipped;
END
$$;
CREATE TABLE ring_queries (id int GENERATED ALWAYS AS IDENTITY, name text, expected boolean, query text);
-- a developers' setting makes every plan that may run in a worker run in one
SELECT setting <> 'off' AS forced FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query') \gset
INSERT INTO ring_queries (name, expected, query) VALUES
    ('every type', true, 'SELECT y, small, int, big, real, double, num, money, flag, mark, smalls, ints, bigs, reals, '
        'doubles, nums, flags, moneys, pair FROM ring_kinds'),
    ('numeric response', true, 'SELECT num, real, y FROM ring_kinds'),
    ('boolean response', true, 'SELECT won, int, y FROM ring_kinds'),
    ('response of a domain', true, 'SELECT money, int, double FROM ring_kinds'),
    ('holes', true, 'SELECT y, int, holes, gaps FROM ring_kinds'),
    ('two arrays with holes', true, 'SELECT y, holes, doubles, CASE WHEN i % 3 > 0 THEN smalls END FROM ring_kinds'),
    ('single', true, 'SELECT y, real, reals FROM ring_kinds'),
    ('single: small, flags, holes', true,
        'SELECT y, real, small, flag, mark, gaps, CASE WHEN i % 8 > 0 THEN ARRAY[real, CASE WHEN i % 11 > 0 THEN '
        'small END] END FROM ring_kinds'),
    ('single: boolean response', true, 'SELECT won, real, reals FROM ring_kinds'),
    ('single: numeric response', true, 'SELECT num, real, small FROM ring_kinds'),
    ('single: an odd and an even number of features', true, 'SELECT y, real, small, flag FROM ring_kinds'),
    ('one row', NULL, 'SELECT y, x FROM ring_one'),
    ('one row with an array', NULL, 'SELECT y, v FROM ring_one'),
    ('one complete row', true, 'SELECT y, CASE WHEN i = 4000 THEN int END FROM ring_kinds'),
    ('round the ring', true, 'SELECT y + g, int, real, double FROM ring_kinds, generate_series(1, 60) g'),
    ('1000 features', true, 'SELECT y, x FROM ring_wide'),
    ('1000 single features', true, 'SELECT y, x::real[] FROM ring_wide'),
    ('a join', true, 'SELECT a.y, b.int, b.real FROM ring_kinds a JOIN ring_kinds b ON b.i = a.i + 1;'),
    ('partitions', true, 'SELECT y, x FROM ring_parted -- all of them'),
    ('a view', true, 'TABLE ring_view'),
    ('WITH', NULL, 'WITH t AS (SELECT y, int FROM ring_kinds) SELECT * FROM t'),
    ('WITH MATERIALIZED', NULL, 'WITH t AS MATERIALIZED (SELECT y, int, real FROM ring_kinds) SELECT a.* FROM t a'),
    ('LIMIT', NULL, 'SELECT y, int FROM (SELECT y, int FROM ring_kinds ORDER BY i DESC LIMIT 777) s'),
    ('ORDER BY', NULL, 'SELECT y, int FROM ring_kinds ORDER BY i'),
    ('GROUP BY', NULL, 'SELECT sum(int), big, count(*) FILTER (WHERE won) AS w, avg(money) FROM ring_kinds GROUP BY '
        'big'),
    ('UNION ALL', NULL, 'SELECT y, int FROM ring_kinds WHERE won UNION ALL SELECT y, x FROM ring_parted'),
    ('set operations', NULL, 'SELECT i, int FROM ring_kinds EXCEPT SELECT i, int FROM ring_kinds WHERE won'),
    ('window functions', NULL, 'SELECT y, row_number() OVER (ORDER BY i), lag(int) OVER (ORDER BY i) FROM ring_kinds'),
    ('a function that workers must not call', false,
        'SELECT y, int + 0 * nextval(''ring_sequence'') AS x FROM ring_kinds'),
    ('a temporary table', :'forced', 'TABLE ring_temp'),
    ('no table', :'forced', 'SELECT sin(i), i FROM generate_series(1, 100) i'),
    ('a fit within the query', NULL,
        'SELECT y, int * (SELECT (gpu_ols(array_agg(int::float8), array_agg(2 * int::float8 + 1)))[2] FROM '
        'ring_kinds) AS z, real FROM ring_kinds');
CREATE SEQUENCE ring_sequence;
-- more columns than a function has arguments: of every kind, and float4
INSERT INTO ring_queries (name, expected, query) SELECT '120 columns', true,
    format('SELECT y, %s FROM ring_kinds',
    string_agg(CASE j % 6 WHEN 0 THEN format('(int * %s %% 101)::numeric AS c%1$s', j)
    WHEN 1 THEN format('int * %s %% 7 < 3 AS c%1$s', j)
        WHEN 2 THEN format('CASE WHEN i %% 3000 <> %s THEN sin(i * %1$s) END AS c%1$s', j)
        WHEN 3 THEN format('ARRAY[cos(i * %s), i %% 59] AS c%1$s', j)
    WHEN 4 THEN format('sin(i * %s)::real AS c%1$s', j) ELSE format('(i * %s %% 61)::smallint AS c%1$s', j) END, ', '))
    FROM generate_series(1, 119) j;
INSERT INTO ring_queries (name, expected, query) SELECT '100 single columns', true,
    format('SELECT y, %s FROM ring_kinds',
    string_agg(CASE j % 4 WHEN 0 THEN format('CASE WHEN i %% 3000 <> %s THEN sin(i * %1$s)::real END AS c%1$s', j)
    WHEN 1 THEN format('i * %s %% 7 < 3 AS c%1$s', j) WHEN 2 THEN format('(i * %s %% 113)::smallint AS c%1$s', j)
        ELSE format('cos(i * %s)::real AS c%1$s', j) END, ', ')) FROM generate_series(1, 100) j;
INSERT INTO ring_queries (name, expected, query) SELECT '100 arrays: too many for the ring', false,
    format('SELECT y, %s FROM ring_kinds', string_agg(format('ARRAY[cos(i * %s)] AS c%1$s', j), ', '))
FROM generate_series(1, 100) j;
SELECT name, v.* FROM ring_queries, ring_verdict('ols', query, expected) v ORDER BY id;
-- blocks of another size
SET gpureg.ring_size = '1MB';
SELECT name, v.* FROM ring_queries, ring_verdict('ols', query, expected) v
WHERE name IN ('every type', 'single', 'round the ring', '1000 features', '1000 single features') ORDER BY id;
RESET gpureg.ring_size;
-- a partition for more than each worker's block, each summed by itself
CREATE TABLE ring_parts (k int, y float8, x float8) PARTITION BY LIST (k);
DO $$ BEGIN FOR k IN 0..99 LOOP
    EXECUTE format('CREATE TABLE ring_parts_%s PARTITION OF ring_parts FOR VALUES IN (%1$s)', k);
END LOOP; END $$;
INSERT INTO ring_parts SELECT i % 100, sin(i) + i % 3, cos(i * 0.7) FROM generate_series(1, 200000) i;
ANALYZE ring_parts;
SET enable_partitionwise_aggregate = on;
SET statement_timeout = '60s';
SELECT v.* FROM ring_verdict('ols', 'SELECT y, x FROM ring_parts', true) v;
RESET statement_timeout;
RESET enable_partitionwise_aggregate;

-- logistic regression with rows that fit into gpureg.ring_size: of one worker, which keeps the order of rows, and of two
SET max_parallel_workers = 1;
SET parallel_leader_participation = off;
SELECT name, v.* FROM ring_queries, ring_verdict('logreg', replace(query, 'SELECT y,', 'SELECT won,'), expected, true) v
WHERE name IN ('every type', 'boolean response', 'holes', 'single', '100 single columns', '120 columns') ORDER BY id;
RESET parallel_leader_participation;
RESET max_parallel_workers;
SELECT name, v.* FROM ring_queries, ring_verdict('logreg', replace(query, 'SELECT y,', 'SELECT won,'), expected) v
WHERE name IN ('every type', 'boolean response', 'holes', 'single', '120 columns') ORDER BY id;
SELECT v.* FROM ring_verdict('logreg', 'SELECT won::int::numeric, real FROM ring_kinds', true) v;
-- logistic regression with separated rows
SELECT v.* FROM ring_verdict('logreg', 'SELECT i > 3000, i, real FROM ring_kinds', true) v;
-- logistic regression with rows that don't fit, as the planner expects or not
SET gpureg.ring_size = '1MB';
SELECT v.same, v.n FROM ring_verdict('logreg', 'SELECT won, int, real FROM ring_kinds, generate_series(1, 100)',
    false) v;
SET gpureg.debug_ring = on;
SELECT (gpu_logreg_fit('SELECT won, int, real FROM ring_kinds, generate_series(1, 100)')).n;
SELECT reason ~ '^gpureg.debug_ring is on; more rows than gpureg.ring_size holds: after a fit to its first \d+ '
    'rows the query was run \d+ times$' AS run_again, rows, features FROM gpu_last_run();
SELECT (gpu_logreg_fit('SELECT won, int, real FROM ring_kinds, ring_hundred()')).n;
SELECT reason ~ '^gpureg.debug_ring is on; more rows than gpureg.ring_size holds: after a fit to its first \d+ '
    'rows the query was run \d+ times$' AS run_again, rows, features FROM gpu_last_run();
SELECT v.same, v.n FROM ring_verdict('logreg', 'SELECT won, int, real FROM ring_kinds, ring_hundred()', false) v;
SET gpureg.debug_ring = on;
SELECT (gpu_logreg_fit('SELECT won, int, real FROM ring_kinds WHERE random() >= 0')).n;
SELECT reason, rows FROM gpu_last_run();
RESET gpureg.ring_size;

-- errors must be the same with and without workers, each with the name of its column
CREATE FUNCTION ring_error(method text, query text, workers int) RETURNS text
LANGUAGE plpgsql SET gpureg.debug_ring = on SET parallel_leader_participation = off AS $$
DECLARE
    message text;
    state text;
BEGIN
    PERFORM set_config('max_parallel_workers', workers::text, true);
    IF method = 'ols' THEN PERFORM gpu_ols_fit(query); ELSE PERFORM gpu_logreg_fit(query); END IF;
    RETURN 'none';
EXCEPTION WHEN others THEN
    GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, state = RETURNED_SQLSTATE;
    RETURN state || ': ' || regexp_replace(message, '10{200,}', '1e..');
END
$$;
CREATE TABLE ring_errors (id int GENERATED ALWAYS AS IDENTITY, method text DEFAULT 'ols', query text);
INSERT INTO ring_errors (query) VALUES
    ('SELECT y, int, CASE i WHEN 5000 THEN ''NaN'' ELSE double END AS odd FROM ring_kinds'),
    ('SELECT y, int, CASE i WHEN 5000 THEN ''NaN'' ELSE num END AS odd FROM ring_kinds'),
    ('SELECT CASE i WHEN 5000 THEN ''-Infinity'' ELSE y END AS response, int FROM ring_kinds'),
    ('SELECT y, ARRAY[1, 2, CASE i WHEN 5000 THEN ''Infinity'' ELSE double END] AS x FROM ring_kinds'),
    ('SELECT y, doubles, int, ARRAY[1, 2, CASE i WHEN 5000 THEN ''Infinity'' ELSE double END] AS x FROM ring_kinds'),
    ('SELECT y, CASE i WHEN 5000 THEN ''Infinity'' ELSE real END AS single FROM ring_kinds'),
    ('SELECT y, small, reals, ARRAY[1, 2, CASE i WHEN 5000 THEN ''NaN'' ELSE real END]::real[] AS x FROM ring_kinds'),
    ('SELECT CASE i WHEN 5000 THEN ''Infinity'' ELSE y END AS response, real FROM ring_kinds'),
    ('SELECT y, x[1:300 + i / 200] AS x FROM ring_wide'),
    ('SELECT y, int, reals[1:2 - i / 5000] AS r FROM ring_kinds'),
    ('SELECT y, ARRAY[ARRAY[int, small], ARRAY[small, int]] AS matrix FROM ring_kinds'),
    ('SELECT y, ARRAY[]::int[] AS empty FROM ring_kinds'),
    ('SELECT y, int / (i - 5000) FROM ring_kinds'),
    ('SELECT y, array_fill(0::float8, ARRAY[10001]) AS x FROM ring_kinds'),
    ('SELECT y, array_fill(0::real, ARRAY[5000]) AS a, array_fill(0::real, ARRAY[5001]) AS b FROM ring_kinds'),
    ('SELECT y, CASE i WHEN 5000 THEN 1e200 ELSE double END AS huge FROM ring_kinds'),
    ('SELECT y, CASE i WHEN 5000 THEN 1e40 ELSE double END::real AS small FROM ring_kinds'),
    ('SELECT y, CASE i WHEN 5000 THEN ''1e400'' ELSE num END AS huge, int FROM ring_kinds'),
    ('SELECT y, x FROM ring_empty'),
    ('SELECT y, v FROM ring_empty'),
    ('SELECT y, nothing FROM ring_kinds'),
    ('SELECT y, ARRAY[int, NULL] AS x FROM ring_kinds');
INSERT INTO ring_errors (method, query) VALUES
    ('logreg', 'SELECT CASE i WHEN 5000 THEN 2 ELSE won::int END AS response, int FROM ring_kinds'),
    ('logreg', 'SELECT CASE i WHEN 5000 THEN 0.5 ELSE won::int END AS response, real FROM ring_kinds'),
    ('logreg', 'SELECT CASE i WHEN 5000 THEN ''NaN'' ELSE won::int::float8 END AS response, real, reals FROM '
        'ring_kinds'),
    ('logreg', 'SELECT true AS response, int FROM ring_kinds'),
    ('logreg', 'SELECT won, nothing FROM ring_kinds'),
    ('logreg', 'SELECT won, int / (i - 5000) FROM ring_kinds');
-- errors among columns that are packed into arrays
INSERT INTO ring_errors (query)
    SELECT format('SELECT y, pair AS p, %s, CASE i WHEN 5000 THEN ''NaN'' ELSE double END AS odd, doubles AS d FROM '
    'ring_kinds', string_agg(format('int AS c%s', j), ', ')) FROM generate_series(1, 100) j;
INSERT INTO ring_errors (query)
    SELECT format('SELECT y, %s, CASE i WHEN 5000 THEN ''Infinity'' ELSE real END AS odd FROM ring_kinds',
    string_agg(format('real AS c%s', j), ', ')) FROM generate_series(1, 100) j;
INSERT INTO ring_errors (query)
    SELECT format('SELECT y, %s, ARRAY[int, CASE i WHEN 5000 THEN ''Infinity'' ELSE double END] AS array FROM '
    'ring_kinds', string_agg(format('real AS c%s', j), ', ')) FROM generate_series(1, 100) j;
SELECT id, ring_error(method, query, 0) AS error, ring_error(method, query, 0) = ring_error(method, query,
    8) AS same_in_workers FROM ring_errors ORDER BY id;
-- an error's context must contain the caller's query and its functions, and nothing of the extension's own, wherever
-- the error was raised
CREATE FUNCTION ring_thrower(v float8) RETURNS float8
LANGUAGE plpgsql PARALLEL SAFE AS $$ BEGIN IF v = 999 THEN RAISE 'thrown'; END IF; RETURN v; END $$;
CREATE FUNCTION ring_context(call text, query text, through_ring boolean, workers int) RETURNS text
LANGUAGE plpgsql SET gpureg.debug_ring = off SET gpureg.ring_size = '1MB' SET parallel_leader_participation = off AS $$
DECLARE
    line text;
    said text;
BEGIN
    PERFORM set_config('gpureg.debug_ring', through_ring::text, true),
    set_config('max_parallel_workers', workers::text, true);
    EXECUTE format('SELECT count(*) FROM ' || call, query);
    RETURN 'none';
EXCEPTION WHEN others THEN
    GET STACKED DIAGNOSTICS said = PG_EXCEPTION_CONTEXT;
    line := 'SQL statement "' || query || '"';
    RETURN CASE WHEN position(line IN said) > 0 THEN 'the query' ELSE 'not the query' END ||
        CASE WHEN said ~ '^PL/pgSQL function ring_thrower\(double precision\) line 1 at RAISE' THEN ', its function'
            ELSE '' END ||
        coalesce(', ' || substring(said FROM 'gpu_\w*(?:pass|accum)\w*'), '');
END
$$;
SELECT call, query, bool_and(context = ring_context(call, query, false, 0)) AS same, min(context) AS context
FROM (VALUES ('gpu_ols_fit(%L)', 'SELECT y, ring_thrower(i) FROM ring_kinds'),
    ('gpu_ols_fit(%L)', 'SELECT y, CASE i WHEN 5000 THEN ''NaN'' ELSE double END AS odd FROM ring_kinds'),
             ('gpu_ols_fit(%L)', 'SELECT y, int / (i - 5000) FROM ring_kinds'),
             ('gpu_logreg_fit(%L)', 'SELECT won, ring_thrower(i) FROM ring_kinds'),
             ('gpu_logreg_fit(%L)', 'SELECT CASE i WHEN 5000 THEN 2 ELSE 1 END, i FROM ring_kinds'),
             ('gpu_project_rows(%L, 2)', 'SELECT i, ARRAY[ring_thrower(i)]::real[] FROM ring_kinds'),
             ('gpu_project_rows(%L, 2)', 'SELECT i, ARRAY[int / (i - 5000)]::real[] FROM ring_kinds'),
             ('gpu_logreg_fit(%L)', 'SELECT i > 0, int FROM ring_kinds'),
             ('gpu_ols_fit(%L)', 'SELECT y, nothing FROM ring_kinds'),
             ('gpu_ols_fit(%L)', 'SELECT y, ''text'' FROM ring_kinds'),
             ('gpu_ols_fit(%L)', 'TRUNCATE ring_kinds')) AS t(call, query),
     (VALUES (true, 0), (true, 8), (false, 0), (false, 8)) AS u(through_ring, workers),
     ring_context(call, query, through_ring, workers) AS context GROUP BY call, query ORDER BY call, query;
DROP FUNCTION ring_context, ring_thrower;
-- detail and hint
\set SHOW_CONTEXT never
SELECT gpu_ols_fit('SELECT y, nothing FROM ring_kinds');
SELECT gpu_logreg_fit('SELECT CASE i WHEN 5000 THEN 2 ELSE won::int END AS response, int FROM ring_kinds');
\set SHOW_CONTEXT errors

-- places that a fit may be called from
PREPARE ring_prepared(text) AS SELECT (gpu_ols_fit($1)).n;
EXECUTE ring_prepared('SELECT y, int FROM ring_kinds');
EXECUTE ring_prepared('SELECT y, real FROM ring_kinds WHERE won');
DEALLOCATE ring_prepared;
SELECT d, (gpu_ols_fit(format('SELECT %s * y, int FROM ring_kinds', d))).n FROM generate_series(1, 3) d;
CREATE FUNCTION ring_loops() RETURNS TABLE (fits int, caught int, rows bigint) LANGUAGE plpgsql AS $$
DECLARE
    part record;
    model gpu_model;
BEGIN
    fits := 0; caught := 0; rows := 0;
    FOR part IN SELECT big, count(*) FROM ring_kinds GROUP BY big ORDER BY big LOOP
        BEGIN
            model := gpu_ols_fit(format('SELECT y, int / CASE WHEN i < 5000 THEN 1 ELSE big - 3 END FROM ring_kinds '
                'WHERE big = %s', part.big));
            fits := fits + 1;
            rows := rows + model.n - part.count;
        EXCEPTION WHEN division_by_zero THEN
            caught := caught + 1;
        END;
    END LOOP;
    RETURN NEXT;
END
$$;
SELECT * FROM ring_loops();
BEGIN;
SAVEPOINT before;
\set SHOW_CONTEXT never
SELECT gpu_ols_fit('SELECT y, int / (i - 5000) FROM ring_kinds');
\set SHOW_CONTEXT errors
ROLLBACK TO before;
INSERT INTO ring_kinds (i, y, int) SELECT i, i, i FROM generate_series(6001, 6100) i;
SELECT (gpu_ols_fit('SELECT y, int FROM ring_kinds')).n;
DECLARE ring_cursor CURSOR FOR SELECT d, (gpu_ols_fit('SELECT y, int FROM ring_kinds WHERE big = ' || d)).n > 0 AS fits
FROM generate_series(1, 3) d;
FETCH ring_cursor;
FETCH ring_cursor;
ROLLBACK;
SELECT (gpu_ols_fit('SELECT y, int FROM ring_kinds')).n;
-- a function within a query that workers scan
CREATE FUNCTION ring_wrapped() RETURNS bigint LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED
    AS $$ BEGIN RETURN (gpu_ols_fit('SELECT y, int FROM ring_kinds')).n; END $$;
SELECT ring_wrapped(), count(*) FROM ring_kinds;

-- the aggregate refuses to work without a ring
\set SHOW_CONTEXT never
SELECT gpu_ingest_pass(NULL, ARRAY['y', 'x'], y, int) FROM ring_kinds;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ingest_pass('', ARRAY['y', 'x'], y, int) FROM ring_kinds;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ingest_pass(decode(repeat('17', 20), 'hex'), ARRAY['y', 'x'], y, int) FROM ring_kinds;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ingest_pass(decode(repeat('00', 20), 'hex'), ARRAY['y', 'x'], y, int) FROM ring_kinds;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ingest_pass(decode(repeat('17', 2000), 'hex'), NULL, NULL, y, int) FROM ring_kinds;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ingest_pass(decode(repeat('17', 20), 'hex'), ARRAY[NULL, 'x'], ARRAY[[0], [0]], y) FROM ring_kinds;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ingest_pass(decode(repeat('17', 20), 'hex'), ARRAY['y', 'x'], y, 'a'::text) FROM ring_kinds;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ingest_pass(decode(repeat('17', 20), 'hex'), ARRAY['y', 'x'], VARIADIC doubles) FROM ring_kinds;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ingest_pass_accum(NULL, decode(repeat('17', 20), 'hex'), ARRAY['y', 'x'], 1, 2);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_keep_pass(NULL, ARRAY['y', 'x'], y, int) FROM ring_kinds;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_keep_pass(decode(repeat('17', 20), 'hex'), ARRAY['y', 'x'], y, int) FROM ring_kinds;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_keep_pass(decode(repeat('17', 20), 'hex'), NULL, y) FROM ring_kinds WHERE false;
\set SHOW_CONTEXT errors
RESET ALL;
DROP VIEW ring_view;
DROP TABLE ring_kinds, ring_empty, ring_one, ring_wide, ring_parted, ring_parts, ring_temp, ring_queries, ring_errors;
DROP SEQUENCE ring_sequence;
DROP FUNCTION ring_hundred, ring_fit, ring_verdict, ring_error, ring_loops, ring_wrapped;
DROP DOMAIN ring_money, ring_flag, ring_pair;
