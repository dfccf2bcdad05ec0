/*
 * gram_subset.c: the Gram matrix of some columns, from that of all; see gram_subset.h.
 */
#include "compute/linalg/gram_subset.h"

bool
gr_gram_subset(const double *hi, const double *lo, int q, const int *entries, int n, double *subset_hi,
			   double *subset_lo)
{
	for (int i = 0; i < n; i++)
		if (entries[i] < 0 || entries[i] >= q)
			return false;
	for (int i = 0; i < n; i++)
		for (int j = 0; j <= i; j++)
		{
			int			a = entries[i] > entries[j] ? entries[i] : entries[j];
			int			b = entries[i] > entries[j] ? entries[j] : entries[i];

			*subset_hi++ = hi[gr_triangle(a) + b];
			*subset_lo++ = lo[gr_triangle(a) + b];
		}
	return true;
}
