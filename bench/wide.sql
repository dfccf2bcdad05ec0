-- A Poisson regression of 600,000 rows and 322 features, 300 of which are indicators of three categories, with an l2,
-- on each device. Variables: rows (600,000, or fewer), workers.
\ir common.sql
SELECT setseed(0.75) \g /dev/null
DROP TABLE IF EXISTS gpureg_bench_wide;
CREATE UNLOGGED TABLE gpureg_bench_wide (n float8, x float8[]);
ALTER TABLE gpureg_bench_wide ALTER x SET STORAGE PLAIN;
CREATE TEMP TABLE indicators AS
SELECT k, array_agg((j = k)::int::float8 ORDER BY j) AS x
FROM generate_series(1, 100) k, generate_series(1, 100) j GROUP BY k;
INSERT INTO gpureg_bench_wide
SELECT floor(-ln(1 - v) * exp(0.3 * x1 - 0.2 * x2 + 0.002 * a.k - 0.003 * b.k)), numbers || a.x || b.x || c.x
FROM (SELECT random() AS v, x[1] AS x1, x[2] AS x2, x AS numbers, ceil(100 * random())::int AS ka,
             ceil(100 * random())::int AS kb, ceil(100 * random())::int AS kc
      FROM generate_series(1, :rows) i,
           LATERAL (SELECT array_agg(random() + 0 * (i + j)) AS x FROM generate_series(1, 22) j) numbers OFFSET 0) r
JOIN indicators a ON a.k = ka JOIN indicators b ON b.k = kb JOIN indicators c ON c.k = kc;
VACUUM (ANALYZE, FREEZE) gpureg_bench_wide;
\if :workers_given
ALTER TABLE gpureg_bench_wide SET (parallel_workers = :workers);
\endif
SELECT pg_temp.warm('{gpureg_bench_wide}') \g /dev/null
INSERT INTO cases (bench, query, settings)
SELECT format('poisson, 322 features, l2 = 60, %s', device),
       'SELECT gpu_glm_fit(''SELECT n, x FROM gpureg_bench_wide'', ''poisson'', l2 => 60)',
       jsonb_build_object('gpureg.device', device)
FROM unnest('{gpu,cpu}'::text[]) device;
SELECT pg_temp.run_cases(3) \g /dev/null
SELECT pg_temp.lines('wide', :rows, 322);
