# Each allocation, temporary file, segment, thread and lock of statements of all kinds fails once (Faults.pm): the
# statement must give an error or the right answer, and leave nothing. Needs a library built by make FAULTS=yes, as
# script/test --faults does.
#
# GPUREG_LONG=1 takes more faults of statements that have many.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use Faults;
use GpuregTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Before PostgreSQL 17 a service needs a preloaded library.
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', join "\n", "shared_preload_libraries = 'gpureg'", 'autovacuum = off',
	'max_worker_processes = 16', 'max_parallel_workers = 8', 'gpureg.debug_service = on', 'gpureg.ring_size = 2MB',
	'log_min_error_statement = panic', 'log_min_messages = fatal', '');
$node->start;
if (!can_fault($node->connstr('postgres')))
{
	$node->stop;
	plan skip_all => 'the library is not built with FAULTS=yes';
}
my $pid = postmaster_pid($node);
my ($counts, @findings) = run_faults($node->connstr('postgres'), every => $ENV{GPUREG_LONG} ? 500 : 100, only => '.',
	tell => sub { diag($_[0]) });
is(scalar(@findings), 0, 'errors or right answers')
  or diag(map { "$_\n" } @findings[ 0 .. ($#findings < 9 ? $#findings : 9) ]);
diag($counts);
cmp_ok($counts =~ s/ .*//r, '>', 3000, 'many faults');

$node->safe_psql('postgres', 'CREATE DATABASE served');
($counts, @findings) = run_faults($node->connstr('served'), every => 500, only => '.', tell => sub { diag($_[0]) },
	service => 1);
is(scalar(@findings), 0, 'errors or right answers where the device service has the faults')
  or diag(map { "$_\n" } @findings[ 0 .. ($#findings < 9 ? $#findings : 9) ]);
diag($counts);
cmp_ok($counts =~ s/ .*//r, '>', 150, 'many of them');

unlike(slurp_file($node->logfile), qr/refcount leak|reference leak|was not closed|still referenced|TRAP:|PANIC:/,
	'nothing is left open');
survived($node, $pid, 'all of it');
done_testing();
