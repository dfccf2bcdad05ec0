-- Linear models with factors are summed by the levels of the factors, in the read that finds the levels. The rows are
-- read through SPI once more, which makes indicator columns row by row, and both answers agree.
SET client_min_messages = warning;
SET gpureg.device = cpu;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
CREATE TYPE mood AS ENUM ('sad', 'fine', 'glad');
-- Numbers in [0, 1) that depend on i and k alone.
CREATE FUNCTION cells_draw(i int, k int) RETURNS float8 LANGUAGE sql IMMUTABLE
AS $$ SELECT (hashint8extended(i, k) & 1048575) / 1048576.0::float8 $$;
CREATE TABLE cells AS
SELECT 1e6 + cells_draw(i, 0) AS y, 100 * cells_draw(i, 1) AS x, 1e9 + cells_draw(i, 2) AS far,
    (10 * cells_draw(i, 3))::real AS z, 'city ' || trunc(105 * cells_draw(i, 4)) AS city,
    ('{sad,fine,glad}'::mood[])[1 + trunc(3 * cells_draw(i, 5))::int] AS mood, trunc(12 * cells_draw(i, 6))::int AS k,
    cells_draw(i, 7) < 0.4 AS b, trunc(4 * cells_draw(i, 8))::int AS w,
    round((2 * cells_draw(i, 9))::numeric, 1) AS nu,
    ('a' || trunc(3 * cells_draw(i, 10)))::char(5) AS blank, nullif(trunc(4 * cells_draw(i, 11)), 0)::text AS gaps
FROM generate_series(1, 2500) i;
UPDATE cells SET x = NULL WHERE k = 3 AND w = 0;
-- Levels of incomplete rows are none, but those of rows without weight are.
UPDATE cells SET city = 'nowhere', y = NULL WHERE nu = 0.3;
UPDATE cells SET city = 'weightless', w = 0 WHERE nu = 0.7;
-- A row that is left out for a NULL level may have any numbers.
INSERT INTO cells SELECT y, 'Infinity', far, 'NaN', NULL, NULL, NULL, b, w, NULL, blank, NULL FROM cells LIMIT 3;
VACUUM ANALYZE cells;
CREATE FUNCTION cells_agree(formula text, weights text, frequencies text, OUT by_cell boolean, OUT agrees boolean)
LANGUAGE plpgsql AS $$
DECLARE
    cell gpu_model;
    dummies gpu_model;
    query constant text := 'SELECT * FROM cells';
BEGIN
    cell := gpu_ols_fit(query, true, formula, weights, frequencies);
    by_cell := reason = 'the rows were summed by the levels of factors' FROM gpu_last_run();
    PERFORM set_config('gpureg.read', 'spi', true);
    dummies := gpu_ols_fit(query, true, formula, weights, frequencies);
    PERFORM set_config('gpureg.read', 'auto', true);
    agrees := (cell.terms, cell.n, cell.n_skipped, cell.rank, cell.df_residual)
            = (dummies.terms, dummies.n, dummies.n_skipped, dummies.rank, dummies.df_residual)
        AND abs(cell.deviance / dummies.deviance - 1) < 1e-13 AND abs(cell.log_lik / dummies.log_lik - 1) < 1e-13
        AND (SELECT bool_and((u IS NULL) = (v IS NULL) AND coalesce(abs(u - v) <= 1e-13 * abs(v), true))
            FROM unnest(cell.coef, dummies.coef) c (u, v))
        AND (SELECT bool_and((u IS NULL) = (v IS NULL) AND coalesce(abs(u - v) <= 1e-12 * abs(v), true))
            FROM unnest(cell.vcov, dummies.vcov) c (u, v));
END
$$;

CREATE TABLE cells_formulas (weights text, frequencies text, formula text);
INSERT INTO cells_formulas SELECT NULL, NULL, unnest('{y ~ mood + x,y ~ mood * x,y ~ city + x + z,y ~ x + city * mood,
    y ~ mood:x,y ~ far + mood,y ~ city - 1,y ~ x + city + mood - 1,y ~ factor(k) + k + x + mood,y ~ k + factor(k),
    y ~ factor(nu) + z + gaps,y ~ blank * b,y ~ mood:z - 1,
    z ~ mood + far,y ~ gaps + x,y ~ factor(b) + gaps:z + mood}'::text[]);
