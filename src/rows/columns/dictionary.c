/*
 * dictionary.c: numbers the distinct values of a column; see dictionary.h.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "rows/columns/dictionary.h"
#include "run/args.h"

#define FIRST_ROOM 1024

bool
gr_can_have_codes(Oid type)
{
	return gr_is_level_type(type) || type == DATEOID || type == TIMESTAMPOID || type == TIMESTAMPTZOID ||
		type == UUIDOID || type == OIDOID || type == CHAROID;
}

void
gr_dictionary_begin(GrDictionary *dictionary, Oid type)
{
	bool		is_float = type == FLOAT4OID || type == FLOAT8OID;

	memset(dictionary, 0, sizeof(*dictionary));
	dictionary->type = type;
	dictionary->by_value = get_typbyval(type) && !is_float;
	dictionary->nbytes = type == UUIDOID ? get_typlen(type) : 0;
	dictionary->context = CurrentMemoryContext;
	dictionary->room = FIRST_ROOM;
	dictionary->mask = 2 * FIRST_ROOM - 1;
	if (dictionary->by_value)
		dictionary->value = palloc(FIRST_ROOM * sizeof(Datum));
	else
		dictionary->string = palloc(FIRST_ROOM * sizeof(GrString));
	dictionary->hash = palloc(FIRST_ROOM * sizeof(uint32));
	dictionary->slot = palloc0(2 * FIRST_ROOM * sizeof(int32));
	dictionary->last = -1;
	dictionary->size = FIRST_ROOM * (sizeof(GrString) + sizeof(uint32) + 2 * sizeof(int32));
}

/* Doubles the room, and fills the new slots. */
static void
grow(GrDictionary *d)
{
	int32		room;

	if (d->room > PG_INT32_MAX / 4)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many levels of a column: more than %d", d->room)));
	room = 2 * d->room;
	if (d->by_value)
		d->value = repalloc_huge(d->value, (Size) room * sizeof(Datum));
	else
		d->string = repalloc_huge(d->string, (Size) room * sizeof(GrString));
	d->hash = repalloc_huge(d->hash, (Size) room * sizeof(uint32));
	pfree(d->slot);
	d->slot = MemoryContextAllocExtended(d->context, 2 * (Size) room * sizeof(int32),
										 MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	d->size += (Size) d->room * (sizeof(GrString) + sizeof(uint32) + 2 * sizeof(int32));
	d->room = room;
	d->mask = 2 * (uint32) room - 1;
	for (int32 code = 0; code < d->n; code++)
	{
		uint32		at = d->hash[code] & d->mask;

		while (d->slot[at] != 0)
			at = (at + 1) & d->mask;
		d->slot[at] = code + 1;
	}
}

/* True if code is that of the value, or of the string. */
static inline bool
is_code(const GrDictionary *d, int32 code, Datum value, GrString string)
{
	if (d->by_value)
		return d->value[code] == value;
	return d->string[code].nbytes == string.nbytes &&
		memcmp(d->string[code].bytes, string.bytes, string.nbytes) == 0;
}

static int32
add_code(GrDictionary *d, Datum value, GrString string, uint32 hash)
{
	uint32		at;

	if (d->n == d->room)
		grow(d);
	at = hash & d->mask;
	while (d->slot[at] != 0)
		at = (at + 1) & d->mask;
	d->slot[at] = d->n + 1;
	d->hash[d->n] = hash;
	if (d->by_value)
		d->value[d->n] = value;
	else
	{
		char	   *bytes = MemoryContextAllocHuge(d->context, Max(string.nbytes, 1));

		memcpy(bytes, string.bytes, string.nbytes);
		d->string[d->n] = (GrString) {bytes, string.nbytes};
		d->size += string.nbytes + 16;
	}
	return d->n++;
}

int32
gr_dictionary_code(GrDictionary *d, Datum value)
{
	GrString	string = {0};
	uint32		hash;

	if (!d->by_value)
		string = d->nbytes > 0 ? (GrString) {DatumGetPointer(value), d->nbytes} : gr_level_of(d->type, value);
	if (d->last >= 0 && is_code(d, d->last, value, string))
		return d->last;
	hash = d->by_value ? (uint32) ((uint64) value * UINT64CONST(0x9E3779B97F4A7C15) >> 32) :
		hash_bytes((const unsigned char *) string.bytes, string.nbytes);
	for (uint32 at = hash & d->mask; d->slot[at] != 0; at = (at + 1) & d->mask)
	{
		int32		code = d->slot[at] - 1;

		if (d->hash[code] == hash && is_code(d, code, value, string))
			return d->last = code;
	}
	return d->last = add_code(d, value, string, hash);
}

char *
gr_dictionary_text(const GrDictionary *d, int32 code)
{
	Oid			output;
	bool		is_varlena;

	if (!d->by_value && d->nbytes == 0)
		return pnstrdup(d->string[code].bytes, d->string[code].nbytes);
	if (d->type == BOOLOID)
		return pstrdup(DatumGetBool(d->value[code]) ? "true" : "false");
	getTypeOutputInfo(d->type, &output, &is_varlena);
	return OidOutputFunctionCall(output, d->by_value ? d->value[code] : PointerGetDatum(d->string[code].bytes));
}

/* Order of codes, for sorting */
typedef struct Order
{
	const GrDictionary *d;
	FmgrInfo   *compare;		/* by_value: comparison of the type */
	bool		numbers;		/* strings are numbers */
} Order;

static int
compare_codes(const void *a, const void *b, void *arg)
{
	const Order *order = arg;
	int32		x = *(const int32 *) a;
	int32		y = *(const int32 *) b;
	GrString	s;
	GrString	t;
	int			c;

	if (order->d->by_value)
		return DatumGetInt32(FunctionCall2Coll(order->compare, InvalidOid, order->d->value[x], order->d->value[y]));
	s = order->d->string[x];
	t = order->d->string[y];
	if (order->numbers)
	{
		double		u = strtod(pnstrdup(s.bytes, s.nbytes), NULL);
		double		v = strtod(pnstrdup(t.bytes, t.nbytes), NULL);

		if (u != v)
			return u < v ? -1 : 1;
	}
	c = memcmp(s.bytes, t.bytes, Min(s.nbytes, t.nbytes));
	return c != 0 ? c : s.nbytes - t.nbytes;
}

int32 *
gr_dictionary_order(const GrDictionary *d)
{
	int32	   *codes = palloc_extended(((Size) d->n + 1) * sizeof(int32), MCXT_ALLOC_HUGE);
	Order		order = {.d = d,.numbers = d->type == NUMERICOID || d->type == FLOAT8OID || d->type == FLOAT4OID};
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpureg levels", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old;

	for (int32 code = 0; code < d->n; code++)
		codes[code] = code;
	if (d->by_value)
		order.compare = &lookup_type_cache(d->type, TYPECACHE_CMP_PROC_FINFO)->cmp_proc_finfo;
	old = MemoryContextSwitchTo(context);
	qsort_interruptible(codes, d->n, sizeof(int32), compare_codes, &order);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return codes;
}
