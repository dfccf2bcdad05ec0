# Rights and names in the presence of an attacker: policies, security barriers, columns, SECURITY DEFINER, changing
# roles, an attacker's functions and operators before the catalogue's, and made-up tickets. Tests the claims of
# docs/security.md that 010_trust.pl and 018_kept.pl don't.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use GpuregTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(auth_extra => [ '--create-role', 'owner,mallory,reader,definer' ]);
$node->append_conf('postgresql.conf', join "\n", 'max_worker_processes = 16', 'max_parallel_workers = 8',
	'max_parallel_workers_per_gather = 2', 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0',
	'min_parallel_table_scan_size = 0', "statement_timeout = '60s'", 'restart_after_crash = on', 'gpureg.device = cpu',
	'client_min_messages = error', '');
$node->start;
my $pid = postmaster_pid($node);

# owner has the extension and its schema; mallory owns a schema; reader may read what mallory may, and more.
$node->safe_psql('postgres', q{
	CREATE ROLE owner LOGIN;
	CREATE ROLE definer LOGIN;
	CREATE ROLE reader LOGIN;
	CREATE ROLE mallory LOGIN NOINHERIT IN ROLE reader;
	GRANT CREATE ON DATABASE postgres TO owner, definer;
	CREATE SCHEMA hers AUTHORIZATION mallory;
	GRANT USAGE ON SCHEMA hers TO public;});
$node->safe_psql('postgres', q{
	CREATE SCHEMA stats;
	GRANT USAGE ON SCHEMA stats TO public;
	CREATE EXTENSION gpureg SCHEMA stats;}, extra_params => [ '-U', 'owner' ]);
$node->safe_psql('postgres', q{
	CREATE SCHEMA a;
	GRANT USAGE ON SCHEMA a TO public;
	CREATE TABLE a.t AS SELECT i, (i * 7 % 11 + i % 5)::float8 AS y, (i * 7 + i / 3) % 5 < 2 AS won,
		(i % 7)::float8 AS x, i % 10 < 3 AS open, (i % 13)::float8 AS secret, i % 50 AS c,
		ARRAY[i % 3, i % 5]::real[] AS v FROM generate_series(1, 20000) i;
	CREATE TABLE a.guarded AS TABLE a.t;
	ALTER TABLE a.guarded ENABLE ROW LEVEL SECURITY;
	CREATE POLICY open ON a.guarded TO mallory USING (open);
	CREATE POLICY closed ON a.guarded TO reader USING (NOT open);
	GRANT SELECT ON a.guarded TO mallory, reader;
	CREATE VIEW a.barrier WITH (security_barrier) AS SELECT i, y, x, won FROM a.t WHERE open;
	GRANT SELECT ON a.barrier TO mallory;
	GRANT SELECT (i, y, x, won, c, v) ON a.t TO mallory;
	-- what a leaky function of mallory's has seen
	CREATE TABLE hers.seen (what text);
	GRANT ALL ON hers.seen TO public;
	CREATE SEQUENCE hers.closed;
	GRANT ALL ON SEQUENCE hers.closed TO public;
	ANALYZE;});

sub as
{
	my ($role, $sql) = @_;

	my ($out, $err) = try_sql($node, "SET search_path = stats, pg_catalog, pg_temp;\n$sql", user => $role);
	return wantarray ? ($out, $err) : $out;
}

# Checks that the script fails with this code when run by this role, and that the session answers afterwards.
sub refused
{
	my ($role, $sql, $state, $name) = @_;
	my ($out, $err) = as($role, "$sql;\nSELECT 'still here'");

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	like(sqlstate($err), qr/^(?:$state)$/, "$name: SQLSTATE") or diag($err);
	like($out, qr/still here$/, "$name: the session goes on");
}

# Checks that the script gives this result when run by this role, without an error.
sub gives
{
	my ($role, $sql, $expected, $name) = @_;
	my ($out, $err) = as($role, $sql);

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(sqlstate($err), 'none', "$name: no error") or diag($err);
	is($out, $expected, $name);
}

