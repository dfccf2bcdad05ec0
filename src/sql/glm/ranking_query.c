/*
 * ranking_query.c: the labels and scores of a query; see ranking_query.h.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "rows/columns/columns.h"
#include "rows/query/query.h"
#include "rows/query/wrapper.h"
#include "rows/state/aggregate.h"
#include "run/clock.h"
#include "run/compat.h"
#include "run/device.h"
#include "run/report.h"
#include "sql/glm/ranking_query.h"

PG_FUNCTION_INFO_V1(gr_ranking_final);

/* A function that waits for the state of its gpu_ranking_pass */
typedef struct Waiting
{
	GrRankingTake take;
	void	   *arg;
	int64		nrows;			/* complete rows of the state; -1: not yet taken */
	struct Waiting *outer;		/* function whose query runs this one */
} Waiting;

static Waiting *waiting;

/* gpu_ranking_pass_final(internal): hands the state to the function that waits, and returns the number of rows. */
Datum
gr_ranking_final(PG_FUNCTION_ARGS)
{
	GrRanking  *ranking = PG_ARGISNULL(0) ? NULL : (GrRanking *) PG_GETARG_POINTER(0);

	(void) gr_aggregate_context(fcinfo);
	if (ranking != NULL && ranking->tag != GR_RANKING_TAG)
		elog(ERROR, "argument 1 is not a state of gpu_auc");
	if (waiting == NULL || waiting->nrows >= 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("gpu_ranking_pass must be called by gpu_roc, gpu_calibration or gpu_lift"),
				 errhint("Use gpu_auc or gpu_ks, or pass a query to gpu_roc.")));
	waiting->nrows = 0;
	if (ranking == NULL)
		PG_RETURN_INT64(0);
	waiting->nrows = gr_ranking_nrows(ranking, false) + gr_ranking_nrows(ranking, true);
	waiting->take(ranking, waiting->arg);
	PG_RETURN_INT64(waiting->nrows);
}

/* Raises an ERROR unless the query has a label and a score, both numbers; the label may be a boolean. */
static void
check_columns(const GrQuery *query)
{
	if (query->columns->natts != 2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("query must have two columns, the label and the score"),
				 errdetail_plural("The query has %d column.", "The query has %d columns.", query->columns->natts,
								  query->columns->natts),
				 errhint("Write it as SELECT label, score FROM ...")));
	for (int k = 0; k < 2; k++)
	{
		Oid			type = TupleDescAttr(query->columns, k)->atttypid;

		if (!gr_is_number_type(getBaseType(type)) || (k == 1 && getBaseType(type) == BOOLOID))
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("column \"%s\" of the query has unsupported type %s", query->names[k],
							format_type_be(type)),
					 k == 0 ? errdetail("The label, the first column, must be a boolean or a number, 0 or 1.") :
					 errdetail("The score, the second column, must be a number."),
					 errhint("Write the query as SELECT label, score FROM ...")));
	}
}

/* Returns the arguments of an aggregate, (score, label), behind those in args. Sets types[0 .. 2) to their types. */
static List *
score_arguments(const GrWrapper *wrapper, const GrQuery *query, List *args, Oid *types)
{
	bool		is_boolean = getBaseType(TupleDescAttr(query->columns, 0)->atttypid) == BOOLOID;

	types[0] = FLOAT8OID;
	types[1] = is_boolean ? BOOLOID : FLOAT8OID;
	args = lappend(args, gr_wrapper_cast(wrapper, gr_wrapped_column(wrapper, 1), types[0]));
	return lappend(args, gr_wrapper_cast(wrapper, gr_wrapped_column(wrapper, 0), types[1]));
}

/* Plans the aggregate so that its final function runs in this process. */
static GrPlan *
plan_here(GrWrapper *wrapper, int *nworkers)
{
	int			nest_level = NewGUCNestLevel();
	GrPlan	   *plan;

	(void) set_config_option(GR_DEBUG_PARALLEL_QUERY, "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0,
							 false);
	plan = gr_plan_wrapped_aggregate(wrapper, nworkers);
	AtEOXact_GUC(true, nest_level);
	return plan;
}

/* Returns the text of argument 0. Raises an ERROR if it is NULL. */
static char *
query_text(const GrRankingQuery *query)
{
	FunctionCallInfo fcinfo = query->fcinfo;

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("query must not be null")));
	return text_to_cstring(PG_GETARG_TEXT_PP(0));
}

void
gr_record_scores(const GrRankingQuery *query, int64 nrows)
{
	GrPlace		place = {0};
	double		now = gr_now();

	gr_place_on_cpu(&place, "scores are sorted or counted where the query's rows are read");
	gr_record_pass(&place, &(GrPassRecord) {
		.function = query->function,.nrows = nrows,.nfeatures = 1,.nworkers = query->nworkers,
		.started = query->began,.read_done = now,.solved = now
	});
}

void
gr_rank_query(GrRankingQuery *query, GrRankingTake take, void *arg)
{
	Waiting		own = {.take = take,.arg = arg,.nrows = -1,.outer = waiting};
	char	   *text = query_text(query);
	ErrorContextCallback context;
	GrQuery    *analysed;
	GrPlan	   *plan;
	GrWrapper	wrapper;
	Oid			types[2];
	List	   *args;
	bool		isnull;

	gr_enter_query(&context, text);
	analysed = gr_analyse_query(text);
	check_columns(analysed);
	gr_wrap_query(&wrapper, analysed);
	args = score_arguments(&wrapper, analysed, NIL, types);
	gr_wrapper_select(&wrapper, gr_wrapper_aggregate(&wrapper, gr_own_function(query->fcinfo->flinfo->fn_oid,
																			   "gpu_ranking_pass", 2, types, INT8OID),
													 args));
	plan = plan_here(&wrapper, &query->nworkers);
	waiting = &own;
	PG_TRY();
	{
		(void) gr_run_for_value(plan, NULL, &isnull);
	}
	PG_FINALLY();
	{
		waiting = own.outer;
	}
	PG_END_TRY();
	gr_leave_query(&context);
	gr_record_scores(query, own.nrows);
}

Datum
gr_aggregate_scores(GrRankingQuery *query, const char *aggregate, Oid result, double value)
{
	char	   *text = query_text(query);
	NullableDatum parameter = {Float8GetDatum(value), false};
	Oid			types[3] = {FLOAT8OID};
	ErrorContextCallback context;
	GrQuery    *analysed;
	GrPlan	   *plan;
	GrWrapper	wrapper;
	List	   *args;
	Datum		sums;
	bool		isnull;

	gr_enter_query(&context, text);
	analysed = gr_analyse_query(text);
	check_columns(analysed);
	gr_wrap_query(&wrapper, analysed);
	args = score_arguments(&wrapper, analysed, list_make1(gr_wrapper_parameter(1, FLOAT8OID)), types + 1);
	gr_wrapper_select(&wrapper, gr_wrapper_aggregate(&wrapper, gr_own_function(query->fcinfo->flinfo->fn_oid,
																			   aggregate, 3, types, result), args));
	plan = gr_plan_wrapped_aggregate(&wrapper, &query->nworkers);
	sums = gr_run_for_value(plan, gr_make_params(1, &parameter, types), &isnull);
	gr_leave_query(&context);
	return sums;
}
