-- Cluster-robust covariances and the wild cluster bootstrap from one state per cluster, against 60 digits, R, and
-- bootstraps that run every regression: test/data/states_clusters_reference.{R,py}.
CREATE TABLE cluster_rows (dataset text, y float8, x float8[], cluster1 int, cluster2 int, i serial);
\copy cluster_rows (dataset, y, x, cluster1, cluster2) FROM 'test/data/states_clusters_rows.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE cluster_fits (dataset text, vcov text, intercept boolean, i int, j int, value float8);
\copy cluster_fits FROM 'test/data/states_clusters_fits.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE cluster_r (dataset text, vcov text, clusters text, i int, j int, value float8);
\copy cluster_r FROM 'test/data/states_clusters_r.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE cluster_wild (dataset text, intercept boolean, term int, reps int, weights text, "null" float8,
    conf_level float8, seed bigint, estimate float8, std_error float8, statistic float8, p_value float8,
    conf_low float8, conf_high float8, reps_made int);
\copy cluster_wild FROM 'test/data/states_clusters_wild.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE firm_states AS
SELECT dataset, cluster1 AS cluster, gpu_ols_stats_array_agg(y, x) AS s FROM cluster_rows GROUP BY dataset, cluster1;
CREATE TABLE year_states AS
SELECT dataset, cluster2 AS cluster, gpu_ols_stats_array_agg(y, x) AS s FROM cluster_rows GROUP BY dataset, cluster2;
CREATE TABLE both_states AS
SELECT dataset, gpu_ols_stats_array_agg(y, x) AS s FROM cluster_rows GROUP BY dataset, cluster1, cluster2;
SELECT dataset, count(*) AS clusters FROM firm_states GROUP BY dataset ORDER BY dataset COLLATE "C";

-- Digits of the terms i, j, relative to the roots of the variances: 0 is the intercept
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

-- All but the covariances equals the merged state's model, to the bit
SELECT bool_and((m).coef = (r).coef AND (m).deviance = (r).deviance AND (m).rank = (r).rank AND (m).n = (r).n AND
    (m).log_lik = (r).log_lik AND (m).null_deviance = (r).null_deviance AND (m).dispersion = (r).dispersion) AS same
FROM cluster_models c JOIN (SELECT dataset, intercept,
    gpu_ols_solve(gpu_ols_rollup(s ORDER BY cluster), intercept) AS r
    FROM firm_states, unnest('{t,f}'::boolean[]) intercept GROUP BY dataset, intercept) q USING (dataset, intercept);

-- The wild bootstrap, with keys: p-values are shares of equal replicates
CREATE VIEW wild_states AS
SELECT * FROM firm_states UNION ALL
SELECT 'grunfeld, 6', cluster, s FROM (SELECT *, rank() OVER (ORDER BY cluster) AS k FROM firm_states
    WHERE dataset = 'grunfeld') q WHERE k <= 6;
CREATE TABLE wild_boots AS
SELECT w.*,
    gpu_wild_boot_agg(s, term::text, reps, weights, "null", conf_level, seed, cluster, intercept, NULL, NULL) AS b
FROM cluster_wild w JOIN wild_states USING (dataset)
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
    (b).conf_low = conf_low OR abs((b).conf_low - conf_low) < 1e-9 * std_error AS conf_low,
    (b).conf_high = conf_high OR abs((b).conf_high - conf_high) < 1e-9 * std_error AS conf_high
FROM wild_boots ORDER BY dataset COLLATE "C", intercept, term, reps, weights COLLATE "C", seed;
-- no p-value is 0, as the identity and its opposite tie with the data, also if units are far apart
SELECT (b).reps, (b).clusters, (b).p_value, abs((b).statistic) > 1e6 AS large
FROM (SELECT gpu_wild_boot_agg(s, 'x1', 9999) AS b
      FROM (SELECT gpu_ols_stats_agg((5 * x + 1e-6 * sin(i)) * unit, x) AS s, unit
            FROM (SELECT i, cos(i * 2.3) AS x FROM generate_series(1, 60) i) q, unnest('{1e-120,1,1e120}'::float8[]) unit
            GROUP BY i % 6, unit) q GROUP BY unit) q;

