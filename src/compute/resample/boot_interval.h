/*
 * boot_interval.h: standard error, bias and confidence limits of an estimate from bootstrap replicates. fn_boot.c
 * calls it first.
 */
#ifndef GPUREG_BOOT_INTERVAL_H
#define GPUREG_BOOT_INTERVAL_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of confidence limits, as in Davison and Hinkley (1997) and R's boot.ci. */
typedef enum GrBootKind
{
	GR_BOOT_PERCENTILE,
	GR_BOOT_BASIC,
	GR_BOOT_NORMAL,
	GR_BOOT_BCA					/* bias-corrected and accelerated, Efron (1987) */
} GrBootKind;

/* Summary of replicates; NaN for values that are not known. */
typedef struct GrBootSummary
{
	double		std_error;		/* standard deviation of the replicates; NaN for fewer than two */
	double		bias;			/* mean of the replicates minus the estimate */
	double		low;
	double		high;
	bool		extreme;		/* a limit is at or beyond the least or greatest replicate */
} GrBootSummary;

/*
 * Summarises n replicates, in ascending order. acceleration: used by BCa only, the sum of the influence values' cubes
 * over 6 (the sum of their squares)^1.5. Quantiles are interpolated between order statistics k and k + 1, k = floor((n
 * + 1) p), on the normal distribution's scale, as in boot.ci. BCa has no limits if all replicates are on one side of
 * the estimate.
 */
extern void gr_boot_summarise(GrBootSummary *summary, const double *replicates, int n, double estimate,
							  GrBootKind kind, double conf_level, double acceleration);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_BOOT_INTERVAL_H */
