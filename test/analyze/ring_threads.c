/*
 * ring_threads.c: a ring's producers and its consumer as threads of one process, over the sources of both sides, for
 * ThreadSanitizer; the server and the device are stand-ins. Prints TAP. script/analyze runs it.
 *
 * ring_threads reads | writes: without the read or the write barriers, when the sanitizer must report a race.
 *
 * A thread of its own reads a block's rows while others are filled, like a device. All rows must come, once, in any
 * order; if the device fails, or the query, all threads must end.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/wait_event.h"

#include "server.h"

#define ROWS_EACH 20000
#define NPRODUCERS 4
#define NFEATURES 40			/* few rows per block, so that there are many blocks */

#undef pgstat_report_wait_start
#undef pgstat_report_wait_end
#define pgstat_report_wait_start(event) ((void) (event))
#define pgstat_report_wait_end() ((void) 0)

/* The semaphore only wakes: the sanitizer must not take it for a way by which writes become visible. */
extern void AnnotateIgnoreSyncBegin(const char *file, int line);
extern void AnnotateIgnoreSyncEnd(const char *file, int line);

#define QUIETLY(call) \
	({ \
		int			result_; \
		AnnotateIgnoreSyncBegin(__FILE__, __LINE__); \
		result_ = (call); \
		AnnotateIgnoreSyncEnd(__FILE__, __LINE__); \
		result_; \
	})

#include <semaphore.h>

#define sem_post(sem) QUIETLY(sem_post(sem))
#define sem_wait(sem) QUIETLY(sem_wait(sem))
#define sem_trywait(sem) QUIETLY(sem_trywait(sem))
#define sem_clockwait(sem, clock, until) QUIETLY(sem_clockwait(sem, clock, until))

#include "storage/condition_variable.h"

/* A condition variable only wakes, too: here whoever waits looks again and again. */
#define ConditionVariableInit(cv) ((void) (cv))
#define ConditionVariablePrepareToSleep(cv) ((void) (cv))
#define ConditionVariableSleep(cv, event) ((void) (cv), (void) (event), (void) sched_yield())
#define ConditionVariableBroadcast(cv) ((void) (cv))
#define ConditionVariableCancelSleep() ((void) 0)

#include "../../src/rows/ring/ring.c"
#include "../../src/rows/ring/ring_consumer.c"

/*
 * Stand-ins for the server's functions that the ring calls
 */

static PGPROC process;
PGPROC	   *MyProc = &process;
const GrHost gr_host;

bool
pg_strong_random(void *buf, size_t len)
{
	memset(buf, 7, len);
	return true;
}

dsm_handle
dsm_segment_handle(dsm_segment *seg)
{
	return 1;
}

volatile sig_atomic_t postmaster_possibly_dead = false;

bool
PostmasterIsAliveInternal(void)
{
	return true;
}

void
proc_exit(int code)
{
	abort();
}

uint32
gr_wait_event(GrWait wait)
{
	return 0;
}

bool		gr_progress_active;
int			ParallelWorkerNumber = -1;

void
gr_progress_add_rows(int64 nrows)
{
}

void
gr_note_device_error(const GrError *err)
{
}

void
gr_lend_session(bool lends)
{
}

bool
gr_open_place(GrPlace *place, const GrHost *host, GrError *err)
{
	return true;
}

bool
gr_may_retreat(const GrError *err)
{
	return true;
}

void
gr_raise(const GrError *err)
{
	abort();
}

void
gr_raise_kept_shortage(const GrError *err)
{
	abort();
}

bool
gr_is_kept_shortage(const GrError *err)
{
	return false;
}

void
gr_raise_row(const GrError *err, GrRowShape shape, const char *const *names)
{
	abort();
}

/*
 * The device: blocks wait for a thread that reads them
 */

#define QUEUE 4096

