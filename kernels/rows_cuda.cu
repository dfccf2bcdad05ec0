/*
 * rows_cuda.cu: a sink that keeps rows on the device, and passes of GLM fits over them.
 *
 * Rows are copied to the end of the last chunk, on a stream of their own. Chunks grow in size, so that few rows take
 * little memory and many rows few chunks. The passes' other memory is allocated first, so that rows that fit can also
 * be worked on.
 *
 * A pass sends its launches to another stream. About every POLL_S it waits for them and asks the host whether to go on.
 */
#include "sends.cuh"

#include <stdlib.h>
#include <string.h>

#define CHUNK_NBYTES_FIRST ((size_t) 64 << 20)
#define CHUNK_NBYTES_MAX ((size_t) 1 << 30)
#define SLACK_NBYTES ((size_t) 64 << 20)	/* device memory left for the device's own needs */
#define SCRATCH_NBYTES ((size_t) 128 << 20)	/* more rows in a step would hardly be faster */
#define RESULT_NDOUBLES 65536	/* sums copied back at a time */
#define GRAM_LAUNCH_S 0.03		/* time of gram.cu's longest launch, as it estimates it */
#define POLL_S 0.04				/* work between two polls of the host, at the device's peak */
#define LEAST_BYTES_PER_S 4e11	/* rate at which slower devices read */

/* A pass under way */
typedef struct RowsPass
{
	RowsSink   *rows;
	const GrPass *pass;
	GlmTerms	terms;
	RowsWork	work;
	double	   *sums;			/* on the host, gr_pass_nsums() numbers */
	const GrHost *host;
} RowsPass;

static size_t
row_nbytes(const RowsSink *rows)
{
	return gr_row_nbytes(rows->shape);
}

/* Returns a row's estimated read time, without its weight: it decides launches, and so the order of sums. */
static double
read_s(const RowsSink *rows)
{
	return (double) gr_row_nbytes(gr_plain_shape(rows->shape.nfeatures)) / LEAST_BYTES_PER_S;
}

/* Sets *nbytes to the device memory that may still be allocated. */
static bool
available(RowsSink *rows, size_t *nbytes, GrError *err)
{
	size_t		nbytes_free;
	size_t		nbytes_total;

	SESSION_CUDA(rows->session, err, gr_memory_info(rows->session->info.id, &nbytes_free, &nbytes_total),
				 "reading the device's free memory");
	*nbytes = nbytes_free > SLACK_NBYTES ? nbytes_free - SLACK_NBYTES : 0;
	if (rows->memory_limit > 0)
	{
		size_t		left = rows->memory_limit > rows->nbytes ? rows->memory_limit - rows->nbytes : 0;

		*nbytes = left < *nbytes ? left : *nbytes;
	}
	return true;
}

/* Fails because nbytes more are needed and only nbytes_free are left. */
static bool
fail_memory(RowsSink *rows, size_t nbytes, size_t nbytes_free, GrError *err)
{
	if (err->status == GR_OK)
	{
		err->bytes_needed = rows->nbytes + nbytes;
		err->bytes_free = rows->nbytes + nbytes_free;
	}
	return gr_fail(err, GR_DEVICE_MEMORY, 0,
				   "rows and sums need %zu bytes of device memory or more, of which there are %zu",
				   rows->nbytes + nbytes, rows->nbytes + nbytes_free);
}

/* Allocates device memory for the sink, and counts it. */
static bool
allocate(RowsSink *rows, double **memory, size_t nbytes, const char *what, GrError *err)
{
	cudaError_t code = gr_memory_get(rows->session->info.id, (void **) memory, nbytes);

	if (code != cudaSuccess)
		return session_fail(rows->session, err, code, rows->nbytes + nbytes, what);
	rows->nbytes += nbytes;
	return true;
}

/* Returns how a kind of pass divides the passes' memory. */
static RowsWork
plan_work(const RowsSink *rows, GrPassKind kind)
{
	const GlmPlan *plan = &rows->plan;
	bool		fused = gr_glm_is_fused(plan, kind);
	bool		steps = (kind == GR_PASS_GRADIENT || kind == GR_PASS_FAST) && !fused;
	bool		once = fused || (steps && plan->wide_ncolumns > 0);	/* one kernel for all sums but the Hessian */
	RowsWork	work = {};

	work.columns = work.records + (once ? plan->fused_ndoubles : plan->heads_ndoubles);
	work.matrix = work.columns + (steps && !once ? plan->columns_ndoubles : 0);
	work.scratch = work.matrix;
	if (kind == GR_PASS_FAST && !fused)
		work.scratch += plan->matrix_ndoubles;
	else if (!steps && !fused)
		work.scratch += rows->gram.partials_nbytes / sizeof(double);
	work.scratch = (work.scratch + 31) / 32 * 32;
	work.end = work.scratch + (fused ? 0 : rows->scratch_nbytes / sizeof(double));
	return work;
}

