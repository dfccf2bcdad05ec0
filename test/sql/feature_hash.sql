-- Feature hashing, equal to scikit-learn's FeatureHasher to the bit if no sum depends on the order of its terms.
CREATE TABLE hashed (token text NOT NULL, hash int, sign int, bucket_1 int, bucket_2 int, bucket_7 int, bucket_1000 int,
    bucket_4096 int, bucket_1048576 int);
\copy hashed FROM PROGRAM 'gzip -dc test/data/feature_hash.csv.gz' WITH (FORMAT csv, HEADER)
SELECT count(*) > 12000 AS tokens, count(*) FILTER (WHERE octet_length(token) > length(token)) > 4000 AS beyond_ascii,
    count(*) FILTER (WHERE hash = -2147483648) AS least FROM hashed;
-- a token's bucket and sign
CREATE FUNCTION one_hot(k int, bucket int, sign int) RETURNS real[] LANGUAGE sql IMMUTABLE AS $$
    SELECT array_fill(0::real, ARRAY[bucket]) || sign::real || array_fill(0::real, ARRAY[k - bucket - 1])
$$;
SELECT count(*) FILTER (WHERE gpu_feature_hash(ARRAY[token], 1) IS DISTINCT FROM one_hot(1, bucket_1, sign)) AS of_1,
    count(*) FILTER (WHERE gpu_feature_hash(ARRAY[token], 2) IS DISTINCT FROM one_hot(2, bucket_2, sign)) AS of_2,
    count(*) FILTER (WHERE gpu_feature_hash(ARRAY[token], 7) IS DISTINCT FROM one_hot(7, bucket_7, sign)) AS of_7,
    count(*) FILTER (WHERE gpu_feature_hash(ARRAY[token], 1000) IS DISTINCT FROM one_hot(1000, bucket_1000, sign)) AS of_1000,
    count(*) FILTER (WHERE (gpu_feature_hash(ARRAY[token], 4096))[bucket_4096 + 1] IS DISTINCT FROM sign) AS of_4096,
    count(*) FILTER (WHERE gpu_feature_hash(jsonb_build_object(token, 1), 7) IS DISTINCT FROM one_hot(7, bucket_7,
        sign)) AS of_7_in_json
FROM hashed;
SELECT count(*) FILTER (WHERE (gpu_feature_hash(ARRAY[token], 1048576))[bucket_1048576 + 1] IS DISTINCT FROM sign) AS of_1048576
FROM (SELECT * FROM hashed ORDER BY hash LIMIT 200) t;
-- all tokens in one row
SELECT count(*) FILTER (WHERE v IS DISTINCT FROM coalesce(want, 0)) AS wrong
FROM (SELECT gpu_feature_hash(array_agg(token), 1000) AS y FROM hashed) h, unnest(y) WITH ORDINALITY u(v, i)
LEFT JOIN (SELECT bucket_1000 + 1 AS i, sum(sign) AS want FROM hashed GROUP BY 1) w USING (i);
-- whole rows of tokens and of JSON, with duplicates, numbers, strings and booleans
CREATE TABLE hashed_rows (id int, kind text, features text, v16 text, v1024 text);
\copy hashed_rows FROM 'test/data/feature_hash_rows.csv' WITH (FORMAT csv, HEADER)
CREATE FUNCTION listed(y real[]) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(string_agg(i - 1 || ':' || v, ',' ORDER BY i), '') FROM unnest(y) WITH ORDINALITY u(v, i)
    WHERE v <> 0
