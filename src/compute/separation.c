/*
 * separation.c: the search for a direction of separation; see logreg.h.
 *
 * A candidate is where a fit runs off to: Newton's step, or beta itself once every row is on its right side. Along
 * Newton's steps the margins of the rows that are being separated grow by about 1 a step, and those of the rows on the
 * face by ever less. CLASSIFY tells the two apart by a tolerance. The directions that are 0 on all rows of the face are
 * the null space of those rows; the candidate is rounded to the one of them that agrees with it in the null space's own
 * coordinates, and VERIFY checks that one against every row. A wrong guess costs two passes and claims nothing.
 */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "compute/mixing.h"
#include "compute/phases.h"
#include "compute/terms.h"

/* Margins up to which a row counts as on the candidate's face: tried in turn. */
static const double tolerances[] = {0.1, 1e-3, 1e-6};

#define NTOLERANCES ((int) (sizeof(tolerances) / sizeof(tolerances[0])))

/*
 * A null vector's entry is rounding error if it contributes less than this, in units of the columns' lengths; and a sum
 * is, of numbers that have been rounded, if it is less than the latter times theirs.
 */
#define NEGLIGIBLE 1e-9
#define ROUNDED_SUM 1e-14

static double *
candidate_of(GrLogregFit *fit)
{
	return fit->state->faces + (size_t) fit->state->nfaces * fit->state->nfull;
}

/* Asks for the margins along delta, by the tolerance that is next. */
static bool
classify(GrLogregFit *fit)
{
	GrLogregState *state = fit->state;

	gr_terms_unshift(fit, state->delta, candidate_of(fit));
	state->face_absolute[state->nfaces] = tolerances[state->attempt];
	return gr_fit_ask(fit, GR_PHASE_CLASSIFY, GR_PASS_FACE);
}

bool
gr_classify_enter(GrLogregFit *fit, const GrHost *host, GrError *err)
{
	(void) host;
	(void) err;
	fit->state->attempt = 0;
	fit->state->next_attempt = (int64_t) fit->iterations + 2;
	return classify(fit);
}

/* Asks for the margins along the candidate. */
static bool
verify(GrLogregFit *fit)
{
	fit->state->face_absolute[fit->state->nfaces] = 0;
	return gr_fit_ask(fit, GR_PHASE_VERIFY, GR_PASS_FACE);
}

bool
gr_verify_enter(GrLogregFit *fit, const GrHost *host, GrError *err)
{
	GrLogregState *state = fit->state;

	(void) host;
	(void) err;
	gr_terms_unshift(fit, state->theta, candidate_of(fit));
	state->attempt = NTOLERANCES;
	state->next_certificate = (int64_t) fit->iterations + 3;
	return verify(fit);
}

/* Rows on the candidate's face, from a FACE pass: the sum of their ones */
static double
rows_on_face(GrLogregFit *fit)
{
	return gr_fit_hi(fit)[0];
}

/* The candidate was none: back to where the fit was. */
static bool
resume(GrLogregFit *fit, const GrHost *host, GrError *err)
{
	if (fit->state->options.solver == GR_SOLVER_NEWTON)
		return gr_fit_enter(fit, GR_PHASE_ITERATE, host, err);
	return gr_fit_ask(fit, GR_PHASE_LAST, GR_PASS_EXACT);
}

/*
 * Marks in frozen the terms that are collinear over the rows on the face, of which no more are independent than there
 * are rows. About the shifts: of terms far from 0 the sums' rounding error would hide it.
 */
static bool
find_null_space(GrLogregFit *fit, const GrHost *host, GrError *err)
{
	GrLogregState *state = fit->state;
	GrNormalFit solved = {
		.nterms = fit->nterms,.aliased = state->frozen,.coef = state->solution,
		.max_rank = gr_max_rank(rows_on_face(fit), 0),.rows = GR_ROWS_PASS
	};

	memcpy(state->frozen, state->aliased, (size_t) fit->nterms * sizeof(bool));
	return gr_normal_solve(gr_fit_hi(fit), gr_fit_lo(fit), 1 + state->first, GR_ALIAS_TOLERANCE, state->workspace,
						   state->options.linear_solver, &solved, host, err);
}

/* The length of term k over the rows on the face, about the shifts */
static double
length_on_face(GrLogregFit *fit, int k)
{
	int			at = 1 + fit->state->first + k;

	return sqrt(gr_fit_hi(fit)[gr_at(at, at)]);
}

/*
 * The intercept of term k's regression, which is of shifted terms in solution, for terms that aren't: 0 where what is
 * left may be rounding error.
 */
