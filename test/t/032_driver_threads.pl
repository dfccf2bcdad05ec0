# A GPU's driver starts threads in any process that calls it. If such a thread received a signal, the server's handlers
# would run beside the session's own thread, and each would lose the other's changes; so all signals must be blocked in
# it. The driver here is a stand-in (test/modules/driver.c) that reports itself as too old.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use GpuregTest;
use LoadMonitor;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'threads are read from /proc' unless -r '/proc/self/task';

my $directory = PostgreSQL::Test::Utils::tempdir;
my $why_not = build_library('driver', "$directory/libcuda.so.1", '-Wextra', '-pthread', '-Wl,-z,nodelete');
plan skip_all => $why_not if defined $why_not;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
{
	local $ENV{LD_LIBRARY_PATH} = join ':', $directory, grep { defined } $ENV{LD_LIBRARY_PATH};
	$node->start;
}
$node->safe_psql('postgres', 'CREATE EXTENSION gpureg');

my @ways = (
	[ 'a fit', q{SELECT gpu_ols_fit('SELECT sin(i), cos(i) FROM generate_series(1, 100) i')} ],
	[ 'the list of devices', 'SELECT count(*) FROM gpu_devices()' ]);
for my $where ('gpu', 'all', 'auto')
{
	for my $way (@ways)
	{
		my ($name, $query) = @$way;
		my $psql = open_psql($node, 'asking');
		my ($pid) = psql_says($psql, 'SELECT pg_backend_pid();');
		my $settings = 'SET gpureg.device = ' . ($where eq 'all' ? 'gpu; SET gpureg.gpu_id = -2' : $where);
		my ($out, $err) = psql_says($psql, "$settings; SET gpureg.min_gpu_work = 0; $query;");
		my @threads;

		chomp $pid;
		if ($err =~ /built without CUDA/)
		{
			close_psql($psql);
			note('there is no driver to ask: gpureg was built without CUDA');
			done_testing();
			exit;
		}
		like($err, qr/driver/, "$where, $name: the driver is of no use") if $where ne 'auto' && $name eq 'a fit';
		@threads = grep { !m{/$pid$} } glob "/proc/$pid/task/*";
		is(scalar @threads, 1, "$where, $name: the driver has a thread");
		is(join(' ', open_threads($pid)), '', "$where, $name: no signal comes there");
		close_psql($psql);
	}
}
$node->stop;

done_testing();
