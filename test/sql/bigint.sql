-- Values of bigint columns beyond 2^53, which float8 would round: an error must name the column, and its hint must
-- work.
CREATE TABLE bigints AS
SELECT i, 1700000000000000001 + i AS t, i * 1024 + 1700000000000000000 AS even, 3 + 2.0 * i + i % 3 AS y,
       (i % 7)::float4 AS a, ARRAY[i, 1700000000000000001 + i] AS pair, i % 2 AS g FROM generate_series(1::bigint, 40) i;
\set VERBOSITY default
SELECT gpu_ols_fit('SELECT y, t FROM bigints');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, a, t + 0 AS "the time" FROM bigints');
SELECT gpu_ols_fit('SELECT t, y FROM bigints');
SELECT gpu_ols_fit('SELECT t, a FROM bigints');
SELECT gpu_ols_fit('SELECT y, pair FROM bigints');
SELECT gpu_ols_fit('SELECT y, t, a FROM bigints', formula => 'y ~ t + a');
SELECT gpu_ols_fit('SELECT y, t, a FROM bigints', formula => 'y ~ t:a');
SELECT gpu_glm_fit('SELECT y, a, t AS o FROM bigints', 'gaussian', offsets => 'o');
SELECT gpu_ols_fit('SELECT y, a, t FROM bigints', vcov => 'HC1');
SELECT gpu_glm_fit('SELECT y, t FROM bigints', 'poisson');
SELECT gpu_logreg_fit('SELECT i % 3 = 0 AS y, t FROM bigints');
SELECT gpu_logreg_fit('SELECT i % 3 = 0, a, -t AS t FROM bigints UNION ALL SELECT false, 1, 1');
SELECT * FROM gpu_enet_path('SELECT y, a, t FROM bigints', nlambda => 2);
SET gpureg.debug_ring = on;
SELECT gpu_ols_fit('SELECT y, t FROM bigints');
RESET gpureg.debug_ring;
SET gpureg.enable_scan = off;
SELECT gpu_ols_fit('SELECT y, t FROM bigints');
RESET gpureg.enable_scan;
-- values beyond 2^53 that float8 can hold, values from which a constant is subtracted, and values rounded by a cast are
-- accepted
SELECT abs((gpu_ols_fit('SELECT y, even FROM bigints')).coef[2] * 1024 /
           (gpu_ols_fit('SELECT y, i FROM bigints')).coef[2] - 1) < 1e-12 AS even,
       abs((gpu_ols_fit('SELECT y, t - 1700000000000000000 FROM bigints')).coef[2] /
           (gpu_ols_fit('SELECT y, i FROM bigints')).coef[2] - 1) < 1e-14 AS subtracted,
       (gpu_ols_fit('SELECT y, t::float8 FROM bigints')).n AS rounded;
SET gpureg.enable_scan = off;
SELECT (gpu_ols_fit('SELECT y, t::float8 FROM bigints')).n AS rounded;
RESET gpureg.enable_scan;
SELECT (gpu_ols_fit('SELECT y, x FROM (VALUES (1, 9007199254740992), (2, -9007199254740992), (4, 0)) v (y, x)')).n;
SELECT gpu_ols_fit('SELECT y, x FROM (VALUES (1, 9007199254740993), (2, -9007199254740992), (4, 0)) v (y, x)');
SELECT gpu_ols_fit('SELECT y, x FROM (VALUES (1, 9223372036854775807), (2, 5), (4, 0)) v (y, x)');
SELECT (gpu_ols_fit('SELECT y, x FROM (VALUES (1, -9223372036854775807 - 1), (2, 5), (4, 0)) v (y, x)')).n AS least;
-- aggregates take float8: PostgreSQL rounds a value before they see it, and the custom scan must do the same
SELECT (gpu_ols_agg(y, t)).n FROM bigints;
-- a prediction from a row with such a value must fail, too
SELECT count(gpu_predict(m, b)) FROM (SELECT t FROM bigints) b, gpu_ols_fit('SELECT y, i AS t FROM bigints') m;
SELECT count(gpu_predict(m, b)) FROM (SELECT t - 1700000000000000000 AS t FROM bigints) b,
    gpu_ols_fit('SELECT y, t - 1700000000000000000 AS t FROM bigints') m;
