# Statements of all kinds in servers with unusual settings, or with little memory, disk for temporary files or shared
# memory, or a clock that jumps; and on a standby, also while it is promoted. Answers must be those of an ordinary
# server, or one of the expected errors; the session must go on, and nothing may be left.
#
# GPUREG_LONG=1 takes more settings, more limits on memory, and more places where the disk is full.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use GpuregTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use StatementKinds;
use Test::More;
use Time::HiRes qw(sleep);

my $long = $ENV{GPUREG_LONG};
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', join "\n", "shared_preload_libraries = 'gpureg'", 'autovacuum = off',
	'max_worker_processes = 16', 'max_parallel_workers = 8', 'gpureg.debug_service = on', 'gpureg.ring_size = 2MB',
	'jit = off', 'fsync = off', "include_if_exists = 'surroundings.conf'", '');
$node->start;
$node->safe_psql('postgres', kinds_setup(2000));
$node->safe_psql('postgres', q{
	-- waits in the midst of the rows for whoever holds the lock
	CREATE FUNCTION held_up(i int) RETURNS int LANGUAGE plpgsql VOLATILE AS
		$$BEGIN PERFORM CASE WHEN i = 1000 THEN pg_advisory_xact_lock_shared(24) END; RETURN i; END$$;
	-- takes a while, without asking what time it is
	CREATE FUNCTION watching(i int) RETURNS int LANGUAGE plpgsql VOLATILE AS $$BEGIN
		IF i % 20 = 0 THEN
			PERFORM count(*) FROM generate_series(1, 10000);
			RAISE NOTICE 'seconds %', (SELECT seconds FROM gpu_progress() WHERE pid = pg_backend_pid());
		END IF;
		RETURN i;
	END$$;});

#
# Statements' answers, and what they leave
#

# True if workers share out rows, so that the last digits of sums depend on their shares.
sub is_shared_out
{
	my ($settings) = @_;

	return $settings =~ /max_parallel_workers_per_gather = 2/;
}

# Returns one statement's output, its error's code, and its messages.
sub answer
{
	my ($psql, $kind) = @_;
	my ($name, $settings, $query) = @$kind;
	my ($out, $err) = psql_says($psql, "RESET ALL; $settings\n$query;");

	return ($out, sqlstate($err), $err);
}

sub answers
{
	my ($psql) = @_;

	return map { [ $_->[0], answer($psql, $_) ] } @kinds;
}

my @right;

# True for the right answer to statement i, or an error with one of these codes ('none': no error).
sub is_right
{
	my ($i, $codes, $out, $code) = @_;
	my $right = $right[$i][1];

	return $code =~ /^(?:$codes)$/ if $code ne 'none';
	return $out eq $right || (is_shared_out($kinds[$i][1]) && is_same_answer($out, $right));
}

sub temporary_files
{
	my ($server) = @_;

	return glob($server->data_dir . '/base/pgsql_tmp/*');
}

# Waits until workers have ended; returns the temporary files that are left, as text.
sub leavings
{
	my ($server) = @_;
	my $workers = q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker'};

	$server->poll_query_until('postgres', $workers, '0');
	return join ' ', temporary_files($server);
}

sub session_goes_on
{
	my ($psql, $name) = @_;
	my ($still) = psql_says($psql, "RESET ALL; SELECT 'still here';");

	is($still, "still here\n", "$name: the session goes on");
}

# Returns the answers of all kinds in a session. $first, if given, is called with its process id before.
sub in_session
{
	my ($name, $meanwhile) = @_;
	my $psql = open_psql($node, 'surroundings');
	my ($pid) = psql_says($psql, 'SELECT pg_backend_pid();');

	psql_says($psql, $kinds_keep);
	$meanwhile->($pid + 0) if $meanwhile;
	my @got = answers($psql);
	session_goes_on($psql, $name);
	close_psql($psql);
	return @got;
}

sub compare
{
	my ($server, $name, $codes, @got) = @_;
	my @findings = map {
		my ($statement, $out, $code, $err) = @{ $got[$_] };
		is_right($_, $codes, $out, $code)
		  ? ()
		  : "$statement: $code $err" . substr($out, 0, 200) . "\nnot " . substr($right[$_][1], 0, 200);
	} 0 .. $#right;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(scalar(@findings), 0, "$name: right answers, or errors as expected") or diag(join "\n", @findings);
	is(leavings($server), '', "$name: nothing is left");
}

