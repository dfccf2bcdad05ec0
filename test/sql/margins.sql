-- gpu_margins against values of 60 digits, with derivatives by hand: test/data/margins_reference.py; R's are in
-- test/data/margins_reference.R.
\set VERBOSITY default
CREATE TABLE margins_fits (model text, term text, estimate numeric, std_error numeric);
\copy margins_fits FROM 'test/data/margins_fits.csv' WITH (FORMAT csv, HEADER)
CREATE TEMP TABLE glm_rows (dataset text, y float8, weight float8, frequency float8, base float8, x float8[]);
\copy glm_rows FROM 'test/data/glm_rows.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE margins_models AS
SELECT name AS model, query, averages, offsets, CASE WHEN name IN ('linear', 'polynomial', 'factor',
    'number and factor', 'boolean') THEN gpu_ols_fit(query, formula => formula)
    ELSE gpu_glm_fit(query, family, link, formula => formula, weights => weights, offsets => offsets,
        theta => CASE WHEN family = 'negative binomial' THEN 2 END, max_iter => 100) END AS m
FROM (SELECT 'linear', 'mpg ~ wt + hp', 'gaussian', 'identity', 'SELECT * FROM mtcars', NULL, NULL, NULL
    UNION ALL SELECT v.*, 'SELECT * FROM mtcars', NULL, NULL, NULL FROM (VALUES
        ('polynomial', 'mpg ~ poly(hp, 3) + wt * qsec', 'gaussian', 'identity'),
        ('factor', 'mpg ~ wt * factor(cyl) + qsec', 'gaussian', 'identity'),
        ('number and factor', 'mpg ~ wt:cyl + factor(cyl)', 'gaussian', 'identity'),
        ('powers by level', 'mpg ~ poly(wt, 2):factor(cyl) - 1', 'gaussian', 'log'),
        ('gaussian log', 'mpg ~ wt + hp', 'gaussian', 'log'), ('gaussian inverse', 'mpg ~ wt + hp', 'gaussian',
            'inverse'),
        ('logit', 'am ~ wt + hp', 'binomial', 'logit'), ('probit', 'vs ~ wt', 'binomial', 'probit'),
        ('cloglog', 'vs ~ wt', 'binomial', 'cloglog'),
        ('poisson', 'carb ~ wt * hp', 'poisson', 'log'), ('poisson factor', 'carb ~ wt + factor(cyl)', 'poisson',
            'log'), ('poisson sqrt', 'carb ~ wt + hp', 'poisson', 'sqrt'),
        ('poisson identity', 'carb ~ hp', 'poisson', 'identity'),
        ('quasipoisson', 'carb ~ wt + hp', 'quasipoisson', 'log'),
        ('gamma inverse', 'mpg ~ wt + hp', 'gamma', 'inverse'), ('gamma log', 'mpg ~ poly(wt, 2) * hp', 'gamma', 'log'),
        ('gamma identity', 'mpg ~ wt', 'gamma', 'identity'),
        ('negative binomial', 'carb ~ wt + hp', 'negative binomial', 'log')) v
    UNION ALL VALUES ('boolean', 'mpg ~ wt * manual', 'gaussian', 'identity',
        'SELECT mpg, wt, am = 1 AS manual FROM mtcars', NULL, NULL, NULL),
        ('poisson offset', NULL, 'poisson', 'log', 'SELECT carb, wt, hp / 128 AS known FROM mtcars', NULL, 'known',
            NULL),
        ('budworm', NULL, 'binomial', 'logit', $$SELECT y, x, weight FROM glm_rows WHERE dataset = 'budworm'$$,
            'weight', NULL, NULL)
    UNION ALL SELECT 'infert ' || l, '"case" ~ factor(spontaneous) * age + parity', 'binomial', l,
    'SELECT * FROM infert', NULL, NULL, NULL FROM unnest('{logit,probit,cloglog}'::text[]) l
    UNION ALL SELECT 'beetles ' || l || b, NULL, 'binomial', l,
    $$SELECT y, x, weight FROM glm_rows WHERE dataset = 'beetles'$$, 'weight', NULL,
    CASE b WHEN '' THEN NULL ELSE 'weight' END
        FROM unnest('{logit,probit,cloglog}'::text[]) l, unnest('{""," by trials"}'::text[]) b) t(name, formula,
        family, link, query, weights, offsets, averages);
