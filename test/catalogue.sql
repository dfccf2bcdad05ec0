-- Prints everything in pg_catalog about the extension, a line per object and fact, by names instead of OIDs: a database
-- with an updated extension must print the same as one with a new extension (test/t/026_upgrade.pl). Tests run it by
-- psql -XAt; search_path is emptied, so that every name has its schema.
SET search_path = pg_catalog;

CREATE TEMPORARY VIEW members AS
    SELECT d.classid, d.objid, pg_describe_object(d.classid, d.objid, 0) AS name
    FROM pg_depend d JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
    WHERE e.extname = 'gpureg' AND d.deptype = 'e';
-- with dependent objects: row types, array types, tables of composite types
CREATE TEMPORARY VIEW objects AS
    WITH RECURSIVE o AS (
        SELECT classid, objid FROM members
        UNION
        SELECT d.classid, d.objid FROM o JOIN pg_depend d ON d.refclassid = o.classid AND d.refobjid = o.objid
        WHERE d.deptype IN ('i', 'a')
    )
    SELECT classid, objid, pg_describe_object(classid, objid, 0) AS name FROM o;

-- A catalogue's row without columns that differ between databases, followed by the names of objects that it refers to.
CREATE TEMPORARY VIEW facts AS
    SELECT 'extension' AS what, extname::text AS name,
        (to_jsonb(e) - '{oid,extowner,extnamespace}'::text[] || jsonb_build_object('schema', extnamespace::regnamespace,
            'owner', extowner::regrole)) AS fact
    FROM pg_extension e WHERE extname = 'gpureg'
    UNION ALL
    SELECT 'member', name, jsonb_build_object('identity', pg_identify_object(classid, objid, 0)::text) FROM members
    UNION ALL
    SELECT 'function', o.name, to_jsonb(p) - '{oid,proowner,pronamespace,proargtypes,proallargtypes,prorettype,
        provariadic,proargdefaults,prosqlbody}'::text[] || jsonb_build_object('arguments', pg_get_function_arguments(p.oid),
            'result', pg_get_function_result(p.oid), 'variadic', provariadic::regtype, 'owner', proowner::regrole)
    FROM objects o JOIN pg_proc p ON o.classid = 'pg_proc'::regclass AND o.objid = p.oid
    UNION ALL
    SELECT 'aggregate', o.name, to_jsonb(a) - '{aggfnoid,aggtranstype,aggmtranstype,aggsortop}'::text[]
        || jsonb_build_object('state', aggtranstype::regtype, 'moving', aggmtranstype::regtype,
            'sort', aggsortop::regoperator)
    FROM objects o JOIN pg_aggregate a ON o.classid = 'pg_proc'::regclass AND o.objid = a.aggfnoid
    UNION ALL
    SELECT 'type', o.name, to_jsonb(t) - '{oid,typnamespace,typowner,typrelid,typelem,typarray,typbasetype,
        typcollation}'::text[] || jsonb_build_object('owner', typowner::regrole, 'element', typelem::regtype,
            'array', typarray::regtype, 'base', typbasetype::regtype, 'relation', typrelid::regclass)
    FROM objects o JOIN pg_type t ON o.classid = 'pg_type'::regclass AND o.objid = t.oid
    UNION ALL
    --     pg_attver, a column of some minor releases, differs between databases
    SELECT 'column', o.name || '.' || attnum, to_jsonb(a) - '{attrelid,atttypid,attcollation,attcacheoff,
        attoptions}'::text[] || jsonb_build_object(
            'options', (SELECT array_agg(w) FROM unnest(attoptions) w WHERE w NOT LIKE 'pg_attver=%'),
            'type', format_type(atttypid, atttypmod), 'collation', attcollation::regcollation)
    FROM objects o JOIN pg_attribute a ON o.classid = 'pg_class'::regclass AND o.objid = a.attrelid
    UNION ALL
    SELECT 'cast', o.name, to_jsonb(c) - '{oid,castsource,casttarget,castfunc}'::text[]
        || jsonb_build_object('function', castfunc::regprocedure)
    FROM objects o JOIN pg_cast c ON o.classid = 'pg_cast'::regclass AND o.objid = c.oid
    UNION ALL
    SELECT 'operator', o.name, to_jsonb(p) - '{oid,oprnamespace,oprowner,oprleft,oprright,oprresult,oprcom,
        oprnegate}'::text[] || jsonb_build_object('result', oprresult::regtype, 'commutator', oprcom::regoperator,
            'negator', oprnegate::regoperator)
    FROM objects o JOIN pg_operator p ON o.classid = 'pg_operator'::regclass AND o.objid = p.oid
    UNION ALL
    SELECT 'comment', o.name || '.' || objsubid, to_jsonb(description)
    FROM objects o JOIN pg_description d ON d.classoid = o.classid AND d.objoid = o.objid
    UNION ALL
    SELECT 'privileges', o.name || '.' || objsubid, to_jsonb(p) - '{objoid,classoid}'::text[]
    FROM objects o JOIN pg_init_privs p ON p.classoid = o.classid AND p.objoid = o.objid
    UNION ALL
    SELECT 'label', o.name, to_jsonb(l) - '{objoid,classoid}'::text[]
    FROM objects o JOIN pg_seclabel l ON l.classoid = o.classid AND l.objoid = o.objid
    UNION ALL
    SELECT 'dependency', o.name || '.' || d.objsubid, jsonb_build_object('on', pg_describe_object(refclassid, refobjid,
        refobjsubid), 'type', deptype)
    FROM objects o JOIN pg_depend d ON d.classid = o.classid AND d.objid = o.objid;

SELECT concat_ws(' ', what, name, fact) FROM facts ORDER BY what COLLATE "C", name COLLATE "C", fact::text COLLATE "C";
