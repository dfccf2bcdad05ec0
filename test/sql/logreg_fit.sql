-- gpu_logreg_fit: a model from a query. The rows are kept. If the planner or the ring reports too many, the query is
-- run for each pass if its plan is parallel (with workers or, as here, without); otherwise, or if it is volatile, the
-- rows go to a temporary file. Only the CPU uses the latter two.
SELECT (m).method, (m).terms, (m).n, (m).n_skipped, (m).rank, (m).df_residual, (m).converged, (m).separated,
    (m).device = (SELECT device FROM gpu_last_run()) AS device
FROM (SELECT gpu_logreg_fit('SELECT am, wt, hp FROM mtcars') AS m) t;
SELECT function, rows, features FROM gpu_last_run();

-- numeric types of y
SELECT y, relative_difference((gpu_logreg_fit(format('SELECT am::%s, wt, hp FROM mtcars', y))).coef,
    (gpu_logreg_fit('SELECT am, wt, hp FROM mtcars')).coef) < 1e-14 AS same
FROM unnest(ARRAY['smallint', 'int', 'bigint', 'numeric', 'real', 'int::boolean']) y;
-- numeric types of features, and arrays of them
CREATE DOMAIN euros AS numeric(10, 2);
CREATE TABLE logit_kinds AS SELECT (i * 7 + i / 3) % 5 < 2 AS y, i::smallint AS small, i * i AS int,
    (i % 7)::bigint AS big, (i % 5)::real AS real, sqrt(i) AS double, ln(i)::euros AS money, i % 3 = 0 AS flag,
    ARRAY[i % 11, i % 13] AS ints, ARRAY[sin(i), cos(i)] AS doubles, ARRAY[i % 2 = 0] AS flags,
    ARRAY[i % 17, 1.5]::euros[] AS moneys FROM generate_series(1, 300) i;
CREATE TEMP TABLE kinds_fit AS
    SELECT gpu_logreg_fit('SELECT y, small, int, big, real, double, money, flag, ints, doubles, flags, moneys FROM '
    'logit_kinds') AS m;
SELECT (m).terms, (m).n, (m).rank, (m).coef[15] IS NULL AS constant_aliased FROM kinds_fit;
SELECT relative_difference((m).coef[1:14],
    (gpu_logreg_agg(y, small, int, big, real, double, money, flag::int, ints[1], ints[2], doubles[1], doubles[2],
    flags[1]::int, moneys[1])).coef) < 1e-13 AS same
FROM kinds_fit, logit_kinds GROUP BY kinds_fit.m;
-- the two other ways of holding the rows
SET gpureg.device = cpu; SET gpureg.ring_size = '1MB'; SET jit = off;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2; SET max_parallel_workers = 0;
SELECT relative_difference((m).coef, (f).coef) < 1e-13 AS spooled, (m).terms = (f).terms AS terms
FROM kinds_fit, gpu_logreg_fit('SELECT y, small, int, big, real, double, money, flag, ints, doubles, flags, moneys '
    'FROM logit_kinds WHERE random() >= 0') f;
SELECT relative_difference((m).coef, (f).coef) < 1e-13 AS passes, (m).terms = (f).terms AS terms
FROM kinds_fit, gpu_logreg_fit('SELECT y, small, int, big, real, double, money, flag, ints, doubles, flags, moneys '
    'FROM logit_kinds, one_of_many()') f;
SELECT reason ~ 'the query was run \d+ times$' AS passes, rows, features, bytes_to_device, workers FROM gpu_last_run();
SET max_parallel_workers_per_gather = 0;
SELECT relative_difference((m).coef, (f).coef) < 1e-13 AS file, (m).terms = (f).terms AS terms
FROM kinds_fit, gpu_logreg_fit('SELECT y, small, int, big, real, double, money, flag, ints, doubles, flags, moneys '
    'FROM logit_kinds, one_of_many()') f;
SELECT reason ~ 'the rows went to a temporary file$' AS file, rows, features FROM gpu_last_run();
RESET ALL;

-- rows with a NULL in y, in x, in an array or instead of one, for each way
CREATE TABLE holes AS SELECT am AS y, ARRAY[wt, hp] AS x, cyl AS z FROM mtcars UNION ALL
VALUES (NULL, '{1,2}'::float8[], 3), (1, '{1,NULL}', 4), (0, NULL, 5), (0, '{1,2}', NULL);
SELECT (a).n, (a).n_skipped, (a).coef = (b).coef AS same
FROM (SELECT gpu_logreg_fit('TABLE holes') AS a, gpu_logreg_fit('SELECT am, wt, hp, cyl FROM mtcars') AS b) t;
SELECT (a).n, (a).n_skipped FROM (SELECT gpu_logreg_fit('SELECT * FROM holes WHERE random() >= 0') AS a) t;
SET gpureg.device = cpu; SET gpureg.ring_size = '1MB'; SET jit = off;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2; SET max_parallel_workers = 0;
SELECT (a).n, (a).n_skipped FROM (SELECT gpu_logreg_fit('SELECT holes.* FROM holes, one_of_many()') AS a) t;
SELECT reason ~ 'the query was run \d+ times$' AS passes, rows FROM gpu_last_run();
SET max_parallel_workers_per_gather = 0;
SELECT (a).n, (a).n_skipped FROM (SELECT gpu_logreg_fit('SELECT holes.* FROM holes, one_of_many()') AS a) t;
SELECT reason ~ 'the rows went to a temporary file$' AS file, rows FROM gpu_last_run();
RESET ALL;

-- collinear columns: the later one is aliased, as in R; and constant columns
SELECT (m).rank, (m).df_residual, (m).coef[3] IS NULL AS later_is_null,
    relative_difference((m).coef[1:2] || (m).coef[4:4], (w).coef) < 1e-13 AS others, (m).deviance = (w).deviance
    OR abs((m).deviance / (w).deviance - 1) < 1e-14 AS deviance, (m).converged, (m).separated
FROM (SELECT gpu_logreg_fit('SELECT am, wt, 2 * wt + 1 AS wt2, hp FROM mtcars') AS m,
    gpu_logreg_fit('SELECT am, wt, hp FROM mtcars') AS w) t;
