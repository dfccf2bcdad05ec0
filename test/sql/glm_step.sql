-- gpu_glm_step_agg: one Newton step of any family and link as a value, against fits in 60 digits.
CREATE TEMP TABLE glm_rows (i serial, dataset text, y float8, weight float8, frequency float8, base float8, x float8[]);
\copy glm_rows (dataset, y, weight, frequency, base, x) FROM 'test/data/glm_rows.csv' WITH (FORMAT csv, HEADER)
CREATE TEMP TABLE glm_fits (dataset text, family text, link text, theta text, l2 float8, intercept boolean, term text,
                            estimate numeric, std_error numeric);
\copy glm_fits FROM 'test/data/glm_fits.csv' WITH (FORMAT csv, HEADER)
-- All cases without an estimated theta, weights, frequencies, offsets, shares and infinite estimates
CREATE TEMP TABLE step_cases AS
SELECT row_number() OVER (ORDER BY dataset COLLATE "C", family COLLATE "C", link COLLATE "C", theta COLLATE "C", l2,
                          intercept) AS id, f.*, family || coalesce('(' || nullif(theta, '') || ')', '') AS name
FROM (SELECT DISTINCT dataset, family, link, coalesce(theta, '') AS theta, l2, intercept FROM glm_fits) f
WHERE theta IS DISTINCT FROM 'ml' AND dataset <> 'shares without weights'
  AND dataset IN (SELECT dataset FROM glm_rows GROUP BY dataset
                  HAVING count(weight) + count(frequency) + count(base) = 0)
  AND NOT EXISTS (SELECT FROM glm_fits t
                  WHERE (t.dataset, t.family, t.l2) = (f.dataset, f.family, f.l2) AND abs(t.estimate) = 'Infinity');
-- The model of the mean alone, for p other terms
CREATE FUNCTION step_null(link text, y float8, p int) RETURNS float8[] LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE link WHEN 'log' THEN ln(y) WHEN 'inverse' THEN 1 / y WHEN 'sqrt' THEN sqrt(y) ELSE y END
        || array_fill(0::float8, ARRAY[p])
$$;
CREATE FUNCTION step_halfway(a float8[], b float8[]) RETURNS float8[] LANGUAGE sql IMMUTABLE AS $$
    SELECT array_agg((u + v) / 2 ORDER BY j) FROM unnest(a, b) WITH ORDINALITY AS t(u, v, j)
$$;
-- PostgreSQL 19 notes that a function of a temporary type is temporary
SET client_min_messages = warning;
-- Newton's method: each step's coef is the next beta. If a row has no mean there, the step is halved.
CREATE FUNCTION step_loop(c step_cases, OUT m gpu_model, OUT steps int, OUT halved int) LANGUAGE plpgsql AS $$
DECLARE
    p int;
    beta float8[] := '{}';
    before float8[];
BEGIN
    SELECT cardinality(x), step_null(c.link, avg(y) OVER (), cardinality(x)) INTO p, before
    FROM glm_rows r WHERE r.dataset = c.dataset;
    IF NOT c.intercept THEN
        beta := array_fill(0::float8, ARRAY[p]);
    END IF;
    halved := 0;
    FOR i IN 1 .. 60 LOOP
        steps := i;
        BEGIN
            m := gpu_glm_solve(gpu_glm_step_agg(c.name, c.link, beta, y, VARIADIC x), c.l2)
                FROM glm_rows r WHERE r.dataset = c.dataset;
        EXCEPTION WHEN numeric_value_out_of_range THEN
            halved := halved + 1;
            beta := step_halfway(before, beta);
            CONTINUE;
        END;
        EXIT WHEN m.converged;
        before := CASE WHEN beta = '{}' THEN before ELSE beta END;
        beta := m.coef;
    END LOOP;
