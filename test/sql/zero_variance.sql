-- Robust variances that are 0 up to rounding, or negative, are NULL for these terms alone; tests that need the inverse
-- of a singular covariance matrix are errors. R's values: lm, sandwich's vcovCL and vcovHC, lmtest's waldtest.
\set SHOW_CONTEXT never
CREATE TABLE zero AS
SELECT i, i * 37 % 101 / 10.0::float8 + i % 7 AS y, i * 53 % 97 / 10.0::float8 AS a, i * 29 % 89 / 10.0::float8 AS b,
    i * 31 % 83 / 10.0::float8 AS c, i * 17 % 79 / 10.0::float8 AS e, i % 3 AS g, i % 2 AS d, i % 2 AS two, i % 4 AS four,
    (i % 4 > 0)::int AS treated, 1 AS w
FROM generate_series(1, 40) i;
CREATE FUNCTION with_errors(m gpu_model) RETURNS text LANGUAGE sql AS
    $$SELECT coalesce(string_agg(term, ' '), 'none') FROM gpu_tidy(m) WHERE std_error IS NOT NULL$$;

-- a treatment that is constant in each of two clusters, by every way to compute covariances
SELECT v, with_errors(gpu_ols_fit('SELECT y, d, two FROM zero', vcov => v, clusters => '{two}'))
FROM unnest('{CR0,CR1,CR2}'::text[]) v;
SELECT f, l, with_errors(gpu_glm_fit('SELECT y + 1 AS y, d, two FROM zero', f, l, vcov => 'CR1', clusters => '{two}'))
FROM (VALUES ('gaussian', 'identity'), ('gaussian', 'log'), ('gamma', 'inverse'), ('quasipoisson', 'log')) v(f, l);
SELECT f, with_errors(gpu_glm_fit('SELECT (y + 1)::int AS y, d, two FROM zero', f, vcov => 'CR2', clusters => '{two}'))
FROM unnest('{poisson,negative binomial}'::text[]) f;
SELECT v, with_errors(gpu_logreg_fit('SELECT y > 8, d, two FROM zero', vcov => v, clusters => '{two}'))
FROM unnest('{CR0,CR1,CR2}'::text[]) v;
SELECT with_errors(gpu_ols_fit('SELECT y, d, two, four, i FROM zero', weights => 'i', vcov => 'CR1', clusters => '{two}',
    formula => 'y ~ d'));
SELECT v, with_errors(gpu_ols_cluster_agg(s, v))
FROM (SELECT gpu_ols_stats_agg(y, d) AS s FROM zero GROUP BY two) q, unnest('{CR0,CR1,CR3,CR3J}'::text[]) v GROUP BY v
ORDER BY v COLLATE "C";
-- a factor of the clusters themselves, also of logistic regressions
SELECT v, with_errors(gpu_ols_fit('SELECT y, four FROM zero', formula => 'y ~ factor(four)', vcov => v,
    clusters => '{four}')) FROM unnest('{CR0,CR1,CR2}'::text[]) v;
SELECT with_errors(gpu_logreg_fit('SELECT y > 8 AS y, four FROM zero', formula => 'y ~ factor(four)', vcov => 'CR1',
    clusters => '{four}'));
-- equal clusters; also far from 0, in other units, and with nearly collinear columns
SELECT with_errors(gpu_ols_fit(format('SELECT y * %s AS y, a * %s + %s AS a, a * a AS a2, k FROM zero, '
    'generate_series(1, 9) k', u, v, w), vcov => 'CR1', clusters => '{k}'))
FROM (VALUES (1, 1, 0), (1e-100, 1e100, 0), (1e100, 1e-9, 1000), (1, 1, 1e6), (1, 1, -1e9)) v(u, v, w);
SELECT with_errors(gpu_ols_fit('SELECT y, a, a + b / 1e7, k FROM zero, generate_series(1, 9) k', vcov => 'CR2',
    clusters => '{k}'));
SELECT with_errors(gpu_logreg_fit('SELECT y > 8, a + 1e5, b, k FROM zero, generate_series(1, 9) k', vcov => 'CR1',
    clusters => '{k}'));
-- one control cluster: its mean is the intercept, whose variance alone is 0, also if it is a difference of large
-- variances
SELECT v, with_errors(m), abs((m).vcov[2][2] / exact - 1) < 1e-13 AS treated
FROM (SELECT sum(u ^ 2) / sum(n) ^ 2 AS cr0
      FROM (SELECT sum(y - mean) AS u, count(*) AS n
            FROM (SELECT *, avg(y) OVER () AS mean FROM zero WHERE treated = 1) t GROUP BY four) g) r,
    (VALUES ('CR0', 1), ('CR1', 4 / 3.0 * 39 / 38)) k(v, factor),
    gpu_ols_fit('SELECT y, treated, four FROM zero', vcov => v, clusters => '{four}') m,
    LATERAL (SELECT cr0 * factor AS exact) x;
