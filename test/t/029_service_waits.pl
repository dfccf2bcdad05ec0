# Sessions that wait in the device service, by a stand-in that computes on the CPU, or on a GPU (GPUREG_TAP_DEVICE, see
# GpuregTest.pm): for memory; for a block of a ring whose rows nobody takes; and sums of kept rows that exceed float8.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use GpuregTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time sleep);

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', join "\n", "shared_preload_libraries = 'gpureg'", 'shared_buffers = 32MB',
	'max_worker_processes = 16', 'max_parallel_workers_per_gather = 2', 'parallel_setup_cost = 0',
	'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0', 'jit = off', 'gpureg.device = gpu',
	service_conf(), 'gpureg.ring_size = 1MB', '');
$node->start;
my $postmaster = postmaster_pid($node);

$node->safe_psql('postgres', q{
	CREATE EXTENSION gpureg;
	CREATE TABLE rows AS SELECT i, sin(i) + i % 5 AS y, i % 7 AS a, cos(i * 0.7) AS b, (i * 7 + i / 3) % 5 < 2 AS won
		FROM generate_series(1, 200000) i;
	ANALYZE;});

my $logit = 'SELECT (gpu_logreg_fit($$SELECT won, a, b FROM rows$$)).n';
my $passing = q{SELECT gpu_logreg_fit($$SELECT won, a, b FROM rows$$, solver => 'gd', learning_rate => 1e-9,
	tol => 1e-300, max_iter => 2000000000)};

#
# The service's memory: nine tenths of the device's free memory. Reservations are for the rows that the planner expects.
#
$node->safe_psql('postgres', $logit);
my $free = $node->safe_psql('postgres', 'SELECT memory_free FROM gpu_devices() WHERE service_pid IS NOT NULL');
cmp_ok($free, '>', 1e8, 'the service has a device with memory');
for my $case ([ 0.3, 1 ], [ 0.8, 1 ], [ 1.2, 0 ])
{
	my ($share, $fits) = @$case;
	# three columns of eight bytes
	my $expected = int($share * $free / 24);
	my ($out, $err) = try_sql($node, "CREATE OR REPLACE FUNCTION expected_rows() RETURNS SETOF rows LANGUAGE sql VOLATILE"
		. " ROWS $expected AS 'SELECT * FROM rows LIMIT 1000';"
		. ' SELECT (gpu_logreg_fit($$SELECT won, a, b FROM expected_rows()$$)).n');

	if ($fits) { is($out, '1000', "rows expected to take $share of it") }
	else { is(sqlstate($err), '53200', "rows expected to take $share of it") }
}

#
# Memory in use by another session: sessions that read rows for the service wait for it, with their ring full
#
$node->safe_psql('postgres', "ALTER SYSTEM SET gpureg.service_memory = '8MB'; SELECT pg_reload_conf()");
sleep 0.5;
my $holder = start_session($node, 'holder', $passing);
wait_active($node, 'holder', 'gpu_logreg_fit');
for (1 .. 200)
{
	last if $node->safe_psql('postgres', 'SELECT memory_reserved FROM gpu_devices() WHERE service_pid IS NOT NULL') > 4e6;
	sleep 0.05;
}
for my $way (qw(cancel terminate))
{
	my $waiter = start_session($node, $way, $logit);
	my $backend = wait_active($node, $way, 'gpu_logreg_fit');

	# waits until nothing moves: the ring has room for a tenth of the rows
	sleep 1;
	$node->safe_psql('postgres', "SELECT pg_${way}_backend($backend)");
	my $started = time;
	my (undef, $err) = finish_session($waiter);
	cmp_ok(time - $started, '<', $prompt, "$way: who waits for a block ends promptly");
	is(sqlstate($err), $way eq 'cancel' ? '57014' : '57P01', "$way: the error");
}
my $waiter = start_session($node, 'patient', $logit);
wait_active($node, 'patient', 'gpu_logreg_fit');
sleep 0.5;
$node->safe_psql('postgres', q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'holder'});
finish_session($holder);
my ($out) = finish_session($waiter);
is($out, "200000\n", 'and who is patient is served');
$node->safe_psql('postgres', 'ALTER SYSTEM RESET gpureg.service_memory; SELECT pg_reload_conf()');

