/*
 * rows_boot.cu: passes of a bootstrap over a sink's rows on the device; see boot.cuh.
 *
 * A pass allocates one block of memory, and frees it at the end: | arguments | q of some rows | partial sums | sums |.
 */
#include "sends.cuh"

#include "boot.cuh"

#include "compute/backend/valid.h"

#include <stdlib.h>
#include <string.h>

#define Q_NBYTES ((size_t) 64 << 20)	/* memory of the rows made at a time */
#define LAUNCH_PRODUCTS 2e10	/* products times replicates per launch: about 40 ms on slower devices */
#define ROW_PRODUCTS 4000		/* cost of making a row, in the same unit */

/* A pass under way. Sizes are in float8. */
typedef struct BootRun
{
	RowsSink   *rows;
	const GrBootPass *pass;
	const GrHost *host;
	BootPlan	plan;
	BootTerms	terms;
	int64_t		step;			/* rows per launch */
	size_t		arguments_size;
	size_t		sums_size;
	double	   *memory;			/* on the device */
	double	   *q;
	double	   *partials;
	double	   *sums;
	double	   *host_memory;	/* arguments on their way there, then sums on their way back */
} BootRun;

/* Chooses the rows per launch, and allocates the memory of a pass. */
static bool
allocate(BootRun *run, GrError *err)
{
	SignalsBlocked blocked;
	GrSession  *session = run->rows->session;
	const GrBootPass *pass = run->pass;
	size_t		t = (size_t) gr_nterms(pass->shape.nfeatures);
	size_t		nlines = (size_t) (pass->nreps == 0 ? pass->ninfluence : 0);
	double		work = (double) run->plan.nproducts * (pass->nreps + 1) + ROW_PRODUCTS;
	size_t		total;
	size_t		larger;
	cudaError_t code;

	run->step = (int64_t) (Q_NBYTES / (sizeof(double) * (size_t) run->plan.pitch));
	if ((double) run->step * work > LAUNCH_PRODUCTS)
		run->step = (int64_t) (LAUNCH_PRODUCTS / work);
	run->step = run->step < 256 ? 256 : run->step / 64 * 64;
	run->arguments_size = 3 * t + (size_t) pass->nactive * (t + nlines);
	run->sums_size = gr_boot_nsums(pass) - GR_BOOT_HEAD;
	total = run->arguments_size + (size_t) run->step * (size_t) run->plan.pitch + run->plan.partials_ndoubles +
		run->sums_size;
	larger = run->arguments_size > run->sums_size ? run->arguments_size : run->sums_size;
	run->host_memory = (double *) malloc(sizeof(double) * larger);
	if (run->host_memory == NULL)
		return gr_fail(err, GR_NO_MEMORY, 0, "the sums of a bootstrap");
	code = gr_memory_get(session->info.id, (void **) &run->memory, sizeof(double) * total);
	if (code != cudaSuccess)
	{
		run->memory = NULL;
		return session_fail(session, err, code, run->rows->nbytes + sizeof(double) * total,
							"allocating the sums of a bootstrap");
	}
	run->q = run->memory + run->arguments_size;
	run->partials = run->q + (size_t) run->step * (size_t) run->plan.pitch;
	run->sums = run->partials + run->plan.partials_ndoubles;
	return true;
}

/* Appends n float8 to the arguments. Returns their address on the device. */
static const double *
put(BootRun *run, size_t *used, const double *values, size_t n)
{
	const double *at = run->memory + *used;

	memcpy(run->host_memory + *used, values, sizeof(double) * n);
	*used += n;
	return at;
}

/* Copies the arguments to the device, and clears the partial sums. */
static bool
send_arguments(BootRun *run, GrError *err)
{
	const GrBootPass *pass = run->pass;
	BootTerms  *terms = &run->terms;
	size_t		t = (size_t) gr_nterms(pass->shape.nfeatures);
	size_t		used = 0;

	terms->shape = pass->shape;
	terms->distribution = pass->distribution;
	terms->nactive = pass->nactive;
	terms->seed = pass->seed;
	terms->group = (uint32_t) (pass->first / 4);
	terms->nreps = pass->nreps;
	terms->ninfluence = pass->ninfluence;
	terms->flips = pass->flips;
	terms->beta = put(run, &used, pass->beta, t);
	terms->beta_lo = put(run, &used, pass->beta_lo, t);
	terms->shift = put(run, &used, pass->shift, t - 1);
	terms->factor = put(run, &used, pass->factor, (size_t) pass->nactive * t);
	if (pass->nreps == 0)
		terms->influence = put(run, &used, pass->influence, (size_t) pass->nactive * (size_t) pass->ninfluence);
	SESSION_CUDA(run->rows->session, err,
				 cudaMemcpyAsync(run->memory, run->host_memory, sizeof(double) * used, cudaMemcpyHostToDevice,
								 run->rows->kernel_stream),
				 "copying a bootstrap's arguments to the device");
	SESSION_CUDA(run->rows->session, err,
				 cudaMemsetAsync(run->partials, 0, sizeof(double) * run->plan.partials_ndoubles,
								 run->rows->kernel_stream),
				 "clearing the sums");
	return true;
}

