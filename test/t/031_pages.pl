# The documentation: the SQL of the tutorial, the reference, the models' pages and the how-to pages prints what they show
# (Pages.pm says how; script/pages --write writes it). So does the demo for README.md and docs/demo.md. docs/reference.md
# has every function, argument, type and setting.
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
	skip 'the tests were copied without the demo', 2 if !-e "$root/script/demo.sql" || !-e "$root/README.md";
	create_page_database($root, $connstr, 'page', '');
	my $printed = run_demo($root, $connstr->('page'));
	my ($shown) = read_page("$root/docs/demo.md") =~ /^```\n\n?(.*?)^```\n/ms;

	is($printed =~ s/\A\n+//r, $shown =~ s/[ \t]+$//mgr =~ s/^On .*\n\z//mr, 'docs/demo.md');
	my ($session) = read_page("$root/README.md") =~ /^```\n(CREATE TABLE models.*?)^```\n/ms;
	my @missing = grep { index($printed, $_) < 0 } split /\n\n/, $session =~ s/[ \t]+$//mgr;
	is(join("\n\n", @missing), '', 'what README.md shows of it');
}

# The reference. Functions that users don't call are named in its paragraph on these.
my $reference = read_page("$root/docs/reference.md");
my ($internal) = $reference =~ /^(Functions whose names end in .*?)\n\n/ms;
my $ends = join '|', $internal =~ /`(_\w+)`/g;
my %named = map { ($_ => 1) } $internal =~ /`(gpu_\w+)`/g;
my @sections = split /^(?=#{2,4} )/m, $reference;
my @fences = $reference =~ /^```sql\n(.*?)^```\n/gms;

sub members
{
	my ($catalogue, $columns) = @_;
	my $said = $node->safe_psql('postgres', "
		SELECT $columns FROM pg_depend d JOIN $catalogue o ON o.oid = d.objid
		WHERE d.deptype = 'e' AND d.classid = '$catalogue'::regclass
		  AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'gpureg') ORDER BY 1");
	return split /\n/, $said;
}

# True if the page has a call of the function that is no signature, which begins a line.
sub has_example
{
	my ($function) = @_;
	return grep { /^(?!--).*[^\w\n]$function\(/m } @fences;
}

# Returns the text under a function's heading and under the heading above.
sub section_text
{
	my ($function) = @_;
	my ($above, @own) = ('');

	for my $section (@sections)
	{
		$above = $section if $section =~ /^## /;
		push @own, $section, $above if $section =~ /^$function\(/m;
	}
	return join '', @own;
}

my %kinds = (i => 'IMMUTABLE', s => 'STABLE', v => 'VOLATILE');
my %functions;
my $columns = q{concat_ws(' ', proname, CASE prokind WHEN 'a' THEN 'a' ELSE provolatile END,
	array_to_string(proargnames, ' ', ''))};
for my $line (members('pg_proc', $columns))
{
	my ($function, $kind, @arguments) = split ' ', $line;
	next if $function =~ /(?:$ends)$/ || $named{$function};
	my $where = section_text($function);
	my @missing = grep { $where !~ /\b\Q$_\E\b/ } @arguments;

	is("@missing", '', "docs/reference.md has the arguments and columns of $function") if $where ne '';
	like($where, qr/\b$kinds{$kind}\b/, "docs/reference.md says that $function is $kinds{$kind}") if $kinds{$kind};
	next if $functions{$function}++;
	ok($where ne '', "docs/reference.md has $function");
	ok(has_example($function), "docs/reference.md has an example of $function");
}
cmp_ok(scalar(keys %functions), '>', 70, 'there are functions');
for my $called (sort keys %named)
{
	is($node->safe_psql('postgres', "SELECT count(*) > 0 FROM pg_proc WHERE proname = '$called'"), 't',
		"there is a function $called");
}
# (PostgreSQL 18 lists arrays of types among an extension's members.)
like($reference, qr/\b$_\b/, "docs/reference.md has the type $_") for grep { !/^_/ } members('pg_type', 'typname');
is(join(' ', members('pg_proc', "CASE WHEN obj_description(o.oid, 'pg_proc') IS NULL THEN proname END")), '',
	'each function has a comment');

my ($fields) = map { /^### gpu_model\n(.*)/ms } @sections;
for my $field (split /\n/, $node->safe_psql('postgres', "
	SELECT attname FROM pg_attribute WHERE attrelid = 'gpu_model'::regclass AND attnum > 0"))
{
	like($fields, qr/^\|.*`$field`.*\| \w/m, "docs/reference.md has the field $field");
}

my $settings = "LOAD 'gpureg'; SELECT name FROM pg_settings WHERE name LIKE 'gpureg.%' ORDER BY 1";
my @rows = sort $reference =~ /^\| `(gpureg\.\w+)` \|/mg;
is("@rows", join(' ', split /\n/, $node->safe_psql('postgres', $settings)), 'docs/reference.md has the settings');
done_testing();
