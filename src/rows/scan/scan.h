/*
 * scan.h: a custom scan that scans a table, filters, converts and sums in one node: in place of the executor's
 * aggregate over a sequential scan, where the aggregates are this extension's.
 *
 * The plan is "Finalize Aggregate (Gather (Custom Scan (Seq Scan)))" or the like: the custom scan returns the
 * aggregates' partial states, in parallel workers or not, and has the sequential scan as its child. That one opens the
 * table, shares the scan among workers and has the WHERE clause; but it isn't asked for tuples.
 */
#ifndef GPUREG_SCAN_H
#define GPUREG_SCAN_H

#include "postgres.h"

#include "nodes/extensible.h"
#include "nodes/plannodes.h"

/* gpureg.enable_scan */
extern bool gr_enable_scan;

/* Makes the planner think of it; when the library is loaded. */
extern void gr_scan_init(void);

/*
 * Between its two halves, scan_plan.c and scan_node.c
 */

/* custom_scan_tlist has keys and partial aggregates over the table's columns; the child is the SeqScan. */
extern const CustomScanMethods gr_scan_methods;

#endif							/* GPUREG_SCAN_H */
