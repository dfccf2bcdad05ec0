/*
 * family.h: families and links of generalised linear models, and the rules for rows. Callers that add rows to a fit
 * check them with gr_rows_valid() first.
 *
 * The gaussian family with the identity link is linear regression: its fit requests one pass, whose sums are a Gram
 * matrix. The binomial family's response is a class, 0 or 1, or the share of ones in a number of trials, which is the
 * row's weight. Families and links are those of R's glm, and of glm.nb in its package MASS.
 */
#ifndef GPUREG_FAMILY_H
#define GPUREG_FAMILY_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "compute/base/compute.h"
#include "compute/base/row.h"
#include "compute/dist/stirling.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum GrFamily
{
	GR_GAUSSIAN,				/* variance 1 */
	GR_BINOMIAL,				/* variance mu (1 - mu) */
	GR_POISSON,					/* variance mu */
	GR_GAMMA,					/* variance mu^2 */
	GR_NEGATIVE_BINOMIAL		/* variance mu + mu^2 / theta */
} GrFamily;

#define GR_NFAMILIES 5

typedef enum GrLink
{
	GR_IDENTITY,
	GR_LOGIT,
	GR_PROBIT,
	GR_CLOGLOG,					/* log(-log(1 - mu)) */
	GR_LOG,
	GR_SQRT,
	GR_INVERSE
} GrLink;

#define GR_NLINKS 7

/* The distribution of a response about its mean, and the link from the mean to the linear predictor. */
typedef struct GrDistribution
{
	GrFamily	family;
	GrLink		link;
	double		theta;			/* theta of the negative binomial family, > 0; else 0 */
	/*
	 * Responses are first multiplied by 2^exponent, and means and coefficients are in that unit; see response_unit.h. 0
	 * except for the gaussian, poisson and gamma families; |exponent| <= GR_EXPONENT_MAX.
	 */
	int			exponent;
} GrDistribution;

/*
 * Traits of a family for the host. A new family needs a row of gr_families (family.c) and its formulas: those of a row
 * (glm_row.h, gr_row_fault() and gr_log_constant() below) are inlined by family.
 */
typedef struct GrFamilyTraits
{
	const char *name;			/* R's name, in lower case */
	const char *quasi_name;		/* R's name of the family with an estimated factor of the variance; NULL: none */
	GrLink		links[3];		/* the family's links, the default first */
	int			nlinks;
	int			canonical;		/* link with which expected weights equal the Hessian's; -1: none */

	/* rules for responses */
	bool		any_response;	/* any number is valid; false: no number below 0 */
	bool		is_binary;		/* responses are 0 or 1, or shares of trials */
	bool		is_count;		/* 0 is possible for any mean, which may go to 0 */
	bool		has_exponent;	/* responses may be multiplied by a power of two, see GrDistribution */

	/* the likelihood */
	bool		least_squares;	/* the deviance is a sum of squares, whose mean is the dispersion */
	bool		has_dispersion; /* the variance has a factor that is estimated; false: the factor is 1 */
	bool		has_theta;		/* the distribution has a parameter theta */
	bool		row_constants;	/* each row adds a constant to the log-likelihood, whatever its weight */
	bool		nobs_by_weight; /* the log-likelihood uses the sum of weights as the number of observations */
	int			deviance_power; /* the deviance of c y is c^deviance_power times that of y, if has_exponent */

	/* (d mean / d eta)^2 / variance; mean, slope: at eta; slope is not 0 */
	double		(*working_weight) (GrDistribution distribution, double eta, double mean, double slope);
} GrFamilyTraits;

/* Traits of each family, and at the end all zeros for a number that is no family. */
extern const GrFamilyTraits gr_families[GR_NFAMILIES + 1];

/* Returns the traits of a family; all zeros if the number is no family. */
static inline const GrFamilyTraits *
gr_family(GrFamily family)
{
	return &gr_families[(unsigned) family < GR_NFAMILIES ? (unsigned) family : GR_NFAMILIES];
}

/* True if the distribution is that of a linear regression. */
GR_HD bool
gr_is_linear(GrDistribution distribution)
{
	return distribution.family == GR_GAUSSIAN && distribution.link == GR_IDENTITY;
}