static struct
{
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	const double *rows[QUEUE];
	int64		nrows[QUEUE];
	int64		nasked;
	int64		nread;
	bool		ends;
	int64		fails_at;		/* number of the block that is refused; -1: none */
	int			ncols;
	double		sum;			/* sum of the rows' numbers */
	int64		total;
}			device = {.mutex = PTHREAD_MUTEX_INITIALIZER,.changed = PTHREAD_COND_INITIALIZER};

static void
read_block(const double *rows, int64 nrows)
{
	for (int64 k = 0; k < nrows; k++)
		for (int c = 0; c < device.ncols; c++)
			device.sum += rows[k * device.ncols + c];
	device.total += nrows;
}

static void *
device_main(void *arg)
{
	(void) pthread_mutex_lock(&device.mutex);
	for (;;)
	{
		int64		at = device.nread % QUEUE;

		while (device.nread == device.nasked && !device.ends)
			(void) pthread_cond_wait(&device.changed, &device.mutex);
		if (device.nread == device.nasked)
			break;
		(void) pthread_mutex_unlock(&device.mutex);
		read_block(device.rows[at], device.nrows[at]);
		(void) pthread_mutex_lock(&device.mutex);
		device.nread++;
		(void) pthread_cond_broadcast(&device.changed);
	}
	(void) pthread_mutex_unlock(&device.mutex);
	return NULL;
}

bool
gr_job_begin_sink(GrJob *job, GrError *err)
{
	device.ncols = gr_row_ncols(job->shape);
	return true;
}

bool
gr_job_send(GrJob *job, const void *rows, int64 nrows, GrError *err)
{
	bool		takes;

	(void) pthread_mutex_lock(&device.mutex);
	takes = device.nasked != device.fails_at;
	if (takes)
	{
		device.rows[device.nasked % QUEUE] = rows;
		device.nrows[device.nasked % QUEUE] = nrows;
		device.nasked++;
		(void) pthread_cond_broadcast(&device.changed);
	}
	(void) pthread_mutex_unlock(&device.mutex);
	if (!takes)
		err->status = GR_NO_MEMORY;
	return takes;
}

bool
gr_job_sent(GrJob *job, bool wait, int64_t *ncalls, GrError *err)
{
	(void) pthread_mutex_lock(&device.mutex);
	while (wait && device.nread == *ncalls)
		(void) pthread_cond_wait(&device.changed, &device.mutex);
	*ncalls = device.nread;
	(void) pthread_mutex_unlock(&device.mutex);
	return true;
}

/*
 * A query
 */

typedef struct Scanner
{
	GrRing	   *ring;
	int			number;
	int64		nrows;			/* rows to write */
	int64		written;		/* rows that the ring took */
	double		sum;
	pthread_t	thread;
} Scanner;

/* Writes a scan's rows like ring_producer.c. */
static void *
scan_main(void *arg)
{
	Scanner	   *scan = arg;
	GrRing	   *ring = scan->ring;
	int32		widths[GR_RING_COLUMNS_MAX] = {1, 1, NFEATURES};
	int			block = -1;
	int64		n = 0;
	int			home;

	process_id = 1000 + scan->number;
	home = gr_ring_join(ring);
	if (!gr_ring_shape_known(ring))
		gr_ring_agree(ring, widths, NFEATURES);
	for (int64 k = 0; k < scan->nrows; k++)
	{
		int			ncols = gr_row_ncols(ring->shape);
		double	   *row;

		if (block < 0 && (block = gr_ring_claim(ring, home)) < 0)
			break;
		row = (double *) gr_ring_rows(ring, block) + n * ncols;
		for (int c = 0; c < ncols; c++)
		{
			row[c] = c == ncols - 1 ? 1.0 : (double) (k % 100 + c + scan->number);
			scan->sum += row[c];
		}
		ring->blocks[block].nrows = ++n;
		scan->written++;
		if (n < gr_ring_capacity(ring))
			continue;
		gr_ring_total(ring, block);
		gr_ring_publish(ring, block);
		block = -1;
		n = 0;
	}
	return NULL;
}

