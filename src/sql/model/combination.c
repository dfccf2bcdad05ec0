/*
 * combination.c: the standard error of a linear combination of a model's coefficients, summed in double-double.
 *
 * The sum itself loses no digits that matter. If covariances cancel, their rounding to float8 limits the precision;
 * then the covariances' low halves are used, if the model has them. Rounding each V[i][j] by a share u of itself
 * changes x' V x by at most u (sum of |x[i]| sqrt(V[i][i]))^2, because |V[i][j]| is at most sqrt(V[i][i] V[j][j]).
 */
#include "postgres.h"

#include <float.h>
#include <limits.h>
#include <math.h>

#include "compute/linalg/quadratic.h"
#include "run/args.h"
#include "sql/model/combination.h"
#include "sql/model/model_extras.h"

/* Low halves are used if rounding V may have changed x' V x by more than this share of itself. */
#define LOW_SHARE 1e-12

/* Square root of the relative error of an entry with its low half; the solve rounds in double-double. */
#define LOW_ROUNDING 0x1p-50

/*
 * Scales variances to 1 .. 4 by powers of two that are moved into x, then scales x below 2 in magnitude. unit[k]:
 * factor of the covariances in row and column k. *exponent: x was divided by 2^*exponent. Returns false if a term with
 * a nonzero x has a negative or non-finite variance.
 */
static bool
scale_values(const double *vcov, int nterms, GrDD *x, double *unit, int *exponent)
{
	int			largest = INT_MIN;

	for (int k = 0; k < nterms; k++)
	{
		double		variance = vcov[(Size) k * nterms + k];
		int			half;

		unit[k] = 1;
		if (x[k].hi == 0)
			continue;
		if (!(variance >= 0 && isfinite(variance)))
			return false;
		half = variance > 0 ? (int) floor(0.5 * ilogb(variance)) : 0;
		unit[k] = ldexp(1.0, -half);
		largest = Max(largest, ilogb(x[k].hi) + half);
		gr_poll_loop(k);
	}
	*exponent = largest == INT_MIN ? 0 : largest;
	for (int k = 0; k < nterms; k++)
	{
		int			shift = -ilogb(unit[k]) - *exponent;

		x[k] = (GrDD) {ldexp(x[k].hi, shift), ldexp(x[k].lo, shift)};
		gr_poll_loop(k);
	}
	return true;
}

/* Returns x' V x, computed from the lower triangle. low: packed triangle of what rounding left of V, or NULL. */
static double
quadratic_form(const double *vcov, const double *low, int nterms, const GrDD *x, const double *unit)
{
	GrDD		sum = gr_dd(0);
	int64		n = 0;

	for (int64 i = 0; i < nterms; i++)
	{
		const double *row = vcov + i * nterms;
		GrDD		part = gr_dd(0);

		gr_poll_loop(n++);
		if (x[i].hi == 0)
			continue;
		for (int64 j = 0; j <= i; j++)
		{
			GrDD		product;

			gr_poll_loop(n++);
			if (x[j].hi == 0)
				continue;
			product = gr_dd_mul_d(x[j], row[j] * unit[i] * unit[j]);
			if (low != NULL)
				product = gr_dd_add(product, gr_dd_mul_d(x[j], low[gr_packed(i, j)] * unit[i] * unit[j]));
			part = gr_dd_add(part, i == j ? product : gr_dd_scale(product, 2));
		}
		sum = gr_dd_add(sum, gr_dd_mul(part, x[i]));
	}
	return gr_dd_to_double(sum);
}

/* Returns the square root of the largest change of x' V x if each covariance changes by no more than itself. */
static double
largest_noise(const double *vcov, int nterms, const GrDD *x, const double *unit)
{
	double		sum = 0;

	for (int64 k = 0; k < nterms; k++)
	{
		if (x[k].hi != 0)
			sum += fabs(x[k].hi) * sqrt(vcov[k * nterms + k] * unit[k] * unit[k]);
		gr_poll_loop(k);
	}
	return sum;
}

