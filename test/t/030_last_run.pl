# gpu_last_run() of every function: each function in the catalogue is called and must be seen there, or is in a list of
# functions that leave no record, with the reason. A function in neither list fails the test.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use GpuregTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('main', "shared_preload_libraries = 'gpureg'", 'max_worker_processes = 16', 'jit = off',
	'gpureg.debug_service = on', 'gpureg.device = cpu', 'max_parallel_workers_per_gather = 0');
my $rows = 300;
$node->safe_psql('postgres', qq{
	CREATE TABLE t AS SELECT i, sin(i) * 3 + i % 5 AS y, cos(i * 0.7) AS a, (i % 7)::float8 AS b,
		(i * 7 + i / 3) % 5 < 2 AS won,
		(1 + i % 3)::float8 AS w, i % 4 AS fold, 0.1 + (i % 8) / 10.0 AS p, ARRAY[i, i % 3, 1]::real[] AS v
		FROM generate_series(1, $rows) i;
	CREATE TABLE states AS SELECT fold, gpu_ols_stats_agg(y, a, b) AS s FROM t GROUP BY fold;
	CREATE TABLE state AS SELECT gpu_ols_rollup(s) AS s FROM states;
	CREATE TABLE step AS SELECT gpu_logreg_step_agg('{}', won, a, b) AS s FROM t;
	CREATE TABLE model AS SELECT gpu_ols_agg(y, a, b) AS m FROM t;
	CREATE TABLE kept AS SELECT gpu_keep('t', 'SELECT y, a, b, won FROM t') AS n;
	ANALYZE;});

