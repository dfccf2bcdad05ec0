-- gpu_roc, gpu_confusion, gpu_calibration, gpu_lift, gpu_ks and gpu_logloss against scikit-learn's values
-- (test/data/roc_reference.py) and sums in SQL.
\set VERBOSITY default
CREATE VIEW scored_cars AS SELECT am = 1 AS label, mpg AS score, mpg / 40 AS p FROM mtcars;
CREATE VIEW scored_stones AS SELECT (cut = 'Ideal')::int AS label, -price / carat AS score,
    1 - 1 / (1 + exp(-price / carat / 5000 + 0.6)) AS p FROM diamonds;
SET extra_float_digits = -6;
SELECT * FROM gpu_roc('SELECT am, mpg FROM mtcars') LIMIT 5;
RESET extra_float_digits;
SELECT count(*) = 26 AS points, digits(sum(1 - specificity), 9.8421052631578956) > 14 AS fpr, sum(sensitivity) AS tpr,
    digits(sum((1 - specificity) * sensitivity), 8.9676113360323875) > 14 AS products,
    digits(max(youden), 0.63562753036437247) > 15 AS ks FROM gpu_roc('SELECT label, score FROM scored_cars');
SELECT count(*) = 26694 AS points, digits(sum(1 - specificity), 16170.044799160209) > 11 AS fpr,
    digits(sum(sensitivity), 16997.246392278779) > 11 AS tpr,
    digits(sum((1 - specificity) * sensitivity), 12276.121292199856) > 11 AS products,
    digits(max(youden), 0.08591119657328905) > 13 AS ks FROM gpu_roc('SELECT label, score FROM scored_stones');
-- each count is that of a WHERE; corners leave the area as it is, and are no middles of lines
SELECT count(*), bool_and(r.tp = n.tp AND r.fp = n.fp AND r.tn = n.tn AND r.fn = n.fn) AS same
FROM gpu_roc('SELECT label, score FROM scored_cars') r,
    LATERAL (SELECT count(*) FILTER (WHERE score >= threshold AND label) AS ntp,
        count(*) FILTER (WHERE score >= threshold AND NOT label) AS nfp,
        count(*) FILTER (WHERE score < threshold AND NOT label) AS ntn,
        count(*) FILTER (WHERE score < threshold AND label) AS nfn FROM scored_cars) n(tp, fp, tn, fn);
CREATE VIEW areas AS SELECT corners, count(*) AS points, sum(width * height) AS area
FROM (SELECT corners, lag(specificity) OVER w - specificity AS width, (sensitivity + lag(sensitivity) OVER w) / 2 AS
        height FROM unnest(ARRAY[false, true]) corners,
        gpu_roc('SELECT label, score FROM scored_cars', corners => corners)
    WINDOW w AS (PARTITION BY corners ORDER BY tp + fp)) s GROUP BY corners;
SELECT corners, points, abs(area / (SELECT gpu_auc(score, label) FROM scored_cars) - 1) < 1e-15 AS area FROM areas
ORDER BY 1;
SET extra_float_digits = -6;
SELECT threshold, tp, fp FROM gpu_roc('VALUES (1, 9), (1, 8), (1, 7), (0, 6), (1, 5), (0, 5), (0, 4), (1, 4), (0, 1)',
    true);
-- infinite scores, -0, one label, no rows, NULLs
SELECT * FROM gpu_roc('SELECT y, s FROM (VALUES (true, ''Infinity''::float8), (false, 0), (true, ''-0''),
    (false, ''-Infinity''), (NULL, 1), (true, NULL)) v(y, s)');
