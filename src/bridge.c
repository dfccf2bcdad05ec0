/*
 * bridge.c: between PostgreSQL and the compute layer.
 *
 * The one place where the compute layer's errors become reports, and the owner of what rows on their way to a backend need.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/buffile.h"
#include "utils/memutils.h"

#include "args.h"
#include "bridge.h"

GrRun		gr_last_run;

/* What cancel_pending() met; gr_raise_columns() throws it on. */
static ErrorData *pending_error;

/*
 * Handles interrupts as CHECK_FOR_INTERRUPTS() does, all of them, but jumps nowhere: an error is kept, and raised when the
 * compute layer has returned. (A termination does not return. The frames it leaves own nothing outside the process.)
 */
static bool
cancel_pending(void *arg)
{
	MemoryContext context = CurrentMemoryContext;

	(void) arg;
	pending_error = NULL;
	if (!INTERRUPTS_PENDING_CONDITION())
		return false;
	PG_TRY();
	{
		CHECK_FOR_INTERRUPTS();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		pending_error = CopyErrorData();
		FlushErrorState();
	}
	PG_END_TRY();
	return pending_error != NULL;
}

const GrHost gr_host = {.canceled = cancel_pending,.arg = NULL};

double
gr_now(void)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	return INSTR_TIME_GET_DOUBLE(now);
}

const char *
gr_column_name(int column, int nfeatures, const char *const *names)
{
	if (names != NULL)
		return names[column];
	return column == nfeatures ? "y" : psprintf("x%d", column + 1);
}

static void
raise_device_error(const GrError *err)
{
	switch (err->status)
	{
		case GR_NO_DEVICE:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("no GPU can be used"),
					 errdetail("%s.", err->detail),
					 errhint("Set gpureg.device to auto or cpu to compute on the CPU.")));
			break;
		case GR_DEVICE_MEMORY:
			ereport(ERROR,
					(errcode(ERRCODE_OUT_OF_MEMORY),
					 errmsg("not enough GPU memory"),
					 errdetail("%zu bytes are needed and %zu are free.", err->bytes_needed, err->bytes_free),
					 errhint("Set gpureg.device to auto or cpu, or raise gpureg.gpu_memory_limit where it is set.")));
			break;
		case GR_DEVICE_LOST:
			ereport(ERROR,
					(errcode(ERRCODE_SYSTEM_ERROR),
					 errmsg("the GPU failed"),
					 errdetail("%s.", err->detail),
					 errhint("This session cannot use the GPU any more; reconnect, or set gpureg.device to cpu.")));
			break;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_SYSTEM_ERROR),
					 errmsg("GPU operation failed"),
					 errdetail("%s.", err->detail)));
	}
}

void
gr_raise_columns(const GrError *err, int nfeatures, const char *const *names)
{
	int			column = (int) err->where;

	switch (err->status)
	{
		case GR_NOT_FINITE:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("column \"%s\" has a value that is NaN or infinite", gr_column_name(column, nfeatures, names)),
					 errhint("Leave such rows out, or make the value NULL: rows with a NULL are skipped.")));
			break;
		case GR_NOT_BINARY:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("response must be 0 or 1, got %g", err->value),
					 errdetail("It is column \"%s\".", gr_column_name(nfeatures, nfeatures, names)),
					 errhint("Use a boolean, or compare: (y > 0).")));
			break;
		case GR_ONE_CLASS:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("the response has one class: it is %g in every row", err->value),
					 errdetail("It is column \"%s\".", gr_column_name(nfeatures, nfeatures, names)),
					 errhint("A logistic regression needs rows of both classes, 0 and 1.")));
			break;
		case GR_OUT_OF_RANGE:
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("squares of column \"%s\" are out of range for float8",
							column < 0 ? "(intercept)" : gr_column_name(column, nfeatures, names)),
					 errhint("Rescale the column: magnitudes between 1e-137 and 1e150 are safe.")));
			break;
		case GR_CANCELED:
			{
				ErrorData  *error = pending_error;

				pending_error = NULL;
				if (error != NULL)
					ReThrowError(error);
			}
			break;
		case GR_NO_MEMORY:
			ereport(ERROR,
					(errcode(ERRCODE_OUT_OF_MEMORY),
					 errmsg("out of memory"),
					 errdetail("Failed on a request of size %zu.", err->bytes_needed)));
			break;
		case GR_INVALID:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s", err->detail)));
			break;
		default:
			raise_device_error(err);
	}
	elog(ERROR, "unexpected status %d", (int) err->status);
}

