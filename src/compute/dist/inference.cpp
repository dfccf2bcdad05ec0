/*
 * inference.cpp: distribution functions over Boost.Math's headers; the only C++ in this folder. See inference.h.
 *
 * All work is in long double: its digits make up for those that powers such as x^(df / 2) lose, and its range holds
 * t^2. With x87's 64 bits (or IEEE quad) the results are right to a few ulp of float8; where long double is float8 they
 * are not.
 *
 * Both tails are I_x(a, b) with x = 1 / (1 + odds), odds = t^2 / df or f df1 / df2, and y = 1 - x = odds / (1 + odds):
 * two quotients, so that neither loses digits when the other is near 1.
 *
 * Boost's incomplete beta is used if a or b is at most 1, as always for t. If both are larger it has errors up to 1e-11
 * if a or b is a whole number below 40 (seen in 1.74: a power of a rounded 1 - y in binomial_ccdf, and a series that
 * loses digits at whole b). The continued fraction is then evaluated here.
 */
#include "compute/dist/inference.h"

#include <cmath>
#include <limits>

#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <boost/math/special_functions/log1p.hpp>

namespace
{

namespace bmp = boost::math::policies;

typedef long double Real;

/* errors give infinities and NaN, without exceptions or errno */
typedef bmp::policy<bmp::domain_error<bmp::ignore_error>, bmp::pole_error<bmp::ignore_error>,
					bmp::overflow_error<bmp::ignore_error>, bmp::underflow_error<bmp::ignore_error>,
					bmp::denorm_error<bmp::ignore_error>, bmp::rounding_error<bmp::ignore_error>,
					bmp::evaluation_error<bmp::ignore_error>, bmp::indeterminate_result_error<bmp::ignore_error>>
	Quiet;

const double not_a_number = std::numeric_limits<double>::quiet_NaN();
const Real	two_over_pi = 0.636619772367581343075535053490057448L;
const Real	sqrt_two = 1.414213562373095048801688724209698079L;
const Real	half = 0.5L;

/* Limit of terms, which bounds a call to some 40 ms. Enough for a and b up to 1e14; beyond, results are NaN. */
const int	max_terms = 1000000;

/* The policy leaves Boost no reason to throw, but an exception must not reach C whatever the version. */
template <class Function>
double
guarded(Function function) noexcept
{
	try
	{
		return (double) function();
	}
	catch (...)
	{
		return not_a_number;
	}
}

/* Returns log(gamma(n + 1)) - log(sqrt(2 pi n) (n / e)^n), n >= 40: the Stirling series, whose error is below 1e-22. */
Real
stirling_error(Real n)
{
	Real		q = 1 / (n * n);

	return (1 / 12.0L - q * (1 / 360.0L - q * (1 / 1260.0L - q * (1 / 1680.0L - q * (1 / 1188.0L - q *
		(691 / 360360.0L - q / 156.0L)))))) / n;
}

/* Returns log(r) - (r - 1) from r and r1 = r - 1, using whichever is more exact. */
Real
log_minus_linear(Real r, Real r1)
{
	return r < half ? std::log(r) - r1 : boost::math::log1pmx(r1, Quiet());
}

/* Returns x^a y^b / B(a, b), x = 1 / (1 + odds), y = 1 - x. */
Real
beta_front(Real a, Real b, Real x, Real y, Real odds)
{
	const Real	two_pi = 6.283185307179586476925286766559005768L;
	Real		w = b * x - a * y;

	/* Boost's own front loses digits for b little above 1 and a large, and for a and b from 1e9 on */
	if (a < 40 || b < 40)
		return std::exp(-a * std::log1p(odds) - b * std::log1p(1 / odds)) / boost::math::beta(a, b, Quiet());
	/* the saddle point (Loader 2000, "Fast and accurate computation of binomial probabilities"): nothing cancels */
	return std::sqrt(a / two_pi / (a + b) * b)
		* std::exp(stirling_error(a + b) - stirling_error(a) - stirling_error(b)
				   + a * log_minus_linear((a + b) / a * x, w / a) + b * log_minus_linear((a + b) / b * y, -w / b));
}

/*
 * Returns I_x(a, b) for a, b > 1 and x at most the mean a / (a + b), where the fraction converges fast: DiDonato and
 * Morris (1992), "Algorithm 708", equation 9, by Lentz's method. NaN if it does not converge.
 */
Real
beta_fraction(Real a, Real b, Real x, Real y, Real odds)
{
	const Real	eps = std::numeric_limits<Real>::epsilon();
	const Real	tiny = std::numeric_limits<Real>::min() / eps;
	Real		front = beta_front(a, b, x, y, odds);
	Real		f = a * (a * y - b * x + 1) / (a + 1);
	Real		c;
	Real		d = 0;

	/* a front that underflowed gives 0 for any fraction */
	if (front == 0)
		return 0;
	if (f == 0)
		f = tiny;
	c = f;
	for (int m = 1; m <= max_terms; m++)
	{
		Real		s = a + 2 * (Real) m - 1;
		Real		num = (a + m - 1) / s * ((a + b + m - 1) / s) * m * (b - m) * x * x;
		Real		den = m + m * (b - m) * x / s + (a + m) * (a * y - b * x + 1 + m * (2 - x)) / (s + 2);
		Real		ratio;

		d = den + num * d;
		c = den + num / c;
		if (d == 0)
			d = tiny;
		if (c == 0)
			c = tiny;
		d = 1 / d;
		ratio = c * d;
		f *= ratio;
		if (std::fabs(ratio - 1) <= 2 * eps)
			return front / f;
	}
	return std::numeric_limits<Real>::quiet_NaN();
}

/* Returns I_x(a, b), x = 1 / (1 + odds), for finite a, b > 0 and odds > 0. */
Real
beta_tail(Real a, Real b, Real odds)
{
	Real		x = 1 / (1 + odds);
	Real		y = odds > 1 ? 1 / (1 + 1 / odds) : odds / (1 + odds);

	/* Boost uses asin(sqrt(1 - y)), which is inexact for small y */
	if (a == half && b == half)
		return two_over_pi * std::atan2((Real) 1, std::sqrt(odds));
	if (a <= 1 || b <= 1)
		return x < y ? boost::math::ibeta(a, b, x, Quiet()) : boost::math::ibetac(b, a, y, Quiet());
	/* above the mean the tail is the greater part, so that the difference loses nothing */
	if (b * x > a * y)
		return 1 - beta_fraction(b, a, y, x, 1 / odds);
	return beta_fraction(a, b, x, y, odds);
}

/* Returns x^a e^-x / Gamma(a). */
Real
gamma_front(Real a, Real x)
{
	const Real	two_pi = 6.283185307179586476925286766559005768L;

	if (a < 40)
		return std::exp(a * std::log(x) - x - boost::math::lgamma(a, Quiet()));
	/* the saddle point, as in beta_front() */
	return std::sqrt(a / two_pi) * std::exp(a * log_minus_linear(x / a, (x - a) / a) - stirling_error(a));
}

/*
 * Returns P(a, x) for x < a by its series. From 4 deviations below the mean, max_terms suffice for a up to about 1e10.
 */
Real
gamma_series(Real a, Real x)
{
	Real		term = 1;
	Real		sum = 1;

	for (int n = 1; n <= max_terms && term > std::numeric_limits<Real>::epsilon() * sum / 4; n++)
		sum += term *= x / (a + n);
	return gamma_front(a, x) / a * sum;
}

/* Returns Q(a, x) for x > a by Legendre's continued fraction with Lentz's method. */
Real
gamma_fraction(Real a, Real x)
{
	const Real	eps = std::numeric_limits<Real>::epsilon();
	Real		b = x - a + 1;
	Real		c = 1 / std::numeric_limits<Real>::min();
	Real		d = 1 / b;
	Real		f = d;

	for (int i = 1; i <= max_terms; i++)
	{
		Real		num = i * (a - i);
		Real		ratio;

		b += 2;
		d = 1 / (num * d + b);
		c = b + num / c;
		ratio = c * d;
		f *= ratio;
		if (std::fabs(ratio - 1) <= 2 * eps)
			break;
	}
	return gamma_front(a, x) * f;
}

/*
 * Returns Q(a, x) if upper, else P(a, x), for large a: Temme (1979), "The asymptotic expansion of the incomplete gamma
 * functions". The first term suffices for a >= 1e10. Its coefficient is 1 / (x / a - 1) - 1 / eta, a series in eta.
 */
Real
gamma_uniform(Real a, Real x, bool upper)
{
	const Real	two_pi = 6.283185307179586476925286766559005768L;
	Real		mu = (x - a) / a;
	Real		half_square = -log_minus_linear(x / a, mu);
	Real		eta = std::copysign(std::sqrt(2 * half_square), mu);
	Real		beyond = std::copysign(std::sqrt(a * half_square), mu);
	Real		rest = std::exp(-a * half_square) / std::sqrt(two_pi * a)
		* (-1 / 3.0L + eta * (1 / 12.0L - eta * (2 / 135.0L - eta / 864.0L)));

	return boost::math::erfc(upper ? beyond : -beyond, Quiet()) / 2 + (upper ? rest : -rest);
}

/*
 * Returns Q(a, x) if upper, else P(a, x): a tail of chi-squared at 2 x with 2 a degrees of freedom. Boost's own loses
 * digits far out for large a, where it raises x / a to the power of a.
 */
Real
gamma_tail(Real a, Real x, bool upper)
{
	if (a >= 1e10L)
		return gamma_uniform(a, x, upper);
	if (a >= 40 && std::fabs(x - a) > 4 * std::sqrt(a) && x > 0)
	{
		Real		tail = x > a ? gamma_fraction(a, x) : gamma_series(a, x);

		return (x > a) == upper ? tail : 1 - tail;
	}
	return upper ? boost::math::gamma_q(a, x, Quiet()) : boost::math::gamma_p(a, x, Quiet());
}

Real
normal_tail_both(Real z)
{
	return boost::math::erfc(std::fabs(z) / sqrt_two, Quiet());
}

/* Returns z >= 0 with P(Z > z) = upper <= 1/2. */
Real
normal_quantile(Real upper)
{
	return sqrt_two * boost::math::erfc_inv(2 * upper, Quiet());
}

/*
 * Returns t >= 0 with P(|T| < t) = central <= 1/2, by Newton's method. P is concave in t, so the first guess, on the
 * tangent at 0, is below the root and the iterates rise to it. Boost's own quantile is 0 here for some df.
 */
Real
t_central_quantile(Real central, Real df)
{
	/* twice the density at 0 */
	Real		peak = 2 / (std::sqrt(df) * boost::math::beta(df / 2, half, Quiet()));
	Real		t = central / peak;

	for (int i = 0; i < 100; i++)
	{
		Real		odds = t * t / df;
		Real		p;
		Real		step;

		/* only for df far below 1 */
		if (std::isinf(odds))
			return odds;
		p = df == 1 ? two_over_pi * std::atan(t)
			: boost::math::ibeta(half, df / 2, odds / (1 + odds), Quiet());
		step = (central - p) / (peak * std::exp(-(df + 1) / 2 * std::log1p(odds)));
		t += step;
		/* convergence is quadratic: the error left is far below float8's last digit */
		if (!(std::fabs(step) > 1e-11L * t))
			break;
	}
	return t;
}

/* Returns t >= 0 with P(T > t) = upper <= 1/2. */
Real
t_quantile(Real upper, Real df)
{
	typedef boost::math::students_t_distribution<Real, Quiet> StudentsT;

	if (upper == half)
		return 0;
	if (upper > half / 2)
		return t_central_quantile(2 * (half - upper), df);
	return boost::math::quantile(boost::math::complement(StudentsT(df), upper));
}

/* Least probability that is distinguished from 0. */
const Real	least_real = std::numeric_limits<Real>::min();

/* Both tails of a distribution on x > 0 as functions of log(x), and their slope: x times the density at x. */
struct PositiveTails
{
	virtual ~PositiveTails() = default;
	virtual Real lower(Real log_x) const = 0;
	virtual Real upper(Real log_x) const = 0;
	virtual Real slope(Real log_x) const = 0;
	virtual Real middle() const = 0;	/* log of a typical x */
};

/* Tails of F with finite degrees of freedom; see beta_tail(). */
struct FTails : PositiveTails
{
	Real		a;				/* df2 / 2; b is df1 / 2 */
	Real		b;

