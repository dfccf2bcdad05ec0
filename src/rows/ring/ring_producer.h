/*
 * ring_producer.h: the aggregate that brings a query's rows into a ring, for a scan that does its work a block of rows
 * at a time: without calling it, but with the arguments that are the same for every row in a FunctionCallInfo.
 */
#ifndef GPUREG_RING_PRODUCER_H
#define GPUREG_RING_PRODUCER_H

#include "postgres.h"

#include "fmgr.h"

#include "rows/columns/columns.h"

extern Datum gr_ingest_pass_accum(PG_FUNCTION_ARGS);

typedef struct GrProducer GrProducer;

/*
 * This process's producer for the ring whose ticket is among the arguments: the same for all scans of one statement,
 * whose memory owner is. ERROR unless there is such a ring, for columns of the arguments' types.
 */
extern GrProducer *gr_producer_of_scan(FunctionCallInfo fcinfo, MemoryContext owner);

/* The ring's columns and the shape of its rows, with the widths of arrays once there was room for a row */
extern const GrColumns *gr_producer_columns(const GrProducer *p);
extern GrRowShape gr_producer_shape(const GrProducer *p);

/*
 * Where the next rows go, and how many may; NULL if nobody wants rows any more. May wait. values: of a complete row,
 * which may be the first
 */
extern char *gr_producer_room(GrProducer *p, FunctionCallInfo fcinfo, GrValues values, int64 *capacity);

/* So many rows are there. They are seen by whoever reads the ring from then on, when the query ends at the latest. */
extern void gr_producer_take(GrProducer *p, FunctionCallInfo fcinfo, int64 nrows);

#endif							/* GPUREG_RING_PRODUCER_H */
