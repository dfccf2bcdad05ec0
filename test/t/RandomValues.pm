# Random arguments for 019_random_sql.pl: for each type usual values, extreme ones, and results of others of the
# extension's functions.
package RandomValues;

use strict;
use warnings;

use Exporter 'import';
use RandomTables qw(between chance pick);

our @EXPORT = qw(values_setup draw_literal draw_query draw_quoted column_of odd);

# Factor of the probability of odd values in a statement: most statements must get past the first check.
our $wild = 1;

sub odd
{
	my ($probability) = @_;

	return chance($probability * $wild);
}


# Returns SQL for rows with everything that a table may hold, states and models of all kinds, and states that no final
# function has seen.
sub values_setup
{
	return <<'SQL';
CREATE TYPE size AS ENUM ('small', 'large', 'huge');
CREATE TABLE rows AS SELECT i, i % 4 AS g, sin(i) * 3 + i % 5 AS y, (i * 7 + i / 3) % 5 < 2 AS b,
		cos(i * 0.7)::real AS x1, (i % 7)::float8 AS x2, CASE WHEN i % 11 <> 0 THEN (i % 13) / 2.0 END::float8 AS x3,
		1e9::float8 + i % 17 AS big, CASE WHEN i % 13 <> 0 THEN (ARRAY['b', 'a', 'it''s', '"q"'])[1 + i % 4] END AS t,
		(ARRAY['large', 'huge', 'small'])[1 + i % 3]::size AS s, (1 + i % 3)::float8 AS w, i % 3 AS f,
		ARRAY[cos(i), i % 5, 2]::float8[] AS xa, ARRAY[i % 3, i % 5]::real[] AS r, (i * 7919)::bigint AS n,
		'2020-01-01'::date + i AS d, 0::float8 AS z
	FROM generate_series(1, 60) i;
-- what is hard to bear
CREATE TABLE odd AS SELECT i, i % 3 AS g, (ARRAY[0, 1, -1, 1e308, -1e-308, 'NaN', 'Infinity', NULL, 5e-324, 1e150, 3,
			2]::float8[])[1 + i % 12] AS y, (ARRAY[true, false, NULL])[1 + i % 3] AS b,
		(ARRAY[0, '-Infinity', 1e30, NULL, 1]::real[])[1 + i % 5] AS x1,
		(ARRAY[0, 0, 0, 1e-200, 1, 1e200, 'NaN']::float8[])[1 + i % 7] AS x2, NULL::float8 AS x3, 1e300::float8 AS big,
		(ARRAY['', repeat('x', 1001), NULL, E'\n', 'a:b', '(intercept)'])[1 + i % 6] AS t, NULL::size AS s,
		(ARRAY[0, -1, 1, NULL, 1e300, 'Infinity']::float8[])[1 + i % 6] AS w, 2147483647 - i % 2 AS f,
		(ARRAY['{}', '{1,2}', '{NULL,1,2}', NULL, '{{1,2},{3,4}}', '{NaN,1,2}'])[1 + i % 6]::float8[] AS xa,
		(ARRAY['{}', '{1}', '{NULL}', NULL, '{{1,2}}', '[0:1]={1,2}'])[1 + i % 6]::real[] AS r,
		(ARRAY[0, -1, 9223372036854775807, (-9223372036854775808), NULL]::bigint[])[1 + i % 5] AS n,
		'infinity'::date AS d, 0::float8 AS z
	FROM generate_series(1, 40) i;
CREATE TABLE parts (LIKE rows) PARTITION BY LIST (g);
CREATE TABLE parts0 PARTITION OF parts FOR VALUES IN (0, 1);
CREATE TABLE parts1 PARTITION OF parts DEFAULT;
INSERT INTO parts SELECT * FROM rows;

CREATE AGGREGATE raw_stats(y float8, VARIADIC x float8[]) (SFUNC = gpu_ols_stats_accum, STYPE = gpu_ols_stats);
CREATE AGGREGATE raw_wls(weight float8, y float8, VARIADIC x float8[])
	(SFUNC = gpu_wls_stats_accum, STYPE = gpu_ols_stats);
CREATE AGGREGATE raw_step(beta float8[], y float8, VARIADIC x float8[])
	(SFUNC = gpu_logreg_step_accum, STYPE = gpu_logreg_step);
CREATE AGGREGATE raw_vector(y float8, x float8[]) (SFUNC = gpu_ols_vector_accum, STYPE = gpu_ols_stats);
CREATE AGGREGATE raw_pass(request gpu_ols_stats, names text[], widths int[], VARIADIC "any")
	(SFUNC = gpu_ols_pass_accum, STYPE = gpu_ols_stats);
CREATE AGGREGATE raw_step_pass(request gpu_logreg_step, y float8, x float8[])
	(SFUNC = gpu_logreg_array_pass_accum, STYPE = gpu_logreg_step);
CREATE TABLE states (id int GENERATED ALWAYS AS IDENTITY (START 0 MINVALUE 0), v gpu_ols_stats);
INSERT INTO states (v) SELECT gpu_ols_stats_agg(y, x1, x2, x3, big) FROM rows GROUP BY g ORDER BY g;
INSERT INTO states (v) SELECT gpu_ols_stats_agg(y, x1) FROM rows;
INSERT INTO states (v) SELECT gpu_ols_stats_agg(y, VARIADIC xa) FROM rows WHERE i < 3;
INSERT INTO states (v) SELECT gpu_wls_stats_agg(w, y, x1, x2) FROM rows GROUP BY g ORDER BY g;
INSERT INTO states (v) SELECT gpu_ols_named(gpu_ols_stats_agg(y, x1, x2, x2 * 2), '{y,a,b,c}') FROM rows;
INSERT INTO states (v) SELECT gpu_ols_stats_agg(NULL, 1, 2);
INSERT INTO states (v) SELECT gpu_ols_stats_array_agg(y, xa) FROM rows;
INSERT INTO states (v) SELECT gpu_ols_stats_agg(y * 1e140, x1 * 1e-140) FROM rows;
INSERT INTO states (v) SELECT raw_stats(y, x1, x2) FROM rows;
INSERT INTO states (v) SELECT raw_wls(w, y, x1, x2) FROM rows;
INSERT INTO states (v) SELECT raw_vector(y, xa) FROM rows;
INSERT INTO states (v) VALUES ('{"version":2,"features":-1,"rows":0,"skipped":0,"shift":[],"gram":[]}');
INSERT INTO states (v) SELECT raw_pass(v, NULL, NULL, y, x1, x2) FROM rows, states WHERE id = 17 GROUP BY g;
CREATE TABLE steps (id int GENERATED ALWAYS AS IDENTITY (START 0 MINVALUE 0), v gpu_logreg_step);
INSERT INTO steps (v) SELECT gpu_logreg_step_agg('{}', b, x1, x2) FROM rows GROUP BY g ORDER BY g;
INSERT INTO steps (v) SELECT gpu_logreg_step_agg('{0.1,0.2,0.3}', b, x1, x2) FROM rows GROUP BY g ORDER BY g;
INSERT INTO steps (v) SELECT gpu_glm_step_agg('poisson', NULL, '{}', f, x1) FROM rows;
INSERT INTO steps (v) SELECT gpu_glm_step_agg('gamma', 'inverse', '{}', w, x1) FROM rows;
INSERT INTO steps (v) SELECT gpu_glm_step_agg('gaussian', NULL, '{1,1}', y, x2) FROM rows;
INSERT INTO steps (v) SELECT raw_step('{}', f % 2, x1, x2) FROM rows;
INSERT INTO steps (v) SELECT gpu_logreg_step_agg('{}', NULL::bool, 1, 2);
INSERT INTO steps (v) SELECT gpu_logreg_step_agg('{NULL,1,NULL}', b, x1, x2) FROM rows;
INSERT INTO steps (v) SELECT raw_step_pass(v, b::int, ARRAY[x1, x2]) FROM rows, steps WHERE id IN (0, 4) GROUP BY id;
CREATE TABLE models (id int GENERATED ALWAYS AS IDENTITY (START 0 MINVALUE 0), v gpu_model);
SET client_min_messages = error;
INSERT INTO models (v) SELECT gpu_ols_fit('SELECT y, x1, x2, x3 FROM rows');
INSERT INTO models (v) SELECT gpu_ols_fit('SELECT y, x1, x2 FROM rows', vcov => 'HC3', intercept => false);
INSERT INTO models (v) SELECT gpu_ols_fit('SELECT * FROM rows', formula => 'y ~ x1 * t + poly(x2, 3) + s:x3', vcov =>
	'CR2', clusters => '{f}');
INSERT INTO models (v) SELECT gpu_ols_fit('SELECT y, x1, x1 AS x1, x2, t FROM rows', weights => 'x2');
INSERT INTO models (v) SELECT gpu_logreg_fit('SELECT b, x1, x2 FROM rows');
INSERT INTO models (v) SELECT gpu_logreg_fit('SELECT x2 > 3, x1, x2 FROM rows', max_iter => 5);
INSERT INTO models (v) SELECT gpu_logreg_fit('SELECT x2 > 3, x1, x2 FROM rows', firth => true);
INSERT INTO models (v) SELECT gpu_logreg_fit('SELECT b, x1, t FROM rows', l2 => 1);
INSERT INTO models (v) SELECT gpu_glm_fit('SELECT f, x1, x2 FROM rows', 'poisson', vcov => 'HC0');
INSERT INTO models (v) SELECT gpu_glm_fit('SELECT w, x1 FROM rows', 'gamma', 'log', offsets => 'x1');
INSERT INTO models (v) SELECT gpu_glm_fit('SELECT f, x1, t FROM rows', 'negative binomial', theta => 2);
INSERT INTO models (v) SELECT gpu_glm_fit('SELECT b, x1 FROM rows', 'binomial', 'cloglog');
INSERT INTO models (v) SELECT gpu_enet_fit('SELECT y, x1, x2, big FROM rows', 0.1);
INSERT INTO models (v) SELECT gpu_iv_solve(v, '{1}'::int[], '{2,3}'::int[]) FROM states WHERE id = 0;
INSERT INTO models (v) SELECT gpu_ols_cluster_agg(v) FROM states WHERE id < 4;
INSERT INTO models (v) SELECT gpu_lmm_agg(v) FROM states WHERE id < 4;
INSERT INTO models (v) SELECT gpu_ols_agg(y, x1) FROM rows WHERE i < 3;
INSERT INTO models (v) SELECT gpu_ols_agg(1, x1) FROM rows;
RESET client_min_messages;
ANALYZE;
SQL
}

