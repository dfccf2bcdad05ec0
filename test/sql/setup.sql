-- The extension, the reference data, and functions that the tests share.
CREATE EXTENSION gpureg;

-- The number of digits of got that are right: the log relative error, or the log absolute error if the true value is 0.
-- At most 16.
CREATE FUNCTION digits(got float8, want numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN got IS NULL OR got = 'NaN' THEN 0
        WHEN want IN ('Infinity', '-Infinity') THEN CASE WHEN got::text = want::text THEN 16 ELSE 0 END
        WHEN got IN ('Infinity', '-Infinity') THEN 0
        WHEN got::text::numeric = want THEN 16
        WHEN want = 0 THEN least(16, -log(abs(got::text::numeric)))
        ELSE least(16, -log(abs(got::text::numeric - want) / abs(want)))
    END
$$;

-- The largest relative difference of two coefficient arrays; NULLs must match.
CREATE FUNCTION relative_difference(a float8[], b float8[]) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$
    SELECT max(CASE
        WHEN u IS NOT DISTINCT FROM v THEN 0
        WHEN u IS NULL OR v IS NULL THEN 'Infinity'
        ELSE abs(u - v) / greatest(abs(u), abs(v))
    END)
    FROM unnest(a, b) AS t(u, v)
$$;

-- Sets the server's default planner settings, whatever it was started with, for tests that show plans; or resets them.
CREATE FUNCTION usual_plans(usual boolean) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    s record;
BEGIN
    FOR s IN SELECT name, boot_val FROM pg_settings WHERE name IN ('parallel_setup_cost', 'parallel_tuple_cost',
        'min_parallel_table_scan_size', 'parallel_leader_participation', 'force_parallel_mode', 'debug_parallel_query')
    LOOP
        IF usual THEN
            PERFORM set_config(s.name, s.boot_val, false);
        ELSE
            EXECUTE 'RESET ' || s.name;
        END IF;
    END LOOP;
END
$$;

-- NIST's sets, as rows of (y, x); polynomial sets get their powers by repeated multiplication.
CREATE TABLE nist_rows (dataset text, y float8, x float8[]);
CREATE TEMP TABLE longley (y float8, x1 float8, x2 float8, x3 float8, x4 float8, x5 float8, x6 float8);
\copy longley FROM 'test/data/nist/longley.csv' WITH (FORMAT csv, HEADER)
INSERT INTO nist_rows SELECT 'longley', y, ARRAY[x1, x2, x3, x4, x5, x6] FROM longley;
CREATE TEMP TABLE yx (y float8, x float8, dataset text);
\copy yx (y, x) FROM 'test/data/nist/norris.csv' WITH (FORMAT csv, HEADER)
UPDATE yx SET dataset = 'norris' WHERE dataset IS NULL;
\copy yx (y, x) FROM 'test/data/nist/noint1.csv' WITH (FORMAT csv, HEADER)
UPDATE yx SET dataset = 'noint1' WHERE dataset IS NULL;
\copy yx (y, x) FROM 'test/data/nist/noint2.csv' WITH (FORMAT csv, HEADER)
UPDATE yx SET dataset = 'noint2' WHERE dataset IS NULL;
INSERT INTO nist_rows SELECT dataset, y, ARRAY[x] FROM yx;
TRUNCATE yx;
\copy yx (y, x) FROM 'test/data/nist/pontius.csv' WITH (FORMAT csv, HEADER)
INSERT INTO nist_rows SELECT 'pontius', y, ARRAY[x, x*x] FROM yx;
TRUNCATE yx;
\copy yx (y, x) FROM 'test/data/nist/filip.csv' WITH (FORMAT csv, HEADER)
INSERT INTO nist_rows SELECT 'filip', y, ARRAY[x, x*x, x*x*x, x*x*x*x, x*x*x*x*x, x*x*x*x*x*x, x*x*x*x*x*x*x,
    x*x*x*x*x*x*x*x, x*x*x*x*x*x*x*x*x, x*x*x*x*x*x*x*x*x*x] FROM yx;
TRUNCATE yx;
\copy yx (y, x) FROM 'test/data/nist/wampler1.csv' WITH (FORMAT csv, HEADER)
UPDATE yx SET dataset = 'wampler1' WHERE dataset IS NULL;
\copy yx (y, x) FROM 'test/data/nist/wampler2.csv' WITH (FORMAT csv, HEADER)
UPDATE yx SET dataset = 'wampler2' WHERE dataset IS NULL;
\copy yx (y, x) FROM 'test/data/nist/wampler3.csv' WITH (FORMAT csv, HEADER)
UPDATE yx SET dataset = 'wampler3' WHERE dataset IS NULL;
\copy yx (y, x) FROM 'test/data/nist/wampler4.csv' WITH (FORMAT csv, HEADER)
UPDATE yx SET dataset = 'wampler4' WHERE dataset IS NULL;
\copy yx (y, x) FROM 'test/data/nist/wampler5.csv' WITH (FORMAT csv, HEADER)
UPDATE yx SET dataset = 'wampler5' WHERE dataset IS NULL;
INSERT INTO nist_rows SELECT dataset, y, ARRAY[x, x*x, x*x*x, x*x*x*x, x*x*x*x*x] FROM yx;
CREATE TABLE nist_certified (dataset text, stat text, estimate numeric, sd numeric);
\copy nist_certified FROM 'test/data/nist/certified.csv' WITH (FORMAT csv, HEADER)
SELECT dataset, count(*), max(cardinality(x)) AS features FROM nist_rows GROUP BY dataset ORDER BY dataset;

-- Small real sets with fits to 25 digits.
CREATE TABLE mtcars (mpg float8, cyl float8, disp float8, hp float8, drat float8, wt float8, qsec float8, vs float8,
    am float8, gear float8, carb float8);
\copy mtcars FROM 'test/data/reference/mtcars.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE diabetes (y float8, age float8, sex float8, bmi float8, bp float8, s1 float8, s2 float8, s3 float8,
    s4 float8, s5 float8, s6 float8);
