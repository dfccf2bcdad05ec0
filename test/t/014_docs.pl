# Pages whose statements other tests run: each statement must be one of test/sql/examples.sql, and output that pages in
# %shows_output show in comments must be in expected/examples.out.
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

my %shows_output = map { ($_ => 1) } ('formulas.md', 'glm.md', 'linear.md', 'states.md');
my $run = squeezed(slurp_file("$root/test/sql/examples.sql"));
my %shown = map { (squeezed($_) => 1) } split /\n/, slurp_file("$root/expected/examples.out");

for my $name ('formulas.md', 'glm.md', 'linear.md', 'states.md', 'covariances.md')
{
	my $page = slurp_file("$root/docs/$name");
	my $n = 0;

	while ($page =~ /^```sql\n(.*?)^```/gms)
	{
		my $block = $1;
		my @output = $shows_output{$name} ? $block =~ /^-- (.*)$/mg : ();

		for my $statement (grep { /\S/ } split /;\n/, $block =~ s/^--.*\n//gmr)
		{
			$statement = squeezed($statement);
			isnt(index($run, $statement), -1, "$statement is run");
			$n++;
		}
		ok($shown{ squeezed($_) } || /^[-+]+$/, "$_ is what it gives") for @output;
	}
	cmp_ok($n, '>', 4, "statements of $name");
}
done_testing();