# Calls, each with the numbers of rows and features that it must show
my $query = q{'SELECT y, a, b FROM t'};
my $logit = q{'SELECT won, a, b FROM t'};
my ($keyed, $keyed_logit) = map { s/a, b/a, b, i/r } $query, $logit;
my %calls = (
	gpu_ols => [ 'SELECT gpu_ols(ARRAY[[1, 2], [2, 1], [3, 5]], ARRAY[1, 2, 4])', 3, 2 ],
	gpu_ols_fit => [ "SELECT gpu_ols_fit($query)", $rows, 2 ],
	gpu_ols_agg => [ 'SELECT gpu_ols_agg(y, a, b) FROM t', $rows, 2 ],
	gpu_ols_array_agg => [ 'SELECT gpu_ols_array_agg(y, ARRAY[a, b]) FROM t', $rows, 2 ],
	gpu_ols_stats_agg => [ 'SELECT gpu_ols_stats_agg(y, a, b) FROM t', $rows, 2 ],
	gpu_ols_stats_array_agg => [ 'SELECT gpu_ols_stats_array_agg(y, ARRAY[a, b]) FROM t', $rows, 2 ],
	gpu_wls_agg => [ 'SELECT gpu_wls_agg(w, y, a, b) FROM t', $rows, 2 ],
	gpu_wls_array_agg => [ 'SELECT gpu_wls_array_agg(w, y, ARRAY[a, b]) FROM t', $rows, 2 ],
	gpu_wls_stats_agg => [ 'SELECT gpu_wls_stats_agg(w, y, a, b) FROM t', $rows, 2 ],
	gpu_wls_stats_array_agg => [ 'SELECT gpu_wls_stats_array_agg(w, y, ARRAY[a, b]) FROM t', $rows, 2 ],
	gpu_ols_rollup => [ 'SELECT gpu_ols_rollup(s) FROM states', $rows, 2 ],
	gpu_ols_cluster_agg => [ 'SELECT gpu_ols_cluster_agg(s) FROM states', $rows, 2 ],
	gpu_lmm_agg => [ 'SELECT gpu_lmm_agg(s) FROM states', $rows, 2 ],
	gpu_lmm_fit => [ q{SELECT gpu_lmm_fit('SELECT y, a, b, i % 3 AS g FROM t', 'y ~ a + b + (1 | g)')}, $rows, 2 ],
	gpu_ranef => [ q{SELECT count(*) FROM gpu_ranef('SELECT y, a, b, i % 3 AS g FROM t', 'y ~ a + b + (1 | g)')},
		$rows, 2 ],
	gpu_wild_boot_agg => [ q{SELECT gpu_wild_boot_agg(s, 'x1', 99) FROM states}, $rows, 2 ],
	gpu_ols_solve => [ 'SELECT gpu_ols_solve(s) FROM state', $rows, 2 ],
	gpu_iv_solve => [ q{SELECT gpu_iv_solve(s, '{1}', '{2}') FROM state}, $rows, 2 ],
	gpu_iv_tests => [ q{SELECT gpu_iv_tests(s, '{1}', '{2}') FROM state}, $rows, 2 ],
	gpu_ols_select => [ q{SELECT gpu_ols_select(s) FROM state}, $rows, 2 ],
	gpu_ols_rolling => [ q{SELECT count(*) FROM gpu_ols_rolling('SELECT y, a, b FROM t ORDER BY i', 20)}, $rows, 2 ],
	gpu_vif => [ 'SELECT gpu_vif(s) FROM state', $rows, 2 ],
	gpu_enet_path => [ 'SELECT count(*) FROM state, gpu_enet_path(s)', $rows, 2 ],
	gpu_enet_model => [ 'SELECT gpu_enet_model(s, 0.1) FROM state', $rows, 2 ],
	gpu_enet_fit => [ "SELECT gpu_enet_fit($query, 0.1)", $rows, 2 ],
	gpu_effects => [ q{SELECT count(*) FROM gpu_effects('SELECT y, a, b, fold FROM t', absorb => '{fold}')}, $rows, 2 ],
	gpu_enet_cv => [ "SELECT gpu_enet_cv($query)", $rows, 2 ],
	gpu_enet_cv_agg => [ 'SELECT gpu_enet_cv_agg(s) FROM states', $rows, 2 ],
	gpu_ols_boot => [ "SELECT count(*) FROM gpu_ols_boot($keyed, 99, 'i')", $rows, 2 ],
	gpu_ols_boot_replicates => [ "SELECT count(*) FROM gpu_ols_boot_replicates($keyed, 99, 'i')", $rows, 2 ],
	gpu_ols_permute => [ "SELECT count(*) FROM gpu_ols_permute($keyed, 99, 'i')", $rows, 2 ],
	gpu_ols_cv => [ "SELECT count(*) FROM gpu_ols_cv($keyed, key => 'i')", $rows, 2 ],
	gpu_logreg => [ 'SELECT gpu_logreg(ARRAY[[1], [2], [3], [4]], ARRAY[true, false, true, false])', 4, 1 ],
	gpu_logreg_fit => [ "SELECT gpu_logreg_fit($logit)", $rows, 2 ],
	gpu_multinom_fit => [ "SELECT gpu_multinom_fit($logit)", $rows, 2 ],
	gpu_ordinal_fit => [ "SELECT gpu_ordinal_fit($logit)", $rows, 2 ],
	gpu_glm_fit => [ "SELECT gpu_glm_fit($logit, 'binomial')", $rows, 2 ],
	gpu_logreg_agg => [ 'SELECT gpu_logreg_agg(won, a, b) FROM t', $rows, 2 ],
	gpu_logreg_array_agg => [ 'SELECT gpu_logreg_array_agg(won, ARRAY[a, b]) FROM t', $rows, 2 ],
	gpu_logreg_step_agg => [ q{SELECT gpu_logreg_step_agg('{}', won, a, b) FROM t}, $rows, 2 ],
	gpu_logreg_step_array_agg => [ q{SELECT gpu_logreg_step_array_agg('{}', won, ARRAY[a, b]) FROM t}, $rows, 2 ],
	gpu_glm_step_agg => [ q{SELECT gpu_glm_step_agg('binomial', 'logit', '{}', won, a, b) FROM t}, $rows, 2 ],
	gpu_glm_step_array_agg =>
		[ q{SELECT gpu_glm_step_array_agg('binomial', 'logit', '{}', won, ARRAY[a, b]) FROM t}, $rows, 2 ],
	gpu_logreg_rollup => [ 'SELECT gpu_logreg_rollup(s) FROM step', $rows, 2 ],
	gpu_logreg_solve => [ 'SELECT gpu_logreg_solve(s) FROM step', $rows, 2 ],
	gpu_glm_solve => [ 'SELECT gpu_glm_solve(s) FROM step', $rows, 2 ],
	gpu_logreg_boot => [ "SELECT count(*) FROM gpu_logreg_boot($keyed_logit, 99, 'i')", $rows, 2 ],
	gpu_logreg_boot_replicates =>
		[ "SELECT count(*) FROM gpu_logreg_boot_replicates($keyed_logit, 99, 'i')", $rows, 2 ],
	gpu_logreg_cv => [ "SELECT count(*) FROM gpu_logreg_cv($keyed_logit, key => 'i')", $rows, 2 ],
	gpu_margins => [ "SELECT count(*) FROM model, gpu_margins(m, 'SELECT a AS x1, b AS x2 FROM t')", $rows, 2 ],
	gpu_auc => [ 'SELECT gpu_auc(p, won) FROM t', $rows, 1 ],
	gpu_brier => [ 'SELECT gpu_brier(p, won) FROM t', $rows, 1 ],
	gpu_ks => [ 'SELECT gpu_ks(p, won) FROM t', $rows, 1 ],
	gpu_logloss => [ 'SELECT gpu_logloss(p, won) FROM t', $rows, 1 ],
	gpu_augment => [ "SELECT count(*) FROM model, gpu_augment(m, 'SELECT y, a AS x1, b AS x2 FROM t')", $rows, 2 ],
	gpu_overdispersion =>
		[ "SELECT * FROM gpu_overdispersion(gpu_logreg_fit($logit), $logit)", $rows, 2 ],
	gpu_roc => [ q{SELECT count(*) FROM gpu_roc('SELECT won, p FROM t')}, $rows, 1 ],
	gpu_calibration => [ q{SELECT count(*) FROM gpu_calibration('SELECT won, p FROM t')}, $rows, 1 ],
	gpu_lift => [ q{SELECT count(*) FROM gpu_lift('SELECT won, p FROM t')}, $rows, 1 ],
	gpu_confusion => [ q{SELECT * FROM gpu_confusion('SELECT won, p FROM t')}, $rows, 1 ],
	gpu_project => [ 'SELECT gpu_project(ARRAY[[1, 2, 3], [4, 5, 6]]::real[], 2)', 2, 3 ],
	gpu_project_rows => [ "SELECT count(*) FROM gpu_project_rows('SELECT i, v FROM t', 2)", $rows, 3 ],
	gpu_keep => [ q{SELECT gpu_keep('t2', 'SELECT y, a, b FROM t')}, $rows, 2 ],
	gpu_predict_rows =>
		[ "SELECT count(*) FROM gpu_predict_rows(gpu_ols_fit(kept => 't', formula => 'y ~ a + b'), 't')",
		$rows, 2 ]);