END
$$;
RESET client_min_messages;
CREATE TEMP TABLE step_models AS SELECT c.id, l.* FROM step_cases c, step_loop(c) l;
SELECT count(*), bool_and((m).converged) AS converged, sum(halved) BETWEEN 1 AND 9 AS halved, max(steps) < 60 AS enough
FROM step_models;
CREATE FUNCTION step_lines(m gpu_model, intercept boolean) RETURNS TABLE (term text, estimate float8, std_error float8)
    LANGUAGE sql AS $$
    SELECT (j - intercept::int)::text, t.estimate, t.std_error
    FROM gpu_tidy(m) WITH ORDINALITY AS t(name, estimate, std_error, statistic, p_value, conf_low, conf_high,
        df, class, j)
    UNION ALL SELECT key, value::float8, NULL FROM gpu_glance(m) g, jsonb_each_text(to_jsonb(g))
        WHERE key NOT IN ('converged', 'family', 'link', 'vcov', 'dispersion')
    UNION ALL SELECT 'dispersion', (m).dispersion, NULL
$$;
-- The null deviance is unknown, as it would take a pass of its own. Columns are summed as they are, so nearly collinear
-- ones cost digits.
CREATE TEMP TABLE step_digits AS
SELECT c.*, f.term, f.term ~ '^\d+$' AS is_term, l.name IS NOT NULL AS told,
       digits_or_null(l.estimate, f.estimate) AS estimate, digits_or_null(l.std_error, f.std_error) AS std_error
FROM step_models JOIN step_cases c USING (id)
JOIN glm_fits f ON (f.dataset, f.family, f.link, coalesce(f.theta, ''), f.l2, f.intercept) =
                   (c.dataset, c.family, c.link, c.theta, c.l2, c.intercept)
LEFT JOIN LATERAL (SELECT * FROM step_lines(m, c.intercept) l WHERE l.term = f.term AND l.estimate IS NOT NULL)
    AS l(name, estimate, std_error) ON true;
SELECT family, link, count(DISTINCT id) AS fits, min(estimate) FILTER (WHERE is_term) >= 12 AS estimates,
       min(std_error) FILTER (WHERE is_term) >= 12 AS std_errors,
       min(estimate) FILTER (WHERE NOT is_term AND told) >= 12 AS summaries,
       string_agg(DISTINCT dataset, ', ' ORDER BY dataset)
           FILTER (WHERE least(estimate, std_error) < 12 AND told) AS fewer,
       min(least(estimate, std_error)) FILTER (WHERE told) > 9 AS nine
FROM step_digits GROUP BY family, link ORDER BY family COLLATE "C", link COLLATE "C";
SELECT string_agg(DISTINCT term, ', ' ORDER BY term) AS not_known FROM step_digits WHERE NOT told AND estimate = 0;

-- States of parts must merge to the state of the whole, at the beginning and at the estimates; and so must their texts.
CREATE FUNCTION step_difference(a gpu_model, b gpu_model) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN (a.n, a.n_skipped, a.rank, a.family, a.link, a.theta, a.converged) =
                     (b.n, b.n_skipped, b.rank, b.family, b.link, b.theta, b.converged)
           THEN greatest(relative_difference(a.coef, b.coef),
                         relative_difference(ARRAY[a.deviance, a.log_lik, a.dispersion, a.null_deviance],
                                             ARRAY[b.deviance, b.log_lik, b.dispersion, b.null_deviance]),
                         relative_difference(std_errors(a), std_errors(b)))
           ELSE 'Infinity' END
$$;
-- Steps at the beginning, and at the estimates, where a step is rounding error. parts: number of states of each
CREATE FUNCTION step_parts(parts int) RETURNS TABLE (id bigint, at_end boolean, part bigint, s gpu_logreg_step)
    LANGUAGE sql AS $$
    SELECT id, at_end, i % parts,
           gpu_glm_step_agg(name, link, CASE WHEN at_end THEN (m).coef ELSE '{}' END, y, VARIADIC x)
    FROM step_models JOIN step_cases c USING (id) JOIN glm_rows USING (dataset), (VALUES (true), (false)) v(at_end)
    WHERE intercept AND dataset IN ('infert', 'warpbreaks', 'quine', 'counts', 'counts, l2', 'positive', 'classes')
    GROUP BY id, at_end, name, link, m, i % parts
$$;
CREATE TEMP TABLE step_parts AS SELECT * FROM step_parts(3);
CREATE TEMP TABLE step_wholes AS SELECT * FROM step_parts(1);
SELECT family, at_end, count(*), bool_and(p.s::text = t.s::text) AS texts,
       max(step_difference(gpu_glm_solve(p.s, l2, 0.5), gpu_glm_solve(w.s, l2, 0.5))) < 1e-14 AS merged
