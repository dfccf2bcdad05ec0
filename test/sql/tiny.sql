-- Linear regressions of columns of any magnitude: estimates must scale with the columns, or error 22003 must name one.
CREATE TABLE tiny_rows AS
SELECT i, 2 * a - b + (i * 37 % 17) / 8.0 - 1 AS y, a, b, 1 + i % 3 AS w, i % 4 AS part
FROM (SELECT i, ((i * 29) % 101) / 32.0 - 1.5 AS a, ((i * 53) % 89) / 64.0 AS b FROM generate_series(1, 120) i) t;
-- Runs a statement that gives a model: its slope of a in the unit of the rows, t and R2, or the SQLSTATE
CREATE FUNCTION tiny_run(statement text) RETURNS TABLE (slope float8, t float8, r2 float8, state text)
LANGUAGE plpgsql AS $$
DECLARE m gpu_model;
BEGIN
    EXECUTE format('SELECT (t.m).* FROM (%s) t(m)', statement) INTO m;
    RETURN QUERY SELECT (m).coef[2], s.statistic, g.r_squared, '00000'
    FROM (SELECT statistic FROM gpu_tidy(m) OFFSET 1 LIMIT 1) s, gpu_glance(m) g;
EXCEPTION WHEN numeric_value_out_of_range THEN
    RETURN QUERY SELECT NULL::float8, NULL::float8, NULL::float8, SQLSTATE || CASE WHEN SQLERRM ~
        '^(squares of column "(ty|ta|y|x1|[?]column[?])" are|a result of the regression is) out of range' THEN ''
        ELSE ' ' || SQLERRM END;
END $$;
CREATE TABLE tiny_ways (way text, statement text);
INSERT INTO tiny_ways VALUES
    ('fit', 'SELECT gpu_ols_fit(''SELECT y * %1$s AS ty, a * %2$s AS ta, b FROM tiny_rows'')'),
    ('aggregate', 'SELECT gpu_ols_agg(y * %1$s, a * %2$s, b) FROM tiny_rows'),
    ('states', 'SELECT gpu_ols_solve(gpu_ols_rollup(s)) FROM (SELECT gpu_ols_stats_agg(y * '
        '%1$s, a * %2$s, b) AS s FROM tiny_rows GROUP BY part) t'),
    ('weights', 'SELECT gpu_ols_fit(''SELECT y * %1$s AS ty, a * %2$s AS ta, b, w FROM tiny_rows'', weights => ''w'')'),
    ('weighted', 'SELECT gpu_wls_agg(w, y * %1$s, a * %2$s, b) FROM tiny_rows'),
    ('robust', 'SELECT gpu_ols_fit(''SELECT y * %1$s AS ty, a * %2$s AS ta, b FROM tiny_rows'', vcov => ''HC1'')'),
    ('clusters', 'SELECT gpu_ols_fit(''SELECT y * %1$s AS ty, a * %2$s AS ta, b, i FROM tiny_rows'', vcov => ''CR1'', '
        'clusters => ''{i}'')');
CREATE TABLE tiny_runs AS
SELECT w.way, sy, sx, r.* FROM tiny_ways w,
     (SELECT ('1e' || e)::float8 AS sy, ('1e' || f)::float8 AS sx
      FROM generate_series(-300, 300, 25) e, generate_series(-300, 300, 25) f
      WHERE e = 0 OR f = 0 OR e = f OR e = -f) s,
     LATERAL tiny_run(format(w.statement, sy || '::float8', sx || '::float8')) r;
-- answers have all digits; moderate scales have answers; everything else is 22003
SELECT t.way, count(*), count(*) FILTER (WHERE t.state = '00000') AS fits, min(t.state) AS least, max(t.state) AS most,
       max(abs(t.slope / t.sy * t.sx / o.slope - 1)) < 1e-13 AS slope, max(abs(t.t / o.t - 1)) < 1e-13 AS t,
       max(abs(t.r2 / o.r2 - 1)) < 1e-13 AS r2,
       bool_and(t.state = '00000') FILTER (WHERE abs(log(t.sy)) <= 100 AND abs(log(t.sx)) <= 100 AND
                                           greatest(abs(log(t.sy) - log(t.sx)), abs(log(t.sy) + log(t.sx))) < 125)
           AS near,
       bool_and(t.state <> '00000') FILTER (WHERE abs(log(t.sy)) >= 175 OR abs(log(t.sx)) >= 175) AS far
FROM tiny_runs t JOIN tiny_runs o ON o.way = t.way AND o.sy = 1 AND o.sx = 1
GROUP BY t.way ORDER BY t.way;
-- constant columns are collinear at any scale; without an intercept they are not
SELECT c, (m).coef[3] IS NULL AS collinear, (m).rank, (s).coef[3] IS NULL AS merged
FROM unnest('{0,1e-320,1e-300,1e-200,-1e-160,1e-140,1,1e140,1e200}'::float8[]) c,
     LATERAL (SELECT gpu_ols_agg(y, a, c) AS m FROM tiny_rows OFFSET 0) t,
     LATERAL (SELECT gpu_ols_solve(gpu_ols_rollup(s)) AS s
              FROM (SELECT gpu_ols_stats_agg(y, a, c) AS s FROM tiny_rows GROUP BY part) t OFFSET 0) u;
-- a constant response has a perfect fit, one that isn't constant doesn't
SELECT c, (m).coef[1] = c AS coef, (m).deviance FROM unnest('{1e-300,1e-200,1e-140}'::float8[]) c,
     LATERAL (SELECT gpu_ols_agg(c, a) AS m FROM tiny_rows OFFSET 0) t;
SELECT gpu_ols_fit('SELECT y, a, i * 1e-170 AS tiny FROM tiny_rows');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y * 1e-170 AS tiny, a, b FROM tiny_rows');
\echo :LAST_ERROR_SQLSTATE
-- values above and below 0 that cancel, in sums that are asked for; a group whose rows alone are constant
SELECT gpu_ols_fit('SELECT y, a, (i % 2 * 2 - 1) * 1e-170 AS tiny FROM tiny_rows');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_vif(s) FROM (SELECT gpu_ols_stats_agg(y, a, b * 1e-170) AS s FROM tiny_rows) t;
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_enet_path((SELECT gpu_ols_stats_agg(y, a, b * 1e-170) FROM tiny_rows), nlambda => 2);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_ols_select((SELECT gpu_ols_stats_agg(y, a, b * 1e-170) FROM tiny_rows));
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_solve(gpu_ols_rollup(s)) FROM (SELECT gpu_ols_stats_agg(y, a, part * 1e-170) AS s FROM tiny_rows
    GROUP BY part) t;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_glm_fit('SELECT i % 5 AS y, i * 1e-310 AS tiny FROM tiny_rows', 'poisson');
\echo :LAST_ERROR_SQLSTATE
-- a column with some tiny values is like any other
SELECT (gpu_ols_agg(y, CASE WHEN i % 2 = 0 THEN 1e-200 ELSE a END)).rank FROM tiny_rows;
