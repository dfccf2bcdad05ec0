/*
 * cluster_middle.c: computes the middle of cluster-robust covariances on the CPU; see cluster_middle.h.
 */
#include "compute/request/cluster_middle.h"

#include <stdlib.h>
#include <string.h>

#include "compute/base/dd.h"

#define DIGIT_BITS 11			/* bits per pass of the radix sort: its counters stay in the first-level cache */
#define POLL_ROWS 4096			/* rows between two polls of the host */

/* A row and the code of its cluster */
typedef struct Entry
{
	uint64_t	code;
	const double *row;
} Entry;

GrKeyCode
gr_key_code_of(GrRowShape shape, GrClusterWay way)
{
	int			first = gr_key_at(shape);

	return (GrKeyCode) {
		.at = {way == GR_WAY_SECOND ? first + 1 : first, way == GR_WAY_BOTH ? first + 1 : -1}
	};
}

int
gr_key_nbits(int64_t least, int64_t greatest)
{
	uint64_t	width = (uint64_t) (greatest - least);
	int			nbits = 0;

	for (; width > 0; width >>= 1)
		nbits++;
	return nbits;
}

/* Sets code->least and code->nbits. Returns the number of values that are no keys. */
static int64_t
find_range(const GrRowPieces *pieces, int ncols, GrKeyCode *code)
{
	int			nkeys = code->at[1] < 0 ? 1 : 2;
	int64_t		nwrong = 0;
	int64_t		greatest[2] = {INT64_MIN, INT64_MIN};

	code->least[0] = code->least[1] = INT64_MAX;
	for (int64_t p = 0; p < pieces->n; p++)
		for (int64_t r = 0; r < pieces->nrows[p]; r++)
			for (int k = 0; k < nkeys; k++)
			{
				double		number = pieces->rows[p][r * ncols + code->at[k]];
				int64_t		key = gr_is_cluster_key(number) ? (int64_t) number : 0;

				nwrong += !gr_is_cluster_key(number);
				if (key < code->least[k])
					code->least[k] = key;
				if (key > greatest[k])
					greatest[k] = key;
			}
	for (int k = 0; k < nkeys; k++)
		code->nbits[k] = greatest[k] < code->least[k] ? 0 : gr_key_nbits(code->least[k], greatest[k]);
	return nwrong;
}

static void
fill_entries(const GrRowPieces *pieces, int ncols, const GrKeyCode *code, Entry *entry)
{
	for (int64_t p = 0; p < pieces->n; p++)
		for (int64_t r = 0; r < pieces->nrows[p]; r++, entry++)
		{
			entry->row = pieces->rows[p] + r * ncols;
			entry->code = gr_key_code(code, entry->row);
		}
}

/* Moves entries from one array to the other in the order of a digit of their codes; equal ones keep their order. */
static void
sort_digit(const Entry *from, Entry *into, int64_t n, int shift)
{
	int64_t		starts[1 << DIGIT_BITS] = {0};
	int64_t		start = 0;

	for (int64_t k = 0; k < n; k++)
		starts[from[k].code >> shift & ((1 << DIGIT_BITS) - 1)]++;
	for (int d = 0; d < 1 << DIGIT_BITS; d++)
	{
		int64_t		count = starts[d];

		starts[d] = start;
		start += count;
	}
	for (int64_t k = 0; k < n; k++)
		into[starts[from[k].code >> shift & ((1 << DIGIT_BITS) - 1)]++] = from[k];
}

/* Sorts the first n of memory's 2 n entries by their codes. Returns the sorted entries, in memory; NULL if canceled. */
static Entry *
sort_entries(Entry *memory, int64_t n, int nbits, const GrHost *host)
{
	Entry	   *from = memory;
	Entry	   *into = memory + n;

	for (int shift = 0; shift < nbits; shift += DIGIT_BITS)
	{
		Entry	   *sorted = into;

		if (gr_canceled(host))
			return NULL;
		sort_digit(from, into, n, shift);
		into = from;
		from = sorted;
	}
	return from;
}

