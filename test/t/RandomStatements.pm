# Random statements for 015_scan.pl, over the tables of RandomTables.pm: sums over features made of columns, with
# filters and groups, in every place that a query may stand in. A statement gives one row.
package RandomStatements;

use strict;
use warnings;

use Exporter 'import';
use RandomTables;

our @EXPORT = qw(draw_statement);

sub columns_of
{
	my ($table, $test) = @_;

	return grep { $_->{stage} ne 'dropped' && $test->() } $table->{columns}->@*;
}

# Returns columns that make usable numbers: mostly without a NaN, or sums beyond float8.
sub tame_numbers
{
	my ($table) = @_;
	my @all = columns_of($table, sub { $_->{class} eq 'number' });
	my @tame = grep { !$_->{poisoned} && $_->{kind} !~ /huge|constant|copy/ && $_->{nulls} < 1 } @all;

	return @tame > 0 && !chance(0.12) ? @tame : @all;
}

#
# Expressions
#

# Draws a number from a column of any type, as an expression that becomes float8 without a cast.
sub number_of
{
	my ($column) = @_;
	my ($name, $class) = @$column{qw(name class)};

	return pick("$name\::int", "($name)::int::float8", "CASE WHEN $name THEN 1.5 ELSE 0 END") if $class eq 'bool';
	return pick("($name - date '2020-01-01')", "extract(epoch FROM $name)", "extract(day FROM $name)::int")
		if $class eq 'date';
	return pick("extract(epoch FROM $name)", "(extract(hour FROM $name) + 1)") if $class eq 'timestamp';
	return pick("($name = 'a')::int", "length($name)", "octet_length($name)") if $class eq 'text';
	return "$name\[" . between(1, $column->{width}) . ']' if $class eq 'array';
	return pick("(hashtext($name\::text) % 100)", "coalesce(length($name\::text), 0)") if $class eq 'other';
	return $name;
}

sub draw_expression
{
	my ($table) = @_;
	my @numbers = tame_numbers($table);
	my $x = pick(@numbers)->{name};
	my $other = pick(@numbers)->{name};

	if (chance(0.2))
	{
		my @any = columns_of($table, sub { $_->{class} ne 'number' && $_->{nulls} < 1 });
		return number_of(pick(@any)) if @any;
	}
	return $x if chance(0.65);
	return pick("$x\::float8",  "$x\::real", "$x\::numeric", "$x * $other", "$x + 1", "$x / 3", "-$x", "abs($x)",
		"ln(abs($x) + 1)", "sqrt(abs($x))", "coalesce($x, 0)", "CASE WHEN $x > 0 THEN $x ELSE 0 END",
		"CASE WHEN $other IS NULL THEN 1 ELSE $x END", "nullif($x, 0)", "greatest($x, $other)", "$x - 0.5",
		"power($x, 2)", "($x > 0)::int", "round($x\::numeric, 2)", "$x\::int4", "1.0 / $x", "mod($x\::numeric, 3)",
		"$x * $x\::float8", "(SELECT max(v) FROM few) + $x", "tableoid::int % 7");
}

# Draws a response of a kind that the family takes.
sub draw_response
{
	my ($table, $family) = @_;
	my $x = pick(tame_numbers($table))->{name};
	my @bools = columns_of($table, sub { $_->{class} eq 'bool' && $_->{nulls} < 1 });

	return @bools && chance(0.5) ? pick(@bools)->{name} : pick("$x > 0", "($x > 0)::int", "$x >= 2")
		if $family eq 'binomial';
	return pick("round(abs($x))", "floor(abs($x) / 3)", "($x > 0)::int") if $family eq 'poisson';
	return "abs($x) + 0.25" if $family eq 'gamma';
	return chance(0.08) ? "$x > 1" : draw_expression($table);
}

#
# Filters
#

my @any_number = (0, 1, 2, 3, -1, '0.5', '2.5', '-3.7', '100', '0::int2', '2::int8', '1::int4', '1.5::float4',
	'2.5::float8', '2.5::numeric', q{'NaN'::float8}, q{'Infinity'::float8}, q{'-Infinity'::float8}, q{'NaN'::numeric},
	'1e10', '3000000000', 'NULL', q{'NaN'::real}, '-0.0::float8');

