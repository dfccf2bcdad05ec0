/*
 * separation.c: the search for a direction of separation; see glm_fit.h.
 *
 * A candidate is the direction in which a fit diverges: Newton's step, or beta itself once every row is on its right
 * side. Along Newton's steps the margins of rows that are being separated grow by about 1 per step, those of rows on
 * the face by ever less. CLASSIFY tells the two apart by a tolerance. The directions that are 0 on all rows of the face
 * are the null space of those rows. The candidate is rounded to the null vector that agrees with it in the null space's
 * own coordinates, and VERIFY checks that vector against every row. A wrong guess costs some passes and claims nothing.
 *
 * A null vector in float8 misses its rows by some 1e-16 of their terms. VERIFY therefore refines it: from the
 * candidate, now in double-double, it subtracts the least-squares fit to the rows near the face, and then to those that
 * are still on the wrong side. This minimises the squared distances on the wrong side by Newton's method, and reaches 0
 * if a separating direction is near. The candidate is accepted only if no row is on its wrong side, by an evaluation in
 * double-double whose error is bounded (gr_face_rounding()). Rows that differ only in their last bits are told apart.
 */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "compute/glm/mixing.h"
#include "compute/glm/phases.h"
#include "compute/glm/terms.h"

/* Margins up to which a row counts as on the candidate's face: tried in turn. */
static const double tolerances[] = {0.1, 1e-3, 1e-6};

#define NTOLERANCES ((int) (sizeof(tolerances) / sizeof(tolerances[0])))

/* A null vector's entry is rounding error if it contributes less than this, in units of the columns' lengths. */
#define NEGLIGIBLE 1e-9

/* Rows that a float8 candidate misses by less than this share of their terms' magnitudes may be on its face. */
#define NEAR_FACE 1e-11

/*
 * Limit of passes that refine a candidate. Each but the first has to lower the sum of squares to the share REFINEMENT.
 */
#define REFINEMENTS_MAX 12
#define REFINEMENT 0.9

/* Limit of the work, rows times terms squared, up to which a candidate without a face is refined at each attempt. */
#define REFINED_WORK_MAX 1e6

static double *
candidate_of(GrGlmFit *fit)
{
	return gr_fit_face(fit->state, fit->state->nfaces);
}

/* Sets the candidate to theta, both in z. */
static void
set_candidate(GrGlmFit *fit, const double *theta)
{
	size_t		n = (size_t) fit->state->nfull;

	memcpy(candidate_of(fit), theta, n * sizeof(double));
	memset(candidate_of(fit) + n, 0, n * sizeof(double));
}

/* Requests the margins along delta, with the next tolerance. */
static bool
classify(GrGlmFit *fit)
{
	GrGlmState *state = fit->state;

	set_candidate(fit, state->delta);
	state->face_absolute[state->nfaces] = tolerances[state->attempt];
	return gr_fit_ask(fit, GR_PHASE_CLASSIFY, GR_PASS_FACE);
}

bool
gr_classify_enter(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	(void) host;
	(void) err;
	fit->state->attempt = 0;
	fit->state->next_attempt = (int64_t) fit->iterations + 2;
	return classify(fit);
}

/* Requests the margins along the candidate. near: the candidate is not refined yet. */
static bool
verify(GrGlmFit *fit, bool near)
{
	fit->state->face_absolute[fit->state->nfaces] = 0;
	gr_fit_ask(fit, GR_PHASE_VERIFY, GR_PASS_FACE);
	if (near)
		fit->pass.face_relative = NEAR_FACE;
	return true;
}

bool
gr_verify_enter(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;

	(void) host;
	(void) err;
	set_candidate(fit, state->theta);
	state->attempt = NTOLERANCES;
	state->is_refined = false;
	state->next_certificate = (int64_t) fit->iterations + 3;
	return verify(fit, false);
}

/* Returns the rows on the candidate's face or its wrong side, counted by a FACE pass. */
static double
rows_on_face(GrGlmFit *fit)
{
	return gr_fit_hi(fit)[0];
}

/* Rejects the candidate and returns to where the fit was. */
static bool
resume(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	if (fit->state->options.solver == GR_SOLVER_NEWTON)
		return gr_fit_enter(fit, GR_PHASE_ITERATE, host, err);
	return gr_fit_ask(fit, GR_PHASE_LAST, GR_PASS_EXACT);
}

