/*
 * scan_exchange.h: how the processes of a parallel plan exchange what their scans have of groups.
 *
 * Each writes what it has into files, one for each partition of the groups' hashes. When all have done so, each
 * partition's files are read by one process, which then has its groups whole. A process waits for the others before it
 * has returned a row, and never after: so none waits for one that waits for its own rows to be read.
 */
#ifndef GPUREG_SCAN_EXCHANGE_H
#define GPUREG_SCAN_EXCHANGE_H

#include "postgres.h"

#include "port/atomics.h"
#include "storage/buffile.h"
#include "storage/condition_variable.h"
#include "storage/dsm.h"
#include "storage/sharedfileset.h"
#include "storage/spin.h"

/* Partitions are a power of two, of so many bits at most. */
#define GR_EXCHANGE_BITS_MAX 8

/* In the plan's shared memory */
typedef struct GrExchange
{
	SharedFileSet files;
	dsm_handle	segment;		/* where this is */
	int			nprocesses;		/* that may take part */
	int			nbits;
	slock_t		mutex;			/* of the next three */
	int			njoined;
	int			narrived;		/* that have written all they have */
	bool		ended;			/* all who joined have; nobody can join any more */
	ConditionVariable arrival;
	pg_atomic_uint32 next;		/* partition to be read */
	int64		nrecords[FLEXIBLE_ARRAY_MEMBER];	/* [process][partition] in the files */
} GrExchange;

extern Size gr_exchange_nbytes(int nprocesses);

/* Begins one in shared memory, which belongs to that segment. */
extern void gr_exchange_init(GrExchange *exchange, dsm_segment *segment, int nprocesses, int nbits);

/* Begins it again, when no process has a part in it any more. */
extern void gr_exchange_reset(GrExchange *exchange);

/* Makes its files another process's, too. */
extern void gr_exchange_attach(GrExchange *exchange);

/* The number of a process that is going to scan; -1: it came too late for that. */
extern int	gr_exchange_join(GrExchange *exchange);

/* If no other process has joined, none will, nothing is exchanged, and the result is true. */
extern bool gr_exchange_end_alone(GrExchange *exchange);

/* A process's file for a partition: a new one, in the current memory context. */
extern BufFile *gr_exchange_create_file(GrExchange *exchange, int process, int partition);

/* That file is written. */
extern void gr_exchange_close_file(GrExchange *exchange, int process, int partition, BufFile *file, int64 nrecords);

/* All of a process's files are written. Waits until that is so for the others. */
extern void gr_exchange_arrive(GrExchange *exchange);

/* Records that were exchanged. All must have arrived. */
extern int64 gr_exchange_nrecords(const GrExchange *exchange);

/* A partition to be read by this process alone; -1: there is none. */
extern int	gr_exchange_next_partition(GrExchange *exchange);

/* The file of a process for a partition, to be read; NULL: it has none. */
extern BufFile *gr_exchange_open_file(GrExchange *exchange, int process, int partition, int64 *nrecords);

#endif							/* GPUREG_SCAN_EXCHANGE_H */
