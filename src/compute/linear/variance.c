/* variance.c: judges which variances of estimates are zero up to rounding; see variance.h. */
#include "compute/linear/variance.h"

#include <math.h>

#include "compute/linalg/normal.h"

/*
 * Squared residuals of a perfect fit as a share of squared means: exp() and the like leave about 2^-53 (1 + |eta|) of a
 * mean. In a linear fit it is 2^-53 of the response, and the limit is that of gr_ols_solve().
 */
#define PERFECT 1e-26
#define PERFECT_LINEAR GR_ROUNDING_TOLERANCE

/* Returns the index of entry (i, j), j <= i, of a packed triangle. */
static inline int64_t
triangle_at(int64_t i, int64_t j)
{
	return i * (i + 1) / 2 + j;
}

GrVarianceKind
gr_judge_variance(double variance, double inverse, double squares, bool subtracted)
{
	double		least = (subtracted ? GR_ZERO_DIFFERENCE : GR_ZERO_VARIANCE) * inverse * squares;

	if (isnan(variance) || !isfinite(least))
		return GR_VARIANCE_KNOWN;
	if (fabs(variance) <= least || squares == 0)
		return GR_VARIANCE_ZERO;
	return variance > 0 ? GR_VARIANCE_KNOWN : subtracted ? GR_VARIANCE_NEGATIVE : GR_VARIANCE_ZERO;
}

/* Sets row and column k to NaN. */
static void
clear_term(double *vcov, int n, int k)
{
	for (int j = 0; j < n; j++)
		vcov[(size_t) k * (size_t) n + (size_t) j] = vcov[(size_t) j * (size_t) n + (size_t) k] = NAN;
}

int
gr_judge_variances(double *vcov, int n, const double *inverse, double squares, bool subtracted, bool perfect,
				   GrVarianceKind *kinds)
{
	int			nunknown = 0;

	for (int k = 0; k < n; k++)
	{
		double		variance = vcov[(size_t) k * (size_t) n + (size_t) k];

		kinds[k] = perfect && !isnan(variance) ? GR_VARIANCE_ZERO :
			gr_judge_variance(variance, inverse[k], squares, subtracted);
		nunknown += kinds[k] != GR_VARIANCE_KNOWN;
	}
	for (int k = 0; k < n; k++)
		if (kinds[k] == GR_VARIANCE_ZERO)
			clear_term(vcov, n, k);
	return nunknown;
}

double
gr_response_size(GrLink link, const double *hi, const double *theta, int nfull, int first)
{
	bool		is_power = link == GR_IDENTITY || link == GR_INVERSE || link == GR_SQRT;
	double		size = is_power ? 0 : hi[triangle_at(1, 1)];

	for (int64_t i = first; i < nfull; i++)
	{
		double		sum = 0;

		if (isnan(theta[i]))
			continue;
		for (int64_t j = first; j < i; j++)
			if (!isnan(theta[j]))
				sum += 2 * hi[triangle_at(i + 1, j + 1)] * theta[j];
		size += (sum + hi[triangle_at(i + 1, i + 1)] * theta[i]) * theta[i];
	}
	return size;
}

bool
gr_is_perfect(double squares, double size, bool linear)
{
	return isfinite(size) && squares <= (linear ? PERFECT_LINEAR : PERFECT) * size;
}
