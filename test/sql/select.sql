-- Subsets of features against all subsets, solved in exact rationals: test/data/select_reference.py, with which R's
-- leaps and step() agree.
CREATE TABLE select_fits (dataset text, method text, intercept boolean, size int, columns int[], rss numeric,
    r_squared numeric, adj_r_squared numeric, cp numeric, aic numeric, bic numeric);
\copy select_fits FROM 'test/data/select_fits.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE select_states AS
SELECT 'mtcars' AS dataset, gpu_ols_stats_agg(mpg, cyl, disp, hp, drat, wt, qsec, vs, am, gear, carb) AS s FROM mtcars
UNION ALL
SELECT 'diabetes', gpu_ols_stats_agg(y, age, sex, bmi, bp, s1, s2, s3, s4, s5, s6) FROM diabetes
UNION ALL
SELECT 'longley', gpu_ols_stats_agg(y, VARIADIC x) FROM nist_rows WHERE dataset = 'longley';

CREATE FUNCTION close_to(got float8, want numeric, scale numeric) RETURNS boolean LANGUAGE sql IMMUTABLE
    RETURN abs(got::numeric - want) <= 1e-13 * greatest(abs(want), scale);
CREATE TABLE selected AS
SELECT dataset, f.method, intercept, r.*
FROM (SELECT DISTINCT dataset, method, intercept FROM select_fits) f JOIN select_states USING (dataset),
     gpu_ols_select(s, 'bic', method, intercept) r;
SELECT method, count(*) AS subsets, bool_and(r.columns = f.columns) AS same,
    bool_and(close_to(r.rss, f.rss, 0) AND close_to(r.r_squared, f.r_squared, 1) AND
             close_to(r.adj_r_squared, f.adj_r_squared, 1) AND close_to(r.cp, f.cp, 1e4) AND
             close_to(r.aic, f.aic, 100) AND close_to(r.bic, f.bic, 100)) AS agree
FROM selected r FULL JOIN select_fits f USING (dataset, method, intercept, size)
GROUP BY method ORDER BY method COLLATE "C";
-- a subset's RSS is that of a fit of its columns, to the bit
SELECT bool_and(r.rss = (gpu_ols_solve(s, intercept, r.columns)).deviance) AS of_a_fit
FROM selected r JOIN select_states USING (dataset) WHERE size > 0;
-- the size that each criterion chooses
SELECT dataset, criterion, method, size, terms, chosen = count_best AND count_best = 1 AS one
FROM (SELECT dataset, criterion, method, r.size, r.terms, r.best,
             count(*) FILTER (WHERE best) OVER w AS count_best,
             count(*) FILTER (WHERE best AND r.size = c.size) OVER w AS chosen
      FROM select_states, unnest('{bic,aic,cp,adjr2}'::text[]) criterion, unnest('{best,backward}'::text[]) m (method),
           gpu_ols_select(s, criterion, method) r,
           LATERAL (SELECT size FROM select_fits f
                    WHERE f.dataset = select_states.dataset AND f.method = m.method AND intercept
                    ORDER BY CASE criterion WHEN 'bic' THEN bic WHEN 'aic' THEN aic WHEN 'cp' THEN cp
                             ELSE -adj_r_squared END LIMIT 1) c
      WINDOW w AS (PARTITION BY dataset, criterion, method)) r
WHERE best ORDER BY dataset COLLATE "C", criterion COLLATE "C", method COLLATE "C";

-- names, columns to choose from, another response, and a largest size
SELECT size, columns, terms FROM select_states,
    gpu_ols_select(gpu_ols_named(s, '{mpg,cyl,disp,hp,drat,wt,qsec,vs,am,gear,carb}'), 'aic', 'forward', true,
                   '{wt,mpg,qsec,am}', 'hp') WHERE dataset = 'mtcars' ORDER BY size;
SELECT bool_and(a.rss = b.rss AND a.terms = b.terms) AS same, count(*)
FROM select_states, gpu_ols_select(s, 'cp', 'best', max_size => 3) a, gpu_ols_select(s, 'cp') b
WHERE a.size = b.size AND dataset = 'diabetes';
-- weights and frequencies: AIC and BIC are R's of such fits
SELECT bool_and(abs(r.aic - g.aic) < 1e-9 AND abs(r.bic - g.bic) < 1e-9 AND
                abs(r.adj_r_squared - g.adj_r_squared) < 1e-14) AS as_glance
