# Random filters of kept rows against SQL's WHERE: a filter must take the rows that WHERE takes of the table that was
# kept, or be rejected. Columns have all types that can be kept, with NULLs and with values that float8 rounds;
# constants are near the values, on both sides; conditions are combined in three-valued logic.
package RandomFilters;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(filters_setup random_filter filters_statement filters_count filters_summary);

# Two tables: the values of the first are kept exactly, those of the second are rounded to float8.
my %columns = (
	exact => [
		[ s => 'smallint', qw(0 1 -1 2 7 -32768 32767) ], [ i => 'integer', qw(0 1 -1 3 100 -2147483648 2147483647) ],
		[ l => 'bigint', qw(0 1 -5 9007199254740991 9007199254740992 -9007199254740992 4294967296) ],
		[ x => 'double precision', qw(0 -0 1 0.1 -2.5 1e300 1.7976931348623157e308 5e-324 9007199254740992 0.30000000000000004) ],
		[ r => 'real', qw(0 1 0.1 -0.1 2.5 16777216 3.4e38 1e-45 0.3) ],
		[ d => 'numeric', qw(0 1 0.1 -0.1 2.50 123456789.012345 0.000000000000001 1e200 99.99) ],
		[ b => 'boolean', qw(true false) ], [ t => 'text', 'a', 'b', 'a ', "it''s", '', 'A', 'long' x 30 ],
		[ c => 'char(4)', 'a', 'b', 'ab  ', '' ], [ v => 'varchar(9)', 'a', 'a ', 'b' ], [ "\"N m\"" => 'name', 'a', 'n' x 63 ],
		[ e => 'mood', 'sad', 'ok', "it''s" ] ],
	rounded => [
		[ l => 'bigint', qw(0 5 9007199254740992 9007199254740993 9007199254740995 -9007199254740993 9223372036854775807
			-9223372036854775808) ],
		[ d => 'numeric', qw(0 0.5 0.1 0.1000000000000000000001 0.333333333333333333 9007199254740993 0.1234567890123456789
			12345678901234567 -0.1000000000000000055) ],
		[ x => 'double precision', qw(0 0.1 1e16 9007199254740993 -1e-310) ], [ r => 'real', qw(0 0.1 1.1 16777217) ],
		[ y => 'amount', qw(0 1.25 100.01 33.3333333333333333333333) ],
		[ u => 'text COLLATE loose', 'a', 'A', 'b' ] ]);

sub pick { return $_[ int rand @_ ]; }
sub chance { return rand() < $_[0]; }

sub is_text { return $_[0] =~ /^(?:text|char|varchar|name|mood)/; }