-- R's results; two keys from states of each and of both, and gpu_ols_fit's
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
JOIN (SELECT dataset, gpu_ols_fit(
          format('SELECT y, x, cluster1, cluster2 FROM cluster_rows WHERE dataset = %L', dataset), vcov => 'CR1', clusters => '{cluster1,cluster2}') AS m FROM (SELECT DISTINCT dataset FROM cluster_r) d) f
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

-- Neither the order of the clusters matters, nor whether they fit work_mem
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
-- states in a temporary file
SET work_mem = '64kB';
SELECT bool_and(a.m::text = c.m::text) AS same
FROM (SELECT dataset, vcov, gpu_ols_cluster_agg(s, vcov, true ORDER BY cluster) AS m
      FROM firm_states, unnest('{CR0,cr1,CR3,cr3j}'::text[]) vcov GROUP BY dataset, vcov) a
JOIN cluster_models c USING (dataset, vcov) WHERE c.intercept;
SELECT bool_and((a.m).vcov::text = (b.m).vcov::text) AS same
FROM (SELECT dataset, gpu_ols_cluster_agg(s, 'CR3') AS m FROM both_states WHERE dataset IN ('petersen', 'fatalities')
      GROUP BY dataset) a
JOIN (SELECT dataset, gpu_ols_cluster_agg(s, 'CR3', true, NULL, NULL) AS m FROM both_states GROUP BY dataset) b
    USING (dataset);
-- a window frame that grows, where the final function must leave the state unchanged
CREATE TABLE growing AS
SELECT row_number() OVER w AS n, gpu_ols_cluster_agg(s, 'CR3') OVER w AS m
FROM both_states WHERE dataset = 'petersen'
WINDOW w AS (ORDER BY ctid ROWS BETWEEN UNBOUNDED PRECEDING AND 9 FOLLOWING);
SELECT count(*) AS frames, bool_and(g.m::text = f.m::text) AS same
FROM growing g
JOIN (SELECT 491 AS n, gpu_ols_cluster_agg(s, 'CR3' ORDER BY ctid) AS m
      FROM (SELECT s, ctid FROM both_states WHERE dataset = 'petersen' ORDER BY ctid LIMIT 500) q
      UNION ALL SELECT 1000, gpu_ols_cluster_agg(s, 'CR3' ORDER BY ctid)
      FROM both_states WHERE dataset = 'petersen') f
    USING (n);
-- work_mem that changes between two states
SELECT bool_and(a.m::text = b.m::text) AS same
FROM (SELECT period, gpu_ols_cluster_agg(s, 'CR3') AS m
      FROM unnest('{2,7,100,601,900}'::int[]) period,
          LATERAL (SELECT s, row_number() OVER (ORDER BY ctid) AS i FROM both_states WHERE dataset = 'petersen'
                   ORDER BY ctid) q
      WHERE set_config('work_mem', CASE WHEN i % period < period / 2 THEN '4MB' ELSE '64kB' END, false) <> ''
      GROUP BY period) a,
    (SELECT gpu_ols_cluster_agg(s, 'CR3' ORDER BY ctid) AS m FROM both_states WHERE dataset = 'petersen') b;
RESET work_mem;

-- Columns by number and by name; other responses
SELECT (a).terms, (a).coef = (gpu_ols_solve(r, true, '{2}', 1)).coef AS solved, a::text = b::text AS by_name,
    (SELECT max(abs(e.value - o.value) / o.size) < 1e-14
     FROM model_entries(a, true) e, model_entries(f, true) o WHERE (e.i, e.j) = (o.i, o.j)) AS as_alone
