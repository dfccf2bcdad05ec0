# Coefficients must be the same however PostgreSQL splits the work. GPUREG_LONG=1 takes more rows.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use GpuregTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# uses the executor's aggregates by default; 015_scan.pl tests the custom scan further
my $node = start_node('main', 'max_worker_processes = 12', 'max_parallel_workers = 8', 'gpureg.enable_scan = off');

# one row in a thousand has a NULL
my $nrows = $ENV{GPUREG_LONG} ? 300_000 : 120_000;
my ($nskipped, $nread) = ($nrows / 1000, $nrows / 1000 * 999);

$node->safe_psql('postgres', q{
	CREATE TABLE t (g int, y float8, x1 float8, x2 float8);
	INSERT INTO t SELECT i % 10, 3 + sin(i) * 5 + i % 7 + cos(i * 1.7), sin(i),
		CASE WHEN i % 1000 > 0 THEN 1000 + i % 7 END
		FROM generate_series(1, } . $nrows . q{) i;
	CREATE TABLE p (LIKE t) PARTITION BY LIST (g);
	CREATE TABLE p1 PARTITION OF p FOR VALUES IN (0, 1, 2);
	CREATE TABLE p2 PARTITION OF p FOR VALUES IN (3, 4, 5, 6);
	CREATE TABLE p3 PARTITION OF p DEFAULT;
	INSERT INTO p SELECT * FROM t;
	CREATE TABLE states AS SELECT g, x2, gpu_ols_stats_agg(y, x1, x2) AS s FROM t GROUP BY g, x2 HAVING x2 IS NOT NULL;
	INSERT INTO states SELECT s.* FROM states s, generate_series(1, 19);
	ANALYZE;});

# Settings that make parallel plans for tables of any size
my $cheap = 'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;';
my $explain = 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)';

