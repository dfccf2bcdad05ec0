-- Generalised linear models with absorbed effects: compared with fits of dummy variables
CREATE TABLE absorb_glm AS
SELECT i, i % 12 AS f, i * 7 % 5 AS t, 'g' || i % 6 AS g, x, z, i % 3 + 1 AS w, i % 7 / 10.0 AS o,
       (e * exp(0.3 * x + 0.2 * (i % 12 - 5)))::int AS y, e > 1 + 0.3 * x AS b, e * exp(0.3 * x) AS pos
FROM (SELECT i, (i * 7919 % 1009) / 252.0 - 2 AS x, (i * 104729 % 997) / 997.0 AS z,
             -ln((i::bigint * 15485863 % 10007 + 0.5) / 10008) AS e FROM generate_series(1, 400) i) s;
CREATE FUNCTION absorb_agree(family text, y text, more text DEFAULT '') RETURNS TABLE (n bigint, df boolean, converged
    boolean, estimates boolean, errors boolean, deviances boolean, likelihood boolean) LANGUAGE plpgsql AS $$
DECLARE a gpu_model; b gpu_model;
BEGIN
    EXECUTE format('SELECT m.* FROM gpu_glm_fit(%L, %L, formula => %L, max_iter => 60 %s) m',
                   'SELECT * FROM absorb_glm', family, y || ' ~ x + z | f + t', more) INTO a;
    EXECUTE format('SELECT m.* FROM gpu_glm_fit(%L, %L, formula => %L, max_iter => 60 %s) m',
                   'SELECT * FROM absorb_glm', family, y || ' ~ factor(f) + factor(t) + x + z', more) INTO b;
    RETURN QUERY SELECT a.n, a.df_residual = b.df_residual, a.converged,
        abs(a.coef[1] / b.coef[17] - 1) < 1e-12 AND abs(a.coef[2] / b.coef[18] - 1) < 1e-12,
        abs(a.vcov[1][1] / b.vcov[17][17] - 1) < 1e-11 AND abs(a.vcov[1][2] / b.vcov[17][18] - 1) < 1e-9,
        abs(a.deviance / b.deviance - 1) < 1e-13 AND coalesce(abs(a.null_deviance / b.null_deviance - 1) < 1e-13, true),
        coalesce(abs(a.log_lik / b.log_lik - 1) < 1e-13, b.log_lik IS NULL);
END $$;
SET client_min_messages = error; -- variances of dummies are negative
SELECT c.*, a.* FROM (VALUES ('poisson', 'y', ''), ('binomial', 'b', ''), ('poisson', 'y', ', vcov => ''HC1'''),
    ('poisson', 'y', ', vcov => ''CR0'', clusters => ''{g}'''), ('poisson', 'y', ', weights => ''w'''),
    ('poisson', 'y', ', frequencies => ''w'''), ('poisson', 'y', ', offsets => ''o'''), ('quasipoisson', 'y', ''),
    ('binomial', 'b', ', vcov => ''CR0'', clusters => ''{f,t}'''), ('gaussian', 'pos', ', offsets => ''o'''))
    c (family, response, options), absorb_agree(family, response, options) a;
RESET client_min_messages;
-- steps become shorter by a factor: fewer digits
SELECT v.fam, abs((a).coef[1] / (b).coef[17] - 1) < 1e-9 AS agree, (a).converged
FROM (VALUES ('gamma', 'log', 'pos', NULL), ('negative binomial', 'log', 'y', 2.0), ('binomial', 'probit', 'b', NULL),
             ('gaussian', 'log', 'pos', NULL)) v (fam, lk, resp, th),
     gpu_glm_fit('SELECT * FROM absorb_glm', fam, lk, theta => th, max_iter => 99,
                 formula => resp || ' ~ x + z | f + t') a,
     gpu_glm_fit('SELECT * FROM absorb_glm', fam, lk, theta => th, max_iter => 99,
                 formula => resp || ' ~ factor(f) + factor(t) + x + z') b;
-- a gaussian model is a linear regression
SELECT (gpu_glm_fit('SELECT * FROM absorb_glm', formula => 'pos ~ x | f')).coef
       = (gpu_ols_fit('SELECT * FROM absorb_glm', formula => 'pos ~ x | f')).coef AS same;
