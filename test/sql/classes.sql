-- Models of classes against fits in 50 digits: test/data/classes_reference.py.
CREATE TABLE classes_rows (i serial, dataset text, y text, x float8[], f1 text, f2 text, f3 text, n int, firm int);
\copy classes_rows (dataset, y, x, f1, f2, f3, n, firm) FROM 'test/data/classes_rows.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE classes_fits (dataset text, model text, link text, l2 float8, vcov text, class text, term text,
    estimate numeric, std_error numeric);
\copy classes_fits FROM 'test/data/classes_fits.csv' WITH (FORMAT csv, HEADER)
ANALYZE classes_rows;
CREATE TABLE classes_cases AS
SELECT DISTINCT dataset, l2, vcov,
       CASE dataset WHEN 'anes96' THEN 'x' WHEN 'iris' THEN 'x' ELSE 'f1, f2, f3' END AS columns,
       CASE dataset WHEN 'housing' THEN 'high' WHEN 'alligators' THEN 'birds' END AS base
FROM classes_fits WHERE model = 'multinom';

CREATE FUNCTION classes_query(c classes_cases, also_where text) RETURNS text LANGUAGE sql AS $$
    SELECT format('SELECT %s, %s, n%s FROM classes_rows WHERE dataset = %L%s',
                  CASE c.dataset WHEN 'anes96' THEN 'y::int AS y' ELSE 'y' END, c.columns,
                  CASE c.vcov WHEN 'CR1' THEN ', firm' ELSE '' END, c.dataset, also_where)
$$;
CREATE FUNCTION classes_fit(c classes_cases, also_where text DEFAULT '') RETURNS gpu_model LANGUAGE sql AS $$
    SELECT gpu_multinom_fit(classes_query(c, also_where), base => c.base, frequencies => 'n', l2 => c.l2,
                            vcov => c.vcov, clusters => CASE c.vcov WHEN 'CR1' THEN '{firm}'::text[] END)
$$;
CREATE TABLE classes_models (way text, dataset text, l2 float8, vcov text, m gpu_model);
INSERT INTO classes_models SELECT 'query', dataset, l2, vcov, classes_fit(c) FROM classes_cases c;
INSERT INTO classes_models SELECT 'query, volatile', dataset, l2, vcov, classes_fit(c, ' AND random() >= 0')
FROM classes_cases c WHERE vcov <> 'CR1';

-- Digits of estimates and standard errors, of the log-likelihoods, and the numbers of rows
SELECT way, count(*) AS terms, bool_and(digits(t.estimate, f.estimate) >= 13) AS estimates,
       bool_and(digits(t.std_error, f.std_error) >= 13) AS std_errors
FROM classes_models c, gpu_tidy(m) t, classes_fits f
WHERE f.model = 'multinom' AND (f.dataset, f.l2, f.vcov) = (c.dataset, c.l2, c.vcov)
      AND (f.class, f.term) = (t.class, t.term)
GROUP BY way ORDER BY way;
SELECT c.dataset, bool_and(digits((m).log_lik, f.estimate) >= 13) AS log_lik,
       bool_and(digits(g.deviance, -2 * f.estimate) >= 13) AS deviance,
       bool_and(digits(g.null_deviance, -2 * f0.estimate) >= 13) AS null_deviance,
       bool_and(digits(g.pseudo_r_squared, 1 - f.estimate / f0.estimate) >= 13) AS mcfadden,
       bool_and(c.l2 > 0 OR digits(g.aic, 2 * (m).rank - 2 * f.estimate) >= 13) AS aic,
       bool_and(g.n = fn.estimate) AS n, bool_and(g.converged) AS converged
FROM classes_models c, gpu_glance(m) g, classes_fits f, classes_fits f0, classes_fits fn
WHERE (f.dataset, f.term) = (c.dataset, 'log_lik') AND (f0.dataset, f0.term) = (c.dataset, 'null_log_lik')
      AND (fn.dataset, fn.term) = (c.dataset, 'n') AND 'multinom' = ALL (ARRAY[f.model, f0.model, fn.model])
GROUP BY c.dataset ORDER BY c.dataset;

