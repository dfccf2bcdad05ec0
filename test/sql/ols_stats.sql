-- gpu_ols_stats: the state as a value.
-- the text is JSON with the cross products of (1, x, y)
SELECT gpu_ols_stats_agg(y, x) FROM (VALUES (1, 3), (2, 5), (3, 8)) AS t(x, y);
SELECT gpu_ols_stats_agg(y, x)::text::json ->> 'rows' AS rows
FROM (VALUES (1, 3), (2, 5), (3, 8), (NULL, 2)) AS t(x, y);
-- NULL without a complete row
SELECT gpu_ols_stats_agg(y, x) IS NULL AS no_rows FROM (VALUES (1, 2)) AS t(x, y) WHERE false;
SELECT gpu_ols_stats_agg(y, x) IS NULL AS only_skipped FROM (VALUES (1, NULL::float8)) AS t(x, y);
-- one state per day, and fits of any range of days
CREATE TABLE sales AS SELECT date '2024-01-01' + i % 30 AS day, (i % 97)::float8 AS x1, sqrt(i) AS x2,
    3 + 2 * (i % 97) - sqrt(i) + sin(i) AS y
FROM generate_series(1, 3000) i;
INSERT INTO sales VALUES ('2024-01-05', NULL, 1, 1), ('2024-01-06', 1, NULL, 1);
CREATE TABLE daily AS SELECT day, gpu_ols_stats_agg(y, x1, x2) AS s FROM sales GROUP BY day;
SELECT relative_difference((m).coef, (d).coef) < 1e-15 AS coef, (m).n = (d).n AS n, (m).n_skipped, (d).n_skipped
FROM (SELECT gpu_ols_solve(gpu_ols_rollup(s)) AS m FROM daily WHERE day BETWEEN '2024-01-03' AND '2024-01-20') a,
     (SELECT gpu_ols_agg(y, x1, x2) AS d FROM sales WHERE day BETWEEN '2024-01-03' AND '2024-01-20') b;
SELECT gpu_ols_rollup(s) IS NULL AS nothing FROM daily WHERE false;
-- a boolean y is 0 or 1; a NULL skips the row
SELECT gpu_ols_stats_agg(nullif(am, 1 - vs) = 1, wt, hp)::text = gpu_ols_stats_agg(nullif(am, 1 - vs), wt,
    hp)::text AS booleans,
       gpu_ols_stats_agg(nullif(am, 1 - vs) = 1, VARIADIC ARRAY[wt, hp])::text = gpu_ols_stats_agg(nullif(am, 1 - vs),
           wt, hp)::text AS variadic,
       (gpu_ols_stats_agg(nullif(am, 1 - vs) = 1, wt, hp)::text::json ->> 'skipped')::int = count(*)
           FILTER (WHERE am = 1 - vs) AS skipped,
       gpu_ols_stats_agg(NULL::boolean, wt) IS NULL AS only_skipped
FROM mtcars;
-- x as one array gives the same
SELECT gpu_ols_stats_array_agg(mpg, ARRAY[wt, hp])::text = gpu_ols_stats_agg(mpg, wt, hp)::text AS same,
       gpu_ols_stats_array_agg(am = 1, ARRAY[wt, hp])::text = gpu_ols_stats_agg(am = 1, wt, hp)::text AS same_boolean
       FROM mtcars;
-- NULL states are ignored
SELECT gpu_ols_rollup(s)::text = (SELECT gpu_ols_rollup(s)::text FROM daily WHERE day = '2024-01-03') AS same
FROM (SELECT s FROM daily WHERE day = '2024-01-03' UNION ALL SELECT NULL) t;
-- using a stored state doesn't change it
CREATE TABLE daily_before AS SELECT day, s::text FROM daily;
SELECT count(*) FROM (SELECT gpu_ols_rollup(s) OVER (ORDER BY day) AS r FROM daily) t WHERE r IS NOT NULL;
SELECT bool_and(d.s::text = b.s) AS unchanged FROM daily d JOIN daily_before b USING (day);
-- a growing frame gives each row the state up to it
SELECT bool_and(r = (SELECT gpu_ols_rollup(s)::text FROM (SELECT s FROM daily WHERE day <= w.day
    ORDER BY day) d)) AS right, count(DISTINCT r)
