-- The statements of script/demo. Run from the repository's root, in an empty database.
\set ECHO none
SET client_min_messages = warning;
CREATE EXTENSION gpureg;
-- ordered from the worst to the best
CREATE TYPE cut AS ENUM ('Fair', 'Good', 'Very Good', 'Premium', 'Ideal');
CREATE TYPE clarity AS ENUM ('I1', 'SI2', 'SI1', 'VS2', 'VS1', 'VVS2', 'VVS1', 'IF');
CREATE TABLE diamonds (id int GENERATED ALWAYS AS IDENTITY, carat float8, cut cut, color text, clarity clarity, depth float8,
                       "table" float8, price float8, x float8, y float8, z float8);
\copy diamonds (carat, cut, color, clarity, depth, "table", price, x, y, z) FROM PROGRAM 'gzip -dc test/data/diamonds.csv.gz' WITH (FORMAT csv, HEADER)
ANALYZE diamonds;
\pset border 1
\pset footer off
\pset null '-'


-- With auto, this little work would stay on the CPU. If there is a GPU the demo uses it, and opens it before the fit,
-- as that takes longer than the fit.
SELECT count(*) > 0 AS has_gpu FROM gpu_devices() WHERE id >= 0 \gset
\if :has_gpu
SET gpureg.device = gpu;
CREATE TEMP TABLE opened AS SELECT gpu_ols_fit('SELECT price, carat FROM diamonds');
\endif

\echo
\echo '== The price of a diamond from its weight and measures: the model'
\echo
\set ECHO queries
CREATE TABLE models AS
    SELECT gpu_ols_fit('SELECT price, carat, depth, "table", x, y, z FROM diamonds') AS prices;
\set ECHO none
-- gpu_last_run() describes the session's last computation, so it is read at once
CREATE TEMP TABLE last_run AS SELECT * FROM gpu_last_run();

\echo
\set ECHO queries
SELECT term, round(estimate::numeric, 3) AS estimate, round(std_error::numeric, 3) AS std_error,
       round(statistic::numeric, 2) AS t,
       CASE WHEN p_value < 2e-16 THEN '< 2e-16' ELSE round(p_value::numeric, 4)::text END AS p_value,
       round(conf_low::numeric, 2) AS conf_low, round(conf_high::numeric, 2) AS conf_high
FROM models, gpu_tidy(prices);
\set ECHO none

\echo '== How well it fits'
\echo
\set ECHO queries
SELECT n, rank, round(r_squared::numeric, 6) AS r_squared, round(sigma::numeric, 2) AS sigma,
       round(f_statistic::numeric) AS f, round(aic::numeric, 1) AS aic, round(bic::numeric, 1) AS bic
FROM models, gpu_glance(prices);
\set ECHO none

\echo '== Predicted prices and the prices paid'
\echo
\set ECHO queries
SELECT DISTINCT ON (carat) carat, cut, color, clarity, price AS paid,
       round(gpu_predict(prices, carat, depth, "table", x, y, z)::numeric) AS predicted
FROM diamonds, models
WHERE carat IN (0.3, 0.5, 0.7, 1, 1.5, 2) AND cut = 'Ideal' AND color = 'G' AND clarity = 'VS2'
ORDER BY carat, price, x;
\set ECHO none

\echo '== One model for each cut: the price of a carat'
\echo
\set ECHO queries
SELECT cut, (m).n, round((m).coef[1]::numeric, 1) AS intercept, round((m).coef[2]::numeric, 1) AS per_carat
FROM (SELECT cut, gpu_ols_agg(price, carat) AS m FROM diamonds GROUP BY cut) AS fits
ORDER BY per_carat;
\set ECHO none

\echo '== ln(price) by cut, color and clarity: levels against the first, with robust standard errors'
\echo
\set ECHO queries
SET extra_float_digits = -9;
SELECT term, estimate, std_error, statistic, p_value, conf_low, conf_high, df
FROM gpu_tidy(gpu_ols_fit('SELECT ln(price) AS lp, ln(carat) AS lc, cut, color, clarity FROM diamonds',
                          vcov => 'HC3'));
\set ECHO none

