/*
 * glm_row.h: weight, residual and deviance of one row of a generalised linear model. Shared by host and device; the
 * passes (glm.h) call gr_glm_row().
 *
 * For a logistic regression, the response y of a row is 0 or 1 or, with weights, the share of ones in as many trials as
 * the weight. Both tails are computed directly, never as 1 - p: with t = exp(-|eta|) the unlikely side has probability
 * t / (1 + t). Each value is within a few units in the last place, and a weight of 1 changes no bit.
 *
 * For other families and links, the weight of a row is the expected one, w (dmu / deta)^2 / V(mu), as in Fisher's
 * scoring and R's glm. With the canonical link it is Newton's. A linear predictor without a mean gives an infinite
 * deviance and adds 0 to all other sums.
 */
#ifndef GPUREG_GLM_ROW_H
#define GPUREG_GLM_ROW_H

#include "compute/base/dd.h"
#include "compute/dist/family.h"
#include "compute/glm/measure.h"

/* Beyond this |eta| weights stop shrinking: exp(-460) is about 1e-200, whose squares still have all their digits. */
#define GR_ETA_MAX 460.0

typedef struct GrGlmRow
{
	double		u;				/* square root of the weight: |dmu / deta| sqrt(w / V(mu)) */
	double		v;				/* u v is w (y - mu) (dmu / deta) / V(mu); v is a Pearson residual up to its sign */
	double		half_deviance;	/* w times log(likelihood of y at mu = y / likelihood at mu) */
} GrGlmRow;

/*
 * Returns y - mu, where one = mu and zero = 1 - mu are the sides' probabilities. For y = 0 and 1 the bits are those of
 * -one and zero.
 */
GR_HD double
gr_residual(double y, double one, double zero)
{
	return y >= 0.5 ? zero - (1.0 - y) : y - one;
}

/* Returns the margin of y: above 0 if the model expects y. A share has trials on both sides, and a margin below 0. */
GR_HD double
gr_margin(double eta, double y)
{
	return y == 1.0 ? eta : y == 0.0 ? -eta : -fabs(eta);
}

/*
 * Returns x log(x / m) - (x - m) for x, m > 0 and d = x - m: Loader's (2000) deviance part, by a series in d / (x + m)
 * that does not cancel.
 */
GR_HD double
gr_deviance_part(double x, double m, double d)
{
	double		q = d / (x + m);
	double		sum = d * q;
	double		term = 2.0 * x * q;
	double		before = 0.0;

	if (!(fabs(q) < 0.1))
		return x * log(x / m) - d;
	for (int k = 3; k < 40 && sum != before; k += 2)
	{
		term *= q * q;
		before = sum;
		sum += term / k;
	}
	return sum;
}

/* Returns half the deviance of a share y of one trial, where the sides have probabilities one and zero. */
GR_HD double
gr_share_deviance(double y, double one, double zero)
{
	double		d = gr_residual(y, one, zero);

	return gr_deviance_part(y, one, d) + gr_deviance_part(1.0 - y, zero, -d);
}

/* Returns the row of a logistic regression whose weight is 1 and whose response is 0 or 1. */
GR_HD GrGlmRow
gr_plain_row(double eta, double y)
{
	double		a = fabs(eta);
	double		t = exp(a > GR_ETA_MAX ? -GR_ETA_MAX : -a);	/* NaN goes through */
	double		d = 1.0 / (1.0 + t);
	int			expected = (eta >= 0.0) == (y == 1.0);	/* y is on the likely side */
	double		residual = expected ? t * d : d;	/* magnitude of the residual */
	GrGlmRow row;

	row.u = sqrt(t) * d;
	row.v = (y == 1.0 ? residual : -residual) / row.u;
	row.half_deviance = log1p(t) + (expected ? 0.0 : a);
	return row;
}

/* Returns the row of a logistic regression for any weight and share; to the bit gr_plain_row()'s if the weight is 1. */
GR_HD GrGlmRow
gr_logistic_row(double eta, double y, double weight)
{
	double		a = fabs(eta);
	double		t = exp(a > GR_ETA_MAX ? -GR_ETA_MAX : -a);	/* NaN goes through */
	double		d = 1.0 / (1.0 + t);
	double		one = eta >= 0.0 ? d : t * d;
	double		zero = eta >= 0.0 ? t * d : d;
	GrGlmRow row;

	row.u = sqrt(weight) * (sqrt(t) * d);
	row.v = weight * gr_residual(y, one, zero) / row.u;
	if (y == 0.0 || y == 1.0)
		row.half_deviance = weight * (log1p(t) + ((eta >= 0.0) == (y == 1.0) ? 0.0 : a));
	else if (a <= GR_ETA_MAX)
		row.half_deviance = weight * gr_share_deviance(y, one, zero);
	else
		row.half_deviance = weight * (y * log(y) + (1.0 - y) * log1p(-y) + a * (eta > 0.0 ? 1.0 - y : y));
	return row;
}