SELECT term, estimate IS NULL AS no_estimate, std_error IS NULL AS no_error, p_value IS NULL AS no_p
FROM gpu_tidy(gpu_logreg_fit('SELECT am, 7 AS constant, wt, hp FROM mtcars'));
SELECT (m).rank, (m).coef[2] IS NOT NULL AS estimated
FROM (SELECT gpu_logreg_fit('SELECT am, 7 AS constant, wt - 3 AS wt FROM mtcars', intercept => false) AS m) t;
SELECT gpu_predict(m, 3, 7, 110) = gpu_predict(w, 3, 110)
    OR abs(gpu_predict(m, 3, 7, 110) - gpu_predict(w, 3, 110)) < 1e-14 AS aliased_count_as_0
FROM (SELECT gpu_logreg_fit('SELECT am, wt, 2 * wt + 1 AS wt2, hp FROM mtcars') AS m,
    gpu_logreg_fit('SELECT am, wt, hp FROM mtcars') AS w) t;
-- only constants: the log odds
SELECT (m).coef[2] IS NULL AS aliased, abs((m).coef[1] - ln(13 / 19.0)) < 1e-15 AS log_odds, (m).rank,
    abs((m).deviance / (m).null_deviance - 1) < 1e-15 AS deviance
FROM (SELECT gpu_logreg_fit('SELECT am, 7 FROM mtcars') AS m) t;
-- fewer rows than terms
SELECT (m).n, (m).rank, (m).df_residual, cardinality((m).coef), (m).coef[4:] AS aliased, (m).separated
FROM (SELECT gpu_logreg_fit('VALUES (0, 1, 2, 3, 4, 5), (1, 2, 1, 5, 3, 3), (1, 0, 0, 1, 7, 1)') AS m) t;
-- saturated rows: as many as terms, with both classes at one of them
SELECT (m).n, (m).rank, (m).df_residual, (m).coef[1:2], (m).coef[3] IS NULL AS aliased, (m).separated
FROM (SELECT gpu_logreg_fit('VALUES (0, 1, 1), (1, 1, 1), (0, 2, 2), (1, 2, 2)') AS m) t;

-- any query that reads: a semicolon, a comment, WITH, VALUES, TABLE, a view, names with quotes, two columns of one
-- name; kept, and run for each pass
CREATE TEMP TABLE am_wt AS SELECT am, wt FROM mtcars;
CREATE VIEW pg_temp.am_view AS SELECT am, wt FROM mtcars;
CREATE TEMP TABLE quoted AS SELECT am AS "the ""response""", wt AS "a'b ""c"", d;--" FROM mtcars;
CREATE TEMP TABLE texts (i int, query text);
INSERT INTO texts VALUES (1, 'SELECT am, wt FROM mtcars;'), (2, 'SELECT am, wt FROM mtcars -- a comment'),
    (3, E'SELECT am, wt FROM mtcars /* another; */ ; -- and this\n'), (4, 'TABLE am_wt'),
    (5, '  ;; SELECT am, wt FROM mtcars ; ;'),
    (6, 'WITH t AS (SELECT am, wt FROM mtcars) SELECT * FROM t;'), (7, 'SELECT * FROM am_view'), (8, 'TABLE quoted'),
    (9, 'SELECT am, wt FROM mtcars ORDER BY mpg LIMIT 100'),
    (10, 'SELECT am AS a, wt AS a FROM mtcars'),
    (11, (SELECT 'VALUES ' || string_agg(format('(%s, %s)', am, wt), ', ') FROM mtcars)),
    (12, 'SELECT am, wt FROM mtcars WHERE am = 0 UNION ALL SELECT am, wt FROM mtcars WHERE am = 1');
SELECT i, (m).terms, relative_difference((m).coef, (w).coef) < 1e-13 AS same FROM texts, gpu_logreg_fit(query) m,
    gpu_logreg_fit('SELECT am, wt FROM mtcars') w ORDER BY i;
SET gpureg.device = cpu; SET gpureg.ring_size = '1MB'; SET jit = off;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2; SET max_parallel_workers = 0;
CREATE TABLE runs (i int, terms text[], coef float8[], reason text);
CREATE VIEW public.am_view AS SELECT am, wt FROM mtcars, one_of_many();
CREATE VIEW quoted_view AS SELECT am AS "the ""response""", wt AS "a'b ""c"", d;--" FROM mtcars, one_of_many();
DO $$
DECLARE
    q record;
    m gpu_model;
BEGIN
    FOR q IN SELECT i, replace(replace(replace(query, 'mtcars', 'mtcars, one_of_many()'), 'am_view', 'public.am_view'),
        'TABLE quoted', 'TABLE quoted_view') AS query FROM texts WHERE i NOT IN (4, 9, 11) LOOP
        m := gpu_logreg_fit(q.query);
        INSERT INTO runs SELECT q.i, m.terms, m.coef, r.reason FROM gpu_last_run() r;
    END LOOP;
END
$$;
SELECT i, runs.terms, relative_difference(runs.coef, (w).coef) < 1e-13 AS same,
    reason ~ 'the query was run \d+ times$' AS passes FROM runs, gpu_logreg_fit('SELECT am, wt FROM mtcars') w
ORDER BY i;
RESET ALL;
-- rows of this transaction are seen, also by a query that is run again
BEGIN;
INSERT INTO mtcars (am, wt) VALUES (1, 3), (0, 3);
SELECT (gpu_logreg_fit('SELECT am, wt FROM mtcars')).n;
SET LOCAL gpureg.device = cpu; SET LOCAL gpureg.ring_size = '1MB'; SET LOCAL jit = off;
SET LOCAL parallel_setup_cost = 0; SET LOCAL parallel_tuple_cost = 0; SET LOCAL min_parallel_table_scan_size = 0;
SET LOCAL max_parallel_workers_per_gather = 2; SET LOCAL max_parallel_workers = 0;
SELECT (gpu_logreg_fit('SELECT am, wt FROM mtcars, one_of_many()')).n;
SELECT reason ~ 'the query was run \d+ times$' AS passes FROM gpu_last_run();
ROLLBACK;
-- a NULL argument gives NULL, except for the learning rate
SELECT gpu_logreg_fit(NULL) IS NULL AS query, gpu_logreg_fit('TABLE am_wt', NULL::boolean) IS NULL AS intercept,
    gpu_logreg_fit('TABLE am_wt', l2 => NULL) IS NULL AS l2,
    gpu_logreg_fit('TABLE am_wt', max_iter => NULL) IS NULL AS max_iter,
       gpu_logreg_fit('TABLE am_wt', tol => NULL) IS NULL AS tol,
       gpu_logreg_fit('TABLE am_wt', solver => NULL) IS NULL AS solver,
       gpu_logreg_fit('TABLE am_wt', learning_rate => NULL) IS NOT NULL AS learning_rate;
