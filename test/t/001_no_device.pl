# Without a device: auto must compute on the CPU and give the reason, and gpu must fail with an error that says what to
# do.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use GpuregTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Hides every device from the server, on any machine.
$ENV{CUDA_VISIBLE_DEVICES} = '';

my $rows = 'SELECT i + (i % 3) AS y, i AS x FROM generate_series(1, 10) i';
my $fit = "gpu_ols_fit('$rows')";
my $arrays = "(SELECT gpu_ols(array_agg(x), array_agg(y)) FROM ($rows) r)";
my $last_run = "SELECT function, device, reason ~ '^no GPU: .*[[:alpha:]]{2}' FROM gpu_last_run()";

sub check_server
{
	my ($node, $how) = @_;
	my ($out, $err);

	# over array_agg rows are arrays and may go to a device, unless the planner rewrites the call to an aggregate
	$node->safe_psql('postgres', 'ALTER DATABASE postgres SET gpureg.enable_rewrite = off');

	# auto. With min_gpu_work 0 it looks for a device at once; the second time shows that a failure is remembered.
	for my $time ('first', 'second')
	{
		($out, $err) = try_sql($node, qq{
			SELECT cardinality(gpu_ols('{1}', '{1}'));
			SET gpureg.min_gpu_work = 0;
			SELECT round(($fit).coef[2]::numeric, 1);
			$last_run;
			SELECT round(($fit).coef[2]::numeric, 1);
			$last_run;
			SELECT cardinality($arrays);
			$last_run;
			SELECT (($fit)).device});
		is($err, '', "$how: auto, $time session: no message");
		is($out, "2\n1.0\ngpu_ols_fit|cpu|t\n1.0\ngpu_ols_fit|cpu|t\n2\ngpu_ols|cpu|t\ncpu",
			"$how: auto, $time session");
	}

	# gpu
	for my $call ($fit, $arrays)
	{
		my $name = "$how: gpu, " . substr($call, 0, 15);

		($out, $err) = try_sql($node, qq{
			SELECT count(*) FROM gpu_devices();
			SET gpureg.device = gpu;
			SELECT $call;
			SELECT $call;
			SET gpureg.device = auto;
			SET gpureg.min_gpu_work = 0;
			SELECT $call IS NOT NULL;
			$last_run;
			SET gpureg.device = cpu;
			SELECT $call IS NOT NULL;
			SELECT reason FROM gpu_last_run();
			SET gpureg.device = gpu;
			SET gpureg.gpu_id = 0;
			SELECT $call;
			SET gpureg.gpu_id = -2;
			SELECT $call});
		is(() = $err =~ /ERROR:  0A000: no GPU can be used/g, 4, "$name: SQLSTATE, each time") or diag($err);
		is(() = $err =~ /ERROR:/g, 4, "$name: no other error");
		is(() = $err =~ /^DETAIL:  [[:alpha:]]+ .*[[:alpha:]]+.*[^.]\.$/mg, 4, "$name: a detail in words")
			or diag($err);
		is(() = $err =~ /^HINT:  .*gpureg\.device.*\.$/mg, 4, "$name: a hint");
		like($out, qr/\A0\nt\ngpu_ols(?:_fit)?\|cpu\|t\nt\ngpureg.device is cpu\z/,
			"$name: auto and cpu work afterwards");
	}

	# the aggregates must never need a device
	is($node->safe_psql('postgres', "SET gpureg.device = gpu; SELECT (gpu_ols_agg(y, x)).n FROM ($rows) r"), '10',
		"$how: gpu_ols_agg with gpureg.device = gpu");
}

my $node = start_node('plain');
my $pid = postmaster_pid($node);

is($node->safe_psql('postgres', 'SHOW shared_preload_libraries'), '', 'not preloaded');
is($node->safe_psql('postgres', 'SELECT count(*) FROM gpu_devices()'), '0',
	'no devices as the first call of a session');
is($node->safe_psql('postgres', 'SELECT count(*) FROM gpu_last_run()'), '0', 'no last run in a new session');
check_server($node, 'loaded at first use');
survived($node, $pid, 'loaded at first use');

# A postmaster that loads the library and then forks must give the same results.
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'gpureg'\ngpureg.ring_size = '16MB'\n");
$node->restart;
$pid = postmaster_pid($node);
is($node->safe_psql('postgres', 'SHOW gpureg.ring_size'), '16MB', 'preloaded: settings are known before any call');
check_server($node, 'preloaded');
survived($node, $pid, 'preloaded');

$node->stop;
done_testing();
