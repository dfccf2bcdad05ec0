-- Counts the digits that each form and solver gets right as conditions get worse, beside those that conditions allow.
--
--   psql -d an_empty_database -v log=/the/server.log -v long=no -f test/digits.sql
--
-- from the sources' root, as a superuser; script/test --only digits does that. Prints a table with a line per fit, and
-- then the verdicts as TAP. The rows and their exact fits come from test/data/digits_reference.py, which describes the
-- ladders and the allowed digits. long=yes adds the fits that take longest.
--
-- The digits of a fit are the fewest among its terms, of estimates and of standard errors: -log10 of the relative
-- error, at most 16. A fit fails if it has more than 2 digits fewer than allowed, or fewer than 8 although it reports
-- that it has converged. Linear fits and fits from arrays, which have no such flag, count as converged; but gpu_logreg
-- reports otherwise with a WARNING, for which the server's log is read. A term may be NULL, as collinear, if fewer than
-- 5 digits are allowed; the others are then compared with the exact fit without it. An error always fails, as each of
-- these fits exists.
\set ON_ERROR_STOP 1
\set QUIET 1
\pset footer off
\pset null ''
SET client_min_messages = error;
-- the server's log must get the warnings of every fit
SET log_min_messages = warning;
SET digits.log = :'log';
SET digits.long = :'long';

CREATE EXTENSION gpureg;

--
-- The references
--

CREATE TABLE ladder_rows (i serial, ladder text, step text, freq int, y int, z float8, x1 float8, x2 float8, x3 float8);
\copy ladder_rows (ladder, step, freq, y, z, x1, x2, x3) FROM 'test/data/digits_rows.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE exact (kind text, ladder text, step text, dropped text, allowed numeric, term int,
    estimate numeric, std_error numeric);
\copy exact FROM 'test/data/digits_fits.csv' WITH (FORMAT csv, HEADER, FORCE_NOT_NULL (dropped))
ANALYZE;

