/*
 * sends.cuh: copies rows from host memory to the device, in order, on a stream of their own. Both kinds of sinks call
 * it first.
 *
 * A send is one call of a sink's send(): copies to one or more places on the device. Between gr_sends_begin() and
 * gr_sends_end(), gr_sends_copy() may be called any number of times. Pinned memory is read asynchronously.
 */
#ifndef GPUREG_SENDS_CUH
#define GPUREG_SENDS_CUH

#include "backend_cuda.cuh"

/*
 * Opens a sink's sends and its kernels' stream. sent: shape of the rows as sent; single rows take gr_sends_nbytes() of
 * device memory.
 */
extern bool gr_sink_connect(GrSink *sink, GrRowShape sent, GrError *err);

/* Begins a send. Waits for the oldest sends if too many are under way. */
extern bool gr_sends_begin(Sends *sends, GrError *err);

/* Copies nrows rows, from host memory, to device memory as float8, after all earlier work of the stream. */
extern bool gr_sends_copy(Sends *sends, double *device, const void *rows, int64_t nrows, GrError *err);

extern bool gr_sends_end(Sends *sends, GrError *err);

/*
 * Sets *ncalls to the number of sends known to be read, in order, and takes their times. Sends in quick succession
 * become known together. wait: first waits for the oldest send that is not read.
 */
extern bool gr_sends_done(Sends *sends, bool wait, int64_t *ncalls, GrError *err);

/* Waits until all sends are read. */
extern bool gr_sends_wait(Sends *sends, GrError *err);

/* Returns the bytes of device memory that single rows take. */
static inline size_t
gr_sends_nbytes(bool single)
{
	return single ? GR_SINGLE_NBYTES : 0;
}

/* Closes sends, also half-opened ones. */
extern void gr_sends_close(Sends *sends);

#endif							/* GPUREG_SENDS_CUH */
