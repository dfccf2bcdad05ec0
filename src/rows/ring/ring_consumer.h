/*
 * ring_consumer.h: a query's rows -> a device, through a ring that parallel workers fill and a thread empties.
 */
#ifndef GPUREG_RING_CONSUMER_H
#define GPUREG_RING_CONSUMER_H

#include "postgres.h"

#include "rows/sums/ingest.h"
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

/*
 * Reads rows that a device service is to keep through a ring that workers fill: runs a plan of gpu_keep_pass, which is
 * planned for so many. options: of gr_job_begin(); names: text[], the columns'. *told: what the aggregate gives. The
 * job has all rows, for gr_job_store(). NULL: there is no memory for a ring, and nothing was read
 */
extern GrJob *gr_ring_keep(const GrPlan *plan, int nplanned, const GrJobOptions *options, Datum names,
						   NullableDatum *told);

#endif							/* GPUREG_RING_CONSUMER_H */
