/*
 * philox.h: counter-based random numbers, on the host and on the device. Projections (draw.h), bootstraps (boot_draw.h)
 * and folds (fold_draw.h) draw from them.
 *
 * Philox 4x32-10 of Salmon, Moraes, Dror and Shaw (2011), "Parallel random numbers: as easy as 1, 2, 3": ten rounds
 * turn a counter of four words and a key of two words into four random words. cuRAND's device generator gives the same
 * words: curand_init(seed, subsequence, offset) uses the seed as the key, low word first, offset / 4 as the counter's
 * first two words and the subsequence as its last two. Device code calls cuRAND's generator where kernels/philox.cuh
 * has found its header; project_gpu_test and boot_gpu_test compare its bits with the host's.
 */
#ifndef GPUREG_PHILOX_H
#define GPUREG_PHILOX_H

#include <stdint.h>

#include "compute/base/dd.h"

#define GR_PHILOX_ROUNDS 10
#define GR_PHILOX_M0 UINT32_C(0xD2511F53)
#define GR_PHILOX_M1 UINT32_C(0xCD9E8D57)
#define GR_PHILOX_W0 UINT32_C(0x9E3779B9)
#define GR_PHILOX_W1 UINT32_C(0xBB67AE85)

typedef struct GrPhilox
{
	uint32_t	word[4];
} GrPhilox;

/* Returns the four random words of a counter and a key: the same words on every host and device. */
GR_HD GrPhilox
gr_philox(GrPhilox counter, uint32_t key0, uint32_t key1)
{
#if defined(__CUDA_ARCH__) && defined(GR_DEVICE_PHILOX)
	GR_DEVICE_PHILOX(counter.word, key0, key1);
	return counter;
#else
	for (int round = 0; round < GR_PHILOX_ROUNDS; round++)
	{
		uint64_t	a = (uint64_t) GR_PHILOX_M0 * counter.word[0];
		uint64_t	b = (uint64_t) GR_PHILOX_M1 * counter.word[2];

		counter.word[0] = (uint32_t) (b >> 32) ^ counter.word[1] ^ key0;
		counter.word[1] = (uint32_t) b;
		counter.word[2] = (uint32_t) (a >> 32) ^ counter.word[3] ^ key1;
		counter.word[3] = (uint32_t) a;
		key0 += GR_PHILOX_W0;
		key1 += GR_PHILOX_W1;
	}
	return counter;
#endif
}

#endif							/* GPUREG_PHILOX_H */
