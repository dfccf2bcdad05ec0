# Random statements over random tables must give the same bits, or the same error, with the custom scan as without. Its
# input varies in pages, visibility and types, for which no list of cases is complete.
#
# GPUREG_SEED repeats a run, and GPUREG_TABLE one table of it; GPUREG_LONG=1 takes more tables.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use GpuregTest;
use IPC::Run;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RandomStatements;
use RandomTables;
use Test::More;

my $seed = $ENV{GPUREG_SEED} // time % 1_000_000;
my $ntables = $ENV{GPUREG_TABLES} // ($ENV{GPUREG_LONG} && !$ENV{GPUREG_SANITIZE} ? 5000 : 120);
my @numbers = defined $ENV{GPUREG_TABLE} ? ($ENV{GPUREG_TABLE}) : (1 .. $ntables);
my $nstatements = 4;

diag("GPUREG_SEED=$seed, " . @numbers . ' tables');

my $node = start_node('main', 'autovacuum = off', 'max_worker_processes = 8', 'max_parallel_workers = 8',
	"statement_timeout = '60s'", 'gpureg.device = cpu', 'log_min_error_statement = panic', 'jit = off');
my $pid = postmaster_pid($node);
my $version = $node->safe_psql('postgres', 'SHOW server_version_num') / 10000;
my $has_scan = $node->safe_psql('postgres',
	q{LOAD 'gpureg'; SELECT count(*) FROM pg_settings WHERE name = 'gpureg.enable_scan'});
my $scan_setting = $has_scan ? q{'gpureg.enable_scan'} : 'NULL';

