# Offsets of models fitted to kept rows, and of predictions for them.
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

sub errors_with
{
	my ($sql, $message, $name) = @_;
	my ($rc, undef, $err) = $node->psql('postgres', $sql);
	ok($rc != 0 && $err =~ $message, $name) or diag($err);
}

$node->safe_psql('postgres', q{
	CREATE EXTENSION gpureg;
	CREATE TABLE t AS SELECT i, (i * 7 % 11)::float8 AS y, (i % 13) / 4.0 AS a, (ARRAY['u', 'v', 'w'])[1 + i % 3] AS g,
		CASE WHEN i % 10 > 0 THEN ln(1 + i % 50) END AS o, 1 + i % 2 AS w FROM generate_series(1, 500) i;
	SELECT gpu_keep('t', 'SELECT * FROM t');
	CREATE TABLE m AS SELECT kind, gpu_glm_fit(kept => 't', family => 'poisson', formula => f, offsets => 'o',
			weights => 'w') AS kept, gpu_glm_fit('SELECT * FROM t', 'poisson', formula => f, offsets => 'o',
			weights => 'w') AS queried
		FROM (VALUES ('number', 'y ~ a'), ('factor', 'y ~ a * g')) v (kind, f);
	SELECT gpu_keep('plain', 'SELECT y, o, a FROM t');
	INSERT INTO m SELECT 'plain', gpu_glm_fit(kept => 'plain', family => 'poisson', offsets => 'o'),
		gpu_glm_fit('SELECT y, o, a FROM t', 'poisson', offsets => 'o');});
is($node->safe_psql('postgres', q{SELECT kind, (kept).design = (queried).design, (kept).design LIKE '2 _ offsets 1 o%'
	FROM m ORDER BY kind}), "factor|t|t\nnumber|t|t\nplain|t|t", 'a fit to kept rows remembers the same roles');
is($node->safe_psql('postgres', q{
	SELECT kind, count(*), count(p.prediction), max(abs(p.prediction / gpu_predict(queried, r) - 1)) < 1e-12
	FROM m, gpu_predict_rows(kept, 't', key => 'i') p, LATERAL (SELECT * FROM t WHERE i = p.id) r
	WHERE kind <> 'plain' GROUP BY kind ORDER BY kind}), "factor|500|450|t\nnumber|500|450|t",
	'predictions for kept rows have the offset of each row, and are NULL where that is');
is($node->safe_psql('postgres', q{
	SELECT max(abs(p.prediction / gpu_predict(queried, a, o) - 1)) < 1e-12
	FROM m, gpu_predict_rows(kept, 't', key => 'i') p JOIN t ON i = id WHERE kind = 'plain'}), 't',
	'likewise of a model without a design');
$node->safe_psql('postgres', q{SELECT gpu_keep('less', 'SELECT y, a, g FROM t');
	SELECT gpu_keep('texts', 'SELECT y, a, g AS o FROM t')});
errors_with(q{SELECT count(*) FROM m, gpu_predict_rows(kept, 'less')}, qr/query has no column "o"/,
	'kept rows without the offset have no predictions');
errors_with(q{SELECT count(*) FROM m, gpu_predict_rows(kept, 'texts') WHERE kind = 'plain'},
	qr/kept column "o" is a category/, 'an offset is a number');
$node->stop;
done_testing();
