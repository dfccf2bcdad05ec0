-- Separation: infinite estimates must be found and named, and all others must be right.
-- sets that are known to be separated by all of their columns, and sets that are not separated
SELECT name, (m).converged, (m).separated = (m).terms AS all_terms, cardinality((m).separated), (m).deviance, (m).rank
FROM (VALUES ('breast_cancer', gpu_logreg_fit('TABLE breast_cancer')), ('wine01', gpu_logreg_fit('TABLE wine01')),
    ('mtcars', gpu_logreg_fit('SELECT am, mpg, cyl, disp, hp, drat, wt, qsec, vs, gear, carb FROM mtcars'))) AS t(name,
    m);
SELECT fit, (m).converged, (m).separated FROM (SELECT fit, gpu_logreg_fit(query) AS m FROM logit_queries) t
ORDER BY fit;
-- every row gets its class
SELECT max(abs(y - gpu_predict(m, VARIADIC ARRAY[x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12])))
    < 1e-9 AS wine01 FROM wine01, gpu_logreg_fit('TABLE wine01') m;
-- one column, in either direction: the terms without a finite estimate, and their signs
SELECT term, estimate, std_error, statistic, p_value, conf_low, conf_high
FROM gpu_tidy(gpu_logreg_fit('VALUES (0, 1), (0, 2), (1, 3), (1, 4)'));
SELECT term, estimate AS odds_ratio, std_error, conf_low
FROM gpu_tidy(gpu_logreg_fit('VALUES (1, 1), (1, 2), (0, 3), (0, 4)'), exponentiate => true);
SELECT n, rank, df_residual, deviance, digits(null_deviance, 8 * ln(2.0)) > 14 AS null_deviance, log_lik, aic, converged
FROM gpu_glance(gpu_logreg_fit('VALUES (0, 1), (0, 2), (1, 3), (1, 4)'));
SELECT gpu_logreg('{1,2,3,4}', '{0,0,1,1}'::float8[]) IS NOT NULL AS arrays;
-- one column and its square: each separates alone, so neither must, and the intercept has no sign; with both together,
-- both have a sign
SELECT term, estimate, std_error, statistic, p_value, conf_low
FROM gpu_tidy(gpu_logreg_fit('VALUES (0, 1, 1), (0, 2, 4), (1, 3, 9), (1, 4, 16)'));
SELECT term, estimate FROM gpu_tidy(gpu_logreg_fit('VALUES (0, 1, 0), (0, 0, 1), (1, 1, 2), (1, 2, 1), (0, 0, 0), (0, '
    '2, -1), (0, -1, 2), (1, 3, 0), (1, 0, 3)'));
SELECT (m).vcov[2][2], abs(gpu_predict(m, 2, 4)) < 1e-12 AS class_0, abs(gpu_predict(m, 3, 9) - 1) < 1e-12 AS class_1
FROM gpu_logreg_fit('VALUES (0, 1, 1), (0, 2, 4), (1, 3, 9), (1, 4, 16)') m;

-- a dummy that is 1 only for ones: its term has no estimate, the others are those of the rows where it is 0
CREATE TABLE sep AS SELECT i, (i * 7 + i / 3) % 5 < 2 OR i % 12 = 0 AS y, i % 20 AS a, sin(i) AS b,
    (i % 12 = 0)::int AS d, (i % 12 = 5 AND (i * 7 + i / 3) % 5 >= 2)::int AS e FROM generate_series(1, 240) i;
CREATE TEMP TABLE dummy AS SELECT gpu_logreg_fit('SELECT y, a, b, d FROM sep') AS dm,
    gpu_logreg_fit('SELECT y, a, b FROM sep WHERE d = 0') AS dw;