	FTails(Real df1, Real df2) : a(df2 / 2), b(df1 / 2) {}
	Real odds(Real log_x) const { return std::exp(log_x) * (b / a); }
	Real upper(Real log_x) const override
	{
		Real		o = odds(log_x);

		return o == 0 ? 1 : std::isinf(o) ? 0 : beta_tail(a, b, o);
	}
	Real lower(Real log_x) const override
	{
		Real		o = odds(log_x);

		return o == 0 ? 0 : std::isinf(o) ? 1 : beta_tail(b, a, 1 / o);
	}
	Real slope(Real log_x) const override
	{
		Real		o = odds(log_x);

		return beta_front(a, b, 1 / (1 + o), o > 1 ? 1 / (1 + 1 / o) : o / (1 + o), o);
	}
	Real middle() const override { return 0; }
};

/* Tails of chi-squared with finite degrees of freedom. */
struct ChisqTails : PositiveTails
{
	Real		a;				/* df / 2 */

	explicit ChisqTails(Real df) : a(df / 2) {}
	Real upper(Real log_x) const override
	{
		Real		x = std::exp(log_x) / 2;

		return std::isinf(x) ? 0 : gamma_tail(a, x, true);
	}
	Real lower(Real log_x) const override
	{
		Real		x = std::exp(log_x) / 2;

		return std::isinf(x) ? 1 : gamma_tail(a, x, false);
	}
	Real slope(Real log_x) const override { return gamma_front(a, std::exp(log_x) / 2); }
	Real middle() const override { return std::log(2 * a); }
};

/*
 * Returns x > 0 with probability p <= 1/2 in the tail. Newton's method on the logarithms of x and of the tail, which is
 * concave there, with bisection if a step leaves the bounds. 0 or infinity if x is out of long double's range.
 */
Real
positive_quantile(const PositiveTails &tails, Real p, bool lower)
{
	const Real	reach = 11350;
	const Real	log_p = std::log(p);
	Real		low = -reach;
	Real		high = reach;
	Real		u = tails.middle();

	for (int i = 0; i < 300; i++)
	{
		Real		tail = lower ? tails.lower(u) : tails.upper(u);
		Real		off = std::log(std::fmax(tail, least_real)) - log_p;
		Real		step = off * tail / tails.slope(u);
		Real		next = lower ? u - step : u + step;

		if (off == 0 || std::isnan(tail))
			return std::isnan(tail) ? tail : std::exp(u);
		((off > 0) == lower ? high : low) = u;
		/* a tail that underflows has no usable slope */
		if (!(tail > least_real) || !(next > low && next < high))
			next = low + (high - low) / 2;
		else if (std::fabs(step) <= 1e-17L || (std::fabs(off) < 1e-10L && std::fabs(step) < 1e-10L))
			return std::exp(next);
		if (next == low || next == high)
			break;
		u = next;
	}
	return low == -reach ? 0 : high == reach ? std::numeric_limits<Real>::infinity() : std::exp(u);
}

/* Returns the quantile of p in [0, 1] by the smaller tail: 1 - p is exact for p >= 1/2. */
double
positive_quantile_of(const PositiveTails &tails, double p, bool lower)
{
	if (p == (lower ? 0.0 : 1.0))
		return 0.0;
	if (p == (lower ? 1.0 : 0.0))
		return std::numeric_limits<double>::infinity();
	return guarded([&] { return p <= 0.5 ? positive_quantile(tails, p, lower)
						 : positive_quantile(tails, 1.0 - p, !lower); });
}

double
side(bool one)
{
	return one ? 1.0 : 0.0;
}

}								/* namespace */

