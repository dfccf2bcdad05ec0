-- gpu_summary: R 4.2's output of summary() for the same fits, without its call and residuals, blanks at the ends of
-- lines, curly quotes, and its name of the intercept: test/data/after_fit_reference.R.
\set VERBOSITY default
\pset format unaligned
\pset tuples_only on
SELECT gpu_summary(gpu_ols_fit('SELECT mpg, wt, hp FROM mtcars'));
SELECT gpu_summary(gpu_logreg_fit('SELECT am, wt, hp FROM mtcars'));
-- an aliased term, rows left out
SELECT gpu_summary(gpu_ols_fit('SELECT mpg, wt, hp, 2 * wt AS w2, CASE WHEN qsec > 15 THEN qsec END AS q FROM mtcars'));
-- without stars; the intercept alone; without an intercept
SELECT gpu_summary(gpu_ols_fit('SELECT mpg, disp, hp, drat, wt, qsec, vs, am, gear, carb FROM mtcars'));
SELECT gpu_summary(gpu_ols_fit('SELECT mpg FROM mtcars'));
SELECT gpu_summary(gpu_ols_fit('SELECT mpg, wt, qsec FROM mtcars', intercept => false));
-- numbers with exponents, and one that four digits would show as 0: lm(I(1e-9*mpg) ~ I(1e12*wt) + hp), lm(mpg ~ wt +
-- I(1e9 * hp))
SELECT gpu_summary(gpu_ols_fit('SELECT 1e-9 * mpg, 1e12 * wt AS wt, hp FROM mtcars'));
SELECT gpu_summary(gpu_ols_fit('SELECT mpg, wt, 1e9 * hp AS hp FROM mtcars'));
-- no degrees of freedom; a perfect fit
SELECT gpu_summary(gpu_ols_fit('VALUES (3, 1), (5, 2)'));
SELECT gpu_summary(gpu_ols_fit('SELECT 1 + 2 * i, i FROM generate_series(1, 100) i'));
-- fits that are separated, not converged, penalised, without covariances
SET client_min_messages = error;
SELECT gpu_summary(gpu_logreg_fit('VALUES (0, 1), (0, 2), (1, 3), (1, 4)'));
SELECT gpu_summary(gpu_logreg_fit('SELECT am, wt, hp FROM mtcars', max_iter => 2));
RESET client_min_messages;
SELECT gpu_summary(gpu_logreg_fit('SELECT am, wt, hp FROM mtcars', l2 => 0.5));
-- families that R's summary.glm tests by t; Poisson; robust covariances; one row left out
CREATE FUNCTION made(family text, link text, coef float8[], vcov float8[], terms text[], dispersion float8 DEFAULT 1,
    df_inference float8 DEFAULT 'Infinity', n_skipped int DEFAULT 0,
                     vcov_type text DEFAULT 'iid', method text DEFAULT 'glm', rank int DEFAULT 2,
                     df_residual bigint DEFAULT 30, n bigint DEFAULT 32, deviance float8 DEFAULT 21.962333259190551,
                     theta float8 DEFAULT NULL, converged boolean DEFAULT true, separated text[] DEFAULT '{}')
RETURNS gpu_model LANGUAGE sql IMMUTABLE AS $$
    SELECT ROW(method, terms, coef, vcov, n, n_skipped, rank, df_residual, deviance, 27.043357450132145, 5, converged,
        separated, 'cpu', -55.663988670314929, family, link, theta, dispersion,
               vcov_type, df_inference, '')::gpu_model
$$;
SELECT gpu_summary(made('poisson', 'log', '{0.13628,0.25795}', '{{0.2, -0.05},{-0.05,0.02}}', '{(intercept),wt}',
    n_skipped => 1, vcov_type => 'HC1'));
SELECT gpu_summary(made('quasipoisson', 'log', '{0.13628,0.25795}', '{{0.2, -0.05},{-0.05,0.02}}', '{(intercept),wt}',
    0.70812345678, 30));
SELECT gpu_summary(made('negative binomial', 'log', '{0.13628,0.25795}', '{{0.2, -0.05},{-0.05,0.02}}',
    '{(intercept),wt}', theta => 1.2507));
