/*
 * numeric.h: from numeric to float8, for every way in which rows are read.
 */
#ifndef GPUREG_NUMERIC_H
#define GPUREG_NUMERIC_H

#include "postgres.h"

/* Returns a numeric as float8, rounded to nearest as numeric_float8() does. ERROR if it is out of float8's range. */
extern double gr_numeric_number(Datum value);

#endif							/* GPUREG_NUMERIC_H */
