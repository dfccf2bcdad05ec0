/*
 * project_plan.c: planning of gpu_project_rows()'s query.
 *
 * If the planner lets parallel workers compute a function of the query's vectors, that function is the projection or,
 * if batches pay or a device is to project, only their detoasting. Otherwise the query runs unchanged.
 */
#include "postgres.h"

#include <math.h>

#include "access/tupdesc.h"
#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "nodes/makefuncs.h"
#include "nodes/plannodes.h"
#include "nodes/primnodes.h"
#include "optimizer/cost.h"
#include "optimizer/paths.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/guc.h"

#include "compute/project/draw.h"
#include "compute/project/projection.h"
#include "projection/project_rows.h"
#include "rows/columns/columns.h"
#include "rows/query/query.h"
#include "rows/query/wrapper.h"
#include "run/device.h"

/*
 * Elements that vectors of unknown length are assumed to have: many, as an S that does not fit the cache is what costs.
 */
#define GUESSED_DIM GR_CHUNK_NCOLS

/* A query of fewer rows is not worth a look at the size of its vectors. */
#define LEAST_ROWS 100

double
gr_rows_density(const GrRowsRequest *request, int64 dim)
{
	return request->density_is_null ? gr_dense_density(dim) : request->density;
}

double
gr_rows_work(const GrRowsRequest *request, double nvectors, int64 dim)
{
	return nvectors * dim * (request->k * gr_rows_density(request, dim));
}

/* ERROR unless the query has two columns: an id of type id_type, and a vector, or types that can be cast to these. */
static void
check_columns(const GrQuery *query, Oid id_type)
{
	TupleDesc	tupdesc = query->columns;
	Form_pg_attribute vector;

	if (tupdesc->natts != 2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("query must return two columns"),
				 errdetail("The query returns %d.", tupdesc->natts),
				 errhint("Select the id first and the vector second.")));
	gr_check_id_column(query, id_type);
	vector = TupleDescAttr(tupdesc, 1);
	if (!gr_type_has_cast(FLOAT4ARRAYOID, vector->atttypid, COERCION_EXPLICIT))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of the query has unsupported type %s", NameStr(vector->attname),
						format_type_be(vector->atttypid)),
				 errdetail("A vector must be a real[] or have a cast to it."),
				 errhint("Cast the column in the query, as in embedding::real[].")));
}

/* Returns the expression that gives the vector in this form. */
static Expr *
write_vector(const GrRowsRequest *request, GrRowsForm form, Expr *vector)
{
	static const Oid types[4] = {FLOAT4ARRAYOID, INT4OID, INT8OID, FLOAT8OID};
	Oid			function;
	Expr	   *k;
	Expr	   *seed;
	Expr	   *density;

	if (form == GR_ROWS_AS_THEY_ARE)
		return vector;
	if (form == GR_ROWS_FLAT)
	{
		function = gr_own_function(request->function, "gpu_vector_pass", 1, types, BYTEAOID);
		return gr_wrapper_call(function, list_make1(vector));
	}
	function = gr_own_function(request->function, "gpu_project_pass", 4, types, BYTEAOID);
	/* constants, as parameters would tell the planner less */
	k = (Expr *) makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(request->k), false, true);
	seed = (Expr *) makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum(request->seed), false,
							  FLOAT8PASSBYVAL);
	density = (Expr *) makeConst(FLOAT8OID, -1, InvalidOid, sizeof(float8), Float8GetDatum(request->density),
								 request->density_is_null, FLOAT8PASSBYVAL);
	return gr_wrapper_call(function, list_make4(vector, k, seed, density));
}

/* Returns the plan of the query with its ids cast to the requested type, and its vectors in this form. */
static GrPlan *
plan_form(const GrRowsRequest *request, const GrQuery *query, GrRowsForm form)
{
	GrWrapper	wrapper;
	Expr	   *vector;

	gr_wrap_query(&wrapper, query);
	gr_wrapper_select(&wrapper, gr_wrapper_cast(&wrapper, gr_wrapped_column(&wrapper, 0), request->id_type));
	vector = gr_wrapper_cast(&wrapper, gr_wrapped_column(&wrapper, 1), FLOAT4ARRAYOID);
	gr_wrapper_select(&wrapper, write_vector(request, form, vector));
	return gr_plan_wrapper(&wrapper);
}

/* Returns the query's own plan or, if its columns have other types, that of the query with casts. */
static GrPlan *
plan_with_casts(const GrRowsRequest *request, const GrQuery *query)
{
	if (TupleDescAttr(query->columns, 0)->atttypid == request->id_type &&
		TupleDescAttr(query->columns, 1)->atttypid == FLOAT4ARRAYOID)
		return gr_plan_query(query, CURSOR_OPT_PARALLEL_OK);
	return plan_form(request, query, GR_ROWS_AS_THEY_ARE);
}

/*
 * True if workers compute the last column of plan. They do not if, for example, the query has an order: they sort its
 * rows then, and the outer expressions are computed in this process. Follows the column down to the Gather node, as
 * long as nodes only refer to it.
 */
