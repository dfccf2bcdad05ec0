/*
 * device.cuh: what the planning of launches asks of the device, and asks of it once.
 */
#ifndef GPUREG_DEVICE_CUH
#define GPUREG_DEVICE_CUH

#include "cuda_util.cuh"

typedef struct GrDeviceFacts
{
	int			nsms;			/* multiprocessors */
	int			clock_khz;		/* 0 where it isn't told */
	int			fp64_ratio;		/* float4 operations for one of float8 */
	int			shared_nbytes;	/* shared memory that a thread block may have on request */
} GrDeviceFacts;

/* Of the thread's current device; some take the driver as long as a small fit, and are asked for once in a process. */
extern cudaError_t gr_device_facts(GrDeviceFacts *facts);

/*
 * Lets a kernel be launched with so much dynamic shared memory. What a plan has been allowed stays allowed: several
 * plans of one kernel, other threads' too, may be about to launch it.
 */
extern cudaError_t gr_allow_shared(const void *kernel, size_t nbytes);

/*
 * Has CUB ask what it asks of the current device once in a process, before a second thread may: one that came while
 * the first was failing would wait for ever.
 */
extern cudaError_t gr_prepare_cub(void);

#endif							/* GPUREG_DEVICE_CUH */
