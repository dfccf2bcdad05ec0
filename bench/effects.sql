-- Fits with absorbed effects, in one process: the designs of fixest's and pyfixest's benchmarks. A person has ten rows,
-- one per year; firms have 230 rows. In the simple design firms are drawn; in the difficult one a row's firm is its
-- number modulo the number of firms. Leaves the table gpureg_bench_effects. Variables: rows, workers (ignored).
\ir common.sql
SELECT setseed(0.5) \g /dev/null
SET gpureg.device = cpu;
SET max_parallel_workers_per_gather = 0;
DROP TABLE IF EXISTS gpureg_bench_effects;
SELECT greatest(round(:rows / 230.0), 1)::int AS firms \gset
CREATE UNLOGGED TABLE gpureg_bench_effects AS
SELECT person, year, simple, difficult, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10,
       x1 + 2 * x2 + sin(person) + cos(simple) + sin(difficult) + 0.1 * year + 3 * random() AS y,
       floor(-ln(random()) * exp(0.2 * x1 + 0.3 * sin(person) + 0.05 * year))::int AS n
FROM (SELECT i / 10 AS person, i % 10 AS year, floor(random() * :firms)::int AS simple, i % :firms AS difficult,
             sqrt(-2 * ln(1 - random())) * cos(6.283185307 * random()) AS x1, random() AS x2, random() AS x3,
             random() AS x4, random() AS x5, random() AS x6, random() AS x7, random() AS x8, random() AS x9,
             random() AS x10
      FROM generate_series(0, :rows - 1) i OFFSET 0) r;
VACUUM (ANALYZE) gpureg_bench_effects;
SELECT pg_temp.warm('{gpureg_bench_effects}') \g /dev/null

CREATE FUNCTION pg_temp.add_effects(effects text) RETURNS void LANGUAGE sql AS $$
    INSERT INTO cases (bench, query, yardstick)
    VALUES ('ols | ' || effects,
            format('SELECT gpu_ols_fit(''SELECT * FROM gpureg_bench_effects'', formula => %L)',
                   'y ~ x1 + x2 + x3 + x4 + x5 + x6 + x7 + x8 + x9 + x10 | ' || effects),
            'sums of the columns'),
           ('poisson | ' || effects,
            format('SELECT gpu_glm_fit(''SELECT * FROM gpureg_bench_effects'', ''poisson'', formula => %L)',
                   'n ~ x1 + x2 + x3 | ' || effects),
            'sums of the columns')
$$;
INSERT INTO cases (bench, query)
SELECT 'sums of the columns',
       'SELECT ' || pg_temp.sums('{y,x1,x2,x3,x4,x5,x6,x7,x8,x9,x10}') || ' FROM gpureg_bench_effects';
SELECT pg_temp.add_effects(effects)
FROM unnest('{person,person + year,person + year + simple,person + year + difficult}'::text[]) effects \g /dev/null
SELECT pg_temp.run_cases(5) \g /dev/null
SELECT pg_temp.lines('effects', :rows, NULL);
