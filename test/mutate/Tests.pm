# Runs the tests of the tree one by one against a private copy: unit programs, regression suites, TAP tests.
#
# A place is a directory with a copy of the sources (tree), an installation (prefix), and a server's cluster (data),
# which is restored from a copy (golden), in which the database "fresh" is the result of the suite "setup".
package Tests;

use strict;
use warnings;

use Cwd 'abs_path';
use Exporter 'import';
use File::Basename;
use File::Path qw(make_path remove_tree);
use POSIX ();
use Time::HiRes qw(time sleep);

our @EXPORT_OK = qw(all_tests place run_test link_units build_commands renew stop_place run_limited output_of slurp
  write_file);

# Prefix of commands that run as the server's user, from script/mutate
my @as_server = split /\t/, $ENV{GPUREG_AS_SERVER} // '';
my $pg_config = $ENV{PG_CONFIG} // 'pg_config';

sub slurp
{
	my ($file) = @_;
	open my $in, '<:raw', $file or die "cannot read $file: $!\n";
	local $/;
	return scalar <$in> // '';
}

sub write_file
{
	my ($file, $text) = @_;
	open my $out, '>:raw', $file or die "cannot write $file: $!\n";
	print $out $text;
	close $out or die "cannot write $file: $!\n";
}

sub output_of
{
	my @command = @_;
	open my $in, '-|', @command or die "cannot run $command[0]: $!\n";
	local $/;
	my $output = <$in> // '';
	close $in or die "@command failed:\n$output\n";
	return $output;
}

# Runs a command in a process group of its own, with its output in a file. Returns its status, or 'timeout' after
# limit_s.
sub run_limited
{
	my ($log, $limit_s, $directory, @command) = @_;
	my $deadline = time + $limit_s;
	my $pid = fork // die "cannot fork: $!\n";

	if ($pid == 0)
	{
		POSIX::setsid();
		open STDIN, '<', '/dev/null';
		open STDOUT, '>', $log;
		open STDERR, '>&', \*STDOUT;
		chdir $directory or POSIX::_exit(126);
		exec @command or POSIX::_exit(127);
	}
	my $nap = 0.002;
	while (waitpid($pid, POSIX::WNOHANG()) == 0)
	{
		if (time > $deadline)
		{
			kill KILL => -$pid;
			waitpid $pid, 0;
			return 'timeout';
		}
		sleep $nap;
		$nap = $nap * 1.2 if $nap < 0.1;
	}
	kill KILL => -$pid;
	return $?;
}

# Returns all tests of the sources: hashes of name, kind and file.
sub all_tests
{
	my ($root) = @_;
	my @tests;

	my ($units, $suites) =
	  split /\n/, output_of('make', '-s', '--no-print-directory', '-C', $root, 'CUDA=no',
		'--eval=gpureg-tests: ; @echo $(UNIT_TESTS); echo $(REGRESS)', 'gpureg-tests');
	push @tests, map { { name => 'unit ' . basename($_), kind => 'unit', file => "test/unit/" . basename($_) . ".c" } }
	  split ' ', $units;
	push @tests, map { { name => "regress $_", kind => 'regress', file => "test/sql/$_.sql" } }
	  grep { $_ ne 'setup' } split ' ', $suites;
	push @tests, map { { name => 'tap ' . basename($_, '.pl'), kind => 'tap', file => 'test/t/' . basename($_) } }
	  sort glob "$root/test/t/*.pl";
	return @tests;
}

# Returns a place, given its directory with tree and prefix; extra: environment variables for its programs.
sub place
{
	my ($directory, %extra) = @_;
	my $place = {
		dir => $directory, tree => "$directory/tree", data => "$directory/data", golden => "$directory/golden",
		work => "$directory/work", prefix => "$directory/prefix", extra => \%extra, running => 0 };

	chomp($place->{bin} = $place->{prefix} . output_of($pg_config, '--bindir'));
	chomp($place->{lib} = $place->{prefix} . output_of($pg_config, '--pkglibdir'));
	chomp(my $pgxs = output_of($pg_config, '--pgxs'));
	$place->{pgxs} = dirname(dirname(dirname($pgxs)));
	$place->{build} = build_commands($place->{tree});
	return $place;
}

