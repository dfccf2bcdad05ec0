-- gpu_logreg_step: one Newton step of a logistic regression as a value, for loops in SQL.
-- the text is JSON: at beta = 0 the weights are 1/4 and the residuals are +-1/2
SELECT gpu_logreg_step_agg('{}', y, x) FROM (VALUES (1, 3), (0, 5), (1, 8), (NULL, 2)) AS t(y, x);
SELECT gpu_logreg_step_agg('{0,0}', y, x)::text = gpu_logreg_step_agg('{}', y, x)::text AS zeros,
    gpu_logreg_step_agg('{}', y = 1, x)::text = gpu_logreg_step_agg('{}', y, x)::text AS booleans,
       gpu_logreg_step_agg('{}', y, VARIADIC ARRAY[x])::text = gpu_logreg_step_agg('{}', y, x)::text AS variadic
       FROM (VALUES (1, 3), (0, 5), (1, 8), (NULL, 2)) AS t(y, x);
SELECT gpu_logreg_step_array_agg('{}', y, ARRAY[x])::text = gpu_logreg_step_agg('{}', y, x)::text AS same,
    gpu_logreg_step_array_agg('{1,0.5}', y = 1, ARRAY[x])::text = gpu_logreg_step_agg('{1,0.5}', y,
    x)::text AS same_boolean
FROM (VALUES (1, 3), (0, 5), (1, 8), (NULL, 2)) AS t(y, x);
-- the first step is that of least squares: H = X'X / 4, g = X'(y - 1/2)
SELECT relative_difference((s).coef, ARRAY[4 * regr_intercept(y - 0.5, x), 4 * regr_slope(y - 0.5, x)]) < 1e-13 AS step,
    (s).n, (s).n_skipped, (s).iterations, (s).converged, abs((s).deviance / (2 * (s).n * ln(2)) - 1) < 1e-15 AS deviance
FROM (SELECT gpu_logreg_solve(gpu_logreg_step_agg('{}', y, x)) AS s FROM (SELECT am AS y, wt AS x FROM mtcars) t) t,
    (SELECT am::float8 AS y, wt AS x FROM mtcars) d GROUP BY t.s;

-- Newton's method in SQL: begin with '{}', pass each step's coef to the next until converged
CREATE FUNCTION newton(name text, l2 float8 DEFAULT 0) RETURNS gpu_model LANGUAGE plpgsql AS $$
DECLARE
    m gpu_model;
    beta float8[] := '{}';
BEGIN
    FOR i IN 1 .. 20 LOOP
        m := gpu_logreg_solve(gpu_logreg_step_agg(beta, y, VARIADIC x), l2) FROM logit_rows WHERE fit = name;
        beta := m.coef;
        EXIT WHEN m.converged;
    END LOOP;
    RETURN m;
END
$$;
SELECT fit, right_digits(fit, (m).coef) >= 12 AS estimates,
    right_digits(fit, std_errors(m), 'std_error') >= 12 AS std_errors,
    digits(-0.5 * (m).deviance, r.estimate) >= 12 AS log_lik, (m).converged, (m).separated
FROM (SELECT fit, newton(fit) AS m FROM logit_queries) t JOIN reference_fits r USING (fit) WHERE term = 'loglik'
ORDER BY fit;
-- a recursive query whose last row has the estimates
WITH RECURSIVE steps AS (
    SELECT 0 AS i, '{}'::float8[] AS beta, false AS converged
    UNION ALL
    SELECT i + 1, (m).coef, (m).converged
    FROM (SELECT i, gpu_logreg_solve((SELECT gpu_logreg_step_agg(beta, am, wt, hp) FROM mtcars)) AS m FROM steps
        WHERE NOT converged AND i < 20) t
)
SELECT right_digits('mtcars_glm', beta) >= 12 AS estimates, i BETWEEN 5 AND 12 AS steps FROM steps WHERE converged;
-- penalised
SELECT min(digits(b, want)) >= 12 AS penalised
FROM unnest((newton('mtcars_glm', 1)).coef, ARRAY[5.6773486064317198953, -2.4186728512492549249,
    0.0096839133348669393437]) AS u(b, want);
-- the tolerance of converged
SELECT (gpu_logreg_solve(s)).converged AS tight, (gpu_logreg_solve(s, tol => 0.5)).converged AS loose,
    (gpu_logreg_solve(s, 0, 0.999)).n FROM (SELECT gpu_logreg_step_agg('{18.87, -8.083, 0.03625}', am, wt, hp) AS s
    FROM mtcars) t;

