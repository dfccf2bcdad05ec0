/*
 * elementary_test.c: tests logarithms, exponentials and powers against long double, at random numbers and at the ends
 * of their domains.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "compute/base/elementary.h"
#include "unit.h"

static uint64_t seed = 1;

/* Returns a random number between 0 and 1. */
static double
draw(void)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (double) (seed >> 11) * 0x1p-53;
}

/* Returns the error of value, in units in the last place of the float8 next to exact. */
static double
error_of(double value, long double exact)
{
	double		nearest = (double) exact;

	if (!isfinite(nearest) || !isfinite(value))
		return value == nearest || (isnan(value) && isnan(nearest)) ? 0 : INFINITY;
	return (double) (fabsl((long double) value - exact) / (nextafter(fabs(nearest), INFINITY) - fabs(nearest)));
}

#define NDRAWS 200000

/* Checks a function at NDRAWS numbers x. */
#define CHECK(function, exact, limit, x) \
	do { \
		double		largest = 0; \
		for (int k = 0; k < NDRAWS; k++) \
		{ \
			double		at = (x); \
			double		error = error_of(function, exact); \
			largest = error > largest ? error : largest; \
		} \
		check(largest < (limit), "%s at %s: %.2f units", #function, #x, largest); \
	} while (0)

static void
test_accuracy(void)
{
	CHECK(gr_log(at), logl(at), 1.2, exp(1400 * draw() - 700));
	CHECK(gr_log(at), logl(at), 1.2, 0.5 + draw());
	CHECK(gr_log2(at), log2l(at), 1.2, exp(1400 * draw() - 700));
	CHECK(gr_log2(at), log2l(at), 1.2, 0.5 + draw());
	CHECK(gr_log10(at), log10l(at), 1.2, exp(1400 * draw() - 700));
	CHECK(gr_log10(at), log10l(at), 1.2, 0.5 + draw());
	CHECK(gr_log1p(at), log1pl(at), 1.2, exp(-40 * draw()));
	CHECK(gr_log1p(at), log1pl(at), 1.2, -exp(-20 * draw()));
	CHECK(gr_log1p(at), log1pl(at), 1.2, 100 * draw() - 0.99);
	CHECK(gr_exp(at), expl(at), 1.2, 1400 * draw() - 700);
	CHECK(gr_exp(at), expl(at), 1.2, -700 - 50 * draw());
	CHECK(gr_expm1(at), expm1l(at), 1.2, 140 * draw() - 70);
	CHECK(gr_expm1(at), expm1l(at), 1.2, exp(-40 * draw()));
	CHECK(gr_power(at, 1.7), powl(at, 1.7L), 8, exp(20 * draw() - 10));
	CHECK(gr_power(at, 50.5), powl(at, 50.5L), 8, exp(20 * draw() - 10));
	CHECK(gr_power(at, -3), powl(at, -3), 2, exp(20 * draw() - 10));
}

/* Powers of ten and of two have logarithms that are whole. */
static void
test_exact(void)
{
	bool		exact = true;

	for (int k = -1074; k < 1024; k++)
		exact &= gr_log2(ldexp(1, k)) == k;
	for (int k = 0; k <= 22; k++)
		exact &= gr_log10(pow(10, k)) == k;
	for (int k = -50; k <= 50; k++)
		exact &= gr_power(k, 2) == (double) k * k && gr_power(k, 3) == (double) k * k * k;
	check(exact, "whole logarithms and powers");
}

static void
test_ends(void)
{
	check(gr_log(0) == -INFINITY && gr_log(INFINITY) == INFINITY && isnan(gr_log(-1)) && isnan(gr_log(NAN)) &&
		  gr_log(1) == 0, "log");
	check(gr_log2(0) == -INFINITY && isnan(gr_log2(-1)) && gr_log10(0) == -INFINITY && isnan(gr_log10(-1)),
		  "log2 and log10");
	check(gr_log1p(-1) == -INFINITY && isnan(gr_log1p(-2)) && gr_log1p(INFINITY) == INFINITY && gr_log1p(0) == 0 &&
		  signbit(gr_log1p(-0.0)) && isnan(gr_log1p(NAN)), "log1p");
	check(gr_exp(-INFINITY) == 0 && gr_exp(INFINITY) == INFINITY && gr_exp(710) == INFINITY && gr_exp(-800) == 0 &&
		  gr_exp(0) == 1 && isnan(gr_exp(NAN)), "exp");
	check(gr_expm1(-INFINITY) == -1 && gr_expm1(INFINITY) == INFINITY && gr_expm1(0) == 0 && signbit(gr_expm1(-0.0)) &&
		  isnan(gr_expm1(NAN)), "expm1");
	check(gr_power(0, 0) == 1 && gr_power(0, -1) == INFINITY && isnan(gr_power(-2, 0.5)) && gr_power(0, 0.5) == 0 &&
		  !isfinite(gr_power(1e200, 2)) && gr_power(2, 5000.5) == INFINITY && gr_power(2, -5000.5) == 0 &&
		  isnan(gr_power(NAN, 0.5)), "powers");
}

int
main(void)
{
	test_accuracy();
	test_exact();
	test_ends();
	return unit_done();
}
