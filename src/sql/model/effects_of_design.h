/*
 * effects_of_design.h: the terms of a model's formula, each of which has one or several coefficients: a factor has one
 * per level but the first. gpu_wald and gpu_anova test them as a whole.
 */
#ifndef GPUREG_EFFECTS_OF_DESIGN_H
#define GPUREG_EFFECTS_OF_DESIGN_H

#include "postgres.h"

#include "sql/model/model.h"

/* A term of the formula, or a feature of a model without one */
typedef struct GrModelEffect
{
	const char *name;			/* wt, cyl, wt:cyl, poly(hp, 2) */
	int			first;			/* number of its first coefficient in the model */
	int			n;				/* number of its coefficients */
	const GrDesignTerm *term;	/* NULL: the model has no design */
} GrModelEffect;

/* Returns the model's effects without the intercept, in their order, and sets *n to their number. */
extern GrModelEffect *gr_model_effects(const GrModel *model, int *n);

/* True if effect b, another one than a, contains all variables of a: it is an interaction with a. */
extern bool gr_effect_contains(const GrModelEffect *b, const GrModelEffect *a);

#endif							/* GPUREG_EFFECTS_OF_DESIGN_H */
