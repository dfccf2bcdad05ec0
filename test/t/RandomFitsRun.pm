# Runs random problems (RandomFits.pm) through psql, a session each, and compares the answers.
package RandomFitsRun;

use strict;
use warnings;

use Exporter 'import';
use Psql;
use RandomEffects;
use RandomFits;

our @EXPORT = qw(fits_run fits_database fits_make fits_drop run_problems run_effects fits_summary);

# Makes a run. connstr: of the database; seed; show: print scripts and answers.
sub fits_run
{
	my (%run) = @_;

	return { problems => 0, ways => 0, errors => 0, largest => {}, patience => 120, %run };
}

sub run_script
{
	my ($connstr, $script, $seconds) = @_;

	return psql(connstr => $connstr, script => $script, seconds => $seconds);
}

# Creates the functions in the existing database.
sub fits_make
{
	my ($run) = @_;
	my $setup = "\\set ON_ERROR_STOP on\n" . fits_setup() . effects_setup();
	my ($out, $err, $status) = run_script($run->{connstr}, $setup, 120);

	die $err if $status;
}

# Creates a new database with the functions.
sub fits_database
{
	my ($run, $db) = @_;

	run_script('dbname=postgres', "DROP DATABASE IF EXISTS $db; CREATE DATABASE $db;", 120);
	fits_make($run);
}

sub fits_drop
{
	my ($run, $db) = @_;

	run_script('dbname=postgres', "DROP DATABASE $db WITH (FORCE);", 120);
}

# Runs problems; returns what is wrong, as texts.
sub run_problems
{
	my ($run, @numbers) = @_;
	my @findings;

	for my $number (@numbers)
	{
		my $problem = draw_problem($run->{seed}, $number);
		my $script = problem_script($problem);
		my ($out, $err, $status) = run_script($run->{connstr}, $script, $run->{patience});
		my $answers = read_answers($out);

		print $script, $out, $err if $run->{show};
		if (!defined $answers || $status)
		{
			push @findings, "--seed $run->{seed} --problem $number: psql ended: $status\n$err";
			last if $err =~ /could not connect/;
			next;
		}
		$run->{largest}{ $problem->{family} } //= 0;
		push @findings, disagreements($problem, $answers, \$run->{largest}{ $problem->{family} });
		push @findings, map { "--seed $run->{seed} --problem $number: $_" } grep { /XX000|TRAP|leak/ } split /\n/, $err;
		$run->{problems}++;
		$run->{ways} += @$answers;
		$run->{errors}++ if $answers->[0]{state} ne '00000';
	}
	return @findings;
}

# Runs problems with absorbed effects; returns what is wrong, as texts.
sub run_effects
{
	my ($run, @numbers) = @_;
	my @findings;

	for my $number (@numbers)
	{
		my $script = effects_script($run->{seed}, $number);
		my ($out, $err, $status) = run_script($run->{connstr}, $script, $run->{patience});

		print $script, $out, $err if $run->{show};
		push @findings, "--seed $run->{seed} --effects --problem $number: " . ($out =~ /^\@(.*)$/m ? $1 : "psql: $err")
		  if $out !~ /^\@$/m;
	}
	return @findings;
}

sub fits_summary
{
	my ($run) = @_;
	my $largest = $run->{largest};

	return "seed $run->{seed}: $run->{problems} problems, $run->{ways} fits, $run->{errors} problems of errors; "
	  . 'furthest apart: ' . join(', ', map { sprintf('%s %.1g', $_, $largest->{$_}) } sort keys %$largest);
}

1;
