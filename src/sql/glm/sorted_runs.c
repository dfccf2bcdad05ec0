/*
 * sorted_runs.c: sorted runs of score keys, and their merge; see sorted_runs.h.
 *
 * A merge is a binary tree whose nodes hold a chunk each, so that all but the runs stays in a processor's caches. Where
 * both children have chunks without counts, a node takes the lesser of two keys without a branch: which child it comes
 * from cannot be predicted.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "compute/base/sort_keys.h"
#include "run/spool.h"
#include "sql/glm/sorted_runs.h"

/* First bytes of a chunk */
typedef struct Header
{
	uint32		n;
	uint32		counted;
} Header;

#define KEYS_NBYTES(n) ((Size) (n) * sizeof(uint64))
#define COUNTS_NBYTES(n) (((Size) (n) * sizeof(uint32) + 7) & ~(Size) 7)

StaticAssertDecl(sizeof(Header) + KEYS_NBYTES(GR_CHUNK_NKEYS) + COUNTS_NBYTES(GR_CHUNK_NKEYS) == GR_CHUNK_NBYTES_MAX,
				 "GR_CHUNK_NBYTES_MAX is the size of a chunk");

static Size
chunk_nbytes(Header header)
{
	return sizeof(Header) + KEYS_NBYTES(header.n) + (header.counted != 0 ? COUNTS_NBYTES(header.n) : 0);
}

/*
 * Writing
 */

void
gr_sorted_begin(GrRunWriter *writer, Size capacity, BufFile *file)
{
	writer->capacity = Max(capacity, GR_CHUNK_NBYTES_MAX);
	writer->capacity_max = MaxAllocHugeSize;
	writer->bytes = MemoryContextAllocHuge(CurrentMemoryContext, writer->capacity);
	writer->n = 0;
	writer->file = file;
	writer->nfiled = 0;
	writer->nrows = 0;
	writer->nheld = 0;
}

static void
flush_bytes(GrRunWriter *writer)
{
	BufFileWrite(writer->file, writer->bytes, writer->n);
	writer->nfiled += writer->n;
	writer->n = 0;
}

/* Makes room for nbytes more. */
static void
make_room(GrRunWriter *writer, Size nbytes)
{
	if (writer->capacity - writer->n >= nbytes)
		return;
	if (writer->file != NULL)
	{
		flush_bytes(writer);
		return;
	}
	if (nbytes > writer->capacity_max - writer->n)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a parallel worker has more scores than it can hand over"),
				 errdetail("The worker can hand over %zu MB per group.", writer->capacity_max >> 20),
				 errhint("Set max_parallel_workers_per_gather to 0, round the scores, or take a sample of the "
						 "rows.")));
	writer->capacity = Min(Max(writer->n + nbytes, writer->capacity + writer->capacity / 2), writer->capacity_max);
	writer->bytes = repalloc_huge(writer->bytes, writer->capacity);
}

/* Writes a chunk. */
static void
write_chunk(GrRunWriter *writer, GrKeys keys)
{
	Header		header = {keys.n, keys.counts != NULL};
	Size		nbytes = chunk_nbytes(header);
	char	   *at;

	make_room(writer, nbytes);
	at = writer->bytes + writer->n;
	memcpy(at, &header, sizeof(Header));
	at += sizeof(Header);
	memcpy(at, keys.keys, KEYS_NBYTES(keys.n));
	if (keys.counts != NULL)
	{
		at += KEYS_NBYTES(keys.n);
		memset(at + COUNTS_NBYTES(keys.n) - sizeof(uint64), 0, sizeof(uint64));
		memcpy(at, keys.counts, (Size) keys.n * sizeof(uint32));
	}
	writer->n += nbytes;
}

/* Writes the chunk with counts, without counts that are all 1. */
static void
write_held(GrRunWriter *writer)
{
	bool		counted = false;

	for (int k = 0; k < writer->nheld; k++)
		counted |= writer->counts[k] > 1;
	if (writer->nheld > 0)
		write_chunk(writer, (GrKeys) {writer->keys, counted ? writer->counts : NULL, writer->nheld});
	writer->nheld = 0;
}