$node->safe_psql('postgres', qq{
	CREATE ROLE reader;
	CREATE ACCESS METHOD heap_too TYPE TABLE HANDLER heap_tableam_handler;
	CREATE FUNCTION u(i int, k int) RETURNS float8 LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
		'SELECT (hashint8extended(i, k) & 1073741823) / 1073741824.0::float8';
	CREATE TABLE few (v int);
	INSERT INTO few VALUES (0), (2), (5);
	GRANT SELECT ON few TO reader;

	-- Aggregates whose transition functions are strict or not, with and without initial values, with states of every
	-- kind
	CREATE FUNCTION add_small(bigint, int) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
		'SELECT \$1 + \$2';
	CREATE FUNCTION less_five(bigint, bigint) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
		'SELECT \$1 + \$2 - 5';
	CREATE AGGREGATE sum_from_5(int) (sfunc = add_small, stype = bigint, initcond = 5, combinefunc = less_five,
		parallel = safe);
	CREATE FUNCTION or_null(int, int) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS
		'BEGIN RETURN CASE WHEN \$1 < 0 OR \$2 < 0 OR \$2 = 3 THEN -1 WHEN \$1 IS NULL THEN \$2
			ELSE greatest(\$1, \$2) END; END';
	CREATE AGGREGATE max_or_null(int) (sfunc = or_null, stype = int, combinefunc = or_null, parallel = safe);
	CREATE AGGREGATE last_text(text) (sfunc = text_larger, stype = text, combinefunc = text_larger, parallel = safe);
	CREATE FUNCTION keep_last(text[], text) RETURNS text[] LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS
		'BEGIN \$1[1] := greatest(\$1[1], \$2); RETURN \$1; END';
	CREATE FUNCTION keep_last(text[], text[]) RETURNS text[] LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS
		'BEGIN \$1[1] := greatest(\$1[1], \$2[1]); RETURN \$1; END';
	CREATE AGGREGATE last_in_array(text) (sfunc = keep_last, stype = text[], initcond = '{a}',
		combinefunc = keep_last, parallel = safe);

	-- Texts of group keys that are equal for the equal.
	CREATE FUNCTION same_key(k anyelement) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS \$\$
	BEGIN
		RETURN coalesce(CASE
			WHEN pg_typeof(k) IN ('float8'::regtype, 'float4'::regtype) THEN (k::text::float8 + 0)::text
			WHEN pg_typeof(k) = 'numeric'::regtype THEN trim_scale(k::text::numeric)::text
			ELSE k::text
		END, 'NULL');
	END \$\$;

	-- What a statement gives: rows as text, or its error. The settings, and what it changes, are rolled back.
	CREATE FUNCTION outcome(scan text, s json, OUT result text, OUT uses_scan bool, OUT exchanges bool)
	LANGUAGE plpgsql AS \$\$
	DECLARE
		setting text;
		r record;
		c refcursor;
		line text;
		state text;
		message text;
	BEGIN
		uses_scan := false;
		exchanges := false;
		DEALLOCATE ALL;
		BEGIN
			IF $scan_setting IS NOT NULL THEN
				PERFORM set_config($scan_setting, scan, true);
			END IF;
			FOR setting IN SELECT json_array_elements_text(s->'settings') LOOP
				PERFORM set_config(split_part(setting, '=', 1), split_part(setting, '=', 2), true);
			END LOOP;
			IF s->>'parameter' IS NOT NULL THEN
				PERFORM set_config('plan_cache_mode', 'force_generic_plan', true);
				EXECUTE format('PREPARE statement(%s) AS %s', s->'parameter'->>0, s->>'text');
			END IF;
			IF scan = 'on' THEN
				FOR line IN EXECUTE format('EXPLAIN (%s) ', s->>'explain') ||
						CASE WHEN s->>'parameter' IS NULL THEN s->>'text'
							ELSE format('EXECUTE statement(%s)', s->'parameter'->>1) END LOOP
					uses_scan := uses_scan OR line LIKE '%Custom Scan (GpuregScan)%';
					exchanges := exchanges OR line LIKE '%Parallel Custom Scan (GpuregScan)%';
				END LOOP;
			END IF;
			IF scan = 'on' AND s->>'mutation' IS NOT NULL THEN
				EXECUTE s->>'mutation';
			END IF;
			IF s->>'how' = 'cursor' THEN
				OPEN c SCROLL FOR EXECUTE s->>'text';
				EXECUTE s->>'changes';
				FETCH c INTO r;
				result := r::text;
				FETCH c INTO r;
				MOVE BACKWARD ALL FROM c;
				FETCH c INTO r;
				result := result || ' and ' || r::text;
			ELSIF s->>'parameter' IS NOT NULL THEN
				EXECUTE format('EXECUTE statement(%s)', s->'parameter'->>1) INTO r;
				result := r::text;
				EXECUTE format('EXECUTE statement(%s)', s->'parameter'->>2) INTO r;
				result := result || ' and ' || r::text;
			ELSE
				EXECUTE s->>'text' INTO r;
				result := r::text;
			END IF;
			RAISE EXCEPTION USING ERRCODE = 'GR000';
		EXCEPTION
			WHEN SQLSTATE 'GR000' THEN
			WHEN OTHERS THEN
				GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT;
				result := 'ERROR ' || state || ': ' || message;
		END;
	END \$\$;

	-- One statement without the scan and with it, in either order, as one line of JSON
	CREATE FUNCTION compare(id int, s json) RETURNS text LANGUAGE plpgsql AS \$\$
	DECLARE
		without record;
		with_scan record;
	BEGIN
		IF s->>'first' = 'on' THEN
			with_scan := outcome('on', s);
		END IF;
		without := outcome('off', s);
		IF s->>'first' <> 'on' THEN
			with_scan := outcome('on', s);
		END IF;
		RETURN json_build_object('id', id, 'off', without.result, 'uses_scan', with_scan.uses_scan,
			'exchanges', with_scan.exchanges,
			'on', CASE WHEN with_scan.result IS DISTINCT FROM without.result THEN with_scan.result ELSE 'the same' END);
	END \$\$;});

my $json = JSON::PP->new->utf8->canonical;
my $main = open_psql($node, 'main');
my $rival = open_psql($node, 'rival');
psql_says($_, 'SET client_min_messages = error;') for $main, $rival;
my %count = map { $_ => 0 } 'statements', 'scans', 'exchanges', 'errors', 'other errors', 'errors beyond a limit',
  'other bits', 'other digits', 'steps from far off';
my $worst = 0;

# Returns the range of parts around part k: from the last one before it with $open to the first one after it with
# $close.
sub around
{
	my ($parts, $k, $open, $close) = @_;
	my ($from, $to) = ($k, $k);

	$from-- while $from > 0 && $parts->[$from] !~ /\Q$open\E/;
	$to++ while $to < $#$parts && $parts->[$to] !~ /\Q$close\E/;
	return ($from, $to);
}

# Returns the largest number of the array that number k is in.
sub array_largest
{
	my ($parts, $k) = @_;
	my ($from, $to) = around($parts, $k, '{', '}');
	my $largest = 0;

	for my $part (@$parts[ $from .. $to ])
	{
		$largest = abs($part) if $part =~ /^-?\d+(?:\.\d+)?(?:e[-+]?\d+)?$/ && abs($part) > $largest;
	}
	return $largest;
}