/* Adds the rows of a chunk to the partial sums. */
static bool
sum_chunk(BootRun *run, const RowsChunk *chunk, GrError *err)
{
	RowsSink   *rows = run->rows;

	for (int64_t done = 0; done < chunk->nrows; done += run->step)
	{
		int64_t		n = chunk->nrows - done < run->step ? chunk->nrows - done : run->step;
		const double *first = chunk->rows + done * gr_row_ncols(rows->shape);

		SESSION_CUDA(rows->session, err,
					 gr_boot_make_launch(&run->plan, &run->terms, first, n, run->q, rows->kernel_stream),
					 "launching a bootstrap");
		SESSION_CUDA(rows->session, err,
					 gr_boot_sum_launch(&run->plan, &run->terms, run->q, n, run->partials, rows->kernel_stream),
					 "launching a bootstrap");
		SESSION_CUDA(rows->session, err, cudaStreamSynchronize(rows->kernel_stream), "a bootstrap on the device");
		if (gr_canceled(run->host))
			return gr_fail(err, GR_CANCELED, 0, "a bootstrap on the device");
	}
	return true;
}

static bool
run_pass(BootRun *run, double *sums, GrError *err)
{
	RowsSink   *rows = run->rows;
	GrSession  *session = rows->session;
	float		kernel_ms;

	SESSION_CUDA(session, err, cudaEventRecord(rows->pass_begin, rows->kernel_stream), "recording an event");
	if (!send_arguments(run, err))
		return false;
	for (int c = 0; c < rows->nchunks; c++)
		if (!sum_chunk(run, &rows->chunks[c], err))
			return false;
	SESSION_CUDA(session, err,
				 gr_boot_merge_launch(&run->plan, &run->terms, run->partials, run->sums, rows->kernel_stream),
				 "launching the final sums");
	SESSION_CUDA(session, err, cudaEventRecord(rows->pass_end, rows->kernel_stream), "recording an event");
	SESSION_CUDA(session, err,
				 cudaMemcpyAsync(run->host_memory, run->sums, sizeof(double) * run->sums_size, cudaMemcpyDeviceToHost,
								 rows->kernel_stream),
				 "copying the sums from the device");
	SESSION_CUDA(session, err, cudaStreamSynchronize(rows->kernel_stream), "a bootstrap on the device");
	SESSION_CUDA(session, err, cudaEventElapsedTime(&kernel_ms, rows->pass_begin, rows->pass_end),
				 "reading an event");
	rows->kernel_s += kernel_ms * 1e-3;
	for (size_t k = 0; k < run->sums_size; k++)
		sums[GR_BOOT_HEAD + k] += run->host_memory[k];
	sums[0] += (double) rows->nrows;
	return true;
}

bool
gr_cuda_rows_boot(GrSink *sink, const GrBootPass *pass, double *sums, const GrHost *host, GrError *err)
{
	RowsSink   *rows = static_cast<RowsSink *>(sink);
	BootRun		run = {};
	int			nsms;
	bool		ok;

	if (pass->steps != NULL)
		return gr_fail(err, GR_INVALID, 0, "a bootstrap whose replicates have coefficients of their own");
	if (!gr_boot_valid(pass, rows->shape, err))
		return false;
	if (rows->nrows == 0)
		return true;
	SESSION_CUDA(rows->session, err, cudaSetDevice(rows->session->info.id), "selecting the device");
	SESSION_CUDA(rows->session, err,
				 cudaDeviceGetAttribute(&nsms, cudaDevAttrMultiProcessorCount, rows->session->info.id),
				 "asking for the device's multiprocessors");
	if (!gr_sends_wait(&rows->sends, err))
		return false;
	run.rows = rows;
	run.pass = pass;
	run.host = host;
	run.plan = gr_boot_plan_launches(pass, nsms);
	ok = allocate(&run, err) && run_pass(&run, sums, err);
	/* nothing may be under way when its memory is freed */
	if (!ok)
		(void) cudaStreamSynchronize(rows->kernel_stream);
	gr_memory_give(rows->session->info.id, run.memory);
	free(run.host_memory);
	return ok;
}
