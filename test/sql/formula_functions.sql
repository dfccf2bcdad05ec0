-- Functions and arithmetic in formulas: R's lm() and glm(), predictions, values outside a function's domain, errors.
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE TABLE numbers_200 AS SELECT (1 + i * 7 % 13)::float8 AS y, 0.25 + (i * 5 % 11) / 4.0::float8 AS x1,
    i * 3 % 7 AS x2, (i % 17) / 4.0 AS x3, chr(97 + i % 3) AS g, (1 + i % 5)::smallint AS days,
    1 + i * 7 % 13 + i * 3 % 7 > 10 AS big
FROM generate_series(1, 200) i;
-- R's coefficients and standard errors (test/data/formula_fits_reference.R)
CREATE TABLE formula_fits (family text, formula text, term text, estimate float8, std_error float8);
\copy formula_fits FROM 'test/data/formula_fits.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE function_models AS SELECT family, formula, CASE family WHEN 'ols'
        THEN gpu_ols_fit('SELECT * FROM numbers_200', formula => formula)
        ELSE gpu_glm_fit('SELECT * FROM numbers_200', family, formula => formula, tol => 1e-14) END AS m
FROM (SELECT DISTINCT family, formula FROM formula_fits) f;
SELECT family, formula, count(*) AS terms, cardinality((m).terms) - count(*) AS more,
    bool_and(abs(t.estimate - r.estimate) <= 1e-10 * r.std_error) AS estimate,
    bool_and(abs(t.std_error / r.std_error - 1) <= 1e-9) AS std_error
FROM function_models JOIN formula_fits r USING (family, formula), gpu_tidy(m) t
WHERE t.term = r.term GROUP BY family, formula, m ORDER BY family, formula;
-- the same numbers, computed in the query: to the bit where the server's function gives the same bits
SELECT a.coef = b.coef AS same FROM
    gpu_ols_fit('SELECT * FROM numbers_200', formula => 'y ~ I(x2^2) + sqrt(x1) + I(x1 * x2 - 3/x1) + abs(x3 - 2)') a,
    gpu_ols_fit('SELECT y, x2 * x2, sqrt(x1), x1 * x2 - 3 / x1, abs(x3 - 2) FROM numbers_200') b;
-- in parallel workers, in a query that is no table, with weights, clusters and robust covariances
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SELECT q, v, max(abs(a / b - 1)) < 1e-12 AS same FROM (VALUES ('SELECT * FROM numbers_200', 'HC3'),
    ('SELECT * FROM numbers_200 ORDER BY y', 'iid'), ('SELECT * FROM numbers_200', 'CR1')) v(q, v),
    LATERAL (SELECT gpu_ols_fit(q, formula => 'log(y) ~ log(x1) * g + I(x2/2)', vcov => v, clusters => CASE v WHEN 'CR1'
        THEN ARRAY['days'] END, weights => 'days') AS m) f,
    LATERAL (SELECT gpu_ols_fit('SELECT ln(y) AS y, ln(x1) AS l, x2 / 2.0::float8 AS h, g, days FROM numbers_200',
        formula => 'y ~ l * g + h', vcov => v, clusters => CASE v WHEN 'CR1' THEN ARRAY['days'] END,
        weights => 'days') AS n) e, unnest((m).coef, (n).coef) AS c(a, b) GROUP BY q, v ORDER BY q, v;
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size;
-- the model takes raw rows: predictions are R's linear predictors, whose sums are those of the responses
SELECT family, formula, abs(sum(gpu_predict(m, r)) - CASE WHEN formula ~ '^log' THEN sum(ln(y)) WHEN formula ~ '^sqrt'
        THEN sum(sqrt(y)) WHEN formula ~ '^y/2' THEN sum(y / 2) WHEN formula ~ '^I' THEN sum(y ^ 2 - x1)
        WHEN formula ~ '^days' THEN sum(days) WHEN formula ~ '^big' THEN sum(big::int) ELSE sum(y) END) < 1e-9 AS sums,
    bool_and(gpu_predict(m, r) = gpu_predict(m, to_jsonb(r))) AS object
