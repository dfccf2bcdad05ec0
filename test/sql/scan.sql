-- The custom scan: plans that have it, plans that can't have it, and results, which must be those without it.
-- 015_scan.pl draws tables and statements at random; these are named cases.
SET gpureg.enable_scan = on;
SET extra_float_digits = 1;
CREATE TABLE scan_rows (k int, y float8, x1 float8, x2 real, x3 int2, x4 int4, x5 int8, b bool, n numeric, d date,
    ts timestamp, t text, v float8[]);
INSERT INTO scan_rows SELECT i % 5, sin(i * i), cos(i * 1.7), i % 7, i % 11, i % 13, i % 17, i % 3 = 0, i % 19 / 4.0,
    date '2020-01-01' + i % 23,
    timestamp '2020-01-01' + i % 29 * interval '1 hour', substr('abc', i % 3 + 1, 1), ARRAY[i % 5, sin(i)]
        FROM generate_series(1, 2000) i;
UPDATE scan_rows SET x1 = NULL WHERE k = 2 AND x3 = 4;
DELETE FROM scan_rows WHERE k = 3 AND x3 = 5;
CREATE TABLE scan_parts (LIKE scan_rows) PARTITION BY LIST (k);
CREATE TABLE scan_parts_1 PARTITION OF scan_parts FOR VALUES IN (0, 1);
CREATE TABLE scan_parts_2 (t text, gone int, b bool, v float8[], y float8, x1 float8, x2 real, x3 int2, x4 int4,
    x5 int8, n numeric, d date, ts timestamp, k int);
ALTER TABLE scan_parts_2 DROP COLUMN gone;
ALTER TABLE scan_parts ATTACH PARTITION scan_parts_2 FOR VALUES IN (2, 3);
CREATE TABLE scan_parts_3 PARTITION OF scan_parts DEFAULT;
INSERT INTO scan_parts SELECT * FROM scan_rows;
CREATE TABLE scan_parents (k int, y float8, x1 float8);
CREATE TABLE scan_children (more text) INHERITS (scan_parents);
INSERT INTO scan_parents SELECT k, y, x1 FROM scan_rows WHERE k < 2;
INSERT INTO scan_children SELECT k, y, x1 FROM scan_rows WHERE k >= 2;
CREATE VIEW scan_view AS SELECT y, x1, x2 * 2 AS twice FROM scan_rows WHERE k > 0;
CREATE MATERIALIZED VIEW scan_matview AS SELECT k, y, x1 FROM scan_rows;
CREATE UNLOGGED TABLE scan_unlogged AS SELECT * FROM scan_rows;
CREATE TEMP TABLE scan_temporary AS SELECT * FROM scan_rows;
CREATE TABLE scan_empty (LIKE scan_rows);
CREATE TABLE scan_few (f int);
INSERT INTO scan_few VALUES (1), (2), (4);
ANALYZE scan_rows, scan_parts, scan_parents, scan_children, scan_matview, scan_unlogged, scan_temporary, scan_empty,
    scan_few;

CREATE FUNCTION uses_scan(statement text, usual bool DEFAULT false) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
    line text;
    found_it bool := false;
BEGIN
    IF usual THEN PERFORM usual_plans(true); END IF;
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP
        found_it := found_it OR line LIKE '%Custom Scan (GpuregScan)%';
    END LOOP;
    IF usual THEN PERFORM usual_plans(false); END IF;
    RETURN found_it;
END $$;
-- The result of a statement of one row, as text, or its error
CREATE FUNCTION outcome(statement text, scan bool) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    r record;
    state text;
    message text;
BEGIN
    PERFORM set_config('gpureg.enable_scan', scan::text, true);
    EXECUTE statement INTO r;
    PERFORM set_config('gpureg.enable_scan', 'on', true);
    RETURN r::text;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT;
    RETURN state || ': ' || message;
END $$;
-- A result rounded to 12 digits, as the order of the rows decides the last bits, and so the rounding that is left
CREATE FUNCTION rounded(outcome text) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(CASE WHEN part ~ '^-?\d+\.\d+(e-?\d+)?$' THEN to_char(part::float8,
        '9.99999999999EEEE') ELSE part END, ' ' ORDER BY i)
    FROM regexp_split_to_table(regexp_replace(outcome, 'vcov_low \d+ [0-9a-f]+', '', 'g'), '[^-+.\w]+')
        WITH ORDINALITY p(part, i)
$$;
CREATE FUNCTION same(statement text) RETURNS bool LANGUAGE sql AS $$
    SELECT rounded(outcome(statement, true)) IS NOT DISTINCT FROM rounded(outcome(statement, false))
$$;