-- The query run for each pass, in the session's process alone and in workers, gives what rows in memory give.
CREATE TABLE classes_many AS
SELECT i, (ARRAY['red', 'green', 'blue', 'black'])[1 + (i * 7919::bigint + i::bigint * i) % 4] AS colour,
       (i * 104729::bigint % 9973) / 997.0::float8 AS x1, 1e3 + (i * 31 % 1009) / 7.0::float8 AS x2,
       (ARRAY['a', 'b', 'c'])[1 + i % 3] AS f, 1 + i % 3 AS n, i % 100 AS firm
FROM generate_series(1, 60000) i;
UPDATE classes_many SET colour = (ARRAY['red', 'green', 'blue', 'black'])[1 + (x1 * 8 + i % 7)::int % 4];
UPDATE classes_many SET x1 = NULL WHERE i % 1000 = 0;
ANALYZE classes_many;
CREATE FUNCTION classes_many_fit(v text) RETURNS gpu_model LANGUAGE sql AS $$
    SELECT gpu_multinom_fit('SELECT colour, x1, x2, f, n, firm FROM classes_many',
                            formula => 'colour ~ x1 + x2 * f', weights => 'n', vcov => v,
                            clusters => CASE v WHEN 'CR1' THEN '{firm}'::text[] END)
$$;
CREATE TABLE classes_ways (way text, vcov text, m gpu_model);
INSERT INTO classes_ways SELECT 'memory', v, classes_many_fit(v) FROM unnest('{iid,HC1,CR1}'::text[]) v;
SET gpureg.device = cpu; SET gpureg.ring_size = '1MB'; SET jit = off; SET max_parallel_workers_per_gather = 0;
INSERT INTO classes_ways SELECT 'again', v, classes_many_fit(v) FROM unnest('{iid,HC1,CR1}'::text[]) v;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
INSERT INTO classes_ways SELECT 'workers', v, classes_many_fit(v) FROM unnest('{iid,HC1,CR1}'::text[]) v;
SELECT reason ~ 'the query was run' AS again FROM gpu_last_run();
RESET gpureg.device; RESET gpureg.ring_size; RESET jit; RESET max_parallel_workers_per_gather;
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size;
SELECT b.way, b.vcov, relative_difference((a.m).coef, (b.m).coef) < 1e-10 AS coef, (b.m).n, (b.m).n_skipped AS skipped,
       (SELECT max(abs(u.std_error / v.std_error - 1)) < 1e-11
        FROM gpu_tidy(a.m) u JOIN gpu_tidy(b.m) v USING (class, term)) AS std_error,
       abs((a.m).log_lik / (b.m).log_lik - 1) < 1e-14 AS log_lik
FROM classes_ways a JOIN classes_ways b USING (vcov) WHERE a.way = 'memory' AND b.way <> 'memory'
ORDER BY b.way, b.vcov COLLATE "C";

-- Two classes are a logistic regression; another base changes signs.
SELECT relative_difference((a).coef, (b).coef) < 1e-12 AS coef,
       (SELECT max(abs(u / v - 1)) < 1e-11 FROM unnest((a).vcov, (b).vcov) AS w (u, v)) AS vcov,
       abs((a).deviance / (b).deviance - 1) < 1e-13 AS deviance, relative_difference((a).coef,
       (SELECT array_agg(-x ORDER BY i) FROM unnest((c).coef) WITH ORDINALITY w (x, i))) < 1e-12 AS base
FROM (SELECT gpu_multinom_fit('SELECT colour = ''red'', x1, x2 FROM classes_many') AS a,
             gpu_logreg_fit('SELECT colour = ''red'', x1, x2 FROM classes_many') AS b,
             gpu_multinom_fit('SELECT colour = ''red'' AS red, x1, x2 FROM classes_many', base => 'true') AS c) t;
