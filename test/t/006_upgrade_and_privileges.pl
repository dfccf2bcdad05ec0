# The privileges that functions and settings need, and the schemas that the extension may live in.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use GpuregTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(auth_extra => [ '--create-role', 'alice,bob' ]);
$node->start;
my $pid = postmaster_pid($node);

$node->safe_psql('postgres', 'CREATE ROLE alice LOGIN; CREATE ROLE bob LOGIN');
$node->safe_psql('postgres', 'CREATE DATABASE mine');
error_is($node, 'CREATE EXTENSION gpureg', '42501', 'CREATE EXTENSION without CREATE on the database', db => 'mine',
	user => 'bob');
$node->safe_psql('postgres', 'GRANT CREATE ON DATABASE mine TO alice');

# A trusted extension: alice, who is no superuser, creates it in her schema, which is not on the search path.
my ($out, $err) = try_sql($node, 'CREATE SCHEMA stats; CREATE EXTENSION gpureg SCHEMA stats', db => 'mine',
	user => 'alice');
is($err, '', 'a trusted extension: CREATE on the database is enough');
is($node->safe_psql('mine',
	q{SELECT r.rolname || ' ' || r.rolsuper FROM pg_extension e JOIN pg_roles r ON r.oid = extowner
	WHERE extname = 'gpureg'}), 'alice false', 'it is hers');

