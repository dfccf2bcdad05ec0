/*
 * job.c: sends rows to a backend's sink, or to a spool.
 *
 * Rows that this process reads go into blocks of its own memory. A full block is sent to the sink, and filled again
 * when the sink has read it. A device reads a block while this process fills the next one.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "compute/backend/backend.h"
#include "compute/backend/shifted_gram.h"
#include "compute/backend/sink_many.h"
#include "compute/backend/valid.h"
#include "compute/design/derive.h"
#include "compute/linalg/gram_shift.h"
#include "compute/remote/remote.h"
#include "run/args.h"
#include "run/clock.h"
#include "run/device.h"
#include "run/job.h"
#include "run/progress.h"
#include "run/raise.h"
#include "run/request.h"
#include "run/spool.h"

/* size of the rows that a kernel takes at a time; with fewer rows the kernel's partial sums would cost as much */
#define DEVICE_BLOCK_NBYTES ((Size) 4 << 20)
#define CPU_BLOCK_NBYTES ((Size) 256 << 10)
#define BLOCK_NBYTES ((Size) 1 << 20)	/* size of a block that this process fills for a device */

/* Unpins the blocks and ends their lease. The sink must not be reading a block. */
static void
unpin_blocks(GrJob *job)
{
	if (job->lease.client != NULL)
		gr_lease_end(&job->lease);
	if (job->pinned)
		job->place.backend->device->unpin(job->place.session, job->memory);
	job->pinned = false;
}

void
gr_job_end_sink(GrJob *job)
{
	if (job->sink != NULL)
		job->ops->end(job->sink);
	if (job->shifted.shift != NULL)
		gr_shifted_end(&job->shifted);
	job->sink = NULL;
	unpin_blocks(job);
}

/* Frees the blocks after the last row, once the sink has read them. */
static void
free_blocks(GrJob *job)
{
	GrError		err = {0};
	int64_t		nread = 0;

	if (job->memory == NULL || job->spool.file != NULL)
		return;
	while (nread < job->ncalls)
		if (!gr_job_sent(job, true, &nread, &err))
			gr_job_fail(job, &err);
	unpin_blocks(job);
	if (job->allocated != NULL)
		pfree(job->allocated);
	job->allocated = NULL;
	job->memory = NULL;
	job->block = NULL;
}

static void
release_job(void *arg)
{
	GrJob	   *job = arg;

	if (job->released)
		return;
	gr_job_end_sink(job);
	gr_leave_place(&job->place);
}

void
gr_job_release(GrJob *job)
{
	release_job(job);
	if (job->spool.file != NULL)
		gr_spool_end(&job->spool);
	job->released = true;
}

void
gr_job_fail(GrJob *job, const GrError *err)
{
	if ((job->stays || job->derived) && gr_is_kept_shortage(err))
		gr_raise_kept_shortage(err);
	gr_note_device_error(err);
	gr_raise_row(err, job->shape, job->names);
}

/* Marks the job as overflowed if err is a lack of memory and the job may overflow; raises any other err. */
static void
fail_or_overflow(GrJob *job, const GrError *err)
{
	bool		on_cpu = gr_on_cpu(&job->place);

	if (job->may_overflow && on_cpu && err->status == GR_NO_MEMORY)
		 /* the place keeps its reason for the CPU */ ;
	else if (job->may_overflow && !on_cpu && err->status == GR_DEVICE_MEMORY && gr_device == GR_DEVICE_AUTO)
		gr_note_shortage(&job->place, err);
	else
		gr_job_fail(job, err);
	job->overflowed = true;
	job->block = NULL;
	job->block_nrows = 0;
	job->block_capacity = 0;
	release_job(job);
	strlcpy(job->place.device, "cpu", sizeof(job->place.device));
}

bool
gr_job_send(GrJob *job, const void *rows, int64 nrows, GrError *err)
{
	bool		ok;

	if (job->kind == GR_SINK_SUM)
		ok = gr_shifted_send(&job->shifted, rows, nrows, err);
	else
		ok = job->ops->send(job->sink, rows, nrows, err);
	job->ncalls += ok;
	return ok;
}

bool
gr_job_sent(GrJob *job, bool wait, int64_t *ncalls, GrError *err)
{
	return job->ops->sent(job->sink, wait, ncalls, err);
}