#
# A session that ends while the service computes for it: the service must stop at once, and nothing may be left
#
my ($from, $reps) = on_gpu() ? ('rows, generate_series(1, 20)', 1_000_000) : ('rows', 100_000);
my $booting = start_session($node, 'booting', "SET max_parallel_workers_per_gather = 0;
	SELECT count(*) FROM gpu_ols_boot('SELECT i, y, a, b FROM $from', reps => $reps, key => 'i')");
my $backend = wait_active($node, 'booting', 'gpu_ols_boot');
# waits for the rows
sleep 3;
my $told = time;
$node->safe_psql('postgres', "SELECT pg_terminate_backend($backend)");
$node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $backend");
cmp_ok(time - $told, '<', 1, 'terminated in a long computation: who waits for it is gone');
my (undef, $error) = finish_session($booting);
is(sqlstate($error), '57P01', 'terminated in a long computation: the error');
ok($node->poll_query_until('postgres',
	'SELECT computations = 0 AND memory_reserved = 0 FROM gpu_devices() WHERE service_pid IS NOT NULL'),
	'terminated in a long computation: nothing is left');

#
# A service that doesn't answer, like one whose driver hangs: a session that told it to stop waits for 10 s, and leaves.
# New sessions must not ask it until it answers a new connection.
#
for my $way (qw(cancel terminate))
{
	my $session = start_session($node, "deaf_$way", 'SET max_parallel_workers_per_gather = 0', $passing);
	my $deaf = wait_active($node, "deaf_$way", 'gpu_logreg_fit');
	my $service = $node->safe_psql('postgres', 'SELECT service_pid FROM gpu_devices() WHERE computations > 0');

	kill 'STOP', $service;
	$node->safe_psql('postgres', "SELECT pg_${way}_backend($deaf)");
	my $stopped = time;
	my (undef, $err) = finish_session($session);
	cmp_ok(time - $stopped, '<', 14, "$way, and a service that does not answer: the session goes");
	is(sqlstate($err), $way eq 'cancel' ? '57014' : '57P01', "$way, and a service that does not answer: the error");
	kill 'CONT', $service;
	ok($node->poll_query_until('postgres',
		'SELECT computations = 0 AND memory_reserved = 0 FROM gpu_devices() WHERE service_pid IS NOT NULL'),
		"$way, and a service that does not answer: nothing is left once it does");
	is($node->safe_psql('postgres', $logit), '200000', 'and it serves again');
}

#
# Folds of kept rows: a session that has some memory must not wait for more, which may be its own, or that of another
# session that waits in the same way
#
$node->safe_psql('postgres', q{SELECT gpu_keep('folds', 'SELECT y, a, b, i, won FROM rows', true)});
my $folds = q{SELECT (gpu_enet_fit(kept => 'folds', formula => 'won ~ a + b', folds => 4, family => 'binomial')).n};
my $limit = q{SET statement_timeout = '20s'};
for my $case ([ '10MB', 1 ], [ '15MB', 2 ])
{
	my ($memory, $nsessions) = @$case;

	$node->safe_psql('postgres', "ALTER SYSTEM SET gpureg.service_memory = '$memory'; SELECT pg_reload_conf()");
	sleep 0.5;
	for (1 .. 4)
	{
		my @sessions = map { start_session($node, "folds$_", $limit, $folds) } 1 .. $nsessions;
		my @answers = map { [ finish_session($_) ] } @sessions;
		my @ends = map { $_->[1] eq '' ? $_->[0] =~ s/\n//r : sqlstate($_->[1]) } @answers;

		is(scalar(grep { $_ ne '53200' && $_ ne '200000' } @ends), 0, "folds of $nsessions in $memory: nobody waits")
		  or diag(map { "@$_\n" } @answers);
	}
}
$node->safe_psql('postgres', 'ALTER SYSTEM RESET gpureg.service_memory; SELECT pg_reload_conf()');
my ($n) = try_sql($node, $folds);
is($n, '200000', 'folds, with memory enough');

#
# Many features, and rows that the shift chosen first doesn't suit: the thread that sends rows asks for sums for which
# the session has no area
#
$node->safe_psql('postgres', q{
	CREATE FUNCTION features(i int) RETURNS float8[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
		$$SELECT array_agg(CASE WHEN i > 6000 THEN sin(i * k) / 3 ELSE 1e6 + (i * 7919 + k * 104729) % 1000 END)
		FROM generate_series(1, 200) k$$;
	CREATE TABLE wide AS SELECT (i % 17)::float8 AS y, features(i) AS x FROM generate_series(1, 8000) i;
	ANALYZE wide;});
my $wide = q{SELECT gpu_ols_fit('SELECT y, x FROM wide')};
is($node->safe_psql('postgres', "WITH f AS ($wide AS m) SELECT (m).n, (m).coef[200] FROM f"),
	$node->safe_psql('postgres', "SET gpureg.device = cpu; WITH f AS ($wide AS m) SELECT (m).n, (m).coef[200] FROM f"),
	'many features whose shift changes: the same as on the CPU');

#
# Sums of kept rows that are NaN
#
$node->safe_psql('postgres', q{SELECT gpu_keep('wild', 'SELECT y * 1e200 AS y, a, b * 1e200 AS b FROM rows LIMIT 1000')});
for my $case ([ 'y ~ a', 'y' ], [ 'a ~ b', 'b' ])
{
	my ($formula, $column) = @$case;
	my (undef, $err) = try_sql($node, "SELECT gpu_ols_fit(kept => 'wild', formula => '$formula')");

	is(sqlstate($err), '22003', "kept rows, $formula");
	like($err, qr/"$column"/, 'by its name');
}
survived($node, $postmaster, 'all of it');

done_testing();
