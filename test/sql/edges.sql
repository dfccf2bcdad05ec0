-- Rare cases: bounds at which the code changes its way, models and states made by hand, and reports beside the answer.
\set VERBOSITY terse
CREATE TABLE edge_rows AS SELECT i, i % 7 AS g, i % 5 AS h, i % 35 AS both_of, sin(i) AS y, cos(i * 0.7) AS x,
    (i * 7919::bigint % 10007) / 10007.0::float8 AS u,
    i * 104729::bigint % 9973 < 2990 + i * 7919::bigint % 10007 / 3 AS won FROM generate_series(1, 40000) i;
ANALYZE edge_rows;

-- gpureg.min_gpu_work: a GPU is looked for from this many multiply-adds on, here those of 40,000 rows' 3 x 3 products
SET max_parallel_workers_per_gather = 0;
CREATE FUNCTION edge_reason(products float8) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('gpureg.min_gpu_work', products::text, true);
    PERFORM gpu_ols_fit('SELECT y, u FROM edge_rows');
    RETURN (SELECT reason FROM gpu_last_run());
END $$;
BEGIN;
SET LOCAL gpureg.device = auto;
SET LOCAL gpureg.enable_service = off;	-- a warm service would take fewer products
SELECT n, edge_reason(n) LIKE '%fewer than gpureg.min_gpu_work' AS too_few FROM unnest(ARRAY[240001, 240000]) AS n;
COMMIT;

-- one worker makes a parallel plan, too; the session's own process waits for it
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 1;
SET parallel_leader_participation = on;
SET gpureg.enable_scan = off;
CREATE FUNCTION edge_waits(i int, leader int) RETURNS int LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS $$
BEGIN
    --     the leader waits now and then until a worker has started
    IF pg_backend_pid() = leader AND i % 1000 = 1 THEN
        FOR k IN 1 .. 200 LOOP
            EXIT WHEN EXISTS (SELECT FROM pg_stat_activity WHERE leader_pid = leader);
            PERFORM pg_sleep(0.05), pg_stat_clear_snapshot();
        END LOOP;
        PERFORM pg_sleep(0.05);
    END IF;
    RETURN i;
END $$;
SELECT (gpu_ols_fit(format('SELECT y, x + 0 * edge_waits(i, %s) FROM edge_rows WHERE i <= 4000', pg_backend_pid()))).n;
SELECT workers FROM gpu_last_run();

-- a worker that scans several partitions counts as one worker
RESET gpureg.enable_scan;
SET max_parallel_workers_per_gather = 2;
SET parallel_leader_participation = off;
CREATE TABLE edge_parts (i int, y float8, x float8) PARTITION BY HASH (i);
CREATE TABLE edge_part0 PARTITION OF edge_parts FOR VALUES WITH (MODULUS 4, REMAINDER 0);
CREATE TABLE edge_part1 PARTITION OF edge_parts FOR VALUES WITH (MODULUS 4, REMAINDER 1);
CREATE TABLE edge_part2 PARTITION OF edge_parts FOR VALUES WITH (MODULUS 4, REMAINDER 2);
CREATE TABLE edge_part3 PARTITION OF edge_parts FOR VALUES WITH (MODULUS 4, REMAINDER 3);
INSERT INTO edge_parts SELECT i, y, x FROM edge_rows;
ANALYZE edge_parts;
SELECT (gpu_ols_fit('SELECT y, x FROM edge_parts')).n;
SELECT workers BETWEEN 1 AND 2 AS at_most_two FROM gpu_last_run();
RESET parallel_leader_participation;

-- arrays whose length isn't known before they come, by workers that have their name
SELECT gpu_ols_fit('SELECT y, CASE WHEN i = 30000 THEN ARRAY[x] ELSE ARRAY[x, u] END AS numbers FROM edge_rows');
RESET max_parallel_workers_per_gather;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;

-- an aggregate over partitions, of which one has rows
SET enable_partitionwise_aggregate = on;
SET max_parallel_workers_per_gather = 0;
SELECT p.part, (SELECT (gpu_logreg_agg(y > 0, x)).n = count(*) FROM edge_parts WHERE tableoid = p.part) AS all_of_it
    FROM unnest(ARRAY['edge_part0', 'edge_part3']::regclass[]) AS p (part);
RESET max_parallel_workers_per_gather;
RESET enable_partitionwise_aggregate;

-- a scan that is repeated for each row of another query, with a filter whose list comes from that row
SET max_parallel_workers_per_gather = 0;
SELECT k, (SELECT (gpu_ols_agg(y, x)).n FROM edge_rows WHERE i <= 100 AND NOT i IN (
    SELECT 10 * l + m FROM generate_series(1, 5) AS l, generate_series(0, 1) AS m WHERE l <= k)) AS n
    FROM generate_series(1, 4) AS k ORDER BY k;
RESET max_parallel_workers_per_gather;

-- rows of an aggregate that are changed while they move to a larger block, as columns are nearly collinear
SELECT (m).converged, relative_difference((m).coef, q.coef) < 1e-10 AS same, (m).deviance = q.deviance AS same_deviance
    FROM (SELECT gpu_logreg_agg(won, u, 1e5 * u + (i % 97) / 97.0) AS m FROM edge_rows) a,
    gpu_logreg_fit('SELECT won, u, 1e5 * u + (i % 97) / 97.0 FROM edge_rows') AS q;

