-- Covariances robust to heteroscedasticity and to clusters against fits in 60 digits:
-- test/data/covariance_reference.py.
CREATE TABLE covariance_rows (i serial, dataset text, y float8, weight float8, frequency float8, base float8,
    cluster1 int, cluster2 int, x float8[]);
\copy covariance_rows (dataset, y, weight, frequency, base, cluster1, cluster2, x) FROM 'test/data/covariance_rows.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE covariance_fits (dataset text, family text, link text, vcov text, clusters text, i int, j int,
    value numeric);
\copy covariance_fits FROM 'test/data/covariance_fits.csv' WITH (FORMAT csv, HEADER)
ANALYZE covariance_rows;
CREATE TABLE covariance_cases AS
SELECT row_number() OVER (ORDER BY dataset COLLATE "C", vcov COLLATE "C", clusters COLLATE "C") AS id, f.*, r.weights,
    r.frequencies, r.offsets
FROM (SELECT dataset, family, link, vcov, coalesce(clusters, '') AS clusters, min(i) = 0 AS intercept
    FROM covariance_fits
      GROUP BY dataset, family, link, vcov, clusters) f
JOIN (SELECT dataset, CASE WHEN count(weight) > 0 THEN 'weight' END AS weights,
             CASE WHEN count(frequency) > 0 THEN 'frequency' END AS frequencies,
             CASE WHEN count(base) > 0 THEN 'base' END AS offsets
      FROM covariance_rows GROUP BY dataset) r USING (dataset);
SELECT vcov, count(*) AS fits, count(DISTINCT family) AS families, count(weights) AS weights,
    count(frequencies) AS frequencies,
       count(offsets) AS offsets, count(*) FILTER (WHERE NOT intercept) AS no_intercept,
       count(*) FILTER (WHERE clusters LIKE '%+%') AS two_ways
FROM covariance_cases GROUP BY vcov ORDER BY vcov COLLATE "C";

CREATE FUNCTION cluster_columns(c covariance_cases) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
    SELECT array_agg('cluster' || k) FROM unnest(string_to_array(nullif(c.clusters, ''), '+')) k
$$;
-- Logistic and linear fits use functions of their own, others gpu_glm_fit.
CREATE FUNCTION covariance_fit(c covariance_cases, also_from text DEFAULT '', also_where text DEFAULT '')
RETURNS gpu_model LANGUAGE plpgsql AS $$
DECLARE
    query text := format('SELECT %s%s%sy, %sx FROM covariance_rows%s WHERE dataset = %L%s', c.weights || ', ',
        c.frequencies || ', ', c.offsets || ', ',
                         array_to_string(cluster_columns(c), ', ') || ', ', also_from, c.dataset, also_where);
BEGIN
    IF c.family = 'gaussian' AND c.id % 3 > 0 THEN
        RETURN gpu_ols_fit(query, c.intercept, weights => c.weights, frequencies => c.frequencies, vcov => c.vcov,
            clusters => cluster_columns(c));
    ELSIF c.family = 'binomial' AND c.id % 3 > 0 THEN
        RETURN gpu_logreg_fit(query, c.intercept, weights => c.weights, frequencies => c.frequencies, vcov => c.vcov,
            clusters => cluster_columns(c));
    END IF;
    RETURN gpu_glm_fit(query, c.family, c.link, c.intercept, weights => c.weights, frequencies => c.frequencies,
        offsets => c.offsets,
                       vcov => lower(c.vcov), clusters => cluster_columns(c));
END $$;

CREATE TABLE covariance_models (way text, id bigint, m gpu_model);
INSERT INTO covariance_models SELECT 'query', id, covariance_fit(c) FROM covariance_cases c;
-- the rows in a temporary file
SET gpureg.device = cpu; SET gpureg.ring_size = '1MB'; SET jit = off; SET max_parallel_workers_per_gather = 0;
INSERT INTO covariance_models SELECT 'file', id, covariance_fit(c, also_from => ', one_of_many()')
FROM covariance_cases c;
RESET ALL;
INSERT INTO covariance_models SELECT 'query, volatile', id, covariance_fit(c, also_where => ' AND random() >= 0')
FROM covariance_cases c WHERE clusters = '';
-- the query run for each pass, in parallel workers, and then in the session's process alone
SET gpureg.device = cpu; SET gpureg.ring_size = '1MB'; SET jit = off;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
INSERT INTO covariance_models SELECT 'pass, workers', id, covariance_fit(c, also_from => ', one_of_many()')
FROM covariance_cases c WHERE id % 4 = 1;
SET max_parallel_workers = 0;
INSERT INTO covariance_models SELECT 'pass', id, covariance_fit(c, also_from => ', one_of_many()')
FROM covariance_cases c;
-- groups by sorting
SET enable_hashagg = off;
INSERT INTO covariance_models SELECT 'pass, sorted', id, covariance_fit(c, also_from => ', one_of_many()')
FROM covariance_cases c WHERE clusters <> '';
RESET ALL;
-- through the ring
SET jit = off; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SET gpureg.debug_ring = on;
INSERT INTO covariance_models SELECT 'ring', id, covariance_fit(c) FROM covariance_cases c WHERE id % 2 = 1;
RESET ALL;

