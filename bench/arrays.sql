-- Rows of arrays: a fiftieth of the variable rows of 100 float8 and of 100 float4, and a fortieth of 1,000 float8 (of
-- 10 million, 2 GB), which are stored outside their table. Yardsticks are aggregates that must reach each array's
-- elements. Leaves nothing.
\ir common.sql
SELECT greatest(:rows / 50, 1000) AS array_rows, greatest(:rows / 40, 2000) AS wide_rows \gset
SELECT setseed(0.5) \g /dev/null
DROP TABLE IF EXISTS gpureg_bench_float8, gpureg_bench_float4, gpureg_bench_wide;
-- slices of a pool of random numbers, which compress as little as random numbers
CREATE UNLOGGED TABLE gpureg_bench_float8 AS
SELECT random() AS y, (SELECT array_agg(random()) FROM generate_series(1, 65536))[o : o + 99] AS x
FROM (SELECT 1 + floor(random() * 65000)::int AS o FROM generate_series(1, :array_rows)) r;
CREATE UNLOGGED TABLE gpureg_bench_float4 AS SELECT y, x::float4[] AS x FROM gpureg_bench_float8;
CREATE UNLOGGED TABLE gpureg_bench_wide (y float8, x float8[]);
ALTER TABLE gpureg_bench_wide ALTER x SET STORAGE EXTERNAL;
INSERT INTO gpureg_bench_wide
SELECT random(), (SELECT array_agg(random()) FROM generate_series(1, 65536))[o : o + 999]
FROM (SELECT 1 + floor(random() * 64000)::int AS o FROM generate_series(1, :wide_rows)) r;
VACUUM (ANALYZE, FREEZE) gpureg_bench_float8, gpureg_bench_float4, gpureg_bench_wide;
\if :workers_given
ALTER TABLE gpureg_bench_float8 SET (parallel_workers = :workers);
ALTER TABLE gpureg_bench_float4 SET (parallel_workers = :workers);
ALTER TABLE gpureg_bench_wide SET (parallel_workers = :workers);
\endif
SELECT pg_temp.warm('{gpureg_bench_float8,gpureg_bench_float4,gpureg_bench_wide}') \g /dev/null

-- The yardstick of each form, and the fit on each device.
CREATE FUNCTION pg_temp.array_cases(name text, what text, yardstick text, elements text) RETURNS void LANGUAGE sql AS $$
    INSERT INTO cases (bench, query) VALUES (yardstick, format('SELECT %s FROM gpureg_bench_%s', elements, name));
    INSERT INTO cases (bench, query, settings, yardstick)
    SELECT 'gpu_ols_fit, ' || what, format('SELECT gpu_ols_fit(''SELECT y, x FROM gpureg_bench_%s'')', name),
           jsonb_build_object('gpureg.device', device), yardstick FROM unnest('{auto,gpu,cpu}'::text[]) device;
$$;
SELECT pg_temp.array_cases('float8', '100-element float8[]', 'sum of the first and the last of 100 float8',
    'sum(x[1]), sum(x[100])'),
       pg_temp.run_cases(5) \g /dev/null
SELECT pg_temp.lines('arrays', :array_rows, 100);
SELECT pg_temp.auto_lines(:array_rows, 100);
SELECT pg_temp.array_cases('float4', '100-element float4[]', 'sum of the first and the last of 100 float4',
    'sum(x[1]), sum(x[100])'),
       pg_temp.run_cases(5) \g /dev/null
SELECT pg_temp.lines('arrays', :array_rows, 100);
SELECT pg_temp.auto_lines(:array_rows, 100);
-- one element only, as each would fetch the array again
SELECT pg_temp.array_cases('wide', '1,000-element float8[]', 'sum of the last of 1,000 float8', 'sum(x[1000])'),
       pg_temp.run_cases(5) \g /dev/null
SELECT pg_temp.lines('arrays', :wide_rows, 1000);
SELECT pg_temp.auto_lines(:wide_rows, 1000);
DROP TABLE gpureg_bench_float8, gpureg_bench_float4, gpureg_bench_wide;
