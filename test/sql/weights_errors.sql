-- Bad weights, frequencies and offsets: each message with its SQLSTATE.
\set SHOW_CONTEXT never
CREATE TABLE bad_weights (y float8, x float8, w float8, f float8, o float8);
INSERT INTO bad_weights SELECT (i * 7 + i / 3) % 5 % 2, i % 7, 1 + i % 3 / 2.0, i % 4, i % 5 / 2.0
FROM generate_series(1, 100) i;
-- a negative weight: the message names the value and the column, in every form
UPDATE bad_weights SET w = -1 WHERE ctid = (SELECT max(ctid) FROM bad_weights);
SELECT gpu_ols_fit('SELECT y, x, w FROM bad_weights', weights => 'w');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT w AS "How much", y, x FROM bad_weights WHERE random() >= 0', false, weights => 'How much');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, x, w FROM bad_weights', weights => 'w');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, w, x FROM bad_weights', solver => 'lbfgs', weights => 'w');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT w, y, x FROM bad_weights WHERE random() >= 0', weights => 'w', offsets => NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_wls_agg(w, y, x) FROM bad_weights;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_wls_array_agg(w, y, ARRAY[x]) FROM bad_weights;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_wls_stats_agg(w, y, x) FROM bad_weights;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_wls_stats_array_agg(w, y, ARRAY[x]) FROM bad_weights;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT 1 AS y, 2 AS x, -0.001 AS w', weights => 'w');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT 1 AS y, 2 AS x, -5e-324::float8 AS w', weights => 'w');
\echo :LAST_ERROR_SQLSTATE
-- NaN and infinity name the column, as for a feature
UPDATE bad_weights SET w = 'NaN' WHERE w < 0;
SELECT gpu_ols_fit('SELECT y, x, w FROM bad_weights', weights => 'w');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, x, w FROM bad_weights', weights => 'w');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, x, w::numeric FROM bad_weights WHERE random() >= 0', weights => 'w');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x, w AS f FROM bad_weights', frequencies => 'f');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, x, w AS o FROM bad_weights', offsets => 'o');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_wls_agg(w, y, x) FROM bad_weights;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_wls_stats_array_agg(w, y, ARRAY[x]) FROM bad_weights;
\echo :LAST_ERROR_SQLSTATE
UPDATE bad_weights SET w = 'Infinity' WHERE w = 'NaN';
SELECT gpu_ols_fit('SELECT y, w::real, x FROM bad_weights', weights => 'w');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, w, x FROM bad_weights', weights => 'w');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, -w AS o, x FROM bad_weights', offsets => 'o');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_wls_agg(w, y, x) FROM bad_weights;
\echo :LAST_ERROR_SQLSTATE
-- columns without a role keep their names beside one
SELECT gpu_ols_fit('SELECT 1 AS w, 2 AS y, 3 AS a, ''NaN''::float8 AS b', weights => 'w');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT 1 AS w, ''NaN''::float8 AS y, 3 AS a, 4 AS b', weights => 'w');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT 1 AS y, 3 AS o, ARRAY[1, ''NaN''::float8] AS v', offsets => 'o');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_wls_agg(1, 'NaN'::float8, 2);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_wls_agg(1, 2, 3, 'NaN'::float8);
\echo :LAST_ERROR_SQLSTATE
-- NaN and infinity don't matter in a row that is left out for a NULL; a NULL weight leaves a row out
UPDATE bad_weights SET x = NULL WHERE w = 'Infinity';
SELECT (gpu_wls_agg(w, y, x)).n_skipped,
    (gpu_ols_fit('SELECT y, x, w FROM bad_weights', weights => 'w')).n_skipped AS ols,
       (gpu_logreg_fit('SELECT y, x, w FROM bad_weights', weights => 'w')).n_skipped AS logistic FROM bad_weights;
UPDATE bad_weights SET x = 1, w = NULL WHERE x IS NULL;
SELECT (gpu_wls_agg(w, y, x)).n_skipped,
    (gpu_ols_fit('SELECT y, x, w FROM bad_weights', weights => 'w')).n_skipped AS ols,
       (gpu_logreg_fit('SELECT y, x, w FROM bad_weights', weights => 'w')).n_skipped AS logistic FROM bad_weights;
SELECT (s ->> 'rows')::int AS rows, (s ->> 'skipped')::int AS skipped
FROM (SELECT gpu_wls_stats_agg(w, y, x)::text::json AS s FROM bad_weights) t;
-- a weight of 0, or -0, isn't counted anywhere
SELECT (m).n, (m).n_skipped, (m).df_residual
FROM (SELECT gpu_wls_agg(CASE WHEN i > 5 THEN i % 2 * -0.0::float8 ELSE i END, i * i, i) AS m
    FROM generate_series(1, 9) i) t;