FROM (SELECT id, at_end, gpu_logreg_rollup(s ORDER BY part) AS s FROM step_parts GROUP BY id, at_end) p
JOIN (SELECT id, at_end, gpu_logreg_rollup(s::text::gpu_logreg_step ORDER BY part) AS s
      FROM step_parts GROUP BY id, at_end) t USING (id, at_end)
JOIN step_wholes w USING (id, at_end) JOIN step_cases USING (id)
GROUP BY family, at_end ORDER BY family COLLATE "C", at_end;
SELECT count(*), bool_and(s::text::gpu_logreg_step::text = s::text) AS text,
       bool_and(s::text::json IS NOT NULL) AS json,
       bool_and(gpu_glm_solve(s::text::gpu_logreg_step)::text = gpu_glm_solve(s)::text) AS model
FROM step_wholes;
-- binary format, by a file
\copy step_wholes TO 'results/glm_step.bin' WITH (FORMAT binary)
CREATE TEMP TABLE step_read (LIKE step_wholes);
\copy step_read FROM 'results/glm_step.bin' WITH (FORMAT binary)
SELECT count(*), bool_and(r.s::text = w.s::text) AS same FROM step_wholes w JOIN step_read r USING (id, at_end);
-- a growing frame, whose states are the aggregate's own
SELECT bool_and((gpu_glm_solve(r)).n = i) AS frames
FROM (SELECT row_number() OVER w AS i, gpu_glm_step_array_agg('poisson', NULL, '{}', y + 1, x) OVER w AS r
      FROM glm_rows WHERE dataset = 'counts' WINDOW w AS (ORDER BY i)) t;

-- Properties of a state: a logistic one is gpu_logreg_step_agg's; a NULL link is the default; a boolean y, one array
SELECT b, logistic = s AS logistic, booleans = s AS booleans, arrays = s AS arrays, both_of_them = s AS both
FROM (VALUES ('{}'::float8[]), ('{1,2,-0.01}'), ('{1,-0.01}'), ('{1,NULL,-0.01}')) v(b),
     LATERAL (SELECT gpu_logreg_step_agg(b, am, wt, hp)::text AS s,
                     gpu_glm_step_agg('binomial', 'logit', b, am, wt, hp)::text AS logistic,
                     gpu_glm_step_agg('Binomial', NULL, b, am = 1, wt, hp)::text AS booleans,
                     gpu_glm_step_array_agg('binomial', NULL, b, am, ARRAY[wt, hp])::text AS arrays,
                     gpu_glm_step_array_agg('binomial', NULL, b, am = 1, ARRAY[wt, hp])::text AS both_of_them
              FROM mtcars) u
ORDER BY b;
CREATE TEMP TABLE few AS SELECT * FROM (VALUES (1, 3), (0, 5), (4, 8), (NULL, 2)) AS t(y, x);
SELECT gpu_glm_step_agg('gaussian', NULL, '{1,0.5}', y, x) FROM few;
SELECT name, s ->> 'family' AS family, s ->> 'link' AS link, s ->> 'linear' AS linear, s -> 'theta' AS theta,
       json_array_length(s -> 'totals') AS totals, s ->> 'skipped' AS skipped
FROM (SELECT name, gpu_glm_step_agg(name, NULL, b, y, x)::text::json AS s
      FROM few, (VALUES ('POISSON', '{1,0.5}'::float8[]), ('quasi-poisson', '{}'), ('negative binomial(2)', '{}'),
                        ('NEGATIVE_BINOMIAL (1.5e0) ', '{1,0.5}'), ('Negative Binomial( 2.5 )', '{0.5}')) v(name, b)
      GROUP BY name, b) t ORDER BY name COLLATE "C";
-- the quasi families have a dispersion and no likelihood
SELECT (q).method, (q).family, (q).link, (q).coef = (p).coef AS coef, (q).deviance = (p).deviance AS deviance,
       (q).log_lik, (p).log_lik IS NOT NULL AS likely, (p).dispersion AS one, (p).df_inference AS normal,
       (q).df_inference AS df, abs((q).vcov[2][2] / (p).vcov[2][2] / (q).dispersion - 1) < 1e-15 AS vcov
