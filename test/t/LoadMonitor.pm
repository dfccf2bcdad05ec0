# Watches the memory of a server's processes, its shared memory and temporary files, and a GPU's memory: for Load.pm.
package LoadMonitor;

use strict;
use warnings;

use Exporter 'import';
use LoadClient;
use List::Util qw(max sum0);
use Time::HiRes qw(time sleep);

our @EXPORT = qw(memory_kb find_server returns_memory surroundings has_gpu device_mb open_threads watch_server);

sub slurp
{
	my ($path) = @_;

	open(my $file, '<', $path) or return '';
	local $/;
	return <$file> // '';
}

# Returns a process's own memory in kB: anonymous memory, resident or swapped out; undef if the process is gone.
# (RssAnon is Anonymous of smaps_rollup, but anyone may read it, and without a walk over the process's pages.)
sub memory_kb
{
	my ($pid) = @_;
	my $status = slurp("/proc/$pid/status");

	my ($resident) = $status =~ /^RssAnon:\s+(\d+)/m;
	my ($swapped) = $status =~ /^VmSwap:\s+(\d+)/m;
	return defined $resident ? $resident + ($swapped // 0) : undef;
}

sub parent_of
{
	my ($pid) = @_;

	return slurp("/proc/$pid/status") =~ /^PPid:\s+(\d+)/m ? $1 : 0;
}

sub children_of
{
	my ($pid) = @_;
	my @children = split ' ', slurp("/proc/$pid/task/$pid/children");

	return @children if @children;
	return grep { parent_of($_) == $pid } map { m{^/proc/(\d+)$} ? $1 : () } glob '/proc/[0-9]*';
}

# Returns the name of a process by its title: session, service, worker, or the server's name for it.
sub process_name
{
	my ($pid) = @_;
	my $title = slurp("/proc/$pid/cmdline") =~ s/\0.*//sr;

	return 'service' if $title =~ /gpureg device service/;
	return 'worker' if $title =~ /parallel worker/;
	return 'session' if $title =~ /^postgres: .*\[local\]|^postgres: .*\(\d+\)/;
	return $title =~ /^postgres: (?:.*: )?([a-z][a-z ]*?) *$/ ? $1 : 'postmaster';
}

# Finds the postmaster and the server's files.
sub find_server
{
	my ($client) = @_;
	my $postmaster = parent_of($client->{pid});

	die "The server isn't on this machine.\n"
	  if !$postmaster || !grep { $_ == $client->{pid} } children_of($postmaster);
	my $checkpointer = ask($client, q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer';});
	return { postmaster => $postmaster, checkpointer => $checkpointer, data => ask($client, 'SHOW data_directory;'),
		mmap => ask($client, 'SHOW dynamic_shared_memory_type;') eq 'mmap' };
}

# True if the C library of the server's processes keeps little memory that was freed.
sub returns_memory
{
	my ($server) = @_;

	return slurp("/proc/$server->{postmaster}/environ") =~ /^(?:.*\0)?MALLOC_TRIM_THRESHOLD_=131072\0/s;
}

# Returns threads of a process, except its first, that may receive a signal that the server handles (HUP, INT, QUIT,
# USR1, USR2, ALRM, TERM, URG): only the first thread may run handlers.
sub open_threads
{
	my ($pid) = @_;
	my $handled = 0;
	my @open;

	$handled |= 1 << ($_ - 1) for 1, 2, 3, 10, 12, 14, 15, 23;
	for my $thread (map { m{/(\d+)$} } glob "/proc/$pid/task/*")
	{
		next if $thread == $pid;
		my $status = slurp("/proc/$pid/task/$thread/status");
		my %of = $status =~ /^(Name|SigBlk|SigCgt):\s+([^\n]*)$/mg;

		# a thread that has just ended shows only zeros
		next if !defined $of{SigCgt} || $of{SigCgt} !~ /[1-9a-f]/;
		push @open, $of{Name} if $handled & ~hex substr $of{SigBlk}, -8;
	}
	return @open;
}

# Returns files of shared memory that processes of this server have mapped. (Other servers have theirs in /dev/shm as
# well.)
sub mapped
{
	my ($server) = @_;
	my %files;

	for my $pid ($server->{postmaster}, children_of($server->{postmaster}))
	{
		my $maps = slurp("/proc/$pid/maps");
		$files{$1} = 1 while $maps =~ m{^\S+ .*?(/dev/shm/PostgreSQL\.\d+|/\S*/pg_dynshmem/mmap\.\d+)}mg;
	}
	return keys %files;
}

# Returns the size of shared memory: files that are mapped, files that were mapped before ($seen), and files in the
# server's own directory, if it keeps them there.
sub shm_kb
{
	my ($server, $seen) = @_;
	my @lie = $server->{mmap} ? glob "$server->{data}/pg_dynshmem/mmap.*" : ();
	my %files = (%$seen, map { $_ => 1 } mapped($server), @lie);

	return int(sum0(map { -s $_ // 0 } keys %files) / 1024);
}

# Measures everything beside processes' memory.
sub surroundings
{
	my ($server, $client, $seen) = @_;

	return { shm_kb => shm_kb($server, $seen),
		files => ask($client, q{SELECT count(*) FROM pg_ls_dir('base/pgsql_tmp', true, false);}),
		workers => ask($client, q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker';}) };
}

sub has_gpu
{
	return `nvidia-smi -L 2>/dev/null` =~ /^GPU /m;
}

# Returns the memory in use on all GPUs in MB; 0 without one.
sub device_mb
{
	my $text = `nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits 2>/dev/null`;

	return sum0($text =~ /^(\d+)$/mg);
}

# Writes a line per second and process to $to until the file $stop exists: seconds, pid, name, kB; also lines for shared
# memory and the device, for each new file of shared memory, and for each process with a thread open to signals.
sub watch_server
{
	my ($server, $started, $stop, $to, $gpu) = @_;
	my (%name, %seen, %told, $turn);

	while (!-e $stop)
	{
		my $now = sprintf '%.1f', time - $started;

		for my $pid ($server->{postmaster}, children_of($server->{postmaster}))
		{
			my $kb = memory_kb($pid) // next;

			# a process gets its title a moment after its start
			$name{$pid} = process_name($pid) if ($name{$pid} // 'postmaster') eq 'postmaster';
			print $to "$now $pid ", $name{$pid} =~ tr/ /_/r, " $kb\n";
			print $to map { "F signals may come to a thread of a $name{$pid}: $_\n" } grep { !$told{"$pid $_"}++ }
			  open_threads($pid);
		}
		print $to map { "G $_\n" } grep { !$seen{$_}++ } mapped($server);
		print $to "$now 0 shm ", shm_kb($server, \%seen), "\n";
		print $to "$now 0 device ", device_mb() * 1024, "\n" if $gpu && ++$turn % 5 == 0;
		sleep 1;
	}
}

1;
