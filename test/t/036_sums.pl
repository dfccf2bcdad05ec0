# The sums of requests, by group and not, in each way in which rows travel: in memory, in a file, by a scan, in workers
# of a query that is run again, through a ring, in a service, and kept. GPUREG_SUMS names further kinds of sums.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use GpuregTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', join "\n", 'shared_buffers = 32MB', 'max_worker_processes = 16',
	'max_parallel_workers = 4', 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'jit = off',
	# before PostgreSQL 17 a service takes a preloaded library
	$node->pg_version < 17 ? "shared_preload_libraries = 'gpureg'" : '', '');
$node->start;

# Values are sixteenths, so that sums of their products are exact and do not depend on the order of rows.
$node->safe_psql('postgres', q{
	CREATE EXTENSION gpureg;
	CREATE FUNCTION gpu_debug_sums(kind text, query text, kept text, groups text, ngroups int, numbers float8[])
		RETURNS float8[] LANGUAGE c AS '$libdir/gpureg', 'gr_debug_sums';
	ALTER EXTENSION gpureg ADD FUNCTION gpu_debug_sums;
	CREATE TABLE t AS SELECT ((i * 37) % 101) / 16.0::float8 AS y, ((i * 61) % 97) / 16.0::float8 AS a,
		((i * 7) % 89) / 16.0::float8 AS b, (i * 13 + i / 7) % 6 AS g FROM generate_series(1, 100000) i;
	ANALYZE;
});
my $kept_on = on_gpu() ? 'gpu' : 'cpu';
$node->safe_psql('postgres', "SET gpureg.device = $kept_on; SELECT gpu_keep('k', 'SELECT y, a, b, g FROM t')");

my $here = 'SET max_parallel_workers_per_gather = 0; SET gpureg.enable_scan = off; SET gpureg.device = cpu;';
# without the leader, workers have all rows, however late they start
my $workers = 'SET max_parallel_workers_per_gather = 2; SET min_parallel_table_scan_size = 0;
	SET parallel_leader_participation = off; SET gpureg.device = cpu;';
my $service = service_settings() . 'SET gpureg.device = gpu;';
my $again = q{SET gpureg.ring_size = '1MB';};
my $query = q{'SELECT y, a, b, g FROM t', NULL};

# Each way: the settings, the rows, and what gpu_last_run() says of a run by group
my @ways = (
	[ 'memory', $here, $query, qr/^cpu\|0\|gpureg\.device is cpu$/ ],
	[ 'a file', "$here $again", $query, qr/^cpu\|0\|.*temporary file/ ],
	[ 'a scan', "$here $again SET gpureg.enable_scan = on;", $query, qr/^cpu\|0\|.*the query was run 1 times$/ ],
	[ 'workers', "$workers $again SET gpureg.enable_scan = off;", $query,
		qr/^cpu\|[12]\|.*the query was run 1 times$/ ],
	[ 'a scan in workers', "$workers $again", $query, qr/^cpu\|[12]\|.*the query was run 1 times$/ ],
	[ 'the ring', "$workers SET gpureg.debug_ring = on;", $query, qr/^cpu\|[12]\|gpureg.debug_ring is on$/ ],
	[ 'the service', $service, $query, qr/^$service_device\|/ ],
	[ 'kept rows', "SET gpureg.device = $kept_on;", q{NULL, 'k'},
		qr/^$kept_on.*, device service\|0\|the rows are kept/ ]);

my @kinds = (qw(EXACT GRADIENT SCORES), split ' ', $ENV{GPUREG_SUMS} // '');

for my $kind (@kinds)
{
	my %first;

	for my $way (@ways)
	{
		my ($through, $settings, $rows, $reported) = @$way;

		# with 5, the rows of a group are left out
		for my $ngroups (0, 5, 6)
		{
			# a GPU makes no sums by group, and none of SCORES
			next if on_gpu() && $reported =~ /service/ && ($ngroups > 0 || $kind eq 'SCORES');
			my $what = "$kind, $ngroups groups, through $through";
			my ($out, $err) = try_sql($node, qq{$settings
				SELECT md5(s::text) || '|' || array_length(s, 1)
					FROM gpu_debug_sums('$kind', $rows, 'g', $ngroups, '{}') AS s;
				SELECT device, workers, reason FROM gpu_last_run();});
			my ($sums, $run) = split /\n/, $out;

			$first{$ngroups} //= $sums;
			is($sums, $first{$ngroups}, "$what: the same") or diag($err);
			like($run, $reported, "$what: as reported");
		}
	}
}

# The first sum of a pass is the number of its rows.
my $exact = "gpu_debug_sums('EXACT', 'SELECT y, a, g FROM t', NULL, 'g', 6, '{}') AS s";
is(join('|', try_sql($node, "SELECT count(*) FILTER (WHERE s[1 + array_length(s, 1) / 6 * g] = n) FROM $exact,
	(SELECT g, count(*) AS n FROM t GROUP BY g) AS t")), '6|', 'the rows of each group');
done_testing();
