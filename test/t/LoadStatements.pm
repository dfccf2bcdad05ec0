# The statements of a load: for Load.pm.
package LoadStatements;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(load_setup load_roles load_items);

# Returns SQL for a table of n rows, with states of its groups and models.
sub load_setup
{
	my ($n) = @_;

	return qq{
		CREATE UNLOGGED TABLE t$n AS SELECT i, i % 50 AS firm, i % 20 AS year, sin(i) + i % 7 AS y, sin(i * 1.1) AS x1,
				cos(i * 1.7) AS x2, sin(i * 2.3) + i % 3 AS x3, sin(i * 5) + i % 7 > 3 AS won,
				(ARRAY['a', 'b', 'c'])[1 + i % 3] AS g, 1 + i % 4 AS f, i % 5 AS counts, 'word' || i % 30 AS word
			FROM generate_series(1, $n) i;
		CREATE TABLE s$n AS SELECT firm, gpu_ols_stats_agg(y, x1, x2, x3) AS s FROM t$n GROUP BY firm;
		CREATE TABLE m$n AS SELECT gpu_ols_fit('SELECT y, x1, x2, g FROM t$n') AS m,
			gpu_logreg_fit('SELECT won, x1, x2 FROM t$n') AS l, gpu_logreg_fit('SELECT won, x1, x2, x3 FROM t$n') AS q;
		VACUUM ANALYZE t$n, s$n, m$n;
	};
}

# Returns SQL for three roles that each keep other rows under one name, and for functions that keep them, and fit to
# them, as the role.
sub load_roles
{
	my $script = '';

	for my $k (1 .. 3)
	{
		$script .= qq{
			DROP ROLE IF EXISTS load_role_$k;
			CREATE ROLE load_role_$k;
			GRANT SELECT ON t1000 TO load_role_$k;
			CREATE FUNCTION keep_as_$k() RETURNS bigint LANGUAGE sql VOLATILE SECURITY DEFINER AS
				\$\$SELECT gpu_keep('load_own', 'SELECT $k * y AS y, x1, g FROM t1000', true)\$\$;
			CREATE FUNCTION fit_as_$k() RETURNS gpu_model LANGUAGE sql VOLATILE SECURITY DEFINER AS
				\$\$SELECT gpu_ols_fit(kept => 'load_own', formula => 'y ~ x1 + g')\$\$;
			ALTER FUNCTION keep_as_$k() OWNER TO load_role_$k;
			ALTER FUNCTION fit_as_$k() OWNER TO load_role_$k;
		};
	}
	return $script;
}

# Settings of each way. If rows come in one process and are summed on the CPU, answers have the same bits each time.
my $workers = 'SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; '
  . 'SET min_parallel_table_scan_size = 0;';
my $one = 'SET max_parallel_workers_per_gather = 0;';
my %ways = (
	one => { settings => "$one SET gpureg.device = cpu;", bits => 1 },
	workers => { settings => "SET gpureg.device = cpu; $workers" },
	scanless => { settings => "$one SET gpureg.device = cpu; SET gpureg.enable_scan = off;", bits => 1 },
	arrays => { settings => "$one SET gpureg.device = cpu; SET gpureg.enable_rewrite = off;", bits => 1 },
	spilled => { settings => "$one SET gpureg.device = cpu; SET work_mem = '64kB';", bits => 1 },
	'spilled, workers' => { settings => "SET gpureg.device = cpu; SET work_mem = '64kB'; $workers" },
	ring => { settings => "$one SET gpureg.device = cpu; SET gpureg.debug_ring = on;", bits => 1 },
	'ring, workers' => { settings => "SET gpureg.device = cpu; SET gpureg.debug_ring = on; $workers" },
	sinks => { settings => "$one SET gpureg.device = cpu; SET gpureg.debug_sinks = 3;", bits => 1 },
	auto => { settings => '' },
	device => { settings => "$one SET gpureg.device = gpu;", device => 1 },
	'device, workers' => { settings => "SET gpureg.device = gpu; $workers", device => 1 },
	service => { settings => '', device => 1, service => 1 });

