/* gpureg: regression and random projection in SQL */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION gpureg" to load this file. \quit

--
-- The state of a linear regression
--

CREATE TYPE gpu_ols_stats;

CREATE FUNCTION gpu_ols_stats_in(cstring) RETURNS gpu_ols_stats
    AS 'MODULE_PATHNAME', 'gr_ols_stats_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION gpu_ols_stats_out(gpu_ols_stats) RETURNS cstring
    AS 'MODULE_PATHNAME', 'gr_ols_stats_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION gpu_ols_stats_recv(internal) RETURNS gpu_ols_stats
    AS 'MODULE_PATHNAME', 'gr_ols_stats_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION gpu_ols_stats_send(gpu_ols_stats) RETURNS bytea
    AS 'MODULE_PATHNAME', 'gr_ols_stats_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE TYPE gpu_ols_stats (
    INPUT = gpu_ols_stats_in,
    OUTPUT = gpu_ols_stats_out,
    RECEIVE = gpu_ols_stats_recv,
    SEND = gpu_ols_stats_send,
    INTERNALLENGTH = VARIABLE,
    ALIGNMENT = double,
    STORAGE = extended
);

--
-- Models
--

CREATE TYPE gpu_model AS (
    method text,
    terms text[],
    coef float8[],
    vcov float8[],
    n bigint,
    n_skipped bigint,
    rank int,
    df_residual bigint,
    deviance float8,
    null_deviance float8,
    iterations int,
    converged boolean,
    separated text[],
    device text
);

CREATE FUNCTION gpu_tidy(model gpu_model, conf_level float8 DEFAULT 0.95, exponentiate boolean DEFAULT false)
    RETURNS TABLE (term text, estimate float8, std_error float8, statistic float8, p_value float8,
                   conf_low float8, conf_high float8)
    AS 'MODULE_PATHNAME', 'gr_tidy' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 10;

CREATE FUNCTION gpu_glance(model gpu_model)
    RETURNS TABLE (n bigint, n_skipped bigint, rank int, df_residual bigint, r_squared float8,
                   adj_r_squared float8, sigma float8, f_statistic float8, f_p_value float8, deviance float8,
                   null_deviance float8, log_lik float8, aic float8, bic float8, iterations int, converged boolean)
    AS 'MODULE_PATHNAME', 'gr_glance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 1;

CREATE FUNCTION gpu_predict(model gpu_model, VARIADIC x float8[]) RETURNS float8
    AS 'MODULE_PATHNAME', 'gr_predict' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

--
-- Linear regression
--

-- Where it computes depends on a setting, and it records what gpu_last_run() shows.
CREATE FUNCTION gpu_ols(x float8[], y float8[], intercept boolean DEFAULT true) RETURNS float8[]
    AS 'MODULE_PATHNAME', 'gr_ols_arrays' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED COST 10000;

CREATE FUNCTION gpu_ols_fit(query text, intercept boolean DEFAULT true) RETURNS gpu_model
    AS 'MODULE_PATHNAME', 'gr_ols_fit' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100000;

CREATE FUNCTION gpu_ols_stats_accum(gpu_ols_stats, y float8, VARIADIC x float8[]) RETURNS gpu_ols_stats
    AS 'MODULE_PATHNAME', 'gr_ols_stats_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
CREATE FUNCTION gpu_ols_stats_combine(gpu_ols_stats, gpu_ols_stats) RETURNS gpu_ols_stats
    AS 'MODULE_PATHNAME', 'gr_ols_stats_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
CREATE FUNCTION gpu_ols_stats_final(gpu_ols_stats) RETURNS gpu_ols_stats
    AS 'MODULE_PATHNAME', 'gr_ols_stats_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION gpu_ols_model_final(gpu_ols_stats) RETURNS gpu_model
    AS 'MODULE_PATHNAME', 'gr_ols_model_final' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;

