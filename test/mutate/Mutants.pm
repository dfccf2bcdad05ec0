# Mutants of C code by rule: a change of one place each, which a test should notice.
#
# Places are found in the text with comments and strings blanked. A change that the compiler refuses, or compiles to the
# same code, is no mutant. A mutant is a hash: file, function ('' outside of any), line (from 1), rule, old and new (the
# line before and after, trimmed), text (the line after, as it goes into the file).
package Mutants;

use strict;
use warnings;

use Digest::MD5 'md5_hex';
use Exporter 'import';

our @EXPORT_OK = qw(mutants_of mutated choose blocks_of block_of same_place find_places);

# Calls that no test is expected to check, though one may notice their loss
my $UNTESTED = qr/Assert|elog|pfree|free|errmsg|errdetail|errhint|ereport|memcpy|memset|va_end|StaticAssert\w*|PG_\w+/;

# The rules: a name, a pattern, and the replacement of $1, in a line of code without strings. A rule that returns undef
# changes nothing there.
my @rules = (
	# a poll or a callback removed
	[ poll => qr/(CHECK_FOR_INTERRUPTS\(\));/, sub { '(void) 0' } ],
	[ poll => qr/(\b[\w.>-]*canceled\([^()]*\))/, sub { 'false' } ],
	[ poll => qr/(\bgr_poll(?<p>\((?:[^()]|(?&p))*\)))/, sub { 'false' } ],
	# a check that never fires, or always does
	[ check => qr/^\s*(?:else )?if (\((?:[^()]|(?<p>\((?:[^()]|(?&p))*\)))*\))$/, sub { '(false)' } ],
	[ negate => qr/^\s*(?:\} )?(?:else )?(?:if|while) (\((?:[^()]|(?<p>\((?:[^()]|(?&p))*\)))*\))$/, sub { "(!$_[0])" } ],
	[ negate => qr/[(&|=,?]\s?(!)(?=[\w(])/, sub { '' } ],
	# a bound off by one
	[ bound => qr/ (<) /, sub { '<=' } ],
	[ bound => qr/ (<=) /, sub { '<' } ],
	[ bound => qr/ (>) /, sub { '>=' } ],
	[ bound => qr/ (>=) /, sub { '>' } ],
	# a comparison turned
	[ compare => qr/ (==) /, sub { '!=' } ],
	[ compare => qr/ (!=) /, sub { '==' } ],
	[ compare => qr/ (<) /, sub { '>' } ],
	[ compare => qr/ (>) /, sub { '<' } ],
	[ logic => qr/ (&&)(?: |$)/, sub { '||' } ],
	[ logic => qr/ (\|\|)(?: |$)/, sub { '&&' } ],
	# an operator or the sign of a term
	[ operator => qr/ (\+) /, sub { '-' } ],
	[ operator => qr/ (-) /, sub { '+' } ],
	[ operator => qr/ (\*) /, sub { $_[1] =~ /sizeof/ ? undef : '/' } ],
	[ operator => qr{ (/) }, sub { '*' } ],
	[ operator => qr/ (\+=) /, sub { '-=' } ],
	[ operator => qr/ (-=) /, sub { '+=' } ],
	[ operator => qr/ (<<) /, sub { '>>' } ],
	[ operator => qr/ (&) /, sub { '|' } ],
	[ sign => qr/(?:= |return |\(|, |\? |: )(-)(?=[a-z(])(?!1\b)/, sub { '' } ],
	# the opposite of two
	[ other => qr/\b(Min|Max|fmin|fmax)\(/, sub { {Min => 'Max', Max => 'Min', fmin => 'fmax', fmax => 'fmin'}->{$_[0]} } ],
	[ other => qr/(?:return|=) (true|false);/, sub { $_[0] eq 'true' ? 'false' : 'true' } ],
	# a constant
	[ constant => qr/[ (\[,=-](\d+)(?=[;,) \]])/, sub { $_[0] + 1 } ],
	[ constant => qr/[ (,=-](\d+\.\d+|\d+(?:\.\d+)?e[-+]?\d+)(?=[;,) ]|$)/, sub { $_[0] == 0 ? '1.0' : "(2 * $_[0])" } ],
	# a statement lost
	[ lost => qr/^\t+(\w+\([^;{}]*\));$/, sub { $_[0] =~ /^(?:$UNTESTED)\(/ ? undef : '(void) 0' } ],
	[ lost => qr/^\t+([\w.>\[\]-]+ [-+]?= [^;{}]+);$/, sub { '(void) 0' } ],
	[ lost => qr/^\t+([\w.>\[\]-]+(?:\+\+|--));$/, sub { '(void) 0' } ],
);

# Returns the text with comments, strings, characters and preprocessor lines blanked; places stay the same.
sub blanked
{
	my ($text) = @_;
	my $blank = sub { $_[0] =~ s/[^\n]/ /gr };

	$text =~ s{(/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+')}{$blank->($1)}gse;
	$text =~ s{^([ \t]*\#(?:[^\n]*\\\n)*[^\n]*)}{$blank->($1)}gme;
	return $text;
}

# Returns the name of each line's function.
sub functions_of
{
	my @lines = @_;
	my ($name, $in, @of) = ('', 0);

	for my $line (@lines)
	{
		$name = $1 if !$in && $line =~ /^(\w+)\(/;
		$in = 1 if $line =~ /^\{/;
		push @of, $in ? $name : '';
		$in = 0 if $line =~ /^\}/;
	}
	return @of;
}

# Returns all mutants of a file, given its name and text. Code outside of functions, and assertions, are left alone.
sub mutants_of
{
	my ($file, $text) = @_;
	my @lines = split /\n/, $text, -1;
	my @code = split /\n/, blanked($text), -1;
	my @function = functions_of(@code);
	my (@mutants, %seen);

	for my $n (0 .. $#lines)
	{
		next if $function[$n] eq '' || $code[$n] =~ /\b(?:Assert|AssertArg|StaticAssert\w*|elog)\b/;
		for my $rule (@rules)
		{
			my ($name, $what, $with) = @$rule;

			while ($code[$n] =~ /$what/g)
			{
				my ($from, $length) = ($-[1], $+[1] - $-[1]);
				my $new = $with->(substr($lines[$n], $from, $length), $lines[$n]);

				next if !defined $new;
				my $changed = substr($lines[$n], 0, $from) . $new . substr($lines[$n], $from + $length);
				next if $seen{"$n $changed"}++;
				push @mutants, {
					file => $file, function => $function[$n], line => $n + 1, rule => $name,
					old => trimmed($lines[$n]), new => trimmed($changed), text => $changed };
			}
		}
	}
	return number_places(@mutants);
}

# Numbers equal changes in several lines of a function: nth, from 1.
sub number_places
{
	my %seen;

	$_->{nth} = ++$seen{join "\n", @$_{qw(file function old new)}} for @_;
	return @_;
}

sub trimmed { return $_[0] =~ s/^\s+|\s+$//gr }

# Returns the file's text with the mutant.
sub mutated
{
	my ($text, $mutant) = @_;
	my @lines = split /\n/, $text, -1;

	die "$mutant->{file}: line $mutant->{line} is not what it was\n"
	  if trimmed($lines[ $mutant->{line} - 1 ]) ne $mutant->{old};
	$lines[ $mutant->{line} - 1 ] = $mutant->{text};
	return join "\n", @lines;
}

# Returns a number in [0, 1) that depends only on the seed and the mutant, so that changes elsewhere choose no others.
sub draw
{
	my ($seed, $mutant) = @_;

	return hex(substr md5_hex(join "\n", $seed, @$mutant{qw(file function rule old new nth)}), 0, 8) / 2**32;
}

# Chooses count mutants by the seed, at most one per line. A larger count adds to the choice of a smaller one. Rare
# rules and files are chosen more often than their share.
sub choose
{
	my ($seed, $count, @mutants) = @_;
	my (%of_rule, %of_file, %line);

	$of_rule{$_->{rule}}++, $of_file{$_->{file}}++ for @mutants;
	my @drawn = sort { $a->[0] <=> $b->[0] || $a->[1]{file} cmp $b->[1]{file} || $a->[1]{line} <=> $b->[1]{line} }
	  map { [ draw($seed, $_) * $of_rule{$_->{rule}}**0.75 * sqrt($of_file{$_->{file}}), $_ ] } @mutants;
	my @chosen = grep { !$line{"$_->{file} $_->{line}"}++ } map { $_->[1] } @drawn;
	return @chosen > $count ? @chosen[0 .. $count - 1] : @chosen;
}

#
# Mutants as text: "FILE: FUNCTION" and, unless it is the first of its kind there, " #N"; the lines "- OLD" and "+ NEW";
# then remarks, indented; then an empty line.
#

sub block_of
{
	my ($mutant, @said) = @_;
	my $nth = $mutant->{nth} > 1 ? " #$mutant->{nth}" : '';

	return "$mutant->{file}: $mutant->{function}$nth\n- $mutant->{old}\n+ $mutant->{new}\n"
	  . join('', map { "  $_\n" } @said) . "\n";
}

# Returns the blocks of a text: hashes of file, function, nth, old, new, said. Other lines begin with '#'.
sub blocks_of
{
	my ($text) = @_;
	my @blocks;

	for my $block (split /\n\n+/, $text =~ s/^#[^\n]*\n//gmr)
	{
		next if $block !~ /\S/;
		my ($file, $function, $nth, $old, $new, $said) =
		  $block =~ /^\s*(\S+): (\w+)(?: #(\d+))?\n- (.*)\n\+ (.*)\n?((?:  .*\n?)*)$/
		  or die "not a mutant's block:\n$block\n";
		push @blocks, {
			file => $file, function => $function, nth => $nth // 1, old => $old, new => $new, said => trimmed($said) };
	}
	return @blocks;
}

sub same_place { return join "\n", @{$_[0]}{qw(file function nth old new)} }

# Returns the mutants of blocks, which need not follow from a rule, given the files' texts; blocks whose place is gone
# are in the second list.
sub find_places
{
	my ($texts, @blocks) = @_;
	my (@found, @gone);

	for my $block (@blocks)
	{
		my @lines = split /\n/, $texts->{$block->{file}} // '', -1;
		my @function = functions_of(split /\n/, blanked($texts->{$block->{file}} // ''), -1);
		my @at = grep { $function[$_] eq $block->{function} && trimmed($lines[$_]) eq $block->{old} } 0 .. $#lines;
		my $n = $at[ $block->{nth} - 1 ];

		if (!defined $n) { push @gone, $block; next }
		my ($indent) = $lines[$n] =~ /^(\s*)/;
		push @found, { rule => 'named', %$block, line => $n + 1, text => $indent . $block->{new} };
	}
	return (\@found, \@gone);
}

1;
