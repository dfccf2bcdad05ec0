-- Comparisons of models and terms: gpu_anova, gpu_wald, gpu_vif, gpu_with_terms, and gpu_glance of every family.
-- Reference values are R 4.2's: anova(), MASS's anova.negbin, car's linearHypothesis() and vif(); logistic fits with
-- epsilon = 1e-15: test/data/after_fit_reference.R.
\set VERBOSITY default
CREATE FUNCTION agrees(got float8, want numeric, ndigits int DEFAULT 12) RETURNS boolean
LANGUAGE sql IMMUTABLE STRICT AS $$ SELECT digits(got, want) >= ndigits $$;
CREATE FUNCTION made(family text, link text, df_residual int, deviance float8, rank int DEFAULT 2, n int DEFAULT 32,
    theta float8 DEFAULT NULL, dispersion float8 DEFAULT 1,
                     log_lik float8 DEFAULT NULL, null_deviance float8 DEFAULT NULL, coef float8[] DEFAULT '{1,2}',
                     vcov float8[] DEFAULT '{{1,0},{0,1}}', terms text[] DEFAULT '{(intercept),a}',
                     separated text[] DEFAULT '{}', vcov_type text DEFAULT 'iid',
                     df_inference float8 DEFAULT 'Infinity', design text DEFAULT '', method text DEFAULT 'glm')
RETURNS gpu_model LANGUAGE sql IMMUTABLE AS $$
    SELECT ROW(method, terms, coef, vcov, n, 0, rank, df_residual, deviance, coalesce(null_deviance, deviance),
        5, true, separated, 'cpu', log_lik, family, link, theta, dispersion, vcov_type,
               df_inference, design)::gpu_model
$$;
CREATE TEMP TABLE fits AS SELECT gpu_ols_fit('SELECT mpg, wt FROM mtcars') AS a,
    gpu_ols_fit('SELECT mpg, wt, hp, qsec FROM mtcars') AS b,
    gpu_logreg_fit('SELECT am, wt FROM mtcars') AS g, gpu_logreg_fit('SELECT am, wt, hp FROM mtcars') AS h;
-- gpu_anova: F for linear models
SELECT model, df_residual, df, agrees(deviance_change, 92.262640327863295) AS change,
    agrees(statistic, 6.9422865931507864) AS statistic, agrees(p_value, 0.0035600419821586612) AS p_value, test
FROM fits, gpu_anova(a, b);
-- the smaller model comes first, in either order of arguments
SELECT model, df_residual, deviance = (CASE model WHEN 1 THEN b ELSE a END).deviance AS deviance,
    agrees(statistic, 6.9422865931507864) AS statistic FROM fits, gpu_anova(b, a);
-- the likelihood ratio for logistic models
SELECT model, df_residual, df, agrees(statistic, 9.1169743351780976) AS statistic,
    agrees(p_value, 0.0025324848119910089) AS p_value, test FROM fits, gpu_anova(g, h);
-- families with a dispersion: F with the larger model's dispersion
SELECT df, agrees(statistic, 8.3000991045425287) AS gamma, agrees(p_value, 0.0014773976228624149) AS p_value, test
FROM gpu_anova(made('gamma', 'log', 30, 0.56667241018072922), made('gamma', 'log', 28, 0.34914586571277101, 4,
    dispersion => 0.01310385223887923)) WHERE model = 2;
SELECT df, agrees(statistic, 17.650728393662668) AS quasibinomial, agrees(p_value, 0.00023103731338872273) AS p_value,
    test
FROM gpu_anova(made('quasibinomial', 'logit', 30, 19.176084807445086),
    made('quasibinomial', 'logit', 29, 10.059110472266989, 3, dispersion => 0.51652113906253661)) WHERE model = 2;