/* Plans the sums within free memory. *nbytes: memory of sums and scratch. */
static bool
plan_passes(RowsSink *rows, size_t nbytes_free, size_t *nbytes, GrError *err)
{
	const GrPassKind kinds[] = {GR_PASS_EXACT, GR_PASS_FAST, GR_PASS_GRADIENT};
	size_t		tile_nbytes = GLM_TILE * (row_nbytes(rows) + sizeof(double));
	size_t		budget_nbytes;

	budget_nbytes = nbytes_free / 4 < GR_PARTIALS_NBYTES ? nbytes_free / 4 : GR_PARTIALS_NBYTES;
	rows->scratch_nbytes = nbytes_free / 8 < SCRATCH_NBYTES ? nbytes_free / 8 : SCRATCH_NBYTES;
	rows->scratch_nbytes = rows->scratch_nbytes / 256 * 256;
	if (rows->scratch_nbytes < tile_nbytes)
		rows->scratch_nbytes = tile_nbytes;
	SESSION_CUDA(rows->session, err,
				 gr_gram_plan(&rows->gram, gr_plain_shape(gr_nterms(rows->shape.nfeatures)), budget_nbytes),
				 "planning the sums");
	SESSION_CUDA(rows->session, err, gr_glm_plan(&rows->plan, rows->shape, budget_nbytes), "planning the passes");
	*nbytes = 0;
	for (GrPassKind kind : kinds)
	{
		size_t		kind_nbytes = sizeof(double) * plan_work(rows, kind).end;

		*nbytes = kind_nbytes > *nbytes ? kind_nbytes : *nbytes;
	}
	return true;
}

/* Allocates pinned memory. A lack of it is a lack of host memory, not of device memory. */
static bool
allocate_pinned(RowsSink *rows, double **memory, size_t nbytes, GrError *err)
{
	cudaError_t code = gr_pinned_get(rows->session->info.id, (void **) memory, nbytes);

	if (code == cudaErrorMemoryAllocation)
	{
		(void) cudaGetLastError();
		return gr_fail(err, GR_NO_MEMORY, 0, "%zu bytes of pinned memory", nbytes);
	}
	SESSION_CUDA(rows->session, err, code, "allocating pinned memory");
	return true;
}

bool
gr_cuda_rows_open(RowsSink *rows, const GrSinkOptions *options, GrError *err)
{
	GrSession  *session = rows->session;
	size_t		terms_nbytes = 2 * sizeof(double) * (size_t) gr_nterms(rows->shape.nfeatures);
	size_t		transfer_nbytes = RESULT_NDOUBLES * sizeof(double);
	size_t		result_nbytes = transfer_nbytes + 2 * terms_nbytes;
	size_t		work_nbytes;
	size_t		needed_nbytes;
	size_t		nbytes_free;

	rows->chunk_nbytes = CHUNK_NBYTES_FIRST;
	rows->memory_limit = options->memory_limit;
	if (!available(rows, &nbytes_free, err) || !plan_passes(rows, nbytes_free, &work_nbytes, err))
		return false;
	needed_nbytes = work_nbytes + terms_nbytes + result_nbytes + gr_sends_nbytes(options->shape.single);
	if (needed_nbytes > nbytes_free)
		return fail_memory(rows, needed_nbytes, nbytes_free, err);
	if (!gr_sink_connect(rows, options->shape, err))
		return false;
	rows->nbytes += gr_sends_nbytes(options->shape.single);
	SESSION_CUDA(session, err, gr_event_get(session->info.id, cudaEventDefault, &rows->pass_begin),
				 "creating an event");
	SESSION_CUDA(session, err, gr_event_get(session->info.id, cudaEventDefault, &rows->pass_end),
				 "creating an event");
	return allocate(rows, &rows->work, work_nbytes, "allocating the sums", err) &&
		allocate(rows, &rows->terms, terms_nbytes, "allocating the coefficients", err) &&
		allocate(rows, &rows->result, result_nbytes, "allocating the result", err) &&
		allocate_pinned(rows, &rows->transfer, transfer_nbytes, err);
}

