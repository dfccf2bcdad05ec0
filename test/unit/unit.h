/*
 * unit.h: shared by the unit tests: checks that print the Test Anything Protocol, and relative differences.
 */
#ifndef GPUREG_UNIT_H
#define GPUREG_UNIT_H

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "compute/base/row.h"

#define COUNT(array) ((int) (sizeof(array) / sizeof((array)[0])))

static int	unit_count = 0;
static int	unit_failed = 0;

/* One test: prints "ok" or "not ok" with the name that the format gives. */
static inline bool
check(bool passed, const char *format,...)
{
	va_list		args;

	unit_count++;
	if (!passed)
		unit_failed++;
	printf("%sok %d - ", passed ? "" : "not ", unit_count);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	return passed;
}

/* Returns the shape of rows of features and the response. */
static inline GrRowShape
shape_of(int nfeatures, bool single)
{
	GrRowShape	shape = gr_plain_shape(nfeatures);

	shape.single = single;
	return shape;
}

/* Argument of a GrHost that says stop at the nth poll */
typedef struct Stopper
{
	int			asked;
	int			stop_at;
} Stopper;

static inline bool
stop(void *arg)
{
	Stopper    *stopper = (Stopper *) arg;

	return ++stopper->asked >= stopper->stop_at;
}

/* Returns |got - want| / |want|, or the absolute difference if want is 0; infinite if either is NaN. */
static inline double
relative_error(double got, double want)
{
	double		d = fabs(got - want);

	if (got == want)
		return 0.0;
	if (!(d == d))
		return INFINITY;
	return want == 0.0 ? d : d / fabs(want);
}

/* Prints the plan; the exit status is 0 if every check passed. */
static inline int
unit_done(void)
{
	printf("1..%d\n", unit_count);
	return unit_failed == 0 && unit_count > 0 ? 0 : 1;
}

#endif							/* GPUREG_UNIT_H */
