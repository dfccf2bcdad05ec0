# A client of a server's socket that notes when an answer comes, to a part of a millisecond, and that can leave without
# a message: for tests that disturb statements at chosen times. It needs a role without a password.
package ServerClient;

use strict;
use warnings;

use Exporter 'import';
use IO::Select;
use IO::Socket::UNIX;
use Time::HiRes qw(time);

our @EXPORT = qw(client_open client_send client_wait client_ask client_leave);

# Opens a connection; undef while the server takes none. target: host (a directory), port, user, dbname.
sub client_open
{
	my ($target, $application) = @_;
	my $socket = IO::Socket::UNIX->new(Peer => "$target->{host}/.s.PGSQL.$target->{port}") or return undef;
	my $client = { socket => $socket, select => IO::Select->new($socket), in => '' };
	my $startup = join "\0", 'user', $target->{user}, 'database', $target->{dbname}, 'application_name', $application,
	  '', '';

	$socket->blocking(0);
	local $SIG{PIPE} = 'IGNORE';
	syswrite $socket, pack('NN', 8 + length $startup, 196608) . $startup;
	begin_answer($client);
	return client_wait($client, 30) eq 'ready' ? $client : undef;
}

sub begin_answer
{
	my ($client) = @_;

	@$client{qw(rows state message begun ended)} = ('', '00000', '', undef, undef);
}

sub client_send
{
	my ($client, $sql) = @_;

	begin_answer($client);
	local $SIG{PIPE} = 'IGNORE';
	syswrite $client->{socket}, 'Q' . pack('N', 5 + length $sql) . "$sql\0";
}

# Returns the values of a row's message, with NULL as an empty text.
sub row_values
{
	my ($body) = @_;
	my $at = 2;
	my @values;

	for (1 .. unpack 'n', $body)
	{
		my $length = unpack 'l>', substr $body, $at, 4;

		push @values, $length < 0 ? '' : substr $body, $at + 4, $length;
		$at += 4 + ($length < 0 ? 0 : $length);
	}
	return @values;
}

# Takes one message of the server's; returns true if it ends the answer.
sub take_message
{
	my ($client, $kind, $body) = @_;

	if ($kind eq 'K')
	{
		$client->{pid} = unpack 'N', $body;
	}
	elsif ($kind eq 'D')
	{
		$client->{rows} .= join('|', row_values($body)) . "\n";
	}
	elsif ($kind eq 'N')
	{
		$client->{begun} //= time;
	}
	elsif ($kind eq 'E' && $client->{state} eq '00000')
	{
		($client->{state}) = $body =~ /(?:^|\0)C(\w{5})\0/;
		($client->{message}) = $body =~ /\0M([^\0]*)/;
	}
	elsif ($kind eq 'R' && unpack('N', $body) != 0)
	{
		die "the server wants a password\n";
	}
	return $kind eq 'Z';
}

# Reads for so many seconds. Returns 'ready' when the answer has ended, 'gone' when the connection has, 'begun' when an
# expected notice has come, else 'late'.
sub client_wait
{
	my ($client, $seconds, $for_notice) = @_;
	my $until = time + $seconds;

	while (1)
	{
		while (length $client->{in} >= 5)
		{
			my ($kind, $length) = unpack 'aN', $client->{in};

			last if length $client->{in} < 1 + $length;
			my $body = substr $client->{in}, 5, $length - 4;
			substr($client->{in}, 0, 1 + $length) = '';
			if (take_message($client, $kind, $body))
			{
				$client->{ended} = time;
				return 'ready';
			}
		}
		return 'begun' if $for_notice && $client->{begun};
		my $left = $until - time;
		$! = 0;
		# a signal ends the wait, too
		return 'late' if !$client->{select}->can_read($left > 0 ? $left : 0) && !($!{EINTR} && $left > 0);
		my $got = sysread $client->{socket}, $client->{in}, 65536, length $client->{in};
		next if !defined $got && $!{EAGAIN};
		if (!$got)
		{
			$client->{ended} = time;
			return 'gone';
		}
	}
}

# Returns the rows of a statement as text; dies of an error.
sub client_ask
{
	my ($client, $sql, $seconds) = @_;

	client_send($client, $sql);
	my $came = client_wait($client, $seconds // 60);
	die "$came $client->{state} $client->{message}: $sql\n" if $came ne 'ready' || $client->{state} ne '00000';
	return $client->{rows} =~ s/\n\z//r;
}

# Closes the connection without a message.
sub client_leave
{
	my ($client) = @_;

	close $client->{socket};
}

1;
