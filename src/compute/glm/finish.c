/*
 * finish.c: computes the results of a fit, in terms of the original features, or of the features that options.moves
 * maps to.
 */
#include <math.h>
#include <string.h>

#include "compute/base/dd.h"
#include "compute/glm/edge.h"
#include "compute/glm/finish.h"
#include "compute/glm/newton_step.h"
#include "compute/glm/phases.h"
#include "compute/glm/terms.h"

/* A covariance matrix V = hi + lo, n x n, that becomes A V A' for coefficients b = A theta. */
typedef struct Covariance
{
	int			n;
	double	   *hi;
	double	   *lo;
	bool		one_sided;		/* computes A V instead */
	GrPoll		poll;
} Covariance;

static void
add_to(Covariance *v, int64_t to, GrDD c, int64_t from)
{
	GrDD		sum = {v->hi[to], v->lo[to]};
	GrDD		term = {v->hi[from], v->lo[from]};

	sum = gr_dd_add(sum, gr_dd_mul(term, c));
	v->hi[to] = sum.hi;
	v->lo[to] = sum.lo;
}

/* Applies A = identity except A[i][k] = c. Returns false if canceled. */
static bool
add_term(Covariance *v, int i, GrDD c, int k)
{
	if (c.hi == 0)
		return true;
	if (gr_poll(&v->poll, 40 * (int64_t) v->n))
		return false;
	for (int64_t j = 0; j < v->n; j++)
		add_to(v, (int64_t) i * v->n + j, c, (int64_t) k * v->n + j);
	for (int64_t j = 0; j < v->n && !v->one_sided; j++)
		add_to(v, j * v->n + i, c, j * v->n + k);
	return true;
}

/* Applies A = identity except A[k][k] = c. */
static void
scale_term(Covariance *v, double c, int k)
{
	for (int64_t j = 0; j < (v->one_sided ? 1 : 2) * (int64_t) v->n; j++)
	{
		int64_t		at = j < v->n ? (int64_t) k * v->n + j : (j - v->n) * v->n + k;
		GrDD		entry = {v->hi[at], v->lo[at]};

		entry = gr_dd_mul_d(entry, c);
		v->hi[at] = entry.hi;
		v->lo[at] = entry.lo;
	}
}

/*
 * Transforms v from the terms of the fit to the reported terms, by the same steps as theta. Returns false if canceled.
 */
static bool
vcov_to_model(GrGlmFit *fit, Covariance *v)
{
	const GrGlmState *state = fit->state;
	const GrTermMoves *moves = state->options.moves;

	for (int k = 1; k < fit->nterms && state->options.intercept; k++)
		if (!add_term(v, 0, gr_dd(-state->shift[k - 1]), k))
			return false;
	for (int r = 0; fit->basis != NULL && r < fit->basis->nchanged; r++)
	{
		int			own = fit->basis->changed[r] + 1;
		const double *coef = fit->basis->coef + (size_t) r * state->nfull;

		for (int j = state->first; j < own; j++)
			if (!add_term(v, j - state->first, gr_dd(coef[j]), own - state->first))
				return false;
		scale_term(v, coef[own], own - state->first);
	}
	for (int64_t n = 0; moves != NULL && n < moves->n; n++)
		if (!add_term(v, moves->move[n].to, (GrDD) {moves->move[n].hi, moves->move[n].lo}, moves->move[n].from))
			return false;
	return true;
}

/* True if a term of the fit is not a reported term: it was shifted, changed or moved. */
static bool
is_transformed(const GrGlmFit *fit)
{
	bool		transformed = fit->basis != NULL || fit->state->options.moves != NULL;

	for (int j = 1; j < fit->state->nfull; j++)
		transformed |= fit->state->shift[j - 1] != 0;
	return transformed;
}

/*
 * True if the variances of all terms in the fit are finite. *where: the first term whose variance is not, or the last
 * term.
 */