FROM (SELECT gpu_ols_cluster_agg(gpu_ols_named(s, '{invest,value,capital}'), 'CR1', true, '{2}', 1
              ORDER BY cluster) AS a,
          gpu_ols_cluster_agg(gpu_ols_named(s, '{invest,value,capital}'), 'CR1', true, '{capital}', 'value'::text
              ORDER BY cluster) AS b,
          gpu_ols_rollup(s ORDER BY cluster) AS r
      FROM firm_states WHERE dataset = 'grunfeld') q,
    gpu_ols_fit($$SELECT x[1], x[2], cluster1 FROM cluster_rows WHERE dataset = 'grunfeld'$$, vcov => 'CR1',
        clusters => '{cluster1}') f;
SELECT (gpu_wild_boot_agg(gpu_ols_named(s, '{invest,value,capital}'), 'capital')).term,
    (gpu_wild_boot_agg(s, '2')).term AS by_number
FROM firm_states WHERE dataset = 'grunfeld';

-- Weights and frequencies
CREATE TABLE weighted_states AS
SELECT cluster1 AS cluster, gpu_wls_stats_array_agg(1 + i % 3, y, x) AS s FROM cluster_rows WHERE dataset = 'grunfeld'
GROUP BY cluster1;
SELECT max(abs(a.value - b.value) / b.size) < 1e-14 AS agrees
FROM (SELECT gpu_ols_cluster_agg(s, 'CR1') AS m FROM weighted_states) q,
    gpu_ols_fit($$SELECT y, x, cluster1, 1 + i % 3 AS w FROM cluster_rows WHERE dataset = 'grunfeld'$$, vcov => 'CR1',
        clusters => '{cluster1}', weights => 'w') f,
    model_entries(q.m, true) a, model_entries(f, true) b
WHERE (a.i, a.j) = (b.i, b.j);

-- Columns far from 0, and states about shifts of their own, give the results of columns near 0, except the intercept
SELECT vcov, abs((a).vcov[2][2] / (b).vcov[2][2] - 1) < 1e-12 AS slope, (a).vcov[1][1] > 1e12 AS intercept
FROM (SELECT vcov, gpu_ols_cluster_agg(near, vcov) AS b, gpu_ols_cluster_agg(far, vcov) AS a
      FROM (SELECT g % 30, gpu_ols_stats_agg(sin(g), g % 8) AS near,
                gpu_ols_stats_agg(sin(g) + 1024, g % 8 + 4294967296.0) AS far
            FROM generate_series(1, 300) g GROUP BY 1) c, unnest('{CR0,CR1,CR3,CR3J}'::text[]) vcov GROUP BY vcov) q
ORDER BY vcov COLLATE "C";

-- A cluster with a dummy of its own, whose coefficient the other clusters don't determine: other results are those of
-- the rows without it
CREATE TABLE dummy_states AS
SELECT g % 6 AS c, gpu_ols_stats_agg(cos(g), sqrt(g), (g % 6 = 0)::int) AS s FROM generate_series(1, 90) g GROUP BY 1;
SELECT (m).rank, k, abs((m).vcov[k][k] / (5.0 / 6 * sum(((l).coef[k] - (m).coef[k]) ^ 2)) - 1) < 1e-12 AS agrees,
    count((l).coef[3]) AS with_dummy
FROM (SELECT gpu_ols_cluster_agg(s, 'CR3') AS m FROM dummy_states) f, generate_series(1, 2) k,
    LATERAL (SELECT d.c, gpu_ols_solve(gpu_ols_rollup(o.s)) AS l FROM dummy_states d JOIN dummy_states o ON d.c <> o.c
             GROUP BY d.c) q
GROUP BY m, k ORDER BY k;
SELECT vcov, (gpu_ols_cluster_agg(s, vcov)).vcov[3][3] > 0 AS positive
FROM dummy_states, unnest('{CR0,CR3,CR3J}'::text[]) vcov GROUP BY vcov ORDER BY vcov COLLATE "C";

