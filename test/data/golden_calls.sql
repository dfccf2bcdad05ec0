-- Calls every immutable function of the extension over golden tables, and records the answers: test/t/026_upgrade.pl
-- repeats the calls under other settings.
CREATE FUNCTION sample(type regtype, name text, k int) RETURNS text LANGUAGE sql AS $$
    SELECT CASE type::text
        WHEN 'double precision' THEN (ARRAY['0.75', '2', '0.5'])[k]
        WHEN 'integer' THEN (ARRAY['3', '2', '16'])[k]
        WHEN 'bigint' THEN (ARRAY['40', '7', '2'])[k]
        WHEN 'boolean' THEN (ARRAY['true', 'false', 'true'])[k]
        WHEN 'real[]' THEN (ARRAY['''{1.5,2,-0.1}''', '''{0.1}''', '''{{1,2},{3,4}}'''])[k]
        WHEN 'bigint[]' THEN (ARRAY['''{1,70,3}''', '''{5}''', '''{2,2}'''])[k]
        WHEN 'integer[]' THEN (ARRAY['''{1,1}''', '''{1}''', 'NULL'])[k]
        WHEN 'double precision[]' THEN CASE name WHEN 'beta' THEN '''{0.25,-0.5,0.125}''' WHEN 'x' THEN '''{0.1,0.2}'''
            ELSE (ARRAY['''{0.1,0.2}''', '''{0.25,-0.5,0.125}''', '''{0.1}'''])[k] END
        WHEN 'jsonb' THEN (ARRAY['''{"a": 0.1, "b": "t"}''', '''{"x": 1e-7}''', '''{}'''])[k]
        WHEN 'text[]' THEN (ARRAY['''{(intercept),a,b}''', '''{y,a,b}''', '''{a}'''])[k]
        WHEN 'text' THEN CASE name WHEN 'kind' THEN '''prediction''' WHEN 'criterion' THEN '''aic'''
            WHEN 'method' THEN '''forward''' WHEN 'family' THEN '''poisson''' WHEN 'link' THEN 'NULL'
            WHEN 'vcov' THEN '''CR1''' ELSE '''a''' END
        WHEN 'bytea' THEN '''\x00'''
        WHEN '"any"' THEN CASE name WHEN 'endogenous' THEN '''{1}''::int[]' WHEN 'instruments' THEN '''{2}''::int[]'
            WHEN 'positive' THEN 'false' WHEN 'features' THEN 'NULL::int[]' WHEN 'response' THEN 'NULL::int'
            ELSE '5::bigint' END
        WHEN 'gpu_model' THEN format('(SELECT m FROM public.golden_models WHERE name = %L)',
            (ARRAY['ols', 'logistic', 'poisson'])[k])
        WHEN 'gpu_ols_stats' THEN format('(SELECT s FROM public.golden_stats WHERE name = %L)',
            (ARRAY['plain', 'weighted', 'part 1'])[k])
        WHEN 'gpu_logreg_step' THEN format('(SELECT s FROM public.golden_steps WHERE name = %L)',
            (ARRAY['of numbers', 'poisson', 'first'])[k])
        END || CASE WHEN type = '"any"'::regtype THEN '' ELSE format('::%s', (SELECT CASE
            WHEN typnamespace = 'public'::regnamespace THEN 'public.' ELSE '' END FROM pg_type WHERE oid = type)
            || type) END
$$;

-- Functions with defaults are also called with these; functions of any number of arguments are called with two.
CREATE TABLE calls AS
    SELECT p.oid::regprocedure AS f, k, given, format('public.%I(%s)', proname, (SELECT string_agg(CASE
        WHEN provariadic = 0 OR o < pronargs THEN coalesce(public.sample(t, proargnames[o], k), 'NULL')
        WHEN provariadic = '"any"'::regtype THEN '0.1::float8, 2'
        ELSE 'VARIADIC ' || public.sample(t, 'x', k) END, ', ' ORDER BY o)
        FROM unnest(proargtypes::oid[]) WITH ORDINALITY a(t, o) WHERE o <= given)) AS call
    FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
        AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'gpureg'),
        generate_series(1, 3) k, generate_series(pronargs - pronargdefaults, pronargs::int) given
    WHERE provolatile = 'i' AND prokind = 'f' AND prorettype NOT IN ('internal'::regtype, 'cstring'::regtype)
        AND NOT EXISTS (SELECT FROM unnest(proargtypes) u WHERE u IN ('internal'::regtype, 'cstring'::regtype));

CREATE FUNCTION answers() RETURNS TABLE (f text, call text, answer text) LANGUAGE plpgsql AS $$
BEGIN
    FOR f, call IN SELECT c.f::pg_catalog.text, c.call FROM public.calls c ORDER BY c.f::pg_catalog.oid, c.k, c.given
    LOOP
        BEGIN
            EXECUTE format('SELECT string_agg(encode(record_send(ROW(t.*)), ''hex''), '','') FROM %s t', call)
                INTO answer;
        EXCEPTION WHEN OTHERS THEN
            answer := 'error ' || SQLSTATE;
        END;
        RETURN NEXT;
    END LOOP;
END $$;
CREATE TABLE usual AS SELECT * FROM answers();
