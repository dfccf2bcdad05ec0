/*
 * project_plan.c: how gpu_project_rows() has its query run.
 *
 * Where the planner has parallel workers compute a function of the query's vectors, that is the projection, or, where batches pay or a device is to
 * have them, their detoasting. Else the query runs as it is.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "nodes/plannodes.h"
#include "nodes/primnodes.h"
#include "optimizer/cost.h"
#include "optimizer/paths.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/plancache.h"

#include "args.h"
#include "device.h"
#include "ingest.h"
#include "project.h"
#include "project_rows.h"
#include "ring_reader.h"

#define VECTOR "q.vector::pg_catalog.float4[]"

/* Elements that vectors are taken to have where nothing else is known: a lot, for S that doesn't fit the cache is what costs */
#define GUESSED_DIM GR_CHUNK_NCOLS

/* Fewer are not worth a look at how large their vectors are. */
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

/* Can values of the one type be cast to the other, and not just through their text? */
static bool
has_cast(Oid to, Oid from, CoercionContext context)
{
	Oid			function;

	switch (find_coercion_pathway(to, from, context, &function))
	{
		case COERCION_PATH_RELABELTYPE:
		case COERCION_PATH_FUNC:
		case COERCION_PATH_ARRAYCOERCE:
			return true;
		default:
			return false;
	}
}

/* ERROR unless the query has two columns, an id of the type that the function's result has and a vector, or of types that become that. */
static void
check_columns(TupleDesc tupdesc, Oid id_type)
{
	Form_pg_attribute id;
	Form_pg_attribute vector;

	if (tupdesc->natts != 2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("query must return two columns"),
				 errdetail("It returns %d.", tupdesc->natts),
				 errhint("The first column is the id, the second the vector.")));
	id = TupleDescAttr(tupdesc, 0);
	if (id->atttypid != id_type && !has_cast(id_type, id->atttypid, COERCION_IMPLICIT))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of the query has type %s, not %s", NameStr(id->attname), format_type_be(id->atttypid),
						format_type_be(id_type)),
				 errhint("Say which type ids have: id => NULL::%s.", format_type_be(id->atttypid))));
	vector = TupleDescAttr(tupdesc, 1);
	if (!has_cast(FLOAT4ARRAYOID, vector->atttypid, COERCION_EXPLICIT))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of the query has type %s", NameStr(vector->attname), format_type_be(vector->atttypid)),
				 errdetail("A vector must be a real[] or have a cast to it.")));
}

/* The query with its ids cast, and this instead of its vectors */
static char *
wrap(const char *query, Oid id_type, const char *vector)
{
	/* a line of its own: the statement may end with a comment */
	return psprintf("SELECT q.id::%s, %s FROM (%s\n) q(id, vector)", format_type_extended(id_type, -1, FORMAT_TYPE_FORCE_QUALIFY),
					vector, gr_bare_statement(query));
}

/* The plan, or that of the same query with its columns cast to what is wanted, where they are something else */
static SPIPlanPtr
plan_with_casts(const char *query, SPIPlanPtr plan, TupleDesc tupdesc, Oid id_type)
{
	if (TupleDescAttr(tupdesc, 0)->atttypid == id_type && TupleDescAttr(tupdesc, 1)->atttypid == FLOAT4ARRAYOID)
		return plan;
	return gr_prepare_query(wrap(query, id_type, VECTOR));
}

/* The function that has the vectors in this form, for the wrapped query */
static char *
write_call(const GrRowsRequest *request, GrRowsForm form)
{
	const char *schema = quote_identifier(get_namespace_name(request->namespace));
	char	   *density = request->density_is_null ? pstrdup("NULL") : psprintf("%.17g", request->density);

	if (form == GR_ROWS_FLAT)
		return psprintf("%s.gpu_vector_pass(" VECTOR ")", schema);
	/* no parameters: with them, the plan that is run might be another one than that which was looked at */
	return psprintf("%s.gpu_project_pass(" VECTOR ", %d, '" INT64_FORMAT "'::pg_catalog.int8, %s::pg_catalog.float8)", schema,
					request->k, request->seed, density);
}

/*
 * Do workers compute the top node's last column? Where the query has an order, say, they sort its rows, and what stands around it is computed
 * in this process. A node refers to a column of the one below, or computes it.
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
 * Are the first row's vector and as many like it as there are rows as large as a table that the planner takes workers for? It doesn't see them: they
 * are stored out of line, and the table is small without them.
 */
static bool
are_vectors_large(const GrRowsPlan *rows)
{
	double		nbytes = rows->nrows_estimate * rows->dim * sizeof(float);

	return rows->dim > 0 && min_parallel_table_scan_size > 0 && nbytes >= (double) min_parallel_table_scan_size * BLCKSZ;
}