-- Digits of a matrix that are right, relative to the roots of the variances
CREATE TABLE covariance_sizes AS
SELECT dataset, vcov, coalesce(f.clusters, '') AS clusters, f.i, f.j, f.value, sqrt(abs(u.value * v.value)) AS size
FROM covariance_fits f
JOIN covariance_fits u USING (dataset, vcov) JOIN covariance_fits v USING (dataset, vcov)
WHERE f.clusters IS NOT DISTINCT FROM u.clusters AND f.clusters IS NOT DISTINCT FROM v.clusters AND u.i = f.i
    AND u.j = f.i AND v.i = f.j AND v.j = f.j;
CREATE TABLE covariance_digits AS
SELECT d.way, c.id, c.vcov, c.dataset, c.clusters,
       CASE WHEN bool_and(e IS NOT NULL AND e <> 'NaN') THEN min(least(16,
           -log(abs(e::text::numeric - f.value) / f.size + 1e-17))) ELSE 0 END AS digits
FROM covariance_models d JOIN covariance_cases c USING (id)
JOIN covariance_sizes f USING (dataset, vcov, clusters)
CROSS JOIN LATERAL (SELECT (d.m).vcov[f.i + c.intercept::int][f.j + c.intercept::int]) g(e)
GROUP BY d.way, c.id, c.vcov, c.dataset, c.clusters;
SELECT way, vcov, count(*) AS fits, min(digits) >= 11 AS eleven, string_agg(DISTINCT dataset || ' ' || clusters, '; ')
    FILTER (WHERE digits < 11) AS fewer
FROM covariance_digits GROUP BY way, vcov ORDER BY way COLLATE "C", vcov COLLATE "C";
-- Without clusters estimates and deviances are the same; t of a linear regression has one degree of freedom
-- less than there are clusters, in the key with fewer
SELECT count(*) AS fits, bool_and((m).vcov_type = vcov) AS named, bool_and((m).converged) AS converged,
       bool_and(CASE WHEN family <> 'gaussian' THEN (m).df_inference = 'Infinity'
           WHEN clusters = '' THEN (m).df_inference = (m).df_residual
                ELSE (m).df_inference = r.groups - 1 END) AS degrees
FROM covariance_models JOIN covariance_cases c USING (id)
CROSS JOIN LATERAL (SELECT CASE clusters WHEN '1' THEN count(DISTINCT cluster1) WHEN '2' THEN count(DISTINCT cluster2)
                                ELSE least(count(DISTINCT cluster1), count(DISTINCT cluster2)) END AS groups
                    FROM covariance_rows r WHERE r.dataset = c.dataset AND coalesce(weight, 1) > 0
                        AND coalesce(frequency, 1) > 0) r;
SELECT count(*) AS fits, max(relative_difference(((m).coef) || (m).deviance || (m).null_deviance || (m).log_lik,
    coef || deviance || null_deviance || log_lik)) < 1e-12 AS same
FROM covariance_models JOIN covariance_cases USING (id)
JOIN (SELECT dataset, (m).coef, (m).deviance, (m).null_deviance, (m).log_lik FROM covariance_models
    JOIN covariance_cases USING (id)
      WHERE vcov = 'HC0' AND way = 'query') h USING (dataset);

