/*
 * boot.h: passes of a bootstrap or a permutation test over the rows of a fit, and its replicates.
 * gpu_ols_boot, gpu_logreg_boot (fn_boot.c) and gpu_ols_permute (fn_permute.c) begin them; sinks make the passes.
 *
 * A replicate is one Newton step from the fit, which for a linear regression is the exact solution:
 *
 *   b_r = b + (sum of w u^2 z z')^-1 (sum of w u v z)
 *
 * w is how often the row occurs in the replicate (boot_draw.h); z, u and v are the row's as defined in glm.h, at b.
 * Rows are transformed to q = u B z. B holds the nonzero rows of a triangle C with C'C = (sum of u^2 z z')^-1, so the
 * sum of q q' is the identity without w and near it with w, for any scale of the columns. Float8 sums therefore
 * suffice: with G = sum of w q q' and h = sum of w q v, b_r = b + B' G^-1 h has an error of about 1e-14 of its standard
 * error.
 *
 * Sums of a pass of nreps replicates: the number of rows, then for each product of q (a packed triangle) and each entry
 * of q v one number per replicate:
 *
 *   sums[0]: rows;  sums[1 + k nreps + r]: product k in replicate r
 *
 * A permutation test has signs 1 or -1 in place of w (flip_draw.h). A replicate flips the residuals of the model
 * without a term. These are v + q'c with a vector c that belongs to the term, so its fit is solved from h + G c.
 */
#ifndef GPUREG_BOOT_H
#define GPUREG_BOOT_H

#include "compute/base/compute.h"
#include "compute/dist/family.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Most terms of a bootstrapped model: with more, a replicate's sums would be megabytes. */
#define GR_BOOT_TERMS_MAX 1000

/* Replicates per pass are best a multiple of this. */
#define GR_BOOT_LANES 32

typedef struct GrBootPass
{
	GrRowShape	shape;			/* shape of the rows: float8, with keys */
	GrDistribution distribution;
	const double *beta;			/* t coefficients of z = (1, x - shift) */
	const double *beta_lo;		/* t low parts of beta, beyond float8 */
	const double *shift;		/* nfeatures numbers */
	int			nactive;		/* rows of B */
	const double *factor;		/* nactive x t: B */
	const double *triangle;		/* C, packed; used by the caller only */
	uint64_t	seed;
	int64_t		first;			/* first replicate, a multiple of 4; with flips, of GR_BOOT_LANES */
	int			nreps;			/* 0: sums of influence are requested */
	/*
	 * CPU only. nreps x nactive: replicate r is summed about beta + B' steps[r], with u and v there. A row that begins
	 * with NaN leaves its replicate out. NULL: all replicates are summed about beta.
	 */
	const double *steps;
	/*
	 * ninfluence x nactive, only with nreps = 0. The sums are then the number of rows, the sum over rows of (a'q v)^2
	 * for each row a of influence, and the sum of (a'q v)^3 for each.
	 */
	const double *influence;
	int			ninfluence;		/* rows of influence */
	bool		flips;			/* draw signs instead of counts; steps must be NULL */
} GrBootPass;

#define GR_BOOT_HEAD 1

/* Returns the number of products summed per replicate. */
static inline int64_t
gr_boot_nproducts(int nactive)
{
	return gr_triangle(nactive) + nactive;
}

static inline size_t
gr_boot_nsums(const GrBootPass *pass)
{
	return GR_BOOT_HEAD + (pass->nreps == 0 ? 2 * (size_t) pass->ninfluence :
						   (size_t) gr_boot_nproducts(pass->nactive) * (size_t) pass->nreps);
}

/* Sets factor (room for nterms x nterms) to B, the nonzero rows of triangle (C). Returns the number of rows. */
extern int	gr_boot_factor(const double *triangle, int nterms, double *factor);

/* Returns how many replicates fit a pass whose sums take at most nbytes: nreps, or a multiple of GR_BOOT_LANES. */
extern int	gr_boot_reps_a_pass(int nactive, int nreps, size_t nbytes);

/*
 * Makes the pass on the CPU, adding nrows rows to sums. Returns false if canceled. The result depends on the rows, on
 * how they are split over calls, and on whether the processor has fused operations. scratch: gr_boot_scratch_nbytes()
 * bytes, aligned as float8.
 */
extern bool gr_boot_add(const GrBootPass *pass, double *sums, const double *rows, int64_t nrows, void *scratch,
						const GrHost *host);
extern size_t gr_boot_scratch_nbytes(const GrBootPass *pass);

/* gr_boot_add() on vectors of at most max_lanes doubles (1, 4 or 8), for the tests. */
extern bool gr_boot_add_lanes(const GrBootPass *pass, double *sums, const double *rows, int64_t nrows, void *scratch,
							  const GrHost *host, int max_lanes);

/*
 * Solves replicate r of a pass. delta: t numbers, the difference of z's coefficients from those that the replicate was
 * summed about. Returns false if G is singular: a pivot is below 1e-10 of its diagonal. work: nactive * (nactive + 3)
 * doubles; from GR_BOOT_STEP(nactive) on it then holds the step s, with delta = B' s.
 */
#define GR_BOOT_STEP(nactive) ((size_t) (nactive) * (size_t) (nactive))

extern bool gr_boot_solve(const GrBootPass *pass, const double *sums, int r, double *delta, double *work);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_BOOT_H */
