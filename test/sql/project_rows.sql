-- gpu_project_rows(): projections of a query's vectors, with their ids.
CREATE TABLE embeddings AS SELECT i AS id,
    (SELECT array_agg((sin(i * 31 + j) * 1000)::int / 1000.0::real ORDER BY j)::real[]
    FROM generate_series(1, 50) j) AS v FROM generate_series(1, 3000) i;
-- results equal gpu_project()'s, in order
SELECT count(*), count(*) FILTER (WHERE r.projection IS DISTINCT FROM gpu_project(e.v, 8, 3)) AS wrong,
    bool_and(r.ordinality = r.id) AS in_order
FROM gpu_project_rows('SELECT id::bigint, v FROM embeddings ORDER BY id', 8, 3) WITH ORDINALITY r
JOIN embeddings e USING (id);
-- the session's process alone
SET max_parallel_workers_per_gather = 0;
SELECT count(*) FROM gpu_project_rows('SELECT id, v FROM embeddings', 8);
SELECT function, rows, features, workers FROM gpu_last_run();
RESET max_parallel_workers_per_gather;
-- few vectors per batch
SET gpureg.ring_size = '1MB';
SELECT count(*), count(*) FILTER (WHERE r.projection IS DISTINCT FROM gpu_project(e.v, 2000, 3, 0.01)) AS wrong
FROM gpu_project_rows('SELECT id, v FROM embeddings ORDER BY id', 2000, 3, 0.01) WITH ORDINALITY r
JOIN embeddings e USING (id);
RESET gpureg.ring_size;
-- ids of any type: bigint, and types that are cast to it by default
SELECT * FROM gpu_project_rows('SELECT id, v[1:3] FROM embeddings WHERE id <= 2', 2);
SELECT * FROM gpu_project_rows('SELECT id::smallint, v[1:3] FROM embeddings WHERE id <= 2', 2, 7);
SELECT * FROM gpu_project_rows('SELECT id, v[1:3] FROM embeddings WHERE id <= 2', 2, seed => 7);
SELECT * FROM gpu_project_rows('SELECT id, v[1:3] FROM embeddings WHERE id <= 2', 2, 7, 0.5);
SELECT * FROM gpu_project_rows('SELECT id, v[1:3] FROM embeddings WHERE id <= 2', 2, density => 0.5);
SELECT * FROM gpu_project_rows('SELECT ''no. '' || id, v[1:3] FROM embeddings WHERE id <= 2', 2, id => NULL::text);
SELECT * FROM gpu_project_rows('SELECT id, v[1:3] FROM embeddings WHERE id <= 2', 2, id => NULL::int, seed => 7);
SELECT * FROM gpu_project_rows('SELECT id, v[1:3] FROM embeddings WHERE id <= 2', 2, 7, NULL, NULL::int);
SELECT * FROM gpu_project_rows('SELECT ''no. '' || id, v[1:3] FROM embeddings WHERE id <= 2', 2, 7, 0.5,
    id => NULL::text);
SELECT * FROM gpu_project_rows('SELECT ''no. '' || id, v[1:3] FROM embeddings WHERE id <= 2', 2, id => NULL::text,
    seed => 7, density => 0.5);
SELECT * FROM gpu_project_rows('SELECT ''no. '' || id, v[1:3] FROM embeddings WHERE id <= 2', 2, id => NULL::text,
    density => 0.5, seed => 7);
SELECT * FROM gpu_project_rows('SELECT id / 7.0, v[1:3] FROM embeddings WHERE id <= 2', 2, 7::bigint, NULL,
    NULL::numeric);
SELECT id, pg_typeof(id) FROM gpu_project_rows('SELECT ARRAY[id, -id], v FROM embeddings WHERE id <= 2', 2,
    id => NULL::int[]);
SELECT id, pg_typeof(id) FROM gpu_project_rows('SELECT timestamptz ''2026-01-01 00:00+00'' + id * interval ''1 day'' '
    '> now(), v FROM embeddings WHERE id <= 1', 2, id => NULL::boolean);
SELECT (id).id, cardinality((id).v), projection = gpu_project((id).v, 2) AS same
FROM gpu_project_rows('SELECT e, v FROM embeddings e WHERE id <= 2', 2, id => NULL::embeddings);
SELECT gpu_project_rows('SELECT id, v[1:3] FROM embeddings WHERE id <= 2', 2);
-- vectors by their casts to real[]
SELECT bool_and(b.projection = c.projection AND c.projection = d.projection) AS same, count(*)
FROM gpu_project_rows('SELECT id, ARRAY(SELECT (x * 1000)::int FROM unnest(v) x) FROM embeddings WHERE id <= 50', 4) b
JOIN gpu_project_rows('SELECT id, ARRAY(SELECT (x * 1000)::int::float8 FROM unnest(v) x) FROM embeddings WHERE id <= '
    '50', 4) c USING (id)