-- Aggregates that the scan computes, alone and together
SELECT name, uses_scan(statement) AS scan, same(statement) FROM (VALUES
    (1, 'ols', 'SELECT gpu_ols_agg(y, x1, x2) FROM scan_rows'),
    (2, 'ols of a boolean', 'SELECT gpu_ols_agg(b, x1, x2) FROM scan_rows'),
    (3, 'ols of an array', 'SELECT gpu_ols_agg(y, VARIADIC v) FROM scan_rows'),
    (4, 'ols of an array expression', 'SELECT gpu_ols_array_agg(y, ARRAY[x1, x2]) FROM scan_rows'),
    (5, 'stats', 'SELECT gpu_ols_solve(gpu_ols_stats_agg(y, x1, x2), false) FROM scan_rows'),
    (6, 'stats of an array', 'SELECT gpu_ols_solve(gpu_ols_stats_array_agg(y, v)) FROM scan_rows'),
    (7, 'wls', 'SELECT gpu_wls_agg(x3, y, x1, x2) FROM scan_rows'),
    (8, 'wls stats', 'SELECT gpu_ols_solve(gpu_wls_stats_agg(x3, y, x1)) FROM scan_rows'),
    (9, 'wls of an array', 'SELECT gpu_wls_array_agg(x3, y, v) FROM scan_rows'),
    (9, 'wls of an array, weights of 0', 'SELECT gpu_wls_array_agg(n, y, v) FROM scan_rows'),
    (10, 'logistic step', $$SELECT gpu_logreg_solve(gpu_logreg_step_agg('{}', b, x1, x2)) FROM scan_rows$$),
    (11, 'logistic step at a beta',
        $$SELECT gpu_logreg_solve(gpu_logreg_step_agg('{0.1,0.2,0}', b, x1, x2)) FROM scan_rows$$),
    (12, 'logistic step of an array',
        $$SELECT gpu_logreg_solve(gpu_logreg_step_array_agg('{}', b, v)) FROM scan_rows$$),
    (13, 'glm step', $$SELECT gpu_logreg_solve(gpu_glm_step_agg('poisson', 'log', '{}', x4, x1, x2)) FROM scan_rows$$),
    (14, 'several', 'SELECT gpu_ols_agg(y, x1), gpu_wls_agg(x3, y, x2), (gpu_ols_agg(y, x1)).n FROM scan_rows'),
    (15, 'filter',
        'SELECT gpu_ols_agg(y, x1) FILTER (WHERE k = 1), gpu_ols_agg(b, x1) FILTER (WHERE b) FROM scan_rows'),
    (16, 'having', 'SELECT gpu_ols_agg(y, x1) FROM scan_rows HAVING (gpu_ols_agg(y, x1)).n > 10'),
    (17, 'having, no row', 'SELECT gpu_ols_agg(y, x1) FROM scan_rows HAVING (gpu_ols_agg(y, x1)).n < 10')) c(i, name,
        statement) ORDER BY i;

-- Aggregates beside these are computed by their own functions
CREATE FUNCTION scan_null_for_3(int, int) RETURNS int LANGUAGE plpgsql STRICT AS
    $$ BEGIN RETURN CASE WHEN $1 <> 3 AND $2 <> 3 THEN greatest($1, $2) END; END $$;
CREATE AGGREGATE scan_null_after_3(int) (sfunc = scan_null_for_3, stype = int, combinefunc = scan_null_for_3);
CREATE FUNCTION scan_last(text, text) RETURNS text LANGUAGE plpgsql AS
    $$ BEGIN RETURN nullif(left(concat(substr($1, 2), $2, length($1)), 20), ''); END $$;
CREATE AGGREGATE scan_last_texts(text) (sfunc = scan_last, stype = text, combinefunc = textcat);
SELECT name, uses_scan(format('SELECT gpu_ols_agg(y, x1), %s FROM scan_rows', name)) AS scan,
    same(format('SELECT gpu_ols_agg(y, x1), %s FROM scan_rows', name)),
    same(format('SELECT %s, gpu_ols_agg(y, x1, x4) FROM scan_rows WHERE k = 1 AND x2 > 2', name)) AS filtered,
    same(format('SELECT %s, gpu_ols_agg(y, x1) FROM scan_rows WHERE t <> ''a''', name)) AS by_slot,
    same(format('SELECT gpu_ols_agg(y, x1), %s FROM scan_empty', name)) AS empty
FROM unnest(ARRAY['count(*)', 'count(x1)', 'count(t)', 'avg(y)', 'sum(x2)', 'sum(x5)', 'avg(x4)', 'sum(n)', 'max(n)',
    'min(ts)', 'max(d)', 'max(t)', 'bool_or(b)', 'stddev(x1)', 'regr_slope(y, x1)', 'sum(y) FILTER (WHERE k = 1)',
    'sum(y * x1)', 'count(*) + sum(k)', 'scan_null_after_3(k)', 'scan_null_after_3(x4)', 'scan_last_texts(t)',
    'gpu_auc(x4, y > 0)', 'count(*) FILTER (WHERE k = (SELECT min(f) FROM scan_few))', 'count(DISTINCT k)',
    'sum(x1 ORDER BY y)', 'array_agg(DISTINCT k)']) WITH ORDINALITY n(name, i) ORDER BY i;

-- Columns and expressions of every kind
SELECT what, uses_scan(statement) AS scan, same(statement) FROM (
    SELECT i, what, format('SELECT gpu_ols_agg(y, %s) FROM scan_rows', what) AS statement FROM unnest(ARRAY['x1', 'x2',
        'x3', 'x4', 'x5', 'n', 'b::int',
        'x2::float8', 'x1 * x2', 'ln(x4 + 1)', '(t = ''a'')::int', 'CASE WHEN b THEN x1 ELSE x2 END',
            'coalesce(x1, 0)', 'd - date ''2020-01-01''',
        'extract(epoch FROM ts)', 'length(t)', 'v[2]', 'x1, x2, x3, x4, x5, n', '1', 'NULL',
            '(SELECT max(f) FROM scan_few) + x1']) WITH ORDINALITY w(what, i)) s
ORDER BY i;

