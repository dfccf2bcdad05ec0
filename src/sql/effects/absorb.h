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
	int32	   *level_code[GR_EFFECTS_MAX]; /* by factor: dictionary's codes of the levels, in the order of their values */
	int64		nsingletons;
	double		nobs;			/* rows, or the sum of their frequencies */
	double		log_constant;
	double	   *residuals;
	MemoryContextCallback callback;
} GrAbsorbFit;

typedef struct GrAbsorbOptions
{
	GrRoles		roles;
	const GrGlmOptions *fit;	/* vcov */
	bool		effects;		/* the effects will be estimated: levels are in the order of their values */
} GrAbsorbOptions;

/*
 * Sets the absorbed columns of roles from the argument absorb, a text[], and from roles->formula, whose part from | on
 * it cuts off. Raises an ERROR if a column is named twice or both places name columns.
 */
extern void gr_absorb_arguments(FunctionCallInfo fcinfo, int absorb, GrRoles *roles);

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