SELECT df, agrees(statistic, 9.6842944224726786) AS poisson, agrees(p_value, 0.0018584974168044176) AS p_value, test
FROM gpu_anova(made('poisson', 'log', 30, 21.962333259190551), made('poisson', 'log', 29, 12.278038836717872, 3))
WHERE model = 2;
-- negative binomial models of different theta have incomparable deviances: likelihoods are compared
SELECT df, agrees(statistic, 21.621613176479968, 11) AS negbin, agrees(p_value, 0.00023834492629926096, 11) AS p_value,
    test
FROM gpu_anova(made('negative binomial', 'log', 144, 168.50743252701619, 2, 146, 1.0741165238371091,
    log_lik => -558.63715521190761),
               made('negative binomial', 'log', 140, 167.86284040477238, 6, 146, 1.2507035670411115,
                   log_lik => -547.82634862366763)) WHERE model = 2;
SELECT statistic, test FROM gpu_anova(made('negative binomial', 'log', 30, 20, 2, theta => 3),
    made('negative binomial', 'log', 29, 15, 3, theta => 3)) WHERE model = 2;
-- robust covariances are ignored; there is no test without degrees of freedom or a dispersion; a perfect fit; a
-- deviance that grows by rounding
SELECT statistic, p_value FROM fits, gpu_anova(made('poisson', 'log', 30, 20, vcov_type => 'HC0'),
    made('poisson', 'log', 29, 15, 3)) WHERE model = 2;
SELECT deviance_change, statistic, p_value, test FROM gpu_anova(gpu_ols_fit('VALUES (3, 1), (6, 2), (5, 3)'),
    gpu_ols_fit('VALUES (3, 1, 1), (6, 2, 4), (5, 3, 9)')) WHERE model = 2;
SELECT statistic, p_value
FROM gpu_anova(made('gamma', 'log', 30, 0.5), made('gamma', 'log', 28, 0.3, 4, dispersion => NULL)) WHERE model = 2;
SELECT statistic, p_value
FROM gpu_anova(gpu_ols_fit('SELECT 1 + 2 * i + j, i FROM generate_series(1, 9) i, generate_series(1, 2) j'),
                                         gpu_ols_fit('SELECT 1 + 2 * i + j, i, j FROM generate_series(1, 9) i, '
                                             'generate_series(1, 2) j')) WHERE model = 2;
SELECT deviance_change, statistic, p_value
FROM gpu_anova(made('poisson', 'log', 30, 20), made('poisson', 'log', 29, 20.0000000000001, 3)) WHERE model = 2;
SELECT count(*) FROM fits, gpu_anova(a, NULL);
-- models that can't be compared
SELECT gpu_anova(a, g) FROM fits;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_anova(made('binomial', 'probit', 30, 20), made('binomial', 'cloglog', 29, 15, 3));
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_anova(made('poisson', 'log', 30, 20), made('quasipoisson', 'log', 29, 15, 3));
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_anova(a, gpu_ols_fit('SELECT mpg, wt, hp FROM mtcars WHERE hp < 300')) FROM fits;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_anova(a, gpu_ols_fit('SELECT mpg, hp FROM mtcars')) FROM fits;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_anova(g, gpu_logreg_fit('SELECT am, wt, hp FROM mtcars', l2 => 1)) FROM fits;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_anova(a, gpu_ols_fit('SELECT mpg, vs, am FROM mtcars')) FROM fits;
\echo :LAST_ERROR_SQLSTATE
-- gpu_wald: the test of all terms is the F of gpu_glance, the test of one term the square of its t
SELECT df1, df2, agrees(statistic, 47.152818701457761) AS statistic, agrees(p_value, 4.5064110240248281e-11) AS p_value,
    test FROM fits, gpu_wald(b);
SELECT df1, df2, agrees(w.statistic, g.f_statistic::numeric, 13) AS statistic FROM fits, gpu_wald(b) w, gpu_glance(b) g;
SELECT df1, agrees(statistic, 6.9422865931507873) AS statistic FROM fits, gpu_wald(b, '{qsec,hp,qsec}');
SELECT bool_and(agrees(w.statistic, (t.statistic ^ 2)::numeric, 13) AND agrees(w.p_value, t.p_value::numeric,
    13)) AS squares FROM fits, gpu_tidy(b) t, gpu_wald(b, ARRAY[term]) w;