bool
gr_combination_error(GrCombination *c)
{
	double	   *unit = palloc_extended(c->nterms * sizeof(double), MCXT_ALLOC_HUGE);
	double		square = NAN;
	double		noise = 0;
	int			exponent = 0;

	if (scale_values(c->vcov, c->nterms, c->x, unit, &exponent))
	{
		double		largest = largest_noise(c->vcov, c->nterms, c->x, unit);

		square = quadratic_form(c->vcov, NULL, c->nterms, c->x, unit);
		noise = sqrt(DBL_EPSILON / 2) * largest;
		if (c->vcov_low.bytes != NULL && !isnan(square) && noise * noise > LOW_SHARE * square)
		{
			double	   *low = gr_read_low(c->vcov_low, c->vcov, c->nterms);

			square = quadratic_form(c->vcov, low, c->nterms, c->x, unit);
			noise = LOW_ROUNDING * largest;
			pfree(low);
		}
	}
	pfree(unit);
	/* rounding alone may have made square negative */
	if (square < 0 && square >= -noise * noise)
		square = 0;
	/* negative if V is not a covariance matrix; NaN if some covariances are not known */
	if (!(square >= 0 && isfinite(square)))
		return false;
	c->error = ldexp(sqrt(square), exponent);
	c->noise = ldexp(noise, exponent);
	return true;
}

bool
gr_combination_is_precise(const GrCombination *c, double more)
{
	double		share = sqrt(GR_PRECISE_SHARE);

	return c->noise <= share * c->error || c->noise <= share * hypot(c->error, sqrt(more));
}

/*
 * Ready covariances
 */

/* Scaled weights have a sum of magnitudes in this range, so that no product overflows or loses digits that matter. */
#define WEIGHTS_MIN 0x1p-200
#define WEIGHTS_MAX 0x1p200

/* Scaled covariances are at most this large; those of a covariance matrix are below 4. */
#define SCALED_MAX 16

/* Combinations of more terms than this leave out terms of weight 0, unless a quarter of the terms have another. */
#define SPARSE_MIN 64

struct GrReadyVcov
{
	MemoryContext context;		/* owns this struct and everything in it */
	int			nterms;
	GrString	low_text;		/* low halves of vcov as text; bytes NULL: there are none */
	const double *vcov;
	double	   *packed;			/* scaled vcov, as in quadratic.h */
	double	   *low;			/* low halves of packed; NULL: not yet read */
	double	   *unit;			/* factors of vcov's rows and columns, powers of two; 0: term is not used */
	double	   *inverse;		/* factors of the weights: 1 / unit, or 0 */
	double	   *root;			/* square roots of the scaled variances */
	double	   *x;				/* room for scaled weights */
};

/* Packs entries of a symmetric matrix, scaled. v: nterms x nterms; NULL: low, a packed triangle, has the entries. */
static bool
pack(const GrReadyVcov *ready, const double *v, const double *low, double *packed)
{
	int64		n = 0;

	for (int64 i = 0; i < ready->nterms; i++)
		for (int64 j = 0; j <= i; j++)
		{
			double		entry = v != NULL ? v[i * ready->nterms + j] : low[gr_packed(i, j)];

			gr_poll_loop(n++);
			if (ready->unit[i] == 0 || ready->unit[j] == 0)
				continue;
			entry = entry * ready->unit[i] * ready->unit[j];
			if (!(fabs(entry) <= SCALED_MAX))
				return false;
			packed[gr_quadratic_at(i, j)] = i == j ? entry : 2 * entry;
		}
	return true;
}

