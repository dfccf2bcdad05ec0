/*
 * rows_clusters.cu: the middle of a cluster-robust covariance matrix over a sink's rows on the device; see clusters.cuh
 * for the kernels.
 *
 * A pass allocates memory and frees it at the end: 40 bytes per row for the order and the rows' parts, the sort's
 * workspace, and the sums of a slice of clusters. If there is not enough memory, all rows are left, as the sums say,
 * and the caller uses another method.
 */
#include "sends.cuh"

#include "clusters.cuh"

#include "compute/request/request.h"

#include <stdlib.h>
#include <string.h>

#define SCORES_NBYTES ((size_t) 128 << 20)	/* memory of a slice's sums */
#define PARTIALS_NBYTES ((size_t) 64 << 20)
#define NSPLITS_MAX 1024
#define LAUNCH_NBYTES 8e9		/* bytes of rows that a launch reads: about 20 ms on slower devices */
#define RANGE_NROWS 512			/* rows per range; SHORT_RANGE_NROWS if there are fewer than FEW_ROWS rows */
#define SHORT_RANGE_NROWS 64
#define FEW_ROWS (INT64_C(4) << 20)
#define NROWS_MAX (INT64_C(1) << 31)

/* A pass under way. Memory is on the device. */
typedef struct ClusterRun
{
	RowsSink   *rows;
	const GrClusterPass *pass;
	const GrHost *host;
	int			ncols;			/* columns of a cluster's sums */
	int64_t		nentries;		/* entries of the middle, and the sum of squares */
	int			nsplits;
	ClusterTerms terms;
	ClusterChunks chunks;
	GrKeyCode	code;
	bool		left;			/* there is too little memory, or keys cannot be grouped */

	char	   *memory;			/* block of memory for rows */
	ClusterEntries entries;
	ClusterKeys *keys;

	ClusterOrder order;
	char	   *slice_memory;	/* block of memory for clusters */
	ClusterSlice slice;
	int64_t		slice_most;		/* most clusters of a slice */
	double2    *partials;
	double2    *result;
} ClusterRun;

static size_t
aligned(size_t nbytes)
{
	return (nbytes + 255) / 256 * 256;
}

/* Allocates device memory. Without memory, sets run->left, which is not a failure. */
static bool
allocate(ClusterRun *run, char **memory, size_t nbytes, GrError *err)
{
	SignalsBlocked blocked;
	GrSession  *session = run->rows->session;
	cudaError_t code;

	if (run->rows->memory_limit > 0 && run->rows->nbytes + nbytes > run->rows->memory_limit)
	{
		run->left = true;
		return true;
	}
	code = gr_memory_get(session->info.id, (void **) memory, nbytes);
	if (code == cudaSuccess)
		return true;
	*memory = NULL;
	if (gr_cuda_status(code) != GR_DEVICE_MEMORY)
		return session_fail(session, err, code, nbytes, "allocating the sums of clusters");
	(void) cudaGetLastError();
	run->left = true;
	return true;
}

static bool
send(ClusterRun *run, void *device, const void *memory, size_t nbytes, GrError *err)
{
	SESSION_CUDA(run->rows->session, err,
				 cudaMemcpyAsync(device, memory, nbytes, cudaMemcpyHostToDevice, run->rows->kernel_stream),
				 "copying the arguments of clusters to the device");
	return true;
}

/* Copies from the device after waiting for all launches, and asks the host. Returns false if canceled. */
static bool
fetch(ClusterRun *run, void *memory, const void *device, size_t nbytes, GrError *err)
{
	GrSession  *session = run->rows->session;

	SESSION_CUDA(session, err,
				 cudaMemcpyAsync(memory, device, nbytes, cudaMemcpyDeviceToHost, run->rows->kernel_stream),
				 "copying the sums of clusters from the device");
	SESSION_CUDA(session, err, cudaStreamSynchronize(run->rows->kernel_stream), "sums of clusters on the device");
	return !gr_canceled(run->host) || gr_fail(err, GR_CANCELED, 0, "sums of clusters on the device");
}

