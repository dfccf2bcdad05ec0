/*
 * ring_consumer.h: a query's rows -> a device, through a ring that parallel workers fill and a thread empties.
 */
#ifndef GPUREG_RING_CONSUMER_H
#define GPUREG_RING_CONSUMER_H

#include "postgres.h"

#include "rows/ingest.h"
#include "run/job.h"

typedef enum GrRingOutcome
{
	GR_RING_UNUSED,				/* there is no device to read for, or nothing to gain: nothing was read */
	GR_RING_READ,				/* as gr_ingest_read() promises */
	/* the device has too little memory or cannot be had: the rows are for the CPU to read again */
	GR_RING_RETREATED
} GrRingOutcome;

/*
 * Reads a prepared query through a ring, where a device is wanted, the planner uses parallel workers and there is
 * shared memory for a ring. The device is opened and given rows while the query runs. reason: for RETREATED, room for
 * 300 bytes: why.
 */
extern GrRingOutcome gr_ring_read(GrIngest *ingest, const GrJobOptions *options, char *reason);

#endif							/* GPUREG_RING_CONSUMER_H */
