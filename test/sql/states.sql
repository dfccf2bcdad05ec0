-- Models of any columns of a stored state, with an l2, and names of a state's columns, against rational arithmetic:
-- test/data/states_reference.py.
CREATE TABLE states_fits (dataset text, features int[], response int, intercept boolean, l2 float8, term text,
                          estimate numeric, std_error numeric);
\copy states_fits FROM 'test/data/states_fits.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE nist_states AS
SELECT dataset, gpu_ols_stats_agg(y, VARIADIC x) AS s FROM nist_rows GROUP BY dataset;
CREATE TABLE nist_parts AS
SELECT dataset, part, gpu_ols_stats_agg(y, VARIADIC x) AS s
FROM (SELECT *, row_number() OVER (PARTITION BY dataset) % 3 AS part FROM nist_rows) r GROUP BY dataset, part;

-- digits of estimates and standard errors, from a state and from merged ones
CREATE TABLE states_models AS
SELECT way, dataset, features, response, intercept, l2,
       gpu_ols_solve(s, intercept, features => features, response => response, l2 => l2) AS m
FROM (SELECT DISTINCT dataset, features, response, intercept, l2 FROM states_fits) c
JOIN (SELECT 'one' AS way, dataset, s FROM nist_states
      UNION ALL SELECT 'merged', dataset, gpu_ols_rollup(s) FROM nist_parts GROUP BY dataset) t USING (dataset);
SELECT way, dataset, f.features, f.response, f.intercept, f.l2,
       min(digits(t.estimate, f.estimate)) >= CASE dataset WHEN 'filip' THEN 11 ELSE 13 END AS estimates,
       min(digits(t.std_error, f.std_error)) >= CASE dataset WHEN 'filip' THEN 10 ELSE 13 END AS std_errors, count(*)
FROM states_models s
CROSS JOIN LATERAL gpu_tidy(m) WITH ORDINALITY AS t(term, estimate, std_error, statistic, p, low, high, df, class, k)
JOIN states_fits f USING (dataset, features, response, intercept, l2)
WHERE f.term = CASE WHEN t.term = '(intercept)' THEN 'intercept' WHEN t.term = 'y' THEN '0' ELSE substr(t.term, 2) END
GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6;

-- a state's model has the bits of a fit of its columns, except for their names: any two columns of longley on any other
CREATE TABLE longley7 AS SELECT ARRAY[y] || x AS v FROM nist_rows WHERE dataset = 'longley';
CREATE FUNCTION numbers(m gpu_model) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT (m.coef, m.vcov, m.n, m.rank, m.df_residual, m.deviance, m.null_deviance, m.log_lik, m.dispersion)::text
$$;
SELECT count(*), bool_and(numbers(one) = numbers(other)) AS same
FROM (SELECT a, b, c, gpu_ols_agg(v[c + 1], v[a + 1], v[b + 1]) AS one
      FROM longley7, generate_series(0, 6) a, generate_series(0, 6) b, generate_series(0, 6) c
      WHERE a <> b AND b <> c AND a <> c GROUP BY a, b, c) f,
     LATERAL (SELECT gpu_ols_solve(s, features => ARRAY[a, b], response => c)
              FROM nist_states WHERE dataset = 'longley') t(other);

-- by default all features on the response; with another response, all other features
SELECT gpu_ols_solve(s) = gpu_ols_solve(s, true, '{1,2,3,4,5,6}', 0, 0) AS whole,
       (gpu_ols_solve(s, response => 4)).terms AS others, (gpu_ols_solve(s, features => '{}')).terms AS none,
       (gpu_ols_solve(s, features => '{5,0}', response => '2')).terms AS some
FROM nist_states WHERE dataset = 'longley';
SELECT gpu_ols_solve(NULL::gpu_ols_stats, features => '{1}') IS NULL AS no_state,
       gpu_ols_solve(s, intercept => NULL) IS NULL AS no_intercept, gpu_ols_solve(s, l2 => NULL) IS NULL AS no_l2
FROM nist_states WHERE dataset = 'norris';

-- an l2 gives gpu_glm_fit's model in all numbers
SELECT (a).terms = (b).terms AS terms, (a).method = (b).method AS method,
       relative_difference((a).coef, (b).coef) < 1e-13 AS coef,
       (SELECT max(abs(u - v) / abs(v)) FROM unnest((a).vcov, (b).vcov) t(u, v)) < 1e-12 AS vcov,
       (a).rank = (b).rank AS rank, abs((a).deviance / (b).deviance - 1) < 1e-9 AS deviance,
       abs((a).log_lik / (b).log_lik - 1) < 1e-13 AS log_lik, abs(ga.aic / gb.aic - 1) < 1e-13 AS aic
