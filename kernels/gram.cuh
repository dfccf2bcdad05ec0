/*
 * gram.cuh: the Gram primitive on the device: packed lower triangles in double-double, summed over blocks of rows.
 *
 * A plan says how one job is laid out on one device; partials is its state, partials_nbytes of device memory that the
 * caller zeroes (zero bytes are zero sums) before the first launch. Every launch adds a block of rows to it; reduce
 * turns it into entries. Launches that share partials go to one stream. The order of summation depends on the plan and
 * the sizes of the blocks only, so the same blocks give the same bits.
 */
#ifndef GPUREG_GRAM_CUH
#define GPUREG_GRAM_CUH

#include "cuda_util.cuh"

#include "compute/base/dd_dot.h"
#include "compute/base/row.h"

/* What a kernel needs to know about its share of the triangle; see gram.cu. */
typedef struct GramShape
{
	int			ncols;			/* of the rows, whatever they are: from one to the next */
	int			q;				/* entries of (1, x, y) */
	int			weight_at;		/* the column of weights; 0: there is none */
	int			tiled;			/* 0: a thread block owns micro tiles in triangle order; 1: a square of them */
	int			nmicros;		/* micro tiles in all (triangle order only) */
	int			micros_per_block;
	int			nslices;		/* threads that share a micro tile, each taking every nslices-th row */
	int			staged_ld;		/* float8 per row in shared memory */
	int			stage_nrows;	/* rows in shared memory at a time */
	int			stages_per_flush;	/* stages between additions to the partials */
} GramShape;

typedef struct GramPlan
{
	GramShape	shape;
	int			micro;			/* edge of the micro tile a thread owns: 2 or 4 */
	int			nthreads;
	int			nblocks;		/* thread blocks that cover the triangle once */
	int			nsplits;		/* copies of the triangle, each over its own rows of a launch */
	int			nsms;
	int			min_rows_per_split;
	int64_t		max_rows_per_launch;	/* keeps a launch far below 100 ms */
	size_t		staged_nbytes;
	size_t		partials_nbytes;
} GramPlan;

/* Plans for the current device; partials take at most budget_nbytes unless a single split needs more. */
extern cudaError_t gr_gram_plan(GramPlan *plan, GrRowShape rows, size_t budget_nbytes);

/*
 * Adds nrows device rows to partials, less shift, which is of the features and the response, on the device; NULL: as
 * they are.
 * Asynchronous; nrows may be 0.
 */
extern cudaError_t gr_gram_launch(const GramPlan *plan, double2 *partials, const double *rows, int64_t nrows,
								  cudaStream_t stream, const double *shift = NULL);

/* Writes entries first .. first + nentries - 1 of the packed triangle to device arrays. Asynchronous. */
extern cudaError_t gr_gram_reduce_launch(const GramPlan *plan, const double2 *partials, int64_t first, int64_t nentries,
										 GrDDVector to, cudaStream_t stream);

#endif							/* GPUREG_GRAM_CUH */
