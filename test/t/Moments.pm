# Stops statements of all kinds at random moments, by a cancel, a terminate, a lost client and a timeout; kills and
# terminates their workers and the device service: for 023_moments.pl and script/moments.
package Moments;

use strict;
use warnings;

use Exporter 'import';
use List::Util qw(max min);
use ServerClient;
use StatementKinds;
use Time::HiRes qw(time sleep);

our @EXPORT = qw(moments_begin run_moments run_kills moments_end moments_report @ways @kill_ways);

our @ways = qw(cancel terminate lost timeout);
our @kill_ways = ('worker killed', 'worker terminated', 'service killed', 'service terminated', 'full ring');

# Seconds after which nothing of a statement may be left; nothing at all may take longer than $hang_s
my $left_s = 5;
my $hang_s = 60;

# A notice that the statement has begun: a signal that comes before would stop nothing.
my $notice = q{DO $$BEGIN RAISE NOTICE 'begun'; END$$;};
my $common = "SET client_connection_check_interval = '10ms'; SET jit = off;";
my $most_growth = 4 << 20;
my $most_kilobytes = 65536;

# Statements that take less time are repeated, as moments would miss them.
my $least_s = 0.01;

# Seconds for which the service keeps segments that nobody needs are somewhat less than this
my $spare_s = 12;

# A disturbed session answers with one of these codes, or with the right answer if the statement had ended before.
my %state_of = (cancel => '57014', terminate => '57P01', timeout => '57014', 'worker killed' => '57P02|55000',
	'worker terminated' => '57P01|55000', 'service killed' => '57P02|58000', 'service terminated' => '58000',
	'full ring' => '57P01');

sub finding
{
	my ($run, $text) = @_;

	push @{ $run->{findings} }, $text;
	$run->{tell}->("FINDING: $text");
}

#
# The server, its processes and its files
#

sub new_client
{
	my ($run, $application) = @_;
	my $until = time + $hang_s;

	while (time < $until)
	{
		my $client = client_open($run->{target}, $application);
		return $client if $client;
		sleep 0.02;
	}
	die "no connection\n";
}

sub new_session
{
	my ($run, $settings) = @_;
	my $session = new_client($run, 'moments');

	client_ask($session, "$common $settings");
	return $session;
}

sub slurp
{
	my ($path) = @_;

	open my $file, '<', $path or return '';
	local $/;
	return scalar(<$file>) // '';
}

sub entries
{
	my ($directory) = @_;

	opendir my $handle, $directory or return ();
	return grep { !/^\.\.?$/ } readdir $handle;
}

# Returns the server's children whose titles match.
sub children
{
	my ($run, $title) = @_;
	my $list = "/proc/$run->{postmaster}/task/$run->{postmaster}/children";
	my @all = -r $list ? split ' ', slurp($list) : split ' ', `pgrep -P $run->{postmaster}`;

	return grep { slurp("/proc/$_/cmdline") =~ $title } @all;
}

# Returns the number of threads, without those that a GPU's driver has while the process lives.
sub threads_of
{
	my ($pid) = @_;

	return scalar grep { slurp("/proc/$pid/task/$_/comm") !~ /^cuda/ } entries("/proc/$pid/task");
}

# Returns the number of segments of dynamic shared memory: this server's if it keeps them in files of its own, else all
# of the machine's.
sub segments
{
	my ($run) = @_;

	return scalar grep { /^mmap|^PostgreSQL/ } entries("$run->{data}/pg_dynshmem"),
	  $run->{posix} ? entries('/dev/shm') : ();
}

# Returns how many segments a server has that has just started and was asked for the service: from PostgreSQL 17 on the
# memory that sessions share with the service, and the registry of that memory, are such segments, too.
sub segments_of_server
{
	my ($run) = @_;

	client_ask($run->{control}, 'SELECT count(*) FROM gpu_devices()');
	return segments($run);
}

sub temporary_files
{
	my ($run) = @_;

	return scalar entries("$run->{data}/base/pgsql_tmp");
}