FROM (SELECT gpu_ols_solve(s, l2 => 0.5) AS a FROM nist_states WHERE dataset = 'pontius') x,
     (SELECT gpu_glm_fit('SELECT y, x[1] AS x1, x[2] AS x2 FROM nist_rows WHERE dataset = ''pontius''', 'gaussian',
                         l2 => 0.5) AS b) y, gpu_glance(a) ga, gpu_glance(b) gb;
-- with an l2, collinear columns, and fewer rows than terms, have coefficients
SELECT (gpu_ols_solve(s, false, l2 => 1)).coef, (gpu_ols_solve(s, false, l2 => 1)).df_residual,
       (gpu_ols_solve(s, false)).coef AS without
FROM (SELECT gpu_ols_stats_agg(3, 1, 1) AS s) t;

-- names of columns
CREATE TABLE named AS
SELECT part, gpu_ols_named(s, '{employed,deflator,gnp,unemployed,"armed \"forces\"",population,1}') AS s
FROM nist_parts WHERE dataset = 'longley';
SELECT gpu_ols_names(gpu_ols_rollup(s)), gpu_ols_names((SELECT s FROM nist_states WHERE dataset = 'norris')) AS none
FROM named;
SELECT (gpu_ols_solve(s)).terms,
       (gpu_ols_solve(s, features => '{gnp,"armed \"forces\""}', response => 'population')).terms AS some,
       (gpu_ols_solve(s, features => ARRAY['employed', 'gnp']::name[], response => 1)).terms AS names,
       (gpu_ols_solve(s, features => '{1,2}')).terms AS digits_as_name,
       (gpu_ols_solve(s, features => ARRAY[1, 2])).terms AS numbers
FROM (SELECT gpu_ols_rollup(s) AS s FROM named) t;
SELECT term, vif > 1 AS inflated FROM gpu_vif((SELECT gpu_ols_rollup(s) FROM named));
-- names by text, wire and table, merged with states that have none; sums don't change
SELECT bool_and(s::text::gpu_ols_stats::text = s::text) AS text,
       bool_and(numbers(gpu_ols_solve(s)) = numbers(gpu_ols_solve(p))) AS sums
FROM (SELECT part, s FROM named) a
JOIN (SELECT part, s AS p FROM nist_parts WHERE dataset = 'longley') b USING (part);
SELECT gpu_ols_names(gpu_ols_named(s, names)) = names AS kept,
       gpu_ols_names(gpu_ols_named(s, names)::text::gpu_ols_stats) = names AS text
FROM (SELECT s, ARRAY[E'a\\b"c', E' tab\there\nline\r\b\f\x01\x1f '] AS names
      FROM nist_states WHERE dataset = 'norris') t;
SELECT gpu_ols_names(gpu_ols_rollup(s ORDER BY k)) FROM (
    SELECT 1 AS k, s FROM nist_parts WHERE dataset = 'longley' AND part = 0
    UNION ALL SELECT 2, s FROM named WHERE part = 1
    UNION ALL SELECT 3, s FROM nist_parts WHERE dataset = 'longley' AND part = 2) t;
CREATE TABLE named_copy (LIKE named);
\copy named TO 'results/named.bin' WITH (FORMAT binary)
\copy named_copy FROM 'results/named.bin' WITH (FORMAT binary)
SELECT bool_and(a.s::text = b.s::text) AS wire, count(*) FROM named a JOIN named_copy b USING (part);
-- names of a state with weights
SELECT gpu_ols_named(s, '{y,x}')::text ~
       '^{"version":4,"features":1,"rows":3,"skipped":0,"names":\["y","x"\],"weights":\[' AS text,
       (gpu_ols_solve(gpu_ols_named(s, '{y,x}')::text::gpu_ols_stats)).log_lik = (gpu_ols_solve(s)).log_lik AS log_lik
FROM (SELECT gpu_wls_stats_agg(w, sqrt(w), w * w) AS s FROM generate_series(1, 3) w) t;

