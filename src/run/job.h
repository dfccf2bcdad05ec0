/*
 * job.h: rows on their way to a sink of a backend, which sums the rows or keeps them for the passes of a fit, or to a
 * spool. The settings and the amount of work choose the backend. Comments that begin with SUM or KEEP hold for jobs of
 * that kind only (GrSinkKind): SUM adds up rows, KEEP keeps them for later passes.
 *
 * The memory context that is current when a job is made owns the job. The context's reset, for whatever reason,
 * releases what the backend holds.
 */
#ifndef GPUREG_JOB_H
#define GPUREG_JOB_H

#include "postgres.h"

#include "compute/backend/backend.h"
#include "compute/backend/shifted_gram.h"
#include "compute/dist/family.h"
#include "compute/glm/glm.h"
#include "run/args.h"
#include "run/device.h"
#include "run/service.h"
#include "run/spool.h"

typedef struct GrJobOptions
{
	GrSinkKind	kind;
	GrRowShape	shape;			/* rows as this process writes them: not single */
	GrRowRules	rules;
	double		nrows_estimate; /* expected rows, for the choice in auto mode */
	double		work;			/* products, for the choice in auto mode; 0: those of nrows_estimate rows */
	const char *const *names;	/* column names, as in gr_raise_columns() */
	/* KEEP: bytes that the rows may take on the CPU; 0: no limit */
	Size		cpu_limit;
	/*
	 * KEEP: rows without room, on the CPU or on a device in auto mode, set job->overflowed and raise no error
	 */
	bool		may_overflow;
	/* KEEP: the caller has the rows in memory: on the CPU the job takes none, and is overflowed from the beginning */
	bool		device_only;
	/* KEEP on the CPU: rows go to a temporary file of PostgreSQL's; overrides cpu_limit */
	bool		spool;
	/*
	 * KEEP: the device service in which the rows are to stay, or which has the rows that others are derived from. In
	 * rows that stay a NaN is a NULL, and the caller checks them. NULL: the settings choose the job's place
	 */
	GrRemoteClient *keeper;
	GrStay		stay;			/* owner and quota of rows that stay in keeper */
	/* reason to take the CPU, copied to job->place.reason; NULL: the settings choose */
	const char *cpu_reason;
} GrJobOptions;

#define GR_JOB_NBLOCKS 4		/* blocks for rows that this process reads, on their way to a device */

typedef struct GrJob
{
	GrSinkKind	kind;
	int			nsinks;			/* gpureg.debug_sinks, as it was when the job was made */
	GrPlace		place;
	const GrSinkOps *ops;		/* functions of sink */
	GrSink	   *sink;
	GrShiftedGram shifted;		/* SUM: passes the rows to the sink, about a shift */
	GrSpool		spool;			/* KEEP: has the rows in place of the sink, if it has a file */
	Size		cpu_limit;
	bool		may_overflow;
	bool		overflowed;		/* the rows are lost: no more may be taken */
	bool		stays;			/* KEEP: a service keeps the rows; the caller checks them */
	GrStay		stay;			/* owner and quota of those rows */
	bool		derived;		/* KEEP: the rows are derived from rows that a service keeps */
	GrRowShape	shape;			/* shape of the rows that are sent */
	GrRowRules	rules;
	const char *const *names;
	int			nworkers;		/* parallel workers that had rows */
	bool		through_spi;	/* rows came through SPI: for gpu_last_run() */
	double		nrows_expected; /* 0: unknown */

	/* rows that this process reads */
	const GrHost *host;			/* polled while they are summed up; NULL where another thread sends */
	void	   *allocated;		/* memory of the blocks, unless it is leased; or NULL */
	GrLease		lease;			/* memory of the blocks on their way to a device service */
	char	   *memory;			/* the nblocks blocks, in allocated or in lease */
	bool		pinned;
	int			nblocks;
	Size		block_nbytes;
	int			filling;		/* the block that takes rows */
	int64		reader[GR_JOB_NBLOCKS];	/* the call that reads a block, counted from 1; 0: none has */
	int64		ncalls;			/* calls of the sink's send function */
	double	   *block;			/* the block being filled */
	int64		block_nrows;	/* rows in it */
	int64		block_capacity;

	int64		nrows;			/* rows taken */
	GrRowTotals totals;			/* totals of those rows, if they have weights */
	GrTimes		times;
	GrSolver	solver;
	bool		released;		/* nothing is left for the callback */
	MemoryContextCallback callback;
} GrJob;

/* Returns the times that the rows and their sums have taken until now. */
static inline const GrTimes *
gr_job_times(GrJob *job)
{
	if (job->sink != NULL)
		job->ops->times(job->sink, &job->times);
	return &job->times;
}

/* Returns the products that summing nrows rows takes (SUM), or a fit to them (KEEP), for the choice of the place. */
extern double gr_job_work(GrSinkKind kind, double nrows, int nfeatures);

