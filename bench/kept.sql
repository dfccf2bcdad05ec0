-- Fits to rows kept in a device service, beside fits from the table; and elastic nets, cross-validation, bootstraps and
-- permutation tests of kept rows with a key alone. Leaves nothing. Variables: rows, workers; device (default gpu; cpu
-- tries the script out).
\ir common.sql
\if :{?device}
\else
\set device gpu
\endif
SELECT setseed(0.25) \g /dev/null
DROP TABLE IF EXISTS gpureg_bench_kept;
CREATE UNLOGGED TABLE gpureg_bench_kept AS
SELECT x1 + x2 - x3 + random() AS y, r.*, x1 + x2 + random() > 1.5 AS won,
       (ARRAY['a', 'b', 'c', 'd'])[1 + (4 * random())::int % 4] AS g
FROM (SELECT random() AS x1, random() AS x2, random() AS x3, random() AS x4, random() AS x5, random() AS x6,
             random() AS x7, random() AS x8 FROM generate_series(1, :rows) OFFSET 0) r;
VACUUM (ANALYZE, FREEZE) gpureg_bench_kept;
\if :workers_given
ALTER TABLE gpureg_bench_kept SET (parallel_workers = :workers);
\endif
SELECT pg_temp.warm('{gpureg_bench_kept}') \g /dev/null
SET gpureg.device = :device;
-- without a service, each case reports that
DO $$
BEGIN
    PERFORM gpu_keep('gpureg_bench', 'TABLE gpureg_bench_kept', true);
EXCEPTION WHEN OTHERS THEN
    RAISE WARNING '%', SQLERRM;
END
$$;

CREATE FUNCTION pg_temp.add_fit(bench text, fit text, arguments text, filter text DEFAULT NULL) RETURNS void
LANGUAGE sql AS $$
    INSERT INTO cases (bench, query, settings, yardstick)
    SELECT bench || ', ' || v.place, format('SELECT (%s(%s, %s)).n', fit, v.source, arguments),
           jsonb_build_object('gpureg.device', current_setting('gpureg.device')),
           CASE v.place WHEN 'kept' THEN bench || ', from the table' END
    FROM (VALUES (1, 'from the table',
                  format('query => %L', 'SELECT * FROM gpureg_bench_kept' || coalesce(' WHERE ' || filter, ''))),
                 (2, 'kept', 'kept => ''gpureg_bench''' || coalesce(format(', rows => %L', filter), '')))
         v (nr, place, source)
    ORDER BY v.nr
$$;
\set eight 'x1 + x2 + x3 + x4 + x5 + x6 + x7 + x8'
SELECT pg_temp.add_fit('gpu_ols_fit', 'gpu_ols_fit', format('formula => %L', 'y ~ ' || :'eight')) \g /dev/null
SELECT pg_temp.add_fit('gpu_ols_fit, 3 of 8', 'gpu_ols_fit', 'formula => ''y ~ x2 + x4 + x7''') \g /dev/null
SELECT pg_temp.add_fit('gpu_ols_fit, a factor', 'gpu_ols_fit', 'formula => ''y ~ x1 + x2 + g''') \g /dev/null
SELECT pg_temp.add_fit('gpu_ols_fit, half of the rows', 'gpu_ols_fit', format('formula => %L', 'y ~ ' || :'eight'),
                       'x1 > 0.5') \g /dev/null
SELECT pg_temp.add_fit('gpu_ols_fit, HC3', 'gpu_ols_fit', format('formula => %L, vcov => ''HC3''', 'y ~ ' || :'eight'))
\g /dev/null
SELECT pg_temp.add_fit('gpu_logreg_fit', 'gpu_logreg_fit', format('formula => %L', 'won ~ ' || :'eight')) \g /dev/null

DO $$
BEGIN
    PERFORM gpu_keep('gpureg_bench_keyed',
                     'SELECT *, (row_number() OVER ())::float8 AS key FROM gpureg_bench_kept', true);
EXCEPTION WHEN OTHERS THEN
    RAISE WARNING '%', SQLERRM;
END
$$;
INSERT INTO cases (bench, query, settings)
SELECT bench || ', kept', format('SELECT count(*) FROM %s(kept => ''gpureg_bench_keyed'', %s, formula => %L)', function,
                                 arguments, response || ' ~ ' || :'eight'),
       jsonb_build_object('gpureg.device', :'device')
FROM (VALUES ('gpu_enet_path', 'gpu_enet_path', 'nlambda => 100', 'y'),
             ('gpu_enet_path, 100 lambdas', 'gpu_enet_path',
              'lambda => (SELECT array_agg(0.4 * 0.9 ^ k ORDER BY k) FROM generate_series(0, 99) k)', 'y'),
             ('gpu_enet_fit, 10 folds', 'gpu_enet_fit', 'folds => 10', 'y'),
             ('gpu_ols_cv, 10 folds', 'gpu_ols_cv', 'key => ''key''', 'y'),
             ('gpu_logreg_cv, 10 folds', 'gpu_logreg_cv', 'key => ''key''', 'won'),
             ('gpu_enet_path, logistic', 'gpu_enet_path', 'family => ''binomial''', 'won'),
             ('gpu_enet_fit, logistic, 10 folds', 'gpu_enet_fit', 'family => ''binomial''', 'won'),
             ('gpu_ols_boot, 1,000 replicates', 'gpu_ols_boot', 'key => ''key''', 'y'),
             ('gpu_logreg_boot, 1,000 replicates', 'gpu_logreg_boot', 'key => ''key''', 'won'),
             ('gpu_ols_permute, 999 permutations', 'gpu_ols_permute', 'key => ''key''', 'y'))
     v (bench, function, arguments, response);
SELECT pg_temp.run_cases(5) \g /dev/null
SELECT pg_temp.lines('kept', :rows, 8);
SELECT gpu_forget(name) FROM gpu_kept() WHERE name LIKE 'gpureg\_bench%' \g /dev/null
DROP TABLE gpureg_bench_kept;
