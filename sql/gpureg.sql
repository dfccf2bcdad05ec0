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
    device text,
    log_lik float8,
    family text,
    link text,
    theta float8,
    dispersion float8,
    vcov_type text,
    df_inference float8,
    design text
);

CREATE FUNCTION gpu_tidy(model gpu_model, conf_level float8 DEFAULT 0.95, exponentiate boolean DEFAULT false)
    RETURNS TABLE (term text, estimate float8, std_error float8, statistic float8, p_value float8,
                   conf_low float8, conf_high float8, df float8, class text)
    AS 'MODULE_PATHNAME', 'gr_tidy' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 10;

CREATE FUNCTION gpu_glance(model gpu_model)
    RETURNS TABLE (n bigint, n_skipped bigint, rank int, df_residual bigint, r_squared float8,
                   adj_r_squared float8, sigma float8, f_statistic float8, f_p_value float8, deviance float8,
                   null_deviance float8, log_lik float8, aic float8, bic float8, iterations int, converged boolean,
                   pseudo_r_squared float8, family text, link text, dispersion float8, vcov text)
    AS 'MODULE_PATHNAME', 'gr_glance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 1;

CREATE FUNCTION gpu_with_terms(model gpu_model, terms text[]) RETURNS gpu_model
    AS 'MODULE_PATHNAME', 'gr_with_terms' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION gpu_anova(m0 gpu_model, m1 gpu_model)
    RETURNS TABLE (model int, df_residual bigint, deviance float8, df bigint, deviance_change float8,
                   statistic float8, p_value float8, test text)
    AS 'MODULE_PATHNAME', 'gr_anova' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 2;

CREATE FUNCTION gpu_summary(model gpu_model) RETURNS text
    AS 'MODULE_PATHNAME', 'gr_summary' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;

-- terms NULL: all terms except the intercept
CREATE FUNCTION gpu_wald(model gpu_model, terms text[] DEFAULT NULL)
    RETURNS TABLE (statistic float8, df1 int, df2 float8, p_value float8, test text)
    AS 'MODULE_PATHNAME', 'gr_wald' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100 ROWS 1;

CREATE FUNCTION gpu_anova(model gpu_model)
    RETURNS TABLE (term text, statistic float8, df1 int, df2 float8, p_value float8, test text)
    AS 'MODULE_PATHNAME', 'gr_anova_model' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100 ROWS 10;
CREATE FUNCTION gpu_drop1(model gpu_model)
    RETURNS TABLE (term text, df int, sum_sq float8, rss float8, aic float8, statistic float8, p_value float8)
    AS 'MODULE_PATHNAME', 'gr_drop1' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000 ROWS 10;
CREATE FUNCTION gpu_step(model gpu_model, criterion text DEFAULT 'aic', direction text DEFAULT 'backward')
    RETURNS TABLE (step int, change text, terms text, df_residual bigint, rss float8, criterion_value float8)
    AS 'MODULE_PATHNAME', 'gr_step_model' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10000 ROWS 10;
CREATE FUNCTION gpu_contrast(model gpu_model, weights jsonb, conf_level float8 DEFAULT 0.95)
    RETURNS TABLE (estimate float8, std_error float8, statistic float8, df float8, p_value float8,
                   conf_low float8, conf_high float8)
    AS 'MODULE_PATHNAME', 'gr_contrast' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100 ROWS 1;
CREATE FUNCTION gpu_means(model gpu_model, factor text, pairwise boolean DEFAULT false, adjust text DEFAULT NULL,
                          at jsonb DEFAULT NULL, type text DEFAULT 'link', conf_level float8 DEFAULT 0.95)
    RETURNS TABLE (level text, estimate float8, std_error float8, statistic float8, df float8, p_value float8,
                   conf_low float8, conf_high float8)
    AS 'MODULE_PATHNAME', 'gr_means' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000 ROWS 10;

CREATE FUNCTION gpu_vif(stats gpu_ols_stats) RETURNS TABLE (term text, vif float8)
    AS 'MODULE_PATHNAME', 'gr_vif_stats' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100 ROWS 10;
CREATE FUNCTION gpu_vif(model gpu_model) RETURNS TABLE (term text, vif float8)
    AS 'MODULE_PATHNAME', 'gr_vif_model' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100 ROWS 10;

-- The planner calls it for the cost of a prediction, which lets it use workers. It needs no EXECUTE right.
CREATE FUNCTION gpu_predict_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_predict_support' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
REVOKE EXECUTE ON FUNCTION gpu_predict_support(internal) FROM PUBLIC;

-- Takes numbers, booleans and arrays of them in the order of the model's terms; or a row or a jsonb object by name.
CREATE FUNCTION gpu_predict(model gpu_model, VARIADIC x "any") RETURNS float8
    AS 'MODULE_PATHNAME', 'gr_predict' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
    SUPPORT gpu_predict_support;
CREATE FUNCTION gpu_predict(model gpu_model) RETURNS float8
    AS 'MODULE_PATHNAME', 'gr_predict_intercept' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

-- Predicts for a row or a jsonb object by name. A VARIADIC function such as gpu_predict takes no named options.
CREATE FUNCTION gpu_predict_row(model gpu_model, x "any", type text DEFAULT 'response',
                                new_levels text DEFAULT 'error')
    RETURNS float8
    AS 'MODULE_PATHNAME', 'gr_predict_one' LANGUAGE C IMMUTABLE PARALLEL SAFE
    SUPPORT gpu_predict_support;

-- base: the level that the terms of the factor's other levels are compared with
CREATE FUNCTION gpu_levels(model gpu_model) RETURNS TABLE (factor text, level text, "position" int, base boolean)
    AS 'MODULE_PATHNAME', 'gr_levels' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 20;

-- kind: 'confidence' or 'prediction'; the values after conf_level are those of gpu_predict
CREATE FUNCTION gpu_predict_interval(model gpu_model, kind text, conf_level float8, VARIADIC x "any",
                                     OUT fit float8, OUT std_error float8, OUT lower float8, OUT upper float8)
    AS 'MODULE_PATHNAME', 'gr_predict_interval' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION gpu_predict_interval(model gpu_model, kind text, conf_level float8,
                                     OUT fit float8, OUT std_error float8, OUT lower float8, OUT upper float8)
    AS 'MODULE_PATHNAME', 'gr_predict_interval' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION gpu_leverage(model gpu_model, VARIADIC x "any") RETURNS float8
    AS 'MODULE_PATHNAME', 'gr_leverage' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION gpu_leverage(model gpu_model) RETURNS float8
    AS 'MODULE_PATHNAME', 'gr_leverage' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

-- Returns a row per query column that the model uses, or per level of it except the first; weights and offsets name
-- columns of the query.
CREATE FUNCTION gpu_margins(model gpu_model, query text, conf_level float8 DEFAULT 0.95, weights text DEFAULT NULL,
                            offsets text DEFAULT NULL)
    RETURNS TABLE (term text, estimate float8, std_error float8, statistic float8, p_value float8,
                   conf_low float8, conf_high float8)
    AS 'MODULE_PATHNAME', 'gr_margins' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000 ROWS 10;

--
-- Linear regression
--

-- The planner calls this to turn calls over array_agg's arrays into aggregates.
CREATE FUNCTION gpu_overdispersion(model gpu_model, query text, response text DEFAULT NULL,
                                   weights text DEFAULT NULL, offsets text DEFAULT NULL)
    RETURNS TABLE (statistic float8, df bigint, ratio float8, p_value float8)
    AS 'MODULE_PATHNAME', 'gr_overdispersion' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000 ROWS 1;
CREATE FUNCTION gpu_augment(model gpu_model, query text, key text DEFAULT NULL, response text DEFAULT NULL,
                            weights text DEFAULT NULL, offsets text DEFAULT NULL)
    RETURNS TABLE (id bigint, fitted float8, residual float8, pearson float8, deviance float8, working float8,
                   std_residual float8, student float8, hat float8, cooks_distance float8, dffits float8)
    AS 'MODULE_PATHNAME', 'gr_augment' LANGUAGE C VOLATILE PARALLEL UNSAFE;
CREATE FUNCTION gpu_augment(model gpu_model, query text, key text, id anyelement, response text DEFAULT NULL,
                            weights text DEFAULT NULL, offsets text DEFAULT NULL)
    RETURNS TABLE (id anyelement, fitted float8, residual float8, pearson float8, deviance float8, working float8,
                   std_residual float8, student float8, hat float8, cooks_distance float8, dffits float8)
    AS 'MODULE_PATHNAME', 'gr_augment' LANGUAGE C VOLATILE PARALLEL UNSAFE;
CREATE FUNCTION gpu_array_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_array_support' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

-- The device depends on a setting, and the call is recorded for gpu_last_run().
CREATE FUNCTION gpu_ols(x float8[], y float8[], intercept boolean DEFAULT true) RETURNS float8[]
    AS 'MODULE_PATHNAME', 'gr_ols_arrays' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED COST 10000
    SUPPORT gpu_array_support;

CREATE FUNCTION gpu_ols_fit(query text DEFAULT NULL, formula text DEFAULT NULL, intercept boolean DEFAULT true,
                            weights text DEFAULT NULL, frequencies text DEFAULT NULL, vcov text DEFAULT 'iid',
                            clusters text[] DEFAULT NULL, kept text DEFAULT NULL, rows text DEFAULT NULL,
                            absorb text[] DEFAULT NULL)
    RETURNS gpu_model
    AS 'MODULE_PATHNAME', 'gr_ols_fit_formula' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;
-- Calls with intercept as the second argument, without a name. The first two have no names and no defaults, so that no
-- other call finds two functions.
CREATE FUNCTION gpu_ols_fit(text, boolean, formula text DEFAULT NULL,
                            weights text DEFAULT NULL, frequencies text DEFAULT NULL, vcov text DEFAULT 'iid',
                            clusters text[] DEFAULT NULL, kept text DEFAULT NULL, rows text DEFAULT NULL,
                            absorb text[] DEFAULT NULL)
    RETURNS gpu_model
    AS 'MODULE_PATHNAME', 'gr_ols_fit' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;

CREATE FUNCTION gpu_effects(query text, formula text DEFAULT NULL, absorb text[] DEFAULT NULL,
                            weights text DEFAULT NULL, frequencies text DEFAULT NULL)
    RETURNS TABLE (effect text, level text, estimate float8, n bigint)
    AS 'MODULE_PATHNAME', 'gr_effects' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;

-- Support function of functions that the planner finds wherever a custom scan could replace an aggregate: it loads the
-- library.
CREATE FUNCTION gpu_scan_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_scan_support' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
-- only the planner calls these two functions, and it needs no EXECUTE right
REVOKE EXECUTE ON FUNCTION gpu_array_support(internal) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION gpu_scan_support(internal) FROM PUBLIC;

CREATE FUNCTION gpu_ols_stats_accum(gpu_ols_stats, y float8, VARIADIC x float8[]) RETURNS gpu_ols_stats
    AS 'MODULE_PATHNAME', 'gr_ols_stats_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10
    SUPPORT gpu_scan_support;
CREATE FUNCTION gpu_ols_stats_accum(gpu_ols_stats, y boolean, VARIADIC x float8[]) RETURNS gpu_ols_stats
    AS 'MODULE_PATHNAME', 'gr_ols_stats_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10
    SUPPORT gpu_scan_support;
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

