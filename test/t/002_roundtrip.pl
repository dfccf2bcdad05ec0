# gpu_ols_stats and gpu_logreg_step must keep every bit on their way out and in, and must refuse garbage that could hurt
# the server.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use GpuregTest;
use Psql;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('main');
my $pid = postmaster_pid($node);
my $dir = PostgreSQL::Test::Utils::tempdir;

# States with extreme numbers: thirds, huge and tiny scales, collinear and constant columns, skipped rows, large
# (toasted) states.
$node->safe_psql('postgres', q{
	CREATE TABLE states (id int, s gpu_ols_stats);
	INSERT INTO states SELECT 1, gpu_ols_stats_agg(i / 3.0, i / 7.0, sqrt(i)) FROM generate_series(1, 100) i;
	INSERT INTO states SELECT 2, gpu_ols_stats_agg(i * 1e100, 1e-50 / i) FROM generate_series(1, 50) i;
	INSERT INTO states SELECT 3, gpu_ols_stats_agg(0, i, 2 * i, 1) FROM generate_series(1, 5) i;
	INSERT INTO states SELECT 4, gpu_ols_stats_agg(nullif(i, 3), i) FROM generate_series(1, 5) i;
	INSERT INTO states SELECT 5, gpu_ols_stats_agg(sin(i), VARIADIC ARRAY(SELECT cos(i * j)
		FROM generate_series(1, 60) j))
		FROM generate_series(1, 200) i;
	INSERT INTO states VALUES (6, NULL);
	INSERT INTO states SELECT 7, gpu_ols_stats_agg(1e9 + i, 1e10 - i / 7.0, 3, i) FROM generate_series(1, 100) i;
	CREATE TABLE models AS SELECT id, gpu_ols_solve(s) AS model, gpu_ols_solve(s, false) AS no_intercept FROM states;
	CREATE TABLE good AS SELECT s FROM states WHERE id = 1;
	CREATE TABLE steps (id int, s gpu_logreg_step);
	INSERT INTO steps SELECT 1, gpu_logreg_step_agg('{}', i % 3 = 0, i / 7.0, sqrt(i)) FROM generate_series(1, 100) i;
	INSERT INTO steps SELECT 2, gpu_logreg_step_agg('{1e-3,-1e90}', i % 2, 1e-100 * i) FROM generate_series(1, 50) i;
	INSERT INTO steps SELECT 3, gpu_logreg_step_agg('{-0.1,0.3,NULL,0}', i / 2 % 2, i, 2 * i, 1)
		FROM generate_series(1, 9) i;
	INSERT INTO steps SELECT 4, gpu_logreg_step_agg('{1e-300}', nullif(i % 3, 2), i) FROM generate_series(1, 7) i;
	INSERT INTO steps SELECT 5, gpu_logreg_step_agg('{}', sin(i * i) > 0, VARIADIC ARRAY(SELECT cos(i * j)
		FROM generate_series(1, 60) j))
		FROM generate_series(1, 200) i;
	INSERT INTO steps VALUES (6, NULL);
	INSERT INTO steps SELECT 17, gpu_glm_step_agg('negative binomial(0.1)', NULL, '{0.3,-1e-3}', i % 5, i)
		FROM generate_series(1, 70) i;
	INSERT INTO steps SELECT 18, gpu_glm_step_agg('gamma', 'inverse', '{}', i + 1e-9, i, NULLIF(i, 7))
		FROM generate_series(1, 9) i;
	INSERT INTO steps SELECT 19, gpu_glm_step_agg('quasipoisson', 'identity', '{1,1}', i, i)
		FROM generate_series(1, 9) i;
	SET client_min_messages = error;
	CREATE TABLE logreg_models AS SELECT id, gpu_logreg_solve(s) AS model, gpu_logreg_solve(s, 1) AS penalised
		FROM steps
		UNION ALL SELECT 7, gpu_logreg_agg(i / 3 % 2, i, i / 2, 3) , gpu_logreg_agg(i > 4, i)
			FROM generate_series(1, 9) i;
	CREATE TABLE good_step AS SELECT s FROM steps WHERE id = 1;});

my $all = 'SELECT id, s::text FROM states ORDER BY id';
my $text = $node->safe_psql('postgres', $all);
is(scalar(split /\n/, $text), 7, 'seven states');
my $all_steps = 'SELECT id, s::text FROM steps ORDER BY id';
my $steps_text = $node->safe_psql('postgres', $all_steps);
is(scalar(split /\n/, $steps_text), 9, 'nine steps');

# Text
is($node->safe_psql('postgres', 'SELECT count(*) FROM states WHERE s::text::gpu_ols_stats::text = s::text'), '6',
	'text and back is the same text');
