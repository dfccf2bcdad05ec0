-- gpu_auc and gpu_brier against all pairs counted in SQL, sums in numeric, and R 4.2's wilcox.test():
-- test/data/after_fit_reference.R.
\set VERBOSITY default
CREATE TABLE scored AS SELECT i % 7 AS g, round((sin(i) * 20)::numeric) / 8 AS score,
    ((i * 7919) % 13 + round(sin(i) * 20)) > 6 AS label, abs(sin(i * 0.7)) AS p FROM generate_series(1, 2000) i;
ANALYZE scored;
CREATE FUNCTION auc_by_pairs(g_from int, g_to int) RETURNS numeric LANGUAGE sql STABLE AS $$
    SELECT avg(CASE WHEN a.score > b.score THEN 1 WHEN a.score = b.score THEN 0.5 ELSE 0 END) FROM scored a, scored b
    WHERE a.label AND NOT b.label AND a.g BETWEEN g_from AND g_to AND b.g BETWEEN g_from AND g_to
$$;
-- small cases: in order, in reverse, half and half, equal scores
SELECT gpu_auc(s, y) FROM (VALUES (1, false), (2, false), (3, true), (4, true)) t(s, y);
SELECT gpu_auc(s, NOT y) FROM (VALUES (1, false), (2, false), (3, true), (4, true)) t(s, y);
SELECT gpu_auc(s, y) FROM (VALUES (1, 0), (2, 1), (2, 0), (3, 1)) t(s, y);
SELECT gpu_auc(s, y) AS ties, gpu_auc(-s, y) AS zeros,
    gpu_auc(CASE WHEN y = 1 THEN 'Infinity' ELSE '-Infinity' END::float8, y) AS infinite
FROM (VALUES (0::float8, 0), ('-0', 1)) t(s, y);
-- labels as numbers of any type, and as booleans; wilcox.test() of mtcars
SELECT gpu_auc(mpg, am) = gpu_auc(mpg, am = 1) AS boolean, gpu_auc(mpg, am) = gpu_auc(mpg, am::int) AS int,
    gpu_auc(mpg, am) = gpu_auc(mpg::numeric, am::numeric) AS numeric,
    digits(gpu_auc(mpg, am), 0.82995951417004040) >= 15 AS wilcoxon FROM mtcars;
-- many ties, to the last digit; groups, filters
SELECT digits(gpu_auc(score, label), auc_by_pairs(0, 6)) >= 15.9 AS all, count(*) FROM scored;
SELECT bool_and(digits(auc, auc_by_pairs(g, g)) >= 15.9) AS groups
FROM (SELECT g, gpu_auc(score, label) AS auc FROM scored GROUP BY g) a;
SELECT digits(gpu_auc(score, label) FILTER (WHERE g = 3), auc_by_pairs(3, 3)) >= 15.9 AS filtered FROM scored;
-- neither the order of rows matters, nor how often tallies are merged
SELECT count(DISTINCT auc) FROM (SELECT gpu_auc(score, label ORDER BY score) AS auc FROM scored
    UNION ALL SELECT gpu_auc(score, label ORDER BY score DESC, label) FROM scored
    UNION ALL SELECT gpu_auc(score, label ORDER BY p) FROM scored) a;
SELECT gpu_auc(i, i % 2) AS distinct_scores, gpu_auc(i % 100, i % 2) AS few FROM generate_series(1, 100000) i;
-- more scores than work_mem holds: the sum of (k - 1) over m ones, of m^2 pairs
SELECT gpu_auc(i, i % 2) = 8499999.0 / 17000000 AS exact FROM generate_series(1, 17000000) i;
-- windows: a frame that grows, and one that moves
SELECT bool_and(a.w IS NOT DISTINCT FROM b.auc) AS grows, count(a.w) FROM
    (SELECT i, gpu_auc(s, y) OVER (ORDER BY i) AS w FROM (SELECT i, (i * 37) % 11 AS s, (i * 5) % 3 = 0 AS y
        FROM generate_series(1, 40) i) t) a,
    LATERAL (SELECT gpu_auc((j * 37) % 11, (j * 5) % 3 = 0) AS auc FROM generate_series(1, a.i) j) b;
SELECT bool_and(a.w IS NOT DISTINCT FROM b.auc AND a.v = b.brier) AS moves, count(a.w) FROM
    (SELECT i, gpu_auc(s, y) OVER last AS w, gpu_brier(s / 10.0, y) OVER last AS v
        FROM (SELECT i, (i * 37) % 11 AS s, (i * 5) % 3 = 0 AS y
        FROM generate_series(1, 40) i) t WINDOW last AS (ORDER BY i ROWS 6 PRECEDING)) a,
    LATERAL (SELECT gpu_auc((j * 37) % 11, (j * 5) % 3 = 0) AS auc,
        gpu_brier((j * 37) % 11 / 10.0, (j * 5) % 3 = 0) AS brier FROM generate_series(greatest(a.i - 6, 1), a.i) j) b;
