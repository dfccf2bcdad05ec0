-- Formulas: the products of columns that are features, as in R.
SET client_min_messages = warning;
-- birth weights (Hosmer and Lemeshow), as counts: a saturated model's estimates are differences of log odds
CREATE TABLE births AS SELECT * FROM (VALUES (1, 0, false, 40), (2, 0, false, 11), (3, 0, false, 35), (1, 1, false, 33),
    (2, 1, false, 4), (3, 1, false, 7),
    (1, 0, true, 4), (2, 0, true, 5), (3, 0, true, 20), (1, 1, true, 19), (2, 1, true, 6), (3, 1, true, 5)) v(race,
    smoke, low, n);
SELECT term, abs(estimate - CASE term WHEN '(intercept)' THEN ln(4 / 40.0)
    WHEN 'race[2]' THEN ln(5 / 11.0) - ln(4 / 40.0) WHEN 'race[3]' THEN ln(20 / 35.0) - ln(4 / 40.0)
    WHEN 'smoke' THEN ln(19 / 33.0) - ln(4 / 40.0)
        WHEN 'race[2]:smoke' THEN ln(6 / 4.0) - ln(19 / 33.0) - ln(5 / 11.0) + ln(4 / 40.0)
            WHEN 'race[3]:smoke' THEN ln(5 / 7.0) - ln(19 / 33.0) - ln(20 / 35.0) + ln(4 / 40.0) END)
            < 1e-13 AS estimate,
    abs(std_error - sqrt(cells)) < 1e-13 AS std_error
FROM gpu_tidy(gpu_logreg_fit('SELECT * FROM births', formula => 'low ~ factor(race) * smoke', frequencies => 'n'))
    WITH ORDINALITY
JOIN unnest(ARRAY[1.0/40 + 1.0/4, 1.0/40 + 1.0/4 + 1.0/11 + 1.0/5, 1.0/40 + 1.0/4 + 1.0/35 + 1.0/20,
    1.0/40 + 1.0/4 + 1.0/33 + 1.0/19, 1.0/40 + 1.0/4 + 1.0/33 + 1.0/19 + 1.0/11 + 1.0/5 + 1.0/4 + 1.0/6,
    1.0/40 + 1.0/4 + 1.0/33 + 1.0/19 + 1.0/35 + 1.0/20 + 1.0/7 + 1.0/5]) WITH ORDINALITY AS c(cells, ordinality)
        USING (ordinality);

-- warpbreaks: R's terms in R's order, for any coding
CREATE TABLE breaks AS SELECT b AS breaks, CASE WHEN i <= 27 THEN 'A' ELSE 'B' END AS wool,
    ((ARRAY['L', 'M', 'H'])[1 + (i - 1) / 9 % 3])::text AS tension, i
FROM unnest(ARRAY[26,30,54,25,70,52,51,26,67,18,21,29,17,12,18,35,30,36,36,21,24,18,10,43,28,15,26,27,14,29,19,29,31,
    41,20,44,42,26,19,16,39,28,21,39,29,20,21,24,17,13,15,15,16,28]) WITH ORDINALITY u(b, i);
CREATE TYPE tension AS ENUM ('L', 'M', 'H');
ALTER TABLE breaks ALTER tension TYPE tension USING tension::tension;
SELECT f AS formula, m.terms, array_agg(round(c::numeric, 8) ORDER BY k) AS coef,
    round(m.deviance::numeric, 6) AS deviance
FROM unnest(ARRAY['breaks ~ wool * tension', 'breaks ~ wool:tension - 1', 'breaks ~ 0 + tension',
    'breaks ~ tension + wool:i']) f,
    LATERAL gpu_ols_fit('SELECT * FROM breaks', formula => f) m, unnest(m.coef) WITH ORDINALITY AS c(c, k)
    GROUP BY f, m.terms, m.deviance ORDER BY f;

