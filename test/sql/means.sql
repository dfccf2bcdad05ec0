-- gpu_means and gpu_contrast against R's emmeans: test/data/means_reference.R.
\set VERBOSITY default
CREATE TABLE means_fits (model text, kind text, level text, estimate numeric, std_error numeric, df float8,
    p_value numeric, conf_low numeric, conf_high numeric);
\copy means_fits FROM 'test/data/means_fits.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE cars AS SELECT mpg, carb, wt, hp, cyl::text AS cyl, gear::text AS gear FROM mtcars;
CREATE TABLE means_models (model text, factor text, at jsonb, m gpu_model);
INSERT INTO means_models SELECT model, 'cyl', (SELECT jsonb_build_object('wt', avg(wt)) FROM cars), gpu_ols_fit(
    'SELECT * FROM cars', formula => formula, vcov => CASE model WHEN 'HC0' THEN 'HC0' ELSE 'iid' END)
FROM (VALUES ('linear', 'mpg ~ wt + cyl'), ('two factors', 'mpg ~ wt + cyl + gear'), ('interaction',
    'mpg ~ wt * cyl + gear'), ('square', 'mpg ~ poly(wt, 2) + cyl'), ('no intercept', 'mpg ~ cyl + wt - 1'),
    ('HC0', 'mpg ~ wt + cyl')) v(model, formula);
INSERT INTO means_models VALUES ('poisson', 'cyl', (SELECT jsonb_build_object('wt', avg(wt)) FROM cars),
    gpu_glm_fit('SELECT * FROM cars', 'poisson', formula => 'carb ~ wt + cyl')),
    ('diamonds', 'cut', (SELECT jsonb_build_object('carat', avg(carat)) FROM diamonds),
    gpu_ols_fit('SELECT price, carat, cut, color FROM diamonds'));
CREATE TABLE means_got AS SELECT model, kind, g.* FROM means_models,
    (SELECT DISTINCT model AS of, kind FROM means_fits) k,
    gpu_means(m, factor, kind <> 'mean', CASE WHEN kind NOT IN ('mean', 'tukey') THEN kind END, at) g WHERE of = model;
-- R's ptukey has nine digits, its qtukey seven or fewer, and both regard 25,000 degrees of freedom as infinite
SELECT model, count(g.level) = count(*) AS all, min(digits(g.estimate, f.estimate)) > 10 AS estimate,
    min(digits(g.std_error, f.std_error)) > 10 AS std_error, bool_and(g.df = f.df) AS df,
    bool_and(abs(g.p_value - f.p_value) < CASE WHEN kind <> 'tukey' THEN 1e-7 * f.p_value + 1e-300
        WHEN f.df = 53928 THEN 1e-6 ELSE 1e-9 END) AS p,
    bool_and(abs(g.conf_low - f.conf_low) < near) AS conf_low,
    bool_and(abs(g.conf_high - f.conf_high) < near) AS conf_high
FROM means_fits f FULL JOIN means_got g USING (model, kind, level), LATERAL (SELECT 1e-9 * abs(f.estimate) +
    f.std_error * CASE WHEN kind <> 'tukey' THEN 1e-10 WHEN f.df = 53928 THEN 1e-4 ELSE 1e-7 END) t(near)
GROUP BY model ORDER BY model;
-- contrasts that are differences of means
SELECT model, abs(c.estimate / g.estimate - 1) < 1e-12 AND abs(c.std_error / g.std_error - 1) < 1e-12 AND
    abs(c.p_value / g.p_value - 1) < 1e-10 AND c.df = g.df AND abs(c.conf_low - g.conf_low) < 1e-12 AS same
FROM means_models, gpu_contrast(m, '{"cyl[6]": 1, "cyl[8]": -1}') c,
    gpu_means(m, 'cyl', true, 'none', at) g WHERE model IN ('linear', 'HC0', 'poisson')
    AND level = '6 - 8' ORDER BY model;
SELECT abs(c.estimate - t.estimate) < 1e-15 AND abs(c.std_error - t.std_error) < 1e-15 AND c.p_value = t.p_value AS term
FROM means_models, gpu_tidy(m) t, gpu_contrast(m, '{"wt": 1}') c WHERE model = 'linear' AND term = 'wt';
SELECT c.estimate, c.std_error, c.p_value FROM means_models, gpu_contrast(m, '{}') c WHERE model = 'linear';
SELECT count(*) FROM gpu_contrast(NULL, '{}'), gpu_means(NULL, 'a');
-- means of the response: its means, and limits between 0 and infinity
SELECT g.level, abs(ln(g.estimate) - l.estimate) < 1e-14 AND abs(ln(g.conf_low) - l.conf_low) < 1e-14 AND
    abs(g.std_error / (g.estimate * l.std_error) - 1) < 1e-14 AND g.p_value = l.p_value AS same
FROM means_models, gpu_means(m, 'cyl', at => at, type => 'response') g JOIN LATERAL gpu_means(m, 'cyl', at => at) l
    USING (level) WHERE model = 'poisson' ORDER BY 1;
