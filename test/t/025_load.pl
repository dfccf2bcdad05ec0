# Eight sessions at once: statements of all kinds, sizes and ways, with cancels, timeouts, terminated sessions and lost
# clients among them (Load.pm). Each answer must be the serial one, no process may grow, and nothing may be left.
#
# script/test has 15 minutes on two processors, so this takes 15 seconds over small tables; GPUREG_LONG=1 takes five
# minutes and a million rows, and script/load runs for any time against a running server. GPUREG_SEED repeats a run's
# choices, but not their timing.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use GpuregTest;
use Load;
use LoadVerdict;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'memory is read from /proc' unless -r '/proc/self/status';

my $long = $ENV{GPUREG_LONG} && !$ENV{GPUREG_SANITIZE};
my %opt = (sessions => 8, device => on_gpu() ? 'gpu' : 'cpu', seed => $ENV{GPUREG_SEED} // time % 1_000_000,
	$long ? (seconds => 300, rows => 1_000_000) : (seconds => 15, rows => 10_000));

# Before PostgreSQL 17 a service needs a preloaded library.
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', join "\n", "shared_preload_libraries = 'gpureg'", 'max_connections = 40',
	'max_worker_processes = 24', 'max_parallel_workers = 8', 'log_min_error_statement = panic', '');
# makes memory between statements the memory in use
$ENV{MALLOC_TRIM_THRESHOLD_} = 131072 if !$ENV{GPUREG_SANITIZE};
$node->start;
my $pid = postmaster_pid($node);

diag("GPUREG_SEED=$opt{seed}");
my ($summary, @findings) = run_load(%opt, connstr => $node->connstr('postgres'), tell => sub { note($_[0]) });
is(scalar(@findings), 0, 'answers are the serial ones, no process grows, nothing is left')
  or diag(map { "$_\n" } @findings[ 0 .. ($#findings < 9 ? $#findings : 9) ]);
diag($summary);
my ($answers, $canceled, $timeouts) = $summary =~ /(\d+) answers.* (\d+) canceled .* (\d+) timeouts/;
cmp_ok($answers, '>', 300, 'many answers');
cmp_ok($canceled + $timeouts, '>', 10, 'and many that were not waited for');
unlike(slurp_file($node->logfile), qr/refcount leak|reference leak|was not closed|still referenced/,
	'nothing is left open');
survived($node, $pid, 'all of it');

# The test must notice each fault: a wrong answer, memory that grows, leavings.
my $right = '(ols,"{intercept,x1}",12,1.5,-2.5e-05,{0.25,1e-9},cpu,t)';
for my $change ([ 'the same', sub { }, 1, 1 ], [ 'a last digit', sub { s/1\.5/1.5000000000000002/ }, 1, 0 ],
	[ 'the eleventh digit', sub { s/1\.5/1.50000000002/ }, 0, 0 ], [ 'a sign', sub { s/,-2/,2/ }, 0, 0 ],
	[ 'a count', sub { s/12/13/ }, 0, 0 ], [ 'a word', sub { s/x1/x2/ }, 0, 0 ],
	[ 'a small number in an array', sub { s/1e-9/1.0000001e-9/ }, 1, 0 ],
	[ 'more of it', sub { s/1e-9/1.00001e-9/ }, 0, 0 ],
	[ 'a device', sub { s/cpu/"gpu 0: NVIDIA H100, device service"/ }, 1, 1 ], [ 'nothing', sub { $_ = '' }, 0, 0 ])
{
	my ($name, $how, $digits, $bits) = @$change;
	my $got = $right;

	$how->() for $got;
	is(is_same_answer($got, $right, 0), $digits, "another answer, in digits: $name");
	is(is_same_answer($got, $right, 1), $bits, "another answer, in bits: $name");
}
my $mb = 1024;
for my $process ([ 'session 1', 30, 30, 0 ], [ 'session 2', 30, 60, 1 ], [ 'session 3', 60, 30, 0 ],
	[ 'service 4', 100, 200, 1 ], [ 'contexts 5', 4, 8, 1 ], [ 'checkpointer 6', 2, 20, 1 ])
{
	my ($name, $early, $late, $nwrong) = @$process;
	my $run = { seconds => 50, findings => [], tell => sub { }, trimmed => 1, idle => { $name => [
		[ 5, 500 * $mb ], [ 12, $early * $mb ], [ 25, 500 * $mb ], [ 45, $late * $mb ] ] } };

	judge_growth($run);
	is(scalar(@{ $run->{findings} }), $nwrong, "$name: from $early to $late MB");
}
done_testing();
