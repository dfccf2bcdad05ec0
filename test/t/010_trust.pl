# Attacks by a role that owns nothing, by a role that owns the extension and its schema, and by one that has stolen a
# ring's ticket. No statement may kill the server, run one role's code as another, read a value as another type, or
# write to a place that isn't its own.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use GpuregTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Segments as files in the data directory, so that a superuser can read a ring's key out of them
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', join "\n", 'dynamic_shared_memory_type = mmap', 'max_worker_processes = 16',
	'max_parallel_workers = 8',
	'max_parallel_workers_per_gather = 2', 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0',
		'min_parallel_table_scan_size = 0',
	"statement_timeout = '30s'", 'restart_after_crash = on', 'gpureg.device = cpu', '');
$node->start;
my $pid = postmaster_pid($node);

# owner has the extension, its schema and two more; mallory may create temporary objects, as everyone may.
$node->safe_psql('postgres', q{
	CREATE ROLE owner LOGIN;
	CREATE ROLE mallory LOGIN NOINHERIT;
	GRANT CREATE ON DATABASE postgres TO owner;});
$node->safe_psql('postgres', q{
	CREATE SCHEMA stats;
	CREATE SCHEMA a;
	CREATE SCHEMA b;
	GRANT USAGE ON SCHEMA stats, a, b TO public;
	CREATE EXTENSION gpureg SCHEMA stats;
	CREATE TABLE a.t AS SELECT i, sin(i) + i % 5 AS y, (i * 7 + i / 3) % 5 < 2 AS won, (i % 7)::float8 AS x,
		ARRAY[i % 3, i % 5]::real[] AS v
		FROM generate_series(1, 20000) i;
	CREATE TABLE b.t AS SELECT i, 'text of ' || i AS y, 'won ' || i AS won, 'pointer ' || i AS x, 'vector ' || i AS v
		FROM generate_series(1, 20000) i;
	GRANT SELECT ON a.t, b.t TO public;
	ANALYZE;}, extra_params => [ '-U', 'owner' ]);

sub as
{
	my ($role, $sql) = @_;

	my ($out, $err) = try_sql($node, "SET search_path = stats, pg_catalog, pg_temp;\n$sql", user => $role);
	return wantarray ? ($out, $err) : $out;
}

# Checks that the script fails with this code when run by this role, and that the session answers afterwards.
sub refused
{
	my ($role, $sql, $state, $name) = @_;
	my ($out, $err) = as($role, "$sql;\nSELECT 'still here'");

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	like(sqlstate($err), qr/^(?:$state)$/, "$name: SQLSTATE") or diag($err);
	like($out, qr/still here$/, "$name: the session goes on");
}

# Codes by which PostgreSQL refuses a value of type internal; they depend on its minor release
my $internal = '42883|0A000';

# Checks that the script gives this result when run by this role, and no message but notices.
sub gives
{
	my ($role, $sql, $expected, $name) = @_;
	my ($out, $err) = as($role, $sql);

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(sqlstate($err), 'none', "$name: no error") or diag($err);
	is($out, $expected, $name);
}

#
# States of every shape
#

my $none = q{'{"version":1,"features":-1,"skipped":3,"intercept":1,"beta":[],"head":[],"gram":[]}'::gpu_logreg_step};
my $one = q{(SELECT gpu_logreg_step_agg('{}', i % 2, i) FROM generate_series(1, 3) i)};
my $wide = q{array_fill(1e10::float8, '{10000}')};
my $asked = q{'{"version":2,"features":-1,"rows":0,"skipped":0,"shift":[],"gram":[]}'::gpu_ols_stats};
refused('mallory', "SELECT length(gpu_logreg_array_pass_accum($none, NULL, 1.0::float8, $wide)::text)",
	'22023', 'a state of nothing, a wide row');
refused('mallory', "SELECT length(gpu_logreg_array_pass_accum($one, NULL, 1.0::float8, $wide)::text)",
	'22023', 'a state of one feature, a wide row');
refused('mallory', "SELECT length(gpu_logreg_array_pass_accum(NULL, $one, 1.0::float8, $wide)::text)",
	'22023', 'a request for one feature, a wide row');
refused('mallory', "SELECT length(gpu_logreg_array_pass_accum($one, $one, 1.0::float8, '{}'::float8[])::text)",
	'22023', 'a state of one feature, none in the row');
refused('mallory', "SELECT length(gpu_logreg_array_pass_accum($one, $one, 1, $wide)::text)", '22023',
	'a state of one feature, a wide array');
refused('mallory', "SELECT length(gpu_logreg_array_pass_accum($none, $one, 1, $wide)::text)", '22023',
	'a state of nothing, a request for one feature, a wide array');
refused('mallory', "SELECT length(gpu_logreg_array_pass_accum(NULL, $none, 1, $wide)::text)", '22023',
	'a request of nothing');
refused('mallory', "SELECT gpu_features_pass(names, false, 0, 1, x)
	FROM (VALUES ('{y,v}'::text[], '{1}'::float8[]), (NULL, $wide)) v(names, x)", '22023', 'an array that grows');
gives('mallory', "SELECT gpu_logreg_array_pass_accum($none, $one, 1.0::float8,
	NULL::float8[])::text ~ '\"features\":1,\"skipped\":4,'", 't',
	'what a state of nothing left out stays counted');
refused('mallory', qq{
	CREATE AGGREGATE pg_temp.forged(request gpu_logreg_step, y float8, x float8[])
		(SFUNC = gpu_logreg_array_pass_accum, STYPE = gpu_logreg_step,
			INITCOND = '{"version":1,"features":-1,"skipped":0,"intercept":1,"beta":[],"head":[],"gram":[]}');
	SELECT length(pg_temp.forged(NULL, 1.0::float8, $wide)::text)}, '22023',
	'an aggregate that begins with a state of nothing');
