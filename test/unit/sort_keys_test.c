/*
 * sort_keys_test.c: keys of scores and their sort, against comparisons of doubles and qsort().
 */
#include <stdlib.h>
#include <time.h>

#include "compute/base/sort_keys.h"
#include "unit.h"

#define NKEYS_MAX 200000

static uint64_t state = 88172645463325252u;

/* Returns the next number of an xorshift generator (Marsaglia 2003). */
static uint64_t
draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static int
compare(const void *a, const void *b)
{
	uint64_t	x = *(const uint64_t *) a;
	uint64_t	y = *(const uint64_t *) b;

	return x < y ? -1 : x > y;
}

static void
test_keys(void)
{
	static const double scores[] = {INFINITY, 1.7976931348623157e308, 1.5, 1, 0x1p-1022, 5e-324, 0, -5e-324, -0x1p-1022,
	-1, -1.5, -1.7976931348623157e308, -INFINITY};
	bool		descend = true;
	bool		return_same = true;

	for (int k = 0; k < COUNT(scores); k++)
	{
		return_same = return_same && gr_score_of_key(gr_score_key(scores[k])) == scores[k];
		descend = descend && (k == 0 || gr_score_key(scores[k - 1]) < gr_score_key(scores[k]));
	}
	check(descend, "keys ascend as scores descend");
	check(return_same, "the score of a key is the score that it was made of");
	check(gr_score_key(-0.0) == gr_score_key(0.0), "0 and -0 have one key");
	check(gr_score_key(INFINITY) == GR_FIRST_SCORE_KEY, "infinity has the first key");
	check(gr_score_key(-INFINITY) == GR_LAST_SCORE_KEY, "-infinity has the last key");
}

typedef enum Kind
{
	RANDOM, UNIFORM, ROUNDED, SINGLE, EQUAL, ASCENDING, DESCENDING, ONE_BYTE, NKINDS
} Kind;

static const char *const kinds[NKINDS] = {"random bits", "uniform scores", "rounded scores", "single precision",
"equal keys", "ascending keys", "descending keys", "keys that differ in one byte"};

static uint64_t
draw_key(Kind kind, size_t k)
{
	double		uniform = (double) (draw() >> 11) * 0x1p-53;

	switch (kind)
	{
		case RANDOM:
			return draw();
		case UNIFORM:
			return gr_score_key(uniform);
		case ROUNDED:
			return gr_score_key(floor(uniform * 1000) / 1000);
		case SINGLE:
			return gr_score_key((float) uniform);
		case EQUAL:
			return gr_score_key(0.5);
		case ASCENDING:
			return k / 3;
		case DESCENDING:
			return UINT64_MAX - k / 3;
		default:
			return 0x1122334400667788 | (draw() & 0xff) << 24;
	}
}

static void
test_sort(Kind kind, uint64_t *keys, uint64_t *expected, uint64_t *scratch)
{
	static const size_t sizes[] = {0, 1, 2, 3, 95, 96, 97, 98, 1000, 65537, NKEYS_MAX};
	bool		agree = true;

	for (int s = 0; s < COUNT(sizes); s++)
	{
		size_t		n = sizes[s];
		const size_t sorted[] = {0, n / 2, n - n / 5, n > 1 ? n - 1 : 0, n};

		for (int part = 0; part < COUNT(sorted); part++)
		{
			for (size_t k = 0; k < n; k++)
				keys[k] = draw_key(kind, k);
			qsort(keys, sorted[part], sizeof(uint64_t), compare);
			memcpy(expected, keys, n * sizeof(uint64_t));
			qsort(expected, n, sizeof(uint64_t), compare);
			gr_sort_keys(keys, scratch, n, sorted[part]);
			agree = agree && memcmp(keys, expected, n * sizeof(uint64_t)) == 0;
		}
	}
	check(agree, "%s are sorted, whatever part of them is sorted before", kinds[kind]);
}

int
main(void)
{
	uint64_t   *keys = malloc(NKEYS_MAX * sizeof(uint64_t));
	uint64_t   *expected = malloc(NKEYS_MAX * sizeof(uint64_t));
	uint64_t   *scratch = malloc(NKEYS_MAX * sizeof(uint64_t));

	if (keys == NULL || expected == NULL || scratch == NULL)
		return 1;
	test_keys();
	for (Kind kind = 0; kind < NKINDS; kind++)
		test_sort(kind, keys, expected, scratch);
	free(keys);
	free(expected);
	free(scratch);
	return unit_done();
}