/*
 * Marks terms in frozen that are collinear over the rows on the face, of which at most as many as rows are independent.
 * Terms are about their shifts, as the rounding error of terms far from 0 would hide collinearity.
 */
static bool
find_null_space(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;
	GrNormalFit solved = {
		.nterms = fit->nterms,.aliased = state->frozen,.coef = state->solution,.skip = 1 + state->first,
		.tolerance = GR_ALIAS_TOLERANCE,.solver = state->options.linear_solver,
		.max_rank = gr_max_rank(rows_on_face(fit), 0),.rows = GR_ROWS_PASS
	};

	memcpy(state->frozen, state->aliased, (size_t) fit->nterms * sizeof(bool));
	return gr_normal_solve(gr_dd_from(gr_fit_triangle(fit), 0), state->workspace, &solved, host, err);
}

/* Returns the length of term k over the rows on the face, about the shifts. */
static double
length_on_face(GrGlmFit *fit, int k)
{
	int			at = 1 + fit->state->first + k;

	return sqrt(gr_fit_hi(fit)[gr_at(at, at)]);
}

/*
 * Computes the regression of term k, which is collinear over the rows on the face, on the terms that are not, in
 * state->solution (nterms numbers). Collinear terms, k too, and negligible ones get 0. Term k minus the regression
 * is 0 on these rows, but for rounding. Overwrites the triangle's last row. Returns false if the solve fails.
 */
static bool
null_vector(GrGlmFit *fit, int k, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;
	/* the last row, that of term k, has only entries that find_null_space() has loaded before, so it raises no error */
	int			skip = 1 + state->first;
	GrNormalFit solved = {
		.nterms = fit->nterms,.aliased = state->frozen,.coef = state->solution,.skip = skip,
		.solver = state->options.linear_solver,.rows = GR_ROWS_PASS
	};
	int			last = fit->nterms + skip;
	GrDDVector	triangle = gr_fit_triangle(fit);
	double		length = length_on_face(fit, k);

	for (int j = 0; j < fit->nterms; j++)
	{
		int64_t		from = j <= k ? gr_at(k + skip, j + skip) : gr_at(j + skip, k + skip);

		gr_dd_set(triangle, gr_at(last, j + skip), gr_dd_get(triangle, from));
	}
	if (!gr_normal_solve(gr_dd_from(triangle, 0), state->workspace, &solved, host, err))
		return false;
	for (int i = 0; i < fit->nterms; i++)
	{
		double		a = state->solution[i];

		if (isnan(a) || fabs(a) * length_on_face(fit, i) <= NEGLIGIBLE * length)
			state->solution[i] = 0;
	}
	return true;
}

/*
 * True if the null vector of term k, whose regression is in solution, moves term i of (1, x). full: scratch of a full
 * array.
 */
static bool
is_moved(const GrGlmFit *fit, int k, int i, double *full)
{
	const GrGlmState *state = fit->state;

	if (i > 0 || state->first > 0)
		return state->solution[i] != 0;
	memcpy(full, state->solution, (size_t) state->nfull * sizeof(double));
	full[k] = -1;
	gr_terms_direction(fit, full, full);
	return full[0] != 0;
}

/*
 * Sets part to the vector of the face's null space that agrees with v in the newly collinear terms (both full, of z).
 * involved: NULL, or marks every term that the null space moves; then overwrites beta.
 */
static bool
null_part(GrGlmFit *fit, const double *v, double *part, int *involved, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;
	int			first = state->first;

	memset(part, 0, (size_t) state->nfull * sizeof(double));
	for (int k = 0; k < fit->nterms; k++)
	{
		if (!state->frozen[k] || state->aliased[k])
			continue;
		if (!null_vector(fit, k, host, err))
			return false;
		part[k + first] += v[k + first];
		if (involved != NULL && involved[k] == 0)
			involved[k] = 1;
		for (int i = 0; i < fit->nterms; i++)
		{
			part[i + first] -= v[k + first] * state->solution[i];
			if (involved != NULL && involved[i] == 0 && is_moved(fit, k, i, fit->beta))
				involved[i] = 1;
		}
	}
	return true;
}

