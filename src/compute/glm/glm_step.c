/* glm_step.c: a single Newton step from the sums of a pass; see glm_fit.h. */
#include <math.h>
#include <string.h>

#include "compute/glm/glm_row.h"
#include "compute/glm/newton_step.h"
#include "compute/glm/response_unit.h"
#include "compute/linear/variance.h"

size_t
gr_glm_step_nbytes(int nfeatures)
{
	int			nterms = gr_nterms(nfeatures);

	return gr_normal_workspace_nbytes(nterms) + (size_t) nterms * sizeof(bool);
}

/* Returns the null deviance of binary responses from their totals, or NaN for other families. */
static double
step_null_deviance(GrDistribution distribution, bool intercept, double nrows, double nones)
{
	if (!gr_family(distribution.family)->is_binary)
		return NAN;
	if (intercept)
		return gr_binomial_null_deviance(nrows, nones);
	if (gr_is_logistic(distribution))
		return 2 * nrows * log(2.0);
	return 2 * (nones * gr_glm_row(distribution, 0, 1, 1).half_deviance +
				(nrows - nones) * gr_glm_row(distribution, 0, 0, 1).half_deviance);
}

/*
 * Sets the members of step that say how exact the step is. hi: the Hessian's triangle, whose row first + 1 is that of
 * the first term. Returns false if canceled.
 */
static bool
measure_step(GrGlmStep *step, const double *beta, const double *hi, int first, const bool *left_out,
			 const GrHost *host)
{
	bool		estimated = gr_family(step->distribution.family)->has_dispersion;
	double		length = 0;
	double		inflation = 0;
	GrDigits	digits;

	for (int k = 0; k < step->nterms; k++)
	{
		double		h = hi[gr_at(k + first + 1, k + first + 1)];

		if (left_out[k])
			continue;
		length += fabs(beta[k + first]) * sqrt(h);
		inflation += h * step->vcov[(size_t) k * (size_t) step->nterms + (size_t) k];
	}
	step->unit = estimated && step->pearson > 0 ? sqrt(step->pearson / (double) step->nrows) : 1;
	step->rounding = 0x1p-53 * (length + step->unit * sqrt(inflation));
	if (!gr_count_digits(&(GrEstimate) {
		.nterms = step->nterms,.hessian = hi,.first_row = 1 + first,.inverse = step->vcov,.coef = beta + first,
		.left_out = left_out,.dispersion = step->unit * step->unit,.weight_sum = hi[gr_at(1, 1)],
		.intercept = first == 0,.link = step->distribution.link
	}, &digits, host))
		return false;
	step->lacks_digits = digits != GR_DIGITS_ENOUGH;
	return true;
}

bool
gr_glm_step(GrGlmStep *step, const double *beta, double *sums, void *workspace, const GrHost *host, GrError *err)
{
	int			nfeatures = step->nfeatures;
	int			first = step->intercept ? 0 : 1;
	bool		at_zero = true;
	double	   *hi = sums + GR_SUM_HEAD;
	GrDDVector	triangle = {hi, hi + gr_triangle(nfeatures + 3)};
	bool	   *aliased = (bool *) ((char *) workspace + gr_normal_workspace_nbytes(gr_nterms(nfeatures)));
	double		nrows = sums[GR_SUM_NROWS];
	GrNormalFit solved = {
		.aliased = aliased,.coef = step->coef,.inverse = step->vcov,.inverse_low = step->vcov_low,
		.skip = 1 + first,.max_rank = gr_max_rank(nrows, step->l2),.rows = GR_ROWS_PASS
	};
	double		nones = sums[GR_SUM_NONES];

	if (!gr_can_fit(step->distribution.family, nrows, nones, err))
		return false;
	if (!gr_unit_check_squares(hi, gr_plain_shape(nfeatures), err))
		return false;
	step->deviance = step->linear ? NAN : sums[GR_SUM_DEVIANCE_HI] + sums[GR_SUM_DEVIANCE_LO];
	step->pearson = step->linear ? NAN : hi[gr_at(nfeatures + 2, nfeatures + 2)];
	solved.nterms = gr_nterms(nfeatures) - first;
	step->perfect = gr_is_perfect(step->pearson, gr_response_size(step->distribution.link, hi, beta,
																  gr_nterms(nfeatures), first), false);
	for (int k = 0; k < solved.nterms; k++)
	{
		aliased[k] = isnan(beta[k + first]);
		at_zero &= beta[k + first] == 0;
	}
	gr_newton_add_penalty(triangle, 1, gr_norder(nfeatures), step->l2, beta, gr_nterms(nfeatures));
	solved.tolerance = at_zero ? GR_ALIAS_TOLERANCE : GR_FROZEN_TOLERANCE;
	if (!gr_normal_solve(gr_dd_from(triangle, 0), workspace, &solved, host, err))
		return false;
	step->nterms = solved.nterms;
	step->rank = solved.rank;
	step->nrows = gr_count_of(nrows);
	step->decrement = sqrt(solved.decrement);
	step->null_deviance = step_null_deviance(step->distribution, step->intercept, nrows, nones);
	if (!measure_step(step, beta, hi, first, aliased, host))
		return gr_fail(err, GR_CANCELED, 0, "newton");
	for (int k = 0; k < solved.nterms; k++)
		step->coef[k] += aliased[k] ? 0 : beta[k + first];
	return true;
}

bool
gr_glm_step_is_last(const GrGlmStep *step, double tol)
{
	double		longest = tol > 1e-10 ? tol : fmin(tol, 10 * GR_EXACT_TOL);

	/* the step of a linear pass does not start at beta, unless its length is 0 */
	if (step->linear)
		return step->decrement == 0;
	return step->decrement <= fmax(longest * step->unit, 2 * step->rounding) && !step->lacks_digits;
}