/* Sets the arrays of rows to parts of memory, and returns the bytes used; memory NULL: only counts. */
static size_t
lay_out_rows(ClusterRun *run, char *memory)
{
	const size_t n = (size_t) run->rows->nrows;
	const size_t t = (size_t) gr_nterms(run->pass->scores.shape.nfeatures);
	size_t		at = 0;

	for (int k = 0; k < 2; k++)
	{
		run->entries.codes[k] = (uint64_t *) (memory + at);
		at += aligned(n * sizeof(uint64_t));
		run->entries.numbers[k] = (uint32_t *) (memory + at);
		at += aligned(n * sizeof(uint32_t));
	}
	run->entries.parts = (double2 *) (memory + at);
	at += aligned(n * sizeof(double2));
	run->entries.temp = memory + at;
	at += aligned(run->entries.temp_nbytes);
	run->keys = (ClusterKeys *) (memory + at);
	at += aligned(sizeof(ClusterKeys));
	run->entries.nclusters = (int64_t *) (memory + at);
	at += aligned(sizeof(int64_t));
	run->chunks.rows = (const double *const *) (memory + at);
	at += aligned((size_t) run->rows->nchunks * sizeof(double *));
	run->chunks.end = (const int64_t *) (memory + at);
	at += aligned((size_t) run->rows->nchunks * sizeof(int64_t));
	run->terms.beta = (const double *) (memory + at);
	at += aligned(t * sizeof(double));
	run->terms.beta_lo = (const double *) (memory + at);
	at += aligned(t * sizeof(double));
	run->terms.shift = (const double *) (memory + at);
	return at + aligned(t * sizeof(double));
}

/* Copies the pass's arrays and the chunks' addresses to the device. */
static bool
send_arguments(ClusterRun *run, GrError *err)
{
	const RowsSink *rows = run->rows;
	const GrScores *scores = &run->pass->scores;
	const size_t t = (size_t) gr_nterms(scores->shape.nfeatures);
	const ClusterKeys none = {{INT64_MAX, INT64_MAX}, {INT64_MIN, INT64_MIN}, 0};
	double	   *chunk_rows[GR_CHUNKS_MAX];
	int64_t		chunk_end[GR_CHUNKS_MAX];

	for (int c = 0; c < rows->nchunks; c++)
	{
		chunk_rows[c] = rows->chunks[c].rows;
		chunk_end[c] = rows->chunks[c].nrows + (c > 0 ? chunk_end[c - 1] : 0);
	}
	run->chunks.n = rows->nchunks;
	run->terms.shape = scores->shape;
	run->terms.distribution = scores->distribution;
	return send(run, (void *) run->chunks.rows, chunk_rows, (size_t) rows->nchunks * sizeof(double *), err) &&
		send(run, (void *) run->chunks.end, chunk_end, (size_t) rows->nchunks * sizeof(int64_t), err) &&
		send(run, run->keys, &none, sizeof(none), err) &&
		send(run, (void *) run->terms.beta, scores->beta, t * sizeof(double), err) &&
		send(run, (void *) run->terms.beta_lo, scores->beta_lo, t * sizeof(double), err) &&
		(t == 1 || send(run, (void *) run->terms.shift, scores->shift, (t - 1) * sizeof(double), err));
}

/* Finds the range of keys, and how many bits codes take. */
static bool
find_keys(ClusterRun *run, GrError *err)
{
	const RowsSink *rows = run->rows;
	ClusterKeys keys;

	for (int c = 0; c < rows->nchunks; c++)
		SESSION_CUDA(rows->session, err,
					 gr_cluster_keys_launch(rows->chunks[c].rows, rows->chunks[c].nrows, rows->shape, &run->code,
											run->keys, rows->kernel_stream),
					 "launching the sums of clusters");
	if (!fetch(run, &keys, run->keys, sizeof(keys), err))
		return false;
	for (int k = 0; k < (run->code.at[1] < 0 ? 1 : 2); k++)
	{
		run->code.least[k] = keys.least[k];
		run->code.nbits[k] = gr_key_nbits(keys.least[k], keys.greatest[k]);
	}
	run->left = keys.nwrong > 0 || gr_key_code_nbits(&run->code) > 64;
	return true;
}

/* Sorts the rows by cluster, and finds where clusters begin. */
static bool
sort_rows(ClusterRun *run, GrError *err)
{
	const RowsSink *rows = run->rows;
	ClusterEntries *entries = &run->entries;
	int64_t		first = 0;

	for (int c = 0; c < rows->nchunks; first += rows->chunks[c++].nrows)
		SESSION_CUDA(rows->session, err,
					 gr_cluster_rows_launch(&run->terms, &run->code, rows->chunks[c].rows, rows->chunks[c].nrows,
											first, entries, rows->kernel_stream),
					 "launching the sums of clusters");
	entries->nbits = gr_key_code_nbits(&run->code);
	SESSION_CUDA(rows->session, err, gr_cluster_sort_launch(entries, rows->kernel_stream),
				 "sorting rows by their clusters");
	run->order.row = entries->numbers[entries->sorted];
	run->order.start = entries->numbers[1 - entries->sorted];
	run->order.parts = entries->parts;
	run->order.nrows = rows->nrows;
	return fetch(run, &run->order.nclusters, entries->nclusters, sizeof(int64_t), err);
}

