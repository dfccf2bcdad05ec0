-- gpu_predict: values in the order of the model's features, or by their names in a row or a jsonb object.
-- models made by hand, whose predictions are easy to read: 1 + 10 a + 100 b ...
CREATE FUNCTION linear(terms text[], coef float8[]) RETURNS gpu_model LANGUAGE sql IMMUTABLE AS
    $$SELECT ROW('ols', terms, coef, NULL, 9, 0, 3, 6, 1, 2, 1, true, '{}', 'cpu', NULL, NULL, NULL, NULL, NULL,
        NULL, NULL, NULL)::gpu_model$$;
CREATE TABLE by_hand AS SELECT linear('{(intercept),a,b,c}', '{1,10,100,1000}') AS m,
    linear('{(intercept),v[1],v[2],b}', '{1,10,100,1000}') AS mv;
-- by position: every type of number, boolean, domains, arrays, and any mixture of them
CREATE DOMAIN small AS smallint CHECK (VALUE < 100);
CREATE DOMAIN pair AS int[] CHECK (cardinality(VALUE) = 2);
CREATE DOMAIN deep AS small;
SELECT gpu_predict(m, 2::float8, 3::float8, 4::float8) AS float8, gpu_predict(m, 2::real, 3::real, 4::real) AS real,
    gpu_predict(m, 2, 3::smallint, 4::bigint) AS ints,
       gpu_predict(m, 2.5, 3::numeric, 4e0) AS numeric, gpu_predict(m, true, false, 4) AS booleans,
       gpu_predict(m, 2::small, 3::deep, 4) AS domains FROM by_hand;
SELECT gpu_predict(m, ARRAY[2,3,4]) AS int, gpu_predict(m, ARRAY[2.5,3,4]) AS numeric,
    gpu_predict(m, ARRAY[true,false,true]) AS boolean,
       gpu_predict(m, ARRAY[2,3]::float8[], 4) AS first, gpu_predict(m, 2, ARRAY[3,4]::real[]) AS last,
       gpu_predict(m, '{}'::int[], ARRAY[2], ARRAY[3,4]::bigint[], '{}'::real[]) AS several,
       gpu_predict(m, ARRAY[2,3]::pair, 4::small) AS domain, gpu_predict(m, ARRAY[2,3,4]::small[]) AS of_domain,
       gpu_predict(m, '[0:2]={2,3,4}'::float8[]) AS bounds FROM by_hand;
SELECT gpu_predict(m, VARIADIC ARRAY[2,3,4]) AS int, gpu_predict(m, VARIADIC ARRAY[2,3,4]::float8[]) AS float8,
    gpu_predict(m, VARIADIC ARRAY[2.5,3,4]) AS numeric,
       gpu_predict(m, VARIADIC ARRAY[true,false,true]) AS boolean,
       gpu_predict(model => m, VARIADIC x => ARRAY[2,3,4]) AS named FROM by_hand;
-- arrays may change in length from row to row, as long as all values are there
SELECT gpu_predict(m, x, y) FROM by_hand, (VALUES (1, ARRAY[2], ARRAY[3,4]), (2, ARRAY[2,3], ARRAY[4]),
    (3, '{}', ARRAY[2,3,4])) AS t(i, x, y) ORDER BY i;
-- a NULL anywhere gives NULL
SELECT gpu_predict(m, 2, NULL, 4) AS untyped, gpu_predict(m, 2, NULL::int, 4) AS value,
    gpu_predict(m, NULL::float8[]) AS "array", gpu_predict(m, ARRAY[2,NULL,4]) AS int_element,
       gpu_predict(m, VARIADIC ARRAY[2,NULL,4]::float8[]) AS element,
       gpu_predict(m, ARRAY[2,NULL]::numeric[], 4) AS first_element, gpu_predict(NULL, 2, 3, 4) AS model FROM by_hand;
-- NaN and infinity follow arithmetic
SELECT gpu_predict(m, 'NaN'::float8, 3, 4) AS nan, gpu_predict(m, 'Infinity'::real, 3, 4) AS inf,
    gpu_predict(m, 'NaN'::numeric, 3, 4) AS numeric_nan, gpu_predict(m, ARRAY['-Infinity'::float8, 3, 4]) AS minus
