/*
 * weighted_gram.cuh: weighted Gram matrices in float8 on the device: the lower triangle of
 *
 *      G = sum over rows r of w[r] (x[r] - shift) (x[r] - shift)'
 *
 * glm_step.cu calls it first, for Hessians.
 *
 * A plan lays out a G of p columns on one device. Sums are kept in partials, partials_ndoubles of device memory, which
 * the caller zeroes before the first launch of a pass (zero bytes are zero sums). Every launch adds its rows; reduce
 * adds up the thread blocks' sums in a fixed order. Launches that share partials go to one stream. The order of
 * summation depends only on the plan and on how rows are divided into launches, so the same launches give the same
 * bits.
 *
 * Errors: products are fused multiply-adds. A thread block sums plainly over the rows of its split; the sums of splits
 * are added with their rounding errors.
 */
#ifndef GPUREG_WEIGHTED_GRAM_CUH
#define GPUREG_WEIGHTED_GRAM_CUH

#include "cuda_util.cuh"

#define WEIGHTED_GRAM_MAX 10000 /* most columns */

typedef enum WeightedGramKind
{
	WEIGHTED_GRAM_REGISTERS,	/* a warp owns the triangle; rows come directly from device memory */
	WEIGHTED_GRAM_RING,			/* a warp owns the triangle; rows come through the warp's ring in shared memory */
	WEIGHTED_GRAM_TILES			/* thread blocks own tiles of the triangle */
} WeightedGramKind;

typedef struct WeightedGramPlan
{
	int			p;
	int			nsms;
	WeightedGramKind kind;
	int			ngroups;		/* groups of columns of a triangle or tile: of 8 columns for REGISTERS, else of 16 */
	int			nwarps;			/* warps of a thread block */
	int			nstages;		/* stages of rows in shared memory */
	size_t		shared_nbytes;	/* shared memory of a thread block */
	int			ntiles;			/* tiles on the diagonal; 1 if a thread block or warp owns the whole triangle */
	int			nsplits[2];		/* parts of the rows with sums of their own: for tiles off the diagonal, and on it */
	int64_t		record_ndoubles[2]; /* sums of a tile for one split */
	size_t		partials_ndoubles;
	double		row_s;			/* estimated time of a row at the device's peak, for dividing work into launches */
	unsigned char place[36];	/* per block of a diagonal tile: 4 n + w if it is block n of warp w */
} WeightedGramPlan;

/* nrows rows on the device, ld >= p float8 apart, with p columns each */
typedef struct WeightedGramRows
{
	const double *rows;
	int64_t		nrows;
	int64_t		ld;
	const double *shift;		/* p numbers on the device; NULL: no shift */
	const double *weights;		/* row r's weight is weights[r * weight_step]; NULL: weights of 1 */
	int			weight_step;
} WeightedGramRows;

/* Plans for the current device, 1 <= p <= WEIGHTED_GRAM_MAX, with budget_nbytes of partials, or one copy. */
extern cudaError_t gr_weighted_gram_plan(WeightedGramPlan *plan, int p, size_t budget_nbytes);

/* Adds rows to partials. Asynchronous; nrows may be 0. */
extern cudaError_t gr_weighted_gram_launch(const WeightedGramPlan *plan, const WeightedGramRows *rows, double *partials,
										   cudaStream_t stream);

/*
 * Writes entries first .. first + nentries - 1 of the packed triangle, row by row, to sums. If border (p + 1 numbers on
 * the device) is not NULL, the triangle has p + 1 rows, border is its first column, and G follows to the right of it.
 * Asynchronous.
 */
extern cudaError_t gr_weighted_gram_reduce_launch(const WeightedGramPlan *plan, const double *partials,
												  const double *border,
												  int64_t first, int64_t nentries, double *sums, cudaStream_t stream);

#endif							/* GPUREG_WEIGHTED_GRAM_CUH */
