/* newton_step.c: solves the Newton step from the sums of a pass; see newton_step.h. */
#include "compute/glm/newton_step.h"

#include <math.h>
#include <string.h>

#include "compute/base/dd.h"
#include "compute/glm/response_unit.h"

/* An estimate lacks eight digits if it is off by more than this share of itself. */
#define DIGITS_LOST 1e-9

/* A variance inflated by other terms by more than this factor costs more than two digits. */
#define INFLATED 1e4

/* With a pivot this small the Hessian needs double-double; in float8 hardly a digit of the step is right. */
#define STIFF_PIVOT 1e-9

/* Relative rounding error of predictors: a small multiple of 2^-53. */
#define ROUNDING 0x1p-43

static void
add_to(GrDDVector triangle, int64_t k, GrDD value)
{
	gr_dd_set(triangle, k, gr_dd_add(gr_dd_get(triangle, k), value));
}

void
gr_newton_add_penalty(GrDDVector triangle, int first_row, int last_row, double l2, const double *theta, int nfull)
{
	for (int j = 1; l2 > 0 && j < nfull; j++)
	{
		int			row = first_row + j;

		add_to(triangle, gr_at(row, row), gr_dd(l2));
		if (!isnan(theta[j]))
			add_to(triangle, gr_at(last_row, row), gr_dd_neg(gr_two_prod(l2, theta[j])));
	}
}

/* Loads FAST's sums as a triangle of the terms, with the gradient as its last row. Returns false if canceled. */
static bool
load_fast(GrGlmFit *fit, GrDDVector to, const GrHost *host)
{
	GrGlmState *state = fit->state;
	GrPoll		poll = {.host = host};
	int			first = state->first;
	const double *gradient_hi = fit->sums + GR_SUM_HEAD;
	const double *gradient_lo = gradient_hi + state->nfull;
	const double *hessian = gradient_lo + state->nfull;

	memset(to.lo + gr_at(fit->nterms, 0), 0, ((size_t) fit->nterms + 1) * sizeof(double));
	for (int i = 0; i < fit->nterms; i++)
	{
		if (gr_poll(&poll, 4 * (i + 1)))
			return false;
		memcpy(to.hi + gr_at(i, 0), hessian + gr_at(i + first, first), ((size_t) i + 1) * sizeof(double));
		memset(to.lo + gr_at(i, 0), 0, ((size_t) i + 1) * sizeof(double));
		to.hi[gr_at(fit->nterms, i)] = gradient_hi[i + first];
		to.lo[gr_at(fit->nterms, i)] = gradient_lo[i + first];
	}
	to.hi[gr_at(fit->nterms, fit->nterms)] = 0;
	return true;
}

/* True if the deviance over its degrees of freedom estimates a dispersion. False for classes with one trial each. */
static bool
has_estimate(const GrGlmOptions *options)
{
	return !gr_family(options->distribution.family)->is_binary ||
		(options->shape.weight && options->weighting == GR_PRIOR_WEIGHTS);
}

/*
 * Returns the dispersion by which steps are measured: the squared decrement over it is in squared standard errors. For
 * the gaussian and gamma families it is estimated, and NaN after a linear pass. For the others it is 1, or the estimate
 * if that is smaller, as with weights far below 1 in a quasi family. reach: sum of |theta_j| sqrt(H_jj); the estimate
 * is at least the rounding error of predictors of that size.
 */
static double
dispersion_of(const GrGlmFit *fit, double reach)
{
	const GrGlmOptions *options = &fit->state->options;
	GrDistribution distribution = options->distribution;
	double		rows = options->shape.weight && options->weighting == GR_FREQUENCIES && options->totals != NULL ?
		options->totals->weights : fit->sums[GR_SUM_NROWS];
	double		deviance = fit->sums[GR_SUM_DEVIANCE_HI] + fit->sums[GR_SUM_DEVIANCE_LO];
	double		rounding = ROUNDING * reach * (ROUNDING * reach);
	double		estimated = fmax(deviance / fmax(rows - fit->rank, 1), rounding);

	/* a linear pass has no deviance */
	if (gr_family(distribution.family)->has_exponent)
		return fit->pass.linear ? NAN : estimated;
	return fit->pass.linear || !has_estimate(options) ? 1 : fmin(estimated, 1);
}

