/*
 * cholesky.cuh: the solve of ols.h on the device: S A S = L D L' in double-double, back substitution, and inv(L)' W
 * inv(L). solve_cuda.cu calls it first.
 *
 * A matrix is a lower triangle of tiles of CHOLESKY_TILE x CHOLESKY_TILE entries. Tiles are stored in the order of a
 * packed triangle, each row-major:
 *
 *    tile 0                   tile (I, J) is number I (I + 1) / 2 + J
 *    tile 1  tile 2
 *    tile 3  tile 4  tile 5
 *
 * An entry is hi and lo. While an entry is being summed, the sum of its terms' magnitudes is kept beside it, which
 * tells at the end whether more than rounding error is left. Rows and columns after the last one are padding: zeros,
 * and aliased.
 *
 * The order of each sum depends only on the number of terms, so the same matrix gives the same bits.
 */
#ifndef GPUREG_CHOLESKY_CUH
#define GPUREG_CHOLESKY_CUH

#include "cuda_util.cuh"

#include "compute/backend/backend.h"

#define CHOLESKY_TILE 32

/* Arrays of a job, in device memory. "Padded" arrays have ntiles x CHOLESKY_TILE entries. */
typedef struct Cholesky
{
	int			nterms;			/* m; the matrix has m + 1 rows */
	int			ntiles;			/* tiles along the m + 1 rows */
	int			nterm_tiles;	/* tiles along the terms: ntiles or one less */
	double		noise;			/* a sum of at most this share of its terms' magnitudes is 0 */

	/* Results: one block from d to the end of aliased. */
	double2    *d;				/* padded: D */
	double2    *row;			/* padded: the last row of L */
	double2    *coef;			/* padded */
	unsigned long long *first_bad;	/* first packed entry that is not finite; ULLONG_MAX: none */
	bool	   *aliased;		/* padded */
	size_t		results_nbytes;

	/* Input besides the matrix: one block from scale to the end of least_pivot. */
	double	   *scale;			/* padded */
	double	   *least_pivot;	/* padded */

	double2    *weights;		/* padded: W */
	double	   *coef_magnitudes;	/* padded */
	double2    *u;				/* ntiles tiles: L D of the present column of tiles */
	double2    *l;				/* triangle of tiles: A, then L */
	double	   *l_magnitudes;
	double	   *hi;				/* A as uploaded: packed, without the skipped rows; shares memory with x */
	double	   *lo;
	double2    *x;				/* triangle of tiles: inv(L) */
	double	   *x_magnitudes;
	double	   *inverse;		/* m x m: the result; shares memory with l */
} Cholesky;

/*
 * Sets the arrays of a job of nentries packed entries to parts of memory, and returns the bytes used; memory NULL: only
 * counts. The caller sets noise.
 */
extern size_t gr_cholesky_place(Cholesky *c, int nterms, int64_t nentries, bool want_inverse, void *memory);

/*
 * The launches below are asynchronous and return the launch's error.
 *
 * - load: scales packed entries into tiles; row i of the packed entries begins at entry skip of packed row i + skip.
 * - factor: step k = -1 factors the first tile on the diagonal; step k = 0 .. ntiles - 2 takes column k of tiles
 *   through the matrix.
 * - back: prepare, then steps k = ntiles .. 1.
 * - inverse: steps k = -1 .. nterm_tiles - 2 make inv(L).
 * - covariance: rows first .. end - 1 of the result's tiles.
 */
extern cudaError_t gr_cholesky_load_launch(const Cholesky *c, int skip, bool right_hand_side, cudaStream_t stream);
extern cudaError_t gr_cholesky_factor_launch(const Cholesky *c, int k, cudaStream_t stream);
extern cudaError_t gr_cholesky_back_prepare_launch(const Cholesky *c, cudaStream_t stream);
extern cudaError_t gr_cholesky_back_launch(const Cholesky *c, int k, cudaStream_t stream);
extern cudaError_t gr_cholesky_inverse_launch(const Cholesky *c, int k, cudaStream_t stream);
extern cudaError_t gr_cholesky_covariance_launch(const Cholesky *c, int first, int end, double divisor,
												 cudaStream_t stream);

#endif							/* GPUREG_CHOLESKY_CUH */
