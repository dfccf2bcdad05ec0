-- The statements whose instructions script/perf counts: one per line, after its name. The table perf has 20,000 rows.
ols_fit: SELECT (gpu_ols_fit('SELECT y, x1, x2, x3, x4, x5, x6, x7, x8 FROM perf')).coef;
ols_agg: SELECT (gpu_ols_agg(y, x1, x2, x3, x4, x5, x6, x7, x8)).coef FROM perf;
ols_agg_groups: SELECT sum((m).coef[2]) FROM (SELECT gpu_ols_agg(y, x1, x2, x3) AS m FROM perf GROUP BY firm) s;
ols_arrays: SELECT gpu_ols(array_agg(ARRAY[x1, x2, x3]), array_agg(y)) FROM perf;
ols_hc3: SELECT (gpu_ols_fit('SELECT y, x1, x2, x3, x4 FROM perf', vcov => 'HC3')).vcov;
ols_clusters: SELECT (gpu_ols_fit('SELECT y, x1, x2, x3, x4, firm FROM perf', vcov => 'CR1', clusters => '{firm}')).vcov;
ols_formula: SELECT (gpu_ols_fit('SELECT y, x1, x2, city FROM perf', formula => 'y ~ x1 * x2 + city')).coef;
logreg_fit: SELECT (gpu_logreg_fit('SELECT y > 3, x1, x2, x3, x4, x5, x6, x7, x8 FROM perf')).coef;
poisson_fit: SELECT (gpu_glm_fit('SELECT n, x1, x2, x3, x4 FROM perf', 'poisson')).coef;
negbin_fit: SELECT (gpu_glm_fit('SELECT n, x1, x2, x3, x4 FROM perf', 'negative binomial')).theta;
cloglog_fit: SELECT (gpu_glm_fit('SELECT y > 3, x1, x2, x3, x4 FROM perf', 'binomial', 'cloglog')).coef;
enet_fit: SELECT count(*) FROM gpu_enet_fit('SELECT y, x1, x2, x3, x4, x5, x6, x7, x8 FROM perf');
predict: SELECT sum(gpu_predict(m, x1, x2)) FROM perf, (SELECT gpu_ols_agg(y, x1, x2) AS m FROM perf) s;
project: SELECT sum((gpu_project(ARRAY[x1, x2, x3, x4, x5, x6, x7, x8]::real[], 16))[1]) FROM perf;