/* True if the distribution is that of a logistic regression. */
GR_HD bool
gr_is_logistic(GrDistribution distribution)
{
	return distribution.family == GR_BINOMIAL && distribution.link == GR_LOGIT;
}

/* True if the link is the one with which expected weights are the Hessian's. */
static inline bool
gr_is_canonical(GrDistribution distribution)
{
	return gr_family(distribution.family)->canonical == (int) distribution.link;
}

/* True if estimates can diverge while the likelihood rises. */
static inline bool
gr_can_separate(GrDistribution distribution)
{
	const GrFamilyTraits *family = gr_family(distribution.family);

	return family->is_binary || (family->is_count && distribution.link == GR_LOG);
}

/* A power of two that multiplies responses must be a normal float8, and so must its inverse. */
#define GR_EXPONENT_MAX 1000

/* Initialiser of a logistic regression's distribution. */
#define GR_LOGISTIC {GR_BINOMIAL, GR_LOGIT, 0, 0}

/* Meaning of the weights of rows. */
typedef enum GrWeighting
{
	GR_PRIOR_WEIGHTS,			/* R's weights: the variance is divided by the weight, or the weight is the number of
								 * trials */
	GR_FREQUENCIES				/* frequencies: the number of times that a row occurs, whole numbers */
} GrWeighting;

typedef struct GrRowRules
{
	GrFamily	family;
	GrWeighting weighting;		/* meaning of weights, if rows have them */
	double		theta;			/* theta as in GrDistribution; 0 if the fit estimates theta */
} GrRowRules;

/*
 * True if rows of this shape are valid: all numbers are finite, the response is valid for the family, and no weight is
 * negative. Fails with GR_NOT_FINITE, GR_NOT_BINARY, GR_NOT_A_SHARE, GR_NOT_POSITIVE, GR_NEGATIVE_RESPONSE,
 * GR_NEGATIVE_WEIGHT or GR_NOT_A_COUNT (where: the column; value: the number, except with GR_NOT_FINITE).
 */
extern bool gr_rows_valid(const void *rows, int64_t nrows, GrRowShape shape, GrRowRules rules, GrError *err);

/*
 * Sums over rows that depend on no coefficient, so that no pass makes them. Needed for rows with weights, and for
 * families with row_constants. All zeros for no rows.
 */
typedef struct GrRowTotals
{
	double		weights;
	double		ones;			/* sum of weight times response */
	double		nshares;		/* number of rows whose response is neither 0 nor 1 */
	/*
	 * Part of the log-likelihood besides the deviance. Gaussian family: half the logarithms of the prior weights.
	 * Gamma: minus the weighted logarithms of the responses. Others: the log-likelihood of the model that gives each
	 * row its own mean. In double-double.
	 */
	double		log_constant;
	double		log_constant_lo;
	double		losses;			/* sum of gr_row_loss(), in double-double */
	double		losses_lo;
} GrRowTotals;

static inline bool
gr_has_totals(GrRowShape shape, GrRowRules rules)
{
	return shape.weight || gr_family(rules.family)->row_constants;
}

/* Adds valid rows to totals. */
extern void gr_totals_add(GrRowTotals *totals, const void *rows, int64_t nrows, GrRowShape shape, GrRowRules rules);
extern void gr_totals_merge(GrRowTotals *totals, const GrRowTotals *other);

/* Returns the sum of w gr_count_loss() over responses y >= 0. weights: w; NULL: all 1. */
extern double gr_count_losses(const double *responses, const double *weights, int n);

/*
 * Returns the deviance of the best common mean for responses of 0 and 1. weights: sum of weights; ones: sum of the
 * weights of ones.
 */
extern double gr_binomial_null_deviance(double weights, double ones);

/* Checks that there are rows of both classes. Fails with GR_INVALID and GR_ONE_CLASS. nones: sum of the responses. */
extern bool gr_has_both_classes(double nrows, double nones, GrError *err);

/*
 * Checks that the family can be fitted to the rows. Fails with GR_INVALID (no rows), GR_ONE_CLASS and GR_ALL_ZERO (no
 * response above 0). ones: sum of the responses.
 */
extern bool gr_can_fit(GrFamily family, double nrows, double ones, GrError *err);

