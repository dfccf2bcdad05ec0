-- `.` in a formula means every column that is neither the response nor has a role, wherever these stand in the query:
-- each function that takes a formula must give the same results by name for every rotation of the query's columns as
-- for the features by name. test/t/034_dot.pl checks kept rows.
CREATE TABLE dot_rows AS SELECT i AS id, 2 + sin(i) + a - 2 * b + (g = 'v')::int - 0.5 * (g = 'w')::int AS y,
    sin(i * 12.9898) + a - b > 0.2 AS won, a, b, g, 1 + i % 3 AS w, 1 + i % 2 AS f,
    cos(i) / 4 AS o, i / 4 AS c, i % 5 AS k
FROM (SELECT i, cos(i * 0.7) AS a, sin(i * 1.3) AS b, (ARRAY['u', 'v', 'w'])[1 + i * i % 7 % 3] AS g
    FROM generate_series(1, 240) i) x;

-- Fits: columns of the query besides the features a, b, g; and a statement that returns names and numbers, in which %s
-- is the query (or kept rows) and the formula
CREATE TABLE dot_fits (id int PRIMARY KEY, response text, roles text[], statement text);
INSERT INTO dot_fits VALUES
(1, 'y', '{}', 'SELECT term, estimate FROM gpu_tidy(gpu_ols_fit(%s))'),
(2, 'y', '{w}', 'SELECT term, estimate FROM gpu_tidy(gpu_ols_fit(%s, weights => ''w''))'),
(3, 'y', '{f}', 'SELECT term, estimate FROM gpu_tidy(gpu_ols_fit(%s, frequencies => ''f''))'),
(4, 'y', '{c,k}', 'SELECT term, std_error FROM gpu_tidy(gpu_ols_fit(%s, vcov => ''CR1'', clusters => ''{c,k}''))'),
(5, 'y', '{w,c}',
    'SELECT term, std_error FROM gpu_tidy(gpu_ols_fit(%s, weights => ''w'', vcov => ''CR1'', clusters => ''{c}''))'),
(6, 'y', '{o}', 'SELECT term, estimate FROM gpu_tidy(gpu_glm_fit(%s, offsets => ''o''))'),
(7, 'f', '{w,o}',
    'SELECT term, estimate FROM gpu_tidy(gpu_glm_fit(%s, family => ''poisson'', weights => ''w'', offsets => ''o''))'),
(8, 'f', '{k,o}',
    'SELECT term, estimate FROM gpu_tidy(gpu_glm_fit(%s, family => ''poisson'', frequencies => ''k'',
        offsets => ''o''))'),
(9, 'won', '{o}', 'SELECT term, estimate FROM gpu_tidy(gpu_logreg_fit(%s, offsets => ''o''))'),
(10, 'won', '{c}', 'SELECT term, std_error FROM gpu_tidy(gpu_logreg_fit(%s, vcov => ''CR1'', clusters => ''{c}''))'),
(11, 'won', '{f}', 'SELECT term, estimate FROM gpu_tidy(gpu_logreg_fit(%s, frequencies => ''f'', l2 => 1))'),
(12, 'y', '{w}', 'SELECT term, estimate FROM gpu_tidy(gpu_enet_fit(%s, lambda => 0.05, weights => ''w''))'),
(13, 'y', '{k}', 'SELECT term, estimate FROM gpu_tidy(gpu_enet_fit(%s, fold => ''k''))'),
(14, 'won', '{w,k}',
    'SELECT term, estimate FROM gpu_tidy(gpu_enet_fit(%s, family => ''binomial'', fold => ''k'', weights => ''w''))'),
(15, 'y', '{k,w}',
    'SELECT term, estimate FROM gpu_tidy((gpu_enet_cv(%s, fold => ''k'', weights => ''w'')).model_min)'),
(16, 'y', '{f}',
    'SELECT ''l'' || row_number() OVER (ORDER BY lambda), dev_ratio FROM gpu_enet_path(%s, frequencies => ''f'')'),
