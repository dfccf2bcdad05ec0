/*
 * scan_exchange.h: exchanges groups between the processes of a parallel plan, so that each group ends in one process.
 *
 * Each process writes its groups into files, one per partition of the groups' hashes. When all processes have written,
 * each partition's files are read by one process, which then has the partition's groups whole. A process waits for the
 * others only before it returns its first row. So no process waits for one whose returned rows are not being read.
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

/* Largest number of hash bits that select a partition */
#define GR_EXCHANGE_BITS_MAX 8

/* State of an exchange, in the plan's shared memory */
typedef struct GrExchange
{
	SharedFileSet files;
	dsm_handle	segment;		/* segment that this structure is in */
	int			nprocesses;		/* largest number of processes that may join */
	int			nbits;			/* there are 2^nbits partitions */
	slock_t		mutex;			/* protects njoined, narrived and ended */
	int			njoined;		/* processes that scan */
	int			narrived;		/* processes that have written all their files */
	bool		ended;			/* all processes that joined have arrived; no other can join */
	ConditionVariable arrival;	/* signals that ended was set */
	pg_atomic_uint32 next;		/* next partition to be read */
	int64		nrecords[FLEXIBLE_ARRAY_MEMBER];	/* [process][partition] records in the files */
} GrExchange;

/* Returns the size of a GrExchange for nprocesses processes, in bytes. */
extern Size gr_exchange_nbytes(int nprocesses);

/* Initializes an exchange, which lies in segment. */
extern void gr_exchange_init(GrExchange *exchange, dsm_segment *segment, int nprocesses, int nbits);

/* Deletes all files and begins the exchange anew for a rescan. No process may be using it. */
extern void gr_exchange_reset(GrExchange *exchange);

/* Attaches a parallel worker to the exchange's files. */
extern void gr_exchange_attach(GrExchange *exchange);

/* Joins the exchange as a process that scans. Returns the process's number, or -1 if the exchange has ended. */
extern int	gr_exchange_join(GrExchange *exchange);

/* Ends the exchange and returns true if the calling process is the only one that joined. No other can join then. */
extern bool gr_exchange_end_alone(GrExchange *exchange);

/* Creates the file of a process for a partition, in the current memory context. */
extern BufFile *gr_exchange_create_file(GrExchange *exchange, int process, int partition);

/* Closes a written file and makes its nrecords records visible to other processes. */
extern void gr_exchange_close_file(GrExchange *exchange, int process, int partition, BufFile *file, int64 nrecords);

/* Reports that all files of this process are written, and waits until all processes that joined have done so. */
extern void gr_exchange_arrive(GrExchange *exchange);

/* Returns the number of records that were exchanged. All processes must have arrived. */
extern int64 gr_exchange_nrecords(const GrExchange *exchange);

/* Returns a partition that this process alone reads, or -1 if there is none for it. */
extern int	gr_exchange_next_partition(GrExchange *exchange);

/* Opens the file that process wrote for partition, and sets *nrecords. Returns NULL if there are no records. */
extern BufFile *gr_exchange_open_file(GrExchange *exchange, int process, int partition, int64 *nrecords);

#endif							/* GPUREG_SCAN_EXCHANGE_H */
