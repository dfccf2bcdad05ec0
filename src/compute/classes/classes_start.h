/*
 * classes_start.h: what the first pass of a model of classes tells, GR_MULTINOM_START: the shift and the spread of the
 * columns, and which ones are collinear. multinom_fit.c and ordinal_fit.c call it.
 */
#ifndef GPUREG_CLASSES_START_H
#define GPUREG_CLASSES_START_H

#include "compute/classes/multinom_sums.h"
#include "compute/linalg/normal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Arrays are the caller's. */
typedef struct GrClassesStart
{
	int			t;				/* number of terms (1, x) */
	int			nclasses;		/* classes in of_class */
	bool		intercept;		/* columns are shifted to their means, and the ones are a term */
	double	   *shift;			/* output, t - 1 */
	double	   *spread;			/* output, t: root of the mean square of each shifted term */
	bool	   *aliased;		/* output, t: collinear terms, and the ones without an intercept */
	double	   *coef;			/* t: scratch */
	double	   *pivot;			/* t: scratch */
	GrDDVector	triangle;		/* packed, t + 1 rows: scratch */
	void	   *workspace;		/* gr_normal_workspace_nbytes(t) */
	int			rank;			/* output: terms that are not aliased */
	bool		near_collinear; /* output: sums of products in float8 lose too many digits */
} GrClassesStart;

/* Returns entry a, b of a packed triangle. */
static inline GrDD *
gr_classes_entry(GrDD *triangle, int a, int b)
{
	return &triangle[a >= b ? gr_packed(a, b) : gr_packed(b, a)];
}

/*
 * Moves gram (X'WX) and of_class (nclasses x t: X'W of each class) to shifted columns, and sets the output. Fails with
 * GR_OUT_OF_RANGE (where: the column) and GR_CANCELED.
 */
extern bool gr_classes_start(GrClassesStart *start, GrDD *gram, GrDD *of_class, const GrHost *host, GrError *err);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_CLASSES_START_H */