# Returns SQL that creates the tables, keeps them and creates the function that compares. ids is in column id; without
# ICU there is no collation loose, and column u has the default collation.
sub filters_setup
{
	my $sql = q{
		SET client_min_messages = warning;
		CREATE EXTENSION IF NOT EXISTS gpureg;
		CREATE TYPE mood AS ENUM ('sad', 'ok', 'it''s');
		CREATE DOMAIN amount AS numeric;
		DO $$BEGIN
			CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
		EXCEPTION WHEN OTHERS THEN CREATE COLLATION loose FROM "C"; END$$;
	};

	for my $set (sort keys %columns)
	{
		my @names = map { $_->[0] } @{ $columns{$set} };
		$sql .= "CREATE TABLE $set (id int, z int, " . join(', ', map { "$_->[0] $_->[1]" } @{ $columns{$set} }) . ");\n";
		for my $id (1 .. 70)
		{
			my @values = map { my (undef, undef, @all) = @$_; chance(0.12) ? 'NULL' : "'" . pick(@all) . "'" } @{ $columns{$set} };
			$sql .= "INSERT INTO $set VALUES ($id, " . $id % 7 . ', ' . join(', ', @values) . ");\n";
		}
		$sql .= "SELECT gpu_keep('$set', 'SELECT * FROM $set') IS NOT NULL;\n";
	}
	return $sql . q{
		CREATE TABLE models AS SELECT k.name, gpu_ols_fit(kept => k.name, formula => 'id ~ z') AS model FROM gpu_kept() k;
		-- same, rejected, or what differs. Both ways by which a filter is looked at are taken:
		-- row by row, and in blocks where rows are made for a fit.
		CREATE FUNCTION try_filter(kept text, filter text) RETURNS text LANGUAGE plpgsql AS $$
		DECLARE
			wanted text;
			got text;
			sums text;
			wanted_sums text;
		BEGIN
			BEGIN
				EXECUTE format('SELECT coalesce(string_agg(id::text, '','' ORDER BY id), ''''),
					format(''%%s %%s'', count(*), round(avg(id), 6)) FROM %I WHERE %s', kept, filter) INTO wanted, wanted_sums;
			EXCEPTION WHEN OTHERS THEN wanted := 'refused ' || SQLSTATE;
			END;
			BEGIN
				SELECT coalesce(string_agg(p.id::text, ',' ORDER BY p.id), '') INTO got FROM models m,
					gpu_predict_rows(m.model, m.name, key => 'id', rows => filter) p WHERE m.name = kept;
				IF got <> '' THEN
					SELECT format('%s %s', (m).n, round((m).coef[1]::numeric, 6)) INTO sums
						FROM gpu_ols_fit(kept => kept, formula => 'id ~ 1', rows => filter) m;
				END IF;
			EXCEPTION WHEN OTHERS THEN
				RETURN CASE WHEN SQLSTATE IN ('42601', '42804', '22003', '22P02', '0A000', '42703') THEN 'rejected ' || SQLSTATE
					ELSE 'fails: ' || SQLERRM END;
			END;
			RETURN CASE WHEN wanted LIKE 'refused%' THEN 'taken, where SQL fails: ' || wanted WHEN wanted <> got THEN 'rows ' || got || ' for ' || wanted
				WHEN sums <> wanted_sums THEN 'sums ' || sums || ' for ' || wanted_sums
				WHEN got = '' THEN 'same, none' ELSE 'same' END;
		END$$;
	};
}

# Draws a number near a value of the column, as SQL writes it.
sub random_number
{
	my ($type, @values) = @_;
	my $value = pick(@values);

	return pick(qw(0 1 2 0.1 0.5 -1 100 1e3 .5 5. 2.5e0 1e-7)) if chance(0.15);
	return pick(qw(9007199254740993 -9007199254740993 9007199254740992 9007199254740994 9223372036854775807
			9223372036854775808 -9223372036854775808 16777217 32768 2147483648 4.0000000000000000000001 1e17 1e300 1e-300
			0.1000000000000000055511151231257827 0.1000000014901161193847656 0.3333333333333333 0.333333333333333333))
	  if chance(0.15);
	return $value if $value =~ /e/i || chance(0.5);
	return $value . ($value =~ /\./ ? '' : '.') . pick('0', '00000', '000000000000000000001', '5') if chance(0.6);
	return "${value}e0" if chance(0.3);
	return $value =~ /\./ ? sprintf('%.' . pick(1, 3, 6, 15, 17) . 'g', $value) : $value =~ s/(\d)$/($1 + 1) % 10/er;
}

# Draws a constant to compare the column with; sometimes one of another type, or NULL.
sub random_constant
{
	my ($column) = @_;
	my (undef, $type, @values) = @$column;

	return pick('NULL', 'null') if chance(0.06);
	$type = pick(qw(text boolean integer)), @values = qw(1 true) if chance(0.02);
	return "'" . pick(@values, 'nothing', 'a  ', 'N' x 70) . "'" if is_text($type);
	return pick(qw(TRUE FALSE true false)) if $type eq 'boolean';
	my $number = random_number($type, @values);
	return chance(0.1) ? ($number =~ /^-/ ? $number : pick('+', '- ') . $number) : $number;
}

sub random_atom
{
	my ($set) = @_;
	my $column = pick(@{ $columns{$set} });
	my ($name, $type) = @$column;
	my $op = pick(qw(= <> != < <= > >=));
	my $space = pick(' ', ' ', '', '  ', "\t");
	my $draw = rand;

	$op = pick('=', '<>', '!=') if is_text($type) && chance(0.9);
	$name = uc $name if $name !~ /"/ && chance(0.1);
	return pick('TRUE', 'FALSE', 'NULL') if $draw < 0.03;
	return $name . pick(' IS NULL', ' IS NOT NULL') if $draw < 0.12;
	return $name if $draw < 0.14 || ($type eq 'boolean' && $draw < 0.5);
	return join ' ', $name, pick('', 'NOT'), 'BETWEEN', random_constant($column), 'AND', random_constant($column)
	  if $draw < 0.26 && !is_text($type);
	return "$name" . pick(' ', ' NOT ') . 'IN (' . join(', ', map { random_constant($column) } 1 .. pick(1, 1, 2, 3, 5)) . ')'
	  if $draw < 0.45;
	return random_constant($column) . "$space$op$space$name" if $draw < 0.6;
	return pick("$name + 1 > 2", "$name = id", "abs($name) > 1", "1 < 2", "$name IN (id, 1)", "3 IN ($name)", "$name = 1 = 1")
	  if $draw < 0.62;
	return "$name$space$op$space" . random_constant($column);
}

sub random_condition
{
	my ($set, $depth) = @_;
	my $draw = $depth == 0 ? 0 : rand;

	return random_atom($set) if $draw < 0.4;
	return 'NOT ' . random_condition($set, $depth - 1) if $draw < 0.5;
	return '(' . random_condition($set, $depth - 1) . ')' if $draw < 0.6;
	return random_condition($set, $depth - 1) . pick(' AND ', ' OR ', ' and ') . random_condition($set, $depth - 1);
}

# Draws a set of kept rows, and a filter for it.
sub random_filter
{
	my $set = pick('exact', 'exact', 'rounded');

	return ($set, random_condition($set, int rand 4));
}

# Returns one statement that tries many filters and gives a line of the verdict and the filter for each.
sub filters_statement
{
	my ($n) = @_;
	my @rows;

	for (1 .. $n)
	{
		my ($set, $filter) = random_filter();
		push @rows, "('$set', \$f\$$filter\$f\$)";
	}
	return "SELECT try_filter(s, f) || '|' || s || '|' || f FROM (VALUES " . join(', ', @rows) . ') v (s, f);';
}

# Counts verdicts in the statement's output; returns the lines that are findings.
sub filters_count
{
	my ($counts, $lines) = @_;
	my @findings;

	for my $line (split /\n/, $lines)
	{
		my ($verdict) = $line =~ /^(same, none|same|rejected)/;
		$counts->{ $verdict // 'findings' }++;
		push @findings, $line if !defined $verdict;
	}
	return @findings;
}

sub filters_summary
{
	my ($counts) = @_;

	return join ', ', map { "$counts->{$_} $_" } sort keys %$counts;
}

1;
