# Runs random scripts (RandomCalls.pm) through psql, a session each, and judges the messages: for 019_random_sql.pl and
# script/random-sql.
package RandomRun;

use strict;
use warnings;

use Exporter 'import';
use IO::Handle;
use POSIX ();
use Psql;
use RandomCalls;

our @EXPORT = qw(random_run random_setup random_drop run_scripts findings_of summary);

# Makes a run. connstr: of the database; seed; nstatements: per script; show: print scripts.
sub random_run
{
	my (%run) = @_;

	return { nstatements => 100, patience => 20, states => {}, calls => 0, good => 0, %run };
}

sub call_psql
{
	my ($connstr, $script, $seconds) = @_;
	my @options = ('-v', 'VERBOSITY=verbose');

	return psql(connstr => $connstr, script => $script, seconds => $seconds, options => \@options);
}

sub ask
{
	my ($run, $query, $connstr) = @_;
	my ($out, $err, $status) = call_psql($connstr // $run->{connstr}, $query, 120);

	die substr($query, 0, 100) . "...: $err" if $err =~ /ERROR|FATAL|psql: error/;
	return $out;
}

# Creates a database of this name with the tables, and reads the catalogue from it.
sub random_setup
{
	my ($run, $db) = @_;

	if ($db)
	{
		ask($run, "DROP DATABASE IF EXISTS $db; CREATE DATABASE $db;\\c $db\nCREATE EXTENSION gpureg;",
			$run->{connstr} =~ s/dbname=\S+/dbname=postgres/r);
	}
	ask($run, "\\set ON_ERROR_STOP on\n" . calls_setup());
	$run->{version} = ask($run, 'SHOW server_version_num;') / 10000;
	$run->{catalog} = read_catalog(sub { ask($run, $_[0]) });
}

sub random_drop
{
	my ($run, $db) = @_;

	ask($run, "DROP DATABASE $db WITH (FORCE);", $run->{connstr} =~ s/dbname=\S+/dbname=postgres/r);
}

# Returns what is wrong with a script's messages, as texts.
sub findings_of
{
	my ($run, $number, $script, $err, $status) = @_;
	my @statements = split /^\\warn statement \w+\n/m, $script;
	my @messages = split /^(?:psql:[^\n]*?: *)?statement (\w+)\n/m, $err;
	my ($last, @findings) = (0);
	my $finding = sub {
		my ($k, $what) = @_;
		push @findings, "--seed $run->{seed} --script $number, statement $k: $what"
		  . ($k =~ /^\d+$/ ? $statements[$k] // '' : '');
	};

	shift @messages;
	while (my ($k, $text) = splice(@messages, 0, 2))
	{
		my $errors = 0;
		$last = $k;
		$run->{calls}++ if $k ne 'end';
		for my $state (defined $text ? $text =~ /(?:ERROR|FATAL|PANIC):\s+([0-9A-Z]{5}):/g : ())
		{
			$errors++;
			$run->{states}{$state}++;
			$finding->($k, $text) if !is_expected($state);
		}
		$run->{good}++ if !$errors && $k ne 'end';
		$finding->($k, $text) if ($text // '') =~
			/leak|problem in|detected write past|not closed|still referenced|TRAP|(?:FATAL|PANIC):|server closed/;
	}
	$finding->($last, "psql ended: $status\n$err\n") if $status && !@findings || $last ne 'end' && !@findings;
	return @findings;
}

sub run_script
{
	my ($run, $number) = @_;
	my $script = draw_script($run->{catalog}, $run->{seed}, $number, $run->{nstatements}, $run->{version});
	my ($out, $err, $status) = call_psql($run->{connstr}, "\\o /dev/null\n$script", 30 + 2.2 * $run->{nstatements});
	my @findings = findings_of($run, $number, $script, $err, $status);

	print $script, $err if $run->{show};
	return @findings if !grep { /server closed|late/ } @findings;
	# waits for a server that is restarting
	for (1 .. 100)
	{
		last if eval { ask($run, 'SELECT 1;'); 1 };
		select(undef, undef, undef, 0.3);
	}
	return @findings;
}

# Runs the scripts of these numbers, several at once; returns the findings.
sub run_scripts
{
	my ($run, $njobs, @numbers) = @_;

	return map { run_script($run, $_) } @numbers if $njobs < 2;
	my (@findings, @pipes);
	for my $job (0 .. $njobs - 1)
	{
		my $pid = open(my $from, '-|') // die "fork: $!";
		if (!$pid)
		{
			my @own = map { $numbers[$_] } grep { $_ % $njobs == $job } 0 .. $#numbers;
			print map { s/\n/\r/gr . "\n" } run_scripts($run, 1, @own);
			print "\t", join(' ', map { $_ => $run->{$_} } qw(calls good)), ' ', join(' ', %{ $run->{states} }), "\n";
			# a child must not run its parent's END blocks
			STDOUT->flush;
			POSIX::_exit(0);
		}
		push @pipes, $from;
	}
	for my $from (@pipes)
	{
		while (my $line = <$from>)
		{
			chomp $line;
			push @findings, $line =~ s/\r/\n/gr and next if $line !~ s/^\t//;
			my %counts = split / /, $line;
			$run->{$_} += delete $counts{$_} for qw(calls good);
			$run->{states}{$_} += $counts{$_} for keys %counts;
		}
	}
	return @findings;
}

sub summary
{
	my ($run) = @_;
	my $states = $run->{states};

	return "seed $run->{seed}: $run->{calls} statements, $run->{good} without an error; errors: "
	  . join(', ', map { "$_ $states->{$_}" } sort { $states->{$b} <=> $states->{$a} || $a cmp $b } keys %$states);
}

1;
