/*
 * clusters.cuh: kernels that sum the middle of a cluster-robust covariance matrix. rows_clusters.cu calls them first.
 * compute/request/cluster_middle.h defines the sums, clusters.cu the layout.
 *
 * Rows are numbered over all chunks, in the chunks' order, and sorted once by the codes of their clusters. Clusters are
 * then summed in slices of consecutive ones, whose sums fit memory. A slice's sorted rows are cut into ranges of equal
 * length. No atomic operation adds floats: the same rows in the same order give the same bits.
 */
#ifndef GPUREG_CLUSTERS_CUH
#define GPUREG_CLUSTERS_CUH

#include "cuda_util.cuh"

#include "compute/request/cluster_middle.h"

/* Arguments of a pass; arrays are in device memory. */
typedef struct ClusterTerms
{
	GrRowShape	shape;
	GrDistribution distribution;
	const double *beta;			/* t numbers */
	const double *beta_lo;		/* t numbers */
	const double *shift;		/* nfeatures numbers */
} ClusterTerms;

/* Range of the keys found. Initialise least to INT64_MAX, greatest to INT64_MIN and nwrong to 0. */
typedef struct ClusterKeys
{
	long long	least[2];
	long long	greatest[2];
	unsigned long long nwrong;	/* rows with a number that is not a key */
} ClusterKeys;

/* All rows, on the device: chunk c has rows end[c - 1] .. end[c] - 1. */
typedef struct ClusterChunks
{
	const double *const *rows;
	const int64_t *end;
	int			n;
} ClusterChunks;

/*
 * Rows to be sorted. Both arrays of a pair have nrows entries. The arrays are on the device, this struct on the host.
 */
typedef struct ClusterEntries
{
	int64_t		nrows;
	uint64_t   *codes[2];
	uint32_t   *numbers[2];
	double2    *parts;			/* by row number: a row's factor and square, as in GrScoreParts */
	int			nbits;			/* bits of a code */
	void	   *temp;			/* workspace of the sort; NULL: the sort only sets temp_nbytes */
	size_t		temp_nbytes;
	int			sorted;			/* index of the pair that holds the sorted rows */
	int64_t    *nclusters;		/* number of clusters, once it is found */
} ClusterEntries;

/* Sorted rows and their clusters, on the device */
typedef struct ClusterOrder
{
	const uint32_t *row;		/* nrows: row number by position */
	const double2 *parts;		/* by row number: a row's factor and square, as in GrScoreParts */
	const uint32_t *start;		/* nclusters: position at which a cluster begins */
	int64_t		nrows;
	int64_t		nclusters;
} ClusterOrder;

/* Clusters first .. first + n - 1, whose sorted rows are begin .. end - 1 */
typedef struct ClusterSlice
{
	int64_t		first;
	int64_t		n;
	int64_t		begin;
	int64_t		end;
	int64_t		range_nrows;	/* rows per range */
	int64_t		nranges;
	double2    *scores;			/* n x ncols: hi and lo of each score, then of the sum of squares */
	double2    *firsts;			/* nranges x ncols: sums of a range's first cluster, if it is not wholly in the range */
	double2    *lasts;			/* nranges x ncols: sums of a range's last cluster, if it is not wholly in the range */
} ClusterSlice;

/* Returns the columns of sums of a cluster: the terms and the square. */
static inline __host__ __device__ int
gr_cluster_ncols(GrRowShape shape)
{
	return gr_nterms(shape.nfeatures) + 1;
}

/* Extends keys by those of nrows rows; code->at[1] is -1 if rows have one key. */
extern cudaError_t gr_cluster_keys_launch(const double *rows, int64_t nrows, GrRowShape shape, const GrKeyCode *code,
										  ClusterKeys *keys, cudaStream_t stream);

/* Writes the entries of a chunk's rows, numbered from first on, to the first pair. */
extern cudaError_t gr_cluster_rows_launch(const ClusterTerms *terms, const GrKeyCode *code, const double *rows,
										  int64_t nrows, int64_t first, const ClusterEntries *entries,
										  cudaStream_t stream);

/*
 * Sorts the entries by code. entries->sorted becomes the pair with the result; the numbers of the other pair become the
 * starts of clusters.
 */
extern cudaError_t gr_cluster_sort_launch(ClusterEntries *entries, cudaStream_t stream);

/* Sums ranges from_range .. from_range + nranges - 1 of a slice. */
extern cudaError_t gr_cluster_sum_launch(const ClusterTerms *terms, const ClusterChunks *chunks,
										 const ClusterOrder *order, const ClusterSlice *slice, int64_t from_range,
										 int64_t nranges, cudaStream_t stream);

/* Joins the sums of clusters that span several ranges. */
extern cudaError_t gr_cluster_join_launch(const ClusterOrder *order, const ClusterSlice *slice, int ncols,
										  cudaStream_t stream);

/* Adds a slice's clusters to partials: nsplits x (triangle of t, then the sum of squares), 0 before the first slice. */
extern cudaError_t gr_cluster_middle_launch(const ClusterSlice *slice, int ncols, int nsplits, double2 *partials,
											cudaStream_t stream);

/* Sums the splits' partials, n numbers each, into result. */
extern cudaError_t gr_cluster_merge_launch(const double2 *partials, int64_t n, int nsplits, double2 *result,
										   cudaStream_t stream);

#endif							/* GPUREG_CLUSTERS_CUH */
