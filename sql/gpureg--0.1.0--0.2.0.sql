-- Upgrades gpureg 0.1.0 to 0.2.0. Afterwards the catalogue equals that of a new 0.2.0 (test/t/026_upgrade.pl compares
-- them). test/data/released/gpureg--0.1.0.sql has the SQL of 0.1.0.
\echo Use "ALTER EXTENSION gpureg UPDATE TO '0.2.0'" to load this file. \quit

--
-- Privileges: only the planner calls these functions, and it needs no EXECUTE right
--

REVOKE EXECUTE ON FUNCTION gpu_array_support(internal) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION gpu_scan_support(internal) FROM PUBLIC;

--
-- gpu_jl_min_dim() returns a bigint: a small eps asks for more dimensions than an int holds
--

DROP FUNCTION gpu_jl_min_dim(bigint, float8);
CREATE FUNCTION gpu_jl_min_dim(n bigint, eps float8 DEFAULT 0.1) RETURNS bigint
    AS 'MODULE_PATHNAME', 'gr_jl_min_dim_bigint' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION gpu_jl_min_dim(bigint, float8) IS 'dimensions that keep all distances among n points to within eps';

--
-- Kept rows
--

-- The sets of all databases and roles; for superusers, unless they grant it to others
CREATE FUNCTION gpu_kept_all()
    RETURNS TABLE (database text, owner text, name text, state text, query text, rows bigint, bytes bigint,
                   kept_at timestamptz, hits bigint, device text)
    AS 'MODULE_PATHNAME', 'gr_show_kept_all' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 10;
REVOKE EXECUTE ON FUNCTION gpu_kept_all() FROM PUBLIC;
COMMENT ON FUNCTION gpu_kept_all() IS 'the rows that all roles keep in all databases, and those that are being read';

--
-- gpu_tidy: a further column, df
--

-- The function's result is changed in the catalogue, as PostgreSQL's own extensions do where CREATE OR REPLACE cannot:
-- a function that is dropped would take the views that call it along, and the privileges that were granted on it.
UPDATE pg_catalog.pg_proc
SET proallargtypes = proallargtypes OPERATOR(pg_catalog.||) 'pg_catalog.float8'::pg_catalog.regtype::pg_catalog.oid,
    proargmodes = proargmodes OPERATOR(pg_catalog.||) 't'::pg_catalog."char",
    proargnames = proargnames OPERATOR(pg_catalog.||) 'df'::text
WHERE oid OPERATOR(pg_catalog.=) 'gpu_tidy(gpu_model, float8, boolean)'::pg_catalog.regprocedure;

--
-- Clusters
--

CREATE FUNCTION gpu_cluster_key("any") RETURNS float8
    AS 'MODULE_PATHNAME', 'gr_cluster_key' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION gpu_cluster_key("any") IS 'internal: an integer that tells the cluster of a value';
