/*
 * kept_filter.h: which kept rows take part: a text about the columns of a set as a filter's steps.
 */
#ifndef GPUREG_KEPT_FILTER_H
#define GPUREG_KEPT_FILTER_H

#include "postgres.h"

#include "compute/design/derive.h"
#include "rows/kept/kept_set.h"

/* Reads a filter (row_filter.h); steps: room for GR_FILTER_STEPS_MAX. How many there are; ERROR where it is none. */
extern int	gr_kept_filter(const GrKeptSet *set, const char *text, GrFilterStep *steps);

/* The number that stands for a level of column k; false if it has no such level. */
static inline bool
gr_kept_code(const GrKeptSet *set, int k, const char *bytes, int nbytes, double *code)
{
	const GrKeptColumn *column = &set->columns[k];
	int			level = column->kind == GR_KEPT_FACTOR ? gr_level_find(&column->levels, bytes, nbytes) : -1;

	if (level >= 0)
		*code = column->codes[level];
	return level >= 0;
}

#endif							/* GPUREG_KEPT_FILTER_H */
