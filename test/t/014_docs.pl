# The regression test examples runs every statement of some pages, so that installcheck runs them, too: each statement is
# in test/sql/examples.sql, and each line of its output is in expected/examples.out. (031_pages.pl compares the outputs.)
#
# Entries of the reference must have the one form that Pages.pm describes, and messages on its page of errors must be in
# the sources.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use Pages;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = "$FindBin::RealBin/../..";
plan skip_all => 'the tests were copied without the documentation'
  if !-e "$root/docs/formulas.md"
  || !-e "$root/expected/examples.out";

# Makes all white space single spaces, and removes it at ends of lines.
sub squeezed
{
	my ($text) = @_;
	$text =~ s/\s+/ /g;
	return $text =~ s/^ | $//gr;
}

my $run = squeezed(slurp_file("$root/test/sql/examples.sql"));
my %shown = map { (squeezed($_) => 1) } split /\n/, slurp_file("$root/expected/examples.out");

for my $name ('formulas.md', 'glm.md', 'linear.md', 'states.md', 'covariances.md')
{
	my $page = slurp_file("$root/docs/$name");
	my $n = 0;

	while ($page =~ /^```sql\n(.*?)^```\n(?:```text\n(.*?)^```\n)?/gms)
	{
		my ($block, $output) = ($1, $2 // '');

		for my $statement (grep { /\S/ } split /;\s*\n/, $block =~ s/^[-\\].*\n| *-- .*$//gmr)
		{
			$statement = squeezed($statement);
			isnt(index($run, $statement), -1, "$statement is run");
			$n++;
		}
		ok($shown{ squeezed($_) } || /^[-+]+$/, "$_ is what it gives") for split /\n/, $output;
	}
	cmp_ok($n, '>', 4, "statements of $name");
}

# The reference's entries
my $entries = 0;
for my $file (reference_pages($root))
{
	my $text = read_page($file);
	my ($page) = $file =~ m{([^/]+)$};
	my @names;

	for my $entry (reference_entries($text))
	{
		is(join(', ', check_form($_, $entry->{text})), '', "$page: the entry of $_ has all parts in order")
		  for @{ $entry->{names} };
		push @names, $entry->{names}[0];
		$entries++;
	}
	is("@names", join(' ', sort @names), "$page: entries are in alphabetical order");
	like($text, qr/\A# .+\n\n[A-Z].+/, "$page says at once what it is for");
}
cmp_ok($entries, '>', 70, 'the reference has entries');

# Returns the patterns of a source's strings, as of messages: neighbours joined, %d and the like match anything.
sub message_patterns
{
	my ($source) = @_;
	my @patterns;

	$source =~ s{/\*.*?\*/}{}gs;
	$source =~ s/(?:PRI\w+|U?INT64_FORMAT)/"%d"/g;
	while ($source =~ /((?:"(?:[^"\\\n]|\\.)*"\s*)+)/g)
	{
		my $string = join '', $1 =~ /"((?:[^"\\\n]|\\.)*)"/g;
		next if length($string =~ s/%\S*//gr) < 8;
		my @parts = split /%[-+0-9.*lzh]*[a-zA-Z]/, $string =~ s/\\"/"/gr, -1;
		push @patterns, join '.+?', map { quotemeta(s/%%/%/gr) } @parts;
	}
	return @patterns;
}

SKIP: {
	my @sources = split /\n/, `find '$root/src' -name '*.c' -o -name '*.h' 2>/dev/null`;
	skip 'the tests were copied without the sources', 1 if !@sources;
	my @patterns = map { message_patterns(read_page($_)) } @sources;
	my $known = join '|', @patterns;

	for my $row (read_page("$root/docs/reference/errors.md") =~ /^\| .*/mg)
	{
		my ($message, $hint) = $row =~ /^\| (?:[0-9A-Z]{5}|WARNING) \| ([^`].*?) \| (.*?) *\|$/ or next;
		$hint =~ s/ \([^)]*\)$//;
		ok($message =~ /^(?:$known|term .* has no finite estimate)$/, "there is a message: $message");
		for my $alternative (grep { $_ ne '' && !/^one of those/ } split / Or, [^:]*: /, $hint)
		{
			ok($alternative =~ /^(?:$known)$/, "there is a hint: $alternative");
		}
	}
}
done_testing();
