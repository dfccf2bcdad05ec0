-- Linear mixed models from one state per group against 240-bit arithmetic (test/data/mixed_reference.py), on lme4's
-- sleepstudy, Dyestuff, Pastes and Penicillin, nlme's Machines, and sets that were made for it
\set SHOW_CONTEXT never
CREATE TABLE mixed_rows (dataset text, y float8, x1 float8, x2 float8, weight float8, g text, h text);
\copy mixed_rows FROM 'test/data/mixed_rows.csv' WITH (FORMAT csv, HEADER, FORCE_NOT_NULL (h))
CREATE TABLE mixed_fits (dataset text, model text, method text, kind text, number int, value float8);
\copy mixed_fits FROM 'test/data/mixed_fits.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE mixed_states AS
SELECT dataset, weighted, jsonb_build_object('g', g, 'h', h) AS levels, gpu_ols_named(CASE WHEN weighted
    THEN gpu_wls_stats_agg(weight, y, x1, x2) ELSE gpu_ols_stats_agg(y, x1, x2) END, '{y,x1,x2}') AS s
FROM mixed_rows, (VALUES (true), (false)) w(weighted) GROUP BY dataset, g, h, weighted;
CREATE TABLE mixed_models AS
SELECT dataset, model, method, gpu_lmm_agg(s, regexp_replace(model, ' [0w]$', ''), method, levels, model !~ ' 0$',
    CASE WHEN dataset IN ('dyestuff', 'pastes', 'penicillin') THEN '{}'::text[]
         WHEN dataset IN ('sleepstudy', 'crossed') THEN '{x1}' ELSE '{x1,x2}' END, 'y'::text) AS m
FROM (SELECT DISTINCT dataset, model, method FROM mixed_fits) f JOIN mixed_states USING (dataset)
WHERE weighted = (model ~ ' w$')
GROUP BY dataset, model, method;
-- covariances of a term are in the order of packed rows in the reference, and behind its variances in gpu_variances
CREATE VIEW mixed_numbers AS
SELECT dataset, model, method, 'criterion' AS kind, 1 AS number, (m).deviance AS value FROM mixed_models
UNION ALL SELECT dataset, model, method, 'coef', t.number::int, estimate FROM mixed_models,
    gpu_tidy(m) WITH ORDINALITY t(term, estimate, std_error, s, p, l, h, df, class, number)
UNION ALL SELECT dataset, model, method, 'error', t.number::int, std_error FROM mixed_models,
    gpu_tidy(m) WITH ORDINALITY t(term, estimate, std_error, s, p, l, h, df, class, number)
UNION ALL SELECT dataset, model, method, 'variance', (CASE WHEN grp = 'residual' THEN 0
    WHEN model LIKE '(1 + x1 | g)%' THEN CASE number WHEN 2 THEN 3 WHEN 3 THEN 2 ELSE 1 END
    WHEN model = '(1 | h) + (1 + x1 | g)' THEN CASE number WHEN 3 THEN 4 WHEN 4 THEN 3 ELSE number END
    ELSE number END)::int, variance
    FROM mixed_models, gpu_variances(m) WITH ORDINALITY v(grp, term, with_term, variance, d, c, n, number);
SELECT kind, count(*), count(n.value) = count(*) AS all,
    max(abs(n.value / f.value - 1)) <
        CASE kind WHEN 'criterion' THEN 1e-12 WHEN 'coef' THEN 1e-10 ELSE 1e-8 END AS agree
FROM mixed_fits f LEFT JOIN mixed_numbers n USING (dataset, model, method, kind, number) GROUP BY kind ORDER BY kind;
SELECT dataset, model, method FROM mixed_models WHERE NOT (m).converged;
-- degrees of freedom by lmerTest
SELECT e.*, abs(df / expected - 1) < 1e-6 AS agrees
FROM mixed_models f, gpu_tidy(m) t, (VALUES ('sleepstudy', '(1 + x1 | g)', 'reml', 'x1', 17.0),
    ('sleepstudy', '(1 + x1 | g)', 'ml', 'x1', 18.0),
    ('sleepstudy', '(1 | g)', 'reml', '(intercept)', 22.81019858735331),
    ('sleepstudy', '(1 | g)', 'reml', 'x1', 161.0), ('sleepstudy', '(1 + x1 || g)', 'reml', 'x1', 18.15620410628148),
    ('dyestuff', '(1 | g)', 'reml', '(intercept)', 5.0), ('pastes', '(1 | g/h)', 'reml', '(intercept)', 9.0),
    ('penicillin', '(1 | g) + (1 | h)', 'reml', '(intercept)', 5.487093313298777))
    e(dataset, model, method, term, expected)
