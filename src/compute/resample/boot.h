/*
 * boot.h: passes of a bootstrap over the rows of a fit, and its replicates.
 *
 * Replicates are one Newton step from the fit, which is all the way for a linear regression: b_r = b + (sum of w u^2 z
 * z')^-1 (sum of w u v z), where w is how often the row stands in the replicate (boot_draw.h), and z, u and v are the
 * row's as glm.h has them at b. Rows are taken as q = u B z, where B has the rows of a triangle C with C'C = (sum of
 * u^2 z z')^-1 that aren't 0: without w the sum of q q' is the identity, and with w it is about that, whatever the
 * columns are. So sums in float8 are good: with G = sum of w q q' and h = sum of w q v it is b_r = b + B' G^-1 h, to
 * some 1e-14 of its standard error.
 *
 * The sums of a pass are the number of rows and, of nreps replicates, a number for each of them of each of the products
 * of q, packed as a triangle is, and then of q v.
 *
 * A permutation test's sums are the same with signs for w, 1 or -1 (flip_draw.h). A replicate flips the residuals of
 * the model without a term, which are v + q'c with a vector c of the term's, so that h + G c is what its fit is of.
 */
#ifndef GPUREG_BOOT_H
#define GPUREG_BOOT_H

#include "compute/base/compute.h"
#include "compute/dist/family.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A model of more terms is not for a bootstrap: its sums would be megabytes a replicate. */
#define GR_BOOT_TERMS_MAX 1000

/* Replicates of a pass: a multiple of this is what kernels like. */
#define GR_BOOT_LANES 32

typedef struct GrBootPass
{
	GrRowShape	shape;			/* of the rows, which are not single and have keys */
	GrDistribution distribution;
	const double *beta;			/* t: of z = (1, x - shift) */
	const double *beta_lo;		/* t: what it has beyond its digits */
	const double *shift;		/* nfeatures */
	int			nactive;		/* rows of B */
	const double *factor;		/* nactive x t: B */
	const double *triangle;		/* C, packed; of no use to the pass itself */
	uint64_t	seed;
	int64_t		first;			/* replicate, a multiple of 4; with flips of GR_BOOT_LANES */
	int			nreps;			/* 0: influence is wanted */
	/*
	 * nreps x nactive: replicate r is summed about beta + B' times its line, with the u and v that rows have there, and
	 * not at all where the line begins with a NaN; NULL: all are about beta. On the CPU
	 */
	const double *steps;
	/*
	 * n x nactive, with nreps = 0: the sums are the number of rows, and of each line a the sums of (a'q v)^2 and of
	 * (a'q v)^3, n of those and n of these
	 */
	const double *influence;
	int			ninfluence;		/* n */
	bool		flips;			/* signs are drawn in the place of counts: without steps */
} GrBootPass;

#define GR_BOOT_HEAD 1

/* Products of a replicate */
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

/* B from C, into room for t x t; how many lines it has */
extern int	gr_boot_factor(const double *triangle, int nterms, double *factor);

/* Replicates of a pass whose sums take so many bytes, at most: a multiple of GR_BOOT_LANES, or all that are wanted */
extern int	gr_boot_reps_a_pass(int nactive, int nreps, size_t nbytes);

/*
 * The pass on the CPU: adds nrows rows to sums. False if the host asked to stop. The result depends on the rows and on
 * how they are split over calls, and on whether the processor has fused operations. scratch: gr_boot_scratch_nbytes()
 * bytes, aligned as float8.
 */
extern bool gr_boot_add(const GrBootPass *pass, double *sums, const double *rows, int64_t nrows, void *scratch,
						const GrHost *host);
extern size_t gr_boot_scratch_nbytes(const GrBootPass *pass);

/* The same on vectors of at most max_lanes doubles (1, 4 or 8), for the tests. */
extern bool gr_boot_add_lanes(const GrBootPass *pass, double *sums, const double *rows, int64_t nrows, void *scratch,
							  const GrHost *host, int max_lanes);

/*
 * Replicate r of the pass: delta, t of them, is by how much the coefficients of z differ from those that it was summed
 * about. False if it is singular: less than 1e-10 of what a term tells beyond those before it is left. work: nactive *
 * (nactive + 3) doubles; those from GR_BOOT_STEP(nactive) on are then the step, delta being B' times it
 */
#define GR_BOOT_STEP(nactive) ((size_t) (nactive) * (size_t) (nactive))

extern bool gr_boot_solve(const GrBootPass *pass, const double *sums, int r, double *delta, double *work);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_BOOT_H */
