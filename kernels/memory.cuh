/*
 * memory.cuh: device memory, pinned memory, streams and events that are kept between computations, for the process.
 *
 * The driver's calls that free memory of either kind wait for all that runs on the device, whoever launched it, and
 * those that make something take its locks. Many computations at once would stand in each other's way: so what one has
 * done with stays here, a device's for itself, and is handed out again. Everything in kernels/ comes from here.
 *
 * Nothing may be given back before all work on it has ended, for nobody waits for it here. A sink's end waits for both
 * of its streams, a factor's for its one, a projection's for its three; a pass that wants more memory, an ascent, a
 * change of rows and the drawing of S wait for the stream that they use, after a failure too. Memory holds what was
 * last in it, and nothing in kernels/ takes it to be zeros. An event that is handed out has happened.
 *
 * Sizes are powers of two up to 2 MB, beyond that multiples of 2 MB, for which memory of up to an eighth more is taken
 * too. What is kept unused is bounded, by nothing before gr_memory_keep(); the memory that was last used longest ago
 * goes first. All that is unused goes when an allocation fails, which is then tried again; other processes are not
 * helped by that, which is why a process that serves a single session keeps little.
 *
 * All functions may be called by several threads at once, each with the device as its current one.
 */
#ifndef GPUREG_MEMORY_CUH
#define GPUREG_MEMORY_CUH

#include "cuda_util.cuh"

/* What a process has of a device, bytes */
typedef struct GrMemoryUse
{
	size_t		used_nbytes;	/* device memory handed out */
	size_t		kept_nbytes;	/* ... and kept unused */
	size_t		pinned_used_nbytes;
	size_t		pinned_kept_nbytes;
	int64_t		ncalls;			/* so far, of the driver, that got memory or freed it */
} GrMemoryUse;

/* On failure *memory is NULL. No bytes are no memory: NULL too. */
extern cudaError_t gr_memory_get(int device, void **memory, size_t nbytes);
extern cudaError_t gr_pinned_get(int device, void **memory, size_t nbytes);

/* NULL is nothing. */
extern void gr_memory_give(int device, void *memory);
extern void gr_pinned_give(int device, void *memory);

/*
 * Streams wait for no other; an urgent one's thread blocks go first where some of several streams could start. Events
 * are of cudaEventDefault, cudaEventBlockingSync or cudaEventDisableTiming. A failure leaves what is there as it is.
 */
extern cudaError_t gr_stream_get(int device, bool urgent, cudaStream_t *stream);
extern cudaError_t gr_event_get(int device, unsigned flags, cudaEvent_t *event);
extern void gr_stream_give(int device, bool urgent, cudaStream_t stream);
extern void gr_event_give(int device, unsigned flags, cudaEvent_t event);

/* From now on so much device memory may be kept unused, if it wasn't more already, and a quarter of it pinned. */
extern void gr_memory_keep(int device, size_t nbytes);

/* Frees all memory that is unused; whether there was any. */
extern bool gr_memory_release(int device);

/* The same with streams and events, and keeps nothing from now on: before the last session on the device is closed. */
extern void gr_memory_forget(int device);

/* cudaMemGetInfo() of the device, but what is kept unused counts as free. */
extern cudaError_t gr_memory_info(int device, size_t *nbytes_free, size_t *nbytes_total);

extern GrMemoryUse gr_memory_use(int device);

/* For the tests: writes a byte all over the device memory that is unused, and waits. */
extern cudaError_t gr_memory_fill(int device, int byte);

#endif							/* GPUREG_MEMORY_CUH */