/* Allocates memory for a slice's clusters and for the middle. */
static bool
open_slices(ClusterRun *run, GrError *err)
{
	const size_t ncols = (size_t) run->ncols;
	const int64_t room = (int64_t) (SCORES_NBYTES / (ncols * sizeof(double2)));
	const int64_t range_nrows = run->rows->nrows < FEW_ROWS ? SHORT_RANGE_NROWS : RANGE_NROWS;
	const size_t nranges = (size_t) ((run->rows->nrows + range_nrows - 1) / range_nrows);
	const size_t split_nbytes = (size_t) run->nentries * sizeof(double2);
	size_t		scores_nbytes;
	size_t		ranges_nbytes = aligned(nranges * ncols * sizeof(double2));
	size_t		partials_nbytes;
	cudaStream_t stream = run->rows->kernel_stream;

	run->slice_most = room < run->order.nclusters ? room : run->order.nclusters;
	run->nsplits = PARTIALS_NBYTES / split_nbytes < NSPLITS_MAX ? (int) (PARTIALS_NBYTES / split_nbytes) : NSPLITS_MAX;
	if (run->nsplits > run->slice_most)
		run->nsplits = (int) run->slice_most;
	if (run->nsplits < 1)
		run->nsplits = 1;
	scores_nbytes = aligned((size_t) run->slice_most * ncols * sizeof(double2));
	partials_nbytes = aligned((size_t) run->nsplits * split_nbytes);
	if (!allocate(run, &run->slice_memory, scores_nbytes + 2 * ranges_nbytes + partials_nbytes + split_nbytes, err) ||
		run->left)
		return run->left;
	run->slice.range_nrows = range_nrows;
	run->slice.scores = (double2 *) run->slice_memory;
	run->slice.firsts = (double2 *) (run->slice_memory + scores_nbytes);
	run->slice.lasts = (double2 *) (run->slice_memory + scores_nbytes + ranges_nbytes);
	run->partials = (double2 *) (run->slice_memory + scores_nbytes + 2 * ranges_nbytes);
	run->result = (double2 *) (run->slice_memory + scores_nbytes + 2 * ranges_nbytes + partials_nbytes);
	SESSION_CUDA(run->rows->session, err, cudaMemsetAsync(run->partials, 0, partials_nbytes, stream),
				 "clearing the sums of clusters");
	return true;
}

/* Sums the scores of a slice's clusters, and adds them to the middle. */
static bool
sum_slice(ClusterRun *run, int64_t first, GrError *err)
{
	RowsSink   *rows = run->rows;
	ClusterSlice *slice = &run->slice;
	const int64_t nclusters = run->order.nclusters;
	const int64_t step = (int64_t) (LAUNCH_NBYTES / (double) gr_row_nbytes(rows->shape)) / slice->range_nrows + 1;
	uint32_t	end;

	slice->first = first;
	slice->n = nclusters - first < run->slice_most ? nclusters - first : run->slice_most;
	slice->begin = first == 0 ? 0 : slice->end;
	slice->end = rows->nrows;
	if (first + slice->n < nclusters)
	{
		if (!fetch(run, &end, run->order.start + first + slice->n, sizeof(end), err))
			return false;
		slice->end = end;
	}
	slice->nranges = (slice->end - slice->begin + slice->range_nrows - 1) / slice->range_nrows;
	for (int64_t done = 0; done < slice->nranges; done += step)
	{
		if (done > 0 && !fetch(run, &end, run->order.start, sizeof(end), err))
			return false;
		SESSION_CUDA(rows->session, err,
					 gr_cluster_sum_launch(&run->terms, &run->chunks, &run->order, slice, done,
										   slice->nranges - done < step ? slice->nranges - done : step,
										   rows->kernel_stream),
					 "launching the sums of clusters");
	}
	SESSION_CUDA(rows->session, err, gr_cluster_join_launch(&run->order, slice, run->ncols, rows->kernel_stream),
				 "launching the sums of clusters");
	SESSION_CUDA(rows->session, err,
				 gr_cluster_middle_launch(slice, run->ncols, run->nsplits, run->partials, rows->kernel_stream),
				 "launching the sums of clusters");
	return true;
}