FROM by_hand;
-- many features
SELECT gpu_predict(linear(array_agg('x' || i ORDER BY i), array_agg(1)), VARIADIC array_agg(i)) AS sum,
    gpu_predict(linear(array_agg('x' || i ORDER BY i), array_agg(1)), array_agg(i::numeric), '{}'::int[]) AS sum_numeric
FROM generate_series(1, 1000) i;
-- a model of the intercept alone
SELECT gpu_predict(linear('{(intercept)}', '{7}')) AS intercept,
    gpu_predict(linear('{(intercept)}', '{7}'), VARIADIC '{}'::int[]) AS nothing,
    gpu_predict(linear('{(intercept)}', '{7}'), '{}'::jsonb) AS no_keys,
       gpu_predict(linear('{(intercept)}', '{NULL}')) AS aliased,
       gpu_predict(ROW('logistic', '{(intercept)}', '{0}', NULL, 9, 0, 1, 8, 1, 2, 1, true, '{}', 'cpu', NULL,
           NULL, NULL, NULL, NULL, NULL, NULL, NULL)::gpu_model) AS logistic,
       gpu_predict(NULL) IS NULL AS null_model;
SELECT gpu_predict(m) FROM by_hand;
\echo :LAST_ERROR_SQLSTATE
-- by name: a row with columns in any order; a record, a row of a table, of a domain
SELECT gpu_predict(m, r) FROM by_hand, (SELECT 4::numeric AS c, true AS a, 3::smallint AS b) r;
CREATE TABLE abc (gone text, b real, "also gone" int, a numeric, c small);
ALTER TABLE abc DROP gone, DROP "also gone";
INSERT INTO abc VALUES (3, 2.5, 4), (NULL, 2, 4), (3, 2, 5);
SELECT abc.*, gpu_predict(m, abc), gpu_predict(m, abc.*) AS star FROM by_hand, abc ORDER BY a DESC, b;
CREATE DOMAIN checked_abc AS abc CHECK ((VALUE).a > 0);
SELECT gpu_predict(m, ROW(3, 2.5, 4)::checked_abc) FROM by_hand;
SELECT gpu_predict(m, NULL::abc) IS NULL AS null_row, gpu_predict(m, ROW(NULL, NULL, NULL)::abc) IS NULL AS row_of_nulls
FROM by_hand;
-- rows of a table that is altered while an expression runs
DO $$
DECLARE
    m gpu_model := (SELECT by_hand.m FROM by_hand);
    r record;
    of_abc abc;
BEGIN
    FOR i IN 1..4 LOOP
        IF i = 3 THEN ALTER TABLE abc RENAME a TO d; ALTER TABLE abc RENAME b TO a; ALTER TABLE abc RENAME d TO b;
        END IF;
        IF i = 4 THEN ALTER TABLE abc DROP c, ADD c int DEFAULT 7; END IF;
        SELECT * INTO r FROM abc ORDER BY a, b LIMIT 1;
        SELECT * INTO of_abc FROM abc ORDER BY a, b LIMIT 1;
        RAISE NOTICE '% % %', r, gpu_predict(m, r), gpu_predict(m, of_abc);
    END LOOP;
END
$$;
SELECT abc.*, gpu_predict(m, abc) FROM by_hand, abc ORDER BY a, b;
DROP TABLE abc CASCADE;
-- records of several types in one call, and models of several terms: in turn, and with terms that have changed places
CREATE FUNCTION a_record(kind int) RETURNS record LANGUAGE plpgsql AS $$
DECLARE
    r record;
BEGIN
    IF kind = 0 THEN SELECT 2 AS a, 3 AS b INTO r;
    ELSIF kind = 1 THEN SELECT 3.0 AS b, 2::float8 AS a INTO r;
    ELSE SELECT ARRAY[2,3] AS v INTO r; END IF;
    RETURN r;
END
$$;
SELECT i, gpu_predict(CASE i % 3 WHEN 2 THEN linear('{v[1],v[2]}', '{10,100}') ELSE linear('{a,b}', '{10,100}') END,
    a_record(i % 3)) FROM generate_series(0, 6) i;
