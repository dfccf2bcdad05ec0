-- One fit over all GPUs of the machine (gpureg.gpu_id = -2) beside the same on the first: from the table, and an
-- iteration of Newton's method over the rows that were kept. As a session opens GPUs anew when gpureg.gpu_id changes,
-- the runs aren't taken in turn: one that warms up, then three. Leaves nothing. Variables: rows, workers; device
-- (default gpu; cpu tries the script out).
\ir common.sql
\if :{?device}
\else
\set device gpu
\endif
SELECT setseed(0.25) \g /dev/null
DROP TABLE IF EXISTS gpureg_bench_devices;
SELECT string_agg(format('random() AS x%s', j), ', ' ORDER BY j) AS made, string_agg('x' || j, ', ' ORDER BY j) AS xs
FROM generate_series(1, 32) j \gset
CREATE UNLOGGED TABLE gpureg_bench_devices AS
SELECT x1 + x2 - x3 + random() AS y, x1 + x2 + random() > 1.5 AS won, r.*
FROM (SELECT :made FROM generate_series(1, :rows) OFFSET 0) r;
VACUUM (ANALYZE, FREEZE) gpureg_bench_devices;
\if :workers_given
ALTER TABLE gpureg_bench_devices SET (parallel_workers = :workers);
\endif
SELECT pg_temp.warm('{gpureg_bench_devices}') \g /dev/null

-- The medians of three fits on a GPU or all: the statement, and what an iteration takes after the rows are there.
CREATE FUNCTION pg_temp.fits(query text, gpu_id int, OUT ran_on text, OUT seconds float8, OUT iteration_seconds float8)
LANGUAGE plpgsql AS $$
DECLARE
    statements float8[] := '{}';
    iterations float8[] := '{}';
    m gpu_model;
    r record;
BEGIN
    PERFORM set_config('gpureg.gpu_id', gpu_id::text, false);
    FOR run IN 0..3 LOOP
        EXECUTE 'SELECT * FROM ' || query INTO m;
        SELECT * INTO r FROM gpu_last_run();
        IF run > 0 THEN
            statements := statements || r.total_seconds;
            iterations := iterations || r.solve_seconds / greatest(m.iterations, 1);
        END IF;
    END LOOP;
    ran_on := r.device;
    SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY s) INTO seconds FROM unnest(statements) s;
    SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY s) INTO iteration_seconds FROM unnest(iterations) s;
END
$$;
SET gpureg.device = :device;
CREATE TEMP TABLE fits AS
SELECT bench, gpu_id, f.*
FROM (VALUES (1, 'gpu_ols_fit', 'y'), (2, 'gpu_logreg_fit', 'won')) v (nr, bench, response),
     unnest('{0,-2}'::int[]) WITH ORDINALITY u (gpu_id, turn),
     LATERAL (SELECT * FROM pg_temp.fits(format('%s(''SELECT %s, %s FROM gpureg_bench_devices'')', bench, response,
                                                :'xs'), gpu_id) OFFSET 0) f
ORDER BY turn, nr;
CREATE TEMP TABLE compared AS
SELECT *, first_value(seconds) OVER own AS of_one, first_value(iteration_seconds) OVER own AS iteration_of_one
FROM fits WINDOW own AS (PARTITION BY bench ORDER BY gpu_id DESC);
SELECT json_strip_nulls(json_build_object(
    'section', 'devices', 'bench', what || CASE gpu_id WHEN 0 THEN ', one GPU' ELSE ', all GPUs' END, 'rows', :rows,
    'features', 32, 'device', :'device', 'workers', current_setting('max_parallel_workers_per_gather')::int,
    'ran_on', ran_on, 'seconds', pg_temp.short(taken), 'runs', 3,
    'yardstick', CASE WHEN gpu_id <> 0 THEN what || ', one GPU' END,
    'yardstick_seconds', CASE WHEN gpu_id <> 0 THEN pg_temp.short(one) END,
    'ratio', CASE WHEN gpu_id <> 0 THEN pg_temp.short(taken / one) END,
    'ratio_at_most', CASE WHEN gpu_id <> 0 AND ran_on LIKE '%: 2 x %' THEN at_most WHEN gpu_id <> 0 THEN 1 END))
FROM (SELECT bench || ', from the table' AS what, gpu_id, ran_on, seconds AS taken, of_one AS one, 1.0 AS at_most
      FROM compared
      UNION ALL
      SELECT 'a Newton iteration of ' || bench, gpu_id, ran_on, iteration_seconds, iteration_of_one, 0.55
      FROM compared WHERE bench = 'gpu_logreg_fit') l
ORDER BY what, gpu_id DESC;
DROP TABLE gpureg_bench_devices;
