# Judges a load: its answers, memory over time, leavings. For Load.pm.
package LoadVerdict;

use strict;
use warnings;

use Exporter 'import';
use List::Util qw(max min sum0);
use LoadClient;
use LoadMonitor;
use POSIX ();
use Time::HiRes qw(time sleep);

our @EXPORT = qw(let_go end_service judge_load judge_growth judge_device memory_line load_summary load_record);

# Growth that is allowed from the second fifth of the time to the last, in kB, largest sample against largest: a session
# between its statements, and its memory contexts; the device service and other processes at any moment. Memory contexts
# keep their blocks, and stop growing once a session has seen each kind of statement. The C library keeps freed memory
# for later: up to 128 kB per heap if MALLOC_TRIM_THRESHOLD_ says so in the postmaster's environment, and the service's
# threads share eight heaps per processor; else twice the largest block that was ever freed, up to 64 MB.
my %may_grow = (session => 64 << 10, contexts => 1 << 10, service => 128 << 10, other => 4 << 10);
my %may_grow_trimmed = (%may_grow, session => 4 << 10, service => 32 << 10);

# Growth that is allowed of shared memory (kB) and a GPU's memory (MB) after the end
my ($shm_slack, $device_slack) = (4 << 10, 16);

# Seconds in which leavings must go away
my $goes = 60;

# Ends the device service, if there is one.
sub end_service
{
	my ($client) = @_;

	ask($client, 'SELECT count(pg_terminate_backend(service_pid)) FROM (SELECT DISTINCT service_pid FROM gpu_devices() '
		. 'WHERE service_pid IS NOT NULL) d;');
	for (1 .. 10 * $goes)
	{
		last if !ask($client, 'SELECT count(*) FROM gpu_devices() WHERE service_pid IS NOT NULL;');
		sleep 0.1;
	}
}

# Forgets kept rows, except those for all.
sub let_go
{
	my ($client) = @_;

	ask($client, q{SELECT gpu_forget(name) FROM gpu_kept() WHERE name ~ '^load_[0-9]';});
}

# Reads the watcher's new lines: seconds, kB by process.
sub read_memory
{
	my ($run) = @_;
	my $samples = $run->{samples} //= {};

	open(my $file, '<', "$run->{dir}/memory") or die "memory: $!";
	seek $file, $run->{memory_at} // 0, 0;
	while (my $line = <$file>)
	{
		last if $line !~ /\n$/;
		$run->{memory_at} = tell $file;
		push @{ $run->{findings} }, $1 and next if $line =~ /^F (.*)/;
		++$run->{seen}{$1} and next if $line =~ /^G (.*)/;
		my ($when, $pid, $name, $kb) = split ' ', $line;
		push @{ $samples->{"$name $pid"} }, [ $when, $kb ];
		$run->{latest} = $when;
	}
}

