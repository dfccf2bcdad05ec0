# Kept rows, on the CPU, or on a GPU (GPUREG_TAP_DEVICE, see GpuregTest.pm): fits to them must be those to their query;
# privileges; arguments that don't go together; and rows that were not kept to the end must leave nothing.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use GpuregTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time sleep);

# Seconds until a client that is gone has left nothing, with the time that psql needs to ask. (The service looks every
# 10 ms, and once a second for changes that nobody reported.)
my $patience = 2.5;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(auth_extra => [ '--create-role', 'alice,bob' ]);
# before PostgreSQL 17 a service needs a preloaded library
my $preloads = $node->pg_version < 17;
# the place of kept rows as gpu_kept() and gpu_last_run() name it; the query is fitted there, too
my $place = on_gpu() ? 'gpu' : 'cpu';
my $kept_on = on_gpu() ? qr/gpu \d+: (?!the CPU)[^|]*/ : qr/cpu/;
my $fitted_on = on_gpu() ? $service_device : qr/cpu, device service/;
$node->append_conf('postgresql.conf', join "\n", $preloads ? "shared_preload_libraries = 'gpureg'" : '',
	'shared_buffers = 32MB', 'max_connections = 60', 'max_worker_processes = 32', 'jit = off', "gpureg.device = $place",
	'gpureg.ring_size = 8MB', '');
$node->start;
my $postmaster = postmaster_pid($node);

$node->safe_psql('postgres', q{
	CREATE EXTENSION gpureg;
	CREATE ROLE alice LOGIN;
	CREATE ROLE bob LOGIN;
	CREATE TYPE size AS ENUM ('small', 'large', 'huge');
	CREATE TABLE t AS SELECT i, sin(i) * 3 + i % 5 AS y, cos(i * 0.7)::real AS x1, i % 7 AS x2,
		CASE WHEN i % 11 <> 0 THEN (i % 13) / 2.0 END AS x3, 1e9::float8 + i % 17 AS big,
		CASE WHEN i % 29 <> 0 THEN (ARRAY['b', 'a', 'it''s', '"q"'])[1 + i % 4] END AS g,
		(ARRAY['large', 'huge', 'small'])[1 + i % 3]::size AS s, i % 3 = 0 AS b, (i * 7 + i / 3) % 5 < 2 AS won,
		(1 + i % 3)::float8 AS w, i % 4 AS count
		FROM generate_series(1, 5000) i;
	CREATE FUNCTION napping(i int) RETURNS int LANGUAGE plpgsql VOLATILE AS
		$$BEGIN PERFORM CASE WHEN i % 100 = 0 THEN pg_sleep(0.1) END; RETURN i; END$$;
	CREATE FUNCTION worker_napping(i int) RETURNS int LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS
		$$BEGIN PERFORM CASE WHEN i % 100 = 0 THEN pg_sleep(0.4) END; RETURN i; END$$;
	-- the largest relative difference; no_less: what is relative to no less
	CREATE FUNCTION difference(a float8[], b float8[], no_less float8[] DEFAULT '{}') RETURNS float8 LANGUAGE sql AS
		$$SELECT max(CASE WHEN u IS NOT DISTINCT FROM v THEN 0
			ELSE coalesce(abs(u - v) / greatest(abs(u), abs(v), l), 'Infinity') END)
			FROM unnest(a, b, no_less) AS d (u, v, l)$$;
	-- a model's design without the bits of its degrees of freedom and of what rounding left of covariances, which are
	-- sums in the order of rows
	CREATE FUNCTION without_bits(design text) RETURNS text LANGUAGE sql IMMUTABLE AS
		$$SELECT regexp_replace(regexp_replace(design, '( (?:df|bread) \d+) [0-9a-f]{16}( [0-9a-f]{16})*', '\1'),
			'(vcov_low \d+) [0-9a-f]+', '\1')$$;
	-- what fits to kept rows, and to the query on that device, differ by: numbers; and whether all else is the same
	CREATE FUNCTION compare(fit text, options text, filter text, device text, OUT numbers float8, OUT rest boolean)
		LANGUAGE plpgsql AS $$
		DECLARE
			k gpu_model;
			q gpu_model;
			-- what another device may leave of the deviance of a perfect fit
			rounding float8 := CASE WHEN device = current_setting('gpureg.device') THEN 0 ELSE 1e-16 END;
			-- its coefficients may differ by shares of their standard errors
			no_less float8[] := '{}';
		BEGIN
			EXECUTE format('SELECT * FROM %s(kept => %L, rows => %L %s)', fit, 't', filter, options) INTO k;
			PERFORM set_config('gpureg.device', device, true);
			EXECUTE format('SELECT * FROM %s(query => %L %s)', fit,
				'SELECT y, x1, x2, x3, big, g, s, b, won, w, count FROM t WHERE ' || coalesce(filter, 'true'), options)
				INTO q;
			IF rounding > 0 THEN
				-- the variance of two-way clusters may be negative
				no_less := ARRAY(SELECT sqrt(greatest(q.vcov[j][j], 0))
					FROM generate_subscripts(q.coef, 1) j ORDER BY j);
			END IF;
			numbers := greatest(difference(k.coef, q.coef, no_less), difference(k.vcov, q.vcov),
				difference(ARRAY(SELECT df FROM gpu_tidy(k)), ARRAY(SELECT df FROM gpu_tidy(q))),
				difference(ARRAY[k.deviance + rounding * k.null_deviance, k.null_deviance, k.log_lik, k.dispersion],
					ARRAY[q.deviance + rounding * q.null_deviance, q.null_deviance, q.log_lik, q.dispersion]));
			rest := (k.method, k.terms, k.n, k.n_skipped, k.rank, k.df_residual, k.iterations, k.converged, k.separated,
				k.family, k.link, k.vcov_type, k.df_inference, without_bits(k.design))
				IS NOT DISTINCT FROM (q.method, q.terms, q.n, q.n_skipped, q.rank, q.df_residual, q.iterations,
				q.converged, q.separated, q.family, q.link, q.vcov_type, q.df_inference, without_bits(q.design));
		END$$;
	-- what the service has: its process, sessions, computations, bytes
	CREATE VIEW service AS SELECT service_pid, sessions, computations, memory_reserved FROM gpu_devices()
		WHERE service_pid IS NOT NULL;
	GRANT SELECT ON t TO alice;
	CREATE DATABASE other;
	ANALYZE;});

my $columns = 'y, x1, x2, x3, big, g, s, b, won, w, count';
my $rows = 5000;
# bytes of the rows; the description of the columns takes more
my $bytes = $rows * 11 * 8;
my $keep = "SELECT gpu_keep('t', 'SELECT $columns FROM t')";
my $again = "SELECT gpu_keep('t', 'SELECT $columns FROM t', true)";
my $fit = q{SELECT (gpu_ols_fit(kept => 't', formula => 'y ~ x1 + g')).coef};
my $slow = q{SELECT gpu_keep('slow', 'SELECT y, napping(i) AS x FROM t')};
my $names = 'SELECT coalesce(string_agg(name, $$,$$ ORDER BY name), $$none$$) FROM gpu_kept()';

sub services { return service_processes($postmaster); }

sub service
{
	return $node->safe_psql('postgres', 'SELECT * FROM service');
}

# Waits until the view matches; returns the seconds that took.
sub service_becomes { return seconds_until(\&service, @_); }

