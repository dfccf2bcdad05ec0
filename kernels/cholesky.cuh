/*
 * cholesky.cuh: the solve of ols.h on the device: S A S = L D L' in double-double, back substitution, and inv(L)' W
 * inv(L).
 *
 * Matrices are lower triangles of tiles, CHOLESKY_TILE x CHOLESKY_TILE and row-major; tile (I, J) is the I (I + 1) / 2
 * + J'th. An entry is hi and lo, and beside it, while sums go into it, the sum of its terms' magnitudes, which says at
 * the end whether more than rounding error is left. Rows and columns beyond the last row are padding: zeros and
 * aliased.
 *
 * Every entry is summed in an order that depends on the number of terms alone, so the same matrix gives the same bits.
 */
#ifndef GPUREG_CHOLESKY_CUH
#define GPUREG_CHOLESKY_CUH

#include "cuda_util.cuh"

#include "compute/backend/backend.h"

#define CHOLESKY_TILE 32

/* A job's places in device memory. "Padded" arrays are of ntiles x CHOLESKY_TILE entries. */
typedef struct Cholesky
{
	int			nterms;			/* m; the matrix has m + 1 rows */
	int			ntiles;			/* tiles that the m + 1 rows take */
	int			nterm_tiles;	/* ... and the terms alone: the same, or one less */
	double		noise;			/* a sum not above this share of its terms' magnitudes is 0 */

	/* results, in one piece from d to the end of aliased */
	double2    *d;				/* padded: D */
	double2    *row;			/* padded: the last row of L */
	double2    *coef;			/* padded */
	unsigned long long *first_bad;	/* the first packed entry that isn't finite; ULLONG_MAX: none */
	bool	   *aliased;		/* padded */
	size_t		results_nbytes;

	/* what comes with the matrix, in one piece from scale to the end of least_pivot */
	double	   *scale;			/* padded */
	double	   *least_pivot;	/* padded */

	double2    *weights;		/* padded: W */
	double	   *coef_magnitudes;	/* padded */
	double2    *u;				/* ntiles tiles: L D in the columns of the step */
	double2    *l;				/* triangle of tiles: A, then L */
	double	   *l_magnitudes;
	double	   *hi;				/* A as it comes: packed, without the rows passed over; the same memory as x */
	double	   *lo;
	double2    *x;				/* triangle of tiles: inv(L) */
	double	   *x_magnitudes;
	double	   *inverse;		/* m x m: the result; the same memory as l */
} Cholesky;

/*
 * Places a job of nentries packed entries at memory, of which it takes as many bytes as are returned; memory NULL: only
 * counts. noise is left to the caller.
 */
extern size_t gr_cholesky_place(Cholesky *c, int nterms, int64_t nentries, bool want_inverse, void *memory);

/*
 * All that follow are asynchronous, and return the state of the launch.
 *
 * load: packed entries, of which row i begins skip entries into packed row i + skip, to scaled tiles. factor: step k =
 * -1 factorises the first tile on the diagonal; step k, 0 .. ntiles - 2, takes column k of tiles through the matrix.
 * back: prepare, then steps k = ntiles .. 1. inverse: steps k = -1 .. nterm_tiles - 2 give inv(L). covariance: the rows
 * first .. end - 1 of tiles of the result.
 */
extern cudaError_t gr_cholesky_load_launch(const Cholesky *c, int skip, bool right_hand_side, cudaStream_t stream);
extern cudaError_t gr_cholesky_factor_launch(const Cholesky *c, int k, cudaStream_t stream);
extern cudaError_t gr_cholesky_back_prepare_launch(const Cholesky *c, cudaStream_t stream);
extern cudaError_t gr_cholesky_back_launch(const Cholesky *c, int k, cudaStream_t stream);
extern cudaError_t gr_cholesky_inverse_launch(const Cholesky *c, int k, cudaStream_t stream);
extern cudaError_t gr_cholesky_covariance_launch(const Cholesky *c, int first, int end, double divisor,
												 cudaStream_t stream);

#endif							/* GPUREG_CHOLESKY_CUH */
