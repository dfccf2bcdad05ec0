/*
 * report.h: the record that gpu_last_run() shows.
 *
 * A report is made from a job and its place, and therefore before the job is released.
 */
#ifndef GPUREG_REPORT_H
#define GPUREG_REPORT_H

#include "postgres.h"

#include "run/device.h"
#include "run/job.h"

/* The session's last computation. */
typedef struct GrRun
{
	char		function[NAMEDATALEN];	/* empty: nothing ran yet */
	uint64		aggregate;		/* number of the aggregate whose groups these are; 0: not an aggregate */
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

/* Begins a new record with these values. The caller fills in further members; all others are 0. */
extern GrRun *gr_new_run(const char *function, const GrPlace *place, int64 nrows, int nfeatures);

/* Figures of rows that were read without a job, for gpu_last_run(). */
typedef struct GrPassRecord
{
	const char *function;
	int64		nrows;
	int			nfeatures;
	int			nworkers;		/* parallel workers that read; 0: none */
	double		started;		/* gr_now() at the beginning, when the rows were read, and when all was done */
	double		read_done;
	double		solved;
} GrPassRecord;

/*
 * Records for gpu_last_run() rows that were read without a job: record has the function, counts and times, place
 * says where.
 */
extern void gr_record_pass(const GrPlace *place, const GrPassRecord *record);

/* Records a job: the times when it started, when the rows were read and summed, and when the model was solved. */
extern void gr_record_run(const char *function, GrJob *job, double started, double read_done, double solved);

/*
 * Adds the time since the record was made to its solve and total times, for a function that records before it solves.
 * started: when the function started.
 */
extern void gr_record_solved(double started);

#endif							/* GPUREG_REPORT_H */
