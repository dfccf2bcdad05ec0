# The ring of shared memory that parallel workers fill and a thread of the session's process empties. However a
# statement ends, it must leave nothing; without shared memory, rows must come without a ring.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use GpuregTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

plan skip_all => 'threads and memory are read from /proc' unless -d '/proc/self/task';

# Segments as files in this server's data directory, where no other server has any
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', join "\n", 'dynamic_shared_memory_type = mmap', 'shared_buffers = 32MB',
	'max_connections = 40', 'max_worker_processes = 32',
	'max_parallel_workers = 24', 'max_parallel_workers_per_gather = 2', 'parallel_setup_cost = 0',
		'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0', 'jit = off',
	'gpureg.device = cpu', 'gpureg.debug_ring = on', "client_connection_check_interval = '100ms'", '');
$node->start;
my $pid = postmaster_pid($node);

create_process_kb($node);
$node->safe_psql('postgres', q{
	CREATE EXTENSION gpureg;
	ALTER FUNCTION process_kb PARALLEL SAFE;
	-- a thread that was joined may be listed for a moment more, until the kernel has taken it away
	CREATE FUNCTION nthreads() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
	DECLARE
		n bigint;
	BEGIN
		FOR try IN 1 .. 50 LOOP
			SELECT count(*) INTO n FROM pg_ls_dir('/proc/self/task');
			EXIT WHEN n = 1;
			PERFORM pg_sleep(0.02);
		END LOOP;
		RETURN n;
	END $$;
	CREATE FUNCTION nfiles() RETURNS bigint LANGUAGE sql VOLATILE AS $$ SELECT count(*)
		FROM pg_ls_dir('/proc/self/fd') $$;
	-- those of a ring's size: PostgreSQL has some of its own
	CREATE FUNCTION nsegments() RETURNS bigint LANGUAGE sql VOLATILE AS $$
		SELECT count(*) FROM regexp_matches(pg_read_file('/proc/self/maps'),
			'([0-9a-f]+)-([0-9a-f]+) [^\n]*(?:pg_dynshmem/mmap|/dev/shm/PostgreSQL|/SYSV)', 'g') AS m
		WHERE ('x' || lpad(m[2], 16, '0'))::bit(64)::bigint - ('x'
			|| lpad(m[1], 16, '0'))::bit(64)::bigint > 4000000 $$;
	CREATE TABLE rows AS SELECT i, sin(i) + i % 5 AS y, i % 7 AS a, cos(i * 0.7) AS b, (i * 7 + i / 3) % 5 < 2 AS won
		FROM generate_series(1, 100000) i;
	CREATE TABLE wide AS SELECT i, sin(i) AS y, ARRAY(SELECT cos(i * sqrt(j)) FROM generate_series(2, 2001) j) AS x
		FROM generate_series(1, 400) i;
	ANALYZE;});

