-- gpu_auc's states: sorted runs in memory and in files, and those that workers hand over. The reference is the sum of
-- average ranks in SQL.
\set VERBOSITY default
CREATE FUNCTION uniform(i bigint, seed bigint) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$
    SELECT (hashint8extended(i, seed) & 9007199254740991) / 9007199254740992.0::float8
$$;
CREATE TABLE ranked AS SELECT i, uniform(i, 1) AS distinct_scores, round(uniform(i, 1)::numeric, 2)::float8 AS ties,
    CASE WHEN i % 3 = 0 THEN uniform(i, 2) ELSE round(uniform(i, 2)::numeric, 4)::float8 END AS both_kinds,
    0.5::float8 AS one_score, (ARRAY['Infinity', '-Infinity', '0', '-0', '5e-324', '-5e-324', '1.7976931348623157e308',
        '-1.7976931348623157e308', '1e-310', '-2'])[1 + i % 10 * (i % 7) % 10]::float8 AS special,
    uniform(i, 1)::float4::float8 AS single, uniform(i, 3) < 0.3 + 0.4 * uniform(i, 1) AS label
FROM generate_series(1, 300000) i;
CREATE UNIQUE INDEX ON ranked (i);
ANALYZE ranked;
CREATE FUNCTION auc_by_ranks(score text, condition text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE auc float8;
BEGIN
    EXECUTE format('WITH r AS MATERIALIZED (SELECT label, rank() OVER (ORDER BY %1$s) + (count(*) OVER
            (PARTITION BY %1$s) - 1) / 2.0 AS rank FROM ranked WHERE %2$s),
        n AS (SELECT sum(rank) FILTER (WHERE label) AS ranks, count(*) FILTER (WHERE label)::numeric AS ones,
            count(*) FILTER (WHERE NOT label)::numeric AS zeros FROM r)
        SELECT round((ranks - ones * (ones + 1) / 2) / nullif(ones * zeros, 0), 30) FROM n', score, condition) INTO auc;
    RETURN auc;
