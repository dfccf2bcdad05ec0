/*
 * solver.h: the interface of what factorises a matrix of many terms, such as a device.
 *
 * gr_ols_solve() and gr_normal_solve() call it through a GrSolver and solve by themselves where they are given none.
 */
#ifndef GPUREG_SOLVER_H
#define GPUREG_SOLVER_H

#include "compute/base/compute.h"
#include "compute/base/dd_dot.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct GrSession GrSession; /* an open device; NULL on the CPU */
typedef struct GrFactor GrFactor;	/* a factorised matrix */

/*
 * Solvers, for many terms: a factorisation S A S = L D L' in double-double of a matrix of m = nterms terms and a last
 * row, the response's; see ols.h, whose rules it follows: which terms are aliased, and which sums are exactly 0.
 */
typedef struct GrFactorJob
{
	const double *hi;			/* A: packed triangle of skip + m + 1 rows, the first skip of which are passed over */
	const double *lo;
	int			skip;
	GrMatrixRows rows;			/* what the triangle's rows are, for errors */
	int			nterms;			/* m: 1 .. GR_MAX_FEATURES + 1 */
	bool		right_hand_side;	/* the last row's diagonal entry counts as 0, whatever it is */
	const double *scale;		/* m + 1 powers of two: the diagonal of S */
	const double *least_pivot;	/* m: a term is aliased unless its pivot is above this */
	double		noise;			/* a sum not above this share of its terms' magnitudes is 0 */
	bool		want_inverse;	/* inverse will be called */
	size_t		memory_limit;	/* device memory this job may take, bytes; 0: no limit but the device's */

	bool	   *aliased;		/* m; in: those to leave out; out: and those found to be collinear */
	double	   *d_hi;			/* m + 1, out: D */
	double	   *d_lo;
	double	   *row_hi;			/* m, out: the last row of L, z' */
	double	   *row_lo;
	double	   *coef_hi;		/* m, out: b in L' b = z, scaled as A is; 0 for aliased terms */
	double	   *coef_lo;
} GrFactorJob;

typedef struct GrSolverOps
{
	/*
	 * Factorises and fills what is out in job; fails with GR_OUT_OF_RANGE (where: the column of A's row, as job->rows
	 * tells) at the first entry that isn't finite. Polls host.
	 */
	bool		(*begin) (GrSession *session, const GrFactorJob *job, GrFactor **factor, const GrHost *host,
						  GrError *err);
	/*
	 * Writes the symmetric m x m matrix T inv(L)' W inv(L) T, W being diagonal in double-double (0 for aliased terms)
	 * and T = S / divisor, a power of two; NaN in the rows and columns of aliased terms. May be called once; polls
	 * host.
	 */
	bool		(*inverse) (GrFactor *factor, GrDDConstVector w, double divisor, double *inverse, const GrHost *host,
							GrError *err);
	void		(*end) (GrFactor *factor);
} GrSolverOps;

/* Where ols.c may have its matrices factorised; a NULL pointer in its place: by itself. */
typedef struct GrSolver
{
	const GrSolverOps *ops;
	GrSession  *session;		/* open */
	size_t		memory_limit;	/* device memory a solve may take, bytes; 0: no limit but the device's */
	int			min_terms;		/* fewer are solved on the CPU; 0: from where on the device is faster */
} GrSolver;

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_SOLVER_H */