# Calls of everything, schema-qualified, with nothing on the search path; %s is the schema.
my $everything = q{
	SET search_path = pg_catalog;
	SELECT %1$s.gpu_ols('{1,2,4}', '{3,5,9}');
	SELECT (%1$s.gpu_ols_fit('SELECT 2 * i + 1 + i %% 2 AS y, i AS x FROM generate_series(1, 9) i')).terms;
	SELECT round((%1$s.gpu_ols_agg(2 * i, i)).coef[2]) FROM generate_series(1, 9) i;
	WITH parts AS (SELECT i %% 2, %1$s.gpu_ols_stats_agg(2 * i, i) AS s FROM generate_series(1, 9) i GROUP BY 1)
		SELECT (%1$s.gpu_ols_solve(%1$s.gpu_ols_rollup(s::text::%1$s.gpu_ols_stats))).n FROM parts;
	WITH m AS (SELECT %1$s.gpu_ols_agg(2 * i, i) AS m FROM generate_series(1, 9) i)
		SELECT t.term, round(%1$s.gpu_predict(m, 3)), g.n FROM m, %1$s.gpu_tidy(m) t, %1$s.gpu_glance(m) g;
	SELECT (b).n, round(%1$s.gpu_predict(m, r)), round(%1$s.gpu_predict(m, '{"x1": 3}'::jsonb))
		FROM (SELECT %1$s.gpu_ols_agg(i > 4, i) AS b, %1$s.gpu_ols_agg(2 * i, i) AS m FROM generate_series(1, 9) i) t,
			(SELECT 3 AS x1) r;
	SELECT term, round(estimate)
		FROM %1$s.gpu_margins(%1$s.gpu_ols_fit('SELECT 2 * i, i AS x FROM generate_series(1, 9) i'),
		'SELECT i AS x FROM generate_series(1, 4) i');
	SELECT term, round(estimate)
		FROM %1$s.gpu_ols_boot('SELECT 2 * i + 1 + i %% 2 AS y, i AS x, i AS id FROM generate_series(1, 99) i', 50,
		'id', conf_level => 0.5);
	SELECT count(*) = count(DISTINCT id) FROM %1$s.gpu_devices();
	SELECT function, rows FROM %1$s.gpu_last_run();
	SET gpureg.device = cpu;
	SELECT round((%1$s.gpu_logreg('{0,0,0,1,1,1}', '{0,0,1,0,1,1}'::float8[]))[2]::numeric, 3);
	SELECT round((%1$s.gpu_logreg('{0,0,0,1,1,1}', '{f,f,t,f,t,t}'::boolean[]))[2]::numeric, 3);
	SELECT (%1$s.gpu_logreg_fit('SELECT i %% 3 = 0 AS y, i AS x FROM generate_series(1, 9) i')).terms;
	SELECT round((%1$s.gpu_logreg_agg(i / 3 %% 2, i %% 2)).coef[2]::numeric, 3) FROM generate_series(1, 9) i;
	SELECT round((%1$s.gpu_logreg_agg(i / 3 %% 2 = 1, i %% 2)).coef[2]::numeric, 3) FROM generate_series(1, 9) i;
	WITH parts AS (SELECT i %% 2, %1$s.gpu_logreg_step_agg('{}', i / 3 %% 2, i) AS s FROM generate_series(1, 9) i
		GROUP BY 1)
		SELECT (%1$s.gpu_logreg_solve(%1$s.gpu_logreg_rollup(s::text::%1$s.gpu_logreg_step))).n FROM parts;
	WITH s AS (SELECT %1$s.gpu_logreg_step_agg('{}', i / 3 %% 2 = 1, i) AS s FROM generate_series(1, 9) i)
		SELECT (%1$s.gpu_logreg_solve(s, 1, 0.5)).converged FROM s;
	SET gpureg.ring_size = '1MB';
	SET parallel_setup_cost = 0;
	SET parallel_tuple_cost = 0;
	SET min_parallel_table_scan_size = 0;
	SELECT (%1$s.gpu_logreg_fit('SELECT attnum > 3, attlen FROM pg_attribute, generate_series(1, 60)')).n =
		(SELECT 60 * count(*) FROM pg_attribute);
	SELECT function, reason ~ 'the query was run [0-9]+ times$' FROM %1$s.gpu_last_run();
	SELECT cardinality(%1$s.gpu_project('{1,2,3}', 5)), array_dims(%1$s.gpu_project('{{1,2,3},{4,5,6}}', 5, 1, 0.5));
	SELECT cardinality(%1$s.gpu_project_sparse('{7,70}', '{1,2}', 6)),
		cardinality(%1$s.gpu_project_sparse('{7,70}', '{1,2}', 6, dim => 100));
	SELECT %1$s.gpu_feature_hash('{a,b,a}'::text[], 4) = %1$s.gpu_feature_hash('{"a": 2, "b": 1}'::jsonb, 4),
		%1$s.gpu_feature_hash('{a,b,a}'::text[], 4, 1, 0.5) = %1$s.gpu_feature_hash('{"a": 2, "b": 1}'::jsonb,
			4, 1, 0.5);
	SELECT %1$s.gpu_jl_min_dim(1000000), %1$s.gpu_jl_min_dim(1000000, 0.5);
	SELECT id, cardinality(projection) FROM %1$s.gpu_project_rows('SELECT 8, ''{1,2}''::real[]', 3);
	SELECT id, cardinality(projection) FROM %1$s.gpu_project_rows('SELECT 8, ''{1,2}''::real[]', 3, 1);
	SELECT id, cardinality(projection) FROM %1$s.gpu_project_rows('SELECT ''a''::text, ''{1,2}''::real[]',
		3, 1, 0.5, NULL::text);
	SELECT id, cardinality(projection) FROM %1$s.gpu_project_rows('SELECT ''a''::text, ''{1,2}''::real[]',
		3, 1::bigint, 0.5, NULL::text);
	SELECT id, cardinality(projection) FROM %1$s.gpu_project_rows('SELECT ''a''::text, %1$s.gpu_project(''{1,2}'', 4)',
		3, id => NULL::text);
	SELECT function, rows FROM %1$s.gpu_last_run();
	CREATE TEMPORARY TABLE generated (v real[], p real[] GENERATED ALWAYS AS (%1$s.gpu_project(v, 5)) STORED);
	CREATE INDEX ON generated (%1$s.gpu_project(v, 2));
	INSERT INTO generated VALUES ('{1,2}'), ('{3,4}');
	SELECT count(*) FROM generated WHERE p = %1$s.gpu_project(v, 5);
};
my $answers = "{1,2}\n{(intercept),x}\n2\n9\n(intercept)|6|9\nx1|6|9\n9|6|6\nx|2\n(intercept)|2\nx|2\nt\n"
  . "gpu_ols_boot|99\n1.386\n1.386\n{(intercept),x}\n1.504\n1.504\n9\nt\nt\ngpu_logreg_fit|t\n"
  . "5|[1:2][1:5]\n6|6\nt|t\n11841|663\n8|3\n8|3\na|3\na|3\na|3\ngpu_project_rows|1\n2";
