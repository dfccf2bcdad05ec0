/*
 * glm_sums.h: what the files of passes on the CPU share, glm.c and glm_exact.c.
 */
#ifndef GPUREG_GLM_SUMS_H
#define GPUREG_GLM_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "compute/base/dd.h"

#define GR_MAX_LANES 8

/* a vector's alignment, in doubles */
#define GR_ALIGNMENT 8

static inline size_t
gr_round_up(size_t n)
{
	return (n + GR_ALIGNMENT - 1) / GR_ALIGNMENT * GR_ALIGNMENT;
}

static inline double *
gr_align(double *scratch)
{
	return scratch + (GR_ALIGNMENT - (uintptr_t) scratch / sizeof(double) % GR_ALIGNMENT) % GR_ALIGNMENT;
}

/* hi + lo += term */
static inline void
gr_add_to_sum(double *hi, double *lo, GrDD term)
{
	GrDD		sum = {*hi, *lo};

	sum = gr_dd_add(sum, term);
	*hi = sum.hi;
	*lo = sum.lo;
}

#endif							/* GPUREG_GLM_SUMS_H */
