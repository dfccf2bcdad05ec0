/*
 * bridge.h: between PostgreSQL and the compute layer: errors, cancel, the choice of backend, and who owns what.
 */
#ifndef GPUREG_BRIDGE_H
#define GPUREG_BRIDGE_H

#include "postgres.h"

#include "compute/compute.h"

/* Settings; see gpureg.c. */
typedef enum GrDeviceChoice
{
	GR_DEVICE_AUTO,
	GR_DEVICE_CPU,
	GR_DEVICE_GPU
} GrDeviceChoice;

extern int	gr_device;			/* GrDeviceChoice */
extern int	gr_gpu_id;
extern int	gr_gpu_memory_limit;	/* MB; 0: none */
extern int	gr_ring_size;		/* kB */
extern double gr_min_gpu_work;	/* products of the Gram matrix */

/* Polls for cancel, for the compute layer's loops. */
extern const GrHost gr_host;

/*
 * Raises err as an ERROR. names: the ncols columns of a row (features, then the response), or NULL for x1 .. xp, y. Where err
 * says that the work was cancelled, this is the place that jumps.
 */
extern void gr_raise_columns(const GrError *err, int nfeatures, const char *const *names)
			__attribute__((noreturn));

/* The name of a column: names[column], or x1 .. xp, y. */
extern const char *gr_column_name(int column, int nfeatures, const char *const *names);

/*
 * One Gram matrix being summed on the backend that the settings and the amount of work call for. The memory context that is
 * current at gr_job_begin() owns it: its reset, for whatever reason, releases what the backend holds.
 */
typedef struct GrJob
{
	const GrBackend *backend;
	GrGram	   *gram;
	bool		holds_session;	/* it keeps the device session open */
	int			nfeatures;
	const char *const *names;	/* as in gr_raise_columns() */
	char		device[300];	/* "cpu", or "gpu 0: NVIDIA H200" */
	char		reason[300];	/* why that one */
	double	   *block;			/* being filled */
	int64		block_nrows;	/* rows in it */
	int64		block_capacity;
	int64		nrows;			/* rows taken */
	GrGramTimes times;
	MemoryContextCallback callback;
} GrJob;

/* nrows_estimate: for the choice in auto mode. */
extern GrJob *gr_job_begin(int nfeatures, double nrows_estimate, const char *const *names);

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

/* Writes the packed triangle of nfeatures + 2 and releases the job. */
extern void gr_job_finish(GrJob *job, double *hi, double *lo);

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

/* Seconds on a clock that only goes forward. */
extern double gr_now(void);

/* The devices there are; err->detail says why there are none. */
extern int	gr_list_devices(GrDeviceInfo *devices, int max, GrError *err);

#endif							/* GPUREG_BRIDGE_H */
