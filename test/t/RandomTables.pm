# Random tables for 015_scan.pl, which differ in the layout of rows on pages. Perl's generator draws everything about a
# table before anything is run; values are hashes of (row, column), so a seed gives the same pages again.
package RandomTables;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(between chance pick draw_table setup_sql rival_sql own_sql drop_sql);

# Returns an integer from $least to $most.
sub between
{
	my ($least, $most) = @_;

	return $least + int(rand($most - $least + 1));
}

sub chance
{
	my ($probability) = @_;

	return rand() < $probability;
}

# Returns one item of a list. pick_weighted() takes each item's weight behind it.
sub pick
{
	return $_[ int(rand(@_)) ];
}

sub pick_weighted
{
	my @choices = @_;
	my $sum = 0;

	$sum += $choices[ 2 * $_ + 1 ] for 0 .. @choices / 2 - 1;
	my $left = rand($sum);
	while (@choices > 2)
	{
		my ($choice, $weight) = splice(@choices, 0, 2);
		return $choice if $left < $weight;
		$left -= $weight;
	}
	return $choices[0];
}

#
# Columns. $u is a number of [0, 1) that depends on the row i and the column, $v is a second one.
#

# Draws numbers as float8, from which types with fewer values are made.
sub draw_float8
{
	my ($u, $earlier) = @_;
	my $kind = pick_weighted(plain => 60, counts => 15, offset => 6, zeros => 4, constant => 4, copy => 5, huge => 3,
		tiny => 3);
	my %values = (
		plain => "$u * 20 - 10",
		counts => "floor($u * 6)",
		offset => "1e6 + $u",
		zeros => "(ARRAY[0, '-0', 1, 2.5, -3]::float8[])[1 + floor($u * 5)::int]",
		constant => '3.25',
		copy => @$earlier ? '2 * (' . pick(@$earlier) . ') + 1' : $u,
		huge => "($u - 0.5) * 1e150",
		tiny => "($u - 0.5) * 1e-150");

	return ($kind, $values{$kind});
}

# Draws elements of arrays: a number of its own for each.
sub draw_array
{
	my ($k, $type) = @_;
	my $width = pick_weighted(between(1, 3) => 30, between(4, 14) => 40, between(20, 40) => 25, 260 => 5);
	my $element = "u(i, $k + 7919 * j) * 4 - 2";
	my $value = "ARRAY(SELECT ($element)::$type FROM generate_series(1, $width) j)";

	$value = "('[0:' || $width - 1 || ']=' || $value\::text)::$type\[]" if chance(0.05);
	$value = "CASE WHEN u(i, $k) < 0.02 THEN ARRAY[NULL, 1]::$type\[] || array_fill(1::$type, ARRAY[$width])"
	  . " ELSE $value END" if chance(0.03);
	$value = "CASE WHEN u(i, $k) < 0.1 THEN array_fill(NULL::$type, ARRAY[$width]) ELSE $value END" if chance(0.06);
	return { class => 'array', type => "$type\[]", width => $width, value => $value,
		storage => pick('EXTERNAL', 'EXTENDED', 'MAIN', $width < 250 ? 'PLAIN' : 'EXTENDED') };
}

my @texts = (
	[ 'text', q{(ARRAY['a', 'b', 'c'])[1 + floor(U * 3)::int]}, 1 ],
	[ 'text', q{repeat('x', (U * 30)::int)}, 0 ],
	[ 'text', q{repeat(md5(i::text), (U * 4)::int)}, 0 ],
	[ 'text', q{repeat(md5(i::text), (U * 100)::int)}, 0 ],
	[ 'varchar(40)', q{left(md5(i::text), (U * 32)::int)}, 0 ],
	[ 'varchar', q{(ARRAY['a', '', 'ab'])[1 + floor(U * 3)::int]}, 1 ],
	[ 'char(7)', q{(ARRAY['a', 'b', 'long'])[1 + floor(U * 3)::int]}, 1 ]);

