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

-- Lists the sets of all databases and roles; for superusers, unless they grant it to others
CREATE FUNCTION gpu_kept_all()
    RETURNS TABLE (database text, owner text, name text, state text, query text, rows bigint, bytes bigint,
                   kept_at timestamptz, hits bigint, device text)
    AS 'MODULE_PATHNAME', 'gr_show_kept_all' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 10;
REVOKE EXECUTE ON FUNCTION gpu_kept_all() FROM PUBLIC;
COMMENT ON FUNCTION gpu_kept_all() IS 'the sets of kept rows of all roles in all databases, and those being read';

--
-- gpu_tidy: further columns, df and class
--

-- The function's result is changed in the catalogue, as PostgreSQL's own extensions do where CREATE OR REPLACE cannot:
-- a function that is dropped would take the views that call it along, and the privileges that were granted on it.
UPDATE pg_catalog.pg_proc
SET proallargtypes = proallargtypes OPERATOR(pg_catalog.||) 'pg_catalog.float8'::pg_catalog.regtype::pg_catalog.oid
        OPERATOR(pg_catalog.||) 'pg_catalog.text'::pg_catalog.regtype::pg_catalog.oid,
    proargmodes = proargmodes OPERATOR(pg_catalog.||) 't'::pg_catalog."char"
        OPERATOR(pg_catalog.||) 't'::pg_catalog."char",
    proargnames = proargnames OPERATOR(pg_catalog.||) 'df'::text OPERATOR(pg_catalog.||) 'class'::text
WHERE oid OPERATOR(pg_catalog.=) 'gpu_tidy(gpu_model, float8, boolean)'::pg_catalog.regprocedure;

--
-- gpu_ols_fit, gpu_glm_fit: a further argument, absorb
--

-- Changed in the catalogue, too, so that views that call the functions stay: other functions have the same arguments.
-- The first two of gpu_ols_fit lose names and defaults: another signature has them, with the formula as the second.
CREATE FUNCTION gpu_ols_fit_with_absorb(text, boolean, formula text DEFAULT NULL, weights text DEFAULT NULL,
                                        frequencies text DEFAULT NULL, vcov text DEFAULT 'iid',
                                        clusters text[] DEFAULT NULL, kept text DEFAULT NULL, rows text DEFAULT NULL,
                                        absorb text[] DEFAULT NULL)
    RETURNS gpu_model
    AS 'MODULE_PATHNAME', 'gr_ols_fit' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;
CREATE FUNCTION gpu_glm_fit_with_absorb(query text DEFAULT NULL, family text DEFAULT 'gaussian',
                                        link text DEFAULT NULL, intercept boolean DEFAULT true,
                                        formula text DEFAULT NULL, weights text DEFAULT NULL,
                                        frequencies text DEFAULT NULL, offsets text DEFAULT NULL, l2 float8 DEFAULT 0,
                                        max_iter int DEFAULT 25, tol float8 DEFAULT 1e-10, theta float8 DEFAULT NULL,
                                        vcov text DEFAULT 'iid', clusters text[] DEFAULT NULL,
                                        firth boolean DEFAULT false, kept text DEFAULT NULL, rows text DEFAULT NULL,
                                        absorb text[] DEFAULT NULL)
    RETURNS gpu_model
    AS 'MODULE_PATHNAME', 'gr_glm_fit' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;
UPDATE pg_catalog.pg_proc old
SET pronargs = new.pronargs, pronargdefaults = new.pronargdefaults, proargtypes = new.proargtypes,
    proargnames = new.proargnames, proargdefaults = new.proargdefaults
FROM pg_catalog.pg_proc new
WHERE (old.oid OPERATOR(pg_catalog.=)
       'gpu_ols_fit(text, boolean, text, text, text, text, text[], text, text)'::pg_catalog.regprocedure
       AND new.oid OPERATOR(pg_catalog.=)
       'gpu_ols_fit_with_absorb(text, boolean, text, text, text, text, text[], text, text, text[])'
       ::pg_catalog.regprocedure)
   OR (old.oid OPERATOR(pg_catalog.=)
       'gpu_glm_fit(text, text, text, boolean, text, text, text, text, float8, int, float8, float8, text, '
       'text[], boolean, text, text)'
       ::pg_catalog.regprocedure
       AND new.oid OPERATOR(pg_catalog.=)
       'gpu_glm_fit_with_absorb(text, text, text, boolean, text, text, text, text, float8, int, float8, float8, text, '
       'text[], boolean, text, text, text[])'
       ::pg_catalog.regprocedure);