refused('mallory', qq{
	DO \$\$ BEGIN EXECUTE format('CREATE AGGREGATE pg_temp.forged(request gpu_logreg_step, y float8, x float8[])
		(SFUNC = gpu_logreg_array_pass_accum, STYPE = gpu_logreg_step, INITCOND = %L)', $one); END \$\$;
	SELECT length(pg_temp.forged(NULL, 1.0::float8, $wide)::text)
		FROM generate_series(1, 500)}, '22023', 'an aggregate that begins with a state of one feature');

# States that no SQL should see: with pending rows, or of a pass of gpu_logreg_fit, from aggregates without a final
# function
my $raw = qq{
	CREATE AGGREGATE pg_temp.raw_stats(float8, VARIADIC float8[]) (SFUNC = gpu_ols_stats_accum, STYPE = gpu_ols_stats);
	CREATE AGGREGATE pg_temp.raw_pass(gpu_ols_stats, text[], int[], VARIADIC "any") (SFUNC = gpu_ols_pass_accum,
		STYPE = gpu_ols_stats);
	CREATE AGGREGATE pg_temp.raw_step(float8[], float8, VARIADIC float8[]) (SFUNC = gpu_logreg_step_accum,
		STYPE = gpu_logreg_step);
	CREATE AGGREGATE pg_temp.raw_step_pass(gpu_logreg_step, float8, float8[])
		(SFUNC = gpu_logreg_array_pass_accum, STYPE = gpu_logreg_step);
	CREATE TEMP TABLE raw AS SELECT pg_temp.raw_stats(y, x, i) AS stats,
		pg_temp.raw_pass($asked, NULL, NULL, y, x, i) AS pass, pg_temp.raw_step('{}', won::int, x, i) AS step
		FROM a.t WHERE i <= 100;
	ALTER TABLE raw ADD step_pass gpu_logreg_step;
	UPDATE raw SET step_pass = (SELECT pg_temp.raw_step_pass(step, won::int, ARRAY[x, i]) FROM a.t WHERE i <= 100);
};
# the scan sums more rows at a time, so its last bits differ
gives('mallory', "SET gpureg.enable_scan = off; $raw SELECT s = pass::text,
	s = (SELECT gpu_ols_stats_agg(y, x, i)::text FROM a.t WHERE i <= 100),
	t = step_pass::text, t = (SELECT gpu_logreg_step_agg('{}', won, x, i)::text FROM a.t WHERE i <= 100)
	FROM raw, LATERAL (SELECT stats::text, step::text) AS texts(s, t)", 't|t|t|t',
		'states with pending rows are states');
gives('mallory', "$raw SELECT (gpu_ols_solve(stats)).n, (gpu_ols_model_final(stats)).n,
	(gpu_ols_solve(gpu_ols_stats_combine(stats, pass))).n,
	(gpu_ols_solve(gpu_ols_stats_accum(stats, 1, 2, 3))).n, (gpu_logreg_solve(step)).n,
		(gpu_logreg_solve(gpu_logreg_step_combine(step, step_pass))).n,
	(gpu_logreg_solve(gpu_logreg_step_accum(step, '{}', 1.0::float8, 2, 3))).n FROM raw", '100|100|200|101|100|200|101',
		'and merge, grow and solve as such');
for my $case (
	[ 'gpu_ols_stats_accum(stats, 1, 2)', '22023' ],
		[ 'gpu_ols_stats_accum(stats, 1, VARIADIC array_fill(1::float8, ARRAY[9999]))', '22023' ],
	[ "gpu_ols_pass_accum(stats, $asked, NULL, NULL, 1.0::float8, $wide)", '22023' ],
		[ "gpu_ols_pass_accum(pass, $asked, '{y}', NULL, 1.0::float8, 2, 3, 4)", '22023' ],
	[ "gpu_ols_pass_accum(pass, $asked, '{y}', NULL, 'a'::text, 2)", '42804' ],
		[ "gpu_logreg_array_pass_accum(step, step, 1.0::float8, $wide)", '22023' ],
	[ "gpu_logreg_step_accum(step, '{}', 1.0::float8, VARIADIC $wide)", '22023' ],
		[ "gpu_logreg_array_pass_accum(step, step, 1.0::float8, '{1}')", '22023' ],
	[ "gpu_ols_pass_accum(NULL, $asked, NULL, '{10000}', 1.0::float8, '{1,2}'::float8[])", '22023' ],
	[ "gpu_ols_pass_accum(stats, $asked, NULL, '{2,3}', 1.0::float8, 1, 2)", '22023' ],
	[ "gpu_ols_pass_accum(NULL, $asked, '{y}', '{-1}', 1.0::float8, '{1}'::float8[])", '22023' ],
	[ "gpu_ols_pass_accum(NULL, $asked, NULL, '{{1}}', 1.0::float8, 1)", '22023' ],
	[ "gpu_ols_pass_accum(NULL, $asked, NULL, '{1,NULL}', 1.0::float8, 1, 2)", '22023' ],
	[ "gpu_ols_pass_accum(NULL, $asked, NULL, array_fill(10000, ARRAY[3]), 1.0::float8, $wide, $wide, $wide)",
		'54000' ],
	[ "gpu_ols_pass_accum(NULL, $asked, array_fill('y'::text, ARRAY[9999]), '{2}', 'NaN'::float8, '{1,2}'::float8[])",
		'22023' ],
	[ "gpu_ols_stats_combine(stats, (SELECT gpu_ols_stats_agg(i, i) FROM generate_series(1, 3) i))", '22023' ],
		[ "gpu_logreg_step_combine(step, $one)", '22023' ])
{
	refused('mallory', "$raw SELECT $case->[0]::text FROM raw", $case->[1], "by hand: $case->[0]");
}

# States of rows with weights, some of them pending, combined with rows without, and the reverse
my $weighted = qq{$raw
	CREATE AGGREGATE pg_temp.raw_wls(float8, float8, VARIADIC float8[]) (SFUNC = gpu_wls_stats_accum,
		STYPE = gpu_ols_stats);
	CREATE TEMP TABLE weighted AS SELECT *, (SELECT pg_temp.raw_wls(i % 3, y, x, i) FROM a.t WHERE i <= 100) AS wls
		FROM raw;
};
gives('mallory', "$weighted SELECT (gpu_ols_solve(wls)).n, (gpu_ols_solve(gpu_ols_stats_accum(wls, 1, 2, 3))).n,
	(gpu_ols_solve(gpu_wls_stats_accum(stats, 2, 1, 2, 3))).n,
	(gpu_ols_solve(gpu_ols_stats_combine(stats, wls))).n, (gpu_ols_solve(gpu_ols_stats_combine(wls, stats))).n,
		(gpu_ols_solve(gpu_wls_array_pass_accum(wls, 1, '{2,3,4}'))).n,
	(gpu_ols_solve(gpu_wls_array_pass_accum(stats, 1, '{2,3,4}'))).n,
		(gpu_ols_solve(gpu_wls_array_pass_accum(stats, 1, '{2,3,0}'))).n,
	gpu_ols_stats_accum(wls, 1, 2, 3)::text = gpu_wls_stats_accum(wls, 1, 1, 2, 3)::text,
		gpu_ols_pass_accum(wls, $asked, NULL, NULL, 1, 2, 3)::text =
	gpu_wls_stats_accum(wls, 1, 1, 2, 3)::text
		FROM weighted", '67|68|101|167|167|68|101|100|t|t', 'rows with weights and without in one state');
for my $case (
	[ 'gpu_wls_stats_accum(wls, 1, 1, 2)', '22023' ], [ 'gpu_wls_stats_accum(stats, -1, 1, 2, 3)', '22023' ],
		[ "gpu_wls_stats_accum(NULL, 1, 1, VARIADIC $wide || 1::float8)", '54000' ],
	[ "gpu_wls_array_pass_accum(wls, 1, '{}')", '22023' ], [ "gpu_wls_array_pass_accum(wls, 1, '{1,2}')", '22023' ],
		[ "gpu_wls_array_pass_accum(NULL, 1, '{1}')", '22023' ],
	[ "gpu_wls_array_pass_accum(NULL, 1, '{}')", '22023' ], [ "gpu_wls_array_pass_accum(wls, 1, $wide)", '22023' ],
		[ "gpu_wls_array_pass_accum(wls, 1, '{1,2,-3}')", '22023' ],
	[ "gpu_ols_pass_accum(NULL, wls, NULL, NULL, 1)", '42804' ],
		[ "gpu_ols_pass_accum(NULL, wls, NULL, '{1}', 1, ARRAY[1], 3)", '42804' ],
	[ "gpu_ols_pass_accum(NULL, wls, NULL, '{1,2}', 1, 2, 3)", '22023' ],
		[ "gpu_ols_pass_accum(NULL, NULL, NULL, NULL, 1, 2)", '22023' ],
	[ "gpu_features_pass(NULL, true, 7, 1, 2)", '42804' ], [ "gpu_features_pass(NULL, true, 3, 2, 1, 1, 5)", '22023' ],
		[ "gpu_features_pass(NULL, false, 5, 1, 1.5, 5)", '22023' ],
	[ q{'{"version":3,"features":1,"rows":1,"skipped":0,"weights":[0],"shift":[0,0],"gram":[-1,0,1,0,1,0,1,0,1,0,1,'
		'0]}'::gpu_ols_stats}, '22P02' ],
	[ q{'{"version":1,"features":1,"skipped":0,"pass":0,"roles":16,"faces":0,"changed":0,"rows":0,"workers":0,'
		'"relative":[0],"request":[],"sums":[]}'::gpu_logreg_step}, '22P02' ])
{
	refused('mallory', "$weighted SELECT $case->[0]::text FROM weighted", $case->[1], "by hand: $case->[0]");
}

# Arguments that change from row to row, so that the first row's don't hold for the others
refused('mallory', qq{
	SELECT length(gpu_logreg_array_pass_accum(s, s, 1.0::float8, x)::text)
		FROM (VALUES ($one, '{1}'::float8[]),
		((SELECT gpu_logreg_step_agg('{}', i % 2, i, i * i, i % 3) FROM generate_series(1, 9) i),
			'{1,2}')) v(s, x)}, '22023', 'a state of another width in the next row');
refused('mallory', qq{
	SELECT length(gpu_ols_pass_accum(s, $asked, '{y,x}', NULL, 1.0::float8, x)::text)
		FROM (VALUES (NULL::gpu_ols_stats, '{1}'::float8[]),
		((SELECT gpu_ols_stats_agg(i, i, i * i, i % 3) FROM generate_series(1, 9) i), '{1,2,3}')) v(s,
			x)}, '22023', 'likewise, OLS');

# Designs that no fit wrote, and values of other types
my $design = q{'1 "" 3 n "x" f "g" 2 "a" "b" b "k" 2 "1" "2" 3 1 n 0 2 c 1 p 0 3 1 d 2'};
gives('mallory', "SELECT gpu_design_row($design, false, 2, 'b', 1), gpu_design_row($design, true, 2, 'b'::name,
	1.0::numeric), gpu_design_row($design, false, 2, NULL::text, 1),
	gpu_design_row($design, false, '{3}'::float8[], 'a', 2::bigint), gpu_design_row('1 \"\" 1 n \"x\" 0', false, 1),
		gpu_design_row($design, false, '{NULL}'::float8[], 'a', 2)",
	'{2,2,4,8,1,0}|{2,2,4,8,1,0,0,0,0}||{3,0,0,0,0,1}|{}|', 'a design, by hand');
for my $case (
	[ "gpu_design_row($design, false, 2, 'c', 1)", '22000' ], [ "gpu_design_row($design, false, 2, 'b', 3)", '22000' ],
		[ "gpu_design_row($design, false, 2, 'b')", '22023' ],
	[ "gpu_design_row($design, false, 2, 'b', 1, 1)", '22023' ], [ "gpu_design_row($design, false, 2, 'b', 'a'::text)",
		'22023' ],
	[ "gpu_design_row($design, false, 'b', 2, 1)", '22023' ], [ "gpu_design_row($design, false, 2, now(), 1)",
		'22023' ], [ "gpu_design_row($design, false, ARRAY[2], 'b', 1)", '22023' ],
	[ "gpu_design_row($design, false, '{1,2}'::float8[], 'b', 1)", '22023' ],
		[ "gpu_design_row($design, false, '{}'::float8[], 'b', 1)", '22023' ],
	[ "gpu_design_row($design, false, '{1}'::float8[], '{}'::float8[], 1)", '22023' ],
		[ "gpu_design_row($design, false, 'b', '{1}'::float8[], 1)", '22023' ],
	[ "gpu_design_row($design, false, VARIADIC ARRAY['2', 'b', '1'])", '22023' ],
		[ "gpu_design_row($design, false, ROW(2), 'b', 1)", '22023' ],
	[ "gpu_design_row('', false, 1)", '22023' ], [ q{gpu_design_row('2 "" 0 0', false, 1)}, '22023' ],
		[ q{gpu_design_row('1 "" 0 1 1 n 0', false, 1)}, '22023' ],
	[ q{gpu_design_row('1 "" 1 n "x" 1 1 n 1', false, 1)}, '22023' ],
		[ q{gpu_design_row('1 "" 1 n "x" 1 1 c 0', false, 1)}, '22023' ],
	[ q{gpu_design_row('1 "" 1 f "x" 2 "a" "a" 1 1 c 0', false, 'a')}, '22023' ],
		[ q{gpu_design_row('1 "" 1664 n "x" 1 1 n 0', false, 1)}, '22023' ],
	[ q{gpu_design_row('1 "" 99999999999 0', false, 1)}, '22023' ],
		[ q{gpu_design_row('1 "" 1 n "x" 10000 ' || repeat('1 p 0 50 ', 10000), false, 1)}, '22023' ],
	[ q{gpu_design_row('1 "" 1 n "x" 1 3 p 0 50 p 0 50 p 0 50', false, 1)}, '22023' ],
		[ q{gpu_design_row('1 "" 1 n "x" 1 1 q 0 2 7ff0000000000000', false, 1)}, '22023' ],
	[ q{gpu_design_row('1 "' || repeat('x', 1000000) || '" 0 0', false, 1)}, '22023' ],
		[ q{gpu_design_row('1 "" 1 f "x" 10002 ' || repeat('"', 100000), false, 'a')}, '22023' ],
	[ "gpu_levels_accum(NULL, NULL, 'a'::text)", $internal ], [ 'gpu_levels_combine(NULL, NULL)', $internal ],
		[ 'gpu_levels_final(NULL)', $internal ],
	[ q{(SELECT gpu_levels_pass('{x}', v) FROM (VALUES ('{1}'::int[])) u(v))}, '42804' ],
		[ q{(SELECT gpu_levels_pass(NULL, repeat('x', 2000)))}, '54000' ],
	[ q{(SELECT gpu_levels_pass('{NULL}', i) FROM generate_series(1, 20000) i)}, '54000' ])
{
	refused('mallory', "SELECT $case->[0]::text", $case->[1], 'by hand: ' . substr($case->[0], 0, 100));
}
gives('mallory', q{SELECT gpu_levels_pass('{x,y}', v, w)
	FROM (VALUES ('b'::text, 2.50::numeric), ('a', 1), (NULL, 3), ('b', 1.0)) u(v, w)}, '{2,b,a,2,2.5,1}', 'levels,
	by hand');
refused('mallory', 'CREATE AGGREGATE pg_temp.forged(text[], VARIADIC "any") (SFUNC = gpu_levels_accum,
	STYPE = internal)', '42P13', 'an aggregate of the same state');
# another design in each row, with other types behind it
gives('mallory', q{SELECT gpu_design_row(d, false, 1, 'a')
	FROM (VALUES ('1 "" 2 n "x" f "g" 2 "a" "b" 1 2 n 0 d 1'),
	('1 "" 2 n "x" f "g" 2 "c" "a" 2 1 d 1 1 p 0 2')) v(d)}, "{1,0}\n{0,1,1,1}",
	'a design that changes from row to row');
# levels with every byte; models whose designs were changed
gives('mallory', q{SELECT rank, bool_and(gpu_predict(m, chr(i)) = i)
	FROM (SELECT m, (m).rank FROM gpu_ols_fit('SELECT i, chr(i) AS c FROM generate_series(1, 255) i') m) u,
	generate_series(1, 255) i GROUP BY rank},
	'255|t', 'levels of every byte');
for my $change (q{''}, q{'"'}, 'NULL', q{repeat('1', 100000)}, q{replace((m).design, ' 3 ', ' 2 ')},
	q{replace((m).design, 'c 1', 'c 0')}, q{(m).design || ' 1'}, q{left((m).design, 30)},
	q{replace((m).design, 'c 1', 'd 1')})
{
	my ($out, $err) = as('mallory',
		"SELECT gpu_predict(f, 1, 'a')
		FROM (SELECT m AS f FROM (SELECT (jsonb_populate_record(m, jsonb_build_object('design', $change))).*
		FROM gpu_ols_fit('SELECT x, i, v[1]::text AS g FROM a.t') m) m) u;
		SELECT gpu_predict(jsonb_populate_record(m, jsonb_build_object('design', $change)), 1, '2')
			FROM gpu_ols_fit('SELECT x, i, v[1]::text AS g FROM a.t') m;\nSELECT 'still here'");

	like($out, qr/still here$/, "a model with the design $change: the session goes on");
	unlike($err, qr/XX000/, "a model with the design $change: no internal error");
}
# formulas that are long, deep or random
for my $formula (q{'y ~ ' || repeat('(', 65000)}, q{'y ~ x' || repeat('+.:.', 16000)}, q{repeat('y ~ x ', 10000)},
	q{'y ~ ' || repeat('"', 60001)}, q{'y ~ ' || repeat('x:', 30000) || 'x'}, q{repeat(chr(233), 30000)},
	q{E'y ~ x + \\x01'}, q{'y ~ poly(x, 50):poly(i, 50):poly(x, 49)'}, q{'y ~ ' || repeat('-', 60000)})
{
	my ($out, $err) = as('mallory',
		"SELECT (gpu_ols_fit('SELECT y, x, i FROM a.t', formula => $formula)).rank;\nSELECT 'still here'");

	like($out, qr/still here$/, "formula $formula: the session goes on");
	unlike($err, qr/XX000/, "formula $formula: no internal error");
}

# Every function called with nothing but NULLs must answer, or refuse with a code of its own.
gives('mallory', q{
	CREATE FUNCTION pg_temp.call(f regprocedure, arguments text) RETURNS text LANGUAGE plpgsql AS $$
	BEGIN
		EXECUTE format('SELECT %s(%s)::text', f::regproc, arguments);
		RETURN 'ok';
	EXCEPTION WHEN query_canceled OR internal_error OR assert_failure THEN
		RETURN format('%s(%s): %s', f, arguments, SQLERRM);
	WHEN OTHERS THEN
		RETURN 'ok';
	END $$;
	SELECT DISTINCT pg_temp.call(p.oid,
		(SELECT string_agg(CASE WHEN t IN ('internal'::regtype, '"any"'::regtype, 'anyelement'::regtype,
		'cstring'::regtype) THEN 'NULL'
		ELSE 'NULL::' || t::regtype END, ', ') FROM unnest(p.proargtypes) t))
	FROM pg_proc p WHERE pronamespace = 'stats'::regnamespace AND prokind = 'f';}, 'ok', 'every function,
		called with NULLs');
survived($node, $pid, 'states');

#
# Overloads beside the extension's own
#

my $workers = 'SET parallel_leader_participation = off';
my $fits = q{
	SELECT round((gpu_ols_fit('SELECT y, x FROM a.t')).coef[2]::numeric, 9);
	SET gpureg.debug_ring = on;
	SELECT round((gpu_ols_fit('SELECT y, x FROM a.t')).coef[2]::numeric, 9);
	SET gpureg.debug_ring = off;
	SET gpureg.ring_size = '1MB';
	SELECT round((gpu_logreg_fit('SELECT won, x, i FROM a.t, generate_series(1, 4)')).coef[2]::numeric, 9);
	SELECT reason ~ 'the query was run' FROM gpu_last_run();
	SELECT sum(cardinality(projection)) FROM gpu_project_rows('SELECT i, v FROM a.t', 3, 1, NULL::float8, NULL::int);
};
my $answers = as('mallory', $fits);
like($answers, qr/^-?\d\.\d{9}\n-?\d\.\d{9}\n-?\d\.\d{9}\nt\n60000$/, 'fits without overloads');
gives('owner', q{
	CREATE TABLE stats.called (who text, ticket bytea);
	GRANT INSERT ON stats.called TO public;
	CREATE FUNCTION stats.caught_ticket(bigint, bytea, text[], float8, float8) RETURNS bigint
		LANGUAGE plpgsql PARALLEL SAFE AS
		$$ BEGIN RAISE EXCEPTION 'ticket % of %', $2, current_user; END $$;
	CREATE FUNCTION stats.caught(text, gpu_ols_stats, text[], int[], float8, float8) RETURNS text
		LANGUAGE plpgsql PARALLEL SAFE AS $$ BEGIN RAISE EXCEPTION 'called by %', current_user; END $$;
	CREATE FUNCTION stats.caught_step(text, bytea, text[], int[], boolean, float8, int) RETURNS text
		LANGUAGE plpgsql PARALLEL SAFE AS
		$$ BEGIN RAISE EXCEPTION 'called by %', current_user; END $$;
	CREATE FUNCTION stats.caught_both(text, text) RETURNS text LANGUAGE sql PARALLEL SAFE AS 'SELECT $1 || $2';
	CREATE AGGREGATE stats.gpu_ols_pass(gpu_ols_stats, text[], int[], float8, float8) (SFUNC = stats.caught,
		STYPE = text, COMBINEFUNC = stats.caught_both, INITCOND = '', PARALLEL = SAFE);
	CREATE AGGREGATE stats.gpu_ingest_pass(bytea, text[], float8, float8) (SFUNC = stats.caught_ticket, STYPE = bigint,
		COMBINEFUNC = int8pl, INITCOND = 0, PARALLEL = SAFE);
	CREATE AGGREGATE stats.gpu_request_pass(bytea, text[], int[], boolean, float8, int)
		(SFUNC = stats.caught_step, STYPE = text, COMBINEFUNC = stats.caught_both, INITCOND = '', PARALLEL = SAFE);
	CREATE FUNCTION stats.gpu_project_pass(real[], int, bigint, numeric) RETURNS bytea
		LANGUAGE plpgsql PARALLEL SAFE AS $$ BEGIN RAISE EXCEPTION 'called by %', current_user; END $$;
	CREATE FUNCTION stats.gpu_vector_pass(float8[]) RETURNS bytea
		LANGUAGE plpgsql PARALLEL SAFE AS $$ BEGIN RAISE EXCEPTION 'called by %', current_user; END $$;
	ALTER EXTENSION gpureg ADD AGGREGATE stats.gpu_ols_pass(gpu_ols_stats, text[], int[], float8,
		float8);}, '', 'overloads in the schema, one of them a member of the extension');
for my $role ('mallory', 'owner')
{
	gives($role, $fits, $answers, "$role is served by the extension's own functions");
	gives($role, "$workers; $fits", $answers, "$role likewise, in workers alone");
}
# nobody may remove the extension's own functions from it
for my $statement ('ALTER EXTENSION gpureg DROP AGGREGATE gpu_ols_pass(gpu_ols_stats, text[], int[], VARIADIC "any")',
	'ALTER AGGREGATE gpu_ols_pass(gpu_ols_stats, text[], int[], VARIADIC "any") RENAME TO gone',
	'ALTER AGGREGATE gpu_ols_pass(gpu_ols_stats, text[], int[], VARIADIC "any") SET SCHEMA a')
{
	refused('owner', $statement, '42501', $statement);
}
refused('owner', 'DROP AGGREGATE gpu_ols_pass(gpu_ols_stats, text[], int[], VARIADIC "any")', '2BP01',
	'DROP AGGREGATE of a member');
survived($node, $pid, 'overloads');

#
# Queries must mean what they meant when they were analysed
#

# The planner calls flip() when it folds constants: from then on the same names mean other tables.
$node->safe_psql('postgres', q{
	CREATE FUNCTION a.flip(path text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
		AS $$ BEGIN PERFORM set_config('search_path', path, false); RETURN true; END $$;
	CREATE FUNCTION a.set(name text, value text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
		AS $$ BEGIN PERFORM set_config(name, value, false); RETURN true; END $$;},
	extra_params => [ '-U', 'owner' ]);
my $flipped = q{SELECT %s FROM t WHERE a.flip('b')};
my %flips = (
	'gpu_ols_fit' => [ 'y, x', q{SELECT round((stats.gpu_ols_fit($q$%s$q$)).coef[2]::numeric, 9)} ],
	'gpu_ols_fit, an array' => [ 'y, v', q{SELECT round((stats.gpu_ols_fit($q$%s$q$)).coef[2]::numeric, 9)} ],
	'gpu_ols_fit, a ring' => [ 'y, x',
		q{SELECT a.set('gpureg.debug_ring', 'on'), round((stats.gpu_ols_fit($q$%s$q$)).coef[2]::numeric, 9)} ],
	'gpu_logreg_fit' => [ 'won, x', q{SELECT round((stats.gpu_logreg_fit($q$%s$q$)).coef[2]::numeric, 9)} ],
	'gpu_logreg_fit, again and again' => [ 'won, x, i',
		q{SELECT a.set('gpureg.ring_size', '1MB'), round((stats.gpu_logreg_fit($q$%s $q$)).coef[2]::numeric, 9)} ],
	'gpu_ols_fit, clusters' => [ 'y, x, i',
		q{SELECT round((stats.gpu_ols_fit($q$%s$q$, vcov => 'CR1', clusters => '{i}')).vcov[2][2]::numeric, 12)} ],
	'gpu_logreg_fit, clusters of two kinds' => [ 'won, i, x, i % 7 AS week',
		q{SELECT round((stats.gpu_logreg_fit($q$%s$q$, vcov => 'CR2', clusters => '{x,week}')).vcov[2][2]::numeric,
		12)} ],
	'gpu_margins' => [ 'y, x',
		q{SELECT round(estimate::numeric, 9) FROM stats.gpu_margins(stats.gpu_logreg_fit('SELECT won, x FROM a.t'),
		$q$%s$q$)} ],
	'gpu_ols_boot' => [ 'y, x, i',
		q{SELECT round(std_error::numeric, 9) FROM stats.gpu_ols_boot($q$%s$q$, 50, 'i', kind => 'normal')} ],
	'gpu_ols_permute' => [ 'y, x, i',
		q{SELECT round(statistic::numeric, 9), p_value FROM stats.gpu_ols_permute($q$%s$q$, 99, 'i')} ],
	'gpu_logreg_boot, again and again' => [ 'won, x, i',
		q{SELECT a.set('gpureg.ring_size', '1MB'), round(std_error::numeric, 9)
		FROM stats.gpu_logreg_boot($q$%s $q$, 50, clusters => 'i', kind => 'bca', conf_level => 0.5)} ],
	'gpu_project_rows' => [ 'i, v',
		q{SELECT round(sum(p::float8)::numeric, 3) FROM stats.gpu_project_rows($q$%s$q$, 3, 1, NULL::float8, NULL::int),
		unnest(projection) p} ]);
for my $name (sort keys %flips)
{
	my ($columns, $statement) = @{ $flips{$name} };

	for my $set ('', 'SET max_parallel_workers_per_gather = 0;', 'SET parallel_leader_participation = off;')
	{
		my $straight = as('mallory', "$set SET search_path = a, pg_catalog; " . sprintf($statement,
			"SELECT $columns FROM a.t"));

		gives('mallory', "$set SET search_path = a, pg_catalog; " . sprintf($statement, sprintf($flipped, $columns)),
			$straight, "$name, $set another search_path");
	}
}
# A role that may only create temporary objects gives them names of the catalogue's.
gives('mallory', q{
	CREATE TEMP TABLE pg_am AS SELECT i::float8 AS y, sqrt(i) AS x FROM generate_series(1, 50) i;
	CREATE FUNCTION pg_temp.flip() RETURNS boolean
		LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM set_config('search_path', 'pg_catalog, pg_temp', false);
	RETURN true; END $$;
	SET search_path = pg_temp, pg_catalog;
	SELECT (stats.gpu_ols_fit('SELECT * FROM pg_am WHERE pg_temp.flip()')).n;
	SET search_path = pg_temp, pg_catalog;
	SELECT count(*) FROM stats.gpu_project_rows('SELECT y::int, ARRAY[x]::real[] FROM pg_am WHERE pg_temp.flip()',
		3, 1, NULL::float8, NULL::int)}, "50\n50", 'a temporary table by a name of the catalogue');

# The table itself changes after the query was analysed, which the server must detect.
gives('owner', q{
	CREATE TABLE a.changing AS SELECT i::float8 AS y, i % 7 AS x, i AS z FROM generate_series(1, 2000) i;
	CREATE FUNCTION a.really_change() RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
		BEGIN ALTER TABLE a.changing DROP x, ADD x text DEFAULT 'a text of some length'; RETURN true; END $$;
	CREATE FUNCTION a.change() RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN a.really_change();
	END $$;}, '', 'a table that changes');
for my $call (q{gpu_ols_fit('SELECT y, x FROM a.changing WHERE a.change()')},
	q{gpu_ols_fit('SELECT y, x::float8 FROM a.changing WHERE a.change()')},
	q{gpu_ols_fit('SELECT y, z, x FROM a.changing WHERE a.change()', vcov => 'CR1', clusters => '{x}')},
	q{gpu_logreg_fit('SELECT y > 9, x FROM a.changing WHERE a.change()')},
	q{gpu_ols_boot('SELECT y, z, x FROM a.changing WHERE a.change()', 9, clusters => 'x')},
	q{gpu_ols_permute('SELECT y, z, x FROM a.changing WHERE a.change()', 9, 'x')},
		q{gpu_margins(gpu_ols_fit('VALUES (1, 2), (2, 4), (3, 5)', formula => 'column1 ~ column2'),
		'SELECT x AS column2 FROM a.changing WHERE a.change()')}, q{gpu_project_rows('SELECT z, ARRAY[x]::real[] FROM '
		'a.changing WHERE a.change()', 3, id => NULL::int)})
{
	for my $set ('', 'SET max_parallel_workers_per_gather = 0;')
	{
		refused('owner', "$set SELECT $call", '42703', "$set $call");
	}
}
survived($node, $pid, 'names');

# Policies must apply to the role that asked.
$node->safe_psql('postgres', q{
	CREATE ROLE reader LOGIN;
	GRANT reader TO mallory;
	CREATE TABLE a.rows AS SELECT i, i % 2 = 0 AS won, (i % 7)::float8 AS x, i % 10 < 3 AS open
		FROM generate_series(1, 30000) i;
	ALTER TABLE a.rows ENABLE ROW LEVEL SECURITY;
	CREATE POLICY open ON a.rows TO mallory USING (open);
	CREATE POLICY closed ON a.rows TO reader USING (NOT open);
	GRANT SELECT ON a.rows TO mallory, reader;
	CREATE FUNCTION a.become(name text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
		AS $$ BEGIN PERFORM set_config('role', name, false); RETURN true; END $$;
	ANALYZE a.rows;});
gives('mallory', q{SELECT (gpu_logreg_fit('SELECT won, x FROM a.rows')).n}, '9000', 'policies of the role');
for my $call (q{gpu_ols_fit('SELECT x, i FROM a.rows WHERE a.become(''reader'')')},
	q{gpu_logreg_fit('SELECT won, x FROM a.rows WHERE a.become(''reader'')')},
	q{gpu_logreg_boot('SELECT won, x, i FROM a.rows WHERE a.become(''reader'')', 9, 'i')},
	q{gpu_ols_permute('SELECT x, i FROM a.rows WHERE a.become(''reader'')', 9, 'i')},
	q{gpu_ols_fit('SELECT x, i, won FROM a.rows WHERE a.become(''reader'')', vcov => 'CR1', clusters => '{won}')},
	q{gpu_glm_fit('SELECT x / 7 AS share, i FROM a.rows WHERE a.become(''reader'')', 'quasibinomial')},
	q{gpu_glm_fit('SELECT * FROM a.rows WHERE a.become(''reader'')', 'quasibinomial',
		formula => 'won ~ factor(x)', vcov => 'CR1', clusters => '{i}')},
	q{gpu_logreg_fit('SELECT won, x FROM a.rows WHERE a.become(''reader'')', firth => true)},
	q{gpu_margins(gpu_ols_fit('VALUES (1, 2), (2, 4), (3, 5)', formula => 'column1 ~ column2'),
		'SELECT x AS column2 FROM a.rows WHERE a.become(''reader'')')},
	q{gpu_project_rows('SELECT i, ARRAY[x]::real[] FROM a.rows WHERE a.become(''reader'')', 3, id => NULL::int)})
{
	refused('mallory', "SELECT $call", '55000', "another role while the query is planned: $call");
}

# A function that acts when it is called for the nth time: a query with clusters is planned more than once, and runs
# twice.
gives('mallory', q{SELECT (gpu_logreg_fit('SELECT won, x, i FROM a.rows', vcov => 'CR1', clusters => '{i}')).n},
	'9000', 'policies of the role, clusters');
$node->safe_psql('postgres', q{
	CREATE SEQUENCE a.calls;
	GRANT ALL ON SEQUENCE a.calls TO public;
	CREATE TABLE a.victim AS SELECT i, (i % 7)::float8 AS x, i % 100 AS c FROM generate_series(1, 9000) i;
	ALTER TABLE a.victim OWNER TO mallory;
	CREATE FUNCTION a.really_do(what text) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$ BEGIN EXECUTE what;
	RETURN true; END $$;
	CREATE FUNCTION a.later(id int, what text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL RESTRICTED AS $$
		BEGIN IF nextval('a.calls') = 100000 THEN RETURN a.really_do(what); END IF; RETURN true; END $$;});
for my $case ([ 'a.rows', 'SET role = reader', '55000' ], [ 'a.victim', 'DROP TABLE a.victim', '55006|XX000' ],
	[ 'a.victim', 'ALTER TABLE a.victim ALTER x TYPE text', '55006|42804|P0002|22000' ],
	[ 'a.victim', 'DELETE FROM a.victim', 'none' ], [ 'a.victim', 'SET search_path = b', 'none' ],
		[ 'a.victim', 'SET max_parallel_workers_per_gather = 0', 'none' ])
{
	my ($table, $what, $states) = @$case;

	for my $id ('1', 'i')
	{
		for my $n ($id eq 'i' ? (1, 9001, 12000) : (1 .. 5))
		{
			my ($out, $err) = as('mallory', qq{SELECT setval('a.calls', 100000 - $n) > 0; BEGIN;
				SELECT (gpu_ols_fit('SELECT x, i, i AS c FROM $table WHERE a.later($id, ''$what'')', vcov => 'CR1',
					clusters => '{c}')).n; ROLLBACK; SELECT 'still here'});

			ok(sqlstate($err) =~ /^(?:$states)$/ || $out eq "t\n9000\nstill here",
				"call $n of a function of $id: $what") or diag($out, $err);
			like($out, qr/still here$/, 'the session goes on');
		}
	}
}
survived($node, $pid, 'calls');

# Settings that functions change while the planner folds them
for my $set ("'enable_partitionwise_aggregate', 'on'", "'max_parallel_workers_per_gather', '8'",
	"'max_parallel_workers_per_gather', '0'", "'max_parallel_workers', '1'",
	"'gpureg.debug_ring', 'on'", "'gpureg.debug_ring', 'off'", "'gpureg.ring_size', '1MB'",
		"'gpureg.ring_size', '256MB'", "'jit', 'on'", "'standard_conforming_strings', 'off'")
{
	for my $ring ('off', 'on')
	{
		my $before = "SET gpureg.debug_ring = $ring";
		my $straight = as('mallory', "$before; SELECT (gpu_ols_fit('SELECT y, x, i FROM a.t')).n");

		gives('mallory', "$before;
			SELECT (gpu_ols_fit(\$q\$SELECT y, x, i FROM a.t
			WHERE a.set($set) AND '\\' <> ' x'\$q\$)).n", $straight, "$before, folding sets $set");
	}
}
survived($node, $pid, 'settings');

#
# The ring
#

refused('mallory', q{SELECT gpu_ols_fit('SELECT y, x FROM a.t WHERE $1 IS NOT NULL')}, '42P02',
	'no parameter in a query');
refused('mallory', q{SET gpureg.debug_ring = on; SELECT gpu_ols_fit('SELECT y, x FROM a.t WHERE $1 IS NOT NULL')},
	'42P02', 'nor with a ring');
gives('mallory', q{
	CREATE FUNCTION pg_temp.steal(bytea) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'ticket %', $1;
	END $$;
	CREATE FUNCTION pg_temp.flip() RETURNS boolean
		LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM set_config('standard_conforming_strings', 'off', false);
	RETURN true; END $$;
	SET gpureg.debug_ring = on;
	SET standard_conforming_strings = on;
	SET escape_string_warning = off;
	SELECT (gpu_ols_fit($q$SELECT y, x FROM a.t
		WHERE pg_temp.flip() and ('\' <> ' <> '' and pg_temp.steal($1)) -- ' or true)$q$)).n}, '20000',
	'a string that ends elsewhere under another setting');

# From here on a superuser hands tickets out: a ring's handle is in its file's name, and its key follows a magic number.
$node->safe_psql('postgres', q{
	CREATE FUNCTION a.tickets() RETURNS SETOF bytea LANGUAGE sql VOLATILE SECURITY DEFINER PARALLEL SAFE AS $$
		SELECT reverse_handle || substring(head FROM 9 FOR 16) FROM pg_ls_dir('pg_dynshmem') AS name,
			LATERAL (SELECT pg_read_binary_file('pg_dynshmem/' || name, 0, 24, true)) AS h(head),
			LATERAL (SELECT int8send(substring(name FROM 'mmap.([0-9]+)')::bigint)) AS i(sent),
			LATERAL (SELECT set_byte(set_byte(set_byte(set_byte('\x00000000'::bytea, 0, get_byte(sent, 7)),
				1, get_byte(sent, 6)), 2, get_byte(sent, 5)), 3, get_byte(sent, 4))) AS r(reverse_handle)
		WHERE name LIKE 'mmap.%' AND substring(head FROM 1 FOR 8) = '\x676e69725f757067'::bytea $$;});
my $rows = q{SELECT y, x FROM a.t, generate_series(1, 20)};
my $in_ring = 'SET gpureg.debug_ring = on';
# Returns SQL that makes a function run $what once in the query, in the leader or in a worker; an error of $what is the
# statement's.
sub in_query
{
	my ($what, $set) = @_;

	return qq{$in_ring; $set;
		CREATE FUNCTION pg_temp.once(i int) RETURNS boolean LANGUAGE plpgsql PARALLEL RESTRICTED AS \$\$
		BEGIN
			IF i = 77 THEN $what END IF;
			RETURN true;
		END \$\$;};
}
for my $case (
	[ 'as many columns as the ring has',
		q{PERFORM gpu_ingest_pass_accum(0, t, NULL, 1.0::float8, 2.0::float8) FROM a.tickets() t;}, '55006|none' ],
	[ '90 columns', 'PERFORM gpu_ingest_pass_accum(0, t, NULL, ' . join(', ', ('1.0::float8') x 90)
		. ') FROM a.tickets() t;', '42804' ],
	[ 'an array', q{PERFORM gpu_ingest_pass_accum(0, t, NULL, 1.0::float8, array_fill(1::float8, '{10000}'))
		FROM a.tickets() t;}, '42804' ],
	[ 'another type', q{PERFORM gpu_ingest_pass_accum(0, t, NULL, 1.0::float8, 2::bigint) FROM a.tickets() t;},
		'42804' ],
	[ 'several producers', q{FOR k IN 1..100 LOOP PERFORM gpu_ingest_pass_accum(0, t, NULL, 1.0::float8, 2.0::float8)
		FROM a.tickets() t; END LOOP;}, '55006' ],
	[ 'several producers, whose errors are caught', q{FOR k IN 1..100 LOOP
		BEGIN PERFORM gpu_ingest_pass_accum(0, t, NULL, 1.0::float8, 2.0::float8) FROM a.tickets() t;
		EXCEPTION WHEN OTHERS THEN NULL; END; END LOOP;}, '25000|none' ])
{
	my ($name, $what, $states) = @$case;
	my ($out, $err) = as('mallory', in_query($what, 'SET max_parallel_workers = 0')
		. qq{SELECT gpu_ols_fit('SELECT y, x FROM (SELECT y, x, i FROM a.t, generate_series(1, 20) OFFSET 0) t WHERE '
			'pg_temp.once(i)'); SELECT 'still here';});

	like(sqlstate($err), qr/^(?:$states)$/, "a ticket, $name: SQLSTATE") or diag($err);
	like($out, qr/still here$/, "a ticket, $name: the session goes on");
}
# The stolen ticket makes the only producer: a fit to a row of its own, which is allowed, and a cursor that outlives the
# fit.
my ($out, $err) = as('mallory',
	in_query(q{OPEN c FOR SELECT gpu_ingest_pass_accum(0, t, NULL, 1.0::float8, 2.0::float8)
	FROM a.tickets() t, generate_series(1, 1000000);
	MOVE 1 FROM c;}, 'SET max_parallel_workers = '
		. '0') =~ s/BEGIN/DECLARE c refcursor := 'late'; BEGIN/r =~ s/RETURN true/RETURN false/r . q{
	BEGIN;
	SELECT (gpu_ols_fit('SELECT y, x FROM (SELECT y, x, i FROM a.t OFFSET 0) t WHERE pg_temp.once(i)')).n;
	MOVE ALL FROM late;
	COMMIT; SELECT 'still here'});
is($out, "1\nstill here", 'a ticket, a cursor beyond the end: the session goes on') or diag($err);
is(sqlstate($err), '22023', 'a ticket, a cursor beyond the end: SQLSTATE') or diag($err);

# the ticket in another session, while the fit goes on
my $session = start_session($node, 'fitting', 'SET search_path = stats, pg_catalog', $in_ring,
	q{SELECT gpu_ols_fit('SELECT r.y, s.x FROM a.t r, a.t s, generate_series(1, 1000)')});
my $backend = wait_active($node, 'fitting', 'gpu_ols_fit');
gives('mallory', 'SELECT count(*) > 0 FROM a.tickets()', 't', 'there is a ticket');
refused('mallory', 'SELECT gpu_ingest_pass_accum(0, t, NULL, 1.0::float8, 2.0::float8) FROM a.tickets() t',
	'22023', 'a ticket of another session');
refused('mallory', 'SELECT gpu_ingest_pass(q.t, NULL, r.y, r.v) FROM a.t r, (SELECT t FROM a.tickets() t LIMIT 1) q(t)',
	'22023',
	'a ticket of another session, in workers');
$node->safe_psql('postgres', "SELECT pg_cancel_backend($backend)");
finish_session($session);
survived($node, $pid, 'rings');

#
# Models
#

# without covariances a separated term's sign cannot be trusted, so it has no estimate
my $model = q{ROW('logistic', terms, array_fill(1::float8, ARRAY[40000]), NULL, 9, 0, 1, 8, 1, 1, 1, true, %s, 'cpu',
	NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::gpu_model};
my $terms = q{(SELECT array_agg('x' || i ORDER BY i) AS terms FROM generate_series(1, 40000) i) t};
gives('mallory', sprintf("SELECT count(*), count(*) FILTER (WHERE estimate IS NULL) FROM $terms, gpu_tidy($model)",
	'terms'), '40000|40000', 'as many separated terms as there are');
gives('mallory', sprintf("SELECT count(*), count(*) FILTER (WHERE estimate IS NULL) FROM $terms, gpu_tidy($model)",
	q{(SELECT array_agg(CASE WHEN i % 2 = 0 THEN 'x' ELSE 'z' END || i ORDER BY i DESC)
		FROM generate_series(1, 40000) i)}), '40000|20000',
	'likewise in another order, and half of them no terms');

# by name, terms may be any texts, in any number
$terms = q{(SELECT array_agg('v[' || %s || ']' ORDER BY i DESC) AS terms FROM generate_series(1, 40000) i) t};
$model = q{ROW('ols', terms, array_fill(1::float8, ARRAY[40000]), NULL, 9, 0, 1, 8, 1, 1, 1, true, NULL, 'cpu',
	NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::gpu_model};
my $values = q{(SELECT array_agg(i) AS v FROM generate_series(1, 40000) i) r};
my $object = q{(SELECT jsonb_object_agg(format('v[%s]', i), i) AS o FROM generate_series(1, 40000) i) r};
my $v = sprintf($terms, 'i');
my $same = sprintf($terms, '1');
gives('mallory', "SELECT gpu_predict($model, r) FROM $v, $values", '800020000', 'an array by name');
gives('mallory', "SELECT gpu_predict($model, o) FROM $v, $object", '800020000', 'an object of as many keys');
refused('mallory', "SELECT gpu_predict($model, r) FROM $v, (SELECT array_fill(1, ARRAY[40001]) AS v) r",
	'22023', 'an array of more elements than features');
refused('mallory', "SELECT gpu_predict($model, VARIADIC v) FROM $v, (SELECT array_fill(1, ARRAY[40001]) AS v) r",
	'22023', 'likewise by position');
refused('mallory', "SELECT gpu_predict($model, o) FROM $same, $object", '22023', 'features of one name');
refused('mallory', "SELECT gpu_predict($model, r) FROM $same, (SELECT 1 AS v) r", '22023', 'likewise, a row');
survived($node, $pid, 'models');

$node->stop;
done_testing();
