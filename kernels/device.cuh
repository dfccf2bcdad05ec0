/*
 * device.cuh: properties of the current device for planning launches, queried once per process. Plans (gr_gram_plan()
 * and others) call it first.
 */
#ifndef GPUREG_DEVICE_CUH
#define GPUREG_DEVICE_CUH

#include "cuda_util.cuh"

typedef struct GrDeviceFacts
{
	int			nsms;			/* multiprocessors */
	int			clock_khz;		/* 0 if unknown */
	int			fp64_ratio;		/* throughput of float4 over float8 arithmetic */
	int			shared_nbytes;	/* most shared memory of a thread block, on request */
} GrDeviceFacts;

/* Sets *facts for the current device. Slow queries of the driver are made once per process. */
extern cudaError_t gr_device_facts(GrDeviceFacts *facts);

/*
 * Allows a kernel nbytes of dynamic shared memory. The limit never decreases, as other plans or threads may be about to
 * launch the kernel.
 */
extern cudaError_t gr_allow_shared(const void *kernel, size_t nbytes);

/*
 * Makes CUB query the current device before a second thread can do so: a thread that comes while the first query fails
 * would wait forever.
 */
extern cudaError_t gr_prepare_cub(void);

#endif							/* GPUREG_DEVICE_CUH */