/*
 * Sets the state's measures of step lengths from the pass's sums. hi: triangle of H; first_row: row of the first term.
 */
static void
note_lengths(GrGlmFit *fit, const double *hi, int first_row)
{
	GrGlmState *state = fit->state;
	const double *fast_hessian = fit->sums + GR_SUM_HEAD + 2 * state->nfull;

	state->weight_sum = gr_pass_is_fast(fit->pass.kind) ? *fast_hessian : gr_fit_hi(fit)[gr_at(1, 1)];
	state->reach = 0;
	for (int k = 0; k < fit->nterms; k++)
		state->reach += fabs(state->theta[k + state->first]) * sqrt(hi[gr_at(first_row + k, first_row + k)]);
	state->reach += state->typical_eta * sqrt(state->weight_sum);
	/* sums for edge.c are not residuals, and a log-likelihood is no deviance: steps are measured in its own unit */
	state->dispersion = gr_measure_is_of_edge(fit->pass.measure) || fit->pass.kind == GR_PASS_JOINT ? 1 :
		dispersion_of(fit, state->reach);
}

bool
gr_newton_solve(GrGlmFit *fit, double tolerance, bool *aliased, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;
	bool		fast = gr_pass_is_fast(fit->pass.kind);
	int			first_row = fast ? 0 : 1 + state->first;
	GrDDVector	own = {state->triangle, state->triangle + gr_triangle(fit->nterms + 1)};
	GrDDVector	triangle = fast ? own : gr_fit_triangle(fit);
	GrNormalFit solved = {
		.nterms = fit->nterms,.aliased = aliased,.coef = state->solution,.pivot = state->pivot,
		.skip = first_row,.tolerance = tolerance,.solver = state->options.linear_solver,
		.max_rank = gr_fit_max_rank(fit),
		.rows = !fast ? GR_ROWS_PASS : state->first == 0 ? GR_ROWS_TERMS : GR_ROWS_FEATURES
	};

	if (fast && !load_fast(fit, triangle, host))
		return gr_fail(err, GR_CANCELED, 0, "newton");
	gr_newton_add_penalty(triangle, fast ? -state->first : 1, fast ? fit->nterms : state->nfull + 1, state->options.l2,
						  state->theta, state->nfull);
	note_lengths(fit, triangle.hi, first_row);
	if (!gr_normal_solve(gr_dd_from(triangle, 0), state->workspace, &solved, host, err))
		return false;
	memset(state->delta, 0, (size_t) state->nfull * sizeof(double));
	state->left_out = aliased;
	state->stiff = false;
	for (int k = 0; k < fit->nterms; k++)
	{
		if (aliased[k])
			continue;
		state->delta[k + state->first] = state->solution[k];
		state->stiff |= state->pivot[k] < STIFF_PIVOT;
	}
	/* the length of the first least-squares step is unknown in standard errors, unless it is the last step */
	state->decrement = isnan(state->dispersion) ? INFINITY : solved.decrement / state->dispersion;
	return true;
}