-- no weight above 0: as without rows
SELECT gpu_ols_fit('SELECT y, x, 0 AS w FROM bad_weights', weights => 'w');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x, 0 AS f FROM bad_weights', frequencies => 'f');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, x, 0 AS w FROM bad_weights', weights => 'w');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, x, 0 AS f FROM bad_weights WHERE random() >= 0', frequencies => 'f');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_wls_agg(0, y, x) IS NULL AS agg, gpu_wls_stats_agg(0, y, x) IS NULL AS stats,
    gpu_wls_agg(NULL::float8, y, x) IS NULL AS nulls,
       gpu_wls_stats_agg(w, y, x) FILTER (WHERE false) IS NULL AS no_rows FROM bad_weights;
SELECT gpu_ols_fit('SELECT y, x, NULL::float8 AS w FROM bad_weights LIMIT 3', weights => 'w');
\echo :LAST_ERROR_SQLSTATE
-- a class without weight counts as absent
SELECT gpu_logreg_fit('SELECT y, x, y AS w FROM bad_weights', weights => 'w');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, x, 1 - y AS f FROM bad_weights', frequencies => 'f');
\echo :LAST_ERROR_SQLSTATE
-- frequencies must be integers and not negative
SELECT gpu_ols_fit('SELECT y, x, f + 0.5 AS f FROM bad_weights', frequencies => 'f');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, x, f + 0.5 AS f FROM bad_weights', frequencies => 'f');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x, -1 AS f FROM bad_weights', frequencies => 'f');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, x, -2 AS n FROM bad_weights WHERE random() >= 0', frequencies => 'n');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT i AS y, i * i AS x, 5000000000000000000 AS f FROM generate_series(1, 4) i',
    frequencies => 'f');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT i AS y, i * i AS x, 1e30 AS f FROM generate_series(1, 4) i', frequencies => 'f');
\echo :LAST_ERROR_SQLSTATE
-- a share needs a weight, and must be between 0 and 1
SELECT gpu_logreg_fit('SELECT y / 2 AS y, x FROM bad_weights');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y / 2 AS y, x, f FROM bad_weights', frequencies => 'f');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y / 2 AS y, x, o FROM bad_weights', offsets => 'o');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT 1.5 * y AS share, x, w FROM bad_weights', weights => 'w');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT w, -y AS share, x FROM bad_weights WHERE random() >= 0', weights => 'w');
\echo :LAST_ERROR_SQLSTATE
-- weights or frequencies, not both
SELECT gpu_ols_fit('SELECT y, x, w, f FROM bad_weights', weights => 'w', frequencies => 'f');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, x, w, f FROM bad_weights', weights => 'w', frequencies => 'f');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, x, w FROM bad_weights', weights => 'w', frequencies => 'w');
\echo :LAST_ERROR_SQLSTATE
-- a column that is missing or occurs twice; names are taken as they are, not folded
SELECT gpu_ols_fit('SELECT y, x FROM bad_weights', weights => 'w');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x, f FROM bad_weights', frequencies => 'F');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, x, w FROM bad_weights', weights => 'w', offsets => 'o');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, x FROM bad_weights', weights => '');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x FROM bad_weights', weights => 'bad_weights.x');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT w, y, x, w FROM bad_weights', weights => 'w');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, x, f AS x, w FROM bad_weights', weights => 'w', offsets => 'x');
\echo :LAST_ERROR_SQLSTATE
-- a column may have one role
SELECT gpu_logreg_fit('SELECT y, x, w FROM bad_weights', weights => 'w', offsets => 'w');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, x, f FROM bad_weights', frequencies => 'f', offsets => 'f');
\echo :LAST_ERROR_SQLSTATE
-- no column is left for the response
SELECT gpu_ols_fit('SELECT w FROM bad_weights', weights => 'w');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT w, o FROM bad_weights', weights => 'w', offsets => 'o');
\echo :LAST_ERROR_SQLSTATE
-- types of weights
SELECT gpu_ols_fit('SELECT y, x, w::text AS w FROM bad_weights', weights => 'w');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x, ARRAY[w] AS w FROM bad_weights', weights => 'w');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x, now() AS f FROM bad_weights', frequencies => 'f');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT y, x, ARRAY[1] AS o FROM bad_weights', offsets => 'o');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT w, y::text AS y, x FROM bad_weights', weights => 'w');
\echo :LAST_ERROR_SQLSTATE
-- shapes in the aggregates
SELECT gpu_wls_agg(1, y, VARIADIC x) FROM (VALUES (1, '{1,2}'::float8[]), (2, '{1,2,3}')) AS t(y, x);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_wls_agg(1, 1, VARIADIC '{}'::float8[]);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_wls_array_agg(1, 1, '{{1,2},{3,4}}'::float8[]);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_rollup(s) FROM (SELECT gpu_wls_stats_agg(2, 1, 2) AS s UNION ALL SELECT gpu_ols_stats_agg(1, 2, 3)) t;
\echo :LAST_ERROR_SQLSTATE
-- the session goes on
SELECT (gpu_ols_fit('SELECT y, x, w FROM bad_weights', weights => 'w')).n,
    (gpu_logreg_fit('SELECT y, x, o FROM bad_weights', offsets => 'o')).converged;
DROP TABLE bad_weights;
