-- Sums that exceed float8's range: an answer, or an error that names the column at fault, for any kind of the pass's
-- matrix.
\set SHOW_CONTEXT never
CREATE FUNCTION fault_of(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	RETURN 'answers';
EXCEPTION WHEN numeric_value_out_of_range THEN
	RETURN coalesce(substring(SQLERRM FROM 'column "(.*)" are out of range'), SQLERRM);
END $$;
CREATE TABLE at_fault AS SELECT i, 1e300 * (i % 2) a, 1e300 * (1 + i % 2) a1, i % 2 = 0 b, i::int8 * 4000000000000 e,
	1e200 * (i % 7) big, chr(65 + i % 3) f, 1 + i % 3 w, i % 5 y, i % 3 = 0 c, 1e200 * (1 + i % 2) heavy
	FROM generate_series(1, 5000) i;
SET client_min_messages = error;
-- a response too large for its mean's weights, as the last column or the first
SELECT call, fault_of(format('SELECT gpu_glm_fit(%s)', call)) AS fault FROM (VALUES
	($$'SELECT 1e300*(i%2) AS a, i%2=0 AS b, i::int8*4000000000000 AS e, (i%2=0) AS g FROM generate_series(1,5000) i', 'negative binomial'$$),
	($$'SELECT a, b, e FROM at_fault', 'negative binomial', theta => 2$$),
	($$'SELECT a, b, e FROM at_fault', 'poisson'$$),
	($$'SELECT a, b, e FROM at_fault', 'poisson', vcov => 'HC3'$$),
	($$'SELECT a, b, e, w FROM at_fault', 'negative binomial', weights => 'w'$$),
	($$'SELECT a, b, e, w FROM at_fault', 'negative binomial', frequencies => 'w'$$),
	($$'SELECT a, b, e, f FROM at_fault', 'negative binomial', formula => 'a ~ b + e + f'$$)) v (call);
-- a feature that is too large
SELECT call, fault_of(format('SELECT gpu_glm_fit(%s)', call)) AS fault FROM (VALUES
	($$'SELECT y, b, e, big FROM at_fault', 'poisson'$$),
	($$'SELECT y, big, e FROM at_fault', 'negative binomial', intercept => false$$),
	($$'SELECT y + 1, b, e, big FROM at_fault', 'gamma'$$),
	($$'SELECT c, b, e, big FROM at_fault', 'binomial', 'cloglog'$$),
	($$'SELECT c, b, e, big, w FROM at_fault', 'binomial', 'probit', offsets => 'w'$$),
	($$'SELECT y, b, e, f, big FROM at_fault', 'poisson', formula => 'y ~ b + f + big'$$)) v (call);
SELECT fault_of($$SELECT gpu_logreg_fit('SELECT c, b, e, big FROM at_fault')$$) AS logreg,
	fault_of($$SELECT gpu_logreg_fit('SELECT c, b, e, big FROM at_fault', solver => 'lbfgs')$$) AS lbfgs,
	fault_of($$SELECT gpu_ols_fit('SELECT y, b, e, big FROM at_fault')$$) AS ols,
	fault_of($$SELECT gpu_ols_fit('SELECT y, b, e, big FROM at_fault', vcov => 'HC3')$$) AS hc3,
	fault_of($$SELECT gpu_ols_fit('SELECT a, b, e FROM at_fault')$$) AS response,
	fault_of($$SELECT gpu_ols_fit('SELECT y, e, heavy, big FROM at_fault', weights => 'heavy')$$) AS weighted,
	fault_of($$SELECT * FROM gpu_vif((SELECT gpu_ols_stats_agg(y::float8, b::int::float8, big) FROM at_fault))$$) AS vif;
-- columns that overflow only in some fits: an answer, or the response is named
SET client_min_messages = error;
SELECT call, fault_of(format('SELECT gpu_glm_fit(%s)', call)) IN ('answers', 'a', 'a1') AS fault FROM (VALUES
	($$'SELECT a, b, e FROM at_fault', 'negative binomial', intercept => false$$),
	($$'SELECT a, b, e, w FROM at_fault', 'negative binomial', offsets => 'w'$$),
	($$'SELECT a1, b, e FROM at_fault', 'gamma'$$),
	($$'SELECT f, b, e, a FROM at_fault', 'negative binomial', formula => 'a ~ f + b:e'$$),
	($$'SELECT a1, b, e FROM at_fault', 'gaussian', 'log'$$)) v (call);
RESET client_min_messages;
DROP FUNCTION fault_of;
DROP TABLE at_fault;
