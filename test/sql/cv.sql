-- Cross-validation against values of 80 digits, with each fold's fit computed anew from its training rows alone:
-- test/data/cv_reference.py.
\set VERBOSITY default
CREATE TABLE cv_fits (fit text, fold bigint, n_train bigint, n_test bigint, coef numeric[], error numeric,
    std_error numeric, misclassified numeric);
\copy cv_fits FROM 'test/data/cv_fits.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE boot_rows (id int, big bigint, name text, number numeric, token uuid, day date, instant timestamp,
    firm text, level text, y float8, x1 float8, x2 float8, far float8, z int, w int);
\copy boot_rows FROM 'test/data/boot_rows.csv' WITH (FORMAT csv, HEADER)
CREATE VIEW cv_rows AS SELECT *, (id * id) % 5 - 1 AS fold FROM boot_rows;
CREATE TABLE cv_cases (fit text, key text, seed bigint, folds int, formula text, weights text, l2 float8,
    fold text);
INSERT INTO cv_cases VALUES ('column', NULL, 0, 10, 'y ~ x1 + x2', NULL, 0, 'fold'),
    ('id', 'id', 3, 5, 'y ~ x1 + x2', NULL, 0, NULL), ('big', 'big', -7, 10, 'y ~ x1 + x2', NULL, 0, NULL),
    ('name', 'name', 1099511627779, 4, 'y ~ x1 + x2', NULL, 0, NULL),
    ('firm', 'firm', 1, 3, 'y ~ x1 + x2', NULL, 0, NULL), ('weights', 'id', 3, 5, 'y ~ x1 + x2', 'w', 0, NULL),
    ('no intercept', 'id', 4, 5, 'y ~ x1 + x2 - 1', NULL, 0, NULL),
    ('ridge', 'id', 5, 5, 'y ~ x1 + x2', NULL, 2.5, NULL), ('far', 'id', 6, 5, 'y ~ far + x1', NULL, 0, NULL),
    ('logistic column', NULL, 0, 10, 'z ~ x1 + x2', NULL, 0, 'fold'),
    ('logistic id', 'id', 3, 10, 'z ~ x1 + x2', NULL, 0, NULL),
    ('logistic firm', 'firm', 1, 3, 'z ~ x1 + x2', NULL, 0, NULL),
    ('logistic weights', 'name', 8, 4, 'z ~ x1 + x2', 'w', 0, NULL),
    ('logistic no intercept', 'id', 9, 5, 'z ~ x1 + x2 - 1', NULL, 0, NULL),
    ('logistic ridge', 'id', 10, 5, 'z ~ x1 + x2', NULL, 2.5, NULL),
    ('logistic far', 'id', 6, 5, 'z ~ far + x1', NULL, 0, NULL);
-- also_from: text behind the query's table
CREATE FUNCTION cv(c cv_cases, also_from text DEFAULT '')
RETURNS TABLE (fold bigint, n_train bigint, n_test bigint, coef float8[], error float8, std_error float8,
    misclassified float8) LANGUAGE plpgsql AS $$
DECLARE
    query text := 'SELECT * FROM cv_rows' || also_from;
BEGIN
    IF c.fit LIKE 'logistic%' THEN
        RETURN QUERY SELECT v.fold, v.n_train, v.n_test, v.coef, v.deviance, v.deviance_error, v.misclassified
            FROM gpu_logreg_cv(query, c.folds, c.fold, c.key, c.seed, formula => c.formula, weights => c.weights,
                l2 => c.l2) v;
    ELSE
        RETURN QUERY SELECT v.fold, v.n_train, v.n_test, v.coef, v.mse, v.mse_error, NULL::float8
            FROM gpu_ols_cv(query, c.folds, c.fold, c.key, c.seed, formula => c.formula, weights => c.weights,
                l2 => c.l2) v;
    END IF;
END $$;
CREATE TABLE cv_got (way text, fit text, fold bigint, n_train bigint, n_test bigint, coef float8[], error float8,
    std_error float8, misclassified float8);
INSERT INTO cv_got SELECT 'memory', c.fit, v.* FROM cv_cases c, cv(c) v;
SELECT function, rows, features, reason ~ '; 5 folds, \d+ passes over one each$' AS passes,
       kernel_seconds BETWEEN 0 AND total_seconds AS seconds FROM gpu_last_run();
