-- Creates the table diamonds, which the tutorial and other pages use, unless it exists: 53,940 stones, each with its
-- weight in carats, its price in dollars, and its measures in millimetres. Run it with psql in the repository's root:
--
--     psql -d mine -f docs/diamonds.sql
\set QUIET on
SELECT to_regclass('diamonds') IS NULL AS diamonds_missing \gset
\if :diamonds_missing
-- ordered from the worst to the best
CREATE TYPE cut AS ENUM ('Fair', 'Good', 'Very Good', 'Premium', 'Ideal');
CREATE TYPE clarity AS ENUM ('I1', 'SI2', 'SI1', 'VS2', 'VS1', 'VVS2', 'VVS1', 'IF');
CREATE TABLE diamonds (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, carat float8, cut cut, color text,
                       clarity clarity, depth float8, "table" float8, price float8, x float8, y float8, z float8);
\copy diamonds (carat, cut, color, clarity, depth, "table", price, x, y, z) FROM PROGRAM 'gzip -dc test/data/diamonds.csv.gz' WITH (FORMAT csv, HEADER)
ANALYZE diamonds;
\endif