SELECT i, gpu_predict(linear(CASE i % 3 WHEN 0 THEN '{a,b}' WHEN 1 THEN '{b,a}'::text[] ELSE '{(intercept),b,a}' END,
    CASE i % 3 WHEN 2 THEN '{1,10,100}' ELSE '{10,100}'::float8[] END), r) AS "row",
       gpu_predict(linear(CASE i % 3 WHEN 0 THEN '{a,b}' WHEN 1 THEN '{b,a}'::text[] ELSE '{(intercept),b,a}' END,
           CASE i % 3 WHEN 2 THEN '{1,10,100}' ELSE '{10,100}'::float8[] END), to_jsonb(r)) AS jsonb
FROM generate_series(0, 6) i, (SELECT 2 AS a, 3 AS b) r;
-- arrays are the features name[1], name[2], ...; such a name may also be a column's
SELECT gpu_predict(mv, r) FROM by_hand, (SELECT 4 AS b, ARRAY[2,3] AS v) r;
SELECT gpu_predict(mv, r) FROM by_hand, (SELECT 4 AS b, ARRAY[2,3]::small[] AS v) r;
SELECT gpu_predict(mv, r) FROM by_hand, (SELECT '{2,3}'::float8[] AS v, '{}'::int[] AS nothing, 4 AS b) r;
SELECT gpu_predict(mv, r) FROM by_hand, (SELECT 3 AS "v[2]", 4 AS b, '{2}'::int[] AS v) r;
SELECT gpu_predict(mv, r) FROM by_hand, (SELECT 3 AS "v[2]", 4 AS b, 2 AS "v[1]") r;
SELECT gpu_predict(mv, r) IS NULL AS null_array FROM by_hand, (SELECT NULL::int[] AS v, 4 AS b) r;
SELECT gpu_predict(mv, r) IS NULL AS null_element FROM by_hand, (SELECT ARRAY[1,NULL] AS v, 4 AS b) r;
-- names of any text
SELECT gpu_predict(linear(ARRAY['wool = ''B''', 'x[01]', 'y[0]', '[1]', 'z[1][2]', ''], '{1,10,100,1000,1e4,1e5}'), r)
FROM (SELECT true AS "wool = 'B'", 2 AS "x[01]", 3 AS "y[0]", 4 AS "[1]", 5 AS "z[1][2]") r;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(linear(ARRAY['wool = ''B''', 'x[01]', 'y[0]', '[1]', 'z[1][2]', '', 'q[12345678901]', '(intercept)'],
    '{1,10,100,1000,1e4,1e5,1e6,1e7}'),
    '{"": 6, "wool = ''B''": true, "x[01]": 2, "y[0]": 3, "[1]": 4, "z[1][2]": 5, "q[12345678901]": 7, "(intercept)": '
        '8}'::jsonb);
-- a query's columns give the model's names
CREATE TEMP TABLE fitted AS
    SELECT gpu_ols_fit('SELECT mpg, wt, ARRAY[hp, qsec] AS speed, am = 1 AS manual FROM mtcars') AS m;
SELECT (m).terms, bool_and(gpu_predict(m, t.wt, hp, qsec, am) = gpu_predict(m, r)) AS "row",
    bool_and(gpu_predict(m, t.wt, hp, qsec, am) = gpu_predict(m, to_jsonb(r))) AS jsonb, count(*)
FROM fitted, mtcars t, LATERAL (SELECT t.wt, ARRAY[hp, qsec] AS speed, am = 1 AS manual) r GROUP BY 1;
SELECT bool_and(gpu_predict(m, wt, hp) = gpu_predict(m, r)) AS same
FROM (SELECT gpu_ols_agg(mpg, wt, hp) AS m FROM mtcars) f, mtcars, LATERAL (SELECT hp AS x2, wt AS x1) r;
-- by name: a jsonb object
SELECT gpu_predict(m, '{"a": 2.5, "c": true, "b": 3}'::jsonb) AS numbers,
    gpu_predict(m, '{"a": 2.5, "c": null, "b": 3}'::jsonb) AS "null",
    gpu_predict(mv, '{"v": [2, true], "b": 4}'::jsonb) AS "array",
       gpu_predict(mv, '{"v[2]": 3, "b": 4, "v": [2]}'::jsonb) AS mixed,
       gpu_predict(mv, '{"v[2]": 3, "b": 4, "v[1]": 2}'::jsonb) AS elements,
       gpu_predict(mv, '{"v": null, "b": 4}'::jsonb) AS null_array,
       gpu_predict(mv, '{"v": [null, 3], "b": 4}'::jsonb) AS null_element,
       gpu_predict(m, '{"a": 2.5, "c": 1, "b": 3, "d": []}'::jsonb) AS nothing,
       gpu_predict(m, NULL::jsonb) AS null_object FROM by_hand;
