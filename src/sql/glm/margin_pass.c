/*
 * margin_pass.c: sums marginal effects of columns of numbers by the aggregate gpu_request_pass; see margin_pass.h.
 *
 * The aggregate runs over a query around the user's: the offset, and the model's features in their order. A row of a
 * request begins with a response, which effects do not need: the first feature stands for it.
 */
#include "postgres.h"

#include <math.h>

#include "rows/query/wrapper.h"
#include "rows/state/request_pass.h"
#include "rows/sums/ingest.h"
#include "rows/sums/request_query.h"
#include "run/request.h"
#include "sql/glm/margin_pass.h"

/* More features than this do not fit the arguments of an aggregate, with its parameters and the columns with roles. */
#define FEATURES_MAX 90

/* Returns the query's column that holds feature k, or -1 if it holds more than that. */
static int
column_of(const GrMarginRows *rows, int k)
{
	for (int s = 0; s < rows->nsources; s++)
	{
		const GrMarginSource *source = &rows->sources[s];

		if (source->targets != NULL && source->targets[0] == k)
			return OidIsValid(source->column.element) ? -1 : source->at;
	}
	return -1;
}

/* Returns the source of the offset, or NULL. It is the last one, as rows have no weights. */
static const GrMarginSource *
offset_of(const GrMarginRows *rows)
{
	return rows->shape.offset ? &rows->sources[rows->nsources - 1] : NULL;
}

/*
 * Fills at with the query's column of each feature. Returns false if gpu_request_pass cannot sum the effects: see
 * gr_margin_pass().
 */
static bool
find_columns(const GrMarginRows *rows, const GrMargins *margins, int *at)
{
	const GrMarginSource *offset = offset_of(rows);
	int			n = margins->nterms - (margins->intercept ? 1 : 0);

	if (n < 1 || rows->design->ncolumns != n || margins->neffects != n || rows->shape.weight ||
		gr_is_remote(rows->plan) || gr_is_read_by_spi(rows->plan->query))
		return false;
	for (int k = 0; k < margins->nterms; k++)
		if (isinf(margins->coef[k]))
			return false;
	for (int e = 0; e < n; e++)
	{
		const GrMarginEffect *effect = &margins->effects[e];

		if (effect->feature < 0)
			return false;
		at[effect->feature] = column_of(rows, effect->column);
		/* roles are found by their names */
		if (at[effect->feature] < 0 || (offset != NULL && at[effect->feature] == offset->at))
			return false;
	}
	return true;
}

/* Wraps the user's query and describes it for gr_plan_requests(). at: the query's column of each of n features */
static GrIngest
wrap_query(const GrMarginRows *rows, const int *at, int n, Oid function)
{
	const GrQuery *query = rows->plan->query;
	const GrMarginSource *offset = offset_of(rows);
	const char **names = palloc((n + 2) * sizeof(char *));
	int			ncolumns = 0;
	GrRoles		roles = {.intercept = true};
	GrIngest	ingest = {.function = function};
	GrWrapper	wrapper;

	gr_wrap_query(&wrapper, query);
	gr_wrapper_select(&wrapper, gr_wrapped_column(&wrapper, at[0]));
	names[ncolumns++] = "(response)";
	if (offset != NULL)
	{
		gr_wrapper_select(&wrapper, gr_wrapped_column(&wrapper, offset->at));
		names[ncolumns++] = roles.offsets = query->names[offset->at];
	}
	for (int k = 0; k < n; k++)
	{
		gr_wrapper_select(&wrapper, gr_wrapped_column(&wrapper, at[k]));
		names[ncolumns++] = query->names[at[k]];
	}
	ingest.query = gr_wrapper_query(&wrapper, names);
	ingest.columns = gr_query_columns(ingest.query->columns, names, &roles);
	ingest.arguments = gr_pack_columns(ingest.columns, ncolumns, false);
	ingest.shape = gr_columns_shape(ingest.columns);
	return ingest;
}

/* Returns the request, whose beta has 0 for terms that the model lacks or has no coefficient of. */
static GrRequest *
request_of(const GrMargins *margins, GrRowShape shape)
{
	double	   *beta = palloc0((shape.nfeatures + 1) * sizeof(double));
	int			first = margins->intercept ? 0 : 1;

	for (int k = 0; k < margins->nterms; k++)
		beta[first + k] = isnan(margins->coef[k]) ? 0 : margins->coef[k];
	return gr_margins_request(&(GrMarginModel) {.link = margins->link,.shape = shape,.beta = beta});
}

bool
gr_margin_pass(GrMarginRows *rows, GrMargins *margins, Oid function)
{
	int			n = margins->nterms - (margins->intercept ? 1 : 0);
	int			at[FEATURES_MAX];
	int			nworkers;
	GrIngest	ingest;
	GrPlan	   *plan;
	GrRequest  *request;
	GrRequestResult result;

	if (n > FEATURES_MAX || !find_columns(rows, margins, at))
		return false;
	ingest = wrap_query(rows, at, n, function);
	plan = gr_plan_requests(&ingest, GR_COST_PASS, &nworkers);
	if (plan == NULL)
		return false;
	request = request_of(margins, ingest.shape);
	result = gr_run_request(&ingest, plan, gr_request_datum(request, GR_PRIOR_WEIGHTS, NULL),
							gr_request_nsums(request));
	rows->nrows = result.counts.nrows;
	rows->nskipped = result.counts.nskipped;
	rows->nworkers = result.counts.nworkers;
	if (rows->nrows == 0)
		gr_raise_no_rows(rows->nskipped);
	gr_margin_sums_take(margins, (const GrDD *) result.sums, (double) rows->nrows);
	return true;
}
