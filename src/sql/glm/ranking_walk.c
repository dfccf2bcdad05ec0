/*
 * ranking_walk.c: walks over the scores of a state in descending order; see ranking_walk.h.
 */
#include "postgres.h"

#include "sql/glm/ranking_walk.h"

void
gr_ranking_walk_begin(GrRankingWalk *walk, GrRanking *ranking)
{
	memset(walk, 0, sizeof(GrRankingWalk));
	gr_ranking_prepare(ranking);
	for (int label = 0; label < 2; label++)
		gr_ranking_merge(ranking, label == 1, &walk->merges[label]);
}

/* Takes all rows with the key. Returns their number. */
static inline int64
take(GrMergeNode *node, uint64 key)
{
	int64		n = 0;

	do
	{
		n += node->chunk.counts == NULL ? 1 : node->chunk.counts[node->at];
		node->at++;
	}
	while (gr_merge_ready(node) && node->chunk.keys[node->at] == key);
	return n;
}

bool
gr_ranking_walk_next(GrRankingWalk *walk)
{
	GrMergeNode *zeros = walk->merges[0].root;
	GrMergeNode *ones = walk->merges[1].root;
	bool		more_zeros = zeros != NULL && gr_merge_ready(zeros);
	bool		more_ones = ones != NULL && gr_merge_ready(ones);
	uint64		key_of_zero = more_zeros ? zeros->chunk.keys[zeros->at] : PG_UINT64_MAX;
	uint64		key_of_one = more_ones ? ones->chunk.keys[ones->at] : PG_UINT64_MAX;
	uint64		key = Min(key_of_zero, key_of_one);

	if (!more_zeros && !more_ones)
		return false;
	walk->score = gr_score_of_key(key);
	walk->zeros = key_of_zero == key ? take(zeros, key) : 0;
	walk->ones = key_of_one == key ? take(ones, key) : 0;
	walk->false_positives += walk->zeros;
	walk->true_positives += walk->ones;
	return true;
}