/* Returns the name of a model's method. */
static inline const char *
gr_family_method(GrDistribution distribution, bool quasi)
{
	if (gr_is_linear(distribution))
		return "ols";
	return gr_is_logistic(distribution) && !quasi ? "logistic" : "glm";
}

extern const char *const gr_link_names[GR_NLINKS];

/*
 * Names as in R, in lower case, for example "poisson". quasi: the name of the family with an estimated factor of the
 * variance, "quasipoisson". gr_family_named() and gr_link_named() ignore hyphens, underscores, blanks and case, and
 * return false for an unknown name.
 */
static inline const char *
gr_family_name(GrFamily family, bool quasi)
{
	return quasi ? gr_family(family)->quasi_name : gr_family(family)->name;
}

extern bool gr_family_named(const char *name, GrFamily *family, bool *quasi);
static inline const char *
gr_link_name(GrLink link)
{
	return gr_link_names[link];
}

extern bool gr_link_named(const char *name, GrLink *link);

/* Default link of a family, and a test whether the family has a link. */
static inline GrLink
gr_family_link(GrFamily family)
{
	return gr_family(family)->links[0];
}

static inline bool
gr_family_has_link(GrFamily family, GrLink link)
{
	for (int k = 0; k < gr_family(family)->nlinks; k++)
		if (gr_family(family)->links[k] == link)
			return true;
	return false;
}

/* True if the factor of the variance, the dispersion, is estimated. Otherwise it is 1. */
static inline bool
gr_family_has_dispersion(GrFamily family, bool quasi)
{
	return quasi || gr_family(family)->has_dispersion;
}

/* Returns (d mean / d eta)^2 / variance, the weight of a row with predictor eta in a fit, without prior weights. */
extern double gr_working_weight(GrDistribution distribution, double eta);

/* Returns the mean for a linear predictor, the inverse of the link. Small means lose no digits. */
extern double gr_link_mean(GrLink link, double eta);

/* First and second derivative of the mean by eta. 0 in tails where the mean has a limit. */
extern double gr_mean_slope(GrLink link, double eta);
extern double gr_mean_curvature(GrLink link, double eta);

/*
 * Returns mean(to) - mean(from), exact even if the two are near each other or in a tail (for probit: in a tail). by: to
 * - from, which may have digits that to and from have lost.
 */
extern double gr_mean_difference(GrLink link, double to, double from, double by);

/*
 * Returns the log-likelihood as R defines it. nobs: number of observations or, for gamma, the sum of the weights;
 * log_constant: see GrRowTotals.
 */
extern double gr_log_likelihood(GrFamily family, double deviance, double nobs, double log_constant);

static inline double
gr_gaussian_log_likelihood(double deviance, double nobs, double log_constant)
{
	/* scale, so that the mean square keeps its digits when the sum of squares is near the end of float8's range */
	double		unit = deviance > 0 && deviance < 1e-280 ? 0x1p200 : 1.0;

	return log_constant - 0.5 * nobs * (log(2 * M_PI) + (log(deviance * unit / nobs) - log(unit)) + 1);
}

/*
 * The parameter of a distribution as a float8, for states: theta of the negative binomial family, the exponent of the
 * others. gr_distribution_of() is the inverse, for a parameter that gr_is_parameter() accepts.
 */
static inline double
gr_parameter_of(GrDistribution distribution)
{
	return gr_family(distribution.family)->has_theta ? distribution.theta : (double) distribution.exponent;
}

static inline GrDistribution
gr_distribution_of(GrFamily family, GrLink link, double parameter)
{
	GrDistribution distribution = {family, link, 0.0, 0};

	if (gr_family(family)->has_theta)
		distribution.theta = parameter;
	else
		distribution.exponent = (int) parameter;
	return distribution;
}

/* True if parameter is valid for the family. */
static inline bool
gr_is_parameter(GrFamily family, double parameter)
{
	if (gr_family(family)->has_theta)
		return parameter > 0.0 && isfinite(parameter);
	return gr_family(family)->has_exponent ? fabs(parameter) <= GR_EXPONENT_MAX && parameter == floor(parameter) :
		parameter == 0.0;
}

/* Response and weight of one row, on the host and on the device */