-- NULLs, no rows, one class
SELECT gpu_auc(s, y), gpu_brier(s, y) FROM (VALUES (0.1, false), (0.9, NULL), (NULL, true), (0.4, true)) t(s, y);
SELECT gpu_auc(score, label), gpu_brier(p, label) FROM scored WHERE false;
SELECT gpu_auc(NULL::float8, label), gpu_brier(p, NULL::boolean) FROM scored;
SELECT gpu_auc(score, true), gpu_auc(score, 0), gpu_brier(1, true), gpu_brier(0, 1) FROM scored;
-- gpu_brier: the mean squared difference, exactly; logistic probabilities of mtcars, R's mean((fitted(h) - am)^2)
SELECT digits(gpu_brier(p, label), avg((p::text::numeric - label::int) ^ 2)) >= 15.5 AS mean,
    gpu_brier(p, label) = gpu_brier(p, label::int) AS int FROM scored;
SELECT digits(gpu_brier(1e-9, i % 1000 = 0), (1000 * (1 - 1e-9) ^ 2 + 999000 * 1e-18) / 1000000) >= 15.9 AS mean
FROM generate_series(1, 1000000) i;
SELECT digits(gpu_brier(gpu_predict(h, wt, hp), am), 0.046592363225272666) >= 12 AS mtcars
FROM mtcars, (SELECT gpu_logreg_fit('SELECT am, wt, hp FROM mtcars') AS h) f;
-- parallel plans: partial aggregates, whose states are sent
CREATE FUNCTION plan_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP RETURN NEXT regexp_replace(line, '\s*(->)?\s*', '');
    END LOOP;
END
$$;
CREATE TABLE serial_scores AS SELECT g, gpu_auc(score, label) AS auc, gpu_brier(p, label) AS brier FROM scored
GROUP BY GROUPING SETS ((), (g));
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 3;
SELECT count(*) FROM plan_of('SELECT gpu_auc(score, label), gpu_brier(p, label) FROM scored') p
WHERE p ~ '^(Finalize|Partial) Aggregate|^Workers Planned: [1-9]';
SELECT auc = (SELECT auc FROM serial_scores WHERE g IS NULL) AS auc,
    abs(brier - (SELECT brier FROM serial_scores WHERE g IS NULL)) < 1e-16 AS brier
FROM (SELECT gpu_auc(score, label) AS auc, gpu_brier(p, label) AS brier FROM scored) a;
SELECT bool_and(a.auc = s.auc AND abs(a.brier - s.brier) < 1e-16) AS groups, count(*)
FROM (SELECT g, gpu_auc(score, label::int) AS auc, gpu_brier(p, label::int) AS brier FROM scored GROUP BY g) a
JOIN serial_scores s USING (g);
RESET ALL;
-- errors
\set VERBOSITY default
SELECT gpu_auc('NaN'::float8, true);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_auc(1, 2);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_auc(1, 'NaN'::float8);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_brier(1.5, 1);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_brier('NaN', true);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_brier(0.5, 0.5);
\echo :LAST_ERROR_SQLSTATE
-- functions of the aggregates, called directly
SELECT call, refuses_internal(call) AS refused
FROM unnest(ARRAY['gpu_auc_final(NULL)', 'gpu_auc_accum(NULL, 1, true)', 'gpu_auc_combine(NULL, NULL)',
    $$gpu_auc_deserialize('\x00', NULL)$$]) call;
SELECT gpu_brier_accum('{1,2}', 0.5, true);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_brier_accum('{1,2,NULL}', 0.5, true);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_brier_combine('{1,2,3}', '{{1,2,3}}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_brier_final('{NaN,2,3}');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_brier_final('{}');
\echo :LAST_ERROR_SQLSTATE
SELECT state, gpu_brier_accum(state, 0.5, true) AS next, gpu_brier_combine(state, state) AS twice,
    gpu_brier_final(state) AS mean, gpu_brier_accum(state, NULL::float8, true) AS same
FROM (VALUES ('{2,0.5,0}'::float8[])) t(state);
SELECT count(*) FROM pg_proc p JOIN pg_aggregate a ON a.aggfnoid = p.oid WHERE proname IN ('gpu_auc', 'gpu_brier')
    AND proparallel = 's' AND aggcombinefn <> 0 AND obj_description(p.oid, 'pg_proc') IS NOT NULL;
DROP TABLE scored, serial_scores;
DROP FUNCTION plan_of, auc_by_pairs;
