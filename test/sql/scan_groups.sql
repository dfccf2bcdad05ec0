-- The groups of a custom scan, in memory, in files, and exchanged among parallel workers, against the executor's.
SET gpureg.enable_scan = on;
CREATE TABLE grouped AS
SELECT i, i % 700 AS few, i / 60 AS clustered, (i * 7919) % 3000 AS many, 'group ' || i % 300 AS name,
       CASE WHEN i % 90 <> 0 THEN (i % 90)::numeric / 4 END AS part, i % 3 AS two, sin(i * 1.1) AS y,
       cos(i * 1.7) AS x1, CASE WHEN i % 11 <> 0 THEN (i * 31) % 101 END AS x2, i % 7 AS w
FROM generate_series(0, 17999) i;
ANALYZE grouped;
-- costs that make work in one process expensive if several can share it
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET cpu_operator_cost = 1000;
SET jit = off;
SET enable_material = off;
SET max_parallel_workers_per_gather = 2;
SET extra_float_digits = 1;

EXPLAIN (COSTS OFF) SELECT few, gpu_ols_agg(y, x1) FROM grouped GROUP BY few;
EXPLAIN (COSTS OFF) SELECT few, gpu_ols_agg(y, x1) FROM grouped GROUP BY few
HAVING (gpu_ols_agg(y, x1)).n > 3 ORDER BY few LIMIT 3;

-- A statement of keys and models with the scan and without: the number of groups, and of those that differ
CREATE FUNCTION compared(statement text, OUT exchanged bool, OUT ngroups bigint, OUT other bigint)
LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    exchanged := false;
    PERFORM set_config('gpureg.enable_scan', 'on', true);
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP
        exchanged := exchanged OR line LIKE '%Parallel Custom Scan (GpuregScan)%';
    END LOOP;
    EXECUTE format('CREATE TEMP TABLE ours AS SELECT k::text AS k, (m).* FROM (%s) s(k, m)', statement);
    PERFORM set_config('gpureg.enable_scan', 'off', true);
    EXECUTE format('CREATE TEMP TABLE theirs AS SELECT k::text AS k, (m).* FROM (%s) s(k, m)',
        replace(statement, 'FROM shared', 'FROM grouped'));
    PERFORM set_config('gpureg.enable_scan', 'on', true);
    SELECT count(*), count(*) FILTER (WHERE a.n IS DISTINCT FROM b.n OR a.n_skipped IS DISTINCT FROM b.n_skipped OR
        (a.k IS NULL AND b.k IS NULL) OR (a.coef IS NULL) <> (b.coef IS NULL) OR
        EXISTS (SELECT FROM unnest(a.coef, b.coef) c(c, d) WHERE abs(c - d) > 1e-11 * (abs(d) + 1)))
    FROM ours a FULL JOIN theirs b USING (k) INTO ngroups, other;
    DROP TABLE ours, theirs;
