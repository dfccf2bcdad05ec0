/*
 * solve_cuda.cu: the solver's table: memory, copies, and the order of cholesky.cuh's launches.
 *
 * Everything goes through one stream. The host runs ahead of the device by a limited number of tile products, so that
 * it notices a cancellation in time.
 */
#include "backend_cuda.cuh"
#include "cholesky.cuh"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/*
 * Products of two tiles between two waits. An H200 makes about 26,000 per millisecond, so this is about 20 ms of work.
 */
#define PRODUCTS_AHEAD ((int64_t) 1 << 19)

struct GrFactor
{
	GrSession  *session;
	Cholesky	plan;
	void	   *memory;			/* device memory */
	char	   *transfer;		/* pageable host memory for results or weights on their way */
	cudaStream_t stream;
	int64_t		ahead;			/* tile products launched since the host last waited */
};

static int64_t
triangle(int64_t n)
{
	return n * (n + 1) / 2;
}

/* Counts the launch just made, waits if the host is too far ahead, and polls. */
static bool
launched(GrFactor *factor, cudaError_t code, int64_t nproducts, const GrHost *host, GrError *err)
{
	if (code != cudaSuccess)
		return session_fail(factor->session, err, code, 0, "launching the solve");
	factor->ahead += nproducts;
	if (factor->ahead > PRODUCTS_AHEAD)
	{
		SESSION_CUDA(factor->session, err, cudaStreamSynchronize(factor->stream), "solving on the device");
		factor->ahead = 0;
	}
	if (gr_canceled(host))
		return gr_fail(err, GR_CANCELED, 0, "the solve");
	return true;
}

/* Allocates device memory and host memory, and gets a stream. */
static bool
acquire(GrFactor *factor, const GrFactorJob *job, int64_t nentries, GrError *err)
{
	SignalsBlocked blocked;
	Cholesky   *plan = &factor->plan;
	size_t		nbytes = gr_cholesky_place(plan, job->nterms, nentries, job->want_inverse, NULL);
	size_t		weights_nbytes = (size_t) plan->ntiles * CHOLESKY_TILE * sizeof(double2);
	cudaError_t code;

	plan->noise = job->noise;
	if (job->memory_limit > 0 && nbytes > job->memory_limit)
	{
		if (err->status == GR_OK)
		{
			err->bytes_needed = nbytes;
			err->bytes_free = job->memory_limit;
		}
		return gr_fail(err, GR_DEVICE_MEMORY, 0,
					   "the solve needs %zu bytes of device memory, more than its limit of %zu", nbytes,
					   job->memory_limit);
	}
	/* weights are the longest padded array to be copied there; results are copied back */
	factor->transfer = (char *) calloc(1, plan->results_nbytes + weights_nbytes);
	if (factor->transfer == NULL)
		return gr_fail(err, GR_NO_MEMORY, 0, "a solve");
	SESSION_CUDA(factor->session, err, gr_stream_get(factor->session->info.id, false, &factor->stream),
				 "creating a stream");
	code = gr_memory_get(factor->session->info.id, &factor->memory, nbytes);
	if (code != cudaSuccess)
		return session_fail(factor->session, err, code, nbytes, "allocating the matrix");
	gr_cholesky_place(plan, job->nterms, nentries, job->want_inverse, factor->memory);
	return true;
}

/*
 * Copies an array to the device. If it is shorter than its padded place there, it goes through transfer, padded with
 * the byte fill.
 */
static bool
upload(GrFactor *factor, void *to, const void *from, size_t nbytes, size_t padded_nbytes, int fill, GrError *err)
{
	const void *source = from;

	if (nbytes < padded_nbytes)
	{
		memset(factor->transfer, fill, padded_nbytes);
		memcpy(factor->transfer, from, nbytes);
		source = factor->transfer;
	}
	SESSION_CUDA(factor->session, err,
				 cudaMemcpyAsync(to, source, padded_nbytes, cudaMemcpyHostToDevice, factor->stream),
				 "copying a matrix to the device");
	/* transfer can then be used again, as can the caller's array */
	SESSION_CUDA(factor->session, err, cudaStreamSynchronize(factor->stream), "copying a matrix to the device");
	return true;
}