SELECT (dm).separated, (dm).converged, (dm).n, (dm).rank, (dm).df_residual,
    relative_difference((dm).coef[1:3], (dw).coef) < 1e-12 AS others,
    relative_difference((std_errors(dm))[1:3], std_errors(dw)) < 1e-12 AS std_errors,
       abs((dm).deviance / (dw).deviance - 1) < 1e-13 AS deviance, (dm).coef[4] > 20 AS far_out,
       (dm).vcov[4:4] AS vcov_row, (dm).vcov[1:3][4:4] AS vcov_column, (dw).converged FROM dummy;
SELECT term, estimate, std_error, statistic, p_value, conf_low, conf_high FROM dummy, gpu_tidy(dm) WHERE term = 'd';
SELECT term, estimate, conf_low, conf_high FROM dummy, gpu_tidy(dm, exponentiate => true) WHERE term = 'd';
SELECT term, estimate IS NOT NULL AND std_error IS NOT NULL AND p_value IS NOT NULL AS complete FROM dummy, gpu_tidy(dm)
WHERE term <> 'd';
-- predictions: 1 where the dummy is 1, the limit's elsewhere
SELECT d, max(abs(gpu_predict(dm, a, b, d) - CASE WHEN d = 1 THEN 1 ELSE gpu_predict(dw, a, b) END)) < 1e-12 AS right
FROM dummy, sep GROUP BY d ORDER BY d;
-- max_iter at the largest integer, or near it
SELECT max_iter, (m).deviance = (dm).deviance AS deviance, (m).coef = (dm).coef AS coef,
    (m).iterations = (dm).iterations AS iterations
FROM dummy, unnest(ARRAY[1000, 2147483646, 2147483647]) max_iter,
    gpu_logreg_fit('SELECT y, a, b, d FROM sep', max_iter => max_iter) m;
-- a dummy that is 1 only for zeros
SELECT (m).separated, t.estimate, o.estimate AS odds_ratio,
    relative_difference((m).coef[1:3], (dw).coef) < 1e-12 AS others
FROM dummy, gpu_logreg_fit('SELECT y AND d = 0 AS y, a, b, d FROM sep') m, gpu_tidy(m) t,
    gpu_tidy(m, exponentiate => true) o WHERE t.term = 'd' AND o.term = 'd';
-- two dummies of opposite signs
SELECT (m).separated, (SELECT array_agg(estimate) FROM gpu_tidy(m) WHERE term IN ('d', 'e')) AS estimates,
    relative_difference((m).coef[1:3], (w).coef) < 1e-12 AS others
FROM gpu_logreg_fit('SELECT y, a, b, d, e FROM sep') m,
    gpu_logreg_fit('SELECT y, a, b FROM sep WHERE d = 0 AND e = 0') w;
-- a dummy and its complement: the later one is aliased
SELECT (m).separated, (m).coef[5] IS NULL AS aliased, (m).rank,
    relative_difference((m).coef[1:3], (dw).coef) < 1e-12 AS others
FROM dummy, gpu_logreg_fit('SELECT y, a, b, d, 1 - d AS complement FROM sep') m;
-- any scale and origin of the other columns
SELECT scale, shift, (m).separated, relative_difference(ARRAY[(m).coef[2] * scale, (m).coef[3] / scale],
    (dw).coef[2:3]) < 1e-8 AS others
FROM dummy, (VALUES (1, 0), (1e-6, 0), (1e6, 0), (1, 1e6)) AS s(scale, shift),
    gpu_logreg_fit(format('SELECT y, a * %1$s + %2$s AS a, b / %1$s - %2$s AS b, d FROM sep', scale, shift)) m;
SELECT scale, (m).separated FROM unnest(ARRAY[1e-9, 1e9]) scale,
    gpu_logreg_fit(format('SELECT y, a, b, d * %s AS d FROM sep', scale)) m;
-- rows from a temporary file, and from a query that is run for each pass
SET gpureg.device = cpu; SET gpureg.ring_size = '1MB'; SET jit = off;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2; SET max_parallel_workers = 0;
SELECT (f).separated, relative_difference((dm).coef[1:3], (f).coef[1:3]) < 1e-12 AS others,
    (SELECT max(abs(gpu_predict(f, a, b, d) - gpu_predict(dm, a, b, d))) < 1e-12 FROM sep) AS predictions
