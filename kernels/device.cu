/*
 * device.cu: properties of the current device for planning launches; see device.cuh.
 */
#include "device.cuh"

#include <cub/util_device.cuh>

static pthread_mutex_t facts_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;
static GrDeviceFacts known[GR_DEVICES_MAX];
static bool is_known[GR_DEVICES_MAX];

/* Queries the properties of a device. */
static cudaError_t
ask(int device, GrDeviceFacts *facts)
{
	cudaError_t code;

	if ((code = cudaDeviceGetAttribute(&facts->nsms, cudaDevAttrMultiProcessorCount, device)) != cudaSuccess ||
		(code = cudaDeviceGetAttribute(&facts->clock_khz, cudaDevAttrClockRate, device)) != cudaSuccess ||
		(code = cudaDeviceGetAttribute(&facts->fp64_ratio, cudaDevAttrSingleToDoublePrecisionPerfRatio,
									   device)) != cudaSuccess)
		return code;
	return cudaDeviceGetAttribute(&facts->shared_nbytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
}

cudaError_t
gr_device_facts(GrDeviceFacts *facts)
{
	int			device;
	cudaError_t code = cudaGetDevice(&device);

	if (code != cudaSuccess)
		return code;
	if (device >= GR_DEVICES_MAX)
		return ask(device, facts);

	Locked		locked(&facts_lock);

	if (!is_known[device] && (code = ask(device, &known[device])) != cudaSuccess)
		return code;
	is_known[device] = true;
	*facts = known[device];
	return cudaSuccess;
}

cudaError_t
gr_allow_shared(const void *kernel, size_t nbytes)
{
	Locked		locked(&shared_lock);
	cudaFuncAttributes now;
	cudaError_t code = cudaFuncGetAttributes(&now, kernel);

	if (code != cudaSuccess || (size_t) now.maxDynamicSharedSizeBytes >= nbytes)
		return code;
	return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int) nbytes);
}

cudaError_t
gr_prepare_cub(void)
{
	int			version;

	return gr_cub([&] { return cub::PtxVersion(version); });
}
