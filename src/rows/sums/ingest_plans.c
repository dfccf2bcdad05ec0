/*
 * ingest_plans.c: plans aggregates over an ingested query: sums in workers, sums per cluster and fold.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "utils/guc.h"

#include "rows/columns/columns.h"
#include "rows/query/query.h"
#include "rows/query/wrapper.h"
#include "rows/sums/ingest.h"

#define ARGUMENTS_LIMIT (FUNC_MAX_ARGS - 1)	/* FUNC_MAX_ARGS less the state, an aggregate's first argument */

/* Returns a column as an element of an array of numbers. */
static Expr *
packed_number(const GrWrapper *wrapper, const GrColumn *column, Oid element)
{
	Expr	   *value = gr_wrapped_column(wrapper, column->at);

	/* PostgreSQL has no cast from boolean to float8. */
	if (column->type == BOOLOID)
		value = gr_wrapper_cast(wrapper, value, INT4OID);
	return gr_wrapper_cast(wrapper, value, element);
}

/* Appends the query's columns to args, packed as ingest->arguments are. */
static List *
write_arguments(const GrIngest *ingest, const GrWrapper *wrapper, List *args)
{
	const GrColumn *next = ingest->columns->column;

	for (int k = 0; k < ingest->arguments->n; k++)
	{
		const GrColumn *argument = &ingest->arguments->column[k];
		List	   *numbers = NIL;

		for (int i = 0; i < argument->npacked; i++)
			numbers = lappend(numbers, packed_number(wrapper, next++, argument->element));
		args = lappend(args, argument->npacked > 0 ? gr_wrapper_array(numbers, argument->element) :
					   gr_wrapped_column(wrapper, next++->at));
	}
	return args;
}

GrIngest
gr_ingest_without_key(const GrIngest *ingest)
{
	GrIngest	copy = *ingest;

	if (!ingest->columns->key)
		return copy;
	copy.columns = gr_columns_without_key(ingest->columns);
	copy.shape.key = copy.shape.second_key = false;
	if (ingest->keyless != NULL)
		copy.query = ingest->keyless;
	copy.arguments = gr_pack_columns(copy.columns, GR_ARGUMENTS_MAX, ingest->shape.single);
	return copy;
}

bool
gr_fits_aggregate(const GrIngest *ingest, int nparams)
{
	return nparams + ingest->arguments->n <= ARGUMENTS_LIMIT;
}

/*
 * Selects aggregate(params ..., columns ...). types: those of params. Returns false if a function cannot have that many
 * arguments.
 */
static bool
select_aggregate(const GrIngest *ingest, GrWrapper *wrapper, const char *aggregate, List *params, const Oid *types,
				 Oid result)
{
	int			nparams = list_length(params);
	Oid			declared[FUNC_MAX_ARGS];
	List	   *args;
	Oid			function;

	if (!gr_fits_aggregate(ingest, nparams))
		return false;
	args = write_arguments(ingest, wrapper, params);
	memcpy(declared, types, nparams * sizeof(Oid));
	declared[nparams] = ANYOID;
	function = gr_own_function(ingest->function, aggregate, nparams + 1, declared, result);
	gr_wrapper_select(wrapper, gr_wrapper_aggregate(wrapper, function, args));
	return true;
}

GrPlan *
gr_plan_aggregate(const GrIngest *ingest, const char *aggregate, int nparams, const Oid *types, Oid result,
				  int *nworkers)
{
	List	   *params = NIL;
	GrWrapper	wrapper;

	*nworkers = 0;
	for (int k = 0; k < nparams; k++)
		params = lappend(params, gr_wrapper_parameter(k + 1, types[k]));
	gr_wrap_query(&wrapper, ingest->query);
	if (!select_aggregate(ingest, &wrapper, aggregate, params, types, result))
		return NULL;
	return gr_plan_wrapped_aggregate(&wrapper, nworkers);
}

