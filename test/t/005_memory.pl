# Memory must not grow with the number of rows, and aggregates must stay within work_mem where PostgreSQL's do.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use GpuregTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'memory is read from /proc' unless -r '/proc/self/status';

# The CPU, as a device's context takes memory that is not measured here.
my $node = start_node('main', 'gpureg.device = cpu', "work_mem = '4MB'", 'max_parallel_workers_per_gather = 0',
	'jit = off');
create_process_kb($node);

# Returns the most memory, in kB, that a new session has had after the statement.
sub peak_kb
{
	my ($sql) = @_;
	my ($peak) = $node->safe_psql('postgres', "$sql; SELECT process_kb('VmHWM')") =~ /(\d+)\z/;

	return $peak;
}

# gpu_ols_fit
my $rows = 'SELECT i %% 7 AS y, i %% 11 AS a, i %% 13 AS b, i * 0.5 AS c, sin(i) AS d
	FROM (SELECT generate_series(1, %d) AS i) s';
my ($few, $many) = map { peak_kb("SELECT (gpu_ols_fit('" . sprintf($rows, $_) . "')).n") } 100_000,
	$ENV{GPUREG_LONG} ? 3_000_000 : 1_000_000;
note("gpu_ols_fit: $few kB after 100,000 rows, $many kB after the most");
cmp_ok($many - $few, '<', 20_000, 'gpu_ols_fit: memory does not grow with the rows');

# the aggregates, also over arrays that are large enough to be toasted in a table
($few, $many) = map { peak_kb('SELECT gpu_ols_agg(y, a, b, c, d) FROM (' . sprintf($rows, $_) . ') q') } 100_000,
	1_000_000;
note("gpu_ols_agg: $few kB after 100,000 rows, $many kB after 1,000,000");
cmp_ok($many - $few, '<', 20_000, 'gpu_ols_agg: memory does not grow with the rows');
$node->safe_psql('postgres', q{
	CREATE TABLE wide AS SELECT i AS y, ARRAY(SELECT sin(i * j) FROM generate_series(1, 400) j) AS x
		FROM generate_series(1, 100) i;
	CREATE TABLE wide_states AS SELECT gpu_ols_stats_agg(y, VARIADIC x[1:100]) AS s FROM wide;});
for my $sql (q{SELECT (gpu_ols_fit('SELECT y, x FROM wide, generate_series(1, %d)')).n},
	'SELECT gpu_ols_agg(y, VARIADIC x) FROM wide, generate_series(1, %d)',
	'SELECT gpu_ols_solve(gpu_ols_rollup(s)) FROM wide_states, generate_series(1, 100 * %d)')
{
	($few, $many) = map { peak_kb(sprintf $sql, $_) } 5, 60;
	cmp_ok($many - $few, '<', 20_000, "memory does not grow: $sql") or diag("$few kB, $many kB");
}

# 100,000 groups of 5 rows: each state takes about 1 kB, so all at once would take 100 MB
my $source = '(SELECT i %% %1$d AS g, sin(i) AS y, cos(i * 1.7) AS a, i / %1$d AS b
	FROM (SELECT generate_series(0, 5 * %1$d - 1) AS i) s) q';
my $by_hash = 'SET enable_sort = off;';
my $by_sort = 'SET enable_hashagg = off;';
my $in_groups = 'SELECT count(*), sum((m).n) FROM (SELECT gpu_ols_agg(y, a, b) AS m FROM ' . sprintf($source, 100_000)
	. ' GROUP BY g) f';
my $base = peak_kb('SELECT (gpu_ols_agg(i, i)).n FROM generate_series(1, 10) i');
for my $case ([ 'hash', $by_hash, qr/HashAggregate/ ], [ 'sort', $by_sort, qr/GroupAggregate/ ])
{
	my ($name, $set, $plan) = @$case;

	like($node->safe_psql('postgres', "$set EXPLAIN (COSTS OFF) $in_groups"), $plan, "by $name: plan");
	is($node->safe_psql('postgres', "$set $in_groups"), '100000|500000', "by $name: every group and row");
	my $peak = peak_kb("$set $in_groups");
	note("100,000 groups by $name, work_mem 4 MB: $peak kB, against $base kB");
	cmp_ok($peak - $base, '<', 40_000, "by $name: memory is bounded by work_mem");
	$node->safe_psql('postgres', "$set CREATE TABLE by_$name AS SELECT g, gpu_ols_agg(y, a, b) AS m FROM "
		. sprintf($source, 100_000) . ' GROUP BY g');
}
like($node->safe_psql('postgres', "$by_hash EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) $in_groups"),
	qr/Batches: (?!1 )\d+ .*Disk Usage/,
	'by hash: PostgreSQL spills');
is($node->safe_psql('postgres', q{
	SELECT count(*) FROM by_hash h JOIN by_sort s USING (g), unnest((h.m).coef, (s.m).coef) AS c(u, v)
	WHERE abs(u - v) <= 1e-15 * greatest(abs(u), abs(v))}), '300000', 'both ways give the same coefficients');

# gpu_logreg_fit must keep no more rows than gpureg.ring_size; the others go to a file, or are read again
my $binary = 'SELECT i %% 7 < 3 AS y, i %% 11 AS a, i %% 13 AS b, sin(i) AS d
	FROM (SELECT generate_series(1, %d) AS i) s';
