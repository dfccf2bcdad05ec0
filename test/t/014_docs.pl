# The regression test examples runs every statement of some pages, so that installcheck runs them, too: each statement is
# in test/sql/examples.sql, and each line of its output is in expected/examples.out. (031_pages.pl compares the outputs.)
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

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
done_testing();