-- Clusters of any type that can be grouped, by its own equality operator
CREATE TYPE cluster_kind AS ENUM ('a', 'b', 'c', 'd', 'e', 'f', 'g');
CREATE TYPE cluster_pair AS (u int, v text);
CREATE DOMAIN cluster_domain AS text CHECK (value <> '');
CREATE DOMAIN cluster_number AS int8;
CREATE TABLE cluster_types AS
SELECT i, i * 37 % 101 / 10.0::float8 + i % 7 AS y, i * 53 % 97 / 10.0::float8 AS x, (i * 29 % 89)::real AS z,
    i % 7 AS int,
       'region ' || i % 7 AS text, md5((i % 7)::text)::uuid AS uuid, '2026-01-01'::date + i % 7 AS date,
       (i % 7)::numeric(9, 2) AS numeric,
       CASE i % 2 WHEN 0 THEN (i % 7)::numeric ELSE (i % 7 || '.000')::numeric END AS scale,
       (enum_range(NULL::cluster_kind))[1 + i % 7] AS enum,
       (i % 7, 'v')::cluster_pair AS composite, (i % 7 || 'd')::cluster_domain AS domain, ARRAY[i % 7, NULL] AS array,
       i % 7 || '.5' AS words,
       (i % 7)::float8 AS float8, int4range(i % 7, 9) AS range, i % 7 < 3 AS boolean,
       jsonb_build_object('k', i % 7) AS jsonb, i % 5 AS other, 1 + i % 3 AS w,
       nullif(i % 7, 3) AS part, repeat('long ', 1000) || i % 7 AS long,
       (i % 7)::int8 AS int8, (i % 7)::int2 AS int2, (i % 7)::oid AS oid, -9007199254740992 + i % 7 AS least,
       9007199254740992 + i % 7 AS far, '2026-01-01'::timestamp + (i % 7) * interval '1 us' AS timestamp,
       CASE i % 7 WHEN 3 THEN '-infinity' WHEN 4 THEN 'infinity' ELSE '2026-01-01'::timestamptz + (i % 7) * interval '1 d'
           END AS infinite, (i % 7)::cluster_number AS number
FROM generate_series(1, 400) i;
ANALYZE cluster_types;
-- groups come in another order, so sums differ by rounding
CREATE FUNCTION nearly(a gpu_model, b gpu_model) RETURNS boolean LANGUAGE sql AS $$
    SELECT relative_difference(std_errors(a), std_errors(b)) < 1e-13 AND relative_difference((a).coef, (b).coef) < 1e-13
           AND (a).n = (b).n AND (a).n_skipped = (b).n_skipped AND (a).df_inference = (b).df_inference
$$;
SELECT c AS cluster, nearly(gpu_ols_fit(format('SELECT %I, y, x, z FROM cluster_types', c), vcov => v,
    clusters => ARRAY[c]),
                            gpu_ols_fit('SELECT y, int, x, z FROM cluster_types', vcov => v,
                                clusters => '{int}')) AS same
FROM unnest('{text,uuid,date,numeric,scale,enum,composite,domain,array,words,float8,range,jsonb,long,
             int8,int2,oid,least,far,timestamp,infinite,number}'::text[]) c,
    unnest('{CR1,CR2}'::text[]) v ORDER BY v, c;
SELECT (gpu_ols_fit('SELECT y, x, z, boolean FROM cluster_types', vcov => 'CR0', clusters => '{boolean}')).df_inference;
-- a row without a cluster is left out, whichever cluster column is NULL
SELECT nearly(gpu_ols_fit('SELECT y, x, z, part FROM cluster_types', vcov => v, clusters => '{part}'), b) AS same,
    (b).n, (b).n_skipped
FROM unnest('{CR0,CR1,CR2}'::text[]) v,
     gpu_ols_fit('SELECT CASE WHEN part IS NOT NULL THEN y END AS y, x, z, int FROM cluster_types', vcov => v,
         clusters => '{int}') b ORDER BY v;
SELECT nearly(gpu_glm_fit('SELECT other, y, x, z, part FROM cluster_types', 'gaussian', vcov => 'CR1',
    clusters => '{other,part}'), b) AS same, (b).n_skipped
FROM gpu_glm_fit('SELECT other, CASE WHEN part IS NOT NULL THEN y END AS y, x, z, int FROM cluster_types', 'gaussian',
    vcov => 'CR1', clusters => '{int,other}') b;
-- formulas: a cluster is a feature only if the formula names it, not by a dot; a factor of clusters; categories without
-- a formula
SELECT formula, (m).terms, (m).df_inference, (m).n_skipped
FROM unnest('{y ~ x + z,y ~ x + factor(part),y ~ .,y ~ x*enum,y ~ 1,part ~ x}'::text[]) WITH ORDINALITY f(formula, i),
     gpu_ols_fit('SELECT y, x, z, enum, part FROM cluster_types', formula => formula, vcov => 'CR1',
         clusters => '{part}') m ORDER BY i;
