/*
 * fn_hash.c: feature hashing: gpu_feature_hash() over tokens and over a JSON object.
 *
 * MurmurHash3 x86-32 with seed 0 hashes a feature's name to a signed number h. The feature's value is added to element
 * |h| mod k, negated if h is negative, as in scikit-learn's FeatureHasher. Values are added in float8: tokens in their
 * order, an object's members in the order in which jsonb sorts them. A sum of fractions may differ in its last bit from
 * the sum in another order. Another seed becomes the hash's seed. With a density, the feature is a column of the random
 * projection matrix instead, whose number is made of two hashes.
 */
#include "postgres.h"

#include <math.h>

#include "access/tupmacs.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/numeric.h"

#include "compute/base/murmur3.h"
#include "projection/project.h"
#include "run/args.h"

PG_FUNCTION_INFO_V1(gr_feature_hash_text);
PG_FUNCTION_INFO_V1(gr_feature_hash_jsonb);

#define SECOND_SEED UINT32_C(0x9747b28c)	/* seed of the hash that gives the higher half of a column's number */

/* Features on their way into a vector: added to its elements, or collected as columns */
typedef struct Hasher
{
	int32		k;
	int64		seed;
	uint32		hash_seed;
	bool		utf8;			/* names are in UTF-8 or in no known encoding */
	double	   *sums;			/* k sums; NULL: features are columns */
	double		density;
	int64	   *idx;
	double	   *val;
	int64		n;
	int64		capacity;
} Hasher;

/* Returns a hash seed of 32 bits: seed itself if that has 32 bits. */
static uint32
fold_seed(int64 seed)
{
	return (uint32) seed ^ (uint32) ((uint64) seed >> 32) * UINT32_C(0x9E3779B1);
}

static void
begin_hashing(Hasher *hasher, FunctionCallInfo fcinfo, int64 nfeatures)
{
	memset(hasher, 0, sizeof(*hasher));
	hasher->k = PG_GETARG_INT32(1);
	hasher->seed = PG_GETARG_INT64(2);
	hasher->hash_seed = fold_seed(hasher->seed);
	hasher->utf8 = GetDatabaseEncoding() == PG_UTF8 || GetDatabaseEncoding() == PG_SQL_ASCII;
	gr_check_k(hasher->k);
	hasher->density = gr_density_arg(fcinfo, 3, 0.0);
	if (hasher->density == 0.0)
		hasher->sums = palloc_extended(hasher->k * sizeof(double), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	else
	{
		hasher->capacity = nfeatures + 1;
		hasher->idx = palloc_extended(hasher->capacity * sizeof(int64), MCXT_ALLOC_HUGE);
		hasher->val = palloc_extended(hasher->capacity * sizeof(double), MCXT_ALLOC_HUGE);
	}
}

/* Adds a feature. name: nbytes bytes in UTF-8. */
static inline void
hash_bytes(Hasher *hasher, const char *name, Size nbytes, double value)
{
	uint32		h;

	if (hasher->sums != NULL)
	{
		h = gr_murmur3(name, nbytes, hasher->hash_seed);
		/*
		 * -2^31| counts as 2^31, whose remainder is scikit-learn's
		 */
		if (h & UINT32_C(0x80000000))
			hasher->sums[(UINT32_C(0) - h) % (uint32) hasher->k] -= value;
		else
			hasher->sums[h % (uint32) hasher->k] += value;
		return;
	}
	Assert(hasher->n < hasher->capacity);
	h = gr_murmur3(name, nbytes, SECOND_SEED) & UINT32_C(0x7fffffff);
	hasher->idx[hasher->n] = (int64) ((uint64) h << 32 | gr_murmur3(name, nbytes, 0));
	hasher->val[hasher->n++] = value;
}

/* Adds a feature. name: nbytes bytes in the server's encoding, which is converted to UTF-8. */
static inline void
hash_feature(Hasher *hasher, char *name, Size nbytes, double value)
{
	if (likely(hasher->utf8))
		hash_bytes(hasher, name, nbytes, value);
	else
	{
		char	   *converted = pg_server_to_any(name, (int) nbytes, PG_UTF8);

		hash_bytes(hasher, converted, converted == name ? nbytes : strlen(converted), value);
		if (converted != name)
			pfree(converted);
	}
}

static ArrayType *
finish_hashing(Hasher *hasher)
{
	float	   *y;
	ArrayType  *result = gr_new_projection_array(1, 1, hasher->k, &y);

	if (hasher->sums == NULL)
		gr_project_columns(gr_session_projection(hasher->k, hasher->seed, hasher->density), hasher->idx, hasher->val,
						   hasher->n, y);
	else
	{
		for (int32 i = 0; i < hasher->k; i++)
			y[i] = (float) hasher->sums[i];
		gr_check_projected(y, hasher->k);
	}
	return result;
}

/* gpu_feature_hash(features text[], k int, seed bigint, density float8): each token has the value 1. */
Datum
gr_feature_hash_text(PG_FUNCTION_ARGS)
{
	ArrayType  *features;
	Hasher		hasher;
	const char *at;
	int			n;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2))
		PG_RETURN_NULL();
	features = PG_GETARG_ARRAYTYPE_P(0);
	if (ARR_HASNULL(features) && array_contains_nulls(features))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("features must not contain nulls"),
				 errhint("Remove them, as in array_remove(features, NULL).")));
	gr_check_vector(features, "features");
	n = ArrayGetNItems(ARR_NDIM(features), ARR_DIMS(features));
	begin_hashing(&hasher, fcinfo, n);
	at = ARR_DATA_PTR(features);
	for (int m = 0; m < n; m++)
	{
		/* elements are never compressed or out of line; short ones begin at any address */
		at = (const char *) att_align_pointer(at, TYPALIGN_INT, -1, at);
		hash_feature(&hasher, VARDATA_ANY(at), VARSIZE_ANY_EXHDR(at), 1.0);
		at += VARSIZE_ANY(at);
		if (m % 65536 == 65535)
			CHECK_FOR_INTERRUPTS();
	}
	PG_RETURN_ARRAYTYPE_P(finish_hashing(&hasher));
}

