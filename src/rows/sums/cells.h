/*
 * cells.h: sums a query's rows by the levels of its factors, in one read that also finds the levels. See
 * compute/design/cells.h for what cells are. The query is grouped by the factors' columns, so that workers, the custom
 * scan and its files serve cells, too: indicators of levels are never made, and memory is bounded.
 */
#ifndef GPUREG_SUMS_CELLS_H
#define GPUREG_SUMS_CELLS_H

#include "postgres.h"

#include "compute/design/design.h"
#include "compute/linalg/gram.h"
#include "rows/query/frame.h"
#include "rows/sums/ingest.h"

/*
 * A GrReadCells: reads the cells of a query into the member cells of arg, a GrIngest, and adds the levels of its
 * factors to levels, one per column of the user's query, unless they are there. Returns false and reads nothing, or
 * drops what was read, if the rows must be summed in another way (on a device, or where a remote query has them), or if
 * the levels should be read first.
 */
extern bool gr_cells_read(void *arg, const GrRoles *roles, const GrCellsQuery *query, GrLevels *levels);

/*
 * Returns the Gram matrix of the design's features over all cells, and releases the cells. Sets the results of ingest.
 * ERROR if sums are out of range.
 */
extern GrGram gr_cells_gram(GrIngest *ingest);

/* Returns the number of parallel workers that read the rows. */
extern int	gr_cells_nworkers(const GrCells *cells);

#endif							/* GPUREG_SUMS_CELLS_H */
