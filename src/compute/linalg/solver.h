/*
 * solver.h: the interface of a device that factorises matrices of many terms.
 *
 * gr_ols_solve() and gr_normal_solve() call a device through a GrSolver, and solve on the host if they have none.
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
 * A job of a solver: the factorisation S A S = L D L' in double-double of a matrix of m = nterms terms and a last row,
 * the response's. Follows the rules of ols.h: which terms are aliased, and which sums are exactly 0.
 */
typedef struct GrFactorJob
{
	const double *hi;			/* A: packed triangle of skip + m + 1 rows, the first skip of which are ignored */
	const double *lo;
	int			skip;
	GrMatrixRows rows;			/* kind of the triangle's rows, for errors */
	int			nterms;			/* m: 1 .. GR_MAX_FEATURES + 1 */
	bool		right_hand_side;	/* the last row's diagonal entry counts as 0 */
	const double *scale;		/* m + 1 powers of two: the diagonal of S */
	const double *least_pivot;	/* m: a term is aliased unless its pivot is above this */
	double		noise;			/* a sum not above this share of its terms' magnitudes is 0 */
	bool		want_inverse;	/* ops->inverse will be called */
	size_t		memory_limit;	/* limit of the job's device memory in bytes; 0: none */

	bool	   *aliased;		/* m; input: terms to leave out; output: also terms found to be collinear */
	double	   *d_hi;			/* m + 1, output: D */
	double	   *d_lo;
	double	   *row_hi;			/* m, output: the last row of L, z' */
	double	   *row_lo;
	double	   *coef_hi;		/* m, output: b in L' b = z, scaled as A; 0 for aliased terms */
	double	   *coef_lo;
} GrFactorJob;

typedef struct GrSolverOps
{
	/*
	 * Factorises and sets the output members of job. Fails with GR_OUT_OF_RANGE (where: the column of A's row, by
	 * job->rows) at the first entry that is not finite. Polls host.
	 */
	bool		(*begin) (GrSession *session, const GrFactorJob *job, GrFactor **factor, const GrHost *host,
						  GrError *err);
	/*
	 * Writes the symmetric m x m matrix T inv(L)' W inv(L) T, where W is diagonal in double-double (0 for aliased
	 * terms) and T = S / divisor, a power of two. Rows and columns of aliased terms are NaN. May be called once. Polls
	 * host.
	 */
	bool		(*inverse) (GrFactor *factor, GrDDConstVector w, double divisor, double *inverse, const GrHost *host,
							GrError *err);
	void		(*end) (GrFactor *factor);
} GrSolverOps;

/* A device that may factorise matrices. A NULL pointer to a GrSolver means that the host does. */
typedef struct GrSolver
{
	const GrSolverOps *ops;
	GrSession  *session;		/* the open session */
	size_t		memory_limit;	/* limit of a solve's device memory in bytes; 0: none */
	int			min_terms;		/* systems with fewer terms are solved on the CPU; 0: GR_SOLVER_MIN_TERMS */
} GrSolver;

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_SOLVER_H */
