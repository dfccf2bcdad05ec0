-- The Poisson bootstrap against values of 80 digits, from draws by boot_draw.h's definition:
-- test/data/boot_reference.py.
\set VERBOSITY default
CREATE TABLE boot_rows (id int, big bigint, name text, number numeric, token uuid, day date, instant timestamp,
    firm text, level text, y float8, x1 float8, x2 float8, far float8, z int, w int);
\copy boot_rows FROM 'test/data/boot_rows.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE boot_fits (fit text, replicate int, term text, estimate numeric);
\copy boot_fits FROM 'test/data/boot_fits.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE boot_limits (fit text, kind text, term text, std_error numeric, bias numeric, conf_low numeric,
    conf_high numeric);
\copy boot_limits FROM 'test/data/boot_limits.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE boot_cases AS
SELECT 'by ' || k AS fit, format('SELECT y, x1, x2, %I FROM boot_rows', k) AS query, k AS key, NULL AS clusters,
    seed, true AS intercept, NULL AS formula, NULL AS weights
FROM (VALUES ('id', 1), ('big', -5), ('name', 1099511627779), ('number', 0), ('token', 2), ('day', 3),
    ('instant', 4)) v(k, seed)
UNION ALL VALUES ('by firm', 'SELECT firm, y, x1, x2 FROM boot_rows', NULL, 'firm', 5, true, NULL, NULL),
    ('weights', 'SELECT w, id, y, x1, x2 FROM boot_rows', 'id', NULL, 6, true, NULL, 'w'),
    ('no intercept', 'SELECT y, x1, x2, id FROM boot_rows', 'id', NULL, 7, false, NULL, NULL),
    ('far', 'SELECT y, far, x1, id FROM boot_rows', 'id', NULL, 8, true, NULL, NULL),
    ('tight', 'SELECT 1024 * far + trunc(1024 * y) / 1048576, far, id FROM boot_rows', 'id', NULL, 9, true, NULL,
        NULL),
    ('rare', 'SELECT * FROM boot_rows', 'id', NULL, 10, true, 'y ~ x1 + level', NULL),
    ('logistic', 'SELECT z, x1, x2, id FROM boot_rows', 'id', NULL, 1, true, NULL, NULL),
    ('logistic by firm', 'SELECT * FROM boot_rows', NULL, 'firm', 11, true, 'z ~ x1 + x2', NULL),
    ('logistic weights', 'SELECT * FROM boot_rows', 'name', NULL, 12, true, 'z ~ x1 + x2', 'w');
-- also_from: text behind the query's table
CREATE FUNCTION boot_replicates(c boot_cases, reps int DEFAULT 70, also_from text DEFAULT '')
RETURNS TABLE (replicate int, term text, estimate float8) LANGUAGE plpgsql AS $$
BEGIN
    IF c.fit LIKE 'logistic%' THEN
        RETURN QUERY SELECT * FROM gpu_logreg_boot_replicates(c.query || also_from, reps, c.key, c.seed, c.intercept,
            c.formula, c.weights, c.clusters);
    ELSE
        RETURN QUERY SELECT * FROM gpu_ols_boot_replicates(c.query || also_from, reps, c.key, c.seed, c.intercept,
            c.formula, c.weights, c.clusters);
    END IF;
END $$;
CREATE TABLE boot_got (way text, fit text, replicate int, term text, estimate float8);
SET client_min_messages = error;
INSERT INTO boot_got SELECT 'memory', fit, b.* FROM boot_cases c, boot_replicates(c) b;
RESET client_min_messages;
SELECT function, rows, features FROM gpu_last_run();
-- the rows in a temporary file; the query run for each pass, in parallel workers and in the session's process alone;
-- the rows through a ring
SET client_min_messages = error; SET gpureg.device = cpu; SET gpureg.ring_size = '1MB'; SET jit = off;
SET max_parallel_workers_per_gather = 0;
INSERT INTO boot_got SELECT 'file', fit, b.* FROM boot_cases c, boot_replicates(c, 70, ', one_of_many()') b;
SELECT reason LIKE '%temporary file%' AS in_file FROM gpu_last_run();
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
INSERT INTO boot_got SELECT 'pass, workers', fit, b.* FROM boot_cases c, boot_replicates(c, 70, ', one_of_many()') b;
SELECT reason LIKE '%the query was run%times%' AS passes FROM gpu_last_run();
SET max_parallel_workers = 0;
INSERT INTO boot_got SELECT 'pass', fit, b.* FROM boot_cases c, boot_replicates(c, 70, ', one_of_many()') b;
RESET max_parallel_workers; RESET gpureg.ring_size; RESET gpureg.device;
SET gpureg.debug_ring = on;
INSERT INTO boot_got SELECT 'ring', fit, b.* FROM boot_cases c, boot_replicates(c) b;
RESET ALL;
-- Every replicate is right, to 1e-13 of its standard error and its last digit, and the same replicates are singular.
SELECT way, count(*) AS n, count(DISTINCT fit) AS fits, count(*) - count(estimate) AS singular,
    bool_and(CASE WHEN want IS NULL THEN estimate IS NULL ELSE
        abs(estimate::text::numeric - want) <= 1e-13 * std_error + 2.3e-16 * abs(want) END) AS right
