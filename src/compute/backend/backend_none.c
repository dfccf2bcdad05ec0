/*
 * backend_none.c: gr_backend_cuda in a build without nvcc: it has no device, and opening a session fails.
 */
#include "compute/backend/backend.h"

#define REASON "gpureg was built without CUDA"

static bool
none_present(void)
{
	return false;
}

/* Fails with GR_NO_DEVICE and no devices, as this build has no GPU support. */
static bool
none_count(int *ndevices, GrError *err)
{
	*ndevices = 0;
	return gr_fail(err, GR_NO_DEVICE, 0, "%s", REASON);
}

static bool
none_list(GrDeviceInfo *devices, int max, int *ndevices, GrError *err)
{
	(void) devices;
	(void) max;
	*ndevices = 0;
	gr_fail(err, GR_NO_DEVICE, 0, "%s", REASON);
	return true;
}

static bool
none_open(GrSession **session, const GrOpenOptions *options, GrError *err)
{
	(void) options;
	*session = NULL;
	return gr_fail(err, GR_NO_DEVICE, 0, "%s", REASON);
}

static const GrDeviceOps device_ops = {
	.present = none_present,.count = none_count,.list = none_list,.open = none_open
};

const GrBackend gr_backend_cuda = {.name = "gpu",.device = &device_ops};