FROM (SELECT day, (gpu_ols_rollup(s) OVER (ORDER BY day))::text AS r FROM daily) w;
SELECT count(DISTINCT r::text)
FROM (SELECT unnest(array_agg(r)) AS r FROM (SELECT gpu_ols_rollup(s) OVER (ORDER BY day) AS r FROM daily) w) t;
-- without an intercept
SELECT relative_difference((gpu_ols_solve(gpu_ols_stats_agg(y, x), false)).coef,
    ARRAY[23 / 14::float8]) < 1e-15 AS right
FROM (VALUES (1, 2), (2, 3), (3, 5)) AS t(x, y);
SELECT gpu_ols_solve(NULL) IS NULL AS null_state,
    gpu_ols_solve('{"version":1,"features":1,"rows":0,"skipped":2,"gram":[0,0,0,0,0,0,0,0,0,0,0,0]}')
    IS NULL AS no_rows;
-- a state of version 1, which had no shift, is read, and merged with one that has a shift
SELECT '{"version":1,"features":1,"rows":3,"skipped":0,"gram":[3,0,6,0,14,0,16,0,37,0,98,0]}'::gpu_ols_stats;
SELECT gpu_ols_stats_combine('{"version":1,"features":1,"rows":3,"skipped":0,"gram":[3,0,6,0,14,0,16,0,37,0,98,0]}',
    gpu_ols_stats_accum(NULL, 3, 100)) AS combined;
SELECT gpu_ols_stats_combine(gpu_ols_stats_accum(NULL, 3, 100), gpu_ols_stats_accum(NULL, 4, 101)) AS shifted;
-- text round trip, with any extra_float_digits
SELECT bool_and(s::text::gpu_ols_stats::text = s::text) AS exact FROM daily;
SET extra_float_digits = -15;
SELECT bool_and(d.s::text = b.s) AS exact FROM daily d JOIN daily_before b USING (day);
RESET extra_float_digits;
-- the functions of the aggregates, called directly: the combine function accepts a NULL on either side
SELECT gpu_ols_stats_combine(NULL, NULL) IS NULL AS both,
       gpu_ols_stats_combine(s, NULL)::text = s::text AS left_only,
       gpu_ols_stats_combine(NULL, s)::text = s::text AS right_only
FROM daily WHERE day = '2024-01-03';
SELECT gpu_ols_stats_accum(gpu_ols_stats_accum(NULL, 3, 1), 5, 2);
SELECT gpu_ols_stats_accum(gpu_ols_stats_accum(NULL, NULL::float8, 1), 5, 2);
SELECT gpu_ols_stats_accum(gpu_ols_stats_accum(gpu_ols_stats_accum(NULL, NULL::boolean, 1), true, 2), false, 3);
SELECT gpu_ols_stats_combine(gpu_ols_stats_accum(NULL, 3, 1), gpu_ols_stats_accum(NULL, NULL::float8, 2));
SELECT bool_and(gpu_ols_stats_accum(s, 1, 2, 3)::text <> s::text) AS added FROM daily;
SELECT bool_and(d.s::text = b.s) AS unchanged FROM daily d JOIN daily_before b USING (day);
-- garbage
SELECT ''::gpu_ols_stats;
\echo :LAST_ERROR_SQLSTATE
SELECT 'garbage'::gpu_ols_stats;
\echo :LAST_ERROR_SQLSTATE
SELECT '{"version":1,"features":1,"rows":3,"skipped":0,"gram":[3,0,6]}'::gpu_ols_stats;
\echo :LAST_ERROR_SQLSTATE
SELECT '{"version":5,"features":1,"rows":0,"skipped":0,"shift":[0,0],"gram":[]}'::gpu_ols_stats;
\echo :LAST_ERROR_SQLSTATE
SELECT '{"version":2,"features":1,"rows":3,"skipped":0,"gram":[3,0,6,0,14,0,16,0,37,0,98,0]}'::gpu_ols_stats;
\echo :LAST_ERROR_SQLSTATE
SELECT '{"version":1,"features":1,"rows":3,"skipped":0,"shift":[0,0],"gram":[3,0,6,0,14,0,16,0,37,0,98,'
    '0]}'::gpu_ols_stats;
\echo :LAST_ERROR_SQLSTATE
SELECT '{"version":2,"features":1,"rows":3,"skipped":0,"shift":[0],"gram":[3,0,6,0,14,0,16,0,37,0,98,'
    '0]}'::gpu_ols_stats;
\echo :LAST_ERROR_SQLSTATE
SELECT '{"version":2,"features":1,"rows":3,"skipped":0,"shift":[0,1e999],"gram":[3,0,6,0,14,0,16,0,37,0,98,'
    '0]}'::gpu_ols_stats;