static bool
has_variances(const GrGlmFit *fit, int *where)
{
	for (int k = 0; k < fit->nterms; k++)
	{
		*where = k;
		if (!fit->state->frozen[k] && !isfinite(fit->vcov[(size_t) k * (size_t) fit->nterms + (size_t) k]))
			return false;
	}
	return true;
}

/*
 * Transforms fit->vcov, nterms x nterms, to the reported terms and makes it symmetric; rows and columns of frozen
 * terms become NaN. with_lo: state->triangle has its low halves, n x n; else fit->vcov_low has them, or they are 0.
 * Overwrites state->triangle, and fit->vcov_low unless that is NULL. Returns false if canceled.
 */
static bool
transform_vcov(GrGlmFit *fit, bool with_lo, const GrHost *host)
{
	GrGlmState *state = fit->state;
	int64_t		n = fit->nterms;
	Covariance	v = {.n = fit->nterms,.hi = fit->vcov,.lo = state->triangle,.poll = {.host = host}};

	for (int64_t i = 0; i < n; i++)
	{
		if (gr_poll(&v.poll, 2 * n))
			return false;
		for (int64_t j = 0; j < n; j++)
		{
			bool		out = state->frozen[i] || state->frozen[j];

			if (out)
				v.hi[i * n + j] = 0;
			if (out || !with_lo)
				v.lo[i * n + j] = out || fit->vcov_low == NULL ? 0 :
					fit->vcov_low[i >= j ? gr_packed(i, j) : gr_packed(j, i)];
		}
	}
	if (!vcov_to_model(fit, &v))
		return false;
	for (int64_t i = 0; i < n; i++)
	{
		if (gr_poll(&v.poll, 4 * n))
			return false;
		/* make the matrix symmetric: its two halves were rounded in different orders */
		for (int64_t j = 0; j <= i; j++)
		{
			GrDD		sum = {v.hi[i * n + j], v.lo[i * n + j]};
			double		entry = state->frozen[i] || state->frozen[j] ? NAN : sum.hi + sum.lo;

			v.hi[i * n + j] = v.hi[j * n + i] = entry;
			if (fit->vcov_low != NULL)
				fit->vcov_low[gr_packed(i, j)] = sum.hi - entry + sum.lo;
		}
	}
	return true;
}

bool
gr_vcov_to_model(GrGlmFit *fit, bool with_lo, const GrHost *host)
{
	return !is_transformed(fit) || transform_vcov(fit, with_lo, host);
}

bool
gr_rows_to_model(GrGlmFit *fit, double *rows, const GrHost *host)
{
	size_t		size = (size_t) fit->nterms * (size_t) fit->nterms;
	Covariance	v = {
		.n = fit->nterms,.hi = rows,.lo = fit->state->triangle,.one_sided = true,.poll = {.host = host}
	};

	memset(v.lo, 0, size * sizeof(double));
	if (!vcov_to_model(fit, &v))
		return false;
	for (size_t k = 0; k < size; k++)
		v.hi[k] += v.lo[k];
	return true;
}

/* Brings vcov, if there is any, to the reported terms. Fails with GR_RESULT_OUT_OF_RANGE if a variance overflows. */
static bool
finish_vcov(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	int			where;
	bool		had;

	if (!fit->state->have_inverse || !is_transformed(fit))
		return true;
	had = has_variances(fit, &where);
	if (!transform_vcov(fit, fit->state->options.vcov != GR_VCOV_IID, host))
		return gr_fail(err, GR_CANCELED, 0, "covariance matrix");
	if (!had || has_variances(fit, &where))
		return true;
	if (err->status == GR_OK)
		err->value = INFINITY;
	return gr_fail(err, GR_RESULT_OUT_OF_RANGE, gr_column_of_row(GR_ROWS_TERMS, where + fit->state->first),
				   "variance of the coefficient");
}

