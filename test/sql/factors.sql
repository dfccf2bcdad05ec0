-- Categories: columns of a query that are texts or enums, whose levels are terms.
SET client_min_messages = warning;
CREATE FUNCTION same_model(a gpu_model, b gpu_model, tolerance float8 DEFAULT 1e-11) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(relative_difference(a.coef, b.coef), 1) < tolerance AND a.n = b.n AND a.n_skipped = b.n_skipped
        AND a.rank = b.rank
        AND abs(a.deviance - b.deviance) <= tolerance * b.deviance
$$;

-- R's lm(log(price) ~ log(carat) + cut + color + clarity), with levels in the order of their bytes
SELECT bool_and(abs(got.estimate / want.estimate - 1) < 1e-12
    AND abs(got.std_error / want.std_error - 1) < 1e-11) AS agrees, count(*) AS terms
FROM gpu_tidy(gpu_ols_fit('SELECT ln(price) AS lp, ln(carat) AS lc, cut COLLATE "C" AS cut, color, clarity COLLATE '
    '"C" AS clarity FROM diamonds')) got JOIN (VALUES
    ('(intercept)', 7.8568557820247920, 0.00575835882439576), ('lc', 1.8837175489250166, 0.00112881917886755),
    ('cut[Good]', 0.0800481881102291, 0.00389049720961530),
    ('cut[Ideal]', 0.1612175539915298, 0.00354799169888039), ('cut[Premium]', 0.1393446032363095, 0.00357868921848384),
    ('cut[Very Good]', 0.1172147713855196, 0.00361866781509595),
    ('color[E]', -0.0542773910094274, 0.00211838128001945), ('color[F]', -0.0945956113931399, 0.00214210630621458),
    ('color[G]', -0.1603779894624748, 0.00209667417760192),
    ('color[H]', -0.2510709544051320, 0.00222482351505318), ('color[I]', -0.3725738463081989, 0.00249206889806478),
    ('color[J]', -0.5109829689345472, 0.00307384705970660),
    ('clarity[IF]', 1.1137316586794599, 0.00603012730633167), ('clarity[SI1]', 0.5929543310197498, 0.00514871900952410),
    ('clarity[SI2]', 0.4278788004651783, 0.00517780072961337),
    ('clarity[VS1]', 0.8122772599726013, 0.00525667406051640),
    ('clarity[VS2]', 0.7421635370621749, 0.00517756647930109),
    ('clarity[VVS1]', 1.0187426206900703, 0.00557508942581917),
    ('clarity[VVS2]', 0.9472710586616496, 0.00541829563403956)) AS want(term, estimate, std_error) USING (term);

-- types: levels in the column's own order, with the first one as the baseline
CREATE TYPE grade AS ENUM ('poor', 'fair', 'good', 'best');
CREATE DOMAIN grading AS grade;
CREATE DOMAIN short_text AS varchar(8);
CREATE TABLE kinds AS
SELECT i, sin(i) + i % 3 AS y, (i * 7 % 13)::float8 AS x, (ARRAY['fair', 'good', 'best'])[1 + i % 3]::grade AS enum,
    (ARRAY['best', 'poor'])[1 + i % 2]::grading AS enum_domain,
    (ARRAY['b', 'a', 'C'])[1 + i % 3] AS text, (ARRAY['b', 'a', 'C'])[1 + i % 3] COLLATE "C" AS c,
    (ARRAY['p', 'q'])[1 + i % 2]::varchar AS varchar, (ARRAY['p ', 'q'])[1 + i % 2]::char(4) AS char,
    (ARRAY['v', 'w'])[1 + i % 2]::short_text AS domain, (ARRAY['n', 'm'])[1 + i % 2]::name AS name, i % 4 < 2 AS flag,
    i % 5 AS small
FROM generate_series(1, 200) i;
ANALYZE kinds;
SELECT k, (gpu_ols_fit(format('SELECT y, %I FROM kinds', k))).terms
FROM unnest(ARRAY['enum', 'enum_domain', 'c', 'varchar', 'char', 'domain', 'name', 'flag']) k;
-- levels and names of any bytes
SELECT (gpu_ols_fit($$SELECT i, CASE i % 5 WHEN 0 THEN '' WHEN 1 THEN ' ' WHEN 2 THEN 'a"b]'
    WHEN 3 THEN E'line\nbreak' ELSE 'ä' END COLLATE "C" AS "odd ""name""" FROM kinds$$)).terms;