/* Goes on to the next block, and waits until the sink has read the block's previous rows. */
static void
next_block(GrJob *job)
{
	GrError		err = {0};
	int64_t		nread = 0;

	job->block_nrows = 0;
	job->filling = (job->filling + 1) % job->nblocks;
	job->block = (double *) (job->memory + job->filling * job->block_nbytes);
	while (job->reader[job->filling] > nread)
	{
		if (!gr_job_sent(job, true, &nread, &err))
		{
			fail_or_overflow(job, &err);
			return;
		}
	}
}

/* Begins job->nsinks sinks in place of one. gpureg.debug_sinks asks for them: they stand in for several devices. */
static bool
begin_many(GrJob *job, const GrSinkOptions *options, GrError *err)
{
	Size		length = strlen(job->place.device);
	GrParts		parts = {.ops = job->place.backend->sink,.n = job->nsinks};

	for (int i = 0; i < parts.n; i++)
		parts.sessions[i] = job->place.session;
	job->ops = &gr_sink_many;
	snprintf(job->place.device + length, sizeof(job->place.device) - length, ", %d sinks", parts.n);
	return gr_many_begin(&parts, options, &job->sink, err);
}

bool
gr_job_begin_sink(GrJob *job, GrError *err)
{
	GrSinkOptions options = {
		.shape = job->shape,.kind = job->kind,.block_nbytes = DEVICE_BLOCK_NBYTES,
		.memory_limit = gr_on_cpu(&job->place) ? job->cpu_limit : gr_device_limit(),.host = job->host
	};

	/* in auto mode a job doesn't wait for a service's memory: the CPU takes the rows at once */
	options.wait_s = gr_device == GR_DEVICE_GPU ? gr_service_wait / 1000.0 : 0;
	options.stays = job->stays;
	options.stay = job->stay;
	/* the planner's estimate may be any number */
	if (job->kind == GR_SINK_KEEP)
		options.expected_nbytes = (Size) Min(job->nrows_expected * gr_row_nbytes(gr_wide_shape(job->shape)),
											 (double) GR_REQUEST_NBYTES_MAX);
	job->ops = job->place.backend->sink;
	/* a session has one channel to a service, which several sinks' threads can't share */
	if (job->nsinks > 0 && job->place.service == NULL ? !begin_many(job, &options, err) :
		!job->ops->begin(job->place.session, &options, &job->sink, err))
		return false;
	return job->kind == GR_SINK_KEEP || gr_shifted_begin(&job->shifted, job->ops, job->sink, &options, err);
}

/*
 * Allocates the blocks for rows that this process reads: for a device several blocks, pinned if possible; for the CPU
 * one block that stays in the second-level cache until it is read; for a file one block of at least 256 rows, as
 * passes over fewer rows at a time are slower.
 */
static void
allocate_blocks(GrJob *job)
{
	bool		on_cpu = gr_on_cpu(&job->place);
	Size		row_nbytes = gr_row_nbytes(job->shape);
	Size		plain_nbytes = gr_row_nbytes(gr_plain_shape(job->shape.nfeatures));
	Size		wanted = Min(on_cpu ? CPU_BLOCK_NBYTES : BLOCK_NBYTES, (Size) gr_ring_size * 1024 / GR_JOB_NBLOCKS);
	GrError		ignored = {0};
	Size		nbytes;

	/* blocks have as many rows with weights as without, so that weights of 1 change no bit of a pass's sums */
	job->block_capacity = Max(wanted / plain_nbytes, job->spool.file != NULL ? 256 : 1);
	job->nblocks = on_cpu ? 1 : GR_JOB_NBLOCKS;
	/* whole pages, so that they can be pinned */
	job->block_nbytes = TYPEALIGN(4096, job->block_capacity * row_nbytes);
	nbytes = job->nblocks * job->block_nbytes;
	if (job->place.service != NULL && gr_lease_begin(&job->lease, job->place.service, nbytes))
		job->memory = job->lease.memory;
	else
	{
		job->allocated = palloc_extended(nbytes + 4096, MCXT_ALLOC_HUGE);
		job->memory = (char *) TYPEALIGN(4096, job->allocated);
	}
	job->filling = 0;
	job->block = (double *) job->memory;
	/* memory is not pinned for a service: it has pinned leased memory itself, and is sent copies of other memory */
	if (!on_cpu && job->place.service == NULL)
		job->pinned = job->place.backend->device->pin(job->place.session, job->memory, nbytes, &ignored);
	if (ignored.status == GR_DEVICE_LOST)
		gr_job_fail(job, &ignored);
}