-- further columns and keys are ignored, whatever their types and values: a table's own row is enough
SELECT gpu_predict(m, r) AS text, gpu_predict(m, s) AS several, gpu_predict(m, t) AS "null"
FROM by_hand, (SELECT 2 AS a, 3 AS b, 4 AS c, 'text' AS y) r,
    (SELECT 'x'::text AS u, ARRAY['x'] AS v, 2 AS a, NULL::json AS w, 3 AS b, now() AS u, ROW(1) AS x, 4 AS c) s,
    (SELECT 2 AS a, 3 AS b, 4 AS c, NULL::int[] AS d) t;
SELECT gpu_predict(m, '{"a": 2, "b": 3, "c": 4, "y": "text"}'::jsonb) AS text,
    gpu_predict(m, '{"a": 2, "b": 3, "c": 4, "d": null}'::jsonb) AS "null",
    gpu_predict(m, '{"a": 2, "b": 3, "c": 4, "d": {"a": 5}, "e": [[1], "x"], "f": false}'::jsonb) AS nested,
    gpu_predict(mv, '{"v": [2, 3], "b": 4, "w": [1, 2, 3]}'::jsonb) AS "array" FROM by_hand;
SELECT count(*), bool_and(gpu_predict(m, t) = gpu_predict(m, wt, hp)) AS "row",
    bool_and(gpu_predict(m, to_jsonb(t)) = gpu_predict(m, wt, hp)) AS jsonb,
    bool_and((gpu_predict_interval(m, 'confidence', 0.95, t)).lower
        = (gpu_predict_interval(m, 'confidence', 0.95, wt, hp)).lower) AS interval,
    bool_and(gpu_leverage(m, t) = gpu_leverage(m, wt, hp)) AS leverage
