/*
 * fn_score.c: gpu_auc and gpu_brier, aggregates that score predictions against outcomes.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/array.h"

#include "compute/base/dd.h"
#include "rows/state/aggregate.h"
#include "run/args.h"
#include "run/clock.h"
#include "sql/glm/ranking_walk.h"

PG_FUNCTION_INFO_V1(gr_auc_accum);
PG_FUNCTION_INFO_V1(gr_auc_combine);
PG_FUNCTION_INFO_V1(gr_auc_serialize);
PG_FUNCTION_INFO_V1(gr_auc_deserialize);
PG_FUNCTION_INFO_V1(gr_auc_final);
PG_FUNCTION_INFO_V1(gr_brier_accum);
PG_FUNCTION_INFO_V1(gr_brier_combine);
PG_FUNCTION_INFO_V1(gr_brier_final);

/*
 * gpu_auc: the area under the ROC curve, from the rank sum of Mann and Whitney
 */

/* Returns a label as a boolean. Raises an ERROR unless it is 0 or 1. */
static bool
label_of(double label)
{
	if (label != 0 && label != 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("label must be 0 or 1, got %g", label),
				 errhint("Use a boolean, or compare: (y > 0).")));
	return label == 1;
}

/* Returns the state in argument k, or NULL. */
static GrRanking *
state_argument(FunctionCallInfo fcinfo, int k)
{
	GrRanking  *ranking = PG_ARGISNULL(k) ? NULL : (GrRanking *) PG_GETARG_POINTER(k);

	if (ranking != NULL && ranking->tag != GR_RANKING_TAG)
		elog(ERROR, "argument %d is not a state of gpu_auc", k + 1);
	return ranking;
}

/* gpu_auc_accum(internal, score float8, label float8 or boolean): counts one row; skips it if either is NULL. */
Datum
gr_auc_accum(PG_FUNCTION_ARGS)
{
	GrRanking  *ranking;
	double		score;
	bool		label;

	(void) gr_aggregate_context(fcinfo);
	ranking = state_argument(fcinfo, 0);
	if (PG_ARGISNULL(1) || PG_ARGISNULL(2))
	{
		if (ranking == NULL)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(ranking);
	}
	score = PG_GETARG_FLOAT8(1);
	label = label_of(gr_number_argument(fcinfo, 2));
	if (isnan(score))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("score must not be NaN"),
				 errhint("Leave such rows out, or make the value NULL: rows with a NULL are skipped.")));
	if (ranking == NULL)
		ranking = gr_ranking_create(fcinfo);
	gr_ranking_add(fcinfo, ranking, score, label);
	PG_RETURN_POINTER(ranking);
}

/* gpu_auc_combine(internal, internal): adds a state that gpu_auc_deserialize() has just returned. */
Datum
gr_auc_combine(PG_FUNCTION_ARGS)
{
	GrRanking  *ranking;
	GrRankingBytes *other;

	(void) gr_aggregate_context(fcinfo);
	ranking = state_argument(fcinfo, 0);
	other = PG_ARGISNULL(1) ? NULL : (GrRankingBytes *) PG_GETARG_POINTER(1);
	if (other != NULL && other->tag != GR_RANKING_BYTES_TAG)
		elog(ERROR, "argument 2 is not a deserialized state of gpu_auc");
	if (ranking == NULL && other == NULL)
		PG_RETURN_NULL();
	if (ranking == NULL)
		ranking = gr_ranking_create(fcinfo);
	if (other != NULL)
		gr_ranking_combine(fcinfo, ranking, other);
	PG_RETURN_POINTER(ranking);
}

/* gpu_auc_serialize(internal) */
Datum
gr_auc_serialize(PG_FUNCTION_ARGS)
{
	(void) gr_aggregate_context(fcinfo);
	PG_RETURN_BYTEA_P(gr_ranking_serialize(state_argument(fcinfo, 0)));
}

/* gpu_auc_deserialize(bytea, internal): the bytes, which gpu_auc_combine() reads. */
Datum
gr_auc_deserialize(PG_FUNCTION_ARGS)
{
	(void) gr_aggregate_context(fcinfo);
	PG_RETURN_POINTER(gr_ranking_deserialize(PG_GETARG_BYTEA_PP(0)));
}

/* A sum of products of counts: sum + rest, exact while it has at most 106 bits. */
typedef struct PairSum
{
	GrDD		sum;
	uint64		rest;
} PairSum;

/* Moves the rest to the sum. */
static void
carry(PairSum *pairs)
{
	const double low = (double) (pairs->rest & PG_UINT32_MAX);

	pairs->sum = gr_dd_add(pairs->sum, gr_two_sum((double) (pairs->rest >> 32) * 0x1p32, low));
	pairs->rest = 0;
}

/* Adds a product of counts. Most products and their sums fit into 64 bits. */
static inline void
add_product(PairSum *pairs, int64 a, int64 b)
{
	uint64		product;

	if (pg_mul_u64_overflow(a, b, &product))
		pairs->sum = gr_dd_add(pairs->sum, gr_two_prod((double) a, (double) b));
	else
	{
		if (product > PG_UINT64_MAX - pairs->rest)
			carry(pairs);
		pairs->rest += product;
	}
}

