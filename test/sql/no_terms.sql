-- Models whose terms are all aliased: NULL for each term in a fit, a bootstrap and a test, and never a crash.
-- test/t/034_no_terms.pl has kept rows.
\set SHOW_CONTEXT never
CREATE TABLE no_terms AS SELECT i, sin(i) y, i % 3 = 0 won, 0 x, 0 z, i % 5 c, 1 + i % 2 w, (i % 2 = 0)::int q, -(i % 2) r
	FROM generate_series(1, 60) i;
CREATE VIEW no_terms_models AS SELECT * FROM (VALUES ('y ~ 0 + x'), ('y ~ 0 + x + z'), ('y ~ 0 + x:q + z:r')) v (formula);
-- every kind of limits, rows and clusters, with and without weights, both steps of a logistic replicate
SELECT name, kind, options, count(*) AS terms, count(estimate) + count(std_error) + count(bias) + count(conf_low) +
	count(conf_high) AS numbers
FROM (VALUES ('ols', 'y'), ('logreg', 'won')) f (name, response),
	unnest(ARRAY['percentile', 'basic', 'normal', 'bca']) kind,
	unnest(ARRAY['key => ''i''', 'clusters => ''c''', 'key => ''i'', weights => ''w''']) options,
	LATERAL (SELECT CASE name WHEN 'ols' THEN '' ELSE ', method => ''newton''' END) m (method),
	no_terms_models,
	LATERAL (SELECT x.* FROM xmltable('/table/row' PASSING query_to_xml(format(
		'SELECT * FROM gpu_%s_boot(''SELECT * FROM no_terms'', 20, formula => %L, kind => %L, %s)', name,
		replace(formula, 'y', response), kind, options || method), false, false, '')
		COLUMNS term text, estimate float8, std_error float8, bias float8, conf_low float8, conf_high float8) x) b
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
SELECT replicate, term, estimate
	FROM gpu_ols_boot_replicates('SELECT * FROM no_terms', 2, key => 'i', formula => 'y ~ 0 + x + z');
SELECT replicate, term, estimate
	FROM gpu_logreg_boot_replicates('SELECT * FROM no_terms', 2, key => 'i', formula => 'won ~ 0 + x + z');
SELECT * FROM gpu_ols_permute('SELECT * FROM no_terms', 9, key => 'i', formula => 'y ~ 0 + x + z');
SELECT * FROM gpu_ols_permute('SELECT * FROM no_terms', 9, clusters => 'c', formula => 'y ~ 0 + x');
-- one term of several
SELECT term, estimate IS NULL AS aliased, std_error IS NULL AND conf_low IS NULL AS no_limits
	FROM gpu_ols_boot('SELECT * FROM no_terms', 50, key => 'i', formula => 'y ~ x + i + z', kind => 'bca', conf_level => 0.5);
-- fits of every family and covariance: NULL coefficients, rank 0, the null model's deviance
SELECT family, vcov, (m).rank, array_remove((m).coef, NULL) = '{}' AS none, abs((m).deviance / (m).null_deviance - 1) < 1e-13 AS null_model,
	(m).converged
FROM unnest(ARRAY['gaussian', 'binomial', 'poisson', 'gamma']) family, unnest(ARRAY['iid', 'HC0', 'HC3']) vcov,
	LATERAL (SELECT gpu_glm_fit('SELECT CASE ' || quote_literal(family) || ' WHEN ''binomial'' THEN won::int ELSE i % 4 + 1 END y,
		x, z FROM no_terms', family, formula => 'y ~ 0 + x + z', vcov => vcov) m) f ORDER BY 1, 2;
SELECT (gpu_ols_fit('SELECT y, x, c FROM no_terms', formula => 'y ~ 0 + x', clusters => '{c}', vcov => vcov)).vcov
	FROM unnest(ARRAY['CR0', 'CR1', 'CR2']) vcov;
-- no term at all is an error
SELECT gpu_ols_fit('SELECT y, x FROM no_terms', formula => 'y ~ 0');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_ols_boot('SELECT y, i FROM no_terms', key => 'i', formula => 'y ~ 0');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_ols_permute('SELECT y, i FROM no_terms', key => 'i', intercept => false);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM gpu_logreg_boot('SELECT won, i FROM no_terms', key => 'i', intercept => false);
\echo :LAST_ERROR_SQLSTATE
-- functions of the fitted model
CREATE TABLE no_terms_model AS SELECT gpu_ols_fit('SELECT y, x, z FROM no_terms', formula => 'y ~ 0 + x + z') m;
SELECT gpu_predict(m, '{1,2}'::float8[]) AS zero, gpu_leverage(m, '{1,2}'::float8[]) AS leverage FROM no_terms_model;
SELECT term, estimate, std_error, p_value FROM no_terms_model, gpu_tidy(m);
SELECT (gpu_predict_interval(m, 'confidence', 0.95, '{1,2}'::float8[])).* FROM no_terms_model;
SELECT (gpu_wald(m, '{x}')).* FROM no_terms_model;
SELECT gpu_summary(m) ~ 'x +NA' AS summary FROM no_terms_model;
DROP VIEW no_terms_models;
DROP TABLE no_terms, no_terms_model;
