-- gpu_predict_interval and gpu_leverage against R 4.2's predict() and hatvalues(): test/data/interval_reference.R.
\set VERBOSITY default
CREATE TABLE interval_fits (model text, i int, kind text, conf_level float8, fit numeric, std_error numeric,
    lower numeric, upper numeric, leverage numeric);
\copy interval_fits FROM 'test/data/interval_fits.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE cars (i serial, LIKE mtcars);
\copy cars (mpg, cyl, disp, hp, drat, wt, qsec, vs, am, gear, carb) FROM 'test/data/reference/mtcars.csv' WITH (FORMAT csv, HEADER)
INSERT INTO cars SELECT 32 + row_number() OVER (ORDER BY i), mpg, cyl, disp, hp / 2, drat, 1.5 * wt, qsec + 1,
    vs, am, gear, carb FROM cars WHERE i IN (2, 9, 20, 31);
CREATE TABLE interval_models AS
SELECT name AS model, CASE WHEN family IS NULL THEN gpu_ols_fit('SELECT * FROM cars WHERE i <= 32', formula => formula)
                           ELSE gpu_glm_fit('SELECT * FROM cars WHERE i <= 32', family, link, formula => formula,
                               theta => CASE WHEN family = 'negative binomial' THEN 2 END) END AS m
FROM (VALUES ('linear', 'mpg ~ wt + hp + qsec', NULL, NULL), ('factor', 'mpg ~ wt * factor(cyl)', NULL, NULL),
    ('polynomial', 'mpg ~ poly(hp, 3) + wt', NULL, NULL),
             ('no intercept', 'mpg ~ wt + qsec - 1', NULL, NULL), ('mean', 'mpg ~ 1', NULL, NULL),
             ('poisson', 'carb ~ wt + hp', 'poisson', 'log'), ('poisson factor', 'carb ~ wt + factor(cyl)', 'poisson',
                 'log'), ('poisson sqrt', 'carb ~ wt + hp', 'poisson', 'sqrt'),
             ('poisson identity', 'carb ~ hp', 'poisson', 'identity'),
             ('quasipoisson', 'carb ~ wt + hp', 'quasipoisson', 'log'),
             ('logit', 'am ~ wt + hp', 'binomial', 'logit'), ('probit', 'vs ~ wt', 'binomial', 'probit'),
             ('cloglog', 'vs ~ wt', 'binomial', 'cloglog'),
             ('gamma log', 'mpg ~ wt + hp', 'gamma', 'log'), ('gamma inverse', 'mpg ~ wt + hp', 'gamma', 'inverse'),
             ('gamma identity', 'mpg ~ wt', 'gamma', 'identity'),
             ('gaussian log', 'mpg ~ wt', 'gaussian', 'log'), ('gaussian inverse', 'mpg ~ wt', 'gaussian', 'inverse'),
             ('negative binomial', 'carb ~ wt + hp', 'negative binomial', 'log')) t(name, formula, family, link);
-- a car's values for a model: all columns if it has a design, else its features alone
CREATE FUNCTION values_of(m gpu_model, c cars) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(jsonb_object_agg(key, value), '{}') FROM jsonb_each(to_jsonb(c))
    WHERE (m).design <> '' OR key = ANY ((m).terms)
$$;
CREATE FUNCTION agrees(got float8, want numeric) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$ SELECT digits(got, want) >= 12 $$;
SELECT model, kind, count(*) AS n, bool_and(agrees(p.fit, f.fit)) AS fit,
    bool_and(agrees(p.std_error, f.std_error)) AS std_error, bool_and(agrees(p.lower, f.lower)) AS lower,
    bool_and(agrees(p.upper, f.upper)) AS upper,
       bool_and(agrees(gpu_leverage(m, values_of(m, c)), leverage)) FILTER (WHERE leverage IS NOT NULL) AS leverage
FROM interval_fits f JOIN interval_models USING (model) JOIN cars c USING (i),
    gpu_predict_interval(m, kind, conf_level, values_of(m, c)) p GROUP BY model, kind ORDER BY model COLLATE "C", kind;
