# What the TAP tests share.
#
# A device service is a stand-in that computes on the CPU, so that its tests need no GPU. With GPUREG_TAP_DEVICE=gpu in
# the environment it is that of this machine's GPU, in the same tests; script/verify-gpu runs them so. A test takes
# service_conf() or service_settings() for either, and asks on_gpu() where the two differ.
package GpuregTest;

use strict;
use warnings;

use Exporter 'import';
use FindBin;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Psql;
use Test::More;
use Time::HiRes qw(time sleep);

our @EXPORT = qw($prompt start_node try_sql sqlstate error_is start_session wait_active finish_session open_psql
  psql_says close_psql seconds seconds_until
  build_module build_library on_gpu service_conf service_settings $service_device service_processes is_as_on_cpu
  relative_difference postmaster_pid survived create_process_kb);

# Seconds within which what is canceled has ended, with what psql needs to start, beside other suites. What is canceled
# would take minutes.
our $prompt = 5;

# Sources of test/modules as a library for the server that runs the tests: its file; or undef, and why there is none.
# A copy of PostgreSQL may have a pg_config that knows no headers, and the next one in PATH may be another version's.
sub build_module
{
	my @names = @_;
	my $version = `pg_config --version`;
	my ($pg_config) = grep { `'$_' --version 2>/dev/null` eq $version
		  and -e `'$_' --includedir-server 2>/dev/null` =~ s/\n//r . '/postgres.h' }
	  grep { defined } $ENV{PG_CONFIG}, map({ "$_/pg_config" } split /:/, $ENV{PATH});

	return (undef, 'no PostgreSQL headers were found') if !defined $pg_config;
	my $module = PostgreSQL::Test::Utils::tempdir . "/$names[0].so";
	my @sources = map { "$FindBin::RealBin/../modules/$_.c" } @names;
	chomp(my $headers = `'$pg_config' --includedir-server`);
	chomp(my $compiler = $ENV{CC} // `'$pg_config' --cc`);
	return (undef, 'there is no compiler') if system("$compiler --version > /dev/null 2>&1") != 0;
	my $log = `$compiler -shared -fPIC -Wall -Werror -I'$headers' -o '$module' @sources 2>&1`;
	is($?, 0, "the module $names[0] is built") or BAIL_OUT($log);
	return $module;
}

# A source of test/modules, without PostgreSQL's headers, as a library for LD_PRELOAD or LD_LIBRARY_PATH; undef, or why
# there is none.
sub build_library
{
	my ($name, $file, @flags) = @_;

	return 'the sanitizers have a preloaded library of their own' if $ENV{GPUREG_SANITIZE};
	return 'no Linux' if $^O ne 'linux';
	chomp(my $compiler = $ENV{CC} // `pg_config --cc`);
	return 'there is no compiler' if system("$compiler --version > /dev/null 2>&1") != 0;
	my $source = "$FindBin::RealBin/../modules/$name.c";
	my $log = `$compiler -shared -fPIC -Wall -Werror @flags -o '$file' '$source' -ldl 2>&1`;
	is($?, 0, "the library $name is built") or BAIL_OUT($log);
	return undef;
}

sub on_gpu
{
	return ($ENV{GPUREG_TAP_DEVICE} // '') eq 'gpu';
}

# Lines of configuration by which gpureg.device = gpu has a device service; the same for a session of a superuser
sub service_conf { return 'gpureg.debug_service = ' . (on_gpu() ? 'off' : 'on'); }
sub service_settings { return on_gpu() ? '' : 'SET gpureg.debug_service = on;'; }

# The device that gpu_last_run() and models name then
our $service_device =
  on_gpu() ? qr/gpu \d+: (?!the CPU)[^|]*, device service/ : qr/gpu -1: the CPU in place of a GPU, device service/;

# There a statement that fails is a failed check, and the test goes on, for some of them: machines with a GPU are dear.
if (on_gpu())
{
	my $safe_psql = \&PostgreSQL::Test::Cluster::safe_psql;
	my $patience = 20;

	no warnings 'redefine';
	*PostgreSQL::Test::Cluster::safe_psql = sub {
		my ($node, $db, $sql, @rest) = @_;
		my $out = eval { $safe_psql->($node, $db, $sql, @rest) };

		return $out if defined $out;
		die $@ if --$patience < 0;
		fail('a statement that goes well');
		diag($@);
		return '';
	};
}

# A running server with the extension in database postgres.
sub start_node
{
	my ($name, @conf) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init;
	$node->append_conf('postgresql.conf', "$_\n") for @conf;
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION gpureg');
	return $node;
}

# Runs a script to its end whatever fails in it; returns its output and its messages, which carry SQLSTATEs.
sub try_sql
{
	my ($node, $sql, %opt) = @_;
	my @as = defined $opt{user} ? (extra_params => [ '-U', $opt{user} ]) : ();
	my ($rc, $out, $err) =
	  $node->psql($opt{db} // 'postgres', "\\set VERBOSITY verbose\n$sql", on_error_stop => 0, @as);

	return ($out, $err);
}

# The first error's code, or 'none'.
sub sqlstate
{
	my ($messages) = @_;

	return $messages =~ /(?:ERROR|FATAL|PANIC):\s+([0-9A-Z]{5}):/ ? $1 : 'none';
}

# The script fails with this code, and the session answers afterwards.
sub error_is
{
	my ($node, $sql, $state, $name, %opt) = @_;
	my ($out, $err) = try_sql($node, "$sql;\nSELECT 'still here'", %opt);

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(sqlstate($err), $state, "$name: SQLSTATE") or diag($err);
	like($out, qr/still here$/, "$name: the session goes on");
	return $err;
}

# A psql of its own, which runs while the test does other things; each statement is sent by itself.
# (background_psql() isn't the same in all minor versions.)
sub start_session
{
	my ($node, $name, @statements) = @_;
	my $session = { out => '', err => '' };
	my $connection = $node->connstr('postgres') . " application_name=$name";
	my @command = psql_command($connection, '-v', 'VERBOSITY=verbose', map { ('-c', $_) } @statements);

	$session->{run} = IPC::Run::start(\@command, '<', \undef, '>', \$session->{out}, '2>', \$session->{err});
	return $session;
}

# Waits until the session's statement that looks like $pattern runs; returns its backend's process id.
sub wait_active
{
	my ($node, $name, $pattern) = @_;
	my $where = "application_name = '$name' AND state = 'active' AND query ~ '$pattern' AND backend_type = 'client "
		. "backend'";

	$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE $where")
	  or die "$name never ran $pattern";
	my $pid = $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE $where");
	die "$name ran $pattern too briefly" if $pid eq '';
	sleep 0.5;
	return $pid;
}

sub finish_session
{
	my ($session) = @_;

	$session->{run}->finish;
	return ($session->{out}, $session->{err});
}

# A psql that stays, for many small scripts: starting one costs more than most of these.
sub open_psql
{
	my ($node, $name) = @_;
	my $psql = { in => '', out => '', err => '', scripts => 0, timer => IPC::Run::timer(180) };
	my $connection = $node->connstr('postgres') . " application_name=$name";
	my @command = psql_command($connection, '-v', 'VERBOSITY=verbose', '-f', '-');

	my @pipes = ('<', \$psql->{in}, '>', \$psql->{out}, '2>', \$psql->{err});
	$psql->{run} = IPC::Run::start(\@command, @pipes, $psql->{timer});
	return $psql;
}

# Runs a script to its end, whatever fails in it; returns its output and its messages.
sub psql_says
{
	my ($psql, $script) = @_;
	my $end = 'end of script ' . ++$psql->{scripts};

	@$psql{qw(out err)} = ('', '');
	$psql->{in} .= "$script\n\\echo $end\n\\warn $end\n";
	$psql->{timer}->start(180);
	$psql->{run}->pump until $psql->{out} =~ /^\Q$end\E\n/m && $psql->{err} =~ /^\Q$end\E\n/m;
	$psql->{timer}->reset;
	return map { s/^\Q$end\E\n//mr } @$psql{qw(out err)};
}

sub close_psql
{
	my ($psql) = @_;

	$psql->{in} .= "\\q\n";
	$psql->{run}->finish;
}

# How long it takes to run $what, and what that returns.
sub seconds
{
	my ($what) = @_;
	my $started = time;
	my @result = $what->();

	return (time - $started, @result);
}

# Waits until $look gives what is like $what; how long that took, s, or 'inf' after ten seconds. On a GPU it is the time
# until that was asked for: gpu_devices() sees what services do first, and then opens the GPU to list it, which takes
# longer than a service may take to let something go.
sub seconds_until
{
	my ($look, $what) = @_;
	my $started = time;

	while (time - $started < 10)
	{
		my $asked = time;

		return (on_gpu() ? $asked : time) - $started if $look->() =~ $what;
		sleep 0.02;
	}
	return 'inf';
}

# The server's device services, as /proc names its processes
sub service_processes
{
	my ($postmaster) = @_;
	my $read = sub { eval { slurp_file($_[0]) } // '' };

	return grep { $read->("$_/cmdline") =~ /gpureg device service/ && $read->("$_/stat") =~ /\) \w $postmaster / }
	  glob '/proc/[0-9]*';
}

# What a service gave is what the CPU gives: to the bit where it computes on the CPU, else in these digits.
sub is_as_on_cpu
{
	my ($got, $expected, $name, $digits) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is($got, $expected, $name) if !on_gpu();
	cmp_ok(relative_difference($got, $expected), '<=', $digits // 1e-13, $name) or diag("$got\n$expected");
}

# The largest relative difference of two lists of numbers given as text; NULLs must match. @least: what is relative to
# no less.
sub relative_difference
{
	my ($left, $right, @least) = @_;
	my @left = $left =~ /(NULL|[-+.\deE]+)/g;
	my @right = $right =~ /(NULL|[-+.\deE]+)/g;
	my $worst = 0;

	return 'inf' if @left != @right || !@left;
	for my $k (0 .. $#left)
	{
		my ($u, $v) = ($left[$k], $right[$k]);
		next if $u eq $v;
		return 'inf' if $u eq 'NULL' || $v eq 'NULL';
		my $scale = abs($u) > abs($v) ? abs($u) : abs($v);
		$scale = $least[$k] if defined $least[$k] && $scale < $least[$k];
		my $difference = $scale == 0 ? 0 : abs($u - $v) / $scale;
		$worst = $difference if $difference > $worst;
	}
	return $worst;
}

sub postmaster_pid
{
	my ($node) = @_;

	return (split /\n/, slurp_file($node->data_dir . '/postmaster.pid'))[0];
}

# No process of the server died, and the server is the one it was.
sub survived
{
	my ($node, $pid, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($node->safe_psql('postgres', 'SELECT 1'), '1', "$name: the server answers");
	is(postmaster_pid($node), $pid, "$name: the postmaster is the same");
	unlike(slurp_file($node->logfile), qr/was terminated by signal|PANIC|TRAP:/, "$name: nothing crashed");
}

# process_kb('VmHWM') in SQL: a line of the backend's own /proc/self/status, in kB.
sub create_process_kb
{
	my ($node) = @_;

	$node->safe_psql('postgres', q{
		CREATE FUNCTION process_kb(field text) RETURNS int LANGUAGE sql VOLATILE AS $$
			SELECT substring(pg_read_file('/proc/self/status') FROM field || ':\s+(\d+) kB')::int
		$$});
}

1;