-- a query may itself fit
SELECT (gpu_logreg_fit('SELECT am, gpu_predict((SELECT gpu_logreg_fit(''TABLE am_wt'')), wt) AS p FROM '
    'mtcars')).converged;

-- If each pass runs the query, or reads a file, a fit to the first rows gives a start. Whatever these rows are like,
-- results must be those of rows in memory. The sets: y depends on the x; sorted by y, with first rows of one class;
-- separated in the first rows only; a column constant in them, or the response inverted; few ones; collinear columns;
-- NULLs; an array; no dependence; separation of the whole
CREATE FUNCTION any_of(i int, j int) RETURNS float8
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT hashint8(i * 8::bigint + j) / 2147483648.0 $$;
CREATE TABLE started AS SELECT i, a, b, c, a - b + c / 2 > u AS y, a - b - 6 > u AS rare, i <= 5000 AS early,
    i > 39990 AS late
FROM (SELECT i, any_of(i, 1) * 3 AS a, any_of(i, 2) * 3 AS b, any_of(i, 3) * 3 AS c,
    ln((1 + any_of(i, 4)) / (1 - any_of(i, 4))) AS u FROM generate_series(1, 40000) i OFFSET 0) t;
CREATE TABLE started_sorted AS SELECT * FROM started ORDER BY y, i;
ANALYZE started; ANALYZE started_sorted;
CREATE TEMP TABLE start_queries (name text, samples boolean, query text, intercept boolean, l2 float8);
INSERT INTO start_queries VALUES ('plain', true, 'SELECT y, a, b, c FROM started', true, 0),
    ('no intercept', true, 'SELECT y, a, b, c FROM started', false, 0),
    ('penalised', true, 'SELECT y, a, b, c FROM started', true, 200),
    ('sorted', false, 'SELECT y, a, b, c FROM started_sorted', true, 0),
    ('first separated', false, 'SELECT CASE WHEN early THEN a > 0 ELSE y END, a, b, c FROM started', true, 0),
    ('first constant', true, 'SELECT y, a, CASE WHEN early THEN 1 ELSE b END, c FROM started', true, 0),
    ('first otherwise', true, 'SELECT y <> early, a, b, c FROM started', true, 0),
    ('rare', true, 'SELECT rare, a, b, c FROM started', true, 0),
    ('collinear', true, 'SELECT y, a, b, a + b AS ab, c FROM started', true, 0),
    ('far off', true, 'SELECT y, a + 100 AS a, b, c * 1e-6 FROM started', true, 0),
    ('array', true, 'SELECT y, ARRAY[a, b, c] FROM started', true, 0),
    ('holes', true, 'SELECT CASE WHEN i % 5 > 0 THEN y END, a, b, nullif(c, 0) FROM started', true, 0),
    ('nothing', true, 'SELECT i * 7 % 5 < 2, a, b, c FROM started', true, 0),
    ('ordered', false, 'SELECT y, a, b, c FROM started ORDER BY c', true, 0),
    ('grouped', false, 'SELECT y, sum(a), sum(b), sum(c) FROM started GROUP BY y, i', true, 0),
    ('partly separated', false, 'SELECT y OR a > 2.5, (a > 2.5)::int AS high, b, c FROM started', true, 0),
    ('wholly separated', false, 'SELECT a > 0, a, b, c FROM started', true, 0),
    ('last separated', true, 'SELECT y OR late, a, b, c, late FROM started', true, 0);
SET client_min_messages = error;
CREATE TEMP TABLE start_fits AS SELECT name, samples, m AS memory, m AS passes, m AS file, '' AS reason,
    '' AS file_reason FROM start_queries, gpu_logreg_fit(query, intercept, l2) m;
SET gpureg.device = cpu; SET gpureg.ring_size = '1MB'; SET jit = off;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SET enable_hashagg = off;
DO $$
DECLARE
    q record;
    m gpu_model;
BEGIN
    FOR q IN SELECT * FROM start_queries LOOP
        SET max_parallel_workers_per_gather = 0;
        --         the scan would read the table for each pass
        SET gpureg.enable_scan = off;
        m := gpu_logreg_fit(q.query, q.intercept, q.l2);
        UPDATE start_fits SET file = m, file_reason = r.reason FROM gpu_last_run() r WHERE name = q.name;
        SET max_parallel_workers_per_gather = 2;
        RESET gpureg.enable_scan;
        --         a hundred passes need no workers of their own
        PERFORM set_config('max_parallel_workers', CASE q.name WHEN 'wholly separated' THEN '0' ELSE '8' END, false);
        m := gpu_logreg_fit(q.query, q.intercept, q.l2);
        UPDATE start_fits SET passes = m, reason = r.reason FROM gpu_last_run() r WHERE name = q.name;
    END LOOP;
END
$$;
RESET ALL;
CREATE FUNCTION same_fit(a gpu_model, b gpu_model) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT ((a).n, (a).n_skipped, (a).rank, (a).df_residual, (a).converged) = ((b).n, (b).n_skipped, (b).rank,
        (b).df_residual, (b).converged) AND (a).separated IS NOT DISTINCT FROM (b).separated
       AND relative_difference(std_errors(a), std_errors(b)) < 1e-13 AND (SELECT abs(g.log_lik / h.log_lik - 1) < 1e-13
           FROM gpu_glance(a) g, gpu_glance(b) h)
       AND relative_difference((SELECT array_agg(estimate) FROM gpu_tidy(a)),
           (SELECT array_agg(estimate) FROM gpu_tidy(b))) < 1e-13
$$;
SELECT name, (memory).n, (memory).n_skipped, (memory).rank, (memory).separated, same_fit(memory, passes) AS passes,
    same_fit(memory, file) AS file,
       (reason ~ 'after a fit to its first \d+ rows the query was run \d+ times$') = samples
           AND reason ~ 'the query was run \d+ times$'
           AND file_reason ~ 'the rows went to a temporary file$' AS said
