-- Rows dealt to several sinks that stand in for several GPUs (gpureg.debug_sinks): models must be those of one sink,
-- whether the session's process reads the rows or they come through the ring. A device service deals its own rows.
SET gpureg.enable_service = off;
SET jit = off;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
-- the wide rows are several blocks per sink, the others less than one for some sinks
CREATE TABLE many_rows AS SELECT i, sin(i) + i % 5 + 1e6 AS y, (i * 7 + i / 3) % 5 < 2 AS won, i % 11 > i % 7 AS often,
    (i * 13 % 17) / 4 AS counted, (i % 3 + 1) / 2.0::float8 AS weight, i % 4 AS times, cos(i * 1.7) / 8 AS base,
    i % 1009 / 500.0::float8 AS a, cos(i * 0.7) AS b, sin(i * 0.3)::real AS c, 1e9 + i % 13 AS far,
    cos(i * 0.7) + sin(i * 1.1) * 1e-7 AS nearly_b, i % 6 AS six, i > 6000 AS late,
    ARRAY(SELECT cos(i * sqrt(j)) FROM generate_series(2, 16) j) AS x
    FROM generate_series(1, 12000) i;
ANALYZE many_rows;
CREATE TABLE many_calls (name text, call text);
INSERT INTO many_calls VALUES
    ('linear', $$gpu_ols_fit('SELECT y, a, x FROM many_rows')$$),
    ('linear, about a shift', $$gpu_ols_fit('SELECT y, far, x FROM many_rows')$$),
    ('linear, weights', $$gpu_ols_fit('SELECT y, weight, a, b FROM many_rows', weights => 'weight')$$),
    ('linear, frequencies', $$gpu_ols_fit('SELECT y, times, a, x FROM many_rows', frequencies => 'times')$$),
    ('linear, HC3', $$gpu_ols_fit('SELECT y, x FROM many_rows', vcov => 'HC3')$$),
    ('linear, factors', $$gpu_ols_fit('SELECT y, a, six::text FROM many_rows')$$),
    ('linear, few rows', $$gpu_ols_fit('SELECT y, a, b FROM many_rows WHERE i < 9')$$),
    ('logistic', $$gpu_logreg_fit('SELECT won, a, x FROM many_rows')$$),
    ('logistic, single rows', $$gpu_logreg_fit('SELECT won, x::real[] FROM many_rows')$$),
    ('logistic, few rows', $$gpu_logreg_fit('SELECT often, a FROM many_rows WHERE i < 20')$$),
    ('logistic, a change of basis', $$gpu_logreg_fit('SELECT won, x, b, nearly_b FROM many_rows')$$),
    ('logistic, L-BFGS', $$gpu_logreg_fit('SELECT often, a, x FROM many_rows', solver => 'lbfgs')$$),
    ('logistic, at a rate', $$gpu_logreg_fit('SELECT won, a, b FROM many_rows', solver => 'gd', learning_rate => 1e-5,
        max_iter => 50)$$),
    ('logistic, offsets', $$gpu_logreg_fit('SELECT won, weight, base, x FROM many_rows', weights => 'weight',
        offsets => 'base')$$),
    ('logistic, the intercept alone', $$gpu_logreg_fit('SELECT won, weight FROM many_rows', weights => 'weight')$$),
    ('logistic, HC2', $$gpu_logreg_fit('SELECT won, x FROM many_rows', vcov => 'HC2')$$),
    ('logistic, Firth', $$gpu_logreg_fit('SELECT won, x FROM many_rows', firth => true)$$),
    ('logistic, separated', $$gpu_logreg_fit('SELECT late, i / 1000.0, b FROM many_rows')$$),
    ('Poisson', $$gpu_glm_fit('SELECT counted, a, x FROM many_rows', 'poisson')$$),
    ('gamma', $$gpu_glm_fit('SELECT counted + 1, a, b FROM many_rows', 'gamma', 'log')$$),
    ('negative binomial', $$gpu_glm_fit('SELECT times * six, a FROM many_rows', 'negative binomial')$$);