# Functions that leave the last computation's record as it is
my %without = (
	(map { $_ => 'one vector in, one out' } qw(gpu_project_sparse gpu_project_bits gpu_feature_hash)),
	(map { $_ => 'one row in, its prediction or one number out' } qw(gpu_predict gpu_predict_row gpu_predict_class
		gpu_predict_probs gpu_predict_interval gpu_leverage gpu_cv_fold gpu_enet_fold gpu_jl_min_dim gpu_pnorm gpu_qnorm
		gpu_pt gpu_qt gpu_pchisq gpu_qchisq gpu_pf gpu_qf)),
	(map { $_ => 'reads a model or a state that is there' } qw(gpu_tidy gpu_glance gpu_levels gpu_classes gpu_summary
		gpu_anova gpu_wald gpu_with_terms gpu_variances gpu_contrast gpu_means gpu_drop1 gpu_step gpu_ols_two_way
		gpu_ols_named gpu_ols_names)),
	(map { $_ => 'tells of the session, the server or kept rows' } qw(gpu_last_run gpu_progress gpu_devices gpu_kept
		gpu_kept_all gpu_forget)));

# Functions that users don't call are named as such in their comments.
my $of_extension = q{FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass
	AND d.deptype = 'e' JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'gpureg'};
my $is_marked = q{obj_description(p.oid, 'pg_proc') LIKE 'internal: %'};
is($node->safe_psql('postgres', qq{SELECT p.oid::regprocedure $of_extension
	WHERE NOT $is_marked AND (p.oid IN (SELECT unnest(ARRAY[aggtransfn, aggfinalfn, aggcombinefn, aggserialfn,
		aggdeserialfn]::oid[]) FROM pg_aggregate UNION SELECT prosupport FROM pg_proc)
		OR 'internal'::regtype = ANY (p.proargtypes) OR 'cstring'::regtype = ANY (p.proargtypes)
		OR p.prorettype IN ('internal'::regtype, 'cstring'::regtype))}), '',
	'what users cannot call is marked as internal');
my @functions = split /\n/, $node->safe_psql('postgres',
	"SELECT DISTINCT proname $of_extension WHERE NOT $is_marked ORDER BY 1");
cmp_ok(scalar @functions, '>', 70, 'functions were found');

my $shown = 'SELECT function, device, rows, features, workers, least(read_seconds, solve_seconds) >= 0, '
  . 'total_seconds > 0 AND total_seconds < 100, reason <> \'\' FROM gpu_last_run()';
