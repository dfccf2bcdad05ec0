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

/* gr_pass_add(), interruptible */
extern void gr_add_pass(const GrPass *pass, double *sums, const double *rows, int64 nrows, double *scratch);

/* gr_basis_change_rows() with interrupts; basis may be NULL. */
extern void gr_change_rows(const GrBasis *basis, double *rows, int64 nrows);

/* The name of a column: names[column], or x1 .. xp, y. */
extern const char *gr_column_name(int column, int nfeatures, const char *const *names);

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

/* Notes what was done with a query that an aggregate summed up on the CPU, in so many workers. */
extern void gr_record_pass(const char *function, const GrPlace *place, int64 nrows, int nfeatures, int nworkers, double started,
						   double read_done, double solved);

/* Seconds on a clock that only goes forward. */
extern double gr_now(void);

#endif							/* GPUREG_BRIDGE_H */