/* Adds a chunk for nrows rows, or for fewer if memory is short. */
static bool
add_chunk(RowsSink *rows, int64_t nrows, GrError *err)
{
	SignalsBlocked blocked;
	RowsChunk  *chunk = &rows->chunks[rows->nchunks];
	size_t		tile_nbytes = GLM_TILE * row_nbytes(rows);
	size_t		wanted = (size_t) nrows * row_nbytes(rows);
	size_t		nbytes_free;
	int64_t		ntiles;
	cudaError_t code;

	if (!available(rows, &nbytes_free, err))
		return false;
	if (rows->nchunks == GR_CHUNKS_MAX)
		return fail_memory(rows, wanted, 0, err);
	ntiles = (int64_t) ((rows->chunk_nbytes < nbytes_free ? rows->chunk_nbytes : nbytes_free) / tile_nbytes);
	if (ntiles == 0 && tile_nbytes <= nbytes_free)
		ntiles = 1;				/* the share of a row in chunk_nbytes is less than a tile */
	if (ntiles == 0)
		return fail_memory(rows, wanted < tile_nbytes ? tile_nbytes : wanted, nbytes_free, err);
	/* fragmented memory may not have nbytes_free in one block */
	while ((code = gr_memory_get(rows->session->info.id, (void **) &chunk->rows,
								 (size_t) ntiles * tile_nbytes)) == cudaErrorMemoryAllocation && ntiles > 1)
	{
		(void) cudaGetLastError();
		ntiles /= 2;
	}
	if (code != cudaSuccess)
		return session_fail(rows->session, err, code, rows->nbytes + wanted, "allocating rows");
	chunk->capacity = ntiles * GLM_TILE;
	chunk->nrows = 0;
	rows->nchunks++;
	rows->nbytes += (size_t) ntiles * tile_nbytes;
	if (rows->chunk_nbytes < CHUNK_NBYTES_MAX)
		rows->chunk_nbytes *= 2;
	return true;
}

/* Returns the chunk for the next of nrows rows, and sets *n to how many it takes; NULL if there is no memory. */
static RowsChunk *
next_chunk(RowsSink *rows, int64_t nrows, int64_t *n, GrError *err)
{
	RowsChunk  *chunk = &rows->chunks[rows->nchunks > 0 ? rows->nchunks - 1 : 0];

	if (rows->nchunks == 0 || chunk->nrows == chunk->capacity)
	{
		if (!add_chunk(rows, nrows, err))
			return NULL;
		chunk = &rows->chunks[rows->nchunks - 1];
	}
	*n = chunk->capacity - chunk->nrows < nrows ? chunk->capacity - chunk->nrows : nrows;
	return chunk;
}

/* Gives back the last chunk, which has no rows. */
static void
drop_chunk(RowsSink *rows)
{
	RowsChunk  *chunk = &rows->chunks[--rows->nchunks];

	gr_memory_give(rows->session->info.id, chunk->rows);
	rows->nbytes -= (size_t) chunk->capacity * row_nbytes(rows);
	chunk->rows = NULL;
	rows->chunk_nbytes = CHUNK_NBYTES_FIRST;
	for (int c = 0; c < rows->nchunks && rows->chunk_nbytes < CHUNK_NBYTES_MAX; c++)
		rows->chunk_nbytes *= 2;
}

bool
gr_cuda_rows_resize(RowsSink *rows, int64_t nrows, GrError *err)
{
	rows->nrows = 0;
	for (int c = 0; c < rows->nchunks; c++)
	{
		RowsChunk  *chunk = &rows->chunks[c];

		chunk->nrows = nrows - rows->nrows < chunk->capacity ? nrows - rows->nrows : chunk->capacity;
		rows->nrows += chunk->nrows;
	}
	while (rows->nchunks > 0 && rows->chunks[rows->nchunks - 1].nrows == 0)
		drop_chunk(rows);
	while (rows->nrows < nrows)
	{
		int64_t		n;
		RowsChunk  *chunk = next_chunk(rows, nrows - rows->nrows, &n, err);

		if (chunk == NULL)
			return false;
		chunk->nrows += n;
		rows->nrows += n;
	}
	return true;
}

