# Many sessions at once, whose statements are drawn from LoadStatements.pm: each answer must be the one that a single
# session got before, no process may grow, and nothing may be left (LoadVerdict.pm). For 025_load.pl and script/load.
package Load;

use strict;
use warnings;

use Exporter 'import';
use File::Temp 'tempdir';
use LoadClient;
use LoadMonitor;
use LoadStatements;
use LoadVerdict;
use POSIX ();
use Time::HiRes qw(time sleep);

our @EXPORT = qw(run_load load_record is_same_answer);

# Seconds that a statement may take beside many others before it counts as hanging
my $patience = 600;
# Seconds after the end until statements that still run are reported; they are waited for
my $late_after = 20;

# Shares of statements that have a timeout, lose their client, or are a session's last
my %often = (timeout => 0.06, lost => 0.01, leave => 0.02);
my $contexts_every = 20;

# Seconds between two cancels, and the share of them that end a session
my ($cancel_every, $terminate_share) = (0.4, 0.1);

# Runs a load. opt: connstr, sessions, seconds, seed, device, rows, pause, tell. Returns a line of counts, and the
# findings as texts.
sub run_load
{
	my $run = { pause => 0, dir => tempdir('gpureg_load_XXXXXX', TMPDIR => 1, CLEANUP => 1), findings => [], @_ };

	my ($began, $tell) = (time, $run->{tell});
	$run->{tell} = sub { $tell->(sprintf '%5.0f s: %s', time - $began, $_[0]) };
	first_use($run);
	$run->{control} = control($run);
	prepare($run);
	my $single = control($run);
	find_ways($run, $single);
	serial_answers($run, $single);
	let_go($single);
	close_client($single);
	under_load($run);
	judge_load($run);
	close_client($run->{control});
	judge_device($run);
	return (load_summary($run), @{ $run->{findings} });
}

sub control
{
	my ($run) = @_;
	my ($client, $err) = open_client($run->{connstr}, 'control');

	die "no connection: $err\n" if !$client;
	return $client;
}

# True for even sessions, which stay connected, so that their memory is seen over the whole time; the others are also
# terminated, lose their clients, and connect again.
sub is_steady
{
	my ($k) = @_;

	return $k % 2 == 0;
}

#
# Before the load
#

# Uses a service once. Afterwards the server has a list of services in shared memory until it ends, some 6 MB from
# PostgreSQL 17 on, and a connection may have a context on the GPU: neither must count as left over.
sub first_use
{
	my ($run) = @_;
	my $client = control($run);

	$run->{gpu} = $run->{device} ne 'cpu' && has_gpu();
	die "There is no GPU.\n" if $run->{device} eq 'gpu' && !$run->{gpu};
	# large tables are read from their first row on, even if others read them
	$run->{prologue} = "RESET ALL;\nSET synchronize_seqscans = off;\n"
	  . ($run->{gpu} ? '' : "SET gpureg.debug_service = on;\n");
	ask($client, 'CREATE EXTENSION IF NOT EXISTS gpureg;');
	# an error without a device
	say_to($client, "$run->{prologue}SET gpureg.device = gpu; SELECT gpu_ols_fit('SELECT i % 3 AS y, i FROM "
		. "generate_series(1, 9) i');");
	hear($client, $patience);
	end_service($client);
	close_client($client);
	$run->{before_mb} = device_mb();
}

sub prepare
{
	my ($run) = @_;
	my $control = $run->{control};

	$run->{rows} //= $run->{gpu} ? 10_000_000 : 1_000_000;
	die "max_connections is too low.\n" if ask($control, 'SHOW max_connections;') < $run->{sessions} + 10;
	die "A server keeps 64 sets of rows: at most 56 sessions.\n" if $run->{sessions} > 56;
	$run->{version} = ask($control, 'SHOW server_version;') =~ s/ .*//r;
	$run->{server} = find_server($control);
	# a GPU's driver has memory of its own
	$run->{trimmed} = !$run->{gpu} && returns_memory($run->{server});
	$run->{before} = surroundings($run->{server}, $control, {});
	$run->{sizes} = [ grep { $_ <= $run->{rows} } map { 10**$_ } 2 .. 7 ];
	for my $n (@{ $run->{sizes} })
	{
		$run->{tell}->("making a table of $n rows");
		ask($control, load_setup($n));
	}
	ask($control, load_roles());
}

