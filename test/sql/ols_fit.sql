-- gpu_ols_fit: a model from a query; terms have the columns' names.
SELECT (m).terms, (m).coef, (m).n, (m).n_skipped FROM
    (SELECT gpu_ols_fit('SELECT 1 + 2 * a - b AS y, a, b AS "B b" FROM generate_series(1, 4) a, generate_series(1, 5) '
        'b') AS m) t;
SELECT (gpu_ols_fit('SELECT y, x FROM (VALUES (1, 2), (2, 3), (3, 5)) AS t(x, y)', intercept => false)).terms;
-- every type of number, boolean and arrays of them, domains over them
CREATE DOMAIN dollars AS numeric(10, 2);
CREATE TABLE kinds AS SELECT i::smallint AS small, (i * i) AS int, (i % 7)::bigint AS big, (i % 5)::real AS real,
    sqrt(i) AS double,
    ln(i)::dollars AS money, i % 3 = 0 AS flag, ARRAY[i % 11, i % 13] AS ints, ARRAY[sin(i), cos(i)] AS doubles,
    ARRAY[i % 2 = 0] AS flags, ARRAY[i % 17, 1.5]::dollars[] AS moneys FROM generate_series(1, 200) i;
SELECT (m).terms, (m).n, (m).rank, (m).coef[14] IS NULL AS constant_aliased
FROM (SELECT gpu_ols_fit('SELECT int % 19, small, big, real, double, money, flag, ints, doubles, flags, moneys, int '
    'FROM kinds') AS m) t;
-- types are converted like by casts
SELECT relative_difference((gpu_ols_fit('SELECT int % 19, small, big, real, double, money, flag, ints, doubles, flags '
    'FROM kinds')).coef,
    (gpu_ols_agg(int % 19, small, big, real, double, money, flag::int, ints[1], ints[2], doubles[1], doubles[2],
        flags[1]::int)).coef) < 1e-15 AS same
FROM kinds;
-- a boolean response
SELECT (gpu_ols_fit('SELECT a > 2, a FROM generate_series(1, 4) a')).coef;
-- NULLs: in a column, an array, an array's element
SELECT (m).coef, (m).n, (m).n_skipped FROM (SELECT gpu_ols_fit($$SELECT y, x, a::int[] FROM (VALUES
    (1, NULL, '{1}'), (1, 1, NULL), (1, 1, '{NULL}'), (NULL, 1, '{1}'), (1, 1, '{1}'), (2, 2, '{1}'),
    (4, 2, '{2}')) AS t(y, x, a)$$) AS m) t;
-- any query that reads: WITH, VALUES, TABLE, a view, a partitioned and a temporary table, a trailing semicolon
SELECT (gpu_ols_fit('WITH t AS (SELECT i AS x, 2 * i AS y FROM generate_series(1, 3) i) SELECT y, x FROM t;')).coef;
SELECT (gpu_ols_fit('VALUES (3, 1), (5, 2), (7, 3)')).coef;
CREATE TEMP TABLE pairs (y float8, x float8);
INSERT INTO pairs VALUES (3, 1), (5, 2), (7, 3);
SELECT (gpu_ols_fit('TABLE pairs')).coef;
\set VERBOSITY terse
CREATE VIEW pg_temp.pairs_view AS SELECT y, x + 1 AS z FROM pairs;
\set VERBOSITY default
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
SELECT d, (gpu_ols_fit(format('SELECT %s * i, i FROM generate_series(1, 5) i', d))).coef[2]
FROM generate_series(1, 3) d;
-- a NULL query is a NULL model
SELECT gpu_ols_fit(NULL) IS NULL AS null_query;
-- a model as a stored value
CREATE TABLE models AS SELECT 'pairs' AS name, gpu_ols_fit('TABLE pairs') AS model;
SELECT name, round(gpu_predict(model, 2)::numeric, 6) AS prediction FROM models;
-- many rows
SELECT (m).n, relative_difference((m).coef, '{1, 2, -3}') < 1e-14 AS right
FROM (SELECT gpu_ols_fit('SELECT 1 + 2 * (i % 1000) - 3 * (i / 1000), i % 1000, i / 1000 FROM generate_series(1, '
    '300000) i') AS m) t;
CREATE TABLE wide AS SELECT sin(i * 0.1) AS y, ARRAY(SELECT sin(i * j + j) FROM generate_series(1, 350) j) AS x
FROM generate_series(1, 1000) i;
-- many features: a model of a megabyte
SELECT (m).rank, array_length((m).vcov, 1) AS terms, relative_difference((m).coef, (m2).coef) < 1e-13 AS same
FROM (SELECT gpu_ols_fit('SELECT y, x FROM wide') AS m) a, LATERAL (SELECT gpu_ols_agg(y, VARIADIC x) AS m2
    FROM wide) b;
