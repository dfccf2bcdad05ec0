/*
 * request_pass.h: the aggregate gpu_request_pass(request bytea, names text[], widths int[], columns ...), which makes
 * the sums of a request over a query's rows: in parallel workers, by a scan, or for each group.
 *
 * The request travels as a bytea: the request's block, what weights are, and the basis to which rows are changed first.
 * The state is the process's own memory, and nothing that SQL could make up. The result is a bytea, which
 * gr_request_result() reads.
 */
#ifndef GPUREG_REQUEST_PASS_H
#define GPUREG_REQUEST_PASS_H

#include "postgres.h"

#include "fmgr.h"

#include "compute/linalg/basis.h"
#include "compute/request/request.h"
#include "rows/columns/columns.h"
#include "rows/state/state.h"

/* Number of gpu_request_pass's parameters before the columns, and index of the names in its transition function */
#define GR_REQUEST_NPARAMS 3
#define GR_REQUEST_NAMES 2

extern Datum gr_request_accum(PG_FUNCTION_ARGS);

/*
 * Cost of a row, as COST says it, while the planner plans a call of gpu_request_pass: the request itself is a
 * parameter then. 0: what the function's COST says.
 */
extern double gr_request_planned_cost;

/* Counts of the rows of a result or of a state, besides its sums */
typedef struct GrRequestCounts
{
	int64		nrows;			/* rows that took part */
	int64		nskipped;		/* rows left out for a NULL */
	int32		nworkers;		/* parallel workers that had rows */
	int32		ntotals;		/* float8 cells of the GrRowTotals behind the sums; 0: there is none */
} GrRequestCounts;

typedef struct GrRequestResult
{
	GrRequestCounts counts;
	const double *sums;
	const GrRowTotals *totals;	/* NULL: rows have none */
	void	   *memory;			/* holds sums and totals, in the context in which the result was read */
} GrRequestResult;

/*
 * Makes the aggregate's first argument. A request that does not take keys is sent without them, so that it fits rows
 * that have none. basis: or NULL
 */
extern Datum gr_request_datum(const GrRequest *request, GrWeighting weighting, const GrBasis *basis);

/*
 * Makes the first argument of gpu_logreg_array_pass, which makes passes where a remote query has its rows: the state
 * that it begins with. The request must be a pass.
 */
extern GrState *gr_request_state(const GrRequest *request, GrRowRules rules, const GrBasis *basis);

/* Fills in the values of the aggregate's parameters, and their types. */
extern void gr_request_params(Datum request, const GrColumns *columns, const GrColumns *arguments,
							  NullableDatum *values, Oid *types);

/* Reads a value that gpu_request_pass has returned, with nsums sums. ERROR if it has other ones. */
extern GrRequestResult gr_request_result(Datum value, Size nsums);

/* Frees the result's memory. */
extern void gr_request_free(GrRequestResult *result);

/*
 * For a scan, which takes rows a block at a time
 */

/* A call's arguments, the same for all groups: made at the first row, and kept with the function's call */
typedef struct GrRequestCall GrRequestCall;

/* Sums of a request that rows are being added to */
typedef struct GrRequestSums GrRequestSums;

/* ERROR unless the arguments are a request for such columns. */
extern GrRequestCall *gr_request_call(FunctionCallInfo fcinfo);

extern const GrColumns *gr_request_columns(const GrRequestCall *call);
extern GrRowShape gr_request_shape(const GrRequestCall *call);

/* Number of rows that are to be added at once; 0: as many as the caller likes */
extern int	gr_request_block(const GrRequestCall *call);

extern GrRequestSums *gr_request_begin(GrRequestCall *call, MemoryContext context);

/* Adds complete rows, which may be changed in place. names: names of the columns for messages, or NULL */
extern void gr_request_take(GrRequestSums *sums, double *rows, int64 nrows, const char *const *names);

/* Returns the partial state in the form that parallel workers send. counts_worker: keep its count of workers */
extern Datum gr_request_partial(GrRequestSums *sums, int64 nskipped, bool counts_worker);

#endif							/* GPUREG_REQUEST_PASS_H */