/*
 * gpu_auc_final(internal): the share of pairs of a one and a zero in which the one has the greater score; equal scores
 * count half. The sums of products of counts are exact in double-double.
 */
Datum
gr_auc_final(PG_FUNCTION_ARGS)
{
	double		began = gr_now();
	GrRanking  *ranking;
	GrRankingWalk walk;
	int64		nzeros;
	int64		nones;
	PairSum		twice = {{0, 0}, 0};	/* twice the number of pairs won; a pair of equal scores counts 1 */

	(void) gr_aggregate_context(fcinfo);
	ranking = state_argument(fcinfo, 0);
	if (ranking == NULL)
		PG_RETURN_NULL();
	nzeros = gr_ranking_nrows(ranking, false);
	nones = gr_ranking_nrows(ranking, true);
	if (nzeros == 0 || nones == 0)
		PG_RETURN_NULL();
	gr_ranking_walk_begin(&walk, ranking);
	/* each zero loses to the ones of greater scores */
	while (gr_ranking_walk_next(&walk))
		add_product(&twice, walk.zeros, 2 * walk.true_positives - walk.ones);
	carry(&twice);
	gr_record_group(fcinfo, "gpu_auc", nzeros + nones, 1, began);
	PG_RETURN_FLOAT8(gr_dd_to_double(gr_dd_div(twice.sum, gr_two_prod(2.0 * nones, (double) nzeros))));
}

/*
 * gpu_brier: the mean of (probability - label)^2
 */

/* State of gpu_brier: an array of the number of rows and the sum as hi + lo */
enum
{
	BRIER_N, BRIER_HI, BRIER_LO, BRIER_NVALUES
};

/*
 * Returns the numbers of a state, in place if an aggregate calls, else of a copy if change is true. *array: the state.
 * Raises an ERROR if it is not a state of gpu_brier.
 */
static double *
open_brier(FunctionCallInfo fcinfo, int argument, bool change, ArrayType **array)
{
	ArrayType  *state = change && !gr_in_aggregate(fcinfo) ? PG_GETARG_ARRAYTYPE_P_COPY(argument) :
		PG_GETARG_ARRAYTYPE_P(argument);
	double	   *values = (double *) ARR_DATA_PTR(state);

	if (ARR_NDIM(state) != 1 || ARR_DIMS(state)[0] != BRIER_NVALUES || ARR_HASNULL(state) ||
		ARR_ELEMTYPE(state) != FLOAT8OID || !(values[BRIER_N] >= 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("malformed state of gpu_brier")));
	*array = state;
	return values;
}

/* Adds n rows, with the sum of their squared errors, to a state of gpu_brier. */
static void
add_brier(double *state, double n, GrDD sum)
{
	GrDD		total = gr_dd_add((GrDD) {state[BRIER_HI], state[BRIER_LO]}, sum);

	state[BRIER_N] += n;
	state[BRIER_HI] = total.hi;
	state[BRIER_LO] = total.lo;
}

/* gpu_brier_accum(float8[], probability float8, label float8 or boolean): adds the squared error of one row. */
Datum
gr_brier_accum(PG_FUNCTION_ARGS)
{
	ArrayType  *array;
	double	   *state;
	double		probability;
	GrDD		difference;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	state = open_brier(fcinfo, 0, true, &array);
	if (PG_ARGISNULL(1) || PG_ARGISNULL(2))
		PG_RETURN_ARRAYTYPE_P(array);
	probability = PG_GETARG_FLOAT8(1);
	if (!(probability >= 0 && probability <= 1))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("probability must be between 0 and 1, got %g", probability),
				 errhint("Use gpu_auc for scores that are not probabilities.")));
	difference = gr_two_sum(probability, -label_of(gr_number_argument(fcinfo, 2)));
	add_brier(state, 1, gr_dd_mul(difference, difference));
	PG_RETURN_ARRAYTYPE_P(array);
}

/* gpu_brier_combine(float8[], float8[]) */
Datum
gr_brier_combine(PG_FUNCTION_ARGS)
{
	ArrayType  *array;
	ArrayType  *other_array;
	double	   *state = open_brier(fcinfo, 0, true, &array);
	double	   *other = open_brier(fcinfo, 1, false, &other_array);

	add_brier(state, other[BRIER_N], (GrDD) {other[BRIER_HI], other[BRIER_LO]});
	PG_RETURN_ARRAYTYPE_P(array);
}

/* gpu_brier_final(float8[]): the mean squared error, or NULL without a row */
Datum
gr_brier_final(PG_FUNCTION_ARGS)
{
	double		began = gr_now();
	ArrayType  *array;
	double	   *state = open_brier(fcinfo, 0, false, &array);

	if (state[BRIER_N] == 0)
		PG_RETURN_NULL();
	gr_record_group(fcinfo, "gpu_brier", (int64) Min(state[BRIER_N], (double) PG_INT64_MAX / 2), 1, began);
	PG_RETURN_FLOAT8(gr_dd_to_double(gr_dd_div((GrDD) {state[BRIER_HI], state[BRIER_LO]}, gr_dd(state[BRIER_N]))));
}
