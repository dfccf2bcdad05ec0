# Makes allocations of statements fail, in the session and its workers or in the device service, with a library built by
# make FAULTS=yes (test/faults/faults.h): for 022_faults.pl and script/faults.
package Faults;

use strict;
use warnings;

use Exporter 'import';
use Psql;
use StatementKinds;

our @EXPORT = qw(run_faults can_fault);

my (@findings, $nfaults, $nerrors, $nsame, $connstr, $setting);

sub run_script
{
	my ($script) = @_;

	return psql(connstr => $connstr, script => $script, seconds => 300);
}

# Leavings: computations and memory of sessions in the service, temporary files, workers
my $left = q{SELECT concat_ws(' ', (SELECT sum(computations) FROM gpu_devices() WHERE service_pid IS NOT NULL),
	(SELECT count(*) FROM pg_ls_tmpdir()),
	(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker'));};
# The service's start as a statement
my @start = ('service start', '', q{SELECT count(pg_terminate_backend(pid, 5000)) < 0 FROM pg_stat_activity
		WHERE backend_type = 'gpureg device service';
	SELECT (gpu_ols_fit('SELECT y, x1, x2 FROM r')).coef});
my $bytes = 'SELECT sum(total_bytes) FROM pg_backend_memory_contexts;';
my $most_growth = 4 << 20;

sub answer_of
{
	my ($settings, $statement) = @_;
	my ($out, $err, $status) = run_script("$settings\n$statement;\n");

	return "$err$status" if $status || $err =~ /ERROR/;
	return $out;
}

# Runs a statement with each of these faults. Returns true if the statement ended before its fault's turn.
sub try_faults
{
	my ($name, $settings, $statement, $right, @numbers) = @_;
	# a service that was lost has no rows, so they are kept again
	my $keep = $setting =~ /service/ && $statement =~ /'kept'/ ? "\\o /dev/null\n$kinds_keep\n\\o\n" : '';
	my $script = "$settings\n$statement;\n\\echo \@bytes\n$bytes\n" . join '', map {
		"${keep}SET $setting = $_;\n\\echo \@begin $_\n$statement;\n\\echo \@end $_ :SQLSTATE\n"
		  . "\\echo \@left\nSHOW $setting;\nSET $setting = 0;\n"
		  . ($_ % 25 ? '' : "$keep\\echo \@begin 0\n$statement;\n\\echo \@end 0 :SQLSTATE\n\\echo \@left\nSELECT 0;\n")
	} @numbers;
	my ($out, $err, $status) = run_script("$script\\echo \@bytes\n$bytes\n\\echo \@done\n");
	my $through = 0;
	my $last = 0;

	while ($out =~ /^\@begin (\d+)\n(.*?)^\@end \d+ (\w+)\n\@left\s*\n(\d+)\n/msg)
	{
		my ($n, $text, $state, $left) = ($1, $2, $3, $4);

		$last = $n if $n;
		$nfaults++ if $n && $left == 0;
		$nerrors++ if $n && $state ne '00000';
		if ($state eq '00000')
		{
			$nsame++ if $n && $left == 0;
			push @findings, "$name, n = $n: another answer\n  $right  $text" if !is_same_answer($text, $right);
			$through = 1 if $left > 0;
		}
		# kept rows are lost with their service
		elsif ($n == 0 || $state !~ /^(?:53200|53000|53400|54000|58000|55000)$/ && !($keep && $state eq '42704'))
		{
			push @findings, "$name, n = $n: SQLSTATE $state";
		}
	}
	push @findings, "$name, after n = $last: $status " . substr($err, -600) if $status || $out !~ /^\@done$/m;
	my @bytes = $out =~ /^\@bytes\n(\d+)$/mg;
	push @findings, "$name, after n = $last: $bytes[0] bytes became $bytes[1]"
	  if @bytes == 2 && $bytes[1] > $bytes[0] + $most_growth;
	push @findings, map { "$name: $_" } $err =~ /^(.*(?:TRAP|leak|not closed|still referenced|problem in).*)$/mg;
	return $through || $status || $out !~ /^\@done$/m;
}

# True if the library is built with FAULTS=yes.
sub can_fault
{
	($connstr) = @_;
	return answer_of('', 'CREATE EXTENSION IF NOT EXISTS gpureg; SET gpureg.debug_fault = 0; SELECT 1') eq "1\n";
}

# Tries a statement with every fault up to number $every, and with one in twenty of the later ones.
sub try_statement
{
	my ($name, $settings, $query, $every) = @_;
	my $right = answer_of($settings, $query);
	my $n = 1;

	if ($right =~ /ERROR|late/)
	{
		push @findings, "$name: without a fault: $right";
		return;
	}
	while (1)
	{
		my $step = $n > $every ? 20 : 1;
		last if try_faults($name, $settings, $query, $right, map { $n + $_ * $step } 0 .. 49);
		$n += 50 * $step;
	}
	# waits for a server that was lost
	for (1 .. 100)
	{
		last if answer_of('', 'SELECT 1') eq "1\n";
		select(undef, undef, undef, 0.3);
	}
	my $found = answer_of('', 'SELECT pg_sleep(0.3)') && answer_of('', $left =~ s/;$//r);
	push @findings, "$name: is left: $found" if $found !~ /^(?:0 )?0 0$/;
	run_script($kinds_keep);
}

# Runs in an empty database. every: see try_statement(); only: a pattern of statements' names; tell: called with a line
# for each statement, and for each finding; service: faults are in the device service, which then runs every statement
# that it can. Returns a line of counts, and the findings as texts.
sub run_faults
{
	my ($database, %opt) = @_;
	my $tell = $opt{tell} // sub { };

	$connstr = $database;
	$setting = $opt{service} ? 'gpureg.debug_service_fault' : 'gpureg.debug_fault';
	(@findings, $nfaults, $nerrors, $nsame) = ();
	$_ = 0 for $nfaults, $nerrors, $nsame;
	my ($out, $err) = run_script("\\set ON_ERROR_STOP on\n" . kinds_setup(2000));
	die $err if $err =~ /ERROR|FATAL/;
	run_script($kinds_keep);
	for my $statement (@kinds, $opt{service} ? \@start : ())
	{
		my ($name, $settings, $query) = @$statement;
		my ($tried, $before) = ($nfaults, scalar @findings);

		next if $name !~ /$opt{only}/;
		$settings = "SET gpureg.device = gpu; $settings" if $opt{service};
		try_statement($name, $settings, $query, $opt{every});
		$tell->(join "\n  ", sprintf('%-32s %d faults', $name, $nfaults - $tried), @findings[ $before .. $#findings ]);
	}
	return (sprintf('%d faults, %d errors, %d right answers in spite of them', $nfaults, $nerrors, $nsame), @findings);
}

1;