FROM function_models, numbers_200 r WHERE formula !~ '- 1' GROUP BY family, formula ORDER BY family, formula;
-- a prediction needs no response, but the offset's column
SELECT round(gpu_predict(m, '{"x1": 2, "x2": 3, "g": "b", "days": 4}'::jsonb)::numeric, 10) AS mean FROM function_models
WHERE formula = 'y ~ log(x1) + I(x2^2)/g + offset(log(days))';
SELECT gpu_predict(m, '{"x1": 2, "x2": 3, "g": "b"}'::jsonb) FROM function_models
WHERE formula = 'y ~ log(x1) + I(x2^2)/g + offset(log(days))';
-- the model as text and back
SELECT bool_and((m::text)::gpu_model::text = m::text) AS same FROM function_models;
SELECT (m).design FROM function_models WHERE formula ~ '^sqrt' OR formula ~ 'days\)\) \+' ORDER BY 1;
-- marginal effects go through expressions and offsets: compared with differences
SELECT e.term, abs(e.estimate - d.slope) < 1e-6 AS slope
FROM function_models, LATERAL gpu_margins(m, 'SELECT * FROM numbers_200') e,
    LATERAL (SELECT avg(gpu_predict(m, o || jsonb_build_object(e.term, (o ->> e.term)::float8 + 1e-4)) -
        gpu_predict(m, o || jsonb_build_object(e.term, (o ->> e.term)::float8 - 1e-4))) / 2e-4 AS slope
        FROM numbers_200 r, to_jsonb(r) o) d
WHERE formula = 'y ~ x1 + offset(log(days)) + offset(x2/10)' ORDER BY 1;

