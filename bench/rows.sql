-- Creates the table gpureg_bench with the variable rows of 8 float8 and a response of 0 and 1, for linear and logistic
-- regression. It is unlogged, so that parallel workers may read it and nothing else is written; frozen and in shared
-- buffers. Variables: rows, workers.
\ir common.sql
SELECT setseed(0.5) \g /dev/null
DROP TABLE IF EXISTS gpureg_bench;
CREATE UNLOGGED TABLE gpureg_bench AS
SELECT x1, x2, x3, x4, x5, x6, x7, x8,
       (u < 1 / (1 + exp(-(0.5 + x1 - 2 * x2 + x3 - x4 + 0.5 * x5 - x6 + 0.3 * x7))))::int::float8 AS y
FROM (SELECT random() AS x1, random() AS x2, random() AS x3, random() AS x4, random() AS x5, random() AS x6,
    random() AS x7,
             random() AS x8, random() AS u FROM generate_series(1, :rows)) r;
VACUUM (ANALYZE, FREEZE) gpureg_bench;
\if :workers_given
ALTER TABLE gpureg_bench SET (parallel_workers = :workers);
\endif
SELECT pg_temp.warm('{gpureg_bench}') \g /dev/null
