# The device service, by a stand-in that computes on the CPU, or on a GPU (GPUREG_TAP_DEVICE, see GpuregTest.pm): its
# start and end, many sessions at once, memory limits, and roles' views. Whenever a session ends, it must leave nothing
# in the service.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use GpuregTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time sleep);

# Seconds until the service has dropped a client that is gone. (It looks every 10 ms.)
my $patience = 0.2;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', join "\n", "shared_preload_libraries = 'gpureg'", 'shared_buffers = 32MB',
	'max_connections = 60', 'max_worker_processes = 32', 'max_parallel_workers = 24',
	'max_parallel_workers_per_gather = 2', 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0',
	'min_parallel_table_scan_size = 0', 'jit = off', 'gpureg.device = gpu', service_conf(),
	'gpureg.ring_size = 8MB', '');
$node->start;
my $postmaster = postmaster_pid($node);

$node->safe_psql('postgres', q{
	CREATE EXTENSION gpureg;
	CREATE TABLE rows AS SELECT i, sin(i) + i % 5 AS y, i % 7 AS a, cos(i * 0.7) AS b, (i * 7 + i / 3) % 5 < 2 AS won
		FROM generate_series(1, 50000) i;
	-- the service's process, and what the sessions have there
	CREATE VIEW service AS SELECT service_pid, sessions, computations, memory_reserved FROM gpu_devices()
		WHERE service_pid IS NOT NULL;
	CREATE FUNCTION napping(i int) RETURNS int LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS
		$$BEGIN PERFORM CASE WHEN i % 100 = 0 THEN pg_sleep(0.1) END; RETURN i; END$$;
	ANALYZE;});

my $ols = 'SELECT (gpu_ols_fit($$SELECT y, a, b FROM rows$$)).coef';
my $logit = 'SELECT (gpu_logreg_fit($$SELECT won, a, b FROM rows$$)).coef';

# Rows that come for minutes; passes over rows that take minutes
my $reading = 'SELECT gpu_logreg_fit($$SELECT won, a, napping(i) FROM rows$$)';
my $passing = q{SELECT gpu_logreg_fit($$SELECT won, a, b FROM rows$$, solver => 'gd', learning_rate => 1e-9,
	tol => 1e-300, max_iter => 2000000000)};

sub services { return service_processes($postmaster); }

sub service
{
	return $node->safe_psql('postgres', 'SELECT * FROM service');
}

# Waits until the view matches; returns the seconds that took.
sub service_becomes { return seconds_until(\&service, @_); }

