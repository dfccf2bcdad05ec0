/*
 * margin_sums.h: the sums of average marginal effects whose features are columns of numbers, many rows at a time. All
 * such effects share these sums; see margins.c. The request GR_REQUEST_MARGINS (compute/request) adds them up.
 *
 * Sums are as accurate as in double-double, as in linalg/quadratic.h, and have the same bits on every processor.
 */
#ifndef GPUREG_MARGIN_SUMS_H
#define GPUREG_MARGIN_SUMS_H

#include "compute/base/dd.h"
#include "compute/base/row.h"
#include "compute/dist/family.h"
#include "compute/glm/margins.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows that gr_margin_sums_add() takes at once, at most */
#define GR_MARGIN_ROWS 256

/* The model whose effects are summed */
typedef struct GrMarginModel
{
	GrLink		link;
	GrRowShape	shape;			/* rows have no weights; their responses are ignored */
	const double *beta;			/* intercept, then one coefficient per feature; finite; 0: not in the model */
} GrMarginModel;

/*
 * Sums over rows. Of p features there are p + 2: of the mean's first derivative by the linear predictor; and of the
 * second derivative times 1 and times each feature.
 */
static inline size_t
gr_margin_nsums(int nfeatures)
{
	return (size_t) nfeatures + 2;
}

/* Returns the number of float8 that gr_margin_sums_add() needs as scratch. */
static inline size_t
gr_margin_scratch(int nfeatures)
{
	return ((size_t) nfeatures + 5) * GR_MARGIN_ROWS;
}

/* Adds nrows rows, at most GR_MARGIN_ROWS, whose values are all finite. */
extern void gr_margin_sums_add(const GrMarginModel *model, const double *rows, int nrows, double *scratch,
							   GrDD *sums);

/* Sets the sums of margins, which gr_margins_begin() has prepared, from the sums over nrows rows. */
extern void gr_margin_sums_take(GrMargins *margins, const GrDD *sums, double nrows);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_MARGIN_SUMS_H */