# Columns of which no number is made, and which stand between the others: of each length, alignment and storage
my @others = (
	[ 'uuid', 'md5(i::text)::uuid' ], [ 'interval', q{U * interval '1 day'} ],
	[ 'bytea', q{decode(repeat('ab', (U * 50)::int), 'hex')} ],
	[ '"char"', q{chr(65 + (U * 20)::int)::"char"} ], [ 'name', 'md5(i::text)::name' ],
	[ 'macaddr', q{'08:00:2b:01:02:03'::macaddr} ],
	[ 'timetz', q{'04:05:06+02'::timetz + U * interval '1 hour'} ], [ 'point', 'point(i, U)' ],
	[ 'inet', q{'10.0.0.1'::inet + i} ], [ 'jsonb', 'to_jsonb(i)' ], [ 'oid', 'i::oid' ],
	[ 'text[]', q{ARRAY[md5(i::text), NULL]} ], [ 'bit(3)', '5::bit(3)' ]);

# Draws a column's type and values, without NULLs.
sub draw_values
{
	my ($k, $earlier) = @_;
	my ($u, $seconds) = ("u(i, $k)", "floor(u(i, $k) * 50)");
	my $type = pick_weighted('float8' => 26, 'float4' => 8, 'int2' => 6, 'int4' => 10, 'int8' => 7, 'bool' => 7,
		'numeric' => 8, 'date' => 4,
		'timestamp' => 4, 'text' => 9, 'array' => 5, 'other' => 7);

	if ($type eq 'float8' || $type eq 'float4')
	{
		my ($kind, $value) = draw_float8($u, $earlier);
		$kind = 'plain', $value = "$u * 20 - 10" if $type eq 'float4' && $kind =~ /huge|tiny|copy/;
		push @$earlier, $value if $kind eq 'plain' || $kind eq 'counts';
		return { class => 'number', kind => $kind, type => $type, value => $value,
			few => $kind =~ /counts|zeros|constant/ || 0 };
	}
	return { class => 'number', kind => 'counts', type => 'int2', value => "floor($u * 4)", few => 1 }
		if $type eq 'int2' && chance(0.5);
	return { class => 'number', kind => 'plain', type => 'int2', value => "$u * 20000 - 10000" } if $type eq 'int2';
	return { class => 'number', kind => 'counts', type => 'int4', value => "floor($u * 7)", few => 1 }
		if $type eq 'int4' && chance(0.5);
	return { class => 'number', kind => 'plain', type => $type, value => "$u * 20000 - 10000" } if $type eq 'int4';
	return { class => 'number', kind => 'plain', type => $type, value => chance(0.2) ? "$u * 9e18" : "$u * 1e5" }
		if $type eq 'int8';
	return { class => 'bool', type => $type, value => "$u < " . pick(0.5, 0.5, 0.9), few => 1 } if $type eq 'bool';
	return { class => 'date', type => $type, value => "date '2020-01-01' + ($u * 40)::int", few => 1 }
		if $type eq 'date';
	return { class => 'timestamp', type => pick('timestamp', 'timestamptz'),
		value => "timestamp '2020-01-01' + $seconds * interval '1 hour'",
		few => 1 } if $type eq 'timestamp';
	return draw_array($k, pick('float8', 'real')) if $type eq 'array';
	if ($type eq 'numeric')
	{
		my $value = pick("round($u\::numeric * 20, 2)", "round($u\::numeric * 5, 0)",
			"trim_scale(round($u\::numeric * 3, 1))");
		return { class => 'number', kind => 'plain', type => pick('numeric', 'numeric(10,2)'), value => $value,
			few => $value !~ /20/ || 0 };
	}
	my $text = $type eq 'text' ? pick(@texts) : pick(@others);
	return { class => $type, type => $text->[0], value => $text->[1] =~ s/\bU\b/$u/gr, few => $text->[2],
		storage => $text->[0] =~ /^(?:text|varchar|bytea)/ && chance(0.3) ? pick('PLAIN', 'EXTERNAL', 'MAIN') : undef };
}

