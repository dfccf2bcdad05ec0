# "." in formulas of fits to kept rows: the fits of test/sql/dot.sql, which has those to queries.
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

my ($shared) = slurp_file("$FindBin::RealBin/../sql/dot.sql") =~ /^(.*)^-- END of what 034_dot\.pl shares/ms;
$node->safe_psql('postgres', "CREATE EXTENSION gpureg; $shared");
is($node->safe_psql('postgres', 'SELECT * FROM dot_differences(true)'), '', 'the same terms of any order of columns');
is($node->safe_psql('postgres', q{SELECT * FROM dot_differences(true, '.^2 - g:a', 'a + b + g + a:b + g:b',
	'{1,2,5,9}')}), '', 'likewise with products');
$node->safe_psql('postgres', q{SELECT gpu_keep('dot', 'SELECT k, w, a, b, y FROM dot_rows', true)});
is($node->safe_psql('postgres', q{SELECT (gpu_ols_fit(kept => 'dot', formula => 'y ~ .')).terms,
	(gpu_ols_fit(kept => 'dot', formula => 'b ~ . - y', weights => 'w')).terms,
	(gpu_ols_fit(kept => 'dot', weights => 'k')).terms}), '{(intercept),k,w,a,b}|{(intercept),k,a}|{(intercept),a,b,y}',
	'terms in the order of the columns');
$node->stop;
done_testing();
