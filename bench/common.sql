-- What the benchmarks share: a quiet session, and the median of five runs taken in turn after a warm-up. Variables: rows, workers.
\set QUIET on
\pset tuples_only on
\pset format unaligned
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS gpureg;
SET jit = off;
SELECT :workers >= 0 AS workers_given \gset
\if :workers_given
SET max_parallel_workers_per_gather = :workers;
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

-- Times the queries in turn, so that all see the same machine.
CREATE FUNCTION pg_temp.medians(names text[], queries text[]) RETURNS TABLE (name text, median float8) LANGUAGE plpgsql AS $$
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

-- A JSON line a query; the first one is what the others are measured by.
CREATE FUNCTION pg_temp.report(names text[], queries text[]) RETURNS SETOF json LANGUAGE sql AS $$
    WITH m AS (SELECT * FROM pg_temp.medians(names, queries))
    SELECT json_build_object('bench', m.name, 'rows', rows, 'workers', workers, 'seconds', round(m.median::numeric, 4),
                             'times_the_sums', round((m.median / s.median)::numeric, 2), 'device', current_setting('gpureg.device'))
    FROM m, m s, setup WHERE s.name = names[1]
$$;
