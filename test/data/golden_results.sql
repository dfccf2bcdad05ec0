-- Results computed from the values in golden_stats, golden_steps and golden_models, which were just made (golden.sql)
-- or read from the golden files (test/t/026_upgrade.pl). exact: must be the same to the last bit; numbers: to 12
-- digits, as logarithms and the like are the C library's.
CREATE TABLE golden_results (name text PRIMARY KEY, exact text, numbers float8[]);

INSERT INTO golden_results
    SELECT 'solved: ' || name, NULL, (m).coef || array(SELECT unnest((m).vcov)) || (m).deviance || (m).null_deviance
    FROM (SELECT name, gpu_ols_solve(s) AS m FROM golden_stats WHERE name NOT LIKE '%left out' AND name <> 'one row'
        AND name <> 'version 1, no rows') t;
INSERT INTO golden_results
    SELECT 'one step on: ' || name, NULL, (m).coef || array(SELECT unnest((m).vcov)) || (m).deviance
    FROM (SELECT name, gpu_glm_solve(s) AS m FROM golden_steps WHERE name <> 'all left out') t;

INSERT INTO golden_results
    SELECT 'merged: states', gpu_ols_rollup(s ORDER BY name COLLATE "C")::text, NULL::float8[]
    FROM golden_stats WHERE name LIKE 'part%' UNION ALL
    SELECT 'merged: weighted with plain', gpu_ols_rollup(s ORDER BY name COLLATE "C")::text, NULL::float8[]
    FROM golden_stats WHERE name IN ('plain', 'weighted', 'part 1') UNION ALL
    SELECT 'merged: versions 1 and 2', gpu_ols_rollup(s ORDER BY name COLLATE "C")::text, NULL::float8[]
    FROM golden_stats WHERE name IN ('version 1', 'version 1, no rows') UNION ALL
    SELECT 'merged: steps', gpu_logreg_rollup(s ORDER BY name COLLATE "C")::text, NULL::float8[]
    FROM golden_steps WHERE name LIKE 'part%';
INSERT INTO golden_results
    SELECT 'grown: ' || name, gpu_ols_stats_accum(s, 1.5, 2, 3)::text, NULL::float8[] FROM golden_stats
    WHERE name IN ('plain', 'part 1', 'weighted', 'all left out');

INSERT INTO golden_results
    SELECT 'tidy: ' || name, array_agg(term)::text, array_agg(number)
    FROM golden_models, gpu_tidy(m) WITH ORDINALITY t(term, b, s, z, p, l, u, k),
        unnest(ARRAY[b, s, z, p, l, u]) WITH ORDINALITY n(number, j) GROUP BY name;
INSERT INTO golden_results
    SELECT 'glance: ' || name, concat_ws(' ', n, n_skipped, rank, df_residual, iterations, converged, family, link, vcov),
        ARRAY[r_squared, adj_r_squared, sigma, f_statistic, f_p_value, deviance, null_deviance, log_lik, aic, bic,
        pseudo_r_squared, dispersion]
    FROM golden_models, gpu_glance(m);
-- predictions by name, for which an object has the model's own columns and no others
INSERT INTO golden_results
    SELECT 'predicted: ' || name, NULL, array_agg(gpu_predict(m, o) ORDER BY i)
    FROM golden_models, (VALUES (1, 0, 1.5, 'a'), (2, 3, -1, 'b'), (40, 6, 0.25, 'c')) r(i, a, b, kind),
        jsonb_build_object('a', a, 'b', b, 'c', a - b, 'i', i, 'kind', kind, 'größe, "in\m²', a, '{x}', b, 'price', a,
            'x1', a, 'x2', b, 'x3', 1, 'g', 2, 'share', 0) everything,
        LATERAL (SELECT jsonb_object_agg(key, value) AS o FROM jsonb_each(everything)
            WHERE key = ANY ((m).terms) OR strpos((m).design, format('"%s"', key)) > 0
                --                 a model of 0.1.0 does not record its offsets
                OR (key = 'share' AND strpos((m).design, ' offsets ') > 0)) own
    GROUP BY name;
