# Logistic regression over rows that are kept, stored in a temporary file, or read again for each pass: interrupts,
# snapshots, errors.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use GpuregTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes;

my $node = start_node('main', 'gpureg.device = cpu', 'max_worker_processes = 12', 'max_parallel_workers = 8',
	'jit = off');
my $pid = postmaster_pid($node);

$node->safe_psql('postgres', q{
	SELECT setseed(0.5);
	CREATE TABLE rows AS SELECT i, i / 3 % 2 = 0 OR i % 5 = 0 AS y, i % 7 + i / 1e6 AS x1, sin(i) AS x2
		FROM generate_series(1, 100000) i;
	CREATE TABLE wide AS SELECT random() > 0.5 AS y, ARRAY(SELECT random() + 0 * i FROM generate_series(1, 2000)) AS x
		FROM generate_series(1, 2100) i;
	CREATE TABLE step AS SELECT gpu_logreg_step_agg('{}', y, VARIADIC x) AS s FROM (SELECT * FROM wide LIMIT 200) w;
	ANALYZE;});

# Places of the rows: settings that lead to each, and its text in gpu_last_run().
my $parallel = "SET gpureg.ring_size = '1MB'; SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0;
	SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;";
my %holding = (
	kept => [ "SET gpureg.ring_size = '64MB';", 'SELECT y, x1, x2 FROM rows', qr/gpureg\.device is cpu$/ ],
	volatile => [ '', 'SELECT y, x1 + 0 * random(), x2 FROM rows', qr/temporary file$/ ],
	sampled => [ '', 'SELECT y, x1, x2 FROM rows TABLESAMPLE bernoulli (100)', qr/temporary file$/ ],
	serial => [ "SET gpureg.ring_size = '1MB'; SET max_parallel_workers_per_gather = 0; SET gpureg.enable_scan = off;",
		'SELECT y, x1, x2 FROM rows', qr/temporary file$/ ],
	'scanned again' => [ "SET gpureg.ring_size = '1MB'; SET max_parallel_workers_per_gather = 0;",
		'SELECT y, x1, x2 FROM rows', qr/the query was run \d+ times$/ ],
	'read again' => [ $parallel, 'SELECT y, x1, x2 FROM rows', qr/the query was run \d+ times$/ ]);

sub temporary_files
{
	return $node->safe_psql('postgres', 'SELECT count(*) FROM pg_ls_tmpdir()');
}

