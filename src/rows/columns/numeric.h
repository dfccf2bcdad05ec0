/*
 * numeric.h: converts numeric to float8, for every way in which rows are read, and compares numerics.
 */
#ifndef GPUREG_NUMERIC_H
#define GPUREG_NUMERIC_H

#include "postgres.h"

/* Returns a numeric as float8, rounded to nearest as numeric_float8() does. ERROR if it is out of float8's range. */
extern double gr_numeric_number(Datum value);

/* Parts of a numeric as it is stored: its value is digits[0] . digits[1] digits[2] ... * 10000^weight */
typedef struct GrNumericParts
{
	bool		negative;
	int			weight;
	int			ndigits;		/* 0: the value is 0 */
	const char *digits;			/* int16 of 0 .. 9999, not aligned */
} GrNumericParts;

/*
 * Finds the parts of a numeric, which stay in its memory. Returns false if the value is compressed or out of line, NaN
 * or infinite.
 */
extern bool gr_numeric_parts(Datum value, GrNumericParts *parts);

/* Sets *order below, at or above 0 as value compares with constant. Returns false if gr_numeric_parts() would do so. */
extern bool gr_numeric_compare(Datum value, const GrNumericParts *constant, int *order);

#endif							/* GPUREG_NUMERIC_H */
