-- Logistic regression over arrays and as an aggregate, and the functions of its model: gpu_tidy, gpu_glance,
-- gpu_predict.
-- a 2 x 2 table: log odds and log odds ratio
SELECT relative_difference(gpu_logreg(array_agg(x), array_agg(y)),
    ARRAY[ln(1 / 3.0), ln(2 / 3.0) - ln(1 / 3.0)]) < 1e-14 AS right
FROM (VALUES (0, 0), (0, 0), (0, 0), (0, 1), (1, 0), (1, 0), (1, 0), (1, 1), (1, 1)) AS t(x, y);
SELECT relative_difference(gpu_logreg(array_agg(ARRAY[x]), array_agg(y = 1)),
    ARRAY[ln(1 / 3.0), ln(2 / 3.0) - ln(1 / 3.0)]) < 1e-14 AS right
FROM (VALUES (0, 0), (0, 0), (0, 0), (0, 1), (1, 0), (1, 0), (1, 0), (1, 1), (1, 1)) AS t(x, y);

-- arrays: one number per row, or rows x features; NULLs, lower bounds, no rows
SELECT gpu_logreg(x, y) = gpu_logreg(ARRAY(SELECT ARRAY[u] FROM unnest(x) u), y) AS one_feature,
       gpu_logreg(x, y) = gpu_logreg(x, y::boolean[]) AS booleans,
       gpu_logreg(x::float8[], y) = gpu_logreg(x, y, true, 0) AS defaults,
       gpu_logreg(x || NULL::float8 || 7, y || 1 || NULL::int) = gpu_logreg(x, y) AS nulls,
       gpu_logreg(x || NULL::float8 || 7, (y || 1 || NULL::int)::boolean[]) = gpu_logreg(x, y) AS nulls_boolean,
       gpu_logreg(('[5:' || cardinality(x) + 4 || ']=' || x::text)::float8[], y) = gpu_logreg(x, y) AS bounds
FROM (SELECT array_agg(wt) AS x, array_agg(am::int) AS y FROM mtcars) t;
SELECT gpu_logreg('{}', '{}'::float8[]) IS NULL AS nothing,
    gpu_logreg('{}', '{}'::boolean[]) IS NULL AS nothing_boolean,
    gpu_logreg('{NULL,1}', '{1,NULL}'::float8[]) IS NULL AS only_skipped,
       gpu_logreg(NULL, '{1}'::float8[]) IS NULL AS null_x, gpu_logreg('{1}', NULL::boolean[]) IS NULL AS null_y;

-- the model of the aggregate
SELECT (m).method, (m).terms, (m).n, (m).n_skipped, (m).rank, (m).df_residual, (m).converged, (m).separated,
    (m).iterations BETWEEN 3 AND 15 AS iterations, (m).device = (SELECT device FROM gpu_last_run()) AS device
FROM (SELECT gpu_logreg_agg(am, wt, hp) AS m FROM mtcars) t;
SELECT function, rows, features FROM gpu_last_run();
SELECT gpu_logreg_agg(am, wt, hp) IS NULL AS no_rows FROM mtcars WHERE false;
SELECT gpu_logreg_agg(am, wt, NULL) IS NULL AS only_skipped FROM mtcars;
SELECT gpu_logreg_agg(am = 1, wt, NULL) IS NULL AS only_skipped FROM mtcars;
-- rows with a NULL in y, in x, or for the whole array are left out
SELECT (m).n, (m).n_skipped, (m).coef = (SELECT (gpu_logreg_agg(am, wt, hp)).coef FROM mtcars) AS same
FROM (SELECT gpu_logreg_agg(y, VARIADIC x) AS m
      FROM (SELECT am AS y, ARRAY[wt, hp] AS x FROM mtcars UNION ALL VALUES (NULL, '{1,2}'::float8[]), (1, '{1,NULL}'),
          (0, NULL)) t) t;