# Returns the covariances of the model that number k is in, as rows.
sub covariances
{
	my ($parts, $k) = @_;
	my ($from, $to) = around($parts, $k, '(', ')');
	my ($matrix) = join('', @$parts[ $from .. $to ]) =~ /\{\{(.*?)\}\}/;

	return map { [ split /,/ ] } split /\},\{/, $matrix // '';
}

sub is_variance
{
	my ($text) = @_;

	return $text ne 'NULL' && $text > 0 && $text < 9e307;
}

# Returns the standard error of the coefficient that number k is, or 0. Coefficients are printed before the covariances.
sub std_error
{
	my ($parts, $k) = @_;
	my ($from, $to) = around($parts, $k, '{', '}');
	my $i = ($k - $from - 1) / 2;

	return 0 if $parts->[$to] !~ /\}.*\{\{/;
	my @rows = covariances($parts, $k);
	return is_variance($rows[$i][$i]) ? sqrt($rows[$i][$i]) : 0;
}

# True if number k is in the model of a perfect fit, whose covariances are exactly 0.
sub is_perfect
{
	my @variances = map { @$_ } covariances(@_);

	return @variances > 0 && !grep { $_ ne 'NULL' && $_ != 0 } @variances;
}

# Returns the rounding of 32 digits in an intercept, which is in the response's unit; 0 for another number.
sub intercept_left_over
{
	my ($parts, $k) = @_;
	my ($from, $to) = around($parts, $k, '(', ')');
	my ($null_deviance) = join('', @$parts[ $from .. $to ]) =~ /\}\}"*,(?:-?\d+,){4}[^,]+,([^,]+),\d+,[tf],/;

	return 0 if !defined $null_deviance || $parts->[ $k - 1 ] !~ /[^{]\{$/;
	return 1e-31 * sqrt($null_deviance);
}

# True if terms of the model that number k is in are collinear as far as its covariances can tell: if elimination in the
# matrix of the estimates' correlations leaves one only float8's rounding.
sub is_collinear
{
	my @rows = covariances(@_);
	my @left = grep { $rows[$_][$_] ne 'NULL' } 0 .. $#rows;

	return 0 if grep { !is_variance($rows[$_][$_]) } @left;
	my %scale = map { $_ => sqrt($rows[$_][$_]) } @left;
	for my $i (@left)
	{
		$rows[$i][$_] /= $scale{$i} * $scale{$_} for @left;
	}
	while (@left)
	{
		(my $pivot, @left) = sort { $rows[$b][$b] <=> $rows[$a][$a] } @left;
		return 1 if $rows[$pivot][$pivot] < 1e-15;
		for my $i (@left)
		{
			my $share = $rows[$i][$pivot] / $rows[$pivot][$pivot];
			$rows[$i][$_] -= $share * $rows[$pivot][$_] for @left;
		}
	}
	return 0;
}

# Replaces the numbers of steps that haven't converged and start so far off that they are worse than no model. Most rows
# then have probabilities of 0 or 1, and weights of all sizes: beside the largest of them other rows may lose all digits
# in sums of 32 digits.
sub without_steps_from_far_off
{
	my ($text) = @_;

	$text =~ s/"*\{[^{}()]*\}"*,"*\{\{.*?\}\}"*,(\d+,\d+),\d+,-?\d+,([^,]+),([^,]+),(\d+,f,)
		/$2 > $3 ? "a step,$1,$2,$3,$4" : $&/gex;
	return $text;
}

# Removes the hexadecimal values of a model's records that hold bits of rounding or of degrees of freedom.
sub without_last_bits
{
	my ($text) = @_;
	return defined $text ? $text =~ s/\b(vcov_low|df) \d+ [0-9a-f]+(?: [0-9a-f]{16})*/$1/gr : undef;
}

sub difference
{
	my ($left, $right, $text) = map { without_last_bits($_) } @_;
	# true if the terms have a number and the same number as a float4
	my $twice = ($text // '') =~ /\b(c\d+)::real\b/ && (() = $text =~ /\b$1\b/g) > 1;
	my @left = split /([{}()",\s|]+)/, $left;
	my @right = split /([{}()",\s|]+)/, $right;
	my $most = 0;

	return 9e99 if @left != @right;
	for my $k (0 .. $#left)
	{
		my ($u, $v) = ($left[$k], $right[$k]);
		next if $u eq $v;
		# counts are integers, estimates hardly ever
		return 9e99 if grep { !/^-?\d+(?:\.\d+|(?:\.\d+)?e[-+]?\d+)?$/ } $u, $v;
		return 9e99 if !grep { /[.e]/ } $u, $v;
		my $scale = abs($u) > abs($v) ? abs($u) : abs($v);
		# in a perfect fit, the rounding that is left of a coefficient of 0 has digits of its own
		my $largest = array_largest(\@left, $k);
		next if $scale < 1e-17 * $largest;
		my $difference = abs($u - $v) / $scale;
		# nearly collinear columns leave more, and the standard errors, all 0, don't tell how much: 1e-16 if a column is
		# another one as a float4
		my $left_over = ($twice ? 1e-15 : 1e-20) * $largest + intercept_left_over(\@left, $k);
		next if $difference >= 1e-12 && abs($u - $v) < $left_over && is_perfect(\@left, $k);
		# with sums of 32 digits, a step from far off has the digits that its standard error has
		next if $difference >= 1e-12 && abs($u - $v) < 1e-20 * std_error(\@left, $k);
		# with terms that have 1e-28 of their squares left beside the others, the order of the rows may change the
		# fourth digit
		next if $difference >= 1e-12 && $difference < 1e-3 && is_collinear(\@left, $k);
		$most = $difference if $difference > $most;
	}
	return $most;
}

# Compares a statement's answers. If several rows or groups would fail, either error is right: several processes read
# rows, groups come in an order of their own, and each aggregate looks at rows in blocks.
sub is_same
{
	my ($statement, $line) = @_;
	my ($off, $on) = map { $_ // 'NULL' } @$line{qw(off on)};
	my $unordered = $statement->{text} =~ / GROUP BY | AS m1\b/
	  || grep { $_ eq 'max_parallel_workers_per_gather=2' } $statement->{settings}->@*;

	$count{statements}++;
	$count{errors}++ if $off =~ /^ERROR/;
	$count{scans}++ if $line->{uses_scan};
	$count{exchanges}++ if $line->{exchanges};
	return 1 if $on eq 'the same';
	if ($off =~ /^ERROR/ && $on =~ /^ERROR/ && $on !~ /^ERROR XX/ && $unordered)
	{
		$count{'other errors'}++;
		return 1;
	}
	# LIMIT takes whichever groups come first; other groups, and errors in them, aren't computed
	if ($statement->{text} =~ /GROUP BY .* LIMIT \d+\) l$/ && ($off =~ /^ERROR/ xor $on =~ /^ERROR/)
		&& "$off$on" !~ /ERROR XX/)
	{
		$count{'errors beyond a limit'}++;
		return 1;
	}
	my $difference = difference($off, $on, $statement->{text});
	if ($difference >= 1e-12)
	{
		$count{'steps from far off'}++;
		$difference = difference((map { without_steps_from_far_off($_) } $off, $on), $statement->{text});
	}
	return 0 if $difference >= 1e-12;
	$count{'other bits'}++;
	$count{'other digits'}++ if $difference > 1e-15;
	$worst = $difference if $difference > $worst;
	note(sprintf "%.1e: %s", $difference, $json->encode($statement));
	return 1;
}

# Draws everything that is run, before it is run. Each table has a seed of its own, so that it can be repeated alone.
sub draw_all
{
	my ($number, $mutated) = @_;

	srand($seed * 10007 + $number);
	my $table = draw_table($number, $version);
	my @statements = map { draw_statement($table) } 1 .. $nstatements;
	my $script = {
		table => $table, statements => \@statements,
		setup => setup_sql($table), own => own_sql($table), drop => drop_sql($table),
		rival => $table->{rivals} ? rival_sql($table) : undef,
		begin => 'BEGIN ISOLATION LEVEL ' . pick('READ COMMITTED', 'REPEATABLE READ', 'REPEATABLE READ', 'SERIALIZABLE')
	};
	if ($mutated)
	{
		$script->{rival} = undef;
		my $last = "SELECT max(ctid) FROM $table->{name}";
		$_->{mutation} = "DELETE FROM $table->{name} WHERE ctid = ($last)" for @statements;
	}
	return $script;
}

# Runs a table's statements; returns their lines. The transactions of another session begin before those of the
# statements, and end before the last statement if the statements have a snapshot.
sub run_table
{
	my ($script, $name) = @_;
	my $statements = $script->{statements};
	my $ends_early = $script->{rival} && $script->{begin} !~ /READ COMMITTED/;
	my @texts = map { $json->encode($_) } @$statements;
	my @calls = map { "SELECT compare($_, \$json\$$texts[$_]\$json\$);\n" } 0 .. $#texts;
	my @last = $ends_early ? splice(@calls, 2) : ();
	my (@out, @err);

	($out[0], $err[0]) = psql_says($main, $script->{setup});
	($out[1], $err[1]) = psql_says($rival, $script->{rival}) if $script->{rival};
	($out[2], $err[2]) = psql_says($main, "$script->{begin};\n$script->{own}" . join '', @calls);
	($out[3], $err[3]) = psql_says($rival, "$script->{table}->{rivals_end};") if $script->{rival};
	($out[4], $err[4]) = psql_says($main, join('', @last) . 'COMMIT;');
	($out[5], $err[5]) = psql_says($main, $script->{drop});
	my $err = join '', grep { defined } @err;
	my @lines = map { $json->decode($_) } split /\n/, join '', grep { defined } @out;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok($err eq '' && @lines == @$statements, "$name: runs") or diag(@$script{qw(setup rival begin own)}, $err);
	return @lines;
}

sub test_table
{
	my ($number) = @_;
	my $script = draw_all($number, 0);
	my @bad;

	for my $line (run_table($script, "table $number"))
	{
		my $statement = $script->{statements}->[ $line->{id} ];
		next if is_same($statement, $line);
		my ($off, $on) = map { $_ // 'NULL' } @$line{qw(off on)};
		push @bad, join "\n", '', $json->encode($statement), "off: $off", "on:  $on";
	}
	ok(!@bad, "table $number: the same with the scan as without")
	  or diag(join "\n", "GPUREG_SEED=$seed GPUREG_TABLE=$number",
		(grep { defined } @$script{qw(setup rival begin own)}), @bad);
}

# Two transactions each sum up a table, and then add a row to it: a serializable server must refuse one of them.
sub test_serializable
{
	my ($setting) = @_;
	my $sums = 'SELECT gpu_ols_agg(y, x) FROM skew';
	my $begin = "$setting; BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT (gpu_ols_agg(y, x)).n FROM skew;";
	my $end = 'INSERT INTO skew VALUES (1, 1); COMMIT;';
	my @err;

	psql_says($main, 'CREATE TABLE skew AS SELECT sin(i) AS y, i::float8 AS x FROM generate_series(1, 500) i;');
	psql_says($_, $begin) for $main, $rival;
	(undef, $err[0]) = psql_says($main, $end);
	(undef, $err[1]) = psql_says($rival, $end);
	psql_says($_, 'ROLLBACK;') for $main, $rival;
	psql_says($main, 'DROP TABLE skew;');
	like("@err", qr/ERROR:  40001:/, "$setting: a row that another transaction would have seen is a conflict");
}

test_table($_) for @numbers;
if (@numbers > 1)
{
	# the order of the rows decides the last bits of some
	cmp_ok($count{'other bits'}, '<=', 0.03 * $count{statements}, 'few in other bits');
	cmp_ok($count{'other digits'}, '<=', 0.01 * $count{statements}, 'hardly any in other digits');
	cmp_ok($count{'steps from far off'}, '<=', 1 + 0.0005 * $count{statements}, 'next to no steps without a digit');
	cmp_ok($count{'other errors'} + $count{'errors beyond a limit'}, '<=', 0.01 * $count{statements},
		'hardly any with other errors');
	cmp_ok($count{errors}, '<=', 0.25 * $count{statements}, 'most give something');
	cmp_ok($count{scans}, '>=', 0.3 * $count{statements}, 'many with the scan in their plan') if $has_scan;
	cmp_ok($count{exchanges}, '>=', 0.005 * $count{statements}, 'some whose workers exchange groups') if $has_scan;

	# The test must notice a table with one row less.
	my $noticed = 0;
	for my $number (map { $ntables + $_ } 1 .. 20)
	{
		$noticed += grep { ($_->{on} // '') ne 'the same' } run_table(draw_all($number, 1), "mutant $number");
	}
	cmp_ok($noticed, '>=', 10, 'a row that is left out is noticed');
	note("noticed in $noticed statements");
	test_serializable($_) for $has_scan ? map { "SET gpureg.enable_scan = $_" } 'off', 'on' : 'RESET jit';
}
close_psql($_) for $main, $rival;

diag(join ', ', (map { "$_: $count{$_}" } sort keys %count), sprintf 'largest difference: %.1e', $worst);
unlike(slurp_file($node->logfile), qr/refcount leak|reference leak|was not closed|still referenced|leaked/,
	'nothing is left open');
survived($node, $pid, 'all of it');
done_testing();
