/*
 * philox.cuh: cuRAND's Philox 4x32-10 as gr_philox() (compute/base/philox.h) in device code. Bootstraps and projections
 * include it.
 *
 * cuRAND's version needs 2 to 18 registers fewer in the bootstrap's kernels. It is a header only, so nothing is linked.
 * If the header is missing, gr_philox() computes the same bits itself.
 */
#ifndef GPUREG_PHILOX_CUH
#define GPUREG_PHILOX_CUH

#ifdef GPUREG_PHILOX_H
#error "include philox.cuh before compute/base/philox.h"
#endif

#include <stdint.h>

#if __has_include(<curand_kernel.h>)
#include <curand_kernel.h>

/* Replaces the four words of a counter by random words. */
static __device__ __forceinline__ void
device_philox(uint32_t word[4], uint32_t key0, uint32_t key1)
{
	uint4		drawn = curand_Philox4x32_10(make_uint4(word[0], word[1], word[2], word[3]), make_uint2(key0, key1));

	word[0] = drawn.x;
	word[1] = drawn.y;
	word[2] = drawn.z;
	word[3] = drawn.w;
}

#define GR_DEVICE_PHILOX device_philox
#endif

#endif							/* GPUREG_PHILOX_CUH */
