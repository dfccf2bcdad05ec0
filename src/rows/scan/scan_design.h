/*
 * scan_design.h: makes the features of a formula in the custom scan, a block of rows at a time, in place of calls of
 * gpu_design_row() and gpu_design_number() for each row. Their arguments must be columns of numbers.
 */
#ifndef GPUREG_SCAN_DESIGN_H
#define GPUREG_SCAN_DESIGN_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "nodes/pg_list.h"

#include "rows/scan/heap_rows.h"
#include "rows/scan/taker.h"

typedef struct GrScanDesign GrScanDesign;

/*
 * Returns the design of an aggregate's sources, in the current memory context, or NULL if the sources are not numbers
 * and, last, features that gpu_design_row() makes of numbers.
 */
extern GrScanDesign *gr_scan_design(const List *sources, TupleDesc table);

/* Lists the attributes that rows are made of. Returns their number. */
extern int	gr_scan_design_attributes(const GrScanDesign *design, const AttrNumber **attributes);

/* Finds the attributes among the scan's columns. */
extern void gr_scan_design_locate(GrScanDesign *design, const GrHeapColumns *columns);

/* Begins to give rows to a taker. Raises an ERROR if the taker expects other rows than the design makes. */
extern void gr_scan_design_start(GrScanDesign *design, GrTaker *taker);

/* Takes a row. data: a tuple's; at: offsets of the scan's wanted attributes; NULL: fixed ones */
extern void gr_scan_design_take(GrScanDesign *design, const char *data, const int32 *at);

/* Gives the rows that wait for the rest of their block to the taker. Does nothing before the start. */
extern void gr_scan_design_flush(GrScanDesign *design);

#endif							/* GPUREG_SCAN_DESIGN_H */