# Draws a constant that a column of this class compares with, as text.
sub draw_constant
{
	my ($column) = @_;
	my $class = $column->{class};
	my $small = $column->{few} ? between(0, 4) : between(-6, 6);

	return pick("(SELECT min(v) + $small FROM few)", "($small + current_date - now()::date)",
		"length(current_user) % 3", "($small + extract(year FROM now() - now()))")
	  if $class eq 'number' && chance(0.12);
	return pick($small, "$small.25", "$small.0", "${small}e-1", "-$small.500") . '::numeric'
		if $column->{type} =~ /numeric/ && chance(0.5);
	return chance(0.6) ? $small : pick(@any_number) if $class eq 'number';
	return pick('true', 'false') if $class eq 'bool';
	return pick(q{date '2020-01-20'}, q{'2020-01-05'}, q{timestamp '2020-01-10 12:00'}, q{timestamptz '2020-01-10'},
		q{'infinity'::date}, q{(current_date - (current_date - date '2020-01-09'))},
		q{timestamptz '2020-01-10 03:00+5'})
	  if $class eq 'date';
	return pick(q{timestamp '2020-01-02 03:00'}, q{'2020-01-01 10:00'}, q{date '2020-01-02'},
		q{timestamptz '2020-01-02'}, q{'-infinity'::timestamp}, q{(now() - (now() - timestamptz '2020-01-01 20:00'))},
		q{(localtimestamp - (localtimestamp - timestamp '2020-01-02 01:00'))}, q{now()})
	  if $class eq 'timestamp';
	return pick(q{'a'}, q{'b'}, q{''}, q{'x'::varchar}, q{'7'}, q{'b'::char(7)}) if $class eq 'text';
	return undef;
}

sub draw_comparison
{
	my ($column) = @_;
	my $name = $column->{name};
	my $constant = draw_constant($column);

	return pick("$name IS NULL", "$name IS NOT NULL", "coalesce(length($name\::text), 0) > 3") if !defined $constant;
	return pick($name, "NOT $name", "$name IS TRUE", "$name IS NOT FALSE", "$name IS UNKNOWN", "$name = true",
		"$name <> false")
	  if $column->{class} eq 'bool';
	my $operator = pick('<', '<=', '>', '>=', '<>', $column->{few} || chance(0.1) ? '=' : '>');
	my @more = map { draw_constant($column) } 1 .. 2;
	($constant, $more[0]) = (between(-6, 1), between(2, 8)) if $column->{class} eq 'number' && chance(0.3);
	my @choices = ("$name $operator $constant") x 8;
	push @choices, "$name IN ($constant, $more[0], $more[1])" if $column->{few} || chance(0.1);
	push @choices, "$name IS NULL" if $column->{nulls} > 0 || chance(0.1);
	push @choices, "$constant $operator $name", "$name IS NOT NULL", "$name IS DISTINCT FROM $constant",
	  "NOT ($name $operator $constant)", "$name BETWEEN $constant AND $more[0]",
	  "$name NOT IN ($constant, $more[1])", "$name $operator ANY (ARRAY[$constant, $more[0]])",
	  "coalesce($name $operator $constant, true)";
	return pick(@choices);
}

# Draws a filter of subselects, functions, other columns, system columns, or volatile expressions.
sub draw_odd_filter
{
	my ($table) = @_;
	my $name = $table->{name};
	my ($x, $other) = map { pick(tame_numbers($table))->{name} } 1 .. 2;

	return pick("$x < $other",  "abs($x) > 2", "$x + 1 > $other", "$x > (SELECT min(v) FROM few)",
		"$x >= (SELECT avg(v) FROM few WHERE few.v > g)", "EXISTS (SELECT FROM few WHERE v = 2)",
		"g IN (SELECT v FROM few)", 'random() >= 0', "tableoid > 0", "ctid <> '(0,1)'", "ctid < '(2,1)'",
		"xmin IS NOT NULL", "$x\::text IS NULL OR true", "$x * $x > 1", '1 = 1', 'false', "now() > '2000-01-01'",
		"g % 3 = 1", "10 / nullif(g, 0) > 2", "(g, 1) < (4, 2)", "$x > ALL (SELECT v - 100 FROM few)",
		"width_bucket(g, 0, 8, 4) < 4", "CASE g WHEN 1 THEN false WHEN 2 THEN $x > 0 ELSE true END");
}