-- states of parts merge to the state of the whole, in any order, at any beta
CREATE TABLE step_parts AS SELECT cyl, gpu_logreg_step_agg('{18, -8, 0.035}', am, wt, hp) AS s
FROM (SELECT * FROM mtcars UNION ALL VALUES (1, 4, 3, 4, 5, NULL::float8, 7, 8, 1, 10, 11)) t GROUP BY cyl;
SELECT (a).n, (a).n_skipped, relative_difference((a).coef, (b).coef) < 1e-14 AS coef,
    abs((a).deviance / (b).deviance - 1) < 1e-15 AS deviance,
    relative_difference(std_errors(a), std_errors(b)) < 1e-14 AS std_errors
FROM (SELECT gpu_logreg_solve(gpu_logreg_rollup(s)) AS a FROM step_parts) t,
    (SELECT gpu_logreg_solve(gpu_logreg_step_agg('{18, -8, 0.035}', am, wt, hp)) AS b FROM mtcars) u;
SELECT relative_difference((gpu_logreg_solve(gpu_logreg_rollup(s ORDER BY cyl))).coef,
    (gpu_logreg_solve(gpu_logreg_rollup(s ORDER BY cyl DESC))).coef) < 1e-15 AS any_order,
       (gpu_logreg_solve(gpu_logreg_rollup(s) FILTER (WHERE cyl = 4))).n FROM step_parts;
-- more rows, and more features, than a state holds back
SELECT relative_difference((gpu_logreg_solve(gpu_logreg_rollup(s))).coef,
    (SELECT (gpu_logreg_solve(gpu_logreg_step_agg('{}', y, VARIADIC x))).coef FROM logit_rows
    WHERE fit = 'breast_cancer_5')) < 1e-14 AS same
FROM (SELECT gpu_logreg_step_agg('{}', y, VARIADIC x) AS s FROM (SELECT y, x, row_number() OVER () AS i FROM logit_rows
    WHERE fit = 'breast_cancer_5') t GROUP BY i % 5) t;
SELECT relative_difference((gpu_logreg_solve(gpu_logreg_rollup(s), 1)).coef,
    (SELECT (gpu_logreg_fit('SELECT (i * 7 + i / 3) % 5 < 2, ARRAY(SELECT sin(i * j) FROM generate_series(1, 60) j) '
    'FROM generate_series(1, 900) i', l2 => 1, max_iter => 1)).coef)) < 1e-12 AS many_features
FROM (SELECT gpu_logreg_step_agg('{}', (i * 7 + i / 3) % 5 < 2, VARIADIC ARRAY(SELECT sin(i * j)
    FROM generate_series(1, 60) j)) AS s FROM generate_series(1, 900) i GROUP BY i % 3) t;
-- using a stored state doesn't change it
CREATE TABLE step_parts_before AS SELECT cyl, s::text FROM step_parts;
SELECT count(r) FROM (SELECT gpu_logreg_rollup(s) OVER (ORDER BY cyl) AS r FROM step_parts) t;
SELECT bool_and(p.s::text = b.s) AS unchanged FROM step_parts p JOIN step_parts_before b USING (cyl);
-- a growing frame gives each row the state up to it
SELECT bool_and(relative_difference((gpu_logreg_solve(r)).coef, (SELECT (gpu_logreg_solve(gpu_logreg_rollup(s))).coef
    FROM step_parts p WHERE p.cyl <= w.cyl)) < 1e-14) AS right, count(DISTINCT r::text)
FROM (SELECT cyl, gpu_logreg_rollup(s) OVER (ORDER BY cyl) AS r FROM step_parts) w;

-- a NULL in beta keeps a term out; a beta as long as the features is one without intercept
SELECT relative_difference((a).coef, ARRAY[(b).coef[1], NULL, (b).coef[2]]) < 1e-14 AS kept_out, (a).rank
FROM (SELECT gpu_logreg_solve(gpu_logreg_step_agg('{1, NULL, 0.01}', am, wt, hp)) AS a,
    gpu_logreg_solve(gpu_logreg_step_agg('{1, 0.01}', am, hp)) AS b FROM mtcars) t;
SELECT (m).terms, relative_difference((m).coef,
    (SELECT (gpu_logreg_fit('SELECT am, wt, hp FROM mtcars', false, max_iter => 1)).coef)) < 1e-13 AS no_intercept
FROM (SELECT gpu_logreg_solve(gpu_logreg_step_agg('{0, 0}', am, wt, hp)) AS m FROM mtcars) t;
-- collinear columns: the later one is left out at beta = 0, and later by its NULL
SELECT (a).rank, (a).coef[3] IS NULL AS aliased, (b).rank, (b).coef[3] IS NULL AS still,
    relative_difference((b).coef[1:2],
    (SELECT (gpu_logreg_fit('SELECT am, wt FROM mtcars', max_iter => 2)).coef)) < 1e-12 AS second
