/*
 * ascent.cuh: batch gradient ascent for logistic regression with all iterations in one kernel, on one thread block that
 * keeps the examples in registers.
 *
 * One iteration is beta += rate (X'(y - mu) - l2 (0, b)), mu = 1 / (1 + exp(-X beta)), X = (1, x). The state lives in
 * device memory between launches; how the iterations are cut into launches doesn't change a bit of the result. The
 * order of summation depends on the type and on the numbers of rows and features only.
 */
#ifndef GPUREG_ASCENT_CUH
#define GPUREG_ASCENT_CUH

#include "cuda_util.cuh"

#include "compute/backend/backend.h"
#include "compute/glm/glm.h"

#define GR_ASCENT_MAX_FEATURES 16

/*
 * What launches hand on to each other. beta is kept times log2(e), so that exp(eta) is a power of two of a dot product;
 * in float4 jobs the values are float4's.
 */
typedef struct GrAscentState
{
	int64_t		iterations;		/* done so far, over all launches */
	int64_t		converged;		/* 1: stopped for that, and later launches do nothing */
	double		scaled_beta[GR_ASCENT_MAX_FEATURES + 1];	/* of (1, x); those that there are in use */
} GrAscentState;

#define GR_LOG2_E 1.4426950408889634
#define GR_LN_2 0.6931471805599453

/* Bytes of the state in use, on the host and on the device: what has to be copied. */
static inline size_t
gr_ascent_state_nbytes(int nfeatures)
{
	return offsetof(GrAscentState, scaled_beta) + sizeof(double) * (size_t) gr_nterms(nfeatures);
}

/* A state before its first iteration; single: as in GrAscent. beta: of (1, x). */
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
 * beta from a state. Without an intercept beta[0] stays as it is. Coefficients that left the range of their type are
 * not finite; ascent at too high a rate does that.
 */
static inline void
gr_ascent_state_get(const GrAscentState *state, double *beta, int nfeatures, bool intercept)
{
	for (int j = intercept ? 0 : 1; j <= nfeatures; j++)
		beta[j] = state->scaled_beta[j] * GR_LN_2;
}

/* Whether one thread block's registers hold the examples. */
extern bool gr_ascent_fits(int nfeatures, int64_t nrows, bool single);

/* What an ascent is over; memory is on the device. */
typedef struct AscentData
{
	const double *scale;		/* of (1, x); NULL: no test */
	const double *rows;			/* plain, the response 0 or 1 */
	int64_t		nrows;
	int			nfeatures;
	void	   *state;			/* gr_ascent_state_nbytes(nfeatures) */
} AscentData;

/*
 * Runs niterations iterations, fewer if the gradient passes ascent's test on the way: looked at whenever the number of
 * iterations over all launches is a multiple of check_every, the last iteration's, before its update. ascent->max_iter
 * is the caller's to keep, and so is the time a launch takes. Asynchronous.
 *
 * ascent->scale is not looked at. cudaErrorInvalidValue if the rows don't fit. Features beyond float4's range make a
 * float4 job's coefficients not finite.
 */
extern cudaError_t gr_ascent_launch(const GrAscent *ascent, const AscentData *data, int64_t niterations,
									cudaStream_t stream);

/*
 * For tests and timing: the layouts there are. False if there are no more than shape; else its threads and the examples
 * each of them holds. A launch with shape >= 0 uses that one, and fails with cudaErrorInvalidValue where it doesn't
 * fit.
 */
extern bool gr_ascent_shape(int shape, int *nthreads, int *nexamples);
extern cudaError_t gr_ascent_launch_shape(int shape, const GrAscent *ascent, const AscentData *data,
										  int64_t niterations, cudaStream_t stream);

#endif							/* GPUREG_ASCENT_CUH */