extern "C" double
gr_t_two_sided(double t, double df)
{
	if (std::isnan(t) || !(df > 0))
		return not_a_number;
	if (std::isinf(df))
		return gr_normal_two_sided(t);
	if (std::isinf(t))
		return 0.0;
	if (t == 0.0)
		return 1.0;
	return guarded([=] { return beta_tail((Real) df / 2, half, (Real) t * t / df); });
}

extern "C" double
gr_t_upper_quantile(double upper, double df)
{
	if (!(upper > 0.0 && upper < 1.0) || !(df > 0))
		return not_a_number;
	if (std::isinf(df))
		return gr_normal_upper_quantile(upper);
	/* 1 - upper is exact for upper >= 1/2 */
	if (upper > 0.5)
		return -gr_t_upper_quantile(1.0 - upper, df);
	return guarded([=] { return t_quantile(upper, df); });
}

extern "C" double
gr_f_upper(double f, double df1, double df2)
{
	if (std::isnan(f) || !(df1 > 0) || !(df2 > 0))
		return not_a_number;
	if (f <= 0.0)
		return 1.0;
	if (std::isinf(f))
		return 0.0;
	/* with an infinite df the numerator or denominator is 1, and the other is chi-squared over its df */
	if (std::isinf(df1) && std::isinf(df2))
		return f <= 1.0 ? 1.0 : 0.0;
	if (std::isinf(df2))
		return guarded([=] { return gamma_tail((Real) df1 / 2, (Real) f * df1 / 2, true); });
	if (std::isinf(df1))
		return guarded([=] { return gamma_tail((Real) df2 / 2, (Real) df2 / (2 * (Real) f), false); });
	return guarded([=] { return beta_tail((Real) df2 / 2, (Real) df1 / 2, (Real) f * df1 / df2); });
}

