# Statements of all kinds in servers that are set up in unusual ways, and in sessions that get little memory: the answers
# of the ordinary server, or a plain error of those expected; the session goes on, and nothing is left.
#
# GPUREG_LONG=1 takes more ways, and more limits on memory.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use GpuregTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use StatementKinds;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', join "\n", "shared_preload_libraries = 'gpureg'", 'autovacuum = off',
	'max_worker_processes = 16', 'max_parallel_workers = 8', 'gpureg.debug_service = on', 'gpureg.ring_size = 2MB',
	'jit = off', 'fsync = off', "include_if_exists = 'surroundings.conf'", '');
$node->start;
$node->safe_psql('postgres', kinds_setup(2000));

# Sums of rows that workers share out depend, in their last digits, on who took which.
sub is_shared_out
{
	my ($name, $around) = @_;

	return $name =~ /workers|rewritten|ring|sinks|service|aggregate/ || $around =~ /parallel/;
}

# Each statement's output or its error's code, in one session
sub answers
{
	my ($psql) = @_;

	return map {
		my ($name, $settings, $query) = @$_;
		my ($out, $err) = psql_says($psql, "RESET ALL; $settings\n$query;");
		[ $name, $out, sqlstate($err), $err ];
	} @kinds;
}

# What is left of statements, as text
sub leavings
{
	$node->poll_query_until('postgres',
		q{SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'parallel worker'});
	return $node->safe_psql('postgres', 'SELECT count(*) FROM pg_ls_tmpdir()');
}

sub in_session
{
	my ($name, $meanwhile) = @_;
	my $psql = open_psql($node, 'surroundings');
	my ($pid) = psql_says($psql, 'SELECT pg_backend_pid();');

	psql_says($psql, $kinds_keep);
	$meanwhile->($pid + 0) if $meanwhile;
	my @got = answers($psql);
	my ($still) = psql_says($psql, "SELECT 'still here';");
	is($still, "still here\n", "$name: the session goes on");
	close_psql($psql);
	return @got;
}

my @right = in_session('ordinary');
is(join("\n", map { "$_->[0]: $_->[3]" } grep { $_->[2] ne 'none' } @right), '', 'ordinary: no errors');
is(scalar(grep { $_->[1] !~ m{\S} } @right), 0, 'ordinary: each statement answers');

# The answers are those, or errors with these codes.
sub compare
{
	my ($name, $codes, @got) = @_;
	my @findings;

	for my $i (0 .. $#right)
	{
		my ($statement, $out, $code, $err) = @{ $got[$i] };
		my $right = $right[$i][1];
		my $same = $out eq $right || (is_shared_out($statement, $name) && is_same_answer($out, $right));

		next if $code eq 'none' ? $same : $code =~ /^(?:$codes)$/;
		push @findings, "$statement: $code $err" . substr($out, 0, 200) . "\nnot " . substr($right, 0, 200);
	}
	is(scalar(@findings), 0, "$name: right answers, or errors as expected") or diag(join "\n", @findings);
	is(leavings(), '0', "$name: nothing is left");
}

sub surround
{
	my ($name, $codes, @settings) = @_;
	my $file = $node->data_dir . '/surroundings.conf';

	unlink $file;
	append_to_file($file, join("\n", @settings, ''));
	$node->restart;
	my $postmaster = postmaster_pid($node);
	compare($name, $codes, in_session($name));
	survived($node, $postmaster, $name);
	unlink $file;
}

my $forced = $node->pg_version < 16 ? 'force_parallel_mode' : 'debug_parallel_query';

surround('little of all', 'none', 'max_parallel_workers = 0', "work_mem = '64kB'", "temp_buffers = '800kB'",
	"shared_buffers = '128kB'", "max_stack_depth = '100kB'", 'max_connections = 10', 'wal_level = minimal',
	'max_wal_senders = 0', 'dynamic_shared_memory_type = mmap', 'huge_pages = try');
surround('all parallel, compiled', 'none', "$forced = regress", 'jit = on', 'jit_above_cost = 0',
	'dynamic_shared_memory_type = sysv');
if ($ENV{GPUREG_LONG})
{
	surround('no worker processes', '53000|53400|55000|0A000', 'max_worker_processes = 0');
	surround('all parallel', 'none', "$forced = on");
	surround('all inlined', 'none', 'jit = on', 'jit_above_cost = 0', 'jit_inline_above_cost = 0',
		'jit_optimize_above_cost = 0');
}

# Less and less memory for a session's process than it has, given from outside
SKIP:
{
	skip 'no prlimit or no /proc', 1 if system('command -v prlimit >/dev/null') != 0 || !-r '/proc/self/statm';

	$node->restart;
	my $postmaster = postmaster_pid($node);
	for my $spare ($ENV{GPUREG_LONG} ? (64, 32, 16, 8, 4, 2, 1, 0) : (16, 2))
	{
		my $limit = sub {
			my ($pid) = @_;
			my $bytes = (split ' ', slurp_file("/proc/$pid/statm"))[0] * 4096 + ($spare << 20);
			system_or_bail('prlimit', "--pid=$pid", "--as=$bytes:");
		};
		compare("memory, parallel: $spare MB", '53200|53000|53400', in_session("$spare MB", $limit));
	}
	survived($node, $postmaster, 'limits on memory');
}

unlike(slurp_file($node->logfile), qr/TRAP:|PANIC:|terminated by signal|refcount leak|reference leak/,
	'nothing crashed');
done_testing();