# Draws a value for one row that fails, or makes a column's sums useless.
sub poison
{
	my ($column, $nrows) = @_;
	my $row = between(1, $nrows || 1);
	my %bad = ('float8' => [ q{'NaN'}, q{'Infinity'}, q{'-Infinity'} ], 'float4' => [ q{'NaN'}, q{'Infinity'} ],
		'numeric' => [ q{'NaN'}, '1e400' ], 'date' => [ q{'infinity'} ], 'timestamp' => [ q{'-infinity'} ]);
	my $bad = $bad{ $column->{type} } or return;

	$column->{poisoned} = 1;
	$column->{value} = "CASE WHEN i = $row THEN " . pick(@$bad) . "::$column->{type} ELSE $column->{value} END";
}

sub draw_column
{
	my ($k, $nrows, $earlier) = @_;
	my $column = draw_values($k, $earlier);

	$column->{name} = "c$k";
	poison($column, $nrows) if chance(0.06);
	$column->{value} = "($column->{value})::$column->{type}";
	$column->{nulls} = pick_weighted(0 => 75, 0.05 => 15, 0.5 => 8, 1 => 2);
	$column->{value} = "CASE WHEN u(i, $k + 100000) >= $column->{nulls} THEN $column->{value} END"
		if $column->{nulls} > 0;
	$column->{stage} = pick_weighted(first => 82, added => 10, dropped => 8);
	# (a constant default is a missing attribute of existing rows, which have no such column on their pages)
	$column->{default} = $column->{value} =~ s/\bi\b/17/gr if $column->{stage} eq 'added' && chance(0.6)
		&& $column->{value} !~ /SELECT/;
	return $column;
}

#
# Tables
#

sub draw_table
{
	my ($number, $version) = @_;
	my $kind = pick_weighted(plain => 52, temp => 8, unlogged => 4, partitioned => 18, inherited => 8, matview => 4,
		am => 4, wide => 2);
	my $nrows = pick_weighted(0 => 6, 1 => 5, between(2, 9) => 12, between(10, 200) => 40, between(200, 1500) => 32,
		between(3000, 6000) => 5);
	my $ncolumns = pick_weighted(between(1, 4) => 20, between(5, 12) => 60, between(13, 40) => $nrows > 1500 ? 1 : 20);
	my $table = { name => "t$number", kind => $kind, nrows => $nrows, version => $version };
	my (@columns, @earlier);

	push @columns, draw_column($_, $nrows, \@earlier) for 1 .. $ncolumns;
	# mostly a column to regress on, and one to partition by
	push @columns, map { { name => "c$_", class => 'number', kind => 'plain', type => 'float8',
		value => "u(i, $_) * 20 - 10", nulls => 0,
		stage => 'first' } } $ncolumns + 1 .. $ncolumns + 2 if chance(0.9);
	push @columns, { name => 'g', class => 'number', kind => 'counts', type => 'int4',
		value => 'CASE WHEN u(i, 5) > 0.05 THEN floor(u(i, 6) * 8)::int END',
		nulls => 0.05, few => 1, stage => 'first' };
	@columns = sort { $a->{order} <=> $b->{order} } map { $_->{order} = rand(); $_ } @columns;
	add_generated($table, \@columns) if $kind !~ /partitioned|inherited/ && chance(0.12);
	$table->{columns} = \@columns;
	$table->{options} = chance(0.3) ? 'WITH (fillfactor = ' . pick(10, 40, 80) . ')' : '';
	$table->{indexed} = pick(map { $_->{name} } grep { $_->{stage} eq 'first' && $_->{few} } @columns) if chance(0.3);
	$table->{policy} = 'g IS NULL OR g <> ' . between(0, 7) if $kind =~ /plain|partitioned/ && chance(0.08);
	$table->{changes} = [ map { draw_change($table) } 1 .. between(0, 5) ];
	$table->{rivals} = [ map { draw_rival($table) } 1 .. between(1, 4) ] if $kind !~ /temp|matview/ && $nrows > 0
		&& chance(0.5);
	$table->{rivals_end} = pick('COMMIT', 'ROLLBACK');
	$table->{own} = [ map { draw_own($table) } 1 .. between(1, 2) ] if $kind ne 'matview' && chance(0.2);
	return $table;
}