($out, $err) = try_sql($node, sprintf($everything, 'stats'), db => 'mine', user => 'alice');
is("$err$out", $answers, 'its owner uses everything, without a search path');
$node->safe_psql('mine', 'GRANT USAGE ON SCHEMA stats TO bob');
($out, $err) = try_sql($node, sprintf($everything, 'stats'), db => 'mine', user => 'bob');
is("$err$out", $answers, 'so does another user');

# gpureg.gpu_memory_limit is the administrator's; everyone may change the other settings.
my $load = "SELECT stats.gpu_ols('{1,2}', '{1,2}') IS NULL";
$err = error_is($node, "$load; SET gpureg.gpu_memory_limit = '1GB'", '42501', 'gpu_memory_limit of a user',
	db => 'mine', user => 'bob');
($out, $err) = try_sql($node, "SET gpureg.gpu_memory_limit = '1GB'; $load; SHOW gpureg.gpu_memory_limit",
	db => 'mine', user => 'bob');
is($out, "f\n0", 'gpu_memory_limit of a user, set before the library is loaded: without effect');
like($err, qr/WARNING:  42501: permission denied/, 'and a warning says so');
is($node->safe_psql('mine', "$load; SET gpureg.gpu_memory_limit = '1GB'; SHOW gpureg.gpu_memory_limit"), "f\n1GB",
	'gpu_memory_limit of a superuser');
($out, $err) = try_sql($node, "$load; SET gpureg.device = cpu; SET gpureg.gpu_id = 0; SET gpureg.ring_size = '8MB';
	SET gpureg.min_gpu_work = 1; SET gpureg.projection_cache_size = '2MB'; SHOW gpureg.ring_size;
	SHOW gpureg.projection_cache_size",
	db => 'mine', user => 'bob');
is("$err$out", "f\n8MB\n2MB", 'the other settings of a user');

# gpu_ols_fit must run its query as its caller.
$node->safe_psql('mine', q{
	CREATE TABLE secret AS SELECT i AS x, i * i AS y, CASE WHEN i <= 4 THEN 'bob' ELSE 'alice' END AS owner
		FROM generate_series(1, 10) i;
	GRANT SELECT (x) ON secret TO bob;
	CREATE TABLE guarded AS TABLE secret;
	ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
	CREATE POLICY own ON guarded USING (owner = current_user);
	GRANT SELECT ON guarded TO alice, bob;
	GRANT USAGE, CREATE ON SCHEMA public TO alice;});
my $fit = q{SELECT (stats.gpu_ols_fit('SELECT y, x FROM %s')).n};
error_is($node, sprintf($fit, 'secret'), '42501', 'a table without privileges', db => 'mine', user => 'alice');
error_is($node, sprintf($fit, 'secret'), '42501', 'a column without privileges', db => 'mine', user => 'bob');
is($node->safe_psql('mine', sprintf($fit, 'guarded')), '10', 'row-level security: the owner fits every row');
is((try_sql($node, sprintf($fit, 'guarded'), db => 'mine', user => 'bob'))[0], '4', 'row-level security: bob fits his');
is((try_sql($node, sprintf($fit, 'guarded'), db => 'mine', user => 'alice'))[0], '6',
	'row-level security: alice fits hers');
is($node->safe_psql('mine', sprintf("$fit; SET ROLE bob; $fit", 'guarded', 'guarded')), "10\n4", 'and after SET ROLE');

# gpu_logreg_fit must run its query as its caller each time it runs the query.
$node->safe_psql('mine', q{
	CREATE TABLE crowd AS SELECT i AS x, i % 3 = 0 AS y, CASE WHEN i % 5 < 2 THEN 'bob' ELSE 'alice' END AS owner
		FROM generate_series(1, 250000) i;
	ALTER TABLE crowd ENABLE ROW LEVEL SECURITY;
	CREATE POLICY own ON crowd USING (owner = current_user);
	GRANT SELECT ON crowd TO alice;
	GRANT SELECT (x, owner), SELECT (y) ON crowd TO bob;
	ANALYZE crowd;});