static double
unshifted_intercept(const GrLogregFit *fit, int k)
{
	const GrLogregState *state = fit->state;
	GrDD		sum = gr_two_sum(state->solution[0], state->shift[k - 1]);
	double		size = fabs(state->solution[0]) + fabs(state->shift[k - 1]);

	for (int i = 1; i < fit->nterms; i++)
	{
		GrDD		part = gr_two_prod(state->solution[i], state->shift[i - 1]);

		sum = gr_dd_sub(sum, part);
		size += fabs(part.hi);
	}
	return fabs(sum.hi) <= ROUNDED_SUM * size ? 0 : gr_dd_to_double(sum);
}

/*
 * The regression of term k, collinear over the face, on those that are not, into solution: term k minus that is a null
 * vector, of (1, x). The triangle's last row is given up for it.
 */
static bool
null_vector(GrLogregFit *fit, int k, const GrHost *host, GrError *err)
{
	GrLogregState *state = fit->state;
	/* The last row, term k's, has only entries that find_null_space() has loaded before: it cannot be at fault. */
	GrNormalFit solved = {
		.nterms = fit->nterms,.aliased = state->frozen,.coef = state->solution,.rows = GR_ROWS_PASS
	};
	int			skip = 1 + state->first;
	int			last = fit->nterms + skip;
	double	   *hi = gr_fit_hi(fit);
	double	   *lo = gr_fit_lo(fit);
	double		length = length_on_face(fit, k);

	for (int j = 0; j < fit->nterms; j++)
	{
		int64_t		from = j <= k ? gr_at(k + skip, j + skip) : gr_at(j + skip, k + skip);

		hi[gr_at(last, j + skip)] = hi[from];
		lo[gr_at(last, j + skip)] = lo[from];
	}
	if (!gr_normal_solve(hi, lo, skip, 0, state->workspace, state->options.linear_solver, &solved, host, err))
		return false;
	for (int i = 0; i < fit->nterms; i++)
	{
		double		a = state->solution[i];

		if (isnan(a) || fabs(a) * length_on_face(fit, i) <= NEGLIGIBLE * length)
			state->solution[i] = 0;
	}
	if (state->first == 0 && k > 0)
		state->solution[0] = unshifted_intercept(fit, k);
	return true;
}

/*
 * part = the vector of the face's null space that agrees with v (both full, of (1, x)) in the newly collinear terms.
 * involved: marks every term that the null space moves.
 */
static bool
null_part(GrLogregFit *fit, const double *v, double *part, int *involved, const GrHost *host, GrError *err)
{
	GrLogregState *state = fit->state;
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
			if (involved != NULL && state->solution[i] != 0 && involved[i] == 0)
				involved[i] = 1;
		}
	}
	return true;
}

/* Rounds the candidate to the null space of the rows near its face; *found if something is left. */
static bool
round_candidate(GrLogregFit *fit, bool *found, const GrHost *host, GrError *err)
{
	GrLogregState *state = fit->state;
	double	   *candidate = candidate_of(fit);
	double		largest = 0;

	*found = true;
	if (rows_on_face(fit) == 0)
		return true;
	if (!find_null_space(fit, host, err) || !null_part(fit, candidate, fit->beta, NULL, host, err))
		return false;
	memcpy(candidate, fit->beta, (size_t) state->nfull * sizeof(double));
	for (int j = 0; j < state->nfull; j++)
		largest = fmax(largest, fabs(candidate[j]));
	*found = largest > 0 && isfinite(largest);
	return true;
}

bool
gr_classify_take(GrLogregFit *fit, const GrHost *host, GrError *err)
{
	GrLogregState *state = fit->state;

	if (fit->sums[GR_SUM_NWRONG] == 0 && fit->sums[GR_SUM_NRIGHT] > 0)
	{
		bool		found;

		if (!round_candidate(fit, &found, host, err))
			return false;
		if (found)
			return verify(fit);
	}
	/* no row moves by more than the tolerance: the fit isn't running off */
	if (fit->sums[GR_SUM_NRIGHT] + fit->sums[GR_SUM_NWRONG] == 0 || ++state->attempt >= NTOLERANCES)
		return resume(fit, host, err);
	/* the candidate anew: rounding has changed it */
	return classify(fit);
}

/*
 * The infinity that a separated term runs to: that of the outermost direction that moves it, since that one is followed
 * fastest; else that of the part of beta taken away.
 */
