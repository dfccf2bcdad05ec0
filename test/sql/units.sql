-- Responses, weights and frequencies in extreme units against fits in 60 digits: test/data/units_reference.py.
CREATE TABLE units_rows (i serial, dataset text, y float8, weight float8, x1 float8, x2 float8);
\copy units_rows (dataset, y, weight, x1, x2) FROM 'test/data/units_rows.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE units_fits (dataset text, family text, link text, theta float8, role text, y_exponent int,
    weight_exponent int, fits boolean, term text, estimate numeric, std_error numeric);
\copy units_fits FROM 'test/data/units_fits.csv' WITH (FORMAT csv, HEADER, FORCE_NOT_NULL (role))
ANALYZE units_rows;
CREATE TABLE units_cases AS
SELECT row_number() OVER () AS id, f.*
FROM (SELECT DISTINCT dataset, family, link, theta, role, y_exponent, weight_exponent, fits FROM units_fits
      ORDER BY 1, 2, 3, 5, 6, 7) f;
SELECT family, link, count(*) AS cases, count(*) FILTER (WHERE NOT fits) AS out_of_range,
    max(abs(y_exponent)) AS y_exponent, max(abs(weight_exponent)) AS weight_exponent
FROM units_cases GROUP BY family, link ORDER BY family COLLATE "C", link COLLATE "C";

-- The fit of a case; NULL if it is error 22003. Other errors, and warnings, are shown.
CREATE FUNCTION units_fit(c units_cases, also text DEFAULT '', robust text DEFAULT 'iid') RETURNS gpu_model
LANGUAGE plpgsql AS $$
BEGIN
    RETURN gpu_glm_fit(format('SELECT y * power(2::float8, %s) AS y, x1, x2, weight * power(2::float8, %s) AS w '
                              'FROM units_rows%s WHERE dataset = %L', c.y_exponent, c.weight_exponent, also,
                              c.dataset),
                       c.family, c.link, formula => 'y ~ x1 + x2', theta => c.theta,
                       weights => CASE c.role WHEN 'weights' THEN 'w' END,
                       frequencies => CASE c.role WHEN 'frequencies' THEN 'w' END, vcov => robust);
EXCEPTION WHEN numeric_value_out_of_range THEN
    RETURN NULL;
END
$$;
CREATE TABLE units_models AS SELECT id, units_fit(c) AS m FROM units_cases c;

-- Numbers are errors only if float8 can't hold them.
SELECT count(*) FILTER (WHERE fits), count(*) FILTER (WHERE NOT fits) AS not_fits,
    bool_and(((m).coef IS NOT NULL) = fits) AS agrees, bool_and((m).converged) AS converged
FROM units_models JOIN units_cases USING (id);

CREATE TABLE units_digits AS
SELECT c.*, f.term, digits(t.estimate, f.estimate) AS estimate,
       CASE WHEN f.std_error IS NOT NULL THEN digits(t.std_error, f.std_error) END AS std_error
FROM units_models JOIN units_cases c USING (id)
JOIN units_fits f ON (f.dataset, f.family, f.link, f.role, f.y_exponent, f.weight_exponent) =
    (c.dataset, c.family, c.link, c.role, c.y_exponent, c.weight_exponent) AND f.theta IS NOT DISTINCT FROM c.theta
JOIN LATERAL (
    SELECT (row_number() OVER () - 1)::text AS term, estimate, std_error FROM gpu_tidy(m)
    UNION ALL SELECT * FROM (VALUES ('deviance', (m).deviance, NULL::float8),
        ('null_deviance', (m).null_deviance, NULL), ('dispersion', (m).dispersion, NULL)) v) t ON t.term = f.term
WHERE c.fits;
SELECT family, link, count(*) AS numbers, min(estimate) FILTER (WHERE term IN ('0', '1', '2')) > 11 AS estimates,
    min(std_error) > 11 AS std_errors
FROM units_digits GROUP BY family, link ORDER BY family COLLATE "C", link COLLATE "C";
-- A deviance of counts in billions is small relative to its terms.
SELECT dataset LIKE 'totals%' AS totals, term,
    min(estimate) > CASE WHEN dataset LIKE 'totals%' THEN 8 ELSE 11 END AS sums
FROM units_digits WHERE term LIKE '%d%' GROUP BY 1, term, dataset LIKE 'totals%' ORDER BY 1, 2;

-- A slope is the same in all units, up to the scale if the link isn't log.
SELECT family, link, count(*) AS units,
    max(abs((m).coef[2] / power(2::float8, CASE link WHEN 'identity' THEN y_exponent WHEN 'inverse' THEN -y_exponent
                                           WHEN 'sqrt' THEN y_exponent / 2.0 ELSE 0 END) / own - 1)) < 1e-11 AS same
