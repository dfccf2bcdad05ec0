-- gpu_ols_agg: a model from any FROM, WHERE, GROUP BY.
SELECT (m).method, (m).terms, (m).coef, (m).n, (m).n_skipped, (m).rank, (m).df_residual, (m).deviance,
    (m).null_deviance,
       (m).iterations, (m).converged, (m).separated, (m).device
FROM (SELECT gpu_ols_agg(y, x) AS m FROM (VALUES (1, 3), (2, 5), (3, 8), (4, 8)) AS t(x, y)) s;
-- types with an implicit cast; an array through VARIADIC
SELECT (gpu_ols_agg(1 + i + 2 * j, i, j::numeric, (i * j)::real)).coef FROM generate_series(1, 4) i,
    generate_series(1, 4) j;
SELECT (gpu_ols_agg(1 + i + 2 * j, VARIADIC ARRAY[i, j])).coef FROM generate_series(1, 4) i, generate_series(1, 4) j;
-- a boolean y is 0 or 1; a NULL skips the row; a domain over it, and VARIADIC
CREATE DOMAIN verdict AS boolean;
SELECT b.m = i.m AS same, d.m = i.m AS same_domain, v.m = i.m AS same_variadic, (b.m).n, (b.m).n_skipped,
    (b.m).coef = (f.m).coef AS as_gpu_ols_fit
FROM (SELECT gpu_ols_agg(nullif(am, 1 - vs) = 1, wt, hp) AS m FROM mtcars) b,
    (SELECT gpu_ols_agg(nullif(am, 1 - vs), wt, hp) AS m FROM mtcars) i,
     (SELECT gpu_ols_agg((nullif(am, 1 - vs) = 1)::verdict, wt, hp) AS m FROM mtcars) d,
     (SELECT gpu_ols_agg(nullif(am, 1 - vs) = 1, VARIADIC ARRAY[wt, hp]) AS m FROM mtcars) v,
     (SELECT gpu_ols_fit('SELECT nullif(am, 1 - vs) = 1, wt, hp FROM mtcars') AS m) f;
SELECT gpu_ols_agg(NULL::boolean, wt) IS NULL AS only_skipped FROM mtcars;
DROP DOMAIN verdict;
-- the form that literals, NULL and other numbers choose; they must not choose the one with a boolean y
SELECT (gpu_ols_agg(NULL, x)) IS NULL AS null_y, (gpu_ols_agg(y, NULL)) IS NULL AS null_x,
       (gpu_ols_agg('2', x)).coef[1] AS literal, (gpu_ols_agg('2', k)).coef[1] AS literal_int,
       (gpu_ols_agg('2', n)).coef[1] AS literal_numeric,
       (gpu_ols_agg(2, x)).coef[1] AS int, (gpu_ols_agg(2::smallint, k)).coef[1] AS smallint,
       (gpu_ols_agg(2::bigint, n)).coef[1] AS bigint,
       (gpu_ols_agg(2.5, k)).coef[1] AS numeric, (gpu_ols_agg(2.5::real, '1')).coef[1] AS real,
       (gpu_ols_agg(y, '1', k)).n AS literal_x,
       (gpu_ols_agg(y, VARIADIC '{1,2}')).n AS literal_array, gpu_ols_agg(y, VARIADIC NULL) IS NULL AS null_array
FROM (SELECT i + i % 2 AS y, i::float8 AS x, i AS k, i::numeric AS n FROM generate_series(1, 9) i) t;
-- an untyped y beside x of one type is a number; beside several, or an array, it needs a type
\set VERBOSITY terse
SELECT gpu_ols_agg('2', i, i::float8) FROM generate_series(1, 9) i;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_agg(NULL, VARIADIC ARRAY[i]) FROM generate_series(1, 9) i;
\echo :LAST_ERROR_SQLSTATE
\set VERBOSITY default
SELECT gpu_ols_agg(NULL::float8, i, i::float8) IS NULL AS only_skipped, (gpu_ols_agg('2'::float8, VARIADIC ARRAY[i])).n
FROM generate_series(1, 9) i;
-- GROUP BY, FILTER, HAVING
SELECT g, (gpu_ols_agg(g * x + 1, x)).coef, (gpu_ols_agg(g * x + 1, x) FILTER (WHERE x <> 5)).n
FROM generate_series(1, 3) g, generate_series(1, 10) x GROUP BY g ORDER BY g;
-- NULLs: rows skipped and counted, a NULL array too
SELECT (m).coef, (m).n, (m).n_skipped FROM (SELECT gpu_ols_agg(y, x1, x2) AS m FROM (VALUES
    (1, 1, 1), (NULL, 2, 5), (2, NULL, 3), (4, 2, NULL), (6, 3, 4), (9, 4, 6), (11, 6, 6)) AS t(y, x1, x2)) s;