-- differences do not depend on the value of a number that is in no interaction
SELECT bool_and(abs(a.estimate - b.estimate) < 1e-13) AS same FROM means_models,
    gpu_means(m, 'cyl', true) a JOIN LATERAL gpu_means(m, 'cyl', true, at => at) b USING (level) WHERE model = 'linear';
-- factors of numbers and booleans, two levels, a level without rows in a combination, degrees of freedom per term
SELECT g.level, round(g.estimate::numeric, 6) AS estimate FROM gpu_means(gpu_ols_fit('SELECT mpg, wt > 3 AS heavy, am '
    'FROM mtcars', formula => 'mpg ~ factor(heavy) + factor(am)'), 'heavy') g;
SELECT g.level, g.p_value = t.p_value AS tukey_of_two FROM gpu_ols_fit('SELECT mpg, am FROM mtcars', formula =>
    'mpg ~ factor(am)') m, gpu_means(m, 'am', true, 'none') g, gpu_tidy(m) t WHERE t.term = 'am[1]';
SELECT abs(g.p_value / t.p_value - 1) < 1e-11 AS tukey_of_two FROM gpu_ols_fit('SELECT mpg, am FROM mtcars', formula =>
    'mpg ~ factor(am)') m, gpu_means(m, 'am', true) g, gpu_tidy(m) t WHERE t.term = 'am[1]';
SELECT g.level, g.estimate IS NULL AS unknown FROM gpu_means(gpu_ols_fit('SELECT mpg, cyl, gear FROM cars', formula =>
    'mpg ~ cyl * gear'), 'cyl') g;
-- expressions
SELECT abs(a.estimate - b.estimate) < 1e-12 AS same FROM gpu_means(gpu_ols_fit('SELECT * FROM cars', formula =>
    'mpg ~ log(wt) + cyl'), 'cyl', at => '{"wt": 1}') a
JOIN gpu_means(gpu_ols_fit('SELECT mpg, ln(wt) AS w, cyl FROM cars'), 'cyl', at => '{"w": 0}') b USING (level);
SELECT gpu_means(gpu_ols_fit('SELECT * FROM cars', formula => 'mpg ~ log(wt) + cyl'), 'cyl');
SELECT gpu_means(gpu_ols_fit('SELECT * FROM cars', formula => 'mpg ~ log(wt) + cyl'), 'cyl', at => '{"wt": 0}');
-- bad input
SELECT gpu_contrast(m, NULL) FROM means_models WHERE model = 'linear';
SELECT gpu_contrast(m, '[1]') FROM means_models WHERE model = 'linear';
SELECT gpu_contrast(m, '1') FROM means_models WHERE model = 'linear';
SELECT gpu_contrast(m, '{"wt": "1"}') FROM means_models WHERE model = 'linear';
SELECT gpu_contrast(m, '{"wt": [1]}') FROM means_models WHERE model = 'linear';
SELECT gpu_contrast(m, '{"weight": 1}') FROM means_models WHERE model = 'linear';
SELECT gpu_contrast(m, '{"wt": 1}', 1) FROM means_models WHERE model = 'linear';
SELECT gpu_contrast(m, '{"wt": 1e308, "cyl[6]": 1e308}') FROM means_models WHERE model = 'linear';
SELECT gpu_contrast(gpu_enet_fit('SELECT mpg, wt FROM mtcars', lambda => 0.1), '{"wt": 1}');
SELECT gpu_means(m, NULL) FROM means_models WHERE model = 'linear';
SELECT gpu_means(m, 'wt') FROM means_models WHERE model = 'linear';
SELECT gpu_means(gpu_ols_fit('SELECT mpg, wt FROM mtcars'), 'cyl');
SELECT gpu_means(m, 'cyl') FROM means_models WHERE model = 'linear';
SELECT gpu_means(m, 'cyl', true) FROM means_models WHERE model = 'interaction';
SELECT gpu_means(m, 'cyl', at => '{"hp": 1}') FROM means_models WHERE model = 'linear';
SELECT gpu_means(m, 'cyl', at => '{"cyl": 1}') FROM means_models WHERE model = 'linear';
SELECT gpu_means(m, 'cyl', true, 'sidak') FROM means_models WHERE model = 'linear';
SELECT gpu_means(m, 'cyl', false, 'tukey') FROM means_models WHERE model = 'linear';
SELECT gpu_means(m, 'cyl', true, type => 'response') FROM means_models WHERE model = 'linear';
SELECT gpu_means(m, 'cyl', type => 'mean') FROM means_models WHERE model = 'linear';
SELECT gpu_means(m, 'cyl', conf_level => NULL) FROM means_models WHERE model = 'linear';
SELECT gpu_means(m, 'cyl') FROM gpu_ols_fit('SELECT mpg, cyl, gear FROM cars', absorb => '{gear}') m;
SELECT count(g) FROM gpu_ols_fit('SELECT mpg, cyl, gear FROM cars', absorb => '{gear}') m, gpu_means(m, 'cyl', true) g;
DROP TABLE means_fits, means_models, means_got, cars;
