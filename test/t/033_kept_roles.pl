# Kept rows of several roles and databases, by a stand-in service that computes on the CPU, or on a GPU
# (GPUREG_TAP_DEVICE, see GpuregTest.pm): whose rows a name means, what messages disclose of other roles, one role's
# limits on sets and memory, and how long others wait for it.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use GpuregTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time sleep);

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(auth_extra => [ '--create-role', 'alice,bob' ]);
$node->append_conf('postgresql.conf', join "\n", "shared_preload_libraries = 'gpureg'", 'shared_buffers = 32MB',
	'max_connections = 60', 'max_worker_processes = 32', 'jit = off', 'gpureg.device = gpu', service_conf(),
	'gpureg.ring_size = 1MB', '');
$node->start;
my $postmaster = postmaster_pid($node);

$node->safe_psql('postgres', q{
	CREATE EXTENSION gpureg;
	CREATE ROLE alice LOGIN;
	CREATE ROLE bob LOGIN;
	CREATE ROLE "Dotted.Role";
	CREATE ROLE "quo""ted";
	CREATE ROLE dave;
	CREATE ROLE "Public";
	CREATE FUNCTION napping(i int, k int) RETURNS int LANGUAGE plpgsql VOLATILE AS
		$$BEGIN PERFORM CASE WHEN i = k THEN pg_sleep(1000) END; RETURN i; END$$;
	-- what the service has given out
	CREATE VIEW reserved AS SELECT memory_reserved FROM gpu_devices() WHERE service_pid IS NOT NULL;
	CREATE DATABASE other;
	ANALYZE;});
$node->safe_psql('other', 'CREATE EXTENSION gpureg');