-- No residuals; equal clusters; as many terms as rows
SELECT vcov, (gpu_ols_cluster_agg(s, vcov)).vcov
FROM (SELECT gpu_ols_stats_agg(2 * g + 1, g) AS s FROM generate_series(1, 50) g GROUP BY g % 5) c,
    unnest('{CR0,CR1,CR3,CR3J}'::text[]) vcov
GROUP BY vcov ORDER BY vcov COLLATE "C";
SELECT vcov, (gpu_ols_cluster_agg(s, vcov)).vcov
FROM firm_states, generate_series(1, 5), unnest('{CR1,CR3,CR3J}'::text[]) vcov
WHERE dataset = 'grunfeld' AND cluster = 1 GROUP BY vcov ORDER BY vcov COLLATE "C";
SELECT b.std_error, b.p_value, b.conf_low, b.reps, b.clusters
FROM (SELECT (gpu_wild_boot_agg(s, 'x1')).*
      FROM firm_states, generate_series(1, 5) WHERE dataset = 'grunfeld' AND cluster = 1) b;
SELECT vcov, (gpu_ols_cluster_agg(s, vcov)).vcov
FROM (SELECT gpu_ols_stats_agg(g * g, g, g * g * g, sin(g)) AS s FROM generate_series(1, 3) g GROUP BY g) c,
    unnest('{CR0,CR1}'::text[]) vcov
GROUP BY vcov ORDER BY vcov COLLATE "C";
SELECT b.p_value, b.conf_low, b.conf_high
FROM (SELECT (gpu_wild_boot_agg(s, 'x1')).* FROM (SELECT gpu_ols_stats_agg(g * g, g, g * g * g, sin(g)) AS s
      FROM generate_series(1, 3) g GROUP BY g) c) b;

-- No states, NULL ones, and states without a complete row
SELECT gpu_ols_cluster_agg(s) IS NULL AS none, gpu_wild_boot_agg(s, 'x1') IS NULL AS no_boot
FROM firm_states WHERE false;
SELECT gpu_ols_cluster_agg(NULL::gpu_ols_stats) IS NULL AS none,
    gpu_wild_boot_agg(NULL::gpu_ols_stats, 'x1') IS NULL AS no_boot FROM firm_states;
SELECT (gpu_ols_cluster_agg(s)).df_inference, (gpu_ols_cluster_agg(s)).n_skipped
FROM (SELECT s FROM firm_states WHERE dataset = 'grunfeld' UNION ALL SELECT NULL UNION ALL
      SELECT gpu_ols_stats_array_agg(NULL::float8, x) FROM cluster_rows WHERE i < 3) q;

-- One cluster
SELECT (m).coef IS NOT NULL AS coef, (m).vcov, (m).df_inference
FROM (SELECT gpu_ols_cluster_agg(s) AS m FROM firm_states WHERE dataset = 'grunfeld' AND cluster = 1) q;
SELECT (b).estimate IS NOT NULL AS estimate, (b).std_error, (b).p_value, (b).conf_low, (b).reps, (b).clusters
FROM (SELECT gpu_wild_boot_agg(s, 'x1') AS b FROM firm_states WHERE dataset = 'grunfeld' AND cluster = 1) q;
SELECT count(std_error) AS std_errors, count(p_value) AS p_values
FROM (SELECT gpu_ols_cluster_agg(s) AS m FROM firm_states WHERE dataset = 'grunfeld' AND cluster = 1) q, gpu_tidy(m);