FROM start_fits WHERE name <> 'wholly separated' ORDER BY name;
SELECT (memory).separated = (passes).separated AND (memory).separated = (file).separated AS separated,
    (passes).deviance = 0 AND (file).deviance = 0 AS no_deviance FROM start_fits WHERE name = 'wholly separated';
-- passes that a start saves, and the cost of a useless one
SELECT name, (passes).iterations < (memory).iterations AS fewer FROM start_fits
WHERE name IN ('plain', 'no intercept', 'penalised', 'rare', 'array', 'holes') ORDER BY name;
SELECT name, substring(reason from '(\d+) times$')::int - (memory).iterations AS runs_more FROM start_fits
WHERE name IN ('sorted', 'first separated', 'first constant', 'first otherwise', 'nothing') ORDER BY name;
DROP FUNCTION same_fit, any_of;
DROP TABLE started, started_sorted;

-- more columns than a function has arguments: 120 numbers, booleans and arrays, kept, in a file, and packed into arrays
-- for the passes
DO $$ BEGIN EXECUTE (
    SELECT 'CREATE TABLE broad AS SELECT (i * 7 + i / 3) % 5 < 2 AS y, '
        || string_agg(CASE WHEN j % 10 = 3 THEN format('i * %s %% 7 < 3 AS c%s', j, j)
        WHEN j % 50 = 17 THEN format('ARRAY[i * %s %% 11, i * %s %% 13] AS c%s', j, j, j)
        WHEN j % 3 = 0 THEN format('(i * %s %% 23)::numeric AS c%s', j, j) ELSE format('sin(i * %s) AS c%s', j, j) END,
        ', ') || ' FROM generate_series(1, 2000) i' FROM generate_series(1, 120) j);
END $$;
CREATE TEMP TABLE broad_fit AS SELECT gpu_logreg_fit('TABLE broad', l2 => 0.5) AS m;
SELECT cardinality((m).terms), (m).terms[17:21], (m).converged, (m).rank FROM broad_fit;
SET gpureg.device = cpu; SET gpureg.ring_size = '1MB'; SET jit = off;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2; SET max_parallel_workers = 0;
SELECT (SELECT max(abs(u - v) / se) < 1e-11 FROM unnest((m).coef, (f).coef, std_errors(m)) AS t(u, v, se)) AS spooled,
    (m).terms = (f).terms AS terms FROM broad_fit, gpu_logreg_fit('SELECT * FROM broad WHERE random() >= 0',
    l2 => 0.5) f;
SELECT (SELECT max(abs(u - v) / se) < 1e-11 FROM unnest((m).coef, (f).coef, std_errors(m)) AS t(u, v, se)) AS passes,
    (m).terms = (f).terms AS terms FROM broad_fit, gpu_logreg_fit('TABLE broad', l2 => 0.5) f;
SELECT reason ~ 'the query was run \d+ times$' AS passes, features FROM gpu_last_run();
-- 510 columns, beyond the arrays' own length
DO $$ BEGIN EXECUTE (
    SELECT 'CREATE VIEW broader AS SELECT y, ' || string_agg(format('(int * %s %% 101)::float4 AS c%s', j, j), ', ')
        || ' FROM logit_kinds' FROM generate_series(1, 510) j);
END $$;
SELECT relative_difference((a).coef, (b).coef) < 1e-5 AS passes, cardinality((b).coef), (b).terms[511]
FROM gpu_logreg_fit('SELECT * FROM broader WHERE random() >= 0', l2 => 50, max_iter => 1, solver => 'gd') a,
    gpu_logreg_fit('SELECT broader.* FROM broader, one_of_many()', l2 => 50, max_iter => 1, solver => 'gd') b;
SELECT reason ~ 'the query was run \d+ times$' AS passes, features FROM gpu_last_run();
RESET ALL;

-- penalised, by Newton's method in 60 digits (scikit-learn's, with C = 1 / l2, agree to the 9 it prints)
SELECT name, min(digits(b, want)) >= 12 AS estimates
FROM (VALUES ('mtcars', gpu_logreg_fit('SELECT am, wt, hp FROM mtcars', l2 => 1),
    ARRAY[5.6773486064317198953, -2.4186728512492549249, 0.0096839133348669393437]),
             ('no intercept', gpu_logreg_fit('SELECT am, wt, hp FROM mtcars', false, 1),
                 ARRAY[-0.70929935339727935035, 0.010260374771996916944]),
             ('collinear', gpu_logreg_fit('SELECT am, wt, 2 * wt AS wt2, hp FROM mtcars', l2 => 1),
                 ARRAY[10.281913256409049539, -0.88514448324996663238, -1.7702889664999332648, 0.01978290787213622417]),
             ('infert', gpu_logreg_fit('SELECT "case", spontaneous, induced FROM infert', l2 => 10),
                 ARRAY[-1.3338546643311555555, 0.82567357211923031436, 0.21710758124815058192]),
             ('breast_cancer_5', gpu_logreg_fit('SELECT y, x0, x1, x4, x5, x8 FROM breast_cancer', l2 => 0.1),
                 ARRAY[21.886578660911394438, -0.97463038319626252325, -0.22635307203008635452, -5.2168144493137687557,
                 -11.933480120145118251, -7.0540504090003594572]),
             ('wine01, separated', gpu_logreg_fit('TABLE wine01', l2 => 1),
                 ARRAY[30.163958228676855266, -1.0225735008796031546, -1.138004625215869039, -0.89159186521979013027,
                 0.28149132447940427417, 0.013928257349034061926, -0.055206496790020947676, -0.50562871670556794565,
              -0.14687843063405669638, 0.15682472944228712749, -0.94291540118603281434, 0.1104721524023120722,
              -0.521114216113193725, -0.016590619705115930009])) AS t(name, m, wants),
              unnest((m).coef, wants) AS u(b, want)
GROUP BY name ORDER BY name;
SELECT name, (m).rank, (m).converged, (m).separated, digits((m).deviance, dev) >= 12 AS deviance,
    (SELECT min(digits(s, want)) >= 12 FROM unnest(std_errors(m), se) AS u(s, want)) AS std_errors
