/*
 * derive_gpu_test.cu: tests rows derived on the device against the CPU's: the same bits, order and failures.
 *
 * derive_gpu_test [--quick] [--bench] [--seed=N]: see gpu_harness.h.
 */
#include "../../kernels/backend_cuda.cuh"
#include "derive_rows.h"
#include "gpu_harness.h"
#include "sums.h"

static const GrBackend *const cpu = &gr_backend_cpu;

/* Kept rows on the CPU and on the device, and the rows derived of them */
typedef struct Pair
{
	GrSession  *session;
	const GrDerivation *d;
	GrRowRules	rules;
	GrSink	   *kept[2];		/* on the CPU, on the device */
	GrSink	   *derived[2];
	GrDeriveCounts counts[2];
	GrError		err[2];
	bool		ok[2];
} Pair;

static const GrSinkOps *
ops_of(int side)
{
	return side == 0 ? cpu->sink : gpu->sink;
}

/* Sends rows to a new sink in pieces. */
static bool
keep(GrSession *session, const GrSinkOps *ops, GrRowShape shape, const double *rows, int64_t nrows, GrSink **sink,
	 GrError *err)
{
	GrSinkOptions options = {};
	const int64_t piece = 100000;
	int64_t		ncalls;

	options.shape = shape;
	options.kind = GR_SINK_KEEP;
	if (!ops->begin(session, &options, sink, err))
		return false;
	for (int64_t done = 0; done < nrows; done += piece)
		if (!ops->send(*sink, rows + done * gr_row_ncols(shape), nrows - done < piece ? nrows - done : piece, err) ||
			!ops->sent(*sink, true, &ncalls, err))
			return false;
	return true;
}

static void
pair_begin(Pair *pair, GrSession *session, const GrDerivation *d, GrRowRules rules, const double *rows, int64_t nrows)
{
	memset(pair, 0, sizeof(*pair));
	pair->session = session;
	pair->d = d;
	pair->rules = rules;
	for (int side = 0; side < 2; side++)
		pair->ok[side] = keep(session, ops_of(side), gr_plain_shape(d->ncolumns - 1), rows, nrows, &pair->kept[side],
							  &pair->err[side]);
}

static void
pair_derive(Pair *pair, bool alone, size_t memory_limit, const GrHost *host)
{
	GrSinkOptions options = {};

	options.memory_limit = memory_limit;
	for (int side = 0; side < 2; side++)
	{
		const GrDeriveTask task = {pair->d, pair->rules, &options, alone ? NULL : &pair->derived[side],
		&pair->counts[side]};

		ops_of(side)->end(pair->derived[side]);
		pair->derived[side] = NULL;
		memset(&pair->err[side], 0, sizeof(GrError));
		pair->ok[side] = ops_of(side)->derive(pair->kept[side], &task, host, &pair->err[side]);
	}
}

static void
pair_end(Pair *pair)
{
	for (int side = 0; side < 2; side++)
	{
		ops_of(side)->end(pair->kept[side]);
		ops_of(side)->end(pair->derived[side]);
	}
}

static bool
same_counts(const Pair *pair)
{
	const GrDeriveCounts *a = &pair->counts[0];
	const GrDeriveCounts *b = &pair->counts[1];

	return a->nrows == b->nrows && a->nfiltered == b->nfiltered && a->nskipped == b->nskipped &&
		a->nweightless == b->nweightless;
}

/* True if both sides have the same totals, up to the order of sums and another library's functions. */
static bool
same_totals(const Pair *pair)
{
	const GrRowTotals *a = &pair->counts[0].totals;
	const GrRowTotals *b = &pair->counts[1].totals;
	double		size = fabs(a->log_constant) + fabs(a->losses) + (double) pair->counts[0].nrows + a->weights;

	return relative_error(b->weights, a->weights) < 1e-13 && fabs(b->ones - a->ones) <= 1e-13 * size &&
		a->nshares == b->nshares && fabs(b->log_constant - a->log_constant) <= 1e-13 * size &&
		fabs(b->losses - a->losses) <= 1e-13 * size;
}

