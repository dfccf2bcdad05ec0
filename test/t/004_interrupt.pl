# Long work must stop on a cancel, a timeout, a terminate or a lost client, and leave nothing behind.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use GpuregTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('main');
my $pid = postmaster_pid($node);

# A state of 2,500 features from 2,600 random rows, which takes several seconds to solve
$node->safe_psql('postgres', q{
	SELECT setseed(0.5);
	CREATE TABLE wide AS SELECT i, random() AS y, ARRAY(SELECT random() + 0 * i FROM generate_series(1, 2500)) AS x
		FROM generate_series(1, 2600) i;
	CREATE TABLE state AS SELECT gpu_ols_stats_agg(y, VARIADIC x) AS s FROM wide;
	CREATE TABLE rows AS SELECT i FROM generate_series(1, 10000) i;
	ANALYZE;});

# An endless query. Set-returning functions in the select list stream; in FROM they would be stored first.
my $endless = 'SELECT i % 7 AS y, i % 11 AS a, i % 13 AS b FROM (SELECT generate_series(1, 1000000000) AS i) s';
my %long = (
	gpu_ols_fit => "SELECT gpu_ols_fit('$endless')",
	gpu_ols_agg => "SELECT gpu_ols_agg(y, a, b) FROM ($endless) q",
	'grouped gpu_ols_agg' => "SELECT sum((m).n) FROM (SELECT gpu_ols_agg(y, a, b) AS m FROM ($endless) q GROUP BY a) f",
	gpu_ols_solve => 'SELECT gpu_ols_solve(s) FROM state',
	'gpu_ols_agg over wide rows' => 'SELECT gpu_ols_stats_agg(w.y, VARIADIC w.x) FROM wide w, rows',
	'parallel gpu_ols_agg' =>
		'SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
		SET min_parallel_table_scan_size = 0; SELECT gpu_ols_agg(a.i, b.i)
			FROM rows a, rows b, generate_series(1, 50)');

for my $name (sort keys %long)
{
	my ($took, $err) = seconds(sub { error_is($node, "SET statement_timeout = '500ms'; $long{$name}", '57014',
		"$name, timeout") });

	like($err, qr/57014: canceling statement due to statement timeout/, "$name, timeout: the message");
	cmp_ok($took, '<', 0.5 + $prompt, "$name, timeout: promptly");
	note(sprintf '%s, timeout of 0.5 s: %.2f s', $name, $took);

	my $session = start_session($node, 'canceled', $long{$name},
		q{SELECT (gpu_ols_fit('SELECT i, i FROM generate_series(1, 9) i')).n});
	my $backend = wait_active($node, 'canceled', 'gpu_ols');
	($took) = seconds(sub {
		$node->safe_psql('postgres', "SELECT pg_cancel_backend($backend)");
		finish_session($session);
	});
	is(sqlstate($session->{err}), '57014', "$name, cancel: SQLSTATE") or diag($session->{err});
	is($session->{out}, "9\n", "$name, cancel: the session goes on");
	cmp_ok($took, '<', $prompt, "$name, cancel: promptly");

	# a lost client: the backend checks the connection now and then
	$session = start_session($node, 'gone', "SET client_connection_check_interval = '100ms'", $long{$name});
	wait_active($node, 'gone', 'gpu_ols');
	$session->{run}->kill_kill(grace => 0);
	my $left = sub { $node->poll_query_until('postgres',
		"SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'gone'
			OR backend_type = 'parallel worker'") };
	($took) = seconds($left);
	cmp_ok($took, '<', $prompt, "$name, client gone: no backend is left");
}

# a terminate
my $session = start_session($node, 'terminated', $long{gpu_ols_solve});
my $backend = wait_active($node, 'terminated', 'gpu_ols');
my ($took) = seconds(sub {
	$node->safe_psql('postgres', "SELECT pg_terminate_backend($backend)");
	finish_session($session);
});
is(sqlstate($session->{err}), '57P01', 'terminate: SQLSTATE');
cmp_ok($took, '<', $prompt, 'terminate: promptly');

# An error of the query's own must come through unchanged.
my $failing = 'SELECT 1 / (i - 500000) AS y, i % 11 AS x FROM (SELECT generate_series(1, 1000000) AS i) s';
error_is($node, "SELECT gpu_ols_fit('$failing')", '22012', 'division by zero below gpu_ols_fit');
error_is($node, "SELECT gpu_ols_agg(y, x) FROM ($failing) q", '22012', 'division by zero below gpu_ols_agg');
error_is($node, q{SELECT gpu_ols_fit($$SELECT CASE WHEN i = 500000 THEN 'NaN'::float8 ELSE i END, i
	FROM generate_series(1, 600000) i$$)},
	'22023', 'NaN in the middle');

# 200 caught errors must leave no memory behind, neither PostgreSQL's nor the compute layer's. 200 features make every
# leak large, and each error comes after at least one block was filled.
create_process_kb($node);
$node->safe_psql('postgres', q{
	CREATE TABLE features AS SELECT array_agg(sin(i)) AS x FROM generate_series(1, 200) i;
	CREATE FUNCTION fail_often(times int) RETURNS int LANGUAGE plpgsql AS $$
	DECLARE
		caught int := 0;
		model gpu_model;
		zero text := 'SELECT 1 / (i - 400), x FROM generate_series(1, 500) i, features';
		not_finite text := $q$SELECT CASE WHEN i = 400 THEN 'NaN'::float8 ELSE i END, x
			FROM generate_series(1, 500) i, features$q$;
		shape text := 'SELECT i, x[1:200 - i / 400] FROM generate_series(1, 500) i, features';
	BEGIN
		FOR k IN 1..times LOOP
			BEGIN
				CASE k % 6
					WHEN 0 THEN model := gpu_ols_fit(zero);
					WHEN 1 THEN PERFORM gpu_ols_fit(zero);
					WHEN 2 THEN model := gpu_ols_fit(not_finite);
					WHEN 3 THEN SELECT * FROM gpu_ols_fit(shape) INTO model;
					WHEN 4 THEN EXECUTE format('SELECT gpu_ols_agg(y, VARIADIC x) FROM (%s) q(y, x)', not_finite);
					WHEN 5 THEN PERFORM gpu_ols(array_agg(f.x),
						array_agg(CASE WHEN i = 400 THEN 'NaN'::float8 ELSE i END))
						FROM generate_series(1, 500) i, features f;
				END CASE;
			EXCEPTION WHEN division_by_zero OR invalid_parameter_value THEN
				caught := caught + 1;
			END;
		END LOOP;
		RETURN caught;
	END $$});
my $measured = $node->safe_psql('postgres', q{
	SELECT fail_often(30);
	SELECT sum(total_bytes) / 1024, process_kb('RssAnon') FROM pg_backend_memory_contexts;
	SELECT fail_often(200);
	SELECT sum(total_bytes) / 1024, process_kb('RssAnon') FROM pg_backend_memory_contexts;
	SELECT (gpu_ols_fit('SELECT i, i FROM generate_series(1, 9) i')).n});
my @numbers = $measured =~ /([\d.]+)/g;
is($numbers[0], 30, 'every error was caught at first');
is($numbers[3], 200, 'every error was caught');
is($numbers[6], 9, 'and the session goes on');
SKIP:
{
	skip 'memory is read from /proc', 2 unless -r '/proc/self/status';
	note("contexts $numbers[1] to $numbers[4] kB, process $numbers[2] to $numbers[5] kB");
	cmp_ok($numbers[4] - $numbers[1], '<', 20_000, 'memory contexts did not grow');
	cmp_ok($numbers[5] - $numbers[2], '<', 20_000, 'the process did not grow');
}

survived($node, $pid, 'interrupts');
$node->stop;
done_testing();
