/*
 * derive.cuh: rows on the device that are made of others there; see derive.h for what is made of them, and of which.
 *
 * Rows that are there lie in chunks. Their tiles, tile_nrows rows each and the last of a chunk fewer, are numbered
 * through all chunks; a tile's marks are a bit a row, set where the row takes part. Derived rows are written in the
 * order of those that they come of, to wherever DeriveInto says.
 */
#ifndef GPUREG_DERIVE_CUH
#define GPUREG_DERIVE_CUH

#include "cuda_util.cuh"

#include "compute/design/derivation.h"
#include "compute/dist/family.h"

#define DERIVE_TILE_MAX 1024	/* rows of a tile */
#define DERIVE_TOTALS 512		/* parts of the totals, a block each */
#define DERIVE_NTOTALS 5		/* numbers of each: weights, ones, shares, the constant's two halves */
#define DERIVE_NO_ROW UINT64_MAX

/* A derivation on the device; an argument of the kernels */
typedef struct DerivePlan
{
	GrRowShape	shape;			/* of derived rows */
	GrRowRules	rules;
	int			ncolumns;		/* of those that are there */
	int			ncols;			/* of derived rows */
	int			nsteps;
	int			nused;
	int			nmade;			/* numbers that aren't columns as they stand */
	int			tile_nrows;		/* a multiple of 32 */
	const GrDerivedNumber *numbers;
	const GrDeriveFactor *factors;
	const GrFilterStep *steps;
	const int32_t *used;		/* columns that numbers use */
	const int32_t *made;		/* which numbers those are */
	const int32_t *column;		/* which column a number is, or, less than 0, which of those: -1, -2, ... */
} DerivePlan;

/* Rows of a chunk, or some of them, in a launch */
typedef struct DeriveRows
{
	const double *rows;
	int64_t		nrows;
	int64_t		first;			/* the number of the first of them, through all chunks */
	int64_t		first_tile;		/* likewise, of its tile */
} DeriveRows;

/* Where derived rows go: from row number first on to rows; the last entry's first is that of no row any more */
typedef struct DeriveInto
{
	double	   *rows;
	int64_t		first;
} DeriveInto;

/* What launches count and find; cleared by the caller, bad to DERIVE_NO_ROW */
typedef struct DeriveFound
{
	unsigned long long nfiltered;
	unsigned long long nskipped;
	unsigned long long nweightless;
	unsigned long long bad;		/* the first row that isn't valid */
} DeriveFound;

/* Rows of a tile: what a block has enough to do with */
extern int	gr_derive_tile_nrows(int ncols);

/* Marks the rows that take part, counts those that don't, and writes how many do to counts, a tile each. */
extern cudaError_t gr_derive_mark_launch(const DerivePlan *plan, DeriveRows rows, uint32_t *marks, int64_t *counts,
										 DeriveFound *found, cudaStream_t stream);

/* The sums of the counts before each. temp NULL: sets *temp_nbytes to what is needed */
extern cudaError_t gr_derive_scan_launch(void *temp, size_t *temp_nbytes, int64_t *counts, int64_t n,
										 cudaStream_t stream);

/*
 * Writes the rows that are marked, a tile's from row number offsets[tile] on, and finds the first that isn't valid.
 * marks NULL: all, each to its own number; a weight of 0 isn't valid then, and once any is found that isn't, the rest
 * is left. into NULL: nothing is written
 */
extern cudaError_t gr_derive_write_launch(const DerivePlan *plan, DeriveRows rows, const uint32_t *marks,
										  const int64_t *offsets, const DeriveInto *into, DeriveFound *found,
										  cudaStream_t stream);

/* Adds the totals of the rows that are marked (NULL: of all) to DERIVE_TOTALS times DERIVE_NTOTALS numbers. */
extern cudaError_t gr_derive_totals_launch(const DerivePlan *plan, DeriveRows rows, const uint32_t *marks,
										   double *totals, cudaStream_t stream);

#endif							/* GPUREG_DERIVE_CUH */
