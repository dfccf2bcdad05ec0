/*
 * sends_test.c: tests rows sent to the CPU's backend, as float8 and as single, in pieces of any size: the sums and
 * passes must be those of all rows at once. Also the errors for invalid rows.
 */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "compute/backend/backend.h"
#include "compute/dist/family.h"
#include "compute/glm/glm.h"
#include "gram_reference.h"
#include "sums.h"
#include "unit.h"

/* 2^-98: a hundred roundings of 2^-105 or so */
#define TOLERANCE 3.2e-30

/* Makes features that float4 can hold, and a response that it can't, or one of 0 and 1. */
static double *
random_rows(int64_t nrows, int nfeatures, bool binary)
{
	double	   *rows = malloc((size_t) (nrows + 1) * (nfeatures + 1) * sizeof(double));

	for (int64_t r = 0; r < nrows; r++)
	{
		double	   *row = rows + r * (nfeatures + 1);

		for (int j = 0; j < nfeatures; j++)
			row[j] = (float) ((double) random() / 2147483648.0 - 0.5);
		row[nfeatures] = binary ? (double) (random() % 3 == 0) : (double) random() / 2147483647.0;
	}
	return rows;
}

/* Copies the rows as a caller sends them, into memory of exactly their size: valgrind sees reads beyond it. */
static char *
packed_rows(const double *rows, int64_t nrows, int nfeatures, bool single)
{
	size_t		row_nbytes = gr_row_nbytes(shape_of(nfeatures, single));
	char	   *packed = malloc((size_t) nrows * row_nbytes + (nrows == 0));

	for (int64_t r = 0; r < nrows; r++)
	{
		const double *row = rows + r * (nfeatures + 1);
		char	   *into = packed + (size_t) r * row_nbytes;

		if (!single)
		{
			memcpy(into, row, row_nbytes);
			continue;
		}
		for (int j = 0; j < nfeatures; j++)
		{
			float		value = (float) row[j];

			memcpy(into + (size_t) j * sizeof(float), &value, sizeof(float));
		}
		memcpy(into + (size_t) nfeatures * sizeof(float), row + nfeatures, sizeof(double));
	}
	return packed;
}

/* Returns the size of piece number k: 0, 1, or up to piece rows. */
static int64_t
piece_nrows(int64_t k, int64_t piece, int64_t left)
{
	int64_t		n = k % 4 == 0 ? piece : k % 4 == 1 ? 0 : k % 4 == 2 ? 1 : piece / 2 + 1;

	return n < left ? n : left;
}

static void
test_layout(void)
{
	check(gr_row_nbytes(shape_of(3, false)) == 32 && gr_row_nbytes(shape_of(3, true)) == 20 &&
		  gr_row_nbytes(shape_of(1, true)) == 12, "bytes of a row");
	check(gr_row_nbytes(shape_of(GR_MAX_FEATURES, true)) == 40008, "bytes of the widest single row");
	for (int p = 1; p <= 9; p++)
	{
		double	   *rows = random_rows(7, p, false);
		double	   *wide = malloc((size_t) 7 * (p + 1) * sizeof(double));
		char	   *packed = packed_rows(rows, 7, p, true);

		gr_widen_rows(packed, 7, shape_of(p, true), wide);
		check(memcmp(wide, rows, (size_t) 7 * (p + 1) * sizeof(double)) == 0, "%d features: widened rows are the same",
			  p);
		gr_widen_rows(packed, 0, shape_of(p, true), wide);
		free(packed);
		free(wide);
		free(rows);
	}
}

/* Sends rows in pieces that are overwritten once the job reports them as read. */
static void
test_gram(int nfeatures, int64_t nrows, bool single, int64_t piece)
{
	size_t		row_nbytes = gr_row_nbytes(shape_of(nfeatures, single));
	int64_t		triangle = gr_triangle(nfeatures + 2);
	double	   *rows = random_rows(nrows, nfeatures, false);
	double	   *hi = malloc(2 * triangle * sizeof(double));
	GrSinkOptions options = {.shape = shape_of(nfeatures, single),.block_nbytes = 1 << 20};
	const GrBackend *cpu = &gr_backend_cpu;
	GrTimes		times = {0};
	GrSink	   *gram = NULL;
	GrError		err = {0};
	int64_t		ncalls = 0;
	bool		ok = cpu->sink->begin(NULL, &options, &gram, &err);
	bool		counted = ok && cpu->sink->sent(gram, false, &ncalls, &err) && ncalls == 0;
	double		error;

	for (int64_t done = 0, k = 0; ok && done < nrows; k++)
	{
		int64_t		n = piece_nrows(k, piece, nrows - done);
		char	   *packed = packed_rows(rows + done * (nfeatures + 1), n, nfeatures, single);

		ok = cpu->sink->send(gram, packed, n, &err) && cpu->sink->sent(gram, k % 2 == 0, &ncalls, &err);
		while (ok && ncalls < k + 1)
			ok = cpu->sink->sent(gram, true, &ncalls, &err);
		counted = counted && ncalls == k + 1;
		memset(packed, 0xff, (size_t) n * row_nbytes);
		free(packed);
		done += n;
	}
	ok = ok && cpu->sink->finish(gram, (GrDDVector) {hi, hi + triangle}, &err);
	if (ok)
		cpu->sink->times(gram, &times);
	error = ok ? gram_reference_error(rows, nrows, nfeatures, hi, hi + triangle) : INFINITY;
	check(ok && err.status == GR_OK && error < TOLERANCE, "Gram, %d features, %s, pieces of %lld: error %.2g",
		  nfeatures,
		  single ? "single" : "float8", (long long) piece, error);
	check(counted, "Gram, %d features, %s, pieces of %lld: calls are counted", nfeatures, single ? "single" : "float8",
		  (long long) piece);
	check(times.bytes_to_device == 0 && times.kernel_s >= 0, "... and the times are the CPU's");
	cpu->sink->end(gram);
	free(hi);
	free(rows);
}