FROM units_models JOIN units_cases c USING (id)
JOIN (SELECT dataset, family, link, (m).coef[2] AS own FROM units_models JOIN units_cases USING (id)
      WHERE y_exponent = 0 AND role = '') z USING (dataset, family, link)
WHERE fits AND role = '' AND dataset = 'positive'
GROUP BY family, link ORDER BY family COLLATE "C", link COLLATE "C";

-- Robust covariances, with the query run for each pass, in workers, and through the ring
CREATE FUNCTION units_agree(a gpu_model, b gpu_model) RETURNS boolean LANGUAGE sql AS $$
    SELECT relative_difference((a).coef, (b).coef) < 1e-11
        AND relative_difference((SELECT array_agg(std_error) FROM gpu_tidy(a)),
                                (SELECT array_agg(std_error) FROM gpu_tidy(b))) < 1e-11
        AND relative_difference(ARRAY[(a).deviance, (a).null_deviance, (a).dispersion],
                                ARRAY[(b).deviance, (b).null_deviance, (b).dispersion]) < 1e-11
$$;
CREATE TABLE units_far AS SELECT c, id FROM units_cases c
WHERE dataset = 'positive' AND fits AND (abs(y_exponent) = 332 OR (role = 'weights' AND abs(weight_exponent) = 150));
SELECT robust, count(*), bool_and(relative_difference((SELECT array_agg(std_error) FROM gpu_tidy(a)),
        (SELECT array_agg(std_error / power(2::float8, CASE c.link WHEN 'identity' THEN c.y_exponent
             WHEN 'inverse' THEN -c.y_exponent WHEN 'sqrt' THEN c.y_exponent / 2.0 ELSE 0 END))
         FROM gpu_tidy(b))) < 1e-11) AS same
FROM unnest('{HC0,HC1,HC3}'::text[]) robust, units_cases c
JOIN units_far USING (id)
JOIN units_cases z ON (z.dataset, z.family, z.link, z.role) = (c.dataset, c.family, c.link, c.role)
    AND z.y_exponent = 0 AND z.weight_exponent = 0, units_fit(z, robust => robust) a, units_fit(c, robust => robust) b
WHERE c.role = '' GROUP BY robust ORDER BY robust;
SET jit = off;
SET gpureg.device = cpu; SET gpureg.ring_size = '1MB';
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SELECT count(*), bool_and(units_agree(m, units_fit(c, ', one_of_many()'))) AS same
FROM units_far JOIN units_models USING (id);
SET gpureg.debug_ring = on;
SELECT count(*), bool_and(units_agree(m, units_fit(c))) AS same FROM units_far JOIN units_models USING (id);
RESET gpureg.debug_ring; RESET gpureg.device; RESET gpureg.ring_size;
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size;
-- Clusters of single rows give HC0, though other code sums clusters.
SELECT count(*), bool_and(relative_difference((SELECT array_agg(std_error) FROM gpu_tidy(a)),
                                              (SELECT array_agg(std_error) FROM gpu_tidy(b))) < 1e-11) AS same
FROM units_far, units_fit(c, robust => 'HC0') a,
    gpu_glm_fit(format('SELECT y * power(2::float8, %s) AS y, x1, x2, i FROM units_rows '
                       'WHERE dataset = %L', (c).y_exponent, (c).dataset),
                (c).family, (c).link, formula => 'y ~ x1 + x2', vcov => 'CR0', clusters => '{i}') b
WHERE (c).role = '';
RESET jit;

-- Responses of any sign, some of which are no mean of the log link
SELECT k, (m).converged, abs((m).coef[2] / (z).coef[2] - 1) < 1e-11 AS same
FROM unnest('{-400,-40,-5,40,400}'::int[]) k,
    gpu_glm_fit('SELECT y - 1.4, x1 FROM units_rows WHERE dataset = ''positive''', 'gaussian', 'log') z,
    gpu_glm_fit(format('SELECT (y - 1.4) * power(2::float8, %s), x1 FROM units_rows WHERE dataset = ''positive''', k),
                'gaussian', 'log') m;
-- A penalty has the same effect in every unit.
SELECT k, abs((m).coef[2] / (z).coef[2] - 1) < 1e-11 AS same
FROM unnest('{-400,-40,40,400}'::int[]) k,
    gpu_glm_fit('SELECT y, x1 FROM units_rows WHERE dataset = ''positive''', 'gamma', l2 => 3) z,
    gpu_glm_fit(format('SELECT y * power(2::float8, %s), x1 FROM units_rows WHERE dataset = ''positive''', k), 'gamma',
                l2 => 3) m;
SELECT k, abs((m).coef[2] / (z).coef[2] - 1) < 1e-11 AS same
FROM unnest('{-200,-40,40,200}'::int[]) k,
    gpu_glm_fit('SELECT y, x1 FROM units_rows WHERE dataset = ''positive''', 'gaussian', 'log', l2 => 3) z,
    gpu_glm_fit(format('SELECT y * power(2::float8, %s), x1 FROM units_rows WHERE dataset = ''positive''', k),
                'gaussian', 'log', l2 => 3 * power(2::float8, 2 * k)) m;