FROM (SELECT gpu_wls_stats_agg(qsec, mpg, wt, hp, drat, am) AS s FROM mtcars) m, gpu_ols_select(s) r,
     gpu_glance(gpu_ols_solve(s, features => CASE WHEN r.size > 0 THEN r.columns END)) g WHERE size IN (1, 2, 3, 4);

-- thirty similar features, with effects of every size; the search may take a second
CREATE TABLE thirty AS
SELECT gpu_ols_stats_agg(y, VARIADIC x) AS s
FROM (SELECT array_agg(v + common ORDER BY k) AS x, sum((v + common) * (k % 5 - 2)) + 20 * sin(i * 1.7) AS y
      FROM (SELECT i, k, h - floor(h) AS v, 2 * sin(i * 3.3) AS common
            FROM generate_series(1, 400) i, generate_series(1, 30) k,
                 LATERAL (SELECT sin(i * (k + 0.37) * 12.9898) * 43758.5453 AS h) h) v GROUP BY i) r;
SELECT count(*) AS sizes, bool_and(r.rss <= f.rss) AS no_worse_than_forward, bool_and(r.rss <= b.rss) AS than_backward,
    bool_and(r.rss = (gpu_ols_solve(s, features => CASE WHEN r.size > 0 THEN r.columns END)).deviance)
        FILTER (WHERE size > 0) AS of_a_fit
FROM thirty, gpu_ols_select(s) r JOIN gpu_ols_select((SELECT s FROM thirty), 'bic', 'forward') f USING (size)
JOIN gpu_ols_select((SELECT s FROM thirty), 'bic', 'backward') b USING (size);

-- collinear features: no subset is larger than the rank; backward steps begin with the features that a fit of all keeps
SELECT method, count(*) AS sizes, max(size),
    max(columns::text) FILTER (WHERE size = 3 AND method = 'backward') AS kept, bool_or(best) AS one_is_best
FROM (SELECT gpu_ols_stats_agg(mpg, wt, hp, wt + hp, 3, qsec) AS s FROM mtcars) m,
     unnest('{best,forward,backward}'::text[]) method, gpu_ols_select(s, 'aic', method)
GROUP BY method ORDER BY method COLLATE "C";
-- no fewer features than rows: sizes up to the rank, with no best one among subsets without residuals
SELECT method, count(*) AS sizes, max(size), count(cp) AS cp, max(size) FILTER (WHERE best) < 5 AS best_has_residuals
FROM (SELECT gpu_ols_stats_agg(mpg, cyl, disp, hp, drat, wt, qsec, carb) AS s FROM (SELECT * FROM mtcars LIMIT 6) m) m,
     unnest('{best,forward,backward}'::text[]) method, gpu_ols_select(s, 'bic', method)
GROUP BY method ORDER BY method COLLATE "C";
-- a perfect fit: the smallest subset that has it
SELECT size, columns, rss FROM (SELECT gpu_ols_stats_agg(2 * wt - hp + 1, wt, hp, qsec, drat) AS s FROM mtcars) m,
    gpu_ols_select(s) WHERE best;

-- bad input
\set VERBOSITY default
CREATE TABLE select_state AS SELECT s FROM select_states WHERE dataset = 'mtcars';
SELECT gpu_ols_select(s, 'r2') FROM select_state;
SELECT gpu_ols_select(s, 'bic', 'leaps') FROM select_state;
SELECT gpu_ols_select(s, 'cp')
FROM (SELECT gpu_ols_stats_agg(mpg, cyl, disp, hp) AS s FROM (SELECT * FROM mtcars LIMIT 4) m) m;
\set VERBOSITY terse
SELECT gpu_ols_select(s, max_size => 0) FROM select_state;
SELECT gpu_ols_select(s, features => '{1,11}') FROM select_state;
SELECT gpu_ols_select(s, features => '{}') FROM select_state;
SELECT gpu_ols_select(s, features => '{1,2}', response => 2) FROM select_state;
SELECT gpu_ols_select(gpu_ols_stats_agg(i, VARIADIC array_fill(i::float8, '{201}'))) FROM generate_series(1, 3) i;
SELECT count(*) AS none FROM gpu_ols_select(NULL);
SELECT count(*) AS none FROM select_state, gpu_ols_select(s, NULL);
SELECT count(*) AS none FROM select_state, gpu_ols_select(s, 'bic', NULL);
SELECT count(*) AS none FROM gpu_ols_select((SELECT gpu_ols_stats_agg(mpg, cyl) FROM mtcars WHERE false));
SELECT size, columns, rss, cp, aic, best FROM gpu_ols_select((SELECT gpu_ols_stats_agg(1, 2, 3)));