/* Adds a member: a string is a feature name=value of value 1, a number or boolean the value of name. */
static void
hash_member(Hasher *hasher, StringInfo name, const JsonbValue *value)
{
	double		number = 0.0;

	switch (value->type)
	{
		case jbvNull:
			return;
		case jbvString:
			appendStringInfoChar(name, '=');
			appendBinaryStringInfo(name, value->val.string.val, value->val.string.len);
			number = 1.0;
			break;
		case jbvBool:
			number = value->val.boolean ? 1.0 : 0.0;
			break;
		case jbvNumeric:
			number = DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow,
														NumericGetDatum(value->val.numeric)));
			if (!isfinite(number))
				ereport(ERROR,
						(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
						 errmsg("value of feature \"%s\" is out of range for type double precision", name->data)));
			break;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("feature \"%s\" has a nested value", name->data),
					 errdetail("Values must be strings, numbers, booleans or null."),
					 errhint("Flatten the object first, so that each key has a single value.")));
	}
	if (number != 0.0)
		hash_feature(hasher, name->data, name->len, number);
}

/* gpu_feature_hash(features jsonb, k int, seed bigint, density float8): each member is a feature. */
Datum
gr_feature_hash_jsonb(PG_FUNCTION_ARGS)
{
	Jsonb	   *features;
	Hasher		hasher;
	JsonbIterator *iterator;
	JsonbIteratorToken token;
	JsonbValue	value;
	StringInfoData name;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2))
		PG_RETURN_NULL();
	features = PG_GETARG_JSONB_P(0);
	if (!JB_ROOT_IS_OBJECT(features))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("features must be a JSON object"),
				 errhint("Pass tokens that have no value as a text[].")));
	begin_hashing(&hasher, fcinfo, JB_ROOT_COUNT(features));
	initStringInfo(&name);
	iterator = JsonbIteratorInit(&features->root);
	while ((token = JsonbIteratorNext(&iterator, &value, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
		{
			resetStringInfo(&name);
			appendBinaryStringInfo(&name, value.val.string.val, value.val.string.len);
			CHECK_FOR_INTERRUPTS();
		}
		else if (token == WJB_VALUE)
			hash_member(&hasher, &name, &value);
	}
	PG_RETURN_ARRAYTYPE_P(finish_hashing(&hasher));
}