bool
gr_cuda_rows_add(RowsSink *rows, const void *block, int64_t nrows, GrError *err)
{
	const size_t sent_nbytes = gr_row_nbytes(rows->sends.shape);

	for (int64_t done = 0; done < nrows;)
	{
		int64_t		n;
		RowsChunk  *chunk = next_chunk(rows, nrows - done, &n, err);

		if (chunk == NULL)
			return false;
		if (!gr_sends_copy(&rows->sends, chunk->rows + chunk->nrows * gr_row_ncols(rows->shape),
						   (const char *) block + (size_t) done * sent_nbytes, n, err))
			return false;
		chunk->nrows += n;
		rows->nrows += n;
		done += n;
	}
	return true;
}

bool
gr_cuda_rows_read(GrSink *sink, int64_t first, int64_t nrows, double *rows, GrError *err)
{
	const RowsSink *from = static_cast<const RowsSink *>(sink);
	const int64_t ncols = gr_row_ncols(sink->shape);

	if (sink->kind != GR_SINK_KEEP || first < 0 || nrows < 0 || nrows > from->nrows - first)
		return gr_fail(err, GR_INVALID, 0, "there are no such rows");
	SESSION_CUDA(sink->session, err, cudaSetDevice(sink->session->info.id), "selecting the device");
	for (int c = 0; nrows > 0 && c < from->nchunks; c++)
	{
		const RowsChunk *chunk = &from->chunks[c];
		const int64_t n = chunk->nrows - first < nrows ? chunk->nrows - first : nrows;

		if (n > 0)
		{
			SESSION_CUDA(sink->session, err,
						 cudaMemcpyAsync(rows, chunk->rows + first * ncols, (size_t) (n * ncols) * sizeof(double),
										 cudaMemcpyDeviceToHost, sink->kernel_stream), "copying rows from the device");
			rows += n * ncols;
			nrows -= n;
		}
		first = first > chunk->nrows ? first - chunk->nrows : 0;
	}
	SESSION_CUDA(sink->session, err, cudaStreamSynchronize(sink->kernel_stream), "copying rows from the device");
	return true;
}

/* Counts work estimated at work_s. Once POLL_S has accumulated, waits for the device and asks the host. */
static bool
poll_host(RowsPass *run, double work_s, GrError *err)
{
	RowsSink   *rows = run->rows;

	rows->pending_s += work_s;
	if (rows->pending_s < POLL_S)
		return true;
	rows->pending_s = 0.0;
	SESSION_CUDA(rows->session, err, cudaStreamSynchronize(rows->kernel_stream), "summing rows on the device");
	if (gr_canceled(run->host))
		return gr_fail(err, GR_CANCELED, 0, "summing rows on the device");
	return true;
}

/* Copies n float8 from the device to the sums. */
static bool
fetch(RowsPass *run, size_t first, const double *source, int64_t n, GrError *err)
{
	RowsSink   *rows = run->rows;

	for (int64_t done = 0; done < n; done += RESULT_NDOUBLES)
	{
		size_t		nbytes = sizeof(double) * (size_t) (n - done < RESULT_NDOUBLES ? n - done : RESULT_NDOUBLES);

		SESSION_CUDA(rows->session, err,
					 cudaMemcpyAsync(rows->transfer, source + done, nbytes, cudaMemcpyDeviceToHost,
									 rows->kernel_stream),
					 "copying the sums from the device");
		SESSION_CUDA(rows->session, err, cudaStreamSynchronize(rows->kernel_stream), "summing rows on the device");
		memcpy(run->sums + first + (size_t) done, rows->transfer, nbytes);
	}
	return true;
}

/* FAST with few features, GRADIENT with not too many: one launch for as many whole chunks as POLL_S allows. */
static bool
sum_fused(RowsPass *run, GrError *err)
{
	RowsSink   *rows = run->rows;
	double		row_s = read_s(rows);
	double		least_s = run->pass->kind == GR_PASS_FAST ? rows->plan.fused_row_s : rows->plan.weigh_row_s;
	double	   *records = rows->work + run->work.records;
	int			c = 0;

	if (row_s < least_s)
		row_s = least_s;
	while (c < rows->nchunks)
	{
		GlmChunks	chunks;
		int64_t		ntiles = 0;

		chunks.n = 0;
		chunks.nrows = 0;
		do
		{
			chunks.rows[chunks.n] = rows->chunks[c].rows;
			chunks.nrows += rows->chunks[c].nrows;
			ntiles += (rows->chunks[c].nrows + GLM_TILE - 1) / GLM_TILE;
			chunks.end[chunks.n++] = ntiles;
			c++;
		} while (c < rows->nchunks && chunks.n < GLM_CHUNKS_MAX &&
				 (double) (chunks.nrows + rows->chunks[c].nrows) * row_s < POLL_S);
		SESSION_CUDA(rows->session, err,
					 gr_glm_fused_launch(&rows->plan, run->pass->kind, &chunks, &run->terms, records,
										 rows->kernel_stream),
					 "launching a pass");
		if (!poll_host(run, (double) chunks.nrows * row_s, err))
			return false;
	}
	SESSION_CUDA(rows->session, err,
				 gr_glm_reduce_launch(&rows->plan, run->pass->kind == GR_PASS_FAST ? GLM_FUSED : GLM_FUSED_GRADIENT,
									  records, rows->result, rows->kernel_stream),
				 "launching the final sums");
	return fetch(run, 0, rows->result, (int64_t) gr_pass_nsums(run->pass->kind, rows->shape.nfeatures), err);
}

