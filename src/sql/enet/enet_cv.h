/*
 * enet_cv.h: cross-validates elastic nets from the sums of each fold. gpu_enet_cv_agg, gpu_enet_fit and gpu_enet_cv use
 * it.
 *
 * The path over all rows determines the lambdas. For each fold, a path over the other folds' rows visits the same
 * lambdas, and the fold's own sums give its mean squared error for each. The others' sums are merged from the folds
 * before and after it; subtracting the fold's sums from the total would cancel. Means and standard errors are
 * cv.glmnet's: folds are weighted by their rows' weights.
 */
#ifndef GPUREG_ENET_CV_H
#define GPUREG_ENET_CV_H

#include "postgres.h"

#include "rows/sums/fold_rows.h"
#include "sql/enet/enet.h"

/* Folds, and the options of their paths. */
typedef struct GrFolds
{
	GrEnet		net;
	int			nfeatures;
	const char **names;			/* names as gr_raise_columns() takes them */
	int			n;				/* number of folds */
	int			capacity;		/* folds that there is room for */
	GrGram	   *fold;			/* n sums, one per fold */
	int64		nskipped;		/* rows that were skipped because of a NULL */
	double		log_constant;
} GrFolds;

/* Results for n lambdas. */
typedef struct GrFoldScores
{
	int			n;				/* number of lambdas */
	double	   *lambda;			/* n values, decreasing */
	GrPathPoint *point;			/* n points of the path over all rows */
	double	   *coef;			/* n x nterms coefficients of that path */
	double	   *error;			/* nfolds x n: each fold's mean squared error or deviance */
	double	   *mean;			/* n means of the folds' errors */
	double	   *std_error;		/* n standard errors of these means */
	int			least;			/* lambda of the least mean error, from 0 */
	/* largest lambda whose mean error is at most one standard error above the least, from 0 */
	int			within;
} GrFoldScores;

/* Returns an empty set of folds in the current memory context. names: as in gr_raise_columns(), copied. */
extern GrFolds *gr_folds_create(int nfeatures, const char *const *names);

/* Adds a fold, with a copy of its sums in the current context, unless all its rows have weight 0. */
extern void gr_folds_add(GrFolds *folds, const GrGram *gram, int64 nskipped);

/* Raises an ERROR if there are fewer than two folds. */
extern void gr_folds_check(int n);

/* Computes the scores of each lambda. Raises an ERROR if there are fewer than two folds. */
extern void gr_folds_validate(const GrFolds *folds, GrFoldScores *scores);

/* Computes means and standard errors from scores->error, and chooses the lambdas. weight: total weight of each fold. */
extern void gr_folds_summarise(GrFoldScores *scores, const double *weight, int nfolds);

/* Fills model with that over all rows at lambda number k. */
extern void gr_folds_model(const GrFolds *folds, const GrFoldScores *scores, int k, GrModel *model);

/* Returns the function's result, a gpu_enet_cv, with the models of the two chosen lambdas. */
extern Datum gr_folds_datum(FunctionCallInfo fcinfo, const GrFoldScores *scores, int nfolds, const GrModel *least,
							const GrModel *within);

#endif							/* GPUREG_ENET_CV_H */