-- the fit is gpu_predict's value; a model's leverages sum to its rank
SELECT bool_and(p.fit = gpu_predict(m, values_of(m, c))) AS same,
    bool_and(p.lower <= p.fit AND p.fit <= p.upper) AS within FROM interval_models, cars c,
    gpu_predict_interval(m, 'confidence', 0.5, values_of(m, c)) p WHERE i <= 32;
SELECT bool_and(agrees(sum, rank)) AS rank FROM (SELECT model, sum(gpu_leverage(m, values_of(m, c))), (m).rank
    FROM interval_models, cars c WHERE i <= 32 GROUP BY model, m) t;
-- with prior weights the leverage is the weight times the result; collinear terms are ignored
SELECT agrees(sum(carb * gpu_leverage(m, wt, hp, total)), 3) AS weighted
FROM gpu_ols_fit('SELECT mpg, wt, hp, wt + hp AS total, carb FROM mtcars', weights => 'carb') m,
    LATERAL (SELECT carb, wt, hp, wt + hp AS total FROM mtcars) t;
SELECT agrees(sum(carb * gpu_leverage(m, wt, hp)), 3) AS shares
FROM gpu_glm_fit('SELECT am, wt, hp, carb FROM mtcars', 'binomial', weights => 'carb') m, mtcars;
SELECT bool_and((m).coef[4] IS NULL) AS collinear,
    bool_and(abs(a.lower - b.lower) < 1e-9 AND abs(a.std_error - b.std_error) < 1e-9) AS same,
    bool_and(a.std_error > 0) AS known
FROM gpu_ols_fit('SELECT mpg, wt, hp, 2 * wt AS twice FROM mtcars') m, gpu_ols_fit('SELECT mpg, wt, hp FROM mtcars') s,
    mtcars, gpu_predict_interval(m, 'prediction', 0.9, wt, hp, am) a,
    gpu_predict_interval(s, 'prediction', 0.9, wt, hp) b;
-- values in every form that gpu_predict takes
CREATE TABLE plain AS SELECT gpu_ols_fit('SELECT mpg, wt, hp, qsec FROM mtcars') AS m;
SELECT count(DISTINCT p), count(*)
FROM plain, LATERAL (VALUES (gpu_predict_interval(m, 'prediction', 0.9, 2, 100::smallint, 18.5)),
    (gpu_predict_interval(m, 'prediction', 0.9, ARRAY[2, 100], 18.5)),
    (gpu_predict_interval(m, 'prediction', 0.9, VARIADIC ARRAY[2, 100, 18.5])),
    (gpu_predict_interval(m, 'prediction', 0.9, (SELECT r FROM (SELECT 18.5 AS qsec, 100 AS hp, 2 AS wt) r))),
    (gpu_predict_interval(m, 'prediction', 0.9, '{"qsec": 18.5, "hp": 100, "wt": 2}'::jsonb)),
    (gpu_predict_interval(model => m, kind => 'prediction', conf_level => 0.9,
        VARIADIC x => ARRAY[2, 100, 18.5]::float8[]))) v(p);
SELECT count(DISTINCT h), count(*) FROM plain, LATERAL (VALUES (gpu_leverage(m, 2, 100::smallint, 18.5)),
    (gpu_leverage(m, ARRAY[2, 100], 18.5)), (gpu_leverage(m, VARIADIC ARRAY[2, 100, 18.5])),
    (gpu_leverage(m, (SELECT r FROM (SELECT 18.5 AS qsec, 100 AS hp, 2 AS wt) r))),
    (gpu_leverage(m, '{"qsec": 18.5, "hp": 100, "wt": 2}'::jsonb))) v(h);