SELECT df1, df2, agrees(statistic, 6.9398913289975157, 6) AS r_to_its_digits,
    agrees(p_value, 0.031118721466453964, 6) AS p_value, test FROM fits, gpu_wald(h);
-- covariance matrices of any type; terms with a correlation of r = 1 - 2^-40 or -r: 18 / (1 + r) and 18 / (1 - r), the
-- latter from covariances that cancel to rounding
SELECT statistic, df2, p_value = gpu_pf(5, 1, 7, false) AS p_value
FROM gpu_wald(made('gaussian', 'identity', 7, 1, method => 'ols', coef => '{1,5}', vcov => '{{1,0.5},{0.5,5}}',
    vcov_type => 'HC1', df_inference => 7));
SELECT agrees(same.statistic, 18 / (2 - 1 / 1099511627776.0), 15) AS same,
    agrees(opposite.statistic, 18 * 1099511627776.0, 15) AS opposite
FROM (SELECT ARRAY[[1, 0, 0], [0, 1, 1 - 2::float8 ^ -40], [0, 1 - 2::float8 ^ -40, 1]] AS v) v,
     gpu_wald(made('poisson', 'log', 7, 1, 3, terms => '{(intercept),a,b}', coef => '{1,3,3}', vcov => v)) same,
     gpu_wald(made('poisson', 'log', 7, 1, 3, terms => '{(intercept),a,b}', coef => '{1,3,-3}', vcov => v,
         design => '2 1 vcov_low 96 ' || repeat('0', 96))) opposite;
-- scales far apart, up to the ends of float8's range
SELECT statistic FROM gpu_wald(made('poisson', 'log', 7, 1, 3, terms => '{a,b,c}', coef => '{3e150,4e-160,0}',
    vcov => '{{1e300,0,0},{0,1e-320,0},{0,0,1}}'), '{a,c}');
