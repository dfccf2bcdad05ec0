-- A row of frequency f must equal f rows, for every family, link, covariance and way of the rows.
CREATE TABLE frequency_rows AS
SELECT i, f, g, x1, x2, o, (i * 37 % 11 + 3 * x1 > 6)::int AS class,
       (i * 31 % 9 + (x1 > 0.5)::int * (i * 7 % 5))::float8 AS count, exp(0.3 + x1 + (i * 29 % 13) / 10.0) AS amount
FROM (SELECT i, i * 13 % 6 + (i % 10 = 3)::int * 900 AS f, i % 8 AS g, (i * 17 % 41 / 41.0)::float8 AS x1,
             (i * 23 % 59 / 59.0)::float8 AS x2, (i * 19 % 7 / 100.0)::float8 AS o FROM generate_series(1, 60) i) t;
CREATE VIEW frequency_expanded AS SELECT frequency_rows.* FROM frequency_rows, generate_series(1, f);
SELECT count(*), sum(f) AS expanded, count(*) FILTER (WHERE f = 0) AS weightless FROM frequency_rows;

CREATE FUNCTION frequency_difference(a gpu_model, b gpu_model) RETURNS float8 LANGUAGE sql AS $$
    SELECT max(d) FROM (VALUES
        (CASE WHEN ROW(a.terms, a.n, a.rank, a.df_residual, a.converged, a.separated, a.vcov_type, a.df_inference)
         IS DISTINCT FROM
         ROW(b.terms, b.n, b.rank, b.df_residual, b.converged, b.separated, b.vcov_type, b.df_inference)
         THEN 'Infinity'::float8 ELSE 0 END),
        (relative_difference(a.coef, b.coef)),
        --         covariances are compared with the standard errors, as some are nearly 0
        ((SELECT max(CASE WHEN (u IS NULL) <> (v IS NULL) THEN 'Infinity' ELSE
                     abs(u - v) / sqrt(a.vcov[1 + (r - 1) * (p + 1)] * a.vcov[1 + (c - 1) * (p + 1)]) END)
          FROM (SELECT cardinality(a.coef) AS p) s, LATERAL (SELECT u, v, (k - 1) / p + 1 AS r, (k - 1) % p + 1 AS c
                FROM unnest(a.vcov, b.vcov) WITH ORDINALITY AS t(u, v, k)) e)),
        (relative_difference(ARRAY[a.deviance, a.null_deviance, a.log_lik, a.theta, a.dispersion],
                             ARRAY[b.deviance, b.null_deviance, b.log_lik, b.theta, b.dispersion]))) t(d)
$$;
CREATE TABLE frequency_cases AS
SELECT family, link, response, theta, vcov, o
FROM (VALUES ('gaussian', '{identity,log,inverse}'::text[], 'amount', NULL::float8),
             ('binomial', '{logit,probit,cloglog}', 'class', NULL),
             ('quasibinomial', '{logit,probit,cloglog}', 'class', NULL),
             ('poisson', '{log,identity,sqrt}', 'count', NULL), ('quasipoisson', '{log,identity,sqrt}', 'count', NULL),
             ('gamma', '{log,inverse,identity}', 'amount', NULL),
             ('negative binomial', '{log,identity,sqrt}', 'count', 2),
             ('negative binomial', '{log,identity,sqrt}', 'count', NULL))
         f(family, links, response, theta), unnest(links) link,
     unnest('{iid,HC0,HC1,HC2,HC3,CR0,CR1,CR2}'::text[]) vcov,
     unnest(ARRAY[NULL, 'o']) o
WHERE o IS NULL OR link IN ('log', 'logit', 'probit', 'cloglog');
CREATE FUNCTION frequency_fit(c frequency_cases, rows text, also text) RETURNS gpu_model LANGUAGE sql AS $$
    SELECT gpu_glm_fit(format('SELECT %s, x1, x2%s%s%s FROM %s', c.response, ', ' || c.o,
                              CASE WHEN c.vcov LIKE 'CR%' THEN ', g' END, also, rows), c.family, c.link,
                       theta => c.theta, vcov => c.vcov, clusters => CASE WHEN c.vcov LIKE 'CR%' THEN '{g}'::text[] END,
                       frequencies => CASE WHEN also <> '' THEN 'f' END, offsets => c.o)
$$;
SET client_min_messages = error;
CREATE TABLE frequency_fits AS
SELECT c AS c, frequency_fit(c, 'frequency_rows', ', f') AS a, frequency_fit(c, 'frequency_expanded', '') AS b
FROM frequency_cases c;
RESET client_min_messages;
SELECT count(*), count(*) FILTER (WHERE (a).converged) AS converged,
       count(*) FILTER (WHERE frequency_difference(a, b) < 1e-12) AS same FROM frequency_fits;
SELECT c, frequency_difference(a, b) FROM frequency_fits WHERE NOT frequency_difference(a, b) < 1e-12;

-- two groups with any shares of ones, and any number of rows: closed forms
CREATE TABLE frequency_shares AS
SELECT row_number() OVER () AS i, a.n::float8 AS n0, b.n::float8 AS n1, p0, p1
FROM (VALUES (10), (1000), (1e6)) a(n), (VALUES (20), (1000), (1e9)) b(n), unnest('{0.1,0.5,0.8}'::float8[]) p0,
     unnest('{0.2,0.4,0.9}'::float8[]) p1;