-- A fit, and where its rows were
CREATE FUNCTION many_fit(call text, sinks int, ring boolean, OUT m gpu_model, OUT device text)
LANGUAGE plpgsql SET gpureg.debug_sinks = 0 SET gpureg.debug_ring = off SET gpureg.enable_scan = off
    SET max_parallel_workers_per_gather = 0 SET client_min_messages = error AS $$
BEGIN
    PERFORM set_config('gpureg.debug_sinks', sinks::text, true), set_config('gpureg.debug_ring', ring::text, true),
        set_config('max_parallel_workers_per_gather', CASE WHEN ring THEN '2' ELSE '0' END, true);
    EXECUTE 'SELECT * FROM ' || call INTO m;
    SELECT r.device INTO device FROM gpu_last_run() r;
END
$$;
CREATE TABLE many_models AS
SELECT name, ring, sinks, (f).m, (f).device
FROM many_calls, (VALUES (false, '{0,3}'::int[]), (true, '{0,1,2,3,4}')) w (ring, counts), unnest(counts) sinks,
    LATERAL (SELECT many_fit(call, sinks, ring) AS f OFFSET 0) s;
SELECT sinks, count(*) FILTER (WHERE ring) AS ring, count(*) FILTER (WHERE NOT ring) AS one_process,
    bool_and(device ~ CASE sinks WHEN 0 THEN '^(cpu|gpu [^,]*)$' ELSE '^(cpu|gpu .*), ' || sinks || ' sinks$' END)
    AS dealt
FROM many_models GROUP BY sinks ORDER BY sinks;
-- Estimates and standard errors against those of one sink by the same way; estimates relative to their standard errors.
CREATE TABLE many_errors AS
SELECT g.name, g.ring, g.sinks, e.estimates, e.std_errors,
    relative_difference(ARRAY[(g.m).deviance], ARRAY[(w.m).deviance]) AS deviance,
    ((g.m).n, (g.m).rank, (g.m).terms, (g.m).converged, (g.m).separated) IS NOT DISTINCT FROM
        ((w.m).n, (w.m).rank, (w.m).terms, (w.m).converged, (w.m).separated) AS same
FROM many_models g JOIN many_models w USING (name, ring),
    LATERAL (SELECT max(CASE WHEN t.estimate = u.estimate THEN 0
                        ELSE abs(t.estimate - u.estimate) / greatest(abs(u.estimate), u.std_error) END) AS estimates,
             relative_difference(array_agg(t.std_error), array_agg(u.std_error)) AS std_errors
             FROM gpu_tidy(g.m) t JOIN gpu_tidy(w.m) u USING (term)) e
WHERE g.sinks > 0 AND w.sinks = 0;
SELECT name, count(*) AS fits, max(estimates) < 1e-12 AS estimates, max(std_errors) < 1e-12 AS std_errors,
    max(deviance) < 1e-12 AS deviance, bool_and(same) AS same
FROM many_errors GROUP BY name ORDER BY min(array_position(ARRAY(SELECT m.name FROM many_calls m), name));
-- rows that don't fit all sinks together go where they would without them
SET gpureg.ring_size = '1MB';
SELECT ring, relative_difference((f).m.coef, (w.m).coef) < 1e-12 AS same
FROM many_models w, LATERAL (SELECT many_fit(call, 3, ring) AS f FROM many_calls c WHERE c.name = w.name OFFSET 0) s
WHERE name = 'logistic' AND sinks = 0 ORDER BY ring;
RESET gpureg.ring_size;
-- messages about bad rows, in the session and in a worker
\set SHOW_CONTEXT never
SELECT many_fit($$gpu_ols_fit('SELECT CASE WHEN i < 11000 THEN y ELSE ''NaN'' END, x FROM many_rows')$$, 3, true);
SELECT many_fit($$gpu_logreg_fit('SELECT i / 11000 * 2, x FROM many_rows')$$, 3, false);