SELECT (m).coef, (m).n, (m).n_skipped FROM (SELECT gpu_ols_agg(y, VARIADIC x) AS m FROM (VALUES
    (1, NULL), (2, ARRAY[1, NULL]), (3, ARRAY[1, 1]), (5, ARRAY[2, 1]), (7, ARRAY[3, 2]), (NULL, '{1,2,3}')) AS t(y,
    x)) s;
-- no rows: NULL
SELECT gpu_ols_agg(y, x) IS NULL AS no_rows FROM (VALUES (1, 2)) AS t(x, y) WHERE x > 1;
SELECT gpu_ols_agg(y, x) IS NULL AS only_skipped FROM (VALUES (1, NULL::int)) AS t(x, y);
-- rank, degrees of freedom, NULL standard errors
SELECT (m).coef, (m).rank, (m).df_residual, (m).vcov
FROM (SELECT gpu_ols_agg(y, x, 2 * x) AS m FROM (VALUES (1, 3), (2, 5)) AS t(x, y)) s;
SELECT (m).rank, (m).df_residual, (m).vcov[3][3] IS NULL AS aliased, (m).vcov[2][2] IS NOT NULL AS estimated
FROM (SELECT gpu_ols_agg(x + x % 3, x, 2 * x) AS m FROM generate_series(1, 10) x) s;
-- a group with few rows and a group with many; one state in several shapes
SELECT g, (m).n, (m).coef FROM (SELECT g, gpu_ols_agg(3 - x, x) AS m
    FROM generate_series(1, 7) k, LATERAL (SELECT (ARRAY[1, 2, 4, 5, 32, 33, 100])[k] AS g) s, generate_series(1, g) x
    GROUP BY g) t ORDER BY g;
-- two aggregates over the same arguments share one state
SELECT (gpu_ols_agg(y, x)).coef, (gpu_ols_solve(gpu_ols_stats_agg(y, x))).coef, (gpu_ols_agg(y, x)).n
FROM (SELECT i AS x, 2 * i + i % 2 AS y FROM generate_series(1, 100) i) t;
-- DISTINCT, ORDER BY within the aggregate
SELECT (gpu_ols_agg(DISTINCT y, x)).n, (gpu_ols_agg(y, x ORDER BY x DESC)).coef
FROM (VALUES (1, 3), (1, 3), (2, 5), (3, 9)) AS t(x, y);
-- 100,000 groups, by hash and by sort
CREATE TABLE groups AS SELECT g, i::float8 AS x, (g + i * (g % 7) + (i % 2))::float8 AS y
FROM generate_series(1, 100000) g, generate_series(1, 4) i;
ANALYZE groups;
SET enable_sort = off;
CREATE TEMP TABLE by_hash AS SELECT g, (gpu_ols_agg(y, x)).coef FROM groups GROUP BY g;
SET enable_sort = on;
SET enable_hashagg = off;
CREATE TEMP TABLE by_sort AS SELECT g, (gpu_ols_agg(y, x)).coef FROM groups GROUP BY g;
RESET enable_hashagg;
-- the y of a group are g + 1 + {s, 2s - 1, 3s, 4s - 1}: slope s - 1/5, intercept g + 1
SELECT count(*), bool_and(h.coef = s.coef) AS same, max(abs(h.coef[2] - (g % 7 - 0.2))) < 1e-14 AS slopes,
       max(abs(h.coef[1] - (g + 1)) / g) < 1e-14 AS intercepts
FROM by_hash h JOIN by_sort s USING (g);
DROP TABLE groups;
-- window frames: a growing one continues from row to row, a moving one is computed for each row
SELECT x, (gpu_ols_agg(y, x) OVER w).coef AS growing,
    (gpu_ols_agg(y, x) OVER (ORDER BY x ROWS 2 PRECEDING)).coef AS moving
FROM (SELECT i AS x, i * i AS y FROM generate_series(1, 6) i) t WINDOW w AS (ORDER BY x);
SELECT bool_and((growing).coef = again.coef) AS growing_is_right FROM (
    SELECT x, gpu_ols_agg(y, x) OVER (ORDER BY x) AS growing
    FROM (SELECT i AS x, i * i AS y FROM generate_series(1, 100) i) t) g,
LATERAL (SELECT (gpu_ols_agg(i * i, i)).coef FROM generate_series(1, g.x) i) again;
-- x as one array gives the same; a NULL array is skipped
SELECT bool_and(a = b) AS same, bool_and(c = d) AS same_boolean, count(*) FROM (
    SELECT gpu_ols_array_agg(mpg, ARRAY[wt, nullif(hp, 110)]) AS a, gpu_ols_agg(mpg, wt, nullif(hp, 110)) AS b,
           gpu_ols_array_agg(am = 1, ARRAY[wt, hp]) AS c, gpu_ols_agg(am = 1, wt, hp) AS d FROM mtcars GROUP BY cyl) t;
