/*
 * ring_consumer.h: sends a query's rows to a device, through a ring that parallel workers fill and a thread empties.
 */
#ifndef GPUREG_RING_CONSUMER_H
#define GPUREG_RING_CONSUMER_H

#include "postgres.h"

#include "rows/sums/ingest.h"
#include "run/job.h"

typedef enum GrRingOutcome
{
	GR_RING_UNUSED,				/* no device is wanted, or a ring gains nothing: no row was read */
	GR_RING_READ,				/* all rows were read, as by gr_ingest_read_here() */
	/* the device has too little memory or is not available: the CPU must read the rows again */
	GR_RING_RETREATED
} GrRingOutcome;

/*
 * Reads a prepared query through a ring if a device is wanted, the planner uses parallel workers and there is shared
 * memory for a ring. Opens the device and sends it rows while the query runs. reason has room for 300 bytes: why the
 * outcome is GR_RING_RETREATED.
 */
extern GrRingOutcome gr_ring_read(GrIngest *ingest, const GrJobOptions *options, char *reason);

/*
 * Reads rows that a device service is to keep through a ring, by a plan of gpu_keep_pass for nplanned workers.
 * options: as for gr_job_begin(); names: text[] of the columns' names; *told: the aggregate's result. The job has all
 * rows, for gr_job_store(). Returns NULL if there is no memory for a ring; then no row was read.
 */
extern GrJob *gr_ring_keep(const GrPlan *plan, int nplanned, const GrJobOptions *options, Datum names,
						   NullableDatum *told);

#endif							/* GPUREG_RING_CONSUMER_H */
