# Stored values must be readable for ever, and an upgraded extension must be equal to a new one: its catalogue, the
# golden files of released versions, with another C library, after replication, and after pg_upgrade to another
# PostgreSQL.
#
# GPUREG_UPGRADE_PG_CONFIG: pg_configs of later PostgreSQLs with gpureg installed, separated by commas; a cluster is
# upgraded from the server under test to the first of these, from there to the next, and so on.
use strict;
use warnings;
use feature 'state';

use File::Copy qw(copy);
use File::Path qw(make_path);
use FindBin;
use lib $FindBin::RealBin;

use GpuregTest;
use Psql;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $dir = PostgreSQL::Test::Utils::tempdir;
my $tests = "$FindBin::RealBin/..";
my $golden = "$tests/data/golden";
my @tables = qw(stats steps models vectors results);
my %types = (stats => 's gpu_ols_stats', steps => 's gpu_logreg_step', models => 'm gpu_model', vectors => 'v real[]',
	results => 'exact text, numbers float8[]');

# Runs a file in psql; returns the output.
sub run_file
{
	my ($node, $db, $file, @arguments) = @_;
	my @options = ('-v', 'ON_ERROR_STOP=1', @arguments, '-f', $file);
	my ($out, $err, $status) = psql(connstr => $node->connstr($db), options => \@options);

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok($status == 0 && $err eq '', "$file runs in $db") or diag($err);
	return $out;
}

sub contents
{
	my ($file) = @_;

	open my $handle, '<:raw', $file or die "cannot read $file: $!";
	local $/;
	return scalar <$handle>;
}

# Returns the lines of two strings that only one of them has.
sub differences
{
	my ($left, $right) = @_;
	my %lines;

	$lines{$_} |= 1 for split /\n/, $left;
	$lines{$_} |= 2 for split /\n/, $right;
	my @found = map { ($lines{$_} == 1 ? '- ' : '+ ') . $_ } sort grep { $lines{$_} != 3 } keys %lines;
	return join "\n", @found > 20 ? (@found[ 0 .. 19 ], scalar(@found) . ' in all') : @found;
}

#
# An installation of the test's own, with made-up versions: links to the server's files, and copies of its programs,
# which find the other files relative to themselves
#

sub pg_config
{
	my ($program, $what) = @_;

	chomp(my $path = `'$program' --$what`);
	return $path;
}

my ($pg_config) = grep { -x } map { "$_/pg_config" } split /:/, $ENV{PATH};
my ($bin, $lib, $share) = map { pg_config($pg_config, $_) } 'bindir', 'pkglibdir', 'sharedir';
my ($current) = contents("$share/extension/gpureg.control") =~ /^default_version = '(.*)'/m;

sub link_all
{
	my ($from, $to) = @_;

	make_path($to);
	for my $file (glob "$from/*")
	{
		my $name = substr $file, length("$from/");

		symlink $file, "$to/$name" if !-e "$to/$name";
	}
}

make_path("$dir/own$bin", "$dir/own$lib", "$dir/own$share/extension");
for my $program (glob "$bin/*")
{
	my $copied = "$dir/own$bin/" . substr $program, length("$bin/");

	copy($program, $copied) or die "cannot copy $program: $!";
	chmod 0755, $copied;
}
link_all("$share/extension", "$dir/own$share/extension");
link_all($share, "$dir/own$share");
link_all($lib, "$dir/own$lib");

sub add_version
{
	my ($name, $text) = @_;

	append_to_file("$dir/own$share/extension/gpureg--$name.sql", $text);
}
my $script = contents("$share/extension/gpureg--$current.sql");
add_version('next', $script);
add_version("$current--next", "-- nothing has changed\n");
add_version("$current--other", 'ALTER FUNCTION gpu_jl_min_dim(bigint, float8) COST 7;' . "\n");
add_version("$current--silent", 'COMMENT ON FUNCTION gpu_jl_min_dim(bigint, float8) IS NULL;' . "\n");
add_version("$current--open", 'GRANT ALL ON FUNCTION gpu_forget(text) TO pg_monitor;' . "\n");
# the SQL of released versions that update scripts start from
my @scripts = map { /--([^-]+)--([^-]+)\.sql$/ ? [ $1, $2 ] : () } glob "$share/extension/gpureg--*--*.sql";
my @released = map { /gpureg--(.*)\.sql$/ } glob "$tests/data/released/gpureg--*.sql";
add_version($_, contents("$tests/data/released/gpureg--$_.sql")) for grep { $_ ne $current } @released;