# Returns the segments of a ring's size.
sub segments
{
	return grep { (-s $_ // 0) > 4_000_000 } glob($node->data_dir . '/pg_dynshmem/*');
}

# Checks that no worker and no ring is left. (Workers end after the statement does.)
sub nothing_left
{
	my ($name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$node->poll_query_until('postgres',
		q{SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'parallel worker'
		OR (state = 'active' AND pid <> pg_backend_pid() AND backend_type = 'client backend')});
	for (1 .. 20)
	{
		last if !segments();
		sleep 0.1;
	}
	is(join(' ', segments()), '', "$name: no segment is left");
}

# Statements for the session itself: it must go on through a ring, with one thread and no segment mapped.
my $and_then = q{SELECT (gpu_ols_fit('SELECT y, a, b FROM rows')).n, (SELECT reason FROM gpu_last_run()) IS NOT NULL,
	nthreads(), nsegments()};
my $as_before = '100000|t|1|0';

my ($out) = try_sql($node, "$and_then; SELECT reason, rows FROM gpu_last_run()");
is($out, "$as_before\ngpureg.debug_ring is on|100000", 'a fit through the ring');
nothing_left('a fit');

#
# Interrupts
#

# Rows that never end, read as fast as they come; or so wide that the thread is slow, and all processes wait for a free
# block
my %long = (
	filling => q{SELECT gpu_ols_fit('SELECT r.y, s.a, s.b FROM rows r, rows s')},
	'filling, logistic' => q{SET gpureg.ring_size = '256MB';
		SELECT gpu_logreg_fit('SELECT r.won, s.a, s.b FROM rows r, rows s')},
	waiting => q{SELECT gpu_ols_fit('SELECT w.y, w.x FROM wide w, rows r')},
	'waiting, no worker to be had' =>
		q{SET max_parallel_workers = 0; SELECT gpu_ols_fit('SELECT w.y, w.x FROM wide w, rows r')},
	'waiting, leader looks on' =>
		q{SET parallel_leader_participation = off; SELECT gpu_ols_fit('SELECT w.y, w.x FROM wide w, rows r')});

# Waits until the statement runs, and, if its name begins with "waiting", until a process waits for a free block.
sub wait_running
{
	my ($session, $name) = @_;
	my $backend = wait_active($node, $session, 'gpu_(ols|logreg)_fit');
	my $waits = "SELECT count(*) > 0 FROM pg_stat_activity WHERE (pid = $backend OR leader_pid = $backend)
		AND wait_event_type = 'Extension' AND wait_event = '"
		. ($node->pg_version < 17 ? 'Extension' : 'GpuregRing') . "'";

	if ($name =~ /^waiting/)
	{
		ok($node->poll_query_until('postgres', $waits), "$name: somebody waits for a free block");
	}
	isnt(join(' ', segments()), '', "$name: there is a segment");
	return $backend;
}

for my $name (sort keys %long)
{
	my @statements = split /; /, $long{$name};

	my ($took, $result, $err) =
		seconds(sub { try_sql($node,
		"SET statement_timeout = '700ms'; $long{$name}; RESET statement_timeout; $and_then") });
	is(sqlstate($err), '57014', "$name, timeout: SQLSTATE") or diag($err);
	is($result, $as_before, "$name, timeout: the session goes on");
	cmp_ok($took, '<', 0.7 + $prompt, "$name, timeout: promptly");
	nothing_left("$name, timeout");

	my $session = start_session($node, 'canceled', @statements, $and_then);
	my $backend = wait_running('canceled', $name);
	($took) = seconds(sub {
		$node->safe_psql('postgres', "SELECT pg_cancel_backend($backend)");
		finish_session($session);
	});
	is(sqlstate($session->{err}), '57014', "$name, cancel: SQLSTATE") or diag($session->{err});
	is($session->{out}, "$as_before\n", "$name, cancel: the session goes on");
	cmp_ok($took, '<', $prompt, "$name, cancel: promptly");
	nothing_left("$name, cancel");

	$session = start_session($node, 'terminated', @statements, $and_then);
	$backend = wait_running('terminated', $name);
	($took) = seconds(sub {
		$node->safe_psql('postgres', "SELECT pg_terminate_backend($backend)");
		finish_session($session);
	});
	is(sqlstate($session->{err}), '57P01', "$name, terminate: SQLSTATE") or diag($session->{err});
	cmp_ok($took, '<', $prompt, "$name, terminate: promptly");
	nothing_left("$name, terminate");

	$session = start_session($node, 'gone', @statements);
	wait_running('gone', $name);
	$session->{run}->kill_kill(grace => 0);
	($took) = seconds(sub { $node->poll_query_until('postgres',
		q{SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'gone'}) });
	cmp_ok($took, '<', $prompt, "$name, client gone: no backend is left");
	nothing_left("$name, client gone");
}

# Processes that wait are woken for a block, and look around now and then: they don't poll.
{
	my $session = start_session($node, 'sleeping', split /; /, $long{waiting});
	my $backend = wait_running('sleeping', 'waiting');
	my @processes = split /\n/,
		$node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE leader_pid = $backend");
	my $nswitches = sub {
		my $n = 0;
		$n += slurp_file("/proc/$_/status") =~ /^voluntary_ctxt_switches:\s+(\d+)/m ? $1 : 0 for @processes;
		return $n;
	};
	my ($before, $elapsed) = ($nswitches->(), 0);

	($elapsed) = seconds(sub { sleep 2 });
	cmp_ok(($nswitches->() - $before) / $elapsed / (@processes || 1), '<', 400, 'waiting: a process sleeps');
	cmp_ok(scalar(@processes), '>', 0, 'waiting: in workers');
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($backend)");
	finish_session($session);
	nothing_left('waiting, asleep');
}

# A worker that is terminated must end the statement.
for my $name ('filling', 'waiting')
{
	my $session = start_session($node, 'bereft', $long{$name}, $and_then);
	my $backend = wait_running('bereft', $name);

	ok($node->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_stat_activity WHERE leader_pid = $backend"),
		"$name: there is a worker");
	$node->safe_psql('postgres',
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE leader_pid = $backend LIMIT 1");
	finish_session($session);
	is(sqlstate($session->{err}), '57P01', "$name, a worker is ended: SQLSTATE") or diag($session->{err});
	is($session->{out}, "$as_before\n", "$name, a worker is ended: the session goes on");
	nothing_left("$name, a worker is ended");
}
survived($node, $pid, 'interrupts');

#
# Errors
#

my %failing = (
	'division by zero' => [ '22012', 'SELECT y, a / (i - 90000) FROM rows' ],
	'NaN' => [ '22023', q{SELECT y, CASE i WHEN 90000 THEN 'NaN' ELSE b END AS b FROM rows} ],
	'NaN among the last rows' => [ '22023',
		q{SELECT y, CASE i WHEN 10 THEN 'NaN' ELSE b END AS b FROM rows WHERE i < 20} ],
	'a shape that changes' => [ '22023', 'SELECT y, x[1:2000 - i / 300] FROM wide' ],
	'a shape that is too wide' => [ '54000', 'SELECT y, x || x || x || x || x || x AS x FROM wide' ],
	'squares out of range' => [ '22003', 'SELECT y, CASE i WHEN 90000 THEN 1e200 ELSE b END AS b FROM rows' ]);
for my $name (sort keys %failing)
{
	my ($state, $query) = @{ $failing{$name} };

	for my $who ('workers', 'the leader')
	{
		my $set = $who eq 'workers' ? 'SET parallel_leader_participation = off' : 'SET max_parallel_workers = 0';
		my ($result, $err) = try_sql($node, "$set; SELECT gpu_ols_fit(\$\$$query\$\$); $and_then");

		is(sqlstate($err), $state, "$name in $who: SQLSTATE") or diag($err);
		is($result, $as_before, "$name in $who: the session goes on");
	}
	nothing_left($name);
}

# A hundred caught errors and fits (more with GPUREG_LONG=1) must leave nothing behind.
$node->safe_psql('postgres', q{
	CREATE FUNCTION fail_often(times int) RETURNS int LANGUAGE plpgsql AS $$
	DECLARE
		caught int := 0;
		model gpu_model;
		queries text[] := ARRAY['SELECT y, a / (i - 3000) FROM rows WHERE i < 4000', $q$SELECT y,
			CASE i WHEN 3000 THEN 'NaN' ELSE b END AS b FROM rows WHERE i < 4000$q$,
			'SELECT y, x[1:20 - i / 300] FROM wide', 'SELECT y, NULL::int FROM wide',
				'SELECT y, a, b FROM rows WHERE i < 4000', 'SELECT y, x[1:100] FROM wide'];
	BEGIN
		FOR k IN 1..times LOOP
			BEGIN
				CASE k % 3
					WHEN 0 THEN model := gpu_ols_fit(queries[k % 6 + 1]);
					WHEN 1 THEN PERFORM gpu_ols_fit(queries[k % 6 + 1]);
					WHEN 2 THEN SELECT * FROM gpu_ols_fit(queries[k % 6 + 1]) INTO model;
				END CASE;
			EXCEPTION WHEN division_by_zero OR invalid_parameter_value OR no_data_found THEN
				caught := caught + 1;
			END;
		END LOOP;
		RETURN caught;
	END $$});
my $state = q{SELECT sum(total_bytes) / 1024, process_kb('RssAnon'), nfiles(), nthreads(), nsegments()
	FROM pg_backend_memory_contexts};
my ($first, $most) = $ENV{GPUREG_LONG} ? (60, 390) : (30, 150);
my @numbers = $node->safe_psql('postgres', "SELECT fail_often($first); $state; SELECT fail_often($most); $state") =~
	/([\d.]+)/g;
is($numbers[0], $first / 3 * 2, 'errors were caught at first');
is($numbers[6], $most / 3 * 2, 'errors were caught') or diag("@numbers");
cmp_ok($numbers[7] - $numbers[1], '<', 20_000, 'memory contexts did not grow');
cmp_ok($numbers[8] - $numbers[2], '<', 20_000, 'the process did not grow');
is($numbers[9], $numbers[3], 'no file was left open');
is("$numbers[10] $numbers[11]", '1 0', 'no thread and no segment');
nothing_left('errors');

#
# Equal numbers, whichever processes scan
#

my %fits = (
	gpu_ols_fit => [ q{SELECT coef, n FROM gpu_ols_fit('SELECT y, a, b FROM rows')}, 1e-15 ],
	'gpu_ols_fit, single' => [ q{SELECT coef, n FROM gpu_ols_fit('SELECT y, a::smallint, b::real FROM rows')}, 1e-15 ],
	'gpu_ols_fit, wide' => [ q{SELECT coef, n FROM gpu_ols_fit('SELECT y, x[1:50] FROM wide, generate_series(1, 100)')},
		1e-13 ],
	gpu_logreg_fit => [ q{SELECT coef, n FROM gpu_logreg_fit('SELECT won, a, b FROM rows')}, 1e-12 ]);
for my $name (sort keys %fits)
{
	my ($sql, $tolerance) = @{ $fits{$name} };
	my $want = $node->safe_psql('postgres',
		"SET gpureg.debug_ring = off; SET max_parallel_workers_per_gather = 0; $sql");

	for my $workers (0 .. 4)
	{
		for my $leader ('on', 'off')
		{
			my ($got, $run) = split /\n/,
				$node->safe_psql('postgres',
				"SET max_parallel_workers_per_gather = 4; SET max_parallel_workers = $workers;
				SET parallel_leader_participation = $leader; $sql; SELECT reason, workers BETWEEN 0 AND $workers
					FROM gpu_last_run()");

			is($run, 'gpureg.debug_ring is on|t', "$name, $workers workers, leader $leader: through the ring");
			cmp_ok(relative_difference($got, $want), '<=', $tolerance,
				"$name, $workers workers, leader $leader: the same");
		}
	}
}
is($node->safe_psql('postgres',
	q{SET parallel_leader_participation = off; SELECT (gpu_ols_fit('SELECT y, a, b FROM rows')).n;
	SELECT workers > 0 FROM gpu_last_run()}),
	"100000\nt", 'workers are counted');

# many sessions at once
my $fit = q{SELECT (gpu_ols_fit('SELECT y, a, b FROM rows, generate_series(1, 5)')).n};
my @sessions = map { start_session($node, "crowd$_", ($fit) x 4, $and_then) } 1 .. 12;
finish_session($_) for @sessions;
is(join('', map { $_->{err} } @sessions), '', 'many sessions: no error');
is(scalar(grep { $_->{out} eq ("500000\n" x 4) . "$as_before\n" } @sessions), 12, 'many sessions: every row once');
nothing_left('many sessions');

# transactions that may not write
for my $transaction ('READ ONLY', 'ISOLATION LEVEL SERIALIZABLE', 'ISOLATION LEVEL REPEATABLE READ, READ ONLY')
{
	is($node->safe_psql('postgres', "BEGIN $transaction; $and_then; SELECT reason FROM gpu_last_run(); COMMIT"),
		"$as_before\ngpureg.debug_ring is on", $transaction);
}

# Checks the memory of all processes over two million rows, which take 180 MB.
$node->safe_psql('postgres', q{
	CREATE FUNCTION modest() RETURNS int LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS $$
	DECLARE
		kb int := process_kb('VmHWM');
	BEGIN
		IF kb > 150000 THEN
			RAISE EXCEPTION 'process has had % kB', kb;
		END IF;
		RETURN 1;
	END $$});
$out = $node->safe_psql('postgres', q{
	SELECT (gpu_ols_fit('SELECT y, a, b, a * b, a * a, b * b, i, a * i, b * i, CASE WHEN i % 10000 = 0 THEN modest() '
		'ELSE 0 END AS modest, y * b FROM rows, generate_series(1, 20)')).n;
	SELECT reason FROM gpu_last_run();
	SELECT process_kb('VmHWM')});
like($out, qr/^2000000\ngpureg.debug_ring is on\n\d+$/, 'two million rows');
note("peak of the session: $out");
cmp_ok((split /\n/, $out)[2], '<', 150_000, 'memory does not grow with the rows');

#
# Fits without a ring
#

# Later sessions cannot write files of more than 12 MB: a worker's segments fit, a ring of 16 MB doesn't.
SKIP:
{
	my $limited = system_log('prlimit', '--pid', $pid, '--fsize=12000000:') == 0;

	skip 'prlimit is not there or cannot do it', 6 unless $limited;
	my $without = q{SELECT (gpu_ols_fit('SELECT y, a, b FROM rows')).n; SELECT reason FROM gpu_last_run();};
	my ($result, $err) = try_sql($node,
		"$without $without SELECT nthreads(), nsegments(); SET gpureg.ring_size = '1MB'; $without");

	is($result, "100000\ngpureg.device is cpu\n100000\ngpureg.device is cpu\n1|0\n100000\ngpureg.debug_ring is on",
		'no room for a ring: the rows come without it; a smaller one is had');
	is($err, '', 'no room for a ring: nothing is said');
	($result, $err) = try_sql($node,
		"BEGIN; SAVEPOINT s; $without ROLLBACK TO s; $without COMMIT;
		SELECT (gpu_logreg_fit('SELECT won, a, b FROM rows')).n");
	is($result, "100000\ngpureg.device is cpu\n100000\ngpureg.device is cpu\n100000",
		'no room for a ring: in a subtransaction, and for logistic regression');
	($result) = try_sql($node, "SET gpureg.ring_size = '1MB'; SET max_parallel_workers_per_gather = 1024; $without");
	is($result, "100000\ngpureg.debug_ring is on", 'a small ring, however many workers a query may ask for');
	nothing_left('no room for a ring');
	system_log('prlimit', '--pid', $pid, '--fsize=unlimited:');
	is((try_sql($node, "$and_then; SELECT reason FROM gpu_last_run()"))[0], "$as_before\ngpureg.debug_ring is on",
		'and with it again when there is room');
}

#
# A hot standby
#

$node->backup('copy');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'copy', has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby);
($out) = try_sql($standby, "SELECT pg_is_in_recovery(); $and_then; SELECT reason FROM gpu_last_run();
	SELECT gpu_ols_fit('SELECT y, a / (i - 90000) FROM rows'); $and_then");
is($out, "t\n$as_before\ngpureg.debug_ring is on\n$as_before", 'on a hot standby');
unlike(slurp_file($standby->logfile), qr/leak|PANIC|TRAP:|was terminated by signal/,
	'on a hot standby: nothing was left, nothing crashed');
$standby->stop;

survived($node, $pid, 'the ring');

#
# A server that shuts down in fast or immediate mode
#

for my $mode ('fast', 'immediate')
{
	my %sessions = map { ($_ => start_session($node, $_, $long{$_})) } 'filling', 'waiting';

	wait_active($node, $_, 'gpu_ols_fit') for sort keys %sessions;
	$node->stop($mode);
	finish_session($_) for values %sessions;
	# immediate: a warning at most; a worker may end before its session
	like($sessions{$_}{err}, $mode eq 'fast' ? qr/57P01: terminating/ : qr/closed the connection/,
		"$_, $mode shutdown: the session ends") for sort keys %sessions;
	is(join(' ', segments()), '', 'fast shutdown: no segment is left') if $mode eq 'fast';
	$node->start;
	is((try_sql($node, $and_then))[0], $as_before, "$mode shutdown: the server starts again");
	nothing_left("$mode shutdown");
}
my $log = slurp_file($node->logfile);
unlike($log, qr/was terminated by signal|PANIC|TRAP:/, 'nothing crashed');
unlike($log, qr/leak/, 'no leak was noticed');

#
# Shared memory of other kinds, some of it reserved when the server starts
#

# Restarts the server; false if the machine has no shared memory of this kind. Any other failure ends the test.
sub starts_with
{
	my ($type) = @_;
	my $log_size = -s $node->logfile;

	$node->append_conf('postgresql.conf', "dynamic_shared_memory_type = $type\nmin_dynamic_shared_memory = '48MB'\n");
	return 1 if $node->start(fail_ok => 1);

	my $said = substr(slurp_file($node->logfile), $log_size);
	BAIL_OUT("the server does not start with $type shared memory: $said")
	  unless $said =~ /FATAL: .* shared memory segment/;
	return 0;
}

# Only a lack of room does without a ring. Workers' segments fit into memory of the server's, a ring does not, and its
# directory takes no file.
$node->append_conf('postgresql.conf', "min_dynamic_shared_memory = '4MB'");
$node->restart;
chmod 0500, $node->data_dir . '/pg_dynshmem';
error_is($node, q{SELECT gpu_ols_fit('SELECT y, a, b FROM rows')}, '42501', 'no privilege for a segment');
chmod 0700, $node->data_dir . '/pg_dynshmem';
is($node->safe_psql('postgres', q{SELECT (gpu_ols_fit('SELECT y, a, b FROM rows')).n; SELECT reason FROM gpu_last_run()}),
	"100000\ngpureg.debug_ring is on", 'and with it again');

$node->stop;
for my $type ('posix', 'sysv')
{
  SKIP:
	{
		skip "no $type shared memory on this machine", 3 unless starts_with($type);
		my $two = q{SELECT (gpu_ols_fit('SELECT y, a, b FROM rows')).n,
			(gpu_ols_fit('SELECT y, a::smallint, b::real FROM rows')).n; SELECT reason FROM gpu_last_run()};
		is($node->safe_psql('postgres',
			"$two; SET gpureg.ring_size = '64MB'; $two; SET gpureg.ring_size = '1MB'; $two"),
			"100000|100000\ngpureg.debug_ring is on\n100000|100000\ngpureg.debug_ring is "
				. "on\n100000|100000\ngpureg.debug_ring is on", "$type: through the ring");
		my @three = map { start_session($node, "$type$_", ($two) x 3) } 1 .. 3;
		finish_session($_) for @three;
		is(join('', map { $_->{err} } @three), '', "$type: three sessions");
		is((try_sql($node, "SET statement_timeout = '500ms'; $long{waiting}; RESET statement_timeout; $and_then"))[0],
			$as_before, "$type: after a timeout");
		$node->stop;
	}
}
unlike(slurp_file($node->logfile), qr/leak/, 'no leak was noticed');
done_testing();
