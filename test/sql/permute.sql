-- Permutation tests by flipped signs against values of 50 digits, from signs by flip_draw.h's definition:
-- test/data/permute_reference.py.
\set VERBOSITY default
CREATE TABLE permute_rows (id int, big bigint, name text, number numeric, token uuid, day date, instant timestamp,
    firm text, level text, y float8, x1 float8, x2 float8, far float8, z int, w int);
\copy permute_rows FROM 'test/data/boot_rows.csv' WITH (FORMAT csv, HEADER)
UPDATE permute_rows SET y = round((y - 2 * x1 + x2)::numeric, 4);
CREATE TABLE permute_fits (fit text, term text, estimate numeric, statistic numeric, extreme int);
\copy permute_fits FROM 'test/data/permute_fits.csv' WITH (FORMAT csv, HEADER)
-- also: text behind the table, and the filter
CREATE TABLE permute_cases AS
SELECT 'by ' || k AS fit, format('SELECT y, x1, x2, %I FROM permute_rows %%s', k) AS query, k AS key, NULL AS clusters,
    seed, true AS intercept, NULL AS formula, NULL AS weights
FROM (VALUES ('id', 1), ('big', -5), ('name', 1099511627779), ('token', 2)) v(k, seed)
UNION ALL VALUES ('by firm', 'SELECT firm, y, x1, x2 FROM permute_rows %s', NULL, 'firm', 5, true, NULL, NULL),
    ('weights', 'SELECT w, id, y, x1, x2 FROM permute_rows %s', 'id', NULL, 6, true, NULL, 'w'),
    ('no intercept', 'SELECT y, x1, x2, id FROM permute_rows %s', 'id', NULL, 7, false, NULL, NULL),
    ('far', 'SELECT y, far, x1, id FROM permute_rows %s', 'id', NULL, 8, true, NULL, NULL),
    ('factor', 'SELECT * FROM permute_rows %s', 'id', NULL, 10, true, 'y ~ x1 + level', NULL),
    ('few', 'SELECT y, x1, x2, id FROM permute_rows %s WHERE id < -23', 'id', NULL, 11, true, NULL, NULL);
CREATE FUNCTION permute_case(c permute_cases, also text DEFAULT '')
RETURNS TABLE (term text, estimate float8, statistic float8, p_value float8, reps int) LANGUAGE sql AS $$
    SELECT * FROM gpu_ols_permute(format(c.query, also), 999, c.key, c.seed, c.intercept, c.formula, c.weights,
        c.clusters)
$$;
CREATE TABLE permute_got (way text, fit text, term text, estimate float8, statistic float8, p_value float8, reps int);
INSERT INTO permute_got SELECT 'memory', fit, p.* FROM permute_cases c, permute_case(c) p;
SELECT function, rows, features FROM gpu_last_run();
-- the rows in a temporary file; the query run for each pass, in parallel workers and in the session's process alone;
-- the rows through a ring, and in several sinks
SET client_min_messages = error; SET gpureg.device = cpu; SET gpureg.ring_size = '1MB'; SET jit = off;
SET max_parallel_workers_per_gather = 0;
INSERT INTO permute_got SELECT 'file', fit, p.* FROM permute_cases c, permute_case(c, ', one_of_many()') p;
SELECT reason LIKE '%temporary file%' AS in_file FROM gpu_last_run();
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
INSERT INTO permute_got SELECT 'pass, workers', fit, p.* FROM permute_cases c, permute_case(c, ', one_of_many()') p;
SELECT reason LIKE '%the query was run%times%' AS passes FROM gpu_last_run();
SET max_parallel_workers = 0;
INSERT INTO permute_got SELECT 'pass', fit, p.* FROM permute_cases c, permute_case(c, ', one_of_many()') p;
RESET max_parallel_workers; RESET gpureg.ring_size; RESET gpureg.device;
SET gpureg.debug_ring = on;
INSERT INTO permute_got SELECT 'ring', fit, p.* FROM permute_cases c, permute_case(c) p;
RESET ALL;
SET gpureg.debug_sinks = 3;
INSERT INTO permute_got SELECT 'sinks', fit, p.* FROM permute_cases c, permute_case(c) p;
RESET ALL;
-- Every count is right, and eleven digits of every t.
SELECT way, count(*) AS n, count(DISTINCT fit) AS fits, bool_and(digits(g.estimate, w.estimate) > 11) AS estimates,
    bool_and(digits(g.statistic, w.statistic) > 11) AS statistics,
    bool_and(g.p_value = (1 + w.extreme) / 1000.0::float8 AND g.reps = 999) AS p_values
