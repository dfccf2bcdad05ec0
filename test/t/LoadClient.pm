# A psql that stays, with core Perl alone, so that a load can run on machines with little installed: for Load.pm.
package LoadClient;

use strict;
use warnings;

use Exporter 'import';
use IO::Select;
use IPC::Open3;
use POSIX ();
use Psql;
use Symbol 'gensym';
use Time::HiRes qw(time sleep);

our @EXPORT = qw(open_client say_to hear kill_client close_client ask);

# Opens a connection, and returns its client, or (undef, error) if that fails.
sub open_client
{
	my ($connstr, $name) = @_;
	my $client = { text => { out => '', err => '' }, scripts => 0 };

	@$client{qw(out err)} = (gensym, gensym);
	$client->{psql} = open3($client->{in}, $client->{out}, $client->{err},
		psql_command("$connstr application_name='$name'", '-v', 'VERBOSITY=verbose', '-f', '-'));
	$client->{in}->autoflush(1);
	$client->{select} = IO::Select->new(@$client{qw(out err)});
	say_to($client, 'SELECT pg_backend_pid();');
	my ($out, $err, $ended) = hear($client, 60);
	if ($ended || $out !~ /^(\d+)$/m)
	{
		kill_client($client);
		return (undef, $err);
	}
	$client->{pid} = $1;
	return $client;
}

sub say_to
{
	my ($client, $script) = @_;
	my $end = 'end of script ' . ++$client->{scripts};

	$client->{end} = qr/^\Q$end\E\n/m;
	@{ $client->{text} }{qw(out err)} = ('', '');
	# hear() reports a psql that has ended
	local $SIG{PIPE} = 'IGNORE';
	print { $client->{in} } "$script\n\\echo $end\n\\warn $end\n";
}

# Returns output, messages, and 'ended' if psql has ended, or 'late' if it takes longer than that many seconds.
sub hear
{
	my ($client, $patience) = @_;
	my ($text, $until) = ($client->{text}, time + $patience);

	while ($text->{out} !~ $client->{end} || $text->{err} !~ $client->{end})
	{
		my $left = $until - time;
		return (@$text{qw(out err)}, 'late') if $left <= 0;
		for my $from ($client->{select}->can_read($left))
		{
			my $to = $from == $client->{out} ? 'out' : 'err';

			sysread($from, $text->{$to}, 65536, length $text->{$to}) or $client->{select}->remove($from);
		}
		return (@$text{qw(out err)}, 'ended') if !$client->{select}->count;
	}
	return ((map { s/$client->{end}//r } @$text{qw(out err)}), '');
}

sub kill_client
{
	my ($client) = @_;

	kill 'KILL', $client->{psql};
	close $client->{$_} for qw(in out err);
	waitpid $client->{psql}, 0;
}

sub close_client
{
	my ($client) = @_;

	local $SIG{PIPE} = 'IGNORE';
	print { $client->{in} } "\\q\n";
	close $client->{in};
	# the server notices the end of the connection in the meantime
	waitpid $client->{psql}, 0;
	close $client->{$_} for qw(out err);
}

# Returns the output of a script that must succeed.
sub ask
{
	my ($client, $script) = @_;

	say_to($client, $script);
	my ($out, $err, $ended) = hear($client, 1800);
	die substr($script, 0, 300) . ": $err$ended\n" if $ended || $err =~ /(?:ERROR|FATAL):/;
	chomp $out;
	return $out;
}

1;