SELECT round(statistic::numeric, 3) AS subnormal
FROM gpu_wald(made('poisson', 'log', 7, 1, 1, terms => '{b}', coef => '{4e-160}', vcov => '{{1e-320}}'));
-- aliased terms are left out; no degrees of freedom, a perfect fit, and no term to test
SELECT df1, df2, statistic > 0 AS statistic FROM gpu_wald(gpu_ols_fit('SELECT mpg, wt, 2 * wt AS wt2, hp FROM mtcars'));
SELECT df1, statistic, p_value FROM gpu_wald(gpu_ols_fit('SELECT mpg, wt, 2 * wt AS wt2, hp FROM mtcars'), '{wt2}');
SELECT df1, df2, statistic, p_value, test FROM gpu_wald(gpu_ols_fit('VALUES (3, 1), (5, 2)'));
SELECT df1, df2, statistic, p_value, test
FROM gpu_wald(gpu_ols_fit('SELECT 1 + 2 * i, i FROM generate_series(1, 9) i'));
SELECT df1, statistic, p_value FROM gpu_wald(gpu_ols_fit('SELECT mpg FROM mtcars'));
SELECT df1, statistic FROM gpu_wald(gpu_ols_fit('SELECT mpg, wt FROM mtcars'), '{}');
SELECT count(*) FROM gpu_wald(NULL);
SELECT gpu_wald(b, '{wt,horses}') FROM fits;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_wald(b, '{wt,NULL}') FROM fits;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_wald(b, '{{wt,hp}}') FROM fits;
\echo :LAST_ERROR_SQLSTATE
SET client_min_messages = error;
SELECT gpu_wald(gpu_logreg_fit('VALUES (0, 1), (0, 2), (1, 3), (1, 4)'));
RESET client_min_messages;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_wald(made('poisson', 'log', 7, 1, vcov => NULL));
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_wald(made('poisson', 'log', 7, 1, 3, terms => '{a,b,c}', coef => '{1,2,3}',
    vcov => '{{1,1,0},{1,1,0},{0,0,1}}'));
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_wald(made('poisson', 'log', 7, 1, 3, terms => '{a,b,c}', coef => '{1,2,3}',
    vcov => '{{1,2,0},{2,1,0},{0,0,1}}'));
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_wald(made('poisson', 'log', 7, 1, vcov => '{{1,0},{0,-1}}'));
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_wald(made('poisson', 'log', 7, 1, 2, terms => '{a,b}', vcov => '{{1,0},{0,0}}'));
\echo :LAST_ERROR_SQLSTATE
-- models that contain NaN
SELECT df1, statistic, p_value
FROM gpu_wald(made('poisson', 'log', 7, 1, 2, terms => '{a,b}', vcov => '{{1,Infinity},{Infinity,1}}'));
SELECT df1, df2, statistic, p_value
FROM gpu_wald(made('poisson', 'log', 7, 1, vcov => '{{1,0},{0,4}}', df_inference => -3));
SELECT df1, df2, statistic, p_value FROM gpu_wald(made('poisson', 'log', 7, 1, coef => '{1,Infinity}'));
SELECT df1, df2, statistic, p_value FROM gpu_wald(made('poisson', 'log', 7, 1, df_inference => 'NaN'));
-- gpu_vif, from a state's sums and from a model's covariances
SELECT term, agrees(vif, want) AS right FROM fits, gpu_vif(b)
JOIN (VALUES ('wt', 2.5304427501289823), ('hp', 4.9219557480794904), ('qsec', 2.8738037543873904)) r(term, want)
    USING (term) ORDER BY term;
SELECT term, agrees(vif, want) AS right FROM (SELECT gpu_ols_stats_agg(mpg, wt, hp, qsec) AS s FROM mtcars) t,
    gpu_vif(s)
    JOIN (VALUES ('x1', 2.5304427501289823), ('x2', 4.9219557480794904), ('x3', 2.8738037543873904)) r(term, want)
        USING (term) ORDER BY term;
SELECT term, agrees(vif, 2.4442971949204542, 6) AS r_to_its_digits FROM fits, gpu_vif(h);
-- Longley's data: the digits of R, as many as its QR has
SELECT term, agrees(vif, want, 10) AS right FROM (SELECT gpu_ols_stats_agg(y, VARIADIC x) AS s FROM nist_rows
    WHERE dataset = 'longley') t, gpu_vif(s)
    JOIN (VALUES ('x1', 135.53243827998543), ('x2', 1788.5134827179381), ('x3', 33.618890596049575),
        ('x4', 3.5889301934453179), ('x5', 399.15102231259254), ('x6', 758.98059740679253)) r(term, want)
    USING (term) ORDER BY term;
-- x = 1 .. 100 and its square, exactly; the response, an offset and equal weights change nothing
WITH t AS (SELECT i::float8 AS x, i::float8 * i AS x2 FROM generate_series(1, 100) i),
     e AS (SELECT sum(i * i) - sum(i) ^ 2 / 100 AS sxx, sum(i ^ 3) - sum(i) * sum(i * i) / 100 AS sxy,
         sum(i ^ 4) - sum(i * i) ^ 2 / 100 AS syy FROM generate_series(1::numeric, 100) i),
     s AS (SELECT unnest(ARRAY[gpu_ols_stats_agg(0, x, x2), gpu_ols_stats_agg(x2 + 1, x + 1e9, x2),
         gpu_wls_stats_agg(2, x, x, x2)]) AS s FROM t)
