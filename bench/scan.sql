-- The cost of a regression that is bound by reading rows: beside PostgreSQL's sums of the same columns, and count(*),
-- over gpureg_bench (rows.sql) and over tables that are harder to read. Targets are for one process, or for parallel
-- workers. Leaves nothing but gpureg_bench. Variables: rows, workers.
\ir common.sql
-- A machine of two cores has one worker.
SELECT workers = 0 AS one_process, CASE workers WHEN 0 THEN 0.5 WHEN 1 THEN 0.55 ELSE 0.6 END AS share
FROM setup \gset

-- Adds a fit of the columns, the response last, from source, and the sums of these columns as its yardstick.
CREATE FUNCTION pg_temp.beside_sums(what text, source text, at_most float8,
                                    columns text[] DEFAULT '{x1,x2,x3,x4,x5,x6,x7,x8,y}')
RETURNS void LANGUAGE sql AS $$
    INSERT INTO cases (bench, query)
    SELECT 'sums of 9 columns' || what, format('SELECT %s FROM %s', pg_temp.sums(columns), source);
    INSERT INTO cases (bench, query, settings, yardstick, at_most)
    SELECT v.bench || what, v.query, settings, 'sums of 9 columns' || what, at_most
    FROM concat_ws(', ', columns[9], array_to_string(columns[:8], ', ')) c,
         LATERAL (VALUES ('gpu_ols_agg', format('SELECT gpu_ols_agg(%s) FROM %s', c, source), '{}'::jsonb),
                         ('gpu_ols_fit', format('SELECT gpu_ols_fit(%L)', format('SELECT %s FROM %s', c, source)),
                          '{"gpureg.device": "cpu"}')) v (bench, query, settings)
$$;

INSERT INTO cases (bench, query) VALUES ('count(*)', 'SELECT count(*) FROM gpureg_bench');
SELECT pg_temp.beside_sums('', 'gpureg_bench', :share) \g /dev/null
INSERT INTO cases (bench, query, settings, yardstick, at_most)
SELECT format('gpu_%s_fit', f),
       format('SELECT gpu_%s_fit(''SELECT y, x1, x2, x3, x4, x5, x6, x7, x8 FROM gpureg_bench'')', f),
       jsonb_build_object('gpureg.device', device), 'sums of 9 columns',
       CASE WHEN :'one_process' THEN at_most_alone ELSE at_most END
FROM (VALUES ('ols', 'gpu', 0.45, 0.5), ('logreg', 'gpu', 0.6, NULL), ('logreg', 'cpu', 4.5, 2.2))
         v (f, device, at_most, at_most_alone);
INSERT INTO cases (bench, query, yardstick, at_most) VALUES
    ('gpu_ols(array_agg(ARRAY[x1, .., x8]), array_agg(y))',
     'SELECT gpu_ols(array_agg(ARRAY[x1, x2, x3, x4, x5, x6, x7, x8]), array_agg(y)) FROM gpureg_bench',
     'sums of 9 columns', 0.65);
SELECT pg_temp.run_cases(5) \g /dev/null
SELECT pg_temp.lines('scan', :rows, 8);
-- The GPU's result with count(*) as the yardstick.
UPDATE results SET yardstick = 'count(*)', at_most = 1 WHERE bench = 'gpu_ols_fit' AND device = 'gpu';
SELECT line FROM pg_temp.lines('scan', :rows, 8) line WHERE line ->> 'yardstick' = 'count(*)';

SELECT pg_temp.beside_sums(' WHERE x1 < 0.5', 'gpureg_bench WHERE x1 < 0.5', 0.5), pg_temp.run_cases(5) \g /dev/null
SELECT pg_temp.lines('scan', :rows, 8);

