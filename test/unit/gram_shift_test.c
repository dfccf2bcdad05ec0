/*
 * gram_shift_test.c: tests how shifts are chosen, kept or dropped, and sums about one shift made sums about another,
 * against quadruple precision.
 */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "compute/backend/shifted_gram.h"
#include "compute/linalg/gram.h"
#include "compute/linalg/gram_shift.h"
#include "compute/linear/ols.h"
#include "gram_reference.h"
#include "unit.h"

/* 2^-98: a hundred roundings of 2^-105 or so */
#define TOLERANCE 3.2e-30
#define MAX_P 9
#define MAX_COLS (MAX_P + 1)
#define MAX_TRIANGLE ((MAX_P + 2) * (MAX_P + 3) / 2)

typedef struct State
{
	double		hi[MAX_TRIANGLE];
	double		lo[MAX_TRIANGLE];
	double		shift[MAX_COLS];
} State;

/* Returns a number in (-1, 1) with all bits in use. */
static double
uniform(void)
{
	return 2.0 * ((double) random() + (double) random() / 2147483648.0) / 2147483648.0 - 1.0;
}

/*
 * Makes rows whose column j is about 10^(j + 2) with a spread of 1 and all bits in use; every third column is about 0.
 */
static double *
offset_rows(int64_t nrows, int ncols)
{
	double	   *rows = malloc((size_t) nrows * ncols * sizeof(double));

	for (int64_t r = 0; r < nrows; r++)
		for (int j = 0; j < ncols; j++)
			rows[r * ncols + j] = (j % 3 == 2 ? 0.0 : (j % 2 ? -1 : 1) * pow(10, j + 2)) + uniform();
	return rows;
}

/*
 * Returns the largest |hi + lo - g| / size over the triangle. g: the sum in quadruple precision of rows less the
 * state's shift; size: the sum of |z_i z_j|.
 */
static double
state_error(const State *state, const double *rows, int64_t nrows, int p)
{
	double		worst = 0.0;

	for (int i = 0; i < p + 2; i++)
		for (int j = 0; j <= i; j++)
		{
			int			k = i * (i + 1) / 2 + j;
			Quad		sum = 0;
			Quad		size = 0;
			Quad		difference;

			for (int64_t r = 0; r < nrows; r++)
			{
				const double *row = rows + r * (p + 1);
				Quad		product = (i == 0 ? (Quad) 1 : (Quad) row[i - 1] - state->shift[i - 1]) *
					(j == 0 ? (Quad) 1 : (Quad) row[j - 1] - state->shift[j - 1]);

				sum += product;
				size += product < 0 ? -product : product;
			}
			difference = (Quad) state->hi[k] + state->lo[k] - sum;
			if (!(state->hi[k] + state->lo[k] == state->hi[k]))
				return INFINITY;
			if (difference != 0)
				worst = fmax(worst, size > 0 ? fabs((double) (difference / size)) : INFINITY);
		}
	return worst;
}

static GrGram
gram_of(State *state, int p)
{
	return (GrGram) {.hi = state->hi,.lo = state->lo,.shift = state->shift,.nfeatures = p};
}

/* Adds rows in batches like an aggregate: the first batch chooses the shift, later ones may drop columns from it. */
static void
add_rows(State *state, const double *rows, int64_t nrows, int p, int64_t batch)
{
	double		scratch[4000];
	double		narrowed[MAX_COLS];
	GrGram		gram = gram_of(state, p);
	GrPoll		poll = {.host = NULL};

	for (int64_t done = 0; done < nrows; done += batch)
	{
		int64_t		n = nrows - done < batch ? nrows - done : batch;
		const double *from = rows + done * (p + 1);

		if (state->hi[0] == 0)
			gr_shift_choose(state->shift, from, n, gr_plain_shape(p));
		else if (!gr_shift_exact(state->shift, from, n, gr_plain_shape(p)))
		{
			gr_shift_narrow(narrowed, state->shift, from, n, gr_plain_shape(p));
			gr_gram_translate(&gram, narrowed, &poll);
		}
		gr_gram_add(&gram, from, n, gr_plain_shape(p), scratch);
	}
}

