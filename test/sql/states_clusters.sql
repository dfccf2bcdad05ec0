-- Covariances robust to clusters, and the wild cluster bootstrap, from one state a cluster: against 60 digits, R, and
-- bootstraps that run every regression, test/data/states_clusters_reference.{R,py}.
CREATE TABLE cluster_rows (dataset text, y float8, x float8[], cluster1 int, cluster2 int, i serial);
\copy cluster_rows (dataset, y, x, cluster1, cluster2) FROM 'test/data/states_clusters_rows.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE cluster_fits (dataset text, vcov text, intercept boolean, i int, j int, value float8);
\copy cluster_fits FROM 'test/data/states_clusters_fits.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE cluster_r (dataset text, vcov text, clusters text, i int, j int, value float8);
\copy cluster_r FROM 'test/data/states_clusters_r.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE cluster_wild (dataset text, intercept boolean, term int, reps int, weights text, "null" float8,
    conf_level float8, seed bigint, estimate float8, std_error float8, statistic float8, p_value float8, conf_low float8,
    conf_high float8, reps_made int);
\copy cluster_wild FROM 'test/data/states_clusters_wild.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE firm_states AS
SELECT dataset, cluster1 AS cluster, gpu_ols_stats_array_agg(y, x) AS s FROM cluster_rows GROUP BY dataset, cluster1;
CREATE TABLE year_states AS
SELECT dataset, cluster2 AS cluster, gpu_ols_stats_array_agg(y, x) AS s FROM cluster_rows GROUP BY dataset, cluster2;
CREATE TABLE both_states AS
SELECT dataset, gpu_ols_stats_array_agg(y, x) AS s FROM cluster_rows GROUP BY dataset, cluster1, cluster2;
SELECT dataset, count(*) AS clusters FROM firm_states GROUP BY dataset ORDER BY dataset COLLATE "C";

-- Digits, relative to the roots of the variances, of the terms i, j: 0 is the intercept
CREATE TABLE cluster_models AS
SELECT dataset, vcov, intercept, gpu_ols_cluster_agg(s, vcov, intercept ORDER BY cluster) AS m
FROM firm_states, unnest('{CR0,cr1,CR3,cr3j}'::text[]) vcov, unnest('{t,f}'::boolean[]) intercept
GROUP BY dataset, vcov, intercept;
CREATE FUNCTION model_entries(m gpu_model, intercept boolean,
    OUT i int, OUT j int, OUT value float8, OUT size float8) RETURNS SETOF record LANGUAGE sql IMMUTABLE AS $$
    SELECT a - intercept::int, b - intercept::int, (m).vcov[a][b], sqrt((m).vcov[a][a] * (m).vcov[b][b])
    FROM generate_subscripts((m).vcov, 1) a, generate_series(1, a) b
$$;
SELECT f.dataset, f.vcov, count(*) AS entries, count(e.value) AS found,
    max(abs(e.value - f.value) / e.size) < CASE f.dataset WHEN 'longley' THEN 1e-10 ELSE 1e-13 END AS agrees
FROM cluster_fits f
LEFT JOIN (cluster_models m CROSS JOIN model_entries(m.m, m.intercept) e)
    ON (m.dataset, (m.m).vcov_type, m.intercept, e.i, e.j) = (f.dataset, f.vcov, f.intercept, f.i, f.j)
GROUP BY f.dataset, f.vcov ORDER BY f.dataset COLLATE "C", f.vcov COLLATE "C";
SELECT bool_and((m).df_inference = (SELECT count(*) - 1 FROM firm_states f WHERE f.dataset = c.dataset)) AS df
FROM cluster_models c;

-- Everything but the covariances is what the merged state gives, to the bit
SELECT bool_and((m).coef = (r).coef AND (m).deviance = (r).deviance AND (m).rank = (r).rank AND (m).n = (r).n AND
    (m).log_lik = (r).log_lik AND (m).null_deviance = (r).null_deviance AND (m).dispersion = (r).dispersion) AS same
FROM cluster_models c JOIN (SELECT dataset, intercept,
    gpu_ols_solve(gpu_ols_rollup(s ORDER BY cluster), intercept) AS r
    FROM firm_states, unnest('{t,f}'::boolean[]) intercept GROUP BY dataset, intercept) q USING (dataset, intercept);

-- The wild bootstrap, with keys: p-values are shares of the same replicates
CREATE TABLE wild_boots AS
SELECT w.*, gpu_wild_boot_agg(s, term::text, reps, weights, "null", conf_level, seed, cluster, intercept, NULL, NULL) AS b
FROM cluster_wild w JOIN firm_states USING (dataset)
WHERE term > 0
GROUP BY dataset, intercept, term, reps, weights, "null", conf_level, seed, estimate, std_error, statistic, p_value,
    conf_low, conf_high, reps_made
UNION ALL
SELECT w.*, gpu_wild_boot_agg(s, '(intercept)', reps, weights, "null", conf_level, seed, cluster)
FROM cluster_wild w JOIN firm_states USING (dataset)
WHERE term = 0
GROUP BY dataset, intercept, term, reps, weights, "null", conf_level, seed, estimate, std_error, statistic, p_value,
    conf_low, conf_high, reps_made;