sub add_generated
{
	my ($table, $columns) = @_;
	my ($number) = grep { $_->{class} eq 'number' && $_->{stage} eq 'first' && $_->{type} eq 'float8'
		&& $_->{kind} eq 'plain' } @$columns;
	my $how = $table->{version} >= 18 && chance(0.5) ? 'VIRTUAL' : 'STORED';

	return if !defined $number;
	splice @$columns, between(0, scalar @$columns), 0, { name => 'gen', class => 'number', kind => 'plain',
		type => 'float8', nulls => 0, stage => 'first',
		generated => "GENERATED ALWAYS AS ($number->{name} * 0.5 + 1) $how", virtual => $how eq 'VIRTUAL' };
}

sub definition
{
	my ($column) = @_;
	my $text = "$column->{name} $column->{type}";

	$text .= " $column->{generated}" if $column->{generated};
	$text .= " DEFAULT $column->{default}" if defined $column->{default} && $column->{stage} eq 'added';
	return $text;
}

# Returns SQL that inserts rows $from to $to; the stage decides which columns exist.
sub insert_sql
{
	my ($into, $table, $from, $to, @stages) = @_;
	my %wanted = map { $_ => 1 } @stages;
	my @columns = grep { $wanted{ $_->{stage} } && !$_->{generated} } @{ $table->{columns} };

	return '' if $to < $from;
	my ($names, $values) = map { my $field = $_; join ', ', map { $_->{$field} } @columns } 'name', 'value';
	return "INSERT INTO $into ($names) SELECT $values FROM generate_series($from, $to) i;\n";
}

# Returns an SQL condition for rows of the given classes, of ten: another session's rows are of other classes than one's
# own.
sub class_of
{
	return 'abs(hashtext(ctid::text)) % 10 IN (' . join(', ', @_) . ')';
}

sub some_update
{
	my ($table) = @_;
	my @columns = grep { $_->{stage} eq 'first' && !$_->{generated} } @{ $table->{columns} };
	my $column = pick(@columns);
	my $row = between(1, 2000);

	return "$column->{name} = " . ($column->{value} =~ s/\bi\b/(coalesce(g, 0) * 1000 + $row)/gr);
}

sub lock_sql
{
	my ($name, $where, $strength) = @_;

	return "DO 'BEGIN PERFORM FROM $name WHERE $where FOR $strength; END'";
}

sub draw_change
{
	my ($table) = @_;
	my $name = $table->{name};
	my $where = class_of(between(0, 9), between(0, 9));
	my $update = "UPDATE $name SET " . some_update($table) . " WHERE $where";
	my $insert = insert_sql($name, $table, 50001, 50000 + between(1, 30), 'first', 'added');
	my %changes = (
		delete => "DELETE FROM $name WHERE $where",
		'delete most' => "DELETE FROM $name WHERE g <> " . between(0, 7),
		update => $update,
		'update twice' => "$update; $update",
		vacuum => "VACUUM $name",
		freeze => "VACUUM (FREEZE) $name",
		full => "VACUUM (FULL) $name",
		abort => "BEGIN; $insert $update; DELETE FROM $name WHERE g = 1; ROLLBACK",
		savepoint => "BEGIN; SAVEPOINT s; $update; ROLLBACK TO s; $insert SAVEPOINT s; DELETE FROM $name WHERE g = 2;"
		  . ' RELEASE s; COMMIT',
		lock => lock_sql($name, $where, 'UPDATE'),
		read => "DO 'BEGIN PERFORM count(*) FROM $name; END'",
		analyze => "ANALYZE $name");
	my $change = pick_weighted(delete => 20, 'delete most' => 4, update => 25, 'update twice' => 6, vacuum => 14,
		freeze => 10, full => 3,
		abort => 12, savepoint => 8, lock => 6, read => 8, analyze => 10);

	return $changes{$change};
}

