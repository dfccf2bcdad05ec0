/*
 * cluster_middle.h: the middle of a cluster-robust covariance matrix, over rows that have the keys of their clusters.
 *
 * A cluster's score is the sum of its rows' scores (scores.h), in double-double. The middle is the sum over clusters of
 * score score', in double-double, as vcov.h has it for CR0 and CR1. Rows are sorted by their keys, so the work does not
 * depend on how many clusters there are, and no sum of a cluster leaves this module. All rows of a cluster must be
 * here: sums of the middle made in two places cannot be merged.
 *
 * A key is an integer of absolute value below 2^53: a larger integer may have been rounded to float8. If a row has
 * another number as key, if both keys of a row together take more than 64 bits, or if there is no memory for the sort,
 * GR_CLUSTERS_NLEFT is not 0 and the other sums are of no use. The caller then sums in another way.
 */
#ifndef GPUREG_CLUSTER_MIDDLE_H
#define GPUREG_CLUSTER_MIDDLE_H

#include "compute/base/portable.h"
#include "compute/glm/scores.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GR_CLUSTER_KEY_MAX INT64_C(9007199254740991)	/* 2^53 - 1 */

/* Layout of the sums: this head; then the packed triangle of the middle of (1, x - shift): high halves, low halves */
enum
{
	GR_CLUSTERS_N,				/* number of clusters */
	GR_CLUSTERS_NROWS,			/* number of rows in them */
	GR_CLUSTERS_NLEFT,			/* rows that are in no cluster: if not 0, the other sums are of no use */
	GR_CLUSTERS_PEARSON_HI,		/* sum of squared Pearson residuals */
	GR_CLUSTERS_PEARSON_LO,
	GR_CLUSTERS_HEAD			/* length of the head */
};

/* Keys that define a cluster: rows with the same first key, the same second key, or both the same */
typedef enum GrClusterWay
{
	GR_WAY_FIRST,
	GR_WAY_SECOND,
	GR_WAY_BOTH,
	GR_NWAYS
} GrClusterWay;

/* Arrays are the caller's. scores.hessian and scores.terms are not used. */
typedef struct GrClusterPass
{
	GrScores	scores;
	GrClusterWay way;
} GrClusterPass;

/* Rows of one shape in n separate arrays */
typedef struct GrRowPieces
{
	int64_t		n;
	const double *const *rows;	/* n arrays */
	const int64_t *nrows;		/* n numbers of rows */
} GrRowPieces;

static inline size_t
gr_clusters_nsums(int nfeatures)
{
	return GR_CLUSTERS_HEAD + 2 * (size_t) gr_triangle((int64_t) gr_nterms(nfeatures));
}

/* True if the number is a key. */
GR_HD bool
gr_is_cluster_key(double key)
{
	return key >= -(double) GR_CLUSTER_KEY_MAX && key <= (double) GR_CLUSTER_KEY_MAX && key == (double) (int64_t) key;
}

/* Coding of a row's keys in 64 bits, by the least and the greatest of each of the keys */
typedef struct GrKeyCode
{
	int			at[2];			/* columns of the keys in a row; at[1] = -1: only one key is used */
	int64_t		least[2];		/* least value of each key */
	int			nbits[2];		/* bits of (key - least) */
} GrKeyCode;

/* Returns the number of bits of a code; codes of more than 64 bits cannot be made. */
GR_HD int
gr_key_code_nbits(const GrKeyCode *code)
{
	return code->nbits[0] + (code->at[1] < 0 ? 0 : code->nbits[1]);
}

/* Returns the code of a row whose keys are valid. Two rows have the same code only if they are in one cluster. */
GR_HD uint64_t
gr_key_code(const GrKeyCode *code, const double *row)
{
	uint64_t	first = (uint64_t) ((int64_t) row[code->at[0]] - code->least[0]);

	if (code->at[1] < 0)
		return first;
	return (first << code->nbits[1]) | (uint64_t) ((int64_t) row[code->at[1]] - code->least[1]);
}

/* Returns a code with the columns of the keys that way uses. The caller sets least and nbits. */
extern GrKeyCode gr_key_code_of(GrRowShape shape, GrClusterWay way);

/* Returns the number of bits of (key - least) for keys from least to greatest. */
extern int	gr_key_nbits(int64_t least, int64_t greatest);

/*
 * Computes a pass over all rows on the CPU and overwrites sums. Needs 32 bytes of memory per row; without that memory,
 * GR_CLUSTERS_NLEFT is the number of rows. Fails with GR_CANCELED.
 */
extern bool gr_cluster_middle_sum(const GrClusterPass *pass, const GrRowPieces *pieces, double *sums,
								  const GrHost *host, GrError *err);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_CLUSTER_MIDDLE_H */