/* Returns 2^exponent, |exponent| <= GR_EXPONENT_MAX. */
GR_HD double
gr_power_of_two(int exponent)
{
	uint64_t	bits = (uint64_t) (1023 + exponent) << 52;
	double		power;

	memcpy(&power, &bits, sizeof(power));
	return power;
}

/* Returns a response in the distribution's unit; the same bits if the exponent is 0. */
GR_HD double
gr_response_in_unit(GrDistribution distribution, double y)
{
	return y * gr_power_of_two(distribution.exponent);
}

/* Returns GR_OK, or the reason why a finite response or weight is invalid. weight: 1 for rows without weights. */
GR_HD GrStatus
gr_row_fault(double y, double weight, bool weighted, GrRowRules rules)
{
	bool		trials = weighted && rules.weighting == GR_PRIOR_WEIGHTS;

	if (rules.family == GR_BINOMIAL && y != 0.0 && y != 1.0 && !(trials && y > 0.0 && y < 1.0))
		return trials ? GR_NOT_A_SHARE : GR_NOT_BINARY;
	if (rules.family > GR_BINOMIAL && (rules.family == GR_GAMMA ? !(y > 0.0) : y < 0.0))
		return rules.family == GR_GAMMA ? GR_NOT_POSITIVE : GR_NEGATIVE_RESPONSE;
	if (weight < 0.0 || (rules.weighting == GR_FREQUENCIES && weight != floor(weight)))
		return rules.weighting == GR_FREQUENCIES ? GR_NOT_A_COUNT : GR_NEGATIVE_WEIGHT;
	return GR_OK;
}

/*
 * Returns the log of the probability of a share y of n trials if the mean is y. Loader's (2000) formula, without large
 * terms that cancel.
 */
GR_HD double
gr_share_saturated(double y, double n)
{
	if (y == 0.0 || y == 1.0)
		return 0.0;
	return gr_stirling_error(n) - gr_stirling_error(n * y) - gr_stirling_error(n * (1.0 - y)) -
		GR_HALF_LOG_2PI - 0.5 * log(n * y * (1.0 - y));
}

/* Returns y log(y) - y, what half the Poisson deviance of a count y has besides mu - y log(mu). */
GR_HD double
gr_count_loss(double y)
{
	return y > 0.0 ? y * log(y) - y : 0.0;
}

/*
 * Returns the part of half a negative binomial deviance of a count y that depends on no mean: y log(y) + theta
 * log(theta) - (y + theta) log(y + theta).
 */
GR_HD double
gr_waiting_loss(double y, double theta)
{
	return y > 0.0 ? -(y * log1p(theta / y) + theta * log1p(y / theta)) : 0.0;
}

/* Returns the log of the Poisson probability of y if the mean is y. */
GR_HD double
gr_count_saturated(double y)
{
	return y > 0.0 ? -gr_stirling_error(y) - GR_HALF_LOG_2PI - 0.5 * log(y) : 0.0;
}

/*
 * Returns the part of a row in the log-likelihood besides its deviance. error_of_theta: gr_stirling_error(theta), for
 * the negative binomial family. rules.theta is 0 for a fit that estimates theta and computes its likelihood by a pass.
 */
GR_HD double
gr_log_constant(GrRowRules rules, double error_of_theta, double y, double weight)
{
	switch (rules.family)
	{
		case GR_GAUSSIAN:
			return rules.weighting == GR_PRIOR_WEIGHTS ? 0.5 * log(weight) : 0.0;
		case GR_BINOMIAL:
			return rules.weighting == GR_PRIOR_WEIGHTS ? gr_share_saturated(y, weight) : 0.0;
		case GR_POISSON:
			return weight * gr_count_saturated(y);
		case GR_GAMMA:
			return -weight * log(y);
		default:
			return rules.theta == 0.0 || y == 0.0 ? 0.0 :
				weight * gr_waiting_saturated(y, rules.theta, error_of_theta);
	}
}

/* Returns what half a row's deviance has that depends on no mean; 0 if there is none, or theta is not known. */
GR_HD double
gr_row_loss(GrRowRules rules, double y, double weight)
{
	if (rules.family == GR_POISSON)
		return weight * gr_count_loss(y);
	return rules.family == GR_NEGATIVE_BINOMIAL && rules.theta > 0.0 ? weight * gr_waiting_loss(y, rules.theta) : 0.0;
}

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_FAMILY_H */
