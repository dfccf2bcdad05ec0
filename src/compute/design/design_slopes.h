/*
 * design_slopes.h: a row's features that a factor doesn't make 0, and how they change with one of the numbers that they
 * are made of.
 */
#ifndef GPUREG_DESIGN_SLOPES_H
#define GPUREG_DESIGN_SLOPES_H

#include "compute/base/dd.h"
#include "compute/design/design.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A feature and its derivative */
typedef struct GrDual
{
	int			feature;		/* which of the design's */
	GrDD		value;
	GrDD		slope;
} GrDual;

/*
 * A row's features in their order, but for those that are 0 for a factor's level, not rounded, with their derivatives
 * by the number of a column; -1: by none, all are 0. Indicators stay as they are. values: as for gr_design_expand();
 * duals: room for all features. Returns how many there are.
 */
extern int	gr_design_duals(const GrDesign *design, int column, const double *values, GrDual *duals);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_DESIGN_SLOPES_H */