DROP TABLE kinds, parted, models, wide;
DROP DOMAIN dollars CASCADE;
-- parallel workers, if the planner has some: the same model, and the workers are counted
SET gpureg.device = cpu;
CREATE TABLE many AS SELECT i AS id, sin(i) + i % 5 AS y, i % 7 AS a, (cos(i))::real AS b, i % 2 = 0 AS c,
    (i % 11)::numeric AS d,
    CASE WHEN i % 100 <> 7 THEN ARRAY[sin(i * i), cos(i * i), i % 3] END AS v FROM generate_series(1, 20000) i;
ANALYZE many;
CREATE TABLE fits (workers int, what text, model gpu_model);
CREATE FUNCTION fit_with(workers int) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    counted int;
BEGIN
    PERFORM set_config('max_parallel_workers_per_gather', workers::text, true);
    INSERT INTO fits SELECT workers, 'columns', gpu_ols_fit('SELECT y, a, b, c, d FROM many');
    SELECT r.workers INTO counted FROM gpu_last_run() r;
    INSERT INTO fits SELECT workers, 'array', gpu_ols_fit('SELECT y, a, v, b FROM many -- rows with a NULL among them',
        false);
    INSERT INTO fits SELECT workers, 'join',
    gpu_ols_fit('SELECT m.y, n.a, m.b FROM many m JOIN many n ON n.id = m.id + 1;');
    INSERT INTO fits SELECT workers, 'two arrays', gpu_ols_fit('SELECT y, v, v[1:2] AS w FROM many');
    --     the last worker may come when no rows are left
    RETURN counted BETWEEN least(workers, 1) AND workers;
END
$$;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers = 8;
-- without the leader, as it would read so few rows before the workers have started
SET parallel_leader_participation = off;
SELECT fit_with(0) AS none, fit_with(2) AS two;
SET parallel_leader_participation = on;
SELECT fit_with(1) IS NOT NULL AS one;
SELECT what, (s.model).terms, (s.model).n, (s.model).n_skipped, (s.model).rank,
    bool_and(relative_difference((s.model).coef, (p.model).coef) < 1e-14 AND
    (s.model).terms = (p.model).terms AND (s.model).n = (p.model).n AND (s.model).n_skipped = (p.model).n_skipped
        AND (s.model).rank = (p.model).rank) AS same
FROM fits s JOIN fits p USING (what) WHERE s.workers = 0 GROUP BY 1, 2, 3, 4, 5 ORDER BY what;
-- messages name the columns with workers, too
\set SHOW_CONTEXT never
SET max_parallel_workers_per_gather = 2;
SELECT gpu_ols_fit('SELECT y, a, CASE id WHEN 15000 THEN ''NaN'' ELSE b END AS odd FROM many');
SELECT gpu_ols_fit('SELECT y, a, CASE id WHEN 15000 THEN 1e200 ELSE b::float8 END AS huge FROM many');
SELECT gpu_ols_fit('SELECT CASE id WHEN 15000 THEN ''Infinity'' ELSE y END AS response, v FROM many');
SELECT gpu_ols_fit('SELECT y, CASE id WHEN 15000 THEN ''{1,NaN,3}''::float8[] ELSE v END AS v FROM many');
SELECT gpu_ols_fit('SELECT y, NULL::int AS nothing FROM many');
SELECT gpu_ols_fit('SELECT y, a FROM many WHERE id < 0');
SELECT gpu_ols_fit('SELECT y, 1 / (id - 15000) FROM many');
\set SHOW_CONTEXT errors
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET max_parallel_workers;
RESET max_parallel_workers_per_gather;
RESET gpureg.device;
DROP FUNCTION fit_with;
DROP TABLE many, fits;
-- a first row that is left out, with an array of another length
CREATE TABLE first_row AS SELECT CASE WHEN i > 0 THEN sin(i) END AS y, CASE WHEN i > 0 THEN ARRAY[cos(i), i % 7]
    ELSE array_fill(1.0::float8, ARRAY[3000]) END AS x FROM generate_series(0, 5000) i;
ANALYZE first_row;
SET gpureg.device = cpu;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET max_parallel_workers_per_gather = 2;
SELECT (m).terms, (m).n, (m).n_skipped FROM (SELECT gpu_ols_fit('SELECT y, x FROM first_row') AS m OFFSET 0) q;
SELECT (m).terms, (m).n, (m).n_skipped
FROM (SELECT gpu_ols_fit('SELECT y, x, x[1:1] AS z FROM first_row') AS m OFFSET 0) q;
DROP TABLE first_row;

-- columns without a name of their own are named by their expressions
CREATE TABLE loom AS SELECT i, sin(i) AS y, cos(i * 0.7) AS x, CASE WHEN i % 2 = 0 THEN 'A' ELSE 'B' END AS wool,
    'LMH'::char(3) AS levels,
    substr('LMH', 1 + i % 3, 1) AS tension, ARRAY[i % 7, i % 5] AS a FROM generate_series(1, 100) i;