@right = in_session('ordinary');
is(join("\n", map { "$_->[0]: $_->[3]" } grep { $_->[2] ne 'none' } @right), '', 'ordinary: no errors');
is(scalar(grep { $_->[1] !~ m{\S} } @right), 0, 'ordinary: each statement answers');

#
# Settings
#

# Runs $what in the server with these further settings, in this environment.
sub with_settings
{
	my ($name, $settings, $what, %environment) = @_;
	my $file = $node->data_dir . '/surroundings.conf';

	append_to_file($file, join("\n", @$settings, ''));
	{
		local @ENV{ keys %environment } = values %environment;
		$node->restart;
	}
	my $postmaster = postmaster_pid($node);
	$what->();
	survived($node, $postmaster, $name);
	unlink $file;
}

sub surround
{
	my ($name, $codes, @settings) = @_;

	with_settings($name, \@settings, sub { compare($node, $name, $codes, in_session($name)) });
}

my $forced = $node->pg_version < 16 ? 'force_parallel_mode' : 'debug_parallel_query';

surround('little of all', 'none', 'max_parallel_workers = 0', "work_mem = '64kB'", "temp_buffers = '800kB'",
	"shared_buffers = '128kB'", "max_stack_depth = '100kB'", 'max_connections = 10', 'wal_level = minimal',
	'max_wal_senders = 0', 'dynamic_shared_memory_type = mmap');
surround('all parallel, compiled', 'none', "$forced = regress", 'jit = on', 'jit_above_cost = 0',
	'dynamic_shared_memory_type = sysv');
if ($long)
{
	# without a service no rows are kept, so there are none to fit to
	surround('no worker processes', '53000|53400|55000|0A000|42704', 'max_worker_processes = 0');
	surround('all parallel', 'none', "$forced = on");
	surround('all inlined', 'none', 'jit = on', 'jit_above_cost = 0', 'jit_inline_above_cost = 0',
		'jit_optimize_above_cost = 0');
}

# Huge pages, if the machine has reserved some
SKIP:
{
	my $reserved = -r '/proc/meminfo' && slurp_file('/proc/meminfo') =~ /HugePages_Free:\s+(\d+)/ ? $1 : 0;

	skip "huge pages: $reserved are free", 6 if $reserved < 32;
	surround('huge pages', 'none', 'huge_pages = on', "shared_buffers = '16MB'");
}

# Caches that are discarded at every chance, if the server is built for it; some statements only, as this takes long
SKIP:
{
	my $most = $node->safe_psql('postgres', q{SELECT max_val FROM pg_settings WHERE name = 'debug_discard_caches'});

	skip 'debug_discard_caches: the server is not built for it', 5 if ($most || 0) < 1;
	my $some = $long ? qr/./ : qr/^(?:ols scan, workers|groups|kept ols|logistic service|tidy|predictions)$/;
	my @at = grep { $kinds[$_][0] =~ $some } 0 .. $#kinds;
	my $postmaster = postmaster_pid($node);
	my $psql = open_psql($node, 'discarding');
	my @wrong;

	psql_says($psql, $kinds_keep);
	for my $i (@at)
	{
		my ($name, $settings, $query) = @{ $kinds[$i] };
		my @got = answer($psql, [ $name, "SET debug_discard_caches = 1; $settings", $query ]);
		push @wrong, "$name: $got[2]$got[0]" if !is_right($i, 'none', @got);
	}
	is(join("\n", @wrong), '', 'discarded caches: right answers');
	session_goes_on($psql, 'discarded caches');
	close_psql($psql);
	survived($node, $postmaster, 'discarded caches');
}

