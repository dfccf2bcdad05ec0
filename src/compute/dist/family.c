/* family.c: checks rows, sums totals for log-likelihoods, and defines families and links; see family.h. */
#include "compute/dist/family.h"

#include <math.h>
#include <string.h>

#include "compute/base/dd.h"

/* Checks a row of finite numbers. response: the response, followed by the weight if rows have one. */
static bool
one_valid(const double *response, GrRowShape shape, GrRowRules rules, GrError *err)
{
	double		weight = shape.weight ? response[1] : 1.0;
	GrStatus	fault = gr_row_fault(response[0], weight, shape.weight, rules);
	bool		of_weight = fault == GR_NEGATIVE_WEIGHT || fault == GR_NOT_A_COUNT;

	if (fault == GR_OK)
		return true;
	err->value = of_weight ? weight : response[0];
	return gr_fail(err, fault, of_weight ? gr_weight_at(shape) : gr_response_at(shape), "%s", "");
}

/*
 * Checks nrows rows whose features are float4 (shape.single): all numbers are finite, and response and weight valid
 * under rules. Looks for the bad feature only if some feature of a row is not finite. Returns false with err, which
 * has its column.
 */
static bool
single_rows_valid(const char *rows, int64_t nrows, GrRowShape shape, GrRowRules rules, GrError *err)
{
	size_t		row_nbytes = gr_row_nbytes(shape);
	int			nrest = gr_row_ncols(shape) - shape.nfeatures;

	for (int64_t r = 0; r < nrows; r++, rows += row_nbytes)
	{
		const float *features = (const float *) rows;
		float		acc = 0;
		double		rest[4];

		memcpy(rest, features + shape.nfeatures, (size_t) nrest * sizeof(double));
		/* v * 0 is 0 for finite v and NaN otherwise */
		for (int j = 0; j < shape.nfeatures; j++)
			acc += features[j] * 0.0f;
		if (acc != 0.0f)
			for (int j = 0; j < shape.nfeatures; j++)
				if (!isfinite(features[j]))
					return gr_fail(err, GR_NOT_FINITE, j, "%s", "");
		for (int k = 0; k < nrest; k++)
			if (!isfinite(rest[k]))
				return gr_fail(err, GR_NOT_FINITE, shape.nfeatures + k, "%s", "");
		if (!one_valid(rest, shape, rules, err))
			return false;
	}
	return true;
}

/* Returns 0 if the finite number y is 0 or 1, else a positive number: y (y - 1) is at least subnormal. */
static inline double
off_classes(double y)
{
	return fabs(y * (y - 1.0));
}

/* True if each response is 0 or 1. Has no branch per response. */
static bool
all_classed(const double *response, int64_t nrows, int stride)
{
	double		off[4] = {0.0, 0.0, 0.0, 0.0};
	int64_t		r = 0;

	for (; r + 4 <= nrows; r += 4, response += 4 * (int64_t) stride)
		for (int l = 0; l < 4; l++)
			off[l] += off_classes(response[l * (int64_t) stride]);
	for (; r < nrows; r++, response += stride)
		off[0] += off_classes(*response);
	return off[0] + off[1] + off[2] + off[3] == 0.0;
}

/*
 * True if no response can be invalid under rules for rows without weights, for families whose responses only have a
 * lower bound. Has no branch per response.
 */
static bool
all_in_domain(const double *response, int64_t nrows, int stride, GrFamily family)
{
	double		least[4] = {INFINITY, INFINITY, INFINITY, INFINITY};
	int64_t		r = 0;

	if (family <= GR_BINOMIAL)
		return false;
	for (; r + 4 <= nrows; r += 4, response += 4 * (int64_t) stride)
		for (int l = 0; l < 4; l++)
		{
			double		y = response[l * (int64_t) stride];

			least[l] = y < least[l] ? y : least[l];
		}
	for (; r < nrows; r++, response += stride)
		least[0] = *response < least[0] ? *response : least[0];
	for (int l = 1; l < 4; l++)
		least[0] = least[l] < least[0] ? least[l] : least[0];
	return family == GR_GAMMA ? least[0] > 0.0 : least[0] >= 0.0;
}