\echo '== Does clarity matter if weight, cut and color are known?'
\echo
\set ECHO queries
CREATE TABLE logs AS
    SELECT gpu_ols_fit('SELECT ln(price) AS lp, ln(carat) AS lc, cut, color FROM diamonds') AS m0,
           gpu_ols_fit('SELECT ln(price) AS lp, ln(carat) AS lc, cut, color, clarity FROM diamonds') AS m;
SELECT a.* FROM logs, gpu_anova(m0, m) a;
\set ECHO none

\echo '== Predictions by column name, with limits for 95 of 100 prices'
\echo
\set ECHO queries
CREATE VIEW stones AS SELECT *, ln(carat) AS lc FROM diamonds;
SELECT carat, cut, color, clarity, price AS paid, round(exp(gpu_predict(m, t))) AS predicted,
       round(exp(lower)) AS lower, round(exp(upper)) AS upper
FROM logs, stones t, gpu_predict_interval(m, 'prediction', 0.95, t) WHERE id % 9000 = 4242 ORDER BY price;
SELECT count(*) AS n, round(avg((ln(price) BETWEEN lower AND upper)::int), 3) AS share_within
FROM logs, stones t, gpu_predict_interval(m, 'prediction', 0.95, t);
\set ECHO none
RESET extra_float_digits;

\echo '== What makes a cut ideal: a logistic regression, as odds ratios'
\echo
\set ECHO queries
CREATE TABLE cuts AS
    SELECT gpu_logreg_fit($$SELECT cut = 'Ideal', carat, depth, "table" FROM diamonds$$) AS ideal;
SELECT term, round(estimate::numeric, 4) AS odds_ratio, round(conf_low::numeric, 4) AS conf_low,
       round(conf_high::numeric, 4) AS conf_high,
       CASE WHEN p_value < 2e-16 THEN '< 2e-16' ELSE round(p_value::numeric, 4)::text END AS p_value
FROM cuts, gpu_tidy(ideal, exponentiate => true) WHERE term <> '(intercept)';
\set ECHO none

\echo '== Predicted probabilities and the share of ideal cuts'
\echo
\set ECHO queries
SELECT round("table") AS "table", count(*) AS n, round(avg((cut = 'Ideal')::int), 3) AS share,
       round(avg(gpu_predict(ideal, carat, depth, "table"))::numeric, 3) AS predicted
FROM diamonds, cuts WHERE "table" BETWEEN 53 AND 61 GROUP BY 1 ORDER BY 1;
\set ECHO none

\echo '== ln(price) by cut, color and clarity, hashed into 64 columns'
\echo
\set ECHO queries
SELECT n, round(r_squared::numeric, 4) AS r_squared FROM gpu_glance(gpu_ols_fit($$
    SELECT ln(price), ln(carat), gpu_feature_hash(jsonb_build_object('cut', cut, 'color', color, 'clarity', clarity), 64)
    FROM diamonds$$));
\set ECHO none

\echo '== The hashed columns projected to 24 dimensions: similar stones'
\echo
\set ECHO queries
CREATE TABLE alike AS
    SELECT id, projection FROM gpu_project_rows($$
        SELECT id, ARRAY[ln(carat) * 5, depth / 5, "table" / 5]
               || gpu_feature_hash(jsonb_build_object('cut', cut, 'color', color, 'clarity', clarity), 64)::float8[]
        FROM diamonds WHERE id <= 10000$$, 24);
SELECT carat, cut, color, clarity, depth, "table", price FROM diamonds JOIN alike s USING (id)
ORDER BY (SELECT sum((u - v) ^ 2) FROM alike q, unnest(q.projection, s.projection) t(u, v) WHERE q.id = 4242), id LIMIT 5;
\set ECHO none

\echo '== Where the first model was computed, and how fast'
\echo
\pset tuples_only on
\pset format unaligned
SELECT format('On %s: %s rows and %s features in %s ms.%s',
              CASE device WHEN 'cpu' THEN 'the CPU' ELSE device END, to_char(rows, 'FM999,999,999'), features,
              round((total_seconds * 1000)::numeric, 1),
              CASE WHEN device = 'cpu' THEN format(' Why there: %s.', reason) END)
FROM last_run;
\echo
