# Filters of kept rows against SQL's WHERE: 3,000 random ones, or GPUREG_FILTERS of them; GPUREG_SEED. See
# RandomFilters.pm.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use GpuregTest;
use PostgreSQL::Test::Cluster;
use RandomFilters;
use Test::More;

my $nfilters = $ENV{GPUREG_FILTERS} // ($ENV{GPUREG_LONG} ? 100_000 : 3000);
my $seed = $ENV{GPUREG_SEED} // time % 1_000_000;
my $node = start_node('main', "shared_preload_libraries = 'gpureg'", 'gpureg.device = cpu', 'jit = off');
my (%counts, @findings);

srand $seed;
$node->safe_psql('postgres', filters_setup());
for (my $left = $nfilters; $left > 0; $left -= 500)
{
	my $lines = $node->safe_psql('postgres', filters_statement($left < 500 ? $left : 500));
	push @findings, filters_count(\%counts, $lines);
}
is(scalar @findings, 0, "$nfilters filters take the rows that WHERE takes (seed $seed)")
  or diag(join "\n", @findings[ 0 .. ($#findings < 20 ? $#findings : 20) ]);
note(filters_summary(\%counts));
cmp_ok($counts{same} // 0, '>', $nfilters / 4, 'many take some rows');
cmp_ok($counts{rejected} // 0, '<', $nfilters / 2, 'most are not rejected');

# Filters written by hand, with the rows that they keep, or the error
for my $case (
	[ 'rounded', 'l = 9007199254740993', '22003' ], [ 'rounded', '9007199254740993 > l', '22003' ],
	[ 'rounded', 'd > 0.5', '22003' ], [ 'rounded', "u = 'a'", '42804' ], [ 'exact', "e = 'none'", '22P02' ],
	[ 'exact', 'i + 1 > 2', '42601' ], [ 'exact', 'x > 1e400', '22003' ], [ 'exact', 's !=-1', '42601' ])
{
	my ($set, $filter, $code) = @$case;
	my (undef, $err) = try_sql($node, "SELECT gpu_ols_fit(kept => '$set', formula => 'id ~ z', rows => \$f\$$filter\$f\$)");
	is(sqlstate($err), $code, "$filter is rejected");
	like($err, qr/HINT:  Select the comparison as a column/, 'a hint says what to do') if $filter =~ /^[dl9]/;
}
for my $filter ('l > 5', 'x IN (0.1, NULL)', 'r IN (0.1, 3)', 'r = 0.1', '0.1 < d', 'd < 0.1000000000000000000001',
	'NULL OR b', 'i IN (NULL, 1)', "'ab' = c")
{
	my $verdict = $node->safe_psql('postgres', "SELECT try_filter('exact', \$f\$$filter\$f\$)");
	like($verdict, qr/^same/, "$filter takes the rows of WHERE");
}
for my $setting ('transform_null_equals = on', 'standard_conforming_strings = off')
{
	my (undef, $err) = try_sql($node, "SET escape_string_warning = off; SET $setting;
		SELECT gpu_ols_fit(kept => 'exact', formula => 'id ~ z', rows => \$f\$i = NULL OR t <> '\\'\$f\$)");
	is(sqlstate($err), '0A000', "a filter that $setting would change is rejected");
}
done_testing();