SELECT bool_and(gpu_predict_interval(m, 'confidence', 0.9, c) = gpu_predict_interval(m, 'confidence', 0.9, cyl,
    wt)) AS "row", bool_and(gpu_predict_interval(m, 'confidence', 0.9, to_jsonb(c)) = gpu_predict_interval(m,
    'confidence', 0.9, cyl, wt)) AS object,
       bool_and(gpu_leverage(m, c) = gpu_leverage(m, cyl, wt)) AS leverage FROM interval_models, cars c
       WHERE model = 'factor';
SELECT bool_and(gpu_predict_interval(m, 'prediction', 0.8) = gpu_predict_interval(m, 'prediction', 0.8,
    '{}'::jsonb)) AS none, bool_and(agrees(gpu_leverage(m), 1 / 32.0)) AS leverage FROM interval_models
WHERE model = 'mean';
-- a level of its own in each row, and a kind; and the result as a column whose fields are taken
SELECT bool_and(abs(upper - lower - 2 * std_error * gpu_qt((1 + level) / 2, (m).df_inference)) < 1e-11 * upper) AS level
FROM plain, generate_series(0.1, 0.9, 0.2) level, unnest('{prediction,confidence}'::text[]) kind,
    gpu_predict_interval(m, kind, level, 2, 100, 18);
SELECT pg_typeof((gpu_predict_interval(m, 'confidence', 0.95, 2, 100, 18)).lower),
    (gpu_predict_interval(m, 'confidence', 0.95, 2, 100, 18)).upper > 0 AS upper FROM plain;
CREATE VIEW intervals AS SELECT (gpu_predict_interval(m, 'prediction', 0.95, wt, hp, qsec)).*,
    gpu_leverage(m, wt, hp, qsec) FROM plain, mtcars;
SELECT count(*), count(DISTINCT lower) AS limits, round(sum(gpu_leverage)::numeric, 9) AS rank FROM intervals;
DROP VIEW intervals;

-- models made by hand: 1 + 2 a, with simple covariances
CREATE FUNCTION made(family text DEFAULT 'gaussian', link text DEFAULT 'identity', coef float8[] DEFAULT '{1,2}',
    vcov float8[] DEFAULT '{{4,0},{0,1}}', terms text[] DEFAULT '{(intercept),a}',
                     dispersion float8 DEFAULT 1, df float8 DEFAULT 'Infinity', theta float8 DEFAULT NULL,
                     separated text[] DEFAULT '{}', vcov_type text DEFAULT 'iid', design text DEFAULT '',
                     method text DEFAULT NULL)
RETURNS gpu_model LANGUAGE sql IMMUTABLE AS $$
    SELECT ROW(coalesce(method, CASE WHEN family = 'gaussian' AND link = 'identity' THEN 'ols' WHEN family = 'binomial'
        AND link = 'logit' THEN 'logistic' ELSE 'glm' END), terms, coef, vcov, 9, 0, 2, 7, 1, 2, 1, true, separated,
               'cpu', NULL, family, link, theta, dispersion, vcov_type, df, design)::gpu_model
$$;
SELECT fit, std_error, round(lower::numeric, 6) AS lower, round(upper::numeric, 6) AS upper
FROM gpu_predict_interval(made(vcov => '{{3,0.5},{0.5,1}}', dispersion => 12), 'confidence', 0.95, 0) i;
SELECT fit, std_error, round(lower::numeric, 6) AS lower, round(upper::numeric, 6) AS upper
FROM gpu_predict_interval(made(vcov => '{{3,-0.5},{-0.5,1}}', dispersion => 13), 'prediction', 0.95, 1) i;
SELECT round(gpu_leverage(made(dispersion => 16), 3)::numeric, 6) AS leverage,
    gpu_leverage(made(), 'NaN'::float8) AS nan, gpu_leverage(made(), 'Infinity'::float8) AS infinite;
-- aliased terms are ignored, and so are terms of value 0, whatever their covariances
SELECT i.* FROM unnest(ARRAY[made(coef => '{1,NULL}', vcov => '{{4,NULL},{NULL,NULL}}'),
    made(coef => '{1,NULL}', vcov => '{{4,7},{7,9}}')]) m, gpu_predict_interval(m, 'confidence', 0.5, 'NaN'::float8) i
