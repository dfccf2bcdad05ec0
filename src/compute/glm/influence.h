/*
 * influence.h: residuals of one row of a fitted model, and how much the row influences the fit, as R's residuals,
 * rstandard, rstudent, hatvalues, cooks.distance and dffits have them. gpu_augment (fn_augment.c) calls it.
 */
#ifndef GPUREG_INFLUENCE_H
#define GPUREG_INFLUENCE_H

#include "compute/dist/family.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A model, as far as the influence of a row depends on it */
typedef struct GrInfluenceModel
{
	GrDistribution distribution;	/* exponent 0 */
	bool		quasi;			/* the family is R's quasibinomial or quasipoisson */
	double		dispersion;		/* NaN: not known */
	double		deviance;
	double		rank;			/* number of coefficients */
	double		df_residual;
} GrInfluenceModel;

/* Results; NaN: not defined */
typedef struct GrInfluence
{
	double		fitted;			/* mean */
	double		residual;		/* response less mean */
	double		pearson;		/* Pearson's residual, with the root of the weight */
	double		deviance;		/* deviance residual, with the root of the weight */
	double		working;		/* residual on the scale of the linear predictor */
	double		std_residual;	/* deviance residual over its standard deviation */
	double		student;		/* std_residual with an estimate of the dispersion that leaves the row out */
	double		hat;			/* leverage */
	double		cooks_distance;
	double		dffits;
} GrInfluence;

/* The row */
typedef struct GrInfluenceRow
{
	double		y;				/* response, valid for the family */
	double		eta;			/* linear predictor, with the offset */
	double		weight;			/* prior weight; 1 for rows that frequencies count */
	double		quadratic;		/* x' (X'WX)^-1 x; NaN: not known */
} GrInfluenceRow;

extern GrInfluence gr_influence(const GrInfluenceModel *model, const GrInfluenceRow *row);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_INFLUENCE_H */