/* Returns the row of a linear pass of a logistic regression, at beta = 0. */
GR_HD GrGlmRow
gr_linear_row(double offset, double y, double weight)
{
	double		root = sqrt(weight);
	GrGlmRow row;

	row.u = 0.5 * root;
	row.v = root * (2.0 * y - 1.0 - 0.5 * offset);
	row.half_deviance = 0.0;
	return row;
}

/* Families and links other than logistic */

/* Beyond this |eta| a probit's tails leave float8's range; its weights stop shrinking. */
#define GR_PROBIT_MAX 37.0

/* Beyond this eta a cloglog's upper tail leaves float8's range; its weights stop shrinking. */
#define GR_CLOGLOG_MAX 6.0

/*
 * Returns the margin of y for any family; see gr_margin(). For counts, a count of 0 is the more likely the lower eta
 * is. Other counts have trials on both sides, so that eta must stay where it is.
 */
GR_HD double
gr_margin_of(GrDistribution distribution, double eta, double y)
{
	return distribution.family == GR_BINOMIAL ? gr_margin(eta, y) : y == 0.0 ? -eta : -fabs(eta);
}

/*
 * True if a fit without offsets begins with a linear pass. A logistic regression begins at 0, and so may a linear
 * regression, whose step is the same from everywhere.
 */
GR_HD bool
gr_is_first_linear(GrDistribution distribution)
{
	return !gr_is_logistic(distribution) && !gr_is_linear(distribution);
}

/* True if every linear predictor has a mean. */
GR_HD bool
gr_link_is_total(GrLink link)
{
	return link != GR_SQRT && link != GR_INVERSE && link != GR_IDENTITY;
}

/* Returns -log of the upper tail of the standard normal distribution, for z > 0. */
GR_HD double
gr_minus_log_tail(double z)
{
	double		r = 1.0 / (z * z);

	if (z < GR_PROBIT_MAX)
		return -log(0.5 * erfc(z * 0.70710678118654752440));
	/* asymptotic series; the terms left out are below 1e-9 of the result */
	return 0.5 * z * z + log(z) + 0.91893853320467274178 - log1p(-r * (1.0 - 3.0 * r * (1.0 - 5.0 * r)));
}

/* Probabilities of the two sides, dmu / deta over the square root of V, and -log of each probability. */
typedef struct GrSides
{
	double		one;
	double		zero;
	double		slope;			/* dmu / deta over sqrt(one * zero) */
	double		loss_one;
	double		loss_zero;
} GrSides;

GR_HD GrSides
gr_sides(GrLink link, double eta)
{
	GrSides		s;

	if (link == GR_PROBIT)
	{
		double		z = eta < -GR_PROBIT_MAX ? -GR_PROBIT_MAX : eta > GR_PROBIT_MAX ? GR_PROBIT_MAX : eta;

		s.one = 0.5 * erfc(-z * 0.70710678118654752440);
		s.zero = 0.5 * erfc(z * 0.70710678118654752440);
		s.slope = exp(-0.5 * z * z) * 0.39894228040143267794 / (sqrt(s.one) * sqrt(s.zero));
		s.loss_one = eta > 0.0 ? -log1p(-s.zero) : gr_minus_log_tail(-eta);
		s.loss_zero = eta > 0.0 ? gr_minus_log_tail(eta) : -log1p(-s.one);
		/* at 0 neither side is a tail, and erfc() would round */
		if (eta == 0.0)
			s.loss_one = s.loss_zero = 0.69314718055994530942;
	}
	else
	{
		double		z = eta < -GR_ETA_MAX ? -GR_ETA_MAX : eta > GR_CLOGLOG_MAX ? GR_CLOGLOG_MAX : eta;
		double		e = exp(z);

		s.one = -expm1(-e);
		s.zero = exp(-e);
		s.slope = e * sqrt(s.zero) / sqrt(s.one);
		s.loss_one = eta < -GR_ETA_MAX ? -eta : -log(s.one);
		s.loss_zero = exp(eta);
	}
	return s;
}

GR_HD GrGlmRow
gr_binary_row(GrLink link, double eta, double y, double weight)
{
	GrSides		s = gr_sides(link, eta);
	double		root = sqrt(weight);
	GrGlmRow	row;

	row.u = root * s.slope;
	row.v = root * gr_residual(y, s.one, s.zero) / (sqrt(s.one) * sqrt(s.zero));
	row.half_deviance = weight * (y == 1.0 ? s.loss_one : y == 0.0 ? s.loss_zero : gr_share_deviance(y, s.one, s.zero));
	return row;
}

