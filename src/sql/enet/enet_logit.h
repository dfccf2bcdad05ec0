/*
 * enet_logit.h: elastic nets of a logistic regression over rows that stay where they are: paths, cross-validations and
 * models. See logit_path.h for what is fitted.
 *
 * The cross-validation is cv.glmnet's by deviance: a path over all rows says the lambdas, paths over all rows but a
 * fold's are gone along the same, and a fold's error is its deviance, a row, under each of their coefficients.
 */
#ifndef GPUREG_ENET_LOGIT_H
#define GPUREG_ENET_LOGIT_H

#include "postgres.h"

#include "compute/enet/logit_path.h"
#include "sql/enet/enet_cv.h"
#include "rows/sums/data_set.h"
#include "sql/enet/enet_cv.h"

/* A path over the rows of all sources, or of all but one */
typedef struct GrEnetLogit
{
	const GrEnet *net;
	GrDataSet *data;
	int			left_out;		/* a source; -1: none */
	bool		lost;			/* what isn't penalised runs off: no lambda can be gone to */
	GrLogitPath path;
} GrEnetLogit;

/* Begins a path; ERROR where there is none, and a WARNING where it is lost. */
extern void gr_enet_logit_begin(GrEnetLogit *logit, const GrEnet *net, GrDataSet *data, int left_out);

/* The lambdas that are asked for, *n of them */
extern double *gr_enet_logit_lambdas(const GrEnetLogit *logit, int *n);

/* Goes to a lambda: logit->path has what there is. False, with a WARNING, if it can't be had, as estimates run off */
extern bool gr_enet_logit_step(GrEnetLogit *logit, double lambda);

/* Observations of all rows; known once the path has begun */
extern int64 gr_enet_logit_nobs(const GrDataSet *data);

/* The path as rows of a function's result */
extern void gr_enet_logit_put_path(ReturnSetInfo *rsinfo, const GrEnet *net, GrDataSet *data);

/* Cross-validates, each source being a fold; ERROR unless there are two or more. */
extern void gr_enet_logit_validate(const GrEnet *net, GrDataSet *data, GrFoldScores *scores);

/* The model of a point over all rows, whose device is the caller's to set */
extern void gr_enet_logit_model(GrModel *model, const GrEnet *net, const GrDataSet *data, const GrPathPoint *point,
								double *coef);

#endif							/* GPUREG_ENET_LOGIT_H */
