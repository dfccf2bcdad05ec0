-- Linear regression beside the sums of the same columns and beside regr_slope, in one session. A JSON line a result: the median
-- of five runs, in seconds, taken in turn after a warm-up. Variables: rows, workers. Leaves the table gpureg_bench.
\set QUIET on
\pset tuples_only on
\pset format unaligned
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS gpureg;
SET jit = off;
SET max_parallel_workers_per_gather = :workers;
CREATE TEMP TABLE setup AS SELECT :rows AS rows, :workers AS workers;
DROP TABLE IF EXISTS gpureg_bench;
-- a table that parallel workers may read
CREATE UNLOGGED TABLE gpureg_bench AS
SELECT random() AS x1, random() AS x2, random() AS x3, random() AS x4, random() AS x5, random() AS x6, random() AS x7, random() AS x8,
       random() AS y FROM generate_series(1, :rows);
VACUUM (ANALYZE, FREEZE) gpureg_bench;

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

WITH m AS (
    SELECT * FROM pg_temp.medians(
        ARRAY['sums of 9 columns', 'gpu_ols_agg, 8 features', 'gpu_ols_fit, 8 features', 'regr_slope, 1 feature', 'gpu_ols_agg, 1 feature'],
        ARRAY['SELECT sum(x1), sum(x2), sum(x3), sum(x4), sum(x5), sum(x6), sum(x7), sum(x8), sum(y) FROM gpureg_bench',
              'SELECT gpu_ols_agg(y, x1, x2, x3, x4, x5, x6, x7, x8) FROM gpureg_bench',
              'SELECT gpu_ols_fit(''SELECT y, x1, x2, x3, x4, x5, x6, x7, x8 FROM gpureg_bench'')',
              'SELECT regr_slope(y, x1), regr_intercept(y, x1) FROM gpureg_bench',
              'SELECT gpu_ols_agg(y, x1) FROM gpureg_bench'])
)
SELECT json_build_object('bench', m.name, 'rows', rows, 'workers', workers, 'seconds', round(m.median::numeric, 4),
                         'times_the_sums', round((m.median / s.median)::numeric, 2), 'device', current_setting('gpureg.device'))
FROM m, m s, setup WHERE s.name LIKE 'sums%';
