/*
 * glm_row.h: what a generalised linear model makes of one row, the same on the host and on the device.
 *
 * Of a logistic regression, a row's response y is 0 or 1 or, of weighted rows, the share of ones in as many trials as
 * the weight says. Both tails are computed as what they are, never as 1 - p: with t = exp(-|eta|) the unlikely side has
 * probability t / (1 + t). Each value is within a few units in the last place, and a weight of 1 changes no bit.
 *
 * Of the other families and links, the weight of a row is the one that is expected, w (dmu / deta)^2 / V(mu), as in
 * Fisher's scoring and R's glm: with the canonical link it is Newton's. A linear predictor for which there is no mean
 * gives an infinite deviance, and no other sum anything.
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
	double		u;				/* square root of the weight: |dmu / deta| root(w / V(mu)) */
	double		v;				/* so that u v is w (y - mu) (dmu / deta) / V(mu): +- a Pearson residual */
	double		half_deviance;	/* w times the log of y's likelihood at mu = y over that at mu */
} GrGlmRow;

/*
 * y - mu, where the sides have probabilities one = mu and zero = 1 - mu; the same bits for y = 0 and 1 as -one and
 * zero.
 */
GR_HD double
gr_residual(double y, double one, double zero)
{
	return y >= 0.5 ? zero - (1.0 - y) : y - one;
}

/*
 * How far y is on its side, by eta: above 0 where the model expects what it is. A share has trials on both sides.
 */
GR_HD double
gr_margin(double eta, double y)
{
	return y == 1.0 ? eta : y == 0.0 ? -eta : -fabs(eta);
}

/*
 * x log(x / m) - (x - m), x, m > 0, d = x - m: Loader's deviance part (2000), whose series in d / (x + m) doesn't
 * cancel
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

/* Half the deviance of a trial's share y, where the sides have probabilities one and zero */
GR_HD double
gr_share_deviance(double y, double one, double zero)
{
	double		d = gr_residual(y, one, zero);

	return gr_deviance_part(y, one, d) + gr_deviance_part(1.0 - y, zero, -d);
}

/* Of a row without a weight, whose response is 0 or 1 */
GR_HD GrGlmRow
gr_plain_row(double eta, double y)
{
	double		a = fabs(eta);
	double		t = exp(a > GR_ETA_MAX ? -GR_ETA_MAX : -a);	/* NaN goes through */
	double		d = 1.0 / (1.0 + t);
	int			expected = (eta >= 0.0) == (y == 1.0);	/* y is on the likely side */
	double		residual = expected ? t * d : d;	/* its magnitude */
	GrGlmRow row;

	row.u = sqrt(t) * d;
	row.v = (y == 1.0 ? residual : -residual) / row.u;
	row.half_deviance = log1p(t) + (expected ? 0.0 : a);
	return row;
}

/* The same of any row, to the bit where its weight is 1 */
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

/* The same of a linear pass, at beta = 0 */
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

/*
 * Other families and links
 */

/* Beyond this |eta| a probit's tails leave float8's range; its weights stop shrinking. */
#define GR_PROBIT_MAX 37.0

/* Beyond this eta the same of a cloglog's */
#define GR_CLOGLOG_MAX 6.0

/*
 * How far y is on its side, by eta, as gr_margin(); of counts with a mean exp(eta), 0 is expected the more the lower
 * eta is, and other counts are trials on both sides: eta must stay where it is.
 */
GR_HD double
gr_margin_of(GrDistribution distribution, double eta, double y)
{
	return distribution.family == GR_BINOMIAL ? gr_margin(eta, y) : y == 0.0 ? -eta : -fabs(eta);
}

/*
 * Do steps of their own, without offsets, begin with a linear pass? A logistic regression's begin at 0, and so may
 * those of linear regression, whose step is the same from everywhere.
 */
GR_HD bool
gr_is_first_linear(GrDistribution distribution)
{
	return !gr_is_logistic(distribution) && !gr_is_linear(distribution);
}

/* Is every linear predictor one of a mean? */
GR_HD bool
gr_link_is_total(GrLink link)
{
	return link != GR_SQRT && link != GR_INVERSE && link != GR_IDENTITY;
}

