-- Elastic nets from states and over queries: coefficients against minima in 60 digits, test/data/enet_reference.py;
-- paths and cross-validations against glmnet, test/data/enet_reference.R.
CREATE TABLE enet_rows (set text, fold int, y float8, x float8[]);
\copy enet_rows FROM 'test/data/enet_rows.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE enet_fits (set text, alpha float8, penalty float8[], positive boolean, intercept boolean,
    standardize boolean, lambda float8, coef float8[]);
\copy enet_fits FROM 'test/data/enet_fits.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE enet_paths (set text, fit text, n int, k int, lambda float8, df int, dev_ratio float8, coef float8[]);
\copy enet_paths FROM 'test/data/enet_paths.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE enet_cv (set text, alpha float8, n int, k int, lambda float8, mean float8, std_error float8, df int,
    lambda_min float8, lambda_1se float8);
\copy enet_cv FROM 'test/data/enet_cv.csv' WITH (FORMAT csv, HEADER)
UPDATE enet_rows SET fold = fold % 4;
CREATE TABLE enet_folds AS
SELECT set, fold, gpu_ols_stats_array_agg(y, x) AS s FROM enet_rows GROUP BY set, fold;
CREATE TABLE enet_states AS SELECT set, gpu_ols_rollup(s) AS s FROM enet_folds GROUP BY set;
-- the largest difference relative to each coefficient; coefficients that should be 0 must be 0
CREATE FUNCTION enet_error(a float8[], b float8[]) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$
    SELECT max(CASE WHEN a = b THEN 0 WHEN a = 0 OR b = 0 THEN 1 ELSE abs(a - b) / abs(b) END)
    FROM unnest(a, b) u (a, b)
$$;
-- the largest difference relative to the largest coefficient
CREATE FUNCTION enet_distance(a float8[], b float8[]) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$
    SELECT max(abs(a - b)) / max(abs(b)) FROM unnest(a, b) u (a, b)
$$;

-- every coefficient to the last digit or two: of columns correlated by more than 0.9999995, of powers, of fewer rows
-- than columns, and of columns that are constant, equal or sums of others
SELECT f.set, count(*), max(enet_error(p.coef, f.coef)) < 1e-15 AS digits,
       bool_and(array_length(p.coef, 1) = array_length(f.coef, 1)) AS terms,
       bool_and(p.df = (SELECT count(*) FROM unnest(f.coef[(CASE WHEN f.intercept THEN 2 ELSE 1 END):]) c
                        WHERE c <> 0)) AS df
FROM enet_fits f JOIN enet_states USING (set),
     gpu_enet_path(s, f.alpha, lambda => ARRAY[f.lambda], penalty_factor => penalty, positive => positive,
                   intercept => intercept, standardize => standardize) p
GROUP BY f.set ORDER BY f.set;
-- nets one after another, as a path, and as models
SELECT count(*), max(enet_error(p.coef, f.coef)) < 1e-15 AS digits
FROM (SELECT set, alpha, penalty, positive, intercept, standardize, array_agg(lambda) AS lambdas FROM enet_fits
      GROUP BY 1, 2, 3, 4, 5, 6) g JOIN enet_states USING (set),
     gpu_enet_path(s, alpha, lambda => lambdas, penalty_factor => penalty, positive => positive, intercept => intercept,
                   standardize => standardize) p
JOIN enet_fits f ON f.lambda = p.lambda
WHERE (f.set, f.alpha, f.positive, f.intercept, f.standardize) =
    (g.set, g.alpha, g.positive, g.intercept, g.standardize)
    AND f.penalty IS NOT DISTINCT FROM g.penalty;
SELECT count(*), max(enet_error((m).coef, f.coef)) < 1e-15 AS digits
FROM enet_fits f JOIN enet_states USING (set),
     LATERAL (SELECT gpu_enet_model(s, f.lambda, f.alpha, penalty, positive, intercept, standardize) AS m) g;

