/*
 * cuda_util.cuh: what the CUDA files share: the run time's failures as GrError values.
 */
#ifndef GPUREG_CUDA_UTIL_CUH
#define GPUREG_CUDA_UTIL_CUH

#ifdef POSTGRES_H
#error "kernels/ must not see PostgreSQL headers"
#endif

#include "compute/compute.h"

#include <cuda_runtime.h>
#include <pthread.h>

#define GR_DEVICES_MAX 64		/* devices of a machine beyond these aren't seen */

/* The errors after which CUDA's manual says that the process must end: every later call would return them again. */
static inline bool
gr_cuda_is_sticky(cudaError_t code)
{
	switch (code)
	{
		case cudaErrorECCUncorrectable:
		case cudaErrorNvlinkUncorrectable:
		case cudaErrorIllegalAddress:
		case cudaErrorLaunchTimeout:
		case cudaErrorContextIsDestroyed:
		case cudaErrorAssert:
		case cudaErrorHardwareStackError:
		case cudaErrorIllegalInstruction:
		case cudaErrorMisalignedAddress:
		case cudaErrorInvalidAddressSpace:
		case cudaErrorInvalidPc:
		case cudaErrorLaunchFailure:
		case cudaErrorMpsClientTerminated:
		case cudaErrorExternalDevice:
#if CUDART_VERSION >= 13000
		case cudaErrorContained:
		case cudaErrorTensorMemoryLeak:
#endif
			return true;
		default:
			return false;
	}
}

static inline GrStatus
gr_cuda_status(cudaError_t code)
{
	if (gr_cuda_is_sticky(code))
		return GR_DEVICE_LOST;
	switch (code)
	{
		case cudaErrorMemoryAllocation:
			return GR_DEVICE_MEMORY;
		case cudaErrorNoDevice:
		case cudaErrorInvalidDevice:
		case cudaErrorInsufficientDriver:
		case cudaErrorCallRequiresNewerDriver:
		case cudaErrorInitializationError:
		case cudaErrorStubLibrary:
		case cudaErrorDevicesUnavailable:
		case cudaErrorDeviceNotLicensed:
		case cudaErrorStartupFailure:
		case cudaErrorNoKernelImageForDevice:
		case cudaErrorInvalidDeviceFunction:
		case cudaErrorJitCompilerNotFound:
		case cudaErrorUnsupportedPtxVersion:
		case cudaErrorSystemNotReady:
		case cudaErrorSystemDriverMismatch:
		case cudaErrorCompatNotSupportedOnDevice:
		case cudaErrorMpsConnectionFailed:
		case cudaErrorMpsServerNotReady:
		case cudaErrorMpsMaxClientsReached:
		case cudaErrorMpsMaxConnectionsReached:
			return GR_NO_DEVICE;
		default:
			return GR_DEVICE_FAILED;
	}
}

/*
 * Records a failed call in the driver's own words, and takes it off the run time's record so that it isn't reported
 * again; always returns false. what: the call, for a person; nbytes: what was asked for, 0 if that isn't known.
 */
static inline bool
gr_cuda_fail(GrError *err, cudaError_t code, size_t nbytes, const char *what)
{
	GrStatus	status = gr_cuda_status(code);
	bool		first = err->status == GR_OK;

	(void) cudaGetLastError();
	gr_fail(err, status, 0, "%s: %s", what, cudaGetErrorString(code));
	if (first && status == GR_DEVICE_MEMORY && nbytes > 0)
	{
		size_t		nbytes_free = 0;
		size_t		nbytes_total = 0;

		/* without a context there is no telling what is free: then the detail has to do */
		if (cudaMemGetInfo(&nbytes_free, &nbytes_total) == cudaSuccess)
		{
			err->bytes_needed = nbytes;
			err->bytes_free = nbytes_free;
		}
		else
			(void) cudaGetLastError();
	}
	return false;
}

/* Returns false from the function around it when the call fails. */
#define GR_CUDA(err, call, what) \
	do { \
		cudaError_t gr_code_ = (call); \
		if (gr_code_ != cudaSuccess) \
			return gr_cuda_fail((err), gr_code_, 0, (what)); \
	} while (0)

/* The mutex is this thread's for as long as the object lives. */
class Locked
{
public:
	explicit Locked(pthread_mutex_t *mutex) : mutex(mutex)
	{
		pthread_mutex_lock(mutex);
	}
	~Locked()
	{
		pthread_mutex_unlock(mutex);
	}
	Locked(const Locked &) = delete;
	Locked &operator=(const Locked &) = delete;

private:
	pthread_mutex_t *mutex;
};

#endif							/* GPUREG_CUDA_UTIL_CUH */