-- motor cars: poly() and factor() of numbers, R's lm(mpg ~ poly(hp, 2, raw = TRUE) * factor(cyl))
CREATE TABLE motors AS SELECT * FROM unnest(
    ARRAY[21, 21, 22.8, 21.4, 18.7, 18.1, 14.3, 24.4, 22.8, 19.2, 17.8, 16.4, 17.3, 15.2, 10.4, 10.4, 14.7, 32.4,
        30.4, 33.9, 21.5, 15.5, 15.2, 13.3, 19.2, 27.3, 26, 30.4, 15.8, 19.7, 15, 21.4]::float8[],
    ARRAY[110, 110, 93, 110, 175, 105, 245, 62, 95, 123, 123, 180, 180, 180, 205, 215, 230, 66, 52, 65, 97, 150,
        150, 245, 175, 66, 91, 113, 264, 175, 335, 109],
    ARRAY[6, 6, 4, 6, 8, 6, 8, 4, 4, 6, 6, 8, 8, 8, 8, 8, 8, 4, 4, 4, 4, 8, 8, 8, 8, 4, 4, 4, 8, 6, 8, 4]) u(mpg,
    hp, cyl);
SELECT term, abs(estimate / r - 1) < 1e-9 AS estimate
FROM gpu_tidy(gpu_ols_fit('SELECT * FROM motors', formula => 'mpg ~ poly(hp, 2) * factor(cyl)')) WITH ORDINALITY
JOIN unnest(ARRAY[64.19082305484029405, -0.83706243503823496, 0.00437855444529507, -20.60146485308819209,
    -31.96337210677859275, 0.49078987847150507, -0.00318193496236538, 0.69490040911093531, -0.00410540847885334])
    WITH ORDINALITY AS r(r, ordinality) USING (ordinality);
-- formulas that mean the same, written out
SELECT f, bool_and(a.estimate = b.estimate OR abs(a.estimate / b.estimate - 1) < 1e-10) AS same, count(*) FROM (VALUES
    ('mpg ~ hp + cyl', 'SELECT mpg, hp, cyl FROM motors'),
    ('mpg ~ .', 'SELECT mpg, hp, cyl FROM motors'),
    ('mpg ~ . - hp', 'SELECT mpg, cyl FROM motors'),
    ('mpg ~ hp:cyl', 'SELECT mpg, hp * cyl FROM motors'),
    ('mpg ~ hp * cyl', 'SELECT mpg, hp, cyl, hp * cyl FROM motors'),
    ('mpg ~ poly(hp, 3)', 'SELECT mpg, hp, hp::float8 ^ 2, hp::float8 ^ 3 FROM motors'),
    ('hp ~ mpg', 'SELECT hp, mpg FROM motors'),
    ('"mpg" ~ MPG2 + "Hp"', 'SELECT mpg, mpg * mpg, hp FROM motors'),
    ('mpg ~ 1', 'SELECT mpg FROM motors')) v(f, q),
    LATERAL gpu_tidy(gpu_ols_fit('SELECT mpg, hp, cyl' || CASE WHEN f ~ 'MPG2' THEN ', mpg * mpg AS mpg2, hp AS "Hp"'
        ELSE '' END || ' FROM motors', formula => f)) WITH ORDINALITY a
    JOIN LATERAL gpu_tidy(gpu_ols_fit(q)) WITH ORDINALITY b USING (ordinality) GROUP BY f ORDER BY f;
-- the intercept: the formula decides, or else the argument
SELECT f, i, (gpu_ols_fit('SELECT * FROM motors', i, formula => f)).terms
FROM unnest(ARRAY['mpg ~ hp', 'mpg ~ hp - 1', 'mpg ~ 1 + hp']) f, unnest(ARRAY[true, false]) i ORDER BY f, i;
-- columns that the formula doesn't name are ignored, their types and their NULLs, too
SELECT m.terms, m.n, m.n_skipped
FROM gpu_ols_fit('SELECT NULL::text AS nothing, now() AS at, NULL::int AS none, mpg, hp FROM motors',
    formula => 'mpg ~ hp') m;
