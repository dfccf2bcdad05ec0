-- Absorbed effects: fits compared with dummy variables in 50 digits (test/data/absorb_reference.py)
CREATE TABLE absorb_rows (dataset text, y float8, x1 float8, x2 float8, weight float8,
    frequency int, f1 int, f2 int, f3 int, c1 int, c2 int);
\copy absorb_rows FROM 'test/data/absorb_rows.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE absorb_fits (dataset text, absorb text[], vcov text, clusters text[],
    weighting text, term text, estimate numeric, std_error numeric);
\copy absorb_fits FROM 'test/data/absorb_fits.csv' WITH (FORMAT csv, HEADER, FORCE_NOT_NULL (weighting))
SELECT count(*) AS n_values FROM absorb_fits;
SET client_min_messages = error; -- negative variances, with two ways of clusters, give warnings
CREATE TABLE absorb_models AS
SELECT dataset, absorb, vcov, clusters, weighting,
       gpu_ols_fit(format('SELECT * FROM absorb_rows WHERE dataset = %L', dataset), formula => 'y ~ x1 + x2',
                   absorb => absorb, vcov => vcov, clusters => nullif(clusters, '{}'),
                   weights => CASE weighting WHEN 'weight' THEN 'weight' END,
                   frequencies => CASE weighting WHEN 'frequency' THEN 'frequency' END) AS model
FROM (SELECT DISTINCT dataset, absorb, vcov, clusters, weighting FROM absorb_fits) f;
RESET client_min_messages;
-- coefficients and standard errors have 13 digits; terms that the effects span are NULL
WITH pairs AS (
    SELECT f.*, t.estimate AS got, t.std_error AS got_error
    FROM absorb_fits f JOIN absorb_models m USING (dataset, absorb, vcov, clusters, weighting), gpu_tidy(m.model) t
    WHERE t.term = f.term)
SELECT count(*) AS n_terms, count(*) FILTER (WHERE estimate IS NULL) AS n_spanned,
       count(*) FILTER (WHERE std_error IS NULL AND estimate IS NOT NULL) AS n_negative,
       bool_and((got IS NULL) = (estimate IS NULL) AND (got_error IS NULL) = (std_error IS NULL)) AS same_terms,
       max(abs(got::numeric / estimate - 1)) < 1e-13 AS estimates_agree,
       max(abs(got_error::numeric / std_error - 1)) < 1e-13 AS errors_agree
FROM pairs;
WITH pairs AS (
    SELECT f.*, CASE f.term WHEN 'n' THEN g.n::numeric WHEN 'df_residual' THEN g.df_residual::numeric
                            WHEN 'deviance' THEN g.deviance::numeric WHEN 'r_squared' THEN g.r_squared::numeric END
    AS got
    FROM absorb_fits f JOIN absorb_models m USING (dataset, absorb, vcov, clusters, weighting), gpu_glance(m.model) g)
SELECT term, count(*), bool_and(CASE WHEN term IN ('n', 'df_residual') THEN got = estimate
                                     ELSE abs(got / estimate - 1) < 1e-13 END) AS agree
FROM pairs WHERE got IS NOT NULL GROUP BY term ORDER BY term;
-- gpu_summary prints the effects' degrees of freedom, singletons, and R2 within
WITH printed AS (
    SELECT m.*, string_agg(s, E'\n') AS text FROM absorb_models m, gpu_summary(m.model) s
    GROUP BY m.dataset, m.absorb, m.vcov, m.clusters, m.weighting, m.model)