END
$$;
CREATE FUNCTION auc_of(score text, condition text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE auc float8;
BEGIN
    EXECUTE format('SELECT gpu_auc(%s, label) FROM ranked WHERE %s', score, condition) INTO auc;
    RETURN auc;
END
$$;
CREATE FUNCTION lines_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
        RETURN NEXT line;
    END LOOP;
END
$$;
CREATE VIEW own_files AS SELECT name FROM pg_ls_tmpdir() WHERE name LIKE 'pgsql_tmp' || pg_backend_pid() || '.%';
-- all kinds of scores, numbers of rows around the sizes of tails and chunks, no rows, one label
CREATE TABLE by_ranks AS SELECT score, condition, auc_by_ranks(score, condition) AS auc
FROM unnest(ARRAY['distinct_scores', 'ties', 'both_kinds', 'one_score', 'special', 'single', '-both_kinds']) score,
    unnest(ARRAY['true', 'i <= 1', 'i <= 9', 'i <= 17', 'i <= 300', 'i <= 1100', 'i <= 20000', 'i <= 5000 AND label',
        'i <= 5000 AND NOT label', 'i > 300000']) condition;
SELECT count(*), count(auc), count(*) FILTER (WHERE auc_of(score, condition) IS NOT DISTINCT FROM auc) AS same
FROM by_ranks;
-- little memory: runs go to a file, and are merged there twice
SET work_mem = '64kB';
SELECT count(*) FILTER (WHERE auc_of(score, condition) IS NOT DISTINCT FROM auc) AS same FROM by_ranks;
SELECT count(*) > 0 AS in_a_file FROM lines_of('SELECT gpu_auc(distinct_scores, label) FROM ranked') l
WHERE l ~ 'temp read=\d+ written=\d+';
SELECT count(*) AS in_a_file FROM lines_of('SELECT gpu_auc(ties, label) FROM ranked') l WHERE l ~ 'temp ';
-- memory that suffices for runs, and for no merge of all
SET work_mem = '2MB';
SELECT count(*) FILTER (WHERE auc_of(score, condition) IS NOT DISTINCT FROM auc) AS same FROM by_ranks;
-- workers hand their states over
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 3;
SELECT count(*) FILTER (WHERE auc_of(score, condition) IS NOT DISTINCT FROM auc) AS same FROM by_ranks;
SET work_mem = '64kB';
SELECT count(*) FILTER (WHERE auc_of(score, condition) IS NOT DISTINCT FROM auc) AS same FROM by_ranks;
SELECT count(*) FROM lines_of('SELECT gpu_auc(distinct_scores, label) FROM ranked') l
WHERE l ~ '(Finalize|Partial) Aggregate|Workers Planned: [1-9]';
SELECT bool_and(auc = auc_by_ranks('both_kinds', 'i <= 40000 AND i % 20 = ' || g)) AS groups, count(*)
FROM (SELECT i % 20 AS g, gpu_auc(both_kinds, label) AS auc FROM ranked WHERE i <= 40000 GROUP BY i % 20) a;
-- so are those of many small groups
SELECT count(*), sum((auc IS NOT DISTINCT FROM by_pairs)::int) AS same
FROM (SELECT i / 6 AS g, gpu_auc(ties, label) AS auc FROM ranked WHERE i < 30000 GROUP BY i / 6) a
JOIN (SELECT a.i / 6 AS g, (avg(CASE WHEN a.ties > b.ties THEN 1 WHEN a.ties = b.ties THEN 0.5 ELSE 0 END)
        FILTER (WHERE a.label AND NOT b.label))::float8 AS by_pairs
    FROM ranked a JOIN ranked b ON a.i / 6 = b.i / 6 WHERE a.i < 30000 AND b.i < 30000 GROUP BY a.i / 6) b USING (g);
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size;
SET max_parallel_workers_per_gather = 0;
-- small groups take little memory
SET work_mem = '64MB';
SELECT substring(l FROM 'Memory Usage: (\d+)kB')::int < 16000 AS small
FROM lines_of('SELECT i / 10, gpu_auc(distinct_scores, label) FROM ranked GROUP BY i / 10') l WHERE l ~ 'Memory Usage';
SET work_mem = '64kB';
-- cursors that are left: their files are closed, with those of groups that are not finished, sorted or hashed
SET enable_hashagg = off;
BEGIN;
DECLARE c CURSOR FOR SELECT i / 100000 AS g, gpu_auc(distinct_scores, label) AS auc FROM ranked GROUP BY 1;
FETCH 2 FROM c;
SELECT count(*) > 0 AS files FROM own_files;
CLOSE c;
SELECT count(*) AS files FROM own_files;
DECLARE c CURSOR FOR SELECT i / 100000 AS g, gpu_auc(distinct_scores, label) AS auc FROM ranked GROUP BY 1;
FETCH 1 FROM c;
SELECT count(*) > 0 AS files FROM own_files;
ROLLBACK;
SELECT count(*) AS files FROM own_files;
RESET enable_hashagg;
SET enable_sort = off;
BEGIN;
DECLARE c CURSOR FOR SELECT i % 3 AS g, gpu_auc(distinct_scores, label) AS auc FROM ranked GROUP BY 1;
MOVE 1 FROM c;
SELECT count(*) AS files FROM own_files;
CLOSE c;
SELECT count(*) AS files FROM own_files;
DECLARE c CURSOR FOR SELECT i % 3 AS g, gpu_auc(distinct_scores, label) AS auc FROM ranked GROUP BY 1;
SAVEPOINT s;
MOVE 1 FROM c;
ROLLBACK TO s;
MOVE 1 FROM c;
SELECT count(*) AS files FROM own_files;
ROLLBACK;
SELECT count(*) AS files FROM own_files;
RESET enable_sort;
-- errors between rows, in the statement and in a block
SELECT gpu_auc(CASE WHEN i = 290000 THEN 'NaN' ELSE distinct_scores END, label) FROM ranked;
SELECT count(*) AS files FROM own_files;
DO $$
BEGIN
    PERFORM i % 2, gpu_auc(distinct_scores, 1 / (i - 290000) IS NOT NULL) FROM ranked GROUP BY i % 2;
EXCEPTION WHEN division_by_zero THEN
    RAISE NOTICE 'division by zero, % files', (SELECT count(*) FROM own_files);
    RAISE NOTICE '%', (SELECT gpu_auc(distinct_scores, label) FROM ranked) = (SELECT auc FROM by_ranks
        WHERE score = 'distinct_scores' AND condition = 'true');
END
$$;
SET temp_file_limit = '100kB';
\set VERBOSITY sqlstate
SELECT gpu_auc(distinct_scores, label) FROM ranked;
\set VERBOSITY default
RESET temp_file_limit;
SELECT count(*) AS files FROM own_files;
-- a window's frames stay in memory
SELECT gpu_auc(distinct_scores, label) OVER () = (SELECT auc FROM by_ranks WHERE score = 'distinct_scores' AND
    condition = 'true') AS same FROM ranked LIMIT 1;
SELECT count(*), count(*) FILTER (WHERE auc IS NOT DISTINCT FROM auc_by_ranks('ties', 'i <= ' || i)) AS same
FROM (SELECT i, gpu_auc(ties, label) OVER (ORDER BY i) AS auc FROM ranked WHERE i <= 2000) a WHERE i % 50 = 0;
SELECT count(*) AS files FROM own_files;
-- serialized states: what one process hands over is read by another; no size is a multiple of 16, as in 0.1.0
CREATE AGGREGATE auc_state(float8, boolean) (SFUNC = gpu_auc_accum, STYPE = internal, FINALFUNC = gpu_auc_serialize);
CREATE AGGREGATE auc_of_state(bytea, bytea) (SFUNC = bytea_string_agg_transfn, STYPE = internal,
    SERIALFUNC = bytea_string_agg_finalfn, DESERIALFUNC = gpu_auc_deserialize, COMBINEFUNC = gpu_auc_combine,
    FINALFUNC = gpu_auc_final, PARALLEL = SAFE);
CREATE TABLE states (state bytea);
-- each state is read by a worker, which hands it over as it is
CREATE FUNCTION auc_of_states(VARIADIC parts bytea[]) RETURNS float8 LANGUAGE plpgsql
    SET parallel_setup_cost = 0 SET parallel_tuple_cost = 0 SET min_parallel_table_scan_size = 0
    SET max_parallel_workers_per_gather = 2 SET enable_hashagg = off AS $$
DECLARE auc float8;
BEGIN
    TRUNCATE states;
    INSERT INTO states SELECT unnest(parts);
    SELECT auc_of_state(state, '') INTO auc FROM states;
    RETURN auc;
END
$$;
WITH s AS MATERIALIZED (SELECT n, score, auc_state(CASE score WHEN 'ties' THEN ties ELSE distinct_scores END, label) AS
        state FROM ranked, unnest(ARRAY[1, 2, 3, 7, 8, 100, 128, 129, 513, 5000]) n, unnest(ARRAY['ties', 'distinct'])
        score WHERE i <= n GROUP BY n, score)
SELECT count(*), bool_and(octet_length(state) % 16 <> 0) AS sizes FROM s;
SELECT auc_of_states(auc_state(distinct_scores, label)) = auc_by_ranks('distinct_scores', 'i <= 5000') AS distinct,
    auc_of_states(auc_state(ties, label)) = auc_by_ranks('ties', 'i <= 5000') AS ties,
    auc_of_states(auc_state(special, label)) = auc_by_ranks('special', 'i <= 5000') AS special,
    octet_length(auc_state(distinct_scores, label)) / 5000 AS bytes_of_distinct, octet_length(auc_state(ties, label)) AS
    bytes_of_ties FROM ranked WHERE i <= 5000;
-- states of 0.1.0: scores in ascending order, and the numbers of rows with labels 0 and 1, on a little-endian machine
CREATE FUNCTION reversed(b bytea) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT string_agg(substr(b, k, 1), '' ORDER BY k DESC) FROM generate_series(1, length(b)) k
$$;
CREATE FUNCTION tally(score float8, zeros bigint, ones bigint) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT reversed(float8send(score)) || reversed(substr(int8send(zeros), 5)) || reversed(substr(int8send(ones), 5))
$$;
SELECT auc_of_states((SELECT string_agg(tally(ties, zeros, ones), '' ORDER BY ties) FROM (SELECT ties,
        count(*) FILTER (WHERE NOT label) AS zeros, count(*) FILTER (WHERE label) AS ones
        FROM ranked WHERE i <= 20000 GROUP BY ties) t)) =
    auc_by_ranks('ties', 'i <= 20000') AS ties,
    auc_of_states((SELECT string_agg(tally(distinct_scores, (NOT label)::int, label::int), '' ORDER BY distinct_scores)
        FROM ranked WHERE i <= 3000)) = auc_by_ranks('distinct_scores', 'i <= 3000') AS distinct_scores;
SELECT auc_of_states('') AS no_rows, auc_of_states(tally(1, 1, 1)) AS one_score,
    auc_of_states(tally('-Infinity', 3, 0) || tally('-0', 1, 1) || tally('0', 1, 1) || tally('Infinity', 0, 1)) =
        (2 * 3 + 2 * 2 / 2.0 + 5) / (5.0 * 3) AS special,
    auc_of_states(tally(1, 4294967295, 4294967295) || tally(1, 4294967295, 4294967294) || tally(2, 1, 4294967295)) =
        ((8589934590.0 * 8589934589 / 2 + 8589934590.0 * 4294967295 + 4294967295 / 2.0) /
            (8589934591.0 * 12884901884.0))::float8 AS great_counts;
-- malformed states
CREATE FUNCTION error_of(state bytea) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM auc_of_states(state);
    RETURN 'none';
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE || ' ' || SQLERRM;
END
$$;
CREATE TABLE good AS SELECT auc_state(i::float8, i = 1) AS state FROM generate_series(1, 3) i;
SELECT encode(state, 'hex') AS state, error_of(state), auc_of_states(state) AS auc FROM good;
SELECT what, error_of(bad) FROM good, LATERAL (VALUES ('short', substr(state, 1, 8)), ('cut', substr(state, 1, 44)),
    ('longer', state || '\x01'), ('magic', set_byte(state, 0, 0)), ('size', set_byte(state, 4, 1)),
    ('negative size', set_byte(state, 11, 255)), ('no keys', set_byte(state, 20, 0)), ('keys', set_byte(state, 20, 3)),
    ('too many keys', set_byte(state, 21, 3)), ('counted', set_byte(state, 24, 2)),
    ('order', set_byte(state, 35, 255)), ('nan', set_byte(set_byte(state, 35, 0), 34, 0)),
    ('nan at the end', set_byte(state, 43, 255)),
    ('unordered tallies', tally(2, 1, 1) || tally(1, 1, 1)), ('nan tally', tally('NaN', 1, 1))) v(what, bad);
SELECT error_of(substr(state, 1, 4) || '\x1800000000000000' || '\x0000000000000000' || '\x0100000001000000' ||
    substr(state, 29, 8) || '\x0000000000000000') AS zero_count FROM good;
-- a state that was not handed over
SELECT auc_of_state(state, '') FROM good;
DROP AGGREGATE auc_state(float8, boolean);
DROP AGGREGATE auc_of_state(bytea, bytea);
DROP TABLE good, states, by_ranks, ranked;
DROP VIEW own_files;
DROP FUNCTION error_of, tally, reversed, auc_of_states, lines_of, auc_of, auc_by_ranks, uniform;
