# The documentation: the SQL of README.md, the tutorial, the reference, the models' pages and the how-to pages must print
# what these show (see Pages.pm; script/pages --write writes it), and the demo what docs/demo.md shows. The reference
# must have every function, with its arguments, their types and defaults, and every type and setting.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use GpuregTest;
use Pages;
use Test::More;

my $root = "$FindBin::RealBin/../..";
plan skip_all => 'the tests were copied without the documentation' if !-e "$root/docs/tutorial.md";

my $node = start_node('main');
# Before PostgreSQL 17, kept rows need a preloaded library.
if ($node->pg_version < 17)
{
	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'gpureg'");
	$node->restart;
}
my $connstr = sub { $node->connstr($_[0]) };

# Pages
for my $name (page_names($root))
{
	my $text = read_page("$root/$name");
	my @missing = missing_extensions($root, $connstr, $text);
	my @blocks = page_blocks($text);

  SKIP: {
		skip "there is no extension @missing, which $name needs", scalar @blocks if @missing;
		create_page_database($root, $connstr, 'page', $text);
		my @outputs = run_page($root, $connstr->('page'), $text);
		cmp_ok(scalar(@blocks), '>', 1, "$name has SQL");
		is($outputs[$_], $blocks[$_]{output}, "$name, line $blocks[$_]{line}") for 0 .. $#blocks;
	}
}