/* True if the device's chunks have the rows that the CPU derives. */
static bool
same_rows(const Pair *pair, const double *rows, int64_t nrows)
{
	const RowsSink *sink = static_cast<const RowsSink *>(pair->derived[1]);
	const size_t row_nbytes = gr_row_nbytes(gr_derived_shape(pair->d));
	double	   *want = (double *) malloc((size_t) nrows * row_nbytes + 1);
	double	   *got = (double *) malloc((size_t) nrows * row_nbytes + 1);
	GrError		err = {};
	GrDeriving *deriving = gr_deriving_begin(pair->d, &err);
	GrDeriveCounts counts = {};
	int64_t		n = gr_derive_rows(deriving, rows, nrows, want, &counts);
	int64_t		done = 0;
	bool		same = sink->nrows == n;

	for (int c = 0; same && c < sink->nchunks; done += sink->chunks[c++].nrows)
		same = done + sink->chunks[c].nrows <= n && sink->chunks[c].nrows > 0 &&
			(c == sink->nchunks - 1 || sink->chunks[c].nrows == sink->chunks[c].capacity) &&
			cuda_ok(cudaMemcpy((char *) got + (size_t) done * row_nbytes, sink->chunks[c].rows,
							   (size_t) sink->chunks[c].nrows * row_nbytes, cudaMemcpyDeviceToHost));
	same = same && done == n && memcmp(got, want, (size_t) n * row_nbytes) == 0;
	gr_deriving_end(deriving);
	free(want);
	free(got);
	return same;
}

/* Sums an EXACT pass at 0. *sums: the caller frees them. */
static bool
pass_over(GrSink *sink, GrRowShape shape, double **sums)
{
	double	   *zeros = (double *) calloc((size_t) gr_nterms(shape.nfeatures), sizeof(double));
	GrPass		pass = {};
	GrError		err = {};
	bool		ok;

	pass.kind = GR_PASS_EXACT;
	pass.shape = shape;
	pass.distribution.family = GR_GAUSSIAN;
	pass.distribution.link = GR_IDENTITY;
	pass.beta = zeros;
	pass.shift = zeros;
	pass.linear = true;
	*sums = (double *) malloc(gr_pass_nsums(GR_PASS_EXACT, shape.nfeatures) * sizeof(double));
	gr_pass_clear(GR_PASS_EXACT, shape.nfeatures, *sums);
	ok = sum_pass(gpu->sink, sink, &pass, *sums, NULL, &err);
	free(zeros);
	return ok;
}

/* True if a pass over derived rows has the bits of one over the same rows sent. */
static bool
same_pass(const Pair *pair, const double *rows, int64_t nrows)
{
	GrRowShape	shape = gr_derived_shape(pair->d);
	double	   *want = (double *) malloc((size_t) nrows * gr_row_nbytes(shape) + 1);
	GrError		err = {};
	GrDeriving *deriving = gr_deriving_begin(pair->d, &err);
	GrDeriveCounts counts = {};
	int64_t		n = gr_derive_rows(deriving, rows, nrows, want, &counts);
	GrSink	   *sent = NULL;
	double	   *sums[2] = {};
	bool		same = keep(pair->session, gpu->sink, shape, want, n, &sent, &err) &&
		pass_over(sent, shape, &sums[0]) && pass_over(pair->derived[1], shape, &sums[1]) &&
		memcmp(sums[0], sums[1], gr_pass_nsums(GR_PASS_EXACT, shape.nfeatures) * sizeof(double)) == 0;

	gr_deriving_end(deriving);
	gpu->sink->end(sent);
	free(sums[0]);
	free(sums[1]);
	free(want);
	return same;
}

