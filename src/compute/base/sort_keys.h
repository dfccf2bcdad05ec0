/*
 * sort_keys.h: 64-bit keys that order scores from the greatest to the least, and a sort of such keys.
 */
#ifndef GPUREG_SORT_KEYS_H
#define GPUREG_SORT_KEYS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Keys of +infinity and -infinity: the first and the last one. Keys outside this range are those of NaNs. */
#define GR_FIRST_SCORE_KEY UINT64_C(0x000fffffffffffff)
#define GR_LAST_SCORE_KEY UINT64_C(0xfff0000000000000)

#define GR_SIGN_BIT UINT64_C(0x8000000000000000)

/* Returns the key of a score that is not NaN: the greater the score, the lesser its key. -0 has the key of 0. */
static inline uint64_t
gr_score_key(double score)
{
	uint64_t	bits;

	score += 0.0;				/* makes 0 of -0 */
	memcpy(&bits, &score, sizeof(bits));
	return (bits & GR_SIGN_BIT) != 0 ? bits : ~(bits | GR_SIGN_BIT);
}

/* Returns the score of a key. */
static inline double
gr_score_of_key(uint64_t key)
{
	uint64_t	bits = (key & GR_SIGN_BIT) != 0 ? key : ~key & ~GR_SIGN_BIT;
	double		score;

	memcpy(&score, &bits, sizeof(score));
	return score;
}

/*
 * Sorts n keys in ascending order; n < 2^32. The first nsorted of them are in order already. scratch has room for n
 * keys. The time is proportional to n.
 */
extern void gr_sort_keys(uint64_t *keys, uint64_t *scratch, size_t n, size_t nsorted);

#endif							/* GPUREG_SORT_KEYS_H */
