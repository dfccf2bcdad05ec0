-- Writes the golden files in test/data/golden: states, models, projections and hashes of this version, which every
-- later one must read. test/t/026_upgrade.pl reads them, and runs this file again to find results that depend on the
-- machine. To make them, in an empty database, with :dir a directory:
--
--     CREATE EXTENSION gpureg;
--     psql -X -v ON_ERROR_STOP=1 -v dir=test/data/golden -f test/data/golden.sql
--
-- Files of a released version are never changed: a later version that writes other values gets files of its own.
-- The rows are made of integers alone, so that they don't depend on a library.
SET client_min_messages = error;
SET gpureg.device = cpu;

CREATE TABLE golden_rows AS
    SELECT i, (i * 7 + i / 3) % 11 - 3 + i / 8.0 AS y, (i * 7 + i / 3) % 5 < 2 AS won, i % 4 + i % 3 AS calls,
        (i % 7)::float8 AS a, (i * i % 13 / 7.0)::float8 AS b, 1 + i % 3 AS w, i % 6 AS g,
        chr(97 + i % 3) AS kind, (1 + i % 9) / 10.0 AS share, i % 7 + i % 5 / 3.0 AS endo
    FROM generate_series(1, 60) i;

-- States. Version 1 is read but no longer written, so its texts are given here.
CREATE TABLE golden_stats (name text PRIMARY KEY, s gpu_ols_stats);
INSERT INTO golden_stats
    SELECT 'plain', gpu_ols_stats_agg(y, a, b) FROM golden_rows UNION ALL
    SELECT 'of booleans', gpu_ols_stats_agg(won, a, b) FROM golden_rows UNION ALL
    SELECT 'far from zero', gpu_ols_stats_agg(1e9 + i, 1e10 - i / 7.0, 3, i) FROM golden_rows UNION ALL
    SELECT 'huge and tiny', gpu_ols_stats_agg(i * 1e100, 1e-50 / i) FROM golden_rows UNION ALL
    SELECT 'rows left out', gpu_ols_stats_agg(nullif(i, 3), nullif(i, 9)) FROM golden_rows UNION ALL
    SELECT 'one row', gpu_ols_stats_agg(y, a, b) FROM golden_rows WHERE i = 1 UNION ALL
    SELECT 'all left out', gpu_ols_stats_agg(NULL::float8, a) FROM golden_rows UNION ALL
    SELECT 'named', gpu_ols_named(gpu_ols_stats_agg(y, a, b), ARRAY['sales', 'price', 'größe, "in\m²']) FROM golden_rows;
INSERT INTO golden_stats
    SELECT 'weighted', gpu_wls_stats_agg(w, y, a, b) FROM golden_rows UNION ALL
    SELECT 'weighted, powers of two', gpu_wls_stats_agg(1 << (i % 3), y, a, b) FROM golden_rows UNION ALL
    SELECT 'weighted, named', gpu_ols_named(gpu_wls_stats_agg(w / 7.0, y, a, b), '{sales,price,size}')
    FROM golden_rows;
INSERT INTO golden_stats
    SELECT 'part ' || g, gpu_ols_stats_agg(y, a, b) FROM golden_rows GROUP BY g;
INSERT INTO golden_stats VALUES
    ('version 1', '{"version":1,"features":1,"rows":3,"skipped":2,"gram":[3,0,6,0,14,0,8.5,0,19,0,26.25,0]}'),
    ('version 1, no rows', '{"version":1,"features":-1,"rows":0,"skipped":4,"gram":[]}');

