-- What surrounds a fit, beside a yardstick of the same rows each: predictions, scores, margins, cross-validation,
-- expressions, numerics, aggregates beside ours, conditions, partitions, families, and wide rows. Leaves nothing.
-- Variables: rows, workers.
\ir common.sql
SELECT least(:rows, 1000000) AS fewer, workers = 0 AS one_process FROM setup \gset
SELECT '{"max_parallel_workers_per_gather": "0"}' AS alone \gset
SELECT setseed(0.125) \g /dev/null
SET client_min_messages = error;

-- Rows with responses of each family, eight features, their numerics, a factor of 1,000 levels, and a time within four
-- years
DROP TABLE IF EXISTS gpureg_bench_cliffs, gpureg_bench_cliffs_few, gpureg_bench_cliffs_parts,
    gpureg_bench_cliffs_groups, gpureg_bench_cliffs_vectors, gpureg_bench_cliffs_wide, gpureg_bench_cliffs_terms,
    gpureg_bench_cliffs_embeddings, gpureg_bench_cliffs_models;
CREATE UNLOGGED TABLE gpureg_bench_cliffs AS
SELECT id, x1, x2, x3, x4, x5, x6, x7, x8, eta + u AS y, (u < 1 / (1 + exp(0.25 - eta)))::int::float8 AS won,
       floor(-ln(1 - v) * exp(0.5 + 0.5 * eta)) AS n, -ln(1 - v) * exp(0.5 * eta) AS g,
       floor(1000 * random())::int AS level,
       timestamptz '2026-11-01' - random() * interval '4 years' AS ts,
       x1::numeric(10,2) AS d1, x2::numeric(10,2) AS d2, x3::numeric(10,2) AS d3, x4::numeric(10,2) AS d4,
       x5::numeric(10,2) AS d5, x6::numeric(10,2) AS d6, x7::numeric(10,2) AS d7, x8::numeric(10,2) AS d8,
       (100 * u)::numeric(10,2) AS dy
FROM (SELECT *, x1 - 2 * x2 + x3 - x4 + 0.5 * x5 - x6 + 0.3 * x7 AS eta
      FROM (SELECT id, random() AS x1, random() AS x2, random() AS x3, random() AS x4, random() AS x5, random() AS x6,
                   random() AS x7, random() AS x8, random() AS u, random() AS v
            FROM generate_series(1, :rows) id) r) r;
CREATE UNLOGGED TABLE gpureg_bench_cliffs_few AS SELECT * FROM gpureg_bench_cliffs LIMIT :fewer;
VACUUM (ANALYZE, FREEZE) gpureg_bench_cliffs, gpureg_bench_cliffs_few;
\if :workers_given
ALTER TABLE gpureg_bench_cliffs SET (parallel_workers = :workers);
ALTER TABLE gpureg_bench_cliffs_few SET (parallel_workers = :workers);
\endif
SELECT pg_temp.warm('{gpureg_bench_cliffs, gpureg_bench_cliffs_few}') \g /dev/null

CREATE TABLE gpureg_bench_cliffs_models AS
SELECT gpu_ols_agg(y, x1, x2, x3, x4, x5, x6, x7, x8) AS ols,
       gpu_logreg_fit('SELECT won, x1, x2, x3, x4, x5, x6, x7, x8 FROM gpureg_bench_cliffs_few') AS logistic,
       gpu_ols_fit('SELECT y, level, x1 FROM gpureg_bench_cliffs_few', formula => 'y ~ factor(level) + x1') AS factors
FROM gpureg_bench_cliffs_few;
ANALYZE gpureg_bench_cliffs_models;

-- The linear predictor of a model's eight features, written as SQL
CREATE FUNCTION pg_temp.by_hand(coef float8[]) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT format('(%s::float8)', coef[1]) || string_agg(format(' + (%s::float8) * x%s', coef[k + 1], k), '' ORDER BY k)
    FROM generate_series(1, 8) k
$$;
-- A query for a response and the features
CREATE FUNCTION pg_temp.query(response text, source text DEFAULT 'gpureg_bench_cliffs') RETURNS text
LANGUAGE sql IMMUTABLE AS
    $$SELECT format('SELECT %s, x1, x2, x3, x4, x5, x6, x7, x8 FROM %s', response, source)$$;