-- levels whose responses are all 0, or all equal, are dropped, again and again, with singletons
SELECT (a).n, (a).df_residual, (a).coef = (b).coef AS same
FROM gpu_glm_fit('SELECT CASE WHEN f = 3 THEN 0 ELSE y END AS y, x, f, CASE WHEN i = 1 THEN -1 ELSE t END AS t
                  FROM absorb_glm', 'poisson', formula => 'y ~ x | f + t') a,
     gpu_glm_fit('SELECT y, x, f, t FROM absorb_glm WHERE f <> 3 AND i <> 1', 'poisson', formula => 'y ~ x | f + t') b;
SELECT (a).n, (a).coef = (b).coef AS same
FROM gpu_glm_fit('SELECT CASE f WHEN 3 THEN true WHEN 4 THEN false ELSE b END AS b, x, f FROM absorb_glm', 'binomial',
                 formula => 'b ~ x | f') a,
     gpu_glm_fit('SELECT b, x, f FROM absorb_glm WHERE f NOT IN (3, 4)', 'binomial', formula => 'b ~ x | f') b;
SELECT * FROM gpu_summary(gpu_glm_fit('SELECT CASE WHEN f = 3 THEN 0 ELSE y END AS y, x, z, f, t FROM absorb_glm',
    'poisson', formula => 'y ~ x + z | f + t', vcov => 'CR1', clusters => '{f}'));
-- the formula of gpu_logreg_fit may absorb effects, too
SELECT (gpu_logreg_fit('SELECT * FROM absorb_glm', formula => 'b ~ x + z | f')).coef
       = (gpu_glm_fit('SELECT * FROM absorb_glm', 'binomial', formula => 'b ~ x + z | f')).coef AS same;
-- a feature that the effects span
SELECT (gpu_glm_fit('SELECT * FROM absorb_glm', 'poisson', formula => 'y ~ x + w + z | f')).coef[2] IS NULL AS spanned;
-- errors
\set SHOW_CONTEXT never
SELECT gpu_glm_fit('SELECT 0 AS y, x, f FROM absorb_glm', 'poisson', formula => 'y ~ x | f');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_glm_fit('SELECT f > 4 AS y, x, f FROM absorb_glm', 'binomial', formula => 'y ~ x | f');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_glm_fit('SELECT y, x, f FROM absorb_glm', 'poisson', formula => 'y ~ x | f', l2 => 1);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_glm_fit('SELECT y, x, f FROM absorb_glm', 'negative binomial', formula => 'y ~ x | f');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_glm_fit('SELECT b, x, f FROM absorb_glm', 'binomial', formula => 'b ~ x | f', firth => true);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_glm_fit('SELECT y, x, f, w FROM absorb_glm', 'poisson', formula => 'y ~ x | f', frequencies => 'w',
                   vcov => 'HC1');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_glm_fit('SELECT y, x, f FROM absorb_glm', 'poisson', formula => 'y ~ x | f', vcov => 'HC2');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_glm_fit('SELECT -1 AS y, x, f FROM absorb_glm', 'poisson', formula => 'y ~ x | f');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT * FROM absorb_glm', formula => 'b ~ x + z | f', solver => 'gd');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_anova(gpu_glm_fit('SELECT * FROM absorb_glm', 'poisson', formula => 'y ~ x | f'),
                        gpu_glm_fit('SELECT * FROM absorb_glm', 'poisson', formula => 'y ~ x + z | t'));
\echo :LAST_ERROR_SQLSTATE
SELECT df, statistic > 0 AS positive FROM gpu_anova(
    gpu_glm_fit('SELECT * FROM absorb_glm', 'poisson', formula => 'y ~ x | f'),
    gpu_glm_fit('SELECT * FROM absorb_glm', 'poisson', formula => 'y ~ x + z | f'));
-- a feature that determines the response: no convergence
SELECT (gpu_glm_fit('SELECT x > 0 AS b, x, f FROM absorb_glm', 'binomial', formula => 'b ~ x | f')).converged;
\unset SHOW_CONTEXT
DROP FUNCTION absorb_agree(text, text, text);
DROP TABLE absorb_glm;
