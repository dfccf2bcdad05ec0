# Rows dealt to several sinks that stand in for several GPUs: each but the first computes in a thread of its own.
# Whatever ends a statement ends the threads.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use GpuregTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

plan skip_all => 'threads are read from /proc' unless -d '/proc/self/task';

my $node = start_node('main', 'gpureg.device = cpu', 'jit = off', 'gpureg.debug_sinks = 4',
	"gpureg.ring_size = '256MB'", 'max_parallel_workers_per_gather = 0');
my $pid = postmaster_pid($node);

# A pass over the wide rows takes seconds, in each of the sinks.
$node->safe_psql('postgres', q{
	CREATE TABLE rows AS SELECT i, sin(i) + i % 5 AS y, i % 7 AS a, (i * 7 + i / 3) % 5 < 2 AS won
		FROM generate_series(1, 20000) i;
	CREATE TABLE wide AS SELECT i % 2 AS won, (SELECT array_agg(cos((i % 50 + 1) * sqrt(j)))
		FROM generate_series(2, 1201) j) AS x FROM generate_series(1, 3000) i;
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
	ANALYZE;});

my $long = q{SELECT gpu_logreg_fit('SELECT won, x FROM wide')};
my $and_then = q{SELECT (gpu_logreg_fit('SELECT won, a FROM rows')).n, (SELECT device FROM gpu_last_run()), nthreads()};
my $as_before = '20000|cpu, 4 sinks|1';

is((try_sql($node, $and_then))[0], $as_before, 'a fit leaves no thread');
is((try_sql($node, q{SELECT (gpu_ols_fit('SELECT won::int + y, a FROM rows', vcov => 'HC3')).n; } . $and_then))[0],
	"20000\n$as_before", 'nor does a linear one');

# The session's own passes and those of the threads, some time after the rows were read
sub start_passes
{
	my ($name) = @_;
	my $session = start_session($node, $name, $long, $and_then);
	my $backend = wait_active($node, $name, 'gpu_logreg_fit');
	my $nthreads = 0;

	for (1 .. 600)
	{
		$nthreads = () = glob("/proc/$backend/task/*");
		last if $nthreads == 4;
		sleep 0.05;
	}
	is($nthreads, 4, "$name: a thread for each sink but the first");
	sleep 0.3;
	return ($session, $backend);
}

my $err = error_is($node, "SET statement_timeout = '4s'; $long", '57014', 'timeout');
like($err, qr/57014: canceling statement due to statement timeout/, 'timeout: the message');

my ($session, $backend) = start_passes('canceled');
my ($took) = seconds(sub {
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($backend)");
	finish_session($session);
});
is(sqlstate($session->{err}), '57014', 'cancel: SQLSTATE') or diag($session->{err});
is($session->{out}, "$as_before\n", 'cancel: the session goes on, and has no thread');
cmp_ok($took, '<', $prompt, 'cancel: promptly');

($session, $backend) = start_passes('terminated');
($took) = seconds(sub {
	$node->safe_psql('postgres', "SELECT pg_terminate_backend($backend)");
	finish_session($session);
});
is(sqlstate($session->{err}), '57P01', 'terminate: SQLSTATE') or diag($session->{err});
cmp_ok($took, '<', $prompt, 'terminate: promptly');
# the client is told before the threads are joined
for (1 .. 10 * $prompt)
{
	last if !-d "/proc/$backend";
	sleep 0.1;
}
ok(!-d "/proc/$backend", 'terminate: the backend is gone');
survived($node, $pid, 'terminate');

# a client that is gone
($session, $backend) = start_passes('gone');
$session->{run}->kill_kill(grace => 0);
$node->safe_psql('postgres', "SELECT pg_terminate_backend($backend)");
ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $backend"),
	'client gone: no backend is left');

# 100 errors, with threads and without
my $errors = q{DO $$ BEGIN
	FOR k IN 1 .. 100 LOOP
		BEGIN
			IF k % 2 = 0 THEN PERFORM gpu_logreg_fit('SELECT i / 19000 * 2, a FROM rows');
			ELSE PERFORM 1 / ((gpu_logreg_fit('SELECT won, a FROM rows WHERE i < 200')).n - 199); END IF;
		EXCEPTION WHEN division_by_zero OR invalid_parameter_value THEN NULL;
		END;
	END LOOP; END $$; };
is((try_sql($node, $errors . $and_then))[0], $as_before, 'errors leave no thread');

$node->safe_psql('postgres', 'CREATE ROLE bob LOGIN');
error_is($node, q{SELECT gpu_ols('{1,2,3}', '{3,5,7}'); SET gpureg.debug_sinks = 2}, '42501',
	'gpureg.debug_sinks of a user', user => 'bob');

survived($node, $pid, 'at the end');
$node->stop;
done_testing();
