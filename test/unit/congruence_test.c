/*
 * congruence_test.c: tests A M A' of congruence.h against sums in quadruple precision, and that all instruction sets
 * give the same bits.
 */
#include <stdlib.h>
#include <string.h>

#include "compute/base/dd.h"
#include "compute/linalg/congruence.h"
#include "unit.h"

static double
uniform(void)
{
	return 2.0 * ((double) random() + (double) random() / 2147483648.0) / 2147483648.0 - 1.0;
}

/* Returns the product of entry (i, j) in quadruple precision, and in *size the sum of the products' magnitudes. */
static __float128
expected(const GrCongruence *c, int i, int j, double *size)
{
	__float128	sum = 0;

	*size = 0;
	for (int k = 0; k < c->n; k++)
		for (int l = 0; l < c->n; l++)
		{
			int			row = c->from + (k > l ? k : l);
			int			column = c->from + (k > l ? l : k);
			int64_t		at = gr_packed(row, column);
			__float128	term = (__float128) c->a[i * c->n + k] * c->a[j * c->n + l];

			term *= (__float128) c->middle.hi[at] + c->middle.lo[at];
			sum += term;
			*size += fabs((double) term);
		}
	return sum * c->factor;
}

/* Returns the largest error of some entries, over the magnitude of their terms. */
static double
error_of(const GrCongruence *c)
{
	double		worst = 0;

	for (int i = 0; i < c->n; i += 1 + c->n / 9)
		for (int j = 0; j <= i; j += 1 + c->n / 7)
		{
			double		size;
			__float128	right = expected(c, i, j, &size);
			GrDD		entry = gr_dd_get(c->result, gr_packed(i, j));
			double		error = fabs((double) (entry.hi - right + entry.lo));

			worst = fmax(worst, size == 0 ? (error == 0 ? 0 : 1) : error / (size * fabs(c->factor)));
		}
	return worst;
}

/* Tests a product of order n whose middle begins at row `from`; holes: every third row of A is 0. */
static void
test_order(int n, int from, bool holes, double factor)
{
	int64_t		size = gr_triangle(n);
	int64_t		nmiddle = gr_triangle(n + from);
	double	   *a = calloc((size_t) n * (size_t) n, sizeof(double));
	double	   *middle = malloc(2 * (size_t) nmiddle * sizeof(double));
	double	   *result = malloc(2 * (size_t) size * sizeof(double));
	double	   *first = malloc(2 * (size_t) size * sizeof(double));
	double	   *scratch = malloc((size_t) gr_congruence_ndoubles(n) * sizeof(double));
	GrCongruence c = {
		.n = n,.a = a,.middle = {middle, middle + nmiddle},.from = from,.factor = factor,
		.result = {result, result + size},.scratch = scratch
	};
	GrPoll		poll = {.host = NULL};
	bool		same = true;

	for (int k = 0; k < n * n; k++)
		a[k] = holes && k / n % 3 == 1 ? 0 : uniform() * ldexp(1, k % 5);
	for (int64_t k = 0; k < nmiddle; k++)
	{
		middle[k] = uniform();
		middle[nmiddle + k] = middle[k] * uniform() * 0x1p-54;
	}
	for (int lanes = 1; lanes <= 8; lanes *= 2)
	{
		c.max_lanes = lanes;
		memset(result, 0xff, 2 * (size_t) size * sizeof(double));
		same &= gr_congruence(&c, &poll);
		if (lanes == 1)
			memcpy(first, result, 2 * (size_t) size * sizeof(double));
		same &= memcmp(first, result, 2 * (size_t) size * sizeof(double)) == 0;
	}
	check(same && error_of(&c) < 1e-28, "order %d from row %d: error %.2g", n, from, error_of(&c));
	free(a);
	free(middle);
	free(result);
	free(first);
	free(scratch);
}

/* Checks that a product ends when the host asks to stop. */
static void
test_stop(void)
{
	enum {N = 400};
	Stopper		stopper = {.stop_at = 1};
	GrHost		host = {.canceled = stop,.arg = &stopper};
	GrPoll		poll = {.host = &host};
	double	   *zeros = calloc((size_t) N * N, sizeof(double));
	double	   *result = calloc(2 * (size_t) gr_triangle(N), sizeof(double));
	double	   *scratch = malloc((size_t) gr_congruence_ndoubles(N) * sizeof(double));
	GrCongruence c = {
		.n = N,.a = zeros,.middle = {zeros, zeros},.factor = 1,.result = {result, result + gr_triangle(N)},
		.scratch = scratch,.max_lanes = 8
	};

	check(!gr_congruence(&c, &poll), "a canceled product");
	free(zeros);
	free(result);
	free(scratch);
}

int
main(void)
{
	static const int orders[] = {1, 2, 7, 8, 31, 32, 33, 64, 65, 128, 129, 150};

	for (int k = 0; k < COUNT(orders); k++)
		test_order(orders[k], k % 3, k % 2 == 1, k % 4 == 0 ? 1 : 1.3);
	test_stop();
	return unit_done();
}