static bool
is_computed_in_workers(const Plan *plan)
{
	AttrNumber	column = list_length(plan->targetlist);

	while (plan != NULL && list_length(plan->targetlist) >= column)
	{
		const Expr *value = list_nth_node(TargetEntry, plan->targetlist, column - 1)->expr;

		if (!IsA(value, Var))
			return false;
		if (IsA(plan, Gather) || IsA(plan, GatherMerge))
			return true;
		column = ((const Var *) value)->varattno;
		if (column < 1)
			return false;
		if (IsA(plan, SubqueryScan))
			plan = ((const SubqueryScan *) plan)->subplan;
		else if (IsA(plan, Append))
			plan = linitial(((const Append *) plan)->appendplans);
		else
			plan = outerPlan(plan);
	}
	return false;
}

/*
 * True if all rows with vectors like the first would be as large as a table that the planner uses workers for. The
 * planner does not see such vectors: they are stored out of line, and the table is small without them.
 */
static bool
are_vectors_large(const GrRowsPlan *rows)
{
	double		nbytes = rows->nrows_estimate * rows->dim * sizeof(float);

	return rows->dim > 0 && min_parallel_table_scan_size > 0 &&
		nbytes >= (double) min_parallel_table_scan_size * BLCKSZ;
}

/*
 * Returns the plan that has workers compute the vectors in this form; NULL if the planner uses no workers for it.
 * any_table: also for small tables.
 */
static GrPlan *
plan_pass(const GrRowsRequest *request, const GrQuery *query, GrRowsForm form, bool any_table)
{
	int			nest_level = gr_turn_jit_off();
	GrPlan	   *plan;

	if (any_table)
		(void) set_config_option("min_parallel_table_scan_size", "0", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true,
							0, false);
	plan = plan_form(request, query, form);
	AtEOXact_GUC(true, nest_level);
	return is_computed_in_workers(plan->stmt->planTree) ? plan : NULL;
}

typedef struct DimReceiver
{
	GrReceiver	base;
	int64		dim;			/* 0: no row, or a row without a vector */
} DimReceiver;

static bool
receive_dim(TupleTableSlot *slot, DestReceiver *self)
{
	bool		isnull;
	Datum		vector = slot_getattr(slot, 2, &isnull);

	if (!isnull)
		((DimReceiver *) self)->dim = gr_array_width(vector);
	return false;
}

/* Returns the elements of the first row's vector; -1 if there is none, or reading it may be expensive. */
static int64
peek_at_dim(const GrPlan *plan)
{
	DimReceiver receiver = {.base.pub.receiveSlot = receive_dim};

	if (gr_is_repeatable(plan->query) && gr_starts_at_once(plan))
		gr_run_plan(plan, NULL, &receiver.base, 1);
	return receiver.dim > 0 ? receiver.dim : -1;
}

/*
 * True if all of S fits the cache of one process. A batch draws the rest of S once; single rows draw it for each row.
 */
static bool
fits_cache(const GrRowsRequest *request, int64 dim)
{
	double		nonzeros = gr_rows_work(request, 1, dim);
	int64		nchunks = dim / GR_CHUNK_NCOLS + 1;

	return sizeof(uint32) * (nonzeros + 6.0 * sqrt(nonzeros) + nchunks * (request->k + 64.0)) <=
		gr_projection_cache_size * 1024.0;
}

/*
 * Returns GR_ROWS_PROJECTED if the CPU is to project and S fits the cache of a worker (gr_projection_cache_size);
 * else GR_ROWS_FLAT, with which workers only detoast and check the vectors. rows->dim: elements of the first row's
 * vector; -1: not known.
 */
static GrRowsForm
choose_form(const GrRowsRequest *request, const GrRowsPlan *rows)
{
	bool		no_device = gr_takes_cpu(HUGE_VAL) || (gr_device == GR_DEVICE_AUTO && gr_device_is_missing());

	if (gr_debug_ring || (gr_device == GR_DEVICE_GPU && !no_device))
		return GR_ROWS_FLAT;
	/* with batches, the place is chosen when the first batch begins */
	if (!no_device && (rows->dim < 0 || !gr_takes_cpu(gr_rows_work(request, rows->nrows_estimate, rows->dim))))
		return GR_ROWS_FLAT;
	return fits_cache(request, rows->dim < 0 ? GUESSED_DIM : rows->dim) ? GR_ROWS_PROJECTED : GR_ROWS_FLAT;
}

void
gr_plan_rows(const GrRowsRequest *request, GrRowsPlan *rows)
{
	GrQuery    *query = gr_analyse_query(request->query);
	bool		any_table = false;
	GrRowsForm	form;
	GrPlan	   *pass;

	check_columns(query, request->id_type);
	rows->plan = plan_with_casts(request, query);
	rows->form = GR_ROWS_AS_THEY_ARE;
	rows->nrows_estimate = gr_estimate_rows(rows->plan);
	rows->dim = -1;
	/* without workers, planning for them would be wasted */
	if (max_parallel_workers_per_gather == 0)
		return;
	pass = plan_pass(request, query, GR_ROWS_PROJECTED, any_table);
	if (pass != NULL || rows->nrows_estimate >= LEAST_ROWS)
		rows->dim = peek_at_dim(rows->plan);
	if (pass == NULL && are_vectors_large(rows))
	{
		any_table = true;
		pass = plan_pass(request, query, GR_ROWS_PROJECTED, any_table);
	}
	if (pass == NULL)
		return;
	form = choose_form(request, rows);
	if (form != GR_ROWS_PROJECTED)
		pass = plan_pass(request, query, form, any_table);
	if (pass == NULL)
		return;
	rows->plan = pass;
	rows->form = form;
}