/* FAST and GRADIENT: launches each kernel once over nrows rows. */
static cudaError_t
launch_steps(RowsPass *run, const double *block, int64_t nrows)
{
	RowsSink   *rows = run->rows;
	double2    *weights = (double2 *) (rows->work + run->work.scratch);
	cudaError_t code;

	if (rows->plan.wide_ncolumns > 0)
		code = gr_glm_step_launch(&rows->plan, block, nrows, &run->terms, weights, rows->work + run->work.records,
								  rows->kernel_stream);
	else
		code = gr_glm_weigh_launch(&rows->plan, block, nrows, &run->terms, weights, rows->work + run->work.records,
								   rows->kernel_stream);
	if (code == cudaSuccess && rows->plan.wide_ncolumns == 0)
		code = gr_glm_columns_launch(&rows->plan, block, nrows, &run->terms, weights, rows->work + run->work.columns,
									 rows->kernel_stream);
	if (code == cudaSuccess && run->pass->kind == GR_PASS_FAST)
		code = gr_glm_matrix_launch(&rows->plan, block, nrows, &run->terms, weights, rows->work + run->work.matrix,
									rows->kernel_stream);
	return code;
}

/* EXACT and FACE: launches each kernel once over nrows rows. */
static cudaError_t
launch_exact(RowsPass *run, const double *block, int64_t nrows)
{
	RowsSink   *rows = run->rows;
	double	   *scratch = rows->work + run->work.scratch;
	cudaError_t code;

	code = gr_glm_transform_launch(&rows->plan, run->pass->kind, block, nrows, &run->terms, scratch,
								   rows->work + run->work.records, rows->kernel_stream);
	if (code == cudaSuccess)
		code = gr_gram_launch(&rows->gram, (double2 *) (rows->work + run->work.matrix), scratch, nrows,
							  rows->kernel_stream);
	return code;
}

/* Goes over all rows in steps that the scratch memory and POLL_S allow. row_s: estimated time of a row. */
static bool
sum_in_steps(RowsPass *run, cudaError_t (*launch) (RowsPass *run, const double *block, int64_t nrows),
			 size_t scratch_row_nbytes, double row_s, GrError *err)
{
	RowsSink   *rows = run->rows;
	int64_t		most = (int64_t) (rows->scratch_nbytes / scratch_row_nbytes);

	if ((double) most * row_s > POLL_S)
		most = (int64_t) (POLL_S / row_s);
	most = most < GLM_TILE ? GLM_TILE : most / GLM_TILE * GLM_TILE;
	for (int c = 0; c < rows->nchunks; c++)
	{
		const RowsChunk *chunk = &rows->chunks[c];

		for (int64_t done = 0; done < chunk->nrows; done += most)
		{
			int64_t		n = chunk->nrows - done < most ? chunk->nrows - done : most;

			SESSION_CUDA(rows->session, err, launch(run, chunk->rows + done * gr_row_ncols(rows->shape), n),
						 "launching a pass");
			if (!poll_host(run, (double) n * row_s, err))
				return false;
		}
	}
	return true;
}

/* Reduces GRADIENT's sums on the device, with which FAST's begin, too: the head to sums, the rest right after it. */
static cudaError_t
reduce_steps(RowsPass *run, double *sums)
{
	RowsSink   *rows = run->rows;
	const double *records = rows->work + run->work.records;
	cudaError_t code;

	if (rows->plan.wide_ncolumns > 0)
		return gr_glm_reduce_launch(&rows->plan, GLM_FUSED_GRADIENT, records, sums, rows->kernel_stream);
	code = gr_glm_reduce_launch(&rows->plan, GLM_HEADS, records, sums, rows->kernel_stream);
	if (code != cudaSuccess)
		return code;
	return gr_glm_reduce_launch(&rows->plan, GLM_COLUMNS, rows->work + run->work.columns, sums + GR_SUM_HEAD,
								rows->kernel_stream);
}