-- glmnet's paths: the same number of lambdas, the same lambdas, and the same nets
WITH calls (fit, alpha, factors, positive, intercept, standardize) AS (
    VALUES ('lasso', 1, NULL::float8[], false, true, true), ('net', 0.4, NULL, false, true, true),
           ('ridge', 0, NULL, false, true, true), ('positive', 1, NULL, true, true, true),
           ('factors', 1, '{0,1,2,Infinity,0.5,1}', false, true, true), ('through 0', 1, NULL, false, false, true),
           ('as they are', 0.8, NULL, false, true, false), ('net through 0', 0.4, NULL, false, false, true),
           ('ridge through 0', 0, NULL, false, false, true), ('0 as they are', 0.5, NULL, false, false, false)
), fits (set, fit, p) AS (
    SELECT set, fit, p FROM calls JOIN (SELECT DISTINCT set, fit FROM enet_paths) d USING (fit)
           JOIN enet_states USING (set),
           gpu_enet_path(s, alpha, penalty_factor => factors, positive => positive, intercept => intercept,
                         standardize => standardize) WITH ORDINALITY p (lambda, df, dev_ratio, coef, k)
), lengths AS (SELECT set, fit, max((p).k) AS n FROM fits GROUP BY set, fit)
SELECT set, fit, count(*), bool_and(r.n = l.n) AS same_end,
       max(abs((p).lambda / r.lambda - 1)) < 1e-11 AS lambda, bool_and((p).df = r.df) AS df,
       max(abs((p).dev_ratio - r.dev_ratio)) < 1e-9 AS dev_ratio,
       max(enet_distance((p).coef, r.coef)) < 1e-8 AS coef
FROM enet_paths r JOIN fits USING (set, fit) JOIN lengths l USING (set, fit) WHERE (p).k = r.k
GROUP BY set, fit ORDER BY set, fit;

-- cross-validation against cv.glmnet
CREATE TABLE enet_validated AS
SELECT set, 1.0::float8 AS alpha, gpu_enet_cv_agg(s) AS c FROM enet_folds WHERE set IN ('plain', 'wide') GROUP BY set
UNION ALL SELECT set, 0.5, gpu_enet_cv_agg(s, 0.5) FROM enet_folds WHERE set IN ('plain', 'wide') GROUP BY set
UNION ALL SELECT set, 0.3, gpu_enet_cv_agg(s, 0.3, 100, NULL, NULL, NULL, NULL, false, true, NULL, NULL)
FROM enet_folds WHERE set = 'plain' GROUP BY set;
SELECT set, r.alpha, count(*), bool_and(cardinality((c).lambda) = r.n) AS same_end,
       max(abs((c).lambda[k] / r.lambda - 1)) < 1e-11 AS lambda, max(abs((c).mean[k] / r.mean - 1)) < 1e-9 AS mean,
       max(abs((c).std_error[k] / r.std_error - 1)) < 1e-8 AS std_error, bool_and((c).df[k] = r.df) AS df,
       bool_and(abs((c).lambda_min / r.lambda_min - 1) < 1e-11) AS lambda_min,
       bool_and(abs((c).lambda_1se / r.lambda_1se - 1) < 1e-11) AS lambda_1se, bool_and((c).nfolds = 4) AS nfolds
FROM enet_cv r JOIN enet_validated USING (set, alpha) GROUP BY set, r.alpha ORDER BY set, r.alpha;
-- the cross-validation's models are those of the path, and the aggregate with all arguments gives the same
SELECT set, alpha,
       enet_error((c).model_min.coef, (gpu_enet_model(s, (c).lambda_min, alpha, intercept => alpha <> 0.3)).coef)
           < 1e-14 AS least,
       enet_error((c).model_1se.coef, (gpu_enet_model(s, (c).lambda_1se, alpha, intercept => alpha <> 0.3)).coef)
           < 1e-14 AS within,
       (SELECT relative_difference((gpu_enet_cv_agg(f.s, alpha, 100, NULL, NULL, NULL, NULL, alpha <> 0.3, true, NULL,
                                                    NULL)).mean, (c).mean) < 1e-14
        FROM enet_folds f WHERE f.set = v.set) AS same
FROM enet_validated v JOIN enet_states USING (set) ORDER BY set, alpha;
-- a net over a query without an intercept, with each row twice, is that of the states; a constant response has a net
SELECT enet_error((gpu_enet_fit('SELECT y, x, 2 AS f FROM enet_rows WHERE set = ''plain''', 0.2, 0.4,
                                intercept => false, frequencies => 'f')).coef,
                  (gpu_enet_model(s, 0.2, 0.4, intercept => false)).coef) < 1e-13 AS same,
       (gpu_enet_fit('SELECT 2 AS y, x FROM enet_rows WHERE set = ''plain''', 0.2, 0.4, intercept => false)).coef[1]
       IS NOT NULL AS constant
FROM enet_states WHERE set = 'plain';