-- categories give the model of columns of 0 and 1
SELECT same_model(gpu_ols_fit('SELECT y, x, enum, c FROM kinds'),
    gpu_ols_fit($$SELECT y, x, enum = 'good', enum = 'best', (c = 'a')::int, c = 'b' FROM kinds$$)) AS same;
SELECT same_model(gpu_ols_fit('SELECT y, x, enum FROM kinds', intercept => false),
    gpu_ols_fit($$SELECT y, x, enum = 'fair', enum = 'good', enum = 'best' FROM kinds$$, intercept => false)) AS same;
SELECT same_model(gpu_logreg_fit('SELECT y > 1, x, small, enum, varchar FROM kinds'),
    gpu_logreg_fit($$SELECT y > 1, x, small, enum = 'good', enum = 'best', varchar = 'q' FROM kinds$$), 1e-10) AS same;
SELECT same_model(gpu_ols_fit('SELECT small + 1 AS w, y, enum, x FROM kinds', weights => 'w'),
    gpu_ols_fit($$SELECT small + 1 AS w, y, enum = 'good', enum = 'best', x FROM kinds$$, weights => 'w')) AS weights,
    same_model(gpu_ols_fit('SELECT y, enum, x, small AS f FROM kinds', frequencies => 'f'),
        gpu_ols_fit($$SELECT y, enum = 'good', enum = 'best', x, small AS f FROM kinds$$,
        frequencies => 'f')) AS frequencies,
    same_model(gpu_logreg_fit('SELECT y > 1, enum, x / 10 AS o, small FROM kinds', offsets => 'o'),
        gpu_logreg_fit($$SELECT y > 1, enum = 'good', enum = 'best', x / 10 AS o, small FROM kinds$$, offsets => 'o'),
        1e-10) AS offsets;
-- weights, frequencies and offsets are found by name, and a text can't be one of them, nor the response
SELECT gpu_ols_fit('SELECT y, enum, varchar FROM kinds', weights => 'varchar');
SELECT gpu_ols_fit('SELECT varchar, enum FROM kinds');

-- NULLs: rows with one are left out and counted, and levels that only such rows have don't count
CREATE TABLE gaps AS SELECT CASE WHEN i % 20 <> 3 THEN y END AS y, CASE WHEN i % 20 <> 4 THEN x END AS x,
    CASE i % 20 WHEN 5 THEN NULL WHEN 3 THEN 'without y' WHEN 4 THEN 'without x' ELSE c END AS c FROM kinds;
SELECT m.terms, m.n, m.n_skipped, same_model(m, gpu_ols_fit($$SELECT y, x, c = 'a', c = 'b' FROM gaps$$)) AS same
FROM gpu_ols_fit('SELECT y, x, c FROM gaps') m;
SELECT gpu_ols_fit('SELECT y, c FROM gaps WHERE y IS NULL');
SELECT gpu_ols_fit('SELECT y, c FROM gaps WHERE false');
SELECT gpu_ols_fit($$SELECT y, c FROM gaps WHERE c = 'a'$$);
-- a level that is collinear with others is aliased
SELECT term, estimate IS NULL AS aliased FROM gpu_tidy(gpu_ols_fit('SELECT y, c, text COLLATE "C" AS t FROM kinds'));
-- too many levels
SELECT gpu_ols_fit('SELECT i, (i * 7919 % 1000003)::text AS id FROM generate_series(1, 1000000) i');
SELECT gpu_ols_fit('SELECT i, i::text AS id, (i * 7)::text AS other FROM generate_series(1, 6000) i');
SELECT gpu_ols_fit($$SELECT i, CASE WHEN i % 2 = 0 THEN repeat('long ', 1000) ELSE '' END AS document
    FROM generate_series(1, 20) i$$);
SELECT gpu_ols_fit('SELECT i, ' || string_agg(format('(i %% %s)::text AS c%s', k + 1, k), ', ')
    || ' FROM generate_series(1, 500) i') FROM generate_series(1, 91) k;