/* The standard normal distribution's upper tail as -log, for z > 0 */
GR_HD double
gr_minus_log_tail(double z)
{
	double		r = 1.0 / (z * z);

	if (z < GR_PROBIT_MAX)
		return -log(0.5 * erfc(z * 0.70710678118654752440));
	/* the asymptotic series, whose terms beyond these are less than 1e-9 of it */
	return 0.5 * z * z + log(z) + 0.91893853320467274178 - log1p(-r * (1.0 - 3.0 * r * (1.0 - 5.0 * r)));
}

/* The two sides' probabilities, the root of V over dmu / deta, and -log of the probability of each */
typedef struct GrSides
{
	double		one;
	double		zero;
	double		slope;			/* dmu / deta over the root of one * zero */
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
		/* erfc() at 0, where neither is a tail's */
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
 * y log(y / mu) - (y + theta) log((y + theta) / (mu + theta)), y > 0, d = y - mu. With a = theta d / (mu (y + theta))
 * and b = d / (mu + theta) it is y log(1 + a) - theta log(1 + b) or, as in a and b alone these cancel, theta a b -
 * y (a - log(1 + a)) + theta (b - log(1 + b)), in which hardly anything does unless a is large.
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

/* What follows from the mean, for other families than the binomial one */
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

/* dmu / deta, for links other than the binomial family's */
GR_HD double
gr_link_slope(GrLink link, double eta, double mu)
{
	return link == GR_LOG ? mu : link == GR_SQRT ? 2.0 * eta : link == GR_INVERSE ? -mu * mu : 1.0;
}

/* The root of V, likewise */
GR_HD double
gr_deviation(GrDistribution distribution, double mu)
{
	if (distribution.family == GR_GAUSSIAN)
		return 1.0;
	if (distribution.family == GR_GAMMA)
		return mu;
	return distribution.family == GR_POISSON ? sqrt(mu) : sqrt(mu) * sqrt(1.0 + mu / distribution.theta);
}

/* u and v of a row of that mean */
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

/* Is there a row of such a mean? Of the gaussian family it may be any that isn't infinite. */
GR_HD bool
gr_is_mean(GrDistribution distribution, double eta, double mu)
{
	if (distribution.family == GR_GAUSSIAN)
		return fabs(mu) <= 1e150;
	return mu > 0.0 && mu <= 1e300 && (distribution.link == GR_LOG || eta > 0.0);
}

/* A row's u, v and half deviance. y: a response that the family can have, in its own unit; weight: > 0 */
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

/* A row of any family and link */
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
 * A mean near the response, as R's glm begins with; but where a gaussian response has no predictor, one that is as good
 * as any. trials: how many trials y is the share of ones of
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
 * The inverse of the standard normal distribution function, good enough to begin with: the upper tail's by Abramowitz
 * and Stegun, 26.2.23
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
 * The same of a pass that is linear, at beta = 0; see glm.h. A logistic regression's mean is taken for linear in its
 * predictor; another's rows for what they are where the mean is near the response, so that the Newton step is the
 * least-squares fit with which R's glm begins. counts: weight says how many such rows there are, each one trial; see
 * glm.h
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

/* True if a pass OBSERVED can have rows of this distribution */
GR_HD bool
gr_has_observed(GrDistribution distribution)
{
	return distribution.family == GR_NEGATIVE_BINOMIAL && distribution.link == GR_LOG;
}

/*
 * Weighs a row of the negative binomial family at exp(eta) as Newton's method does: by mu theta (y + theta) / (mu +
 * theta)^2 in the place of the expected weight mu theta / (mu + theta). The product of u and v and the deviance stay.
 */
GR_HD GrGlmRow
gr_observed_row(GrDistribution distribution, GrGlmRow row, double eta, double y)
{
	double		ratio = sqrt((y + distribution.theta) / (exp(eta) + distribution.theta));

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

/* A leverage nearer to 1 than this is 1, but for rounding. */
#define GR_LEVERAGE_ROUNDING 1e-11

/*
 * u and v of a row by the pass's measure, from those of a step: count: how often it stands; leverage: of all of these.
 * u is NaN where there is none. The deviance stays.
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
