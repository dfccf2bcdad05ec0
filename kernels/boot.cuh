/*
 * boot.cuh: launches of a bootstrap's kernels; boot.cu has what they do, compute/resample/boot.h what is summed.
 *
 * Rows are made into q first, then passed over by as many blocks as partial sums have splits; those are merged at the
 * end. Launches go to one stream. The order of summation depends on the plan and on how rows are cut into launches
 * only.
 */
#ifndef GPUREG_BOOT_CUH
#define GPUREG_BOOT_CUH

#include "cuda_util.cuh"

#include "compute/resample/boot.h"

/* What a pass looks like on the device */
typedef struct BootTerms
{
	GrRowShape	shape;
	GrDistribution distribution;
	const double *beta;			/* t */
	const double *beta_lo;		/* t */
	const double *shift;		/* nfeatures */
	const double *factor;		/* nactive x t */
	int			nactive;
	uint64_t	seed;
	uint32_t	group;			/* the first replicate's, over 4 */
	int			nreps;
	const double *influence;	/* ninfluence x nactive, with nreps = 0 */
	int			ninfluence;
	bool		flips;			/* counts are signs */
} BootTerms;

typedef struct BootPlan
{
	int			pitch;			/* float8 of a row's q: these, v and the key */
	int			nproducts;
	int			ntiles;			/* tiles of 8 products that a block has in registers: 1, 2, 4 or 7 */
	int			nwarps;			/* of a block, 32 replicates each */
	int			nslices;		/* of replicates, a block each */
	int			nparts;			/* of products, likewise */
	int			nsplits;		/* of rows, likewise */
	int			rep_pitch;		/* replicates, rounded up */
	int			product_pitch;	/* products, rounded up */
	size_t		partials_ndoubles;
} BootPlan;

/* Of a pass on a device of so many multiprocessors */
extern BootPlan gr_boot_plan_launches(const GrBootPass *pass, int nsms);

/* rows -> q, plan->pitch float8 a row */
extern cudaError_t gr_boot_make_launch(const BootPlan *plan, const BootTerms *terms, const double *rows,
									   int64_t nrows, double *q, cudaStream_t stream);

/* Adds rows to the partial sums, which are 0 to begin with. */
extern cudaError_t gr_boot_sum_launch(const BootPlan *plan, const BootTerms *terms, const double *q, int64_t nrows,
									  double *partials, cudaStream_t stream);

/* sums: those of a pass behind its head */
extern cudaError_t gr_boot_merge_launch(const BootPlan *plan, const BootTerms *terms, const double *partials,
										double *sums, cudaStream_t stream);

#endif							/* GPUREG_BOOT_CUH */