FROM (VALUES ('mtcars', gpu_logreg_fit('SELECT am, wt, hp FROM mtcars', l2 => 1), 18.686641510290697444,
    ARRAY[1.8261161532334484601, 0.67857515489042127008, 0.0073092836433155861573]),
             ('no intercept', gpu_logreg_fit('SELECT am, wt, hp FROM mtcars', false, 1), 37.114980133260409537,
                 ARRAY[0.35662455705651997478, 0.0072146692513310745786]),
             ('collinear', gpu_logreg_fit('SELECT am, wt, 2 * wt AS wt2, hp FROM mtcars', l2 => 1),
                 12.514166907474053715, ARRAY[3.131458239692691763, 0.92704432913646784037, 0.66154724150005709486,
                 0.0096260425337186980129]),
             ('wine01, separated', gpu_logreg_fit('TABLE wine01', l2 => 1), 7.9035725853936715176, NULL)) AS t(name,
             m, dev, se) ORDER BY name;
-- collinear columns share a coefficient
SELECT abs((m).coef[2] / (m).coef[3] - 1) < 1e-12 AS shared
FROM (SELECT gpu_logreg_fit('SELECT am, wt, wt AS again FROM mtcars', l2 => 0.01) AS m) t;
-- AIC and BIC count the effective degrees of freedom, tr(H (H + l2 P)^-1), here in 50 digits; rank and df_residual are
-- those of the terms. The model's method contains l2.
CREATE TEMP TABLE penalised AS SELECT name, m, want_aic, want_bic
FROM (VALUES ('mtcars', gpu_logreg_fit('SELECT am, wt, hp FROM mtcars', l2 => 1), 23.76560617736682319961,
    27.48781660815919129469),
             ('tenth', gpu_logreg_fit('SELECT am, wt, hp FROM mtcars', l2 => 0.1), 16.78720761994245677267,
                 20.83740014917218524493),
             ('no intercept', gpu_logreg_fit('SELECT am, wt, hp FROM mtcars', false, 1), 40.86051388096407944087,
                 43.60549552554272017191),
             ('collinear', gpu_logreg_fit('SELECT am, wt, 2 * wt AS wt2, hp FROM mtcars', l2 => 1),
                 17.91986970424349608184, 21.88153603878842768627),
             ('infert', gpu_logreg_fit('SELECT "case", spontaneous, induced FROM infert', l2 => 10),
                 287.9262589022321446209, 296.536388525416574642),
             ('hardly', gpu_logreg_fit('SELECT am, wt, hp FROM mtcars', l2 => 1e-300), 16.05911047226698911349,
                 20.45631818066616875474),
             ('none', gpu_logreg_fit('SELECT am, wt, hp FROM mtcars', l2 => 0), 16.05911047226698911349,
                 20.45631818066616875474),
             ('two steps', gpu_logreg_solve((SELECT gpu_logreg_step_agg('{5.6773486064317198953, '
                 '-2.4186728512492549249, 0.0096839133348669393437}', am, wt, hp) FROM mtcars), 1),
              23.76560617736682319961, 27.48781660815919129469)) AS t(name, m, want_aic, want_bic);
SET extra_float_digits = 0;
SELECT name, (m).method, rank, df_residual, digits(aic, want_aic) >= 12 AS aic, digits(bic, want_bic) >= 12 AS bic
FROM penalised, gpu_glance(m) ORDER BY name;
RESET extra_float_digits;
-- l2 in its shortest text; other results don't depend on the method's text
SELECT (gpu_logreg_fit('SELECT am, wt, hp FROM mtcars', l2 => l2)).method
FROM unnest('{0.30000000000000004, 1e22, 123456789012345680, 5e-324, 1.7976931348623157e+308}'::float8[]) l2;
SELECT count(std_error) AS errors, bool_and(abs(p_value - gpu_p) < 1e-15) AS z, gpu_predict(m, 3, 100) BETWEEN 0
    AND 1 AS probability, m::text::gpu_model = m AS text_and_back
FROM penalised, LATERAL (SELECT t.*, u.p_value AS gpu_p FROM gpu_tidy(m) t
    JOIN gpu_tidy(ROW('logistic', (m).terms, (m).coef, (m).vcov, (m).n, (m).n_skipped, (m).rank, (m).df_residual,
    (m).deviance, (m).null_deviance, (m).iterations, (m).converged, (m).separated, (m).device, (m).log_lik, (m).family,
    (m).link, (m).theta, (m).dispersion, (m).vcov_type,
        (m).df_inference, (m).design)::gpu_model) u USING (term)) t WHERE name = 'mtcars' GROUP BY m;
-- a term left out by a NULL in beta doesn't count
SELECT (a).method, digits(g.aic, h.aic::numeric) >= 13 AS left_out, g.aic IS NOT NULL AS known, g.rank
FROM (SELECT gpu_logreg_solve(gpu_logreg_step_agg('{1, NULL, 0.01}', am, wt, hp), 0.5) AS a,
    gpu_logreg_solve(gpu_logreg_step_agg('{1, 0.01}', am, hp), 0.5) AS b FROM mtcars) t, gpu_glance(a) g,
    gpu_glance(b) h;
DROP TABLE penalised;
-- without an intercept: R 4.2, glm(case ~ 0 + spontaneous + induced); the model without terms gives every row 1/2
SELECT min(digits(b, want)) >= 12 AS estimates, min(digits((m).deviance, 331.66210243495648239)) >= 13 AS deviance,
    min(digits((m).null_deviance, 343.80100155773289)) >= 13 AS null_deviance, min((m).df_residual) AS df_residual,
    min((m).terms) AS terms
FROM (SELECT gpu_logreg_fit('SELECT "case", spontaneous, induced FROM infert', intercept => false) AS m) t,
    unnest((m).coef, ARRAY[0.24429052313875593252, -0.48193699702785652523]) AS u(b, want);

-- the columns' scale must not matter
CREATE TEMP TABLE scales AS SELECT gpu_logreg_fit('SELECT am, wt, hp FROM mtcars') AS plain,
    gpu_logreg_fit('SELECT am, wt * 1e-6 AS wt, hp * 1e6 AS hp FROM mtcars') AS scaled,
    gpu_logreg_fit('SELECT am, wt * 1e-60 AS wt, hp * 1e60 AS hp FROM mtcars') AS far;