CREATE TABLE margins_got AS SELECT model, g.*, (m).df_inference FROM margins_models,
    gpu_margins(m, query, weights => averages, offsets => offsets) g;
-- every effect of every model; effects of glm_rows are those of the elements of x
SELECT model, count(*) AS n, bool_and(digits(g.estimate, f.estimate) >= 12) AS estimate,
    bool_and(digits(g.std_error, f.std_error) >= 12) AS std_error
FROM margins_fits f FULL JOIN (SELECT model, regexp_replace(term, '^x\[(\d)\]$', 'x\1') AS term, estimate, std_error
    FROM margins_got) g USING (model, term) GROUP BY model ORDER BY model COLLATE "C";
-- terms are in the order of the query's columns; tests and limits
SELECT model, array_agg(term ORDER BY position) FROM (SELECT model, term, position FROM margins_models, ROWS
    FROM (gpu_margins(m, query, weights => averages, offsets => offsets)) WITH ORDINALITY AS g(term, estimate,
    std_error, statistic, p_value, conf_low, conf_high, position)
    WHERE model IN ('factor', 'infert logit', 'boolean', 'budworm', 'number and factor')) t GROUP BY model
ORDER BY model COLLATE "C";
SELECT bool_and(statistic = estimate / std_error) AS statistic,
    bool_and(abs(p_value - 2 * gpu_pt(-abs(statistic), df_inference)) <= 1e-12 * p_value) AS p_value,
    bool_and(df_inference < 'Infinity') AS t,
    bool_and(abs((conf_high - conf_low) / (2 * gpu_qt(0.975, df_inference) * std_error) - 1) < 1e-12) AS limits
FROM margins_got GROUP BY df_inference = 'Infinity' ORDER BY t;
SELECT bool_and(abs(((conf_high - conf_low) / (2 * gpu_qt(0.9, (m).df_inference) * std_error)) - 1) < 1e-12) AS level
FROM margins_models, gpu_margins(m, query, 0.8, averages, offsets);
-- for a linear model whose features are its columns, effects are the coefficients
SELECT bool_and(t.estimate = g.estimate AND abs(t.std_error / g.std_error - 1) < 1e-14
    AND t.p_value = g.p_value) AS same, count(*)
FROM gpu_ols_fit('SELECT mpg, wt, hp, qsec FROM mtcars') m, gpu_tidy(m) t
JOIN gpu_margins(m, 'SELECT * FROM mtcars') g USING (term);
-- weights count like rows, fractions of weights like the whole; rows without weight
SELECT bool_and(abs(a.estimate / b.estimate - 1) < 1e-13 AND abs(a.std_error / b.std_error - 1) < 1e-13) AS repeated,
    bool_and(abs(a.estimate / c.estimate - 1) < 1e-13 AND abs(a.std_error / c.std_error - 1) < 1e-13) AS scaled
FROM margins_models, gpu_margins(m, 'SELECT * FROM mtcars, generate_series(1, carb::int)') a,
    gpu_margins(m, 'SELECT * FROM mtcars', weights => 'carb') b,
    gpu_margins(m, 'SELECT *, carb / 1000 AS w FROM mtcars UNION ALL SELECT *, 0 FROM mtcars UNION ALL SELECT *, NULL '
    'FROM mtcars', weights => 'w') c
WHERE model IN ('logit', 'gamma log', 'infert logit') AND query LIKE '%mtcars' AND a.term = b.term AND a.term = c.term;
SELECT bool_and(a = b) AS same, count(*) FROM margins_models, LATERAL (SELECT array_agg(g) AS a
    FROM gpu_margins(m, query) g) a, LATERAL (SELECT array_agg(g) AS b
    FROM gpu_margins(m, format('SELECT * FROM (%s) t UNION ALL SELECT (jsonb_populate_record(NULL::mtcars, ''{}'')).*',
    query)) g) b WHERE query = 'SELECT * FROM mtcars';