SELECT v, with_errors(gpu_ols_fit('SELECT y, (i > 1)::int AS most, CASE WHEN i = 1 THEN 9 ELSE i % 9 END AS cluster '
    'FROM zero', vcov => v, clusters => '{cluster}')) FROM unnest('{CR0,CR1,CR2}'::text[]) v;
SELECT with_errors(gpu_ols_cluster_agg(s)) FROM (SELECT gpu_ols_stats_agg(y, treated) AS s FROM zero GROUP BY four) q;

-- HC: rows that are fitted exactly; a row fitted by a term of its own, whose variance is that of the others' mean
SELECT v, with_errors(gpu_ols_fit('SELECT y * (1 - d), 1 - d AS d0, d AS d1 FROM zero', false, vcov => v))
FROM unnest('{HC0,HC1,HC2,HC3}'::text[]) v;
SELECT with_errors(m), abs((m).vcov[2][2] / (r.square / r.n ^ 2) - 1) < 1e-12 AS own
FROM gpu_ols_fit('SELECT i % 7, (i = 1)::int AS own FROM generate_series(1, 100000) i', vcov => 'HC0') m,
    (SELECT sum((y - mean) ^ 2) AS square, count(*) AS n
     FROM (SELECT i % 7 AS y, avg(i % 7) OVER () AS mean FROM generate_series(2, 100000) i) q) r;

-- no more clusters than terms: valid variances stay, and so do tests of fewer terms than clusters; other tests are
-- errors
CREATE TABLE few AS SELECT gpu_ols_fit('SELECT y, a, b, c, e, g FROM zero', vcov => 'CR1', clusters => '{g}') AS m;
SELECT bool_and(abs(std_error / r - 1) < 1e-12) AS errors FROM few, gpu_tidy(m) JOIN (VALUES
    ('(intercept)', 0.907739264544530355), ('a', 0.048642131834875826), ('b', 0.080364350554962868),
    ('c', 0.234804309790088706), ('e', 0.070595618246105649)) v(term, r) USING (term);
SELECT df1, df2, statistic > 0 AS statistic FROM few, gpu_wald(m, '{a,b}');
SELECT gpu_wald(m, '{a,b,c}') FROM few;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_wald(m) FROM few;
SELECT gpu_wald(gpu_logreg_fit('SELECT y > 8, a, b, c, g FROM zero', vcov => 'CR0', clusters => '{g}'));
SELECT gpu_wald(gpu_ols_cluster_agg(s, 'CR3J')) FROM (SELECT gpu_ols_stats_agg(y, a, b, c) AS s FROM zero GROUP BY g) q;
SELECT f_statistic, f_p_value, vcov, adj_r_squared IS NOT NULL AS others FROM few, gpu_glance(m);
SELECT line FROM few, regexp_split_to_table(gpu_summary(m), '\n') line WHERE line LIKE '%Wald%';
-- a term without a variance
CREATE TABLE lone AS SELECT gpu_ols_fit('SELECT y, treated, a, four FROM zero', formula => 'y ~ treated', vcov => 'CR1',
    clusters => '{four}') AS m;
SELECT gpu_wald(m, '{(intercept)}') FROM lone;
\echo :LAST_ERROR_SQLSTATE
SELECT df1, df2, agrees FROM lone, gpu_wald(m) w, gpu_tidy(m) t,
    LATERAL (SELECT abs(w.statistic / t.statistic ^ 2 - 1) < 1e-13 AS agrees) q WHERE term = 'treated';
SELECT fit IS NOT NULL AS fit, std_error FROM lone, gpu_predict_interval(m, 'confidence', 0.95, 1) i;

-- two keys: negative variances, at the fit and in three models
CREATE TABLE signs AS
SELECT y, x, a, b FROM (VALUES (1.2, 1.0, 1, 1), (-1, 1, 1, 2), (-1, 1, 2, 1), (1, 1, 2, 2), (2, -1, 1, 1),
    (-2, -1, 1, 2), (-2.1, -1, 2, 1), (2, -1, 2, 2)) t(y, x, a, b);
