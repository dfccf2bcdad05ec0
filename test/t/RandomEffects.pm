# Random problems with absorbed effects: one to three factors of random numbers of levels, crossed, nested or
# unconnected, fitted with the effects absorbed and with a dummy variable per level. Terms, degrees of freedom,
# coefficients and standard errors must agree. For 020_random_fits.pl and script/random-fits.
package RandomEffects;

use strict;
use warnings;

use Exporter 'import';
use RandomTables qw(between chance pick);

our @EXPORT = qw(effects_setup effects_script);

# Returns SQL to run once in a database, after fits_setup().
sub effects_setup
{
	return q{
		-- NULL if the two fits agree, else what differs; query: y, x1 .. , the factors, c, w and f
		CREATE FUNCTION effects_differ(query text, terms text, factors text[], vcov text, options jsonb) RETURNS text
			LANGUAGE plpgsql AS $$
		DECLARE
			a gpu_model; b gpu_model; a_state text := '00000'; several text[] := '{}'; f text; n int; k int; j int;
			scale float8; x_names text[]; clusters text[] := CASE WHEN vcov LIKE 'CR%' THEN '{c}'::text[] END;
		BEGIN
			BEGIN
				a := gpu_ols_fit(query, formula => 'y ~ ' || terms || ' | ' || array_to_string(factors, ' + '),
								 vcov => vcov, clusters => clusters, weights => options->>'weights',
								 frequencies => options->>'frequencies');
			EXCEPTION WHEN no_data_found OR invalid_parameter_value THEN a_state := SQLSTATE;
			END;
			FOREACH f IN ARRAY factors LOOP
				EXECUTE format('SELECT count(DISTINCT %I) FROM (%s) q WHERE q IS NOT NULL', f, query) INTO n;
				IF n > 1 THEN several := several || ('factor(' || f || ')'); END IF;
			END LOOP;
			BEGIN
				b := gpu_ols_fit('SELECT * FROM (' || query || ') q WHERE q IS NOT NULL', vcov => vcov,
								 formula => 'y ~ ' || array_to_string(several || terms, ' + '),
								 clusters => clusters, weights => options->>'weights',
								 frequencies => options->>'frequencies');
			EXCEPTION WHEN no_data_found OR invalid_parameter_value THEN
				RETURN CASE WHEN a_state = '00000' THEN 'only dummies fail: ' || SQLERRM END;
			END;
			IF a_state <> '00000' THEN
				-- without singletons there may be a single cluster
				RETURN CASE WHEN (b).df_residual > 0 AND vcov NOT LIKE 'CR%'
					THEN 'only absorbed effects fail: ' || a_state END;
			END IF;
			IF (a).df_residual <> (b).df_residual THEN
				RETURN format('degrees of freedom: %s and %s', (a).df_residual, (b).df_residual);
			END IF;
			IF (b).df_residual = 0 OR (b).deviance <= 1e-14 * (b).null_deviance THEN RETURN NULL; END IF;
			-- dropped singletons count in HC1's n
			scale := CASE vcov WHEN 'HC1' THEN sqrt((b).n::float8 / (a).n) ELSE 1 END;
			FOR k IN 1 .. cardinality((a).terms) LOOP
				j := cardinality((b).terms) - cardinality((a).terms) + k;
				IF ((a).coef[k] IS NULL) <> ((b).coef[j] IS NULL) THEN
					RETURN format('%s: %s and %s', (a).terms[k], (a).coef[k], (b).coef[j]);
				END IF;
				CONTINUE WHEN (a).coef[k] IS NULL OR (b).vcov[j][j] IS NULL OR (a).vcov[k][k] IS NULL;
				IF abs((a).coef[k] - (b).coef[j]) > 1e-11 * greatest(abs((b).coef[j]), sqrt((b).vcov[j][j])) OR
				   abs(sqrt((a).vcov[k][k]) * scale - sqrt((b).vcov[j][j])) > 1e-11 * sqrt((b).vcov[j][j]) THEN
					RETURN format('%s: %s (%s) and %s (%s)', (a).terms[k], (a).coef[k], sqrt((a).vcov[k][k]) * scale,
								  (b).coef[j], sqrt((b).vcov[j][j]));
				END IF;
			END LOOP;
			RETURN NULL;
		END $$;};
}

# Draws a factor's expression in the row number i, given earlier ones.
sub draw_factor
{
	my ($k, $n, @earlier) = @_;
	my $levels = pick(1, between(2, 4), between(3, 12), between(2, 2 + int($n / 3)));
	my $kind = pick(('crossed') x 5, 'nested', 'ring', 'blocks', 'apart');

	return "$earlier[0] / " . between(2, 4) if $kind eq 'nested' && @earlier;
	return "i % $levels" if $kind eq 'ring';
	return "i / " . between(1, 6) if $kind eq 'blocks';
	return "($earlier[0] % 2) * 1000 + floor(u(i, 70$k) * $levels)::int" if $kind eq 'apart' && @earlier;
	return "floor(u(i, 70$k) * u(i, 71$k) * $levels)::int" if chance(0.3);
	return "floor(u(i, 70$k) * $levels)::int";
}

# Returns a psql script that prints a line: empty if the fits agree.
sub effects_script
{
	my ($seed, $number) = @_;

	srand($seed * 1_000_003 + $number);
	my $n = pick(between(3, 20), between(20, 120), between(60, 300));
	my $vcov = pick('iid', 'iid', 'HC0', 'HC1', 'CR0');
	my (@factors, @columns, @terms);

	for my $k (1 .. pick(1, 2, 2, 3, 3))
	{
		my $value = draw_factor($k, $n, @factors);
		my $type = pick('int', 'int', 'text', 'bigint');
		push @factors, "($value)";
		push @columns, (chance(0.1) ? "CASE WHEN u(i, 80$k) > 0.05 THEN ($value)::$type END" : "($value)::$type")
		  . " AS g$k";
	}
	for my $k (1 .. between(1, 4))
	{
		my $u = "u(i, $k)";
		push @terms, "x$k";
		# passes over the rows of dummies lose digits of columns far from 0
		push @columns, pick("$u * 20 - 10", "$u - 0.5", $vcov eq 'iid' ? "1e6 + $u" : "10 + $u",
			"floor($u * 6)", "floor($u + 0.3)", "($factors[0] * $factors[0] % 7)", "$u + $factors[-1]") . " AS x$k";
	}
	my $y = join ' + ', (map { "x$_" } 1 .. @terms), map { "sin($_)" } @factors;
	my $query = 'SELECT y, ' . join(', ', @terms, (map { "g$_" } 1 .. @factors), 'c', 'w', 'f') . ' FROM effects';
	my $options = pick('{}', '{}', '{"weights": "w"}', '{"frequencies": "f"}');
	my $list = '{' . join(',', map { "g$_" } 1 .. @factors) . '}';

	return "SET client_min_messages = error;\nDROP TABLE IF EXISTS effects;\n"
	  . "CREATE UNLOGGED TABLE effects AS SELECT *, $y + u(i, 501) - u(i, 502) AS y FROM (SELECT i, "
	  . join(', ', @columns) . ", i % 7 AS c, CASE WHEN u(i, 601) < 0.1 THEN 0 ELSE u(i, 602) * 3 END AS w,"
	  . " floor(u(i, 603) * 4)::int AS f FROM generate_series(1, $n) i) q;\n"
	  . "SELECT '\@' || coalesce(effects_differ('$query', '" . join(' + ', @terms)
	  . "', '$list', '$vcov', '$options'), '');\n";
}

1;