/* Rounds the candidate to the null space of the rows near its face. *found is true if the result is not 0. */
static bool
round_candidate(GrGlmFit *fit, bool *found, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;
	double	   *candidate = candidate_of(fit);
	double		largest = 0;

	*found = true;
	if (rows_on_face(fit) == 0)
		return true;
	if (!find_null_space(fit, host, err) || !null_part(fit, candidate, fit->beta, NULL, host, err))
		return false;
	memcpy(candidate, fit->beta, (size_t) state->nfull * sizeof(double));
	memset(candidate + state->nfull, 0, (size_t) state->nfull * sizeof(double));
	memcpy(state->held, state->frozen, (size_t) fit->nterms * sizeof(bool));
	for (int j = 0; j < state->nfull; j++)
		largest = fmax(largest, fabs(candidate[j]));
	*found = largest > 0 && isfinite(largest);
	return true;
}

/* Returns the sum of squared distances from the face of rows that a FACE pass found on it or on its wrong side. */
static double
misses_squared(GrGlmFit *fit)
{
	int			last = fit->state->nfull + 1;

	return gr_fit_hi(fit)[gr_at(last, last)];
}

/*
 * True if the candidate itself may be refined, after no face near it was found: rows within the tolerances may span
 * more than a face. Rows on the wrong side must be as near as the first tolerance. As this may take REFINEMENTS_MAX
 * passes, it waits for the fit's last iteration if there are many rows.
 */
static bool
may_refine_candidate(GrGlmFit *fit)
{
	double		work = (double) fit->nrows * fit->nterms * fit->nterms;

	return misses_squared(fit) <= tolerances[0] * tolerances[0] &&
		(fit->state->final_attempt || work <= REFINED_WORK_MAX);
}

/* Requests the margins along delta, as a candidate to be refined in all but its largest entry, in the terms' scales. */
static bool
refine_candidate(GrGlmFit *fit)
{
	GrGlmState *state = fit->state;
	double		largest = 0;
	int			held = -1;

	set_candidate(fit, state->delta);
	memcpy(state->held, state->aliased, (size_t) fit->nterms * sizeof(bool));
	for (int k = 1 - state->first; k < fit->nterms; k++)
	{
		int			j = k + state->first;
		double		size = fabs(state->delta[j]) * state->spread[j];

		if (!(size > largest) || state->aliased[k])
			continue;
		largest = size;
		held = k;
	}
	if (held >= 0)
		state->held[held] = true;
	state->is_refined = held >= 0;
	state->nrefined = 0;
	state->missed = INFINITY;
	return verify(fit, false);
}

bool
gr_classify_take(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;

	if (fit->sums[GR_SUM_NWRONG] == 0 && fit->sums[GR_SUM_NRIGHT] > 0)
	{
		bool		found;

		if (!round_candidate(fit, &found, host, err))
			return false;
		state->is_refined = rows_on_face(fit) > 0;
		state->nrefined = 0;
		state->missed = INFINITY;
		if (found)
			return verify(fit, state->is_refined);
	}
	/* no row moves by more than the tolerance, so the fit does not diverge */
	if (fit->sums[GR_SUM_NRIGHT] + fit->sums[GR_SUM_NWRONG] == 0)
		return resume(fit, host, err);
	if (++state->attempt >= NTOLERANCES)
	{
		state->is_refined = false;
		return may_refine_candidate(fit) ? refine_candidate(fit) : resume(fit, host, err);
	}
	/* set the candidate anew, as rounding has changed it */
	return classify(fit);
}

/*
 * Returns the sign of the infinity to which a separated term diverges: by the outermost direction that moves the term,
 * since that direction grows fastest, or else by the part removed from beta.
 */
static int
sign_of(const GrGlmFit *fit, int k)
{
	const GrGlmState *state = fit->state;
	int			j = k + state->first;

	for (int f = 0; f <= state->nfaces; f++)
	{
		double		d;

		gr_terms_direction(fit, gr_fit_face(state, f), fit->beta);
		d = fit->beta[j];
		if (d != 0)
			return d < 0 ? -1 : 1;
	}
	return state->removed[j] < 0 ? -1 : 1;
}

/* Removes part (full, of z) from the estimate. Overwrites part. */
static void
remove_part(GrGlmFit *fit, double *part)
{
	GrGlmState *state = fit->state;

	for (int j = 0; j < state->nfull; j++)
		state->theta[j] -= part[j];
	gr_terms_direction(fit, part, part);
	for (int j = 0; j < state->nfull; j++)
		state->removed[j] += part[j];
}

