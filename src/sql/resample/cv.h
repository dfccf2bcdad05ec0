/*
 * cv.h: cross-validates linear and logistic regressions. For each fold, it fits the rows of the other folds and
 * measures the error in the fold. cv_linear.c and cv_logistic.c share it; gpu_ols_cv and gpu_logreg_cv call these.
 */
#ifndef GPUREG_CV_H
#define GPUREG_CV_H

#include "postgres.h"

#include "rows/sums/data_set.h"
#include "sql/model/model.h"

/* Results of a fold, or of all folds. NaN stands for NULL. */
typedef struct GrCvFold
{
	int64		label;			/* value of the fold column, or the fold's number */
	int64		ntrain;			/* number of rows of the fit */
	int64		ntest;			/* number of rows of the fold */
	double		weight;			/* total weight of the fold's rows */
	double	   *coef;			/* nterms coefficients of the fit; NaN: the term is aliased or has no finite estimate */
	int			iterations;
	bool		converged;
	double		error;			/* mean squared error, or mean deviance, of the fold's rows */
	double		misclassified;	/* share of the fold's rows that are misclassified; NaN if rows have weights */
} GrCvFold;

typedef struct GrCv
{
	/* in: */
	const char *name;			/* name of the SQL function */
	double		started;
	GrFitRows	rows;
	GrRoles		roles;
	double		l2;				/* ridge penalty; 0: none */

	/* out: */
	GrDataSet  *data;			/* the open rows */
	GrModel		model;			/* names of the terms */
	int			n;				/* number of folds */
	GrCvFold   *fold;			/* n folds */
	GrCvFold	all;			/* the fit to all rows, with the errors of all folds together */
} GrCv;

/* Opens the rows as cv->data, whose parts are the folds. Raises an ERROR if the model has no term, or too many. */
extern void gr_cv_open(FunctionCallInfo fcinfo, GrCv *cv, GrFamily family, GrRowsUse use);

/* Allocates n folds. */
extern void gr_cv_begin(GrCv *cv, int n);

#endif							/* GPUREG_CV_H */
