/*
 * sends.cuh: rows on their way from the host's memory to the device, in order, on a stream of their own.
 *
 * What one call of a sink's send() brings is a send: copies to one or more places on the device. Between
 * gr_sends_begin() and gr_sends_end() gr_sends_copy() may be called as often as it takes. Memory is read asynchronously
 * where it is pinned.
 */
#ifndef GPUREG_SENDS_CUH
#define GPUREG_SENDS_CUH

#include "backend_cuda.cuh"

/* Opens a sink's sends and its kernels' stream. sent: the rows as they come; single ones want gr_sends_nbytes(). */
extern bool gr_sink_connect(GrSink *sink, GrRowShape sent, GrError *err);

/* Begins a send; waits for the oldest ones where too many are under way. */
extern bool gr_sends_begin(Sends *sends, GrError *err);

/* nrows rows as float8 to device memory, behind what is on the stream. rows: where they begin in the host's memory */
extern bool gr_sends_copy(Sends *sends, double *device, const void *rows, int64_t nrows, GrError *err);

extern bool gr_sends_end(Sends *sends, GrError *err);

/*
 * How many sends have been read, in order, as far as that is known: a few that follow one another are seen together.
 * wait: first waits for the oldest that isn't. Takes their times.
 */
extern bool gr_sends_done(Sends *sends, bool wait, int64_t *ncalls, GrError *err);

/* Waits for all. */
extern bool gr_sends_wait(Sends *sends, GrError *err);

/* Device memory that single rows want, bytes. */
static inline size_t
gr_sends_nbytes(bool single)
{
	return single ? GR_SINGLE_NBYTES : 0;
}

/* Also of half-opened ones. */
extern void gr_sends_close(Sends *sends);

#endif							/* GPUREG_SENDS_CUH */
