/*
 * scan_exchange.c: exchanges groups between the processes of a parallel plan.
 */
#include "postgres.h"

#include <fcntl.h>

#include "access/parallel.h"
#include "pgstat.h"
#include "utils/wait_event.h"

#include "rows/scan/scan_exchange.h"
#include "run/wait.h"

#define NAME_NBYTES 32

Size
gr_exchange_nbytes(int nprocesses)
{
	return add_size(offsetof(GrExchange, nrecords),
					mul_size(mul_size(nprocesses, 1 << GR_EXCHANGE_BITS_MAX), sizeof(int64)));
}

static void
clear(GrExchange *exchange)
{
	exchange->njoined = exchange->narrived = 0;
	exchange->ended = false;
	pg_atomic_write_u32(&exchange->next, 0);
	memset(exchange->nrecords, 0, ((Size) exchange->nprocesses << exchange->nbits) * sizeof(int64));
}

void
gr_exchange_init(GrExchange *exchange, dsm_segment *segment, int nprocesses, int nbits)
{
	Assert(nbits <= GR_EXCHANGE_BITS_MAX);
	exchange->segment = dsm_segment_handle(segment);
	exchange->nprocesses = nprocesses;
	exchange->nbits = nbits;
	SpinLockInit(&exchange->mutex);
	ConditionVariableInit(&exchange->arrival);
	pg_atomic_init_u32(&exchange->next, 0);
	clear(exchange);
	SharedFileSetInit(&exchange->files, segment);
}

void
gr_exchange_reset(GrExchange *exchange)
{
	SharedFileSetDeleteAll(&exchange->files);
	clear(exchange);
}

void
gr_exchange_attach(GrExchange *exchange)
{
	SharedFileSetAttach(&exchange->files, dsm_find_mapping(exchange->segment));
}

int
gr_exchange_join(GrExchange *exchange)
{
	int			process = -1;

	SpinLockAcquire(&exchange->mutex);
	if (!exchange->ended)
		process = exchange->njoined++;
	SpinLockRelease(&exchange->mutex);
	Assert(process < exchange->nprocesses);
	return process;
}

bool
gr_exchange_end_alone(GrExchange *exchange)
{
	bool		alone;

	SpinLockAcquire(&exchange->mutex);
	alone = exchange->njoined == 1;
	if (alone)
	{
		pg_atomic_write_u32(&exchange->next, (uint32) 1 << exchange->nbits);
		exchange->ended = true;
	}
	SpinLockRelease(&exchange->mutex);
	return alone;
}

static void
name_file(char *name, int process, int partition)
{
	snprintf(name, NAME_NBYTES, "%d.%d", process, partition);
}

BufFile *
gr_exchange_create_file(GrExchange *exchange, int process, int partition)
{
	char		name[NAME_NBYTES];

	name_file(name, process, partition);
	return BufFileCreateFileSet(&exchange->files.fs, name);
}

static int64 *
count_of(GrExchange *exchange, int process, int partition)
{
	return &exchange->nrecords[((Size) process << exchange->nbits) + partition];
}

void
gr_exchange_close_file(GrExchange *exchange, int process, int partition, BufFile *file, int64 nrecords)
{
	*count_of(exchange, process, partition) = nrecords;
	BufFileExportFileSet(file);
	BufFileClose(file);
}

void
gr_exchange_arrive(GrExchange *exchange)
{
	bool		ended;

	SpinLockAcquire(&exchange->mutex);
	exchange->narrived++;
	ended = exchange->ended = exchange->narrived == exchange->njoined;
	SpinLockRelease(&exchange->mutex);
	if (ended)
	{
		ConditionVariableBroadcast(&exchange->arrival);
		return;
	}
	ConditionVariablePrepareToSleep(&exchange->arrival);
	for (;;)
	{
		SpinLockAcquire(&exchange->mutex);
		ended = exchange->ended;
		SpinLockRelease(&exchange->mutex);
		if (ended)
			break;
		ConditionVariableSleep(&exchange->arrival, gr_wait_event(GR_WAIT_EXCHANGE));
	}
	ConditionVariableCancelSleep();
}

int64
gr_exchange_nrecords(const GrExchange *exchange)
{
	int64		n = 0;

	for (Size k = 0; k < (Size) exchange->nprocesses << exchange->nbits; k++)
		n += exchange->nrecords[k];
	return n;
}

int
gr_exchange_next_partition(GrExchange *exchange)
{
	uint32		p;

	/* the leader reads no partition unless it is alone: it is busy with the rows that workers return */
	if (!IsParallelWorker() && exchange->njoined > 1)
		return -1;
	p = pg_atomic_fetch_add_u32(&exchange->next, 1);
	return p < (uint32) 1 << exchange->nbits ? (int) p : -1;
}

BufFile *
gr_exchange_open_file(GrExchange *exchange, int process, int partition, int64 *nrecords)
{
	char		name[NAME_NBYTES];

	*nrecords = *count_of(exchange, process, partition);
	if (*nrecords == 0)
		return NULL;
	name_file(name, process, partition);
	return BufFileOpenFileSet(&exchange->files.fs, name, O_RDONLY, false);
}
