/*
 * glm_fit.h: fits generalised linear models over any source of rows. gpu_logreg_fit and gpu_glm_fit call
 * gr_glm_fit_rows(); arrays, aggregates, cross-validations and bootstraps use the steps it consists of.
 */
#ifndef GPUREG_GLM_FIT_H
#define GPUREG_GLM_FIT_H

#include "postgres.h"

#include "fmgr.h"

#include "compute/glm/glm_fit.h"
#include "rows/sums/data_set.h"
#include "sql/model/model.h"

/*
 * Sets options->start, and options->start_shift, from a fit to a sample of the source's rows. Leaves them if that fit
 * fails or no sample is needed.
 */
extern void gr_glm_find_start(GrRowSource *source, const GrIngest *ingest, GrGlmOptions *options);

/*
 * Fits over the source and sets *result. names: as in gr_raise_columns(). Returns false, with *err set, if the response
 * has only one class; raises all other failures.
 */
extern bool gr_glm_run(GrRowSource *source, const GrGlmOptions *given, const char *const *names,
					   GrGlmFit **result, GrError *err);

/*
 * Fills model from the fit and gives the fit's warnings. model->quasi must be set. Multiplies fit->vcov by the
 * dispersion. model points into fit.
 */
extern void gr_glm_model(GrModel *model, GrGlmFit *fit, const GrGlmOptions *options, const char *const *names);

/* A fit to the rows of a query, or to kept rows. */
typedef struct GrQueryFit
{
	const GrMorePasses *more;	/* in: further passes that the caller will make over the rows; NULL: none */
	GrDataSet  *data;			/* out: the open rows */
	GrGlmOptions options;		/* out: options of the fit that was made */
	GrGlmFit *fit;				/* out: the fit */
} GrQueryFit;

/* Fits the rows of a query, or kept rows. They stay open until f->data is released. */
extern void gr_glm_open_rows(FunctionCallInfo fcinfo, const GrFitRows *rows, const GrRoles *roles,
							 const GrGlmOptions *options, GrQueryFit *f);

/*
 * Fits the rows of a query, or kept rows, and returns a gpu_model. options: distribution, intercept, vcov and solver.
 * name: the SQL function's, for gpu_last_run().
 */
extern Datum gr_glm_fit_rows(FunctionCallInfo fcinfo, const char *name, const GrFitRows *rows, const GrRoles *roles,
							 const GrGlmOptions *options, bool quasi);

#endif							/* GPUREG_GLM_FIT_H */
