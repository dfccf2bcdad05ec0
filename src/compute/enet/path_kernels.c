/*
 * path_kernels.c: compiles path_cpu.h for several instruction sets; see path_kernels.h.
 */
#include "compute/enet/path_kernels.h"

#define SIMD_TEMPLATE "compute/enet/path_cpu.h"
#include "compute/base/simd.h"

const GrPathKernels *
gr_path_kernels(int max_lanes)
{
	return SIMD_CHOOSE(kernels, max_lanes);
}
