/*
 * inference.cpp: the distribution functions, over Boost.Math's headers; the only C++ in this folder.
 *
 * All work is done in long double: its digits pay for what powers such as x^(df / 2) lose, and its range holds t^2.
 * With x87's 64 bits (or IEEE quad) the results are good to a few ulp of float8; where long double is float8 they
 * are not.
 *
 * Both tails are I_x(a, b) with x = 1 / (1 + odds), odds = t^2 / df or f df1 / df2, and y = 1 - x = odds / (1 + odds):
 * two quotients, so that neither loses digits when the other is near 1.
 *
 * Boost's incomplete beta is used where one of a, b is at most 1, as it always is for t. Where both are larger it has
 * errors up to 1e-11 if a or b is a whole number below 40 (seen in 1.74: a power of a rounded 1 - y in binomial_ccdf,
 * and a series that loses digits at whole b), so the continued fraction is evaluated here.
 */
#include "compute/inference.h"

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

/* nothing throws and errno stays alone: errors are infinities and NaN */
typedef bmp::policy<bmp::domain_error<bmp::ignore_error>, bmp::pole_error<bmp::ignore_error>,
					bmp::overflow_error<bmp::ignore_error>, bmp::underflow_error<bmp::ignore_error>,
					bmp::denorm_error<bmp::ignore_error>, bmp::rounding_error<bmp::ignore_error>,
					bmp::evaluation_error<bmp::ignore_error>, bmp::indeterminate_result_error<bmp::ignore_error>>
	Quiet;

const double not_a_number = std::numeric_limits<double>::quiet_NaN();
const Real	two_over_pi = 0.636619772367581343075535053490057448L;
const Real	sqrt_two = 1.414213562373095048801688724209698079L;
const Real	half = 0.5L;

/* Bounds the time of one call to some 40 ms; enough for a and b of 1e14 both, and NaN beyond. */
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

/* log(gamma(n + 1)) - log(sqrt(2 pi n) (n / e)^n), n >= 40: the Stirling series, whose rest is below 1e-22 */
Real
stirling_error(Real n)
{
	Real		q = 1 / (n * n);

	return (1 / 12.0L - q * (1 / 360.0L - q * (1 / 1260.0L - q * (1 / 1680.0L - q * (1 / 1188.0L - q *
		(691 / 360360.0L - q / 156.0L)))))) / n;
}

/* log(r) - (r - 1), given both r and r - 1: whichever tells more */
Real
log_minus_linear(Real r, Real r1)
{
	return r < half ? std::log(r) - r1 : boost::math::log1pmx(r1, Quiet());
}

/* x^a y^b / B(a, b), x = 1 / (1 + odds) */
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
 * I_x(a, b) for a, b > 1 and x not above the mean a / (a + b), where the fraction converges fast: DiDonato and Morris
 * (1992), "Algorithm 708", equation 9, by Lentz's method. NaN if it doesn't converge.
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

	/* also the case of a front that underflowed, whatever the fraction is */
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

/* I_x(a, b), x = 1 / (1 + odds), for finite a, b > 0 and 0 < odds */
Real
beta_tail(Real a, Real b, Real odds)
{
	Real		x = 1 / (1 + odds);
	Real		y = odds > 1 ? 1 / (1 + 1 / odds) : odds / (1 + odds);

	/* Boost takes these from asin(sqrt(1 - y)), which knows nothing of a small y */
	if (a == half && b == half)
		return two_over_pi * std::atan2((Real) 1, std::sqrt(odds));
	if (a <= 1 || b <= 1)
		return x < y ? boost::math::ibeta(a, b, x, Quiet()) : boost::math::ibetac(b, a, y, Quiet());
	/* above the mean the tail is the greater part, so that the difference loses nothing */
	if (b * x > a * y)
		return 1 - beta_fraction(b, a, y, x, 1 / odds);
	return beta_fraction(a, b, x, y, odds);
}

Real
normal_tail_both(Real z)
{
	return boost::math::erfc(std::fabs(z) / sqrt_two, Quiet());
}

/* z >= 0 with P(Z > z) = upper <= 1/2 */
Real
normal_quantile(Real upper)
{
	return sqrt_two * boost::math::erfc_inv(2 * upper, Quiet());
}

/*
 * t >= 0 with P(|T| < t) = central <= 1/2, by Newton's method. P is concave in t, so the first guess, on the tangent at
 * 0, is below the root and the iterates rise to it. Boost's own quantile is 0 here for some df.
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
		/* quadratic convergence: what is left is far below float8's last digit */
		if (!(std::fabs(step) > 1e-11L * t))
			break;
	}
	return t;
}

/* t >= 0 with P(T > t) = upper <= 1/2 */
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
	/* 1 - upper is exact from 1/2 on */
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
	/* with infinite df numerator or denominator is the constant 1, and the other one chi-squared over its df */
	if (std::isinf(df1) && std::isinf(df2))
		return f <= 1.0 ? 1.0 : 0.0;
	if (std::isinf(df2))
		return guarded([=] { return boost::math::gamma_q((Real) df1 / 2, (Real) f * df1 / 2, Quiet()); });
	if (std::isinf(df1))
		return guarded([=] { return boost::math::gamma_p((Real) df2 / 2, (Real) df2 / (2 * (Real) f), Quiet()); });
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
	/* 1 - upper is exact from 1/2 on */
	if (upper > 0.5)
		return -gr_normal_upper_quantile(1.0 - upper);
	return guarded([=] { return normal_quantile(upper); });
}
