-- gpureg.read = spi: the rows of a query come through SPI, and every answer must have the same bits as otherwise.
CREATE TABLE spi_rows AS SELECT i AS id, sin(i) AS x1, cos(i * i) AS x2, (i % 7)::int AS c,
       3 + 2 * sin(i) - cos(i * i) + sin(i * 12.9898) AS y, i % 3 = 0 AND i % 7 < 5 AS b,
       CASE WHEN i % 50 = 0 THEN NULL ELSE 1 + i % 4 END AS w, ARRAY[sin(i), cos(i * i)] AS xs
    FROM generate_series(1, 3000) i;
ANALYZE spi_rows;
-- the setting exists once the library is loaded
SELECT gpu_ols('{1,2,3}', '{3,5,7}') IS NULL AS missing;
SHOW gpureg.read;
SET gpureg.read = cursor;
\echo :LAST_ERROR_SQLSTATE
-- a statement's results both ways
CREATE FUNCTION spi_both(what text) RETURNS TABLE (same boolean, through_spi boolean) LANGUAGE plpgsql AS $$
DECLARE
    plain text;
    spi text;
BEGIN
    PERFORM set_config('gpureg.read', 'auto', true);
    EXECUTE 'SELECT to_jsonb(r)::text FROM (SELECT (' || what || ')::text AS m) r' INTO plain;
    PERFORM set_config('gpureg.read', 'spi', true);
    EXECUTE 'SELECT to_jsonb(r)::text FROM (SELECT (' || what || ')::text AS m) r' INTO spi;
    PERFORM set_config('gpureg.read', 'auto', true);
    --     the reason for the device is no part of an answer
    RETURN QUERY SELECT plain = spi AND plain IS NOT NULL, (SELECT reason LIKE '%, through SPI%' FROM gpu_last_run());