# Returns a line of present figures: the largest session, the service, all processes, shared memory.
sub memory_line
{
	my ($run) = @_;

	read_memory($run);
	my %now = map { $_ => $run->{samples}{$_}[-1][1] } grep { $run->{samples}{$_}[-1][0] >= ($run->{latest} // 0) - 10 }
	  keys %{ $run->{samples} };
	my $largest = sub {
		my ($what) = @_;
		return max(0, map { $now{$_} } grep { /^$what / } keys %now) / 1024;
	};
	my $line = sprintf '%d processes; the largest session %.0f MB, worker %.0f MB, service %.0f MB; '
	  . 'shared segments %.0f MB', scalar(grep { !/ 0$/ } keys %now), $largest->('session'),
	  $largest->('worker'), $largest->('service'), $largest->('shm');
	return $line . ($run->{gpu} ? sprintf('; device %.0f MB', $largest->('device')) : '');
}

#
# Results
#

sub judge_load
{
	my ($run) = @_;

	read_memory($run);
	read_sessions($run, $_) for 1 .. $run->{sessions};
	read_cancels($run);
	judge_growth($run);
	judge_rest($run);
	$run->{tell}->($_) for kinds_lines($run);
}

sub read_sessions
{
	my ($run, $k) = @_;

	open(my $file, '<', "$run->{dir}/session$k") or die "session$k: $!";
	while (my $line = <$file>)
	{
		chomp $line;
		push @{ $run->{findings} }, $1 =~ s/\r/\n/gr and next if $line =~ /^F (.*)/;
		++$run->{counts}{disconnects} and next if $line eq 'D';
		my ($what, $when, @values) = split ' ', $line;
		if ($what eq 'C')
		{
			push @{ $run->{idle}{"contexts $values[0]"} }, [ $when, $values[1] / 1024 ];
			next;
		}
		my ($number, $outcome, $took, $pid, $kb) = @values;
		push @{ $run->{idle}{"session $pid"} }, [ $when, $kb ] if $kb;
		$run->{counts}{$outcome}++;
		my $kind = $run->{kinds}{ $run->{items}[$number]{name} } //= { n => 0, took => 0, rows => 0 };
		next if $outcome ne 'ok';
		$kind->{n}++;
		$kind->{took} += $took;
		$kind->{rows} += $run->{items}[$number]{n};
	}
}

# Checks that no more sessions were canceled and terminated than the load asked for.
sub read_cancels
{
	my ($run) = @_;
	my $counts = $run->{counts};

	open(my $file, '<', "$run->{dir}/cancels") or die "cancels: $!";
	while (my $line = <$file>)
	{
		chomp $line;
		push @{ $run->{findings} }, $1 and next if $line =~ /^F (.*)/;
		$counts->{"sent $line"}++;
	}
	$counts->{$_} //= 0 for qw(ok canceled timeout terminated lost ended disconnects), 'sent cancel', 'sent terminate';
	push @{ $run->{findings} }, "$counts->{canceled} statements were canceled, of $counts->{'sent cancel'} cancels"
	  if $counts->{canceled} > $counts->{'sent cancel'};
	push @{ $run->{findings} }, "$counts->{terminated} sessions ended, of $counts->{'sent terminate'} told to"
	  if $counts->{terminated} > $counts->{'sent terminate'};
}

# Returns the largest of a process's samples in a fifth of the time, or undef.
sub largest_in_fifth
{
	my ($run, $samples, $fifth) = @_;
	my $length = $run->{seconds} / 5;

	return max(map { $_->[1] } grep { $_->[0] >= ($fifth - 1) * $length && ($fifth == 5 || $_->[0] < $fifth * $length) }
		@$samples);
}

sub judge_growth
{
	my ($run) = @_;
	my %all = (%{ $run->{idle} // {} }, map { $_ => $run->{samples}{$_} }
		grep { !/^(?:session|worker|shm|device) / } keys %{ $run->{samples} });

	my $bounds = $run->{trimmed} ? \%may_grow_trimmed : \%may_grow;
	for my $name (sort keys %all)
	{
		my ($early, $late) = map { largest_in_fifth($run, $all{$name}, $_) } 2, 5;
		my ($kind) = split ' ', $name;

		next if !defined $early || !defined $late;
		$run->{growth}{ exists $may_grow{$kind} ? $kind : 'other' }{$name} = $late - $early;
		push @{ $run->{findings} }, sprintf('%s grew: at most %d kB in the second fifth of the time, %d kB in the last',
			$name, $early, $late) if $late - $early > ($bounds->{$kind} // $bounds->{other});
	}
	for my $kind (sort keys %{ $run->{growth} })
	{
		my @by = sort { $a <=> $b } values %{ $run->{growth}{$kind} };

		$run->{tell}->(sprintf 'growth, %s: %d seen in the second and the last fifth, by %+.1f to %+.1f MB, the middle '
			. 'one %+.1f', $kind, scalar(@by), map { $_ / 1024 } @by[ 0, -1, $#by / 2 ]);
	}
}

# Waits until $what finds nothing; reports what it still finds at the end.
sub goes_away
{
	my ($run, $what) = @_;
	my ($until, $found) = (time + $goes);

	while (($found = $what->()) && time < $until)
	{
		sleep 0.5;
	}
	push @{ $run->{findings} }, "is left: $found" if $found;
}

# Checks that sessions have ended, that the service has nothing left, and that after its end all is as before.
sub judge_rest
{
	my ($run) = @_;
	my $control = $run->{control};
	my $sessions = q{SELECT count(*) FROM pg_stat_activity WHERE application_name ~ '^load ';};
	my $reserved = q{SELECT concat(computations, ' computations, ', memory_reserved, ' bytes') FROM gpu_devices()
		WHERE computations + memory_reserved > 0;};

	goes_away($run, sub { my $n = ask($control, $sessions); $n && "$n sessions" });
	goes_away($run, sub { service_left($run) });
	ask($control, q{SELECT gpu_forget(format('%I.%I', owner, name)) FROM gpu_kept();});
	goes_away($run, sub { ask($control, $reserved) });
	end_service($control);
	goes_away($run, sub { left_around($run) });
	push @{ $run->{findings} }, 'the server was started again' if $run->{server}{checkpointer} ne
	  ask($control, q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer';});
}

# Describes computations, and threads beyond one and those of connected sessions. (A GPU's driver has a number of
# threads that doesn't grow with the sessions.)
sub service_left
{
	my ($run) = @_;
	my ($pid, $sessions, $computations) = split /\|/, ask($run->{control}, 'SELECT service_pid, sessions, computations '
		. 'FROM gpu_devices() WHERE service_pid IS NOT NULL LIMIT 1;');

	return '' if !defined $pid;
	my $threads = () = glob "/proc/$pid/task/*";
	return "$computations computations" if $computations;
	return $threads > 1 + $sessions + ($run->{gpu} ? 12 : 0) ? "$threads threads for $sessions sessions" : '';
}

sub left_around
{
	my ($run) = @_;
	my ($before, $now) = ($run->{before}, surroundings($run->{server}, $run->{control}, $run->{seen} // {}));
	my @left;

	$run->{after} = $now;
	push @left, "$now->{shm_kb} kB of shared memory, after $before->{shm_kb}"
	  if $now->{shm_kb} > $before->{shm_kb} + $shm_slack;
	push @left, "$now->{files} temporary files" if $now->{files} > $before->{files};
	push @left, "$now->{workers} workers" if $now->{workers} > $before->{workers};
	return join ', ', @left;
}

# Checks the GPU's memory after all processes have ended.
sub judge_device
{
	my ($run) = @_;

	goes_away($run, sub {
		$run->{after_mb} = device_mb();
		my $more = $run->{after_mb} > $run->{before_mb} + $device_slack;
		return $more ? "$run->{after_mb} MB of a GPU, after $run->{before_mb}" : '';
	}) if $run->{gpu};
}

sub kinds_lines
{
	my ($run) = @_;
	my $kinds = $run->{kinds};

	my $line = sub {
		my ($name) = @_;
		my ($n, $took, $rows) = @{ $kinds->{$name} }{qw(n took rows)};
		return sprintf '%-28s %7d answers, %8.2f a second, %9.1f ms each, %8.2f million rows a second', $name, $n,
		  $n / $run->{seconds}, $n ? 1000 * $took / $n : 0, $rows / 1e6 / $run->{seconds};
	};
	return map { $line->($_) } sort keys %$kinds;
}

sub load_summary
{
	my ($run) = @_;
	my ($c, $before, $after) = @$run{qw(counts before after)};
	my $largest = sub {
		my ($what) = @_;
		my @kb = map { $_->[1] } map { @{ $run->{samples}{$_} } } grep { /^$what / } keys %{ $run->{samples} };
		return max(0, @kb) / 1024;
	};

	my $text = sprintf('seed %d: %d sessions, %d s, tables of up to %d rows, PostgreSQL %s, %s: ',
		@$run{qw(seed sessions seconds rows version)},
		$run->{gpu} ? 'on a GPU' : $run->{has}{device} ? 'a device service that computes on the CPU' : 'no device');
	$text .= sprintf('%d answers that are the serial ones, %d canceled (of %d cancels), %d timeouts, %d terminated, '
		. '%d clients lost, %d connections ended; ', @$c{qw(ok canceled)}, $c->{'sent cancel'},
		@$c{qw(timeout terminated lost disconnects)});
	$text .= sprintf('largest session %.0f MB, service %.0f MB; '
		. 'shared segments %.1f MB before, at most %.1f, %.1f after',
		$largest->('session'), $largest->('service'), $before->{shm_kb} / 1024, $largest->('shm'),
		$after->{shm_kb} / 1024);
	$text .= sprintf('; GPU memory %d MB before, at most %d, %d after', $run->{before_mb}, $largest->('device'),
		$run->{after_mb}) if $run->{gpu};
	return $text;
}

# Appends the run and its results to a file.
sub load_record
{
	my ($path, $command, $summary, @findings) = @_;
	my ($cpu) = `cat /proc/cpuinfo` =~ /^model name\s*:\s*(.*)/m;
	my $cores = () = glob '/sys/devices/system/cpu/cpu[0-9]*';
	my $machine = join ', ', "$cores cores", $cpu // 'unknown', `nvidia-smi -L 2>/dev/null` =~ /^GPU \d+: (.*?) \(/mg;

	open(my $file, '>>', $path) or die "$path: $!";
	print $file POSIX::strftime("%Y-%m-%d %H:%M\n", localtime),
	  "    $machine\n    $command\n    $summary\n    findings: ", scalar(@findings), "\n",
	  map { s/^/    /gmr . "\n" } @findings;
	close $file;
}

1;
