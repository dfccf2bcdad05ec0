-- Logistic elastic nets: coefficients against minima in 60 digits, test/data/enet_logit_reference.py; paths and
-- cross-validations against glmnet, test/data/enet_logit_reference.R. test/t/018_kept.pl has kept rows.
CREATE TABLE net_rows (set text, fold int, w int, y int, x float8[]);
\copy net_rows FROM 'test/data/enet_logit_rows.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE net_fits (set text, alpha float8, penalty float8[], positive boolean, intercept boolean,
    standardize boolean, weighted boolean, lambda float8, deviance float8, coef float8[]);
\copy net_fits FROM 'test/data/enet_logit_fits.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE net_paths (set text, fit text, n int, k int, lambda float8, df int, dev_ratio float8, coef float8[]);
\copy net_paths FROM 'test/data/enet_logit_paths.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE net_cv (set text, alpha float8, n int, k int, lambda float8, mean float8, std_error float8, df int,
    lambda_min float8, lambda_1se float8);
\copy net_cv FROM 'test/data/enet_logit_cv.csv' WITH (FORMAT csv, HEADER)
-- the largest difference relative to each coefficient; coefficients that should be 0 must be 0
CREATE FUNCTION net_error(a float8[], b float8[]) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$
    SELECT max(CASE WHEN a = b THEN 0 WHEN a = 0 OR b = 0 THEN 1 ELSE abs(a - b) / abs(b) END)
    FROM unnest(a, b) u (a, b)
$$;
-- the largest difference relative to the largest coefficient
CREATE FUNCTION net_distance(a float8[], b float8[]) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$
    SELECT max(abs(a - b)) / max(abs(b)) FROM unnest(a, b) u (a, b)
$$;
CREATE FUNCTION net_query(set text, more text DEFAULT '') RETURNS text LANGUAGE sql AS $$
    SELECT format('SELECT y, x %s FROM net_rows WHERE set = %L', more, set)
$$;

-- each net by itself, from the beginning; and all of a kind one after another, as a path
SELECT f.set, count(*), max(net_error((m).coef, f.coef)) < 1e-10 AS digits,
       max(abs((m).deviance / f.deviance - 1)) < 1e-12 AS deviance,
       bool_and((m).converged) AS converged, max((m).iterations) < 30 AS passes
FROM net_fits f,
     LATERAL (SELECT gpu_enet_fit(net_query(f.set, CASE WHEN weighted THEN ', w' ELSE '' END), lambda, alpha,
                                  penalty_factor => penalty, positive => positive, intercept => intercept,
                                  standardize => standardize, frequencies => CASE WHEN weighted THEN 'w' END,
                                  family => 'binomial') AS m) g
GROUP BY f.set ORDER BY f.set;
SELECT f.set, count(*), max(net_error(p.coef, f.coef)) < 1e-10 AS digits
FROM (SELECT set, alpha, penalty, positive, intercept, standardize, weighted, array_agg(lambda) AS lambdas
      FROM net_fits GROUP BY 1, 2, 3, 4, 5, 6, 7) g,
     gpu_enet_path(net_query(set, CASE WHEN weighted THEN ', w' ELSE '' END), alpha, lambda => lambdas,
                   penalty_factor => penalty, positive => positive, intercept => intercept,
                   standardize => standardize, weights => CASE WHEN weighted THEN 'w' END, family => 'binomial') p
JOIN net_fits f ON f.lambda = p.lambda
WHERE (f.set, f.alpha, f.positive, f.intercept, f.standardize, f.weighted) =
    (g.set, g.alpha, g.positive, g.intercept, g.standardize, g.weighted)
    AND f.penalty IS NOT DISTINCT FROM g.penalty
GROUP BY f.set ORDER BY f.set;

-- glmnet's paths: the same number of lambdas, the same lambdas, and the same nets
WITH calls (fit, alpha, factors, positive, intercept, standardize) AS (
    VALUES ('lasso', 1, NULL::float8[], false, true, true), ('net', 0.4, NULL, false, true, true),
           ('ridge', 0, NULL, false, true, true), ('positive', 1, NULL, true, true, true),
           ('factors', 1, '{0,1,2,Infinity,0.5}', false, true, true), ('through 0', 1, NULL, false, false, true),
           ('as they are', 0.8, NULL, false, true, false), ('net through 0', 0.4, NULL, false, false, true)
), fits (set, fit, p) AS (
    SELECT set, fit, p FROM calls JOIN (SELECT DISTINCT set, fit FROM net_paths) d USING (fit),
           gpu_enet_path(net_query(set), alpha, penalty_factor => factors, positive => positive,
                         intercept => intercept, standardize => standardize, family => 'binomial')
           WITH ORDINALITY p (lambda, df, dev_ratio, coef, k)
), lengths AS (SELECT set, fit, max((p).k) AS n FROM fits GROUP BY set, fit)
SELECT set, fit, count(*), bool_and(r.n = l.n) AS same_end,
       max(abs((p).lambda / r.lambda - 1)) < 1e-11 AS lambda, bool_and((p).df = r.df) AS df,
       max(abs((p).dev_ratio - r.dev_ratio)) < 1e-9 AS dev_ratio,
       max(net_distance((p).coef, r.coef)) < 1e-7 AS coef