-- neither further columns of the query matter, nor their order, nor numeric and integer types
SELECT count(DISTINCT e) AS one, count(*) FROM margins_models,
    LATERAL (VALUES ('SELECT * FROM mtcars'),
    ('SELECT now(), hp::int, NULL::point AS p, wt, ''x'' AS "nobody''s"  FROM mtcars'),
    ('SELECT wt::numeric, hp::smallint, wt AS other, wt AS other FROM mtcars'),
    ('SELECT hp, wt FROM mtcars ORDER BY wt DESC')) v(q),
    LATERAL (SELECT array_agg(round(estimate::numeric, 14) ORDER BY term) || array_agg(round(std_error::numeric, 14)
        ORDER BY term) AS e FROM gpu_margins(m, q)) g WHERE model = 'logit';
-- an aggregate's model, by the names of its terms; arrays by their elements
SELECT bool_and(a.estimate = b.estimate AND a.std_error = b.std_error) AS same, count(*)
FROM (SELECT gpu_ols_agg(mpg, wt, hp) AS m FROM mtcars) t, gpu_margins(m, 'SELECT wt AS x1, hp AS x2 FROM mtcars') a
    JOIN gpu_margins(gpu_ols_fit('SELECT mpg, wt, hp FROM mtcars'), 'SELECT wt, hp FROM mtcars') b
        ON (a.term, b.term) IN (('x1', 'wt'), ('x2', 'hp'));
SELECT g.term FROM gpu_logreg_fit('SELECT am, ARRAY[wt, hp] AS v FROM mtcars') m,
    gpu_margins(m, 'SELECT ARRAY[wt, hp] AS v FROM mtcars UNION ALL SELECT ARRAY[1, NULL]') g;
SELECT bool_and(a.estimate = b.estimate) AS same FROM gpu_logreg_fit('SELECT am, ARRAY[wt, hp] AS v FROM mtcars') m,
    gpu_margins(m, 'SELECT ARRAY[wt, hp] AS v FROM mtcars') a
JOIN gpu_margins(m, 'SELECT wt AS "v[1]", hp AS "v[2]" FROM mtcars') b USING (term);
-- texts and enums; a level that no row of the query has is compared all the same
SELECT g.term, g.estimate IS NOT NULL AS known FROM gpu_ols_fit('SELECT ln(price) AS lp, carat, cut FROM diamonds') m,
    gpu_margins(m, 'SELECT carat, cut FROM diamonds WHERE cut = ''Ideal'' LIMIT 10') g;
SELECT bool_and(g.estimate = t.estimate AND abs(g.std_error / t.std_error - 1) < 1e-13) AS coefficients
FROM gpu_ols_fit('SELECT ln(price) AS lp, carat, cut FROM diamonds') m,
    gpu_margins(m, 'SELECT carat, cut FROM diamonds WHERE cut = ''Ideal'' LIMIT 10') g JOIN gpu_tidy(m) t USING (term);
CREATE TYPE size AS ENUM ('small', 'large');
SELECT g.term, round(g.estimate::numeric, 9) AS estimate
FROM gpu_ols_fit('SELECT mpg, (ARRAY[''small'', ''large'']::size[])[1 + (wt > 3)::int] AS size FROM mtcars') m,
    gpu_margins(m, 'SELECT (ARRAY[''small'', ''large'']::size[])[1 + (wt > 3)::int] AS size FROM mtcars') g;
SELECT round((avg(mpg) FILTER (WHERE wt > 3) - avg(mpg) FILTER (WHERE NOT wt > 3))::numeric, 9) AS difference
FROM mtcars;
-- a column named by its expression
SELECT g.term, g.estimate IS NOT NULL AS known FROM gpu_ols_fit('SELECT mpg, wt > 3, wt FROM mtcars') m,
    gpu_margins(m, 'SELECT wt > 3, wt FROM mtcars') g;
-- differences that are small beside the means, with means near 1 or 0
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
SELECT link, e, abs(g.estimate / want - 1) < 1e-13 AS good
FROM (VALUES ('binomial', 'logit', 30), ('binomial', 'logit', -700), ('binomial', 'cloglog', -700),
    ('poisson', 'log', -300), ('poisson', 'log', 100), ('poisson', 'sqrt', 1e8), ('gamma', 'inverse', 1e9)) v(family,
    link, e),
    -- e^0.000001 - 1
    LATERAL (SELECT 1.000000500000166666708e-6::float8 AS grown) g0,
    LATERAL (SELECT CASE link WHEN 'logit' THEN exp(-abs(e)::float8) * CASE WHEN e > 0 THEN exp(-1e-6::float8)
        ELSE 1 END * grown / (1 + exp(-abs(e)::float8)) ^ 2 WHEN 'sqrt' THEN 1e-6 * (2 * e + 1e-6)
        WHEN 'inverse' THEN -1e-6 / (e::float8 * (e + 1e-6)) ELSE exp(e::float8) * grown END AS want) w,
    gpu_margins(made(family, link, ARRAY[e, 1e-6]), 'SELECT true AS a') g;
