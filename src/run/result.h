/*
 * result.h: columns of the rows that SQL functions return.
 */
#ifndef GPUREG_RESULT_H
#define GPUREG_RESULT_H

#include "postgres.h"

#include <math.h>

/* Stores x in a column, as NULL if it is NaN. */
static inline void
gr_set_float(Datum *value, bool *null, double x)
{
	*value = Float8GetDatum(x);
	*null = isnan(x);
}

#endif							/* GPUREG_RESULT_H */