SELECT bool_and(a = b) AS same, count(*) FROM (
    SELECT gpu_ols_array_agg(mpg, ARRAY[wt, hp]) OVER w AS a, gpu_ols_agg(mpg, wt, hp) OVER w AS b
    FROM mtcars WINDOW w AS (ORDER BY qsec, wt ROWS 9 PRECEDING)) t;
SELECT (gpu_ols_array_agg(y, x)).n, (gpu_ols_array_agg(y, x)).n_skipped
FROM (VALUES (1, NULL), (2, ARRAY[1, NULL]), (3, ARRAY[1, 1]), (5, ARRAY[2, 1]), (NULL, '{1,2,3}')) AS t(y, x);
SELECT gpu_ols_array_agg(y, x) FROM (VALUES (1, ARRAY[1, 1]), (2, ARRAY[1])) AS t(y, x);
\echo :LAST_ERROR_SQLSTATE
-- more features than a call has arguments
SELECT cardinality((gpu_ols_agg(y, VARIADIC x)).coef)
FROM (SELECT i AS y, array_agg((hashint8(i * 1000 + j) % 100)::float8 ORDER BY j) AS x
      FROM generate_series(1::bigint, 150) i, generate_series(1, 120) j GROUP BY i) t;
-- (f(...)).* calls f for each of the model's 15 fields; README's forms call it once: the most calls that one node of
-- the plan computes
CREATE FUNCTION calls(query text, called text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    line text;
    most bigint := 0;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS off, VERBOSE) ' || query LOOP
        most := greatest(most, (SELECT count(*) FROM regexp_matches(line, called || '\(', 'g')));
    END LOOP;
    RETURN most;
END
$$;
CREATE TABLE star_rows AS SELECT i % 3 AS g, sin(i) AS y, sin(i) > 0 AS won, cos(i * i) AS x1, i % 7 AS x2
FROM generate_series(1, 100) i;
CREATE TABLE star_states AS SELECT g, gpu_ols_stats_agg(y, x1, x2) AS state FROM star_rows GROUP BY g;
SELECT calls(query, 'gpu_ols_agg') AS agg, calls(query, 'gpu_ols_stats_agg') AS stats_agg,
    calls(query, 'gpu_ols_solve') AS solve, calls(query, 'gpu_ols_fit') AS fit,
    calls(query, 'gpu_logreg_solve') AS logreg_solve, query
FROM (VALUES
    (1, 'SELECT g, (gpu_ols_agg(y, x1, x2)).* FROM star_rows GROUP BY g'),
    (2, 'SELECT g, (m).* FROM (SELECT g, gpu_ols_agg(y, x1, x2) AS m FROM star_rows GROUP BY g) s'),
    (3, 'SELECT g, m.* FROM (SELECT g, gpu_ols_stats_agg(y, x1, x2) AS state FROM star_rows GROUP BY g) s, '
        'gpu_ols_solve(state) m'),
    (4, 'SELECT m.* FROM gpu_ols_fit(''SELECT y, x1, x2 FROM star_rows'') m'),
    (5, 'SELECT (m).* FROM (SELECT gpu_ols_solve(state) AS m FROM star_states) s'),
    (6, 'SELECT (m).* FROM (SELECT gpu_ols_solve(state) AS m FROM star_states OFFSET 0) s'),
    (7, 'SELECT (s).* FROM (SELECT gpu_logreg_solve(gpu_logreg_step_agg(''{}'', won, x1, x2)) AS s FROM star_rows) '
        'u')) AS q(i, query) ORDER BY i;
SELECT count(*), bool_and(a.coef = b.coef AND a.vcov = b.vcov) AS same
FROM (SELECT g, (m).* FROM (SELECT g, gpu_ols_agg(y, x1, x2) AS m FROM star_rows GROUP BY g) s) a
JOIN (SELECT g, m.* FROM (SELECT g, gpu_ols_stats_agg(y, x1, x2) AS state FROM star_rows GROUP BY g) s,
    gpu_ols_solve(state) m) b USING (g);
-- the loop of docs/reference/steps.md
DO $$
DECLARE
    m gpu_model;
    beta float8[] := '{}';
BEGIN
    LOOP
        SELECT (s).* INTO m FROM (SELECT gpu_logreg_solve(gpu_logreg_step_agg(beta, won, x1, x2)) AS s
            FROM star_rows) u;
        beta := m.coef;
        EXIT WHEN m.converged;
    END LOOP;
    RAISE NOTICE 'as gpu_logreg_agg has it: %',
    (SELECT relative_difference(beta, (gpu_logreg_agg(won, x1, x2)).coef) < 1e-12 FROM star_rows);
END
$$;
DROP TABLE star_rows, star_states;
DROP FUNCTION calls;