SELECT (scaled).iterations <= (plain).iterations AS iterations,
    relative_difference(ARRAY[(scaled).coef[1], (scaled).coef[2] * 1e-6, (scaled).coef[3] * 1e6],
    (plain).coef) < 1e-12 AS same, abs((scaled).deviance / (plain).deviance - 1) < 1e-13 AS deviance,
       (far).iterations <= (plain).iterations AS far_iterations,
       relative_difference(ARRAY[(far).coef[1], (far).coef[2] * 1e-60, (far).coef[3] * 1e60],
           (plain).coef) < 1e-12 AS far_same, (far).converged FROM scales;
-- the columns' origin must not matter: slopes keep their digits, and the intercept its own
SELECT shift, relative_difference((m).coef[2:3], (plain).coef[2:3]) < tolerance AS slopes,
    abs((m).deviance / (plain).deviance - 1) < tolerance AS deviance,
    relative_difference((std_errors(m))[2:3], (std_errors(plain))[2:3]) < tolerance AS std_errors,
       abs((m).coef[1] + shift * ((plain).coef[2] + (plain).coef[3]) - (plain).coef[1]) < tolerance
           * shift AS intercept, (m).iterations <= (plain).iterations AS iterations, (m).rank
FROM scales, (VALUES (1e3, 1e-12), (1e6, 1e-9), (1e9, 1e-6)) AS s(shift, tolerance),
    gpu_logreg_fit(format('SELECT am, wt + %1$s AS wt, hp + %1$s AS hp FROM mtcars', shift)) m ORDER BY shift;
-- integers plus an offset are exact, and so are the slopes
CREATE TEMP TABLE steps AS SELECT (i * 7 + i / 3) % 5 < 2 AS y, i % 20 AS a, i * i % 13 AS b
FROM generate_series(1, 400) i;
SELECT shift, relative_difference((m).coef[2:3], (p).coef[2:3]) < 1e-12 AS slopes
FROM unnest(ARRAY[0, 1e6, 1e9, -1e12]) shift,
    gpu_logreg_fit(format('SELECT y, a + %1$s AS a, b - %1$s AS b FROM steps', shift)) m,
    gpu_logreg_fit('TABLE steps') p ORDER BY abs(shift);

-- max_iter and tol
SELECT (m).iterations, (m).converged
FROM (SELECT gpu_logreg_fit('SELECT am, wt, hp FROM mtcars', max_iter => 2) AS m) t;
SELECT (loose).iterations < (tight).iterations AS fewer, (loose).converged,
    relative_difference((loose).coef, (tight).coef) < 0.1 AS near
FROM (SELECT gpu_logreg_fit('SELECT am, wt, hp FROM mtcars', tol => 0.1) AS loose,
    gpu_logreg_fit('SELECT am, wt, hp FROM mtcars') AS tight) t;

-- L-BFGS gives Newton's estimates, also without an intercept and with a penalty
SELECT fit, (l).converged, relative_difference((l).coef, (newton).coef) < 1e-8 AS coef,
    abs((l).deviance / (newton).deviance - 1) < 1e-12 AS deviance,
    relative_difference(std_errors(l), std_errors(newton)) < 1e-6 AS std_errors,
    (l).iterations > (newton).iterations AS more_iterations
FROM logit_queries, gpu_logreg_fit(query) newton, gpu_logreg_fit(query, solver => 'lbfgs', max_iter => 5000,
    tol => 1e-12) l ORDER BY fit;
SELECT relative_difference((l).coef, (newton).coef) < 1e-8 AS coef
FROM gpu_logreg_fit('SELECT am, wt, hp FROM mtcars', false, 1) newton,
    gpu_logreg_fit('SELECT am, wt, hp FROM mtcars', false, 1, 1000, 1e-12, 'lbfgs') l;
SELECT (l).rank, (l).converged, abs((l).deviance / (newton).deviance - 1) < 1e-10 AS deviance
FROM gpu_logreg_fit('SELECT am, wt, 2 * wt AS wt2, hp FROM mtcars') newton,
    gpu_logreg_fit('SELECT am, wt, 2 * wt AS wt2, hp FROM mtcars', max_iter => 1000, tol => 1e-9, solver => 'lbfgs') l;
SELECT (a).iterations < (b).iterations AS fewer, (a).converged AND (b).converged AS converged
FROM gpu_logreg_fit('SELECT am, wt, hp FROM mtcars', tol => 0.01, solver => 'lbfgs', max_iter => 1000) a,
    gpu_logreg_fit('SELECT am, wt, hp FROM mtcars', tol => 1e-9, solver => 'lbfgs', max_iter => 1000) b;
SELECT (m).iterations, (m).converged
FROM (SELECT gpu_logreg_fit('SELECT am, wt, hp FROM mtcars', solver => 'lbfgs', max_iter => 3) AS m) t;
-- columns far from 0 and nearly collinear ones: each solver gives the same digits, whether rows are kept, read again or
-- in a file; near the end, steps are those of the columns about their means and of the difference
CREATE TABLE far AS SELECT i, (i * 7919 % 101) < 30 + i % 60 AS y, 1.7e9 + i % 60 AS at, i % 60 AS s, sin(i) AS a,
    sin(i) + round(cos(i * 1.7)::numeric, 3)::float8 / (1 << 24)::float8 AS b,
    round(cos(i * 1.7)::numeric, 3)::float8 AS c FROM generate_series(1, 600) i;
SELECT solver, (m).converged, (m).iterations < 60 AS soon,
    relative_difference((m).coef[2:2], (w).coef[2:2]) < 1e-13 AS slope,
    relative_difference((std_errors(m))[2:2], (std_errors(w))[2:2]) < 1e-13 AS std_error
FROM gpu_logreg_fit('SELECT y, s FROM far') w, unnest(ARRAY['newton', 'gd', 'lbfgs']) solver,
    gpu_logreg_fit('SELECT y, at FROM far', solver => solver, max_iter => 1000) m;
SELECT solver, (m).converged, (m).iterations < 60 AS soon,
    relative_difference((m).coef[3:3], ARRAY[(w).coef[3] * (1 << 24)]) < 1e-6 AS b,
    (m).coef[2] + (m).coef[3] - (w).coef[2] < 1e-6 AS a, abs((m).deviance / (v).deviance - 1) < 1e-14 AS deviance
FROM gpu_logreg_fit('SELECT y, a, c FROM far') w, gpu_logreg_fit('SELECT y, a, b FROM far') v,
    unnest(ARRAY['newton', 'gd', 'lbfgs']) solver, gpu_logreg_fit('SELECT y, a, b FROM far', solver => solver,
    max_iter => 1000) m;
