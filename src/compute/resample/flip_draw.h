/*
 * flip_draw.h: draws the sign of a row's residual in a replicate of a permutation test, on the host and on the device.
 * boot.c's passes call it first.
 *
 * The sign is a function of the seed, the replicate and the row's key alone, in integer arithmetic, so replicates do
 * not depend on the rows' order, the machine, the device or the number of workers. Stored results depend on every
 * detail below: none may ever change. Keys are those of boot_draw.h; rows with equal keys have equal signs.
 *
 * Replicates are r = 0, 1, 2, ... The draw is bit r % 32 of word r % 128 / 32 of Philox 4x32-10 with the counter (low
 * half of k, high half of k, r / 128, GR_FLIP_TAG), k in two's complement of 64 bits, and the key (low half of the
 * seed, high half of the seed). 0 keeps the residual, 1 flips its sign.
 */
#ifndef GPUREG_FLIP_DRAW_H
#define GPUREG_FLIP_DRAW_H

#include "compute/base/philox.h"
#include "compute/base/portable.h"

#define GR_FLIP_TAG UINT32_C(0x666C6970)

/* Replicates per word, and per call of Philox. */
#define GR_FLIP_WORD_DRAWS 32
#define GR_FLIP_DRAWS 128

/* Returns the words for replicates 128 b .. 128 b + 127. */
GR_HD GrPhilox
gr_flip_words(uint64_t seed, int64_t key, uint32_t b)
{
	GrPhilox	counter = {{(uint32_t) (uint64_t) key, (uint32_t) ((uint64_t) key >> 32), b, GR_FLIP_TAG}};

	return gr_philox(counter, (uint32_t) seed, (uint32_t) (seed >> 32));
}

/* Returns the factor of a residual in replicate r % 32 of a word. */
GR_HD double
gr_flip_sign(uint32_t word, int r)
{
	return (word >> r & 1) != 0 ? -1.0 : 1.0;
}

#endif							/* GPUREG_FLIP_DRAW_H */
