-- Shared by the benchmarks: a quiet session, and the median of five runs taken in turn after an untimed one. Variables:
-- rows, workers (for parallel plans; -1: as the server is set).
\set QUIET on
\pset tuples_only on
\pset format unaligned
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS gpureg;
SET jit = off;
SELECT :workers >= 0 AS workers_given \gset
\if :workers_given
SET max_parallel_workers_per_gather = :workers;
SELECT set_config('max_parallel_workers', greatest(current_setting('max_parallel_workers')::int, :workers)::text,
    false) \g /dev/null
\endif
CREATE TEMP TABLE setup AS SELECT :rows AS rows, current_setting('max_parallel_workers_per_gather')::int AS workers;

CREATE FUNCTION pg_temp.seconds(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
    started timestamptz := clock_timestamp();
BEGIN
    EXECUTE query;
    RETURN extract(epoch FROM clock_timestamp() - started);
END
$$;

-- Times the queries in turn, so that all see the same state of the machine.
CREATE FUNCTION pg_temp.medians(names text[], queries text[]) RETURNS TABLE (name text, median float8)
LANGUAGE plpgsql AS $$
DECLARE
    times float8[] := '{}';
BEGIN
    FOR run IN 0..5 LOOP
        FOR q IN 1..cardinality(queries) LOOP
            times := times || pg_temp.seconds(queries[q]);
        END LOOP;
    END LOOP;
    RETURN QUERY SELECT names[q], percentile_cont(0.5) WITHIN GROUP (ORDER BY times[run * cardinality(queries) + q])
        FROM generate_series(1, 5) run, generate_series(1, cardinality(queries)) q GROUP BY q ORDER BY q;
END
$$;

-- Cases to time: a query, its settings, and its yardstick, a case over the same rows; at_most is the target, if any, of
-- the ratio to the yardstick. A peer names our case that does the same.
CREATE TEMP TABLE cases (nr int GENERATED ALWAYS AS IDENTITY, bench text, query text, settings jsonb DEFAULT '{}',
    yardstick text,
                         at_most float8, ours text);
CREATE TEMP TABLE results (nr int, bench text, device text, workers int, ran_on text, ran_with int, reason text,
    yardstick text,
                           at_most float8, ours text, seconds float8, fastest float8, slowest float8, runs int,
                           not_run text,
                           custom_scan text);

-- The workers that a plan asks for, and its custom scan.
CREATE FUNCTION pg_temp.planned(query text, OUT workers int, OUT custom_scan text) LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
    SELECT coalesce(max(w::text::int), 0) INTO workers FROM jsonb_path_query(plan, '$.**."Workers Planned"') w;
    custom_scan := jsonb_path_query_first(plan, '$.**."Custom Plan Provider"') #>> '{}';
END
$$;

-- Sums of columns, and sums that normal equations need: of columns and of all products of two.
CREATE FUNCTION pg_temp.sums(columns text[]) RETURNS text LANGUAGE sql IMMUTABLE AS
    $$SELECT string_agg(format('sum(%s)', c), ', ' ORDER BY i) FROM unnest(columns) WITH ORDINALITY u (c, i)$$;
CREATE FUNCTION pg_temp.sums_and_products(columns text[]) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT string_agg(format('sum(%s * %s)', a.c, b.c), ', ' ORDER BY a.i, b.i) || ', ' || pg_temp.sums(columns)
    FROM unnest(columns) WITH ORDINALITY a (c, i) JOIN unnest(columns) WITH ORDINALITY b (c, i) ON a.i <= b.i
$$;

-- Applies a query's settings, so that cases of different settings can be taken in turn.
CREATE FUNCTION pg_temp.apply(settings jsonb) RETURNS void LANGUAGE sql AS
    $$SELECT set_config(key, value, false) FROM jsonb_each_text(settings)$$;

-- Runs a case once and notes its plan. A case that fails here is not timed, and reports the error.
CREATE FUNCTION pg_temp.try_case(c cases) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    ours boolean := c.query ~ 'gpu_(ols|logreg|glm)_fit';
    asked int := current_setting('max_parallel_workers_per_gather');
    plan record;
    why text;
    more text;
BEGIN
    PERFORM pg_temp.seconds(c.query);
    SELECT NULL::int AS workers, NULL::text AS custom_scan INTO plan;
    IF NOT ours THEN
        SELECT * INTO plan FROM pg_temp.planned(c.query);
    END IF;
    INSERT INTO results (nr, bench, device, workers, ran_on, ran_with, reason, yardstick, at_most, ours, custom_scan)
    SELECT c.nr, c.bench, c.settings ->> 'gpureg.device', asked, r.device,
           CASE WHEN ours THEN r.workers ELSE plan.workers END, r.reason, c.yardstick, c.at_most, c.ours,
           plan.custom_scan
    FROM (VALUES (1)) one LEFT JOIN gpu_last_run() r ON ours;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS why = MESSAGE_TEXT, more = PG_EXCEPTION_DETAIL;
    INSERT INTO results (nr, bench, device, workers, not_run)
    VALUES (c.nr, c.bench, c.settings ->> 'gpureg.device', asked, concat_ws(': ', why, nullif(more, '')));
END
$$;

-- Notes where a timed fit ran, and why: auto chooses otherwise once the session has the GPU open.
CREATE FUNCTION pg_temp.note_run(c cases) RETURNS void LANGUAGE sql AS $$
    UPDATE results SET ran_on = r.device, reason = r.reason, ran_with = r.workers
    FROM gpu_last_run() r WHERE nr = c.nr AND c.query ~ 'gpu_(ols|logreg|glm)_fit'
$$;

-- Times the cases in turn, into results. gpu_last_run() tells GPU or CPU after the untimed run. A case of less than a
-- second runs once more before each timed run: a GPU that was idle for seconds, during the CPU's turn, takes a while to
-- reach its clock rate again.
CREATE FUNCTION pg_temp.run_cases(nruns int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    before jsonb;
    times float8[] := '{}';
    numbers int[] := '{}';
    quick int[] := '{}';
    started timestamptz;
    c cases;
BEGIN
    PERFORM FROM gpu_last_run();  -- the settings exist once the library is loaded
    SELECT coalesce(jsonb_object_agg(key, current_setting(key)), '{}') INTO before
    FROM cases, jsonb_object_keys(settings) key;
    DELETE FROM results;
    FOR run IN 0..nruns LOOP
        FOR c IN SELECT * FROM cases ORDER BY nr LOOP
            PERFORM pg_temp.apply(before || c.settings);
            IF run = 0 THEN
                started := clock_timestamp();
                PERFORM pg_temp.try_case(c);
                IF clock_timestamp() - started < interval '1 s' THEN
                    quick := quick || c.nr;
                END IF;
            ELSIF EXISTS (SELECT FROM results r WHERE r.nr = c.nr AND r.not_run IS NULL) THEN
                IF c.nr = ANY (quick) THEN
                    PERFORM pg_temp.seconds(c.query);
                END IF;
                times := times || pg_temp.seconds(c.query);
                numbers := numbers || c.nr;
                PERFORM pg_temp.note_run(c);
            END IF;
        END LOOP;
    END LOOP;
    PERFORM pg_temp.apply(before);
    UPDATE results r SET seconds = t.median, fastest = t.fastest, slowest = t.slowest, runs = nruns
    FROM (SELECT nr, percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) AS median, min(seconds) AS fastest,
        max(seconds) AS slowest
          FROM unnest(numbers, times) u (nr, seconds) GROUP BY nr) t WHERE r.nr = t.nr;
    DELETE FROM cases;
END
$$;

-- Rounds seconds and ratios to four digits.
CREATE FUNCTION pg_temp.short(x float8) RETURNS numeric LANGUAGE sql IMMUTABLE AS
    $$SELECT round(x::numeric, CASE WHEN x = 0 THEN 0 ELSE greatest(3 - floor(log(abs(x)::numeric))::int, 0) END)$$;

-- A JSON line per case
CREATE FUNCTION pg_temp.lines(section text, nrows bigint, nfeatures int) RETURNS SETOF json LANGUAGE sql AS $$
    SELECT json_strip_nulls(json_build_object(
        'section', section, 'bench', r.bench, 'rows', nrows, 'features', nfeatures, 'device', r.device,
        'workers', r.workers,
        'ran_on', r.ran_on, 'ran_with_workers', r.ran_with, 'reason', r.reason,
        'custom_scan', r.custom_scan, 'seconds', pg_temp.short(r.seconds),
        'fastest', pg_temp.short(r.fastest), 'slowest', pg_temp.short(r.slowest), 'runs', r.runs,
        'yardstick', r.yardstick,
        'yardstick_seconds', pg_temp.short(y.seconds), 'ratio', pg_temp.short(r.seconds / y.seconds),
        'ratio_at_most', r.at_most,
        'target_seconds', pg_temp.short(r.at_most * y.seconds), 'ours', r.ours,
        'ours_seconds', pg_temp.short(o.seconds),
        'times_ours', pg_temp.short(r.seconds / o.seconds), 'not_run', r.not_run))
    FROM results r LEFT JOIN results y ON y.bench = r.yardstick LEFT JOIN results o ON o.bench = r.ours
    ORDER BY r.nr
$$;

-- A JSON line for each case that ran with gpureg.device = auto: the cost of its choice against the better of cpu and
-- gpu
CREATE FUNCTION pg_temp.auto_lines(nrows bigint, nfeatures int) RETURNS SETOF json LANGUAGE sql AS $$
    SELECT json_strip_nulls(json_build_object(
        'section', 'auto', 'bench', a.bench || ': auto over the better of cpu and gpu', 'rows', nrows,
        'features', nfeatures, 'device', 'auto', 'workers', a.workers, 'ran_on', a.ran_on, 'reason', a.reason,
        'seconds', pg_temp.short(a.seconds), 'yardstick', b.device, 'yardstick_seconds', pg_temp.short(b.seconds),
        'ratio', pg_temp.short(a.seconds / b.seconds), 'ratio_at_most', CASE WHEN b.choices > 1 THEN 1.3 END))
    FROM results a, LATERAL (SELECT *, count(*) OVER () AS choices FROM results b
                             WHERE b.bench = a.bench AND b.device IN ('cpu', 'gpu') AND b.not_run IS NULL
                             ORDER BY b.seconds LIMIT 1) b
    WHERE a.device = 'auto' AND a.not_run IS NULL ORDER BY a.nr
$$;

-- Reads a table, with values stored outside it, into shared buffers, if there is pg_prewarm: a scan alone leaves there
-- only tables of up to a quarter of them.
CREATE FUNCTION pg_temp.warm(tables text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pg_prewarm') THEN
        CREATE EXTENSION IF NOT EXISTS pg_prewarm;
        PERFORM pg_prewarm(r) FROM pg_class c, unnest(ARRAY[c.oid, c.reltoastrelid]) r
        WHERE c.oid = ANY (tables::regclass[]) AND r <> 0;
    END IF;
END
$$;
