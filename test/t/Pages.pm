# Pages of the documentation whose SQL is run: a page's ```sql blocks, in order and in one session of psql. The block
# ```text that follows at once must be the output; without one there must be none. On a page with the line <!-- blocks
# with output are run --> blocks without output aren't run.
#
# Pages of docs/reference have an entry for each function, with a heading of its name; check_form() lists its parts.
#
# A page names its needs. If a block ```sh has "psql ... -f FILE", that file is run first. With a line <!-- needs NAME
# --> the page is only run on servers that have this extension, which is then created; with <!-- needs kept rows -->
# only on those that can have a device service.
#
# All servers must print the same, so pages have databases of their own in the collation C, and say SET
# extra_float_digits = -9 where they show float8.
package Pages;

use strict;
use warnings;

use Exporter 'import';
use Psql;

our @EXPORT = qw(page_names read_page page_blocks with_outputs missing_extensions create_page_database run_page
  run_demo reference_pages reference_entries check_form);

my $block = qr/^```sql\n(.*?)^```\n(?:```text\n(.*?)^```\n)?/ms;

# Returns the pages, relative to the tree's root.
sub page_names
{
	my ($root) = @_;

	my @names = grep { -e } "$root/README.md", map { "$root/docs/$_.md" }
		('tutorial', 'linear', 'states', 'formulas', 'glm', 'classes', 'covariances', 'effects', 'mixed');
	my @howto = grep { !m{/index\.md$} } glob("$root/docs/howto/*.md"), glob("$root/docs/migrating/*.md");

	return map { s/^\Q$root\E\///r } @names, grep({ read_page($_) =~ /^```sql$/m } reference_pages($root)), @howto;
}

# Returns the files of the reference's pages, without its index.
sub reference_pages
{
	my ($root) = @_;

	return sort glob "$root/docs/reference/*.md";
}

# Returns the entries of functions in a page: a list of { names, text }. A heading names a function, or two with "and".
sub reference_entries
{
	my ($text) = @_;
	my @entries;

	for my $section (split /^(?=## )/m, $text)
	{
		next if $section !~ /^## (gpu_\w+(?: and gpu_\w+)*)$/m;
		my @names = split / and /, $1;
		push @entries, { names => \@names, text => $section };
	}
	return @entries;
}

# Returns the parts that an entry lacks, or that are out of order: a sentence, the signature, volatility and parallel
# safety, the table of arguments if there are any, result, errors, and an example that calls the function.
sub check_form
{
	my ($name, $text) = @_;
	my $kind = qr/^(?:Aggregate|IMMUTABLE|STABLE|VOLATILE).*parallel (?:safe|restricted|unsafe)\b.*\.$/m;
	my $arguments = $text =~ /^$name\(\)/m ? qr// : qr/^\| argument \| type \| default \| meaning \|$/m;
	my $call = qr/^```sql\n(?:(?!```).)*?\b$name\((?:(?!```).)*?^```\n```text\n/ms;
	my @parts = (
		[ 'a sentence', qr/\A## [^\n]+\n\n[A-Z][^|`\n][^\n]*/ ],
		[ 'a signature', qr/^```\n(?:(?!```).)*?^$name\(/ms ],
		[ 'its kind', $kind ],
		[ 'a table of arguments', $arguments ],
		[ 'its result', qr/^\*\*Result\.\*\*/m ],
		[ 'its errors', qr/^\*\*Errors\.\*\*/m ],
		[ 'an example', qr/^\*\*Example\.\*\*/m ],
		[ 'a call with its output', $call ]);
	my $at = 0;
	my @lacks;

	for my $part (@parts)
	{
		my $found = substr($text, $at) =~ $part->[1];
		$at += $-[0] if $found;
		push @lacks, $part->[0] if !$found;
	}
	return @lacks;
}

sub read_page
{
	my ($file) = @_;
	open my $in, '<:raw', $file or die "cannot read $file: $!\n";
	local $/;
	return scalar <$in>;
}

# Returns the extensions that a page needs, and the least version: [name, version].
sub page_needs
{
	my ($text) = @_;
	my @needs;

	push @needs, [ $1, $2 ] while $text =~ /^<!-- needs (\w+) ([\d.]+) -->$/mg;
	return @needs;
}

sub runs_all
{
	my ($text) = @_;

	return $text !~ /^<!-- blocks with output are run -->$/m;
}

