-- Bad input to projection and hashing: each message with its SQLSTATE.
\set SHOW_CONTEXT never
-- k, density
SELECT gpu_project('{1,2}', 0);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_project_sparse('{1}', '{2}', -1);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_project_rows('SELECT 1, ARRAY[1]', 0);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_feature_hash(ARRAY['a'], 0);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_feature_hash('{"a": 1}'::jsonb, -2147483648);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_project('{1,2}', 2147483647);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_feature_hash(ARRAY['a'], 134217728);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_project('{1,2}', 2, 0, 0);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_project('{1,2}', 2, 0, 1.0000001);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_project_sparse('{1}', '{2}', 2, 0, 'NaN');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_project_rows('SELECT 1, ARRAY[1]', 2, 0, -0.5);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_feature_hash(ARRAY['a'], 2, 0, 'Infinity');
\echo :LAST_ERROR_SQLSTATE
-- vectors: none, of three dimensions, with NULL, NaN or infinity; results beyond real, and beyond an array's size
SELECT gpu_project('{}', 2);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_project('{{{1,2}}}', 2);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_project('{1,NULL,2}', 2);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_project('{1,2,NaN}', 2);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_project('{{1,2},{Infinity,1}}', 2);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_project('{1,-Infinity}', 2);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_project('{3e38,3e38,3e38,3e38}', 2, 0, 1);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_project(array_fill(1::real, ARRAY[1000, 2]), 134218);
\echo :LAST_ERROR_SQLSTATE
-- sparse vectors: indexes, lengths, values
SELECT gpu_project_sparse('{0,-1}', '{1,2}', 2);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_project_sparse('{0,5}', '{1,2}', 2, dim => 5);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_project_sparse('{0}', '{1}', 2, dim => 0);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_project_sparse('{0,1}', '{1}', 2);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_project_sparse('{{0,1}}', '{1,2}', 2);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_project_sparse('{0,1}', '{{1},{2}}', 2);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_project_sparse('{0,NULL}', '{1,2}', 2);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_project_sparse('{0,1}', '{1,NULL}', 2);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_project_sparse('{0,1}', '{1,NaN}', 2);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_project_sparse('{0,1}', '{-Infinity,1}', 2);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_project_sparse('{1,1}', '{3e38,3e38}', 2, 0, 1);
\echo :LAST_ERROR_SQLSTATE
-- features to hash
SELECT gpu_feature_hash(ARRAY['a', NULL], 2);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_feature_hash('{{a,b}}'::text[], 2);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_feature_hash('{"a": {"b": 1}}'::jsonb, 2);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_feature_hash('{"a": 1, "tags": ["x"]}'::jsonb, 2);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_feature_hash('["a"]'::jsonb, 2);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_feature_hash('"a"'::jsonb, 2);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_feature_hash('{"a": 1e400}'::jsonb, 2);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_feature_hash('{"a": 1e300}'::jsonb, 2);
\echo :LAST_ERROR_SQLSTATE
-- arguments of the lemma's dimension
SELECT gpu_jl_min_dim(0);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_jl_min_dim(10, 0);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_jl_min_dim(10, 1);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_jl_min_dim(10, 'NaN');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_jl_min_dim(1000, 1e-5);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_jl_min_dim(1, 1e-300);
SELECT gpu_jl_min_dim(1000, 1e-9);
\echo :LAST_ERROR_SQLSTATE
-- queries: none, columns, types, lengths, more than one statement, writing, errors within
SELECT * FROM gpu_project_rows(NULL, 2);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_project_rows('SELECT 1, ARRAY[1]', NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_project_rows('SELECT 1, ARRAY[1]', 2, NULL::int);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_project_rows('SELECT 1', 2);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_project_rows('SELECT 1, ARRAY[1], 2', 2);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_project_rows('SELECT ''a''::text, ARRAY[1]', 2);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_project_rows('SELECT 1.5, ARRAY[1]', 2);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_project_rows('SELECT ''a''::text, ARRAY[1]', 2, id => NULL::int);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_project_rows('SELECT 1, ''{1}''::text', 2);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_project_rows('SELECT 1, 2', 2);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_project_rows('SELECT 1, ARRAY[true]', 2);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_project_rows('SELECT i, array_fill(1::real, ARRAY[i]) FROM generate_series(1, 2) i', 2);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_project_rows('SELECT 1, ARRAY[[1, 2]]', 2);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_project_rows('SELECT 1, ARRAY[]::real[]', 2);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_project_rows('SELECT 1, ARRAY[1, NULL]', 2);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_project_rows('SELECT 1, ''{NaN}''::float8[]', 2);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_project_rows('SELECT 1, ''{1e39}''::float8[]', 2);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_project_rows('SELECT 1, ARRAY[1]; SELECT 2, ARRAY[2]', 2);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_project_rows('', 2);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_project_rows('CREATE TABLE nothing ()', 2);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_project_rows('WITH d AS (DELETE FROM mtcars RETURNING 1 AS a, ARRAY[1] AS b) TABLE d', 2);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_project_rows('SELECT 1, ARRAY[mpg] FROM mtcars FOR UPDATE', 2);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_project_rows('SELECT no_such_column FROM mtcars', 2);
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM gpu_project_rows('SELECT i, ARRAY[1 / (i - 5000)] FROM generate_series(1, 10000) i', 2);
\echo :LAST_ERROR_SQLSTATE
-- the session goes on
SELECT gpu_project('{1,2}', 2),
    (SELECT count(*) FROM gpu_project_rows('SELECT i, ARRAY[i] FROM generate_series(1, 10000) i', 2));
