-- Settings, gpu_devices() and gpu_last_run(). TAP tests check what depends on a machine without a GPU.
-- the last run, and its device; a session begins without one
\c -
SELECT count(*) FROM gpu_last_run();
-- the settings, which exist once the library is loaded
SELECT name, vartype, context, boot_val, min_val, unit FROM pg_settings WHERE name LIKE 'gpureg.%' ORDER BY name;
SET gpureg.device = 'tpu';
SET gpureg.device = cpu, gpu;
\echo :LAST_ERROR_SQLSTATE
SET gpureg.gpu_id = -3;
\echo :LAST_ERROR_SQLSTATE
SET gpureg.no_such_setting = 1;
\echo :LAST_ERROR_SQLSTATE
-- a run
SELECT gpu_ols('{1,2,3}', '{3,5,7}');
SELECT function, rows, features, device = 'cpu' OR device LIKE 'gpu%' AS device, reason <> '' AS reason, workers,
       num_nulls(read_seconds, copy_seconds, kernel_seconds, solve_seconds, bytes_to_device) = 0
       AND least(read_seconds, copy_seconds, kernel_seconds, solve_seconds, bytes_to_device) >= 0 AS not_negative,
       total_seconds >= solve_seconds AND total_seconds < 100 AS total FROM gpu_last_run();
SELECT (gpu_ols_fit('SELECT i, i * i, i * i * i FROM generate_series(1, 10) i')).device = (SELECT device
    FROM gpu_last_run()) AS same_device;
SELECT function, rows, features FROM gpu_last_run();
-- the CPU, if it is asked for
SET gpureg.device = cpu;
SELECT gpu_ols('{1,2,3}', '{3,5,7}');
SELECT device, reason, bytes_to_device, copy_seconds FROM gpu_last_run();
-- the CPU, if there is too little work
SET gpureg.device = auto;
SELECT gpu_ols('{1,2,3}', '{3,5,7}');
SELECT device, reason ~ '^18 products are fewer than .*gpureg.min_gpu_work$' AS reason FROM gpu_last_run();
RESET gpureg.device;
-- blocks of another size
SET gpureg.ring_size = '1MB';
SELECT relative_difference((gpu_ols_fit('SELECT price, carat, depth FROM diamonds')).coef,
    (gpu_ols_agg(price, carat, depth)).coef) < 1e-15 AS same FROM diamonds;
RESET gpureg.ring_size;
-- the list of devices, which is empty where no GPU can be used
CREATE FUNCTION pg_temp.runs_on_gpu() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('gpureg.device', 'gpu', true), gpu_ols('{1,2,3}', '{3,5,7}');
    RETURN (SELECT device ~ '^gpu' FROM gpu_last_run());
EXCEPTION WHEN feature_not_supported THEN
    RETURN false;
END
$$;
SELECT (count(*) > 0) IS NOT DISTINCT FROM pg_temp.runs_on_gpu() AS listed,
    coalesce(array_agg(id ORDER BY id), '{}') = ARRAY(SELECT generate_series(0, (SELECT count(*)::int - 1
    FROM gpu_devices()))) AS numbered,
    coalesce(bool_and((memory_total > 0 AND memory_free BETWEEN 0 AND memory_total AND compute_capability ~ '^\d+\.\d$')
    IS TRUE), true) AS sane FROM gpu_devices();