-- a model: predictions, gpu_glance, its text, and functions that refuse it
CREATE TABLE enet_model AS SELECT gpu_enet_model(s, 0.1) AS m FROM enet_states WHERE set = 'plain';
SELECT (m).method, (m).terms, (m).vcov IS NULL AS no_vcov, (m).n, (m).rank, (m).df_residual FROM enet_model;
SELECT max(abs(gpu_predict(m, x) - ((m).coef[1] + (SELECT sum(b * v) FROM unnest((m).coef[2:], x) u (b, v))))) < 1e-12
           AS predicted,
       abs(sum((y - gpu_predict(m, x)) ^ 2) / (m).deviance - 1) < 1e-13 AS deviance
FROM enet_model, enet_rows WHERE set = 'plain' GROUP BY m;
SELECT n, rank, r_squared > 0.7 AS r_squared, sigma > 0 AS sigma, f_statistic, f_p_value,
       abs(aic - (-2 * log_lik + 2 * (rank + 1))) < 1e-9 AS aic FROM enet_model, gpu_glance(m);
SELECT aic, bic FROM gpu_glance((SELECT gpu_enet_model(s, 0.1, 0.5) FROM enet_states WHERE set = 'plain'));
SELECT term, estimate <> 0 AS there, std_error FROM enet_model, gpu_tidy(m);
SELECT split_part(gpu_summary(m), E'\n', 1) FROM enet_model;
SELECT m = (m::text)::gpu_model AS round FROM enet_model;
SELECT gpu_anova(m, gpu_ols_solve(s)) FROM enet_model, enet_states WHERE set = 'plain';
SELECT gpu_vif(m) FROM enet_model;
SELECT gpu_predict_interval(m, 'confidence', 0.95, 1, 2, 3, 4, 5, 6) FROM enet_model;
-- a method that no net has
CREATE FUNCTION enet_called(method text) RETURNS gpu_model LANGUAGE sql AS $$
    SELECT ROW(method, '{(intercept),a}'::text[], '{1,2}'::float8[], NULL::float8[], 9, 0, 2, 7, 1.0::float8,
               2.0::float8, 1, true, '{}'::text[], 'cpu', -1.0::float8, 'gaussian', 'identity', 'Infinity'::float8,
               1.0::float8, NULL::text, 7.0::float8, '')::gpu_model
$$;
SELECT gpu_predict(enet_called('ols (elastic net) (alpha = 0.5) (lambda = 0)'), 1);
SELECT gpu_predict(enet_called('ols (elastic net)'), 1);
SELECT gpu_predict(enet_called('ols (elastic net) (alpha = 2) (lambda = 0.1)'), 1);
SELECT gpu_predict(enet_called('ols (elastic net) (alpha = 1) (lambda = -1)'), 1);
SELECT gpu_predict(enet_called('ols (l2 = 1) (elastic net) (alpha = 1) (lambda = 1)'), 1);

-- columns of a state, by number and by name, and another response
SELECT enet_error(a.coef, b.coef) < 1e-14 AS same
FROM (SELECT gpu_ols_named(s, '{y,a,b,c,d,e,f}') AS named FROM enet_states WHERE set = 'plain') n,
     (SELECT gpu_ols_stats_array_agg(x[2], ARRAY[x[4], y, x[1]]) AS own FROM enet_rows WHERE set = 'plain') o,
     gpu_enet_path(named, lambda => '{0.05}', features => '{d,y,a}', response => 'b') a,
     gpu_enet_path(own, lambda => '{0.05}') b;
SELECT (gpu_enet_model(gpu_ols_named(s, '{y,a,b,c,d,e,f}'), 0.1, features => '{d,y,1}', response => 2)).terms
FROM enet_states WHERE set = 'plain';
SELECT ((gpu_enet_cv_agg(s, 1, 100, NULL, NULL, '{1,2}', '{t,f}', true, false, '{1,3}', 2)).model_min).terms
FROM enet_folds WHERE set = 'plain';
-- a state's weights and frequencies apply
SELECT enet_error(a.coef, b.coef) < 1e-14 AS frequencies
FROM gpu_enet_path((SELECT gpu_ols_stats_array_agg(y, x) FROM enet_rows, generate_series(0, fold) WHERE set = 'plain'),
                   lambda => '{0.05}') a,
     (SELECT (gpu_enet_fit('SELECT y, x, fold + 1 AS w FROM enet_rows WHERE set = ''plain''', 0.05,
                           frequencies => 'w')).coef) b;
SELECT enet_error(a.coef, b.coef) < 1e-14 AS weights
FROM gpu_enet_path((SELECT gpu_ols_stats_array_agg(y, x) FROM enet_rows, generate_series(0, fold) WHERE set = 'plain'),
                   lambda => '{0.05}') a,
     (SELECT (gpu_enet_fit('SELECT y, x, fold * 0.5 + 0.5 AS w FROM enet_rows WHERE set = ''plain''', 0.05,
                           weights => 'w')).coef) b;

