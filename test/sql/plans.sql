-- Plans per query: an immutable function of a constant is called once for each plan.
CREATE FUNCTION planned(float8) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RAISE NOTICE 'planned';
    RETURN $1;
END $$;
CREATE TABLE plans AS
SELECT i AS id, i % 7 AS fold, sin(i * 1.3) AS x1, cos(i * 0.7) AS x2, sin(i) + i % 5 AS y, (sin(i * 1.3) + sin(i * 9.1) > 0) AS b
FROM generate_series(1, 300) i;
ANALYZE plans;
-- rows for a device through a ring need a plan of their own
SET gpureg.device = cpu;
SET max_parallel_workers_per_gather = 0;

-- A table that the custom scan reads: the plan of the sums also gives the query's description.
SELECT (gpu_ols_fit('SELECT y, x1 + planned(1) AS x1, x2 FROM plans')).rank;
SELECT (gpu_enet_fit('SELECT y, x1 + planned(1) AS x1, x2 FROM plans', lambda => 0.1)).rank > 0 AS has_terms;
-- Rows for passes
SELECT (gpu_logreg_fit('SELECT b, x1 + planned(1) AS x1, x2 FROM plans')).rank;
SELECT (gpu_glm_fit('SELECT abs(y) AS y, x1 + planned(1) AS x1, x2 FROM plans', family => 'poisson')).rank;
SELECT (gpu_ols_fit('SELECT y, x1 + planned(1) AS x1, x2 FROM plans', vcov => 'HC1')).rank;
-- Rows that this process sums, without a scan or workers
SET gpureg.enable_scan = off;
SELECT (gpu_ols_fit('SELECT y, x1 + planned(1) AS x1, x2 FROM plans')).rank;
RESET gpureg.enable_scan;
-- Parallel workers
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT (gpu_ols_fit('SELECT y, x1 + planned(1) AS x1, x2 FROM plans')).rank;
SELECT (gpu_logreg_fit('SELECT b, x1 + planned(1) AS x1, x2 FROM plans')).rank;
DROP TABLE plans;
DROP FUNCTION planned;
