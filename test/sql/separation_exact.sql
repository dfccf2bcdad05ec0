-- Separation that the rows' last bits decide: samples on its edge, against exact rational arithmetic
-- (test/data/near_separated_reference.py).
CREATE TABLE near_rows (sample int, verdict int, y int, x float8[]);
\copy near_rows FROM 'test/data/near_separated.csv' WITH (FORMAT csv, HEADER)
SET client_min_messages = error;
CREATE TABLE near_fits AS
SELECT sample, verdict, gpu_logreg_agg(y::float8, VARIADIC x) AS m,
       gpu_logreg_agg(1 - y::float8, VARIADIC x) AS swapped
FROM near_rows GROUP BY sample, verdict;
RESET client_min_messages;
CREATE FUNCTION verdict_of(m gpu_model) RETURNS int LANGUAGE sql AS
    $$ SELECT CASE WHEN (m).separated = '{}' THEN 0 WHEN (m).deviance = 0 THEN 2 ELSE 1 END $$;
SELECT verdict, count(*), count(*) FILTER (WHERE verdict_of(m) = verdict) AS decided,
       count(*) FILTER (WHERE verdict_of(swapped) = verdict) AS swapped
FROM near_fits GROUP BY verdict ORDER BY verdict;
-- the samples by queries
SET client_min_messages = error;
SELECT bool_and(verdict_of(q) = verdict_of(f.m)) AS same
FROM near_fits f, gpu_logreg_fit(format('SELECT y, x FROM near_rows WHERE sample = %s', sample)) q WHERE sample < 60;
RESET client_min_messages;
-- the last two rows overlap by 1e-12: the maximum exists, after more steps than usual
SELECT (m).converged, (m).separated, round((m).coef[2]::numeric, 5) AS slope,
       round((m).deviance::numeric, 9) AS deviance
FROM gpu_logreg_fit('SELECT * FROM (VALUES (0, 1), (0, 2), (0, 3 + 1e-12::float8), (1, 3), (1, 4), (1, 5)) t(y, x)',
                    max_iter => 100) m;
SET client_min_messages = error;
-- rows on the plane are on no side of it, for all decimal fractions and offsets
SELECT o, u, (m).separated, round((m).deviance::numeric, 6) AS deviance
FROM (VALUES (0), (2000), (1e9), (1.7e9)) a(o), (VALUES (0.1), (0.01), (1)) b(u),
     gpu_logreg_fit(format('SELECT (i > 3 OR i = 3 AND j = 1)::int, %s::float8 + %s::float8 * i AS x
                            FROM generate_series(0, 6) i, generate_series(0, 1) j', o, u)) m;
-- counts above 0 must be on the plane
SELECT x, (m).separated FROM (VALUES ('3'), ('3 + 1e-12::float8')) t(x),
     gpu_glm_fit(format('SELECT * FROM (VALUES (2, 3::float8), (1, %s), (0, 4), (0, 5)) t(y, x)', x), 'poisson',
                 max_iter => 100) m;
-- equally many counts above 0 and parameters of the plane: a plane goes through all of them, here with all counts of
-- 0 on one side
SELECT (m).separated, round((m).deviance::numeric, 6) AS deviance
FROM gpu_glm_fit('SELECT * FROM (VALUES (0, 0.801285836229991, 2, 5, 7.949079256378653),
    (1, -0.7804812583212499, 0, 3, -0.2308934960596929), (3, 0.4272825442413435, 2, 1, -7.536660947600304),
    (3, -0.13217008892452076, 0, 2, -1.8245507746089284), (0, -0.016635554512385742, 3, 1, -5.9712660674755025),
    (1, -0.2678499853535852, 0, 0, 6.766831469808501)) t(y, a, b, c, d)', 'poisson') m;
RESET client_min_messages;
DROP TABLE near_rows, near_fits;
DROP FUNCTION verdict_of;
