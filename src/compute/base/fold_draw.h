/*
 * fold_draw.h: assigns a row to a fold of a cross-validation, on the host and on the device. gpu_cv_fold calls it
 * first, then derived rows of kept data (derive_row.h).
 *
 * The fold is a function of the seed, the row's key and the number of folds alone, in integer arithmetic, so folds do
 * not depend on the rows' order, machine or device. Stored results depend on every detail below: none may ever change.
 * Keys are those of boot_draw.h.
 *
 * The draw w is word 0 of Philox 4x32-10 with the counter (low half of k, high half of k, 0, GR_FOLD_TAG), k in two's
 * complement of 64 bits, and the key (low half of the seed, high half of the seed). The fold is 1 + floor(w n / 2^32),
 * from 1 to n; folds are equally likely up to 2^-32.
 */
#ifndef GPUREG_FOLD_DRAW_H
#define GPUREG_FOLD_DRAW_H

#include "compute/base/philox.h"
#include "compute/base/portable.h"

#define GR_FOLD_TAG UINT32_C(0x666F6C64)
#define GR_FOLDS_MAX 100		/* each fold is a sink of its own; see GR_REMOTE_OBJECTS */

/* Returns the fold, 1 .. n, of the row with this key. seed_low, seed_high: halves of the seed; n: 1 .. GR_FOLDS_MAX. */
GR_HD int
gr_fold_of(uint32_t seed_low, uint32_t seed_high, int64_t key, int n)
{
	GrPhilox	counter = {{(uint32_t) (uint64_t) key, (uint32_t) ((uint64_t) key >> 32), 0, GR_FOLD_TAG}};

	return 1 + (int) ((uint64_t) gr_philox(counter, seed_low, seed_high).word[0] * (uint64_t) n >> 32);
}

#endif							/* GPUREG_FOLD_DRAW_H */
