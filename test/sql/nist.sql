-- NIST's eleven reference sets, each in three forms: arrays, aggregate, query.
CREATE VIEW nist_models AS
SELECT d.dataset, f.form, f.model
FROM (SELECT DISTINCT dataset, dataset NOT LIKE 'noint%' AS intercept FROM nist_rows) d,
LATERAL (
    SELECT 'aggregate' AS form, CASE WHEN d.intercept THEN gpu_ols_agg(y, VARIADIC x)
                                ELSE gpu_ols_solve(gpu_ols_stats_agg(y, VARIADIC x), false) END AS model
    FROM nist_rows r WHERE r.dataset = d.dataset
    UNION ALL
    SELECT 'query', gpu_ols_fit(format('SELECT y, x FROM nist_rows WHERE dataset = %L', d.dataset), d.intercept)
) f;

-- One row per certified number: the computed one, and how many of its digits are right.
CREATE VIEW nist_digits AS
WITH models AS MATERIALIZED (SELECT * FROM nist_models),
arrays AS (
    SELECT dataset, gpu_ols(array_agg(x), array_agg(y), dataset NOT LIKE 'noint%') AS coef FROM nist_rows
    GROUP BY dataset
), computed AS (
    SELECT dataset, form, 'B' || t.i - CASE WHEN dataset LIKE 'noint%' THEN 0 ELSE 1 END AS stat, t.estimate,
    t.std_error
    FROM models, gpu_tidy(model) WITH ORDINALITY AS t(term, estimate, std_error, statistic, p_value, conf_low,
        conf_high, df, class, i)
    UNION ALL
    SELECT dataset, 'arrays', 'B' || i - CASE WHEN dataset LIKE 'noint%' THEN 0 ELSE 1 END, b, NULL
    FROM arrays, unnest(coef) WITH ORDINALITY AS u(b, i)
    UNION ALL
    SELECT dataset, form, g.stat, g.value, NULL
    FROM models, LATERAL (
        SELECT s.* FROM gpu_glance(model) AS m,
        LATERAL (VALUES ('rsd', m.sigma), ('r2', m.r_squared), ('F', m.f_statistic), ('ss_res', m.deviance),
                        ('ss_reg', m.null_deviance - m.deviance)) AS s(stat, value)
    ) AS g
)
SELECT dataset, form, stat, c.estimate, digits(c.estimate, n.estimate) AS estimate_digits,
       c.std_error, CASE WHEN c.std_error IS NOT NULL THEN digits(c.std_error, n.sd) END AS sd_digits
FROM computed c JOIN nist_certified n USING (dataset, stat);

CREATE TABLE nist_result AS SELECT * FROM nist_digits;
-- every certified number occurs, in every form
SELECT form, count(*), count(DISTINCT dataset) AS datasets FROM nist_result GROUP BY form ORDER BY form;
SELECT n.dataset, n.stat FROM nist_certified n WHERE NOT EXISTS
    (SELECT FROM nist_result r WHERE (r.dataset, r.stat, r.form) = (n.dataset, n.stat, 'query'));
-- 13 digits of everything, except filip's, whose powers rounded to float8 leave 7.9
SELECT dataset, form,
       min(estimate_digits) FILTER (WHERE stat LIKE 'B%') >= CASE dataset WHEN 'filip' THEN 7.5
           ELSE 13 END AS coefficients,
       min(sd_digits) >= CASE dataset WHEN 'filip' THEN 7.5 ELSE 13 END AS standard_deviations,
       min(estimate_digits) FILTER (WHERE stat IN ('rsd', 'r2', 'F', 'ss_res', 'ss_reg'))
           >= CASE dataset WHEN 'filip' THEN 7.5 ELSE 13 END AS summary
FROM nist_result GROUP BY dataset, form ORDER BY dataset, form;
SELECT * FROM nist_result WHERE least(estimate_digits, sd_digits) < CASE dataset WHEN 'filip' THEN 7.5 ELSE 13 END
ORDER BY dataset, form, stat;
