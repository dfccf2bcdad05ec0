-- The examples of projection and hashing in docs/reference/projection.md, on data that anyone can make.
-- Shrink embeddings: the table keeps the small ones by itself
CREATE TABLE documents (
    id bigint PRIMARY KEY,
    embedding real[] NOT NULL,
    small real[] GENERATED ALWAYS AS (gpu_project(embedding, 192)) STORED
);
INSERT INTO documents (id, embedding)
SELECT i, (SELECT array_agg((sin(i / 40 * 7919 + j * j) + 0.3 * sin(i * 104729 + j * j * 31))::real ORDER BY j)
    FROM generate_series(1, 768) j)
FROM generate_series(1, 400) i;
CREATE FUNCTION squared_distance(a real[], b real[]) RETURNS float8 LANGUAGE sql IMMUTABLE AS
    'SELECT sum((u - v)::float8 ^ 2) FROM unnest(a, b) AS t(u, v)';
-- the ten nearest by the small vectors, and how many of them are among the ten nearest by the large ones
WITH query AS (SELECT * FROM documents WHERE id = 123),
small AS (SELECT d.id FROM documents d, query q ORDER BY squared_distance(d.small, q.small) LIMIT 10),
large AS (SELECT d.id FROM documents d, query q ORDER BY squared_distance(d.embedding, q.embedding) LIMIT 10)
SELECT count(large.id) AS of_the_ten_nearest, bool_and(small.id / 40 = 123 / 40) AS same_group FROM small LEFT
JOIN large USING (id);
-- all at once, from a query, on a GPU if there is one
SELECT count(*), bool_and(p.projection = d.small) AS same
FROM gpu_project_rows('SELECT id, embedding FROM documents', 192) p JOIN documents d USING (id);
-- Near duplicates: the signs of a projection are bits that agree as far as the vectors point the same way
CREATE TABLE articles (id int, words text[]);
INSERT INTO articles SELECT i, (SELECT array_agg('word' || (i * i * 7919 + j * j * 104729::bigint + i * j * 31) % 5003
    ORDER BY j) FROM generate_series(1, 200) j) FROM generate_series(1, 300) i;
INSERT INTO articles SELECT 1000 + id, words[1:90] || ARRAY['edited', 'here'] || words[93:200] FROM articles
WHERE id % 50 = 0;
CREATE FUNCTION shingles(words text[]) RETURNS text[] LANGUAGE sql IMMUTABLE AS
    $$SELECT array_agg(words[i] || ' ' || words[i + 1]) FROM generate_series(1, cardinality(words) - 1) i$$;
CREATE FUNCTION sketch(words text[]) RETURNS text LANGUAGE sql IMMUTABLE AS
    $$SELECT string_agg(CASE WHEN v > 0 THEN '1' ELSE '0' END, '' ORDER BY i)
        FROM unnest(gpu_feature_hash(shingles(words), 128, density => 0.5)) WITH ORDINALITY u(v, i)$$;
CREATE TABLE sketches AS WITH s AS MATERIALIZED (SELECT id, sketch(words) AS bits FROM articles)
    SELECT id, bits, band, substr(bits, band * 16 + 1, 16) AS band_bits FROM s, generate_series(0, 7) band;
