-- The negative binomial family with an estimated theta, like MASS's glm.nb. glm.sql checks its digits.
\pset format unaligned
\pset tuples_only on
\set SHOW_CONTEXT never
CREATE TABLE negbin_rows (dataset text, y float8, weight float8, frequency float8, base float8, x float8[]);
\copy negbin_rows FROM 'test/data/glm_rows.csv' WITH (FORMAT csv, HEADER)
DELETE FROM negbin_rows WHERE dataset <> 'quine';
-- R's summary(glm.nb(Days ~ Sex + Age + Eth + Lrn, quine)), without the call, residuals and the number of iterations
SELECT regexp_replace(gpu_summary(gpu_glm_fit('SELECT y, x[1] AS sex_m, x[2] AS age_f1, x[3] AS age_f2, x[4] AS '
    'age_f3, x[5], x[6] FROM negbin_rows', 'negative binomial')),
                      'iterations: \d+', 'iterations: ...');
CREATE TABLE negbin_models AS
SELECT gpu_glm_fit('SELECT y, x FROM negbin_rows', 'negative binomial') AS m,
    gpu_glm_fit('SELECT y, x[1:5] FROM negbin_rows', 'negative binomial') AS smaller;
-- the fit at the estimated theta is the same, except that theta is no parameter of it
SELECT bool_and(abs(a.estimate / b.estimate - 1) < 1e-12 AND abs(a.std_error / b.std_error - 1) < 1e-12
    AND abs(a.p_value / b.p_value - 1) < 1e-10) AS same
FROM negbin_models, gpu_tidy(m) a
JOIN gpu_tidy((SELECT gpu_glm_fit('SELECT y, x FROM negbin_rows', 'negative binomial', theta => (m).theta)
    FROM negbin_models)) b USING (term);
SELECT abs(a.log_lik / b.log_lik - 1) < 1e-14 AS log_lik, abs(a.aic - b.aic - 2) < 1e-9 AS aic,
    abs(a.bic - b.bic - ln(a.n)) < 1e-9 AS bic, abs(a.deviance / b.deviance - 1) < 1e-12 AS deviance,
       abs(a.null_deviance / b.null_deviance - 1) < 1e-12 AS null_deviance, a.df_residual = b.df_residual AS df
FROM negbin_models, gpu_glance(m) a,
    gpu_glance((SELECT gpu_glm_fit('SELECT y, x FROM negbin_rows', 'negative binomial', theta => (m).theta)
    FROM negbin_models)) b;
-- the method contains theta's error; the model can be stored
SELECT (m).method ~ '^glm \(theta error = 0\.1610356617149\d+\)$' AS method,
    gpu_glance(m::text::gpu_model) = gpu_glance(m) AS same FROM negbin_models;
-- MASS's anova: the likelihood ratio of models that each have their own theta
SELECT df, abs(statistic - 2 * ((m).log_lik - (smaller).log_lik)) < 1e-9 AS ratio, test FROM negbin_models,
    gpu_anova(smaller, m) WHERE model = 2;
SELECT abs(gpu_predict(m, ARRAY[1, 0, 0, 1, 0, 1]) / exp((m).coef[1] + (m).coef[2] + (m).coef[5] + (m).coef[7]) - 1)
    < 1e-14 AS predicted, p.std_error > 0 AS error, gpu_leverage(m, ARRAY[1, 0, 0, 1, 0, 1]) BETWEEN 0.01
    AND 0.2 AS leverage
FROM negbin_models, gpu_predict_interval(m, 'confidence', 0.95, ARRAY[1, 0, 0, 1, 0, 1]) p;
-- the estimated theta maximises the likelihood of fits at given thetas, with every link, without an intercept, with a
-- penalty, with robust covariances
CREATE TABLE negbin_counts AS SELECT floor((1 + x) ^ 2 * (1 + (i * 7 % 11) / 3.0) / 2) AS y, x, o
FROM (SELECT i, (i * 37 % 101) / 50.0 AS x, (i % 3) / 4.0 AS o FROM generate_series(1, 500) i) t;
CREATE FUNCTION negbin_fit(link text, intercept boolean, l2 float8, vcov text, theta float8 DEFAULT NULL)
RETURNS gpu_model LANGUAGE sql AS $$
    SELECT gpu_glm_fit('SELECT y, x FROM negbin_counts', 'negative binomial', link, intercept, l2 => l2, vcov => vcov,
        theta => theta)