SELECT abs(estimate / (gpu_pnorm(-8) - gpu_pnorm(-9)) - 1) < 1e-13 AS probit
FROM gpu_margins(made('binomial', 'probit', '{8,1}'), 'SELECT true AS a');
-- slopes that cancel over the rows: with a^2 about 0, the average is the coefficient times the mean
SELECT round(estimate::numeric, 20) AS estimate
FROM gpu_margins(made(coef => '{0,0,1}', vcov => '{{1,0,0},{0,1,0},{0,0,1}}', terms => '{(intercept),a,a^2}',
    design => '1 "" 1 n "a" 1 1 p 0 2'), 'SELECT a FROM (VALUES (1e15::float8), (-1e15), (0.5)) v(a)');

-- models made by hand: mu = 1 + 2 a, and with other links
SELECT g.* FROM gpu_margins(made(), 'VALUES (1)') g;
\echo :LAST_ERROR_SQLSTATE
SELECT term, estimate, std_error, round(conf_low::numeric, 4) AS low FROM gpu_margins(made(), 'SELECT 7 AS a') g;
SELECT term, round(estimate::numeric, 9) AS estimate, round(std_error::numeric, 9) AS std_error
FROM gpu_margins(made('poisson', 'log'), 'SELECT 0 AS a');
SELECT round((2 * exp(1))::numeric, 9) AS estimate, round((exp(1) * sqrt(4 * 4 + 1))::numeric, 9) AS std_error;
-- an offset is part of the predictor
SELECT abs(g.estimate / (2 * exp(1.5)) - 1) < 1e-15 AS offsets
FROM gpu_margins(made('poisson', 'log'), 'SELECT 0 AS a, 0.5 AS o', offsets => 'o') g;
-- NULL coefficients are ignored; an effect that depends only on them is NULL. No covariances or degrees of freedom
SELECT what, g.* FROM (VALUES (1, 'aliased', made(coef => '{1,NULL}', vcov => '{{4,NULL},{NULL,NULL}}')),
    (2, 'no vcov', made(vcov => NULL)), (3, 'df 0', made(df => 0)), (4, 'negative', made(vcov => '{{4,0},{0,-1}}')),
    (5, 'NaN', made(vcov => '{{4,0},{0,NaN}}')), (6, 'exact', made(vcov => '{{0,0},{0,0}}'))) v(k, what, m),
    gpu_margins(m, 'SELECT 1 AS a') g ORDER BY k;
SELECT g.term, g.estimate IS NULL AS aliased, g.std_error IS NULL AS no_error
FROM gpu_ols_fit('SELECT mpg, wt, hp, 2 * wt AS twice FROM mtcars') m,
    gpu_margins(m, 'SELECT wt, hp, 2 * wt AS twice FROM mtcars') g;
-- infinite coefficients follow arithmetic
SELECT link, a, g.estimate, g.std_error FROM (VALUES ('gaussian', 'identity', 1), ('binomial', 'logit', 0),
    ('binomial', 'logit', 1)) v(family, link, a), gpu_margins(made(family, link, '{1,Infinity}'),
    format('SELECT %s AS a', a)) g;
