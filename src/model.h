/*
 * model.h: the SQL composite type gpu_model.
 */
#ifndef GPUREG_MODEL_H
#define GPUREG_MODEL_H

#include "postgres.h"

#include "fmgr.h"

#include "compute/compute.h"
#include "compute/ols.h"

/* A gpu_model in C. NaN stands for NULL in coef and vcov. */
typedef struct GrModel
{
	const char *method;			/* "ols" */
	int			nterms;
	bool		intercept;		/* the first term is the intercept */
	const char **terms;			/* nterms; NULL in a model being built: (intercept), x1, x2, ... */
	double	   *coef;			/* nterms */
	double	   *vcov;			/* nterms x nterms */
	int64		nrows;
	int64		nskipped;
	int			rank;
	int64		df_residual;
	double		deviance;
	double		null_deviance;
	int			iterations;
	bool		converged;
	const char *device;
} GrModel;

/* The model as a datum of the composite type that the calling SQL function returns. */
extern Datum gr_model_datum(FunctionCallInfo fcinfo, const GrModel *model);

/*
 * Solves for a model. hi, lo: the packed triangle of (1, x, y). names: nfeatures + 1 of them, or NULL. The arrays are
 * allocated in the current context; want_vcov false leaves vcov NULL.
 */
extern void gr_model_solve(GrModel *model, const double *hi, const double *lo, int nfeatures, int64 nrows, bool intercept,
						   const char *const *names, bool want_vcov);

#endif							/* GPUREG_MODEL_H */