static void
add_to(double *hi, double *lo, GrDD term)
{
	GrDD		sum = gr_dd_add((GrDD) {*hi, *lo}, term);

	*hi = sum.hi;
	*lo = sum.lo;
}

/* Adds a cluster, whose sums are laid out as in scores.h, to the middle in sums. */
static void
add_cluster(const double *cluster, int t, double *sums)
{
	const double *hi = cluster + GR_SCORES_HEAD;
	const double *lo = hi + t;
	double	   *middle = sums + GR_CLUSTERS_HEAD;
	double	   *middle_lo = middle + gr_triangle(t);

	for (int i = 0; i < t; i++)
		for (int j = 0; j <= i; j++)
			add_to(middle++, middle_lo++, gr_two_prod(hi[i] + lo[i], hi[j] + lo[j]));
	add_to(&sums[GR_CLUSTERS_PEARSON_HI], &sums[GR_CLUSTERS_PEARSON_LO],
		   (GrDD) {cluster[GR_SCORES_PEARSON_HI], cluster[GR_SCORES_PEARSON_LO]});
	sums[GR_CLUSTERS_N]++;
}

/* Sums the sorted entries cluster by cluster. cluster: scratch for one cluster's sums. False if canceled. */
static bool
sum_entries(const GrScores *scores, const Entry *entry, int64_t n, double *cluster, double *sums, const GrHost *host)
{
	int			t = gr_nterms(scores->shape.nfeatures);
	size_t		nbytes = gr_scores_nsums(scores->shape.nfeatures, false) * sizeof(double);

	for (int64_t k = 0; k < n; k++)
	{
		if (k % POLL_ROWS == 0 && gr_canceled(host))
			return false;
		if (k == 0 || entry[k].code != entry[k - 1].code)
			memset(cluster, 0, nbytes);
		gr_scores_add(scores, entry[k].row, cluster);
		if (k == n - 1 || entry[k].code != entry[k + 1].code)
			add_cluster(cluster, t, sums);
	}
	sums[GR_CLUSTERS_NROWS] = (double) n;
	return true;
}

bool
gr_cluster_middle_sum(const GrClusterPass *pass, const GrRowPieces *pieces, double *sums, const GrHost *host,
					  GrError *err)
{
	GrScores	scores = pass->scores;
	int			ncols = gr_row_ncols(scores.shape);
	size_t		nterms = (size_t) gr_nterms(scores.shape.nfeatures);
	size_t		nscores = gr_scores_nsums(scores.shape.nfeatures, false);
	GrKeyCode	code = gr_key_code_of(scores.shape, pass->way);
	int64_t		n = 0;
	double	   *memory;
	Entry	   *sorted;
	bool		ok;

	for (int64_t p = 0; p < pieces->n; p++)
		n += pieces->nrows[p];
	memset(sums, 0, gr_clusters_nsums(scores.shape.nfeatures) * sizeof(double));
	sums[GR_CLUSTERS_NLEFT] = (double) find_range(pieces, ncols, &code);
	if (gr_key_code_nbits(&code) > 64)
		sums[GR_CLUSTERS_NLEFT] = (double) n;
	if (n == 0 || sums[GR_CLUSTERS_NLEFT] > 0)
		return true;
	memory = malloc(2 * (size_t) n * sizeof(Entry) + (nscores + nterms) * sizeof(double));
	if (memory == NULL)
	{
		sums[GR_CLUSTERS_NLEFT] = (double) n;
		return true;
	}
	scores.hessian = false;
	scores.terms = memory + nscores;
	sorted = (Entry *) (memory + nscores + nterms);
	fill_entries(pieces, ncols, &code, sorted);
	sorted = sort_entries(sorted, n, gr_key_code_nbits(&code), host);
	ok = sorted != NULL && sum_entries(&scores, sorted, n, memory, sums, host);
	free(memory);
	return ok || gr_fail(err, GR_CANCELED, 0, "sums of clusters");
}