static void
check_sample(GrSession *session, const Sample *sample, int64_t nrows, GrRowRules rules)
{
	GrDerivation *d = sample_derivation(sample);
	double	   *rows = sample_rows(sample, nrows);
	Pair		pair;

	pair_begin(&pair, session, d, rules, rows, nrows);
	pair_derive(&pair, false, 0, NULL);
	check(pair.ok[0] && pair.ok[1] && same_counts(&pair) && same_rows(&pair, rows, nrows),
		  "%s, %lld rows: %lld derived, %lld with a NULL, %lld of weight 0 %s", sample->name, (long long) nrows,
		  (long long) pair.counts[1].nrows, (long long) pair.counts[1].nskipped,
		  (long long) pair.counts[1].nweightless, pair.err[1].detail);
	check(!gr_has_totals(gr_derived_shape(d), rules) || same_totals(&pair), "... their totals");
	check(pair.ok[1] && same_pass(&pair, rows, nrows), "... a pass over them");
	pair_derive(&pair, true, 0, NULL);
	check(pair.ok[1] && same_counts(&pair) && (!gr_has_totals(gr_derived_shape(d), rules) || same_totals(&pair)),
		  "... and counted alone %s", pair.err[1].detail);
	pair_end(&pair);
	free(rows);
	free_blocks();
}

/* Checks rows of two features and a response, and if weight a weight between them, with one bad value. */
static void
check_bad(GrSession *session, GrRowRules rules, bool weight, int column, double value, GrStatus status)
{
	const int64_t nrows = 5000;
	const int64_t at = (int64_t) (random_word() % 4000);
	const double left_out[4] = {NAN, INFINITY, -1, -1};
	int			columns[] = {0, 1};
	double	   *rows = (double *) malloc((size_t) nrows * 4 * sizeof(double));
	GrDeriveOptions options = {};
	GrError		err = {};
	Pair		pair;

	options.ncolumns = 4;
	options.response = 3;
	options.weight = weight ? 2 : -1;
	options.offset = -1;
	options.key = -1;
	options.columns = columns;
	options.nfeatures = 2;
	for (int64_t r = 0; r < nrows; r++)
	{
		rows[4 * r] = random_double();
		rows[4 * r + 1] = random_double();
		rows[4 * r + 2] = (double) (r % 3);
		rows[4 * r + 3] = rules.family == GR_GAMMA ? 1 : (double) (r % 2);
	}
	/* the first bad row decides, and a row that doesn't take part is never bad */
	rows[4 * at + column] = rows[4 * (at + 900) + column] = value;
	rows[4 * (at + 700) + 1] = INFINITY;
	rows[4 * at + 2] = column == 2 ? value : 1;
	if (at > 0)
		memcpy(rows, left_out, sizeof(left_out));
	pair_begin(&pair, session, gr_derivation_make(&options, memory, &err), rules, rows, nrows);
	for (int alone = 0; alone < 2; alone++)
	{
		pair_derive(&pair, alone != 0, 0, NULL);
		check(!pair.ok[0] && !pair.ok[1] && pair.err[1].status == status && pair.err[0].status == status &&
			  pair.err[0].where == pair.err[1].where && pair.err[0].value == pair.err[1].value,
			  "status %d: of column %d, %g %s", (int) status, (int) pair.err[1].where, pair.err[1].value,
			  pair.err[1].detail);
	}
	pair_end(&pair);
	free(rows);
	free_blocks();
}