# Runs a script as a role, in a superuser's session.
sub as
{
	my ($role, $sql, %opt) = @_;

	return try_sql($node, 'SET SESSION AUTHORIZATION "' . ($role =~ s/"/""/gr) . "\";\n$sql", %opt);
}

# Checks the script's SQLSTATE when run by a role.
sub state_is
{
	my ($role, $sql, $state, $name, %opt) = @_;
	my ($out, $err) = as($role, $sql, %opt);

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(sqlstate($err), $state, $name) or diag($err);
	return $err;
}

# Returns a statement that keeps rows whose slope shows which role has kept them.
sub keeping
{
	my ($reference, $slope, $more) = @_;

	return 'SELECT gpu_keep(' . literal($reference)
	  . ", 'SELECT $slope * i AS y, i AS x, i % 3 AS z, i % 2 = 0 AS won FROM generate_series(1, 30) i'"
	  . ($more // '') . ')';
}
sub literal { return "'" . ($_[0] =~ s/'/''/gr) . "'"; }
sub slope
{
	return 'SELECT round((gpu_ols_fit(kept => ' . literal($_[0])
	  . ", formula => 'y ~ x')).coef[2]::numeric, 6)::float8";
}

# Checks that soon $bytes are reserved.
sub reserved_becomes
{
	my ($what, $name) = @_;
	my $took = seconds_until(sub { $node->safe_psql('postgres', 'TABLE reserved') }, qr/^(?:$what)$/);

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	cmp_ok($took, '<', 3, $name) or diag($node->safe_psql('postgres', 'TABLE reserved'));
}

sub set_memory
{
	$node->safe_psql('postgres', "ALTER SYSTEM SET gpureg.service_memory = '$_[0]'; SELECT pg_reload_conf()");
	sleep 0.5;
}

# Forgets all sets of both databases.
sub forget_all
{
	$node->safe_psql($_, q{SELECT gpu_forget(format('%I.%I', owner, name)) FROM gpu_kept()}) for qw(postgres other);
}

#
# Names
#
is((as('alice', keeping('sales', 7)))[0], '30', 'a role keeps rows');
my $err = error_is($node, slope('sales'), '42704', q{a superuser's name is no other role's rows});
like($err, qr/HINT:  Name the rows of another role with their owner: alice\.sales\./, 'which the hint names');
is($node->safe_psql('postgres', slope('alice.sales')), '7', 'with their owner they are found');
is($node->safe_psql('postgres', keeping('sales', 2) . '; ' . slope('sales')), "30\n2", 'nobody has taken the name');
is($node->safe_psql('postgres', slope('alice.sales') . '; ' . slope('postgres.sales')), "7\n2", 'two sets of a name');
is((as('alice', slope('sales')))[0], '7', 'each role has its own');
is((as('alice', keeping('sales', 8, ', true') . '; ' . slope('alice.sales')))[0], "30\n8", 'and replaces its own');
is($node->safe_psql('postgres', slope('sales')), '2', 'alone');
state_is('alice', keeping('sales', 8), '42710', 'a name that the role has');
is($node->safe_psql('other', keeping('sales', 3) . '; ' . slope('sales')), "30\n3", 'a database has its own, too');
(undef, $err) = try_sql($node, slope('alice.sales'), db => 'other');
is(sqlstate($err), '42704', 'and none of another');

# a role that owns nothing
for my $case (
	[ slope('sales'), '42704', 'fits' ],
	[ q{SELECT gpu_forget('alice.sales')}, '42501', 'lets go' ],
	[ slope('alice.sales'), '42501', 'fits to another role\'s rows' ],
	[ slope('alice.nothing'), '42501', 'fits to nothing of another role\'s' ],
	[ slope('postgres.sales'), '42501', 'fits to a superuser\'s' ],
	[ slope('nobody.sales'), '42704', 'fits to no role\'s' ],
	[ keeping('alice.new', 1), '42501', 'keeps rows as another role' ],
	[ keeping('alice.sales', 1, ', true'), '42501', 'replaces rows of another role' ],
	[ q{SELECT * FROM gpu_kept_all()}, '42501', 'lists all' ],
	[ q{SET gpureg.kept_sets_per_role = 60}, '42501', 'sets limits of sets' ],
	[ q{SET gpureg.kept_memory_per_role = 100}, '42501', 'sets limits of memory' ])
{
	my ($sql, $state, $name) = @$case;
	my $said = state_is('bob', $sql, $state, "who owns nothing $name");

	unlike($said, qr/alice|postgres/, "$name: nothing is told of others") if $sql !~ /alice|postgres|gpu_kept_all/;
}
is((as('bob', q{SELECT count(*) FROM gpu_kept(); SELECT gpu_forget('sales')}))[0], "0\nf",
	'nothing is listed, or goes');
my @said = map { (as('bob', "SELECT gpu_ols_fit(kept => 'alice.$_')"))[1] } qw(sales nothing);
s/nothing/sales/g for @said;
is($said[0], $said[1], 'of rows that are there it is told what is told of none');

# every function that takes kept rows
$node->safe_psql('postgres', q{SELECT gpu_forget('sales')});
for my $call (
	q{gpu_ols_fit(kept => %, formula => 'y ~ x')}, q{gpu_logreg_fit(kept => %, formula => 'won ~ x')},
	q{gpu_glm_fit(kept => %, family => 'poisson', formula => 'z ~ x')},
	q{gpu_ols_fit(kept => %, formula => 'y ~ x', vcov => 'CR1', clusters => '{z}')},
	q{gpu_enet_fit(kept => %, lambda => 0.1)}, q{gpu_enet_cv(kept => %, fold => 'z')}, q{gpu_enet_path(kept => %)},
	q{gpu_ols_boot(kept => %, key => 'x')}, q{gpu_ols_boot_replicates(kept => %, key => 'x')},
	q{gpu_logreg_boot(kept => %, key => 'x', formula => 'won ~ z')},
	q{gpu_logreg_boot_replicates(kept => %, key => 'x', formula => 'won ~ z')},
	q{gpu_ols_permute(kept => %, key => 'x')}, q{gpu_ols_cv(kept => %, key => 'x')},
	q{gpu_logreg_cv(kept => %, key => 'x', formula => 'won ~ z')},
	q{gpu_predict_rows((SELECT gpu_ols_fit('SELECT 2 * i AS y, i AS x FROM generate_series(1, 9) i')), %)})
{
	my ($name) = $call =~ /(\w+)/;
	my $sql = "SELECT count(*) FROM $call";

	state_is('postgres', $sql =~ s/%/'sales'/r, '42704', "$name: a superuser's own");
	is(sqlstate((as('postgres', $sql =~ s/%/'alice.sales'/r))[1]), 'none', "$name: of an owner");
	state_is('bob', $sql =~ s/%/'alice.sales'/r, '42501', "$name: without privileges");
}

# membership of roles, as for tables
$node->safe_psql('postgres', 'GRANT alice TO bob');
like(state_is('bob', slope('sales'), '42704', 'a member has names of its own'), qr/HINT: .*alice\.sales/,
	'and is told');
is((as('bob', slope('alice.sales')))[0], '8', 'and uses the rows');
is((as('bob', 'SET ROLE alice; ' . slope('sales')))[0], '8', 'or takes the role');
is((as('bob', 'SET ROLE alice; ' . keeping('alice.more', 4) . q{; RESET ROLE;
	SELECT owner, name FROM gpu_kept() ORDER BY name; SELECT gpu_forget('alice.more')}))[0],
	"30\nalice|more\nalice|sales\nt", 'and keeps rows as it');
$node->safe_psql('postgres', 'REVOKE alice FROM bob; CREATE ROLE noinherit NOINHERIT; GRANT alice TO noinherit');
state_is('noinherit', slope('alice.sales'), '42501', 'who does not inherit has to take the role');

# functions that run with their owner's rights
$node->safe_psql('postgres', keeping('sales', 2) . q{;
	CREATE SCHEMA of_alice AUTHORIZATION alice;
	SET ROLE alice;
	CREATE FUNCTION of_alice.slope(name text) RETURNS float8 LANGUAGE sql SECURITY DEFINER AS
		$$SELECT (gpu_ols_fit(kept => name, formula => 'y ~ x')).coef[2]$$;
	CREATE FUNCTION of_alice.invoker_slope(name text) RETURNS float8 LANGUAGE sql AS
		$$SELECT (gpu_ols_fit(kept => name, formula => 'y ~ x')).coef[2]$$;
	GRANT USAGE ON SCHEMA of_alice TO PUBLIC;});
my $slopes = q{SELECT round(of_alice.slope('sales')), round(of_alice.invoker_slope('sales'))};
is((as('bob', keeping('sales', 5) . "; $slopes"))[0], "30\n8|5", q{SECURITY DEFINER: the definer's rows});
is($node->safe_psql('postgres', $slopes), '8|2', q{and not a superuser's, who calls it});
state_is('postgres', q{SELECT of_alice.slope('postgres.sales')}, '42501', 'which the definer may not use');
forget_all();

# names with quotes, dots, upper case
my %name = ('a.b' => '"a.b"', 'q"x' => '"q""x"', 'with space' => 'with space', T => 'T', t => 't', '"' => '""""',
	'.' => '"."', 'select' => 'select', "it's" => "it's", "\x{e9}t\x{e9}" => "\x{e9}t\x{e9}", ('x' x 63) => 'x' x 63);
my $k = 0;
for my $name (sort keys %name)
{
	my $reference = $name{$name};

	$k++;
	utf8::encode($reference);
	utf8::encode($name);
	for my $role ('alice', 'Dotted.Role', 'quo"ted', 'Public')
	{
		my $owner = '"' . ($role =~ s/"/""/gr) . '"';
		my $quoted = '"' . ($name =~ s/"/""/gr) . '"';

		is((as($role, keeping($reference, $k) . '; SELECT name FROM gpu_kept(); ' . slope($reference)))[0],
			"30\n$name\n$k", "$role, $reference");
		is($node->safe_psql('postgres', slope("$owner.$quoted") . '; SELECT gpu_forget('
			. literal("$owner.$reference") . ')'), "$k\nt", "$owner.$reference");
	}
}
for my $reference ('', '"', '""', '"abc', '"a"b', '"a""', 'a"b', 'a.b.c', 'a.', '.a', '.', '..', 'a."b', '"a".',
	'"a".b"', 'alice."a"".b', 'x' x 64, 'alice.' . 'x' x 64, 'x' x 64 . '.a')
{
	error_is($node, keeping($reference, 1), '42602', "no name: $reference");
	error_is($node, slope($reference), '42602', "no name to fit to: $reference");
}
error_is($node, slope('Alice.sales'), '42704', 'no role of that name');
like(error_is($node, keeping('a.b', 1), '42704', 'a dot'), qr/dots: "a\.b"/, 'and how it is quoted');

#
# Roles that are dropped
#
reserved_becomes('0', 'nothing is left');
for my $way ('SELECT count(*) FROM gpu_kept()', keeping('next', 1) . q{; SELECT gpu_forget('next')},
	'SELECT count(*) FROM gpu_kept_all()')
{
	is((as('dave', keeping('left', 1)))[0], '30', 'a role keeps rows');
	$node->safe_psql('postgres', 'DROP ROLE dave; CREATE ROLE dave');
	reserved_becomes('[1-9]\d*', 'they are there when it is dropped');
	$node->safe_psql('postgres', $way);
	reserved_becomes('0', 'and go with ' . substr($way, 0, 30));
}

# A role that is created while a statement runs, and keeps rows: listing the kept rows in that statement must not drop
# them.
my $lister = start_session($node, 'lister', 'SELECT pg_sleep(3), (SELECT count(*) FROM gpu_kept() WHERE pg_sleep(0)
	IS NOT NULL)', q{DO $$BEGIN PERFORM 1 FROM pg_roles; PERFORM pg_sleep(2); PERFORM count(*) FROM gpu_kept(); END$$});
wait_active($node, 'lister', 'pg_sleep');
$node->safe_psql('postgres', 'CREATE ROLE erin');
is((as('erin', keeping('new', 6)))[0], '30', 'a new role keeps rows');
finish_session($lister);
is((as('erin', slope('new') . q{; SELECT gpu_forget('new')}))[0], "6\nt", 'which a statement of before leaves');

#
# Limits on the number of sets
#
sub many { return "SELECT sum(gpu_keep('$_[0]' || k, 'SELECT i AS y, i AS x FROM generate_series(1, 9) i'))
	FROM generate_series(1, $_[1]) k"; }
is((as('alice', many('a', 10)))[0], '90', 'ten sets');
is((as('alice', many('a', 6), db => 'other'))[0], '54', 'and six in another database');
like(state_is('alice', keeping('one more', 1), '53400', 'one more than a role may keep'),
	qr/"alice" keeps too many sets.*DETAIL: .* 16 sets, .*HINT: .*gpureg\.kept_sets_per_role/s, 'is said so');
is((as('alice', keeping('a1', 1, ', true')))[0], '30', 'one may be replaced');
is((as('bob', many('b', 16)))[0], '144', 'another role has as many');
is($node->safe_psql('postgres', many('p', 20)), '180', 'a superuser is not limited');
is($node->safe_psql('postgres', q{SELECT database, owner, count(*), sum(rows), bool_and(state = 'kept')
	FROM gpu_kept_all() GROUP BY 1, 2 ORDER BY 1, 2}),
	"other|alice|6|54|t\npostgres|alice|10|111|t\npostgres|bob|16|144|t\npostgres|postgres|20|180|t", 'gpu_kept_all');
is($node->safe_psql('postgres', q{SELECT sum(bytes) = (TABLE reserved) FROM gpu_kept_all()}), 't', 'has all bytes');
$node->safe_psql('postgres', 'ALTER ROLE alice SET gpureg.kept_sets_per_role = 17');
is($node->safe_psql('postgres', keeping('one more', 1), extra_params => [ '-U', 'alice' ]), '30',
	'a superuser raises the limit of a role');
(undef, $err) = try_sql($node, keeping('two more', 1), user => 'alice');
is(sqlstate($err), '53400', 'to that');
$node->safe_psql('postgres', 'ALTER ROLE alice RESET gpureg.kept_sets_per_role');
forget_all();

#
# Limits on memory
#
sub large { my ($name, $kb, $more) = @_; return "SELECT gpu_keep('$name', 'SELECT i AS y, " . ($more // 'i')
	. " AS x FROM generate_series(1, " . $kb * 64 . ") i', true)"; }
set_memory('8MB');
is((as('alice', large('a', 3000)))[0], '192000', 'less than half of the memory');
like(state_is('alice', large('b', 2000), '53400', 'more than a role may have'),
	qr/kept rows of role "alice" take too much memory.*bytes are needed.*HINT: .*gpureg\.kept_memory_per_role/s,
	'is said so');
is((as('alice', large('a', 3000)))[0], '192000', 'what is replaced does not count');
is((as('alice', large('b', 900)))[0], '57600', 'up to half');
is((as('bob', large('b', 3000)))[0], '192000', 'another role has the other half');
state_is('alice', q{SELECT gpu_forget('b')}, 'none', 'one goes');
state_is('alice', large('c', 800), 'none', 'and makes room');
forget_all();
reserved_becomes('0', 'all of it is given back');
is($node->safe_psql('postgres', large('a', 6000)), '384000', 'a superuser may have more');
forget_all();
# rows on their way count, too
my $keeping = start_session($node, 'keeping', 'SET SESSION AUTHORIZATION alice',
	large('slow', 4000, 'napping(i, 200000)'));
wait_active($node, 'keeping', 'gpu_keep');
reserved_becomes('[23]\d{6}', 'rows are on their way');
is($node->safe_psql('postgres', q{SELECT owner, name, state, rows IS NULL, bytes > 2e6 FROM gpu_kept_all()}),
	'alice|slow|being kept|t|t', 'which gpu_kept_all() shows');
state_is('alice', large('b', 2600), '53400', 'and which counts');
is((as('bob', large('b', 3800)))[0], '243200', 'for that role alone');

#
# Memory of rows on their way: nobody waits for it
#
my $logit = q{SELECT (gpu_logreg_fit('SELECT i % 3 = 0, i, i % 7 FROM generate_series(1, 200000) i')).n};
my ($took, @answer) = seconds(sub { try_sql($node, "SET statement_timeout = '20s'; $logit") });
is(sqlstate($answer[1]), '53200', 'a fit on the device');
cmp_ok($took, '<', $prompt, 'does not wait');
like($answer[1], qr/HINT:  Set gpureg\.device to auto or cpu/, 'and is told where it may run');
like($node->safe_psql('postgres', "SET gpureg.device = auto; SET gpureg.min_gpu_work = 0; $logit; SELECT device, reason
	FROM gpu_last_run()"), qr/^200000\ncpu\|GPU memory: .* free/, 'where it does, and says so');
($took, @answer) = seconds(sub { as('bob', "SET statement_timeout = '20s'; SELECT gpu_ols_fit(kept => 'b')") });
is(sqlstate($answer[1]), '53200', 'a fit to kept rows');
cmp_ok($took, '<', $prompt, 'does not wait either');
$node->safe_psql('postgres', q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'keeping'});
finish_session($keeping);
like((as('bob', q{SELECT (gpu_ols_fit(kept => 'b')).n}))[0], qr/^243200$/, 'which is well when they are gone');
forget_all();
reserved_becomes('0', 'nothing is left of them');

#
# Memory of computations: others wait for it for gpureg.service_wait
#
$node->safe_psql('postgres', large('k', 2000));
my $holder = start_session($node, 'holder', q{SELECT gpu_logreg_fit('SELECT i % 3 = 0, i, napping(i, 150000) FROM
	generate_series(1, 200000) i')});
wait_active($node, 'holder', 'gpu_logreg_fit');
reserved_becomes('[67]\d{6}', 'a fit over a query that sleeps has memory');
for my $case (
	[ $logit,
		qr/not enough GPU memory.*after [\d.]+ s of waiting.*device to auto or cpu, or raise gpureg\.service_wait/s ],
	[ q{SELECT gpu_ols_fit(kept => 'k')},
		qr/not enough memory in the device service.*after [\d.]+ s of waiting.*raise gpureg\.service_wait/s ])
{
	my ($sql, $message) = @$case;
	my $limits = "SET statement_timeout = '20s'; SET gpureg.service_wait";

	($took, @answer) = seconds(sub { try_sql($node, "$limits = '500ms'; $sql") });
	is(sqlstate($answer[1]), '53200', 'a wait ends');
	cmp_ok($took, '<', $prompt, 'in time');
	cmp_ok($took, '>=', 0.5, 'and not before');
	like($answer[1], $message, 'and what can be done is said');
	@answer = try_sql($node, "$limits = 0; $sql");
	unlike($answer[1], qr/waiting/, 'without a wait');
	is(sqlstate($answer[1]), '53200', 'it ends at once');
}
like($node->safe_psql('postgres', "SET gpureg.device = auto; SET gpureg.min_gpu_work = 0; $logit; SELECT device FROM
	gpu_last_run()"), qr/^200000\ncpu$/, 'auto takes the CPU');
my $patient = start_session($node, 'patient', q{SELECT (gpu_ols_fit(kept => 'k')).n});
wait_active($node, 'patient', 'gpu_ols_fit');
$node->safe_psql('postgres', q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'holder'});
finish_session($holder);
is((finish_session($patient))[0], "128000\n", 'who is patient is served');
forget_all();

#
# Descriptions
#
sub texts { my ($name, $n, $nbytes) = @_; return "SELECT gpu_keep('$name', 'SELECT i AS y, '
	|| (SELECT string_agg(format('lpad(i::text, $nbytes) AS c%s', k), ', ') FROM generate_series(1, $n) k)
	|| ' FROM generate_series(1, 9990) i')"; }
like(error_is($node, texts('pins', 90, 1000), '54000', 'levels of 900 MB'),
	qr/column "c\d+" of the query has levels that take too much memory.*DETAIL: .* 32 MB/s, 'the column and the limit');
error_is($node, texts('pins', 1, 1000), '53200', 'levels are admitted as rows are');
reserved_becomes('0', 'which leaves nothing');
set_memory('400MB');
for my $set (1 .. 3)
{
	is($node->safe_psql('postgres', texts("large$set", 3, 1000)), '9990', 'levels of 30 MB');
}
is($node->safe_psql('postgres', q{SELECT count(*), min(bytes) > 9990 * (4 * 8 + 3 * 1000), sum(bytes) = (TABLE reserved)
	FROM gpu_kept()}), '3|t|t', 'count as what they take');
($took, @answer) = seconds(sub { try_sql($node, q{SET statement_timeout = '50ms'; SELECT count(*) FROM gpu_kept()}) });
is($answer[0], '3', 'a list does not read levels');
($took, @answer) = seconds(sub { try_sql($node, q{SET statement_timeout = '10ms'; SELECT gpu_ols_fit(kept => 'large1',
	formula => 'y ~ c1')}) });
is(sqlstate($answer[1]), '57014', 'a fit that reads levels is cancelled');
cmp_ok($took, '<', 1, 'in time');
is($node->safe_psql('postgres', q{SELECT (gpu_ols_fit(kept => 'large2', formula => 'y ~ c1', rows => 'y < 9')).n}),
	'8', 'and fits to the others go on');
is((as('alice', texts('own', 3, 1000)))[0], '9990', 'another role');
set_memory('80MB');
forget_all();
reserved_becomes('0', 'and all of it is given back');
like(state_is('alice', texts('own', 3, 1000) . '; ' . texts('own2', 2, 1000), '53400',
		q{a role's share has levels, too}), qr/kept rows of role "alice" take too much memory/, 'is said so');
forget_all();
is($node->safe_psql('postgres', q{SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
	SET min_parallel_table_scan_size = 0; SET parallel_leader_participation = off;
	CREATE TABLE t AS SELECT i AS y, lpad(i::text, 900) AS c FROM generate_series(1, 9000) i; ANALYZE t;
	SELECT gpu_keep('by workers', 'TABLE t'); SELECT workers > 0 FROM gpu_last_run();
	SELECT bytes > 9000 * 916 FROM gpu_kept()}), "9000\nt\nt", 'levels that workers have met count');
my (undef, $said) = try_sql($node, q{SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
	SET min_parallel_table_scan_size = 0; SELECT gpu_keep('too many', 'SELECT y, c, ''1'' || c AS d, ''2'' || c AS e,
	''3'' || c AS f, ''4'' || c AS g FROM t')});
is(sqlstate($said), '54000', 'and are bounded');
forget_all();
reserved_becomes('0', 'nothing is left');

#
# The log
#
$node->safe_psql('other', keeping('sales', 1));
as('quo"ted', keeping('"a.b"', 1));
my $logged = slurp_file($node->logfile);
like($logged, qr/LOG:  gpureg device service has started\n.*DETAIL:  The device is /, 'the start of the service');
unlike($logged, qr/device service ends/, 'which has not ended yet');
$node->safe_psql('postgres',
	'SELECT pg_terminate_backend(service_pid) FROM gpu_devices() WHERE service_pid IS NOT NULL');
for (1 .. 100)
{
	last if !service_processes($postmaster);
	sleep 0.1;
}
$logged = slurp_file($node->logfile);
like($logged, qr/LOG:  gpureg device service ends: it was stopped\n/, 'its end');
like($logged, qr/role "postgres", database "other": "sales" \(30 rows\)/, 'with what it kept');
like($logged, qr/role "quo"ted", database "postgres": "a\.b" \(30 rows\)/, 'and whose that was');
$node->safe_psql('postgres', "ALTER SYSTEM SET gpureg.service_idle = 1; SELECT pg_reload_conf(); $logit");
for (1 .. 100)
{
	last if !service_processes($postmaster);
	sleep 0.1;
}
like(slurp_file($node->logfile),
	qr/ends: no session has used it for gpureg\.service_idle\n.*DETAIL:  It kept no rows/,
	'a service that nobody uses');
survived($node, $postmaster, 'all of it');

done_testing();
