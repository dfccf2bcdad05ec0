/*
 * cuda.c: calls of CUDA that fail like other calls (faults.h), in a library of make FAULTS=yes CUDA=yes. The linker
 * redirects the kernels' and the backend's calls to here (-Wl,--wrap for each; the Makefile reads the names from the
 * lines below).
 *
 * Calls that ask for memory or an object fail like those of a device that has none. Other calls fail like those of a
 * lost device, so that the service ends. Calls that wait or free are carried out all the same: the device isn't really
 * lost, and would write to memory that others have by then.
 */
#include "faults.h"

#include <cuda_runtime_api.h>

/* The result of the thread's next cudaGetLastError() */
static __thread cudaError_t last_error = cudaSuccess;

static cudaError_t
failed(cudaError_t code)
{
	last_error = code;
	return code;
}

#define WRAP(name, before, code, parameters, arguments) \
	extern cudaError_t __real_##name parameters; \
	extern cudaError_t __wrap_##name parameters; \
	cudaError_t __wrap_##name parameters \
	{ \
		if (gr_fault()) \
		{ \
			before; \
			return failed(code); \
		} \
		return __real_##name arguments; \
	}

/* SHORT fails for lack of memory, LOST as a lost device, both without the call; DONE fails as a lost device after it */
#define SHORT(name, parameters, arguments) WRAP(name, (void) 0, cudaErrorMemoryAllocation, parameters, arguments)
#define LOST(name, parameters, arguments) WRAP(name, (void) 0, cudaErrorLaunchFailure, parameters, arguments)
#define DONE(name, parameters, arguments) \
	WRAP(name, (void) __real_##name arguments, cudaErrorLaunchFailure, parameters, arguments)

SHORT(cudaMalloc, (void **at, size_t size), (at, size))
SHORT(cudaMallocHost, (void **at, size_t size), (at, size))
SHORT(cudaHostRegister, (void *at, size_t size, unsigned flags), (at, size, flags))
SHORT(cudaStreamCreateWithPriority, (cudaStream_t *stream, unsigned flags, int priority), (stream, flags, priority))
SHORT(cudaEventCreateWithFlags, (cudaEvent_t *event, unsigned flags), (event, flags))
SHORT(cudaFuncSetAttribute, (const void *kernel, enum cudaFuncAttribute attribute, int value),
	  (kernel, attribute, value))

LOST(cudaLaunchKernel, (const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
						cudaStream_t stream),
	 (kernel, grid, block, arguments, shared, stream))
LOST(__cudaLaunchKernel, (void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream),
	 (kernel, grid, block, arguments, shared, stream))
LOST(cudaMemcpyAsync, (void *to, const void *from, size_t size, enum cudaMemcpyKind kind, cudaStream_t stream),
	 (to, from, size, kind, stream))
LOST(cudaMemsetAsync, (void *at, int value, size_t size, cudaStream_t stream), (at, value, size, stream))
LOST(cudaMemset, (void *at, int value, size_t size), (at, value, size))
LOST(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), (event, stream))
LOST(cudaEventQuery, (cudaEvent_t event), (event))
LOST(cudaEventElapsedTime, (float *ms, cudaEvent_t start, cudaEvent_t end), (ms, start, end))
LOST(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned flags), (stream, event, flags))
LOST(cudaSetDevice, (int device), (device))
LOST(cudaGetDevice, (int *device), (device))
LOST(cudaGetDeviceCount, (int *count), (count))
LOST(cudaDriverGetVersion, (int *version), (version))
LOST(cudaDeviceGetAttribute, (int *value, enum cudaDeviceAttr attribute, int device), (value, attribute, device))
LOST(cudaDeviceGetStreamPriorityRange, (int *least, int *greatest), (least, greatest))
LOST(cudaGetDeviceProperties, (struct cudaDeviceProp *properties, int device), (properties, device))
LOST(cudaMemGetInfo, (size_t *vacant, size_t *total), (vacant, total))
LOST(cudaFuncGetAttributes, (struct cudaFuncAttributes *attributes, const void *kernel), (attributes, kernel))
LOST(cudaOccupancyMaxActiveBlocksPerMultiprocessor, (int *blocks, const void *kernel, int nthreads, size_t shared),
	 (blocks, kernel, nthreads, shared))

DONE(cudaStreamSynchronize, (cudaStream_t stream), (stream))
DONE(cudaEventSynchronize, (cudaEvent_t event), (event))
DONE(cudaDeviceSynchronize, (void), ())
DONE(cudaDeviceReset, (void), ())
DONE(cudaFree, (void *at), (at))
DONE(cudaFreeHost, (void *at), (at))
DONE(cudaHostUnregister, (void *at), (at))
DONE(cudaStreamDestroy, (cudaStream_t stream), (stream))
DONE(cudaEventDestroy, (cudaEvent_t event), (event))

extern cudaError_t __real_cudaGetLastError(void);
extern cudaError_t __wrap_cudaGetLastError(void);

cudaError_t
__wrap_cudaGetLastError(void)
{
	cudaError_t code = last_error;
	cudaError_t real = __real_cudaGetLastError();

	last_error = cudaSuccess;
	return code != cudaSuccess ? code : real;
}
