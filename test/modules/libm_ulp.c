/*
 * libm_ulp.c: imitates another C library: each of these functions returns the double next to the right one, as a
 * correct library may. test/t/026_upgrade.pl preloads it, to check results that must not depend on the library.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Returns the next double away from 0; NaN, infinities and 0 stay. */
static double
next(double value)
{
	uint64_t	bits;

	memcpy(&bits, &value, sizeof(bits));
	if ((bits << 1) != 0 && (bits >> 52 & 0x7ff) != 0x7ff)
		bits++;
	memcpy(&value, &bits, sizeof(bits));
	return value;
}

static void *
real(const char *name)
{
	void	   *function = dlsym(RTLD_NEXT, name);

	if (function == NULL)
		abort();
	return function;
}

#define OF_ONE(name) \
	double name(double x) \
	{ \
		static double (*function) (double); \
		if (function == NULL) \
			function = (double (*) (double)) real(#name); \
		return next(function(x)); \
	}
#define OF_TWO(name) \
	double name(double x, double y) \
	{ \
		static double (*function) (double, double); \
		if (function == NULL) \
			function = (double (*) (double, double)) real(#name); \
		return next(function(x, y)); \
	}

OF_ONE(exp)
OF_ONE(exp2)
OF_ONE(expm1)
OF_ONE(log)
OF_ONE(log2)
OF_ONE(log10)
OF_ONE(log1p)
OF_ONE(lgamma)
OF_ONE(tgamma)
OF_ONE(erf)
OF_ONE(erfc)
OF_ONE(sin)
OF_ONE(cos)
OF_ONE(tan)
OF_ONE(atan)
OF_ONE(tanh)
OF_ONE(cbrt)
OF_TWO(pow)
OF_TWO(hypot)
OF_TWO(atan2)
