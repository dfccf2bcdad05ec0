# Random problems that are fitted in several ways: the same rows from arrays, by an aggregate, by a query, from states
# and from kept rows; by the executor's rows and by the scan's, in one process and in workers, through the ring, over
# several sinks, by a device service. Results must agree: errors in their SQLSTATE, counts exactly, numbers to the
# digits that a problem's kind is promised. For 020_random_fits.pl and script/random-fits.
#
# Three kinds of ways fit other rows whose answer follows from the first way's: the response stands anywhere among the
# columns and the formula says ".", the response is scaled by a power of two, and rows are repeated instead of having
# frequencies.
#
# A problem depends only on the seed and its number: Perl's generator draws everything before anything is run, and
# values are hashes of (row, column).
package RandomFits;

use strict;
use warnings;

use Exporter 'import';
use RandomTables qw(between chance pick);

our @EXPORT = qw(fits_setup draw_problem problem_script read_answers disagreements);

# Returns SQL to run once in a database.
sub fits_setup
{
	return q{
		CREATE EXTENSION IF NOT EXISTS gpureg;
		-- a number of [0, 1) that depends on row and column
		CREATE FUNCTION u(i int, k int) RETURNS float8 LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
			'SELECT (hashint8extended(i::bigint * 1000003 + k, 97) & 4503599627370495) / 4503599627370496.0::float8';
		-- what of a model is compared: counts, and which terms are separated; coefficients; their standard errors;
		-- deviances
		CREATE FUNCTION shown(m gpu_model) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
			SELECT concat_ws('|', concat_ws(',', (m).n, (m).n_skipped, (m).rank, (m).df_residual, (m).converged,
											cardinality((m).coef),
											(SELECT string_agg(array_position((m).terms, s)::text, '+' ORDER BY i)
											 FROM unnest((m).separated) WITH ORDINALITY _ (s, i))),
							 array_to_string((m).coef, ',', 'NULL'),
							 (SELECT string_agg(coalesce(sqrt((m).vcov[k][k])::text, 'NULL'), ',' ORDER BY k)
							  FROM generate_subscripts((m).coef, 1) k),
							 concat_ws(',', coalesce((m).deviance::text, 'NULL'),
									   coalesce((m).null_deviance::text, 'NULL')))
			WHERE m IS NOT NULL OR (m).n IS NOT NULL
		$$;
		-- a model of a response that was scaled by 2^k, shown in the units of the response before: coefficients are
		-- divided by 2^(k * power), the deviances by 2^(k * deviances); the intercept of a log link is less k log 2
		CREATE FUNCTION shown(m gpu_model, k int, power int, deviances int, log_link boolean) RETURNS text
			LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
			WITH units AS (SELECT power(2::float8, k * power) AS unit, power(2::float8, k * deviances / 2) AS root)
			SELECT concat_ws('|', split_part(shown(m), '|', 1),
							 (SELECT string_agg(coalesce(((c - CASE WHEN log_link AND i = 1 THEN k * ln(2::float8) ELSE 0 END)
														  / unit)::text, 'NULL'), ',' ORDER BY i)
							  FROM unnest((m).coef) WITH ORDINALITY _ (c, i)),
							 (SELECT string_agg(coalesce((sqrt((m).vcov[j][j]) / unit)::text, 'NULL'), ',' ORDER BY j)
							  FROM generate_subscripts((m).coef, 1) j),
							 concat_ws(',', coalesce(((m).deviance / root / root)::text, 'NULL'),
									   coalesce(((m).null_deviance / root / root)::text, 'NULL')))
			FROM units
			WHERE m IS NOT NULL OR (m).n IS NOT NULL
		$$;};
}

#
# Problems
#