# Every function that runs a query, in one statement each; %s: the query's FROM
my %forms = (
	gpu_ols_fit => q{SELECT (stats.gpu_ols_fit('SELECT y, x FROM %s')).n},
	'gpu_ols_fit, formula' => q{SELECT (stats.gpu_ols_fit('SELECT y, x, c::text AS c FROM %s',
		formula => 'y ~ x + c')).n},
	'gpu_ols_fit, clusters' => q{SELECT (stats.gpu_ols_fit('SELECT y, x, c FROM %s', vcov => 'CR1',
		clusters => '{c}')).n},
	'gpu_ols_fit, absorb' => q{SELECT (stats.gpu_ols_fit('SELECT y, x, c FROM %s', absorb => '{c}')).n},
	gpu_effects => q{SELECT sum(n) FROM stats.gpu_effects('SELECT y, x, c FROM %s', absorb => '{c}')},
	'gpu_glm_fit, absorb' => q{SELECT (stats.gpu_glm_fit('SELECT y + 1 AS y, x, c FROM %s', 'poisson',
		formula => 'y ~ x | c')).n},
	'gpu_ols_fit, weights' => q{SELECT (stats.gpu_ols_fit('SELECT y, x, 1 AS w FROM %s', weights => 'w')).n},
	gpu_logreg_fit => q{SELECT (stats.gpu_logreg_fit('SELECT won, x, i FROM %s')).n},
	'gpu_logreg_fit, firth' => q{SELECT (stats.gpu_logreg_fit('SELECT won, x FROM %s', firth => true)).n},
	gpu_glm_fit => q{SELECT (stats.gpu_glm_fit('SELECT y + 1, x FROM %s', 'poisson')).n},
	gpu_enet_fit => q{SELECT (stats.gpu_enet_fit('SELECT y, x, i FROM %s', lambda => 0.1)).n},
	gpu_enet_cv => q{SELECT ((stats.gpu_enet_cv('SELECT y, x, i FROM %s', folds => 3)).model_min).n},
	gpu_ols_cv => q{SELECT count(*) * 0 + (SELECT rows FROM stats.gpu_last_run())
		FROM stats.gpu_ols_cv('SELECT y, x, i FROM %s', 3, key => 'i')},
	gpu_ols_boot => q{SELECT count(*) * 0 + (SELECT rows FROM stats.gpu_last_run())
		FROM stats.gpu_ols_boot('SELECT y, x, i FROM %s', 40, 'i', conf_level => 0.5)},
	gpu_ols_permute => q{SELECT count(*) * 0 + (SELECT rows FROM stats.gpu_last_run())
		FROM stats.gpu_ols_permute('SELECT y, x, i FROM %s', 9, 'i')},
	gpu_ols_rolling => q{SELECT max(row_number) FROM stats.gpu_ols_rolling('SELECT y, x FROM %s ORDER BY i', 50)},
	# the slope of a square, rounded to the number of rows
	gpu_margins => q{SELECT round(estimate / 2) FROM stats.gpu_margins(
		stats.gpu_ols_fit('SELECT i * i AS y, i AS x FROM generate_series(1, 9) i', formula => 'y ~ poly(x, 2)'),
		'SELECT count(*)::float8 AS x FROM %s')},
	gpu_augment => q{SELECT max(id) FROM stats.gpu_augment(stats.gpu_ols_fit('VALUES (1, 2), (2, 4), (3, 5)'),
		'SELECT y, x AS column2 FROM %s')},
	gpu_roc => q{SELECT max(tp) FROM stats.gpu_roc('SELECT true, x FROM %s')},
	gpu_calibration => q{SELECT sum(n) FROM stats.gpu_calibration('SELECT won, 0.5 FROM %s')},
	gpu_lift => q{SELECT sum(n) FROM stats.gpu_lift('SELECT won, x FROM %s')},
	gpu_confusion => q{SELECT fn FROM stats.gpu_confusion('SELECT true, x FROM %s', 100)},
	gpu_project_rows => q{SELECT count(*) FROM stats.gpu_project_rows('SELECT i, v FROM %s', 3)},
	# aggregates, with the custom scan or without
	gpu_ols_agg => q{SELECT (stats.gpu_ols_agg(y, x)).n FROM %s},
	gpu_ols_stats_agg => q{SELECT (stats.gpu_ols_solve(stats.gpu_ols_stats_agg(y, x))).n FROM %s},
	gpu_logreg_step_agg => q{SELECT (stats.gpu_logreg_solve(stats.gpu_logreg_step_agg('{}', won, x))).n FROM %s},
	gpu_ols => q{SELECT cardinality(stats.gpu_ols(array_agg(x), array_agg(y))) * count(*) / 2 FROM %s});

#
# Row-level security, security barriers, columns
#

for my $name (sort keys %forms)
{
	my $form = $forms{$name};

	gives('mallory', sprintf($form, 'a.guarded'), '6000', "$name: the policy of the role");
	gives('mallory', 'SET ROLE reader; ' . sprintf($form, 'a.guarded'), '14000', "$name: that of another");
	gives('mallory', 'SET parallel_leader_participation = off; SET ROLE reader; ' . sprintf($form, 'a.guarded'),
		'14000', "$name: that of another, in workers");
	refused('reader', sprintf($form, 'a.t'), '42501', "$name: a table without privileges");
	refused('mallory', sprintf($form, '(SELECT i, won, c, v, secret AS x, y FROM a.t) q'), '42501',
		"$name: a column without privileges");
}
refused('mallory', 'SELECT gpu_ols_agg(secret, x) FROM a.t', '42501', 'a column without privileges, in an argument');
refused('mallory', 'SELECT gpu_ols_agg(y, x) FROM a.t WHERE secret > 3', '42501', 'likewise in a condition');
refused('mallory', 'SELECT gpu_ols_agg(y, x) FROM a.t GROUP BY secret', '42501', 'likewise in a group');
survived($node, $pid, 'policies');

# A function that records its arguments must see no row that the role may not see, in a condition, an argument, a filter
# or a group. It costs nothing, so the planner would call it first.
$node->safe_psql('postgres', q{
	CREATE FUNCTION hers.leak(i int) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 PARALLEL SAFE IMMUTABLE AS $$
		BEGIN IF i % 10 >= 3 THEN RAISE EXCEPTION 'saw %', i; END IF; RETURN true; END $$;
	CREATE FUNCTION hers.leak(x float8, i int) RETURNS float8
		LANGUAGE plpgsql COST 0.0000001 PARALLEL SAFE IMMUTABLE AS $$
		BEGIN IF i % 10 >= 3 THEN RAISE EXCEPTION 'saw %', i; END IF; RETURN x; END $$;
	GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA hers TO public;});
