/*
 * fn_predict_row.c: gpu_predict_row, which predicts for one row or jsonb object, with options that gpu_predict has no
 * room for because it is VARIADIC; and gpu_levels, which lists the levels of a model's factors.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "compute/design/design.h"
#include "rows/columns/design_values.h"
#include "run/args.h"
#include "sql/model/model.h"
#include "sql/model/predict.h"
#include "sql/model/predict_design.h"

PG_FUNCTION_INFO_V1(gr_predict_one);
PG_FUNCTION_INFO_V1(gr_levels);

enum
{
	ARG_MODEL, ARG_ROW, ARG_TYPE, ARG_NEW_LEVELS
};

/*
 * gpu_predict_row
 */

/* Raises an ERROR unless the values come as a row or a jsonb object. */
static void
check_row_type(FunctionCallInfo fcinfo)
{
	Oid			type = get_fn_expr_argtype(fcinfo->flinfo, ARG_ROW);

	if (OidIsValid(type) && (getBaseType(type) == JSONBOID || type_is_rowtype(type)))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("the values must be a row or a jsonb object%s%s", OidIsValid(type) ? ", not " : "",
					OidIsValid(type) ? format_type_be(type) : ""),
			 type == UNKNOWNOID || type == JSONOID ? errhint("Cast the object to jsonb.") :
			 errhint("Pass a table's row by the table's name, or use gpu_predict for values one by one.")));
}

/* gpu_predict_row(model gpu_model, x "any", type text, new_levels text) */
Datum
gr_predict_one(PG_FUNCTION_ARGS)
{
	GrPredictCalls *calls = fcinfo->flinfo->fn_extra;
	bool		link = gr_is_second_word(fcinfo, ARG_TYPE, "type", "response", "link");
	bool		null_levels = gr_is_second_word(fcinfo, ARG_NEW_LEVELS, "new_levels", "error", "null");
	const GrPredictor *model;
	double		eta;
	bool		finite;

	/* predict.c takes all arguments after the model for values */
	LOCAL_FCINFO(inner, 2);

	if (unlikely(calls == NULL))
	{
		check_row_type(fcinfo);
		fcinfo->flinfo->fn_extra = calls = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(GrPredictCalls));
		calls->arguments.first_argno = ARG_ROW;
	}
	if (PG_ARGISNULL(ARG_MODEL) || PG_ARGISNULL(ARG_ROW))
		PG_RETURN_NULL();
	calls->arguments.null_levels = null_levels;
	InitFunctionCallInfoData(*inner, fcinfo->flinfo, 2, fcinfo->fncollation, NULL, NULL);
	inner->args[ARG_MODEL] = fcinfo->args[ARG_MODEL];
	inner->args[ARG_ROW] = fcinfo->args[ARG_ROW];
	model = gr_cached_predictor(inner, &calls->model, false);
	if (!gr_predict_row(inner, calls, model, &eta, &finite))
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(link ? gr_predict_link(eta, finite) : gr_predict_mean(model, eta, finite));
}

/*
 * gpu_levels
 */

/* True if a term leaves out the indicator of the first level of column k. */
static bool
has_base(const GrDesign *design, int k)
{
	for (int t = 0; t < design->nterms; t++)
		for (int i = 0; i < design->terms[t].nparts; i++)
			if (design->terms[t].part[i].column == k && design->terms[t].part[i].kind == GR_PART_CONTRASTS)
				return true;
	return false;
}

/* gpu_levels(model gpu_model): a row per level of each factor, in their order. The model is not NULL. */
Datum
gr_levels(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	GrPredictor model;
	GrDesign   *design;

	InitMaterializedSRF(fcinfo, 0);
	gr_open_predictor(PG_GETARG_HEAPTUPLEHEADER(ARG_MODEL), &model, NULL);
	if (model.design.nbytes == 0)
		return (Datum) 0;
	design = gr_open_model_design(CurrentMemoryContext, model.design);
	gr_check_design_size(design, model.nfeatures);
	for (int k = 0; k < design->ncolumns; k++)
	{
		const GrLevels *levels = &design->columns[k].levels;
		Datum		name = CStringGetTextDatum(gr_design_column_name(design, k));
		bool		base = has_base(design, k);

		for (int i = 0; i < levels->n; i++)
		{
			text	   *level = cstring_to_text_with_len(levels->level[i].bytes, levels->level[i].nbytes);
			Datum		values[4] = {name, PointerGetDatum(level), Int32GetDatum(i + 1), BoolGetDatum(base && i == 0)};
			bool		nulls[4] = {false};

			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
			pfree(level);
			gr_poll_loop(i);
		}
	}
	return (Datum) 0;
}
