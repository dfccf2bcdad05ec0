/*
 * fn_predict_query.c: gpu_predict_rows() over a query. Each row is the query's first column, as the id, and the
 * prediction for the row's columns.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "rows/query/query.h"
#include "run/args.h"
#include "run/clock.h"
#include "run/device.h"
#include "run/report.h"
#include "sql/model/predict_query.h"

PG_FUNCTION_INFO_V1(gr_predict_query);
PG_FUNCTION_INFO_V1(gr_predict_query_id);

/* Numbers of the arguments that the two forms have in different places. */
typedef struct Places
{
	int			query;
	int			max_rows;
} Places;

enum
{
	ARG_MODEL = 0, ARG_TYPE = 3, ARG_NEW_LEVELS
};

typedef struct RowsReceiver
{
	GrReceiver	base;
	Tuplestorestate *rows;
	int64		nrows;
} RowsReceiver;

static bool
receive_row(TupleTableSlot *slot, DestReceiver *self)
{
	RowsReceiver *receiver = (RowsReceiver *) self;

	tuplestore_puttupleslot(receiver->rows, slot);
	receiver->nrows++;
	return true;
}

/* Returns the most rows to read; 0: all. */
static uint64
max_rows_argument(FunctionCallInfo fcinfo, int argno)
{
	int64		n = PG_ARGISNULL(argno) ? 0 : PG_GETARG_INT64(argno);

	if (!PG_ARGISNULL(argno) && n < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("max_rows must be at least 1, got " INT64_FORMAT, n),
				 errhint("Leave it out to predict for all rows.")));
	return (uint64) n;
}

static Datum
predict_query(FunctionCallInfo fcinfo, Places places)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	double		started = gr_now();
	GrPredictQuery request = {.function = fcinfo->flinfo->fn_oid};
	RowsReceiver receiver = {.base.pub.receiveSlot = receive_row};
	ErrorContextCallback context;
	GrPlace		place = {0};
	GrPlan	   *plan;
	int			nfeatures;
	uint64		nrows_max;
	double		now;

	InitMaterializedSRF(fcinfo, 0);
	request.link = gr_is_second_word(fcinfo, ARG_TYPE, "type", "response", "link");
	request.null_levels = gr_is_second_word(fcinfo, ARG_NEW_LEVELS, "new_levels", "error", "null");
	nrows_max = max_rows_argument(fcinfo, places.max_rows);
	if (PG_ARGISNULL(places.query))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("query must not be null")));
	if (PG_ARGISNULL(ARG_MODEL))
		return (Datum) 0;
	request.model = PG_GETARG_HEAPTUPLEHEADER(ARG_MODEL);
	request.query = text_to_cstring(PG_GETARG_TEXT_PP(places.query));
	request.id_type = TupleDescAttr(rsinfo->setDesc, 0)->atttypid;
	receiver.rows = rsinfo->setResult;
	gr_enter_query(&context, request.query);
	plan = gr_plan_predictions(&request, &nfeatures);
	gr_run_plan(plan, NULL, &receiver.base, nrows_max);
	gr_leave_query(&context);
	now = gr_now();
	gr_place_on_cpu(&place, "predictions are computed where the query's rows are read");
	gr_record_pass(&place, &(GrPassRecord) {
		.function = "gpu_predict_rows",.nrows = receiver.nrows,.nfeatures = nfeatures,
		.nworkers = receiver.base.nworkers,.started = started,.read_done = now,.solved = now
	});
	return (Datum) 0;
}

/*
 * gpu_predict_rows(model gpu_model, max_rows bigint, query text, type text, new_levels text): (id bigint, prediction
 * float8). Returns no rows if model is NULL.
 */
Datum
gr_predict_query(PG_FUNCTION_ARGS)
{
	return predict_query(fcinfo, (Places) {.query = 2,.max_rows = 1});
}

/*
 * gpu_predict_rows(model gpu_model, query text, id anyelement, type text, new_levels text, max_rows bigint): (id
 * anyelement, prediction float8). Returns no rows if model is NULL.
 */
Datum
gr_predict_query_id(PG_FUNCTION_ARGS)
{
	return predict_query(fcinfo, (Places) {.query = 1,.max_rows = 5});
}
