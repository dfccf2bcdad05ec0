/*
 * derive.cuh: kernels that derive rows from kept rows on the device; derive.h defines the result. rows_derive.cu calls
 * them first.
 *
 * Kept rows lie in chunks. Each chunk is divided into tiles of tile_nrows rows, the last one shorter. Tiles are
 * numbered through all chunks:
 *
 *    chunk 0: | tile 0 | tile 1 | t2 |     chunk 1: | tile 3 | tile 4 | ..
 *
 * A tile has one bit (a mark) per row, which is set if the row takes part.
 *
 * Derived rows keep the order of the kept rows; DeriveInto says where they are written.
 */
#ifndef GPUREG_DERIVE_CUH
#define GPUREG_DERIVE_CUH

#include "cuda_util.cuh"

#include "compute/design/derivation.h"
#include "compute/dist/family.h"

#define DERIVE_TILE_MAX 1024	/* most rows of a tile */
#define DERIVE_TOTALS 512		/* partial totals, one per thread block */
#define DERIVE_NTOTALS 7		/* numbers of each: weights, ones, shares, two halves of constant and losses each */
#define DERIVE_NO_ROW UINT64_MAX

/* A derivation on the device, passed to kernels by value */
typedef struct DerivePlan
{
	GrRowShape	shape;			/* shape of derived rows */
	GrRowRules	rules;
	int			ncolumns;		/* numbers of a kept row */
	int			ncols;			/* numbers of a derived row */
	int			nsteps;
	int			nused;
	int			nmade;			/* numbers that are computed, not copied from a column */
	int			tile_nrows;		/* a multiple of 32 */
	const GrDerivedNumber *numbers;
	const GrDeriveFactor *factors;
	const GrFilterStep *steps;
	const int32_t *used;		/* columns that numbers use */
	const int32_t *made;		/* indexes of the computed numbers */
	const int32_t *column;		/* per number: the column that it copies or, if negative, -1 - its index in made */
} DerivePlan;

/* Rows of a chunk, or a part of them, in a launch */
typedef struct DeriveRows
{
	const double *rows;
	int64_t		nrows;
	int64_t		first;			/* number of the first row, through all chunks */
	int64_t		first_tile;		/* number of the first tile, through all chunks */
} DeriveRows;

/* Destination of derived rows: rows from number first on go to rows. The list ends with a first beyond all rows. */
typedef struct DeriveInto
{
	double	   *rows;
	int64_t		first;
} DeriveInto;

/* Results of launches. The caller clears them, and sets bad to DERIVE_NO_ROW. */
typedef struct DeriveFound
{
	unsigned long long nfiltered;
	unsigned long long nskipped;
	unsigned long long nweightless;
	unsigned long long bad;		/* first row that is not valid */
} DeriveFound;

/* Returns the rows of a tile for derived rows of ncols numbers. */
extern int	gr_derive_tile_nrows(int ncols);

/* Marks the rows that take part, counts the others, and writes the number of marked rows per tile to counts. */
extern cudaError_t gr_derive_mark_launch(const DerivePlan *plan, DeriveRows rows, uint32_t *marks, int64_t *counts,
										 DeriveFound *found, cudaStream_t stream);

/* Replaces the n counts by the sums of those before each. temp NULL: only sets *temp_nbytes. */
extern cudaError_t gr_derive_scan_launch(void *temp, size_t *temp_nbytes, int64_t *counts, int64_t n,
										 cudaStream_t stream);

/*
 * Writes the marked rows of each tile from row number offsets[tile] on, and finds the first row that is not valid.
 * marks NULL: writes all rows, each to its own number; then a weight of 0 is not valid, and work stops once a bad row
 * is found. into NULL: writes nothing.
 */
extern cudaError_t gr_derive_write_launch(const DerivePlan *plan, DeriveRows rows, const uint32_t *marks,
										  const int64_t *offsets, const DeriveInto *into, DeriveFound *found,
										  cudaStream_t stream);

/* Adds the totals of the marked rows (marks NULL: of all) to DERIVE_TOTALS x DERIVE_NTOTALS numbers. */
extern cudaError_t gr_derive_totals_launch(const DerivePlan *plan, DeriveRows rows, const uint32_t *marks,
										   double *totals, cudaStream_t stream);

#endif							/* GPUREG_DERIVE_CUH */