JOIN gpu_project_rows('SELECT id, ARRAY(SELECT (x * 1000)::int::numeric FROM unnest(v) x) FROM embeddings WHERE id <= '
    '50', 4) d USING (id);
CREATE DOMAIN unit_vector AS real[] CHECK (cardinality(VALUE) = 3);
CREATE DOMAIN key AS bigint;
SELECT * FROM gpu_project_rows('SELECT id::key, v[1:3]::unit_vector FROM embeddings WHERE id <= 1', 2);
-- rows without a vector, without an id, and no rows
SELECT * FROM gpu_project_rows('SELECT NULLIF(id, 2), CASE WHEN id NOT IN (1, 3) THEN v[1:3] END FROM embeddings '
    'WHERE id <= 5', 2);
SELECT * FROM gpu_project_rows('SELECT id, NULL::real[] FROM embeddings WHERE id <= 2', 2);
SELECT * FROM gpu_project_rows('SELECT id, v FROM embeddings WHERE false', 2);
SELECT count(*), count(projection), min(id), max(id)
FROM gpu_project_rows('SELECT id || ''th'', CASE WHEN id % 1000 = 7 THEN v END FROM embeddings', 2, id => NULL::text);
-- any SELECT: joins, unions, CTEs, comments, a semicolon, a query within the query
SELECT count(*), count(projection)
FROM gpu_project_rows('WITH w AS (SELECT id, v FROM embeddings WHERE id < 100) SELECT id, v FROM w UNION ALL SELECT '
    '-a.id, b.v FROM w a JOIN w b USING (id) -- both
;', 3);
SELECT count(*), count(*) FILTER (WHERE r.projection
    IS DISTINCT FROM gpu_project(gpu_project(e.v, 20, 1), 3, 2)) AS wrong
FROM gpu_project_rows('SELECT id, gpu_project(v, 20, 1) FROM embeddings WHERE id <= 500', 3, 2) r
JOIN embeddings e USING (id);
SELECT count(*), count(*) FILTER (WHERE r.projection
    IS DISTINCT FROM gpu_project(gpu_project(e.v, 20, 1), 3, 2)) AS wrong
FROM gpu_project_rows('SELECT * FROM gpu_project_rows(''SELECT id, v FROM embeddings WHERE id <= 500'', 20, 1)', 3, 2) r
JOIN embeddings e USING (id);
CREATE TABLE projected AS SELECT * FROM gpu_project_rows('SELECT id, v FROM embeddings', 5);
SELECT attname, atttypid::regtype FROM pg_attribute WHERE attrelid = 'projected'::regclass AND attnum > 0
ORDER BY attnum;
-- any number of parallel workers, which project, or hand over vectors that are projected in batches
CREATE FUNCTION in_workers(n int, batches boolean, query text)
RETURNS TABLE (workers int, count bigint, wrong bigint, said boolean) LANGUAGE plpgsql
SET min_parallel_table_scan_size = 0 SET parallel_setup_cost = 0 SET parallel_tuple_cost = 0 AS $$
BEGIN
    PERFORM set_config('max_parallel_workers_per_gather', n::text, true),
    set_config('gpureg.debug_ring', batches::text, true);
    SELECT count(*), count(*) FILTER (WHERE r.projection IS DISTINCT FROM gpu_project(e.v, 24, 3)) INTO count, wrong
    FROM gpu_project_rows(query, 24, 3) r JOIN embeddings e USING (id);
    workers := n;
    --     the server decides how many workers start and have rows
    said := (SELECT l.workers BETWEEN 0 AND n FROM gpu_last_run() l WHERE function = 'gpu_project_rows'
        AND rows = in_workers.count AND features = 50);
    RETURN NEXT;
END $$;
SET gpureg.device = cpu;
SELECT batches, w.* FROM unnest(ARRAY[false, true]) batches, unnest(ARRAY[0, 1, 2, 4]) n,
    in_workers(n, batches, 'SELECT id, v FROM embeddings') w;
SELECT batches, w.* FROM unnest(ARRAY[false, true]) batches,
    in_workers(2, batches, 'SELECT id::numeric::bigint, v::float8[] FROM embeddings WHERE id % 3 > 0') w;
SELECT batches, w.* FROM unnest(ARRAY[false, true]) batches,
    in_workers(2, batches, 'SELECT id, v FROM embeddings WHERE id % 2 > 0 UNION ALL SELECT a.id, b.v FROM embeddings '
        'a JOIN embeddings b USING (id) WHERE id % 2 = 0') w;
RESET gpureg.device;
-- a join runs the function anew in each iteration
SELECT n, count(*), md5(string_agg(projection::text, ''
    ORDER BY id)) = md5((SELECT string_agg(gpu_project(v, n)::text, '' ORDER BY id) FROM embeddings
    WHERE id <= 20)) AS same
FROM generate_series(1, 3) n, LATERAL gpu_project_rows('SELECT id, v FROM embeddings WHERE id <= 20', n) GROUP BY n
ORDER BY n;
DROP FUNCTION in_workers;
DROP TABLE embeddings, projected;
