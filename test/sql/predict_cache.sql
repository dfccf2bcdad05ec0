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
-- The covariances of a model that several rows pass are prepared once: the errors are those of single calls, to the bit
-- unless the model's columns are nearly collinear.
CREATE TABLE ready AS
SELECT k, sin(k) AS a, cos(k * k) AS b, exp(sin(3 * k)) AS c, 1e130 * sin(k / 7.0) AS d, 2020 + k / 40.0 AS year,
    (k % 7)::float8 AS e FROM generate_series(1, 200) k;
CREATE TABLE ready_models AS
SELECT 'plain' AS name, gpu_ols_fit('SELECT sin(k * 3.3) + a, a, b, c FROM ready') AS m
UNION ALL SELECT 'scales', gpu_ols_fit('SELECT sin(k * 3.3) + a, a, b, d, 1e-130 * c AS c FROM ready')
UNION ALL SELECT 'collinear', gpu_ols_fit('SELECT sin(k * 3.3) + a, a, b, a + b AS c FROM ready')
UNION ALL SELECT 'no intercept', gpu_ols_fit('SELECT sin(k * 3.3) + a, a, b, c FROM ready', intercept => false)
UNION ALL SELECT 'low halves',
    gpu_ols_fit('SELECT sin(k * 3.3) + a, year, year * year AS b, year + 1e-3 * c AS c FROM ready')
UNION ALL SELECT 'poisson', gpu_glm_fit('SELECT e, a, b, c FROM ready', 'poisson');
CREATE TABLE ready_rows AS
SELECT name, k, i, CASE WHEN k < 5 THEN (ARRAY[0, 'NaN', 'Infinity', 1e300]::float8[])[k] ELSE x[i] END AS xi, x, n
FROM ready_models, LATERAL (SELECT k, CASE name WHEN 'scales' THEN ARRAY[a, b, d, 1e-130 * c]
    WHEN 'collinear' THEN ARRAY[a, b, a + b] WHEN 'low halves' THEN ARRAY[year, year * year, year + 1e-3 * c]
    ELSE ARRAY[a, b, c] END AS x FROM ready WHERE k < 60) r, LATERAL (SELECT cardinality(x) AS n) s,
    generate_series(1, n) i;
CREATE TABLE ready_values AS SELECT name, k, array_agg(xi ORDER BY i) AS x FROM ready_rows GROUP BY name, k;
CREATE TYPE ready_interval AS (fit float8, std_error float8, lower float8, upper float8);
CREATE FUNCTION alone(model text, kind text, x float8[]) RETURNS ready_interval LANGUAGE plpgsql AS $$
DECLARE
    interval ready_interval;
BEGIN
    EXECUTE format('SELECT p.* FROM ready_models, gpu_predict_interval(m, %L, 0.9, %L::float8[]) p WHERE name = %L',
                   kind, x, model) INTO interval;
    RETURN interval;
EXCEPTION WHEN numeric_value_out_of_range THEN
    RETURN (-1::float8, NULL::float8, NULL::float8, NULL::float8);
END $$;
CREATE FUNCTION alone_leverage(model text, x float8[]) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
    leverage float8;
BEGIN
    EXECUTE format('SELECT gpu_leverage(m, %L::float8[]) FROM ready_models WHERE name = %L', x, model) INTO leverage;
    RETURN leverage;
END $$;
SET client_min_messages = error;
CREATE TABLE ready_alone AS
SELECT name, k, x, alone(name, 'confidence', x) AS s FROM ready_values;
SELECT name, count(*) AS n, count((s).std_error) AS errors,
    bool_and(p IS NOT DISTINCT FROM s OR
             (name = 'low halves' AND p.fit = (s).fit AND abs(p.std_error / (s).std_error - 1) < 1e-9)) AS same
FROM (SELECT * FROM ready_alone WHERE (s).fit IS DISTINCT FROM -1 ORDER BY name, k OFFSET 0) r
    JOIN ready_models USING (name), gpu_predict_interval(m, 'confidence', 0.9, x) p
GROUP BY name ORDER BY name COLLATE "C";
SELECT name, count(*) AS n, bool_and(gpu_leverage(m, x) IS NOT DISTINCT FROM alone_leverage(name, x) OR
    (name = 'low halves' AND abs(gpu_leverage(m, x) / alone_leverage(name, x) - 1) < 1e-9)) AS same
FROM ready_values JOIN ready_models USING (name) WHERE k > 4 GROUP BY name ORDER BY name COLLATE "C";
-- of a prediction, too; and kinds with other names are errors
SELECT name, bool_and(p IS NOT DISTINCT FROM alone(name, 'prediction', x)) AS same
FROM ready_values JOIN ready_models USING (name), gpu_predict_interval(m, 'prediction', 0.9, x) p
WHERE k > 4 AND name = 'plain' GROUP BY name;
SELECT gpu_predict_interval(m, kind, 0.9, 1, 1, 1) FROM ready_models, unnest('{confidence,prediction_}'::text[]) kind
WHERE name = 'plain';
SELECT gpu_predict_interval(m, 'confidencf', 0.9, 1, 1, 1) FROM ready_models WHERE name = 'plain';
RESET client_min_messages;