SELECT g.estimate, g.std_error > 0 AS error
FROM gpu_margins(made('binomial', 'logit', '{0,Infinity}', separated => '{}'), 'SELECT true AS a') g;
-- separated data: the separating level has an effect without an error; other effects have both. A separating number has
-- neither.
SET client_min_messages = error;
SELECT g.term, round(g.estimate::numeric, 6) AS estimate, g.std_error > 0 AS error
FROM gpu_logreg_fit('SELECT y, x, g FROM (VALUES (0, 1, ''a''), (1, 2, ''a''), (0, 3, ''a''), (1, 4, ''a''), (1, 2, '
    '''b''), (1, 1, ''b''), (0, 2, ''c''), (1, 3, ''c'')) v(y, x, g)') m,
    gpu_margins(m, 'SELECT x, g FROM (VALUES (1, ''a''), (2, ''a''), (3, ''b''), (2, ''c'')) v(x, g)') g;
SELECT g.term, round(g.estimate::numeric, 6) AS estimate, g.std_error > 0 AS error
FROM gpu_logreg_fit('SELECT y, x, z FROM (VALUES (0, 1, 0), (1, 2, 0), (0, 3, 0), (1, 4, 0), (1, 2, 1), (1, 1, 1)) '
    'v(y, x, z)') m,
    gpu_margins(m, 'SELECT 2 AS x, 0 AS z') g WHERE term = 'z' OR estimate > 0;
RESET client_min_messages;
-- an intercept alone has no effects; a NULL model has none
SELECT count(*) FROM gpu_margins(gpu_ols_fit('SELECT mpg FROM mtcars'), 'SELECT 1');
SELECT count(*) FROM gpu_margins(NULL, 'nonsense');
-- out of range
SELECT * FROM gpu_margins(made('poisson', 'log'), 'SELECT 400 AS a');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_margins(made('gamma', 'inverse', '{0,1}'), 'SELECT 0 AS a');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_margins(made(coef => '{0,1,1}', vcov => '{{1,0,0},{0,1,0},{0,0,1}}', terms => '{(intercept),a,a^2}',
    design => '1 "" 1 n "a" 1 1 p 0 2'), 'SELECT 1e200::float8 AS a');
SELECT * FROM gpu_margins(made('gaussian', 'log', '{1,1}', '{{1,0},{0,1e300}}'), 'SELECT 600 AS a');
\echo :LAST_ERROR_SQLSTATE
-- invalid rows
SELECT * FROM gpu_margins(made(), 'SELECT 1 AS a WHERE false');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_margins(made(), 'SELECT NULL::int AS a FROM generate_series(1, 3)');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_margins(made(), 'SELECT 1 AS a, 0 AS w', weights => 'w');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_margins(made(), 'SELECT ''NaN''::float8 AS a');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_margins(made(), 'SELECT 1 AS a, -1 AS w', weights => 'w');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_margins(made(), 'SELECT 1 AS a, ''Infinity''::real AS o', offsets => 'o');
\echo :LAST_ERROR_SQLSTATE
SELECT g.* FROM margins_models, gpu_margins(m, 'SELECT 3 AS wt, 5 AS cyl, 17 AS qsec') g WHERE model = 'factor';
\echo :LAST_ERROR_SQLSTATE
-- invalid columns
SELECT * FROM gpu_margins(made(), 'SELECT 1 AS b');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_margins(made(), 'SELECT 1 AS a, 2 AS a');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_margins(made(), 'SELECT ''1'' AS a');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_margins(made(), 'SELECT ARRAY[1] AS a');
\echo :LAST_ERROR_SQLSTATE
SELECT g.* FROM margins_models, gpu_margins(m, 'SELECT 3 AS wt, 17 AS qsec') g WHERE model = 'factor';
\echo :LAST_ERROR_SQLSTATE
SELECT g.* FROM margins_models, gpu_margins(m, 'SELECT 3 AS wt, 4 AS cyl, now() AS qsec') g WHERE model = 'factor';
\echo :LAST_ERROR_SQLSTATE
SELECT g.* FROM margins_models, gpu_margins(m, 'SELECT 3 AS wt, now() AS cyl, 3 AS qsec') g WHERE model = 'factor';
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_margins(made(coef => '{1,2,3}', vcov => NULL, terms => '{(intercept),v[1],v[2]}'),
    'SELECT ARRAY[1, 2, 3] AS v');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_margins(made(coef => '{1,2,3}', vcov => NULL, terms => '{(intercept),v[1],v[3]}'),
    'SELECT ARRAY[1, 2] AS v');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_margins(made(coef => '{1,2,3}', vcov => NULL, terms => '{(intercept),v[1],v[2]}'),
    'SELECT ARRAY[1, 2] AS v, 3 AS "v[2]"');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_margins(made(), 'SELECT 1 AS a', weights => 'w');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_margins(made(), 'SELECT 1 AS a, ''x'' AS o', offsets => 'o');
\echo :LAST_ERROR_SQLSTATE
-- invalid other arguments, and queries
SELECT * FROM gpu_margins(made(), NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_margins(made(), 'SELECT 1 AS a', NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_margins(made(), 'SELECT 1 AS a', 95);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_margins(made(), 'SELECT 1 AS a; SELECT 2 AS a');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_margins(made(), 'DELETE FROM margins_fits RETURNING 1 AS a');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_margins(made(), 'SELECT $1 AS a');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_margins(made(), 'SELECT 1 / (a - 1) AS a FROM generate_series(1, 3) a');
\echo :LAST_ERROR_SQLSTATE
-- invalid models
DO $$
DECLARE
    m gpu_model;
BEGIN
    FOREACH m IN ARRAY ARRAY[made(vcov => '{{4,0,0},{0,1,0}}'), made(vcov => '{{4}}'), made(vcov => '{4,0,0,1}'),
        made(vcov => '{}'), made(coef => '{1}'), made(coef => '{{1,2}}'), made(terms => '{}'), made(terms => '{{a,b}}'),
        made(terms => '{a,NULL}'), made(terms => '{a,a}'),
        made(family => 'cauchy'), made(link => 'logit'), made(design => 'a design'),
        made(design => '1 "" 1 n "a" 1 1 p 0 2'), made(design => '1 "" 1 b "a" 2 "x" "y" 1 1 c 0'),
        made(method => 'magic'),
        ROW(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
            NULL, NULL, NULL, NULL, NULL)::gpu_model]
    LOOP
        BEGIN
            PERFORM gpu_margins(m, 'SELECT 1 AS a');
            RAISE NOTICE 'taken: %', m;
        EXCEPTION WHEN OTHERS THEN
            RAISE NOTICE '% %', SQLSTATE, SQLERRM;
        END;
    END LOOP;
END
$$;
SELECT gpu_margins(made(coef => array_fill(1::float8, ARRAY[10001]), vcov => NULL,
    terms => (SELECT array_agg('t' || i) FROM generate_series(1, 10001) i)), 'SELECT 1 AS a');
\echo :LAST_ERROR_SQLSTATE
-- a column of the design without a feature has no effect; powers about a center are for rows
SELECT g.term, g.estimate FROM gpu_margins(made(design => '1 "" 2 n "a" f "b" 2 "x" "y" 1 1 n 0'),
    'SELECT 1 AS a, ''x''::text AS b') g;
SELECT g.term, g.estimate FROM gpu_margins(made(design => '1 "" 1 n "a" 1 1 q 0 1 3ff0000000000000'),
    'SELECT 1 AS a') g;
-- several calls in one statement, each with its own model; nested calls
SELECT count(*), count(DISTINCT g.estimate) FROM margins_models,
    gpu_margins(m, query, weights => averages, offsets => offsets) g WHERE model LIKE 'infert%';
CREATE FUNCTION within(n int) RETURNS float8
LANGUAGE sql AS $$ SELECT estimate FROM gpu_margins(made('poisson', 'log'), CASE WHEN n = 0 THEN 'SELECT 0 AS a'
    ELSE format('SELECT within(%s) / 100 AS a', n - 1) END) $$;
SELECT round(within(3)::numeric, 9) AS within;
-- functions of the query that change the tables it reads, and settings
CREATE TABLE changing AS SELECT i AS a FROM generate_series(1, 5) i;
CREATE FUNCTION change() RETURNS boolean
LANGUAGE plpgsql AS $$ BEGIN SET search_path = nowhere; DROP TABLE public.changing; RETURN true; END $$;
SELECT * FROM gpu_margins(made(), 'SELECT a FROM changing WHERE change()');
\echo :LAST_ERROR_SQLSTATE
CREATE OR REPLACE FUNCTION change() RETURNS boolean
LANGUAGE plpgsql IMMUTABLE
    AS $$ BEGIN PERFORM set_config('search_path', 'nowhere', true); PERFORM set_config('row_security', 'off', true);
    RETURN true; END $$;
BEGIN;
SELECT estimate FROM gpu_margins(made(), 'SELECT a FROM changing WHERE change()');
ROLLBACK;
-- a role that owns nothing: a table that it may not read; row-level security
CREATE ROLE margins_nobody;
SET ROLE margins_nobody;
SELECT * FROM gpu_margins(made(), 'SELECT a FROM changing');
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
ALTER TABLE changing ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON changing FOR SELECT TO margins_nobody USING (a < 3);
GRANT SELECT ON changing TO margins_nobody;
SELECT abs(estimate / (2 * (exp(1 + 2) + exp(1 + 4) + exp(1 + 6) + exp(1 + 8) + exp(1 + 10)) / 5) - 1)
    < 1e-14 AS all_rows FROM gpu_margins(made('poisson', 'log'), 'SELECT a FROM changing');
SET ROLE margins_nobody;
SELECT abs(estimate / (exp(3) + exp(5)) - 1) < 1e-14 AS few_rows
FROM gpu_margins(made('poisson', 'log'), 'SELECT a FROM changing');
RESET ROLE;
DROP FUNCTION change, within, made;
DROP TABLE changing, margins_fits, margins_models, margins_got;
DROP TYPE size;
DROP ROLE margins_nobody;
-- Effects of columns of numbers are summed in an aggregate, by a scan, and in parallel workers: the same bits as row by
-- row, which gpureg.read = spi asks for.
CREATE TABLE summed AS
SELECT i, sin(i) AS a, (i % 11)::int AS b, (i * 7919 % 1000)::numeric(10,2) / 100 AS c, cos(i * i)::real AS d,
    i % 3 = 0 AS e, CASE WHEN i % 50 <> 7 THEN sin(3 * i) END AS f,
    ln(1 + i % 7) AS o, (i % 4)::bigint AS w, chr(97 + i % 3) AS g,
    (sin(i * 1.3) + sin(i) > 0)::int AS won, 1 + abs(sin(i * 1.7)) AS y, i % 6 AS n
FROM generate_series(1, 3000) i;
ANALYZE summed;
CREATE TABLE summed_models AS
SELECT 'logit' AS name, gpu_logreg_fit('SELECT won, a, b, c, d FROM summed') AS m
UNION ALL SELECT 'probit', gpu_glm_fit('SELECT won, a, b, c, f FROM summed', 'binomial', 'probit')
UNION ALL SELECT 'poisson', gpu_glm_fit('SELECT n, a, b, d FROM summed', 'poisson')
UNION ALL SELECT 'offset', gpu_glm_fit('SELECT n, a, b, d, o FROM summed', 'poisson', offsets => 'o')
UNION ALL SELECT 'gamma', gpu_glm_fit('SELECT y, a, c FROM summed', 'gamma', 'inverse')
UNION ALL SELECT 'negative binomial', gpu_glm_fit('SELECT n, a, b FROM summed', 'negative binomial')
UNION ALL SELECT 'linear', gpu_ols_fit('SELECT y, a, b, c FROM summed')
UNION ALL SELECT 'no intercept', gpu_glm_fit('SELECT won, a, b FROM summed', 'binomial', intercept => false)
UNION ALL SELECT 'collinear', gpu_glm_fit('SELECT won, a, b, 2 * a AS d FROM summed', 'binomial')
UNION ALL SELECT 'boolean', gpu_glm_fit('SELECT won, a, e FROM summed', 'binomial')
UNION ALL SELECT 'formula', gpu_glm_fit('SELECT won, a, b, c FROM summed', 'binomial', formula => 'won ~ c + a')
UNION ALL SELECT 'factor', gpu_glm_fit('SELECT won, a, g FROM summed', 'binomial')
UNION ALL SELECT 'power', gpu_glm_fit('SELECT won, a, b FROM summed', 'binomial', formula => 'won ~ poly(a, 2) + b')
UNION ALL SELECT 'array', gpu_glm_fit('SELECT won, ARRAY[a, d] AS x FROM summed', 'binomial');
CREATE TABLE summed_queries (number int, query text);
INSERT INTO summed_queries VALUES (1, 'SELECT won, a, b, c, d, e, f, o, g, ARRAY[a, d] AS x FROM summed'),
    (2, 'SELECT g, f, o, d, c, b, e, a::numeric, ARRAY[a, d] AS x FROM summed WHERE i < 300 ORDER BY a'),
    (3, 'SELECT s.*, ARRAY[a, d] AS x FROM (SELECT i, a * 1.5 AS a, b + i AS b, c, d, e, f, o, g FROM summed) s JOIN
        generate_series(1, 2000, 3) i USING (i)'),
    (4, 'SELECT a, b, c, d, e, f, o, g, ARRAY[a, d] AS x FROM summed WHERE i = 5');
CREATE TABLE summed_effects (way text, name text, number int, effect text);
PREPARE sum_effects(text) AS INSERT INTO summed_effects
SELECT $1, name, number, e::text FROM summed_models, summed_queries, gpu_margins(m, query) e;
EXECUTE sum_effects('pass');
SET gpureg.read = spi;
EXECUTE sum_effects('rows');
RESET gpureg.read;
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
INSERT INTO summed_effects SELECT 'workers', name, number, e::text
FROM summed_models, summed_queries, gpu_margins(m, query) e
WHERE number = 1 AND name IN ('logit', 'probit', 'offset', 'array');
RESET max_parallel_workers_per_gather;
RESET min_parallel_table_scan_size;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
SELECT way, count(*) AS n, count(*) FILTER (WHERE NOT EXISTS (SELECT FROM summed_effects r WHERE r.way = 'rows' AND
    (r.name, r.number, r.effect) = (e.name, e.number, e.effect))) AS others
FROM summed_effects e GROUP BY way ORDER BY way;
-- errors, and rows that are not complete, are those of row by row
SELECT count(*) FROM gpu_margins((SELECT m FROM summed_models WHERE name = 'logit'),
    'SELECT * FROM summed WHERE i < 0');
SELECT count(*) FROM gpu_margins((SELECT m FROM summed_models WHERE name = 'logit'),
    'SELECT a, b, c, NULL::float8 AS d FROM summed WHERE i < 4');
SELECT count(*) FROM gpu_margins((SELECT m FROM summed_models WHERE name = 'logit'),
    'SELECT a, b, c, CASE i WHEN 900 THEN ''NaN''::real ELSE d END AS d FROM summed');
SELECT count(*) FROM gpu_margins((SELECT m FROM summed_models WHERE name = 'logit'),
    'SELECT a, b::bigint + CASE i WHEN 900 THEN 9007199254740992 ELSE 0 END AS b, c, d FROM summed');
SELECT count(*) FROM gpu_margins((SELECT m FROM summed_models WHERE name = 'offset'),
    'SELECT a, b, d, o / (i - 800) AS o FROM summed');
SELECT count(*) FROM gpu_margins((SELECT m FROM summed_models WHERE name = 'offset'),
    'SELECT a, b, d, CASE i WHEN 7 THEN ''-Infinity'' ELSE o END AS o FROM summed');
SELECT count(*) FROM gpu_margins((SELECT m FROM summed_models WHERE name = 'logit'),
    'SELECT a * 1e308 AS a, b, c, d * 1e38::float8 AS d FROM summed');
SELECT count(*) FROM gpu_margins((SELECT m FROM summed_models WHERE name = 'logit'),
    'SELECT a, b, c, a AS b, d FROM summed');
-- a model of more columns than an aggregate can have arguments
SELECT format('SELECT won, %s FROM summed', string_agg(format('sin(i * 1.%s + %1$s) AS x%1$s', k), ', ')) AS many
FROM generate_series(1, 120) k \gset
SELECT count(*), count(std_error) FROM gpu_ols_fit(:'many') m, gpu_margins(m, :'many');
-- under another role, with functions in its way
CREATE SCHEMA margins_attack;
CREATE FUNCTION margins_attack.gpu_request_accum(internal, bytea, text[], int[], VARIADIC "any") RETURNS internal
    AS 'int8_avg_accum' LANGUAGE internal;
CREATE ROLE margins_reader;
GRANT SELECT ON summed, summed_models TO margins_reader;
GRANT USAGE ON SCHEMA margins_attack TO margins_reader;
BEGIN;
SET LOCAL ROLE margins_reader;
SET LOCAL search_path = margins_attack, public;
SELECT count(*) FROM gpu_margins((SELECT m FROM summed_models WHERE name = 'logit'), 'SELECT a, b, c, d FROM summed');
COMMIT;
SELECT function, rows, features FROM gpu_last_run();
DROP TABLE summed, summed_models, summed_queries, summed_effects;
DROP SCHEMA margins_attack CASCADE;
DROP ROLE margins_reader;
DEALLOCATE sum_effects;