FROM boot_got JOIN (SELECT fit, replicate, term, estimate AS want FROM boot_fits) w USING (fit, replicate, term)
JOIN (SELECT fit, term, stddev(estimate) AS std_error FROM boot_fits GROUP BY fit, term) s USING (fit, term)
GROUP BY way ORDER BY way COLLATE "C";
SELECT count(*) AS missing FROM boot_fits WHERE replicate > 0 AND (fit, replicate, term) NOT IN (SELECT fit, replicate,
    term FROM boot_got WHERE way = 'memory');
-- with so many replicates, parallel workers make them even if the rows could be kept
CREATE FUNCTION one_of_some() RETURNS SETOF int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE ROWS 1000
    AS $$ BEGIN RETURN NEXT 1; END $$;
SET gpureg.device = cpu; SET jit = off; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2;
SELECT count(*) AS n, max(abs(b.estimate - g.estimate)) < 1e-13 AS same
FROM gpu_ols_boot_replicates('SELECT y, x1, x2, id FROM boot_rows, one_of_some()', 10000, 'id', 1) b
JOIN boot_got g USING (replicate, term) WHERE way = 'memory' AND fit = 'by id';
SELECT reason LIKE '%a bootstrap is worth parallel workers: the query was run % times' AS workers FROM gpu_last_run();
RESET ALL;
DROP FUNCTION one_of_some;

-- Limits, standard errors and biases of 199 replicates
CREATE TABLE boot_summaries AS
SELECT fit, kind, b.* FROM boot_cases c, unnest('{percentile,basic,normal,bca}'::text[]) kind,
    gpu_ols_boot(c.query, 199, c.key, c.seed, clusters => c.clusters, kind => kind) b
WHERE fit IN ('by id', 'by firm')
UNION ALL SELECT fit, kind, b.* FROM boot_cases c, unnest('{percentile,basic,normal,bca}'::text[]) kind,
    gpu_logreg_boot(c.query, 199, c.key, c.seed, formula => formula, clusters => c.clusters, kind => kind) b
WHERE fit IN ('logistic', 'logistic by firm');
SELECT kind, count(*) AS n, bool_and(digits(g.std_error, l.std_error) > 12) AS std_error,
    bool_and(abs(g.bias::text::numeric - l.bias) < 1e-12 * l.std_error) AS bias,
    bool_and(abs(g.conf_low::text::numeric - l.conf_low) < 1e-11 * l.std_error) AS low,
    bool_and(abs(g.conf_high::text::numeric - l.conf_high) < 1e-11 * l.std_error) AS high
FROM boot_summaries g FULL JOIN boot_limits l USING (fit, kind, term) GROUP BY kind ORDER BY kind COLLATE "C";
-- BCa with a query that is run for each pass
SET gpureg.device = cpu; SET gpureg.ring_size = '1MB'; SET jit = off; SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2;
SELECT bool_and(abs(b.conf_low::text::numeric - l.conf_low) < 1e-11 * l.std_error) AS low
FROM boot_cases c, gpu_ols_boot(c.query || ', one_of_many()', 199, c.key, c.seed, clusters => c.clusters,
    kind => 'BCa') b JOIN boot_limits l USING (term)
