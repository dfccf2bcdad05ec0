# Random calls for 019_random_sql.pl and script/random-sql: every function that the catalogue names as the extension's,
# with arguments that are its own, another function's or no function's, in the places where SQL has calls. A statement
# must give a result or an error that is the caller's; other tests check which.
package RandomCalls;

use strict;
use warnings;

use Exporter 'import';
use RandomTables qw(between chance pick);
use RandomValues;

our @EXPORT = qw(calls_setup read_catalog draw_script is_expected);

# The server's version as a number, and the functions to call, as lines
my $catalog_query = <<'SQL';
SELECT p.oid, p.proname, p.prokind::text, p.proretset, p.prorettype::regtype, p.provariadic::regtype, p.pronargdefaults,
	(SELECT string_agg(format_type(t, NULL), ';' ORDER BY k) FROM unnest(p.proargtypes) WITH ORDINALITY a(t, k)),
	array_to_string(p.proargnames[1:p.pronargs], ';'),
	(SELECT aggnumdirectargs FROM pg_aggregate WHERE aggfnoid = p.oid)
FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
JOIN pg_extension e ON e.oid = d.refobjid AND d.refclassid = 'pg_extension'::regclass AND e.extname = 'gpureg'
ORDER BY p.oid::regprocedure::text;
SQL

sub calls_setup
{
	return values_setup();
}

# Reads the catalogue. $ask: runs a query and returns its unaligned output.
sub read_catalog
{
	my ($ask) = @_;
	my (%functions, @callable);

	for my $line (split /\n/, $ask->($catalog_query))
	{
		my ($oid, $name, $kind, $set, $result, $variadic, $ndefaults, $types, $names) = split /\|/, $line, -1;
		my @types = split /;/, $types;
		# SQL has no values of these types
		next if grep { /^(?:internal|cstring)$/ } @types, $result;
		push @callable, { name => $name, kind => $kind, set => $set eq 't', result => $result,
			variadic => $variadic ne '-' ? $variadic : undef, ndefaults => $ndefaults, types => \@types,
			names => [ split /;/, $names, -1 ] };
	}
	my %giving;
	push @{ $giving{ $_->{result} } }, $_ for grep { !$_->{set} } @callable;
	return { all => \@callable, giving => \%giving };
}

#
# Arguments
#

our ($catalog, $columns, $depth);

# Names of arguments that are choices or texts of their own, and hardly ever columns
my $option = qr/^(?:query|formula|rows|kept|design|family|link|vcov|solver|weights|frequencies|offsets|clusters|key|fold
	|choose|criterion|method|kind|name|names|widths|features|response|endogenous|instruments|term|terms|positive
	|conf_level|density|k|seed|reps|intercept|beta|alpha)$/x;

# Draws an argument: a column, if there are rows; a call that gives such a value; or a value.
sub draw_value
{
	my ($type, $name) = @_;

	if ($columns && chance($name =~ $option ? 0.1 : 0.7))
	{
		my $column = column_of($type);
		return $column if defined $column;
	}
	my $others = $catalog->{giving}{$type};
	if ($others && $depth < 3 && chance($type =~ /^gpu_/ ? 0.15 : 0.05))
	{
		my $other = pick(@$others);
		return $other->{kind} eq 'a' ? draw_aggregated($other) : draw_call($other);
	}
	return draw_literal($type, $name);
}

# Draws an aggregate of rows as a value.
sub draw_aggregated
{
	my ($function) = @_;
	local $columns = 1;
	my $call = draw_call($function);

	return "(SELECT $call FROM " . pick('rows', 'rows', 'odd') . pick('', '', ' WHERE i > 55', ' WHERE false') . ')';
}