extern "C" double
gr_normal_two_sided(double z)
{
	if (std::isnan(z))
		return not_a_number;
	return guarded([=] { return normal_tail_both(z); });
}

extern "C" double
gr_normal_upper_quantile(double upper)
{
	if (!(upper > 0.0 && upper < 1.0))
		return not_a_number;
	/* 1 - upper is exact for upper >= 1/2 */
	if (upper > 0.5)
		return -gr_normal_upper_quantile(1.0 - upper);
	return guarded([=] { return normal_quantile(upper); });
}

extern "C" double
gr_normal_probability(double q, double mean, double sd, bool lower)
{
	/* infinity minus infinity is NaN for any sd */
	if (std::isnan(q) || std::isnan(mean) || !(sd >= 0) || (std::isinf(q) && q == mean))
		return not_a_number;
	if (sd == 0.0 || std::isinf(q) || std::isinf(mean))
		return side((q < mean) != lower);
	return guarded([=] {
		Real		z = ((Real) q - mean) / sd;

		return boost::math::erfc((lower ? -z : z) / sqrt_two, Quiet()) / 2;
	});
}

extern "C" double
gr_normal_quantile(double p, double mean, double sd, bool lower)
{
	bool		below = (p < 0.5) == lower;

	if (!(p >= 0.0 && p <= 1.0) || std::isnan(mean) || !(sd >= 0))
		return not_a_number;
	if (p == 0.0 || p == 1.0)
		return (p == 0.0) == lower ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
	if (sd == 0.0 || p == 0.5)
		return mean;
	/* 1 - p is exact for p >= 1/2 */
	return guarded([=] {
		Real		z = normal_quantile(p < 0.5 ? p : 1.0 - p);

		return below ? mean - sd * z : mean + sd * z;
	});
}