my $rerun = q{SET gpureg.device = cpu; SET gpureg.ring_size = '1MB'; SET parallel_setup_cost = 0;
	SET parallel_tuple_cost = 0;
	SET min_parallel_table_scan_size = 0; SELECT (stats.gpu_logreg_fit('SELECT y, x %% 2 FROM %s')).n};
my $ran = q{SELECT reason ~ 'the query was run [0-9]+ times$' FROM stats.gpu_last_run()};
error_is($node, sprintf($rerun, 'secret'), '42501', 'gpu_logreg_fit: a table without privileges', db => 'mine',
	user => 'alice');
error_is($node, q{SELECT stats.gpu_logreg_fit('SELECT y > 9, x FROM secret')}, '42501',
	'gpu_logreg_fit: a column without privileges',
	db => 'mine', user => 'bob');
for my $case ([ 'alice', 150_000 ], [ 'bob', 100_000 ])
{
	($out, $err) = try_sql($node, sprintf("$rerun; $ran", 'crowd'), db => 'mine', user => $case->[0]);
	is("$err$out", "$case->[1]\nt", "gpu_logreg_fit: row-level security of $case->[0]");
}
is($node->safe_psql('mine', sprintf("$rerun; SET ROLE bob; $rerun; $ran", 'crowd', 'crowd')), "250000\n100000\nt",
	'gpu_logreg_fit: and after SET ROLE');

# gpu_ols_boot must run its query as its caller.
my $boot = q{SELECT count(*) FROM stats.gpu_ols_boot('SELECT y, x, x AS id FROM %s', 50, 'id', conf_level => 0.5)};
error_is($node, sprintf($boot, 'secret'), '42501', 'gpu_ols_boot: a table without privileges', db => 'mine',
	user => 'alice');
error_is($node, q{SELECT * FROM stats.gpu_ols_permute('SELECT y, x, x AS id FROM secret', 9, 'id')}, '42501',
	'gpu_ols_permute: a table without privileges', db => 'mine', user => 'alice');
is((try_sql($node, sprintf("$boot; SELECT rows FROM stats.gpu_last_run()", 'guarded'), db => 'mine',
		user => 'bob'))[0], "2\n4", 'gpu_ols_boot: row-level security');

# gpu_glm_fit must run its query as its caller.
for my $family ('gaussian', 'poisson')
{
	my $glm = "SELECT (stats.gpu_glm_fit('SELECT y, x %% 2 FROM %s', '$family')).n";
	error_is($node, sprintf($glm, 'secret'), '42501', "gpu_glm_fit: a table without privileges, $family",
		db => 'mine', user => 'alice');
	is((try_sql($node, sprintf($glm, 'guarded'), db => 'mine', user => 'bob'))[0], '4',
		"gpu_glm_fit: row-level security, $family");
}

# gpu_project_rows must run its query as its caller.
my $project = q{SELECT count(*) FROM stats.gpu_project_rows('SELECT x, ARRAY[y, x]::real[] FROM %s', 4)};
error_is($node, sprintf($project, 'secret'), '42501', 'gpu_project_rows: a table without privileges', db => 'mine',
	user => 'alice');
error_is($node, sprintf($project, 'secret'), '42501', 'gpu_project_rows: a column without privileges', db => 'mine',
	user => 'bob');
is($node->safe_psql('mine', sprintf($project, 'guarded')), '10',
	'gpu_project_rows: row-level security: the owner projects every row');
is((try_sql($node, sprintf($project, 'guarded'), db => 'mine', user => 'bob'))[0], '4',
	'gpu_project_rows: row-level security: bob projects his');
is((try_sql($node, sprintf($project, 'guarded'), db => 'mine', user => 'alice'))[0], '6',
	'gpu_project_rows: row-level security: alice projects hers');