FROM (SELECT gpu_logreg_solve(gpu_logreg_step_agg('{}', am, wt, wt * 2)) AS a FROM mtcars) t,
    LATERAL (SELECT gpu_logreg_solve(gpu_logreg_step_agg((a).coef, am, wt, wt * 2)) AS b FROM mtcars) u;

-- no complete row: NULL; states without rows are ignored
SELECT gpu_logreg_step_agg('{}', am, wt) IS NULL AS no_rows FROM mtcars WHERE false;
SELECT gpu_logreg_step_agg('{}', am, NULL) IS NULL AS only_skipped,
    gpu_logreg_step_agg('{}', NULL::boolean, wt) IS NULL AS no_y FROM mtcars;
SELECT gpu_logreg_rollup(s) IS NULL AS nothing FROM step_parts WHERE false;
SELECT gpu_logreg_rollup(s)::text = (SELECT s::text FROM step_parts WHERE cyl = 6) AS same
FROM (SELECT s FROM step_parts WHERE cyl = 6 UNION ALL SELECT NULL) t;
SELECT gpu_logreg_solve(NULL) IS NULL AS null_state, gpu_logreg_solve(s, NULL) IS NULL AS null_l2,
    gpu_logreg_solve('{"version":1,"features":-1,"skipped":2,"intercept":1,"beta":[],"head":[],"gram":[]}')
    IS NULL AS no_rows FROM step_parts WHERE cyl = 6;

-- text round trip, whatever extra_float_digits is
SELECT bool_and(s::text::gpu_logreg_step::text = s::text) AS exact FROM step_parts;
SET extra_float_digits = -15;
SELECT bool_and(p.s::text = b.s) AS exact FROM step_parts p JOIN step_parts_before b USING (cyl);
RESET extra_float_digits;
SELECT gpu_logreg_step_agg('{1,NULL}', y, x)::text::gpu_logreg_step::text = gpu_logreg_step_agg('{1,NULL}', y,
    x)::text AS fixed, gpu_logreg_step_agg('{0.5}', y, x)::text::gpu_logreg_step::text = gpu_logreg_step_agg('{0.5}',
    y, x)::text AS no_intercept
FROM (VALUES (1, 3), (0, 5), (1, 8)) AS t(y, x);
-- the functions of the aggregates, called directly: the combine function accepts a NULL on either side
SELECT gpu_logreg_step_combine(NULL, NULL) IS NULL AS both,
    gpu_logreg_step_combine(s, NULL)::text = s::text AS left_only,
    gpu_logreg_step_combine(NULL, s)::text = s::text AS right_only FROM step_parts WHERE cyl = 6;
SELECT gpu_logreg_step_accum(gpu_logreg_step_accum(NULL, '{}', 1, 3), '{}', 0, 5)::text = gpu_logreg_step_agg('{}',
    y, x)::text AS same FROM (VALUES (1, 3), (0, 5)) AS t(y, x);
SELECT gpu_logreg_step_accum(gpu_logreg_step_accum(NULL, '{}', NULL::float8, 3), '{}', false, 5);
SELECT gpu_logreg_step_accum(NULL, '{}', NULL::boolean, 3);
SELECT gpu_logreg_step_combine(gpu_logreg_step_accum(NULL, '{}', 1, 3),
    gpu_logreg_step_accum(NULL, '{}', true, NULL))::text::json ->> 'skipped' AS skipped;
SELECT bool_and(gpu_logreg_step_accum(s, '{18, -8, 0.035}', 1, 2, 3)::text <> s::text) AS added FROM step_parts;
SELECT bool_and(p.s::text = b.s) AS unchanged FROM step_parts p JOIN step_parts_before b USING (cyl);