SELECT relative_difference((m).coef, (a).coef) < 1e-13 AS aggregate, relative_difference((m).coef, f) < 1e-13 AS arrays,
    relative_difference((m).coef, (r).coef) < 1e-13 AS file,
    relative_difference(std_errors(m), std_errors(r)) < 1e-13 AS its_std_errors
FROM gpu_logreg_fit('SELECT y, a, b, at FROM far') m, (SELECT gpu_logreg_agg(y, a, b, at) AS a FROM far) a,
    (SELECT gpu_logreg(array_agg(ARRAY[a, b, at]), array_agg(y)) AS f FROM far) f,
    gpu_logreg_fit('SELECT y, a, b, at FROM far WHERE random() >= 0') r;
SET gpureg.device = cpu; SET gpureg.ring_size = '1MB'; SET jit = off;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2; SET max_parallel_workers = 0;
SELECT relative_difference((m).coef, (p).coef) < 1e-13 AS passes,
    relative_difference(std_errors(m), std_errors(p)) < 1e-13 AS std_errors,
    relative_difference((m).coef, (l).coef) < 1e-13 AS lbfgs, relative_difference((m).coef, (f).coef) < 1e-13 AS file
FROM gpu_logreg_fit('SELECT y, a, b, at FROM far') m, gpu_logreg_fit('SELECT y, a, b, at FROM far, one_of_many()') p,
    gpu_logreg_fit('SELECT y, a, b, at FROM far, one_of_many()', solver => 'lbfgs', max_iter => 1000) l,
    gpu_logreg_fit('SELECT y, a, b, at FROM far, one_of_many() WHERE random() >= 0') f;
RESET ALL;
-- a column that equals another up to rounding is collinear, in any units and however far from 0
SELECT (m).rank, (m).coef[4] IS NULL AS sum, (m).coef[5] IS NULL AS fahrenheit, (m).converged
FROM gpu_logreg_fit('SELECT y, a, c, a + c AS sum, a * 1.8 + 32 AS fahrenheit FROM far') m;
SELECT (m).rank, (m).coef[3] IS NULL AS milliseconds, (m).converged
FROM gpu_logreg_fit('SELECT y, at, at * 1000.1 AS milliseconds FROM far') m;
-- the column stays out with the other solvers, too, so that estimates and standard errors are of one model; the classic
-- update moves it, and has no errors
SELECT solver, (m).converged, (m).rank, relative_difference((m).coef[1:3], (w).coef) < 1e-12 AS coef,
    (m).coef[4] IS NULL AS collinear, relative_difference((std_errors(m))[1:3], std_errors(w)) < 1e-12 AS std_errors
FROM gpu_logreg_fit('SELECT y, a, c FROM far') w, unnest(ARRAY['newton', 'gd', 'lbfgs']) solver,
    gpu_logreg_fit('SELECT y, a, c, a + c AS sum FROM far', solver => solver, max_iter => 1000) m;
SELECT (m).rank, (m).coef[4] IS NULL AS collinear, (m).coef[2] + (m).coef[4] - (w).coef[2] < 1e-12 AS shared,
    array_length(array_positions(std_errors(m), NULL), 1) AS unknown
FROM gpu_logreg_fit('SELECT y, a, c FROM far') w, gpu_logreg_fit('SELECT y, a, c, a + c AS sum FROM far',
    solver => 'gd', max_iter => 10000, learning_rate => 0.005) m;
-- advice if a fit doesn't converge: more iterations only if they can help
SELECT (gpu_logreg_fit('SELECT y, a, a + (b - a) / (1 << 20)::float8 AS near FROM far', l2 => 1e-22)).converged;
SELECT (gpu_logreg_fit('SELECT y, s FROM far', solver => 'gd', max_iter => 100, learning_rate => 0.1)).converged;
SELECT (gpu_logreg_fit('SELECT y, s FROM far', solver => 'gd', max_iter => 100, learning_rate => 1e-9)).converged;
SELECT (gpu_logreg_fit('SELECT y, s FROM far', max_iter => 1)).converged;
DROP TABLE far;
-- gradient ascent (its warnings, which contain the number of iterations, were shown above): one iteration is the
-- learning rate times X'(y - 1/2), the second goes on from there
SET client_min_messages = error;
CREATE TABLE z AS SELECT am AS y, (wt - 3.2) / 1 AS wt, (hp - 147) / 70 AS hp FROM mtcars;
SELECT (m).iterations, (m).converged,
    relative_difference((m).coef, (SELECT ARRAY[sum(y - 0.5), sum((y - 0.5) * wt), sum((y - 0.5) * hp)]
    FROM z)) < 1e-13 AS gradient
FROM (SELECT gpu_logreg_fit('TABLE z', solver => 'gd', max_iter => 1, learning_rate => 1) AS m) t;
SELECT relative_difference((m).coef, (SELECT ARRAY[sum((y - 0.5) * wt), sum((y - 0.5) * hp)]
    FROM z)) < 1e-13 AS no_intercept
FROM (SELECT gpu_logreg_fit('TABLE z', false, solver => 'gd', max_iter => 1, learning_rate => 1) AS m) t;
WITH one AS (SELECT 0.01 * sum(y - 0.5) AS a, 0.01 * sum((y - 0.5) * wt) AS b, 0.01 * sum((y - 0.5) * hp) AS c FROM z),
    r AS (SELECT wt, hp, y - 1 / (1 + exp(-(a + b * wt + c * hp))) AS r FROM z, one)
SELECT relative_difference((m).coef, ARRAY[a + 0.01 * sr, b + 0.01 * (srw - 0.5 * b),
    c + 0.01 * (srh - 0.5 * c)]) < 1e-13 AS second_penalised
FROM one, (SELECT sum(r) AS sr, sum(r * wt) AS srw, sum(r * hp) AS srh FROM r) s,
    gpu_logreg_fit('TABLE z', l2 => 0.5, solver => 'gd', max_iter => 2, learning_rate => 0.01) m;
-- many iterations reach the maximum; the default learning rate never diverges
SELECT (g).converged, relative_difference((g).coef, (newton).coef) < 1e-5 AS coef FROM gpu_logreg_fit('TABLE z') newton,
    gpu_logreg_fit('TABLE z', solver => 'gd', max_iter => 100000, tol => 1e-8) g;