/*
 * Returns y log(y / mu) - (y + theta) log((y + theta) / (mu + theta)) for y > 0 and d = y - mu. With a = theta d / (mu
 * (y + theta)) and b = d / (mu + theta) this is y log(1 + a) - theta log(1 + b). For small a that cancels, and it is
 * computed as theta a b - y (a - log(1 + a)) + theta (b - log(1 + b)).
 */
GR_HD double
gr_waiting_deviance(double y, double mu, double theta, double d)
{
	double		x = y + theta;
	double		m = mu + theta;
	double		odds = theta / mu;
	double		a = odds * d / x;
	double		b = d / m;

	if (fabs(a) < 0.2)
		return theta * a * b - y * (gr_deviance_part(x, y + y * odds, -odds * d) / x) +
			theta * (gr_deviance_part(m, x, -d) / m);
	return y * log(y / mu) - x * (fabs(b) < 0.5 ? log1p(b) : log(x / m));
}

/* Returns half the deviance of y for families other than the binomial. */
GR_HD double
gr_half_deviance(GrDistribution distribution, double y, double mu)
{
	double		theta = distribution.theta;
	double		d = y - mu;

	if (distribution.family == GR_GAUSSIAN)
		return 0.5 * d * d;
	if (distribution.family == GR_GAMMA)
		return gr_deviance_part(mu, y, -d) / mu;
	if (distribution.family == GR_POISSON)
		return y > 0.0 ? gr_deviance_part(y, mu, d) : mu;
	return y == 0.0 ? theta * log1p(mu / theta) : gr_waiting_deviance(y, mu, theta, d);
}

/* Returns dmu / deta for links other than the binomial family's. */
GR_HD double
gr_link_slope(GrLink link, double eta, double mu)
{
	return link == GR_LOG ? mu : link == GR_SQRT ? 2.0 * eta : link == GR_INVERSE ? -mu * mu : 1.0;
}

/* Returns the square root of V(mu) for families other than the binomial. */
GR_HD double
gr_deviation(GrDistribution distribution, double mu)
{
	if (distribution.family == GR_GAUSSIAN)
		return 1.0;
	if (distribution.family == GR_GAMMA)
		return mu;
	return distribution.family == GR_POISSON ? sqrt(mu) : sqrt(mu) * sqrt(1.0 + mu / distribution.theta);
}

/* Returns u and v of a row with mean mu. */
GR_HD GrGlmRow
gr_row_of_mean(GrDistribution distribution, double eta, double mu, double y, double weight)
{
	double		scale = sqrt(weight) / gr_deviation(distribution, mu);
	GrGlmRow	row;

	row.u = scale * gr_link_slope(distribution.link, eta, mu);
	row.v = scale * (y - mu);
	row.half_deviance = 0.0;
	return row;
}

/*
 * True if mu, the mean for predictor eta, is in range for a family other than the binomial: |mu| <= 1e150 for the
 * gaussian, else 0 < mu <= 1e300 with, unless the link is the log, eta > 0.
 */
GR_HD bool
gr_is_mean(GrDistribution distribution, double eta, double mu)
{
	if (distribution.family == GR_GAUSSIAN)
		return fabs(mu) <= 1e150;
	return mu > 0.0 && mu <= 1e300 && (distribution.link == GR_LOG || eta > 0.0);
}

/* Returns a row of a family other than the binomial. y: a valid response in its own unit; weight: > 0. */
GR_HD GrGlmRow
gr_mean_row(GrDistribution distribution, double eta, double y, double weight)
{
	double		response = gr_response_in_unit(distribution, y);
	double		mu = distribution.link == GR_LOG ? exp(eta) : distribution.link == GR_SQRT ? eta * eta :
		distribution.link == GR_INVERSE ? 1.0 / eta : eta;
	GrGlmRow	row = {0.0, 0.0, INFINITY};

	if (!gr_is_mean(distribution, eta, mu))
		return row;
	row = gr_row_of_mean(distribution, eta, mu, response, weight);
	row.half_deviance = weight * gr_half_deviance(distribution, response, mu);
	return row;
}

/* Returns a row of any family and link. */
GR_HD GrGlmRow
gr_glm_row(GrDistribution distribution, double eta, double y, double weight)
{
	if (distribution.family != GR_BINOMIAL)
		return gr_mean_row(distribution, eta, y, weight);
	if (distribution.link == GR_LOGIT)
		return gr_logistic_row(eta, y, weight);
	return gr_binary_row(distribution.link, eta, y, weight);
}

/*
 * Returns a mean near the response, as R's glm begins with. A gaussian response without a predictor gives 1. trials:
 * number of trials of which y is the share of ones.
 */