# Returns a list of { sql, output, line }.
sub page_blocks
{
	my ($text) = @_;
	my @blocks;

	while ($text =~ /$block/g)
	{
		my ($sql, $output, $before) = ($1, $2, substr $text, 0, $-[0]);
		next if !defined $output && !runs_all($text);
		push @blocks, { sql => $sql, output => $output // '', line => 1 + ($before =~ tr/\n//) };
	}
	return @blocks;
}

# Returns the page with these outputs in place of its own.
sub with_outputs
{
	my ($text, @outputs) = @_;
	my $all = runs_all($text);

	$text =~ s/$block/my $output = $all || defined $2 ? shift @outputs : '';
		"```sql\n$1```\n" . ($output eq '' ? '' : "```text\n$output```\n")/ge;
	return $text;
}

# Returns psql's output for a script, with messages among results, run in the tree's root.
sub run_script
{
	my ($root, $connstr, $script, @options) = @_;
	my @format = map { ('-P', $_) } qw(format=aligned tuples_only=off footer=off pager=off);
	local $ENV{PGOPTIONS} = '-c datestyle=ISO -c timezone=UTC -c lc_messages=C -c client_min_messages=notice';
	local $ENV{PGCLIENTENCODING} = 'UTF8';

	return (psql(connstr => $connstr, script => $script, options => [ @format, @options ], directory => $root,
			merged => 1))[0];
}

# Returns the extensions that the page needs and the server lacks.
sub missing_extensions
{
	my ($root, $connstr, $text) = @_;
	my $can_keep = "SELECT 1 WHERE current_setting('server_version_num')::int >= 170000
		OR current_setting('shared_preload_libraries') ~ '\\mgpureg\\M'";
	my $keeps = $text =~ /^<!-- needs kept rows -->$/m;

	return 'for kept rows' if $keeps && run_script($root, $connstr->('postgres'), $can_keep, '-At') eq '';
	return map { "$_->[0] $_->[1]" } grep {
		run_script($root, $connstr->('postgres'), "SELECT 1 FROM pg_available_extensions WHERE name = '$_->[0]'
			AND string_to_array(default_version, '.')::int[] >= string_to_array('$_->[1]', '.')::int[]", '-At') eq ''
	} page_needs($text);
}

# Creates an empty database with the extension and the page's other needs; $connstr is made of its name.
sub create_page_database
{
	my ($root, $connstr, $name, $text) = @_;
	my $like = "TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'";
	my @stop = ('-v', 'ON_ERROR_STOP=1');
	my $script = join '', map { "CREATE EXTENSION $_;\n" } (map { $_->[0] } page_needs($text)), 'gpureg';
	my $new = "DROP DATABASE IF EXISTS $name;\nCREATE DATABASE $name $like;\n";
	my $said = run_script($root, $connstr->('postgres'), $new, @stop);

	$said =~ s/^NOTICE:  database "\w+" does not exist, skipping\n//;
	for my $sh ($text =~ /^```sh\n(.*?)^```\n/gms)
	{
		$script .= "\\i $_\n" for $sh =~ /^psql .*-f (\S+)$/mg;
	}
	$said .= run_script($root, $connstr->($name), $script, @stop);
	die "$name cannot be made: $said" if $said ne '';
}

# Returns the output of each block.
sub run_page
{
	my ($root, $connstr, $text) = @_;
	my @blocks = page_blocks($text);
	my $script = join '', map { "$_->{sql}\n\\echo [end of block]\n" } @blocks;
	my @outputs = split /^\[end of block\]\n/m, run_script($root, $connstr, $script), -1;
	my $rest = pop @outputs // '';

	die "there are " . @outputs . " outputs of " . @blocks . " blocks: $rest" if @outputs != @blocks || $rest ne '';
	return map { trimmed($_) } @outputs;
}

# Removes blanks at the ends of lines, and blank lines at the end.
sub trimmed
{
	my ($text) = @_;

	return $text =~ s/[ \t]+$//mgr =~ s/\n+\z/\n/r =~ s/\A\n\z//r;
}

# Returns script/demo's output without its last line, which is about the machine.
sub run_demo
{
	my ($root, $connstr) = @_;
	my $said = run_script($root, $connstr, "DROP EXTENSION gpureg;\n\\i script/demo.sql\n", '-v', 'ON_ERROR_STOP=1');

	return trimmed($said) =~ s/^On .*\n\z//mr;
}

1;
