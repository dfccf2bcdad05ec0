# Random calls of every function that the extension has must give a result, or an error that is the caller's, never
# XX000; no statement may crash the server or leave anything open. The functions are read from the catalogue.
#
# GPUREG_SEED repeats a run, GPUREG_CALLS is the number of calls, and GPUREG_LONG=1 makes 200,000; script/random-sql
# does the same against a running server.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use GpuregTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RandomRun;
use Test::More;

my $seed = $ENV{GPUREG_SEED} // time % 1_000_000;
my $slow = $ENV{GPUREG_SANITIZE};
my $ncalls = $ENV{GPUREG_CALLS} // ($slow ? 2000 : $ENV{GPUREG_LONG} ? 200_000 : 3000);
my $nstatements = 100;

diag("GPUREG_SEED=$seed, $ncalls calls");

# Before PostgreSQL 17 a service needs a preloaded library.
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', join "\n", "shared_preload_libraries = 'gpureg'", 'autovacuum = off',
	'max_worker_processes = 16', 'max_parallel_workers = 8', 'gpureg.debug_service = on', 'gpureg.ring_size = 2MB',
	'log_min_error_statement = panic', 'log_min_messages = fatal', 'restart_after_crash = on', '');
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION gpureg');
my $pid = postmaster_pid($node);

my $run = random_run(connstr => $node->connstr('postgres'), seed => $seed, nstatements => $nstatements);
random_setup($run);
my @findings = run_scripts($run, 2, 1 .. $ncalls / $nstatements);
is(scalar(@findings), 0, 'no finding') or diag(map { "$_\n" } @findings[ 0 .. ($#findings < 9 ? $#findings : 9) ]);
diag(summary($run));

# Nearly all scripts must run to their ends.
cmp_ok($run->{calls}, '>=', 0.99 * $ncalls, 'all scripts run to their ends');
cmp_ok($run->{good}, '>=', 0.2 * $run->{calls}, 'many statements give something');
cmp_ok($run->{states}{57014} // 0, '<=', 0.05 * $run->{calls}, 'few take too long');
unlike(slurp_file($node->logfile), qr/refcount leak|reference leak|was not closed|still referenced|TRAP:|PANIC:/,
	'nothing is left open, and nothing failed but what was said');

# The test must notice a bug: a made-up output with one must be a finding.
my @seen = findings_of($run, 0, "\\warn statement 1\nSELECT 1;\n\\warn statement end\n",
	"statement 1\npsql:<stdin>:1: ERROR:  XX000: tuple concurrently updated\nstatement end\n", 0);
is(scalar(@seen), 1, 'XX000 is a finding');
@seen = findings_of($run, 0, "\\warn statement 1\nSELECT 1;\n", "statement 1\nserver closed the connection\n", 512);
is(scalar(@seen), 1, 'so is a lost connection');
survived($node, $pid, 'all of it');
done_testing();
