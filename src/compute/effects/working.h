/*
 * working.h: working responses and weights of a generalised linear model with absorbed effects, row by row. sql/effects
 * calls it in each iteration.
 */
#ifndef GPUREG_WORKING_H
#define GPUREG_WORKING_H

#include "compute/dist/family.h"
#include "compute/effects/effects.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Data of an iteration besides the rows' values; arrays of nrows numbers */
typedef struct GrEffectWorking
{
	GrDistribution distribution;
	double	   *y;				/* responses */
	double	   *prior;			/* prior weights or frequencies; NULL: all 1 */
	bool		counts;			/* prior has frequencies of rows of one trial each */
	double	   *eta;			/* linear predictors, with offsets */
	double	   *z;				/* working responses, without offsets */
} GrEffectWorking;

/* Sets eta to predictors of means near the responses. */
extern void gr_effect_start(const GrEffectRows *rows, GrEffectWorking *working);

/*
 * Sets rows->weights to the working weights at eta, z, and the last column of rows->values, to the working responses.
 * Returns the deviance, which is not finite if a row has no mean.
 */
extern double gr_effect_work(GrEffectRows *rows, GrEffectWorking *working);

/* Returns the deviance of the model whose means are all the weighted mean of the responses. */
extern double gr_effect_null_deviance(const GrEffectRows *rows, const GrEffectWorking *working);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_WORKING_H */