WHERE (e.dataset, e.model, e.method, e.term) = (f.dataset, f.model, f.method, t.term) ORDER BY 1, 2, 3, 4;
-- printed
SELECT gpu_summary(m) FROM mixed_models WHERE (dataset, model, method) = ('sleepstudy', '(1 + x1 | g)', 'reml');
SELECT gpu_summary(m) FROM mixed_models WHERE (dataset, model, method) = ('machines', '(1 | g/h)', 'ml');
SELECT grp, term, with_term, round(variance::numeric, 6) AS variance, round(std_dev::numeric, 6) AS std_dev,
    round(correlation::numeric, 6) AS correlation, groups
FROM mixed_models, gpu_variances(m) WHERE (dataset, model, method) = ('sleepstudy', '(1 + x1 | g)', 'reml');
SELECT n, df_residual, r_squared IS NULL AS no_r2, round(sigma::numeric, 5) AS sigma,
    round(deviance::numeric, 7) AS deviance,
    null_deviance IS NULL AS no_null, round(log_lik::numeric, 7) AS log_lik, round(aic::numeric, 7) AS aic,
    round(bic::numeric, 7) AS bic, converged
FROM mixed_models, gpu_glance(m) WHERE (dataset, model, method) = ('sleepstudy', '(1 + x1 | g)', 'reml');
SELECT (m).method, (m).n, (m).rank, (m).vcov_type, (m).df_inference FROM mixed_models
WHERE (dataset, model) = ('sleepstudy', '(1 | g)') ORDER BY method;
-- a likelihood ratio test; of REML fits only if the fixed terms are the same; against a linear model
SELECT a.model, a.df_residual, round(a.deviance::numeric, 6) AS deviance, a.df,
    round(a.statistic::numeric, 6) AS statistic,
    round(a.p_value::numeric, 14) AS p_value, a.test
FROM mixed_models one JOIN mixed_models two USING (dataset, method), gpu_anova(one.m, two.m) a
WHERE (dataset, one.model, two.model) = ('sleepstudy', '(1 | g)', '(1 + x1 | g)') ORDER BY method, a.model DESC;
\set state '(SELECT s, levels FROM mixed_states WHERE dataset = ''sleepstudy'' AND NOT weighted) q'
SELECT gpu_anova(a, b) FROM (SELECT gpu_lmm_agg(s, '1', 'reml', NULL, true, '{}'::text[], 0) AS a,
    gpu_lmm_agg(s, '1', 'reml', NULL, true, '{x1}'::text[], 0) AS b FROM :state) q;
SELECT a.df, round(a.statistic::numeric, 6) AS statistic
FROM (SELECT gpu_lmm_agg(s, '1', 'ml', NULL, true, '{x1}'::text[], 0) AS m,
          gpu_ols_solve(gpu_ols_rollup(s), features => '{x1}'::text[]) AS ols FROM :state) q, gpu_anova(ols, m) a
WHERE a.df > 0;
-- predictions are those of the fixed terms; what random effects would change is refused
SELECT abs(gpu_predict(m, 2.0) - (m).coef[1] - 2 * (m).coef[2]) < 1e-12 AS fixed FROM mixed_models
WHERE (dataset, model, method) = ('sleepstudy', '(1 | g)', 'reml');
SELECT gpu_predict_interval(m, 'prediction', 0.95, 2.0) FROM mixed_models WHERE dataset = 'sleepstudy';
SELECT gpu_leverage(m, 2.0) FROM mixed_models WHERE dataset = 'sleepstudy';

-- The order of states, the size of their pieces, and columns that are not used do not matter
SELECT max(abs(a.variance / b.variance - 1)) < 1e-10 AS same
FROM (SELECT gpu_lmm_agg(s, '(1 + x1 | g)', 'reml', levels ORDER BY i, levels::text DESC) AS m
      FROM (SELECT i % 3 AS i, jsonb_build_object('g', g) AS levels, gpu_ols_named(gpu_ols_stats_agg(y, x2, x1),
            '{y,x2,x1}') AS s FROM (SELECT *, row_number() OVER () AS i FROM mixed_rows WHERE dataset = 'far') r
            GROUP BY g, i % 3) q) x,
    mixed_models y, gpu_variances(x.m) a, gpu_variances(y.m) b