/* Begins a job whose caller writes rows where gr_job_row() says. */
extern GrJob *gr_job_begin(const GrJobOptions *options);

/* Returns where to write the next row. gr_job_take_row() then counts the row. */
static inline double *
gr_job_row(GrJob *job)
{
	return job->block + job->block_nrows * gr_row_ncols(job->shape);
}

extern void gr_job_flush(GrJob *job);

static inline void
gr_job_take_row(GrJob *job)
{
	job->nrows++;
	if (++job->block_nrows == job->block_capacity)
		gr_job_flush(job);
}

/*
 * Creates a job whose caller reads the rows itself. gr_prepare_place() and gr_open_place() choose its place afterwards;
 * then gr_job_begin_sink() begins the sink, and gr_job_send() sends rows. gr_job_begin_sink(), gr_job_send()
 * and gr_job_sent() touch nothing of PostgreSQL's, and may be called by another thread, one at a time.
 */
extern GrJob *gr_job_new(const GrJobOptions *options);
extern bool gr_job_begin_sink(GrJob *job, GrError *err);
extern bool gr_job_send(GrJob *job, const void *rows, int64 nrows, GrError *err);
/* Sets *ncalls to the number of calls whose rows have been read; see GrSinkOps in backend.h. */
extern bool gr_job_sent(GrJob *job, bool wait, int64_t *ncalls, GrError *err);

/*
 * SUM: sends the last block, fills gram, which has room for the job's features, with the sums, nobs, nsummed and
 * log_constant, and ends the sink. ERROR if that fails or a sum is not finite.
 */
extern void gr_job_finish(GrJob *job, GrGram *gram);

/* Returns the number of observations: rows, or the sum of their frequencies. ERROR as gr_count() raises it. */
static inline int64
gr_job_nobs(const GrJob *job)
{
	return job->shape.weight && job->rules.weighting == GR_FREQUENCIES ? gr_count(job->totals.weights) :
		job->nrows;
}

/* KEEP: ends the rows. Returns false, and releases the job, if they did not fit. */
extern bool gr_job_keep(GrJob *job);

/*
 * KEEP: gives a job that has overflowed the first job->nrows rows of a spool of the caller's, for passes. The spool
 * stays the caller's, and must not change while the job uses it.
 */
extern void gr_job_adopt(GrJob *job, GrSpool *spool);

/*
 * KEEP: ends the rows, which stay in the service as number id. Their description, description_nbytes bytes that lie
 * elsewhere, counts as theirs.
 */
extern void gr_job_store(GrJob *job, uint64 id, Size description_nbytes);

/*
 * KEEP: the service options->keeper derives rows from those stored there under number id, and keeps them. Returns the
 * job of the derived rows, at most nrows_max, and sets *counts. Returns NULL if nothing is stored under id any more.
 * Other failures raise an ERROR.
 */
extern GrJob *gr_job_derive(const GrJobOptions *options, uint64 id, const GrDerivation *derivation, int64 nrows_max,
							GrDeriveCounts *counts);

/*
 * KEEP: returns a job of rows derived from those of the job from, at the same place. from must stay until the new job
 * is released, but its sink may end before. names, nrows_expected: columns and expected number of the derived rows.
 * gr_job_count() only counts the rows that there would be, and sets counts.
 */
extern GrJob *gr_job_part(GrJob *from, const GrDerivation *derivation, const char *const *names, int64 nrows_expected);
extern void gr_job_count(GrJob *job, const GrDerivation *derivation, GrDeriveCounts *counts);

/* KEEP: adds all rows to the sums of a request. */
extern void gr_job_sums(GrJob *job, const GrRequest *request, double *sums);

/* KEEP: changes the rows for all later passes. May be called once. basis must stay as long as the job. */
extern void gr_job_change(GrJob *job, const GrBasis *basis);

/*
 * KEEP in a spool: returns a job of the first nrows rows, for passes. It is allocated in the current memory context,
 * and may be used as long as job exists.
 */
extern GrJob *gr_job_head(const GrJob *job, int64 nrows);

/* KEEP: gr_job_can_ascend() is true if the backend has gradient ascent for these rows; gr_job_ascend() makes it. */
extern bool gr_job_can_ascend(const GrJob *job, bool single);
extern void gr_job_ascend(GrJob *job, const GrAscent *ascent, double *beta, int64 *iterations, bool *converged);

/*
 * Returns the solver of the job's device for normal equations of many terms, while the job has its place. NULL: solve
 * on the CPU.
 */
extern const GrSolver *gr_job_solver(GrJob *job);

/* Ends the job's sink; the job keeps its place. */
extern void gr_job_end_sink(GrJob *job);

/* Releases what the backend holds, and the place. The reset of the job's context does the same. */
extern void gr_job_release(GrJob *job);

/* Raises err as an ERROR that names the job's columns. Remembers a lost device. */
extern void gr_job_fail(GrJob *job, const GrError *err)
			__attribute__((noreturn));

#endif							/* GPUREG_JOB_H */