/* Checks the totals of weighted counts up to 700, in tiles without a mark and with some. */
static void
check_losses(GrSession *session)
{
	const int64_t nrows = 70000;
	int			columns[] = {0, 1};
	double	   *rows = (double *) malloc((size_t) nrows * 4 * sizeof(double));
	GrDeriveOptions options = {};
	GrError		err = {};
	Pair		pair;

	options.ncolumns = 4;
	options.response = 3;
	options.weight = 2;
	options.offset = -1;
	options.key = -1;
	options.columns = columns;
	options.nfeatures = 2;
	for (int64_t r = 0; r < nrows; r++)
	{
		rows[4 * r] = random_double();
		rows[4 * r + 1] = random_double();
		rows[4 * r + 2] = (double) (r % 3 + 1);
		rows[4 * r + 3] = (double) (random_word() % 701);
	}
	for (int incomplete = 0; incomplete < 2; incomplete++)
	{
		if (incomplete)
			rows[4 * 50000] = NAN;
		pair_begin(&pair, session, gr_derivation_make(&options, memory, &err), {GR_POISSON, GR_PRIOR_WEIGHTS, 0}, rows,
				   nrows);
		pair_derive(&pair, true, 0, NULL);
		check(pair.ok[0] && pair.ok[1] && same_counts(&pair) && same_totals(&pair) && pair.counts[0].totals.losses > 0,
			  "losses of counts %s", pair.err[1].detail);
		pair_end(&pair);
	}
	free(rows);
	free_blocks();
}

static void
check_contract(GrSession *session)
{
	const Sample *sample = &samples[0];
	GrDerivation *d = sample_derivation(sample);
	GrRowRules	rules = {GR_GAUSSIAN, GR_PRIOR_WEIGHTS, 0};
	double	   *rows = sample_rows(sample, 1000000);
	Stopper		stopper = {0, 1};
	GrHost		host = {stop, &stopper, NULL};
	Pair		pair;

	pair_begin(&pair, session, d, rules, rows, 1000000);
	pair_derive(&pair, false, 10000000, NULL);
	check(!pair.ok[1] && pair.err[1].status == GR_DEVICE_MEMORY, "within a limit: %s", pair.err[1].detail);
	pair_derive(&pair, false, 0, &host);
	check(!pair.ok[1] && pair.err[1].status == GR_CANCELED, "canceled");
	pair_end(&pair);
	pair_begin(&pair, session, d, rules, rows, 0);
	pair_derive(&pair, false, 0, NULL);
	check(pair.ok[1] && pair.counts[1].nrows == 0, "no rows");
	pair_end(&pair);
	pair_begin(&pair, session, d, rules, rows, 10);
	d->ncolumns++;
	pair_derive(&pair, false, 0, NULL);
	check(!pair.ok[1] && pair.err[1].status == GR_INVALID, "a derivation of other rows");
	pair_end(&pair);
	free(rows);
	free_blocks();
}

static void
run_tests(const GpuRun *run)
{
	const GrRowRules gaussian = {GR_GAUSSIAN, GR_PRIOR_WEIGHTS, 0};
	const GrRowRules counts = {GR_GAUSSIAN, GR_FREQUENCIES, 0};

	srandom((unsigned) random_word());
	for (int k = 0; k < COUNT(samples); k++)
	{
		check_sample(run->session, &samples[k], 1, gaussian);
		check_sample(run->session, &samples[k], 1025, counts);
		if (!run->quick)
		{
			check_sample(run->session, &samples[k], 77777, gaussian);
			check_sample(run->session, &samples[k], samples[k].ncolumns > 100 ? 200000 : 3000000, gaussian);
		}
	}
	check_bad(run->session, gaussian, false, 1, -INFINITY, GR_NOT_FINITE);
	check_bad(run->session, {GR_BINOMIAL, GR_PRIOR_WEIGHTS, 0}, false, 3, 0.5, GR_NOT_BINARY);
	check_bad(run->session, {GR_BINOMIAL, GR_PRIOR_WEIGHTS, 0}, true, 3, 2, GR_NOT_A_SHARE);
	check_bad(run->session, {GR_POISSON, GR_PRIOR_WEIGHTS, 0}, false, 3, -1, GR_NEGATIVE_RESPONSE);
	check_bad(run->session, {GR_GAMMA, GR_PRIOR_WEIGHTS, 0}, false, 3, 0, GR_NOT_POSITIVE);
	check_bad(run->session, gaussian, true, 2, -1, GR_NEGATIVE_WEIGHT);
	check_bad(run->session, counts, true, 2, 0.5, GR_NOT_A_COUNT);
	check_losses(run->session);
	check_contract(run->session);
}

