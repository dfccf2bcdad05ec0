# The rules by which script/mutate changes code (test/mutate/Mutants.pm), applied to a text of a few lines.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../mutate";

use Mutants qw(mutants_of mutated choose block_of blocks_of find_places);
use Test::More;

my $text = <<'C';
/* sum + of (a < b) */
#define TWICE(x) ((x) + (x))

static const double table[] = {1.5, 2.5};

static bool
first(int n, const char *s)
{
	double		sum = 0.0;

	CHECK_FOR_INTERRUPTS();
	for (int k = 0; k < n; k++)
		sum += k * 2.5;			/* n - 1 */
	if (sum > 1 && strcmp(s, "a < b") == 0)
		return true;
	if (gr_poll(&poll, 10 * (n - k)))
		return gr_fail(err, GR_CANCELED, 0, "first - poll");
	note(sum);
	note(sum);
	return -sum < fmin(n, 3);
}
C

my @mutants = mutants_of('src/a.c', $text);
my %new = map { ("$_->{line} $_->{rule} $_->{new}" => $_) } @mutants;

sub has { ok($new{ $_[0] }, "there is $_[0]") }

has('11 poll (void) 0;');
has('12 bound for (int k = 0; k <= n; k++)');
has('12 compare for (int k = 0; k > n; k++)');
has('12 constant for (int k = 1; k < n; k++)');
has('13 operator sum += k / 2.5;			/* n - 1 */');
has('13 operator sum -= k * 2.5;			/* n - 1 */');
has('13 constant sum += k * (2 * 2.5);			/* n - 1 */');
has('14 bound if (sum >= 1 && strcmp(s, "a < b") == 0)');
has('14 logic if (sum > 1 || strcmp(s, "a < b") == 0)');
has('14 compare if (sum > 1 && strcmp(s, "a < b") != 0)');
has('14 check if (false)');
has('14 negate if (!(sum > 1 && strcmp(s, "a < b") == 0))');
has('15 other return false;');
has('16 poll if (false)');
has('18 lost (void) 0;');
has('20 sign return sum < fmin(n, 3);');
has('20 other return -sum < fmax(n, 3);');
is(scalar(grep { $_->{line} < 8 } @mutants), 0, 'none in a comment, a macro or a table');
is(scalar(grep { $_->{new} =~ /"a (?!< b")/ || $_->{new} =~ /n \+ 1/ } @mutants), 0, 'none in a string or behind the code');
is(scalar(grep { $_->{function} ne 'first' } @mutants), 0, 'each knows its function');

my $mutant = $new{'13 operator sum += k / 2.5;			/* n - 1 */'};
my @before = split /\n/, $text;
my @after = split /\n/, mutated($text, $mutant);
is_deeply([ grep { $before[$_] ne $after[$_] } 0 .. $#before ], [12], 'a mutant differs in its line');
ok(!eval { mutated($text =~ s/2\.5;/3.5;/r, $mutant); 1 }, 'and is not made where that line is another');

my @same = grep { $_->{line} =~ /^1[89]$/ && $_->{rule} eq 'lost' } @mutants;
is_deeply([ map { $_->{nth} } @same ], [ 1, 2 ], 'the same twice in a function is told apart');
my @blocks = blocks_of("# a line\n\n" . join '', map { block_of($_, 'why', 'so') } @same, $mutant);
is(scalar @blocks, 3, 'blocks are read as they were written');
is($blocks[2]{said}, "why\n  so", 'with what is said of them');
my ($found, $gone) = find_places({ 'src/a.c' => "\n\n$text" }, @blocks, { %{ $blocks[0] }, nth => 3 });
is_deeply([ map { $_->{line} } @$found ], [ 20, 21, 15 ], 'and found where the lines have moved to');
is(scalar @$gone, 1, 'what is gone is told');
ok(!eval { blocks_of("src/a.c: first\n- a\n"); 1 }, 'half a block is an error');

my $names = sub { join "\n", map { "$_->{line} $_->{new}" } @_ };
is($names->(choose(7, 4, @mutants)), $names->(choose(7, 4, reverse @mutants)), 'a seed chooses the same');
is($names->((choose(7, 8, @mutants))[ 0 .. 3 ]), $names->(choose(7, 4, @mutants)), 'and more of them, with those');
isnt($names->(choose(8, 4, @mutants)), $names->(choose(7, 4, @mutants)), 'another seed others');
my %lines;
$lines{ $_->{line} }++ for choose(7, 100, @mutants);
is_deeply([ grep { $_ > 1 } values %lines ], [], 'one a line at most');

for my $file (qw(named equivalent))
{
	open my $in, '<', "$FindBin::RealBin/../mutate/$file" or die "cannot read $file: $!\n";
	my @written = eval { blocks_of(do { local $/; <$in> }) };
	is($@, '', "test/mutate/$file can be read");
	is(scalar(grep { $_->{old} eq $_->{new} || $file eq 'equivalent' && $_->{said} eq '' } @written), 0,
		"each of $file changes something" . ($file eq 'equivalent' ? ', and has a reason' : ''));
}

done_testing();
