# Makes allocations of statements fail, in a library that make FAULTS=yes has built (test/faults/faults.h): for
# 022_faults.pl and script/faults.
package Faults;

use strict;
use warnings;

use Exporter 'import';
use IPC::Run;

our @EXPORT = qw(run_faults can_fault);
our @EXPORT_OK = qw(statements_of_all_kinds is_same);

my $setup = q{
	CREATE EXTENSION IF NOT EXISTS gpureg;
	CREATE TABLE r AS SELECT i, i % 50 AS firm, sin(i) + i % 7 AS y, sin(i * 1.1) AS x1, cos(i * 1.7) AS x2,
			sin(i * 2.3) + i % 3 AS x3, sin(i * 5) + i % 7 > 3 AS won, (ARRAY['a', 'b', 'c'])[1 + i % 3] AS g,
			1 + i % 4 AS f, (i % 5)::int AS counts, 'word' || i % 30 AS word
		FROM generate_series(1, 2000) i;
	CREATE TABLE s AS SELECT firm, gpu_ols_stats_agg(y, x1, x2, x3) AS s FROM r GROUP BY firm;
	CREATE TABLE m AS SELECT gpu_ols_fit('SELECT y, x1, x2, g FROM r') AS m,
		gpu_logreg_fit('SELECT won, x1, x2 FROM r') AS l, gpu_logreg_fit('SELECT won, x1, x2, x3 FROM r') AS q,
		gpu_glm_fit('SELECT counts, x1 FROM r', family => 'poisson') AS p;
	VACUUM ANALYZE;
};

my $keep = q{SELECT gpu_keep('kept', 'SELECT y, x1, x2, x3, won, g, firm, i FROM r', true);};

# name, settings, statement
my $workers = 'SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; '
  . 'SET min_parallel_table_scan_size = 0;';
