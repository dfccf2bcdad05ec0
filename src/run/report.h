/*
 * report.h: what gpu_last_run() shows.
 *
 * A report is made of what a job and its place know, and so before the job is released.
 */
#ifndef GPUREG_REPORT_H
#define GPUREG_REPORT_H

#include "postgres.h"

#include "run/device.h"
#include "run/job.h"

/* What gpu_last_run() shows. */
typedef struct GrRun
{
	char		function[NAMEDATALEN];	/* empty: nothing ran yet */
	uint64		aggregate;		/* whose groups it is of, by its number; 0: it is of no aggregate */
	char		device[GR_DEVICE_NAME_SIZE];
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
extern void gr_record_pass(const char *function, const GrPlace *place, int64 nrows, int nfeatures, int nworkers,
						   double started,
						   double read_done, double solved);

/* Notes what a job did: when it started, when the rows were read and summed up, when the model was there. */
extern void gr_record_run(const char *function, const GrJob *job, double started, double read_done, double solved);

/* What was recorded when the rows had been summed up, of a function that started then, is solved only now. */
extern void gr_record_solved(double started);

#endif							/* GPUREG_REPORT_H */