-- Filters; if no row is expected and gathering costs nothing, the leader may as well aggregate
SELECT filter, uses_scan(statement, filter LIKE 'x1 > _NaN_') AS scan, same(statement) FROM (
    SELECT i, filter, format('SELECT gpu_ols_agg(y, x1, x4) FROM scan_rows WHERE %s', filter) AS statement
        FROM unnest(ARRAY['x1 > 0', 'x2 < 3.5', 'x3 <> 4',
        'x4 >= 2::int8', 'x5 = 3.0', 'b', 'NOT b', 'b IS NOT TRUE', 'n > 1.5', 'd < ''2020-01-10''',
            'd >= timestamp ''2020-01-05''', 'ts > ''2020-01-01 12:00''',
        't = ''a''', 't LIKE ''b%''', 'x1 IS NULL', 'x1 IS NOT NULL', 'x4 IN (1, 2, 3)', 'x4 BETWEEN 2 AND 8',
            'x1 > 0 OR x4 = 5', 'x1 < ''NaN''', 'x1 > ''NaN''',
        'x1 < ''Infinity''', 'x1 < x2', 'abs(x1) < 0.5', 'k > (SELECT min(f) FROM scan_few)',
            'k > (SELECT count(*) FROM scan_few WHERE f > x4)',
        'ctid < ''(3,1)''', 'tableoid = ''scan_rows''::regclass', 'xmin IS NOT NULL', 'false', 'true',
            'now() > ''2000-01-01''', 'EXISTS (SELECT FROM scan_few)',
        '10 / (x4 + 1) > 3', '10 / x4 > 3', 'x4 > 0 AND x3 > 2 AND b AND t <> ''c''',
        'ts > now() - interval ''30 years''', 'ts < timestamptz ''2020-01-01 12:00''', 'ts >= date ''2020-01-02''',
        'current_date > d', 'd < timestamptz ''2020-01-10''', 'n <= 2.25', '1.75 < n', 'n = 3', 'n <> -0.0',
        'n >= (SELECT avg(f) FROM scan_few)', 'n < ''NaN''', 'x4 > extract(year FROM now() - now())',
        'x1 > random()::int - 5', 'x4 >= length(current_user) / 1000 AND n > 1']) WITH ORDINALITY w(filter, i)) s
            ORDER BY i;

-- Comparisons of dates and timestamps with others, in a time zone that jumps: the order isn't that of the numbers
CREATE TABLE scan_times AS SELECT i AS y, sin(i) AS x1, t, t::date AS d, t AT TIME ZONE 'UTC' AS z
    FROM (SELECT i, base + i * interval '17 min' AS t FROM (VALUES (timestamp '2021-03-13 12:00'),
    (timestamp '2021-11-06 12:00')) b(base), generate_series(1, 130) i
    UNION ALL SELECT i, t FROM (VALUES (1, timestamp 'infinity'), (2, '-infinity'), (3, '294276-12-31 23:00'),
    (4, '4713-01-01 01:00 BC')) e(i, t)) s;
INSERT INTO scan_times VALUES (5, 1, NULL, '5874897-12-31', NULL), (6, 2, NULL, '4713-01-01 BC', 'infinity');
ANALYZE scan_times;
SET timezone = 'America/New_York';
SELECT count(*) AS statements, count(*) FILTER (WHERE uses_scan(statement, true)) > 0.6 * count(*) AS most_scan,
    count(*) FILTER (WHERE outcome(statement, true) IS DISTINCT FROM outcome(statement, false)) AS other
FROM (SELECT format('SELECT count(*), gpu_ols_agg(y, x1) FROM scan_times WHERE %s',
    CASE WHEN i % 2 = 0 THEN format('%s %s %s', c, o, v) ELSE format('%s %s %s', v, o, c) END) AS statement
    FROM unnest(ARRAY['t', 'd', 'z']) c, unnest(ARRAY['<', '<=', '=', '<>', '>=', '>']) WITH ORDINALITY p(o, i),
    unnest(ARRAY['timestamptz ''2021-03-14 02:30''', 'timestamptz ''2021-03-14 03:00''',
    'timestamp ''2021-03-14 02:30''',
    'timestamptz ''2021-11-07 01:30-4''', 'timestamptz ''2021-11-07 01:30-5''', 'timestamp ''2021-11-07 01:30''',
    'date ''2021-11-07''', 'timestamptz ''infinity''', 'timestamp ''-infinity''', 'date ''infinity''',
    'date ''5874897-12-31''', 'timestamptz ''294276-12-31 18:30''', 'NULL::timestamptz']) v) s;
RESET timezone;
DROP TABLE scan_times;

-- Comparisons of numerics: every pair of these, and values that are out of line
CREATE TABLE scan_numerics AS SELECT i AS y, sin(i) AS x1, i::numeric / 8 AS before, CASE WHEN i % 7 = 0 THEN 'short'
    ELSE repeat('long', i::int) END AS text, v FROM (SELECT row_number() OVER () AS i, v::numeric AS v
    FROM unnest(ARRAY['0', '-0.0', '1', '1.0', '1.5', '1.50000', '-1.5', '10000', '9999.9999', '-10000', '1e-20',
    '1e-130', '-1e-130', '123456789012345678901234567890.123', '123456789012345678901234567890.1230001',
    '1e300', '-1e300', 'NaN', 'Infinity', '-Infinity', '0.00010001', '0.0001', '100010000', '1' || repeat('0', 4000),
    '1' || repeat('0', 3999) || '1',
    repeat('7319', 20000), NULL]) v) s;