SELECT threshold, tp, fp, sensitivity, specificity, ppv, youden FROM gpu_roc('VALUES (1, 0.5)');
SELECT threshold, tp, fp, sensitivity, specificity, ppv, youden FROM gpu_roc('VALUES (0, 0.5::real)');
SELECT * FROM gpu_roc('SELECT label, score FROM scored_cars WHERE false');
SELECT * FROM gpu_lift('SELECT label, score FROM scored_cars WHERE false');
SELECT * FROM gpu_calibration('SELECT label, p FROM scored_cars WHERE false');
SELECT * FROM gpu_confusion('SELECT label, p FROM scored_cars WHERE false');
-- confusion matrices
RESET extra_float_digits;
SELECT tp, fp, tn, fn, accuracy, digits(f1, 0.7407407407407407) > 15 AS f1,
    digits(balanced_accuracy, 0.77935222672064786) > 15 AS balanced_accuracy, digits(kappa, 0.552) > 15 AS kappa,
    digits(mcc, 0.55313398078046405) > 15 AS mcc FROM gpu_confusion('SELECT label, p FROM scored_cars');
SELECT tp, fp, tn, fn, digits(accuracy, 0.55313311086392292) > 15 AS accuracy,
    digits(f1, 0.42696842906047927) > 15 AS f1, digits(balanced_accuracy, 0.53030415997777958) > 15 AS
    balanced_accuracy, digits(kappa, 0.061100696891938533) > 12 AS kappa,
    digits(mcc, 0.061150700753777737) > 12 AS mcc FROM gpu_confusion('SELECT label, p FROM scored_stones');
SET extra_float_digits = -6;
SELECT c.* FROM unnest('{-Infinity,20,Infinity}'::float8[]) t, gpu_confusion('SELECT am, mpg FROM mtcars', t) c;
RESET extra_float_digits;
-- calibration curves: R's quantiles of type 7, and bins of equal width
CREATE FUNCTION worst(query text, strategy text, reference float8[]) RETURNS boolean LANGUAGE sql AS $$
    SELECT count(*) * 2 = cardinality(reference) AND count(*) FILTER (WHERE
        abs(observed - reference[k]) > 1e-15 OR abs(predicted / reference[k + nbins] - 1) > 1e-13) = 0
    FROM (SELECT row_number() OVER (ORDER BY bin) AS k, count(*) OVER () AS nbins, observed, predicted
        FROM gpu_calibration(query, strategy => strategy)) c
$$;
SELECT worst('SELECT label, p FROM scored_cars', 'quantile', '{0,0.25,0.5,0,0,1,0.5,0.33333333333333331,
    0.66666666666666663,1,0.3025,0.375625,0.39125,0.42916666666666670,0.47,0.51416666666666666,0.535,
    0.5591666666666667,0.6475,0.79437499999999983}') AS cars, worst('SELECT label, p FROM scored_cars', 'uniform',
    '{0,0.25,0.125,0.5714285714285714,0.66666666666666663,1,1,0.26,0.371875,0.4575,0.54250000000000009,0.6475,0.76,
    0.82875}') AS uniform;
SELECT worst('SELECT label, p FROM scored_stones', 'quantile', '{0.40341119762699296,0.3299962921764924,
    0.35372636262513907,0.34507042253521125,0.37073442136498519,0.42398961809417873,0.50685947348906191,
    0.46227988878591286,0.41506291635825315,0.3841723945755155,0.2551668786475737,0.34712262249063885,
    0.40254472971060851,0.43519500662753841,0.46247664339037425,0.48573693720768307,0.50598326843898933,
    0.526057256152201,0.54318475363105601,0.56603357968534673}') AS stones,
    worst('SELECT label, p FROM scored_stones', 'uniform', '{0.3,0.51779935275080902,0.39055157061587931,
    0.3418181818181818,0.38305117727184279,0.43775375434133934,0.075205448704755706,0.17320835974012044,
    0.26027910456000625,0.35484976878695412,0.45521965130876008,0.53735733102175753}') AS uniform;
