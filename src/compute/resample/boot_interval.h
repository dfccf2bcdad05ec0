/*
 * boot_interval.h: what a bootstrap's replicates say of an estimate.
 */
#ifndef GPUREG_BOOT_INTERVAL_H
#define GPUREG_BOOT_INTERVAL_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of confidence limits, as Davison and Hinkley (1997) and R's boot.ci have them */
typedef enum GrBootKind
{
	GR_BOOT_PERCENTILE,
	GR_BOOT_BASIC,
	GR_BOOT_NORMAL,
	GR_BOOT_BCA					/* Efron's (1987), bias-corrected and accelerated */
} GrBootKind;

/* NaN where something isn't known */
typedef struct GrBootSummary
{
	double		std_error;		/* the standard deviation of the replicates; of fewer than two there is none */
	double		bias;			/* their mean less the estimate */
	double		low;
	double		high;
	bool		extreme;		/* a limit is the least replicate or the greatest, or beyond them */
} GrBootSummary;

/*
 * Of n replicates, in ascending order. acceleration: BCa's, the sum of cubes of the influence values over 6 (the sum of
 * their squares)^1.5. A quantile is that of the order statistics k and k + 1, k = floor((n + 1) p), interpolated on
 * the normal distribution's scale, as boot.ci's are. BCa has no limits where all replicates are on one side of the
 * estimate.
 */
extern void gr_boot_summarise(GrBootSummary *summary, const double *replicates, int n, double estimate,
							  GrBootKind kind, double conf_level, double acceleration);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_BOOT_INTERVAL_H */