-- weights whose sum exceeds float8's range, with features whose products don't, with an intercept and without
SELECT gpu_logreg_fit('SELECT won, u * 1e-120, 1e308 AS w FROM edge_rows WHERE i <= 50', weights => 'w');
SELECT gpu_logreg_fit('SELECT won, u * 1e-120, 1e308 AS w FROM edge_rows WHERE i <= 50', weights => 'w',
    intercept => false);

-- gpu_auc keeps only different scores, so its memory doesn't grow with the rows
CREATE FUNCTION edge_memory() RETURNS numeric LANGUAGE sql VOLATILE AS
    $$SELECT sum(total_bytes) FROM pg_backend_memory_contexts$$;
SELECT auc > 0.49 AND auc < 0.51 AS indifferent, after_all - at_first < 1000000 AS small FROM (
    SELECT gpu_auc(i % 3, i % 2 = 0) AS auc, max(CASE WHEN i = 10 THEN edge_memory() END) AS at_first,
        max(CASE WHEN i = 300000 THEN edge_memory() END) AS after_all
    FROM (SELECT i::float8::bigint AS i FROM generate_series(1, 300000) AS i OFFSET 0) q) q;

-- forgetting rows that are not kept
SELECT gpu_forget('nothing of that name');

-- a bootstrap of a separated response names the terms
\set VERBOSITY default
\set SHOW_CONTEXT never
SELECT gpu_logreg_boot('SELECT u > 0.5, u, i FROM edge_rows WHERE i <= 200', key => 'i');
\set VERBOSITY terse

-- models without covariances, or without their type, have no clusters
CREATE FUNCTION edge_without(m gpu_model, field text) RETURNS gpu_model LANGUAGE sql AS
    $$SELECT jsonb_populate_record(m, jsonb_build_object(field, NULL))$$;
CREATE FUNCTION edge_fit(clusters text) RETURNS gpu_model LANGUAGE sql AS
    $$SELECT gpu_ols_fit(format('SELECT y, x, %s FROM edge_rows WHERE i <= 200', clusters), vcov => 'CR1',
        clusters => ARRAY[clusters])$$;
CREATE TEMP TABLE edge_models AS SELECT edge_fit('g') AS one, edge_fit('h') AS other, edge_fit('both_of') AS two;
SELECT (gpu_ols_two_way(one, other, two)).vcov_type FROM edge_models;
SELECT gpu_ols_two_way(edge_without(one, 'vcov_type'), other, two) FROM edge_models;
SELECT gpu_ols_two_way(one, edge_without(other, 'vcov'), two) FROM edge_models;
SELECT gpu_ols_two_way(one, other, edge_without(two, 'vcov_type')) FROM edge_models;

-- names of covariances of any length, in a line of 80 columns
SELECT line FROM edge_models, unnest(ARRAY[59, 60, 61]) AS length,
    jsonb_populate_record(one, jsonb_build_object('vcov_type', repeat('v', length))) AS m,
    unnest(string_to_array(gpu_summary(m), E'\n')) AS line WHERE line LIKE 'Standard errors%' ORDER BY length;

-- rows left out of a state are counted in the elastic net
SELECT (gpu_enet_model(s, 0.1)).n_skipped FROM (
    SELECT gpu_ols_stats_agg(CASE WHEN i > 2 THEN y END, x, u) AS s FROM edge_rows WHERE i <= 100) q;

-- a state of no rows, whatever its sums, is no cluster
CREATE TEMP TABLE edge_states AS SELECT g, gpu_wls_stats_agg(1.5, y, x) AS s
    FROM edge_rows WHERE i <= 200 AND g < 3 GROUP BY g;
SELECT (gpu_ols_cluster_agg(s)).df_inference FROM edge_states;
SELECT (gpu_ols_cluster_agg(CASE WHEN g = 1 THEN regexp_replace(s::text, '"rows":\d+', '"rows":0')::gpu_ols_stats
    ELSE s END)).df_inference FROM edge_states;

-- a state of a family with a very long name
SELECT regexp_replace(s::text, '"poisson"', '"' || repeat('p', 200) || '"')::gpu_logreg_step IS NULL
    FROM (SELECT gpu_glm_step_agg('poisson', 'log', ARRAY[0.0, 0.0], i::float8, x) AS s FROM edge_rows WHERE i < 5) q;

-- a row type with fields that the library doesn't know is no model
CREATE TEMP TABLE edge_fields AS SELECT (one).* FROM edge_models;
DROP TABLE edge_models;
BEGIN;
DROP FUNCTION edge_fit, edge_without;
ALTER TYPE gpu_model ADD ATTRIBUTE more int;
SELECT gpu_tidy(ROW(f.*, 1)::gpu_model) FROM edge_fields f;
ROLLBACK;
BEGIN;
DROP FUNCTION edge_fit, edge_without;
ALTER TYPE gpu_model DROP ATTRIBUTE design;
SELECT gpu_tidy(ROW(method, terms, coef, vcov, n, n_skipped, rank, df_residual, deviance, null_deviance, iterations,
    converged, separated, device, log_lik, family, link, theta, dispersion, vcov_type, df_inference)::gpu_model)
    FROM edge_fields;
ROLLBACK;
SELECT (gpu_tidy(ROW(f.*)::gpu_model)).term FROM edge_fields f;
