/*
 * gram_test.c: tests the CPU's Gram kernels and double-double arithmetic against quadruple precision.
 */
#include <float.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "compute/backend/backend.h"
#include "compute/linalg/gram.h"
#include "gram_reference.h"
#include "unit.h"

/* 2^-98: a hundred roundings of 2^-105 or so */
#define TOLERANCE 3.2e-30

static double
uniform(void)
{
	return 2.0 * ((double) random() + 0.5) / 2147483648.0 - 1.0;
}

/* Makes random rows. kind 0: uniform in (-1, 1); 1: a mean of 1e6; 2: magnitudes from 1e-6 to 1e6. */
static double *
random_rows(int64_t nrows, int ncols, int kind)
{
	double	   *rows = malloc((size_t) (nrows > 0 ? nrows : 1) * ncols * sizeof(double));

	for (int64_t k = 0; k < nrows * ncols; k++)
		rows[k] = kind == 0 ? uniform() : kind == 1 ? 1e6 + uniform() : uniform() * pow(10, 6 * uniform());
	return rows;
}

/* Sums rows in blocks of block_nrows on vectors of at most lanes doubles. */
static void
sum_rows(const double *rows, int64_t nrows, int nfeatures, int64_t block_nrows, int lanes, double *hi, double *lo)
{
	size_t		nbytes = (size_t) gr_triangle(nfeatures + 2) * sizeof(double);
	double	   *scratch = malloc(gr_gram_scratch_nbytes(gr_plain_shape(nfeatures)));
	GrGram		gram = {.hi = hi,.lo = lo,.nfeatures = nfeatures};

	memset(hi, 0, nbytes);
	memset(lo, 0, nbytes);
	for (int64_t at = 0; at < nrows; at += block_nrows)
	{
		int64_t		n = nrows - at < block_nrows ? nrows - at : block_nrows;

		gr_gram_add_lanes(&gram, rows + at * (nfeatures + 1), n, gr_plain_shape(nfeatures), scratch, lanes);
	}
	free(scratch);
}

static void
test_shapes(void)
{
	static const int features[] = {1, 2, 3, 5, 6, 7, 8, 13, 14, 15, 29, 64, 101};
	static const int64_t counts[] = {0, 1, 2, 31, 32, 63, 64, 65, 200, 5003};

	for (size_t f = 0; f < sizeof(features) / sizeof(features[0]); f++)
	{
		int			p = features[f];
		int64_t		triangle = gr_triangle(p + 2);
		double	   *hi = malloc(6 * triangle * sizeof(double));
		double		worst = 0;
		bool		same = true;

		for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++)
		{
			double	   *rows = random_rows(counts[c], p + 1, (f + c) % 3);
			double		error;

			for (int v = 0; v < 3; v++)
				sum_rows(rows, counts[c], p, 97, v == 0 ? 8 : v == 1 ? 4 : 1, hi + 2 * v * triangle, hi +
						 (2 * v + 1) * triangle);
			same = same && memcmp(hi, hi + 2 * triangle, 2 * triangle * sizeof(double)) == 0 &&
				memcmp(hi, hi + 4 * triangle, 2 * triangle * sizeof(double)) == 0;
			error = gram_reference_error(rows, counts[c], p, hi, hi + triangle);
			worst = error > worst ? error : worst;
			free(rows);
		}
		check(worst < TOLERANCE, "%d features: error %.2g of the sum of magnitudes", p, worst);
		check(same, "%d features: the same bits on vectors of 8, 4 and 1", p);
		free(hi);
	}
}

static void
test_merge(void)
{
	int			p = 9;
	int64_t		n = 4000;
	int64_t		triangle = gr_triangle(p + 2);
	double	   *rows = random_rows(n, p + 1, 2);
	double	   *a = malloc(4 * triangle * sizeof(double));
	double	   *b = a + 2 * triangle;
	double		error;

	sum_rows(rows, 1234, p, 32, 4, a, a + triangle);
	sum_rows(rows + 1234 * (p + 1), n - 1234, p, 64, 4, b, b + triangle);
	gr_dd_add_vector((GrDDVector) {a, a + triangle}, (GrDDConstVector) {b, b + triangle}, triangle);
	error = gram_reference_error(rows, n, p, a, a + triangle);
	check(error < TOLERANCE, "two halves merge: error %.2g", error);
	free(rows);
	free(a);
}