WHERE (y.dataset, y.model, y.method) = ('far', '(1 + x1 | g)', 'reml') AND
    (a.grp, a.term, a.with_term) IS NOT DISTINCT FROM (b.grp, b.term, b.with_term);
-- a model is read back from a dump's text
SELECT count(*) FROM mixed_models, gpu_variances(m::text::gpu_model);

-- Singular fits are named
SELECT grp, term, with_term, variance, correlation FROM (SELECT gpu_lmm_agg(gpu_ols_stats, '1 + x1') AS m
    FROM (SELECT gpu_ols_stats_agg(CASE i % 4 WHEN 0 THEN 1 WHEN 3 THEN 1 ELSE -1 END + 0.0, i) AS gpu_ols_stats
          FROM generate_series(1, 40) i GROUP BY i % 5) q) q, gpu_variances(m);
SELECT v.grp, v.variance > 0 AS positive, v.correlation FROM (SELECT gpu_lmm_agg(s, '1 + x1', 'reml') AS m
    FROM (SELECT gpu_ols_stats_agg((i * 7) % 5 + g * (3 + i), i) AS s
          FROM generate_series(1, 6) i, generate_series(1, 8) g GROUP BY g) q) q, gpu_variances(m) v;

-- gpu_lmm_fit returns the same models from the rows
CREATE TABLE mixed_of_rows AS SELECT dataset, model, method,
    gpu_lmm_fit(format('SELECT * FROM mixed_rows WHERE dataset = %L', dataset),
        'y ~ ' || CASE WHEN model ~ ' 0$' THEN '0 + ' ELSE '' END ||
        CASE WHEN dataset IN ('dyestuff', 'pastes', 'penicillin') THEN '' WHEN dataset IN ('sleepstudy', 'crossed')
        THEN 'x1 + ' ELSE 'x1 + x2 + ' END || regexp_replace(model, ' [0w]$', ''), method,
    weights => CASE WHEN model ~ ' w$' THEN 'weight' END) AS m
FROM mixed_models;
SELECT count(*), max(abs((a.m).deviance / (b.m).deviance - 1)) < 1e-12 AS criteria,
    bool_and((a.m).terms = (b.m).terms AND (a.m).df_residual = (b.m).df_residual) AS terms
FROM mixed_models a JOIN mixed_of_rows b USING (dataset, model, method);
SELECT max(abs(a.variance / b.variance - 1)) < 1e-8 AS variances, count(*)
FROM mixed_models x JOIN mixed_of_rows y USING (dataset, model, method), gpu_variances(x.m) a, gpu_variances(y.m) b
WHERE (a.grp, a.term, a.with_term) IS NOT DISTINCT FROM (b.grp, b.term, b.with_term) AND dataset <> 'crossed';
SELECT (m).n, (m).method, (m).device, abs((gpu_glance(m)).aic - (m).deviance - 6) < 1e-9 AS aic FROM mixed_of_rows
WHERE (dataset, model, method) = ('dyestuff', '(1 | g)', 'reml');
SELECT function, rows, features, workers IS NOT NULL AS workers FROM gpu_last_run();
-- factors among the fixed terms; groups of any type; a group that is NULL; predictions by name
CREATE TABLE mixed_types AS SELECT sin(i * i) + i % 7 + i % 3 AS y, i / 5.0 AS x,
    ('{red,green,blue}'::text[])[i % 3 + 1] AS hue,
    CASE WHEN i % 50 > 0 THEN date '2020-01-01' + i % 7 END AS "Day", i % 2 = 0 AS even FROM generate_series(1, 200) i;
SELECT term, round(estimate::numeric, 8) AS estimate FROM gpu_tidy(gpu_lmm_fit('SELECT * FROM mixed_types',
    'y ~ x + hue + (1 + x || "Day")'));
SELECT (m).n, (m).n_skipped, grp, term, groups, round(gpu_predict(m, r)::numeric, 8) AS predicted FROM
    gpu_lmm_fit('SELECT * FROM mixed_types', 'y ~ x * hue + (1 | "Day":even)') m, gpu_variances(m),
    (SELECT * FROM mixed_types LIMIT 1) r;
