/*
 * scan.h: a custom scan that reads a table, filters, converts and sums in one node. It replaces the executor's
 * aggregate over a sequential scan if all aggregates are this extension's.
 *
 * The plan is "Finalize Aggregate (Gather (Custom Scan (Seq Scan)))" or the like. The custom scan returns the
 * aggregates' partial states, with or without parallel workers. Its child, the sequential scan, opens the table, shares
 * the scan among workers and holds the WHERE clause, but is not asked for tuples.
 */
#ifndef GPUREG_SCAN_H
#define GPUREG_SCAN_H

#include "postgres.h"

#include "nodes/extensible.h"
#include "nodes/plannodes.h"

/* The setting gpureg.enable_scan */
extern bool gr_enable_scan;

/* Installs the planner hook. Called when the library is loaded. */
extern void gr_scan_init(void);

/*
 * Shared by scan_plan.c and scan_node.c
 */

/*
 * Methods of the plan node. Its custom_scan_tlist has keys and partial aggregates over the table's columns; its child
 * is the SeqScan.
 */
extern const CustomScanMethods gr_scan_methods;

#endif							/* GPUREG_SCAN_H */