my %number_of = (states => 22, steps => 16, models => 17);
my @fields = qw(method terms coef vcov n n_skipped rank df_residual deviance null_deviance iterations converged
  separated device log_lik family link theta dispersion vcov_type df_inference design);

sub quoted
{
	my ($text) = @_;

	return "'" . $text =~ s/'/''/gr . "'";
}

# Returns a text in dollar quotes with a tag of its own, so that it can be nested.
my $ntags = 0;

sub draw_quoted
{
	my ($text) = @_;
	my $tag = '$q' . ++$ntags . '$';

	return "$tag$text$tag";
}

#
# Numbers
#

my @edges = qw(0 1 2 -1 -0.0 0.5 1e-300 5e-324 1e300 1.7976931348623157e308 -1e150 NaN Infinity -Infinity 1e17 0.999
  1.0000000000000002 3.5 10 25 100 1e5);

sub edge_number
{
	return pick(@edges);
}

sub draw_float
{
	my $number = odd(0.4) ? edge_number() : sprintf('%.4g', chance(0.7) ? rand(1) : rand(4) - 1);
	return $number =~ /[NI]/ || chance(0.1) ? "'$number'::float8" : $number =~ /^-/ ? "($number)" : $number;
}

sub draw_int
{
	my ($least) = @_;
	return between(1, 5) if !odd(0.4);
	my $number = pick(-1, -2, 7, 20, 64, 100, 1000, 10000, 10001, 65536, 16777216, 2147483647, $least);
	return $number =~ /^-/ ? "($number)" : $number;
}