# Returns make's commands: by object the compile line, and the link lines of the library and of each unit test.
sub build_commands
{
	my ($tree) = @_;
	my %build;

	for my $line (split /\n/, output_of('make', '-n', '-B', '-C', $tree, 'CUDA=no', 'with_llvm=no', 'all', 'units'))
	{
		if ($line =~ m{ -c (?:-o (\S+\.o) (\S+)|(\S+) -o (\S+\.o))})
		{
			$build{compile}{ $1 // $4 } = [ $line, $2 // $3 ];
		}
		elsif ($line =~ /-shared -o gpureg\.so/) { $build{library} = $line; }
		elsif ($line =~ m{^(.*?) (test/unit/(\w+)\.c) (.* -o build/unit/\w+)$})
		{
			$build{unit}{"unit $3"} = { compile => "$1 -c $2 -o build/unit/$3.test.o",
				link => "$1 build/unit/$3.test.o $4", object => "build/unit/$3.test.o", source => $2 };
		}
	}
	return \%build;
}

#
# The server
#

sub as_server
{
	my ($place, @command) = @_;
	my %set = (%{ $place->{extra} }, PGHOST => "$place->{dir}/socket", PGPORT => 5432, PGUSER => 'postgres');

	return (@as_server, 'env', (map { "$_=$set{$_}" } sort keys %set), @command);
}

sub give
{
	my ($place, @files) = @_;

	return if $> != 0;
	my $owner = output_of(@as_server, 'id', '-u');
	chomp $owner;
	system('chown', '-R', $owner, @files) == 0 or die "cannot give @files to the server's user\n";
}

sub command
{
	my ($place, $name, @command) = @_;
	my $log = "$place->{dir}/$name.log";
	my $status = run_limited($log, 120, $place->{dir}, as_server($place, @command));

	die "$name failed:\n" . slurp($log) if $status ne '0';
}

sub start
{
	my ($place) = @_;

	command($place, 'start', "$place->{bin}/pg_ctl", '-D', $place->{data}, '-l', "$place->{data}/log", '-w', 'start');
	$place->{running} = 1;
}

sub stop_place
{
	my ($place, $mode) = @_;
	my $pidfile = "$place->{data}/postmaster.pid";

	$place->{running} = 0;
	stop_servers($place->{data}, $mode // 'QUIT');
	remove_tree($place->{data}) if !defined $mode;
}

# Ends servers whose clusters are below a directory, and waits until they have ended.
sub stop_servers
{
	my ($directory, $signal) = @_;
	return if !-d $directory;

	for my $file (split /\n/, output_of('find', $directory, '-name', 'postmaster.pid'))
	{
		my ($pid) = eval { slurp($file) } // '' =~ /^(\d+)/;
		($pid) = ($pid // '') =~ /^(\d+)/ or next;
		my $deadline = time + 10;

		kill $signal => $pid;
		sleep 0.02 while -e $file && time < $deadline;
		next if !-e $file;
		# a child that doesn't react delays the postmaster, which would kill it later
		kill KILL => map { /^(\d+)/ } split /\n/, `ps -o pid= --ppid $pid`;
		kill KILL => $pid;
	}
}

# Restores the server to its state after setup, running with the prefix's library.
sub renew
{
	my ($place) = @_;

	stop_place($place);
	make_golden($place) if !-d $place->{golden};
	system('cp', '-a', $place->{golden}, $place->{data}) == 0 or die "cannot copy $place->{golden}\n";
	start($place);
}

sub make_golden
{
	my ($place) = @_;

	make_path("$place->{dir}/socket", $place->{data});
	give($place, "$place->{dir}/socket", $place->{data});
	command($place, 'initdb', "$place->{bin}/initdb", '-D', $place->{data}, qw(-A trust -U postgres -E UTF8 --no-locale
		--no-sync));
	open my $conf, '>>', "$place->{data}/postgresql.conf" or die "cannot configure the server: $!\n";
	print $conf "listen_addresses = ''\nunix_socket_directories = '$place->{dir}/socket'\nfsync = off\n",
	  "full_page_writes = off\nsynchronous_commit = off\nautovacuum = off\n";
	close $conf;
	start($place);
	copy_tests($place);
	command($place, 'createdb', "$place->{bin}/createdb", 'fresh');
	my $status = pg_regress($place, 'fresh', 'setup', 300);
	die "the suite setup fails:\n" . slurp("$place->{dir}/test.log") if $status ne '0';
	stop_place($place, 'INT');
	rename $place->{data}, $place->{golden} or die "cannot keep $place->{data}: $!\n";
}

# Copies the tests for the server's user.
sub copy_tests
{
	my ($place) = @_;

	remove_tree($place->{work});
	make_path("$place->{work}/tmp_check/log");
	system("cd '$place->{tree}' && cp -R test expected docs README.md sql script bench '$place->{work}'") == 0
	  or die "cannot copy the tests\n";
	give($place, $place->{work});
}

#
# Running one
#

# Runs a test within limit_s. Returns '' if it passes, or the reason why it doesn't.
sub run_test
{
	my ($place, $test, $limit_s) = @_;
	my $status = $test->{kind} eq 'unit' ? run_unit($place, $test, $limit_s)
	  : $test->{kind} eq 'regress' ? run_suite($place, $test, $limit_s)
	  : run_tap($place, $test, $limit_s);

	return $status eq 'timeout' ? "$limit_s s" : $status eq '0' ? '' : 'failed';
}

sub run_unit
{
	my ($place, $test, $limit_s) = @_;
	my ($name) = $test->{name} =~ /(\w+)$/;

	my %extra = %{ $place->{extra} };
	return run_limited("$place->{dir}/test.log", $limit_s, $place->{tree}, 'env', (map { "$_=$extra{$_}" } keys %extra),
		"build/unit/$name");
}

# Runs a suite in a copy of the database fresh; the server is restored after a failed suite, which may leave things
# behind.
sub run_suite
{
	my ($place, $test, $limit_s) = @_;
	my ($suite) = $test->{name} =~ /(\w+)$/;

	renew($place) if !$place->{running};
	copy_tests($place) if !-d $place->{work};
	my $made = run_limited("$place->{dir}/createdb.log", 60, $place->{dir}, as_server($place, "$place->{bin}/psql", '-qX',
		'-d', 'postgres', '-c', 'DROP DATABASE IF EXISTS suite', '-c', 'CREATE DATABASE suite TEMPLATE fresh'));
	my $status = $made eq '0' ? pg_regress($place, 'suite', $suite, $limit_s) : $made;
	stop_place($place) if $status ne '0';
	return $status;
}

sub pg_regress
{
	my ($place, $database, $suite, $limit_s) = @_;
	my ($version) = output_of("$place->{bin}/postgres", '-V') =~ / (\d+)/;

	return run_limited("$place->{dir}/test.log", $limit_s, $place->{work}, as_server($place,
		"$place->{pgxs}/src/test/regress/pg_regress", "--bindir=$place->{bin}", '--inputdir=test', '--outputdir=.',
		($version >= 16 ? '--expecteddir=.' : ()), '--use-existing', "--dbname=$database", "--host=$place->{dir}/socket",
		'--port=5432', '--user=postgres', $suite));
}

sub run_tap
{
	my ($place, $test, $limit_s) = @_;
	my $work = $place->{work};
	my %extra = %{ $place->{extra} };

	copy_tests($place);
	make_path("$place->{dir}/tap");
	give($place, "$place->{dir}/tap");
	my $status = run_limited("$place->{dir}/test.log", $limit_s, $work, @as_server, 'env',
		"PATH=$place->{bin}:$ENV{PATH}", "TESTDIR=$work", "TESTDATADIR=$work/tmp_check",
		"TESTLOGDIR=$work/tmp_check/log", "PG_REGRESS=$place->{pgxs}/src/test/regress/pg_regress", 'PGPORT=65432',
		"TMPDIR=$place->{dir}/tap", "PG_TEST_TIMEOUT_DEFAULT=60", (map { "$_=$extra{$_}" } keys %extra),
		'prove', '-I', "$place->{pgxs}/src/test/perl", '-I', 'test/t', $test->{file});
	stop_servers($work, 'QUIT') if $status ne '0';
	stop_servers("$place->{dir}/tap", 'QUIT') if $status ne '0';
	return $status;
}

# Links unit tests with the tree's objects. A test's own object is compiled if it is older than its source, or if a
# header has changed: such an object is used only with that header, and removed then.
sub link_units
{
	my ($place, $header, @names) = @_;

	for my $name (@names)
	{
		my $unit = $place->{build}{unit}{$name} or die "no unit test $name\n";
		my ($object, $source) = map { "$place->{tree}/$_" } @$unit{qw(object source)};

		unlink $object if $header;
		system("cd '$place->{tree}' && $unit->{compile}") == 0 or die "cannot compile $source\n"
		  if !-e $object || -M $object > -M $source || grep { -M $object > -M $_ } glob "$place->{tree}/test/unit/*.h";
		system("cd '$place->{tree}' && $unit->{link} 2>$place->{dir}/link.log") == 0
		  or die "cannot link $name:\n" . slurp("$place->{dir}/link.log");
		unlink $object if $header;
	}
}

1;
