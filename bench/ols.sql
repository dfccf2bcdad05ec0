-- Linear regression beside the sums of the same columns and beside regr_slope, in one session. Leaves the table gpureg_bench.
\ir common.sql
DROP TABLE IF EXISTS gpureg_bench;
-- a table that parallel workers may read
CREATE UNLOGGED TABLE gpureg_bench AS
SELECT random() AS x1, random() AS x2, random() AS x3, random() AS x4, random() AS x5, random() AS x6, random() AS x7, random() AS x8,
       random() AS y FROM generate_series(1, :rows);
VACUUM (ANALYZE, FREEZE) gpureg_bench;

SELECT * FROM pg_temp.report(
    ARRAY['sums of 9 columns', 'gpu_ols_agg, 8 features', 'gpu_ols_fit, 8 features', 'regr_slope, 1 feature', 'gpu_ols_agg, 1 feature'],
    ARRAY['SELECT sum(x1), sum(x2), sum(x3), sum(x4), sum(x5), sum(x6), sum(x7), sum(x8), sum(y) FROM gpureg_bench',
          'SELECT gpu_ols_agg(y, x1, x2, x3, x4, x5, x6, x7, x8) FROM gpureg_bench',
          'SELECT gpu_ols_fit(''SELECT y, x1, x2, x3, x4, x5, x6, x7, x8 FROM gpureg_bench'')',
          'SELECT regr_slope(y, x1), regr_intercept(y, x1) FROM gpureg_bench',
          'SELECT gpu_ols_agg(y, x1) FROM gpureg_bench']);
