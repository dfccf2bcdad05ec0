/*
 * bridge.h: between PostgreSQL and the compute layer: errors, cancel, and who owns what.
 */
#ifndef GPUREG_BRIDGE_H
#define GPUREG_BRIDGE_H

#include "postgres.h"

#include "compute/compute.h"
#include "compute/glm.h"
#include "device.h"

/* Polls for cancel, for the compute layer's loops. */
extern const GrHost gr_host;

/*
 * Raises err as an ERROR. names: the ncols columns of a row (features, then the response), or NULL for x1 .. xp, y. Where err
 * says that the work was cancelled, this is the place that jumps.
 */
extern void gr_raise_columns(const GrError *err, int nfeatures, const char *const *names)
			__attribute__((noreturn));

/* Likewise, of work without columns; a lost device is remembered. */
extern void gr_raise(const GrError *err)
			__attribute__((noreturn));

/* ERROR if a value of these rows is NaN or infinite or, where binary is set, a response neither 0 nor 1; names: likewise. */
extern void gr_check_rows(const double *rows, int64 nrows, int nfeatures, const char *const *names, bool binary);

/* The name of a column: names[column], or x1 .. xp, y. */
extern const char *gr_column_name(int column, int nfeatures, const char *const *names);

/*
 * Rows on their way to the backend that the settings and the amount of work call for: into a Gram matrix, or to stay there for
 * as many passes as a fit wants. The memory context that is current at gr_job_begin() owns the job: its reset, for whatever
 * reason, releases what the backend holds.
 */
typedef enum GrJobKind
{
	GR_JOB_GRAM,
	GR_JOB_ROWS
} GrJobKind;

typedef struct GrJobOptions
{
	GrJobKind	kind;
	int			nfeatures;
	double		nrows_estimate; /* for the choice in auto mode */
	const char *const *names;	/* as in gr_raise_columns() */
	/* ROWS: what they may take on the CPU, bytes; 0: as much as there is */
	Size		cpu_limit;
	/* ROWS: where there is no room for them, on the CPU or on a device in auto mode, job->overflowed is set, not an error raised */
	bool		may_overflow;
	/* ROWS: the caller has them in memory: on the CPU the job takes none, and is overflowed from the beginning */
	bool		device_only;
	/* ROWS on the CPU go to a temporary file of PostgreSQL's; overrides cpu_limit */
	bool		spool;
	/* ROWS: the CPU, because of this: what job->place.reason is to say; NULL: as the settings say */
	const char *cpu_reason;
} GrJobOptions;

typedef struct GrJob
{
	GrJobKind	kind;
	GrPlace		place;
	GrGram	   *gram;
	GrRows	   *rows;
	struct BufFile *file;		/* the spool, or NULL */
	bool		may_overflow;
	bool		overflowed;		/* the rows are lost: no more may be taken */
	int			nfeatures;
	const char *const *names;
	double	   *block;			/* being filled */
	int64		block_nrows;	/* rows in it */
	int64		block_capacity;
	int64		nrows;			/* rows taken */
	double	   *spooled;		/* the spool's block */
	GrGramTimes times;
	MemoryContextCallback callback;
} GrJob;

extern GrJob *gr_job_begin(const GrJobOptions *options);

/* Where to write the next row of nfeatures + 1 values; gr_job_take_row() makes it count. */
static inline double *
gr_job_row(GrJob *job)
{
	return job->block + job->block_nrows * (job->nfeatures + 1);
}

extern void gr_job_flush(GrJob *job);

static inline void
gr_job_take_row(GrJob *job)
{
	job->nrows++;
	if (++job->block_nrows == job->block_capacity)
		gr_job_flush(job);
}

/* GRAM: writes the packed triangle of nfeatures + 2 and releases the job. */
extern void gr_job_finish(GrJob *job, double *hi, double *lo);

/* ROWS: all are there. False if they didn't fit; the job is then released. */
extern bool gr_job_keep(GrJob *job);

/* ROWS: a pass over them; adds to sums. */
extern void gr_job_pass(GrJob *job, const GrPass *pass, double *sums);

/* ROWS: gradient ascent on the backend, if it has that for these rows. */
extern bool gr_job_can_ascend(const GrJob *job, bool single);
extern void gr_job_ascend(GrJob *job, const GrAscent *ascent, double *beta, int64 *iterations, bool *converged);

/* Releases what the backend holds; the job's context would do so too. */
extern void gr_job_release(GrJob *job);

/* A status of the compute layer as an error that names the job's columns; a lost device is remembered. */
extern void gr_job_fail(GrJob *job, const GrError *err)
			__attribute__((noreturn));

/* What gpu_last_run() shows. */
typedef struct GrRun
{
	const char *function;		/* static; NULL: nothing ran yet */
	char		device[300];
	char		reason[300];
	int64		nrows;
	int			nfeatures;
	int64		bytes_to_device;
	double		read_s;
	double		copy_s;
	double		kernel_s;
	double		solve_s;
	double		total_s;
	int			nworkers;
} GrRun;

extern GrRun gr_last_run;

/* What gpu_last_run() shows from now on: this, and what the caller fills in of it; all else is 0. */
extern GrRun *gr_new_run(const char *function, const GrPlace *place, int64 nrows, int nfeatures);

/* Notes what a job did: when it started, when the rows were read and summed up, when the model was there. */
extern void gr_record_run(const char *function, const GrJob *job, double started, double read_done, double solved);

/* The same of a query that an aggregate summed up on the CPU, in so many workers. */
extern void gr_record_pass(const char *function, const GrPlace *place, int64 nrows, int nfeatures, int nworkers, double started,
						   double read_done, double solved);

/* Seconds on a clock that only goes forward. */
extern double gr_now(void);

#endif							/* GPUREG_BRIDGE_H */
