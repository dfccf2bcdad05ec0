/*
 * clusters.cuh: launches of the kernels that make the middle of clusters. compute/request/cluster_middle.h says what
 * that is, clusters.cu how it is made.
 *
 * Rows are told by their numbers over all chunks, in the order of the chunks. They are sorted by their clusters' codes
 * once. Then clusters are taken in slices of those that follow one another, so that their sums have room; a slice's
 * sorted rows are cut into ranges of equal length. No atomic operation adds floats: the same rows in the same order
 * give the same bits.
 */
#ifndef GPUREG_CLUSTERS_CUH
#define GPUREG_CLUSTERS_CUH

#include "cuda_util.cuh"

#include "compute/request/cluster_middle.h"

/* A pass; arrays are on the device. */
typedef struct ClusterTerms
{
	GrRowShape	shape;
	GrDistribution distribution;
	const double *beta;			/* t */
	const double *beta_lo;		/* t */
	const double *shift;		/* nfeatures */
} ClusterTerms;

/* What keys there are. least and greatest begin as INT64_MAX and INT64_MIN, nwrong as 0. */
typedef struct ClusterKeys
{
	long long	least[2];
	long long	greatest[2];
	unsigned long long nwrong;	/* rows with a number that is no key */
} ClusterKeys;

/* All rows; on the device: chunk c has rows end[c - 1] .. end[c] - 1. */
typedef struct ClusterChunks
{
	const double *const *rows;
	const int64_t *end;
	int			n;
} ClusterChunks;

/* Rows as they are sorted: both of a pair are nrows long; on the device but for this struct */
typedef struct ClusterEntries
{
	int64_t		nrows;
	uint64_t   *codes[2];
	uint32_t   *numbers[2];
	double2    *parts;			/* by number: a row's factor and square, as GrScoreParts */
	int			nbits;			/* that codes take */
	void	   *temp;			/* what the sort takes; NULL: it sets temp_nbytes alone */
	size_t		temp_nbytes;
	int			sorted;			/* which of the pairs has the sorted rows */
	int64_t    *nclusters;		/* their number, once it is found */
} ClusterEntries;

/* Sorted rows and their clusters; on the device */
typedef struct ClusterOrder
{
	const uint32_t *row;		/* nrows: number of the row that is there */
	const double2 *parts;		/* by number: a row's factor and square, as GrScoreParts */
	const uint32_t *start;		/* nclusters: where a cluster's rows begin */
	int64_t		nrows;
	int64_t		nclusters;
} ClusterOrder;

/* Clusters first .. first + n - 1, with sorted rows begin .. end - 1 */
typedef struct ClusterSlice
{
	int64_t		first;
	int64_t		n;
	int64_t		begin;
	int64_t		end;
	int64_t		range_nrows;	/* rows of a range */
	int64_t		nranges;
	double2    *scores;			/* n x ncols: hi, lo of the scores, then of the sum of squares */
	double2    *firsts;			/* nranges x ncols: of the range's first cluster, where it goes beyond the range */
	double2    *lasts;			/* nranges x ncols: of its last cluster, likewise */
} ClusterSlice;

/* Columns of sums of a cluster: terms and the square */
static inline __host__ __device__ int
gr_cluster_ncols(GrRowShape shape)
{
	return gr_nterms(shape.nfeatures) + 1;
}

/* Adds the keys of rows to keys; at[1] is -1 where one key counts. */
extern cudaError_t gr_cluster_keys_launch(const double *rows, int64_t nrows, GrRowShape shape, const GrKeyCode *code,
										  ClusterKeys *keys, cudaStream_t stream);

/* Writes the entries of a chunk's rows, the first of which has the number first, into the first pair. */
extern cudaError_t gr_cluster_rows_launch(const ClusterTerms *terms, const GrKeyCode *code, const double *rows,
										  int64_t nrows, int64_t first, const ClusterEntries *entries,
										  cudaStream_t stream);

/*
 * Sorts the entries by their codes. entries->sorted is then the pair that has them; the numbers of the other pair
 * become the starts of clusters.
 */
extern cudaError_t gr_cluster_sort_launch(ClusterEntries *entries, cudaStream_t stream);

/* Sums ranges from_range .. from_range + nranges - 1 of a slice. */
extern cudaError_t gr_cluster_sum_launch(const ClusterTerms *terms, const ClusterChunks *chunks,
										 const ClusterOrder *order, const ClusterSlice *slice, int64_t from_range,
										 int64_t nranges, cudaStream_t stream);

/* Puts the sums of clusters that go over several ranges together. */
extern cudaError_t gr_cluster_join_launch(const ClusterOrder *order, const ClusterSlice *slice, int ncols,
										  cudaStream_t stream);

/* Adds a slice's clusters to partials: nsplits x (triangle of t, and the sum of squares), 0 to begin with. */
extern cudaError_t gr_cluster_middle_launch(const ClusterSlice *slice, int ncols, int nsplits, double2 *partials,
											cudaStream_t stream);

/* Sums the splits' partials into result, n of them. */
extern cudaError_t gr_cluster_merge_launch(const double2 *partials, int64_t n, int nsplits, double2 *result,
										   cudaStream_t stream);

#endif							/* GPUREG_CLUSTERS_CUH */