/*
 * Inverts the Hessian of the last EXACT pass into vcov, with NaN for terms that are left out. *found: true if it did.
 */
static bool
invert(GrGlmFit *fit, bool *found, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;
	GrNormalFit solved = {
		.nterms = fit->nterms,.aliased = state->frozen,.coef = state->solution,.inverse = fit->vcov,
		.inverse_low = fit->vcov_low,.skip = 1 + state->first,.tolerance = GR_FROZEN_TOLERANCE,
		.solver = state->options.linear_solver,.max_rank = gr_fit_max_rank(fit),.rows = GR_ROWS_PASS
	};
	GrError		failure = {0};

	memcpy(state->frozen, state->aliased, (size_t) fit->nterms * sizeof(bool));
	*found = false;
	/* the covariances would be those of the model without the collinear terms, which has other coefficients */
	if (!state->have_sums || (fit->rank < fit->nterms && gr_fit_is_classic(&state->options)))
		return true;
	*found = gr_normal_solve(gr_dd_from(gr_fit_triangle(fit), 0), state->workspace, &solved, host, &failure);
	if (solved.on_device)
		fit->vcov_low = NULL;
	/* an estimate has covariances, unless the squares of the weights are out of range */
	if (*found || (failure.status == GR_OUT_OF_RANGE && !fit->converged))
		return true;
	*err = failure;
	return false;
}

/*
 * Decides whether a fit whose steps have ended has converged: it has not if rounding leaves fewer than eight digits of
 * an estimate. vcov, if there is any, is still the inverse of the Hessian. Returns false if canceled.
 */
static bool
judge_digits(GrGlmFit *fit, const GrHost *host)
{
	GrGlmState *state = fit->state;
	const GrEstimate estimate = {
		.nterms = fit->nterms,.hessian = gr_fit_hi(fit),.first_row = 1 + state->first,.inverse = fit->vcov,
		.coef = state->theta + state->first,.left_out = state->frozen,.dispersion = state->dispersion,
		.weight_sum = state->weight_sum,.intercept = state->options.intercept,.offset_eta = state->typical_eta,
		.link = state->options.distribution.link
	};
	GrDigits	digits;

	if (!state->counts_digits || !state->have_inverse || !state->have_sums)
		return true;
	if (!gr_count_digits(&estimate, &digits, host))
		return false;
	fit->imprecise = digits != GR_DIGITS_ENOUGH;
	fit->collinear = digits == GR_DIGITS_COLLINEAR;
	fit->converged &= !fit->imprecise;
	return true;
}

/* Sets vcov to NaN for separated terms, or entirely if there is no inverse. Returns false if canceled. */
static bool
mask_vcov(GrGlmFit *fit, const GrHost *host)
{
	size_t		n = (size_t) fit->nterms;
	GrPoll		poll = {.host = host};

	for (size_t i = 0; i < n; i++)
	{
		if (gr_poll(&poll, 2 * (int64_t) n))
			return false;
		for (size_t j = 0; j < n; j++)
			if (!fit->state->have_inverse || fit->separated[i] != 0 || fit->separated[j] != 0)
				fit->vcov[i * n + j] = NAN;
	}
	return true;
}

/*
 * Requests the margins of the rows at beta before beta moves along face state->placing. Without a face left, stores the
 * coefficients and enters LIKELIHOOD.
 */
static bool
place_next(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;

	if (state->placing >= 0)
	{
		gr_fit_ask(fit, GR_PHASE_PLACE, GR_PASS_GRADIENT);
		fit->pass.beta = fit->beta;
		fit->pass.shift = state->no_shift;
		fit->pass.nfaces = 0;
		return true;
	}
	if (state->nfaces == 0)
		gr_terms_estimate(fit, fit->beta);
	else
	{
		memset(state->theta_lo, 0, (size_t) state->nfull * sizeof(double));
		gr_terms_to_model(fit, fit->beta, state->theta_lo);
	}
	for (int k = 0; k < fit->nterms; k++)
		fit->coef[k] = state->collinear[k] && !gr_fit_is_classic(&state->options) ? NAN : fit->beta[k + state->first];
	return gr_fit_enter(fit, GR_PHASE_LIKELIHOOD, host, err);
}

