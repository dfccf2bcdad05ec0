-- gpu_augment against R's residuals, rstandard, rstudent, hatvalues, cooks.distance and dffits:
-- test/data/augment_reference.R. Leverages of models with robust covariances.
\set VERBOSITY default
CREATE TABLE augment_fits (model text, row int, fitted numeric, residual numeric, pearson numeric, deviance numeric,
    working numeric, std_residual numeric, student numeric, hat numeric, cooks_distance numeric, dffits numeric);
\copy augment_fits FROM 'test/data/augment_fits.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE augmented (model text, query text, m gpu_model);
INSERT INTO augmented VALUES
    ('linear', 'SELECT mpg, wt, hp FROM mtcars', gpu_ols_fit('SELECT mpg, wt, hp FROM mtcars')),
    ('linear, weights', 'SELECT * FROM mtcars', gpu_ols_fit('SELECT * FROM mtcars', formula => 'mpg ~ wt + hp',
        weights => 'carb')),
    ('linear, factor', 'SELECT mpg, wt, cyl::text AS cyl FROM mtcars', gpu_ols_fit(
        'SELECT mpg, wt, cyl::text AS cyl FROM mtcars', formula => 'mpg ~ wt * cyl')),
    ('linear, offset', 'SELECT mpg, wt, hp / 100 AS o FROM mtcars', gpu_glm_fit(
        'SELECT mpg, wt, hp / 100 AS o FROM mtcars', 'gaussian', offsets => 'o')),
    ('linear, square', 'SELECT mpg, hp FROM mtcars', gpu_ols_fit('SELECT mpg, hp FROM mtcars',
        formula => 'mpg ~ poly(hp, 2)')),
    ('logistic', 'SELECT am, wt, hp FROM mtcars', gpu_logreg_fit('SELECT am, wt, hp FROM mtcars')),
    ('infert', 'SELECT * FROM infert', gpu_logreg_fit('SELECT * FROM infert')),
    ('probit', 'SELECT am = 1 AS am, wt FROM mtcars', gpu_glm_fit('SELECT am, wt FROM mtcars', 'binomial', 'probit')),
    ('trials', 'SELECT am / 2 + 0.25, wt, 4 * carb AS n FROM mtcars', gpu_glm_fit(
        'SELECT am / 2 + 0.25, wt, 4 * carb AS n FROM mtcars', 'quasibinomial', weights => 'n')),
    ('poisson', 'SELECT carb, wt, qsec, ln(cyl) AS o FROM mtcars', gpu_glm_fit(
        'SELECT carb, wt, qsec, ln(cyl) AS o FROM mtcars', 'poisson', offsets => 'o')),
    ('quasipoisson', 'SELECT carb, wt FROM mtcars', gpu_glm_fit('SELECT carb, wt FROM mtcars', 'quasipoisson')),
    ('gamma', 'SELECT mpg, wt, hp, gear FROM mtcars', gpu_glm_fit('SELECT mpg, wt, hp, gear FROM mtcars', 'gamma',
        'log', weights => 'gear')),
    ('gamma, inverse', 'SELECT mpg, wt FROM mtcars', gpu_glm_fit('SELECT mpg, wt FROM mtcars', 'gamma',
        'inverse')),
    ('sqrt', 'SELECT carb, hp FROM mtcars', gpu_glm_fit('SELECT carb, hp FROM mtcars', 'poisson', 'sqrt')),
    ('negative binomial', 'SELECT carb, wt FROM mtcars', gpu_glm_fit('SELECT carb, wt FROM mtcars',
        'negative_binomial', theta => 2));
