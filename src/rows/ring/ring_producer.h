/*
 * ring_producer.h: writes a query's rows into a ring. gr_ingest_pass_accum() is an aggregate's transition function. A
 * scan that reads many rows at a time writes them by the functions of GrProducer instead; fcinfo then has those
 * arguments of the aggregate that are constant: the ring and the names.
 */
#ifndef GPUREG_RING_PRODUCER_H
#define GPUREG_RING_PRODUCER_H

#include "postgres.h"

#include "fmgr.h"

#include "rows/columns/columns.h"

extern Datum gr_ingest_pass_accum(PG_FUNCTION_ARGS);

typedef struct GrProducer GrProducer;

/*
 * Returns this process's producer for the ring whose ticket is among the arguments. All scans of one statement, whose
 * memory is owner, share it. ERROR unless this process has such a ring, for columns of the arguments' types.
 */
extern GrProducer *gr_producer_of_scan(FunctionCallInfo fcinfo, MemoryContext owner);

/* The ring's columns and the shape of its rows. Widths of arrays are known after gr_producer_room(). */
extern const GrColumns *gr_producer_columns(const GrProducer *p);
extern GrRowShape gr_producer_shape(const GrProducer *p);

/*
 * Returns where the next rows go and sets *capacity to how many fit there; NULL if rows are no longer wanted. May wait
 * for a free block. values: a complete row, which tells the widths of arrays if it is the first one.
 */
extern char *gr_producer_room(GrProducer *p, FunctionCallInfo fcinfo, GrValues values, int64 *capacity);

/* Counts nrows rows that the caller has written at gr_producer_room(), and passes the block on if it is full. */
extern void gr_producer_take(GrProducer *p, FunctionCallInfo fcinfo, int64 nrows);

#endif							/* GPUREG_RING_PRODUCER_H */