typedef struct Choice
{
	double		values[3];
	double		want;
} Choice;

static void
test_choose(void)
{
	static const Choice choices[] = {
		{{1, 2, 3}, 0}, {{17, 17.5, 18}, 18}, {{16, 16.5, 17}, 16}, {{15.9, 16.5, 17}, 0}, {{-17, -17.5, -18}, -18},
			{{0, 0, 0}, 0},
		{{-1, 1, -1}, 0}, {{5, 5, 5}, 5}, {{0.1, 0.1, 0.1}, 0.1}, {{1e-120, 1e-120, 1e-120}, 0},
		{{1e-200, 1e-200, 1e-200}, 1e-200},
		{{1e10, 1e10 + 1, 1e10 + 3}, 1e10 + 2},
		{{1e300, 1e300, 1e300}, 1e300}, {{INFINITY, INFINITY, INFINITY}, 0}, {{NAN, 1, 1}, 0}, {{1, 1, INFINITY}, 0},
		{{1e16, 1e16 + 2, 1e16 + 4}, 1e16}, {{DBL_MAX, DBL_MAX, DBL_MAX}, DBL_MAX}, {{-DBL_MAX, DBL_MAX, 1}, 0}
	};

	for (size_t k = 0; k < sizeof(choices) / sizeof(choices[0]); k++)
	{
		const double *v = choices[k].values;
		double		rows[6] = {v[0], 1e6, v[1], 1e6, v[2], 2e6};
		double		shift[2] = {NAN, NAN};
		bool		any = gr_shift_choose(shift, rows, 3, gr_plain_shape(1));

		if (!check(shift[0] == choices[k].want && shift[1] == 0 && any == (shift[0] != 0), "%.17g, %.17g, %.17g", v[0],
				   v[1], v[2]))
			printf("# got %.17g\n", shift[0]);
	}
}

/*
 * Checks a shift chosen from a column's sums: near its mean if that is far from 0 against the spread, and a multiple of
 * the power of two below the spread; the mean itself without a spread.
 */
static void
test_by_sums(void)
{
	static const struct
	{
		double		mean;
		double		spread;
		double		unit;		/* the shift's last place; 0: no shift */
	}			columns[] = {
		{1000, 1, 1}, {1000.3, 40, 32}, {-1e6, 1e-3, 0x1p-10}, {1e5, 700, 512}, {3e-5, 1e-9, 0x1p-30}, {5, 1, 0},
		{0, 1, 0}, {7, 0, 7}
	};

	for (int k = 0; k < COUNT(columns); k++)
	{
		double		values[200];
		double		hi[6] = {0};
		double		lo[6] = {0};
		double		scratch[2000];
		double		shift[2] = {NAN, NAN};
		double		unit = columns[k].unit;
		bool		any;

		/* columns of that mean and spread, half of the values above the mean */
		for (int r = 0; r < 100; r++)
		{
			values[2 * r] = columns[k].mean + (r % 2 ? 1 : -1) * columns[k].spread;
			values[2 * r + 1] = r;
		}
		gr_gram_add(&(GrGram) {.hi = hi,.lo = lo,.nfeatures = 1}, values, 100, gr_plain_shape(1), scratch);
		any = gr_gram_choose_shift(&(GrGram) {.hi = hi,.lo = lo,.nfeatures = 1}, 8, shift);
		check(any == (unit != 0) && shift[1] == 0 &&
			  (unit == 0 ? shift[0] == 0 : columns[k].spread == 0 ? shift[0] == columns[k].mean :
			   fabs(shift[0] - columns[k].mean) <= unit && shift[0] == rint(shift[0] / unit) * unit),
			  "%g about %g: shifted by %.17g", columns[k].spread, columns[k].mean, shift[0]);
	}
}