-- over a query
CREATE FUNCTION enet_query(set text, more text DEFAULT '') RETURNS text LANGUAGE sql AS $$
    SELECT format('SELECT y, x, fold FROM enet_rows WHERE set = %L %s', set, more)
$$;
SELECT set, alpha,
       enet_error((gpu_enet_fit(enet_query(set), alpha => alpha, fold => 'fold', choose => 'min',
                                intercept => alpha <> 0.3)).coef, (c).model_min.coef) < 1e-12 AS least,
       enet_error((gpu_enet_fit(enet_query(set), alpha => alpha, fold => 'fold', intercept => alpha <> 0.3)).coef,
                  (c).model_1se.coef) < 1e-12 AS within
FROM enet_validated ORDER BY set, alpha;
SELECT (gpu_enet_fit(enet_query('plain'), 0.1, fold => 'fold')).coef = (m).coef AS same FROM enet_model;
-- folds by values: the same in any order of the rows, and in workers
SELECT count(DISTINCT (round((m).coef[1]::numeric, 12), (m).method)) AS fits, count(*)
FROM (SELECT gpu_enet_fit('SELECT y, x FROM enet_rows WHERE set = ''plain'' ORDER BY ' || o) AS m
      FROM unnest('{x,y,-y,fold}'::text[]) o) f;
CREATE TABLE enet_many AS SELECT y + n * 0.01 AS y, x[1] AS a, x[2] + n * 0.02 AS b, n % 3 AS c, n AS id
FROM enet_rows, generate_series(1, 200) n WHERE set = 'plain';
CREATE TABLE enet_serial AS SELECT gpu_enet_fit('SELECT y, a, b, c FROM enet_many') AS m;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SELECT enet_error((gpu_enet_fit('SELECT y, a, b, c FROM enet_many')).coef, (m).coef) < 1e-12 AS same FROM enet_serial;
RESET ALL;
SELECT min(n) > 500 AS even, count(*)
FROM (SELECT count(*) AS n FROM enet_many GROUP BY gpu_enet_fold(10, y, a, b, c)) f;
SELECT (gpu_enet_fit('SELECT y, a, b, c FROM enet_many', formula => 'y ~ a + poly(b, 2) + factor(c)')).terms;
SELECT (gpu_enet_fit('SELECT y, a, b, c FROM enet_many', 0.01, formula => 'y ~ 0 + a + b')).terms;
SELECT "function" FROM gpu_last_run();