-- The number of right digits of got: the log relative error, or the log absolute error if the true value is 0.
CREATE FUNCTION digits(got float8, want numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN got IS NULL OR got IN ('NaN', 'Infinity', '-Infinity') THEN 0
        WHEN got::text::numeric = want THEN 16
        ELSE least(16, -log(abs(got::text::numeric - want) / CASE WHEN want = 0 THEN 1 ELSE abs(want) END))
    END
$$;

--
-- The fits. The rows of one step at a time are in the table data.
--

CREATE TABLE data (i int, y int, z float8, x float8[]);

CREATE FUNCTION steps() RETURNS gpu_model LANGUAGE plpgsql AS $$
DECLARE
    m gpu_model;
    beta float8[] := '{}';
BEGIN
    FOR round IN 1 .. 30 LOOP
        m := gpu_logreg_solve(gpu_logreg_step_agg(beta, y, VARIADIC x)) FROM data;
        beta := m.coef;
        EXIT WHEN m.converged;
    END LOOP;
    RETURN m;
END
$$;

CREATE FUNCTION fitted(kind text, form text, solver text) RETURNS gpu_model LANGUAGE plpgsql AS $$
DECLARE
    m gpu_model;
BEGIN
    IF kind = 'logistic' THEN
        CASE form
            WHEN 'arrays' THEN
                m.coef := gpu_logreg(array_agg(x), array_agg(y::float8)) FROM data;
                m.device := r.device FROM gpu_last_run() r;
            WHEN 'aggregate' THEN m := gpu_logreg_agg(y, VARIADIC x) FROM data;
            WHEN 'steps' THEN m := steps();
            WHEN 'query' THEN
                IF solver = 'newton' THEN
                    m := gpu_logreg_fit('SELECT y, x FROM data');
                ELSE
                    m := gpu_logreg_fit('SELECT y, x FROM data', solver => solver, max_iter => 10000);
                END IF;
        END CASE;
    ELSE
        CASE form
            WHEN 'arrays' THEN
                m.coef := gpu_ols(array_agg(x), array_agg(z)) FROM data;
                m.device := r.device FROM gpu_last_run() r;
            WHEN 'aggregate' THEN m := gpu_ols_agg(z, VARIADIC x) FROM data;
            WHEN 'query' THEN m := gpu_ols_fit('SELECT z, x FROM data');
            WHEN 'merged' THEN
                m := gpu_ols_solve(gpu_ols_rollup(s))
                    FROM (SELECT gpu_ols_stats_agg(z, VARIADIC x) AS s FROM data GROUP BY i % 4) t;
        END CASE;
    END IF;
    RETURN m;
END
$$;

-- aliased: columns without an estimate; alias_allowed: the digits allowed without them; ms: the fit's time
CREATE TABLE fits (id serial, kind text, ladder text, step text, form text, solver text, device text, allowed numeric,
    aliased text, alias_allowed numeric, digits_coef numeric, digits_se numeric, converged boolean, warning text,
    error text, ms numeric);

CREATE FUNCTION log_size() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT size FROM pg_stat_file(current_setting('digits.log'))
$$;
CREATE FUNCTION warning_since(place bigint) RETURNS text LANGUAGE sql VOLATILE AS $$
    SELECT substring(pg_read_file(current_setting('digits.log'), place, 100000) FROM 'WARNING:  ([^\n]*)')
$$;

-- Makes one fit, and compares it with the exact one.
CREATE PROCEDURE measure(f fits) LANGUAGE plpgsql AS $$
DECLARE
    m gpu_model;
    place bigint := log_size();
    started timestamptz := clock_timestamp();
    estimates float8[];
    std_errors float8[];
BEGIN
    SELECT allowed INTO STRICT f.allowed FROM exact e
    WHERE (e.kind, e.ladder, e.step, e.dropped, e.term) = (f.kind, f.ladder, f.step, '', 0);
    f.error := NULL;
    f.aliased := '';
    f.alias_allowed := NULL;
    f.digits_coef := NULL;
    f.digits_se := NULL;
    BEGIN
        m := fitted(f.kind, f.form, f.solver);
    EXCEPTION WHEN OTHERS THEN
        f.error := SQLSTATE || ' ' || SQLERRM;
    END;
    f.ms := round((extract(epoch FROM clock_timestamp() - started) * 1000)::numeric, 1);
    f.warning := warning_since(place);
    f.device := coalesce(split_part(m.device, ':', 1), current_setting('gpureg.device'));
    f.converged := CASE WHEN f.form = 'arrays' OR f.kind = 'ols' THEN f.warning IS NULL ELSE m.converged END;
    IF m.coef IS NULL THEN
        f.error := coalesce(f.error, 'NULL');
    ELSE
        IF f.form = 'arrays' THEN
            estimates := m.coef;
        ELSE
            SELECT array_agg(estimate ORDER BY i), array_agg(std_error ORDER BY i) INTO estimates, std_errors
            FROM gpu_tidy(m) WITH ORDINALITY AS t(term, estimate, std_error, statistic, p_value, low, high,
        df, class, i);
        END IF;
        f.aliased := coalesce(string_agg((i - 1)::text, ' ' ORDER BY i), '')
            FROM unnest(estimates) WITH ORDINALITY AS u(b, i) WHERE b IS NULL;
        SELECT min(digits(estimates[e.term + 1], e.estimate)),
               CASE WHEN std_errors IS NOT NULL THEN min(digits(std_errors[e.term + 1], e.std_error)) END,
               min(e.allowed)
        INTO f.digits_coef, f.digits_se, f.alias_allowed
        FROM exact e WHERE (e.kind, e.ladder, e.step, e.dropped) = (f.kind, f.ladder, f.step, f.aliased)
        HAVING count(*) = cardinality(array_remove(estimates, NULL));
    END IF;
    f.id := nextval('fits_id_seq');
    INSERT INTO fits VALUES (f.*);
END
$$;

CREATE PROCEDURE climb() LANGUAGE plpgsql AS $$
DECLARE
    s record;
    f fits;
BEGIN
    FOR s IN SELECT ladder, step, sum(freq) AS n, count(z) > 0 AS has_z
             FROM ladder_rows GROUP BY ladder, step ORDER BY min(i) LOOP
        TRUNCATE data;
        INSERT INTO data SELECT i + k, y, z, array_remove(ARRAY[x1, x2, x3], NULL)
            FROM ladder_rows r, generate_series(0, r.freq - 1) k WHERE (ladder, step) = (s.ladder, s.step);
        ANALYZE data;
        f.ladder := s.ladder;
        f.step := s.step;
        f.kind := 'logistic';
        FOR f.form, f.solver IN VALUES ('arrays', 'newton'), ('aggregate', 'newton'), ('query', 'newton'),
                                       ('steps', 'newton'), ('query', 'lbfgs'), ('query', 'gd') LOOP
            --             leaves out fits of more than three seconds or so
            CONTINUE WHEN current_setting('digits.long') <> 'yes' AND 3e6 <
                s.n * CASE WHEN f.solver = 'gd' THEN 200 WHEN f.solver = 'lbfgs' THEN 2 WHEN f.form = 'steps' THEN 7
                           ELSE 1 END;
            CALL measure(f);
            COMMIT;
        END LOOP;
        CONTINUE WHEN NOT s.has_z;
        f.kind := 'ols';
        f.solver := NULL;
        FOR f.form IN VALUES ('arrays'), ('aggregate'), ('query'), ('merged') LOOP
            CALL measure(f);
        END LOOP;
        COMMIT;
    END LOOP;
END
$$;
CALL climb();

--
-- The verdicts
--

CREATE VIEW judged AS
SELECT *, CASE
        WHEN error IS NOT NULL THEN error
        WHEN aliased <> '' AND allowed >= 5 THEN 'a term left out that has an estimate'
        WHEN fewest IS NULL THEN 'terms missing'
        WHEN fewest < alias_allowed - 2 THEN 'digits lost'
        WHEN coalesce(converged, true) AND fewest < 8 THEN 'said to be right'
    END AS fault
FROM (SELECT *, least(digits_coef, digits_se) AS fewest FROM fits) t;

SELECT kind, ladder, step, form, solver, device, round(allowed, 1) AS allowed, aliased,
       round(digits_coef, 1) AS digits_coef, round(digits_se, 1) AS digits_se,
       CASE WHEN kind = 'logistic' THEN converged END AS converged, coalesce('NOT OK: ' || fault, 'ok') AS verdict,
       warning
FROM judged ORDER BY kind, min(id) OVER (PARTITION BY ladder), form = 'steps', form, solver DESC, id;

\pset format unaligned
\pset tuples_only on
\pset fieldsep ''
SELECT CASE WHEN fault IS NULL THEN 'ok ' ELSE 'not ok ' END || row_number() OVER (ORDER BY kind, id),
       format(' - %s, %s %s, %s%s, %s: %s digits of estimates%s, %s allowed%s%s%s', kind, ladder, step, form,
              ' by ' || solver, device, coalesce(round(digits_coef, 1)::text, 'no'),
              ', ' || round(digits_se, 1) || ' of standard errors', round(coalesce(alias_allowed, allowed), 1),
              CASE WHEN aliased <> '' THEN ', without x' || replace(aliased, ' ', ' and x') END,
              CASE WHEN kind = 'ols' THEN NULL WHEN converged THEN ', converged' ELSE ', not converged' END,
              ': ' || fault)
FROM judged ORDER BY kind, id;
SELECT format('1..%s', count(*)) FROM fits;
