-- Random projection and feature hashing beside reading the same arrays, in one session, in rows per second; and sparse
-- rows in new sessions, which must draw the columns of S that they use. Targets were 20,000 dense rows of 4,096 per
-- second, 100,000 sparse ones of 100 nonzeros, and 50,000 rows of 100 tokens. There are a fiftieth of the variable rows
-- of dense rows, and a tenth of the others. Leaves the tables gpureg_bench_*.
\ir common.sql

-- Like pg_temp.report, but in rows per second.
CREATE FUNCTION pg_temp.report_rows(nrows bigint, names text[], queries text[]) RETURNS SETOF json LANGUAGE sql AS $$
    WITH m AS (SELECT * FROM pg_temp.medians(names, queries))
    SELECT json_build_object('section', 'projection', 'bench', m.name, 'rows', nrows, 'workers', workers,
        'seconds', round(m.median::numeric, 4),
                             'times_the_reading', round((m.median / r.median)::numeric, 2),
                             'rows_per_second', round(nrows / m.median), 'device', current_setting('gpureg.device'))
    FROM m, m r, setup WHERE r.name = names[1]
$$;

SELECT greatest(:rows / 50, 1) AS dense_rows, greatest(:rows / 10, 1) AS sparse_rows \gset
SELECT setseed(0.5) \g /dev/null
DROP TABLE IF EXISTS gpureg_bench_dense, gpureg_bench_sparse, gpureg_bench_sparse_100k, gpureg_bench_tokens,
    gpureg_bench_members,
    gpureg_bench_cold;
-- slices of a pool of random numbers, which compress as little as random numbers
CREATE UNLOGGED TABLE gpureg_bench_dense AS
SELECT id, (SELECT array_agg((random() - 0.5)::real) FROM generate_series(1, 65536))[o : o + 4095] AS v
FROM (SELECT id, 1 + floor(random() * 61440)::int AS o FROM generate_series(1, :dense_rows) id) r;
-- "+ 0 * id" makes the server draw the numbers anew for each row
CREATE UNLOGGED TABLE gpureg_bench_sparse AS
SELECT id, idx, val FROM generate_series(1, :sparse_rows) id,
    LATERAL (SELECT array_agg(floor(random() * 1000000)::bigint) AS idx, array_agg((random() - 0.5)::real) AS val
             FROM generate_series(1, 100 + 0 * id)) r;
CREATE UNLOGGED TABLE gpureg_bench_sparse_100k AS
SELECT id, idx, val FROM generate_series(1, :sparse_rows) id,
    LATERAL (SELECT array_agg(floor(random() * 100000)::bigint) AS idx, array_agg((random() - 0.5)::real) AS val
             FROM generate_series(1, 100 + 0 * id)) r;
-- 100 different words of 100,000
CREATE UNLOGGED TABLE gpureg_bench_tokens AS
SELECT id, tokens FROM generate_series(1, :sparse_rows) id,
    LATERAL (SELECT array_agg('word' || m * 1000 + floor(random() * 1000)::int) AS tokens
        FROM generate_series(0, 99 + 0 * id) m) r;
CREATE UNLOGGED TABLE gpureg_bench_members AS
SELECT id, (SELECT jsonb_object_agg(token, n % 5 + 1) FROM unnest(tokens) WITH ORDINALITY t (token, n)) AS members
FROM gpureg_bench_tokens;
VACUUM (ANALYZE, FREEZE) gpureg_bench_dense, gpureg_bench_sparse, gpureg_bench_sparse_100k, gpureg_bench_tokens,
    gpureg_bench_members;

SELECT * FROM pg_temp.report_rows(:dense_rows,
    ARRAY['reading real[4096]', 'gpu_project, 4,096 to 256', 'gpu_project_rows, 4,096 to 256'],
    ARRAY['SELECT sum(v[1]) FROM gpureg_bench_dense',
          'SELECT count(gpu_project(v, 256)) FROM gpureg_bench_dense',
          'SELECT count(projection) FROM gpu_project_rows(''SELECT id, v FROM gpureg_bench_dense'', 256)']);
SELECT json_build_object('last run', reason, 'read_seconds', round(read_seconds::numeric, 4),
                         'kernel_seconds', round(kernel_seconds::numeric, 4),
                         'total_seconds', round(total_seconds::numeric, 4))
FROM gpu_last_run();
-- One projection at a time: kept columns of several would share gpureg.projection_cache_size.
SELECT * FROM pg_temp.report_rows(:sparse_rows,
    ARRAY['reading bigint[100] and real[100]', 'gpu_project_sparse, 100 of 100,000 features to 256'],
    ARRAY['SELECT sum(idx[1] + val[1]) FROM gpureg_bench_sparse_100k',
          'SELECT count(gpu_project_sparse(idx, val, 256)) FROM gpureg_bench_sparse_100k']);