SELECT with_errors(gpu_ols_fit('SELECT y, x, a, b FROM signs', vcov => 'CR1', clusters => '{a,b}'));
SELECT with_errors(gpu_ols_two_way(m[1], m[2], m[3]))
FROM (SELECT array_agg(m ORDER BY k) AS m
      FROM (SELECT 1 AS k, gpu_ols_cluster_agg(s, 'CR0') AS m
            FROM (SELECT gpu_ols_stats_agg(y, x) AS s FROM signs GROUP BY a) q
            UNION ALL SELECT 2, gpu_ols_cluster_agg(s, 'CR0')
            FROM (SELECT gpu_ols_stats_agg(y, x) AS s FROM signs GROUP BY b) q
            UNION ALL SELECT 3, gpu_ols_cluster_agg(s, 'CR0')
            FROM (SELECT gpu_ols_stats_agg(y, x) AS s FROM signs GROUP BY a, b) q) t) t;

-- perfect fits: residuals of 0 give no errors
SELECT v, with_errors(gpu_ols_fit('SELECT 1.1 + 2.3 * a - b / 3, a, b FROM zero', vcov => v))
FROM unnest('{HC0,HC1,HC2,HC3}'::text[]) v;
SELECT v, with_errors(gpu_ols_fit('SELECT (1.1 + 2.3 * a) * 1e-150, a, g FROM zero', vcov => v, clusters => '{g}'))
FROM unnest('{CR0,CR1,CR2}'::text[]) v;
SELECT f, l, v, with_errors(m), (m).dispersion
FROM (VALUES ('gamma', 'log', 'exp(1.1 + a / 3)'), ('gamma', 'inverse', '1 / (1 + a)'), ('gaussian', 'log', 'exp(a / 9)'),
             ('quasipoisson', 'log', 'exp(1.1 + a / 3)'), ('gaussian', 'inverse', '1 / (2 + a)'),
             ('quasibinomial', 'logit', '1 / (1 + exp(-a / 5))')) k(f, l, y),
    unnest('{iid,HC1}'::text[]) v, gpu_glm_fit(format('SELECT %s AS y, a FROM zero', y), f, l, vcov => v) m;
SELECT with_errors(gpu_glm_fit('SELECT 1 + d, d FROM zero', 'poisson', vcov => 'HC0')),
    with_errors(gpu_glm_fit('SELECT 1 + d, d FROM zero', 'poisson'));
SELECT with_errors(gpu_glm_solve(gpu_glm_step_agg('gamma', 'log', ARRAY[1.1, 1 / 3.0::float8], exp(1.1 + a / 3), a)))
FROM zero;
-- nearly perfect fits are told from perfect ones
SELECT f, l, v, with_errors(gpu_glm_fit(format('SELECT %s * (1 + 1e-11 * sin(i)) AS y, a FROM zero', y), f, l, vcov => v))
FROM (VALUES ('gamma', 'log', 'exp(1.1 + a / 3)'), ('gaussian', 'log', 'exp(a / 9)'),
             ('gaussian', 'identity', '(1.1 + 2.3 * a)')) k(f, l, y), unnest('{iid,HC1}'::text[]) v;
SELECT with_errors(gpu_ols_fit('SELECT 1e12 + 2.3 * a + sin(i), a FROM zero', vcov => 'HC3'));

-- F under robust covariances is Wald's
SELECT abs(f_statistic / 26.505395246320035 - 1) < 1e-12 AS f, abs(f_p_value / 2.4886610265754593e-08 - 1) < 1e-9 AS p
FROM gpu_glance(gpu_ols_fit('SELECT mpg, wt, hp, qsec FROM mtcars', vcov => 'HC3'));
SELECT bool_and(abs(g.f_statistic / w.statistic - 1) < 1e-13 AND abs(g.f_p_value / w.p_value - 1) < 1e-13) AS same
FROM unnest('{HC0,HC1,HC2,HC3,CR0,CR1}'::text[]) v, LATERAL (SELECT gpu_ols_fit(
         format('SELECT mpg, wt, hp%s FROM mtcars', CASE WHEN v LIKE 'CR%' THEN ', carb' END), vcov => v,
         clusters => CASE WHEN v LIKE 'CR%' THEN '{carb}'::text[] END) AS m) q, gpu_glance(m) g, gpu_wald(m) w;
SELECT line FROM regexp_split_to_table(gpu_summary(gpu_ols_fit('SELECT mpg, wt, hp, qsec FROM mtcars',
    vcov => 'HC3')), '\n') line WHERE line LIKE '%F%DF%';
SELECT line FROM regexp_split_to_table(gpu_summary(gpu_ols_fit('SELECT mpg, wt, carb FROM mtcars', vcov => 'CR1',
    clusters => '{carb}')), '\n') line WHERE line LIKE '%F%DF%';
DROP TABLE zero, few, lone, signs;
DROP FUNCTION with_errors(gpu_model);
