/*
 * fold_draw.h: which fold of a cross-validation a row is in, on the host and on the device.
 *
 * The fold is a function of (seed, the row's key, how many folds there are) alone, by integer arithmetic, so that folds
 * are the same whatever the rows' order, on every machine and device, and for ever: stored results depend on every
 * detail below, and none may change. Keys are those of boot_draw.h.
 *
 * Word 0 of Philox 4x32-10 with the counter (low half of k, high half of k, 0, GR_FOLD_TAG), k in two's complement of
 * 64 bits, and the key (low half of the seed, high half of the seed) is the draw w; the fold is 1 + floor(w n / 2^32),
 * from 1 to n, each as likely to 2^-32.
 */
#ifndef GPUREG_FOLD_DRAW_H
#define GPUREG_FOLD_DRAW_H

#include "compute/base/philox.h"
#include "compute/base/portable.h"

#define GR_FOLD_TAG UINT32_C(0x666F6C64)
#define GR_FOLDS_MAX 100		/* each is a sink of its own; see GR_REMOTE_OBJECTS */

/* seed: its halves; n: 1 .. GR_FOLDS_MAX */
GR_HD int
gr_fold_of(uint32_t seed_low, uint32_t seed_high, int64_t key, int n)
{
	GrPhilox	counter = {{(uint32_t) (uint64_t) key, (uint32_t) ((uint64_t) key >> 32), 0, GR_FOLD_TAG}};

	return 1 + (int) ((uint64_t) gr_philox(counter, seed_low, seed_high).word[0] * (uint64_t) n >> 32);
}

#endif							/* GPUREG_FOLD_DRAW_H */