SELECT bool_and(agrees(vif, sxx * syy / (sxx * syy - sxy ^ 2), 15)) AS right, count(*) FROM s, e, gpu_vif(s);
-- collinear columns: every term in the combination is infinite, and no other; a constant; fewer rows than terms
SELECT term, CASE WHEN vif < 'Infinity' THEN round(vif::numeric, 6) ELSE 'Infinity' END AS vif
FROM (SELECT gpu_ols_stats_agg(mpg, wt, hp, 2 * wt + drat, drat, qsec, 3) AS s FROM mtcars) t, gpu_vif(s);
SELECT term, vif FROM (SELECT gpu_ols_stats_agg(y, VARIADIC x) AS s
    FROM (VALUES (1, ARRAY[1,2,4]), (2, ARRAY[2,3,1])) t(y, x)) t, gpu_vif(s);
SELECT term, vif FROM gpu_vif(gpu_ols_fit('SELECT mpg, wt, 2 * wt AS wt2 FROM mtcars'));
SELECT count(*) FROM (SELECT gpu_ols_stats_agg(mpg, wt) AS s FROM mtcars) t, gpu_vif(s) WHERE vif = 1;
SELECT count(*) FROM (SELECT gpu_ols_stats_agg(NULL::float8, wt) AS s FROM mtcars) t, gpu_vif(s);
SELECT count(*) FROM gpu_vif(gpu_ols_fit('SELECT mpg FROM mtcars'));
SELECT term, vif FROM gpu_vif(gpu_ols_fit('VALUES (3, 1), (5, 2)'));
SELECT term, vif FROM gpu_vif(made('poisson', 'log', 7, 1, 3, terms => '{(intercept),a,b}', coef => '{1,2,3}',
    vcov => '{{1,1,0},{1,1,2},{0,2,1}}'));
SELECT gpu_vif(gpu_ols_fit('SELECT mpg, wt, hp FROM mtcars', intercept => false));
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_vif(gpu_logreg_fit('SELECT am, wt, hp FROM mtcars', l2 => 1));
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_vif(made('poisson', 'log', 7, 1, vcov => NULL));
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_vif(made('poisson', 'log', 7, 1, vcov_type => 'HC3'));
\echo :LAST_ERROR_SQLSTATE
-- gpu_with_terms: names for an aggregate's features, with the intercept's or without; all else stays
SELECT (gpu_with_terms(m, '{weight,power}')).terms,
    (gpu_with_terms(m, '{(intercept),weight,power}')).terms AS with_intercept,
    gpu_with_terms(gpu_with_terms(m, '{a,b}'), '{x1,x2}') = m AS back,
       gpu_predict(gpu_with_terms(m, '{weight,power}'), '{"power": 110, "weight": 2.62}'::jsonb) = gpu_predict(m,
           2.62, 110) AS predicts FROM (SELECT gpu_ols_agg(mpg, wt, hp) AS m FROM mtcars) f;
SELECT (gpu_with_terms(m, '{weight}')).terms FROM (SELECT gpu_ols_solve(gpu_ols_stats_agg(mpg, wt), false) AS m
    FROM mtcars) f;
SET client_min_messages = error;
SELECT (m).terms, (m).separated FROM (SELECT gpu_with_terms(gpu_logreg_agg(y, x, z), '{steps,"a b"}') AS m
    FROM (VALUES (0, 1, 2), (0, 2, 1), (1, 3, 1), (1, 4, 2)) t(y, x, z)) f;