WHERE lower < 1 AND upper > 1;
SELECT fit, std_error FROM gpu_predict_interval(made(vcov => '{{4,NULL},{NULL,NULL}}', separated => '{a}'),
    'confidence', 0.95, 0);
-- unknown results are NULL: without covariances, for separated terms, without degrees of freedom, with an invalid
-- covariance matrix
SELECT what, i.* FROM (VALUES (1, 'no vcov', made(vcov => NULL)),
    (2, 'separated', made(vcov => '{{4,NULL},{NULL,NULL}}', separated => '{a}')),
    (3, 'no sign', made(vcov => '{{4,NULL},{NULL,Infinity}}', separated => '{a}')),
    (5, 'df 0', made(df => 0)), (6, 'df NaN', made(df => 'NaN')), (7, 'negative', made(vcov => '{{4,0},{0,-1}}')),
    (8, 'NaN', made(vcov => '{{4,NaN},{NaN,1}}')),
    (9, 'infinite', made(vcov => '{{4,Infinity},{Infinity,1}}')), (10, 'indefinite', made(vcov => '{{1,-5},{-5,1}}')),
    (11, 'large', made(vcov => '{{1e-300,1e300},{1e300,1e-300}}'))) v(k, what, m),
    gpu_predict_interval(m, 'confidence', 0.95, 1) i ORDER BY k;
SELECT k, fit, std_error, lower, upper
FROM (VALUES (1, made(dispersion => -1)), (2, made(dispersion => 'Infinity'))) v(k, m),
    gpu_predict_interval(m, 'prediction', 0.95, 1) ORDER BY k;
SELECT gpu_leverage(made(dispersion => 0), 1) AS zero, gpu_leverage(made(dispersion => -1), 1) AS negative,
    gpu_leverage(made(vcov => NULL), 1) AS no_vcov, gpu_leverage(made(vcov => '{{4,NULL},{NULL,NULL}}'),
    1) AS separated,
       gpu_leverage(made('poisson', 'identity'), -3) AS no_mean,
       gpu_leverage(made('quasipoisson', 'log', dispersion => NULL), 1) AS quasi;
-- two rows give a line without degrees of freedom; a perfect fit has no error
SELECT round(fit::numeric, 9) AS fit, std_error, lower, upper
FROM gpu_predict_interval(gpu_ols_fit('VALUES (3, 1), (5, 2)'), 'prediction', 0.95, 3);
SELECT fit, std_error, lower, upper FROM gpu_predict_interval(made(vcov => '{{0,0},{0,0}}', dispersion => 0, df => 7),
    'prediction', 0.95, 3);
-- separated data: rows in which the separating column is 0 have limits, others have none
SET client_min_messages = error;
CREATE TEMP TABLE split AS
    SELECT gpu_logreg_fit('VALUES (0, 1, 0), (1, 2, 0), (0, 3, 0), (1, 4, 0), (1, 2, 1), (1, 1, 1)') AS m;
RESET client_min_messages;
SELECT d, fit BETWEEN 0 AND 1 AS fit, std_error > 0 AS std_error, lower < fit AS lower, upper > fit AS upper
FROM split, generate_series(0, 1) d, gpu_predict_interval(m, 'confidence', 0.95, 2, d);
-- ends of links: the inverse at 0, the square root at 0, and the identity if a mean can't be negative
SELECT link, coef, round(fit::numeric, 4) AS fit, round(lower::numeric, 4) AS lower,
    CASE WHEN abs(upper) < 1e9 THEN round(upper::numeric, 4)::float8 ELSE upper END AS upper
FROM (VALUES ('gamma', 'inverse', 4), ('gamma', 'inverse', 1), ('gamma', 'inverse', -1), ('gamma', 'inverse', -4),
    ('poisson', 'sqrt', 4), ('poisson', 'sqrt', 1), ('poisson', 'sqrt', -1), ('poisson', 'sqrt', -4),
             ('poisson', 'identity', 1), ('poisson', 'identity', -1), ('gaussian', 'identity', 1),
             ('gaussian', 'log', 1)) v(family, link, coef),
     gpu_predict_interval(made(family, link, ARRAY[coef], '{{1}}', '{(intercept)}', theta => NULL), 'confidence', 0.95);