SET extra_float_digits = -6;
SELECT * FROM gpu_calibration('SELECT label, p FROM scored_cars', 3);
SELECT * FROM gpu_calibration('VALUES (1, 0.2), (0, 0.2), (1, 0.2)', 4);
SELECT * FROM gpu_calibration('VALUES (1, 0), (0, 0.25), (1, 0.5), (0, 0.75), (1, 1)', 4, 'uniform');
-- quantiles agree with percentile_disc() and a count of limits below each row; no bin divides ties
CREATE FUNCTION by_quantiles(nbins int) RETURNS TABLE (bin int, n bigint, ones bigint) LANGUAGE sql AS $$
    WITH q AS (SELECT percentile_cont(k::float8 / nbins) WITHIN GROUP (ORDER BY p) AS q
        FROM scored_cars, generate_series(1, nbins - 1) k GROUP BY k)
    SELECT 1 + (SELECT count(*) FROM q WHERE q < p)::int AS bin, count(*), count(*) FILTER (WHERE label)
    FROM scored_cars GROUP BY 1 ORDER BY 1
$$;
SELECT nbins, (SELECT array_agg(b) FROM by_quantiles(nbins) b) = (SELECT array_agg((c.bin, c.n, c.ones)) FROM
    gpu_calibration('SELECT label, p FROM scored_cars', nbins) c) AS same
FROM unnest('{1,2,3,7,10,31,100}'::int[]) nbins;
-- lift
SELECT * FROM gpu_lift('SELECT am, mpg FROM mtcars', 4);
SELECT bin, n, ones, gain, cum_lift FROM gpu_lift('VALUES (1, 5), (0, 5), (0, 5), (1, 1)', 2);
SELECT nbins, bool_and(l.n = b.n AND l.ones = b.ones) AS same, count(*) FROM unnest('{1,3,10,32,50}'::int[]) nbins,
    gpu_lift('SELECT label, score FROM scored_cars', nbins) l JOIN LATERAL (SELECT bin, count(*) AS n,
        count(*) FILTER (WHERE label) AS ones FROM (SELECT 1 + (rank() OVER (ORDER BY score DESC) - 1) * nbins / 32 AS
        bin, label FROM scored_cars) r GROUP BY bin) b USING (bin) GROUP BY nbins ORDER BY nbins;
RESET extra_float_digits;
-- KS and log loss as aggregates: groups, windows, one label, certain predictions
SELECT digits(gpu_ks(score, label), 0.63562753036437247) > 15 AS ks, digits(gpu_logloss(p, label),
    0.55409503775903435) > 15 AS logloss, gpu_logloss(p, label) = gpu_logloss(p, label::int) AS numbers,
    gpu_ks(-score, label) = gpu_ks(score, label::int) AS turned FROM scored_cars;
SELECT digits(gpu_ks(score, label), 0.08591119657328905) > 13 AS ks, digits(gpu_logloss(p, label),
    0.69009534335418832) > 14 AS logloss FROM scored_stones;
SELECT gpu_logloss(p, y), gpu_ks(p, y) FROM (VALUES (1, 1), (0, 0)) v(p, y);
SELECT gpu_logloss(p, y), gpu_ks(p, y) FROM (VALUES (0.25, 1), (0, 1), (0.5, 0), (0.1, NULL), (NULL, 1)) v(p, y);
SELECT gpu_logloss(p, y) OVER (ORDER BY i ROWS 1 PRECEDING), gpu_ks(p, y) OVER (ORDER BY i)
FROM (VALUES (1, 0.5, 1), (2, 0.25, 0), (3, 1, 1)) v(i, p, y);
SELECT gpu_logloss(p, label), gpu_ks(p, label) FROM scored_cars WHERE false;
-- parallel workers, little memory, a statement that the planner would put into a worker as a whole
CREATE TABLE many AS SELECT i % 3 = 0 AS label, (i * 7919 % 100003) / 100003.0 AS p FROM generate_series(1, 100000) i;
ANALYZE many;
CREATE FUNCTION digest() RETURNS text LANGUAGE sql AS $$
    SELECT md5(string_agg(r::text, ',' ORDER BY r.tp + r.fp)) || (SELECT md5(string_agg(c::text, ',')) FROM
        gpu_calibration('SELECT label, p FROM many') c) || (SELECT md5(string_agg(l::text, ',')) FROM
        gpu_lift('SELECT label, p FROM many') l) || (SELECT c::text FROM gpu_confusion('SELECT label, p FROM many') c)
    FROM gpu_roc('SELECT label, p FROM many') r