-- Types of classes: an enum keeps its order
CREATE TYPE classes_size AS ENUM ('small', 'medium', 'large');
SELECT gpu_classes(gpu_multinom_fit('SELECT (ARRAY[''large'', ''small'', ''medium''])[1 + i % 3]::classes_size, x1
    FROM classes_many')) AS enum,
       gpu_classes(gpu_multinom_fit('SELECT (i % 3 - 1)::smallint, x1 FROM classes_many')) AS smallint,
       gpu_classes(gpu_multinom_fit('SELECT (i % 3)::bigint * 4294967296, x1 FROM classes_many',
                                    base => '4294967296')) AS bigint,
       gpu_classes(gpu_multinom_fit('SELECT colour::char(10), x1 FROM classes_many')) AS bpchar;

-- Predictions, by position and by name
SELECT sum(abs(p - q)) < 1e-14 AS by_name, abs(sum(p) - 1) < 1e-15 AS sum
FROM classes_ways, unnest(gpu_predict_probs(m, 5, 1e3, 'b'),
                          gpu_predict_probs(m, '{"x1": 5, "f": "b", "x2": 1e3}'::jsonb)) u (p, q)
WHERE way = 'memory' AND vcov = 'iid';
SELECT gpu_classes(m), gpu_predict_class(m, r) IS NOT NULL AS class,
       gpu_predict_class(m, 5, NULL::float8, 'b') AS of_null
FROM classes_ways, classes_many r WHERE way = 'memory' AND vcov = 'iid' AND i = 4;
SELECT count(*) AS rows, bool_and(gpu_predict_class(m, r) = (gpu_classes(m))[(
           SELECT o FROM unnest(gpu_predict_probs(m, r)) WITH ORDINALITY u (p, o) ORDER BY p DESC LIMIT 1)]) AS agree
FROM classes_ways, classes_many r WHERE way = 'memory' AND vcov = 'iid' AND i < 1000;
-- the mean of the probabilities is each class's share, as the fit has intercepts
SELECT max(abs(p - share)) < 1e-12 AS calibrated
FROM (SELECT o, avg(p) AS p FROM (SELECT gpu_multinom_fit('SELECT colour, x1, x2 FROM classes_many') AS m) f,
             (SELECT * FROM classes_many WHERE x1 IS NOT NULL) r,
             unnest(gpu_predict_probs(m, x1, x2)) WITH ORDINALITY u (p, o) GROUP BY o) a
JOIN (SELECT row_number() OVER (ORDER BY colour) AS o, count(*)::float8 / sum(count(*)) OVER () AS share
      FROM classes_many WHERE x1 IS NOT NULL GROUP BY colour) b USING (o);
-- an intercept alone
SELECT gpu_predict_class(m) AS class, round((gpu_predict_probs(m))[1]::numeric, 6) AS first
FROM gpu_multinom_fit('SELECT y FROM classes_rows WHERE dataset = ''anes96''') m;

-- Tests: a term in all classes at once, or in one; a likelihood ratio
SELECT t AS tested, round(w.statistic::numeric, 6) AS statistic, w.df1, round(w.p_value::numeric, 6) AS p_value
FROM classes_models, unnest(ARRAY['f1[oklawaha]', 'fish:f3[small]']) t, gpu_wald(m, ARRAY[t]) w
WHERE dataset = 'alligators' AND way = 'query' AND classes_models.vcov = 'iid' ORDER BY t;
SELECT a.*
FROM gpu_anova(gpu_multinom_fit('SELECT y, f1, n FROM classes_rows WHERE dataset = ''alligators''', base => 'birds',
                                frequencies => 'n'),
               gpu_multinom_fit('SELECT y, f1, f2, f3, n FROM classes_rows WHERE dataset = ''alligators''',
                                base => 'birds', frequencies => 'n')) a;
SELECT gpu_summary(gpu_multinom_fit('SELECT y, f3, n FROM classes_rows WHERE dataset = ''housing''',
                                    frequencies => 'n'));

-- Collinear terms have no estimate in any class, as in a fit without them
SELECT bool_and(t.estimate IS NULL AND t.std_error IS NULL) AS collinear, (m).rank
FROM (SELECT gpu_multinom_fit('SELECT colour, x1, 2 * x1 - 3 AS x3, x2 FROM classes_many') AS m) f, gpu_tidy(m) t
WHERE term = 'x3' GROUP BY m;

-- Separation is named by class: iris completely between setosa and the others; then in some rows alone
SELECT class, term, estimate, std_error IS NULL AS no_error
FROM gpu_tidy(gpu_multinom_fit('SELECT y, x FROM classes_rows WHERE dataset = ''iris'''));
CREATE TABLE classes_apart AS
SELECT i, (ARRAY['a', 'b', 'c'])[1 + i::bigint * i * 7 % 11 % 3] AS y, (i * 31 % 17)::float8 AS x,
       (i::bigint * i * 7 % 11 % 3 = 2 AND i % 5 = 0)::int AS only_c
FROM generate_series(1, 500) i;
SELECT class, term, CASE WHEN estimate IN ('Infinity', '-Infinity') THEN estimate END AS infinite
FROM gpu_tidy(gpu_multinom_fit('SELECT y, x, only_c FROM classes_apart'));
-- estimates of the other terms are those of the rows on the face
SELECT max(abs(a.estimate / b.estimate - 1)) < 1e-9 AS estimates,
       max(abs(a.std_error / b.std_error - 1)) < 1e-9 AS errors
FROM gpu_tidy(gpu_multinom_fit('SELECT y, x, only_c FROM classes_apart')) a
JOIN gpu_tidy(gpu_multinom_fit('SELECT y, x FROM classes_apart WHERE only_c = 0')) b USING (class, term);

-- Ordinal regressions: an enum has an order
CREATE TYPE classes_level AS ENUM ('low', 'medium', 'high');
CREATE TABLE classes_ordinal AS SELECT dataset, link, gpu_ordinal_fit(CASE dataset
        WHEN 'housing' THEN 'SELECT y::classes_level AS y, f1, f2, f3, n FROM classes_rows WHERE dataset = ''housing'''
        ELSE 'SELECT y::int AS y, x, n FROM classes_rows WHERE dataset = ''anes96''' END, link, frequencies => 'n') AS m
FROM (SELECT DISTINCT dataset, link FROM classes_fits WHERE model = 'ordinal') c;
SELECT c.dataset, c.link, count(*) AS terms, bool_and(digits(t.estimate, f.estimate) >= 13) AS estimates,
       bool_and(digits(t.std_error, f.std_error) >= 13) AS std_errors,
       bool_and(digits((m).log_lik, l.estimate) >= 13) AS log_lik, bool_and((m).converged) AS converged
FROM classes_ordinal c, gpu_tidy(m) t, classes_fits f, classes_fits l
WHERE f.model = 'ordinal' AND (f.dataset, f.link, f.term) = (c.dataset, c.link, t.term)
      AND l.model = 'ordinal' AND (l.dataset, l.link, l.term) = (c.dataset, c.link, 'log_lik')
GROUP BY c.dataset, c.link ORDER BY c.dataset, c.link;
SELECT term, round(estimate::numeric, 4) AS estimate, round(std_error::numeric, 4) AS std_error, class
FROM classes_ordinal, gpu_tidy(m) WHERE dataset = 'housing' AND link = 'logit';
SELECT family, g.link, n, rank, df_residual, round(aic::numeric, 3) AS aic, round(null_deviance::numeric, 3) AS null
FROM classes_ordinal c, gpu_glance(m) g WHERE dataset = 'housing' ORDER BY g.link;
-- the probabilities are differences of F at the thresholds less the linear predictor
SELECT link, gpu_classes(m), max(abs(p - q)) < 1e-15 AS probabilities, abs(sum(p) - 1) < 1e-15 AS sum
FROM classes_ordinal,
     LATERAL (SELECT (m).coef[1] - (m).coef[3] AS u1, (m).coef[2] - (m).coef[3] AS u2) u,
     LATERAL (SELECT ARRAY(SELECT CASE link WHEN 'logit' THEN 1 / (1 + exp(-v)) WHEN 'probit' THEN
                                  gpu_pnorm(v) ELSE 1 - exp(-exp(v)) END FROM unnest(ARRAY[u1, u2]) v) AS f) w,
     unnest(gpu_predict_probs(m, 'low', 'apartment', 'high'), ARRAY[f[1], f[2] - f[1], 1 - f[2]]) r (p, q)
WHERE dataset = 'housing' GROUP BY link, m ORDER BY link;
SELECT gpu_predict_class(m, 'low', 'apartment', 'high'), gpu_predict_class(m, 'high', 'tower', 'high'),
       gpu_predict_class(m, 'high', NULL::text, 'high') FROM classes_ordinal WHERE dataset = 'housing' AND link = 'logit';
-- two classes are a regression of their complement; in passes over the query, rows are summed as in memory
SELECT abs((a).coef[1] + (b).coef[1]) < 1e-12 AS threshold, abs((a).coef[2] / (b).coef[2] - 1) < 1e-11 AS slope,
       abs((a).log_lik / (b).log_lik - 1) < 1e-13 AS log_lik
FROM (SELECT gpu_ordinal_fit('SELECT x1 > 5, x2 FROM classes_many') AS a,
             gpu_logreg_fit('SELECT x1 > 5, x2 FROM classes_many') AS b) t;
SET gpureg.device = cpu; SET gpureg.ring_size = '1MB'; SET jit = off;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
CREATE TABLE classes_again AS
SELECT gpu_ordinal_fit('SELECT firm % 5 AS y, x1, x2, f FROM classes_many', 'probit',
                                     formula => 'y ~ x1 + x2 + f') AS m;
RESET gpureg.device; RESET gpureg.ring_size; RESET jit;
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size;
SELECT relative_difference((a).coef, (m).coef) < 1e-10 AS coef, (m).n
FROM classes_again, gpu_ordinal_fit('SELECT firm % 5 AS y, x1, x2, f FROM classes_many', 'probit',
                                     formula => 'y ~ x1 + x2 + f') a;
DROP TABLE classes_again;
-- a likelihood ratio and Wald's test; collinear columns
SELECT a.df, round(a.statistic::numeric, 6) AS statistic, a.test, w.df1, round(w.statistic::numeric, 6) AS wald
FROM classes_ordinal c, gpu_wald(m, '{f3[low]}') w,
     gpu_anova(gpu_ordinal_fit('SELECT y::classes_level, f1, f2, n FROM classes_rows WHERE dataset = ''housing''',
                               frequencies => 'n'), m) a
WHERE dataset = 'housing' AND link = 'logit' AND a.df > 0;
SELECT term, estimate IS NULL AS collinear FROM gpu_tidy(gpu_ordinal_fit(
    'SELECT i % 4 AS y, x1, x1 * 2 + 1 AS x3, 7 AS x4 FROM classes_many'));
-- bad input
SELECT gpu_ordinal_fit('SELECT n, x1 FROM classes_many', 'cauchit');
SELECT gpu_ordinal_fit('SELECT x1, x2 FROM classes_many');
SELECT gpu_ordinal_fit('SELECT 1, x2 FROM classes_many');
SELECT gpu_ordinal_fit('SELECT n, x2 FROM classes_many', formula => 'n ~ 0 + x2');
SELECT gpu_ordinal_fit('SELECT n, x2 FROM classes_many', max_iter => 0);
SELECT (gpu_ordinal_fit('SELECT i / 100, i FROM generate_series(1, 299) i')).converged;
SELECT gpu_predict(m, 'low', 'apartment', 'high') FROM classes_ordinal WHERE dataset = 'housing' AND link = 'logit';
DROP TABLE classes_ordinal;

-- Bad input
SELECT gpu_multinom_fit('SELECT ''a''::text AS y, x1 FROM classes_many');
SELECT gpu_multinom_fit('SELECT colour, CASE colour WHEN ''red'' THEN x1 END AS x FROM classes_many');
SELECT gpu_multinom_fit('SELECT NULL::text AS y, x1 FROM classes_many');
SELECT gpu_multinom_fit('SELECT colour, NULL::float8 AS x FROM classes_many');
SELECT gpu_multinom_fit('SELECT x1, x2 FROM classes_many');
SELECT gpu_multinom_fit('SELECT x1::numeric, x2 FROM classes_many');
SELECT gpu_multinom_fit('SELECT now() + i * interval ''1 day'' AS y, x2 FROM classes_many');
SELECT gpu_multinom_fit('SELECT i % 1001 AS y, x2 FROM classes_many');
SELECT gpu_multinom_fit('SELECT i AS y, x2 FROM classes_many');
SELECT gpu_multinom_fit('SELECT i % 999 AS y, x1, x2 FROM classes_many');
SELECT gpu_multinom_fit('SELECT colour, x1 FROM classes_many', base => 'rd');
SELECT gpu_multinom_fit('SELECT colour, CASE colour WHEN ''red'' THEN NULL ELSE x1 END AS x FROM classes_many',
                        base => 'red');
SELECT gpu_multinom_fit('SELECT colour, CASE i WHEN 7 THEN ''NaN'' ELSE x1 END AS x FROM classes_many');
SELECT gpu_multinom_fit('SELECT colour, x1 FROM classes_many', formula => 'lower(colour) ~ x1');
SELECT gpu_multinom_fit('SELECT colour, x1 FROM classes_many', formula => 'color ~ x1');
SELECT gpu_multinom_fit('SELECT colour, x1 FROM classes_many', formula => 'colour ~ x1 + offset(x1)');
SELECT gpu_multinom_fit('SELECT colour, x1 FROM classes_many', vcov => 'HC3');
SELECT gpu_multinom_fit('SELECT colour, x1, n, firm FROM classes_many', vcov => 'CR1', clusters => '{n,firm}');
SELECT gpu_multinom_fit('SELECT colour, x1, -n AS n FROM classes_many', weights => 'n');
SELECT gpu_multinom_fit('SELECT colour, x1 FROM classes_many', max_iter => 0);
SELECT gpu_multinom_fit('SELECT colour, x1 FROM classes_many', l2 => -1);
SELECT gpu_multinom_fit('SELECT random()::int AS y, x1 FROM classes_many') IS NOT NULL AS fitted;
-- a class whose rows are all incomplete is no class; a class of one row is one
SELECT gpu_classes(gpu_multinom_fit('SELECT colour, CASE WHEN colour <> ''green'' THEN x1 END AS x
    FROM classes_many'));
SELECT gpu_classes(gpu_multinom_fit('SELECT CASE i WHEN 7 THEN ''one'' ELSE colour END AS y, x1 FROM classes_many'));
-- functions of one linear predictor
SELECT gpu_predict(m, 5, 1e3, 'b') FROM classes_ways WHERE way = 'memory';
SELECT gpu_predict_interval(m, 'prediction', 0.95, 5, 1e3, 'b') FROM classes_ways WHERE way = 'memory';
SELECT gpu_vif(m) FROM classes_ways WHERE way = 'memory';
SELECT gpu_with_terms(m, (m).terms) FROM classes_ways WHERE way = 'memory';
SELECT * FROM gpu_margins((SELECT m FROM classes_ways WHERE way = 'memory' AND vcov = 'iid'),
                          'SELECT * FROM classes_many');
SELECT gpu_predict_class(gpu_ols_fit('VALUES (1, 1), (3, 2), (4, 4)'), 1);
SELECT * FROM gpu_anova(gpu_logreg_fit('SELECT n > 1, x1 FROM classes_many'),
                        (SELECT m FROM classes_ways WHERE way = 'memory' AND vcov = 'iid'));
SELECT gpu_predict_probs(m, 5, 1e3) FROM classes_ways WHERE way = 'memory';
SELECT gpu_predict_probs(m, 5, 1e3, 'z') FROM classes_ways WHERE way = 'memory';
SELECT gpu_predict_probs(m, '{"x1": 5}'::jsonb) FROM classes_ways WHERE way = 'memory';
SELECT gpu_predict_class(m, 'NaN'::float8, 1e3, 'a') IS NULL AS no_class FROM classes_ways
WHERE way = 'memory' AND vcov = 'iid';
-- models that no fit has made
CREATE FUNCTION classes_like(design text, terms text[] DEFAULT '{b:(intercept),c:(intercept)}') RETURNS gpu_model
LANGUAGE sql AS $$
    SELECT ROW('multinomial regression', terms, array_fill(1.0::float8, ARRAY[cardinality(terms)]), NULL, 9, 0, 2, 7,
               1, 2, 1, true, '{}', 'cpu', -0.5, 'multinomial', 'logit', 'Infinity', 1, NULL, 'Infinity', design)::gpu_model
$$;
SELECT gpu_classes(classes_like('2 1 classes 9 1 a1 b1 c'));
SELECT gpu_classes(classes_like(''));
SELECT gpu_classes(classes_like('2 1 classes 8 1 a1 b9 c'));
SELECT gpu_classes(classes_like('2 1 classes 3 1 a'));
SELECT gpu_classes(classes_like('2 1 classes 12 1 a1 b1 c1 d'));
SELECT gpu_predict_probs(classes_like('2 1 classes 9 1 a1 b1 c', '{x,y}'));
SELECT * FROM gpu_tidy(classes_like('2 1 classes 9 1 a1 b1 c', '{b:x,b:y}'));
SELECT * FROM gpu_tidy(classes_like(''));
SELECT * FROM gpu_glance(classes_like('2 1 classes 9 1 a1 b1 c', '{b:x,b:y,c:z}'));
SELECT gpu_class_code('{a,b}', 'b'::text), gpu_class_code('{a,b}', 'c'::text), gpu_class_code('{}', 1);
SELECT gpu_class_code('{a,NULL}', 'b'::text);
SELECT gpu_class_code('{a}', now());
DROP TABLE classes_ways, classes_many, classes_apart, classes_models, classes_fits, classes_rows;
DROP FUNCTION classes_like, classes_many_fit, classes_fit, classes_query;
DROP TABLE classes_cases;
DROP TYPE classes_size, classes_level;