/* FAST with many features, and GRADIENT with more than one kernel takes. */
static bool
sum_steps(RowsPass *run, GrError *err)
{
	RowsSink   *rows = run->rows;
	const GlmPlan *plan = &rows->plan;
	const bool	fast = run->pass->kind == GR_PASS_FAST;
	const int64_t nterms = gr_nterms(rows->shape.nfeatures);
	const size_t hessian = GR_SUM_HEAD + 2 * (size_t) nterms;
	const int64_t nentries = gr_triangle(nterms);
	double	   *gradient = rows->result + RESULT_NDOUBLES;	/* follows the head, and precedes the Hessian's first row */
	double		row_s = plan->weigh_row_s + read_s(rows) + plan->matrix_row_s * fast;

	if (!sum_in_steps(run, launch_steps, sizeof(double2), row_s, err))
		return false;
	SESSION_CUDA(rows->session, err, reduce_steps(run, gradient - GR_SUM_HEAD), "launching the final sums");
	if (!fetch(run, 0, gradient - GR_SUM_HEAD, GR_SUM_HEAD + (fast ? 2 : 4) * nterms, err))
		return false;
	if (fast)
		run->sums[GR_SUM_NONES] = 0.0;
	for (int64_t first = 0; fast && first < nentries; first += RESULT_NDOUBLES)
	{
		int64_t		n = nentries - first < RESULT_NDOUBLES ? nentries - first : RESULT_NDOUBLES;

		SESSION_CUDA(rows->session, err,
					 gr_glm_matrix_reduce_launch(plan, rows->work + run->work.matrix, gradient + 2 * nterms, first, n,
												 rows->result, rows->kernel_stream),
					 "launching the final sums");
		if (!fetch(run, hessian + (size_t) first, rows->result, n, err))
			return false;
	}
	return true;
}

/* EXACT and FACE: the Gram matrix of transformed rows; rows that do not take part are zeros. */
static bool
sum_exact(RowsPass *run, GrError *err)
{
	RowsSink   *rows = run->rows;
	const int64_t nentries = gr_triangle((int64_t) gr_norder(rows->shape.nfeatures) + 1);
	const int64_t segment = RESULT_NDOUBLES / 2;
	double	   *hi = run->sums + GR_SUM_HEAD;
	double		npredictors = run->pass->nfaces + (run->pass->kind == GR_PASS_EXACT ? 1 : 0);
	double		row_s = GRAM_LAUNCH_S / (double) rows->gram.max_rows_per_launch +
		npredictors * rows->plan.transform_row_s;

	/* products with the triangle */
	if (gr_measure_has_factor(run->pass->measure))
		row_s += (double) gr_nterms(rows->shape.nfeatures) * rows->plan.transform_row_s;

	if (!sum_in_steps(run, launch_exact, sizeof(double) * (size_t) gr_norder(rows->shape.nfeatures), row_s, err))
		return false;
	SESSION_CUDA(rows->session, err,
				 gr_glm_reduce_launch(&rows->plan, GLM_HEADS, rows->work + run->work.records, rows->result,
									  rows->kernel_stream),
				 "launching the final sums");
	if (!fetch(run, 0, rows->result, GR_SUM_HEAD, err))
		return false;
	for (int64_t first = 0; first < nentries; first += segment)
	{
		int64_t		n = nentries - first < segment ? nentries - first : segment;

		SESSION_CUDA(rows->session, err,
					 gr_gram_reduce_launch(&rows->gram, (const double2 *) (rows->work + run->work.matrix), first, n,
										   GrDDVector {rows->result, rows->result + segment}, rows->kernel_stream),
					 "launching the final sums");
		if (!fetch(run, GR_SUM_HEAD + (size_t) first, rows->result, n, err) ||
			!fetch(run, GR_SUM_HEAD + (size_t) (nentries + first), rows->result + segment, n, err))
			return false;
	}
	/* the column of ones counted zero rows too; FACE's rows have ones of their own */
	hi[0] = run->pass->kind == GR_PASS_FACE ? hi[2] : run->sums[GR_SUM_NROWS];
	hi[nentries] = 0.0;
	return true;
}

/*
 * Reserves nbytes for passes that need more memory than others. This is little compared with the rows, and comes from
 * what they leave free.
 */