/* Adds a key to the chunk with counts. */
static inline void
hold(GrRunWriter *writer, uint64 key, uint32 count)
{
	int			last = writer->nheld - 1;

	if (last >= 0 && writer->keys[last] == key && count <= PG_UINT32_MAX - writer->counts[last])
	{
		writer->counts[last] += count;
		return;
	}
	if (writer->nheld == GR_CHUNK_NKEYS)
		write_held(writer);
	writer->keys[writer->nheld] = key;
	writer->counts[writer->nheld++] = count;
}

bool
gr_keys_have_ties(const uint64 *keys, int n)
{
	int			ndistinct = 1;

	for (int k = 1; k < n; k++)
		ndistinct += keys[k] != keys[k - 1];
	return 2 * ndistinct <= n;
}

static void
write_uncounted(GrRunWriter *writer, const uint64 *keys, int n)
{
	writer->nrows += n;
	for (int k = 0; k < n; k += GR_CHUNK_NKEYS)
	{
		int			nchunk = Min(n - k, GR_CHUNK_NKEYS);

		if (gr_keys_have_ties(keys + k, nchunk))
			for (int i = k; i < k + nchunk; i++)
				hold(writer, keys[i], 1);
		else
		{
			write_held(writer);
			write_chunk(writer, (GrKeys) {keys + k, NULL, nchunk});
		}
	}
}

void
gr_sorted_write(GrRunWriter *writer, GrKeys keys)
{
	if (keys.counts == NULL)
		write_uncounted(writer, keys.keys, keys.n);
	else
		for (int k = 0; k < keys.n; k++)
		{
			writer->nrows += keys.counts[k];
			hold(writer, keys.keys[k], keys.counts[k]);
		}
}

void
gr_sorted_end(GrRunWriter *writer)
{
	write_held(writer);
	if (writer->file != NULL)
	{
		flush_bytes(writer);
		pfree(writer->bytes);
		writer->bytes = NULL;
	}
}

/*
 * Reading
 */

GrKeys
gr_next_chunk(const char **bytes)
{
	Header		header = *(const Header *) *bytes;
	const char *at = *bytes + sizeof(Header);
	GrKeys		chunk = {(const uint64 *) at, NULL, header.n};

	if (header.counted != 0)
		chunk.counts = (const uint32 *) (at + KEYS_NBYTES(header.n));
	*bytes += chunk_nbytes(header);
	return chunk;
}

Size
gr_check_chunk(const char *bytes, Size nbytes, char *chunk, uint64 *last, int64 *nrows)
{
	Header		header;
	Size		size;
	const char *at = chunk;
	GrKeys		keys;
	uint64		previous = *last;
	bool		valid = true;

	if (nbytes < sizeof(Header))
		return 0;
	memcpy(&header, bytes, sizeof(Header));
	if (header.n < 1 || header.n > GR_CHUNK_NKEYS || header.counted > 1 || chunk_nbytes(header) > nbytes)
		return 0;
	size = chunk_nbytes(header);
	memcpy(chunk, bytes, size);
	keys = gr_next_chunk(&at);
	for (int k = 0; k < keys.n; k++)
	{
		valid &= keys.keys[k] >= previous;
		previous = keys.keys[k];
	}
	*last = previous;
	for (int k = 0; keys.counts != NULL && k < keys.n; k++)
	{
		valid &= keys.counts[k] > 0;
		*nrows += keys.counts[k];
	}
	if (keys.counts == NULL)
		*nrows += keys.n;
	return valid && keys.keys[0] >= GR_FIRST_SCORE_KEY && previous <= GR_LAST_SCORE_KEY ? size : 0;
}

