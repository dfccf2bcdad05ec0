# A statement of each kind, for tests that disturb them: Faults.pm (allocations that fail) and Moments.pm (signals at
# any time).
package StatementKinds;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(kinds_setup $kinds_keep @kinds is_same_answer);

# Returns SQL for tables of so many rows, and states and models of them, in a database of its own.
sub kinds_setup
{
	my ($nrows) = @_;

	return qq{
	CREATE EXTENSION IF NOT EXISTS gpureg;
	CREATE TABLE r AS SELECT i, i % 50 AS firm, sin(i) + i % 7 AS y, sin(i * 1.1) AS x1, cos(i * 1.7) AS x2,
			sin(i * 2.3) + i % 3 AS x3, sin(i * 5) + i % 7 > 3 AS won, (ARRAY['a', 'b', 'c'])[1 + i % 3] AS g,
			1 + i % 4 AS f, (i % 5)::int AS counts, 'word' || i % 30 AS word
		FROM generate_series(1, $nrows) i;
	CREATE TABLE s AS SELECT firm, gpu_ols_stats_agg(y, x1, x2, x3) AS s FROM r GROUP BY firm;
	CREATE TABLE m AS SELECT gpu_ols_fit('SELECT y, x1, x2, g FROM r') AS m,
		gpu_logreg_fit('SELECT won, x1, x2 FROM r') AS l, gpu_logreg_fit('SELECT won, x1, x2, x3 FROM r') AS q,
		gpu_glm_fit('SELECT counts, x1 FROM r', family => 'poisson') AS p;
	VACUUM ANALYZE;
};
}

# Some statements use kept rows.
our $kinds_keep = q{SELECT gpu_keep('kept', 'SELECT y, x1, x2, x3, won, g, firm, i FROM r', true);};

# name, settings, statement
my $workers = 'SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; '
  . 'SET min_parallel_table_scan_size = 0;';
