-- One fit over all GPUs of the machine (gpureg.gpu_id = -2) beside one on the first: from the table, of kept rows, and
-- an iteration of Newton's method alone. A session opens GPUs anew when gpureg.gpu_id changes, so the runs aren't taken
-- in turn: an untimed one, then three. Leaves nothing. Variables: rows, workers; device (default gpu; cpu tries the
-- script out).
\ir common.sql
\if :{?device}
\else
\set device gpu
\endif
SELECT setseed(0.25) \g /dev/null
DROP TABLE IF EXISTS gpureg_bench_devices;
SELECT string_agg(format('random() AS x%s', j), ', ' ORDER BY j) AS made, string_agg('x' || j, ', ' ORDER BY j) AS xs,
       string_agg('x' || j, ' + ' ORDER BY j) AS sum
FROM generate_series(1, 32) j \gset
-- ten times a tenth of the rows, with other responses
CREATE UNLOGGED TABLE gpureg_bench_devices AS
SELECT x1 + x2 - x3 + random() AS y, r.*, 10.0::float8 * (id - 1) + k AS key, x1 + x2 + random() > 1.5 AS won
FROM (SELECT :made, id FROM generate_series(1, :rows / 10) id OFFSET 0) r, generate_series(1, 10) k;
VACUUM (ANALYZE, FREEZE) gpureg_bench_devices;
\if :workers_given
ALTER TABLE gpureg_bench_devices SET (parallel_workers = :workers);
\endif
SELECT pg_temp.warm('{gpureg_bench_devices}') \g /dev/null

-- Medians of runs on one GPU or all: of the statement, and of an iteration after the rows have come.
CREATE FUNCTION pg_temp.medians_of(query text, nruns int, OUT ran_on text, OUT seconds float8,
                                   OUT iteration_seconds float8)
LANGUAGE plpgsql AS $$
DECLARE
    statements float8[] := '{}';
    iterations float8[] := '{}';
    started timestamptz;
    niterations bigint;
    r record;
BEGIN
    FOR run IN 0..nruns LOOP
        started := clock_timestamp();
        EXECUTE query INTO niterations;
        SELECT l.*, extract(epoch FROM clock_timestamp() - started) AS taken INTO r FROM gpu_last_run() l;
        IF run > 0 THEN
            statements := statements || r.taken;
            iterations := iterations || r.solve_seconds / greatest(niterations, 1);
        END IF;
    END LOOP;
    ran_on := r.device;
    SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY s) INTO seconds FROM unnest(statements) s;
    SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY s) INTO iteration_seconds FROM unnest(iterations) s;
END
$$;
SET gpureg.device = :device;
CREATE TEMP TABLE statements (nr int GENERATED ALWAYS AS IDENTITY, what text, query text, at_most float8,
                              iterates boolean);
INSERT INTO statements (what, query, at_most, iterates) VALUES
    ('gpu_ols_fit, from the table', format($$SELECT 1 FROM gpu_ols_fit('SELECT y, %s FROM gpureg_bench_devices')$$,
                                           :'xs'), 1, false),
    ('gpu_logreg_fit, from the table', format($$SELECT iterations FROM gpu_logreg_fit('SELECT won, %s FROM
        gpureg_bench_devices')$$, :'xs'), 1, true),
    ('gpu_keep', format($$SELECT gpu_keep('gpureg_bench_devices', 'SELECT y, %s, key, won FROM gpureg_bench_devices',
        true)$$, :'xs'), 1, false),
    ('gpu_ols_fit, kept', format($$SELECT 1 FROM gpu_ols_fit(kept => 'gpureg_bench_devices', formula => 'y ~ %s')$$,
                                 :'sum'), 0.55, false),
    ('gpu_logreg_fit, kept', format($$SELECT iterations FROM gpu_logreg_fit(kept => 'gpureg_bench_devices',
        formula => 'won ~ %s')$$, :'sum'), 0.55, true),
    ('gpu_ols_boot, kept', format($$SELECT count(*) FROM gpu_ols_boot(kept => 'gpureg_bench_devices',
        formula => 'y ~ %s', key => 'key', reps => 1000)$$, :'sum'), 0.55, false);
CREATE TEMP TABLE fits (nr int, gpu_id int, ran_on text, seconds float8, iteration_seconds float8);
DO $$
DECLARE
    s statements;
    id int;
BEGIN
    FOREACH id IN ARRAY '{0,-2}'::int[] LOOP
        PERFORM set_config('gpureg.gpu_id', id::text, false);
        FOR s IN SELECT * FROM statements ORDER BY nr LOOP
            INSERT INTO fits SELECT s.nr, id, f.* FROM pg_temp.medians_of(s.query, 3) f;
        END LOOP;
    END LOOP;
END
$$;
SELECT gpu_forget('gpureg_bench_devices') \g /dev/null
CREATE TEMP TABLE lines AS
SELECT 2 * s.nr AS nr, s.what, f.gpu_id, f.ran_on, f.seconds, s.at_most FROM fits f JOIN statements s USING (nr)
UNION ALL
SELECT 2 * s.nr + 1, 'a Newton iteration of ' || s.what, f.gpu_id, f.ran_on, f.iteration_seconds, 0.55
FROM fits f JOIN statements s USING (nr) WHERE s.iterates;
SELECT json_strip_nulls(json_build_object(
    'section', 'devices', 'bench', what || CASE gpu_id WHEN 0 THEN ', one GPU' ELSE ', all GPUs' END, 'rows', :rows,
    'features', 32, 'device', :'device', 'workers', current_setting('max_parallel_workers_per_gather')::int,
    'ran_on', ran_on, 'seconds', pg_temp.short(seconds), 'runs', 3,
    'yardstick', CASE WHEN gpu_id <> 0 THEN what || ', one GPU' END,
    'yardstick_seconds', CASE WHEN gpu_id <> 0 THEN pg_temp.short(one) END,
    'ratio', CASE WHEN gpu_id <> 0 THEN pg_temp.short(seconds / one) END,
    'ratio_at_most', CASE WHEN gpu_id <> 0 AND ran_on LIKE '%: 2 x %' THEN at_most WHEN gpu_id <> 0 THEN 1 END))
FROM (SELECT *, first_value(seconds) OVER (PARTITION BY nr ORDER BY gpu_id DESC) AS one FROM lines) l
ORDER BY nr, gpu_id DESC;
DROP TABLE gpureg_bench_devices;
