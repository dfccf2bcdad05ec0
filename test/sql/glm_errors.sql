-- Families and links: bad input, each message with its SQLSTATE, and results at the edges.
\set SHOW_CONTEXT never
CREATE TABLE glm_bad (y float8, x float8, w float8, o float8, class int);
INSERT INTO glm_bad SELECT i % 7, i % 5, 1 + i % 3, i % 4, (i * 7 + i / 3) % 5 % 2 FROM generate_series(1, 60) i;
SELECT gpu_glm_fit('SELECT y, x FROM glm_bad', 'weibull');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_glm_fit('SELECT y, x FROM glm_bad', '');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_glm_fit('SELECT y, x FROM glm_bad', 'poisson', 'cauchit');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_glm_fit('SELECT y, x FROM glm_bad', 'poisson', 'logit');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_glm_fit('SELECT y, x FROM glm_bad', 'gaussian', 'logit');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_glm_fit('SELECT y, x FROM glm_bad', 'negative binomial', theta => 0);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_glm_fit('SELECT y, x FROM glm_bad', 'negative binomial', theta => 'Infinity');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_glm_fit('SELECT y, x FROM glm_bad', 'poisson', theta => 1);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_glm_fit('SELECT y, x FROM glm_bad', 'poisson', max_iter => 0);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_glm_fit('SELECT y, x FROM glm_bad', 'poisson', tol => 1);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_glm_fit('SELECT y, x FROM glm_bad', 'poisson', l2 => -1);
\echo :LAST_ERROR_SQLSTATE
-- a response outside the family's domain, for each way of the rows
SELECT gpu_glm_fit('SELECT y - 1, x FROM glm_bad', 'poisson');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_glm_fit('SELECT y, x FROM glm_bad', 'gamma');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_glm_fit('SELECT y - 1 AS "How many", x FROM glm_bad WHERE random() >= 0', 'negative binomial', theta => 2);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_glm_fit('SELECT y, x FROM glm_bad', 'binomial', 'probit');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_glm_fit('SELECT y / 7, x, w FROM glm_bad', 'binomial', 'cloglog', weights => 'w') IS NOT NULL AS shares;
SELECT (gpu_glm_fit('SELECT y / 7, x FROM glm_bad', 'quasibinomial')).converged AS shares_without_weights;
SELECT gpu_glm_fit('SELECT y, x FROM glm_bad', 'quasibinomial', 'probit');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_glm_fit('SELECT y / 7, x, w FROM glm_bad', 'quasibinomial', frequencies => 'w');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_glm_fit('SELECT y, x, w FROM glm_bad', 'binomial', 'cloglog', weights => 'w');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_glm_fit('SELECT y, x, -w AS w FROM glm_bad', 'poisson', weights => 'w');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_glm_fit('SELECT y, x, w / 2 AS w FROM glm_bad', 'poisson', frequencies => 'w');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_glm_fit('SELECT ''NaN''::float8 AS y, x FROM glm_bad', 'gamma');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_glm_fit('SELECT y, x, ''Infinity''::float8 AS o FROM glm_bad', 'poisson', offsets => 'o');
\echo :LAST_ERROR_SQLSTATE
-- responses that leave nothing to fit
SELECT gpu_glm_fit('SELECT 0 AS y, x FROM glm_bad', 'poisson');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_glm_fit('SELECT class, x FROM glm_bad WHERE class = 1', 'binomial', 'probit');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_glm_fit('SELECT y, x FROM glm_bad WHERE false', 'poisson');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_glm_fit('SELECT y FROM glm_bad', 'poisson', intercept => false);
\echo :LAST_ERROR_SQLSTATE
-- NULLs: for an argument that is needed; in rows, which are left out and counted
SELECT gpu_glm_fit(NULL) IS NULL AS query, gpu_glm_fit('SELECT y, x FROM glm_bad', NULL) IS NULL AS family,
       gpu_glm_fit('SELECT y, x FROM glm_bad', 'poisson', NULL) IS NOT NULL AS link,
       gpu_glm_fit('SELECT y, x FROM glm_bad', intercept => NULL) IS NULL AS intercept,
       (gpu_glm_fit('SELECT nullif(y, 3), nullif(x, 2) FROM glm_bad', 'poisson')).n_skipped;