/*
 * Marks the fit as ambiguous if there are several directions of separation along this face: if the face makes more than
 * one term collinear. frozen: terms collinear over the face; NULL: all that are left.
 */
static void
note_dimension(GrGlmFit *fit, const bool *aliased, const bool *frozen)
{
	int			n = 0;

	for (int k = 0; k < fit->nterms; k++)
		n += !aliased[k] && (frozen == NULL || frozen[k]) ? 1 : 0;
	fit->ambiguous |= n > 1;
}

/* Ends the fit with complete separation: no row is left on the face, and no term has a finite estimate. */
static bool
separated_completely(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;

	note_dimension(fit, state->aliased, NULL);
	memcpy(state->delta, state->theta, (size_t) state->nfull * sizeof(double));
	remove_part(fit, state->delta);
	for (int k = 0; k < fit->nterms; k++)
		if (!state->aliased[k] && fit->separated[k] == 0)
			fit->separated[k] = sign_of(fit, k);
	state->nfaces++;
	fit->nlimit = 0;
	return gr_fit_end(fit, false, false, host, err);
}

/*
 * Restricts the fit to the rows on the face. In the limit, the rows off the face are predicted without error. Terms
 * that the face's null space moves have no finite estimate; the fit of the other terms goes on from where it is.
 */
static bool
restrict_to_face(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;

	fit->nlimit = gr_count_of(rows_on_face(fit));
	if (!find_null_space(fit, host, err) || !null_part(fit, state->theta, state->delta, fit->separated, host, err))
		return false;
	note_dimension(fit, state->aliased, state->frozen);
	remove_part(fit, state->delta);
	for (int k = 0; k < fit->nterms; k++)
	{
		if (fit->separated[k] != 0)
			fit->separated[k] = sign_of(fit, k);
		state->aliased[k] |= state->frozen[k];
	}
	state->nfaces++;
	gr_mixing_forget(state);
	state->decrement = INFINITY;
	state->bend = INFINITY;
	state->decrement_exact = 0;
	state->check = false;
	state->max_iter = (int64_t) fit->iterations + state->options.max_iter;
	/* iterations are counted in an int */
	if (state->max_iter > INT_MAX)
		state->max_iter = INT_MAX;
	state->next_attempt = (int64_t) fit->iterations + 4;
	state->next_certificate = fit->iterations;
	state->final_attempt = false;
	return gr_fit_ask(fit, GR_PHASE_ITERATE, GR_PASS_EXACT);
}

/*
 * Subtracts from the candidate the least-squares fit to the rows that the pass found on the face or on its wrong side,
 * by the terms that are not held. *moved is false if it cannot be computed.
 */
static bool
refine(GrGlmFit *fit, bool *moved, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;
	GrNormalFit solved = {
		.nterms = fit->nterms,.aliased = state->frozen,.coef = state->solution,.skip = 1 + state->first,
		.tolerance = GR_FROZEN_TOLERANCE,.solver = state->options.linear_solver,
		.max_rank = gr_max_rank(rows_on_face(fit), 0)
	};
	double	   *hi = candidate_of(fit) + state->first;
	double	   *lo = hi + state->nfull;
	GrError		failure = {0};

	memcpy(state->frozen, state->held, (size_t) fit->nterms * sizeof(bool));
	*moved = gr_normal_solve(gr_dd_from(gr_fit_triangle(fit), 0), state->workspace, &solved, host, &failure);
	if (!*moved && failure.status != GR_OUT_OF_RANGE)
	{
		*err = failure;
		return false;
	}
	for (int k = 0; k < fit->nterms && *moved; k++)
	{
		GrDD		entry = {hi[k], lo[k]};

		entry = gr_dd_sub(entry, gr_dd(state->frozen[k] ? 0 : state->solution[k]));
		hi[k] = entry.hi;
		lo[k] = entry.lo;
	}
	return true;
}

/*
 * True if another refinement of the candidate is worth a pass: some rows lie on its face, the last refinement lowered
 * the squared distances of rows from the face enough, and the limit is not reached. Notes them for the next call.
 */