bool
gr_rows_valid(const void *rows, int64_t nrows, GrRowShape shape, GrRowRules rules, GrError *err)
{
	const double *response = (const double *) rows + gr_response_at(shape);
	int			stride = gr_row_ncols(shape);
	bool		any = gr_family(rules.family)->any_response && !shape.weight;	/* any response is valid */
	int			column;

	if (shape.single)
		return single_rows_valid(rows, nrows, shape, rules, err);
	if (!gr_all_finite(rows, nrows, stride, &column))
		return gr_fail(err, GR_NOT_FINITE, column, "%s", "");
	if (any || (gr_family(rules.family)->is_binary && !shape.weight && all_classed(response, nrows, stride)) ||
		(!shape.weight && all_in_domain(response, nrows, stride, rules.family)))
		return true;
	for (int64_t r = 0; r < nrows; r++, response += stride)
		if (!one_valid(response, shape, rules, err))
			return false;
	return true;
}

/*
 * Totals
 */

static void
add_constant(GrRowTotals *totals, GrDD term)
{
	GrDD		sum = {totals->log_constant, totals->log_constant_lo};

	sum = gr_dd_add(sum, term);
	totals->log_constant = sum.hi;
	totals->log_constant_lo = sum.lo;
}

static void
add_losses(GrRowTotals *totals, GrDD term)
{
	GrDD		sum = {totals->losses, totals->losses_lo};

	sum = gr_dd_add(sum, term);
	totals->losses = sum.hi;
	totals->losses_lo = sum.lo;
}

/* Functions of a count. Tabulated, as most counts are small. */
typedef struct CountValues
{
	double		loss;			/* gr_count_loss(), or gr_waiting_loss() */
	double		log_saturated;	/* log of the probability of y if the mean is y */
} CountValues;

#define NCOUNTS 256

static CountValues
compute_count(double y)
{
	return (CountValues) {gr_count_loss(y), gr_count_saturated(y)};
}