sub fits_of
{
	my ($table) = @_;
	return ("SELECT coef, n, n_skipped FROM (SELECT (gpu_ols_agg(y, x1, x2)).* FROM $table) m",
		"SELECT g, coef, n, n_skipped
			FROM (SELECT g, (m).* FROM (SELECT g, gpu_ols_agg(y, x1, x2) AS m FROM $table GROUP BY g) a) b
			ORDER BY g");
}

# Checks that counts are equal, and coefficients within a few units in the last place. @errors: standard errors, for
# coefficients that are small against them.
sub same_fits
{
	my ($got, $want, $name, $tolerance, @errors) = @_;
	my ($got_counts, $want_counts) = map { join ' ', map { s/\{.*\}|\|\d+\.\d*(?:e-?\d+)?$//gr } split /\n/ } $got,
		$want;

	is($got_counts, $want_counts, "$name: counts");
	cmp_ok(relative_difference($got, $want, @errors), '<=', $tolerance // 1e-15, "$name: coefficients");
}

my ($total, $grouped) = fits_of('t');
my $serial = 'SET max_parallel_workers_per_gather = 0;';
my $want_total = $node->safe_psql('postgres', "$serial $total");
my $want_grouped = $node->safe_psql('postgres', "$serial $grouped");
like($want_total, qr/\|$nread\|$nskipped$/, 'rows and skipped rows');

for my $way (map { my $scan = $_; map { [ $scan, $_ ] } 0, 1, 2, 4 } 'off', 'on')
{
	my ($scan, $workers) = @$way;
	my $set = "$cheap SET gpureg.enable_scan = $scan; SET max_parallel_workers_per_gather = $workers;";
	my $plan = $node->safe_psql('postgres', "$set $explain $total");
	my $name = "$workers workers, scan $scan";

	if ($workers > 0)
	{
		my $partial = $scan eq 'on' ? qr/Custom Scan/ : qr/Partial Aggregate/;

		like($plan, qr/Finalize Aggregate.*Workers Launched: [1-9].*$partial/s, "$name: partial aggregates");
	}
	else
	{
		unlike($plan, qr/Partial|Workers/, "$name: in one process");
		is($plan =~ /Custom Scan/ ? 'on' : 'off', $scan, "$name: plain aggregate, or a scan");
	}
	same_fits($node->safe_psql('postgres', "$set $total"), $want_total, "$name, no groups");
	for my $off ('hashagg', 'sort')
	{
		my $how = $off eq 'sort' ? 'hash' : 'sort';
		my $with = "$set SET enable_$off = off; SET enable_incremental_sort = off;";
		my $node_name = $how eq 'hash' ? 'HashAggregate' : 'GroupAggregate';
		my $executors = $workers > 0 ? qr/Partial $node_name/ : qr/$node_name/;
		my $partial = $scan eq 'on' ? qr/Custom Scan/ : $executors;
		my $pattern = $workers > 0 ? qr/Workers Launched: [1-9].*$partial/s : $partial;

		# without a hash table for partial aggregates, one process that has its groups whole may be as good
		$pattern = qr/$partial|$executors/ if $scan eq 'on' && $how eq 'sort';
		$plan = $node->safe_psql('postgres', "$with $explain $grouped");
		like($plan, $pattern, "$name, $how: plan");
		same_fits($node->safe_psql('postgres', "$with $grouped"), $want_grouped, "$name, grouped by $how");
	}
}

# Stored states must merge in workers, too.
my $rollup = 'SELECT coef, n, n_skipped FROM (SELECT (gpu_ols_solve(gpu_ols_rollup(s))).* FROM states) m';
my $two = "$cheap SET max_parallel_workers_per_gather = 2;";
like($node->safe_psql('postgres', "$two $explain $rollup"), qr/Workers Launched: [1-9].*Partial Aggregate/s,
	'rollup: plan');
same_fits($node->safe_psql('postgres', "$two $rollup"), $node->safe_psql('postgres', "$serial $rollup"), 'rollup');
cmp_ok(relative_difference($node->safe_psql('postgres', "$two SELECT coef FROM ($rollup) r"),
	$node->safe_psql('postgres', "$serial SELECT coef FROM ($total) r")), '<=', 1e-15,
		'rollup of copies: the same coefficients');

# Partitions, each aggregated alone
($total, $grouped) = fits_of('p');
for my $workers (0, 2)
{
	my $set = "$cheap SET max_parallel_workers_per_gather = $workers; SET enable_partitionwise_aggregate = on;";
	my $plan = $node->safe_psql('postgres', "$set $explain $total");

	like($plan, qr/Append.*Partial Aggregate.*Partial Aggregate.*Partial Aggregate/s,
		"$workers workers: partial aggregates below Append")
	  or diag($plan);
	same_fits($node->safe_psql('postgres', "$set $total"), $want_total, "$workers workers, partitions");
	$plan = $node->safe_psql('postgres', "$set $explain $grouped");
	like($plan, qr/Append.*Aggregate.*Aggregate.*Aggregate/s, "$workers workers: grouped below Append") or diag($plan);
	same_fits($node->safe_psql('postgres', "$set $grouped"), $want_grouped, "$workers workers, grouped partitions");
}

# Logistic regression: a step at some beta, ungrouped, grouped, and merged from stored steps
my $step = "SELECT coef, n, n_skipped, deviance
	FROM (SELECT (gpu_logreg_solve(gpu_logreg_step_agg('{0.5,-1,0.001}', y > 6, x1, x2))).* FROM t) m";
my $step_grouped = "SELECT g, coef, n, n_skipped FROM (SELECT g, (gpu_logreg_solve(s)).* FROM
	(SELECT g, gpu_logreg_step_agg('{}', (y > 6)::int, x1, x2) AS s FROM t GROUP BY g) a) b ORDER BY g";
my $step_rollup = 'SELECT coef, n, n_skipped FROM (SELECT (gpu_logreg_solve(gpu_logreg_rollup(s))).*
	FROM logreg_states) m';
$node->safe_psql('postgres', q{
	CREATE TABLE logreg_states AS SELECT gpu_logreg_step_agg('{}', y > 6, x1, x2) AS s FROM t GROUP BY g, x2
		HAVING x2 IS NOT NULL;
	INSERT INTO logreg_states SELECT s.* FROM logreg_states s, generate_series(1, 19);
	ANALYZE;});
for my $workers (1, 2, 4)
{
	my $set = "$cheap SET max_parallel_workers_per_gather = $workers;";

	for my $case ([ 'a step', $step ], [ 'steps in groups', $step_grouped ], [ 'a rollup of steps', $step_rollup ])
	{
		my ($name, $sql) = @$case;

		like($node->safe_psql('postgres', "$set $explain $sql"), qr/Workers Launched: [1-9].*Partial/s,
			"$workers workers, $name: plan");
		same_fits($node->safe_psql('postgres', "$set $sql"), $node->safe_psql('postgres', "$serial $sql"),
			"$workers workers, $name", 1e-14);
	}
}

# gpu_logreg_fit: rows that don't fit are read again for each pass if workers or a scan can do that, and are stored
# otherwise
my $logreg_fit = q{SET gpureg.device = cpu; SELECT coef, n, n_skipped, deviance
	FROM gpu_logreg_fit('SELECT y > 6, x1, x2 FROM t')};
my $last_run = q{SELECT workers, reason FROM gpu_last_run()};
my $small = "SET client_min_messages = error; SET gpureg.device = cpu; SET gpureg.ring_size = '1MB';";
my $kept = "SET client_min_messages = error; SET gpureg.device = cpu; SET gpureg.ring_size = '128MB';";
my ($want_fit, $how) = split /\n/, $node->safe_psql('postgres', "$kept $serial $logreg_fit; $last_run");
is($how, '0|gpureg.device is cpu', 'gpu_logreg_fit: rows are kept');
like($want_fit, qr/\|$nread\|$nskipped\|/, 'gpu_logreg_fit: rows and skipped rows');
for my $way ([ 'off', 0 ], [ 'off', 1 ], [ 'off', 2 ], [ 'off', 4 ], [ 'on', 0 ], [ 'on', 2 ])
{
	my ($scan, $workers) = @$way;
	my $set = "$cheap $small SET gpureg.enable_scan = $scan; SET max_parallel_workers_per_gather = $workers;";
	my ($got, $run) = split /\n/, $node->safe_psql('postgres', "$set $logreg_fit; $last_run");
	my $name = "gpu_logreg_fit, $workers workers, scan $scan";
	my $counted = $workers == 0 ? '0' : "[1-$workers]";

	same_fits($got, $want_fit, $name, 1e-14);
	like($run, "$scan $workers" eq 'off 0' ? qr/^0\|.*; the rows went to a temporary file$/ :
		qr/^$counted\|.*the query was run \d+ times$/, "$name: how");
}

# Fits with other needs: other solvers, separation, and columns of every kind, more than an aggregate can take
my $columns = join ', ', 'y > 0', 'y > 0.5 AS b', map { $_ % 7 == 0 ? "x[$_]::numeric" : $_ % 11 == 0 ? "x[$_]::real" :
	"x[$_]" } 1 .. 120;
$node->safe_psql('postgres', q{
	CREATE TABLE wide AS SELECT sin(i * i) AS y, ARRAY(SELECT cos(i * sqrt(j)) FROM generate_series(2, 401) j) AS x
		FROM generate_series(1, 500) i;
	CREATE TABLE many AS SELECT i, sin(i * i * 0.7) - 0.2 AS y,
		ARRAY(SELECT CASE WHEN i % 500 > 0 THEN round(cos(i * sqrt(j))::numeric, 3) END
		FROM generate_series(2, 131) j) AS x FROM generate_series(1, 3000) i;
	ANALYZE;});
for my $case (
	[ 'SELECT y > 6, x1, x2 FROM t', q{solver => 'lbfgs', max_iter => 12}, 1e-9 ],
	[ 'SELECT y > 6, x1, x2 / 1000 FROM t', q{solver => 'gd', max_iter => 10}, 1e-12 ],
	[ 'SELECT y > 6, x1, x2 FROM t', 'l2 => 100, intercept => false', 1e-13 ],
	[ 'SELECT y > 6 OR g = 3, x1, (g = 3)::int, x2 FROM t', 'max_iter => 50', 1e-12 ],
	[ 'SELECT y > 6, x1, x1 + 1e-7 * x2, x1 * x2 + 1e9 FROM t', 'max_iter => 50', 1e-13 ],
	[ 'SELECT y > 6, x1, x1 + 1e-7 * x2 FROM t', q{solver => 'lbfgs', max_iter => 100}, 1e-12 ],
	# one point far out
	[ 'SELECT x1 > 0.5, x1 FROM t -- the end', 'max_iter => 50', 1e-6 ],
	[ "SELECT $columns FROM many", 'l2 => 0', 1e-12 ],
	[ "SELECT $columns, x[121:130], i FROM many;", 'l2 => 1', 1e-12 ])
{
	my ($query, $options, $tolerance) = @$case;
	my $name = substr($query, 0, 60) . ", $options";
	# Newton's method may start at a sample's estimate when rows are read again
	my $count = $options =~ /solver/ ? 'iterations' : 'converged::int';
	my $sql = "SELECT coef, n, n_skipped, rank, cardinality(separated), $count, deviance
		FROM gpu_logreg_fit(\$q\$$query\$q\$, $options) m; $last_run";
	my $std_errors = $sql =~ s/coef.*deviance/ARRAY(SELECT coalesce(std_error, 0) FROM gpu_tidy(m::gpu_model))/r;
	my ($want, $want_run) = split /\n/, $node->safe_psql('postgres', "$kept $serial $sql");
	my ($errors) = split /\n/, $node->safe_psql('postgres', "$kept $serial $std_errors");
	# a leader that takes part could read the whole table before a worker has started
	my ($got, $run) = split /\n/, $node->safe_psql('postgres',
		"$cheap $small SET max_parallel_workers_per_gather = 2; SET parallel_leader_participation = off; $sql");

	is($want_run, '0|gpureg.device is cpu', "kept: $name");
	like($run, qr/^[12]\|.*the query was run \d+ times$/, "read again: $name");
	same_fits($got, $want, "the same: $name", $tolerance, $errors =~ /([-+.\deE]+)/g);
}

# gpu_logreg_agg's partial states hold all rows of a worker; the last setting puts each state into a file.
my ($agg, $agg_grouped) = map { s/gpu_ols_agg\(y, /gpu_logreg_agg(y > 6, /gr } $total, $grouped;
my ($want_agg, $want_agg_grouped) =
  map { $node->safe_psql('postgres', "$serial SET work_mem = '64MB'; $_") } $agg, $agg_grouped;
for my $case ([ 1, '4MB' ], [ 2, '64MB' ], [ 4, '64kB' ])
{
	my ($workers, $work_mem) = @$case;
	my $set = "$cheap SET parallel_tuple_cost = 0.1; SET work_mem = '$work_mem';
		SET max_parallel_workers_per_gather = $workers;";
	my $plan = $node->safe_psql('postgres', "$set $explain $agg");
	my ($launched) = $plan =~ /Workers Launched: (\d+)/;

	like($plan, qr/Finalize Aggregate.*Partial Aggregate/s, "gpu_logreg_agg, $workers workers: plan");
	same_fits($node->safe_psql('postgres', "$set $agg"), $want_agg, "gpu_logreg_agg, $workers workers", 1e-13);
	same_fits($node->safe_psql('postgres', "$set $agg_grouped"), $want_agg_grouped,
		"gpu_logreg_agg, $workers workers, groups", 1e-13);
}
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_ls_tmpdir()'), '0', 'gpu_logreg_agg leaves no file');
unlike(slurp_file($node->logfile), qr/temporary file leak/, 'gpu_logreg_agg closes its files');

# gpu_ols and gpu_logreg over array_agg must give the results over arrays.
for my $call ('gpu_ols(array_agg(ARRAY[x1, x2]), array_agg(y))',
	'gpu_logreg(array_agg(ARRAY[x1, x2]), array_agg(y > 6))')
{
	my $sql = "SELECT $call FROM t";
	my $set = "$cheap SET parallel_tuple_cost = 0.1; SET max_parallel_workers_per_gather = 2;";

	like($node->safe_psql('postgres', "$set $explain $sql"), qr/Finalize Aggregate.*Partial Aggregate/s, "$call: plan");
	cmp_ok(relative_difference($node->safe_psql('postgres', "$set $sql"),
			$node->safe_psql('postgres', "SET gpureg.enable_rewrite = off; $sql")),
		'<=', 1e-13, "$call: the same");
}

# A worker for every query that allows one; PostgreSQL 16 renamed the setting.
($total, $grouped) = fits_of('t');
my $force = q{SELECT count(set_config(name, 'on', false)) FROM pg_settings
	WHERE name IN ('force_parallel_mode', 'debug_parallel_query');};
my $model = "(SELECT gpu_ols_solve(gpu_ols_stats_agg(y, x1, x2)) FROM t)";
my @forced = (
	$total, $grouped, $rollup,
	"SELECT estimate, std_error FROM gpu_tidy($model)",
	"SELECT r_squared, sigma, aic FROM gpu_glance($model)",
	'WITH m AS MATERIALIZED (SELECT gpu_ols_agg(y, x1, x2) AS m FROM t) SELECT sum(gpu_predict(m, 0.5, v))
		FROM m, generate_series(1, 9) v',
	'SELECT gpu_ols(array_agg(ARRAY[x1, x2] ORDER BY g, y), array_agg(y ORDER BY g, y))
		FROM (SELECT * FROM t LIMIT 1000) r',
	q{SELECT (gpu_ols_fit('SELECT y, x1, x2 FROM t')).coef},
	$step, $step_grouped, $step_rollup, $logreg_fit,
	"SELECT coef, n, n_skipped FROM (SELECT (gpu_logreg_agg(y > 6, x1, x2)).* FROM (SELECT * FROM t LIMIT 3000) r) m",
	"SELECT coef, n, n_skipped FROM (SELECT (gpu_logreg_agg((y > 6)::int, x1, x2)).*
		FROM (SELECT * FROM t LIMIT 3000) r) m",
	"SELECT estimate, std_error FROM gpu_tidy((SELECT gpu_logreg_solve(gpu_logreg_step_agg('{}', (y > 6)::int, x1, x2))
		FROM t))",
	'SELECT gpu_logreg(array_agg(x1 ORDER BY g, y), array_agg(y > 6 ORDER BY g, y))
		FROM (SELECT * FROM t LIMIT 1000) r',
	'SELECT gpu_logreg(array_agg(x1 ORDER BY g, y), array_agg((y > 6)::int::float8 ORDER BY g, y))
		FROM (SELECT * FROM t LIMIT 1000) r',
	'SELECT sum(rows) FROM gpu_last_run()');
for my $k (0 .. $#forced)
{
	# the last statement reports the one before
	my $sql = $k == $#forced ? "SET client_min_messages = warning; SELECT gpu_ols('{1,2}', '{1,2}') IS NULL;
		$forced[$k]" : $forced[$k];
	my $got = $node->safe_psql('postgres', "$serial $force $sql");

	is((split /\n/, $got)[0], '1', "forced $k: the setting was found");
	cmp_ok(relative_difference($got =~ s/\A1\n//r, $node->safe_psql('postgres', "$serial $sql")), '<=', 1e-15,
		"forced $k");
}

# gpu_ols_fit must run its query in workers if that pays
is($node->safe_psql('postgres',
	"$cheap SET max_parallel_workers_per_gather = 4; SELECT (gpu_ols_fit('SELECT y, x1, x2 FROM t')).n"),
	$nread, 'gpu_ols_fit over a parallel scan: every row once');
cmp_ok(relative_difference($node->safe_psql('postgres', "$two SELECT (gpu_ols_fit('SELECT y, x1, x2 FROM t')).coef"),
	$node->safe_psql('postgres', "$serial SELECT coef FROM ($total) r")), '<=', 1e-15,
		'gpu_ols_fit over a parallel scan: coefficients');

# a query with more columns than an aggregate can take, with several arrays, and whose first row is left out and has
# other widths
$node->safe_psql('postgres', q{
	CREATE TABLE odd (y float8, a float8[], b real[]);
	INSERT INTO odd VALUES (NULL, '{1}', '{1}'), (1, '{}', NULL);
	INSERT INTO odd SELECT sin(i), ARRAY[cos(i), sin(i * 0.7)], ARRAY[i % 7, (i * 7) % 5, cos(i * 0.3)]
		FROM generate_series(1, 50000) i;
	CREATE TABLE uneven AS SELECT i, 1.0 AS y, ARRAY(SELECT 1.0 * i FROM generate_series(1, 2 + (i = 40000)::int)) AS a,
		ARRAY(SELECT sin(i * j) FROM generate_series(1, 3 - (i = 40000)::int) j) AS b FROM generate_series(1, 50000) i;
	CREATE TABLE nan_at AS SELECT i, 1.0::float8 AS y, CASE WHEN i = 40000 THEN 'NaN'::float8 ELSE i END AS x
		FROM generate_series(1, 50000) i;
	ANALYZE;});
for my $query ("SELECT $columns FROM many", "SELECT $columns, x[121:130], i FROM many",
	'SELECT y, x[1:60], i, x[61:130] FROM many', 'SELECT y, a, b FROM odd',
	'SELECT y, a, a[1] > 0, b::numeric[] FROM odd')
{
	my $sql = "SET client_min_messages = error; SELECT coef, n, n_skipped FROM gpu_ols_fit(\$q\$$query\$q\$); $last_run;
		SELECT terms FROM gpu_ols_fit(\$q\$$query\$q\$)";
	my ($want, $want_run, $want_terms) = split /\n/, $node->safe_psql('postgres', "$serial $sql");
	my ($got, $run, $terms) = split /\n/,
		$node->safe_psql('postgres', "$two SET parallel_leader_participation = off; $sql");
	my $name = 'gpu_ols_fit in workers: ' . substr($query, 0, 60);

	like($run, qr/^[12]\|/, $name);
	is($terms, $want_terms, "$name: terms");
	same_fits($got, $want, $name, 1e-13);
}
for my $case ([ 'SELECT y, a, b FROM uneven', qr/ERROR:  all arrays in column "[ab]" must have the same length$/m ],
	[ 'SELECT y, ' . join(', ', map { "i + $_ AS c$_" } 1 .. 50) . ', x AS here, '
		. join(', ', map { "i + $_ AS d$_" } 1 .. 50) . ' FROM nan_at',
		qr/ERROR:  column "here" has a value that is NaN or infinite$/m ])
{
	for my $ring ('on', 'off')
	{
		my ($status, $stdout, $stderr) = $node->psql('postgres',
			"$two SET gpureg.debug_ring = $ring; SELECT gpu_ols_fit('$case->[0]')");

		like($stderr, $case->[1], 'gpu_ols_fit in workers, ring ' . $ring . ': ' . substr($case->[0], 0, 60));
	}
}

# An error in a worker must have the caller's query and its functions as context, and nothing of the extension's own.
$node->safe_psql('postgres', q{
	CREATE FUNCTION thrower(v float8) RETURNS float8 LANGUAGE plpgsql PARALLEL SAFE AS
		$$ BEGIN IF v > 1005 THEN RAISE 'thrown'; END IF; RETURN v; END $$;});
my $at = 'CONTEXT:  PL/pgSQL function thrower(double precision) line 1 at RAISE';
for my $fit ("gpu_ols_fit('SELECT y, thrower(x2) FROM t')", "gpu_logreg_fit('SELECT y > 6, thrower(x2) FROM t')",
	"gpu_project_rows('SELECT g, ARRAY[thrower(x2)]::real[] FROM t', 2)")
{
	for my $ring ('on', 'off')
	{
		my ($query) = $fit =~ /'(.*)'/;
		my ($status, $stdout, $stderr) = $node->psql('postgres',
			"$two SET parallel_leader_participation = off; SET gpureg.debug_ring = $ring; SET gpureg.ring_size = '1MB';
				SELECT $fit");
		my ($context) = $stderr =~ /^(CONTEXT:.*)/ms;

		is($context =~ s/\n\z//r, qq{$at\nparallel worker\nSQL statement "$query"},
			"the context of an error in a worker, ring $ring: $fit");
	}
}

# A model too large for the memory that malloc() keeps must outlive the query that it was fitted to. The aggregate sums
# the same rows in other batches, so a few numbers may differ in the last place.
for my $field ('coef', 'vcov')
{
	cmp_ok(relative_difference($node->safe_psql('postgres', "SELECT (gpu_ols_fit('SELECT y, x FROM wide')).$field"),
		$node->safe_psql('postgres', "SELECT (gpu_ols_agg(y, VARIADIC x)).$field FROM wide")), '<=', 1e-12,
			"400 features: $field");
}

$node->stop;
done_testing();