INSERT INTO cells_formulas SELECT 'w', NULL, unnest('{y ~ mood + x,y ~ city + z + gaps,y ~ gaps * z}'::text[]);
INSERT INTO cells_formulas SELECT NULL, 'w', unnest('{y ~ mood + x,y ~ city + z + gaps,y ~ gaps * z}'::text[]);
SET max_parallel_workers_per_gather = 0;
SELECT f.*, a.* FROM cells_formulas f, cells_agree(formula, weights, frequencies) a WHERE NOT by_cell OR NOT agrees;
SET max_parallel_workers_per_gather = 2;
SELECT f.*, a.* FROM cells_formulas f, cells_agree(formula, weights, frequencies) a WHERE NOT by_cell OR NOT agrees;
-- by the server's own nodes, with workers and without
SET gpureg.enable_scan = off;
SELECT f.*, a.* FROM cells_formulas f, cells_agree(formula, weights, frequencies) a WHERE NOT by_cell OR NOT agrees;
SET max_parallel_workers_per_gather = 0;
SELECT f.*, a.* FROM cells_formulas f, cells_agree(formula, weights, frequencies) a WHERE NOT by_cell OR NOT agrees;
RESET gpureg.enable_scan;
-- more cells than work_mem holds
SET work_mem = '64kB';
SELECT a.* FROM cells_agree('y ~ city * gaps + factor(nu)', NULL, NULL) a;
RESET work_mem;
-- powers and products of numbers have no cells
SELECT a.* FROM unnest(ARRAY['y ~ mood + gaps + poly(z, 2)', 'y ~ mood + gaps + k:z']) f, cells_agree(f, NULL, NULL) a;
-- levels that only rows of weight 0 have, which may also be incomplete
SELECT a.* FROM unnest('{NULL,w}'::text[]) w, cells_agree('y ~ city + gaps + b', NULL, w) a;
-- a factor that is also the weight
SELECT a.* FROM cells_agree('y ~ factor(w) + gaps', 'w', NULL) a;
-- errors are those of other ways
CREATE TABLE cells_few (y float8, c text, d date);
INSERT INTO cells_few VALUES (1, 'a'), (2, 'A'), (4, 'a'), (8, 'B'), (7, 'A');
SELECT terms, coef FROM gpu_ols_fit('SELECT y, c FROM cells_few');
SELECT terms, coef FROM gpu_ols_fit('SELECT y, c FROM cells_few WHERE y > 100');
SELECT terms, coef FROM gpu_ols_fit('SELECT y, c FROM cells_few WHERE c = ''a''');
SELECT terms, coef FROM gpu_ols_fit('SELECT y * 1e200 AS y, c FROM cells_few');
SELECT terms, coef FROM gpu_ols_fit('SELECT y, c || repeat(''x'', 1000) AS c FROM cells_few');
-- too many levels
CREATE TABLE cells_many AS SELECT i::float8 AS y, i AS id FROM generate_series(1, 10002) i;
SELECT gpu_ols_fit('SELECT * FROM cells_many', formula => 'y ~ factor(id)');
-- groups by texts that are read in place: short, compressed, out of line, of another type, NULL, and after other texts
CREATE TABLE cells_texts AS
SELECT i::float8 AS y, (i % 7)::float8 AS x, repeat('ab', 5000 * (i % 3)) || i % 5 AS squeezed,
    (SELECT string_agg(md5(i % 3 || ' ' || k), '') FROM generate_series(1, 300 * (i % 2)) k) || i % 4 AS outside,
    ('v' || i % 6)::varchar(9) AS v, CASE WHEN i % 11 > 0 THEN i % 9 END AS k
FROM generate_series(1, 2000) i;
ALTER TABLE cells_texts ADD later text DEFAULT 'added';
UPDATE cells_texts SET squeezed = NULL WHERE y < 50;
VACUUM ANALYZE cells_texts;
CREATE FUNCTION cells_group(keys text, workers text, scan text, memory text, OUT md5 text, OUT nrows bigint)
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('max_parallel_workers_per_gather', workers, true), set_config('gpureg.enable_scan', scan, true),
        set_config('work_mem', memory, true);
    EXECUTE format('SELECT md5(string_agg(key || n, '','' ORDER BY key COLLATE "C", n)), sum(n) '
        'FROM (SELECT concat_ws(''|'', %1$s) AS key, CASE WHEN gpu_ols_stats_agg(y, x) IS NOT NULL THEN count(*) END '
        'AS n FROM cells_texts GROUP BY %1$s) g', keys) INTO md5, nrows;
END
$$;
SELECT keys, count(DISTINCT g) AS answers, min(nrows) AS nrows
FROM unnest('{squeezed,outside,v,"v,k","k,squeezed,outside",later,"outside,v,later"}'::text[]) keys,
    unnest('{0,2}'::text[]) workers, unnest('{on,off}'::text[]) scan, unnest('{64kB,4MB}'::text[]) memory,
    cells_group(keys, workers, scan, memory) g GROUP BY keys ORDER BY keys COLLATE "C";
DROP FUNCTION cells_group;
DROP TABLE cells_texts;
DROP TABLE cells, cells_few, cells_many, cells_formulas;
DROP FUNCTION cells_agree, cells_draw;
DROP TYPE mood;
