/*
 * boot.cuh: kernels of bootstraps and permutation tests: rows are made into q, and the products of q summed for all
 * replicates. rows_boot.cu calls them first. compute/resample/boot.h defines the sums, boot.cu the layout.
 *
 * Thread blocks pass over q in splits, each with partial sums, which are merged at the end. All launches of a pass go
 * to one stream. The order of summation depends only on the plan and on how rows are divided into launches.
 */
#ifndef GPUREG_BOOT_CUH
#define GPUREG_BOOT_CUH

#include "cuda_util.cuh"

#include "compute/resample/boot.h"

/* Arguments of a pass; arrays are in device memory. */
typedef struct BootTerms
{
	GrRowShape	shape;
	GrDistribution distribution;
	const double *beta;			/* t numbers */
	const double *beta_lo;		/* t numbers */
	const double *shift;		/* nfeatures numbers */
	const double *factor;		/* nactive x t numbers */
	int			nactive;
	uint64_t	seed;
	uint32_t	group;			/* number of the first replicate, over 4 */
	int			nreps;
	const double *influence;	/* ninfluence x nactive numbers; only if nreps is 0 */
	int			ninfluence;
	bool		flips;			/* counts are signs */
} BootTerms;

typedef struct BootPlan
{
	int			pitch;			/* float8 per row of q: nactive entries, v and the key */
	int			nproducts;
	int			ntiles;			/* tiles of 8 products in a thread block's registers: 1, 2, 4 or 7 */
	int			nwarps;			/* warps of a thread block, each with 32 replicates */
	int			nslices;		/* slices of the replicates, one thread block each */
	int			nparts;			/* parts of the products, one thread block each */
	int			nsplits;		/* splits of the rows, one thread block each */
	int			rep_pitch;		/* replicates, rounded up */
	int			product_pitch;	/* products, rounded up */
	size_t		partials_ndoubles;
} BootPlan;

/* Plans a pass on a device of nsms multiprocessors. */
extern BootPlan gr_boot_plan_launches(const GrBootPass *pass, int nsms);

/* Makes q, plan->pitch float8 per row, of nrows rows. */
extern cudaError_t gr_boot_make_launch(const BootPlan *plan, const BootTerms *terms, const double *rows,
									   int64_t nrows, double *q, cudaStream_t stream);

/* Adds nrows rows of q to the partial sums, which must be 0 before the first launch. */
extern cudaError_t gr_boot_sum_launch(const BootPlan *plan, const BootTerms *terms, const double *q, int64_t nrows,
									  double *partials, cudaStream_t stream);

/* Merges the partial sums into sums, the pass's sums after its head. */
extern cudaError_t gr_boot_merge_launch(const BootPlan *plan, const BootTerms *terms, const double *partials,
										double *sums, cudaStream_t stream);

#endif							/* GPUREG_BOOT_CUH */