GR_HD double
gr_first_mean(GrDistribution distribution, double y, double trials)
{
	switch (distribution.family)
	{
		case GR_BINOMIAL:
			return (trials * y + 0.5) / (trials + 1.0);
		case GR_POISSON:
			return y + 0.1;
		case GR_NEGATIVE_BINOMIAL:
			return y > 0.0 ? y : 1.0 / 6.0;
		case GR_GAUSSIAN:
			return distribution.link == GR_IDENTITY || y > 0.0 || (distribution.link == GR_INVERSE && y < 0.0) ?
				y : 1.0;
		default:
			return y;
	}
}

/*
 * Returns a rough inverse of the standard normal distribution function, to begin with. The tail is by Abramowitz and
 * Stegun, 26.2.23.
 */
GR_HD double
gr_first_probit(double p)
{
	double		tail = p < 0.5 ? p : 1.0 - p;
	double		t = sqrt(-2.0 * log(tail));
	double		z = t - (2.515517 + (0.802853 + 0.010328 * t) * t) /
		(1.0 + (1.432788 + (0.189269 + 0.001308 * t) * t) * t);

	return p < 0.5 ? -z : z;
}

GR_HD double
gr_first_eta(GrLink link, double mu)
{
	switch (link)
	{
		case GR_LOGIT:
			return log(mu / (1.0 - mu));
		case GR_PROBIT:
			return gr_first_probit(mu);
		case GR_CLOGLOG:
			return log(-log1p(-mu));
		case GR_LOG:
			return log(mu);
		case GR_SQRT:
			return sqrt(mu);
		case GR_INVERSE:
			return 1.0 / mu;
		default:
			return mu;
	}
}

/*
 * Returns a row of a linear pass, at beta = 0; see glm.h. For a logistic regression the mean is linear in the
 * predictor. For others the row is that of a mean near the response, so that the Newton step is the least-squares fit
 * with which R's glm begins. counts: weight is a frequency of rows of one trial each; see glm.h.
 */
GR_HD GrGlmRow
gr_first_row(GrDistribution distribution, double offset, double y, double weight, bool counts)
{
	double		mu;
	double		eta;
	GrGlmRow	row;

	if (gr_is_logistic(distribution))
		return gr_linear_row(offset, y, weight);
	y = gr_response_in_unit(distribution, y);
	mu = gr_first_mean(distribution, y, counts ? 1.0 : weight);
	eta = gr_first_eta(distribution.link, mu);
	row = distribution.family == GR_BINOMIAL ? gr_glm_row(distribution, eta, y, weight) :
		gr_row_of_mean(distribution, eta, mu, y, weight);
	row.v += row.u * (eta - offset);
	row.half_deviance = 0.0;
	return row;
}

/*
 * Observed weights
 */

/* True if a pass OBSERVED can have rows of this distribution. */
GR_HD bool
gr_has_observed(GrDistribution distribution)
{
	return (distribution.family == GR_NEGATIVE_BINOMIAL || distribution.family == GR_GAMMA) &&
		distribution.link == GR_LOG;
}

/*
 * Changes a row at exp(eta) to Newton's weight: of the negative binomial family mu theta (y + theta) / (mu + theta)^2,
 * from the expected weight mu theta / (mu + theta); of the gamma family y / mu, from 1. The product of u and v and the
 * deviance stay.
 */
GR_HD GrGlmRow
gr_observed_row(GrDistribution distribution, GrGlmRow row, double eta, double y)
{
	double		ratio = distribution.family == GR_GAMMA ? sqrt(gr_response_in_unit(distribution, y) / exp(eta)) :
		sqrt((y + distribution.theta) / (exp(eta) + distribution.theta));

	if (row.u > 0.0)
	{
		row.u *= ratio;
		row.v /= ratio;
	}
	return row;
}

/*
 * Scores and leverages
 */

/* A leverage nearer to 1 than this counts as 1. */
#define GR_LEVERAGE_ROUNDING 1e-11

/*
 * Changes u and v of a row from those of a step to those of measure. count: frequency of the row; leverage: of all
 * count rows together. u becomes NaN if there is no score. half_deviance stays.
 */
GR_HD GrGlmRow
gr_measured_row(GrMeasure measure, GrGlmRow row, double eta, double count, double leverage)
{
	double		left = 1.0 - leverage / count;

	if (measure == GR_MEASURE_FIRTH)
	{
		/* 1 / 2 - mu is tanh(-eta / 2) / 2 */
		row.v -= leverage * 0.5 * tanh(0.5 * eta) / row.u;
		return row;
	}
	row.u = row.u * row.v / sqrt(count);
	row.v = 0.0;
	if (measure == GR_MEASURE_SCORES)
		return row;
	if (left < GR_LEVERAGE_ROUNDING)
		row.u = NAN;
	else
		row.u /= measure == GR_MEASURE_SCORES_HC2 ? sqrt(left) : left;
	return row;
}

#endif							/* GPUREG_GLM_ROW_H */