/* Checks whether differences are exact against quadruple precision, which holds all of these. */
static void
test_exact(void)
{
	int			nwrong = 0;
	int			nexact = 0;

	for (int turn = 0; turn < 200000; turn++)
	{
		int			p = 1 + (int) (random() % 12);
		double		row[13] = {0};
		double		shift[13] = {0};
		double		narrowed[13];
		bool		exact = true;
		int			j = (int) (random() % (p + 1));

		shift[j] = ldexp(nearbyint(ldexp(uniform(), (int) (random() % 54))), (int) (random() % 30) - 15);
		row[j] = random() % 2 ? shift[j] * (1 + 0.7 * uniform()) :
			ldexp(nearbyint(ldexp(uniform(), 53)), (int) (random() % 40) - 60);
		exact = (Quad) (row[j] - shift[j]) == (Quad) row[j] - shift[j];
		nexact += exact;
		for (int lanes = 1; lanes <= 8; lanes *= 2)
			nwrong += gr_shift_exact_lanes(shift, row, 1, gr_plain_shape(p), lanes) != exact;
		gr_shift_narrow(narrowed, shift, row, 1, gr_plain_shape(p));
		nwrong += narrowed[j] != (exact ? shift[j] : 0);
	}
	check(nwrong == 0 && nexact > 20000 && nexact < 180000, "%d of 200000 differences are exact", nexact);
	for (int bad = 0; bad < 3; bad++)
	{
		double		rows[4] = {1, 1, bad == 0 ? NAN : bad == 1 ? INFINITY : -INFINITY, 1};
		double		shift[2] = {1, 0};

		check(!gr_shift_exact(shift, rows, 2, gr_plain_shape(1)), "nor is that of %g", rows[2]);
	}
}

/*
 * Checks that sums about a shift are as good as sums of the differences, have the same bits on all vectors, and that a
 * shift of 0 is none.
 */
static void
test_sums(void)
{
	for (int p = 1; p <= MAX_P; p++)
	{
		int64_t		nrows = 333;
		double	   *rows = offset_rows(nrows, p + 1);
		double		zeros[MAX_COLS] = {0};
		State		states[4] = {0};
		State		plain = {0};
		GrGram		gram;
		double		scratch[4000];
		double		error;

		add_rows(&states[0], rows, nrows, p, 32);
		for (int v = 1; v < 4; v++)
		{
			memcpy(states[v].shift, states[0].shift, sizeof(zeros));
			gram = gram_of(&states[v], p);
			for (int64_t done = 0; done < nrows; done += 32)
				gr_gram_add_lanes(&gram, rows + done * (p + 1), nrows - done < 32 ? nrows - done : 32,
								  gr_plain_shape(p), scratch, 1 << v);
		}
		error = state_error(&states[0], rows, nrows, p);
		check(error < TOLERANCE && gr_shift_any(states[0].shift, p), "%d features: error %.2g", p, error);
		check(memcmp(&states[0], &states[1], sizeof(State)) == 0 &&
			  memcmp(&states[0], &states[2], sizeof(State)) == 0 &&
			  memcmp(&states[0], &states[3], sizeof(State)) == 0, "%d features: the same bits on all vectors", p);
		memset(&states[1], 0, sizeof(State));
		gram = gram_of(&states[1], p);
		gram.shift = zeros;
		gr_gram_add(&gram, rows, nrows, gr_plain_shape(p), scratch);
		gram = gram_of(&plain, p);
		gram.shift = NULL;
		gr_gram_add(&gram, rows, nrows, gr_plain_shape(p), scratch);
		check(memcmp(&states[1], &plain, sizeof(State)) == 0, "%d features: a shift of 0 is none", p);
		free(rows);
	}
}

