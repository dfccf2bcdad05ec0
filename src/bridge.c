/*
 * bridge.c: between PostgreSQL and the compute layer.
 *
 * The one place where the compute layer's errors become reports, and the one owner of the device session. The session is
 * opened at first use and kept until the process ends; a failure to open it is remembered as well, so that a machine without a
 * device is asked once. Parallel workers never open one.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "utils/memutils.h"

#include "args.h"
#include "bridge.h"

GrRun		gr_last_run;

typedef struct DeviceSession
{
	GrSession  *session;
	bool		opened;
	bool		failed;
	int			gpu_id;			/* the setting that was tried */
	int			njobs;			/* that use the session */
	GrError		error;			/* why it failed */
	MemoryContext context;		/* owns the session */
	MemoryContextCallback callback;
} DeviceSession;

static DeviceSession device_session;

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

static void
close_device_session(void *arg)
{
	DeviceSession *ds = arg;

	gr_backend_cuda.close(ds->session);
	ds->session = NULL;
	ds->opened = false;
	ds->context = NULL;
}

/* Opens the device unless that is done or has failed before; false with ds->error set. */
static bool
device_ready(DeviceSession *ds)
{
	GrOpenOptions options = {.device_id = gr_gpu_id};

	if ((ds->opened || ds->failed) && ds->gpu_id == gr_gpu_id)
		return ds->opened;
	/* a query that is being fitted may itself fit, after a set_config(): its job keeps the session */
	if (ds->opened && ds->njobs > 0)
		return true;
	if (ds->failed && ds->error.status == GR_DEVICE_LOST)
		return false;
	if (ds->context != NULL)
		MemoryContextDelete(ds->context);	/* runs close_device_session() */

	memset(ds, 0, sizeof(*ds));
	ds->gpu_id = gr_gpu_id;
	ds->context = AllocSetContextCreate(TopMemoryContext, "gpureg device session", ALLOCSET_SMALL_SIZES);
	ds->callback.func = close_device_session;
	ds->callback.arg = ds;
	MemoryContextRegisterResetCallback(ds->context, &ds->callback);
	ds->opened = gr_backend_cuda.open(&ds->session, &options, &ds->error);
	ds->failed = !ds->opened;
	return ds->opened;
}

int
gr_list_devices(GrDeviceInfo *devices, int max, GrError *err)
{
	int			ndevices = 0;

	if (IsParallelWorker())
		return 0;
	if (!gr_backend_cuda.list(devices, max, &ndevices, err))
		return 0;
	return ndevices;
}

/* Takes the CPU or the device as the settings say; false if the device is wanted and cannot be had. */
static bool
choose_backend(GrJob *job, double work, GrSession **session, GrError *err)
{
	DeviceSession *ds = &device_session;

	*session = NULL;
	job->backend = &gr_backend_cpu;
	strlcpy(job->device, "cpu", sizeof(job->device));
	if (gr_device == GR_DEVICE_CPU)
		strlcpy(job->reason, "gpureg.device is cpu", sizeof(job->reason));
	else if (IsParallelWorker())
		strlcpy(job->reason, "parallel workers use the CPU", sizeof(job->reason));
	else if (gr_device == GR_DEVICE_AUTO && work < gr_min_gpu_work)
		snprintf(job->reason, sizeof(job->reason), "%.3g products are fewer than gpureg.min_gpu_work", work);
	else if (device_ready(ds))
	{
		const GrDeviceInfo *info = gr_backend_cuda.describe(ds->session);

		job->backend = &gr_backend_cuda;
		job->holds_session = true;
		ds->njobs++;
		*session = ds->session;
		snprintf(job->device, sizeof(job->device), "gpu %d: %s", info->id, info->name);
		if (gr_device == GR_DEVICE_GPU)
			strlcpy(job->reason, "gpureg.device is gpu", sizeof(job->reason));
		else
			snprintf(job->reason, sizeof(job->reason), "%.3g products", work);
	}
	else if (gr_device == GR_DEVICE_GPU || ds->error.status == GR_DEVICE_LOST)
	{
		*err = ds->error;
		return false;
	}
	else
		snprintf(job->reason, sizeof(job->reason), "no GPU: %s", ds->error.detail);
	return true;
}

