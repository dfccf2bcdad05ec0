/*
 * cv.h: cross-validation of linear and logistic regression: a fit to the rows of all folds but one, for each fold, and
 * how far it is off in that one.
 */
#ifndef GPUREG_CV_H
#define GPUREG_CV_H

#include "postgres.h"

#include "rows/sums/data_set.h"
#include "sql/model/model.h"

/* A fold, or all of them; NaN: NULL */
typedef struct GrCvFold
{
	int64		label;
	int64		ntrain;			/* rows of the fit, */
	int64		ntest;			/* and of the fold */
	double		weight;			/* of the fold's rows */
	double	   *coef;			/* of the fit: nterms; NaN: the term is aliased, or has no finite estimate */
	int			iterations;
	bool		converged;
	double		error;			/* mean squared error, or mean deviance, of the fold's rows */
	double		misclassified;	/* share of them; NaN where they have weights */
} GrCvFold;

typedef struct GrCv
{
	/* what is wanted */
	const char *name;			/* of the SQL function */
	double		started;
	GrFitRows	rows;
	GrRoles		roles;
	double		l2;

	/* what comes out */
	GrDataSet  *data;
	GrModel		model;			/* its terms */
	int			n;
	GrCvFold   *fold;
	GrCvFold	all;			/* the fit to all rows; its errors are those of the folds together */
} GrCv;

/* Opens the rows as cv->data, whose parts are the folds. ERROR if a fit to them has no term, or too many. */
extern void gr_cv_open(FunctionCallInfo fcinfo, GrCv *cv, GrFamily family, GrRowsUse use);

/* Makes room for n folds. */
extern void gr_cv_begin(GrCv *cv, int n);

#endif							/* GPUREG_CV_H */