END $$;
SET gpureg.device = cpu;
SELECT * FROM spi_both($$gpu_ols_fit('SELECT y, x1, x2 FROM spi_rows')$$);
SELECT * FROM spi_both($$gpu_ols_fit('SELECT y, x1, x2, w FROM spi_rows', weights => 'w')$$);
SELECT * FROM spi_both($$gpu_ols_fit('SELECT y, x1, c, w FROM spi_rows', frequencies => 'w')$$);
SELECT * FROM spi_both($$gpu_ols_fit('SELECT y, xs FROM spi_rows')$$);
SELECT * FROM spi_both($$gpu_ols_fit('SELECT y, x1, x2 FROM spi_rows', vcov => 'HC3')$$);
SELECT * FROM spi_both($$gpu_logreg_fit('SELECT b, x1, x2 FROM spi_rows')$$);
SELECT * FROM spi_both($$gpu_logreg_fit('SELECT b, x1, x2 FROM spi_rows LIMIT 1000')$$);
SELECT * FROM spi_both($$gpu_glm_fit('SELECT c, x1, x2 FROM spi_rows', 'poisson')$$);
-- rows that have no room are read once, into a file
SET gpureg.ring_size = 1024;
SELECT * FROM spi_both($$gpu_logreg_fit('SELECT i % 3 = 0 AND i % 7 < 5, sin(i), cos(i * i), sin(i * 3), sin(i * 5)
    FROM generate_series(1, 40000) i')$$);
RESET gpureg.ring_size;
-- the extension's own columns are computed over the rows that come through SPI: a design, weights of 1, keys, clusters
SELECT * FROM spi_both($$gpu_ols_fit('SELECT y, x1, c FROM spi_rows', formula => 'y ~ x1 + factor(c)')$$);
SELECT * FROM spi_both($$gpu_ols_fit('SELECT y, x1, c, w FROM spi_rows', formula => 'y ~ poly(x1, 3) * c',
    weights => 'w')$$);
SELECT * FROM spi_both($$gpu_glm_fit('SELECT b, x1, x2 FROM spi_rows', 'quasibinomial')$$);
SELECT * FROM spi_both($$(SELECT array_agg(r) FROM gpu_ols_boot('SELECT y, x1, id FROM spi_rows', 20, 'id') r)$$);
SELECT * FROM spi_both($$(SELECT array_agg(r) FROM gpu_ols_boot('SELECT y, x1, c FROM spi_rows', 20,
    clusters => 'c') r)$$);
SELECT * FROM spi_both($$(SELECT array_agg(r) FROM gpu_logreg_cv('SELECT b, x1, c FROM spi_rows', fold => 'c') r)$$);
SELECT * FROM spi_both($$gpu_ols_fit('SELECT y, x1, x2, c FROM spi_rows', vcov => 'CR1', clusters => '{c}')$$);
SELECT * FROM spi_both($$gpu_ols_fit('SELECT y, x1, x2, c, w FROM spi_rows', vcov => 'CR2', clusters => '{w}')$$);
SELECT * FROM spi_both($$gpu_logreg_fit('SELECT b, x1, c, w FROM spi_rows', formula => 'b ~ x1 * factor(c)',
    vcov => 'CR0', clusters => '{c,w}')$$);
-- parallel plans run
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SELECT * FROM spi_both($$gpu_ols_fit('SELECT y, x1, x2 FROM spi_rows')$$);
SELECT * FROM spi_both($$gpu_logreg_fit('SELECT b, x1, x2 FROM spi_rows')$$);
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather;
-- queries that SPI must refuse
SET gpureg.read = spi;
SELECT gpu_ols_fit('DELETE FROM spi_rows RETURNING y, x1');
SELECT gpu_ols_fit('WITH d AS (DELETE FROM spi_rows RETURNING y, x1) SELECT * FROM d');
SELECT gpu_ols_fit('SELECT y, x1 FROM spi_rows FOR UPDATE');
SELECT gpu_ols_fit('SELECT y, x1 + $1 FROM spi_rows');
SELECT gpu_ols_fit('SELECT 1, 2; SELECT 3, 4');
SELECT gpu_ols_fit('SELECT y, no_such FROM spi_rows');
SELECT gpu_ols_fit('SELECT y, 1 / (id - 10) FROM spi_rows');
SELECT gpu_ols_fit('SELECT y, x1 FROM spi_rows WHERE id < 0');
SELECT count(*) FROM spi_rows;
-- a function that the planner folds changes what names mean, which must be detected
CREATE SCHEMA spi_one;
CREATE SCHEMA spi_two;
CREATE TABLE spi_one.t AS SELECT y, x1 FROM spi_rows;
CREATE TABLE spi_two.t AS SELECT -y AS y, x1 FROM spi_rows;
CREATE FUNCTION spi_turn() RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    PERFORM set_config('search_path', 'spi_two, public', false);
    RETURN 0;
END $$;
SET search_path = spi_one, public;
SELECT gpu_ols_fit('SELECT y, x1 FROM t WHERE spi_turn() = 0');
RESET search_path;
-- the function acts at a later call, and must have no effect: the slope is 2, never -2
CREATE FUNCTION spi_turn_at() RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    PERFORM set_config('spi.calls', (current_setting('spi.calls')::int - 1)::text, false);
    IF current_setting('spi.calls') = '0' THEN
        PERFORM set_config('search_path', 'spi_two, public', false);
    END IF;
    RETURN 0;
END $$;
CREATE FUNCTION spi_slope(n int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('spi.calls', n::text, false), set_config('search_path', 'spi_one, public', false);
    RETURN (SELECT round(estimate::numeric) FROM gpu_tidy(gpu_ols_fit('SELECT y, x1 FROM t WHERE spi_turn_at() = 0'))
            WHERE term = 'x1');
EXCEPTION WHEN object_not_in_prerequisite_state THEN
    RETURN 'error';
END $$;
SELECT n, spi_slope(n) FROM generate_series(1, 4) n;
RESET search_path;
-- such a function with the extension's own columns around the query
CREATE FUNCTION spi_wrapped_slope(n int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('spi.calls', n::text, false), set_config('search_path', 'spi_one, public', false);
    RETURN (SELECT round(estimate::numeric) FROM gpu_tidy(gpu_ols_fit('SELECT y, x1 FROM t WHERE spi_turn_at() = 0',
                                                                      formula => 'y ~ poly(x1, 1)'))
            WHERE term LIKE '%x1%');
EXCEPTION WHEN object_not_in_prerequisite_state THEN
    RETURN 'error';
END $$;
SELECT n, spi_wrapped_slope(n) FROM generate_series(1, 6) n;
RESET search_path;
-- a function that turns policies off must be detected
CREATE FUNCTION spi_secure() RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    PERFORM set_config('row_security', 'off', false);
    RETURN 0;
END $$;
CREATE ROLE spi_reader;
GRANT SELECT ON spi_rows TO spi_reader;
ALTER TABLE spi_rows ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON spi_rows USING (id <= 100);
SET ROLE spi_reader;
SELECT rows FROM (SELECT gpu_ols_fit('SELECT y, x1 FROM spi_rows')) f, LATERAL (SELECT rows FROM gpu_last_run() WHERE f
    IS NOT NULL) r;
SELECT gpu_ols_fit('SELECT y, x1 FROM spi_rows WHERE spi_secure() = 0');
RESET row_security;
RESET ROLE;
DROP SCHEMA spi_one CASCADE;
DROP SCHEMA spi_two CASCADE;
DROP FUNCTION spi_turn, spi_turn_at, spi_slope, spi_wrapped_slope, spi_secure, spi_both;
DROP TABLE spi_rows;
DROP ROLE spi_reader;