for my $how ('', ' WHERE random() >= 0')
{
	($few, $many) = map { peak_kb("SET gpureg.ring_size = '8MB'; SELECT (gpu_logreg_fit('" . sprintf($binary, $_)
		. "$how')).n") } 100_000, 1_000_000;
	cmp_ok($many - $few, '<', 20_000, "gpu_logreg_fit$how: memory does not grow with the rows")
		or diag("$few kB, $many kB");
}
$node->safe_psql('postgres', q{
	CREATE TABLE tall AS SELECT i % 7 < 3 AS y, i % 11 AS a, sin(i) AS b FROM generate_series(1, 600000) i;
	ANALYZE tall;});
my $workers = "SET max_parallel_workers_per_gather = 2; SET gpureg.ring_size = '1MB'; SET parallel_setup_cost = 0;";
($few, $many) = map { peak_kb("$workers SELECT (gpu_logreg_fit('SELECT y, a, b FROM tall', max_iter => $_)).n") } 1, 25;
cmp_ok($many - $few, '<', 5_000, 'gpu_logreg_fit, read again: memory does not grow with the passes')
	or diag("$few kB, $many kB");
like($node->safe_psql('postgres',
	"$workers SELECT (gpu_logreg_fit('SELECT y, a, b FROM tall')).n; SELECT reason FROM gpu_last_run()"),
	qr/^600000\n.*the query was run \d+ times$/, 'gpu_logreg_fit: and that was so');

# the aggregates of logistic regression: one state, and 10,000 groups of 20 rows that are all kept
($few, $many) = map { peak_kb("SELECT gpu_logreg_solve(gpu_logreg_step_agg('{}', y, a, b, d)) FROM ("
	. sprintf($binary, $_) . ') q') } 100_000, 1_000_000;
cmp_ok($many - $few, '<', 20_000, 'gpu_logreg_step_agg: memory does not grow with the rows')
	or diag("$few kB, $many kB");
my $of_groups = '(SELECT i %% %1$d AS g, (i / %1$d) %% 3 = 0 OR (i / %1$d) %% 7 = 5 AS y, (i / %1$d) %% 5 + i %% 3 AS a,
	sin(i) AS b
	FROM (SELECT generate_series(0, 20 * %1$d - 1) AS i) s) q';
for my $case ([ 'hash', $by_hash, qr/HashAggregate/ ], [ 'sort', $by_sort, qr/GroupAggregate/ ])
{
	my ($name, $set, $plan) = @$case;
	my $in = "SELECT count(*), sum((m).n), count(*) FILTER (WHERE (m).converged) FROM
		(SELECT gpu_logreg_agg(y, a, b) AS m FROM " . sprintf($of_groups, 10_000) . ' GROUP BY g) f';

	$set .= ' SET client_min_messages = error;';
	like($node->safe_psql('postgres', "$set EXPLAIN (COSTS OFF) $in"), $plan, "gpu_logreg_agg by $name: plan");
	like($node->safe_psql('postgres', "$set $in"), qr/^10000\|200000\|(?:9\d{3}|10000)$/,
		"gpu_logreg_agg by $name: every group and row");
	my $peak = peak_kb("$set $in");
	note("10,000 groups of gpu_logreg_agg by $name, work_mem 4 MB: $peak kB, against $base kB");
	cmp_ok($peak - $base, '<', 40_000, "gpu_logreg_agg by $name: memory is bounded by work_mem");
}
# one group: rows beyond work_mem go to a file, also for gpu_logreg over array_agg; a window frame's rows have a limit
for my $call ('(gpu_logreg_agg(y, a, b, d)).n', 'gpu_logreg(array_agg(ARRAY[a, b, d]), array_agg(y))')
{
	($few, $many) = map { peak_kb("SELECT $call FROM (" . sprintf($binary, $_) . ') q') } 100_000, 1_000_000;
	cmp_ok($many - $few, '<', 20_000, "$call: memory does not grow with the rows") or diag("$few kB, $many kB");
}
my $wide = 'gpu_logreg_array_agg(i % 2, array_fill(i::float8, ARRAY[10000]))';
my $err = error_is($node, "SELECT $wide OVER () FROM generate_series(1, 4000) i", '54000',
	'gpu_logreg_array_agg over a window of more than it keeps');
like($err, qr/gpu_logreg_agg keeps at most 256 MB of a window frame's rows
DETAIL:  The frame has more than \d+ rows\.
HINT:  .*gpu_logreg_fit/,
	'gpu_logreg_array_agg over a window of more than it keeps: the message');

# more than a worker can hand over: one of the two has at least half of the rows
$node->safe_psql('postgres', 'CREATE TABLE many AS SELECT generate_series(1, 27000) AS i; ANALYZE many;
	ALTER TABLE many SET (parallel_workers = 2)');
$err = error_is($node, "SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0;
	SET parallel_tuple_cost = 1;
	SET parallel_leader_participation = off; SET statement_timeout = '100s'; SELECT $wide FROM many", '54000',
	'gpu_logreg_array_agg over more than a worker hands over');
like($err, qr/a parallel worker has more rows than it can hand over
DETAIL:  .*1022 MB.*
HINT:  .*max_parallel_workers_per_gather/,
	'and its message');
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_ls_tmpdir()'), '0', 'no file is left');

# Printed, not asserted, since machines differ: time should grow with the groups, not with their square.
my @took;
for my $groups (25_000, 100_000)
{
	my $sql = 'SELECT sum((m).n) FROM (SELECT gpu_ols_agg(y, a, b) AS m FROM ' . sprintf($source, $groups)
		. ' GROUP BY g) f';

	push @took, (seconds(sub { $node->safe_psql('postgres', "SET work_mem = '1GB'; $by_hash $sql") }))[0];
}
diag(sprintf 'hash aggregate in memory: %.2f s for 25,000 groups, %.2f s for 100,000', @took);

$node->stop;
done_testing();
