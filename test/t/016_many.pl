# Rows dealt to several sinks that stand in for several GPUs: each but the first computes in a thread of its own.
# However a statement ends, its threads must end.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use GpuregTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

plan skip_all => 'threads are read from /proc' unless -d '/proc/self/task';

my $node = start_node('main', 'gpureg.device = cpu', 'jit = off', 'gpureg.debug_sinks = 4',
	"gpureg.ring_size = '256MB'", 'max_parallel_workers_per_gather = 0');
my $pid = postmaster_pid($node);

# Wide rows, over which a pass takes seconds in each sink
$node->safe_psql('postgres', q{
	CREATE TABLE rows AS SELECT i, sin(i) + i % 5 AS y, i % 7 AS a, (i * 7 + i / 3) % 5 < 2 AS won
		FROM generate_series(1, 20000) i;
	CREATE TABLE wide AS SELECT (i * 7 + i / 3) % 5 < 2 AS won, (SELECT array_agg(cos((i % 50 + 1) * sqrt(j)))
		FROM generate_series(2, 1201) j) AS x FROM generate_series(1, 12000) i;
	-- a thread that was joined may be listed for a moment more, until the kernel has taken it away
	CREATE FUNCTION nthreads() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
	DECLARE
		n bigint;
	BEGIN
		FOR try IN 1 .. 50 LOOP
			SELECT count(*) INTO n FROM pg_ls_dir('/proc/self/task');
			EXIT WHEN n = 1;
			PERFORM pg_sleep(0.02);
		END LOOP;
		RETURN n;
	END $$;
	ANALYZE;});

my $long = q{SELECT gpu_logreg_fit('SELECT won, x FROM wide')};
my $and_then = q{SELECT (gpu_logreg_fit('SELECT won, a FROM rows')).n, (SELECT device FROM gpu_last_run()), nthreads()};
my $as_before = '20000|cpu, 4 sinks|1';

is((try_sql($node, $and_then))[0], $as_before, 'a fit leaves no thread');
is((try_sql($node, q{SELECT (gpu_ols_fit('SELECT won::int + y, a FROM rows', vcov => 'HC3')).n; } . $and_then))[0],
	"20000\n$as_before", 'nor does a linear one');

# Starts passes of the session and its threads; returns some time after the rows were read.
sub start_passes
{
	my ($name) = @_;
	my $session = start_session($node, $name, $long, $and_then);
	my $backend = wait_active($node, $name, 'gpu_logreg_fit');
	my $nthreads = 0;

	for (1 .. 600)
	{
		$nthreads = () = glob("/proc/$backend/task/*");
		last if $nthreads == 4;
		sleep 0.05;
	}
	is($nthreads, 4, "$name: a thread for each sink but the first");
	sleep 0.3;
	return ($session, $backend);
}

my $err = error_is($node, "SET statement_timeout = '2s'; $long", '57014', 'timeout');
like($err, qr/57014: canceling statement due to statement timeout/, 'timeout: the message');

my ($session, $backend) = start_passes('canceled');
my ($took) = seconds(sub {
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($backend)");
	finish_session($session);
});
is(sqlstate($session->{err}), '57014', 'cancel: SQLSTATE') or diag($session->{err});
is($session->{out}, "$as_before\n", 'cancel: the session goes on, and has no thread');
cmp_ok($took, '<', $prompt, 'cancel: promptly');

($session, $backend) = start_passes('terminated');
($took) = seconds(sub {
	$node->safe_psql('postgres', "SELECT pg_terminate_backend($backend)");
	finish_session($session);
});
is(sqlstate($session->{err}), '57P01', 'terminate: SQLSTATE') or diag($session->{err});
cmp_ok($took, '<', $prompt, 'terminate: promptly');
# the client is told before the threads are joined
for (1 .. 10 * $prompt)
{
	last if !-d "/proc/$backend";
	sleep 0.1;
}
ok(!-d "/proc/$backend", 'terminate: the backend is gone');
survived($node, $pid, 'terminate');

# a lost client
($session, $backend) = start_passes('gone');
$session->{run}->kill_kill(grace => 0);
$node->safe_psql('postgres', "SELECT pg_terminate_backend($backend)");
ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $backend"),
	'client gone: no backend is left');

# 100 errors, with threads and without
my $errors = q{DO $$ BEGIN
	FOR k IN 1 .. 100 LOOP
		BEGIN
			IF k % 2 = 0 THEN PERFORM gpu_logreg_fit('SELECT i / 19000 * 2, a FROM rows');
			ELSE PERFORM 1 / ((gpu_logreg_fit('SELECT won, a FROM rows WHERE i < 200')).n - 199); END IF;
		EXCEPTION WHEN division_by_zero OR invalid_parameter_value THEN NULL;
		END;
	END LOOP; END $$; };
is((try_sql($node, $errors . $and_then))[0], $as_before, 'errors leave no thread');

$node->safe_psql('postgres', 'CREATE ROLE bob LOGIN');
error_is($node, q{SELECT gpu_ols('{1,2,3}', '{3,5,7}'); SET gpureg.debug_sinks = 2}, '42501',
	'gpureg.debug_sinks of a user', user => 'bob');

survived($node, $pid, 'at the end');
$node->stop;

# Kept rows over several sinks, which stand in for several GPUs in the service: results must be the query's, up to
# rounding.
my $keeper = PostgreSQL::Test::Cluster->new('keeper');
$keeper->init;
$keeper->append_conf('postgresql.conf', join "\n",
	$keeper->pg_version < 17 ? "shared_preload_libraries = 'gpureg'" : '', 'jit = off', 'gpureg.device = cpu',
	'gpureg.debug_sinks = 3', 'gpureg.ring_size = 1MB', 'max_parallel_workers_per_gather = 0', '');
