/* glm_sums.h: helpers shared by the CPU passes in glm.c and glm_exact.c. */
#ifndef GPUREG_GLM_SUMS_H
#define GPUREG_GLM_SUMS_H

#include "compute/base/dd.h"

#define GR_MAX_LANES 8

/* Adds term to the sum hi + lo. */
static inline void
gr_add_to_sum(double *hi, double *lo, GrDD term)
{
	GrDD		sum = {*hi, *lo};

	sum = gr_dd_add(sum, term);
	*hi = sum.hi;
	*lo = sum.lo;
}

#endif							/* GPUREG_GLM_SUMS_H */