-- invalid arguments
SELECT gpu_logreg_step_agg(ARRAY[wt], am, wt) FROM mtcars;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_step_agg(CASE WHEN wt > 3 THEN '{1,NULL}' ELSE '{1,0}' END::float8[], am, wt) FROM mtcars;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_step_agg('{1,2,3}', am, wt) FROM mtcars;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_step_agg('{{1},{2}}', am, wt) FROM mtcars;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_step_agg(NULL, am, wt) FROM mtcars;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_step_agg('{NaN,0}', am, wt) FROM mtcars;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_step_agg('{}', carb, wt) FROM mtcars;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_step_agg('{}', am, wt, CASE WHEN hp = 110 THEN 'Infinity' ELSE hp END) FROM mtcars;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_step_agg('{}', CASE WHEN hp = 110 THEN 'NaN' ELSE am END, wt) FROM mtcars;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_step_agg('{}', am, VARIADIC CASE WHEN wt > 3 THEN ARRAY[wt] ELSE ARRAY[wt, hp] END) FROM mtcars;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_step_agg('{}', am, VARIADIC ARRAY[ARRAY[wt]]) FROM mtcars;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_step_agg('{}', am, VARIADIC '{}'::float8[]) FROM mtcars;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_step_agg('{}', am, VARIADIC array_fill(0::float8, ARRAY[10001])) FROM mtcars;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_rollup(s)
FROM (SELECT s FROM step_parts UNION ALL SELECT gpu_logreg_step_agg('{18, -8, 0.036}', am, wt, hp) FROM mtcars) t;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_rollup(s) FROM (SELECT gpu_logreg_step_agg('{0, 0}', am, wt) AS s FROM mtcars
    UNION ALL SELECT gpu_logreg_step_agg('{0}', am, wt) FROM mtcars) t;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_rollup(s) FROM (SELECT gpu_logreg_step_agg('{}', am, wt) AS s FROM mtcars
    UNION ALL SELECT gpu_logreg_step_agg('{}', am, wt, hp) FROM mtcars) t;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_solve(gpu_logreg_step_agg('{}', am, wt)) FROM mtcars WHERE am = 1;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_solve(gpu_logreg_step_agg('{}', am, wt), -1) FROM mtcars;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_solve(gpu_logreg_step_agg('{}', am, wt), tol => 0) FROM mtcars;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_solve(gpu_logreg_step_agg('{}', am, wt * 1e200)) FROM mtcars;
\echo :LAST_ERROR_SQLSTATE
-- garbage
SELECT ''::gpu_logreg_step;
\echo :LAST_ERROR_SQLSTATE
SELECT 'garbage'::gpu_logreg_step;
\echo :LAST_ERROR_SQLSTATE
SELECT '{"version":3,"features":-1,"skipped":0,"intercept":1,"beta":[],"head":[],"gram":[]}'::gpu_logreg_step;
\echo :LAST_ERROR_SQLSTATE
SELECT '{"version":1,"features":10000,"skipped":0,"intercept":1,"beta":[],"head":[],"gram":[]}'::gpu_logreg_step;
\echo :LAST_ERROR_SQLSTATE
SELECT '{"version":1,"features":-2,"skipped":0,"intercept":1,"beta":[0],"head":[0,0,0,0,0,0,0,0],"gram":[0,0,0,0,0,0,'
    '0,0,0,0,0,0]}'::gpu_logreg_step;
\echo :LAST_ERROR_SQLSTATE
SELECT '{"version":1,"features":-1,"skipped":-1,"intercept":1,"beta":[],"head":[],"gram":[]}'::gpu_logreg_step;
\echo :LAST_ERROR_SQLSTATE
SELECT '{"version":1,"features":-1,"skipped":0,"intercept":2,"beta":[],"head":[],"gram":[]}'::gpu_logreg_step;
\echo :LAST_ERROR_SQLSTATE
SELECT '{"version":1,"features":-1,"skipped":0,"intercept":1,"beta":[],"head":[],"gram":[]} x'::gpu_logreg_step;
\echo :LAST_ERROR_SQLSTATE
-- a valid state with one change: cut short, a wrong count, a NaN, half a row, more ones than rows, a negative deviance,
-- a negative square, an unknown beta
CREATE TEMP TABLE good AS SELECT gpu_logreg_step_agg('{}', y, x)::text AS s
FROM (VALUES (1, 3), (0, 5), (1, 8)) AS t(y, x);
CREATE FUNCTION state_of(what text) RETURNS text
LANGUAGE plpgsql AS $$ BEGIN PERFORM what::gpu_logreg_step; RETURN 'taken'; EXCEPTION
    WHEN OTHERS THEN RETURN SQLSTATE || ' ' || split_part(SQLERRM, ':', 1); END $$;
SELECT state_of(s) AS itself, state_of(left(s, -5)) AS short, state_of(replace(s, '"head":[3,', '"head":[4,')) AS n,
    state_of(replace(s, '"head":[3,', '"head":[NaN,')) AS nan,
    state_of(replace(s, '"head":[3,', '"head":[2.5,')) AS half FROM good;