# Limits on a session's memory, set from outside, that leave it less and less
SKIP:
{
	skip 'no prlimit or no /proc', 1 if system('command -v prlimit >/dev/null') != 0 || !-r '/proc/self/statm';

	$node->restart;
	my $postmaster = postmaster_pid($node);
	for my $spare ($long ? (64, 32, 16, 8, 4, 2, 1, 0) : (16, 2))
	{
		my $limit = sub {
			my ($pid) = @_;
			my $bytes = (split ' ', slurp_file("/proc/$pid/statm"))[0] * 4096 + ($spare << 20);
			system_or_bail('prlimit', "--pid=$pid", "--as=$bytes:");
		};
		compare($node, "$spare MB of memory", '53200|53000|53400', in_session("$spare MB of memory", $limit));
	}
	survived($node, $postmaster, 'limits on memory');
}

#
# A machine with little (test/modules/scarce.c)
#

my $plenty = 1 << 50;
my $directory = PostgreSQL::Test::Utils::tempdir();
my $file = "$directory/scarce";

# Sets numbers that the library and the test share, the others unchanged; returns all of them.
sub scarce
{
	my (%changes) = @_;
	my @names = qw(disk_left shm_left clock_step_ms nfailed);
	my %now;

	open my $handle, '+<:raw', $file or die "$file: $!";
	for my $k (0 .. $#names)
	{
		sysseek $handle, 8 * $k, 0;
		if (exists $changes{ $names[$k] })
		{
			syswrite $handle, pack 'q', $changes{ $names[$k] };
		}
		else
		{
			sysread $handle, my $bytes, 8;
			$now{ $names[$k] } = unpack 'q', $bytes;
		}
	}
	close $handle;
	return \%now;
}

# Builds the library. Returns undef, or the reason why that is impossible.
sub make_library
{
	my $why_not = build_library('scarce', "$directory/scarce.so", '-O2');

	append_to_file($file, pack('q4', $plenty, $plenty, 0, 0)) if !defined $why_not;
	return $why_not;
}

# Runs $what in the server with that library and these settings.
sub with_little
{
	my ($name, $settings, $what) = @_;

	with_settings($name, $settings, $what, LD_PRELOAD => "$directory/scarce.so", GPUREG_SCARCE => $file);
	scarce(disk_left => $plenty, clock_step_ms => 0, nfailed => 0);
}

# Runs one kind of statement with a disk that fills up. Returns how often the disk was full, and what was wrong.
sub fill_disk
{
	my ($psql, $i) = @_;
	my $name = $kinds[$i][0];
	my $nfull = 0;
	my @wrong;

	scarce(disk_left => $plenty);
	my @got = answer($psql, $kinds[$i]);
	push @wrong, "$name, with room: $got[2]$got[0]" if !is_right($i, 'none', @got);
	my $needed = $plenty - scarce()->{disk_left};
	return (0, @wrong) if $needed == 0;

	for my $room (map { int($needed * $_) } $long ? (0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99) : (0, 0.6))
	{
		scarce(disk_left => $room, nfailed => 0);
		@got = answer($psql, $kinds[$i]);
		push @wrong, "$name, $room of $needed bytes: $got[2]$got[0]" if !is_right($i, '53100', @got);
		push @wrong, "$name, $room of $needed bytes: a failure is not told of"
		  if ($got[1] eq '53100') != (scarce()->{nfailed} > 0);
		$nfull += $got[1] eq '53100';
		my $left = leavings($node);
		push @wrong, "$name, $room of $needed bytes: left $left" if $left ne '';
	}
	scarce(disk_left => $plenty);
	@got = answer($psql, $kinds[$i]);
	push @wrong, "$name, with room again: $got[2]$got[0]" if !is_right($i, 'none', @got);
	return ($nfull, @wrong);
}

sub full_disk
{
	my $psql = open_psql($node, 'filling');
	my ($nkinds, $nfull) = (0, 0);
	my @wrong;

	psql_says($psql, $kinds_keep);
	for my $i (0 .. $#kinds)
	{
		my ($times, @findings) = fill_disk($psql, $i);
		$nkinds += $times > 0;
		$nfull += $times;
		push @wrong, @findings;
	}
	is(join("\n", @wrong), '', 'full disk: errors of a full disk, nothing left, and right answers with room');
	note("a full disk was met by $nkinds kinds of statement, $nfull times");
	cmp_ok($nkinds, '>=', 5, 'full disk: many kinds write temporary files');
	session_goes_on($psql, 'full disk');
	close_psql($psql);
}

# Shared memory of which 1 MB is left, beside the server's own: a ring of 2 MB doesn't fit.
my $shm_left = 1 << 20;
my $shm_of_server;

sub small_shm
{
	$shm_of_server = $plenty - scarce()->{shm_left};
	scarce(shm_left => $shm_left);
	my @got = in_session('little shared memory');

	compare($node, 'little shared memory', '53100|53200', @got);
	cmp_ok(scarce()->{nfailed}, '>', 0, 'little shared memory: there was less than was wanted');
	# from PostgreSQL 17 on sessions and the service find each other by a segment of 1 MB of the server's
	cmp_ok(scalar(grep { $_->[2] eq 'none' } @got), '>=', $node->pg_version < 17 ? 30 : 20,
		'little shared memory: statements that do without');
	note('little shared memory: ', join ', ', map { "$_->[0] $_->[2]" } grep { $_->[2] ne 'none' } @got);
	scarce(shm_left => scarce()->{shm_left} + $plenty);
	compare($node, 'shared memory again', 'none', in_session('shared memory again'));
}

# Checks that reported seconds are those that have passed, whatever the clock says.
sub check_seconds
{
	my ($psql) = @_;
	my ($out, $err) = psql_says($psql, q{
		SELECT (gpu_ols_fit('SELECT y, x1, watching(i) FROM r')).n;
		SELECT num_nulls(read_seconds, copy_seconds, kernel_seconds, solve_seconds, total_seconds) = 0
			AND least(read_seconds, copy_seconds, kernel_seconds, solve_seconds, total_seconds) >= 0,
			greatest(read_seconds, copy_seconds, kernel_seconds, solve_seconds, total_seconds) < 60 FROM gpu_last_run();});
	my @seconds = $err =~ /NOTICE: .*seconds (\S+)/g;
	my @wrong = grep {
		$seconds[$_] < 0 || $seconds[$_] > 60 || ($_ > 0 && $seconds[$_] < $seconds[ $_ - 1 ])
	} 0 .. $#seconds;

	is($out, "2000\nt|t\n", 'a clock that is set: a fit, and the seconds that it took') or diag($err);
	is(scalar(@seconds), 100, 'a clock that is set: progress is shown');
	is(join(' ', @seconds[@wrong]), '', 'a clock that is set: its seconds are right');
}

# Checks a session that starts while the service is stopped for half a second, as on a busy machine.
sub slow_service
{
	my ($service) = @_;

	kill 'STOP', $service;
	my $session = start_session($node, 'comes', 'SET gpureg.device = gpu', q{SELECT n FROM gpu_ols_fit('SELECT y, x1
		FROM r')}, 'SELECT device FROM gpu_last_run()');
	sleep 0.5;
	kill 'CONT', $service;
	my ($out, $err) = finish_session($session);
	is($err, '', 'a clock that is set: no error of a service that is slow');
	like($out, qr/^2000\ngpu -1: .*service\n$/, 'a clock that is set: it is waited for');
}

# Checks a clock that jumps by hours, forth and back, 500 times a second.
sub wrong_clock
{
	my $service = 'SELECT service_pid FROM gpu_devices() WHERE service_pid IS NOT NULL';
	my $log_begins = -s $node->logfile;

	scarce(clock_step_ms => 2);
	my ($elapsed, @got) = seconds(sub { in_session('a clock that is set') });
	compare($node, 'a clock that is set', 'none', @got);
	cmp_ok($elapsed, '<', 60, 'a clock that is set: nothing waits for it');
	my $psql = open_psql($node, 'clock');
	check_seconds($psql);
	# the service ends when nobody has used it for a time, if it keeps no rows
	psql_says($psql, q{SELECT gpu_forget('kept'); SET gpureg.device = gpu;
		SELECT n FROM gpu_ols_fit('SELECT y, x1 FROM r');});
	my ($before) = psql_says($psql, "$service;");
	like($before, qr/^\d+$/, 'a clock that is set: there is a service');
	for (1 .. ($before =~ /^\d+$/ ? 30 : 0))
	{
		# the service looks around after a signal
		kill 'HUP', $before + 0;
		sleep 0.01;
	}
	my ($after) = psql_says($psql, "$service;");
	is($after, $before, 'a clock that is set: the service stays');
	slow_service($after + 0) if $after =~ /^\d+$/;
	close_psql($psql);
	unlike(slurp_file($node->logfile, $log_begins), qr/no device service/,
		'a clock that is set: no session goes without');
}

SKIP:
{
	my $why_not = make_library();

	skip "scarce things: $why_not", 1 if defined $why_not;
	with_little('full disk', [ "work_mem = '64kB'", 'dynamic_shared_memory_type = mmap' ], \&full_disk);
	with_little('little shared memory', [ 'dynamic_shared_memory_type = posix' ], \&small_shm);
	$node->stop;
	is(scarce()->{shm_left} - $plenty, $shm_left + $shm_of_server, 'little shared memory: all is given back in the end');
	scarce(shm_left => $plenty);
	$node->start;
	with_little('a clock that is set', ['log_min_messages = debug1'], \&wrong_clock);
}

#
# A standby: statements that read there, and fits that are under way while it is promoted
#

# Fits for each of the ways in which rows come, in sessions of their own: the settings and the query
my $iterated = q{(gpu_logreg_fit('SELECT won, x1, %s FROM r')).coef};
my @held_up = (
	[ 'states', 'SET gpureg.device = cpu', q{(gpu_ols_fit('SELECT y, x1, %s FROM r')).coef} ],
	[ 'spool', 'SET gpureg.device = cpu', $iterated ],
	[ 'ring', 'SET gpureg.device = cpu; SET gpureg.debug_ring = on', $iterated ],
	[ 'service', 'SET gpureg.device = gpu', $iterated ]);

sub promote_in_mid_fit
{
	my ($standby) = @_;
	my $under_way = q{SELECT count(*) = 4 FROM pg_stat_activity WHERE wait_event = 'advisory' AND query ~ 'held_up'};
	my $holder = open_psql($standby, 'holder');
	my @sessions;

	psql_says($holder, 'SELECT pg_advisory_lock(24);');
	for my $fit (@held_up)
	{
		my ($name, $settings, $call) = @$fit;
		push @sessions, start_session($standby, $name, $settings, 'SELECT ' . sprintf($call, 'held_up(i)'));
	}
	ok($standby->poll_query_until('postgres', $under_way), 'promoted: fits are under way before it');
	$standby->promote;
	$standby->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die 'the standby was never promoted';
	is($standby->safe_psql('postgres', $under_way), 't', 'promoted: and still are after it');
	close_psql($holder);
	for my $k (0 .. $#held_up)
	{
		my ($name, $settings, $call) = @{ $held_up[$k] };
		my ($out, $err) = finish_session($sessions[$k]);
		is($err, '', "promoted in mid-fit, $name: no error");
		is($out, $node->safe_psql('postgres', "$settings; SELECT " . sprintf($call, 'i')) . "\n",
			"promoted in mid-fit, $name: the primary's answer");
	}
}

$node->restart;
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->append_conf('postgresql.conf', "work_mem = '64kB'");
$standby->start;
my $postmaster = postmaster_pid($standby);
is($standby->safe_psql('postgres', 'SELECT pg_is_in_recovery()'), 't', 'standby: in recovery');
my $psql = open_psql($standby, 'standby');
psql_says($psql, $kinds_keep);
compare($standby, 'standby', 'none', answers($psql));
promote_in_mid_fit($standby);
# a session from before the promotion, with the rows that it kept
compare($standby, 'promoted', 'none', answers($psql));
session_goes_on($psql, 'promoted');
my ($stored) = psql_says($psql, q{CREATE TABLE fits AS SELECT gpu_ols_fit('SELECT y, x1, x2 FROM r') AS m;
	SELECT (m).coef FROM fits;});
my ($query) = grep { $kinds[$_][0] eq 'ols query' } 0 .. $#kinds;
is($stored, $right[$query][1], 'promoted: a fit is stored');
close_psql($psql);
survived($standby, $postmaster, 'promoted');

for my $server ($node, $standby)
{
	unlike(slurp_file($server->logfile), qr/TRAP:|PANIC:|terminated by signal|refcount leak|reference leak/,
		$server->name . ': nothing crashed');
}
done_testing();