/*
 * Begins a job on the CPU that needs no sink: its rows go to a spool, or stay with the caller, or not one of them fits
 * into cpu_limit. Returns false if the job needs a sink.
 */
static bool
begin_elsewhere(GrJob *job, const GrJobOptions *options)
{
	if (!gr_on_cpu(&job->place) || job->kind != GR_SINK_KEEP)
		return false;
	if (options->spool)
	{
		gr_spool_begin(&job->spool, job->shape);
		allocate_blocks(job);
	}
	else if (options->device_only ||
			 (options->cpu_limit > 0 && options->cpu_limit < gr_row_nbytes(job->shape)))
		job->overflowed = true;
	else
		return false;
	return true;
}

void
gr_job_adopt(GrJob *job, GrSpool *spool)
{
	Assert(job->kind == GR_SINK_KEEP && job->overflowed);
	gr_place_on_cpu(&job->place, job->place.reason);
	if (job->allocated != NULL)
		pfree(job->allocated);
	job->overflowed = false;
	job->spool = gr_spool_lend(spool);
	allocate_blocks(job);
}

double
gr_job_work(GrSinkKind kind, double nrows, int nfeatures)
{
	/* a Newton fit makes some eight passes, which cost about a Gram matrix each */
	return nrows * gr_triangle(gr_norder(nfeatures)) * (kind == GR_SINK_KEEP ? 8 : 1);
}

GrJob *
gr_job_new(const GrJobOptions *options)
{
	GrJob	   *job = palloc0(sizeof(GrJob));

	job->kind = options->kind;
	job->nsinks = gr_debug_sinks;
	job->shape = options->shape;
	job->rules = options->rules;
	job->names = options->names;
	job->cpu_limit = options->cpu_limit;
	job->may_overflow = options->may_overflow;
	job->nrows_expected = options->nrows_estimate;
	job->stay = options->stay;
	job->callback.func = release_job;
	job->callback.arg = job;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &job->callback);
	return job;
}

GrJob *
gr_job_begin(const GrJobOptions *options)
{
	double		work = options->work > 0 ? options->work :
		gr_job_work(options->kind, options->nrows_estimate, options->shape.nfeatures);
	GrJob	   *job;
	GrError		err = {0};
	bool		begun;

	/* a model of the intercept alone has no features and is computed on the CPU */
	if (options->shape.nfeatures > 0)
		gr_check_nfeatures(options->shape.nfeatures);
	job = gr_job_new(options);
	job->host = &gr_host;
	job->stays = options->keeper != NULL;
	if (job->stays)
	{
		if (!gr_place_at_service(&job->place, options->keeper, &gr_host, &err))
			gr_raise(&err);
	}
	else if (options->shape.nfeatures == 0)
		gr_place_on_cpu(&job->place, "there are no features");
	else if (options->cpu_reason != NULL)
		gr_place_on_cpu(&job->place, options->cpu_reason);
	else if (!gr_choose_place(&job->place, work, &gr_host, &err))
		gr_raise_columns(&err, options->shape.nfeatures, options->names);
	if (begin_elsewhere(job, options))
		return job;
	begun = gr_job_begin_sink(job, &err);
	if (!begun)
	{
		gr_job_end_sink(job);
		/* nothing was computed yet, so the CPU may take the device's place */
		if (!job->stays && gr_retreat_to_cpu(&job->place, &err))
		{
			memset(&err, 0, sizeof(err));
			if (begin_elsewhere(job, options))
				return job;
			begun = gr_job_begin_sink(job, &err);
		}
	}
	if (!begun)
		gr_job_fail(job, &err);
	allocate_blocks(job);
	return job;
}

