/*
 * report.c: records computations for gpu_last_run(); see report.h.
 */
#include "postgres.h"

#include "run/clock.h"
#include "run/device.h"
#include "run/job.h"
#include "run/report.h"

GrRun		gr_last_run;

GrRun *
gr_new_run(const char *function, const GrPlace *place, int64 nrows, int nfeatures)
{
	GrRun	   *run = &gr_last_run;

	memset(run, 0, sizeof(*run));
	strlcpy(run->function, function, sizeof(run->function));
	strlcpy(run->device, place->device, sizeof(run->device));
	strlcpy(run->reason, place->reason, sizeof(run->reason));
	run->nrows = nrows;
	run->nfeatures = nfeatures;
	return run;
}

void
gr_record_pass(const GrPlace *place, const GrPassRecord *record)
{
	GrRun	   *run = gr_new_run(record->function, place, record->nrows, record->nfeatures);

	run->read_s = record->read_done - record->started;
	run->solve_s = record->solved - record->read_done;
	run->total_s = record->solved - record->started;
	run->nworkers = record->nworkers;
}

void
gr_record_run(const char *function, GrJob *job, double started, double read_done, double solved)
{
	GrRun	   *run = gr_new_run(function, &job->place, job->nrows, job->shape.nfeatures);
	const GrTimes *times = gr_job_times(job);

	run->bytes_to_device = times->bytes_to_device;
	run->copy_s = times->copy_s;
	run->kernel_s = times->kernel_s;
	if (times->waited_s > 0)
		snprintf(run->reason, sizeof(run->reason), "%s, after %.3g s of waiting for memory", job->place.reason,
				 times->waited_s);
	if (job->through_spi)
		strlcat(run->reason, ", through SPI", sizeof(run->reason));
	/* on the CPU a Gram matrix is summed between reads, so its time isn't reading; a device sums meanwhile */
	run->read_s = read_done - started;
	if (job->kind == GR_SINK_SUM && times->bytes_to_device == 0)
		run->read_s -= times->kernel_s;
	run->solve_s = solved - read_done;
	run->total_s = solved - started;
	run->nworkers = job->nworkers;
}

void
gr_record_solved(double started)
{
	GrRun	   *run = &gr_last_run;
	double		total_s = gr_now() - started;

	run->solve_s += total_s - run->total_s;
	run->total_s = total_s;
}
