/*
 * enet_logit.h: fits elastic nets of logistic regressions over rows that stay where they are: paths, models and
 * cross-validations. gpu_enet_fit, gpu_enet_cv and gpu_enet_path with family 'binomial' (fn_enet_fit.c) use it;
 * logit_path.h has the method.
 *
 * The cross-validation is cv.glmnet's by deviance: the path over all rows determines the lambdas, paths without one
 * fold visit the same, and a fold's error is its deviance per row for each of their coefficients.
 */
#ifndef GPUREG_ENET_LOGIT_H
#define GPUREG_ENET_LOGIT_H

#include "postgres.h"

#include "compute/enet/logit_path.h"
#include "sql/enet/enet_cv.h"
#include "rows/sums/data_set.h"
#include "sql/enet/enet_cv.h"

/* A path over the rows of all sources, or of all but one. */
typedef struct GrEnetLogit
{
	const GrEnet *net;
	GrDataSet *data;			/* the rows; each fold is a source */
	int			left_out;		/* number of the source that is left out; -1: none */
	bool		lost;			/* terms without a penalty diverge, so no lambda can be fitted */
	GrLogitPath path;
} GrEnetLogit;

/* Begins a path. Raises an ERROR if no feature is usable, and gives a WARNING if the path is lost. */
extern void gr_enet_logit_begin(GrEnetLogit *logit, const GrEnet *net, GrDataSet *data, int left_out);

/* Returns the *n lambdas of the options, or of a grid. */
extern double *gr_enet_logit_lambdas(const GrEnetLogit *logit, int *n);

/* Moves the path to a lambda; logit->path has the fit. Returns false, with a WARNING, if estimates diverge. */
extern bool gr_enet_logit_step(GrEnetLogit *logit, double lambda);

/* Returns the number of observations of all rows. Valid once a path has begun. */
extern int64 gr_enet_logit_nobs(const GrDataSet *data);

/* Adds the path to the function's result, one row per lambda. */
extern void gr_enet_logit_put_path(ReturnSetInfo *rsinfo, const GrEnet *net, GrDataSet *data);

/* Cross-validates with each source as a fold. Raises an ERROR if there are fewer than two. */
extern void gr_enet_logit_validate(const GrEnet *net, GrDataSet *data, GrFoldScores *scores);

/* Fills model from a point of the path over all rows. The caller sets device. */
extern void gr_enet_logit_model(GrModel *model, const GrEnet *net, const GrDataSet *data, const GrPathPoint *point,
								double *coef);

#endif							/* GPUREG_ENET_LOGIT_H */
