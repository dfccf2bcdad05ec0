# Models of classes over kept rows: the coefficients that the same rows of a query give, for classes of each type.
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
# before PostgreSQL 17 a service needs a preloaded library
$node->append_conf('postgresql.conf', join "\n",
	$node->pg_version < 17 ? "shared_preload_libraries = 'gpureg'" : '', 'jit = off',
	'gpureg.device = ' . (on_gpu() ? 'gpu' : 'cpu'), '');
$node->start;
$node->safe_psql('postgres', q{CREATE EXTENSION gpureg;
	CREATE TYPE size AS ENUM ('small', 'medium', 'large');
	CREATE TABLE t AS SELECT i, (ARRAY['small', 'large', 'medium'])[1 + (i * 31 % 17 + i % 5) % 3]::size AS s,
		(ARRAY['b', 'a', 'c'])[1 + (i * 29 % 19 + i % 3) % 3] AS y, (i * 7 % 11 + i % 4) % 4 - 1 AS k,
		(i * 13 % 7 > 3) AS b, (i * 104729 % 997) / 99.0 AS x1, sin(i) AS x2, (ARRAY['u', 'v'])[1 + i % 2] AS f,
		1 + i % 3 AS n FROM generate_series(1, 2000) i;
	UPDATE t SET x1 = NULL WHERE i % 100 = 0;
	SELECT gpu_keep('t', 'SELECT s, y, k, b, x1, x2, f, n FROM t')});

for my $class ('s', 'y', 'k', 'b')
{
	for my $rows ('', 'x2 > 0')
	{
		my $where = $rows eq '' ? '' : "WHERE $rows";
		my $filter = $rows eq '' ? 'NULL' : "'$rows'";

		for my $fit ("gpu_multinom_fit(%s, formula => '$class ~ x1 * f + x2', weights => 'n')",
			"gpu_ordinal_fit(%s, formula => '$class ~ x1 + f', frequencies => 'n')")
		{
			my $kept = sprintf $fit, "kept => 't', rows => $filter";
			my $query = sprintf $fit, "'SELECT $class, x1, x2, f, n FROM t $where'";

			is($node->safe_psql('postgres', "SELECT (a).terms = (b).terms, (a).n = (b).n, (a).n_skipped = (b).n_skipped,
				(SELECT max(abs(u / v - 1)) < 1e-9 FROM unnest((a).coef, (b).coef) w (u, v)),
				(SELECT max(abs(u / v - 1)) < 1e-9 FROM unnest((a).vcov, (b).vcov) w (u, v)),
				gpu_classes(a) = gpu_classes(b) FROM (SELECT $kept AS a, $query AS b) s"), 't|t|t|t|t|t',
				"$class, $rows: $fit");
		}
	}
}
is($node->safe_psql('postgres', q{SELECT gpu_classes(gpu_multinom_fit(kept => 't', formula => 'k ~ x1', base => '2',
	rows => 'k > -1'))}), '{2,0,1}', 'a filter leaves a class out');

sub fails
{
	my ($sql, $like, $name) = @_;
	my (undef, undef, $stderr) = $node->psql('postgres', $sql);

	like($stderr, $like, $name);
}
fails(q{SELECT gpu_multinom_fit(kept => 't', formula => 'x1 ~ x2')}, qr/response "x1" cannot have type/, 'a number');
fails(q{SELECT gpu_multinom_fit(kept => 't', formula => 'y ~ x2', base => 'd')}, qr/no row has the base class "d"/,
	'a base that is no class');
fails(q{SELECT gpu_multinom_fit(kept => 't', formula => 'y ~ x2', vcov => 'CR1', clusters => '{k}')},
	qr/over kept rows cannot be clustered/, 'clusters');
fails(q{SELECT gpu_multinom_fit(kept => 't', formula => 'y ~ x2', rows => 'x2 > 2')}, qr/no kept row is left to use/,
	'no row');
fails(q{SELECT gpu_multinom_fit(kept => 't', formula => 'k ~ x2', rows => 'x2 > 2')}, qr/no kept row is left to use/,
	'no row of numbers');
$node->stop;
done_testing();
