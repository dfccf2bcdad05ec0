/*
 * cluster_rows.h: makes rows with cluster keys, and sorts them by cluster.
 */
#ifndef GPUREG_CLUSTER_ROWS_H
#define GPUREG_CLUSTER_ROWS_H

#include "compute/request/cluster_middle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct ClusterRows
{
	GrClusterPass pass;
	double	   *rows;
	int64_t		nrows;
	double	   *numbers;		/* the pass's arrays */
} ClusterRows;

/* A row's number and its cluster keys */
typedef struct KeyedRow
{
	double		keys[2];
	const double *row;
} KeyedRow;

static uint64_t cluster_random = 88172645463325252u;

static inline double
cluster_draw(void)
{
	cluster_random ^= cluster_random << 13;
	cluster_random ^= cluster_random >> 7;
	cluster_random ^= cluster_random << 17;
	return (double) (int64_t) cluster_random * 0x1p-63;
}

/* Makes rows with an offset and, if weight, weights, in about nclusters clusters of either key. */
static inline ClusterRows
cluster_rows_make(int64_t nrows, int nfeatures, int64_t nclusters, GrFamily family, bool weight)
{
	ClusterRows made = {};
	GrScores   *scores = &made.pass.scores;
	int			t = nfeatures + 1;
	int			ncols;

	scores->shape.nfeatures = nfeatures;
	scores->shape.weight = weight;
	scores->shape.offset = scores->shape.key = scores->shape.second_key = true;
	scores->distribution.family = family;
	scores->distribution.link = family == GR_GAUSSIAN ? GR_IDENTITY : family == GR_BINOMIAL ? GR_LOGIT : GR_LOG;
	ncols = gr_row_ncols(scores->shape);
	made.nrows = nrows;
	made.rows = (double *) malloc(sizeof(double) * (size_t) (nrows + 1) * (size_t) ncols);
	made.numbers = (double *) malloc(sizeof(double) * 3 * (size_t) t);
	for (int j = 0; j < 3 * t; j++)
		made.numbers[j] = j < t ? cluster_draw() / t : j < 2 * t ? cluster_draw() * 1e-18 : cluster_draw();
	scores->beta = made.numbers;
	scores->beta_lo = made.numbers + t;
	scores->shift = made.numbers + 2 * t;
	for (int64_t r = 0; r < nrows; r++)
	{
		double	   *row = made.rows + r * ncols;

		for (int j = 0; j < nfeatures; j++)
			row[j] = cluster_draw();
		row[nfeatures] = family == GR_GAUSSIAN ? 3 * cluster_draw() : family == GR_BINOMIAL ? cluster_draw() > 0.0 :
			floor(4 * fabs(cluster_draw()));
		if (weight)
			row[gr_weight_at(scores->shape)] = 0.5 + fabs(cluster_draw());
		row[gr_offset_at(scores->shape)] = 0.1 * cluster_draw();
		row[gr_key_at(scores->shape)] = floor(fabs(cluster_draw()) * 0.999999 * (double) nclusters) * 1000003 - 5000;
		row[gr_key_at(scores->shape) + 1] = floor(fabs(cluster_draw()) * 13) - 6;
	}
	return made;
}

static inline void
cluster_rows_free(ClusterRows *made)
{
	free(made->rows);
	free(made->numbers);
}

static inline int
compare_keys(const void *a, const void *b)
{
	const KeyedRow *left = (const KeyedRow *) a;
	const KeyedRow *right = (const KeyedRow *) b;

	for (int k = 0; k < 2; k++)
		if (left->keys[k] != right->keys[k])
			return left->keys[k] < right->keys[k] ? -1 : 1;
	return left->row < right->row ? -1 : left->row > right->row ? 1 : 0;
}

/* Returns the rows sorted by the clusters that the pass sums over; the caller frees them. */
static inline KeyedRow *
cluster_rows_sorted(const ClusterRows *made)
{
	GrRowShape	shape = made->pass.scores.shape;
	KeyedRow   *sorted = (KeyedRow *) malloc(sizeof(KeyedRow) * (size_t) (made->nrows + 1));

	for (int64_t r = 0; r < made->nrows; r++)
	{
		const double *row = made->rows + r * gr_row_ncols(shape);

		sorted[r].keys[0] = made->pass.way == GR_WAY_SECOND ? 0 : row[gr_key_at(shape)];
		sorted[r].keys[1] = made->pass.way == GR_WAY_FIRST ? 0 : row[gr_key_at(shape) + 1];
		sorted[r].row = row;
	}
	qsort(sorted, (size_t) made->nrows, sizeof(KeyedRow), compare_keys);
	return sorted;
}

static inline bool
same_cluster(const KeyedRow *a, const KeyedRow *b)
{
	return a->keys[0] == b->keys[0] && a->keys[1] == b->keys[1];
}

static inline int64_t
cluster_rows_count(const ClusterRows *made)
{
	KeyedRow   *sorted = cluster_rows_sorted(made);
	int64_t		n = made->nrows > 0 ? 1 : 0;

	for (int64_t r = 1; r < made->nrows; r++)
		n += !same_cluster(&sorted[r - 1], &sorted[r]);
	free(sorted);
	return n;
}

#endif							/* GPUREG_CLUSTER_ROWS_H */
