/*
 * derive_rows.h: memory, kept rows and derivations for the tests of derived rows on the CPU and on a device.
 */
#ifndef GPUREG_DERIVE_ROWS_H
#define GPUREG_DERIVE_ROWS_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/design/design_text.h"
#include "compute/design/derive.h"
#include "unit.h"

/*
 * Memory that is freed when a test is over
 */

static void *blocks[10000];
static int	nblocks = 0;
static int	nleft = -1;			/* blocks that may still be taken; -1: any number */

static inline void *
take_block(void *arg, size_t nbytes)
{
	(void) arg;
	if (nleft == 0 || nblocks == COUNT(blocks))
		return NULL;
	nleft -= nleft > 0 ? 1 : 0;
	return blocks[nblocks++] = malloc(nbytes);
}

static inline void
free_blocks(void)
{
	while (nblocks > 0)
		free(blocks[--nblocks]);
	nleft = -1;
}

static const GrMemory memory = {take_block, NULL};

/* Returns a number from 0 to 1. */
static inline double
any_double(void)
{
	return (double) random() / 2147483648.0 + (double) random() * 0x1p-62;
}

/*
 * A sample: kept rows of ncolumns columns and the derivation of rows from them. Column 0 is a level, 0 .. 4; the others
 * are numbers from -2 to 2, whole numbers in every other column.
 */
typedef struct Sample
{
	const char *name;
	int			ncolumns;
	const char *design;			/* over columns 0, 1, 2 ...; NULL: the features are the columns from 1 on, backwards */
	int			nfeatures;		/* used without a design */
	bool		weight;			/* true: column 1 is a weight, 0, 1 or 2 */
	bool		offset;			/* true: column 2 is an offset */
	int			nsteps;
	GrFilterStep steps[5];
	double		nulls;			/* share of NULLs among the numbers */
} Sample;

static const Sample samples[] = {
	{"as they are", 4, NULL, 3, false, false, 0, {{0, 0, 0}}, 0},
	{"with NULLs", 5, NULL, 2, false, false, 0, {{0, 0, 0}}, 0.05},
	{"all numbers NULL", 5, NULL, 2, false, false, 0, {{0, 0, 0}}, 1},
	{"weights", 6, NULL, 4, true, false, 0, {{0, 0, 0}}, 0},
	{"weights and offsets, NULLs", 6, NULL, 4, true, true, 0, {{0, 0, 0}}, 0.02},
	{"a filter", 9, NULL, 8, false, false, 1, {{GR_FILTER_GT, 3, 1.5}}, 0},
	{"a filter of levels, NULLs", 9, NULL, 3, true, false, 5,
		{{GR_FILTER_EQ, 0, 2}, {GR_FILTER_IS_NULL, 7, 0}, {GR_FILTER_OR, 0, 0}, {GR_FILTER_LE, 5, 0.25},
		{GR_FILTER_AND, 0, 0}}, 0.1},
	{"a fold of three, NULLs", 9, NULL, 8, false, false, 3,
		{{GR_FILTER_LT, 3, 1.5}, {GR_FILTER_FOLD, 9, GR_FOLD_VALUE(2, 3)}, {GR_FILTER_AND, 0, 0}}, 0.01},
	{"nothing passes", 4, NULL, 2, false, false, 1, {{GR_FILTER_FALSE, 0, 0}}, 0},
	{"more features than columns", 3, NULL, 40, false, true, 1, {{GR_FILTER_GE, 1, 0}}, 0.01},
	{"many columns", 150, NULL, 140, false, false, 1, {{GR_FILTER_NE, 149, 1}}, 0.001},
	{"a design", 6, "1 \"\" 3 f \"g\" 5 \"a\" \"b\" \"c\" \"d\" \"e\" n \"x\" n \"z\" "
		"5 1 n 1 1 c 0 2 d 0 q 1 3 3fe0000000000000 1 p 2 2 3 n 1 n 2 c 0", 0, true, true, 2,
		{{GR_FILTER_LT, 4, 1}, {GR_FILTER_NOT, 0, 0}}, 0.01}
};

/* Makes a sample's derivation in memory of exactly its length, in blocks[]. */
static inline GrDerivation *
sample_derivation(const Sample *sample)
{
	GrDeriveOptions options = {};
	int		   *columns = (int *) take_block(NULL, 200 * sizeof(int));
	GrError		err = {};

	for (int k = 0; k < 200; k++)
		columns[k] = sample->design != NULL ? k : sample->ncolumns - 1 - k % (sample->ncolumns - 1);
	options.ncolumns = sample->ncolumns;
	options.response = sample->ncolumns - 1;
	options.weight = sample->weight ? 1 : -1;
	options.offset = sample->offset ? 2 : -1;
	options.key = -1;
	options.columns = columns;
	options.nfeatures = sample->nfeatures;
	if (sample->design != NULL)
		options.design = gr_design_read(sample->design, strlen(sample->design), memory);
	options.steps = sample->steps;
	options.nsteps = sample->nsteps;
	return gr_derivation_make(&options, memory, &err);
}

/* Makes kept rows; the caller frees them. */
static inline double *
sample_rows(const Sample *sample, int64_t nrows)
{
	double	   *rows = (double *) malloc((size_t) (nrows * sample->ncolumns + 1) * sizeof(double));

	for (int64_t k = 0; k < nrows * sample->ncolumns; k++)
	{
		int			c = (int) (k % sample->ncolumns);
		double		x = 4 * any_double() - 2;

		rows[k] = c == 0 ? (double) (random() % 5) : c % 2 == 1 ? nearbyint(x) : x;
		if (c == 1 && sample->weight)
			rows[k] = fabs(rows[k]);
		if (c > 0 && sample->nulls > 0 && any_double() <= sample->nulls)
			rows[k] = NAN;
	}
	return rows;
}

#endif							/* GPUREG_DERIVE_ROWS_H */