(17, 'y', '{id}', 'SELECT term, std_error FROM gpu_ols_boot(%s, reps => 50, key => ''id'')'),
(18, 'y', '{w,c}', 'SELECT term, std_error FROM gpu_ols_boot(%s, reps => 50, weights => ''w'', clusters => ''c'')'),
(19, 'y', '{id}', 'SELECT term || replicate, estimate FROM gpu_ols_boot_replicates(%s, reps => 5, key => ''id'')'),
(20, 'won', '{id,w}', 'SELECT term, std_error FROM gpu_logreg_boot(%s, reps => 50, key => ''id'', weights => ''w'')'),
(21, 'won', '{c}',
    'SELECT term || replicate, estimate FROM gpu_logreg_boot_replicates(%s, reps => 5, clusters => ''c'')'),
(22, 'y', '{id,w}', 'SELECT term, p_value FROM gpu_ols_permute(%s, reps => 99, key => ''id'', weights => ''w'')'),
(23, 'y', '{c}', 'SELECT term, statistic FROM gpu_ols_permute(%s, reps => 99, clusters => ''c'')'),
(24, 'y', '{k,w}',
    'SELECT t || coalesce(fold, -1), b FROM gpu_ols_cv(%s, fold => ''k'', weights => ''w''),
        unnest(terms, coef) u (t, b)'),
(25, 'y', '{id}',
    'SELECT t || coalesce(fold, -1), b FROM gpu_ols_cv(%s, folds => 4, key => ''id''), unnest(terms, coef) u (t, b)'),
(26, 'won', '{k}',
    'SELECT t || coalesce(fold, -1), b FROM gpu_logreg_cv(%s, fold => ''k''), unnest(terms, coef) u (t, b)'),
(27, 'won', '{id,w}',
    'SELECT t || coalesce(fold, -1), b FROM gpu_logreg_cv(%s, folds => 4, key => ''id'', weights => ''w''),
        unnest(terms, coef) u (t, b)'),
(28, 'y', '{k,c}', 'SELECT term, std_error FROM gpu_tidy(gpu_ols_fit(%s, absorb => ''{k,c}''))'),
(29, 'y', '{k,c,w}', 'SELECT effect || level, estimate FROM gpu_effects(%s, absorb => ''{k,c}'', weights => ''w'')'),
(30, 'f', '{k}', 'SELECT term, estimate FROM gpu_tidy(gpu_glm_fit(%s, family => ''poisson'', absorb => ''{k}''))'),
(31, 'f', '{w}', 'SELECT class || term, estimate FROM gpu_tidy(gpu_multinom_fit(%s, weights => ''w''))'),
(32, 'k', '{w}', 'SELECT term, estimate FROM gpu_tidy(gpu_ordinal_fit(%s, weights => ''w''))');

-- Mixed models, which are not fitted to kept rows
INSERT INTO dot_fits VALUES
(41, 'id', '{c}', 'SELECT term, estimate FROM gpu_tidy(gpu_lmm_fit(%s || '' + (1 | c)''))'),
(42, 'id', '{c}', 'SELECT term || level, effect FROM gpu_ranef(%s || '' + (1 | c)'', method => ''ml'')');

-- The columns of a fit's query, rotated by n
CREATE FUNCTION dot_columns(f dot_fits, n int) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(c, ', ' ORDER BY (at + n) % (4 + cardinality((f).roles)))
    FROM unnest('{a,b}' || ((f).response || ((f).roles || '{g}'))) WITH ORDINALITY u (c, at)
$$;

-- Names and numbers of a fit. kept: the fit is to kept rows with these columns
CREATE FUNCTION dot_fit(f dot_fits, columns text, features text, kept boolean)
    RETURNS TABLE (name text, number float8) LANGUAGE plpgsql AS $$
DECLARE
    query text := format('SELECT %s FROM dot_rows ORDER BY id', columns);
BEGIN
    IF kept THEN
        PERFORM gpu_keep('dot', query, true);
    END IF;
    --     a product has its factors in alphabetical order
    RETURN QUERY EXECUTE format(
        'SELECT (SELECT string_agg(x, '':'' ORDER BY x) FROM regexp_split_to_table(n, '':'') x), v FROM (' ||
        (f).statement || ') s (n, v)', format(CASE WHEN kept THEN 'kept => %L, formula => %L'
        ELSE 'query => %L, formula => %L' END, CASE WHEN kept THEN 'dot' ELSE query END,
        (f).response || ' ~ ' || features));
END$$;

-- Fits and rotations whose results differ from those by name
CREATE FUNCTION dot_differences(kept boolean, formula text DEFAULT '.', by_name text DEFAULT 'a + b + g',
    ids int[] DEFAULT NULL)
    RETURNS TABLE (id int, columns text, difference float8) LANGUAGE sql AS $$
    SELECT f.id, c.columns, d.difference
    FROM dot_fits f, LATERAL generate_series(0, CASE WHEN kept AND statement ~ 'gpu_(effects|lmm_fit|ranef)' THEN -1
            ELSE 3 + cardinality(roles) END) n, -- these take no kept rows
        LATERAL (SELECT dot_columns(f, n) AS columns) c,
        LATERAL (SELECT max(CASE WHEN p.name IS NOT NULL AND p.number IS NOT DISTINCT FROM q.number THEN 0
            ELSE coalesce(abs(p.number - q.number) / (1e-3 + abs(p.number)), 'Infinity') END) AS difference
            FROM dot_fit(f, dot_columns(f, 0), by_name, kept) p
            FULL JOIN dot_fit(f, c.columns, formula, kept) q USING (name)) d
    WHERE (ids IS NULL OR f.id = ANY (ids)) AND NOT d.difference < 1e-7
    ORDER BY f.id, n
$$;
-- Functions with an argument formula that no fit calls: none
SELECT proname FROM pg_proc
WHERE 'formula' = ANY (proargnames) AND proname LIKE 'gpu\_%'
    AND NOT EXISTS (SELECT FROM dot_fits WHERE statement LIKE '%' || proname || '(%');

-- END of what 034_dot.pl shares
SELECT * FROM dot_differences(false);
SELECT * FROM dot_differences(false, '. - a', 'b + g', '{1,2,7,14,25}');
SELECT * FROM dot_differences(false, '.^2 - g:a', 'a + b + g + a:b + g:b', '{1,2,5,9}');
SELECT * FROM dot_differences(false, '0 + poly(a, 2) + . - a', '0 + poly(a, 2) + b + g', '{1,9,24}');

-- A query whose first column, mpg, is neither the response nor has a role: it must be a feature.
CREATE TABLE dot_cars AS SELECT i AS mpg, i * i % 7 AS cyl, i % 5 AS disp, i * 3 % 11 AS hp, 1 + i % 2 AS w
FROM generate_series(1, 20) i;
SELECT (gpu_ols_fit('SELECT mpg, cyl, disp, hp FROM dot_cars', formula => 'hp ~ .')).terms;
SELECT (gpu_ols_fit('SELECT w, mpg, cyl, disp, hp FROM dot_cars', formula => 'hp ~ .', weights => 'w')).terms;
SELECT (gpu_ols_fit('SELECT mpg, cyl, disp, w, hp FROM dot_cars', formula => 'hp ~ . + w', weights => 'w')).terms;

-- The response on the right side is an error, unless it is removed there.
SELECT (gpu_ols_fit('SELECT mpg, cyl, disp, hp FROM dot_cars', formula => 'hp ~ . - hp')).terms;
SELECT (gpu_ols_fit('SELECT mpg, cyl, disp, hp FROM dot_cars', formula => 'hp ~ . + hp')).terms;
SELECT (gpu_ols_fit('SELECT mpg, cyl, disp, hp FROM dot_cars', formula => 'hp ~ mpg + poly(hp, 2)')).terms;

-- Without a formula the response is the first column that has no role, whether it is a category or not.
SELECT (gpu_ols_fit('SELECT w, mpg, cyl, disp FROM dot_cars', weights => 'w')).terms;
SELECT (gpu_ols_fit('SELECT w, y, a, g FROM dot_rows', weights => 'w')).terms;
SELECT (gpu_ols_fit('SELECT g, a, y FROM dot_rows')).terms;
DROP FUNCTION dot_differences, dot_fit, dot_columns;
DROP TABLE dot_fits, dot_rows, dot_cars;