SELECT state_of(regexp_replace(s, ',2\],"gram', ',4],"gram')) AS ones,
    state_of(regexp_replace(s, '"head":\[3,', '"head":[3,-')) AS deviance,
    state_of(regexp_replace(s, '"gram":\[3,1.5,', '"gram":[3,1.5,-')) AS square,
       state_of(replace(s, '"beta":[0,', '"beta":[Infinity,')) AS beta,
       state_of(replace(s, '"beta":[0,', '"beta":[0,0,')) AS longer,
       state_of(replace(s, '"gram":[3', '"gram":[null')) AS gram FROM good;
-- products that no rows can give, which would exceed float8's range when two such states are merged
SELECT state_of(regexp_replace(s, '"gram":\[([^,]*,[^,]*,[^,]*),[^,]*', '"gram":[\1,1e300')) AS product,
    state_of(regexp_replace(s, ',[^,]*\]\}$', ',1e300]}')) AS second_half FROM good;
-- squares of no rows are no less than the least float8: others could be taken, and be refused once merged
SELECT state_of(format('{"version":1,"features":1,"skipped":0,"intercept":1,"beta":[0,0],"head":[0,0,0,0,0,0,0,0],"gram":'
    '[0,0,%s,0,%s,%s,0,0,0,0,0,0,0,0,0,0,0,0,0,0]}', a, b, c)) AS step,
    state_of(format('{"version":1,"features":1,"skipped":0,"intercept":1,"beta":[0,0],"head":[1,0,0,0,0,0,0,0],"gram":'
    '[1,0,%s,0,%s,%s,0,0,0,0,0,0,0,0,0,0,0,0,0,0]}', a, b, c)) AS of_a_row
FROM (VALUES ('0', '0', '0'), ('5e-324', '1e-323', '1.5e-323')) AS t(a, b, c);
DROP TABLE step_parts, step_parts_before;
DROP FUNCTION newton, state_of;

-- the requests that gpu_logreg_fit makes of its query's rows, and their sums, have a text as well, so that parts of a
-- pass can be computed anywhere
\set pass '{"version":1,"features":1,"skipped":0,"pass":1,"faces":0,"changed":1,"rows":0,"workers":0,"relative":[0],'
\set pass :pass '"request":[0.5,0.25,0,0,0.25,0,0,1,2],"sums":[0,0,0,"Infinity",0,0,"Infinity",0,0,0,0,0,0,0,0]}'
SELECT :'pass'::gpu_logreg_step::text = :'pass' AS same;
SELECT replace(:'pass', '0.25', '"NaN"')::gpu_logreg_step::text = replace(:'pass', '0.25', '"NaN"') AS same;
SELECT s::json ->> 'rows' AS n, s::json ->> 'skipped' AS n_skipped, round((s::json #>> '{sums,0}')::numeric) AS summed,
    round((s::json #>> '{sums,1}')::numeric, 9) AS deviance FROM
	(SELECT gpu_logreg_rollup(part::gpu_logreg_step)::text AS s FROM
		(SELECT gpu_logreg_array_pass(:'pass', i % 2, ARRAY[nullif(i, 5)])::text AS part FROM generate_series(1, 9) i
		    GROUP BY i % 3) p
	 UNION ALL SELECT gpu_logreg_array_pass(:'pass', i % 2, ARRAY[nullif(i, 5)])::text
	 FROM generate_series(1, 9) i) t;
SELECT gpu_logreg_solve(gpu_logreg_array_pass(:'pass', i % 2, ARRAY[i])) FROM generate_series(1, 9) i;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_step_accum(:'pass', '{}', true, 1);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_logreg_step_send(:'pass');
\echo :LAST_ERROR_SQLSTATE
-- changed texts: a basis of features that don't exist, a face in a pass without one, more numbers than announced
SELECT replace(:'pass', '0.25,0,0,1,2]', '0.25,0,1,1,2]')::gpu_logreg_step;
\echo :LAST_ERROR_SQLSTATE
SELECT replace(:'pass', '"pass":1', '"pass":3')::gpu_logreg_step;
\echo :LAST_ERROR_SQLSTATE
SELECT replace(:'pass', '"faces":0', '"faces":65')::gpu_logreg_step;
\echo :LAST_ERROR_SQLSTATE
SELECT replace(:'pass', '"changed":1', '"changed":2')::gpu_logreg_step;
\echo :LAST_ERROR_SQLSTATE
SELECT replace(:'pass', '"features":1', '"features":10000')::gpu_logreg_step;
\echo :LAST_ERROR_SQLSTATE
SELECT replace(:'pass', '"features":1', '"features":-1')::gpu_logreg_step;
\echo :LAST_ERROR_SQLSTATE
SELECT replace(:'pass', '"Infinity"', '"infinit"')::gpu_logreg_step;
\echo :LAST_ERROR_SQLSTATE