static void
release_job(void *arg)
{
	GrJob	   *job = arg;

	if (job->gram != NULL)
		job->backend->gram_end(job->gram);
	job->gram = NULL;
	if (job->holds_session)
		device_session.njobs--;
	job->holds_session = false;
}

/* A failure in the middle of the work: remembers a lost device, and raises. */
static void
fail_job(GrJob *job, const GrError *err)
{
	if (err->status == GR_DEVICE_LOST)
	{
		device_session.opened = false;
		device_session.failed = true;
		device_session.error = *err;
	}
	gr_raise_columns(err, job->nfeatures, job->names);
}

static void
next_block(GrJob *job)
{
	GrError		err = {0};

	job->block_nrows = 0;
	if (!job->backend->gram_block(job->gram, &job->block, &job->block_capacity, &err))
		fail_job(job, &err);
}

GrJob *
gr_job_begin(int nfeatures, double nrows_estimate, const char *const *names)
{
	GrJob	   *job = palloc0(sizeof(GrJob));
	GrGramOptions options = {
		.nfeatures = nfeatures,
		.block_nbytes = (size_t) gr_ring_size * 1024 / 8,
		.memory_limit = (size_t) gr_gpu_memory_limit * 1024 * 1024
	};
	GrSession  *session;
	GrError		err = {0};
	bool		begun;

	gr_check_nfeatures(nfeatures);
	job->nfeatures = nfeatures;
	job->names = names;
	job->callback.func = release_job;
	job->callback.arg = job;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &job->callback);

	if (!choose_backend(job, nrows_estimate * gr_triangle(nfeatures + 2), &session, &err))
		gr_raise_columns(&err, nfeatures, names);
	begun = job->backend->gram_begin(session, &options, &job->gram, &err);
	if (!begun && err.status == GR_DEVICE_MEMORY && gr_device == GR_DEVICE_AUTO)
	{
		/* nothing was computed yet: the CPU may take it */
		release_job(job);
		snprintf(job->reason, sizeof(job->reason), "GPU memory: %zu bytes needed, %zu free", err.bytes_needed, err.bytes_free);
		job->backend = &gr_backend_cpu;
		strlcpy(job->device, "cpu", sizeof(job->device));
		memset(&err, 0, sizeof(err));
		begun = job->backend->gram_begin(NULL, &options, &job->gram, &err);
	}
	if (!begun)
		fail_job(job, &err);
	next_block(job);
	return job;
}

/* Hands the block to the backend, if there is a row in it. */
static void
submit_block(GrJob *job)
{
	GrError		err = {0};
	int			column;

	if (job->block_nrows == 0)
		return;
	if (!gr_all_finite(job->block, job->block_nrows, job->nfeatures + 1, &column))
		gr_fail(&err, GR_NOT_FINITE, column, "%s", "");
	else
		job->backend->gram_submit(job->gram, job->block_nrows, &err);
	if (err.status != GR_OK)
		fail_job(job, &err);
	job->block_nrows = 0;
}

void
gr_job_flush(GrJob *job)
{
	CHECK_FOR_INTERRUPTS();
	submit_block(job);
	next_block(job);
}

void
gr_job_finish(GrJob *job, double *hi, double *lo)
{
	GrError		err = {0};
	int			column;

	submit_block(job);
	if (!job->backend->gram_finish(job->gram, hi, lo, &job->times, &err))
		fail_job(job, &err);
	release_job(job);
	if (!gr_gram_finite(hi, job->nfeatures, &column))
	{
		gr_fail(&err, GR_OUT_OF_RANGE, column, "%s", "");
		fail_job(job, &err);
	}
}
