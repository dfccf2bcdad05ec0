-- gpu_ols_agg: a model from any FROM, WHERE, GROUP BY.
SELECT (m).method, (m).terms, (m).coef, (m).n, (m).n_skipped, (m).rank, (m).df_residual, (m).deviance, (m).null_deviance,
       (m).iterations, (m).converged, (m).separated, (m).device
FROM (SELECT gpu_ols_agg(y, x) AS m FROM (VALUES (1, 3), (2, 5), (3, 8), (4, 8)) AS t(x, y)) s;
-- types with an implicit cast; an array through VARIADIC
SELECT (gpu_ols_agg(1 + i + 2 * j, i, j::numeric, (i * j)::real)).coef FROM generate_series(1, 4) i, generate_series(1, 4) j;
SELECT (gpu_ols_agg(1 + i + 2 * j, VARIADIC ARRAY[i, j])).coef FROM generate_series(1, 4) i, generate_series(1, 4) j;
-- GROUP BY, FILTER, HAVING
SELECT g, (gpu_ols_agg(g * x + 1, x)).coef, (gpu_ols_agg(g * x + 1, x) FILTER (WHERE x <> 5)).n
FROM generate_series(1, 3) g, generate_series(1, 10) x GROUP BY g ORDER BY g;
-- NULLs: rows skipped and counted, a NULL array too
SELECT (m).coef, (m).n, (m).n_skipped FROM (SELECT gpu_ols_agg(y, x1, x2) AS m FROM (VALUES
    (1, 1, 1), (NULL, 2, 5), (2, NULL, 3), (4, 2, NULL), (6, 3, 4), (9, 4, 6), (11, 6, 6)) AS t(y, x1, x2)) s;
SELECT (m).coef, (m).n, (m).n_skipped FROM (SELECT gpu_ols_agg(y, VARIADIC x) AS m FROM (VALUES
    (1, NULL), (2, ARRAY[1, NULL]), (3, ARRAY[1, 1]), (5, ARRAY[2, 1]), (7, ARRAY[3, 2]), (NULL, '{1,2,3}')) AS t(y, x)) s;
-- nothing: NULL
SELECT gpu_ols_agg(y, x) IS NULL AS no_rows FROM (VALUES (1, 2)) AS t(x, y) WHERE x > 1;
SELECT gpu_ols_agg(y, x) IS NULL AS only_skipped FROM (VALUES (1, NULL::int)) AS t(x, y);
-- rank, degrees of freedom, NULL standard errors
SELECT (m).coef, (m).rank, (m).df_residual, (m).vcov FROM (SELECT gpu_ols_agg(y, x, 2 * x) AS m FROM (VALUES (1, 3), (2, 5)) AS t(x, y)) s;
SELECT (m).rank, (m).df_residual, (m).vcov[3][3] IS NULL AS aliased, (m).vcov[2][2] IS NOT NULL AS estimated
FROM (SELECT gpu_ols_agg(x + x % 3, x, 2 * x) AS m FROM generate_series(1, 10) x) s;
-- a group with few rows and a group with many; one state in several shapes
SELECT g, (m).n, (m).coef FROM (SELECT g, gpu_ols_agg(3 - x, x) AS m
    FROM generate_series(1, 7) k, LATERAL (SELECT (ARRAY[1, 2, 4, 5, 32, 33, 100])[k] AS g) s, generate_series(1, g) x GROUP BY g) t ORDER BY g;
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
-- window frames: a growing one goes on from row to row, a moving one is computed anew for each row
SELECT x, (gpu_ols_agg(y, x) OVER w).coef AS growing, (gpu_ols_agg(y, x) OVER (ORDER BY x ROWS 2 PRECEDING)).coef AS moving
FROM (SELECT i AS x, i * i AS y FROM generate_series(1, 6) i) t WINDOW w AS (ORDER BY x);
SELECT bool_and((growing).coef = again.coef) AS growing_is_right FROM (
    SELECT x, gpu_ols_agg(y, x) OVER (ORDER BY x) AS growing FROM (SELECT i AS x, i * i AS y FROM generate_series(1, 100) i) t) g,
LATERAL (SELECT (gpu_ols_agg(i * i, i)).coef FROM generate_series(1, g.x) i) again;
-- more features than a call has arguments
SELECT cardinality((gpu_ols_agg(y, VARIADIC x)).coef)
FROM (SELECT i AS y, array_agg((hashint8(i * 1000 + j) % 100)::float8 ORDER BY j) AS x
      FROM generate_series(1::bigint, 150) i, generate_series(1, 120) j GROUP BY i) t;
