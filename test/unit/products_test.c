/*
 * products_test.c: tests the vector kernels of predictions: sums of products against plain loops, to the bit; quadratic
 * forms against exact sums of integers and where float8 would cancel; and sums of marginal effects against sums row by
 * row in double-double.
 */
#include <stdlib.h>
#include <string.h>

#include "compute/glm/margin_sums.h"
#include "compute/linalg/products.h"
#include "compute/linalg/quadratic.h"

#include "unit.h"

#define N_MAX 70
#define NROWS 300
#define P 11

static uint32_t seed = 1;

/* Returns a number between -1 and 1. */
static double
draw(void)
{
	seed = seed * 1664525u + 1013904223u;
	return ((double) (seed >> 8) / (1 << 23)) - 1;
}

static double
sum_plainly(const double *b, const double *x, int n)
{
	double		sums[4] = {0};

	for (int k = 0; k < n; k++)
		sums[k < n - n % 4 ? k % 4 : 0] += b[k] * x[k];
	return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

static void
test_products(void)
{
	double		b[N_MAX];
	double		x[N_MAX];
	float		single[N_MAX];
	int			nsame = 0;

	for (int k = 0; k < N_MAX; k++)
	{
		b[k] = draw();
		x[k] = single[k] = (float) draw();
	}
	for (int n = 0; n < N_MAX; n++)
	{
		double		want = sum_plainly(b, x, n);

		nsame += gr_sum_products(b, x, n) == want && gr_sum_products_single(b, single, n) == want ? 1 : 0;
	}
	check(nsame == N_MAX, "sums of %d lengths have the bits of a plain loop", N_MAX);
	single[5] = INFINITY;
	check(isinf(gr_sum_products_single(b, single, 40)), "an infinite value gives an infinite sum");
}

/* Sets element i, j of the lower triangle of a packed matrix. */
static void
set(double *packed, int i, int j, double value)
{
	packed[gr_quadratic_at(i, j)] = i == j ? value : 2 * value;
}

static void
test_integers(void)
{
	int			nsame = 0;

	for (int n = 1; n < 40; n++)
	{
		double	   *packed = calloc(gr_quadratic_size(n), sizeof(double));
		double		x[40];
		double		want = 0;

		for (int i = 0; i < n; i++)
			x[i] = floor(1000 * draw());
		for (int i = 0; i < n; i++)
			for (int j = 0; j <= i; j++)
			{
				double		v = floor(1000 * draw());

				set(packed, i, j, v);
				want += (i == j ? 1 : 2) * v * x[i] * x[j];
			}
		nsame += gr_quadratic_form(packed, NULL, n, x) == want ? 1 : 0;
		free(packed);
	}
	check(nsame == 39, "quadratic forms of integers are exact: %d of 39", nsame);
}

/* Checks a form of which all but 2^-50 cancels, and one of which all but a low half does. */
static void
test_cancellation(void)
{
	double	   *packed = calloc(gr_quadratic_size(9), sizeof(double));
	double	   *low = calloc(gr_quadratic_size(9), sizeof(double));
	double		x[9] = {0};

	x[0] = x[8] = 3;
	set(packed, 0, 0, 1);
	set(packed, 8, 0, -1);
	set(packed, 8, 8, 1 + 0x1p-50);
	check(gr_quadratic_form(packed, NULL, 9, x) == 9 * 0x1p-50, "a form of which nearly all cancels is exact");
	set(packed, 8, 8, 1);
	set(low, 8, 0, 0x1p-60);
	check(gr_quadratic_form(packed, low, 9, x) == 18 * 0x1p-60, "and so is one of low halves");
	free(packed);
	free(low);
}

/* Adds a row to sums, in double-double. */
static void
add_row(const GrMarginModel *model, const double *row, GrDD *sums)
{
	GrDD		eta = gr_two_sum(gr_row_offset(row, model->shape), model->beta[0]);
	double		curvature;

	for (int k = 0; k < P; k++)
		eta = gr_dd_add(eta, gr_two_prod(row[k], model->beta[1 + k]));
	curvature = gr_mean_curvature(model->link, gr_dd_to_double(eta));
	sums[0] = gr_dd_add(sums[0], gr_dd(gr_mean_slope(model->link, gr_dd_to_double(eta))));
	sums[1] = gr_dd_add(sums[1], gr_dd(curvature));
	for (int k = 0; k < P; k++)
		sums[2 + k] = gr_dd_add(sums[2 + k], gr_two_prod(row[k], curvature));
}

static void
test_margins(GrLink link, bool offset)
{
	const GrRowShape shape = {.nfeatures = P,.offset = offset};
	int			ncols = gr_row_ncols(shape);
	double	   *rows = malloc((size_t) NROWS * ncols * sizeof(double));
	double	   *scratch = malloc(gr_margin_scratch(P) * sizeof(double));
	double		beta[P + 1];
	const GrMarginModel model = {.link = link,.shape = shape,.beta = beta};
	GrDD		got[P + 2] = {{0, 0}};
	GrDD		want[P + 2] = {{0, 0}};
	int			nsame = 0;

	for (int k = 0; k <= P; k++)
		beta[k] = draw() + (k == 0 ? 20 : 0);
	for (int k = 0; k < NROWS * ncols; k++)
		rows[k] = draw();
	/* pieces of all lengths: full, and of a rest */
	gr_margin_sums_add(&model, rows, GR_MARGIN_ROWS, scratch, got);
	gr_margin_sums_add(&model, rows + (size_t) GR_MARGIN_ROWS * ncols, 1, scratch, got);
	gr_margin_sums_add(&model, rows + (size_t) (GR_MARGIN_ROWS + 1) * ncols, NROWS - GR_MARGIN_ROWS - 1, scratch, got);
	for (int k = 0; k < NROWS; k++)
		add_row(&model, rows + (size_t) k * ncols, want);
	for (int k = 0; k < P + 2; k++)
		nsame += gr_dd_to_double(got[k]) == gr_dd_to_double(want[k]) ? 1 : 0;
	check(nsame == P + 2, "effects of link %d, offset %d: %d sums of %d agree", (int) link, (int) offset, nsame, P + 2);
	free(rows);
	free(scratch);
}

int
main(void)
{
	test_products();
	test_integers();
	test_cancellation();
	for (int link = 0; link < GR_NLINKS; link++)
		test_margins((GrLink) link, link % 2 == 1);
	return unit_done();
}
