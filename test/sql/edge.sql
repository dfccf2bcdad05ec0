-- Maxima at the edge of a link's domain, where means are 0: identity and sqrt links with groups of zeros, against
-- maxima in 40 digits (test/data/edge_reference.py).
CREATE TABLE edge_rows (problem int, y int, x float8[]);
\copy edge_rows FROM 'test/data/edge_rows.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE edge_fits (problem int, family text, link text, theta float8, deviance numeric, nedge int, coef numeric[]);
\copy edge_fits FROM 'test/data/edge_fits.csv' WITH (FORMAT csv, HEADER)
SET client_min_messages = error;
CREATE TABLE edge_models AS
SELECT f.*, gpu_glm_fit(format('SELECT y, x FROM edge_rows WHERE problem = %s', problem), family, f.link,
                        theta => f.theta) AS m FROM edge_fits f;
RESET client_min_messages;
-- (one negative binomial likelihood has two maxima, of which the fit finds the lower one)
SELECT family, link, count(*), count(*) FILTER (WHERE nedge > 0) AS at_edge,
       count(*) FILTER (WHERE (m).converged) AS converged,
       count(*) FILTER (WHERE abs((m).deviance - deviance) <= 1e-12 * (1 + deviance)) AS deviance,
       count(*) FILTER (WHERE (SELECT max(abs(a - b)) FROM unnest((m).coef, coef) u(a, b)) < 1e-9) AS coef,
       count((m).log_lik) AS log_lik FROM edge_models GROUP BY family, link ORDER BY family, link;
-- a group of zeros, in closed form: its mean has no variance, so the other terms have the variance of the intercept
CREATE TABLE edge_groups AS
SELECT * FROM (VALUES ('a', 0), ('a', 0), ('a', 0), ('b', 2), ('b', 4), ('b', 1), ('c', 3), ('c', 5)) t(g, y);
SELECT t.term, round(t.estimate::numeric, 9) AS estimate, round(t.std_error::numeric, 9) AS std_error
FROM gpu_tidy(gpu_glm_fit('SELECT y, (g = ''a'')::int AS a, (g = ''c'')::int AS c FROM edge_groups', 'poisson',
                          'identity')) t;
SELECT round(sqrt(7 / 9.0), 9) AS intercept, round(sqrt(7 / 9.0 + 2), 9) AS c;
SELECT t.term, round(t.estimate::numeric, 9) AS estimate, round(t.std_error::numeric, 9) AS std_error
FROM gpu_tidy(gpu_glm_fit('SELECT y, (g = ''b'')::int AS b, (g = ''c'')::int AS c FROM edge_groups', 'poisson',
                          'identity')) t;
SELECT (m).converged, round((m).log_lik::numeric, 6) AS log_lik, round(t.aic::numeric, 6) AS aic,
       (SELECT bool_and(abs(gpu_predict(m, (g = 'a')::int, (g = 'c')::int) - mean) < 1e-12)
        FROM (SELECT g, avg(y)::float8 AS mean FROM edge_groups GROUP BY g) s) AS predicted
FROM gpu_glm_fit('SELECT y, (g = ''a'')::int AS a, (g = ''c'')::int AS c FROM edge_groups', 'poisson', 'identity',
                 vcov => 'HC0') m, gpu_glance(m) t;
-- groups given by indicators, and the square-root link: a mean of 0 leaves the other groups' standard errors at 1 /
-- sqrt(4 n), whether the fit is perfect or not
CREATE TABLE edge_roots (y int, g text, perfect boolean);
INSERT INTO edge_roots VALUES (0, 'a', false), (0, 'a', false), (0, 'a', false), (0, 'a', false), (0, 'b', false),
    (0, 'b', false), (3, 'b', false), (0, 'b', false), (1, 'b', false), (4, 'b', false), (0, 'c', false), (2, 'c', false),
    (0, 'a', true), (0, 'a', true), (4, 'b', true), (4, 'b', true), (4, 'b', true), (1, 'c', true);
SELECT perfect, t.term, round(t.estimate::numeric, 12) AS estimate, round(t.std_error::numeric, 12) AS std_error,
       round(sqrt((SELECT avg(y) FROM edge_roots r WHERE r.perfect = p.perfect AND r.g = t.term)), 12) AS expected,
       round(0.5 / sqrt((SELECT sum(1) FROM edge_roots r WHERE r.perfect = p.perfect AND r.g = t.term))::numeric, 12)
           AS expected_error
FROM (VALUES (false), (true)) p(perfect),
     gpu_tidy(gpu_glm_fit(format('SELECT y, (g = ''b'')::int AS b, (g = ''c'')::int AS c FROM edge_roots
                                  WHERE perfect = %L', perfect), 'poisson', 'sqrt')) t;
-- Newton's steps without an intercept end next to the edge, from which steps are short
SELECT (m).converged, (m).deviance < 1e-20 AS perfect,
       round((gpu_predict(m, 1, 8.45338::float4))::numeric, 12) AS none,
       round((gpu_predict(m, 1, -3.2435596::float4))::numeric, 12) AS three
FROM gpu_glm_fit('SELECT * FROM (VALUES (0, 1, 8.45338::float4), (3, 1, -3.2435596::float4)) t(y, a, b)', 'poisson', 'sqrt',
                 intercept => false) m;
-- frequencies, weights and offsets, kept in memory or read again
SET client_min_messages = error;
SELECT o, max(abs(a - b)) < 1e-10 AS same, max(d) < 1e-10 AS deviance
FROM (VALUES (NULL), ('o')) v(o),
     LATERAL (SELECT gpu_glm_fit(format('SELECT y, x, f, %s FROM (SELECT y, x[1] AS x, 1 + problem %% 2 AS f, 0.25 AS o
                                         FROM edge_rows WHERE problem IN (SELECT problem FROM edge_fits
                                         WHERE cardinality(coef) = 2)) t WHERE x > 0', coalesce(o, '1 AS unused')),
                                 'poisson', 'identity', offsets => o, frequencies => 'f',
                                 formula => 'y ~ x') AS m) s,
     LATERAL (SELECT gpu_glm_fit(format('SELECT y, x, %s FROM (SELECT y, x[1] AS x, 0.25 AS o
                                         FROM edge_rows, generate_series(0, problem %% 2)
                                         WHERE problem IN (SELECT problem FROM edge_fits
                                         WHERE cardinality(coef) = 2)) t WHERE x > 0 AND random() >= 0',
                                        coalesce(o, '1 AS unused')), 'poisson', 'identity', offsets => o,
                                 formula => 'y ~ x') AS n) s2,
     unnest((m).coef, (n).coef) u(a, b), LATERAL (SELECT abs((m).deviance - (n).deviance) AS d) s3
GROUP BY o ORDER BY o;
RESET client_min_messages;
DROP TABLE edge_rows, edge_fits, edge_models, edge_groups, edge_roots;