# name, ways, most rows, statements; %n is the number of rows, %k a name of the session's own for kept rows
my $query = q{one workers ring|ring, workers|sinks auto device|device, workers};
my @kinds = (
	[ 'ols arrays', 'arrays workers', 100_000, 'SELECT gpu_ols(array_agg(ARRAY[x1, x2]), array_agg(y)) FROM t%n' ],
	[ 'ols aggregate', 'one scanless workers', 10_000_000, 'SELECT gpu_ols_agg(y, x1, x2) FROM t%n' ],
	[ 'groups', 'one scanless spilled|spilled, workers', 100_000, 'SELECT sum((m).coef[1]::numeric) FROM '
		. '(SELECT gpu_ols_agg(y, x1) AS m FROM t%n GROUP BY i / 5) q' ],
	[ 'groups of few', 'one workers', 1_000_000,
		'SELECT firm, gpu_ols_agg(y, x1, x2) FROM t%n GROUP BY firm ORDER BY 1' ],
	[ 'ols', $query, 10_000_000, q{SELECT gpu_ols_fit('SELECT y, x1, x2, x3 FROM t%n')} ],
	[ 'ols formula', 'one workers device', 1_000_000, q{SELECT gpu_ols_fit('SELECT y, x1, x2, g, f FROM t%n',
		formula => 'y ~ x1 * g + poly(x2, 2)', weights => 'f')} ],
	[ 'ols clusters', 'one workers device', 1_000_000,
		q{SELECT gpu_ols_fit('SELECT y, x1, x2, firm FROM t%n', vcov => 'CR2', clusters => '{firm}')} ],
	[ 'logistic', $query, 10_000_000, q{SELECT gpu_logreg_fit('SELECT won, x1, x2 FROM t%n')} ],
	[ 'logistic arrays', 'arrays device', 10_000,
		'SELECT gpu_logreg(array_agg(ARRAY[x1, x2]), array_agg(won)) FROM t%n' ],
	[ 'logistic aggregate', 'one workers', 100_000, 'SELECT gpu_logreg_agg(won, x1, x2) FROM t%n' ],
	[ 'logistic L-BFGS', 'one device', 100_000,
		q{SELECT gpu_logreg_fit('SELECT won, x1, x2 FROM t%n', solver => 'lbfgs')} ],
	[ 'logistic Firth', 'one device', 100_000, q{SELECT gpu_logreg_fit('SELECT won, x1 FROM t%n', firth => true)} ],
	[ 'logistic HC3', 'one device', 1_000_000,
		q{SELECT gpu_logreg_fit('SELECT won, x1, g FROM t%n', vcov => 'HC3')} ],
	[ 'poisson', $query, 1_000_000, q{SELECT gpu_glm_fit('SELECT counts, x1, x2 FROM t%n', family => 'poisson')} ],
	[ 'negative binomial', 'one device', 10_000,
		q{SELECT gpu_glm_fit('SELECT counts, x1 FROM t%n', family => 'negative binomial')} ],
	[ 'states', 'one workers', 10_000_000, 'SELECT gpu_ols_solve(gpu_ols_rollup(s)) FROM s%n' ],
	[ 'states as texts', 'one', 10_000, 'SELECT gpu_ols_solve(gpu_ols_rollup(s::text::gpu_ols_stats)) FROM s%n' ],
	[ 'states of groups', 'one workers', 1_000_000, 'SELECT gpu_ols_solve(gpu_ols_rollup(s)) FROM '
		. '(SELECT gpu_ols_stats_agg(y, x1) AS s FROM t%n GROUP BY year) q' ],
	[ 'clusters of states', 'one', 10_000, q{SELECT gpu_ols_cluster_agg(s, 'CR3') FROM s%n} ],
	[ 'clusters, spilled', 'spilled', 100_000, q{SELECT gpu_ols_cluster_agg(s, 'CR1') FROM
		(SELECT gpu_ols_stats_agg(y, x1, x2) AS s FROM t%n GROUP BY i / 6) q} ],
	[ 'wild bootstrap', 'one', 10_000, q{SELECT gpu_wild_boot_agg(s, 'x1', 99) FROM s%n} ],
	[ 'elastic net path', 'one', 10_000, 'SELECT * FROM gpu_enet_path((SELECT gpu_ols_rollup(s) FROM s%n)) LIMIT 40' ],
	[ 'elastic net folds', 'one', 10_000, 'SELECT (gpu_enet_cv_agg(s)).lambda_min FROM '
		. '(SELECT gpu_ols_rollup(s) AS s FROM s%n GROUP BY firm % 5) q' ],
	[ 'elastic net', 'one', 100_000, q{SELECT gpu_enet_fit('SELECT y, x1, x2, x3 FROM t%n', folds => 3)} ],
	[ 'logistic elastic net', 'one device', 10_000,
		q{SELECT gpu_enet_fit('SELECT won, x1, x2, x3 FROM t%n', folds => 3, family => 'binomial')} ],
	[ 'selection', 'one', 10_000,
		q{SELECT * FROM gpu_ols_select((SELECT gpu_ols_rollup(s) FROM s%n), 'bic', 'best')} ],
	[ 'instruments', 'one', 10_000,
		q{SELECT gpu_iv_solve(gpu_ols_rollup(s), endogenous => '{1}', instruments => '{3}') FROM s%n} ],
	[ 'rolling', 'one', 10_000,
		q{SELECT sum(n) FROM gpu_ols_rolling('SELECT i, y, x1, x2 FROM t%n ORDER BY i', 50, 10)} ],
	[ 'bootstrap', 'one device', 100_000,
		q{SELECT * FROM gpu_ols_boot('SELECT i, y, x1 FROM t%n', reps => 50, key => 'i')} ],
	[ 'bootstrap, clusters', 'one device', 10_000, q{SELECT * FROM gpu_logreg_boot('SELECT firm, won, x1 FROM t%n',
		reps => 20, clusters => 'firm', kind => 'bca')} ],
	[ 'permutations', 'one', 10_000,
		q{SELECT * FROM gpu_ols_permute('SELECT i, y, x1 FROM t%n', reps => 49, key => 'i')} ],
	[ 'cross-validation', 'one device', 100_000,
		q{SELECT * FROM gpu_ols_cv('SELECT i, y, x1 FROM t%n', folds => 4, key => 'i')} ],
	[ 'logistic cross-validation', 'one device', 10_000,
		q{SELECT * FROM gpu_logreg_cv('SELECT i, won, x1 FROM t%n', folds => 4, key => 'i')} ],
	[ 'step', 'one', 100_000, q{SELECT gpu_logreg_step_agg('{}', won, x1, x2) FROM t%n} ],
	[ 'predictions', 'one workers', 100_000,
		'SELECT count(*), sum(gpu_predict(m, x1, x2, g)::numeric) FROM m%n, t%n' ],
	[ 'after a fit', 'one', 10_000, 'SELECT gpu_tidy(m), gpu_tidy(l) FROM m%n; '
		. 'SELECT gpu_summary(m), gpu_summary(l) FROM m%n; SELECT * FROM m%n, gpu_anova(m%n.l, m%n.q); '
		. q{SELECT gpu_predict_interval(m, 'prediction', 0.9, x1, x2, g) FROM m%n, t%n WHERE i < 30} ],
	[ 'margins', 'one', 10_000, q{SELECT c.* FROM m%n, gpu_margins(m%n.l, 'SELECT x1, x2 FROM t%n') c} ],
	[ 'projection', 'one', 10_000, 'SELECT sum((gpu_project(ARRAY[x1, x2, x3]::real[], 8, 5))[3]::numeric) FROM t%n' ],
	[ 'projected rows', 'one device', 100_000, 'SELECT count(*), sum(p[2]::numeric) FROM gpu_project_rows('
		. q{'SELECT i::bigint, ARRAY[x1, x2, x3]::real[] FROM t%n', 4, 5) AS r (id, p)} ],
	[ 'hashing', 'one', 10_000, 'SELECT count(gpu_feature_hash(ARRAY[word, g], 16)) FROM t%n' ],
	[ 'kept rows', 'service', 10_000_000, q{
		SELECT gpu_keep('%k', 'SELECT y, x1, x2, x3, won, g, firm, i FROM t%n', true);
		SELECT gpu_ols_fit(kept => '%k', formula => 'y ~ x1 * g');
		SELECT gpu_logreg_fit(kept => '%k', formula => 'won ~ x1', rows => 'x2 > 0');
		SELECT count(*), sum(prediction) FROM m%n, gpu_predict_rows(m, '%k', rows => 'i < 1000');
		SELECT gpu_ols_fit(kept => '%k', formula => 'y ~ x1', vcov => 'CR1', clusters => '{firm}');
		SELECT gpu_forget('%k')} ],
	[ 'rows kept for all', 'service', 1000, q{SELECT gpu_ols_fit(kept => 'load_all', formula => 'y ~ x1 + g');
		SELECT gpu_logreg_fit(kept => 'load_all', formula => 'won ~ x1')} ],
	[ 'kept again', 'service', 1000,
		q{SELECT gpu_keep('load_all', 'SELECT y, x1, x2, won, g FROM t1000', true)}, '55006' ],
	[ 'rows of three roles', 'service', 1000, q{SELECT fit_as_1(); SELECT fit_as_2(); SELECT fit_as_3();
		SELECT gpu_ols_fit(kept => 'load_role_2.load_own', formula => 'y ~ x1')} ],
	[ 'kept again by a role', 'service', 1000, 'SELECT keep_as_1(); SELECT keep_as_3()', '55006' ],
	[ 'fails: rows of another role', 'service', 100, q{SELECT gpu_ols_fit(kept => 'load_own')} ],
	[ 'fails: NaN', 'one workers device|device, workers', 1_000_000,
		q{SELECT gpu_ols_fit('SELECT y, CASE WHEN i % 50 = 49 THEN ''NaN'' ELSE x1 END AS x1 FROM t%n')} ],
	[ 'fails: division by zero', 'one|ring, workers|device, workers', 1_000_000,
		q{SELECT gpu_logreg_fit('SELECT won, 1 / (i - %n + 9) AS x1 FROM t%n')} ],
	[ 'fails: no rows', 'one device', 10_000, q{SELECT gpu_ols_fit('SELECT y, x1 FROM t%n WHERE i < 0')} ],
	[ 'fails: nothing kept', 'service', 100, q{SELECT gpu_ols_fit(kept => 'load_none')} ]);

# Returns each kind in each of its ways over each table that isn't too large. has: whether there is a device, and a
# service.
sub load_items
{
	my ($has, @sizes) = @_;
	my @items;

	for my $kind (@kinds)
	{
		my ($name, $ways, $most, $text, @else) = @$kind;
		# ways of two words are separated by bars
		for my $way (map { /,/ ? $_ : split } split /\|/, $ways)
		{
			my ($w, @n) = ($ways{$way} // die($way), grep { $_ <= $most } @sizes);

			next if $w->{device} && !$has->{device} || $w->{service} && !$has->{service};
			# kinds of a fixed size occur once
			@n = ($n[-1]) if $text !~ /%n/;
			my $bits = $w->{bits} && $name =~ /ols|groups|states|clusters|instruments|project|hash/ ? 1 : 0;
			push @items, { name => $name, way => $way, n => $_, settings => $w->{settings}, else => "@else",
				text => $text =~ s/%n/$_/gr, bits => $bits } for @n;
		}
	}
	return @items;
}

1;