my %leaks = (
	'in a condition' => 'SELECT (gpu_ols_agg(y, x)).n FROM %s WHERE hers.leak(i)',
	'in an argument' => 'SELECT (gpu_ols_agg(y, hers.leak(x, i))).n FROM %s',
	'in a filter' => 'SELECT (gpu_ols_agg(y, x) FILTER (WHERE hers.leak(i))).n FROM %s',
	'in a group' => 'SELECT sum((m).n) FROM (SELECT gpu_ols_agg(y, x) AS m FROM %s GROUP BY hers.leak(i)) q',
	'in a step' => q{SELECT (gpu_logreg_solve(gpu_logreg_step_agg('{}', won, hers.leak(x, i)))).n
		FROM %s WHERE hers.leak(i)},
	'in a query' => q{SELECT (gpu_ols_fit('SELECT y, hers.leak(x, i) FROM %s WHERE hers.leak(i)')).n},
	'in a query, clusters' => q{SELECT (gpu_ols_fit('SELECT y, x, hers.leak(x, i) AS c FROM %s WHERE hers.leak(i)',
		vcov => 'CR1', clusters => '{c}')).n},
	'in a projection' => q{SELECT count(*) FROM gpu_project_rows(
		'SELECT i, ARRAY[hers.leak(x, i)]::real[] FROM %s WHERE hers.leak(i)', 3)});
# the functions do see rows that no policy hides
refused('mallory', sprintf($leaks{$_}, 'a.t'), 'P0001', "a leaky function $_ sees a table's rows") for sort keys %leaks;
for my $name (sort keys %leaks)
{
	for my $from ('a.guarded', 'a.barrier')
	{
		for my $set ('on', 'off')
		{
			gives('mallory', "SET gpureg.enable_scan = $set; " . sprintf($leaks{$name}, $from), '6000',
				"a leaky function $name, $from, scan $set");
		}
	}
}
# under a policy, the custom scan must have kept the order of conditions
for my $from ('a.guarded WHERE hers.leak(i)', 'a.guarded')
{
	like(as('mallory', "EXPLAIN SELECT gpu_ols_agg(y, x) FROM $from"), qr/Custom Scan \(GpuregScan\)/,
		"$from is read by the custom scan");
}
# a role that may not call an aggregate may not do so by the custom scan
$node->safe_psql('postgres', 'REVOKE EXECUTE ON FUNCTION stats.gpu_ols_agg(float8, float8[]) FROM public');
refused('mallory', "SET gpureg.enable_scan = $_; SELECT gpu_ols_agg(y, x) FROM a.t", '42501',
	"EXECUTE revoked, scan $_")
  for 'on', 'off';
$node->safe_psql('postgres', 'GRANT EXECUTE ON FUNCTION stats.gpu_ols_agg(float8, float8[]) TO public');
survived($node, $pid, 'leaks');

#
# SECURITY DEFINER, cursors, subtransactions
#

# A SECURITY DEFINER function that hands on a text must run it with its owner's rights, like EXECUTE; one without must
# not.
$node->safe_psql('postgres', q{
	CREATE SCHEMA d;
	GRANT USAGE ON SCHEMA d TO public;
	CREATE TABLE d.private AS SELECT i::float8 AS y, (i % 7)::float8 AS x FROM generate_series(1, 300) i;
	CREATE FUNCTION d.count(what text) RETURNS bigint LANGUAGE sql SECURITY DEFINER
		SET search_path = pg_catalog, pg_temp AS 'SELECT (stats.gpu_ols_fit(what)).n';
	CREATE FUNCTION d.plain(what text) RETURNS bigint LANGUAGE sql SET search_path = pg_catalog, pg_temp
		AS 'SELECT (stats.gpu_ols_fit(what)).n';
	-- a fixed query, whose names are those of its own search_path
	CREATE FUNCTION d.fixed() RETURNS bigint LANGUAGE sql SECURITY DEFINER SET search_path = d, pg_catalog, pg_temp
		AS $$SELECT (stats.gpu_ols_fit('SELECT y, x FROM private')).n$$;
	CREATE FUNCTION d.agg() RETURNS bigint LANGUAGE sql SECURITY DEFINER SET search_path = d, pg_catalog, pg_temp
		AS $$SELECT (stats.gpu_ols_agg(y, x)).n FROM private$$;}, extra_params => [ '-U', 'definer' ]);
my $private = q{'SELECT y, x FROM d.private'};
gives('mallory', "SELECT d.count($private)", '300', 'SECURITY DEFINER: the text runs as the owner, as with EXECUTE');
refused('mallory', "SELECT d.plain($private)", '42501', 'without, as the caller');
refused('mallory', "SELECT gpu_ols_fit($private)", '42501', 'and so by itself');
refused('mallory', "SELECT d.count('SELECT y, x FROM a.guarded')", '42501',
	'SECURITY DEFINER: not with the rights of the caller');