$$;
CREATE FUNCTION negbin_likelihood(m gpu_model, l2 float8) RETURNS float8 LANGUAGE sql AS $$
    SELECT (m).log_lik - l2 / 2 * (m).coef[cardinality((m).coef)] ^ 2
$$;
SELECT c.*, (m).converged, (m).vcov_type, (m).theta BETWEEN 1 AND 100 AS theta,
       abs(negbin_likelihood(more, l2) - negbin_likelihood(less, l2)) < 1e-3 * (2 * negbin_likelihood(m,
           l2) - negbin_likelihood(more, l2) - negbin_likelihood(less, l2)) * 100 AS highest,
       abs((m).coef[1] / (same).coef[1] - 1) < 1e-12
           AND abs(negbin_likelihood(m, 0) / negbin_likelihood(same, 0) - 1) < 1e-13
           AND abs((m).vcov[1][1] / (same).vcov[1][1] - 1) < 1e-11 AS same
FROM (VALUES ('log', true, 0, 'iid'), ('log', false, 0, 'iid'), ('sqrt', true, 0, 'iid'), ('identity', true, 0, 'iid'),
    ('log', true, 50, 'iid'), ('log', true, 0, 'HC1'), ('sqrt', true, 20, 'HC0')) c(link, intercept, l2, vcov),
     LATERAL (SELECT negbin_fit(link, intercept, l2, vcov) AS m OFFSET 0) t,
     LATERAL (SELECT negbin_fit(link, intercept, l2, vcov, (m).theta) AS same,
         negbin_fit(link, intercept, l2, vcov, (m).theta * 1.001) AS more,
         negbin_fit(link, intercept, l2, vcov, (m).theta * 0.999) AS less OFFSET 0) u;
-- counts that vary no more than Poisson's: theta is infinite, the fit Poisson's
CREATE TABLE negbin_poisson AS SELECT round(exp(1 + (i % 5) / 4.0) + (i % 3 - 1) * 0.7) AS y, (i % 5) / 4.0 AS x
FROM generate_series(1, 300) i;
CREATE TABLE negbin_limit AS SELECT gpu_glm_fit('SELECT y, x FROM negbin_poisson', 'negative binomial') AS m,
    gpu_glm_fit('SELECT y, x FROM negbin_poisson', 'poisson') AS p;
SELECT (m).theta, (m).method, (m).converged, abs((m).coef[1] / (p).coef[1] - 1) < 1e-13
    AND abs((m).coef[2] / (p).coef[2] - 1) < 1e-13 AS coef,
       abs((m).vcov[2][2] / (p).vcov[2][2] - 1) < 1e-13 AS vcov, abs((m).log_lik / (p).log_lik - 1) < 1e-13 AS log_lik,
       abs((m).deviance / (p).deviance - 1) < 1e-12 AS deviance,
       abs((m).null_deviance / (p).null_deviance - 1) < 1e-13 AS null_deviance FROM negbin_limit;
SELECT abs(a.aic - b.aic - 2) < 1e-9 AS aic FROM negbin_limit, gpu_glance(m) a, gpu_glance(p) b;
SELECT gpu_predict(m, 0.5) = exp((m).coef[1] + 0.5 * (m).coef[2]) AS predicted,
    abs(i.std_error / j.std_error - 1) < 1e-13 AS error,
    abs(gpu_leverage(m, 0.5) / gpu_leverage(p, 0.5) - 1) < 1e-13 AS leverage
