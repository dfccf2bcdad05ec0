-- Bad input to logistic regression: each message with its SQLSTATE.
\set SHOW_CONTEXT never
CREATE TABLE bad_logit (y float8, x float8, z float8);
INSERT INTO bad_logit SELECT (i * 7 + i / 3) % 5 % 2, i % 7, i % 5 FROM generate_series(1, 100) i;
-- a response that is neither 0 nor 1: the message names the value and the column, in every form
INSERT INTO bad_logit VALUES (2, 3, 1);
SELECT gpu_logreg(array_agg(ARRAY[z, x]), array_agg(y)) FROM bad_logit;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_agg(y, z, x) FROM bad_logit;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y AS outcome, z, x FROM bad_logit');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y AS outcome, z, x FROM bad_logit WHERE random() >= 0');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_step_agg('{}', y, z, x) FROM bad_logit;
\echo :LAST_ERROR_SQLSTATE
UPDATE bad_logit SET y = 0.5 WHERE y = 2;
SELECT gpu_logreg_fit('TABLE bad_logit');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y::numeric, x FROM bad_logit');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT -1 AS minus, 2 AS x');
\echo :LAST_ERROR_SQLSTATE
-- NaN and infinity name the column, in y and in x, in every form
UPDATE bad_logit SET y = 1, x = 'NaN' WHERE y = 0.5;
SELECT gpu_logreg(array_agg(ARRAY[z, x]), array_agg(y)) FROM bad_logit;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg(array_agg(ARRAY[z, x]), array_agg(y = 1)) FROM bad_logit;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_agg(y, z, x) FROM bad_logit;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_agg(y = 1, z, x) FROM bad_logit;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, z, x FROM bad_logit');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, z, x FROM bad_logit WHERE random() >= 0');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, ARRAY[z, x] AS v FROM bad_logit');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, z, x::numeric AS num FROM bad_logit');
\echo :LAST_ERROR_SQLSTATE
UPDATE bad_logit SET y = 'Infinity', x = 1 WHERE x = 'NaN';
SELECT gpu_logreg(array_agg(x), array_agg(y)) FROM bad_logit;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_agg(y, x) FROM bad_logit;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y AS outcome, x FROM bad_logit');
\echo :LAST_ERROR_SQLSTATE
UPDATE bad_logit SET y = 'NaN' WHERE y = 'Infinity';
SELECT gpu_logreg_fit('SELECT y AS outcome, x FROM bad_logit');
\echo :LAST_ERROR_SQLSTATE
-- NaN and infinity don't matter in a row that is left out for a NULL
UPDATE bad_logit SET z = NULL WHERE y = 'NaN';
SELECT (gpu_logreg_agg(y, x, z)).n_skipped, (gpu_logreg_fit('TABLE bad_logit')).n_skipped FROM bad_logit;
-- errors must be the same if the query is run for each pass
SET gpureg.device = cpu; SET gpureg.ring_size = '1MB'; SET jit = off;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2; SET max_parallel_workers = 0;
SELECT (m).n, (m).n_skipped, reason ~ 'the query was run \d+ times$' AS passes
FROM gpu_logreg_fit('SELECT bad_logit.* FROM bad_logit, one_of_many()') m, LATERAL (SELECT reason FROM gpu_last_run()
    WHERE (m).n > 0) r;
UPDATE bad_logit SET z = 1 WHERE z IS NULL;
SELECT gpu_logreg_fit('SELECT y AS outcome, x, z FROM bad_logit, one_of_many()');
\echo :LAST_ERROR_SQLSTATE
UPDATE bad_logit SET y = 1, z = '-Infinity' WHERE y = 'NaN';
SELECT gpu_logreg_fit('SELECT y AS outcome, x, z FROM bad_logit, one_of_many()');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y AS outcome, ARRAY[x, z] AS v FROM bad_logit, one_of_many()');
\echo :LAST_ERROR_SQLSTATE
UPDATE bad_logit SET y = 3, z = 1 WHERE z = '-Infinity';
SELECT gpu_logreg_fit('SELECT y AS outcome, x, z FROM bad_logit, one_of_many()');
\echo :LAST_ERROR_SQLSTATE
DELETE FROM bad_logit WHERE y = 3;
SELECT gpu_logreg_fit('SELECT 1, x, z FROM bad_logit, one_of_many()');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, x, NULL::int FROM bad_logit, one_of_many()');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, x FROM bad_logit, one_of_many() WHERE y > 3');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, CASE WHEN x < 6 THEN ARRAY[x] ELSE ARRAY[x, z] END AS v FROM bad_logit, '
    'one_of_many()');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, 1 / (x - 6) FROM bad_logit, one_of_many()');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, x * 1e200 AS huge FROM bad_logit, one_of_many()');