WHERE c.fit = l.fit AND l.kind = 'bca' AND c.fit IN ('by id', 'by firm');
RESET ALL;
-- the estimates are those of the fits
SELECT bool_and(b.estimate = t.estimate OR abs(b.estimate / t.estimate - 1) < 1e-15) AS same
FROM gpu_ols_boot('SELECT y, x1, x2, id FROM boot_rows', 10, 'id') b
JOIN gpu_tidy(gpu_ols_fit('SELECT y, x1, x2 FROM boot_rows')) t USING (term);
-- replicates of powers, which are computed about a center, are those of the powers themselves
SELECT bool_and(abs(a.estimate / b.estimate - 1) < 1e-9) AS linear,
    bool_and(abs(c.estimate / d.estimate - 1) < 1e-9) AS logistic, count(*)
FROM gpu_ols_boot_replicates('SELECT y, x1 + 10 AS f, id FROM boot_rows', 5, 'id', formula => 'y ~ poly(f, 2)')
    WITH ORDINALITY a (replicate, term, estimate, k)
JOIN gpu_ols_boot_replicates('SELECT y, x1 + 10 AS f, (x1 + 10) ^ 2 AS f2, id FROM boot_rows', 5, 'id')
    WITH ORDINALITY b (replicate, term, estimate, k) USING (k)
JOIN gpu_logreg_boot_replicates('SELECT z, x1 + 10 AS f, id FROM boot_rows', 5, 'id', formula => 'z ~ poly(f, 2)')
    WITH ORDINALITY c (replicate, term, estimate, k) USING (k)
JOIN gpu_logreg_boot_replicates('SELECT z, x1 + 10 AS f, (x1 + 10) ^ 2 AS f2, id FROM boot_rows', 5, 'id')
    WITH ORDINALITY d (replicate, term, estimate, k) USING (k);

-- Logistic replicates iterated to their own estimates of 80 digits, or to no estimate
CREATE TABLE boot_newton (fit text, replicate int, term text, estimate numeric);
\copy boot_newton FROM 'test/data/boot_newton.csv' WITH (FORMAT csv, HEADER)
CREATE FUNCTION boot_newton_got(also_from text DEFAULT '')
RETURNS TABLE (fit text, replicate int, term text, estimate float8) LANGUAGE sql AS $$
    SELECT fit, b.* FROM boot_cases c, gpu_logreg_boot_replicates(c.query || also_from, 70, c.key, c.seed, c.intercept,
        c.formula, c.weights, c.clusters, method => 'newton') b WHERE fit LIKE 'logistic%'
$$;
CREATE FUNCTION boot_newton_right(also_from text DEFAULT '', OUT n bigint, OUT lost bigint, OUT "right" boolean)
LANGUAGE sql AS $$
    SELECT count(*), count(*) - count(g.estimate),
        bool_and(CASE WHEN w.estimate IS NULL THEN g.estimate IS NULL ELSE
            abs(g.estimate::text::numeric - w.estimate) <= 1e-12 * std_error + 1e-15 * abs(w.estimate) END)
    FROM boot_newton_got(also_from) g FULL JOIN boot_newton w USING (fit, replicate, term)
    JOIN (SELECT fit, term, stddev(estimate) AS std_error FROM boot_fits GROUP BY fit, term) s USING (fit, term)
$$;
SET client_min_messages = error;
SELECT 'memory' AS way, * FROM boot_newton_right();
SET gpureg.device = cpu; SET gpureg.ring_size = '1MB'; SET jit = off; SET max_parallel_workers_per_gather = 0;
SELECT 'file' AS way, * FROM boot_newton_right(', one_of_many()');
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SELECT 'pass, workers' AS way, * FROM boot_newton_right(', one_of_many()');
RESET ALL;
SET gpureg.debug_sinks = 3;
SELECT 'sinks' AS way, * FROM boot_newton_right();
RESET ALL;
SELECT count(*) AS n, bool_and(b.std_error > 0 AND b.conf_low < b.conf_high) AS limits
FROM gpu_logreg_boot('SELECT z, x1, x2, id FROM boot_rows', 40, 'id', method => 'newton') b;
-- replicates that separate are singular
SELECT count(*) AS n, count(estimate) BETWEEN 20 AND 180 AS some FROM gpu_logreg_boot_replicates(
    'SELECT (i IN (3, 5, 6, 7, 8))::int AS z, i AS x, i FROM generate_series(1, 8) i', 100, 'i', 1, method => 'newton');