FROM dummy, gpu_logreg_fit('SELECT y, a, b, d FROM sep WHERE random() >= 0') f;
SELECT (f).separated, relative_difference((dm).coef[1:3], (f).coef[1:3]) < 1e-12 AS others,
    (SELECT max(abs(gpu_predict(f, a, b, d) - gpu_predict(dm, a, b, d))) < 1e-12 FROM sep) AS predictions
FROM dummy, gpu_logreg_fit('SELECT y, a, b, d FROM sep, one_of_many()') f;
SELECT reason ~ 'the query was run \d+ times$' AS passes FROM gpu_last_run();
SELECT (m).separated = (m).terms AS wine01 FROM gpu_logreg_fit('SELECT wine01.* FROM wine01, one_of_many()') m;
RESET ALL;

-- separation across two columns: ones where a > b, zeros where a < b, both where they are equal; the intercept is that
-- of the rows where they are
CREATE TEMP TABLE across AS SELECT i % 7 AS a, i / 7 AS b, CASE WHEN i % 7 > i / 7 THEN 1 WHEN i % 7 < i / 7 THEN 0
    ELSE j % 2 * (i % 3) % 2 END AS y FROM generate_series(0, 48) i, generate_series(1, 2) j;
SELECT (m).separated, (t).estimates, abs((m).coef[1] - (w).coef[1]) < 1e-12 AS intercept,
    abs((m).deviance / (w).deviance - 1) < 1e-13 AS deviance
FROM gpu_logreg_fit('SELECT y, a, b FROM across') m, gpu_logreg_fit('SELECT y, a FROM across WHERE a = b') w,
    LATERAL (SELECT array_agg(estimate ORDER BY term) FILTER (WHERE term <> '(intercept)') AS estimates
    FROM gpu_tidy(m)) t;
SELECT sign(a - b) AS side,
    max(abs(gpu_predict(m, a, b) - CASE WHEN a > b THEN 1 WHEN a < b THEN 0 ELSE gpu_predict(w, a) END))
    < 1e-12 AS right FROM across, gpu_logreg_fit('SELECT y, a, b FROM across') m,
    gpu_logreg_fit('SELECT y, a FROM across WHERE a = b') w GROUP BY 1 ORDER BY 1;
-- classes that meet at one value, where the share is fitted
SELECT (m).separated, abs(gpu_predict(m, 3) - 0.75) < 1e-12 AS share, gpu_predict(m, 2) < 1e-12 AS below,
    gpu_predict(m, 4) > 1 - 1e-12 AS above, digits((m).deviance, -2 * (3 * ln(0.75) + ln(0.25))) > 14 AS deviance
FROM gpu_logreg_fit('VALUES (0, 1), (0, 2), (0, 3), (1, 3), (1, 3), (1, 3), (1, 4), (1, 5)') m;
-- tiny distances: an overlap is no separation, a gap is one
SELECT hair, (m).separated, (m).converged FROM unnest(ARRAY[1e-3, 1e-6, 1e-9]) hair,
    gpu_logreg_fit(format('VALUES (0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (1, 5 - %s::float8), (1, 6), (1, 7), (1, '
    '8), (1, 9)', hair), max_iter => 100) m;
SELECT (m).separated FROM gpu_logreg_fit('VALUES (0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (1, 4.999999), (1, 6), (1, '
    '7), (1, 8), (1, 9)') m;
SELECT hair, (m).separated FROM unnest(ARRAY[1e-3, 1e-6, 1e-9]) hair,
    gpu_logreg_fit(format('VALUES (0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (1, 5 + %s::float8), (1, 6), (1, 7), (1, '
    '8), (1, 9)', hair)) m;
