/*
 * job.h: rows on their way to where the settings and the amount of work call for: to a sink of a backend's, which sums
 * them up or keeps them for as many passes as a fit wants, or to a spool.
 *
 * The memory context that is current when a job is made owns it: its reset, for whatever reason, releases what the
 * backend holds.
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
	GrRowShape	shape;			/* of rows as this process writes them: not single */
	GrRowRules	rules;
	double		nrows_estimate; /* for the choice in auto mode */
	double		work;			/* likewise, in products; 0: what so many rows take */
	const char *const *names;	/* as in gr_raise_columns() */
	/* KEEP: what they may take on the CPU, bytes; 0: as much as there is */
	Size		cpu_limit;
	/*
	 * KEEP: where there is no room for them, on the CPU or on a device in auto mode, job->overflowed is set, not an
	 * error raised
	 */
	bool		may_overflow;
	/* KEEP: the caller has them in memory: on the CPU the job takes none, and is overflowed from the beginning */
	bool		device_only;
	/* KEEP on the CPU: rows go to a temporary file of PostgreSQL's; overrides cpu_limit */
	bool		spool;
	/*
	 * KEEP: the device service that these rows are to stay in, where a NaN is a NULL; the caller checks them. Or that
	 * has the rows which others are derived from. NULL: the job's place is chosen
	 */
	GrRemoteClient *keeper;
	GrStay		stay;			/* owner and quota of rows that stay in keeper */
	/* the CPU, because of this: what job->place.reason is to say; NULL: as the settings say */
	const char *cpu_reason;
} GrJobOptions;

#define GR_JOB_NBLOCKS 4		/* of rows that this process reads, on their way to a device */

typedef struct GrJob
{
	GrSinkKind	kind;
	int			nsinks;			/* gpureg.debug_sinks, as it was when the job was made */
	GrPlace		place;
	const GrSinkOps *ops;		/* of the sink */
	GrSink	   *sink;
	GrShiftedGram shifted;		/* SUM: by which rows go to the sink */
	GrSpool		spool;			/* KEEP: where rows are instead, if it has a file */
	Size		cpu_limit;
	bool		may_overflow;
	bool		overflowed;		/* the rows are lost: no more may be taken */
	bool		stays;			/* KEEP: its rows are for a service to keep; the caller checks them */
	GrStay		stay;			/* owner and quota of those rows */
	bool		derived;		/* KEEP: its rows are derived from such */
	GrRowShape	shape;			/* of the rows that are sent */
	GrRowRules	rules;
	const char *const *names;
	int			nworkers;		/* parallel workers that had rows */
	double		nrows_expected; /* 0: nobody knows */

	/* rows that this process reads */
	const GrHost *host;			/* polled while they are summed up; NULL where another thread sends */
	void	   *allocated;		/* or NULL */
	GrLease		lease;			/* what they are in instead, on their way to a device service */
	char	   *memory;			/* in either, of nblocks blocks */
	bool		pinned;
	int			nblocks;
	Size		block_nbytes;
	int			filling;		/* the block that takes rows */
	int64		reader[GR_JOB_NBLOCKS];	/* the call that reads a block, counted from 1; 0: none has */
	int64		ncalls;			/* of the sink's send function */
	double	   *block;			/* being filled */
	int64		block_nrows;	/* rows in it */
	int64		block_capacity;

	int64		nrows;			/* rows taken */
	GrRowTotals totals;			/* of those, where they have weights */
	GrTimes		times;
	GrSolver	solver;
	MemoryContextCallback callback;
} GrJob;

/* Products that summing up so many rows takes, or fitting to them: what the choice of the device goes by. */
extern double gr_job_work(GrSinkKind kind, double nrows, int nfeatures);

/* A job that takes rows from gr_job_row(). */
extern GrJob *gr_job_begin(const GrJobOptions *options);

