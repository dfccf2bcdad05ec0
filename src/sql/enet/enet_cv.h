/*
 * enet_cv.h: cross-validation of elastic nets from the sums of each fold.
 *
 * The lambdas are those of the path over all rows. For each fold a path over the rows of all others is gone along the
 * same lambdas, and each of its coefficients gives the fold's mean squared error, from the fold's own sums. The sums of
 * all others are merged, of those before the fold and those behind it, and never made by taking the fold's away, which
 * would cancel.
 *
 * Means and standard errors are cv.glmnet's: folds weigh what their rows do.
 */
#ifndef GPUREG_ENET_CV_H
#define GPUREG_ENET_CV_H

#include "postgres.h"

#include "rows/sums/fold_rows.h"
#include "sql/enet/enet.h"

/* The folds, and what is asked of them */
typedef struct GrFolds
{
	GrEnet		net;
	int			nfeatures;
	const char **names;			/* as in gr_raise_columns() */
	int			n;
	int			capacity;
	GrGram	   *fold;			/* sums of each */
	int64		nskipped;
	double		log_constant;
} GrFolds;

/* What a lambda comes to */
typedef struct GrFoldScores
{
	int			n;
	double	   *lambda;
	GrPathPoint *point;			/* of the path over all rows */
	double	   *coef;			/* nterms each */
	double	   *error;			/* a fold's mean squared error: nfolds x n */
	double	   *mean;
	double	   *std_error;
	int			least;			/* of the least mean error */
	int			within;			/* the largest lambda whose mean error is at most one standard error above that */
} GrFoldScores;

/* Folds of so many features, in the current context: none yet. names: as in gr_raise_columns(), copied */
extern GrFolds *gr_folds_create(int nfeatures, const char *const *names);

/* Adds a fold that has rows, of sums that are copied into the current context. */
extern void gr_folds_add(GrFolds *folds, const GrGram *gram, int64 nskipped);

/* ERROR unless rows may be drawn into n folds. */
static inline void
gr_check_nfolds(int n)
{
	if (n < 2 || n > GR_NET_FOLDS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("folds must be between 2 and %d, got %d", GR_NET_FOLDS_MAX, n)));
}

/* ERROR unless there are two folds or more. */
extern void gr_folds_check(int n);

/* Finds the scores of each lambda; ERROR as above. */
extern void gr_folds_validate(const GrFolds *folds, GrFoldScores *scores);

/*
 * The means and standard errors of the folds' errors, and the lambdas that these choose; weight: of each fold's rows
 */
extern void gr_folds_summarise(GrFoldScores *scores, const double *weight, int nfolds);

/* The model over all rows at a lambda */
extern void gr_folds_model(const GrFolds *folds, const GrFoldScores *scores, int k, GrModel *model);

/* A gpu_enet_cv, which the function returns, of these models */
extern Datum gr_folds_datum(FunctionCallInfo fcinfo, const GrFoldScores *scores, int nfolds, const GrModel *least,
							const GrModel *within);

#endif							/* GPUREG_ENET_CV_H */