# Draws a feature's expression in the row number i. $earlier: earlier features whose values are integers.
sub draw_feature
{
	my ($k, $whole, $intercept, $empty) = @_;
	my $u = "u(i, $k)";

	return ('zero', '0') if $empty;
	my $kind = pick(('plain') x 6, ('normal') x 3, ('counts') x 4, 'binary', 'offset', 'far', 'large', 'small',
		'constant', 'sum', 'near');

	# for columns near 1e9 about 0 and few rows, rounding decides whether others depend on them
	return ('plain', "$u * 20 - 10") if $kind eq 'plain' || ($kind eq 'far' && !$intercept)
	  || (@$whole < 2 && $kind =~ /^(?:sum|near)$/);
	return ($kind, "u(i, $k) + u(i, $k + 400) + u(i, $k + 800) + u(i, $k + 1200) - 2") if $kind eq 'normal';
	return ($kind, "floor($u * 6)") if $kind eq 'counts';
	return ($kind, "floor($u + 0.3)") if $kind eq 'binary';
	return ($kind, "1e6 + $u") if $kind eq 'offset';
	return ($kind, "1e9 + floor($u * 100)") if $kind eq 'far';
	return ($kind, "($u - 0.5) * 1e80") if $kind eq 'large';
	return ($kind, "($u - 0.5) * 1e-80") if $kind eq 'small';
	return ($kind, pick('3.25', '0', '1')) if $kind eq 'constant';
	return ($kind, "($whole->[0]) - 2 * ($whole->[1])") if $kind eq 'sum';
	return ($kind, "($whole->[0]) + 1e-5 * $u");
}

# Draws the feature's column type.
sub draw_type
{
	my ($kind) = @_;

	return 'float8' if $kind =~ /^(?:large|small|far|near|offset)$/;
	return pick('float8', 'int4') if $kind eq 'zero';
	return pick('float8', 'float8', 'int4', 'int2', 'int8', 'numeric', 'float4') if $kind =~ /^(?:counts|binary)$/;
	return pick(('float8') x 4, 'float4', 'numeric');
}

# Families and links beside those that have functions of their own. power: a response in units of 1/s multiplies
# coefficients by s^power, deviances by s^deviances; undef if the family fixes the response's unit.
my @GLMS = (
	{ family => 'gaussian', link => 'log', power => 0, deviances => 2 },
	{ family => 'gamma', link => 'log', power => 0, deviances => 0 },
	{ family => 'gamma', link => 'inverse', power => -1, deviances => 0 },
	{ family => 'gamma', link => 'identity', power => 1, deviances => 0 },
	{ family => 'binomial', link => 'probit' },
	{ family => 'binomial', link => 'cloglog' },
	{ family => 'poisson', link => 'sqrt' });

# Draws the exponent of the power of two that scales the response: mostly moderate, sometimes at the ends of float8's
# range.
sub draw_exponent
{
	return pick(between(-60, 60), between(-60, 60), between(-500, 500), between(-1000, 1000));
}

# Draws a problem: its properties, its table's columns and rows.
sub draw_problem
{
	my ($seed, $number) = @_;

	srand($seed * 1_000_003 + $number);
	my $family = pick(('ols') x 5, ('wls') x 2, 'frequencies', ('logit') x 3, 'poisson', ('glm') x 3);
	my $n = pick(between(0, 12), (between(5, 60)) x 2, (between(60, 600)) x 3, between(600, 5000));
	my $p = pick(1, between(1, 4), between(2, 8), between(2, 8), between(5, 16));
	# no term is active: columns of zeros, and no intercept
	my $empty = chance(0.04);
	my $intercept = !$empty && chance(0.85);
	my (@features, @whole);

	for my $k (1 .. $p)
	{
		my ($kind, $value) = draw_feature($k, \@whole, $intercept, $empty);
		my $type = draw_type($kind);
		push @whole, $value if $kind eq 'counts' || $kind eq 'binary';
		push @features, { name => "x$k", kind => $kind, type => $type, value => $value,
			nulls => pick((0) x 6, 0.02, 0.4) };
	}
	my %problem = (
		seed => $seed,
		number => $number,
		family => $family,
		n => $n,
		p => $p,
		features => \@features,
		intercept => $intercept ? 'true' : 'false',
		parts => pick(1, 2, 7, 40),
		dirt => pick((undef) x 12, 'NaN', 'Infinity'),
		filter => pick((undef) x 3, 'part <> 0', 'u(i, 900) < 0.5', 'x1 > 1', 'false'),
		array => chance(0.3),
		noise => pick(0.1, 1, 1, 10));
	$problem{glm} = pick(@GLMS) if $family eq 'glm';
	$problem{exponent} = draw_exponent();
	# places of the response and of the column with a role among the features
	$problem{places} = [ between(0, $p), between(0, $p + 1) ];
	$problem{frequencies} = $family eq 'frequencies' || ($family =~ /logit|poisson|glm/ && chance(0.4));
	$problem{vcov} = $family =~ /frequencies|glm/ ? pick(('iid') x 3, 'HC0', 'HC1', 'HC2', 'HC3') : 'iid';
	return \%problem;
}