static double *
take_packed(MemoryContext context, int nterms)
{
	return MemoryContextAllocExtended(context, gr_quadratic_size(nterms) * sizeof(double),
									  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

GrReadyVcov *
gr_ready_vcov(const GrCombination *c, const bool *used)
{
	int			n = c->nterms;
	GrReadyVcov *ready = palloc(sizeof(GrReadyVcov));
	double	   *room = palloc_extended(4 * (Size) n * sizeof(double), MCXT_ALLOC_HUGE);

	*ready = (GrReadyVcov) {
		.context = CurrentMemoryContext,.nterms = n,.low_text = c->vcov_low,.vcov = c->vcov,.unit = room,
		.inverse = room + n,.root = room + 2 * (Size) n,.x = room + 3 * (Size) n
	};
	for (int64 k = 0; k < n; k++)
	{
		double		variance = c->vcov[k * n + k];
		int			half = variance > 0 && isfinite(variance) ? (int) floor(0.5 * ilogb(variance)) : 0;

		ready->unit[k] = used[k] ? ldexp(1.0, -half) : 0;
		ready->inverse[k] = used[k] ? ldexp(1.0, half) : 0;
		ready->root[k] = used[k] ? sqrt(variance * ready->unit[k] * ready->unit[k]) : 0;
		if (isnan(ready->root[k]))
			return NULL;
		gr_poll_loop(k);
	}
	ready->packed = take_packed(ready->context, n);
	return pack(ready, c->vcov, NULL, ready->packed) ? ready : NULL;
}

/* Reads the low halves, unless that was done. Returns false if they are out of range. */
static bool
ready_low(GrReadyVcov *ready)
{
	double	   *low;
	double	   *packed;

	if (ready->low != NULL)
		return true;
	low = gr_read_low(ready->low_text, ready->vcov, ready->nterms);
	packed = take_packed(ready->context, ready->nterms);
	if (!pack(ready, NULL, low, packed))
		return false;
	ready->low = packed;
	pfree(low);
	return true;
}

/* Scales the weights into ready->x. Returns false if they are out of range, or so few are not 0 that others skip. */
static bool
scale_weights(GrReadyVcov *ready, bool intercept, const double *values, double *largest)
{
	double		sum = 0;
	double		noise = 0;
	int			first = intercept ? 1 : 0;
	int			nonzeros = 0;

	for (int k = 0; k < ready->nterms; k++)
	{
		double		x = (k < first ? 1 : values[k - first]) * ready->inverse[k];

		ready->x[k] = x;
		nonzeros += x != 0 ? 1 : 0;
		sum += fabs(x);
		noise += fabs(x) * ready->root[k];
	}
	*largest = noise;
	return sum >= WEIGHTS_MIN && sum <= WEIGHTS_MAX && (ready->nterms <= SPARSE_MIN || nonzeros > ready->nterms / 4);
}

bool
gr_ready_error(GrReadyVcov *ready, bool intercept, const double *x, GrCombination *c)
{
	double		largest;
	double		square;

	if (!scale_weights(ready, intercept, x, &largest))
		return false;
	square = gr_quadratic_form(ready->packed, NULL, ready->nterms, ready->x);
	c->noise = sqrt(DBL_EPSILON / 2) * largest;
	if (ready->low_text.bytes != NULL && c->noise * c->noise > LOW_SHARE * square)
	{
		if (!ready_low(ready))
			return false;
		square = gr_quadratic_form(ready->packed, ready->low, ready->nterms, ready->x);
		c->noise = LOW_ROUNDING * largest;
	}
	if (!(square >= 0))
		return false;
	c->error = sqrt(square);
	return true;
}

void
gr_warn_imprecise(FunctionCallInfo fcinfo, bool *warned, const char *what)
{
	if (warned == NULL && fcinfo->flinfo->fn_extra == NULL)
		fcinfo->flinfo->fn_extra = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(bool));
	if (warned == NULL)
		warned = fcinfo->flinfo->fn_extra;
	if (*warned)
		return;
	*warned = true;
	ereport(WARNING,
			(errmsg("%s with fewer than six correct digits are NULL", what),
			 errdetail("The model's columns are nearly collinear, so that its covariances cancel out."),
			 errhint("Subtract from each column a value near its mean, or leave out a column that others determine, "
					 "and fit again.")));
}