FROM (SELECT gpu_ols_fit('SELECT mpg, wt, hp FROM mtcars') AS m) f, mtcars t;
SELECT gpu_predict(linear('{(intercept)}', '{7}'), mtcars) AS intercept FROM mtcars LIMIT 1;
-- names that are missing or repeated; also beside a NULL
\set VERBOSITY default
SELECT gpu_predict(m, r) FROM by_hand, (SELECT 2 AS a, 3 AS b) r;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(m, r) FROM by_hand, (SELECT 2 AS a, NULL::int AS b) r;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(m, '{"a": 2, "b": null}'::jsonb) FROM by_hand;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(m, r) FROM by_hand, (SELECT 2 AS "A", 3 AS b, 4 AS c) r;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(m, ROW(2, 3, 4)) FROM by_hand;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(m, r) FROM by_hand, (SELECT 2 AS y, 3 AS b, NULL::int AS z) r;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(m, '{"y": 2, "b": 3, "z": null}'::jsonb) FROM by_hand;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(linear(array_agg('x' || i ORDER BY i), array_agg(1)), '{"x3": 1}'::jsonb)
FROM generate_series(1, 20) i;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(m, r) FROM by_hand, (SELECT 2 AS a, 3 AS b, 4 AS c, 5 AS a) r;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(mv, r) FROM by_hand, (SELECT ARRAY[2] AS v, 4 AS b) r;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(mv, r) FROM by_hand, (SELECT ARRAY[2,3,4] AS v, 4 AS b) r;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(mv, r) FROM by_hand, (SELECT ARRAY[2,3] AS v, 3 AS "v[2]", 4 AS b) r;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(mv, r) FROM by_hand, (SELECT 2 AS v, 4 AS b) r;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(m, r) FROM by_hand, (SELECT ARRAY[2] AS a, 3 AS b, 4 AS c) r;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(mv, '{"v": [2], "b": 4}'::jsonb) FROM by_hand;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(mv, '{"v": [2, 3, 4], "b": 4}'::jsonb) FROM by_hand;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(mv, '{"v": [2, 3], "v[2]": 3, "b": 4}'::jsonb) FROM by_hand;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(m, '{"a": [2], "b": 3, "c": 4}'::jsonb) FROM by_hand;
\echo :LAST_ERROR_SQLSTATE
-- features of equal names can't be told apart by name, but by position
SELECT gpu_predict(linear('{a,b,a}', '{1,10,100}'), 1, 2, 3);
SELECT gpu_predict(linear('{a,b,a}', '{1,10,100}'), '{"a": 2, "b": 3}'::jsonb);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(linear('{v[1],v[3],v[4]}', '{1,10,100}'), r) FROM (SELECT ARRAY[1,2,3] AS v) r;
\echo :LAST_ERROR_SQLSTATE
-- a wrong number of values, also beside a NULL in an array
SELECT gpu_predict(m, 2, 3) FROM by_hand;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(m, ARRAY[2,3], ARRAY[4,NULL]) FROM by_hand;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(m, ARRAY[2,3], ARRAY[[4]]) FROM by_hand;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(mv, r) FROM by_hand, (SELECT ARRAY[[2,3]] AS v, 4 AS b) r;
\echo :LAST_ERROR_SQLSTATE
-- types that aren't numbers
SELECT gpu_predict(m, '1', 2, 3) FROM by_hand;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(m, 1, 'a'::text, 3) FROM by_hand;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(m, ARRAY['1', '2', '3']) FROM by_hand;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(m, VARIADIC ARRAY['1', '2', '3']) FROM by_hand;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(m, '{"a": 1}'::json) FROM by_hand;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(m, '{"a": 1}'::jsonb, 2) FROM by_hand;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(m, 1, r) FROM by_hand, (SELECT 3 AS b, 4 AS c) r;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(m, r) FROM by_hand, (SELECT 2 AS a, 'text' AS b, 4 AS c) r;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(m, '{"a": 2, "b": "3", "c": 4}'::jsonb) FROM by_hand;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(m, '{"a": 2, "b": {"c": 4}, "c": 4}'::jsonb) FROM by_hand;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(mv, '{"v": [2, [3]], "b": 4}'::jsonb) FROM by_hand;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(m, '{"a": 2, "b": 3, "c": 1e400}'::jsonb) FROM by_hand;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(m, '[1, 2, 3]'::jsonb) FROM by_hand;
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict(m, 'null'::jsonb) FROM by_hand;
\echo :LAST_ERROR_SQLSTATE
-- VARIADIC requires a type that is known to be an array, like any such function
SELECT gpu_predict(m, VARIADIC '{1,2,3}') FROM by_hand;
\echo :LAST_ERROR_SQLSTATE
-- a view keeps its form, with and without VARIADIC
CREATE VIEW predicted AS SELECT gpu_predict(m, 2, ARRAY[3, 4]) AS mixed,
    gpu_predict(m, VARIADIC ARRAY[2, 3, 4]) AS variadic, gpu_predict(m, r) AS "row"
FROM by_hand, (SELECT 2 AS a, 3 AS b, 4 AS c) r;
SELECT * FROM predicted;
SELECT pg_get_viewdef('predicted');
DROP VIEW predicted;
-- an index and a generated column may use it
CREATE TABLE kept (a int, b numeric,
    p float8 GENERATED ALWAYS AS (gpu_predict('(ols,"{a,b}","{10,100}",,9,0,3,6,1,2,1,t,{},cpu,,,,,,,,)'::gpu_model,
    a, b)) STORED);