#
# Arrays
#

sub array_text
{
	my ($element, $n) = @_;
	my @elements = map { odd(0.03) ? 'NULL' : $element->() } 1 .. $n // pick(0, 1, 2, 3, 3, 4, 5, 8);

	return '{' . join(',', @elements) . '}';
}

sub draw_array
{
	my ($element, $type) = @_;
	my $text = array_text($element);

	$text = pick('{}', '{NULL}', '{{}}', '[0:1]={1,2}', '[-2147483647:-2147483646]={1,2}', '{{{1},{2}},{{3},{4}}}')
		if odd(0.06);
	if (odd(0.08))
	{
		my $n = between(1, 4);
		$text = '{' . join(',', map { array_text($element, $n) } 1 .. between(1, 4)) . '}';
	}
	return "array_fill(" . pick(0, 1, 'NULL') . "::" . $type =~ s/\[\]//r . ", ARRAY["
	  . pick(1000, 9999, 10000, 10001, 100000) . "])"
	  if odd(0.01);
	return quoted($text) . "::$type";
}

sub plain_number
{
	return odd(0.12) ? edge_number() : sprintf('%.3g', rand(6) - 2);
}

sub plain_integer
{
	return odd(0.1) ? pick(-1, 7, 100, 2147483647) : between(1, 4);
}