-- a column as a number and as a factor; columns of weights may be features, too
SELECT (gpu_ols_fit('SELECT * FROM motors', formula => 'mpg ~ hp + factor(hp):cyl')).rank,
    (gpu_ols_fit('SELECT * FROM motors', formula => 'mpg ~ hp + cyl', weights => 'cyl')).terms,
    (gpu_ols_fit('SELECT * FROM motors', formula => 'mpg ~ .', weights => 'cyl')).terms AS without_weights,
    (gpu_logreg_fit('SELECT *, mpg > 20 AS far FROM motors', formula => 'far ~ . - mpg',
        offsets => 'hp')).terms AS without_offsets;
-- factors of numbers: one level per value, whatever its type and scale, in numeric order; factors of booleans
SELECT (gpu_ols_fit('SELECT i, (i % 12)::numeric(10, 2) AS n, ((i + 5) % 12)::real - 6 AS r, i % 2 = 0 AS b, (i % '
    '3)::bigint * 10000000000 AS big FROM generate_series(1, 100) i', formula => f)).terms
FROM unnest(ARRAY['i ~ factor(n)', 'i ~ factor(r)', 'i ~ factor(b)', 'i ~ factor(big)']) f;
-- predictions
CREATE TABLE formula_models AS SELECT f, gpu_ols_fit('SELECT * FROM motors', formula => f) AS m
FROM unnest(ARRAY['mpg ~ poly(hp, 2) * factor(cyl)', 'mpg ~ hp + cyl:hp - 1', 'mpg ~ factor(cyl) + cyl:hp',
    'mpg ~ cyl']) f;
SELECT f, abs(sum((mpg - gpu_predict(m, r)) ^ 2) / min((m).deviance) - 1) < 1e-12 AS row,
    abs(sum((mpg - gpu_predict(m, to_jsonb(r))) ^ 2) / min((m).deviance) - 1) < 1e-12 AS object
FROM formula_models, motors r GROUP BY f ORDER BY f;
-- by position in the order of the query's columns, each once
SELECT bool_and(gpu_predict(m, hp, cyl) = gpu_predict(m, r)) AS position,
    bool_and(gpu_predict(m, hp::float8, cyl::numeric(5, 2)) = gpu_predict(m, r)) AS types FROM formula_models, motors r
WHERE f <> 'mpg ~ cyl';
SELECT bool_and(gpu_predict(m, ARRAY[hp, cyl]) = gpu_predict(m, hp, cyl)) AS array FROM formula_models, motors r
WHERE f = 'mpg ~ hp + cyl:hp - 1';
SELECT gpu_predict(m, 100, 5) FROM formula_models WHERE f = 'mpg ~ poly(hp, 2) * factor(cyl)';
SELECT gpu_predict(m, ARRAY[100, 6]) FROM formula_models WHERE f = 'mpg ~ poly(hp, 2) * factor(cyl)';
SELECT (m).design FROM formula_models WHERE f = 'mpg ~ factor(cyl) + cyl:hp';
-- an invalid value is reported with the feature's name
SELECT gpu_ols_fit($$SELECT mpg, CASE WHEN hp > 300 THEN 'Infinity' ELSE hp::float8 END AS hp FROM motors$$,
    formula => 'mpg ~ hp');
SELECT gpu_ols_fit('SELECT mpg, hp * 1e100 AS hp FROM motors', formula => 'mpg ~ poly(hp, 4)');
SELECT (gpu_ols_fit(NULL, formula => 'mpg ~ hp')) IS NULL AS null_query,
    (gpu_ols_fit('SELECT mpg, hp FROM motors', formula => NULL)).design = '' AS no_formula;

