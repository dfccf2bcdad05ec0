/*
 * murmur3.h: MurmurHash3 x86-32 (Austin Appleby, public domain), checked against published test vectors.
 * gpu_feature_hash calls it first.
 */
#ifndef GPUREG_MURMUR3_H
#define GPUREG_MURMUR3_H

#include <stddef.h>
#include <stdint.h>

static inline uint32_t
gr_murmur3_rotate(uint32_t x, int r)
{
	return x << r | x >> (32 - r);
}

static inline uint32_t
gr_murmur3(const void *data, size_t nbytes, uint32_t seed)
{
	const unsigned char *at = data;
	uint32_t	h = seed;
	uint32_t	k = 0;

	/* words are little-endian on every machine */
	for (size_t left = nbytes / 4; left > 0; left--, at += 4)
	{
		k = (uint32_t) at[0] | (uint32_t) at[1] << 8 | (uint32_t) at[2] << 16 | (uint32_t) at[3] << 24;
		k = gr_murmur3_rotate(k * UINT32_C(0xcc9e2d51), 15) * UINT32_C(0x1b873593);
		h = gr_murmur3_rotate(h ^ k, 13) * 5 + UINT32_C(0xe6546b64);
	}
	k = 0;
	for (size_t i = nbytes % 4; i > 0; i--)
		k = k << 8 | at[i - 1];
	h ^= gr_murmur3_rotate(k * UINT32_C(0xcc9e2d51), 15) * UINT32_C(0x1b873593);
	h ^= (uint32_t) nbytes;
	h = (h ^ h >> 16) * UINT32_C(0x85ebca6b);
	h = (h ^ h >> 13) * UINT32_C(0xc2b2ae35);
	return h ^ h >> 16;
}

#endif							/* GPUREG_MURMUR3_H */