static int
sign_of(const GrLogregFit *fit, int k)
{
	const GrLogregState *state = fit->state;
	int			j = k + state->first;

	for (int f = 0; f <= state->nfaces; f++)
	{
		double		d = state->faces[(size_t) f * state->nfull + j];

		if (d != 0)
			return d < 0 ? -1 : 1;
	}
	return state->removed[j] < 0 ? -1 : 1;
}

/* Takes part (full, of (1, x)) out of the estimate; part's array is given up. */
static void
remove_part(GrLogregFit *fit, double *part)
{
	GrLogregState *state = fit->state;

	gr_terms_unshift(fit, state->theta, state->theta);
	for (int j = 0; j < state->nfull; j++)
	{
		state->removed[j] += part[j];
		state->theta[j] -= part[j];
	}
	gr_terms_shift(fit, state->theta, state->theta);
}

/*
 * The directions of separation along this face: a ray, if the terms that it makes collinear are one, or all that are
 * left are. frozen: those collinear over the face; NULL: all
 */
static void
note_dimension(GrLogregFit *fit, const bool *aliased, const bool *frozen)
{
	int			n = 0;

	for (int k = 0; k < fit->nterms; k++)
		n += !aliased[k] && (frozen == NULL || frozen[k]) ? 1 : 0;
	fit->ambiguous |= n > 1;
}

/* No row is left on the face: no term has a finite estimate. */
static bool
separated_completely(GrLogregFit *fit, const GrHost *host, GrError *err)
{
	GrLogregState *state = fit->state;

	note_dimension(fit, state->aliased, NULL);
	gr_terms_unshift(fit, state->theta, state->delta);
	remove_part(fit, state->delta);
	for (int k = 0; k < fit->nterms; k++)
		if (!state->aliased[k] && fit->separated[k] == 0)
			fit->separated[k] = sign_of(fit, k);
	state->nfaces++;
	fit->nlimit = 0;
	return gr_fit_end(fit, false, false, host, err);
}

/*
 * The rows off the face are predicted without error in the limit. The terms that the face's null space moves have no
 * finite estimate, and the fit goes on for the others, over the rows on the face, from where it is.
 */
static bool
restrict_to_face(GrLogregFit *fit, const GrHost *host, GrError *err)
{
	GrLogregState *state = fit->state;

	fit->nlimit = gr_count_of(rows_on_face(fit));
	gr_terms_unshift(fit, state->theta, fit->beta);
	if (!find_null_space(fit, host, err) || !null_part(fit, fit->beta, state->delta, fit->separated, host, err))
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
	/* as far as iterations are counted */
	if (state->max_iter > INT_MAX)
		state->max_iter = INT_MAX;
	state->next_attempt = (int64_t) fit->iterations + 4;
	state->next_certificate = fit->iterations;
	state->final_attempt = false;
	return gr_fit_ask(fit, GR_PHASE_ITERATE, GR_PASS_EXACT);
}

bool
gr_verify_take(GrLogregFit *fit, const GrHost *host, GrError *err)
{
	GrLogregState *state = fit->state;

	if (fit->sums[GR_SUM_NWRONG] > 0 || fit->sums[GR_SUM_NRIGHT] == 0)
	{
		if (state->attempt >= NTOLERANCES)
			return resume(fit, host, err);
		/* another tolerance may cut better */
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

/* More terms than this are not asked about, each by a fit of its own: they count as ones of either sign. */
#define ASKED_MAX 64

/*
 * With more work than this, rows times terms squared over all terms to be asked about, none is: each of the fits makes
 * some ten to twenty passes.
 */
#define ASKED_WORK_MAX 1e10

/* A fit without a term that hasn't come to an end within these says nothing. */
#define ASKED_MAX_ITER 200

bool
gr_logreg_asks_sign(const GrLogregFit *fit, int k)
{
	double		work = (double) fit->nrows * fit->nterms * fit->nterms * fit->nseparated;

	/* a term of changed rows is not one of the features' */
	return fit->ambiguous && fit->separated[k] != 0 && fit->nseparated <= ASKED_MAX && work <= ASKED_WORK_MAX &&
		fit->basis == NULL;
}

GrLogregOptions
gr_logreg_without(const GrLogregOptions *options, int k)
{
	GrLogregOptions without = *options;

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
gr_logreg_tell_sign(GrLogregFit *fit, int k, const GrLogregFit *without)
{
	bool		at_end = without != NULL && (without->converged || without->nseparated > 0);

	if (fit->ambiguous && fit->separated[k] != 0 && !(at_end && without->nlimit > fit->nlimit))
		fit->separated[k] = GR_EITHER_SIGN;
}