-- long names, with wide and combining characters and line ends: no line may be wider than 80 columns, and dots replace
-- the middle of a name
SELECT gpu_summary(made('poisson', 'log', '{0.13628,-0.25795}', '{{0.2, -0.05},{-0.05,0.02}}',
    ARRAY['a very long name that an expression in a query of its own might have', E'two\nlines\tand a tab']));
-- with # for each character beyond ASCII: 30 of two columns, and 50 letters with an accent of no width
SELECT regexp_replace(line, '[^ -~]', '#', 'g')
FROM regexp_split_to_table(gpu_summary(made('poisson', 'log', '{0.13628,-0.25795}', '{{0.2, -0.05},{-0.05,0.02}}',
    ARRAY[repeat(U&'\6b74\53f2', 15), repeat(U&'e\0301', 50)])), '\n') WITH ORDINALITY t(line, i)
WHERE i BETWEEN 4 AND 6;
\pset format aligned
\pset tuples_only off
-- whatever a model contains, no line may be wider than 80 columns, and only errors of SQLSTATE 22 may come of it
SET max_parallel_workers_per_gather = 0;
CREATE TABLE hostile AS
SELECT made(family, link, ARRAY[a, b], CASE WHEN v IS NOT NULL THEN ARRAY[[v, 0], [0, b]] END,
    ARRAY[repeat('x', w), repeat('y ', w)], v, df, 2147483647, repeat('z', w), CASE family WHEN 'gaussian' THEN 'ols'
    ELSE 'glm' END,
            rank, 9223372036854775807, -9223372036854775808, b, 1e300, false, separated) AS m
FROM (VALUES ('gaussian', 'identity'), ('binomial', 'probit'), ('negative binomial', 'log'),
    ('gamma', 'inverse')) f(family, link),
     (VALUES (1e308::float8), ('NaN'), ('-Infinity'), (-1.23456789e-300), (0)) a(a),
     (VALUES ('Infinity'::float8), (5e-324), (-123456789), (NULL)) b(b),
     (VALUES (1e-310::float8), (NULL), ('-Infinity'), (3)) v(v), (VALUES ('NaN'::float8), (-1), (3)) d(df),
     (VALUES (-2147483648), (2147483647)) r(rank),
     (VALUES (40, NULL::text[]), (1000, ARRAY[repeat('y ', 1000), 'other', NULL])) s(w, separated)
WHERE (a IS DISTINCT FROM 0 OR v = 3);
DO $$
DECLARE
    h record;
    text text;
    widest int := 0;
    nsummaries int := 0;
BEGIN
    FOR h IN SELECT * FROM hostile LOOP
        BEGIN
            text := gpu_summary(h.m);
            widest := greatest(widest, (SELECT max(length(line)) FROM regexp_split_to_table(text, '\n') line));
            nsummaries := nsummaries + 1;
        EXCEPTION WHEN data_exception THEN NULL;
        END;
    END LOOP;
    RAISE NOTICE 'more than 500 of them printed: %, none wider than 80: %', nsummaries > 500, widest <= 80;
END
$$;
-- a model of many terms; invalid models
SELECT count(*), max(length(line))
FROM (SELECT made('poisson', 'log', array_agg(i::float8), NULL, array_agg('t' || i)) AS m
    FROM generate_series(1, 20000) i) t, regexp_split_to_table(gpu_summary(m), '\n') line;
SELECT gpu_summary(NULL) IS NULL AS null_model;
SELECT gpu_summary(made('poisson', 'log', '{1}', NULL, '{a,b}'));
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_summary(made('poisson', 'log', '{1,2}', '{{1,2}}', '{a,b}'));
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_summary(made('poisson', 'log', '{1,2}', NULL, '{{a,b}}'));
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_summary(made('cauchy', 'log', '{1,2}', NULL, '{a,b}'));
\echo :LAST_ERROR_SQLSTATE
RESET max_parallel_workers_per_gather;
DROP TABLE hostile;
DROP FUNCTION made;