/* Draws entries of all sizes and either sign, which cancel or don't, in lengths that leave every rest of a vector. */
static void
test_merge_bits(void)
{
	double		sums[2][40];
	double		others[2][40];
	bool		same = true;

	for (int n = 0; n <= 40; n++)
		for (int lanes = 1; lanes <= 8; lanes += lanes == 1 ? 3 : 4)
		{
			double		merged[2][40];

			for (int k = 0; k < n; k++)
			{
				GrDD		a = gr_two_sum(ldexp(uniform() - 0.5, (int) (random() % 60)), uniform() * 0x1p-40);
				GrDD		b = k % 5 == 0 ? gr_dd_neg(a) :
				gr_two_sum(ldexp(uniform() - 0.5, (int) (random() % 60)), uniform() * 0x1p-40);

				sums[0][k] = k % 7 == 0 ? -0.0 : a.hi;
				sums[1][k] = k % 7 == 0 ? -0.0 : a.lo;
				others[0][k] = k % 14 == 0 ? -0.0 : b.hi;
				others[1][k] = k % 14 == 0 ? -0.0 : b.lo;
			}
			memcpy(merged, sums, sizeof(sums));
			gr_dd_add_vector_lanes((GrDDVector) {merged[0], merged[1]}, (GrDDConstVector) {others[0], others[1]}, n,
								   lanes);
			for (int k = 0; k < n; k++)
			{
				GrDD		one = gr_dd_add((GrDD) {sums[0][k], sums[1][k]}, (GrDD) {others[0][k], others[1][k]});

				same = same && memcmp(&one.hi, &merged[0][k], sizeof(double)) == 0 &&
					memcmp(&one.lo, &merged[1][k], sizeof(double)) == 0;
			}
		}
	check(same, "merged sums are those of their entries, to the bit, on vectors of 8, 4 and 1");
}

static void
test_finite(void)
{
	double		rows[15];
	int			column = -1;

	for (int bad = 0; bad < 15; bad++)
	{
		for (int k = 0; k < 15; k++)
			rows[k] = k * 1e300;
		check(gr_all_finite(rows, 5, 3, &column), "finite rows pass");
		rows[bad] = bad % 3 == 0 ? NAN : bad % 3 == 1 ? INFINITY : -INFINITY;
		check(!gr_all_finite(rows, 5, 3, &column) && column == bad % 3, "value %d: the column is named", bad);
	}
}

static void
test_overflow(void)
{
	double		rows[6] = {1, 1e200, 1, 2, 1, 1};
	double		hi[10] = {0};
	double		lo[10] = {0};
	double		scratch[2000];
	int			column = -1;

	gr_gram_add(&(GrGram) {.hi = hi,.lo = lo,.nfeatures = 2}, rows, 2, gr_plain_shape(2), scratch);
	check(!gr_gram_finite(hi, 2, &column) && column == 1, "squares that overflow name their column");
}

/* Checks gr_dd_minus_dot() against quadruple precision, by lengths, and that all vectors give the same bits. */
static void
test_dot(void)
{
	double		ahi[1000],
				alo[1000],
				bhi[1000],
				blo[1000];
	GrDDConstVector a = {ahi, alo};
	GrDDConstVector b = {bhi, blo};
	double		worst = 0;
	double		worst_magnitude = 0;
	bool		same = true;

	for (int n = 0; n <= 1000; n += n < 40 ? 1 : 137)
	{
		GrDD		start = {uniform(), 0};
		Quad	want = start.hi;
		Quad	sum = fabs(start.hi);
		double		magnitude[3];
		GrDD		got[3];
		double		error;

		for (int k = 0; k < n; k++)
		{
			ahi[k] = uniform() * pow(10, 3 * uniform());
			bhi[k] = uniform() * pow(10, 3 * uniform());
			alo[k] = ahi[k] * ldexp(uniform(), -54);
			blo[k] = bhi[k] * ldexp(uniform(), -54);
			want -= ((Quad) ahi[k] + alo[k]) * ((Quad) bhi[k] + blo[k]);
			sum += fabs(ahi[k] * bhi[k]);
		}
		for (int v = 0; v < 3; v++)
			got[v] = gr_dd_minus_dot_lanes(start, a, b, n, &magnitude[v], v == 0 ? 8 : v == 1 ? 4 : 1);
		same = same && memcmp(&got[0], &got[1], sizeof(GrDD)) == 0 && memcmp(&got[0], &got[2], sizeof(GrDD)) == 0;
		error = fabs((double) ((got[0].hi + (Quad) got[0].lo - want) / sum));
		worst = error > worst ? error : worst;
		error = relative_error(magnitude[0], (double) sum);
		worst_magnitude = error > worst_magnitude ? error : worst_magnitude;
	}
	check(worst < TOLERANCE, "dot product: error %.2g of the sum of magnitudes", worst);
	check(worst_magnitude < 1e-13, "dot product: the sum of magnitudes, error %.2g", worst_magnitude);
	check(same, "dot product: the same bits on vectors of 8, 4 and 1");
}