/* Copies the matrix and the other input, and launches load. */
static bool
load(GrFactor *factor, const GrFactorJob *job, int64_t first_entry, int64_t nentries, const GrHost *host, GrError *err)
{
	const Cholesky *plan = &factor->plan;
	size_t		padded = (size_t) plan->ntiles * CHOLESKY_TILE;
	size_t		nterms = (size_t) plan->nterms;
	size_t		matrix_nbytes = (size_t) nentries * sizeof(double);

	/* makes first_bad the greatest number; what lies between the results is also copied back, but not read */
	SESSION_CUDA(factor->session, err, cudaMemsetAsync(plan->d, 0xff, plan->results_nbytes, factor->stream),
				 "clearing device memory");
	if (!upload(factor, plan->scale, job->scale, (nterms + 1) * sizeof(double), padded * sizeof(double), 0, err) ||
		!upload(factor, plan->least_pivot, job->least_pivot, nterms * sizeof(double), padded * sizeof(double), 0,
				err) ||
		!upload(factor, plan->aliased, job->aliased, nterms * sizeof(bool), padded * sizeof(bool), 1, err) ||
		!upload(factor, plan->hi, job->hi + first_entry, matrix_nbytes, matrix_nbytes, 0, err) ||
		!upload(factor, plan->lo, job->lo + first_entry, matrix_nbytes, matrix_nbytes, 0, err))
		return false;
	return launched(factor, gr_cholesky_load_launch(plan, job->skip, job->right_hand_side, factor->stream),
					triangle(plan->ntiles) / 4, host, err);
}

static bool
factorise(GrFactor *factor, const GrHost *host, GrError *err)
{
	const Cholesky *plan = &factor->plan;

	for (int k = -1; k < plan->ntiles - 1; k++)
		if (!launched(factor, gr_cholesky_factor_launch(plan, k, factor->stream), triangle(plan->ntiles - 1 - k), host,
					  err))
			return false;
	if (!launched(factor, gr_cholesky_back_prepare_launch(plan, factor->stream), 0, host, err))
		return false;
	for (int k = plan->ntiles; k > 0; k--)
		if (!launched(factor, gr_cholesky_back_launch(plan, k, factor->stream), k, host, err))
			return false;
	return true;
}

/* Returns where an array of the results lies in transfer. */
template <typename T>
static const T *
arrived(const GrFactor *factor, const T *array)
{
	return (const T *) (factor->transfer + ((const char *) array - (const char *) factor->plan.d));
}

static void
split(double *hi, double *lo, const double2 *from, int n)
{
	for (int k = 0; k < n; k++)
	{
		hi[k] = from[k].x;
		lo[k] = from[k].y;
	}
}

/* Copies the results to the job's arrays. Fails with GR_OUT_OF_RANGE if an entry of the matrix is not finite. */
static bool
fetch(GrFactor *factor, const GrFactorJob *job, GrError *err)
{
	const Cholesky *plan = &factor->plan;
	unsigned long long bad;

	SESSION_CUDA(factor->session, err,
				 cudaMemcpyAsync(factor->transfer, plan->d, plan->results_nbytes, cudaMemcpyDeviceToHost,
								 factor->stream),
				 "copying a solution from the device");
	SESSION_CUDA(factor->session, err, cudaStreamSynchronize(factor->stream), "solving on the device");
	factor->ahead = 0;
	bad = *arrived(factor, plan->first_bad);
	if (bad != ULLONG_MAX)
	{
		int64_t		row = 0;

		if (bad >= (unsigned long long) triangle((int64_t) job->skip + job->nterms + 1))
			return gr_fail(err, GR_DEVICE_FAILED, 0, "the device reported a product that does not exist");
		while (triangle(row + 1) <= (int64_t) bad)
			row++;
		return gr_fail(err, GR_OUT_OF_RANGE, gr_column_of_row(job->rows, row), "a sum of products is %g",
					   job->hi[bad]);
	}
	memcpy(job->aliased, arrived(factor, plan->aliased), (size_t) plan->nterms * sizeof(bool));
	split(job->d_hi, job->d_lo, arrived(factor, plan->d), plan->nterms + 1);
	split(job->row_hi, job->row_lo, arrived(factor, plan->row), plan->nterms);
	split(job->coef_hi, job->coef_lo, arrived(factor, plan->coef), plan->nterms);
	return true;
}