static bool
reserve(RowsSink *rows, double **memory, size_t *memory_nbytes, size_t nbytes, const char *what, GrError *err)
{
	SignalsBlocked blocked;
	size_t		nbytes_free;
	size_t		nbytes_total;

	if (nbytes <= *memory_nbytes)
		return true;
	/* a cancelled pass may still be reading it */
	SESSION_CUDA(rows->session, err, cudaStreamSynchronize(rows->kernel_stream), "summing rows on the device");
	gr_memory_give(rows->session->info.id, *memory);
	*memory = NULL;
	rows->nbytes -= *memory_nbytes;
	*memory_nbytes = 0;
	SESSION_CUDA(rows->session, err, gr_memory_info(rows->session->info.id, &nbytes_free, &nbytes_total),
				 "reading the device's free memory");
	if (nbytes > nbytes_free)
		return fail_memory(rows, nbytes, nbytes_free, err);
	if (!allocate(rows, memory, nbytes, what, err))
		return false;
	*memory_nbytes = nbytes;
	return true;
}

/* Copies the triangle that leverages are computed with to the device, row by row. */
static bool
send_factor(RowsPass *run, GrError *err)
{
	RowsSink   *rows = run->rows;
	const int64_t nterms = gr_nterms(rows->shape.nfeatures);
	const double *row = run->pass->factor;
	size_t		nbytes = sizeof(double) * (size_t) (nterms * nterms);

	if (!reserve(rows, &rows->factor, &rows->factor_nbytes, nbytes, "allocating what leverages are measured by", err))
		return false;
	SESSION_CUDA(rows->session, err, cudaMemsetAsync(rows->factor, 0, nbytes, rows->kernel_stream),
				 "clearing a triangle");
	for (int64_t k = 0; k < nterms; row += ++k)
		SESSION_CUDA(rows->session, err,
					 cudaMemcpyAsync(rows->factor + k * nterms, row, sizeof(double) * (size_t) (k + 1),
									 cudaMemcpyHostToDevice, rows->kernel_stream),
					 "copying a triangle to the device");
	run->terms.factor = rows->factor;
	return true;
}

/* Copies the faces and their tolerances to the device. */
static bool
send_faces(RowsPass *run, GrError *err)
{
	RowsSink   *rows = run->rows;
	const GrPass *pass = run->pass;
	size_t		ndoubles = (size_t) pass->nfaces * gr_face_size(rows->shape.nfeatures);
	size_t		nbytes = sizeof(double) * (ndoubles + (size_t) pass->nfaces);

	if (!reserve(rows, &rows->faces, &rows->faces_nbytes, nbytes, "allocating the faces", err))
		return false;
	SESSION_CUDA(rows->session, err,
				 cudaMemcpyAsync(rows->faces, pass->faces, sizeof(double) * ndoubles, cudaMemcpyHostToDevice,
								 rows->kernel_stream),
				 "copying faces to the device");
	SESSION_CUDA(rows->session, err,
				 cudaMemcpyAsync(rows->faces + ndoubles, pass->face_absolute, sizeof(double) * (size_t) pass->nfaces,
								 cudaMemcpyHostToDevice, rows->kernel_stream),
				 "copying faces to the device");
	run->terms.nfaces = pass->nfaces;
	run->terms.faces = rows->faces;
	run->terms.face_absolute = rows->faces + ndoubles;
	run->terms.face_relative = pass->face_relative;
	return true;
}

/* Copies a pass's arguments to the device, clears the sums there, and pads the last tile with finite rows. */
static bool
start_pass(RowsPass *run, GrError *err)
{
	RowsSink   *rows = run->rows;
	const GrPass *pass = run->pass;
	const RowsChunk *last = &rows->chunks[rows->nchunks - 1];
	size_t		nterms = (size_t) gr_nterms(rows->shape.nfeatures);
	int64_t		npadding = (GLM_TILE - last->nrows % GLM_TILE) % GLM_TILE;

	SESSION_CUDA(rows->session, err, cudaEventRecord(rows->pass_begin, rows->kernel_stream), "recording an event");
	/* the response's shift, 0, follows the features' */
	memset(rows->transfer, 0, sizeof(double) * 2 * nterms);
	if (pass->kind != GR_PASS_FACE)
		memcpy(rows->transfer, pass->beta, sizeof(double) * nterms);
	memcpy(rows->transfer + nterms, pass->shift, sizeof(double) * (nterms - 1));
	SESSION_CUDA(rows->session, err,
				 cudaMemcpyAsync(rows->terms, rows->transfer, sizeof(double) * 2 * nterms, cudaMemcpyHostToDevice,
								 rows->kernel_stream),
				 "copying coefficients to the device");
	run->terms.beta = rows->terms;
	run->terms.shift = rows->terms + nterms;
	run->terms.linear = pass->linear;
	run->terms.distribution = pass->distribution;
	run->terms.measure = gr_measure_is_step(pass->measure) ? GR_MEASURE_STEP : pass->measure;
	run->terms.counts = pass->counts;
	run->terms.edge = pass->edge;
	if (gr_measure_has_factor(pass->measure) && !send_factor(run, err))
		return false;
	if (pass->nfaces > 0 && (pass->kind == GR_PASS_EXACT || pass->kind == GR_PASS_FACE) && !send_faces(run, err))
		return false;
	SESSION_CUDA(rows->session, err,
				 cudaMemsetAsync(rows->work, 0, sizeof(double) * run->work.scratch, rows->kernel_stream),
				 "clearing the sums");
	if (npadding > 0)
		SESSION_CUDA(rows->session, err,
					 cudaMemsetAsync(last->rows + last->nrows * gr_row_ncols(rows->shape), 0,
									 (size_t) npadding * row_nbytes(rows), rows->kernel_stream),
					 "padding the rows");
	return true;
}

