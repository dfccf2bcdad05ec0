/*
 * wild_draw.h: draws the weights of a wild cluster bootstrap. wild.c calls it first.
 *
 * A weight is a function of the seed, the replicate r and the cluster's key alone, in integer arithmetic, so replicates
 * do not depend on the clusters' order or the machine. Stored results depend on every detail below: none may ever
 * change. Keys are those of boot_draw.h, for clusters given by values; or numbers 0, 1, 2, ...
 *
 * Philox 4x32-10 with the counter (low half of the key, high half of the key, b, tag) and the key (low half of the
 * seed, high half of the seed) gives four words.
 *
 * Rademacher: tag GR_WILD_RADEMACHER_TAG, b = r / 128; bit r % 32 of word r % 128 / 32. 0 is the weight 1, 1 is -1.
 *
 * Webb (2023), six points: tag GR_WILD_WEBB_TAG, b = r / 16; digit r % 4 after the point, in base 6, of word r % 16 / 4
 * as a fraction of 2^32. Digits 0 .. 5 are -sqrt(3/2), -1, -sqrt(1/2), sqrt(1/2), 1, sqrt(3/2). Probabilities are right
 * to 2^-21.
 */
#ifndef GPUREG_WILD_DRAW_H
#define GPUREG_WILD_DRAW_H

#include "compute/base/philox.h"

#define GR_WILD_RADEMACHER_TAG UINT32_C(0x77696C64)
#define GR_WILD_WEBB_TAG UINT32_C(0x77696C65)

/* Replicates per call of Philox */
#define GR_WILD_RADEMACHER_DRAWS 128
#define GR_WILD_WEBB_DRAWS 16

static inline GrPhilox
gr_wild_words(uint64_t seed, int64_t key, uint32_t b, uint32_t tag)
{
	GrPhilox	counter = {{(uint32_t) (uint64_t) key, (uint32_t) ((uint64_t) key >> 32), b, tag}};

	return gr_philox(counter, (uint32_t) seed, (uint32_t) (seed >> 32));
}

/* Returns the base-6 digit of word at one of its four places: which of Webb's weights is drawn. */
static inline int
gr_wild_webb_digit(uint32_t word, int place)
{
	for (int i = 0; i < place; i++)
		word *= 6;
	return (int) ((UINT64_C(6) * word) >> 32);
}

#endif							/* GPUREG_WILD_DRAW_H */