-- Offsets, which are in the unit of the response if the link isn't log
SELECT f, l, abs((m).coef[2] / power(2::float8, CASE l WHEN 'identity' THEN k WHEN 'inverse' THEN -k
                         ELSE 0 END) / (z).coef[2] - 1) < 1e-11 AS same, (m).converged
FROM (VALUES ('gaussian', 'identity', 300), ('gaussian', 'log', 300), ('gamma', 'log', 900), ('gamma', 'identity', 300),
             ('gamma', 'inverse', 300), ('gaussian', 'inverse', 100)) AS t(f, l, k),
    gpu_glm_fit('SELECT y, x1, x1 / 8 AS o FROM units_rows WHERE dataset = ''positive''', f, l,
                offsets => 'o') z,
    gpu_glm_fit(format('SELECT y * power(2::float8, %s), x1, x1 / 8 * power(2::float8, %s) AS o FROM units_rows '
                       'WHERE dataset = ''positive''', k, CASE l WHEN 'identity' THEN k WHEN 'inverse' THEN -k
                       ELSE 0 END), f, l, offsets => 'o') m;

-- Error 22003 instead of a wrong estimate
CREATE VIEW units_positive AS SELECT * FROM units_rows WHERE dataset = 'positive';
\set VERBOSITY terse
SELECT gpu_glm_fit('SELECT 1e-200 * y AS y, x1 FROM units_positive', 'gaussian', 'log');
SELECT gpu_glm_fit('SELECT 1e200 * y AS y, x1 FROM units_positive', 'gaussian', 'log');
SELECT gpu_glm_fit('SELECT 1e-200 * y AS y, x1 FROM units_positive', 'gaussian', 'log', false);
SELECT gpu_glm_fit('SELECT 1e-200 * y AS y, x1, 0 AS o FROM units_positive', 'gaussian', offsets => 'o');
SELECT gpu_glm_fit('SELECT 1e-170 * y AS y, x1 FROM units_positive', 'gaussian', vcov => 'HC1');
SELECT gpu_glm_fit('SELECT y, 1e-310 * x1 AS x1 FROM units_positive', 'poisson');
SELECT gpu_glm_fit('SELECT y, 1e-180 * x1 AS x1, x2 FROM units_positive', 'gamma');
SELECT gpu_glm_fit('SELECT y, 1e300 * x1 AS x1 FROM units_positive', 'gamma');
SELECT gpu_logreg_fit('SELECT y > 2 AS y, 1e-310 * x1 AS x1 FROM units_positive');
SELECT gpu_glm_fit('SELECT y, x1, 5e-324 AS w FROM units_positive', 'gamma', weights => 'w');
SELECT gpu_glm_solve(gpu_glm_step_agg('gaussian', 'log', '{}', 1e-200 * y, x1)) FROM units_positive;
SELECT gpu_logreg_solve(gpu_logreg_step_agg('{}', y > 2, 1e-310 * x1)) FROM units_positive;
\set VERBOSITY default
-- A column of zeros is collinear in any unit.
SELECT (m).rank, (m).coef[3] IS NULL AS collinear
FROM gpu_glm_fit('SELECT y, x1, 0 AS zero FROM units_rows WHERE dataset = ''positive''', 'gamma') m;

-- If no iteration is left, a fit has converged only if the standard errors have their digits, too.
CREATE TABLE units_last AS SELECT i, sin(10.5 * i) * 2 AS x, cos(3 * i + 14) * 20 AS o,
    (sin(16 * i * i) + 1) / 2 < 1 / (1 + exp(3 - sin(10.5 * i) * 12)) AS y FROM generate_series(1, 20) i;
SET client_min_messages = error;
SELECT bool_or(k < ends) AS earlier, bool_and((m).converged) FILTER (WHERE k >= ends) AS converged,
    count(*) FILTER (WHERE (m).converged AND k < ends) > 0 AS before,
    max(relative_difference((SELECT array_agg(std_error) FROM gpu_tidy(m)),
                            (SELECT array_agg(std_error) FROM gpu_tidy(last)))) FILTER (WHERE (m).converged) < 1e-10
    AS std_errors
FROM (SELECT last, (last).iterations AS ends FROM gpu_logreg_fit('SELECT y, x, o FROM units_last', offsets => 'o',
                                                              max_iter => 100) last) l,
    generate_series(ends - 3, ends + 1) k,
    gpu_logreg_fit('SELECT y, x, o FROM units_last', offsets => 'o', max_iter => k) m;

DROP TABLE units_rows, units_fits, units_cases, units_models, units_digits, units_far, units_last CASCADE;