-- one term, and as many rows as terms; a column of zeros; of constants
SELECT m.terms, round(m.coef[1]::numeric, 12), m.rank, m.df_residual, m.dispersion
FROM gpu_glm_fit('SELECT y FROM glm_bad', 'poisson') m;
SELECT m.coef[2] IS NULL AS aliased, m.rank FROM gpu_glm_fit('SELECT y, 0 AS x FROM glm_bad', 'poisson') m;
SELECT m.coef[2] IS NULL AS aliased, m.rank FROM gpu_glm_fit('SELECT y + 1, 4 AS x FROM glm_bad', 'gamma') m;
SELECT m.df_residual, m.dispersion, m.deviance < 1e-20 AS perfect, round(m.coef[1]::numeric, 10) AS a,
    round(m.coef[2]::numeric, 10) AS b
FROM gpu_glm_fit('SELECT * FROM (VALUES (1, 0), (2, 1)) v(y, x)', 'gamma') m;
SELECT term, std_error, p_value FROM gpu_tidy(gpu_glm_fit('SELECT * FROM (VALUES (1, 0), (2, 1)) v(y, x)', 'gamma'));
-- a share without weights is a share of one trial, whatever the columns' names
SELECT link, (a).coef = (b).coef AS coef, (a).vcov = (b).vcov AS vcov,
    (a).null_deviance = (b).null_deviance AS null_deviance, (a).terms
FROM unnest('{logit,probit,cloglog}'::text[]) link,
    LATERAL (SELECT gpu_glm_fit('SELECT y / 7 AS "(weight)", x, w AS "((weight))" FROM glm_bad', 'quasibinomial',
    link) AS a,
     gpu_glm_fit('SELECT y / 7, x, w, 1 AS ones FROM glm_bad', 'quasibinomial', link,
         weights => 'ones') AS b OFFSET 0) t;
SELECT m.terms, m.df_residual FROM gpu_glm_fit('SELECT y / 7 AS share, (x > 2)::text AS x, w, o FROM glm_bad',
    'quasibinomial', formula => 'share ~ x * w', offsets => 'o') m;
-- spellings of names
SELECT f, m.family, m.link, m.method
FROM unnest('{Poisson,quasi-poisson,quasi_poisson,QUASIBINOMIAL,negative-binomial,NegativeBinomial,Gamma,'
    'gaussian}'::text[]) f,
    gpu_glm_fit(CASE WHEN f ILIKE '%binomial' AND f NOT ILIKE 'neg%' THEN 'SELECT class, x FROM glm_bad'
        ELSE 'SELECT y + 1, x FROM glm_bad' END, f,
                theta => CASE WHEN f ILIKE 'neg%' THEN 3 END) m;
-- the binomial family with the logit link has the bits of logistic regression, the gaussian one those of linear
-- regression
SELECT (m).coef = (l).coef AS coef, (m).vcov = (l).vcov AS vcov, (m).method, (m).log_lik = (l).log_lik AS log_lik
FROM (SELECT gpu_glm_fit('SELECT class, x, o FROM glm_bad', 'binomial') AS m,
    gpu_logreg_fit('SELECT class, x, o FROM glm_bad') AS l) t;
SELECT (m).coef = (l).coef AS coef, (m).vcov = (l).vcov AS vcov, (m).method, (m).log_lik = (l).log_lik AS log_lik
FROM (SELECT gpu_glm_fit('SELECT y, x, o, w FROM glm_bad', weights => 'w') AS m,
    gpu_ols_fit('SELECT y, x, o, w FROM glm_bad', weights => 'w') AS l) t;
-- weights of 1 change no bit; a frequency of 2 equals the row twice
SELECT f, (a).coef = (b).coef AS coef, (a).deviance = (b).deviance AS deviance, (a).vcov = (b).vcov AS vcov
FROM unnest('{poisson,gamma,quasipoisson}'::text[]) f,
    LATERAL (SELECT gpu_glm_fit('SELECT y + 1, x FROM glm_bad', f) AS a,
     gpu_glm_fit('SELECT y + 1, x, 1 AS w FROM glm_bad', f, weights => 'w') AS b OFFSET 0) t;
SELECT f, (a).n = (b).n AS n, abs((a).coef[2] / (b).coef[2] - 1) < 1e-13 AS coef,
    abs((a).log_lik / (b).log_lik - 1) < 1e-13 AS log_lik,
       abs((a).dispersion / (b).dispersion - 1) < 1e-13 AS dispersion
FROM unnest('{poisson,gamma,quasipoisson}'::text[]) f,
    LATERAL (SELECT gpu_glm_fit('SELECT y + 1, x FROM glm_bad, generate_series(1, 2)', f) AS a,
     gpu_glm_fit('SELECT y + 1, x, 2 AS w FROM glm_bad', f, frequencies => 'w') AS b OFFSET 0) t;
