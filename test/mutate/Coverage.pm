# The lines that each test runs, measured once with gcov in a directory of its own and kept in a file per test: a line
# with the hash of the sources and of the test, and its seconds; then "FILE LINES", with lines such as "3,5-9".
package Coverage;

use strict;
use warnings;

use Digest::MD5 'md5_hex';
use Exporter 'import';
use File::Basename;
use File::Path qw(make_path remove_tree);
use Time::HiRes 'time';

use Tests qw(place run_test renew stop_place output_of slurp write_file run_limited);

our @EXPORT_OK = qw(measure read_coverage covering);

# Returns a list of numbers as "3,5-9".
sub ranges
{
	my @n = sort { $a <=> $b } @_;
	my @parts;

	while (@n)
	{
		my $from = my $to = shift @n;
		$to = shift @n while @n && $n[0] == $to + 1;
		push @parts, $from == $to ? $from : "$from-$to";
	}
	return join ',', @parts;
}

sub numbers { return map { /(\d+)-(\d+)/ ? ($1 .. $2) : $_ } split /,/, $_[0] // '' }

sub stamp { return md5_hex(map { slurp($_) } @_) }

# Returns the seconds in the file's first line if it is of these sources and this test, else undef.
sub measured
{
	my ($file, $stamp) = @_;

	open my $in, '<', $file or return;
	my $head = <$in> // '';
	return $head =~ /^\Q$stamp\E (\S+)/ ? $1 : undef;
}

# Measures tests whose files are out of date. A test that fails is reported and left out. $sources: the sources' hash.
sub measure
{
	my ($directory, $root, $sources, @tests) = @_;
	my $kept = "$directory/coverage";
	my @todo = grep { !defined measured(file_of($kept, $_), test_stamp($root, $sources, $_)) } @tests;
	my ($place, %lines);

	return if !@todo;
	make_path($kept);
	$place = prepare("$directory/cover");
	# tests as they were in another run
	remove_tree($place->{work});
	for my $test (@todo)
	{
		my $gcda = "$directory/cover/gcda";
		remove_tree($gcda);
		make_path($gcda);
		chmod 01777, $gcda;
		stop_place($place);
		if ($test->{kind} eq 'regress') { renew($place); clear($gcda); }
		my $began = time;
		my $why = run_test($place, $test, 900);
		my $seconds = time - $began;
		stop_place($place, 'INT') if $test->{kind} eq 'regress' && $why eq '';
		printf "%-30s %6.1f s%s\n", $test->{name}, $seconds, $why eq '' ? '' : " NOT OK ($why), left out";
		if ($why ne '') { system('cp', "$place->{dir}/test.log", file_of($kept, $test) . '.log'); next }
		my ($run, $all) = counted($place, $gcda);
		write_file(file_of($kept, $test), sprintf("%s %.2f\n", test_stamp($root, $sources, $test), $seconds)
			. join('', map { "$_ " . ranges(keys %{ $run->{$_} }) . "\n" } sort keys %$run));
		write_file("$kept/code", join('', map { "$_ " . ranges(keys %{ $all->{$_} }) . "\n" } sort keys %$all))
		  if $test->{kind} ne 'unit' && %$all;
	}
	stop_place($place);
}

sub file_of { return "$_[0]/" . $_[1]{name} =~ s/ /_/r }

sub test_stamp
{
	my ($root, $sources, $test) = @_;

	return md5_hex($sources, slurp("$root/$test->{file}"));
}

# Returns the directory with a build that counts.
sub prepare
{
	my ($directory) = @_;

	system('gcc', '-shared', '-fPIC', '-O1', '-o', "$directory/preload.so", "$directory/tree/test/mutate/preload.c",
		'-ldl') == 0
	  or die "cannot compile the preloaded library\n";
	return place($directory, GCOV_PREFIX => "$directory/gcda", LD_PRELOAD => "$directory/preload.so");
}

sub clear
{
	my ($gcda) = @_;
	system('find', $gcda, '-name', '*.gcda', '-delete') == 0 or die "cannot empty $gcda\n";
}

# Reads gcov's counts: by file, the lines that ran, and those that have code.
sub counted
{
	my ($place, $gcda) = @_;
	my (%run, %all, $file);

	# a unit test's own object has the code of headers
	for my $gcno (split /\n/, output_of('find', "$place->{tree}/src", "$place->{tree}/build/unit", '-name', '*.gcno'))
	{
		my $data = $gcda . $gcno =~ s/gcno$/gcda/r;
		symlink $gcno, $gcda . $gcno if -e $data;
	}
	my @data = split /\n/, output_of('find', $gcda, '-name', '*.gcda', '(', '-path', '*/src/*', '-o', '-path',
		'*/build/unit/*', ')');
	return ({}, {}) if !@data;
	chdir $place->{tree} or die "cannot enter $place->{tree}: $!\n";
	open my $in, '-|', 'gcov', '-t', '-r', @data or die "cannot run gcov: $!\n";
	while (<$in>)
	{
		next if !/^\s*(-|#####|=====|\d+\*?):\s*(\d+):(.*)/ || ($1 eq '-' && $2 != 0);
		my ($count, $line, $text) = ($1, $2, $3);
		if ($line == 0) { $file = $1 if $text =~ m{^Source:(\S+)}; next }
		next if $file !~ m{^src/};
		$all{$file}{$line} = 1;
		$run{$file}{$line} = 1 if $count =~ /^\d/;
	}
	close $in;
	return (\%run, \%all);
}

# Reads the files: {code}{FILE}{LINE}, {run}{FILE}{LINE} = [tests], {seconds}{NAME}, {known} = the measured tests.
sub read_coverage
{
	my ($directory, @tests) = @_;
	my $kept = "$directory/coverage";
	my %coverage = (known => [], test => { map { $_->{name} => $_ } @tests });

	for (split /\n/, slurp("$kept/code"))
	{
		my ($file, $lines) = split ' ';
		$coverage{code}{$file}{$_} = 1 for numbers($lines);
	}
	for my $test (@tests)
	{
		next if !-e file_of($kept, $test);
		my ($head, @files) = split /\n/, slurp(file_of($kept, $test));
		$coverage{seconds}{ $test->{name} } = (split ' ', $head)[1];
		push @{ $coverage{known} }, $test;
		for (@files)
		{
			my ($file, $lines) = split ' ';
			my @lines = numbers($lines);
			push @{ $coverage{run}{$file}{$_} }, $test->{name} for @lines;
			$coverage{share}{ $test->{name} }{$file} = @lines;
			$coverage{all}{ $test->{name} } += @lines;
		}
	}
	return \%coverage;
}

# Returns the tests that run a mutant's line, or the nearest line above with code: unit tests, suites, TAP tests; among
# each kind first the quick ones that run more of this file than of others.
sub covering
{
	my ($coverage, $mutant) = @_;
	my ($file, $line) = @$mutant{qw(file line)};
	my %rank = (unit => 0, regress => 1, tap => 2);
	my $cost = sub {
		my ($name) = @_;
		return (0.3 + $coverage->{seconds}{$name}) * $coverage->{all}{$name} / $coverage->{share}{$name}{$file};
	};

	$line-- while $line > 1 && !$coverage->{code}{$file}{$line};
	my @names = @{ $coverage->{run}{$file}{$line} // [] };
	my %cost = map { $_ => $cost->($_) } @names;
	return sort { $rank{ $a->{kind} } <=> $rank{ $b->{kind} } || $cost{ $a->{name} } <=> $cost{ $b->{name} } }
	  map { $coverage->{test}{$_} } @names;
}

1;