is($node->safe_psql('mine', sprintf("$project; SET ROLE bob; $project", 'guarded', 'guarded')), "10\n4",
	'gpu_project_rows: and after SET ROLE');
error_is($node, q{SELECT * FROM stats.gpu_project_rows('DELETE FROM guarded RETURNING x, ARRAY[y]::real[]', 4)},
	'0A000',
	'gpu_project_rows: no writing', db => 'mine');

# Every object must have a comment, and the parallel label that it needs.
my $members = q{FROM pg_depend d JOIN %s o ON o.oid = d.objid WHERE d.deptype = 'e' AND d.classid = '%s'::regclass
	AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'gpureg')};
cmp_ok($node->safe_psql('mine', 'SELECT count(*) ' . sprintf($members, ('pg_proc') x 2)), '>', 15,
	'functions were found');
is($node->safe_psql('mine', 'SELECT o.oid::regprocedure ' . sprintf($members, ('pg_proc') x 2)
	. q{ AND coalesce(obj_description(o.oid, 'pg_proc'), '') = '' ORDER BY 1}), '', 'every function has a comment');
is($node->safe_psql('mine', q{SELECT typname, obj_description(oid, 'pg_type') IS NOT NULL FROM pg_type
	WHERE typnamespace = 'stats'::regnamespace AND typname NOT LIKE '\_%'
		ORDER BY 1}), "gpu_enet_cv|t\ngpu_logreg_step|t\ngpu_model|t\ngpu_ols_stats|t\ngpu_wild_boot|t",
	'every type has a comment');
# restricted: functions that read or record the session's device and last run; unsafe: functions that run a user's query
is($node->safe_psql('mine', 'SELECT o.proname, o.proparallel ' . sprintf($members, ('pg_proc') x 2)
	. q{ AND o.proparallel <> 's' ORDER BY 1}),
	"gpu_augment|u\ngpu_augment|u\ngpu_calibration|u\ngpu_confusion|u\ngpu_devices|r\ngpu_effects|u\ngpu_enet_cv|u\n"
	. "gpu_enet_fit|u\ngpu_enet_path|u\n"
	. "gpu_forget|u\ngpu_glm_fit|u\ngpu_keep|u\ngpu_kept|r\ngpu_kept_all|r\ngpu_last_run|r\n"
	. "gpu_lift|u\ngpu_lmm_fit|u\ngpu_logreg|r\ngpu_logreg|r\n"
	. "gpu_logreg_boot|u\ngpu_logreg_boot_replicates|u\ngpu_logreg_cv|u\n"
	. "gpu_logreg_fit|u\ngpu_logreg_fit|u\ngpu_margins|u\ngpu_multinom_fit|u\ngpu_ols|r\n"
	. "gpu_ols_boot|u\ngpu_ols_boot_replicates|u\n"
	. "gpu_ols_cv|u\ngpu_ols_fit|u\ngpu_ols_fit|u\ngpu_ols_permute|u\ngpu_ols_rolling|u\ngpu_ordinal_fit|u"
	. "\ngpu_overdispersion|u"
	. "\ngpu_predict_rows|u" x 4 . "\ngpu_progress|r" . "\ngpu_project_rows|u" x 5 . "\ngpu_ranef|u\ngpu_roc|u",
	'parallel labels');