ANALYZE scan_numerics;
SELECT max(pg_column_size(v)) > 2000 AS has_long, count(*) AS rows FROM scan_numerics;
CREATE TABLE scan_alone AS SELECT v, y, x1 FROM scan_numerics;
ANALYZE scan_alone;
SELECT count(*) AS statements, count(*) FILTER (WHERE uses_scan(statement, true)) > 0.6 * count(*) AS most_scan,
    count(*) FILTER (WHERE outcome(statement, true) IS DISTINCT FROM outcome(statement, false)) AS other
FROM (SELECT format('SELECT count(*), max(v), gpu_ols_agg(y, x1) FROM %s WHERE %s', "table",
    CASE WHEN i % 2 = 0 THEN format('v %s %L::numeric', o, c) ELSE format('%L::numeric %s v', c, o) END) AS statement
    FROM unnest(ARRAY['scan_numerics', 'scan_alone']) "table", scan_numerics n(a, b, bb, bbb, c),
    unnest(ARRAY['<', '<=', '=', '<>', '>=', '>']) WITH ORDINALITY p(o, i)) s;
DROP TABLE scan_numerics, scan_alone;

-- Tables
SELECT "table", uses_scan(statement) AS scan, same(statement) FROM (
    SELECT i, "table", format('SELECT gpu_ols_agg(y, x1) FROM %s', "table") AS statement
        FROM unnest(ARRAY['scan_parts', 'scan_parts WHERE k = 1', 'scan_parts WHERE k IN (1, 2)',
        'scan_parts_2', 'scan_parents', 'ONLY scan_parents', 'scan_view', 'scan_matview', 'scan_unlogged',
            'scan_temporary', '(SELECT * FROM scan_rows WHERE b) s',
        '(SELECT * FROM scan_rows UNION ALL SELECT * FROM scan_rows) s']) WITH ORDINALITY w("table", i)) s ORDER BY i;
SELECT same('SELECT gpu_ols_agg(y, x1) FROM scan_empty');
-- each child of a union or partition of a table has the scan or an index of its own
CREATE TABLE scan_ranges (k int, ts timestamp, y float8, x1 float8, t text) PARTITION BY RANGE (k);
CREATE TABLE scan_ranges_0 PARTITION OF scan_ranges FOR VALUES FROM (0) TO (4000);
CREATE TABLE scan_ranges_1 PARTITION OF scan_ranges FOR VALUES FROM (4000) TO (8000);
CREATE TABLE scan_ranges_2 (t text, ts timestamp, x1 float8, y float8, k int);
ALTER TABLE scan_ranges ATTACH PARTITION scan_ranges_2 FOR VALUES FROM (8000) TO (12000);
INSERT INTO scan_ranges SELECT i, timestamp '2020-01-01' + i * interval '1 min', sin(i), cos(i * 1.1), 't' || i % 4
    FROM generate_series(0, 11999) i;
CREATE INDEX ON scan_ranges_1 (ts);
VACUUM ANALYZE scan_ranges;
SET max_parallel_workers_per_gather = 0;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT gpu_ols_agg(y, x1), count(*) FROM scan_ranges WHERE ts < timestamp '2020-01-03 19:00';
EXPLAIN (COSTS OFF) SELECT t, gpu_ols_agg(y, x1), count(*) FROM (SELECT t, y * 2 AS y, x1, ts FROM scan_ranges_0
    UNION ALL SELECT t, y, x1, ts FROM scan_ranges_1) s WHERE ts < timestamp '2020-01-03 19:00' GROUP BY t;
RESET enable_bitmapscan;
RESET max_parallel_workers_per_gather;
SELECT statement, uses_scan(statement) AS scan, same(statement) FROM unnest(ARRAY[
    'SELECT gpu_ols_agg(y, x1), count(*) FROM scan_ranges WHERE ts < timestamp ''2020-01-03 19:00''',
    'SELECT gpu_ols_agg(y, x1), max(t) FROM (SELECT * FROM scan_ranges_0 UNION ALL SELECT * FROM scan_ranges_1) s',
    'SELECT gpu_ols_agg(y, x1), max(t) FROM (SELECT y, x1, t FROM scan_ranges UNION ALL
        SELECT y + 1, x1 * 2, ''u'' FROM scan_ranges_2) s',
    'SELECT gpu_ols_agg(y, x1), max(k) FROM (SELECT y, x1, k FROM scan_ranges WHERE k > 3 UNION ALL
        SELECT i, sin(i), i FROM generate_series(1, 9) i) s WHERE y > 0',
    'SELECT string_agg(q::text, '' '' ORDER BY t) FROM (SELECT t, gpu_ols_agg(y, x1), count(*) FROM (
        SELECT t, y * 2 AS y, x1, ts FROM scan_ranges_0 UNION ALL SELECT t, y, x1, ts FROM scan_ranges_1) s
        WHERE ts < timestamp ''2020-01-03 19:00'' GROUP BY t) q',
    'SELECT string_agg(q::text, '' '' ORDER BY u) FROM (SELECT k % 3 AS u, gpu_ols_agg(y, x1), count(*) FROM scan_ranges
        WHERE ts < timestamp ''2020-01-03 19:00'' GROUP BY 1) q',
    'SELECT gpu_ols_agg(y, x1), count(*) FROM scan_ranges WHERE ts < now() - interval ''1 day''']) statement;
