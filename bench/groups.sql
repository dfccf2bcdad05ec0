-- 10,000 groups with a model each, beside PostgreSQL's own aggregates with the same GROUP BY: sums of the columns, a
-- regression on each single column, and the sums of products that normal equations need. Takes a tenth of the variable
-- rows. Leaves nothing.
\ir common.sql
SELECT greatest(:rows / 10, 100000) AS group_rows \gset
SELECT setseed(0.5) \g /dev/null
DROP TABLE IF EXISTS gpureg_bench_groups;
CREATE UNLOGGED TABLE gpureg_bench_groups AS
SELECT floor(random() * 10000)::int AS g, random() AS x1, random() AS x2, random() AS x3, random() AS x4,
    random() AS x5, random() AS x6,
       random() AS x7, random() AS x8, random() AS y FROM generate_series(1, :group_rows);
VACUUM (ANALYZE, FREEZE) gpureg_bench_groups;
\if :workers_given
ALTER TABLE gpureg_bench_groups SET (parallel_workers = :workers);
\endif
SELECT pg_temp.warm('{gpureg_bench_groups}') \g /dev/null

INSERT INTO cases (bench, query, yardstick, ours)
SELECT bench, format('SELECT g, %s FROM gpureg_bench_groups GROUP BY g', what),
       CASE WHEN bench ~ '^gpu' THEN 'sums of 9 columns, 10,000 groups' END,
       CASE WHEN bench !~ '^(gpu|sums of 9)' THEN 'gpu_ols_agg, 10,000 groups' END
FROM (VALUES ('sums of 9 columns, 10,000 groups',
    'sum(x1), sum(x2), sum(x3), sum(x4), sum(x5), sum(x6), sum(x7), sum(x8), sum(y)'),
             ('gpu_ols_agg, 10,000 groups', '(gpu_ols_agg(y, x1, x2, x3, x4, x5, x6, x7, x8)).coef'),
             ('regr_slope and regr_intercept on each of 8 columns, 10,000 groups',
              (SELECT string_agg(format('regr_slope(y, x%s), regr_intercept(y, x%1$s)', i), ', ')
                  FROM generate_series(1, 8) i)),
             ('sums of all 54 products and columns, 10,000 groups',
              pg_temp.sums_and_products('{x1,x2,x3,x4,x5,x6,x7,x8,y}'))) v (bench, what);
SELECT pg_temp.run_cases(5) \g /dev/null
SELECT pg_temp.lines('groups', :group_rows, 8);
DROP TABLE gpureg_bench_groups;
