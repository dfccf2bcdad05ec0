/*
 * state_lists.c: the parts that the text and the binary form of states share; see state_lists.h.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "fmgr.h"
#include "miscadmin.h"

#include "compute/base/compute.h"
#include "compute/glm/glm.h"
#include "rows/state/families.h"
#include "run/args.h"
#include "sql/states/state_lists.h"

/* Newest versions, in the text and in the binary form */
#define STATS_VERSION 4			/* version 3 if columns have no names, 2 if no row has a weight either */
#define STEP_VERSION 2			/* version 1 for a logistic regression and for a pass */

int
gr_state_lists(GrState *state, int version, GrStateList *list)
{
	int64		t = gr_state_nterms(state);
	int64		ngram = 2 * gr_state_triangle(state);
	int			n = 0;

	if (state->type == GR_STATS)
	{
		if (version == 3 || (version > 3 && state->weighted))
			list[n++] = (GrStateList) {"weights", 1, &state->log_constant,.null = NAN};
		if (version > 1)
			list[n++] = (GrStateList) {"shift", t, gr_state_shift(state),.null = NAN};
		list[n++] = (GrStateList) {"gram", ngram, gr_state_hi(state), gr_state_lo(state),.null = NAN};
		return n;
	}
	if (state->internal)
	{
		list[n++] = (GrStateList) {"relative", 1, &state->face_relative,.null = NAN,.any = true};
		if (!gr_state_is_logit(state))
			list[n++] = (GrStateList) {"theta", 1, &state->theta,.null = NAN,.any = true};
		list[n++] = (GrStateList) {"request", gr_state_sums(state) - state->data, state->data,.null = NAN,.any = true};
		/* the totals follow the sums in memory */
		list[n++] = (GrStateList) {"sums", gr_kind_nsums(state->kind, state->nfeatures) + gr_state_ntotals(state),
			gr_state_sums(state),.null = NAN,.any = true};
		return n;
	}
	if (gr_family((GrFamily) state->family)->has_theta)
		list[n++] = (GrStateList) {"theta", 1, &state->theta,.null = NAN};
	list[n++] = (GrStateList) {"beta", t, gr_state_beta(state),.marks = gr_state_fixed(state)};
	list[n++] = (GrStateList) {"head", t > 0 ? GR_SUM_HEAD : 0, gr_state_sums(state),.null = INFINITY};
	if (gr_state_ntotals(state) > 0)
		list[n++] = (GrStateList) {"totals", gr_state_ntotals(state), gr_state_total_cells(state),.null = NAN};
	list[n++] = (GrStateList) {"gram", ngram, gr_state_hi(state),.null = NAN};
	return n;
}

int
gr_state_form_version(GrStateType type)
{
	return type == GR_STATS ? STATS_VERSION : STEP_VERSION;
}

int
gr_state_version_of(const GrState *state)
{
	if (state->type == GR_STATS)
		return state->nnames > 0 ? STATS_VERSION : state->weighted ? 3 : 2;
	return state->internal || gr_state_is_logistic(state) ? STEP_VERSION - 1 : STEP_VERSION;
}

/*
 * True if entry (i, j) of a Gram matrix can come from nrows rows. By Cauchy and Schwarz it is at most what the sums of
 * squares allow, except for rounding and for what each square may lose below the least float8; its low half is what
 * rounding left. If this holds for two states, it holds for the merged state. A matrix that passes without being one of
 * cross products looks to the solver like collinear terms.
 */
static bool
is_of_products(GrDDConstVector triangle, int64 i, int64 j, double nrows)
{
	const double *hi = triangle.hi;
	const double *lo = triangle.lo;
	int64		ii = i * (i + 1) / 2 + i;
	int64		jj = j * (j + 1) / 2 + j;
	int64		k = i * (i + 1) / 2 + j;
	double		lost = DBL_MIN * nrows;
	double		most = sqrt(hi[ii] + lo[ii] + lost) * sqrt(hi[jj] + lo[jj] + lost) * (1 + 1e-14) + lost;

	/* without rows nothing is lost: products of squares below the least float8 could exceed them once merged */
	if (nrows == 0 && i == j && hi[k] != 0 && hi[k] < DBL_MIN)
		return false;
	return isfinite(hi[k]) && isfinite(lo[k]) && fabs(hi[k] + lo[k]) <= most && fabs(lo[k]) <= 1e-6 * most &&
		(i != j || hi[k] >= 0);
}