sub draw_filter
{
	my ($table) = @_;
	my @columns = columns_of($table, sub { 1 });
	my @parts;

	for (1 .. pick(0, 0, 0, 1, 1, 1, 1, 2, 2, pick(3, 4)))
	{
		my $kind = pick_kind();
		push @parts, $kind eq 'odd' ? draw_odd_filter($table) : draw_comparison(pick(@columns)) if $kind ne 'or';
		push @parts, '(' . join(' OR ', map { draw_comparison(pick(@columns)) } 1 .. 2) . ')' if $kind eq 'or';
	}
	return @parts;
}

sub pick_kind
{
	return pick(('plain') x 7, 'odd', 'odd', 'or');
}

#
# Aggregates
#

sub array_of
{
	my ($table, @features) = @_;
	my @arrays = columns_of($table, sub { $_->{class} eq 'array' && ($_->{width} < 50 || chance(0.1)) });

	return pick(@arrays)->{name} if @arrays && chance(0.7);
	return 'ARRAY[' . join(', ', map { "($_)::float8" } @features) . ']';
}

# Draws one call whose value is a model, and its number of coefficients.
sub draw_aggregate
{
	my ($table, $nfeatures) = @_;
	my $kind = pick('ols', 'ols', 'ols', 'ols', 'stats', 'stats', 'wls', 'wls', 'wls_stats', 'logreg', 'logreg', 'glm');
	my %families = (logreg => 'binomial', glm => pick('poisson', 'gamma', 'binomial', 'gaussian'));
	my $family = $families{$kind} // 'gaussian';
	my @features = map { draw_expression($table) } 1 .. $nfeatures;
	my $array = chance(0.25);
	my $x = $array ? array_of($table, @features) : join ', ', @features;
	my $y = draw_response($table, $family);
	my $weight = pick('abs(' . pick(tame_numbers($table))->{name} . ')', '2', '(g > 2)::int', '1.5::real');
	my $beta = $array || chance(0.6) ? q{'{}'} : q{'{} '::float8[] || array_fill(1e-6::float8, ARRAY[}
		. ($nfeatures + 1) . '])';
	my $filter = chance(0.15) ? ' FILTER (WHERE ' . draw_comparison(pick(columns_of($table, sub { 1 }))) . ')' : '';
	my $of = $array && chance(0.5) ? '_array_agg' : '_agg';
	my $distinct = !$array && chance(0.015) ? 'DISTINCT ' : '';
	my $order = $distinct eq '' && chance(0.015) ? ' ORDER BY g' : '';

	$x = "VARIADIC $x\::float8[]" if $array && $of eq '_agg';
	my %calls = (
		ols => "gpu_ols$of($distinct$y, $x$order)$filter",
		stats => "gpu_ols_solve(gpu_ols_stats$of($distinct$y, $x$order)$filter, " . pick('true', 'false') . ')',
		wls => "gpu_wls$of($distinct$weight, $y, $x$order)$filter",
		wls_stats => "gpu_ols_solve(gpu_wls_stats$of($distinct$weight, $y, $x$order)$filter)",
		logreg => "gpu_logreg_solve(gpu_logreg_step$of($beta, $y, $x$order)$filter)",
		glm => "gpu_logreg_solve(gpu_glm_step$of('$family', NULL, $beta, $y, $x$order)$filter)");
	return $calls{$kind};
}

# Draws an aggregate that isn't gpureg's. Sums of floats depend on the order of rows, which workers don't keep.
sub draw_other_aggregate
{
	my ($table, $parallel) = @_;
	my $column = pick(columns_of($table, sub { $_->{class} ne 'array' }));
	my ($name, $class, $type) = @$column{qw(name class type)};
	my $exact = $class eq 'number' && $type !~ /float|real/;
	my $float = $exact ? "$name\::float8" : $name;
	my $whole = $type =~ /^int/ && $column->{few} ? $name : 'g';
	my @calls = ('count(*)', 'count(*)', "count($name)", 'avg(g)', 'sum(g)', 'sum(g + 1)', "last_text(g::text)",
		"sum_from_5($whole)", "max_or_null($whole)", "last_in_array(g::text)", 'stddev(g)', 'count(DISTINCT g)');
	my $filter = chance(0.15) ? ' FILTER (WHERE ' . draw_comparison(pick(columns_of($table, sub { 1 }))) . ')' : '';

	push @calls, ("min($name)", "max($name)") x 2 if $class =~ /number|date|timestamp/;
	push @calls, "min($name\::text)" if $class eq 'text';
	push @calls, "bool_and($name)", "bool_or($name)" if $class eq 'bool';
	push @calls, ("sum($name)", "avg($name)", "variance($name)") if $exact;
	push @calls, ("sum($float)", "avg($float)", "stddev($float)", "corr($float, g)", "sum($float ORDER BY g, $float)")
		if $class eq 'number' && !$parallel;
	return pick(@calls) . $filter;
}

# Draws a fit of a query's rows.
sub draw_fit
{
	my ($table, $from, $where) = @_;
	my $kind = pick('ols', 'ols', 'logreg', 'glm');
	my $family = $kind eq 'logreg' ? 'binomial' : $kind eq 'glm' ? pick('poisson', 'gamma', 'binomial') : 'gaussian';
	my @features = map { draw_expression($table) } 1 .. between(1, 4);
	my @arrays = columns_of($table, sub { $_->{class} eq 'array' && $_->{width} < 15 });
	my @bools = columns_of($table, sub { $_->{class} eq 'bool' });

	push @features, pick(@arrays)->{name} if @arrays && chance(0.4);
	push @features, pick(@bools)->{name} if @bools && chance(0.2);
	my $n = 0;
	my $columns = join ', ', draw_response($table, $family) . ' AS y', map { "$_ AS x" . ++$n } @features;
	my $query = "SELECT $columns FROM $from$where";
	my $options = $kind eq 'glm' ? ", '$family'" : '';

	$options .= ', intercept => false' if chance(0.15);
	$options .= ", vcov => '" . pick('HC0', 'HC1', 'HC3') . "'" if chance(0.1);
	$options .= ', max_iter => 8' if $kind ne 'ols';
	return "SELECT gpu_${kind}_fit(\$fit\$$query\$fit\$$options) AS m";
}

#
# Statements
#

my @parallel = ('max_parallel_workers_per_gather=2', 'min_parallel_table_scan_size=0', 'parallel_setup_cost=0',
	'parallel_tuple_cost=0', 'min_parallel_index_scan_size=0');

sub draw_settings
{
	my ($table) = @_;
	my @settings = chance(0.4) && $table->{kind} ne 'temp' ? @parallel : ('max_parallel_workers_per_gather=0');
	my $force = $table->{version} >= 16 ? 'debug_parallel_query' : 'force_parallel_mode';

	if (@settings > 1)
	{
		push @settings, 'parallel_leader_participation=off' if chance(0.3);
		# makes sums expensive in one process, so that groups are exchanged
		push @settings, 'cpu_operator_cost=10000' if chance(0.6);
		push @settings, "$force=" . pick('on', 'regress') if chance(0.2);
	}
	push @settings, 'enable_partitionwise_aggregate=on', 'enable_partitionwise_join=on' if chance(0.3);
	push @settings, 'enable_hashagg=off' if chance(0.2);
	push @settings, 'enable_sort=off' if chance(0.15);
	push @settings, 'work_mem=64kB', 'hash_mem_multiplier=1' if chance(0.15);
	push @settings, 'enable_indexscan=off', 'enable_bitmapscan=off', 'enable_indexonlyscan=off' if chance(0.3);
	push @settings, 'enable_seqscan=off' if chance(0.05);
	push @settings, 'enable_parallel_append=off' if chance(0.1);
	push @settings, 'gpureg.ring_size=1MB' if chance(0.1);
	push @settings, 'timezone=' . pick('America/New_York', 'Asia/Kathmandu') if chance(0.15);
	push @settings, 'role=reader' if defined $table->{policy} && chance(0.7);
	return \@settings;
}

sub draw_from
{
	my ($table) = @_;
	my $name = $table->{name};

	return "${name}_m" if $table->{kind} eq 'matview';
	return pick("ONLY $name", "${name}_1", "${name}_2", $name, $name) if $table->{kind} eq 'inherited';
	return $name if chance(0.8);
	return pick("${name}_v", "${name}_v") if !defined $table->{policy};
	return $name;
}

# Draws FROM as a subquery or something else than a plain scan; @where goes inside or stays outside.
sub draw_odd_from
{
	my ($table, $from) = @_;

	return pick("(SELECT * FROM $from WHERE g > 1) s",  "(SELECT * FROM $from OFFSET 0) s",
		"(SELECT * FROM $from UNION ALL SELECT * FROM $from) s", "(SELECT * FROM $from ORDER BY g LIMIT 100000) s",
		"(SELECT DISTINCT ON (g) r.* FROM $from r ORDER BY g, r::text) s", "$from s CROSS JOIN (VALUES (1), (2)) f(v)",
		"(SELECT * FROM $from WHERE g = 2 UNION ALL SELECT * FROM $from WHERE g < 1) s");
}

# Draws grouping expressions, and texts that are the same for equal keys.
sub draw_keys
{
	my ($table) = @_;
	my @few = columns_of($table, sub { $_->{few} && $_->{nulls} < 1 });
	my @any = columns_of($table, sub { $_->{class} ne 'array' && $_->{class} ne 'other' });
	my (%seen, @keys);

	for (1 .. pick(1, 1, 2))
	{
		my $column = pick(chance(0.95) || $table->{nrows} > 300 ? @few : @any) or next;
		my $name = $column->{name};
		my @made = ("$name > 1", "floor($name\::float8 / 3)", "coalesce($name, 0)");
		my $key = $column->{class} eq 'number' && chance(0.15) ? pick(@made) : $name;
		push @keys, $key if !$seen{$key}++;
	}
	return @keys;
}

# Makes one text of the rows of a GROUP BY, in the order of the keys. -0 and 0 are one key, as are 1.0 and 1.00.
sub in_groups
{
	my ($table, $aggregates, $from, $where, @keys) = @_;
	my $names = join ', ', map { "$keys[$_] AS k$_" } 0 .. $#keys;
	my $by = chance(0.06) ? 'ROLLUP (' . join(', ', @keys) . ')' : join ', ', @keys;
	my $having = chance(0.2) ? ' HAVING ' . pick("($keys[0]) IS NOT NULL", "($aggregates->[0]) IS NOT NULL",
		'count(*) > 2') : '';
	my $models = join ', ', map { "$aggregates->[$_] AS m$_" } 0 .. $#$aggregates;
	my $texts = join " || ' ' || ", (map { "same_key(k$_)" } 0 .. $#keys),
		map { "coalesce(m$_\::text, 'NULL')" } 0 .. $#$aggregates;
	my $inner = "SELECT $names, $models FROM $from$where GROUP BY $by$having";

	return "SELECT count(*) FROM ($inner LIMIT 2) l" if chance(0.05);
	return "SELECT string_agg(t, E'\\n' ORDER BY t COLLATE \"C\") AS groups"
	  . " FROM (SELECT $texts AS t FROM ($inner) q) u";
}

# Puts an outer query's column into the filter, so that the scan is repeated for each of its rows.
sub for_each
{
	my ($table, $aggregates, $from, $where) = @_;
	my $x = pick(tame_numbers($table))->{name};
	my $and = $where eq '' ? ' WHERE' : "$where AND";
	my $operator = pick('>', '<', '<>', '>=');
	my $models = join ', ', map { "$aggregates->[$_] AS m$_" } 0 .. $#$aggregates;
	my $inner = "SELECT $models FROM $from$and $x $operator o.k";
	my $outer = pick('(VALUES (0), (1), (3), (1)) o(k)', 'generate_series(0, 2) o(k)',
		'(SELECT v AS k FROM few ORDER BY v) o');

	return "SELECT string_agg(o.k || ' ' || q::text, E'\\n' ORDER BY o.k) FROM $outer, LATERAL ($inner) q"
		if chance(0.7);
	return "SELECT string_agg(o.k || ' ' || coalesce((SELECT q::text FROM ($inner) q), '-'), E'\\n' ORDER BY o.k)"
	  . " FROM $outer";
}

# Makes a constant of the filter a parameter, in a plan for any value.
sub with_parameter
{
	my ($statement) = @_;

	return if $statement->{text} =~ /_fit\(/
		|| $statement->{text} !~ s/( WHERE .*? (?:<|>|<=|>=)) ([0-5])(?=\s|\)|$)/$1 \$1/;
	$statement->{parameter} = [ pick('int', 'float8', 'numeric'), $2, pick(0 .. 4) ];
}

sub draw_statement
{
	my ($table) = @_;
	my $from = draw_from($table);
	my @where = draw_filter($table);
	my $nfeatures = $table->{kind} eq 'wide' ? between(10, 30) : pick(1, 1, 2, 2, 3, 4, 6);
	my $statement = { settings => draw_settings($table), how => 'plain', first => pick('off', 'on'), changes => '',
		explain => chance(0.1) ? 'ANALYZE, VERBOSE, BUFFERS' : 'COSTS OFF' };

	$from = draw_odd_from($table, $from) if chance(0.12) && $from !~ /ONLY/;
	@where = grep { !/ctid|tableoid|xmin/ } @where if $from =~ /_v|\(/;
	$nfeatures = 2 if $table->{nrows} < 20 && chance(0.7);
	my $where = @where ? ' WHERE ' . join ' AND ', @where : '';
	my @aggregates = map { draw_aggregate($table, $nfeatures) } 1 .. pick(1, 1, 1, 1, 2, 3);
	my @keys = chance(0.35) ? draw_keys($table) : ();
	my $parallel = grep { $_ eq 'max_parallel_workers_per_gather=2' } $statement->{settings}->@*;
	push @aggregates, map { draw_other_aggregate($table, $parallel) } 1 .. pick(1, 1, 2, 4) if chance(0.3);
	push @aggregates, 'gpu_ols_agg(g, g) FILTER (WHERE g > 1)' if chance(0.02);
	@aggregates = sort { rand() <=> 0.5 } @aggregates if chance(0.3);
	s/tableoid::int % 7/1.25/g for $from =~ /_v|\(/ ? @aggregates : ();

	if (chance(0.15) && !@keys)
	{
		$statement->{text} = draw_fit($table, $from, $where) =~ s/tableoid::int % 7/g/gr;
	}
	elsif (@keys)
	{
		$statement->{text} = in_groups($table, \@aggregates, $from, $where, @keys);
	}
	elsif (chance(0.12))
	{
		$statement->{text} = for_each($table, \@aggregates, $from, $where);
	}
	else
	{
		$statement->{text} = 'SELECT ' . join(', ', map { "$aggregates[$_] AS m$_" } 0 .. $#aggregates)
			. " FROM $from$where";
	}
	if (chance(0.12))
	{
		with_parameter($statement);
	}
	elsif (chance(0.1) && $table->{kind} ne 'matview')
	{
		$statement->{how} = 'cursor';
		$statement->{explain} = 'COSTS OFF';
		$statement->{changes} = "DELETE FROM $table->{name} WHERE g = 1" if !$table->{rivals} && !$table->{policy};
	}
	return $statement;
}

1;
