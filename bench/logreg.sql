-- Logistic regression beside the sums of the same columns, in one session: with the rows in a temporary file or read again once a pass,
-- as gpu_logreg_fit chooses, with the rows in memory, and as aggregates. Leaves the table gpureg_bench.
\ir common.sql
DROP TABLE IF EXISTS gpureg_bench;
CREATE UNLOGGED TABLE gpureg_bench AS
SELECT x1, x2, x3, x4, x5, x6, x7, x8,
       (u < 1 / (1 + exp(-(0.5 + x1 - 2 * x2 + x3 - x4 + 0.5 * x5 - x6 + 0.3 * x7))))::int::float8 AS y
FROM (SELECT random() AS x1, random() AS x2, random() AS x3, random() AS x4, random() AS x5, random() AS x6, random() AS x7,
             random() AS x8, random() AS u FROM generate_series(1, :rows)) r;
VACUUM (ANALYZE, FREEZE) gpureg_bench;

SELECT * FROM pg_temp.report(
    ARRAY['sums of 9 columns', 'gpu_logreg_fit, 8 features', 'gpu_logreg_step_agg, 8 features, one step'],
    ARRAY['SELECT sum(x1), sum(x2), sum(x3), sum(x4), sum(x5), sum(x6), sum(x7), sum(x8), sum(y) FROM gpureg_bench',
          'SELECT gpu_logreg_fit(''SELECT y, x1, x2, x3, x4, x5, x6, x7, x8 FROM gpureg_bench'')',
          'SELECT gpu_logreg_step_agg(''{0,1,-2,1,-1,0.5,-1,0.3,0}'', y, x1, x2, x3, x4, x5, x6, x7, x8) FROM gpureg_bench']);
SELECT json_build_object('last run', reason) FROM gpu_last_run();
SET gpureg.ring_size = '1GB';
SELECT * FROM pg_temp.report(
    ARRAY['sums of 9 columns', 'gpu_logreg_fit, 8 features, gpureg.ring_size = 1GB'],
    ARRAY['SELECT sum(x1), sum(x2), sum(x3), sum(x4), sum(x5), sum(x6), sum(x7), sum(x8), sum(y) FROM gpureg_bench',
          'SELECT gpu_logreg_fit(''SELECT y, x1, x2, x3, x4, x5, x6, x7, x8 FROM gpureg_bench'')']);

-- on the GPU, where there is one
SELECT count(*) > 0 AS has_gpu FROM gpu_devices() \gset
\if :has_gpu
SET gpureg.device = gpu;
SELECT * FROM pg_temp.report(
    ARRAY['sums of 9 columns', 'gpu_logreg_fit, 8 features'],
    ARRAY['SELECT sum(x1), sum(x2), sum(x3), sum(x4), sum(x5), sum(x6), sum(x7), sum(x8), sum(y) FROM gpureg_bench',
          'SELECT gpu_logreg_fit(''SELECT y, x1, x2, x3, x4, x5, x6, x7, x8 FROM gpureg_bench'')']);
SELECT json_build_object('last run', device, 'copy_seconds', round(copy_seconds::numeric, 4), 'kernel_seconds', round(kernel_seconds::numeric, 4),
                         'read_seconds', round(read_seconds::numeric, 4), 'total_seconds', round(total_seconds::numeric, 4))
FROM gpu_last_run();
\endif