FROM net_paths r JOIN fits USING (set, fit) JOIN lengths l USING (set, fit) WHERE (p).k = r.k
GROUP BY set, fit ORDER BY set, fit;

-- cross-validation of weighted rows against cv.glmnet
CREATE TABLE net_validated AS
SELECT alpha, gpu_enet_cv(net_query('plain', ', w, fold'), alpha, fold => 'fold', weights => 'w',
                          family => 'binomial') AS c FROM (VALUES (1.0::float8), (0.5)) a (alpha);
SELECT r.alpha, count(*), bool_and(cardinality((c).lambda) = r.n) AS same_end,
       max(abs((c).lambda[k] / r.lambda - 1)) < 1e-11 AS lambda, max(abs((c).mean[k] / r.mean - 1)) < 1e-9 AS mean,
       max(abs((c).std_error[k] / r.std_error - 1)) < 1e-8 AS std_error, bool_and((c).df[k] = r.df) AS df,
       bool_and(abs((c).lambda_min / r.lambda_min - 1) < 1e-11) AS lambda_min,
       bool_and(abs((c).lambda_1se / r.lambda_1se - 1) < 1e-11) AS lambda_1se, bool_and((c).nfolds = 5) AS nfolds
FROM net_cv r JOIN net_validated USING (alpha) GROUP BY r.alpha ORDER BY r.alpha;
-- the cross-validation's models are those that a fit chooses, and that a fit gives at their lambdas
SELECT alpha, net_error((c).model_min.coef, (gpu_enet_fit(q, alpha => alpha, fold => 'fold', weights => 'w',
                                                            choose => 'min', family => 'binomial')).coef) = 0 AS least,
       net_error((c).model_1se.coef, (gpu_enet_fit(q, alpha => alpha, fold => 'fold', weights => 'w',
                                                     family => 'binomial')).coef) = 0 AS within,
       net_error((c).model_min.coef, (gpu_enet_fit(q, (c).lambda_min, alpha, weights => 'w', fold => 'fold',
                                                     family => 'binomial')).coef) < 1e-9 AS at
FROM net_validated, net_query('plain', ', w, fold') q ORDER BY alpha;
-- linear cross-validation over a query is that from states
SELECT net_error(c.mean, s.mean) < 1e-12 AS mean, net_error(c.std_error, s.std_error) < 1e-11 AS std_error,
       net_error((c.model_1se).coef, (s.model_1se).coef) < 1e-12 AS model, c.nfolds
FROM gpu_enet_cv('SELECT x[1] AS y, x[2:5] AS x, fold FROM net_rows WHERE set = ''plain''', fold => 'fold') c,
     (SELECT (gpu_enet_cv_agg(s)).* FROM (SELECT gpu_ols_stats_array_agg(x[1], x[2:5]) AS s FROM net_rows
                                          WHERE set = 'plain' GROUP BY fold) f) s;

-- a model: predictions are probabilities; gpu_glance; its text
CREATE TABLE net_model AS SELECT gpu_enet_fit(net_query('plain'), 0.05, family => 'binomial') AS m;
SELECT (m).method, (m).terms, (m).vcov IS NULL AS no_vcov, (m).n, (m).rank, (m).df_residual, (m).family, (m).link
FROM net_model;
SELECT max(abs(gpu_predict(m, x) - 1 / (1 + exp(-(m).coef[1] - (SELECT sum(b * v)
                                                                 FROM unnest((m).coef[2:], x) u (b, v)))))) < 1e-12
           AS predicted,
       abs(-2 * sum(ln(CASE y WHEN 1 THEN gpu_predict(m, x) ELSE 1 - gpu_predict(m, x) END)) / (m).deviance - 1) < 1e-12
           AS deviance
