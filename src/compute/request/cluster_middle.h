/*
 * cluster_middle.h: the middle of a covariance matrix that is robust to clusters, over rows that have keys of these.
 *
 * A cluster's score is the sum of its rows' scores (scores.h), in double-double. The middle is the sum over clusters of
 * score score', in double-double, as vcov.h has it for CR0 and CR1. Rows are sorted by their keys, so the work does not
 * depend on how many clusters there are, and no sum of a cluster leaves this module. All rows of a cluster must be
 * here: sums of the middle made in two places cannot be merged.
 *
 * A key is an integer of less than 2^53 in size, as which no larger one can be taken that was rounded to float8. Rows
 * with other numbers there are counted and the sums are then of no use, as they are if both keys of a row together take
 * more than 64 bits, or if there is no memory for the sort. The caller has another way for these.
 */
#ifndef GPUREG_CLUSTER_MIDDLE_H
#define GPUREG_CLUSTER_MIDDLE_H

#include "compute/base/portable.h"
#include "compute/glm/scores.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GR_CLUSTER_KEY_MAX INT64_C(9007199254740991)	/* 2^53 - 1 */

/* Sums: this head; then the middle's packed triangle of (1, x - shift), high halves and then low halves */
enum
{
	GR_CLUSTERS_N,				/* number of clusters */
	GR_CLUSTERS_NROWS,			/* number of rows in them */
	GR_CLUSTERS_NLEFT,			/* rows that are in no cluster: if not 0, the other sums are of no use */
	GR_CLUSTERS_PEARSON_HI,		/* sum of squared Pearson residuals */
	GR_CLUSTERS_PEARSON_LO,
	GR_CLUSTERS_HEAD			/* length of the head */
};

/* By which key rows are in one cluster: the first, the second or both */
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

/* Rows in pieces of memory, of one shape */
typedef struct GrRowPieces
{
	int64_t		n;
	const double *const *rows;	/* n */
	const int64_t *nrows;		/* n */
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

/* How gr_key_code() packs the one or two cluster keys of a row into 64 bits, given the range of each key */
typedef struct GrKeyCode
{
	int			at[2];			/* columns of the keys in a row; at[1] = -1: only the first key counts */
	int64_t		least[2];
	int			nbits[2];		/* number of bits of key - least */
} GrKeyCode;

/* Returns the number of bits of a code that gr_key_code() makes: those of the first key, and of the second if any. */
GR_HD int
gr_key_code_nbits(const GrKeyCode *code)
{
	return code->nbits[0] + (code->at[1] < 0 ? 0 : code->nbits[1]);
}

/* Returns the code of a row's keys. Two rows have the same code exactly if they are in the same cluster. */
GR_HD uint64_t
gr_key_code(const GrKeyCode *code, const double *row)
{
	uint64_t	first = (uint64_t) ((int64_t) row[code->at[0]] - code->least[0]);

	if (code->at[1] < 0)
		return first;
	return (first << code->nbits[1]) | (uint64_t) ((int64_t) row[code->at[1]] - code->least[1]);
}

/* Where rows have the keys of a way; bits and least keys are still to be set. */
extern GrKeyCode gr_key_code_of(GrRowShape shape, GrClusterWay way);

/* Number of bits that keys from least to greatest take */
extern int	gr_key_nbits(int64_t least, int64_t greatest);

/*
 * Writes the sums of a pass over all rows on the CPU; nothing is added to what sums held. Takes 32 bytes a row; where
 * there is no memory, all rows are left. Fails with GR_CANCELED.
 */
extern bool gr_cluster_middle_sum(const GrClusterPass *pass, const GrRowPieces *pieces, double *sums,
								  const GrHost *host, GrError *err);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_CLUSTER_MIDDLE_H */