/* Reads more of the run from the file, behind the beginning of a chunk that is left in the buffer. */
static void
read_file(GrMergeNode *leaf)
{
	Size		nleft = leaf->end - leaf->next;
	Size		nread = Min(leaf->nfiled, (int64) (leaf->buffer_nbytes - nleft));

	memmove(leaf->buffer, leaf->next, nleft);
	if (BufFileSeek(leaf->file, 0, leaf->offset, SEEK_SET) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not seek in temporary file: %m")));
	gr_file_read(leaf->file, leaf->buffer + nleft, nread);
	leaf->offset += nread;
	leaf->nfiled -= nread;
	leaf->next = leaf->buffer;
	leaf->end = leaf->buffer + nleft + nread;
}

/* True if [next, end) begins with a whole chunk. */
static bool
has_chunk(const GrMergeNode *leaf)
{
	Size		nbytes = leaf->end - leaf->next;

	return nbytes >= sizeof(Header) && nbytes >= chunk_nbytes(*(const Header *) leaf->next);
}

static bool
refill_leaf(GrMergeNode *leaf)
{
	if (leaf->nfiled > 0 && !has_chunk(leaf))
		read_file(leaf);
	if (leaf->next == leaf->end)
		return false;
	leaf->chunk = gr_next_chunk(&leaf->next);
	return true;
}

/*
 * Merging
 */

void
gr_merge_begin(GrMerge *merge, int nruns)
{
	merge->root = NULL;
	merge->nodes = nruns == 0 ? NULL : palloc0(sizeof(GrMergeNode) * (2 * nruns - 1));
	merge->nleaves = 0;
	merge->nleaves_max = nruns;
}

static GrMergeNode *
add_leaf(GrMerge *merge)
{
	Assert(merge->nleaves < merge->nleaves_max);
	return &merge->nodes[merge->nleaves++];
}

void
gr_merge_add(GrMerge *merge, const GrSortedRun *run, BufFile *file, Size buffer_nbytes)
{
	GrMergeNode *leaf = add_leaf(merge);

	if (run->memory != NULL)
	{
		leaf->next = run->memory;
		leaf->end = run->memory + run->nbytes;
		return;
	}
	Assert(buffer_nbytes >= GR_CHUNK_NBYTES_MAX);
	leaf->file = file;
	leaf->offset = run->offset;
	leaf->nfiled = run->nbytes;
	leaf->buffer_nbytes = Min((int64) buffer_nbytes, Max(run->nbytes, (int64) sizeof(uint64)));
	leaf->buffer = palloc(leaf->buffer_nbytes);
	leaf->next = leaf->end = leaf->buffer;
}

void
gr_merge_add_keys(GrMerge *merge, GrKeys keys)
{
	add_leaf(merge)->chunk = keys;
}

void
gr_merge_build(GrMerge *merge)
{
	GrMergeNode *nodes = merge->nodes;
	int			n = merge->nleaves;

	/* each node in turn takes the two nodes that have waited longest, so that leaves are about equally deep */
	for (int next = 0; n < 2 * merge->nleaves - 1; next += 2)
	{
		nodes[n].left = &nodes[next];
		nodes[n++].right = &nodes[next + 1];
	}
	merge->root = n > 0 ? &nodes[n - 1] : NULL;
}

/* Merges keys without counts until either child has no more, or nmerged is a whole chunk. Returns nmerged. */
static int
merge_uncounted(GrMergeNode *node, int nmerged)
{
	GrMergeNode *left = node->left;
	GrMergeNode *right = node->right;
	const uint64 *a = left->chunk.keys + left->at;
	const uint64 *b = right->chunk.keys + right->at;
	const uint64 *a_end = left->chunk.keys + left->chunk.n;
	const uint64 *b_end = right->chunk.keys + right->chunk.n;
	uint64	   *to = node->keys;

	while (a < a_end && b < b_end && nmerged < GR_CHUNK_NKEYS)
	{
		uint64		x = *a;
		uint64		y = *b;
		bool		second = y < x;

		to[nmerged++] = second ? y : x;
		b += second;
		a += !second;
	}
	left->at = a - left->chunk.keys;
	right->at = b - right->chunk.keys;
	return nmerged;
}

/* Appends the child's next key with its count. Returns the number of keys, or -1 if the chunk is full. */
static inline int
append_counted(GrMergeNode *node, int nmerged, GrMergeNode *child)
{
	uint64		key = child->chunk.keys[child->at];
	uint32		count = child->chunk.counts == NULL ? 1 : child->chunk.counts[child->at];

	if (nmerged > 0 && node->keys[nmerged - 1] == key && count <= PG_UINT32_MAX - node->counts[nmerged - 1])
		node->counts[nmerged - 1] += count;
	else if (nmerged == GR_CHUNK_NKEYS)
		return -1;
	else
	{
		node->keys[nmerged] = key;
		node->counts[nmerged++] = count;
	}
	child->at++;
	return nmerged;
}

/*
 * Merges keys with counts, which are added up, until either child has no more or the chunk is full; the loop sets
 * *full. nmerged: keys that the chunk has already. Returns nmerged.
 */
static int
merge_counted(GrMergeNode *node, int nmerged, bool *full)
{
	GrMergeNode *left = node->left;
	GrMergeNode *right = node->right;

	while (left->at < left->chunk.n && right->at < right->chunk.n)
	{
		bool		second = right->chunk.keys[right->at] < left->chunk.keys[left->at];
		int			n = append_counted(node, nmerged, second ? right : left);

		*full = n < 0;
		if (*full)
			break;
		nmerged = n;
	}
	return nmerged;
}

/* Passes on what a child has, when the other child is at its end. */
static bool
pass_on(GrMergeNode *node, GrMergeNode *child)
{
	node->chunk.keys = child->chunk.keys + child->at;
	node->chunk.counts = child->chunk.counts == NULL ? NULL : child->chunk.counts + child->at;
	node->chunk.n = child->chunk.n - child->at;
	child->at = child->chunk.n;
	return true;
}

static void
allocate_chunk(GrMergeNode *node, bool counted)
{
	if (node->keys == NULL)
		node->keys = palloc(KEYS_NBYTES(GR_CHUNK_NKEYS));
	if (counted && node->counts == NULL)
		node->counts = palloc(COUNTS_NBYTES(GR_CHUNK_NKEYS));
}

static bool
refill_inner(GrMergeNode *node)
{
	bool		counted = false;
	bool		full = false;
	int			n = 0;

	while (n < GR_CHUNK_NKEYS && !full)
	{
		bool		more_left = gr_merge_ready(node->left);
		bool		more_right = gr_merge_ready(node->right);
		bool		with_counts;

		if (!more_left || !more_right)
		{
			if (n == 0)
				return (more_left || more_right) && pass_on(node, more_left ? node->left : node->right);
			break;
		}
		with_counts = node->left->chunk.counts != NULL || node->right->chunk.counts != NULL;
		if (n > 0 && with_counts != counted)
			break;
		counted = with_counts;
		allocate_chunk(node, counted);
		n = counted ? merge_counted(node, n, &full) : merge_uncounted(node, n);
	}
	node->chunk = (GrKeys) {node->keys, counted ? node->counts : NULL, n};
	return true;
}

bool
gr_merge_refill(GrMergeNode *node)
{
	CHECK_FOR_INTERRUPTS();
	node->at = 0;
	node->chunk.n = 0;
	return node->left == NULL ? refill_leaf(node) : refill_inner(node);
}

void
gr_merge_write(GrMerge *merge, GrRunWriter *writer)
{
	GrMergeNode *root = merge->root;

	while (root != NULL && gr_merge_ready(root))
	{
		gr_sorted_write(writer, (GrKeys) {root->chunk.keys + root->at,
			root->chunk.counts == NULL ? NULL : root->chunk.counts + root->at, root->chunk.n - root->at});
		root->at = root->chunk.n;
	}
}
