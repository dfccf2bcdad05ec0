-- Errors and warnings of robust covariances, each with its SQLSTATE.
CREATE TABLE cov_bad AS SELECT i::float8 AS y, sin(i) AS x, i % 4 AS g, i % 3 AS h, 1 AS one, NULL::int AS nothing,
    json_build_object('k', i % 4) AS json,
                               point(i % 4, 0) AS point, i % 2 AS w, i % 2 = 0 AS b FROM generate_series(1, 20) i;
\set SHOW_CONTEXT never
-- names of covariances
SELECT gpu_ols_fit('SELECT y, x FROM cov_bad', vcov => 'HC4');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x, g FROM cov_bad', vcov => 'CR1');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT b, x, g FROM cov_bad', vcov => 'cr0');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_glm_fit('SELECT y, x, g FROM cov_bad', 'poisson', vcov => 'CR2', clusters => NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x, g FROM cov_bad', clusters => '{g}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x, g FROM cov_bad', vcov => 'HC1', clusters => '{g}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT b, x, g FROM cov_bad', vcov => NULL, clusters => '{g}');
\echo :LAST_ERROR_SQLSTATE
-- cluster columns
SELECT gpu_ols_fit('SELECT y, x, g FROM cov_bad', vcov => 'CR1', clusters => '{}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x, g, h, w FROM cov_bad', vcov => 'CR1', clusters => '{g,h,w}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x, g FROM cov_bad', vcov => 'CR1', clusters => '{g,NULL}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x, g FROM cov_bad', vcov => 'CR1', clusters => '{{g,x}}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x, g FROM cov_bad', vcov => 'CR1', clusters => '{g,g}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x, g FROM cov_bad', vcov => 'CR1', clusters => '{region}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x, g, h AS g FROM cov_bad', vcov => 'CR1', clusters => '{g}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT g FROM cov_bad', vcov => 'CR1', clusters => '{g}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x, json FROM cov_bad', vcov => 'CR1', clusters => '{json}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x, g, point FROM cov_bad', vcov => 'CR2', clusters => '{g,point}');
\echo :LAST_ERROR_SQLSTATE
-- rows that are one cluster
SELECT gpu_ols_fit('SELECT y, x, one FROM cov_bad', vcov => 'CR0', clusters => '{one}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x, g, one FROM cov_bad', vcov => 'CR2', clusters => '{g,one}');
\echo :LAST_ERROR_SQLSTATE
-- one cluster among the rows whose weight isn't 0
SELECT gpu_ols_fit('SELECT y, x, w, w AS c FROM cov_bad', weights => 'w', vcov => 'CR1', clusters => '{c}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x, nothing FROM cov_bad', vcov => 'CR1', clusters => '{nothing}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x, nothing FROM cov_bad', formula => 'y ~ factor(x)', vcov => 'CR1',
    clusters => '{nothing}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x, g FROM cov_bad WHERE false', vcov => 'CR1', clusters => '{g}');
\echo :LAST_ERROR_SQLSTATE
-- the query, which is run again
SELECT gpu_ols_fit('SELECT y, x, g FROM cov_bad WHERE random() >= 0', vcov => 'CR1', clusters => '{g}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x, (random() * 3)::int AS g FROM cov_bad', vcov => 'CR1', clusters => '{g}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x, g FROM cov_bad LIMIT 10', vcov => 'CR1', clusters => '{g}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x, g FROM cov_bad TABLESAMPLE BERNOULLI (50)', vcov => 'CR1', clusters => '{g}');
\echo :LAST_ERROR_SQLSTATE
-- a function that is marked immutable, but isn't
CREATE SEQUENCE cov_calls;
CREATE FUNCTION cov_lies(i float8) RETURNS int
LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN CASE WHEN nextval('cov_calls') > 25 THEN NULL ELSE i::int % 4 END; END $$;
SELECT gpu_ols_fit('SELECT y, x, cov_lies(y) AS g FROM cov_bad', vcov => 'CR2', clusters => '{g}');
\echo :LAST_ERROR_SQLSTATE
-- too many terms for a solver that forms no Hessian
SELECT gpu_logreg_fit('SELECT b, array_fill(x, ARRAY[2001]), g FROM cov_bad', solver => 'lbfgs', vcov => 'CR1',
    clusters => '{g}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT b, array_fill(x, ARRAY[2001]) FROM cov_bad', solver => 'gd', vcov => 'HC1');
\echo :LAST_ERROR_SQLSTATE
-- more arrays than a function has arguments
SELECT (gpu_ols_fit(format('SELECT y, %s, g FROM cov_bad', list))).n,
       (gpu_ols_fit(format('SELECT y, %s, g FROM cov_bad', list), vcov => 'CR1', clusters => '{g}')).n
FROM (SELECT string_agg(format('ARRAY[x + %s]', i), ', ') AS list FROM generate_series(1, 100) i) t;
\echo :LAST_ERROR_SQLSTATE
-- the aggregate, by hand
SELECT gpu_request_pass(NULL, NULL, '{1}', y, x) FROM cov_bad;
\echo :LAST_ERROR_SQLSTATE
SELECT request_bytes(6, 1, '[[0.5,1],[0,0],[0]]') AS pass \gset
SELECT gpu_request_pass(request_bytes(6, 1, '[[0.5,1],[0,0]]'), '{y,x}', '{1}', y, x) FROM cov_bad;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_request_pass(request_bytes(6, 1, '[[0.5,1],[0,0],[0]]', '{"flags":1}'), '{y,x}', '{1}', y, x) FROM cov_bad;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_request_pass(:'pass', NULL, NULL, y, x) FROM cov_bad;
\echo :LAST_ERROR_SQLSTATE
SELECT length(gpu_request_pass(:'pass', '{y,x}', '{1}', b, x)) FROM cov_bad;
SELECT length(gpu_request_pass(request_bytes(6, 1, '[[0.5,1],[0,0],[0]]', '{"flags":4}'), '{y,x}', '{1}', b, x))
FROM cov_bad;
SELECT length(gpu_request_pass(:'pass', '{y,x}', '{2}', b, ARRAY[x, x])) FROM cov_bad;
\echo :LAST_ERROR_SQLSTATE
SELECT length(gpu_request_pass(:'pass', '{y,x}', '{1}', b, ARRAY[x, x])) FROM cov_bad;
\echo :LAST_ERROR_SQLSTATE
SELECT length(gpu_request_pass(:'pass', '{y,x}', '{1}', b, 'x'::text)) FROM cov_bad;
\echo :LAST_ERROR_SQLSTATE
SELECT length(gpu_request_pass(:'pass', '{y,x}', '{1}', b)) FROM cov_bad;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_request_pass(:'pass', '{y,x}', '{1}', b, x) FROM cov_bad WHERE false;
SELECT length(gpu_request_pass(:'pass', '{y,x}', '{1}', NULL::float8, x)) FROM cov_bad;
SELECT refuses_internal('gpu_request_final(NULL)') AS refused;
DROP TABLE cov_bad CASCADE;
DROP SEQUENCE cov_calls CASCADE;