#
# Texts
#

my @words = qw(y x1 x2 x3 big t s w f b g i xa r n d a c (intercept) x4 tmodel y~x);
my %texts = (
	family => [ qw(gaussian binomial poisson gamma quasi-binomial quasi-poisson Poisson), 'negative binomial',
		'negative binomial(1.5)', 'negative binomial(0)' ],
	link => [qw(identity log logit probit cloglog inverse sqrt)],
	vcov => [qw(iid HC0 HC1 HC2 HC3 CR0 CR1 CR2 CR3)],
	solver => [qw(newton gd)],
	weights => [qw(w w f x2 y rademacher webb)],
	frequencies => [qw(f w i)],
	offsets => [qw(x1 x2 y)],
	clusters => [qw(f g t i)],
	key => [qw(i n t g)],
	fold => [qw(f g t)],
	choose => [qw(min 1se)],
	criterion => [qw(aic bic adj_r_squared cp)],
	method => [qw(best forward backward)],
	kind => [qw(confidence prediction percentile basic bca normal)],
	kept => [qw(k1 k2 k3 k1 k2 k3 k1 k2 k3 "k1" postgres.k2 "postgres"."k3" nobody.k1 k1.k2.k3 "k1 .k1 k1.)],
	name => [qw(k1 k2 k3 k1 k2 k3 k1 k2 k3 "k1" postgres.k2 nobody.k1 k1. "k1)],
	null => [qw(imposed)],
	term => [qw(x1 x1 x2 a b)], response => [qw(y a x1)], features => [qw(a b c x1 x2)]);

sub draw_text
{
	my ($name) = @_;

	return 'NULL' if odd(0.04);
	return quoted(pick(@{ $texts{$name} })) if $texts{$name} && !odd(0.1);
	return draw_quoted(draw_formula()) if $name eq 'formula' && !odd(0.1);
	return draw_quoted(draw_row_filter()) if $name eq 'rows' && !odd(0.1);
	return draw_quoted(draw_query()) if $name eq 'query' && !odd(0.04);
	return "(SELECT (v).design FROM models WHERE id = " . pick(2, 3, 7, 10) . ")" if $name eq 'design' && chance(0.7);
	return quoted(pick(@words)) if chance(0.7);
	return pick("''", q{E'\n'}, q{repeat('x', 100000)}, q{'"'}, q{'$1'}, q{repeat('(', 40)}, q{'%s%n'}, "'\x{2603}'",
		quoted(join ' ', map { pick(@words, '1', '"', '~', ':', '*', '(', ')', "'", '9e999') } 1 .. 6));
}

sub draw_factor
{
	return pick('x1', 'x2', 'x3', 't', 's', 'b', 'i', 'w', 'poly(x2, 3)', 'x1', 'f', 'z') if !odd(0.3);
	return pick('x1', 'x2', 'x3', 'z', 'big', 't', 's', 'b', 'i', '.', '1', '0', '"x1"', 'factor(f)', 'factor(b)', 'w',
		'poly(x2, ' . pick(1, 2, 3, 4, 50, 51, 0) . ')', 'x9', 'd', 'xa');
}

# Draws a model without an intercept, of columns of zeros and terms made of these: no term is active.
sub draw_empty_formula
{
	return pick('y', 'y', 'b', 'f') . ' ~ 0 + ' . pick('z', 'z', 'z + z:x1', 'z:x1', 'z:t', 'z + factor(z)');
}

sub draw_formula
{
	return draw_empty_formula() if chance(0.1);
	my @terms = map { join pick(':', '*', ':'), map { draw_factor() } 1 .. pick(1, 1, 1, 2, 2, 3) } 1 .. between(1, 4);
	my $sum = join pick(' + ', ' + ', ' - '), @terms;

	$sum = "($sum):x1" if odd(0.08);
	substr($sum, int(rand length $sum), 1) = pick('(', ')', '"', '~', '::', '+', '-', '.', ' ') if odd(0.06);
	return pick('y', 'y', 'y', 'b', 'f', 'w', 'x1', 't') . " ~ $sum";
}

sub draw_row_filter
{
	my $test = sub {
		my $x = pick(qw(x1 x2 x3 y big i w f));
		pick("$x > " . plain_number(), "$x BETWEEN 1 AND " . plain_number(), "$x IS NULL", "$x IS NOT NULL",
			"$x IN (1, 2, " . plain_integer() . ')', "t = 'a'", "s <> 'small'", "NOT b", 'b', 'TRUE',
			"t NOT IN ('a', 'zz')", "$x = 'a'", "nix < 3");
	};
	my $text = join pick(' AND ', ' OR '), map { $test->() } 1 .. pick(1, 1, 2, 3);

	$text = "NOT ($text)" if chance(0.1);
	substr($text, int(rand length $text), 1) = pick('(', ')', '"', "'", ' ') if odd(0.06);
	return $text;
}

# Draws a query of rows to fit to, or a text that isn't one.
sub draw_query
{
	my $response = pick('y', 'y', 'y', 'b', 'f', 'w', 'x2 > 3', 'abs(y) + 1');
	my @usual = qw(x1 x2 x3 big t s b i w f z);
	my @features = map { odd(0.2) ? pick(qw(xa g n r d y), 'x1 * x2', 'x2::numeric', 'x1 + 0 AS x1', 'NULL', '1',
				'x2 * 1e160 AS large', 'i::int8 * 4000000000000 AS long', 'x2 * 1e-160 AS little') : pick(@usual) }
		1 .. pick(1, 1, 2, 2, 3, 4, 6);
	my $from = pick('rows', 'rows', 'rows', 'rows', 'parts', 'ONLY rows', '(TABLE rows UNION ALL TABLE rows) u');
	my $where = pick(('') x 5, ' WHERE i < 10', ' WHERE g = 2', ' WHERE x3 IS NOT NULL', ' WHERE false', ' ORDER BY i',
		' LIMIT 7', ' OFFSET 59', ' WHERE x2 > 1 AND b', ' WHERE 1 / (i - 30) >= 0');

	$from = 'odd' if odd(0.1);
	return "SELECT * FROM $from$where" if chance(0.25);
	return pick('', ';', 'SELECT', 'SELECT 1', 'VALUES (1, 2), (3, 5), (4, 4)', 'SELECT $1, 2', 'DELETE FROM rows',
		'SELECT y, x1 FROM rows FOR UPDATE', 'SELECT y, x1 FROM nowhere', 'TABLE rows; TABLE rows',
		"SELECT y, (gpu_ols_fit('SELECT y, x1 FROM rows')).coef[1] * x1 FROM rows",
		'WITH d AS (DELETE FROM odd RETURNING *) SELECT y, x1 FROM d', 'SELECT i, xa FROM rows',
		'SELECT i, r FROM rows', 'SELECT y, count(*) OVER () FROM rows', 'SELECT NULL, NULL', 'EXPLAIN SELECT 1')
	  if odd(0.15);
	# sums of the response, or of rows weighted by it, exceed float8's range
	$response = pick('1e300 * (i % 2) AS y', 'abs(y) * 1e200 AS y', '1e-200 * (f + 1) AS y', '1e155 * f AS f') if odd(0.1);
	return "SELECT $response, " . join(', ', @features, chance(0.4) ? 'w, f, g' : (), chance(0.3) ? 'i, z' : ())
	  . " FROM $from$where";
}

#
# States and models
#

sub stored
{
	my ($table) = @_;

	return "(SELECT v FROM $table WHERE id = " . int(rand $number_of{$table}) . ')';
}

# Draws a state whose text has another number in one place, or lacks a piece.
sub draw_state
{
	my ($table, $type) = @_;
	my $state = stored($table);

	return $state if !odd(0.25);
	my $edge = pick(-1, 0, 1, 2, 3, 5, 1e300, -1e300, 1e-300, '9223372036854775807', 4, 'null', '"NaN"', 1e15, 10000);
	my $nth = pick(between(1, 8), between(1, 40));
	return "regexp_replace($state\::text, '-?\\d[\\d.e+-]*', '$edge', 1, $nth)::$type" if chance(0.85);
	return "overlay($state\::text PLACING '" . pick('', ',', '[', ']', '"', ':', '9') . "' FROM " . between(1, 200)
	  . ' FOR ' . between(0, 3) . ")::$type";
}

my %field_types = (method => 'text', terms => 'text[]', coef => 'float8[]', vcov => 'float8[]', n => 'bigint',
	n_skipped => 'bigint', rank => 'int', df_residual => 'bigint', deviance => 'float8', null_deviance => 'float8',
	iterations => 'int', converged => 'boolean', separated => 'text[]', log_lik => 'float8', theta => 'float8',
	dispersion => 'float8', df_inference => 'float8');

sub draw_field
{
	my ($field) = @_;
	my $type = $field_types{$field} // 'text';

	return "NULL::$type" if chance(0.2);
	return "(SELECT (v).$field FROM models WHERE id = " . int(rand $number_of{models}) . ')' if chance(0.35);
	return draw_matrix() if $field eq 'vcov';
	return pick(qw('ols' 'wls' 'logreg' 'logreg(l2=1)' 'glm' 'iv' 'ridge' 'enet' 'ols(l2=NaN)' ''))
		if $field eq 'method';
	return draw_literal($type, $field);
}

sub draw_matrix
{
	my $n = between(1, 4);

	return quoted('{' . join(',', map { array_text(\&plain_number, $n) } 1 .. $n) . '}') . '::float8[]';
}

sub draw_model
{
	my $model = stored('models');
	my %others;

	return $model if !odd(0.3);
	$others{ pick(@fields) } = 1 for 1 .. pick(1, 1, 2, 3);
	return '(SELECT ROW(' . join(', ', map { $others{$_} ? draw_field($_) : "(m.v).$_" } @fields)
	  . ')::gpu_model FROM (SELECT ' . $model . ') m(v))';
}

sub draw_json
{
	my $scalar = sub {
		pick('1', '-2.5', '"a"', '"b=c"', 'null', 'true', 'false', '1e400', '""', '1e-400', '"\u2603"');
	};
	my $pairs = join ',', map { '"k' . between(0, 9) . '":' . $scalar->() } 1 .. between(0, 4);

	return quoted(pick("{$pairs}", "{$pairs}", '[' . join(',', map { $scalar->() } 1 .. between(0, 4)) . ']',
		'[["a", 1], ["b", 2]]', '{"a": [1]}', '{"a": {"b": 1}}', $scalar->())) . '::jsonb';
}

# Draws a value for an argument of type "any".
sub draw_any
{
	my ($name) = @_;

	return draw_literal($name eq 'response' ? pick('int', 'text') : pick('int[]', 'int[]', 'text[]'), $name)
	  if $name =~ /^(?:features|response|endogenous|instruments)$/ && !odd(0.1);
	return pick('ROW(1, 2)', '(SELECT r FROM rows r LIMIT 1)', '(SELECT o FROM odd o LIMIT 1)', "'a'", 'NULL',
		"'a'::name", "'small'::size", "B'1'", "now()", "'{1,2}'::int[]", "'{}'::jsonb", 'ARRAY[now()]', '1::numeric',
		"'NaN'::numeric", 'ROW()', "'x'::\"char\"", "'1 day'::interval", "'\\x00'::bytea", '1::oid', "int4range(1, 2)")
	  if odd(0.25);
	return draw_literal(pick(qw(float8 float8 float8 real int bigint boolean numeric text float8[])), $name);
}

my %literals = (
	'double precision' => \&draw_float,
	'real' => sub { '(' . draw_float() . ')::real' },
	'numeric' => sub { '(' . draw_float() . ')::numeric' },
	'integer' => sub { draw_int('-2147483648') . (chance(0.1) ? '::int' : '') },
	'bigint' => sub { draw_int(pick('9223372036854775807', '-9223372036854775808')) . '::bigint' },
	'boolean' => sub { pick('true', 'false') },
	'text' => sub { draw_text($_[0]) },
	'double precision[]' => sub { draw_array(\&plain_number, 'double precision[]') },
	'real[]' => sub { draw_array(\&plain_number, 'real[]') },
	'integer[]' => sub { draw_array(\&plain_integer, 'integer[]') },
	'bigint[]' => sub { draw_array(\&plain_integer, 'bigint[]') },
	'boolean[]' => sub { draw_array(sub { pick('t', 'f') }, 'boolean[]') },
	'text[]' => sub {
		my @words = $texts{ $_[0] } ? @{ $texts{ $_[0] } } : @words;
		draw_array(sub { pick(@words) =~ s/(.*)/"$1"/r }, 'text[]');
	},
	'jsonb' => \&draw_json,
	'bytea' => sub { pick(q{'\x'::bytea}, q{decode(repeat('00', 100), 'hex')}, q{'\xdeadbeef'::bytea},
			'gpu_ols_stats_send(' . stored('states') . ')', q{gpu_vector_pass('{1,2}')}) },
	'gpu_ols_stats' => sub { draw_state('states', 'gpu_ols_stats') },
	'gpu_logreg_step' => sub { draw_state('steps', 'gpu_logreg_step') },
	'gpu_model' => \&draw_model,
	'"any"' => sub { draw_any($_[0]) },
	'anyelement' => sub { draw_any($_[0]) });
my %aliases = (float8 => 'double precision', 'float8[]' => 'double precision[]', int => 'integer',
	'int[]' => 'integer[]');

# Draws a value of this type for an argument of this name, without a function of the extension.
sub draw_literal
{
	my ($type, $name) = @_;
	my $draw = $literals{ $aliases{$type} // $type };

	return 'NULL' if !$draw || odd(0.03);
	return $draw->($name);
}

my %columns = ('double precision' => [qw(y x2 x3 big w i f y*x2)], 'real' => ['x1'], 'boolean' => [ 'b', 'x2>3' ],
	'integer' => [qw(i f g)], 'bigint' => ['n'], 'text' => ['t'], 'double precision[]' => ['xa', 'ARRAY[x1,x2]'],
	'real[]' => ['r'], '"any"' => [qw(y x1 b t s xa i)], 'anyelement' => ['i']);

# Returns a column of the tables rows, parts and odd, or undef.
sub column_of
{
	my ($type) = @_;

	return $columns{$type} ? pick(@{ $columns{$type} }) : undef;
}

1;