-- workers; the rows in a temporary file, because they have no room or the query is volatile; the rows through a ring
SET jit = off; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
INSERT INTO cv_got SELECT 'workers', c.fit, v.* FROM cv_cases c, cv(c) v;
RESET ALL;
SET gpureg.device = cpu;
INSERT INTO cv_got SELECT 'volatile', c.fit, v.* FROM cv_cases c, cv(c, ' WHERE random() < 2') v;
SELECT reason LIKE '%; the rows went to a temporary file' AS in_file FROM gpu_last_run();
SET gpureg.ring_size = '1MB';
INSERT INTO cv_got SELECT 'file', c.fit, v.* FROM cv_cases c, cv(c, ', one_of_many()') v;
SELECT reason LIKE '%; the rows went to a temporary file' AS in_file FROM gpu_last_run();
RESET ALL;
SET gpureg.debug_ring = on;
INSERT INTO cv_got SELECT 'ring', c.fit, v.* FROM cv_cases c, cv(c) v;
RESET ALL;
-- Coefficients, errors and standard errors have 11 digits, and the counts of rows and of misclassified rows are right.
SELECT way, count(*) AS n, count(DISTINCT g.fit) AS fits,
    bool_and((g.n_train, g.n_test) = (w.n_train, w.n_test)) AS rows,
    bool_and((SELECT bool_and(digits(a, b) > 11) FROM unnest(g.coef, w.coef) c(a, b))) AS coef,
    bool_and(digits(g.error, w.error) > 11) AS error,
    bool_and(digits(g.std_error, w.std_error) > 11) FILTER (WHERE g.fold IS NULL) AS std_error,
    bool_and(abs(g.misclassified - w.misclassified) < 1e-14) AS misclassified,
    bool_and((g.misclassified IS NULL) = (w.misclassified IS NULL) AND (g.std_error IS NULL) = (w.std_error IS NULL))
    AS nulls
FROM cv_got g JOIN cv_fits w ON g.fit = w.fit AND g.fold IS NOT DISTINCT FROM w.fold
GROUP BY way ORDER BY way COLLATE "C";
SELECT count(*) AS missing FROM cv_fits w WHERE NOT EXISTS (SELECT FROM cv_got g WHERE way = 'memory' AND
    g.fit = w.fit AND g.fold IS NOT DISTINCT FROM w.fold);
-- the folds are gpu_cv_fold's
SELECT bool_and(n = n_test) AS same FROM (SELECT gpu_cv_fold(id, 5, 3) AS fold, count(*) AS n FROM cv_rows GROUP BY 1) f
FULL JOIN (SELECT * FROM cv_got WHERE way = 'memory' AND fit = 'id' AND fold IS NOT NULL) g USING (fold);
SELECT gpu_cv_fold(7::smallint, 9) = gpu_cv_fold(7::numeric, 9) AS number, gpu_cv_fold('a'::text, 3, 5) BETWEEN 1 AND 3
    AS text, gpu_cv_fold(NULL::int, 3) IS NULL AS none;
-- terms, one of which is aliased in the fold that lacks a level: it adds nothing there
SELECT fold, terms, (coef[3] IS NULL) AS aliased, mse > 0 AS error FROM gpu_ols_cv(
    'SELECT y, x1, (i = 3)::int AS only, i % 2 AS fold FROM (SELECT i, sin(i) AS y, cos(i) AS x1 FROM '
    'generate_series(1, 20) i) t', fold => 'fold');
-- the error of that fold is that of a fit without the term
SELECT abs(a.mse / b.mse - 1) < 1e-14 AS linear, abs(c.deviance / d.deviance - 1) < 1e-12 AS logistic
FROM (SELECT 'SELECT sin(i) AS y, cos(i) AS x1, i % 2 AS fold FROM generate_series(1, 20) i' AS q,
             'SELECT sin(i) AS y, cos(i) AS x1, (i = 3)::int AS only, i % 2 AS fold FROM generate_series(1, 20) i'
                 AS r) t,
     gpu_ols_cv(r, fold => 'fold') a, gpu_ols_cv(q, fold => 'fold') b,
     gpu_logreg_cv(replace(r, 'sin(i)', 'sin(i) > 0.1'), fold => 'fold') c,
     gpu_logreg_cv(replace(q, 'sin(i)', 'sin(i) > 0.1'), fold => 'fold') d
WHERE a.fold = 1 AND b.fold = 1 AND c.fold = 1 AND d.fold = 1;
-- a fold whose fit is separated has no estimate and no error
SELECT fold, n_test, converged, coef[2] IS NULL AS none, deviance IS NULL AS no_deviance, misclassified IS NULL AS
    no_share FROM gpu_logreg_cv('SELECT i % 20 > 9 AND i <> 32 AS z, i % 20 AS x, i / 20 AS fold FROM '
    'generate_series(0, 59) i', fold => 'fold');