CREATE TABLE augmented_rows AS SELECT model, a.* FROM augmented, gpu_augment(m, query) a;
SELECT r.model, count(*), min(digits(r.fitted, f.fitted)) > 10 AS fitted,
    -- a residual has the response's digits
    bool_and(abs(r.residual - f.residual) < 1e-12 * greatest(abs(f.fitted), 1)) AS residual,
    bool_and(abs(r.pearson - f.pearson) < 1e-10 * greatest(abs(f.pearson), 0.1)) AS pearson,
    bool_and(abs(r.deviance - f.deviance) < 1e-10 * greatest(abs(f.deviance), 0.1)) AS deviance,
    bool_and(abs(r.working - f.working) < 1e-10 * greatest(abs(f.working), 0.1)) AS working,
    bool_and(abs(r.std_residual - f.std_residual) < 1e-10 * greatest(abs(f.std_residual), 0.1)) AS std_residual,
    bool_and(abs(r.student - f.student) < 1e-10 * greatest(abs(f.student), 0.1)) AS student,
    min(digits(r.hat, f.hat)) > 10 AS hat,
    bool_and(abs(r.cooks_distance - f.cooks_distance) < 1e-10 * greatest(f.cooks_distance, 0.01)) AS cooks_distance,
    bool_and(abs(r.dffits - f.dffits) < 1e-10 * greatest(abs(f.dffits), 0.1)) AS dffits
FROM augmented_rows r JOIN augment_fits f ON f.model = r.model AND f.row = r.id GROUP BY r.model ORDER BY r.model;
-- robust covariances change none of it; gpu_leverage has the same leverages as without
CREATE TABLE robust AS SELECT vcov, family, gpu_glm_fit('SELECT carb, wt, hp, carb AS w, cyl FROM mtcars', family,
    formula => 'carb ~ wt + hp', weights => w, vcov => vcov,
    clusters => CASE WHEN vcov LIKE 'CR%' THEN ARRAY['cyl'] END) AS m FROM unnest('{iid,HC0,HC3,CR1}'::text[]) vcov,
    (VALUES ('gaussian', NULL), ('gaussian', 'w'), ('poisson', NULL),
    ('quasipoisson', 'w'), ('gamma', NULL)) v(family, w);
SELECT a.vcov, count(*), bool_and(x.fitted = y.fitted AND abs(x.hat / y.hat - 1) < 1e-12 AND
    abs(x.student / y.student - 1) < 1e-9 AND abs(x.cooks_distance / y.cooks_distance - 1) < 1e-9) AS same
FROM robust a JOIN robust b ON b.family = a.family AND b.vcov = 'iid' AND (a.m).coef = (b.m).coef,
    gpu_augment(a.m, 'SELECT carb AS y, wt, hp, carb AS w FROM mtcars') x
    JOIN LATERAL gpu_augment(b.m, 'SELECT carb AS y, wt, hp, carb AS w FROM mtcars') y USING (id)
GROUP BY a.vcov ORDER BY a.vcov;
SELECT a.vcov, count(*), bool_and(abs(gpu_leverage(a.m, wt, hp) / gpu_leverage(b.m, wt, hp) - 1) < 1e-12) AS same
FROM robust a JOIN robust b ON b.family = a.family AND b.vcov = 'iid' AND (a.m).coef = (b.m).coef, mtcars
GROUP BY a.vcov ORDER BY a.vcov;
-- ids of a key, of any type; rows with NULL; weights of 0; a row that is fitted exactly
CREATE TABLE few AS SELECT i, 'row ' || i AS name, i + i % 3 AS y, i % 4 AS x, (i = 8)::int AS d, i AS w
FROM generate_series(0, 8) i UNION ALL VALUES (9, 'no x', 1, NULL, 0, 1),
    (10, NULL, NULL, 2, 0, 1), (11, 'no w', 1, 1, 0, NULL);
SELECT gpu_ols_fit('SELECT y, x, d, w FROM few', weights => 'w') AS m INTO few_model;
SET extra_float_digits = -9;
SELECT a.* FROM few_model, gpu_augment(m, 'SELECT * FROM few', 'name', NULL::text, response => 'y') a;
RESET extra_float_digits;
SELECT array_agg(id), pg_typeof(min(id)) FROM few_model, gpu_augment(m, 'SELECT y, x, d, w, i FROM few', key => 'i',
    id => NULL::smallint) a GROUP BY pg_typeof(id);