-- arrays are refused beside categories
SELECT gpu_ols_fit('SELECT y, ARRAY[x, i] AS v, c FROM kinds');
-- more columns than arguments: numbers go as arrays
SELECT m.rank, same_model(m,
    gpu_ols_fit(format('SELECT y, %s, c = ''a'', c = ''b'', varchar = ''q'' FROM kinds',
    (SELECT string_agg(format('sin(i * %s) AS s%1$s', k), ', ') FROM generate_series(1, 120) k)), true), 1e-6) AS same
FROM gpu_ols_fit(format('SELECT y, %s, c, varchar FROM kinds',
    (SELECT string_agg(format('sin(i * %s) AS s%1$s', k), ', ') FROM generate_series(1, 120) k))) m;

-- predictions: by the columns' names, with levels as texts, and any other columns; by position; from objects
CREATE TABLE factor_model AS SELECT gpu_ols_fit('SELECT y, x, enum, flag, varchar FROM kinds') AS m,
    gpu_ols_fit($$SELECT y, x, enum = 'good' AS g, enum = 'best' AS b, flag, varchar = 'q' AS q FROM kinds$$) AS plain;
SELECT bool_and(abs(gpu_predict(m, k) - want) < 1e-13) AS row,
    bool_and(gpu_predict(m, x, enum, flag, varchar) = gpu_predict(m, k)) AS position,
    bool_and(gpu_predict(m, to_jsonb(k)) = gpu_predict(m, k)) AS object,
    bool_and(gpu_predict(m, x::numeric, enum::text, flag, varchar::char(3)) = gpu_predict(m, k)) AS types, count(*)
FROM factor_model, kinds k,
    LATERAL (SELECT gpu_predict(plain, x, enum = 'good', enum = 'best', flag, varchar = 'q') AS want) w;
SELECT gpu_predict(m, 1, 'good', true, 'q') = gpu_predict(m, 1, 'good'::grade, true, 'q'::text) AS literals,
    gpu_predict(m, 1, NULL::text, true, 'q') AS null,
    gpu_predict(m, '{"x": 1, "enum": null, "flag": true, "varchar": "q"}'::jsonb) AS null_key
    FROM (SELECT m FROM factor_model) u;
-- a NULL in any column of a row gives NULL
SELECT gpu_predict(m, a) IS NULL AS x, gpu_predict(m, b) IS NULL AS enum, gpu_predict(m, c) IS NULL AS flag,
    gpu_predict(m, d) IS NULL AS varchar
FROM factor_model, (SELECT NULL::int AS x, 'best' AS enum, true AS flag, 'q' AS varchar) a,
    (SELECT 1 AS x, NULL::text AS enum, true AS flag, 'q' AS varchar) b,
    (SELECT 1 AS x, 'best' AS enum, NULL::boolean AS flag, 'q' AS varchar) c,
    (SELECT 1 AS x, 'best' AS enum, true AS flag, NULL::text AS varchar) d;
SELECT gpu_predict(m, 1, 'excellent', true, 'q') FROM factor_model;
SELECT gpu_predict(m, 1, 'poor'::grade, true, 'q') FROM factor_model;
SELECT gpu_predict(m, '{"x": 1, "enum": "excellent", "flag": true, "varchar": "q"}'::jsonb) FROM factor_model;
SELECT gpu_predict(m, r) FROM factor_model, (SELECT 1 AS x, 'Best' AS enum, true AS flag, 'q' AS varchar) r;
SELECT gpu_predict(m, r) FROM factor_model, (SELECT 1 AS x, 'best' AS enum, 'q' AS varchar) r;
SELECT gpu_predict(m, r) FROM factor_model, (SELECT now() AS x, 'best' AS enum, true AS flag, 'q' AS varchar) r;
SELECT gpu_predict(m, '{"x": 1}'::jsonb) FROM factor_model;
SELECT gpu_predict(m, '{"x": [1], "enum": "good", "flag": true, "varchar": "q"}'::jsonb) FROM factor_model;
SELECT gpu_predict(m, 1, 'good', true) FROM factor_model;
SELECT gpu_predict(m, 'good', 1, true, 'q') FROM factor_model;
SELECT gpu_predict(m, ARRAY[1, 2, 3, 4]) FROM factor_model;
-- models with and without designs, and of several designs, in one call; a model through text and back
SELECT count(DISTINCT p) AS predictions FROM (SELECT gpu_predict(CASE WHEN i % 2 = 0 THEN m ELSE other END, r) AS p
    FROM factor_model, gpu_ols_fit('SELECT y, varchar, x FROM kinds') other, generate_series(1, 4) i,
    (SELECT 2 AS x, 'best' AS enum, true AS flag, 'q' AS varchar) r) u;