/* Prints the least of several times, and the device's part of it, with the bytes of kept and derived rows. */
static bool
bench_sample(GrSession *session, const Sample *sample, int64_t nrows, bool alone)
{
	GrDerivation *d = sample_derivation(sample);
	double	   *rows = sample_rows(sample, nrows);
	GrRowRules	rules = {GR_GAUSSIAN, GR_PRIOR_WEIGHTS, 0};
	GrSinkOptions options = {};
	GrDeriveCounts counts = {};
	GrSink	   *kept = NULL;
	GrError		err = {};
	double		least_ms = INFINITY;
	double		least_kernel_ms = INFINITY;
	double		nbytes;
	bool		ok = keep(session, gpu->sink, gr_plain_shape(d->ncolumns - 1), rows, nrows, &kept, &err);

	for (int turn = 0; ok && turn < 5; turn++)
	{
		GrSink	   *derived = NULL;
		double		begin_ms = now_ms();
		GrTimes		before = {};
		GrTimes		times = {};

		gpu->sink->times(kept, &before);
		GrDeriveTask task = {d, rules, &options, alone ? NULL : &derived, &counts};

		ok = gpu->sink->derive(kept, &task, NULL, &err);
		least_ms = fmin(least_ms, now_ms() - begin_ms);
		if (ok)
			gpu->sink->times(alone ? kept : derived, &times);
		least_kernel_ms = fmin(least_kernel_ms, 1e3 * (times.kernel_s - (alone ? before.kernel_s : 0)));
		gpu->sink->end(derived);
	}
	nbytes = (double) nrows * d->ncolumns * sizeof(double) +
		(alone ? 0 : (double) counts.nrows * (double) gr_row_nbytes(gr_derived_shape(d)));
	printf("# %s%s: %lld of %lld x %d: %.3f ms, on the device %.3f ms, %.0f GB/s %s\n", sample->name,
		   alone ? ", counted alone" : "", (long long) counts.nrows, (long long) nrows, d->ncolumns, least_ms,
		   least_kernel_ms, nbytes / least_kernel_ms * 1e-6, err.detail);
	gpu->sink->end(kept);
	free(rows);
	free_blocks();
	return ok;
}

static bool
run_bench(const GpuRun *run)
{
	static const Sample some[] = {
		{"all columns", 9, NULL, 8, false, false, 0, {{0, 0, 0}}, 0},
		{"3 of 8", 9, NULL, 3, false, false, 0, {{0, 0, 0}}, 0},
		{"weights", 10, NULL, 8, true, false, 0, {{0, 0, 0}}, 0},
		{"a NULL in 900 numbers", 9, NULL, 8, false, false, 0, {{0, 0, 0}}, 1.0 / 900},
		{"half of them", 9, NULL, 8, false, false, 1, {{GR_FILTER_GT, 2, 0}}, 0},
		{"one in 100", 9, NULL, 8, false, false, 1, {{GR_FILTER_GT, 2, 1.96}}, 0},
		{"a factor, powers and products", 9, "1 \"\" 4 f \"g\" 5 \"a\" \"b\" \"c\" \"d\" \"e\" n \"x\" n \"z\" n \"u\" "
			"5 1 n 1 1 c 0 1 p 2 3 2 n 3 c 0 2 n 1 n 2", 0, false, false, 0, {{0, 0, 0}}, 0}
	};
	bool		ok = true;

	for (int k = 0; k < COUNT(some); k++)
		ok = bench_sample(run->session, &some[k], 10000000, false) && ok;
	return bench_sample(run->session, &some[0], 10000000, true) && ok;
}

int
main(int argc, char **argv)
{
	return backend_main(argc, argv, run_tests, run_bench);
}
