/*
 * boot_begin.h: what a bootstrap and a permutation test begin with: their arguments, and the fit to the rows that they
 * pass over again.
 */
#ifndef GPUREG_BOOT_BEGIN_H
#define GPUREG_BOOT_BEGIN_H

#include "postgres.h"

#include "fmgr.h"

#include "compute/resample/boot_fit.h"
#include "sql/glm/glm_fit.h"
#include "sql/model/model.h"

/*
 * The arguments; functions that give no confidence limits lack two of them. The last two are kept and rows, behind
 * which those of logistic regressions have the method.
 */
enum
{
	GR_BOOT_ARG_QUERY, GR_BOOT_ARG_REPS, GR_BOOT_ARG_KEY, GR_BOOT_ARG_SEED, GR_BOOT_ARG_INTERCEPT, GR_BOOT_ARG_FORMULA,
	GR_BOOT_ARG_WEIGHTS, GR_BOOT_ARG_CLUSTERS, GR_BOOT_ARG_CONF_LEVEL, GR_BOOT_ARG_KIND
};

/* Are there conf_level and kind, and two or three more? */
#define GR_BOOT_ARG_KEPT(fcinfo) \
	((fcinfo)->nargs >= GR_BOOT_ARG_KIND + 3 ? GR_BOOT_ARG_KIND + 1 : GR_BOOT_ARG_CONF_LEVEL)
#define GR_BOOT_ARG_ROWS(fcinfo) (GR_BOOT_ARG_KEPT(fcinfo) + 1)
#define GR_BOOT_ARG_METHOD(fcinfo) (GR_BOOT_ARG_KEPT(fcinfo) + 2)

/* Sums of a pass, at most */
#define GR_BOOT_SUMS_NBYTES ((Size) 32 << 20)

/* A bootstrap, from its arguments to its replicates, or a permutation test */
typedef struct GrBoot
{
	const char *name;			/* of the SQL function */
	bool		flips;			/* it is a permutation test: signs of residuals are drawn */
	GrFitRows	rows;
	GrRoles		roles;
	uint64		seed;
	int			reps;
	bool		wants_acceleration;
	bool		iterates;		/* replicates go on to their own estimates, beyond one step */

	GrQueryFit	f;
	GrModel		model;
	GrBootPass	pass;
	double	   *coef;			/* model.nterms x reps */
	bool	   *singular;		/* reps: there is no such replicate */
	int			nsingular;
	double	   *acceleration;	/* model.nterms; NULL: it isn't wanted */
} GrBoot;

/* Reads the arguments but for those of limits and the method; ERROR where they are out of range, or miss a key. */
extern void gr_boot_read_arguments(FunctionCallInfo fcinfo, GrBoot *boot);

/*
 * Fits, and sets up the passes over the rows, which stay where they are until boot->f.data is released.
 * ERROR if there is no estimate to begin at, or the model is too large.
 */
extern void gr_boot_fit_rows(FunctionCallInfo fcinfo, GrBoot *boot, GrDistribution distribution);

/* Makes a pass over the rows that gr_boot_fit_rows() has fitted: adds to sums. */
extern void gr_boot_sums(GrBoot *boot, const GrBootPass *pass, double *sums);

#endif							/* GPUREG_BOOT_BEGIN_H */
