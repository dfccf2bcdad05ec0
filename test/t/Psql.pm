# Calls of psql by tests and scripts. Only psql() loads IPC::Run, so that psql_command() needs core Perl alone.
package Psql;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(psql_command psql);

# Returns the command that runs psql in a database without the user's settings: unaligned rows without headings.
sub psql_command
{
	my ($connstr, @options) = @_;

	return ('psql', '-XAtq', @options, '-d', $connstr);
}

# Runs a script to its end. Returns its output, its messages, and the exit status as in $?, or 'late'. Arguments:
# connstr; script, or none where options name a file; options: further ones of psql; seconds: patience; directory: where
# psql runs; merged: messages come among the output, as they are printed, and without the script's name and line.
sub psql
{
	my (%call) = @_;
	my ($out, $err) = ('', '');
	my @file = defined $call{script} && !$call{merged} ? ('-f', '-') : ();
	my @command = psql_command($call{connstr}, @{ $call{options} // [] }, @file);
	my $script = $call{script} // '';
	my @to = $call{merged} ? ('>&', \$out) : ('>', \$out, '2>', \$err);

	require IPC::Run;
	push @to, IPC::Run::timeout($call{seconds}) if $call{seconds};
	push @to, init => sub { chdir $call{directory} or die "cannot enter $call{directory}: $!\n" } if $call{directory};
	my $ended = eval { IPC::Run::run(\@command, '<', \$script, @to); 1; };
	die $@ if !$ended && $@ !~ /^IPC::Run: timeout/;
	return ($out, $err, $ended ? $? : 'late');
}

1;