-- invalid arguments
\set VERBOSITY terse
SELECT gpu_ols_rollup(gpu_ols_named(s, ARRAY['y', 'x' || part])) FROM nist_parts WHERE dataset = 'norris';
SELECT gpu_ols_named(s, '{y}') FROM nist_states WHERE dataset = 'norris';
SELECT gpu_ols_named(s, '{y,x,z}') FROM nist_states WHERE dataset = 'norris';
SELECT gpu_ols_named(s, '{{y,x}}') FROM nist_states WHERE dataset = 'norris';
SELECT gpu_ols_named(s, '{y,NULL}') FROM nist_states WHERE dataset = 'norris';
SELECT gpu_ols_named(s, '{y,""}') FROM nist_states WHERE dataset = 'norris';
SELECT gpu_ols_named(s, '{y,y}') FROM nist_states WHERE dataset = 'norris';
SELECT gpu_ols_named('{"version":2,"features":-1,"rows":0,"skipped":1,"shift":[],"gram":[]}', '{y}');
SELECT gpu_ols_solve(s, features => '{1,7}') FROM nist_states WHERE dataset = 'longley';
SELECT gpu_ols_solve(s, features => '{-1}') FROM nist_states WHERE dataset = 'longley';
SELECT gpu_ols_solve(s, features => '{99999999999999999999}') FROM nist_states WHERE dataset = 'longley';
SELECT gpu_ols_solve(s, features => ARRAY[4294967297]) FROM nist_states WHERE dataset = 'longley';
SELECT gpu_ols_solve(s, features => '{gnp}') FROM nist_states WHERE dataset = 'longley';
SELECT gpu_ols_solve(s, features => '{2,2}') FROM nist_states WHERE dataset = 'longley';
SELECT gpu_ols_solve(s, features => '{2,0}') FROM nist_states WHERE dataset = 'longley';
SELECT gpu_ols_solve(s, features => '{2,3}', response => 3) FROM nist_states WHERE dataset = 'longley';
SELECT gpu_ols_solve(s, features => '{2,NULL}') FROM nist_states WHERE dataset = 'longley';
SELECT gpu_ols_solve(s, features => '{{2}}') FROM nist_states WHERE dataset = 'longley';
SELECT gpu_ols_solve(s, features => 'gnp') FROM nist_states WHERE dataset = 'longley';
SELECT gpu_ols_solve(s, features => 2) FROM nist_states WHERE dataset = 'longley';
SELECT gpu_ols_solve(s, features => ARRAY[2.0]) FROM nist_states WHERE dataset = 'longley';
SELECT gpu_ols_solve(s, response => 7) FROM nist_states WHERE dataset = 'longley';
SELECT gpu_ols_solve(s, response => 1.5) FROM nist_states WHERE dataset = 'longley';
SELECT gpu_ols_solve(s, response => 'gnp') FROM nist_states WHERE dataset = 'longley';
SELECT gpu_ols_solve(s, false, features => '{}') FROM nist_states WHERE dataset = 'longley';
SELECT gpu_ols_solve(s, l2 => -1) FROM nist_states WHERE dataset = 'longley';
SELECT gpu_ols_solve(s, l2 => 'Infinity') FROM nist_states WHERE dataset = 'longley';
-- texts that are no state with names
\set rest ',"shift":[0,0],"gram":[3,0,6,0,14,0,16,0,37,0,98,0]}'
\set head '{"version":4,"features":1,"rows":3,"skipped":0'
SELECT gpu_ols_names((:'head' || ',"names":["y","x"]' || :'rest')::gpu_ols_stats);
SELECT (:'head' || :'rest')::gpu_ols_stats;
SELECT (:'head' || ',"names":["y"]' || :'rest')::gpu_ols_stats;
SELECT (:'head' || ',"names":["y","x","z"]' || :'rest')::gpu_ols_stats;
SELECT (:'head' || ',"names":["y",""]' || :'rest')::gpu_ols_stats;
SELECT (:'head' || ',"names":["y","x' || :'rest')::gpu_ols_stats;
SELECT (:'head' || ',"names":["y","\u0000"]' || :'rest')::gpu_ols_stats;
SELECT (:'head' || ',"names":["y","\u0041"]' || :'rest')::gpu_ols_stats;
SELECT (:'head' || ',"names":["y","\x"]' || :'rest')::gpu_ols_stats;
SELECT (:'head' || ',"names":["y","\')::gpu_ols_stats;
SELECT (:'head' || ',"names":[y,x]' || :'rest')::gpu_ols_stats;
\set VERBOSITY default