/* Returns the position of cluster column k: the cluster columns are the query's last ones. */
static int
cluster_at(const GrIngest *ingest, int k)
{
	return ingest->clustered->columns->natts - ingest->nclusters + k;
}

const char *
gr_cluster_name(const GrIngest *ingest, int k)
{
	return ingest->clustered->names[cluster_at(ingest, k)];
}

Oid
gr_cluster_type(const GrIngest *ingest, int k)
{
	return TupleDescAttr(ingest->clustered->columns, cluster_at(ingest, k))->atttypid;
}

GrPlan *
gr_plan_clusters(const GrIngest *ingest, const char *aggregate, int nvalues, const Oid *types, const Datum *values,
				 Oid result, int way)
{
	List	   *constants = NIL;
	GrWrapper	wrapper;
	GrPlan	   *plan;
	int			nest_level;

	for (int k = 0; k < nvalues; k++)
		constants = lappend(constants, gr_wrapper_constant(values[k], types[k]));
	gr_wrap_query(&wrapper, ingest->clustered);
	if (!select_aggregate(ingest, &wrapper, aggregate, constants, types, result))
		elog(ERROR, "too many columns for %s", aggregate);
	for (int k = 0; k < ingest->nclusters; k++)
		if (way == GR_WAY_SELECTED)
			gr_wrapper_select_group(&wrapper, gr_wrapped_column(&wrapper, cluster_at(ingest, k)));
		else if (way == k || way == 2)
			gr_wrapper_group(&wrapper, gr_wrapped_column(&wrapper, cluster_at(ingest, k)));
	nest_level = gr_turn_jit_off();
	plan = gr_plan_wrapper(&wrapper);
	AtEOXact_GUC(true, nest_level);
	return plan;
}

/* gpu_enet_fold(nfolds, columns ...) */
static Expr *
write_fold(const GrIngest *ingest, const GrWrapper *wrapper, int nfolds)
{
	Oid			types[2] = {INT4OID, ANYOID};
	Const	   *n = makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(nfolds), false, true);
	List	   *args = list_make1(n);

	return gr_wrapper_call(gr_own_function(ingest->function, "gpu_enet_fold", 2, types, INT4OID),
						   write_arguments(ingest, wrapper, args));
}

GrPlan *
gr_plan_folds(const GrIngest *ingest, int nfolds, const char *aggregate, int nparams, const Oid *types, Oid result)
{
	List	   *params = NIL;
	GrWrapper	wrapper;
	int			nworkers;

	for (int k = 0; k < nparams; k++)
		params = lappend(params, gr_wrapper_parameter(k + 1, types[k]));
	if (ingest->columns->key && !ingest->keyed_clusters)
	{
		GrIngest	keyless = gr_ingest_without_key(ingest);
		int			at = ingest->columns->column[gr_nroles(ingest->columns) - 1].at;

		gr_wrap_query(&wrapper, ingest->query);
		if (!select_aggregate(&keyless, &wrapper, aggregate, params, types, result))
			elog(ERROR, "too many columns for %s", aggregate);
		/* without a cast, so that a custom scan can return it */
		gr_wrapper_select_group(&wrapper, gr_wrapped_column(&wrapper, at));
		return gr_plan_wrapped_aggregate(&wrapper, &nworkers);
	}
	gr_wrap_query(&wrapper, ingest->clustered != NULL ? ingest->clustered : ingest->query);
	if (!select_aggregate(ingest, &wrapper, aggregate, params, types, result))
		elog(ERROR, "too many columns for %s", aggregate);
	if (nfolds == GR_FOLDS_ARE_CELLS)
		for (int k = 0; k < ingest->nclusters; k++)
			gr_wrapper_select_group(&wrapper, gr_wrapped_column(&wrapper, cluster_at(ingest, k)));
	else if (ingest->clustered != NULL)
		gr_wrapper_group(&wrapper, gr_wrapped_column(&wrapper, cluster_at(ingest, 0)));
	else
		gr_wrapper_select_group(&wrapper, write_fold(ingest, &wrapper, nfolds));
	return gr_plan_wrapped_aggregate(&wrapper, &nworkers);
}

