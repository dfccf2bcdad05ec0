-- Signs after random rotations: the bits, and their use.
CREATE TABLE rotated (x text, k int, seed bigint, bits varbit);
\copy rotated FROM 'test/data/rotation.csv' WITH (FORMAT csv, HEADER)
SELECT count(*) AS vectors, count(*) FILTER (WHERE gpu_project_bits(string_to_array(x, ' ')::real[], k, seed) IS DISTINCT FROM bits) AS differ
FROM rotated;
SELECT length(gpu_project_bits(ARRAY[1, 2, 3], 13)), gpu_project_bits(ARRAY[1, 2, 3], 13, 0) = gpu_project_bits(ARRAY[1, 2, 3], 13) AS seed_0,
    octet_length(gpu_project_bits(ARRAY[1, 2, 3], 13)) AS bytes;
-- more signs begin with the same ones; a multiple has the same signs, the opposite the opposite ones, as no coordinate
-- is 0
SELECT bool_and(substring(gpu_project_bits(v, 300, s) FOR k) = gpu_project_bits(v, k, s)) AS prefix,
    bool_and(gpu_project_bits(v, k, s) = gpu_project_bits(scaled, k, s)) AS scaled,
    bool_and(gpu_project_bits(v, k, s) = ~gpu_project_bits(opposite, k, s)) AS opposite
FROM (SELECT s, 1 + s * 29 AS k, array_agg(sin(i * s)::real ORDER BY i) AS v, array_agg((sin(i * s)::real / 1024)::real ORDER BY i) AS scaled,
        array_agg((-sin(i * s))::real ORDER BY i) AS opposite
    FROM generate_series(1, 10) s, generate_series(1, 77) i GROUP BY s) t;
-- no vector overflows, and no number is too small
SELECT gpu_project_bits(array_fill(3.4e38::real, ARRAY[1000]), 64, 5) = gpu_project_bits(array_fill(1e-45::real, ARRAY[1000]), 64, 5) AS same;
SELECT gpu_project_bits('{0,0,0,0}', 9) AS of_zeros;
-- the share of different signs is the angle's share of 180 degrees, within 4.5 standard deviations of independent
-- signs
WITH angles AS (
    SELECT a, array_agg(sin(j * 7.3)::real ORDER BY j) AS v,
        array_agg((cos(radians(a)) * sin(j * 7.3) + sin(radians(a)) * cos(j * 7.3))::real ORDER BY j) AS w
    FROM generate_series(5, 175, 10) a, generate_series(1, 400) j GROUP BY a
), shares AS (
    SELECT (SELECT acos(sum(p * q) / sqrt(sum(p * p) * sum(q * q))) FROM unnest(v::float8[], w::float8[]) u(p, q)) / pi() AS angle,
        length(replace((gpu_project_bits(v, 8192, 3) # gpu_project_bits(w, 8192, 3))::text, '0', '')) / 8192.0 AS share FROM angles
)
SELECT count(*), max(abs(share - angle) / sqrt(angle * (1 - angle) / 8192)) < 4.5 AS near FROM shares;
-- a generated column, cast to the type that an index on bits needs
CREATE TABLE embedded (v real[], bits bit(64) GENERATED ALWAYS AS (gpu_project_bits(v, 64, 1)::bit(64)) STORED);
INSERT INTO embedded SELECT array_agg(cos(i * j)::real ORDER BY j) FROM generate_series(1, 5) i, generate_series(1, 20) j GROUP BY i;
SELECT bool_and(bits = gpu_project_bits(v, 64, 1)) AS generated FROM embedded;
DROP TABLE embedded;
-- NULLs, and invalid arguments
SELECT gpu_project_bits(NULL, 4) IS NULL AS x, gpu_project_bits('{1}', NULL) IS NULL AS k, gpu_project_bits('{1}', 4, NULL) IS NULL AS seed;
\set VERBOSITY terse
\set SHOW_CONTEXT never
DO $$
DECLARE
    call text;
    hint text;
    detail text;
BEGIN
    FOREACH call IN ARRAY ARRAY['gpu_project_bits(''{}'', 4)', 'gpu_project_bits(''{{1,2},{3,4}}'', 4)', 'gpu_project_bits(''{1,NULL}'', 4)',
        'gpu_project_bits(''{1,NaN}'', 4)', 'gpu_project_bits(''{1,Infinity}'', 4)', 'gpu_project_bits(''{1}'', 0)',
        'gpu_project_bits(''{1}'', -2147483648)', 'gpu_project_bits(''{1}'', 2147483647)'] LOOP
        BEGIN
            EXECUTE 'SELECT ' || call;
            RAISE NOTICE '%: no error', call;
        EXCEPTION WHEN OTHERS THEN
            GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
            RAISE NOTICE '%: % % / % / %', call, SQLSTATE, SQLERRM, detail, hint;
        END;
    END LOOP;
END
$$;
-- long calls can be cancelled
SET statement_timeout = '200ms';
SELECT gpu_project_bits(array_fill(1::real, ARRAY[30000000]), 80000000);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_project_bits('{1}', 83886080);
\echo :LAST_ERROR_SQLSTATE
RESET statement_timeout;
DROP TABLE rotated;
