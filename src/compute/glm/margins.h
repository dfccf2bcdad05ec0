/*
 * margins.h: average marginal effects: the average change of the mean with a column that a model's features are made
 * of, and its derivatives by the coefficients, for standard errors. fn_margins.c calls gr_margins_begin() first.
 *
 * The effect of a number is the derivative of the mean. The effect of a category is the difference between the means of
 * the row with one level and with the first level. Sums over rows are in double-double.
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

/* A value given to a column in place of the row's own. */
typedef struct GrMarginValue
{
	double		number;
	int			level;
} GrMarginValue;

/* An effect. The caller sets the first four members and clears the others. */
typedef struct GrMarginEffect
{
	int			column;
	bool		is_step;		/* true: a step between two values; false: a derivative */
	GrMarginValue from;
	GrMarginValue to;

	int			feature;		/* derivative: the feature that is the column itself, if no other feature and not the
								 * design's offset depends on the column; else -1 */
	bool		estimable;		/* a term with a coefficient takes part */
	bool		aliased;		/* a term without a coefficient (NaN) takes part */
	bool		separated;		/* a term without a finite estimate takes part */
	GrDD		sum;
	double		infinite;		/* sum of the contributions that are not finite */
	GrDD	   *gradient;		/* gradient by the coefficients of all terms; NULL: not wanted */
	GrDD	   *from_gradient;	/* step: gradient at from, to be subtracted; shared by all steps of a column */
} GrMarginEffect;

/* The features of a row that are not 0. */
typedef struct GrMarginRow
{
	int			n;
	GrDual	   *duals;
	GrDD		eta;			/* linear predictor; its low half is 0 if it is not finite */
} GrMarginRow;

typedef struct GrMargins
{
	const GrDesign *design;
	GrLink		link;
	bool		intercept;		/* the first term is the intercept, the others are features */
	int			nterms;
	const double *coef;			/* nterms coefficients; NaN counts as 0 */
	const bool *separated;		/* nterms: terms whose coefficient has no finite estimate; NULL: none */
	int			neffects;		/* effects of the same column follow each other */
	GrMarginEffect *effects;
	bool		want_gradients;

	/* set by gr_margins_begin() */
	double	   *values;
	GrMarginRow row;
	GrMarginRow from;
	GrMarginRow to;
	int			from_column;	/* column whose value `from` is in row `from`; -1: none */
	GrDD		weight;			/* sum of weights */
	GrDD		slope;			/* sum of weight times the mean's derivative by the linear predictor */
	GrDD	   *curvature;		/* sum of weight times the mean's second derivative times each term; NULL: not wanted */
} GrMargins;

/*
 * Prepares margins for rows. Returns false if out of memory. The design and the terms must match. Memory grows with the
 * number of terms and, with gradients, with the number of terms times the number of effects.
 */
extern bool gr_margins_begin(GrMargins *margins, GrMemory memory);

/*
 * Adds a row. values: as for gr_design_expand(); weight: > 0; offset: a part of the linear predictor besides the
 * design's offset. Returns false if
 * the host asked to stop; the sums are then unusable.
 */
extern bool gr_margins_add(GrMargins *margins, const double *values, double weight, double offset, GrPoll *poll);

/*
 * Returns the average of an effect over the rows added, at least one. gradient: room for all terms, or NULL; entries of
 * terms without a coefficient or a finite estimate are meaningless. An infinite coefficient gives the result of its
 * arithmetic. Returns NaN if no term that takes part has a coefficient.
 */
extern double gr_margins_average(const GrMargins *margins, int effect, GrDD *gradient);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_COMPUTE_MARGINS_H */