/*
 * Moves beta along face state->placing, so far that each row separated by the face has its class with probability at
 * least 1 - exp(-40), whatever the rest of beta does. Goes from the innermost face outwards, as an outer face must
 * outweigh those within.
 */
bool
gr_place_take(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;
	double		worst = fmin(fit->sums[GR_SUM_MIN_MARGIN], 0);
	double		step = (40 - worst) / state->min_right[state->placing];
	double	   *direction = state->delta;

	gr_terms_direction(fit, gr_fit_face(state, state->placing), direction);
	for (int j = 0; j < state->nfull; j++)
		fit->beta[j] += step * direction[j];
	state->placing--;
	return place_next(fit, host, err);
}

/*
 * Sets fit->separated[k] to 1 or -1, the sign of the infinity to which the estimate of term k goes, or 0. Called if
 * the rows have changed features (fit->basis). A term is separated if a direction of separation moves it by more
 * than rounding error, compared with the term that it moves most. If no row is left in the limit, all other terms
 * that are not collinear get 1. The intercept is compared by the features' lengths, the features by their spreads.
 * Overwrites state->delta and clears state->theta_lo.
 */
static void
name_separated(GrGlmFit *fit)
{
	GrGlmState *state = fit->state;
	double	   *direction = state->delta;
	double	   *lo = state->theta_lo;

	memset(fit->separated, 0, (size_t) fit->nterms * sizeof(int));
	for (int f = 0; f < state->nfaces; f++)
	{
		double		longest = 0;
		double		widest = 0;

		gr_terms_direction(fit, gr_fit_face(state, f), direction);
		memset(lo, 0, (size_t) state->nfull * sizeof(double));
		gr_terms_to_features(fit, direction, lo);
		for (int j = 0; j < state->nfull; j++)
		{
			longest = fmax(longest, fabs(direction[j]) * state->length[j]);
			widest = fmax(widest, j == 0 ? 0 : fabs(direction[j]) * state->spread[j]);
		}
		for (int k = 0; k < fit->nterms; k++)
		{
			int			j = k + state->first;
			double		d = direction[j];
			bool		moved = fabs(d) * state->spread[j] > 1e-9 * (j == 0 ? longest : widest);

			if (fit->separated[k] == 0 && moved)
				fit->separated[k] = d < 0 ? -1 : 1;
		}
	}
	for (int k = 0; k < fit->nterms && fit->nlimit == 0; k++)
		if (fit->separated[k] == 0 && !state->collinear[k])
			fit->separated[k] = 1;
	memset(lo, 0, (size_t) state->nfull * sizeof(double));
}

/*
 * True if the moves lead elsewhere than to the estimates. A term that is collinear with those before it stays collinear
 * as the target of a move, and has no coefficient there. The moves of a separated term would separate other terms.
 */
static bool
is_unmovable(const GrGlmFit *fit)
{
	const GrGlmState *state = fit->state;
	const GrTermMoves *moves = state->options.moves;

	for (int64_t n = 0; moves != NULL && n < moves->n; n++)
	{
		int			to = moves->move[n].to;
		int			from = moves->move[n].from;

		if (fit->separated[from] != 0 || (state->collinear[to] && !state->collinear[from]))
			return true;
	}
	return false;
}

/*
 * True if a sandwich estimate, or the triangle of a bootstrap, is requested and possible. Clusters are impossible with
 * separation, as their rows are not divided by faces.
 */