SELECT array_agg(id), pg_typeof(min(id)) FROM few_model, gpu_augment(m, 'SELECT y, x, d, w, i FROM few', key => 'i') a
GROUP BY pg_typeof(id);
CREATE TABLE by_plan AS SELECT a.* FROM few_model,
    gpu_augment(m, 'SELECT i, y, x, d, w FROM few', 'i', response => 'y') a;
SET gpureg.read = spi;
SELECT count(*), bool_and(a.fitted IS NOT DISTINCT FROM b.fitted AND a.dffits IS NOT DISTINCT FROM b.dffits) AS same
FROM by_plan b JOIN (SELECT a.* FROM few_model,
    gpu_augment(m, 'SELECT i, y, x, d, w FROM few', 'i', response => 'y') a) a USING (id);
RESET gpureg.read;
SELECT count(*) FROM gpu_augment(NULL, 'SELECT 1') a;
SELECT function, rows FROM gpu_last_run();
-- models without leverages have the rest
SELECT count(fitted) AS fitted, count(deviance) AS deviance, count(hat) AS hat, count(student) AS student FROM
    gpu_augment(gpu_glm_fit('SELECT mpg, wt FROM mtcars', l2 => 1), 'SELECT mpg, wt FROM mtcars') a
UNION ALL SELECT count(fitted), count(deviance), count(hat), count(student) FROM
    gpu_augment(gpu_enet_fit('SELECT mpg, wt FROM mtcars', lambda => 0.1), 'SELECT mpg, wt FROM mtcars') a
UNION ALL SELECT count(fitted), count(deviance), count(hat), count(student) FROM
    gpu_augment(gpu_logreg_fit('SELECT am, wt FROM mtcars', firth => true), 'SELECT am, wt FROM mtcars') a
UNION ALL SELECT count(fitted), count(deviance), count(hat), count(student) FROM
    gpu_augment(gpu_ols_fit('SELECT 1 + 2 * wt, wt FROM mtcars'), 'SELECT 1 + 2 * wt, wt FROM mtcars') a
UNION ALL SELECT count(fitted), count(deviance), count(hat), count(student) FROM
    gpu_augment(gpu_ols_fit('SELECT mpg FROM mtcars'), 'SELECT mpg FROM mtcars') a;
