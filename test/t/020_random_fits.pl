# Random problems, each fitted in some thirty ways (RandomFits.pm), whose errors, counts and digits must agree.
#
# GPUREG_SEED repeats a run, GPUREG_PROBLEMS is their number, and GPUREG_LONG=1 makes 20,000; script/random-fits does
# the same against a running server.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use GpuregTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RandomFits;
use RandomFitsRun;
use Test::More;

my $seed = $ENV{GPUREG_SEED} // time % 1_000_000;
my $nproblems = $ENV{GPUREG_PROBLEMS} // ($ENV{GPUREG_LONG} && !$ENV{GPUREG_SANITIZE} ? 20_000 : 60);

diag("GPUREG_SEED=$seed, $nproblems problems");

# Before PostgreSQL 17 a service needs a preloaded library.
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', join "\n", "shared_preload_libraries = 'gpureg'", 'autovacuum = off',
	'max_worker_processes = 16', 'max_parallel_workers = 8', service_conf(), 'gpureg.ring_size = 2MB', '');
$node->start;
my $pid = postmaster_pid($node);

my $run = fits_run(connstr => $node->connstr('postgres'), seed => $seed);
fits_make($run);
my @findings = run_problems($run, 1 .. $nproblems);
is(scalar(@findings), 0, 'all ways agree') or diag(map { "$_\n" } @findings[ 0 .. ($#findings < 9 ? $#findings : 9) ]);
diag(fits_summary($run));
is($run->{problems}, $nproblems, 'all problems come to their ends');
cmp_ok($run->{errors}, '<', 0.6 * $nproblems, 'most problems have a fit');
@findings = run_effects($run, 1 .. $nproblems);
is(scalar(@findings), 0, 'absorbed effects agree with dummies')
  or diag(map { "$_\n" } @findings[ 0 .. ($#findings < 9 ? $#findings : 9) ]);
survived($node, $pid, 'all of it');

# The test must notice a disagreement: an answer of a problem with a fit is changed.
my $number = 1;
$number++ while draw_problem(1, $number)->{family} ne 'ols';
my $problem = draw_problem(1, $number);
my $script = problem_script($problem);
my $k = (grep { $problem->{ways}[$_][0] eq 'query: ring' } 0 .. $#{ $problem->{ways} })[0];
my $text = '12,0,2,10,t,2|1.5,-2e-05|0.25,0.001|3.25,4';
for my $change ([ 'the same', sub { }, 0 ], [ 'a count', sub { $_[0]{text} =~ s/^12/13/ }, 1 ],
	[ 'a last digit', sub { $_[0]{text} =~ s/1\.5/1.5000000000000002/ }, 0 ],
	[ 'the eleventh digit', sub { $_[0]{text} =~ s/1\.5/1.50000000002/ }, 1 ],
	[ 'a sign', sub { $_[0]{text} =~ s/-2e/2e/ }, 1 ], [ 'a NULL', sub { $_[0]{text} =~ s/0\.001/NULL/ }, 1 ],
	[ 'a deviance', sub { $_[0]{text} =~ s/3\.25/3.26/ }, 1 ], [ 'an error', sub { $_[0]{state} = '22023' }, 1 ])
{
	my ($name, $how, $nwrong) = @$change;
	my @answers = map { { state => '00000', text => $text } } @{ $problem->{ways} };

	$how->($answers[$k]);
	is(scalar(disagreements($problem, \@answers, \my $largest)), $nwrong, "another answer: $name");
}
ok(!defined read_answers("\@begin 0\n"), 'an output that ends early has no answers');
done_testing();
