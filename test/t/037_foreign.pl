# Fits to foreign tables of postgres_fdw: the sums are made by the foreign server where it may compute them, and the
# rows come here where it may not. Shards over several servers merge by their states, as docs/howto/shards.md says.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use GpuregTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $here = start_node('here', "gpureg.min_gpu_work = '1e300'");
my $there = start_node('there', "gpureg.min_gpu_work = '1e300'");

plan skip_all => 'no postgres_fdw'
	if $here->safe_psql('postgres', q{SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'}) eq '0';

my $rows = q{SELECT i, i % 7 + i % 3 AS y, i % 7 AS a, i % 5 < 2 AS b, (i % 11)::real AS c,
	((i % 1000) / 10.0)::numeric(10,2) AS d, 1 + i % 3 AS w, ARRAY[i % 13, i % 4]::float8[] AS v, 'l' || i % 3 AS f
	FROM generate_series(%d, %d) i};
$there->safe_psql('postgres', join('', 'CREATE TABLE far AS ', sprintf($rows, 1, 20000), q{;
	INSERT INTO far VALUES (0, NULL, 1, true, 1, 1, 1, '{1,2}', 'l1'), (0, 1, 1, true, 1, 1, 1, '{1,NULL}', 'l1');
	CREATE TABLE second AS SELECT i, i % 4 AS e FROM generate_series(1, 20000) i; ANALYZE}));
$here->safe_psql('postgres', sprintf(q{
	CREATE EXTENSION postgres_fdw;
	CREATE SERVER shipping FOREIGN DATA WRAPPER postgres_fdw
		OPTIONS (host '%s', port '%s', dbname 'postgres', extensions 'gpureg', use_remote_estimate 'true');
	CREATE SERVER plain FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '%1$s', port '%2$s', dbname 'postgres');
	CREATE USER MAPPING FOR PUBLIC SERVER shipping;
	CREATE USER MAPPING FOR PUBLIC SERVER plain;
	IMPORT FOREIGN SCHEMA public LIMIT TO (far, second) FROM SERVER shipping INTO public;
	CREATE SCHEMA pulled;
	IMPORT FOREIGN SCHEMA public LIMIT TO (far, second) FROM SERVER plain INTO pulled;
	CREATE TABLE near AS TABLE far;
	CREATE TABLE near_second AS TABLE second;
	CREATE FUNCTION only_here(x float8) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN x; END';
	ANALYZE}, $there->host, $there->port));

my $made_there = qr/^the sums were made by the server of a foreign table$/;
my $came = qr/^(?!the sums were made by)/;
my $model = 'terms, coef, vcov, n, n_skipped, rank, df_residual, deviance, null_deviance';

# Fits one model to the foreign tables and to their copies here, and compares the models and where the sums were made.
sub same_fit
{
	my ($name, $from, $where, $arguments, $settings) = @_;
	my $near = $from =~ s/\bpulled\.//gr =~ s/\bfar\b/near/gr =~ s/\bsecond\b/near_second/gr;
	my $far_fit = "SELECT $model FROM gpu_ols_fit('SELECT $from'$arguments)";
	my ($got, $reason) = split /\n/,
		$here->safe_psql('postgres', "$settings $far_fit; SELECT reason FROM gpu_last_run()");

	is($got, $here->safe_psql('postgres', "SELECT $model FROM gpu_ols_fit('SELECT $near'$arguments)"),
		"$name: the model of the rows here");
	like($reason, $where, "$name: where the sums were made");
	return;
}

# Sums of small integers are exact in any order.
same_fit('columns', 'y, a, b, c FROM far', $made_there, '', '');
same_fit('a scan is off', 'y, a, b, c FROM far', $made_there, '', 'SET gpureg.enable_scan = off;');
same_fit('a condition', 'y, a, b, c FROM far WHERE i % 2 = 0 AND a > 1', $made_there, '', '');
same_fit('an array', 'y, v, a FROM far', $made_there, '', '');
same_fit('a join there', 'far.y, far.a, second.e FROM far JOIN second USING (i)', $made_there, '', '');
same_fit('weights', 'y, a, c, w FROM far', $made_there, ", weights => 'w'", '');
same_fit('frequencies', 'y, a, c, w FROM far', $made_there, ", frequencies => 'w'", '');
same_fit('no intercept', 'y, a, c FROM far', $made_there, ', intercept => false', '');
same_fit('a function that only this server has', 'y, only_here(a) AS a, b FROM far', $came, '', '');
same_fit('a condition that only this server has', 'y, a, b FROM far WHERE only_here(a) > 1', $came, '', '');
same_fit('a table here', 'far.y, far.a, near_second.e FROM far JOIN near_second USING (i)', $came, '', '');
same_fit('a formula', 'y, a, f FROM far', $came, ", formula => 'y ~ a + factor(f)'", '');
same_fit('a server without the option', 'y, a, b, c FROM pulled.far', $came, '', '');
same_fit('SPI', 'y, a, b, c FROM far', $came, '', q{SET gpureg.read = 'spi';});
same_fit('two arrays', 'y, v, v FROM far', $made_there, '', '');

# Errors of the server come as errors.
error_is($here, q{SELECT gpu_ols_fit('SELECT y, 1 / (a - 1) AS x FROM far')}, '22012', 'an error there');
error_is($here, q{SELECT gpu_ols_fit('SELECT y, a FROM far WHERE i < 0')}, 'P0002', 'no rows');
like((try_sql($here, q{SELECT gpu_ols_fit('SELECT NULL::int AS y, a FROM far')}))[1],
	qr/20002 rows were skipped because/,
	'no complete row: the number of rows');
like((try_sql($here, q{SELECT gpu_ols_fit('SELECT y, a, 1e200::float8 * c AS big FROM far')}))[1],
	qr/column "x2".*the response is called y, and the features x1, x2, \.\.\. in their order/s,
	'sums that are out of range');
is($here->safe_psql('postgres', q{SELECT (gpu_ols_fit('SELECT y, a FROM far')).n}), '20001', 'and the next one runs');

# Other fits read the rows here.
for my $fit (q{gpu_logreg_fit('SELECT b, a, c FROM %s')}, q{gpu_glm_fit('SELECT y, a, c FROM %s', 'poisson')},
	q{gpu_ols_fit('SELECT y, a, c FROM %s', vcov => 'HC1')},
	q{gpu_ols_fit('SELECT y, a, c, w FROM %s', vcov => 'CR1', clusters => '{w}')})
{
	my $compare = join(', ', map { '(' . sprintf($fit, $_) . ').coef' } 'far', 'near');
	my ($far, $near) = split /\|/, $here->safe_psql('postgres', "SELECT $compare");

	is($far, $near, "$fit: the coefficients of the rows here");
}

# Each shard sends one state, in each group too.
$here->safe_psql('postgres', sprintf(q{
	CREATE TABLE whole AS %s;
	CREATE TABLE sharded (LIKE whole) PARTITION BY RANGE (i);
	CREATE TABLE shard_here PARTITION OF sharded FOR VALUES FROM (1) TO (10001);
	INSERT INTO shard_here SELECT * FROM whole WHERE i <= 10000;
	CREATE FOREIGN TABLE shard_there PARTITION OF sharded FOR VALUES FROM (10001) TO (20001)
		SERVER shipping OPTIONS (table_name 'far')}, sprintf($rows, 1, 20000)));
$there->safe_psql('postgres', 'DELETE FROM far WHERE i <= 10000');
my $states = q{SELECT gpu_ols_stats_agg(y, a, b::int, c) AS s FROM shard_here
	UNION ALL SELECT gpu_ols_stats_agg(y, a, b::int, c) FROM shard_there};
like($here->safe_psql('postgres', "EXPLAIN (VERBOSE) $states"),
	qr/Foreign Scan.*Remote SQL: SELECT public\.gpu_ols_stats_agg/s, 'the state of a shard is made by its server');
is($here->safe_psql('postgres',
		"SELECT (m).coef, (m).n FROM (SELECT gpu_ols_solve(gpu_ols_rollup(s)) AS m FROM ($states) t) t"),
	$here->safe_psql('postgres', 'SELECT (m).coef, (m).n FROM (SELECT gpu_ols_agg(y, a, b::int, c) AS m FROM whole) t'),
	'states of shards merge into the fit to all rows');
is($here->safe_psql('postgres', q{SELECT (gpu_ols_fit('SELECT y, a, b, c FROM sharded')).coef}),
	$here->safe_psql('postgres', q{SELECT (gpu_ols_fit('SELECT y, a, b, c FROM whole')).coef}),
	'a partitioned table with a foreign partition');

$here->stop;
$there->stop;
done_testing();