my @statements = (
	[ 'ols arrays', 'SET gpureg.enable_rewrite = off;',
		'SELECT gpu_ols(array_agg(ARRAY[x1, x2]), array_agg(y)) FROM r' ],
	[ 'ols rewritten', $workers, 'SELECT gpu_ols(array_agg(ARRAY[x1, x2]), array_agg(y)) FROM r' ],
	[ 'ols aggregate', 'SET gpureg.enable_scan = off;', 'SELECT (gpu_ols_agg(y, x1, x2)).coef FROM r' ],
	[ 'ols scan', '', 'SELECT (gpu_ols_agg(y, x1, x2)).coef FROM r' ],
	[ 'ols scan, workers', $workers, 'SELECT (gpu_ols_agg(y, x1, x2)).coef FROM r' ],
	[ 'groups', "SET work_mem = '64kB';",
		'SELECT sum((m).coef[1]) FROM (SELECT gpu_ols_agg(y, x1) AS m FROM r GROUP BY i / 5) q' ],
	[ 'groups, workers', "SET work_mem = '64kB'; $workers",
		'SELECT sum((m).coef[1]) FROM (SELECT gpu_ols_agg(y, x1) AS m FROM r GROUP BY i / 5) q' ],
	[ 'ols query', '', q{SELECT (gpu_ols_fit('SELECT y, x1, x2 FROM r')).coef} ],
	[ 'ols query, workers', $workers, q{SELECT (gpu_ols_fit('SELECT y, x1, x2 FROM r')).coef} ],
	[ 'ols formula', '', q{SELECT (gpu_ols_fit('SELECT y, x1, x2, g, f FROM r', formula => 'y ~ x1 * g + poly(x2, 2)',
		weights => 'f')).coef} ],
	[ 'ols clusters', '',
		q{SELECT (gpu_ols_fit('SELECT y, x1, x2, firm FROM r', vcov => 'CR2', clusters => '{firm}')).vcov} ],
	[ 'ols ring', 'SET gpureg.debug_ring = on;', q{SELECT (gpu_ols_fit('SELECT y, x1, x2 FROM r')).coef} ],
	[ 'ols ring, workers', "SET gpureg.debug_ring = on; $workers",
		q{SELECT (gpu_ols_fit('SELECT y, x1, x2 FROM r')).coef} ],
	[ 'ols sinks', 'SET gpureg.debug_sinks = 3;', q{SELECT (gpu_ols_fit('SELECT y, x1, x2 FROM r')).coef} ],
	[ 'ols service', 'SET gpureg.device = gpu;', q{SELECT (gpu_ols_fit('SELECT y, x1, x2 FROM r')).coef} ],
	[ 'ols service, workers', "SET gpureg.device = gpu; $workers",
		q{SELECT (gpu_ols_fit('SELECT y, x1, x2 FROM r')).coef} ],
	[ 'logistic', '', q{SELECT (gpu_logreg_fit('SELECT won, x1, x2 FROM r')).coef} ],
	[ 'logistic service', 'SET gpureg.device = gpu;', q{SELECT (gpu_logreg_fit('SELECT won, x1, x2 FROM r')).coef} ],
	[ 'logistic ring, workers', "SET gpureg.debug_ring = on; $workers",
		q{SELECT (gpu_logreg_fit('SELECT won, x1, x2 FROM r')).coef} ],
	[ 'logistic sinks', 'SET gpureg.debug_sinks = 3;', q{SELECT (gpu_logreg_fit('SELECT won, x1, x2 FROM r')).coef} ],
	[ 'logistic L-BFGS', '', q{SELECT (gpu_logreg_fit('SELECT won, x1, x2 FROM r', solver => 'lbfgs')).coef} ],
	[ 'logistic Firth', '', q{SELECT (gpu_logreg_fit('SELECT won, x1 FROM r', firth => true)).coef} ],
	[ 'logistic HC3', '', q{SELECT (gpu_logreg_fit('SELECT won, x1, g FROM r', vcov => 'HC3')).vcov} ],
	[ 'logistic aggregate', $workers, 'SELECT (gpu_logreg_agg(won, x1, x2)).coef FROM r' ],
	[ 'poisson', '', q{SELECT (gpu_glm_fit('SELECT counts, x1, x2 FROM r', family => 'poisson')).coef} ],
	[ 'negative binomial', '',
		q{SELECT (gpu_glm_fit('SELECT counts, x1 FROM r', family => 'negative binomial')).coef} ],
	[ 'keep', '', q{SELECT gpu_keep('kept', 'SELECT y, x1, x2, x3, won, g, firm, i FROM r', true)} ],
	[ 'kept ols', '', q{SELECT (gpu_ols_fit(kept => 'kept', formula => 'y ~ x1 * g')).coef} ],
	[ 'kept logistic', '', q{SELECT (gpu_logreg_fit(kept => 'kept', formula => 'won ~ x1', rows => 'x2 > 0')).coef} ],
	[ 'kept clusters', '',
		q{SELECT (gpu_ols_fit(kept => 'kept', formula => 'y ~ x1', vcov => 'CR1', clusters => '{firm}')).vcov} ],
	[ 'kept predictions', '', q{SELECT sum(prediction) FROM m, gpu_predict_rows(m, 'kept')} ],
	[ 'states', '', 'SELECT (gpu_ols_solve(gpu_ols_rollup(s))).coef FROM s' ],
	[ 'states, workers', $workers, 'SELECT (gpu_ols_solve(gpu_ols_rollup(s))).coef FROM s' ],
	[ 'states as texts', '', 'SELECT (gpu_ols_solve(gpu_ols_rollup(s::text::gpu_ols_stats))).coef FROM s' ],
	[ 'state of names', '',
		q{SELECT (gpu_ols_solve(gpu_ols_rollup(gpu_ols_named(s, '{y,a,b,c}')), features => '{a,c}')).coef FROM s} ],
	[ 'clusters of states', '', q{SELECT (gpu_ols_cluster_agg(s, 'CR3')).vcov FROM s} ],
	[ 'clusters of states, spilled', "SET work_mem = '64kB';", q{SELECT (gpu_ols_cluster_agg(s, 'CR1')).vcov FROM
		(SELECT gpu_ols_stats_agg(y, x1, x2, x3) AS s FROM r GROUP BY i / 6) q} ],
	[ 'wild bootstrap', '', q{SELECT gpu_wild_boot_agg(s, 'x1', 99) FROM s} ],
	[ 'elastic net path', '', 'SELECT sum(df) FROM gpu_enet_path((SELECT gpu_ols_rollup(s) FROM s))' ],
	[ 'elastic net folds', '',
		q{SELECT (gpu_enet_cv_agg(s)).lambda_min FROM (SELECT gpu_ols_rollup(s) AS s FROM s GROUP BY firm % 5) q} ],
	[ 'elastic net of a query', '', q{SELECT (gpu_enet_fit('SELECT y, x1, x2, x3 FROM r', folds => 3)).coef} ],
	[ 'logistic elastic net', '',
		q{SELECT (gpu_enet_fit('SELECT won, x1, x2, x3 FROM r', folds => 3, family => 'binomial')).coef} ],
	[ 'selection', '', q{SELECT count(*) FROM gpu_ols_select((SELECT gpu_ols_rollup(s) FROM s), 'bic', 'best')} ],
	[ 'instruments', '',
		q{SELECT (gpu_iv_solve(gpu_ols_rollup(s), endogenous => '{1}', instruments => '{3}')).coef FROM s} ],
	[ 'rolling', '', q{SELECT sum(n) FROM gpu_ols_rolling('SELECT i, y, x1, x2 FROM r ORDER BY i', 50, 10)} ],
	[ 'bootstrap', '', q{SELECT sum(std_error) FROM gpu_ols_boot('SELECT i, y, x1 FROM r', reps => 50, key => 'i')} ],
	[ 'bootstrap, clusters', '', q{SELECT sum(conf_low) FROM gpu_logreg_boot('SELECT firm, won, x1 FROM r', reps => 50,
		clusters => 'firm', kind => 'bca')} ],
	[ 'permutations', '',
		q{SELECT sum(p_value) FROM gpu_ols_permute('SELECT i, y, x1 FROM r', reps => 49, key => 'i')} ],
	[ 'cross-validation', '', q{SELECT sum(mse) FROM gpu_ols_cv('SELECT i, y, x1 FROM r', folds => 4, key => 'i')} ],
	[ 'logistic cross-validation', '',
		q{SELECT sum(deviance) FROM gpu_logreg_cv('SELECT i, won, x1 FROM r', folds => 4, key => 'i')} ],
	[ 'step aggregate', '', q{SELECT gpu_logreg_step_agg('{}', won, x1, x2) FROM r} ],
	[ 'predictions', '', 'SELECT sum(gpu_predict(m, x1, x2, g)) FROM m, r WHERE i < 20' ],
	[ 'intervals', '', q{SELECT gpu_predict_interval(m, 'prediction', 0.9, x1, x2, g) FROM m, r WHERE i < 3} ],
	[ 'tidy', '', 'SELECT gpu_tidy(m), gpu_tidy(l) FROM m' ],
	[ 'summary', '', 'SELECT gpu_summary(m), gpu_summary(l) FROM m' ],
	[ 'margins', '', q{SELECT count(*) FROM m, gpu_margins(m.l, 'SELECT x1, x2 FROM r')} ],
	[ 'comparison', '', 'SELECT count(*) FROM m, gpu_anova(m.l, m.q)' ],
	[ 'projection', '', 'SELECT gpu_project(ARRAY[x1, x2, x3]::real[], 8, 5) FROM r WHERE i < 4' ],
	[ 'projected rows', '',
		q{SELECT count(*) FROM gpu_project_rows('SELECT i::bigint, ARRAY[x1, x2, x3]::real[] FROM r', 4, 5)} ],
	[ 'hashing', '', q{SELECT gpu_feature_hash(ARRAY[word, g], 16) FROM r WHERE i < 4} ]);