my $own = PostgreSQL::Test::Cluster->new('own', install_path => "$dir/own$bin" =~ s!/bin$!!r);
$own->init;
$own->append_conf('postgresql.conf', 'gpureg.device = cpu');
$own->start;

#
# Catalogues
#

# catalogue(VERSION, FROM): returns the catalogue of a new database with the extension at this version, installed
# directly or updated from another
sub catalogue
{
	my ($version, $from) = @_;
	my $name = 'of_' . ($version . '_' . ($from // 'new')) =~ s/\W/_/gr;

	$own->safe_psql('postgres', "CREATE DATABASE $name");
	$own->safe_psql($name, 'CREATE EXTENSION gpureg VERSION ' . ($from // $version) =~ s/(.*)/'$1'/r
		. (defined $from ? "; ALTER EXTENSION gpureg UPDATE TO '$version'" : ''));
	return run_file($own, $name, "$tests/catalogue.sql");
}

my $fresh = catalogue('next');
my $updated = catalogue('next', $current);
cmp_ok(scalar(split /\n/, $fresh), '>', 1000, 'the catalogue has something of the extension');
for my $what ('function', 'aggregate', 'type', 'column', 'comment', 'dependency', 'member', 'extension')
{
	like($fresh, qr/^$what /m, "the catalogue has the kind $what");
}
is(differences($updated, $fresh), '', "$current updated is what a new one is");
for my $case ([ 'other', qr/^\+ function .*"procost": 7,/m ], [ 'silent', qr/^- comment .*gpu_jl_min_dim/m ],
	[ 'open', qr/^\+ function .*gpu_forget.*pg_monitor/m ])
{
	my ($version, $expected) = @$case;

	like(differences($fresh =~ s/"next"/"$version"/gr, catalogue($version, $current)), $expected,
		"a catalogue that differs is noticed: version $version");
}
for my $step (@scripts)
{
	my ($from, $to) = @$step;

	ok($from eq $current || grep({ $_ eq $from } @released), "test/data/released has the SQL of version $from");
	is(differences(catalogue($current, $from), $fresh =~ s/"next"/"$current"/gr), '',
		"$from updated is what a new one is") if $to eq $current;
}

# gpu_tidy of 0.1.0 has no column df. It must work with the new library, and an update must leave its views, privileges
# and comment alone.
if (grep { $_ eq '0.1.0' } @released)
{
	$own->safe_psql('postgres', 'CREATE DATABASE tidied; CREATE ROLE reader');
	$own->safe_psql('tidied', "CREATE EXTENSION gpureg VERSION '0.1.0';
		REVOKE EXECUTE ON FUNCTION gpu_tidy(gpu_model, float8, boolean) FROM PUBLIC;
		GRANT EXECUTE ON FUNCTION gpu_tidy(gpu_model, float8, boolean) TO reader;
		CREATE TABLE model AS SELECT gpu_ols_agg(y, x) AS m FROM (VALUES (1, 1), (3, 2), (4, 4)) v(y, x);
		CREATE VIEW tidied AS SELECT t.* FROM model, gpu_tidy(m) t;
		CREATE VIEW listed AS SELECT (gpu_tidy(m)).* FROM model");
	my $before = $own->safe_psql('tidied', 'TABLE tidied; TABLE listed; SELECT * FROM model, gpu_tidy(m)');
	my $oid = "SELECT 'gpu_tidy'::regproc::oid, proacl, obj_description('gpu_tidy'::regproc) FROM pg_proc
		WHERE oid = 'gpu_tidy'::regproc";
	my $function = $own->safe_psql('tidied', $oid);

	unlike($before, qr/\|1$/m, '0.1.0: gpu_tidy has no df');
	$own->safe_psql('tidied', "ALTER EXTENSION gpureg UPDATE TO '$current'");
	is($own->safe_psql('tidied', 'TABLE tidied; TABLE listed'),
		join("\n", (split /\n/, $before)[ 0 .. 3 ]), 'views of gpu_tidy are as before an update');
	is($own->safe_psql('tidied', $oid), $function, '... and its privileges and comment');
	is($own->safe_psql('tidied', 'SELECT df FROM model, gpu_tidy(m)'), "1\n1", '... and it has df');
}

#
# Golden files
#

# Creates tables of the golden files' values, from the text or from the binary files.
sub read_golden
{
	my ($node, $db, $form) = @_;
	my @read = grep { -e "$golden/$_.$form" } @tables;

	$node->safe_psql('postgres', "CREATE DATABASE $db");
	$node->safe_psql($db, 'CREATE EXTENSION gpureg');
	$node->safe_psql($db, join ";\n", map { ("CREATE TABLE golden_$_ (name text PRIMARY KEY, $types{$_})",
		"COPY golden_$_ FROM '$golden/$_.$form'" . ($form eq 'bin' ? ' WITH (FORMAT binary)' : '')) } @read);
	return @read;
}

# Checks that the tables hold the golden files' values to the byte.
sub is_golden
{
	my ($node, $db, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	for my $table (grep { $_ ne 'results' } @tables)
	{
		for my $form (grep { -e "$golden/$table.$_" } 'txt', 'bin')
		{
			my $file = "$dir/written.$form";

			unlink $file;
			$node->safe_psql($db, qq{COPY (SELECT * FROM golden_$table ORDER BY name COLLATE "C") TO '$file'}
				. ($form eq 'bin' ? ' WITH (FORMAT binary)' : ''));
			ok(contents($file) eq contents("$golden/$table.$form"), "$name: $table.$form to the byte");
		}
	}
}

# Checks that functions of the golden values give the golden results.
sub results_are_golden
{
	my ($node, $db, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$node->safe_psql($db, "CREATE TABLE wanted (name text PRIMARY KEY, $types{results}); "
		. "COPY wanted FROM '$golden/results.txt'");
	run_file($node, $db, "$tests/data/golden_results.sql");
	is($node->safe_psql($db, q{
		SELECT coalesce(w.name, r.name), w, r FROM wanted w FULL JOIN golden_results r USING (name)
		WHERE w.exact IS DISTINCT FROM r.exact OR cardinality(w.numbers) IS DISTINCT FROM cardinality(r.numbers)
			OR EXISTS (SELECT FROM unnest(w.numbers, r.numbers) u(a, b) WHERE (a IS NULL) <> (b IS NULL)
				OR a <> b AND (abs(a) = 'Infinity' OR abs(b) = 'Infinity'
					OR abs(a - b) > 1e-12 * greatest(abs(a), abs(b), 1e-3)))}), '', "$name: the results are those");
}

sub directory_of
{
	my $made = "$dir/$_[0]";

	make_path($made);
	chmod 0777, $made;
	return $made;
}

my %read = map { ($_ => [ read_golden($own, "golden_$_", $_) ]) } 'txt', 'bin';
is("@{$read{txt}}", "@tables", 'golden files as text');
is("@{$read{bin}}", 'stats steps models', 'golden files as binary');
$own->safe_psql('golden_bin', "CREATE TABLE golden_vectors (name text PRIMARY KEY, v real[]); "
	. "COPY golden_vectors FROM '$golden/vectors.txt'");
$own->safe_psql('golden_txt', 'DROP TABLE golden_results');
for my $form ('txt', 'bin')
{
	cmp_ok($own->safe_psql("golden_$form", "SELECT count(*) FROM golden_$_"), '>', 15, "golden $_ as $form")
	  for 'stats', 'steps', 'models';
	is_golden($own, "golden_$form", "read as $form");
	results_are_golden($own, "golden_$form", "read as $form");
}

# Writes the golden files anew on this machine, and returns their directory.
sub written_again
{
	my ($node, $db) = @_;
	my $to = directory_of($db);

	$node->safe_psql('postgres', "CREATE DATABASE $db");
	$node->safe_psql($db, 'CREATE EXTENSION gpureg');
	run_file($node, $db, "$tests/data/golden.sql", '-v', "dir=$to");
	return $to;
}
my $here = written_again($own, 'again');
ok(contents("$here/vectors.txt") eq contents("$golden/vectors.txt"), 'the golden vectors again, to the byte');

# Returns a directory's states whose sums contain no logarithm.
sub sums
{
	return join "\n", grep { !/"weights":/ } split /\n/, contents("$_[0]/stats.txt");
}

#
# A C library other than this machine's
#

SKIP:
{
	my $why_not = build_library('libm_ulp', "$dir/libm_ulp.so", '-fno-builtin');

	skip $why_not, 8 if defined $why_not;
	my $exp = $own->safe_psql('postgres', 'SELECT exp(1.5::float8), ln(10::float8)');
	$own->stop;
	{
		local $ENV{LD_PRELOAD} = "$dir/libm_ulp.so";
		$own->start;
	}
	isnt($own->safe_psql('postgres', 'SELECT exp(1.5::float8), ln(10::float8)'), $exp, 'it gives other numbers');
	my $there = written_again($own, 'elsewhere');
	ok(contents("$there/vectors.txt") eq contents("$golden/vectors.txt"),
		'projections and hashes have the same bits with another C library');
	is(sums($there), sums($here), 'so have states of linear regressions without weights');
	isnt(contents("$there/steps.txt"), contents("$here/steps.txt"), 'steps of other models have not');
	is_golden($own, 'golden_txt', 'another C library');
	$own->stop;
	$own->start;
}

#
# Settings
#

# Every immutable function of the catalogue, called with a few rows of arguments, must give the same bytes or the same
# error under any settings. Functions with an argument or result of type internal are left out, as only aggregates call
# them.
run_file($own, 'golden_txt', "$tests/data/golden_calls.sql");
my $answers = $own->safe_psql('golden_txt', q{SELECT count(DISTINCT f),
	count(DISTINCT f) FILTER (WHERE answer !~ '^error') FROM usual});
note("immutable functions called, and answered: $answers");
cmp_ok((split /\|/, $answers)[1], '>=', 50, 'most immutable functions answer');
is($own->safe_psql('golden_txt', q{SELECT call, answer FROM usual WHERE answer ~ '^error (XX|P0|42[^8])'}), '',
	'and the others refuse what they are given');
my @settings = ('extra_float_digits = -15', 'extra_float_digits = 3', "DateStyle = 'SQL, DMY'",
	"TimeZone = 'Asia/Kolkata'", "IntervalStyle = 'iso_8601'", 'bytea_output = escape', 'array_nulls = off',
	'standard_conforming_strings = off; SET escape_string_warning = off', 'transform_null_equals = on',
	"search_path = ''", "client_encoding = 'LATIN1'", "work_mem = '64kB'", 'quote_all_identifiers = on',
	'xmloption = document', 'jit = on; SET jit_above_cost = 0; SET jit_inline_above_cost = 0',
	"lc_numeric = 'C'; SET lc_monetary = 'C'; SET lc_time = 'C'",
	'gpureg.enable_scan = off; SET gpureg.enable_rewrite = off', 'gpureg.projection_cache_size = 0',
	"gpureg.ring_size = '1MB'; SET gpureg.min_gpu_work = 0; SET gpureg.debug_ring = on; SET gpureg.debug_sinks = 3",
	'gpureg.device = auto',
	($own->pg_version < 16 ? 'force_parallel_mode' : 'debug_parallel_query') . ' = on; SET parallel_setup_cost = 0');
# a locale with a decimal comma, if the machine has one
my ($comma) = grep { /^(?:de|fr|pl|ru)_/ && /utf-?8$/i } split /\n/, `locale -a 2>/dev/null`;
push @settings, "lc_numeric = '$comma'" if defined $comma;
for my $setting (@settings)
{
	is($own->safe_psql('golden_txt', "SET $setting; SELECT a.call, a.answer, b.answer FROM public.answers() a
		JOIN public.usual b ON a.call OPERATOR(pg_catalog.=) b.call
		WHERE a.answer IS DISTINCT FROM b.answer"), '', "immutable functions under $setting");
}

#
# Logical replication
#

my $stored = 'name text PRIMARY KEY, s gpu_ols_stats, step gpu_logreg_step, m gpu_model, v real[],
	p real[] GENERATED ALWAYS AS (gpu_project(v, 5, 3)) STORED';
my $stored_rows = q{
	SELECT format('%s %s %s', a.name, b.name, c.name) AS name, a.s, b.s AS step, c.m,
		ARRAY[coalesce(length(a.name), 0), 2.5, -1]::real[]
	FROM (SELECT *, row_number() OVER (ORDER BY name) AS k FROM golden_stats) a
		FULL JOIN (SELECT *, row_number() OVER (ORDER BY name) AS k FROM golden_steps) b USING (k)
		FULL JOIN (SELECT *, row_number() OVER (ORDER BY name) AS k FROM golden_models) c USING (k)};
my $see = q{
	SELECT concat_ws('|', name, s, step, m, v, encode(array_send(p), 'hex')) FROM stored ORDER BY name COLLATE "C"};

my $publisher = start_node('publisher', 'wal_level = logical', 'max_wal_senders = 8', 'max_replication_slots = 8',
	'gpureg.device = cpu');
my $subscriber = start_node('subscriber', 'wal_level = logical', 'max_replication_slots = 8', 'gpureg.device = cpu');
read_golden($publisher, 'golden', 'txt');
$publisher->safe_psql('golden', "CREATE TABLE stored ($stored); INSERT INTO stored $stored_rows;
	CREATE TABLE changes AS TABLE stored;
	CREATE PUBLICATION everything FOR TABLE stored");
my $binary_copy = $publisher->safe_psql('golden', 'SHOW server_version_num') >= 160000;
for my $binary ('false', 'true')
{
	$publisher->safe_psql('golden', "TRUNCATE stored; INSERT INTO stored $stored_rows") if $binary eq 'true';
	$subscriber->safe_psql('postgres', "CREATE DATABASE binary_$binary");
	# the subscriber's types have other OIDs than the publisher's
	$subscriber->safe_psql("binary_$binary", 'CREATE TYPE first AS (x int); CREATE SCHEMA elsewhere;
		CREATE EXTENSION gpureg SCHEMA elsewhere');
	$subscriber->safe_psql("binary_$binary", "SET search_path = public, elsewhere; CREATE TABLE stored ($stored)");
	my $connection = $publisher->connstr('golden') =~ s/'/''/gr;
	$subscriber->safe_psql("binary_$binary", "CREATE SUBSCRIPTION sub_$binary CONNECTION '$connection'
		PUBLICATION everything WITH (binary = $binary)");
	my $same = sub {
		my ($name) = @_;

		$publisher->wait_for_catchup("sub_$binary");
		my $wanted = $publisher->safe_psql('golden', $see);
		cmp_ok(length $wanted, '>', 10_000, 'there is something to compare');
		ok($subscriber->safe_psql("binary_$binary", "SET search_path = public, elsewhere; $see") eq $wanted,
			"replicated, binary = $binary: $name");
	};

	$subscriber->poll_query_until("binary_$binary",
		q{SELECT count(*) > 0 AND bool_and(srsubstate IN ('r', 's')) FROM pg_subscription_rel})
	  or die 'the tables were never copied';
	$same->('the first copy');
	$publisher->safe_psql('golden', q{
		UPDATE stored SET s = gpu_ols_stats_combine(s, s), v = v || 1::real,
			m = CASE WHEN coalesce((m).design, '') = '' THEN gpu_with_terms(m, (m).terms) END;
		DELETE FROM stored WHERE name LIKE 'plain%';
		INSERT INTO stored (name, s, v) SELECT 'new', s, '{1,2}' FROM golden_stats WHERE name = 'weighted, named'});
	$same->('changes');
	is($subscriber->safe_psql("binary_$binary",
		'SELECT count(*) FROM stored WHERE p IS DISTINCT FROM elsewhere.gpu_project(v, 5, 3)'), '0',
		"replicated, binary = $binary: projections are of their rows");
	unlike(slurp_file($subscriber->logfile), qr/ERROR/, "replicated, binary = $binary: no errors");
	$subscriber->safe_psql("binary_$binary", "DROP SUBSCRIPTION sub_$binary");
}
$_->stop for $publisher, $subscriber;

#
# pg_upgrade
#

# Removes column options of the test's own tables that hold a version. Minor releases of 15 and 17 write such options,
# which pg_dump of some 18 doesn't know, so that pg_upgrade fails for any table.
sub forget_column_versions
{
	my ($server, @databases) = @_;

	$server->start;
	$server->safe_psql($_, q{SET allow_system_table_mods = on;
		UPDATE pg_attribute SET attoptions = NULL WHERE attoptions::text ~ 'pg_attver' AND attrelid >= 16384})
	  for @databases;
	$server->stop;
}

SKIP:
{
	my @others = grep { length } split /,/, $ENV{GPUREG_UPGRADE_PG_CONFIG} // '';
	skip 'GPUREG_UPGRADE_PG_CONFIG names no other PostgreSQL', 1 if !@others;

	my $old = PostgreSQL::Test::Cluster->new('old');
	# checksums are the default from 18 on, and pg_upgrade needs both clusters alike
	$old->init(extra => [ '-k' ]);
	$old->append_conf('postgresql.conf', "gpureg.device = cpu\njit = off");
	$old->start;
	read_golden($old, 'golden', 'txt');
	$old->safe_psql('golden', "DROP TABLE golden_results; CREATE TABLE stored ($stored);
		INSERT INTO stored $stored_rows; CREATE INDEX by_projection ON stored ((gpu_project(v, 2)));
		CREATE VIEW fits AS SELECT name, t.* FROM golden_stats, gpu_tidy(gpu_ols_solve(s)) t WHERE name LIKE 'part%'");
	my $seen = $old->safe_psql('golden', "$see; SELECT * FROM fits ORDER BY 1, 2");
	$old->stop;

	my ($from, $server, @databases) = ($pg_config, $old, 'golden');
	for my $other (@others)
	{
		my $to = PostgreSQL::Test::Cluster->new('to_' . ++(state $count),
			install_path => pg_config($other, 'bindir') =~ s!/bin$!!r);
		my $version = pg_config($other, 'version');
		my @bindirs = map { pg_config($_, 'bindir') } $from, $other;

		$to->init(extra => [ '-k' ]);
		$to->append_conf('postgresql.conf', "gpureg.device = cpu\njit = off");
		forget_column_versions($server, @databases) if contents("$bindirs[1]/pg_dump") !~ /pg_attver/;
		chdir directory_of("upgrade_$count");
		system_or_bail("$bindirs[1]/pg_upgrade", '--no-sync', '-b', $bindirs[0], '-B', $bindirs[1], '-d',
			$server->data_dir, '-D', $to->data_dir, '-p', $server->port, '-P', $to->port, '-s', $dir, '-U',
			$ENV{USER} // 'postgres');
		$to->start;
		ok($to->safe_psql('golden', "$see; SELECT * FROM fits ORDER BY 1, 2") eq $seen,
			"$version: what was stored is the same");
		is_golden($to, 'golden', $version);
		results_are_golden($to, 'golden', $version);
		$to->safe_psql('golden', 'DROP TABLE golden_results, wanted');
		is($to->safe_psql('golden', 'SELECT count(*) FROM stored WHERE p IS DISTINCT FROM gpu_project(v, 5, 3)'), '0',
			"$version: projections are of their rows");
		is($to->safe_psql('golden', q{SET enable_seqscan = off; SET enable_bitmapscan = off;
			SELECT count(*) FROM stored WHERE gpu_project(v, 2) = gpu_project(ARRAY[5, 2.5, -1]::real[], 2)}),
			$to->safe_psql('golden', q{SET enable_indexscan = off;
			SELECT count(*) FROM stored WHERE v = ARRAY[5, 2.5, -1]::real[]}), "$version: the index finds its rows");
		my $fresh_there = do {
			$to->safe_psql('postgres', 'CREATE DATABASE fresh');
			$to->safe_psql('fresh', 'CREATE EXTENSION gpureg');
			my $catalogue = run_file($to, 'fresh', "$tests/catalogue.sql");
			$to->safe_psql('postgres', 'DROP DATABASE fresh');
			$catalogue;
		};
		is(differences(run_file($to, 'golden', "$tests/catalogue.sql"), $fresh_there), '',
			"$version: the catalogue is that of a new one");
		$to->stop;
		($from, $server) = ($other, $to);
	}
}

$own->stop;
done_testing();