SELECT upper FROM gpu_predict_interval(made('gaussian', 'log', '{709}', '{{1}}', '{(intercept)}'), 'confidence', 0.95);
SELECT lower, upper FROM gpu_predict_interval(made('gamma', 'inverse', '{-1}', '{{1}}', '{(intercept)}'), 'confidence',
    0.95);
SELECT fit, lower, upper FROM gpu_predict_interval(made('binomial', 'logit', '{800}', '{{1}}', '{(intercept)}'),
    'confidence', 0.95);
-- NULL arguments
SELECT gpu_predict_interval(NULL, 'confidence', 0.95, 1) IS NULL AS model,
    gpu_predict_interval(made(), NULL, 0.95, 1) IS NULL AS kind, gpu_predict_interval(made(), 'confidence', NULL,
    1) IS NULL AS level, gpu_predict_interval(made(), 'confidence', 0.95, NULL::int) IS NULL AS value,
       gpu_predict_interval(made(), 'confidence', 0.95, ARRAY[NULL::int]) IS NULL AS element,
       gpu_predict_interval(made(), 'confidence', 0.95, '{"a": null}'::jsonb) IS NULL AS key,
       gpu_leverage(NULL, 1) IS NULL AND gpu_leverage(made(), ARRAY[NULL::int]) IS NULL AS leverage;
SELECT count(*), count(fit) FROM gpu_predict_interval(made(), 'confidence', 0.95, ARRAY[NULL::int]);
SELECT count(*), count(fit) FROM gpu_predict_interval(NULL, 'confidence', 0.95, 1);
-- NaN and infinity
SELECT x, i.* FROM unnest('{NaN,Infinity,-Infinity}'::float8[]) x,
    gpu_predict_interval(made(), 'confidence', 0.95, x) i;
-- scales: units of 2^-400 to 2^400 change nothing, nor do variances next to the ends of float8; results out of range
-- are an error
SELECT count(DISTINCT std_error), count(*) FROM unnest('{0,-300,300,-400,400,500}'::int[]) e,
    LATERAL (SELECT 2 ^ e::float8 AS u) s,
    gpu_predict_interval(made(coef => ARRAY[1, 2 / u], vcov => ARRAY[[3, 0.7 / u], [0.7 / u, 1 / u / u]]), 'confidence',
    0.95, 1.7 * u);
SELECT x, abs(std_error / (1e-4 * x) - 1) < 1e-15 AS right FROM unnest('{1e300,1e-300,1}'::float8[]) x,
    gpu_predict_interval(made(coef => '{1e-10}', vcov => '{{1e-8}}', terms => '{a}'), 'confidence', 0.95, x);
SELECT std_error FROM gpu_predict_interval(made(coef => '{0}', vcov => '{{5e-324}}', terms => '{a}'), 'confidence',
    0.95, 1);
SELECT gpu_predict_interval(made(coef => '{1e-10}', vcov => '{{1e300}}', terms => '{a}'), 'confidence', 0.95, 1e200);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict_interval(made(coef => '{1e10}', vcov => '{{1}}', terms => '{a}'), 'confidence', 0.95, 1e300);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict_interval(made('gaussian', 'log', coef => '{1}', vcov => '{{1e300}}', terms => '{a}'), 'confidence',
    0.95, 600);
\echo :LAST_ERROR_SQLSTATE
-- covariances that cancel: exact here, as all of them are integers without rounding
SELECT std_error FROM gpu_predict_interval(made(vcov => '{{1000000000000001,-1000000000000000},{-1000000000000000,'
    '1000000000000000}}', design => '2 1 vcov_low 48 ' || repeat('0', 48)), 'confidence', 0.95, 1);
