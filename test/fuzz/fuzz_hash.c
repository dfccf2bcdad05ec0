/*
 * fuzz_hash.c: hashes of names against the algorithm as its author states it, over words in the machine's order; names
 * and their ends, as the readers of formulas and filters find them, in text without a byte behind it; and feature
 * hashing of tokens and of JSON of any shape. Tokens must give the result of an object of ones with these names.
 */
#include <math.h>

#include "backend.h"

#include "catalog/pg_type.h"
#include "utils/jsonb.h"

#include "compute/base/murmur3.h"
#include "compute/base/token.h"

#undef qsort

PGDLLEXPORT Datum gr_feature_hash_text(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum gr_feature_hash_jsonb(PG_FUNCTION_ARGS);

/* Computes x86-32's hash, whose words are little-endian, like those of every machine that runs this. */
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

/* Writes the name as SQL would quote it. */
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

/*
 * Feature hashing
 */

#define NTOKENS_MAX 12

static int
compare_tokens(const void *a, const void *b)
{
	const BackendJson *const *u = a;
	const BackendJson *const *v = b;

	return (*u)->nkey != (*v)->nkey ? (*u)->nkey - (*v)->nkey : memcmp((*u)->key, (*v)->key, (size_t) (*u)->nkey);
}

/* Makes a value of any shape. */
static void
take_json(FuzzInput *in, BackendJson *node, int depth)
{
	static const enum jbvType kinds[] = {jbvNull, jbvString, jbvNumeric, jbvBool, jbvArray, jbvObject};
	static const char keys[] = "abcd";
	uint8_t		which = take_byte(in);

	node->type = depth == 0 && which < 240 ? jbvObject : kinds[which % (depth > 3 ? 4 : COUNT(kinds))];
	node->number = node->type == jbvBool ? which / 16 % 2 : which >= 250 ? HUGE_VAL : take_double(in);
	node->nbytes = (int) Min((size_t) which / 32, in->left);
	node->bytes = fuzz_copy(in->at, (size_t) node->nbytes);
	in->at += node->nbytes;
	in->left -= (size_t) node->nbytes;
	for (int k = 0; node->type >= jbvArray && k < which / 64; k++)
	{
		BackendJson *member = palloc0(sizeof(BackendJson));

		take_json(in, member, depth + 1);
		/* unique keys, like jsonb's */
		member->key = &keys[k];
		member->nkey = 1;
		member->next = node->first;
		node->first = member;
		node->nmembers++;
	}
}

/* Returns the result, of k elements, or NULL if the function raised an ERROR. */
static ArrayType *
hash(PGFunction function, Oid type, Datum features, int32 k, int64 seed, double density)
{
	BackendCall *call = backend_call(false);
	ArrayType  *array;

	backend_argument(call, type, features, false);
	backend_argument(call, INT4OID, Int32GetDatum(k), false);
	backend_argument(call, INT8OID, Int64GetDatum(seed), false);
	backend_argument(call, FLOAT8OID, Float8GetDatum(density), density == 0);
	if (catch_error())
		return NULL;
	array = (ArrayType *) DatumGetPointer(backend_run(call, function));
	must(ARR_NDIM(array) == 1 && ARR_DIMS(array)[0] == k && ARR_ELEMTYPE(array) == FLOAT4OID);
	for (int i = 0; i < k; i++)
		must(isfinite(((const float *) ARR_DATA_PTR(array))[i]));
	return array;
}

/* Hashes an array of tokens, which may be odd; returns their number, or -1 if the array was refused. */
static int
take_tokens(FuzzInput *in, BackendJson **members, Datum *array)
{
	Datum		tokens[NTOKENS_MAX];
	bool		nulls[NTOKENS_MAX] = {false};
	uint8_t		odd = take_byte(in);
	int			n = take_byte(in) % NTOKENS_MAX;
	int			dims[2] = {n, 1};
	int			bounds[2] = {odd % 4, 1};

	for (int i = 0; i < n; i++)
	{
		size_t		nbytes = take_byte(in) % 24;

		nbytes = Min(nbytes, in->left);
		members[i] = palloc0(sizeof(BackendJson));
		*members[i] = (BackendJson) {
			.type = jbvNumeric,.number = 1,.key = fuzz_copy(in->at, nbytes),.nkey = (int) nbytes
		};
		in->at += nbytes;
		in->left -= nbytes;
		tokens[i] = PointerGetDatum(backend_text(members[i]->key, nbytes, odd % 2 == 1 && i % 2 == 1));
		nulls[i] = odd >= 240 && i == odd % 8;
	}
	*array = PointerGetDatum(backend_array(TEXTOID, n == 0 ? 0 : odd == 239 ? 2 : 1, dims, bounds, tokens,
										   odd >= 240 ? nulls : NULL));
	return n;
}

static void
hash_tokens(FuzzInput *in, int32 k, int64 seed, double density)
{
	BackendJson *members[NTOKENS_MAX];
	BackendJson root = {.type = jbvObject};
	Datum		tokens;
	int			n = take_tokens(in, members, &tokens);
	bool		distinct = true;
	ArrayType  *a = hash(gr_feature_hash_text, TEXTARRAYOID, tokens, k, seed, density);
	ArrayType  *b;

	if (a == NULL || n == 0)
		return;
	qsort(members, (size_t) n, sizeof(BackendJson *), compare_tokens);
	for (int i = 0; i < n; i++)
	{
		distinct &= i == 0 || compare_tokens(&members[i - 1], &members[i]) != 0;
		members[i]->next = i + 1 < n ? members[i + 1] : NULL;
	}
	root.first = members[0];
	root.nmembers = n;
	if (!distinct)
		return;
	a = fuzz_copy(a, VARSIZE(a));
	b = hash(gr_feature_hash_jsonb, JSONBOID, backend_jsonb(&root), k, seed, density);
	/* a projection's sums are of fractions, so their order matters */
	must(b != NULL && (density != 0 || memcmp(a, b, VARSIZE(a)) == 0));
}

static void
hash_features(FuzzInput *in, uint32_t seed)
{
	int32		k = seed % 64 == 63 ? (int32) take_byte(in) - 250 : (int32) (1 + seed % 64);
	double		density = seed / 64 % 4 == 3 ? 0.25 : seed / 64 % 64 == 62 ? take_double(in) : 0;
	BackendJson root = {0};

	if (seed / 4096 % 2 == 0)
		hash_tokens(in, k, (int64) ((uint64) seed << (seed / 8192 % 33)), density);
	else
	{
		take_json(in, &root, 0);
		(void) hash(gr_feature_hash_jsonb, JSONBOID, backend_jsonb(&root), k, seed, density);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FuzzInput	in = {data, size};
	uint32_t	seed;
	const uint8_t *copy;

	backend_begin(size);
	backend_allowed = 0;
	take_bytes(&in, &seed, sizeof(seed));
	copy = fuzz_copy(in.at, in.left);
	must(gr_murmur3(copy, in.left, seed) == murmur3_by_words(copy, in.left, seed));
	check_quoted(copy, in.left);
	for (size_t k = 0; k < in.left; k++)
	{
		size_t		end = copy[k] == '"' || copy[k] == '\'' ? gr_end_of_quoted((const char *) copy, in.left, k) : 0;

		must(end == 0 || (end > k + 1 && end <= in.left && copy[end - 1] == copy[k]));
	}
	hash_features(&in, seed);
	backend_end();
	return 0;
}
