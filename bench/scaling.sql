-- Rows per second of gpureg_bench (rows.sql) by the number of parallel workers, up to the variable workers. The
-- session's own process reads rows besides the workers, so linear scaling is by processes, one more than workers,
-- relative to one process without workers.
\ir common.sql
INSERT INTO cases (bench, query, settings)
SELECT bench, query, jsonb_build_object('gpureg.device', device, 'max_parallel_workers_per_gather', w)
FROM (VALUES ('sums of 9 columns', 'auto',
              'SELECT sum(x1), sum(x2), sum(x3), sum(x4), sum(x5), sum(x6), sum(x7), sum(x8), sum(y) FROM '
                  'gpureg_bench'),
             ('gpu_ols_fit', 'gpu', 'SELECT gpu_ols_fit(''SELECT y, x1, x2, x3, x4, x5, x6, x7, x8 FROM '
                 'gpureg_bench'')'),
             ('gpu_ols_fit', 'cpu', 'SELECT gpu_ols_fit(''SELECT y, x1, x2, x3, x4, x5, x6, x7, x8 FROM '
                 'gpureg_bench'')'))
         q (bench, device, query),
     (SELECT w FROM unnest('{0,1,2,4,8,16,32}'::int[]) w WHERE w < :workers UNION SELECT greatest(:workers, 0)) n (w)
ORDER BY w, bench DESC;
SELECT pg_temp.run_cases(5) \g /dev/null
UPDATE results SET device = NULL WHERE bench = 'sums of 9 columns';
SELECT json_strip_nulls(json_build_object(
    'section', 'scaling', 'bench', r.bench, 'rows', :rows, 'features', 8, 'device', r.device, 'workers', r.workers,
    'ran_on', r.ran_on,
    'ran_with_workers', r.ran_with, 'seconds', pg_temp.short(r.seconds), 'fastest', pg_temp.short(r.fastest),
    'slowest', pg_temp.short(r.slowest), 'runs', r.runs, 'rows_per_second', round(:rows / r.seconds),
    'linear_rows_per_second', round((r.workers + 1) * :rows / one.seconds),
    'share_of_linear', pg_temp.short(one.seconds / r.seconds / (r.workers + 1)),
    'share_of_linear_at_least', CASE WHEN r.workers = 8 AND r.device = 'gpu' THEN 0.7 END, 'not_run', r.not_run))
FROM results r LEFT JOIN results one ON one.bench = r.bench AND one.device IS NOT DISTINCT FROM r.device
    AND one.workers = 0
ORDER BY r.nr;