SELECT (m).n, (m).n_skipped, (m).coef = (SELECT (gpu_logreg_agg(am, wt, hp)).coef FROM mtcars) AS same
FROM (SELECT gpu_logreg_agg(y, VARIADIC x) AS m
      FROM (SELECT am = 1 AS y, ARRAY[wt, hp] AS x FROM mtcars UNION ALL VALUES (NULL, '{1,2}'::float8[]),
          (true, '{1,NULL}'), (false, NULL)) t) t;
-- DISTINCT, ORDER BY, FILTER
SELECT relative_difference((gpu_logreg_agg(am, wt, hp ORDER BY mpg)).coef,
    (gpu_logreg_agg(am, wt, hp ORDER BY qsec DESC)).coef) < 1e-14 AS order_by FROM mtcars;
SELECT (gpu_logreg_agg(y, x)).n, (gpu_logreg_agg(DISTINCT y, x)).n AS n_distinct,
    (gpu_logreg_agg(y, x) FILTER (WHERE x < 4)).n AS n_filter
FROM (VALUES (0, 1), (0, 1), (1, 2), (0, 3), (0, 3), (1, 3), (1, 4)) AS t(y, x);
-- a fit per group: as if it were alone; a group of one class is NULL, with a warning, and doesn't end the others
CREATE TEMP TABLE grouped AS
SELECT g, i AS x, CASE WHEN g < 0 THEN 0 WHEN g = 0 THEN 1 ELSE (i * (g + 2) + i / 3 + i * i / 11) % 5 % 2 END AS y
FROM generate_series(-1, 5) g, generate_series(1, 40) i
UNION ALL SELECT 9, i, (i > 20)::int FROM generate_series(1, 40) i;
SET enable_hashagg = off;
SELECT g, m IS NULL AS is_null, (m).converged, (m).separated, (m).n
FROM (SELECT g, gpu_logreg_agg(y, x) AS m FROM grouped GROUP BY g) t ORDER BY g;
RESET enable_hashagg;
SELECT bool_and(relative_difference((m).coef,
    (gpu_logreg_fit(format('SELECT y, x FROM grouped WHERE g = %s', g))).coef) < 1e-13) AS same, count(*)
FROM (SELECT g, gpu_logreg_agg(y, x) AS m FROM grouped WHERE g BETWEEN 1 AND 5 GROUP BY g) t;
SELECT (gpu_logreg_agg(y, x) FILTER (WHERE g = 3)).coef = (gpu_logreg_agg(y, x)
    FILTER (WHERE g = 3 AND y IS NOT NULL)).coef AS same,
       gpu_logreg_agg(y, x) FILTER (WHERE g = 77) IS NULL AS nothing FROM grouped;
-- a window whose frame grows: the kept rows are fitted again
SELECT bool_and((w).n = frame AND relative_difference((w).coef,
    (gpu_logreg_fit(format('SELECT y, x FROM grouped WHERE g = %s AND x <= %s', g, frame))).coef) < 1e-12) AS same,
    count(*)
FROM (SELECT DISTINCT g, frame, w::text::gpu_model AS w
    FROM (SELECT g, (x + 19) / 20 * 20 AS frame, gpu_logreg_agg(y, x) OVER (PARTITION BY g ORDER BY (x + 19) / 20) AS w
    FROM grouped WHERE g BETWEEN 1 AND 5) t) t;
-- x as one array gives the same
SELECT bool_and(gpu_logreg_array_agg = gpu_logreg_agg) AS same, bool_and(boolean = gpu_logreg_agg) AS same_boolean,
    count(*)
FROM (SELECT gpu_logreg_array_agg(y, ARRAY[x]), gpu_logreg_array_agg(y = 1, ARRAY[x]) AS boolean, gpu_logreg_agg(y, x)
    FROM grouped WHERE g BETWEEN 1 AND 5 GROUP BY g) t;
SELECT gpu_logreg_array_agg(2, ARRAY[x]) FROM grouped;
\echo :LAST_ERROR_SQLSTATE

-- gpu_tidy: mtcars, am from wt and hp, against a fit of 25 digits and the normal distribution in 60
CREATE TEMP TABLE m AS SELECT gpu_logreg_agg(am, wt, hp) AS model FROM mtcars;
SELECT term, digits(statistic, w.z) >= 12 AS statistic, digits(p_value, w.p) >= 11 AS p_value,
    digits(conf_low, w.low) >= 12 AS conf_low, digits(conf_high, w.high) >= 12 AS conf_high
