-- gpu_ols: coefficients from arrays.
-- exact answers
SELECT gpu_ols(array_agg(x), array_agg(y)) FROM (VALUES (1, 3), (2, 5), (3, 7), (4, 9)) AS t(x, y);
SELECT gpu_ols(array_agg(ARRAY[x1, x2]), array_agg(1 + 2 * x1 - 3 * x2))
FROM generate_series(1, 5) x1, generate_series(1, 4) x2;
-- no intercept: sum(xy) / sum(x^2) = (1*2 + 2*3 + 3*5) / 14
SELECT gpu_ols('{1,2,3}', '{2,3,5}', false) = ARRAY[23 / 14::float8] AS exact;
SELECT gpu_ols(x => '{{1},{2},{3}}', y => '{2,3,5}', intercept => false) = ARRAY[23 / 14::float8] AS exact;
-- integer, numeric and real arrays are cast
SELECT gpu_ols(ARRAY[1, 2, 3], ARRAY[1.5, 2.5, 3.5]), gpu_ols(ARRAY[1, 2, 3]::real[], ARRAY[3, 5, 7]::bigint[]);
-- lower bounds don't matter
SELECT gpu_ols('[5:7]={1,2,3}', '[-1:1]={3,5,7}');
-- a NULL in a row leaves that row out
SELECT gpu_ols('{1,2,NULL,4,5}', '{3,5,7,NULL,11}');
SELECT gpu_ols('{{1,1},{2,NULL},{3,5},{4,2},{5,5}}', '{1,100,11,8,15}');
SELECT rows, features FROM gpu_last_run();
-- NULL results: a NULL array, no rows, only skipped ones
SELECT gpu_ols(NULL, '{1}') IS NULL AS a, gpu_ols('{1}', NULL) IS NULL AS b, gpu_ols('{}', '{}') IS NULL AS c,
       gpu_ols('{NULL}', '{1}') IS NULL AS d, gpu_ols(array_agg(x), array_agg(x)) IS NULL AS e
FROM generate_series(1, 0) x;
-- fewer rows than terms, and collinear columns: estimable terms have values, the others are NULL; later columns lose
SELECT gpu_ols('{{1,2,5}}', '{7}') AS one_row, gpu_ols('{{1,2},{2,4},{3,6},{4,8}}', '{3,5,7,9}') AS doubled,
       gpu_ols('{{7,1},{7,2},{7,3}}', '{1,2,3}') AS constant_column,
       gpu_ols('{{0,1},{0,2},{0,3}}', '{1,2,3}', false) AS zeros;
-- a column that is a combination of others up to rounding
SELECT (gpu_ols(array_agg(ARRAY[a, b, 0.1::float8 * a - 3 * b]), array_agg(sin(i))))[4] IS NULL AS aliased
FROM generate_series(1, 100) i, LATERAL (SELECT i / 7::float8 AS a, i * i / 11::float8 AS b) t;
-- a constant y
SELECT gpu_ols(array_agg(x), array_agg(0.1)) FROM generate_series(1, 1000) x;
-- columns of very different size
SELECT relative_difference(gpu_ols(array_agg(ARRAY[x * 1e-60, x * x * 1e60]), array_agg(1 + x + x * x)),
    '{1, 1e60, 1e-60}') < 1e-15 AS scaled
FROM generate_series(1, 50) x;
-- a mean far from 0
SELECT relative_difference(gpu_ols(array_agg(1e9 + x), array_agg(2 * x)), '{-2e9, 2}') < 1e-15 AS shifted
FROM generate_series(1, 1000) x;
-- many features, more than a tile of any kernel
SELECT cardinality(b), relative_difference(b, array_agg(j::float8 ORDER BY j)) < 1e-13 AS right
FROM (
    SELECT gpu_ols(array_agg(x ORDER BY i), array_agg(y ORDER BY i)) AS b
    FROM (
        SELECT i, array_agg(h ORDER BY j) AS x, 1 + sum((j + 1) * h) AS y
        FROM (SELECT i, j, (hashint8(i * 1000 + j) % 1000)::float8 AS h FROM generate_series(1::bigint, 400) i,
            generate_series(1, 150) j) c
        GROUP BY i
    ) r
) f, generate_series(1, 151) j GROUP BY b;