--
-- Powers: NIST's polynomials from their one column, of which x, x*x, ... as float8 leave filip 7.6 digits
--
CREATE TABLE polynomials AS SELECT dataset, x[1] AS x, y, cardinality(x) AS degree FROM nist_rows
WHERE cardinality(x) > 1 AND dataset <> 'longley';
CREATE FUNCTION polynomial_digits(also text) RETURNS TABLE (dataset text, coefficients numeric, errors numeric,
    sigma numeric, predictions float8) LANGUAGE sql AS $$
    WITH fit AS (
        SELECT dataset, gpu_ols_fit(format('SELECT y, x FROM polynomials WHERE dataset = %L%s', dataset, also),
            formula => format('y ~ poly(x, %s)', degree)) AS m
        FROM (SELECT DISTINCT dataset, degree FROM polynomials) d
    )
    SELECT dataset, (SELECT min(digits(t.estimate, c.estimate))
        FROM gpu_tidy(m) WITH ORDINALITY t(term, estimate, std_error, statistic, p_value, low, high, df, class, k)
                        JOIN nist_certified c ON c.dataset = fit.dataset AND c.stat = 'B' || (k - 1)),
        (SELECT min(digits(t.std_error, c.sd)) FROM gpu_tidy(m) WITH ORDINALITY t(term, estimate, std_error, statistic,
            p_value, low, high, df, class, k)
            JOIN nist_certified c ON c.dataset = fit.dataset AND c.stat = 'B' || (k - 1)),
        (SELECT digits(g.sigma, c.estimate) FROM gpu_glance(m) g, nist_certified c
            WHERE c.dataset = fit.dataset AND c.stat = 'rsd'),
        (SELECT abs(sum((p.y - gpu_predict(m, p)) ^ 2) - (m).deviance) / greatest((m).deviance, 1e-9) FROM polynomials p
            WHERE p.dataset = fit.dataset)
    FROM fit
$$;
SELECT dataset, coefficients >= 13 AS coefficients, errors >= 13 AS errors, sigma >= 13 AS sigma,
    predictions < 1e-6 AS predictions FROM polynomial_digits('') ORDER BY dataset;
SELECT dataset, min(coefficients) >= 13 AS coefficients, min(errors) >= 13 AS errors
FROM unnest(ARRAY[' ORDER BY x', ' ORDER BY x DESC', ' ORDER BY sin(y * 1e9 + x)', ' AND random() >= 0']) w,
    polynomial_digits(w) GROUP BY dataset ORDER BY dataset;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SET gpureg.min_gpu_work = '1e300';
SELECT dataset, coefficients >= 13 AS coefficients, errors >= 13 AS errors, sigma >= 13 AS sigma
FROM polynomial_digits('') ORDER BY dataset;
SET gpureg.debug_ring = on;
SELECT dataset, coefficients >= 13 AS coefficients, errors >= 13 AS errors, sigma >= 13 AS sigma
FROM polynomial_digits('') ORDER BY dataset;
RESET gpureg.debug_ring;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather;
RESET gpureg.min_gpu_work;
-- a polynomial of integers is recovered to the last digit, far from 0, with weights, by group, and without an intercept
CREATE TABLE curves AS SELECT x, g, w, 7 - 3 * x::numeric + 2 * x ^ 2 - x ^ 3 / 1024 + CASE g
    WHEN 'b' THEN 5 + 11 * x - x ^ 2 ELSE 0 END AS y
FROM (SELECT 2000 + i / 8.0 AS x, (ARRAY['a', 'b'])[1 + i % 2] AS g, 1 + i % 3 AS w FROM generate_series(1, 400) i) s;
SELECT terms, rank, array_agg(c ORDER BY k) AS coef
FROM gpu_ols_fit('SELECT x::float8, g, y::float8 FROM curves', formula => 'y ~ poly(x, 3) * g') m,
    unnest(coef) WITH ORDINALITY u(c, k) GROUP BY terms, rank;
