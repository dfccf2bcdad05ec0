# Shared by the TAP tests.
#
# The device service is a stand-in that computes on the CPU, so its tests need no GPU. With GPUREG_TAP_DEVICE=gpu in the
# environment it is this machine's GPU's, in the same tests; script/verify-gpu runs them so. A test uses service_conf()
# or service_settings() for either, and asks on_gpu() where the two differ.
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

# Seconds within which canceled work must have ended, with the time that psql needs to start beside other suites.
# Without a cancel the work would take minutes.
our $prompt = 5;

# Builds sources of test/modules as a library for the server under test. Returns its file; or undef, and the reason. A
# copy of PostgreSQL may have a pg_config that knows no headers, and the next one in PATH may be another version's.
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

# Builds a source of test/modules, without PostgreSQL's headers, as a library for LD_PRELOAD or LD_LIBRARY_PATH. Returns
# undef, or the reason why that is impossible.
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

# Settings with which gpureg.device = gpu has a device service: lines of configuration, or statements for a superuser's
# session
sub service_conf { return 'gpureg.debug_service = ' . (on_gpu() ? 'off' : 'on'); }
sub service_settings { return on_gpu() ? '' : 'SET gpureg.debug_service = on;'; }

# The name of that device in gpu_last_run() and in models
our $service_device =
  on_gpu() ? qr/gpu \d+: (?!the CPU)[^|]*, device service/ : qr/gpu -1: the CPU in place of a GPU, device service/;

# On a GPU some statements that fail are failed checks, and the test goes on, since machines with a GPU are expensive.
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

# Starts a server with the extension in database postgres.
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

# Runs a script to its end whatever fails in it; returns its output and its messages, which have SQLSTATEs.
sub try_sql
{
	my ($node, $sql, %opt) = @_;
	my @as = defined $opt{user} ? (extra_params => [ '-U', $opt{user} ]) : ();
	my ($rc, $out, $err) =
	  $node->psql($opt{db} // 'postgres', "\\set VERBOSITY verbose\n$sql", on_error_stop => 0, @as);

	return ($out, $err);
}

# Returns the first error's code, or 'none'.
sub sqlstate
{
	my ($messages) = @_;

	return $messages =~ /(?:ERROR|FATAL|PANIC):\s+([0-9A-Z]{5}):/ ? $1 : 'none';
}

# Checks that the script fails with this code, and that the session answers afterwards.
sub error_is
{
	my ($node, $sql, $state, $name, %opt) = @_;
	my ($out, $err) = try_sql($node, "$sql;\nSELECT 'still here'", %opt);

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(sqlstate($err), $state, "$name: SQLSTATE") or diag($err);
	like($out, qr/still here$/, "$name: the session goes on");
	return $err;
}

# Starts a psql that runs while the test does other things; each statement is sent by itself. (background_psql() differs
# between minor versions.)
sub start_session
{
	my ($node, $name, @statements) = @_;
	my $session = { out => '', err => '' };
	my $connection = $node->connstr('postgres') . " application_name=$name";
	my @command = psql_command($connection, '-v', 'VERBOSITY=verbose', map { ('-c', $_) } @statements);

	$session->{run} = IPC::Run::start(\@command, '<', \undef, '>', \$session->{out}, '2>', \$session->{err});
	return $session;
}

# Waits until the session runs a statement like $pattern; returns its backend's process id.
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

# Opens a psql for many small scripts, as starting one costs more than most of these.
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

# Runs $what; returns the seconds that took, and its result.
sub seconds
{
	my ($what) = @_;
	my $started = time;
	my @result = $what->();

	return (time - $started, @result);
}

# Waits until $look's result is like $what; returns the seconds that took, or 'inf' after ten. On a GPU this is the time
# until the result was asked for: gpu_devices() reads the services' state first, and then opens the GPU to list it,
# which takes longer than a service may take to release something.
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

# Returns the server's device services, by the titles of its processes in /proc.
sub service_processes
{
	my ($postmaster) = @_;
	my $read = sub { eval { slurp_file($_[0]) } // '' };

	return grep { $read->("$_/cmdline") =~ /gpureg device service/ && $read->("$_/stat") =~ /\) \w $postmaster / }
	  glob '/proc/[0-9]*';
}

# Checks that a service's result is the CPU's: to the bit if the service computes on the CPU, else in these digits.
sub is_as_on_cpu
{
	my ($got, $expected, $name, $digits) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is($got, $expected, $name) if !on_gpu();
	cmp_ok(relative_difference($got, $expected), '<=', $digits // 1e-13, $name) or diag("$got\n$expected");
}

# Returns the largest relative difference of two lists of numbers given as text; NULLs must match. @least: the least
# magnitudes that differences are relative to.
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

# Checks that no process of the server died, and that the server was not restarted.
sub survived
{
	my ($node, $pid, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($node->safe_psql('postgres', 'SELECT 1'), '1', "$name: the server answers");
	is(postmaster_pid($node), $pid, "$name: the postmaster is the same");
	unlike(slurp_file($node->logfile), qr/was terminated by signal|PANIC|TRAP:/, "$name: nothing crashed");
}

# Creates process_kb('VmHWM') in SQL, which returns a line of the backend's /proc/self/status in kB.
sub create_process_kb
{
	my ($node) = @_;

	$node->safe_psql('postgres', q{
		CREATE FUNCTION process_kb(field text) RETURNS int LANGUAGE sql VOLATILE AS $$
			SELECT substring(pg_read_file('/proc/self/status') FROM field || ':\s+(\d+) kB')::int
		$$});
}

1;