FROM permute_got g JOIN permute_fits w USING (fit, term) GROUP BY way ORDER BY way COLLATE "C";
SELECT count(*) AS missing FROM permute_fits WHERE (fit, term) NOT IN (SELECT fit, term FROM permute_got
    WHERE way = 'memory');

-- p-values depend on seed and key, but neither on the rows' order nor on how passes are split
SELECT a.term, a.p_value = b.p_value AS reordered, a.p_value <> c.p_value OR a.term = '(intercept)' AS other_seed
FROM gpu_ols_permute('SELECT y, x1, x2, id FROM permute_rows', 4999, 'id') a
JOIN gpu_ols_permute('SELECT y, x1, x2, id FROM permute_rows ORDER BY md5(id::text)', 4999, 'id') b USING (term)
JOIN gpu_ols_permute('SELECT y, x1, x2, id FROM permute_rows', 4999, 'id', 1) c USING (term);
-- 41 terms, whose sums take two passes: with one replicate less, at most one count differs
CREATE VIEW permute_wide AS SELECT sin(i) AS y, ARRAY(SELECT cos(i * j * 0.37) FROM generate_series(1, 40) j) AS x, i
FROM generate_series(1, 60) i;
SELECT count(*) AS n, bool_and(round(a.p_value * 5000) - round(b.p_value * 5001) IN (-1, 0)) AS right
FROM gpu_ols_permute('TABLE permute_wide', 4999, 'i') a
JOIN gpu_ols_permute('TABLE permute_wide', 5000, 'i') b USING (term);
-- with errors alone, p-values are about uniform: 5% of them are at most 0.05, within five standard errors
SELECT count(*) AS n, abs(avg((p.p_value <= 0.05)::int) - 0.05) < 5 * sqrt(0.05 * 0.95 / 600) AS five_percent,
    abs(avg(p.p_value) - 0.5) < 5 * sqrt(1 / 12.0 / 600) AS mean
FROM generate_series(1, 600) k, gpu_ols_permute(format('SELECT sin(%s + 1e4 * sin(i * i + 7.7 * %1$s)) AS y, '
    'cos(i * 1.7) AS x, i FROM generate_series(1.0, 40) i', k), 199, 'i', k) p WHERE p.term = 'x';
-- rows of one key have one sign: with every row twice there are as many draws, and t has other degrees of freedom
SELECT a.term, abs(a.p_value - b.p_value) < 0.02 AS alike FROM gpu_ols_permute('SELECT y, x1, id FROM permute_rows',
    key => 'id') a
JOIN gpu_ols_permute('SELECT y, x1, id FROM permute_rows, generate_series(1, 2)', key => 'id') b USING (term);
-- terms without a t: collinear columns, no degrees of freedom, no residuals; one coefficient
SELECT term, estimate IS NULL AS aliased, statistic IS NULL AS no_t, p_value IS NULL AS no_p, reps
FROM gpu_ols_permute('SELECT y, x1, 2 * x1 AS twice, id FROM permute_rows', 9, 'id');
SELECT term, estimate IS NULL AS aliased, statistic, p_value, reps
FROM gpu_ols_permute('SELECT y, x1, x2, id FROM permute_rows WHERE id IN (1, 2, 3)', 9, 'id');
SELECT * FROM gpu_ols_permute('SELECT y, id FROM permute_rows WHERE id = 1', 9, 'id');
SELECT * FROM gpu_ols_permute('SELECT 1.0 AS y, id FROM permute_rows', 9, 'id');
SELECT term, estimate, statistic, p_value FROM gpu_ols_permute('SELECT 0 AS y, x1, id FROM permute_rows', 9, 'id');
-- an estimate of 0 is exceeded by all replicates
SELECT term, estimate, statistic, p_value
FROM gpu_ols_permute('SELECT y, i FROM (VALUES (1, 1), (-1, 2), (0, 3)) v(y, i)', 99, 'i');
-- units don't matter
SELECT bool_and(a.p_value = b.p_value) AS same FROM gpu_ols_permute('SELECT y, x1, id FROM permute_rows', 99, 'id') a
JOIN gpu_ols_permute('SELECT 1e120 * y, 1e-100 * x1 AS x1, id FROM permute_rows', 99, 'id') b USING (term);
-- a row without a key is left out
SELECT bool_and(a = b) AS same, (SELECT rows FROM gpu_last_run()) AS rows
FROM gpu_ols_permute('SELECT y, x1, nullif(id, 5) AS id FROM permute_rows', 99, 'id') a
JOIN gpu_ols_permute('SELECT y, x1, id FROM permute_rows WHERE id <> 5', 99, 'id') b USING (term);