END $$;
CREATE TEMP TABLE statements AS SELECT * FROM (VALUES
    (1, 'a few', 'SELECT few, gpu_ols_agg(y, x1) FROM grouped GROUP BY few'),
    (2, 'in order', 'SELECT clustered, gpu_ols_agg(y, x1, x2) FROM grouped GROUP BY clustered'),
    (3, 'many', 'SELECT many, gpu_ols_agg(y, x1) FROM grouped GROUP BY many'),
    (4, 'texts', 'SELECT name, gpu_ols_agg(y, x1, x2) FROM grouped GROUP BY name'),
    (5, 'numerics', 'SELECT coalesce(part, -1), gpu_ols_agg(y, x1, x2) FROM grouped GROUP BY part'),
    (6, 'two keys', 'SELECT (name, two), gpu_ols_agg(y, x1) FROM grouped GROUP BY name, two'),
    (7, 'NULLs', 'SELECT many, gpu_ols_agg(y, x2) FROM grouped WHERE i % 22 = 0 GROUP BY many'),
    (8, 'weights', 'SELECT few, gpu_wls_agg(w, y, x1, x2) FROM grouped GROUP BY few'),
    (9, 'two aggregates', 'SELECT few, CASE WHEN (a).n > (b).n THEN a ELSE b END FROM (SELECT few,
        gpu_ols_agg(y, x1) AS a, gpu_ols_agg(y, x2) FILTER (WHERE two = 1) AS b FROM grouped GROUP BY few) s'),
    (10, 'none of some', 'SELECT many, gpu_ols_agg(y, x2) FILTER (WHERE two = 1) FROM grouped GROUP BY many'),
    (11, 'steps', $q$SELECT few, gpu_logreg_solve(gpu_logreg_step_agg('{}', y > 0, x1)) FROM grouped GROUP BY few$q$),
    (12, 'families', $q$SELECT name, gpu_logreg_solve(gpu_glm_step_agg('poisson', NULL, '{}', w, x1)) FROM grouped
        GROUP BY name$q$),
    (13, 'having', 'SELECT many, gpu_ols_agg(y, x1) FROM grouped GROUP BY many HAVING (gpu_ols_agg(y, x2)).n > 1'),
    (14, 'a filter', 'SELECT many, gpu_ols_agg(y, x1) FROM grouped WHERE two = 2 AND name > ''group 2'' GROUP BY many'),
    (15, 'no rows', 'SELECT few, gpu_ols_agg(y, x1) FROM grouped WHERE i < 0 GROUP BY few'),
    (16, 'again and again', 'SELECT (o, k), m FROM generate_series(1, 3) o, LATERAL (SELECT few AS k,
        gpu_ols_agg(y, x1) AS m FROM grouped WHERE i % 3 >= o - 1 GROUP BY few OFFSET 0) s'),
    (17, 'the same again', 'SELECT (o, k), m FROM generate_series(1, 3) o LEFT JOIN (SELECT few AS k,
        gpu_ols_agg(y, x1) AS m FROM grouped GROUP BY few) s ON k % 3 = o % 3 OR k < -o'),
    (18, 'aggregates beside', 'SELECT (many, count(*), count(x2), sum(part), max(name), avg(i), sum(i::bigint),
        bool_or(two = 1), max(w) FILTER (WHERE two = 0)), gpu_ols_agg(y, x1) FROM grouped GROUP BY many'),
    (19, 'in order, beside', 'SELECT (clustered, count(*), avg(x2::bigint), min(name), stddev(w)),
        gpu_ols_agg(y, x1) FROM grouped GROUP BY clustered'))
    s(id, what, statement);

-- the first process to read waits, so that others have time to start
CREATE VIEW shared AS
SELECT * FROM grouped WHERE CASE WHEN i % 6000 = 0 THEN pg_sleep(0.03)::text IS NOT NULL ELSE true END;
UPDATE statements SET statement = replace(statement, 'FROM grouped', 'FROM shared');

SELECT what, compared(statement) FROM statements ORDER BY id;
-- little memory: groups and rows go to files, in several rounds
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT what, compared(statement) FROM statements ORDER BY id;
-- workers that don't start, or work without the leader
SET max_parallel_workers = 0;
SELECT what, compared(statement) FROM statements WHERE id IN (1, 3, 9, 17) ORDER BY id;
RESET max_parallel_workers;
SET parallel_leader_participation = off;
SELECT what, compared(statement) FROM statements WHERE id IN (1, 3, 9, 17) ORDER BY id;
RESET parallel_leader_participation;
-- one process
UPDATE statements SET statement = replace(statement, 'FROM shared', 'FROM grouped');
SET max_parallel_workers_per_gather = 0;
SELECT what, compared(statement) FROM statements ORDER BY id;
RESET work_mem;
SELECT what, compared(statement) FROM statements ORDER BY id;
SET max_parallel_workers_per_gather = 2;

-- values of four bytes, whose datums from a column and from a function may differ in their upper bits
CREATE TABLE narrow AS SELECT i, t, hashtext(t) AS h, (3000000000 + i % 3)::oid AS o, sin(i) AS y, cos(i * 1.7) AS x
FROM generate_series(1, 9000) i, LATERAL (SELECT 'text ' || (i * 7) % 9 AS t) s;
ANALYZE narrow;
SELECT count(*), sum((m).n) FROM (SELECT coalesce(CASE WHEN i % 2 = 0 THEN h END, hashtext(t)) AS k,
    gpu_ols_agg(y, x) AS m FROM narrow GROUP BY 1) s;
SELECT count(*), sum((m).n) FROM (SELECT CASE WHEN i % 2 = 0 THEN o ELSE ('300000000' || i % 3)::oid END AS k,
    gpu_ols_agg(y, x) AS m FROM narrow GROUP BY 1) s;
DROP TABLE narrow;

-- EXPLAIN shows records in files. Other processes may start too late.
CREATE FUNCTION analyzed(statement text, ntimes int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR k IN 1 .. ntimes LOOP
        FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || statement LOOP
            IF line ~ 'Records' THEN RETURN regexp_replace(trim(line), ': [1-9]\d*', ': some'); END IF;
        END LOOP;
    END LOOP;
    RETURN 'nothing';
END $$;
SELECT analyzed('SELECT many, gpu_ols_agg(y, x1) FROM shared GROUP BY many', 100);
SET max_parallel_workers_per_gather = 0;
SELECT analyzed('SELECT many, gpu_ols_agg(y, x1) FROM grouped GROUP BY many', 1);
SET work_mem = '64kB';
SELECT analyzed('SELECT many, gpu_ols_agg(y, x1) FROM grouped GROUP BY many', 1);
-- the memory of groups, with few and many rows in each, keeps to its limit
CREATE FUNCTION memory_of(statement text, kb int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    PERFORM set_config('work_mem', kb || 'kB', false);
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || statement LOOP
        IF line ~ 'Memory Usage' THEN RETURN substring(line from '\d+'); END IF;
    END LOOP;
END $$;
SELECT kb, every, memory_of(format('SELECT i / %s, gpu_ols_agg(y, x1), gpu_ols_stats_agg(y, x1, y * y, x1 * x1)
    FROM grouped GROUP BY 1', every), kb) BETWEEN 1 AND 1.1 * kb AS keeps
FROM (VALUES (128), (256), (1024), (4096)) m(kb), (VALUES (1), (3), (20)) r(every)
ORDER BY kb, every;
DROP FUNCTION memory_of;
RESET work_mem;
SET max_parallel_workers_per_gather = 2;

-- Results that aren't read to their end
SELECT count(*) FROM (SELECT many, gpu_ols_agg(y, x1) FROM shared GROUP BY many LIMIT 10) s;
SELECT count(*) FROM generate_series(1, 3) o,
    LATERAL (SELECT few, gpu_ols_agg(y, x1) FROM shared WHERE i > o GROUP BY few LIMIT 5) s;
BEGIN;
DECLARE c CURSOR FOR SELECT many, gpu_ols_agg(y, x1) FROM shared GROUP BY many;
FETCH 2 FROM c \g /dev/null
CLOSE c;
COMMIT;

-- Errors come through from any row
INSERT INTO grouped (i, few, many, y, x1, w) VALUES (20000, 3, 5, 1, 1, -1), (20001, 4, 6, 'NaN', 1, 1);
CREATE FUNCTION failing(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('SELECT max((m).n) FROM (%s) s(k, m)', statement);
    RETURN 'none';
EXCEPTION WHEN OTHERS THEN
    RETURN sqlstate || ': ' || sqlerrm;
END $$;
SELECT failing('SELECT many, gpu_wls_agg(w, y, x1) FROM shared WHERE i < 20001 GROUP BY many');
SELECT failing('SELECT few, gpu_ols_agg(y, x1) FROM shared GROUP BY few');
SELECT failing('SELECT few, gpu_ols_agg(y, 1 / (i - 9000)) FROM shared WHERE i < 18000 GROUP BY few');
SET work_mem = '64kB';
SELECT failing('SELECT many, gpu_wls_agg(w, y, x1) FROM shared WHERE i < 20001 GROUP BY many');
SELECT failing('SELECT few, gpu_ols_agg(y, x1) FROM shared GROUP BY few');
RESET work_mem;
RESET hash_mem_multiplier;

DROP VIEW shared;
DROP TABLE grouped;
DROP FUNCTION compared, analyzed, failing;