# Returns the features' part of the response: of features of common size, so that families' means are in range.
sub linear_part
{
	my ($problem, $size) = @_;
	my @usual = grep { $_->{kind} =~ /^(?:plain|normal|counts|binary|sum)$/ } @{ $problem->{features} };

	return join ' + ', '0.3',
	  map { sprintf('%.3f * (%s)', $size * ($_ % 3 - 0.9) / (1 + $_), $usual[$_ - 1]{value}) } 1 .. @usual;
}

sub response_of
{
	my ($problem) = @_;
	my $noise = "(u(i, 501) + u(i, 502) + u(i, 503) - 1.5)";

	return ('float8', linear_part($problem, 1) . " + $problem->{noise} * $noise")
	  if $problem->{family} !~ /logit|poisson|glm/;
	return ('bool', '(' . linear_part($problem, 0.3) . ") + 4 * $noise > 0")
	  if $problem->{family} eq 'logit' || ($problem->{glm} && $problem->{glm}{family} eq 'binomial');
	return ('float8', 'exp(least((' . linear_part($problem, 0.03) . "), 5)) * (0.5 + u(i, 504))")
	  if $problem->{glm} && $problem->{glm}{family} ne 'poisson';
	return ('int4', 'floor(exp(least((' . linear_part($problem, 0.03) . "), 5)) * 3 * u(i, 504))");
}

sub table_sql
{
	my ($problem) = @_;
	my ($type, $response) = response_of($problem);
	my $dirt = $problem->{dirt};
	my @columns = ([ 'y', $type, $response ],
		(map { [ $_->{name}, $_->{type}, $_->{value}, $_->{nulls} ] } @{ $problem->{features} }),
		[ 'w', 'float8', 'CASE WHEN u(i, 601) < 0.1 THEN 0 ELSE u(i, 602) * 3 END' ],
		[ 'f', 'int4', 'floor(u(i, 603) * 4)' ]);
	my $dirty = between(1, $problem->{n} || 1);
	my @values = map {
		my ($name, $type, $value, $nulls) = @$_;
		my $k = 1000 + ($name =~ /(\d+)/ ? $1 : 0);
		my $cast = "($value)::$type";
		$cast = "CASE WHEN u(i, $k) < $nulls THEN NULL ELSE $cast END" if $nulls;
		$cast = "CASE WHEN i = $dirty THEN '$dirt' ELSE $cast END" if $dirt && $name eq 'x1' && $type eq 'float8';
		"$cast AS $name";
	} @columns;
	my $list = join ', ', map { "$_->{name}" . ($_->{type} eq 'numeric' ? '::float8' : '') } @{ $problem->{features} };

	return "CREATE UNLOGGED TABLE fits AS SELECT i, i % $problem->{parts} AS part, " . join(', ', @values)
	  . ", NULL::float8[] AS xs FROM generate_series(1, $problem->{n}) i;\n"
	  . "UPDATE fits SET xs = ARRAY[$list]::float8[];\n"
	  . "VACUUM (ANALYZE) fits;\n";
}

#
# Ways
#

my %SETTINGS = (
	plain => {},
	scan => { 'gpureg.enable_scan' => 'on' },
	workers => { max_parallel_workers_per_gather => 2 },
	'scan, workers' => { 'gpureg.enable_scan' => 'on', max_parallel_workers_per_gather => 2 },
	ring => { 'gpureg.debug_ring' => 'on' },
	spi => { 'gpureg.read' => 'spi' },
	'spi, workers' => { 'gpureg.read' => 'spi', max_parallel_workers_per_gather => 2 },
	'ring, scan, workers' =>
	  { 'gpureg.debug_ring' => 'on', 'gpureg.enable_scan' => 'on', max_parallel_workers_per_gather => 2 },
	sinks => { 'gpureg.debug_sinks' => 3 },
	service => { 'gpureg.device' => 'gpu' },
	'service, scan, workers' =>
	  { 'gpureg.device' => 'gpu', 'gpureg.enable_scan' => 'on', max_parallel_workers_per_gather => 2 });