SELECT f, bool_and(abs(c - want) <= 1e-9 * abs(want)) AS right, count(*)
FROM (VALUES ('y ~ poly(x, 3)', ARRAY[7, -3, 2, -1 / 1024.0]),
    ('y ~ 0 + g + poly(x, 3)', ARRAY[7, -3, 2, -1 / 1024.0])) v(f, want_all),
    LATERAL gpu_ols_fit($$SELECT x::float8, CASE WHEN w = 1 THEN 'a' ELSE 'b' END AS g, w, y::float8 FROM curves
        WHERE g = 'a'$$, formula => f, weights => 'w') m,
    LATERAL unnest(CASE WHEN f ~ 'g' THEN ARRAY[7.0] || want_all ELSE want_all END, m.coef) u(want, c) GROUP BY f
    ORDER BY f;
-- a power that equals another column is aliased, and higher powers aren't
SELECT t.term, t.estimate IS NULL AS aliased, abs(t.estimate / p.estimate - 1) < 1e-9 AS same
FROM gpu_tidy(gpu_ols_fit('SELECT x::float8, x::float8 * x::float8 AS z, (y + sin(x))::float8 AS y FROM curves',
    formula => 'y ~ z + poly(x, 3)')) t
LEFT JOIN gpu_tidy(gpu_ols_fit('SELECT x::float8, (y + sin(x))::float8 AS y FROM curves',
    formula => 'y ~ poly(x, 3)')) p ON p.term = CASE t.term WHEN 'z' THEN 'x^2' ELSE t.term END;
SELECT term, estimate IS NULL AS aliased
FROM gpu_tidy(gpu_ols_fit('SELECT w, y::float8 FROM curves', formula => 'y ~ poly(w, 4) + w'));
-- products of powers, with or without their margins
SELECT f, bool_and(abs(a.c - b.c) <= 1e-8 * abs(b.c)) AS same, count(*)
FROM (VALUES ('y ~ poly(x, 2) * poly(z, 2)', 'x, x * x, z, z * z, x * z, x * x * z, x * z * z, x * x * z * z'),
    ('y ~ poly(x, 2):poly(z, 2)', 'x * z, x * x * z, x * z * z, x * x * z * z'),
    ('y ~ poly(x, 2):z + z', 'z, x * z, x * x * z')) v(f, l),
    LATERAL gpu_ols_fit('SELECT sin(i) + i % 7 AS y, (i % 10) / 4.0 AS x, (i % 13)::float8 AS z FROM '
        'generate_series(1, 300) i', formula => f) m,
    LATERAL gpu_ols_fit('SELECT y, ' || l
        || ' FROM (SELECT sin(i) + i % 7 AS y, (i % 10) / 4.0 AS x, (i % 13)::float8 AS z FROM generate_series(1, '
        '300) i) s') n,
    LATERAL unnest(m.coef) WITH ORDINALITY a(c, k), LATERAL unnest(n.coef) WITH ORDINALITY b(c, k) WHERE a.k = b.k
    GROUP BY f ORDER BY f;
DROP TABLE polynomials, curves;
DROP FUNCTION polynomial_digits;

--
-- Powers in fits of several passes, and with robust covariances, against fits in 60 digits:
-- test/data/powers_reference.py
--
CREATE TABLE powers_rows (dataset text, y float8, cluster1 int, x float8);
\copy powers_rows FROM 'test/data/powers_rows.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE powers_fits (dataset text, family text, link text, degree int, vcov text, i int, j int, value numeric);
\copy powers_fits FROM 'test/data/powers_fits.csv' WITH (FORMAT csv, HEADER)
ANALYZE powers_rows;
CREATE TABLE powers_cases AS SELECT DISTINCT dataset, family, degree, vcov,
    CASE WHEN vcov ~ 'CR' THEN ARRAY['cluster1'] END AS clusters FROM powers_fits WHERE vcov <> 'coef';
CREATE FUNCTION powers_fit(c powers_cases, also_from text DEFAULT '', also_where text DEFAULT '') RETURNS gpu_model
LANGUAGE plpgsql AS $$
DECLARE
    query text := format('SELECT cluster1, 0.0 AS base, x, y FROM powers_rows%s WHERE dataset = %L%s', also_from,
        c.dataset, also_where);
    formula text := format('y ~ poly(x, %s)', c.degree);
