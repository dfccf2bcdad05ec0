-- gpu_ols and gpu_logreg over array_agg, which the planner turns into aggregates: results and errors must be the same.
SET gpureg.device = auto;
CREATE FUNCTION outcome(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text; message text; detail text;
BEGIN
    EXECUTE format('SELECT string_agg(s::text, E''\n'' ORDER BY s::text) FROM (%s) s', query) INTO result;
    RETURN coalesce(result, 'no rows');
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
    RETURN format('%s: %s %s', SQLSTATE, message, detail);
END $$;
CREATE FUNCTION plan_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; plan text := '';
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || query LOOP plan := plan || line || E'\n'; END LOOP;
    RETURN plan;
EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE;
END $$;
-- A query's results with the rewrite on and off; a result is shown if the two differ, an error always. Models of
-- logistic regressions agree up to their last step
CREATE FUNCTION both_ways(query text) RETURNS TABLE (rewritten boolean, same boolean, outcome text)
LANGUAGE plpgsql AS $$
DECLARE plain text; made text;
BEGIN
    PERFORM set_config('gpureg.enable_rewrite', 'off', true);
    plain := outcome(query);
    IF plan_of(query) ~ 'gpu_ols_coef|gpu_logreg_rows_agg' THEN RAISE EXCEPTION 'rewritten: %', query; END IF;
    PERFORM set_config('gpureg.enable_rewrite', 'on', true);
    made := outcome(query);
    RETURN QUERY SELECT plan_of(query) ~ 'gpu_ols_coef|gpu_logreg_rows_agg', plain = made,
        CASE WHEN plain <> made THEN format('off: %s on: %s', plain, made) WHEN made ~ '^[0-9A-Z]{5}: ' THEN made
            WHEN made IN ('()', 'no rows') THEN 'NULL' END;
END $$;
CREATE TABLE pairs AS
SELECT i, i % 7 AS g, (hashint4(i) % 1000) / 7.0::float8 AS x, ((hashint4(i + 1000) % 1000) / 3.0)::real AS r,
    hashint4(i + 2000) % 50 AS k, (hashint4(i + 3000) % 1000) / 10.0 AS n,
       i * 0.5 + hashint4(i + 4000) % 100 AS y, hashint4(i + 5000) % 3 = 0 AS b, ARRAY[i, hashint4(i) % 30, 1.5] AS v,
       ARRAY[i, hashint4(i) % 30]::real[] AS rv
FROM generate_series(1, 500) i;
INSERT INTO pairs VALUES (501, 1, NULL, 2, 3, 4, 5, true, '{1,2,3}', '{4,5}'),
    (502, 2, 1, 2, 3, 4, NULL, NULL, '{1,NULL,3}', '{4,5}'), (503, 3, 'NaN', 'NaN', NULL, 'NaN', NULL, NULL,
    '{NaN,2,3}', '{1,NULL}');
ANALYZE pairs;

-- the plan after the rewrite
SELECT usual_plans(true) \gset
SET gpureg.enable_scan = on;
EXPLAIN (VERBOSE, COSTS OFF) SELECT gpu_ols(array_agg(x), array_agg(y)) FROM pairs;
EXPLAIN (VERBOSE, COSTS OFF) SELECT g, gpu_ols(array_agg(ARRAY[k, i] ORDER BY i), array_agg(r ORDER BY i), false)
FROM pairs GROUP BY g HAVING (gpu_ols(array_agg(x), array_agg(y)))[2] > 0;
RESET gpureg.enable_scan;
EXPLAIN (VERBOSE, COSTS OFF) SELECT gpu_ols(array_agg(rv) FILTER (WHERE k > 3), array_agg(n) FILTER (WHERE k > 3))
FROM pairs;
SELECT gpu_ols(array_agg(x), array_agg(y)) IS NOT NULL AS fits FROM pairs WHERE i <= 500;
SELECT function, device, reason, rows, features FROM gpu_last_run();
SET gpureg.enable_rewrite = off;
EXPLAIN (VERBOSE, COSTS OFF) SELECT gpu_ols(array_agg(x), array_agg(y)) FROM pairs;
RESET gpureg.enable_rewrite;
SELECT usual_plans(false) \gset

-- rows and types
SELECT query, b.* FROM unnest(ARRAY[
    'SELECT gpu_ols(array_agg(x), array_agg(y)) FROM pairs',
    'SELECT gpu_ols(array_agg(x), array_agg(y), false) FROM pairs',
    'SELECT gpu_ols(intercept => false, y => array_agg(y), x => array_agg(k)) FROM pairs',
    'SELECT gpu_ols(array_agg(k), array_agg(n)) FROM pairs',
    'SELECT gpu_ols(array_agg(r), array_agg(k::bigint)) FROM pairs',
    'SELECT gpu_ols(array_agg(n)::real[], array_agg(n)::int[]) FROM pairs WHERE i <= 500',
    'SELECT gpu_ols(array_agg(k)::text[]::float8[], array_agg(y)::text::float8[]) FROM pairs',
    'SELECT gpu_ols(array_agg(k)::text[]::float8[], array_agg(y)) FROM pairs',
    'SELECT gpu_ols(array_agg(ARRAY[x, k, r]), array_agg(y)) FROM pairs',
    'SELECT gpu_ols(array_agg(ARRAY[k, i]), array_agg(y)) FROM pairs',
    'SELECT gpu_ols(array_agg(ARRAY[k, n, i]), array_agg(y)) FROM pairs',
    'SELECT gpu_ols(array_agg(ARRAY[x]), array_agg(y)) FROM pairs',
    'SELECT gpu_ols(array_agg(ARRAY[k, NULL]), array_agg(y)) FROM pairs',
    'SELECT gpu_ols(array_agg(ARRAY[1, 2]), array_agg(y)) FROM pairs',
    'SELECT gpu_ols(array_agg(v), array_agg(y)) FROM pairs',
    'SELECT gpu_ols(array_agg(rv), array_agg(y)) FROM pairs',
    'SELECT gpu_ols(array_agg(v || x), array_agg(y)) FROM pairs',
    'SELECT gpu_ols(array_agg(x), array_agg(y)) FROM pairs WHERE false',
    'SELECT gpu_ols(array_agg(v), array_agg(y)) FROM pairs WHERE false',
    'SELECT gpu_ols(array_agg(x), array_agg(y)) FROM pairs WHERE i = 502',
    'SELECT gpu_ols(array_agg(x), array_agg(y)) FROM pairs WHERE i = 7',
    'SELECT gpu_ols(array_agg(x), array_agg(y), NULL) FROM pairs',
    'SELECT gpu_ols(array_agg(NULL::float8), array_agg(y)) FROM pairs',
    'SELECT gpu_ols(array_agg(ARRAY[x, 2 * x, y]), array_agg(y)) FROM pairs'
]) WITH ORDINALITY AS q(query, o), both_ways(query) b ORDER BY o;

-- errors
SELECT query, b.* FROM unnest(ARRAY[
    'SELECT gpu_ols(array_agg(r), array_agg(1)) FROM pairs',
    'SELECT gpu_ols(array_agg(x), array_agg(n)) FROM pairs WHERE x = ''NaN'' OR i < 9',
    'SELECT gpu_ols(array_agg(ARRAY[k, x]), array_agg(k)) FROM pairs, (VALUES (1 / 3.0), (''infinity''::float8)) s(s) '
        'WHERE x <> ''NaN'' AND x * s < 1e300',
    'SELECT gpu_ols(array_agg(i), array_agg(CASE WHEN i = 3 THEN ''infinity'' ELSE y END)) FROM pairs',
    'SELECT gpu_ols(array_agg(x * 1e200), array_agg(y)) FROM pairs WHERE x <> ''NaN''',
    'SELECT gpu_ols(array_agg(i * 1e-200), array_agg(y)) FROM pairs',
    'SELECT gpu_ols(array_agg(v), array_agg(y)) FROM (TABLE pairs UNION ALL SELECT 0, 0, 0, 0, 0, 0, 0, true, NULL, '
        'NULL) s',
    'SELECT gpu_ols(array_agg(v), array_agg(NULL::float8)) FROM (VALUES (NULL::float8[])) s(v)',
    'SELECT gpu_ols(array_agg(v), array_agg(y)) FROM (VALUES (''{}''::float8[], 1)) s(v, y)',
    'SELECT gpu_ols(array_agg(v), array_agg(y)) FROM (VALUES (''{1}''::float8[], 1), (''{}'', 1)) s(v, y)',
    'SELECT gpu_ols(array_agg(v), array_agg(y)) FROM (VALUES (''{1,2}''::float8[], 1), (''{1}'', NULL)) s(v, y)',
    'SELECT gpu_ols(array_agg(v), array_agg(y)) FROM (VALUES (''{1,2}''::float8[], NULL), (''{1,2,3}'', 1)) s(v, y)',
    'SELECT gpu_ols(array_agg(v), array_agg(y)) FROM (VALUES (''{1,2}''::float8[], 1), (''[0:1]={1,2}'', 1)) s(v, y)',
    'SELECT gpu_ols(array_agg(v), array_agg(y)) FROM (VALUES (''[0:1]={1,2}''::float8[], 1), (''[0:1]={3,2}'', 1)) '
        's(v, y)',
    'SELECT gpu_ols(array_agg(v), array_agg(y)) FROM (VALUES (''{{1,2}}''::float8[], 1), (''{{1,2}}'', 1)) s(v, y)',
    'SELECT gpu_ols(array_agg(v), array_agg(y)) FROM (VALUES (''{1,2}''::float8[], 1), (''{{1,2}}'', 1)) s(v, y)',
    'SELECT gpu_ols(array_agg(v), array_agg(y)) FROM (VALUES (''{{{{{{1,2}}}}}}''::float8[], 1)) s(v, y)',
    'SELECT gpu_ols(array_agg(ARRAY[ARRAY[x, y], ARRAY[y, x]]), array_agg(y)) FROM pairs',
    'SELECT gpu_ols(array_agg(ARRAY[]::float8[]), array_agg(y)) FROM pairs',
    'SELECT gpu_ols(array_agg(array_fill(1::float8, ARRAY[10001])), array_agg(y)) FROM pairs WHERE i < 4',
    'SELECT gpu_ols(array_agg(array_fill(1::float8, ARRAY[10001])), array_agg(NULL::float8)) FROM pairs WHERE i < 4',
    'SELECT gpu_ols(array_agg(x), array_agg(v)) FROM pairs',
    'SELECT gpu_ols(array_agg(v), array_agg(v)) FROM pairs',
    'SELECT gpu_ols(array_agg(1 / (k - k)), array_agg(y)) FROM pairs'
]) WITH ORDINALITY AS q(query, o), both_ways(query) b ORDER BY o;

-- logistic regression
CREATE FUNCTION rounded(float8[]) RETURNS text[]
LANGUAGE sql IMMUTABLE AS 'SELECT array_agg(to_char(v, ''9.999999999EEEE'') ORDER BY i) FROM unnest($1) WITH '
    'ORDINALITY AS u(v, i)';
SELECT usual_plans(true) \gset
EXPLAIN (VERBOSE, COSTS OFF) SELECT gpu_logreg(array_agg(ARRAY[k, i]), array_agg(b)) FROM pairs;
EXPLAIN (VERBOSE, COSTS OFF) SELECT g, gpu_logreg(array_agg(v ORDER BY i), array_agg(b::int ORDER BY i), false, 0.5)
FROM pairs GROUP BY g;
SELECT gpu_logreg(array_agg(k), array_agg(b)) IS NOT NULL AS fits FROM pairs;
SELECT function, device, rows, features FROM gpu_last_run();
SELECT usual_plans(false) \gset
SET client_min_messages = error;
SELECT query, b.* FROM unnest(ARRAY[
    'SELECT rounded(gpu_logreg(array_agg(k), array_agg(b))) FROM pairs',
    'SELECT rounded(gpu_logreg(array_agg(k), array_agg(b::int))) FROM pairs',
    'SELECT rounded(gpu_logreg(array_agg(k), array_agg(b::int::float8), false, 2)) FROM pairs',
    'SELECT rounded(gpu_logreg(array_agg(ARRAY[r, i, k]), array_agg(b))) FROM pairs WHERE i < 502',
    'SELECT rounded(gpu_logreg(array_agg(v), array_agg(b), l2 => 1)) FROM pairs',
    'SELECT rounded(gpu_logreg(array_agg(rv), array_agg(b::int))) FROM pairs',
    'SELECT g, rounded(gpu_logreg(array_agg(k) FILTER (WHERE i > 9), array_agg(b) FILTER (WHERE i > 9))) FROM pairs '
        'GROUP BY g',
    'SELECT g, rounded(gpu_logreg(array_agg(k), array_agg(b))) FROM pairs GROUP BY ROLLUP (g) HAVING '
        '(gpu_logreg(array_agg(k), array_agg(b)))[1] < 0',
    'SELECT rounded(gpu_logreg(array_agg(i), array_agg(i > 50))) FROM pairs',
    'SELECT rounded(gpu_logreg(array_agg(ARRAY[k, 2 * k]), array_agg(b))) FROM pairs',
    'SELECT gpu_logreg(array_agg(k), array_agg(b)) FROM pairs WHERE false',
    'SELECT gpu_logreg(array_agg(k), array_agg(b), l2 => -1) FROM pairs WHERE false',
    'SELECT gpu_logreg(array_agg(k), array_agg(b)) FROM pairs WHERE b IS NULL',
    'SELECT gpu_logreg(array_agg(k), array_agg(b), NULL) FROM pairs',
    'SELECT gpu_logreg(array_agg(k), array_agg(b), true, NULL) FROM pairs',
    'SELECT gpu_logreg(array_agg(k), array_agg(b), l2 => -1) FROM pairs',
    'SELECT gpu_logreg(array_agg(k), array_agg(b), l2 => -1) FROM pairs WHERE b IS NULL',
    'SELECT gpu_logreg(array_agg(k), array_agg(b)) FROM pairs WHERE b',
    'SELECT gpu_logreg(array_agg(k), array_agg(0)) FROM pairs',
    'SELECT gpu_logreg(array_agg(k), array_agg(i)) FROM pairs',
    'SELECT gpu_logreg(array_agg(x), array_agg(coalesce(b, true))) FROM pairs',
    'SELECT gpu_logreg(array_agg(i), array_agg(CASE WHEN i = 3 THEN ''NaN'' ELSE 1.0 END)) FROM pairs',
    'SELECT gpu_logreg(array_agg(x * 1e200), array_agg(b)) FROM pairs WHERE x <> ''NaN''',
    'SELECT gpu_logreg(array_agg(CASE WHEN i < 9 THEN v END), array_agg(NULL::boolean)) FROM pairs',
    'SELECT gpu_logreg(array_agg(v[1:i]), array_agg(b)) FROM pairs',
    'SELECT gpu_logreg(array_agg(ARRAY[v, v]), array_agg(b)) FROM pairs',
    'SELECT gpu_logreg(array_agg(ARRAY[]::int[]), array_agg(b)) FROM pairs',
    'SELECT gpu_logreg(array_agg(array_fill(1::float8, ARRAY[10001])), array_agg(NULL::boolean)) FROM pairs WHERE i < '
        '4',
    'SELECT rounded(gpu_logreg(array_agg(DISTINCT k), array_agg(DISTINCT k > 25))) FROM pairs',
    'SELECT gpu_logreg(array_agg(k) FILTER (WHERE i > 3), array_agg(b)) FROM pairs',
    'SELECT rounded(gpu_logreg(array_agg(k), array_agg(b), count(*) > 3)) FROM pairs',
    'SELECT rounded(gpu_logreg(array_agg(k) OVER w, array_agg(b) OVER w)) FROM pairs WHERE i < 9 WINDOW w AS (ORDER '
        'BY i ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)'
]) WITH ORDINALITY AS q(query, o), both_ways(query) b ORDER BY o;
RESET client_min_messages;
SELECT gpu_logreg_rows_agg(b, v, i > 5, 0) FROM pairs;
\echo :LAST_ERROR_SQLSTATE
PREPARE fit(boolean, float8) AS SELECT gpu_logreg(array_agg(k), array_agg(b), $1, $2) FROM pairs;
SET plan_cache_mode = force_generic_plan;
EXECUTE fit(NULL, 1);
EXECUTE fit(true, NULL);
EXECUTE fit(true, -1);
DEALLOCATE fit;
RESET plan_cache_mode;

-- rows beyond work_mem are in a file, except those of a window frame, which grows
CREATE TABLE tall AS SELECT i, i % 20000 / 10000 AS g, (hashint4(i) % 1000) / 7.0::float8 AS a,
    (hashint4(i + 1) % 1000) / 3.0::float8 AS c,
    hashint4(i + 2) % 5 < 2 + (hashint4(i) % 1000) / 800 AS b FROM generate_series(1, 20000) i;
ANALYZE tall;
SELECT usual_plans(true) \gset
CREATE TEMP TABLE kept AS SELECT g, gpu_logreg_agg(b, a, c) AS m FROM tall GROUP BY g;
SELECT reason ~ 'temporary file' AS in_file FROM gpu_last_run();
SET work_mem = '64kB';
CREATE TEMP TABLE spooled AS SELECT g, gpu_logreg_agg(b, a, c) AS m FROM tall GROUP BY g;
SELECT reason ~ 'temporary file' AS in_file FROM gpu_last_run() WHERE device = 'cpu';
SELECT usual_plans(false) \gset
SELECT k.g, (k.m).n, (k.m).converged, relative_difference((k.m).coef, (s.m).coef) < 1e-12 AS coef,
    abs((k.m).deviance / (s.m).deviance - 1) < 1e-12 AS deviance FROM kept k JOIN spooled s USING (g) ORDER BY g;
SELECT query, b.* FROM unnest(ARRAY[
    'SELECT g, rounded(gpu_logreg(array_agg(ARRAY[a, c]), array_agg(b))) FROM tall GROUP BY g',
    'SELECT rounded(gpu_logreg(array_agg(ARRAY[a, c, 1e3 + a * a]), array_agg(b::int), true, 1)) FROM tall',
    'SELECT gpu_logreg(array_agg(a), array_agg(CASE WHEN i = 19999 THEN 2 ELSE b::int END)) FROM tall'
]) WITH ORDINALITY AS q(query, o), both_ways(query) b ORDER BY o;
SELECT part, (w).n = part * 4000 AND relative_difference((w).coef, (SELECT (gpu_logreg_agg(b, a, c)).coef FROM tall
    WHERE (i - 1) / 4000 < part)) < 1e-12 AS same
FROM (SELECT part, max(w::text)::gpu_model AS w
    FROM (SELECT (i + 3999) / 4000 AS part, gpu_logreg_agg(b, a, c) OVER (ORDER BY (i + 3999) / 4000) AS w FROM tall) f
    GROUP BY part) s ORDER BY part;
-- a group's end frees its file
SELECT count(m), sum((m).n) FROM (SELECT gpu_logreg_agg(b, VARIADIC ARRAY[a, c]) AS m FROM tall, generate_series(1, 5) j
    GROUP BY j, i % 4) s;
RESET work_mem;

-- queries of many kinds
CREATE VIEW by_group AS SELECT g, gpu_ols(array_agg(ARRAY[x, k]), array_agg(y)) AS coef FROM pairs WHERE x <> 'NaN'
GROUP BY g;
SELECT query, b.* FROM unnest(ARRAY[
    'SELECT g, gpu_ols(array_agg(x ORDER BY i), array_agg(y ORDER BY i)) FROM pairs GROUP BY g',
    'SELECT g FROM pairs GROUP BY g HAVING (gpu_ols(array_agg(k), array_agg(y)))[2] > 0',
    'SELECT g, (gpu_ols(array_agg(k), array_agg(y)))[2] FROM pairs GROUP BY g ORDER BY (gpu_ols(array_agg(k), '
        'array_agg(y)))[2] LIMIT 3',
    'SELECT gpu_ols(array_agg(x) FILTER (WHERE k > 3), array_agg(y) FILTER (WHERE k > 3)) FROM pairs',
    'SELECT g, gpu_ols(array_agg(v) FILTER (WHERE i IN (SELECT i / 2 FROM pairs)), array_agg(y) FILTER (WHERE i IN '
        '(SELECT i / 2 FROM pairs))) FROM pairs GROUP BY g',
    'TABLE by_group',
    'SELECT g, coef FROM by_group WHERE g > 2 AND coef[2] IS NOT NULL',
    'SELECT g, k % 2, gpu_ols(array_agg(i), array_agg(y)) FROM pairs GROUP BY GROUPING SETS ((g), (k % 2), ())',
    'SELECT g, gpu_ols(array_agg(i), array_agg(y)) FROM pairs GROUP BY ROLLUP (g)',
    'SELECT (SELECT gpu_ols(array_agg(p.i + o.g), array_agg(p.y)) FROM pairs p WHERE p.g = o.g) FROM pairs o WHERE '
        'o.i < 9',
    'SELECT s.c FROM (SELECT DISTINCT g FROM pairs) o, LATERAL (SELECT gpu_ols(array_agg(ARRAY[i, k]), array_agg(y)) '
        'AS c FROM pairs p WHERE p.g = o.g) s',
    'WITH m AS MATERIALIZED (SELECT gpu_ols(array_agg(i), array_agg(y)) AS c FROM pairs) SELECT c[1] + c[2] FROM m',
    'SELECT gpu_ols(array_agg(i), array_agg(y)), array_agg(i ORDER BY i), gpu_ols(array_agg(k), array_agg(y)) FROM '
        'pairs',
    'SELECT sum((gpu_ols(array_agg(i), array_agg(y)))[2]) OVER (ORDER BY g) FROM pairs GROUP BY g',
    'SELECT gpu_ols(array_agg(i), array_agg(y)), count(DISTINCT g) FROM pairs',
    'SELECT gpu_ols(array_agg(i + (SELECT min(g) FROM pairs)), array_agg(y)) FROM pairs'
]) WITH ORDINALITY AS q(query, o), both_ways(query) b ORDER BY o;

-- calls that are not rewritten
SELECT query, b.* FROM unnest(ARRAY[
    'SELECT gpu_ols(array_agg(DISTINCT i), array_agg(DISTINCT i * 2)) FROM pairs',
    'SELECT gpu_ols(array_agg(i) FILTER (WHERE i > 3), array_agg(y) FILTER (WHERE i > 4)) FROM pairs',
    'SELECT gpu_ols(array_agg(i ORDER BY i), array_agg(i ORDER BY -i)) FROM pairs',
    'SELECT gpu_ols(array_agg(i ORDER BY i), array_agg(i ORDER BY i DESC)) FROM pairs',
    'SELECT gpu_ols(array_agg(i ORDER BY i NULLS FIRST), array_agg(i ORDER BY i)) FROM pairs',
    'SELECT gpu_ols(array_agg(x ORDER BY x), array_agg(i ORDER BY i)) FROM pairs WHERE x <> ''NaN''',
    'SELECT gpu_ols(array_agg(i ORDER BY i, k), array_agg(i ORDER BY i)) FROM pairs',
    'SELECT gpu_ols(array_agg(i) || 1, array_agg(y) || 1) FROM pairs WHERE i <= 500',
    'SELECT gpu_ols((array_agg(i))[1:3], (array_agg(i))[2:4]) FROM pairs WHERE i = 1',
    'SELECT gpu_ols(array_agg(i), ''{1,2,3}'') FROM pairs WHERE i <= 3',
    'SELECT (SELECT gpu_ols(array_agg(o.i), array_agg(o.y))) FROM pairs o',
    'SELECT g = 1, gpu_ols(array_agg(i), array_agg(y), g = 1) FROM pairs GROUP BY g = 1',
    'SELECT gpu_ols(array_agg(i), array_agg(y), count(*) > 3) FROM pairs',
    'SELECT gpu_ols(array_agg(i), array_agg(y), (SELECT false)) FROM pairs',
    'SELECT gpu_ols(array_agg(i), array_agg(y), random() > 2) FROM pairs',
    'SELECT gpu_ols(array_agg(i) OVER w, array_agg(y) OVER w) FROM pairs WHERE i < 5 WINDOW w AS (ORDER BY i)',
    'SELECT cardinality(gpu_ols(array_agg(i) FILTER (WHERE random() < 2), array_agg(y) FILTER (WHERE random() < 2))) '
        'FROM pairs',
    'SELECT cardinality(gpu_ols(array_agg(i ORDER BY random()), array_agg(y ORDER BY random()))) FROM pairs'
]) WITH ORDINALITY AS q(query, o), both_ways(query) b ORDER BY o;
SELECT plan_of('SELECT gpu_ols(array_agg(random() ORDER BY random()), array_agg(random() ORDER BY random())) FROM '
    'pairs') ~ 'gpu_ols_coef' AS sorted_apart;
-- volatile arguments are evaluated once per row
CREATE SEQUENCE calls;
SELECT gpu_ols(array_agg(i), array_agg(nextval('calls'))) = '{0,1}' AS counted, nextval('calls')
FROM (SELECT i FROM pairs ORDER BY i) s;

-- users' casts: called once for each element, and not inlined in several places
CREATE TYPE money_like AS (cents int);
CREATE FUNCTION as_number(money_like) RETURNS float8
LANGUAGE sql IMMUTABLE AS 'SELECT ($1.cents + coalesce($1.cents, 0)) / 200.0::float8';
CREATE CAST (money_like AS float8) WITH FUNCTION as_number(money_like) AS IMPLICIT;
CREATE FUNCTION counted(int) RETURNS money_like
LANGUAGE plpgsql VOLATILE AS $$ BEGIN PERFORM nextval('calls'); RETURN ROW($1); END $$;
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE DOMAIN numbers AS float8[];
SELECT setval('calls', 1);
SELECT query, b.* FROM unnest(ARRAY[
    'SELECT gpu_ols(array_agg(ROW(i)::money_like), array_agg(y)) FROM pairs',
    'SELECT gpu_ols(array_agg(counted(i)), array_agg(y)) FROM pairs',
    'SELECT gpu_ols(array_agg(i::positive), array_agg(y)) FROM pairs',
    'SELECT gpu_ols(array_agg(v::numbers), array_agg(y)) FROM pairs',
    'SELECT gpu_ols(array_agg(ARRAY[i, k]::numbers), array_agg(y)) FROM pairs'
]) WITH ORDINALITY AS q(query, o), both_ways(query) b ORDER BY o;
SELECT nextval('calls');

-- prepared statements: a cached plan notices revoked privileges, and a setting when it is made
PREPARE fit(boolean, int) AS SELECT gpu_ols(array_agg(i), array_agg(y), $1) FROM pairs WHERE i < $2;
SET plan_cache_mode = force_generic_plan;
SET gpureg.enable_scan = on;
SELECT usual_plans(true) \gset
EXPLAIN (VERBOSE, COSTS OFF) EXECUTE fit(true, 100);
SELECT usual_plans(false) \gset
RESET gpureg.enable_scan;
EXECUTE fit(NULL, 100);
CREATE TEMP TABLE rewritten AS EXECUTE fit(false, 100);
SET gpureg.enable_rewrite = off;
DEALLOCATE fit;
PREPARE fit(boolean, int) AS SELECT gpu_ols(array_agg(i), array_agg(y), $1) FROM pairs WHERE i < $2;
CREATE TEMP TABLE called AS EXECUTE fit(false, 100);
SELECT r.gpu_ols = c.gpu_ols AS same FROM rewritten r, called c;
RESET gpureg.enable_rewrite;
RESET plan_cache_mode;
DEALLOCATE fit;

-- parallel plans
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 1;
ALTER TABLE pairs SET (parallel_workers = 2);
EXPLAIN (VERBOSE, COSTS OFF) SELECT gpu_ols(array_agg(v), array_agg(y)) FROM pairs;
SELECT query, b.* FROM unnest(ARRAY[
    'SELECT gpu_ols(array_agg(x), array_agg(y)) FROM pairs',
    'SELECT gpu_ols(array_agg(ARRAY[i, k]), array_agg(y)) FROM pairs',
    'SELECT gpu_ols(array_agg(v), array_agg(y)) FROM pairs',
    'SELECT gpu_ols(array_agg(v[1:CASE WHEN i = 500 THEN 1 ELSE 2 END]), array_agg(y)) FROM pairs',
    'SELECT gpu_ols(array_agg(CASE WHEN i > 250 THEN v END), array_agg(y)) FROM pairs',
    'SELECT g, gpu_ols(array_agg(i), array_agg(y)) FROM pairs GROUP BY g',
    'SELECT rounded(gpu_logreg(array_agg(ARRAY[k, i]), array_agg(b))) FROM pairs',
    'SELECT g, rounded(gpu_logreg(array_agg(k), array_agg(b))) FROM pairs GROUP BY g',
    'SELECT gpu_logreg(array_agg(v[1:CASE WHEN i = 500 THEN 1 ELSE 2 END]), array_agg(b)) FROM pairs',
    'SELECT gpu_logreg(array_agg(k), array_agg(b)) FROM pairs WHERE b'
]) WITH ORDINALITY AS q(query, o), both_ways(query) b ORDER BY o;
EXPLAIN (VERBOSE, COSTS OFF) SELECT gpu_logreg(array_agg(k), array_agg(b)), gpu_logreg_agg(b, k) FROM pairs;
SELECT gpu_ols_coef(gpu_ols_rollup(s), true) IS NOT NULL AS merged
FROM (SELECT gpu_ols_vector_pass(y, v) AS s FROM pairs GROUP BY g) t;
ALTER TABLE pairs RESET (parallel_workers);
RESET max_parallel_workers_per_gather;
RESET min_parallel_table_scan_size;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;

-- a session that requires the GPU gets it
SELECT usual_plans(true) \gset
SET gpureg.device = gpu;
EXPLAIN (VERBOSE, COSTS OFF) SELECT gpu_ols(array_agg(x), array_agg(y)) FROM pairs;
SET gpureg.device = auto;

-- privileges
CREATE ROLE regress_gpureg_rewriter;
GRANT SELECT ON pairs TO regress_gpureg_rewriter;
BEGIN;
REVOKE EXECUTE ON FUNCTION gpu_ols FROM PUBLIC;
SET LOCAL ROLE regress_gpureg_rewriter;
SELECT outcome('SELECT gpu_ols(array_agg(x), array_agg(y)) FROM pairs');
ROLLBACK;
BEGIN;
REVOKE EXECUTE ON FUNCTION gpu_ols_coef FROM PUBLIC;
SET LOCAL ROLE regress_gpureg_rewriter;
EXPLAIN (VERBOSE, COSTS OFF) SELECT gpu_ols(array_agg(x), array_agg(y)) FROM pairs;
ROLLBACK;
BEGIN;
REVOKE EXECUTE ON FUNCTION gpu_ols_array_pass FROM PUBLIC;
SET LOCAL ROLE regress_gpureg_rewriter;
EXPLAIN (VERBOSE, COSTS OFF) SELECT gpu_ols(array_agg(x), array_agg(y)) FROM pairs;
ROLLBACK;
BEGIN;
PREPARE fit AS SELECT gpu_ols(array_agg(i), array_agg(y)) IS NULL FROM pairs;
SET LOCAL ROLE regress_gpureg_rewriter;
SET LOCAL plan_cache_mode = force_generic_plan;
EXECUTE fit;
RESET ROLE;
REVOKE EXECUTE ON FUNCTION gpu_ols FROM PUBLIC;
SET LOCAL ROLE regress_gpureg_rewriter;
EXECUTE fit;
ROLLBACK;
DEALLOCATE fit;
-- without the aggregate that would replace it, the call stays
BEGIN;
ALTER EXTENSION gpureg DROP FUNCTION gpu_ols_coef(gpu_ols_stats, boolean);
EXPLAIN (VERBOSE, COSTS OFF) SELECT gpu_ols(array_agg(x), array_agg(y)) FROM pairs;
ROLLBACK;
REVOKE SELECT ON pairs FROM regress_gpureg_rewriter;
DROP ROLE regress_gpureg_rewriter;
SELECT usual_plans(false) \gset
DROP CAST (money_like AS float8);
DROP FUNCTION as_number, counted, rounded, both_ways, plan_of, outcome;
DROP TABLE pairs, tall CASCADE;
DROP TYPE money_like;
DROP DOMAIN positive;
DROP DOMAIN numbers;
DROP SEQUENCE calls;