SELECT * FROM gpu_logreg_boot('SELECT z, x1, x2, id FROM boot_rows', 40, 'id', method => 'two-step');
SELECT * FROM gpu_logreg_boot('SELECT z, x1, x2, id FROM boot_rows', 40, 'id', method => NULL);
DROP FUNCTION boot_newton_right, boot_newton_got;
DROP TABLE boot_newton;

-- Replicates depend on seed, number and key, but neither on the rows' order nor on the number of replicates.
CREATE FUNCTION boot_apart(a text, b text, a_reps int DEFAULT 40, b_reps int DEFAULT 40) RETURNS float8 LANGUAGE sql
AS $$
    SELECT max(abs(r.estimate - s.estimate)) FROM gpu_ols_boot_replicates(a, a_reps, 'id', 3) r
    JOIN gpu_ols_boot_replicates(b, b_reps, 'id', 3) s USING (replicate, term)
$$;
SELECT boot_apart('SELECT y, x1, id FROM boot_rows', 'SELECT y, x1, id FROM boot_rows ORDER BY md5(y::text)') < 1e-13
    AS reordered,
    boot_apart('SELECT y, x1, id FROM boot_rows', 'SELECT y, x1, id FROM boot_rows', 40, 333) < 1e-13 AS more,
    boot_apart('SELECT y, x1, id FROM boot_rows', 'SELECT y, x1, id::numeric(9, 2) AS id FROM boot_rows') < 1e-13
        AS numerics,
    boot_apart('SELECT y, x1, id FROM boot_rows', 'SELECT y, x1, id + 1 AS id FROM boot_rows') > 0.01 AS other_keys;
-- a model of 41 terms, whose sums are split into passes of some replicates each
SELECT count(*) AS n, bool_and(abs(b.estimate - w.estimate) < 1e-9) AS right
FROM gpu_ols_boot_replicates('SELECT y, ARRAY(SELECT cos(i * j * 0.37) FROM generate_series(1, 40) j) AS x, i FROM '
    '(SELECT i, sin(i) AS y FROM generate_series(1, 400) i) t', 6000, 'i', 1) b
JOIN gpu_ols_boot_replicates('SELECT y, ARRAY(SELECT cos(i * j * 0.37) FROM generate_series(1, 40) j) AS x, i FROM '
    '(SELECT i, sin(i) AS y FROM generate_series(1, 400) i) t', 4000, 'i', 1) w USING (replicate, term)
WHERE replicate > 3900;

-- Keys
SELECT gpu_boot_key(7::smallint) AS int2, gpu_boot_key(-7) AS int4, gpu_boot_key(9007199254740992) AS int8,
    gpu_boot_key(true) AS bool, gpu_boot_key(7.000) AS numeric, gpu_boot_key(date '2000-01-02') AS date,
    gpu_boot_key(timestamptz '2000-01-01 00:00:01+00') AS timestamptz;
SELECT gpu_boot_key('x'::varchar) = gpu_boot_key('x'::text) AS varchar,
    gpu_boot_key('x'::char(9)) = gpu_boot_key('x'::text) AS "char", gpu_boot_key(1.50) = gpu_boot_key(1.5) AS scale,
    gpu_boot_key(9007199254740993) = gpu_boot_key(9007199254740992) AS beyond,
    gpu_boot_key(NULL::int) IS NULL AS none;
-- a row without a key is left out
SELECT bool_and(abs(a.estimate - b.estimate) < 1e-13) AS same, (SELECT rows FROM gpu_last_run()) AS rows
FROM gpu_ols_boot('SELECT y, x1, nullif(id, 5) AS id FROM boot_rows', 10, 'id') a
JOIN gpu_ols_boot('SELECT y, x1, id FROM boot_rows WHERE id <> 5', 10, 'id') b USING (term);
-- the formula may use the key, too
SELECT count(*) FROM gpu_ols_boot('SELECT * FROM boot_rows', 10, 'id', formula => 'y ~ x1 + id');
-- collinear columns have no replicates
SELECT term, estimate IS NULL AS aliased, std_error > 0 AS known
FROM gpu_ols_boot('SELECT y, x1, 2 * x1 AS twice, id FROM boot_rows', 50, 'id');