# Checks that the service has no computation, no memory, and no session but this test's own, which has none.
sub nothing_left
{
	my ($name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $took = service_becomes(qr/^\d+\|0\|0\|0$/);
	# adds the time that psql needs to ask
	ok($took < $patience + 1, "$name: nothing is left in the service") or diag(service());
}

# Checks that coefficients agree up to the order of their sums.
sub same
{
	my ($got, $expected, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	cmp_ok(relative_difference($got, $expected), '<', 1e-12, $name) or diag("$got\n$expected");
}

#
# Start, use, end
#
is(scalar(services()), 0, 'no service before anybody wants a device');
my @cpu = map { $node->safe_psql('postgres', "SET gpureg.device = cpu; $_") } $ols, $logit;
is(scalar(services()), 0, 'nor where the CPU is wanted');
my @served = map { $node->safe_psql('postgres', $_) } $ols, $logit;
same("@served", "@cpu", 'the service gives what the CPU gives');
is(scalar(services()), 1, 'one service');
my ($pid) = split /\|/, service();
like($node->safe_psql('postgres', "$logit; SELECT device, reason FROM gpu_last_run()"),
	qr/\n$service_device\|gpureg.device is gpu$/, 'gpu_last_run() names it');
like(service(), qr/^$pid\|0\|0\|0$/, 'the same one serves all sessions, and they leave nothing');
same($node->safe_psql('postgres', "SET max_parallel_workers_per_gather = 0; $logit"), $cpu[1],
	'rows that the session reads');
same($node->safe_psql('postgres', 'SET max_parallel_workers_per_gather = 0; SELECT gpu_logreg(array_agg(ARRAY[a, b]), '
	. 'array_agg(won)) FROM rows'), $node->safe_psql('postgres', 'SET gpureg.device = cpu; '
	. 'SELECT gpu_logreg(array_agg(ARRAY[a, b]), array_agg(won)) FROM rows'), 'rows from arrays');
is($node->safe_psql('postgres', 'SELECT gpu_project(ARRAY[1, 2, 3], 4, 7)'),
	$node->safe_psql('postgres', 'SET gpureg.device = cpu; SELECT gpu_project(ARRAY[1, 2, 3], 4, 7)'), 'projections');
is($node->safe_psql('postgres', "SET gpureg.enable_service = off; SET gpureg.device = auto; $ols;"
	. ' SELECT device FROM gpu_last_run()'), "$cpu[0]\ncpu", 'gpureg.enable_service = off');

# many sessions at once, each with several statements
my @sessions = map { start_session($node, "many$_", ($logit, $ols) x 3) } 1 .. 12;
my @answers = map { (finish_session($_))[0] } @sessions;
same(join('', @answers), join("\n", ($cpu[1], $cpu[0]) x 36), 'twelve sessions at once');
nothing_left('twelve sessions');

# The ring's thread opens each fit's place while the session plans and reads. If it touched the session's memory,
# sessions would crash within some hundred fits.
is($node->safe_psql('postgres', q{
	SELECT count((gpu_ols_fit(format('SELECT y, a, b FROM rows WHERE i <= %s', 50 + k))).n)
	FROM generate_series(1, 1000) k}), '1000', 'a thousand fits in a session');

# a fit within the query of another fit
is($node->safe_psql('postgres', 'SELECT (gpu_ols_fit($$SELECT y, a, (gpu_ols_fit(\'SELECT y, a FROM rows WHERE i <= '
	. '100\')).coef[1] + b AS b FROM rows WHERE i <= 50$$)).n'), '50', 'fits within a fit');

#
# A worker that hears late
#
# The worker's statement is cancelled. Another session reads rows in the meantime, which the worker must not overwrite.
SKIP: {
	my ($module, $why_not) = build_module('deaf');
	skip $why_not, 3 if !defined $module;
	$node->safe_psql('postgres',
		"CREATE FUNCTION deaf(i int, ms int) RETURNS int LANGUAGE c PARALLEL SAFE AS '$module'");
	$node->safe_psql('postgres', q{CREATE FUNCTION sleeps(s int) RETURNS int LANGUAGE sql VOLATILE PARALLEL SAFE AS
		'SELECT 0 FROM pg_sleep(s)'});
	# a session's first statement has memory of its own
	my @before = ('SET gpureg.enable_scan = off', $ols);
	my $late = start_session($node, 'late', @before, 'SET parallel_leader_participation = off',
		'SELECT gpu_ols_fit($$SELECT 1e9 * y, a, CASE WHEN i % 100 = 50 THEN deaf(i, 2500) ELSE b END FROM rows$$)');
	my $leader = wait_active($node, 'late', 'deaf');
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($leader)");
	my $other = 'SELECT (gpu_ols_fit($$SELECT y, a, CASE WHEN i = 200 THEN b + sleeps(4) ELSE b END FROM rows WHERE '
	  . 'i <= 1000$$)).coef';
	my @others = map { start_session($node, "other$_", @before, $other) } 1 .. 3;
	my $right = $node->safe_psql('postgres', "SET gpureg.device = cpu; $ols; " . $other =~ s/sleeps\(4\)/0/r);
	same(join("\n", map { (finish_session($_))[0] =~ s/\n$//r } @others), join("\n", ($right) x 3),
		'a worker that hears late of its end writes over nobody\'s rows');
	like((finish_session($late))[1], qr/57014/, 'its statement is cancelled');
	nothing_left('a worker that hears late');
}

#
# Sessions that end
#
for my $phase ([ 'reading', $reading ], [ 'passing', $passing ])
{
	my ($name, $statement) = @$phase;

	for my $way (qw(cancel terminate timeout))
	{
		my @before = $way eq 'timeout' ? "SET statement_timeout = '2s'" : ();
		my $session = start_session($node, "$name$way", @before, $statement);
		my $backend = wait_active($node, "$name$way", 'gpu_logreg_fit');

		ok($way eq 'timeout' || service_becomes(qr/^$pid\|1\|1\|/) < 10, "$name, $way: it is in the service")
		  or diag(service());
		$node->safe_psql('postgres', "SELECT pg_${way}_backend($backend)") if $way ne 'timeout';
		my $started = time;
		my (undef, $err) = finish_session($session);
		ok($way eq 'timeout' || time - $started < $prompt, "$name, $way: promptly");
		like($err, $way eq 'terminate' ? qr/57P01/ : qr/57014/, "$name, $way: the error");
		nothing_left("$name, $way");
	}
}
survived($node, $postmaster, 'sessions that end');
is((split /\|/, service())[0], $pid, 'the service is the same');

# a client that leaves without a message, in a transaction that has kept rows
my $open = open_psql($node, 'leaves');
psql_says($open, "BEGIN;\n$logit;");
like(service(), qr/^$pid\|1\|0\|0$/, 'a session stays connected');
close_psql($open);
nothing_left('a session that leaves');

#
# The service ends
#
my $session = start_session($node, 'orphan', $passing, $logit);
wait_active($node, 'orphan', 'gpu_logreg_fit');
ok(service_becomes(qr/^$pid\|1\|1\|/) < 10, 'a session is served');
my $waits = 'SELECT wait_event_type, wait_event FROM pg_stat_activity WHERE pid =';
ok( $node->poll_query_until('postgres', "$waits $pid",
		'Extension|' . ($node->pg_version < 17 ? 'Extension' : 'GpuregServiceIdle')),
	'what it waits for has a name');
is($node->safe_psql('postgres', "SELECT backend_type FROM pg_stat_activity WHERE pid = $pid"), 'gpureg device service',
	'pg_stat_activity shows the service');
$node->safe_psql('postgres', 'CREATE ROLE nobody LOGIN');
(undef, my $denied) = try_sql($node, "SET ROLE nobody; SELECT pg_terminate_backend($pid)");
is(sqlstate($denied), '42501', 'whom not all may end');
# a service that doesn't react would block CREATE and DROP DATABASE
$node->safe_psql('postgres', 'CREATE DATABASE another');
$node->safe_psql('postgres', 'DROP DATABASE another');
is($node->safe_psql('postgres', "SELECT pg_cancel_backend($pid); SELECT pg_log_backend_memory_contexts($pid);"
	. " SELECT pg_terminate_backend($pid)"), "t\nt\nt", 'a superuser may');
my ($out, $err) = finish_session($session);
like($err, qr/58000.*GPU operation failed.*the device service has ended/s,
	'its service ends: an error in its statement');
same($out, $cpu[1], 'and its next statement has a new one');
my ($second) = split /\|/, service();
isnt($second, $pid, 'of another process');
survived($node, $postmaster, 'a service that ends');

# a service that nobody uses
$node->safe_psql('postgres', 'ALTER SYSTEM SET gpureg.service_idle = 1; SELECT pg_reload_conf()');
for (1 .. 100)
{
	last if !services();
	sleep 0.1;
}
is(scalar(services()), 0, 'a service that nobody wants ends');
$open = open_psql($node, 'patient');
same((psql_says($open, "$logit;"))[0], $cpu[1], 'a session that wants one starts another');
sleep 3;
is(scalar(services()), 0, 'which ends although that session is still connected');
same((psql_says($open, "$logit;"))[0], $cpu[1], 'and a third');
close_psql($open);
$node->safe_psql('postgres', 'ALTER SYSTEM RESET gpureg.service_idle; SELECT pg_reload_conf()');

#
# Memory
#
$node->safe_psql('postgres', "ALTER SYSTEM SET gpureg.service_memory = '2MB'; SELECT pg_reload_conf(); $logit");
sleep 0.5;
my $holder = start_session($node, 'holder', $passing);
wait_active($node, 'holder', 'gpu_logreg_fit');
ok(service_becomes(qr/\|1\|1\|1[0-9]{6}$/) < 10, 'memory is reserved for a job') or diag(service());
same($node->safe_psql('postgres', "SET gpureg.device = auto; SET gpureg.min_gpu_work = 0; $logit"), $cpu[1],
	'auto takes the CPU where there is not enough left');
like($node->safe_psql('postgres', "SET gpureg.device = auto; SET gpureg.min_gpu_work = 0; $logit;"
	. ' SELECT device, reason FROM gpu_last_run()'), qr/cpu\|GPU memory: .*free/, 'and says so');
is_as_on_cpu($node->safe_psql('postgres', $ols), $cpu[0], 'sums need none');
my $waiter = start_session($node, 'waiter', $logit, 'SELECT reason FROM gpu_last_run()');
wait_active($node, 'waiter', 'gpu_logreg_fit');
my $impatient = start_session($node, 'impatient', "SET statement_timeout = '500ms'", $logit);
(undef, $err) = finish_session($impatient);
like($err, qr/57014/, 'who waits can be cancelled');
$node->safe_psql('postgres', q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'holder'});
finish_session($holder);
($out) = finish_session($waiter);
like($out, qr/^\{.*\}\ngpureg.device is gpu, after [\d.]+ s of waiting for memory$/,
	'and who waits is served, and told');
(undef, $err) = try_sql($node, "ALTER SYSTEM SET gpureg.service_memory = '1MB'; SELECT pg_reload_conf();"
	. " SELECT pg_sleep(0.5); $logit");
is(sqlstate($err), '53200', 'more than there is to be had is an error');
$node->safe_psql('postgres', 'ALTER SYSTEM RESET gpureg.service_memory; SELECT pg_reload_conf()');
nothing_left('memory');

#
# Roles
#
$node->safe_psql('postgres',
	'CREATE TABLE own AS SELECT * FROM rows; ALTER TABLE own OWNER TO nobody');
($out, $err) = try_sql($node, 'SET gpureg.debug_service = off', user => 'nobody');
is(sqlstate($err), '42501', 'who may not choose the stand-in');
same($node->safe_psql('postgres', $logit =~ s/rows/own/r, extra_params => [ '-U', 'nobody' ]), $cpu[1],
	'a role that owns nothing else is served');
survived($node, $postmaster, 'all of it');

#
# Servers without room for a service, or for its worker
#
$node->append_conf('postgresql.conf', "max_worker_processes = 0\n");
$node->restart;
$postmaster = postmaster_pid($node);
(undef, $err) = try_sql($node, "SET client_min_messages = debug1; $logit");
like($err, qr/no device service: no background worker is free/, 'no background worker');
is(scalar(services()), 0, 'and no service');
# Checks the session's own device, which it uses without a service.
sub own_device
{
	my ($name) = @_;
	my ($coef, $device) = split /\n/, (try_sql($node, "$logit; SELECT device FROM gpu_last_run()"))[0];

	same($coef // '', $cpu[1], "$name: the session opens the GPU itself");
	like($device // '', qr/^gpu \d+: (?!.*device service)/, "$name: gpu_last_run() tells");
}
own_device('no background worker') if on_gpu();
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''\nmax_worker_processes = 8\n");
$node->restart;
(undef, $err) = try_sql($node, "SET client_min_messages = debug1; $logit");
my $refused = $err =~ /no device service: gpureg is not in shared_preload_libraries/ ? 1 : 0;
is($refused, $node->safe_psql('postgres', 'SHOW server_version_num') < 170000 ? 1 : 0,
	'a library that was not preloaded');
own_device('not preloaded') if on_gpu() && $refused;

done_testing();