extern "C" double
gr_t_probability(double t, double df, bool lower)
{
	if (std::isnan(t) || !(df > 0))
		return not_a_number;
	if (std::isinf(df))
		return gr_normal_probability(t, 0.0, 1.0, lower);
	if (std::isinf(t))
		return side((t < 0) != lower);
	if (t == 0.0)
		return 0.5;
	return guarded([=] {
		Real		tail = beta_tail((Real) df / 2, half, (Real) t * t / df) / 2;

		return (t < 0) == lower ? tail : 1 - tail;
	});
}

extern "C" double
gr_t_quantile(double p, double df, bool lower)
{
	if (!(p >= 0.0 && p <= 1.0) || !(df > 0))
		return not_a_number;
	if (p == 0.0 || p == 1.0)
		return (p == 0.0) == lower ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
	/* + 0.0 turns -0 into 0 */
	return (lower ? -gr_t_upper_quantile(p, df) : gr_t_upper_quantile(p, df)) + 0.0;
}

extern "C" double
gr_chisq_probability(double q, double df, bool lower)
{
	if (std::isnan(q) || !(df > 0))
		return not_a_number;
	if (q <= 0.0 || std::isinf(q) || std::isinf(df))
		return side((std::isinf(q) && q > 0) == lower);
	return guarded([=] { return gamma_tail((Real) df / 2, (Real) q / 2, !lower); });
}