SELECT term, count(*),
       bool_and(CASE term WHEN 'effects_df' THEN text LIKE '%levels and ' || round(estimate) || ' degrees of freedom%'
                          WHEN 'singletons' THEN (text LIKE '%dropped as singletons%') = (estimate > 0)
                          ELSE abs((regexp_match(text, 'Within R-squared: 
    ([0-9.e-]+)'))[1]::numeric / estimate - 1) < 1e-3 END) AS agree
FROM absorb_fits JOIN printed USING (dataset, absorb, vcov, clusters, weighting)
WHERE term IN ('effects_df', 'singletons', 'within_r_squared') GROUP BY term ORDER BY term;
-- 100,000 rows of fixest's "difficult" design, and group means that are 1e6 apart (absorb_large_reference.py)
CREATE TABLE absorb_large AS
SELECT person, year, firm, x1, u + person % 7 * 1e6 AS x2,
       x1 - 2 * u + person % 13 + firm % 11 + (i * 15485863 % 100003) / 100003.0::float8 AS y
FROM (SELECT i, i / 10 AS person, i % 10 AS year, i % 434 AS firm, (i * 7919 % 10007) / 10007.0::float8 AS x1,
             (i * 104729 % 9973) / 9973.0::float8 AS u FROM generate_series(0, 99999::bigint) i) r;
CREATE TABLE absorb_large_fits (vcov text, term text, estimate numeric, std_error numeric);
\copy absorb_large_fits FROM 'test/data/absorb_large.csv' WITH (FORMAT csv, HEADER)
SELECT f.vcov, bool_and(abs(t.estimate::numeric / f.estimate - 1) < 1e-13) AS estimates_agree,
       bool_and(abs(t.std_error::numeric / f.std_error - 1) < 1e-13) AS errors_agree
FROM (VALUES ('iid', NULL), ('HC1', NULL), ('CR1', '{person}'::text[])) v (vcov, clusters),
     gpu_tidy(gpu_ols_fit('SELECT * FROM absorb_large', formula => 'y ~ x1 + x2 | person + year + firm',
                          vcov => v.vcov, clusters => v.clusters)) t
JOIN absorb_large_fits f USING (term) WHERE f.vcov = v.vcov GROUP BY f.vcov ORDER BY f.vcov;
SELECT (gpu_ols_fit('SELECT * FROM absorb_large', formula => 'y ~ x1 + x2 | person + year + firm')).df_residual
       = (SELECT estimate FROM absorb_large_fits WHERE term = 'df_residual') AS same_df;
SELECT reason FROM gpu_last_run();
DROP TABLE absorb_large, absorb_large_fits;
-- the formula's part from | on is the argument absorb; columns may be of any type that has levels
CREATE TYPE absorb_enum AS ENUM ('z', 'y', 'x', 'w', 'v', 'u', 't', 's', 'r');
CREATE VIEW absorb_typed AS
SELECT y, x1, x2, f1 AS i4, f1::bigint AS i8, 'level ' || f1 AS t, date '2000-01-01' + f1 AS d, f1::numeric AS num,
       f1::float8 AS f8, (enum_range(NULL::absorb_enum))[f1 + 1] AS e, f1::text::varchar AS vc, f1::text::char(9) AS c,
       timestamp '2000-01-01' + f1 * interval '1 hour' AS ts, lpad(to_hex(f1), 32, '0')::uuid AS u, f2, f2 % 2 = 0
    AS b,
       f2 AS "Odd ""name"
FROM absorb_rows WHERE dataset = 'two';
SELECT name, (gpu_ols_fit('SELECT * FROM absorb_typed', formula => 'y ~ x1 + x2 | ' || name || ' + f2')).coef
       = (gpu_ols_fit('SELECT * FROM absorb_typed', formula => 'y ~ x1 + x2', absorb => '{i4,f2}')).coef AS same
FROM unnest('{i4,i8,t,d,num,f8,e,vc,c,ts,u}'::text[]) name;
SELECT (gpu_ols_fit('SELECT * FROM absorb_typed', formula => 'y~x1|i4+"Odd ""name"')).df_residual,
       (gpu_ols_fit('SELECT * FROM absorb_typed', formula => 'y ~ x1', absorb => '{i4,b}')).df_residual
    AS df_of_boolean;
-- without a formula each column without a role is a feature
SELECT (gpu_ols_fit('SELECT y, x1, x2, t, f2 FROM absorb_typed', absorb => '{t,f2}')).terms;
-- a factor, an interaction and a power as regressors, an array, reals
SELECT (m).terms, (m).rank, (m).df_residual
FROM gpu_ols_fit('SELECT * FROM absorb_typed', formula => 'y ~ x1 * factor(b) + poly(x2, 2) | t') m;
SELECT max(abs(a.estimate / b.estimate - 1)) < 1e-12 AS same
FROM gpu_tidy(gpu_ols_fit('SELECT * FROM absorb_typed', formula => 'y ~ x1 * factor(b) + poly(x2, 2) | t')) a
JOIN gpu_tidy(gpu_ols_fit('SELECT * FROM absorb_typed', formula => 'y ~ x1 * factor(b) + poly(x2, 2) + t')) b USING
    (term);
SELECT (gpu_ols_fit('SELECT y, ARRAY[x1, x2] AS x, t FROM absorb_typed', absorb => '{t}')).coef
       = (gpu_ols_fit('SELECT y, x1, x2, t FROM absorb_typed', absorb => '{t}')).coef AS same;
-- printed
SELECT * FROM gpu_summary(gpu_ols_fit('SELECT * FROM absorb_rows WHERE dataset = ''split''', formula
    => 'y ~ x1 + x2 | f1 + f2', vcov => 'CR1', clusters => '{c1}'));
SELECT device, reason, rows, features FROM gpu_last_run();
-- rows with a NULL level are skipped and counted
SELECT (m).n, (m).n_skipped FROM gpu_ols_fit('SELECT y, x1, nullif(f1, 3) AS f1, nullif(c1, 0) AS c1
    FROM absorb_rows WHERE dataset = ''one''',
    absorb => '{f1}', vcov => 'CR1', clusters => '{c1}') m;
-- an absorbed column is also a regressor (spanned) or a cluster; all regressors are spanned
SELECT (gpu_ols_fit('SELECT * FROM absorb_typed', formula => 'y ~ x1 + f2 | t + f2')).coef[2] IS NULL AS spanned;
SELECT term, estimate, std_error FROM gpu_tidy(gpu_ols_fit('SELECT * FROM absorb_typed', formula => 'y ~ i4 | t'));
-- a response that the effects span: nothing is left
SELECT term, estimate, std_error FROM gpu_tidy(gpu_ols_fit('SELECT * FROM absorb_typed', formula => 'f2 ~ x1 | f2'));
-- a text level of 1 MB
SELECT (gpu_ols_fit('SELECT y, x1, CASE WHEN f1 = 2 THEN repeat(''ab'', 500000) ELSE f1::text END AS f1
    FROM absorb_rows WHERE dataset = ''one''', absorb => '{f1}')).coef
       = (gpu_ols_fit('SELECT y, x1, f1 FROM absorb_rows WHERE dataset = ''one''', absorb => '{f1}')).coef AS same;
-- errors
\set SHOW_CONTEXT never
SELECT gpu_ols_fit('SELECT y, x1, row_number() OVER () AS f1 FROM absorb_rows WHERE dataset = ''one''', absorb
    => '{f1}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x1, f1 FROM absorb_rows WHERE dataset = ''none''', absorb => '{f1}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT *, sin(y) AS z FROM (VALUES (1, 1, 1, 1), (2, 5, 1, 2), (3, 2, 2, 1),
    (5, 2, 2, 2)) v(y, x, a, b) UNION ALL SELECT *, sin(a) FROM (VALUES (3, 2, 3, 1), (3, 1, 3, 3), (2, 2, 1, 3),
    (2, 3, 4, 1), (1, 3, 4, 4), (1, 3, 1, 4)) w(y, x, a, b)', absorb => '{x,a,b}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x1, f1 FROM absorb_rows', absorb => '{f1,f1}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x1, f1 FROM absorb_rows', absorb => '{f1,NULL}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x1, f1 FROM absorb_rows', absorb => '{f9}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x1, f1 FROM absorb_rows', formula => 'y ~ x1 | f9');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x1, f1 FROM absorb_rows', formula => 'y ~ x1 | ');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x1, f1 FROM absorb_rows', formula => 'y ~ x1 | f1 * x1');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x1, f1 FROM absorb_rows', formula => 'y ~ x1 | "f1');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x1, f1 FROM absorb_rows', formula => 'y ~ x1 | f1', absorb => '{f1}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, f1 FROM absorb_rows', formula => 'y ~ 1 | f1');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x1, point(f1, 2) AS f1 FROM absorb_rows', absorb => '{f1}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x1, f1, point(f1, 2) AS c FROM absorb_rows', absorb => '{f1}', vcov => 'CR1', clusters
    => '{c}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x1, f1, 1 AS c FROM absorb_rows', absorb => '{f1}', vcov => 'CR1', clusters => '{c}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, x1, f1 FROM absorb_rows', absorb => '{f1}', vcov => 'HC3');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, 1e200 * x1 AS x1, f1 FROM absorb_rows', absorb => '{f1}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT y, CASE WHEN f1 = 1 THEN ''Infinity'' ELSE x1 END AS x1, f1 FROM absorb_rows', absorb
    => '{f1}');