/* True if the sums of a gpu_ols_stats can come from rows. */
static bool
is_of_rows(GrState *state)
{
	double	   *hi = gr_state_hi(state);
	double	   *lo = gr_state_lo(state);
	bool		ok = state->weighted ? hi[0] > 0 : hi[0] == (double) state->nrows || hi[0] +
		lo[0] == (double) state->nrows;

	/* a number of rows needs a low half only from GR_PASS_ROWS_MAX on */
	ok &= state->weighted || lo[0] == 0 || hi[0] >= GR_PASS_ROWS_MAX;

	for (int64 i = 0; ok && i < gr_norder(state->nfeatures); i++)
	{
		CHECK_FOR_INTERRUPTS();
		for (int64 j = 0; ok && j <= i; j++)
		{
			int64		k = i * (i + 1) / 2 + j;

			ok = hi[k] + lo[k] == hi[k] && is_of_products((GrDDConstVector) {hi, lo}, i, j,
															 (double) state->nrows);
		}
	}
	for (int64 j = 0; ok && j <= state->nfeatures; j++)
		ok = isfinite(gr_state_shift(state)[j]);
	return ok;
}

/* True if the sum of responses and the totals of a step are possible for its family. */
static bool
are_of_a_family(GrState *state)
{
	const double *sums = gr_state_sums(state);
	double		n = sums[GR_SUM_NROWS];
	double		ones = sums[GR_SUM_NONES];
	GrRowTotals totals = gr_state_totals(state);
	const GrFamilyTraits *family = gr_family((GrFamily) state->family);

	if (gr_state_ntotals(state) > 0 &&
		!(totals.weights == n && isfinite(totals.ones) && isfinite(totals.nshares) &&
		  isfinite(totals.log_constant) && isfinite(totals.log_constant_lo)))
		return false;
	if (family->is_binary)
		return ones >= 0 && ones <= n && ones == floor(ones);
	return (family->any_response || ones >= 0) && isfinite(ones);
}

/* True if the sums of a gpu_logreg_step can come from rows. */
static bool
is_of_a_step(GrState *state)
{
	double	   *sums = gr_state_sums(state);
	double	   *hi = gr_state_hi(state);
	double	   *lo = gr_state_lo(state);
	double		n = sums[GR_SUM_NROWS];
	double		deviance = sums[GR_SUM_DEVIANCE_HI];
	int64		t = gr_state_nterms(state);
	/* a deviance of 0 may be rounded below 0 if logarithms are subtracted */
	bool		ok = n >= 0 && n <= GR_PASS_ROWS_MAX && n == floor(n) && are_of_a_family(state) &&
		(deviance >= 0 || !gr_state_is_logistic(state)) && !isnan(deviance) &&
		(isinf(deviance) || deviance + sums[GR_SUM_DEVIANCE_LO] == deviance) &&
		!isnan(sums[GR_SUM_MIN_MARGIN]) && hi[0] == n && lo[0] == 0;

	for (int64 k = 0; ok && k < t; k++)
		ok = isfinite(gr_state_beta(state)[k]) && (gr_state_fixed(state)[k] == 0 || gr_state_fixed(state)[k] == 1);
	for (int64 i = 0; ok && i <= t + 1; i++)
	{
		CHECK_FOR_INTERRUPTS();
		for (int64 j = 0; ok && j <= i; j++)
			ok = is_of_products((GrDDConstVector) {hi, lo}, i, j, n);
	}
	/* sums of squares; no merge makes them negative */
	for (int64 k = 1; ok && k <= t + 1; k++)
	{
		int64		kk = k * (k + 1) / 2 + k;

		ok = hi[kk] >= 0 && hi[kk] + lo[kk] >= 0;
	}
	return ok;
}

Datum
gr_state_read_result(GrState *state)
{
	bool		is_step = state->type == GR_STEP;
	/* log_constant is 0 for rows without weights and for a step */
	bool		ok = state->nrows >= 0 && state->nskipped >= 0 && isfinite(state->log_constant);

	if (state->nfeatures < 0)
		ok &= state->nrows == 0;
	else if (state->internal)
		ok &= gr_state_is_well_formed(state, GR_STEP);
	else if (ok)
		ok = is_step ? gr_state_is_well_formed(state, GR_STEP) && is_of_a_step(state) : is_of_rows(state);
	if (!ok)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("invalid value for type %s", gr_state_type((GrStateType) state->type)),
				 errdetail("The sums in the value contradict each other.")));
	if (is_step && state->nfeatures >= 0 && !state->internal)
		state->nrows = (int64) gr_state_sums(state)[GR_SUM_NROWS];
	PG_RETURN_POINTER(state);
}
