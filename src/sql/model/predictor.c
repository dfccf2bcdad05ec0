/*
 * predictor.c: reads the model of a call once for all rows that pass the same model; see predictor.h.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/primnodes.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "run/compat.h"
#include "sql/model/predictor.h"

/*
 * Arguments of at most this many bytes are compared byte by byte. Larger ones have a large covariance matrix, which
 * predictions do not read: of these, only the fields that predictions read are compared.
 */
#define COMPARED_NBYTES_MAX 8192

/* True if the cached model's row type has not changed since it was read. */
static bool
has_same_type(const GrPredictorCache *cache)
{
	/* an entry lives as long as the session; a change of the type sets its identifier to 0 */
	if (likely(cache->type != NULL && cache->type->tupDesc_identifier == cache->row_type))
		return true;
	return assign_record_type_identifier(HeapTupleHeaderGetTypeId(cache->model),
										 HeapTupleHeaderGetTypMod(cache->model)) == cache->row_type;
}

/*
 * True if the argument has the same bytes as the cached model's argument. A pointer to a value out of line stands for
 * the value: the server does not reuse the value's number while a statement can see it.
 */
static bool
has_same_bytes(const GrPredictorCache *cache, const struct varlena *argument)
{
	return cache->argument != NULL && cache->nbytes == VARSIZE_ANY(argument) &&
		memcmp(cache->argument, argument, cache->nbytes) == 0 && has_same_type(cache);
}

/* True if model, read from the argument, equals the cached model in the fields that are wanted. */
static bool
is_same_model(const GrPredictorCache *cache, HeapTupleHeader model, bool with_errors)
{
	Size		nbytes = HeapTupleHeaderGetDatumLength(model);

	if (HeapTupleHeaderGetTypeId(cache->model) != HeapTupleHeaderGetTypeId(model) ||
		HeapTupleHeaderGetTypMod(cache->model) != HeapTupleHeaderGetTypMod(model) || !has_same_type(cache))
		return false;
	if (with_errors)
		return HeapTupleHeaderGetDatumLength(cache->model) == nbytes && memcmp(cache->model, model, nbytes) == 0;
	return gr_predicts_alike(cache->model, model);
}

/* Returns the coefficients of all terms, 0 for NULL; or NULL if one is not finite. */
static const double *
dense_coefficients(const GrPredictor *model)
{
	int			nterms = model->nfeatures + (model->intercept ? 1 : 0);
	const double *at = model->coef;
	double	   *dense = palloc_extended(nterms * sizeof(double), MCXT_ALLOC_HUGE);
	bool		finite = true;

	for (int k = 0; k < nterms; k++)
	{
		bool		null = model->nulls != NULL && (model->nulls[k / 8] & (1 << (k % 8))) == 0;

		dense[k] = null ? 0 : *at++;
		finite &= isfinite(dense[k]);
	}
	return finite ? dense : NULL;
}

/* Reads a model into the cache. argument: as it came; model: the same, neither compressed nor out of line. */
static void
fill(GrPredictorCache *cache, const struct varlena *argument, HeapTupleHeader model, bool with_errors)
{
	MemoryContext old;

	/* an error below then leaves the cache empty */
	cache->filled = false;
	MemoryContextReset(cache->context);
	old = MemoryContextSwitchTo(cache->context);
	cache->nbytes = VARSIZE_ANY(argument);
	cache->argument = NULL;
	if (cache->nbytes <= COMPARED_NBYTES_MAX)
		cache->argument = memcpy(palloc(cache->nbytes), argument, cache->nbytes);
	cache->model = memcpy(palloc_extended(HeapTupleHeaderGetDatumLength(model), MCXT_ALLOC_HUGE), model,
						  HeapTupleHeaderGetDatumLength(model));
	cache->row_type = assign_record_type_identifier(HeapTupleHeaderGetTypeId(model), HeapTupleHeaderGetTypMod(model));
	cache->type = HeapTupleHeaderGetTypeId(model) == RECORDOID ? NULL :
		lookup_type_cache(HeapTupleHeaderGetTypeId(model), TYPECACHE_TUPDESC);
	if (cache->classes)
		gr_open_class_predictor(cache->model, &cache->predictor);
	else
		gr_open_predictor(cache->model, &cache->predictor, with_errors ? &cache->errors : NULL);
	cache->has_errors = with_errors;
	if (with_errors && cache->for_leverages)
		gr_errors_of_leverages(&cache->predictor, &cache->errors);
	cache->predictor.serial = ++cache->nread;
	cache->predictor.dense = dense_coefficients(&cache->predictor);
	cache->repeated = cache->prepared = false;
	cache->ready = NULL;
	MemoryContextSwitchTo(old);
	cache->filled = true;
}

/* True if argument 0 is a constant of the call's expression. A parameter may have another value in the next call. */
static bool
is_constant(const FmgrInfo *flinfo)
{
	const Node *call = flinfo->fn_expr;

	return call != NULL && IsA(call, FuncExpr) && ((const FuncExpr *) call)->args != NIL &&
		IsA(linitial(((const FuncExpr *) call)->args), Const);
}

const GrPredictor *
gr_cached_predictor(FunctionCallInfo fcinfo, GrPredictorCache *cache, bool with_errors)
{
	struct varlena *argument = (struct varlena *) PG_GETARG_POINTER(0);
	HeapTupleHeader model = NULL;

	if (cache->context == NULL)
	{
		cache->context = AllocSetContextCreate(fcinfo->flinfo->fn_mcxt, "gpureg model", ALLOCSET_SMALL_SIZES);
		cache->constant = is_constant(fcinfo->flinfo);
	}
	if (cache->constant && cache->filled && cache->has_errors >= with_errors && has_same_type(cache))
	{
		cache->repeated = true;
		return &cache->predictor;
	}
	if (VARATT_IS_EXTERNAL_EXPANDED(argument) || VARATT_IS_EXTERNAL_INDIRECT(argument))
	{
		/* the value behind such a pointer may have changed */
		model = PG_GETARG_HEAPTUPLEHEADER(0);
		argument = (struct varlena *) model;
	}
	if (cache->filled && cache->has_errors >= with_errors)
	{
		cache->repeated = true;
		if (likely(has_same_bytes(cache, argument)))
			return &cache->predictor;
		if (cache->argument == NULL && VARSIZE_ANY(argument) > COMPARED_NBYTES_MAX)
		{
			model = PG_GETARG_HEAPTUPLEHEADER(0);
			if (is_same_model(cache, model, with_errors))
				return &cache->predictor;
		}
	}
	if (model == NULL)
		model = PG_GETARG_HEAPTUPLEHEADER(0);
	fill(cache, argument, model, with_errors);
	return &cache->predictor;
}

GrReadyVcov *
gr_cached_vcov(GrPredictorCache *cache)
{
	const GrPredictor *model = &cache->predictor;
	int			nterms = model->nfeatures + (model->intercept ? 1 : 0);
	bool	   *used;
	MemoryContext old;

	if (likely(cache->prepared) || !cache->repeated)
		return cache->ready;
	used = palloc_extended(nterms * sizeof(bool), MCXT_ALLOC_HUGE);
	for (int k = 0; k < nterms; k++)
		used[k] = model->nulls == NULL || (model->nulls[k / 8] & (1 << (k % 8))) != 0;
	old = MemoryContextSwitchTo(cache->context);
	cache->ready = gr_ready_vcov(&(GrCombination) {
		.vcov = cache->errors.vcov,.nterms = nterms,.vcov_low = model->vcov_low
	}, used);
	MemoryContextSwitchTo(old);
	cache->prepared = true;
	pfree(used);
	return cache->ready;
}