# an immutable function must not run a query, depend on a setting, on an enum's labels or on the calling process, or
# write into a ring
is($node->safe_psql('mine', 'SELECT o.proname, o.provolatile ' . sprintf($members, ('pg_proc') x 2)
	. q{ AND o.provolatile <> 'i' ORDER BY 1}),
	"gpu_augment|v\ngpu_augment|v\ngpu_calibration|v\ngpu_class_code|s\n"
	. "gpu_confusion|v\ngpu_design_number|s\ngpu_design_row|s\n"
	. "gpu_devices|v\n"
	. "gpu_effects|v\ngpu_enet_cv|v\ngpu_enet_fit|v\ngpu_enet_fold|s\ngpu_enet_path|v\ngpu_forget|v\ngpu_glm_fit|v\n"
	. "gpu_ingest_pass_accum|v\ngpu_keep|v\ngpu_keep_accum|v\ngpu_kept|v\ngpu_kept_all|v\ngpu_last_run|v\n"
	. "gpu_levels_accum|s\ngpu_lift|v\ngpu_lmm_fit|v\n"
	. "gpu_logreg|s\ngpu_logreg|s\ngpu_logreg_agg_final|s\n"
	. "gpu_logreg_boot|v\ngpu_logreg_boot_replicates|v\ngpu_logreg_cv|v\n"
	. "gpu_logreg_fit|v\ngpu_logreg_fit|v\ngpu_logreg_rows_final|s\ngpu_margins|v\ngpu_multinom_fit|v\n"
	. "gpu_ols|s\n"
	. "gpu_ols_boot|v\ngpu_ols_boot_replicates|v\ngpu_ols_coef|s\ngpu_ols_cv|v\ngpu_ols_fit|v\ngpu_ols_fit|v\n"
	. "gpu_ols_permute|v\ngpu_ols_rolling|v\ngpu_ordinal_fit|v\ngpu_overdispersion|v\n"
	. "gpu_predict_rows|v\n" x 4 . "gpu_progress|v\ngpu_project_pass|v" . "\ngpu_project_rows|v" x 5
	. "\ngpu_ranef|v\ngpu_ranking_pass_final|v\ngpu_roc|v\ngpu_vector_pass|v", 'volatility');

# The extension must be relocatable while its values and a view are in use.
$node->safe_psql('mine', q{
	CREATE TABLE kept AS SELECT stats.gpu_ols_stats_agg(2 * i, i) AS s, stats.gpu_ols_agg(2 * i, i) AS m,
		stats.gpu_logreg_step_agg('{}', i / 3 % 2, i) AS step FROM generate_series(1, 9) i;
	CREATE VIEW coefficients AS SELECT t.*, stats.gpu_logreg_solve(step) AS next
		FROM kept, stats.gpu_tidy(stats.gpu_ols_solve(s)) t;});
my $contents = 'SELECT s::text, m::text, step::text FROM kept; SELECT * FROM coefficients';
my $before = $node->safe_psql('mine', $contents);
# the objects of a trusted extension belong to the bootstrap superuser, so PostgreSQL lets only superusers move them
($out, $err) = try_sql($node,
	'CREATE SCHEMA "Other Place" AUTHORIZATION alice; ALTER EXTENSION gpureg SET SCHEMA "Other Place"', db => 'mine');
is($err, '', 'ALTER EXTENSION SET SCHEMA');
is($node->safe_psql('mine', $contents), $before, 'values and views follow');
($out, $err) = try_sql($node, sprintf($everything, '"Other Place"'), db => 'mine', user => 'alice');
is("$err$out", $answers, 'everything works in its new place');

# DROP EXTENSION must leave nothing
error_is($node, 'DROP EXTENSION gpureg', '2BP01', 'DROP EXTENSION with a table that uses it', db => 'mine',
	user => 'alice');
$node->safe_psql('mine', 'DROP TABLE kept CASCADE; DROP EXTENSION gpureg');
is($node->safe_psql('mine', q{
	SELECT proname FROM pg_proc WHERE probin LIKE '%gpureg%' OR proname LIKE 'gpu\_%' UNION ALL
	SELECT typname FROM pg_type WHERE typname LIKE '%gpu\_%' UNION ALL
	SELECT relname FROM pg_class WHERE relname LIKE '%gpu\_%' UNION ALL
	SELECT description FROM pg_description
		WHERE objoid >= 16384 AND description ~* 'regression|projection|hash'}), '', 'DROP EXTENSION leaves nothing');
($out, $err) = try_sql($node, 'CREATE EXTENSION gpureg SCHEMA "Other Place"', db => 'mine', user => 'alice');
is($err, '', 'and it can be created again');
is($node->safe_psql('mine',
	q{SELECT default_version = installed_version FROM pg_available_extensions WHERE name = 'gpureg'}), 't',
	'in its default version');

survived($node, $pid, 'privileges');
$node->stop;
done_testing();