# The fit that is made with the rows in each place
my $fit = 'SELECT coef, n, iterations, converged FROM gpu_logreg_fit($$%s$$)';
my $want = (try_sql($node, "$holding{kept}[0] " . sprintf($fit, $holding{kept}[1])))[0];
like($want, qr/^\{[^N]+\}\|100000\|\d+\|t$/, 'a fit to compare with');
for my $name (sort keys %holding)
{
	my ($set, $query, $reason) = @{ $holding{$name} };
	my ($got, $run) = split /\n/, $node->safe_psql('postgres', "$set " . sprintf($fit, $query)
		. '; SELECT reason FROM gpu_last_run()');

	cmp_ok(relative_difference($got =~ s/\|[tf]$//r, $want =~ s/\|[tf]$//r), '<=', 1e-13, "$name: the same fit");
	like($run, $reason, "$name: that way");
}
is(temporary_files(), '0', 'no temporary file is left');

#
# Interrupts
#

# Endless gradient ascent makes many passes; a wide fit spends long in one.
my $endless = q{SELECT gpu_logreg_fit($$%s$$, solver => 'gd', max_iter => 2000000000, tol => 1e-300,
	learning_rate => 1e-9)};
my %long = (
	(map { ("gpu_logreg_fit, $_" => "$holding{$_}[0] " . sprintf($endless, $holding{$_}[1])) } 'kept', 'volatile',
		'read again'),
	'gpu_logreg_fit, writing' =>
		'SELECT gpu_logreg_fit($$SELECT random() > 0.5, i % 11 FROM (SELECT generate_series(1, 1000000000) AS i) s$$)',
	'gpu_logreg_fit, wide' => q{SET gpureg.ring_size = '64MB'; SELECT gpu_logreg_fit('SELECT y, x FROM wide')},
	'gpu_logreg_agg, wide' => 'SELECT gpu_logreg_agg(y, VARIADIC x) FROM wide',
	'gpu_logreg_step_agg, wide' =>
		q{SELECT gpu_logreg_step_agg('{}', y, VARIADIC x) FROM wide, generate_series(1, 100)},
	'gpu_logreg_solve' => 'SELECT gpu_logreg_solve(s) FROM step, generate_series(1, 100)');

for my $name (sort keys %long)
{
	my ($took, $err) = seconds(sub { error_is($node, "SET statement_timeout = '300ms'; $long{$name}", '57014',
		"$name, timeout") });

	like($err, qr/57014: canceling statement due to statement timeout/, "$name, timeout: the message");
	cmp_ok($took, '<', 0.3 + $prompt, "$name, timeout: promptly");
	note(sprintf '%s, timeout of 0.3 s: %.2f s', $name, $took);

	my $session = start_session($node, 'canceled', "$long{$name}", 'SELECT count(*) FROM pg_ls_tmpdir()',
		q{SELECT (gpu_logreg_fit('SELECT i / 3 % 2, i % 2 FROM generate_series(1, 9) i')).n});
	my $backend = wait_active($node, 'canceled', 'gpu_logreg');
	($took) = seconds(sub {
		$node->safe_psql('postgres', "SELECT pg_cancel_backend($backend)");
		finish_session($session);
	});
	is(sqlstate($session->{err}), '57014', "$name, cancel: SQLSTATE") or diag($session->{err});
	is($session->{out}, "0\n9\n", "$name, cancel: no temporary file is left, and the session goes on");
	cmp_ok($took, '<', $prompt, "$name, cancel: promptly");
}

# a lost client, with rows in workers and with rows in a file
for my $name ('volatile', 'read again')
{
	my $session = start_session($node, 'gone', "SET client_connection_check_interval = '100ms'",
		$long{"gpu_logreg_fit, $name"});
	wait_active($node, 'gone', 'gpu_logreg');
	$session->{run}->kill_kill(grace => 0);
	my ($took) = seconds(sub { $node->poll_query_until('postgres',
		"SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'gone'
			OR backend_type = 'parallel worker'") });
	cmp_ok($took, '<', $prompt, "$name, client gone: no backend is left");
}
is(temporary_files(), '0', 'no temporary file is left by those that were interrupted');

#
# Limits and errors
#

my $err = error_is($node, "SET temp_file_limit = '1MB'; " . sprintf($fit, $holding{volatile}[1]), '53400',
	'temp_file_limit');
like($err, qr/temporary file size exceeds "?temp_file_limit/, 'temp_file_limit: the message');
is(temporary_files(), '0', 'temp_file_limit: no temporary file is left');

# errors of the query, before and after the rows exceed the memory for them; in workers, too
for my $at (3, 60_000, 100_000)
{
	for my $name (sort keys %holding)
	{
		my ($set, $query) = @{ $holding{$name} };

		error_is($node, "$set " . sprintf($fit, $query =~ s/x2/x2 \/ (i - $at)/r), '22012',
			"$name: division by zero in row $at");
	}
}
for my $name (sort keys %holding)
{
	my ($set, $query) = @{ $holding{$name} };
	my $call = "$set $fit";

	$err = error_is($node, sprintf($call, $query =~ s/x2/CASE WHEN i = 90000 THEN 'NaN' ELSE x2 END AS third/r),
		'22023', "$name: NaN");
	like($err, qr/column "third" has a value that is NaN or infinite/, "$name: NaN: the column");
	$err = error_is($node, sprintf($call,
		$query =~ s/SELECT y,/SELECT CASE WHEN i = 90000 THEN 2 ELSE y::int END AS first,/r), '22023', "$name: 2");
	like($err, qr/response must be 0 or 1, got 2\n.*The column is "first"/, "$name: 2: the column");
	error_is($node, sprintf($call, $query =~ s/SELECT y,/SELECT y OR true,/r), '22023', "$name: one class");
	error_is($node, sprintf($call, $query =~ s/x2/CASE WHEN i < 90000 THEN ARRAY[x2, 1] ELSE ARRAY[x2] END/r),
		'22023', "$name: lengths");
	error_is($node, sprintf($call, $query =~ s/x2/CASE WHEN i = 90000 THEN 1e200 ELSE x2 END/r), '22003',
		"$name: 1e200");
	error_is($node, sprintf($call, "$query WHERE i < 0"), 'P0002', "$name: no rows");
}
is(temporary_files(), '0', 'no temporary file is left by those that failed');

#
# Rows under one snapshot
#

# A gate that each run of a query must pass: it reports its arrival, and waits until the file has grown.
my $gate_file = $node->data_dir . '/gate';
my $ngates = 0;
append_to_file($gate_file, 'x');
$node->safe_psql('postgres', q{
	CREATE FUNCTION gate() RETURNS boolean LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
	DECLARE
		size bigint := (pg_stat_file('gate')).size;
	BEGIN
		RAISE LOG 'at the gate';
		WHILE (pg_stat_file('gate')).size = size LOOP
			PERFORM pg_sleep(0.01);
		END LOOP;
		RETURN true;
	END $$;
	CREATE TABLE changing AS TABLE rows;
	CREATE FUNCTION change() RETURNS void LANGUAGE sql AS $$
		INSERT INTO changing SELECT i + 200000, NOT y, x1, x2 FROM rows WHERE i % 3 = 0;
		DELETE FROM changing WHERE i BETWEEN 1 AND 7000;
		UPDATE changing SET y = NOT y, x2 = x2 + 1 WHERE i BETWEEN 10000 AND 40000;
	$$;
	ANALYZE;});

# Waits for the next run of the query; false if the session ends first.
sub next_at_gate
{
	my ($session) = @_;
	my $before = $ngates;

	while ($ngates == $before)
	{
		$ngates = () = slurp_file($node->logfile) =~ /LOG:  at the gate/g;
		return 0 if $ngates == $before && !$session->{run}->pumpable;
		$session->{run}->pump_nb;
		Time::HiRes::sleep(0.01);
	}
	return 1;
}

for my $name ('kept', 'volatile', 'read again')
{
	my ($set, $query) = @{ $holding{$name} };
	my $call = sprintf($fit, $query =~ s/rows/changing/r . ' WHERE (SELECT gate())');
	my $before = $node->safe_psql('postgres', "$set " . sprintf($fit, $query =~ s/rows/changing/r));
	my $session = start_session($node, 'snapshot', (split /;\s*/, $set), $call, 'SELECT reason FROM gpu_last_run()');
	my $changed_at = $name eq 'read again' ? 3 : 1;
	my $nruns = 0;

	while (next_at_gate($session))
	{
		$node->safe_psql('postgres', 'SELECT change()') if ++$nruns == $changed_at;
		append_to_file($gate_file, 'x');
	}
	my ($out, $messages) = finish_session($session);
	my ($got, $run) = split /\n/, $out;

	is($messages, '', "$name, while rows change: no message");
	cmp_ok(relative_difference(($got // '') =~ s/\|[tf]$//r, $before =~ s/\|[tf]$//r), '<=', 1e-13,
		"$name: the rows of its start");
	cmp_ok($nruns, $name =~ /again/ ? '>' : '==', $changed_at, "$name: $nruns runs");
	isnt($node->safe_psql('postgres', "$set " . sprintf($fit, $query =~ s/rows/changing/r)), $before,
		"$name: and they did change");
	$node->safe_psql('postgres', 'TRUNCATE changing; INSERT INTO changing TABLE rows; ANALYZE changing');
}

# in a transaction that sees its own changes, and in one that sees none
my ($out, $messages) = try_sql($node, "$parallel BEGIN; DELETE FROM changing WHERE i <= 500;
	SELECT n FROM gpu_logreg_fit('SELECT y, x1, x2 FROM changing'); ROLLBACK;
	SELECT n FROM gpu_logreg_fit('SELECT y, x1, x2 FROM changing')");
is("$messages$out", "99500\n100000", 'read again: what the transaction itself has changed');

# A function that is marked stable but returns something else in each call
$node->safe_psql('postgres', q{
	CREATE FUNCTION liar(most int) RETURNS int LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
	BEGIN
		PERFORM pg_sleep(0.002);
		RETURN (extract(epoch FROM clock_timestamp()) * 1000000)::bigint % most;
	END $$});
$err = error_is($node, "$parallel " . sprintf($fit, 'SELECT y, x1, x2 FROM rows WHERE i > (SELECT liar(30000))'),
	'22000', 'other rows');
like($err, qr/query returned other rows when it was run again
DETAIL:  The query returned \d+ complete rows, and then \d+\.
HINT:  /,
	'other rows: the message');
# without workers its result is stored, and so stays the same
($out, $messages) = try_sql($node, "$holding{serial}[0] " . sprintf($fit,
	'SELECT y, x1, x2 FROM rows WHERE i > (SELECT liar(30000))'));
like("$messages$out", qr/^\{[^N]+\}\|\d+\|\d+\|t$/, 'other rows: not where they are stored');

# Even under one snapshot, and without such a function, a query may give other rows each time: the rows that a LIMIT
# takes depend on which process comes first. Such rows must be stored.
$node->safe_psql('postgres', 'CREATE VIEW some_rows AS SELECT * FROM rows LIMIT 60000');
for my $case (
	[ 'LIMIT', 'SELECT y, x1, x2 FROM rows LIMIT 60000', 60_000 ],
	[ 'OFFSET', 'SELECT y, x1, x2 FROM rows OFFSET 40000', 60_000 ],
	[ 'LIMIT below', 'WITH w AS MATERIALIZED (SELECT * FROM rows LIMIT 60000) SELECT y, x1, x2 FROM w', 60_000 ],
	[ 'LIMIT in a view', 'SELECT y, x1, x2 FROM some_rows', 60_000 ],
	[ 'DISTINCT ON', 'SELECT DISTINCT ON (i % 60000) y, x1, x2 FROM rows', 60_000 ],
	[ 'a window', 'SELECT y, x1, x2 FROM (SELECT *, row_number() OVER () AS k FROM rows) r WHERE k <= 60000', 60_000 ])
{
	my ($name, $query, $n) = @$case;

	($out, $messages) = try_sql($node, "$parallel " . sprintf($fit, $query) . '; SELECT reason FROM gpu_last_run()');
	like("$messages$out", qr/^\{[^N]+\}\|$n\|\d+\|t\n.*temporary file$/, "$name: one set of rows");
}

#
# Memory
#

create_process_kb($node);
$node->safe_psql('postgres', q{
	CREATE FUNCTION sometimes() RETURNS float8 LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
	BEGIN
		IF random() < 0.3 THEN
			RAISE division_by_zero;
		END IF;
		RETURN 0;
	END $$;
	CREATE TABLE long AS SELECT i, i / 3 % 2 = 0 AS y, ARRAY(SELECT sin(i * j) FROM generate_series(1, 100) j) AS x
		FROM generate_series(1, 1500) i;
	ANALYZE long;
	CREATE FUNCTION fit_often(times int) RETURNS int LANGUAGE plpgsql SET client_min_messages = error AS $$
	DECLARE
		model gpu_model;
		nfits int := 0;
		late text := 'SELECT CASE WHEN i < 1450 THEN y::int ELSE 3 END, x FROM long';
	BEGIN
		FOR k IN 1..times LOOP
			BEGIN
				CASE k % 8
					WHEN 0 THEN model := gpu_logreg_fit('SELECT y, x[1:20] FROM long');
					WHEN 1 THEN PERFORM gpu_logreg_fit('SELECT y, x[1:20] FROM long WHERE random() >= 0');
					WHEN 2 THEN model := gpu_logreg_fit('SELECT y, x FROM long WHERE (SELECT sometimes()) = 0',
						max_iter => 1);
					WHEN 3 THEN PERFORM gpu_logreg_fit(late);
					WHEN 4 THEN model := gpu_logreg_fit(late || ' WHERE random() >= 0');
					WHEN 5 THEN PERFORM gpu_logreg_agg(y, VARIADIC x[1:20]) FROM long;
					WHEN 6 THEN PERFORM gpu_logreg_agg(CASE WHEN i < 1450 THEN y::int ELSE 3 END, VARIADIC x) FROM long;
					WHEN 7 THEN PERFORM gpu_logreg(array_agg(x[1:10]), array_agg(y)) FROM long;
				END CASE;
			EXCEPTION WHEN division_by_zero OR invalid_parameter_value THEN NULL;
			END;
			nfits := nfits + 1;
		END LOOP;
		RETURN nfits;
	END $$});
my $measured = $node->safe_psql('postgres', "$parallel" . q{
	SELECT fit_often(24);
	SELECT (sum(total_bytes) / 1024)::int, process_kb('RssAnon') FROM pg_backend_memory_contexts;
	SELECT fit_often(160);
	SELECT (sum(total_bytes) / 1024)::int, process_kb('RssAnon') FROM pg_backend_memory_contexts;
	SELECT count(*) FROM pg_ls_tmpdir()});
my @numbers = $measured =~ /(\d+)/g;
is("$numbers[0] $numbers[3] $numbers[6]", '24 160 0', 'many fits, and errors caught, in one session');
SKIP:
{
	skip 'memory is read from /proc', 2 unless -r '/proc/self/status';
	note("contexts $numbers[1] to $numbers[4] kB, process $numbers[2] to $numbers[5] kB");
	cmp_ok($numbers[4] - $numbers[1], '<', 2_000, 'memory contexts did not grow');
	cmp_ok($numbers[5] - $numbers[2], '<', 10_000, 'the process did not grow');
}

survived($node, $pid, 'logistic regression');
$node->stop;
done_testing();
