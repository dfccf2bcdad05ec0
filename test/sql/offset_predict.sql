-- Models record which columns were offsets and weights, and all predictions use the offset: by name, as the last value,
-- or with an error that says how to pass it. Reference values are R's (test/data/offset_predict_reference.R).
CREATE TABLE claims (id int, claims float8, age float8, kind text, o float8, w float8, hit int);
INSERT INTO claims SELECT id, claims, age, kind, ln(days), w, hit FROM (VALUES
    (1, 3, 2, 'a', 30, 1, 0), (2, 0, 5, 'b', 10, 2, 0), (3, 7, 3, 'a', 60, 1, 1), (4, 12, 8, 'c', 90, 1, 1),
    (5, 1, 1, 'b', 20, 3, 0), (6, 5, 6, 'c', 40, 1, 1), (7, 9, 7, 'a', 75, 2, 1), (8, 2, 2.5, 'b', 15, 1, 0),
    (9, 14, 9, 'c', 120, 1, 1), (10, 4, 4, 'a', 45, 2, 0), (11, 6, 3.5, 'b', 50, 1, 1), (12, 8, 5.5, 'c', 55, 1, 0)
    ) v (id, claims, age, kind, days, w, hit);
CREATE TABLE offset_reference (fit text, id int, mean float8, std_error float8, leverage float8, effect float8);
\copy offset_reference FROM 'test/data/offset_predict.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE offset_fits AS
SELECT 'poisson' AS fit, gpu_glm_fit('SELECT claims, age, o FROM claims', 'poisson', offsets => 'o', tol => 1e-14) AS m
UNION ALL SELECT 'factors', gpu_glm_fit('SELECT claims, w, o, age, kind FROM claims', 'poisson', weights => 'w',
    offsets => 'o', tol => 1e-14)
UNION ALL SELECT 'logistic', gpu_logreg_fit('SELECT o - 4 AS o, age, hit FROM claims', offsets => 'o',
    formula => 'hit ~ age', tol => 1e-14)
UNION ALL SELECT 'gaussian', gpu_glm_fit('SELECT claims, age, o FROM claims', offsets => 'o');
SELECT fit, (m).design FROM offset_fits;

-- The offset of a row in that fit
CREATE FUNCTION offset_of(fit text, c claims) RETURNS float8 LANGUAGE sql AS
    $$SELECT (c).o - CASE fit WHEN 'logistic' THEN 4 ELSE 0 END$$;
-- Values by position, as an array, and by name as a row and as an object; models with a design accept further columns
CREATE VIEW offset_rows AS SELECT r.*, m, age, kind, offset_of(fit, c) AS o FROM offset_reference r
    JOIN claims c USING (id) JOIN offset_fits f USING (fit);
CREATE FUNCTION agree(a float8, b float8) RETURNS boolean LANGUAGE sql AS
    $$SELECT coalesce(abs(a - b) < 1e-9 * abs(b), false)$$;
SELECT r.fit, bool_and(agree(gpu_predict(m, age, o), mean)) AS position,
    bool_and(agree(gpu_predict(m, ARRAY[age, o]), mean)) AS vector,
    bool_and(agree((SELECT gpu_predict(m, r) FROM (SELECT r.o, r.age) r), mean)) AS named,
    bool_and(agree(gpu_predict(m, jsonb_build_object('o', o, 'age', age)), mean)) AS object,
    bool_and(agree((gpu_predict_interval(m, 'confidence', 0.95, age, o)).fit, mean)) AS interval,
    bool_and(agree((gpu_predict_interval(m, 'confidence', 0.95, jsonb_build_object('o', o, 'age', age))).std_error
        / CASE r.fit WHEN 'poisson' THEN mean WHEN 'logistic' THEN mean * (1 - mean) ELSE 1 END, std_error))
        AS std_error,
    bool_and(agree(gpu_leverage(m, age, o), leverage)) AS leverage,
    bool_and(agree((SELECT gpu_leverage(m, r) FROM (SELECT r.o, r.age) r), leverage)) AS leverage_named
FROM offset_rows r WHERE fit <> 'factors' GROUP BY r.fit ORDER BY r.fit;
SELECT bool_and(agree(gpu_predict(m, age, kind, o), mean)) AS position,
    bool_and(agree(gpu_predict(m, r), mean)) AS named,
    bool_and(agree(gpu_predict(m, to_jsonb(r)), mean)) AS object,
    bool_and(agree((gpu_predict_interval(m, 'confidence', 0.95, age, kind, o)).fit, mean)) AS interval,
    bool_and(agree((gpu_predict_interval(m, 'confidence', 0.95, r)).std_error / mean, std_error)) AS std_error,
    bool_and(agree(gpu_leverage(m, r), leverage)) AS leverage