# Settings under which rows are kept: see GpuregTest.pm
my %KEEPING = ($ENV{GPUREG_TAP_DEVICE} // '') eq 'gpu' ? ('gpureg.device' => 'gpu') : ();

my %USUAL = ('gpureg.device' => 'cpu', 'gpureg.enable_scan' => 'off', max_parallel_workers_per_gather => 0,
	'gpureg.debug_ring' => 'off', 'gpureg.read' => 'auto', 'gpureg.debug_sinks' => 0, parallel_setup_cost => 0,
	parallel_tuple_cost => 0,
	min_parallel_table_scan_size => 0, 'gpureg.enable_rewrite' => 'on', jit => 'off', client_min_messages => 'error');

sub quoted
{
	my ($text) = @_;
	return "'" . ($text =~ s/'/''/gr) . "'";
}

# Returns the columns of a query in which the response and the column with a role stand among these features.
sub placed
{
	my ($problem, @features) = @_;
	my ($response, $role) = @{ $problem->{places} };
	my @columns = @features;

	splice @columns, $response, 0, 'y';
	splice @columns, $role, 0, $problem->{family} eq 'wls' ? 'w' : 'f'
	  if $problem->{family} eq 'wls' || $problem->{frequencies};
	return join ', ', @columns;
}

# Returns how a fit changes with the response's unit; undef if that isn't known.
sub scale_of
{
	my ($problem) = @_;
	my $glm = $problem->{glm};

	return { power => 1, deviances => 2, log => 0 } if $problem->{family} =~ /^(?:ols|wls|frequencies)$/;
	return undef if !$glm || !defined $glm->{power} || ($glm->{link} eq 'log' && $problem->{intercept} ne 'true');
	return { power => $glm->{power}, deviances => $glm->{deviances}, log => $glm->{link} eq 'log' };
}

# Returns the ways: [ name, settings, statement ], where a statement gives one text. The first is compared with the
# others.
sub ways_of
{
	my ($problem) = @_;
	my $family = $problem->{family};
	my $where = defined $problem->{filter} ? " WHERE $problem->{filter}" : '';
	my @names = map { $_->{name} } @{ $problem->{features} };
	my $x = join ', ', @names;
	my $floats = join ', ', map { "$_\::float8" } @names;
	my $intercept = $problem->{intercept};
	my $formula = 'y ~ ' . join(' + ', @names) . ($intercept eq 'true' ? '' : ' - 1');
	my ($function, $more, $options) = ('gpu_ols_fit', '', '');
	my @ways;
	my $add = sub {
		my ($name, $settings, $statement) = @_;
		push @ways, [ "$name: $settings", $SETTINGS{$settings}, $statement ];
	};

	($more, $options) = (', w', ', weights => \'w\'') if $family eq 'wls';
	($more, $options) = (', f', ', frequencies => \'f\'') if $problem->{frequencies};
	$function = 'gpu_logreg_fit' if $family eq 'logit';
	$function = 'gpu_glm_fit' if $family =~ /poisson|glm/;
	my $alike = ($family eq 'poisson' ? ', family => \'poisson\'' : $family eq 'glm' ?
		", family => '$problem->{glm}{family}', link => '$problem->{glm}{link}', max_iter => 100" : '')
	  . ($problem->{vcov} eq 'iid' ? '' : ", vcov => '$problem->{vcov}'");
	$options .= $alike;

	my $fit = sub { "SELECT shown($function(" . quoted($_[0]) . ", intercept => $intercept$options));" };
	$add->('query', $_, $fit->("SELECT y, $x$more FROM fits$where"))
	  for 'plain', 'scan', 'workers', 'scan, workers', 'ring', 'ring, scan, workers', 'spi', 'spi, workers', 'sinks',
	  'service', 'service, scan, workers';
	$add->('query, array', $_, $fit->("SELECT y, xs$more FROM fits$where"))
	  for 'plain', 'scan, workers', 'spi', 'service';
	$add->('query, formula', $_, "SELECT shown($function(" . quoted("SELECT y, $x$more FROM fits$where")
		  . ', formula => ' . quoted($formula) . "$options));") for 'plain', 'scan';
	my $dot = quoted('y ~ .' . ($intercept eq 'true' ? '' : ' - 1'));
	$add->('query, dot', $_, "SELECT shown($function(" . quoted('SELECT ' . placed($problem, @names)
		  . " FROM fits$where") . ", formula => $dot$options));") for 'plain', 'scan, workers';
	my $scale = scale_of($problem);
	$add->('scaled', $_, "SELECT shown($function(" . quoted("SELECT y * power(2::float8, $problem->{exponent}) AS y, "
		  . "$x$more FROM fits$where") . ", intercept => $intercept$options), $problem->{exponent}, $scale->{power}, "
		  . "$scale->{deviances}, " . ($scale->{log} ? 'true' : 'false') . ");")
	  for $scale && !$problem->{dirt} ? ('plain', 'scan, workers', 'service') : ();
	$add->('expanded', $_, "SELECT shown($function(" . quoted("SELECT y, $x FROM fits, generate_series(1, f)$where")
		  . ", intercept => $intercept$alike));")
	  for $problem->{frequencies} && !$problem->{dirt} ? ('plain', 'workers', 'service') : ();

	# columns that are float8 when they are kept
	push @ways, [ 'keep', \%KEEPING, "SELECT gpu_forget(name) FROM gpu_kept(); SELECT gpu_keep('random_fits', "
		  . quoted('SELECT ' . placed($problem, map { "$_\::float8" } @names) . ", i FROM fits$where") . ')::text;' ];
	$add->('kept', 'plain', "SELECT shown($function(kept => 'random_fits', formula => $_$options));")
	  for quoted($formula), quoted('y ~ . - i' . ($intercept eq 'true' ? '' : ' - 1'));

	# slopes don't depend on the response's unit, and the intercept differs by the unit's logarithm
	if ($family eq 'poisson' && $intercept eq 'true')
	{
		for my $k (-700, -40, 300)
		{
			$add->("coefficients, unit 2^$k", 'plain',
				"SELECT '|' || array_to_string((m).coef[1] - $k * ln(2::float8) || (m).coef[2:], ',', 'NULL') "
				  . "FROM $function(" . quoted("SELECT y * power(2::float8, $k) AS y, $x$more FROM fits$where")
				  . ", intercept => true$options) m;");
		}
	}

	# the estimates of a bootstrap and of a permutation test are the fit's
	if ($family =~ /^(?:ols|wls)$/)
	{
		for my $rows ([ 'kept', q{kept => 'random_fits'} ],
			[ 'query', 'query => ' . quoted("SELECT y, $floats$more, i FROM fits$where") ])
		{
			for my $call ('gpu_ols_boot(%s, reps => 6, kind => \'bca\'', 'gpu_ols_boot(%s, reps => 33, kind => \'basic\'',
				'gpu_ols_permute(%s, reps => 6')
			{
				my $name = $call =~ /permute/ ? 'permute' : $call =~ /bca/ ? 'boot, bca' : 'boot';
				$add->("coefficients, $name, $rows->[0]", 'plain',
					"SELECT '|' || string_agg(coalesce(estimate::text, 'NULL'), ',' ORDER BY k) FROM "
					  . sprintf($call, $rows->[1]) . ', formula => ' . quoted($formula)
					  . ", key => 'i'$options) WITH ORDINALITY _ (term, estimate"
					  . ($name eq 'permute' ? ', t, p, n' : ', e, b, l, h') . ', k);');
			}
		}
	}

	return \@ways if $intercept ne 'true' && $family ne 'ols';
	return \@ways if $problem->{frequencies} && $family ne 'frequencies';
	if ($family eq 'ols')
	{
		if ($intercept eq 'true')
		{
			$add->('aggregate', $_, "SELECT shown(gpu_ols_agg(y, $floats)) FROM fits$where;")
			  for 'plain', 'scan', 'workers', 'scan, workers';
			$add->('aggregate, grouped', $_, "SELECT shown(gpu_ols_agg(y, $floats)) FROM fits$where GROUP BY i < 0;")
			  for 'plain', 'scan, workers';
		}
		$add->('state', $_, "SELECT shown(gpu_ols_solve(gpu_ols_stats_agg(y, $floats), $intercept)) FROM fits$where;")
		  for 'plain', 'scan, workers';
		$add->('states', $_, "SELECT shown(gpu_ols_solve(gpu_ols_rollup(s), $intercept)) FROM (SELECT "
			  . "gpu_ols_stats_agg(y, $floats) AS s FROM fits$where GROUP BY part) q;") for 'plain', 'scan, workers';
		$add->('states as texts', 'plain',
			"SELECT shown(gpu_ols_solve(gpu_ols_rollup(s::text::gpu_ols_stats), $intercept)) "
			  . "FROM (SELECT gpu_ols_stats_agg(y, $floats) AS s FROM fits$where GROUP BY part) q;");
		push @ways, [ "coefficients: $_", { %{ $SETTINGS{$_} }, 'gpureg.enable_rewrite' => /scan/ ? 'on' : 'off' },
			"SELECT '|' || array_to_string(gpu_ols(array_agg(ARRAY[$floats]), array_agg(y), $intercept), ',', 'NULL') "
			  . "FROM fits$where;" ] for 'plain', 'scan', 'scan, workers', 'service';
	}
	if ($family eq 'wls')
	{
		$add->('aggregate', $_, "SELECT shown(gpu_wls_agg(w, y, $floats)) FROM fits$where;")
		  for 'plain', 'scan, workers';
	}
	if ($family eq 'logit')
	{
		$add->('aggregate', $_, "SELECT shown(gpu_logreg_agg(y, $floats)) FROM fits$where;")
		  for 'plain', 'scan, workers';
		push @ways, [ "coefficients: $_", { %{ $SETTINGS{$_} }, 'gpureg.enable_rewrite' => /scan/ ? 'on' : 'off' },
			"SELECT '|' || array_to_string(gpu_logreg(array_agg(ARRAY[$floats]), array_agg(y)), ',', 'NULL') "
			  . "FROM fits$where;" ] for 'plain', 'scan, workers', 'service';
	}
	return \@ways;
}

# Returns a psql script: the table, and every way, with marks around its output.
sub problem_script
{
	my ($problem) = @_;
	my $script = "DROP TABLE IF EXISTS fits;\n" . join('', map { "SET $_ = $USUAL{$_};\n" } sort keys %USUAL)
	  . table_sql($problem);
	my $k = 0;

	$problem->{ways} = ways_of($problem);
	for my $way (@{ $problem->{ways} })
	{
		my ($name, $settings, $statement) = @$way;
		$script .= join('', map { "SET $_ = $settings->{$_};\n" } sort keys %$settings);
		$script .= "\\echo \@begin $k\n$statement\n\\echo \@end $k :SQLSTATE\n";
		$script .= join('', map { "SET $_ = $USUAL{$_};\n" } sort keys %$settings);
		$k++;
	}
	return "$script\\echo \@done\n";
}

#
# Answers
#

# Reads psql's output. Returns a hash of SQLSTATE and text for each way; undef if psql didn't come to its end.
sub read_answers
{
	my ($out) = @_;
	my @answers;

	return undef if $out !~ /^\@done$/m;
	while ($out =~ /^\@begin (\d+)\n(.*?)^\@end \d+ (\w+)$/msg)
	{
		my ($k, $text, $state) = ($1, $2, $3);
		$answers[$k] = { text => $text =~ s/\s+$//r, state => $state };
	}
	return \@answers;
}

# Returns the distance of two lists of numbers, in units of the larger of two and of the scale.
sub distance
{
	my ($a, $b, $scales) = @_;
	my @a = split /,/, $a, -1;
	my @b = split /,/, $b, -1;
	my $worst = 0;

	return 9e99 if @a != @b;
	for my $k (0 .. $#a)
	{
		next if $a[$k] eq $b[$k];
		return 9e99 if grep { !/^[-+\d.e]+$/ } $a[$k], $b[$k];
		my $size = abs($a[$k]) > abs($b[$k]) ? abs($a[$k]) : abs($b[$k]);
		my $scale = $scales->[$k] // 0;
		$scale = 0 if $scale !~ /^[-+\d.e]+$/;
		$size = $scale if $scale > $size;
		my $away = $size > 0 ? abs($a[$k] - $b[$k]) / $size : 0;
		$worst = $away if $away > $worst;
	}
	return $worst;
}

# Returns the rounding of coefficients that are 0: a share of the largest one, in the units of their features.
sub sizes_of
{
	my ($problem, $coefficients) = @_;
	my @coef = split /,/, $coefficients, -1;
	my @unit = ((1) x (@coef - @{ $problem->{features} }),
		map { $_->{kind} eq 'large' ? 1e80 : $_->{kind} eq 'small' ? 1e-80 : 1 } @{ $problem->{features} });
	my $largest = 0;

	for my $k (0 .. $#coef)
	{
		my $size = $coef[$k] =~ /\d/ ? abs($coef[$k]) * $unit[$k] : 0;
		$largest = $size if $size > $largest;
	}
	return map { 1e-4 * $largest / $_ } @unit;
}

# Returns the least magnitudes that differences of a part are relative to: for coefficients their standard errors; for a
# deviance a share of the null deviance, of which it keeps twenty digits. The share is larger if iterations came to no
# end and a GPU sums as well: linear predictors of terms on their way to infinity cancel.
sub scales_of
{
	my ($problem, $part, @expected) = @_;
	my ($null) = $expected[3] =~ /,([-+\d.e]+)$/;
	my $share = $expected[0] =~ /,f,/ && ($ENV{GPUREG_TAP_DEVICE} // '') eq 'gpu' ? 1e-3 : 1e-7;

	return [ sizes_of($problem, $expected[1]) ]
	  if $part == 1 && is_perfect($problem, $expected[3]) && $expected[2] !~ /\d/;
	return $part == 1 ? [ split /,/, $expected[2] // '', -1 ] : $part == 3 && defined $null ? [ $share * $null ] : [];
}

# True if features are so far from 1 that squares of scores, or variances of counts in another unit, may be out of
# range.
sub is_far
{
	my ($problem) = @_;
	return abs($problem->{exponent}) > 450 || grep { $_->{kind} =~ /^(?:large|small)$/ } @{ $problem->{features} };
}

# Returns the relative error allowed of a way's numbers. A bootstrap begins with a pass over the rows, whose linear
# predictors are float8: if a fit has no standard errors to compare with, a coefficient that is small beside the others
# keeps fewer digits.
sub tolerance_of
{
	my ($problem, $part, $name, @expected) = @_;
	my ($deviance, $null) = map { /^[-+\d.e]+$/ ? $_ : 0 } split /,/, $expected[3] // '', -1;
	return 1e-10 if $name =~ /^coefficients, (?:boot|permute)/ && ($expected[2] // '') =~ /^NULL(?:,NULL)*$/;
	return 1e-11 if $name =~ /^(?:scaled|expanded)/ && $problem->{family} eq 'glm';
	# 1 - h of a row that a term fits alone is the rounding of 1
	return 1e-11 if $part == 2 && $problem->{vcov} =~ /^HC[23]$/;
	# with links other than the canonical one, steps get shorter by a factor, and the last step is that much of an error
	return 5e-12 if $problem->{family} eq 'glm' && $problem->{glm}{family} eq 'gamma';
	return 1e-12 if $problem->{family} =~ /logit|poisson|glm/;
	# standard errors contain the deviance, whose digits scales_of() knows
	return $part == 2 && $null && $deviance && 1e-20 * $null > 1e-13 * $deviance ? 1e-20 * $null / $deviance : 1e-13;
}

# True if a model's numbers stay within float8's range when the response is scaled: each coefficient and error, and the
# squares of the errors, which a model holds. Sums of squares of a linear regression are in double-double, whose low
# halves need 110 bits more.
sub can_be_scaled
{
	my ($problem, @expected) = @_;
	my $scale = scale_of($problem);
	my $least = $problem->{family} eq 'glm' ? -1015 : -900;
	my $within = sub {
		my ($numbers, $power, $times) = @_;
		for my $number (grep { /^[-+\d.e]+$/ && $_ != 0 } split /,/, $numbers // '')
		{
			my $exponent = $power * (log(abs($number)) / log(2) + $problem->{exponent} * $times);
			return 0 if $exponent > 1015 || $exponent < $least;
		}
		return 1;
	};

	return $within->($expected[1], 1, $scale->{power}) && $within->($expected[2], 2, $scale->{power})
	  && $within->($expected[3], 1, $scale->{deviances});
}

# True if the deviance is rounding error, relative to the null deviance behind it in the text, or absolutely for counts
# and classes, whose deviances have no unit.
sub is_perfect
{
	my ($problem, $deviances) = @_;
	my ($deviance, $null) = map { /^[-+\d.e]+$/ ? $_ : undef } split /,/, $deviances // '', -1;
	my $unitless = $problem->{family} =~ /^(?:logit|poisson)$/
	  || ($problem->{glm}{family} // '') =~ /^(?:poisson|binomial)$/;

	return defined $deviance && ($deviance <= 1e-14 * ($null // 0) || ($unitless && $deviance <= 1e-20));
}

# Returns disagreements as texts. largest: a reference to the largest distance of numbers so far.
sub disagreements
{
	my ($problem, $answers, $largest) = @_;
	my $first = $answers->[0];
	my @expected = split /\|/, $first->{text}, -1;
	my (@wrong, $can_be_kept);
	my $wrong = sub {
		my ($k, $what) = @_;
		push @wrong, "--seed $problem->{seed} --problem $problem->{number} ($problem->{family}): "
		  . "$problem->{ways}[$k][0]: $what\n  $problem->{ways}[0][0]: $first->{state} $first->{text}\n"
		  . "  $problem->{ways}[$k][0]: $answers->[$k]{state} $answers->[$k]{text}";
	};

	$$largest //= 0;
	for my $k (1 .. $#{ $problem->{ways} })
	{
		my $answer = $answers->[$k];
		my $name = $problem->{ways}[$k][0];
		my @got = split /\|/, $answer->{text}, -1;

		if ($name eq 'keep')
		{
			$can_be_kept = $answer->{state} eq '00000';
			# a fit may skip the row with the NaN
			$wrong->($k, 'another SQLSTATE') if !$can_be_kept && $answer->{state} ne $first->{state}
			  && !($problem->{dirt} && $answer->{state} eq '22023');
			next;
		}
		next if $name =~ /^kept|, kept/ && !$can_be_kept;
		if ($answer->{state} ne $first->{state})
		{
			# an aggregate over no rows is NULL, like PostgreSQL's, and a query's fit is an error
			next if $name =~ /^(?:aggregate|state|coefficients)/ && $answer->{text} eq ''
			  && $answer->{state} eq '00000';
			next if $name =~ /^scaled|unit 2/ && $answer->{state} eq '22003' && $first->{state} eq '00000'
			  && ($name =~ /unit/ || $problem->{vcov} ne 'iid' ? is_far($problem) :
				!can_be_scaled($problem, @expected));
			$wrong->($k, 'another SQLSTATE');
			next;
		}
		next if $first->{state} ne '00000';
		my @counts = map { $_ // '' } $got[0], $expected[0];
		# rows of a part without a complete row are in no state
		@counts = map { s/^(\d+),\d+/$1/r } @counts if $name =~ /^(?:states|expanded)/;
		# with repeated rows, a saturated fit's rank may exceed the bound, which isn't known, by rounding
		next if $name =~ /^expanded/ && $problem->{family} eq 'frequencies' && $counts[0] ne $counts[1]
		  && is_perfect($problem, $got[3])
		  && is_perfect($problem, $expected[3]);
		if ($name !~ /^coefficients/ && $counts[0] ne $counts[1])
		{
			$wrong->($k, 'other counts');
			next;
		}
		for my $part (1 .. 3)
		{
			next if $part > 1 && $name =~ /^coefficients/;
			# the deviances of a perfect fit, which has no standard errors, are rounding
			next if $part == 3 && $problem->{family} eq 'glm' && ($expected[2] // '') =~ /^(?:NULL|0)(?:,(?:NULL|0))*$/;
			my $perfect = is_perfect($problem, $got[3]) && is_perfect($problem, $expected[3]);
			next if $part == 3 && $perfect;
			# the standard errors of a perfect linear regression are made of its deviance, which is rounding
			next if $part == 2 && $perfect && $problem->{family} =~ /^(?:ols|wls|frequencies)$/;
			# coefficients on their way to infinity depend on where the iterations ended
			next if $part < 3 && $expected[0] =~ /,f,/;
			my $scales = scales_of($problem, $part, @expected);
			# repeated rows are summed otherwise than rows with a frequency; in a perfect fit the rounding remains
			$scales->[0] = 1e-3 * $1 if $part == 3 && $name =~ /^expanded/ && $expected[3] =~ /,([-+\d.e]+)$/;
			# the logarithm subtracted from the intercept was rounded
			$scales->[0] = abs($problem->{exponent}) if $part == 1 && $name =~ /^scaled/ && scale_of($problem)->{log}
			  && abs($problem->{exponent}) > ($scales->[0] =~ /^[-+\d.e]+$/ ? $scales->[0] : 0);
			my $distance = distance($got[$part] // '', $expected[$part] // '', $scales);
			$$largest = $distance if $distance > $$largest && $distance < 9e99;
			$wrong->($k, sprintf('%s apart by %.2g', (undef, 'coefficients', 'standard errors', 'deviances')[$part],
				$distance)) if $distance > tolerance_of($problem, $part, $name, @expected);
		}
	}
	return @wrong;
}

1;