SELECT gpu_lmm_fit(NULL, 'y ~ x + (1 | hue)') IS NULL AS no_query,
    gpu_lmm_fit('SELECT * FROM mixed_types', NULL) IS NULL AS no_formula;
SELECT gpu_lmm_fit('SELECT * FROM mixed_types', 'y ~ x');
SELECT gpu_lmm_fit('SELECT * FROM mixed_types', 'y ~ x + (1 | day)');
SELECT gpu_lmm_fit('SELECT * FROM mixed_types', 'y ~ x + (1 + z | hue)');
SELECT gpu_lmm_fit('SELECT * FROM mixed_types', 'y ~ nothing + (1 | hue)');
SELECT gpu_lmm_fit('SELECT * FROM mixed_types', 'y ~ x + (1 | hue) +');
SELECT gpu_lmm_fit('SELECT * FROM mixed_types', 'y ~ x + (1 | hue)', 'em');
SELECT gpu_lmm_fit('SELECT y, x, xml(''<a/>'') AS g FROM mixed_types', 'y ~ x + (1 | g)');
SELECT gpu_lmm_fit('SELECT y, x, 1 AS g FROM mixed_types', 'y ~ x + (1 | g)');
SELECT gpu_lmm_fit('SELECT y, x, hue FROM mixed_types WHERE false', 'y ~ x + (1 | hue)');
SELECT gpu_lmm_fit('SELECT y, x, NULL::text AS g FROM mixed_types', 'y ~ x + (1 | g)');
SELECT gpu_lmm_fit('SELECT i AS y, i AS a, i * i AS b FROM generate_series(1, 1500) i', 'y ~ 1 + (1 | a) + (1 | b)');
SELECT gpu_lmm_fit('SELECT sin(i) AS y, i % 1201 AS a, i % 1301 AS b FROM generate_series(1, 5000) i',
    'y ~ 1 + (1 | a) + (1 | b)');

-- Bad input
CREATE TABLE mixed_bad AS SELECT dataset, g, s FROM (SELECT 'pair' AS dataset, i % 2 AS g,
    gpu_ols_stats_agg(sin(i), cos(i)) AS s FROM generate_series(1, 20) i GROUP BY 2
UNION ALL SELECT 'one', 1, gpu_ols_stats_agg(sin(i), i) FROM generate_series(1, 20) i
UNION ALL SELECT 'single rows', i, gpu_ols_stats_agg(sin(i), i) FROM generate_series(1, 20) i GROUP BY i
UNION ALL SELECT 'constant groups', i / 5, gpu_ols_stats_agg(i / 5, cos(i)) FROM generate_series(1, 40) i GROUP BY i / 5
UNION ALL SELECT 'constant', i / 5, gpu_ols_stats_agg(7, cos(i)) FROM generate_series(1, 40) i GROUP BY i / 5
UNION ALL SELECT 'widths', i / 20, CASE WHEN i / 20 = 1 THEN gpu_ols_stats_agg(sin(i), cos(i)) ELSE
    gpu_ols_stats_agg(sin(i), cos(i), i) END FROM generate_series(1, 40) i GROUP BY i / 20
UNION ALL SELECT 'empty', i, gpu_ols_stats_agg(NULL::float8, i) FROM generate_series(1, 3) i GROUP BY i) q;
SELECT gpu_lmm_agg(s, '1 + x1') FROM mixed_bad WHERE dataset = 'pair';
SELECT (gpu_lmm_agg(s)).n FROM mixed_bad WHERE dataset = 'pair';
SELECT gpu_lmm_agg(s) FROM mixed_bad WHERE dataset = 'one';
SELECT gpu_lmm_agg(s) FROM mixed_bad WHERE dataset = 'single rows';
SELECT gpu_lmm_agg(s) FROM mixed_bad WHERE dataset = 'constant groups';
SELECT gpu_lmm_agg(s) FROM mixed_bad WHERE dataset = 'constant';
SELECT gpu_lmm_agg(s) FROM mixed_bad WHERE dataset = 'widths';
SELECT gpu_lmm_agg(s) FROM mixed_bad WHERE dataset = 'empty';
SELECT gpu_lmm_agg(NULL::gpu_ols_stats);
SELECT dataset, (gpu_lmm_agg(s)).n FROM (SELECT * FROM mixed_bad UNION ALL SELECT 'pair', 9, NULL) b
WHERE dataset IN ('pair', 'empty') GROUP BY dataset ORDER BY dataset;
SELECT gpu_lmm_agg(s, NULL) FROM mixed_bad;
SELECT gpu_lmm_agg(s, '1', NULL) FROM mixed_bad;
SELECT gpu_lmm_agg(s, '1', 'em') FROM mixed_bad;
SELECT gpu_lmm_agg(s, '1 + age') FROM mixed_bad WHERE dataset = 'pair';
SELECT gpu_lmm_agg(s, '0') FROM mixed_bad;
SELECT gpu_lmm_agg(s, '1 + x1 + x1') FROM mixed_bad;
SELECT gpu_lmm_agg(s, '(1 | g') FROM mixed_bad;
SELECT gpu_lmm_agg(s, '1 | g') FROM mixed_bad;
SELECT gpu_lmm_agg(s, '(1 g)') FROM mixed_bad;
SELECT gpu_lmm_agg(s, '("äö" + | g)') FROM mixed_bad;
SELECT gpu_lmm_agg(s, '(1 | a/b/c/d/e)') FROM mixed_bad;
SELECT gpu_lmm_agg(s, repeat('(1 | g) + ', 8) || '(1 | g)') FROM mixed_bad;
SELECT gpu_lmm_agg(s, '(1 | g)') FROM mixed_bad;
SELECT gpu_lmm_agg(s, '1', 'ml', jsonb_build_object('g', g)) FROM mixed_bad;
SELECT gpu_lmm_agg(s, '(1 | school)', 'ml', jsonb_build_object('g', g)) FROM mixed_bad;
SELECT gpu_lmm_agg(s, '(1 | g)', 'ml', jsonb_build_object('g', ARRAY[g])) FROM mixed_bad;
SELECT gpu_lmm_agg(s, '(1 | g)', 'ml', '[1]') FROM mixed_bad;
-- a level that is null: the rows are skipped
SELECT (m).n, (m).n_skipped FROM (SELECT gpu_lmm_agg(s, '(1 | g)', 'ml', levels) AS m
    FROM (SELECT s, CASE WHEN g = 3 THEN '{"g": null}' WHEN g <> 4 THEN jsonb_build_object('g', g % 3) END AS levels
          FROM mixed_bad WHERE dataset = 'constant' OR dataset = 'single rows') q) q;