/* The plan that has the vectors in this form, from workers; NULL if the planner doesn't use any for it. any_table: a small one, too */
static SPIPlanPtr
plan_pass(const GrRowsRequest *request, GrRowsForm form, bool any_table)
{
	int			nest_level = NewGUCNestLevel();
	bool		in_workers = false;
	SPIPlanPtr	plan;
	CachedPlan *cached;

	if (any_table)
		(void) set_config_option("min_parallel_table_scan_size", "0", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	plan = gr_prepare_query(wrap(request->query, request->id_type, write_call(request, form)));
	/* it is planned here, and kept */
	cached = SPI_plan_get_cached_plan(plan);
	AtEOXact_GUC(true, nest_level);
	if (cached != NULL)
	{
		if (cached->stmt_list != NIL && linitial_node(PlannedStmt, cached->stmt_list)->planTree != NULL)
			in_workers = is_computed_in_workers(linitial_node(PlannedStmt, cached->stmt_list)->planTree);
		ReleaseCachedPlan(cached, NULL);
	}
	if (in_workers)
		return plan;
	SPI_freeplan(plan);
	return NULL;
}

/* The first row's vector has so many elements; -1: that isn't known, or wouldn't come at little cost. */
static int64
peek_at_dim(SPIPlanPtr plan)
{
	int64		dim = -1;
	MemoryContext context;
	MemoryContext old;
	bool		isnull;
	Datum		vector;

	if (!gr_is_repeatable(plan) || !gr_peek_at_row(plan))
		return -1;
	/* a vector may be large */
	context = AllocSetContextCreate(CurrentMemoryContext, "gpureg first row", ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(context);
	vector = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2, &isnull);
	if (!isnull)
		dim = gr_array_width(vector);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	SPI_freetuptable(SPI_tuptable);
	return dim > 0 ? dim : -1;
}

/* Has a process, by the cache's limit, room for all of S? A batch has what isn't kept drawn once, a row by itself for each. */
static bool
fits_cache(const GrRowsRequest *request, int64 dim)
{
	double		nonzeros = gr_rows_work(request, 1, dim);
	double		nchunks = dim / GR_CHUNK_NCOLS + 1;

	return sizeof(uint32) * (nonzeros + 6.0 * sqrt(nonzeros) + nchunks * (request->k + 64.0)) <= gr_projection_cache_size * 1024.0;
}

/* Which form is best, where workers compute it? The first row tells how much work a row is. */
static GrRowsForm
choose_form(const GrRowsRequest *request, const GrRowsPlan *rows)
{
	bool		no_device = gr_takes_cpu(HUGE_VAL) || (gr_device == GR_DEVICE_AUTO && gr_device_is_missing());

	if (gr_debug_ring || (gr_device == GR_DEVICE_GPU && !no_device))
		return GR_ROWS_FLAT;
	/* batches leave the choice of the place to when the first one begins */
	if (!no_device && (rows->dim < 0 || !gr_takes_cpu(gr_rows_work(request, rows->nrows_estimate, rows->dim))))
		return GR_ROWS_FLAT;
	return fits_cache(request, rows->dim < 0 ? GUESSED_DIM : rows->dim) ? GR_ROWS_PROJECTED : GR_ROWS_FLAT;
}

void
gr_plan_rows(const GrRowsRequest *request, GrRowsPlan *rows)
{
	SPIPlanPtr	plan = gr_prepare_query(request->query);
	TupleDesc	tupdesc = gr_check_query(plan);
	bool		any_table = false;
	GrRowsForm	form;
	SPIPlanPtr	pass;

	check_columns(tupdesc, request->id_type);
	rows->plan = plan_with_casts(request->query, plan, tupdesc, request->id_type);
	rows->form = GR_ROWS_AS_THEY_ARE;
	rows->nrows_estimate = gr_estimate_rows(rows->plan);
	rows->dim = -1;
	/* without workers, planning it would be for nothing */
	if (max_parallel_workers_per_gather == 0)
		return;
	pass = plan_pass(request, GR_ROWS_PROJECTED, any_table);
	if (pass != NULL || rows->nrows_estimate >= LEAST_ROWS)
		rows->dim = peek_at_dim(rows->plan);
	if (pass == NULL && are_vectors_large(rows))
	{
		any_table = true;
		pass = plan_pass(request, GR_ROWS_PROJECTED, any_table);
	}
	if (pass == NULL)
		return;
	form = choose_form(request, rows);
	if (form != GR_ROWS_PROJECTED)
		pass = plan_pass(request, form, any_table);
	if (pass == NULL)
		return;
	rows->plan = pass;
	rows->form = form;
}