is($node->safe_psql('postgres', 'SELECT count(*) FROM states WHERE s::text::json IS NOT NULL'), '6',
	'the text is JSON');
is($node->safe_psql('postgres', q{SELECT (s::text::json -> 'shift')::text FROM states WHERE id = 7}) =~
	/^\[9999999\d+(\.\d+)?,3,0,10000000\d+\]$/, 1,
	'a state has its shift');
is($node->safe_psql('postgres',
	'SELECT count(*) FROM steps WHERE s::text::gpu_logreg_step::text = s::text AND s::text::json IS NOT NULL'), '8',
	'a step, too');
for my $digits (-15, 0, 3)
{
	is($node->safe_psql('postgres', "SET extra_float_digits = $digits; $all_steps"), $steps_text,
		"extra_float_digits = $digits: same steps");
	is($node->safe_psql('postgres', "SET extra_float_digits = $digits; $all"), $text,
		"extra_float_digits = $digits: same text");
}

# COPY; models contain NULLs and infinite numbers
my $logreg_models = 'SELECT id, model::text, penalised::text FROM logreg_models ORDER BY id';
my $logreg_models_text = $node->safe_psql('postgres', $logreg_models);
my $separated = qr/,f,"\{\(intercept\),x1\}",cpu,0,binomial,logit,Infinity,1,iid,Infinity,""\)/;
like($logreg_models_text, qr/^7\|\(logistic,"\{\(intercept\),x1,x2,x3\}",.*,NULL\}.*\|\(logistic,.*$separated$/m,
	'models with aliased and with separated terms');
for my $format ('binary', 'text', 'csv')
{
	$node->safe_psql('postgres', qq{
		COPY states TO '$dir/states.$format' (FORMAT $format);
		CREATE TABLE states_$format (LIKE states);
		COPY states_$format FROM '$dir/states.$format' (FORMAT $format);
		COPY steps TO '$dir/steps.$format' (FORMAT $format);
		CREATE TABLE steps_$format (LIKE steps);
		COPY steps_$format FROM '$dir/steps.$format' (FORMAT $format);
		COPY logreg_models TO '$dir/models.$format' (FORMAT $format);
		CREATE TABLE models_$format (LIKE logreg_models);
		COPY models_$format FROM '$dir/models.$format' (FORMAT $format);});
	is($node->safe_psql('postgres', $all_steps =~ s/steps/steps_$format/r), $steps_text, "COPY $format of steps");
	is($node->safe_psql('postgres', $logreg_models =~ s/logreg_models/models_$format/r), $logreg_models_text,
		"COPY $format of models");
	is($node->safe_psql('postgres', "SELECT id, s::text FROM states_$format ORDER BY id"), $text, "COPY $format");
}

# Dump and restore, as an archive and as inserts
my $models = 'SELECT id, model::text, no_intercept::text FROM models ORDER BY id';
my $models_text = $node->safe_psql('postgres', $models);
for my $kind ('custom', 'inserts')
{
	my $file = "$dir/$kind.dump";
	my @format = $kind eq 'custom' ? ('-Fc') : ('--inserts');
	my @restore = $kind eq 'custom' ? ('pg_restore', '-e', '-d', $kind, $file) :
		psql_command($kind, '-f', $file);

	$node->safe_psql('postgres', "CREATE DATABASE $kind");
	$node->command_ok([ 'pg_dump', @format, '-f', $file, '-d', 'postgres' ], "pg_dump $kind");
	$node->command_ok(\@restore, "restore $kind");
	is($node->safe_psql($kind, $all), $text, "$kind: the states are the same");
	is($node->safe_psql($kind, $models), $models_text, "$kind: the models are the same");
	is($node->safe_psql($kind,
		'SELECT count(*) FROM models WHERE model::text = (SELECT gpu_ols_solve(s)::text FROM states s
		WHERE s.id = models.id)'), '6', "$kind: the restored states solve to the restored models");
	is($node->safe_psql($kind, $all_steps), $steps_text, "$kind: the steps are the same");
	is($node->safe_psql($kind, $logreg_models), $logreg_models_text, "$kind: the logistic models are the same");
	is($node->safe_psql($kind,
		'SELECT count(*) FROM logreg_models m JOIN steps s USING (id) WHERE m.model::text = gpu_logreg_solve(s)::text'),
		'8', "$kind: the restored steps solve to the restored models");
}

# States of version 1, which had no shift, as its release wrote them: text, the wire's bytes, and stored bytes, where an
# aggregate's own state may have rows that aren't summed yet. A base type of this test lets bytes stand for such a
# value.
$node->safe_psql('postgres', q{
	SET client_min_messages = warning;
	CREATE TYPE raw_state;
	CREATE FUNCTION raw_state_in(cstring) RETURNS raw_state AS 'byteain' LANGUAGE internal IMMUTABLE STRICT;
	CREATE FUNCTION raw_state_out(raw_state) RETURNS cstring AS 'byteaout' LANGUAGE internal IMMUTABLE STRICT;
	CREATE TYPE raw_state (INPUT = raw_state_in, OUTPUT = raw_state_out, INTERNALLENGTH = VARIABLE, ALIGNMENT = double,
		STORAGE = extended);
	CREATE CAST (raw_state AS gpu_ols_stats) WITHOUT FUNCTION;
	CREATE CAST (gpu_ols_stats AS raw_state) WITHOUT FUNCTION;
	CREATE CAST (raw_state AS gpu_logreg_step) WITHOUT FUNCTION;
	CREATE CAST (gpu_logreg_step AS raw_state) WITHOUT FUNCTION;});
my $sums = '[3,0,3000000007,0,3.000000014e+18,21,16.75,0,16750000046,0,103.8125,0]';
my $wire_bytes = '000100000001' . ('0' x 15) . '3' . ('0' x 15) . '14008' . ('0' x 28) . '41e65a0bc0e' . ('0' x 21)
  . '43c4d1120f1c51864035' . ('0' x 12) . '4030c' . ('0' x 27) . '420f3305bd7' . ('0' x 21) . '4059f4' . ('0' x 26);
my $stored_bytes = '0100000001' . ('0' x 15) . '3' . ('0' x 15) . '1' . ('0' x 27)
  . '8400000e0c00b5ae64186511c0f12d1c4430000000000c03040000070bd05330f420000000000f4594' . ('0' x 45) . '354'
  . ('0' x 49);
my $pending_bytes = '01000000010000000200040002' . ('0' x 226) . '800065cdcd41' . ('0' x 13) . 'c400000000165cdcd41'
	. ('0' x 12)
  . '154' . ('0' x 65);
my $as_state = q('::raw_state::gpu_ols_stats);
$node->safe_psql('postgres', qq{CREATE TABLE version1 AS
	SELECT 'text' AS how, '{"version":1,"features":1,"rows":3,"skipped":1,"gram":$sums}'::gpu_ols_stats AS s
	UNION ALL SELECT 'stored', '\\x$stored_bytes$as_state UNION ALL SELECT 'pending', '\\x$pending_bytes$as_state});
open my $wire, '>:raw', "$dir/version1.bin" or die $!;
print $wire "PGCOPY\n\xff\r\n\0", pack('NN', 0, 0), pack('nN', 2, 4), 'wire', pack('N', length($wire_bytes) / 2),
	pack('H*', $wire_bytes), pack('n', 65535);
close $wire;
$node->safe_psql('postgres', "COPY version1 FROM '$dir/version1.bin' (FORMAT binary)");
is($node->safe_psql('postgres', q{SELECT count(*), min(s::text) FROM version1 WHERE how <> 'pending' GROUP BY s::text}),
	qq(3|{"version":2,"features":1,"rows":3,"skipped":1,"shift":[0,0],"gram":$sums}), 'states of version 1 are read');
# version 2 adds the shift behind the sums
is($node->safe_psql('postgres', "SELECT '\\x02" . substr($stored_bytes, 2) . '000000000000f03f' . ('0' x 16)
	. "$as_state\::text"),
	qq({"version":2,"features":1,"rows":3,"skipped":1,"shift":[1,0],"gram":$sums}),
		'a stored state of version 2 is read');
is($node->safe_psql('postgres',
	q{SELECT s::text::json ->> 'rows', s::text::json ->> 'shift' FROM version1 WHERE how = 'pending'}),
	'2|[1000000002,0]', 'and the rows that are pending in one');
is($node->safe_psql('postgres', q{
	CREATE TABLE again AS SELECT 1 AS part, 1e9::float8 + x AS x, y
		FROM (VALUES (1, 3.5::float8), (2, 5.25), (4, 8)) t(x, y)
		UNION ALL SELECT 2, 1e9 + i, 2 * i + i % 3 FROM generate_series(1, 50) i;
	SELECT how, bool_and(abs(a - b) <= 1e-9 * abs(b)) FROM
		(SELECT how, unnest((gpu_ols_solve(s, intercept)).coef) AS a, unnest((gpu_ols_solve(f, intercept)).coef) AS b
		 FROM version1, (SELECT gpu_ols_stats_agg(y, x) AS f FROM again WHERE part = 1) t,
		 	(VALUES (true), (false)) i(intercept) WHERE how <> 'pending') t
	GROUP BY how ORDER BY how}), "stored|t\ntext|t\nwire|t", 'they are solved');
is($node->safe_psql('postgres', q{
	SELECT how, bool_and(abs(a - b) <= 1e-9 * abs(b)) FROM
		(SELECT how, unnest((gpu_ols_solve(m)).coef) AS a, unnest((gpu_ols_solve(f)).coef) AS b
		 FROM (SELECT how, gpu_ols_stats_combine(s, n) AS m FROM version1, (SELECT gpu_ols_stats_agg(y, x) AS n
		 	FROM again WHERE part = 2) t
			WHERE how <> 'pending' UNION ALL SELECT how || ' last', gpu_ols_stats_combine(n, s) FROM version1,
			(SELECT gpu_ols_stats_agg(y, x) AS n FROM again WHERE part = 2) t WHERE how <> 'pending') m,
		(SELECT gpu_ols_stats_agg(y, x) AS f FROM again) t) t
	GROUP BY how ORDER BY how}), "stored|t\nstored last|t\ntext|t\ntext last|t\nwire|t\nwire last|t", 'merged with '
		. 'one of this version');
is($node->safe_psql('postgres', q{SELECT gpu_ols_rollup(s)::text::json ->> 'rows' FROM version1}), '11',
	'and with each other');

# Garbage: whatever is accepted must be usable by every function that takes a state.
$node->safe_psql('postgres', q{
	CREATE TABLE accepted (s gpu_ols_stats);
	CREATE PROCEDURE use_accepted() LANGUAGE plpgsql AS $$
	DECLARE
		r record;
	BEGIN
		FOR r IN SELECT s FROM accepted WHERE s IS NOT NULL LOOP
			BEGIN PERFORM t.* FROM gpu_tidy(gpu_ols_solve(r.s)) t; EXCEPTION WHEN OTHERS THEN NULL; END;
			BEGIN PERFORM g.* FROM gpu_glance(gpu_ols_solve(r.s, false)) g; EXCEPTION WHEN OTHERS THEN NULL; END;
			BEGIN PERFORM gpu_ols_rollup(s)::text FROM (SELECT r.s UNION ALL SELECT s FROM good) u;
				EXCEPTION WHEN OTHERS THEN NULL; END;
			BEGIN PERFORM gpu_ols_solve(gpu_ols_rollup(s)) FROM (SELECT s FROM good UNION ALL SELECT r.s) u;
				EXCEPTION WHEN OTHERS THEN NULL; END;
			IF r.s::text::gpu_ols_stats::text <> r.s::text THEN
				RAISE EXCEPTION 'an accepted state does not survive its own text';
			END IF;
		END LOOP;
	END $$});

# A COPY file of one state: 19 bytes of header, field count (2), field length (4), then version (2), features (4), ...
$node->safe_psql('postgres', "COPY good TO '$dir/good.bin' (FORMAT binary)");
my $good = slurp_file("$dir/good.bin");
my $value_at = 19 + 2 + 4;

sub copy_in
{
	my ($name, $bytes) = @_;

	open my $file, '>:raw', "$dir/$name.bin" or die $!;
	print $file $bytes;
	close $file;
	return "COPY accepted FROM '$dir/$name.bin' (FORMAT binary);\n";
}

sub with_value
{
	my ($value) = @_;
	return substr($good, 0, $value_at - 4) . pack('N', length $value) . $value . pack('n', 65535);
}

my $value = substr($good, $value_at, unpack('N', substr($good, $value_at - 4, 4)));
my $after_features = substr($value, 6);
# version 4 adds whether there are weights, and a name per column
my $named = sub { return pack('n', 4) . substr($value, 2, 20) . $_[0] . substr($value, 22) };
my @refused = (
	[ 'version 5', pack('n', 5) . substr($value, 2), '0A000' ],
	[ 'version 4 without names', pack('n', 4) . substr($value, 2), '22P03' ],
	[ 'a name too few', $named->("\0y\0x\0"), '22P03' ],
	[ 'a name too many', $named->("\0y\0x\0z\0w\0"), '22P03' ],
	[ 'an empty name', $named->("\0y\0\0z\0"), '22P03' ],
	[ 'a name that is no text', $named->("\0y\0\xff\0z\0"), '22021' ],
	[ 'names of weights that are not there', $named->("\1y\0x\0z\0"), '22P03' ],
	[ 'a name without an end', pack('n', 4) . substr($value, 2, 20) . "\0y\0x\0z", '08P01' ],
	[ 'names of no columns', pack('nN', 4, 2**32 - 1) . substr($value, 6, 16) . "\0y\0", '22P03' ],
	[ 'version 3 without the weights\' number', pack('n', 3) . substr($value, 2), '22P03' ],
	[ 'a NaN for the weights\' number', pack('n', 3) . substr($value, 2, 20) . "\x7f\xf8" . "\0" x 6
		. substr($value, 22), '22P02' ],
	[ 'an infinite one of no rows', pack('nN', 3, 2**32 - 1) . "\0" x 16 . "\x7f\xf0" . "\0" x 6, '22P02' ],
	[ 'version 0', pack('n', 0) . substr($value, 2), '0A000' ],
	[ 'version 1 with a shift', pack('n', 1) . substr($value, 2), '22P03' ],
	[ 'an infinite shift', substr($value, 0, 22) . "\x7f\xf0" . "\0" x 6 . substr($value, 30), '22P02' ],
	[ 'a NaN shift', substr($value, 0, 38) . "\x7f\xf8" . "\0" x 6 . substr($value, 46), '22P02' ],
	[ 'no features', pack('nN', 2, 0) . $after_features, '22P03' ],
	[ 'too many features', pack('nN', 2, 2**31 - 1) . $after_features, '22P03' ],
	[ 'features -2', pack('nN', 2, 2**32 - 2) . $after_features, '22P03' ],
	[ 'a byte too many', $value . "\0", '22P03' ],
	[ 'a byte too few', substr($value, 0, -1), '22P03' ],
	[ 'an entry too few', substr($value, 0, -16), '22P03' ],
	[ 'negative rows', substr($value, 0, 6) . "\xff" . substr($value, 7), '22P02' ],
	[ 'an infinite sum', substr($value, 0, -16) . "\x7f\xf0" . "\0" x 14, '22P02' ],
	[ 'a NaN sum', substr($value, 0, -16) . "\x7f\xf8" . "\0" x 14, '22P02' ],
	[ 'only a version', substr($value, 0, 2), '08P01' ],
	[ 'nothing', '', '08P01' ]);
for my $case (@refused)
{
	error_is($node, copy_in('refused', with_value($case->[1])), $case->[2], "binary: $case->[0]");
}
is($node->safe_psql('postgres', 'SELECT count(*) FROM accepted'), '0', 'none of those was taken');

# Seeds the mutations, so that every run has the same.
srand(20240229);
my @alphabet = (split(//, '0123456789-+.eE,:[]{}" xXnNaAiIfF'), "\t");

# Returns a valid text with a few characters added, removed or replaced.
sub mutated_text
{
	my ($string, $k) = @_;
	my $at = $k % 2 ? int(rand(length $string)) : int(rand(120));

	if ($k % 4 == 0) { substr($string, $at, 1 + int(rand(3))) = ''; }
	elsif ($k % 4 == 1) { substr($string, $at, 0) = $alphabet[ rand @alphabet ] x (1 + int(rand(20))); }
	elsif ($k % 40 == 2) { $string = substr($string, 0, $at); }
	else { substr($string, $at, 1) = $alphabet[ rand @alphabet ]; }
	return $string;
}

my $script = copy_in('intact', $good);
for my $k (1 .. 400)
{
	my $bytes = $good;
	my $at = $k % 4 == 0 ? int(rand(length $bytes)) : $value_at + int(rand(length $value));

	if ($k % 10 == 0) { $bytes = substr($bytes, 0, $at); }
	elsif ($k % 10 == 5) { $bytes = with_value(pack('C*', map { int(rand(256)) } 1 .. int(rand(400)))); }
	else { substr($bytes, $at, 1) ^= chr(1 << int(rand(8))); }
	$script .= copy_in("mutation$k", $bytes);
}
my ($out, $err) = try_sql($node, $script);
my $taken = $node->safe_psql('postgres', 'SELECT count(*) FROM accepted');
note("binary: $taken of 401 were accepted");
cmp_ok($taken, '>', 1, 'binary: harmless mutations are accepted');
cmp_ok($err =~ tr/\n//, '>', 100, 'binary: others are refused');
is(scalar(grep { !/^(?:22|08|0A|54|XX001)/ } $err =~ /ERROR:  (\w{5})/g), 0, 'binary: no internal error') or diag($err);
($out, $err) = try_sql($node, 'CALL use_accepted()');
is($err, '', 'binary: accepted states can be used');
survived($node, $pid, 'binary garbage');

my $good_text = $node->safe_psql('postgres', 'SELECT s::text FROM good');
$script = "TRUNCATE accepted;\n";
for my $k (1 .. 400)
{
	my $string = mutated_text($good_text, $k);

	$script .= "INSERT INTO accepted VALUES (\$garbage\$$string\$garbage\$);\n";
}
($out, $err) = try_sql($node, "$script SELECT count(*) FROM accepted");
note("text: $out of 400 were accepted");
cmp_ok($out, '>', 1, 'text: harmless mutations are accepted');
is(scalar(grep { !/^(?:22P02|22003|0A000)$/ } $err =~ /ERROR:  (\w{5})/g), 0, 'text: no internal error') or diag($err);
($out, $err) = try_sql($node, 'CALL use_accepted()');
is($err, '', 'text: accepted states can be used');

# Counts that exceed bigint when added must be an error, not a negative number of rows.
my ($nan_bytes, $infinity_bytes) = (pack('Q<', 0x7ff8 << 48), pack('Q<', 0x7ff0 << 48));
my $full = '{"version":1,"features":1,"rows":4611686018427387904,"skipped":%s,"gram":[4611686018427387904,0,0,0,1,0,0,'
	. '0,0,0,1,0]}';
for my $case ([ 'rows', '0' ], [ 'skipped', '9223372036854775807' ])
{
	my $state = sprintf $full, $case->[1];
	$state =~ s/4611686018427387904/7/g if $case->[0] eq 'skipped';
	error_is($node, "SELECT gpu_ols_rollup('$state'::gpu_ols_stats)::text FROM generate_series(1, 2)", '22003',
		"too many $case->[0] for bigint");
}
survived($node, $pid, 'text garbage');

# Values of arbitrary bytes, which only the owner of a type can make: they must be refused, or do no harm.
my $raw = $node->safe_psql('postgres', 'SELECT s::raw_state FROM states WHERE id = 7');
my $pending = $node->safe_psql('postgres', q{
	CREATE AGGREGATE raw_agg(y float8, VARIADIC x float8[]) (SFUNC = gpu_ols_stats_accum, STYPE = gpu_ols_stats);
	SELECT raw_agg(1e9 + i, i)::raw_state FROM generate_series(1, 40) i});
my $step_bytes = $node->safe_psql('postgres', 'SELECT s::raw_state FROM good_step');
my $pending_step = $node->safe_psql('postgres', q{
	CREATE AGGREGATE raw_step_agg(beta float8[], y float8, VARIADIC x float8[]) (SFUNC = gpu_logreg_step_accum,
		STYPE = gpu_logreg_step);
	SELECT raw_step_agg('{}', i % 2, i)::raw_state FROM generate_series(1, 40) i});
my $pass = '{"version":1,"features":1,"skipped":0,"pass":%d,"faces":1,"changed":1,"rows":0,"workers":0,'
  . '"relative":[0],"request":[0.5,0.25,0,0,0.25,0,'
  . '0,-2,1,0,0,0,1,2],"sums":[%s]}';
my $glm_bytes = $node->safe_psql('postgres', 'SELECT s::raw_state FROM steps WHERE id = 17');
my $begun_bytes = $node->safe_psql('postgres', 'SELECT s::raw_state FROM steps WHERE id = 18');
my $pass_bytes = $node->safe_psql('postgres', sprintf "SELECT '$pass'::gpu_logreg_step::raw_state", 3,
	join(',', (0) x 28));

# Uses mutated bytes as values of a type: each use must work or be refused.
sub use_bytes
{
	my ($type, $values, @uses) = @_;
	my $uses = join ',', map { "\$use\$ $_ \$use\$" } @uses;
	my $script = "CREATE TABLE bytes_of_$type (s $type);\n";

	for my $k (1 .. 600)
	{
		my $bytes = pack('H*', substr($values->[ $k % @$values ], 2));
		# the first 60 bytes determine the layout
		my $at = int(rand($k % 3 ? 60 : length $bytes));

		if ($k % 10 == 0) { $bytes = substr($bytes, 0, int(rand(length $bytes))); }
		elsif ($k % 10 < 3) { substr($bytes, 8 * int(rand(length($bytes) / 8)) + 4, 8) = ($nan_bytes, $infinity_bytes,
			"\xff" x 8, pack('d<', 1e308))[ $k % 4 ]; }
		else { substr($bytes, $at, 1) = chr(int(rand(256))); }
		$script .= "INSERT INTO bytes_of_$type SELECT '\\x" . unpack('H*', $bytes) . "'::raw_state::$type;\n";
	}
	my ($out, $err) = try_sql($node, "$script SELECT count(*) FROM bytes_of_$type");
	is($out, '600', "bytes of $type: they are what they are") or diag($err);
	($out, $err) = try_sql($node, qq{
		DO \$\$
		DECLARE
			r record;
			use text;
			refused int := 0;
		BEGIN
			FOR r IN SELECT s FROM bytes_of_$type LOOP
				FOREACH use IN ARRAY ARRAY[$uses] LOOP
					BEGIN
						EXECUTE 'SELECT ' || use USING r.s;
					EXCEPTION WHEN OTHERS THEN
						IF SQLSTATE !~ '^(22|0A|XX001|54)' THEN
							RAISE;
						END IF;
						refused := refused + 1;
					END;
				END LOOP;
			END LOOP;
			ASSERT refused BETWEEN 600 AND 590 * array_length(ARRAY[$uses], 1), refused;
		END \$\$});
	is($err, '', "bytes of $type: used or refused");
	survived($node, $pid, "bytes of $type");
}

use_bytes('gpu_ols_stats', [ $pending, $raw, "\\x$stored_bytes" ],
	'$1::text', 'gpu_ols_solve($1)', 'gpu_ols_solve($1, false)', 'gpu_ols_stats_send($1)',
		'gpu_ols_stats_accum($1, 1, 2)',
	'gpu_ols_stats_combine($1, s) FROM states', 'gpu_ols_stats_combine(s, $1) FROM states',
		'gpu_ols_stats_combine($1, $1)',
	'gpu_ols_stats_final($1)', 'gpu_ols_model_final($1)', 'gpu_ols_stats_accum($1, 1, 2, 3, 4)');
use_bytes('gpu_logreg_step', [ $step_bytes, $glm_bytes, $pending_step, $begun_bytes, $pass_bytes ],
	'$1::text', '$1::text::gpu_logreg_step', 'gpu_logreg_solve($1)', 'gpu_logreg_step_send($1)',
		q{gpu_logreg_step_accum($1, '{}', true, 2)},
	'gpu_logreg_step_combine($1, s) FROM good_step', 'gpu_logreg_step_combine(s, $1) FROM good_step',
		'gpu_logreg_step_combine($1, $1)',
	'gpu_logreg_step_final($1)', q{gpu_logreg_array_pass_accum($1, $1, 1, '{2}')},
		q{gpu_logreg_array_pass_accum(NULL, $1, 1, '{2}')},
	q{gpu_logreg_array_pass_accum(NULL, $1, 1, '{2,3}')},
	q{gpu_glm_step_accum($1, 'gamma', 'inverse', '{}', 2::float8, 3, 4)},
	q{gpu_glm_step_accum($1, 'negative binomial(0.1)', NULL, '{0.3,-1e-3}', true, 2)});
error_is($node, "SELECT '$raw'::raw_state::gpu_logreg_step::text", 'XX001', 'one type\'s bytes as the other\'s');
error_is($node, "SELECT '$step_bytes'::raw_state::gpu_ols_stats::text", 'XX001', 'and the other way');

# Steps of version 2: version (2), features (4), skipped (8), intercept (1), beta, fixed, the head's eight sums, the
# triangle
$node->safe_psql('postgres', q{
	CREATE TABLE accepted_steps (s gpu_logreg_step);
	CREATE PROCEDURE use_accepted_steps() LANGUAGE plpgsql AS $$
	DECLARE
		r record;
	BEGIN
		FOR r IN SELECT s FROM accepted_steps WHERE s IS NOT NULL LOOP
			BEGIN PERFORM t.* FROM gpu_tidy(gpu_logreg_solve(r.s)) t; EXCEPTION WHEN OTHERS THEN NULL; END;
			BEGIN PERFORM g.* FROM gpu_glance(gpu_logreg_solve(r.s, 2)) g; EXCEPTION WHEN OTHERS THEN NULL; END;
			BEGIN PERFORM gpu_logreg_rollup(s)::text FROM (SELECT r.s UNION ALL SELECT s FROM good_step) u;
				EXCEPTION WHEN OTHERS THEN NULL; END;
			BEGIN PERFORM gpu_logreg_solve(gpu_logreg_rollup(s)) FROM (SELECT s FROM good_step UNION ALL SELECT r.s) u;
				EXCEPTION WHEN OTHERS THEN NULL; END;
			IF r.s::text::gpu_logreg_step::text <> r.s::text THEN
				RAISE EXCEPTION 'an accepted step does not survive its own text';
			END IF;
		END LOOP;
	END $$});
$node->safe_psql('postgres', "COPY good_step TO '$dir/good.bin' (FORMAT binary)");
$good = slurp_file("$dir/good.bin");
$value = substr($good, $value_at, unpack('N', substr($good, $value_at - 4, 4)));
my ($t, $head_at) = (3, 15 + 2 * 3 * 8);
my $gram_at = $head_at + 8 * 8;
is(length $value, $gram_at + 2 * 15 * 8, 'the length of a step of two features');
my $infinity = "\x7f\xf0" . "\0" x 6;
my $nan = "\x7f\xf8" . "\0" x 6;
my $minus_one = pack('d>', -1);
my $with = sub { my ($at, $bytes) = @_; my $v = $value; substr($v, $at, length $bytes) = $bytes; return $v; };
# family, link, quasi and linear follow the intercept
my $version2 = sub { return pack('n', 2) . substr($value, 2, 13) . pack('C4', @_) . substr($value, 15); };
for my $case (
	[ 'version 3', $with->(0, pack('n', 3)), '0A000' ],
	[ 'version 2, without a family', $with->(0, pack('n', 2)), '22P03' ],
	[ 'version 2, family 200', $version2->(200, 0, 0, 0), '22P03' ],
	[ 'version 2, link 200', $version2->(0, 200, 0, 0), '22P03' ],
	[ 'version 2, quasi 2', $version2->(0, 0, 2, 0), '22P03' ],
	[ 'version 2, linear 2', $version2->(0, 0, 0, 2), '22P03' ],
	[ 'no features', $with->(2, pack('N', 0)), '22P03' ],
	[ 'too many features', $with->(2, pack('N', 2**31 - 1)), '22P03' ],
	[ 'features -2', $with->(2, pack('N', 2**32 - 2)), '22P03' ],
	[ 'negative skipped rows', $with->(6, "\xff"), '22P02' ],
	[ 'intercept 2', $with->(14, "\2"), '22P03' ],
	[ 'a beta of NaN', $with->(15, $nan), '22P02' ],
	[ 'a mark that is neither 0 nor 1', $with->(15 + 8 * $t, pack('d>', 0.5)), '22P02' ],
	[ 'negative rows', $with->($head_at, $minus_one), '22P02' ],
	[ 'half a row', $with->($head_at, pack('d>', 99.5)), '22P02' ],
	[ 'more ones than rows', $with->($head_at + 7 * 8, pack('d>', 101)), '22P02' ],
	[ 'NaN ones', $with->($head_at + 7 * 8, $nan), '22P02' ],
	[ 'a negative deviance', $with->($head_at + 8, $minus_one), '22P02' ],
	[ 'a NaN deviance', $with->($head_at + 8, $nan), '22P02' ],
	[ 'an infinite sum', $with->($gram_at + 8, $infinity), '22P02' ],
	[ 'a NaN sum', $with->(length($value) - 8, $nan), '22P02' ],
	[ 'a negative sum of squares', $with->($gram_at + 2 * 8, $minus_one), '22P02' ],
	[ 'a byte too many', $value . "\0", '22P03' ],
	[ 'a byte too few', substr($value, 0, -1), '22P03' ],
	[ 'an entry too few', substr($value, 0, -16), '22P03' ],
	[ 'only a version', substr($value, 0, 2), '08P01' ],
	[ 'nothing', '', '08P01' ])
{
	error_is($node, copy_in('refused', with_value($case->[1])) =~ s/accepted/accepted_steps/r, $case->[2],
		"binary step: $case->[0]");
}
is($node->safe_psql('postgres', 'SELECT count(*) FROM accepted_steps'), '0', 'none of those was taken');

$script = copy_in('intact', $good);
$good_text = $node->safe_psql('postgres', 'SELECT s::text FROM good_step');
for my $k (1 .. 200)
{
	my $bytes = $good;

	substr($bytes, $value_at + int(rand(length $value)), 1) ^= chr(1 << int(rand(8)));
	$script .= copy_in("mutation$k", $bytes);
	$script .= "INSERT INTO accepted VALUES (\$garbage\$" . mutated_text($good_text, $k) . "\$garbage\$);\n";
}
($out, $err) = try_sql($node, ($script =~ s/accepted/accepted_steps/gr) . 'SELECT count(*) FROM accepted_steps');
note("steps: $out of 401 were accepted");
cmp_ok($out, '>', 1, 'steps: harmless mutations are accepted');
cmp_ok($err =~ tr/\n//, '>', 50, 'steps: others are refused');
is(scalar(grep { !/^(?:22|08|0A|54|XX001)/ } $err =~ /ERROR:  (\w{5})/g), 0, 'steps: no internal error') or diag($err);
($out, $err) = try_sql($node, 'CALL use_accepted_steps()');
is($err, '', 'steps: accepted ones can be used');
my $step = '{"version":1,"features":1,"skipped":9223372036854775807,"intercept":1,"beta":[0,0],"head":[0,0,0,null,0,0,'
	. 'null,0],"gram":['
  . join(',', (0) x 20) . ']}';
error_is($node, "SELECT gpu_logreg_rollup('$step'::gpu_logreg_step)::text FROM generate_series(1, 2)", '22003',
	'too many skipped for bigint in a step');
# A step that could not be read back must be refused; one with an infinite deviance must not.
my $at = "SELECT gpu_logreg_step_agg('%s', i %% 2, %s) FROM generate_series(1, 5) i";
error_is($node, sprintf($at, '{}', '1e200 * i'), '22003', 'a step over 1e200');
error_is($node, sprintf($at, '{0,1e308}', '10 * i'), '22003', 'a step at a beta that is out of range');
($out, $err) = try_sql($node, 'SELECT s::text::gpu_logreg_step::text = s::text FROM (' . sprintf($at, '{0,1e307}',
	'10 * sign(i - 3)')
	. ') AS r(s)');
is("$err$out", 't', 'a step with an infinite deviance');
survived($node, $pid, 'garbage in steps');

$node->stop;
done_testing();