-- a separation within the rows left by another: d first, then a, and b between the rows that a doesn't decide
CREATE TEMP TABLE nested AS SELECT 1 AS d, -i AS a, i % 5 AS b, 1 AS y FROM generate_series(1, 40) i
UNION ALL SELECT 0, i % 9 - 4, i % 5, CASE WHEN i % 9 > 4 THEN 1 WHEN i % 9 < 4 THEN 0 ELSE (i % 7 < 3)::int END
FROM generate_series(1, 90) i;
SELECT (m).separated, relative_difference(ARRAY[(m).coef[1], (m).coef[4]], (w).coef) < 1e-12 AS others,
    abs((m).deviance / (w).deviance - 1) < 1e-13 AS deviance FROM gpu_logreg_fit('SELECT y, d, a, b FROM nested') m,
    gpu_logreg_fit('SELECT y, b FROM nested WHERE d = 0 AND a = 0') w;
SELECT d, sign(a), max(abs(gpu_predict(m, d, a, b) - CASE WHEN d = 1 OR a > 0 THEN 1 WHEN a < 0 THEN 0
    ELSE gpu_predict(w, b) END)) < 1e-12 AS right FROM nested, gpu_logreg_fit('SELECT y, d, a, b FROM nested') m,
    gpu_logreg_fit('SELECT y, b FROM nested WHERE d = 0 AND a = 0') w GROUP BY 1, 2 ORDER BY 1, 2;
-- without an intercept
SELECT (gpu_logreg_fit('VALUES (0, -1), (0, -2), (1, 3), (1, 4)', intercept => false)).separated AS by_sign;
SELECT (gpu_logreg_fit('VALUES (0, 1), (0, 2), (1, 3), (1, 4)', intercept => false)).separated AS not_by_size;
SELECT (m).separated, relative_difference((m).coef[1:2], (w).coef) < 1e-12 AS others
FROM gpu_logreg_fit('SELECT y, a, b, d FROM sep', false) m, gpu_logreg_fit('SELECT y, a, b FROM sep WHERE d = 0',
    false) w;
-- no separation is reported for large estimates, or if a penalty keeps them finite
SELECT (a).separated, (a).converged, abs((a).coef[2]) > 1e6 AS large, (b).separated AS penalised,
    (b).converged AS penalised_converged, (c).converged AS barely_penalised
FROM gpu_logreg_fit('SELECT am, wt * 1e-6 AS wt, hp FROM mtcars') a,
    gpu_logreg_fit('VALUES (0, 1), (0, 2), (1, 3), (1, 4)', l2 => 1) b,
    gpu_logreg_fit('SELECT y, a, b, d FROM sep', l2 => 1e-3) c;
-- a large sample in which three rows alone decide
SELECT (m).separated, (m).converged, relative_difference((m).coef[1:2], (w).coef) < 1e-12 AS others
FROM gpu_logreg_fit('SELECT (i * 7 + i / 3) % 5 < 2 OR i % 33333 = 0, i % 100 AS a, (i % 33333 = 0)::int AS rare FROM '
    'generate_series(1, 100000) i') m,
     gpu_logreg_fit('SELECT (i * 7 + i / 3) % 5 < 2, i % 100 AS a FROM generate_series(1, 100000) i WHERE i % 33333 '
         '<> 0') w;
-- all solvers report separation
SELECT solver, (m).separated, (m).converged FROM unnest(ARRAY['gd', 'lbfgs']) solver,
    gpu_logreg_fit('VALUES (0, 1), (0, 2), (1, 3), (1, 4)', solver => solver, max_iter => 1000) m ORDER BY solver;
SELECT (m).separated, (m).converged FROM gpu_logreg_fit('SELECT y, a, b, d FROM sep', solver => 'lbfgs',
    max_iter => 1000, tol => 1e-6) m;