FROM negbin_limit, gpu_predict_interval(m, 'confidence', 0.95, 0.5) i,
    gpu_predict_interval(p, 'confidence', 0.95, 0.5) j;
SELECT regexp_replace(split_part(gpu_summary(m), 'AIC', 2), '^.*Number of iterations: \d+', '...') FROM negbin_limit;
-- equal counts; one row; a group of zeros, whose term is infinite; too few iterations
SELECT m.theta, m.converged FROM gpu_glm_fit('SELECT 3 AS y, x FROM negbin_poisson', 'negative binomial') m;
SELECT m.theta, m.coef[1] = ln(7.0::float8) AS coef FROM gpu_glm_fit('SELECT 7 AS y', 'negative binomial') m;
SELECT m.separated, m.converged, m.theta BETWEEN 1 AND 100 AS theta, abs(m.log_lik / n.log_lik - 1) < 1e-12 AS log_lik,
    abs(m.theta / n.theta - 1) < 1e-10 AS same
FROM gpu_glm_fit('SELECT y, x, false AS g FROM negbin_counts UNION ALL SELECT 0, x, true FROM negbin_counts',
    'negative binomial') m,
     gpu_glm_fit('SELECT y, x FROM negbin_counts', 'negative binomial') n;
SELECT i, m.converged, m.theta > 0 AS theta, m.log_lik < 0 AS log_lik FROM (VALUES (2), (5)) v(i),
    gpu_glm_fit('SELECT y, x FROM negbin_counts', 'negative binomial', max_iter => i) m;
-- errors of fits with a given theta occur without one, too
SELECT gpu_glm_fit('SELECT 0 AS y, x FROM negbin_counts', 'negative binomial');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_glm_fit('SELECT -y, x FROM negbin_counts', 'negative binomial');
\echo :LAST_ERROR_SQLSTATE
-- models made by hand
CREATE FUNCTION negbin_made(method text, family text, theta float8) RETURNS gpu_model LANGUAGE sql AS $$
    SELECT ROW(method, '{(intercept),a}', '{1,2}', NULL, 10, 0, 2, 8, 5, 6, 4, true, NULL, NULL, -9, family, 'log',
        theta, NULL, NULL, NULL, NULL)::gpu_model
$$;
SELECT g.aic FROM unnest('{glm,glm (theta error = 0.5),glm (theta error = Infinity),glm (theta error = '
    'NaN)}'::text[]) method, gpu_glance(negbin_made(method, 'negative binomial', 2)) g;
DO $$
DECLARE method text;
BEGIN
    FOREACH method IN ARRAY '{glm (theta error = 0),glm (theta error = -1),glm (theta error = 0.50),glm (theta error '
        '= ),glm (theta error = 1) x,glm (theta error = 1) (l2 = 2),glm (theta error),ols (theta error = '
        '1)}'::text[] LOOP
        BEGIN
            PERFORM * FROM gpu_glance(negbin_made(method, 'negative binomial', 2));
            RAISE WARNING 'it is a model: %', method;
        EXCEPTION WHEN invalid_parameter_value THEN NULL;
        END;
    END LOOP;
END $$;
SELECT * FROM gpu_glance(negbin_made('glm (theta error = 1)', 'poisson', NULL));
\echo :LAST_ERROR_SQLSTATE
-- a pass over theta requires the negative binomial family
CREATE FUNCTION negbin_pass(family int, theta float8) RETURNS gpu_logreg_step LANGUAGE sql AS $$
    SELECT format('{"version":1,"features":1,"skipped":0,"pass":0,"roles":32,"family":%s,"link":4,"faces":0,'
        '"changed":0,"rows":0,"workers":0,"relative":[0],"theta":[%s],"request":[0,0,0,0,0,0],"sums":[%s]}',
                  family, theta, array_to_string(array_fill(0, ARRAY[35]), ','))::gpu_logreg_step
$$;
SELECT negbin_pass(4, 2) IS NOT NULL AS pass;
SELECT negbin_pass(2, 0);
\echo :LAST_ERROR_SQLSTATE
