/*
 * family.h: what the response of a model is taken for, and what is required of rows.
 *
 * The gaussian family is linear regression: its fit asks for one pass, whose sums are a Gram matrix. The binomial
 * family's response is a class, 0 or 1, or the share of ones in a number of trials, which is the row's weight.
 */
#ifndef GPUREG_FAMILY_H
#define GPUREG_FAMILY_H

#include <stdint.h>

#include "compute/compute.h"
#include "compute/row.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum GrFamily
{
	GR_GAUSSIAN,
	GR_BINOMIAL
} GrFamily;

/* What the weights of rows that have them are */
typedef enum GrWeighting
{
	GR_PRIOR_WEIGHTS,			/* R's: the variance is divided by it, or so many trials were made */
	GR_FREQUENCIES				/* the row stands so many times: whole numbers */
} GrWeighting;

typedef struct GrRowRules
{
	GrFamily	family;
	GrWeighting weighting;		/* of rows with weights */
} GrRowRules;

/*
 * Can rows of this shape be computed with? All their numbers are finite, the response is one of the family's, and no
 * weight is negative. Fails with GR_NOT_FINITE, GR_NOT_BINARY, GR_NOT_A_SHARE, GR_NEGATIVE_WEIGHT or GR_NOT_A_COUNT
 * (where: the column; value: it).
 */
extern bool gr_rows_valid(const void *rows, int64_t nrows, GrRowShape shape, GrRowRules rules, GrError *err);

/* Sums over weighted rows that no pass makes, as they depend on no coefficient. All zeros: of no rows */
typedef struct GrRowTotals
{
	double		weights;
	double		ones;			/* weight times response */
	double		nshares;		/* rows whose response is neither 0 nor 1 */
	/*
	 * What the log-likelihood has beside the deviance: of the gaussian family half the logarithms of the prior weights,
	 * of the binomial one that of the model which gives each row its own share. In double-double
	 */
	double		log_constant;
	double		log_constant_lo;
} GrRowTotals;

/* Adds rows, which are valid and have weights. */
extern void gr_totals_add(GrRowTotals *totals, const void *rows, int64_t nrows, GrRowShape shape, GrRowRules rules);
extern void gr_totals_merge(GrRowTotals *totals, const GrRowTotals *other);

/*
 * The deviance of a response that is 0 or 1, for the one mean that fits best; weights: in all, ones: those of the ones
 */
extern double gr_binomial_null_deviance(double weights, double ones);

/* Are there rows, and of both classes? Fails with GR_INVALID and GR_ONE_CLASS. nones: the sum of their responses */
extern bool gr_has_both_classes(double nrows, double nones, GrError *err);

/* What a model of the family is called: its method */
extern const char *gr_family_method(GrFamily family);

/* The mean of a linear predictor, by the inverse of the family's link; good in both tails */
extern double gr_family_mean(GrFamily family, double eta);

/* The log-likelihood as R has it; nobs: the number of observations, log_constant: see GrRowTotals */
extern double gr_log_likelihood(GrFamily family, double deviance, double nobs, double log_constant);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_FAMILY_H */
