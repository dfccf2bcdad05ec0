-- Generalised linear models and robust covariances over a table of their own, on each device, beside the plain fits.
\ir common.sql
SELECT setseed(0.25) \g /dev/null
DROP TABLE IF EXISTS gpureg_bench_models;
CREATE UNLOGGED TABLE gpureg_bench_models AS
SELECT x1, x2, x3, x4, x5, x6, x7, x8, (u < 1 / (1 + exp(-(eta - 0.25))))::int::float8 AS y,
       floor(-ln(1 - v) * exp(0.5 + 0.5 * eta)) AS n, -ln(1 - v) * exp(0.5 * eta) AS g, c
FROM (SELECT *, x1 - 2 * x2 + x3 - x4 + 0.5 * x5 - x6 + 0.3 * x7 AS eta
      FROM (SELECT random() AS x1, random() AS x2, random() AS x3, random() AS x4, random() AS x5, random() AS x6,
                   random() AS x7, random() AS x8, random() AS u, random() AS v, (10000 * random())::int AS c
            FROM generate_series(1, :rows)) r) r;
VACUUM (ANALYZE, FREEZE) gpureg_bench_models;
\if :workers_given
ALTER TABLE gpureg_bench_models SET (parallel_workers = :workers);
\endif
SELECT pg_temp.warm('{gpureg_bench_models}') \g /dev/null

-- A query for the response and the features, and further arguments.
CREATE FUNCTION pg_temp.query(response text, more text DEFAULT '') RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT format('SELECT %s, x1, x2, x3, x4, x5, x6, x7, x8%s FROM gpureg_bench_models', response, more)
$$;

-- The yardsticks: plain fits on the same device
INSERT INTO cases (bench, query, settings)
SELECT format('%s, %s', f, device), format('SELECT %s(%L)', f, pg_temp.query(y)),
       jsonb_build_object('gpureg.device', device)
FROM (VALUES ('gpu_logreg_fit', 'y'), ('gpu_ols_fit', 'g')) v (f, y), unnest('{gpu,cpu}'::text[]) device;
INSERT INTO cases (bench, query, settings, yardstick, at_most)
SELECT format('%s, %s link, %s', family, link, device),
       format('SELECT gpu_glm_fit(%L, %L, %L%s)', pg_temp.query(y), family, link,
              CASE WHEN family = 'negative binomial' THEN ', theta => 1' END),
       jsonb_build_object('gpureg.device', device), 'gpu_logreg_fit, ' || device,
       CASE WHEN device = 'gpu' THEN 1.25 WHEN family = 'poisson' AND :rows <= 1000000 THEN 1.3 END
FROM (VALUES ('poisson', 'log', 'n'), ('negative binomial', 'log', 'n'), ('gamma', 'log', 'g'),
             ('binomial', 'probit', 'y'), ('binomial', 'cloglog', 'y')) v (family, link, y),
     unnest('{gpu,cpu}'::text[]) device;
INSERT INTO cases (bench, query, settings, yardstick, at_most)
SELECT format('gpu_ols_fit with %s, %s', vcov, device),
       format('SELECT gpu_ols_fit(%L, vcov => %L%s)', pg_temp.query('g', CASE WHEN clustered THEN ', c' ELSE '' END),
              vcov, CASE WHEN clustered THEN ', clusters => ''{c}''' END),
       jsonb_build_object('gpureg.device', device), 'gpu_ols_fit, ' || device,
       CASE device WHEN 'cpu' THEN at_most_cpu ELSE at_most_gpu END
FROM (VALUES ('HC1', false, 2.2, 1.2), ('HC3', false, 2.5, NULL), ('CR1', true, 3.0, 1.5))
         v (vcov, clustered, at_most_cpu, at_most_gpu),
     unnest('{gpu,cpu}'::text[]) device;
SELECT pg_temp.run_cases(CASE WHEN :rows < 2000000 THEN 5 ELSE 3 END) \g /dev/null
SELECT pg_temp.lines('models', :rows, 8);