GrPlan *
gr_plan_fold_rows(const GrIngest *ingest, int nfolds)
{
	GrWrapper	wrapper;

	gr_wrap_query(&wrapper, ingest->clustered != NULL ? ingest->clustered : ingest->query);
	for (int k = 0; k < ingest->query->columns->natts; k++)
		gr_wrapper_select(&wrapper, gr_wrapped_column(&wrapper, k));
	gr_wrapper_select(&wrapper, ingest->clustered != NULL ? gr_wrapped_column(&wrapper, cluster_at(ingest, 0)) :
					  write_fold(ingest, &wrapper, nfolds));
	return gr_plan_wrapper(&wrapper);
}

/* gpu_features_pass(names, is_binary, roles, columns ...) */
static Expr *
write_features(const GrIngest *ingest, const GrWrapper *wrapper)
{
	Oid			types[4] = {TEXTARRAYOID, BOOLOID, INT4OID, ANYOID};
	int			roles = gr_roles_mask(ingest->shape, ingest->rules);
	List	   *args = list_make3(gr_wrapper_constant(gr_names_datum(ingest->columns), TEXTARRAYOID),
								  makeBoolConst(gr_family(ingest->rules.family)->is_binary, false),
								  makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(roles), false, true));

	return gr_wrapper_call(gr_own_function(ingest->function, "gpu_features_pass", 4, types, FLOAT8ARRAYOID),
						   write_arguments(ingest, wrapper, args));
}

/* Plans the wrapper without JIT, which costs more than it saves. Ends the wrapper. */
static GrPlan *
plan_without_jit(GrWrapper *wrapper)
{
	int			nest_level = gr_turn_jit_off();
	GrPlan	   *plan = gr_plan_wrapper(wrapper);

	AtEOXact_GUC(true, nest_level);
	return plan;
}

GrPlan *
gr_plan_typed_pass(const GrIngest *ingest, const char *aggregate, const GrState *request, Oid result)
{
	Oid			types[3] = {result, FLOAT8OID, FLOAT8ARRAYOID};
	int			nleft_out = request == NULL ? 1 : 0;
	List	   *args = NIL;
	GrWrapper	wrapper;
	Oid			function;

	Assert(ingest->arguments->n <= GR_TYPED_COLUMNS_MAX);
	gr_wrap_query(&wrapper, ingest->query);
	if (request != NULL)
		args = lappend(args, gr_wrapper_constant(PointerGetDatum(request), types[0]));
	args = lappend(args, packed_number(&wrapper, &ingest->columns->column[0], FLOAT8OID));
	args = lappend(args, write_features(ingest, &wrapper));
	function = gr_own_function(ingest->function, aggregate, 3 - nleft_out, types + nleft_out, result);
	gr_wrapper_select(&wrapper, gr_wrapper_aggregate(&wrapper, function, args));
	return plan_without_jit(&wrapper);
}

GrPlan *
gr_plan_plain_sums(const GrIngest *ingest, Oid result)
{
	const Oid	types[2] = {FLOAT8OID, FLOAT8ARRAYOID};
	List	   *features = NIL;
	GrWrapper	wrapper;
	Expr	   *response;
	Expr	   *call;
	Oid			function;

	gr_wrap_query(&wrapper, ingest->query);
	response = packed_number(&wrapper, &ingest->columns->column[0], FLOAT8OID);
	for (int k = 1; k < ingest->columns->n; k++)
		features = lappend(features, packed_number(&wrapper, &ingest->columns->column[k], FLOAT8OID));
	function = gr_own_function(ingest->function, "gpu_ols_stats_agg", 2, types, result);
	call = gr_wrapper_aggregate(&wrapper, function, list_make2(response, gr_wrapper_array(features, FLOAT8OID)));
	((Aggref *) call)->aggvariadic = true;
	gr_wrapper_select(&wrapper, call);
	return plan_without_jit(&wrapper);
}