FROM offset_rows r WHERE fit = 'factors';

-- Average marginal effects use the query's column of the offset's name, or the one given.
SELECT fit, agree((SELECT estimate FROM gpu_margins(m, 'SELECT kind, age, o - ' ||
        CASE fit WHEN 'logistic' THEN 4 ELSE 0 END || ' AS o FROM claims') WHERE term = 'age'), effect) AS by_default,
    agree((SELECT estimate FROM gpu_margins(m, 'SELECT kind, age, 9 AS o, o - ' ||
        CASE fit WHEN 'logistic' THEN 4 ELSE 0 END || ' AS p FROM claims', offsets => 'p') WHERE term = 'age'), effect)
        AS by_argument
FROM offset_fits JOIN (SELECT DISTINCT fit, effect FROM offset_reference) r USING (fit) ORDER BY fit;
SELECT * FROM offset_fits, gpu_margins(m, 'SELECT age, kind FROM claims') WHERE fit = 'poisson';
SELECT * FROM offset_fits, gpu_margins(m, 'SELECT age, o, o FROM claims') WHERE fit = 'poisson';
SELECT * FROM offset_fits, gpu_margins(m, 'SELECT age, kind AS o FROM claims') WHERE fit = 'poisson';

-- Without an offset a prediction is an error that names it.
SELECT gpu_predict(m, 2) FROM offset_fits WHERE fit = 'poisson';
SELECT gpu_predict(m, 2, 3, 4) FROM offset_fits WHERE fit = 'poisson';
SELECT gpu_predict(m) FROM offset_fits WHERE fit = 'poisson';
SELECT gpu_predict(m, r) FROM offset_fits, (SELECT 2 AS age) r WHERE fit = 'poisson';
SELECT gpu_predict(m, r) FROM offset_fits, (SELECT 2 AS age, 'x' AS o) r WHERE fit = 'poisson';
SELECT gpu_predict(m, r) FROM offset_fits, (SELECT 2 AS age, '{1}'::float8[] AS o) r WHERE fit = 'poisson';
SELECT gpu_predict(m, '{"age": 2}'::jsonb) FROM offset_fits WHERE fit = 'poisson';
SELECT gpu_predict(m, '{"age": 2, "o": "x"}'::jsonb) FROM offset_fits WHERE fit = 'poisson';
SELECT gpu_predict(m, '{"age": 2, "o": 1, "w": 1}'::jsonb) FROM offset_fits WHERE fit = 'poisson';
SELECT gpu_predict(m, 2, 'a'::text) FROM offset_fits WHERE fit = 'factors';
SELECT gpu_predict(m, 2, 'a'::text, 'b'::text) FROM offset_fits WHERE fit = 'factors';
SELECT gpu_predict(m, r) FROM offset_fits, (SELECT 2 AS age, 'a' AS kind) r WHERE fit = 'factors';
SELECT gpu_predict(m, r) FROM offset_fits, (SELECT 2 AS age, 'a' AS kind, true AS o, 1 AS w) r WHERE fit = 'factors';
SELECT gpu_predict(m, '{"age": 2, "kind": "a"}'::jsonb) FROM offset_fits WHERE fit = 'factors';
SELECT gpu_predict(m, '{"age": 2, "kind": "a", "o": "b"}'::jsonb) FROM offset_fits WHERE fit = 'factors';
SELECT gpu_leverage(m, 2) FROM offset_fits WHERE fit = 'poisson';
SELECT gpu_predict_interval(m, 'confidence', 0.95, 2) FROM offset_fits WHERE fit = 'poisson';

-- A NULL offset gives NULL, an infinite one a limit; models that differ only in the offset's name are told apart.
SELECT gpu_predict(m, 2, NULL::float8), gpu_predict(m, '{"age": 2, "o": null}'::jsonb),
    gpu_predict(m, 2, '-infinity'::float8), gpu_predict(m, 2, 'NaN'::float8) FROM offset_fits WHERE fit = 'poisson';
