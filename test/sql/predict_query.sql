-- gpu_predict_rows over a query: ids of any type, options, workers.
CREATE TABLE plots (id bigint PRIMARY KEY, kind text, size numeric, slope real, wet boolean, v float8[], days float8,
    yield float8, eggs int, code uuid);
INSERT INTO plots
SELECT 5000000000 + i, (ARRAY['clay', 'loam', 'sand'])[1 + i % 3], i * 7 % 23 / 2.0, sin(i), i % 4 = 0,
    ARRAY[cos(i), sin(3 * i)], 1 + i % 5, 10 + i % 3 + i * 7 % 23 + cos(i * 11), i * i % 6,
    md5(i::text)::uuid
FROM generate_series(1, 500) i;
CREATE TABLE plot_models AS
SELECT 'plain' AS name, gpu_ols_fit('SELECT yield, size, slope FROM plots') AS m
UNION ALL SELECT 'factors', gpu_ols_fit('SELECT yield, kind, size, wet FROM plots')
UNION ALL SELECT 'formula', gpu_ols_fit('SELECT * FROM plots', formula => 'yield ~ kind * size + poly(slope, 2)')
UNION ALL SELECT 'logit', gpu_logreg_fit('SELECT wet, size, slope FROM plots')
UNION ALL SELECT 'offset', gpu_glm_fit('SELECT eggs, kind, slope, ln(days) AS log_days FROM plots', 'poisson',
    offsets => 'log_days')
UNION ALL SELECT 'plain offset', gpu_glm_fit('SELECT eggs, slope, ln(days) AS log_days FROM plots', 'poisson',
    offsets => 'log_days')
UNION ALL SELECT 'array', gpu_ols_fit('SELECT yield, v FROM plots')
UNION ALL SELECT 'mixed', gpu_ols_fit('SELECT yield, size, v, slope FROM plots')
UNION ALL SELECT 'intercept', gpu_ols_fit('SELECT yield FROM plots')
UNION ALL SELECT 'aliased', gpu_ols_fit('SELECT yield, size, 2 * size AS double, slope FROM plots');
CREATE VIEW inputs AS SELECT p.*, ln(days) AS log_days, 2 * size AS double FROM plots p;
-- every row, with its id, and the bits of gpu_predict
SELECT name, count(*), count(DISTINCT p.id), bool_and(p.prediction = gpu_predict(m, i)) AS same
FROM plot_models, LATERAL gpu_predict_rows(m, query => 'SELECT * FROM inputs') p JOIN inputs i USING (id)
GROUP BY name ORDER BY name;
SELECT name, bool_and(p.prediction = gpu_predict(m, i)) AS same
FROM plot_models, LATERAL gpu_predict_rows(m, query => 'SELECT code, i.* FROM inputs i', id => NULL::uuid) p
    JOIN inputs i ON i.code = p.id
GROUP BY name ORDER BY name;
SELECT name, bool_and(p.prediction = gpu_predict_row(m, i, type => 'link')) AS same
FROM plot_models, LATERAL gpu_predict_rows(m, query => 'SELECT * FROM inputs', type => 'link') p
    JOIN inputs i USING (id)
GROUP BY name ORDER BY name;
-- ids of any type, and casts that are implicit; the type of the result
SELECT pg_typeof(p.id), p.id, p.prediction IS NOT NULL AS known FROM plot_models,
    gpu_predict_rows(m, 'SELECT 3, 1 AS size, 2 AS slope', NULL::bigint) p WHERE name = 'plain';
SELECT pg_typeof(p.id), p.id, p.prediction IS NOT NULL AS known FROM plot_models,
    gpu_predict_rows(m, query => 'SELECT ''a''::text, 1 AS size, 2 AS slope', id => NULL::text) p WHERE name = 'plain';
SELECT pg_typeof(p.id), p.id, p.prediction IS NOT NULL AS known FROM plot_models,
    gpu_predict_rows(m, query => 'SELECT p, p.* FROM plots p ORDER BY id LIMIT 1', id => NULL::plots) p
WHERE name = 'plain';
SELECT pg_typeof(p.id), p.id, p.prediction IS NOT NULL AS known FROM plot_models,
    gpu_predict_rows(m, query => 'SELECT ARRAY[1, 2], 1 AS size, 2 AS slope', id => NULL::int[]) p WHERE name = 'plain';
SELECT pg_typeof(p.id), p.id, p.prediction IS NOT NULL AS known FROM plot_models,
    gpu_predict_rows(m, query => 'SELECT 7::smallint, 1 AS size, 2 AS slope', id => NULL::int) p WHERE name = 'plain';
-- the first column may be one of the model's, too
SELECT p.id, p.prediction = gpu_predict(m, p.id, 1) AS same FROM plot_models,
    gpu_predict_rows(m, query => 'SELECT size, 1 AS slope FROM plots ORDER BY size LIMIT 2', id => NULL::numeric) p