BEGIN
    IF c.family = 'binomial' THEN
        RETURN gpu_logreg_fit(query, formula => formula, vcov => c.vcov, clusters => c.clusters);
    ELSIF c.family = 'gaussian' AND c.vcov <> 'iid' THEN
        RETURN gpu_ols_fit(query, formula => formula, vcov => c.vcov);
    END IF;
    RETURN gpu_glm_fit(query, c.family, formula => formula, vcov => c.vcov, clusters => c.clusters, offsets => 'base');
END $$;
CREATE TABLE powers_models (way text, c powers_cases, m gpu_model);
INSERT INTO powers_models SELECT 'query', c, powers_fit(c) FROM powers_cases c;
INSERT INTO powers_models SELECT 'query, volatile', c, powers_fit(c, also_where => ' AND random() >= 0')
FROM powers_cases c WHERE clusters IS NULL;
SET gpureg.device = cpu; SET gpureg.ring_size = '1MB'; SET jit = off; SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2;
INSERT INTO powers_models SELECT 'pass', c, powers_fit(c, also_from => ', one_of_many()') FROM powers_cases c
WHERE vcov IN ('iid', 'HC2', 'CR0', 'CR2');
SET gpureg.debug_ring = on;
INSERT INTO powers_models SELECT 'ring', c, powers_fit(c) FROM powers_cases c WHERE vcov IN ('iid', 'HC3', 'CR2');
RESET ALL;
SET client_min_messages = warning;
-- digits relative to the estimates, and to the roots of the variances
CREATE FUNCTION powers_digits(way text) RETURNS TABLE (dataset text, vcov text, coefficients numeric,
    covariances numeric) LANGUAGE sql AS $$
    SELECT (c).dataset, (c).vcov,
        (SELECT min(digits((m).coef[f.i + 1], f.value)) FROM powers_fits f WHERE f.dataset = (c).dataset
            AND f.vcov = 'coef'),
        (SELECT min(least(16, -log(abs((m).vcov[f.i + 1][f.j + 1]::text::numeric - f.value) / sqrt(u.value * v.value)
            + 1e-17))) FROM powers_fits f JOIN powers_fits u USING (dataset, vcov)
            JOIN powers_fits v USING (dataset, vcov)
            WHERE u.i = f.i AND u.j = f.i AND v.i = f.j AND v.j = f.j AND f.dataset = (c).dataset AND f.vcov = (c).vcov)
    FROM powers_models p WHERE p.way = powers_digits.way
$$;
SELECT way, dataset, count(*) AS fits, min(coefficients) >= 13 AS coefficients, min(covariances) >= 12 AS covariances
FROM unnest(ARRAY['pass', 'query', 'query, volatile', 'ring']) way, powers_digits(way) GROUP BY way, dataset
ORDER BY way COLLATE "C", dataset COLLATE "C";
-- gradient descent ends with Newton's steps; Firth's penalty is the same for all powers; l2 and the classic update
-- apply to powers of x itself
SELECT solver, (SELECT min(digits(c, f.value)) FROM unnest(m.coef) WITH ORDINALITY u(c, k)
    JOIN powers_fits f ON f.i = k - 1 AND f.dataset = 'classes about 2000' AND f.vcov = 'coef') >= 13 AS coefficients
FROM unnest(ARRAY['gd', 'lbfgs']) solver,
    gpu_logreg_fit($$SELECT y, x FROM powers_rows WHERE dataset = 'classes about 2000'$$, formula => 'y ~ poly(x, 3)',
    solver => solver, max_iter => 10000) m;