CREATE TABLE golden_steps (name text PRIMARY KEY, s gpu_logreg_step);
INSERT INTO golden_steps
    SELECT 'first', gpu_logreg_step_agg('{}', won, a, b) FROM golden_rows UNION ALL
    SELECT 'of numbers', gpu_logreg_step_agg('{0.25,-0.5,0.125}', won::int, a, b) FROM golden_rows UNION ALL
    SELECT 'a fixed feature', gpu_logreg_step_agg('{-0.1,0.3,NULL,0}', won, a, b, 1) FROM golden_rows UNION ALL
    SELECT 'rows left out', gpu_logreg_step_agg('{}', nullif(i % 3, 2), a) FROM golden_rows UNION ALL
    SELECT 'all left out', gpu_logreg_step_agg('{}', NULL::boolean, a) FROM golden_rows UNION ALL
    SELECT 'poisson', gpu_glm_step_agg('poisson', NULL, '{0.5,0.01,-0.01}', calls, a, b) FROM golden_rows UNION ALL
    SELECT 'gamma', gpu_glm_step_agg('gamma', 'inverse', '{}', calls + 0.5, a, b) FROM golden_rows UNION ALL
    SELECT 'gamma, log', gpu_glm_step_agg('gamma', 'log', '{}', calls + 0.5, a) FROM golden_rows UNION ALL
    SELECT 'probit', gpu_glm_step_agg('binomial', 'probit', '{0,0.1,-0.1}', won, a, b) FROM golden_rows UNION ALL
    SELECT 'cloglog', gpu_glm_step_agg('binomial', 'cloglog', '{}', won, a, b) FROM golden_rows UNION ALL
    SELECT 'quasibinomial', gpu_glm_step_agg('quasibinomial', NULL, '{}', won, a) FROM golden_rows UNION ALL
    SELECT 'quasipoisson', gpu_glm_step_agg('quasipoisson', 'identity', '{1,1}', calls + 1, a) FROM golden_rows
    UNION ALL
    SELECT 'negative binomial', gpu_glm_step_agg('negative binomial(1.5)', NULL, '{}', calls, a, b) FROM golden_rows;
INSERT INTO golden_steps
    SELECT 'part ' || g, gpu_logreg_step_agg('{0.25,-0.5,0.125}', won::int, a, b) FROM golden_rows GROUP BY g;

-- Models, one of each method, link, and kind of covariances
CREATE TABLE golden_models (name text PRIMARY KEY, m gpu_model);
CREATE FUNCTION pg_temp.rows(columns text) RETURNS text LANGUAGE sql IMMUTABLE
    RETURN format('SELECT %s FROM golden_rows ORDER BY i', columns);