# Draws the changes of a transaction that stays open while the statements run. They must not see any of them.
sub draw_rival
{
	my ($table) = @_;
	my $name = $table->{name};
	my $where = class_of(pick([ 0, 1 ], [2], [ 3, 4 ])->@*);
	my $update = "UPDATE $name SET " . some_update($table) . " WHERE $where";

	my $insert = insert_sql($name, $table, 60001, 60000 + between(1, 50), 'first', 'added');

	return pick("DELETE FROM $name WHERE $where", $update, "$update; $update", $insert,
		lock_sql($name, $where, 'UPDATE'), lock_sql($name, $where, 'SHARE'),
		"SAVEPOINT s; $update; ROLLBACK TO s", "SAVEPOINT s; $update; RELEASE s");
}

# Draws the changes that the statements' own transaction has made before. They must see all of them.
sub draw_own
{
	my ($table) = @_;
	my $name = $table->{name};
	my $where = class_of(pick([5], [ 6, 7 ], [8])->@*);
	my $update = "UPDATE $name SET " . some_update($table) . " WHERE $where";

	my $insert = insert_sql($name, $table, 70001, 70000 + between(1, 50), 'first', 'added');

	return pick("DELETE FROM $name WHERE $where", $update, $insert,
		"SAVEPOINT o; $update; ROLLBACK TO o", "SAVEPOINT o; DELETE FROM $name WHERE $where; RELEASE o",
		lock_sql($name, $where, 'NO KEY UPDATE'));
}

#
# SQL
#

sub columns_of_stage
{
	my ($table, @stages) = @_;
	my %wanted = map { $_ => 1 } @stages;

	return grep { $wanted{ $_->{stage} } } @{ $table->{columns} };
}

sub partitions_sql
{
	my ($table) = @_;
	my $name = $table->{name};
	my $kind = pick('LIST', 'RANGE', 'HASH');
	my %bounds = (
		LIST => [ 'FOR VALUES IN (0, 1)', 'FOR VALUES IN (2, NULL)', 'FOR VALUES IN (100)', 'DEFAULT' ],
		RANGE => [ 'FOR VALUES FROM (MINVALUE) TO (2)', 'FOR VALUES FROM (2) TO (5)',
			'FOR VALUES FROM (100) TO (200)', 'DEFAULT' ],
		HASH => [ map { "FOR VALUES WITH (MODULUS 3, REMAINDER $_)" } 0 .. 2 ]);
	my @first = columns_of_stage($table, 'first', 'dropped');
	my $sql = "CREATE TABLE $name (" . join(', ', map { definition($_) } @first) . ") PARTITION BY $kind (g);\n";
	my $part = 0;

	for my $bound ($bounds{$kind}->@*)
	{
		my $child = "${name}_" . ++$part;
		my $how = pick_weighted(of => 50, attached => 35, nested => 15);

		if ($how eq 'of')
		{
			$sql .= "CREATE TABLE $child PARTITION OF $name $bound $table->{options};\n";
		}
		elsif ($how eq 'nested')
		{
			$sql .= "CREATE TABLE $child PARTITION OF $name $bound PARTITION BY HASH (g);\n";
			$sql .= "CREATE TABLE ${child}_$_ PARTITION OF $child FOR VALUES WITH (MODULUS 2, REMAINDER $_);\n"
			  for 0, 1;
		}
		else
		{
			my @shuffled = sort { $a->{shuffle} <=> $b->{shuffle} } map { $_->{shuffle} = rand(); $_ } @first;
			my @definitions = map { definition($_) } @shuffled;
			splice @definitions, between(0, scalar @definitions), 0, 'gone ' . pick('text', 'int', 'int8');
			$sql .= "CREATE TABLE $child (" . join(', ', @definitions)
				. ") $table->{options};\nALTER TABLE $child DROP COLUMN gone;\n";
			$sql .= "ALTER TABLE $name ATTACH PARTITION $child $bound;\n";
		}
	}
	return $sql;
}