$keeper->start;
my $keeper_pid = postmaster_pid($keeper);
$keeper->safe_psql('postgres', q{
	CREATE EXTENSION gpureg;
	CREATE TABLE t AS SELECT i, sin(i) + i % 5 AS y, cos(i * 0.7) AS a, i % 7 AS b,
		CASE WHEN i % 11 <> 0 THEN (i % 13) / 2.0 END AS c, (ARRAY['u', 'v', 'w'])[1 + i % 3] AS g,
		(i * 7 + i / 3) % 5 < 2 AS won, (1 + i % 3)::float8 AS w, i % 40 AS firm
		FROM generate_series(1, 50000) i;
	-- all numbers of all rows that a query gives, however deep, but for those written as their bits in a model's design
	CREATE FUNCTION numbers(query text) RETURNS float8[] LANGUAGE plpgsql AS $$
		DECLARE
			n float8[];
		BEGIN
			EXECUTE format($f$SELECT array_agg((m.m[1])::float8 ORDER BY r.n, m.n) FROM (SELECT row_number() OVER () AS n,
				regexp_replace(replace(q::text, '3 sinks', ''), ' [0-9a-f]{16}\M', '', 'g') AS t FROM (%s) q) r,
				regexp_matches(r.t, '([-+]?[0-9.]+(?:e[-+]?[0-9]+)?)', 'g')
				WITH ORDINALITY m (m, n)$f$, query) INTO n;
			RETURN n;
		END$$;
	CREATE FUNCTION far(a float8[], b float8[]) RETURNS float8 LANGUAGE sql AS
		$$SELECT CASE WHEN cardinality(a) = cardinality(b) THEN max(abs(u - v) / greatest(abs(u), abs(v), 1e-3)) END
			FROM unnest(a, b) d (u, v)$$;});
is($keeper->safe_psql('postgres', q{SELECT gpu_keep('t', 'TABLE t')}), '50000', 'rows are kept over several sinks');

# Results without the number of passes, which is less if the fit starts from a sample, as the fit to a query may
my $fitted = 'terms, coef, vcov, n, n_skipped, rank, df_residual, deviance, null_deviance, converged, log_lik, ' .
	'dispersion';

# name, text after the rows' argument, filter and columns of each call
my @calls = (
	[ 'gpu_ols_fit', q{formula => 'y ~ a + b'} ],
	[ 'gpu_ols_fit', q{formula => 'y ~ a + c + g', weights => 'w', vcov => 'HC3'}, 'b > 2' ],
	[ 'gpu_ols_fit', q{formula => 'y ~ a + c', vcov => 'CR1', clusters => '{firm}'} ],
	[ 'gpu_logreg_fit', q{formula => 'won ~ a + c + g'}, q{g <> 'u'} ],
	[ 'gpu_logreg_fit', q{formula => 'won ~ a', firth => true}, 'i < 400' ],
	[ 'gpu_glm_fit', q{family => 'poisson', formula => 'b ~ a + c'}, undef, $fitted ],
	[ 'gpu_ols_boot', q{formula => 'y ~ a + c', key => 'i', reps => 50} ],
	[ 'gpu_logreg_boot', q{formula => 'won ~ a', key => 'i', reps => 20, method => 'newton'} ],
	[ 'gpu_ols_cv', q{formula => 'y ~ a + c', key => 'i', folds => 5} ],
	[ 'gpu_logreg_cv', q{formula => 'won ~ a + c', key => 'i', folds => 4}, 'b > 1' ],
	[ 'gpu_logreg_cv', q{formula => 'won ~ a', fold => 'b'} ],
	[ 'gpu_ols_permute', q{formula => 'y ~ a + c', key => 'i', reps => 19} ],
	[ 'gpu_enet_fit', q{formula => 'y ~ a + b + g', lambda => 0.01} ],
	[ 'gpu_enet_fit', q{formula => 'won ~ a + b', lambda => 0.01, family => 'binomial'} ]);

for my $call (@calls)
{
	my ($function, $options, $filter, $columns) = (@$call[ 0 .. 2 ], $call->[3] // '*');
	my $of_query = 'SELECT * FROM t' . (defined $filter ? " WHERE $filter" : '');
	my $rows = defined $filter ? ", rows => \$\$$filter\$\$" : '';
	my $far = $keeper->safe_psql('postgres', qq{SELECT far(
		numbers(\$q\$SELECT $columns FROM $function(kept => 't'$rows, $options)\$q\$),
		numbers(\$q\$SELECT $columns FROM $function(\$\$$of_query\$\$, $options)\$q\$))});

	ok($far ne '' && $far < 1e-10, "kept over several sinks: $function($options)") or diag("$far apart");
}
is($keeper->safe_psql('postgres', q{
	WITH m AS (SELECT gpu_ols_fit(kept => 't', formula => 'y ~ a + g') AS m)
	SELECT count(*) || '|' || bool_and(p.prediction = gpu_predict(m, t))
	FROM m, LATERAL gpu_predict_rows(m, 't', 'i') p JOIN t ON t.i = p.id}), '50000|true',
	'predictions of rows that are read back');
is($keeper->safe_psql('postgres', q{SELECT gpu_forget('t'); SELECT memory_reserved FROM gpu_devices()}), "t\n0",
	'kept over several sinks: all is released');
survived($keeper, $keeper_pid, 'rows kept over several sinks');
$keeper->stop;
done_testing();
