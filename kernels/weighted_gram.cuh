/*
 * weighted_gram.cuh: weighted Gram matrices in float8 on the device: the lower triangle of
 *
 *     G = sum over rows r of w[r] (x[r] - shift) (x[r] - shift)'
 *
 * A plan says how G of p columns is laid out on one device. Sums are kept in partials, partials_ndoubles of device
 * memory that the caller zeroes (zero bytes are zero sums) before the first launch of a pass; every launch adds its
 * rows, and reduce adds up what thread blocks hold, in a fixed order. Launches that share partials go to one stream.
 * The order of summation depends on the plan and on how rows are cut into launches only, so the same launches give the
 * same bits.
 *
 * Errors: products are rounded as fused multiply-adds, and sums of a thread block plainly, each over the rows of its
 * split; the sums of splits are added with their rounding errors kept.
 */
#ifndef GPUREG_WEIGHTED_GRAM_CUH
#define GPUREG_WEIGHTED_GRAM_CUH

#include "cuda_util.cuh"

#define WEIGHTED_GRAM_MAX 10000 /* columns */

typedef enum WeightedGramKind
{
	WEIGHTED_GRAM_REGISTERS,	/* a warp has the triangle, rows come from device memory as they are multiplied */
	WEIGHTED_GRAM_RING,			/* the same, through a ring of shared memory of each warp */
	WEIGHTED_GRAM_TILES			/* thread blocks have tiles of the triangle */
} WeightedGramKind;

typedef struct WeightedGramPlan
{
	int			p;
	int			nsms;
	WeightedGramKind kind;
	int			ngroups;		/* groups of columns of a triangle or tile: of 8 for REGISTERS, else of 16 */
	int			nwarps;			/* a thread block */
	int			nstages;		/* pieces of rows in shared memory */
	size_t		shared_nbytes;	/* of a thread block */
	int			ntiles;			/* tiles on the diagonal; 1 where a thread block or warp has the whole triangle */
	int			nsplits[2];		/* parts of the rows with sums of their own: for tiles off the diagonal, on it */
	int64_t		record_ndoubles[2]; /* sums of a tile for one split */
	size_t		partials_ndoubles;
	double		row_s;			/* of a row, estimated at the device's peak, to cut work into launches */
	unsigned char place[36];	/* which warp, and which of its blocks, has a block of a tile on the diagonal */
} WeightedGramPlan;

/* nrows rows on the device, ld >= p float8 apart, of which the first p columns count. */
typedef struct WeightedGramRows
{
	const double *rows;
	int64_t		nrows;
	int64_t		ld;
	const double *shift;		/* p of them on the device; NULL: none */
	const double *weights;		/* row r's is weights[r * weight_step]; NULL: 1 */
	int			weight_step;
} WeightedGramRows;

/*
 * Plans for the current device, 1 <= p <= WEIGHTED_GRAM_MAX; partials take at most budget_nbytes unless one copy needs
 * more.
 */
extern cudaError_t gr_weighted_gram_plan(WeightedGramPlan *plan, int p, size_t budget_nbytes);

/* Adds rows to partials. Asynchronous; nrows may be 0. */
extern cudaError_t gr_weighted_gram_launch(const WeightedGramPlan *plan, const WeightedGramRows *rows, double *partials,
										   cudaStream_t stream);

/*
 * Writes entries first .. first + nentries - 1 of the packed triangle (row by row) to sums. Where border, p + 1 of them
 * on the device, isn't NULL, the triangle has p + 1 rows, border is its first column, and G what is right of it.
 * Asynchronous.
 */
extern cudaError_t gr_weighted_gram_reduce_launch(const WeightedGramPlan *plan, const double *partials,
												  const double *border,
												  int64_t first, int64_t nentries, double *sums, cudaStream_t stream);

#endif							/* GPUREG_WEIGHTED_GRAM_CUH */