void
gr_raise(const GrError *err)
{
	gr_note_device_error(err);
	gr_raise_columns(err, 0, NULL);
}

void
gr_check_rows(const double *rows, int64 nrows, int nfeatures, const char *const *names, bool binary)
{
	GrError		err = {0};
	int			column;

	if (!gr_all_finite(rows, nrows, nfeatures + 1, &column))
		gr_fail(&err, GR_NOT_FINITE, column, "%s", "");
	else if (binary && !gr_all_binary(rows, nrows, nfeatures + 1, &err.value))
		gr_fail(&err, GR_NOT_BINARY, nfeatures, "%s", "");
	else
		return;
	gr_raise_columns(&err, nfeatures, names);
}

static void
release_backend(GrJob *job)
{
	if (job->gram != NULL)
		job->place.backend->gram_end(job->gram);
	if (job->rows != NULL)
		job->place.backend->rows_end(job->rows);
	job->gram = NULL;
	job->rows = NULL;
}

static void
release_job(void *arg)
{
	GrJob	   *job = arg;

	release_backend(job);
	gr_leave_place(&job->place);
}

void
gr_job_release(GrJob *job)
{
	release_job(job);
	if (job->file != NULL)
		BufFileClose(job->file);
	job->file = NULL;
}

void
gr_job_fail(GrJob *job, const GrError *err)
{
	gr_note_device_error(err);
	gr_raise_columns(err, job->nfeatures, job->names);
}

/* Takes a lack of room as an overflow, where that is foreseen; raises everything else. */
static void
fail_or_overflow(GrJob *job, const GrError *err)
{
	bool		on_cpu = job->place.backend == &gr_backend_cpu;

	if (job->may_overflow && on_cpu && err->status == GR_NO_MEMORY)
		 /* the reason for the CPU stands */ ;
	else if (job->may_overflow && !on_cpu && err->status == GR_DEVICE_MEMORY && gr_device == GR_DEVICE_AUTO)
		snprintf(job->place.reason, sizeof(job->place.reason), "GPU memory: %zu bytes needed, %zu free", err->bytes_needed, err->bytes_free);
	else
		gr_job_fail(job, err);
	job->overflowed = true;
	job->block = NULL;
	job->block_nrows = 0;
	job->block_capacity = 0;
	release_job(job);
	strlcpy(job->place.device, "cpu", sizeof(job->place.device));
}

static void
next_block(GrJob *job)
{
	GrError		err = {0};
	bool		ok;

	job->block_nrows = 0;
	if (job->file != NULL)
		return;
	if (job->kind == GR_JOB_GRAM)
		ok = job->place.backend->gram_block(job->gram, &job->block, &job->block_capacity, &err);
	else
		ok = job->place.backend->rows_block(job->rows, &job->block, &job->block_capacity, &err);
	if (!ok)
		fail_or_overflow(job, &err);
}

/* The backend's own part of a job; on the CPU nothing else of the machine is asked for. */
static bool
begin_on_backend(GrJob *job, const GrJobOptions *options, GrError *err)
{
	bool		on_cpu = job->place.backend == &gr_backend_cpu;
	Size		device_limit = (Size) gr_gpu_memory_limit * 1024 * 1024;
	Size		block_nbytes = (Size) gr_ring_size * 1024 / 8;

	if (options->kind == GR_JOB_GRAM)
	{
		GrGramOptions gram = {
			.nfeatures = options->nfeatures,.block_nbytes = block_nbytes,.memory_limit = device_limit
		};

		return job->place.backend->gram_begin(job->place.session, &gram, &job->gram, err);
	}
	else
	{
		GrRowsOptions rows = {
			.nfeatures = options->nfeatures,.block_nbytes = block_nbytes,
			.memory_limit = on_cpu ? options->cpu_limit : device_limit
		};

		return job->place.backend->rows_begin(job->place.session, &rows, &job->rows, err);
	}
}

