/*
 * kept_numbers.h: lists the different numbers of a kept column, for folds and classes.
 */
#ifndef GPUREG_KEPT_NUMBERS_H
#define GPUREG_KEPT_NUMBERS_H

#include "postgres.h"

/*
 * Lists the different numbers of a kept column in rows that pass the filter (NULL: all rows), ascending. values: room
 * for most numbers. Returns their number, or most + 1 if there are more.
 */
extern int	gr_kept_numbers(const char *kept, const char *filter, int column, double *values, int most);

#endif							/* GPUREG_KEPT_NUMBERS_H */
