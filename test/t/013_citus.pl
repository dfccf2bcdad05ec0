# Tables that Citus has distributed over a coordinator and two workers, where Citus can be installed. 012_remote.pl
# tests every remote query's behaviour without it.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use GpuregTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $coordinator = start_node('coordinator');
if ($coordinator->safe_psql('postgres', q{SELECT count(*) FROM pg_available_extensions WHERE name = 'citus'}) eq '0')
{
	$coordinator->stop;
	plan skip_all => 'Citus is not installed';
}
my @workers = map { start_node("worker$_") } 1, 2;
for my $node ($coordinator, @workers)
{
	$node->append_conf('postgresql.conf', "$_\n") for "shared_preload_libraries = 'citus'",
		"citus.node_conninfo = 'sslmode=prefer'", 'max_prepared_transactions = 20',
	  "gpureg.device = cpu";
	$node->restart;
	$node->safe_psql('postgres', 'CREATE EXTENSION citus');
}
$coordinator->safe_psql('postgres', sprintf("SELECT citus_set_coordinator_host('%s', %d)", $coordinator->host,
	$coordinator->port));
$coordinator->safe_psql('postgres', sprintf("SELECT citus_add_node('%s', %d)", $_->host, $_->port)) for @workers;

# Sums of small integers are exact in any order. far and near have the same rows.
$coordinator->safe_psql('postgres', q{
	CREATE TABLE near AS SELECT i, i % 10 AS part, i % 7 + i % 3 AS y, (i / 3 % 2 = 0) <> (i % 5 = 0) AS won,
		i % 7 AS a, i % 5 < 2 AS b, (i % 11)::real AS c,
		ARRAY[i % 13, i % 4]::float8[] AS v, ARRAY[i % 3] AS w FROM generate_series(1, 20000) i;
	CREATE TABLE far (LIKE near);
	SELECT create_distributed_table('far', 'i', shard_count => 8);
	INSERT INTO far SELECT * FROM near;
	ANALYZE;});

# Returns a script's result, and the commands that went to the workers.
sub far
{
	my ($sql) = @_;
	my ($out, $err) = try_sql($coordinator,
		"SET citus.log_remote_commands = on; SET client_min_messages = notice; $sql");

	is(sqlstate($err), 'none', $sql) or diag($err);
	return ($out, $err);
}

my $model = 'terms, coef, vcov, n, n_skipped, rank, df_residual, deviance, null_deviance';
for my $columns ('y, a, b, c', 'y, a, v, c', 'won, w', join(', ', 'y', map { "i % $_ AS r$_" } 2 .. 100))
{
	my ($got, $sent) = far("SELECT $model FROM gpu_ols_fit('SELECT $columns FROM far')");

	is($got, $coordinator->safe_psql('postgres', "SELECT $model FROM gpu_ols_fit('SELECT $columns FROM near')"),
		'the same model');
	like($sent, qr/worker_partial_agg[^\n]*gpu_ols_array_pass/, 'the sums are pushed down');
}
is((far("SELECT $model FROM gpu_ols_fit('SELECT y, v, w FROM far')"))[0],
	$coordinator->safe_psql('postgres', "SELECT $model FROM gpu_ols_fit('SELECT y, v, w FROM near')"),
		'two arrays: the same model');

for my $case ([ '', 0 ], [ 'BEGIN ISOLATION LEVEL REPEATABLE READ;', 1 ])
{
	my ($set, $pushed) = @$case;
	my $fit = q{SELECT coef, n FROM gpu_logreg_fit('SELECT won, a, b, c FROM %s')};
	my ($got, $sent) = far($set . sprintf($fit, 'far'));
	my $reads = () = $sent =~ /issuing [^\n]*SELECT [^\n]*FROM [^\n]*far_\d+/g;

	cmp_ok(relative_difference($got, $coordinator->safe_psql('postgres', sprintf($fit, 'near'))), '<=', 1e-12,
		"$set logistic: the same fit");
	is($sent =~ /worker_partial_agg[^\n]*gpu_logreg_array_pass/ ? 1 : 0, $pushed,
		"$set logistic: passes are pushed down");
	$pushed ? cmp_ok($reads, '>', 8, "$set logistic: more than once a shard") :
		is($reads, 8, 'logistic: the rows are pulled once');
}

# Aggregates that users push down by themselves
for my $aggregate ('gpu_ols_stats_agg(y, a, c)', 'gpu_ols_stats_array_agg(y, ARRAY[a, c])',
	q{gpu_logreg_step_agg('{}', won, a, c)})
{
	my ($all) = far("SELECT $aggregate FROM far");
	my ($groups) = far("SELECT part, $aggregate FROM far GROUP BY part ORDER BY part");

	is($all, $coordinator->safe_psql('postgres', "SELECT $aggregate FROM near"), "$aggregate: the same bits");
	is($groups, $coordinator->safe_psql('postgres', "SELECT part, $aggregate FROM near GROUP BY part ORDER BY part"),
		"$aggregate: in groups");
}

# An error on a worker must be in the user's names.
like((try_sql($coordinator,
	q{SELECT gpu_ols_fit($$SELECT y, a, CASE WHEN i = 777 THEN 'NaN' ELSE c END AS "odd one" FROM far$$)}))[1],
	qr/22023: column "odd one" has a value that is NaN or infinite/, 'a value that is NaN');
like((try_sql($coordinator, q{SELECT gpu_ols_fit('SELECT NULL::int AS y, a FROM far')}))[1],
	qr/P0002: query returned no complete row\n.*20000 rows were skipped because of a NULL/s, 'no complete row');

$_->stop for $coordinator, @workers;
done_testing();