SELECT (gpu_ols_fit('SELECT y, x, text, enum FROM cluster_types', vcov => 'CR1', clusters => '{text}')).terms;
SELECT nearly(gpu_glm_fit('SELECT y, x, z, int FROM cluster_types', 'gaussian', formula => 'y ~ x + z + x:z',
    vcov => 'CR2', clusters => '{int}'),
              gpu_ols_fit('SELECT y, x, z, x * z, int FROM cluster_types', vcov => 'CR2', clusters => '{int}')) AS same;
-- clusters by a column that is a weight or an offset, too; frequencies count as rows; arrays; many columns
SELECT (gpu_ols_fit('SELECT y, x, w FROM cluster_types', weights => 'w', vcov => 'CR1',
    clusters => '{w}')).df_inference;
SELECT vcov, nearly(gpu_ols_fit('SELECT y, x, z, w, int FROM cluster_types', frequencies => 'w', vcov => vcov,
    clusters => '{int}'),
                    gpu_ols_fit('SELECT y, x, z, int FROM cluster_types, generate_series(1, w)', vcov => vcov,
                        clusters => '{int}')) AS same
FROM unnest('{CR0,CR1,CR2}'::text[]) vcov ORDER BY vcov COLLATE "C";
SELECT nearly(gpu_ols_fit('SELECT int, y, ARRAY[x, z] FROM cluster_types', vcov => 'CR2', clusters => '{int}'),
              gpu_ols_fit('SELECT y, x, z, int FROM cluster_types', vcov => 'CR2', clusters => '{int}')) AS same;
SELECT nearly(gpu_ols_fit(format('SELECT int, y, %s, other FROM cluster_types', a), vcov => 'CR1',
    clusters => '{int,other}'),
              gpu_ols_fit(format('SELECT y, ARRAY[%s], int, other FROM cluster_types', a), vcov => 'CR1',
                  clusters => '{int,other}')) AS same
FROM (SELECT string_agg(format('cos(i * %s)', k), ', ') AS a FROM generate_series(1, 120) k) t;
SELECT nearly(gpu_logreg_fit('SELECT y > 8, x, z, int FROM cluster_types', vcov => 'CR1', clusters => '{int}',
    solver => s),
              gpu_logreg_fit('SELECT y > 8, x, z, int FROM cluster_types', vcov => 'CR1', clusters => '{int}')) AS same
FROM unnest('{gd,lbfgs}'::text[]) s;
-- collinear columns, and a term that is aliased
SELECT nearly(gpu_ols_fit('SELECT y, x, 2 * x, z, int FROM cluster_types', vcov => v, clusters => '{int}'),
              gpu_ols_fit('SELECT y, x, 0, z, int FROM cluster_types', vcov => v, clusters => '{int}')) AS same
FROM unnest('{CR1,CR2}'::text[]) v;

-- Clusters of single rows give HC0 and HC2; 100,000 clusters
CREATE TABLE many_clusters AS SELECT i, sin(i) AS x, cos(i * 7) AS z, i % 100 AS g,
    sin(i * 3) + (i % 100) / 50.0::float8 AS y FROM generate_series(1, 100000) i;
ANALYZE many_clusters;
SELECT cr, (a).df_inference, relative_difference(std_errors(a), std_errors(b)) < 1e-12 AS same
FROM (VALUES ('CR0', 'HC0'), ('CR2', 'HC2')) v(cr, hc), gpu_ols_fit('SELECT y, x, z, i FROM many_clusters', vcov => cr,
    clusters => '{i}') a,
     gpu_ols_fit('SELECT y, x, z FROM many_clusters', vcov => hc) b ORDER BY cr;
-- pairs of keys that are single rows: both keys subtract what they have in common
SELECT (a).df_inference, relative_difference(ARRAY[(a).vcov[2][2]], ARRAY[(b).vcov[2][2]]) < 1e-10 AS same
FROM gpu_ols_fit('SELECT y, x, z, i, g FROM many_clusters', vcov => 'CR0', clusters => '{g,i}') a,
     gpu_ols_fit('SELECT y, x, z, g FROM many_clusters', vcov => 'CR0', clusters => '{g}') b;
SET work_mem = '64kB';
SELECT (gpu_ols_fit('SELECT y, x, z, i FROM many_clusters', vcov => 'CR1', clusters => '{i}')).df_inference;
RESET work_mem;