-- Errors, each with its SQLSTATE
\set VERBOSITY terse
SELECT * FROM gpu_ols_boot('SELECT y, x1 FROM boot_rows');
SELECT * FROM gpu_ols_boot('SELECT y, x1, id FROM boot_rows', key => 'id', clusters => 'id');
SELECT * FROM gpu_ols_boot('SELECT y, x1 FROM boot_rows', key => 'id');
SELECT * FROM gpu_ols_boot('SELECT y, x1 FROM boot_rows', clusters => 'firm');
SELECT * FROM gpu_ols_boot('SELECT y, x1, x2 FROM boot_rows', key => 'x2');
SELECT * FROM gpu_ols_boot('SELECT id FROM boot_rows', key => 'id');
SELECT * FROM gpu_ols_boot('SELECT y, x1, id FROM boot_rows', 0, 'id');
SELECT * FROM gpu_ols_boot('SELECT y, x1, id FROM boot_rows', 1000001, 'id');
SELECT * FROM gpu_ols_boot('SELECT y, x1, id FROM boot_rows', NULL, 'id');
SELECT * FROM gpu_ols_boot(NULL, key => 'id');
SELECT * FROM gpu_ols_boot('SELECT y, x1, id FROM boot_rows', key => 'id', kind => 'studentized');
SELECT * FROM gpu_ols_boot('SELECT y, x1, id FROM boot_rows', key => 'id', kind => NULL);
SELECT * FROM gpu_ols_boot('SELECT y, x1, id FROM boot_rows', key => 'id', conf_level => 1);
SELECT * FROM gpu_ols_boot('SELECT y, x1, id FROM boot_rows WHERE false', key => 'id');
SELECT * FROM gpu_logreg_boot('SELECT y, x1, id FROM boot_rows', key => 'id');
SELECT * FROM gpu_logreg_boot('SELECT x1 > 0.5, x1, id FROM boot_rows', key => 'id');
SELECT * FROM gpu_logreg_boot('SELECT 1, x1, id FROM boot_rows', key => 'id');
SELECT count(*) FROM gpu_ols_boot('SELECT random(), x1, firm FROM boot_rows', 10, clusters => 'firm', kind => 'bca');
SELECT gpu_boot_key(1.5::float8);
SELECT gpu_boot_key('x');
-- warnings
\set VERBOSITY default
SELECT count(*) FROM gpu_ols_boot('SELECT * FROM boot_rows', 70, 'id', 10, formula => 'y ~ x1 + level');
SELECT count(*) FROM gpu_ols_boot('SELECT y, x1, id FROM boot_rows', 19, 'id');
-- one replicate has no spread
SELECT term, std_error IS NULL AS no_error, bias IS NOT NULL AS bias
FROM gpu_ols_boot('SELECT y, x1, id FROM boot_rows', 1, 'id', kind => 'normal');

-- The functions that make passes over a query refuse made-up arguments.
\set VERBOSITY terse
SELECT gpu_request_pass(NULL, NULL, NULL, 1.0, 2.0, 3.0);
SELECT gpu_request_pass('\x', NULL, '{1}', 1.0, 2.0, 3.0);
CREATE TABLE boot_bad (y boolean, k float8, x float8);
INSERT INTO boot_bad SELECT i % 3 = 0, i, i / 7.0 FROM generate_series(1, 600) i;
CREATE FUNCTION boot_request(members jsonb, steps jsonb DEFAULT '[]', lines jsonb DEFAULT '[]', kind int DEFAULT 4)
    RETURNS bytea LANGUAGE sql AS $$SELECT request_bytes(kind, 1,
        jsonb_build_array('[0.5,1]'::jsonb, '[0,0]'::jsonb, '[0]'::jsonb, '[]'::jsonb, '[]'::jsonb, '[1,0,0,1]'::jsonb,
                          lines, steps),
        '{"key":1,"seed":1,"nactive":2,"nreps":4}'::jsonb || members)$$;
SELECT boot_request('{}') AS pass \gset
SELECT length(gpu_request_pass(:'pass', NULL, '{1}', y, k, x)) FROM boot_bad;
SELECT length(gpu_request_pass(boot_request('{"nreps":0,"ninfluence":1}', lines => '[1,2]'), NULL, '{1}', y, k, x))
FROM boot_bad;
SELECT count(DISTINCT gpu_request_pass) FROM (SELECT gpu_request_pass(:'pass', NULL, '{1}', y, k, x)
    FROM boot_bad GROUP BY k::int % 7) t;