# Returns the seconds in which a process ran, and in which it waited for a processor.
sub scheduled
{
	my ($pid) = @_;
	my ($ran, $waited) = split ' ', slurp("/proc/$pid/schedstat");

	return defined $waited ? [ $ran / 1e9, $waited / 1e9 ] : undef;
}

my $left_in_sql = q{SELECT
	(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker'),
	(SELECT count(*) FROM pg_locks l WHERE pid = %d OR pid <> pg_backend_pid()
		AND NOT EXISTS (SELECT FROM pg_stat_activity a WHERE a.pid = l.pid)),
	-- two columns in one, as this opens a GPU to list it
	(SELECT concat(coalesce(sum(computations), 0), '|', coalesce(sum(memory_reserved), 0)) FROM gpu_devices()
		WHERE service_pid IS NOT NULL),
	(SELECT count(*) FROM pg_stat_activity WHERE pid = %d)};

# Describes what is left of statements. gone: a session that must have ended.
sub what_is_left
{
	my ($run, $session, $gone) = @_;
	my $sql = sprintf $left_in_sql, $session ? $session->{pid} : 0, $gone ? $gone->{pid} : 0;
	my ($workers, $locks, $computations, $reserved, $there) = split /\|/, client_ask($run->{control}, $sql);
	my @left;

	push @left, "$workers workers" if $workers;
	push @left, "$locks locks" if $locks;
	push @left, "$computations computations" if $computations;
	push @left, "$reserved bytes of a device, not $run->{reserved}" if $reserved > $run->{reserved};
	push @left, 'its session' if $there;
	push @left, temporary_files($run) . ' temporary files' if temporary_files($run);
	push @left, segments($run) . " segments, not $run->{segments}" if segments($run) > $run->{segments};
	push @left, threads_of($session->{pid}) . ' threads' if $session && threads_of($session->{pid}) > 1;
	return join ', ', @left;
}

# Checks that nothing is left, perhaps after a while, and notes how long that took.
sub nothing_left
{
	my ($run, $name, $session, $gone) = @_;
	my $started = time;
	my $left;

	while (1)
	{
		$left = what_is_left($run, $session, $gone);
		last if $left eq '' || time - $started > $left_s;
		sleep 0.005;
	}
	finding($run, "$name: is left: $left") if $left ne '';
	$run->{tidied} = max($run->{tidied} // 0, time - $started);
}

#
# Statements undisturbed
#

# Checks the statement's answer; returns the seconds it took.
sub fits_again
{
	my ($run, $name, $session, $kind) = @_;
	my $started = time;

	client_send($session, "$notice $kind->{query}");
	my $came = client_wait($session, $hang_s);
	my $took = time - $started;
	finding($run, "$name: afterwards: $came $session->{state} $session->{message}\n  $session->{rows}")
	  if $came ne 'ready' || $session->{state} ne '00000' || !is_right($kind, $session->{rows});
	push @{ $kind->{seconds} }, $took;
	shift @{ $kind->{seconds} } if @{ $kind->{seconds} } > 5;
	return $took;
}

# Compares bits; but sums over groups are PostgreSQL's, in the order in which the groups came.
sub is_right
{
	my ($kind, $rows) = @_;

	return $rows eq $kind->{right} || $kind->{name} =~ /^groups/ && is_same_answer($rows, $kind->{right});
}

sub usual_seconds
{
	my ($kind) = @_;
	my @sorted = sort { $a <=> $b } @{ $kind->{seconds} };

	return $sorted[ @sorted / 3 ];
}

# Begins a kind with a session that is warmed up, and the right answer.
sub begin_kind
{
	my ($run, $statement) = @_;
	my %kind;

	@kind{qw(name settings query)} = @$statement;
	$kind{session} = new_session($run, $kind{settings});
	$kind{right} = client_ask($kind{session}, $kind{query}) . "\n";
	$kind{seconds} = [];
	fits_again($run, "$kind{name}, undisturbed", $kind{session}, \%kind) for 1 .. 3;
	my $usual = usual_seconds(\%kind);
	if ($usual < $least_s)
	{
		my $repeats = int(min(100, 1 + $least_s / max($usual, 1e-5)));

		$kind{query} = "DO \$m\$BEGIN FOR k IN 1..$repeats LOOP EXECUTE \$q\$$kind{query}\$q\$; END LOOP; END\$m\$;"
		  . $kind{query};
		fits_again($run, "$kind{name}, repeated", $kind{session}, \%kind) for 1 .. 3;
	}

	# (PostgreSQL itself keeps up to two segments for a session that has had workers, from now on.) Memory that the
	# service has lent to the session may lie there for some seconds.
	session_bytes($kind{session});
	my $spare = $kind{name} =~ /service|keep|kept/ ? 8 : 0;
	$run->{segments} = segments($run) + $spare;
	return \%kind;
}

#
# Moments
#

sub wait_gone
{
	my ($run, $name, $pid, $sent) = @_;
	my $scheduled = scheduled($pid);

	while (-d "/proc/$pid")
	{
		if (time - $sent > $hang_s)
		{
			finding($run, "$name: the session has not ended");
			last;
		}
		$scheduled = scheduled($pid) // $scheduled;
		sleep 0.0005;
	}
	return $scheduled;
}

# Runs the statement up to a moment; true if it still runs then.
sub run_until
{
	my ($session, $kind, $seconds, @before) = @_;
	my $sql = "$notice @before $kind->{query}";

	client_send($session, $sql);
	return 0 if client_wait($session, $hang_s, 1) ne 'begun';
	my $left = $session->{begun} + $seconds - time;
	return client_wait($session, $left > 0 ? $left : 0) eq 'late';
}

# Checks the answer of a statement that was disturbed.
sub check_answer
{
	my ($run, $name, $way, $session, $kind) = @_;
	my $state = $session->{state};

	if ($state eq '00000')
	{
		finding($run, "$name: another answer\n  $session->{rows}  $kind->{right}")
		  if $session->{whole} && !is_right($kind, $session->{rows});
	}
	elsif ($state !~ /^(?:$state_of{$way})$/)
	{
		finding($run, "$name: $state $session->{message}");
	}
	else
	{
		$run->{stopped}{$way}++;
	}
}

# Ends a timeout that came while a statement ended: PostgreSQL may report it with the next statement.
sub end_timeout
{
	my ($run, $name, $session) = @_;

	client_send($session, 'SELECT 1');
	my $came = client_wait($session, $hang_s);
	finding($run, "$name: then $came $session->{state}")
	  if $came ne 'ready' || $session->{state} !~ /^(?:00000|$state_of{timeout})$/;
}

# Disturbs the statement so many seconds after it began. Returns the seconds until its answer, and of these the seconds
# in which the session ran and waited for a processor; nothing if the statement had ended before.
sub disturb
{
	my ($run, $name, $way, $kind, $seconds) = @_;
	my $session = $kind->{session};
	my $pid = $session->{pid};
	my $timeout = max(1, int($seconds * 1000 + 0.5));

	my @before = $way eq 'timeout' ? "SET LOCAL statement_timeout = $timeout;" : ();
	my $running = run_until($session, $kind, $way eq 'timeout' ? $timeout / 1000 : $seconds, @before);
	my $before = scheduled($pid);
	my $sent = $way eq 'timeout' ? ($session->{begun} // time) + $timeout / 1000 : time;
	kill 'INT', $pid if $way eq 'cancel';
	kill 'TERM', $pid if $way eq 'terminate';
	client_leave($session) if $way eq 'lost';

	my $came = $running && $way ne 'lost' ? client_wait($session, $hang_s) : 'ready';
	my $after;
	$session->{whole} = $came eq 'ready' && $way ne 'lost';
	finding($run, "$name: $came") if $came eq 'late' || ($came eq 'gone' && $way ne 'terminate');
	if ($way eq 'terminate' || $way eq 'lost')
	{
		$after = wait_gone($run, $name, $pid, $sent);
		$session->{ended} = time;
	}
	check_answer($run, $name, $way, $session, $kind) if $way ne 'lost';
	$after //= scheduled($pid);
	my @took = map { $before && $after ? $after->[$_] - $before->[$_] : 0 } 0, 1;
	my $answer = [ max(0, $session->{ended} - $sent), @took ];
	my $stopped = $session->{state} eq $state_of{timeout};
	end_timeout($run, $name, $session) if $way eq 'timeout';
	return $running || ($way eq 'timeout' && $stopped) ? $answer : undef;
}

sub session_bytes
{
	my ($session) = @_;

	return client_ask($session, 'SELECT sum(total_bytes) FROM pg_backend_memory_contexts');
}

sub one_moment
{
	my ($run, $way, $kind, $k) = @_;
	my $fraction = rand 1.1;
	my $usual = usual_seconds($kind);
	my $name = sprintf '%s, %s, moment %d, %.3f of %.1f ms', $kind->{name}, $way, $k, $fraction, 1000 * $usual;
	my $session = $kind->{session};
	my $answer = disturb($run, $name, $way, $kind, $fraction * $usual);
	my $is_gone = $way eq 'terminate' || $way eq 'lost';

	$run->{moments}{$way}++;
	if ($answer)
	{
		push @{ $run->{answers}{$way} }, [ @$answer, $name ];
		finding($run, sprintf '%s: answered after %.0f ms', $name, 1000 * $answer->[0])
		  if $answer->[0] > $run->{bound};
	}
	nothing_left($run, $name, $is_gone ? (undef, $session) : $session);
	$kind->{session} = new_session($run, $kind->{settings}) if $is_gone;
	fits_again($run, $name, $kind->{session}, $kind);
}

# Runs count moments of each way for kinds whose names match. Random choices depend on the seed, the kind and the way.
sub run_moments
{
	my ($run, $count, $only_kind, $only_way) = @_;

	for my $number (grep { $kinds[$_][0] =~ $only_kind } 0 .. $#kinds)
	{
		last if $run->{stop};
		my $kind = begin_kind($run, $kinds[$number]);

		for my $w (grep { $ways[$_] =~ $only_way } 0 .. $#ways)
		{
			my $bytes = session_bytes($kind->{session});
			my $first = $kind->{session}{pid};

			srand($run->{seed} + 1000 * $number + $w);
			one_moment($run, $ways[$w], $kind, $_) for 1 .. $count;
			my $grown = session_bytes($kind->{session}) - $bytes;
			finding($run, "$kind->{name}, $ways[$w]: the session grew by $grown bytes")
			  if $grown > $most_growth && $kind->{session}{pid} == $first;
		}
		client_leave($kind->{session});
		$run->{tell}->(sprintf '%-32s %.1f ms', $kind->{name}, 1000 * usual_seconds($kind));
	}
}

#
# Workers and the service
#

# Returns a process to kill; waits for one until the statement ends.
sub find_victim
{
	my ($run, $way, $session) = @_;
	my $title = $way =~ /^service/ ? qr/gpureg device service/ : qr/parallel worker for PID $session->{pid}\b/;

	while (1)
	{
		my @found = children($run, $title);

		return $found[ rand @found ] if @found;
		return undef if client_wait($session, 0.0005) ne 'late';
	}
}

# True if a killed process took the server's others along. (It may have been ending by itself; then all goes on.)
sub took_others
{
	my ($run, $victim) = @_;
	my $sent = time;

	sleep 0.0005 while -d "/proc/$victim" && time - $sent < $hang_s;
	return client_wait($run->{control}, 1) ne 'late';
}

# Waits until the server has restarted by itself, and nothing of its statements is left.
sub await_restart
{
	my ($run, $name, $kind, $sent) = @_;

	wait_gone($run, $name, $kind->{session}{pid}, $sent);
	$run->{control} = new_client($run, 'control');
	$run->{segments} = $run->{first_segments};
	$run->{reserved} = 0;
	push @{ $run->{restarts} }, time - $sent;
	nothing_left($run, $name, undef, $kind->{session});
}

# Stops the session, so that its workers fill the ring, then terminates it; returns how many workers waited.
sub fill_ring
{
	my ($run, $pid) = @_;

	kill 'STOP', $pid;
	sleep 0.3;
	my @waiting = grep { slurp("/proc/$_/stat") =~ /\) S / } children($run, qr/parallel worker for PID $pid\b/);
	kill 'TERM', $pid;
	kill 'CONT', $pid;
	return scalar @waiting;
}

sub kill_one
{
	my ($run, $way, $kind, $k) = @_;
	my $fraction = rand 1.0;
	my $name = sprintf '%s, %s, moment %d, %.3f of %.1f ms', $kind->{name}, $way, $k, $fraction,
	  1000 * usual_seconds($kind);
	my $session = $kind->{session};
	my $running = run_until($session, $kind, $fraction * usual_seconds($kind));
	my $victim = $running ? find_victim($run, $way, $session) : undef;

	if ($victim)
	{
		my $signal = $way =~ /killed/ ? 'KILL' : 'TERM';
		my $waiting = $way eq 'full ring' ? fill_ring($run, $session->{pid}) : kill($signal, $victim);
		my $sent = time;
		my $came = client_wait($session, $hang_s);
		my $killed = $way =~ /killed/ && took_others($run, $victim);

		$waiting = 0 if $way =~ /killed/ && !$killed;
		$run->{moments}{$way}++ if $waiting;
		$session->{whole} = $came eq 'ready';
		check_answer($run, $name, $way, $session, $kind);
		push @{ $run->{answers}{$way} }, [ max(0, $session->{ended} - $sent), 0, 0, $name ]
		  if $signal eq 'TERM' && $waiting;
		await_restart($run, $name, $kind, $sent) if $killed;
		if ($way eq 'full ring')
		{
			wait_gone($run, $name, $session->{pid}, $sent);
			nothing_left($run, $name, undef, $session);
		}
		my $goes_on = $way =~ /terminated/ || $way =~ /killed/ && !$killed;
		nothing_left($run, $name, $session) if $goes_on;
		$kind->{session} = new_session($run, $kind->{settings}) if !$goes_on;
	}
	fits_again($run, $name, $kind->{session}, $kind);
}

# More rows than a ring holds
my $many = q{SELECT (gpu_ols_fit('SELECT y, x1, x2 FROM r, generate_series(1, 600)')).coef};

# Runs count moments of each way, over the kinds that have such processes.
sub run_kills
{
	my ($run, $count, $only_way) = @_;

	for my $w (grep { $kill_ways[$_] =~ $only_way } 0 .. $#kill_ways)
	{
		my $way = $kill_ways[$w];
		my @with = grep { $_->[0] =~ ($way =~ /^service/ ? qr/service/ : qr/workers/) } @kinds;

		@with = map { [ 'ring that is full', "$_->[1] SET gpureg.ring_size = '1MB';", $many ] }
		  grep { $_->[0] eq 'ols ring, workers' } @kinds if $way eq 'full ring';
		srand($run->{seed} + 100 * $w + 7);
		my $each = $count / min($count || 1, scalar @with);
		for my $n (0 .. min($#with, $count - 1))
		{
			my $kind = begin_kind($run, $with[$n]);
			my $wanted = ($run->{moments}{$way} // 0) + $each;

			# A statement may end before its workers come.
			for (my $k = 0; $k < 10 * $each && ($run->{moments}{$way} // 0) < $wanted; $k++)
			{
				kill_one($run, $way, $kind, $k);
			}
			client_leave($kind->{session});
		}
		$run->{tell}->(sprintf '%-32s %d moments', $way, $run->{moments}{$way} // 0);
	}
}

#
# A whole run
#

sub service_state
{
	my ($run) = @_;

	return split /\|/, client_ask($run->{control}, 'SELECT service_pid, sessions, computations, memory_reserved
		FROM gpu_devices() WHERE service_pid IS NOT NULL');
}

# Waits until no session is connected to the service; returns its process, threads and memory in kB.
sub idle_service
{
	my ($run) = @_;
	my $until = time + $left_s;

	while (1)
	{
		my ($pid, $sessions, $computations, $reserved) = service_state($run);

		return () if !defined $pid;
		return ($pid, threads_of($pid), slurp("/proc/$pid/status") =~ /VmRSS:\s+(\d+)/, $reserved)
		  if $sessions + $computations == 0;
		if (time > $until)
		{
			finding($run, "the service has $sessions sessions, $computations computations");
			return ();
		}
		sleep 0.01;
	}
}

# Begins a run. target: host (a directory), port, user, dbname (an empty one); rows: of the table; bound: seconds for an
# answer; patient: wait for the service to release spare memory before segments are counted; tell: called with lines.
sub moments_begin
{
	my (%run) = @_;
	my $run = \%run;

	$run->{findings} = [];
	$run->{control} = new_client($run, 'control');
	$run->{data} = client_ask($run->{control}, 'SHOW data_directory');
	$run->{posix} = client_ask($run->{control}, 'SHOW dynamic_shared_memory_type') eq 'posix';
	($run->{postmaster}) = slurp("$run->{data}/postmaster.pid") =~ /^(\d+)/ or die "the server isn't on this machine\n";
	client_ask($run->{control}, $_) for grep { /\S/ } split /;\s*\n/, kinds_setup($run->{rows});
	$run->{first_segments} = segments_of_server($run);

	# a session that kept rows, used the service, and has ended
	my $session = new_session($run, 'SET gpureg.device = gpu;');
	client_ask($session, $kinds_keep);
	client_ask($session, q{SELECT (gpu_logreg_fit('SELECT won, x1 FROM r')).n});
	client_leave($session);
	idle_service($run);
	sleep 0.3;
	@$run{qw(service threads kilobytes reserved)} = idle_service($run);
	$run->{reserved} //= 0;
	sleep $spare_s if $run->{patient};
	$run->{last_segments} = segments($run);
	return $run;
}

# Checks that after all moments the service is as before, and the server has no more segments than at first.
sub moments_end
{
	my ($run) = @_;
	idle_service($run);
	sleep 0.3;
	my ($pid, $threads, $kilobytes) = idle_service($run);
	my $until = time + $spare_s + $left_s;

	finding($run, "the service is another: $pid") if defined $run->{service} && ($pid // '') ne $run->{service};
	finding($run, "the service has $threads threads, not $run->{threads}")
	  if defined $pid && $threads != $run->{threads};
	finding($run, "the service has $kilobytes kB, not $run->{kilobytes}")
	  if defined $pid && $kilobytes > $run->{kilobytes} + $most_kilobytes;
	sleep 0.2 while segments($run) > $run->{last_segments} && time < $until;
	finding($run, segments($run) . " segments are left, not $run->{last_segments}")
	  if segments($run) > $run->{last_segments};
	$run->{tell}->("service: $run->{kilobytes} kB became $kilobytes, $threads threads") if defined $pid;
}

# Returns lines: a heading, figures in ms for each way, and the worst moments.
sub moments_report
{
	my ($run, $nworst) = @_;
	my @lines = sprintf '%-20s %8s %8s %8s %8s %8s %8s %8s', 'way', 'moments', 'stopped', 'answers', 'median', '99%',
	  'worst', '> 200';

	for my $way (grep { $run->{moments}{$_} } @ways, @kill_ways)
	{
		my @ms = sort { $a <=> $b } map { 1000 * $_->[0] } @{ $run->{answers}{$way} // [] };
		my @figures = @ms ? @ms[ @ms / 2, int(0.99 * @ms), -1 ] : (0, 0, 0);

		push @lines, sprintf '%-20s %8d %8d %8d ' . '%8.1f ' x 3 . '%8d', $way, $run->{moments}{$way},
		  $run->{stopped}{$way} // 0, scalar @ms, @figures,
		  scalar grep { $_ > 200 } @ms;
	}
	my @worst = sort { $b->[0] <=> $a->[0] } map { @$_ } values %{ $run->{answers} };
	push @lines, map { sprintf '%.0f ms (ran %.0f, waited %.0f): %s', map({ 1000 * $_ } @$_[ 0 .. 2 ]), $_->[3] }
	  grep { $_ } @worst[ 0 .. $nworst - 1 ];
	push @lines, sprintf 'the server was up again within %.1f s, %d times', max(@{ $run->{restarts} }),
	  scalar @{ $run->{restarts} } if $run->{restarts};
	push @lines, sprintf 'nothing was left after at most %.0f ms', 1000 * ($run->{tidied} // 0);
	return @lines;
}

1;
