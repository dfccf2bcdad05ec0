-- Creates the table grunfeld, which docs/effects.md uses, unless it exists: 11 firms in 20 years, 1935 to 1954
-- (Grunfeld 1958). Run it with psql in the repository's root:
--
--     psql -d mine -f docs/grunfeld.sql
\set QUIET on
SELECT to_regclass('grunfeld') IS NULL AS grunfeld_missing \gset
\if :grunfeld_missing
CREATE TABLE grunfeld (firm text, year int, invest float8, value float8, capital float8);
\copy grunfeld FROM 'test/data/reference/grunfeld.csv' WITH (FORMAT csv, HEADER)
ANALYZE grunfeld;
\endif
