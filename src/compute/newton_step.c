/*
 * newton_step.c: the Newton step that the sums of a pass give; see newton_step.h.
 */
#include "compute/newton_step.h"

#include <string.h>

#include "compute/dd.h"

/* With a pivot this small the Hessian is summed in double-double: in float8 hardly a digit of the step is right. */
#define STIFF_PIVOT 1e-9

static void
add_to(double *hi, double *lo, int64_t k, GrDD value)
{
	GrDD		sum = {hi[k], lo[k]};

	sum = gr_dd_add(sum, value);
	hi[k] = sum.hi;
	lo[k] = sum.lo;
}

void
gr_newton_add_penalty(double *hi, double *lo, int first_row, int last_row, double l2, const double *theta, int nfull)
{
	for (int j = 1; l2 > 0 && j < nfull; j++)
	{
		int			row = first_row + j;

		add_to(hi, lo, gr_at(row, row), gr_dd(l2));
		if (!isnan(theta[j]))
			add_to(hi, lo, gr_at(last_row, row), gr_dd_neg(gr_two_prod(l2, theta[j])));
	}
}

/* FAST's sums as a triangle of the terms, the gradient as its last row; false if canceled */
static bool
load_fast(GrLogregFit *fit, double *hi, double *lo, const GrHost *host)
{
	GrLogregState *state = fit->state;
	GrPoll		poll = {.host = host};
	int			first = state->first;
	const double *gradient_hi = fit->sums + GR_SUM_HEAD;
	const double *gradient_lo = gradient_hi + state->nfull;
	const double *hessian = gradient_lo + state->nfull;

	memset(lo + gr_at(fit->nterms, 0), 0, ((size_t) fit->nterms + 1) * sizeof(double));
	for (int i = 0; i < fit->nterms; i++)
	{
		if (gr_poll(&poll, 4 * (i + 1)))
			return false;
		memcpy(hi + gr_at(i, 0), hessian + gr_at(i + first, first), ((size_t) i + 1) * sizeof(double));
		memset(lo + gr_at(i, 0), 0, ((size_t) i + 1) * sizeof(double));
		hi[gr_at(fit->nterms, i)] = gradient_hi[i + first];
		lo[gr_at(fit->nterms, i)] = gradient_lo[i + first];
	}
	hi[gr_at(fit->nterms, fit->nterms)] = 0;
	return true;
}

bool
gr_newton_solve(GrLogregFit *fit, double tolerance, bool *aliased, const GrHost *host, GrError *err)
{
	GrLogregState *state = fit->state;
	bool		fast = fit->pass.kind == GR_PASS_FAST;
	double	   *hi = fast ? state->triangle : gr_fit_hi(fit);
	double	   *lo = fast ? hi + gr_triangle(fit->nterms + 1) : gr_fit_lo(fit);
	GrNormalFit solved = {
		.nterms = fit->nterms,.aliased = aliased,.coef = state->solution,.pivot = state->pivot,
		.max_rank = gr_fit_max_rank(fit),
		.rows = !fast ? GR_ROWS_PASS : state->first == 0 ? GR_ROWS_TERMS : GR_ROWS_FEATURES
	};

	if (fast && !load_fast(fit, hi, lo, host))
		return gr_fail(err, GR_CANCELED, 0, "newton");
	gr_newton_add_penalty(hi, lo, fast ? -state->first : 1, fast ? fit->nterms : state->nfull + 1, state->options.l2,
						  state->theta, state->nfull);
	if (!gr_normal_solve(hi, lo, fast ? 0 : 1 + state->first, tolerance, state->workspace, state->options.linear_solver,
						 &solved, host, err))
		return false;
	memset(state->delta, 0, (size_t) state->nfull * sizeof(double));
	state->stiff = false;
	for (int k = 0; k < fit->nterms; k++)
	{
		if (aliased[k])
			continue;
		state->delta[k + state->first] = state->solution[k];
		state->stiff |= state->pivot[k] < STIFF_PIVOT;
	}
	state->decrement = solved.decrement;
	return true;
}

double
gr_newton_rounding(GrLogregFit *fit)
{
	const GrLogregState *state = fit->state;
	double		length = 0;
	double		inflation = 0;

	for (int j = state->first; j < state->nfull; j++)
	{
		double		pivot = state->pivot[j - state->first];

		if (state->frozen[j - state->first])
			continue;
		length += fabs(state->theta[j]) * sqrt(gr_fit_hi(fit)[gr_at(j + 1, j + 1)]);
		inflation += 1 / pivot;
	}
	return 0x1p-53 * (length + sqrt(inflation));
}