FROM m, gpu_tidy(model) WITH ORDINALITY AS t(term, estimate, std_error, statistic, p_value, conf_low, conf_high,
        df, class, i)
JOIN (VALUES (1, 2.5345805906866009896, 0.01125820274076300295, 4.2771922815403851638, 33.455405152867924129),
             (2, -2.6341904753723919237, 0.0084338160612911035094, -14.09796820245874177, -2.0689821624305562486),
             (3, 2.0443938517499133541, 0.040914654210384267266, 0.0014972922953254362035,
                 0.07101389986910779374)) AS w(i, z, p, low, high) USING (i);
-- R 4.2, summary(glm(am ~ wt + hp, binomial, mtcars, control = list(epsilon = 1e-15))), confint.default(); its standard
-- errors are those of the last step but one
SELECT term, digits(estimate, w.e) >= 13 AS estimate, digits(std_error, w.se) >= 6 AS std_error,
    digits(statistic, w.z) >= 6 AS statistic, digits(p_value, w.p) >= 6 AS p_value,
       digits(conf_low, w.low) >= 5 AS conf_low, digits(conf_high, w.high) >= 5 AS conf_high
FROM m, gpu_tidy(model) WITH ORDINALITY AS t(term, estimate, std_error, statistic, p_value, conf_low, conf_high,
        df, class, i)
JOIN (VALUES (1, 18.866298717204096, 7.443558060205274, 2.5345807159169, 0.0112581987166137, 4.27719300236893,
    33.4554044320393),
             (2, -8.0834751824446283, 3.0686751130546961, -2.6341906147236216, 0.0084338125997070, -14.097967884286209,
                 -2.068982480603046),
             (3, 0.036255596082216547, 0.0177341536507694, 2.0443939302761, 0.0409146464590299, 0.00149729363040912,
                 0.0710138985340240)) AS w(i, e, se, z, p, low, high) USING (i);
SELECT term, digits(conf_low, w.low) >= 6 AS conf_low, digits(conf_high, w.high) >= 6 AS conf_high
FROM m, gpu_tidy(model, 0.9) WITH ORDINALITY AS t(term, estimate, std_error, statistic, p_value, conf_low, conf_high,
    df, class, i)
JOIN (VALUES (1, 6.62273524445158, 31.1098621899566), (2, -13.1309965720884, -3.03595379280089),
    (3, 0.00708550912883389, 0.0654256830355992)) AS w(i, low, high) USING (i);
-- odds ratios with their limits
SELECT term, digits(estimate, w.ratio) >= 11 AS odds_ratio, digits(conf_low, w.low) >= 11 AS conf_low,
    digits(conf_high, w.high) >= 11 AS conf_high
FROM m, gpu_tidy(model, exponentiate => true) WITH ORDINALITY AS t(term, estimate, std_error, statistic, p_value,
    conf_low, conf_high, df, class, i)
JOIN (VALUES (1, 156145483.50632927192, 72.037893669992049898, 338452594562486.70508),
    (2, 0.00030859673984046910514, 7.5392857430896083077e-7, 0.12631428372038331289),
             (3, 1.0369208455288090088, 1.0014984137971030656, 1.0735961486105853795)) AS w(i, ratio, low, high)
                 USING (i);
SELECT bool_and(e.std_error = t.std_error AND e.statistic = t.statistic AND e.p_value = t.p_value) AS unchanged
FROM m, gpu_tidy(model) t, gpu_tidy(model, exponentiate => true) e WHERE t.term = e.term;
-- R 4.2 on infert: case ~ spontaneous + induced
SELECT term, digits(estimate, w.ratio) >= 12 AS odds_ratio, digits(conf_low, w.low) >= 8 AS conf_low,
    digits(conf_high, w.high) >= 8 AS conf_high
FROM gpu_tidy((SELECT gpu_logreg_agg("case", spontaneous, induced) FROM infert), exponentiate => true)
    WITH ORDINALITY AS t(term, estimate, std_error, statistic, p_value, conf_low, conf_high, df, class, i)