extern "C" double
gr_chisq_quantile(double p, double df, bool lower)
{
	if (!(p >= 0.0 && p <= 1.0) || !(df > 0))
		return not_a_number;
	if (std::isinf(df))
		return p == (lower ? 0.0 : 1.0) ? 0.0 : df;
	return positive_quantile_of(ChisqTails(df), p, lower);
}

extern "C" double
gr_f_probability(double f, double df1, double df2, bool lower)
{
	if (!lower || std::isnan(f) || !(df1 > 0) || !(df2 > 0))
		return gr_f_upper(f, df1, df2);
	if (f <= 0.0 || std::isinf(f))
		return side(f > 0.0);
	/* the lower tail of F is the upper tail of 1 / F with exchanged degrees of freedom */
	if (std::isinf(df1) && std::isinf(df2))
		return side(f >= 1.0);
	if (std::isinf(df2))
		return guarded([=] { return gamma_tail((Real) df1 / 2, (Real) f * df1 / 2, false); });
	if (std::isinf(df1))
		return guarded([=] { return gamma_tail((Real) df2 / 2, (Real) df2 / (2 * (Real) f), true); });
	return guarded([=] { return beta_tail((Real) df1 / 2, (Real) df2 / 2, (Real) df2 / ((Real) f * df1)); });
}

extern "C" double
gr_f_quantile(double p, double df1, double df2, bool lower)
{
	if (!(p >= 0.0 && p <= 1.0) || !(df1 > 0) || !(df2 > 0))
		return not_a_number;
	if (p == 0.0 || p == 1.0)
		return (p == 0.0) == lower ? 0.0 : std::numeric_limits<double>::infinity();
	if (std::isinf(df1) && std::isinf(df2))
		return 1.0;
	if (std::isinf(df2))
		return gr_chisq_quantile(p, df1, lower) / df1;
	if (std::isinf(df1))
		return df2 / gr_chisq_quantile(p, df2, !lower);
	return positive_quantile_of(FTails(df1, df2), p, lower);
}