bool
gr_newton_follow(GrGlmFit *fit, double *follow, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;
	GrDDVector	triangle = {state->triangle, state->triangle + gr_triangle(fit->nterms + 1)};
	const double *cross = fit->sums + gr_pass_cross_at(state->options.shape.nfeatures) + state->first;
	int64_t		last = gr_at(fit->nterms, 0);
	GrNormalFit solved = {
		.nterms = fit->nterms,.aliased = state->frozen,.coef = state->solution,.pivot = state->pivot,
		.tolerance = GR_FROZEN_TOLERANCE,.solver = state->options.linear_solver,
		.max_rank = gr_fit_max_rank(fit),.rows = state->first == 0 ? GR_ROWS_TERMS : GR_ROWS_FEATURES
	};

	if (!load_fast(fit, triangle, host))
		return gr_fail(err, GR_CANCELED, 0, "newton");
	gr_newton_add_penalty(triangle, -state->first, fit->nterms, state->options.l2, state->theta, state->nfull);
	memcpy(triangle.hi + last, cross, (size_t) fit->nterms * sizeof(double));
	memset(triangle.lo + last, 0, (size_t) fit->nterms * sizeof(double));
	if (!gr_normal_solve(gr_dd_from(triangle, 0), state->workspace, &solved, host, err))
		return false;
	memset(follow, 0, (size_t) state->nfull * sizeof(double));
	for (int k = 0; k < fit->nterms; k++)
		follow[k + state->first] = state->frozen[k] ? 0 : state->solution[k];
	return true;
}

/*
 * Computes the length of the estimate's predictors, each weighted by the square root of its weight, and the length
 * about their mean. Cancellation may leave less than the rounding error; the length is at least that. Returns false if
 * canceled.
 */
static bool
predictor_length(const GrEstimate *estimate, double *length, double *spread, GrPoll *poll)
{
	double		square = 0;
	double		reach = 0;
	double		sum = 0;

	for (int i = 0; i < estimate->nterms; i++)
	{
		const double *row = estimate->hessian + gr_at(estimate->first_row + i, estimate->first_row);
		double		part = 0;

		if (gr_poll(poll, 2 * (i + 1)))
			return false;
		if (estimate->left_out[i])
			continue;
		for (int j = 0; j <= i; j++)
			if (!estimate->left_out[j])
				part += (j < i ? 2 : 1) * row[j] * estimate->coef[j];
		square += part * estimate->coef[i];
		reach += fabs(estimate->coef[i]) * sqrt(row[i]);
		sum += estimate->intercept ? row[0] * estimate->coef[i] : 0;
	}
	*spread = sqrt(fmax(square - sum * sum / estimate->weight_sum, 0));
	*length = sqrt(fmax(square, 0x1p-50 * reach * reach)) + estimate->offset_eta * sqrt(estimate->weight_sum);
	return true;
}

/* True if a change of the predictor by 1 means the same in any unit of the response. */
static bool
is_unitless(GrLink link)
{
	return link != GR_IDENTITY && link != GR_SQRT && link != GR_INVERSE;
}

bool
gr_count_digits(const GrEstimate *estimate, GrDigits *digits, const GrHost *host)
{
	GrPoll		poll = {.host = host};
	double		inflation = 0;
	double		length;
	double		spread;

	*digits = GR_DIGITS_ENOUGH;
	if (!predictor_length(estimate, &length, &spread, &poll))
		return false;
	for (int pass = 0; pass < 2; pass++)
		for (int k = 0; k < estimate->nterms; k++)
		{
			int			row = estimate->first_row + k;
			double		square = estimate->hessian[gr_at(row, row)];
			double		inverse = estimate->inverse[(size_t) k * (size_t) estimate->nterms + (size_t) k];
			double		size = fmax(fabs(estimate->coef[k]), sqrt(estimate->dispersion * inverse));
			bool		inflated = square * inverse > INFLATED;
			double		error;

			if (estimate->left_out[k] || isnan(inverse))
				continue;
			if (pass == 0)
			{
				inflation += square * inverse;
				continue;
			}
			/*
			 * An effect that is small compared with the others counts as 0 to all digits. So does an effect of 1e-16 on
			 * an odds ratio or on the logarithm of a mean.
			 */
			if (!inflated)
				size = fmax(size, fmax(spread, is_unitless(estimate->link) ? sqrt(estimate->weight_sum) : 0) /
							sqrt(square));
			error = 0x1p-53 * (length + sqrt(estimate->dispersion * inflation)) * sqrt(inverse);
			if (!(error > DIGITS_LOST * size))
				continue;
			*digits = inflated ? GR_DIGITS_COLLINEAR : GR_DIGITS_FEW;
			if (inflated)
				return true;
		}
	return true;
}