/* Rows as they are in blocks, one after the other, in a temporary file */
static void
begin_spool(GrJob *job)
{
	Size		row_nbytes = (job->nfeatures + 1) * sizeof(double);

	/* wide rows too come some hundred at a time, as the passes like them */
	job->block_capacity = Max(262144 / row_nbytes, 256);
	job->spooled = palloc(job->block_capacity * row_nbytes);
	job->block = job->spooled;
	job->file = BufFileCreateTemp(false);
}

/* A job that needs no backend: rows that go to a file, or that the caller keeps. False if it needs one. */
static bool
begin_elsewhere(GrJob *job, const GrJobOptions *options)
{
	if (job->place.backend != &gr_backend_cpu)
		return false;
	if (options->spool)
		begin_spool(job);
	else if (options->device_only)
		job->overflowed = true;
	else
		return false;
	return true;
}

/* A Newton fit makes some eight passes, which cost about a Gram matrix each */
static double
job_work(const GrJobOptions *options)
{
	return options->nrows_estimate * gr_triangle(options->nfeatures + 2) * (options->kind == GR_JOB_ROWS ? 8 : 1);
}

GrJob *
gr_job_begin(const GrJobOptions *options)
{
	GrJob	   *job = palloc0(sizeof(GrJob));
	GrError		err = {0};
	bool		begun;

	gr_check_nfeatures(options->nfeatures);
	job->kind = options->kind;
	job->nfeatures = options->nfeatures;
	job->names = options->names;
	job->may_overflow = options->may_overflow;
	job->callback.func = release_job;
	job->callback.arg = job;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &job->callback);

	if (options->cpu_reason != NULL)
		gr_place_on_cpu(&job->place, options->cpu_reason);
	else if (!gr_choose_place(&job->place, job_work(options), &err))
		gr_raise_columns(&err, options->nfeatures, options->names);
	if (begin_elsewhere(job, options))
		return job;
	begun = begin_on_backend(job, options, &err);
	if (!begun)
	{
		release_backend(job);
		/* nothing was computed yet: the CPU may take it */
		if (gr_retreat_to_cpu(&job->place, &err))
		{
			memset(&err, 0, sizeof(err));
			if (begin_elsewhere(job, options))
				return job;
			begun = begin_on_backend(job, options, &err);
		}
	}
	if (!begun)
		gr_job_fail(job, &err);
	next_block(job);
	return job;
}

/* Hands the block to the backend, if there is a row in it. */
static void
submit_block(GrJob *job)
{
	GrError		err = {0};

	if (job->block_nrows == 0)
		return;
	gr_check_rows(job->block, job->block_nrows, job->nfeatures, job->names, job->kind == GR_JOB_ROWS);
	if (job->file != NULL)
		BufFileWrite(job->file, job->block, job->block_nrows * (job->nfeatures + 1) * sizeof(double));
	else if (job->kind == GR_JOB_GRAM)
		job->place.backend->gram_submit(job->gram, job->block_nrows, &err);
	else
		job->place.backend->rows_submit(job->rows, job->block_nrows, &err);
	job->block_nrows = 0;
	if (err.status != GR_OK)
		fail_or_overflow(job, &err);
}

void
gr_job_flush(GrJob *job)
{
	CHECK_FOR_INTERRUPTS();
	submit_block(job);
	if (!job->overflowed)
		next_block(job);
}

void
gr_job_finish(GrJob *job, double *hi, double *lo)
{
	GrError		err = {0};
	int			column;

	Assert(job->kind == GR_JOB_GRAM);
	submit_block(job);
	if (!job->place.backend->gram_finish(job->gram, hi, lo, &job->times, &err))
		gr_job_fail(job, &err);
	release_job(job);
	if (!gr_gram_finite(hi, job->nfeatures, &column))
	{
		gr_fail(&err, GR_OUT_OF_RANGE, column, "%s", "");
		gr_job_fail(job, &err);
	}
}