SELECT gpu_predict(m::text::gpu_model, 1, 'good', true, 'q') = gpu_predict(m, 1, 'good', true, 'q') AS same
FROM factor_model;
-- designs of other models, and invalid ones
SELECT gpu_predict(jsonb_populate_record(m, jsonb_build_object('design', d)), 1, 'good', true, 'q')
FROM factor_model, (VALUES ('1 "" 1 n "x" 1 1 n 0')) v(d);
SELECT gpu_predict(jsonb_populate_record(m, jsonb_build_object('design', 'y ~ x')), 1, 'good', true, 'q')
FROM factor_model;

-- every way of the rows: this process, workers, a ring, and passes over a query that is run again
CREATE TABLE factor_ways AS SELECT 'here' AS way,
    gpu_ols_fit('SELECT ln(price), ln(carat), cut, color, clarity FROM diamonds') AS m,
    gpu_logreg_fit('SELECT price > 3000, carat, cut, color FROM diamonds') AS l;
INSERT INTO factor_ways SELECT 'volatile',
    gpu_ols_fit('SELECT ln(price), ln(carat), cut, color, clarity FROM diamonds WHERE random() >= 0'),
    gpu_logreg_fit('SELECT price > 3000, carat, cut, color FROM diamonds WHERE random() >= 0');
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SET gpureg.min_gpu_work = '1e300';
INSERT INTO factor_ways SELECT 'workers', gpu_ols_fit('SELECT ln(price), ln(carat), cut, color, clarity FROM diamonds'),
    gpu_logreg_fit('SELECT price > 3000, carat, cut, color FROM diamonds');
SET gpureg.ring_size = '1MB';
SET gpureg.device = cpu;
INSERT INTO factor_ways SELECT 'again', gpu_ols_fit('SELECT ln(price), ln(carat), cut, color, clarity FROM diamonds'),
    gpu_logreg_fit('SELECT price > 3000, carat, cut, color FROM diamonds');
SELECT reason ~ 'the query was run' AS again FROM gpu_last_run();
RESET gpureg.ring_size;
RESET gpureg.device;
SET gpureg.debug_ring = on;
INSERT INTO factor_ways SELECT 'ring', gpu_ols_fit('SELECT ln(price), ln(carat), cut, color, clarity FROM diamonds'),
    gpu_logreg_fit('SELECT price > 3000, carat, cut, color FROM diamonds');
RESET gpureg.debug_ring;
SELECT w.way, same_model(w.m, h.m) AS ols, same_model(w.l, h.l, 1e-9) AS logreg, (w.m).design = (h.m).design AS design
FROM factor_ways w, factor_ways h WHERE h.way = 'here' ORDER BY way;
-- a million levels are too many for workers, too
CREATE TABLE many AS SELECT i AS y, (i * 7919 % 100003)::text AS id FROM generate_series(1, 100000) i;
ANALYZE many;
\set SHOW_CONTEXT never
SELECT gpu_ols_fit('SELECT y, id FROM many');
\set SHOW_CONTEXT errors
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather;
RESET gpureg.min_gpu_work;
-- a query that gives other rows when it is run again
CREATE SEQUENCE runs;
SELECT gpu_ols_fit($$SELECT i, nextval('runs')::text AS n FROM generate_series(1, 5) i$$);

DROP TABLE kinds, gaps, factor_model, factor_ways, many;
DROP SEQUENCE runs;
DROP DOMAIN grading, short_text;
DROP TYPE grade;
DROP FUNCTION same_model;
