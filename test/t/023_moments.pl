# Statements of all kinds are stopped at random moments, and their workers and the device service killed (Moments.pm):
# each must answer soon and leave nothing, and surviving sessions must fit the same again.
#
# GPUREG_LONG=1 takes more moments, of longer statements; script/moments takes any number. GPUREG_SEED is the seed,
# which is printed.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use GpuregTest;
use Moments;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $long = $ENV{GPUREG_LONG};
my $seed = $ENV{GPUREG_SEED} // time % 1_000_000;

# Segments as files of this server's own can be counted while other servers run.
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', join "\n", "shared_preload_libraries = 'gpureg'", 'autovacuum = off',
	'max_worker_processes = 16', 'max_parallel_workers = 8', service_conf(), 'gpureg.ring_size = 2MB',
	'restart_after_crash = on', 'dynamic_shared_memory_type = mmap', 'log_statement = none',
	'log_min_error_statement = panic', '');
$node->start;
my $pid = postmaster_pid($node);
my $run = moments_begin(
	target => { host => $node->host, port => $node->port, user => scalar(getpwuid $<), dbname => 'postgres' },
	rows => $long ? 20000 : 2000, seed => $seed, bound => $prompt, patient => $long, tell => sub { note($_[0]) });

run_moments($run, $long ? 8 : 1, '.', '.');
moments_end($run);
survived($node, $pid, 'moments');
run_kills($run, $long ? 20 : 2, '.');
is($node->safe_psql('postgres', 'SELECT 1'), '1', 'kills: the server answers');
is(postmaster_pid($node), $pid, 'kills: the postmaster is the same');
unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|signal (?:4|6|7|8|11)\b|leak/, 'nothing crashed but what was killed');
is(scalar(@{ $run->{findings} }), 0, "answers, nothing left, the same fits (GPUREG_SEED=$seed)")
  or diag(map { "$_\n" } @{ $run->{findings} });
cmp_ok($run->{stopped}{$_} // 0, '>', 10, "$_: statements were stopped") for qw(cancel terminate timeout);
cmp_ok($run->{moments}{$_} // 0, '>', 0, $_) for @kill_ways;
diag(join "\n", moments_report($run, 3));
done_testing();
