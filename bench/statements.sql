-- Whole statements over gpureg_bench (rows.sql) beside the sums of the same columns, in one session: linear and
-- logistic regression on each device, as functions of a query and as aggregates.
\ir common.sql
INSERT INTO cases (bench, query) VALUES
    ('sums of 9 columns', 'SELECT sum(x1), sum(x2), sum(x3), sum(x4), sum(x5), sum(x6), sum(x7), sum(x8), sum(y) FROM '
        'gpureg_bench');
INSERT INTO cases (bench, query, settings, yardstick, at_most)
SELECT format('gpu_%s_fit', f),
    format('SELECT gpu_%s_fit(''SELECT y, x1, x2, x3, x4, x5, x6, x7, x8 FROM gpureg_bench'')', f),
       jsonb_build_object('gpureg.device', device), 'sums of 9 columns', at_most
FROM (VALUES ('ols', 'auto', 1.0), ('ols', 'gpu', NULL), ('ols', 'cpu', NULL), ('logreg', 'auto', NULL),
    ('logreg', 'gpu', 1.5),
             ('logreg', 'cpu', 8.0)) v (f, device, at_most);
INSERT INTO cases (bench, query, settings, yardstick) VALUES
    ('gpu_ols_agg', 'SELECT gpu_ols_agg(y, x1, x2, x3, x4, x5, x6, x7, x8) FROM gpureg_bench', '{}',
        'sums of 9 columns'),
    ('gpu_logreg_step_agg, one step',
     'SELECT gpu_logreg_step_agg(''{0,1,-2,1,-1,0.5,-1,0.3,0}'', y, x1, x2, x3, x4, x5, x6, x7, x8) FROM gpureg_bench',
     '{}',
     'sums of 9 columns');
INSERT INTO cases (bench, query, yardstick, ours) VALUES
    ('gpu_ols_agg, 1 feature', 'SELECT gpu_ols_agg(y, x1) FROM gpureg_bench', 'sums of 9 columns', NULL),
    ('regr_slope and regr_intercept, 1 feature', 'SELECT regr_slope(y, x1), regr_intercept(y, x1) FROM gpureg_bench',
        NULL,
     'gpu_ols_agg, 1 feature');
SELECT pg_temp.run_cases(5) \g /dev/null
SELECT pg_temp.lines('statements', :rows, 8);
SELECT pg_temp.auto_lines(:rows, 8);
