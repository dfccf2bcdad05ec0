-- gpureg.device = auto on small tables, where a wrong choice costs most, in a session that has its device open; the
-- other scripts report larger tables. Leaves nothing.
\ir common.sql
SELECT setseed(0.5) \g /dev/null
DROP TABLE IF EXISTS gpureg_bench_1k, gpureg_bench_100k;
CREATE UNLOGGED TABLE gpureg_bench_100k AS
SELECT random() AS x1, random() AS x2, random() AS x3, random() AS x4, random() AS x5, random() AS x6, random() AS x7,
    random() AS x8,
       (random() < 0.5)::int::float8 AS y FROM generate_series(1, 100000);
CREATE UNLOGGED TABLE gpureg_bench_1k AS SELECT * FROM gpureg_bench_100k LIMIT 1000;
VACUUM (ANALYZE, FREEZE) gpureg_bench_1k, gpureg_bench_100k;

CREATE FUNCTION pg_temp.auto_cases(name text) RETURNS void LANGUAGE sql AS $$
    INSERT INTO cases (bench, query, settings)
    SELECT f, format('SELECT %s(''SELECT y, x1, x2, x3, x4, x5, x6, x7, x8 FROM gpureg_bench_%s'')', f, name),
           jsonb_build_object('gpureg.device', device)
    FROM unnest('{gpu_ols_fit,gpu_logreg_fit}'::text[]) f, unnest('{gpu,cpu,auto}'::text[]) device
$$;
SELECT pg_temp.auto_cases('1k'), pg_temp.run_cases(51) \g /dev/null
SELECT pg_temp.lines('auto', 1000, 8);
SELECT pg_temp.auto_lines(1000, 8);
SELECT pg_temp.auto_cases('100k'), pg_temp.run_cases(11) \g /dev/null
SELECT pg_temp.lines('auto', 100000, 8);
SELECT pg_temp.auto_lines(100000, 8);
DROP TABLE gpureg_bench_1k, gpureg_bench_100k;
