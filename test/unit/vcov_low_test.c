/*
 * vcov_low_test.c: tests the low halves of covariances: of an inverse that is known exactly, written as text and read
 * again, invalid texts, and when the halves are worth keeping.
 */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "compute/linear/vcov_low.h"
#include "gram_reference.h"
#include "unit.h"

#define N 3

/*
 * Checks sums of rows (1, x, y), x = 1000 + i / 64 and y = i % 2, i = 0 .. 63: the inverse of X'X is adj / det, both of
 * which are integers in units of powers of two.
 */
static void
test_solve(void)
{
	double		hi[6] = {0};
	double		lo[6] = {0};
	double		coef[2];
	double		vcov[4];
	double		low[3];
	GrOlsFit	fit = {.coef = coef,.vcov = vcov,.vcov_low = low,.intercept = true};
	GrGram		gram = {.hi = hi,.lo = lo,.nfeatures = 1,.nobs = 64};
	GrError		err = {0};
	void	   *workspace = malloc(gr_normal_workspace_nbytes(1));
	Quad		det;
	Quad		want[3];
	Quad		worst = 0;
	Quad		rounded = 0;

	for (int i = 0; i < 64; i++)
	{
		double		row[N] = {1, 1000 + i / 64.0, i % 2};

		for (int a = 0, k = 0; a < N; a++)
			for (int b = 0; b <= a; b++, k++)
				hi[k] += row[a] * row[b];
	}
	check(gr_ols_solve(&gram, workspace, &fit, NULL, &err), "a fit is solved");
	det = (Quad) hi[0] * hi[2] - (Quad) hi[1] * hi[1];
	/* times the residual sum of squares over the degrees of freedom */
	{
		Quad		b1 = ((Quad) hi[0] * hi[4] - (Quad) hi[1] * hi[3]) / det;
		Quad		b0 = ((Quad) hi[3] - b1 * hi[1]) / hi[0];
		Quad		sigma2 = ((Quad) hi[5] - b0 * hi[3] - b1 * hi[4]) / 62;

		want[0] = sigma2 * hi[2] / det;
		want[1] = -sigma2 * hi[1] / det;
		want[2] = sigma2 * hi[0] / det;
	}
	for (int a = 0, k = 0; a < 2; a++)
		for (int b = 0; b <= a; b++, k++)
		{
			Quad		off = ((Quad) vcov[2 * a + b] + low[k] - want[k]) / want[k];
			Quad		hi_off = ((Quad) vcov[2 * a + b] - want[k]) / want[k];

			worst = off > worst ? off : -off > worst ? -off : worst;
			rounded = hi_off > rounded ? hi_off : -hi_off > rounded ? -hi_off : rounded;
			check(fabs(low[k]) <= fabs(vcov[2 * a + b]) * DBL_EPSILON, "entry %d, %d: what is left is small", a, b);
		}
	/* the condition number of the scaled sums is 1e7 */
	check(worst < 1e-24 && rounded > 1e-18, "with what is left the covariances have %.1f digits",
		  -log10((double) worst));
	free(workspace);
}

static void
test_text(void)
{
	const double vcov[N * N] = {4, 1, NAN, 1, 2, NAN, NAN, NAN, NAN};
	const double low[6] = {1e-17, -2e-18, 0, NAN, INFINITY, 3};
	double		again[6];
	char		text[97];
	GrWriter	w = {.text = text,.size = sizeof(text)};
	GrString	string = {.bytes = text};

	gr_vcov_low_write(&w, low, N);
	check(w.nbytes == 96, "16 digits an entry");
	string.nbytes = (int) w.nbytes;
	check(gr_vcov_low_read(&string, vcov, N, again) && again[0] == low[0] && again[1] == low[1] && again[2] == 0 &&
		  again[3] == 0 && again[4] == 0 && again[5] == 0, "read again; nothing is left of what isn't known");
	string.nbytes = 95;
	check(!gr_vcov_low_read(&string, vcov, N, again), "a text that is too short");
	string.nbytes = 96;
	check(!gr_vcov_low_read(&string, vcov, GR_LOW_TERMS_MAX + 1, again), "too many terms");
	text[3] = 'g';
	check(!gr_vcov_low_read(&string, vcov, N, again), "no digit");
	memcpy(text, "3ff0000000000000", 16);
	check(!gr_vcov_low_read(&string, vcov, N, again), "more than rounding leaves");
	memcpy(text, "7ff8000000000000", 16);
	check(!gr_vcov_low_read(&string, vcov, N, again), "NaN");
}

static bool
loses(double covariance, double variance)
{
	double		vcov[N * N] = {1, covariance, NAN, covariance, variance, NAN, NAN, NAN, NAN};
	double		work[N * N];

	return gr_vcov_loses_digits(vcov, N, work);
}

static void
test_loses(void)
{
	check(!loses(0, 1) && !loses(0.9, 1) && !loses(0.999, 1), "correlations up to 0.999 lose no digits that matter");
	check(loses(0.9999, 1) && loses(-0.9999, 1) && loses(1, 1) && loses(2, 1), "those above do");
	check(!loses(9e99, 1e200) && loses(0.9999e100, 1e200) && !loses(0, 0), "at any scale, and not without a variance");
	check(loses(NAN, 1), "what isn't known isn't taken for precise");
}

int
main(void)
{
	test_solve();
	test_text();
	test_loses();
	return unit_done();
}