/* Moves sums to a shift beside theirs, and to none. */
static void
test_translate(void)
{
	int			p = 7;
	int64_t		nrows = 200;
	double	   *rows = offset_rows(nrows, p + 1);
	GrPoll		poll = {.host = NULL};
	State		state = {0};
	State		moved = {0};
	GrGram		gram = gram_of(&state, p);
	GrGram		copy = gram_of(&moved, p);
	double		to[MAX_COLS] = {0};
	double		error;

	add_rows(&state, rows, nrows, p, 32);
	for (int j = 0; j <= p; j++)
		to[j] = state.shift[j] == 0 ? 0 : state.shift[j] + 0.37 * j;
	gr_gram_copy_about(&copy, &gram, to, &poll);
	gr_gram_translate(&gram, to, &poll);
	check(memcmp(&moved, &state, sizeof(state)) == 0, "a copy to a shift beside");
	error = state_error(&state, rows, nrows, p);
	check(error < 10 * TOLERANCE, "to a shift beside: error %.2g", error);
	gr_gram_translate(&gram, NULL, &poll);
	error = state_error(&state, rows, nrows, p);
	check(error < TOLERANCE, "to none: error %.2g", error);
	free(rows);
}

/*
 * Checks that states of parts, cut anywhere and merged in any order, hold the same sums. kind 0: plain; 1: one part has
 * a column of another offset; 2: wide values.
 */
static void
test_merge(int kind)
{
	int			p = 8;
	int64_t		nrows = 400;
	double		worst = 0;
	bool		kept = true;

	for (int turn = 0; turn < 60; turn++)
	{
		double	   *rows = offset_rows(nrows, p + 1);
		State		sum = {0};
		GrPoll		poll = {.host = NULL};
		int64_t		nparts = 1 + turn % 29;

		for (int64_t part = 0; part < nparts; part++)
		{
			/* 7919 is a prime, so odd turns take the parts in another order */
			int64_t		at = turn % 2 ? (part * 7919) % nparts : part;
			int64_t		first = at * nrows / nparts;
			int64_t		end = (at + 1) * nrows / nparts;
			State		state = {0};
			GrGram		total = gram_of(&sum, p);
			GrGram		gram = gram_of(&state, p);

			for (int64_t r = first; kind > 0 && r < end; r++)
				if (kind == 2 ? r % 37 == 36 : at == nparts / 2)
					rows[r * (p + 1) + 3] = kind == 1 ? 2.5e9 + uniform() : uniform();

			add_rows(&state, rows + first * (p + 1), end - first, p, 32);
			gr_gram_merge(&total, &gram, &poll);
		}
		worst = fmax(worst, state_error(&sum, rows, nrows, p));
		for (int j = 0; j <= p && kind < 2; j++)
			kept &= (sum.shift[j] != 0) == (j % 3 != 2);
		free(rows);
	}
	check(worst < (kind == 1 ? 100 : 10) * TOLERANCE, "merged states, kind %d: error %.2g", kind, worst);
	check(kept, "... and keep their shifts");
}

static void
test_merge_nothing(void)
{
	static const double rows[4] = {1e9, 7, 1e9 + 1, 8};
	State		state = {0};
	State		empty = {0};
	State		sum = {0};
	GrGram		total = gram_of(&sum, 1);
	GrGram		other = gram_of(&state, 1);
	GrPoll		poll = {.host = NULL};

	add_rows(&state, rows, 2, 1, 32);
	empty.shift[0] = 5;
	gr_gram_merge(&total, &other, &poll);
	other = gram_of(&empty, 1);
	gr_gram_merge(&total, &other, &poll);
	check(memcmp(&sum, &state, sizeof(State)) == 0 && state.shift[0] != 0,
		  "no rows change nothing, whatever their shift");
}

/*
 * Checks a backend's job over blocks. outliers: row 250 has a value that its column's shift doesn't suit, row 251
 * another in another column, and the response's.
 */
