# Views over the aggregates must survive a dump: restored elsewhere, they must be the same.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use GpuregTest;
use Psql;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('main', 'gpureg.device = cpu', 'client_min_messages = error');
my $dir = PostgreSQL::Test::Utils::tempdir;

# Window calls need the aggregates with x as one array. In a variadic call the parser makes an array of the last
# arguments. The server writes out VARIADIC for a plain function or aggregate, but not for a window call: a view over
# gpu_ols_agg(y, x1, x2) OVER w is written, and dumped, as gpu_ols_agg(y, ARRAY[x1, x2]) OVER w. Without a function of
# that signature, restoring ends with: function gpu_ols_agg(double precision, double precision[]) does not exist.
my $window = 'ORDER BY i ROWS 50 PRECEDING';
my @windows = (
	'gpu_ols_array_agg(y, ARRAY[x1, x2])', 'gpu_ols_array_agg(won, ARRAY[x1, x2])',
		'gpu_ols_stats_array_agg(y, ARRAY[x1, x2])',
	'gpu_ols_stats_array_agg(won, ARRAY[x1, x2])', 'gpu_logreg_array_agg(won::int, ARRAY[x1, x2])',
		'gpu_logreg_array_agg(won, ARRAY[x1, x2])',
	q{gpu_logreg_step_array_agg('{}', won::int, ARRAY[x1, x2])},
		q{gpu_logreg_step_array_agg('{0.1,0.2,0.3}', won, ARRAY[x1, x2])},
	q{gpu_glm_step_array_agg('poisson', NULL, '{}', won::int, ARRAY[x1, x2])});
my @others = (
	'SELECT g, gpu_ols_agg(y, x1, x2) AS o, gpu_ols_stats_agg(won, x1, x2) AS s,
		gpu_logreg_agg(won, VARIADIC ARRAY[x1, x2]) AS l FROM t GROUP BY g',
	q{SELECT g, gpu_logreg_step_agg('{}', won, x1, x2) AS s, gpu_ols_array_agg(y, ARRAY[x1, x2]) FILTER (WHERE won) AS o
		FROM t GROUP BY g},
	q{SELECT i, gpu_predict(m, t.x1, t.x2) AS p, gpu_predict(m, VARIADIC ARRAY[t.x1, t.x2]) AS v,
		gpu_predict(m, r) AS r,
		gpu_predict(m, jsonb_build_object('x1', t.x1, 'x2', t.x2)) AS j
			FROM t, (SELECT gpu_ols_agg(y, x1, x2) AS m FROM t) f, LATERAL (SELECT t.x2, t.x1) r});
my @views = (map({ "SELECT i, $_ OVER ($window) AS value FROM t" } @windows), @others);

$node->safe_psql('postgres',
	'CREATE TABLE t AS SELECT i, i % 3 AS g, sin(i) + i % 5 AS y, (i * 7 + i / 3) % 5 < 2 AS won, i % 7 AS x1,
	cos(i * i)::real AS x2
	FROM generate_series(1, 300) i');
$node->safe_psql('postgres', "CREATE VIEW v$_ AS $views[$_]") for 0 .. $#views;

# The array forms must give the results of the variadic forms.
for my $call (@windows)
{
	my $variadic = $call =~ s/_array_agg/_agg/r =~ s/ARRAY\[x1, x2\]/x1, x2/r;

	is($node->safe_psql('postgres',
		"SELECT count(*), count(*) FILTER (WHERE a IS NOT NULL), bool_and(a::text IS NOT DISTINCT FROM b::text)
		FROM (SELECT $call OVER w AS a, $variadic OVER w AS b
			FROM t WINDOW w AS ($window)) s") =~ /^300\|(?:29\d|300)\|t$/, 1, "$call is $variadic");
}

$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok([ 'pg_dump', '-f', "$dir/dump.sql", '-d', 'postgres' ], 'pg_dump');
$node->command_ok([ psql_command('restored', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/dump.sql") ], 'restore');
for my $k (0 .. $#views)
{
	my $rows = "SELECT v::text FROM v$k v ORDER BY 1";
	my $before = $node->safe_psql('postgres', $rows);
	my $name = $views[$k] =~ s/\s+/ /gr;

	cmp_ok(length($before), '>', 100, "$name: has rows");
	is($node->safe_psql('restored', $rows), $before, "$name: the same rows");
}

$node->stop;
done_testing();
