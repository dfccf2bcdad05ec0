/*
 * kept_numbers.c: lists the different numbers of a kept column; see kept_numbers.h.
 */
#include "postgres.h"

#include <math.h>

#include "rows/kept/kept_numbers.h"
#include "rows/kept/kept_set.h"

static int
compare_numbers(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return x < y ? -1 : x > y;
}

int
gr_kept_numbers(const char *kept, const char *filter, int column, double *values, int most)
{
	GrKeptReader *reader = gr_kept_reader(kept, filter);
	const double *row;
	int			n = 0;

	while ((row = gr_kept_next(reader)) != NULL)
	{
		double		value = row[column];
		int			k = 0;

		if (isnan(value))
			continue;
		while (k < n && values[k] != value)
			k++;
		if (k == most)
			return most + 1;
		if (k == n)
			values[n++] = value;
	}
	qsort(values, n, sizeof(double), compare_numbers);
	return n;
}