my (@findings, $nfaults, $nerrors, $nsame, $connstr);

sub psql
{
	my ($script) = @_;
	my ($out, $err) = ('', '');
	my $ended = eval {
		IPC::Run::run([ 'psql', '-XAtq', '-d', $connstr, '-f', '-' ], '<', \$script, '>', \$out, '2>', \$err,
			IPC::Run::timeout(300));
		1;
	};

	return ($out, $err, $ended ? $? : 'late');
}

# What they read, what is kept for those that read kept rows, and the statements
sub statements_of_all_kinds
{
	return ($setup, $keep, @statements);
}

# What there must be none of: computations and memory of sessions in the service, temporary files, workers
my $left = q{SELECT concat_ws(' ', (SELECT sum(computations) FROM gpu_devices() WHERE service_pid IS NOT NULL),
	(SELECT count(*) FROM pg_ls_tmpdir()),
	(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker'));};
my $bytes = 'SELECT sum(total_bytes) FROM pg_backend_memory_contexts;';
my $most_growth = 4 << 20;

# The same text, or the same but for the last digits of numbers: where a fault takes another way that is right
sub is_same
{
	my ($got, $right) = @_;
	my $number = qr/-?\d+(?:\.\d+)?(?:e[-+]\d+)?/;
	my @got = $got =~ /$number/g;
	my @right = $right =~ /$number/g;
	my $largest = 0;

	return 1 if $got eq $right;
	return 0 if ($got =~ s/$number/#/gr) ne ($right =~ s/$number/#/gr);
	$largest = abs($_) > $largest ? abs($_) : $largest for @right;
	return !grep { abs($got[$_] - $right[$_]) > 1e-12 * $largest } 0 .. $#right;
}

sub answer_of
{
	my ($settings, $statement) = @_;
	my ($out, $err, $status) = psql("$settings\n$statement;\n");

	return "$err$status" if $status || $err =~ /ERROR/;
	return $out;
}

# Calls of n from .. to with steps; true if the statement ended before its fault's turn
sub try_faults
{
	my ($name, $settings, $statement, $right, @numbers) = @_;
	my $script = "$settings\n$statement;\n\\echo \@bytes\n$bytes\n" . join '', map {
		"SET gpureg.debug_fault = $_;\n\\echo \@begin $_\n$statement;\n\\echo \@end $_ :SQLSTATE\n"
		  . "\\echo \@left\nSHOW gpureg.debug_fault;\nSET gpureg.debug_fault = 0;\n"
		  . ($_ % 25 ? '' : "\\echo \@begin 0\n$statement;\n\\echo \@end 0 :SQLSTATE\n\\echo \@left\nSELECT 0;\n")
	} @numbers;
	my ($out, $err, $status) = psql("$script\\echo \@bytes\n$bytes\n\\echo \@done\n");
	my $through = 0;
	my $last = 0;

	while ($out =~ /^\@begin (\d+)\n(.*?)^\@end \d+ (\w+)\n\@left\s*\n(\d+)\n/msg)
	{
		my ($n, $text, $state, $left) = ($1, $2, $3, $4);

		$last = $n if $n;
		$nfaults++ if $n && $left == 0;
		$nerrors++ if $n && $state ne '00000';
		if ($state eq '00000')
		{
			$nsame++ if $n && $left == 0;
			push @findings, "$name, n = $n: another answer\n  $right  $text" if !is_same($text, $right);
			$through = 1 if $left > 0;
		}
		elsif ($n == 0 || $state !~ /^(?:53200|53000|53400|54000|58000|55000)$/)
		{
			push @findings, "$name, n = $n: SQLSTATE $state";
		}
	}
	push @findings, "$name, after n = $last: $status " . substr($err, -600) if $status || $out !~ /^\@done$/m;
	my @bytes = $out =~ /^\@bytes\n(\d+)$/mg;
	push @findings, "$name, after n = $last: $bytes[0] bytes became $bytes[1]"
	  if @bytes == 2 && $bytes[1] > $bytes[0] + $most_growth;
	push @findings, map { "$name: $_" } $err =~ /^(.*(?:TRAP|leak|not closed|still referenced|problem in).*)$/mg;
	return $through || $status || $out !~ /^\@done$/m;
}

# Is the library built so?
sub can_fault
{
	($connstr) = @_;
	return answer_of('', 'CREATE EXTENSION IF NOT EXISTS gpureg; SET gpureg.debug_fault = 0; SELECT 1') eq "1\n";
}

# All n of a statement's up to every are taken, and of those beyond one in twenty.
sub try_statement
{
	my ($name, $settings, $query, $every) = @_;
	my $right = answer_of($settings, $query);
	my $n = 1;

	if ($right =~ /ERROR|late/)
	{
		push @findings, "$name: without a fault: $right";
		return;
	}
	while (1)
	{
		my $step = $n > $every ? 20 : 1;
		last if try_faults($name, $settings, $query, $right, map { $n + $_ * $step } 0 .. 49);
		$n += 50 * $step;
	}
	# until a server that was lost is back
	for (1 .. 100)
	{
		last if answer_of('', 'SELECT 1') eq "1\n";
		select(undef, undef, undef, 0.3);
	}
	my $found = answer_of('', 'SELECT pg_sleep(0.3)') && answer_of('', $left =~ s/;$//r);
	push @findings, "$name: is left: $found" if $found !~ /^(?:0 )?0 0$/;
	psql($keep);
}

# In an empty database. only: a pattern of statements' names; tell: called with a line for each. A line of counts, and
# what was found, as texts
sub run_faults
{
	my ($database, $every, $only, $tell) = @_;

	$connstr = $database;
	(@findings, $nfaults, $nerrors, $nsame) = ();
	$_ = 0 for $nfaults, $nerrors, $nsame;
	my ($out, $err) = psql("\\set ON_ERROR_STOP on\n$setup");
	die $err if $err =~ /ERROR|FATAL/;
	psql($keep);
	for my $statement (@statements)
	{
		my ($name, $settings, $query) = @$statement;
		my ($tried, $before) = ($nfaults, scalar @findings);

		next if $name !~ /$only/;
		try_statement($name, $settings, $query, $every);
		$tell->(sprintf '%-32s %d faults%s', $name, $nfaults - $tried,
			@findings > $before ? ', ' . (@findings - $before) . ' findings' : '');
	}
	return (sprintf('%d faults, %d errors, %d right answers in spite of them', $nfaults, $nerrors, $nsame), @findings);
}

1;
