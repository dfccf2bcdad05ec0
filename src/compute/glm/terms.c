/*
 * terms.c: the terms in which a GLM is fitted: shifts that are subtracted from features, linear combinations that
 * replace nearly collinear features, and the way back to the original features.
 *
 * If a feature's mean is far from 0 compared with its spread, or a feature is nearly a combination of those before it,
 * float8 sums lose digits and solvers without a Hessian stall. The first pass, at beta = 0, is in double-double and
 * detects both. Means are subtracted within each pass; combinations (basis.h) once, from the rows.
 */
#include "compute/glm/terms.h"

#include <math.h>
#include <string.h>

#include "compute/base/dd.h"

/* Limit of features up to which rows are changed: the factor takes cubic time in double-double on the host. */
#define CHANGED_FEATURES_MAX 1000

/* A feature is changed if the features before it leave less than this share of its variance. */
#define CHANGED_SHARE 1e-4

/* CHANGED_SHARE for gradient descent, whose number of steps grows with the features' correlations. */
#define CHANGED_SHARE_DESCENT 0.05

/*
 * A feature is also changed if less than this share of its sum of squares is left, so that the next pass can tell
 * better whether it is collinear.
 */
#define CHANGED_SHARE_OF_SQUARES 1e-20

/* A sum below this share of its terms' magnitudes is rounding error. */
#define ROUNDED_SUM 1e-14

/* A share of a feature's sum of squares that is only its rounding to float8, with a margin of about thirty. */
#define COLLINEAR 1e-29

int
gr_terms_nchanged_max(const GrGlmOptions *options)
{
	bool		can_change = options->can_change && options->shape.nfeatures <= CHANGED_FEATURES_MAX &&
		options->l2 == 0 &&
		!gr_fit_is_classic(options);

	return can_change ? options->shape.nfeatures : 0;
}

/* Computes the mean of term j, weighted by w, and its variance times the sum of w, from an EXACT pass at beta = 0. */
static void
moments(GrGlmFit *fit, int j, GrDD *mean, GrDD *sumsq)
{
	const double *hi = gr_fit_hi(fit);
	const double *lo = gr_fit_lo(fit);
	int64_t		s = gr_at(j + 1, 1);
	int64_t		d = gr_at(j + 1, j + 1);
	int64_t		w = gr_at(1, 1);
	GrDD		weights = {hi[w], lo[w]};
	GrDD		sum = {hi[s], lo[s]};
	GrDD		square = {hi[d], lo[d]};

	*mean = gr_dd_div(sum, weights);
	*sumsq = gr_dd_sub(square, gr_dd_mul(sum, *mean));
}

/*
 * Shifts are rounded to a multiple of a power of two near the spread, so that differences are exact except for
 * outliers.
 */
void
gr_terms_choose_shift(GrGlmFit *fit, double far)
{
	GrGlmState *state = fit->state;
	double		weights = gr_fit_hi(fit)[gr_at(1, 1)];

	for (int j = 1; j < state->nfull && state->options.intercept && state->options.leave_out != 1; j++)
	{
		GrDD		mean;
		GrDD		sumsq;
		double		spread;

		moments(fit, j, &mean, &sumsq);
		spread = sumsq.hi > 0 ? sqrt(sumsq.hi / weights) : 0;
		if (!(fabs(mean.hi) > far * spread) || fabs(mean.hi) > 1e140)
			continue;
		state->shift[j - 1] = mean.hi;
		if (spread > 0 && spread > 0x1p-50 * fabs(mean.hi))
			state->shift[j - 1] = ldexp(rint(ldexp(mean.hi, -ilogb(spread))), ilogb(spread));
	}
}

/* True if feature j, term k, has to be changed. */
static bool
is_changed(GrGlmFit *fit, int j, int k, double share)
{
	const GrGlmState *state = fit->state;
	double		sumsq = gr_fit_hi(fit)[gr_at(j + 1, j + 1)];
	double		residual = state->pivot[k] * sumsq;

	if (!(state->pivot[k] > COLLINEAR) || k + 1 == state->options.leave_out)
		return false;
	if (state->options.intercept)
	{
		GrDD		mean;
		GrDD		about;

		moments(fit, j, &mean, &about);
		sumsq = about.hi;
	}
	return residual < share * sumsq || state->pivot[k] < CHANGED_SHARE_OF_SQUARES;
}

