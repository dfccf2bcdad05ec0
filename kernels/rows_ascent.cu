/*
 * rows_ascent.cu: gradient ascent over a sink's rows on the device; see ascent.cuh.
 */
#include "ascent.cuh"
#include "sends.cuh"

/* Iterations per launch: about 10 to 60 ms */
#define LAUNCH_ITERATIONS 20000

bool
gr_cuda_rows_can_ascend(const GrSink *sink, bool single)
{
	const RowsSink *rows = static_cast<const RowsSink *>(sink);

	return rows->nchunks <= 1 && !rows->shape.weight && !rows->shape.offset && !rows->shape.key &&
		gr_ascent_fits(rows->shape.nfeatures, rows->nrows, single);
}

/*
 * Launches until all iterations are done, polling in between. Signals are not blocked, as there would be nothing to
 * poll otherwise. device: the state, then the scale.
 */
static bool
run_launches(RowsSink *rows, const GrAscent *ascent, GrAscentState *state, char *device, const GrHost *host,
			 GrError *err)
{
	GrSession  *session = rows->session;
	size_t		nbytes = gr_ascent_state_nbytes(rows->shape.nfeatures);
	const AscentData data = {
		(const double *) (device + sizeof(GrAscentState)), rows->chunks[0].rows, rows->nrows, rows->shape.nfeatures,
		device
	};
	float		elapsed_ms;

	for (int64_t done = 0; done < ascent->max_iter && state->converged == 0; done += LAUNCH_ITERATIONS)
	{
		int64_t		n = ascent->max_iter - done < LAUNCH_ITERATIONS ? ascent->max_iter - done : LAUNCH_ITERATIONS;

		if (gr_canceled(host))
			return gr_fail(err, GR_CANCELED, 0, "gradient ascent");
		SESSION_CUDA(session, err, cudaEventRecord(rows->pass_begin, rows->kernel_stream), "recording an event");
		SESSION_CUDA(session, err, gr_ascent_launch(ascent, &data, n, rows->kernel_stream),
					 "launching gradient ascent");
		SESSION_CUDA(session, err, cudaEventRecord(rows->pass_end, rows->kernel_stream), "recording an event");
		SESSION_CUDA(session, err, cudaMemcpyAsync(state, device, nbytes, cudaMemcpyDeviceToHost, rows->kernel_stream),
					 "copying the coefficients from the device");
		SESSION_CUDA(session, err, cudaStreamSynchronize(rows->kernel_stream), "gradient ascent on the device");
		SESSION_CUDA(session, err, cudaEventElapsedTime(&elapsed_ms, rows->pass_begin, rows->pass_end),
					 "reading an event");
		rows->kernel_s += elapsed_ms * 1e-3;
	}
	return true;
}

/* Copies the state and the scale to the device. The caller gives *device back. */
static bool
send_state(RowsSink *rows, const GrAscent *ascent, const GrAscentState *state, char **device, GrError *err)
{
	SignalsBlocked blocked;
	GrSession  *session = rows->session;
	size_t		scale_nbytes = sizeof(double) * (size_t) gr_nterms(rows->shape.nfeatures);
	cudaError_t code;

	SESSION_CUDA(session, err, cudaSetDevice(session->info.id), "selecting the device");
	if (!gr_sends_wait(&rows->sends, err))
		return false;
	code = gr_memory_get(session->info.id, (void **) device, sizeof(GrAscentState) + scale_nbytes);
	if (code != cudaSuccess)
		return session_fail(session, err, code, sizeof(GrAscentState) + scale_nbytes, "allocating the coefficients");
	SESSION_CUDA(session, err,
				 cudaMemcpyAsync(*device, state, gr_ascent_state_nbytes(rows->shape.nfeatures), cudaMemcpyHostToDevice,
								 rows->kernel_stream),
				 "copying the coefficients to the device");
	SESSION_CUDA(session, err,
				 cudaMemcpyAsync(*device + sizeof(GrAscentState), ascent->scale, scale_nbytes, cudaMemcpyHostToDevice,
								 rows->kernel_stream),
				 "copying the coefficients to the device");
	return true;
}

bool
gr_cuda_rows_ascend(GrSink *sink, const GrAscent *ascent, double *beta, int64_t *iterations, bool *converged,
					const GrHost *host, GrError *err)
{
	RowsSink   *rows = static_cast<RowsSink *>(sink);
	GrAscentState state;
	char	   *device = NULL;
	bool		ok;

	*iterations = 0;
	*converged = false;
	if (rows->nrows == 0 || !gr_cuda_rows_can_ascend(rows, ascent->single))
		return gr_fail(err, GR_INVALID, 0, "gradient ascent over rows that don't fit one thread block");
	gr_ascent_state_set(&state, beta, rows->shape.nfeatures, ascent->single);
	ok = send_state(rows, ascent, &state, &device, err) && run_launches(rows, ascent, &state, device, host, err);
	/* wait, after failures too: the state is a local variable, and the memory is handed out again */
	(void) cudaStreamSynchronize(rows->kernel_stream);
	gr_memory_give(rows->session->info.id, device);
	if (!ok)
		return false;
	gr_ascent_state_get(&state, beta, rows->shape.nfeatures, ascent->intercept);
	*iterations = state.iterations;
	*converged = state.converged != 0;
	return true;
}