sub create_sql
{
	my ($table) = @_;
	my ($name, $kind) = @$table{qw(name kind)};
	my @first = columns_of_stage($table, 'first', 'dropped');
	my $list = join ', ', map { definition($_) } @first;
	my $sql;

	return partitions_sql($table) if $kind eq 'partitioned';
	my $of = $kind eq 'temp' ? 'TEMP' : $kind eq 'unlogged' ? 'UNLOGGED' : '';
	my $using = $kind eq 'am' ? 'USING heap_too' : '';
	$sql = "CREATE $of TABLE $name ($list) $using $table->{options};\n";
	$sql .= "ALTER TABLE $name ALTER $_->{name} SET STORAGE $_->{storage};\n" for grep { $_->{storage} } @first;
	$sql .= "CREATE TABLE ${name}_1 () INHERITS ($name);\nCREATE TABLE ${name}_2 (more text, g int) INHERITS ($name);\n"
	  if $kind eq 'inherited';
	return $sql;
}

# Returns all SQL up to the start of other transactions.
sub setup_sql
{
	my ($table) = @_;
	my ($name, $nrows) = @$table{qw(name nrows)};
	my $before = int($nrows * rand());
	my $sql = create_sql($table);

	$sql .= "CREATE INDEX ON $name ($table->{indexed});\n" if defined $table->{indexed} && chance(0.5);
	$sql .= insert_sql($name, $table, 1, $before, 'first', 'dropped');
	$sql .= "ALTER TABLE $name DROP COLUMN $_->{name};\n" for columns_of_stage($table, 'dropped');
	$sql .= 'ALTER TABLE ' . $name . ' ADD ' . definition($_) . ";\n" for columns_of_stage($table, 'added');
	if ($table->{kind} eq 'inherited')
	{
		my $half = int(($before + $nrows) / 2);
		$sql .= insert_sql("${name}_1", $table, $before + 1, $half, 'first', 'added');
		$sql .= insert_sql("${name}_2", $table, $half + 1, $nrows, 'first', 'added');
	}
	else
	{
		$sql .= insert_sql($name, $table, $before + 1, $nrows, 'first', 'added');
	}
	$sql .= "CREATE INDEX ON $name ($table->{indexed});\n" if defined $table->{indexed} && $sql !~ /CREATE INDEX/;
	$sql .= "GRANT SELECT ON $name TO reader;\nALTER TABLE $name ENABLE ROW LEVEL SECURITY;\n"
	  . "CREATE POLICY readers ON $name TO reader USING ($table->{policy});\n" if defined $table->{policy};
	$sql .= "$_;\n" for $table->{changes}->@*;
	$sql .= "CREATE VIEW ${name}_v AS SELECT * FROM $name" . (chance(0.5) ? ' WHERE g IS DISTINCT FROM 3' : '') . ";\n";
	$sql .= "CREATE MATERIALIZED VIEW ${name}_m AS SELECT * FROM $name;\n" if $table->{kind} eq 'matview';
	return $sql;
}

sub rival_sql
{
	my ($table) = @_;

	return join ";\n", 'BEGIN', $table->{rivals}->@*, '';
}

sub own_sql
{
	my ($table) = @_;

	return join ";\n", ($table->{own} // [])->@*, '';
}

sub drop_sql
{
	my ($table) = @_;

	return "DROP TABLE $table->{name} CASCADE;\n";
}

1;
