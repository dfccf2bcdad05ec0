#!/usr/bin/perl
# Makes mutants, runs the tests that cover each, and reports those that lived. Called by script/mutate, which documents
# it.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use Digest::MD5 'md5_hex';
use Fcntl ':flock';
use File::Basename;
use File::Path qw(make_path remove_tree);
use Getopt::Long;
use List::Util qw(max sum0);
use Time::HiRes 'time';

use Coverage qw(measure read_coverage covering);
use Mutants qw(mutants_of mutated choose block_of blocks_of same_place find_places);
use Tests qw(all_tests place run_test link_units renew stop_place slurp write_file run_limited output_of);

my $root = "$FindBin::RealBin/../..";
my %opt = (seed => 1, count => 400, jobs => 1, regress => 60, tap => 300, work => $ENV{GPUREG_MUTATE});
GetOptions(\%opt, 'seed=i', 'count=i', 'only=s', 'rule=s', 'jobs=i', 'regress=i', 'tap=i', 'work=s', 'list', 'lived', 'anew', 'named',
	'record', 'measure', 'stale') or exit 2;
chdir $root or die "cannot enter $root: $!\n";
$| = 1;

my @files = grep { !m{/backend_cuda} } glob 'src/*/*.c src/*/*.h src/*/*/*.c src/*/*/*.cpp src/*/*/*.h';
my %text = map { $_ => slurp($_) } @files;
my $sources = md5_hex(map { $text{$_} } @files);
my @tests = all_tests($root);

# Recorded mutants: equivalent ones, and places that are always tried
my @equivalent = blocks_of(slurp('test/mutate/equivalent'));
my %equivalent = map { same_place($_) => $_->{said} } @equivalent;
my ($named, $gone) = find_places(\%text, blocks_of(slurp('test/mutate/named')));
my (undef, $gone_equivalent) = find_places(\%text, @equivalent);
print "gone: ", block_of($_) for @$gone, @$gone_equivalent;

my @chosen = chosen();
if ($opt{list})
{
	print map { block_of($_, "$_->{rule}, line $_->{line}") } @chosen;
	exit 0;
}
make_path($opt{work});
if ($opt{measure})
{
	measure($opt{work}, $root, $sources, grep { $opt{tap} > 0 || $_->{kind} ne 'tap' } @tests);
	exit 0;
}
my %known = known();
if (!$opt{record})
{
	my $coverage = read_coverage($opt{work}, @tests);
	my @todo = grep { is_wanted($_) } grep { !defined $known{ same_place($_) } || $opt{anew}
		  || $opt{lived} && $known{ same_place($_) }{verdict} eq 'lived' } @chosen;
	printf "%d mutants, of which %d are known\n", scalar @chosen, @chosen - @todo;
	try_all($coverage, @todo);
	%known = known();
}
my $record = record(@chosen);
write_file('test/mutate/record', $record) if $opt{record};
print $record =~ /^(.*?)\n\n# Lived/s ? "$1\n" : $record;
exit 0;

# Returns the mutants to try: the named ones, and further ones by the seed.
sub chosen
{
	# --lived chooses them regardless of earlier results
	my $one = sub { $opt{lived} || is_wanted($_[0]) };
	my @named = grep { $one->($_) } @$named;
	return @named if $opt{named};
	my %taken = map { same_place($_) => 1 } @named;
	my @all = grep { $one->($_) && !$taken{ same_place($_) } } map { mutants_of($_, $text{$_}) } grep { tried($_) } @files;
	return (@named, choose($opt{seed}, max(0, $opt{count} - @named), @all));
}

sub is_wanted
{
	my ($m) = @_;
	return (!$opt{only} || $m->{file} =~ /$opt{only}/) && (!$opt{rule} || $m->{rule} eq $opt{rule});
}

# True if a file's mutants are tried: a header that many files include would compile them all for each mutant.
sub tried
{
	my ($file) = @_;
	my %users = users($file);

	return $file !~ /\.h$/ || keys %users <= 8;
}