/* Sets row n of the basis to the part of feature j, term k, that the features before it do not explain. */
static bool
add_changed(GrGlmFit *fit, int n, int j, int k, GrPoll *poll)
{
	GrGlmState *state = fit->state;
	double	   *coef = state->basis_coef + (size_t) n * state->nfull;

	memset(coef, 0, (size_t) state->nfull * sizeof(double));
	if (!gr_normal_residual(state->workspace, fit->nterms, k, coef + state->first, poll))
		return false;
	state->changed[n] = j - 1;
	/* sum of squares that float8's rounding alone would leave; see gr_terms_mark_collinear() */
	state->least[k] = 0;
	for (int i = 0; i <= j; i++)
		state->least[k] = fmax(state->least[k], coef[i] * coef[i] * gr_fit_hi(fit)[gr_at(i + 1, i + 1)] * COLLINEAR);
	return true;
}

void
gr_terms_measure(GrGlmFit *fit)
{
	GrGlmState *state = fit->state;
	bool		centred = state->options.intercept && state->options.leave_out != 1;

	for (int j = 0; j < state->nfull; j++)
	{
		GrDD		mean;
		GrDD		sumsq;

		moments(fit, j, &mean, &sumsq);
		state->length[j] = state->scale[j];
		state->spread[j] = j == 0 || !centred ? state->length[j] : sumsq.hi > 0 ? sqrt(sumsq.hi) : 0;
	}
}

/* Sets scales to square roots of the curvature at 0 about the shifts. A constant feature gets 0. */
void
gr_terms_choose_scale(GrGlmFit *fit)
{
	GrGlmState *state = fit->state;

	for (int j = 1; j < state->nfull && state->options.intercept; j++)
	{
		GrDD		mean;
		GrDD		sumsq;

		moments(fit, j, &mean, &sumsq);
		/* the intercept covers a constant column, whose rounding error is no scale */
		if (!(sumsq.hi > COLLINEAR * gr_fit_hi(fit)[gr_at(j + 1, j + 1)]))
			state->scale[j] = 0;
		else
		{
			double		off = gr_dd_to_double(gr_dd_sub(mean, gr_dd(state->shift[j - 1])));

			state->scale[j] = sqrt(sumsq.hi + off * off * gr_fit_hi(fit)[gr_at(1, 1)]);
		}
	}
}

bool
gr_terms_choose_basis(GrGlmFit *fit, bool *found, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;
	double		share = state->options.solver == GR_SOLVER_GD ? CHANGED_SHARE_DESCENT : CHANGED_SHARE;
	GrNormalFit solved = {
		.nterms = fit->nterms,.aliased = state->frozen,.coef = state->solution,.skip = 1 + state->first,
		.tolerance = GR_ALIAS_TOLERANCE,.max_rank = gr_fit_max_rank(fit),.rows = GR_ROWS_PASS
	};
	GrPoll		poll = {.host = host};
	int			most = gr_terms_nchanged_max(&state->options);
	int			n = 0;

	*found = false;
	for (int k = 1 - state->first; k < fit->nterms && !*found; k++)
		*found = most > 0 && is_changed(fit, k + state->first, k, share);
	if (!*found)
		return true;
	/* once rows are changed, remove all correlations */
	if (state->options.solver == GR_SOLVER_GD)
		share = INFINITY;
	/* make the factor here, wherever the first one was made */
	memset(state->frozen, 0, (size_t) fit->nterms * sizeof(bool));
	if (state->options.leave_out > 0)
		state->frozen[state->options.leave_out - 1] = true;
	if (!gr_normal_solve(gr_dd_from(gr_fit_triangle(fit), 0), state->workspace, &solved, host, err))
		return false;
	for (int k = 1 - state->first; k < fit->nterms && n < most; k++)
	{
		if (!is_changed(fit, k + state->first, k, share))
			continue;
		if (!add_changed(fit, n++, k + state->first, k, &poll))
			return gr_fail(err, GR_CANCELED, 0, "a change of basis");
		state->aliased[k] = false;
	}
	state->basis = (GrBasis) {state->options.shape.nfeatures, n, state->changed, state->basis_coef};
	fit->basis = &state->basis;
	return true;
}