/* Returns the table of small counts. The first thread that needs it fills it; all would write the same. */
static const CountValues *
count_table(void)
{
	static CountValues table[NCOUNTS];
	static bool ready = false;

	if (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
	{
		for (int j = 0; j < NCOUNTS; j++)
			table[j] = compute_count(j);
		__atomic_store_n(&ready, true, __ATOMIC_RELEASE);
	}
	return table;
}

/* Returns the functions of y, from the table if it is a small count. */
static inline CountValues
count_values(const CountValues *table, double y)
{
	int			k = y > 0 && y < NCOUNTS ? (int) y : 0;

	return y == (double) k ? table[k] : compute_count(y);
}

double
gr_count_losses(const double *responses, const double *weights, int n)
{
	const CountValues *table = count_table();
	double		sum = 0.0;

	for (int r = 0; r < n; r++)
		sum += (weights == NULL ? 1.0 : weights[r]) * count_values(table, responses[r]).loss;
	return sum;
}

/* Table of functions of small counts for a theta of the negative binomial family, filled as counts occur. */
typedef struct WaitingTable
{
	double		theta;
	double		error_of_theta;
	bool		known[NCOUNTS];
	CountValues values[NCOUNTS];
} WaitingTable;

/* Returns the thread's table, emptied if it was of another theta. theta: > 0 */
static WaitingTable *
waiting_table(double theta)
{
	static _Thread_local WaitingTable table;

	if (table.theta != theta)
	{
		table.theta = theta;
		table.error_of_theta = gr_stirling_error(theta);
		memset(table.known, 0, sizeof(table.known));
	}
	return &table;
}

static CountValues
waiting_values(WaitingTable *table, double y)
{
	int			k = y > 0 && y < NCOUNTS ? (int) y : 0;

	if (y == 0.0)
		return (CountValues) {0.0, 0.0};
	if (y == (double) k && table->known[k])
		return table->values[k];
	table->values[k] = (CountValues) {
		gr_waiting_loss(y, table->theta), gr_waiting_saturated(y, table->theta, table->error_of_theta)
	};
	table->known[k] = y == (double) k;
	return table->values[k];
}

/* Returns gr_row_loss() and gr_log_constant(), from a table if there is one. */
static CountValues
values_of(GrRowRules rules, WaitingTable *table, double y, double weight)
{
	CountValues values;

	if (rules.family != GR_POISSON && rules.family != GR_NEGATIVE_BINOMIAL)
		return (CountValues) {0.0, gr_log_constant(rules, 0.0, y, weight)};
	values = rules.family == GR_POISSON ? count_values(count_table(), y) : waiting_values(table, y);
	return (CountValues) {weight * values.loss, weight * values.log_saturated};
}

void
gr_totals_add(GrRowTotals *totals, const void *rows, int64_t nrows, GrRowShape shape, GrRowRules rules)
{
	size_t		row_nbytes = gr_row_nbytes(shape);
	const char *at = (const char *) rows + (shape.single ? sizeof(float) : sizeof(double)) * (size_t) shape.nfeatures;
	bool		waits = gr_family(rules.family)->has_theta;
	bool		constants = (gr_family(rules.family)->row_constants || rules.weighting == GR_PRIOR_WEIGHTS) &&
		!(waits && rules.theta == 0.0);
	GrDD		losses = {0.0, 0.0};
	WaitingTable *table = waits && constants ? waiting_table(rules.theta) : NULL;

	for (int64_t r = 0; r < nrows; r++, at += row_nbytes)
	{
		double		rest[2] = {0.0, 1.0};	/* response, weight */

		memcpy(rest, at, (shape.weight ? 2 : 1) * sizeof(double));
		totals->weights += rest[1];
		totals->ones += rest[1] * rest[0];
		totals->nshares += rest[0] != 0.0 && rest[0] != 1.0 ? 1.0 : 0.0;
		if (constants)
		{
			CountValues values = values_of(rules, table, rest[0], rest[1]);

			GrDD		sum = gr_two_sum(losses.hi, values.loss);

			losses.hi = sum.hi;
			losses.lo += sum.lo;
			add_constant(totals, gr_dd(values.log_saturated));
		}
	}
	add_losses(totals, gr_two_sum(losses.hi, losses.lo));
}

void
gr_totals_merge(GrRowTotals *totals, const GrRowTotals *other)
{
	GrDD		constant = {other->log_constant, other->log_constant_lo};

	totals->weights += other->weights;
	totals->ones += other->ones;
	totals->nshares += other->nshares;
	add_constant(totals, constant);
	add_losses(totals, (GrDD) {other->losses, other->losses_lo});
}

bool
gr_has_both_classes(double nrows, double nones, GrError *err)
{
	if (nrows == 0)
		return gr_fail(err, GR_INVALID, 0, "there are no rows");
	if (nones == 0 || nones == nrows)
	{
		err->value = nones == 0 ? 0 : 1;
		return gr_fail(err, GR_ONE_CLASS, 0, "%s", "");
	}
	return true;
}

bool
gr_can_fit(GrFamily family, double nrows, double ones, GrError *err)
{
	if (gr_family(family)->is_binary)
		return gr_has_both_classes(nrows, ones, err);
	if (nrows == 0)
		return gr_fail(err, GR_INVALID, 0, "there are no rows");
	return ones != 0 || gr_family(family)->any_response || gr_fail(err, GR_ALL_ZERO, 0, "%s", "");
}

/*
 * Families
 */

static double
gaussian_weight(GrDistribution distribution, double eta, double mean, double slope)
{
	(void) distribution;
	(void) eta;
	(void) mean;
	return slope * slope;
}

static double
binomial_weight(GrDistribution distribution, double eta, double mean, double slope)
{
	if (distribution.link == GR_LOGIT)
		return slope;
	if (distribution.link == GR_CLOGLOG)
		return slope * (exp(eta) / mean);
	return slope / mean / gr_link_mean(distribution.link, -eta) * slope;
}

static double
poisson_weight(GrDistribution distribution, double eta, double mean, double slope)
{
	(void) distribution;
	(void) eta;
	return slope / mean * slope;
}

static double
gamma_weight(GrDistribution distribution, double eta, double mean, double slope)
{
	(void) distribution;
	(void) eta;
	return (slope / mean) * (slope / mean);
}

static double
negative_binomial_weight(GrDistribution distribution, double eta, double mean, double slope)
{
	(void) eta;
	return slope / mean / (1 + mean / distribution.theta) * slope;
}

const GrFamilyTraits gr_families[GR_NFAMILIES + 1] = {
	[GR_GAUSSIAN] = {
		.name = "gaussian",.links = {GR_IDENTITY, GR_LOG, GR_INVERSE},.nlinks = 3,.canonical = GR_IDENTITY,
		.any_response = true,.has_exponent = true,.least_squares = true,.has_dispersion = true,.deviance_power = 2,
		.working_weight = gaussian_weight
	},
	[GR_BINOMIAL] = {
		.name = "binomial",.quasi_name = "quasibinomial",.links = {GR_LOGIT, GR_PROBIT, GR_CLOGLOG},.nlinks = 3,
		.canonical = GR_LOGIT,.is_binary = true,.working_weight = binomial_weight
	},
	[GR_POISSON] = {
		.name = "poisson",.quasi_name = "quasipoisson",.links = {GR_LOG, GR_IDENTITY, GR_SQRT},.nlinks = 3,
		.canonical = GR_LOG,.is_count = true,.has_exponent = true,.row_constants = true,.deviance_power = 1,
		.working_weight = poisson_weight
	},
	[GR_GAMMA] = {
		.name = "gamma",.links = {GR_LOG, GR_INVERSE, GR_IDENTITY},.nlinks = 3,.canonical = GR_INVERSE,
		.has_exponent = true,.has_dispersion = true,.row_constants = true,.nobs_by_weight = true,
		.working_weight = gamma_weight
	},
	[GR_NEGATIVE_BINOMIAL] = {
		.name = "negative binomial",.links = {GR_LOG, GR_IDENTITY, GR_SQRT},.nlinks = 3,.canonical = -1,
		.is_count = true,.has_theta = true,.row_constants = true,.working_weight = negative_binomial_weight
	}
};

double
gr_working_weight(GrDistribution distribution, double eta)
{
	double		mean = gr_link_mean(distribution.link, eta);
	double		slope = fabs(gr_mean_slope(distribution.link, eta));

	return slope == 0 ? 0 : gr_family(distribution.family)->working_weight(distribution, eta, mean, slope);
}

/*
 * Names
 */

const char *const gr_link_names[GR_NLINKS] = {
	[GR_IDENTITY] = "identity",[GR_LOGIT] = "logit",[GR_PROBIT] = "probit",[GR_CLOGLOG] = "cloglog",[GR_LOG] = "log",
	[GR_SQRT] = "sqrt",[GR_INVERSE] = "inverse"
};

/* True if the names differ only in case and in separators. b is in lower case. */
static bool
same_name(const char *a, const char *b)
{
	for (;; a++, b++)
	{
		while (*a == '-' || *a == '_' || *a == ' ')
			a++;
		while (*b == '-' || *b == '_' || *b == ' ')
			b++;
		if ((*a >= 'A' && *a <= 'Z' ? *a - 'A' + 'a' : *a) != *b)
			return false;
		if (*a == '\0')
			return true;
	}
}

bool
gr_family_named(const char *name, GrFamily *family, bool *quasi)
{
	for (int k = 0; k < 2 * GR_NFAMILIES; k++)
	{
		const char *known = gr_family_name((GrFamily) (k / 2), k % 2 == 1);

		if (known == NULL || !same_name(name, known))
			continue;
		*family = (GrFamily) (k / 2);
		*quasi = k % 2 == 1;
		return true;
	}
	return false;
}

bool
gr_link_named(const char *name, GrLink *link)
{
	for (int k = 0; k < GR_NLINKS; k++)
	{
		if (!same_name(name, gr_link_names[k]))
			continue;
		*link = (GrLink) k;
		return true;
	}
	return false;
}

double
gr_link_mean(GrLink link, double eta)
{
	double		t;

	switch (link)
	{
		case GR_LOGIT:
			t = exp(-fabs(eta));
			return eta >= 0 ? 1.0 / (1.0 + t) : t / (1.0 + t);
		case GR_PROBIT:
			return 0.5 * erfc(-eta * M_SQRT1_2);
		case GR_CLOGLOG:
			return -expm1(-exp(eta));
		case GR_LOG:
			return exp(eta);
		case GR_SQRT:
			return eta * eta;
		case GR_INVERSE:
			return 1.0 / eta;
		default:
			return eta;
	}
}

double
gr_mean_slope(GrLink link, double eta)
{
	double		t;

	switch (link)
	{
		case GR_LOGIT:
			t = exp(-fabs(eta));
			return t / ((1 + t) * (1 + t));
		case GR_PROBIT:
			return 0.5 * M_2_SQRTPI * M_SQRT1_2 * exp(-0.5 * eta * eta);
		case GR_CLOGLOG:
			return isinf(eta) ? 0 : exp(eta - exp(eta));
		case GR_LOG:
			return exp(eta);
		case GR_SQRT:
			return 2 * eta;
		case GR_INVERSE:
			return -1 / (eta * eta);
		default:
			return 1;
	}
}

double
gr_mean_curvature(GrLink link, double eta)
{
	double		slope = gr_mean_slope(link, eta);

	/* avoids infinity times 0 */
	if (slope == 0 && link != GR_SQRT)
		return 0;
	switch (link)
	{
		case GR_LOGIT:
			return -tanh(0.5 * eta) * slope;
		case GR_PROBIT:
			return -eta * slope;
		case GR_CLOGLOG:
			return -expm1(eta) * slope;
		case GR_LOG:
			return slope;
		case GR_SQRT:
			return 2;
		case GR_INVERSE:
			return -2 / eta * slope;
		default:
			return 0;
	}
}

/* Returns exp(to) - exp(from), where by > 0 is to - from. */
static double
exp_difference(double to, double from, double by)
{
	if (by < 1)
		return exp(from) * expm1(by);
	return isinf(exp(from)) ? INFINITY : exp(to) - exp(from);
}

double
gr_mean_difference(GrLink link, double to, double from, double by)
{
	if (by < 0)
		return -gr_mean_difference(link, from, to, -by);
	if (by == 0)
		return 0;
	if (!isfinite(to) || !isfinite(from))
		return to == from ? 0 : gr_link_mean(link, to) - gr_link_mean(link, from);
	switch (link)
	{
		case GR_LOGIT:
			/* p1 (1 - p0) - p0 (1 - p1), where the second product is exp(-by) times the first */
			return gr_link_mean(link, to) * gr_link_mean(link, -from) * -expm1(-by);
		case GR_PROBIT:
			return from > 0 ? gr_link_mean(link, -from) - gr_link_mean(link, -to) :
				gr_link_mean(link, to) - gr_link_mean(link, from);
		case GR_CLOGLOG:
			return exp(-exp(from)) * -expm1(-exp_difference(to, from, by));
		case GR_LOG:
			return exp_difference(to, from, by);
		case GR_SQRT:
			return by * (to + from);
		case GR_INVERSE:
			return -by / to / from;
		default:
			return by;
	}
}

double
gr_binomial_null_deviance(double weights, double ones)
{
	double		zeros = weights - ones;

	if (ones == 0 || zeros == 0)
		return 0;
	/* log(weights / ones) and log(weights / zeros), exact even if one is near 0 */
	return 2 * (ones * log1p(zeros / ones) + zeros * log1p(ones / zeros));
}

double
gr_log_likelihood(GrFamily family, double deviance, double nobs, double log_constant)
{
	if (family == GR_GAUSSIAN)
		return gr_gaussian_log_likelihood(deviance, nobs, log_constant);
	if (family == GR_GAMMA)
	{
		/* R takes the deviance over the weights as the dispersion here, not that of its summary */
		double		shape = nobs / deviance;

		/* shape log(shape) - shape - lgamma(shape), the last by Stirling's formula */
		return nobs * (0.5 * log(shape) - GR_HALF_LOG_2PI - gr_stirling_error(shape)) - 0.5 * nobs + log_constant;
	}
	return log_constant - 0.5 * deviance;
}