our @kinds = (
	[ 'ols arrays', 'SET gpureg.enable_rewrite = off;',
		'SELECT gpu_ols(array_agg(ARRAY[x1, x2]), array_agg(y)) FROM r' ],
	[ 'ols rewritten', $workers, 'SELECT gpu_ols(array_agg(ARRAY[x1, x2]), array_agg(y)) FROM r' ],
	[ 'ols aggregate', 'SET gpureg.enable_scan = off;', 'SELECT (gpu_ols_agg(y, x1, x2)).coef FROM r' ],
	[ 'ols scan', '', 'SELECT (gpu_ols_agg(y, x1, x2)).coef FROM r' ],
	[ 'ols scan, workers', $workers, 'SELECT (gpu_ols_agg(y, x1, x2)).coef FROM r' ],
	[ 'groups', "SET work_mem = '64kB';",
		'SELECT sum((m).coef[1]) FROM (SELECT gpu_ols_agg(y, x1) AS m FROM r GROUP BY i / 5) q' ],
	[ 'groups, workers', "SET work_mem = '64kB'; $workers",
		'SELECT sum((m).coef[1]) FROM (SELECT gpu_ols_agg(y, x1) AS m FROM r GROUP BY i / 5) q' ],
	[ 'ols query', '', q{SELECT (gpu_ols_fit('SELECT y, x1, x2 FROM r')).coef} ],
	[ 'ols query, workers', $workers, q{SELECT (gpu_ols_fit('SELECT y, x1, x2 FROM r')).coef} ],
	[ 'ols formula', '', q{SELECT (gpu_ols_fit('SELECT y, x1, x2, g, f FROM r', formula => 'y ~ x1 * g + poly(x2, 2)',
		weights => 'f')).coef} ],
	[ 'ols clusters', '',
		q{SELECT (gpu_ols_fit('SELECT y, x1, x2, firm FROM r', vcov => 'CR2', clusters => '{firm}')).vcov} ],
	[ 'ols ring', 'SET gpureg.debug_ring = on;', q{SELECT (gpu_ols_fit('SELECT y, x1, x2 FROM r')).coef} ],
	[ 'ols ring, workers', "SET gpureg.debug_ring = on; $workers",
		q{SELECT (gpu_ols_fit('SELECT y, x1, x2 FROM r')).coef} ],
	[ 'ols sinks', 'SET gpureg.debug_sinks = 3;', q{SELECT (gpu_ols_fit('SELECT y, x1, x2 FROM r')).coef} ],
	[ 'ols service', 'SET gpureg.device = gpu;', q{SELECT (gpu_ols_fit('SELECT y, x1, x2 FROM r')).coef} ],
	[ 'ols service, workers', "SET gpureg.device = gpu; $workers",
		q{SELECT (gpu_ols_fit('SELECT y, x1, x2 FROM r')).coef} ],
	[ 'logistic', '', q{SELECT (gpu_logreg_fit('SELECT won, x1, x2 FROM r')).coef} ],
	[ 'logistic service', 'SET gpureg.device = gpu;', q{SELECT (gpu_logreg_fit('SELECT won, x1, x2 FROM r')).coef} ],
	[ 'logistic ring, workers', "SET gpureg.debug_ring = on; $workers",
		q{SELECT (gpu_logreg_fit('SELECT won, x1, x2 FROM r')).coef} ],
	[ 'logistic sinks', 'SET gpureg.debug_sinks = 3;', q{SELECT (gpu_logreg_fit('SELECT won, x1, x2 FROM r')).coef} ],
	[ 'logistic L-BFGS', '', q{SELECT (gpu_logreg_fit('SELECT won, x1, x2 FROM r', solver => 'lbfgs')).coef} ],
	[ 'logistic Firth', '', q{SELECT (gpu_logreg_fit('SELECT won, x1 FROM r', firth => true)).coef} ],
	[ 'logistic HC3', '', q{SELECT (gpu_logreg_fit('SELECT won, x1, g FROM r', vcov => 'HC3')).vcov} ],
	[ 'logistic aggregate', $workers, 'SELECT (gpu_logreg_agg(won, x1, x2)).coef FROM r' ],
	[ 'poisson', '', q{SELECT (gpu_glm_fit('SELECT counts, x1, x2 FROM r', family => 'poisson')).coef} ],
	[ 'negative binomial', '',
		q{SELECT (gpu_glm_fit('SELECT counts, x1 FROM r', family => 'negative binomial')).coef} ],
	[ 'keep', '', q{SELECT gpu_keep('kept', 'SELECT y, x1, x2, x3, won, g, firm, i FROM r', true)} ],
	[ 'kept ols', '', q{SELECT (gpu_ols_fit(kept => 'kept', formula => 'y ~ x1 * g')).coef} ],
	[ 'kept logistic', '', q{SELECT (gpu_logreg_fit(kept => 'kept', formula => 'won ~ x1', rows => 'x2 > 0')).coef} ],
	[ 'kept clusters', '',
		q{SELECT (gpu_ols_fit(kept => 'kept', formula => 'y ~ x1', vcov => 'CR1', clusters => '{firm}')).vcov} ],
	[ 'kept predictions', '', q{SELECT sum(prediction) FROM m, gpu_predict_rows(m, 'kept')} ],
	[ 'states', '', 'SELECT (gpu_ols_solve(gpu_ols_rollup(s))).coef FROM s' ],
	[ 'states, workers', $workers, 'SELECT (gpu_ols_solve(gpu_ols_rollup(s))).coef FROM s' ],
	[ 'states as texts', '', 'SELECT (gpu_ols_solve(gpu_ols_rollup(s::text::gpu_ols_stats))).coef FROM s' ],
	[ 'state of names', '',
		q{SELECT (gpu_ols_solve(gpu_ols_rollup(gpu_ols_named(s, '{y,a,b,c}')), features => '{a,c}')).coef FROM s} ],
	[ 'clusters of states', '', q{SELECT (gpu_ols_cluster_agg(s, 'CR3')).vcov FROM s} ],
	[ 'clusters of states, spilled', "SET work_mem = '64kB';", q{SELECT (gpu_ols_cluster_agg(s, 'CR1')).vcov FROM
		(SELECT gpu_ols_stats_agg(y, x1, x2, x3) AS s FROM r GROUP BY i / 6) q} ],
	[ 'wild bootstrap', '', q{SELECT gpu_wild_boot_agg(s, 'x1', 99) FROM s} ],
	[ 'elastic net path', '', 'SELECT sum(df) FROM gpu_enet_path((SELECT gpu_ols_rollup(s) FROM s))' ],
	[ 'elastic net folds', '',
		q{SELECT (gpu_enet_cv_agg(s)).lambda_min FROM (SELECT gpu_ols_rollup(s) AS s FROM s GROUP BY firm % 5) q} ],
	[ 'elastic net of a query', '', q{SELECT (gpu_enet_fit('SELECT y, x1, x2, x3 FROM r', folds => 3)).coef} ],
	[ 'logistic elastic net', '',
		q{SELECT (gpu_enet_fit('SELECT won, x1, x2, x3 FROM r', folds => 3, family => 'binomial')).coef} ],
	[ 'selection', '', q{SELECT count(*) FROM gpu_ols_select((SELECT gpu_ols_rollup(s) FROM s), 'bic', 'best')} ],
	[ 'instruments', '',
		q{SELECT (gpu_iv_solve(gpu_ols_rollup(s), endogenous => '{1}', instruments => '{3}')).coef FROM s} ],
	[ 'rolling', '', q{SELECT sum(n) FROM gpu_ols_rolling('SELECT i, y, x1, x2 FROM r ORDER BY i', 50, 10)} ],
	[ 'bootstrap', '', q{SELECT sum(std_error) FROM gpu_ols_boot('SELECT i, y, x1 FROM r', reps => 50, key => 'i')} ],
	[ 'bootstrap, clusters', '', q{SELECT sum(conf_low) FROM gpu_logreg_boot('SELECT firm, won, x1 FROM r', reps => 50,
		clusters => 'firm', kind => 'bca')} ],
	[ 'permutations', '',
		q{SELECT sum(p_value) FROM gpu_ols_permute('SELECT i, y, x1 FROM r', reps => 49, key => 'i')} ],
	[ 'cross-validation', '', q{SELECT sum(mse) FROM gpu_ols_cv('SELECT i, y, x1 FROM r', folds => 4, key => 'i')} ],
	[ 'logistic cross-validation', '',
		q{SELECT sum(deviance) FROM gpu_logreg_cv('SELECT i, won, x1 FROM r', folds => 4, key => 'i')} ],
	[ 'step aggregate', '', q{SELECT gpu_logreg_step_agg('{}', won, x1, x2) FROM r} ],
	[ 'predictions', '', 'SELECT sum(gpu_predict(m, x1, x2, g)) FROM m, r WHERE i < 20' ],
	[ 'intervals', '', q{SELECT gpu_predict_interval(m, 'prediction', 0.9, x1, x2, g) FROM m, r WHERE i < 3} ],
	[ 'tidy', '', 'SELECT gpu_tidy(m), gpu_tidy(l) FROM m' ],
	[ 'summary', '', 'SELECT gpu_summary(m), gpu_summary(l) FROM m' ],
	[ 'margins', '', q{SELECT count(*) FROM m, gpu_margins(m.l, 'SELECT x1, x2 FROM r')} ],
	[ 'comparison', '', 'SELECT count(*) FROM m, gpu_anova(m.l, m.q)' ],
	[ 'projection', '', 'SELECT gpu_project(ARRAY[x1, x2, x3]::real[], 8, 5) FROM r WHERE i < 4' ],
	[ 'projected rows', '',
		q{SELECT count(*) FROM gpu_project_rows('SELECT i::bigint, ARRAY[x1, x2, x3]::real[] FROM r', 4, 5)} ],
	[ 'hashing', '', q{SELECT gpu_feature_hash(ARRAY[word, g], 16) FROM r WHERE i < 4} ]);

# True if texts are equal up to the last digits of numbers: a fault may lead to another way that is also right.
sub is_same_answer
{
	my ($got, $right) = @_;
	my $number = qr/-?\d+(?:\.\d+)?(?:e[-+]\d+)?/;
	my @got = $got =~ /$number/g;
	my @right = $right =~ /$number/g;
	my $largest = 0;

	return 1 if $got eq $right;
	return 0 if ($got =~ s/$number/#/gr) ne ($right =~ s/$number/#/gr);
	$largest = abs($_) > $largest ? abs($_) : $largest for @right;
	return !grep { abs($got[$_] - $right[$_]) > 1e-12 * $largest } 0 .. $#right;
}

1;