DROP FUNCTION gpu_glm_fit_with_absorb(text, text, text, boolean, text, text, text, text, float8, int, float8, float8,
                                      text, text[], boolean, text, text, text[]);
CREATE FUNCTION gpu_effects(query text, formula text DEFAULT NULL, absorb text[] DEFAULT NULL,
                            weights text DEFAULT NULL, frequencies text DEFAULT NULL)
    RETURNS TABLE (effect text, level text, estimate float8, n bigint)
    AS 'MODULE_PATHNAME', 'gr_effects' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION gpu_effects(text, text, text[], text, text)
    IS 'estimates of the absorbed effects of a linear regression over a query';
DROP FUNCTION gpu_ols_fit_with_absorb(text, boolean, text, text, text, text, text[], text, text, text[]);

--
-- Formulas with functions
--

CREATE FUNCTION gpu_ols_fit(query text DEFAULT NULL, formula text DEFAULT NULL, intercept boolean DEFAULT true,
                            weights text DEFAULT NULL, frequencies text DEFAULT NULL, vcov text DEFAULT 'iid',
                            clusters text[] DEFAULT NULL, kept text DEFAULT NULL, rows text DEFAULT NULL,
                            absorb text[] DEFAULT NULL)
    RETURNS gpu_model
    AS 'MODULE_PATHNAME', 'gr_ols_fit_formula' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION gpu_ols_fit(text, text, boolean, text, text, text, text[], text, text, text[])
    IS 'linear regression over a query: the model';
CREATE FUNCTION gpu_logreg_fit(query text DEFAULT NULL, formula text DEFAULT NULL, intercept boolean DEFAULT true,
                               l2 float8 DEFAULT 0, max_iter int DEFAULT 25, tol float8 DEFAULT 1e-10,
                               solver text DEFAULT 'newton', learning_rate float8 DEFAULT NULL,
                               weights text DEFAULT NULL, frequencies text DEFAULT NULL, offsets text DEFAULT NULL,
                               vcov text DEFAULT 'iid', clusters text[] DEFAULT NULL,
                               firth boolean DEFAULT false, kept text DEFAULT NULL, rows text DEFAULT NULL)
    RETURNS gpu_model
    AS 'MODULE_PATHNAME', 'gr_logreg_fit_formula' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION gpu_logreg_fit(text, text, boolean, float8, int, float8, text, float8, text, text, text, text,
                                   text[], boolean, text, text)
    IS 'logistic regression over a query: the model';

-- The function of 0.1.0 stays, as views may call it, but its first two arguments lose names and defaults. Another
-- function lends the defaults of the others: an expression cannot be written into the catalogue as text.
CREATE FUNCTION gpu_lends_defaults(text, boolean, float8 DEFAULT 0, int DEFAULT 25, float8 DEFAULT 1e-10,
                                   text DEFAULT 'newton', float8 DEFAULT NULL, text DEFAULT NULL, text DEFAULT NULL,
                                   text DEFAULT NULL, text DEFAULT NULL, text DEFAULT 'iid', text[] DEFAULT NULL,
                                   boolean DEFAULT false, text DEFAULT NULL, text DEFAULT NULL)
    RETURNS boolean LANGUAGE sql AS 'SELECT true';
UPDATE pg_catalog.pg_proc AS fit SET pronargdefaults = lender.pronargdefaults, proargdefaults = lender.proargdefaults,
    proargnames = '{"","",l2,max_iter,tol,solver,learning_rate,weights,frequencies,offsets,formula,vcov,clusters,firth,
                    kept,rows}'
FROM pg_catalog.pg_proc AS lender
WHERE fit.oid OPERATOR(pg_catalog.=)
        'gpu_logreg_fit(text, boolean, float8, int, float8, text, float8, text, text, text, text, text, text[], boolean,
                        text, text)'::pg_catalog.regprocedure
    AND lender.oid OPERATOR(pg_catalog.=)
        'gpu_lends_defaults(text, boolean, float8, int, float8, text, float8, text, text, text, text, text, text[],
                            boolean, text, text)'::pg_catalog.regprocedure;
DROP FUNCTION gpu_lends_defaults(text, boolean, float8, int, float8, text, float8, text, text, text, text, text, text[],
                                 boolean, text, text);