# Checks that $bytes are kept, and nothing else is left in the service.
sub left
{
	my ($nbytes, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	cmp_ok(service_becomes(qr/^\d+\|\d+\|0\|$nbytes$/), '<', $patience, "$name: what is left in the service")
	  or diag(service());
}

#
# Keeping
#
is($node->safe_psql('postgres', "$names; SELECT gpu_forget('t')"), "none\nf", 'nothing is kept at first');
is(scalar(services()), 0, 'and there is no service');
is($node->safe_psql('postgres', "SELECT gpu_keep(NULL, 'SELECT 1 / 0, 2') IS NULL, gpu_keep('t', NULL) IS NULL,
	gpu_keep('t', 'SELECT 1 / 0, 2', NULL) IS NULL, gpu_forget(NULL) IS NULL; $names"), "t|t|t|t\nnone",
	'NULL arguments give NULL, and run no query');
is(scalar(services()), 0, 'nor do they start a service');
error_is($node, $fit, '42704', 'a fit to rows that nobody has kept');
is($node->safe_psql('postgres', $keep), $rows, 'gpu_keep tells how many rows');
is(scalar(services()), 1, 'a service has them');
my $described = $node->safe_psql('postgres', 'SELECT bytes FROM gpu_kept()') - $bytes;
ok($described > 100 && $described < 1000, 'names and levels count') or diag($described);
$bytes += $described;
like($node->safe_psql('postgres', q{SELECT name, owner = current_user, query, columns, rows, bytes,
	kept_at BETWEEN now() - interval '1 minute' AND now(), hits, device FROM gpu_kept()}),
	qr/^\Qt|t|SELECT $columns FROM t|{\E${\($columns =~ s, ,,gr)}\}\|$rows\|$bytes\|t\|0\|$kept_on$/, 'gpu_kept');
left($bytes, 'kept rows');
my ($pid) = split /\|/, service();

#
# Fits
#
my @cases = (
	[ 'gpu_ols_fit', 'y ~ x1 + x2' ],
	[ 'gpu_ols_fit', 'y ~ x1 + x2 - 1' ],
	[ 'gpu_ols_fit', 'y ~ 1' ],
	[ 'gpu_ols_fit', 'y ~ .' ],
	[ 'gpu_ols_fit', 'y ~ big + x1 + x2', 'x1 > 0.5' ],
	[ 'gpu_ols_fit', 'y ~ poly(x2, 3) * g' ],
	[ 'gpu_ols_fit', 'y ~ poly(big, 2) + x3' ],
	[ 'gpu_ols_fit', 'y ~ poly(x1, 2):x3 + b', 'NOT b OR x3 > 2' ],
	[ 'gpu_ols_fit', 'y ~ x3 + g * s', q{g <> 'it''s'} ],
	[ 'gpu_ols_fit', 'y ~ x3 + g + factor(b)', q{g IN ('"q"', 'a') AND s <> 'huge'} ],
	[ 'gpu_ols_fit', 'y ~ x1 + x1', 'x3 IS NULL' ],
	[ 'gpu_ols_fit', 'x3 ~ g + won', 'x2 BETWEEN 2 AND 5', q{vcov => 'HC3'} ],
	[ 'gpu_ols_fit', 'y ~ poly(big, 2) + g', 'x2 IN (2, 5)', q{vcov => 'HC0'} ],
	[ 'gpu_ols_fit', 'y ~ poly(x1, 4) + s', undef, q{vcov => 'HC2'} ],
	[ 'gpu_glm_fit', 'y ~ x1 + s', undef, q{family => 'gaussian'} ],
	[ 'gpu_glm_fit', 'y ~ x1 + g', undef, q{family => 'gaussian', l2 => 0.5} ],
	[ 'gpu_glm_fit', 'y ~ x1 + g', undef, q{family => 'gaussian', offsets => 'w'} ],
	[ 'gpu_glm_fit', 'count ~ x1 + g', 'x3 IS NOT NULL', q{family => 'poisson', weights => 'w'} ],
	[ 'gpu_glm_fit', 'count ~ x1 + x3 + poly(x2, 2)', undef, q{family => 'poisson', offsets => 'x3'} ],
	[ 'gpu_glm_fit', 'count ~ x1 + x2', undef, q{family => 'negative_binomial', theta => 2} ],
	[ 'gpu_glm_fit', 'w ~ x1 + x2 + s', 'w < 3', q{family => 'gamma', link => 'log'} ],
	[ 'gpu_glm_fit', 'won ~ x1 + x2', undef, q{family => 'quasibinomial', weights => 'w'} ],
	[ 'gpu_logreg_fit', 'won ~ x1 + x2 + g' ],
	[ 'gpu_logreg_fit', 'won ~ x1 + x3 + g:b', 'x2 < 6', q{vcov => 'HC1'} ],
	[ 'gpu_logreg_fit', 'won ~ x1 + x3', 'x2 < 3', 'firth => true' ],
	[ 'gpu_logreg_fit', 'won ~ x1 + x3', undef, q{solver => 'lbfgs'} ],
	[ 'gpu_logreg_fit', 'won ~ x1 + x2', undef, q{solver => 'gd', learning_rate => 1e-4, max_iter => 20} ],
	[ 'gpu_logreg_fit', 'won ~ x1 + x2', undef, q{l2 => 1, frequencies => 'count'} ],
	[ 'gpu_logreg_fit', 'won ~ x1 + s', 'y > 0', q{weights => 'w', intercept => false} ],
	[ 'gpu_enet_fit', 'won ~ x1 + x2 + g', undef, q{lambda => 0.001, family => 'binomial'} ],
	[ 'gpu_enet_fit', 'won ~ x1 + x3', 'x2 < 6',
		q{lambda => 0.01, alpha => 0.3, weights => 'w', family => 'binomial'} ],
	# folds come in another order, in which passes are summed
	[ 'gpu_enet_fit', 'won ~ x1 + x3 + b', q{g <> 'a'}, q{fold => 's', nlambda => 20, family => 'binomial'}, 1e-11 ],
	[ 'gpu_enet_fit', 'won ~ poly(x2, 2) + s', undef,
		q{fold => 'count', choose => 'min', family => 'binomial'}, 1e-11 ],
	[ 'gpu_enet_fit', 'y ~ x1 + x2 + g', undef, q{lambda => 0.01}, 1e-11 ],
	[ 'gpu_enet_fit', 'y ~ x1 + x3 + s', 'x2 < 6', q{fold => 'b', choose => 'min'}, 1e-11 ],
	[ 'gpu_enet_fit', 'y ~ x1 + x2', undef, q{fold => 'count', alpha => 0.5, lambdas => '{1,0.1,0.01}'}, 1e-11 ],
	# rows of a weighted linear regression are multiplied by the weights' roots first
	[ 'gpu_ols_fit', 'y ~ x1 + x2 + s', undef, q{weights => 'w'}, 1e-11 ],
	[ 'gpu_ols_fit', 'y ~ x1 + g', 'x1 < 0.7', q{frequencies => 'count'}, 1e-11 ],
	# clusters come in another order
	[ 'gpu_ols_fit', 'y ~ x1 + x3', undef, q{vcov => 'CR0', clusters => '{x2}'}, 1e-12 ],
	[ 'gpu_ols_fit', 'y ~ x1 + g', 'x1 < 0.7', q{vcov => 'CR1', clusters => '{big}'}, 1e-12 ],
	[ 'gpu_ols_fit', 'y ~ x1 + x2', undef, q{vcov => 'CR1', clusters => '{g}', weights => 'w'}, 1e-11 ],
	[ 'gpu_ols_fit', 'y ~ x1 * x2', 'x2 < 5 OR g IS NULL', q{vcov => 'CR1', clusters => '{g,x2}'}, 1e-12 ],
	[ 'gpu_ols_fit', 'y ~ x1 + s', undef, q{vcov => 'CR1', clusters => '{s,b}'}, 1e-9 ],
	[ 'gpu_ols_fit', 'y ~ .', undef, q{vcov => 'CR2', clusters => '{big}'}, 1e-11 ],
	[ 'gpu_ols_fit', 'y ~ x1 + poly(big, 3)', undef, q{vcov => 'CR2', clusters => '{x2,g}'}, 1e-11 ],
	[ 'gpu_ols_fit', 'y ~ x1 + g', undef, q{vcov => 'CR0', clusters => '{count}', frequencies => 'count'}, 1e-11 ],
	[ 'gpu_logreg_fit', 'won ~ x1 + x2 + g', undef, q{vcov => 'CR1', clusters => '{big}'}, 1e-11 ],
	[ 'gpu_logreg_fit', 'won ~ x1 + x3', 'x2 < 6', q{vcov => 'CR2', clusters => '{g,big}'}, 1e-11 ],
	[ 'gpu_glm_fit', 'count ~ x1 + x3', undef,
		q{family => 'poisson', offsets => 'x3', vcov => 'CR0', clusters => '{g}'}, 1e-11 ],
	[ 'gpu_glm_fit', 'count ~ x1 + s', 'y > 0',
		q{family => 'poisson', weights => 'w', vcov => 'CR2', clusters => '{x2}'}, 1e-11 ],
	# absorbed effects
	[ 'gpu_ols_fit', 'y ~ x1 + x3 | g + x2', undef, undef, 1e-12 ],
	[ 'gpu_ols_fit', 'y ~ x1 + s | g + b', 'x2 < 6', q{vcov => 'HC1', weights => 'w'}, 1e-12 ],
	[ 'gpu_ols_fit', 'y ~ .', 'x1 < 0.7', q{absorb => '{g,big}', vcov => 'CR1', clusters => '{g,x2}'}, 1e-11 ],
	[ 'gpu_ols_fit', 'y ~ x1 + x3 | count + s', undef, q{frequencies => 'count'}, 1e-12 ],
	[ 'gpu_glm_fit', 'count ~ x1 + x3 | x2 + g', 'y > 0', q{family => 'poisson', offsets => 'x3'}, 1e-11 ]);

# Compares fits to the kept rows and to the query on that device; messages without warnings.
sub compared
{
	my ($case, $device) = @_;
	my ($function, $formula, $filter, $options) = @$case;
	my $arguments = ", formula => '$formula'" . (defined $options ? ", $options" : '');
	my ($answer, $messages) = try_sql($node, "SET client_min_messages = error; SELECT * FROM compare('$function', "
		. "\$o\$$arguments\$o\$, " . (defined $filter ? "\$f\$$filter\$f\$" : 'NULL') . ", '$device')");

	return ((split /\|/, $answer || 'inf|f'), "$arguments: $answer $messages");
}
for my $case (@cases)
{
	my ($function, $formula, $filter, $options, $tolerance) = @$case;
	my $name = "$function, $formula" . (defined $filter ? ", $filter" : '');

	if (on_gpu() && $formula eq 'y ~ 1')
	{
		error_is($node, "SELECT $function(kept => 't', formula => '$formula')", '0A000', "$name, on a GPU");
		next;
	}
	# rows in the same order must give the same bits
	my ($numbers, $rest, $what) = compared($case, $place);
	ok($rest eq 't' && $numbers <= ($tolerance // 0), $name) or diag($what);
	next if !on_gpu();
	($numbers, $rest, $what) = compared($case, 'cpu');
	ok($rest eq 't' && $numbers <= ($tolerance // 1e-11), "$name, and the query on the CPU") or diag($what);
	note("$name: the CPU's differs by $numbers");
}

# without a formula, the first column is the response, and the others are the features
$node->safe_psql('postgres', q{SELECT gpu_keep('plain', 'SELECT y, w, x1, x2, x3 FROM t');
	SELECT gpu_keep('mixed', 'SELECT won, g, x1, s FROM t')});
for my $case ([ 'gpu_ols_fit', 'plain', 'SELECT y, w, x1, x2, x3 FROM t', '' ],
	[ 'gpu_ols_fit', 'plain', 'SELECT y, w, x1, x2, x3 FROM t', ', intercept => false' ],
	[ 'gpu_glm_fit', 'plain', 'SELECT y, w, x1, x2, x3 FROM t', q{, offsets => 'w'} ],
	[ 'gpu_logreg_fit', 'mixed', 'SELECT won, g, x1, s FROM t', '' ],
	[ 'gpu_logreg_fit', 'mixed', 'SELECT won, g, x1, s FROM t', q{, vcov => 'CR0', clusters => '{g}'} ],
	[ 'gpu_ols_fit', 'plain', 'SELECT y, w, x1, x2, x3 FROM t', q{, vcov => 'CR0', clusters => '{w}'} ])
{
	my ($function, $name, $query, $options) = @$case;
	my $kept = "$function(kept => '$name'$options)";
	my $queried = "$function('$query'$options)";

	# The server groups a query's rows by a text on the CPU; levels of kept rows are grouped where these are.
	if (on_gpu() && $options =~ /\{g\}/)
	{
		is($node->safe_psql('postgres', "SELECT to_jsonb(k) - '{device,vcov}'::text[] =
				to_jsonb(q) - '{device,vcov}'::text[], difference((k).vcov, (q).vcov) < 1e-13
			FROM $kept k, $queried q"), 't|t', "$function without a formula$options");
		next;
	}
	is($node->safe_psql('postgres', "SELECT to_jsonb($kept) - 'device'"),
		$node->safe_psql('postgres', "SELECT to_jsonb($queried) - 'device'"), "$function without a formula$options");
}
# A row without a cluster must take no part, whatever its other columns are.
$node->safe_psql('postgres', q{CREATE TABLE strays AS SELECT CASE WHEN g IS NULL THEN 7 ELSE won::int END AS won, g, x1,
	x3, i FROM t; SELECT gpu_keep('strays', 'TABLE strays')});
is($node->safe_psql('postgres', q{SELECT (k).n, (k).n_skipped, (k).n_skipped = (q).n_skipped,
		difference((k).vcov, (q).vcov) < 1e-11
	FROM gpu_logreg_fit(kept => 'strays', formula => 'won ~ x1 + x3', rows => 'x1 < 0.5', vcov => 'CR1',
			clusters => '{g}') k,
		gpu_logreg_fit('SELECT * FROM strays WHERE x1 < 0.5', formula => 'won ~ x1 + x3', vcov => 'CR1',
			clusters => '{g}') q}),
	$node->safe_psql('postgres', q{SELECT count(*) FILTER (WHERE complete), count(*) - count(*) FILTER (WHERE complete),
		true, true
	FROM (SELECT x3 IS NOT NULL AND g IS NOT NULL AS complete FROM strays WHERE x1 < 0.5) s}), 'rows in no cluster');
# more clusters than the session has memory for; only CR2 needs their sums in the session
for my $vcov (qw(CR1 CR2))
{
	my $options = "formula => 'won ~ x1 + poly(x3, 8)', vcov => '$vcov', clusters => '{i,x1}'";

	$options =~ s/,x1}/}/ if $vcov eq 'CR2';
	$node->safe_psql('postgres', q{SELECT gpu_keep('many', 'SELECT won, i, i % 1000 AS x1, x3 FROM t', true)});
	like($node->safe_psql('postgres', qq{SET gpureg.ring_size = '1MB';
		SELECT difference((k).vcov, (q).vcov) < 1e-8, (k).df_inference = (q).df_inference
		FROM gpu_ols_fit('SELECT won, i, i % 1000 AS x1, x3 FROM t', $options) q,
			gpu_ols_fit(kept => 'many', $options) k;
		SELECT reason FROM gpu_last_run()}),
		$vcov eq 'CR1' ? qr/^t\|t\nthe rows are kept there$/ :
		qr/^t\|t\nthe rows are kept there; they were read back ([2-9]|\d\d) times for the sums of clusters$/,
		"many clusters, $vcov");
}
# variances that are 0, because the clusters are a factor of the model, must be NULL for kept rows, too
is($node->safe_psql('postgres', q{SET client_min_messages = error;
	SELECT v, count(*), count(std_error) FROM unnest('{CR0,CR1,CR2}'::text[]) v,
		gpu_tidy(gpu_ols_fit(kept => 't', formula => 'y ~ factor(s)', vcov => v, clusters => '{s}'))
	GROUP BY v ORDER BY v}), "CR0|3|0\nCR1|3|0\nCR2|3|0", 'zero variances');
# a timeout must end the repeated reading of rows
$node->safe_psql('postgres',
	q{SELECT gpu_keep('long', 'SELECT i % 7 AS y, i % 11 AS x, i FROM generate_series(1, 1000000) i')});
error_is($node, q{SET statement_timeout = '150ms'; SET gpureg.ring_size = '1MB';
	SELECT gpu_ols_fit(kept => 'long', formula => 'y ~ x', vcov => 'CR2', clusters => '{i}')}, '57014', 'a timeout');
# folds by values: each row is in one fold, and folds are the same each time
is($node->safe_psql('postgres', q{SELECT (c).nfolds, ((c).model_min).n, (c).mean = (d).mean, (c).lambda_1se = e.lambda
	FROM gpu_enet_cv(kept => 't', formula => 'won ~ x1 + x2 + s', family => 'binomial') c,
		gpu_enet_cv(kept => 't', formula => 'won ~ x1 + x2 + s', family => 'binomial') d,
		(SELECT substring((gpu_enet_fit(kept => 't', formula => 'won ~ x1 + x2 + s', family => 'binomial')).method
			FROM 'lambda = (.*)\)')::float8 AS lambda) e}), "10|$rows|t|t", 'folds by hash');
is($node->safe_psql('postgres', q{SELECT (c).nfolds, ((c).model_min).n
	FROM gpu_enet_cv(kept => 't', formula => 'y ~ x1 + x2', rows => 'x2 > 1', folds => 7) c}),
	'7|' . $node->safe_psql('postgres', 'SELECT count(*) FROM t WHERE x2 > 1'), 'folds by hash of a linear regression');
for my $family ('gaussian', 'binomial')
{
	is($node->safe_psql('postgres', qq{
		SELECT count(*) > 3, max(difference(k.coef, q.coef)) < 1e-11, bool_and(k.df = q.df)
		FROM gpu_enet_path(kept => 't', formula => 'won ~ x1 + x2 + s', rows => 'x2 > 1', family => '$family')
				WITH ORDINALITY k (lambda, df, dev_ratio, coef, i)
			JOIN gpu_enet_path('SELECT * FROM t WHERE x2 > 1', formula => 'won ~ x1 + x2 + s', family => '$family')
				WITH ORDINALITY q (lambda, df, dev_ratio, coef, i) USING (i)}), 't|t|t', "gpu_enet_path, $family");
}
like($node->safe_psql('postgres', q{SELECT (gpu_enet_cv(kept => 't', formula => 'won ~ x1 + x2',
		family => 'binomial')).nfolds;
	SELECT function, device, reason, rows FROM gpu_last_run()}),
	qr/\ngpu_enet_cv\|$fitted_on\|the rows are kept there\|5000$/, 'gpu_last_run of folds');
is($node->safe_psql('postgres', q{SELECT count(*), count(DISTINCT gpu_predict(m, t) = gpu_predict(q, t))
	FROM gpu_ols_fit(kept => 't', formula => 'y ~ poly(x2, 2) * s + x1') m,
		gpu_ols_fit('TABLE t', formula => 'y ~ poly(x2, 2) * s + x1') q, t}), "$rows|1", 'predictions');
like($node->safe_psql('postgres', "$fit; SELECT function, device, reason, rows FROM gpu_last_run()"),
	qr/\ngpu_ols_fit\|$fitted_on\|the rows are kept there\|4828$/, 'gpu_last_run');
is($node->safe_psql('postgres', q{SELECT hits > 30 FROM gpu_kept() WHERE name = 't'}), 't', 'hits are counted');
my $expected = $node->safe_psql('postgres', $fit);
is($node->safe_psql('postgres', q{SELECT (gpu_ols_fit($$SELECT y, x1,
	(gpu_ols_fit(kept => 't', formula => 'y ~ x2')).coef[1] + x2 AS x FROM t WHERE i <= 50$$)).n}), '50',
	'a fit to kept rows within a query');
$node->safe_psql('postgres', "SELECT gpu_forget(name) FROM gpu_kept() WHERE name <> 't'");

# kept rows stay when the table changes
is($node->safe_psql('postgres', "BEGIN; TRUNCATE t; $fit; ROLLBACK"), $expected, 'the table may change');

# many sessions at once
my @sessions = map { start_session($node, "many$_", ($fit) x 4) } 1 .. 8;
is(join('', map { (finish_session($_))[0] } @sessions), "$expected\n" x 32, 'eight sessions at once');
left($bytes, 'eight sessions');

#
# Arguments that must be refused
#
$node->safe_psql('postgres', q{CREATE TABLE odd AS SELECT i AS y,
	CASE i WHEN 7 THEN 'NaN'::float8 ELSE i END AS x, 'a' AS g,
	'one' AS one, ARRAY[i, 1] AS v, CASE WHEN i < 0 THEN 1 END AS none FROM generate_series(1, 9) i});
sub keeping { return "SELECT gpu_keep('odd', '$_[0]')"; }
sub fitting { return "SELECT gpu_ols_fit(kept => 't', $_[0])"; }
for my $case (
	[ $keep, '42710', 'a name that is taken' ],
	[ q{SELECT gpu_keep('', 'SELECT y, x1 FROM t')}, '42602', 'an empty name' ],
	[ q{SELECT gpu_keep(repeat('x', 64), 'SELECT y, x1 FROM t')}, '42602', 'a long name' ],
	[ keeping('SELECT y FROM odd'), '22023', 'one column' ],
	[ keeping('SELECT y, g, y FROM odd'), '42701', 'columns of one name' ],
	[ keeping('SELECT y, v FROM odd'), '42804', 'an array' ],
	[ keeping('SELECT y, now() FROM odd'), '42804', 'a type of no use' ],
	[ keeping('SELECT y, x FROM odd'), '22023', 'NaN' ],
	[ keeping('SELECT y, 1 / (y - 7) FROM odd'), '22012', 'an error of the query' ],
	[ keeping('SELECT y, repeat(g, 2000) FROM odd'), '54000', 'a long level' ],
	[ keeping('SELECT y, g FROM odd WHERE y < 0'), 'P0002', 'no rows' ],
	[ keeping('DELETE FROM odd RETURNING y, g'), '0A000', 'a query that writes' ],
	[ keeping('SELECT y, g FROM odd; SELECT 1'), '42601', 'two queries' ],
	[ keeping('SELECT y, g FROM nowhere'), '42P01', 'no table' ],
	[ q{SELECT gpu_ols_fit('TABLE t', kept => 't')}, '22023', 'both a query and kept rows' ],
	[ q{SELECT gpu_ols_fit('TABLE t', rows => 'x1 > 0')}, '22023', 'a filter of a query' ],
	[ q{SELECT gpu_logreg_fit(kept => 'T')}, '42704', 'no such rows' ],
	[ q{SELECT * FROM gpu_ols_cv(kept => 'T', key => 'i')}, '42704', 'no such rows, in folds' ],
	[ q{SELECT * FROM gpu_enet_path(kept => 'T')}, '42704', 'no such rows, along a path' ],
	[ q{SELECT gpu_glm_fit(kept => 't', family => 'quasibinomial', formula => 'won ~ x1')}, '0A000', 'unit weights' ],
	[ q{SELECT gpu_logreg_fit(kept => 't', formula => 'y ~ x1')}, '22023', 'a response that is none' ],
	[ q{SELECT gpu_enet_fit(kept => 't', formula => 'y ~ x1', family => 'binomial')}, '22023', 'the same of a net' ],
	[ q{SELECT gpu_enet_fit(kept => 't', formula => 'won ~ x1', fold => 'none')}, '42703', 'a fold that is none' ],
	[ q{SELECT gpu_enet_fit(kept => 't', formula => 'won ~ x1', fold => 'y')}, '54000', 'too many folds' ],
	[ q{SELECT gpu_enet_fit(kept => 't', formula => 'won ~ x1', fold => 'b', rows => 'b')}, '22023', 'a single fold' ],
	[ q{SELECT gpu_enet_fit(kept => 't', formula => 'won ~ x1', rows => 'won', family => 'binomial')}, '22023',
		'one class' ],
	[ q{SELECT gpu_enet_cv(kept => 't', formula => 'won ~ x1', rows => 'x1 > 2')}, 'P0002', 'no row in any fold' ],
	[ q{SELECT gpu_enet_path(kept => 't', formula => 'won ~ x1', rows => 'x1 > 2')}, 'P0002', 'no row on a path' ],
	[ fitting(q{vcov => 'CR1', clusters => '{x1}', formula => 'y ~ x2'}), '42804', 'clusters that are no integers' ],
	[ fitting(q{vcov => 'CR1', clusters => '{x2,x3}', formula => 'y ~ x1'}), '42804', 'the same in the second column' ],
	[ fitting(q{vcov => 'CR1', clusters => '{x2,none}', formula => 'y ~ x1'}), '42703', 'no such clusters' ],
	[ fitting(q{vcov => 'CR1', clusters => '{b}', formula => 'y ~ x1', rows => 'b'}), '22023', 'a single cluster' ],
	[ fitting(q{vcov => 'CR1', clusters => '{x2,b}', formula => 'y ~ x1', rows => 'b'}), '22023',
		'a single cluster in the second column' ],
	[ fitting(q{vcov => 'CR1', clusters => '{g}', formula => 'y ~ x1', rows => 'g IS NULL'}), 'P0002', 'no cluster' ],
	[ fitting(q{formula => 'y ~ factor(x2)'}), '0A000', 'numbers as a factor' ],
	[ fitting(q{formula => 'g ~ x1'}), '42804', 'a category as the response' ],
	[ fitting(q{formula => 'y ~ x1', weights => 's'}), '42804', 'a category as weights' ],
	[ fitting(q{formula => 'y ~ x1', weights => 'nothing'}), '42703', 'no weights' ],
	[ fitting(q{formula => 'y ~ z'}), '42703', 'no column' ],
	[ fitting(q{formula => 'y ~ poly(g, 2)'}), '42804', 'powers of a category' ],
	[ fitting(q{formula => 'y ~ x1 +'}), '42601', 'half a formula' ],
	[ fitting(q{formula => 'y ~ s', rows => 's = ''huge'''}), '22023', 'a factor of one level' ],
	[ fitting(q{formula => 'y ~ x1', rows => 'x1 >'}), '42601', 'half a filter' ],
	[ fitting(q{formula => 'y ~ x1', rows => 'z > 1'}), '42703', 'a filter of no column' ],
	[ fitting(q{formula => 'y ~ x1', rows => 'x1 = ''a'''}), '42804', 'a filter that compares nothing' ],
	[ fitting(q{formula => 'y ~ x1', rows => 'x1 > 1e999'}), '22003', 'a filter out of range' ],
	[ fitting(q{formula => 'y ~ x1', rows => 'x1 > 5'}), 'P0002', 'a filter that leaves nothing' ],
	[ fitting(q{formula => 'y ~ x1 + g', rows => 'x1 > 5'}), 'P0002', 'a filter that leaves no level' ])
{
	error_is($node, @$case);
}
# bigints that float8 rounds may be kept, but not be a feature, response, weight or offset
$node->safe_psql('postgres', q{SELECT gpu_keep('bigints', 'SELECT i * 2.0 + i % 3 AS y, i, 1700000000000000001 + i AS t
	FROM generate_series(1::bigint, 40) i')});
for my $case ('', q{, formula => 'y ~ t'}, q{, formula => 't ~ i'}, q{, formula => 'y ~ t:i'},
	q{, formula => 'y ~ i', weights => 't'})
{
	error_is($node, "SELECT gpu_ols_fit(kept => 'bigints'$case)", '22003', "kept bigints beyond 2^53$case");
}
is($node->safe_psql('postgres', q{SELECT (gpu_ols_fit(kept => 'bigints', formula => 'y ~ i')).n, gpu_forget('bigints')}),
	'40|t', 'others are fitted to');
is($node->safe_psql('postgres', "SELECT gpu_ols_fit() IS NULL, gpu_logreg_fit(kept => NULL) IS NULL,
	gpu_keep(NULL, 'TABLE t') IS NULL; $names"), "t|t|t\nt", 'NULL');
left($bytes, 'errors');

#
# Roles and databases
#
sub as { my ($user, $sql, %opt) = @_; return try_sql($node, $sql, user => $user, %opt); }
is((as('bob', "$names; $again"))[0], 'none', 'another role sees nothing');
for my $case ([ $fit =~ s/'t'/'postgres.t'/r, 'fits' ], [ $again, 'replaces' ],
	[ q{SELECT gpu_forget('postgres.t')}, 'lets go' ])
{
	is(sqlstate((as('bob', $case->[0]))[1]), '42501', "who has no privileges of the owner's, and $case->[1]");
}
is(sqlstate((as('bob', $fit))[1]), '42704', 'a name is one of the role\'s own');
is(sqlstate((as('bob', q{SELECT gpu_keep('own', 'SELECT y, x1 FROM t')}))[1]), '42501', 'a table without privileges');
is((as('alice', q{SELECT gpu_keep('own', 'SELECT y, x1, g FROM t')}))[0], $rows, 'a role keeps rows');
is((as('alice', $names))[0], 'own', 'and sees them');
is($node->safe_psql('postgres', $names), 'own,t', 'so does a superuser');
is(sqlstate((as('bob', q{SELECT gpu_ols_fit(kept => 'alice.own')}))[1]), '42501', 'they are not for others');
is(sqlstate((as('bob', q{SELECT gpu_enet_cv(kept => 'alice.own', fold => 'x1')}))[1]), '42501', 'nor are their folds');
$node->safe_psql('postgres', 'GRANT alice TO bob');
is((as('bob', q{SELECT (gpu_ols_fit(kept => 'alice.own', formula => 'y ~ x1')).n}))[0], $rows,
	'but for roles that have the privileges');
is((as('bob', q{SELECT gpu_keep('own', 'SELECT i AS y, 2 * i AS x FROM generate_series(1, 9) i', true)}))[0], '9',
	'who has the same name for rows of its own,');
is($node->safe_psql('postgres', q{SELECT owner, rows FROM gpu_kept() WHERE name = 'own' ORDER BY owner}),
	"alice|$rows\nbob|9", 'and replaces nothing of theirs');
is((as('bob', q{SELECT gpu_forget('own'), gpu_forget('alice.own')}))[0], 't|t', 'and lets both go');
$node->safe_psql('postgres', 'REVOKE alice FROM bob');
is($node->safe_psql('other', "CREATE EXTENSION gpureg; $names; "
	. q{SELECT gpu_keep('t', 'SELECT i AS y, 2 * i AS x FROM generate_series(1, 9) i'); SELECT count(*) FROM gpu_kept();
	SELECT (gpu_ols_fit(kept => 't')).n; SELECT gpu_forget('t')}), "none\n9\n1\n9\nt",
	'a database has names of its own');
is($node->safe_psql('postgres', $fit), $expected, 'and leaves those of others');
left($bytes, 'roles');

#
# Bootstraps: the replicates must be the query's, to the bit
#
my $boot_columns = 'i, y, x1, x2, x3, big, g, s::text AS s, b, won, w';
$node->safe_psql('postgres', "SELECT gpu_keep('boot', 'SELECT $boot_columns FROM t')");
for my $case (
	[ 'ols', q{key => 'i', formula => 'y ~ x1 + x3'} ],
	[ 'ols', q{key => 'i', formula => 'y ~ poly(big, 2) * g', weights => 'w'}, 'x2 > 3' ],
	[ 'ols', q{key => 'i', formula => 'y ~ . - i + poly(i, 2)'} ],
	[ 'ols', q{clusters => 'x2', formula => 'y ~ x1 + x2', intercept => false} ],
	[ 'ols', q{clusters => 'g', formula => 'y ~ x1 + s'} ],
	[ 'ols', q{clusters => 's', formula => 'y ~ x1 + s'}, q{g <> 'a'} ],
	[ 'ols', q{key => 'b', formula => 'y ~ x1'} ],
	[ 'logreg', q{key => 'i', formula => 'won ~ x1 + x3 + g', weights => 'w'}, 'won OR x2 < 4' ],
	[ 'logreg', q{clusters => 'g', formula => 'won ~ x1'} ])
{
	my ($function, $options, $filter) = @$case;
	my $of = "gpu_${function}_boot_replicates(reps => 70, seed => -3, $options";
	my $rows_are = defined $filter ? "\$f\$$filter\$f\$" : 'NULL';
	my $where = $filter // 'true';

	is($node->safe_psql('postgres', "SET client_min_messages = error;
		SELECT max(difference(ARRAY[k.estimate], ARRAY[q.estimate])), count(*) = count(k.term),
			count(*) = count(q.term), count(k.estimate) > 0
		FROM $of, kept => 'boot', rows => $rows_are) k
		FULL JOIN $of, query => \$q\$SELECT $boot_columns FROM t WHERE $where\$q\$) q USING (replicate, term)"),
		'0|t|t|t', "bootstrap, $function, $options, $where");
	next if $function ne 'ols';
	$of = "gpu_ols_permute(reps => 333, seed => -3, $options";
	is($node->safe_psql('postgres', "SELECT bool_and(k IS NOT DISTINCT FROM q), count(k.p_value) > 0
		FROM $of, kept => 'boot', rows => $rows_are) k
		FULL JOIN $of, query => \$q\$SELECT $boot_columns FROM t WHERE $where\$q\$) q USING (term)"),
		't|t', "permutation test, $options, $where");
}
for my $kind (qw(percentile basic normal bca))
{
	my $options = "100, 'i', 7, formula => 'won ~ x1 + x2', kind => '$kind'";

	is($node->safe_psql('postgres', "SELECT * FROM gpu_logreg_boot(NULL, $options, kept => 'boot')"),
		$node->safe_psql('postgres', "SELECT * FROM gpu_logreg_boot('SELECT $boot_columns FROM t', $options)"),
		"bootstrap, $kind limits");
}
for my $case ([ 'ols', 'y ~ x1 + x3', 'g', 'x2 > 1' ], [ 'logreg', 'won ~ x1 + s', 'x2', 'true' ],
	[ 'logreg', 'won ~ x1', 'i', 'true', q{, weights => 'w'} ])
{
	my ($function, $formula, $clusters, $filter, $more) = @$case;
	my $options = "200, NULL, 7, formula => '$formula', clusters => '$clusters', kind => 'bca'" . ($more // '');

	is($node->safe_psql('postgres', "SET client_min_messages = error;
		SELECT bool_and(k.estimate = q.estimate AND k.std_error = q.std_error),
			max(abs(k.conf_low - q.conf_low)) < 1e-9, max(abs(k.conf_high - q.conf_high)) < 1e-9
		FROM gpu_${function}_boot(NULL, $options, kept => 'boot', rows => '$filter') k
		JOIN gpu_${function}_boot('SELECT $boot_columns FROM t WHERE $filter', $options) q USING (term)"), 't|t|t',
		"bootstrap, bca limits by clusters, $function, $clusters");
}
like($node->safe_psql('postgres', q{SELECT count(*) FROM gpu_ols_boot(kept => 'boot', key => 'i', formula => 'y ~ x1');
	SELECT function, device, reason, rows FROM gpu_last_run()}),
	qr/^2\ngpu_ols_boot\|$fitted_on\|the rows are kept there\|$rows$/, 'gpu_last_run of a bootstrap');
sub boot { return "SELECT * FROM gpu_ols_boot(kept => 'boot', formula => 'y ~ x2', $_[0])"; }
for my $case (
	[ boot(q{key => 'x1'}), '42804', 'keys that are no integers' ],
	[ boot(q{key => 'big', clusters => 'i'}), '22023', 'a key and clusters' ],
	[ boot('reps => 10'), '22023', 'neither' ],
	[ boot(q{key => 'nothing'}), '42703', 'no such key' ],
	[ boot(q{key => 'i', reps => NULL}), '22004', 'NULL replicates' ],
	[ boot(q{clusters => 'x3', kind => 'bca'}), '42804', 'bca by clusters that are no integers' ],
	[ boot(q{key => 'i', query => 'TABLE t'}), '22023', 'both a query and kept rows' ],
	[ boot(q{key => 'i', rows => 'x2 > 99'}), 'P0002', 'a filter that leaves nothing' ],
	[ q{SELECT * FROM gpu_ols_boot(key => 'i')}, '22004', 'neither a query nor kept rows' ],
	[ q{SELECT * FROM gpu_ols_boot('TABLE t', key => 'i', rows => 'x1 > 0')}, '22023', 'a filter of a query' ],
	[ q{SELECT * FROM gpu_logreg_boot(kept => 'nowhere', key => 'i')}, '42704', 'no such rows' ])
{
	error_is($node, $case->[0], $case->[1], "bootstrap: $case->[2]");
}

#
# Cross-validations
#

# Differences of a cross-validation of kept rows from one of the query: coefficients and errors; true if all else is
# equal
for my $case (
	[ 'ols', q{key => 'i', seed => 3, formula => 'y ~ x1 + x2 * g'}, 'mse', 'NULL', 'true' ],
	[ 'ols', q{fold => 'x2', formula => 'y ~ x1 + big', weights => 'w', l2 => 2}, 'mse', q{'x1 > 0'}, 'x1 > 0' ],
	[ 'ols', q{fold => 'b', formula => 'y ~ poly(x1, 2) + x3'}, 'mse', 'NULL', 'true' ],
	[ 'logreg', q{key => 'i', folds => 100, formula => 'won ~ x1 + x2'}, 'deviance', 'NULL', 'true' ],
	[ 'logreg', q{key => 's', folds => 2, seed => 1, formula => 'won ~ x1 + g'}, 'deviance', q{'x2 <> 3'}, 'x2 <> 3' ],
	[ 'logreg', q{fold => 'x2', formula => 'won ~ x1 + s', weights => 'w'}, 'deviance', 'NULL', 'true' ])
{
	my ($function, $options, $error, $rows_are, $where) = @$case;

	is($node->safe_psql('postgres', "
		SELECT max(difference(k.coef, q.coef)) < 1e-9, max(abs(k.$error / q.$error - 1)) < 1e-9, count(*) > 2,
			bool_and((k.fold, k.n_train, k.n_test, k.terms) IS NOT DISTINCT FROM
				(q.fold, q.n_train, q.n_test, q.terms))
		FROM gpu_${function}_cv($options, kept => 'boot', rows => $rows_are) k
		FULL JOIN gpu_${function}_cv(\$q\$SELECT $boot_columns FROM t WHERE $where\$q\$, $options) q
			ON coalesce(k.fold, -9) = coalesce(q.fold, -9)"), 't|t|t|t', "cross-validation, $function, $options");
}
like($node->safe_psql('postgres', q{
	SELECT count(*) FROM gpu_logreg_cv(kept => 'boot', key => 'i', formula => 'won ~ x1');
	SELECT function, device, reason, rows FROM gpu_last_run()}),
	qr/^11\ngpu_logreg_cv\|$fitted_on\|the rows are kept there; 10 folds, \d+ passes over one each\|$rows$/,
	'gpu_last_run of a cross-validation');
# rows that are sent to a service are split into folds there
like($node->safe_psql('postgres', service_settings() . q{SET gpureg.device = gpu;
	SELECT max(abs(a.deviance / b.deviance - 1)) < 1e-14
	FROM gpu_logreg_cv('SELECT won, x1, x2, i FROM t', key => 'i') a
	JOIN gpu_logreg_cv(kept => 'boot', key => 'i', formula => 'won ~ x1 + x2') b USING (fold);
	SELECT count(*) FROM gpu_logreg_cv('SELECT won, x1, x2, i FROM t', key => 'i');
	SELECT device, reason FROM gpu_last_run()}),
	qr/^t\n11\n.*device service\|.*; 10 folds, \d+ passes over one each$/, 'cross-validation in a service');
sub cv { return "SELECT * FROM gpu_logreg_cv(kept => 'boot', formula => 'won ~ x2', $_[0])"; }
for my $case (
	[ cv(q{key => 'x1'}), '42804', 'keys that are no integers' ],
	[ cv(q{fold => 'x1'}), '42804', 'folds that are no integers' ],
	[ cv(q{fold => 'g'}), '42804', 'folds that are texts' ],
	[ cv(q{fold => 'i'}), '54000', 'too many folds' ],
	[ cv(q{key => 'i', fold => 'x2'}), '22023', 'a key and folds' ],
	[ cv('folds => 5'), '22023', 'neither' ],
	[ cv(q{fold => 'x2', rows => 'x2 = 3'}), '22023', 'one fold' ],
	[ cv(q{key => 'i', rows => 'x2 > 99'}), 'P0002', 'a filter that leaves nothing' ],
	[ cv(q{key => 'i', query => 'TABLE t'}), '22023', 'both a query and kept rows' ])
{
	error_is($node, $case->[0], $case->[1], "cross-validation: $case->[2]");
}
$node->safe_psql('postgres', q{SELECT gpu_forget('boot')});
left($bytes, 'bootstraps and cross-validations');

#
# Predictions must be those of the rows themselves, to the bit
#
$node->safe_psql('postgres', q{SELECT gpu_keep('rows', 'SELECT i, y, x1, x2, x3, big, g, s, b, won FROM t')});
for my $case (
	[ q{gpu_ols_fit(kept => 'rows', formula => 'y ~ x1 + x3')} ],
	[ q{gpu_ols_fit(kept => 'rows', formula => 'y ~ poly(big, 3) * g + b + s')}, 'x2 > 2' ],
	[ q{gpu_ols_fit('TABLE t', formula => 'y ~ factor(x2) * s + factor(b):x1')} ],
	[ q{gpu_logreg_fit('TABLE t', formula => 'won ~ x2 * x1 + g')}, q{g = 'a' OR x3 > 3} ],
	[ q{gpu_glm_fit('TABLE t', family => 'poisson', formula => 'count ~ x1')}, 'x1 < 0' ])
{
	my ($fit, $filter) = @$case;
	my $where = $filter // 'true';
	my $rows_are = defined $filter ? "\$f\$$filter\$f\$" : 'NULL';

	is($node->safe_psql('postgres', "SELECT count(*) = (SELECT count(*) FROM t WHERE $where), count(p.prediction) > 0,
		bool_and(p.prediction IS NOT DISTINCT FROM gpu_predict(m, t))
		FROM $fit m, gpu_predict_rows(m, 'rows', 'i', $rows_are) p JOIN t ON t.i = p.id"), 't|t|t',
		"predictions of $fit, $where");
}
is($node->safe_psql('postgres', q{SELECT bool_and(p.prediction = gpu_predict(m, x1, x2)), count(*)
	FROM gpu_ols_fit('SELECT y, x1, x2 FROM t') m, gpu_predict_rows(m, 'rows', 'i') p JOIN t ON i = id}), "t|$rows",
	'of a model without a formula');
my $of = on_gpu() ? q{query => 'TABLE t'} : q{kept => 'rows'};
is($node->safe_psql('postgres', qq{SELECT count(*), count(id), count(prediction), max(prediction) = min(prediction)
	FROM gpu_predict_rows(gpu_ols_fit($of, formula => 'y ~ 1'), 'rows')}), "$rows|0|$rows|t",
	'of an intercept, without a key');
is($node->safe_psql('postgres', q{SELECT (SELECT count(*) FROM gpu_predict_rows(NULL, 'rows')),
	(SELECT count(*) FROM gpu_predict_rows(gpu_ols_fit(kept => 'rows', formula => 'y ~ x1'), NULL)),
	(SELECT count(*) FROM gpu_predict_rows(gpu_ols_fit(kept => 'rows', formula => 'y ~ x1'), 'rows',
		rows => 'x1 > 9'))}),
	'0|0|0', 'of nothing');
# ids of other types: integers, numerics, and the levels of a category
my $ids = q{FROM gpu_ols_fit('SELECT y, x1, x2 FROM t') m, LATERAL gpu_predict_rows(m, 'rows', };
is($node->safe_psql('postgres', "SELECT bool_and(p.prediction = gpu_predict(m, x1, x2)), count(*),
	min(pg_typeof(p.id)::text) $ids key => 'i', id => NULL::bigint) p JOIN t ON i = p.id"), "t|$rows|bigint", 'predictions with integer ids');
is($node->safe_psql('postgres', "SELECT bool_and(p.prediction = gpu_predict(m, x1, x2)), count(*)
	$ids 'i', NULL::numeric, 'x1 < 0') p JOIN t ON i = p.id"),
	$node->safe_psql('postgres', "SELECT true, count(*) FROM t WHERE x1 < 0"), 'predictions with numeric ids');
is($node->safe_psql('postgres', "SELECT p.id, count(*) $ids 'g', id => NULL::text) p GROUP BY 1 ORDER BY 1"),
	$node->safe_psql('postgres', 'SELECT g, count(*) FROM t GROUP BY 1 ORDER BY 1'), 'predictions with levels as ids');
is($node->safe_psql('postgres', "SELECT count(*), count(p.id) $ids NULL, NULL::uuid) p"), "$rows|0",
	'predictions without ids');
error_is($node, "SELECT p.* $ids 'x1', NULL::int) p", '22023', 'predictions: an id that is no integer');
error_is($node, "SELECT p.* $ids 'i', id => NULL::text) p", '42804', 'predictions: a number as a text');
error_is($node, "SELECT p.* $ids 'g', NULL::int) p", '42804', 'predictions: a category as a number');
error_is($node, "SELECT p.* $ids id => NULL::int, key => 'i') p", '42804', 'predictions: an id in another place');
sub predicting { return "SELECT * FROM gpu_predict_rows(gpu_ols_fit('TABLE t', formula => '$_[0]'), $_[1])"; }
for my $case (
	[ predicting('y ~ x1', q{'nowhere'}), '42704', 'no such rows' ],
	[ predicting('y ~ x1', q{'rows', 'g'}), '42804', 'a category as the key' ],
	[ predicting('y ~ x1', q{'rows', 'nothing'}), '42703', 'no such key' ],
	[ predicting('y ~ x1', q{'rows', rows => 'x1 >'}), '42601', 'half a filter' ],
	[ predicting('y ~ w', q{'rows'}), '42703', 'a column that was not kept' ],
	[ q{SELECT * FROM gpu_predict_rows(gpu_ols_fit('SELECT y, x1 AS g FROM t'), 'rows')}, '42804',
		'a category for a number' ],
	[ q{SELECT * FROM gpu_predict_rows(gpu_ols_fit('SELECT y, g FROM t WHERE g <> ''a'''), 'rows')}, '22023',
		'a level that the model does not have' ])
{
	error_is($node, $case->[0], $case->[1], "predictions: $case->[2]");
}
is(sqlstate((try_sql($node, q{SELECT * FROM gpu_predict_rows(gpu_ols_fit('SELECT i AS y, i * i AS x1
	FROM generate_series(1, 9) i'), 'postgres.rows')}, user => 'bob'))[1]), '42501',
	'predictions of rows of another role');
$node->safe_psql('postgres', q{SELECT gpu_forget('rows')});
left($bytes, 'predictions');

#
# Rows that parallel workers read: the same rows in another order
#
my $parallel = 'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; '
  . 'SET parallel_leader_participation = off';
my $by_workers = "SELECT gpu_keep('by workers', 'SELECT $columns FROM t')";
my $workers_slow = q{SELECT gpu_keep('slow', 'SELECT y, worker_napping(i) AS x, g FROM t')};
like($node->safe_psql('postgres', "$parallel; $by_workers;
	SELECT function, device, rows, workers > 0 FROM gpu_last_run()"),
	qr/^$rows\ngpu_keep\|$fitted_on\|$rows\|t$/, 'workers read the rows');
is($node->safe_psql('postgres', q{SELECT k.rows, k.bytes = t.bytes, k.columns = t.columns
	FROM gpu_kept() k, gpu_kept() t WHERE k.name = 'by workers' AND t.name = 't'}), "$rows|t|t",
	'as many, and of the same columns');
for my $case (
	[ 'gpu_ols_fit', q{formula => 'y ~ x3 + g * s + b'} ],
	[ 'gpu_ols_fit', q{formula => 'y ~ poly(big, 2) + x1', rows => 'g <> ''a'' AND won'} ],
	[ 'gpu_logreg_fit', q{formula => 'won ~ x1 + x3 + g', weights => 'w'} ],
	[ 'gpu_glm_fit', q{formula => 'count ~ x1 + s', family => 'poisson', offsets => 'x3'} ])
{
	my ($function, $options) = @$case;

	is($node->safe_psql('postgres', "SELECT difference(k.coef, t.coef) < 1e-11, difference(k.vcov, t.vcov) < 1e-11,
		(k.terms, k.n, k.n_skipped, without_bits(k.design)) IS NOT DISTINCT FROM
			(t.terms, t.n, t.n_skipped, without_bits(t.design))
		FROM $function(kept => 'by workers', $options) k, $function(kept => 't', $options) t"), 't|t|t',
		"$function to rows that workers have read: $options");
}
is($node->safe_psql('postgres', "$parallel; " . q{SELECT gpu_keep('by workers', 'SELECT i, y, x1, g FROM t', true);
	SELECT max(abs(k.estimate - q.estimate)) < 1e-12
	FROM gpu_ols_boot_replicates(kept => 'by workers', key => 'i', reps => 50, formula => 'y ~ x1 + g') k
	JOIN gpu_ols_boot_replicates('SELECT i, y, x1, g FROM t', 50, 'i', formula => 'y ~ x1 + g') q
		USING (replicate, term)}), "$rows\nt", 'a bootstrap is of the same replicates, whatever the order');
is($node->safe_psql('postgres', "$parallel; SELECT gpu_keep('by workers', 'SELECT y, x1, s FROM t ORDER BY i', true);
	SELECT (gpu_ols_fit(kept => 'by workers')).coef = (gpu_ols_fit('SELECT y, x1, s FROM t ORDER BY i')).coef"),
	"$rows\nt", 'ORDER BY is heeded');
$node->safe_psql('postgres', q{SELECT gpu_forget('by workers');
	CREATE TABLE wide AS SELECT y, x1, i, CASE WHEN i = 4321 THEN 'NaN'::float8 ELSE i END AS nan FROM t;
	ANALYZE wide});
for my $case (
	[ 'SELECT y, nan FROM wide', '22023', 'NaN' ],
	[ 'SELECT y, 1 / (i - 4321) FROM wide', '22012', 'an error of the query' ],
	[ 'SELECT y, repeat(i::text, 400) FROM wide', '54000', 'a long level' ],
	[ 'SELECT y, i::text || g FROM wide, (VALUES (1), (2), (3)) v (g)', '54000', 'too many levels' ],
	[ 'SELECT y, x1 FROM wide WHERE i < 0', 'P0002', 'no rows' ])
{
	my ($query, $state, $name) = @$case;

	error_is($node, "$parallel; SELECT gpu_keep('by workers', '$query')", $state, "workers: $name");
	left($bytes, "workers: $name");
}
for my $way (qw(cancel terminate))
{
	my $session = start_session($node, "workers_$way", split(/; /, $parallel), $workers_slow);
	my $backend = wait_active($node, "workers_$way", 'gpu_keep');

	cmp_ok(service_becomes(qr/^$pid\|\d+\|1\|/), '<', 10, "workers, $way: rows are on their way") or diag(service());
	cmp_ok($node->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE leader_pid = $backend"), '>', 0,
		"workers, $way: there are some");
	$node->safe_psql('postgres', "SELECT pg_${way}_backend($backend)");
	my (undef, $err) = finish_session($session);
	is(sqlstate($err), $way eq 'cancel' ? '57014' : '57P01', "workers, $way: the error");
	left($bytes, "workers, $way");
}
$node->safe_psql('postgres', "ALTER SYSTEM SET gpureg.service_memory = '2MB'; SELECT pg_reload_conf()");
sleep 0.5;
like(error_is($node, "$parallel; " . q{SELECT gpu_keep('large', 'SELECT y, x1, v FROM wide, generate_series(1, 40) v')},
		'53200', 'workers: more than there is memory for'), qr/not enough memory in the device service/, 'is said so');
left($bytes, 'workers: rows that did not fit');
$node->safe_psql('postgres', q{ALTER SYSTEM RESET gpureg.service_memory; SELECT pg_reload_conf(); DROP TABLE wide});
sleep 0.5;
survived($node, $postmaster, 'workers');

# in a transaction
is($node->safe_psql('postgres', "BEGIN; $again; ROLLBACK; $fit"), "$rows\n$expected", 'ROLLBACK leaves what is kept');

#
# Sessions that end while rows are being kept or used
#
for my $way (qw(cancel terminate))
{
	my $session = start_session($node, $way, $slow);
	my $backend = wait_active($node, $way, 'gpu_keep');

	cmp_ok(service_becomes(qr/^$pid\|\d+\|1\|/), '<', 10, "$way: rows are on their way") or diag(service());
	error_is($node, $slow, '55006', "$way: somebody else keeps rows by the name");
	error_is($node, q{SELECT gpu_ols_fit(kept => 'slow')}, '42704', "$way: rows that are not there yet");
	is($node->safe_psql('postgres', "$names; SELECT gpu_forget('slow')"), "t\nf", "$way: nor in the list");
	my $started = time;
	$node->safe_psql('postgres', "SELECT pg_${way}_backend($backend)");
	my (undef, $err) = finish_session($session);
	cmp_ok(time - $started, '<', $prompt, "$way: promptly");
	is(sqlstate($err), $way eq 'cancel' ? '57014' : '57P01', "$way: the error");
	left($bytes, $way);
	is($node->safe_psql('postgres', q{SELECT gpu_keep('slow', 'SELECT y, x1 FROM t'); SELECT gpu_forget('slow')}),
		"$rows\nt", "$way: the name is free");
}
my $passing = q{SELECT gpu_logreg_fit(kept => 't', formula => 'won ~ x1 + x2', solver => 'gd', learning_rate => 1e-9,
	tol => 1e-300, max_iter => 2000000000)};
my $session = start_session($node, 'passing', $passing, $fit);
wait_active($node, 'passing', 'gpu_logreg_fit');
is($node->safe_psql('postgres', "$again; $fit"), "$rows\n$expected", 'rows that are used are replaced');

# a name that is replaced again and again while fits run: each fit must have one set or the next
my $replacing = start_session($node, 'replacing', "DO \$\$ BEGIN FOR k IN 1 .. 100000 LOOP PERFORM gpu_keep('turns',
	'SELECT y, x1 FROM t', true); COMMIT; END LOOP; END \$\$");
wait_active($node, 'replacing', 'gpu_keep');
$node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM gpu_kept() WHERE name = 'turns'});
is($node->safe_psql('postgres', q{
	CREATE FUNCTION fits_in_turn(n int) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		failed text[];
		hits int := 0;
	BEGIN
		FOR k IN 1 .. n LOOP
			BEGIN
				hits := hits + ((gpu_ols_fit(kept => 'turns', formula => 'y ~ x1')).n > 0)::int;
			EXCEPTION WHEN OTHERS THEN
				failed := failed || SQLERRM;
			END;
		END LOOP;
		RETURN format('%s %s', hits, failed[1]);
	END $$;
	SELECT fits_in_turn(1000)}), '1000 ', 'fits to rows that are replaced all the time');
$node->safe_psql('postgres', q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'replacing'});
like((finish_session($replacing))[1], qr/57014/, 'which went on all the while');
$node->safe_psql('postgres', q{DROP FUNCTION fits_in_turn; SELECT gpu_forget('turns')});
is($node->safe_psql('postgres', q{SELECT gpu_forget('t')}), 't', 'and let go');
like(service(), qr/^$pid\|\d+\|1\|/, 'while that fit goes on');
$node->safe_psql('postgres', q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'passing'});
my (undef, $err) = finish_session($session);
like($err, qr/57014.*42704/s, 'which is cancelled, and the next one has nothing to fit to');
left(0, 'a fit that was cancelled');
survived($node, $postmaster, 'who ends');
is((split /\|/, service())[0], $pid, 'and the service is the same');

#
# Memory
#
$node->safe_psql('postgres', "ALTER SYSTEM SET gpureg.service_memory = '2MB'; SELECT pg_reload_conf()");
sleep 0.5;
my $large = q{SELECT gpu_keep('large', 'SELECT y, x1, x2 FROM t, generate_series(1, 40)')};
like(error_is($node, $large, '53200', 'more than there is memory for'), qr/not enough memory in the device service/,
	'is said so');
left(0, 'rows that did not fit');
is($node->safe_psql('postgres', q{SELECT gpu_keep('large', 'SELECT y, x1, x2 FROM t, generate_series(1, 10)')}),
	10 * $rows, 'what fits is kept');
my $took = $node->safe_psql('postgres', 'SELECT bytes FROM gpu_kept()');
ok($took > 10 * $rows * 24 && $took < 10 * $rows * 24 + 200, 'with its description') or diag($took);
left($took, 'what fits');
my $started = time;
error_is($node, q{SELECT gpu_ols_fit(kept => 'large')}, '53200', 'a fit beside which there is no room');
cmp_ok(time - $started, '<', $prompt, 'does not wait for what is kept');
is($node->safe_psql('postgres', q{SELECT (gpu_ols_fit(kept => 'large', rows => 'x2 = 3')).n =
	(SELECT 10 * count(*) FROM t WHERE x2 = 3)}), 't', 'a filter leaves less');
$node->safe_psql('postgres', q{SELECT gpu_forget('large'); ALTER SYSTEM RESET gpureg.service_memory;
	SELECT pg_reload_conf()});
left(0, 'memory');

# the largest number of sets
is($node->safe_psql('postgres', q{SELECT sum(gpu_keep('set' || k, 'SELECT y, x1 FROM t LIMIT 10'))
	FROM generate_series(1, 64) k}), '640', 'many sets');
error_is($node, $keep, '53400', 'one more');
is($node->safe_psql('postgres', q{SELECT count(*) FROM gpu_kept() WHERE gpu_forget(name)}), '64', 'all are let go');
left(0, 'many sets');

# the sets of a dropped database must go as soon as anyone keeps others or lists them
$node->safe_psql('postgres', 'CREATE DATABASE leaving');
for my $way ($keep, $names)
{
	$node->safe_psql('postgres', 'CREATE DATABASE dropped');
	for my $database (qw(dropped leaving))
	{
		$node->safe_psql($database, q{CREATE EXTENSION IF NOT EXISTS gpureg;
			SELECT gpu_keep('one', 'SELECT i, i * 2 FROM generate_series(1, 1000) i', replace => true)});
	}
	my $took = $node->safe_psql('leaving', 'SELECT bytes FROM gpu_kept()');
	ok($took > 1000 * 16 && $took < 1000 * 16 + 200, 'a set of a database') or diag($took);
	left(2 * $took, 'sets of two databases');
	$node->safe_psql('postgres', 'DROP DATABASE dropped');
	$node->safe_psql('postgres', "$way; SELECT gpu_forget('t')");
	left($took, 'the set of one');
	is($node->safe_psql('leaving', 'SELECT name FROM gpu_kept()'), 'one', 'of the one that is there');
}
$node->safe_psql('postgres', 'DROP DATABASE leaving');
is($node->safe_psql('postgres', $names), 'none', 'none is listed in another');
left(0, 'dropped databases');

#
# The service ends
#
$node->safe_psql('postgres', "$keep; ALTER SYSTEM SET gpureg.service_idle = 1; SELECT pg_reload_conf()");
($pid) = split /\|/, service();
sleep 4;
is($node->safe_psql('postgres', $fit), $expected, 'a service that keeps rows stays');
is((split /\|/, service())[0], $pid, 'the same one');
$node->safe_psql('postgres', q{SELECT gpu_forget('t')});
for (1 .. 100)
{
	last if !services();
	sleep 0.1;
}
is(scalar(services()), 0, 'and ends when there are none');
$node->safe_psql('postgres', 'ALTER SYSTEM RESET gpureg.service_idle; SELECT pg_reload_conf()');
my $open = open_psql($node, 'open');
is((psql_says($open, "$keep;\n$fit;"))[0], "$rows\n$expected\n", 'a session keeps rows');
($pid) = split /\|/, service();
kill 'TERM', $pid;
for (1 .. 100)
{
	last if !services();
	sleep 0.1;
}
is($node->safe_psql('postgres', $names), 'none', 'kept rows go with their service');
my ($out, $messages) = psql_says($open, "$fit;\n$keep;\n$fit;");
is(sqlstate($messages), '42704', 'which a fit says');
is($out, "$rows\n$expected\n", 'and the same session keeps them anew');
close_psql($open);
$node->restart;
$postmaster = postmaster_pid($node);
is($node->safe_psql('postgres', $names), 'none', 'kept rows go with the server');
is($node->safe_psql('postgres', "$keep; $fit"), "$rows\n$expected", 'and are kept anew');
survived($node, $postmaster, 'ends of services');

#
# Servers without a service
#
error_is($node, "SET gpureg.enable_service = off; $fit", '55000', 'gpureg.enable_service is off');
error_is($node, "SET gpureg.enable_service = off; $again", '55000', 'gpureg.enable_service is off, and rows to keep');
if (on_gpu())
{
	# the CPU's service beside the GPU's
	is($node->safe_psql('postgres', "SET gpureg.device = cpu; $again; SELECT device FROM gpu_kept(); $names"),
		"$rows\ncpu\nt", 'rows are kept on the CPU beside a GPU');
	my ($there, $device) = split /\n/, $node->safe_psql('postgres', "$fit; SELECT device FROM gpu_last_run()");
	cmp_ok(relative_difference($there, $expected), '<', 1e-12, 'and give what the GPU gave');
	is($device, 'cpu, device service', 'where they are, whatever gpureg.device says');
	is(scalar(services()), 2, 'each device has a service');
	is($node->safe_psql('postgres', "$again; $fit; SELECT device <> 'cpu' FROM gpu_kept()"), "$rows\n$expected\nt",
		'and are kept on the GPU again');
}
else
{
  SKIP:
	{
		skip 'this machine has a GPU', 2 if `nvidia-smi -L 2>/dev/null` =~ /^GPU /m;
		error_is($node, "SET gpureg.device = gpu; $again", '0A000', 'a GPU is insisted on');
	}
}
if ($preloads)
{
	$node->append_conf('postgresql.conf', "shared_preload_libraries = ''\n");
	$node->restart;
	like(error_is($node, $keep, '55000', 'a library that was not preloaded'), qr/HINT: .*shared_preload_libraries/,
		'is said so');
	is($node->safe_psql('postgres', "$names; SELECT gpu_forget('t')"), "none\nf", 'and nothing is kept');
}
done_testing();