static bool
is_for_sandwich(const GrGlmState *state)
{
	if (state->options.want_factor)
		return state->have_inverse && state->nfaces == 0;
	return state->options.vcov != GR_VCOV_IID && state->have_inverse &&
		!(gr_vcov_is_clustered(state->options.vcov) && state->nfaces > 0);
}

/* True for a linear regression without offsets. */
static bool
is_linear(const GrGlmState *state)
{
	return gr_is_linear(state->options.distribution) && !state->options.shape.offset;
}

/*
 * Returns gr_response_size() at theta from the sums of an EXACT pass there. After a pass at 0, returns the sum of w
 * y^2.
 */
static double
response_size(GrGlmFit *fit)
{
	const GrGlmState *state = fit->state;
	const double *hi = gr_fit_hi(fit);

	if (state->lacks_deviance)
		return hi[gr_at(state->nfull + 1, state->nfull + 1)];
	return gr_response_size(state->options.distribution.link, hi, state->theta, state->nfull, state->first);
}

bool
gr_place_enter(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;

	/* the deviance goes to 0 with complete separation */
	fit->deviance = fit->pass.kind == GR_PASS_FACE ? 0 : fit->sums[GR_SUM_DEVIANCE_HI] + fit->sums[GR_SUM_DEVIANCE_LO];
	fit->pearson = state->have_sums ? gr_fit_hi(fit)[gr_at(state->nfull + 1, state->nfull + 1)] : NAN;
	state->size = state->have_sums && fit->vcov != NULL ? response_size(fit) : NAN;
	if (state->nfaces > 0 && fit->basis != NULL)
		name_separated(fit);
	fit->nseparated = 0;
	for (int k = 0; k < fit->nterms; k++)
		fit->nseparated += fit->separated[k] != 0 ? 1 : 0;
	fit->converged &= fit->nseparated == 0;
	fit->df_residual = fit->nrows - fit->rank;
	fit->unmovable = is_unmovable(fit);
	if (fit->unmovable)
		return gr_fit_enter(fit, GR_PHASE_DONE, host, err);
	if (fit->vcov != NULL && !invert(fit, &state->have_inverse, host, err))
		return false;
	if (fit->vcov != NULL && state->have_inverse && !gr_edge_expand(fit, host))
		return gr_fail(err, GR_CANCELED, 0, "covariance matrix");
	/* at the edge vcov is not the inverse of the pass's matrix */
	if (fit->nedge > 0)
		fit->vcov_low = NULL;
	else if (fit->vcov != NULL && !judge_digits(fit, host))
		return gr_fail(err, GR_CANCELED, 0, "covariance matrix");
	if (fit->vcov != NULL && fit->nedge == 0 && is_for_sandwich(state))
		return gr_fit_enter(fit, GR_PHASE_SCORES, host, err);
	state->have_inverse &= state->options.vcov == GR_VCOV_IID;
	return gr_finish(fit, host, err);
}

/* Judges the variances once vcov is final; rows and columns of those that are rounding error become NaN. */
static void
judge(GrGlmFit *fit)
{
	const GrGlmState *state = fit->state;

	fit->perfect = gr_is_perfect(fit->pearson, state->size, is_linear(state));
	if (fit->variances != NULL && state->have_inverse)
		fit->nunknown = gr_judge_variances(fit->vcov, fit->nterms, state->inverse, fit->pearson,
										   state->options.ncluster_columns > 1, fit->perfect, fit->variances);
}

bool
gr_finish(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;

	if (fit->vcov != NULL && !finish_vcov(fit, host, err))
		return false;
	if (fit->vcov != NULL)
		judge(fit);
	if (fit->vcov != NULL && !mask_vcov(fit, host))
		return gr_fail(err, GR_CANCELED, 0, "covariance matrix");
	gr_terms_unshift(fit, state->theta, fit->beta);
	for (int j = 0; j < state->nfull; j++)
		fit->beta[j] += state->removed[j];
	state->placing = state->nfaces - 1;
	return place_next(fit, host, err);
}