-- Tables whose columns aren't at fixed offsets, or are only a part of the rows.
CREATE FUNCTION pg_temp.finish(tables text[], workers int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    t text;
BEGIN
    IF workers >= 0 THEN
        FOREACH t IN ARRAY tables LOOP
            EXECUTE format('ALTER TABLE %I SET (parallel_workers = %s)', t, workers);
        END LOOP;
    END IF;
    PERFORM pg_temp.warm(tables);
END
$$;

SELECT setseed(0.5) \g /dev/null
DROP TABLE IF EXISTS gpureg_bench_text;
CREATE UNLOGGED TABLE gpureg_bench_text AS SELECT repeat('x', 1 + floor(20 * random())::int) AS t, * FROM gpureg_bench;
VACUUM (ANALYZE, FREEZE) gpureg_bench_text;
SELECT pg_temp.finish('{gpureg_bench_text}', :workers) \g /dev/null
SELECT pg_temp.beside_sums(', a text in front', 'gpureg_bench_text', 0.7), pg_temp.run_cases(5) \g /dev/null
SELECT pg_temp.lines('scan', :rows, 8);
DROP TABLE gpureg_bench_text;

DROP TABLE IF EXISTS gpureg_bench_nulls;
CREATE UNLOGGED TABLE gpureg_bench_nulls AS
SELECT x1, x2, CASE WHEN random() >= 0.05 THEN x3 END AS x3, x4, x5, x6, x7, x8, y FROM gpureg_bench;
VACUUM (ANALYZE, FREEZE) gpureg_bench_nulls;
SELECT pg_temp.finish('{gpureg_bench_nulls}', :workers) \g /dev/null
SELECT pg_temp.beside_sums(', 5% NULL in one', 'gpureg_bench_nulls', 0.7), pg_temp.run_cases(5) \g /dev/null
SELECT pg_temp.lines('scan', :rows, 8);
DROP TABLE gpureg_bench_nulls;

DROP TABLE IF EXISTS gpureg_bench_parts;
CREATE TABLE gpureg_bench_parts (LIKE gpureg_bench) PARTITION BY HASH (x8);
SELECT format('CREATE UNLOGGED TABLE gpureg_bench_part_%s PARTITION OF gpureg_bench_parts '
              'FOR VALUES WITH (MODULUS 16, REMAINDER %1$s)', i) FROM generate_series(0, 15) i \gexec
INSERT INTO gpureg_bench_parts SELECT * FROM gpureg_bench;
VACUUM (ANALYZE, FREEZE) gpureg_bench_parts;
SELECT pg_temp.finish(array_agg('gpureg_bench_part_' || i), :workers) FROM generate_series(0, 15) i \g /dev/null
SELECT pg_temp.beside_sums(', 16 partitions', 'gpureg_bench_parts', 0.7), pg_temp.run_cases(5) \g /dev/null
SELECT pg_temp.lines('scan', :rows, 8);
DROP TABLE gpureg_bench_parts;

-- A tenth of the rows, which takes as much room.
SELECT greatest(:rows / 10, 10000) AS hundred_rows \gset
DROP TABLE IF EXISTS gpureg_bench_hundred;
SELECT format('CREATE UNLOGGED TABLE gpureg_bench_hundred AS SELECT %s FROM generate_series(1, %s)',
              string_agg('random() AS c' || i, ', ' ORDER BY i), :hundred_rows) FROM generate_series(1, 100) i \gexec
VACUUM (ANALYZE, FREEZE) gpureg_bench_hundred;
SELECT pg_temp.finish('{gpureg_bench_hundred}', :workers) \g /dev/null
SELECT pg_temp.beside_sums(', of 100 columns', 'gpureg_bench_hundred', 0.7, '{c11,c22,c33,c44,c55,c66,c77,c88,c99}'),
       pg_temp.run_cases(5) \g /dev/null
SELECT pg_temp.lines('scan', :hundred_rows, 8);
DROP TABLE gpureg_bench_hundred;

-- Arrays stored outside their table, whose sum of one element must fetch them whole. They are slices of a pool of
-- random numbers, which compress as little as random numbers.
SELECT greatest(:rows / 50, 2000) AS real_rows \gset
DROP TABLE IF EXISTS gpureg_bench_real;
CREATE UNLOGGED TABLE gpureg_bench_real (y float8, v real[]);
ALTER TABLE gpureg_bench_real ALTER v SET STORAGE EXTERNAL;
INSERT INTO gpureg_bench_real
SELECT random(), (SELECT array_agg(random()::real) FROM generate_series(1, 65536))[o : o + 999]
FROM (SELECT 1 + floor(random() * 64000)::int AS o FROM generate_series(1, :real_rows)) r;
VACUUM (ANALYZE, FREEZE) gpureg_bench_real;
SELECT pg_temp.finish('{gpureg_bench_real}', :workers) \g /dev/null
INSERT INTO cases (bench, query)
VALUES ('sum of the first of 1,000 real', 'SELECT sum(v[1]) FROM gpureg_bench_real');
-- On the CPU, forming the products takes many times as long as reading.
INSERT INTO cases (bench, query, settings, yardstick, at_most)
SELECT 'gpu_ols_fit, 1,000-element real[]', 'SELECT gpu_ols_fit(''SELECT y, v FROM gpureg_bench_real'')',
       jsonb_build_object('gpureg.device', device), 'sum of the first of 1,000 real', at_most
FROM (VALUES ('gpu', 1.3), ('cpu', NULL)) v (device, at_most);
SELECT pg_temp.run_cases(3) \g /dev/null
SELECT pg_temp.lines('scan', :real_rows, 1000);
DROP TABLE gpureg_bench_real;

-- A model per group, like groups.sql, of all rows: once with enough work_mem that nothing is spilled, and once with
-- PostgreSQL's default, in which neither ours nor the sums fit.
DROP TABLE IF EXISTS gpureg_bench_groups;
CREATE UNLOGGED TABLE gpureg_bench_groups AS SELECT floor(random() * 10000)::int AS g, * FROM gpureg_bench;
VACUUM (ANALYZE, FREEZE) gpureg_bench_groups;
SELECT pg_temp.finish('{gpureg_bench_groups}', :workers) \g /dev/null
INSERT INTO cases (bench, query, settings, yardstick, at_most)
SELECT bench || names.suffix, format('SELECT g, %s FROM gpureg_bench_groups GROUP BY g', what),
       jsonb_build_object('work_mem', work_mem), yardstick || names.suffix, at_most
FROM unnest('{256MB,4MB}'::text[]) work_mem, LATERAL (SELECT ', 10,000 groups, work_mem ' || work_mem AS suffix) names,
     (VALUES ('avg(y)', 'avg(y)', NULL, NULL),
             ('sums of all 54 products and columns', pg_temp.sums_and_products('{x1,x2,x3,x4,x5,x6,x7,x8,y}'),
              NULL, NULL),
             ('gpu_ols_agg', '(gpu_ols_agg(y, x1, x2, x3, x4, x5, x6, x7, x8)).coef',
              'sums of all 54 products and columns', 0.6)) v (bench, what, yardstick, at_most);
SELECT pg_temp.run_cases(5) \g /dev/null
SELECT pg_temp.lines('scan', :rows, 8);
UPDATE results SET yardstick = replace(yardstick, 'sums of all 54 products and columns', 'avg(y)'), at_most = 2.5
WHERE bench ~ '^gpu';
SELECT line FROM pg_temp.lines('scan', :rows, 8) line WHERE line ->> 'yardstick' ~ '^avg';
DROP TABLE gpureg_bench_groups;
