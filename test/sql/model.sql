-- gpu_tidy, gpu_glance, gpu_predict over a gpu_model.
CREATE TEMP TABLE m AS SELECT gpu_ols_fit('SELECT mpg, wt, hp, qsec FROM mtcars') AS model;
-- R 4.2's summary(lm(mpg ~ wt + hp + qsec, mtcars)), confint(), logLik(), AIC(), BIC()
SELECT term, round(estimate::numeric, 6) AS estimate, round(std_error::numeric, 6) AS std_error,
    round(statistic::numeric, 5) AS statistic,
       round(p_value::numeric, 10) AS p_value, round(conf_low::numeric, 6) AS conf_low,
       round(conf_high::numeric, 6) AS conf_high
FROM m, gpu_tidy(model);
SELECT n, n_skipped, rank, df_residual, round(r_squared::numeric, 8) AS r_squared,
    round(adj_r_squared::numeric, 8) AS adj_r_squared,
       round(sigma::numeric, 6) AS sigma, round(f_statistic::numeric, 5) AS f_statistic,
       round(f_p_value::numeric, 16) AS f_p_value,
       round(deviance::numeric, 5) AS deviance, round(null_deviance::numeric, 5) AS null_deviance,
       round(log_lik::numeric, 6) AS log_lik, round(aic::numeric, 5) AS aic, round(bic::numeric, 5) AS bic, iterations,
       converged
FROM m, gpu_glance(model);
-- summary(lm(mpg ~ 0 + wt + hp, mtcars)): without an intercept R2 and F are about 0
SELECT round(r_squared::numeric, 9) AS r_squared, round(adj_r_squared::numeric, 9) AS adj_r_squared,
    round(sigma::numeric, 7) AS sigma,
       round(f_statistic::numeric, 7) AS f_statistic, round(f_p_value::numeric, 17) AS f_p_value,
       round(log_lik::numeric, 9) AS log_lik, df_residual
FROM gpu_glance(gpu_ols_fit('SELECT mpg, wt, hp FROM mtcars', intercept => false));
-- limits of another confidence level are inside these; exponentiate changes only estimates and limits
SELECT bool_and(a.conf_low < b.conf_low AND b.conf_high < a.conf_high AND a.estimate = b.estimate) AS nested
FROM m, gpu_tidy(model, 0.99) a JOIN m m2 ON true, gpu_tidy(m2.model, 0.5) b WHERE a.term = b.term;
SELECT bool_and(abs(e.estimate - exp(t.estimate)) <= 1e-14 * e.estimate AND e.std_error = t.std_error
    AND e.conf_low = exp(t.conf_low)) AS exponentiated
FROM m, gpu_tidy(model) t, gpu_tidy(model, exponentiate => true) e WHERE t.term = e.term;
-- predictions: residuals of a fit with an intercept sum to 0, their squares to the deviance
SELECT abs(sum(mpg - gpu_predict(model, wt, hp, qsec))) < 1e-12 AS sum_is_0,
       abs(sum((mpg - gpu_predict(model, wt, hp, qsec)) ^ 2) / max((model).deviance) - 1) < 1e-13 AS squares
FROM m, mtcars;
SELECT gpu_predict(model, VARIADIC ARRAY[2.62, 110, 16.46]) = gpu_predict(model, 2.62, 110, 16.46) AS same,
       gpu_predict(model, 1, NULL, 2) IS NULL AS null_x, gpu_predict(NULL, 1) IS NULL AS null_model,
       gpu_predict(model, VARIADIC NULL::float8[]) IS NULL AS null_xs
FROM m;
-- no intercept
SELECT round(gpu_predict(gpu_ols_fit('VALUES (2, 1), (3, 2), (5, 3)', false), 10)::numeric, 10) AS no_intercept;
-- aliased terms: no estimate, no error, and they count as 0 in predictions
CREATE TEMP TABLE aliased AS SELECT gpu_ols_fit('SELECT mpg, wt, 2 * wt AS wt2, hp FROM mtcars') AS model,
    gpu_ols_fit('SELECT mpg, wt, hp FROM mtcars') AS without;