\echo :LAST_ERROR_SQLSTATE
RESET ALL;
SELECT count(*) FROM bad_logit;
-- one class: an ERROR, and in the aggregate a WARNING and NULL
SELECT gpu_logreg('{1,2,3}', '{1,1,1}'::float8[]);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg('{1,2,3}', '{false,false,NULL}'::boolean[]);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT 0 AS never, x FROM bad_logit');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT true AS always, x FROM bad_logit', l2 => 1);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT true AS always, x FROM bad_logit', solver => 'lbfgs');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT true AS always, x FROM bad_logit', solver => 'gd');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_agg(true, x) IS NULL AS ones, gpu_logreg_agg(0, x) IS NULL AS zeros FROM bad_logit;
-- no rows, or only skipped ones: the query form reports them
SELECT gpu_logreg_fit('SELECT y, x FROM bad_logit WHERE false');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, NULL::float8 AS x FROM bad_logit LIMIT 3');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, NULL::float8 AS x FROM bad_logit WHERE random() >= 0 LIMIT 3');
\echo :LAST_ERROR_SQLSTATE
-- invalid arguments
SELECT gpu_logreg('{1,2,3}', '{1,0,1}'::float8[], l2 => -1);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg('{1,2,3}', '{1,0,1}'::float8[], l2 => 'NaN');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('TABLE bad_logit', l2 => -0.5);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('TABLE bad_logit', l2 => 'NaN');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('TABLE bad_logit', l2 => 'Infinity');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('TABLE bad_logit', tol => 0);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('TABLE bad_logit', tol => 1);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('TABLE bad_logit', tol => 'NaN');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('TABLE bad_logit', max_iter => 0);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('TABLE bad_logit', max_iter => -1);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('TABLE bad_logit', solver => 'Newton');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('TABLE bad_logit', solver => '');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('TABLE bad_logit', learning_rate => 0.1);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('TABLE bad_logit', solver => 'lbfgs', learning_rate => 0.1);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('TABLE bad_logit', solver => 'gd', learning_rate => 0);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('TABLE bad_logit', solver => 'gd', learning_rate => 'Infinity');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('TABLE bad_logit', solver => 'gd', learning_rate => 'NaN');
\echo :LAST_ERROR_SQLSTATE
-- shapes of arrays
SELECT gpu_logreg('{1,2,3}', '{1,0}'::float8[]);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg('{1,2,3}', '{t,f}'::boolean[]);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg('{{1,2},{3,4}}', '{1,0,1}'::float8[]);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg('{{{1}},{{2}}}', '{1,0}'::float8[]);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg('{1,2}', '{{1},{0}}'::float8[]);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg('{1,2}', '{{t},{f}}'::boolean[]);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_agg(y, VARIADIC x) FROM (VALUES (1, '{1,2}'::float8[]), (0, '{1,2,3}')) AS t(y, x);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_agg(y, VARIADIC x) FROM (VALUES (1, '{{1,2},{3,4}}'::float8[])) AS t(y, x);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_agg(true, VARIADIC '{}'::float8[]);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit($$SELECT y, x FROM (VALUES (1, '{1,2}'::int[]), (0, '{1,2,3}')) AS t(y, x)$$);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit($$SELECT 1, '{{1,2},{3,4}}'::int[] AS x$$);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit($$SELECT 1, '{}'::int[] AS x$$);
\echo :LAST_ERROR_SQLSTATE
-- too many features, and numbers that are too large
SELECT gpu_logreg_agg(1, VARIADIC array_fill(0::float8, ARRAY[10001]));
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT 1, array_fill(0::float8, ARRAY[10001])');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg(array_fill(0::float8, ARRAY[1, 10001]), '{1}'::float8[]);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_agg(y, x * 1e200) FROM bad_logit;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, x, z * 1e200 AS huge FROM bad_logit');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, x, z * 1e200 AS huge FROM bad_logit', false);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, x, z * 1e200 AS huge FROM bad_logit', solver => 'gd');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, x, z * 1e200 AS huge FROM bad_logit', solver => 'lbfgs');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT i % 2, array_fill(CASE i WHEN 3 THEN 1e200 ELSE i END, ARRAY[2100]) AS v FROM '
    'generate_series(1, 20) i', solver => 'lbfgs');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg(array_agg(x * 1e-150), array_agg(y)) FROM bad_logit;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, x * 1e-150 AS tiny FROM bad_logit');