-- invalid arguments
\set SHOW_CONTEXT never
CREATE TABLE enet_bad AS SELECT gpu_ols_stats_agg(y, a, b) AS s FROM enet_many;
SELECT count(*) FROM enet_bad, gpu_enet_path(s, -0.1);
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM enet_bad, gpu_enet_path(s, 'NaN');
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM enet_bad, gpu_enet_path(s, nlambda => 0);
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM enet_bad, gpu_enet_path(s, nlambda => 2000000000);
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM enet_bad, gpu_enet_path(s, lambda => '{}');
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM enet_bad, gpu_enet_path(s, lambda => '{1,-1}');
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM enet_bad, gpu_enet_path(s, lambda => '{1,Infinity}');
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM enet_bad, gpu_enet_path(s, lambda => '{1,NULL}');
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM enet_bad, gpu_enet_path(s, lambda => '{{1,2}}');
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM enet_bad, gpu_enet_path(s, lambda_min_ratio => 1);
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM enet_bad, gpu_enet_path(s, penalty_factor => '{1}');
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM enet_bad, gpu_enet_path(s, penalty_factor => '{1,-1}');
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM enet_bad, gpu_enet_path(s, penalty_factor => '{0,0}');
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM enet_bad, gpu_enet_path(s, penalty_factor => '{1e200,1}');
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM enet_bad, gpu_enet_path(s, penalty_factor => '{0,Infinity}');
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM enet_bad, gpu_enet_path(s, positive => '{t}');
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM enet_bad, gpu_enet_path(s, positive => 1);
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM enet_bad, gpu_enet_path(s, positive => 'maybe');
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM enet_bad, gpu_enet_path(s, features => '{}');
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM enet_bad, gpu_enet_path(s, features => '{3}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_enet_model(s, -1) FROM enet_bad;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_enet_model(s, 'Infinity') FROM enet_bad;
\echo :LAST_ERROR_SQLSTATE
-- NULL arguments without a default
SELECT count(*) FROM gpu_enet_path(NULL);
SELECT count(*) FROM enet_bad, gpu_enet_path(s, NULL);
SELECT gpu_enet_model(NULL, 1) IS NULL AS s, gpu_enet_model(s, NULL) IS NULL AS lambda,
       gpu_enet_model(s, 1, NULL) IS NULL AS alpha, gpu_enet_fit(NULL) IS NULL AS query,
       gpu_enet_fit('SELECT 1', folds => NULL) IS NULL AS folds FROM enet_bad;
SELECT count(*) > 50 AS all FROM enet_bad, gpu_enet_path(s, 1, 100, NULL, NULL, NULL, NULL, true, true, NULL, NULL);
-- constant columns, and one row
SELECT gpu_enet_path(gpu_ols_stats_agg(1, a, b)) FROM enet_many;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_enet_path(gpu_ols_stats_agg(y, 1, 2)) FROM enet_many;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_enet_model(gpu_ols_stats_agg(y, a, b), 1) FROM enet_many WHERE id = 0;
SELECT gpu_enet_model(gpu_ols_stats_agg(y, a, b), 1) FROM (SELECT * FROM enet_many LIMIT 1) one;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_enet_path(gpu_ols_stats_agg(y, a, b), lambda => '{0}') IS NOT NULL AS two_rows
FROM (SELECT * FROM enet_many LIMIT 2) two;
-- without a penalty the net is least squares, also with too few rows
SELECT enet_error((gpu_enet_model(s, 0)).coef, (gpu_ols_solve(s)).coef) < 1e-14 AS same FROM enet_bad;
SELECT set, count(*) FROM enet_states, gpu_enet_path(s, lambda => '{0}') GROUP BY set ORDER BY set;
-- sums that no rows can give: correlations of 0.9, 0.9 and -0.9
SELECT count(*) FROM gpu_enet_path('{"version":2,"features":3,"rows":50,"skipped":0,"shift":[0,0,0,0],"gram":[50,0,0,0,
    1,0,0,0,0.9,0,1,0,0,0,0.9,0,-0.9,0,1,0,0,0,0.5,0,0.1,0,0.2,0,1,0]}'::gpu_ols_stats);
\echo :LAST_ERROR_SQLSTATE
-- invalid folds
SELECT gpu_enet_cv_agg(s) FROM enet_bad;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_enet_cv_agg(s) IS NULL AS none FROM enet_bad WHERE false;
SELECT gpu_enet_cv_agg(NULL) IS NULL AS none FROM enet_bad;
SELECT gpu_enet_cv_agg(s) FROM (SELECT s FROM enet_bad UNION ALL SELECT s FROM enet_states WHERE set = 'plain') f;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_enet_cv_agg(s, alpha) FROM enet_folds, LATERAL (SELECT fold * 0.1 AS alpha) a WHERE set = 'plain';
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_enet_cv_agg(s, 2) FROM enet_folds WHERE set = 'plain';
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_enet_cv_agg(s, 1, 100, NULL, NULL, '{1}', NULL, true, true, NULL, NULL) FROM enet_folds WHERE set = 'plain';
\echo :LAST_ERROR_SQLSTATE
-- a fold of one row, and one that has all the variation
SELECT (gpu_enet_cv_agg(s)).nfolds
FROM (SELECT gpu_ols_stats_array_agg(y, x) AS s FROM enet_rows WHERE set = 'plain' GROUP BY y) f;
SELECT (gpu_enet_cv_agg(s)).nfolds
FROM (SELECT gpu_ols_stats_agg(CASE id % 2 WHEN 0 THEN 1 ELSE y END, a, b) AS s FROM enet_many GROUP BY id % 2) f;
-- invalid queries
SELECT gpu_enet_fit('SELECT y, a FROM enet_many WHERE false');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_enet_fit('SELECT y, a FROM enet_many', folds => 1);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_enet_fit('SELECT y, a FROM enet_many', choose => 'most');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_enet_fit('SELECT y, a FROM enet_many', fold => 'nowhere');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_enet_fit('SELECT y, a, 1 AS f FROM enet_many', fold => 'f');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_enet_fit('SELECT y, a, point(1, 2) AS f FROM enet_many', fold => 'f');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_enet_fit('SELECT y, a FROM enet_many', lambda => -1);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_enet_fit('SELECT y, a FROM enet_many', penalty_factor => '{1,2}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_enet_fold(1, 2.0);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_enet_fold(NULL, 2.0) IS NULL AS null, gpu_enet_fold(3, NULL::float8) IS NOT NULL AS of_null;
SELECT gpu_enet_fold(3, point(1, 2));
\echo :LAST_ERROR_SQLSTATE
