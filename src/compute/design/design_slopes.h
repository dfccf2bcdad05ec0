/*
 * design_slopes.h: a row's nonzero features and their derivatives by one column. Marginal effects (margins.h) call it.
 */
#ifndef GPUREG_DESIGN_SLOPES_H
#define GPUREG_DESIGN_SLOPES_H

#include "compute/base/dd.h"
#include "compute/design/design.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A feature's value and derivative */
typedef struct GrDual
{
	int			feature;		/* index of the feature in the design */
	GrDD		value;
	GrDD		slope;
} GrDual;

/*
 * Computes the features of a row, in their order, with their derivatives by the number in column (-1: all derivatives
 * are 0), in double-double without rounding to float8. Features that a factor's level makes 0 are left out; indicators
 * have derivative 0. values: as in gr_design_expand(); duals: room for all features. Returns the number of duals.
 */
extern int	gr_design_duals(const GrDesign *design, int column, const double *values, GrDual *duals);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_DESIGN_SLOPES_H */