# Returns the sources that include a header, directly or through others.
sub users
{
	my ($header) = @_;
	my (%seen, %sources);
	my @look = ($header);

	while (defined(my $look = shift @look))
	{
		my $name = $look =~ s{^src/}{}r;
		for my $file (grep { !$seen{$_} && $text{$_} =~ /^#include "\Q$name\E"/m } @files)
		{
			$seen{$file} = 1;
			if ($file =~ /\.h$/) { push @look, $file }
			else { $sources{$file} = 1 }
		}
	}
	return %sources;
}

#
# Trying
#

sub try_all
{
	my ($coverage, @todo) = @_;
	my @children;

	write_file("$opt{work}/next", '0');
	for my $job (1 .. $opt{jobs})
	{
		my $pid = fork // die "cannot fork: $!\n";
		if ($pid) { push @children, $pid; next }
		my $place = place("$opt{work}/job$job");
		clean_objects($place);
		remove_tree($place->{work});
		install($place);
		renew($place);
		while ((my $n = take_number()) < @todo) { try($place, $coverage, $todo[$n], $n + 1, scalar @todo) }
		stop_place($place);
		exit 0;
	}
	waitpid $_, 0 for @children;
}

sub take_number
{
	open my $next, '+<', "$opt{work}/next" or die "cannot count: $!\n";
	flock $next, LOCK_EX;
	my $n = <$next>;
	seek $next, 0, 0;
	print $next $n + 1, "   ";
	close $next;
	return int $n;
}

# Removes debug information from objects, so that they can be compared.
sub clean_objects
{
	my ($place) = @_;
	for my $object (sort keys %{ $place->{build}{compile} })
	{
		system('strip', '-g', "$place->{tree}/$object") if -e "$place->{tree}/$object";
	}
}

sub try
{
	my ($place, $coverage, $mutant, $n, $of) = @_;
	my $began = time;
	my @objects = objects_of($place, $mutant->{file});
	my ($verdict, $by) = ('', '');
	my $source = "$place->{tree}/$mutant->{file}";

	rename "$place->{tree}/$_", "$place->{tree}/$_.kept" or die "no $_: $!\n" for @objects;
	write_file($source, mutated($text{ $mutant->{file} }, $mutant));
	if (!compile($place, @objects)) { $verdict = 'refused' }
	elsif (same_code($place, @objects)) { ($verdict, $by) = ('same', 'compiler') }
	elsif (defined $equivalent{ same_place($mutant) }) { $verdict = 'equivalent' }
	else
	{
		my $before = $known{ same_place($mutant) };
		my %ran = $opt{anew} || !$before ? () : map { $_ => 1 } grep { is_older($coverage->{test}{$_}, $before->{at}) }
		  split /, /, $before->{by};
		($verdict, $by) = run_covering($place, $coverage, $mutant, \%ran);
	}
	rename "$place->{tree}/$_.kept", "$place->{tree}/$_" for @objects;
	write_file($source, $text{ $mutant->{file} });
	my $line = sprintf "%s\t%s\t%.1f\t%d\t%s", $verdict, $by, time - $began, time, same_place($mutant) =~ s/\n/\x1f/gr;
	open my $out, '>>', "$opt{work}/results" or die "cannot write the results: $!\n";
	flock $out, LOCK_EX;
	print $out "$line\n";
	close $out;
	printf "%d/%d %s%s, %.0f s: %s:%d %s\n", $n, $of, $verdict, $by ne '' && $verdict eq 'killed' ? " by $by" : '',
	  time - $began, $mutant->{file}, $mutant->{line}, $mutant->{rule};
	print block_of($mutant, "ran: $by") if $verdict eq 'lived';
}

sub objects_of
{
	my ($place, $file) = @_;
	my %sources = $file =~ /\.h$/ ? users($file) : ($file => 1);

	return grep { $sources{ $place->{build}{compile}{$_}[1] } } sort keys %{ $place->{build}{compile} };
}

sub compile
{
	my ($place, @objects) = @_;
	for my $object (@objects)
	{
		my $status = run_limited("$place->{dir}/compile.log", 300, $place->{tree}, 'sh', '-c',
			$place->{build}{compile}{$object}[0]);
		return 0 if $status ne '0' || system('strip', '-g', "$place->{tree}/$object") != 0;
	}
	return 1;
}

sub same_code
{
	my ($place, @objects) = @_;
	return !grep { slurp("$place->{tree}/$_") ne slurp("$place->{tree}/$_.kept") } @objects;
}

# True if the test has not changed since then.
sub is_older
{
	my ($test, $at) = @_;
	return 0 if !$test;
	my @files = grep { -e $_ } $test->{file}, "expected/" . basename($test->{file}, '.sql') . '.out';
	return !grep { (stat $_)[9] > $at } @files;
}

# Returns "killed" and the name of the first test that fails, or "lived" and the names of those that ran. ran: tests
# that ran before, and need not run again.
sub run_covering
{
	my ($place, $coverage, $mutant, $ran) = @_;
	my @covering = covering($coverage, $mutant);
	my %left = (unit => 60, regress => $opt{regress}, tap => $opt{tap});
	my $installed = 0;
	my @ran = grep { $ran->{ $_->{name} } } @covering;
	my %kinds = $opt{tap} > 0 ? () : (tap => 1);

	for my $test (grep { !$ran->{ $_->{name} } } @covering)
	{
		my $seconds = $coverage->{seconds}{ $test->{name} };
		# the first test of a kind has no limit
		my $first = !$kinds{ $test->{kind} }++;
		next if ($left{ $test->{kind} } -= $seconds) < 0 && !$first;
		if ($test->{kind} eq 'unit') { link_units($place, scalar($mutant->{file} =~ /\.h$/), $test->{name}) }
		elsif (!$installed++) { install($place) }
		my $why = run_test($place, $test, 20 + int(5 * $seconds));
		return ('killed', $test->{name} . ($why eq 'failed' ? '' : " ($why)")) if $why ne '';
		push @ran, $test;
	}
	return ('lived', @ran > 0 ? join(', ', map { $_->{name} } @ran) : @covering > 0 ? 'nothing within the limits' : 'nothing runs it');
}

# Installs the present library; backends that have another in memory keep that.
sub install
{
	my ($place) = @_;
	my $status = run_limited("$place->{dir}/link.log", 300, $place->{tree}, 'sh', '-c', $place->{build}{library});

	die "cannot link the library:\n" . slurp("$place->{dir}/link.log") if $status ne '0';
	system('cp', "$place->{tree}/gpureg.so", "$place->{lib}/gpureg.so.new") == 0
	  && rename "$place->{lib}/gpureg.so.new", "$place->{lib}/gpureg.so"
	  or die "cannot install the library\n";
}

#
# The record
#

# Returns verdict and reason by place, the latest ones.
sub known
{
	my %found;

	return if !-e "$opt{work}/results";
	for (split /\n/, slurp("$opt{work}/results"))
	{
		my ($verdict, $by, $seconds, $at, $place) = split /\t/, $_, 5;
		$found{ $place =~ s/\x1f/\n/gr } = { verdict => $verdict, by => $by, at => $at };
	}
	return %found;
}

sub record
{
	my @mutants = @_;
	my (%n, %of, @lived, @killed, @equal);

	for my $mutant (@mutants)
	{
		my $found = $known{ same_place($mutant) } or next;
		my $verdict = defined $equivalent{ same_place($mutant) } && $found->{verdict} ne 'killed' ? 'equivalent'
		  : $found->{verdict};
		$n{$verdict}++;
		$_->{$verdict}++ for $of{ $mutant->{rule} } //= {}, $of{ dirname($mutant->{file}) } //= {};
		push @lived, block_of($mutant, $found->{by} eq 'nothing runs it' ? 'no test runs it' : ()) if $verdict eq 'lived';
		push @killed, "$mutant->{file}: $mutant->{function}, $mutant->{rule}: $found->{by}" if $verdict eq 'killed';
	}
	my $text = sprintf "# Written by script/mutate --record --seed %d --count %d.\n#\n# %d mutants: %d killed, %d lived, %d equivalent "
	  . "(test/mutate/equivalent says why); of others the\n# compiler made the same code (%d) or refused them (%d).\n# "
	  . "Killed of those that are not equivalent: %.1f%%\n#\n",
	  @opt{qw(seed count)}, sum0(map { $n{$_} // 0 } qw(killed lived equivalent)), (map { $n{$_} // 0 } qw(killed lived equivalent
		same refused)), 100 * ($n{killed} // 0) / max(1, ($n{killed} // 0) + ($n{lived} // 0));
	$text .= sprintf "# %-16s %6s %6s %6s\n", '', 'killed', 'lived', 'equiv.';
	$text .= sprintf "# %-16s %6d %6d %6d\n", $_, map { $_ // 0 } @{ $of{$_} }{qw(killed lived equivalent)} for sort keys %of;
	return "$text\n# Lived\n\n" . join('', @lived) . "# Killed, and by what\n\n" . join('', map { "$_\n" } sort @killed);
}
