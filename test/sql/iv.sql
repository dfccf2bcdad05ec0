-- Two-stage least squares and its tests against fits in 60 digits: test/data/iv_reference.py, with which R's AER
-- agrees.
CREATE TABLE iv_rows (dataset text, weight float8, y float8, x float8[]);
\copy iv_rows FROM 'test/data/iv_rows.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE iv_fits (name text, dataset text, endogenous int[], instruments int[], intercept boolean, i int,
    value numeric);
\copy iv_fits FROM 'test/data/iv_fits.csv' WITH (FORMAT csv, HEADER)

CREATE TABLE iv_states AS
SELECT dataset, CASE WHEN count(weight) > 0 THEN gpu_wls_stats_agg(weight, y, VARIADIC x)
                     ELSE gpu_ols_stats_agg(y, VARIADIC x) END AS s
FROM iv_rows GROUP BY dataset;
-- states of parts of the rows, merged
CREATE TABLE iv_parts AS
SELECT dataset, gpu_ols_rollup(s) AS s
FROM (SELECT dataset, CASE WHEN count(weight) > 0 THEN gpu_wls_stats_agg(weight, y, VARIADIC x)
                           ELSE gpu_ols_stats_agg(y, VARIADIC x) END AS s
      FROM (SELECT *, row_number() OVER () % 3 AS part FROM iv_rows) r GROUP BY dataset, part) p GROUP BY dataset;

CREATE TABLE iv_models AS
SELECT name, way, intercept, gpu_iv_solve(s, endogenous, instruments, intercept) AS m,
    gpu_iv_solve(s, endogenous::text[], instruments::text[], intercept) AS by_text,
    (SELECT array_agg(v ORDER BY t.ordinality, w.ordinality)
     FROM gpu_iv_tests(s, endogenous, instruments, intercept) WITH ORDINALITY t,
          unnest(ARRAY[statistic, p_value]) WITH ORDINALITY w (v)) AS tests
FROM (SELECT DISTINCT name, dataset, endogenous, instruments, intercept FROM iv_fits) f
JOIN (SELECT 'whole' AS way, * FROM iv_states UNION ALL SELECT 'merged', * FROM iv_parts) s USING (dataset);
CREATE VIEW iv_numbers AS
SELECT name, way, intercept, n.i, n.v
FROM iv_models, LATERAL (SELECT * FROM gpu_glance(m)) g,
     unnest((m).coef || (SELECT array_agg(v ORDER BY i) FROM unnest((m).vcov) WITH ORDINALITY u (v, i)) ||
            g.sigma || g.r_squared || g.adj_r_squared || tests) WITH ORDINALITY n (v, i);
-- eleven digits and more; without an intercept, columns near 1e10 lose the digits that they share
SELECT way, count(DISTINCT name) AS cases, count(*) AS numbers, bool_and((v IS NULL) = (value IS NULL)) AS same_nulls,
    bool_and(abs(v::numeric - value) <= CASE WHEN name = 'far, from 0' THEN 1e-8 ELSE 1e-13 END * abs(value)) AS agree
FROM iv_numbers n FULL JOIN iv_fits f USING (name, i) GROUP BY way ORDER BY way COLLATE "C";
SELECT bool_and(m = by_text) AS by_name FROM iv_models;

-- the demand for cigarettes as R's AER prints it
\pset format unaligned
\pset tuples_only on
SELECT gpu_summary(gpu_iv_solve(gpu_ols_named(s, '{packs,price,income,tdiff,tax}'), '{price}', '{tdiff,tax}'))
FROM iv_states WHERE dataset = 'cigarettes';
\pset format aligned
\pset tuples_only off
SELECT test, df1, df2, round(statistic::numeric, 3) AS statistic, round(p_value::numeric, 6) AS p_value
FROM gpu_iv_tests((SELECT gpu_ols_named(s, '{packs,price,income,tdiff,tax}') FROM iv_states
                   WHERE dataset = 'cigarettes'),
                  '{price}', '{tdiff,tax}');

-- a model like others: terms, predictions, tests, and results that it lacks
CREATE TABLE iv_model AS
SELECT gpu_iv_solve(gpu_ols_named(s, '{packs,price,income,tdiff,tax}'), '{price}', '{tdiff,tax}') AS m,
    gpu_ols_solve(s, features => '{1,2}') AS ols
FROM iv_states WHERE dataset = 'cigarettes';
SELECT (m).method, (m).terms, (m).n, (m).rank, (m).df_residual, (m).log_lik, (m).vcov_type, g.f_statistic, g.aic
FROM iv_model, gpu_glance(m) g;
SELECT abs(gpu_predict(m, 4.5, 2.5) - ((m).coef[1] + 4.5 * (m).coef[2] + 2.5 * (m).coef[3])) < 1e-14 AS predicts,
    i.std_error > 0 AS has_error,
    abs(w.statistic - ((m).coef[2] ^ 2 / (m).vcov[2][2])) < 1e-10 AS tests
FROM iv_model, gpu_predict_interval(m, 'confidence', 0.95, 4.5, 2.5) i, gpu_wald(m, '{price}') w;
SELECT (m::text::gpu_model).method = 'iv' AS reads FROM iv_model;
SELECT gpu_anova(m, ols) FROM iv_model;
SELECT gpu_vif(m) FROM iv_model;
SELECT gpu_leverage(m, 4.5, 2.5) FROM iv_model;