SET client_min_messages = error;
SELECT way, relative_difference(m.coef, n.coef) < 1e-9 AS same
FROM (VALUES ('firth', true, 0, 'newton', NULL), ('l2', false, 0.1, 'newton', NULL),
    ('classic', false, 0, 'gd', 1e-8)) v(way, firth, l2, solver, rate),
    LATERAL gpu_logreg_fit($$SELECT y, x - 1990 AS x FROM powers_rows WHERE dataset = 'classes about 2000'$$,
        formula => 'y ~ poly(x, 2)', firth => firth, l2 => l2, solver => solver, learning_rate => rate,
        max_iter => 30) m,
    LATERAL gpu_logreg_fit($$SELECT y, x - 1990 AS x, (x - 1990) * (x - 1990) AS x2 FROM powers_rows
        WHERE dataset = 'classes about 2000'$$, firth => firth, l2 => l2, solver => solver, learning_rate => rate,
        max_iter => 30) n;
-- predictions take x itself
SELECT bool_and(abs(gpu_predict(a.m, p) / gpu_predict(b.m, p.x - 1000) - 1) < 1e-5) AS predictions
FROM (SELECT * FROM powers_rows WHERE dataset = 'counts about 1000') p,
    (SELECT gpu_glm_fit($$SELECT y, x FROM powers_rows WHERE dataset = 'counts about 1000'$$, 'poisson',
        formula => 'y ~ poly(x, 4)') AS m) a,
    (SELECT gpu_glm_fit($$SELECT y, x - 1000 AS x FROM powers_rows WHERE dataset = 'counts about 1000'$$, 'poisson',
        formula => 'y ~ poly(x, 4)') AS m) b;
-- terms are aliased or separated as powers of x, and are fitted as those
CREATE TABLE steps AS SELECT i / 8.0 AS x, (i / 8.0) ^ 2 AS z, (ARRAY['a', 'b', 'c'])[1 + i % 3] AS g,
    i % 7 < 3 + sin(i / 9.0) * 3 AS y, i % 5 AS n, i % 4 AS k FROM generate_series(1, 120) i;
SELECT m.terms, m.rank, m.coef[4] IS NULL AS aliased,
    relative_difference(ARRAY[m.coef[1], m.coef[3], m.coef[2], m.coef[5]], n.coef) < 1e-9 AS same
FROM gpu_logreg_fit('SELECT y, x, z FROM steps', formula => 'y ~ poly(x, 3)') n,
    gpu_logreg_fit('SELECT y, x, z FROM steps', formula => 'y ~ z + poly(x, 3)') m;
SELECT reason ~ 'read and fitted twice' AS twice FROM gpu_last_run();
SELECT m.terms, m.rank, m.coef[4:5] AS aliased
FROM gpu_logreg_fit('SELECT y, k FROM steps WHERE k > 0', formula => 'y ~ poly(k, 4)') m;
SELECT reason ~ 'read and fitted twice' AS twice FROM gpu_last_run();
CREATE FUNCTION separated_powers(y text, formula text) RETURNS TABLE (separated text[], errors text[], twice boolean)
LANGUAGE sql AS $$
    SELECT m.separated, (SELECT array_agg(t.term ORDER BY k)
        FROM gpu_tidy(m) WITH ORDINALITY t(term, estimate, std_error, statistic, p_value, low, high, df, class, k)
        WHERE t.std_error < 'Infinity'), r.reason ~ 'read and fitted twice'
    FROM gpu_logreg_fit(format('SELECT %s AS y, x, g FROM steps', y), formula => formula) m,
    LATERAL (SELECT reason FROM gpu_last_run() WHERE m.n > 0) r
$$;
SELECT f, s.* FROM (VALUES ($$y OR g = 'c'$$, 'y ~ poly(x, 2) + g'), ($$y OR g = 'c'$$, 'y ~ poly(x, 2) * g'),
    ('x > 7', 'y ~ poly(x, 2)')) v(y, f), separated_powers(y, f) s;
SELECT m.separated, (SELECT count(*) FROM unnest(m.vcov) v WHERE v IS NOT NULL) AS covariances
FROM gpu_glm_fit($$SELECT CASE g WHEN 'b' THEN 0 ELSE n END AS n, x, g FROM steps$$, 'poisson',
    formula => 'n ~ poly(x, 2) + g', vcov => 'HC0') m;