-- 200 small sets of small integers with many ties; linear programming (SciPy's HiGHS) and the null space in rational
-- arithmetic decided whether a direction separates (1: some rows, 2: all rows, 0: none), and which terms have no
-- estimate
CREATE FUNCTION scramble(a bigint, b bigint, c bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT ((v # (v >> 16)) * 16807) % 2147483647 FROM (SELECT ((u # (u >> 13)) * 69621) % 2147483647 AS v
        FROM (SELECT ((a * 1000003 + b * 10007 + c * 101 + 12345) % 2147483647 * 48271) % 2147483647 AS u) t) t
$$;
CREATE FUNCTION small_set(d bigint) RETURNS TABLE (i bigint, x float8[], y float8) LANGUAGE sql IMMUTABLE AS $$
    SELECT i, x, (2 * (2 * (SELECT sum(u) FROM unnest(x) u) - cardinality(x) * (1 + d % 4)) + scramble(d, i,
        99) % (1 + 2 * noise) - noise > 0)::int
    FROM (SELECT 3 + 4 * (d / 4 % 5) AS noise, i, ARRAY(SELECT (scramble(d, i, j) % (2 + d % 4))::float8
        FROM generate_series(1, 1 + d % 4) j) AS x FROM generate_series(1, 8 + d * 5 % 23) i) t
$$;
SET client_min_messages = error;
CREATE TEMP TABLE small_rows AS SELECT d, s.* FROM generate_series(0, 199) d, small_set(d) s;
CREATE TEMP TABLE small_fits AS SELECT d, gpu_logreg_agg(y, VARIADIC x) AS m FROM small_rows GROUP BY d;
RESET client_min_messages;
SELECT count(*), min(rows), max(rows), min(features), max(features)
FROM (SELECT count(*) AS rows, max(cardinality(x)) AS features FROM small_rows GROUP BY d) t;
SELECT string_agg(CASE WHEN (m).separated = '{}' THEN '0' WHEN (m).deviance = 0 THEN '2' ELSE '1' END, '' ORDER BY d) =
    '2212001200000002000001220010001000000100012200220002100000000111012200000002000011220120000000000000' ||
    '0122001200120002100011120202001000220002022200010000100002000222002200020002000011020002021200000022'
    AS as_decided,
    bool_and((m).converged = ((m).separated = '{}')) AS converged,
    bool_and((m).deviance > 0 OR (m).separated = (m).terms) AS complete FROM small_fits;
SELECT count(*), bool_and((small_fits.m).separated = want::text[]) AS as_decided FROM small_fits JOIN (VALUES
    (2, '{(intercept),x1,x2,x3}'), (6, '{(intercept),x1,x2,x3}'), (21, '{(intercept),x1,x2}'),
    (26, '{(intercept),x1,x2,x3}'),
    (30, '{(intercept),x2,x3}'), (37, '{(intercept),x1,x2}'), (41, '{(intercept),x1,x2}'), (52, '{x1}'),
    (61, '{(intercept),x1,x2}'),
    (62, '{(intercept),x1,x2,x3}'), (63, '{(intercept),x1,x2,x3,x4}'), (65, '{(intercept),x1,x2}'),
    (80, '{(intercept),x1}'),
    (81, '{(intercept),x1,x2}'), (85, '{(intercept),x1,x2}'), (101, '{(intercept),x1,x2}'),
    (106, '{(intercept),x1,x2,x3}'), (110, '{(intercept),x3}'),
    (116, '{x1}'), (120, '{(intercept),x1}'), (121, '{(intercept),x1,x2}'), (122, '{(intercept),x1,x2,x3}'),
    (130, '{(intercept),x1,x2,x3}'),
    (147, '{(intercept),x1,x2,x3,x4}'), (152, '{x1}'), (180, '{(intercept),x1}'), (181, '{(intercept),x1,x2}'),
    (190, '{(intercept),x1,x2,x3}')) AS t(d, want) USING (d);
-- each term's sign, by linear programming: + or - if all directions that separate as many rows as possible give it that
-- sign, n if either sign occurs (also for collinear terms), f for finite estimates
SELECT count(*), bool_and(signs = want) AS as_decided
FROM (SELECT d, string_agg(CASE estimate WHEN 'Infinity' THEN '+' WHEN '-Infinity' THEN '-' ELSE CASE
    WHEN estimate IS NULL THEN 'n' ELSE 'f' END END, '' ORDER BY o) AS signs
    FROM small_fits, gpu_tidy(m) WITH ORDINALITY AS t(term, estimate, std_error, statistic, p_value, conf_low,
        conf_high, df, class, o) GROUP BY d) s JOIN (VALUES
    (0,'-+'), (1,'-++'), (2,'-+++'), (3,'-+n+n'), (6,'--++'), (7,'-+nn+'), (15,'-+nnn'), (21,'-++'), (22,'-+++'),
    (23,'-n+nn'), (26,'-+++'), (30,'-f++'), (37,'+--'), (41,'-++'), (42,'-+++'), (43,'-+n++'), (46,'-+-+'),
    (47,'-+n++'), (51,'n+nn+'), (52,'f+'), (61,'-++'), (62,'-+++'), (63,'-n+++'), (65,'-+-'), (66,'-n++'),
    (67,'-+++n'), (75,'-+n+n'), (80,'-+'), (81,'-++'), (82,'-+++'), (83,'-nnnn'), (85,'-++'), (86,'-+++'),
    (101,'-++'), (102,'-+++'), (103,'-++nn'), (106,'-+++'), (107,'-++++'), (110,'-ff+'), (111,'n+nnn'),
    (115,'-++nn'), (116,'f+'), (120,'-+'), (121,'-++'), (122,'-+++'), (123,'-+++n'), (125,'-++'), (127,'-+n++'),
    (130,'-+++'), (134,'n++-'), (135,'-n+n+'), (139,'-n++-'), (141,'-++'), (142,'-+++'), (143,'-nnnn'),
    (147,'-++++'), (152,'f-'), (157,'-+-'), (161,'-++'), (162,'-+nn'), (163,'-n+++'), (166,'-+++'), (167,'-+n++'),
    (171,'-+n++'), (175,'-n+nn'), (180,'-+'), (181,'-++'), (183,'-++++'), (187,'-+++n'), (189,'-n+'), (190,'-+++'),
    (191,'-++++'), (198,'-n++'), (199,'-++++')) AS t(d, want) USING (d);
-- the 200 sets by queries
SET client_min_messages = error;
SELECT bool_and((f).separated = (SELECT array_agg(CASE s WHEN '(intercept)' THEN s ELSE 'x[' || substr(s, 2) || ']' END
    ORDER BY o) FROM unnest((m).separated) WITH ORDINALITY AS u(s, o)) OR (f).separated = '{}'
    AND (m).separated = '{}') AS same
FROM small_fits, gpu_logreg_fit(format('SELECT y, x FROM small_rows WHERE d = %s', d)) f WHERE d % 4 = 3;
RESET client_min_messages;
-- if all rows are separated each gets its class, in these sets and in some harder ones
SELECT count(DISTINCT d), max(abs(y - gpu_predict(m, VARIADIC x))) < 1e-9 AS right FROM small_rows
JOIN small_fits USING (d) WHERE (m).deviance = 0;
SET client_min_messages = error;
SELECT d, max(abs(y - gpu_predict(m, VARIADIC x))) < 1e-9 AS right, max((m).deviance) AS deviance
FROM (SELECT d, s.*, gpu_logreg_agg(y, VARIADIC x) OVER (PARTITION BY d) AS m
    FROM unnest(ARRAY[1527, 1875, 2039, 2375, 2506]) d, small_set(d) s) t GROUP BY d ORDER BY d;
RESET client_min_messages;
DROP TABLE sep;
DROP FUNCTION small_set, scramble;