FROM (SELECT f, gpu_glm_solve(gpu_glm_step_agg('quasi' || f, NULL, '{0.3,-0.2,0.001}', am, wt, hp)) AS q,
             gpu_glm_solve(gpu_glm_step_agg(f, NULL, '{0.3,-0.2,0.001}', am, wt, hp)) AS p
      FROM mtcars, unnest(ARRAY['binomial', 'poisson']) f GROUP BY f) t ORDER BY f;
-- linear regression: one step from anywhere suffices, in any unit
SELECT unit::float8, (c).method, (c).converged, relative_difference((a).coef, (b).coef) < 1e-13 AS coef,
       relative_difference(std_errors(c), std_errors(b)) < 1e-13 AS std_errors,
       abs((c).deviance / (b).deviance - 1) < 1e-13 AS deviance, abs((c).log_lik / (b).log_lik - 1) < 1e-13 AS log_lik
FROM (SELECT unit, gpu_ols_agg(mpg * unit, wt, hp) AS b,
             gpu_glm_solve(gpu_glm_step_agg('gaussian', NULL, ARRAY[100 * unit, -7 * unit, 3 * unit], mpg * unit, wt,
                                            hp)) AS a
      FROM mtcars, unnest(ARRAY[1e-100, 1, 1e9, 1e100]) unit GROUP BY unit) t,
     LATERAL (SELECT gpu_glm_solve(gpu_glm_step_agg('gaussian', NULL, (a).coef, mpg * unit, wt, hp)) AS c
              FROM mtcars) u ORDER BY unit;
-- The first step's model has no deviance, and nothing that depends on it.
CREATE TEMP TABLE begun AS SELECT gpu_glm_solve(gpu_glm_step_agg('gamma', NULL, '{}', mpg, wt)) AS m FROM mtcars;
SELECT (m).deviance, (m).log_lik, (m).null_deviance, (m).dispersion, (m).vcov, (m).converged, (m).iterations FROM begun;
SELECT deviance, null_deviance, log_lik, aic, dispersion, sigma, r_squared, pseudo_r_squared FROM begun, gpu_glance(m);
SELECT count(estimate) AS estimates, count(std_error) AS std_errors FROM begun, gpu_tidy(m);
SELECT gpu_summary(m) ~ 'Null deviance: +NA' AS summary, gpu_predict(m, 3) > 0 AS predicted FROM begun;
-- zeros are a beginning, too, also without an intercept, and a NULL keeps a term out
CREATE FUNCTION step_begins(b float8[]) RETURNS text LANGUAGE sql AS
    $$SELECT gpu_glm_step_agg('gamma', 'inverse', b, mpg, wt, hp)::text::json ->> 'linear' FROM mtcars$$;
SELECT b, step_begins(b::float8[]) FROM (VALUES ('{}'), ('{0,0,0}'), ('{0,-0}'), ('{0,NULL,0}'), ('{NULL,NULL,NULL}'),
                                                 ('{NULL,NULL}'), ('{0,0,1e-9}')) v(b);
SELECT b, relative_difference((a).coef, ARRAY[(w).coef[1], NULL, (w).coef[2]]) < 1e-14 AS kept_out, (a).rank
FROM (SELECT b, gpu_glm_solve(gpu_glm_step_agg('gamma', NULL, ARRAY[b[1], NULL, b[2]], mpg, wt, hp)) AS a,
             gpu_glm_solve(gpu_glm_step_agg('gamma', NULL, b, mpg, hp)) AS w
      FROM mtcars, (VALUES ('{0,0}'::float8[]), ('{3,-0.001}')) v(b) GROUP BY b) t ORDER BY b;
-- collinear columns: the later one is left out from the beginning
SELECT (a).rank, (a).coef[3] IS NULL AS aliased, (b).rank, (b).coef[3] IS NULL AS still
FROM (SELECT gpu_glm_solve(gpu_glm_step_agg('gamma', NULL, '{}', mpg, wt, wt * 2)) AS a FROM mtcars) t,
     LATERAL (SELECT gpu_glm_solve(gpu_glm_step_agg('gamma', NULL, (a).coef, mpg, wt, wt * 2)) AS b FROM mtcars) u;