/* Where to write the next row; gr_job_take_row() makes it count. */
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
 * The same for rows that are read elsewhere: a job without a place, which gr_prepare_place() and gr_open_place() give
 * it; then its sink, and rows. The latter three touch nothing of PostgreSQL's and may be called by
 * another thread, one at a time.
 */
extern GrJob *gr_job_new(const GrJobOptions *options);
extern bool gr_job_begin_sink(GrJob *job, GrError *err);
extern bool gr_job_send(GrJob *job, const void *rows, int64 nrows, GrError *err);
/* how many calls' rows have been read; see backend.h */
extern bool gr_job_sent(GrJob *job, bool wait, int64_t *ncalls, GrError *err);

/* SUM: writes the packed triangle of (1, x, y) and the shift of (x, y), and ends the sink. */
extern void gr_job_finish(GrJob *job, double *hi, double *lo, double *shift);

/* Observations: rows, or the sum of their frequencies, whose ERROR see gr_count() */
static inline int64
gr_job_nobs(const GrJob *job)
{
	return job->shape.weight && job->rules.weighting == GR_FREQUENCIES ? gr_count(job->totals.weights) :
		job->nrows;
}

/* KEEP: all are there. False if they didn't fit; the job is then released. */
extern bool gr_job_keep(GrJob *job);

/*
 * KEEP: one that has overflowed takes the rows that somebody has in a file, job->nrows of them, from there, for passes.
 * The file stays theirs, and must stay as it is meanwhile.
 */
extern void gr_job_adopt(GrJob *job, GrSpool *spool);

/*
 * KEEP: all are there, and stay in the service as number id, where description_nbytes bytes elsewhere count as theirs.
 */
extern void gr_job_store(GrJob *job, uint64 id, Size description_nbytes);

/*
 * KEEP: a job of rows that are derived from those which options->keeper has as number id, at most nrows_max of them;
 * see gr_remote_derive(). NULL if there are none of that number any more
 */
extern GrJob *gr_job_derive(const GrJobOptions *options, uint64 id, const GrDerivation *derivation, int64 nrows_max,
							GrDeriveCounts *counts);

/*
 * KEEP: a job at the same place, of rows that are derived from another one's, which must stay until it is released; its
 * sink may be ended before. names: of the derived ones; nrows_expected: of them. And: how many there would be; counts
 * are set
 */
extern GrJob *gr_job_part(GrJob *from, const GrDerivation *derivation, const char *const *names, int64 nrows_expected);
extern void gr_job_count(GrJob *job, const GrDerivation *derivation, GrDeriveCounts *counts);

/* KEEP: a pass over them; adds to sums. */
extern void gr_job_pass(GrJob *job, const GrPass *pass, double *sums);

/* KEEP: the same of a bootstrap */
extern void gr_job_boot(GrJob *job, const GrBootPass *pass, double *sums);

/* KEEP: changes them for all passes to come, once. basis must stay. */
extern void gr_job_change(GrJob *job, const GrBasis *basis);

/* KEEP in a spool: the first nrows of them, for passes; of the current context, and of use as long as the job is. */
extern GrJob *gr_job_head(const GrJob *job, int64 nrows);

/* KEEP: gradient ascent on the backend, if it has that for these rows. */
extern bool gr_job_can_ascend(const GrJob *job, bool single);
extern void gr_job_ascend(GrJob *job, const GrAscent *ascent, double *beta, int64 *iterations, bool *converged);

/*
 * Where normal equations for many terms are to be solved while the job has its place: on its device; NULL: on the CPU
 */
extern const GrSolver *gr_job_solver(GrJob *job);

/* Ends the job's sink; the job keeps its place. */
extern void gr_job_end_sink(GrJob *job);

/* Releases what the backend holds, and the place; the job's context would do so too. */
extern void gr_job_release(GrJob *job);

/* A status of the compute layer as an error that names the job's columns; a lost device is remembered. */
extern void gr_job_fail(GrJob *job, const GrError *err)
			__attribute__((noreturn));

#endif							/* GPUREG_JOB_H */
