# Queries whose rows come from a custom scan, like those of an engine that keeps its rows on other machines: no row may
# be read ahead of the fit, no row twice, and the sums must be made where the rows are, by aggregates that can be
# shipped there. test/modules has the stand-in for the engine.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use GpuregTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($module, $why_not) = build_module('far_scan', 'far_agg');
plan skip_all => $why_not if !defined $module;

my $node = start_node('main', "gpureg.min_gpu_work = '1e300'", 'max_worker_processes = 12', 'max_parallel_workers = 8',
	"session_preload_libraries = '$module'");
my $pid = postmaster_pid($node);

# Sums of small integers are exact in any order. far and near have the same rows.
$node->safe_psql('postgres', q{
	CREATE TABLE near AS SELECT i, i % 10 AS part, i % 7 + i % 3 AS y, (i / 3 % 2 = 0) <> (i % 5 = 0) AS won,
		i % 7 AS a, i % 5 < 2 AS b, (i % 11)::real AS c,
		ARRAY[i % 13, i % 4]::float8[] AS v, ARRAY[i % 3] AS w FROM generate_series(1, 20000) i;
	INSERT INTO near VALUES (0, 3, NULL, true, 1, true, 1, '{1,2}', '{1}'), (0, 4, 1, NULL, 1, true, 1, '{1,2}', '{1}'),
		(0, 5, 1, true, 1, true, 1, '{1,NULL}', '{1}');
	CREATE TABLE far AS TABLE near;
	ANALYZE;});

my $cheap = 'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
	SET max_parallel_workers_per_gather = 2;';
my $snapshot = 'BEGIN ISOLATION LEVEL REPEATABLE READ;';
my $made_there = qr/^the sums were made where a custom scan has its rows/;
my $came = qr/^gpureg\.device is auto, and the number of rows of a custom scan is unknown/;

