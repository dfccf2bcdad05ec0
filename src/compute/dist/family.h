/*
 * family.h: what the response of a model is taken for, and what is required of rows.
 *
 * The gaussian family with the identity link is linear regression: its fit asks for one pass, whose sums are a Gram
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
	GR_BINOMIAL,				/* mu (1 - mu) */
	GR_POISSON,					/* mu */
	GR_GAMMA,					/* mu^2 */
	GR_NEGATIVE_BINOMIAL		/* mu + mu^2 / theta */
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

/* The distribution of a response about its mean, and how the mean follows from a linear predictor */
typedef struct GrDistribution
{
	GrFamily	family;
	GrLink		link;
	double		theta;			/* of the negative binomial family, > 0; else 0 */
	/*
	 * Responses are multiplied by 2^exponent before anything else is done to them, and means and coefficients go with
	 * that; see response_unit.h. 0 but for the gaussian, poisson and gamma families; |exponent| <= GR_EXPONENT_MAX
	 */
	int			exponent;
} GrDistribution;

/*
 * What the host asks about a family. A new family is a row of gr_families (family.c), and its formulas: those of a row
 * (glm_row.h, gr_row_fault() and gr_log_constant() below) are inlined by family.
 */
typedef struct GrFamilyTraits
{
	const char *name;			/* R's, in lower case */
	const char *quasi_name;		/* of the family whose variance has a factor that is estimated; NULL: there is none */
	GrLink		links[3];		/* the first one is meant when none is named */
	int			nlinks;
	int			canonical;		/* the link with which expected weights are the Hessian's, or -1 */

	/* responses */
	bool		any_response;	/* true: any number; false: no number below 0 */
	bool		is_binary;		/* 0 or 1, or shares of trials */
	bool		is_count;		/* 0 has a probability however small the mean, which may go to 0 */
	bool		has_exponent;	/* may be multiplied by a power of two, see GrDistribution */

	/* the likelihood */
	bool		least_squares;	/* the deviance is a sum of squares, of which the dispersion is the mean */
	bool		has_dispersion; /* the variance has a factor that is estimated; else it is 1 */
	bool		has_theta;		/* theta is a parameter */
	bool		row_constants;	/* a row adds to the log-likelihood beside its deviance, whatever its weight */
	bool		nobs_by_weight; /* the log-likelihood takes the sum of the weights for the number of observations */
	int			deviance_power; /* the deviance of c y is c^deviance_power times that of y, if has_exponent */

	/* (d mean / d eta)^2 / variance; mean, slope: of eta; slope is not 0 */
	double		(*working_weight) (GrDistribution distribution, double eta, double mean, double slope);
} GrFamilyTraits;

/* The traits of each family, and behind them those of a number that is no family: all zeros */
extern const GrFamilyTraits gr_families[GR_NFAMILIES + 1];

/* Returns the traits of a family, which may be any number. */
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

/* True if estimates can run off, the likelihood rising all the way. */
static inline bool
gr_can_separate(GrDistribution distribution)
{
	const GrFamilyTraits *family = gr_family(distribution.family);

	return family->is_binary || (family->is_count && distribution.link == GR_LOG);
}

/* A power of two that multiplies responses must be a normal float8, and so must its inverse. */
#define GR_EXPONENT_MAX 1000

/* A logistic regression's, to initialise one by */
#define GR_LOGISTIC {GR_BINOMIAL, GR_LOGIT, 0, 0}

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
	double		theta;			/* see GrDistribution */
} GrRowRules;

/*
 * Can rows of this shape be computed with? All their numbers are finite, the response is one of the family's, and no
 * weight is negative. Fails with GR_NOT_FINITE, GR_NOT_BINARY, GR_NOT_A_SHARE, GR_NEGATIVE_WEIGHT or GR_NOT_A_COUNT
 * (where: the column; value: it).
 */
extern bool gr_rows_valid(const void *rows, int64_t nrows, GrRowShape shape, GrRowRules rules, GrError *err);

/*
 * Sums over rows that no pass makes, as they depend on no coefficient: of rows with weights, and of others than
 * gaussian and binomial ones. All zeros: of no rows
 */
typedef struct GrRowTotals
{
	double		weights;
	double		ones;			/* weight times response, or just that */
	double		nshares;		/* rows whose response is neither 0 nor 1 */
	/*
	 * What the log-likelihood has beside the deviance: of the gaussian family half the logarithms of the prior weights,
	 * of gamma's the weighted logarithms of the response, less; of the others that of the model which gives each row
	 * its own mean. In double-double
	 */
	double		log_constant;
	double		log_constant_lo;
} GrRowTotals;

static inline bool
gr_has_totals(GrRowShape shape, GrRowRules rules)
{
	return shape.weight || gr_family(rules.family)->row_constants;
}

/* Adds rows, which are valid. */
extern void gr_totals_add(GrRowTotals *totals, const void *rows, int64_t nrows, GrRowShape shape, GrRowRules rules);
extern void gr_totals_merge(GrRowTotals *totals, const GrRowTotals *other);