FROM net_model, net_rows WHERE set = 'plain' GROUP BY m;
SELECT n, rank, round(pseudo_r_squared::numeric, 6) = round((1 - (m).deviance / (m).null_deviance)::numeric, 6)
           AS explained, aic IS NOT NULL AS aic FROM net_model, gpu_glance(m);
SELECT m = (m::text)::gpu_model AS round FROM net_model;
SELECT split_part(gpu_summary(m), E'\n', 1) FROM net_model;
-- without a penalty, and as long as the rows are not separated, the net is the logistic regression
SELECT net_error((gpu_enet_fit(q, 0, family => 'binomial')).coef, (gpu_logreg_fit(q)).coef) < 1e-12 AS same
FROM net_query('plain') q;
SELECT net_error((gpu_enet_fit(q, 0, formula => 'y ~ a + b + factor(c)', family => 'binomial')).coef,
                 (gpu_logreg_fit(q, formula => 'y ~ a + b + factor(c)')).coef) < 1e-11 AS formula
FROM (SELECT 'SELECT y = 1 AS y, x[1] AS a, x[2] AS b, w AS c FROM net_rows WHERE set = ''plain''' AS q) s;
-- folds by values: the same in any order of the rows, and from a file
SELECT count(DISTINCT (m).method), min((m).n)
FROM (SELECT gpu_enet_fit('SELECT y, x FROM net_rows WHERE set = ''plain'' ORDER BY ' || o, folds => 4,
                          family => 'binomial') AS m FROM unnest('{x,y,-y,random()}'::text[]) o) f;
-- more rows than are kept in memory: read again for each pass, or written to files by fold
CREATE TABLE net_many AS SELECT y, x[1] + n * 0.001 AS a, x[2] + n * 0.002 AS b, n % 5 AS f
FROM net_rows, generate_series(1, 1600) n WHERE set = 'plain';
CREATE TABLE net_whole AS
SELECT gpu_enet_fit(q, 0.01, family => 'binomial') AS m, gpu_enet_cv(q, fold => 'f', family => 'binomial') AS c
FROM (SELECT 'SELECT y, a, b, f FROM net_many' AS q) s;
SET gpureg.ring_size = '1MB';
SELECT net_error((gpu_enet_fit(q, 0.01, family => 'binomial')).coef, (m).coef) < 1e-11 AS one,
       net_error((gpu_enet_cv(q, fold => 'f', family => 'binomial')).mean, (c).mean) < 1e-11 AS folds
FROM net_whole, (SELECT 'SELECT y, a, b, f FROM net_many' AS q) s;
RESET gpureg.ring_size;
SELECT "function", rows = (SELECT count(*) FROM net_many) AS all_rows FROM gpu_last_run();
SELECT (c).nfolds, cardinality((c).mean) = cardinality((c).lambda) AS means FROM net_whole;

-- an error within a query has the query as context
\set SHOW_CONTEXT errors
SELECT gpu_enet_path('SELECT y, 1 / (x[1] - x[1])::int AS a FROM net_rows', family => 'binomial');
SELECT gpu_enet_fit('SELECT y, 1 / (x[1] - x[1])::int AS a FROM net_rows', family => 'binomial');
SELECT gpu_enet_cv('SELECT y, 1 / (x[1] - x[1])::int AS a FROM net_rows', family => 'binomial');

-- invalid arguments
\set SHOW_CONTEXT never
SELECT gpu_enet_fit('SELECT y, x FROM net_rows', family => 'poisson');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_enet_fit('SELECT 2 AS y, 1.0 AS a', 0.1, family => 'binomial');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_enet_fit('SELECT 1 AS y, x FROM net_rows WHERE set = ''plain''', 0.1, family => 'binomial');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_enet_fit('SELECT y, 1 AS a FROM net_rows WHERE set = ''plain''', 0.1, family => 'binomial');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_enet_fit('SELECT y, x FROM net_rows WHERE false', 0.1, family => 'binomial');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_enet_fit('SELECT y, x FROM net_rows WHERE false', family => 'binomial');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_enet_fit('SELECT y, ''NaN''::float8 AS a FROM net_rows', 0.1, family => 'binomial');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_enet_fit('SELECT y, ''NaN''::float8 AS a FROM net_rows', family => 'binomial');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_enet_fit(net_query('plain'), -1, family => 'binomial');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_enet_fit(net_query('plain'), 0.1, lambdas => '{1,2}', family => 'binomial');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_enet_fit(net_query('plain'), 0.1, penalty_factor => '{1,2}', family => 'binomial');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_enet_fit(net_query('plain'), 0.1, positive => '{t}', family => 'binomial');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_enet_fit(net_query('plain', ', 1 AS f'), fold => 'f', family => 'binomial');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_enet_fit(net_query('plain', ', y AS f'), fold => 'f', family => 'binomial');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_enet_fit('SELECT i % 2 AS y, sin(i) AS a, i AS f FROM generate_series(1, 1001) i', fold => 'f',
                    family => 'binomial');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_enet_fit(net_query('plain', ', point(1, 2) AS f'), fold => 'f', family => 'binomial');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_enet_fit(net_query('plain'), kept => 'k');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_enet_fit(net_query('plain'), rows => 'x > 1');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_enet_fit(net_query('plain'), nlambda => 0, family => 'binomial');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_enet_cv('SELECT 1; SELECT 2');