/* Copies the middle to sums. */
static bool
take_result(ClusterRun *run, double *sums, GrError *err)
{
	const size_t nbytes = (size_t) run->nentries * sizeof(double2);
	const int64_t triangle = run->nentries - 1;
	double2    *result = (double2 *) malloc(nbytes);
	bool		ok;

	if (result == NULL)
		return gr_fail(err, GR_NO_MEMORY, 0, "the sums of clusters");
	ok = fetch(run, result, run->result, nbytes, err);
	for (int64_t k = 0; ok && k < triangle; k++)
	{
		sums[GR_CLUSTERS_HEAD + k] = result[k].x;
		sums[GR_CLUSTERS_HEAD + triangle + k] = result[k].y;
	}
	if (ok)
	{
		sums[GR_CLUSTERS_N] = (double) run->order.nclusters;
		sums[GR_CLUSTERS_NROWS] = (double) run->rows->nrows;
		sums[GR_CLUSTERS_PEARSON_HI] = result[triangle].x;
		sums[GR_CLUSTERS_PEARSON_LO] = result[triangle].y;
	}
	free(result);
	return ok;
}

static bool
run_pass(ClusterRun *run, double *sums, GrError *err)
{
	RowsSink   *rows = run->rows;

	run->left = rows->nrows > NROWS_MAX;
	if (run->left)
		return true;
	run->entries.nrows = rows->nrows;
	run->entries.nbits = 64;
	SESSION_CUDA(rows->session, err, gr_cluster_sort_launch(&run->entries, rows->kernel_stream),
				 "planning the sums of clusters");
	if (!allocate(run, &run->memory, lay_out_rows(run, NULL), err) || run->left)
		return run->left;
	(void) lay_out_rows(run, run->memory);
	if (!send_arguments(run, err) || !find_keys(run, err) || run->left)
		return run->left && err->status == GR_OK;
	if (!sort_rows(run, err) || !open_slices(run, err) || run->left)
		return run->left && err->status == GR_OK;
	for (int64_t first = 0; first < run->order.nclusters; first += run->slice_most)
		if (!sum_slice(run, first, err))
			return false;
	SESSION_CUDA(rows->session, err,
				 gr_cluster_merge_launch(run->partials, run->nentries, run->nsplits, run->result,
										 rows->kernel_stream),
				 "launching the sums of clusters");
	return take_result(run, sums, err);
}

bool
gr_cuda_rows_clusters(GrSink *sink, const GrClusterPass *pass, double *sums, const GrHost *host, GrError *err)
{
	RowsSink   *rows = static_cast<RowsSink *>(sink);
	GrSession  *session = rows->session;
	ClusterRun	run = {};
	float		kernel_ms;
	bool		ok;

	if (!gr_clusters_valid(pass, rows->shape, err))
		return false;
	if (rows->nrows == 0)
		return true;
	SESSION_CUDA(session, err, cudaSetDevice(session->info.id), "selecting the device");
	if (!gr_sends_wait(&rows->sends, err))
		return false;
	SESSION_CUDA(session, err, cudaEventRecord(rows->pass_begin, rows->kernel_stream), "recording an event");
	run.rows = rows;
	run.pass = pass;
	run.host = host;
	run.ncols = gr_cluster_ncols(rows->shape);
	run.nentries = gr_triangle(run.ncols - 1) + 1;
	run.code = gr_key_code_of(rows->shape, pass->way);
	ok = run_pass(&run, sums, err);
	if (ok && run.left)
		sums[GR_CLUSTERS_NLEFT] = (double) rows->nrows;
	/* nothing may be under way when its memory is freed */
	(void) cudaStreamSynchronize(rows->kernel_stream);
	gr_memory_give(session->info.id, run.memory);
	gr_memory_give(session->info.id, run.slice_memory);
	if (!ok)
		return false;
	SESSION_CUDA(session, err, cudaEventRecord(rows->pass_end, rows->kernel_stream), "recording an event");
	SESSION_CUDA(session, err, cudaEventSynchronize(rows->pass_end), "sums of clusters on the device");
	SESSION_CUDA(session, err, cudaEventElapsedTime(&kernel_ms, rows->pass_begin, rows->pass_end),
				 "reading an event");
	rows->kernel_s += kernel_ms * 1e-3;
	return true;
}