gives('mallory', q{CREATE TEMP TABLE private AS SELECT 1.5::float8 AS y, 2.5::float8 AS x;
	SET search_path = pg_temp; SELECT d.fixed(), d.agg()}, '300|300',
	q{SECURITY DEFINER: the caller's names are not met});
gives('mallory', qq{SELECT d.count('SELECT CASE WHEN current_user = ''definer'' THEN i ELSE NULL END, i
	FROM generate_series(1, 40) i')}, '40', 'SECURITY DEFINER: current_user is the owner');
gives('mallory', q{SELECT d.count('SELECT i, i FROM generate_series(1, 40) i'); SELECT current_user,
	(gpu_ols_fit('SELECT y, x FROM a.guarded')).n}, "40\nmallory|6000", 'and the caller is himself again');

# a cursor must not give one role's rows to another
refused('mallory', q{BEGIN; DECLARE c CURSOR FOR SELECT gpu_ols_fit('SELECT y, x FROM a.guarded')
	FROM generate_series(1, 3); FETCH 1 FROM c; SET ROLE reader; SAVEPOINT s;
	SELECT (gpu_ols_fit('SELECT y, x, no FROM a.guarded')).n; ROLLBACK TO s; COMMIT}, '42703', 'a cursor and an error');
gives('mallory', q{BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT count(*)
	FROM gpu_project_rows('SELECT i, v FROM a.guarded', 2); COMMIT; SET ROLE reader; FETCH ALL FROM c; CLOSE c}, '6000',
	'WITH HOLD: the rows of the role that made it');
gives('mallory', q{BEGIN; DECLARE c CURSOR FOR SELECT (gpu_ols_fit('SELECT y, x FROM a.guarded')).n
	FROM generate_series(1, 3); FETCH 1 FROM c; SET LOCAL ROLE reader; FETCH 1 FROM c; RESET ROLE; FETCH 1 FROM c;
	COMMIT},
	"6000\n14000\n6000", 'a cursor that goes on as another role: each fit is of the role of its own time');
gives('mallory', q{
	DO $$
	DECLARE
		done int := 0;
		counted bigint;
	BEGIN
		FOR k IN 1 .. 60 LOOP
			BEGIN
				SELECT (gpu_ols_fit(format('SELECT y, x, 1 / (i - %s) FROM a.guarded',
					CASE WHEN k % 2 = 0 THEN 10 ELSE 0 END))).n INTO counted;
				ASSERT counted = 6000, counted;
				done := done + 1;
			EXCEPTION WHEN division_by_zero THEN
				ASSERT k % 2 = 0;
			END;
		END LOOP;
		ASSERT done = 30, done;
	END $$;
	SELECT (gpu_ols_fit('SELECT y, x FROM a.guarded')).n}, '6000', 'fits and errors in subtransactions');
survived($node, $pid, 'SECURITY DEFINER');

#
# Names of an attacker's before those of the catalogue
#

# mallory's schema has everything that the extension might call, for every type of rows; each raises the flag.
$node->safe_psql('postgres', q{
	CREATE FUNCTION hers.caught() RETURNS void LANGUAGE plpgsql AS $$ BEGIN INSERT INTO hers.seen VALUES (current_user);
		RAISE EXCEPTION 'caught'; END $$;
	DO $$
	DECLARE
		f record;
		o record;
	BEGIN
		FOR f IN SELECT DISTINCT proname, pg_get_function_arguments(p.oid) AS arguments,
				pg_get_function_result(p.oid) AS result
			FROM pg_proc p WHERE pronamespace = 'pg_catalog'::regnamespace AND prokind = 'f' AND NOT proretset
				AND proname IN ('sqrt', 'abs', 'ln', 'exp', 'float8', 'int8pl', 'int4', 'int8', 'cardinality',
				'float8_accum', 'unnest', 'format', 'now', 'hashint8', 'hashtext', 'btint8cmp', 'float8eq', 'int4eq',
				'texteq', 'row_number', 'array_append', 'textcat', 'quote_ident')
				AND NOT EXISTS (SELECT FROM unnest(proargtypes) t WHERE t IN ('internal'::regtype, 'cstring'::regtype,
					'"any"'::regtype))
				AND pg_get_function_result(p.oid) NOT IN ('internal', 'cstring')
				AND pg_get_function_result(p.oid) !~ '^any|trigger'
		LOOP
			EXECUTE format('CREATE FUNCTION hers.%I(%s) RETURNS %s LANGUAGE plpgsql PARALLEL SAFE IMMUTABLE AS '
				'%L', f.proname, f.arguments, f.result, 'BEGIN PERFORM hers.caught(); RETURN NULL; END');
		END LOOP;
		FOR o IN SELECT DISTINCT oprname, l, r FROM pg_operator, unnest('{float8,int4,int8,bool,text,real}'::text[]) l,
				unnest('{float8,int4,int8,bool,text,real}'::text[]) r
			WHERE oprname IN ('=', '<', '>', '+', '-', '*', '/', '<=', '>=', '<>', '||')
		LOOP
			EXECUTE format('CREATE FUNCTION hers.caught_%s(a %2$s, b %3$s) RETURNS %4$s LANGUAGE plpgsql PARALLEL SAFE '
				'IMMUTABLE AS $f$ BEGIN PERFORM hers.caught(); RETURN NULL; END $f$',
				md5(o.oprname || o.l || o.r), o.l, o.r, CASE WHEN o.oprname ~ '[<>=]' THEN 'bool' ELSE 'float8' END);
			EXECUTE format('CREATE OPERATOR hers.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = hers.caught_%s)',
				o.oprname, o.l, o.r, md5(o.oprname || o.l || o.r));
		END LOOP;
	END $$;
	CREATE FUNCTION hers.caught_sum(text, float8) RETURNS text LANGUAGE plpgsql
		AS $$ BEGIN PERFORM hers.caught(); END $$;
	CREATE AGGREGATE hers.array_agg(float8) (SFUNC = hers.caught_sum, STYPE = text);
	CREATE AGGREGATE hers.sum(float8) (SFUNC = hers.caught_sum, STYPE = text);
	CREATE DOMAIN hers.float8 AS text;
	CREATE DOMAIN hers.int4 AS text;
	CREATE DOMAIN hers.bytea AS text;
	CREATE DOMAIN hers.bool AS text;
	CREATE TYPE hers.gpu_model AS (method text);
	CREATE TYPE hers.gpu_ols_stats AS (method text);
	CREATE TYPE hers.gpu_logreg_step AS (method text);
	CREATE FUNCTION hers.gpu_ols_pass_accum(stats.gpu_ols_stats, stats.gpu_ols_stats, text[], int[], VARIADIC "any")
		RETURNS stats.gpu_ols_stats AS '$libdir/gpureg', 'gr_ols_pass_accum' LANGUAGE C;
	CREATE TABLE hers.pg_class AS SELECT 1 AS oid;
	CREATE TABLE hers.pg_proc AS SELECT 1 AS oid;});
cmp_ok($node->safe_psql('postgres', q{SELECT count(*) FROM pg_operator WHERE oprnamespace = 'hers'::regnamespace}),
	'>', 300, 'there are operators before those of the catalogue');
# the trap works
for my $sql ('SELECT 1.0::pg_catalog.float8 + 2.0::pg_catalog.float8', 'SELECT sqrt(2::pg_catalog.float8)')
{
	my ($out, $err) = try_sql($node, "SET search_path = hers, pg_catalog; $sql");

	like($err, qr/caught/, "the trap springs: $sql");
}
# Statements whose names are all qualified, run by a superuser; the text of the query forms has no operator, either.
for my $name (sort grep { !/gpu_(?:ols_cv|ols_boot|ols_permute|ols|margins)$|clusters|gpu_glm_fit/ } keys %forms)
{
	my $sql = sprintf($forms{$name}, 'a.guarded') =~ s/::text/::pg_catalog.text/gr;
	my ($out, $err) = try_sql($node, "SET search_path = hers, pg_catalog; $sql");

	is("$out$err", '20000', "$name among names of another's");
}
for my $sql (q{SELECT term FROM stats.gpu_ols_boot('SELECT y, x, i FROM a.t', 40, 'i', conf_level => 0.5)},
	q{SELECT term FROM stats.gpu_ols_permute('SELECT y, x, i FROM a.t', 9, 'i')},
	q{SELECT (stats.gpu_ols_fit('SELECT y, x, c FROM a.t', vcov => 'CR1', clusters => '{c}')).rank},
	q{SELECT (stats.gpu_logreg_fit('SELECT won, x, c, y FROM a.t', vcov => 'CR1', clusters => '{c,y}')).rank},
	q{SELECT (stats.gpu_glm_fit('SELECT y, x FROM a.t', 'poisson')).rank},
	q{SELECT count(*) FROM stats.gpu_ols_cv('SELECT y, x, i FROM a.t', 3, key => 'i')},
	q{SELECT stats.gpu_summary(stats.gpu_ols_fit('SELECT y, x FROM a.t'))},
	q{SELECT t.term FROM stats.gpu_ols_fit('SELECT y, x FROM a.t') m, stats.gpu_tidy(m) t},
	q{SELECT stats.gpu_predict(m, r) FROM stats.gpu_ols_fit('SELECT y, x FROM a.t') m, (SELECT x FROM a.t LIMIT 1) r},
	q{SELECT term FROM stats.gpu_margins(stats.gpu_ols_fit('SELECT y, x FROM a.t'), 'SELECT x FROM a.t')},
	q{SELECT stats.gpu_feature_hash('{"a": 1}'::jsonb, 4)})
{
	my ($out, $err) = try_sql($node, "SET search_path = hers, pg_catalog; $sql");
	my ($expected) = try_sql($node, "SET search_path = pg_catalog; $sql");

	is("$out$err", $expected, "among names of another's: $sql");
	cmp_ok(length $expected, '>', 0, 'there is an answer');
}
is($node->safe_psql('postgres', 'SELECT count(*) FROM hers.seen'), '0', 'none of them was called');
survived($node, $pid, 'names');

#
# The owner of the schema
#

# The extension's objects belong to the bootstrap superuser: the schema's owner can replace none, only add others.
for my $statement (
	q{CREATE OR REPLACE FUNCTION stats.gpu_array_support(internal) RETURNS internal AS 'int4' LANGUAGE internal},
	q{CREATE OR REPLACE FUNCTION stats.gpu_ols_stats_combine(gpu_ols_stats, gpu_ols_stats) RETURNS gpu_ols_stats
		LANGUAGE sql AS 'SELECT $1'},
	q{CREATE OR REPLACE FUNCTION stats.gpu_jl_min_dim(n bigint, eps float8) RETURNS bigint LANGUAGE sql AS 'SELECT 1'},
	q{CREATE OR REPLACE AGGREGATE stats.gpu_ols_rollup(stats gpu_ols_stats) (SFUNC = gpu_ols_stats_combine,
		STYPE = gpu_ols_stats)},
	'ALTER FUNCTION stats.gpu_ols_stats_combine(gpu_ols_stats, gpu_ols_stats) SUPPORT stats.gpu_array_support',
	'ALTER FUNCTION stats.gpu_ols_fit(text, boolean, text, text, text, text, text[], text, text, text[])
		SECURITY DEFINER',
	'ALTER FUNCTION stats.gpu_forget(text) SET search_path = hers',
	'ALTER FUNCTION stats.gpu_forget(text) OWNER TO owner',
	'ALTER TYPE stats.gpu_model ADD ATTRIBUTE extra text', 'ALTER TYPE stats.gpu_model DROP ATTRIBUTE method',
	'ALTER TYPE stats.gpu_ols_stats SET (STORAGE = main)',
	'ALTER TYPE stats.gpu_ols_stats OWNER TO owner', 'GRANT EXECUTE ON FUNCTION stats.gpu_forget(text) TO mallory')
{
	# a GRANT without the right to it is only a warning for functions that the public may call
	my ($out, $err) = as('owner', "$statement; SELECT 'still here'");

	like($err, $statement =~ /^GRANT/ ? qr/42501|^$/ : qr/ERROR:  42501/, "its owner may not: $statement");
	like($out, qr/still here$/, 'the session goes on');
}
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_proc WHERE pronamespace = 'stats'::regnamespace
	AND (prosecdef OR proconfig IS NOT NULL OR proleakproof OR proowner <> 10)}), '0',
	'no function has the rights of its owner, settings or is leakproof');
# Types of the schema's owner that look like the extension's, and functions over them
refused('owner', q{CREATE TYPE stats.fake AS (LIKE stats.gpu_model)}, '42601|42704|42809', 'a type like gpu_model');
gives('owner', 'CREATE TABLE stats.shape (LIKE stats.gpu_model INCLUDING ALL); SELECT count(*) FROM stats.shape', '0',
	'a table like it');
# The owner may rename the schema, or give it away, under running sessions
my $psql = open_psql($node, 'under_way');
my ($before) = psql_says($psql, q{SELECT (stats.gpu_ols_fit('SELECT y, x FROM a.t')).n;
	PREPARE p AS SELECT (stats.gpu_ols_agg(y, x)).n FROM a.t; EXECUTE p; PREPARE q AS
	SELECT (stats.gpu_ols_fit('SELECT y, x FROM a.t')).n; EXECUTE q;});
is($before, "20000\n20000\n20000\n", 'prepared');
gives('owner', 'ALTER SCHEMA stats RENAME TO moved; ALTER SCHEMA moved RENAME TO stats; CREATE SCHEMA moved', '',
	'renamed');
gives('owner', 'ALTER SCHEMA moved RENAME TO other; ALTER SCHEMA stats RENAME TO moved', '', 'away');
my ($after, $messages) = psql_says($psql, q{
	EXECUTE p; EXECUTE q; SELECT (moved.gpu_ols_fit('SELECT y, x FROM a.t')).n;});
is($after, "20000\n", 'a session goes on by the new name');
is(join(' ', $messages =~ /ERROR:  (\w{5})/g), '3F000 3F000', 'and no longer by the old one, which is read again');
gives('owner', 'ALTER SCHEMA moved RENAME TO stats; DROP SCHEMA other', '', 'and back');
close_psql($psql);
survived($node, $pid, 'the owner of the schema');

#
# Functions of the extension where the server calls them on its own
#

# An index, a generated column, a constraint, statistics, a policy and a view over the extension's functions, and over a
# function of mallory's, marked immutable, that runs a query: VACUUM and REINDEX by a superuser must run it as mallory.
gives('mallory', q{
	CREATE TABLE hers.where_called (by text);
	GRANT INSERT ON hers.where_called TO public;
	CREATE FUNCTION hers.note() RETURNS float8 LANGUAGE plpgsql VOLATILE AS $$
		BEGIN INSERT INTO hers.where_called VALUES (current_user); RETURN 1; END $$;
	CREATE FUNCTION hers.fits(x float8) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS $$
		BEGIN RETURN (stats.gpu_ols_fit('SELECT i::float8 * pg_catalog.length(current_user::text) + hers.note() - 1, i '
			'FROM pg_catalog.generate_series(1, 9) i')).coef[2]; END $$;
	CREATE FUNCTION hers.predict(m stats.gpu_model, x float8) RETURNS float8 LANGUAGE sql IMMUTABLE
		AS 'SELECT stats.gpu_predict(m, x)';
	CREATE TABLE hers.everything (i int, x float8, v real[], m stats.gpu_model,
		s stats.gpu_ols_stats CHECK ((stats.gpu_ols_solve(s)).n > 3),
		p real[] GENERATED ALWAYS AS (stats.gpu_project(v, 3, 1)) STORED);
	INSERT INTO hers.everything SELECT k, k, ARRAY[k, 1], m, s FROM generate_series(1, 200) k,
		(SELECT stats.gpu_ols_agg(2 * i, i) AS m, stats.gpu_ols_stats_agg(2 * i, i) AS s
		FROM generate_series(1, 9) i) f;
	CREATE INDEX by_fit ON hers.everything (hers.fits(x));
	CREATE INDEX by_prediction ON hers.everything (stats.gpu_predict(m, x));
	CREATE INDEX by_projection ON hers.everything (stats.gpu_project(v, 2));
	CREATE STATISTICS hers.two ON stats.gpu_project(v, 2), x FROM hers.everything;
	ALTER TABLE hers.everything ENABLE ROW LEVEL SECURITY;
	CREATE POLICY fitted ON hers.everything TO reader USING (stats.gpu_predict(m, x) < 101);
	GRANT SELECT ON hers.everything TO reader;
	CREATE VIEW hers.seen_by AS SELECT i, stats.gpu_predict(m, x) AS p, (stats.gpu_ols_fit('SELECT i, 1.0::float8 / i
		FROM generate_series(1, 9) i')).n FROM hers.everything;
	GRANT SELECT ON hers.seen_by TO reader;
	TRUNCATE hers.where_called;
	SELECT count(*) FROM hers.everything}, '200', 'a table of calls');
refused('mallory', q{INSERT INTO hers.everything (i, s) SELECT 1, stats.gpu_ols_stats_agg(i, i)
	FROM generate_series(1, 3) i}, '23514', 'a constraint');
gives('reader', 'SELECT count(*) FROM hers.everything; SELECT count(*), sum(p), min(n) FROM hers.seen_by',
	"50\n200|40200|9", 'a policy and a view');
gives('reader', q{SELECT (gpu_ols_fit('SELECT i, x FROM hers.everything')).n}, '50', 'a fit under such a policy');
$node->safe_psql('postgres', 'REINDEX TABLE hers.everything; VACUUM FULL hers.everything; ANALYZE hers.everything;
	CLUSTER hers.everything USING by_projection');
is($node->safe_psql('postgres', 'SELECT DISTINCT by FROM hers.where_called'), 'mallory',
	'what a superuser maintains runs as the table\'s owner');
is($node->safe_psql('postgres', q{SET enable_seqscan = off; SELECT i FROM hers.everything
	WHERE stats.gpu_project(v, 2) = stats.gpu_project('{77,1}', 2)}), '77', 'the index finds its row');
survived($node, $pid, 'maintenance');

#
# Made-up tickets and requests
#

# Any ticket with any contents, passed to any function, must be an error. (010_trust.pl uses stolen tickets.)
my @tickets = map { "decode(repeat(md5('$_'), 40), 'hex')" } 1 .. 2;
@tickets = ("''::bytea", map({ "substr($tickets[0], 1, $_)" } 1 .. 40), @tickets, 'NULL::bytea',
	map({ "set_byte(decode(repeat('00', $_), 'hex'), 0, 1)" } 20, 24, 28, 32));
my $list = join ', ', map { "($_)" } @tickets;
my $call = q{DO $$
	DECLARE
		t bytea;
		answered text := '';
	BEGIN
		FOR t IN SELECT * FROM (VALUES %s) v(t) LOOP
			BEGIN
				EXECUTE $e$%s$e$ USING t;
				answered := answered || ' ' || coalesce(encode(t, 'hex'), 'NULL');
			EXCEPTION WHEN invalid_parameter_value OR feature_not_supported OR object_not_in_prerequisite_state
				OR undefined_function OR null_value_not_allowed THEN
				NULL;
			END;
		END LOOP;
		IF answered <> '' THEN
			RAISE EXCEPTION 'answered:%%', answered;
		END IF;
	END $$; SELECT 'refused'};
for my $what (q{SELECT gpu_ingest_pass_accum(0, $1, NULL, 1.0::float8, 2.0::float8)},
	q{SELECT gpu_ingest_pass_accum(NULL, $1, '{y,x}', 1.0::float8, 2.0::float8)},
	q{SELECT gpu_ingest_pass($1, NULL, y, x) FROM a.t},
	q{SELECT gpu_ingest_pass($1, '{y,x}', y, x) FROM a.t GROUP BY c},
	q{SELECT gpu_ingest_pass($1, NULL, y, x) OVER (ORDER BY i) FROM a.t LIMIT 1},
	q{SELECT gpu_keep_pass($1, NULL, y, x) FROM a.t}, q{SELECT gpu_keep_pass($1, '{y,x}', y, x) FROM a.t GROUP BY c},
	q{SELECT gpu_keep_deserial($1, NULL)}, q{SELECT gpu_levels_deserial($1, NULL)},
	q{SELECT gpu_scores_deserial($1, NULL)},
	q{SELECT gpu_boot_deserial($1, NULL)}, q{SELECT gpu_auc_deserialize($1, NULL)},
	q{SELECT gpu_logreg_agg_deserialize($1, NULL)})
{
	for my $role ('mallory', 'owner')
	{
		next if $role eq 'owner' && $what =~ /a\.t/;
		gives($role, sprintf($call, $list, $what), 'refused', "made-up tickets, $role: $what");
	}
}
survived($node, $pid, 'tickets');

# A user's own aggregates over every function that could be a transition function, grouped, in windows, and with an
# initial state: an answer or the caller's error.
gives('mallory', q{SET statement_timeout = '300s';
	CREATE TABLE pg_temp.edges (type regtype, value text);
	INSERT INTO pg_temp.edges
		SELECT 'float8'::regtype, format('%L::float8', v)
			FROM unnest('{0,1,-1,0.5,NaN,Infinity,1e308,-1e-308,7}'::text[]) v UNION ALL
		SELECT 'float8[]', format('%L::float8[]', v)
			FROM unnest(ARRAY['{}', '{NULL}', '{1,2}', '{1,2,3}', '{{1,2},{3,4}}', '{NaN}', '[5:6]={1,2}']) v UNION ALL
		SELECT 'float8[]', 'array_fill(1::float8, ARRAY[10005])' UNION ALL
		SELECT 'boolean', v FROM unnest('{true,false}'::text[]) v UNION ALL
		SELECT 'bigint', format('%L::bigint', v) FROM unnest('{0,-1,9223372036854775807}'::text[]) v UNION ALL
		SELECT 'text', quote_literal(v) FROM unnest('{poisson,log,"",gamma,"negative binomial(1e-300)",x}'::text[]) v
		UNION ALL
		SELECT 'text[]', format('%L::text[]', v) FROM unnest(ARRAY['{}', '{y}', '{y,x,z}', '{NULL}', '{{y},{x}}']) v
		UNION ALL
		SELECT 'int[]', format('%L::int[]', v)
			FROM unnest(ARRAY['{}', '{1}', '{1,1}', '{-1}', '{2147483647}', '{NULL}']) v UNION ALL
		SELECT 'bytea', format('%L::bytea', v) FROM unnest(ARRAY['\x', '\x00', '\x' || repeat('ff', 28)]) v UNION ALL
		SELECT '"any"', v FROM unnest(ARRAY['1.5::float8', '2', 'true', 'now()::text', 'ARRAY[1,2]', 'NULL::int']) v
		UNION ALL
		SELECT 'gpu_ols_stats', format('%L::stats.gpu_ols_stats', v) FROM (SELECT gpu_ols_stats_agg(i, i)::text
			FROM generate_series(1, 3) i UNION ALL SELECT gpu_wls_stats_agg(i, i, i * i, i % 2)::text
			FROM generate_series(1, 9) i UNION ALL SELECT gpu_ols_stats_agg(NULL::float8, i)::text
			FROM generate_series(1, 3) i) u(v) UNION ALL
		SELECT 'gpu_logreg_step', format('%L::stats.gpu_logreg_step', v) FROM (
			SELECT gpu_logreg_step_agg('{}', i % 2, i)::text FROM generate_series(1, 3) i UNION ALL
			SELECT gpu_glm_step_agg('poisson', NULL, '{1,0.1,0}', i, i, i % 2)::text FROM generate_series(1, 9) i
			UNION ALL SELECT gpu_logreg_step_agg('{}', NULL::boolean, i)::text FROM generate_series(1, 3) i) u(v);
	CREATE FUNCTION pg_temp.some(t regtype) RETURNS text LANGUAGE sql VOLATILE AS $$
		SELECT coalesce((SELECT value FROM pg_temp.edges WHERE type = t AND random() < 0.95 ORDER BY random() LIMIT 1),
			CASE WHEN t = '"any"'::regtype THEN '3' ELSE 'NULL::' || t END) $$;
	CREATE TABLE pg_temp.said (f regprocedure, call text, code text, message text);
	DO $$
	DECLARE
		f record;
		a record;
		begins text;
		arguments text;
		call text;
		given text;
	BEGIN
		PERFORM setseed(0.27);
		FOR f IN SELECT p.oid::regprocedure AS name, p.*, (SELECT string_agg(CASE WHEN o = pronargs AND provariadic <> 0
				THEN 'VARIADIC ' ELSE '' END || t::regtype, ', ' ORDER BY o)
				FROM unnest(proargtypes::oid[]) WITH ORDINALITY u(t, o) WHERE o > 1) AS signature
			FROM pg_proc p WHERE pronamespace = 'stats'::regnamespace AND prokind = 'f' AND NOT proretset
				AND pronargs > 1 AND proargtypes[0] = prorettype AND prorettype <> 'internal'::regtype
		LOOP
			FOR k IN 1 .. 24 LOOP
				begins := CASE WHEN k % 3 = 0 THEN pg_temp.some(f.prorettype) ELSE '' END;
				arguments := NULL;
				FOR a IN SELECT t, o FROM unnest(f.proargtypes::oid[]) WITH ORDINALITY u(t, o) WHERE o > 1 ORDER BY o
				LOOP
					given := pg_temp.some(a.t);
					IF k % 5 = 0 AND a.t <> '"any"'::regtype THEN
						given := format('CASE i %% 3 WHEN 0 THEN %s ELSE %s END', given, pg_temp.some(a.t));
					END IF;
					arguments := concat_ws(', ', arguments, CASE WHEN a.o = f.pronargs AND f.provariadic <> 0
						AND f.provariadic <> '"any"'::regtype THEN 'VARIADIC ' ELSE '' END || given);
				END LOOP;
				call := format('SELECT string_agg(length(v::text)::text, '','') FROM (SELECT pg_temp.mine(%s) %s
					FROM generate_series(1, 40) i %s) r(v)', arguments, CASE WHEN k % 4 = 1 THEN
					'OVER (ORDER BY i ROWS 5 PRECEDING)' ELSE '' END,
					CASE WHEN k % 4 = 2 THEN 'GROUP BY i % 5' ELSE '' END);
				BEGIN
					EXECUTE format('CREATE AGGREGATE pg_temp.mine(%s) (SFUNC = stats.%I, STYPE = %s %s)', f.signature,
						f.proname, f.prorettype::regtype, CASE WHEN left(begins, 1) = chr(39) THEN
						', INITCOND = ' || substring(begins FROM '^(.*)::[^:]*$') ELSE '' END);
					EXECUTE call;
					RAISE EXCEPTION 'undo' USING ERRCODE = 'ZZ000';
				EXCEPTION WHEN OTHERS THEN
					INSERT INTO pg_temp.said VALUES (f.name, call, SQLSTATE, SQLERRM);
				END;
			END LOOP;
		END LOOP;
	END $$;
	SELECT f, code, message, call FROM pg_temp.said WHERE code ~ '^(XX|P0|58)' LIMIT 5;
	SELECT count(DISTINCT f) >= 15, count(*) FILTER (WHERE code = 'ZZ000') > 40,
		count(*) FILTER (WHERE code ~ '^22') > 60 FROM pg_temp.said}, 't|t|t',
	'aggregates of a user over every transition function');
survived($node, $pid, 'aggregates of a user');

$node->stop;
done_testing();
