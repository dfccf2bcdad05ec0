-- Satterthwaite's degrees of freedom of CR2's variances against R's clubSandwich and matrices of all rows:
-- test/data/satterthwaite_reference.R.
\set SHOW_CONTEXT never
CREATE TABLE satt_rows (dataset text, y float8, weight float8, frequency float8, base float8, cluster1 int, cluster2 int,
    x float8[]);
\copy satt_rows FROM 'test/data/covariance_rows.csv' WITH (FORMAT csv, HEADER)
INSERT INTO satt_rows SELECT 'mtcars carb', mpg, NULL, NULL, NULL, carb, NULL, ARRAY[wt, hp] FROM mtcars;
INSERT INTO satt_rows
SELECT 'leverage', i * 37 % 101 + i * i % 13, NULL, NULL, NULL, g, NULL,
    ARRAY[(g IN (5, 20, 44))::int, i * 53 % 97 + CASE g WHEN 40 THEN 2000 ELSE 0 END, g * 29 % 31]
FROM (SELECT i, i * i * 48 / 230400 AS g FROM generate_series(1, 480) i) q;
CREATE TABLE satt_fits (dataset text, clusters text, term int, df float8);
\copy satt_fits FROM 'test/data/satterthwaite_fits.csv' WITH (FORMAT csv, HEADER)
UPDATE satt_fits SET dataset = 'mtcars carb', clusters = '1' WHERE clusters = 'carb';
UPDATE satt_fits SET clusters = '1' WHERE clusters = 'g';
CREATE TABLE satt_models AS
SELECT dataset, clusters, gpu_glm_fit(format('SELECT %s%s%sy, cluster%s, x FROM satt_rows WHERE dataset = %L', w || ', ',
        f || ', ', o || ', ', clusters, dataset), coalesce(family, 'gaussian'), coalesce(link, 'identity'),
    dataset NOT LIKE '%no intercept', weights => w, frequencies => f, offsets => o, vcov => 'CR2',
    clusters => ARRAY['cluster' || clusters]) AS m
FROM (SELECT DISTINCT dataset, clusters FROM satt_fits) c
JOIN (SELECT dataset, CASE WHEN count(weight) > 0 THEN 'weight' END AS w,
          CASE WHEN count(frequency) > 0 THEN 'frequency' END AS f, CASE WHEN count(base) > 0 THEN 'base' END AS o
      FROM satt_rows GROUP BY dataset) r USING (dataset)
LEFT JOIN (VALUES ('clusters, classes', 'binomial', 'logit'), ('clusters, classes, nearly collinear', 'binomial', 'logit'),
               ('clusters, counts', 'poisson', 'log'), ('clusters, counts, offset', 'poisson', 'log'),
               ('clusters, counts, weights', 'poisson', 'log'), ('clusters, no intercept', 'poisson', 'log'),
               ('clusters, positive', 'gamma', 'log'), ('clusters, positive, weights', 'gamma', 'log'),
               ('mtcars, gamma', 'gamma', 'log'), ('epil', 'poisson', 'log'), ('infert', 'binomial', 'logit'))
    k(dataset, family, link) USING (dataset);
-- R has fewer digits if columns are nearly collinear or far from 0
SELECT count(*) AS df, max(abs(t.df / f.df - 1)) FILTER (WHERE dataset !~ 'nearly|far') < 1e-9 AS agree,
    max(abs(t.df / f.df - 1)) < 1e-4 AS others
FROM satt_models JOIN satt_fits f USING (dataset, clusters), gpu_tidy(m) WITH ORDINALITY t(term, estimate, std_error,
    statistic, p_value, conf_low, conf_high, df, class, number) WHERE number = f.term;
SELECT (m).df_inference, round(t.df::numeric, 1) AS df FROM satt_models, gpu_tidy(m) t WHERE dataset = 'leverage';
-- tests and limits use them, for linear and other models
SELECT bool_and(abs(t.p_value - gpu_pt(-abs(t.statistic), t.df) * 2) < 1e-12 AND
                abs(t.conf_high - t.estimate - gpu_qt(0.975, t.df) * t.std_error) < 1e-9 * t.std_error) AS by_df
FROM satt_models, gpu_tidy(m) t;
SELECT bool_and(abs(w.statistic / t.statistic ^ 2 - 1) < 1e-12 AND w.df2 = t.df AND abs(w.p_value - t.p_value) < 1e-12 AND
                w.test = 'F') AS wald
FROM satt_models, gpu_tidy(m) t, gpu_wald(m, ARRAY[t.term]) w;
SELECT bool_and(w.df2 = t.df) AS least, bool_and(g.f_statistic IS NULL OR (g.f_statistic = w.statistic AND
    g.f_p_value = w.p_value)) AS glance, count(g.f_statistic) > 3 AS linear
FROM satt_models, LATERAL (SELECT min(df) AS df FROM gpu_tidy(m) WHERE term <> '(intercept)') t, gpu_wald(m) w,
    gpu_glance(m) g;
