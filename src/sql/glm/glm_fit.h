/*
 * glm_fit.h: fits of generalised linear models over whatever source of rows.
 */
#ifndef GPUREG_GLM_FIT_H
#define GPUREG_GLM_FIT_H

#include "postgres.h"

#include "fmgr.h"

#include "compute/glm/glm_fit.h"
#include "rows/sums/data_set.h"
#include "sql/model/model.h"

/* Where the fit is to start, in options->start, if its first rows can say. */
extern void gr_glm_find_start(GrRowSource *source, const GrIngest *ingest, GrGlmOptions *options);

/*
 * Fits over the source. names: as in gr_raise_columns(). If the response has one class, false with *err telling so; all
 * other failures are raised.
 */
extern bool gr_glm_run(GrRowSource *source, const GrGlmOptions *given, const char *const *names,
					   GrGlmFit **result, GrError *err);

/*
 * The fit as a model, and the warnings that go with it; model->quasi is set, and fit->vcov is multiplied by the
 * dispersion.
 */
extern void gr_glm_model(GrModel *model, GrGlmFit *fit, const GrGlmOptions *options, const char *const *names);

/* A fit to a query's rows, or to kept ones */
typedef struct GrQueryFit
{
	const GrMorePasses *more;	/* given: passes that are wanted over the rows besides; NULL: none */
	GrDataSet  *data;
	GrGlmOptions options;
	GrGlmFit *fit;
} GrQueryFit;

/* Fits to a query's rows, or kept ones, which stay open until f->data is released. */
extern void gr_glm_open_rows(FunctionCallInfo fcinfo, const GrFitRows *rows, const GrRoles *roles,
							 const GrGlmOptions *options, GrQueryFit *f);

/*
 * Fits to a query's rows, or to kept ones: a gpu_model. distribution, intercept, vcov and how to solve are given by the
 * options; name: of the SQL function
 */
extern Datum gr_glm_fit_rows(FunctionCallInfo fcinfo, const char *name, const GrFitRows *rows, const GrRoles *roles,
							 const GrGlmOptions *options, bool quasi);

#endif							/* GPUREG_GLM_FIT_H */