static void
test_job(bool single, bool outliers)
{
	int			p = 6;
	int64_t		nrows = 400;
	double	   *rows = offset_rows(nrows, p + 1);
	char	   *sent = malloc((size_t) nrows * (p + 2) * sizeof(double));
	size_t		row_nbytes = gr_row_nbytes(shape_of(p, single));
	GrSinkOptions options = {.shape = shape_of(p, single)};
	State		state = {0};
	GrGram		sums = gram_of(&state, p);
	GrShiftedGram s;
	GrSink	   *gram;
	GrError		err = {0};
	int64_t		ncalls = 0;
	bool		ok;
	double		error;

	for (int64_t r = 0; r < nrows; r++)
	{
		double	   *row = rows + r * (p + 1);

		if (outliers && r == 250)
			row[3] = 0.3e-9;
		if (outliers && r == 251)
			row[1] = row[p] = ldexp(0.7, -20);
		for (int j = 0; single && j < p; j++)
			row[j] = (float) row[j];
		if (!single)
			memcpy(sent + r * row_nbytes, row, row_nbytes);
		for (int j = 0; single && j < p; j++)
		{
			float		value = (float) row[j];

			memcpy(sent + r * row_nbytes + j * sizeof(float), &value, sizeof(float));
		}
		if (single)
			memcpy(sent + r * row_nbytes + p * sizeof(float), &row[p], sizeof(double));
	}
	ok = gr_backend_cpu.sink->begin(NULL, &options, &gram, &err) &&
		gr_shifted_begin(&s, gr_backend_cpu.sink, gram, &options, &err) &&
		gr_shifted_send(&s, sent, 0, &err);
	for (int64_t done = 0; ok && done < nrows; done += 50)
		ok = gr_shifted_send(&s, sent + done * row_nbytes, 50, &err);
	ok = ok && gr_backend_cpu.sink->sent(gram, true, &ncalls, &err) && ncalls == 1 + nrows / 50 &&
		gr_shifted_finish(&s, &sums, &err);
	gr_shifted_end(&s);
	gr_backend_cpu.sink->end(gram);
	error = state_error(&state, rows, nrows, p);
	check(ok && error < TOLERANCE && state.shift[0] != 0 && (state.shift[3] != 0) == !outliers &&
		  (state.shift[1] != 0) == !outliers && (state.shift[p] != 0) == !outliers, "a job of %s rows%s: error %.2g",
		  single ? "single" : "float8", outliers ? " with outliers" : "", error);
	free(rows);
	free(sent);
}

static bool
always(void *arg)
{
	(void) arg;
	return true;
}

static void
test_cancel(void)
{
	static const GrHost host = {.canceled = always};
	int			p = 700;
	double	   *room = calloc(2 * gr_gram_ndoubles(p), sizeof(double));
	GrGram		gram = gr_gram_at(room, p);
	GrGram		other = gr_gram_at(room + gr_gram_ndoubles(p), p);
	GrPoll		poll = {.host = &host};

	gram.hi[0] = other.hi[0] = 1;
	gram.shift[0] = 1;
	check(!gr_gram_translate(&gram, NULL, &poll), "a translation hears of cancel");
	check(!gr_gram_merge(&gram, &other, &poll), "a merge, too");
	free(room);
}

/*
 * Checks that a job is canceled while it moves its sums to another shift, here at the row that doesn't suit the first.
 */
static void
test_job_canceled(void)
{
	static const GrHost host = {.canceled = always};
	int			p = 3;
	double	   *rows = offset_rows(50, p + 1);
	GrSinkOptions options = {.shape = shape_of(p, false)};
	GrShiftedGram s;
	GrSink	   *gram;
	GrError		err = {0};
	bool		ok;

	ok = gr_backend_cpu.sink->begin(NULL, &options, &gram, &err) &&
		gr_shifted_begin(&s, gr_backend_cpu.sink, gram, &options, &err) && gr_shifted_send(&s, rows, 50, &err);
	s.poll.host = &host;
	s.poll.work = GR_POLL_WORK;
	rows[0] = 0.3e-9;
	check(ok && !gr_shifted_send(&s, rows, 1, &err) && err.status == GR_CANCELED, "a job hears of cancel");
	gr_shifted_end(&s);
	gr_backend_cpu.sink->end(gram);
	free(rows);
}

int
main(void)
{
	srandom(20251101);
	test_choose();
	test_by_sums();
	test_exact();
	test_sums();
	test_translate();
	for (int kind = 0; kind < 3; kind++)
		test_merge(kind);
	test_merge_nothing();
	for (int k = 0; k < 4; k++)
		test_job(k % 2 == 1, k >= 2);
	test_cancel();
	test_job_canceled();
	return unit_done();
}
