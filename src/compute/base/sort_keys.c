/*
 * sort_keys.c: a radix sort of 64-bit keys, from the least significant byte on.
 *
 * A pass per byte distributes the keys over 256 places, and keeps the order of keys with an equal byte. Bytes that all
 * keys share need no pass: keys of rounded scores, or of scores that were single precision, take fewer passes.
 */
#include <stdbool.h>

#include "compute/base/sort_keys.h"

#define NBYTES 8
#define NVALUES 256

/* Number of keys up to which an insertion sort is faster, as it counts nothing */
#define FEW 96

static void
sort_few(uint64_t *keys, size_t n)
{
	for (size_t k = 1; k < n; k++)
	{
		uint64_t	key = keys[k];
		size_t		at = k;

		for (; at > 0 && keys[at - 1] > key; at--)
			keys[at] = keys[at - 1];
		keys[at] = key;
	}
}

static bool
is_sorted(const uint64_t *keys, size_t n)
{
	for (size_t k = 1; k < n; k++)
		if (keys[k - 1] > keys[k])
			return false;
	return true;
}

/* Distributes n keys from `from` to `to` by one byte. counts: how often each value of the byte occurs; changed. */
static void
distribute(const uint64_t *from, uint64_t *to, size_t n, int shift, uint32_t *counts)
{
	uint32_t	begin = 0;

	for (int value = 0; value < NVALUES; value++)
	{
		uint32_t	count = counts[value];

		counts[value] = begin;
		begin += count;
	}
	for (size_t k = 0; k < n; k++)
		to[counts[from[k] >> shift & (NVALUES - 1)]++] = from[k];
}

static void
sort_by_bytes(uint64_t *keys, uint64_t *scratch, size_t n)
{
	uint32_t	counts[NBYTES][NVALUES] = {{0}};
	uint64_t	varying = 0;	/* bits in which keys differ */
	uint64_t   *from = keys;
	uint64_t   *to = scratch;

	for (size_t k = 0; k < n; k++)
	{
		varying |= keys[k] ^ keys[0];
		for (int byte = 0; byte < NBYTES; byte++)
			counts[byte][keys[k] >> 8 * byte & (NVALUES - 1)]++;
	}
	for (int byte = 0; byte < NBYTES; byte++)
	{
		uint64_t   *distributed = to;

		if ((varying >> 8 * byte & (NVALUES - 1)) == 0)
			continue;
		distribute(from, to, n, 8 * byte, counts[byte]);
		to = from;
		from = distributed;
	}
	if (from != keys)
		memcpy(keys, from, n * sizeof(uint64_t));
}

/* Merges keys[0 .. middle) and keys[middle .. n), which are sorted. */
static void
merge_halves(uint64_t *keys, uint64_t *scratch, size_t middle, size_t n)
{
	size_t		a = 0;
	size_t		b = middle;
	size_t		nmerged = 0;

	while (a < middle && b < n)
	{
		bool		second = keys[b] < keys[a];

		scratch[nmerged++] = second ? keys[b] : keys[a];
		b += second;
		a += !second;
	}
	/* the rest of the second half is in its place */
	memmove(keys + nmerged, keys + a, (middle - a) * sizeof(uint64_t));
	memcpy(keys, scratch, nmerged * sizeof(uint64_t));
}

void
gr_sort_keys(uint64_t *keys, uint64_t *scratch, size_t n, size_t nsorted)
{
	uint64_t   *rest = keys + nsorted;
	size_t		nrest = n - nsorted;

	if (nrest == 0)
		return;
	if (nrest <= FEW)
		sort_few(rest, nrest);
	else if (!is_sorted(rest, nrest))
		sort_by_bytes(rest, scratch, nrest);
	if (nsorted > 0 && keys[nsorted - 1] > keys[nsorted])
		merge_halves(keys, scratch, nsorted, n);
}