/* Returns the largest |a op b - exact| / |exact| over random double-doubles, in units of 2^-106. */
static void
test_dd(void)
{
	double		worst[4] = {0};

	for (int k = 0; k < 200000; k++)
	{
		double		x = ldexp(uniform(), (int) (random() % 40));
		double		y = ldexp(uniform(), (int) (random() % 40));
		GrDD		a = gr_fast_two_sum(x, ldexp(x * uniform(), -54));
		GrDD		b = gr_fast_two_sum(y, ldexp(y * uniform(), -54));
		Quad	qa = (Quad) a.hi + a.lo;
		Quad	qb = (Quad) b.hi + b.lo;
		GrDD		got[4] = {gr_dd_add(a, b), gr_dd_mul(a, b), gr_dd_div(a, b), gr_dd_mul_d(a, y)};
		Quad	want[4] = {qa + qb, qa * qb, qa / qb, qa * y};

		for (int op = 0; op < 4; op++)
		{
			Quad	error = (((Quad) got[op].hi + got[op].lo) - want[op]) / want[op];
			double		e = fabs((double) error);

			worst[op] = e > worst[op] ? e : worst[op];
			if (got[op].hi + got[op].lo != got[op].hi)
				worst[op] = INFINITY;
		}
	}
	/* bounds of Joldes, Muller and Popescu (2017), u = 2^-53, plus quadruple precision's own rounding */
	check(worst[0] < 3.1 * 0x1p-106 + 0x1p-112, "sum: %.3g", worst[0]);
	check(worst[1] < 4.1 * 0x1p-106 + 0x1p-112, "product: %.3g", worst[1]);
	check(worst[2] < 15.1 * 0x1p-106 + 0x1p-112, "quotient: %.3g", worst[2]);
	check(worst[3] < 2.1 * 0x1p-106 + 0x1p-112, "product with a double: %.3g", worst[3]);
}

/* Checks that the CPU's job polls while it computes, also within a row of blocks, and gives the same bits. */
static void
test_polls(bool single)
{
	int			p = 500;
	int64_t		nrows = 200;
	size_t		n = (size_t) gr_triangle(p + 2);
	double	   *rows = random_rows(nrows, p + 2, 0);	/* enough bytes for either kind */
	double	   *sums[2] = {malloc(2 * n * sizeof(double)), malloc(2 * n * sizeof(double))};
	Stopper		stopper = {.stop_at = INT_MAX};
	GrHost		host = {.canceled = stop,.arg = &stopper};
	int			nasked = 0;
	int			nwrong = 0;

	for (size_t k = 0; single && k < 2 * (size_t) nrows * (p + 2); k++)
		((float *) rows)[k] = (float) (k % 97) / 97;
	for (int turn = 0; turn < 10; turn++)
	{
		GrSinkOptions options = {.shape = shape_of(p, single),.host = turn > 0 ? &host : NULL};
		GrSink	   *gram;
		GrError		err = {0};

		stopper.asked = 0;
		stopper.stop_at = turn < 2 ? INT_MAX : (turn - 1) * nasked / 8;
		nwrong += !gr_backend_cpu.sink->begin(NULL, &options, &gram, &err);
		if (turn < 2)
			nwrong += !gr_backend_cpu.sink->send(gram, rows, nrows, &err) ||
				!gr_backend_cpu.sink->finish(gram, (GrDDVector) {sums[turn], sums[turn] + n}, &err);
		else
			nwrong += gr_backend_cpu.sink->send(gram, rows, nrows, &err) || err.status != GR_CANCELED ||
				stopper.asked != stopper.stop_at;
		nasked = turn == 1 ? stopper.asked : nasked;
		gr_backend_cpu.sink->end(gram);
	}
	check(nwrong == 0 && nasked >= 8 && memcmp(sums[0], sums[1], 2 * n * sizeof(double)) == 0, "%s rows: %d polls",
		  single ? "single" : "float8", nasked);
	free(rows);
	free(sums[0]);
	free(sums[1]);
}

int
main(void)
{
	srandom(20240101);
	test_dd();
	test_dot();
	test_shapes();
	test_merge();
	test_merge_bits();
	test_finite();
	test_overflow();
	test_polls(false);
	test_polls(true);
	return unit_done();
}