JOIN (VALUES (1, 0.18125324692120628, 0.107253400250574, 0.306309538371059),
    (2, 3.31085026913197655, 2.18669619903729, 5.01291835118079),
    (3, 1.51911722793173309, 1.01522167339381, 2.27311651502126)) AS w(i, ratio, low, high) USING (i);

-- gpu_glance: R 4.2's AIC(), BIC(), deviance, null.deviance; columns of linear fits are NULL
SELECT n, n_skipped, rank, df_residual, r_squared, adj_r_squared, sigma, f_statistic, f_p_value,
    digits(deviance, 10.059110472266988) >= 13 AS deviance,
    digits(null_deviance, 43.22973327685780) >= 13 AS null_deviance,
       digits(log_lik, -5.0295552361334937) >= 13 AS log_lik, digits(aic, 16.059110472266988) >= 13 AS aic,
       digits(bic, 20.456318180666166) >= 13 AS bic, converged
FROM m, gpu_glance(model);
SELECT digits(aic, 285.61197883378208) >= 13 AS aic, digits(bic, 296.15226507227703) >= 13 AS bic,
    digits(null_deviance, 316.17111081640439) >= 13 AS null_deviance, df_residual
FROM gpu_glance((SELECT gpu_logreg_agg("case", spontaneous, induced) FROM infert));

-- gpu_predict: the probability, like R's predict(type = 'response')
SELECT bool_and(digits(gpu_predict(model, wt, hp), want) >= 12) AS right
FROM m, (VALUES (1, 100, 0.99999944726308814), (3, 150, 0.51354982713012984), (5, 200, 6.1603713285982851e-7),
    (2.62, 110, 0.84233553651693888)) AS w(wt, hp, want);
SELECT abs(sum(gpu_predict(model, wt, hp)) - sum(am)) < 1e-13 AS sums_to_the_ones,
    bool_and(abs(gpu_predict(model, wt,
    hp) - 1 / (1 + exp(-((model).coef[1] + (model).coef[2] * wt + (model).coef[3] * hp)))) < 1e-14) AS by_hand
FROM m, mtcars;
SELECT gpu_predict(model, 1, NULL) IS NULL AS null_x, gpu_predict(model, VARIADIC NULL::float8[]) IS NULL AS null_xs,
    gpu_predict(model, 0, 1e5) = 1 AS one, gpu_predict(model, 1e5, 0) = 0 AS zero,
       gpu_predict(model, 91, 0) > 0 AND gpu_predict(model, 91, 0) < 1e-300 AS far_out FROM m;

-- a model as a stored value
CREATE TABLE logit_models AS SELECT 'am' AS name, model FROM m;
SELECT s.model::text::gpu_model = m.model AS same FROM logit_models s, m;
DROP TABLE logit_models;

-- without an intercept: R 4.2, glm(case ~ 0 + spontaneous + induced); the null model gives 1/2 to all rows
SELECT min(digits(b, want)) >= 12 AS arrays
FROM (SELECT gpu_logreg(array_agg(ARRAY[spontaneous, induced]), array_agg("case"), false) AS coef FROM infert) t,
    unnest(coef, ARRAY[0.24429052313875593, -0.48193699702785653]) AS u(b, want);
-- penalised, by Newton's method in 60 digits; the penalty excludes the intercept
SELECT min(digits(b, want)) >= 12 AS mtcars
FROM (SELECT gpu_logreg(array_agg(ARRAY[wt, hp]), array_agg(am), l2 => 1) AS coef FROM mtcars) t,
    unnest(coef, ARRAY[5.6773486064317198953, -2.4186728512492549249, 0.0096839133348669393437]) AS u(b, want);
SELECT min(digits(b, want)) >= 12 AS no_intercept
FROM (SELECT gpu_logreg(array_agg(ARRAY[wt, hp]), array_agg(am = 1), false, 1) AS coef FROM mtcars) t,
    unnest(coef, ARRAY[-0.70929935339727935035, 0.010260374771996916944]) AS u(b, want);