CREATE AGGREGATE gpu_ols_agg(y float8, VARIADIC x float8[]) (
    SFUNC = gpu_ols_stats_accum,
    STYPE = gpu_ols_stats,
    SSPACE = 4096,
    COMBINEFUNC = gpu_ols_stats_combine,
    FINALFUNC = gpu_ols_model_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

CREATE AGGREGATE gpu_ols_stats_agg(y float8, VARIADIC x float8[]) (
    SFUNC = gpu_ols_stats_accum,
    STYPE = gpu_ols_stats,
    SSPACE = 4096,
    COMBINEFUNC = gpu_ols_stats_combine,
    FINALFUNC = gpu_ols_stats_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

CREATE AGGREGATE gpu_ols_rollup(stats gpu_ols_stats) (
    SFUNC = gpu_ols_stats_combine,
    STYPE = gpu_ols_stats,
    SSPACE = 4096,
    COMBINEFUNC = gpu_ols_stats_combine,
    FINALFUNC = gpu_ols_stats_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

CREATE FUNCTION gpu_ols_solve(stats gpu_ols_stats, intercept boolean DEFAULT true) RETURNS gpu_model
    AS 'MODULE_PATHNAME', 'gr_ols_solve_stats' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;

--
-- The machine
--

CREATE FUNCTION gpu_devices()
    RETURNS TABLE (id int, name text, compute_capability text, memory_total bigint, memory_free bigint, driver text)
    AS 'MODULE_PATHNAME', 'gr_devices' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 1;

CREATE FUNCTION gpu_last_run()
    RETURNS TABLE (function text, device text, reason text, rows bigint, features int, bytes_to_device bigint,
                   read_seconds float8, copy_seconds float8, kernel_seconds float8, solve_seconds float8,
                   total_seconds float8, workers int)
    AS 'MODULE_PATHNAME', 'gr_show_last_run' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 1;

--
-- Comments
--

COMMENT ON TYPE gpu_ols_stats IS 'mergeable state of a linear regression: cross products in double-double';
COMMENT ON FUNCTION gpu_ols_stats_in(cstring) IS 'I/O';
COMMENT ON FUNCTION gpu_ols_stats_out(gpu_ols_stats) IS 'I/O';
COMMENT ON FUNCTION gpu_ols_stats_recv(internal) IS 'I/O';
COMMENT ON FUNCTION gpu_ols_stats_send(gpu_ols_stats) IS 'I/O';
COMMENT ON FUNCTION gpu_ols_stats_accum(gpu_ols_stats, float8, float8[]) IS 'aggregate transition function';
COMMENT ON FUNCTION gpu_ols_stats_combine(gpu_ols_stats, gpu_ols_stats) IS 'aggregate combine function';
COMMENT ON FUNCTION gpu_ols_stats_final(gpu_ols_stats) IS 'aggregate final function';
COMMENT ON FUNCTION gpu_ols_model_final(gpu_ols_stats) IS 'aggregate final function';
COMMENT ON TYPE gpu_model IS 'a fitted model';
COMMENT ON FUNCTION gpu_tidy(gpu_model, float8, boolean) IS 'coefficient table of a model';
COMMENT ON FUNCTION gpu_glance(gpu_model) IS 'one-row summary of a model';
COMMENT ON FUNCTION gpu_predict(gpu_model, float8[]) IS 'prediction of a model';
COMMENT ON FUNCTION gpu_ols(float8[], float8[], boolean) IS 'linear regression over arrays: the coefficients';
COMMENT ON FUNCTION gpu_ols_fit(text, boolean) IS 'linear regression over a query: the model';
COMMENT ON AGGREGATE gpu_ols_agg(float8, VARIADIC float8[]) IS 'linear regression: the model';
COMMENT ON AGGREGATE gpu_ols_stats_agg(float8, VARIADIC float8[]) IS 'linear regression: the mergeable state';
COMMENT ON AGGREGATE gpu_ols_rollup(gpu_ols_stats) IS 'merges states of linear regressions';
COMMENT ON FUNCTION gpu_ols_solve(gpu_ols_stats, boolean) IS 'linear regression from a state: the model';
COMMENT ON FUNCTION gpu_devices() IS 'the GPUs that this server can use';
COMMENT ON FUNCTION gpu_last_run() IS 'what the last computation of this session did, and where';