-- offsets whose exponential overflows: the estimates make up for them
SELECT m.converged, round(m.coef[1]::numeric + 1e4, 6) AS intercept, round(m.coef[2]::numeric, 6) AS slope
FROM gpu_glm_fit('SELECT y, x, 1e4 AS o FROM glm_bad', 'poisson', offsets => 'o') m
UNION ALL SELECT m.converged, round(m.coef[1]::numeric, 6), round(m.coef[2]::numeric, 6)
FROM gpu_glm_fit('SELECT y, x FROM glm_bad', 'poisson') m;
-- predictions by each link
SELECT link, bool_and(abs(gpu_predict(m, 2.0) / mean - 1) < 1e-14) AS predicted
FROM (VALUES ('poisson', 'log'), ('poisson', 'identity'), ('poisson', 'sqrt'), ('gamma', 'inverse')) v(f, link),
     LATERAL (SELECT gpu_glm_fit('SELECT y + 1, x FROM glm_bad', f, link) AS m OFFSET 0) t,
     LATERAL (SELECT (m).coef[1] + 2 * (m).coef[2] AS eta) e,
     LATERAL (SELECT CASE link WHEN 'log' THEN exp(eta) WHEN 'sqrt' THEN eta * eta WHEN 'inverse' THEN 1 / eta
         ELSE eta END AS mean) u GROUP BY link ORDER BY link;
-- a model made by hand
SELECT * FROM gpu_tidy(ROW('glm', '{(intercept),a}', '{1,2}', NULL, 10, 0, 2, 8, 5, 6, 4, true, NULL, NULL, NULL,
    'poisson', 'logit', NULL, NULL, NULL, NULL, NULL)::gpu_model);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_tidy(ROW('glm', '{(intercept),a}', '{1,2}', NULL, 10, 0, 2, 8, 5, 6, 4, true, NULL, NULL, NULL,
    'negative binomial', 'log', 'NaN', NULL, NULL, NULL, NULL)::gpu_model);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(ROW('ols', '{(intercept),a}', '{1,2}', NULL, 10, 0, 2, 8, 5, 6, 4, true, NULL, NULL, NULL,
    'poisson', 'log', NULL, NULL, NULL, NULL, NULL)::gpu_model, 1);
\echo :LAST_ERROR_SQLSTATE
-- a pass made by hand
SELECT '{"version":1,"features":1,"skipped":0,"pass":0,"family":2,"link":1,"faces":0,"changed":0,"rows":0,"workers":0,'
    '"relative":[0],"theta":[0],"request":[0,0,0,0,0,0],"sums":[0]}'::gpu_logreg_step;
\echo :LAST_ERROR_SQLSTATE
SELECT '{"version":1,"features":1,"skipped":0,"pass":0,"family":9,"link":1,"faces":0,"changed":0,"rows":0,'
    '"workers":0}'::gpu_logreg_step;
\echo :LAST_ERROR_SQLSTATE
-- the gaussian family with options that linear regression lacks: an offset is subtracted from the response; a penalty
-- is ridge regression's
SELECT abs((a).coef[2] / (b).coef[2] - 1) < 1e-13 AS coef, abs((a).deviance / (b).deviance - 1) < 1e-13 AS deviance,
    abs((a).vcov[2][2] / (b).vcov[2][2] - 1) < 1e-13 AS vcov,
       abs((a).null_deviance / (b).null_deviance - 1) < 1e-13 AS null_deviance,
       abs((a).log_lik / (b).log_lik - 1) < 1e-13 AS log_lik, (a).method, (a).df_inference
FROM (SELECT gpu_glm_fit('SELECT y, x, o FROM glm_bad', offsets => 'o') AS a,
    gpu_ols_fit('SELECT y - o, x FROM glm_bad') AS b) t;
SELECT m.method, abs(m.coef[2] / (sxy / (sxx + 10)) - 1) < 1e-13 AS ridge,
    abs(m.coef[1] / (my - m.coef[2] * mx) - 1) < 1e-13 AS intercept
FROM gpu_glm_fit('SELECT y, x FROM glm_bad', l2 => 10) m, (SELECT regr_sxy(y, x) AS sxy, regr_sxx(y, x) AS sxx,
    avg(y) AS my, avg(x) AS mx FROM glm_bad) s;