-- a row that fits itself alone; a variance and a power that are out of range
SELECT m.coef[6] IS NOT NULL AS coefficients, (SELECT count(*) FROM unnest(m.vcov) v WHERE v IS NOT NULL) AS covariances
FROM gpu_ols_fit($$SELECT n, 1000 + x AS x, CASE WHEN x = 1 THEN 'z' ELSE g END AS g FROM steps$$,
    formula => 'n ~ poly(x, 2) + g', vcov => 'HC2') m;
SELECT gpu_glm_fit('SELECT n, 1e15 + 8 * x AS x FROM steps', 'poisson', formula => 'n ~ poly(x, 12)');
SELECT gpu_glm_fit('SELECT n, 1e30 + 1e15 * x AS x FROM steps', 'poisson', formula => 'n ~ poly(x, 12)');
SET client_min_messages = warning;
DROP TABLE powers_rows, powers_fits, powers_cases, powers_models, steps CASCADE;
DROP FUNCTION powers_digits, separated_powers;

--
-- Errors, with where they are
--
SELECT gpu_ols_fit('SELECT * FROM motors', formula => 'mpg ~ horses');
SELECT gpu_ols_fit('SELECT * FROM motors', formula => 'mpg ~ hp + "Cyl"');
SELECT gpu_ols_fit('SELECT *, 1 AS hp FROM motors', formula => 'mpg ~ hp');
SELECT gpu_ols_fit('SELECT * FROM motors', formula => 'sin(mpg) ~ hp');
SELECT gpu_ols_fit('SELECT * FROM motors', formula => 'mpg ~ sin(hp)');
SELECT gpu_ols_fit('SELECT * FROM motors', formula => 'mpg ~ hp ^ 2');
SELECT gpu_ols_fit('SELECT * FROM motors', formula => 'mpg ~ hp & cyl');
SELECT gpu_ols_fit('SELECT * FROM motors', formula => 'mpg ~ (hp + cyl');
SELECT gpu_ols_fit('SELECT * FROM motors', formula => 'mpg ~ hp cyl');
SELECT gpu_ols_fit('SELECT * FROM motors', formula => 'mpg ~ hp + ');
SELECT gpu_ols_fit('SELECT * FROM motors', formula => 'mpg ~ 2 * hp');
SELECT gpu_ols_fit('SELECT * FROM motors', formula => 'mpg ~ poly(hp, 0)');
SELECT gpu_ols_fit('SELECT * FROM breaks', formula => 'breaks ~ poly(wool, 2)');
SELECT gpu_ols_fit('SELECT *, now() AS at FROM motors', formula => 'mpg ~ hp + at');
SELECT gpu_ols_fit('SELECT *, ARRAY[hp, cyl] AS v FROM motors', formula => 'mpg ~ v');
SELECT gpu_ols_fit('SELECT * FROM motors', formula => '~ hp');
SELECT gpu_ols_fit('SELECT * FROM motors', formula => '');
SELECT gpu_ols_fit('SELECT * FROM motors', formula => 'mpg ~ hp + mpg');
SELECT gpu_ols_fit('SELECT * FROM motors', formula => 'mpg ~ hp', weights => 'mpg');
SELECT gpu_ols_fit('SELECT * FROM motors', formula => 'mpg ~ 0');
SELECT gpu_ols_fit('SELECT * FROM breaks', formula => 'wool ~ i');
SELECT gpu_ols_fit('SELECT * FROM motors', formula => 'mpg ~ hp' || repeat(' + hp', 100000));
SELECT gpu_ols_fit('SELECT * FROM motors', formula => 'mpg ~ poly(hp, 50):poly(cyl, 50):poly(hp, 49)');
SELECT gpu_logreg_fit('SELECT *, mpg > 20 AS far FROM motors', formula => 'far ~ hp:');
\set VERBOSITY terse
SELECT gpu_ols_fit('SELECT * FROM motors', formula => 'mpg ~ ' || repeat('(', 60000));
\set VERBOSITY default

DROP TABLE births, breaks, motors, formula_models;
DROP TYPE tension;