# Finds out whether there is a device, and a service.
sub find_ways
{
	my ($run, $client) = @_;
	my $works = sub {
		say_to($client, "$run->{prologue}$_[0]");
		my ($out, $err) = hear($client, $patience);
		return $err !~ /ERROR|FATAL/;
	};

	$run->{has} = { device => $works->(q{SET gpureg.device = gpu; SELECT gpu_ols_fit('SELECT y, x1 FROM t100');}),
		service => $works->(q{SELECT gpu_keep('load_all', 'SELECT y, x1, x2, won, g FROM t1000', true);
			SELECT keep_as_1(), keep_as_2(), keep_as_3();}) };
	$run->{tell}->("no $_: its statements are left out") for grep { !$run->{has}{$_} } sort keys %{ $run->{has} };
}

# Runs every statement in one session, and keeps its answer and time. Statements that take more than a thirtieth of the
# time are left out, and so are large ones that are expected to, as they take long with a tenth of the rows.
sub serial_answers
{
	my ($run, $client) = @_;
	my ($limit, $sum, %cost, @items, @left_out) = ($run->{seconds} / 30, 0);

	for my $item (load_items($run->{has}, @{ $run->{sizes} }))
	{
		my $kind = "$item->{name} ($item->{way})";

		if ($item->{n} > 100_000 && ($cost{$kind} // 0) > $limit / 4)
		{
			push @left_out, item_name($item);
			next;
		}
		my $started = time;
		say_to($client, item_script($run, $item, 0));
		my ($out, $err, $ended) = hear($client, $patience);
		$cost{$kind} = time - $started;
		die item_name($item) . ": $err$ended\n" if $ended;
		# equal time for each statement, except that the smallest get less
		@$item{qw(answer state weight)} = ($out, state_of($err), 1 / ($cost{$kind} + 0.02));
		$item->{cost} = $cost{$kind};
		if (($item->{name} =~ /^fails/ xor $item->{state} ne '00000') || $item->{state} eq 'XX000')
		{
			push @{ $run->{findings} }, item_name($item) . ", one session: $err";
			next;
		}
		push @left_out, item_name($item) and next if $cost{$kind} > $limit;
		push @items, $item;
		$sum += $cost{$kind};
	}
	$run->{items} = \@items;
	$run->{tell}->(sprintf '%d statements, which one session runs in %.1f s', scalar(@items), $sum);
	$run->{tell}->('left out, as they take too long: ' . join(', ', @left_out)) if @left_out;
	die "nothing to run\n" if !@items;
}

sub item_name
{
	my ($item) = @_;

	return "$item->{name} ($item->{way}) of $item->{n} rows";
}

sub item_script
{
	my ($run, $item, $k, $timeout) = @_;

	return join "\n", $run->{prologue} . $item->{settings}, $timeout ? "SET statement_timeout = $timeout;" : (),
	  ($item->{text} =~ s/%k/load_$k/gr) . ';';
}

# Returns the first error's code.
sub state_of
{
	my ($messages) = @_;

	return $messages =~ /(?:ERROR|FATAL|PANIC):\s+([0-9A-Z]{5}):/ ? $1 : '00000';
}

#
# The load
#

# Runs the load: a process per session, one that cancels, and one that watches memory.
sub under_load
{
	my ($run) = @_;
	my $stop = "$run->{dir}/stop";

	$run->{started} = time;
	$run->{until} = $run->{started} + $run->{seconds};
	my @others = (child($run, 'cancels', sub { cancel_some($run, $_[0]) }),
		child($run, 'memory', sub { watch_server($run->{server}, $run->{started}, $stop, $_[0], $run->{gpu}) }));
	my @sessions;
	for my $k (1 .. $run->{sessions})
	{
		push @sessions, child($run, "session$k", sub { session($run, $k, $_[0]) });
	}
	my ($told, $late) = (0, 0);
	while (@sessions)
	{
		@sessions = grep { waitpid($_, POSIX::WNOHANG()) == 0 } @sessions;
		sleep 0.2;
		if (@sessions && !$late && time > $run->{until} + $late_after)
		{
			$run->{tell}->("still there: $_") for who_is_left($run);
			$late = 1;
		}
		next if time < $run->{started} + ($told + 1) * $run->{seconds} / 10;
		$run->{tell}->(memory_line($run));
		$told++;
	}
	open(my $file, '>', $stop) or die "$stop: $!";
	waitpid $_, 0 for @others;
}

# Describes sessions that have not ended: what they and their workers wait for, and, if visible, where in the kernel the
# threads of each process are.
sub who_is_left
{
	my ($run) = @_;
	my @lines = split /\n/, ask($run->{control}, q{SELECT format('%s %s%s %s, %s s: %s %s, %s', pid, backend_type,
		' of ' || leader_pid, application_name, extract(epoch FROM now() - query_start)::int, wait_event_type,
		wait_event, left(regexp_replace(query, '\s+', ' ', 'g'), 300))
		FROM pg_stat_activity WHERE application_name ~ '^load ' OR backend_type ~ 'gpureg';});

	for my $line (@lines)
	{
		my ($pid) = $line =~ /^(\d+)/;
		my %where;

		for my $thread (glob "/proc/$pid/task/*")
		{
			open(my $file, '<', "$thread/wchan") or next;
			$where{$1}++ if (<$file> // '') =~ /^(\w+)/;
		}
		$line .= join '', map { "; $where{$_} thread(s) in $_" } sort keys %where;
	}
	return @lines;
}

sub child
{
	my ($run, $name, $what) = @_;
	my $pid = fork // die "fork: $!";

	return $pid if $pid;
	open(my $to, '>', "$run->{dir}/$name") or POSIX::_exit(1);
	$to->autoflush(1);
	eval { $what->($to); 1 } or print $to "F $name: " . ($@ =~ s/\n/ /gr) . "\n";
	close $to;
	# a child must not run its parent's END blocks
	POSIX::_exit(0);
}

# Cancels statements, and terminates sessions that aren't steady.
sub cancel_some
{
	my ($run, $to) = @_;
	my $client = control($run);
	my $whose = q{FROM pg_stat_activity WHERE state = 'active' AND backend_type = 'client backend' AND }
	  . 'application_name ~ ';

	srand $run->{seed};
	while (time < $run->{until})
	{
		my ($what, $whom) = rand() < $terminate_share ? ('terminate', "'^load .*odd'") : ('cancel', "'^load '");

		sleep $cancel_every * 2 * rand;
		my $out = ask($client, "SELECT pg_${what}_backend(pid) $whose $whom ORDER BY random() LIMIT 1;");
		print $to "$what\n" if $out eq 't';
	}
	close_client($client);
}

# Runs a session. Writes a line per statement: seconds, number of the statement, its end, the time it took, the backend,
# and the backend's memory between statements in kB.
sub session
{
	my ($run, $k, $to) = @_;
	my ($client, $n) = (undef, 0);

	srand $run->{seed} * 1000 + $k;
	while (time < $run->{until})
	{
		$client //= connect_session($run, $k, $to) // last;
		my ($number, $how) = (draw($run), rand);
		my $began = time;
		my $outcome = one_statement($run, $k, $client, $number, $how, $to);
		my $took = time - $began;
		my $kb = memory_kb($client->{pid}) // 0;

		printf $to "S %.2f %d %s %.4f %d %d\n", time - $run->{started}, $number, $outcome, $took, $client->{pid}, $kb;
		if ($outcome =~ /^(?:lost|ended|terminated)$/ || !is_steady($k) && rand() < $often{leave})
		{
			$outcome =~ /^(?:lost|ended|terminated)$/ ? kill_client($client) : close_client($client);
			undef $client;
			print $to "D\n";
		}
		elsif (++$n % $contexts_every == 0)
		{
			my $bytes = contexts($client);

			if ($bytes) { printf $to "C %.2f %d %d\n", time - $run->{started}, $client->{pid}, $bytes; }
			elsif (!defined $bytes)
			{
				# the session was terminated in the meantime
				kill_client($client);
				undef $client;
				print $to "D\n";
			}
		}
		sleep $took * $run->{pause} if $run->{pause};
	}
	close_client($client) if $client;
}

sub connect_session
{
	my ($run, $k, $to) = @_;
	my ($client, $err) = open_client($run->{connstr}, "load $k " . (is_steady($k) ? 'even' : 'odd'));

	# a session may be terminated or canceled before it answers
	($client, $err) = open_client($run->{connstr}, "load $k") if !$client && $err =~ /57P01|57014/;
	print $to "F session $k has no connection: ", $err =~ s/\n/ /gr, "\n" if !$client;
	return $client;
}

# Draws a statement's number by weight.
sub draw
{
	my ($run) = @_;

	if (!$run->{ranges})
	{
		my $sum = 0;
		$run->{ranges} = [ map { $sum += $_->{weight} } @{ $run->{items} } ];
	}
	my ($ranges, $low, $high) = ($run->{ranges}, 0, $#{ $run->{ranges} });
	my $where = rand $ranges->[-1];
	while ($low < $high)
	{
		my $middle = int(($low + $high) / 2);
		$ranges->[$middle] > $where ? ($high = $middle) : ($low = $middle + 1);
	}
	return $low;
}

# Runs one statement. Returns its end: ok, canceled, timeout, terminated, lost (its client), or ended (the connection,
# which is a finding).
sub one_statement
{
	my ($run, $k, $client, $number, $how, $to) = @_;
	my $item = $run->{items}[$number];
	my $timeout = $how < $often{timeout} ? 1 + int(rand() * ($item->{cost} * 2000 + 20)) : 0;
	my $finding = sub { print $to 'F ', item_name($item), ": $_[0]" =~ s/\n/\r/gr, "\n" };

	# an earlier timeout holds until this statement's settings are made, or the next one's
	my $timeouts = $timeout || $client->{timeout};
	say_to($client, item_script($run, $item, $k, $timeout));
	if (!is_steady($k) && $how > 1 - $often{lost})
	{
		sleep rand() * ($item->{cost} + 0.1);
		return 'lost';
	}
	my ($out, $err, $ended) = hear($client, $patience);
	my $state = state_of($err);

	$client->{timeout} = $err =~ /57014/ ? $timeouts : $timeout;
	# the server's last message doesn't always reach the client
	return 'terminated' if !is_steady($k) && ($err =~ /FATAL:\s+57P01/
		|| $ended eq 'ended' && $err =~ /server closed the connection/);
	$finding->("$ended: $out$err"), return 'ended' if $ended;
	return 'timeout' if $timeouts && $err =~ /57014.*statement timeout/;
	return 'canceled' if $err =~ /57014.*user request/;
	return 'ok' if $state ne '00000' && $item->{else} =~ /\b$state\b/;
	$finding->("SQLSTATE $state for $item->{state}: $err") if $state ne $item->{state};
	$finding->("another answer\n  $out\n  $item->{answer}")
	  if $state eq '00000' && $item->{state} eq $state && !is_same_answer($out, $item->{answer}, $item->{bits});
	$finding->($err) if $err =~ /TRAP|leak|not closed|still referenced|problem in/;
	return 'ok';
}

# True if texts are the same, and numbers agree to 1e-12 of themselves; numbers of an array, or of a line without
# arrays, to 1e-12 of a hundredth of the largest of them. $bits: all must agree in every bit. The device may differ:
# gpureg.device = auto takes the CPU while others have the GPU's memory.
sub is_same_answer
{
	my ($got, $right, $bits) = @_;
	my $number = qr/-?\d+(?:\.\d+)?(?:e[-+]\d+)?/;

	s/,(?:cpu|"+gpu [^"]*"+),/,device,/g for $got, $right;
	# removes records of a model whose hexadecimal digits are bits of rounding
	s/\b(vcov_low|df) \d+ [0-9a-f]+(?: [0-9a-f]{16})*/$1/g for $got, $right;
	return 1 if $got eq $right;
	return 0 if $bits || $got =~ s/$number/#/gr ne $right =~ s/$number/#/gr;
	my @got = $got =~ /(\{[^{}]*\}|[^{}\n]+)/g;
	my @right = $right =~ /(\{[^{}]*\}|[^{}\n]+)/g;
	for my $i (0 .. $#right)
	{
		my ($largest, @g) = (0, $got[$i] =~ /$number/g);
		my @r = $right[$i] =~ /$number/g;

		for my $r ($right[$i] =~ /^\{/ || $right !~ /\{/ ? @r : ())
		{
			$largest = abs($r) if abs($r) > $largest;
		}
		for my $j (0 .. $#r)
		{
			my $size = abs($r[$j]) > 1e-2 * $largest ? abs($r[$j]) : 1e-2 * $largest;
			return 0 if abs($g[$j] - $r[$j]) > 1e-12 * $size;
		}
	}
	return 1;
}

# Returns the bytes of the session's memory contexts; 0 if that was canceled, undef if the session is gone.
sub contexts
{
	my ($client) = @_;

	say_to($client, 'RESET ALL; SELECT sum(total_bytes) FROM pg_backend_memory_contexts;');
	my ($out, $err, $ended) = hear($client, 60);
	return $ended ? undef : $out =~ /^(\d+)$/ ? $1 : 0;
}

1;
