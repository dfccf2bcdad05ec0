-- gpu_predict reads a model once for all rows that pass the same one. What is kept must never be used for another model.
SET client_min_messages = warning;
CREATE TEMP TABLE points AS SELECT i, i / 7.0 AS x1, sin(i) AS x2, 'f' || i % 3 AS f FROM generate_series(1, 60) i;
CREATE TEMP TABLE models AS
    SELECT i, gpu_with_terms(m, ARRAY['(intercept)', 'x1', 'x2']) AS m, (m).coef AS b
    FROM (SELECT k.i, gpu_ols_agg(cos(p.i * k.i), p.x1, p.x2) AS m
          FROM points p, generate_series(1, 5) k(i) GROUP BY k.i) fits;

-- a model per row, one for several rows, and back
SELECT count(*) FILTER (WHERE gpu_predict(m, x1, x2) IS DISTINCT FROM b[1] + b[2] * x1 + b[3] * x2) AS differ
FROM models, points;
SELECT count(*) FILTER (WHERE gpu_predict(m, x1, x2) IS DISTINCT FROM b[1] + b[2] * x1 + b[3] * x2) AS differ
FROM (SELECT * FROM models, points ORDER BY points.i, models.i) r;
SELECT count(*) FILTER (WHERE gpu_predict(m, r) IS DISTINCT FROM b[1] + b[2] * x1 + b[3] * x2) AS differ
FROM (SELECT m, b, (SELECT q FROM (SELECT x1, x2) q) AS r, x1, x2 FROM models, points ORDER BY points.i, models.i) s;

-- models of one type and size that differ in one byte
SELECT count(DISTINCT gpu_predict(jsonb_populate_record(m, jsonb_build_object('coef', ARRAY[b[1], b[2], k])), 1, 1))
FROM models, generate_series(1, 40) k WHERE models.i = 1;

-- models that are larger than what is compared whole: covariances differ, coefficients differ, names differ
CREATE TEMP TABLE wide AS
    SELECT i, (SELECT array_agg(sin(i * j)) FROM generate_series(1, 40) j) AS x FROM generate_series(1, 100) i;
CREATE TEMP TABLE wide_models AS
    SELECT k, gpu_ols_fit('SELECT cos(i * ' || k || '), x FROM wide') AS m FROM generate_series(1, 4) k;
SELECT k, pg_column_size(m) > 8192 AS large FROM wide_models ORDER BY k;
SELECT count(*) FILTER (WHERE abs(gpu_predict(m, x) - by_hand) > 1e-13) AS differ
FROM (SELECT m, x, (m).coef[1] + (SELECT sum((m).coef[j + 1] * x[j]) FROM generate_series(1, 40) j) AS by_hand
      FROM wide, wide_models ORDER BY i, k) r;
SELECT count(DISTINCT std_error) AS std_errors, count(DISTINCT fit) AS fits
FROM (SELECT m FROM wide_models WHERE k = 1
      UNION ALL
      SELECT jsonb_populate_record(m, jsonb_build_object('vcov',
          (SELECT array_agg((SELECT array_agg((m).vcov[a][b] * f) FROM generate_series(1, 41) b)) FROM generate_series(1, 41) a)))
      FROM wide_models, generate_series(2, 3) f WHERE k = 1) r,
    LATERAL (SELECT x FROM wide WHERE i = 7 OFFSET 0) w, gpu_predict_interval(m, 'confidence', 0.95, x);

-- a variable that holds another model in each round, and an error between two calls
DO $$
DECLARE
    model gpu_model;
    wrong int = 0;
    b float8[];
BEGIN
    FOR round IN 1 .. 20 LOOP
        SELECT (models.m).* INTO model FROM models WHERE models.i = round % 5 + 1;
        SELECT models.b INTO b FROM models WHERE models.i = round % 5 + 1;
        IF round % 4 = 0 THEN
            BEGIN
                model.terms = '{}';
                PERFORM gpu_predict(model, 1, 2);
            EXCEPTION WHEN others THEN
                SELECT (models.m).* INTO model FROM models WHERE models.i = round % 5 + 1;
            END;
        END IF;
        IF gpu_predict(model, 1, 2) <> b[1] + b[2] * 1.0 + b[3] * 2.0 THEN
            wrong = wrong + 1;
        END IF;
    END LOOP;
    RAISE WARNING '% wrong', wrong;
END $$;

-- coefficients that are NULL or infinite, values that are infinite
SELECT x, gpu_predict(jsonb_populate_record(m, jsonb_build_object('coef', c)), x, 2) AS predicted
FROM models, (VALUES ('[1, null, 3]'::jsonb), ('[null, 2, 3]'), ('["Infinity", 2, 3]'), ('[1, "-Infinity", 0]')) v(c),
    (VALUES (1.0::float8), (0), ('Infinity'), ('NaN')) w(x)
WHERE models.i = 1;

-- designs: features that are 0 are not made
CREATE TEMP TABLE designed AS
    SELECT k, formula, gpu_ols_fit('SELECT cos(i * ' || k || ') AS y, x1, x2, f FROM points', formula => formula) AS m
    FROM generate_series(1, 2) k,
        (VALUES ('y ~ x1 + f'), ('y ~ f + x1:f + x2'), ('y ~ 0 + f + poly(x1, 3)'), ('y ~ f * poly(x1, 2) * x2'), ('y ~ x1 * x2'))
            v(formula);
SELECT formula, count(*) FILTER (WHERE gpu_predict(m, points) IS DISTINCT FROM fit) AS by_row,
    count(*) FILTER (WHERE gpu_predict(m, to_jsonb(points)) IS DISTINCT FROM fit) AS by_object
FROM (SELECT * FROM designed, points ORDER BY points.i, k) r(k, formula, m, i, x1, x2, f)
    JOIN points USING (i), LATERAL gpu_predict_interval(m, 'confidence', 0.9, points)
GROUP BY formula ORDER BY formula;
SELECT gpu_predict(m, x, 'f1') FROM designed, (VALUES ('Infinity'::float8), ('NaN'), (NULL), (1)) v(x)
WHERE formula = 'y ~ x1 + f' AND k = 1;
SELECT gpu_predict(m, 1, 'f9') FROM designed WHERE formula = 'y ~ x1 + f' AND k = 1;
SELECT gpu_predict(m, 1) FROM designed WHERE formula = 'y ~ x1 + f' AND k = 1;

-- an offset
CREATE TEMP TABLE counts AS SELECT i, i % 5 AS y, x1, f, x2 AS days FROM points;
CREATE TEMP TABLE with_offset AS
    SELECT gpu_glm_fit('SELECT y, x1, days FROM counts', 'poisson', offsets => 'days') AS plain,
        gpu_glm_fit('SELECT y, x1, f, days FROM counts', 'poisson', offsets => 'days') AS designed;
SELECT max(abs(gpu_predict(plain, x1, days) / exp((plain).coef[1] + (plain).coef[2] * x1 + days) - 1)) < 1e-14 AS plain,
    max(abs(gpu_predict(designed, counts) / exp((designed).coef[1] + (designed).coef[2] * x1
        + CASE f WHEN 'f1' THEN (designed).coef[3] WHEN 'f2' THEN (designed).coef[4] ELSE 0 END + days) - 1)) < 1e-14
        AS designed
FROM with_offset, counts;