SELECT terms FROM gpu_ols_fit($$SELECT y, wool = 'B', tension = 'M', tension = 'H' FROM loom$$);
SELECT terms FROM gpu_ols_fit($$select y, wool  =  'B' , -- a comment, and
    /* another */ x   + 1 from loom where x > -2$$);
SELECT terms FROM gpu_ols_fit($$SELECT y, (wool = 'B')::int, x::int4, x::numeric, abs(x), 2 * x AS x, loom.i, CASE
    WHEN x > 0 THEN 1 ELSE 0 END FROM loom$$);
SELECT terms FROM gpu_ols_fit($$SELECT l.y, l.x, m.x, l.a, m.a[1] FROM loom l JOIN loom m ON m.i = 101 - l.i$$);
SELECT terms FROM gpu_ols_fit($$SELECT y, x IS DISTINCT FROM i AND wool <> 'a, from', (SELECT count(*)
    FROM loom) + i, E'1\'' < wool, $x$,$x$ || wool > 'B', x = ANY (ARRAY[1, 2])
    FROM loom ORDER BY i LIMIT 90;$$);
SELECT terms FROM gpu_ols_fit($$SELECT avg(y), avg(x) FILTER (WHERE x > 0) * 2,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY x) + 1 FROM loom GROUP BY i % 9$$);
SELECT terms FROM gpu_ols_fit($$WITH w AS (SELECT y, x + 1 FROM loom) SELECT y, x * 2 FROM loom UNION ALL SELECT *
    FROM w$$);
SELECT terms FROM gpu_ols_fit('VALUES (1, 2), (2, 4), (3, 7)');
SELECT terms, (SELECT array_agg(round(b::numeric, 6)) FROM unnest(coef) b)
FROM gpu_ols_fit($$SELECT y, (a || i)[3:], a FROM loom$$);
SELECT gpu_ols_fit($$SELECT y, x * 'NaN'::float8 FROM loom$$);
SELECT gpu_ols_fit($$SELECT y, x, wool::bytea || tension::bytea FROM loom$$);

-- the response alone: a model of the intercept
SELECT m.terms, abs(m.coef[1] - s.mean) < 1e-15 AS mean, abs(m.vcov[1][1] / s.variance - 1) < 1e-13 AS variance,
    m.n, m.rank, m.df_residual,
    m.deviance = m.null_deviance AS deviance
FROM gpu_ols_fit('SELECT y FROM loom') m, (SELECT avg(y) AS mean, var_samp(y) / count(*) AS variance FROM loom) s;
SELECT r_squared, adj_r_squared, f_statistic, abs(sigma / (SELECT stddev(y) FROM loom) - 1) < 1e-14 AS sigma
FROM gpu_glance(gpu_ols_fit('SELECT y FROM loom'));
SELECT coef, vcov FROM gpu_ols_fit('SELECT 7 FROM loom');
SELECT coef, n, n_skipped FROM gpu_ols_fit('SELECT nullif(i, 3) FROM loom');
SELECT gpu_ols_fit('SELECT y FROM loom', intercept => false);
SELECT gpu_ols_fit('SELECT FROM loom');
SELECT gpu_ols_fit($$SELECT y, '{}'::float8[] FROM loom$$);
DROP TABLE loom;
-- members of the extension are those of the moment, also within one statement
DO $$
DECLARE
    query text := 'SELECT i AS y, i * i AS x FROM generate_series(1, 9) i';
    fits int := 0;
BEGIN
    fits := fits + ((gpu_ols_fit(query)).n = 9)::int;
    BEGIN
        ALTER EXTENSION gpureg DROP TYPE gpu_ols_stats;
        PERFORM gpu_ols_fit(query);
        RAISE EXCEPTION 'the type was used';
    EXCEPTION WHEN undefined_object THEN
        RAISE NOTICE '%', SQLERRM;
    END;
    fits := fits + ((gpu_ols_fit(query)).n = 9)::int;
    ALTER EXTENSION gpureg DROP TYPE gpu_ols_stats;
    BEGIN
        ALTER EXTENSION gpureg ADD TYPE gpu_ols_stats;
        fits := fits + ((gpu_ols_fit(query)).n = 9)::int;
        RAISE division_by_zero;
    EXCEPTION WHEN division_by_zero THEN NULL;
    END;
    BEGIN
        PERFORM gpu_ols_fit(query);
        RAISE EXCEPTION 'the type was used';
    EXCEPTION WHEN undefined_object THEN NULL;
    END;
    ALTER EXTENSION gpureg ADD TYPE gpu_ols_stats;
    fits := fits + ((gpu_ols_fit(query)).n = 9)::int;
    RAISE NOTICE '% fits', fits;
END
$$;
