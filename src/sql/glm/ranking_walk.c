/*
 * ranking_walk.c: walks over the scores of a state in descending order; see ranking_walk.h.
 *
 * The merges of both labels are merged into a buffer of keys and labels without a branch on either, as neither can be
 * predicted. So a step of the walk has to look at neighbours in that buffer only.
 */
#include "postgres.h"

#include "sql/glm/ranking_walk.h"

void
gr_ranking_walk_begin(GrRankingWalk *walk, GrRanking *ranking)
{
	walk->false_positives = walk->true_positives = 0;
	walk->at = walk->n = 0;
	gr_ranking_prepare(ranking);
	for (int label = 0; label < 2; label++)
		gr_ranking_merge(ranking, label == 1, &walk->merges[label]);
}

static inline uint32
count_of(const GrMergeNode *node, int at)
{
	return node->chunk.counts == NULL ? 1 : node->chunk.counts[at];
}

/* Appends the keys of one label, whose merge's root is given, as far as its chunk and the buffer go. */
static void
append_label(GrRankingWalk *walk, GrMergeNode *root, int label)
{
	int			nmore = Min(root->chunk.n - root->at, GR_CHUNK_NKEYS - walk->n);

	memcpy(walk->keys + walk->n, root->chunk.keys + root->at, nmore * sizeof(uint64));
	memset(walk->labels + walk->n, label, nmore);
	for (int k = 0; k < nmore; k++)
		walk->counts[walk->n + k] = count_of(root, root->at + k);
	root->at += nmore;
	walk->n += nmore;
}

/* Appends keys of both labels in order, until either merge's chunk or the buffer is at its end. */
static void
append_both(GrRankingWalk *walk, GrMergeNode *zeros, GrMergeNode *ones)
{
	int			i = zeros->at;
	int			j = ones->at;
	int			n = walk->n;
	bool		counted = zeros->chunk.counts != NULL || ones->chunk.counts != NULL;

	while (i < zeros->chunk.n && j < ones->chunk.n && n < GR_CHUNK_NKEYS)
	{
		uint64		key_of_zero = zeros->chunk.keys[i];
		uint64		key_of_one = ones->chunk.keys[j];
		bool		one = key_of_one < key_of_zero;

		walk->keys[n] = one ? key_of_one : key_of_zero;
		walk->labels[n] = one;
		walk->counts[n++] = !counted ? 1 : one ? count_of(ones, j) : count_of(zeros, i);
		j += one;
		i += !one;
	}
	zeros->at = i;
	ones->at = j;
	walk->n = n;
}

/* Fills the buffer. Returns false at the end. */
static bool
refill(GrRankingWalk *walk)
{
	GrMergeNode *zeros = walk->merges[0].root;
	GrMergeNode *ones = walk->merges[1].root;

	walk->at = walk->n = 0;
	while (walk->n < GR_CHUNK_NKEYS)
	{
		bool		more_zeros = zeros != NULL && gr_merge_ready(zeros);
		bool		more_ones = ones != NULL && gr_merge_ready(ones);

		if (more_zeros && more_ones)
			append_both(walk, zeros, ones);
		else if (more_zeros || more_ones)
			append_label(walk, more_zeros ? zeros : ones, more_zeros ? 0 : 1);
		else
			break;
	}
	return walk->n > 0;
}

bool
gr_ranking_walk_next(GrRankingWalk *walk)
{
	uint64		key;
	int64		nrows = 0;
	int64		nones = 0;

	if (walk->at == walk->n && !refill(walk))
		return false;
	key = walk->keys[walk->at];
	do
	{
		int64		count = walk->counts[walk->at];

		nrows += count;
		nones += walk->labels[walk->at++] * count;
	}
	while ((walk->at < walk->n || refill(walk)) && walk->keys[walk->at] == key);
	walk->score = gr_score_of_key(key);
	walk->zeros = nrows - nones;
	walk->ones = nones;
	walk->false_positives += walk->zeros;
	walk->true_positives += walk->ones;
	return true;
}