CREATE FUNCTION frequency_query(s frequency_shares, role text) RETURNS text LANGUAGE sql AS $$
    SELECT format(CASE role WHEN 'frequencies' THEN
        'SELECT * FROM (VALUES (0, 0, %1$s), (1, 0, %2$s), (0, 1, %3$s), (1, 1, %4$s)) t(y, x, f)'
        ELSE 'SELECT * FROM (VALUES (%2$s / %5$s, 0, %5$s), (%4$s / %6$s, 1, %6$s)) t(y, x, f)' END,
        round(s.n0 * (1 - s.p0)), round(s.n0 * s.p0), round(s.n1 * (1 - s.p1)), round(s.n1 * s.p1),
        s.n0 || '::float8', s.n1 || '::float8')
$$;
SELECT link, count(*), bool_and((f).converged AND (w).converged) AS converged,
       max(greatest(abs((f).coef[1] - g0), abs((f).coef[2] - (g1 - g0)))) < 1e-11 AS right,
       max(greatest(abs((f).coef[1] - (w).coef[1]), abs((f).coef[2] - (w).coef[2]))) < 1e-11 AND
       max(relative_difference((f).vcov, (w).vcov)) < 1e-11 AS as_trials,
       bool_and((f).n = n0 + n1) AS n
FROM (SELECT l AS link, s.*, f, w, CASE l WHEN 'logit' THEN ln(p0 / (1 - p0)) WHEN 'cloglog' THEN ln(-ln(1 - p0))
             ELSE (w).coef[1] END AS g0,
             CASE l WHEN 'logit' THEN ln(p1 / (1 - p1)) WHEN 'cloglog' THEN ln(-ln(1 - p1))
             ELSE (w).coef[1] + (w).coef[2] END AS g1
      FROM frequency_shares s, unnest('{logit,probit,cloglog}'::text[]) u(l),
           gpu_glm_fit(frequency_query(s, 'frequencies'), 'binomial', l, frequencies => 'f') f,
           gpu_glm_fit(frequency_query(s, 'weights'), 'binomial', l, weights => 'f') w) t
GROUP BY link ORDER BY link;
-- trials of one class far out, for which the least-squares fit is bad, and steps from there are too long
SELECT link, count(*), bool_and((m).converged) AS converged,
       max(relative_difference((m).coef, (w).coef)) < 1e-11 AS right
FROM (SELECT l, m, w FROM unnest('{logit,probit,cloglog}'::text[]) u(l), unnest('{1,100,1e6,1e9}'::float8[]) s,
      gpu_glm_fit(format('SELECT y, x, f * %s::float8 AS f
          FROM (VALUES (0, 0, 900), (1, 0, 100), (0, 1, 800), (1, 1, 200)) t(y, x, f)', s), 'binomial', l,
                  weights => 'f') m,
      gpu_glm_fit('SELECT * FROM (VALUES (0.1, 0, 1000), (0.2, 1, 1000)) t(y, x, f)', 'binomial', l,
                  weights => 'f') w) t(link, m, w)
GROUP BY link ORDER BY link;
-- Firth's penalty, and elastic nets
CREATE TABLE frequency_others AS
SELECT gpu_logreg_fit('SELECT class, x1, x2, f FROM frequency_rows', frequencies => 'f', firth => true) AS firth_a,
       gpu_logreg_fit('SELECT class, x1, x2 FROM frequency_expanded', firth => true) AS firth_b,
       gpu_logreg_fit('SELECT class, x1, x2, f FROM frequency_rows', frequencies => 'f', l2 => 3) AS ridge_a,
       gpu_logreg_fit('SELECT class, x1, x2 FROM frequency_expanded', l2 => 3) AS ridge_b,
       gpu_enet_fit('SELECT amount, x1, x2, f FROM frequency_rows', 0.05, frequencies => 'f') AS net_a,
       gpu_enet_fit('SELECT amount, x1, x2 FROM frequency_expanded', 0.05) AS net_b,
       gpu_enet_fit('SELECT class, x1, x2, f FROM frequency_rows', 0.05, frequencies => 'f', family => 'binomial')
           AS logit_a,
       gpu_enet_fit('SELECT class, x1, x2 FROM frequency_expanded', 0.05, family => 'binomial') AS logit_b;
SELECT frequency_difference(firth_a, firth_b) < 1e-12 AS firth, frequency_difference(ridge_a, ridge_b) < 1e-12 AS ridge,
       relative_difference((net_a).coef, (net_b).coef) < 1e-12 AS net, (net_a).n = (net_b).n AS net_n,
       relative_difference((logit_a).coef, (logit_b).coef) < 1e-10 AS logit_net FROM frequency_others;
-- solvers without a Hessian
SELECT solver, relative_difference((a).coef, (b).coef) < 1e-12 AS same
FROM unnest('{lbfgs,gd}'::text[]) solver,
     gpu_logreg_fit('SELECT class, x1, x2, f FROM frequency_rows', frequencies => 'f', solver => solver,
                    max_iter => 5000) a,
     gpu_logreg_fit('SELECT class, x1, x2 FROM frequency_expanded', solver => solver, max_iter => 5000) b;
SET client_min_messages = error;
DROP TABLE frequency_rows, frequency_cases, frequency_fits, frequency_shares, frequency_others CASCADE;