\copy diabetes FROM 'test/data/reference/diabetes.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE reference_fits (fit text, kind text, file text, response text, term text, estimate numeric,
    std_error numeric);
\copy reference_fits FROM 'test/data/reference/fits.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE diamonds (carat float8, cut text, color text, clarity text, depth float8, "table" float8, price int,
    x float8, y float8, z float8);
\copy diamonds FROM PROGRAM 'gzip -dc test/data/diamonds.csv.gz' WITH (FORMAT csv, HEADER)
SELECT count(*) FROM diamonds;
CREATE TABLE infert ("case" float8, age float8, parity float8, induced float8, spontaneous float8);
\copy infert FROM 'test/data/reference/infert_case.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE iris_vv (y float8, sl float8, sw float8, pl float8, pw float8);
\copy iris_vv FROM 'test/data/reference/iris_vv.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE breast_cancer (y float8, x0 float8, x1 float8, x2 float8, x3 float8, x4 float8, x5 float8, x6 float8,
    x7 float8, x8 float8, x9 float8, x10 float8, x11 float8, x12 float8, x13 float8, x14 float8, x15 float8, x16 float8,
    x17 float8, x18 float8, x19 float8, x20 float8, x21 float8, x22 float8, x23 float8, x24 float8, x25 float8,
    x26 float8, x27 float8, x28 float8, x29 float8);
\copy breast_cancer FROM 'test/data/reference/breast_cancer.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE wine01 (y float8, x0 float8, x1 float8, x2 float8, x3 float8, x4 float8, x5 float8, x6 float8, x7 float8,
    x8 float8, x9 float8, x10 float8, x11 float8, x12 float8);
\copy wine01 FROM 'test/data/reference/wine01.csv' WITH (FORMAT csv, HEADER)
-- The logistic fits among the references: their rows, their queries, and the number of right digits of coefficients or
-- standard errors.
CREATE TABLE logit_rows AS
SELECT 'mtcars_glm' AS fit, am AS y, ARRAY[wt, hp] AS x FROM mtcars
UNION ALL SELECT 'infert', "case", ARRAY[spontaneous, induced] FROM infert
UNION ALL SELECT 'iris_vv', y, ARRAY[sl, sw, pl, pw] FROM iris_vv
UNION ALL SELECT 'breast_cancer_5', y, ARRAY[x0, x1, x4, x5, x8] FROM breast_cancer;
CREATE TABLE logit_queries AS
SELECT * FROM (VALUES ('mtcars_glm', 'SELECT am, wt, hp FROM mtcars'),
    ('infert', 'SELECT "case", spontaneous, induced FROM infert'),
    ('iris_vv', 'TABLE iris_vv'), ('breast_cancer_5', 'SELECT y, x0, x1, x4, x5, x8 FROM breast_cancer')) AS t(fit,
    query);
CREATE FUNCTION right_digits(name text, got float8[], what text DEFAULT 'estimate') RETURNS numeric
LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN count(*) = count(term) AND count(*) = count(i) THEN min(digits(u, want)) ELSE 0 END
    FROM unnest(got) WITH ORDINALITY AS g(u, i)
    FULL JOIN (SELECT term, CASE what WHEN 'std_error' THEN std_error ELSE estimate END AS want,
        row_number() OVER (ORDER BY ctid) AS i
               FROM reference_fits WHERE fit = name AND kind = 'logit' AND term <> 'loglik') r USING (i)
