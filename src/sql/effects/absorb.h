/*
 * absorb.h: fits with absorbed effects: reads which columns are absorbed, and fits. gpu_ols_fit calls it first.
 *
 * The columns are the argument absorb's, or follow a | in the formula: y ~ x1 + x2 | firm + year. Rows are read once
 * into memory, and all columns are projected onto the complement of the effects (compute/effects). The Gram matrix of
 * the projected columns is then solved as any other.
 */
#ifndef GPUREG_ABSORB_H
#define GPUREG_ABSORB_H

#include "postgres.h"

#include "fmgr.h"

#include "compute/effects/effects.h"
#include "compute/glm/glm_fit.h"
#include "compute/linalg/gram.h"
#include "rows/columns/columns.h"
#include "rows/sums/effect_rows.h"
#include "rows/sums/kept_source.h"
#include "sql/model/model.h"

/* A fit with absorbed effects */
typedef struct GrAbsorbFit
{
	GrRoles		roles;
	const GrGlmOptions *options;
	GrIngest	ingest;
	GrCodedRows coded;			/* rows without singletons, projected */
	GrEffects	effects;		/* freed by the memory context's callback */
	GrEffectColumn *column;		/* results of the projection */
	/* by factor: dictionary's codes of the levels, in the order of their values */
	int32	   *level_code[GR_EFFECTS_MAX];
	int64		nsingletons;
	int64		nseparated;		/* rows dropped because an infinite effect fits them */
	double		started;		/* times as gr_now() */
	double		read_done;
	double		nobs;			/* rows, or the sum of their frequencies */
	double		log_constant;
	double	   *residuals;
	MemoryContextCallback callback;
} GrAbsorbFit;

typedef struct GrAbsorbOptions
{
	GrRoles		roles;
	const GrGlmOptions *fit;	/* distribution and vcov */
	bool		effects;		/* the effects will be estimated: levels are in the order of their values */
} GrAbsorbOptions;

/*
 * Sets the absorbed columns of roles from the argument absorb, a text[], and from roles->formula, whose part from | on
 * it cuts off. Raises an ERROR if a column is named twice or both places name columns.
 */
extern void gr_absorb_arguments(FunctionCallInfo fcinfo, int absorb, GrRoles *roles);

/* Steps of a fit; the current memory context owns what they make */

/* Raises an ERROR unless the options can be combined with absorbed effects. */
extern void gr_absorb_check(const GrGlmOptions *options);

/* Reads the rows. */
extern GrAbsorbFit *gr_absorb_begin(FunctionCallInfo fcinfo, const GrFitRows *rows, const GrAbsorbOptions *options);

/* Drops singletons, numbers the levels that are left, and counts the observations. */
extern void gr_absorb_prune(GrAbsorbFit *fit);

/* Prepares the effects by the rows' weights and projects all columns. keeps: the effects will be estimated */
extern void gr_absorb_project(GrAbsorbFit *fit, bool keeps);

/* Returns the sums of products of projected columns. The observations are less the effects' degrees of freedom. */
extern GrGram gr_absorb_products(GrAbsorbFit *fit);

/* Sets what a model has from the rows and the effects. model->null_deviance becomes the sum of squares within them. */
extern void gr_absorb_describe(const GrAbsorbFit *fit, GrModel *model);

/* Returns the inverse of X'WX of a linear model that was solved: its covariances without the dispersion. */
extern double *gr_absorb_bread(const GrModel *model);

/*
 * Replaces the model's covariances by robust ones, from fit->residuals and the rows' weights. squares: the sum of
 * squared Pearson residuals; perfect: it is rounding errors
 */
extern void gr_absorb_robust(GrAbsorbFit *fit, GrModel *model, const double *bread, double squares, bool perfect);

/* Records the run for gpu_last_run(), with the way in which the effects were eliminated. */
extern void gr_absorb_record(const GrAbsorbFit *fit, const char *name);

/* Raises err, naming its column. */
extern void gr_absorb_raise(const GrAbsorbFit *fit, const GrError *err);

/*
 * Fits a linear regression, and fills the model. The current memory context owns the fit. name: the SQL function's, for
 * gpu_last_run()
 */
extern GrAbsorbFit *gr_absorb_run(FunctionCallInfo fcinfo, const char *name, const GrFitRows *rows,
								  const GrAbsorbOptions *options, GrModel *model);

/* Fits a linear regression with roles->nabsorbed > 0 and returns the model. name: the SQL function's */
extern Datum gr_absorb_fit(FunctionCallInfo fcinfo, const char *name, const GrFitRows *rows, const GrRoles *roles,
						   const GrGlmOptions *options);

#endif							/* GPUREG_ABSORB_H */
