-- gpu_predict_row: a row or a jsonb object by name, with options; gpu_levels.
CREATE TABLE shops (id int, city text, size float8, days float8, open boolean, sales float8, visits int, busy boolean);
INSERT INTO shops
SELECT i, (ARRAY['Bern', 'Genf', 'Basel', 'Chur'])[1 + i % 4], 10 + i * 7 % 23, 1 + i % 5, i % 3 > 0,
       100 + 7 * (i % 4) + 3 * (i * 7 % 23) + 5 * sin(i), i * i % 7 + i % 4, sin(i * i) > 0.1 * (i % 4)
FROM generate_series(1, 200) i;
CREATE TABLE shop_models AS
SELECT 'linear' AS name, gpu_ols_fit('SELECT sales, city, size, open FROM shops') AS m
UNION ALL SELECT 'plain', gpu_ols_fit('SELECT sales, size, visits FROM shops')
UNION ALL SELECT 'logit', gpu_logreg_fit('SELECT busy, city, size FROM shops')
UNION ALL SELECT 'poisson', gpu_glm_fit('SELECT visits, city, size, ln(days) AS log_days FROM shops', 'poisson',
    offsets => 'log_days')
UNION ALL SELECT 'count', gpu_glm_fit('SELECT visits, size FROM shops', 'poisson');
-- without options it is gpu_predict; the link is the linear predictor, with the offset
SELECT name, count(*), bool_and(gpu_predict_row(m, r) = gpu_predict(m, r)) AS "row",
    bool_and(gpu_predict_row(m, to_jsonb(r)) = gpu_predict(m, r)) AS jsonb,
    bool_and(gpu_predict_row(m, r, 'response', 'error') = gpu_predict(m, r)) AS by_position,
    bool_and(gpu_predict_row(x => r, model => m, new_levels => 'null') = gpu_predict(m, r)) AS by_name,
    max(abs(gpu_predict_row(m, r, type => 'link') - CASE name WHEN 'logit' THEN ln(p / (1 - p))
        WHEN 'poisson' THEN ln(p) WHEN 'count' THEN ln(p) ELSE p END)) < 1e-12 AS link
FROM shop_models, (SELECT *, ln(days) AS log_days FROM shops) r, LATERAL (SELECT gpu_predict(m, r) AS p) p
GROUP BY name ORDER BY name;
-- the levels, in their order
SELECT name, l.* FROM shop_models, gpu_levels(m) l ORDER BY name, factor, position;
SELECT count(*) FROM gpu_levels(NULL);
SELECT l.* FROM gpu_levels(gpu_ols_fit('SELECT sales, city, size, open FROM shops',
    formula => 'sales ~ factor(open) + size * city - 1')) l;
-- levels that the model does not have: an error, or NULL
SELECT name, gpu_predict_row(m, r) FROM shop_models, (SELECT 'Olten' AS city, 20 AS size, true AS open) r
WHERE name = 'linear';
\echo :LAST_ERROR_SQLSTATE
SET extra_float_digits = -2; -- another device's last digits may differ
SELECT name, gpu_predict_row(m, r, new_levels => 'null') AS "row",
    gpu_predict_row(m, to_jsonb(r), new_levels => 'null') AS jsonb
FROM shop_models, (SELECT 'Olten' AS city, 20 AS size, true AS open, 1 AS visits, 0 AS log_days) r
WHERE name <> 'plain' ORDER BY name;
RESET extra_float_digits;
-- rows with new levels, NULL and known levels in one statement; the option may change from row to row
SELECT i, city, gpu_predict_row(m, r, new_levels => CASE i % 2 WHEN 1 THEN 'null' ELSE 'error' END) IS NULL AS "null"
FROM shop_models, (VALUES (1, 'Olten', 20, true), (2, 'Bern', 20, true), (3, NULL, 20, true), (4, 'Bern', NULL, true))
    r(i, city, size, open)
WHERE name = 'linear' ORDER BY i;
SELECT gpu_predict_row(m, r, new_levels => CASE i % 2 WHEN 1 THEN 'null' ELSE 'error' END)
FROM shop_models, (VALUES (1, 'Olten', 20, true), (2, 'Olten', 20, true)) r(i, city, size, open) WHERE name = 'linear';
-- NULL
SELECT gpu_predict_row(NULL, shops) IS NULL AS model, gpu_predict_row(m, NULL::shops) IS NULL AS "row",
    gpu_predict_row(m, NULL::jsonb) IS NULL AS object, gpu_predict_row(m, ROW(NULL)::record) IS NULL AS record
FROM shop_models, shops WHERE name = 'nothing';
SELECT gpu_predict_row(NULL, shops) IS NULL AS model, gpu_predict_row(m, NULL::shops) IS NULL AS "row",
    gpu_predict_row(m, NULL::jsonb) IS NULL AS object FROM shop_models, shops WHERE name = 'plain' AND id = 1;
-- bad arguments
\set VERBOSITY default
SELECT gpu_predict_row(m, shops, type => 'terms') FROM shop_models, shops WHERE id = 1 AND name = 'plain';
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict_row(m, shops, type => NULL) FROM shop_models, shops WHERE id = 1 AND name = 'plain';
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict_row(m, shops, new_levels => 'zero') FROM shop_models, shops WHERE id = 1 AND name = 'plain';
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict_row(m, shops, new_levels => NULL) FROM shop_models, shops WHERE id = 1 AND name = 'plain';
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict_row(m, '{"size": 1, "visits": 2}') FROM shop_models WHERE name = 'plain';
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict_row(m, '{"size": 1, "visits": 2}'::json) FROM shop_models WHERE name = 'plain';
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict_row(m, 1) FROM shop_models WHERE name = 'plain';
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict_row(m, ARRAY[1, 2]) FROM shop_models WHERE name = 'plain';
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict_row(m, r) FROM shop_models, (SELECT 1 AS size) r WHERE name = 'linear';
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_predict_row(m, '{"size": 1e308, "visits": 1e308}'::jsonb, type => 'link')
FROM (SELECT gpu_ols_fit('SELECT 100 * sales, 1e-3 * size AS size, 1e-3 * visits AS visits FROM shops') AS m) f;
\echo :LAST_ERROR_SQLSTATE
-- a model of a malformed design
SELECT gpu_levels(jsonb_populate_record(m, '{"design": "1 2 3"}')) FROM shop_models WHERE name = 'linear';
\echo :LAST_ERROR_SQLSTATE
-- workers give the same
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SELECT sum(gpu_predict_row((SELECT m FROM shop_models WHERE name = 'linear'), shops)) AS s FROM shops \gset
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size;
SELECT abs(sum(gpu_predict_row(m, shops)) - :s) < 1e-9 AS same FROM shops, shop_models WHERE name = 'linear';
DROP TABLE shops, shop_models;