$$;
SET max_parallel_workers_per_gather = 0;
SELECT digest() AS serial \gset
SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0; SET work_mem = '64kB';
SELECT digest() = :'serial' AS same;
SELECT count(*) FROM gpu_roc('SELECT label, p FROM many');
SELECT function, rows FROM gpu_last_run();
SELECT set_config(name, 'on', false) FROM pg_settings
WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SELECT digest() = :'serial' AS same;
SELECT set_config(name, 'off', false) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size; RESET work_mem;
RESET max_parallel_workers_per_gather;
-- a query whose function calls gpu_roc
CREATE FUNCTION inner_points(y int) RETURNS int LANGUAGE sql AS $$
    SELECT y + 0 * count(*)::int FROM gpu_roc('SELECT label, score FROM scored_cars')
$$;
SELECT tp, fp FROM gpu_roc('SELECT inner_points(y), s FROM (VALUES (1, 1), (0, 0)) v(y, s)');
-- bad input
SELECT gpu_ranking_pass(score, label) FROM scored_cars;
SELECT gpu_roc('SELECT 1, (SELECT gpu_ranking_pass(score, label) FROM scored_cars)');
SELECT gpu_roc(NULL);
SELECT gpu_roc('SELECT am FROM mtcars');
SELECT gpu_roc('SELECT mpg, am, wt FROM mtcars');
SELECT gpu_roc('SELECT cut, price FROM diamonds');
SELECT gpu_roc('SELECT price > 100, cut FROM diamonds');
SELECT gpu_roc('SELECT am, am = 1 FROM mtcars');
SELECT gpu_roc('SELECT mpg, am FROM mtcars');
SELECT gpu_roc('SELECT am, ''NaN''::float8 FROM mtcars');
SELECT gpu_roc('SELECT am, mpg FROM mtcars', NULL);
SELECT gpu_roc('DELETE FROM mtcars RETURNING am, mpg');
SELECT gpu_confusion('SELECT am, mpg FROM mtcars', 'NaN');
SELECT gpu_confusion('SELECT am, mpg FROM mtcars', NULL);
SELECT gpu_confusion('SELECT 2, mpg FROM mtcars');
SELECT gpu_confusion('SELECT am, ''NaN''::real FROM mtcars');
SELECT gpu_calibration('SELECT am, mpg FROM mtcars');
SELECT gpu_calibration('SELECT am, mpg / 40 FROM mtcars', 0);
SELECT gpu_calibration('SELECT am, mpg / 40 FROM mtcars', NULL);
SELECT gpu_calibration('SELECT am, mpg / 40 FROM mtcars', strategy => 'equal');
SELECT gpu_calibration('SELECT am, mpg / 40 FROM mtcars', strategy => NULL);
SELECT gpu_lift('SELECT am, mpg / 40 FROM mtcars', 10001);
SELECT gpu_logloss(1.5, true);
SELECT gpu_logloss(0.5, 2);
SELECT gpu_confusion_combine('{1,2,3}', '{0,0,0,0}');
SELECT gpu_confusion_combine('{9223372036854775807,0,0,0}', '{1,0,0,0}');
SELECT gpu_confusion_accum('{0,-1,0,0}', 0.5, 0.5, true);
-- the caller's array is not changed
SELECT gpu_confusion_accum(c, 0.5, 0.5, true), c FROM (VALUES ('{0,0,0,0}'::bigint[])) v(c);
DROP TABLE many;
DROP VIEW scored_cars, scored_stones, areas;
DROP FUNCTION worst, by_quantiles, digest, inner_points;