-- With two keys a variance may be negative: it has no root, and no test that needs one
CREATE TABLE negative AS
SELECT y, x, a, b FROM (VALUES (1.0, 1.0, 1, 1), (-1, 1, 1, 2), (-1, 1, 2, 1), (1, 1, 2, 2), (2, -1, 1, 1),
    (-2, -1, 1, 2), (-2, -1, 2, 1), (2, -1, 2, 2)) t(y, x, a, b);
CREATE TABLE negative_model AS SELECT gpu_ols_fit('SELECT y, x, a, b FROM negative', vcov => 'CR0',
    clusters => '{a,b}') AS m;
SELECT (m).vcov[2][2] < 0 AS negative FROM negative_model;
SELECT t.term, t.std_error, t.statistic, t.p_value, t.conf_low, t.conf_high FROM negative_model, gpu_tidy(m) t;
SELECT g.n, g.vcov FROM negative_model, gpu_glance(m) g;
SELECT w.statistic, w.p_value FROM negative_model, gpu_wald(m, '{x}') w;
SELECT i.* FROM negative_model, gpu_predict_interval(m, 'confidence', 0.95, 1.0) i;
SELECT gpu_summary(m) ~ 'NaN|NULL| - ' AS told FROM negative_model;
-- rows that carry their clusters' keys, and rows that the server groups: both keys, one of them a text
SELECT v, nearly(gpu_ols_fit('SELECT y, x, z, int, other FROM cluster_types', vcov => v, clusters => '{int,other}'),
                 gpu_ols_fit('SELECT y, x, z, text, other FROM cluster_types', vcov => v,
                     clusters => '{text,other}')) AS ols,
       nearly(gpu_ols_fit('SELECT y, x, z, far, date FROM cluster_types', vcov => v, clusters => '{date,far}'),
              gpu_ols_fit('SELECT y, x, z, text, words FROM cluster_types', vcov => v, clusters => '{text,words}')) AS far,
       nearly(gpu_glm_fit('SELECT w, x, z, enum, infinite, x / 9 AS o FROM cluster_types', 'poisson', vcov => v,
                  clusters => '{enum,infinite}', offsets => 'o'),
              gpu_glm_fit('SELECT w, x, z, text, words, x / 9 AS o FROM cluster_types', 'poisson', vcov => v,
                  clusters => '{text,words}', offsets => 'o')) AS poisson,
       nearly(gpu_logreg_fit('SELECT y > 8, x, z, w, int8, other FROM cluster_types', weights => 'w', vcov => v,
                  clusters => '{int8,other}'),
              gpu_logreg_fit('SELECT y > 8, x, z, w, text, other FROM cluster_types', weights => 'w', vcov => v,
                  clusters => '{text,other}')) AS weighted,
       nearly(gpu_ols_fit('SELECT y, x, z, w, int2 FROM cluster_types', weights => 'w', vcov => v,
                  clusters => '{int2}', formula => 'y ~ x * z - 1'),
              gpu_ols_fit('SELECT y, x, z, w, text FROM cluster_types', weights => 'w', vcov => v,
                  clusters => '{text}', formula => 'y ~ x * z - 1')) AS weighted_ols
FROM unnest('{CR0,CR1}'::text[]) v;
SELECT gpu_cluster_key(x) FROM unnest('{-9007199254740992,-9007199254740991,-1,9007199254740991,9007199254740992}'::int8[]) x;
SELECT gpu_cluster_key('infinity'::date), gpu_cluster_key(true), gpu_cluster_key(7::oid), gpu_cluster_key(8::cluster_number);
SELECT gpu_cluster_key('a'::text);
-- gpu_last_run() of such a fit
SELECT (gpu_ols_fit('SELECT y, x, text FROM cluster_types', vcov => 'CR1', clusters => '{text}')).n;
SELECT function, regexp_replace(reason, '^.*; the query', 'the query') AS reason FROM gpu_last_run();
SELECT (gpu_ols_fit('SELECT y, x, text, other FROM cluster_types', vcov => 'CR1', clusters => '{text,other}')).n;
SELECT function, regexp_replace(reason, '^.*; the query', 'the query') AS reason FROM gpu_last_run();
SELECT (gpu_ols_fit('SELECT y, x, int, other FROM cluster_types', vcov => 'CR1', clusters => '{int,other}')).n;
SELECT function, reason ~ 'once more|times more' AS again FROM gpu_last_run();
DROP TABLE covariance_rows, covariance_fits, covariance_cases, covariance_models, covariance_sizes, covariance_digits,
    cluster_types, many_clusters, negative, negative_model CASCADE;