\echo :LAST_ERROR_SQLSTATE
-- NULL arguments without a default
SELECT gpu_enet_fit() IS NULL AS fit, gpu_enet_fit('SELECT 1', family => NULL) IS NULL AS family,
       gpu_enet_fit('SELECT 1', nlambda => NULL) IS NULL AS nlambda, gpu_enet_cv() IS NULL AS cv,
       gpu_enet_cv('SELECT 1', folds => NULL) IS NULL AS folds,
       (SELECT count(*) FROM gpu_enet_path()) + (SELECT count(*) FROM gpu_enet_path('SELECT 1', NULL)) AS rows;
-- separated rows: all results are finite as long as there is a penalty, however small
SELECT (m).converged, (m).deviance < 1e-3 AS fits, (m).coef[2] BETWEEN 10 AND 1e4 AS finite
FROM (SELECT gpu_enet_fit(net_query('apart'), 1e-7, family => 'binomial') AS m) s;
SELECT (m).converged, isfinite FROM (SELECT gpu_enet_fit(net_query('apart'), 0, family => 'binomial') AS m) s,
     LATERAL (SELECT bool_and(abs(c) < 1e300) AS isfinite FROM unnest((m).coef) c) f;
SELECT count(*) FROM gpu_enet_path(net_query('apart'), lambda => '{0.1,0.01,0,0}', family => 'binomial');
SELECT count(*) FROM gpu_enet_path(net_query('apart'), penalty_factor => '{0,1,1}', family => 'binomial');
-- one row, and two rows
SELECT gpu_enet_fit('SELECT 1 AS y, 2.0 AS a', 0.1, family => 'binomial');
\echo :LAST_ERROR_SQLSTATE
SELECT (gpu_enet_fit('VALUES (1, 2.0), (0, 1)', 0.1, family => 'binomial')).converged;
-- an enum value's fold follows from its label, whatever its OID is
CREATE TYPE net_enum AS ENUM ('a', 'b', 'c');
CREATE TYPE net_other AS ENUM ('c', 'x', 'b', 'a');
SELECT count(*) FILTER (WHERE gpu_enet_fold(7, v::net_enum) = gpu_enet_fold(7, v::net_other)) AS same,
       min(gpu_enet_fold(1000, v::net_enum)) <> max(gpu_enet_fold(1000, v::net_enum)) AS differ
FROM unnest('{a,b,c}'::text[]) v;
-- a cancel in the middle
SET statement_timeout = '20ms';
SELECT gpu_enet_fit('SELECT y, a, b FROM net_many, generate_series(1, 100)', family => 'binomial');
\echo :LAST_ERROR_SQLSTATE
RESET statement_timeout;
SELECT (gpu_enet_fit('SELECT y, a, b FROM net_many', 0.01, family => 'binomial')).n;
-- a query that changes settings and the search path while it runs
CREATE FUNCTION net_meddling(v float8) RETURNS float8 LANGUAGE plpgsql VOLATILE AS $$
    BEGIN
        PERFORM set_config('search_path', 'pg_temp', true), set_config('gpureg.ring_size', '1MB', true);
        RETURN v;
    END $$;
BEGIN;
SELECT net_error((gpu_enet_fit('SELECT y, public.net_meddling(a) AS a, b, f FROM public.net_many', 0.01,
                                      formula => 'y ~ a + b + f', family => 'binomial')).coef, (m).coef) < 1e-11 AS same
FROM net_whole;
ROLLBACK;
-- a function that makes these changes when the planner folds it
CREATE FUNCTION net_folded() RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
    BEGIN
        PERFORM set_config('search_path', 'pg_temp', true);
        RETURN 0;
    END $$;
BEGIN;
SELECT cardinality((gpu_enet_cv('SELECT y, a + public.net_folded() AS a, b, f FROM public.net_many', fold => 'f',
                                       family => 'binomial')).mean) > 5 AS goes_on;
ROLLBACK;
