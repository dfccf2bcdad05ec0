/*
 * flip_draw.h: the sign that a row's residual has in a replicate of a permutation test, on the host and on the device.
 *
 * A sign is a function of (seed, replicate, the row's key) alone, by integer arithmetic, so that a replicate is the
 * same whatever the rows' order, on every machine and device, in any number of workers, and for ever: stored results
 * depend on every detail below, and none may change. Keys are those of boot_draw.h; rows of one key have one sign.
 *
 * Replicates are r = 0, 1, 2, ... Bit r % 32 of word r % 128 / 32 of Philox 4x32-10 with the counter (low half of k,
 * high half of k, r / 128, GR_FLIP_TAG), k in two's complement of 64 bits, and the key (low half of the seed, high half
 * of the seed) is the draw: 0 leaves the residual as it is, 1 flips its sign.
 */
#ifndef GPUREG_FLIP_DRAW_H
#define GPUREG_FLIP_DRAW_H

#include "compute/base/philox.h"
#include "compute/base/portable.h"

#define GR_FLIP_TAG UINT32_C(0x666C6970)

/* Replicates of a word; and of one call of Philox */
#define GR_FLIP_WORD_DRAWS 32
#define GR_FLIP_DRAWS 128

/* The draws of replicates 128 b .. 128 b + 127 */
GR_HD GrPhilox
gr_flip_words(uint64_t seed, int64_t key, uint32_t b)
{
	GrPhilox	counter = {{(uint32_t) (uint64_t) key, (uint32_t) ((uint64_t) key >> 32), b, GR_FLIP_TAG}};

	return gr_philox(counter, (uint32_t) seed, (uint32_t) (seed >> 32));
}

/* What replicate r % 32 of a word multiplies a residual with */
GR_HD double
gr_flip_sign(uint32_t word, int r)
{
	return (word >> r & 1) != 0 ? -1.0 : 1.0;
}

#endif							/* GPUREG_FLIP_DRAW_H */