-- partitions are pruned when the statement begins, or while it runs
SET plan_cache_mode = force_generic_plan;
PREPARE below(int) AS SELECT (gpu_ols_agg(y, x1)).n, count(*) FROM scan_ranges WHERE k < $1;
SET max_parallel_workers_per_gather = 0;
EXPLAIN (COSTS OFF) EXECUTE below(3500);
EXECUTE below(3500);
EXECUTE below(12000);
RESET plan_cache_mode;
RESET max_parallel_workers_per_gather;
DEALLOCATE below;
SELECT uses_scan(statement), same(statement) FROM (VALUES ('SELECT string_agg(q::text, '' '' ORDER BY q::text)
    FROM generate_series(0, 3) o(f), LATERAL (SELECT gpu_ols_agg(y, x1) AS m, count(*) + o.f FROM scan_ranges
    WHERE k BETWEEN o.f * 4000 - 50 AND o.f * 4000 + 50 OFFSET 0) q')) s(statement);
-- a scan that the planner forgets for an index, but that is cheaper with the sums
CREATE TABLE scan_clustered AS SELECT i, sin(i) AS y, cos(i * 1.1) AS x1 FROM generate_series(1, 20000) i;
CREATE INDEX ON scan_clustered (i);
VACUUM ANALYZE scan_clustered;
SET max_parallel_workers_per_gather = 0;
EXPLAIN (COSTS OFF) SELECT gpu_ols_agg(y, x1) FROM scan_clustered WHERE i < 10000;
RESET max_parallel_workers_per_gather;
DROP TABLE scan_ranges, scan_clustered;

-- Groups
SELECT keys, uses_scan(statement) AS scan, same(statement) FROM (
    SELECT i, keys, format($$SELECT string_agg(q::text, ' ' ORDER BY q::text)
        FROM (SELECT %1$s, gpu_ols_agg(y, x1) FROM scan_rows GROUP BY %1$s %2$s) q$$, keys, kept) AS statement
    FROM unnest(ARRAY['k', 't', 'd', 'b', 'n', 'x2', 'x1 > 0', 'k, b', 'k % 2, t', 'k'], array_fill(''::text,
        ARRAY[9]) || 'HAVING (gpu_ols_agg(y, x1)).n > 300'::text)
        WITH ORDINALITY w(keys, kept, i)) s ORDER BY i;

-- Statements for which the scan would be wrong, or isn't considered: the plan is another, the result the same
SELECT name, uses_scan(statement) AS scan, same(statement) FROM (VALUES
    (1, 'distinct in the aggregate', 'SELECT gpu_ols_agg(DISTINCT y, x4) FROM scan_rows'),
    (2, 'order in the aggregate', 'SELECT gpu_ols_agg(y, x4 ORDER BY x1) FROM scan_rows'),
    (3, 'no partial states', 'SELECT gpu_ols_agg(y, x1), count(DISTINCT k),
        percentile_disc(0.5) WITHIN GROUP (ORDER BY y) FROM scan_rows'),
    (4, 'no partial states in having', 'SELECT gpu_ols_agg(y, x1) FROM scan_rows HAVING count(DISTINCT k) > 3'),
    (5, 'a join', 'SELECT gpu_ols_agg(y, x1) FROM scan_rows JOIN scan_few ON k = f'),
    (6, 'a semijoin', 'SELECT gpu_ols_agg(y, x1) FROM scan_rows WHERE k IN (SELECT f FROM scan_few)'),
    (7, 'sampling', 'SELECT gpu_ols_agg(y, x1) FROM scan_rows TABLESAMPLE SYSTEM (50) REPEATABLE (1)'),
    (8, 'locked rows', 'SELECT gpu_ols_agg(y, x1) FROM (SELECT y, x1 FROM scan_rows FOR UPDATE) s'),
    (9, 'a limit below', 'SELECT gpu_ols_agg(y, x1) FROM (SELECT y, x1 FROM scan_rows ORDER BY y LIMIT 100) s'),
    (10, 'a function', 'SELECT gpu_ols_agg(sin(i * i), i) FROM generate_series(1, 100) i'),
    (11, 'values', 'SELECT gpu_ols_agg(y, x) FROM (VALUES (1, 2), (2, 3), (3, 5)) v(y, x)'),
    (12, 'a common table expression',
        'WITH c AS MATERIALIZED (SELECT * FROM scan_rows) SELECT gpu_ols_agg(y, x1) FROM c'),
    (13, 'rollup', $$SELECT string_agg(m::text, ' ' ORDER BY m::text)
        FROM (SELECT gpu_ols_agg(y, x1) AS m FROM scan_rows GROUP BY ROLLUP (k)) q$$),
    (14, 'a window', 'SELECT max((m).n) FROM (SELECT gpu_ols_agg(y, x1) OVER (PARTITION BY k) AS m FROM scan_rows) w'),
    (15, 'an outer query''s aggregate',
        'SELECT (SELECT gpu_ols_agg(s.y, s.x1) FROM scan_few LIMIT 1) FROM scan_rows s'),
    (16, 'not a sequential scan', 'SELECT gpu_ols_agg(y, x1) FROM scan_rows WHERE ctid = ''(0,1)'''),
    (17, 'a coefficient of each row''s',
        'SELECT gpu_logreg_solve(gpu_logreg_step_agg(ARRAY[x1 * 0, 0], b, x2)) FROM scan_rows')) c(i, name, statement)
        ORDER BY i;
-- volatile expressions are called once for each row that passes the filter
CREATE SEQUENCE scan_calls;
SELECT uses_scan(s.statement), (outcome(s.statement, true)) ~ 'ols', currval('scan_calls') FROM (VALUES
    ($$SELECT gpu_ols_agg(y, x4, nextval('scan_calls')) FROM scan_rows WHERE k = 0$$)) s(statement);
SET gpureg.enable_scan = off;
SELECT uses_scan('SELECT gpu_ols_agg(y, x1) FROM scan_rows');
SET gpureg.enable_scan = on;

-- aggregates beside call theirs once for each row, too
SELECT uses_scan(s.statement), (outcome(s.statement, true)) ~ 'ols', currval('scan_calls') FROM (VALUES
    ($$SELECT gpu_ols_agg(y, x4), max(nextval('scan_calls')) FROM scan_rows WHERE k = 0$$)) s(statement);

-- Errors are the same with and without the scan
INSERT INTO scan_empty (y, x1, x4, b) VALUES (1, 2, 3, true), (2, 'NaN', 0, true), (3, 'Infinity', 5, true), (4, 1e200,
    1, true);
SELECT outcome(statement, true), same(statement) FROM (VALUES ('SELECT gpu_ols_agg(y, x1) FROM scan_empty'),
    ('SELECT gpu_ols_agg(y, x4, x1) FROM scan_empty'),
    ('SELECT gpu_ols_agg(x1, y) FROM scan_empty'),
        ('SELECT gpu_ols_agg(y, x1) FROM scan_empty WHERE x1 < ''Infinity'''),
        ('SELECT gpu_ols_agg(y, 1 / x4) FROM scan_empty'),
    ('SELECT gpu_wls_agg(-x4, y, x4) FROM scan_empty'),
        ('SELECT gpu_logreg_solve(gpu_logreg_step_agg(''{}'', y, x4)) FROM scan_empty')) s(statement);
-- errors of values in rows that are left out for a NULL
INSERT INTO scan_empty (k, n) VALUES (9, 1e400);
SELECT left(outcome(statement, true), 40), same(statement) FROM (VALUES
    ('SELECT gpu_ols_agg(y, n) FROM scan_empty WHERE k = 9'), ('SELECT gpu_ols_agg(n, VARIADIC v) FROM scan_empty'),
    ('SELECT max(m) FROM (SELECT gpu_ols_agg(y, n)::text AS m FROM scan_empty GROUP BY k) s'),
    ($q$SELECT gpu_ols_fit('SELECT y, n::float8 FROM scan_empty WHERE k = 9')$q$),
    ($q$SELECT gpu_ols_fit('SELECT y, n FROM scan_empty WHERE k = 9')$q$)) s(statement);

-- Row security and column privileges
CREATE ROLE regress_gpureg_scan;
GRANT SELECT (k, y, x1) ON scan_rows TO regress_gpureg_scan;
GRANT SELECT ON scan_parents TO regress_gpureg_scan;
ALTER TABLE scan_parents ENABLE ROW LEVEL SECURITY;
CREATE POLICY scan_policy ON scan_parents TO regress_gpureg_scan USING (k = 1);
CREATE FUNCTION scan_leak(float8) RETURNS bool LANGUAGE plpgsql COST 0.0001
    AS $$ BEGIN RAISE NOTICE 'leaked'; RETURN true; END $$;
SELECT count(*) AS allowed FROM scan_parents WHERE k = 1 \gset
SET ROLE regress_gpureg_scan;
SELECT (gpu_ols_agg(y, x1)).n > 0 AS may_read FROM scan_rows;
SELECT gpu_ols_agg(y, x2) FROM scan_rows;
SELECT gpu_ols_agg(y, x1) FROM scan_rows WHERE x4 > 3;
SELECT gpu_ols_agg(y, x1) FROM scan_view;
SELECT m.n + m.n_skipped = :allowed AS only_its_rows FROM (SELECT (gpu_ols_agg(y, x1)).* FROM scan_parents) m;
SELECT m.n + m.n_skipped = :allowed AS only_its_rows FROM (SELECT (gpu_ols_agg(y, x1)).* FROM scan_parents
    WHERE k = 0 OR k = 1) m;
SELECT same('SELECT gpu_ols_agg(y, x1) FROM scan_parents WHERE k > 0');
RESET ROLE;
-- aggregates beside need the same privileges: on columns, on themselves, and their owner's on their functions
CREATE FUNCTION scan_add(int, int) RETURNS int LANGUAGE sql AS 'SELECT $1 + $2';
CREATE AGGREGATE scan_sum(int) (sfunc = scan_add, stype = int, initcond = '0', combinefunc = int4pl);
SET ROLE regress_gpureg_scan;
SELECT (gpu_ols_agg(y, x1)).n > 0 AS may_read, count(k) > 0 AS counts FROM scan_rows;
SELECT gpu_ols_agg(y, x1), max(x4) FROM scan_rows;
SELECT (gpu_ols_agg(y, x1)).n + (gpu_ols_agg(y, x1)).n_skipped = count(*) AS only_its_rows, max(k), min(k)
    FROM scan_parents;
RESET ROLE;
REVOKE EXECUTE ON FUNCTION scan_sum FROM public;
SET ROLE regress_gpureg_scan;
SELECT gpu_ols_agg(y, x1), scan_sum(k) FROM scan_rows;
RESET ROLE;
GRANT EXECUTE ON FUNCTION scan_sum TO public;
SELECT gpu_ols_agg(y, x1) IS NOT NULL AS ours, scan_sum(k) = sum(k) AS theirs FROM scan_rows;
ALTER AGGREGATE scan_sum(int) OWNER TO regress_gpureg_scan;
REVOKE EXECUTE ON FUNCTION scan_add FROM public;
SELECT gpu_ols_agg(y, x1), scan_sum(k) FROM scan_rows;
SELECT uses_scan('SELECT gpu_ols_agg(y, x1), scan_sum(k) FROM scan_rows');
DROP AGGREGATE scan_sum(int);
DROP FUNCTION scan_add;
-- the policy applies before conditions that could disclose other rows
CREATE TABLE scan_secret (k int, y float8, x1 float8);
INSERT INTO scan_secret VALUES (1, 1, 1), (2, 2, 3), (2, 3, 5);
ALTER TABLE scan_secret ENABLE ROW LEVEL SECURITY;
CREATE POLICY scan_policy ON scan_secret USING (k = 1);
GRANT SELECT ON scan_secret TO regress_gpureg_scan;
SET ROLE regress_gpureg_scan;
SELECT (gpu_ols_agg(y, x1)).n FROM scan_secret WHERE scan_leak(y);
RESET ROLE;
-- conditions whose functions are not leakproof come after the policy, and none tells whether there are rows
CREATE TABLE scan_hidden AS SELECT i AS k, sin(i) AS y, cos(i) AS x1, i::numeric AS n FROM generate_series(1, 9) i;
ALTER TABLE scan_hidden ENABLE ROW LEVEL SECURITY;
CREATE POLICY scan_policy ON scan_hidden USING (k > 4);
GRANT SELECT ON scan_hidden TO regress_gpureg_scan;
CREATE FUNCTION scan_noticed() RETURNS float8 LANGUAGE plpgsql STABLE AS
    $$ BEGIN RAISE NOTICE 'called'; RETURN -2; END $$;
SET ROLE regress_gpureg_scan;
SELECT uses_scan('SELECT gpu_ols_agg(y, x1) FROM scan_hidden WHERE n > 2.5 AND k < 8'),
    same('SELECT count(*), gpu_ols_agg(y, x1) FROM scan_hidden WHERE n > 2.5 AND k < 8');
SET plan_cache_mode = force_generic_plan;
PREPARE hidden(int) AS SELECT gpu_ols_agg(y, x1) IS NULL AS nothing FROM scan_hidden WHERE x1 > scan_noticed() * $1;
EXECUTE hidden(1);
RESET plan_cache_mode;
RESET ROLE;
DEALLOCATE hidden;
TRUNCATE scan_hidden;
SET ROLE regress_gpureg_scan;
SET plan_cache_mode = force_generic_plan;
PREPARE hidden(int) AS SELECT gpu_ols_agg(y, x1) IS NULL AS nothing FROM scan_hidden WHERE x1 > scan_noticed() * $1;
EXECUTE hidden(1);
RESET plan_cache_mode;
RESET ROLE;
DEALLOCATE hidden;
-- stable functions are called with the caller's privileges, and only if there is a row
REVOKE EXECUTE ON FUNCTION scan_noticed FROM public;
SET ROLE regress_gpureg_scan;
SELECT gpu_ols_agg(y, x1) FROM scan_rows WHERE x1 > scan_noticed();
RESET ROLE;
SET plan_cache_mode = force_generic_plan;
PREPARE divided(int) AS SELECT gpu_ols_agg(y, x1) IS NULL AS nothing FROM scan_hidden WHERE k > 10 / $1;
EXECUTE divided(0);
DEALLOCATE divided;
PREPARE divided(int) AS SELECT gpu_ols_agg(y, x1) IS NULL AS nothing FROM scan_rows WHERE x4 > 10 / $1;
EXECUTE divided(0);
EXECUTE divided(NULL);
EXECUTE divided(2);
RESET plan_cache_mode;
DEALLOCATE divided;
-- a cached plan serves other roles and policies, too
PREPARE of_policy AS SELECT (m).n + (m).n_skipped AS rows FROM (SELECT gpu_ols_agg(y, x1) AS m FROM scan_parents) q;
SELECT uses_scan('EXECUTE of_policy');
CREATE TEMP TABLE scan_counts AS EXECUTE of_policy;
SET ROLE regress_gpureg_scan;
EXECUTE of_policy \gset kept_
RESET ROLE;
SELECT :kept_rows = :allowed AS only_its_rows, rows > :allowed AS all_rows FROM scan_counts;

-- Rescans: LATERAL, correlated subqueries, subplans
SELECT uses_scan(statement), same(statement) FROM (VALUES
    ('SELECT string_agg(q::text, '' '') FROM (VALUES (0), (1), (4), (1)) o(f),
        LATERAL (SELECT gpu_ols_agg(y, x1) AS m FROM scan_rows WHERE k > o.f) q'),
    ('SELECT string_agg((SELECT gpu_ols_agg(y, x1 + o.f) FROM scan_rows WHERE k = o.f)::text, '' '') FROM scan_few o'),
    ('SELECT string_agg(q::text, '' '') FROM scan_few o,
        LATERAL (SELECT gpu_ols_agg(y, x1) FILTER (WHERE k < o.f) AS m FROM scan_parts) q'),
    ('SELECT count(*) FROM scan_few o
        WHERE (SELECT (gpu_ols_agg(y, x1)).n FROM scan_rows WHERE k >= o.f) > 700')) s(statement);

SELECT uses_scan(statement), same(statement) FROM (VALUES
    ('SELECT string_agg(q::text, '' '') FROM (VALUES (0), (1), (4), (1)) o(f),
        LATERAL (SELECT max(t), gpu_ols_agg(y, x1) AS m, count(*) + o.f, avg(n), avg(x5) FROM scan_rows
        WHERE k > o.f) q'),
    ('SELECT string_agg(q::text, '' '' ORDER BY q::text) FROM (VALUES (0), (1), (4), (1)) o(f),
        LATERAL (SELECT k, gpu_ols_agg(y, x1) AS m, count(*) + o.f, avg(n), avg(x5), max(t) FROM scan_rows
        WHERE k > o.f GROUP BY k OFFSET 0) q')) s(statement);

-- Parameters in a generic plan
SET plan_cache_mode = force_generic_plan;
PREPARE of_k(int, float8) AS SELECT (gpu_ols_agg(y, x1, x2 * $2)).n FROM scan_rows WHERE k = $1 AND x4 > $2;
SELECT uses_scan('EXECUTE of_k(1, 2)');
EXECUTE of_k(1, 2);
EXECUTE of_k(NULL, 2);
SELECT count(x1) FROM scan_rows WHERE k = 1 AND x4 > 2;
-- the table's columns change under the plan
ALTER TABLE scan_rows DROP COLUMN ts, ADD later float8 DEFAULT 2.5;
EXECUTE of_k(1, 2);
RESET plan_cache_mode;
SELECT uses_scan(statement), same(statement)
    FROM (VALUES ('SELECT gpu_ols_agg(y + later, x1, later) FROM scan_rows')) s(statement);

-- Cursors don't see later changes; they may be read twice
BEGIN;
SELECT uses_scan('DECLARE c SCROLL CURSOR FOR SELECT (gpu_ols_agg(y, x1)).n FROM scan_rows');
SELECT count(x1) AS before FROM scan_rows \gset
DECLARE c SCROLL CURSOR FOR SELECT (gpu_ols_agg(y, x1)).n FROM scan_rows;
DELETE FROM scan_rows WHERE k = 1;
FETCH c \gset cursor_
SELECT :cursor_n = :before AS as_it_was;
MOVE BACKWARD ALL IN c;
FETCH c \gset again_
SELECT :again_n = :before AS the_same_again;
-- later statements see this transaction's changes
SELECT (gpu_ols_agg(y, x1)).n < :before AS less FROM scan_rows;
SAVEPOINT s;
DELETE FROM scan_rows;
SELECT gpu_ols_agg(y, x1) IS NULL AS nothing FROM scan_rows;
ROLLBACK TO s;
SELECT (gpu_ols_agg(y, x1)).n > 0 AS again FROM scan_rows;
ROLLBACK;
SELECT (gpu_ols_agg(y, x1)).n = :before AS all_of_it FROM scan_rows;

-- The query forms read their rows in this way
SELECT same(statement) FROM (VALUES ($$SELECT gpu_ols_fit('SELECT y, x1, x4, v FROM scan_rows WHERE k > 0')$$),
    ($$SELECT gpu_logreg_fit('SELECT b, x1, x4 FROM scan_parts')$$),
    ($$SELECT gpu_glm_fit('SELECT x4, x1, x2 FROM scan_rows', 'poisson', weights => 'x2')$$)) s(statement);

-- EXPLAIN ANALYZE runs the scan
CREATE FUNCTION scan_analyzed(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || statement LOOP
        RETURN NEXT regexp_replace(substring(line FROM 'Custom Scan \(GpuregScan\) .*|Rows Removed by Filter: \d+'),
            'rows=1\.00', 'rows=1');
    END LOOP;
END $$;
BEGIN;
SET LOCAL max_parallel_workers_per_gather = 0;
SELECT line FROM scan_analyzed('SELECT gpu_ols_agg(y, x1) FROM scan_matview WHERE k = 1') line WHERE line IS NOT NULL;
ROLLBACK;

DROP MATERIALIZED VIEW scan_matview;
DROP VIEW scan_view;
DROP TABLE scan_rows, scan_parts, scan_parents, scan_children, scan_unlogged, scan_temporary, scan_empty, scan_few,
    scan_secret, scan_counts, scan_hidden;
DROP SEQUENCE scan_calls;
DROP AGGREGATE scan_null_after_3(int), scan_last_texts(text);
DROP FUNCTION uses_scan, outcome, rounded, same, scan_leak, scan_analyzed, scan_null_for_3, scan_last,
    scan_noticed;
DROP OWNED BY regress_gpureg_scan;
DROP ROLE regress_gpureg_scan;

-- Keys that have another form in memory than in files
CREATE TABLE scan_arrays AS SELECT sin(i * 1.3) AS y, cos(i * 1.7) AS x1, ARRAY[i % 3000, 7] AS a
FROM generate_series(1, 9000) i;
ANALYZE scan_arrays;
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SET enable_sort = off;
SET max_parallel_workers_per_gather = 0;
SELECT count(*) AS groups, sum((m).n) AS n, bool_and(k[3] = 1) AS keys
FROM (SELECT array_append(a, 1) AS k, gpu_ols_agg(y, x1) AS m FROM scan_arrays GROUP BY 1) q;
RESET work_mem;
RESET hash_mem_multiplier;
RESET enable_sort;
RESET max_parallel_workers_per_gather;
DROP TABLE scan_arrays;
