-- gpu_drop1 and gpu_step against R's drop1 and step: test/data/drop_reference.R.
\set VERBOSITY default
CREATE TABLE drop_fits (model text, kind text, position int, df bigint, rss numeric, criterion numeric,
    statistic numeric, p_value numeric);
\copy drop_fits FROM 'test/data/drop_fits.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE cars AS SELECT mpg, cyl::text AS cyl, disp, hp, drat, wt, qsec, gear::text AS gear, carb FROM mtcars;
CREATE TABLE drop_models AS SELECT model, gpu_ols_fit('SELECT * FROM cars', formula => formula, weights => weights) AS m
FROM (VALUES ('plain', 'mpg ~ cyl + disp + hp + drat + wt + qsec + gear + carb', NULL), ('interactions',
    'mpg ~ wt * cyl + hp * gear + qsec', NULL), ('weights', 'mpg ~ wt + hp + qsec + drat + gear', 'carb'))
    v(model, formula, weights)
UNION ALL SELECT 'diamonds', gpu_ols_fit('SELECT * FROM diamonds', formula =>
    'price ~ carat + cut * color + clarity + depth + "table" + x + y + z');
CREATE TABLE drop_got AS SELECT model, 'drop1' AS kind, position, df::bigint AS df, rss, aic AS criterion, statistic,
    p_value, term AS name FROM drop_models, gpu_drop1(m) WITH ORDINALITY AS g(term, df, sum_sq, rss, aic, statistic,
    p_value, position)
UNION ALL SELECT model, criterion, step + 1, df_residual, rss, criterion_value, NULL, NULL, change
FROM drop_models, unnest('{aic,bic}'::text[]) criterion, gpu_step(m, criterion);
SELECT model, kind, count(*), string_agg(name, ', ' ORDER BY position) AS names, bool_and(g.df = f.df) AS df,
    min(digits(g.rss, f.rss)) > 10 AS rss, min(digits(g.criterion, f.criterion)) > 10 AS criterion,
    min(digits_or_null(g.statistic, f.statistic)) > 8 AS statistic,
    bool_and(abs(coalesce(g.p_value - f.p_value, 0)) <= 1e-7 * coalesce(f.p_value, 0) + 1e-300) AS p_value
FROM drop_got g FULL JOIN drop_fits f USING (model, kind, position) GROUP BY model, kind ORDER BY model, kind;
-- the last step is a fit of its terms; a step both ways ends where none backward is better
SELECT abs(s.rss / (f).deviance - 1) < 1e-12 AS rss, s.df_residual = (f).df_residual AS df, s.terms
FROM drop_models, LATERAL (SELECT * FROM gpu_step(m) s ORDER BY step DESC LIMIT 1) s,
    LATERAL gpu_ols_fit('SELECT * FROM cars', formula => 'mpg ~ ' || s.terms) f WHERE model = 'plain';
SELECT model, max(a.criterion_value) FILTER (WHERE b.step IS NULL) IS NULL AS same_path
FROM drop_models, gpu_step(m, 'bic', 'backward') a LEFT JOIN LATERAL gpu_step(m, 'bic', 'both') b
    USING (step, change, terms, df_residual, rss, criterion_value) GROUP BY model ORDER BY model;
-- no terms, NULL
SELECT term, df, round(rss::numeric, 6) AS rss, statistic, p_value
FROM gpu_drop1(gpu_ols_fit('SELECT mpg FROM mtcars'));
SELECT step, change, terms, df_residual FROM gpu_step(gpu_ols_fit('SELECT mpg FROM mtcars'));
SELECT count(*) FROM gpu_drop1(NULL), gpu_step(NULL);
-- bad input
SELECT gpu_drop1(gpu_ols_fit('SELECT mpg, wt, 2 * wt AS twice, hp FROM mtcars'));
SELECT gpu_drop1(gpu_logreg_fit('SELECT am, wt FROM mtcars'));
SELECT gpu_drop1(gpu_ols_fit('SELECT mpg, wt FROM mtcars', vcov => 'HC1'));
SELECT gpu_step(gpu_glm_fit('SELECT mpg, wt FROM mtcars', l2 => 1));
SELECT gpu_step(gpu_enet_fit('SELECT mpg, wt FROM mtcars', lambda => 0.1));
SELECT gpu_step(m, 'cp') FROM drop_models WHERE model = 'plain';
SELECT gpu_step(m, direction => 'forward') FROM drop_models WHERE model = 'plain';
DROP TABLE drop_fits, drop_models, drop_got, cars;