\echo :LAST_ERROR_SQLSTATE
-- gpu_logreg_agg keeps its rows, beyond work_mem in a temporary file, which may have a limit
SET client_min_messages = error;
SET work_mem = '64kB';
SET temp_file_limit = '1MB';
\set VERBOSITY sqlstate
SELECT gpu_logreg_agg(i % 2, i, sin(i)) FROM (SELECT generate_series(1, 100000) AS i) s;
\set VERBOSITY default
RESET work_mem;
RESET temp_file_limit;
RESET client_min_messages;
-- invalid queries
SELECT gpu_logreg_fit('SELECT');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT 1, ''a''::text AS name');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT ''yes''::text AS answer, 1');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT ''{1}''::int[] AS y, 1');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT 1, 2; SELECT 0, 4');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('INSERT INTO bad_logit VALUES (1, 2, 3) RETURNING y, x');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('WITH d AS (DELETE FROM bad_logit RETURNING y, x) SELECT * FROM d');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, x FROM bad_logit FOR UPDATE');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, x INTO stolen FROM bad_logit');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('COMMIT');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, $1 FROM bad_logit');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, x FROM no_such_table');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT i % 2, 1 / (i - 5000) FROM generate_series(1, 10000) i');
\echo :LAST_ERROR_SQLSTATE
-- a volatile function in disguise: other rows when the query is run again
CREATE FUNCTION disguise(x float8) RETURNS float8
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$ BEGIN RETURN random(); END $$;
SET gpureg.device = cpu; SET gpureg.ring_size = '1MB'; SET jit = off;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2; SET max_parallel_workers = 0;
INSERT INTO bad_logit SELECT b.* FROM bad_logit b, generate_series(1, 20);
DO $$ BEGIN PERFORM gpu_logreg_fit('SELECT y, x FROM bad_logit, one_of_many() WHERE disguise(x) < 0.5'); EXCEPTION
    WHEN OTHERS THEN RAISE NOTICE '% %', SQLSTATE, SQLERRM; END $$;
RESET ALL;
-- the pass, which only gpu_logreg_fit calls
SELECT gpu_request_pass(NULL, NULL, '{1}', y, x) FROM bad_logit;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_request_pass(request_bytes(0, -1, '[]'), '{x,y}', '{1}', y, x) FROM bad_logit;
\echo :LAST_ERROR_SQLSTATE
SELECT request_bytes(0, 1, '[[0,0],[],[0]]') AS pass \gset
SELECT gpu_request_pass(:'pass', '{x,y}', '{1,1}', y, x, z) FROM bad_logit;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_request_pass(:'pass', '{x,y}', '{1}', y, 'a'::text) FROM bad_logit;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_request_pass(:'pass', '{x,y}', '{}', y) FROM bad_logit;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_request_pass(:'pass', NULL, '{1}', y + 1, x) FROM bad_logit;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_request_pass(:'pass', '{x,y}', '{1}', y, x, z) FROM bad_logit;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_request_pass(:'pass', '{x,y}', NULL, y, x) FROM bad_logit;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_request_pass(:'pass', '{x,y}', '{-1}', y, ARRAY[x]) FROM bad_logit;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_request_pass(:'pass', '{x,y}', '{2,-1}', y, ARRAY[x,x], ARRAY[x]) FROM bad_logit;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_request_pass(request_bytes(0, 1, '[[0,0],[],[0]]', '{"changed":[1],"coef":[0,0]}'), '{x,y}', '{1}', y, x)
FROM bad_logit;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_request_pass(request_bytes(0, 1, '[[0,0],[],[0]]', '{"nchanged":7}'), '{x,y}', '{1}', y, x) FROM bad_logit;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_request_pass(request_bytes(3, 1, '[[0,0],[],[0]]'), '{x,y}', '{1}', y, x) FROM bad_logit;
\echo :LAST_ERROR_SQLSTATE
-- a result begins with the number of rows
SELECT substr(gpu_request_pass(:'pass', '{x,y}', '{1}', y, x), 1, 8) = native(int8send(count(*))) AS same
FROM bad_logit WHERE y + x IS NOT NULL;
-- with a request that a user can make, the pass over a remote query equals gpu_logreg_step_agg
SELECT gpu_logreg_array_pass(s, y, ARRAY[x])::text = max(s::text) AS same FROM bad_logit,
    (SELECT gpu_logreg_step_agg('{}', y, x) AS s FROM bad_logit) t;