SELECT dataset, intercept, term, weights, (b).reps = reps_made AS reps,
    abs((b).estimate - estimate) < 1e-10 * std_error AND abs((b).std_error / std_error - 1) < 1e-10 AND
    abs((b).statistic - statistic) < 1e-10 AS fit,
    abs((b).p_value - p_value) < 1e-12 AS p_value,
    abs((b).conf_low - conf_low) < 1e-9 * std_error AS conf_low,
    abs((b).conf_high - conf_high) < 1e-9 * std_error AS conf_high
FROM wild_boots ORDER BY dataset COLLATE "C", intercept, term, reps, weights COLLATE "C";

-- R; two ways from states of each and of both, and as gpu_ols_fit has them
CREATE TABLE two_way_models AS
SELECT dataset, gpu_ols_two_way(
    (SELECT gpu_ols_cluster_agg(s) FROM firm_states f WHERE f.dataset = d.dataset),
    (SELECT gpu_ols_cluster_agg(s) FROM year_states f WHERE f.dataset = d.dataset),
    (SELECT gpu_ols_cluster_agg(s) FROM both_states f WHERE f.dataset = d.dataset)) AS m
FROM (SELECT DISTINCT dataset FROM cluster_r) d;
SELECT f.dataset, f.clusters, f.vcov, count(*) AS entries, max(abs(e.value - f.value) / e.size) < 1e-11 AS agrees
FROM cluster_r f
JOIN ((SELECT dataset, '1' AS clusters, m FROM cluster_models WHERE intercept UNION ALL
       SELECT dataset, '1+2', m FROM two_way_models) m CROSS JOIN model_entries(m.m, true) e)
    ON (m.dataset, m.clusters, (m.m).vcov_type, e.i, e.j) = (f.dataset, f.clusters, f.vcov, f.i, f.j)
GROUP BY f.dataset, f.clusters, f.vcov ORDER BY f.dataset COLLATE "C", f.clusters COLLATE "C", f.vcov COLLATE "C";
SELECT dataset, (t.m).df_inference = (f.m).df_inference AS df, max(abs(a.value - b.value) / b.size) < 1e-14 AS agrees
FROM two_way_models t
JOIN (SELECT dataset, gpu_ols_fit(format('SELECT y, x, cluster1, cluster2 FROM cluster_rows WHERE dataset = %L', dataset),
          vcov => 'CR1', clusters => '{cluster1,cluster2}') AS m FROM (SELECT DISTINCT dataset FROM cluster_r) d) f
    USING (dataset), model_entries(t.m, true) a, model_entries(f.m, true) b
WHERE (a.i, a.j) = (b.i, b.j)
GROUP BY dataset, t.m, f.m ORDER BY dataset COLLATE "C";
SELECT dataset, vcov, max(abs(a.value - b.value) / b.size) < 1e-14 AS agrees
FROM cluster_models c
JOIN (SELECT dataset, vcov, gpu_ols_fit(format('SELECT y, x, cluster1 FROM cluster_rows WHERE dataset = %L', dataset),
          vcov => vcov, clusters => '{cluster1}') AS m
      FROM (SELECT DISTINCT dataset FROM cluster_r) d, unnest('{CR0,cr1}'::text[]) vcov) f USING (dataset, vcov),
    model_entries(c.m, true) a, model_entries(f.m, true) b
WHERE intercept AND (a.i, a.j) = (b.i, b.j)
GROUP BY dataset, vcov ORDER BY dataset COLLATE "C", vcov COLLATE "C";

-- The order of the clusters doesn't matter, nor whether they fit work_mem
CREATE TABLE orders AS SELECT dataset, cluster, s, (hashint4(cluster) % 1009) AS mixed FROM firm_states;
SELECT dataset, vcov, count(DISTINCT m::text) AS models, bool_and((m).vcov IS NOT NULL) AS vcov
FROM (SELECT dataset, vcov, gpu_ols_cluster_agg(s, vcov ORDER BY mixed) AS m
      FROM orders, unnest('{CR1,CR3,CR3J}'::text[]) vcov GROUP BY dataset, vcov
      UNION ALL SELECT dataset, vcov, gpu_ols_cluster_agg(s, vcov ORDER BY cluster DESC)
      FROM orders, unnest('{CR1,CR3,CR3J}'::text[]) vcov GROUP BY dataset, vcov) q
GROUP BY dataset, vcov ORDER BY dataset COLLATE "C", vcov COLLATE "C";
SELECT dataset, count(DISTINCT b::text) AS results
FROM (SELECT dataset, gpu_wild_boot_agg(s, 'x1', 500 ORDER BY mixed) AS b FROM orders GROUP BY dataset
      UNION ALL SELECT dataset, gpu_wild_boot_agg(s, 'x1', 500 ORDER BY cluster) FROM orders GROUP BY dataset
      UNION ALL SELECT dataset, gpu_wild_boot_agg(s, 'x1', 500 ORDER BY cluster DESC) FROM orders GROUP BY dataset) q
GROUP BY dataset ORDER BY dataset COLLATE "C";