-- rows without a key, and rows of weight 0, are left out wherever they are
SELECT fold, n_train, n_test FROM gpu_ols_cv('SELECT y, x1, nullif(fold, -1) AS fold FROM cv_rows', fold => 'fold');
SELECT fold, n_train, n_test FROM gpu_logreg_cv('SELECT z, x1, nullif(fold, -1) AS fold FROM cv_rows', fold => 'fold');
SELECT fold, n_train, n_test FROM gpu_ols_cv('SELECT y, x1, fold, (fold <> 0)::int AS w FROM cv_rows', fold => 'fold',
    weights => 'w');
SELECT fold, n_train, n_test FROM gpu_logreg_cv('SELECT z, x1, fold, (fold <> 0)::int AS w FROM cv_rows',
    fold => 'fold', weights => 'w');
-- folds of any integers, and booleans
SELECT fold, n_test FROM gpu_logreg_cv('SELECT z, x1, fold * 1000000007 - 5 AS f FROM cv_rows', fold => 'f');
SELECT fold, n_test FROM gpu_logreg_cv('SELECT z, x1, id % 2 = 0 AS f FROM cv_rows', fold => 'f');

-- Errors, each with its SQLSTATE
SELECT * FROM gpu_ols_cv();
SELECT * FROM gpu_ols_cv('SELECT y, x1 FROM cv_rows');
SELECT * FROM gpu_logreg_cv('SELECT z, x1, id FROM cv_rows', key => 'id', fold => 'fold');
SELECT * FROM gpu_ols_cv('SELECT y, x1 FROM cv_rows', key => 'id');
SELECT * FROM gpu_ols_cv('SELECT y, x1, id FROM cv_rows', 1, key => 'id');
SELECT * FROM gpu_ols_cv('SELECT y, x1, id FROM cv_rows', 101, key => 'id');
SELECT * FROM gpu_ols_cv('SELECT y, x1, id FROM cv_rows', NULL, key => 'id');
SELECT * FROM gpu_ols_cv('SELECT y, x1, id FROM cv_rows', key => 'id', l2 => -1);
SELECT * FROM gpu_ols_cv('SELECT y, x1, name FROM cv_rows', fold => 'name');
SELECT * FROM gpu_logreg_cv('SELECT z, x1, x2 FROM cv_rows', fold => 'x2');
SELECT * FROM gpu_ols_cv('SELECT y, x1, id FROM cv_rows', fold => 'id', rows => 'x1 > 0');
SELECT * FROM gpu_ols_cv('SELECT y, x1, 7 AS fold FROM cv_rows', fold => 'fold');
SELECT * FROM gpu_logreg_cv('SELECT z, x1, 7 AS fold FROM cv_rows', fold => 'fold');
SELECT * FROM gpu_ols_cv('SELECT y, x1, id FROM cv_rows WHERE id = 3', key => 'id');
SELECT * FROM gpu_ols_cv('SELECT y, x1, id FROM cv_rows WHERE false', key => 'id');
SELECT * FROM gpu_logreg_cv('SELECT z, x1, id FROM cv_rows WHERE false', key => 'id');
SELECT * FROM gpu_ols_cv('SELECT i AS y, i % 3 AS x1, i FROM generate_series(1, 300) i', fold => 'i');
SELECT * FROM gpu_logreg_cv('SELECT i % 2 AS y, i % 3 AS x1, i FROM generate_series(1, 300) i', fold => 'i');
SELECT * FROM gpu_logreg_cv('SELECT (i % 9 = 0)::int AS y, i % 7 AS x1, (i % 9 = 0)::int AS fold FROM '
    'generate_series(1, 300) i', fold => 'fold');
SELECT * FROM gpu_logreg_cv('SELECT 2 AS y, i % 7 AS x1, i FROM generate_series(1, 300) i', key => 'i');
SELECT * FROM gpu_ols_cv('SELECT y, CASE WHEN id = 3 THEN ''NaN'' ELSE x1 END AS x1, id FROM cv_rows', key => 'id');
SELECT gpu_cv_fold(1, 0), gpu_cv_fold(1, 2);
SELECT gpu_cv_fold('(1,2)'::point, 3);
DROP TABLE cv_fits, cv_got;
DROP FUNCTION cv;
DROP TABLE cv_cases;
DROP VIEW cv_rows;
DROP TABLE boot_rows;
