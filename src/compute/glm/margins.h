/*
 * margins.h: average marginal effects: what the mean changes by, on the average over rows, with one of the columns that
 * a model's features are made of; and how that depends on each coefficient, for its standard error.
 *
 * Of a number that is the derivative of the mean, of a category the difference between the means of the row with one
 * level and with the first. Sums over rows are in double-double.
 */
#ifndef GPUREG_COMPUTE_MARGINS_H
#define GPUREG_COMPUTE_MARGINS_H

#include "compute/base/compute.h"
#include "compute/base/dd.h"
#include "compute/design/design.h"
#include "compute/design/design_slopes.h"
#include "compute/dist/family.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a column is given in place of the row's own value */
typedef struct GrMarginValue
{
	double		number;
	int			level;
} GrMarginValue;

/* An effect; the caller sets the first four, and then all others are 0 */
typedef struct GrMarginEffect
{
	int			column;
	bool		is_step;		/* else a derivative */
	GrMarginValue from;
	GrMarginValue to;

	int			feature;		/* of a derivative: the only one that the column is in, and which it is; or -1 */
	bool		estimable;		/* a coefficient has a part in it */
	bool		aliased;		/* one that there isn't would have */
	bool		separated;		/* one without a finite estimate has */
	GrDD		sum;
	double		infinite;		/* what was added to it that isn't finite */
	GrDD	   *gradient;		/* by the coefficients of all terms; NULL: not wanted */
	GrDD	   *from_gradient;	/* of a step: what is to be taken from it, for all steps of the column */
} GrMarginEffect;

/* A row's features, those that aren't 0 */
typedef struct GrMarginRow
{
	int			n;
	GrDual	   *duals;
	GrDD		eta;			/* the linear predictor; one that isn't finite has no lower half */
} GrMarginRow;

typedef struct GrMargins
{
	const GrDesign *design;
	GrLink		link;
	bool		intercept;		/* the first term is the intercept, the others are features */
	int			nterms;
	const double *coef;			/* of the terms; NaN: there is none, which counts as 0 */
	const bool *separated;		/* terms whose coefficient has no finite estimate; NULL: none */
	int			neffects;		/* those of a column one after the other */
	GrMarginEffect *effects;
	bool		want_gradients;

	/* of gr_margins_begin() */
	double	   *values;
	GrMarginRow row;
	GrMarginRow from;
	GrMarginRow to;
	int			from_column;	/* whose first value from is of; -1: it is of none */
	GrDD		weight;			/* sum over the rows */
	GrDD		slope;			/* likewise, of the mean's derivative by the linear predictor */
	GrDD	   *curvature;		/* of the second one times each term; NULL: not wanted */
} GrMargins;

/*
 * Ready for rows; false if there is no memory. The design and the terms go together. What is allocated grows with the
 * number of terms and, where gradients are wanted, with that times the number of effects.
 */
extern bool gr_margins_begin(GrMargins *margins, GrMemory memory);

/*
 * Adds a row: values as for gr_design_expand(); weight: above 0; offset: a part of the linear predictor. False if the
 * host asked to stop, and then the sums are of no use.
 */
extern bool gr_margins_add(GrMargins *margins, const double *values, double weight, double offset, GrPoll *poll);

/*
 * The average of an effect over the rows that were added, one at least. gradient: room for all terms, or NULL; of terms
 * without a coefficient or a finite estimate it is of no use. What arithmetic gives where a coefficient is infinite,
 * and NaN where none of the coefficients is there that have a part in the effect.
 */
extern double gr_margins_average(const GrMargins *margins, int effect, GrDD *gradient);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_COMPUTE_MARGINS_H */