RESET client_min_messages;
SELECT (gpu_with_terms(made('poisson', 'log', 7, 1, separated => NULL), '{b}')).separated IS NULL AS none;
SELECT gpu_with_terms(a, '{}') FROM fits;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_with_terms(b, '{a,b}') FROM fits;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_with_terms(b, '{a,b,a}') FROM fits;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_with_terms(b, '{a,NULL,c}') FROM fits;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_with_terms(b, '{x,a,b,c}') FROM fits;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_with_terms(b, '{a,(intercept),c}') FROM fits;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_with_terms(b, '{{a,b,c}}') FROM fits;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_with_terms(made('poisson', 'log', 7, 1, design => '{}'), '{b}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_with_terms(NULL, '{b}') IS NULL AS null_model;
-- gpu_glance: McFadden's R2, family, link, dispersion, the type of the covariances
SELECT pseudo_r_squared, family, link, agrees(dispersion, (sigma ^ 2)::numeric, 15) AS dispersion, vcov
FROM fits, gpu_glance(b);
SELECT agrees(pseudo_r_squared, 1 - deviance::numeric / null_deviance::numeric, 15) AS mcfadden, family, link,
    dispersion, vcov FROM fits, gpu_glance(h);
SELECT agrees(pseudo_r_squared, 0.12684000130482942) AS mcfadden, family, link, dispersion, vcov
FROM gpu_glance(made('poisson', 'log', 29, 12.278038836717872, 3, null_deviance => 27.043357450132145,
    log_lik => -50.821844247062828, vcov_type => 'HC0'));
SELECT pseudo_r_squared, family, link, dispersion, vcov
FROM gpu_glance(made('gamma', 'log', 28, 0.3, log_lik => -70, dispersion => 0.013, vcov_type => NULL));
SELECT pseudo_r_squared, family, link, dispersion, vcov
FROM gpu_glance(made('quasipoisson', 'log', 28, 30, dispersion => NULL));
SELECT pseudo_r_squared, family, link, dispersion, vcov
FROM gpu_glance(made(NULL, NULL, 30, 19, null_deviance => 38, method => 'logistic', dispersion => NULL));
-- whatever a model contains, only errors of SQLSTATE 22 may come of it (without a worker for each call if a setting
-- asks for that)
SET max_parallel_workers_per_gather = 0;
CREATE TABLE hostile AS
SELECT made(family, link, df, a, rank, 2147483647, v, v, b, a, ARRAY[1, a, b], ARRAY[[1, v, c], [v, b, a], [c, a, v]],
    ARRAY['(intercept)', name, 'b'], ARRAY['b', name], 'iid', df_inference, design,
            CASE family WHEN 'gaussian' THEN 'ols' ELSE 'glm' END) AS m
FROM (VALUES ('gaussian', 'identity'), ('negative binomial', 'log'), ('gamma', 'inverse')) f(family, link),
    (VALUES (1e308::float8), ('NaN'), (5e-324)) a(a),
     (VALUES ('Infinity'::float8), (-2), (1)) b(b), (VALUES (1e-310::float8), (NULL), ('-Infinity'), (3)) v(v),
     (VALUES (0::float8), ('NaN')) c(c),
     (VALUES (-2147483648, 2147483647, 'b'), (2147483647, -5, 'a'), (3, 7, '')) r(rank, df, name),
     (VALUES ('NaN'::float8, ''), (-1, ''), (7, 'x'), ('Infinity', '')) d(df_inference, design);
DO $$
DECLARE
    h record;
    query text;
    nresults int := 0;
    nerrors int := 0;
BEGIN
    FOREACH query IN ARRAY ARRAY['gpu_anova($1, $2)', 'gpu_anova($2, $1)', 'gpu_wald($1)', 'gpu_wald($1, ''{b}'')',
        'gpu_vif($1)', 'gpu_glance($1)', 'gpu_with_terms($1, ''{u,v}'')'] LOOP
        FOR h IN SELECT m, lag(m) OVER () AS other FROM hostile LOOP
            BEGIN
                EXECUTE 'SELECT count(*) FROM ' || query USING h.m, h.other;
                nresults := nresults + 1;
            EXCEPTION WHEN data_exception THEN nerrors := nerrors + 1;
            END;
        END LOOP;
    END LOOP;
    RAISE NOTICE 'more than 1000 results: %, more than 1000 errors: %', nresults > 1000, nerrors > 1000;
END
$$;
RESET max_parallel_workers_per_gather;
DROP TABLE hostile;
DROP FUNCTION made, agrees;