bool
gr_job_keep(GrJob *job)
{
	Assert(job->kind == GR_JOB_ROWS);
	if (!job->overflowed)
		submit_block(job);
	return !job->overflowed;
}

static void
read_exactly(BufFile *file, void *into, Size nbytes)
{
	/* PostgreSQL 16 has BufFileReadExact() for it, and leaves less to BufFileRead() */
#if PG_VERSION_NUM >= 160000
	BufFileReadExact(file, into, nbytes);
#else
	if (BufFileRead(file, into, nbytes) != nbytes)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read from temporary file: %m")));
#endif
}

/* A pass over the spool */
static void
pass_over_file(GrJob *job, const GrPass *pass, double *sums)
{
	Size		row_nbytes = (job->nfeatures + 1) * sizeof(double);
	double	   *scratch = palloc_extended(gr_pass_scratch_nbytes(pass->kind, pass->nfeatures), MCXT_ALLOC_HUGE);
	double		started = gr_now();

	if (BufFileSeek(job->file, 0, 0, SEEK_SET) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not rewind temporary file: %m")));
	for (int64 left = job->nrows; left > 0;)
	{
		int64		n = Min(left, job->block_capacity);

		CHECK_FOR_INTERRUPTS();
		read_exactly(job->file, job->spooled, n * row_nbytes);
		gr_pass_add(pass, sums, job->spooled, n, scratch);
		left -= n;
	}
	pfree(scratch);
	job->times.kernel_s += gr_now() - started;
}

void
gr_job_pass(GrJob *job, const GrPass *pass, double *sums)
{
	GrError		err = {0};

	Assert(job->kind == GR_JOB_ROWS && !job->overflowed);
	if (job->file != NULL)
	{
		pass_over_file(job, pass, sums);
		return;
	}
	if (!job->place.backend->rows_pass(job->rows, pass, sums, &gr_host, &err))
		gr_job_fail(job, &err);
	job->place.backend->rows_times(job->rows, &job->times);
}

bool
gr_job_can_ascend(const GrJob *job, bool single)
{
	return job->file == NULL && job->place.backend->rows_can_ascend(job->rows, single);
}

void
gr_job_ascend(GrJob *job, const GrAscent *ascent, double *beta, int64 *iterations, bool *converged)
{
	GrError		err = {0};
	int64_t		done = 0;

	if (!job->place.backend->rows_ascend(job->rows, ascent, beta, &done, converged, &gr_host, &err))
		gr_job_fail(job, &err);
	*iterations = done;
	job->place.backend->rows_times(job->rows, &job->times);
}

GrRun *
gr_new_run(const char *function, const GrPlace *place, int64 nrows, int nfeatures)
{
	GrRun	   *run = &gr_last_run;

	memset(run, 0, sizeof(*run));
	run->function = function;
	strlcpy(run->device, place->device, sizeof(run->device));
	strlcpy(run->reason, place->reason, sizeof(run->reason));
	run->nrows = nrows;
	run->nfeatures = nfeatures;
	return run;
}

void
gr_record_run(const char *function, const GrJob *job, double started, double read_done, double solved)
{
	GrRun	   *run = gr_new_run(function, &job->place, job->nrows, job->nfeatures);

	run->bytes_to_device = job->times.bytes_to_device;
	run->copy_s = job->times.copy_s;
	run->kernel_s = job->times.kernel_s;
	/* a Gram matrix on the CPU is summed between reads; on a device, beside them */
	run->read_s = read_done - started;
	if (job->kind == GR_JOB_GRAM && job->times.bytes_to_device == 0)
		run->read_s -= job->times.kernel_s;
	run->solve_s = solved - read_done;
	run->total_s = solved - started;
}

void
gr_record_pass(const char *function, const GrPlace *place, int64 nrows, int nfeatures, int nworkers, double started,
			   double read_done, double solved)
{
	GrRun	   *run = gr_new_run(function, place, nrows, nfeatures);

	run->read_s = read_done - started;
	run->solve_s = solved - read_done;
	run->total_s = solved - started;
	run->nworkers = nworkers;
}
