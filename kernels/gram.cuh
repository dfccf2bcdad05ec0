/*
 * gram.cuh: Gram matrices on the device: packed lower triangles in double-double, summed over blocks of rows.
 * gram_cuda.cu calls them first.
 *
 * A plan lays out a job on one device. Its state is partials, partials_nbytes of device memory, which the caller zeroes
 * before the first launch (zero bytes are zero sums). Every launch adds a block of rows; reduce makes entries of the
 * partials. Launches that share partials go to one stream. The order of summation depends only on the plan and the
 * sizes of the blocks, so the same blocks give the same bits.
 */
#ifndef GPUREG_GRAM_CUH
#define GPUREG_GRAM_CUH

#include "cuda_util.cuh"

#include "compute/base/dd_dot.h"
#include "compute/base/row.h"

/* Division of the triangle among a kernel's threads; see gram.cu. */
typedef struct GramShape
{
	int			ncols;			/* stride of rows, in float8 */
	int			q;				/* entries of (1, x, y) */
	int			weight_at;		/* column of weights; 0: none */
	/* 0: thread blocks own micro tiles in triangle order; 1: a thread block owns a square of them */
	int			tiled;
	int			nmicros;		/* micro tiles in all; triangle order only */
	int			micros_per_block;
	int			nslices;		/* threads that share a micro tile; each takes every nslices-th row */
	int			staged_ld;		/* float8 per row in shared memory */
	int			stage_nrows;	/* rows staged in shared memory at a time */
	int			stages_per_flush;	/* stages between additions to the partials */
} GramShape;

typedef struct GramPlan
{
	GramShape	shape;
	int			micro;			/* edge of a thread's micro tile: 2 or 4 */
	int			nthreads;
	int			nblocks;		/* thread blocks that cover the triangle once */
	int			nsplits;		/* copies of the triangle; each sums its own rows of a launch */
	int			nsms;
	int			min_rows_per_split;
	int64_t		max_rows_per_launch;	/* keeps a launch far below 100 ms */
	size_t		staged_nbytes;
	size_t		partials_nbytes;
} GramPlan;

/* Plans for the current device. Partials take at most budget_nbytes, unless a single split takes more. */
extern cudaError_t gr_gram_plan(GramPlan *plan, GrRowShape rows, size_t budget_nbytes);

/*
 * Adds nrows rows on the device, minus shift, to partials. shift: for the features and the response, on the device;
 * NULL: no shift. Asynchronous; nrows may be 0.
 */
extern cudaError_t gr_gram_launch(const GramPlan *plan, double2 *partials, const double *rows, int64_t nrows,
								  cudaStream_t stream, const double *shift = NULL);

/* Writes entries first .. first + nentries - 1 of the packed triangle to device arrays. Asynchronous. */
extern cudaError_t gr_gram_reduce_launch(const GramPlan *plan, const double2 *partials, int64_t first, int64_t nentries,
										 GrDDVector to, cudaStream_t stream);

#endif							/* GPUREG_GRAM_CUH */
