-- Negative binomial fits of sparse counts and of small samples against maxima in 50 digits of both the coefficients and
-- theta: test/data/negbin_fits_reference.py, which makes the same rows.
CREATE TABLE negbin_fits (set int, theta float8, theta_error float8, log_lik float8, coef float8[], std_error float8[]);
\copy negbin_fits FROM 'test/data/negbin_fits.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE nbsmall (rid float8, y float8, x float8);
\copy nbsmall FROM 'test/data/nbsmall.csv' WITH (FORMAT csv, HEADER)
CREATE FUNCTION negbin_draw(s bigint, i bigint, k bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT (c # (c >> 13)) >> 4
    FROM (SELECT (s * 7919 + i * 104729 + k * 15485863) * 2654435761 % 4294967296 AS a) t,
         LATERAL (SELECT (a # (a >> 15)) * 1103515245 % 4294967296 AS c) u
$$;
CREATE TABLE negbin_draws AS
SELECT s, i, negbin_draw(s, i, 0) AS u0, negbin_draw(s, i, 1) AS u1, negbin_draw(s, i, 2) AS u2,
       negbin_draw(s, i, 3) AS u3, negbin_draw(s, i, 4) AS u4
FROM generate_series(1, 160) s, generate_series(1, CASE WHEN s <= 60 THEN 240 ELSE 10 + s % 60 END) i;
CREATE TABLE negbin_sets AS
SELECT s, CASE WHEN u2 % 1000 >= 45 + u0 % 41 - 20 + 20 * (u1 % 2) THEN 0 WHEN u4 % 4 > 0 THEN 1 + u3 % 8
          ELSE u3 % 500 END AS y, ARRAY[u0 % 41 - 20, u1 % 2] AS x
FROM negbin_draws WHERE s <= 60
UNION ALL
SELECT s, (1 + u0 % 4) * (1 + s % 5) * 100 * CASE s % 3 WHEN 0 THEN 70 + u2 % 60
          WHEN 1 THEN u2 % 100 * (u3 % 100) / 25 ELSE CASE WHEN u2 % 10 = 0 THEN 800 ELSE 30 END END / 10000,
       ARRAY[u0 % 4, u1 % 3] FROM negbin_draws WHERE s > 60
UNION ALL SELECT 0, y, ARRAY[x] FROM nbsmall;
-- the largest difference, relative to the larger of each number and 1/1000
CREATE FUNCTION negbin_error(a float8[], b float8[]) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$
    SELECT max(abs(a - b) / greatest(abs(b), 1e-3)) FROM unnest(a, b) u (a, b)
$$;
SET client_min_messages = error;
CREATE TABLE negbin_found AS
SELECT f.*, m FROM negbin_fits f,
     LATERAL (SELECT gpu_glm_fit(format('SELECT y, x FROM negbin_sets WHERE s = %s', f.set), 'negative binomial') AS m
              OFFSET 0) t;
RESET client_min_messages;
CREATE FUNCTION negbin_errors(m gpu_model) RETURNS float8[] LANGUAGE sql IMMUTABLE AS $$
    SELECT array_agg(std_error ORDER BY n) FROM gpu_tidy(m) 
    WITH ORDINALITY t(term, estimate, std_error, z, p, low, high, n)
$$;
-- verdicts on an infinite theta, and all digits: of sparse counts, small samples and nbsmall.csv
SELECT CASE WHEN set = 0 THEN 'nbsmall' WHEN set <= 60 THEN 'sparse' ELSE 'small' END AS sets, count(*),
       bool_and((m).converged) AS converged, count(*) FILTER (WHERE theta = 'Infinity') AS infinite,
       bool_and(((m).theta = 'Infinity') = (theta = 'Infinity')) AS verdict,
       max(abs((m).theta / theta - 1)) FILTER (WHERE theta < 'Infinity') < 1e-11 AS theta,
       max(abs((m).log_lik / log_lik - 1)) < 1e-13 AS log_lik, max(negbin_error((m).coef, coef)) < 1e-11 AS coef,
       max(negbin_error(negbin_errors(m), std_error)) < 1e-10 AS std_error
FROM negbin_found GROUP BY 1 ORDER BY 1;
-- a query that is run for each pass, and weights, offsets and robust covariances
SELECT abs((a).theta / (b).theta - 1) < 1e-11 AS weights, abs((c).theta / (b).theta - 1) < 1e-11 AS offsets,
       abs((d).theta / (b).theta - 1) < 1e-11 AND (d).vcov_type = 'HC3' AS robust
FROM (SELECT gpu_glm_fit('SELECT y, x FROM nbsmall UNION ALL SELECT y, x FROM nbsmall', 'negative binomial') AS b,
             gpu_glm_fit('SELECT y, x, 2 AS w FROM nbsmall', 'negative binomial', frequencies => 'w') AS a,
             gpu_glm_fit('SELECT y, x, 0.5 AS o FROM nbsmall', 'negative binomial', offsets => 'o') AS c,
             gpu_glm_fit('SELECT y, x FROM nbsmall', 'negative binomial', vcov => 'HC3') AS d) t;
-- a pass with observed weights requires the negative binomial family with the log link
CREATE FUNCTION negbin_observed(family int, link int, theta float8) RETURNS gpu_logreg_step LANGUAGE sql AS $$
    SELECT format('{"version":1,"features":1,"skipped":0,"pass":0,"roles":112,"family":%s,"link":%s,"faces":0,'
        '"changed":0,"rows":0,"workers":0,"relative":[0],"theta":[%s],"request":[0,0,0,0,0,0],"sums":[%s]}',
                  family, link, theta, array_to_string(array_fill(0, ARRAY[35]), ','))::gpu_logreg_step
$$;
SELECT negbin_observed(4, 4, 2) IS NOT NULL AS pass;
SELECT negbin_observed(4, 5, 2);
\echo :LAST_ERROR_SQLSTATE
SELECT negbin_observed(2, 4, 0);
\echo :LAST_ERROR_SQLSTATE
