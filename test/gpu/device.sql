-- Tests that need a machine with a GPU; run after test/sql, in the same database. script/verify-gpu compares the output
-- with device.out.
\set VERBOSITY default
SET gpureg.device = gpu;
-- the session's own device: a service would keep memory, and report the free memory
SET gpureg.enable_service = off;
-- the GPU is used, and named
SELECT count(*) > 0 AS devices FROM gpu_devices();
SELECT (gpu_ols_fit('SELECT price, carat, depth, "table", x, y, z FROM diamonds')).device LIKE 'gpu _: %' AS on_gpu;
SELECT device LIKE 'gpu _: %' AS on_gpu, reason, rows, features, bytes_to_device = rows * (features + 1) * 8 AS bytes,
       copy_seconds > 0 AS copied, kernel_seconds > 0 AS computed FROM gpu_last_run();
SELECT cardinality(gpu_ols(array_agg(ARRAY[carat, depth]), array_agg(price))) FROM diamonds;
SELECT function, device LIKE 'gpu _: %' AS on_gpu FROM gpu_last_run();
-- fits must have the digits of the CPU's
CREATE FUNCTION both_devices(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
    on_gpu gpu_model;
    on_cpu gpu_model;
BEGIN
    PERFORM set_config('gpureg.device', 'gpu', true);
    on_gpu := gpu_ols_fit(query);
    PERFORM set_config('gpureg.device', 'cpu', true);
    on_cpu := gpu_ols_fit(query);
    PERFORM set_config('gpureg.device', 'gpu', true);
    ASSERT on_gpu.device <> on_cpu.device;
    RETURN greatest(relative_difference(on_gpu.coef, on_cpu.coef), abs(on_gpu.deviance - on_cpu.deviance) / greatest(on_cpu.deviance, 1e-300));
END
$$;
SELECT both_devices('SELECT price, carat, depth, "table", x, y, z FROM diamonds') < 1e-15 AS diamonds;
SELECT both_devices('TABLE diabetes') < 1e-15 AS diabetes;
SELECT dataset, both_devices(format('SELECT y, x FROM nist_rows WHERE dataset = %L', dataset)) < CASE dataset WHEN 'filip' THEN 1e-12 ELSE 1e-15 END AS same
FROM (SELECT DISTINCT dataset FROM nist_rows) d ORDER BY dataset;
SELECT both_devices('SELECT sin(i), cos(i), i, 1e6 + sin(2 * i) FROM generate_series(1, 500000) i') < 1e-15 AS half_a_million;
SELECT both_devices(format('SELECT sin(i * 0.1), ARRAY(SELECT sin(i * j + j) FROM generate_series(1, %s) j) FROM generate_series(1, 3000) i', p)) < 1e-13 AS many_features
FROM unnest(ARRAY[60, 150, 300, 600]) p;
-- a device that doesn't exist
SET gpureg.gpu_id = 99;
SELECT gpu_ols('{1,2,3}', '{3,5,7}');
\echo :LAST_ERROR_SQLSTATE
SET gpureg.device = auto;
SET gpureg.min_gpu_work = 0;
SELECT gpu_ols('{1,2,3}', '{3,5,7}');
SELECT device, reason LIKE 'no GPU: there is no CUDA device 99%' AS reason FROM gpu_last_run();
RESET gpureg.gpu_id;
-- auto uses the GPU for enough work, and reports the reason
SELECT gpu_ols('{1,2,3}', '{3,5,7}');
SELECT device LIKE 'gpu _: %' AS on_gpu, reason FROM gpu_last_run();
-- too little memory: auto uses the CPU and reports that, gpu is an error that names the bytes
SET gpureg.gpu_memory_limit = '1MB';
SELECT gpu_ols('{1,2,3}', '{3,5,7}');
SELECT device, reason ~ '^GPU memory: \d+ bytes are needed and 1048576 are free$' AS reason FROM gpu_last_run();
SET gpureg.device = gpu;
DO $$
BEGIN
    PERFORM gpu_ols('{1,2,3}', '{3,5,7}');
EXCEPTION WHEN out_of_memory THEN
    RAISE NOTICE '% %', SQLSTATE, SQLERRM;
END
$$;
RESET gpureg.gpu_memory_limit;
-- a fit inside a fit, also one that asks for another device
SELECT (gpu_ols_fit('SELECT (gpu_ols_fit(''VALUES (3, 1), (5, 2), (7, 3)'')).n + i, i FROM generate_series(1, 3) i')).coef;
SELECT (gpu_ols_fit('SELECT i + length(set_config(''gpureg.gpu_id'', (i % 2 - 1)::text, false)) * 0 + (gpu_ols(''{1,2,3}'', ''{3,5,7}''))[2], i FROM generate_series(1, 5) i')).coef;
RESET gpureg.gpu_id;
-- errors in the middle leave no device memory behind
SELECT gpu_ols('{1,2,3}', '{3,5,7}');
CREATE TEMP TABLE before AS SELECT max(memory_free) AS free FROM gpu_devices();
DO $$
BEGIN
    FOR i IN 1..50 LOOP
        BEGIN
            PERFORM gpu_ols_fit('SELECT i, 1 / (i - 100000) FROM generate_series(1, 200000) i');
        EXCEPTION WHEN division_by_zero THEN
            NULL;
        END;
        BEGIN
            PERFORM gpu_ols_fit('SELECT i, CASE i WHEN 100000 THEN ''NaN''::float8 ELSE i END FROM generate_series(1, 200000) i');
        EXCEPTION WHEN invalid_parameter_value THEN
            NULL;
        END;
    END LOOP;
END
$$;
SELECT max(memory_free) >= max(free) - 16 * 1024 * 1024 AS nothing_left_behind FROM gpu_devices(), before;
-- cancel in the middle, and on with it
SET statement_timeout = '1s';
SELECT gpu_ols_fit('SELECT i, i % 7 FROM generate_series(1, 2000000000) i');
\echo :LAST_ERROR_SQLSTATE
RESET statement_timeout;
SELECT gpu_ols('{1,2,3}', '{3,5,7}');
SELECT max(memory_free) >= max(free) - 16 * 1024 * 1024 AS nothing_left_behind FROM gpu_devices(), before;
-- logistic regression: the same digits as on the CPU, by each form
SET gpureg.device = gpu;
CREATE FUNCTION both_devices_logistic(query text, l2 float8 DEFAULT 0) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
    on_gpu gpu_model;
    on_cpu gpu_model;
BEGIN
    PERFORM set_config('gpureg.device', 'gpu', true);
    on_gpu := gpu_logreg_fit(query, l2 => l2);
    PERFORM set_config('gpureg.device', 'cpu', true);
    on_cpu := gpu_logreg_fit(query, l2 => l2);
    PERFORM set_config('gpureg.device', 'gpu', true);
    ASSERT on_gpu.device <> on_cpu.device AND on_gpu.converged AND on_cpu.converged;
    RETURN greatest(relative_difference(on_gpu.coef, on_cpu.coef), abs(on_gpu.deviance - on_cpu.deviance) / on_cpu.deviance,
        (SELECT max(abs(g.std_error / c.std_error - 1)) FROM gpu_tidy(on_gpu) g JOIN gpu_tidy(on_cpu) c USING (term)));
END
$$;
SELECT both_devices_logistic('SELECT cut = ''Ideal'', carat, depth, "table", x, y, z FROM diamonds') < 1e-12 AS diamonds;
SELECT both_devices_logistic('SELECT y, x0, x1, x4, x5, x8 FROM breast_cancer') < 1e-12 AS breast_cancer_5;
SELECT p, both_devices_logistic(format('SELECT sin(i) + sin(i * i) > 0, ARRAY(SELECT sin(i * j + j) FROM generate_series(1, %s) j) FROM generate_series(1, 20000) i', p)) < 1e-11 AS same
FROM unnest(ARRAY[1, 7, 8, 9, 16, 31, 32, 33, 70]) p;
SELECT both_devices_logistic('SELECT y, x0, x1, x4, x5, x8 FROM breast_cancer', 0.1) < 1e-12 AS penalised;
SELECT both_devices_logistic('SELECT i % 3 = 0 OR sin(i) > 0.5, cos(i), i, 1e6 + sin(2 * i) FROM generate_series(1, 500000) i') < 1e-11 AS half_a_million;
SELECT (gpu_logreg_fit('SELECT am, wt, hp FROM mtcars')).n;
SELECT function, bytes_to_device = rows * (features + 1) * 8 AS bytes, copy_seconds > 0 AS copied, kernel_seconds > 0 AS computed
FROM gpu_last_run();
SELECT (gpu_logreg_agg(am, wt, hp)).device LIKE 'gpu _: %' AS aggregate FROM mtcars;
SELECT relative_difference(gpu_logreg(array_agg(ARRAY[wt, hp]), array_agg(am)), (gpu_logreg_agg(am, wt, hp)).coef) < 1e-14 AS arrays FROM mtcars;
-- separation
SELECT cardinality((gpu_logreg_fit('TABLE breast_cancer')).separated) AS separated;
SELECT (m).separated, (m).converged FROM (SELECT gpu_logreg_fit('SELECT i % 10 = 0 OR sin(i * 1.7) + 2 * cos(i * 7.1) > 0, sin(i * 1.7), i % 10 = 0 AS z FROM generate_series(1, 500) i') AS m) t;
-- the other solvers
SELECT relative_difference((gpu_logreg_fit('SELECT am, wt - 3, hp FROM mtcars', solver => 'lbfgs', max_iter => 500)).coef,
    (gpu_logreg_fit('SELECT am, wt - 3, hp FROM mtcars')).coef) < 1e-8 AS lbfgs;
SET client_min_messages = error;
CREATE FUNCTION ascent_on(device text, query text, rate float8 DEFAULT 0.01) RETURNS float8[] LANGUAGE plpgsql AS $$
DECLARE
    m gpu_model;
BEGIN
    PERFORM set_config('gpureg.device', device, true);
    m := gpu_logreg_fit(query, solver => 'gd', max_iter => 1000, learning_rate => rate);
    PERFORM set_config('gpureg.device', 'gpu', true);
    RETURN m.coef;
END
$$;
SELECT relative_difference(ascent_on('gpu', 'SELECT am, wt - 3, qsec - 18 FROM mtcars'), ascent_on('cpu', 'SELECT am, wt - 3, qsec - 18 FROM mtcars')) < 1e-12 AS gd_float8;
SELECT relative_difference(ascent_on('gpu', 'SELECT am, (wt - 3)::real, (qsec - 18)::real FROM mtcars'),
    ascent_on('cpu', 'SELECT am, (wt - 3)::real, (qsec - 18)::real FROM mtcars')) < 1e-4 AS gd_float4;
-- more rows than float8 has registers for, but not float4; and more than either
SELECT relative_difference(ascent_on('gpu', q, 1e-4), ascent_on('cpu', q, 1e-4)) < 1e-4 AS gd_many
FROM (SELECT format('SELECT sin(i) + cos(i) / 2 + sin(i * i) > -0.3, sin(i)::real, cos(i)::real FROM generate_series(1, %s) i', n) AS q FROM unnest(ARRAY[6000, 20000]) n) t;
RESET client_min_messages;
-- rows that don't fit: auto goes on on the CPU and reports that, gpu is an error that names the bytes
SET gpureg.gpu_memory_limit = '100MB';
SET gpureg.ring_size = '1MB';
SET gpureg.device = auto;
SELECT (gpu_logreg_fit('SELECT i % 3 = 0, sin(i), cos(i), i, i % 7, i % 11, i % 13 FROM generate_series(1, 2000000) i')).device;
SELECT reason ~ '^GPU memory: \d+ bytes are needed and \d+ are free' AS reason FROM gpu_last_run();
SET gpureg.device = gpu;
DO $$
BEGIN
    PERFORM gpu_logreg_fit('SELECT i % 3 = 0, sin(i), cos(i), i, i % 7, i % 11, i % 13 FROM generate_series(1, 2000000) i');
EXCEPTION WHEN out_of_memory THEN
    RAISE NOTICE '% %', SQLSTATE, SQLERRM;
END
$$;
RESET gpureg.gpu_memory_limit;
RESET gpureg.ring_size;
-- a cancel between passes, and errors between rows, must leave nothing behind
SET statement_timeout = '1s';
SELECT gpu_logreg_fit('SELECT sin(i) > 0, cos(i), i % 7 FROM generate_series(1, 1000000000) i');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT sin(i) > 0, cos(i), i % 7 FROM generate_series(1, 100000) i', solver => 'gd', max_iter => 2000000000, tol => 1e-300, learning_rate => 1e-9);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_fit('SELECT sin(i) > 0, cos(i), i % 7 FROM generate_series(1, 100) i', solver => 'gd', max_iter => 2000000000, tol => 1e-300, learning_rate => 1e-9);
\echo :LAST_ERROR_SQLSTATE
RESET statement_timeout;
DO $$
BEGIN
    FOR i IN 1..50 LOOP
        BEGIN
            PERFORM gpu_logreg_fit('SELECT i % 2, 1 / (i - 100000) FROM generate_series(1, 200000) i');
        EXCEPTION WHEN division_by_zero THEN
            NULL;
        END;
        BEGIN
            PERFORM gpu_logreg_fit('SELECT CASE i WHEN 100000 THEN 2 ELSE i % 2 END, i FROM generate_series(1, 200000) i');
        EXCEPTION WHEN invalid_parameter_value THEN
            NULL;
        END;
    END LOOP;
END
$$;
SELECT max(memory_free) >= max(free) - 16 * 1024 * 1024 AS nothing_left_behind FROM gpu_devices(), before;
-- projections must have the CPU's bits: of a vector, of several, of a query; and the device must be reported
CREATE TABLE wide AS SELECT i AS id, (SELECT array_agg(sin(i * 31 + j)::real ORDER BY j) FROM generate_series(1, 1000) j) AS v FROM generate_series(1, 500) i;
CREATE TABLE projected AS SELECT * FROM gpu_project_rows('SELECT id, v FROM wide', 64, 5);
SELECT function, device LIKE 'gpu%' AS gpu, reason, rows, features, bytes_to_device FROM gpu_last_run();
CREATE TABLE few AS SELECT id, gpu_project(v, 64, 5) AS projection FROM wide WHERE id <= 50;
SELECT function, device LIKE 'gpu%' AS gpu, rows, features, bytes_to_device FROM gpu_last_run();
SELECT gpu_project(array_agg(v ORDER BY id), 64, 5) AS y INTO at_once FROM wide;
SELECT function, device LIKE 'gpu%' AS gpu, rows, features, bytes_to_device FROM gpu_last_run();
SET gpureg.device = cpu;
SELECT count(*), count(*) FILTER (WHERE p.projection <> gpu_project(v, 64, 5)) AS wrong_rows, count(*) FILTER (WHERE f.projection <> p.projection) AS wrong_vectors
FROM projected p JOIN wide USING (id) LEFT JOIN few f USING (id);
SELECT y = gpu_project((SELECT array_agg(v ORDER BY id) FROM wide), 64, 5) AS at_once FROM at_once;
-- many shapes, one after another
CREATE FUNCTION project_on(device text, x real[], k int, seed bigint, density float8) RETURNS real[] LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('gpureg.device', device, true);
    RETURN gpu_project(x, k, seed, density);
END
$$;
SELECT count(*), count(*) FILTER (WHERE project_on('gpu', x, k, 7, p) IS DISTINCT FROM project_on('cpu', x, k, 7, p)) AS wrong
FROM unnest(ARRAY[1, 2, 33, 999, 65535, 65537, 200000]) dim, unnest(ARRAY[1, 7, 256, 5000]) k, unnest(ARRAY[NULL, 1, 0.9, 0.01, 1e-5]) p,
    LATERAL (SELECT array_agg((sin(j) * 10 ^ (j % 20 - 10))::real ORDER BY j) AS x FROM generate_series(1, dim) j) v WHERE dim * k <= 5000000;
SELECT count(*), count(*) FILTER (WHERE project_on('gpu', x, k, 7, NULL) IS DISTINCT FROM project_on('cpu', x, k, 7, NULL)) AS wrong
FROM unnest(ARRAY[1, 2, 31, 32, 33, 100]) n, unnest(ARRAY[3, 1000, 70000]) dim, unnest(ARRAY[1, 300, 3000]) k,
    LATERAL (SELECT array_agg(v ORDER BY i) AS x FROM generate_series(1, n) i,
        LATERAL (SELECT array_agg(sin(i * 1000 + j)::real ORDER BY j) AS v FROM generate_series(1, dim) j) v) m WHERE n * dim <= 2400000;
-- auto: the CPU for little work, the GPU for much, and the CPU again if the GPU has no room
RESET gpureg.min_gpu_work;
SET gpureg.device = auto;
ANALYZE wide;
SELECT count(*) FROM gpu_project_rows('SELECT id, v FROM wide', 64);
SELECT device LIKE 'gpu%' AS gpu, reason ~ 'products are fewer than' AS reason FROM gpu_last_run();
SELECT count(*) FROM gpu_project_rows('SELECT id, v FROM wide', 4000, density => 1);
SELECT device LIKE 'gpu%' AS gpu, reason ~ '^\S+ products$' AS reason FROM gpu_last_run();
SET gpureg.gpu_memory_limit = '20MB';
SELECT count(*) FROM gpu_project_rows('SELECT id, v FROM wide', 4000, 1, density => 1);
SELECT device LIKE 'gpu%' AS gpu, reason ~ '^GPU memory: \d+ bytes are needed and \d+ are free' AS reason FROM gpu_last_run();
SET gpureg.device = gpu;
DO $$
BEGIN
    PERFORM gpu_project_rows('SELECT id, v FROM wide', 4000, 2, density => 1);
EXCEPTION WHEN out_of_memory THEN
    RAISE NOTICE '% %', SQLSTATE, SQLERRM;
END
$$;
RESET gpureg.gpu_memory_limit;
-- a cancel and errors: afterwards everything must work, and nothing be left but kept memory: S, and blocks of 64 MB
SET statement_timeout = '1s';
SELECT count(*) FROM gpu_project_rows('SELECT i, ARRAY[i, i + 1, i + 2] FROM generate_series(1, 1000000000) i', 2);
\echo :LAST_ERROR_SQLSTATE
RESET statement_timeout;
DO $$
BEGIN
    FOR i IN 1..100 LOOP
        BEGIN
            PERFORM gpu_project_rows('SELECT id, v[1:10 + 0 / (id - 400)] FROM wide', 10, i);
        EXCEPTION WHEN division_by_zero THEN
            NULL;
        END;
    END LOOP;
END
$$;
SELECT count(*) FILTER (WHERE p.projection <> f.projection) AS wrong FROM gpu_project_rows('SELECT id, v FROM wide', 64, 5) f JOIN projected p USING (id);
SET gpureg.projection_cache_size = 0;
SELECT count(*) FROM gpu_project_rows('SELECT id, v FROM wide', 64, 5);
SELECT max(memory_free) >= max(free) - 150 * 1024 * 1024 AS little_left_behind FROM gpu_devices(), before;
RESET gpureg.projection_cache_size;
\set SHOW_CONTEXT never
-- the ring, which parallel workers fill: models must be the same, also with float4 columns; and the ring is kept for
-- the next fit
CREATE TABLE many AS SELECT i % 3 = 0 AS b, sin(i) + cos(3 * i) AS y, sin(2 * i) AS x1, cos(i) AS x2, (i % 11)::numeric AS x3, sin(i)::real AS f1, (i % 7)::int2 AS f2,
    ARRAY[cos(5 * i), sin(7 * i), i % 13] AS a, ARRAY[cos(5 * i), sin(7 * i)]::real[] AS f FROM generate_series(1, 300000) i;
ANALYZE many;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET max_parallel_workers_per_gather = 2;
CREATE FUNCTION ring_fit(device text, fit text, query text) RETURNS gpu_model LANGUAGE plpgsql AS $$
DECLARE
    model gpu_model;
BEGIN
    PERFORM set_config('gpureg.device', device, true);
    EXECUTE format('SELECT (m).* FROM (SELECT gpu_%s_fit(%L) AS m OFFSET 0) q', fit, query) INTO model;
    RETURN model;
END
$$;
SELECT fit, columns, (g).n = (c).n AND (g).terms = (c).terms AND (g).device LIKE 'gpu%' AND (c).device = 'cpu' AS same,
    (SELECT max(abs(x / y - 1)) FROM unnest((g).coef, (c).coef) u (x, y)) < 1e-10 AS coefficients,
    abs((g).deviance / (c).deviance - 1) < 1e-12 AS deviance
FROM unnest('{"ols y","logreg b"}'::text[]) f, unnest('{"x1, x2, x3","f1, f2","a","f","f1, f[1], f2","x1, a","x3, f","x1, NULLIF(f2, 3)"}'::text[]) columns,
    split_part(f, ' ', 1) fit, format('SELECT %s, %s FROM many', split_part(f, ' ', 2), columns) query,
    LATERAL (SELECT ring_fit('gpu', fit, query) AS g, ring_fit('cpu', fit, query) AS c OFFSET 0) m;
SET gpureg.device = gpu;
SELECT (gpu_ols_fit('SELECT y, f1, f FROM many')).n;
SELECT bytes_to_device = 300000 * 4 * 5 AS as_float4 FROM gpu_last_run();
SET gpureg.ring_size = '1MB';
SELECT (gpu_ols_fit('SELECT y, x1, x2, x3 FROM many')).n;
SET gpureg.ring_size = '64MB';
SELECT (gpu_ols_fit('SELECT y, x1, x2, x3 FROM many')).n;
RESET gpureg.ring_size;
-- nothing to fit
DO $$
BEGIN
    PERFORM gpu_ols_fit('SELECT y, x1 FROM many WHERE x1 > 2');
EXCEPTION WHEN no_data_found THEN
    RAISE NOTICE '% %', SQLSTATE, SQLERRM;
END
$$;
-- errors in workers, and the device's own errors, must end the statement and nothing else
DO $$
DECLARE
    query text;
BEGIN
    FOREACH query IN ARRAY '{"SELECT y, x1, 1 / (f2 - 3) FROM many","SELECT y, x1, CASE WHEN x3 = 7 THEN ''NaN'' ELSE x2 END AS bad FROM many","SELECT f2, x1 FROM many"}'::text[] LOOP
        BEGIN
            PERFORM gpu_logreg_fit(replace(query, 'SELECT y', 'SELECT b'));
        EXCEPTION WHEN OTHERS THEN
            RAISE NOTICE '% %', SQLSTATE, SQLERRM;
        END;
    END LOOP;
END
$$;
SET gpureg.gpu_memory_limit = '1MB';
DO $$
BEGIN
    PERFORM gpu_ols_fit('SELECT y, x1, x2, x3 FROM many');
EXCEPTION WHEN out_of_memory THEN
    RAISE NOTICE '% %', SQLSTATE, SQLERRM;
END
$$;
SET gpureg.device = auto;
SET gpureg.min_gpu_work = 0;
SELECT (gpu_ols_fit('SELECT y, x1, x2, x3 FROM many')).n;
SELECT device, reason ~ '^GPU memory: \d+ bytes are needed and 1048576 are free$' AS reason FROM gpu_last_run();
RESET gpureg.gpu_memory_limit;
SELECT (gpu_ols_fit('SELECT y, x1, x2, x3 FROM many')).n;
SELECT device LIKE 'gpu%' AS gpu FROM gpu_last_run();
RESET gpureg.min_gpu_work;
SET gpureg.device = gpu;
SET statement_timeout = '300ms';
SELECT (gpu_ols_fit('SELECT y, x1 + length(pg_sleep(0.001)::text) FROM many')).n;
\echo :LAST_ERROR_SQLSTATE
RESET statement_timeout;
SELECT (gpu_ols_fit('SELECT y, x1, x2, x3 FROM many')).n;
-- many terms are solved on the device: results must be the CPU's
CREATE TABLE terms AS SELECT sin(i * i) AS y, (SELECT array_agg(sin(i * j + j * j) ORDER BY j) FROM generate_series(1, 300) j) AS x FROM generate_series(1, 1000) i;
SELECT (SELECT max(abs(a - b)) / max(abs(b)) FROM unnest((g).coef, (c).coef) u (a, b)) < 1e-13 AS coefficients,
    (SELECT max(abs(a - b)) / max(abs(b)) FROM unnest((g).vcov, (c).vcov) u (a, b)) < 1e-13 AS covariances, (g).rank
FROM (SELECT ring_fit('gpu', 'ols', 'SELECT y, x FROM terms') AS g, ring_fit('cpu', 'ols', 'SELECT y, x FROM terms') AS c OFFSET 0) m;
SELECT (SELECT max(abs(a - b)) / max(abs(b)) FROM unnest((g).coef, (c).coef) u (a, b)) < 1e-11 AS coefficients, (g).converged, (g).iterations = (c).iterations AS iterations
FROM (SELECT ring_fit('gpu', 'logreg', 'SELECT y > 0.3, x[1:120] FROM terms') AS g, ring_fit('cpu', 'logreg', 'SELECT y > 0.3, x[1:120] FROM terms') AS c OFFSET 0) m;
-- a bootstrap must have the same draws and replicates
CREATE TABLE boots AS SELECT i AS id, sin(i) AS y, cos(i * 3) AS x1, sin(i * 7) AS x2 FROM generate_series(1, 50000) i;
\set boots 'SELECT y, x1, x2, id FROM boots'
\set boots_won 'SELECT y > 0.2, x1, x2, id FROM boots'
SET gpureg.device = gpu;
CREATE TABLE boots_gpu AS SELECT 'ols' AS fit, b.* FROM gpu_ols_boot_replicates(:'boots', 300, 'id', 1) b;
SELECT function, device LIKE 'gpu%' AS gpu, rows FROM gpu_last_run();
INSERT INTO boots_gpu SELECT 'logreg', b.* FROM gpu_logreg_boot_replicates(:'boots_won', 300, 'id', 1) b;
SELECT array_agg(conf_low ORDER BY term) AS bca FROM gpu_ols_boot(:'boots', 300, 'id', 1, kind => 'bca') \gset
SET gpureg.device = cpu;
SELECT g.fit, count(*), max(abs(g.estimate - c.estimate)) < 1e-13 AS same
FROM boots_gpu g JOIN (SELECT 'ols' AS fit, b.* FROM gpu_ols_boot_replicates(:'boots', 300, 'id', 1) b
    UNION ALL SELECT 'logreg', b.* FROM gpu_logreg_boot_replicates(:'boots_won', 300, 'id', 1) b) c
    USING (fit, replicate, term) GROUP BY g.fit ORDER BY g.fit;
SELECT relative_difference(array_agg(conf_low ORDER BY term), :'bca') < 1e-12 AS bca
FROM gpu_ols_boot(:'boots', 300, 'id', 1, kind => 'bca');
