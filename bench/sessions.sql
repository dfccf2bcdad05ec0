-- Tables for many small fits at once. Variables: rows, workers.
\ir common.sql
SELECT setseed(0.25) \g /dev/null
DROP TABLE IF EXISTS gpureg_bench_sessions;
CREATE UNLOGGED TABLE gpureg_bench_sessions AS
SELECT x1 + x2 + random() > 1.5 AS won, r.*
FROM (SELECT random() AS x1, random() AS x2, random() AS x3, random() AS x4, random() AS x5, random() AS x6,
             random() AS x7, random() AS x8 FROM generate_series(1, :rows) OFFSET 0) r;
VACUUM (ANALYZE, FREEZE) gpureg_bench_sessions;
DROP TABLE IF EXISTS gpureg_bench_few;
CREATE UNLOGGED TABLE gpureg_bench_few AS SELECT won, x1, x2, x3, x4 FROM gpureg_bench_sessions LIMIT 1000;
VACUUM (ANALYZE, FREEZE) gpureg_bench_few;
SELECT pg_temp.warm('{gpureg_bench_sessions,gpureg_bench_few}') \g /dev/null