$$;
CREATE FUNCTION same_values(a text, b text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(bool_and(split_part(u, ':', 1) = split_part(v, ':', 1)
        AND split_part(u, ':', 2)::real = split_part(v, ':', 2)::real), a = b)
    FROM unnest(string_to_array(a, ','), string_to_array(b, ',')) t(u, v)
$$;
SELECT kind, count(*), count(*) FILTER (WHERE same_values(listed(y16), coalesce(v16, ''))) AS right_16,
    count(*) FILTER (WHERE same_values(listed(y1024), coalesce(v1024, ''))) AS right_1024
FROM (SELECT *, CASE kind WHEN 'text' THEN gpu_feature_hash(features::text[], 16) ELSE gpu_feature_hash(features::jsonb,
    16) END AS y16,
        CASE kind WHEN 'text' THEN gpu_feature_hash(features::text[], 1024) ELSE gpu_feature_hash(features::jsonb,
            1024) END AS y1024 FROM hashed_rows) t
GROUP BY kind ORDER BY kind DESC;
-- a sum that depends on the order: jsonb has a, c, bb, whatever the order in the text; scikit-learn adds in the text's
-- order, which gives 5.551115e-17
SELECT gpu_feature_hash('{"a":0.1,"bb":0.2,"c":0.3}'::jsonb, 1) AS sorted,
    gpu_feature_hash('{"c":0.3,"bb":0.2,"a":0.1}'::jsonb, 1) AS sorted_too,
    ARRAY[0.1::float8 - 0.3::float8 + 0.2::float8]::real[] AS by_hand,
    ARRAY[0.1::float8 + 0.2::float8 - 0.3::float8]::real[] AS in_text_order;
-- jsonb's order by the rule in docs/reference/projection.md
SELECT array_agg(sum::real ORDER BY place)
FROM (SELECT place, sum(sign * value::float8 ORDER BY n)
      FROM json_each_text('{"a":0.1,"bb":0.2,"c":0.3}') WITH ORDINALITY f(name, value, n),
           unnest(gpu_feature_hash(ARRAY[name], 1)) WITH ORDINALITY h(sign, place)
      GROUP BY place) sums;
SELECT array_agg(sum::real ORDER BY place) = gpu_feature_hash('{"x": 3, "y": -2.5, "z": 0.25, "long name": 7}'::jsonb,
    8) AS same
FROM (SELECT place, sum(sign * value::float8 ORDER BY n)
      FROM json_each_text('{"x": 3, "y": -2.5, "z": 0.25, "long name": 7}') WITH ORDINALITY f(name, value, n),
           unnest(gpu_feature_hash(ARRAY[name], 8)) WITH ORDINALITY h(sign, place)
      GROUP BY place) sums;
-- the hash's published values: a 1009084850, foo -156908512, age=42 1138946670
SELECT listed(gpu_feature_hash(ARRAY['a'], 100000)) AS a, listed(gpu_feature_hash(ARRAY['foo'], 100000)) AS foo,
    listed(gpu_feature_hash('{"age": "42"}'::jsonb, 100000)) AS age;
-- strings hash as name=value, numbers give values, zeros and nulls nothing, booleans are numbers
SELECT gpu_feature_hash('{"age": "42"}'::jsonb, 8) = gpu_feature_hash(ARRAY['age=42'], 8) AS string,
    gpu_feature_hash('{"a": 2.5}'::jsonb, 4) = '{0,0,2.5,0}' AS number,
    gpu_feature_hash('{"a": 0, "b": 0.0, "c": null, "d": false}'::jsonb, 4) = '{0,0,0,0}' AS nothing,
    gpu_feature_hash('{"a": true}'::jsonb, 4) = gpu_feature_hash(ARRAY['a'], 4) AS boolean,
    gpu_feature_hash('{}'::jsonb, 2) = '{0,0}' AS no_member, gpu_feature_hash('{}'::text[], 2) = '{0,0}' AS no_token,
    gpu_feature_hash('{"a": "", "": "b", "": 3}'::jsonb, 4) = (SELECT array_agg(u + v)
        FROM unnest(gpu_feature_hash(ARRAY['a='], 4), gpu_feature_hash('{"": 3}'::jsonb, 4)) t(u, v)) AS empty;
SELECT gpu_feature_hash(to_jsonb(t), 4) = gpu_feature_hash('{"a": 1, "b": "x"}'::jsonb, 4) AS of_a_row
FROM (SELECT 1 AS a, 'x' AS b, NULL::int AS c) t;
SELECT gpu_feature_hash('[0:1]={a,b}'::text[], 4) = gpu_feature_hash('{a,b}'::text[], 4) AS lower_bound,
    gpu_feature_hash(ARRAY['a', 'a', 'a'], 4) AS thrice;
-- another seed is another hash; a seed of 32 bits is the hash's own seed
SELECT count(DISTINCT gpu_feature_hash(ARRAY['a', 'b', 'c', 'd', 'e', 'f'], 64, seed)) AS different
FROM unnest(ARRAY[0, 1, -1, 4294967296, 9223372036854775807]) seed;
CREATE TABLE murmur (token_hex text, seed bigint, hash int);
\copy murmur FROM 'test/data/murmur3.csv' WITH (FORMAT csv, HEADER)
SELECT count(*) > 100 AS many,
    count(*) FILTER (WHERE gpu_feature_hash(ARRAY[convert_from(decode(coalesce(token_hex, ''), 'hex'), 'UTF8')],
        65521, seed)
        IS DISTINCT FROM one_hot(65521, (abs(hash::bigint) % 65521)::int, CASE WHEN hash < 0 THEN -1 ELSE 1 END)) AS wrong
FROM (SELECT * FROM murmur WHERE coalesce(token_hex, '') ~ '^([0-7][1-9a-f]|[1-7]0)*$') ascii;
-- with a density, columns of S, numbered by the hashes with the seeds 0 and 9747b28c: tokens are far from each other,
-- none is lost, sums are linear, values are pinned
SELECT md5(string_agg(array_send(gpu_feature_hash(ARRAY[token], 64, 1, 0.25)), ''
    ORDER BY token COLLATE "C")) AS pinned,
    count(DISTINCT gpu_feature_hash(ARRAY[token], 64, 1, 0.25)) = count(*) AS all_different FROM hashed;
SELECT gpu_feature_hash(ARRAY['a', 'b', 'a'], 32, 1, 0.5) = gpu_feature_hash('{"b": 1, "a": 2}'::jsonb, 32, 1,
    0.5) AS tokens_and_json,
    gpu_feature_hash(ARRAY['a', 'b', 'a'], 32, 1, 0.5) = gpu_feature_hash(ARRAY['b', 'a', 'a'], 32, 1,
        0.5) AS any_order,
    gpu_feature_hash(ARRAY['a'], 32, 1, 0.5) = gpu_project_sparse(ARRAY[h1 + (h2 & 2147483647) * 4294967296],
        '{1}', 32, 1, 0.5) AS a_column
FROM (SELECT 1009084850::bigint AS h1, 2141232806::bigint AS h2) t;
-- NULL arguments
SELECT gpu_feature_hash(NULL::text[], 3) IS NULL AS features, gpu_feature_hash(NULL::jsonb, 3) IS NULL AS json,
    gpu_feature_hash(ARRAY['a'], NULL) IS NULL AS k, gpu_feature_hash(ARRAY['a'], 1, NULL) IS NULL AS seed;