SELECT bool_and(abs((i.upper - i.fit) / i.std_error / gpu_qt(0.975, t.df) - 1) < 1e-9) AS intervals
FROM satt_models, LATERAL (SELECT min(df) AS df FROM gpu_tidy(m) WHERE term IN ('(intercept)', 'x[1]', 'x[3]')) t,
    gpu_predict_interval(m, 'confidence', 0.95, 1.0, 0.0, 2.0) i WHERE dataset = 'leverage';
SELECT bool_and(abs((e.conf_high - e.estimate) / e.std_error / gpu_qt(0.975, t.df) - 1) < 1e-9) AS margins
FROM satt_models, gpu_margins(m, 'SELECT x FROM satt_rows WHERE dataset = ''clusters, counts''') e,
    LATERAL (SELECT min(df) AS df FROM gpu_tidy(m)) t WHERE dataset = 'clusters, counts';
SELECT line FROM satt_models, regexp_split_to_table(gpu_summary(m), '\n') line
WHERE dataset = 'leverage' AND line ~ 'Degrees|Wald|Pr\(|treated|x\[1\]';
-- functions that return a model keep them; a wrong number of them, or an invalid one, is an error
SELECT bool_and(a.df = b.df) AS kept FROM satt_models, gpu_tidy(m) WITH ORDINALITY a, gpu_tidy(gpu_with_terms(m,
    (m).terms[1:1] || 'u'::text || (m).terms[3:])) WITH ORDINALITY b WHERE a.ordinality = b.ordinality AND dataset = 'leverage';
CREATE FUNCTION with_design(m gpu_model, design text) RETURNS gpu_model LANGUAGE sql AS
    $$SELECT jsonb_populate_record(m, jsonb_build_object('design', design))$$;
SELECT gpu_tidy(with_design(m, '2 1 df 33 4000000000000000 4000000000000000')) FROM satt_models WHERE dataset = 'leverage';
SELECT gpu_tidy(with_design(m, '2 1 df 16 400000000000000G')) FROM satt_models WHERE dataset = 'leverage';
SELECT gpu_predict_interval(with_design(m, '2 1 df 0 '), 'confidence', 0.95, 1, 1, 1) FROM satt_models
WHERE dataset = 'leverage';
SELECT count(p_value) AS p_values, count(df) AS df FROM satt_models, gpu_tidy(with_design(m,
    '2 1 df 67 0000000000000000 7ff8000000000000 bff0000000000000 7ff0000000000000')) WHERE dataset = 'leverage';
-- two keys: the fewer of both; with an l2, other models' number; aliased and separated terms have none
SELECT bool_and(abs(t.df / least(a.df, b.df) - 1) < 1e-12) AS fewer
FROM gpu_ols_fit('SELECT y, cluster1, cluster2, x FROM satt_rows WHERE dataset = ''clusters''', vcov => 'CR2',
         clusters => '{cluster1,cluster2}') m, gpu_tidy(m) WITH ORDINALITY t, satt_fits a, satt_fits b
WHERE a.term = t.ordinality AND b.term = t.ordinality AND a.dataset = 'clusters' AND b.dataset = 'clusters' AND
    a.clusters = '1' AND b.clusters = '2';
SELECT bool_and(t.df = least(a.df, b.df)) AS fewer
FROM satt_models f, satt_models s, gpu_tidy(gpu_ols_two_way(f.m, s.m, f.m)) WITH ORDINALITY t,
    gpu_tidy(f.m) WITH ORDINALITY a, gpu_tidy(s.m) WITH ORDINALITY b
WHERE f.dataset = 'clusters' AND s.dataset = 'clusters' AND f.clusters = '1' AND s.clusters = '2' AND
    a.ordinality = t.ordinality AND b.ordinality = t.ordinality;
SELECT bool_and(df = 'Infinity') AS of_l2 FROM gpu_tidy(gpu_glm_fit('SELECT carb, wt, hp, cyl FROM mtcars', 'poisson',
    l2 => 0.1, vcov => 'CR2', clusters => '{cyl}'));
SELECT term, df IS NULL AS none FROM gpu_tidy(gpu_ols_fit('SELECT mpg, wt, 2 * wt AS wt2, carb FROM mtcars',
    vcov => 'CR2', clusters => '{carb}'));
-- one number for all terms with covariances other than CR2
SELECT v, array_agg(DISTINCT df) AS df FROM unnest('{iid,HC1,HC3,CR0,CR1}'::text[]) v, gpu_tidy(gpu_ols_fit(
    format('SELECT mpg, wt, hp%s FROM mtcars', CASE WHEN v LIKE 'CR%' THEN ', carb' END), vcov => v,
    clusters => CASE WHEN v LIKE 'CR%' THEN '{carb}'::text[] END)) GROUP BY v ORDER BY v;
SELECT DISTINCT df FROM gpu_tidy(gpu_glm_fit('SELECT carb, wt, hp FROM mtcars', 'poisson', vcov => 'HC1'));
DROP TABLE satt_rows, satt_fits, satt_models;
DROP FUNCTION with_design(gpu_model, text);
