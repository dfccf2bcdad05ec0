/*
 * wald.c: joint tests of a model's coefficients by their covariance matrix; see wald.h.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "miscadmin.h"

#include "compute/base/compute.h"
#include "compute/linear/ols.h"
#include "compute/linear/vcov.h"
#include "run/args.h"
#include "run/raise.h"
#include "sql/model/combination.h"
#include "sql/model/model_extras.h"
#include "sql/model/wald.h"

/* Largest value, per term, that rounding may give a zero pivot of a block, whose variances are 1 to 4. */
#define RANK_ROUNDING (16 * DBL_EPSILON)

/* Largest value, per term and relative to its variance, that rounding may give a zero pivot if there are low halves. */
#define LOW_RANK_ROUNDING 0x1p-94

/* Relative error of an entry that is rounded to float8, and of one with its low half, in double-double */
#define ENTRY_ROUNDING (DBL_EPSILON / 2)
#define LOW_ENTRY_ROUNDING 0x1p-100

/* Returns 2^-k such that variance times 2^-2k is in [1, 4). */
static double
unit_of(double variance)
{
	return ldexp(1.0, -(int) floor(0.5 * ilogb(variance)));
}

bool
gr_vcov_block_fill(GrVcovBlock *block, const GrModel *model, const int *terms, int n)
{
	Size		triangle = (Size) gr_triangle((int64) n + 1);
	double	   *unit = palloc_extended((Size) n * sizeof(double), MCXT_ALLOC_HUGE);
	double	   *low = gr_read_low(model->extras.vcov_low, model->vcov, model->nterms);
	Size		k = 0;

	block->n = n;
	block->has_low = low != NULL;
	block->hi = palloc_extended(triangle * sizeof(double), MCXT_ALLOC_HUGE);
	block->lo = palloc_extended(triangle * sizeof(double), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (int i = 0; i < n; i++)
	{
		unit[i] = unit_of(model->vcov[(Size) terms[i] * model->nterms + terms[i]]);
		for (int j = 0; j <= i; j++, k++)
		{
			block->hi[k] = model->vcov[(Size) terms[i] * model->nterms + terms[j]] * unit[i] * unit[j];
			if (!isfinite(block->hi[k]))
				return false;
			if (low != NULL)
				block->lo[k] = low[gr_packed(Max(terms[i], terms[j]), Min(terms[i], terms[j]))] * unit[i] * unit[j];
			gr_poll_loop(k);
		}
	}
	for (int i = 0; i < n; i++, k++)
	{
		block->hi[k] = model->coef[terms[i]] * unit[i];
		if (!isfinite(block->hi[k]))
			return false;
	}
	block->hi[k] = 0;
	pfree(unit);
	return true;
}

/* True if the block's rank is n. Eliminates with the largest diagonal entry first, so that multipliers are <= 1. */
static bool
has_full_rank(const GrVcovBlock *block)
{
	int64		n = block->n;
	double	   *a = palloc_extended((Size) n * n * sizeof(double), MCXT_ALLOC_HUGE);
	int64	   *order = palloc_extended((Size) n * sizeof(int64), MCXT_ALLOC_HUGE);
	bool		full = true;

	for (int64 i = 0; i < n; i++)
	{
		order[i] = i;
		for (int64 j = 0; j <= i; j++)
			a[i * n + j] = a[j * n + i] = block->hi[gr_triangle(i) + j];
		CHECK_FOR_INTERRUPTS();
	}
	for (int64 k = 0; k < n && full; k++)
	{
		int64		pivot = k;
		int64		swapped = order[k];

		for (int64 i = k + 1; i < n; i++)
			if (a[order[i] * n + order[i]] > a[order[pivot] * n + order[pivot]])
				pivot = i;
		order[k] = order[pivot];
		order[pivot] = swapped;
		full = a[order[k] * n + order[k]] > RANK_ROUNDING * (double) n;
		for (int64 i = k + 1; i < n && full; i++)
		{
			double	   *row = a + order[i] * n;
			const double *first = a + order[k] * n;
			double		factor = row[order[k]] / first[order[k]];

			CHECK_FOR_INTERRUPTS();
			for (int64 j = k + 1; j < n; j++)
				row[order[j]] -= factor * first[order[j]];
		}
	}
	pfree(a);
	pfree(order);
	return full;
}

/* Returns the largest change of z' V z if each entry of V changes by no more than itself. */
static double
largest_noise(const GrVcovBlock *block, const double *z)
{
	double		sum = 0;

	for (int64 i = 0; i < block->n; i++)
	{
		sum += fabs(z[i]) * sqrt(block->hi[gr_triangle(i) + i]);
		gr_poll_loop(i);
	}
	return sum * sum;
}

static double
entry_rounding(const GrVcovBlock *block)
{
	return block->has_low ? LOW_ENTRY_ROUNDING : ENTRY_ROUNDING;
}

bool
gr_vcov_block_is_precise(const GrVcovBlock *block, int i)
{
	const double *row = block->inverse + (Size) i * block->n;

	return entry_rounding(block) * largest_noise(block, row) <= GR_PRECISE_SHARE * row[i];
}

/* True if b' V^-1 b = b' z has six digits. Rounding changes it by z' dV z (covariances) and 2 z' db (coefficients). */
static bool
is_quadratic_precise(const GrVcovBlock *block)
{
	double		noise = entry_rounding(block) * largest_noise(block, block->coef);

	for (int64 i = 0; i < block->n; i++)
	{
		noise += 2 * ENTRY_ROUNDING * fabs(block->coef[i] * block->hi[gr_triangle(block->n) + i]);
		gr_poll_loop(i);
	}
	return noise <= GR_PRECISE_SHARE * block->quadratic || block->quadratic == 0;
}

void
gr_vcov_block_solve(GrVcovBlock *block, bool want_inverse)
{
	GrNormalFit fit = {
		.nterms = block->n,.tolerance = (block->has_low ? LOW_RANK_ROUNDING : 4 * DBL_EPSILON) * block->n
	};
	GrError		err = {0};
	void	   *workspace = palloc_extended(gr_normal_workspace_nbytes(block->n), MCXT_ALLOC_HUGE);

	fit.aliased = block->aliased = palloc0(block->n * sizeof(bool));
	fit.coef = block->coef = palloc(block->n * sizeof(double));
	if (want_inverse)
		fit.inverse = palloc_extended((Size) block->n * block->n * sizeof(double), MCXT_ALLOC_HUGE);
	block->inverse = fit.inverse;
	if (!gr_normal_solve((GrDDConstVector) {block->hi, block->lo}, workspace, &fit, &gr_host, &err))
		gr_raise(&err);
	pfree(workspace);
	block->quadratic = fit.decrement;
	block->singular = fit.rank < block->n;
	block->precise = !block->singular && is_quadratic_precise(block);
}

/*
 * Returns GR_WALD_FOUND if the terms' variances allow a test. *nexact: number of variances that are 0. *place: term
 * that prevents the test.
 */
static GrWaldOutcome
check_variances(const GrModel *model, const int *terms, int n, int *nexact, int *place)
{
	GrVcov		vcov;

	*nexact = 0;
	for (int i = 0; i < n; i++)
	{
		double		variance = model->vcov[(Size) terms[i] * model->nterms + terms[i]];

		*place = terms[i];
		if (isnan(variance))
			return gr_model_is_robust(model) && model->df_residual > 0 ? GR_WALD_NO_VARIANCE : GR_WALD_NONE;
		if (variance < 0 && model->vcov_type != NULL && gr_vcov_named(model->vcov_type, &vcov) &&
			gr_vcov_is_clustered(vcov))
			return GR_WALD_NEGATIVE;
		if (variance < 0 || isinf(variance))
			return GR_WALD_MALFORMED;
		*nexact += variance == 0;
	}
	return GR_WALD_FOUND;
}

GrWaldOutcome
gr_wald_statistic(const GrModel *model, const int *terms, int n, double *statistic, int *place)
{
	int			nexact;
	GrWaldOutcome outcome = n == 0 ? GR_WALD_NONE : check_variances(model, terms, n, &nexact, place);
	double		distance = 0;
	GrVcovBlock	block;

	*statistic = NAN;
	if (outcome != GR_WALD_FOUND)
		return outcome;
	if (nexact == n)
	{
		/* a perfect fit: estimates are exact */
		for (int i = 0; i < n; i++)
			distance = fmax(distance, fabs(model->coef[terms[i]]));
		*statistic = distance > 0 ? INFINITY : NAN;
		return GR_WALD_FOUND;
	}
	if (nexact > 0)
		return GR_WALD_SINGULAR;
	if (!gr_vcov_block_fill(&block, model, terms, n))
		return GR_WALD_FOUND;
	if (!block.has_low && !has_full_rank(&block))
		return GR_WALD_SINGULAR;
	gr_vcov_block_solve(&block, false);
	if (block.singular)
		return GR_WALD_SINGULAR;
	if (!block.precise)
		return GR_WALD_IMPRECISE;
	*statistic = block.quadratic;
	return GR_WALD_FOUND;
}
