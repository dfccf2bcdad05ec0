# The library is replaced while the server runs: sessions with another build than that of the shared memory must run
# without the device service and report it, and sessions of the old build must keep their rows.
#
# Up to PostgreSQL 16 the service needs the library preloaded, so all processes have the same one; there a module
# pretends to be another build. From 17 on two builds are used, one of which is a copy of the other with another
# identity; GPUREG_OTHER_LIBRARY names a file to use as the new one.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use File::Copy qw(copy);
use GpuregTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my ($module, $why_not) = build_module('foreign_header');
plan skip_all => $why_not if !defined $module;

my $version = `pg_config --version` =~ /(\d+)/ ? $1 : 0;
my $node = PostgreSQL::Test::Cluster->new('main');
my @settings = ('gpureg.device = auto', 'gpureg.min_gpu_work = 0', service_conf());

my $rows = 'SELECT i %% 7 + i %% 3 AS y, i %% 11 AS a, i AS b FROM generate_series(1, 100) i' =~ s/%%/%/gr;
my $fit = "SELECT round(((gpu_ols_fit(\$\$$rows\$\$)).coef)[2]::numeric, 10)";
my $reason = 'SELECT reason FROM gpu_last_run()';
my $kept = q{SELECT round(((gpu_ols_fit(kept => 'rows', formula => 'y ~ a + b')).coef)[2]::numeric, 10)};
my $coef;
my $restart = qr/without the device service: .*restart the server/;

# Checks a session of another build than the shared memory's: fits must work and give the reason why they have no
# service; kept rows must be errors with a hint.
sub runs_without_service
{
	my ($whose) = @_;

	my ($out, $err) = try_sql($node, "$fit; $reason;");
	is(sqlstate($err), 'none', "$whose: a fit works") or diag($err);
	like($out, qr/^\Q$coef\E\n/, "$whose: its answer is right");
	like($out, $restart, "$whose: gpu_last_run() says to restart the server");
	for my $statement ("SELECT gpu_keep('more', \$\$$rows\$\$)", $kept)
	{
		($out, $err) = try_sql($node, $statement);
		is(sqlstate($err), '55000', "$whose: no rows are kept: $statement");
		like($err, qr/HINT:\s+Restart the server/, "$whose: the hint says what to do");
	}
	($out, $err) = try_sql($node, 'SELECT count(*) FROM gpu_devices() WHERE service_pid IS NOT NULL; SELECT 1');
	is(sqlstate($err), 'none', "$whose: the other functions work");
	is($out, "0\n1", "$whose: it sees no service");
}

$node->init;
$node->append_conf('postgresql.conf', "$_\n") for @settings;

if ($version < 17)
{
	$node->append_conf('postgresql.conf', "shared_preload_libraries = '$module, gpureg'");
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION gpureg');
	$coef = $node->safe_psql('postgres', "SET gpureg.device = cpu; $fit");
	runs_without_service('another build');
	like($node->safe_psql('postgres', "$fit; $reason"), qr/0\.2\.9/, 'the version of the other build is named');
	$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "'gpureg'");
	$node->restart;
	$node->safe_psql('postgres', "SELECT gpu_keep('rows', \$\$$rows\$\$)");
	is($node->safe_psql('postgres', $kept), $coef, 'after a restart rows are kept');
	done_testing();
	exit;
}

# The library lies in a directory of this test's.
my $own = PostgreSQL::Test::Utils::tempdir;
chomp(my $installed = `pg_config --pkglibdir`);
my $old = slurp_file("$installed/gpureg.so");
my $new = $old =~ s/gpureg build \K([0-9a-f]{64})/reverse $1/er;
$new = slurp_file($ENV{GPUREG_OTHER_LIBRARY}) if defined $ENV{GPUREG_OTHER_LIBRARY};

sub install
{
	my ($bytes) = @_;
	open my $file, '>:raw', "$own/gpureg.so.new" or die $!;
	print $file $bytes;
	close $file or die $!;
	rename "$own/gpureg.so.new", "$own/gpureg.so" or die $!;
}

isnt($new, $old, 'the identity of the build is found in the library');
install($old);
$node->append_conf('postgresql.conf', "dynamic_library_path = '$own:\$libdir'");
$node->start;
$node->safe_psql('postgres', qq{CREATE EXTENSION gpureg;
	UPDATE pg_proc SET probin = 'gpureg' WHERE probin = '\$libdir/gpureg';
	CREATE FUNCTION foreign_segment(int) RETURNS bool LANGUAGE c AS '$module'});
$coef = $node->safe_psql('postgres', "SET gpureg.device = cpu; $fit");

my $session = open_psql($node, 'old');
like((psql_says($session, "$fit; $reason;"))[0], qr/^\Q$coef\E\n(?!.*restart)/, 'a session of the old build has a service');
psql_says($session, "SELECT gpu_keep('rows', \$\$$rows\$\$);");
my $log_at = -s $node->logfile;
install($new);
runs_without_service('a new build');
is((psql_says($session, "$kept;"))[0], "$coef\n", 'the old session still has its kept rows');

# Ends the service's process, after which a new one would have the new library.
$node->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity
	WHERE backend_type = 'gpureg device service'});
seconds_until(sub { 0 + service_processes(postmaster_pid($node)) }, qr/^0$/);
my $started = time;
my ($said) = psql_says($session, "$fit; $reason;");
like($said, qr/^\Q$coef\E\n/, 'without its service the old session goes on');
like($said, qr/replaced by another build.*restart the server/, 'it says that the library was replaced');
cmp_ok(time - $started, '<', 5, 'it does not wait for a service that cannot start');
like(slurp_file($node->logfile, $log_at), qr/gpureg device service cannot start/, 'the log says so, too');
close_psql($session);

$node->restart;
is($node->safe_psql('postgres', "SELECT gpu_keep('rows', \$\$$rows\$\$) IS NOT NULL; $kept"), "t\n$coef",
	'after a restart the new build keeps rows');

# 0.1.0 had no header, and a segment of another size under the same name.
for my $nbytes (80160, 512)
{
	$node->restart;
	$node->safe_psql('postgres', "SELECT foreign_segment($nbytes)");
	runs_without_service("a segment of $nbytes bytes without a header");
}
done_testing();
