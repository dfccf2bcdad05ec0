# gpu_progress(): it must show the state of a fit in another session to those who may see it, and end with the
# statement; also the notices. The device service is a stand-in, or a GPU's (GPUREG_TAP_DEVICE, see GpuregTest.pm).
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use GpuregTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time sleep);

my $node = start_node('main', "shared_preload_libraries = 'gpureg'", 'max_worker_processes = 16',
	'max_parallel_workers_per_gather = 2', 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0',
	'min_parallel_table_scan_size = 0', 'jit = off', service_conf(), 'gpureg.ring_size = 1MB');
$node->safe_psql('postgres', q{
	CREATE TABLE rows AS SELECT i, sin(i) + i % 5 AS y, i % 7 AS a, cos(i * 0.7) AS b, (i * 7 + i / 3) % 5 < 2 AS won
		FROM generate_series(1, 100000) i;
	CREATE FUNCTION napping(i int) RETURNS int LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS
		$$BEGIN PERFORM CASE WHEN i % 100 = 0 THEN pg_sleep(0.05) END; RETURN i; END$$;
	CREATE ROLE owner LOGIN; CREATE ROLE stranger LOGIN; CREATE ROLE watcher LOGIN; GRANT pg_read_all_stats TO watcher;
	GRANT SELECT ON rows TO owner;
	ANALYZE;});

my $seen = 'SELECT function, rows_read, workers, passes, iteration, deviance > 0, rows_per_second > 0, '
  . 'seconds > 0, pid FROM gpu_progress()';

# Waits until the view matches; returns it, or its last contents.
sub becomes
{
	my ($what) = @_;
	my $row = '';

	for (1 .. 200)
	{
		$row = $node->safe_psql('postgres', $seen);
		last if $row =~ $what;
		sleep 0.05;
	}
	return $row;
}

is($node->safe_psql('postgres', $seen), '', 'nobody is at anything');

# Fits for each way of the rows: through workers' states, a file, the ring, to a service; the counts must grow, and end.
my $reading = 'SELECT gpu_ols_fit($$SELECT y, a, napping(i) FROM rows$$)';
my $keeping = 'SELECT gpu_logreg_fit($$SELECT won, a, napping(i) FROM rows$$)';
my @ways = (
	[ 'workers', 'SET gpureg.device = cpu', $reading, 2 ],
	[ 'alone', 'SET gpureg.device = cpu; SET max_parallel_workers_per_gather = 0', $keeping, 0 ],
	[ 'ring', 'SET gpureg.debug_ring = on; SET gpureg.device = cpu', $reading, 2 ],
	[ 'service', 'SET gpureg.device = gpu', $reading, 2 ],
	[ 'keeping', 'SET gpureg.device = gpu; SET max_parallel_workers_per_gather = 0',
		q{SELECT gpu_keep('some', 'SELECT y, napping(i) AS a FROM rows')}, 0 ]);
for my $way (@ways)
{
	my ($name, $settings, $statement, $workers) = @$way;
	my ($function) = $statement =~ /(gpu_\w+)/;
	my $session = start_session($node, $name, $settings, $statement);
	my $pid = wait_active($node, $name, $function);
	my $first = becomes(qr/^$function\|[1-9]\d*\|$workers\|/);
	like($first, qr/^$function\|[1-9]\d*\|$workers\|0\|\|\|t\|t\|$pid$/, "$name: rows and who reads them");
	my ($before) = $first =~ /\|(\d+)\|/;
	my ($after) = becomes(qr/^$function\|(?!$before\|)\d+/) =~ /\|(\d+)\|/;
	cmp_ok($after // 0, '>', $before // 0, "$name: more of them later");
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
	my (undef, $err) = finish_session($session);
	like($err, qr/57014/, "$name: it is cancelled");
	is($node->safe_psql('postgres', $seen), '', "$name: and no longer at it");
}

# Iterations, and the roles that may see them
my $passing = q{SELECT gpu_logreg_fit($$SELECT won, a, b FROM rows$$, solver => 'gd', learning_rate => 1e-9,
	tol => 1e-300, max_iter => 2000000000)};
my $session = start_session($node, 'iterating', 'SET ROLE owner', 'SET gpureg.device = cpu',
	'SET max_parallel_workers_per_gather = 0', $passing);
my $pid = wait_active($node, 'iterating', 'gpu_logreg_fit');
like(becomes(qr/\|[1-9]\d*\|t\|t\|t\|/), qr/^gpu_logreg_fit\|[1-9]\d+\|0\|[1-9]\d*\|[1-9]\d*\|t\|t\|t\|$pid$/,
	'iterations, passes and a deviance');
for my $as ([ 'stranger', 0 ], [ 'watcher', 1 ])
{
	is($node->safe_psql('postgres', 'SELECT count(*) FROM gpu_progress()', extra_params => [ '-U', $as->[0] ]),
		$as->[1],
		"$as->[0] sees $as->[1]");
}
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
finish_session($session);
is($node->safe_psql('postgres', $seen), '', 'a session that was terminated is at nothing');

# The session itself, and the view after each statement's end
is($node->safe_psql('postgres', q{
	SELECT count(*) FROM gpu_progress();
	SELECT (gpu_ols_fit('SELECT y, (SELECT count(*) FROM gpu_progress())::int + a FROM rows')).coef IS NOT NULL;
	SELECT (gpu_ols_fit('SELECT (gpu_ols_fit(''VALUES (3, 1), (5, 2), (7, 3)'')).n + i, i
		FROM generate_series(1, 3) i')).n;
	SELECT count(*) FROM gpu_progress();
	BEGIN;
	SAVEPOINT s;
	DO $$ BEGIN PERFORM gpu_ols_fit('SELECT 1 / 0, 1'); EXCEPTION WHEN division_by_zero THEN NULL; END $$;
	SELECT count(*) FROM gpu_progress();
	SELECT (gpu_ols_fit('SELECT y, a FROM rows')).n;
	SELECT count(*) FROM gpu_progress();
	COMMIT}), "0\nt\n3\n0\n0\n100000\n0", 'nothing is left by fits that end, fail, or are within others');

# A server's command must keep its own progress report.
my $copying = start_session($node, 'copying', 'SET max_parallel_workers_per_gather = 0', 'SET gpureg.device = cpu',
	"COPY (SELECT gpu_ols_fit('SELECT y, a, napping(i) FROM rows WHERE i <= 4000')) TO STDOUT");
wait_active($node, 'copying', 'gpu_ols_fit');
is($node->safe_psql('postgres', 'SELECT (SELECT count(*) FROM pg_stat_progress_copy), count(*) FROM gpu_progress()'),
	'1|0', 'a COPY shows its own progress');
(undef, my $err) = finish_session($copying);
is($err, '', 'and ends well');

# Notices
(undef, $err) = try_sql($node, "SET statement_timeout = '4s'; SET max_parallel_workers_per_gather = 0; "
	. "SET gpureg.device = cpu; $passing");
unlike($err, qr/NOTICE/, 'no notices unless they are asked for');
(undef, $err) = try_sql($node, "SET statement_timeout = '6s'; SET max_parallel_workers_per_gather = 0; "
	. "SET gpureg.device = cpu; SET gpureg.progress_notices = on; $passing");
my $notices = () = $err =~ /NOTICE:  00000: gpu_logreg_fit: iteration \d+, deviance [\d.e+]+, \d+ passes in \d+ s/g;
cmp_ok($notices, '>=', 2, 'notices of iterations') or diag($err);
cmp_ok($notices, '<=', 6, 'one a second at most');

done_testing();