CREATE INDEX ON sketches (band, band_bits);
SELECT DISTINCT a.id, b.id AS duplicate FROM sketches a JOIN sketches b USING (band, band_bits)
WHERE a.id < b.id AND bit_count((a.bits::bit(128) # b.bits::bit(128))) < 24 ORDER BY a.id;
-- Sketches of very wide rows: what someone bought, among a million million things
CREATE TABLE baskets AS SELECT u, array_agg(item ORDER BY item) AS items, array_agg(1::real) AS counts
FROM (SELECT u, (u / 10 * 7919 + n * n * 104729::bigint + CASE WHEN n % 4 = 0 THEN u * 31
    ELSE 0 END) * 15485863 % 1000000000000 AS item FROM generate_series(0, 49) u, generate_series(1, 60) n) t
GROUP BY u;
CREATE TABLE tastes AS SELECT u, gpu_project_sparse(items, counts, 256) AS taste FROM baskets;
SELECT max(abs(in_common - from_sketch)) < 20 AS close, round(corr(in_common, from_sketch)::numeric, 2) AS correlation
FROM tastes a JOIN tastes b ON a.u < b.u, LATERAL (
    SELECT (SELECT count(*) FROM unnest((SELECT items FROM baskets WHERE u = a.u)) i
        JOIN unnest((SELECT items FROM baskets WHERE u = b.u)) j ON i = j) AS in_common,
           (SELECT sum(x::float8 * y) FROM unnest(a.taste, b.taste) t(x, y)) AS from_sketch) s;
-- Raw features as a vector of fixed width: tokens of a text
CREATE TABLE letters AS SELECT 'A rose is a rose is a rose.' AS body;
SELECT gpu_feature_hash(regexp_split_to_array(lower(body), '\W+'), 8) FROM letters;
-- Categories and numbers of a table's rows, straight into a regression
SELECT round(r_squared::numeric, 3) AS r_squared, n FROM gpu_glance(gpu_ols_fit($$
    SELECT ln(price), ln(carat), gpu_feature_hash(jsonb_build_object('cut', cut, 'color', color, 'clarity', clarity),
        64) FROM diamonds$$));
-- docs/formulas.md
CREATE TABLE trees AS SELECT CASE WHEN i % 2 = 0 THEN 'oak' ELSE 'birch' END AS species, i AS age, 1 + i % 3 AS plot,
    2 - (i % 2 = 0)::int + 0.3 * i + 0.15 * i * (i % 2 = 0)::int + (ARRAY[0, 0.5, -0.25])[1 + i % 3] AS height
    FROM generate_series(1, 60) i;
CREATE TABLE filip (y float8, x float8);
\copy filip FROM 'test/data/nist/filip.csv' WITH (FORMAT csv, HEADER)
SELECT term, round(estimate::numeric, 3) AS estimate
FROM gpu_tidy(gpu_ols_fit('SELECT ln(price), ln(carat) AS lc, color FROM diamonds'));
SELECT term, round(estimate::numeric, 3) AS estimate
FROM gpu_tidy(gpu_ols_fit('SELECT * FROM trees', formula => 'height ~ species * age + factor(plot)'));
SELECT f AS formula, (gpu_ols_fit('SELECT * FROM trees', formula => f)).terms
FROM (VALUES ('height ~ species:age'), ('height ~ age + species:age'), ('height ~ 0 + species + factor(plot)')) v(f);
SELECT round(g.r_squared::numeric, 12) AS r_squared, round(g.sigma::numeric, 15) AS sigma
FROM gpu_glance(gpu_ols_fit('SELECT y, x FROM filip', formula => 'y ~ poly(x, 10)')) g;
CREATE TABLE tree_model AS SELECT gpu_ols_fit('SELECT * FROM trees',
    formula => 'height ~ species * age + factor(plot)') AS m;
SELECT round(gpu_predict(m, t)::numeric, 2) AS row, round(gpu_predict(m, 'oak', 40, 2)::numeric, 2) AS values,
    round(gpu_predict(m, '{"species": "birch", "age": 10, "plot": 3}'::jsonb)::numeric, 2) AS object
FROM tree_model, trees t LIMIT 1;
CREATE TABLE visits AS SELECT 1 + i % 30 AS days, (1 + i % 7)::float8 AS age, CASE WHEN i % 3 = 0 THEN 'city' ELSE 'land'
    END AS place, (1 + i % 30) * (1 + i % 7 + i % 3) AS n FROM generate_series(1, 210) i;
CREATE TABLE visit_model AS SELECT gpu_glm_fit('SELECT * FROM visits', 'poisson',
    formula => 'n ~ log(age) * place + I(age^2/10) + offset(log(days))') AS m;
SELECT term, round(estimate::numeric, 4) AS estimate FROM visit_model, gpu_tidy(m);
SELECT round(gpu_predict(m, '{"age": 3, "place": "city", "days": 10}'::jsonb)::numeric, 3) AS visits FROM visit_model;
DROP TABLE trees, filip, tree_model, visits, visit_model;
DROP TABLE documents, articles, sketches, baskets, tastes, letters;
DROP FUNCTION squared_distance, shingles, sketch;
-- docs/glm.md
SET extra_float_digits = -9;
CREATE TABLE policies AS
SELECT i AS id, 18 + i % 60 AS age, 1 + (i * 37 % 100) / 10.0 AS insured, 0.25 + (i * 13 % 12) / 8.0 AS years,
       (i * 7919 + i * i) % 11 % 4 * ((i * 31 % 3 = 0)::int) AS claims,
       ((i * 104729) % 997) * (1 + i % 5) / 10.0 AS paid
FROM generate_series(1, 2000) i;
CREATE TABLE shops AS SELECT i AS id, 1 + i % 9 AS price, 5 + i % 4 AS offered,
    least(5, i * 7 % 6 + (i % 9 < 4)::int) AS sold FROM generate_series(1, 300) i;
SELECT term, estimate, std_error, p_value
FROM gpu_tidy(gpu_glm_fit('SELECT claims, age, insured, ln(years) AS o FROM policies', 'poisson', offsets => 'o'));
SELECT term, estimate, conf_low, conf_high
FROM gpu_tidy(gpu_glm_fit('SELECT claims, age, insured, ln(years) AS o FROM policies', 'poisson', offsets => 'o'),
              exponentiate => true);
SELECT term, estimate, std_error
FROM gpu_tidy(gpu_glm_fit('SELECT paid, age, insured FROM policies WHERE paid > 0', 'gamma'));
SELECT term, estimate FROM gpu_tidy(gpu_glm_fit('SELECT sold / offered::float8 AS y, price, offered FROM shops',
    'binomial',
                                                'probit', weights => 'offered'));
SELECT round((m).dispersion::numeric, 2) AS dispersion
FROM gpu_glm_fit('SELECT claims, age, insured, ln(years) AS o FROM policies', 'quasipoisson', offsets => 'o') m;
SELECT round((m).theta::numeric, 2) AS theta, (m).converged
FROM gpu_glm_fit('SELECT claims, age, insured, ln(years) AS o FROM policies', 'negative binomial', offsets => 'o') m;
DROP TABLE policies, shops;
CREATE TABLE endometrial_rows (dataset text, y int, weight float8, frequency float8, base float8, x float8[]);
\copy endometrial_rows FROM PROGRAM 'grep ^endometrial test/data/firth_rows.csv' WITH (FORMAT csv)
CREATE TABLE endometrial AS SELECT y AS hg, x[1]::int AS nv, x[2] AS pi, x[3] AS eh FROM endometrial_rows;
SELECT hg, nv, count(*) FROM endometrial GROUP BY hg, nv ORDER BY hg, nv;
SELECT term, estimate, std_error, p_value FROM gpu_tidy(gpu_logreg_fit('SELECT hg, nv, pi, eh FROM endometrial'));
SELECT term, estimate, std_error, p_value
FROM gpu_tidy(gpu_logreg_fit('SELECT hg, nv, pi, eh FROM endometrial', firth => true));
RESET extra_float_digits;
DROP TABLE endometrial_rows, endometrial;
-- docs/linear.md
SET extra_float_digits = -9;
CREATE TABLE cars AS SELECT gpu_ols_fit('SELECT mpg, wt, hp FROM mtcars') AS m;
SELECT t.* FROM cars, gpu_tidy(m) t;
SELECT term, estimate, std_error FROM gpu_tidy(gpu_ols_fit('SELECT mpg, wt, hp FROM mtcars', intercept => false));
SELECT n, rank, r_squared, sigma, f_statistic, f_p_value, aic FROM cars, gpu_glance(m);
\pset format unaligned
\pset tuples_only on
SELECT gpu_summary(m) FROM cars;
\pset format aligned
\pset tuples_only off
SELECT cut, t.estimate, t.conf_low, t.conf_high
FROM (SELECT cut, gpu_with_terms(gpu_ols_agg(ln(price), ln(carat)), '{lc}') AS m FROM diamonds GROUP BY cut) s,
     gpu_tidy(m) t
WHERE t.term = 'lc' ORDER BY t.estimate;
CREATE TABLE states AS SELECT cut, gpu_ols_stats_agg(ln(price), ln(carat), depth) AS s FROM diamonds GROUP BY cut;
SELECT t.term, t.estimate, t.std_error
FROM (SELECT gpu_ols_rollup(s) AS s FROM states WHERE cut <> 'Fair') r, gpu_tidy(gpu_ols_solve(s)) t;
SELECT term, p.std_error AS plain, w.std_error AS weights, f.std_error AS frequencies
FROM gpu_tidy(gpu_ols_fit('SELECT mpg, wt FROM mtcars')) p
JOIN gpu_tidy(gpu_ols_fit('SELECT mpg, wt, 4 AS k FROM mtcars', weights => 'k')) w USING (term)
JOIN gpu_tidy(gpu_ols_fit('SELECT mpg, wt, 4 AS k FROM mtcars', frequencies => 'k')) f USING (term) ORDER BY term;
SELECT term, i.std_error AS iid, r.std_error AS hc3
FROM cars, gpu_tidy(m) i JOIN gpu_tidy(gpu_ols_fit('SELECT mpg, wt, hp FROM mtcars', vcov => 'HC3')) r USING (term)
ORDER BY term;
SELECT v.*, i.*
FROM (VALUES (2.5, 100), (3.5, 200)) v(wt, hp), cars, gpu_predict_interval(m, 'prediction', 0.95, wt, hp) i;
SELECT v.*, i.*
FROM (VALUES (2.5, 100), (3.5, 200)) v(wt, hp), cars, gpu_predict_interval(m, 'confidence', 0.95, v) i;
SELECT mpg, wt, hp, gpu_leverage(m, wt, hp) AS leverage FROM mtcars, cars ORDER BY leverage DESC LIMIT 3;
SELECT df, statistic, p_value, test
FROM cars, gpu_anova(m, gpu_ols_fit('SELECT mpg, wt, hp, qsec, am FROM mtcars'));
SELECT * FROM gpu_wald(gpu_ols_fit('SELECT mpg, wt, hp, qsec, am FROM mtcars', vcov => 'HC3'), '{qsec,am}');
SELECT term, p_value
FROM gpu_ols_permute('SELECT mpg, wt, hp, qsec, row_number() OVER (ORDER BY wt, qsec) AS car FROM mtcars', 9999, 'car');
SELECT term, estimate, std_error FROM gpu_tidy(gpu_ols_fit('SELECT mpg, wt, wt * 1000 AS pounds, hp FROM mtcars'));
SELECT * FROM gpu_vif(gpu_ols_fit('SELECT mpg, wt, hp, disp FROM mtcars'));
CREATE TABLE longley (y float8, x1 float8, x2 float8, x3 float8, x4 float8, x5 float8, x6 float8);
\copy longley FROM 'test/data/nist/longley.csv' WITH (FORMAT csv, HEADER)
SELECT term, round(estimate::numeric, 6) AS estimate, round(std_error::numeric, 6) AS std_error
FROM gpu_tidy(gpu_ols_fit('SELECT y, x1, x2, x3, x4, x5, x6 FROM longley'));
DROP TABLE cars, states, longley;
-- docs/states.md
CREATE TABLE clusters_rows (dataset text, y float8, x float8[], cluster1 int, cluster2 int);
\copy clusters_rows FROM PROGRAM 'grep ^grunfeld test/data/states_clusters_rows.csv' WITH (FORMAT csv)
CREATE TABLE grunfeld AS
SELECT cluster1 AS firm, cluster2 AS year, y AS invest, x[1] AS value, x[2] AS capital FROM clusters_rows;
CREATE TABLE instruments_rows (dataset text, weight float8, y float8, x float8[]);
\copy instruments_rows FROM PROGRAM 'grep ^cigarettes test/data/iv_rows.csv' WITH (FORMAT csv)
CREATE TABLE cigarettes AS
SELECT y AS packs, x[1] AS price, x[2] AS income, x[3] AS tdiff, x[4] AS tax FROM instruments_rows;
CREATE TABLE parts AS
SELECT cut, abs(hashfloat8(carat + price * 100 + x * 7)) % 10 AS fold,
       gpu_ols_named(gpu_ols_stats_agg(ln(price), ln(carat), depth, "table", x, y, z),
                     '{lprice,lcarat,depth,table,x,y,z}') AS s
FROM diamonds WHERE x > 0 AND y > 0 AND z > 0 GROUP BY 1, 2;
SELECT t.term, t.estimate, t.std_error FROM gpu_tidy((SELECT gpu_ols_solve(gpu_ols_rollup(s)) FROM parts)) t;
CREATE TABLE whole AS SELECT gpu_ols_rollup(s) AS s FROM parts;
SELECT t.term, t.estimate, t.std_error
FROM gpu_tidy((SELECT gpu_ols_solve(s, features => '{lcarat,depth}') FROM whole)) t;
SELECT t.term, t.estimate, t.std_error
FROM gpu_tidy((SELECT gpu_ols_solve(s, features => '{x,y}', response => 'z') FROM whole)) t;
SELECT size, terms, r_squared, bic, best FROM whole, gpu_ols_select(s, 'bic', 'best') ORDER BY size;
SELECT l2, (gpu_ols_solve(s, features => '{x,y,z}', l2 => l2)).coef FROM whole, unnest('{0,1000,100000}'::float8[]) l2;
SELECT lambda, df, dev_ratio, coef FROM whole, gpu_enet_path(s, nlambda => 6, lambda_min_ratio => 0.001);
SELECT lambda_min, lambda_1se, (model_1se).rank, (model_1se).coef
FROM (SELECT (gpu_enet_cv_agg(s)).* FROM (SELECT gpu_ols_rollup(s) AS s FROM parts GROUP BY fold) f) cv;
CREATE TABLE firms AS
SELECT firm, gpu_ols_named(gpu_ols_stats_agg(invest, value, capital), '{invest,value,capital}') AS s
FROM grunfeld GROUP BY firm;
SELECT v.kind, t.term, t.estimate, t.std_error, t.p_value
FROM (SELECT 'iid' AS kind, gpu_ols_solve(gpu_ols_rollup(s)) AS m FROM firms
      UNION ALL SELECT 'CR1', gpu_ols_cluster_agg(s) FROM firms
      UNION ALL SELECT 'CR3', gpu_ols_cluster_agg(s, 'CR3') FROM firms) v, gpu_tidy(m) t
WHERE t.term <> '(intercept)' ORDER BY t.term DESC, t.std_error;
WITH cells AS (
    SELECT firm, year, gpu_ols_stats_agg(invest, value, capital) AS s FROM grunfeld GROUP BY firm, year
), ways AS (
    SELECT (SELECT gpu_ols_cluster_agg(s) FROM (SELECT gpu_ols_rollup(s) AS s FROM cells GROUP BY firm) f) AS by_firm,
           (SELECT gpu_ols_cluster_agg(s) FROM (SELECT gpu_ols_rollup(s) AS s FROM cells GROUP BY year) y) AS by_year,
           (SELECT gpu_ols_cluster_agg(s) FROM cells) AS by_both
)
SELECT t.term, t.estimate, t.std_error FROM ways, gpu_tidy(gpu_ols_two_way(by_firm, by_year, by_both)) t;
SELECT (gpu_wild_boot_agg(s, 'capital', 9999)).* FROM firms;
CREATE TABLE smoke AS
SELECT gpu_ols_named(gpu_ols_stats_agg(packs, price, income, tdiff, tax), '{packs,price,income,tdiff,tax}') AS s
FROM cigarettes;
SELECT t.term, t.estimate, t.std_error
FROM gpu_tidy((SELECT gpu_iv_solve(s, endogenous => '{price}', instruments => '{tdiff,tax}') FROM smoke)) t;
SELECT t.* FROM smoke, gpu_iv_tests(s, '{price}', '{tdiff,tax}') t;
SELECT row_number, n, coef, r_squared
FROM gpu_ols_rolling('SELECT invest, value, capital FROM grunfeld WHERE firm = 3 ORDER BY year', 10, 5);
DROP TABLE clusters_rows, instruments_rows, grunfeld, cigarettes, parts, whole, firms, smoke;
-- Categories, robust covariances, predictions and tests of them, over the diamonds
SELECT * FROM gpu_tidy(gpu_ols_fit('SELECT ln(price) AS lp, ln(carat) AS lc, cut, color, clarity FROM diamonds',
                                   vcov => 'HC3'));
CREATE TABLE prices AS
SELECT gpu_ols_fit('SELECT ln(price) AS lp, ln(carat) AS lc, cut, color FROM diamonds') AS m0,
       gpu_ols_fit('SELECT ln(price) AS lp, ln(carat) AS lc, cut, color, clarity FROM diamonds', vcov => 'HC3') AS m;
CREATE TABLE large AS SELECT ln(carat) AS lc, cut, color, clarity, price FROM diamonds WHERE carat > 4;
SELECT t.*, gpu_predict(m, t) FROM prices, large t ORDER BY price, color;
SELECT ln(t.price) AS lp, (gpu_predict_interval(m, 'prediction', 0.95, t)).* FROM prices, large t ORDER BY price, color;
SELECT df, statistic, p_value, test FROM prices, gpu_anova(m0, m);
-- Counts of claims
CREATE TABLE policies AS
SELECT i AS id, age, region, sum_insured, exposure,
       (SELECT count(*) FROM (VALUES (1), (1 + mu), (1 + mu + mu * mu / 2)) v(p) WHERE u > exp(-mu) * p) AS claims
FROM (SELECT *, exposure * exp(-1.5 - 0.01 * age + 0.02 * age * (region = 'south')::int + 0.004 * sum_insured) AS mu
      FROM (SELECT i, 18 + (i * 7919 % 60)::int AS age,
                   (ARRAY['east', 'north', 'south', 'west'])[1 + i * 31 % 4] AS region,
                   10 + (i * 104729 % 1901) / 10.0::float8 AS sum_insured,
                   0.25 + (i * 37 % 76) / 100.0::float8 AS exposure,
                   (i * 2654435761 % 4294967296) / 4294967296.0::float8 AS u
            FROM generate_series(1, 4000::bigint) i) r) r;
CREATE TABLE claims AS
SELECT gpu_glm_fit('SELECT claims, age, region, sum_insured, ln(exposure) AS ln_exposure FROM policies',
                   family => 'poisson', formula => 'claims ~ age + region + sum_insured',
                   offsets => 'ln_exposure') AS m0,
       gpu_glm_fit('SELECT claims, age, region, sum_insured, ln(exposure) AS ln_exposure FROM policies',
                   family => 'poisson', formula => 'claims ~ age * region + poly(sum_insured, 2)',
                   offsets => 'ln_exposure') AS m;
\pset format unaligned
\pset tuples_only on
SELECT gpu_summary(gpu_glm_fit('SELECT claims, age, region, sum_insured, ln(exposure) AS ln_exposure FROM policies',
                               family => 'poisson', formula => 'claims ~ age * region + poly(sum_insured, 2)',
                               offsets => 'ln_exposure'));
\pset format aligned
\pset tuples_only off
SELECT id, exposure, gpu_predict(m, t) FROM claims, (SELECT *, ln(exposure) AS ln_exposure FROM policies) t WHERE id <= 4 ORDER BY id;
SELECT t.id, (gpu_predict_interval(m, 'confidence', 0.95, t)).*
FROM claims, (SELECT *, ln(exposure) AS ln_exposure FROM policies) t WHERE id <= 4 ORDER BY id;
SELECT * FROM gpu_anova((SELECT m0 FROM claims), (SELECT m FROM claims));
DROP TABLE policies, claims, prices, large;
RESET extra_float_digits;
-- docs/covariances.md
SET extra_float_digits = -9;
CREATE TABLE workers AS
SELECT i AS id, 'firm ' || i * 37 % 45 AS firm, 2020 + i % 4 AS year, i * 13 % 21 AS tenure,
    (i * 7919 % 5 < 2)::int AS trained,
       10 + 0.3 * (i * 13 % 21) + (i * 7919 % 5 < 2)::int + (i * 37 % 45) % 7 + (i * i % 17) / 4.0 AS wage
FROM generate_series(1, 900) i;
SELECT term, estimate, std_error
FROM gpu_tidy(gpu_ols_fit('SELECT wage, tenure, trained FROM workers', vcov => 'HC3'));
SELECT term, estimate, std_error
FROM gpu_tidy(gpu_ols_fit('SELECT wage, tenure, trained, firm FROM workers', vcov => 'CR1', clusters => '{firm}'));
SELECT term, estimate, std_error, p_value
FROM gpu_tidy(gpu_logreg_fit('SELECT trained, tenure, firm FROM workers', vcov => 'CR2', clusters => '{firm}'));
SELECT (gpu_glm_fit('SELECT wage, tenure, trained, firm, year FROM workers', 'gamma', 'log', vcov => 'CR1',
                    clusters => '{firm,year}')).df_inference;
SELECT term, estimate, std_error
FROM gpu_tidy(gpu_ols_fit('SELECT wage, tenure, trained, firm, year FROM workers',
                          formula => 'wage ~ tenure * trained + factor(year)', vcov => 'CR1', clusters => '{firm}'));
SELECT g.vcov, (m).df_inference
FROM gpu_ols_fit('SELECT wage, tenure, firm FROM workers', vcov => 'CR1', clusters => '{firm}') m, gpu_glance(m) g;
SELECT term, std_error, p_value, df
FROM gpu_tidy(gpu_ols_fit('SELECT wage, tenure, trained, firm FROM workers', vcov => 'CR2', clusters => '{firm}'));
SELECT term, estimate, std_error
FROM gpu_tidy(gpu_ols_fit('SELECT y, t, g FROM (VALUES (1, 0, 1), (3, 0, 1), (2, 1, 2), (6, 1, 2)) v(y, t, g)',
                          vcov => 'CR1', clusters => '{g}'));
DROP TABLE workers;

-- docs/glm.md: means of 0
CREATE TABLE broken (site text, y int);
INSERT INTO broken VALUES ('a', 0), ('a', 0), ('a', 0), ('b', 2), ('b', 4), ('b', 1), ('c', 3), ('c', 5);
SELECT term, estimate, std_error FROM gpu_tidy(gpu_glm_fit('SELECT y, site FROM broken', 'poisson', 'identity'));
DROP TABLE broken;
