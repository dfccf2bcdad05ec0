/*
 * cuda_util.cuh: shared by all CUDA files: classification of the runtime's errors, calls of CUB, and locks.
 */
#ifndef GPUREG_CUDA_UTIL_CUH
#define GPUREG_CUDA_UTIL_CUH

#ifdef POSTGRES_H
#error "kernels/ must not see PostgreSQL headers"
#endif

#include "compute/base/compute.h"

#include <cuda_runtime.h>
#include <pthread.h>

#define GR_DEVICES_MAX 64		/* further devices are ignored */

/*
 * True for errors after which CUDA's manual requires the process to end, as every later call would return them again.
 */
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
 * Returns the code of a CUB call. CUB queries the driver itself: if that fails, CUB may throw, and caches the failure.
 * The process can then not use the device again, as after losing its context.
 */
template <typename Call>
static inline cudaError_t
gr_cub(Call call)
{
	cudaError_t code;

	try
	{
		code = call();
	}
	catch (...)
	{
		(void) cudaGetLastError();
		return cudaErrorContextIsDestroyed;
	}
	return code == cudaErrorInvalidDevice ? cudaErrorContextIsDestroyed : code;
}

/* Holds the mutex while the object lives. */
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