INSERT INTO golden_models VALUES
    ('ols', gpu_ols_fit(pg_temp.rows('y, a, b'))),
    ('ols, no intercept', gpu_ols_fit(pg_temp.rows('y, a, b'), intercept => false)),
    ('ols, collinear', gpu_ols_fit(pg_temp.rows('y, a, b, a - b AS c'))),
    ('ols, formula', gpu_ols_fit(pg_temp.rows('y, a, b, kind'), formula => 'y ~ a * kind + poly(b, 2)')),
    ('ols, odd names', gpu_ols_fit(pg_temp.rows('y, a AS "größe, ""in\m²", b AS "{x}"'))),
    ('wls', gpu_ols_fit(pg_temp.rows('y, a, b, w'), weights => 'w')),
    ('frequencies', gpu_ols_fit(pg_temp.rows('y, a, b, w'), frequencies => 'w')),
    ('HC0', gpu_ols_fit(pg_temp.rows('y, a, b'), vcov => 'HC0')),
    ('HC3', gpu_ols_fit(pg_temp.rows('y, a, b'), vcov => 'HC3')),
    ('CR1', gpu_ols_fit(pg_temp.rows('y, a, b, g'), vcov => 'CR1', clusters => '{g}')),
    ('CR2', gpu_ols_fit(pg_temp.rows('y, a, b, g'), vcov => 'CR2', clusters => '{g}')),
    ('ridge', (SELECT gpu_ols_solve(s, l2 => 0.5) FROM golden_stats WHERE name = 'plain')),
    ('of named columns', (SELECT gpu_ols_solve(s, features => '{price}'::text[]) FROM golden_stats
        WHERE name = 'named')),
    ('instruments', (SELECT gpu_iv_solve(gpu_ols_stats_agg(y, endo, a, b), '{1}'::int[], '{2,3}'::int[])
        FROM golden_rows)),
    ('elastic net', (SELECT gpu_enet_model(s, 0.1, 0.5) FROM golden_stats WHERE name = 'plain')),
    ('logistic', gpu_logreg_fit(pg_temp.rows('won, a, b'))),
    ('logistic, l2', gpu_logreg_fit(pg_temp.rows('won, a, b'), l2 => 0.25)),
    ('logistic, formula', gpu_logreg_fit(pg_temp.rows('won, a, kind'), formula => 'won ~ a + kind')),
    ('logistic, weights', gpu_logreg_fit(pg_temp.rows('won, a, b, w'), weights => 'w')),
    ('logistic, clusters', gpu_logreg_fit(pg_temp.rows('won, a, b, g'), vcov => 'CR1', clusters => '{g}')),
    ('separated', gpu_logreg_fit('SELECT i > 30, i, b FROM golden_rows ORDER BY i')),
    ('firth', gpu_logreg_fit('SELECT i > 30, a, b FROM golden_rows ORDER BY i', firth => true)),
    ('elastic net, logistic', gpu_enet_fit(pg_temp.rows('won, a, b'), lambda => 0.05, family => 'binomial')),
    ('one step', (SELECT gpu_logreg_solve(s) FROM golden_steps WHERE name = 'of numbers')),
    ('probit', gpu_glm_fit(pg_temp.rows('won, a, b'), 'binomial', 'probit')),
    ('cloglog', gpu_glm_fit(pg_temp.rows('won, a, b'), 'binomial', 'cloglog')),
    ('poisson', gpu_glm_fit(pg_temp.rows('calls, a, b'), 'poisson')),
    ('poisson, offsets', gpu_glm_fit(pg_temp.rows('calls, a, b, share'), 'poisson', offsets => 'share')),
    ('quasipoisson', gpu_glm_fit(pg_temp.rows('calls, a, b'), 'quasipoisson')),
    ('quasibinomial', gpu_glm_fit(pg_temp.rows('share, a, b'), 'quasibinomial')),
    ('gamma, log', gpu_glm_fit(pg_temp.rows('calls + 0.5 AS t, a, b'), 'gamma', 'log')),
    ('gamma', gpu_glm_fit(pg_temp.rows('calls + 0.5 AS t, a'), 'gamma')),
    ('gaussian', gpu_glm_fit(pg_temp.rows('y, a, b'), 'gaussian')),
    ('negative binomial', gpu_glm_fit(pg_temp.rows('calls * calls * (i % 2) AS n, a'), 'negative binomial')),
    ('negative binomial, theta', gpu_glm_fit(pg_temp.rows('calls, a, b'), 'negative binomial', theta => 1.5));

-- Projections and hashes: bits that generated columns and indexes hold
CREATE FUNCTION pg_temp.vector(dim int, salt int) RETURNS real[] LANGUAGE sql IMMUTABLE AS $$
    SELECT array_agg((((j + 1) * (j + salt + 3) % 1000003 * 2654435761 % 1000003 - 500001) / 1024.0)::real ORDER BY j)
    FROM generate_series(0::bigint, dim - 1) j