/* y log(y) - y of a response that is not negative */
extern double gr_count_loss(double y);

/*
 * The deviance of a response that is 0 or 1, for the one mean that fits best; weights: in all, ones: those of the ones
 */
extern double gr_binomial_null_deviance(double weights, double ones);

/* Are there rows, and of both classes? Fails with GR_INVALID and GR_ONE_CLASS. nones: the sum of their responses */
extern bool gr_has_both_classes(double nrows, double nones, GrError *err);

/* The same of any family: is there anything to fit? Of counts some must not be 0. ones: the sum of the responses */
extern bool gr_can_fit(GrFamily family, double nrows, double ones, GrError *err);

/* What a model is called: its method */
static inline const char *
gr_family_method(GrDistribution distribution, bool quasi)
{
	if (gr_is_linear(distribution))
		return "ols";
	return gr_is_logistic(distribution) && !quasi ? "logistic" : "glm";
}

extern const char *const gr_link_names[GR_NLINKS];

/*
 * Names as R has them, in lower case: "poisson". quasi: that of the family whose variance has a factor that is
 * estimated, "quasipoisson". The other way hyphens, underscores, blanks and case don't matter; false if there is none.
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

/* The link of a family when none is named, and whether it can have that link */
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

/* Is the factor of the variance estimated, the dispersion? Else it is 1. */
static inline bool
gr_family_has_dispersion(GrFamily family, bool quasi)
{
	return quasi || gr_family(family)->has_dispersion;
}

/* (d mean / d eta)^2 / variance: what a row of that linear predictor counts for in a fit; prior weights aside */
extern double gr_working_weight(GrDistribution distribution, double eta);

/* The mean of a linear predictor, by the inverse of the link; good in both tails */
extern double gr_link_mean(GrLink link, double eta);

/* Its first and second derivatives; 0 in the tails where the mean has a limit */
extern double gr_mean_slope(GrLink link, double eta);
extern double gr_mean_curvature(GrLink link, double eta);

/*
 * mean(to) - mean(from), good where the two are near each other or in a tail (of probit: in a tail). by: to - from,
 * which may have digits that to and from have lost
 */
extern double gr_mean_difference(GrLink link, double to, double from, double by);

/*
 * The log-likelihood as R has it; nobs: the number of observations or, of gamma's, the sum of their weights;
 * log_constant: see GrRowTotals
 */
extern double gr_log_likelihood(GrFamily family, double deviance, double nobs, double log_constant);

static inline double
gr_gaussian_log_likelihood(double deviance, double nobs, double log_constant)
{
	/* a mean square must not lose digits below float8's range, where the sum of squares is within it */
	double		unit = deviance > 0 && deviance < 1e-280 ? 0x1p200 : 1.0;

	return log_constant - 0.5 * nobs * (log(2 * M_PI) + (log(deviance * unit / nobs) - log(unit)) + 1);
}

/*
 * The one parameter of a distribution as a float8, for states: theta of the negative binomial family, the exponent of
 * the others. gr_distribution_of() is the way back, from a parameter that gr_is_parameter() accepts.
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

/* True if parameter is one that a distribution of the family can have. */
static inline bool
gr_is_parameter(GrFamily family, double parameter)
{
	if (gr_family(family)->has_theta)
		return parameter > 0.0 && isfinite(parameter);
	return gr_family(family)->has_exponent ? fabs(parameter) <= GR_EXPONENT_MAX && parameter == floor(parameter) :
		parameter == 0.0;
}

/*
 * One row's response and weight, on the host and on the device
 */

/* 2^exponent, |exponent| <= GR_EXPONENT_MAX */
GR_HD double
gr_power_of_two(int exponent)
{
	uint64_t	bits = (uint64_t) (1023 + exponent) << 52;
	double		power;

	memcpy(&power, &bits, sizeof(power));
	return power;
}

/* A response in the distribution's unit; the same bits where the exponent is 0. */
GR_HD double
gr_response_in_unit(GrDistribution distribution, double y)
{
	return y * gr_power_of_two(distribution.exponent);
}

/* GR_OK, or why a response and a weight, both finite, can't be computed with. weight: 1 where rows have none */
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
 * log of the probability of a share y of n trials where the mean is y: Loader's (2000), without large terms that cancel
 */
GR_HD double
gr_share_saturated(double y, double n)
{
	if (y == 0.0 || y == 1.0)
		return 0.0;
	return gr_stirling_error(n) - gr_stirling_error(n * y) - gr_stirling_error(n * (1.0 - y)) -
		GR_HALF_LOG_2PI - 0.5 * log(n * y * (1.0 - y));
}

/* log of the Poisson probability of y where the mean is y */
GR_HD double
gr_count_saturated(double y)
{
	return y > 0.0 ? -gr_stirling_error(y) - GR_HALF_LOG_2PI - 0.5 * log(y) : 0.0;
}

/*
 * What a row adds to the log-likelihood beside its deviance. error_of_theta: Stirling's, of the negative binomial
 * family; theta 0: of a fit that estimates it, and has its likelihood by a pass
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

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_FAMILY_H */