SELECT gpu_variances(gpu_ols_rollup_model) FROM (SELECT gpu_ols_solve(s) AS gpu_ols_rollup_model FROM mixed_bad WHERE
    dataset = 'pair' LIMIT 1) q;
SELECT gpu_lmm_accum(NULL::internal, s) FROM mixed_bad;
-- a record that no fit has written
SELECT gpu_variances((jsonb_populate_record(m, jsonb_build_object('design', replace((m).design, 'reml', 'rexl')))))
FROM mixed_models WHERE (dataset, model, method) = ('dyestuff', '(1 | g)', 'reml');

-- Effects of groups: lme4's ranef(), with the square roots of its conditional variances
SELECT r.grp, level, r.term, round(effect::numeric, 6) AS effect, round(std_error::numeric, 6) AS std_error
FROM gpu_ranef('SELECT * FROM mixed_rows WHERE dataset = ''sleepstudy''', 'y ~ x1 + (1 + x1 | g)') r
WHERE level IN ('308', '372') ORDER BY level, term;
SELECT r.grp, level, r.term, round(effect::numeric, 6) AS effect, round(std_error::numeric, 6) AS std_error
FROM gpu_ranef('SELECT * FROM mixed_rows WHERE dataset = ''penicillin''', 'y ~ 1 + (1 | g) + (1 | h)') r
WHERE level IN ('a', 'B') ORDER BY level;
SELECT r.grp, count(*), abs(sum(effect)) < 1e-9 AS balanced
FROM gpu_ranef('SELECT * FROM mixed_rows WHERE dataset = ''pastes''', 'y ~ 1 + (1 | g/h)', 'ml') r
GROUP BY grp ORDER BY grp;
SELECT level FROM gpu_ranef('SELECT * FROM mixed_rows WHERE dataset = ''pastes''', 'y ~ 1 + (1 | g/h)', 'ml')
WHERE grp = 'g:h' ORDER BY level LIMIT 2;
SELECT count(*) FROM gpu_ranef(NULL, 'y ~ (1 | g)');
