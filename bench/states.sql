-- Fits to stored states: elastic nets, clusters, the wild bootstrap, best subsets, two-stage least squares, rolling
-- windows. Leaves the tables gpureg_bench_states_{rows,wide,clusters,series} and gpureg_bench_states. Variables: rows
-- (ignored: each case has its size), workers.
\ir common.sql
SELECT setseed(0.5) \g /dev/null
SET gpureg.device = cpu;
DROP TABLE IF EXISTS gpureg_bench_states_rows, gpureg_bench_states_wide, gpureg_bench_states_clusters,
    gpureg_bench_states_series, gpureg_bench_states;

-- 100,000 rows of 100 columns with correlations of a half: one draw for all columns, and one for each; some columns are
-- in the response
CREATE UNLOGGED TABLE gpureg_bench_states_rows AS
SELECT i % 10 AS fold, x[1] - x[2] + 0.5 * x[3] - 0.25 * x[7] + 3 * random() AS y, x
FROM (SELECT i, ARRAY(SELECT (all_of + random()) / 2 FROM generate_series(1, 100) j WHERE i > 0) AS x
      FROM (SELECT i, random() AS all_of FROM generate_series(1, 100000) i OFFSET 0) a OFFSET 0) b;
-- 5,000 rows of 1,000 columns
CREATE UNLOGGED TABLE gpureg_bench_states_wide AS
SELECT x[1] - x[2] + 0.5 * x[3] - 0.25 * x[7] + 3 * random() AS y, x
FROM (SELECT i, ARRAY(SELECT (all_of + random()) / 2 FROM generate_series(1, 1000) j WHERE i > 0) AS x
      FROM (SELECT i, random() AS all_of FROM generate_series(1, 5000) i OFFSET 0) a OFFSET 0) b;
-- a million rows of 8 columns in 100,000 clusters
CREATE UNLOGGED TABLE gpureg_bench_states_clusters AS
SELECT i / 10 AS firm, x1 - x2 + u + random() AS y, x1 + u AS x1, x2, x3, x4, x5, x6, x7, x8
FROM (SELECT i, random() AS x1, random() AS x2, random() AS x3, random() AS x4, random() AS x5, random() AS x6,
             random() AS x7, random() AS x8, sin(i / 10) AS u FROM generate_series(0, 999999) i OFFSET 0) r;
CREATE UNLOGGED TABLE gpureg_bench_states_series AS
SELECT i AS t, sin(i / 100.0) * x1 + x2 + random() AS y, x1, x2, x3, x4
FROM (SELECT i, random() AS x1, random() AS x2, random() AS x3, random() AS x4
      FROM generate_series(1, 1000000) i OFFSET 0) r;

CREATE UNLOGGED TABLE gpureg_bench_states (name text, part int, s gpu_ols_stats);
INSERT INTO gpureg_bench_states
SELECT 'p = ' || p, 0, gpu_ols_stats_array_agg(y, x[1:p])
FROM gpureg_bench_states_rows, unnest('{8,30,32,100}'::int[]) p GROUP BY p;
INSERT INTO gpureg_bench_states SELECT 'p = 1000', 0, gpu_ols_stats_array_agg(y, x) FROM gpureg_bench_states_wide;
INSERT INTO gpureg_bench_states
SELECT 'folds', fold, gpu_ols_stats_array_agg(y, x[1:32]) FROM gpureg_bench_states_rows GROUP BY fold;
INSERT INTO gpureg_bench_states
SELECT 'firms', firm, gpu_ols_stats_agg(y, x1, x2, x3, x4, x5, x6, x7, x8)
FROM gpureg_bench_states_clusters GROUP BY firm;
INSERT INTO gpureg_bench_states
SELECT 'thousand', firm % 1000, gpu_ols_rollup(s) FROM (SELECT part AS firm, s FROM gpureg_bench_states
                                                         WHERE name = 'firms') f GROUP BY 1, 2;
CREATE INDEX ON gpureg_bench_states (name);
VACUUM (ANALYZE) gpureg_bench_states;
VACUUM (ANALYZE) gpureg_bench_states_rows;
VACUUM (ANALYZE) gpureg_bench_states_clusters;
VACUUM (ANALYZE) gpureg_bench_states_series;
SELECT pg_temp.warm('{gpureg_bench_states,gpureg_bench_states_rows,gpureg_bench_states_clusters,'
                    'gpureg_bench_states_series}') \g /dev/null

SET max_parallel_workers_per_gather = 0;
CREATE FUNCTION pg_temp.add_case(bench text, query text, yardstick text DEFAULT NULL) RETURNS void LANGUAGE sql AS
    $$INSERT INTO cases (bench, query, yardstick) VALUES (bench, query, yardstick)$$;
