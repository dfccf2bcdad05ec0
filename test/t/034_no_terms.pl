# Models whose terms are all aliased, over kept rows, on the CPU or on a GPU (GPUREG_TAP_DEVICE, see GpuregTest.pm):
# results must be those of the query, and the service and the server must survive. test/sql/no_terms.sql has more
# queries.
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
my $place = on_gpu() ? 'gpu' : 'cpu';
$node->append_conf('postgresql.conf', join "\n",
	$node->pg_version < 17 ? "shared_preload_libraries = 'gpureg'" : '', 'max_worker_processes = 16', 'jit = off',
	"gpureg.device = $place", '');
$node->start;
my $postmaster = postmaster_pid($node);
my $query = q{SELECT i, sin(i) y, i % 3 = 0 won, 0 x, 0 z, i % 5 c, 1 + i % 2 w, i * 0.25 v FROM generate_series(1, 60) i};
$node->safe_psql('postgres', "CREATE EXTENSION gpureg; CREATE TABLE t AS $query;
	SELECT gpu_keep('t', 'SELECT * FROM t')");
my $service = $node->safe_psql('postgres', 'SELECT service_pid FROM gpu_devices() WHERE service_pid IS NOT NULL');
like($service, qr/^\d+$/, 'rows are kept in a service');

# Checks that a statement gives one result, or one error, over the kept rows and over the query.
sub same
{
	my ($call, $want, $name) = @_;
	my @got = map { my ($out, $messages) = try_sql($node, sprintf($call, $_)); $out . sqlstate($messages) }
		(q{kept => 't'}, q{query => 'SELECT * FROM t'});

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($got[0], $got[1], "$name: kept rows and their query agree");
	like($got[0], $want, $name);
}

my $nulls = 'count(*) AS n, count(estimate) + count(std_error) + count(bias) + count(conf_low) + count(conf_high)';
for my $formula ('0 + x', '0 + x + z', '0 + x:v + z')
{
	my $n = () = $formula =~ / \+ /g;
	for my $kind (qw(percentile basic normal bca))
	{
		for my $by (q{key => 'i'}, q{clusters => 'c'}, q{key => 'i', weights => 'w'})
		{
			same("SELECT $nulls FROM gpu_ols_boot(%s, reps => 20, formula => 'y ~ $formula', kind => '$kind', $by)",
				qr/^$n\|0none$/, "gpu_ols_boot $formula, $kind, $by");
			same("SELECT $nulls FROM gpu_logreg_boot(%s, reps => 20, formula => 'won ~ $formula', kind => '$kind', $by,
				method => 'newton')", qr/^$n\|0none$/, "gpu_logreg_boot $formula, $kind, $by");
		}
	}
	is($node->safe_psql('postgres', "SELECT $nulls FROM gpu_ols_boot(kept => 't', rows => 'i > 10', reps => 20,
		formula => 'y ~ $formula', key => 'i', kind => 'bca')"), "$n|0", "gpu_ols_boot $formula, some rows");
	same("SELECT count(*), count(estimate) + count(statistic) + count(p_value)
		FROM gpu_ols_permute(%s, reps => 20, key => 'i', formula => 'y ~ $formula')", qr/^$n\|0none$/,
		"gpu_ols_permute $formula");
	same("SELECT count(*), count(estimate)
		FROM gpu_ols_boot_replicates(%s, reps => 20, key => 'i', formula => 'y ~ $formula')",
		qr/^${\($n * 20)}\|0none$/, "gpu_ols_boot_replicates $formula");
	for my $fit (qq{gpu_ols_fit(%s, formula => 'y ~ $formula')},
		qq{gpu_ols_fit(%s, formula => 'y ~ $formula', vcov => 'HC3')},
		qq{gpu_ols_fit(%s, formula => 'y ~ $formula', vcov => 'CR1', clusters => '{c}')},
		qq{gpu_logreg_fit(%s, formula => 'won ~ $formula')},
		qq{gpu_glm_fit(%s, family => 'poisson', formula => 'w ~ $formula')},
		qq{gpu_glm_fit(%s, family => 'gamma', formula => 'w ~ $formula', vcov => 'HC0')})
	{
		same("SELECT (m).rank, array_remove((m).coef, NULL), (m).n FROM (SELECT $fit m) f", qr/^0\|\{\}\|60none$/, $fit);
	}
}
same('SELECT gpu_ols_boot(%s, key => \'i\', formula => \'y ~ 0\')', qr/^22023$/, 'no term at all');
is($node->safe_psql('postgres', 'SELECT service_pid FROM gpu_devices() WHERE service_pid IS NOT NULL'), $service,
	'it is the same service');
survived($node, $postmaster, 'models without terms');
done_testing();
