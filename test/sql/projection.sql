-- Random projection: the matrix and the results to the bit, dense, sparse, in batches, with any cache.
-- S column by column, against an implementation in Python: a one-hot vector shows its column
CREATE TABLE pinned (kind text, k bigint, seed bigint, density float8, n bigint, recipe text, want text);
\copy pinned FROM 'test/data/projection.csv' WITH (FORMAT csv, HEADER)
WITH drawn AS (
    SELECT p.*, gpu_project_sparse(ARRAY[n], ARRAY[1]::real[], k::int, seed, density) AS y FROM pinned p
    WHERE kind = 'column' AND k <= 20000
), listed AS (
    SELECT want, coalesce((SELECT string_agg(CASE WHEN v > 0 THEN '+' ELSE '-' END || i - 1, ' ' ORDER BY i)
        FROM unnest(y) WITH ORDINALITY u(v, i) WHERE v <> 0), '') AS got,
        (SELECT count(*) FROM unnest(y) v WHERE abs(v) NOT IN (0, (1 / sqrt(k * density))::real)) AS odd
    FROM drawn
)
SELECT count(*) > 300 AS columns, count(*) FILTER (WHERE got IS DISTINCT FROM coalesce(want, '')) AS wrong,
    sum(odd) AS odd FROM listed;
-- a whole S and its results, pinned, as stored projections depend on every bit
CREATE FUNCTION vector(dim int, salt int DEFAULT 0) RETURNS real[] LANGUAGE sql IMMUTABLE AS $$
    SELECT array_agg((((j + 1) * (j + salt + 3) % 1000003 * 2654435761 % 1000003 - 500001) / 1024.0)::real ORDER BY j)
    FROM generate_series(0::bigint, dim - 1) j
$$;
SELECT dim, k, seed, density, md5(array_send(gpu_project(vector(dim), k, seed, density)))
FROM (VALUES (1, 1, 0, NULL::float8), (1, 7, 0, NULL), (5, 3, -1, NULL), (100, 16, 1, 1), (1000, 100, 2, 0.5),
    (4096, 256, 0, NULL), (4096, 256, 42, 1), (300, 5000, 7, 0.01),
    (65536, 32, 0, NULL), (65537, 32, 0, NULL), (140000, 64, 9223372036854775807, NULL),
    (200000, 8, -9223372036854775808, 1e-4)) AS t(dim, k, seed, density);
SELECT md5(string_agg(array_send(gpu_project_sparse(ARRAY[j], ARRAY[1]::real[], 64, 5)), ''
    ORDER BY j)) AS default_of_sparse FROM generate_series(0, 4999) j;
SELECT md5(string_agg(array_send(gpu_project_sparse(ARRAY[j * 1000000007], ARRAY[1]::real[], 1000, 6,
    dim => 1000000000000000)), '' ORDER BY j)) AS with_dim FROM generate_series(0::bigint, 4999) j;
-- dense and sparse vectors give the same, in any order, with zeros or without, with repeated columns
CREATE TABLE shapes AS SELECT dim, k, p, vector(dim, dim) AS x
FROM unnest(ARRAY[1, 2, 31, 1000, 65536, 65537, 131073]) dim, unnest(ARRAY[1, 16, 300]) k,
    unnest(ARRAY[NULL, 1, 0.3, 0.001]) p WHERE dim <= 1000 OR k = 16 AND p IN (0.3, 0.001);
