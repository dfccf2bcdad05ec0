# Random projection and feature hashing in all places of a database: generated columns, indexes, dumps, workers, other
# encodings; interrupts and memory.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use GpuregTest;
use Psql;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('main', 'gpureg.device = cpu', 'max_worker_processes = 12', 'max_parallel_workers = 8',
	"work_mem = '1MB'",
	'jit = off');
my $pid = postmaster_pid($node);
my $have_proc = -r '/proc/self/status';
my $dir = PostgreSQL::Test::Utils::tempdir;
create_process_kb($node);

sub query
{
	my ($sql, $db) = @_;

	return $node->safe_psql($db // 'postgres', $sql);
}

# Checks that two texts have the same lines; prints the first that differs.
sub same_lines
{
	my ($got, $want, $name) = @_;
	my @got = split /\n/, $got;
	my @want = split /\n/, $want;
	my ($line) = grep { ($got[$_] // '') ne ($want[$_] // '') } 0 .. ($#got > $#want ? $#got : $#want);

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok($got eq $want, $name) or diag("line $line: got ", $got[$line] // 'none', ', expected ', $want[$line] // 'none');
}

sub temporary_files
{
	return query('SELECT count(*) FROM pg_ls_tmpdir()');
}

query(q{
	CREATE TABLE small AS SELECT i, CASE WHEN i % 7 > 0 THEN ARRAY(SELECT sin(i * j)::real
		FROM generate_series(1, 60) j) END AS v
		FROM generate_series(1, 700) i;
	CREATE TABLE vectors AS SELECT i, ARRAY(SELECT cos(i * j)::real FROM generate_series(1, 100) j) AS v
		FROM generate_series(0, 999) i;
	CREATE TABLE long (v real[]);
	ALTER TABLE long ALTER v SET STORAGE EXTERNAL;
	INSERT INTO long SELECT array_agg((i % 10007 * 19 % 1013)::real - 500) FROM generate_series(1, 3000000) i;
	ANALYZE;});

#
# Generated columns and indexes
#

query(q{
	CREATE TABLE items (
		id int PRIMARY KEY, v real[], tags text[], doc jsonb, idx bigint[], val real[],
		projected real[] GENERATED ALWAYS AS (gpu_project(v, 64)) STORED,
		hashed real[] GENERATED ALWAYS AS (gpu_feature_hash(tags, 32)) STORED,
		columns real[] GENERATED ALWAYS AS (gpu_feature_hash(doc, 16, 5, 0.25)) STORED,
		sparse real[] GENERATED ALWAYS AS (gpu_project_sparse(idx, val, 16, seed => -7)) STORED,
		CHECK (cardinality(hashed) = 32));
	CREATE FUNCTION put_items(ids int[], salt int) RETURNS void LANGUAGE sql AS $$
		INSERT INTO items SELECT id, CASE WHEN id % 50 > 0 THEN ARRAY(SELECT sin(id * j + salt)::real
			FROM generate_series(1, 100) j) END,
			ARRAY['id=' || id, 'salt=' || salt, 'é' || id % 10], jsonb_build_object('id', id, 'name', 'é' || salt,
				'x', id / 7.0, 'none', NULL),
			ARRAY[id, id * 1000003::bigint, 1 + salt], ARRAY[1, -2.5, 1e-3 * id]
		FROM unnest(ids) id
		ON CONFLICT (id) DO UPDATE SET v = EXCLUDED.v, tags = EXCLUDED.tags, doc = EXCLUDED.doc, idx = EXCLUDED.idx,
			val = EXCLUDED.val
	$$;
	SELECT put_items(array_agg(i), 0) FROM generate_series(1, 2000) i;
	CREATE INDEX items_eight ON items (gpu_project(v, 8));
	CREATE INDEX items_first ON items (((gpu_project(v, 4))[1]));
	CREATE INDEX items_token ON items (((gpu_feature_hash(tags, 32))[5]), id);
	ANALYZE items;});

# Returns an SQL expression of the values' bytes, so that values that differ in a bit differ; a NULL shows as such.
sub bits
{
	my (@expressions) = @_;

	return join(" || '/' || ", map { "coalesce(encode(array_send($_), 'hex'), 'NULL')" } @expressions);
}

my @generated = ('projected', 'hashed', 'columns', 'sparse');
my @anew = ('gpu_project(v, 64)', 'gpu_feature_hash(tags, 32)', 'gpu_feature_hash(doc, 16, 5, 0.25)',
	'gpu_project_sparse(idx, val, 16, -7)');
my $stored = 'SELECT md5(string_agg(' . bits(@generated) . q{, ',' ORDER BY id)) FROM items};
my $differing = 'SELECT count(*) FROM items WHERE ' . bits(@generated) . ' <> ' . bits(@anew);

# Searches, each of which can use an index, or compute the value for every row
my %searches = (
	items_eight => 'SELECT id FROM items WHERE gpu_project(v, 8) = gpu_project((SELECT v FROM items WHERE id = 1717), 8)
		ORDER BY id',
	items_first => 'SELECT id FROM items WHERE (gpu_project(v, 4))[1] BETWEEN 0.2 AND 0.3 ORDER BY id',
	items_token => 'SELECT id, (gpu_feature_hash(tags, 32))[5] FROM items WHERE (gpu_feature_hash(tags, 32))[5] >= 1
		ORDER BY id');
my $no_index = 'SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off;';

sub indexes_agree
{
	my ($when, $found) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	for my $index (sort keys %searches)
	{
		my $want = query("$no_index $searches{$index}");

		like(query("EXPLAIN (COSTS OFF) $searches{$index}"), qr/Index (?:Only )?Scan .*$index/,
			"$when: $index is used");
		unlike(query("$no_index EXPLAIN (COSTS OFF) $searches{$index}"), qr/Scan (?:using|on) $index/,
			"$when: $index need not be used");
		is(query($searches{$index}), $want, "$when: the same rows with $index as without");
		like($want, $found->{$index}, "$when: rows that $index finds") if defined $found->{$index};
	}
	is(query($differing), '0', "$when: generated columns hold what the functions return");
}

indexes_agree('inserted', { items_eight => qr/^1717$/, items_first => qr/^\d+\n\d+\n/,
	items_token => qr/^\d+\|1\n\d+\|1$/m });
my ($first, $text) = (query($stored), query('SELECT projected, hashed, columns, sparse FROM items WHERE id = 3'));
is(query('SELECT count(*), count(projected), count(hashed), count(columns), count(sparse) FROM items'),
	'2000|1960|2000|2000|2000',
	'a NULL vector has a NULL projection');

query(q{UPDATE items SET id = id WHERE id % 3 = 0; UPDATE items SET val = val WHERE id % 5 = 0});
is(query($stored), $first, 'an update of something else changes nothing');
query(q{SELECT put_items(array_agg(i), 1) FROM generate_series(1501, 2100) i});
isnt(query($stored), $first, 'an update of what they are generated from changes them');
indexes_agree('updated', { items_eight => qr/^1717$/ });
query(q{BEGIN; DELETE FROM items WHERE id % 2 = 0; UPDATE items SET v = ARRAY[id]; ROLLBACK});
query(q{DELETE FROM items WHERE id > 2000; UPDATE items SET v = (SELECT v FROM items WHERE id = 1717)
	WHERE id IN (3, 30)});
indexes_agree('deleted', { items_eight => qr/^3\n30\n1717$/ });
my $before = join ';', map { query($searches{$_}) } sort keys %searches;
my (undef, $built) = try_sql($node, "SET min_parallel_table_scan_size = 0; SET max_parallel_maintenance_workers = 2;
	SET maintenance_work_mem = '200MB'; SET client_min_messages = debug1; REINDEX TABLE items");
like($built, qr/building index "items_eight" on table "items" with request for [12] parallel workers?/,
	'REINDEX in workers');
unlike($built, qr/ERROR/, 'REINDEX: no error');
indexes_agree('reindexed', { items_eight => qr/^3\n30\n1717$/ });
is(join(';', map { query($searches{$_}) } sort keys %searches), $before, 'REINDEX: the same rows as before');
query('CLUSTER items USING items_eight; VACUUM FULL items');
indexes_agree('clustered', {});

# A dump has no generated values: another server's session computes them again.
query('CREATE DATABASE restored');
$node->command_ok([ 'pg_dump', '-d', $node->connstr('postgres'), '-t', 'items', '-e', 'gpureg', '-f',
	"$dir/items.sql" ], 'pg_dump');
unlike(slurp_file("$dir/items.sql"), qr/\Q$1\E/, 'the dump does not hold what is generated')
	if $text =~ /(\{[^}]{60,}\})/;
$node->command_ok([ psql_command($node->connstr('restored'), '-v', 'ON_ERROR_STOP=1', '-f', "$dir/items.sql") ],
	'restored');
is(query($stored, 'restored'), query($stored), 'restored: the same values, bit by bit');
is(query('SELECT projected, hashed, columns, sparse FROM items WHERE id = 3', 'restored'),
	query('SELECT projected, hashed, columns, sparse FROM items WHERE id = 3'), 'restored: the same text');
is(query('SELECT count(*) FROM items', 'restored'), '2000', 'restored: every row');
for my $index (sort keys %searches)
{
	is(query("ANALYZE items; SET enable_seqscan = off; $searches{$index}", 'restored'),
		query("$no_index $searches{$index}"),
		"restored: the same rows with $index");
}

#
# Any number of workers
#

my $cheap = 'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;';
my $explain = 'EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF, SUMMARY OFF)';
query(q{
	CREATE TABLE rows AS SELECT i, ARRAY(SELECT sin(i + j)::real FROM generate_series(1, 30) j) AS v,
		ARRAY['a' || i, 'b' || i % 100, 'é', 'c'] AS tags, jsonb_build_object('a', i, 'b' || i % 100, i / 3.0,
			'é', 'c') AS doc,
		ARRAY[i % 1000, i, i * 1000000007::bigint] AS idx, ARRAY[1.5, i, -1]::real[] AS val
	FROM generate_series(1, 8000) i;
	ANALYZE rows;});
my %calls = (
	gpu_project => 'gpu_project(v, 24, 3)',
	'gpu_project of several' => 'gpu_project(ARRAY[v, v[2:] || 1::real], 24, 3)',
	gpu_project_sparse => 'gpu_project_sparse(idx, val, 40, 3, 0.2)',
	'gpu_feature_hash of tokens' => 'gpu_feature_hash(tags, 50, 2)',
	'gpu_feature_hash of tokens as columns' => 'gpu_feature_hash(tags, 50, 2, 0.3)',
	'gpu_feature_hash of an object' => 'gpu_feature_hash(doc, 50)');
for my $name (sort keys %calls)
{
	my $per_row = 'SELECT i, ' . bits($calls{$name}) . ' AS b FROM rows ORDER BY i';
	my $sql = "SELECT count(*), count(DISTINCT b) > 1000, md5(string_agg(b, ',' ORDER BY i)) FROM ($per_row) q";
	my $want = query("SET max_parallel_workers_per_gather = 0; $sql");

	like($want, qr/^8000\|t\|/, "$name: rows that differ");
	for my $workers (1, 2, 4)
	{
		my $leader = $workers == 1 ? 'on' : 'off';
		my $set = "$cheap SET max_parallel_workers_per_gather = $workers; SET parallel_leader_participation = $leader;";
		my ($function) = $calls{$name} =~ /^(\w+)/;

		# computed in the scan below, by the workers
		my $scan = qr/Parallel Seq Scan on public\.rows[^\n]*rows=[1-9]\d*\b[^\n]*\n\s+Output: [^\n]*$function\(/;
		like(query("$set $explain $per_row"), qr/Gather.*Workers Launched: [1-9].*$scan/s,
			"$name, $workers workers: plan");
		is(query("$set $sql"), $want, "$name, $workers workers: the same bits");
	}
	# the leader on the backend of its choice, its workers on the CPU
	is(query("$cheap SET gpureg.device = auto; SET gpureg.min_gpu_work = 0; SET max_parallel_workers_per_gather = 2;
		$sql"), $want,
		"$name, auto: the same bits");
}

# A worker for every query that allows one; PostgreSQL 16 renamed the setting.
my $force = q{SELECT count(set_config(name, 'on', false)) FROM pg_settings
	WHERE name IN ('force_parallel_mode', 'debug_parallel_query');};
for my $call ('gpu_project((SELECT v FROM vectors WHERE i = 5), 24, 3)', q{gpu_project('{{1,2,3},{4,5,6}}', 5)},
	q{gpu_project_sparse('{5,9,1000000}', '{1,2,3}', 12)}, q{gpu_feature_hash('{a,b,é}'::text[], 8)},
	q{gpu_feature_hash('{"a": "é"}'::jsonb, 8, 1, 0.5)},
	'gpu_jl_min_dim(1000000)::text::int',
		q{(SELECT string_agg(projection::text, ',') FROM gpu_project_rows('SELECT i, v FROM small', 3))})
{
	is((split /\n/, query("$force SELECT $call"))[1], query("SELECT $call"), "forced: $call");
}

# gpu_project_rows() must read its query in workers if that pays, and every row once.
query(q{CREATE FUNCTION worker_pid() RETURNS bigint LANGUAGE plpgsql STABLE PARALLEL SAFE
	AS $$ BEGIN RETURN pg_backend_pid(); END $$});
for my $workers (0, 2, 4)
{
	my $set = "$cheap SET max_parallel_workers_per_gather = $workers; SET parallel_leader_participation = off;";

	like(query("$set SELECT count(DISTINCT id), bool_or(id = pg_backend_pid())
		FROM gpu_project_rows('SELECT worker_pid(), v FROM rows', 8)"),
		$workers == 0 ? qr/^1\|t$/ : qr/^[1-$workers]\|f$/, "gpu_project_rows, $workers workers: who reads");
	is(query("$set SELECT md5(string_agg(" . bits('projection')
		. q{, ',' ORDER BY id)) FROM gpu_project_rows('SELECT i, v FROM rows', 24, 3)}),
		query('SELECT md5(string_agg(' . bits('gpu_project(v, 24, 3)') . ", ',' ORDER BY i)) FROM rows"),
		"gpu_project_rows, $workers workers: the same bits");
}

# The way in which workers take part: they project if there is room for S, or hand over vectors that are then projected
# in batches. In batches the time that projecting takes is known.
my $how = q{SELECT workers > 0, CASE WHEN kernel_seconds > 0 THEN 'batches' ELSE 'rows' END FROM gpu_last_run()};
my $many_workers = "$cheap SET max_parallel_workers_per_gather";
my %settings = (
	'one process' => [ 'SET max_parallel_workers_per_gather = 0', 'f\|batches' ],
	'2 workers' => [ "$many_workers = 2; SET parallel_leader_participation = off", 't\|rows' ],
	'4 workers' => [ "$many_workers = 4; SET parallel_leader_participation = off", 't\|rows' ],
	'2 workers, the leader' => [ "$many_workers = 2", '[tf]\|rows' ],
	'2 workers, vectors' => [ "$many_workers = 2; SET parallel_leader_participation = off; SET gpureg.debug_ring = on",
		't\|batches' ],
	'2 workers, no cache' => [
		"$many_workers = 2; SET parallel_leader_participation = off; SET gpureg.projection_cache_size = 0",
		't\|batches' ],
	'2 workers, auto' => [ "$many_workers = 2; SET parallel_leader_participation = off; SET gpureg.device = auto;
		SET gpureg.min_gpu_work = 1e15",
		't\|rows' ]);
query(q{
	CREATE TABLE holes AS SELECT i, CASE WHEN i % 7 > 1 THEN v END AS v, CASE WHEN i % 5 > 0 THEN 'id ' || i END AS t,
		md5(i::text)::uuid AS u
		FROM rows;
	ANALYZE holes;});
my %queries = (
	'a table' => [ 'NULL::bigint', 'SELECT i, v FROM rows' ],
	'text' => [ 'NULL::text', 'SELECT t, v FROM holes WHERE i % 7 <> 0' ],
	'NULLs' => [ 'NULL::bigint', 'SELECT i, CASE WHEN i % 11 > 0 THEN v END FROM rows' ],
	'uuid' => [ 'NULL::uuid', 'SELECT u, v FROM holes WHERE i % 7 > 1' ],
	'rows' => [ 'NULL::holes', 'SELECT h, v FROM holes h WHERE i % 7 > 1' ],
	'records' => [ 'NULL::record', q{SELECT ROW(i, 'a'), v FROM rows} ],
	'casts' => [ 'NULL::numeric', 'SELECT i::smallint, v::float8[]::numeric[] FROM rows' ],
	'a join' => [ 'NULL::int', 'SELECT a.i, b.v FROM rows a JOIN rows b USING (i) WHERE a.i % 3 > 0' ],
	'a union' => [ 'NULL::int',
		'SELECT i, v FROM rows WHERE i % 3 > 0 UNION ALL SELECT -i, v FROM holes WHERE i % 7 > 1' ],
	'another projection' => [ 'NULL::int', 'SELECT i, gpu_project(v, 20, 5) FROM rows' ]);
for my $name (sort keys %queries)
{
	my ($id, $sql) = @{ $queries{$name} };
	my $lines = 'SELECT id::text, ' . bits('projection')
		. " FROM gpu_project_rows(\$\$$sql\$\$, 24, 3::bigint, NULL, $id) ORDER BY 1, 2";
	my $want;

	for my $setting ('one process', grep { $_ ne 'one process' } sort keys %settings)
	{
		my ($set, $used) = @{ $settings{$setting} };
		my @got = split /\n/, query("$set; $lines; $how");
		my $last = pop @got;

		$want //= join "\n", @got;
		same_lines(join("\n", @got), $want, "rows in workers: $name, $setting");
		like($last, qr/^$used$/, "rows in workers: $name, $setting: what they did");
	}
}
# large vectors in a table that is small without them
query(q{
	CREATE TABLE outside (i int, v real[]);
	ALTER TABLE outside ALTER v SET STORAGE EXTERNAL;
	INSERT INTO outside SELECT i, array_fill(i::real, ARRAY[1100]) FROM generate_series(1, 2000) i;
	ANALYZE outside});
for my $case (
	[ 'SELECT i, v FROM outside', 't|rows' ], [ 'SELECT i, v[1:30] FROM outside', 'f|batches' ],
	[ 'SELECT i, v FROM outside WHERE i <= 50', 'f|batches' ])
{
	my ($sql, $used) = @$case;

	is(query("SET parallel_leader_participation = off; SELECT count(*) > 0, bool_and(array_send(projection) =
		array_send(gpu_project(a.v, 20, 3))) FROM gpu_project_rows('$sql', 20, 3) r JOIN ($sql) a ON r.id = a.i;
		$how; SHOW min_parallel_table_scan_size"),
		"t|t\n$used\n8MB", "rows in workers: $sql");
}
# an ORDER BY must be kept at any cost, and rows must be the query's
for my $order ('ORDER BY i % 100, i DESC', 'ORDER BY v[1] DESC, i', 'ORDER BY i LIMIT 3000', 'ORDER BY i OFFSET 5000')
{
	for my $setting (sort keys %settings)
	{
		same_lines(query("$settings{$setting}[0]; SELECT id, projection
			FROM gpu_project_rows('SELECT i, v FROM rows $order', 5, 3)"),
			query("SELECT i, gpu_project(v, 5, 3) FROM rows $order"), "rows in workers: $order, $setting");
	}
}
query(q{CREATE INDEX rows_i ON rows (i); ANALYZE rows});
like(query("$many_workers = 2; SET enable_seqscan = off; SET enable_bitmapscan = off;
	EXPLAIN (COSTS OFF) SELECT i
		FROM (SELECT i, v FROM rows ORDER BY i) q"), qr/Index.* Scan/, 'rows in workers: an index in order');
same_lines(query("$many_workers = 2; SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off;
	SELECT id, projection FROM gpu_project_rows('SELECT i, v FROM rows ORDER BY i', 5, 3)"),
	query('SELECT i, gpu_project(v, 5, 3) FROM rows ORDER BY i'), 'rows in workers: an index in order, its rows');
query('DROP INDEX rows_i');

# an invalid vector must be an error in a worker, too
for my $setting (sort keys %settings)
{
	my $set = $settings{$setting}[0];

	for my $case (
		[ 'NaN', q{v || CASE i WHEN 5000 THEN 'NaN' ELSE '1' END::real}, '22023',
			'x has a value that is NaN or infinite' ],
		[ 'another length', 'CASE i WHEN 5000 THEN v[1:29] ELSE v END', '22023',
			'all vectors must have the same length',
			'A row has \d+ elements, earlier rows have \d+\.' ],
		[ 'two dimensions', 'CASE i WHEN 5000 THEN ARRAY[v, v] ELSE v END', '2202E',
			q{the vector of a row must be a one-dimensional array},
			'The array has 2 dimensions\.' ],
		[ 'three dimensions', 'CASE i WHEN 5000 THEN ARRAY[ARRAY[v, v]] ELSE v END', '2202E',
			'x must have one or two dimensions' ],
		[ 'no element', q{CASE i WHEN 5000 THEN '{}' ELSE v END}, '22023', 'x must have at least one element' ],
		[ 'a NULL in a vector', 'CASE i WHEN 5000 THEN v[1:29] || NULL::real ELSE v END', '22004',
			'x must not contain nulls' ],
		[ 'a result too large', 'CASE i WHEN 5000 THEN array_fill(3e38::real, ARRAY[30]) ELSE v END', '22003',
			'a sum is out of range for type real' ],
		[ 'division by zero', 'v || (1 / (i - 5000))::real', '22012', 'division by zero' ])
	{
		my ($name, $vector, $state, $message, $detail) = @$case;
		my $err = error_is($node,
			"$set; SELECT count(*) FROM gpu_project_rows(\$\$SELECT i, $vector FROM rows\$\$, 16, 1, 1)", $state,
			"$name, $setting");

		like($err, qr/\Q$message\E/, "$name, $setting: message");
		like($err, qr/$detail/, "$name, $setting: detail") if defined $detail;
	}
}

#
# gpu_project_rows
#

# Ids of every type, in the query's order, with NULLs among them and among the vectors
query(q{
	CREATE TYPE pair AS (a int, b text);
	CREATE DOMAIN code AS text CHECK (value LIKE '_%');
	CREATE TABLE wordy AS SELECT i, (SELECT string_agg(md5((i * j)::text), '') FROM generate_series(1, 200) j) AS t
		FROM generate_series(1, 700) i;
	ALTER TABLE wordy ALTER t SET STORAGE EXTERNAL;});
my @ids = (
	[ undef, 'i' ], [ undef, 'i::bigint * 10000000000' ], [ undef, 'i::smallint' ], [ 'int', '-i' ],
		[ 'uuid', 'md5(i::text)::uuid' ],
	[ 'text', q{'id ' || i} ], [ 'text', '(SELECT t FROM wordy w WHERE w.i = s.i)' ], [ 'text', q{repeat('é', i)} ],
	[ 'numeric', '1e30::numeric / i' ],
		[ 'timestamptz', q{'2024-02-29 12:00+00'::timestamptz + i * interval '1 hour 1 us'} ],
	[ 'int[]', 'ARRAY[i, NULL, -i]' ], [ 'text[]', q{array_fill('x'::text, ARRAY[i % 5])} ],
		[ 'pair', q{ROW(i, 'b' || i)::pair} ],
	[ 'small', 's' ], [ 'boolean', 'i % 2 = 0' ], [ 'real', '(i / 3.0)::real' ], [ 'name', q{('n' || i)::name} ],
	[ 'bytea', q{decode(md5(i::text), 'hex')} ],
	[ 'jsonb', q{jsonb_build_object('i', i)} ], [ 'box', 'box(point(i, 1), point(0, -i))' ],
		[ 'interval', 'make_interval(days => i)' ],
	[ 'code', q{('c' || i)::code} ], [ 'int4range', 'int4range(0, i)' ], [ 'oid', 'i::oid' ]);
for my $case (@ids)
{
	my ($type, $expression) = @$case;
	my $nullable = "CASE WHEN i % 5 > 0 THEN $expression END";
	my $id = defined $type ? ", id => NULL::$type" : '';

	is(query(qq{
		SELECT count(*), count(*) FILTER (WHERE r.id IS NULL), count(r.projection), bool_and(r.id::text
			IS NOT DISTINCT FROM s.id::text),
			bool_and(array_send(r.projection) IS NOT DISTINCT FROM array_send(gpu_project(s.v, 9, 3))),
				min(pg_typeof(r.id)::text)
		FROM gpu_project_rows(\$q\$SELECT $nullable, v FROM small s ORDER BY i % 13, i\$q\$, 9, 3, NULL$id)
			WITH ORDINALITY AS r(id, projection, n)
		FULL JOIN (SELECT row_number() OVER (ORDER BY i % 13, i) AS n, $nullable AS id, v FROM small s) s USING (n)}),
		'700|140|600|t|t|' . query('SELECT pg_typeof(NULL::' . ($type // 'bigint') . ')'), "ids: $expression");
}

# the five forms of gpu_project_rows
my $direct = query('SELECT i, gpu_project(v, 9, 3, 0.5) FROM small ORDER BY i');
for my $arguments ('9, 3, 0.5', '9, 3::bigint, 0.5', '9, 3, 0.5, NULL::int', '9, 3::bigint, 0.5, NULL::int',
	'9, NULL::numeric, 3, 0.5',
	'k => 9, density => 0.5, seed => 3', '9, 3, 0.5, id => NULL::int', '9, NULL::numeric, density => 0.5, seed => 3')
{
	same_lines(query("SELECT * FROM gpu_project_rows('SELECT i, v FROM small ORDER BY i', $arguments)"),
		$direct, "form: $arguments");
}

# Places where a function that returns rows can stand
my $rows = q{gpu_project_rows('SELECT i, v FROM public.small ORDER BY i -- all', 9, 3, 0.5)};
query(qq{
	CREATE TABLE kept AS SELECT * FROM $rows;
	CREATE TABLE filled (i bigint, projection real[]);
	INSERT INTO filled SELECT * FROM $rows;
	CREATE MATERIALIZED VIEW seen AS SELECT * FROM $rows;
	CREATE FUNCTION loop_over() RETURNS SETOF text LANGUAGE plpgsql AS \$\$
	DECLARE
		r record;
	BEGIN
		FOR r IN SELECT * FROM $rows LOOP
			RETURN NEXT r.id || '|' || coalesce(r.projection::text, '');
		END LOOP;
	END \$\$;});
my %places = (
	'CREATE TABLE AS' => 'TABLE kept',
	'INSERT' => 'TABLE filled',
	'a materialized view' => 'REFRESH MATERIALIZED VIEW seen; TABLE seen',
	'a CTE' => "WITH p AS MATERIALIZED (SELECT * FROM $rows) SELECT * FROM p",
	'the select list' => "SELECT (p).id, (p).projection FROM (SELECT $rows AS p) q",
	'a PL/pgSQL loop' => 'SELECT * FROM loop_over()',
	'a cursor' => "BEGIN; DECLARE c CURSOR FOR SELECT * FROM $rows; FETCH 400 FROM c; FETCH ALL FROM c",
	'a cursor WITH HOLD' => "BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT * FROM $rows; FETCH 3 FROM c; COMMIT;
		FETCH ALL FROM c; CLOSE c",
	'a prepared statement' => 'PREPARE p(text, int) AS SELECT * FROM gpu_project_rows($1, $2, 3, 0.5);
		EXECUTE p(\'SELECT i, v FROM small ORDER BY i LIMIT 300\', 9);
		EXECUTE p(\'SELECT i, v FROM small ORDER BY i OFFSET 300\', 9)');
same_lines(query($places{$_}), $direct, $_) for sort keys %places;
is(query(q{SELECT count(*), bool_and(array_send(projection) = array_send(gpu_project(v, 5, seed, 0.4)))
	FROM generate_series(1, 5) seed,
	LATERAL gpu_project_rows(format('SELECT i, v FROM small WHERE i %% %s > 0 AND v IS NOT NULL', seed + 1),
		5, seed, 0.4) JOIN small s ON s.i = id}),
	query('SELECT count(*), true FROM generate_series(2, 6) m, small WHERE i % m > 0 AND v IS NOT NULL'),
		'LATERAL: each with a seed of its own');
is(query(qq{BEGIN; DECLARE c SCROLL CURSOR FOR SELECT * FROM $rows; MOVE LAST c; FETCH BACKWARD 1 FROM c}),
	(split /\n/, $direct)[-2], 'backwards');
is(query("SELECT * FROM $rows LIMIT 2"), join("\n", (split /\n/, $direct)[0, 1]), 'LIMIT');
is(query("SELECT * FROM gpu_project_rows('SELECT i, v FROM small WHERE i < 0', 9)"), '', 'no rows');
is(query("SELECT count(*), count(projection) FROM gpu_project_rows('SELECT i, v FROM small WHERE v IS NULL', 9)"),
	'100|0', 'no vector');

# Queries that project by themselves: the session has one cache, with room for all projections, for some, and for none.
my $twice = query('SELECT i, gpu_project(gpu_project(v, 20, 5), 4, 9) FROM small ORDER BY i');
my %nested = (
	gpu_project => 'SELECT i, gpu_project(v, 20, 5) FROM small ORDER BY i',
	'gpu_project of the same' => 'SELECT i, gpu_project(v, 20, 5) FROM small
		WHERE gpu_project(v, 4, 9) IS NULL OR gpu_project(v, 4, 9) IS NOT NULL ORDER BY i',
	gpu_project_sparse => 'SELECT i, CASE WHEN v IS NOT NULL
		THEN gpu_project_sparse(ARRAY(SELECT generate_series(0::bigint, 59)), v, 20, 5, dim => 60) END
		 FROM small ORDER BY i',
	gpu_project_rows => q{SELECT * FROM gpu_project_rows('SELECT i, v FROM small ORDER BY i', 20, 5)},
	'gpu_project_rows for each row' =>
		q{SELECT i, (SELECT projection FROM gpu_project_rows(format('SELECT i, v FROM small WHERE i = %s', i), 20, 5))
		FROM small ORDER BY i});
for my $name (sort keys %nested)
{
	for my $size ('256MB', '2kB', '0')
	{
		same_lines(query("SET gpureg.projection_cache_size = '$size';
			SELECT * FROM gpu_project_rows(\$q\$$nested{$name}\$q\$, 4, 9)"), $twice,
			"the query calls $name, cache of $size");
	}
}

SKIP:
{
	skip 'memory is read from /proc', 9 unless $have_proc;

	# Returns the most memory, in kB, that a new session has had after the statement.
	my $peak_kb = sub { (query("$_[0]; SELECT process_kb('VmHWM')") =~ /(\d+)\z/)[0] };
	my $many = q{SELECT count(*), count(projection) FROM gpu_project_rows($$SELECT g * 1000 + i, v
		FROM vectors, generate_series(1, %d) g$$, 32)};

	like(query("EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) " . sprintf($many, 400)),
		qr/rows=400000.*temp read=\d+ written=[1-9]\d{3,}/s,
		'400,000 rows go to a temporary file');
	is(query(sprintf $many, 400), '400000|400000', '400,000 rows');
	my $in_workers = "$cheap SET max_parallel_workers_per_gather = 2; ";
	for my $case (
		[ 'rows', $many, 40, 400 ],
		[ 'rows projected in workers', $in_workers . $many, 40, 400 ],
		[ 'rows from workers', "$in_workers SET gpureg.debug_ring = on; $many", 40, 400 ],
		# ids of 500 bytes, which wait with their vectors
		[ 'long ids', q{SELECT count(*) FROM gpu_project_rows($$SELECT repeat('x', 500) || g || i, v
			FROM vectors, generate_series(1, %d) g$$, 4, id => NULL::text)}, 5, 100 ],
		[ 'very long ids', q{SELECT count(*) FROM gpu_project_rows($$SELECT repeat('x', 20000) || i, ARRAY[i, 1]::real[]
			FROM (SELECT generate_series(1, 100 * %d) AS i) s$$, 4, id => NULL::text)}, 1, 50 ],
		# rows without a vector, among some with one: 100,000 of 700 bytes
		[ 'rows without a vector', q{SELECT count(*), count(projection) FROM gpu_project_rows(
			$$SELECT repeat('x', 700) || i, CASE WHEN i %% 100000 = 1 THEN ARRAY[i, 1]::real[] END
			FROM (SELECT generate_series(1, 1000 * %d) AS i) s$$, 4, id => NULL::text)}, 1, 150 ],
		[ 'rows without a vector before the first', q{SELECT count(*), count(projection) FROM gpu_project_rows(
			$$SELECT repeat('x', 700) || i, CASE WHEN i > 1000 * %1$d THEN ARRAY[i, 1]::real[] END
			FROM (SELECT generate_series(1, 1000 * %1$d + 10) AS i) s$$, 4, id => NULL::text)}, 5, 100 ])
	{
		my ($name, $sql, @factors) = @$case;
		my ($few, $most) = map { $peak_kb->(sprintf $sql, $_) } @factors;

		note("$name: $few kB and $most kB");
		cmp_ok($most - $few, '<', 20_000, "$name: memory does not grow with them") or diag("$few kB, $most kB");
	}
}

#
# Interrupts
#

# Calls that take long. Each is followed, in its session, by a call that needs the same part of S.
my $dense = 'SELECT md5(array_send(gpu_project(v, 10000, 1, 0.02))) FROM long';
my $after_dense = 'SELECT md5(array_send(gpu_project(v[1:70000], 10000, 1, 0.02))) FROM long';
my $dense_rows = q{SELECT md5(array_send(projection)) FROM gpu_project_rows('SELECT 1, v FROM long', 10000, 1, 0.02)};
my $signs = 'SELECT md5(array_send(gpu_project(v[1:%d], %d, 1, 1))) FROM long';
my $sparse = q{SELECT md5(array_send(gpu_project_sparse(ARRAY(SELECT generate_series(1::bigint, %d) * 77),
	array_fill(1.5::real, ARRAY[%1$d]), %d, 1, %s)))};
my $hash = q{SELECT md5(array_send(gpu_feature_hash(ARRAY(SELECT 't' || generate_series(1, %d)), %d, 1, %s)))};
my $endless = 'SELECT i, ARRAY[i, 1, i %% 7]::real[] FROM (SELECT generate_series(1, 1000000000) AS i) s';
my %long = (
	'gpu_project' => [ '', $dense, $after_dense ],
	'gpu_project, nothing kept' => [ 'SET gpureg.projection_cache_size = 0', $dense, $after_dense ],
	'gpu_project, signs' => [ '', sprintf($signs, 3_000_000, 900), sprintf($signs, 66_000, 900) ],
	'gpu_project of several' => [ '',
		'SELECT gpu_project(array_agg(v[1:50000]), 3000, 1, 0.05) FROM long, generate_series(1, 400)',
		'SELECT md5(array_send(gpu_project(v[1:40000], 3000, 1, 0.05))) FROM long' ],
	'gpu_project_sparse' => [ '', sprintf($sparse, 30_000, 200_000, 0.3), sprintf($sparse, 30, 200_000, 0.3) ],
	'gpu_project_sparse, few large columns' => [ '', sprintf($sparse, 2_000, 4_000_000, 1),
		sprintf($sparse, 2, 4_000_000, 1) ],
	'gpu_feature_hash' => [ '', sprintf($hash, 300_000, 100_000, 0.5), sprintf($hash, 100, 100_000, 0.5) ],
	'gpu_project_rows, drawing' => [ '', $dense_rows, $after_dense ],
	'gpu_project_rows, projecting' => [ '',
		q{SELECT count(*) FROM gpu_project_rows('SELECT 1, v[1:30000] FROM long, generate_series(1, 100000)',
			2000, 1, 0.05)},
		'SELECT md5(array_send(gpu_project(v[1:30000], 2000, 1, 0.05))) FROM long' ],
	'gpu_project_rows, reading' => [ '', sprintf("SELECT count(*) FROM gpu_project_rows('$endless', 30)"),
		q{SELECT projection FROM gpu_project_rows('SELECT 1, ARRAY[4, 1, 4]::real[]', 30)} ],
	'gpu_project_rows, reading without a vector' => [ '',
		sprintf("SELECT count(*) FROM gpu_project_rows('$endless WHERE i %% 1000003 < 0', 30)"),
		q{SELECT projection FROM gpu_project_rows('SELECT 1, ARRAY[4, 1, 4]::real[]', 30)} ],
	'gpu_project_rows, vectors from workers' =>
		[ "$cheap SET max_parallel_workers_per_gather = 2; SET gpureg.debug_ring = on",
		q{SELECT count(*) FROM gpu_project_rows('SELECT a.i, a.v FROM rows a, rows b', 30)},
		q{SELECT projection FROM gpu_project_rows('SELECT 1, ARRAY[4, 1, 4]::real[]', 30)} ],
	'gpu_project_rows, reading in workers' => [ "$cheap SET max_parallel_workers_per_gather = 2",
		q{SELECT count(*) FROM gpu_project_rows('SELECT a.i, a.v FROM rows a, rows b', 30)},
		q{SELECT projection FROM gpu_project_rows('SELECT 1, ARRAY[4, 1, 4]::real[]', 30)} ]);
for my $name (sort keys %long)
{
	my ($set, $sql, $after) = @{ $long{$name} };
	my @set = split /;\s*/, $set;
	my ($afterwards, $want) = seconds(sub { query("SET gpureg.projection_cache_size = 0; $after") });

	# cancels at different moments in one session; the parts of S drawn until then must be useless or right
	my @timeouts = (10, 25, 60, 150, 400);
	my ($out, $err) = ('', '');
	my ($took) = seconds(sub {
		($out, $err) = try_sql($node, join(";\n", @set, (map { ("SET statement_timeout = $_", $sql) } @timeouts),
			'RESET statement_timeout', $after)) });
	my $codes = join ' ', map { sqlstate("ERROR:  $_") } $err =~ /ERROR:\s+(\w{5}:)/g;
	is($codes, join(' ', ('57014') x @timeouts), "$name, timeouts: SQLSTATE") or diag($err);
	is($out, $want, "$name, timeouts: right results afterwards");
	cmp_ok($took, '<', 0.65 + $prompt + 2 * $afterwards, "$name, timeouts: promptly");

	my $session = start_session($node, 'canceled', @set, $sql, 'SELECT count(*) FROM pg_ls_tmpdir()', $after);
	my $backend = wait_active($node, 'canceled', 'gpu_');
	($took) = seconds(sub {
		query("SELECT pg_cancel_backend($backend)");
		finish_session($session);
	});
	is(sqlstate($session->{err}), '57014', "$name, cancel: SQLSTATE") or diag($session->{err});
	is($session->{out}, "0\n$want\n", "$name, cancel: no temporary file is left, and results are right afterwards");
	cmp_ok($took, '<', $prompt + 2 * $afterwards, "$name, cancel: promptly");
	note(sprintf '%s: canceled in %.2f s, with what comes afterwards', $name, $took);
}

# a lost client, and temporary files that exceed the limit
my $session = start_session($node, 'gone', "SET client_connection_check_interval = '100ms'",
	$long{'gpu_project_rows, reading'}[1]);
wait_active($node, 'gone', 'gpu_project_rows');
cmp_ok(temporary_files(), '>', 0, 'client gone: while it is there, it has a temporary file');
$session->{run}->kill_kill(grace => 0);
my ($took) = seconds(sub { $node->poll_query_until('postgres',
	"SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'gone'") });
cmp_ok($took, '<', $prompt, 'client gone: no backend is left');
is(temporary_files(), '0', 'client gone: nor a temporary file');
my $err = error_is($node, "SET temp_file_limit = '3MB'; $long{'gpu_project_rows, reading'}[1]", '53400',
	'temp_file_limit');
is(temporary_files(), '0', 'temp_file_limit: no temporary file is left');

#
# Errors in the middle
#

my $failing = q{SELECT %s FROM (SELECT generate_series(1, 60000) AS i) s};
for my $case (
	[ 'division by zero', 'i, ARRAY[1 / (i - 50000), i]::real[]', '22012' ],
	[ 'NaN', q{i, ARRAY[i, CASE i WHEN 50000 THEN 'NaN' ELSE '1' END::real]}, '22023' ],
	[ 'another length', 'i, array_fill(i::real, ARRAY[3 + i / 50000])', '22023' ],
	[ 'two dimensions', 'i, CASE WHEN i < 50000 THEN ARRAY[i] ELSE ARRAY[ARRAY[i]] END::real[]', '2202E' ],
	[ 'a NULL in a vector', 'i, ARRAY[nullif(i, 50000), 1]::real[]', '22004' ],
	[ 'a result too large', 'i, array_fill(CASE WHEN i < 50000 THEN 1 ELSE 3e38 END::real, ARRAY[60])', '22003' ])
{
	my ($name, $columns, $state) = @$case;

	error_is($node, "SELECT count(*) FROM gpu_project_rows(\$\$" . sprintf($failing, $columns) . '$$, 16, 1, 1)',
		$state, $name);
	is(temporary_files(), '0', "$name: no temporary file is left");
}

# 200 caught errors must leave no memory behind.
query(q{
	CREATE FUNCTION fail_often(times int) RETURNS int LANGUAGE plpgsql AS $$
	DECLARE
		caught int := 0;
		n bigint;
	BEGIN
		FOR t IN 1..times LOOP
			BEGIN
				CASE t % 8
					WHEN 0 THEN SELECT count(*) INTO n FROM gpu_project_rows(
						'SELECT i, ARRAY[1 / (i - 50000), i]::real[] FROM (SELECT generate_series(1, 60000) AS i) s',
							16);
					WHEN 1 THEN PERFORM gpu_project_rows('SELECT i, array_append(v, 1 / (i - 900)) FROM vectors',
						500, t);
					WHEN 2 THEN PERFORM * FROM gpu_project_rows($q$SELECT 'id' || i, CASE WHEN i < 900 THEN v
						ELSE v || '{1}' END FROM vectors$q$,
						500, id => NULL::text, seed => t);
					WHEN 3 THEN PERFORM gpu_project(v || CASE WHEN i = 700 THEN 'NaN'::real ELSE 1 END, 500, t)
						FROM vectors;
					WHEN 4 THEN PERFORM gpu_project(array_agg(v || 1::real) ||
						ARRAY[array_fill(3e38::real, ARRAY[101])], 20, t, 1) FROM vectors;
					WHEN 5 THEN PERFORM gpu_project_sparse(ARRAY[i, 900 - i], '{1,2}', 500, t, 0.1) FROM vectors;
					WHEN 6 THEN PERFORM gpu_feature_hash(jsonb_build_object('a', i, 'b', CASE i WHEN 900 THEN '[]'
						ELSE '1' END::jsonb), 500, t, 0.1)
						FROM vectors;
					WHEN 7 THEN PERFORM * FROM gpu_project_rows('SELECT i, CASE WHEN i < 600 THEN gpu_project(v, 20) '
						'ELSE (SELECT projection
						FROM gpu_project_rows(' || quote_literal('SELECT i, v FROM vectors
							WHERE 1 / (i - 900) > 2') || ', 20)) END FROM vectors', 500, t);
				END CASE;
			EXCEPTION WHEN division_by_zero OR invalid_parameter_value OR numeric_value_out_of_range THEN
				caught := caught + 1;
			END;
		END LOOP;
		RETURN caught;
	END $$});
my $contexts = q{SELECT (sum(total_bytes) / 1024)::int, process_kb('RssAnon') FROM pg_backend_memory_contexts};
my ($few_errors, $many_errors) = $ENV{GPUREG_LONG} ? (40, 200) : (20, 100);
my @numbers = query(qq{
	SET gpureg.projection_cache_size = '1MB';
	SELECT fail_often($few_errors);
	$contexts;
	SELECT fail_often($many_errors);
	$contexts;
	SELECT count(*) FROM pg_ls_tmpdir();
	SELECT count(*) FROM gpu_project_rows('SELECT i, v FROM small', 9)}) =~ /(\d+)/g;
is("$numbers[0] $numbers[3]", "$few_errors $many_errors", 'every error was caught');
is("$numbers[6] $numbers[7]", '0 700', 'no temporary file is left, and the session goes on');
SKIP:
{
	skip 'memory is read from /proc', 2 unless $have_proc;
	note("contexts $numbers[1] to $numbers[4] kB, process $numbers[2] to $numbers[5] kB");
	cmp_ok($numbers[4] - $numbers[1], '<', 2_000, 'memory contexts did not grow');
	cmp_ok($numbers[5] - $numbers[2], '<', 6_000, 'the process did not grow');
}

#
# The cache
#

query(q{
	CREATE TABLE wide AS SELECT array_agg(sin(i)::real) AS v FROM generate_series(1, 4096) i;
	-- 16,384 entries of S a seed, or 262,144
	CREATE FUNCTION seeds(n int, density float8) RETURNS text LANGUAGE sql VOLATILE AS $$
		SELECT md5(string_agg(encode(array_send(gpu_project(v, 256, seed, density)), 'hex'), ',' ORDER BY seed))
			FROM wide, generate_series(1, n) seed
	$$});
my %bits;
my %whole_mb = ('NULL' => 7.5, '0.25' => 120);
for my $density ('NULL', '0.25')
{
	for my $mb (0, 1, 16, 64)
	{
		my ($first, $used, $before, $after) = split /[|\n]/, query(qq{
			SELECT seeds(1, NULL);
			SET gpureg.projection_cache_size = '${mb}MB';
			SELECT process_kb('RssAnon') AS before \\gset
			SELECT seeds(120, $density), :before, process_kb('RssAnon')});

		# results with a cache of 0 MB are the ones expected with others
		$bits{$density} //= $used;
		is($used, $bits{$density}, "cache of $mb MB, density $density: the same bits");
		next unless $have_proc;
		note(sprintf 'cache of %d MB, density %s: %.1f MB', $mb, $density, ($after - $before) / 1024);
		my $kept = $mb < $whole_mb{$density} ? $mb : $whole_mb{$density};
		cmp_ok(($after - $before) / 1024, '<', 1.1 * $kept + 6, "cache of $mb MB, density $density: memory is bounded");
		cmp_ok(($after - $before) / 1024, '>', 0.7 * $kept - 1, "cache of $mb MB, density $density: and used");
	}
}
is(query('SELECT seeds(120, NULL)'), $bits{NULL}, 'default cache: the same bits');

# columns of sparse vectors: 16,000 of some 300 bytes
my $of_columns = q{SELECT md5(string_agg(md5(array_send(gpu_project_sparse(ARRAY[j * 7, j * 7 + 1], '{1,2}',
	500, 1, 0.2))), '' ORDER BY j)),
	md5(string_agg(md5(array_send(gpu_project_sparse(ARRAY[j * 7 + 1, j * 7], '{2,1}', 500, 1, 0.2))), '' ORDER BY j))
	FROM generate_series(1::bigint, 8000) j};
for my $mb (0, 1, 4)
{
	my ($before, $got, $again, $after) = split /[|\n]/, query(qq{
		SELECT seeds(1, NULL) AS first, count(*) FROM ($of_columns LIMIT 0) q \\gset
		SET gpureg.projection_cache_size = '${mb}MB';
		SELECT process_kb('RssAnon');
		$of_columns;
		SELECT process_kb('RssAnon')});

	is($again, $got, "cache of $mb MB, columns: the same bits");
	$bits{columns} //= $got;
	is($got, $bits{columns}, "cache of $mb MB, columns: those of 0 MB");
	note(sprintf 'cache of %d MB, columns: %.1f MB', $mb, ($after - $before) / 1024) if $have_proc;
	cmp_ok(($after - $before) / 1024, '<', 1.1 * $mb + 8, "cache of $mb MB, columns: memory is bounded") if $have_proc;
}

# changes of the size within a session, up and down; malloc() may hold on to some of the memory
my @sizes = (0, 32, 80, 1, 0, 16);
my @steps = split /[|\n]/, query(join ";\n", "SELECT seeds(1, 0.25), process_kb('RssAnon')", 'SELECT seeds(100, 0.25)',
	map { "SET gpureg.projection_cache_size = '${_}MB'; SELECT seeds(100, 0.25), process_kb('RssAnon')" } @sizes);
my (undef, $base, $hundred) = splice @steps, 0, 3;
my @resident = map { $steps[ 2 * $_ + 1 ] / 1024 } 0 .. $#sizes;
is(join(' ', map { $steps[ 2 * $_ ] } 0 .. $#sizes), join(' ', ($hundred) x @sizes),
	'SET within a session: the same bits');
SKIP:
{
	skip 'memory is read from /proc', 1 + @sizes unless $have_proc;
	note("memory after @sizes MB: " . join ' ', map { sprintf '%.0f', $_ } @resident);
	for my $k (0 .. $#sizes)
	{
		cmp_ok($resident[$k] - $base / 1024, '<', $sizes[$k] + 40,
			"SET within a session, to $sizes[$k] MB: memory is bounded");
	}
	cmp_ok($resident[2] - $base / 1024, '>', 60, 'SET within a session, to 80 MB: and used');
}

#
# Further schemas, encodings and types
#

my $values = q{SELECT md5(array_send(%1$sgpu_project('{1,2.5,-3}', 9))),
	md5(array_send(%1$sgpu_project_sparse('{3,99}', '{1,-1}', 9))),
	md5(array_send(%1$sgpu_feature_hash('{a,bc,def}'::text[], 9))),
		md5(array_send(%1$sgpu_feature_hash('{"a": 1, "b": "c"}'::jsonb, 9, 3, 0.5))),
	(SELECT md5(array_send(projection)) FROM %1$sgpu_project_rows('SELECT 1, ''{1,2.5,-3}''::real[]', 9))};
my $want = query(sprintf $values, '');
my ($stored_before) = query($stored);
query('CREATE SCHEMA elsewhere; ALTER EXTENSION gpureg SET SCHEMA elsewhere');
is(query(sprintf $values, 'elsewhere.'), $want, 'in another schema: the same values');
query("SET search_path = public, elsewhere;
	SELECT put_items(array_agg(i), CASE WHEN i > 1500 THEN 1 ELSE 0 END) FROM generate_series(1, 2000) i
		GROUP BY i > 1500;
	UPDATE items SET v = (SELECT v FROM items WHERE id = 1717) WHERE id IN (3, 30)");
is(query($stored), $stored_before, 'in another schema: generated columns are computed as before');
is(query("SET search_path = public, elsewhere; $searches{items_eight}"), "3\n30\n1717",
	'in another schema: the index, too');
query('ALTER EXTENSION gpureg SET SCHEMA public');
is(query(sprintf $values, ''), $want, 'and back');

# Names must be hashed in UTF-8, whatever the database's encoding.
my $accented = 'SELECT md5(array_send(gpu_feature_hash(ARRAY[%1$s, \'a\', %1$s || \'x\' || %1$s], 50))),
	md5(array_send(gpu_feature_hash(ARRAY[%1$s], 50, 3, 0.5))),
		md5(array_send(gpu_feature_hash(jsonb_build_object(%1$s, 2, \'name\', %1$s || %1$s), 50)))';
my %letters = (LATIN1 => [ 'chr(233)', 'chr(233)' ], LATIN9 => [ 'chr(8364)', 'chr(164)' ],
	EUC_JP => [ 'chr(12354)', q{convert_from('\xa4a2', 'EUC_JP')} ], SQL_ASCII => [ 'chr(233)', q{E'\xc3\xa9'} ]);
query(q{CREATE DATABASE unicode ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0});
query('CREATE EXTENSION gpureg', 'unicode');
for my $encoding (sort keys %letters)
{
	my ($utf8, $here) = @{ $letters{$encoding} };
	my $db = lc $encoding;
	my ($out, $messages) = try_sql($node, "CREATE DATABASE $db ENCODING '$encoding' LOCALE 'C' TEMPLATE template0");

	SKIP:
	{
		skip "no database can be made with $encoding: $messages", 4 if $messages ne '';
		query('CREATE EXTENSION gpureg', $db);
		is(query('SHOW server_encoding', $db), $encoding, "$encoding: the database");
		is(query(sprintf($values, ''), $db), $want, "$encoding: the same values");
		is(query(sprintf($accented, $here), $db), query(sprintf($accented, $utf8), 'unicode'),
			"$encoding: names beyond ASCII");
		is((split /\n/, query("$force " . sprintf($accented, $here), $db))[1],
			query(sprintf($accented, $utf8), 'unicode'), "$encoding: in a worker");
	}
}
isnt(query(sprintf($accented, 'chr(233)'), 'unicode'), query(sprintf($accented, 'chr(234)'), 'unicode'),
	'another letter is another name');

# pgvector's vectors have a cast to real[]
SKIP:
{
	skip 'pgvector is not installed here', 1
		if query(q{SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'}) eq '0';
	query('CREATE EXTENSION vector; CREATE TABLE embeddings AS SELECT i, v::vector(60) AS e FROM small');
	my $projected = query('SELECT i, gpu_project(v, 9, 3) FROM small ORDER BY i');
	same_lines(query("SELECT i, $_ FROM embeddings ORDER BY i"), $projected, "pgvector: $_")
	  for 'gpu_project(e, 9, 3)', 'gpu_project(e::real[], 9, 3)', 'gpu_project(e, 9, 3)::vector(9)::real[]';
	same_lines(query(q{SELECT * FROM gpu_project_rows('SELECT i, e FROM embeddings ORDER BY i', 9, 3)}),
		$projected, 'pgvector: gpu_project_rows');
}

survived($node, $pid, 'projection');
$node->stop;
done_testing();
