-- Equal rows must give equal coefficients in any order, with any number of workers, by any way, and on any device.
CREATE FUNCTION fit_all_ways(source text, response text, VARIADIC features text[])
RETURNS TABLE (way text, coef float8[]) LANGUAGE plpgsql AS $$
DECLARE
    xs text := array_to_string(features, ', ');
    ordering text;
BEGIN
    FOREACH ordering IN ARRAY ARRAY['ctid', 'ctid DESC', 'md5(ctid::text)'] LOOP
        way := 'fit ' || ordering;
        EXECUTE format('SELECT (gpu_ols_fit($q$SELECT %s, %s FROM %s ORDER BY %s$q$)).coef', response, xs, source,
            ordering) INTO coef;
        RETURN NEXT;
        way := 'agg ' || ordering;
        EXECUTE format('SELECT (gpu_ols_agg(%s, VARIADIC ARRAY[%s]::float8[] ORDER BY %s)).coef FROM %s', response,
            xs, ordering, source) INTO coef;
        RETURN NEXT;
        way := 'arrays ' || ordering;
        EXECUTE format('SELECT gpu_ols(array_agg(ARRAY[%s]::float8[] ORDER BY %s), array_agg(%s ORDER BY %s)) FROM %s',
            xs, ordering, response, ordering, source) INTO coef;
        RETURN NEXT;
    END LOOP;
    way := 'rollup';
    EXECUTE format('SELECT (gpu_ols_solve(gpu_ols_rollup(s))).coef FROM (SELECT gpu_ols_stats_agg(%s, VARIADIC '
        'ARRAY[%s]::float8[]) AS s FROM %s GROUP BY hashtext(ctid::text) %% 7) t', response, xs, source) INTO coef;
    RETURN NEXT;
    --     row by row, with each state read from text
    way := 'text';
    EXECUTE format('SELECT (gpu_ols_solve(gpu_ols_rollup(s::text::gpu_ols_stats))).coef FROM (SELECT '
        'gpu_ols_stats_agg(%s, VARIADIC ARRAY[%s]::float8[]) AS s FROM (SELECT * FROM %s LIMIT 2000) t GROUP BY t) t',
    response, xs, source) INTO coef;
    IF (SELECT count(*) <= 2000 FROM mtcars) AND source <> 'diamonds' THEN
        RETURN NEXT;
    END IF;
END
$$;
CREATE FUNCTION worst_difference(source text, response text, VARIADIC features text[]) RETURNS float8 LANGUAGE sql AS $$
    SELECT max(relative_difference(a.coef, b.coef)) FROM fit_all_ways(source, response, VARIADIC features) a,
    fit_all_ways(source, response, VARIADIC features) b
$$;
-- scaled condition numbers below 1e6: differences up to 1e-15
SELECT worst_difference('mtcars', 'mpg', 'wt', 'hp', 'qsec', 'drat') < 1e-15 AS mtcars;
SELECT worst_difference('diabetes', 'y', 'age', 'sex', 'bmi', 'bp', 's1', 's2', 's3', 's4', 's5',
    's6') < 1e-15 AS diabetes;
CREATE TABLE longley AS SELECT y, x[1] AS x1, x[2] AS x2, x[3] AS x3, x[4] AS x4, x[5] AS x5, x[6] AS x6 FROM nist_rows
WHERE dataset = 'longley';
SELECT worst_difference('longley', 'y', 'x1', 'x2', 'x3', 'x4', 'x5', 'x6') < 1e-15 AS longley;
SELECT worst_difference('diamonds', 'price', 'carat', 'depth', '"table"', 'x', 'y', 'z') < 1e-15 AS diamonds;
-- filip: differences up to 1e-12
CREATE TABLE filip AS SELECT y, x[1] AS x1, x[2] AS x2, x[3] AS x3, x[4] AS x4, x[5] AS x5, x[6] AS x6, x[7] AS x7,
    x[8] AS x8, x[9] AS x9, x[10] AS x10
FROM nist_rows WHERE dataset = 'filip';
SELECT worst_difference('filip', 'y', 'x1', 'x2', 'x3', 'x4', 'x5', 'x6', 'x7', 'x8', 'x9', 'x10') < 1e-12 AS filip;
-- parallel plans: partial and final aggregates give the same to the last digit
CREATE TABLE big AS SELECT i % 4 AS g, sin(i) AS x1, cos(i * 0.7) AS x2,
    1 + sin(i) - 2 * cos(i * 0.7) + sin(i * 1.7) AS y FROM generate_series(1, 100000) i;
ANALYZE big;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SET gpureg.enable_scan = on;
EXPLAIN (COSTS OFF) SELECT gpu_ols_agg(y, x1, x2) FROM big;
RESET gpureg.enable_scan;
CREATE TEMP TABLE with_workers AS SELECT gpu_ols_agg(y, x1, x2) AS m FROM big;
CREATE TEMP TABLE grouped_workers AS SELECT g, gpu_ols_agg(y, x1, x2) AS m FROM big GROUP BY g;
CREATE TEMP TABLE rolled_workers AS SELECT gpu_ols_solve(gpu_ols_rollup(s)) AS m
FROM (SELECT gpu_ols_stats_agg(y, x1, x2) AS s FROM big GROUP BY g) t;
SET max_parallel_workers_per_gather = 0;
SELECT relative_difference((w.m).coef, (a.m).coef) < 1e-15 AS coef,
    relative_difference((r.m).coef, (a.m).coef) < 1e-15 AS rolled,
       abs((w.m).deviance / (a.m).deviance - 1) < 1e-15 AS deviance, (w.m).n = (a.m).n AS n
FROM with_workers w, rolled_workers r, (SELECT gpu_ols_agg(y, x1, x2) AS m FROM big) a;
SELECT bool_and(relative_difference((w.m).coef, (a.m).coef) < 1e-15) AS grouped
FROM grouped_workers w JOIN (SELECT g, gpu_ols_agg(y, x1, x2) AS m FROM big GROUP BY g) a USING (g);
RESET max_parallel_workers_per_gather;
RESET min_parallel_table_scan_size;
RESET parallel_tuple_cost;
RESET parallel_setup_cost;
DROP TABLE longley, filip, big;
DROP FUNCTION worst_difference, fit_all_ways;
