# Pages of the documentation whose SQL is run: blocks ```sql of a page, in their order and in one session of psql, each
# with what it prints in the block ```text that follows at once. Without such a block it is to print nothing; on a page
# with the line <!-- blocks with output are run --> it isn't run then.
#
# A page says what it needs. Where a block ```sh has "psql ... -f FILE", that file is run first; with a line
# <!-- needs NAME --> the page is only for servers that have this extension, which is then created.
#
# So that all servers print the same, pages have databases of their own in the collation C, and say
# SET extra_float_digits = -9 where they show float8.
package Pages;

use strict;
use warnings;

use Exporter 'import';
use Psql;

our @EXPORT = qw(page_names read_page page_blocks with_outputs missing_extensions create_page_database run_page
  run_demo);

my $block = qr/^```sql\n(.*?)^```\n(?:```text\n(.*?)^```\n)?/ms;

# The pages, relative to the tree's root
sub page_names
{
	my ($root) = @_;

	my @howto = grep { !m{/index\.md$} } glob("$root/docs/howto/*.md"), glob("$root/docs/migrating/*.md");

	return map { s/^\Q$root\E\///r } "$root/docs/tutorial.md", "$root/docs/reference.md", @howto;
}

sub read_page
{
	my ($file) = @_;
	open my $in, '<:raw', $file or die "cannot read $file: $!\n";
	local $/;
	return scalar <$in>;
}

# The extensions that a page needs, and from which version on: [name, version]
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

# A list of { sql, output, line }
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

# The page with these outputs in the place of those that it has
sub with_outputs
{
	my ($text, @outputs) = @_;
	my $all = runs_all($text);

	$text =~ s/$block/my $output = $all || defined $2 ? shift @outputs : '';
		"```sql\n$1```\n" . ($output eq '' ? '' : "```text\n$output```\n")/ge;
	return $text;
}

# What psql says to a script, messages among results, in the tree's root
sub run_script
{
	my ($root, $connstr, $script, @options) = @_;
	my @format = map { ('-P', $_) } qw(format=aligned tuples_only=off footer=off pager=off);
	local $ENV{PGOPTIONS} = '-c datestyle=ISO -c timezone=UTC -c lc_messages=C -c client_min_messages=notice';
	local $ENV{PGCLIENTENCODING} = 'UTF8';

	return (psql(connstr => $connstr, script => $script, options => [ @format, @options ], directory => $root,
			merged => 1))[0];
}

# What the page needs and the server hasn't
sub missing_extensions
{
	my ($root, $connstr, $text) = @_;

	return map { "$_->[0] $_->[1]" } grep {
		run_script($root, $connstr->('postgres'), "SELECT 1 FROM pg_available_extensions WHERE name = '$_->[0]'
			AND string_to_array(default_version, '.')::int[] >= string_to_array('$_->[1]', '.')::int[]", '-At') eq ''
	} page_needs($text);
}

# An empty database with the extension and what else the page needs; $connstr is made of its name.
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

# The output of each block
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

# Without blanks at the ends of lines and blank lines at its own end
sub trimmed
{
	my ($text) = @_;

	return $text =~ s/[ \t]+$//mgr =~ s/\n+\z/\n/r =~ s/\A\n\z//r;
}

# What script/demo shows; the last line is about the machine.
sub run_demo
{
	my ($root, $connstr) = @_;
	my $said = run_script($root, $connstr, "DROP EXTENSION gpureg;\n\\i script/demo.sql\n", '-v', 'ON_ERROR_STOP=1');

	return trimmed($said) =~ s/^On .*\n\z//mr;
}

1;