/* Checks the block's rows and sends them to the spool or the sink, if there are any. */
static void
submit_block(GrJob *job)
{
	GrError		err = {0};
	int64		nrows = job->block_nrows;

	if (nrows == 0)
		return;
	if (!job->stays)
		gr_check_rows(job->block, nrows, job->shape, job->rules, job->names);
	if (gr_has_totals(job->shape, job->rules))
		gr_totals_add(&job->totals, job->block, nrows, job->shape, job->rules);
	job->block_nrows = 0;
	gr_progress_rows(nrows);
	if (job->spool.file != NULL)
		gr_spool_write(&job->spool, job->block, nrows);
	else if (gr_job_send(job, job->block, nrows, &err))
		job->reader[job->filling] = job->ncalls;
	else
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
gr_job_finish(GrJob *job, GrGram *gram)
{
	GrError		err = {0};
	int			column;

	Assert(job->kind == GR_SINK_SUM);
	submit_block(job);
	if (!gr_shifted_finish(&job->shifted, gram, &err))
		gr_job_fail(job, &err);
	job->ops->times(job->sink, &job->times);
	gr_job_end_sink(job);
	if (!gr_gram_finite(gram->hi, job->shape.nfeatures, &column))
	{
		gr_fail(&err, GR_OUT_OF_RANGE, column, "%s", "");
		gr_job_fail(job, &err);
	}
	gram->nobs = gr_job_nobs(job);
	gram->nsummed = job->nrows;
	gram->log_constant = job->totals.log_constant;
}

const GrSolver *
gr_job_solver(GrJob *job)
{
	if (job->place.backend->solver == NULL)
		return NULL;
	job->solver = (GrSolver) {
		.ops = job->place.backend->solver,.session = job->place.session,.memory_limit = gr_device_limit()
	};
	return &job->solver;
}

bool
gr_job_keep(GrJob *job)
{
	Assert(job->kind == GR_SINK_KEEP);
	if (!job->overflowed)
		submit_block(job);
	if (!job->overflowed)
		free_blocks(job);
	return !job->overflowed;
}

void
gr_job_store(GrJob *job, uint64 id, Size description_nbytes)
{
	GrError		err = {0};

	Assert(job->stays && !job->overflowed);
	submit_block(job);
	free_blocks(job);
	if (!gr_remote_store(job->sink, id, description_nbytes, &err))
		gr_job_fail(job, &err);
}

GrJob *
gr_job_derive(const GrJobOptions *options, uint64 id, const GrDerivation *derivation, int64 nrows_max,
			  GrDeriveCounts *counts)
{
	GrJob	   *job = gr_job_new(options);
	GrSinkOptions sink = {
		.kind = GR_SINK_KEEP,.memory_limit = gr_device_limit(),
		.expected_nbytes = (Size) nrows_max * gr_row_nbytes(job->shape),.wait_s = gr_service_wait / 1000.0,
		.host = &gr_host
	};
	const GrDeriveTask task = {
		.derivation = derivation,.rules = job->rules,.options = &sink,.derived = &job->sink,.counts = counts
	};
	GrError		err = {0};

	job->derived = true;
	if (!gr_place_at_service(&job->place, options->keeper, &gr_host, &err))
		gr_job_fail(job, &err);
	job->ops = job->place.backend->sink;
	if (gr_remote_derive(options->keeper, id, &task, &gr_host, &err))
	{
		job->nrows = counts->nrows;
		job->totals = counts->totals;
		job->ops->times(job->sink, &job->times);
		return job;
	}
	if (err.status != GR_INVALID)
		gr_job_fail(job, &err);
	gr_job_release(job);
	return NULL;
}

/*
 * Jobs derived from other jobs
 */

/* Derives rows from those of a spool and sends them to part. If part is NULL, only counts them. */
static void
derive_spool(GrJob *from, const GrDerivation *derivation, GrJob *part, GrDeriveCounts *counts)
{
	GrError		err = {0};
	GrDeriving *deriving = gr_deriving_begin(derivation, &err);
	int64		capacity = part == NULL ? from->block_capacity : Min(part->block_capacity, from->block_capacity);
	double	   *out = part == NULL ? palloc_extended(capacity * gr_row_nbytes(gr_derived_shape(derivation)),
													 MCXT_ALLOC_HUGE) : part->block;

	if (deriving == NULL)
		gr_raise(&err);
	PG_TRY();
	{
		gr_spool_rewind(&from->spool);
		for (int64 left = from->nrows; left > 0;)
		{
			int64		n = Min(left, capacity);
			int64		nout;

			CHECK_FOR_INTERRUPTS();
			gr_spool_read(&from->spool, from->block, n);
			nout = gr_derive_rows(deriving, from->block, n, out, counts);
			if (part != NULL && gr_has_totals(part->shape, part->rules))
				gr_totals_add(&counts->totals, out, nout, part->shape, part->rules);
			if (part != NULL && nout > 0)
				gr_spool_write(&part->spool, out, nout);
			left -= n;
		}
	}
	PG_FINALLY();
	{
		gr_deriving_end(deriving);
	}
	PG_END_TRY();
	if (part == NULL)
		pfree(out);
}

GrJob *
gr_job_part(GrJob *from, const GrDerivation *derivation, const char *const *names, int64 nrows_expected)
{
	GrJobOptions options = {
		.kind = GR_SINK_KEEP,.shape = gr_derived_shape(derivation),.rules = from->rules,.names = names,
		.nrows_estimate = (double) nrows_expected
	};
	GrSinkOptions sink = {
		.kind = GR_SINK_KEEP,.shape = options.shape,.memory_limit = gr_on_cpu(&from->place) ? 0 : gr_device_limit(),
		.expected_nbytes = (Size) nrows_expected * gr_row_nbytes(options.shape),.host = &gr_host
	};
	GrJob	   *job = gr_job_new(&options);
	GrDeriveCounts counts = {0};
	const GrDeriveTask task = {
		.derivation = derivation,.rules = job->rules,.options = &sink,.derived = &job->sink,.counts = &counts
	};
	GrError		err = {0};

	Assert(from->kind == GR_SINK_KEEP && !from->overflowed);
	job->derived = from->derived;
	job->through_spi = from->through_spi;
	job->place = from->place;
	job->place.holds_session = false;
	job->ops = from->ops;
	if (from->spool.file != NULL)
	{
		gr_spool_begin(&job->spool, job->shape);
		allocate_blocks(job);
		derive_spool(from, derivation, job, &counts);
	}
	else if (!from->ops->derive(from->sink, &task, &gr_host, &err))
		gr_job_fail(job, &err);
	else
		job->ops->times(job->sink, &job->times);
	job->nrows = counts.nrows;
	job->totals = counts.totals;
	return job;
}

void
gr_job_count(GrJob *job, const GrDerivation *derivation, GrDeriveCounts *counts)
{
	GrSinkOptions sink = {.kind = GR_SINK_KEEP};
	const GrDeriveTask task = {.derivation = derivation,.rules = job->rules,.options = &sink,.counts = counts};
	GrError		err = {0};

	Assert(job->kind == GR_SINK_KEEP && !job->overflowed);
	memset(counts, 0, sizeof(*counts));
	if (job->spool.file != NULL)
		derive_spool(job, derivation, NULL, counts);
	else if (!job->ops->derive(job->sink, &task, &gr_host, &err))
		gr_job_fail(job, &err);
}

GrJob *
gr_job_head(const GrJob *job, int64 nrows)
{
	GrJob	   *head = memcpy(palloc(sizeof(GrJob)), job, sizeof(GrJob));

	/* the copy gets no callback, as job owns the spool; passes change only the copy's times */
	Assert(job->spool.file != NULL);
	head->nrows = Min(nrows, job->nrows);
	return head;
}

static void
sum_spool(GrJob *job, const GrRequest *request, double *sums)
{
	void	   *scratch = gr_request_scratch(request);

	gr_spool_rewind(&job->spool);
	for (int64 left = job->nrows; left > 0;)
	{
		int64		n = gr_spool_next(&job->spool, left, job->block, job->block_capacity);

		gr_add_request(request, sums, job->block, n, scratch);
		left -= n;
	}
	pfree(scratch);
}

void
gr_job_sums(GrJob *job, const GrRequest *request, double *sums)
{
	double		started = gr_now();
	GrError		err = {0};

	Assert(job->kind == GR_SINK_KEEP && !job->overflowed);
	if (job->spool.file != NULL)
	{
		sum_spool(job, request, sums);
		job->times.kernel_s += gr_now() - started;
		return;
	}
	if (!job->ops->sums(job->sink, request, sums, &gr_host, &err))
		gr_job_fail(job, &err);
}

void
gr_job_change(GrJob *job, const GrBasis *basis)
{
	GrError		err = {0};

	Assert(job->kind == GR_SINK_KEEP && !job->overflowed && job->spool.basis == NULL);
	if (job->spool.file != NULL)
		job->spool.basis = basis;
	else if (!job->ops->change(job->sink, basis, &gr_host, &err))
		gr_job_fail(job, &err);
}

bool
gr_job_can_ascend(const GrJob *job, bool single)
{
	return job->sink != NULL && job->ops->can_ascend != NULL && job->ops->can_ascend(job->sink, single);
}

void
gr_job_ascend(GrJob *job, const GrAscent *ascent, double *beta, int64 *iterations, bool *converged)
{
	GrError		err = {0};
	int64_t		done = 0;

	if (!job->ops->ascend(job->sink, ascent, beta, &done, converged, &gr_host, &err))
		gr_job_fail(job, &err);
	*iterations = done;
	job->ops->times(job->sink, &job->times);
}