CREATE FUNCTION gpu_design_number(design text, VARIADIC "any") RETURNS float8
    AS 'MODULE_PATHNAME', 'gr_design_number' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION gpu_design_number(text, "any")
    IS 'internal: a number that an expression of a formula makes of columns';

--
-- Clusters
--

CREATE FUNCTION gpu_cluster_key("any") RETURNS float8
    AS 'MODULE_PATHNAME', 'gr_cluster_key' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION gpu_cluster_key("any") IS 'internal: an integer that tells the cluster of a value';

--
-- Requests: one aggregate in the place of three that were for the extension's own queries
--

DROP AGGREGATE gpu_logreg_pass(gpu_logreg_step, text[], int[], VARIADIC "any");
DROP FUNCTION gpu_logreg_pass_accum(gpu_logreg_step, gpu_logreg_step, text[], int[], "any");
DROP AGGREGATE gpu_scores_pass(gpu_logreg_step, text[], int[], VARIADIC "any");
DROP FUNCTION gpu_scores_accum(internal, gpu_logreg_step, text[], int[], "any");
DROP FUNCTION gpu_scores_combine(internal, internal);
DROP FUNCTION gpu_scores_serial(internal);
DROP FUNCTION gpu_scores_deserial(bytea, internal);
DROP FUNCTION gpu_scores_final(internal);
DROP AGGREGATE gpu_boot_pass(gpu_logreg_step, bigint[], float8[], text[], int[], VARIADIC "any");
DROP FUNCTION gpu_boot_accum(internal, gpu_logreg_step, bigint[], float8[], text[], int[], "any");
DROP FUNCTION gpu_boot_combine(internal, internal);
DROP FUNCTION gpu_boot_serial(internal);
DROP FUNCTION gpu_boot_deserial(bytea, internal);
DROP FUNCTION gpu_boot_final(internal);

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

--
-- Functions of a boolean have the C symbols of those of a number, without the suffix _bool
--

UPDATE pg_catalog.pg_proc
SET prosrc = pg_catalog.left(prosrc, -5)
WHERE oid OPERATOR(pg_catalog.=) ANY (ARRAY[
    'gpu_ols_stats_accum(gpu_ols_stats, boolean, float8[])',
    'gpu_wls_stats_accum(gpu_ols_stats, float8, boolean, float8[])',
    'gpu_logreg_step_accum(gpu_logreg_step, float8[], boolean, float8[])',
    'gpu_glm_step_accum(gpu_logreg_step, text, text, float8[], boolean, float8[])',
    'gpu_logreg(float8[], boolean[], boolean, float8)', 'gpu_logreg_agg_accum(internal, boolean, float8[])',
    'gpu_logreg_rows_accum(internal, boolean, float8[], boolean, float8)', 'gpu_auc_accum(internal, float8, boolean)',
    'gpu_brier_accum(float8[], float8, boolean)']::pg_catalog.regprocedure[]::pg_catalog.oid[]);

--
-- The planner knows what a prediction costs
--

CREATE FUNCTION gpu_predict_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_predict_support' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
REVOKE EXECUTE ON FUNCTION gpu_predict_support(internal) FROM PUBLIC;
ALTER FUNCTION gpu_predict(gpu_model, VARIADIC "any") SUPPORT gpu_predict_support;
COMMENT ON FUNCTION gpu_predict_support(internal) IS 'internal: the planner calls it for the cost of gpu_predict';

--
-- Predictions for a row with options; the levels of a model
--

-- Predicts for a row or a jsonb object by name. A VARIADIC function such as gpu_predict takes no named options.
CREATE FUNCTION gpu_predict_row(model gpu_model, x "any", type text DEFAULT 'response',
                                new_levels text DEFAULT 'error')
    RETURNS float8
    AS 'MODULE_PATHNAME', 'gr_predict_one' LANGUAGE C IMMUTABLE PARALLEL SAFE
    SUPPORT gpu_predict_support;

-- base: the level that the terms of the factor's other levels are compared with
CREATE FUNCTION gpu_levels(model gpu_model) RETURNS TABLE (factor text, level text, "position" int, base boolean)
    AS 'MODULE_PATHNAME', 'gr_levels' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 20;
COMMENT ON FUNCTION gpu_predict_row(gpu_model, "any", text, text)
    IS 'prediction of a model for a row or jsonb object by name, with options';
COMMENT ON FUNCTION gpu_levels(gpu_model) IS 'the levels of a model''s factors, in their order';

