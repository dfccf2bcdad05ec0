/*
 * boot_draw.h: draws how often a row occurs in a replicate of a bootstrap, on the host and on the device. boot.c's
 * passes call it first.
 *
 * The Poisson bootstrap draws each row's count independently from Poisson's distribution of mean 1. The count is a
 * function of the seed, the replicate and the row's key alone, in integer arithmetic, so replicates do not depend on
 * the rows' order, the machine, the device or the number of workers. Stored results depend on every detail below: none
 * may ever change.
 *
 * Keys are integers k, -2^53 <= k <= 2^53. An integer within these bounds is its own key; a date is its days since
 * 2000-01-01, a timestamp its microseconds since then, false is 0 and true 1. Any other value is hashed from bytes: a
 * text's characters in UTF-8, a uuid's 16 bytes, another integer's 8 bytes in two's complement, least significant
 * first, another numeric's digits as text without trailing zeros. The hash is FNV-1a of 64 bits (Fowler, Noll and Vo),
 * folded to 52 bits: the upper 12 bits xor the lower 52. Rows with equal keys have equal counts, so the rows of a
 * cluster have its key.
 *
 * Replicates are r = 0, 1, 2, ... The draw is word r % 4 of Philox 4x32-10 with the counter (low half of k, high half
 * of k, r / 4, GR_BOOT_TAG), k in two's complement of 64 bits, and the key (low half of the seed, high half of the
 * seed). The count is the number of the 12 thresholds that are <= the word; threshold m is round(2^32 F(m)), F(m) =
 * e^-1 (1/0! + .. + 1/m!). No count exceeds 12, and each probability is right to 2^-33.
 */
#ifndef GPUREG_BOOT_DRAW_H
#define GPUREG_BOOT_DRAW_H

#include <stddef.h>

#include "compute/base/philox.h"
#include "compute/base/portable.h"

#define GR_BOOT_TAG UINT32_C(0x626F6F74)	/* projections of a seed have small numbers as this word */
#define GR_BOOT_KEY_MAX INT64_C(9007199254740992)	/* 2^53 */
#define GR_BOOT_REPS_MAX 1000000

/* X(threshold) for each threshold. One word of 12,000 reaches GR_BOOT_RARE, the seventh threshold. */
#define GR_BOOT_FIRST_THRESHOLDS(X) \
	X(0x5E2D58D9) X(0xBC5AB1B1) X(0xEB715E1E) X(0xFB239797) X(0xFF1025F6) X(0xFFD90F3C)
#define GR_BOOT_RARE_THRESHOLDS(X) \
	X(0xFFFA8B72) X(0xFFFF540C) X(0xFFFFED1F) X(0xFFFFFE21) X(0xFFFFFFD5) X(0xFFFFFFFC)
#define GR_BOOT_RARE UINT32_C(0xFFFA8B72)

#define GR_BOOT_HASH_BEGIN UINT64_C(14695981039346656037)

/* Adds n bytes to a hash that began as GR_BOOT_HASH_BEGIN. */
static inline uint64_t
gr_boot_hash_add(uint64_t hash, const void *bytes, size_t n)
{
	const unsigned char *at = (const unsigned char *) bytes;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ at[i]) * UINT64_C(1099511628211);
	return hash;
}

/* Returns the key that a hash is folded to. */
static inline int64_t
gr_boot_hash_key(uint64_t hash)
{
	return (int64_t) ((hash >> 52) ^ (hash & ((UINT64_C(1) << 52) - 1)));
}

/* Returns the key of an integer. */
static inline int64_t
gr_boot_integer_key(int64_t value)
{
	unsigned char bytes[8];

	if (value >= -GR_BOOT_KEY_MAX && value <= GR_BOOT_KEY_MAX)
		return value;
	for (int i = 0; i < 8; i++)
		bytes[i] = (unsigned char) ((uint64_t) value >> (8 * i));
	return gr_boot_hash_key(gr_boot_hash_add(GR_BOOT_HASH_BEGIN, bytes, sizeof(bytes)));
}

/* Returns the words for replicates 4 group .. 4 group + 3. */
GR_HD GrPhilox
gr_boot_words(uint64_t seed, int64_t key, uint32_t group)
{
	GrPhilox	counter = {{(uint32_t) (uint64_t) key, (uint32_t) ((uint64_t) key >> 32), group, GR_BOOT_TAG}};

	return gr_philox(counter, (uint32_t) seed, (uint32_t) (seed >> 32));
}

GR_HD int
gr_boot_count(uint32_t word)
{
	int			count = 0;

#define GR_BOOT_COUNT(threshold) count += word >= UINT32_C(threshold) ? 1 : 0;
	GR_BOOT_FIRST_THRESHOLDS(GR_BOOT_COUNT)
	if (word >= GR_BOOT_RARE)
	{
		GR_BOOT_RARE_THRESHOLDS(GR_BOOT_COUNT)
	}
#undef GR_BOOT_COUNT
	return count;
}

#endif							/* GPUREG_BOOT_DRAW_H */
