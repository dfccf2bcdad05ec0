/*
 * dd.h: double-double arithmetic, on the host and on the device. Gram matrices and their factorizations use it first.
 *
 * A GrDD is the unevaluated sum hi + lo of two doubles with |lo| <= ulp(hi)/2, so it holds at least 106 significant
 * bits (about 32 digits). Every operation below has a relative error of at most a few times 2^-104, barring overflow
 * and underflow. Products are exact while the smaller of their halves stays above the least subnormal.
 *
 * Sources: Dekker (1971), "A floating-point technique for extending the available precision"; Knuth, TAOCP 2, 4.2.2;
 * Joldes, Muller and Popescu (2017), "Tight and rigorous error bounds for basic building blocks of double-word
 * arithmetic", whose algorithm numbers are given with each function.
 *
 * Files that include this header must be compiled without contraction of a*b+c (-ffp-contract=off, -fmad=false), which
 * would lose the error terms.
 */
#ifndef GPUREG_DD_H
#define GPUREG_DD_H

#include <math.h>

#include "compute/base/portable.h"

typedef struct GrDD
{
	double		hi;
	double		lo;
} GrDD;

GR_HD double
gr_fma(double a, double b, double c)
{
#ifdef __CUDACC__
	return fma(a, b, c);
#else
	return __builtin_fma(a, b, c);
#endif
}

GR_HD GrDD
gr_dd(double a)
{
	GrDD		r = {a, 0.0};

	return r;
}

/* Returns a + b exactly, for any magnitudes (Knuth's TwoSum). */
GR_HD GrDD
gr_two_sum(double a, double b)
{
	double		s = a + b;
	double		bb = s - a;
	GrDD		r = {s, (a - (s - bb)) + (b - bb)};

	return r;
}

/* Returns a + b exactly, for |a| >= |b| or a = 0 (Dekker's Fast2Sum). */
GR_HD GrDD
gr_fast_two_sum(double a, double b)
{
	double		s = a + b;
	GrDD		r = {s, b - (s - a)};

	return r;
}

/* Returns a * b exactly (Dekker's TwoProduct, with an FMA). */
GR_HD GrDD
gr_two_prod(double a, double b)
{
	double		p = a * b;
	GrDD		r = {p, gr_fma(a, b, -p)};

	return r;
}

/* Returns a + b: algorithm 6 (AccurateDWPlusDW), relative error at most 3 u^2 + 13 u^3, u = 2^-53. */
GR_HD GrDD
gr_dd_add(GrDD a, GrDD b)
{
	GrDD		s = gr_two_sum(a.hi, b.hi);
	GrDD		t = gr_two_sum(a.lo, b.lo);

	s = gr_fast_two_sum(s.hi, s.lo + t.hi);
	return gr_fast_two_sum(s.hi, s.lo + t.lo);
}

GR_HD GrDD
gr_dd_neg(GrDD a)
{
	GrDD		r = {-a.hi, -a.lo};

	return r;
}

GR_HD GrDD
gr_dd_sub(GrDD a, GrDD b)
{
	return gr_dd_add(a, gr_dd_neg(b));
}

/* Returns a * b: algorithm 12 (DWTimesDW3), relative error at most 4 u^2. */
GR_HD GrDD
gr_dd_mul(GrDD a, GrDD b)
{
	GrDD		p = gr_two_prod(a.hi, b.hi);
	double		t = gr_fma(a.hi, b.lo, a.lo * b.lo);

	return gr_fast_two_sum(p.hi, p.lo + gr_fma(a.lo, b.hi, t));
}

/* Returns a * b: algorithm 9 (DWTimesFP3), relative error at most 2 u^2. */
GR_HD GrDD
gr_dd_mul_d(GrDD a, double b)
{
	GrDD		p = gr_two_prod(a.hi, b);

	return gr_fast_two_sum(p.hi, gr_fma(a.lo, b, p.lo));
}

/* Returns a / b: algorithm 17 (DWDivDW2), relative error at most 15 u^2 + 56 u^3. */
GR_HD GrDD
gr_dd_div(GrDD a, GrDD b)
{
	double		q = a.hi / b.hi;
	GrDD		r = gr_dd_mul_d(b, q);
	double		d = (a.hi - r.hi) + (a.lo - r.lo);

	return gr_fast_two_sum(q, d / b.hi);
}

/* Multiplies by a power of two: exact unless the result underflows. */
GR_HD GrDD
gr_dd_scale(GrDD a, double power_of_two)
{
	GrDD		r = {a.hi * power_of_two, a.lo * power_of_two};

	return r;
}

GR_HD double
gr_dd_to_double(GrDD a)
{
	return a.hi + a.lo;
}

#endif							/* GPUREG_DD_H */