-- reading the states alone
SELECT pg_temp.add_case('reading the state, p = ' || p, format('SELECT gpu_ols_names(s) FROM gpureg_bench_states '
                        'WHERE name = %L', 'p = ' || p)) FROM unnest('{8,32,100,1000}'::int[]) p \g /dev/null
SELECT pg_temp.add_case('gpu_enet_path, 100 lambdas, p = ' || p,
                        format('SELECT count(*) FROM gpureg_bench_states, gpu_enet_path(s) WHERE name = %L',
                               'p = ' || p),
                        'reading the state, p = ' || p) FROM unnest('{8,32,100,1000}'::int[]) p \g /dev/null
SELECT pg_temp.add_case('gpu_enet_path, 100 lambdas, alpha 0.5, p = 100',
                        'SELECT count(*) FROM gpureg_bench_states, gpu_enet_path(s, 0.5) WHERE name = ''p = 100''')
\g /dev/null
SELECT pg_temp.add_case('gpu_enet_cv_agg, 10 folds, p = 32',
                        'SELECT (gpu_enet_cv_agg(s)).lambda_min FROM gpureg_bench_states WHERE name = ''folds''')
\g /dev/null
-- logistic nets over the rows themselves
SELECT pg_temp.add_case(format('gpu_logreg_fit, 100,000 rows of %s', p),
                        format('SELECT gpu_logreg_fit(''SELECT y > 0 AS y, x[1:%s] AS x '
                               'FROM gpureg_bench_states_rows'')', p)) FROM unnest('{8,32}'::int[]) p \g /dev/null
SELECT pg_temp.add_case(format('gpu_enet_path, binomial, 100,000 rows of %s', p),
                        format('SELECT count(*) FROM gpu_enet_path(''SELECT y > 0 AS y, x[1:%s] AS x '
                               'FROM gpureg_bench_states_rows'', family => ''binomial'')', p),
                        format('gpu_logreg_fit, 100,000 rows of %s', p)) FROM unnest('{8,32}'::int[]) p \g /dev/null
SELECT pg_temp.add_case('gpu_enet_cv, binomial, 10 folds, 100,000 rows of 8',
                        'SELECT (gpu_enet_cv(''SELECT y > 0 AS y, x[1:8] AS x FROM gpureg_bench_states_rows'', '
                        'family => ''binomial'')).lambda_min') \g /dev/null
SELECT pg_temp.add_case('reading 100,000 states of 8',
                        'SELECT count(gpu_ols_names(s)) FROM gpureg_bench_states WHERE name = ''firms''') \g /dev/null
SELECT pg_temp.add_case('gpu_ols_rollup, 100,000 states of 8',
                        'SELECT gpu_ols_solve(gpu_ols_rollup(s)) FROM gpureg_bench_states WHERE name = ''firms''')
\g /dev/null
SELECT pg_temp.add_case(format('gpu_ols_cluster_agg, %s, 100,000 clusters of 8', v),
                        format('SELECT gpu_ols_cluster_agg(s, %L) FROM gpureg_bench_states WHERE name = ''firms''', v),
                        'gpu_ols_rollup, 100,000 states of 8') FROM unnest('{CR1,CR3}'::text[]) v \g /dev/null
SELECT pg_temp.add_case('gpu_wild_boot_agg, 99,999 draws, 1,000 clusters of 8',
                        'SELECT gpu_wild_boot_agg(s, ''x1'', 99999) FROM gpureg_bench_states WHERE name = ''thousand''')
\g /dev/null
SELECT pg_temp.add_case('gpu_ols_select, best subsets, p = 30',
                        'SELECT count(*) FROM gpureg_bench_states, gpu_ols_select(s, ''bic'', ''best'') '
                        'WHERE name = ''p = 30''') \g /dev/null
SELECT pg_temp.add_case('gpu_iv_solve, p = 8',
                        'SELECT gpu_iv_solve(s, ''{1}'', ''{7,8}'') FROM gpureg_bench_states WHERE name = ''p = 8''')
\g /dev/null
SELECT pg_temp.add_case('gpu_ols_rolling, 1,000,000 rows of 4, windows of 250',
                        'SELECT count(*) FROM gpu_ols_rolling(''SELECT y, x1, x2, x3, x4 FROM '
                        'gpureg_bench_states_series ORDER BY t'', 250)') \g /dev/null
SELECT pg_temp.run_cases(5) \g /dev/null
SELECT pg_temp.lines('states', NULL, NULL);