-- The planner calls it for functions that return ids of any type. It needs no EXECUTE right.
CREATE FUNCTION gpu_rows_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'gr_rows_support' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
REVOKE EXECUTE ON FUNCTION gpu_rows_support(internal) FROM PUBLIC;
COMMENT ON FUNCTION gpu_rows_support(internal) IS 'internal: the planner calls it to check the type of ids';
ALTER FUNCTION gpu_project_rows(text, int, bigint, float8, anyelement) SUPPORT gpu_rows_support;
ALTER FUNCTION gpu_project_rows(text, int, int, float8, anyelement) SUPPORT gpu_rows_support;
ALTER FUNCTION gpu_project_rows(text, int, anyelement, bigint, float8) SUPPORT gpu_rows_support;
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
COMMENT ON FUNCTION gpu_predict_rows(gpu_model, text, text, anyelement, text)
    IS 'predictions of a model for kept rows, with ids of any type';
COMMENT ON FUNCTION gpu_predict_rows(gpu_model, bigint, text, text, text)
    IS 'predictions of a model for the rows of a query, whose first column is the id';
COMMENT ON FUNCTION gpu_predict_rows(gpu_model, text, anyelement, text, text, bigint)
    IS 'predictions of a model for the rows of a query, with ids of any type';
-- Linear mixed models
--

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

--
-- Classes
--

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

--
-- Comments in plainer words
--

COMMENT ON FUNCTION gpu_enet_fit(text, float8, float8, int, text, text, float8[], "any", boolean, boolean, text, text,
                                 text, text, text, text, int, float8, float8[])
    IS 'elastic net over a query or kept rows, at a given penalty or the one that cross-validation chooses: the model';
COMMENT ON FUNCTION gpu_enet_fold(int, "any")
    IS 'the fold of a row (from 0), drawn from its values as gpu_enet_cv draws folds';
COMMENT ON FUNCTION gpu_with_terms(gpu_model, text[]) IS 'the model with its terms renamed';
COMMENT ON FUNCTION gpu_anova(gpu_model, gpu_model)
    IS 'test of two nested models: whether the additional terms improve the fit';
COMMENT ON FUNCTION gpu_leverage(gpu_model, "any") IS 'leverage of a row with these values';
COMMENT ON FUNCTION gpu_leverage(gpu_model) IS 'leverage of a row in a model without features';
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
COMMENT ON FUNCTION gpu_cv_fold("any", int, bigint) IS 'the fold of a row in a cross-validation, drawn from its key';
COMMENT ON AGGREGATE gpu_auc(float8, float8) IS 'area under the ROC curve of scores for 0/1 labels';
COMMENT ON AGGREGATE gpu_auc(float8, boolean) IS 'area under the ROC curve of scores for 0/1 labels';
COMMENT ON AGGREGATE gpu_brier(float8, float8)
    IS 'Brier score: mean squared difference of probabilities and 0/1 labels';
COMMENT ON AGGREGATE gpu_brier(float8, boolean)
    IS 'Brier score: mean squared difference of probabilities and 0/1 labels';
COMMENT ON FUNCTION gpu_kept() IS 'the sets of kept rows that the current role may use';
COMMENT ON FUNCTION gpu_forget(text) IS 'releases rows that gpu_keep kept; false if there are none of this name';
COMMENT ON FUNCTION gpu_progress() IS 'progress of the fits that are running in this server''s sessions';
COMMENT ON COLUMN gpu_model.coef
    IS 'coefficients in the order of the terms; NULL for a term that is collinear with others';
COMMENT ON COLUMN gpu_model.n_skipped IS 'rows that were skipped because of a NULL';
COMMENT ON COLUMN gpu_model.deviance IS 'deviance of the model; for a linear regression, the residual sum of squares';
COMMENT ON COLUMN gpu_model.null_deviance
    IS 'deviance of the model without features; for a linear regression, the total sum of squares';
COMMENT ON COLUMN gpu_model.iterations IS 'iterations of the fit; 1 for a linear regression';
COMMENT ON COLUMN gpu_model.converged IS 'true if the fit converged to within the tolerance';
COMMENT ON COLUMN gpu_model.separated IS 'terms without a finite estimate, because they separate the classes';
COMMENT ON COLUMN gpu_model.theta IS 'theta of the negative binomial family; infinity for other families';
COMMENT ON COLUMN gpu_model.dispersion IS 'dispersion parameter, which vcov includes';
COMMENT ON COLUMN gpu_model.df_inference
    IS 'degrees of freedom of t tests; infinity for tests by the normal distribution';
