-- R's distribution functions. The unit test inference_test checks digits in the tails against values of 20 digits.
\set VERBOSITY default
-- R 4.2's output with 17 digits of pnorm(-1.96), pnorm(120, 100, 15, FALSE), qnorm(0.975), qnorm(0.1, 100, 15), pt(2.5,
-- 7), qt(0.025, 7), pchisq(10, 4, lower.tail = FALSE), qchisq(0.95, 4), pf(3.2, 4, 20, lower.tail = FALSE), qf(0.95, 4,
-- 20)
SELECT name, digits(got, want) >= 14 AS "right" FROM (VALUES
    ('pnorm', gpu_pnorm(-1.96), 0.024997895148220428), ('pnorm upper', gpu_pnorm(120, 100, 15, false),
        0.091211219725867848),
    ('qnorm', gpu_qnorm(0.975), 1.9599639845400536), ('qnorm 100', gpu_qnorm(0.1, mean => 100, sd => 15),
        80.77672651683099),
    ('pt', gpu_pt(2.5, 7), 0.97950389070712363), ('qt', gpu_qt(0.025, 7), -2.3646242515927844),
    ('pchisq', gpu_pchisq(10, 4, lower_tail => false), 0.040427681994512805),
    ('qchisq', gpu_qchisq(0.95, 4), 9.487729036781154),
    ('pf', gpu_pf(3.2, 4, 20, lower_tail => false), 0.03483162372878252),
    ('qf', gpu_qf(0.95, 4, 20), 2.8660814020156589)) AS t(name, got, want);
-- the two tails add up to 1; digits that 1 - p would lose are in the other tail
SELECT gpu_pt(-40, 3.5) + gpu_pt(-40, 3.5, false) AS pt, gpu_pf(40, 2, 3.5) + gpu_pf(40, 2, 3.5, false) AS pf,
    gpu_pnorm(38, lower_tail => false) > 0 AS deep, gpu_pnorm(38) AS near_1;
-- limits, and NaN
SELECT gpu_pnorm('Infinity'), gpu_pnorm('-Infinity'), gpu_qnorm(0), gpu_qnorm(1),
    gpu_qnorm(0, lower_tail => false) AS upper, gpu_qnorm(0.3, 5, 0) AS point, gpu_pnorm(5, 5, 0) AS at_point;
SELECT gpu_pt('-Infinity', 3), gpu_qt(1, 3), gpu_pt(1.5, 'Infinity') = gpu_pnorm(1.5) AS normal, gpu_pchisq(-1, 3),
    gpu_pchisq('Infinity', 3), gpu_qchisq(0, 3), gpu_qchisq(1, 3);
SELECT gpu_pf(0, 1, 2), gpu_pf('Infinity', 1, 2), gpu_qf(0, 1, 2), gpu_qf(1, 1, 2),
    gpu_qf(0.5, 'Infinity', 'Infinity') AS constant;
SELECT gpu_pnorm('NaN'), gpu_qnorm('NaN'), gpu_pt(1, 'NaN'), gpu_qt('NaN', 2), gpu_pchisq('NaN', 2),
    gpu_qchisq(0.5, 'NaN'), gpu_pf(1, 'NaN', 2), gpu_qf(0.5, 1, 'NaN'), gpu_pnorm('Infinity', 'Infinity') AS difference;
SELECT gpu_pnorm(NULL) IS NULL AND gpu_qt(0.5, NULL) IS NULL AND gpu_pf(1, 2, 3, NULL) IS NULL AS nulls;
-- the extension's own p-values and limits come from these functions
SELECT bool_and(relative_difference(ARRAY[p_value], ARRAY[2 * gpu_pt(abs(statistic), df_residual, false)]) < 1e-14
                AND relative_difference(ARRAY[conf_high],
                    ARRAY[estimate + std_error * gpu_qt(0.975, df_residual)]) < 1e-14) AS same
FROM (SELECT gpu_ols_agg(mpg, wt, hp) AS m FROM mtcars) f, gpu_tidy(m), gpu_glance(m);
-- arguments outside the domain
SELECT gpu_pnorm(0, 0, -1);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_qnorm(1.5);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_qnorm(0.5, 0, '-Infinity');
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_pt(1, 0);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_qt(-0.1, 3);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_pchisq(1, -1);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_qchisq('Infinity', 1);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_pf(1, 0, 3);
\echo :LAST_ERROR_SQLSTATE
SELECT gpu_qf(0.5, 3, -2);
\echo :LAST_ERROR_SQLSTATE
-- attributes for indexes, generated columns, parallel plans
SELECT count(*) FROM pg_proc WHERE proname ~ '^gpu_[pq](norm|t|chisq|f)$' AND provolatile = 'i' AND proisstrict
    AND proparallel = 's' AND obj_description(oid, 'pg_proc') IS NOT NULL;