INSERT INTO kept VALUES (2, 3), (NULL, 3);
SELECT * FROM kept ORDER BY a;
DROP TABLE kept, by_hand;
DROP FUNCTION linear, a_record;
DROP DOMAIN pair, deep, small;
-- Arrays of real are read in place: predictions have the bits that float8 gives, whatever the number of features.
CREATE DOMAIN small_real AS real CHECK (value < 1000 OR value = 'Infinity' OR value = 'NaN');
CREATE DOMAIN reals AS real[];
CREATE TABLE wide_models AS
SELECT n, offsets, gpu_glm_fit(format('SELECT sin(i * 1.7) AS y, x[:%s] AS x, i / 100.0 AS o FROM
    (SELECT i, array_agg(sin(i * k)::real ORDER BY k) AS x FROM generate_series(1, 200) i, generate_series(1, 40) k
     GROUP BY i) t', n), 'gaussian', offsets => CASE WHEN offsets THEN 'o' END) AS m
FROM (VALUES (31), (32), (33), (34), (35), (36)) v(n), (VALUES (false), (true)) w(offsets);
SELECT offsets, count(*) AS n, count(gpu_predict(m, x)) AS known,
    bool_and(gpu_predict(m, x) IS NOT DISTINCT FROM gpu_predict(m, x::float8[])) AS same,
    bool_and(gpu_predict(m, x::small_real[]) IS NOT DISTINCT FROM gpu_predict(m, x::float8[])) AS of_domain,
    bool_and(gpu_predict(m, x::reals) IS NOT DISTINCT FROM gpu_predict(m, x::float8[])) AS domain,
    bool_and(gpu_predict(m, x) IS NOT DISTINCT FROM (gpu_predict_interval(m, 'confidence', 0.9, x)).fit) AS interval
FROM wide_models, LATERAL (SELECT i, array_agg(CASE WHEN i > 9 OR k <> 3 * i THEN cos(i * k)::real
    ELSE ('{NULL,NaN,Infinity,-Infinity,0,1e-40,-0,1,2}'::real[])[i] END ORDER BY k) AS x
    FROM generate_series(1, 30) i, generate_series(1, n + 1) k GROUP BY i) r GROUP BY offsets ORDER BY 1;
SELECT gpu_predict(m, array_fill(1::real, ARRAY[33])) FROM wide_models WHERE n = 33 AND NOT offsets;
SELECT gpu_predict(m, '{}'::real[]) FROM wide_models WHERE n = 33 AND NOT offsets;
SELECT gpu_predict(m, array_fill(1::real, ARRAY[17, 2])) FROM wide_models WHERE n = 33 AND NOT offsets;
SELECT gpu_predict(m, array_fill(1::real, ARRAY[34])) FROM wide_models WHERE n = 34 AND offsets;
SELECT gpu_predict(m, NULL::real[]) IS NULL AS null FROM wide_models WHERE n = 33 AND NOT offsets;
-- Arrays of other numbers, too, have the values of their elements.
CREATE DOMAIN digits AS numeric(20,3);
SELECT bool_and(gpu_predict(m, v::smallint[], 1) = gpu_predict(m, v::float8[], 1)) AS smallint,
    bool_and(gpu_predict(m, v, 1) = gpu_predict(m, v::float8[], 1)) AS int,
    bool_and(gpu_predict(m, big, 1) = gpu_predict(m, big::float8[], 1)) AS bigint,
    bool_and(gpu_predict(m, v::digits[], 1) = gpu_predict(m, v::float8[], 1)) AS numeric,
    bool_and(gpu_predict(m, odd, 1) = gpu_predict(m, odd::int[]::float8[], 1)) AS boolean
FROM wide_models, LATERAL (SELECT k, array_agg((i * 997 + k) % 65536 - 32768 ORDER BY i) AS v,
    array_agg((i * k) % 3 = 1 ORDER BY i) AS odd,
    array_agg(CASE i WHEN 1 THEN 9007199254740992 WHEN 2 THEN -9223372036854775808 ELSE i * k END ORDER BY i) AS big
    FROM generate_series(1, n) i, generate_series(1, 5) k GROUP BY k) r
WHERE NOT offsets;
SELECT gpu_predict(m, array_fill(9007199254740993, ARRAY[34])) FROM wide_models WHERE n = 33 AND NOT offsets;
SELECT gpu_predict(m, array_fill(2::smallint, ARRAY[33]) || NULL::smallint) IS NULL AS null FROM wide_models
WHERE n = 33 AND NOT offsets;
DROP TABLE wide_models;
DROP DOMAIN digits;
DROP DOMAIN small_real, reals;
