/*
 * boot_begin.h: the start of a bootstrap or a permutation test: reads the arguments, fits the model, and prepares
 * passes over the same rows. fn_boot.c and fn_permute.c use it.
 */
#ifndef GPUREG_BOOT_BEGIN_H
#define GPUREG_BOOT_BEGIN_H

#include "postgres.h"

#include "fmgr.h"

#include "compute/resample/boot_fit.h"
#include "sql/glm/glm_fit.h"
#include "sql/model/model.h"

/*
 * Arguments of the SQL functions. Those without confidence limits lack conf_level and kind. kept and rows follow;
 * functions of logistic regressions have method as the last argument.
 */
enum
{
	GR_BOOT_ARG_QUERY, GR_BOOT_ARG_REPS, GR_BOOT_ARG_KEY, GR_BOOT_ARG_SEED, GR_BOOT_ARG_INTERCEPT, GR_BOOT_ARG_FORMULA,
	GR_BOOT_ARG_WEIGHTS, GR_BOOT_ARG_CLUSTERS, GR_BOOT_ARG_CONF_LEVEL, GR_BOOT_ARG_KIND
};

/* Numbers of the arguments kept, rows and method, which depend on whether the function has conf_level and kind. */
#define GR_BOOT_ARG_KEPT(fcinfo) \
	((fcinfo)->nargs >= GR_BOOT_ARG_KIND + 3 ? GR_BOOT_ARG_KIND + 1 : GR_BOOT_ARG_CONF_LEVEL)
#define GR_BOOT_ARG_ROWS(fcinfo) (GR_BOOT_ARG_KEPT(fcinfo) + 1)
#define GR_BOOT_ARG_METHOD(fcinfo) (GR_BOOT_ARG_KEPT(fcinfo) + 2)

/* Limit in bytes of the sums of a pass */
#define GR_BOOT_SUMS_NBYTES ((Size) 32 << 20)

/* A bootstrap or a permutation test, from its arguments to its replicates. */
typedef struct GrBoot
{
	const char *name;			/* name of the SQL function */
	bool		flips;			/* permutation test: signs of residuals are drawn */
	GrFitRows	rows;
	GrRoles		roles;
	uint64		seed;
	int			reps;			/* number of replicates */
	bool		wants_acceleration;	/* BCa's limits need acceleration */
	bool		iterates;		/* replicates are iterated to their own estimates, beyond one step */

	GrQueryFit	f;				/* the fit and its rows */
	GrModel		model;			/* only the names of its terms are set */
	GrBootPass	pass;			/* pass over the rows for the replicates */
	double	   *coef;			/* model.nterms x reps coefficients */
	bool	   *singular;		/* reps flags: true if the replicate has no estimate */
	int			nsingular;		/* number of replicates without an estimate */
	double	   *acceleration;	/* model.nterms values; NULL: not wanted */
} GrBoot;

/*
 * Reads the arguments except conf_level, kind and method. Raises an ERROR if one is out of range, or unless exactly one
 * of key and clusters is given.
 */
extern void gr_boot_read_arguments(FunctionCallInfo fcinfo, GrBoot *boot);

/*
 * Fits the rows, and prepares the passes over them. The rows stay open until boot->f.data is released. Raises an ERROR
 * if there are no finite estimates, or the model is too large.
 */
extern void gr_boot_fit_rows(FunctionCallInfo fcinfo, GrBoot *boot, GrDistribution distribution);

/* Makes a pass over the rows of gr_boot_fit_rows(), and adds to sums. */
extern void gr_boot_sums(GrBoot *boot, const GrBootPass *pass, double *sums);

#endif							/* GPUREG_BOOT_BEGIN_H */