bool
gr_cuda_factor_begin(GrSession *session, const GrFactorJob *job, GrFactor **factor, const GrHost *host, GrError *err)
{
	const int64_t first_entry = triangle(job->skip);
	const int64_t nentries = triangle((int64_t) job->skip + job->nterms + 1) - first_entry;

	*factor = NULL;
	if (job->nterms < 1 || job->nterms > GR_MAX_FEATURES + 1 || job->skip < 0)
		return gr_fail(err, GR_INVALID, 0, "%d terms", job->nterms);
	if (gr_canceled(host))
		return gr_fail(err, GR_CANCELED, 0, "the solve");
	*factor = (GrFactor *) calloc(1, sizeof(GrFactor));
	if (*factor == NULL)
		return gr_fail(err, GR_NO_MEMORY, 0, "a solve");
	(*factor)->session = session;
	SESSION_CUDA(session, err, cudaSetDevice(session->info.id), "selecting the device");
	return acquire(*factor, job, nentries, err) && load(*factor, job, first_entry, nentries, host, err) &&
		factorise(*factor, host, err) && fetch(*factor, job, err);
}

/* Computes the result by rows of tiles, in launches that are not too long. */
static bool
covariance(GrFactor *factor, double divisor, const GrHost *host, GrError *err)
{
	const Cholesky *plan = &factor->plan;

	for (int first = 0; first < plan->nterm_tiles;)
	{
		int			end = first;
		int64_t		nproducts = 0;

		while (end < plan->nterm_tiles && nproducts < PRODUCTS_AHEAD)
		{
			nproducts += (int64_t) (end + 1) * (plan->nterm_tiles - end);
			end++;
		}
		if (!launched(factor, gr_cholesky_covariance_launch(plan, first, end, divisor, factor->stream), nproducts, host,
					  err))
			return false;
		first = end;
	}
	return true;
}

bool
gr_cuda_factor_inverse(GrFactor *factor, GrDDConstVector w, double divisor, double *inverse,
					   const GrHost *host, GrError *err)
{
	GrSession  *session = factor->session;
	const Cholesky *plan = &factor->plan;
	double2    *weights = (double2 *) factor->transfer;
	size_t		padded = (size_t) plan->ntiles * CHOLESKY_TILE;

	if (plan->x == NULL)
		return gr_fail(err, GR_INVALID, 0, "no inverse was asked for");
	SESSION_CUDA(session, err, cudaSetDevice(session->info.id), "selecting the device");
	memset(weights, 0, padded * sizeof(double2));
	for (int k = 0; k < plan->nterms; k++)
		weights[k] = make_double2(w.hi[k], w.lo[k]);
	SESSION_CUDA(session, err,
				 cudaMemcpyAsync(plan->weights, weights, padded * sizeof(double2), cudaMemcpyHostToDevice,
								 factor->stream),
				 "copying weights to the device");
	for (int k = -1; k < plan->nterm_tiles - 1; k++)
		if (!launched(factor, gr_cholesky_inverse_launch(plan, k, factor->stream),
					  (int64_t) (k + 2) * (plan->nterm_tiles - 1 - k), host, err))
			return false;
	if (!covariance(factor, divisor, host, err))
		return false;
	SESSION_CUDA(session, err,
				 cudaMemcpyAsync(inverse, plan->inverse, (size_t) plan->nterms * (size_t) plan->nterms * sizeof(double),
								 cudaMemcpyDeviceToHost, factor->stream),
				 "copying a matrix from the device");
	SESSION_CUDA(session, err, cudaStreamSynchronize(factor->stream), "solving on the device");
	factor->ahead = 0;
	return true;
}

/*
 * Frees factor with its memory and stream on the device; accepts NULL. Ignores failures: a lost device takes its
 * memory along.
 */
void
gr_cuda_factor_end(GrFactor *factor)
{
	if (factor == NULL)
		return;
	(void) cudaSetDevice(factor->session->info.id);
	if (factor->stream != NULL)
		(void) cudaStreamSynchronize(factor->stream);
	gr_stream_give(factor->session->info.id, false, factor->stream);
	gr_memory_give(factor->session->info.id, factor->memory);
	(void) cudaGetLastError();
	free(factor->transfer);
	free(factor);
}