\echo :LAST_ERROR_SQLSTATE
SELECT '{"version":1,"features":20000,"rows":0,"skipped":0,"gram":[]}'::gpu_ols_stats;
\echo :LAST_ERROR_SQLSTATE
SELECT '{"version":1,"features":1,"rows":3,"skipped":0,"gram":[3,0,6,0,14,0,16,0,37,0,98,0]} x'::gpu_ols_stats;
\echo :LAST_ERROR_SQLSTATE
-- counts beyond bigint, which strtoll() would turn into the largest bigint; the largest itself is accepted
SELECT '{"version":1,"features":1,"rows":3,"skipped":9223372036854775808,"gram":[3,0,6,0,14,0,16,0,37,0,98,0]}'
    ::gpu_ols_stats;
\echo :LAST_ERROR_SQLSTATE
SELECT length('{"version":1,"features":1,"rows":3,"skipped":9223372036854775807,"gram":[3,0,6,0,14,0,16,0,37,0,98,0]}'
    ::gpu_ols_stats::text) > 0 AS taken;
-- a shift may be any number: if its square is too large, solving fails
SELECT gpu_ols_solve('{"version":2,"features":1,"rows":3,"skipped":0,"shift":[1e300,0],"gram":[3,0,6,0,14,0,16,0,37,0,'
    '98,0]}', false);
\echo :LAST_ERROR_SQLSTATE
SELECT (gpu_ols_solve('{"version":2,"features":1,"rows":3,"skipped":0,"shift":[1e300,0],"gram":[3,0,6,0,14,0,16,0,37,'
    '0,98,0]}')).rank;
SELECT gpu_ols_stats_combine('{"version":2,"features":1,"rows":3,"skipped":0,"shift":[1e300,0],"gram":[3,0,6,0,14,0,'
    '16,0,37,0,98,0]}', gpu_ols_stats_accum(NULL, 1, 2));
\echo :LAST_ERROR_SQLSTATE
-- numbers that no rows can give: a wrong count, a NaN, halves that overlap, a covariance that is too large, a negative
-- square
SELECT '{"version":1,"features":1,"rows":4,"skipped":0,"gram":[3,0,6,0,14,0,16,0,37,0,98,0]}'::gpu_ols_stats;
\echo :LAST_ERROR_SQLSTATE
SELECT '{"version":1,"features":1,"rows":3,"skipped":0,"gram":[3,0,6,0,nan,0,16,0,37,0,98,0]}'::gpu_ols_stats;
\echo :LAST_ERROR_SQLSTATE
SELECT '{"version":1,"features":1,"rows":3,"skipped":0,"gram":[3,0,6,1,14,0,16,0,37,0,98,0]}'::gpu_ols_stats;
\echo :LAST_ERROR_SQLSTATE
SELECT '{"version":1,"features":1,"rows":3,"skipped":0,"gram":[3,0,60,0,14,0,16,0,37,0,98,0]}'::gpu_ols_stats;
\echo :LAST_ERROR_SQLSTATE
SELECT '{"version":1,"features":1,"rows":3,"skipped":0,"gram":[3,0,6,0,-14,0,16,0,37,0,98,0]}'::gpu_ols_stats;
\echo :LAST_ERROR_SQLSTATE
-- states of different models don't merge
SELECT gpu_ols_stats_combine(gpu_ols_stats_accum(NULL, 3, 1), gpu_ols_stats_accum(NULL, 3, 1, 2));
\echo :LAST_ERROR_SQLSTATE
-- squares that underflow while their products don't
SELECT s::text::gpu_ols_stats::text = s::text AS same
FROM (SELECT gpu_ols_stats_agg(1e150 * i, 1e-170 * i) AS s FROM generate_series(1, 3) i) t;
DROP TABLE sales, daily, daily_before;
-- a user's aggregate whose y is of a domain over boolean
CREATE DOMAIN flag AS boolean;
CREATE AGGREGATE flag_stats_agg(y flag, VARIADIC x float8[]) (SFUNC = gpu_ols_stats_accum, STYPE = gpu_ols_stats);
SELECT flag_stats_agg((am = 1)::flag, wt, hp)::text = gpu_ols_stats_agg(am, wt, hp)::text AS same FROM mtcars;
DROP AGGREGATE flag_stats_agg(flag, VARIADIC float8[]);
DROP DOMAIN flag;
