/*
 * mixing.c: Anderson's mixing of Fisher's steps; see mixing.h.
 *
 * Keeps pairs of differences between the last iterations: of theta and of the step d at theta. The pairs are made
 * orthogonal in d, in the terms' scales. A linear combination of pairs is again a change of theta with its change of d,
 * as far as steps are linear in theta.
 */
#include <math.h>
#include <string.h>

#include "compute/glm/glm_row.h"
#include "compute/glm/mixing.h"

/* Limit of pairs. */
#define NPAIRS 5

/* Steps are mixed below this squared length, where they are nearly linear in theta. */
#define LOCAL_DECREMENT 1e-2

/* If less than this share of a pair's square is left, rounding error may dominate it. */
#define NEGLIGIBLE 1e-4

/* A mixed step is no longer than this many plain ones. */
#define LONGEST 4.0

size_t
gr_mixing_nbytes(const GrGlmOptions *options)
{
	if (gr_is_canonical(options->distribution) && !options->firth)
		return 0;
	return (2 * NPAIRS + 2) * (size_t) gr_nterms(options->shape.nfeatures) * sizeof(double);
}

void
gr_mixing_forget(GrGlmState *state)
{
	state->nmixed = 0;
}

void
gr_mixing_break(GrGlmState *state)
{
	state->mixed_apart = true;
}

/* Returns a pair: the difference of theta, followed by that of the step. which: 0 is the latest. */
static double *
pair_of(const GrGlmState *state, int which)
{
	int			latest = state->nmixed - 2;

	return state->history + 2 * (size_t) ((latest - which) % NPAIRS) * (size_t) state->nfull;
}

/* Returns the inner product of a and b in the terms' scales. */
static double
product(const GrGlmState *state, const double *a, const double *b)
{
	double		sum = 0;

	for (int j = 0; j < state->nfull; j++)
		sum += a[j] * b[j] * state->scale[j] * state->scale[j];
	return sum;
}

/* Stores theta and its step, and their differences from the last ones, if any. */
static void
note(GrGlmState *state)
{
	size_t		n = (size_t) state->nfull;
	double	   *theta = state->history + 2 * NPAIRS * n;
	double	   *step = theta + n;
	bool		paired = state->nmixed > 0 && !state->mixed_apart;

	if (paired || state->nmixed == 0)
		state->nmixed++;
	state->mixed_apart = false;
	if (paired)
	{
		double	   *pair = pair_of(state, 0);

		for (size_t j = 0; j < n; j++)
		{
			pair[j] = state->theta[j] - theta[j];
			pair[n + j] = state->delta[j] - step[j];
		}
	}
	memcpy(theta, state->theta, n * sizeof(double));
	memcpy(step, state->delta, n * sizeof(double));
}

/* Makes the step of a pair orthogonal to those of later pairs. Returns false if nothing is left of the pair. */
static bool
make_orthogonal(GrGlmState *state, int which)
{
	double	   *pair = pair_of(state, which);
	size_t		n = (size_t) state->nfull;
	double		before = product(state, pair + n, pair + n);

	for (int k = 0; k < which; k++)
	{
		const double *other = pair_of(state, k);
		double		square = product(state, other + n, other + n);
		double		share = square > 0 ? product(state, pair + n, other + n) / square : 0;

		for (size_t j = 0; j < 2 * n; j++)
			pair[j] -= share * other[j];
	}
	if (product(state, pair + n, pair + n) > NEGLIGIBLE * before)
		return true;
	memset(pair, 0, 2 * n * sizeof(double));
	return false;
}

void
gr_mixing_improve(GrGlmState *state)
{
	size_t		n = (size_t) state->nfull;
	const double *step;
	int			npairs;

	if (state->history == NULL || state->observed)
		return;
	step = state->history + (2 * NPAIRS + 1) * n;
	if (!(state->decrement < LOCAL_DECREMENT))
	{
		gr_mixing_forget(state);
		return;
	}
	note(state);
	npairs = state->nmixed - 1 < NPAIRS ? state->nmixed - 1 : NPAIRS;
	for (int which = 0; which < npairs; which++)
	{
		const double *pair = pair_of(state, which);
		double		share;

		if (!make_orthogonal(state, which))
			continue;
		share = product(state, pair + n, step) / product(state, pair + n, pair + n);
		for (size_t j = 0; j < n; j++)
			state->delta[j] -= share * (pair[j] + pair[n + j]);
	}
	if (product(state, state->delta, state->delta) > LONGEST * LONGEST * product(state, step, step))
	{
		memcpy(state->delta, step, n * sizeof(double));
		gr_mixing_forget(state);
	}
}
