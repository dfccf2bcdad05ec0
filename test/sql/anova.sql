-- gpu_anova of one model against Anova(type = 2) of R's package car: test/data/anova_reference.R; gpu_wald of factors.
\set VERBOSITY default
CREATE TABLE anova_fits (model text, position int, statistic numeric, df1 int, df2 float8, p_value numeric);
\copy anova_fits FROM 'test/data/anova_fits.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE cars AS SELECT mpg, carb, wt, hp, qsec, cyl::text AS cyl, gear::text AS gear FROM mtcars;
CREATE TABLE anova_models AS SELECT model, gpu_ols_fit('SELECT * FROM cars', formula => formula,
    vcov => CASE model WHEN 'HC3' THEN 'HC3' ELSE 'iid' END) AS m
FROM (VALUES ('plain', 'mpg ~ wt + hp + qsec'), ('factors', 'mpg ~ wt + cyl + gear'), ('interactions',
    'mpg ~ wt * cyl + gear * hp'), ('three', 'mpg ~ wt * cyl * hp'), ('aliased', 'mpg ~ cyl * gear'), ('square',
    'mpg ~ poly(hp, 2) + cyl'), ('HC3', 'mpg ~ wt * cyl + hp')) v(model, formula)
UNION ALL SELECT 'diamonds', gpu_ols_fit('SELECT price, carat, cut, color FROM diamonds', formula =>
    'price ~ carat * cut + color')
UNION ALL SELECT 'poisson', gpu_glm_fit('SELECT * FROM cars', 'poisson', formula => 'carb ~ wt * cyl');
CREATE TABLE anova_got AS SELECT model, g.* FROM anova_models, gpu_anova(m) WITH ORDINALITY AS g(term, statistic, df1,
    df2, p_value, test, position);
SELECT model, string_agg(term, ', ' ORDER BY position) AS terms, min(digits(g.statistic, f.statistic)) > 9 AS statistic,
    bool_and(g.df1 = f.df1 AND g.df2 IS NOT DISTINCT FROM f.df2) AS df, bool_and(abs(g.p_value - f.p_value) <
    1e-9 * f.p_value + 1e-300) AS p_value, max(test) AS test
FROM anova_got g FULL JOIN anova_fits f USING (model, position) GROUP BY model ORDER BY model;
-- gpu_wald takes the name of a factor or another term; without interactions that is the test above
SELECT model, w.statistic = g.statistic AND w.df1 = g.df1 AND w.p_value = g.p_value AS same, term
FROM anova_models JOIN anova_got g USING (model), gpu_wald(m, ARRAY[term]) w
WHERE model IN ('plain', 'factors', 'square') ORDER BY model, position;
SELECT a.* = b.* AS same FROM anova_models, gpu_wald(m, '{wt:cyl,hp}') a, gpu_wald(m, '{wt:cyl[6],hp,wt:cyl[8]}') b
WHERE model = 'interactions';
SELECT a.* = b.* AS same, a.df1 FROM anova_models, gpu_wald(m, '{cyl,cyl[6]}') a, gpu_wald(m, '{cyl[6],cyl[8]}') b
WHERE model = 'factors';
-- a perfect fit, no terms, collinear ones, degrees of freedom per term
SELECT term, statistic, p_value, test FROM gpu_anova(gpu_ols_fit('SELECT 2 * wt, wt FROM mtcars'));
SELECT count(*) FROM gpu_anova(gpu_ols_fit('SELECT mpg FROM mtcars'));
SELECT count(*) FROM gpu_anova(NULL::gpu_model);
SELECT term, statistic IS NULL AS unknown, df1
FROM gpu_anova(gpu_ols_fit('SELECT mpg, wt, 2 * wt AS twice FROM mtcars'));
SELECT a.term, abs(a.statistic / t.statistic ^ 2 - 1) < 1e-12 AND a.df2 = t.df AND
    abs(a.p_value / t.p_value - 1) < 1e-10 AS same
FROM gpu_ols_fit('SELECT mpg, wt, hp, cyl FROM mtcars', formula => 'mpg ~ wt + hp', vcov => 'CR2',
    clusters => '{cyl}') m, gpu_anova(m) a JOIN LATERAL gpu_tidy(m) t USING (term);
-- expressions
SELECT g.term, g.df1, g.statistic = w.statistic AS wald FROM gpu_ols_fit('SELECT * FROM cars', formula =>
    'mpg ~ log(wt) + log(hp) + cyl') m, gpu_anova(m) g, gpu_wald(m, ARRAY[term]) w;
SELECT term, df1 FROM gpu_anova(gpu_ols_fit('SELECT * FROM cars', formula => 'mpg ~ log(wt) * cyl + hp'));
-- bad input
SELECT gpu_wald(m, '{gear,drat}') FROM anova_models WHERE model = 'factors';
SELECT gpu_wald(m, '{cyl:wt}') FROM anova_models WHERE model = 'interactions';
SELECT gpu_anova(gpu_enet_fit('SELECT mpg, wt FROM mtcars', lambda => 0.1));
SELECT gpu_anova(gpu_ols_fit('SELECT mpg, wt, hp, cyl FROM mtcars', formula => 'mpg ~ wt + factor(hp)', vcov => 'CR0',
    clusters => '{cyl}'));
SET client_min_messages = error;
SELECT gpu_anova(gpu_logreg_fit('VALUES (0, 1), (0, 2), (1, 3), (1, 4)'));
RESET client_min_messages;
DROP TABLE anova_fits, anova_models, anova_got, cars;