-- the null deviance is the deviance of the mean alone; it is reported if there is a formula for it
SELECT abs((gpu_glm_solve(gpu_glm_step_agg('gamma', NULL, ARRAY[mean, NULL, NULL], mpg, wt, hp))).deviance / want - 1)
       < 1e-13 AS null_deviance
FROM mtcars, (SELECT ln(avg(mpg)) AS mean FROM mtcars) m,
     (SELECT null_deviance AS want FROM gpu_glance(gpu_glm_fit('SELECT mpg, wt, hp FROM mtcars', 'gamma'))) f
GROUP BY want;
SELECT f AS family, l AS link, intercept, abs((m).null_deviance / want - 1) < 1e-13 AS null_deviance
FROM (SELECT f, l, n = 3 AS intercept,
             gpu_glm_solve(gpu_glm_step_agg(f, l, array_fill(0::float8, ARRAY[n]), am, wt, hp)) AS m
      FROM mtcars, (VALUES ('binomial', 'logit'), ('binomial', 'cloglog'), ('quasibinomial', 'probit')) v(f, l),
           generate_series(2, 3) n GROUP BY f, l, n) t,
     LATERAL (SELECT null_deviance AS want
              FROM gpu_glance(gpu_glm_fit('SELECT am, wt, hp FROM mtcars', f, l, intercept))) u
ORDER BY f, l, intercept;

-- Groups of two families in turn, and parallel workers, whose states are merged
CREATE TABLE step_rows AS
SELECT i, i % 1500 AS g, i / 7 % 5 AS y, sin(i) AS a, cos(i * i) AS b,
       CASE WHEN i % 2 = 0 THEN 'poisson' ELSE 'negative binomial(' || i % 1500 || ')' END AS f
FROM generate_series(1, 24000) i;
ALTER TABLE step_rows SET (parallel_workers = 2);
ANALYZE step_rows;
CREATE VIEW step_one AS SELECT gpu_glm_step_agg('poisson', NULL, '{1,0.1,-0.1}', y, a, b) AS s FROM step_rows;
CREATE VIEW step_groups AS
SELECT g, gpu_glm_step_agg(f, NULL, '{1,0.1,-0.1}', y, a, b) AS s FROM step_rows GROUP BY g, f;
CREATE TEMP TABLE step_serial AS SELECT NULL::int AS g, s FROM step_one UNION ALL SELECT * FROM step_groups;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2; SET jit = off;
SET gpureg.enable_scan = on;
EXPLAIN (COSTS OFF) SELECT * FROM step_one;
RESET gpureg.enable_scan;
SELECT a.g IS NOT NULL AS grouped, count(*),
       max(step_difference(gpu_glm_solve(a.s), gpu_glm_solve(b.s))) < 1e-13 AS same
FROM step_serial a JOIN (SELECT NULL::int AS g, s FROM step_one UNION ALL SELECT * FROM step_groups) b
    ON a.g IS NOT DISTINCT FROM b.g GROUP BY 1 ORDER BY 1;
RESET ALL;
SELECT step_difference(gpu_glm_solve(gpu_logreg_rollup(s)),
                       (SELECT gpu_glm_solve(gpu_glm_step_agg(f, NULL, '{1,0.1,-0.1}', y, a, b)) FROM step_rows
                        WHERE f = 'poisson')) < 1e-13 AS rolled_up
FROM step_serial WHERE g % 2 = 0;
DROP TABLE step_rows CASCADE;

-- no rows, and only rows that are left out
SELECT gpu_glm_step_agg('poisson', NULL, '{}', carb, wt) IS NULL AS no_rows FROM mtcars WHERE false;
SELECT gpu_glm_step_agg('poisson', NULL, '{}', carb, NULL) IS NULL AS only_skipped,
       gpu_glm_solve(NULL) IS NULL AS no_state FROM mtcars;
CREATE TEMP TABLE skipped AS SELECT gpu_glm_step_accum(NULL, 'gamma', NULL, '{}', NULL::float8, 3) AS s;
SELECT gpu_glm_step_accum(s, 'poisson', NULL, '{}', true, 5)::text::json ->> 'skipped' AS skipped,
       gpu_glm_solve(s) IS NULL AS nothing FROM skipped;
