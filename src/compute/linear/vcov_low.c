/*
 * vcov_low.c: low halves of covariance matrices: when to keep them, and their text.
 *
 * A sum x' V x over nearly collinear terms cancels: it may be smaller than the magnitudes of its products by the
 * variance inflation of the terms, and the rounding of V to float8 is relative to those magnitudes. A pivot of the
 * correlations, the share of a term's variance that is left given the terms before it, is the inverse of such an
 * inflation. The solver has V in double-double, which loses nothing that the rows determine.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compute/linear/vcov_low.h"

bool
gr_vcov_loses_digits(const double *vcov, int nterms, double *work)
{
	int			n = 0;

	/* Cholesky's factorisation of the correlations, row by row; n counts the terms in it */
	for (int i = 0; i < nterms; i++)
	{
		double		variance = vcov[(size_t) i * (size_t) nterms + (size_t) i];
		double	   *row = work + (size_t) n * (size_t) nterms;
		double		pivot = 1;
		int			at = 0;

		if (!(variance > 0 && variance <= DBL_MAX))
			continue;
		for (int j = 0; j < i; j++)
		{
			double		other = vcov[(size_t) j * (size_t) nterms + (size_t) j];
			const double *before = work + (size_t) at * (size_t) nterms;
			double		sum;

			if (!(other > 0 && other <= DBL_MAX))
				continue;
			sum = vcov[(size_t) i * (size_t) nterms + (size_t) j] / sqrt(variance) / sqrt(other);
			for (int k = 0; k < at; k++)
				sum -= row[k] * before[k];
			row[at] = sum / before[at];
			pivot -= row[at] * row[at];
			at++;
		}
		/* true for NaN too, if a covariance is unknown */
		if (!(pivot >= GR_LOW_SHARE))
			return true;
		row[at] = sqrt(pivot);
		n++;
	}
	return false;
}

void
gr_vcov_low_write(GrWriter *writer, const double *low, int nterms)
{
	for (int64_t k = 0; k < gr_triangle(nterms); k++)
	{
		double		value = isfinite(low[k]) ? low[k] : 0;
		uint64_t	bits;
		char		text[20];

		memcpy(&bits, &value, sizeof(bits));
		gr_write_bytes(writer, text, (size_t) snprintf(text, sizeof(text), "%016llx", (unsigned long long) bits));
	}
}

/* Reads 16 hexadecimal digits. */
static bool
read_number(const char *at, double *value)
{
	uint64_t	bits = 0;

	for (int k = 0; k < 16; k++)
	{
		char		c = at[k];

		if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f'))
			return false;
		bits = bits << 4 | (uint64_t) (c <= '9' ? c - '0' : c - 'a' + 10);
	}
	memcpy(value, &bits, sizeof(bits));
	return true;
}

bool
gr_vcov_low_read(const GrString *string, const double *vcov, int nterms, double *low)
{
	if (nterms > GR_LOW_TERMS_MAX || string->nbytes != 16 * gr_triangle(nterms))
		return false;
	for (int64_t i = 0; i < nterms; i++)
		for (int64_t j = 0; j <= i; j++)
		{
			int64_t		k = gr_packed(i, j);
			double		entry = vcov[i * nterms + j];

			if (!read_number(string->bytes + 16 * k, &low[k]))
				return false;
			if (isnan(entry))
				low[k] = 0;
			/* at most half a unit of the last digit, with room for subnormal numbers */
			else if (!(fabs(low[k]) <= fabs(entry) * DBL_EPSILON + DBL_MIN))
				return false;
		}
	return true;
}