static bool
run_pass(RowsPass *run, GrError *err)
{
	RowsSink   *rows = run->rows;
	bool		fused = gr_glm_is_fused(&rows->plan, run->pass->kind);
	float		kernel_ms;

	if (!start_pass(run, err))
		return false;
	if (gr_cuda_rows_are_linear(rows, run->pass)
		? !gr_cuda_rows_linear(rows, run->pass, run->terms.shift, run->sums, run->host, err)
		: fused ? !sum_fused(run, err)
		: run->pass->kind == GR_PASS_FAST || run->pass->kind == GR_PASS_GRADIENT ? !sum_steps(run, err)
		: !sum_exact(run, err))
		return false;
	SESSION_CUDA(rows->session, err, cudaEventRecord(rows->pass_end, rows->kernel_stream), "recording an event");
	SESSION_CUDA(rows->session, err, cudaEventSynchronize(rows->pass_end), "summing rows on the device");
	SESSION_CUDA(rows->session, err, cudaEventElapsedTime(&kernel_ms, rows->pass_begin, rows->pass_end),
				 "reading an event");
	rows->kernel_s += kernel_ms * 1e-3;
	return true;
}

bool
gr_cuda_rows_pass(GrSink *sink, const GrPass *pass, double *sums, const GrHost *host, GrError *err)
{
	RowsSink   *rows = static_cast<RowsSink *>(sink);
	RowsPass	run = {};
	bool		ok;

	if (!gr_same_shape(pass->shape, rows->shape))
		return gr_fail(err, GR_INVALID, 0, "a pass of %d features over rows of %d", pass->shape.nfeatures,
					   rows->shape.nfeatures);
	if (pass->kind == GR_PASS_FACE && pass->nfaces < 1)
		return gr_fail(err, GR_INVALID, 0, "a pass without a direction");
	if (gr_canceled(host))
		return gr_fail(err, GR_CANCELED, 0, "summing rows on the device");
	if (rows->nrows == 0)
		return true;
	SESSION_CUDA(rows->session, err, cudaSetDevice(rows->session->info.id), "selecting the device");
	if (!gr_sends_wait(&rows->sends, err))
		return false;
	run.rows = rows;
	run.pass = pass;
	run.host = host;
	run.work = plan_work(rows, pass->kind);
	run.sums = (double *) malloc(sizeof(double) * gr_pass_nsums(pass->kind, rows->shape.nfeatures));
	if (run.sums == NULL)
		return gr_fail(err, GR_NO_MEMORY, 0, "the sums of a pass");
	rows->pending_s = 0.0;
	ok = run_pass(&run, err);
	if (ok)
		gr_pass_merge(pass->kind, rows->shape.nfeatures, sums, run.sums);
	free(run.sums);
	return ok;
}

void
gr_cuda_rows_free(RowsSink *rows)
{
	const int	device = rows->session->info.id;

	for (int c = 0; c < rows->nchunks; c++)
		gr_memory_give(device, rows->chunks[c].rows);
	for (double *memory : {rows->work, rows->terms, rows->faces, rows->factor, rows->result})
		gr_memory_give(device, memory);
	gr_pinned_give(device, rows->transfer);
	gr_event_give(device, cudaEventDefault, rows->pass_begin);
	gr_event_give(device, cudaEventDefault, rows->pass_end);
}