WHERE name = 'plain';
-- the order of the query; at most so many rows; NULL ids and values; no rows
SELECT p.id, round(p.prediction::numeric, 6) AS prediction
FROM plot_models, gpu_predict_rows(m, query => 'SELECT id, size, slope FROM plots ORDER BY id DESC', max_rows => 3) p
WHERE name = 'plain';
SELECT count(*) FROM plot_models, gpu_predict_rows(m, 7, 'SELECT * FROM plots') WHERE name = 'plain';
SELECT p.* FROM plot_models, gpu_predict_rows(m, query => 'VALUES (1, 2.5, 1), (NULL, 2.5, 1), (2, NULL, 1)') p
WHERE name = 'intercept';
SELECT p.id, p.prediction IS NULL AS "null"
FROM plot_models, gpu_predict_rows(m, query => 'SELECT * FROM (VALUES (1, 2.5, 1), (NULL, 2.5, 1), (2, NULL, 1))
    v(id, size, slope)') p
WHERE name = 'plain';
SELECT count(*) FROM plot_models, gpu_predict_rows(m, query => 'SELECT * FROM plots WHERE false') WHERE name = 'plain';
SELECT count(*) FROM gpu_predict_rows(NULL, query => 'SELECT * FROM plots');
-- levels that the model does not have
SELECT p.* FROM plot_models, gpu_predict_rows(m, query => 'SELECT 1 AS id, ''peat'' AS kind, 2 AS size, true AS wet',
    new_levels => 'null') p WHERE name = 'factors';
SELECT p.* FROM plot_models, gpu_predict_rows(m, query => 'SELECT 1 AS id, ''peat'' AS kind, 2 AS size, true AS wet') p
WHERE name = 'factors';
\echo :LAST_ERROR_SQLSTATE
-- more features than a function has arguments, as columns
DO $$
DECLARE
    columns text := (SELECT string_agg(format('sin(i * %s) AS x%s', k, k), ', ' ORDER BY k)
                     FROM generate_series(1, 120) k);
BEGIN
    EXECUTE 'CREATE TABLE wide AS SELECT i, cos(i * 5) AS y, ' || columns || ' FROM generate_series(1, 300) i';
END
$$;
SELECT count(*), bool_and(p.prediction = gpu_predict(m, w)) AS same
FROM (SELECT gpu_ols_fit((SELECT 'SELECT y, ' || string_agg('x' || k, ', ') || ' FROM wide'
    FROM generate_series(1, 120) k)) AS m) f, LATERAL gpu_predict_rows(m, query => 'SELECT * FROM wide') p
    JOIN wide w ON w.i = p.id;
DROP TABLE wide;
-- workers predict, and read where the query lets them
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SELECT count(*), bool_and(p.prediction = gpu_predict(m, i)) AS same
FROM plot_models, LATERAL gpu_predict_rows(m, query => 'SELECT * FROM plots') p JOIN plots i USING (id)
WHERE name = 'factors';
SELECT function, device, reason, rows, features, workers > 0 AS workers, bytes_to_device FROM gpu_last_run();
SELECT count(*) FROM plot_models, gpu_predict_rows(m, query => 'SELECT id, kind, size, wet FROM plots', type => 'link')
WHERE name = 'factors';
SELECT rows, workers > 0 AS workers FROM gpu_last_run();
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size;
SET gpureg.read = spi;
SELECT name, bool_and(p.prediction = gpu_predict(m, i)) AS same
FROM plot_models, LATERAL gpu_predict_rows(m, query => 'SELECT * FROM inputs') p JOIN inputs i USING (id)
WHERE name IN ('factors', 'mixed', 'plain') GROUP BY name ORDER BY name;
RESET gpureg.read;
-- a text in second place still names kept rows
SELECT * FROM plot_models, gpu_predict_rows(m, 'SELECT * FROM plots') WHERE name = 'plain';
\echo :LAST_ERROR_SQLSTATE
-- bad arguments
\set VERBOSITY default
SELECT p.* FROM plot_models, gpu_predict_rows(m) p WHERE name = 'plain';
\echo :LAST_ERROR_SQLSTATE
SELECT p.* FROM plot_models, gpu_predict_rows(m, query => NULL, id => NULL::int) p WHERE name = 'plain';
\echo :LAST_ERROR_SQLSTATE
SELECT p.* FROM plot_models, gpu_predict_rows(m, 0, 'SELECT * FROM plots') p WHERE name = 'plain';
\echo :LAST_ERROR_SQLSTATE
SELECT p.* FROM plot_models, gpu_predict_rows(m, query => 'SELECT * FROM plots', type => 'mean') p WHERE name = 'plain';
\echo :LAST_ERROR_SQLSTATE
SELECT p.* FROM plot_models, gpu_predict_rows(m, query => 'SELECT kind, size, slope FROM plots') p WHERE name = 'plain';
\echo :LAST_ERROR_SQLSTATE
SELECT p.* FROM plot_models, gpu_predict_rows(m, query => 'SELECT id, size, slope FROM plots', id => NULL::int) p
WHERE name = 'plain';
\echo :LAST_ERROR_SQLSTATE
SELECT p.* FROM plot_models, gpu_predict_rows(m, query => 'SELECT id FROM plots') p WHERE name = 'plain';
\echo :LAST_ERROR_SQLSTATE
SELECT p.* FROM plot_models, gpu_predict_rows(m, query => 'SELECT id, kind FROM plots') p WHERE name = 'factors';
\echo :LAST_ERROR_SQLSTATE
SELECT p.* FROM plot_models, gpu_predict_rows(m, query => 'SELECT id, slope FROM plots') p WHERE name = 'plain offset';
\echo :LAST_ERROR_SQLSTATE
SELECT p.* FROM plot_models, gpu_predict_rows(m, query => 'SELECT id, size, slope, slope FROM plots') p
WHERE name = 'plain';
\echo :LAST_ERROR_SQLSTATE
SELECT p.* FROM plot_models, gpu_predict_rows(m, query => 'SELECT id, kind AS size, slope FROM plots') p
WHERE name = 'plain';
\echo :LAST_ERROR_SQLSTATE
SELECT p.* FROM plot_models, gpu_predict_rows(m, query => 'SELECT id, v AS size, slope FROM plots') p
WHERE name = 'plain';
\echo :LAST_ERROR_SQLSTATE
SELECT p.* FROM plot_models, gpu_predict_rows(m, query => 'SELECT id, kind, now() AS size, wet FROM plots') p
WHERE name = 'factors';
\echo :LAST_ERROR_SQLSTATE
SELECT p.* FROM plot_models, gpu_predict_rows(m, query => 'SELECT id, slope, kind AS log_days FROM plots') p
WHERE name = 'plain offset';
\echo :LAST_ERROR_SQLSTATE
SELECT p.* FROM plot_models, gpu_predict_rows(m, query => 'SELECT id, v[1:1] AS v FROM plots') p WHERE name = 'array';
\echo :LAST_ERROR_SQLSTATE
SELECT p.* FROM plot_models, gpu_predict_rows(m, query => 'SELECT id, v || 1.0 AS v, size, slope FROM plots') p
WHERE name = 'mixed';
\echo :LAST_ERROR_SQLSTATE
SELECT p.* FROM plot_models, gpu_predict_rows(m, query => 'DELETE FROM plots RETURNING *') p WHERE name = 'plain';
\echo :LAST_ERROR_SQLSTATE
SELECT p.* FROM plot_models, gpu_predict_rows(m, query => 'SELECT 1; SELECT 2') p WHERE name = 'plain';
\echo :LAST_ERROR_SQLSTATE
-- the parser takes the type of id from the third argument, whatever it is; see rows_plan.c
SELECT p.* FROM plot_models, gpu_predict_rows(m, id => NULL::int, query => 'SELECT 1, 2 AS size, 3 AS slope') p
WHERE name = 'plain';
\echo :LAST_ERROR_SQLSTATE
SELECT (SELECT max(p.id) FROM gpu_predict_rows(m, type => 'link', query => 'SELECT 1, 2 AS size, 3 AS slope',
    id => NULL::int) p) FROM plot_models WHERE name = 'plain';
\echo :LAST_ERROR_SQLSTATE
SELECT s.* FROM plot_models, LATERAL (SELECT p.id FROM generate_series(1, 2) i, gpu_predict_rows(model => m,
    id => NULL::int, query => 'SELECT 1, 2 AS size, 3 AS slope') p OFFSET 0) s;
\echo :LAST_ERROR_SQLSTATE
SELECT p.* FROM generate_series(1, 2), ROWS FROM (generate_series(1, 2),
    gpu_project_rows(k => 3, id => NULL::int, query => 'SELECT 1, ARRAY[1]::real[]')) WITH ORDINALITY p(g, id, y, o);
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM plot_models, gpu_predict_rows(m, id => NULL::int, query => 'SELECT 1, 2 AS size, 3 AS slope')
WHERE name = 'plain';
-- the current role's rights and policies hold
CREATE ROLE regress_reader;
GRANT SELECT ON plot_models TO regress_reader;
SET ROLE regress_reader;
SELECT count(*) FROM plot_models, gpu_predict_rows(m, query => 'SELECT * FROM plots') WHERE name = 'plain';
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
GRANT SELECT ON plots TO regress_reader;
ALTER TABLE plots ENABLE ROW LEVEL SECURITY;
CREATE POLICY clay ON plots USING (kind = 'clay');
SET ROLE regress_reader;
SELECT count(*) = (SELECT count(*) FROM plots) AS policy, count(*) < 200 AS fewer
FROM plot_models, gpu_predict_rows(m, query => 'SELECT * FROM plots') WHERE name = 'plain';
RESET ROLE;
DROP VIEW inputs;
DROP TABLE plots, plot_models;
DROP ROLE regress_reader;
