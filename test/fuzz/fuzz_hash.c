/*
 * fuzz_hash.c: hashes of names, against the algorithm as its author states it, over words as the machine has them; and
 * what the readers of formulas and filters share, names and where they end, in text without a byte behind it.
 */
#include "compute/murmur3.h"
#include "compute/token.h"
#include "fuzz.h"

/* x86-32 alone has little-endian words; so has whatever this runs on */
static uint32_t
murmur3_by_words(const uint8_t *data, size_t n, uint32_t h)
{
	uint32_t	k;
	size_t		i;

	for (i = 0; i + 4 <= n; i += 4)
	{
		memcpy(&k, data + i, 4);
		k *= 0xcc9e2d51U;
		k = (k << 15) | (k >> 17);
		k *= 0x1b873593U;
		h ^= k;
		h = (h << 13) | (h >> 19);
		h = h * 5 + 0xe6546b64U;
	}
	if (i < n)
	{
		k = 0;
		memcpy(&k, data + i, n - i);
		k *= 0xcc9e2d51U;
		k = (k << 15) | (k >> 17);
		h ^= k * 0x1b873593U;
	}
	h ^= (uint32_t) n;
	h ^= h >> 16;
	h *= 0x85ebca6bU;
	h ^= h >> 13;
	h *= 0xc2b2ae35U;
	return h ^ h >> 16;
}

/* The same name, as SQL would quote it */
static void
check_quoted(const uint8_t *name, size_t n)
{
	char	   *quoted = fuzz_take(NULL, 2 * n + 2);
	char	   *plain = fuzz_take(NULL, n + 1);
	size_t		at = 0;

	quoted[at++] = '"';
	for (size_t k = 0; k < n; k++)
	{
		plain[k] = (char) (name[k] == 0 ? '0' : name[k]);
		quoted[at++] = plain[k];
		if (plain[k] == '"')
			quoted[at++] = '"';
	}
	quoted[at++] = '"';
	plain[n] = '\0';
	must(gr_end_of_quoted(quoted, at, 0) == at && gr_is_named(quoted, at, true, plain));
	if (n > 0)
	{
		plain[n - 1] ^= 1;
		must(plain[n - 1] == '\0' || !gr_is_named(quoted, at, true, plain));
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FuzzInput	in = {data, size};
	uint32_t	seed;
	const uint8_t *copy;

	fuzz_begin(size);
	take_bytes(&in, &seed, sizeof(seed));
	copy = fuzz_copy(in.at, in.left);
	must(gr_murmur3(copy, in.left, seed) == murmur3_by_words(copy, in.left, seed));
	check_quoted(copy, in.left);
	for (size_t k = 0; k < in.left; k++)
	{
		size_t		end = copy[k] == '"' || copy[k] == '\'' ? gr_end_of_quoted((const char *) copy, in.left, k) : 0;

		must(end == 0 || (end > k + 1 && end <= in.left && copy[end - 1] == copy[k]));
	}
	fuzz_end();
	return 0;
}