CREATE AGGREGATE gpu_ols_agg(y boolean, VARIADIC x float8[]) (
    SFUNC = gpu_ols_stats_accum,
    STYPE = gpu_ols_stats,
    SSPACE = 4096,
    COMBINEFUNC = gpu_ols_stats_combine,
    FINALFUNC = gpu_ols_model_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

-- Forms with x as one array, here and below, are for views over window calls: PostgreSQL writes these without VARIADIC,
-- so that a view over gpu_ols_agg() OVER () can be dumped but not restored.
CREATE AGGREGATE gpu_ols_array_agg(y float8, x float8[]) (
    SFUNC = gpu_ols_stats_accum,
    STYPE = gpu_ols_stats,
    SSPACE = 4096,
    COMBINEFUNC = gpu_ols_stats_combine,
    FINALFUNC = gpu_ols_model_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

CREATE AGGREGATE gpu_ols_array_agg(y boolean, x float8[]) (
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

CREATE AGGREGATE gpu_ols_stats_agg(y boolean, VARIADIC x float8[]) (
    SFUNC = gpu_ols_stats_accum,
    STYPE = gpu_ols_stats,
    SSPACE = 4096,
    COMBINEFUNC = gpu_ols_stats_combine,
    FINALFUNC = gpu_ols_stats_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

CREATE AGGREGATE gpu_ols_stats_array_agg(y float8, x float8[]) (
    SFUNC = gpu_ols_stats_accum,
    STYPE = gpu_ols_stats,
    SSPACE = 4096,
    COMBINEFUNC = gpu_ols_stats_combine,
    FINALFUNC = gpu_ols_stats_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

CREATE AGGREGATE gpu_ols_stats_array_agg(y boolean, x float8[]) (
    SFUNC = gpu_ols_stats_accum,
    STYPE = gpu_ols_stats,
    SSPACE = 4096,
    COMBINEFUNC = gpu_ols_stats_combine,
    FINALFUNC = gpu_ols_stats_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

-- Weighted linear regression
CREATE FUNCTION gpu_wls_stats_accum(gpu_ols_stats, weight float8, y float8, VARIADIC x float8[]) RETURNS gpu_ols_stats
    AS 'MODULE_PATHNAME', 'gr_wls_stats_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10
    SUPPORT gpu_scan_support;
CREATE FUNCTION gpu_wls_stats_accum(gpu_ols_stats, weight float8, y boolean, VARIADIC x float8[]) RETURNS gpu_ols_stats
    AS 'MODULE_PATHNAME', 'gr_wls_stats_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10
    SUPPORT gpu_scan_support;

CREATE AGGREGATE gpu_wls_agg(weight float8, y float8, VARIADIC x float8[]) (
    SFUNC = gpu_wls_stats_accum,
    STYPE = gpu_ols_stats,
    SSPACE = 4096,
    COMBINEFUNC = gpu_ols_stats_combine,
    FINALFUNC = gpu_ols_model_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

CREATE AGGREGATE gpu_wls_agg(weight float8, y boolean, VARIADIC x float8[]) (
    SFUNC = gpu_wls_stats_accum,
    STYPE = gpu_ols_stats,
    SSPACE = 4096,
    COMBINEFUNC = gpu_ols_stats_combine,
    FINALFUNC = gpu_ols_model_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

CREATE AGGREGATE gpu_wls_array_agg(weight float8, y float8, x float8[]) (
    SFUNC = gpu_wls_stats_accum,
    STYPE = gpu_ols_stats,
    SSPACE = 4096,
    COMBINEFUNC = gpu_ols_stats_combine,
    FINALFUNC = gpu_ols_model_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

CREATE AGGREGATE gpu_wls_array_agg(weight float8, y boolean, x float8[]) (
    SFUNC = gpu_wls_stats_accum,
    STYPE = gpu_ols_stats,
    SSPACE = 4096,
    COMBINEFUNC = gpu_ols_stats_combine,
    FINALFUNC = gpu_ols_model_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

CREATE AGGREGATE gpu_wls_stats_agg(weight float8, y float8, VARIADIC x float8[]) (
    SFUNC = gpu_wls_stats_accum,
    STYPE = gpu_ols_stats,
    SSPACE = 4096,
    COMBINEFUNC = gpu_ols_stats_combine,
    FINALFUNC = gpu_ols_stats_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

CREATE AGGREGATE gpu_wls_stats_agg(weight float8, y boolean, VARIADIC x float8[]) (
    SFUNC = gpu_wls_stats_accum,
    STYPE = gpu_ols_stats,
    SSPACE = 4096,
    COMBINEFUNC = gpu_ols_stats_combine,
    FINALFUNC = gpu_ols_stats_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

CREATE AGGREGATE gpu_wls_stats_array_agg(weight float8, y float8, x float8[]) (
    SFUNC = gpu_wls_stats_accum,
    STYPE = gpu_ols_stats,
    SSPACE = 4096,
    COMBINEFUNC = gpu_ols_stats_combine,
    FINALFUNC = gpu_ols_stats_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

CREATE AGGREGATE gpu_wls_stats_array_agg(weight float8, y boolean, x float8[]) (
    SFUNC = gpu_wls_stats_accum,
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

-- The aggregate that query forms run over their query to bring its rows to a device; see ring.h. Returns the number of
-- rows left out for a NULL.
CREATE FUNCTION gpu_ingest_pass_accum(bigint, ring bytea, names text[], VARIADIC "any") RETURNS bigint
    AS 'MODULE_PATHNAME', 'gr_ingest_pass_accum' LANGUAGE C VOLATILE PARALLEL SAFE COST 10;
CREATE AGGREGATE gpu_ingest_pass(ring bytea, names text[], VARIADIC "any") (
    SFUNC = gpu_ingest_pass_accum,
    STYPE = bigint,
    INITCOND = '0',
    COMBINEFUNC = pg_catalog.int8pl,
    PARALLEL = SAFE
);

-- The aggregate that gpu_ols_fit runs over its query in parallel workers.
CREATE FUNCTION gpu_ols_pass_accum(gpu_ols_stats, request gpu_ols_stats, names text[], widths int[],
                                   VARIADIC "any") RETURNS gpu_ols_stats
    AS 'MODULE_PATHNAME', 'gr_ols_pass_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
CREATE AGGREGATE gpu_ols_pass(request gpu_ols_stats, names text[], widths int[], VARIADIC "any") (
    SFUNC = gpu_ols_pass_accum,
    STYPE = gpu_ols_stats,
    SSPACE = 4096,
    COMBINEFUNC = gpu_ols_stats_combine,
    PARALLEL = SAFE
);

-- Functions that query forms run over their query if a formula or categories make features of its columns: first an
-- aggregate of the levels of factors, then a function that makes each row's features. Stable, as levels of an enum are
-- its labels, which can be renamed.
CREATE FUNCTION gpu_levels_accum(internal, names text[], VARIADIC "any") RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_levels_accum' LANGUAGE C STABLE PARALLEL SAFE COST 10;
CREATE FUNCTION gpu_levels_combine(internal, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_levels_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION gpu_levels_serial(internal) RETURNS bytea
    AS 'MODULE_PATHNAME', 'gr_levels_serial' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION gpu_levels_deserial(bytea, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_levels_deserial' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION gpu_levels_final(internal) RETURNS text[]
    AS 'MODULE_PATHNAME', 'gr_levels_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE gpu_levels_pass(names text[], VARIADIC "any") (
    SFUNC = gpu_levels_accum,
    STYPE = internal,
    SSPACE = 65536,
    COMBINEFUNC = gpu_levels_combine,
    SERIALFUNC = gpu_levels_serial,
    DESERIALFUNC = gpu_levels_deserial,
    FINALFUNC = gpu_levels_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);
CREATE FUNCTION gpu_design_row(design text, pairs boolean, VARIADIC "any") RETURNS float8[]
    AS 'MODULE_PATHNAME', 'gr_design_row' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION gpu_design_number(design text, VARIADIC "any") RETURNS float8
    AS 'MODULE_PATHNAME', 'gr_design_number' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 5;

-- Over a remote query, such as one of an engine that ships aggregates to its nodes, the query forms run
-- gpu_ols_array_pass and gpu_logreg_array_pass: aggregates over typed arguments, which depend on nothing else, with a
-- state that has a text. A function of its own makes an array of a query's features for them, as it knows the columns'
-- types and names.
CREATE FUNCTION gpu_features_pass(names text[], is_binary boolean, roles int, VARIADIC "any") RETURNS float8[]
    AS 'MODULE_PATHNAME', 'gr_features_pass' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
CREATE AGGREGATE gpu_ols_array_pass(y float8, x float8[]) (
    SFUNC = gpu_ols_stats_accum,
    STYPE = gpu_ols_stats,
    SSPACE = 4096,
    COMBINEFUNC = gpu_ols_stats_combine,
    PARALLEL = SAFE
);
CREATE FUNCTION gpu_wls_array_pass_accum(gpu_ols_stats, y float8, x float8[]) RETURNS gpu_ols_stats
    AS 'MODULE_PATHNAME', 'gr_wls_array_pass_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
CREATE AGGREGATE gpu_wls_array_pass(y float8, x float8[]) (
    SFUNC = gpu_wls_array_pass_accum,
    STYPE = gpu_ols_stats,
    SSPACE = 4096,
    COMBINEFUNC = gpu_ols_stats_combine,
    PARALLEL = SAFE
);

-- gpu_ols(array_agg(v), array_agg(y)) as the planner rewrites it for arrays v; for ARRAY[x1, ..], or a number x, it
-- uses gpu_ols_array_pass
CREATE FUNCTION gpu_ols_vector_accum(gpu_ols_stats, y float8, x float8[]) RETURNS gpu_ols_stats
    AS 'MODULE_PATHNAME', 'gr_ols_vector_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
CREATE FUNCTION gpu_ols_vector_combine(gpu_ols_stats, gpu_ols_stats) RETURNS gpu_ols_stats
    AS 'MODULE_PATHNAME', 'gr_ols_vector_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
CREATE AGGREGATE gpu_ols_vector_pass(y float8, x float8[]) (
    SFUNC = gpu_ols_vector_accum,
    STYPE = gpu_ols_stats,
    SSPACE = 4096,
    COMBINEFUNC = gpu_ols_vector_combine,
    PARALLEL = SAFE
);
CREATE FUNCTION gpu_ols_coef(stats gpu_ols_stats, intercept boolean) RETURNS float8[]
    AS 'MODULE_PATHNAME', 'gr_ols_coef' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 100;

CREATE FUNCTION gpu_ols_solve(stats gpu_ols_stats, intercept boolean DEFAULT true, features "any" DEFAULT NULL,
                              response "any" DEFAULT NULL, l2 float8 DEFAULT 0) RETURNS gpu_model
    AS 'MODULE_PATHNAME', 'gr_ols_solve_stats' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION gpu_ols_named(stats gpu_ols_stats, names text[]) RETURNS gpu_ols_stats
    AS 'MODULE_PATHNAME', 'gr_ols_named' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION gpu_ols_names(stats gpu_ols_stats) RETURNS text[]
    AS 'MODULE_PATHNAME', 'gr_ols_names' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

-- Cluster-robust covariances from one state per cluster; CR1 if vcov isn't given. features and response are those of
-- gpu_ols_solve
CREATE FUNCTION gpu_ols_cluster_accum(internal, stats gpu_ols_stats) RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_ols_cluster_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
CREATE FUNCTION gpu_ols_cluster_accum(internal, stats gpu_ols_stats, vcov text) RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_ols_cluster_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
CREATE FUNCTION gpu_ols_cluster_accum(internal, stats gpu_ols_stats, vcov text, intercept boolean) RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_ols_cluster_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
CREATE FUNCTION gpu_ols_cluster_accum(internal, stats gpu_ols_stats, vcov text, intercept boolean, features "any",
                                      response "any") RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_ols_cluster_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
CREATE FUNCTION gpu_ols_cluster_final(internal) RETURNS gpu_model
    AS 'MODULE_PATHNAME', 'gr_ols_cluster_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE gpu_ols_cluster_agg(stats gpu_ols_stats) (
    SFUNC = gpu_ols_cluster_accum,
    STYPE = internal,
    SSPACE = 65536,
    FINALFUNC = gpu_ols_cluster_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);
CREATE AGGREGATE gpu_ols_cluster_agg(stats gpu_ols_stats, vcov text) (
    SFUNC = gpu_ols_cluster_accum,
    STYPE = internal,
    SSPACE = 65536,
    FINALFUNC = gpu_ols_cluster_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);
CREATE AGGREGATE gpu_ols_cluster_agg(stats gpu_ols_stats, vcov text, intercept boolean) (
    SFUNC = gpu_ols_cluster_accum,
    STYPE = internal,
    SSPACE = 65536,
    FINALFUNC = gpu_ols_cluster_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);
CREATE AGGREGATE gpu_ols_cluster_agg(stats gpu_ols_stats, vcov text, intercept boolean, features "any",
                                     response "any") (
    SFUNC = gpu_ols_cluster_accum,
    STYPE = internal,
    SSPACE = 65536,
    FINALFUNC = gpu_ols_cluster_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);
CREATE FUNCTION gpu_ols_two_way(one gpu_model, other gpu_model, "both" gpu_model) RETURNS gpu_model
    AS 'MODULE_PATHNAME', 'gr_ols_two_way' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;

-- Linear mixed models from one state per group, or per cell of several grouping factors
CREATE FUNCTION gpu_lmm_accum(internal, stats gpu_ols_stats) RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_lmm_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
CREATE FUNCTION gpu_lmm_accum(internal, stats gpu_ols_stats, random text) RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_lmm_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
CREATE FUNCTION gpu_lmm_accum(internal, stats gpu_ols_stats, random text, method text) RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_lmm_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
CREATE FUNCTION gpu_lmm_accum(internal, stats gpu_ols_stats, random text, method text, levels jsonb) RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_lmm_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
CREATE FUNCTION gpu_lmm_accum(internal, stats gpu_ols_stats, random text, method text, levels jsonb,
                              intercept boolean, features "any", response "any") RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_lmm_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
CREATE FUNCTION gpu_lmm_final(internal) RETURNS gpu_model
    AS 'MODULE_PATHNAME', 'gr_lmm_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE gpu_lmm_agg(stats gpu_ols_stats) (
    SFUNC = gpu_lmm_accum,
    STYPE = internal,
    SSPACE = 65536,
    FINALFUNC = gpu_lmm_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);
CREATE AGGREGATE gpu_lmm_agg(stats gpu_ols_stats, random text) (
    SFUNC = gpu_lmm_accum,
    STYPE = internal,
    SSPACE = 65536,
    FINALFUNC = gpu_lmm_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);
CREATE AGGREGATE gpu_lmm_agg(stats gpu_ols_stats, random text, method text) (
    SFUNC = gpu_lmm_accum,
    STYPE = internal,
    SSPACE = 65536,
    FINALFUNC = gpu_lmm_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);
CREATE AGGREGATE gpu_lmm_agg(stats gpu_ols_stats, random text, method text, levels jsonb) (
    SFUNC = gpu_lmm_accum,
    STYPE = internal,
    SSPACE = 65536,
    FINALFUNC = gpu_lmm_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);
CREATE AGGREGATE gpu_lmm_agg(stats gpu_ols_stats, random text, method text, levels jsonb, intercept boolean,
                             features "any", response "any") (
    SFUNC = gpu_lmm_accum,
    STYPE = internal,
    SSPACE = 65536,
    FINALFUNC = gpu_lmm_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);
CREATE FUNCTION gpu_lmm_fit(query text, formula text, method text DEFAULT 'reml', weights text DEFAULT NULL,
                            frequencies text DEFAULT NULL)
    RETURNS gpu_model
    AS 'MODULE_PATHNAME', 'gr_lmm_fit' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;
CREATE FUNCTION gpu_ranef(query text, formula text, method text DEFAULT 'reml', weights text DEFAULT NULL,
                          frequencies text DEFAULT NULL)
    RETURNS TABLE (grp text, level text, term text, effect float8, std_error float8)
    AS 'MODULE_PATHNAME', 'gr_ranef' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000 ROWS 100;
CREATE FUNCTION gpu_variances(model gpu_model)
    RETURNS TABLE (grp text, term text, with_term text, variance float8, std_dev float8, correlation float8,
                   groups bigint)
    AS 'MODULE_PATHNAME', 'gr_variances' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 4;

-- The wild cluster bootstrap of one coefficient, from one state per cluster
CREATE TYPE gpu_wild_boot AS (
    term text, estimate float8, std_error float8, statistic float8, p_value float8, conf_low float8, conf_high float8,
    reps int, clusters bigint
);
CREATE FUNCTION gpu_wild_boot_accum(internal, stats gpu_ols_stats, term text)
    RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_wild_boot_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
CREATE FUNCTION gpu_wild_boot_accum(internal, stats gpu_ols_stats, term text, reps int)
    RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_wild_boot_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
CREATE FUNCTION gpu_wild_boot_accum(internal, stats gpu_ols_stats, term text, reps int, weights text, "null" float8,
                                    conf_level float8, seed bigint)
    RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_wild_boot_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
CREATE FUNCTION gpu_wild_boot_accum(internal, stats gpu_ols_stats, term text, reps int, weights text, "null" float8,
                                    conf_level float8, seed bigint, key "any")
    RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_wild_boot_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
CREATE FUNCTION gpu_wild_boot_accum(internal, stats gpu_ols_stats, term text, reps int, weights text, "null" float8,
                                    conf_level float8, seed bigint, key "any", intercept boolean, features "any",
                                    response "any")
    RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_wild_boot_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
CREATE FUNCTION gpu_wild_boot_final(internal) RETURNS gpu_wild_boot
    AS 'MODULE_PATHNAME', 'gr_wild_boot_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE gpu_wild_boot_agg(stats gpu_ols_stats, term text) (
    SFUNC = gpu_wild_boot_accum,
    STYPE = internal,
    SSPACE = 65536,
    FINALFUNC = gpu_wild_boot_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);
CREATE AGGREGATE gpu_wild_boot_agg(stats gpu_ols_stats, term text, reps int) (
    SFUNC = gpu_wild_boot_accum,
    STYPE = internal,
    SSPACE = 65536,
    FINALFUNC = gpu_wild_boot_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);
CREATE AGGREGATE gpu_wild_boot_agg(stats gpu_ols_stats, term text, reps int, weights text, "null" float8,
                                   conf_level float8, seed bigint) (
    SFUNC = gpu_wild_boot_accum,
    STYPE = internal,
    SSPACE = 65536,
    FINALFUNC = gpu_wild_boot_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);
CREATE AGGREGATE gpu_wild_boot_agg(stats gpu_ols_stats, term text, reps int, weights text, "null" float8,
                                   conf_level float8, seed bigint, key "any") (
    SFUNC = gpu_wild_boot_accum,
    STYPE = internal,
    SSPACE = 65536,
    FINALFUNC = gpu_wild_boot_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);
CREATE AGGREGATE gpu_wild_boot_agg(stats gpu_ols_stats, term text, reps int, weights text, "null" float8,
                                   conf_level float8, seed bigint, key "any", intercept boolean, features "any",
                                   response "any") (
    SFUNC = gpu_wild_boot_accum,
    STYPE = internal,
    SSPACE = 65536,
    FINALFUNC = gpu_wild_boot_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

-- Two-stage least squares; endogenous, instruments, features: numbers or names of the state's columns
CREATE FUNCTION gpu_iv_solve(stats gpu_ols_stats, endogenous "any", instruments "any", intercept boolean DEFAULT true,
                             features "any" DEFAULT NULL, response "any" DEFAULT NULL) RETURNS gpu_model
    AS 'MODULE_PATHNAME', 'gr_iv_solve_stats' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
CREATE FUNCTION gpu_iv_tests(stats gpu_ols_stats, endogenous "any", instruments "any", intercept boolean DEFAULT true,
                             features "any" DEFAULT NULL, response "any" DEFAULT NULL)
    RETURNS TABLE (test text, df1 int, df2 bigint, statistic float8, p_value float8)
    AS 'MODULE_PATHNAME', 'gr_iv_tests' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200 ROWS 3;

-- Returns a row per size; criterion: bic, aic, cp, adjr2; method: best, forward, backward
CREATE FUNCTION gpu_ols_select(stats gpu_ols_stats, criterion text DEFAULT 'bic', method text DEFAULT 'best',
                               intercept boolean DEFAULT true, features "any" DEFAULT NULL,
                               response "any" DEFAULT NULL, max_size int DEFAULT NULL)
    RETURNS TABLE (size int, columns int[], terms text[], rss float8, r_squared float8, adj_r_squared float8,
                   cp float8, aic float8, bic float8, best boolean)
    AS 'MODULE_PATHNAME', 'gr_ols_select' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10000 ROWS 10;

-- Returns a row per window of width rows of an ordered query, one window every step rows
CREATE FUNCTION gpu_ols_rolling(query text, width int, step int DEFAULT 1, intercept boolean DEFAULT true)
    RETURNS TABLE (row_number bigint, n bigint, n_skipped bigint, coef float8[], std_error float8[], sigma float8,
                   r_squared float8)
    AS 'MODULE_PATHNAME', 'gr_ols_rolling' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000 ROWS 1000;

--
-- Elastic nets from states
--

-- positive: a boolean, or an array of one per feature
CREATE FUNCTION gpu_enet_path(stats gpu_ols_stats, alpha float8 DEFAULT 1, nlambda int DEFAULT 100,
                              lambda float8[] DEFAULT NULL, lambda_min_ratio float8 DEFAULT NULL,
                              penalty_factor float8[] DEFAULT NULL, positive "any" DEFAULT false,
                              intercept boolean DEFAULT true, standardize boolean DEFAULT true,
                              features "any" DEFAULT NULL, response "any" DEFAULT NULL)
    RETURNS TABLE (lambda float8, df int, dev_ratio float8, coef float8[])
    AS 'MODULE_PATHNAME', 'gr_enet_path' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10000 ROWS 100;
CREATE FUNCTION gpu_enet_model(stats gpu_ols_stats, lambda float8, alpha float8 DEFAULT 1,
                               penalty_factor float8[] DEFAULT NULL, positive "any" DEFAULT false,
                               intercept boolean DEFAULT true, standardize boolean DEFAULT true,
                               features "any" DEFAULT NULL, response "any" DEFAULT NULL) RETURNS gpu_model
    AS 'MODULE_PATHNAME', 'gr_enet_stats_model' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10000;

-- A cross-validation of elastic nets, from a state per fold: cv.glmnet's results for each lambda
CREATE TYPE gpu_enet_cv AS (
    lambda float8[],
    mean float8[],
    std_error float8[],
    df int[],
    lambda_min float8,
    lambda_1se float8,
    nfolds int,
    model_min gpu_model,
    model_1se gpu_model
);

CREATE FUNCTION gpu_enet_cv_accum(internal, gpu_ols_stats) RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_enet_cv_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION gpu_enet_cv_accum(internal, gpu_ols_stats, alpha float8) RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_enet_cv_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION gpu_enet_cv_accum(internal, gpu_ols_stats, alpha float8, nlambda int, lambda float8[],
                                  lambda_min_ratio float8, penalty_factor float8[], positive "any",
                                  intercept boolean, standardize boolean, features "any", response "any")
    RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_enet_cv_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION gpu_enet_cv_final(internal) RETURNS gpu_enet_cv
    AS 'MODULE_PATHNAME', 'gr_enet_cv_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE AGGREGATE gpu_enet_cv_agg(stats gpu_ols_stats) (
    SFUNC = gpu_enet_cv_accum,
    STYPE = internal,
    FINALFUNC = gpu_enet_cv_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);
CREATE AGGREGATE gpu_enet_cv_agg(stats gpu_ols_stats, alpha float8) (
    SFUNC = gpu_enet_cv_accum,
    STYPE = internal,
    FINALFUNC = gpu_enet_cv_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);
-- aggregates have no defaults: pass NULL for gpu_enet_path's optional arguments
CREATE AGGREGATE gpu_enet_cv_agg(stats gpu_ols_stats, alpha float8, nlambda int, lambda float8[],
                                 lambda_min_ratio float8, penalty_factor float8[], positive "any",
                                 intercept boolean, standardize boolean, features "any", response "any") (
    SFUNC = gpu_enet_cv_accum,
    STYPE = internal,
    FINALFUNC = gpu_enet_cv_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

-- Fits over a query or kept rows, like gpu_ols_fit and gpu_logreg_fit. Without lambda a cross-validation chooses it
-- ('1se' or 'min'): by the folds in the column fold, or by as many as folds says, drawn by the rows' values. family:
-- 'gaussian' or 'binomial'
CREATE FUNCTION gpu_enet_fit(query text DEFAULT NULL, lambda float8 DEFAULT NULL, alpha float8 DEFAULT 1,
                             folds int DEFAULT 10, fold text DEFAULT NULL, choose text DEFAULT '1se',
                             penalty_factor float8[] DEFAULT NULL, positive "any" DEFAULT false,
                             intercept boolean DEFAULT true, standardize boolean DEFAULT true,
                             formula text DEFAULT NULL, weights text DEFAULT NULL, frequencies text DEFAULT NULL,
                             family text DEFAULT 'gaussian', kept text DEFAULT NULL, rows text DEFAULT NULL,
                             nlambda int DEFAULT 100, lambda_min_ratio float8 DEFAULT NULL,
                             lambdas float8[] DEFAULT NULL) RETURNS gpu_model
    AS 'MODULE_PATHNAME', 'gr_enet_fit' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;
CREATE FUNCTION gpu_enet_cv(query text DEFAULT NULL, alpha float8 DEFAULT 1, folds int DEFAULT 10,
                            fold text DEFAULT NULL, nlambda int DEFAULT 100, lambda float8[] DEFAULT NULL,
                            lambda_min_ratio float8 DEFAULT NULL, penalty_factor float8[] DEFAULT NULL,
                            positive "any" DEFAULT false, intercept boolean DEFAULT true,
                            standardize boolean DEFAULT true, family text DEFAULT 'gaussian',
                            formula text DEFAULT NULL, weights text DEFAULT NULL, frequencies text DEFAULT NULL,
                            kept text DEFAULT NULL, rows text DEFAULT NULL) RETURNS gpu_enet_cv
    AS 'MODULE_PATHNAME', 'gr_enet_query_cv' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;
CREATE FUNCTION gpu_enet_path(query text DEFAULT NULL, alpha float8 DEFAULT 1, nlambda int DEFAULT 100,
                              lambda float8[] DEFAULT NULL, lambda_min_ratio float8 DEFAULT NULL,
                              penalty_factor float8[] DEFAULT NULL, positive "any" DEFAULT false,
                              intercept boolean DEFAULT true, standardize boolean DEFAULT true,
                              family text DEFAULT 'gaussian', formula text DEFAULT NULL, weights text DEFAULT NULL,
                              frequencies text DEFAULT NULL, kept text DEFAULT NULL, rows text DEFAULT NULL)
    RETURNS TABLE (lambda float8, df int, dev_ratio float8, coef float8[])
    AS 'MODULE_PATHNAME', 'gr_enet_query_path' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000 ROWS 100;
-- stable: an enum's label can be renamed
CREATE FUNCTION gpu_enet_fold(folds int, VARIADIC "any") RETURNS int
    AS 'MODULE_PATHNAME', 'gr_enet_fold' LANGUAGE C STABLE PARALLEL SAFE;

COMMENT ON FUNCTION gpu_enet_fit(text, float8, float8, int, text, text, float8[], "any", boolean, boolean, text, text,
                                 text, text, text, text, int, float8, float8[])
    IS 'elastic net over a query or kept rows, at a given penalty or the one that cross-validation chooses: the model';
COMMENT ON FUNCTION gpu_enet_cv(text, float8, int, text, int, float8[], float8, float8[], "any", boolean, boolean, text,
                                text, text, text, text, text)
    IS 'cross-validation of an elastic net over a query or kept rows';
COMMENT ON FUNCTION gpu_enet_path(text, float8, int, float8[], float8, float8[], "any", boolean, boolean, text, text,
                                  text, text, text, text)
    IS 'elastic net over a query or kept rows: coefficients at each of a grid of penalties';
COMMENT ON FUNCTION gpu_enet_fold(int, "any")
    IS 'the fold of a row (from 0), drawn from its values as gpu_enet_cv draws folds';
COMMENT ON TYPE gpu_enet_cv
    IS 'result of a cross-validation of an elastic net: the error at each penalty, and two models';
COMMENT ON FUNCTION gpu_enet_cv_accum(internal, gpu_ols_stats) IS 'internal: transition function of gpu_enet_cv_agg';
COMMENT ON FUNCTION gpu_enet_cv_accum(internal, gpu_ols_stats, float8)
    IS 'internal: transition function of gpu_enet_cv_agg';
COMMENT ON FUNCTION gpu_enet_cv_accum(internal, gpu_ols_stats, float8, int, float8[], float8, float8[], "any", boolean,
                                      boolean, "any", "any")
    IS 'internal: transition function of gpu_enet_cv_agg';
COMMENT ON FUNCTION gpu_enet_cv_final(internal) IS 'internal: final function of gpu_enet_cv_agg';
COMMENT ON AGGREGATE gpu_enet_cv_agg(gpu_ols_stats)
    IS 'cross-validation of the lasso from a state of each fold: the error at each of a grid of penalties, and models';
COMMENT ON AGGREGATE gpu_enet_cv_agg(gpu_ols_stats, float8)
    IS 'cross-validation of an elastic net from a state of each fold, with the mixing parameter alpha';
COMMENT ON AGGREGATE gpu_enet_cv_agg(gpu_ols_stats, float8, int, float8[], float8, float8[], "any", boolean, boolean,
                                     "any", "any")
    IS 'cross-validation of an elastic net from a state of each fold, with all that gpu_enet_path can be told';
COMMENT ON FUNCTION gpu_enet_path(gpu_ols_stats, float8, int, float8[], float8, float8[], "any", boolean, boolean,
                                  "any", "any")
    IS 'elastic net from a state: coefficients at each of a grid of penalties';
COMMENT ON FUNCTION gpu_enet_model(gpu_ols_stats, float8, float8, float8[], "any", boolean, boolean, "any", "any")
    IS 'elastic net from a state: the model at one penalty';

--
-- One Newton step of a logistic regression, or of another family, as a value
--

CREATE TYPE gpu_logreg_step;

CREATE FUNCTION gpu_logreg_step_in(cstring) RETURNS gpu_logreg_step
    AS 'MODULE_PATHNAME', 'gr_logreg_step_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION gpu_logreg_step_out(gpu_logreg_step) RETURNS cstring
    AS 'MODULE_PATHNAME', 'gr_logreg_step_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION gpu_logreg_step_recv(internal) RETURNS gpu_logreg_step
    AS 'MODULE_PATHNAME', 'gr_logreg_step_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION gpu_logreg_step_send(gpu_logreg_step) RETURNS bytea
    AS 'MODULE_PATHNAME', 'gr_logreg_step_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE TYPE gpu_logreg_step (
    INPUT = gpu_logreg_step_in,
    OUTPUT = gpu_logreg_step_out,
    RECEIVE = gpu_logreg_step_recv,
    SEND = gpu_logreg_step_send,
    INTERNALLENGTH = VARIABLE,
    ALIGNMENT = double,
    STORAGE = extended
);

CREATE FUNCTION gpu_logreg_step_accum(gpu_logreg_step, beta float8[], y float8, VARIADIC x float8[])
    RETURNS gpu_logreg_step
    AS 'MODULE_PATHNAME', 'gr_logreg_step_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 20
    SUPPORT gpu_scan_support;
CREATE FUNCTION gpu_logreg_step_accum(gpu_logreg_step, beta float8[], y boolean, VARIADIC x float8[])
    RETURNS gpu_logreg_step
    AS 'MODULE_PATHNAME', 'gr_logreg_step_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 20
    SUPPORT gpu_scan_support;
CREATE FUNCTION gpu_logreg_array_pass_accum(gpu_logreg_step, request gpu_logreg_step, y float8, x float8[])
    RETURNS gpu_logreg_step
    AS 'MODULE_PATHNAME', 'gr_logreg_array_pass_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 20;
CREATE FUNCTION gpu_logreg_step_combine(gpu_logreg_step, gpu_logreg_step) RETURNS gpu_logreg_step
    AS 'MODULE_PATHNAME', 'gr_logreg_step_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
CREATE FUNCTION gpu_logreg_step_final(gpu_logreg_step) RETURNS gpu_logreg_step
    AS 'MODULE_PATHNAME', 'gr_logreg_step_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE AGGREGATE gpu_logreg_step_agg(beta float8[], y float8, VARIADIC x float8[]) (
    SFUNC = gpu_logreg_step_accum,
    STYPE = gpu_logreg_step,
    SSPACE = 20480,
    COMBINEFUNC = gpu_logreg_step_combine,
    FINALFUNC = gpu_logreg_step_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

CREATE AGGREGATE gpu_logreg_step_agg(beta float8[], y boolean, VARIADIC x float8[]) (
    SFUNC = gpu_logreg_step_accum,
    STYPE = gpu_logreg_step,
    SSPACE = 20480,
    COMBINEFUNC = gpu_logreg_step_combine,
    FINALFUNC = gpu_logreg_step_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

CREATE AGGREGATE gpu_logreg_step_array_agg(beta float8[], y float8, x float8[]) (
    SFUNC = gpu_logreg_step_accum,
    STYPE = gpu_logreg_step,
    SSPACE = 20480,
    COMBINEFUNC = gpu_logreg_step_combine,
    FINALFUNC = gpu_logreg_step_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

CREATE AGGREGATE gpu_logreg_step_array_agg(beta float8[], y boolean, x float8[]) (
    SFUNC = gpu_logreg_step_accum,
    STYPE = gpu_logreg_step,
    SSPACE = 20480,
    COMBINEFUNC = gpu_logreg_step_combine,
    FINALFUNC = gpu_logreg_step_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

CREATE AGGREGATE gpu_logreg_rollup(step gpu_logreg_step) (
    SFUNC = gpu_logreg_step_combine,
    STYPE = gpu_logreg_step,
    SSPACE = 4096,
    COMBINEFUNC = gpu_logreg_step_combine,
    FINALFUNC = gpu_logreg_step_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

-- The step of any family and link
CREATE FUNCTION gpu_glm_step_accum(gpu_logreg_step, family text, link text, beta float8[], y float8,
                                   VARIADIC x float8[])
    RETURNS gpu_logreg_step
    AS 'MODULE_PATHNAME', 'gr_glm_step_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 20
    SUPPORT gpu_scan_support;
CREATE FUNCTION gpu_glm_step_accum(gpu_logreg_step, family text, link text, beta float8[], y boolean,
                                   VARIADIC x float8[])
    RETURNS gpu_logreg_step
    AS 'MODULE_PATHNAME', 'gr_glm_step_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 20
    SUPPORT gpu_scan_support;

CREATE AGGREGATE gpu_glm_step_agg(family text, link text, beta float8[], y float8, VARIADIC x float8[]) (
    SFUNC = gpu_glm_step_accum,
    STYPE = gpu_logreg_step,
    SSPACE = 20480,
    COMBINEFUNC = gpu_logreg_step_combine,
    FINALFUNC = gpu_logreg_step_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

CREATE AGGREGATE gpu_glm_step_agg(family text, link text, beta float8[], y boolean, VARIADIC x float8[]) (
    SFUNC = gpu_glm_step_accum,
    STYPE = gpu_logreg_step,
    SSPACE = 20480,
    COMBINEFUNC = gpu_logreg_step_combine,
    FINALFUNC = gpu_logreg_step_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

CREATE AGGREGATE gpu_glm_step_array_agg(family text, link text, beta float8[], y float8, x float8[]) (
    SFUNC = gpu_glm_step_accum,
    STYPE = gpu_logreg_step,
    SSPACE = 20480,
    COMBINEFUNC = gpu_logreg_step_combine,
    FINALFUNC = gpu_logreg_step_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

CREATE AGGREGATE gpu_glm_step_array_agg(family text, link text, beta float8[], y boolean, x float8[]) (
    SFUNC = gpu_glm_step_accum,
    STYPE = gpu_logreg_step,
    SSPACE = 20480,
    COMBINEFUNC = gpu_logreg_step_combine,
    FINALFUNC = gpu_logreg_step_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

-- The aggregate that gpu_logreg_fit runs over a remote query in each pass
CREATE AGGREGATE gpu_logreg_array_pass(request gpu_logreg_step, y float8, x float8[]) (
    SFUNC = gpu_logreg_array_pass_accum,
    STYPE = gpu_logreg_step,
    SSPACE = 20480,
    COMBINEFUNC = gpu_logreg_step_combine,
    FINALFUNC = gpu_logreg_step_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

-- The aggregate that fits and bootstraps run over their query in each pass: the sums of a request, over all rows or per
-- cluster
CREATE FUNCTION gpu_request_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_request_support' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
REVOKE EXECUTE ON FUNCTION gpu_request_support(internal) FROM PUBLIC;
CREATE FUNCTION gpu_request_accum(internal, request bytea, names text[], widths int[], VARIADIC "any")
    RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_request_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 20
    SUPPORT gpu_request_support;
CREATE FUNCTION gpu_request_combine(internal, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_request_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION gpu_request_serial(internal) RETURNS bytea
    AS 'MODULE_PATHNAME', 'gr_request_serial' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION gpu_request_deserial(bytea, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_request_deserial' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION gpu_request_final(internal) RETURNS bytea
    AS 'MODULE_PATHNAME', 'gr_request_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE gpu_request_pass(request bytea, names text[], widths int[], VARIADIC "any") (
    SFUNC = gpu_request_accum,
    STYPE = internal,
    SSPACE = 512,
    COMBINEFUNC = gpu_request_combine,
    SERIALFUNC = gpu_request_serial,
    DESERIALFUNC = gpu_request_deserial,
    FINALFUNC = gpu_request_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

-- Returns the keys of rows, by which replicates are drawn and clusters are told apart
CREATE FUNCTION gpu_boot_key("any") RETURNS float8
    AS 'MODULE_PATHNAME', 'gr_boot_key' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION gpu_cluster_key("any") RETURNS float8
    AS 'MODULE_PATHNAME', 'gr_cluster_key' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

-- The Poisson bootstrap: returns a row per term, or per replicate and term. key or clusters names a column of the
-- query, or of the kept rows.
CREATE FUNCTION gpu_ols_boot(query text DEFAULT NULL, reps int DEFAULT 1000, key text DEFAULT NULL,
                             seed bigint DEFAULT 0, intercept boolean DEFAULT true, formula text DEFAULT NULL,
                             weights text DEFAULT NULL, clusters text DEFAULT NULL,
                             conf_level float8 DEFAULT 0.95, kind text DEFAULT 'percentile',
                             kept text DEFAULT NULL, rows text DEFAULT NULL)
    RETURNS TABLE (term text, estimate float8, std_error float8, bias float8, conf_low float8, conf_high float8)
    AS 'MODULE_PATHNAME', 'gr_ols_boot' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000 ROWS 10;
CREATE FUNCTION gpu_ols_boot_replicates(
    query text DEFAULT NULL, reps int DEFAULT 1000, key text DEFAULT NULL, seed bigint DEFAULT 0,
    intercept boolean DEFAULT true, formula text DEFAULT NULL, weights text DEFAULT NULL, clusters text DEFAULT NULL,
    kept text DEFAULT NULL, rows text DEFAULT NULL)
    RETURNS TABLE (replicate int, term text, estimate float8)
    AS 'MODULE_PATHNAME', 'gr_ols_boot_replicates' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000 ROWS 10000;
CREATE FUNCTION gpu_logreg_boot(query text DEFAULT NULL, reps int DEFAULT 1000, key text DEFAULT NULL,
                                seed bigint DEFAULT 0, intercept boolean DEFAULT true, formula text DEFAULT NULL,
                                weights text DEFAULT NULL, clusters text DEFAULT NULL,
                                conf_level float8 DEFAULT 0.95, kind text DEFAULT 'percentile',
                                kept text DEFAULT NULL, rows text DEFAULT NULL, method text DEFAULT 'one-step')
    RETURNS TABLE (term text, estimate float8, std_error float8, bias float8, conf_low float8, conf_high float8)
    AS 'MODULE_PATHNAME', 'gr_logreg_boot' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000 ROWS 10;
CREATE FUNCTION gpu_logreg_boot_replicates(
    query text DEFAULT NULL, reps int DEFAULT 1000, key text DEFAULT NULL, seed bigint DEFAULT 0,
    intercept boolean DEFAULT true, formula text DEFAULT NULL, weights text DEFAULT NULL, clusters text DEFAULT NULL,
    kept text DEFAULT NULL, rows text DEFAULT NULL, method text DEFAULT 'one-step')
    RETURNS TABLE (replicate int, term text, estimate float8)
    AS 'MODULE_PATHNAME', 'gr_logreg_boot_replicates' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000 ROWS 10000;

-- Returns a row per term: t, and how often it is as large when the signs of residuals are drawn at random
CREATE FUNCTION gpu_ols_permute(query text DEFAULT NULL, reps int DEFAULT 999, key text DEFAULT NULL,
                                seed bigint DEFAULT 0, intercept boolean DEFAULT true, formula text DEFAULT NULL,
                                weights text DEFAULT NULL, clusters text DEFAULT NULL, kept text DEFAULT NULL,
                                rows text DEFAULT NULL)
    RETURNS TABLE (term text, estimate float8, statistic float8, p_value float8, reps int)
    AS 'MODULE_PATHNAME', 'gr_ols_permute' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000 ROWS 10;

-- Cross-validation: returns a row per fold, and one for all folds. fold names a column of folds, key a column by which
-- folds are drawn.
CREATE FUNCTION gpu_cv_fold(key "any", folds int, seed bigint DEFAULT 0) RETURNS int
    AS 'MODULE_PATHNAME', 'gr_cv_fold' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION gpu_ols_cv(query text DEFAULT NULL, folds int DEFAULT 10, fold text DEFAULT NULL,
                           key text DEFAULT NULL, seed bigint DEFAULT 0, intercept boolean DEFAULT true,
                           formula text DEFAULT NULL, weights text DEFAULT NULL, l2 float8 DEFAULT 0,
                           kept text DEFAULT NULL, rows text DEFAULT NULL)
    RETURNS TABLE (fold bigint, n_train bigint, n_test bigint, terms text[], coef float8[], mse float8,
                   mse_error float8)
    AS 'MODULE_PATHNAME', 'gr_ols_cv' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000 ROWS 11;
CREATE FUNCTION gpu_logreg_cv(query text DEFAULT NULL, folds int DEFAULT 10, fold text DEFAULT NULL,
                              key text DEFAULT NULL, seed bigint DEFAULT 0, intercept boolean DEFAULT true,
                              formula text DEFAULT NULL, weights text DEFAULT NULL, l2 float8 DEFAULT 0,
                              kept text DEFAULT NULL, rows text DEFAULT NULL)
    RETURNS TABLE (fold bigint, n_train bigint, n_test bigint, terms text[], coef float8[], iterations int,
                   converged boolean, deviance float8, deviance_error float8, misclassified float8,
                   misclassified_error float8)
    AS 'MODULE_PATHNAME', 'gr_logreg_cv' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000 ROWS 11;

CREATE FUNCTION gpu_logreg_solve(step gpu_logreg_step, l2 float8 DEFAULT 0, tol float8 DEFAULT 1e-10) RETURNS gpu_model
    AS 'MODULE_PATHNAME', 'gr_logreg_solve' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
-- two names of one function
CREATE FUNCTION gpu_glm_solve(step gpu_logreg_step, l2 float8 DEFAULT 0, tol float8 DEFAULT 1e-10) RETURNS gpu_model
    AS 'MODULE_PATHNAME', 'gr_logreg_solve' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;

--
-- Logistic regression
--

CREATE FUNCTION gpu_logreg(x float8[], y float8[], intercept boolean DEFAULT true, l2 float8 DEFAULT 0) RETURNS float8[]
    AS 'MODULE_PATHNAME', 'gr_logreg_arrays' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED COST 10000
    SUPPORT gpu_array_support;
CREATE FUNCTION gpu_logreg(x float8[], y boolean[], intercept boolean DEFAULT true, l2 float8 DEFAULT 0)
    RETURNS float8[]
    AS 'MODULE_PATHNAME', 'gr_logreg_arrays' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED COST 10000
    SUPPORT gpu_array_support;

CREATE FUNCTION gpu_logreg_fit(query text DEFAULT NULL, formula text DEFAULT NULL, intercept boolean DEFAULT true,
                               l2 float8 DEFAULT 0, max_iter int DEFAULT 25, tol float8 DEFAULT 1e-10,
                               solver text DEFAULT 'newton', learning_rate float8 DEFAULT NULL,
                               weights text DEFAULT NULL, frequencies text DEFAULT NULL, offsets text DEFAULT NULL,
                               vcov text DEFAULT 'iid', clusters text[] DEFAULT NULL,
                               firth boolean DEFAULT false, kept text DEFAULT NULL, rows text DEFAULT NULL)
    RETURNS gpu_model
    AS 'MODULE_PATHNAME', 'gr_logreg_fit_formula' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;
CREATE FUNCTION gpu_logreg_fit(text, boolean, l2 float8 DEFAULT 0,
                               max_iter int DEFAULT 25, tol float8 DEFAULT 1e-10, solver text DEFAULT 'newton',
                               learning_rate float8 DEFAULT NULL,
                               weights text DEFAULT NULL, frequencies text DEFAULT NULL, offsets text DEFAULT NULL,
                               formula text DEFAULT NULL, vcov text DEFAULT 'iid', clusters text[] DEFAULT NULL,
                               firth boolean DEFAULT false, kept text DEFAULT NULL, rows text DEFAULT NULL)
    RETURNS gpu_model
    AS 'MODULE_PATHNAME', 'gr_logreg_fit' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;

CREATE FUNCTION gpu_glm_fit(query text DEFAULT NULL, family text DEFAULT 'gaussian', link text DEFAULT NULL,
                            intercept boolean DEFAULT true, formula text DEFAULT NULL, weights text DEFAULT NULL,
                            frequencies text DEFAULT NULL, offsets text DEFAULT NULL, l2 float8 DEFAULT 0,
                            max_iter int DEFAULT 25, tol float8 DEFAULT 1e-10, theta float8 DEFAULT NULL,
                            vcov text DEFAULT 'iid', clusters text[] DEFAULT NULL, firth boolean DEFAULT false,
                            kept text DEFAULT NULL, rows text DEFAULT NULL, absorb text[] DEFAULT NULL)
    RETURNS gpu_model
    AS 'MODULE_PATHNAME', 'gr_glm_fit' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;

CREATE FUNCTION gpu_multinom_fit(query text DEFAULT NULL, base text DEFAULT NULL, intercept boolean DEFAULT true,
                                 formula text DEFAULT NULL, weights text DEFAULT NULL,
                                 frequencies text DEFAULT NULL, l2 float8 DEFAULT 0, max_iter int DEFAULT 50,
                                 tol float8 DEFAULT 1e-10, vcov text DEFAULT 'iid', clusters text[] DEFAULT NULL,
                                 kept text DEFAULT NULL, rows text DEFAULT NULL)
    RETURNS gpu_model
    AS 'MODULE_PATHNAME', 'gr_multinom_fit' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;

CREATE FUNCTION gpu_ordinal_fit(query text DEFAULT NULL, link text DEFAULT 'logit', formula text DEFAULT NULL,
                                weights text DEFAULT NULL, frequencies text DEFAULT NULL, max_iter int DEFAULT 50,
                                tol float8 DEFAULT 1e-10, kept text DEFAULT NULL, rows text DEFAULT NULL)
    RETURNS gpu_model
    AS 'MODULE_PATHNAME', 'gr_ordinal_fit' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;

CREATE FUNCTION gpu_class_code(labels text[], "any") RETURNS float8
    AS 'MODULE_PATHNAME', 'gr_class_code' LANGUAGE C STABLE STRICT PARALLEL SAFE;

-- Probabilities in the order of gpu_classes(model)
CREATE FUNCTION gpu_predict_probs(model gpu_model, VARIADIC x "any") RETURNS float8[]
    AS 'MODULE_PATHNAME', 'gr_predict_probs' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION gpu_predict_probs(model gpu_model) RETURNS float8[]
    AS 'MODULE_PATHNAME', 'gr_predict_probs_intercept' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION gpu_predict_class(model gpu_model, VARIADIC x "any") RETURNS text
    AS 'MODULE_PATHNAME', 'gr_predict_class' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION gpu_predict_class(model gpu_model) RETURNS text
    AS 'MODULE_PATHNAME', 'gr_predict_class_intercept' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION gpu_classes(model gpu_model) RETURNS text[]
    AS 'MODULE_PATHNAME', 'gr_classes' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION gpu_logreg_agg_accum(internal, y float8, VARIADIC x float8[]) RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_logreg_agg_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 5;
CREATE FUNCTION gpu_logreg_agg_accum(internal, y boolean, VARIADIC x float8[]) RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_logreg_agg_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 5;
-- A partial state contains all rows of a worker.
CREATE FUNCTION gpu_logreg_agg_combine(internal, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_kept_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION gpu_logreg_agg_serialize(internal) RETURNS bytea
    AS 'MODULE_PATHNAME', 'gr_kept_serialize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION gpu_logreg_agg_deserialize(bytea, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_kept_deserialize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
-- The final function computes on gpureg.device, like gpu_logreg, and in a worker on the CPU.
CREATE FUNCTION gpu_logreg_agg_final(internal) RETURNS gpu_model
    AS 'MODULE_PATHNAME', 'gr_logreg_agg_final' LANGUAGE C STABLE PARALLEL SAFE COST 10000;

CREATE AGGREGATE gpu_logreg_agg(y float8, VARIADIC x float8[]) (
    SFUNC = gpu_logreg_agg_accum,
    STYPE = internal,
    SSPACE = 65536,
    COMBINEFUNC = gpu_logreg_agg_combine,
    SERIALFUNC = gpu_logreg_agg_serialize,
    DESERIALFUNC = gpu_logreg_agg_deserialize,
    FINALFUNC = gpu_logreg_agg_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

CREATE AGGREGATE gpu_logreg_agg(y boolean, VARIADIC x float8[]) (
    SFUNC = gpu_logreg_agg_accum,
    STYPE = internal,
    SSPACE = 65536,
    COMBINEFUNC = gpu_logreg_agg_combine,
    SERIALFUNC = gpu_logreg_agg_serialize,
    DESERIALFUNC = gpu_logreg_agg_deserialize,
    FINALFUNC = gpu_logreg_agg_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

CREATE AGGREGATE gpu_logreg_array_agg(y float8, x float8[]) (
    SFUNC = gpu_logreg_agg_accum,
    STYPE = internal,
    SSPACE = 65536,
    COMBINEFUNC = gpu_logreg_agg_combine,
    SERIALFUNC = gpu_logreg_agg_serialize,
    DESERIALFUNC = gpu_logreg_agg_deserialize,
    FINALFUNC = gpu_logreg_agg_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

CREATE AGGREGATE gpu_logreg_array_agg(y boolean, x float8[]) (
    SFUNC = gpu_logreg_agg_accum,
    STYPE = internal,
    SSPACE = 65536,
    COMBINEFUNC = gpu_logreg_agg_combine,
    SERIALFUNC = gpu_logreg_agg_serialize,
    DESERIALFUNC = gpu_logreg_agg_deserialize,
    FINALFUNC = gpu_logreg_agg_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

-- gpu_logreg(array_agg(x), array_agg(y), intercept, l2) as the planner rewrites it
CREATE FUNCTION gpu_logreg_rows_accum(internal, y float8, x float8[], intercept boolean, l2 float8) RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_logreg_rows_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 5;
CREATE FUNCTION gpu_logreg_rows_accum(internal, y boolean, x float8[], intercept boolean, l2 float8) RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_logreg_rows_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 5;
CREATE FUNCTION gpu_logreg_rows_final(internal) RETURNS float8[]
    AS 'MODULE_PATHNAME', 'gr_logreg_rows_final' LANGUAGE C STABLE PARALLEL SAFE COST 10000;

CREATE AGGREGATE gpu_logreg_rows_agg(y float8, x float8[], intercept boolean, l2 float8) (
    SFUNC = gpu_logreg_rows_accum,
    STYPE = internal,
    SSPACE = 65536,
    COMBINEFUNC = gpu_logreg_agg_combine,
    SERIALFUNC = gpu_logreg_agg_serialize,
    DESERIALFUNC = gpu_logreg_agg_deserialize,
    FINALFUNC = gpu_logreg_rows_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

CREATE AGGREGATE gpu_logreg_rows_agg(y boolean, x float8[], intercept boolean, l2 float8) (
    SFUNC = gpu_logreg_rows_accum,
    STYPE = internal,
    SSPACE = 65536,
    COMBINEFUNC = gpu_logreg_agg_combine,
    SERIALFUNC = gpu_logreg_agg_serialize,
    DESERIALFUNC = gpu_logreg_agg_deserialize,
    FINALFUNC = gpu_logreg_rows_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

--
-- Distributions
--

-- Names and arguments are R's.
CREATE FUNCTION gpu_pnorm(q float8, mean float8 DEFAULT 0, sd float8 DEFAULT 1, lower_tail boolean DEFAULT true)
    RETURNS float8
    AS 'MODULE_PATHNAME', 'gr_pnorm' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION gpu_qnorm(p float8, mean float8 DEFAULT 0, sd float8 DEFAULT 1, lower_tail boolean DEFAULT true)
    RETURNS float8
    AS 'MODULE_PATHNAME', 'gr_qnorm' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION gpu_pt(q float8, df float8, lower_tail boolean DEFAULT true) RETURNS float8
    AS 'MODULE_PATHNAME', 'gr_pt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION gpu_qt(p float8, df float8, lower_tail boolean DEFAULT true) RETURNS float8
    AS 'MODULE_PATHNAME', 'gr_qt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION gpu_pchisq(q float8, df float8, lower_tail boolean DEFAULT true) RETURNS float8
    AS 'MODULE_PATHNAME', 'gr_pchisq' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION gpu_qchisq(p float8, df float8, lower_tail boolean DEFAULT true) RETURNS float8
    AS 'MODULE_PATHNAME', 'gr_qchisq' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION gpu_pf(q float8, df1 float8, df2 float8, lower_tail boolean DEFAULT true) RETURNS float8
    AS 'MODULE_PATHNAME', 'gr_pf' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION gpu_qf(p float8, df1 float8, df2 float8, lower_tail boolean DEFAULT true) RETURNS float8
    AS 'MODULE_PATHNAME', 'gr_qf' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;

--
-- Scores of predictions
--

CREATE FUNCTION gpu_auc_accum(internal, score float8, label float8) RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_auc_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION gpu_auc_accum(internal, score float8, label boolean) RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_auc_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION gpu_auc_combine(internal, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_auc_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION gpu_auc_serialize(internal) RETURNS bytea
    AS 'MODULE_PATHNAME', 'gr_auc_serialize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION gpu_auc_deserialize(bytea, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_auc_deserialize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION gpu_auc_final(internal) RETURNS float8
    AS 'MODULE_PATHNAME', 'gr_auc_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE AGGREGATE gpu_auc(score float8, label float8) (
    SFUNC = gpu_auc_accum,
    STYPE = internal,
    SSPACE = 4096,
    COMBINEFUNC = gpu_auc_combine,
    SERIALFUNC = gpu_auc_serialize,
    DESERIALFUNC = gpu_auc_deserialize,
    FINALFUNC = gpu_auc_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

CREATE AGGREGATE gpu_auc(score float8, label boolean) (
    SFUNC = gpu_auc_accum,
    STYPE = internal,
    SSPACE = 4096,
    COMBINEFUNC = gpu_auc_combine,
    SERIALFUNC = gpu_auc_serialize,
    DESERIALFUNC = gpu_auc_deserialize,
    FINALFUNC = gpu_auc_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

CREATE FUNCTION gpu_brier_accum(float8[], probability float8, label float8) RETURNS float8[]
    AS 'MODULE_PATHNAME', 'gr_brier_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION gpu_brier_accum(float8[], probability float8, label boolean) RETURNS float8[]
    AS 'MODULE_PATHNAME', 'gr_brier_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION gpu_brier_combine(float8[], float8[]) RETURNS float8[]
    AS 'MODULE_PATHNAME', 'gr_brier_combine' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION gpu_brier_final(float8[]) RETURNS float8
    AS 'MODULE_PATHNAME', 'gr_brier_final' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE AGGREGATE gpu_brier(probability float8, label float8) (
    SFUNC = gpu_brier_accum,
    STYPE = float8[],
    INITCOND = '{0,0,0}',
    COMBINEFUNC = gpu_brier_combine,
    FINALFUNC = gpu_brier_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

CREATE AGGREGATE gpu_brier(probability float8, label boolean) (
    SFUNC = gpu_brier_accum,
    STYPE = float8[],
    INITCOND = '{0,0,0}',
    COMBINEFUNC = gpu_brier_combine,
    FINALFUNC = gpu_brier_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

CREATE FUNCTION gpu_ks_final(internal) RETURNS float8
    AS 'MODULE_PATHNAME', 'gr_ks_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION gpu_ranking_pass_final(internal) RETURNS bigint
    AS 'MODULE_PATHNAME', 'gr_ranking_final' LANGUAGE C VOLATILE PARALLEL SAFE;

CREATE AGGREGATE gpu_ks(score float8, label float8) (
    SFUNC = gpu_auc_accum,
    STYPE = internal,
    SSPACE = 4096,
    COMBINEFUNC = gpu_auc_combine,
    SERIALFUNC = gpu_auc_serialize,
    DESERIALFUNC = gpu_auc_deserialize,
    FINALFUNC = gpu_ks_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

CREATE AGGREGATE gpu_ks(score float8, label boolean) (
    SFUNC = gpu_auc_accum,
    STYPE = internal,
    SSPACE = 4096,
    COMBINEFUNC = gpu_auc_combine,
    SERIALFUNC = gpu_auc_serialize,
    DESERIALFUNC = gpu_auc_deserialize,
    FINALFUNC = gpu_ks_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

CREATE AGGREGATE gpu_ranking_pass(score float8, label float8) (
    SFUNC = gpu_auc_accum,
    STYPE = internal,
    SSPACE = 4096,
    COMBINEFUNC = gpu_auc_combine,
    SERIALFUNC = gpu_auc_serialize,
    DESERIALFUNC = gpu_auc_deserialize,
    FINALFUNC = gpu_ranking_pass_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

CREATE AGGREGATE gpu_ranking_pass(score float8, label boolean) (
    SFUNC = gpu_auc_accum,
    STYPE = internal,
    SSPACE = 4096,
    COMBINEFUNC = gpu_auc_combine,
    SERIALFUNC = gpu_auc_serialize,
    DESERIALFUNC = gpu_auc_deserialize,
    FINALFUNC = gpu_ranking_pass_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

CREATE FUNCTION gpu_logloss_accum(float8[], probability float8, label float8) RETURNS float8[]
    AS 'MODULE_PATHNAME', 'gr_logloss_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION gpu_logloss_accum(float8[], probability float8, label boolean) RETURNS float8[]
    AS 'MODULE_PATHNAME', 'gr_logloss_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION gpu_logloss_final(float8[]) RETURNS float8
    AS 'MODULE_PATHNAME', 'gr_logloss_final' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE AGGREGATE gpu_logloss(probability float8, label float8) (
    SFUNC = gpu_logloss_accum,
    STYPE = float8[],
    INITCOND = '{0,0,0}',
    COMBINEFUNC = gpu_brier_combine,
    FINALFUNC = gpu_logloss_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

CREATE AGGREGATE gpu_logloss(probability float8, label boolean) (
    SFUNC = gpu_logloss_accum,
    STYPE = float8[],
    INITCOND = '{0,0,0}',
    COMBINEFUNC = gpu_brier_combine,
    FINALFUNC = gpu_logloss_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

CREATE FUNCTION gpu_confusion_accum(bigint[], threshold float8, score float8, label float8) RETURNS bigint[]
    AS 'MODULE_PATHNAME', 'gr_confusion_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION gpu_confusion_accum(bigint[], threshold float8, score float8, label boolean) RETURNS bigint[]
    AS 'MODULE_PATHNAME', 'gr_confusion_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION gpu_confusion_combine(bigint[], bigint[]) RETURNS bigint[]
    AS 'MODULE_PATHNAME', 'gr_confusion_combine' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE AGGREGATE gpu_confusion_pass(threshold float8, score float8, label float8) (
    SFUNC = gpu_confusion_accum,
    STYPE = bigint[],
    INITCOND = '{0,0,0,0}',
    COMBINEFUNC = gpu_confusion_combine,
    PARALLEL = SAFE
);

CREATE AGGREGATE gpu_confusion_pass(threshold float8, score float8, label boolean) (
    SFUNC = gpu_confusion_accum,
    STYPE = bigint[],
    INITCOND = '{0,0,0,0}',
    COMBINEFUNC = gpu_confusion_combine,
    PARALLEL = SAFE
);

CREATE FUNCTION gpu_roc(query text, corners boolean DEFAULT false)
    RETURNS TABLE (threshold float8, tp bigint, fp bigint, tn bigint, fn bigint, sensitivity float8,
                   specificity float8, ppv float8, youden float8)
    AS 'MODULE_PATHNAME', 'gr_roc' LANGUAGE C VOLATILE PARALLEL UNSAFE;
CREATE FUNCTION gpu_confusion(query text, threshold float8 DEFAULT 0.5)
    RETURNS TABLE (tp bigint, fp bigint, tn bigint, fn bigint, accuracy float8,
                   sensitivity float8, specificity float8, ppv float8, npv float8, f1 float8,
                   balanced_accuracy float8, kappa float8, mcc float8, prevalence float8)
    AS 'MODULE_PATHNAME', 'gr_confusion' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 1;
CREATE FUNCTION gpu_calibration(query text, bins int DEFAULT 10, strategy text DEFAULT 'quantile')
    RETURNS TABLE (bin int, n bigint, ones bigint, lowest float8, highest float8, predicted float8, observed float8)
    AS 'MODULE_PATHNAME', 'gr_calibration' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 10;
CREATE FUNCTION gpu_lift(query text, bins int DEFAULT 10)
    RETURNS TABLE (bin int, n bigint, ones bigint, lowest float8, highest float8, rate float8, lift float8,
                   cum_n bigint, cum_ones bigint, gain float8, cum_lift float8)
    AS 'MODULE_PATHNAME', 'gr_lift' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 10;

--
-- Random projection and feature hashing
--

CREATE FUNCTION gpu_project(x real[], k int, seed bigint DEFAULT 0, density float8 DEFAULT NULL) RETURNS real[]
    AS 'MODULE_PATHNAME', 'gr_project' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000;
CREATE FUNCTION gpu_project_sparse(idx bigint[], val real[], k int, seed bigint DEFAULT 0, density float8 DEFAULT NULL,
                                   dim bigint DEFAULT NULL) RETURNS real[]
    AS 'MODULE_PATHNAME', 'gr_project_sparse' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION gpu_project_bits(x real[], k int, seed bigint DEFAULT 0) RETURNS bit varying
    AS 'MODULE_PATHNAME', 'gr_project_bits' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
-- The planner calls it for functions that return ids of any type. It needs no EXECUTE right.
CREATE FUNCTION gpu_rows_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_rows_support' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
REVOKE EXECUTE ON FUNCTION gpu_rows_support(internal) FROM PUBLIC;
-- The parser derives a polymorphic result's type from the argument's place in the call, before it fills in defaults and
-- sorts named arguments. So ids are bigint if none is given; one form has id third, for k, id => NULL::uuid and further
-- named arguments; forms with id last take seed and density only by position; and forms with an integer seed make an
-- integer in third place a seed.
CREATE FUNCTION gpu_project_rows(query text, k int, seed bigint DEFAULT 0, density float8 DEFAULT NULL)
    RETURNS TABLE (id bigint, projection real[])
    AS 'MODULE_PATHNAME', 'gr_project_rows' LANGUAGE C VOLATILE PARALLEL UNSAFE;
CREATE FUNCTION gpu_project_rows(query text, k int, seed int, density float8 DEFAULT NULL)
    RETURNS TABLE (id bigint, projection real[])
    AS 'MODULE_PATHNAME', 'gr_project_rows_int' LANGUAGE C VOLATILE PARALLEL UNSAFE;
CREATE FUNCTION gpu_project_rows(query text, k int, bigint, float8, id anyelement)
    RETURNS TABLE (id anyelement, projection real[])
    AS 'MODULE_PATHNAME', 'gr_project_rows' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SUPPORT gpu_rows_support;
CREATE FUNCTION gpu_project_rows(query text, k int, int, float8, id anyelement)
    RETURNS TABLE (id anyelement, projection real[])
    AS 'MODULE_PATHNAME', 'gr_project_rows_int' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SUPPORT gpu_rows_support;
CREATE FUNCTION gpu_project_rows(query text, k int, id anyelement, seed bigint DEFAULT 0, density float8 DEFAULT NULL)
    RETURNS TABLE (id anyelement, projection real[])
    AS 'MODULE_PATHNAME', 'gr_project_rows_id' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SUPPORT gpu_rows_support;
-- The function that gpu_project_rows applies to its query's vectors in parallel workers: returns a vector's projection,
-- dimension and worker.
CREATE FUNCTION gpu_project_pass(vector real[], k int, seed bigint, density float8) RETURNS bytea
    AS 'MODULE_PATHNAME', 'gr_project_pass' LANGUAGE C VOLATILE PARALLEL SAFE COST 1000;
-- Returns the vector instead, for projection in batches. The cost is that of detoasting; with a lower one the planner
-- would choose one process.
CREATE FUNCTION gpu_vector_pass(vector real[]) RETURNS bytea
    AS 'MODULE_PATHNAME', 'gr_vector_pass' LANGUAGE C VOLATILE STRICT PARALLEL SAFE COST 250;
CREATE FUNCTION gpu_feature_hash(features text[], k int, seed bigint DEFAULT 0, density float8 DEFAULT NULL)
    RETURNS real[]
    AS 'MODULE_PATHNAME', 'gr_feature_hash_text' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION gpu_feature_hash(features jsonb, k int, seed bigint DEFAULT 0, density float8 DEFAULT NULL)
    RETURNS real[]
    AS 'MODULE_PATHNAME', 'gr_feature_hash_jsonb' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION gpu_jl_min_dim(n bigint, eps float8 DEFAULT 0.1) RETURNS bigint
    AS 'MODULE_PATHNAME', 'gr_jl_min_dim_bigint' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

--
-- The machine
--

CREATE FUNCTION gpu_devices()
    RETURNS TABLE (id int, name text, compute_capability text, memory_total bigint, memory_free bigint, driver text,
                   service_pid int, sessions int, computations int, memory_reserved bigint)
    AS 'MODULE_PATHNAME', 'gr_devices' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 1;

--
-- Kept rows
--

-- The aggregate that gpu_keep runs over its query in parallel workers: rows go into a ring, and the state has the
-- description of the columns, whose levels of an enum are its labels, which can be renamed.
CREATE FUNCTION gpu_keep_accum(internal, ring bytea, names text[], VARIADIC "any") RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_keep_accum' LANGUAGE C VOLATILE PARALLEL SAFE COST 10;
CREATE FUNCTION gpu_keep_combine(internal, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_keep_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION gpu_keep_serial(internal) RETURNS bytea
    AS 'MODULE_PATHNAME', 'gr_keep_serial' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION gpu_keep_deserial(bytea, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_keep_deserial' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION gpu_keep_final(internal) RETURNS bytea
    AS 'MODULE_PATHNAME', 'gr_keep_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE gpu_keep_pass(ring bytea, names text[], VARIADIC "any") (
    SFUNC = gpu_keep_accum,
    STYPE = internal,
    SSPACE = 65536,
    COMBINEFUNC = gpu_keep_combine,
    SERIALFUNC = gpu_keep_serial,
    DESERIALFUNC = gpu_keep_deserial,
    FINALFUNC = gpu_keep_final,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);

CREATE FUNCTION gpu_keep(name text, query text, replace boolean DEFAULT false) RETURNS bigint
    AS 'MODULE_PATHNAME', 'gr_keep' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100000;

CREATE FUNCTION gpu_kept()
    RETURNS TABLE (name text, owner text, query text, columns text[], rows bigint, bytes bigint, kept_at timestamptz,
                   hits bigint, device text)
    AS 'MODULE_PATHNAME', 'gr_show_kept' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 10;

-- Lists the sets of all databases and roles; for superusers, unless they grant it to others
CREATE FUNCTION gpu_kept_all()
    RETURNS TABLE (database text, owner text, name text, state text, query text, rows bigint, bytes bigint,
                   kept_at timestamptz, hits bigint, device text)
    AS 'MODULE_PATHNAME', 'gr_show_kept_all' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 10;
REVOKE EXECUTE ON FUNCTION gpu_kept_all() FROM PUBLIC;

CREATE FUNCTION gpu_forget(name text) RETURNS boolean
    AS 'MODULE_PATHNAME', 'gr_forget' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

-- Predicts kept rows; id: the value of the column key
CREATE FUNCTION gpu_predict_rows(model gpu_model, kept text, key text DEFAULT NULL, rows text DEFAULT NULL)
    RETURNS TABLE (id float8, prediction float8)
    AS 'MODULE_PATHNAME', 'gr_predict_rows' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000 ROWS 100000;
CREATE FUNCTION gpu_predict_rows(model gpu_model, kept text, key text, id anyelement, rows text DEFAULT NULL)
    RETURNS TABLE (id anyelement, prediction float8)
    AS 'MODULE_PATHNAME', 'gr_predict_rows_id' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000 ROWS 100000
    SUPPORT gpu_rows_support;
-- Over a query, whose first column is the id. max_rows is second, so that a text in second place still names kept rows.
-- In the other form id is third, as the parser derives the result's type from the argument's place in the call.
CREATE FUNCTION gpu_predict_rows(model gpu_model, max_rows bigint DEFAULT NULL, query text DEFAULT NULL,
                                 type text DEFAULT 'response', new_levels text DEFAULT 'error')
    RETURNS TABLE (id bigint, prediction float8)
    AS 'MODULE_PATHNAME', 'gr_predict_query' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000 ROWS 100000;
CREATE FUNCTION gpu_predict_rows(model gpu_model, query text, id anyelement, type text DEFAULT 'response',
                                 new_levels text DEFAULT 'error', max_rows bigint DEFAULT NULL)
    RETURNS TABLE (id anyelement, prediction float8)
    AS 'MODULE_PATHNAME', 'gr_predict_query_id' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000 ROWS 100000
    SUPPORT gpu_rows_support;

CREATE FUNCTION gpu_last_run()
    RETURNS TABLE (function text, device text, reason text, rows bigint, features int, bytes_to_device bigint,
                   read_seconds float8, copy_seconds float8, kernel_seconds float8, solve_seconds float8,
                   total_seconds float8, workers int)
    AS 'MODULE_PATHNAME', 'gr_show_last_run' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 1;

-- Shows the progress of sessions of roles whose privileges the caller has; pg_read_all_stats sees all
CREATE FUNCTION gpu_progress()
    RETURNS TABLE (pid int, function text, rows_read bigint, rows_per_second float8, workers int, passes bigint,
                   iteration int, deviance float8, seconds float8)
    AS 'MODULE_PATHNAME', 'gr_progress' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 10;

--
-- Comments
--

COMMENT ON TYPE gpu_ols_stats IS 'mergeable state of a linear regression: cross products in double-double';
COMMENT ON FUNCTION gpu_ols_stats_in(cstring) IS 'internal: reads a gpu_ols_stats as text';
COMMENT ON FUNCTION gpu_ols_stats_out(gpu_ols_stats) IS 'internal: writes a gpu_ols_stats as text';
COMMENT ON FUNCTION gpu_ols_stats_recv(internal) IS 'internal: reads a gpu_ols_stats as bytes';
COMMENT ON FUNCTION gpu_ols_stats_send(gpu_ols_stats) IS 'internal: writes a gpu_ols_stats as bytes';
COMMENT ON FUNCTION gpu_scan_support(internal) IS 'internal: the planner calls it, which loads the library';
COMMENT ON FUNCTION gpu_ols_stats_accum(gpu_ols_stats, float8, float8[])
    IS 'internal: transition function of gpu_ols_agg and others';
COMMENT ON FUNCTION gpu_ols_stats_accum(gpu_ols_stats, boolean, float8[])
    IS 'internal: transition function of gpu_ols_agg and others';
COMMENT ON FUNCTION gpu_ols_stats_combine(gpu_ols_stats, gpu_ols_stats)
    IS 'internal: combine function of gpu_ols_agg and others';
COMMENT ON FUNCTION gpu_ols_stats_final(gpu_ols_stats) IS 'internal: final function of gpu_ols_rollup and others';
COMMENT ON FUNCTION gpu_ols_model_final(gpu_ols_stats) IS 'internal: final function of gpu_ols_agg and others';
COMMENT ON TYPE gpu_model IS 'a fitted model: read it with gpu_tidy and gpu_glance, use it with gpu_predict';
COMMENT ON FUNCTION gpu_tidy(gpu_model, float8, boolean)
    IS 'coefficients of a model, a row each, with standard errors, tests and confidence limits';
COMMENT ON FUNCTION gpu_glance(gpu_model)
    IS 'measures of a whole model in one row: rows, R squared, deviance, AIC and others';
COMMENT ON FUNCTION gpu_with_terms(gpu_model, text[]) IS 'the model with its terms renamed';
COMMENT ON FUNCTION gpu_anova(gpu_model, gpu_model)
    IS 'test of two nested models: whether the additional terms improve the fit';
COMMENT ON FUNCTION gpu_summary(gpu_model) IS 'a model as a table to read, as R''s summary prints it';
COMMENT ON FUNCTION gpu_wald(gpu_model, text[]) IS 'joint test that terms of a model are zero';
COMMENT ON FUNCTION gpu_anova(gpu_model) IS 'tests of type II of a model''s terms by its covariances';
COMMENT ON FUNCTION gpu_drop1(gpu_model)
    IS 'a linear model without each of its terms: sums of squares, AIC and F tests';
COMMENT ON FUNCTION gpu_step(gpu_model, text, text) IS 'stepwise selection of a linear model''s terms by AIC or BIC';
COMMENT ON FUNCTION gpu_contrast(gpu_model, jsonb, float8)
    IS 'a linear combination of a model''s coefficients, with its test';
COMMENT ON FUNCTION gpu_means(gpu_model, text, boolean, text, jsonb, text, float8)
    IS 'means of a factor''s levels that a model predicts, or their differences';
COMMENT ON FUNCTION gpu_vif(gpu_ols_stats) IS 'variance inflation factors of a state''s features';
COMMENT ON FUNCTION gpu_vif(gpu_model) IS 'variance inflation factors of a model''s terms';
COMMENT ON FUNCTION gpu_predict_support(internal) IS 'internal: the planner calls it for the cost of gpu_predict';
COMMENT ON FUNCTION gpu_predict(gpu_model, "any")
    IS 'prediction of a model for a row: its features in order, or a row or jsonb object by their names';
COMMENT ON FUNCTION gpu_predict(gpu_model) IS 'prediction of a model without features';
COMMENT ON FUNCTION gpu_predict_row(gpu_model, "any", text, text)
    IS 'prediction of a model for a row or jsonb object by name, with options';
COMMENT ON FUNCTION gpu_levels(gpu_model) IS 'the levels of a model''s factors, in their order';
COMMENT ON FUNCTION gpu_predict_interval(gpu_model, text, float8, "any")
    IS 'prediction of a model, with its standard error and limits';
COMMENT ON FUNCTION gpu_predict_interval(gpu_model, text, float8)
    IS 'prediction of a model without features, with its standard error and limits';
COMMENT ON FUNCTION gpu_leverage(gpu_model, "any") IS 'leverage of a row with these values';
COMMENT ON FUNCTION gpu_leverage(gpu_model) IS 'leverage of a row in a model without features';
COMMENT ON FUNCTION gpu_margins(gpu_model, text, float8, text, text)
    IS 'average marginal effects of a model over a query, with their standard errors';
COMMENT ON FUNCTION gpu_overdispersion(gpu_model, text, text, text, text)
    IS 'test whether responses vary more than a model''s family lets them';
COMMENT ON FUNCTION gpu_augment(gpu_model, text, text, text, text, text)
    IS 'fitted values, residuals and measures of influence of a query''s rows';
COMMENT ON FUNCTION gpu_augment(gpu_model, text, text, anyelement, text, text, text)
    IS 'fitted values, residuals and measures of influence of a query''s rows';
COMMENT ON FUNCTION gpu_array_support(internal)
    IS 'internal: the planner calls it, to make aggregates of gpu_ols and gpu_logreg over array_agg';
COMMENT ON FUNCTION gpu_ols(float8[], float8[], boolean) IS 'linear regression over arrays: the coefficients';
COMMENT ON FUNCTION gpu_ols_fit(text, text, boolean, text, text, text, text[], text, text, text[])
    IS 'linear regression over a query: the model';
COMMENT ON FUNCTION gpu_ols_fit(text, boolean, text, text, text, text, text[], text, text, text[])
    IS 'linear regression over a query: the model';
COMMENT ON FUNCTION gpu_effects(text, text, text[], text, text)
    IS 'estimates of the absorbed effects of a linear regression over a query';
COMMENT ON AGGREGATE gpu_ols_agg(float8, VARIADIC float8[]) IS 'linear regression: the model';
COMMENT ON AGGREGATE gpu_ols_agg(boolean, VARIADIC float8[]) IS 'linear regression: the model';
COMMENT ON AGGREGATE gpu_ols_array_agg(float8, float8[]) IS 'linear regression: the model; x as one array';
COMMENT ON AGGREGATE gpu_ols_array_agg(boolean, float8[]) IS 'linear regression: the model; x as one array';
COMMENT ON AGGREGATE gpu_ols_stats_agg(float8, VARIADIC float8[]) IS 'linear regression: the mergeable state';
COMMENT ON AGGREGATE gpu_ols_stats_agg(boolean, VARIADIC float8[]) IS 'linear regression: the mergeable state';
COMMENT ON AGGREGATE gpu_ols_stats_array_agg(float8, float8[])
    IS 'linear regression: the mergeable state; x as one array';
COMMENT ON AGGREGATE gpu_ols_stats_array_agg(boolean, float8[])
    IS 'linear regression: the mergeable state; x as one array';
COMMENT ON AGGREGATE gpu_ols_rollup(gpu_ols_stats)
    IS 'merges states of linear regressions, such as those of gpu_ols_stats_agg';
COMMENT ON FUNCTION gpu_ingest_pass_accum(bigint, bytea, text[], "any")
    IS 'internal: transition function of gpu_ingest_pass';
COMMENT ON AGGREGATE gpu_ingest_pass(bytea, text[], VARIADIC "any")
    IS 'internal: the rows of a query on their way to a device';
COMMENT ON FUNCTION gpu_wls_stats_accum(gpu_ols_stats, float8, float8, float8[])
    IS 'internal: transition function of gpu_wls_agg and others';
COMMENT ON FUNCTION gpu_wls_stats_accum(gpu_ols_stats, float8, boolean, float8[])
    IS 'internal: transition function of gpu_wls_agg and others';
COMMENT ON AGGREGATE gpu_wls_agg(float8, float8, VARIADIC float8[]) IS 'weighted linear regression: the model';
COMMENT ON AGGREGATE gpu_wls_agg(float8, boolean, VARIADIC float8[]) IS 'weighted linear regression: the model';
COMMENT ON AGGREGATE gpu_wls_array_agg(float8, float8, float8[])
    IS 'weighted linear regression: the model; x as one array';
COMMENT ON AGGREGATE gpu_wls_array_agg(float8, boolean, float8[])
    IS 'weighted linear regression: the model; x as one array';
COMMENT ON AGGREGATE gpu_wls_stats_agg(float8, float8, VARIADIC float8[])
    IS 'weighted linear regression: the mergeable state';
COMMENT ON AGGREGATE gpu_wls_stats_agg(float8, boolean, VARIADIC float8[])
    IS 'weighted linear regression: the mergeable state';
COMMENT ON AGGREGATE gpu_wls_stats_array_agg(float8, float8, float8[])
    IS 'weighted linear regression: the mergeable state; x as one array';
COMMENT ON AGGREGATE gpu_wls_stats_array_agg(float8, boolean, float8[])
    IS 'weighted linear regression: the mergeable state; x as one array';
COMMENT ON FUNCTION gpu_ols_pass_accum(gpu_ols_stats, gpu_ols_stats, text[], int[], "any")
    IS 'internal: transition function of gpu_ols_pass';
COMMENT ON AGGREGATE gpu_ols_pass(gpu_ols_stats, text[], int[], VARIADIC "any")
    IS 'internal: the sums of gpu_ols_fit over its query';
COMMENT ON FUNCTION gpu_levels_accum(internal, text[], "any") IS 'internal: transition function of gpu_levels_pass';
COMMENT ON FUNCTION gpu_levels_combine(internal, internal) IS 'internal: combine function of gpu_levels_pass';
COMMENT ON FUNCTION gpu_levels_serial(internal) IS 'internal: serialization function of gpu_levels_pass';
COMMENT ON FUNCTION gpu_levels_deserial(bytea, internal) IS 'internal: deserialization function of gpu_levels_pass';
COMMENT ON FUNCTION gpu_levels_final(internal) IS 'internal: final function of gpu_levels_pass';
COMMENT ON AGGREGATE gpu_levels_pass(text[], VARIADIC "any")
    IS 'internal: the levels of factors: how many each has, and these';
COMMENT ON FUNCTION gpu_design_row(text, boolean, "any")
    IS 'internal: a row''s features, as a design makes them of its columns';
COMMENT ON FUNCTION gpu_design_number(text, "any")
    IS 'internal: a number that an expression of a formula makes of columns';
COMMENT ON FUNCTION gpu_features_pass(text[], boolean, int, "any")
    IS 'internal: a row''s features for the passes over a remote query';
COMMENT ON AGGREGATE gpu_ols_array_pass(float8, float8[]) IS 'internal: the sums of gpu_ols_fit over a remote query';
COMMENT ON FUNCTION gpu_wls_array_pass_accum(gpu_ols_stats, float8, float8[])
    IS 'internal: transition function of gpu_wls_array_pass';
COMMENT ON AGGREGATE gpu_wls_array_pass(float8, float8[])
    IS 'internal: the sums of gpu_ols_fit over a remote query with weights';
COMMENT ON FUNCTION gpu_ols_vector_accum(gpu_ols_stats, float8, float8[])
    IS 'internal: transition function of gpu_ols_vector_pass';
COMMENT ON FUNCTION gpu_ols_vector_combine(gpu_ols_stats, gpu_ols_stats)
    IS 'internal: combine function of gpu_ols_vector_pass';
COMMENT ON AGGREGATE gpu_ols_vector_pass(float8, float8[]) IS 'internal: the sums of gpu_ols over array_agg, of arrays';
COMMENT ON FUNCTION gpu_ols_coef(gpu_ols_stats, boolean)
    IS 'internal: the coefficients of gpu_ols over array_agg, from its sums';
COMMENT ON FUNCTION gpu_ols_solve(gpu_ols_stats, boolean, "any", "any", float8)
    IS 'linear or ridge regression from a state, of any of its columns: the model';
COMMENT ON FUNCTION gpu_iv_solve(gpu_ols_stats, "any", "any", boolean, "any", "any")
    IS 'two-stage least squares from a state: the model';
COMMENT ON FUNCTION gpu_iv_tests(gpu_ols_stats, "any", "any", boolean, "any", "any")
    IS 'tests of two-stage least squares: weak instruments, Wu-Hausman, Sargan';
COMMENT ON FUNCTION gpu_ols_select(gpu_ols_stats, text, text, boolean, "any", "any", int)
    IS 'the best subset of features of each size, or steps forward or backward, from a state';
COMMENT ON FUNCTION gpu_ols_rolling(text, int, int, boolean)
    IS 'linear regression over windows of an ordered query''s rows';
COMMENT ON FUNCTION gpu_ols_named(gpu_ols_stats, text[])
    IS 'the state with names of its columns, the response''s first';
COMMENT ON FUNCTION gpu_ols_names(gpu_ols_stats) IS 'names of a state''s columns, the response''s first';
COMMENT ON FUNCTION gpu_ols_cluster_accum(internal, gpu_ols_stats)
    IS 'internal: transition function of gpu_ols_cluster_agg';
COMMENT ON FUNCTION gpu_ols_cluster_accum(internal, gpu_ols_stats, text)
    IS 'internal: transition function of gpu_ols_cluster_agg';
COMMENT ON FUNCTION gpu_ols_cluster_accum(internal, gpu_ols_stats, text, boolean)
    IS 'internal: transition function of gpu_ols_cluster_agg';
COMMENT ON FUNCTION gpu_ols_cluster_accum(internal, gpu_ols_stats, text, boolean, "any", "any")
    IS 'internal: transition function of gpu_ols_cluster_agg';
COMMENT ON FUNCTION gpu_ols_cluster_final(internal) IS 'internal: final function of gpu_ols_cluster_agg';
COMMENT ON AGGREGATE gpu_ols_cluster_agg(gpu_ols_stats)
    IS 'linear regression from one state per cluster: the model, with cluster-robust covariances';
COMMENT ON AGGREGATE gpu_ols_cluster_agg(gpu_ols_stats, text)
    IS 'linear regression from one state per cluster: the model, with cluster-robust covariances';
COMMENT ON AGGREGATE gpu_ols_cluster_agg(gpu_ols_stats, text, boolean)
    IS 'linear regression from one state per cluster: the model, with cluster-robust covariances';
COMMENT ON AGGREGATE gpu_ols_cluster_agg(gpu_ols_stats, text, boolean, "any", "any")
    IS 'linear regression from one state per cluster: the model, with cluster-robust covariances';
COMMENT ON FUNCTION gpu_ols_two_way(gpu_model, gpu_model, gpu_model)
    IS 'linear regression with two-way clustered covariances, from models clustered by each column and by both';
COMMENT ON FUNCTION gpu_lmm_accum(internal, gpu_ols_stats)
    IS 'internal: transition function of gpu_lmm_agg';
COMMENT ON AGGREGATE gpu_lmm_agg(gpu_ols_stats)
    IS 'linear mixed model from one state per group: the model, by REML or ML';
COMMENT ON FUNCTION gpu_lmm_accum(internal, gpu_ols_stats, text)
    IS 'internal: transition function of gpu_lmm_agg';
COMMENT ON AGGREGATE gpu_lmm_agg(gpu_ols_stats, text)
    IS 'linear mixed model from one state per group: the model, by REML or ML';
COMMENT ON FUNCTION gpu_lmm_accum(internal, gpu_ols_stats, text, text)
    IS 'internal: transition function of gpu_lmm_agg';
COMMENT ON AGGREGATE gpu_lmm_agg(gpu_ols_stats, text, text)
    IS 'linear mixed model from one state per group: the model, by REML or ML';
COMMENT ON FUNCTION gpu_lmm_accum(internal, gpu_ols_stats, text, text, jsonb)
    IS 'internal: transition function of gpu_lmm_agg';
COMMENT ON AGGREGATE gpu_lmm_agg(gpu_ols_stats, text, text, jsonb)
    IS 'linear mixed model from one state per group: the model, by REML or ML';
COMMENT ON FUNCTION gpu_lmm_accum(internal, gpu_ols_stats, text, text, jsonb, boolean, "any", "any")
    IS 'internal: transition function of gpu_lmm_agg';
COMMENT ON AGGREGATE gpu_lmm_agg(gpu_ols_stats, text, text, jsonb, boolean, "any", "any")
    IS 'linear mixed model from one state per group: the model, by REML or ML';
COMMENT ON FUNCTION gpu_lmm_final(internal) IS 'internal: final function of gpu_lmm_agg';
COMMENT ON FUNCTION gpu_lmm_fit(text, text, text, text, text) IS 'linear mixed model of the rows of a query';
COMMENT ON FUNCTION gpu_ranef(text, text, text, text, text)
    IS 'predicted effects of each group in a mixed model of the rows of a query, with standard errors';
COMMENT ON FUNCTION gpu_variances(gpu_model) IS 'variance components of a mixed model';
COMMENT ON TYPE gpu_wild_boot
    IS 'result of a wild cluster bootstrap: a coefficient with its p-value and confidence limits';
COMMENT ON FUNCTION gpu_wild_boot_accum(internal, gpu_ols_stats, text)
    IS 'internal: transition function of gpu_wild_boot_agg';
COMMENT ON FUNCTION gpu_wild_boot_accum(internal, gpu_ols_stats, text, int)
    IS 'internal: transition function of gpu_wild_boot_agg';
COMMENT ON FUNCTION gpu_wild_boot_accum(internal, gpu_ols_stats, text, int, text, float8, float8, bigint)
    IS 'internal: transition function of gpu_wild_boot_agg';
COMMENT ON FUNCTION gpu_wild_boot_accum(internal, gpu_ols_stats, text, int, text, float8, float8, bigint, "any")
    IS 'internal: transition function of gpu_wild_boot_agg';
COMMENT ON FUNCTION gpu_wild_boot_accum(internal, gpu_ols_stats, text, int, text, float8, float8, bigint, "any",
                                        boolean, "any", "any")
    IS 'internal: transition function of gpu_wild_boot_agg';
COMMENT ON FUNCTION gpu_wild_boot_final(internal) IS 'internal: final function of gpu_wild_boot_agg';
COMMENT ON AGGREGATE gpu_wild_boot_agg(gpu_ols_stats, text)
    IS 'wild cluster bootstrap of a coefficient, from one state per cluster';
COMMENT ON AGGREGATE gpu_wild_boot_agg(gpu_ols_stats, text, int)
    IS 'wild cluster bootstrap of a coefficient, from one state per cluster';
COMMENT ON AGGREGATE gpu_wild_boot_agg(gpu_ols_stats, text, int, text, float8, float8, bigint)
    IS 'wild cluster bootstrap of a coefficient, from one state per cluster';
COMMENT ON AGGREGATE gpu_wild_boot_agg(gpu_ols_stats, text, int, text, float8, float8, bigint, "any")
    IS 'wild cluster bootstrap of a coefficient, from one state per cluster';
COMMENT ON AGGREGATE gpu_wild_boot_agg(gpu_ols_stats, text, int, text, float8, float8, bigint, "any", boolean, "any",
                                       "any")
    IS 'wild cluster bootstrap of a coefficient, from one state per cluster';
COMMENT ON TYPE gpu_logreg_step
    IS 'mergeable state of one Newton step of a logistic regression or another generalised linear model';
COMMENT ON FUNCTION gpu_logreg_step_in(cstring) IS 'internal: reads a gpu_logreg_step as text';
COMMENT ON FUNCTION gpu_logreg_step_out(gpu_logreg_step) IS 'internal: writes a gpu_logreg_step as text';
COMMENT ON FUNCTION gpu_logreg_step_recv(internal) IS 'internal: reads a gpu_logreg_step as bytes';
COMMENT ON FUNCTION gpu_logreg_step_send(gpu_logreg_step) IS 'internal: writes a gpu_logreg_step as bytes';
COMMENT ON FUNCTION gpu_logreg_step_accum(gpu_logreg_step, float8[], float8, float8[])
    IS 'internal: transition function of gpu_logreg_step_agg and gpu_logreg_step_array_agg';
COMMENT ON FUNCTION gpu_logreg_step_accum(gpu_logreg_step, float8[], boolean, float8[])
    IS 'internal: transition function of gpu_logreg_step_agg and gpu_logreg_step_array_agg';
COMMENT ON FUNCTION gpu_logreg_array_pass_accum(gpu_logreg_step, gpu_logreg_step, float8, float8[])
    IS 'internal: transition function of gpu_logreg_array_pass';
COMMENT ON FUNCTION gpu_glm_step_accum(gpu_logreg_step, text, text, float8[], float8, float8[])
    IS 'internal: transition function of gpu_glm_step_agg and gpu_glm_step_array_agg';
COMMENT ON FUNCTION gpu_glm_step_accum(gpu_logreg_step, text, text, float8[], boolean, float8[])
    IS 'internal: transition function of gpu_glm_step_agg and gpu_glm_step_array_agg';
COMMENT ON FUNCTION gpu_logreg_step_combine(gpu_logreg_step, gpu_logreg_step)
    IS 'internal: combine function of gpu_glm_step_agg and others';
COMMENT ON FUNCTION gpu_logreg_step_final(gpu_logreg_step) IS 'internal: final function of gpu_glm_step_agg and others';
COMMENT ON FUNCTION gpu_logreg_agg_accum(internal, float8, float8[])
    IS 'internal: transition function of gpu_logreg_agg and gpu_logreg_array_agg';
COMMENT ON FUNCTION gpu_logreg_agg_accum(internal, boolean, float8[])
    IS 'internal: transition function of gpu_logreg_agg and gpu_logreg_array_agg';
COMMENT ON FUNCTION gpu_logreg_agg_combine(internal, internal)
    IS 'internal: combine function of gpu_logreg_agg and others';
COMMENT ON FUNCTION gpu_logreg_agg_serialize(internal)
    IS 'internal: serialization function of gpu_logreg_agg and others';
COMMENT ON FUNCTION gpu_logreg_agg_deserialize(bytea, internal)
    IS 'internal: deserialization function of gpu_logreg_agg and others';
COMMENT ON FUNCTION gpu_logreg_agg_final(internal)
    IS 'internal: final function of gpu_logreg_agg and gpu_logreg_array_agg';
COMMENT ON FUNCTION gpu_logreg_rows_accum(internal, float8, float8[], boolean, float8)
    IS 'internal: transition function of gpu_logreg_rows_agg';
COMMENT ON FUNCTION gpu_logreg_rows_accum(internal, boolean, float8[], boolean, float8)
    IS 'internal: transition function of gpu_logreg_rows_agg';
COMMENT ON FUNCTION gpu_logreg_rows_final(internal) IS 'internal: final function of gpu_logreg_rows_agg';
COMMENT ON AGGREGATE gpu_logreg_rows_agg(float8, float8[], boolean, float8)
    IS 'internal: gpu_logreg over array_agg: the coefficients';
COMMENT ON AGGREGATE gpu_logreg_rows_agg(boolean, float8[], boolean, float8)
    IS 'internal: gpu_logreg over array_agg: the coefficients';
COMMENT ON AGGREGATE gpu_logreg_step_agg(float8[], float8, VARIADIC float8[])
    IS 'logistic regression: the sums of a Newton step at beta';
COMMENT ON AGGREGATE gpu_logreg_step_agg(float8[], boolean, VARIADIC float8[])
    IS 'logistic regression: the sums of a Newton step at beta';
COMMENT ON AGGREGATE gpu_logreg_step_array_agg(float8[], float8, float8[])
    IS 'logistic regression: the sums of a Newton step at beta; x as one array';
COMMENT ON AGGREGATE gpu_logreg_step_array_agg(float8[], boolean, float8[])
    IS 'logistic regression: the sums of a Newton step at beta; x as one array';
COMMENT ON AGGREGATE gpu_glm_step_agg(text, text, float8[], float8, VARIADIC float8[])
    IS 'generalised linear model: the sums of a Newton step at beta';
COMMENT ON AGGREGATE gpu_glm_step_agg(text, text, float8[], boolean, VARIADIC float8[])
    IS 'generalised linear model: the sums of a Newton step at beta';
COMMENT ON AGGREGATE gpu_glm_step_array_agg(text, text, float8[], float8, float8[])
    IS 'generalised linear model: the sums of a Newton step at beta; x as one array';
COMMENT ON AGGREGATE gpu_glm_step_array_agg(text, text, float8[], boolean, float8[])
    IS 'generalised linear model: the sums of a Newton step at beta; x as one array';
COMMENT ON AGGREGATE gpu_logreg_rollup(gpu_logreg_step)
    IS 'merges states of Newton steps, such as those of gpu_logreg_step_agg';
COMMENT ON FUNCTION gpu_request_support(internal)
    IS 'internal: the planner calls it for the cost of a row, which loads the library';
COMMENT ON FUNCTION gpu_request_accum(internal, bytea, text[], int[], "any")
    IS 'internal: transition function of gpu_request_pass';
COMMENT ON FUNCTION gpu_request_combine(internal, internal) IS 'internal: combine function of gpu_request_pass';
COMMENT ON FUNCTION gpu_request_serial(internal) IS 'internal: serialization function of gpu_request_pass';
COMMENT ON FUNCTION gpu_request_deserial(bytea, internal) IS 'internal: deserialization function of gpu_request_pass';
COMMENT ON FUNCTION gpu_request_final(internal) IS 'internal: final function of gpu_request_pass';
COMMENT ON AGGREGATE gpu_request_pass(bytea, text[], int[], VARIADIC "any")
    IS 'internal: the sums of a request over a query';
COMMENT ON FUNCTION gpu_boot_key("any") IS 'internal: the key by which a bootstrap draws for a value';
COMMENT ON FUNCTION gpu_cluster_key("any") IS 'internal: an integer that tells the cluster of a value';
COMMENT ON FUNCTION gpu_cv_fold("any", int, bigint) IS 'the fold of a row in a cross-validation, drawn from its key';
COMMENT ON FUNCTION gpu_ols_cv(text, int, text, text, bigint, boolean, text, text, float8, text, text)
    IS 'cross-validation of a linear regression over a query or kept rows';
COMMENT ON FUNCTION gpu_logreg_cv(text, int, text, text, bigint, boolean, text, text, float8, text, text)
    IS 'cross-validation of a logistic regression over a query or kept rows';
COMMENT ON FUNCTION gpu_ols_boot(text, int, text, bigint, boolean, text, text, text, float8, text, text, text)
    IS 'bootstrap of a linear regression over a query: standard errors, bias and confidence limits';
COMMENT ON FUNCTION gpu_ols_boot_replicates(text, int, text, bigint, boolean, text, text, text, text, text)
    IS 'bootstrap of a linear regression over a query: the replicates';
COMMENT ON FUNCTION gpu_ols_permute(text, int, text, bigint, boolean, text, text, text, text, text)
    IS 'permutation tests of a linear regression over a query or kept rows, by flipping the signs of residuals';
COMMENT ON FUNCTION gpu_logreg_boot(text, int, text, bigint, boolean, text, text, text, float8, text, text, text, text)
    IS 'bootstrap of a logistic regression over a query: standard errors, bias and confidence limits';
COMMENT ON FUNCTION gpu_logreg_boot_replicates(text, int, text, bigint, boolean, text, text, text, text, text, text)
    IS 'bootstrap of a logistic regression over a query: the replicates';
COMMENT ON AGGREGATE gpu_logreg_array_pass(gpu_logreg_step, float8, float8[])
    IS 'internal: a pass of gpu_logreg_fit over a remote query';
COMMENT ON FUNCTION gpu_logreg_solve(gpu_logreg_step, float8, float8)
    IS 'logistic regression: the model one Newton step further';
COMMENT ON FUNCTION gpu_glm_solve(gpu_logreg_step, float8, float8)
    IS 'generalised linear model: the model one Newton step further';
COMMENT ON FUNCTION gpu_logreg(float8[], float8[], boolean, float8)
    IS 'logistic regression over arrays: the coefficients';
COMMENT ON FUNCTION gpu_logreg(float8[], boolean[], boolean, float8)
    IS 'logistic regression over arrays: the coefficients';
COMMENT ON FUNCTION gpu_logreg_fit(text, text, boolean, float8, int, float8, text, float8, text, text, text, text,
                                   text[], boolean, text, text)
    IS 'logistic regression over a query: the model';
COMMENT ON FUNCTION gpu_logreg_fit(text, boolean, float8, int, float8, text, float8, text, text, text, text, text,
                                   text[], boolean, text, text)
    IS 'logistic regression over a query: the model';
COMMENT ON FUNCTION gpu_multinom_fit(text, text, boolean, text, text, text, float8, int, float8, text, text[], text,
                                     text)
    IS 'multinomial logistic regression over a query or kept rows: the model';
COMMENT ON FUNCTION gpu_ordinal_fit(text, text, text, text, text, int, float8, text, text)
    IS 'ordinal regression over a query or kept rows: the model';
COMMENT ON FUNCTION gpu_class_code(text[], "any") IS 'internal: the number of a response''s class';
COMMENT ON FUNCTION gpu_predict_probs(gpu_model, "any")
    IS 'probabilities of a model''s classes for a row: its features in order, or a row or jsonb object by their names';
COMMENT ON FUNCTION gpu_predict_probs(gpu_model) IS 'probabilities of the classes of a model without features';
COMMENT ON FUNCTION gpu_predict_class(gpu_model, "any")
    IS 'most probable class of a row: its features in order, or a row or jsonb object by their names';
COMMENT ON FUNCTION gpu_predict_class(gpu_model) IS 'most probable class of a model without features';
COMMENT ON FUNCTION gpu_classes(gpu_model) IS 'the classes of a model, in the order of gpu_predict_probs';
COMMENT ON FUNCTION gpu_glm_fit(text, text, text, boolean, text, text, text, text, float8, int, float8, float8, text,
                                text[], boolean, text, text, text[])
    IS 'generalised linear model over a query: the model';
COMMENT ON AGGREGATE gpu_logreg_agg(float8, VARIADIC float8[]) IS 'logistic regression: the model';
COMMENT ON AGGREGATE gpu_logreg_agg(boolean, VARIADIC float8[]) IS 'logistic regression: the model';
COMMENT ON AGGREGATE gpu_logreg_array_agg(float8, float8[]) IS 'logistic regression: the model; x as one array';
COMMENT ON AGGREGATE gpu_logreg_array_agg(boolean, float8[]) IS 'logistic regression: the model; x as one array';
COMMENT ON FUNCTION gpu_pnorm(float8, float8, float8, boolean) IS 'probability of the normal distribution';
COMMENT ON FUNCTION gpu_qnorm(float8, float8, float8, boolean) IS 'quantile of the normal distribution';
COMMENT ON FUNCTION gpu_pt(float8, float8, boolean) IS 'probability of the Student''s t distribution';
COMMENT ON FUNCTION gpu_qt(float8, float8, boolean) IS 'quantile of the Student''s t distribution';
COMMENT ON FUNCTION gpu_pchisq(float8, float8, boolean) IS 'probability of the chi-squared distribution';
COMMENT ON FUNCTION gpu_qchisq(float8, float8, boolean) IS 'quantile of the chi-squared distribution';
COMMENT ON FUNCTION gpu_pf(float8, float8, float8, boolean) IS 'probability of the F distribution';
COMMENT ON FUNCTION gpu_qf(float8, float8, float8, boolean) IS 'quantile of the F distribution';
COMMENT ON FUNCTION gpu_auc_accum(internal, float8, float8) IS 'internal: transition function of gpu_auc';
COMMENT ON FUNCTION gpu_auc_accum(internal, float8, boolean) IS 'internal: transition function of gpu_auc';
COMMENT ON FUNCTION gpu_auc_combine(internal, internal) IS 'internal: combine function of gpu_auc';
COMMENT ON FUNCTION gpu_auc_serialize(internal) IS 'internal: serialization function of gpu_auc';
COMMENT ON FUNCTION gpu_auc_deserialize(bytea, internal) IS 'internal: deserialization function of gpu_auc';
COMMENT ON FUNCTION gpu_auc_final(internal) IS 'internal: final function of gpu_auc';
COMMENT ON AGGREGATE gpu_auc(float8, float8) IS 'area under the ROC curve of scores for 0/1 labels';
COMMENT ON AGGREGATE gpu_auc(float8, boolean) IS 'area under the ROC curve of scores for 0/1 labels';
COMMENT ON FUNCTION gpu_brier_accum(float8[], float8, float8) IS 'internal: transition function of gpu_brier';
COMMENT ON FUNCTION gpu_brier_accum(float8[], float8, boolean) IS 'internal: transition function of gpu_brier';
COMMENT ON FUNCTION gpu_brier_combine(float8[], float8[]) IS 'internal: combine function of gpu_brier';
COMMENT ON FUNCTION gpu_brier_final(float8[]) IS 'internal: final function of gpu_brier';
COMMENT ON AGGREGATE gpu_brier(float8, float8)
    IS 'Brier score: mean squared difference of probabilities and 0/1 labels';
COMMENT ON AGGREGATE gpu_brier(float8, boolean)
    IS 'Brier score: mean squared difference of probabilities and 0/1 labels';
COMMENT ON AGGREGATE gpu_ks(float8, float8)
    IS 'statistic of Kolmogorov and Smirnov for scores of rows with labels 1 and 0';
COMMENT ON AGGREGATE gpu_ks(float8, boolean)
    IS 'statistic of Kolmogorov and Smirnov for scores of rows with labels 1 and 0';
COMMENT ON AGGREGATE gpu_ranking_pass(float8, float8)
    IS 'internal: hands the scores of a query to gpu_roc, gpu_calibration or gpu_lift';
COMMENT ON AGGREGATE gpu_ranking_pass(float8, boolean)
    IS 'internal: hands the scores of a query to gpu_roc, gpu_calibration or gpu_lift';
COMMENT ON FUNCTION gpu_ks_final(internal) IS 'internal: final function of gpu_ks';
COMMENT ON FUNCTION gpu_ranking_pass_final(internal) IS 'internal: final function of gpu_ranking_pass';
COMMENT ON FUNCTION gpu_logloss_accum(float8[], float8, float8) IS 'internal: transition function of gpu_logloss';
COMMENT ON FUNCTION gpu_logloss_accum(float8[], float8, boolean) IS 'internal: transition function of gpu_logloss';
COMMENT ON FUNCTION gpu_logloss_final(float8[]) IS 'internal: final function of gpu_logloss';
COMMENT ON AGGREGATE gpu_logloss(float8, float8)
    IS 'logarithmic loss: mean of -log(probability of the label) of probabilities and 0/1 labels';
COMMENT ON AGGREGATE gpu_logloss(float8, boolean)
    IS 'logarithmic loss: mean of -log(probability of the label) of probabilities and 0/1 labels';
COMMENT ON FUNCTION gpu_confusion_accum(bigint[], float8, float8, float8)
    IS 'internal: transition function of gpu_confusion_pass';
COMMENT ON FUNCTION gpu_confusion_accum(bigint[], float8, float8, boolean)
    IS 'internal: transition function of gpu_confusion_pass';
COMMENT ON FUNCTION gpu_confusion_combine(bigint[], bigint[]) IS 'internal: combine function of gpu_confusion_pass';
COMMENT ON AGGREGATE gpu_confusion_pass(float8, float8, float8) IS 'internal: counts of gpu_confusion';
COMMENT ON AGGREGATE gpu_confusion_pass(float8, float8, boolean) IS 'internal: counts of gpu_confusion';
COMMENT ON FUNCTION gpu_roc(text, boolean) IS 'points of the ROC curve of a query''s labels and scores';
COMMENT ON FUNCTION gpu_confusion(text, float8) IS 'confusion matrix of a query''s labels and scores at a threshold';
COMMENT ON FUNCTION gpu_calibration(text, int, text)
    IS 'mean probabilities and shares of ones of a query''s labels and probabilities, by bin';
COMMENT ON FUNCTION gpu_lift(text, int) IS 'lift and gain of a query''s labels and scores, by bin of scores';
COMMENT ON FUNCTION gpu_project(real[], int, bigint, float8)
    IS 'random projection of a vector, or of several, to k dimensions';
COMMENT ON FUNCTION gpu_project_sparse(bigint[], real[], int, bigint, float8, bigint)
    IS 'random projection of a sparse vector to k dimensions';
COMMENT ON FUNCTION gpu_project_bits(real[], int, bigint)
    IS 'signs of a vector''s first k coordinates after a random rotation, for the Hamming distance';
COMMENT ON FUNCTION gpu_rows_support(internal) IS 'internal: the planner calls it to check the type of ids';
COMMENT ON FUNCTION gpu_project_rows(text, int, bigint, float8)
    IS 'random projection of a query''s vectors to k dimensions';
COMMENT ON FUNCTION gpu_project_rows(text, int, int, float8)
    IS 'random projection of a query''s vectors to k dimensions';
COMMENT ON FUNCTION gpu_project_rows(text, int, anyelement, bigint, float8)
    IS 'random projection of a query''s vectors to k dimensions';
COMMENT ON FUNCTION gpu_project_rows(text, int, int, float8, anyelement)
    IS 'random projection of a query''s vectors to k dimensions';
COMMENT ON FUNCTION gpu_project_rows(text, int, bigint, float8, anyelement)
    IS 'random projection of a query''s vectors to k dimensions';
COMMENT ON FUNCTION gpu_project_pass(real[], int, bigint, float8)
    IS 'internal: a vector''s projection for gpu_project_rows';
COMMENT ON FUNCTION gpu_vector_pass(real[]) IS 'internal: a vector for gpu_project_rows';
COMMENT ON FUNCTION gpu_feature_hash(text[], int, bigint, float8) IS 'tokens hashed into a vector of k elements';
COMMENT ON FUNCTION gpu_feature_hash(jsonb, int, bigint, float8)
    IS 'features and their values hashed into a vector of k elements';
COMMENT ON FUNCTION gpu_jl_min_dim(bigint, float8) IS 'dimensions that keep all distances among n points to within eps';
COMMENT ON FUNCTION gpu_keep_accum(internal, bytea, text[], "any") IS 'internal: transition function of gpu_keep_pass';
COMMENT ON FUNCTION gpu_keep_combine(internal, internal) IS 'internal: combine function of gpu_keep_pass';
COMMENT ON FUNCTION gpu_keep_serial(internal) IS 'internal: serialization function of gpu_keep_pass';
COMMENT ON FUNCTION gpu_keep_deserial(bytea, internal) IS 'internal: deserialization function of gpu_keep_pass';
COMMENT ON FUNCTION gpu_keep_final(internal) IS 'internal: final function of gpu_keep_pass';
COMMENT ON AGGREGATE gpu_keep_pass(bytea, text[], VARIADIC "any")
    IS 'internal: the rows of a query on their way to a device service that keeps them';
COMMENT ON FUNCTION gpu_keep(text, text, boolean) IS 'keeps the rows of a query in a device service';
COMMENT ON FUNCTION gpu_kept() IS 'the sets of kept rows that the current role may use';
COMMENT ON FUNCTION gpu_kept_all() IS 'the sets of kept rows of all roles in all databases, and those being read';
COMMENT ON FUNCTION gpu_forget(text) IS 'releases rows that gpu_keep kept; false if there are none of this name';
COMMENT ON FUNCTION gpu_predict_rows(gpu_model, text, text, text) IS 'predictions of a model for kept rows';
COMMENT ON FUNCTION gpu_predict_rows(gpu_model, text, text, anyelement, text)
    IS 'predictions of a model for kept rows, with ids of any type';
COMMENT ON FUNCTION gpu_predict_rows(gpu_model, bigint, text, text, text)
    IS 'predictions of a model for the rows of a query, whose first column is the id';
COMMENT ON FUNCTION gpu_predict_rows(gpu_model, text, anyelement, text, text, bigint)
    IS 'predictions of a model for the rows of a query, with ids of any type';
COMMENT ON FUNCTION gpu_devices() IS 'the GPUs that this server can use';
COMMENT ON FUNCTION gpu_progress() IS 'progress of the fits that are running in this server''s sessions';
COMMENT ON FUNCTION gpu_last_run() IS 'what the last computation of this session did, and where';
COMMENT ON COLUMN gpu_model.method IS 'how it was fitted: "ols", "logistic" or "glm", with its penalties';
COMMENT ON COLUMN gpu_model.terms IS 'names of the terms, the intercept''s first, as "(intercept)"';
COMMENT ON COLUMN gpu_model.coef
    IS 'coefficients in the order of the terms; NULL for a term that is collinear with others';
COMMENT ON COLUMN gpu_model.vcov IS 'covariances of the coefficients, row by row';
COMMENT ON COLUMN gpu_model.n IS 'rows that the model was fitted to, or the sum of their frequencies';
COMMENT ON COLUMN gpu_model.n_skipped IS 'rows that were skipped because of a NULL';
COMMENT ON COLUMN gpu_model.rank IS 'terms with a coefficient';
COMMENT ON COLUMN gpu_model.df_residual IS 'residual degrees of freedom: rows less rank';
COMMENT ON COLUMN gpu_model.deviance IS 'deviance of the model; for a linear regression, the residual sum of squares';
COMMENT ON COLUMN gpu_model.null_deviance
    IS 'deviance of the model without features; for a linear regression, the total sum of squares';
COMMENT ON COLUMN gpu_model.iterations IS 'iterations of the fit; 1 for a linear regression';
COMMENT ON COLUMN gpu_model.converged IS 'true if the fit converged to within the tolerance';
COMMENT ON COLUMN gpu_model.separated IS 'terms without a finite estimate, because they separate the classes';
COMMENT ON COLUMN gpu_model.device IS 'where it was computed: "cpu", or which GPU';
COMMENT ON COLUMN gpu_model.log_lik IS 'logarithm of the likelihood; NULL where there is none';
COMMENT ON COLUMN gpu_model.family IS 'family of the response''s distribution, as "gaussian" or "binomial"';
COMMENT ON COLUMN gpu_model.link IS 'link of the mean and the linear predictor, as "identity" or "logit"';
COMMENT ON COLUMN gpu_model.theta IS 'theta of the negative binomial family; infinity for other families';
COMMENT ON COLUMN gpu_model.dispersion IS 'dispersion parameter, which vcov includes';
COMMENT ON COLUMN gpu_model.vcov_type IS 'kind of the covariances, as "iid", "HC1" or "CR1"';
COMMENT ON COLUMN gpu_model.df_inference
    IS 'degrees of freedom of t tests; infinity for tests by the normal distribution';
COMMENT ON COLUMN gpu_model.design
    IS 'how terms are computed from columns, for predictions; empty if each term is a column';
COMMENT ON COLUMN gpu_wild_boot.term IS 'the term whose coefficient was tested';
COMMENT ON COLUMN gpu_wild_boot.estimate IS 'estimate of the coefficient';
COMMENT ON COLUMN gpu_wild_boot.std_error IS 'standard error, robust to clusters';
COMMENT ON COLUMN gpu_wild_boot.statistic IS 't statistic of the null hypothesis';
COMMENT ON COLUMN gpu_wild_boot.p_value IS 'p-value by the bootstrap';
COMMENT ON COLUMN gpu_wild_boot.conf_low IS 'lower confidence limit; NULL where there is none';
COMMENT ON COLUMN gpu_wild_boot.conf_high IS 'upper confidence limit; NULL where there is none';
COMMENT ON COLUMN gpu_wild_boot.reps IS 'number of replicates computed';
COMMENT ON COLUMN gpu_wild_boot.clusters IS 'number of clusters';
COMMENT ON COLUMN gpu_enet_cv.lambda IS 'penalties of the path, in decreasing order';
COMMENT ON COLUMN gpu_enet_cv.mean IS 'mean error of prediction over the folds, at each lambda';
COMMENT ON COLUMN gpu_enet_cv.std_error IS 'standard error of that mean, at each lambda';
COMMENT ON COLUMN gpu_enet_cv.df IS 'number of features with a nonzero coefficient, at each lambda';
COMMENT ON COLUMN gpu_enet_cv.lambda_min IS 'lambda with the smallest mean error';
COMMENT ON COLUMN gpu_enet_cv.lambda_1se
    IS 'largest lambda whose mean error is within one standard error of the smallest';
COMMENT ON COLUMN gpu_enet_cv.nfolds IS 'number of folds that have rows';
COMMENT ON COLUMN gpu_enet_cv.model_min IS 'model at lambda_min';
COMMENT ON COLUMN gpu_enet_cv.model_1se IS 'model at lambda_1se';