\echo :LAST_ERROR_SQLSTATE
SET gpureg.absorb_memory = '1MB';
SELECT gpu_ols_fit('SELECT i AS y, sin(i) AS x, i % 9 AS f FROM generate_series(1, 60000) i', absorb => '{f}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_ols_fit('SELECT i AS y, sin(i) AS x, ''level '' || i / 2 AS f FROM generate_series(1, 40000) i', absorb
    => '{f}');
\echo :LAST_ERROR_SQLSTATE
RESET gpureg.absorb_memory;
-- predictions need the effects
SELECT gpu_predict(model, 1, 2) FROM absorb_models LIMIT 1;
\echo :LAST_ERROR_SQLSTATE
\unset SHOW_CONTEXT
-- effects of the levels, in order
CREATE TABLE absorb_effects (dataset text, absorb text[], weighting text, effect text, level text, estimate numeric,
    n bigint);
\copy absorb_effects FROM 'test/data/absorb_effects.csv' WITH (FORMAT csv, HEADER, FORCE_NOT_NULL (weighting))
WITH pairs AS (
    SELECT a.*, e.estimate AS got, e.n AS got_n
    FROM (SELECT DISTINCT dataset, absorb, weighting FROM absorb_effects) c,
         gpu_effects(format('SELECT * FROM absorb_rows WHERE dataset = %L', dataset), 'y ~ x1 + x2', absorb,
                     weights => CASE weighting WHEN 'weight' THEN 'weight' END,
                     frequencies => CASE weighting WHEN 'frequency' THEN 'frequency' END) e
    FULL JOIN absorb_effects a USING (effect, level)
    WHERE (a.dataset, a.absorb, a.weighting) = (c.dataset, c.absorb, c.weighting))
SELECT count(*) = (SELECT count(*) FROM absorb_effects) AS all_levels, bool_and(n = got_n) AS same_counts,
       max(abs(got::numeric - estimate) / greatest(abs(estimate), 1)) < 1e-12 AS agree,
       bool_and(got = 0) FILTER (WHERE estimate = 0) AS zeros
FROM pairs;
SELECT effect, level, n FROM gpu_effects('SELECT * FROM absorb_typed', 'y ~ x1 | e + b');
SELECT count(*) FROM gpu_effects(NULL);
SELECT * FROM gpu_effects('SELECT * FROM absorb_typed', 'y ~ x1');
\echo :LAST_ERROR_SQLSTATE
DROP VIEW absorb_typed;
DROP TYPE absorb_enum;
DROP TABLE absorb_rows, absorb_fits, absorb_models, absorb_effects;