SELECT * FROM pg_temp.report_rows(:sparse_rows,
    ARRAY['reading bigint[100] and real[100]', 'gpu_project_sparse, 100 of 1,000,000 features to 256'],
    ARRAY['SELECT sum(idx[1] + val[1]) FROM gpureg_bench_sparse',
          'SELECT count(gpu_project_sparse(idx, val, 256)) FROM gpureg_bench_sparse']);
SELECT * FROM pg_temp.report_rows(:sparse_rows,
    ARRAY['reading bigint[100] and real[100]', 'gpu_project_sparse, 100 of 1,000,000 features to 256, dim => 1000000'],
    ARRAY['SELECT sum(idx[1] + val[1]) FROM gpureg_bench_sparse',
          'SELECT count(gpu_project_sparse(idx, val, 256, dim => 1000000)) FROM gpureg_bench_sparse']);
SELECT * FROM pg_temp.report_rows(:sparse_rows,
    ARRAY['reading text[100]', 'gpu_feature_hash, 100 tokens to 4,096',
        'gpu_feature_hash, 100 tokens to 4,096, density => 0.015625'],
    ARRAY['SELECT count(tokens[1]) FROM gpureg_bench_tokens',
          'SELECT count(gpu_feature_hash(tokens, 4096)) FROM gpureg_bench_tokens',
          'SELECT count(gpu_feature_hash(tokens, 4096, density => 0.015625)) FROM gpureg_bench_tokens']);
SELECT * FROM pg_temp.report_rows(:sparse_rows,
    ARRAY['reading jsonb of 100 members', 'gpu_feature_hash, jsonb of 100 members to 4,096'],
    ARRAY['SELECT count(members -> ''word0'' IS NULL) FROM gpureg_bench_members',
          'SELECT count(gpu_feature_hash(members, 4096)) FROM gpureg_bench_members']);

-- the GPU, if there is one: a batch has enough rows
SELECT count(*) > 0 AS has_gpu FROM gpu_devices() WHERE id >= 0 \gset
\if :has_gpu
SET gpureg.device = gpu;
SELECT * FROM pg_temp.report_rows(:dense_rows,
    ARRAY['reading real[4096]', 'gpu_project_rows, 4,096 to 256'],
    ARRAY['SELECT sum(v[1]) FROM gpureg_bench_dense',
          'SELECT count(projection) FROM gpu_project_rows(''SELECT id, v FROM gpureg_bench_dense'', 256)']);
SELECT json_build_object('last run', device, 'copy_seconds', round(copy_seconds::numeric, 4),
    'kernel_seconds', round(kernel_seconds::numeric, 4),
                         'read_seconds', round(read_seconds::numeric, 4),
                         'total_seconds', round(total_seconds::numeric, 4))
FROM gpu_last_run();
\endif

-- the first run in a session, in five sessions each
CREATE UNLOGGED TABLE gpureg_bench_cold (name text, seconds float8);
\set first_100k 'INSERT INTO gpureg_bench_cold SELECT \'gpu_project_sparse, 100 of 100,000 features to 256, '
\set first_100k :first_100k 'first run in a session\', pg_temp.seconds('
\set first_100k :first_100k '\'SELECT count(gpu_project_sparse(idx, val, 256)) FROM gpureg_bench_sparse_100k\');'
\set first_1m 'INSERT INTO gpureg_bench_cold SELECT \'gpu_project_sparse, 100 of 1,000,000 features to 256, '
\set first_1m :first_1m 'first run in a session\', pg_temp.seconds('
\set first_1m :first_1m '\'SELECT count(gpu_project_sparse(idx, val, 256)) FROM gpureg_bench_sparse\');'
\connect -
\ir common.sql
:first_100k
\connect -
\ir common.sql
:first_1m
\connect -
\ir common.sql
:first_100k
\connect -
\ir common.sql
:first_1m
\connect -
\ir common.sql
:first_100k
\connect -
\ir common.sql
:first_1m
\connect -
\ir common.sql
:first_100k
\connect -
\ir common.sql
:first_1m
\connect -
\ir common.sql
:first_100k
\connect -
\ir common.sql
:first_1m
SELECT json_build_object('section', 'projection', 'bench', name, 'rows', :sparse_rows, 'workers', workers,
    'seconds', round(median::numeric, 4),
                         'rows_per_second', round(:sparse_rows / median), 'device', current_setting('gpureg.device'))
FROM (SELECT name, percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) AS median FROM gpureg_bench_cold
    GROUP BY name) m, setup
ORDER BY median;
DROP TABLE gpureg_bench_cold;