-- frequencies: a row's measures are those of one of its copies
SELECT bool_and(abs(a.hat / b.hat - 1) < 1e-12 AND abs(a.dffits / b.dffits - 1) < 1e-10) AS same, count(*)
FROM gpu_augment(gpu_ols_fit('SELECT mpg, wt, carb FROM mtcars', frequencies => 'carb'), 'SELECT mpg, wt FROM mtcars') a
JOIN (SELECT DISTINCT ON (mpg, wt) mpg, wt, b.* FROM gpu_augment(gpu_ols_fit('SELECT mpg, wt FROM mtcars,
        generate_series(1, carb::int)'), 'SELECT mpg, wt FROM mtcars, generate_series(1, carb::int) ORDER BY mpg, wt') b
    JOIN (SELECT mpg, wt, row_number() OVER (ORDER BY mpg, wt) AS id FROM mtcars, generate_series(1, carb::int)) r
    USING (id)) b ON abs(b.fitted - a.fitted) < 1e-12 AND abs(b.residual - a.residual) < 1e-12;
-- bad input
SELECT gpu_augment(m, NULL) FROM few_model;
SELECT gpu_augment(m, 'SELECT x, d, w FROM few') FROM few_model;
SELECT gpu_augment(m, 'SELECT name, x, d, w FROM few') FROM few_model;
SELECT gpu_augment(m, 'SELECT y, x, d FROM few') FROM few_model;
SELECT gpu_augment(m, 'SELECT y, x, w FROM few') FROM few_model;
SELECT gpu_augment(m, 'SELECT y, x, d, w FROM few', key => 'id') FROM few_model;
SELECT gpu_augment(m, 'SELECT y, x, d, w FROM few', response => 'z') FROM few_model;
SELECT gpu_augment(m, 'SELECT y, x, d, w FROM few', NULL, NULL::uuid) FROM few_model;
SELECT gpu_augment(m, 'SELECT y, x, d, w, name FROM few', 'name') FROM few_model;
SELECT gpu_augment(m, 'SELECT y, x, d, w, point(1, 2) AS p FROM few', 'p') FROM few_model;
SELECT gpu_augment(m, 'SELECT y, x, d, -w AS w FROM few') FROM few_model;
SELECT gpu_augment(m, 'SELECT ''NaN''::real AS y, x, d, w FROM few') FROM few_model;
SELECT gpu_augment(gpu_logreg_fit('SELECT am, wt FROM mtcars'), 'SELECT carb, wt FROM mtcars');
SELECT gpu_augment(gpu_iv_solve(s, '{1}'::int[], '{2}'::int[]), 'SELECT mpg, wt AS x1 FROM mtcars')
FROM (SELECT gpu_ols_stats_agg(mpg, wt, hp) AS s FROM mtcars) t;
-- a response, features and an offset that the formula computes
SELECT count(*), bool_and(abs(a.fitted - b.fitted) < 1e-12 AND abs(a.dffits / b.dffits - 1) < 1e-9) AS same
FROM gpu_augment(gpu_ols_fit('SELECT * FROM mtcars', formula =>
    'log(mpg) ~ log(wt) + factor(cyl) + offset(hp / 100)'), 'SELECT * FROM mtcars') a
JOIN gpu_augment(gpu_glm_fit('SELECT ln(mpg), ln(wt) AS w, cyl::text AS c, hp / 100 AS o FROM mtcars', 'gaussian',
    offsets => 'o'), 'SELECT ln(mpg), ln(wt) AS w, cyl::text AS c, hp / 100 AS o FROM mtcars') b USING (id);
SELECT gpu_augment(gpu_ols_fit('SELECT * FROM mtcars', formula => 'log(mpg) ~ wt'),
    'SELECT wt, 0 AS mpg FROM mtcars');
SELECT gpu_augment(gpu_ols_fit('SELECT * FROM mtcars', formula => 'mpg ~ log(wt)'),
    'SELECT mpg, 0 AS wt FROM mtcars');
SELECT gpu_augment(gpu_ols_fit('SELECT * FROM mtcars', formula => 'log(mpg) ~ wt'),
    'SELECT wt FROM mtcars');
-- gpu_overdispersion: the sum of squares of R's Pearson residuals
SELECT model, digits(o.statistic, f.sum) > 10 AS statistic, o.df = (m).df_residual AS df,
    o.ratio = o.statistic / o.df AS ratio, o.p_value = gpu_pchisq(o.statistic, o.df, false) AS p_value
FROM augmented JOIN (SELECT model, sum(pearson ^ 2) FROM augment_fits GROUP BY model) f USING (model),
    gpu_overdispersion(m, query) o
WHERE model IN ('logistic', 'infert', 'probit', 'poisson', 'sqrt', 'negative binomial') ORDER BY model;
SELECT abs(a.statistic / b.statistic - 1) < 1e-12 AS frequencies, a.df = b.df AS df FROM
    gpu_overdispersion(gpu_glm_fit('SELECT carb, wt, gear FROM mtcars', 'poisson', frequencies => 'gear'),
        'SELECT carb, wt, gear FROM mtcars') a, gpu_overdispersion(gpu_glm_fit('SELECT carb, wt FROM mtcars,
        generate_series(1, gear::int)', 'poisson'), 'SELECT carb, wt FROM mtcars, generate_series(1, gear::int)') b;
SELECT count(*) FROM gpu_overdispersion(NULL, 'SELECT 1');
SELECT gpu_overdispersion(gpu_ols_fit('SELECT mpg, wt FROM mtcars'), 'SELECT mpg, wt FROM mtcars');
SELECT gpu_overdispersion(m, NULL) FROM augmented WHERE model = 'sqrt';
SELECT gpu_overdispersion(m, 'SELECT hp FROM mtcars') FROM augmented WHERE model = 'sqrt';
DROP TABLE augment_fits, augmented, augmented_rows, robust, few, few_model, by_plan;