SELECT term, estimate IS NULL AS no_estimate, std_error IS NULL AS no_error, p_value IS NULL AS no_p
FROM aliased, gpu_tidy(model);
SELECT gpu_predict(model, 3, 6, 100) = gpu_predict(without, 3, 100) AS same, (model).rank, (model).df_residual,
    (model).deviance = (without).deviance AS same_deviance FROM aliased;
-- df 0: estimates, but no errors and no sigma
SELECT term, estimate, std_error, statistic, p_value, conf_low, conf_high
FROM gpu_tidy(gpu_ols_fit('VALUES (3, 1), (5, 2)'));
SELECT n, rank, df_residual, r_squared, adj_r_squared, sigma, f_statistic, f_p_value, deviance
FROM gpu_glance(gpu_ols_fit('VALUES (3, 1), (5, 2)'));
-- y constant: it fits, and R2 is NULL
SELECT term, estimate, std_error FROM gpu_tidy(gpu_ols_fit('SELECT 0.1, i FROM generate_series(1, 100) i'));
SELECT r_squared, adj_r_squared, f_statistic, deviance, null_deviance
FROM gpu_glance(gpu_ols_fit('SELECT 0.1, i FROM generate_series(1, 100) i'));
-- a perfect fit: no residual, an infinite F
SELECT r_squared, sigma, f_statistic, f_p_value, deviance
FROM gpu_glance(gpu_ols_fit('SELECT 1 + 2 * i, i FROM generate_series(1, 100) i'));
SELECT term, estimate, std_error, statistic, p_value
FROM gpu_tidy(gpu_ols_fit('SELECT 1 + 2 * i, i FROM generate_series(1, 100) i'));
-- p-values deep in the tail: one below float8's range, and one far below the rounding of 1 - P
WITH f AS (SELECT * FROM gpu_tidy(gpu_ols_fit('SELECT i + 0.2 * (i % 2), i FROM generate_series(1, 3000) i'))
    WHERE term = 'i')
SELECT statistic > 1e5 AS large, p_value = 0 AS underflows FROM f;
WITH f AS (SELECT * FROM gpu_tidy(gpu_ols_fit('SELECT i + 0.2 * (i % 2), i FROM generate_series(1, 60) i'))
    WHERE term = 'i')
SELECT statistic > 1000 AS large, p_value > 0 AND p_value < 1e-100 AS deep FROM f;
-- a model survives a table, and text
CREATE TABLE models AS SELECT 'mtcars' AS name, model FROM m;
SELECT s.model::text::gpu_model = m.model AS same FROM models s, m;
SELECT count(*) FROM models, gpu_tidy(model);
DROP TABLE models;
-- invalid models and arguments
SELECT * FROM gpu_tidy(ROW('ols', '{a,b}', '{1}', '{{1}}', 1, 0, 1, 0, 0, 0, 1, true, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL)::gpu_model);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_tidy(ROW('ols', '{a,NULL}', '{1,2}', '{{1,2},{3,4}}', 1, 0, 1, 0, 0, 0, 1, true, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::gpu_model);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_tidy(ROW('ols', '{}', '{}', '{}', 1, 0, 1, 0, 0, 0, 1, true, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, NULL)::gpu_model);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_glance(ROW('probit', '{a}', '{1}', '{{1}}', 1, 0, 1, 0, 0, 0, 1, true, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL)::gpu_model);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_glance(ROW('ols', '{a}', '{1}', '{{1}}', NULL, 0, 1, 0, 0, 0, 1, true, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL)::gpu_model);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(model, 1, 2) FROM m;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(model, VARIADIC '{{1,2,3}}'::float8[]) FROM m;
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM m, gpu_tidy(model, 1);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM m, gpu_tidy(model, 'NaN');
\echo :LAST_ERROR_SQLSTATE