COMMENT ON COLUMN gpu_model.design
    IS 'how terms are computed from columns, for predictions; empty if each term is a column';
COMMENT ON COLUMN gpu_wild_boot.reps IS 'number of replicates computed';
COMMENT ON COLUMN gpu_wild_boot.clusters IS 'number of clusters';
COMMENT ON COLUMN gpu_enet_cv.lambda IS 'penalties of the path, in decreasing order';
COMMENT ON COLUMN gpu_enet_cv.df IS 'number of features with a nonzero coefficient, at each lambda';
COMMENT ON COLUMN gpu_enet_cv.lambda_min IS 'lambda with the smallest mean error';
COMMENT ON COLUMN gpu_enet_cv.lambda_1se
    IS 'largest lambda whose mean error is within one standard error of the smallest';
COMMENT ON COLUMN gpu_enet_cv.nfolds IS 'number of folds that have rows';

--
-- Curves and losses of scores
--

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

--
-- Fitted values and residuals
--

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
COMMENT ON FUNCTION gpu_augment(gpu_model, text, text, text, text, text)
    IS 'fitted values, residuals and measures of influence of a query''s rows';
COMMENT ON FUNCTION gpu_augment(gpu_model, text, text, anyelement, text, text, text)
    IS 'fitted values, residuals and measures of influence of a query''s rows';

--
-- Contrasts and means of levels
--

CREATE FUNCTION gpu_contrast(model gpu_model, weights jsonb, conf_level float8 DEFAULT 0.95)
    RETURNS TABLE (estimate float8, std_error float8, statistic float8, df float8, p_value float8,
                   conf_low float8, conf_high float8)
    AS 'MODULE_PATHNAME', 'gr_contrast' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100 ROWS 1;
CREATE FUNCTION gpu_means(model gpu_model, factor text, pairwise boolean DEFAULT false, adjust text DEFAULT NULL,
                          at jsonb DEFAULT NULL, type text DEFAULT 'link', conf_level float8 DEFAULT 0.95)
    RETURNS TABLE (level text, estimate float8, std_error float8, statistic float8, df float8, p_value float8,
                   conf_low float8, conf_high float8)
    AS 'MODULE_PATHNAME', 'gr_means' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000 ROWS 10;
COMMENT ON FUNCTION gpu_contrast(gpu_model, jsonb, float8)
    IS 'a linear combination of a model''s coefficients, with its test';
COMMENT ON FUNCTION gpu_means(gpu_model, text, boolean, text, jsonb, text, float8)
    IS 'means of a factor''s levels that a model predicts, or their differences';

--
-- Tests of a model's terms
--

CREATE FUNCTION gpu_anova(model gpu_model)
    RETURNS TABLE (term text, statistic float8, df1 int, df2 float8, p_value float8, test text)
    AS 'MODULE_PATHNAME', 'gr_anova_model' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100 ROWS 10;
COMMENT ON FUNCTION gpu_anova(gpu_model) IS 'tests of type II of a model''s terms by its covariances';
CREATE FUNCTION gpu_drop1(model gpu_model)
    RETURNS TABLE (term text, df int, sum_sq float8, rss float8, aic float8, statistic float8, p_value float8)
    AS 'MODULE_PATHNAME', 'gr_drop1' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000 ROWS 10;
CREATE FUNCTION gpu_step(model gpu_model, criterion text DEFAULT 'aic', direction text DEFAULT 'backward')
    RETURNS TABLE (step int, change text, terms text, df_residual bigint, rss float8, criterion_value float8)
    AS 'MODULE_PATHNAME', 'gr_step_model' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10000 ROWS 10;
COMMENT ON FUNCTION gpu_drop1(gpu_model)
    IS 'a linear model without each of its terms: sums of squares, AIC and F tests';
COMMENT ON FUNCTION gpu_step(gpu_model, text, text) IS 'stepwise selection of a linear model''s terms by AIC or BIC';
CREATE FUNCTION gpu_overdispersion(model gpu_model, query text, response text DEFAULT NULL,
                                   weights text DEFAULT NULL, offsets text DEFAULT NULL)
    RETURNS TABLE (statistic float8, df bigint, ratio float8, p_value float8)
    AS 'MODULE_PATHNAME', 'gr_overdispersion' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000 ROWS 1;
COMMENT ON FUNCTION gpu_overdispersion(gpu_model, text, text, text, text)
    IS 'test whether responses vary more than a model''s family lets them';