-- Predictions
INSERT INTO cases (bench, query, yardstick, at_most)
SELECT v.*
FROM gpureg_bench_cliffs_models m, LATERAL (VALUES
    ('linear predictions by hand', format('SELECT sum(%s) FROM gpureg_bench_cliffs', pg_temp.by_hand((m.ols).coef)),
     NULL, NULL::float8),
    ('gpu_predict, linear', 'SELECT sum(gpu_predict(m.ols, x1, x2, x3, x4, x5, x6, x7, x8))
      FROM gpureg_bench_cliffs, gpureg_bench_cliffs_models m', 'linear predictions by hand', 1.3),
    ('logistic predictions by hand', format('SELECT sum(1 / (1 + exp(-(%s)))) FROM gpureg_bench_cliffs',
                                            pg_temp.by_hand((m.logistic).coef)), NULL, NULL),
    ('gpu_predict, logistic', 'SELECT sum(gpu_predict(m.logistic, x1, x2, x3, x4, x5, x6, x7, x8))
      FROM gpureg_bench_cliffs, gpureg_bench_cliffs_models m', 'logistic predictions by hand', 1.3)) v;
SELECT pg_temp.run_cases(3) \g /dev/null
SELECT pg_temp.lines('cliffs', :rows, 8);
INSERT INTO cases (bench, query, settings, yardstick, at_most) VALUES
    ('gpu_predict, one process', 'SELECT sum(gpu_predict(m.ols, x1, x2, x3, x4, x5, x6, x7, x8))
      FROM gpureg_bench_cliffs_few, gpureg_bench_cliffs_models m', :'alone', NULL, NULL),
    ('gpu_predict_interval, one process',
     'SELECT sum((gpu_predict_interval(m.ols, ''confidence'', 0.95, x1, x2, x3, x4, x5, x6, x7, x8)).upper)
      FROM gpureg_bench_cliffs_few, gpureg_bench_cliffs_models m', :'alone', 'gpu_predict, one process', 3),
    ('gpu_predict by row, 1,000 levels, one process', 'SELECT sum(gpu_predict(m.factors, t))
      FROM (SELECT level, x1 FROM gpureg_bench_cliffs_few) t, gpureg_bench_cliffs_models m', :'alone',
     'gpu_predict, one process', 3);
SELECT pg_temp.run_cases(3) \g /dev/null
SELECT pg_temp.lines('cliffs', :fewer, 8);

-- Scores and margins; the target of gpu_auc is 0.8 s of 10,000,000 rows where their sums take 0.163 s
SELECT format('{%s}', array_to_string((logistic).coef, ', ')) AS coefs FROM gpureg_bench_cliffs_models \gset
SELECT pg_temp.sums('{x1,x2,x3,x4,x5,x6,x7,x8,y}') AS nine_sums \gset
INSERT INTO cases (bench, query, yardstick, at_most) VALUES
    ('sums of 9 columns', format('SELECT %s FROM gpureg_bench_cliffs', :'nine_sums'), NULL, NULL),
    ('gpu_auc', 'SELECT gpu_auc(x1, won) FROM gpureg_bench_cliffs', 'sums of 9 columns', 4.9),
    ('a pass of a logistic regression',
     format('SELECT gpu_logreg_step_agg(%L::float8[], won, x1, x2, x3, x4, x5, x6, x7, x8) FROM gpureg_bench_cliffs',
            :'coefs'), NULL, NULL),
    ('gpu_margins', format('SELECT count(*) FROM gpureg_bench_cliffs_models m, gpu_margins(m.logistic, %L)',
                           pg_temp.query('won')), 'a pass of a logistic regression', 2);
SELECT pg_temp.run_cases(3) \g /dev/null
SELECT pg_temp.lines('cliffs', :rows, 8);

-- Fits to a query, beside the plain fit
INSERT INTO cases (bench, query, yardstick, at_most) VALUES
    ('gpu_ols_fit', format('SELECT gpu_ols_fit(%L)', pg_temp.query('y')), NULL, NULL),
    ('gpu_enet_fit', format('SELECT gpu_enet_fit(%L)', pg_temp.query('y')), 'gpu_ols_fit', 1.4),
    ('gpu_ols_cv, 10 folds', format('SELECT count(*) FROM gpu_ols_cv(%L, key => ''id'')',
        replace(pg_temp.query('y'), ' FROM', ', id FROM')), 'gpu_ols_fit', 1.4),
    ('gpu_ols_fit, y ~ poly(x1, 3) + x2:x3', format('SELECT gpu_ols_fit(%L, formula => %L)',
        pg_temp.query('y'), 'y ~ poly(x1, 3) + x2:x3'), 'gpu_ols_fit', 1.3),
    ('sums of expressions', 'SELECT sum(ln(g + 1)), sum(ln(x1 + 1)), sum(x2 * x3), sum(extract(epoch FROM ts))
      FROM gpureg_bench_cliffs', NULL, NULL),
    ('gpu_ols_fit to expressions', 'SELECT gpu_ols_fit(''SELECT ln(g + 1) AS a, ln(x1 + 1) AS b, x2 * x3 AS c,
      extract(epoch FROM ts) AS d FROM gpureg_bench_cliffs'')', 'sums of expressions', 1.2),
    ('sums of 9 numerics', format('SELECT %s FROM gpureg_bench_cliffs',
        pg_temp.sums('{d1,d2,d3,d4,d5,d6,d7,d8,dy}')), NULL, NULL),
    ('gpu_ols_fit to numerics', 'SELECT gpu_ols_fit(''SELECT dy, d1, d2, d3, d4, d5, d6, d7, d8
      FROM gpureg_bench_cliffs'')', 'sums of 9 numerics', 1.2);
SELECT pg_temp.run_cases(3) \g /dev/null
SELECT pg_temp.lines('cliffs', :rows, 8);

-- Aggregates beside ours, and conditions
INSERT INTO cases (bench, query, yardstick, at_most)
SELECT bench, format('SELECT %s FROM gpureg_bench_cliffs %s', replace(what, 'OLS',
       'gpu_ols_agg(y, x1, x2, x3, x4, x5, x6, x7, x8)'), condition), yardstick, at_most
FROM (VALUES
    ('gpu_ols_agg', 'OLS', '', NULL, NULL::float8),
    ('gpu_ols_agg, count(*)', 'OLS, count(*)', '', 'gpu_ols_agg', 1.1),
    ('gpu_ols_agg, avg, sum, min and max', 'OLS, avg(x1), sum(x2), min(x3), max(x4)', '', 'gpu_ols_agg', 1.1),
    ('gpu_ols_agg, a time by a literal', 'OLS', 'WHERE ts > timestamptz ''2023-11-01''', NULL, NULL),
    ('gpu_ols_agg, a time by now()', 'OLS', 'WHERE ts > now() - interval ''3 years''',
     'gpu_ols_agg, a time by a literal', 1.05),
    ('gpu_ols_agg, a condition on float8', 'OLS', 'WHERE x1 > 0.5', NULL, NULL),
    ('gpu_ols_agg, a condition on a numeric', 'OLS', 'WHERE d1 > 0.5', 'gpu_ols_agg, a condition on float8', 1.3))
        v (bench, what, condition, yardstick, at_most);
SELECT pg_temp.run_cases(3) \g /dev/null
SELECT pg_temp.lines('cliffs', :rows, 8);

-- Eight partitions by time. In the oldest few rows have a high id, so that an index on it is best there.
CREATE UNLOGGED TABLE gpureg_bench_cliffs_parts (LIKE gpureg_bench_cliffs) PARTITION BY RANGE (ts);
SELECT format('CREATE UNLOGGED TABLE gpureg_bench_cliffs_part%s PARTITION OF gpureg_bench_cliffs_parts
    FOR VALUES FROM (timestamptz ''2022-10-31'' + %1$s * interval ''6 months'')
    TO (timestamptz ''2022-10-31'' + %s * interval ''6 months'')', k, k + 1) FROM generate_series(0, 8) k \gexec
INSERT INTO gpureg_bench_cliffs_parts
SELECT CASE WHEN ts > timestamptz '2023-04-30' OR id % 1000 = 0 THEN id ELSE -id END, x1, x2, x3, x4, x5, x6, x7, x8,
       y, won, n, g, level, ts, d1, d2, d3, d4, d5, d6, d7, d8, dy FROM gpureg_bench_cliffs;
CREATE INDEX ON gpureg_bench_cliffs_part0 (id);
SELECT format('VACUUM (ANALYZE, FREEZE) gpureg_bench_cliffs_part%s', k) FROM generate_series(0, 8) k \gexec
\if :workers_given
SELECT format('ALTER TABLE gpureg_bench_cliffs_part%s SET (parallel_workers = %s)', k, :workers)
FROM generate_series(0, 8) k \gexec
\endif
SELECT pg_temp.warm(array_agg('gpureg_bench_cliffs_part' || k)) FROM generate_series(0, 8) k \g /dev/null
INSERT INTO cases (bench, query, settings, yardstick, at_most)
SELECT bench, replace(query, 'OLS', 'gpu_ols_agg(y, x1, x2, x3, x4, x5, x6, x7, x8)'), settings::jsonb, yardstick,
       at_most
FROM (VALUES
    ('partitions', 'SELECT OLS FROM gpureg_bench_cliffs_parts', '{}', NULL, NULL::float8),
    ('partitions, a time by a literal',
     'SELECT OLS FROM gpureg_bench_cliffs_parts WHERE ts > timestamptz ''2023-11-01''', '{}', NULL, NULL),
    ('partitions, a time by now()',
     'SELECT OLS FROM gpureg_bench_cliffs_parts WHERE ts > now() - interval ''3 years''', '{}',
     'partitions, a time by a literal', 1.05),
    ('partitions without the index', 'SELECT OLS FROM gpureg_bench_cliffs_parts WHERE id > 0',
     '{"enable_indexscan": "off", "enable_bitmapscan": "off"}', NULL, NULL),
    ('one of 8 partitions better read by an index', 'SELECT OLS FROM gpureg_bench_cliffs_parts WHERE id > 0', '{}',
     'partitions without the index', 1.05),
    ('UNION ALL of partitions', (SELECT format('SELECT OLS FROM (%s) t', string_agg(
        'SELECT * FROM gpureg_bench_cliffs_part' || k, ' UNION ALL ')) FROM generate_series(0, 8) k), '{}',
     'partitions', 1.05)) v (bench, query, settings, yardstick, at_most);
SELECT pg_temp.run_cases(3) \g /dev/null
SELECT pg_temp.lines('cliffs', :rows, 8);
DROP TABLE gpureg_bench_cliffs_parts;

-- Families
INSERT INTO cases (bench, query, settings, yardstick, at_most)
SELECT format('gpu_logreg_fit, %s', device), format('SELECT gpu_logreg_fit(%L)', pg_temp.query('won')),
       jsonb_build_object('gpureg.device', device), NULL, NULL
FROM unnest('{gpu,cpu}'::text[]) device;
INSERT INTO cases (bench, query, settings, yardstick, at_most)
SELECT format('%s, %s', family, device),
       format('SELECT gpu_glm_fit(%L, %L, ''log''%s)', pg_temp.query(y), family,
              CASE WHEN family = 'negative binomial' THEN ', theta => 1' END),
       jsonb_build_object('gpureg.device', device), 'gpu_logreg_fit, ' || device,
       CASE device WHEN 'gpu' THEN 1.15 ELSE 1.3 END
FROM (VALUES ('poisson', 'n'), ('gamma', 'g'), ('negative binomial', 'n')) v (family, y),
     unnest('{gpu,cpu}'::text[]) device;
SELECT pg_temp.run_cases(3) \g /dev/null
SELECT pg_temp.lines('cliffs', :rows, 8);

-- One process: sums of nine columns take 0.1 s of 1,000,000 rows on the machine of the targets
INSERT INTO cases (bench, query, settings, yardstick, at_most)
SELECT bench || ', one process', query, settings || :'alone'::jsonb, yardstick || ', one process', at_most
FROM (VALUES
    ('sums of 9 columns', format('SELECT %s FROM gpureg_bench_cliffs_few', :'nine_sums'), '{}'::jsonb, NULL,
     NULL::float8),
    ('poisson', format('SELECT gpu_glm_fit(%L, ''poisson'')', pg_temp.query('n', 'gpureg_bench_cliffs_few')),
     '{"gpureg.device": "cpu"}', 'sums of 9 columns', 3),
    ('gpu_ols_fit', format('SELECT gpu_ols_fit(%L)', pg_temp.query('y', 'gpureg_bench_cliffs_few')),
     '{"gpureg.device": "cpu"}', NULL, NULL),
    ('gpu_ols_fit to numerics', 'SELECT gpu_ols_fit(''SELECT dy, d1, d2, d3, d4, d5, d6, d7, d8
      FROM gpureg_bench_cliffs_few'')', '{"gpureg.device": "cpu"}', 'gpu_ols_fit', 2.5))
         v (bench, query, settings, yardstick, at_most);
SELECT pg_temp.run_cases(3) \g /dev/null
SELECT pg_temp.lines('cliffs', :fewer, 8);

-- Groups in one process
CREATE UNLOGGED TABLE gpureg_bench_cliffs_groups AS
SELECT floor(:fewer / 5 * random())::int AS grp, y, x1, x2, x3, x4, x5, x6, x7 FROM gpureg_bench_cliffs_few;
VACUUM (ANALYZE, FREEZE) gpureg_bench_cliffs_groups;
SELECT pg_temp.warm('{gpureg_bench_cliffs_groups}') \g /dev/null
INSERT INTO cases (bench, query, settings, yardstick, at_most) VALUES
    ('averages of 8 columns, 200,000 groups', 'SELECT count(*) FROM (SELECT avg(x1), avg(x2), avg(x3), avg(x4),
      avg(x5), avg(x6), avg(x7), avg(y) FROM gpureg_bench_cliffs_groups GROUP BY grp OFFSET 0) t', :'alone', NULL,
     NULL),
    ('gpu_ols_agg, 200,000 groups', 'SELECT count(m) FROM (SELECT gpu_ols_agg(y, x1, x2, x3, x4, x5, x6, x7) AS m
      FROM gpureg_bench_cliffs_groups GROUP BY grp OFFSET 0) t', :'alone', 'averages of 8 columns, 200,000 groups',
     0.8);
SELECT pg_temp.run_cases(3) \g /dev/null
SELECT pg_temp.lines('cliffs', :fewer, 7);
DROP TABLE gpureg_bench_cliffs, gpureg_bench_cliffs_few, gpureg_bench_cliffs_groups;

-- Embeddings: predictions, and signs of a rotation, which are to take 0.3 s of 60,000 rows where detoasting 100,000
-- takes 0.064 s
CREATE UNLOGGED TABLE gpureg_bench_cliffs_embeddings AS
SELECT id, (SELECT array_agg((random() - 0.5)::real) FROM generate_series(1, 768) WHERE id > 0) AS v
FROM generate_series(1, least(:rows / 10, 100000)) id;
SELECT count(*) AS embeddings FROM gpureg_bench_cliffs_embeddings \gset
VACUUM (ANALYZE, FREEZE) gpureg_bench_cliffs_embeddings;
SELECT pg_temp.warm('{gpureg_bench_cliffs_embeddings}') \g /dev/null
CREATE TABLE gpureg_bench_cliffs_vectors AS
SELECT gpu_ols_fit('SELECT sin(id), v FROM gpureg_bench_cliffs_embeddings WHERE id <= 5000') AS m;
ANALYZE gpureg_bench_cliffs_vectors;
INSERT INTO cases (bench, query, settings, yardstick, at_most) VALUES
    ('reading embeddings of 768 numbers', 'SELECT sum(v[768]) FROM gpureg_bench_cliffs_embeddings', '{}', NULL, NULL),
    ('gpu_predict of embeddings', 'SELECT sum(gpu_predict(m, v))
      FROM gpureg_bench_cliffs_embeddings, gpureg_bench_cliffs_vectors', '{}', 'reading embeddings of 768 numbers',
     1.5),
    ('reading embeddings, one process', 'SELECT sum(v[768]) FROM gpureg_bench_cliffs_embeddings
      WHERE id <= 60000', :'alone', NULL, NULL),
    ('gpu_project_bits, one process', 'SELECT count(gpu_project_bits(v, 768)) FROM gpureg_bench_cliffs_embeddings
      WHERE id <= 60000', :'alone', 'reading embeddings, one process', 7.8);
SELECT pg_temp.run_cases(3) \g /dev/null
SELECT pg_temp.lines('cliffs', :embeddings, 768);
DROP TABLE gpureg_bench_cliffs_embeddings, gpureg_bench_cliffs_vectors;

-- Many terms: robust errors in one process, the sums of rows of 1,000 numbers, and penalized logistic regression, which
-- is to take 4 s
CREATE UNLOGGED TABLE gpureg_bench_cliffs_wide AS
SELECT id, id % 100 AS c, random() AS y,
       (SELECT array_agg((random() - 0.5)::real) FROM generate_series(1, 1000) WHERE id > 0) AS v
FROM generate_series(1, least(:rows / 50, 200000)) id;
SELECT count(*) AS wide, least(count(*), 20000) AS wide_few FROM gpureg_bench_cliffs_wide \gset
VACUUM (ANALYZE, FREEZE) gpureg_bench_cliffs_wide;
INSERT INTO cases (bench, query, settings, yardstick, at_most)
SELECT 'errors of 1,000 terms: ' || vcov, format('SELECT gpu_ols_fit(%L, vcov => %L%s)',
           format('SELECT y, v%s FROM gpureg_bench_cliffs_wide WHERE id <= 20000',
                  CASE vcov WHEN 'CR0' THEN ', c' ELSE '' END),
           vcov, CASE vcov WHEN 'CR0' THEN ', clusters => ''{c}''' ELSE '' END),
       :'alone'::jsonb || '{"gpureg.device": "cpu"}', 'errors of 1,000 terms: ' || nullif('iid', vcov),
       CASE WHEN vcov <> 'iid' THEN 1.6 END
FROM unnest('{iid,HC0,CR0}'::text[]) vcov;
SELECT pg_temp.run_cases(1) \g /dev/null
SELECT pg_temp.lines('cliffs', :wide_few, 1000);
INSERT INTO cases (bench, query, settings, yardstick, at_most)
SELECT 'reading rows of 1,000 numbers', 'SELECT sum(v[1000]) FROM gpureg_bench_cliffs_wide', '{}'::jsonb, NULL, NULL
UNION ALL
SELECT 'gpu_ols_fit to 1,000 numbers, ' || device, 'SELECT gpu_ols_fit(''SELECT y, v FROM gpureg_bench_cliffs_wide'')',
       jsonb_build_object('gpureg.device', device), 'reading rows of 1,000 numbers',
       CASE device WHEN 'gpu' THEN 1.3 ELSE 10 END
FROM unnest('{gpu,cpu}'::text[]) device;
SELECT pg_temp.run_cases(1) \g /dev/null
SELECT pg_temp.lines('cliffs', :wide, 1000);
DROP TABLE gpureg_bench_cliffs_wide;
CREATE UNLOGGED TABLE gpureg_bench_cliffs_terms AS
SELECT id % 5 AS fold, (random() < 1 / (1 + exp(-v[1] - v[2] + v[3])))::int::float8 AS y, v
FROM (SELECT id, (SELECT array_agg(random() - 0.5) FROM generate_series(1, 256) WHERE id > 0) AS v
      FROM generate_series(1, 4000) id) t;
ANALYZE gpureg_bench_cliffs_terms;
INSERT INTO cases (bench, query, settings, yardstick, at_most) VALUES
    ('gpu_logreg_fit of 256 features, one process', 'SELECT gpu_logreg_fit(''SELECT y, v
      FROM gpureg_bench_cliffs_terms'')', :'alone', NULL, NULL),
    ('gpu_enet_fit of 256 features, binomial, 5 folds, one process', 'SELECT gpu_enet_fit(''SELECT y, v, fold
      FROM gpureg_bench_cliffs_terms'', family => ''binomial'', fold => ''fold'')', :'alone', NULL, NULL);
SELECT pg_temp.run_cases(1) \g /dev/null
SELECT pg_temp.lines('cliffs', 4000, 256);
DROP TABLE gpureg_bench_cliffs_terms, gpureg_bench_cliffs_models;
