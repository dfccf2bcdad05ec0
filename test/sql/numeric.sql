-- numeric columns are read as their cast to float8 is: rounded to nearest, whatever the number of digits. A model whose
-- only coefficient is 1 predicts the value as it was read.
SET client_min_messages = warning;
CREATE TEMP TABLE identity AS SELECT jsonb_populate_record(gpu_ols_fit(
    'SELECT i + i % 3, i FROM generate_series(1, 9) i', intercept => false), '{"coef": [1]}') AS m;
CREATE FUNCTION digits(i int, n int) RETURNS text LANGUAGE sql IMMUTABLE AS
    $$SELECT substr(regexp_replace(md5(i::text) || md5((-i)::text), '[a-f]', '', 'g'), 1, n)$$;
CREATE TEMP TABLE numbers AS
    SELECT (sign || digits(i, n) || 'e' || e)::numeric AS x
    FROM generate_series(1, 40) i, generate_series(1, 21) n, (VALUES (''), ('-')) s(sign),
        (VALUES (-40), (-23), (-22), (-17), (-10), (-6), (-5), (-4), (-3), (-2), (-1), (0), (1), (2), (3), (4), (7), (12), (21),
            (22), (23), (100)) t(e);
INSERT INTO numbers SELECT round(x::numeric, s) FROM generate_series(-50, 50) i, generate_series(0, 8) s,
    LATERAL (SELECT i / 7.0 AS x) y;
INSERT INTO numbers SELECT p * 2::numeric ^ k + d FROM generate_series(50, 64) k, (VALUES (-1), (0), (1), (0.5), (0.25)) v(d),
    (VALUES (1), (0.01), (10), (1e10), (-1e-20)) w(p);
INSERT INTO numbers VALUES (0), (-0.0), (0.0000), (1), (9999), (10000), (9999.9999), (0.0001), (1e-308), (1e308), (4.9e-324),
    (1.7976931348623157e308), (1e22), (1e23), (9007199254740993), (9007199254740993e10), (0.1);
SELECT count(*) > 30000 AS many, count(*) FILTER (WHERE gpu_predict(m, x) IS DISTINCT FROM x::float8) AS differ
FROM numbers, identity;

-- values as they are stored in a table: with a header of one byte, compressed, out of line
CREATE TABLE stored (y float8, small numeric(10,2), wide numeric, long numeric);
ALTER TABLE stored ALTER long SET STORAGE EXTERNAL;
INSERT INTO stored SELECT sin(i), (i * 137 % 100000) / 100.0, digits(i, 18)::numeric / 10 ^ (i % 9),
    (repeat(digits(i, 20), 100) || 'e-1900')::numeric FROM generate_series(1, 300) i;
SELECT max(pg_column_size(small)) < 12 AS small, max(pg_column_size(long)) > 100 AS long FROM stored;
SELECT count(*) AS n, count(*) FILTER (WHERE gpu_predict(m, small) IS DISTINCT FROM small::float8
    OR gpu_predict(m, wide) IS DISTINCT FROM wide::float8 OR gpu_predict(m, long) IS DISTINCT FROM long::float8) AS differ
FROM stored, identity;

-- every way to read rows gives the fit of the casts
CREATE TEMP TABLE fits (way text, m gpu_model);
INSERT INTO fits SELECT 'casts', gpu_ols_fit('SELECT y, small::float8 AS small, wide::float8 AS wide,
    long::float8 AS long FROM (SELECT * FROM stored OFFSET 0) s');
INSERT INTO fits SELECT 'scan', gpu_ols_fit('SELECT y, small, wide, long FROM stored');
INSERT INTO fits SELECT 'aggregate', gpu_ols_agg(y, small, wide, long) FROM stored;
SET gpureg.enable_scan = off;
INSERT INTO fits SELECT 'no scan', gpu_ols_fit('SELECT y, small, wide, long FROM stored');
INSERT INTO fits SELECT 'aggregate without a scan', gpu_ols_agg(y, small, wide, long) FROM stored;
SET gpureg.read = spi;
INSERT INTO fits SELECT 'spi', gpu_ols_fit('SELECT y, small, wide, long FROM stored');
RESET gpureg.read;
SET gpureg.debug_ring = on;
INSERT INTO fits SELECT 'ring', gpu_ols_fit('SELECT y, small, wide, long FROM stored');
RESET gpureg.debug_ring;
RESET gpureg.enable_scan;
SELECT way, (m).coef = (SELECT (m).coef FROM fits WHERE way = 'casts') AS same, (m).n FROM fits ORDER BY way;

-- a cast of a value beyond float8's range is an error in every way, also in a row that has a NULL
INSERT INTO stored VALUES (NULL, 1, 1e400, 1);
\set VERBOSITY sqlstate
SELECT gpu_ols_fit('SELECT y, small, wide::float8, long FROM stored');
SELECT gpu_ols_agg(y, small, wide, long) FROM stored;
SET gpureg.enable_scan = off;
SELECT gpu_ols_fit('SELECT y, small, wide::float8, long FROM stored');
SELECT gpu_ols_agg(y, small, wide, long) FROM stored;
SET gpureg.debug_ring = on;
SELECT gpu_ols_fit('SELECT y, small, wide::float8, long FROM stored');
RESET gpureg.debug_ring;
RESET gpureg.enable_scan;

-- without a cast in the query, a row that has a NULL takes no part, whatever its other values are
SELECT (gpu_ols_fit('SELECT y, small, wide, long FROM stored')).n_skipped;
SET gpureg.enable_scan = off;
SELECT (gpu_ols_fit('SELECT y, small, wide, long FROM stored')).n_skipped;
SET gpureg.debug_ring = on;
SELECT (gpu_ols_fit('SELECT y, small, wide, long FROM stored')).n_skipped;
RESET gpureg.debug_ring;
SET gpureg.read = spi;
SELECT (gpu_ols_fit('SELECT y, small, wide, long FROM stored')).n_skipped;
RESET gpureg.read;
RESET gpureg.enable_scan;
\set VERBOSITY default
UPDATE stored SET wide = 'NaN' WHERE y IS NULL;
SELECT (gpu_ols_fit('SELECT y, small, wide, long FROM stored')).n_skipped;
UPDATE stored SET y = 1 WHERE y IS NULL;
SELECT gpu_ols_fit('SELECT y, small, wide, long FROM stored');
DROP TABLE stored;
