/*
 * ranking_walk.h: walks over the scores of a state from the greatest to the least, and counts rows by label: the points
 * of the ROC curve. Statistics of ranks are sums over this walk.
 */
#ifndef GPUREG_RANKING_WALK_H
#define GPUREG_RANKING_WALK_H

#include "postgres.h"

#include "sql/glm/ranking.h"

/* The rows that share a score, and all rows with this score or a greater one */
typedef struct GrRankingWalk
{
	double		score;
	int64		zeros;			/* rows with the score and label 0 */
	int64		ones;			/* rows with the score and label 1 */
	int64		false_positives;	/* rows with the score or a greater one, and label 0 */
	int64		true_positives; /* rows with the score or a greater one, and label 1 */
	/* the rows that follow: those from number `at` on of n keys in order, and then those of the merges */
	int			at;
	int			n;
	uint64		keys[GR_CHUNK_NKEYS];
	uint32		counts[GR_CHUNK_NKEYS];
	uint8		labels[GR_CHUNK_NKEYS];
	GrMerge		merges[2];		/* by label */
} GrRankingWalk;

/* Begins before the greatest score. The state must not change until the walk ends. */
extern void gr_ranking_walk_begin(GrRankingWalk *walk, GrRanking *ranking);

/* Goes to the next score. Returns false at the end. */
extern bool gr_ranking_walk_next(GrRankingWalk *walk);

#endif							/* GPUREG_RANKING_WALK_H */