SELECT gpu_request_pass(boot_request('{"first":2}'), NULL, '{1}', y, k, x) FROM boot_bad;
SELECT gpu_request_pass(boot_request('{"nreps":-4}'), NULL, '{1}', y, k, x) FROM boot_bad;
SELECT gpu_request_pass(boot_request('{"nreps":2000000}'), NULL, '{1}', y, k, x) FROM boot_bad;
SELECT gpu_request_pass(boot_request('{"nactive":3}'), NULL, '{1}', y, k, x) FROM boot_bad;
SELECT gpu_request_pass(boot_request('{}', kind => 6), NULL, '{1}', y, k, x) FROM boot_bad;
SELECT gpu_request_pass(boot_request('{}', kind => 7), NULL, '{1}', y, k, x) FROM boot_bad;
SELECT gpu_request_pass(boot_request('{}', kind => 99), NULL, '{1}', y, k, x) FROM boot_bad;
SELECT gpu_request_pass(boot_request('{"flags":8}'), NULL, '{1}', y, k, x) FROM boot_bad;
SELECT gpu_request_pass(boot_request('{"key":0}'), NULL, '{1}', y, x) FROM boot_bad;
SELECT gpu_request_pass(substr(:'pass'::bytea, 1, 100), NULL, '{1}', y, k, x) FROM boot_bad;
SELECT gpu_request_pass(substr(:'pass'::bytea, 1, length(:'pass'::bytea) - 8), NULL, '{1}', y, k, x) FROM boot_bad;
SELECT gpu_request_pass(:'pass'::bytea || '\x00', NULL, '{1}', y, k, x) FROM boot_bad;
SELECT gpu_request_pass(boot_request('{"version":2}'), NULL, '{1}', y, k, x) FROM boot_bad;
SELECT gpu_request_pass(boot_request('{"weighting":2}'), NULL, '{1}', y, k, x) FROM boot_bad;
SELECT gpu_request_pass(boot_request('{"nreps":0,"ninfluence":1}'), NULL, '{1}', y, k, x) FROM boot_bad;
SELECT gpu_request_pass(boot_request('{"nreps":0,"ninfluence":1}', lines => '[1,2,3]'), NULL, '{1}', y, k, x)
FROM boot_bad;
SELECT gpu_request_pass(boot_request('{}', steps => '[1,2,3]'), NULL, '{1}', y, k, x) FROM boot_bad;
SELECT gpu_request_pass(:'pass', NULL, '{2}', y, k, x) FROM boot_bad;
SELECT gpu_request_pass(:'pass', NULL, NULL, y, k, x) FROM boot_bad;
SELECT gpu_request_pass(:'pass', NULL, '{1}', y, x) FROM boot_bad;
SELECT gpu_request_pass(:'pass', NULL, '{1}', y, 'NaN'::float8, x) FROM boot_bad;
SELECT gpu_request_pass(:'pass', NULL, '{1}', y, 1e300, x) FROM boot_bad;
SELECT gpu_request_pass(:'pass', NULL, '{1}', y, k, x) FROM boot_bad WHERE false;
SELECT refuses_internal($$gpu_request_accum(NULL, NULL, NULL, '{1}', y, x) FROM boot_bad$$) AS refused;
-- a request with any byte changed is refused, or is another valid request
CREATE FUNCTION boot_damaged(request bytea) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    nrefused bigint := 0;
BEGIN
    FOR i IN 0 .. length(request) - 1 LOOP
        FOR value IN 0 .. 2 LOOP
            BEGIN
                PERFORM gpu_request_pass(set_byte(request, i, (get_byte(request, i) + value * 97 + 1) % 256), NULL,
                                         '{1}', y, k, x) FROM boot_bad WHERE k < 3;
            EXCEPTION WHEN invalid_parameter_value THEN
                nrefused := nrefused + 1;
            END;
        END LOOP;
    END LOOP;
    RETURN nrefused;
END $$;
SELECT boot_damaged(:'pass') > 300 AS refused;
DROP FUNCTION boot_damaged, boot_request;
DROP TABLE boot_bad;
DROP FUNCTION boot_replicates, boot_apart;
DROP TABLE boot_rows, boot_fits, boot_limits, boot_cases, boot_got, boot_summaries;