# Returns a script's result, how often a far table was read, gpu_last_run()'s reason, and the messages.
sub far
{
	my ($sql, $before) = @_;
	my ($out, $err) = try_sql($node, ($before // '') . "$sql;\nSELECT reason FROM gpu_last_run()");

	is(sqlstate($err), 'none', length($sql) < 300 ? $sql : substr($sql, 0, 300) . '...') or diag($err);
	my @lines = split /\n/, $out, -1;
	my $reason = pop @lines;
	return (join("\n", @lines), scalar(() = $err =~ /far scan of/g), $reason, $err);
}

#
# Linear regression
#

my $model = 'terms, coef, vcov, n, n_skipped, rank, df_residual, deviance, null_deviance';
for my $case (
	[ 'y, a, b, c', $made_there, 'numbers' ], [ 'y, a, v, c', $made_there, 'an array, whose width the rows tell' ],
		[ 'won, w', $made_there, 'nothing but an array' ],
	[ 'y, v, w', $came, 'two arrays' ], [ 'y', qr/no features/, 'no features' ],
		[ join(', ', 'y', map { "i % $_ AS r$_" } 2 .. 100), $made_there, 'a hundred columns' ],
	[ join(', ', 'y', 'v', map { "(i % $_)::int2 AS r$_" } 2 .. 100), $came, 'a hundred columns and an array' ])
{
	my ($columns, $where, $name) = @$case;

	for my $set ('', $cheap, "SET gpureg.debug_ring = on; $cheap", $snapshot)
	{
		my ($got, $scans, $reason) = far("SELECT $model FROM gpu_ols_fit('SELECT $columns FROM far')", $set);
		my $want = $node->safe_psql('postgres', "SELECT $model FROM gpu_ols_fit('SELECT $columns FROM near')");

		is($got, $want, "$name: the same model");
		is($scans, 1, "$name: one scan");
		like($reason, $where, "$name: the sums are made where they should be");
	}
}

# Weights and frequencies, some of them 0
for my $case ([ 'y, a, b, c, i % 4 AS w', "weights => 'w'" ], [ 'i % 4 AS w, y, a, v', "weights => 'w'" ],
	[ 'y, a, i % 4 AS n, c', "frequencies => 'n'" ])
{
	my ($columns, $arguments) = @$case;
	my ($got, $scans, $reason) =
		far("SELECT $model, round(log_lik::numeric, 8)
		FROM gpu_ols_fit('SELECT $columns FROM far WHERE i >= 0', $arguments)", $cheap);

	is($got, $node->safe_psql('postgres',
		"SELECT $model, round(log_lik::numeric, 8)
		FROM gpu_ols_fit('SELECT $columns FROM near WHERE i >= 0', $arguments)"),
		"$columns: the same model");
	is($scans, 1, 'one scan');
	like($reason, $made_there, 'the sums are made where they should be');
}

# Factors and powers: the rows are pulled, after a query for the levels and one for the ranges of powers; none of it is
# pushed down
for my $case ([ 'y, a, (i % 3)::text AS g', '', 2 ], [ '*', ", formula => 'y ~ poly(a, 3) * factor(b)'", 3 ],
	[ '*', ", formula => 'y ~ a + c:b'", 1 ])
{
	my ($columns, $arguments, $nscans) = @$case;

	for my $set ('', $cheap, $snapshot)
	{
		my ($got, $scans, $reason) = far("SELECT $model, design FROM gpu_ols_fit('SELECT $columns FROM far'$arguments)",
			$set);

		is($got, $node->safe_psql('postgres',
			"SELECT $model, design FROM gpu_ols_fit('SELECT $columns FROM near'$arguments)"),
			"$columns$arguments: the same model");
		is($scans, $nscans, "$columns$arguments: scans");
		like($reason, $came, "$columns$arguments: the rows come");
	}
}

# The scan at any place in the plan
for my $query ('SELECT y, v, w FROM (SELECT * FROM far WHERE i > 10 OFFSET 0) s',
	'SELECT y, v, w FROM far UNION ALL SELECT y, v, w FROM near WHERE i < 10',
	'WITH f AS MATERIALIZED (SELECT * FROM far) SELECT y, v, w FROM f',
		'SELECT f.y, n.v, f.w FROM far f JOIN near n USING (i) WHERE i > 0',
	'SELECT y, v, w FROM near WHERE i < (SELECT max(i) FROM far)',
		'SELECT y, v, w FROM near n WHERE NOT EXISTS (SELECT FROM far f WHERE f.i = n.i + 10000) AND i > 0',
	'SELECT y, ARRAY[a] AS v, w FROM near WHERE i > 0 AND i IN (SELECT i FROM far)')
{
	my ($got, $scans) = far("SELECT $model FROM gpu_ols_fit('$query')");

	is($got, $node->safe_psql('postgres', "SELECT $model FROM gpu_ols_fit('" . $query =~ s/\bfar\b/near/gr . "')"),
		'and the model is the same');
	is($scans, 1, 'and one scan');
}

# Projections must not read a first vector ahead.
my $project = q{SELECT count(*), min(projection), max(projection) FROM gpu_project_rows($$SELECT i, v::real[]
	FROM %s WHERE i > 0$$, 4)};
for my $set ('', $cheap)
{
	my ($got, $scans) = far(sprintf($project, 'far'), $set);

	is($got, $node->safe_psql('postgres', sprintf($project, 'near')), 'gpu_project_rows: the same');
	is($scans, 1, 'gpu_project_rows: one scan');
}

#
# Logistic regression: rows are pulled once, or read for each pass if the transaction has one snapshot
#

my $file = qr/$came; the rows went to a temporary file$/;
my $passes = qr/$made_there; the query was run (\d+) times$/;
my %logreg = (
	'by itself' => [ '', 'won, a, b, c', $file ],
	'by itself, with little memory' => [ "SET gpureg.ring_size = '1MB'; $cheap", 'won, a, b, c', $file ],
	'in a transaction of many snapshots' => [ 'BEGIN;', 'won, a, b, c', $file ],
	'one snapshot for each statement' => [ "SET default_transaction_isolation = 'repeatable read';", 'won, a, b, c',
		$file ],
	'one snapshot' => [ $snapshot, 'won, a, b, c', $passes ],
	'one snapshot, serializable' => [ "$cheap BEGIN ISOLATION LEVEL SERIALIZABLE;", 'won, a, b, c', $passes ],
	'one snapshot, an array' => [ $snapshot, 'won, a, v', $file ],
	'one snapshot, chance' => [ $snapshot, 'won, a + 0 * random(), c', $file ],
	'one snapshot, ninety-nine columns' => [ $snapshot, join(', ', 'won', map { "(i * i % $_) AS r$_" } 3 .. 101),
		$passes ]);
for my $name (sort keys %logreg)
{
	my ($set, $columns, $where) = @{ $logreg{$name} };
	my $fit = "SELECT coef, n, converged FROM gpu_logreg_fit('SELECT $columns FROM %s')";
	my ($got, $scans, $reason) = far(sprintf($fit, 'far'), $set);
	my $want = $node->safe_psql('postgres', sprintf($fit, 'near'));

	cmp_ok(relative_difference($got =~ s/\|t$//r, $want =~ s/\|t$//r), '<=', 1e-12, "$name: the same fit");
	like($reason, $where, "$name: that way");
	is($scans, $reason =~ $passes ? $1 : 1, "$name: as many scans");
}

# Weights, frequencies and offsets
for my $case ([ '', 'won, a, b, c, i % 4 AS w, i % 3 AS o', "weights => 'w', offsets => 'o'" ],
	[ $snapshot, 'won, a, b, c, i % 4 AS w, i % 3 AS o', "weights => 'w', offsets => 'o'" ],
	[ $snapshot, '(i % 5) / 4.0 AS share, i % 4 AS w, a, c', "weights => 'w'" ],
		[ $snapshot, 'i % 4 AS n, won, a, c', "frequencies => 'n'" ])
{
	my ($set, $columns, $arguments) = @$case;
	my $fit = "SELECT coef || deviance || null_deviance || log_lik, n, converged
		FROM gpu_logreg_fit('SELECT $columns FROM %s WHERE i > 0', $arguments)";
	my ($got, $scans, $reason) = far(sprintf($fit, 'far'), $set);
	my $want = $node->safe_psql('postgres', sprintf($fit, 'near'));

	cmp_ok(relative_difference($got =~ s/\|t$//r, $want =~ s/\|t$//r), '<=', 1e-12,
		"$columns, $arguments: the same fit");
	like($reason, $set eq '' ? $file : $passes, 'that way');
	is($scans, $reason =~ $passes ? $1 : 1, 'as many scans');
}

# Columns that are nearly collinear, far from 0, or separate the response need requests with a basis, a shift, faces.
for my $columns ('won, 1e9 + a AS a, i AS c, i + a * 1e-7 AS d', 'i > 10000 AS won, i AS a',
	'a > 3 OR (a = 3 AND won) AS won, a, c')
{
	my $fit = "SELECT separated, round(deviance::numeric, 4), rank
		FROM gpu_logreg_fit('SELECT $columns FROM %s WHERE i > 0')";

	is((far(sprintf($fit, 'far'), $snapshot))[0], (far(sprintf($fit, 'near')))[0], "$columns: the same");
	like((far(sprintf($fit, 'far'), $snapshot))[2], $passes, "$columns: by passes");
}

#
# Messages must use the user's names
#

for my $case (
	[ 'ols', q{SELECT y, a, CASE WHEN i = 777 THEN 'NaN' ELSE c END AS "odd one" FROM %s},
		qr/22023: column "odd one" has a value that is NaN or infinite/ ],
	[ 'ols', q{SELECT CASE WHEN i = 777 THEN 'Infinity'::real ELSE y END AS why, a FROM %s},
		qr/22023: column "why" has a value that is NaN or infinite/ ],
	[ 'ols', q{SELECT y, CASE WHEN i = 777 THEN '{1,NaN}' ELSE v END AS v FROM %s},
		qr/22023: column "v\[2\]" has a value that is NaN or infinite/ ],
	[ 'ols', q{SELECT y, a, CASE WHEN i = 777 THEN '{1,2,3}' ELSE v END AS v FROM %s},
		qr/22023: all arrays in column "v" must have the same length/ ],
	[ 'ols', 'SELECT NULL::int AS y, a FROM %s',
		qr/P0002: query returned no complete row\n.*20003 rows were skipped because of a NULL/s ],
	[ 'ols', 'SELECT y, a FROM %s WHERE i < 0', qr/P0002: query returned no complete row/ ],
	[ 'logreg', 'SELECT y - 1 AS why, a FROM %s',
		qr/22023: response must be 0 or 1, got [-\d]+\n.*The column is "why"/s ],
	[ 'logreg', q{SELECT won, a, CASE WHEN i = 777 THEN 'NaN' ELSE c END AS "odd one" FROM %s},
		qr/22023: column "odd one" has a value that is NaN or infinite/ ],
	[ 'logreg', 'SELECT i > 0 AS won, c FROM %s WHERE i > 0',
		qr/22023: the response has one class: it is 1 in every row/ ],
	[ 'logreg', 'SELECT NULL::int AS y, a FROM %s',
		qr/P0002: query returned no complete row\n.*20003 rows were skipped because of a NULL/s ],
	[ 'logreg', 'SELECT won, a FROM %s WHERE i < 0', qr/P0002: query returned no complete row/ ])
{
	my ($kind, $query, $message) = @$case;

	for my $from ($kind eq 'ols' ? ('near', 'far') : ('near', 'far', "$snapshot far"))
	{
		my ($set, $table) = $from =~ /^(.*?)(\w+)$/;
		my ($out, $err) = try_sql($node, "$set SELECT gpu_${kind}_fit(\$\$" . sprintf($query, $table) . '$$)');

		like($err, $message, "$from: $query");
	}
}
my $names = qr/the response is called y, and the features x1, x2, \.\.\. in their order/;
like((try_sql($node, q{SELECT gpu_ols_fit('SELECT y, a, c * 1e200 AS big FROM far')}))[1],
	qr/22003: squares of column "x2" are out of range.*$names/s, 'sums that are out of range');

#
# An engine's use of the aggregates: it sends the text of the plan to its nodes, and splits and merges states as text
#

for my $case ([ 'ols', 'y, a, b, c' ], [ 'ols', 'y, a AS "A b", v' ],
	[ 'ols', q{won, '1'::text::numeric * a, c IS DISTINCT FROM 3, a} ],
	[ 'ols', join(', ', 'y', map { "(i % $_)::int2 AS r$_" } 2 .. 100) ], [ 'logreg', 'won, a, b, c' ],
		[ 'logreg', 'won, 1e9 + a AS a, i AS c, i + a * 1e-7 AS d' ])
{
	my ($kind, $columns) = @$case;
	my (undef, undef, undef, $err) = far("SELECT (gpu_${kind}_fit(\$\$SELECT $columns FROM far WHERE i > 0\$\$)).n",
		$snapshot);
	my @planned = $err =~ /planned: (.*?gpu_${kind}_array_pass.*?);\n(?:LOCATION|NOTICE|CONTEXT|WARNING)/sg;
	my $rerun = 0;

	cmp_ok(scalar @planned, '>=', $kind eq 'ols' ? 1 : 3, "$kind, $columns: passes were planned");
	for my $sql (@planned)
	{
		unlike($sql, qr/\$\d/, 'they have no parameters');
		my ($state, $error) = try_sql($node, $sql);
		$rerun++ if $state =~ /^\{"version":\d,"features":[1-9]/;
		diag($error) if sqlstate($error) ne 'none';
	}
	is($rerun, scalar @planned, "$kind, $columns: each is SQL that gives a state");
}

$node->safe_psql('postgres', qq{
	CREATE FUNCTION far_partial_step(internal, regprocedure, float8, float8[]) RETURNS internal AS '$module',
		'far_partial_step' LANGUAGE C;
	CREATE FUNCTION far_partial_step(internal, regprocedure, gpu_logreg_step, float8, float8[])
		RETURNS internal AS '$module', 'far_partial_step' LANGUAGE C;
	CREATE FUNCTION far_combine_step(internal, regprocedure, text) RETURNS internal AS '$module', 'far_combine_step'
		LANGUAGE C;
	CREATE FUNCTION far_text(internal) RETURNS text AS '$module', 'far_text' LANGUAGE C;
	CREATE AGGREGATE far_partial(regprocedure, float8, float8[]) (SFUNC = far_partial_step, STYPE = internal,
		FINALFUNC = far_text);
	CREATE AGGREGATE far_partial(regprocedure, gpu_logreg_step, float8, float8[]) (SFUNC = far_partial_step,
		STYPE = internal, FINALFUNC = far_text);
	CREATE AGGREGATE far_combined(regprocedure, text) (SFUNC = far_combine_step, STYPE = internal,
		FINALFUNC = far_text);});

# Clusters are groups of the query run again, for which a remote scan may give other rows
{
	my ($out, $err) = try_sql($node,
		"SELECT gpu_ols_fit('SELECT y, a, part FROM far', vcov => 'CR1', clusters => '{part}')");
	is(sqlstate($err), '0A000', 'clusters of a remote query');
}

# Sums in parts, one with only skipped rows and one of no rows, against sums of the rows as they come
my $x = q{gpu_features_pass('{y,a,b,c}', false, 0, y, a, b, c)};
my $parts = "(SELECT part, y, $x AS x FROM near WHERE part <> 7 UNION ALL SELECT 7, NULL, $x FROM near WHERE part = 7
	UNION ALL SELECT 8, NULL, NULL FROM near WHERE part = 8) n";
is($node->safe_psql('postgres', qq{
	SELECT far_combined('gpu_ols_stats_combine(gpu_ols_stats,gpu_ols_stats)', s ORDER BY part) =
		(SELECT gpu_ols_rollup(s ORDER BY part)::text FROM (SELECT part, gpu_ols_array_pass(y, x) AS s FROM $parts
			GROUP BY part) l),
		gpu_ols_solve(far_combined('gpu_ols_stats_combine(gpu_ols_stats,gpu_ols_stats)', s
			ORDER BY part)::gpu_ols_stats)::text =
		(SELECT gpu_ols_solve(gpu_ols_stats_array_agg(y, x))::text FROM $parts)
	FROM (SELECT part, far_partial('gpu_ols_stats_accum(gpu_ols_stats,float8,float8[])', y, x) AS s FROM $parts
		GROUP BY part UNION ALL SELECT 11, NULL) f}),
	't|t', 'a linear regression in parts is the local one, to the bit');

# All kinds of requests that fits make: of Newton's method, of gradients, and of faces
my @fits = ("'SELECT won, 1e9 + a AS a, b, c FROM far'", "'SELECT a > 3 OR (a = 3 AND won) AS won, a, c, b FROM far'",
	"'SELECT won, a, b, c FROM far', solver => 'lbfgs'",
	"'SELECT won, i AS a, b, i + a * 1e-7 AS c FROM far'");
my %kinds;
for my $fit (@fits)
{
	my (undef, undef, undef, $err) = far("SELECT (gpu_logreg_fit($fit)).n", $snapshot);
	my @requests = $err =~ /gpu_logreg_array_pass\('(\{.*?\})'/g;
	my ($columns) = $fit =~ /SELECT (.*?) FROM far/;
	my $rows = "(SELECT part, y::int::float8 AS y, gpu_features_pass('{}', true, 0, y, p, q, r) AS x
		FROM (SELECT n.part, s.* FROM near n, LATERAL (SELECT "
	  . $columns =~ s/ AS \w+//gr . ') s(y, p, q, r)) r) n';
	for my $request (@requests)
	{
		my ($kind) = $request =~ /"pass":(\d),"faces":(\d+)/;

		$kinds{$kind}++;
		is($node->safe_psql('postgres', qq{
			SELECT far_combined('gpu_logreg_step_combine(gpu_logreg_step,gpu_logreg_step)', s ORDER BY part) =
				(SELECT gpu_logreg_rollup(s ORDER BY part)::text
					FROM (SELECT part, gpu_logreg_array_pass('$request', y, x) AS s FROM $rows GROUP BY part) l)
			FROM (SELECT part, far_partial('gpu_logreg_array_pass_accum(gpu_logreg_step,gpu_logreg_step,float8,'
				'float8[])', '$request'::gpu_logreg_step, y, x) AS s
				FROM $rows GROUP BY part UNION ALL SELECT 11, NULL) f}), 't',
					"$columns: a pass of kind $kind in parts");
	}
}
is(join(' ', sort keys %kinds), '0 1 2 3', 'all kinds of passes were met');

#
# Calls by hand
#

for my $case (
	[ "gpu_features_pass(NULL, NULL, 0, 1, 2.5, true)", '{2.5,1}' ],
		[ "gpu_features_pass('{}', false, 0, 7, ARRAY[1,2]::int[], 3)", '{1,2,3}' ],
	[ "gpu_features_pass('{y}', false, 0, 7)", '{}' ], [ "gpu_features_pass('{y,x}', false, 0, NULL::int, 2)", 'NULL' ],
		[ "gpu_features_pass('{y,x}', false, 0, 1, ARRAY[1,NULL])", 'NULL' ])
{
	is($node->safe_psql('postgres', "SELECT coalesce($case->[0]::text, 'NULL')"), $case->[1], $case->[0]);
}
my $request = q{(SELECT gpu_logreg_step_agg('{}', i % 2, i, -i) FROM generate_series(1, 9) i)};
for my $case (
	[ q{gpu_features_pass('{y}', false, 0, 'text'::text, 1)}, '42804' ],
		[ q{gpu_features_pass('{y}', false, 0, ARRAY[1], 1)}, '42804' ],
	[ q{gpu_features_pass('{y}', false, 0, 1, '{}'::int[])}, '22023' ],
		[ q{gpu_features_pass('{y}', true, 0, 2, 1)}, '22023' ],
	[ q{gpu_features_pass('{y}', false, 0, 1, '{{1}}'::int[])}, '2202E' ],
		[ 'gpu_features_pass(NULL, false, 0, 1, array_fill(1, ARRAY[100000]))', '54000' ],
	[ q{gpu_logreg_array_pass(NULL, 1, '{1}')}, '22023' ], [ "gpu_logreg_array_pass($request, 1, '{1}')", '22023' ],
		[ "gpu_logreg_array_pass($request, 2, '{1,2}')", '22023' ],
	[ "gpu_logreg_array_pass($request, 1, '{{1,2}}')", '2202E' ], [ "gpu_logreg_array_pass($request, 1, '{1,NaN}')",
		'22023' ],
	[ "gpu_logreg_array_pass_accum($request, NULL, 1, array_fill(1e10::float8, ARRAY[9999]))", '22023' ],
	[ q{gpu_logreg_array_pass_accum(NULL, '{"version":1,"features":-1,"skipped":3,"intercept":1,"beta":[],"head":[],'
		'"gram":[]}', 1, '{1}')}, '22023' ])
{
	error_is($node, "SELECT $case->[0]", $case->[1], $case->[0]);
}

survived($node, $pid, 'remote queries');
$node->stop;
done_testing();