CREATE FUNCTION sparse(x real[], k int, p float8, dim bigint, ordering text) RETURNS real[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    y real[];
BEGIN
    EXECUTE format('SELECT gpu_project_sparse(array_agg(j - 1 ORDER BY %1$s), array_agg(v ORDER BY %1$s), $2, 3, $3, '
        '$4) FROM unnest($1) WITH ORDINALITY u(v, j)', ordering)
        INTO y USING x, k, p, dim;
    RETURN y;
END
$$;
SELECT count(*), count(*) FILTER (WHERE dense IS DISTINCT FROM sparse(x, k, p, dim, 'j')) AS wrong,
    count(*) FILTER (WHERE dim <= 1000 AND dense IS DISTINCT FROM sparse(x, k, p, dim, 'j DESC')) AS wrong_backwards,
    count(*) FILTER (WHERE dim <= 1000 AND dense IS DISTINCT FROM sparse(x, k, p, dim, 'v, j')) AS wrong_shuffled
FROM (SELECT *, gpu_project(x, k, 3, p) AS dense FROM shapes) s;
SELECT gpu_project('{0,1.5,0,0,-2,0}', 4, 1) = gpu_project_sparse('{1,4}', '{1.5,-2}', 4, 1, dim => 6) AS without_zeros,
    gpu_project('{0,1.5,0,0,-2,0}', 4, 1) = gpu_project_sparse('{4,1,4,4,1}', '{-1,1,-3,2,0.5}', 4, 1,
        dim => 6) AS repeated,
    gpu_project_sparse('{7,7,7,8}', '{1e30,-1e30,1,2}', 4, 1) = gpu_project_sparse('{8,7,7,7}', '{2,1,1e30,-1e30}',
        4, 1) AS repeated_in_any_order,
    gpu_project_sparse('{}', '{}', 3) = '{0,0,0}' AS no_columns;
-- one vector or many at a time
SELECT n, dim, k, count(*) FILTER (WHERE gpu_project(x, k, 1, p) IS DISTINCT FROM batch[i:i]) AS wrong,
    array_dims(max(batch)) AS dims
FROM (VALUES (1, 10, 3, NULL::float8), (7, 100, 33, NULL), (8, 100, 33, 0.2), (9, 1000, 64, NULL), (33, 100, 5, 1),
    (12, 65600, 4, NULL)) AS s(n, dim, k, p),
    LATERAL (SELECT gpu_project(array_agg(vector(dim, i) ORDER BY i), k, 1, p) AS batch FROM generate_series(1, n) i) b,
    LATERAL (SELECT i, ARRAY[vector(dim, i)] AS x FROM generate_series(1, n) i) r
GROUP BY n, dim, k ORDER BY n;
SELECT gpu_project(vector(100, 1), 3) = (SELECT array_agg(v)
    FROM unnest(gpu_project(ARRAY[vector(100, 1)], 3)) v) AS vector_or_row;
-- any part of S in the cache: nothing, some, all; one after the other in a session
CREATE TABLE kept AS SELECT gpu_project(x, k, 3, p) AS dense, sparse(x, k, p, dim, 'j') AS sparse, * FROM shapes;
SET gpureg.projection_cache_size = 0;
SELECT count(*) FILTER (WHERE dense IS DISTINCT FROM gpu_project(x, k, 3, p) OR sparse
    IS DISTINCT FROM sparse(x, k, p, dim, 'j')) AS wrong FROM kept WHERE dim <= 1000;
SET gpureg.projection_cache_size = '300kB';
SELECT count(*) FILTER (WHERE dense IS DISTINCT FROM gpu_project(x, k, 3, p) OR sparse
    IS DISTINCT FROM sparse(x, k, p, dim, 'j')) AS wrong FROM kept WHERE dim <= 1000;
RESET gpureg.projection_cache_size;
SELECT count(*) FILTER (WHERE dense IS DISTINCT FROM gpu_project(x, k, 3, p) OR sparse
    IS DISTINCT FROM sparse(x, k, p, dim, 'j')) AS wrong FROM kept;
-- a matrix that was drawn for short vectors serves long ones, and the reverse
SELECT bool_and(gpu_project(vector(dim), 20, 11, 0.1) = sparse_of) AS any_length
FROM unnest(ARRAY[10, 100, 50, 70000, 60, 66000, 65536]) WITH ORDINALITY AS t(dim, i),
    LATERAL (SELECT gpu_project_sparse(array_agg(j - 1), array_agg(v), 20, 11, 0.1) AS sparse_of
        FROM unnest(vector(dim)) WITH ORDINALITY u(v, j)) s;
-- projections are linear up to rounding; another density, seed or k is another matrix
SELECT max(abs(a + b - c)) < 1e-3 AS linear
FROM unnest(gpu_project(vector(500, 1), 50), gpu_project(vector(500, 2), 50),
    gpu_project((SELECT array_agg(u + v) FROM unnest(vector(500, 1), vector(500, 2)) t(u, v)), 50)) AS t(a, b, c);
SELECT count(DISTINCT y) AS different FROM (VALUES (gpu_project(vector(200), 20)), (gpu_project(vector(200), 20, 1)),
    (gpu_project(vector(200), 20, -1)),
    (gpu_project(vector(200), 20, 4294967296)), (gpu_project(vector(200), 20, 0, 0.08))) AS t(y);
-- integers, numeric, float8 through its cast; other lower bounds; k larger than D; D = 1
SELECT gpu_project(ARRAY[1, 2, 3], 2) = gpu_project('{1,2,3}'::real[], 2) AS int4,
    gpu_project(ARRAY[1, 2, 3]::bigint[], 2) = gpu_project('{1,2,3}'::real[], 2) AS int8,
    gpu_project(ARRAY[1.5, 2, 3], 2) = gpu_project('{1.5,2,3}'::real[], 2) AS numeric,
    gpu_project(ARRAY[1.1, 2, 3]::float8[]::real[], 2) = gpu_project('{1.1,2,3}', 2) AS float8,
    gpu_project('[5:7]={1,2,3}', 2) = gpu_project('{1,2,3}', 2) AS lower_bound,
    gpu_project_sparse('[-1:1]={0,1,2}', '[7:9]={1,2,3}', 2, dim => 3) = gpu_project('{1,2,3}', 2) AS lower_bounds,
    gpu_project('[2:3][5:6]={{1,2},{3,4}}', 2) = gpu_project('{{1,2},{3,4}}', 2) AS lower_bounds_of_rows;
SELECT gpu_project('{3}', 4), gpu_project('{3}', 1), gpu_project('{0,0}', 3), cardinality(gpu_project('{1,2}', 10000));
-- NULL arguments
SELECT gpu_project(NULL, 3) IS NULL AS x, gpu_project('{1}', NULL) IS NULL AS k,
    gpu_project('{1}', 1, NULL) IS NULL AS seed, gpu_project_sparse(NULL, '{1}', 2) IS NULL AS idx,
    gpu_project_sparse('{1}', NULL, 2) IS NULL AS val, gpu_jl_min_dim(NULL) IS NULL AS n;
-- the number of nonzeros, and their signs, follow the law to five standard deviations; no rare feature is lost
SELECT abs(nonzeros - d * k * p) < 5 * sqrt(d * k * p * (1 - p)) AS nonzeros,
    abs(positives - nonzeros / 2) < 5 * sqrt(nonzeros / 4) AS signs
FROM (SELECT 5000 AS d, 100 AS k, p, count(*) FILTER (WHERE v IS DISTINCT FROM 0)::float8 AS nonzeros,
    count(*) FILTER (WHERE v > 0)::float8 AS positives
      FROM unnest(ARRAY[0.003, 0.05, 0.25, 0.7]) p, generate_series(1, 5000) j,
      unnest(gpu_project_sparse(ARRAY[j], '{1}', 100, 8, p)) v GROUP BY p) t;
SELECT count(*) FILTER (WHERE gpu_project_sparse(ARRAY[j * 12345678901], '{1}', k) = array_fill(0::real,
    ARRAY[k])) AS lost
FROM unnest(ARRAY[1, 16, 64, 256]) k, generate_series(1, 20000) j;
-- distances among 100 points, to eps; on average to three standard deviations (of 300 columns with about 13 nonzeros
-- each)
CREATE TABLE points AS SELECT i, x, gpu_project(x, gpu_jl_min_dim(100, 0.5)::int) AS y
FROM (SELECT i, vector(300, i * 1000) AS x FROM generate_series(1, 100) i) t;
SELECT gpu_jl_min_dim(100, 0.5) AS k, count(*) AS pairs, count(*) FILTER (WHERE abs(ratio - 1) > 0.5) AS beyond_eps,
    abs(avg(ratio) - 1) < 0.06 AS on_average
FROM points a JOIN points b ON a.i < b.i,
LATERAL (SELECT (SELECT sum((u - v)::float8 ^ 2) FROM unnest(a.y, b.y) t(u, v)) / (SELECT sum((u - v)::float8 ^ 2)
    FROM unnest(a.x, b.x) t(u, v)) AS ratio) r;
-- the dimension by the lemma of Johnson and Lindenstrauss equals scikit-learn's
CREATE TABLE jl (n bigint, eps float8, k int);
\copy jl FROM 'test/data/jl.csv' WITH (FORMAT csv, HEADER)
SELECT count(*) > 50 AS many, count(*) FILTER (WHERE gpu_jl_min_dim(n, eps) IS DISTINCT FROM greatest(k, 1)) AS wrong FROM jl;
SELECT gpu_jl_min_dim(1000000), gpu_jl_min_dim(1000000, 0.5), gpu_jl_min_dim(1);
-- the device of the last projection
SET gpureg.device = cpu;
SELECT cardinality(gpu_project(ARRAY[vector(10), vector(10, 1)], 3));
SELECT function, device, reason, rows, features, bytes_to_device FROM gpu_last_run();