static bool
is_refinable(GrGlmFit *fit)
{
	GrGlmState *state = fit->state;
	double		missed = misses_squared(fit);
	bool		useful = missed <= REFINEMENT * state->missed;

	state->missed = missed;
	return state->is_refined && rows_on_face(fit) > 0 && state->nrefined < REFINEMENTS_MAX && useful;
}

/* True if the row nearest to the face, but off it, is so near that a float8 candidate might not separate the two. */
static bool
is_narrow(GrGlmFit *fit)
{
	const GrGlmState *state = fit->state;
	const double *candidate = candidate_of(fit);
	double		size = 0;

	for (int j = state->first; j < state->nfull; j++)
		size += fabs(candidate[j]) * state->spread[j];
	return fit->sums[GR_SUM_MIN_RIGHT] < NEAR_FACE * size;
}

/*
 * True if the face has no more rows than free terms. A refinement can pass through that many rows whatever their
 * values, so their being on the face is no evidence of it.
 */
static bool
is_drawn(GrGlmFit *fit)
{
	const GrGlmState *state = fit->state;
	int			nfree = 0;

	for (int k = 0; k < fit->nterms; k++)
		nfree += !state->held[k] && !state->aliased[k] ? 1 : 0;
	return rows_on_face(fit) > 0 && rows_on_face(fit) <= nfree;
}

bool
gr_verify_take(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;
	bool		near = fit->pass.face_relative == NEAR_FACE;
	bool		separates = fit->sums[GR_SUM_NWRONG] == 0 && fit->sums[GR_SUM_NRIGHT] > 0 &&
		(!near || misses_squared(fit) == 0);
	bool		moved = !separates && is_refinable(fit);

	if (moved && !refine(fit, &moved, host, err))
		return false;
	if (moved)
	{
		state->nrefined++;
		return verify(fit, false);
	}
	/* further iterations may separate the rows with margins that float8 predictions keep */
	if (separates && state->nrefined > 0 && !state->final_attempt && (is_narrow(fit) || is_drawn(fit)))
		return resume(fit, host, err);
	if (!separates)
	{
		if (state->attempt >= NTOLERANCES)
			return resume(fit, host, err);
		/* try another tolerance */
		fit->sums[GR_SUM_NWRONG] = 1;
		return gr_classify_take(fit, host, err);
	}
	state->min_right[state->nfaces] = fit->sums[GR_SUM_MIN_RIGHT];
	if (rows_on_face(fit) == 0)
		return separated_completely(fit, host, err);
	return restrict_to_face(fit, host, err);
}

/*
 * Signs
 */

/*
 * Limit of separated terms whose signs are tested, each by a fit of its own. With more terms, all count as
 * GR_EITHER_SIGN.
 */
#define ASKED_MAX 64

/*
 * Limit of the work of testing signs: rows times terms squared, over all separated terms. Each fit makes ten to twenty
 * passes.
 */
#define ASKED_WORK_MAX 1e10

/* Limit of iterations of a fit that tests a sign; without an end by then it says nothing. */
#define ASKED_MAX_ITER 200

bool
gr_glm_asks_sign(const GrGlmFit *fit, int k)
{
	double		work = (double) fit->nrows * fit->nterms * fit->nterms * fit->nseparated;

	/* a term of changed rows is not a term of the features */
	return fit->ambiguous && fit->separated[k] != 0 && fit->nseparated <= ASKED_MAX && work <= ASKED_WORK_MAX &&
		fit->basis == NULL;
}

GrGlmOptions
gr_glm_without(const GrGlmOptions *options, int k)
{
	GrGlmOptions without = *options;

	without.solver = GR_SOLVER_NEWTON;
	without.learning_rate = NAN;
	without.max_iter = ASKED_MAX_ITER;
	without.tol = 1e-6;
	without.start = NULL;
	without.can_change = false;
	without.leave_out = k + 1;
	without.skip_null = true;
	without.vcov = GR_VCOV_IID;
	without.moves = NULL;
	return without;
}

void
gr_glm_tell_sign(GrGlmFit *fit, int k, const GrGlmFit *without)
{
	bool		at_end = without != NULL && (without->converged || without->nseparated > 0);

	if (fit->ambiguous && fit->separated[k] != 0 && !(at_end && without->nlimit > fit->nlimit))
		fit->separated[k] = GR_EITHER_SIGN;
}