/* Marks changed features as aliased if only rounding error is left of them. */
void
gr_terms_mark_collinear(GrGlmFit *fit)
{
	GrGlmState *state = fit->state;

	for (int n = 0; n < fit->basis->nchanged; n++)
	{
		int			j = fit->basis->changed[n] + 1;
		int			k = j - state->first;

		if (!(gr_fit_hi(fit)[gr_at(j + 1, j + 1)] > state->least[k]))
			state->aliased[k] = true;
	}
}

void
gr_terms_unshift(const GrGlmFit *fit, const double *theta, double *beta)
{
	const GrGlmState *state = fit->state;
	GrDD		intercept = gr_dd(theta[0]);

	for (int j = 1; j < state->nfull; j++)
	{
		beta[j] = theta[j];
		intercept = gr_dd_sub(intercept, gr_two_prod(theta[j], state->shift[j - 1]));
	}
	beta[0] = gr_dd_to_double(intercept);
}

void
gr_terms_direction(const GrGlmFit *fit, const double *face, double *direction)
{
	double		size = fabs(face[0]);

	for (int j = 1; j < fit->state->nfull; j++)
		size += fabs(face[j] * fit->state->shift[j - 1]);
	gr_terms_unshift(fit, face, direction);
	if (fabs(direction[0]) <= ROUNDED_SUM * size)
		direction[0] = 0;
}

void
gr_terms_shift(const GrGlmFit *fit, const double *beta, double *theta)
{
	const GrGlmState *state = fit->state;
	GrDD		intercept = gr_dd(beta[0]);

	for (int j = 1; j < state->nfull; j++)
	{
		theta[j] = beta[j];
		intercept = gr_dd_add(intercept, gr_two_prod(beta[j], state->shift[j - 1]));
	}
	theta[0] = gr_dd_to_double(intercept);
}

void
gr_terms_to_features(const GrGlmFit *fit, double *beta, double *lo)
{
	if (fit->basis != NULL)
		gr_basis_to_features(fit->basis, beta, lo);
	for (int j = 0; j < fit->state->nfull; j++)
		beta[j] += lo[j];
}

void
gr_terms_to_model(const GrGlmFit *fit, double *beta, double *lo)
{
	const GrTermMoves *moves = fit->state->options.moves;

	if (fit->basis != NULL)
		gr_basis_to_features(fit->basis, beta, lo);
	for (int64_t n = 0; moves != NULL && n < moves->n; n++)
	{
		const GrTermMove *move = &moves->move[n];
		GrDD		b = {beta[move->from], lo[move->from]};
		GrDD		sum = {beta[move->to], lo[move->to]};

		sum = gr_dd_add(sum, gr_dd_mul(b, (GrDD) {move->hi, move->lo}));
		beta[move->to] = sum.hi;
		lo[move->to] = sum.lo;
	}
	for (int j = 0; j < fit->state->nfull; j++)
		beta[j] += lo[j];
}

/* Sums theta and theta_lo as coefficients of the terms of the model, each rounded once. */
void
gr_terms_estimate(const GrGlmFit *fit, double *beta)
{
	const GrGlmState *state = fit->state;
	double	   *lo = state->theta_lo;
	GrDD		intercept = {state->theta[0], lo[0]};

	for (int j = 1; j < state->nfull; j++)
	{
		GrDD		theta = {state->theta[j], lo[j]};

		beta[j] = theta.hi;
		intercept = gr_dd_sub(intercept, gr_dd_mul_d(theta, state->shift[j - 1]));
	}
	beta[0] = intercept.hi;
	lo[0] = intercept.lo;
	gr_terms_to_model(fit, beta, lo);
}
