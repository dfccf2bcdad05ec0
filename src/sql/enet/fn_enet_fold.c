/*
 * fn_enet_fold.c: gpu_enet_fold, which chooses a fold by a row's values. A value is hashed by its type's own function,
 * which is the same on every machine. Enums are hashed by label, because their function hashes an OID, which a dump
 * does not preserve.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "fmgr.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "sql/enet/enet_cv.h"

PG_FUNCTION_INFO_V1(gr_enet_fold);

/* Returns the hash function of each argument's type, NULL for an enum. Called once per call site. */
static FmgrInfo **
find_hashes(FunctionCallInfo fcinfo)
{
	FmgrInfo  **hashes = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, PG_NARGS() * sizeof(FmgrInfo *));

	for (int k = 1; k < PG_NARGS(); k++)
	{
		Oid			type = get_fn_expr_argtype(fcinfo->flinfo, k);
		TypeCacheEntry *entry = OidIsValid(type) ? lookup_type_cache(getBaseType(type),
																	  TYPECACHE_HASH_EXTENDED_PROC_FINFO) : NULL;

		if (entry == NULL || !OidIsValid(entry->hash_extended_proc_finfo.fn_oid))
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_FUNCTION),
					 errmsg("argument %d of gpu_enet_fold has a type that cannot be hashed", k + 1),
					 errhint("Cast the argument to text.")));
		hashes[k] = type_is_enum(getBaseType(type)) ? NULL : &entry->hash_extended_proc_finfo;
	}
	fcinfo->flinfo->fn_extra = hashes;
	return hashes;
}

static uint64
hash_label(Datum value)
{
	char	   *label = DatumGetCString(DirectFunctionCall1(enum_out, value));
	uint64		hash = DatumGetUInt64(hash_any_extended((unsigned char *) label, strlen(label), 0));

	pfree(label);
	return hash;
}

static uint64
hash_argument(FunctionCallInfo fcinfo, FmgrInfo *hash, int k)
{
	if (PG_ARGISNULL(k))
		return 0;
	if (hash == NULL)
		return hash_label(PG_GETARG_DATUM(k));
	return DatumGetUInt64(FunctionCall2Coll(hash, PG_GET_COLLATION(), PG_GETARG_DATUM(k), UInt64GetDatum(0)));
}

/* gpu_enet_fold(folds int, VARIADIC "any"): a fold, from 0 to folds - 1, from the hash of the other arguments */
Datum
gr_enet_fold(PG_FUNCTION_ARGS)
{
	FmgrInfo  **hashes = fcinfo->flinfo->fn_extra;
	uint64		hash = 0;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	gr_check_nfolds(PG_GETARG_INT32(0));
	if (get_fn_expr_variadic(fcinfo->flinfo))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("gpu_enet_fold takes no VARIADIC array"),
				 errhint("Pass the array without VARIADIC.")));
	if (hashes == NULL)
		hashes = find_hashes(fcinfo);
	for (int k = 1; k < PG_NARGS(); k++)
		hash = hash_combine64(hash, hash_argument(fcinfo, hashes[k], k));
	/* hash_combine64() alone mixes poorly */
	PG_RETURN_INT32((int32) (DatumGetUInt64(hash_any_extended((unsigned char *) &hash, sizeof(hash), 0)) %
							 (uint64) PG_GETARG_INT32(0)));
}
