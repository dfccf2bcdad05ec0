/*
 * portable.h: attributes of functions that are compiled both for the host and for a device, such as those of dd.h,
 * row.h and the draws of random numbers.
 */
#ifndef GPUREG_PORTABLE_H
#define GPUREG_PORTABLE_H

#ifdef __CUDACC__
#define GR_HD __host__ __device__ static inline
#define GR_HD_CONSTANT GR_HD constexpr	/* usable in constant expressions of device code */
#else
#define GR_HD static inline __attribute__((always_inline))
#define GR_HD_CONSTANT GR_HD
#endif

#endif							/* GPUREG_PORTABLE_H */
