/*
 * cells.h: makes the Gram matrix of a design with factors from sums by cell. A cell is a combination of levels, one of
 * each factor. The sums of a cell are the Gram matrix of (1, numbers, y) over its rows, about a shift of its own: no
 * indicator of a level is ever multiplied. rows/sums/cells.c reads the sums of the cells from a query.
 *
 * Within a cell, each feature of the design is 0 or one of the numbers (or 1). The matrix of (1, x, y) over all rows is
 * therefore the sum of the cells' matrices, each spread out to the few features that the cell does not leave at 0.
 *
 * The numbers of a cell are the columns that the design uses as numbers, in the order of the design's columns.
 */
#ifndef GPUREG_CELLS_H
#define GPUREG_CELLS_H

#include "compute/design/design.h"
#include "compute/linalg/gram.h"

#ifdef __cplusplus
extern "C" {
#endif

/* True if some term has a factor, and no term has powers or a product of numbers: cells have sums for such terms. */
extern bool gr_formula_has_cells(const GrFormula *formula);

/* An entry of (1, x, y) that is not 0 in a cell */
typedef struct GrCellEntry
{
	int			row;			/* row of the design's Gram matrix */
	int			number;			/* row of the cell's extended matrix */
} GrCellEntry;

/* Sums over cells. The memory of gr_cells_begin() owns all arrays. */
typedef struct GrCellSums
{
	const GrDesign *design;
	GrGram		gram;			/* the sums so far, without counts */
	int			nnumbers;
	double	   *shift;			/* [nnumbers + 1] shift of the numbers and of the response in gram */
	int		   *number;			/* [nfeatures] row of the extended matrix that belongs to a feature */
	bool		has_slopes;		/* a feature is a product of a number and indicators */
	double	   *values;			/* values of the design's columns: 1 for numbers, a cell's level numbers */
	GrNonzero  *nonzeros;
	GrCellEntry *entries;
	GrGram		moved;			/* a cell's matrix about shift */
	/*
	 * Extended matrix of a cell, of (1, x - shift, y - shift, x), by rows: numbers of slopes are about 0, as their
	 * features are 0 in other cells.
	 */
	GrDD	   *extended;
	int			nextended;
} GrCellSums;

/*
 * Begins sums of a design for which gr_formula_has_cells() was true, over no cells. shift: [nnumbers + 1], for the
 * numbers and the response. Returns false if there is no memory.
 */
extern bool gr_cells_begin(GrCellSums *sums, const GrDesign *design, const double *shift, GrMemory memory);

/*
 * Adds a cell. levels: level number of each of the design's columns, unset for numbers. cell: sums of the cell, with
 * nnumbers features. Returns false if the host asked to stop.
 */
extern bool gr_cells_add(GrCellSums *sums, const int *levels, const GrGram *cell, GrPoll *poll);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_CELLS_H */
