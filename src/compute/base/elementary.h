/*
 * elementary.h: logarithms, exponentials and powers with the same bits on every processor and device, for the
 * expressions of formulas (expression_row.h). libm's functions differ from one version to the next.
 *
 * Errors are below 1.2 units in the last place, those of gr_power() below eight. Branches are only selections, except
 * in powers, so loops over these functions can be vectorised. Results outside a function's domain are NaN or infinite,
 * as in libm.
 *
 * Sources: the reductions are those of Tang (1989, 1990), "Table-driven implementation of the exponential function" and
 * "... of the logarithm function", without tables; the coefficients are those of the Taylor series of 2 atanh(s) and
 * of r coth(r / 2), whose remainders are below 2^-58 on the reduced intervals.
 */
#ifndef GPUREG_ELEMENTARY_H
#define GPUREG_ELEMENTARY_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "compute/base/dd.h"

/* log(2) in two parts: k * GR_LN2_HIGH is exact for |k| < 2^20 */
#define GR_LN2_HIGH 0x1.62e42fee00000p-1
#define GR_LN2_LOW 0x1.a39ef35793c76p-33

GR_HD uint64_t
gr_bits_of(double x)
{
	uint64_t	bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

GR_HD double
gr_from_bits(uint64_t bits)
{
	double		x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

/* A number x > 0 as (1 + f) 2^k with sqrt(1/2) <= 1 + f < sqrt(2). */
typedef struct GrReduced
{
	double		f;
	double		k;
} GrReduced;

GR_HD GrReduced
gr_reduce(double x)
{
	double		scaled = x < 0x1p-1022 ? x * 0x1p54 : x;
	uint64_t	bits = gr_bits_of(scaled);
	uint64_t	from_root = bits - UINT64_C(0x3fe6a09e667f3bcd) + UINT64_C(0x7ff0000000000000);
	/* the exponent plus 2047, as the low bits of a float8 of size 2^52 */
	double		k = gr_from_bits(UINT64_C(0x4330000000000000) | from_root >> 52) - 0x1p52 - 2047.0;
	GrReduced	reduced;

	reduced.f = gr_from_bits((from_root & UINT64_C(0x000fffffffffffff)) + UINT64_C(0x3fe6a09e667f3bcd)) - 1.0;
	reduced.k = x < 0x1p-1022 ? k - 54.0 : k;
	return reduced;
}

/* Returns (2 atanh(s) - 2 s) / s for z = s^2, where log(1 + f) = 2 atanh(s) with s = f / (2 + f). */
GR_HD double
gr_log_series(double z)
{
	double		w = z * z;
	double		odd = 2.0 / 3 + w * (2.0 / 7 + w * (2.0 / 11 + w * (2.0 / 15 + w * (2.0 / 19))));
	double		even = 2.0 / 5 + w * (2.0 / 9 + w * (2.0 / 13 + w * (2.0 / 17 + w * (2.0 / 21))));

	return z * (odd + z * even);
}

/* Returns what log(x) is outside (0, infinity), else value. */
GR_HD double
gr_log_domain(double x, double value)
{
	value = x == 0.0 ? -INFINITY : value;
	value = x < 0.0 ? NAN : value;
	return x < INFINITY ? value : x;
}

/* Returns k log(2) + log(1 + f) + c. */
GR_HD double
gr_log_of_reduced(double f, double k, double c)
{
	double		half = 0.5 * f * f;
	double		s = f / (2.0 + f);
	double		rest = s * (half + gr_log_series(s * s));

	return k * GR_LN2_HIGH - ((half - (rest + (k * GR_LN2_LOW + c))) - f);
}

GR_HD double
gr_log(double x)
{
	GrReduced	r = gr_reduce(x);

	return gr_log_domain(x, gr_log_of_reduced(r.f, r.k, 0.0));
}

GR_HD double
gr_log1p(double x)
{
	GrDD		u = gr_two_sum(1.0, x);
	GrReduced	r = gr_reduce(u.hi);
	bool		small = r.k == 0.0;
	double		value = gr_log_of_reduced(small ? x : r.f, r.k, small ? 0.0 : u.lo / u.hi);

	/* for tiny x, 1 + x is 1 and f is x: -0 stays -0 */
	value = x == 0.0 ? x : value;
	return gr_log_domain(u.hi, value);
}

/* Returns log(x) of a finite x > 0 with an error of some 2^-58 for its largest part. */
GR_HD GrDD
gr_log_pair(double x)
{
	GrReduced	r = gr_reduce(x);
	double		s = r.f / (2.0 + r.f);
	GrDD		half = gr_two_prod(0.5 * r.f, r.f);
	GrDD		first = gr_two_sum(r.f, -half.hi);
	double		rest = first.lo - half.lo + s * (half.hi + gr_log_series(s * s));
	GrDD		sum = gr_two_sum(r.k * GR_LN2_HIGH, first.hi);

	return gr_fast_two_sum(sum.hi, sum.lo + rest + r.k * GR_LN2_LOW);
}

GR_HD double
gr_log2(double x)
{
	GrReduced	r = gr_reduce(x);
	/* 1 / log(2) */
	GrDD		inverse = {0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56};
	GrDD		product = gr_dd_mul(gr_log_pair(1.0 + r.f), inverse);

	return gr_log_domain(x, r.k + product.hi + product.lo);
}

GR_HD double
gr_log10(double x)
{
	/* 1 / log(10) */
	GrDD		inverse = {0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57};

	return gr_log_domain(x, gr_dd_to_double(gr_dd_mul(gr_log_pair(x), inverse)));
}

/* Returns exp(hi + lo) - 1 for hi + lo in [-log(2) / 2, log(2) / 2]. */
GR_HD GrDD
gr_expm1_reduced(double hi, double lo)
{
	double		r = hi + lo;
	double		z = r * r;
	/* 2 B(2n) / (2n)!, with the Bernoulli numbers B */
	double		series = 1.0 / 6 + z * (-1.0 / 360 + z * (1.0 / 15120 + z * (-1.0 / 604800 + z * (1.0 / 23950080 +
						z * (-691.0 / 653837184000 + z * (1.0 / 37362124800))))));
	double		c = r - z * series;

	return gr_two_sum(hi, r * c / (2.0 - c) + lo);
}

/* Returns 2^k for an integer k, -1022 <= k <= 1023. */
GR_HD double
gr_two_to(double k)
{
	return gr_from_bits((gr_bits_of(0x1.8p52 + (k + 1023.0)) & UINT64_C(0x7ff)) << 52);
}

/* Returns value 2^k for -2044 <= k <= 2046. */
GR_HD double
gr_scaled(double value, double k)
{
	double		half = (k * 0.5 + 0x1.8p52) - 0x1.8p52;

	return value * gr_two_to(half) * gr_two_to(k - half);
}

/* Returns exp(x + low). low: small against x */
GR_HD double
gr_exp_pair(double x, double low)
{
	double		within = x < -746.0 ? -746.0 : x > 710.0 ? 710.0 : x;
	double		k = (within * 0x1.71547652b82fep+0 + 0x1.8p52) - 0x1.8p52;
	GrDD		p = gr_expm1_reduced(within - k * GR_LN2_HIGH, low - k * GR_LN2_LOW);
	double		value = gr_scaled(1.0 + (p.hi + p.lo), k);

	return x == x ? value : x;
}

GR_HD double
gr_exp(double x)
{
	return gr_exp_pair(x, 0.0);
}

GR_HD double
gr_expm1(double x)
{
	double		within = x < -60.0 ? -60.0 : x > 60.0 ? 60.0 : x;
	double		k = (within * 0x1.71547652b82fep+0 + 0x1.8p52) - 0x1.8p52;
	GrDD		p = gr_expm1_reduced(within - k * GR_LN2_HIGH, -k * GR_LN2_LOW);
	double		scale = gr_two_to(k);
	GrDD		sum = gr_two_sum(scale - 1.0, scale * p.hi);
	double		value = sum.hi + (sum.lo + scale * p.lo);

	value = k == 0.0 ? p.hi + p.lo : value;
	value = x > 60.0 ? gr_exp(x) : value;
	value = x == 0.0 ? x : value;
	return x == x ? value : x;
}

/* Returns x to the power n, |n| <= 1024. */
GR_HD double
gr_integer_power(double x, int n)
{
	GrDD		result = gr_dd(1.0);
	GrDD		square = gr_dd(x);
	double		value;

	for (int k = n < 0 ? -n : n; k > 0; k >>= 1)
	{
		if ((k & 1) != 0)
			result = gr_dd_mul(result, square);
		if (k > 1)
			square = gr_dd_mul(square, square);
	}
	value = gr_dd_to_double(result);
	/* beyond float8's range halves are infinite or NaN: then only the upper one counts */
	value = value == value ? value : result.hi;
	return n < 0 ? 1.0 / value : value;
}

GR_HD double
gr_power(double x, double y)
{
	GrDD		product;

	if (y == floor(y) && fabs(y) <= 1024.0)
		return gr_integer_power(x, (int) y);
	if (x != x || y != y)
		return x + y;
	if (!(x > 0.0) || !(x < INFINITY) || !(fabs(y) < INFINITY))
		return pow(x, y);
	product = gr_dd_mul_d(gr_log_pair(x), y);
	if (!(fabs(product.hi) < INFINITY))
		return product.hi > 0.0 ? INFINITY : 0.0;
	return gr_exp_pair(product.hi, product.lo == product.lo ? product.lo : 0.0);
}

#endif							/* GPUREG_ELEMENTARY_H */
