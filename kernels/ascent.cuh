/*
 * ascent.cuh: batch gradient ascent for logistic regression, with all iterations in one kernel, on one thread block
 * that keeps the rows in registers. rows_ascent.cu calls it first.
 *
 * An iteration is beta += rate (X'(y - mu) - l2 (0, b)), mu = 1 / (1 + exp(-X beta)), X = (1, x). The state stays in
 * device memory between launches; the result has the same bits however iterations are divided into launches. The order
 * of summation depends only on the type and on the numbers of rows and features.
 */
#ifndef GPUREG_ASCENT_CUH
#define GPUREG_ASCENT_CUH

#include "cuda_util.cuh"

#include "compute/backend/backend.h"
#include "compute/glm/glm.h"

#define GR_ASCENT_MAX_FEATURES 16

/*
 * State passed from one launch to the next. beta is stored times log2(e), so that exp(eta) is a power of two of a dot
 * product; float4 jobs store float4 values.
 */
typedef struct GrAscentState
{
	int64_t		iterations;		/* iterations done, over all launches */
	int64_t		converged;		/* 1: the gradient passed the test, and later launches do nothing */
	double		scaled_beta[GR_ASCENT_MAX_FEATURES + 1];	/* for (1, x); gr_nterms(nfeatures) are used */
} GrAscentState;

#define GR_LOG2_E 1.4426950408889634
#define GR_LN_2 0.6931471805599453

/* Returns the bytes of the state in use, which the host and the device exchange. */
static inline size_t
gr_ascent_state_nbytes(int nfeatures)
{
	return offsetof(GrAscentState, scaled_beta) + sizeof(double) * (size_t) gr_nterms(nfeatures);
}

/* Sets a state before its first iteration. beta: of (1, x); single: as in GrAscent. */
static inline void
gr_ascent_state_set(GrAscentState *state, const double *beta, int nfeatures, bool single)
{
	*state = GrAscentState();
	for (int j = 0; j <= nfeatures; j++)
	{
		state->scaled_beta[j] = beta[j] * GR_LOG2_E;
		if (single)
			state->scaled_beta[j] = (float) state->scaled_beta[j];
	}
}

/*
 * Reads beta from a state. Without an intercept, beta[0] is left alone. Coefficients beyond their type's range, as
 * after ascent at too high a rate, are not finite.
 */
static inline void
gr_ascent_state_get(const GrAscentState *state, double *beta, int nfeatures, bool intercept)
{
	for (int j = intercept ? 0 : 1; j <= nfeatures; j++)
		beta[j] = state->scaled_beta[j] * GR_LN_2;
}

/* True if one thread block's registers can hold the rows. */
extern bool gr_ascent_fits(int nfeatures, int64_t nrows, bool single);

/* Data of an ascent, in device memory */
typedef struct AscentData
{
	const double *scale;		/* for (1, x); NULL: do not test the gradient */
	const double *rows;			/* plain rows, with a response of 0 or 1 */
	int64_t		nrows;
	int			nfeatures;
	void	   *state;			/* gr_ascent_state_nbytes(nfeatures) bytes */
} AscentData;

/*
 * Runs niterations iterations, or fewer if the gradient passes ascent's test. The test is made when the number of
 * iterations over all launches is a multiple of check_every, with the gradient of the last iteration, before its
 * update. The caller observes ascent->max_iter and limits the time of a launch. Asynchronous.
 *
 * ascent->scale is not used. Returns cudaErrorInvalidValue if the rows do not fit. Features beyond float4's range make
 * the coefficients of a float4 job not finite.
 */
extern cudaError_t gr_ascent_launch(const GrAscent *ascent, const AscentData *data, int64_t niterations,
									cudaStream_t stream);

/*
 * For tests and timing: sets the threads and the rows per thread of layout number shape. Returns false if there is no
 * such layout. gr_ascent_launch_shape() with shape >= 0 uses that layout, and fails with cudaErrorInvalidValue if the
 * job does not fit it.
 */
extern bool gr_ascent_shape(int shape, int *nthreads, int *nexamples);
extern cudaError_t gr_ascent_launch_shape(int shape, const GrAscent *ascent, const AscentData *data,
										  int64_t niterations, cudaStream_t stream);

#endif							/* GPUREG_ASCENT_CUH */