SELECT (gpu_glm_solve(gpu_logreg_rollup(s))).n_skipped
FROM (SELECT gpu_glm_step_agg('poisson', NULL, '{}', carb, wt) AS s FROM mtcars UNION ALL SELECT s FROM skipped) t;

-- a role that owns nothing
CREATE ROLE regress_step;
GRANT SELECT ON few TO regress_step;
SET ROLE regress_step;
SELECT (gpu_glm_solve(gpu_logreg_rollup(s))).n
FROM (SELECT gpu_glm_step_agg('poisson', NULL, '{}', y, x) AS s FROM few GROUP BY x % 2) t;
RESET ROLE;
REVOKE ALL ON few FROM regress_step;
DROP ROLE regress_step;

-- states of other shapes
CREATE FUNCTION step_error(command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    r text;
BEGIN
    EXECUTE 'SELECT (' || command || ')::text FROM step_states' INTO r;
    RETURN 'no error: ' || r;
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
\set zeros '0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0'
CREATE TEMP TABLE step_states AS
SELECT gpu_logreg_step_agg('{}', y > 0, x) AS logistic, gpu_glm_step_agg('poisson', NULL, '{}', y, x) AS poisson,
       gpu_glm_step_agg('quasibinomial', NULL, '{}', y > 0, x) AS quasi,
       gpu_glm_step_agg('negative binomial(2)', NULL, '{1,0.1}', y, x) AS negative,
       ('{"version":1,"features":1,"skipped":0,"pass":1,"faces":0,"changed":0,"rows":0,"workers":0,"relative":[0],'
        '"request":[0,0,0,0,0,0],"sums":[0,0,0,"Infinity",0,0,"Infinity",0,0,0,0,0,0,0,0]}')::gpu_logreg_step AS fast,
       ('{"version":1,"features":1,"skipped":0,"pass":0,"roles":8,"family":2,"link":4,"faces":0,"changed":0,"rows":0,'
        '"workers":0,"relative":[0],"theta":[0],"request":[0,0,0,0,0,0],"sums":[0,0,0,"Infinity",0,0,"Infinity",0,'
        || :'zeros' || ',0,0,0,0,0,0,0]}')::gpu_logreg_step AS linear
FROM few;
SELECT command, step_error(command) FROM (VALUES
    ($$gpu_logreg_step_accum(poisson, '{}', 1, 2)$$), ($$gpu_logreg_step_accum(quasi, '{}', true, 2)$$),
    ($$gpu_logreg_step_accum(negative, '{1,0.1}', 1, 2)$$), ($$gpu_logreg_step_accum(linear, '{}', true, 2)$$),
    ($$gpu_glm_step_accum(fast, 'binomial', NULL, '{}', 1, 2)$$),
    ($$gpu_glm_step_accum(linear, 'poisson', NULL, '{}', 1, 2)$$),
    ($$gpu_glm_step_accum(linear, 'poisson', NULL, '{}', NULL::float8, 2)$$),
    ($$gpu_glm_step_accum(logistic, 'poisson', NULL, '{}', 1, 2)$$),
    ($$gpu_glm_step_accum(poisson, 'poisson', 'sqrt', '{}', 1, 2)$$),
    ($$gpu_glm_step_accum(poisson, 'quasipoisson', NULL, '{}', 1, 2)$$),
    ($$gpu_glm_step_accum(negative, 'negative binomial(3)', NULL, '{1,0.1}', 1, 2)$$),
    ($$gpu_glm_step_accum(negative, 'negative binomial(2)', NULL, '{}', 1, 2)$$),
    ($$gpu_glm_step_accum(poisson, 'poisson', NULL, '{1,0.1}', 1, 2)$$),
    ($$gpu_glm_step_accum(poisson, 'poisson', NULL, '{0,NULL}', 1, 2)$$),
    ($$gpu_glm_step_accum(poisson, 'poisson', NULL, '{0}', 1, 2)$$),
    ($$gpu_glm_step_accum(poisson, 'poisson', NULL, '{}', 1, 2, 3)$$),
    ($$(gpu_glm_solve(gpu_glm_step_accum(logistic, 'binomial', 'logit', '{}', 1, 2))).n$$),
    ($$(gpu_glm_solve(gpu_glm_step_accum(poisson, 'poisson', NULL, '{0,0}', 1, 2))).n$$),
    ($$(gpu_logreg_solve(gpu_logreg_step_accum(logistic, '{}', 1, 2))).n$$),
    ($$gpu_logreg_step_combine(poisson, logistic)$$), ($$gpu_logreg_step_combine(quasi, logistic)$$),
    ($$gpu_logreg_step_combine(poisson, linear)$$), ($$gpu_logreg_step_combine(poisson, negative)$$),
    ($$gpu_logreg_step_combine(negative, gpu_glm_step_accum(NULL, 'negative binomial(3)', NULL, '{1,0.1}', 1, 2))$$),
    ($$gpu_logreg_step_combine(negative, gpu_glm_step_accum(NULL, 'negative binomial(2)', 'sqrt', '{1,0.1}', 1, 2))$$),
    ($$gpu_logreg_step_combine(negative, gpu_glm_step_accum(NULL, 'negative binomial(2)', NULL, '{1,0.2}', 1, 2))$$),
    ($$gpu_logreg_step_combine(poisson, gpu_glm_step_accum(NULL, 'poisson', NULL, '{1,0.2}', 1, 2))$$),
    ($$gpu_logreg_step_combine(poisson, gpu_glm_step_accum(NULL, 'poisson', NULL, '{}', 1, 2, 3))$$),
    ($$gpu_glm_solve((SELECT gpu_logreg_array_pass(linear, y::float8, ARRAY[x::float8]) FROM few))$$),
    ($$gpu_logreg_step_send(linear)$$)) t(command);
SELECT gpu_logreg_step_combine(negative, poisson) FROM step_states;
-- texts of states with one change
SELECT what, left(step_error(quote_literal(replace(negative::text, a, b)) || '::gpu_logreg_step'), 37) AS error
FROM step_states, (VALUES ('itself', '', ''), ('family', 'negative binomial', 'positive binomial'),
    ('another link', '"log"', '"logit"'), ('a family without theta', 'negative binomial', 'poisson'),
    ('another beginning', '"linear":0', '"linear":1'), ('as linear as that', '"linear":0', '"linear":2'),
    ('a pass', '"intercept":1', '"pass":0'), ('theta', '"theta":[2]', '"theta":[-2]'), ('no theta', '"theta":[2],', ''),
    ('version', '"version":2', '"version":1'), ('features', '"features":1', '"features":-1'),
    ('n', '"head":[3', '"head":[4'), ('sum', '5],"totals"', '-5],"totals"'), ('totals', '"totals":[3', '"totals":[2'),
    ('constant', '"totals":[3,5', '"totals":[3,null'),
    ('a long name', 'negative binomial', repeat('negative binomial', 9)),
    ('no end', '"negative binomial",', '"negative binomial')) v(what, a, b);
-- linear and logistic regression begin at 0
SELECT step_error(quote_literal(replace(s, '"linear":0', '"linear":1')) || '::gpu_logreg_step')
FROM (SELECT quasi::text AS s FROM step_states
      UNION ALL SELECT gpu_glm_step_agg('gaussian', NULL, '{}', y, x)::text FROM few) t;

-- errors
SELECT gpu_glm_step_agg(NULL, NULL, '{}', carb, wt) FROM mtcars;
SELECT gpu_glm_step_agg('poison', NULL, '{}', carb, wt) FROM mtcars;
SELECT gpu_glm_step_agg('poisson(2)', NULL, '{}', carb, wt) FROM mtcars;
SELECT gpu_glm_step_agg('negative binomial', NULL, '{}', carb, wt) FROM mtcars;
SELECT gpu_glm_step_agg('negative binomial(', NULL, '{}', carb, wt) FROM mtcars;
SELECT gpu_glm_step_agg('negative binomial(1)(2)', NULL, '{}', carb, wt) FROM mtcars;
SELECT gpu_glm_step_agg('negative binomial(-1)', NULL, '{}', carb, wt) FROM mtcars;
SELECT gpu_glm_step_agg('negative binomial(inf)', NULL, '{}', carb, wt) FROM mtcars;
SELECT gpu_glm_step_agg('poisson', 'logarithm', '{}', carb, wt) FROM mtcars;
SELECT gpu_glm_step_agg('poisson', 'logit', '{}', carb, wt) FROM mtcars;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_glm_step_agg(CASE WHEN wt > 3 THEN 'poisson' ELSE 'quasipoisson' END, NULL, '{}', carb, wt) FROM mtcars;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_glm_step_agg('poisson', CASE WHEN wt > 3 THEN 'sqrt' END, '{}', carb, wt) FROM mtcars;
SELECT gpu_glm_step_agg('poisson', NULL, CASE WHEN wt > 3 THEN '{1,0}' ELSE '{}' END::float8[], carb, wt) FROM mtcars;
SELECT gpu_glm_step_agg('poisson', NULL, NULL, carb, wt) FROM mtcars;
SELECT gpu_glm_step_agg('poisson', NULL, '{1,2,3}', carb, wt) FROM mtcars;
SELECT gpu_glm_step_agg('poisson', NULL, '{{1},{2}}', carb, wt) FROM mtcars;
SELECT gpu_glm_step_agg('poisson', NULL, '{1,Infinity}', carb, wt) FROM mtcars;
SELECT gpu_glm_step_agg('poisson', NULL, '{}', carb, VARIADIC '{}'::float8[]) FROM mtcars;
-- errors like those of gpu_glm_fit
SELECT gpu_glm_step_agg('poisson', NULL, '{}', -carb, wt) FROM mtcars;
SELECT gpu_glm_fit('SELECT -carb AS y, wt FROM mtcars', 'poisson');
SELECT gpu_glm_step_agg('gamma', NULL, '{}', am, wt) FROM mtcars;
SELECT gpu_glm_step_agg('binomial', 'probit', '{}', carb, wt) FROM mtcars;
SELECT gpu_glm_step_agg('gaussian', NULL, '{}', 'NaN'::float8, wt) FROM mtcars;
SELECT gpu_glm_step_agg('poisson', NULL, '{}', carb, CASE WHEN wt > 3 THEN 'Infinity' ELSE wt END) FROM mtcars;
SELECT gpu_glm_solve(gpu_glm_step_agg('poisson', NULL, '{}', 0, wt)) FROM mtcars;
SELECT gpu_glm_solve(gpu_glm_step_agg('binomial', 'cloglog', '{}', true, wt)) FROM mtcars;
SELECT gpu_glm_solve(gpu_glm_step_agg('poisson', NULL, '{}', carb, wt), -1) FROM mtcars;
-- out of range: the first mean's predictor, and beta times x
SELECT gpu_glm_step_agg('gamma', 'inverse', '{}', 1e-320, wt) FROM mtcars;
SELECT gpu_glm_step_agg('binomial', 'probit', '{0,1e308}', am, wt * 10) FROM mtcars;
-- rows without a mean: the deviance is infinite, and null in the text
SELECT s -> 'head' ->> 0 AS n, s -> 'head' ->> 1 AS deviance, t::gpu_logreg_step::text = t AS same
FROM (SELECT t, t::json AS s
      FROM (SELECT gpu_glm_step_agg('poisson', 'identity', '{1,-1}', carb, wt)::text AS t FROM mtcars) t) u;
SELECT gpu_glm_solve(gpu_glm_step_agg('poisson', 'identity', '{1,-1}', carb, wt)) FROM mtcars;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_glm_solve(gpu_glm_step_agg('poisson', 'log', '{1,1000}', carb, wt)) FROM mtcars;
SELECT gpu_logreg_solve(gpu_glm_step_agg('gamma', 'inverse', '{0,-1}', mpg, wt)) FROM mtcars;
-- a sum of responses beyond float8's range, which a step's text cannot express
SELECT gpu_glm_step_agg('gamma', 'inverse', '{}', 1e308, i) FROM generate_series(1, 2) i;
\echo :LAST_ERROR_SQLSTATE
DROP FUNCTION step_loop, step_lines, step_null, step_halfway, step_difference, step_parts, step_begins, step_error;