/* Rules for the rows of a gaussian response with weights */
static const GrRowRules gaussian = {GR_GAUSSIAN, GR_PRIOR_WEIGHTS, 0};
static const GrRowRules binomial = {GR_BINOMIAL, GR_PRIOR_WEIGHTS, 0};

static bool
pass_over(GrSink *rows, int nfeatures, const double *beta, double *sums)
{
	double	   *shift = calloc((size_t) nfeatures, sizeof(double));
	GrPass		pass = {
		.kind = GR_PASS_EXACT,.distribution = GR_LOGISTIC,.shape = gr_plain_shape(nfeatures),.beta = beta,.shift = shift
	};
	GrError		err = {0};
	bool		ok;

	gr_pass_clear(pass.kind, nfeatures, sums);
	ok = sum_pass(gr_backend_cpu.sink, rows, &pass, sums, NULL, &err);
	free(shift);
	return ok;
}

static void
test_rows(int nfeatures, int64_t nrows, bool single, int64_t piece)
{
	double	   *rows = random_rows(nrows, nfeatures, true);
	double	   *beta = calloc((size_t) nfeatures + 1, sizeof(double));
	size_t		nsums = gr_pass_nsums(GR_PASS_EXACT, nfeatures);
	double	   *got = calloc(nsums, sizeof(double));
	double	   *want = calloc(nsums, sizeof(double));
	GrSinkOptions options = {.shape = shape_of(nfeatures, single),.kind = GR_SINK_KEEP};
	GrSinkOptions whole = {.shape = gr_plain_shape(nfeatures),.kind = GR_SINK_KEEP};
	const GrBackend *cpu = &gr_backend_cpu;
	GrSink	   *kept = NULL;
	GrSink	   *at_once = NULL;
	GrError		err = {0};
	int64_t		ncalls = -1;
	bool		ok = cpu->sink->begin(NULL, &options, &kept, &err) && cpu->sink->begin(NULL, &whole, &at_once, &err);
	bool		counted = ok && cpu->sink->sent(kept, false, &ncalls, &err) && ncalls == 0;

	for (int j = 0; j <= nfeatures; j++)
		beta[j] = 0.25 * (j % 5) - 0.5;
	for (int64_t done = 0, k = 0; ok && done < nrows; k++)
	{
		int64_t		n = piece_nrows(k, piece, nrows - done);
		char	   *packed = packed_rows(rows + done * (nfeatures + 1), n, nfeatures, single);

		ok = cpu->sink->send(kept, packed, n, &err) && cpu->sink->sent(kept, true, &ncalls, &err);
		counted = counted && ncalls == k + 1;
		memset(packed, 0xff, (size_t) n * gr_row_nbytes(shape_of(nfeatures, single)));
		free(packed);
		done += n;
	}
	ok = ok && cpu->sink->send(at_once, rows, nrows, &err);
	ok = ok && pass_over(kept, nfeatures, beta, got) && pass_over(at_once, nfeatures, beta, want);
	check(ok && got[GR_SUM_NROWS] == (double) nrows && memcmp(got, want, nsums * sizeof(double)) == 0,
		  "rows kept, %d features, %s, pieces of %lld: the same bits as at once", nfeatures, single ? "single" :
		  "float8", (long long) piece);
	check(counted, "rows kept, %d features, %s, pieces of %lld: calls are counted", nfeatures, single ? "single" :
		  "float8", (long long) piece);
	cpu->sink->end(kept);
	cpu->sink->end(at_once);
	free(got);
	free(want);
	free(beta);
	free(rows);
}

