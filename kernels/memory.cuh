/*
 * memory.cuh: device memory, pinned memory, streams and events, kept for reuse within the process. All of kernels/ gets
 * them here; sinks do so first.
 *
 * Driver calls that free memory wait for everything that runs on the device, whoever launched it, and calls that create
 * something take its locks, so many concurrent computations would block each other. Memory, streams and events are
 * therefore kept per device after use, and handed out again.
 *
 * Nothing may be given back before all work on it has ended, as nobody waits for it here. The end of a sink waits for
 * its two streams, that of a factor for its one, that of a projection for its three. A pass that needs more memory, an
 * ascent, a change of rows and the drawing of S wait for the stream that they use, after a failure too. Memory holds
 * whatever was last in it: nothing in kernels/ expects zeros. An event that is handed out has happened.
 *
 * Sizes are powers of two up to 2 MB, and multiples of 2 MB above; a large request also accepts memory up to an eighth
 * larger. The amount of unused memory is limited; gr_memory_keep() sets the limit, which is 0 at first. The least
 * recently used memory is freed first. If an allocation fails, all unused memory is freed and the allocation repeated.
 * Other processes cannot use what is kept, so a process that serves a single session keeps little.
 *
 * Several threads may call all functions at once, each with the device as its current one.
 */
#ifndef GPUREG_MEMORY_CUH
#define GPUREG_MEMORY_CUH

#include "cuda_util.cuh"

/* Memory of a device held by this process, in bytes */
typedef struct GrMemoryUse
{
	size_t		used_nbytes;	/* device memory handed out */
	size_t		kept_nbytes;	/* device memory kept unused */
	size_t		pinned_used_nbytes;
	size_t		pinned_kept_nbytes;
	int64_t		ncalls;			/* calls of the driver that allocated or freed memory */
} GrMemoryUse;

/* Sets *memory to nbytes of memory. On failure, or if nbytes is 0, *memory is NULL. */
extern cudaError_t gr_memory_get(int device, void **memory, size_t nbytes);
extern cudaError_t gr_pinned_get(int device, void **memory, size_t nbytes);

/* Gives memory back; NULL is ignored. */
extern void gr_memory_give(int device, void *memory);
extern void gr_pinned_give(int device, void *memory);

/*
 * Streams do not wait for other streams. If thread blocks of several streams could start, those of an urgent stream
 * start first. flags: cudaEventDefault, cudaEventBlockingSync or cudaEventDisableTiming. On failure *stream or *event
 * is unchanged.
 */
extern cudaError_t gr_stream_get(int device, bool urgent, cudaStream_t *stream);
extern cudaError_t gr_event_get(int device, unsigned flags, cudaEvent_t *event);
extern void gr_stream_give(int device, bool urgent, cudaStream_t stream);
extern void gr_event_give(int device, unsigned flags, cudaEvent_t event);

/* Allows nbytes of unused device memory, and a quarter (at most 256 MB) pinned. Limits never decrease. */
extern void gr_memory_keep(int device, size_t nbytes);

/* Frees all unused memory. True if there was any. */
extern bool gr_memory_release(int device);

/*
 * Frees all unused memory, streams and events, and keeps none from then on. Call it before the last session on the
 * device is closed.
 */
extern void gr_memory_forget(int device);

/* cudaMemGetInfo() of the device, with unused memory counted as free. */
extern cudaError_t gr_memory_info(int device, size_t *nbytes_free, size_t *nbytes_total);

extern GrMemoryUse gr_memory_use(int device);

/* Sets all bytes of unused device memory, and waits; for the tests. */
extern cudaError_t gr_memory_fill(int device, int byte);

#endif							/* GPUREG_MEMORY_CUH */