SELECT std_error FROM gpu_predict_interval(made(coef => '{1,1,1}',
    vcov => '{{9007199254740992,1,-9007199254740992},{1,16,0},{-9007199254740992,0,9007199254740992}}',
    terms => '{a,b,c}', design => '2 1 vcov_low 96 ' || repeat('0', 96)), 'confidence', 0.95, 1, 1, 1);
-- invalid arguments
SELECT gpu_predict_interval(made(), 'tolerance', 0.95, 1);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict_interval(made(), 'Confidence', 0.95, 1);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict_interval(made(), 'confidence', 95, 1);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict_interval(made(), 'confidence', 0);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict_interval(made(), 'confidence', 'NaN', 1);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict_interval(made('poisson', 'log'), 'prediction', 0.95, 1);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict_interval(made('gaussian', 'log'), 'prediction', 0.95, 1);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_leverage(made(vcov_type => 'HC1'), 1);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_leverage(made(method => 'ols (l2 = 1)'), 1);
\echo :LAST_ERROR_SQLSTATE
-- values that don't match the model
SELECT gpu_predict_interval(made(), 'confidence', 0.95);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict_interval(made(), 'confidence', 0.95, 1, 2);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict_interval(made(), 'confidence', 0.95, '1');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict_interval(made(), 'confidence', 0.95, 'a'::text);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_leverage(made(), 'a'::text);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict_interval(made(), 'confidence', 0.95, '{"b": 1}'::jsonb);
\echo :LAST_ERROR_SQLSTATE
-- limits are on either side of the mean, also if the rounded logistic function falls between two numbers
SELECT lower <= fit AND fit <= upper AS around, upper - lower < 1e-15 AS narrow
FROM (VALUES (-0.7774273235983244), (-0.8322160922968784)) v(eta),
    gpu_predict_interval(made('binomial', 'logit', ARRAY[eta], '{{3.6e-33}}', '{(intercept)}'), 'confidence', 0.95);
SELECT gpu_leverage(made(), ARRAY[[1]]);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict_interval(m, 'confidence', 0.95, 2.5, '5') FROM interval_models WHERE model = 'factor';
\echo :LAST_ERROR_SQLSTATE
-- invalid models
DO $$
DECLARE
    m gpu_model;
BEGIN
    FOREACH m IN ARRAY ARRAY[made(vcov => '{{4,0,0},{0,1,0}}'), made(vcov => '{{4}}'), made(vcov => '{4,0,0,1}'),
        made(vcov => '{}'), made(vcov => '{{{4,0},{0,1}}}'), made(coef => '{1}'), made(coef => '{{1,2}}'),
        made(terms => '{}'), made(terms => '{{a,b}}'),
        made(terms => '{a,NULL}'), made(terms => '{a,b,c}'), made(family => 'cauchy'), made(link => 'logit'),
        made('negative binomial', 'log', theta => 0), made(design => 'a design'), made(method => 'magic'),
        made(method => 'ols (l2 = -1)'),
        ROW(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
            NULL, NULL, NULL, NULL, NULL)::gpu_model]
    LOOP
        BEGIN
            PERFORM gpu_predict_interval(m, 'confidence', 0.95, 1);
            RAISE NOTICE 'taken: %', m;
        EXCEPTION WHEN OTHERS THEN
            RAISE NOTICE '% %', SQLSTATE, SQLERRM;
        END;
        BEGIN
            PERFORM gpu_leverage(m, 1);
            RAISE NOTICE 'taken: %', m;
        EXCEPTION WHEN invalid_parameter_value THEN
            NULL;
        END;
    END LOOP;
END
$$;
-- arrays with any bounds
SELECT std_error FROM gpu_predict_interval(made(coef => '[0:1]={1,2}', vcov => '[5:6][-1:0]={{4,0},{0,1}}'),
    'confidence', 0.95, 0);
DROP FUNCTION made, agrees, values_of;
DROP TABLE interval_fits, interval_models, plain, cars, split;