-- invalid models
CREATE TEMP TABLE m AS SELECT gpu_logreg_fit('TABLE bad_logit') AS model;
SELECT gpu_predict(model, 1) FROM m;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(model, 1, 2, 3) FROM m;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(model, VARIADIC '{{1,2}}'::float8[]) FROM m;
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM m, gpu_tidy(model, 0);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_tidy(ROW('logistic', '{(intercept),a}', '{1}', '{{1,2},{3,4}}', 10, 0, 2, 8, 5, 6, 4, true,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::gpu_model);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_tidy(ROW('logistic', '{(intercept),a}', '{1,2}', '{{1,2}}', 10, 0, 2, 8, 5, 6, 4, true, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::gpu_model);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(ROW('logistic', '{(intercept),a}', '{{1,2}}', NULL, 10, 0, 2, 8, 5, 6, 4, true, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::gpu_model, 1);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_tidy(ROW('logistic', '{(intercept),a}', '{1,2}', NULL, 10, 0, 2, 8, 5, 6, 4, true, '{{a},{b}}',
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::gpu_model);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_glance(ROW('logistic', '{(intercept),a}', NULL, NULL, 10, 0, 2, 8, 5, 6, 4, true, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::gpu_model);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_tidy(ROW('logit', '{a}', '{1}', '{{1}}', 1, 0, 1, 0, 0, 0, 1, true, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL)::gpu_model);
\echo :LAST_ERROR_SQLSTATE
-- methods in another spelling than the extension's
CREATE FUNCTION method_error(method text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    said text;
BEGIN
    PERFORM * FROM gpu_glance(ROW(method, '{(intercept),a}', '{1,2}', '{{1,0},{0,0.5}}', 10, 0, 2, 8, 5, 6, 4,
        true, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::gpu_model);
    RETURN 'none';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS said = PG_EXCEPTION_DETAIL;
    RETURN SQLSTATE || ' ' || SQLERRM || ': ' || said;
END
$$;
SELECT method_error(method), string_agg(quote_literal(method), ' ' ORDER BY i) AS methods
FROM unnest(ARRAY['logistic', 'logistic (l2 = 0.5)', 'logistic (l2 = 1)', 'logistic (l2 = 1e+22)',
    'logistic (l2 = 5e-324)',
    'logistic (l2 = 0)', 'logistic (l2 = -0.5)', 'logistic (l2 = NaN)', 'logistic (l2 = nan)',
    'logistic (l2 = Infinity)', 'logistic (l2 = inf)', 'logistic (l2 = 1e400)', 'logistic (l2 = 0x1)',
    'logistic (l2 = 1.0)', 'logistic (l2 =  1)',
    'logistic (l2 = +1)', 'logistic (l2 = 1) ', 'logistic (l2 = 1', 'logistic (l2 = 1))', 'logistic (l2 = )',
    'logistic (l2 = 0.50000000000000000001)', 'logistic (l2 = 1,5)', 'logistic(l2 = 1)', 'logistic ', 'logisti',
    'l', '', 'ols (l2 = 1)',
    'logistic (l2 = ' || repeat('1', 100000) || ')'])
    WITH ORDINALITY AS t(method, i) WHERE length(method) < 100 OR method_error(method) NOT LIKE '22023%' GROUP BY 1
    ORDER BY min(method);
-- covariances that no fit has: if one is NULL, no number that depends on it is known
SELECT t.vcov, round(aic::numeric, 12) AS aic, round(bic::numeric, 12) AS bic
FROM (VALUES (NULL::float8[]), ('{{1,0},{0,NaN}}'), ('{{1,0},{0,NULL}}'), ('{{NULL,0},{0,0.5}}'),
    ('{{1,0},{0,0.5}}')) AS t(vcov),
    gpu_glance(ROW('logistic (l2 = 0.5)', '{(intercept),a}', '{1,2}', vcov, 10, 0, 2, 8, 5, 6, 4, true, NULL,
        NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::gpu_model);
SELECT * FROM gpu_glance(ROW('logistic (l2 = 0.5)', '{(intercept),a}', '{1,2}', '{{1,0}}', 10, 0, 2, 8, 5, 6,
    4, true, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::gpu_model);
\echo :LAST_ERROR_SQLSTATE
DROP FUNCTION method_error;
-- separated terms that are no terms of the model, and NULLs among them, are ignored; without covariances there are no
-- errors
SELECT term, estimate, std_error, p_value
FROM gpu_tidy(ROW('logistic', '{(intercept),a}', '{1,-2}', NULL, 10, 0, 2, 8, 5, 6, 4, true, '{b,NULL,a}', NULL,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::gpu_model);
-- the session goes on
SELECT (gpu_logreg_fit('TABLE bad_logit')).converged;
DROP TABLE bad_logit;
DROP FUNCTION disguise;
