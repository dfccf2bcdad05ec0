/*
 * fold_key.c: gpu_enet_fold, which draws a fold from a row's values, and gpu_cv_fold, which draws it from the row's
 * key.
 *
 * gpu_enet_fold hashes a value by its type's own function, which is the same on every machine. Enums are hashed by
 * label, because their function hashes an OID, which a dump does not preserve.
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "compute/base/fold_draw.h"
#include "rows/query/wrapper.h"
#include "rows/state/boot_key.h"
#include "rows/state/fold_key.h"

PG_FUNCTION_INFO_V1(gr_enet_fold);
PG_FUNCTION_INFO_V1(gr_cv_fold);

/*
 * Folds by value
 */

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
	PG_RETURN_INT32(gr_enet_fold_of(hash, PG_GETARG_INT32(0)));
}

/*
 * Folds by key
 */

void
gr_check_key_folds(int n)
{
	if (n < 2 || n > GR_FOLDS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("folds must be from 2 to %d, got %d", GR_FOLDS_MAX, n)));
}

/* gpu_cv_fold(key "any", folds int, seed bigint): STRICT */
Datum
gr_cv_fold(PG_FUNCTION_ARGS)
{
	Oid		   *type = fcinfo->flinfo->fn_extra;
	int			nfolds = PG_GETARG_INT32(1);
	uint64		seed = (uint64) PG_GETARG_INT64(2);

	gr_check_key_folds(nfolds);
	if (type == NULL)
	{
		type = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, sizeof(Oid));
		*type = gr_boot_key_type(fcinfo, 0);
		fcinfo->flinfo->fn_extra = type;
	}
	PG_RETURN_INT32(gr_fold_of((uint32) seed, (uint32) (seed >> 32), gr_boot_key_of(*type, PG_GETARG_DATUM(0)),
							   nfolds));
}

/*
 * Planning
 */

static bool
is_constant(const Const *value, Oid type)
{
	return IsA(value, Const) && !value->constisnull && value->consttype == type;
}

static bool
has_symbol(Oid function)
{
	char	   *symbol = gr_symbol_of(function);
	bool		known = symbol != NULL && (strcmp(symbol, "gr_enet_fold") == 0 || strcmp(symbol, "gr_cv_fold") == 0);

	if (symbol != NULL)
		pfree(symbol);
	return known;
}

bool
gr_fold_call(const Expr *expr, GrFoldCall *fold)
{
	const FuncExpr *call = (const FuncExpr *) expr;
	const Const *n;
	const Const *seed;
	FmgrInfo	info;

	if (!IsA(expr, FuncExpr) || call->funcid < FirstNormalObjectId || call->funcresulttype != INT4OID ||
		call->funcvariadic || list_length(call->args) < 2)
		return false;
	/* fmgr_info() loads a function's library, so the symbol is looked at before. */
	if (!has_symbol(call->funcid))
		return false;
	fmgr_info(call->funcid, &info);
	fold->by_key = info.fn_addr == gr_cv_fold && list_length(call->args) == 3;
	if (!fold->by_key && info.fn_addr != gr_enet_fold)
		return false;
	n = fold->by_key ? lsecond(call->args) : linitial(call->args);
	seed = fold->by_key ? lthird(call->args) : n;
	if (!is_constant(n, INT4OID) || !is_constant(seed, fold->by_key ? INT8OID : INT4OID))
		return false;
	fold->nfolds = DatumGetInt32(n->constvalue);
	fold->seed = fold->by_key ? (uint64) DatumGetInt64(seed->constvalue) : 0;
	fold->values = fold->by_key ? list_make1(linitial(call->args)) : list_copy_tail(call->args, 1);
	return fold->nfolds >= 2 && fold->nfolds <= (fold->by_key ? GR_FOLDS_MAX : GR_NET_FOLDS_MAX);
}