$$;
CREATE TABLE golden_vectors (name text PRIMARY KEY, v real[]);
INSERT INTO golden_vectors
    SELECT format('dense %s, k %s, seed %s, density %s', dim, k, seed, coalesce(p::text, 'NULL')),
        gpu_project(pg_temp.vector(dim, k), k, seed, p)
    FROM unnest(ARRAY[1, 31, 1000]) dim, unnest(ARRAY[1, 16, 33]) k,
        (VALUES (0::bigint), (1), (-1), (9223372036854775807)) seeds(seed),
        (VALUES (NULL::float8), (1), (0.3), (0.01)) densities(p)
    WHERE dim = 31 OR seed = 1 UNION ALL
    SELECT format('dense %s, k 5', dim), gpu_project(pg_temp.vector(dim, 5), 5)
    FROM unnest(ARRAY[65536, 65537, 140000]) dim UNION ALL
    SELECT format('three of %s, density %s', dim, p), gpu_project(ARRAY[pg_temp.vector(dim, 1), pg_temp.vector(dim, 2),
        pg_temp.vector(dim, 3)], 7, 5, p) FROM unnest(ARRAY[10, 500]) dim, unnest(ARRAY[1, 0.2]) p UNION ALL
    SELECT format('sparse, k %s, seed %s, density %s', k, seed, coalesce(p::text, 'NULL')),
        gpu_project_sparse('{7,70,70,5000000000}', '{1.5,-2,0.25,1e-3}', k, seed, p)
    FROM unnest(ARRAY[1, 16, 1000]) k, unnest(ARRAY[0, -9]) seed, (VALUES (NULL::float8), (1), (0.05)) densities(p)
    WHERE k < 1000 OR p = 0.05 UNION ALL
    SELECT 'sparse, dim', gpu_project_sparse('{7,999}', '{1,2}', 16, 3, dim => 1000) UNION ALL
    SELECT 'matrix, column ' || j, gpu_project_sparse(ARRAY[j], '{1}', 40, 42, 0.1)
    FROM unnest(ARRAY[0, 1, 2, 65535, 65536, 4294967295, 4294967296, 1000000007000]) j;
INSERT INTO golden_vectors
    SELECT format('tokens, k %s, seed %s', k, seed), gpu_feature_hash('{red,green,größe,"",red,"a b"}'::text[], k, seed)
    FROM unnest(ARRAY[1, 8, 100]) k, unnest(ARRAY[0, -1, 77]) seed UNION ALL
    SELECT format('object, k %s', k), gpu_feature_hash('{"red": 2, "größe": -0.5, "kind": "a", "flag": true}'::jsonb, k)
    FROM unnest(ARRAY[1, 8, 100]) k UNION ALL
    SELECT format('tokens projected, density %s', p), gpu_feature_hash('{red,green,red}'::text[], 16, 1, p)
    FROM unnest(ARRAY[0.1, 0.5, 1]) p UNION ALL
    SELECT 'object projected', gpu_feature_hash('{"red": 2, "green": 1.5}'::jsonb, 16, 1, 0.3);

\ir golden_results.sql

-- Dumps use the text format, logical replication may use the binary one
\set file :dir /stats.txt
COPY (SELECT * FROM golden_stats ORDER BY name COLLATE "C") TO STDOUT \g :file
\set file :dir /stats.bin
COPY (SELECT * FROM golden_stats ORDER BY name COLLATE "C") TO STDOUT WITH (FORMAT binary) \g :file
\set file :dir /steps.txt
COPY (SELECT * FROM golden_steps ORDER BY name COLLATE "C") TO STDOUT \g :file
\set file :dir /steps.bin
COPY (SELECT * FROM golden_steps ORDER BY name COLLATE "C") TO STDOUT WITH (FORMAT binary) \g :file
\set file :dir /models.txt
COPY (SELECT * FROM golden_models ORDER BY name COLLATE "C") TO STDOUT \g :file
\set file :dir /models.bin
COPY (SELECT * FROM golden_models ORDER BY name COLLATE "C") TO STDOUT WITH (FORMAT binary) \g :file
\set file :dir /vectors.txt
COPY (SELECT * FROM golden_vectors ORDER BY name COLLATE "C") TO STDOUT \g :file
\set file :dir /results.txt
COPY (SELECT * FROM golden_results ORDER BY name COLLATE "C") TO STDOUT \g :file