-- chosen features and response: the other columns are ignored
SELECT bool_and(abs(a.estimate - b.estimate) <= 1e-14 * abs(b.estimate)) AS same, count(*)
FROM (SELECT gpu_iv_solve(gpu_ols_stats_agg(x[1], x[2], x[3], y), '{3}', '{2}') AS m
      FROM iv_rows WHERE dataset = 'cigarettes') v, gpu_tidy(v.m) WITH ORDINALITY a,
     (SELECT gpu_iv_solve(s, '{0}', '{3}', true, '{2,3,0}', 1) AS m FROM iv_states WHERE dataset = 'cigarettes') w,
     gpu_tidy(w.m) WITH ORDINALITY b WHERE a.ordinality = b.ordinality;
-- the endogenous regressor as its own instrument: OLS's results
SELECT bool_and(abs(a.estimate - b.estimate) <= 1e-14 * abs(b.estimate) AND
                abs(a.std_error - b.std_error) <= 1e-14 * b.std_error) AS ols
FROM (SELECT gpu_iv_solve(gpu_ols_stats_agg(y, x[1], x[2], x[1]), '{1}', '{3}') AS i,
             gpu_ols_solve(gpu_ols_stats_agg(y, x[1], x[2])) AS o FROM iv_rows WHERE dataset = 'cigarettes') m,
     gpu_tidy(i) WITH ORDINALITY a, gpu_tidy(o) WITH ORDINALITY b WHERE a.ordinality = b.ordinality;
-- collinear columns: a regressor without a coefficient, an instrument that isn't counted
SELECT (m).rank, array_position((m).coef, NULL) AS aliased, t.df1 AS instruments
FROM (SELECT gpu_ols_stats_agg(y, x[1], x[2], 2 * x[2] - 1, x[3], x[4], x[3] + x[4] + x[2]) AS s
      FROM iv_rows WHERE dataset = 'cigarettes') r, LATERAL (SELECT gpu_iv_solve(s, '{1}', '{4,5,6}') AS m) f,
     gpu_iv_tests(s, '{1}', '{4,5,6}') t LIMIT 1;

-- bad input
CREATE TABLE iv_state AS SELECT s FROM iv_states WHERE dataset = 'two';
SELECT gpu_iv_solve(s, '{1,2}', '{4}') FROM iv_state;
SELECT gpu_iv_solve(s, '{1}', '{}') FROM iv_state;
\set VERBOSITY terse
SELECT gpu_iv_solve(s, '{1}', NULL) FROM iv_state;
SELECT gpu_iv_solve(s, NULL, '{4}') FROM iv_state;
SELECT gpu_iv_solve(s, '{}', '{4}') FROM iv_state;
SELECT gpu_iv_solve(s, '{1}', '{1,4}') FROM iv_state;
SELECT gpu_iv_solve(s, '{1,1}', '{4,5}') FROM iv_state;
SELECT gpu_iv_solve(s, '{0}', '{4,5}') FROM iv_state;
SELECT gpu_iv_solve(s, '{8}', '{4,5}') FROM iv_state;
SELECT gpu_iv_solve(s, '{price}', '{4,5}') FROM iv_state;
SELECT gpu_iv_solve(s, '{1}', '{4}', features => '{1,2,3}') FROM iv_state;
SELECT gpu_iv_solve(s, 1.5, '{4}') FROM iv_state;
SELECT gpu_iv_tests(s, '{1,2}', '{4}') FROM iv_state;
-- instruments that cannot tell two regressors apart
SELECT gpu_iv_solve(gpu_ols_stats_agg(y, x[4], x[4] + x[5], x[4], 2 * x[4]), '{1,2}', '{3,4}')
FROM iv_rows WHERE dataset = 'two';
-- numbers of rows: as many as terms, fewer, none
SELECT (m).df_residual, (m).rank, (m).coef[1] IS NOT NULL AS solved, (m).vcov[1][1] IS NULL AS no_vcov
FROM (SELECT gpu_iv_solve(gpu_ols_stats_agg(y, x[1], x[3], x[4]), '{1}', '{3}') AS m
      FROM (SELECT * FROM iv_rows WHERE dataset = 'two' LIMIT 3) r) f;
SELECT (m).rank, array_position((m).coef, NULL) AS aliased
FROM (SELECT gpu_iv_solve(gpu_ols_stats_agg(y, x[1], x[3], x[4]), '{1}', '{3}') AS m
      FROM (SELECT * FROM iv_rows WHERE dataset = 'two' LIMIT 2) r) f;
SELECT gpu_iv_solve(gpu_ols_stats_agg(y, x[1], x[2]), '{1}', '{2}') IS NULL AS no_rows FROM iv_rows WHERE false;
SELECT gpu_iv_solve(gpu_ols_stats_agg(NULL::float8, x[1], x[2]), '{1}', '{2}') IS NULL AS nulls FROM iv_rows;
SELECT count(*) AS tests FROM gpu_iv_tests(NULL, '{1}', '{2}');
SELECT gpu_iv_solve(s, '{1}', '{4}', NULL) IS NULL AS null_intercept FROM iv_state;
-- a perfect fit whose endogenous regressor isn't fitted perfectly
SELECT round((m).coef[2]::numeric, 12) AS slope, (m).deviance, t.test, t.statistic
FROM (SELECT gpu_ols_stats_agg(3 * x[1] + 1, x[1], x[4], x[5]) AS s FROM iv_rows WHERE dataset = 'two') r,
     LATERAL (SELECT gpu_iv_solve(s, '{1}', '{2,3}') AS m) f, gpu_iv_tests(s, '{1}', '{2,3}') t
WHERE t.test <> 'Weak instruments (x1)';