sub draw_call
{
	my ($function) = @_;
	my @types = @{ $function->{types} };
	my @names = map { $function->{names}[$_] // '' } 0 .. $#types;
	my $first = @types - $function->{ndefaults};
	my $left_out = $function->{ndefaults} && !odd(0.2) ? between(0, $function->{ndefaults}) : 0;
	my @arguments;
	local $depth = $depth + 1;

	if ($function->{variadic})
	{
		my $array = pop @types;
		my $name = pop @names;
		@arguments = map { draw_value($types[$_], $names[$_]) } 0 .. $#types;
		my $element = $array =~ s/\[\]$//r;
		if ($array ne '"any"' && chance(0.25))
		{
			push @arguments, 'VARIADIC ' . draw_value($array, $name);
		}
		else
		{
			push @arguments, map { draw_value($element, $name) } 1 .. pick(1, 1, 2, 2, 3, 4, 7);
		}
	}
	elsif ($function->{ndefaults} && $first < @types && !odd(0.15))
	{
		my %named = map { between($first, $#types) => 1 } 1 .. $function->{ndefaults} - $left_out;
		@arguments = map { draw_value($types[$_], $names[$_]) } 0 .. $first - 1;
		# either a query or kept rows
		my ($kept) = grep { $names[$_] eq 'kept' } $first .. $#types;
		my ($query) = grep { $names[$_] eq 'query' } $first .. $#types;
		if (defined $kept && defined $query && !odd(0.1))
		{
			delete $named{$kept};
			delete $named{$query};
			$named{ pick($kept, $query, $query) } = 1;
		}
		push @arguments, map { "$names[$_] => " . draw_value($types[$_], $names[$_]) } sort { $a <=> $b } keys %named;
	}
	else
	{
		@arguments = map { draw_value($types[$_], $names[$_]) } 0 .. $#types - $left_out;
	}
	my $order = $function->{kind} eq 'a' && chance(0.03) ? ' ORDER BY i' : '';
	my $distinct = $function->{kind} eq 'a' && !$order && chance(0.03) ? 'DISTINCT ' : '';
	return "$function->{name}($distinct" . join(', ', @arguments) . "$order)";
}

#
# Statements
#

my @windows = ('ORDER BY i ROWS BETWEEN 5 PRECEDING AND CURRENT ROW', 'PARTITION BY g', 'ORDER BY i', '',
	'ORDER BY i ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW', 'PARTITION BY g ORDER BY f');

sub draw_from
{
	return pick('rows', 'rows', 'rows', 'odd', 'parts', 'rows WHERE g < 2', 'rows WHERE x3 IS NOT NULL',
		'odd WHERE i < 9', 'rows WHERE false', '(SELECT * FROM rows ORDER BY random()) u',
		'rows TABLESAMPLE SYSTEM (50)');
}

sub draw_over_states
{
	my ($function) = @_;
	my $type = $function->{types}[0] eq 'gpu_ols_stats' ? 'states' : 'steps';
	my $nth = between(0, 14);
	my @types = @{ $function->{types} };
	my @arguments = map { draw_value($types[$_], $function->{names}[$_] // '') } 1 .. $#types;
	my $call = "$function->{name}(" . join(', ', 'v', @arguments) . (chance(0.1) ? ' ORDER BY id)' : ')');

	return "SELECT $call FROM $type WHERE id " . pick('< 4', '< 4', ">= $nth", "= $nth", 'IN (7, 8, 9)');
}

sub draw_aggregate_statement
{
	my ($function) = @_;
	return draw_over_states($function) if ($function->{types}[0] // '') =~ /^gpu_/ && chance(0.8);
	local $columns = 1;
	my $call = draw_call($function);
	my $from = draw_from();

	$call .= ' FILTER (WHERE ' . pick('i > 5', 'b', 'x3 > 1', 'false') . ')' if chance(0.1);
	return "SELECT g, $call OVER (" . pick(@windows) . ") FROM $from"
	  if chance(0.15) && $call !~ /DISTINCT|ORDER BY i\)/;
	return "SELECT $call FROM $from" if chance(0.5);
	return "SELECT ($call)::text, count(*) FROM $from GROUP BY " . pick('g', 'i', 'g, f', 'ROLLUP (g, f)',
		'CUBE (g, b)', 'GROUPING SETS ((), (g), (f))', '()', 't') . pick('', '', ' HAVING count(*) > 3');
}

sub draw_plain_statement
{
	my ($function) = @_;
	local $columns = chance(0.4) ? 1 : undef;
	my $call = draw_call($function);

	return $columns ? "SELECT c.* FROM (SELECT * FROM " . draw_from() . ") s, LATERAL $call c" : "SELECT * FROM $call"
		if $function->{set} && chance(0.8);
	if ($columns)
	{
		my $from = draw_from();
		return "SELECT count(*) FROM $from ORDER BY " . ($from =~ /WHERE/ ? 1 : "max(($call)::text)") if chance(0.05);
		return "SELECT $call FROM $from" . (chance(0.2) ? ' LIMIT 3' : '');
	}
	return "SELECT ($call).*" if $function->{result} =~ /record|gpu_model/ && chance(0.3);
	return "SELECT $call" . (chance(0.1) ? ' FROM generate_series(1, 3)' : '');
}

# Draws a place for a statement: a function's subtransaction, a prepared statement, a cursor, a table made of it.
sub draw_place
{
	my ($statement) = @_;
	my $kind = int(rand 11);

	return "DO \$do\$ BEGIN FOR k IN 1 .. 2 LOOP BEGIN EXECUTE \$x\$$statement\$x\$;"
	  . ' EXCEPTION WHEN division_by_zero THEN NULL; END; END LOOP; END $do$' if $kind == 0;
	return "PREPARE p AS $statement;\nEXECUTE p;\nEXECUTE p;\nDEALLOCATE ALL" if $kind == 1;
	return "BEGIN; DECLARE c SCROLL CURSOR FOR $statement;\nFETCH 2 FROM c;\nSAVEPOINT a;\nFETCH c;\nROLLBACK TO a;\n"
	  . "FETCH c;\nMOVE BACKWARD ALL FROM c;\nROLLBACK" if $kind == 2;
	return "CREATE TEMP TABLE made AS SELECT * FROM ($statement) q;\nSELECT * FROM made;\nDROP TABLE IF EXISTS made"
		if $kind == 3;
	return "EXPLAIN (ANALYZE, VERBOSE, COSTS OFF) $statement" if $kind == 4;
	return "SELECT q::text, r::text FROM ($statement) q LEFT JOIN ($statement) r ON true LIMIT 2" if $kind == 5;
	return "COPY ($statement) TO STDOUT" if $kind == 6;
	return $statement;
}

sub draw_statement
{
	my ($function) = @_;
	local $depth = 0;
	local $columns = undef;
	local $RandomValues::wild = pick(0.1, 0.1, 0.4, 1, 2.5);
	my $statement = $function->{kind} eq 'a' ? draw_aggregate_statement($function) : draw_plain_statement($function);

	return chance(0.25) ? draw_place($statement) : $statement;
}

my @settings = ('gpureg.device = cpu', 'gpureg.device = gpu', 'gpureg.device = auto', 'gpureg.ring_size = 1024',
	'gpureg.enable_scan = off', 'gpureg.enable_rewrite = off', 'gpureg.enable_service = off',
	'gpureg.debug_sinks = 3', 'gpureg.min_gpu_work = 0', 'gpureg.projection_cache_size = 0', 'work_mem = 64',
	'enable_hashagg = off', 'enable_sort = off', 'enable_partitionwise_aggregate = on', 'extra_float_digits = -5',
	"statement_timeout = 20", "statement_timeout = 5", 'plan_cache_mode = force_generic_plan', 'jit_above_cost = 0',
	'bytea_output = escape', 'DateStyle = german', 'search_path = pg_temp, public', 'row_security = off',
	'default_transaction_read_only = on', 'gpureg.debug_ring = on', 'client_encoding = latin1');
my $parallel = join "\n", map { "SET $_;" } 'max_parallel_workers_per_gather = 2', 'min_parallel_table_scan_size = 0',
	'parallel_setup_cost = 0', 'parallel_tuple_cost = 0';

# Draws a script of so many statements, each after a line in which psql prints the statement's number to its error
# output. The script depends only on seed and number.
sub draw_script
{
	my ($known, $seed, $number, $nstatements, $version) = @_;
	my $script = "RESET ALL;\nRESET SESSION AUTHORIZATION;\nSET client_min_messages = warning;\n";
	my $limit = 2000;

	$catalog = $known;
	srand($seed * 10007 + $number);
	$script .= "SET statement_timeout = $limit;\n";
	$script .= "$parallel\n" if chance(0.3);
	$script .= 'SET ' . ($version >= 16 ? 'debug_parallel_query' : 'force_parallel_mode') . " = on;\n" if chance(0.1);
	$script .= "SET $_;\n" for map { pick(@settings) } 1 .. pick(0, 0, 1, 2, 3);
	$script .= "SELECT gpu_keep('k" . between(1, 3) . "', " . draw_quoted(draw_query()) . ", true);\n" if chance(0.4);
	my $transaction = chance(0.3);
	$script .= "BEGIN;\n\\set ON_ERROR_ROLLBACK on\n" if $transaction;
	for my $k (1 .. $nstatements)
	{
		my $statement = draw_statement(pick(@{ $known->{all} }));
		$script .= "\\warn statement $k\n$statement;\n";
	}
	return $script . "\\warn statement end\nROLLBACK;\n\\set ON_ERROR_ROLLBACK off\n" if $transaction;
	return $script . "\\warn statement end\n";
}

# True if this SQLSTATE is a caller's. XX is a bug; 58, 08 and 57P are a server's end.
sub is_expected
{
	my ($state) = @_;

	return $state =~ /^(?:0A|21|22|23|24|25|26|2B|2F|34|3B|3D|3F|40|42|53|54|55|57014|P0|38|39)/;
}

1;