for my $function (@functions)
{
	if (exists $without{$function})
	{
		ok(!exists $calls{$function}, "$function: $without{$function}");
		next;
	}
	my ($call, $nrows, $nfeatures) = @{ $calls{$function} // [ 'SELECT 1', 0, 0 ] };
	my ($out, $err) = try_sql($node, "$call;\n$shown");
	my ($last) = $out =~ /([^\n]*)\z/;
	like($last, qr/^$function\|cpu(?:, device service)?\|$nrows\|$nfeatures\|0\|t\|t\|t$/, "$function: shown")
	  or diag($err);
}
is(join(' ', sort grep { my $name = $_; !grep { $_ eq $name } @functions } keys %calls, keys %without), '',
	'all that is listed is in the catalogue');

# Functions without a record must leave the last one alone.
is($node->safe_psql('postgres', q{SELECT gpu_ols(ARRAY[1, 2, 3], ARRAY[1, 2, 4]);
	SELECT count(gpu_predict(m, a, b)) FROM model, t; SELECT count(*) FROM model, gpu_tidy(m);
	SELECT count(gpu_project(v, 2)) FROM t; SELECT function FROM gpu_last_run()}) =~ s/.*\n//sr, 'gpu_ols',
	'what leaves no record');

# Calls over groups: the record is of all groups together, whether alone, beside another aggregate, or repeated.
my $groups = 'SELECT function, rows, features FROM gpu_last_run()';
is($node->safe_psql('postgres', "SELECT count(m) FROM (SELECT gpu_ols_agg(y, a, b) AS m FROM t GROUP BY fold) q;
	$groups"),
	"4\ngpu_ols_agg|$rows|2", 'rows of all groups');
is($node->safe_psql('postgres', "SELECT count(m) + count(n) FROM (SELECT gpu_ols_agg(y, a, b) AS m, gpu_auc(p, won) AS n
	FROM t GROUP BY fold) q; $groups"), "8\ngpu_auc|$rows|1", 'of two aggregates');
is($node->safe_psql('postgres', "SELECT count(m) FROM (SELECT gpu_logreg_agg(won, a, b) AS m FROM t GROUP BY fold) q;
	$groups"), "4\ngpu_logreg_agg|$rows|2", 'of fits');
is($node->safe_psql('postgres', "SELECT count(m.n) FROM generate_series(1, 3) k,
	LATERAL (SELECT gpu_ols_agg(y, a, b) AS n
	FROM t WHERE i % 3 = k - 1) m; $groups"), "3\ngpu_ols_agg|$rows|2", 'of a subquery that runs again');
is($node->safe_psql('postgres', "SELECT gpu_ols_agg(y, a, b) IS NULL FROM t WHERE i < 0; $groups"), 't',
	'nothing of no rows');
is($node->safe_psql('postgres', "SELECT count(m) FROM (SELECT gpu_ols_agg(y, a) OVER (ORDER BY i) AS m FROM t
	WHERE i <= 4) q; SELECT function, rows FROM gpu_last_run()"), "4\ngpu_ols_agg|10", 'of a window, each frame');

# The source of the rows, and the number of workers
my $parallel = 'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; '
  . 'SET max_parallel_workers_per_gather = 2; ALTER TABLE t SET (parallel_workers = 2); ';
my $came = 'SELECT gpu_ols_agg(y, a, b) IS NOT NULL FROM t; SELECT reason, workers FROM gpu_last_run()';
is($node->safe_psql('postgres', $came), "t\nan aggregate, over a scan of gpureg's own|0", 'a scan of its own');
is($node->safe_psql('postgres', "SET gpureg.enable_scan = off; $came"), "t\nan aggregate, over the plan's rows|0",
	'rows of the plan');
is($node->safe_psql('postgres', "$parallel $came"), "t\nan aggregate, over a scan of gpureg's own|2",
	'a scan in workers');
is($node->safe_psql('postgres', "$parallel SET gpureg.enable_scan = off; $came"),
	"t\nan aggregate, over the plan's rows|2", 'rows of workers');

# A statement within a function has a record of its own, and a fit that fails must leave no pass in the record.
my $inner = $node->safe_psql('postgres', q{
	DO $$BEGIN PERFORM pg_sleep(0.3); PERFORM gpu_ols_agg(y, a, b) FROM t; END$$;
	SELECT function, total_seconds < 0.3 FROM gpu_last_run()});
is($inner, 'gpu_ols_agg|t', 'the seconds of a statement within another');
my ($out, $err) = try_sql($node, "SELECT gpu_brier(p, won) > 0 FROM t;
	SET gpureg.ring_size = '1MB'; SELECT gpu_logreg_fit('SELECT true, a, b FROM t'); $groups");
is($out, "t\ngpu_brier|$rows|1", 'a fit that fails');

done_testing();