SELECT (g).converged, relative_difference((g).coef, (newton).coef) < 1e-5 AS coef FROM gpu_logreg_fit('TABLE z') newton,
    gpu_logreg_fit('TABLE z', solver => 'gd', max_iter => 100000, tol => 1e-8, learning_rate => 0.2) g;
SELECT (g).converged, relative_difference((g).coef, (newton).coef) < 1e-2 AS real_features
FROM gpu_logreg_fit('SELECT y, wt::real, hp::real FROM z') newton,
    gpu_logreg_fit('SELECT y, wt::real, hp::real FROM z', solver => 'gd', max_iter => 100000, tol => 1e-4) g;
SELECT fit, (b).deviance <= (a).deviance + 1e-9 AND (a).deviance < (c).deviance AS falls
FROM logit_queries, gpu_logreg_fit(query, solver => 'gd', max_iter => 100) a,
    gpu_logreg_fit(query, solver => 'gd', max_iter => 1000) b, gpu_logreg_fit(query, solver => 'gd', max_iter => 1) c
ORDER BY fit;
SELECT (a).iterations < (b).iterations AS fewer FROM gpu_logreg_fit('TABLE z', solver => 'gd', max_iter => 100000,
    tol => 0.01) a, gpu_logreg_fit('TABLE z', solver => 'gd', max_iter => 100000, tol => 1e-6) b;
-- gradient ascent over a query that is run for each iteration, and from a temporary file
SET gpureg.device = cpu; SET gpureg.ring_size = '1MB'; SET jit = off;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2; SET max_parallel_workers = 0;
SELECT relative_difference((a).coef, (b).coef) < 1e-12 AS passes,
    relative_difference((a).coef, (c).coef) < 1e-12 AS spooled
FROM gpu_logreg_fit('TABLE z', solver => 'gd', max_iter => 30, learning_rate => 0.1) a,
    gpu_logreg_fit('SELECT z.* FROM z, one_of_many()', solver => 'gd', max_iter => 30, learning_rate => 0.1) b,
    gpu_logreg_fit('SELECT * FROM z WHERE random() >= 0', solver => 'gd', max_iter => 30, learning_rate => 0.1) c;
SELECT relative_difference((a).coef, (b).coef) < 1e-8 AS passes,
    relative_difference((a).coef, (c).coef) < 1e-8 AS spooled
FROM gpu_logreg_fit('TABLE z') a, gpu_logreg_fit('SELECT z.* FROM z, one_of_many()', solver => 'lbfgs',
    max_iter => 1000, tol => 1e-12) b, gpu_logreg_fit('SELECT * FROM z WHERE random() >= 0', solver => 'lbfgs',
    max_iter => 1000, tol => 1e-12) c;
RESET ALL;
SET client_min_messages = warning;
DROP VIEW broader, public.am_view, quoted_view;
DROP TABLE logit_kinds, broad, holes, runs, z;
DROP DOMAIN euros CASCADE;
-- thousands of features: L-BFGS, without covariances. The columns share a mean, which must not slow it down; at the end
-- the penalised score is 0.
CREATE TEMP TABLE thousands AS SELECT i, (i * 7 + i / 3) % 5 < 2 AS y, ARRAY(SELECT 5 + sin(i * i * j + j * j)
    FROM generate_series(1, 2010) j) AS x FROM generate_series(1, 300) i;
CREATE TEMP TABLE thousands_fit AS SELECT gpu_logreg_fit('SELECT y, x FROM thousands', l2 => 50, solver => 'lbfgs',
    max_iter => 300) AS m;
SELECT (m).converged, (m).iterations < 100 AS quick, (m).vcov IS NULL AS no_covariances, (m).rank, cardinality((m).coef)
FROM thousands_fit;
CREATE TEMP TABLE thousands_left AS SELECT x, y::int - gpu_predict(m, VARIADIC x) AS r FROM thousands, thousands_fit;
SELECT abs(sum(r)) < 1e-7 AS intercept FROM thousands_left;
SELECT max(abs(g - 50 * b)) < 1e-7 AS slopes
FROM (SELECT j, sum(r * v) AS g FROM thousands_left, unnest(x) WITH ORDINALITY AS u(v, j) GROUP BY j) s
JOIN unnest((SELECT (m).coef FROM thousands_fit)) WITH ORDINALITY AS c(b, k) ON k = j + 1;
-- without covariances there are no effective degrees of freedom
SELECT rank, df_residual, deviance > 0 AS deviance, aic, bic FROM thousands_fit, gpu_glance(m);
SELECT count(*), count(estimate), count(std_error), count(p_value) FROM thousands_fit, gpu_tidy(m);
-- more array columns than a function has arguments: no pass can be planned, so the rows go to a temporary file
CREATE TABLE many_arrays AS SELECT i, (i * 7 + i / 3) % 5 < 2 AS y FROM generate_series(1, 3000) i;
ANALYZE many_arrays;
SET gpureg.device = cpu; SET gpureg.ring_size = '1MB';
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SELECT (gpu_logreg_fit(format('SELECT y, %s FROM many_arrays', string_agg(format('ARRAY[cos(i * %s)] AS c%1$s', j),
    ', ')))).n FROM generate_series(1, 110) j;
SELECT reason, rows, features FROM gpu_last_run();
RESET gpureg.device; RESET gpureg.ring_size;
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather;
DROP TABLE many_arrays;

-- the response alone, with each solver: the log odds of the share of ones, and their variance
CREATE TABLE coins AS SELECT sin(i) > 0.3 AS heads FROM generate_series(1, 1000) i;
SELECT solver, terms, abs(coef[1] - ln(p / (1 - p))) < 1e-15 AS log_odds,
    abs(vcov[1][1] * 1000 * p * (1 - p) - 1) < 1e-14 AS variance,
    abs(deviance / null_deviance - 1) < 1e-15 AS deviance, converged
FROM (SELECT avg(heads::int)::float8 AS p FROM coins) s, unnest('{newton,lbfgs,gd}'::text[]) solver,
    gpu_logreg_fit('SELECT heads FROM coins', solver => solver);
SELECT gpu_logreg_fit('SELECT heads FROM coins', intercept => false);
SELECT gpu_logreg_fit('SELECT true FROM coins');
DROP TABLE coins;