SELECT gpu_predict(m, jsonb_build_object('age', 2, 'o', 3, 'p', 4, 'kind', 'a')) / gpu_predict(m, 2, 'a'::text, 3)
FROM (SELECT m FROM offset_fits WHERE fit = 'factors' UNION ALL SELECT gpu_glm_fit('SELECT claims, w, o AS p, age, kind
    FROM claims', 'poisson', weights => 'w', offsets => 'p', tol => 1e-14)) f;

-- The intercept alone, and an offset that is a feature as well
SELECT round(gpu_predict(m, 3)::numeric / gpu_predict(m, '{"o": 2}'::jsonb)::numeric / exp(1)::numeric, 12) AS ratio
FROM gpu_glm_fit('SELECT claims, o FROM claims', 'poisson', offsets => 'o') m;
SELECT round((gpu_predict(m, 3, 3) - gpu_predict(m, r))::numeric, 12) AS same
FROM gpu_glm_fit('SELECT claims, o FROM claims', 'poisson', formula => 'claims ~ o', offsets => 'o') m,
    (SELECT 3 AS o) r;

-- gpu_with_terms keeps the roles.
SELECT (gpu_with_terms(m, '{(intercept),years}')).design, gpu_predict(gpu_with_terms(m, '{(intercept),years}'),
    '{"years": 2, "o": 1}'::jsonb) = gpu_predict(m, 2, 1) AS same FROM offset_fits WHERE fit = 'poisson';

-- Recorded weights and frequencies, and their printed form; the numbers of (X'WX)^-1 are those of the processor
SELECT regexp_replace((m).design, '(bread \d+) .*', '\1') AS design, n
FROM (VALUES (1, gpu_ols_fit('SELECT claims, age, w FROM claims', weights => 'w')),
    (2, gpu_ols_fit('SELECT claims, age, w FROM claims', frequencies => 'w')),
    (3, gpu_ols_fit('SELECT claims, age, w FROM claims', frequencies => 'w', vcov => 'HC1')),
    (4, gpu_ols_fit('SELECT claims, age FROM claims')),
    (5, gpu_enet_fit('SELECT claims, age, w FROM claims', lambda => 0.1, weights => 'w')),
    (6, gpu_enet_fit('SELECT claims, age, w, id % 3 AS f FROM claims', fold => 'f', frequencies => 'w')),
    (7, gpu_enet_fit('SELECT hit, age, w FROM claims', lambda => 0.1, weights => 'w', family => 'binomial')),
    (8, (gpu_enet_cv('SELECT claims, age, w, id % 3 AS f FROM claims', fold => 'f', weights => 'w')).model_min),
    (9, gpu_glm_fit('SELECT claims, age, w AS "w 2 x" FROM claims', weights => 'w 2 x')),
    (10, gpu_glm_fit('SELECT hit, age FROM claims', 'quasibinomial'))) v (n, m) ORDER BY n;
SELECT gpu_summary(m) FROM offset_fits WHERE fit = 'factors' \g (format=unaligned tuples_only=on)
SELECT gpu_summary(gpu_ols_fit('SELECT claims, age, w FROM claims', frequencies => 'w'))
\g (format=unaligned tuples_only=on)

-- Models of 0.1.0 have no record of an offset: 0 is used, as 0.1.0 did. An invalid record is an error wherever it is
-- read.
CREATE FUNCTION with_design(m gpu_model, design text) RETURNS gpu_model LANGUAGE sql AS
    $$SELECT jsonb_populate_record(m, jsonb_build_object('design', design))$$;
SELECT gpu_predict(with_design(m, ''), 2) / gpu_predict(m, 2, 0) AS same FROM offset_fits WHERE fit = 'poisson';
SELECT gpu_predict(with_design(m, NULL), 2) / gpu_predict(m, 2, 0) AS same FROM offset_fits WHERE fit = 'poisson';
SELECT gpu_predict(with_design(m, '2 1 offsets 1 p'), r) / gpu_predict(m, 2, 1) AS same
FROM offset_fits, (SELECT 2 AS age, 1 AS p) r WHERE fit = 'poisson';
SELECT gpu_predict(with_design(m, '2 2 other 1 p offsets 0 '), 2, 1) / gpu_predict(m, 2, 1) AS same
FROM offset_fits, (SELECT 2 AS age, 1 AS p) r WHERE fit = 'poisson';
SELECT gpu_predict(with_design(m, '2 1 offsets 2 p'), 2, 1) FROM offset_fits WHERE fit = 'poisson';
SELECT gpu_summary(with_design(m, '2 1 offsets')) FROM offset_fits WHERE fit = 'poisson';
SELECT gpu_predict(with_design(m, '2 1 offsets 1 o x'), 2, 1) FROM offset_fits WHERE fit = 'poisson';
DROP VIEW offset_rows;
DROP TABLE offset_fits, offset_reference;
DROP FUNCTION offset_of, agree, with_design;
DROP TABLE claims;