--
-- Values outside a function's domain: how many rows, the function and the column
--
CREATE FUNCTION refusal(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
BEGIN
	EXECUTE statement;
	RETURN 'answers';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN SQLSTATE || ' ' || SQLERRM || coalesce(' (' || nullif(detail, '') || ')', '');
END $$;
SELECT f, refusal(format('SELECT gpu_ols_fit(%L, formula => %L)', 'SELECT * FROM numbers_200', f)) FROM unnest(ARRAY[
    'y ~ log(x2)', 'log(x2) ~ x1', 'y ~ sqrt(x2 - 3) + log(x1)', 'y ~ I(1/(x2 - 2))', 'y ~ I((x2 - 3)^0.5)',
    'y ~ exp(1000 * x1)', 'y ~ x1 + offset(log(x2))', 'y ~ log1p(-x1)', 'y ~ log(log(x1))', 'y ~ I(x1^-400 * x1)',
    'y ~ log(x2 * x3)']) f;
-- all rows; other families and passes; rows with a NULL are not counted
SELECT call, refusal('SELECT ' || call) FROM unnest(ARRAY[
    $$gpu_ols_fit('SELECT y, -x1 AS x1 FROM numbers_200', formula => 'y ~ log(x1)')$$,
    $$gpu_ols_fit('SELECT y, nullif(x2, 0) AS x2 FROM numbers_200', formula => 'y ~ log(x2)')$$,
    $$gpu_ols_fit('SELECT y, nullif(x2, 1) AS x2 FROM numbers_200', formula => 'y ~ log(x2)')$$,
    $$gpu_ols_fit('SELECT * FROM numbers_200', formula => 'y ~ log(x2)', vcov => 'HC1')$$,
    $$gpu_glm_fit('SELECT * FROM numbers_200', 'poisson', formula => 'y ~ log(x2) + g')$$,
    $$gpu_logreg_fit('SELECT * FROM numbers_200', formula => 'big ~ log(x2)')$$,
    $$gpu_logreg_fit('SELECT * FROM numbers_200 ORDER BY y', formula => 'big ~ log(x2)')$$,
    $$gpu_enet_fit('SELECT * FROM numbers_200', formula => 'y ~ log(x2)', lambda => 0.1)$$,
    $$gpu_ols_fit('SELECT * FROM numbers_200', 'y ~ log(x2)', absorb => '{g}')$$,
    $$gpu_ols_fit('SELECT * FROM numbers_200', 'y ~ x1 + offset(x2)', absorb => '{g}')$$,
    $$gpu_ols_fit('SELECT y, x1 FROM numbers_200 WHERE false', formula => 'y ~ log(x1)')$$,
    $$gpu_ols_fit('SELECT y, CASE WHEN x2 = 1 THEN ''NaN'' ELSE x1 END AS x1 FROM numbers_200',
        formula => 'y ~ log(x1)')$$,
    $$gpu_ols_fit('SELECT y, CASE WHEN x2 = 1 THEN ''Infinity'' ELSE x1 END AS x1 FROM numbers_200',
        formula => 'y ~ log(x1)')$$,
    $$gpu_predict(gpu_ols_fit('SELECT * FROM numbers_200', formula => 'y ~ log(x1)'), '{"x1": 0}'::jsonb)$$,
    $$gpu_predict(gpu_ols_fit('SELECT * FROM numbers_200', formula => 'y ~ log(x1)'), -1)$$]) call;

--
-- Errors
--
SELECT f, refusal(format('SELECT gpu_ols_fit(%L, formula => %L)', 'SELECT * FROM numbers_200', f)) FROM unnest(ARRAY[
    'y ~ sin(x1)', 'y ~ log(x1, 2)', 'y ~ log()', 'y ~ log(g)', 'g ~ x1', 'log(g) ~ x1', 'y ~ I(2)', '1 ~ x1',
    'log(y) ~ x1 + log( y )', 'y ~ I(x1 +)', 'y ~ I(1e999 * x1)', 'y ~ I(x1 & x2)', 'y ~ x1^2', 'y ~ x1 - offset(x2)',
    'y ~ x1:offset(x2)', 'y ~ I(x1', 'y ~ x1 %% x2', 'y ~ log(nowhere)']) f;
SELECT refusal($$SELECT gpu_ols_fit('SELECT * FROM numbers_200', formula => 'y ~ I(x1' || repeat('+x1', 600) || ')')$$),
    refusal($$SELECT gpu_ols_fit('SELECT * FROM numbers_200', formula => 'y ~ I(' || repeat('-', 100) || 'x1)')$$),
    refusal($$SELECT gpu_glm_fit('SELECT * FROM numbers_200', 'poisson', formula => 'y ~ offset(x1)',
        offsets => 'x2')$$),
    refusal($$SELECT gpu_enet_fit('SELECT * FROM numbers_200', formula => 'y ~ x2 + offset(x1)', lambda => 1)$$);
SELECT gpu_ols_fit('SELECT * FROM numbers_200', formula => 'log(y) ~ x1 + cosine(x2)');
-- a name that SQL folds or quotes; the response as a boolean's number; many columns in one expression
SELECT (gpu_ols_fit('SELECT y, x1 AS "X 1", x2 AS "Sepal.Length", big FROM numbers_200',
    formula => 'I(big * 2) ~ log("X 1") + SQRT("Sepal.Length") + Y')).terms;
DO $$
DECLARE
	columns text := (SELECT string_agg(format('x1 + %s * x2 AS v%s', i, i), ', ') FROM generate_series(1, 120) i);
	sum text := (SELECT string_agg('v' || i, ' + ') FROM generate_series(1, 120) i);
	plain gpu_model := gpu_ols_fit('SELECT y, 120 * x1 + 7260 * x2 FROM numbers_200');
	model gpu_model := gpu_ols_fit('SELECT y, ' || columns || ' FROM numbers_200', formula => 'y ~ I(' || sum || ')');
BEGIN
	IF abs(model.coef[2] / plain.coef[2] - 1) > 1e-10 THEN
		RAISE EXCEPTION 'other estimates: % and %', model.coef, plain.coef;
	END IF;
END $$;

--
-- The formula as the second argument, and what other calls mean
--
SELECT call, (fit).terms FROM (VALUES
    ('query, formula', gpu_ols_fit('SELECT * FROM numbers_200', 'y ~ x1')),
    ('query, formula, intercept', gpu_ols_fit('SELECT * FROM numbers_200', 'y ~ x1', false)),
    ('query', gpu_ols_fit('SELECT y, x1 FROM numbers_200')),
    ('query, intercept', gpu_ols_fit('SELECT y, x1 FROM numbers_200', false)),
    ('query, intercept, formula', gpu_ols_fit('SELECT * FROM numbers_200', false, 'y ~ x2')),
    ('query, intercept, named formula', gpu_ols_fit('SELECT * FROM numbers_200', true, formula => 'y ~ x2')),
    ('query, named', gpu_ols_fit('SELECT * FROM numbers_200', intercept => false, formula => 'y ~ x2')),
    ('all named', gpu_ols_fit(query => 'SELECT * FROM numbers_200', formula => 'y ~ x2', vcov => 'HC1')),
    ('query, formula, named', gpu_ols_fit('SELECT * FROM numbers_200', 'y ~ x2', weights => 'days')),
    ('query, NULL', gpu_ols_fit('SELECT y, x1 FROM numbers_200', NULL)),
    ('logistic: query, formula', gpu_logreg_fit('SELECT * FROM numbers_200', 'big ~ x1')),
    ('logistic: query, formula, intercept, l2', gpu_logreg_fit('SELECT * FROM numbers_200', 'big ~ x1', false, 0.5)),
    ('logistic: query, intercept, l2', gpu_logreg_fit('SELECT big, x1 FROM numbers_200', true, 0.5)),
    ('logistic: named', gpu_logreg_fit('SELECT * FROM numbers_200', l2 => 1, formula => 'big ~ x1')),
    ('logistic: query', gpu_logreg_fit('SELECT big, x1 FROM numbers_200'))) v(call, fit);
SELECT gpu_ols_fit('SELECT y, x1 FROM numbers_200', NULL::boolean) IS NULL AS no_intercept,
    gpu_ols_fit(NULL, 'y ~ x1') IS NULL AS no_query;

--
-- Blocks of the custom scan: the bits of the functions that are called row by row. Rows with NULLs, tuples older than a
-- column, integers, weights, filters, values outside the domain
--
CREATE TABLE blocks AS SELECT (1 + i * 7 % 13)::float8 AS y, nullif(0.25 + (i * 5 % 11) / 4.0, 2)::float8 AS x1,
    (i % 17)::smallint AS x2, nullif(i % 19, 3)::bigint AS x3, (i % 23)::real AS x4, (i % 3)::float8 AS w,
    i % 2 = 0 AS b, i
FROM generate_series(1, 3000) i;
ALTER TABLE blocks ADD late int DEFAULT 2;
INSERT INTO blocks SELECT y, x1, x2, x3, x4, w, b, i, i % 5 FROM blocks;
CREATE TABLE block_models (scan boolean, k int, m gpu_model);
DO $$
DECLARE
	scans boolean;
	call text;
	k int;
BEGIN
	FOREACH scans IN ARRAY ARRAY[true, false] LOOP
		PERFORM set_config('gpureg.enable_scan', scans::text, false);
		FOR call, k IN SELECT * FROM unnest(ARRAY[
			$c$gpu_ols_fit('SELECT * FROM blocks', 'log(y) ~ log(x1) + x2*x3')$c$,
			$c$gpu_ols_fit('SELECT * FROM blocks', 'y ~ poly(x1, 3) + x2:x4')$c$,
			$c$gpu_ols_fit('SELECT * FROM blocks', 'y ~ poly(x1, 3):x2 + x3 + b:exp(x1) - 1', weights => 'w')$c$,
			$c$gpu_ols_fit('SELECT * FROM blocks WHERE x2 > 3', 'y ~ sqrt(x2) + log1p(x4) + late', vcov => 'HC3')$c$,
			$c$gpu_ols_fit('SELECT * FROM blocks WHERE i % 3 <> 0', 'I(y^2) ~ abs(x1 - 2)/x4 + I(late^2)',
				frequencies => 'x2')$c$,
			$c$gpu_glm_fit('SELECT * FROM blocks', 'poisson',
				formula => 'y ~ log2(1 + x4) + log10(y + 1) + offset(log(x1))')$c$,
			$c$gpu_logreg_fit('SELECT * FROM blocks', 'b ~ expm1(-x1) + I(x2^0.5 * x1^-2 + late)')$c$,
			$c$gpu_ols_fit('SELECT * FROM blocks', 'y ~ x1:x2 + I(x4/10)', vcov => 'CR1', clusters => '{x2}')$c$])
			WITH ORDINALITY LOOP
			EXECUTE format('INSERT INTO block_models SELECT %L, %s, %s', scans, k, call);
		END LOOP;
	END LOOP;
	PERFORM set_config('gpureg.enable_scan', 'on', false);
END $$;
SELECT k, (a.m).n, (a.m).n_skipped, (a.m).terms, (a.m).coef = (b.m).coef AND (a.m).vcov = (b.m).vcov AS same
FROM block_models a JOIN block_models b USING (k) WHERE a.scan AND NOT b.scan ORDER BY k;
SELECT refusal($$SELECT gpu_ols_fit('SELECT * FROM blocks', 'y ~ log(x2) + x1')$$),
    refusal($$SELECT gpu_ols_fit('SELECT * FROM blocks', 'log(x2) ~ x3')$$),
    refusal($$SELECT gpu_ols_fit('SELECT y, 9007199254740993 + i AS x2 FROM blocks', 'y ~ I(x2/2)')$$);
CREATE TABLE wide_ids AS SELECT i::float8 AS y, 9007199254740993 + i AS id FROM generate_series(1, 100) i;
SELECT refusal($$SELECT gpu_ols_fit('SELECT * FROM wide_ids', 'y ~ log(id)')$$);
-- a call by hand
SELECT (gpu_ols_solve(gpu_ols_stats_agg(y, VARIADIC gpu_design_row('1 "" 2 n "x1" n "x4" 2 1 n 0 2 n 0 n 1', false,
    x1, x4)))).n FROM blocks;
DROP TABLE blocks, block_models, wide_ids;
DROP FUNCTION refusal;
DROP TABLE numbers_200, formula_fits, function_models;
