/*
 * fn_stats.c: gpu_ols_solve, gpu_ols_named and gpu_ols_names: models from a gpu_ols_stats, and the names of its
 * columns.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "rows/state/aggregate.h"
#include "run/args.h"
#include "run/clock.h"
#include "sql/glm/glm_fit.h"
#include "sql/model/fit_arguments.h"
#include "sql/model/model.h"
#include "sql/states/stats.h"

PG_FUNCTION_INFO_V1(gr_ols_solve_stats);
PG_FUNCTION_INFO_V1(gr_ols_named);
PG_FUNCTION_INFO_V1(gr_ols_names);

/*
 * gpu_ols_solve(stats gpu_ols_stats, intercept boolean, features "any", response "any", l2 float8): the model of the
 * chosen columns; NULL chooses all features, and column 0 as the response
 */
Datum
gr_ols_solve_stats(PG_FUNCTION_ARGS)
{
	double		began = gr_now();
	GrStats		stats;
	GrModel		model = {0};

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(4))
		PG_RETURN_NULL();
	model.l2 = PG_GETARG_FLOAT8(4);
	gr_check_l2(model.l2);
	if (!gr_stats_arguments(fcinfo, 0, 2, 3, &stats))
		PG_RETURN_NULL();
	stats.gram.nsummed = stats.state->nrows;
	gr_model_solve(&model, &stats.gram, PG_GETARG_BOOL(1), gr_stats_names(&stats), true, NULL);
	gr_record_state(fcinfo, stats.state->nrows, stats.nfeatures, began);
	model.nskipped = stats.state->nskipped;
	model.device = "cpu";
	return gr_model_datum(fcinfo, &model);
}

/* Raises an ERROR unless there is one name that is not NULL for each column of the state. */
static void
check_names(const GrState *state, ArrayType *array)
{
	gr_check_vector(array, "names");
	if (array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("names must not contain nulls"),
				 errhint("Name the response first, and then every feature.")));
	if (state->nfeatures < 0 || ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)) != state->nfeatures + 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the state has %d columns, but there are %d names", state->nfeatures + 1,
						ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array))),
				 errhint("Name the response first, and then every feature.")));
}

static int
compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *) a, *(char *const *) b);
}

/* gpu_ols_named(stats gpu_ols_stats, names text[]): the state with names for its columns, the response's first */
Datum
gr_ols_named(PG_FUNCTION_ARGS)
{
	GrState    *state = gr_state_settled(PG_GETARG_DATUM(0), GR_STATS, NULL);
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(1);
	ArrayIterator iterator;
	StringInfoData buf;
	char	  **names;
	Datum		value;
	bool		null;
	int			n = 0;

	check_names(state, array);
	names = palloc((state->nfeatures + 1) * sizeof(char *));
	initStringInfo(&buf);
	iterator = array_create_iterator(array, 0, NULL);
	while (array_iterate(iterator, &value, &null))
	{
		names[n] = TextDatumGetCString(value);
		if (names[n][0] == '\0')
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("name of column %d is empty", n),
					 errhint("Give each column a name of its own.")));
		appendBinaryStringInfo(&buf, names[n], (int) strlen(names[n]) + 1);
		gr_poll_loop(n++);
	}
	qsort(names, n, sizeof(char *), compare_texts);
	for (int k = 1; k < n; k++)
		if (strcmp(names[k - 1], names[k]) == 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("two columns have the name \"%s\"", names[k]),
					 errhint("Give each column a name of its own.")));
	PG_RETURN_POINTER(gr_state_named(state, buf.data, buf.len));
}

/* gpu_ols_names(stats gpu_ols_stats): the names of its columns, the response's first; NULL if they have none */
Datum
gr_ols_names(PG_FUNCTION_ARGS)
{
	GrState    *state = gr_state_settled(PG_GETARG_DATUM(0), GR_STATS, NULL);
	const char **names = gr_state_column_names(state);
	Datum	   *values;

	if (names == NULL)
		PG_RETURN_NULL();
	values = palloc((state->nfeatures + 1) * sizeof(Datum));
	for (int k = 0; k <= state->nfeatures; k++)
		values[k] = CStringGetTextDatum(names[k == 0 ? state->nfeatures : k - 1]);
	PG_RETURN_ARRAYTYPE_P(construct_array(values, state->nfeatures + 1, TEXTOID, -1, false, TYPALIGN_INT));
}
