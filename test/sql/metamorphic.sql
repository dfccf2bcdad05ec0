-- Equivalent rows must give equivalent fits, for every family. Each equivalence is a pair of queries, with the change
-- from one's coefficients to the other's.
CREATE TEMP TABLE said AS
SELECT i, a, b, c, a * 3 + b * 4 AS r1, a * 4 - b * 3 AS r2, 1 + i % 3 AS f, (i % 4)::float8 AS w,
       ((i * 7919) % 101) / 10.0::float8 AS gaussian, ((i * 31) % 7 < 3)::int::float8 AS binomial,
       ((i * 37) % 6)::float8 AS poisson, 1 + ((i * 53) % 11)::float8 AS gamma
FROM (SELECT i, ((i * 13) % 17 - 8)::float8 AS a, ((i * 29) % 23 - 11)::float8 AS b, ((i * 7) % 5)::float8 AS c
      FROM generate_series(1, 300) i) t;
CREATE TEMP TABLE ways (way text, one text, one_options text, other text, other_options text, back float8[]);
INSERT INTO ways VALUES
    ('rows in another order', 'SELECT $y, a, b, c FROM said', '', 'SELECT $y, a, b, c FROM said ORDER BY md5(i::text)',
        '', '{{1,0,0,0},{0,1,0,0},{0,0,1,0},{0,0,0,1}}'),
    ('columns in another order', 'SELECT $y, a, b, c FROM said', '', 'SELECT $y, c, a, b FROM said', '',
        '{{1,0,0,0},{0,0,1,0},{0,0,0,1},{0,1,0,0}}'),
    ('columns in other units', 'SELECT $y, a, b, c FROM said', '', 'SELECT $y, a * 1024, b / 65536, c FROM said', '',
        '{{1,0,0,0},{0,1024,0,0},{0,0,0.0000152587890625,0},{0,0,0,1}}'),
    ('features rotated', 'SELECT $y, a, b, c FROM said', '', 'SELECT $y, r1, r2, c FROM said', '',
        '{{1,0,0,0},{0,3,4,0},{0,4,-3,0},{0,0,0,1}}'),
    ('features from elsewhere', 'SELECT $y, a, b, c FROM said', '', 'SELECT $y, a + 100, b, c - 7 FROM said', '',
        '{{1,100,0,-7},{0,1,0,0},{0,0,1,0},{0,0,0,1}}'),
    ('rows of weight 0', 'SELECT $y, a, b, c, w FROM said WHERE w > 0', ', weights => ''w''',
        'SELECT $y, CASE w WHEN 0 THEN i ELSE a END AS a, b, c, w FROM said', ', weights => ''w''',
        '{{1,0,0,0},{0,1,0,0},{0,0,1,0},{0,0,0,1}}'),
    ('rows so many times', 'SELECT $y, a, b, c FROM said, generate_series(1, f)', '', 'SELECT $y, a, b, c, f FROM said',
        ', frequencies => ''f''', '{{1,0,0,0},{0,1,0,0},{0,0,1,0},{0,0,0,1}}');

CREATE FUNCTION fit_to(family text, query text, options text) RETURNS gpu_model LANGUAGE plpgsql AS $$
DECLARE
    m gpu_model;
BEGIN
    EXECUTE format('SELECT * FROM gpu_glm_fit(%L, %L %s)', replace(query, '$y', family), family, options) INTO m;
    RETURN m;
END
$$;
CREATE FUNCTION taken_back(back float8[], coef float8[]) RETURNS float8[] LANGUAGE sql AS $$
    SELECT array_agg(s ORDER BY i)
    FROM (SELECT i, sum(back[i][j] * coef[j]) FROM generate_series(1, 4) i, generate_series(1, 4) j GROUP BY i) t(i, s)
$$;
SELECT way, name AS family, relative_difference(a.coef, taken_back(back, b.coef)) < 1e-12 AS coefficients,
       abs(a.deviance / b.deviance - 1) < 1e-13 AS deviance, abs(a.log_lik / b.log_lik - 1) < 1e-13 AS log_lik,
       abs(a.dispersion / b.dispersion - 1) < 1e-13 AS dispersion, a.df_residual = b.df_residual AS df,
       (a.rank, a.converged) = (b.rank, b.converged) AS rest
FROM ways, unnest('{gaussian,binomial,poisson,gamma}'::text[]) name,
     LATERAL (SELECT CASE name WHEN 'gamma' THEN ', link => ''log''' ELSE '' END) l(link_of),
     LATERAL fit_to(name, one, one_options || link_of) a, LATERAL fit_to(name, other, other_options || link_of) b
ORDER BY way COLLATE "C", name;
-- powers of two are exact, so least squares coefficients are, too
SELECT gpu_ols_coef(gpu_ols_stats_agg(gaussian * 2::float8 ^ 40, a * 2::float8 ^ 30, b, c * 2::float8 ^ -50), true) =
       (SELECT ARRAY[m[1] * 2::float8 ^ 40, m[2] * 2::float8 ^ 10, m[3] * 2::float8 ^ 40, m[4] * 2::float8 ^ 90]
        FROM (SELECT gpu_ols_coef(gpu_ols_stats_agg(gaussian, a, b, c), true) FROM said) t(m)) AS bits FROM said;
DROP FUNCTION fit_to, taken_back;