typedef enum Course
{
	WHOLE,						/* the query runs to its end */
	FAILS,						/* the device fails, and the session goes on without it */
	STOPPED						/* the statement is canceled */
} Course;

/* Checks that a statement that has come to its end has read all rows. */
static void
check_whole(const RingReader *r, const Scanner *scans, int query)
{
	int64		nrows = 0;
	double		sum = 0;

	for (int k = 0; k < NPRODUCERS; k++)
	{
		nrows += scans[k].written;
		sum += scans[k].sum;
	}
	check(nrows == NPRODUCERS * ROWS_EACH - NPRODUCERS * 7 && r->nrows == nrows, "all rows were sent: query", query);
	check(device.total == nrows && device.sum == sum, "... and read as they were written: query", query);
	check(r->job->totals.weights == (double) nrows, "... and their weights: query", query);
}

/* Runs a query over the ring, in which this process takes part. */
static void
run(GrRing *ring, Course course, int query)
{
	GrColumns  *columns = calloc(1, sizeof(GrColumns) + 3 * sizeof(GrColumn));
	GrJob		job = {.place = {.backend = &gr_backend_cpu},.may_overflow = true};
	RingReader	r = {.ring = ring,.job = &job};
	Scanner		scans[NPRODUCERS] = {{0}};
	GrRingTicket ticket;
	pthread_t	reads;

	columns->n = 3;
	device.nasked = device.nread = device.total = 0;
	device.sum = 0;
	device.ends = false;
	device.fails_at = course == FAILS ? 20 : -1;
	r.sent = calloc(ring->nblocks, sizeof(int));
	pg_atomic_init_u32(&r.ends, READER_RUNS);
	(void) gr_ring_start(ring, NULL, columns, (GrRowShape) {.weight = true}, (GrRowRules) {.weighting = GR_FREQUENCIES},
						 &ticket);
	(void) pthread_create(&reads, NULL, device_main, NULL);
	(void) start_thread(&r);
	for (int k = 0; k < NPRODUCERS; k++)
	{
		scans[k] = (Scanner) {.ring = ring,.number = k,.nrows = ROWS_EACH - 7};
		if (course == STOPPED)
			scans[k].nrows = 1000;
		if (k > 0)
			(void) pthread_create(&scans[k].thread, NULL, scan_main, &scans[k]);
	}
	(void) scan_main(&scans[0]);
	for (int k = 1; k < NPRODUCERS; k++)
		(void) pthread_join(scans[k].thread, NULL);
	gr_ring_stop(ring);
	join_thread(&r, course == STOPPED ? READER_STOPS : READER_DRAINS);
	if (course == WHOLE)
		(void) send_rest(&r);
	(void) pthread_mutex_lock(&device.mutex);
	device.ends = true;
	(void) pthread_cond_broadcast(&device.changed);
	(void) pthread_mutex_unlock(&device.mutex);
	(void) pthread_join(reads, NULL);
	if (course == WHOLE)
		check_whole(&r, scans, query);
	else if (course == FAILS)
		check(r.error.status == GR_NO_MEMORY && device.nasked == 20, "a device that takes no more ends it: query",
			  query);
	else
		check(r.error.status == GR_OK, "a statement that is stopped ends it: query", query);
	free(r.sent);
	free(columns);
}

int
main(int argc, char **argv)
{
	static const Course courses[] = {WHOLE, FAILS, WHOLE, STOPPED, WHOLE};
	Size		nbytes = gr_ring_nbytes(0, NPRODUCERS);
	GrRing	   *ring = gr_ring_create_in(aligned_alloc(4096, TYPEALIGN(4096, nbytes)), 0, NPRODUCERS);

	atomics_lose_reads = argc > 1 && strcmp(argv[1], "reads") == 0;
	atomics_lose_writes = argc > 1 && strcmp(argv[1], "writes") == 0;
	for (int k = 0; k < (int) lengthof(courses); k++)
		run(ring, courses[k], k + 1);
	gr_ring_end(ring);
	return done_testing();
}