/* Checks that memory_limit counts rows as they are kept, in float8. */
static void
test_limit(bool single)
{
	int			p = 4;
	int64_t		capacity = 1000;
	double	   *rows = random_rows(capacity + 1, p, true);
	char	   *packed = packed_rows(rows, capacity + 1, p, single);
	GrSinkOptions options = {
		.shape = shape_of(p, single),.kind = GR_SINK_KEEP,.memory_limit = (size_t) capacity * (p + 1) * sizeof(double)
	};
	GrSink	   *kept = NULL;
	GrError		err = {0};
	int64_t		ncalls = 0;

	check(gr_backend_cpu.sink->begin(NULL, &options, &kept, &err) &&
		  gr_backend_cpu.sink->send(kept, packed, capacity, &err),
		  "%s rows up to the limit are kept", single ? "single" : "float8");
	check(!gr_backend_cpu.sink->send(kept, packed + (size_t) capacity * gr_row_nbytes(shape_of(p, single)), 1, &err) &&
		  err.status == GR_NO_MEMORY &&
		  err.bytes_needed > options.memory_limit, "%s rows beyond the limit are refused", single ? "single" :
		  "float8");
	check(gr_backend_cpu.sink->sent(kept, true, &ncalls, &err) && ncalls == 1, "... and the call doesn't count");
	gr_backend_cpu.sink->end(kept);
	free(packed);
	free(rows);
}

/* Checks that each invalid value is refused. */
static void
test_valid(int nfeatures, bool single)
{
	static const int64_t counts[] = {1, 2, 5, 67};

	for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++)
	{
		int64_t		nrows = counts[c];
		double	   *rows = random_rows(nrows, nfeatures, true);
		bool		named = true;
		bool		finite = true;
		bool		binary = true;

		for (int64_t k = 0; k < nrows * (nfeatures + 1); k++)
		{
			double		value = rows[k];
			int			column = (int) (k % (nfeatures + 1));
			char	   *packed;
			GrError		err = {0};

			rows[k] = k % 3 == 0 ? NAN : k % 3 == 1 ? INFINITY : -INFINITY;
			packed = packed_rows(rows, nrows, nfeatures, single);
			named = named &&
				!gr_rows_valid(packed, nrows, shape_of(nfeatures, single), k % 2 == 0 ? binomial : gaussian, &err) &&
				err.status == GR_NOT_FINITE && err.where == column;
			free(packed);
			rows[k] = column == nfeatures ? 0.5 : k % 2 == 0 ? FLT_MAX : -FLT_MAX;
			packed = packed_rows(rows, nrows, nfeatures, single);
			memset(&err, 0, sizeof(err));
			finite = finite && gr_rows_valid(packed, nrows, shape_of(nfeatures, single), gaussian, &err) &&
				err.status == GR_OK;
			if (column == nfeatures)
				binary = binary && !gr_rows_valid(packed, nrows, shape_of(nfeatures, single), binomial, &err) &&
					err.status == GR_NOT_BINARY && err.value == 0.5;
			else
				binary = binary && gr_rows_valid(packed, nrows, shape_of(nfeatures, single), binomial, &err);
			free(packed);
			rows[k] = value;
		}
		check(named, "%lld rows of %d features, %s: what is not finite is found, and its column", (long long) nrows,
			  nfeatures, single ? "single" : "float8");
		check(finite, "... and what is large is finite");
		check(binary, "... and a response of neither class is found where that matters");
		free(rows);
	}
}

/* Checks a finite response too large for float4, and one beside features whose bytes look like NaN. */
static void
test_responses(void)
{
	double		rows[4] = {1.5, 1e300, -2.5, -1e-300};
	char	   *packed = packed_rows(rows, 2, 1, true);
	double		wide[4];
	GrError		err = {0};

	check(gr_rows_valid(packed, 2, shape_of(1, true), gaussian, &err), "a single row's response has float8's range");
	gr_widen_rows(packed, 2, shape_of(1, true), wide);
	check(memcmp(wide, rows, sizeof(rows)) == 0, "... and its digits");
	check(gr_rows_valid(packed, 0, shape_of(1, true), binomial, &err) &&
		  gr_rows_valid(packed, 0, shape_of(1, false), binomial, &err),
		  "no rows are valid");
	free(packed);
}

int
main(void)
{
	const int	features[] = {1, 2, 3, 8, 29, getenv("GPUREG_LONG") != NULL ? 200 : 120};
	static const int64_t pieces[] = {1, 7, 300, 5000};

	srandom(20240102);
	test_layout();
	for (size_t f = 0; f < sizeof(features) / sizeof(features[0]); f++)
	{
		for (size_t b = 0; b < sizeof(pieces) / sizeof(pieces[0]); b++)
		{
			for (int single = 0; single < 2; single++)
			{
				int64_t		nrows = features[f] > 100 || pieces[b] == 1 ? 700 : 6000;

				test_gram(features[f], nrows, single == 1, pieces[b]);
				test_rows(features[f], nrows, single == 1, pieces[b]);
			}
		}
		if (features[f] < 20)
		{
			test_valid(features[f], false);
			test_valid(features[f], true);
		}
	}
	test_limit(false);
	test_limit(true);
	test_responses();
	return unit_done();
}