-- Errors, each with its SQLSTATE
SELECT * FROM gpu_ols_permute('SELECT y, x1 FROM permute_rows');
\set VERBOSITY terse
SELECT * FROM gpu_ols_permute('SELECT y, x1, id FROM permute_rows', key => 'id', clusters => 'id');
SELECT * FROM gpu_ols_permute('SELECT y, x1 FROM permute_rows', key => 'id');
SELECT * FROM gpu_ols_permute('SELECT y, x1, x2 FROM permute_rows', key => 'x2');
SELECT * FROM gpu_ols_permute('SELECT id FROM permute_rows', key => 'id');
SELECT * FROM gpu_ols_permute('SELECT y, x1, id FROM permute_rows', 0, 'id');
SELECT * FROM gpu_ols_permute('SELECT y, x1, id FROM permute_rows', 1000001, 'id');
SELECT * FROM gpu_ols_permute('SELECT y, x1, id FROM permute_rows', NULL, 'id');
SELECT * FROM gpu_ols_permute('SELECT y, x1, id FROM permute_rows', key => 'id', seed => NULL);
SELECT * FROM gpu_ols_permute(NULL, key => 'id');
SELECT * FROM gpu_ols_permute('SELECT y, x1, id FROM permute_rows', key => 'id', rows => 'x1 > 0');
SELECT * FROM gpu_ols_permute('SELECT y, x1, id FROM permute_rows WHERE false', key => 'id');
SELECT * FROM gpu_ols_permute('SELECT ''NaN''::float8, x1, id FROM permute_rows', key => 'id');
SELECT * FROM gpu_ols_permute('SELECT y, x1, id FROM permute_rows', key => 'id', formula => 'y ~ x1 +');
-- The functions that make passes over a query refuse made-up signs.
CREATE TABLE permute_bad (y boolean, k float8, x float8);
INSERT INTO permute_bad SELECT i % 3 = 0, i, i / 7.0 FROM generate_series(1, 600) i;
CREATE FUNCTION flips_request(members jsonb, steps jsonb DEFAULT '[]') RETURNS bytea LANGUAGE sql AS
    $$SELECT request_bytes(5, 1,
        jsonb_build_array('[0.5,1]'::jsonb, '[0,0]'::jsonb, '[0]'::jsonb, '[]'::jsonb, '[]'::jsonb, '[1,0,0,1]'::jsonb,
                          '[]'::jsonb, steps), '{"key":1,"seed":1,"nactive":2,"nreps":4}'::jsonb || members)$$;
SELECT length(gpu_request_pass(flips_request('{"first":32}'), NULL, '{1}', y, k, x)) FROM permute_bad;
SELECT gpu_request_pass(flips_request('{"flags":1}'), NULL, '{1}', y, k, x) FROM permute_bad;
SELECT gpu_request_pass(flips_request('{"first":4}'), NULL, '{1}', y, k, x) FROM permute_bad;
SELECT gpu_request_pass(flips_request('{"nreps":0}'), NULL, '{1}', y, k, x) FROM permute_bad;
SELECT gpu_request_pass(flips_request('{"nreps":1}', '[1,2]'), NULL, '{1}', y, k, x) FROM permute_bad;
SELECT gpu_request_pass(flips_request('{}') || flips_request('{}'), NULL, '{1}', y, k, x) FROM permute_bad;
DROP FUNCTION flips_request;
DROP VIEW permute_wide;
DROP FUNCTION permute_case;
DROP TABLE permute_bad, permute_rows, permute_fits, permute_cases, permute_got;
