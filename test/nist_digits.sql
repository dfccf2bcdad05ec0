-- Run after test/sql/nist.sql: the fewest correct digits (log relative error, at most 16; log absolute error if the
-- certified value is 0) in each of NIST's sets and each form.
\pset footer off
\pset null ''
SELECT dataset, form,
       round(min(estimate_digits) FILTER (WHERE stat LIKE 'B%'), 1) AS coefficients,
       round(min(sd_digits), 1) AS std_errors,
       round(min(estimate_digits) FILTER (WHERE stat = 'r2'), 1) AS r2,
       round(min(estimate_digits) FILTER (WHERE stat = 'rsd'), 1) AS rsd,
       round(min(estimate_digits) FILTER (WHERE stat = 'F'), 1) AS f
FROM nist_result GROUP BY dataset, form ORDER BY dataset, form;
