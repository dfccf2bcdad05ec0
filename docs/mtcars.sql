-- Creates the table mtcars, which examples of the reference and other pages use, unless it exists: 32 cars of Motor
-- Trend, 1974. Run it with psql in the repository's root:
--
--     psql -d mine -f docs/mtcars.sql
\set QUIET on
SELECT to_regclass('mtcars') IS NULL AS mtcars_missing \gset
\if :mtcars_missing
CREATE TABLE mtcars (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, mpg float8, cyl float8, disp float8, hp float8,
                     drat float8, wt float8, qsec float8, vs float8, am float8, gear float8, carb float8);
\copy mtcars (mpg, cyl, disp, hp, drat, wt, qsec, vs, am, gear, carb) FROM 'test/data/reference/mtcars.csv' WITH (FORMAT csv, HEADER)
ANALYZE mtcars;
\endif