$$;
CREATE FUNCTION std_errors(model gpu_model) RETURNS float8[] LANGUAGE sql IMMUTABLE AS $$
    SELECT array_agg(std_error ORDER BY i) FROM gpu_tidy(model) WITH ORDINALITY AS t(term, estimate, std_error,
        statistic, p_value, lo, hi, df, class, i)
$$;
-- One row, of which the planner expects a million: a query over it is treated as one whose rows don't fit. Such a query
-- is run for each pass if its plan is parallel; otherwise its rows go to a temporary file.
CREATE FUNCTION one_of_many() RETURNS SETOF int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE ROWS 1000000
    AS $$ BEGIN RETURN NEXT 1; END $$;
SELECT fit, count(*), sum(y) AS ones, max(cardinality(x)) AS features FROM logit_rows GROUP BY fit ORDER BY fit;
CREATE FUNCTION digits_or_null(got float8, want numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN want IS NOT NULL THEN digits(got, want) WHEN got IS NULL THEN 16 ELSE 0 END
$$;
-- True if PostgreSQL refuses a value of type internal, with the message of any minor release.
CREATE FUNCTION refuses_internal(call text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE 'SELECT ' || call;
    RETURN false;
EXCEPTION WHEN undefined_function OR feature_not_supported THEN
    RETURN EXISTS (SELECT FROM pg_proc WHERE proname = split_part(call, '(', 1))
       AND sqlerrm ~ 'does not exist$|^cannot accept a value of type internal$';
END
$$;

-- The first argument of gpu_request_pass, as a process of a little-endian machine makes it: kind, features, the arrays
-- in the order of GrRequestArray, and members that are not 0
CREATE FUNCTION native(bytes bytea) RETURNS bytea LANGUAGE sql IMMUTABLE AS
    $$SELECT string_agg(substr(bytes, i, 1), '' ORDER BY i DESC) FROM generate_series(1, length(bytes)) i$$;
CREATE FUNCTION request_bytes(kind int, nfeatures int, arrays jsonb, members jsonb DEFAULT '{}') RETURNS bytea
    LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    changed jsonb := coalesce(members -> 'changed', '[]');
    head bytea := native(int2send(coalesce((members ->> 'version')::int, 1)::int2)) ||
        substr(int4send(coalesce((members ->> 'weighting')::int, 0)), 4) || '\x00' ||
        native(int4send(coalesce((members ->> 'nchanged')::int, jsonb_array_length(changed)))) ||
        native(int4send(nfeatures));
    offsets bytea := '';
    numbers bytea := '';
    block bytea;
    number text;
BEGIN
    FOR number IN SELECT jsonb_array_elements_text(changed || coalesce(members -> 'coef', '[]')) LOOP
        head := head || native(float8send(number::float8));
    END LOOP;
    FOR k IN 0 .. 7 LOOP
        IF jsonb_array_length(coalesce(arrays -> k, '[]')) = 0 THEN
            offsets := offsets || native(int8send(0));
            CONTINUE;
        END IF;
        offsets := offsets || native(int8send(184 + length(numbers)));
        FOR number IN SELECT jsonb_array_elements_text(arrays -> k) LOOP
            numbers := numbers || native(float8send(number::float8));
        END LOOP;
    END LOOP;
    block := native(int4send(kind)) || native(int4send(coalesce((members ->> 'flags')::int, 0))) ||
        native(int4send(nfeatures)) || '\x0000' || '\x00' || substr(int4send(coalesce((members ->> 'key')::int, 0)), 4) ||
        '\x00000000' || '\x00000000' ||
        native(int4send(coalesce((members ->> 'family')::int, 1))) ||
        native(int4send(coalesce((members ->> 'link')::int, 1))) || native(float8send(0)) || native(int8send(0)) ||
        native(int4send(coalesce((members ->> 'nfaces')::int, 0))) ||
        native(int4send(coalesce((members ->> 'measure')::int, 0))) || native(float8send(0)) || native(float8send(0)) ||
        native(int8send(coalesce((members ->> 'seed')::bigint, 0))) ||
        native(int8send(coalesce((members ->> 'first')::bigint, 0))) ||
        native(int4send(coalesce((members ->> 'nactive')::int, 0))) ||
        native(int4send(coalesce((members ->> 'nreps')::int, 0))) ||
        native(int4send(coalesce((members ->> 'ninfluence')::int, 0))) || native(int4send(0)) ||
        native(int4send(coalesce((members ->> 'ngroups')::int, 0))) || native(int4send(0)) || offsets || numbers;
    RETURN head || native(int8send(length(block) + 8)) || block;
END $$;