# The demo
SKIP: {
	skip 'the tests were copied without the demo', 1 if !-e "$root/script/demo.sql";
	create_page_database($root, $connstr, 'page', '');
	my $printed = run_demo($root, $connstr->('page'));
	my ($shown) = read_page("$root/docs/demo.md") =~ /^```\n\n?(.*?)^```\n/ms;

	is($printed =~ s/\A\n+//r, $shown =~ s/[ \t]+$//mgr =~ s/^On .*\n\z//mr, 'docs/demo.md');
}

# The reference: an index, and pages with an entry for each function. The index has a paragraph with the functions that
# users don't call.
my $index = read_page("$root/docs/reference.md");
my ($internal) = $index =~ /^(Functions whose names end in .*?)\n\n/ms;
my $ends = join '|', $internal =~ /`(_\w+)`/g;
my %named = map { ($_ => 1) } $internal =~ /`(gpu_\w+)`/g;
my (%entries, %page_of);
my $pages = '';
for my $file (reference_pages($root))
{
	my $text = read_page($file);
	$pages .= $text;
	for my $entry (reference_entries($text))
	{
		for my $name (@{ $entry->{names} })
		{
			ok(!defined $entries{$name}, "there is one entry of $name");
			$entries{$name} = $entry->{text};
			$page_of{$name} = ($file =~ m{([^/]+)$})[0] . '#' . (join('-and-', @{ $entry->{names} }));
		}
	}
}

sub members
{
	my ($catalogue, $columns) = @_;
	my $said = $node->safe_psql('postgres', "
		SELECT $columns FROM pg_depend d JOIN $catalogue o ON o.oid = d.objid
		WHERE d.deptype = 'e' AND d.classid = '$catalogue'::regclass
		  AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'gpureg') ORDER BY 1");
	return split /\n/, $said;
}

# Returns a type or default as the reference writes it.
sub written
{
	my ($text) = @_;
	my %short = ('double precision' => 'float8', integer => 'int', 'timestamp with time zone' => 'timestamptz');

	$text =~ s/::[\w ]+(?:\[\])?//g;
	$text =~ s/\b(double precision|integer|timestamp with time zone)\b/$short{$1}/g;
	return $text eq '0.0000000001' ? '1e-10' : $text;
}

# True if the entry's tables have the argument, with its type and its default, or the column with its type.
sub has_argument
{
	my ($entry, $name, $type, $default) = @_;

	for my $row ($entry =~ /^\| (`[^|]*\| [^|]* \| [^|]*) \|/mg)
	{
		my ($names, $types, $said) = split / \| /, $row;
		next if $names !~ /`"?\Q$name\E"?`/;
		return 1 if $types =~ /(?:^|\W)\Q$type\E(?![\w\[])/ && ($default eq '' || $said =~ /^`?\Q$default\E(?:`|$| )/);
	}
	return 0;
}

my %kinds = (i => 'IMMUTABLE', s => 'STABLE', v => 'VOLATILE');
my %parallel = (s => 'safe', r => 'restricted', u => 'unsafe');
my %functions;
# Columns: name, kind, parallel safety, strictness, and for each argument mode, name, type and default.
my $columns = q{concat_ws(E'\t', proname, CASE prokind WHEN 'a' THEN 'a' ELSE provolatile END, proparallel,
	proisstrict, (SELECT string_agg(concat_ws('|', coalesce(o.proargmodes[n], 'i'), o.proargnames[n],
			format_type(coalesce(o.proallargtypes[n], o.proargtypes[n - 1]), NULL),
			pg_get_function_arg_default(o.oid, n::int)), E'\t' ORDER BY n)
		FROM generate_series(1, cardinality(coalesce(o.proallargtypes, o.proargtypes::oid[]))) n
		WHERE o.proargnames[n] <> ''))};
for my $line (members('pg_proc', $columns))
{
	my ($function, $kind, $safety, $strict, @arguments) = split /\t/, $line;
	next if $function =~ /(?:$ends)$/ || $named{$function};
	my $entry = $entries{$function} // '';
	my ($said) = $entry =~ /^((?:Aggregate|IMMUTABLE|STABLE|VOLATILE).*(?:\n.+)*)/m;
	my @missing;

	for my $argument (@arguments)
	{
		my ($mode, $name, $type, $default) = split /\|/, $argument;
		# Aggregates have no defaults, but overloads that leave arguments out.
		my $least = defined $default ? written($default) : $mode =~ /[ot]/ || $kind eq 'a' ? '' : 'required';
		my @is = (written($type), $least);
		# An overload takes an integer by position for a bigint that has a default.
		next if "$function $name @is" eq 'gpu_project_rows seed int required';
		push @missing, "$name @is" if !has_argument($entry, $name, @is);
	}
	is(join(', ', @missing), '', "the reference has the arguments and columns of $function") if $entry ne '';
	my $word = $kind eq 'a' ? 'Aggregate' : $kinds{$kind};
	like($said // '', qr/\b$word\b/, "the reference says that $function is $word");
	is(($said // '') =~ /\bstrict\b/ ? 't' : 'f', $strict, "the reference says whether $function is strict") if $kind ne 'a';
	like($said // '', qr/parallel $parallel{$safety}\b/, "the reference says in which plans $function may be");
	next if $functions{$function}++;
	ok($entry ne '', "the reference has $function");
	like($index, qr/^\| \[$function\]\(reference\/\Q$page_of{$function}\E\) \| \w/m, "the index has $function")
	  if $entry ne '';
}
cmp_ok(scalar(keys %functions), '>', 70, 'there are functions');
is(join(' ', grep { !$functions{$_} } sort keys %entries), '', 'each entry is of a function');
for my $called (sort keys %named)
{
	is($node->safe_psql('postgres', "SELECT count(*) > 0 FROM pg_proc WHERE proname = '$called'"), 't',
		"there is a function $called");
}
# (PostgreSQL 18 lists arrays of types among an extension's members.)
like($index, qr/\b$_\b/, "the index has the type $_") for grep { !/^_/ } members('pg_type', 'typname');
is(join(' ', members('pg_proc', "CASE WHEN obj_description(o.oid, 'pg_proc') IS NULL THEN proname END")), '',
	'each function has a comment');

# The fields of composite types are in a section of the type's name, or in the entry of the aggregate that returns it.
for my $line (split /\n/, $node->safe_psql('postgres', "
	SELECT concat_ws('|', attrelid::regclass, attname, format_type(atttypid, NULL)) FROM pg_attribute a, pg_class c
	WHERE attrelid = c.oid AND relkind = 'c' AND relname LIKE 'gpu%' AND attnum > 0"))
{
	my ($type, $field, $its) = split /\|/, $line;
	my ($section) = $pages =~ /^(## The type $type\n.*?)^## /ms;
	ok(has_argument($section // $entries{"${type}_agg"}, $field, written($its), ''), "the reference has $type.$field");
}

# The index and the page of settings must have each setting with its default.
my $settings = "LOAD 'gpureg';
	SELECT name, CASE WHEN unit IS NULL OR boot_val::int = 0 THEN boot_val::text
		WHEN unit = 'kB' THEN boot_val::int / 1024 || 'MB' WHEN unit = 's' THEN boot_val::int / 60 || 'min'
		WHEN unit = 'ms' THEN boot_val::int / 1000 || 's' END
	FROM pg_settings WHERE name LIKE 'gpureg.%' ORDER BY 1";
my $known = $node->safe_psql('postgres', $settings) =~ s/1e\+09/1e9/r;
for my $text ($index, read_page("$root/docs/reference/server.md"))
{
	my @rows = sort $text =~ /^\| \[?`(gpureg\.\w+`(?:\]\([^)]*\))? \| [^|]+) \|/mg;
	is(join("\n", map { s/`(?:\]\([^)]*\))? \| `?([^`]+)`?/|$1/r } @rows), $known, 'settings and their defaults');
}
done_testing();