-- Errors
SELECT gpu_ols_cluster_agg(s) FROM firm_states WHERE dataset IN ('grunfeld', 'petersen');
SELECT gpu_wild_boot_agg(s, 'x1') FROM firm_states WHERE dataset IN ('grunfeld', 'petersen');
SELECT gpu_ols_cluster_agg(s, 'CR2') FROM firm_states;
SELECT gpu_ols_cluster_agg(s, NULL) FROM firm_states;
SELECT gpu_ols_cluster_agg(s, 'CR1', NULL) FROM firm_states;
SELECT gpu_ols_cluster_agg(s, 'CR1', true, '{9}', NULL) FROM firm_states WHERE dataset = 'grunfeld';
SELECT gpu_ols_cluster_agg(s, 'CR1', false, '{}', NULL) FROM firm_states WHERE dataset = 'grunfeld';
SELECT gpu_wild_boot_agg(s, 'x9') FROM firm_states WHERE dataset = 'grunfeld';
SELECT gpu_wild_boot_agg(s, NULL) FROM firm_states WHERE dataset = 'grunfeld';
SELECT gpu_wild_boot_agg(s, 'x2')
FROM (SELECT gpu_ols_stats_agg(sin(g), g, 2 * g) AS s FROM generate_series(1, 50) g GROUP BY g % 5) c;
SELECT gpu_wild_boot_agg(s, 'x1', 0) FROM firm_states WHERE dataset = 'grunfeld';
SELECT gpu_wild_boot_agg(s, 'x1', 99, 'mammen', 0, 0.95, 0) FROM firm_states WHERE dataset = 'grunfeld';
SELECT gpu_wild_boot_agg(s, 'x1', 99, 'webb', 'nan', 0.95, 0) FROM firm_states WHERE dataset = 'grunfeld';
SELECT gpu_wild_boot_agg(s, 'x1', 99, 'webb', 0, 1, 0) FROM firm_states WHERE dataset = 'grunfeld';
SELECT gpu_wild_boot_agg(s, 'x1', 99, 'webb', 0, 0.95, NULL) FROM firm_states WHERE dataset = 'grunfeld';
SELECT gpu_wild_boot_agg(s, 'x1', 99, 'webb', 0, 0.95, 0, cluster / 2) FROM firm_states WHERE dataset = 'grunfeld';
SELECT gpu_wild_boot_agg(s, 'x1', 99, 'webb', 0, 0.95, 0, nullif(cluster, 3) ORDER BY cluster) FROM firm_states
WHERE dataset = 'grunfeld';
SELECT gpu_wild_boot_agg(s, 'x1', 99, 'webb', 0, 0.95, 0, '{}'::json) FROM firm_states WHERE dataset = 'grunfeld';
CREATE TABLE grunfeld_models AS
SELECT gpu_ols_cluster_agg(s) AS m, gpu_ols_cluster_agg(s, 'CR3') AS cr3, gpu_ols_solve(gpu_ols_rollup(s)) AS iid,
    gpu_ols_cluster_agg(s, 'CR1', false) AS no_intercept, gpu_ols_cluster_agg(s, 'CR1', true, '{2,1}', NULL) AS moved,
    gpu_ols_cluster_agg(s) FILTER (WHERE cluster > 1) AS fewer,
    gpu_ols_cluster_agg(s, 'CR1', true, '{0,2}', 1) AS other
FROM firm_states WHERE dataset = 'grunfeld';
SELECT gpu_ols_two_way(m, m, NULL) IS NULL AS none FROM grunfeld_models;
SELECT gpu_ols_two_way(m, m, iid) FROM grunfeld_models;
SELECT gpu_ols_two_way(m, cr3, m) FROM grunfeld_models;
SELECT gpu_ols_two_way(m, m, no_intercept) FROM grunfeld_models;
SELECT gpu_ols_two_way(m, fewer, m) FROM grunfeld_models;
SELECT gpu_ols_two_way(m, moved, m) FROM grunfeld_models;
SELECT gpu_ols_two_way(m, other, m) FROM grunfeld_models;
DROP VIEW wild_states;
DROP TABLE cluster_rows, cluster_fits, cluster_r, cluster_wild, firm_states, year_states, both_states, cluster_models,
    wild_boots, two_way_models, orders, growing, weighted_states, dummy_states, grunfeld_models;
DROP FUNCTION model_entries(gpu_model, boolean);
