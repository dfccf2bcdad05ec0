/*
 * fn_score.c: gpu_auc, gpu_ks, gpu_brier and gpu_logloss, aggregates that score predictions against outcomes, and the
 * counts of gpu_confusion.
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
PG_FUNCTION_INFO_V1(gr_ks_final);
PG_FUNCTION_INFO_V1(gr_brier_accum);
PG_FUNCTION_INFO_V1(gr_brier_combine);
PG_FUNCTION_INFO_V1(gr_brier_final);
PG_FUNCTION_INFO_V1(gr_logloss_accum);
PG_FUNCTION_INFO_V1(gr_logloss_final);
PG_FUNCTION_INFO_V1(gr_confusion_accum);
PG_FUNCTION_INFO_V1(gr_confusion_combine);

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

/* Raises an ERROR if a score is NaN. */
static void
check_score(double score)
{
	if (isnan(score))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("score must not be NaN"),
				 errhint("Leave such rows out, or make the value NULL: rows with a NULL are skipped.")));
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
	check_score(score);
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
 * gpu_ks_final(internal): the statistic of Kolmogorov and Smirnov, the greatest difference between the shares of ones
 * and of zeros that have at least a score. NULL if all labels are the same.
 */
Datum
gr_ks_final(PG_FUNCTION_ARGS)
{
	double		began = gr_now();
	GrRanking  *ranking;
	GrRankingWalk walk;
	int64		nzeros;
	int64		nones;
	GrDD		greatest = {0, 0};	/* difference times nzeros nones */

	(void) gr_aggregate_context(fcinfo);
	ranking = state_argument(fcinfo, 0);
	if (ranking == NULL)
		PG_RETURN_NULL();
	nzeros = gr_ranking_nrows(ranking, false);
	nones = gr_ranking_nrows(ranking, true);
	if (nzeros == 0 || nones == 0)
		PG_RETURN_NULL();
	gr_ranking_walk_begin(&walk, ranking);
	while (gr_ranking_walk_next(&walk))
	{
		GrDD		difference = gr_dd_sub(gr_two_prod((double) walk.true_positives, (double) nzeros),
										   gr_two_prod((double) walk.false_positives, (double) nones));

		if (difference.hi < 0)
			difference = gr_dd_neg(difference);
		if (difference.hi > greatest.hi || (difference.hi == greatest.hi && difference.lo > greatest.lo))
			greatest = difference;
	}
	gr_record_group(fcinfo, "gpu_ks", nzeros + nones, 1, began);
	PG_RETURN_FLOAT8(gr_dd_to_double(gr_dd_div(greatest, gr_two_prod((double) nones, (double) nzeros))));
}

/*
 * gpu_brier: the mean of (probability - label)^2; gpu_logloss: the mean of -log(the probability of the label)
 */

/* State of gpu_brier and gpu_logloss: an array of the number of rows and the sum as hi + lo */
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

	/* a loss may be infinite, and stays so */
	if (isinf(state[BRIER_HI]) || isinf(sum.hi))
		total = gr_dd(INFINITY);
	state[BRIER_N] += n;
	state[BRIER_HI] = total.hi;
	state[BRIER_LO] = total.lo;
}

static void
check_probability(double probability)
{
	if (!(probability >= 0 && probability <= 1))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("probability must be between 0 and 1, got %g", probability),
				 errhint("Use gpu_auc for scores that are not probabilities.")));
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
	check_probability(probability);
	difference = gr_two_sum(probability, -label_of(gr_number_argument(fcinfo, 2)));
	add_brier(state, 1, gr_dd_mul(difference, difference));
	PG_RETURN_ARRAYTYPE_P(array);
}

/* gpu_logloss_accum(float8[], probability float8, label float8 or boolean): adds the loss of one row. */
Datum
gr_logloss_accum(PG_FUNCTION_ARGS)
{
	ArrayType  *array;
	double	   *state;
	double		probability;
	bool		label;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	state = open_brier(fcinfo, 0, true, &array);
	if (PG_ARGISNULL(1) || PG_ARGISNULL(2))
		PG_RETURN_ARRAYTYPE_P(array);
	probability = PG_GETARG_FLOAT8(1);
	check_probability(probability);
	label = label_of(gr_number_argument(fcinfo, 2));
	/* 0 - x: a sure prediction loses 0, not -0 */
	add_brier(state, 1, gr_dd(0 - (label ? log(probability) : log1p(-probability))));
	PG_RETURN_ARRAYTYPE_P(array);
}

/* gpu_brier_combine(float8[], float8[]): also of gpu_logloss */
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

/* Returns the mean of a state, or NULL without a row. */
static Datum
mean_of_state(FunctionCallInfo fcinfo, const char *function)
{
	double		began = gr_now();
	ArrayType  *array;
	double	   *state = open_brier(fcinfo, 0, false, &array);

	if (state[BRIER_N] == 0)
		PG_RETURN_NULL();
	gr_record_group(fcinfo, function, (int64) Min(state[BRIER_N], (double) PG_INT64_MAX / 2), 1, began);
	if (isinf(state[BRIER_HI]))
		PG_RETURN_FLOAT8(state[BRIER_HI]);
	PG_RETURN_FLOAT8(gr_dd_to_double(gr_dd_div((GrDD) {state[BRIER_HI], state[BRIER_LO]}, gr_dd(state[BRIER_N]))));
}

/* gpu_brier_final(float8[]): the mean squared error, or NULL without a row */
Datum
gr_brier_final(PG_FUNCTION_ARGS)
{
	return mean_of_state(fcinfo, "gpu_brier");
}

/* gpu_logloss_final(float8[]): the mean loss, or NULL without a row */
Datum
gr_logloss_final(PG_FUNCTION_ARGS)
{
	return mean_of_state(fcinfo, "gpu_logloss");
}

/*
 * gpu_confusion_pass: an array of the number of rows by prediction and label, of bigint; see fn_roc.c
 */

#define CONFUSION_NCOUNTS 4

/* Like open_brier(), for counts. */
static int64 *
open_confusion(FunctionCallInfo fcinfo, int argument, bool change, ArrayType **array)
{
	ArrayType  *state = change && !gr_in_aggregate(fcinfo) ? PG_GETARG_ARRAYTYPE_P_COPY(argument) :
		PG_GETARG_ARRAYTYPE_P(argument);
	int64	   *counts = (int64 *) ARR_DATA_PTR(state);
	bool		valid = ARR_NDIM(state) == 1 && ARR_DIMS(state)[0] == CONFUSION_NCOUNTS && !ARR_HASNULL(state) &&
		ARR_ELEMTYPE(state) == INT8OID;

	for (int k = 0; valid && k < CONFUSION_NCOUNTS; k++)
		valid = counts[k] >= 0;
	if (!valid)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("malformed state of gpu_confusion_pass")));
	*array = state;
	return counts;
}

/* gpu_confusion_accum(bigint[], threshold float8, score float8, label float8 or boolean): counts one row. */
Datum
gr_confusion_accum(PG_FUNCTION_ARGS)
{
	ArrayType  *array;
	int64	   *counts;
	bool		label;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	counts = open_confusion(fcinfo, 0, true, &array);
	if (PG_ARGISNULL(1) || PG_ARGISNULL(2) || PG_ARGISNULL(3))
		PG_RETURN_ARRAYTYPE_P(array);
	label = label_of(gr_number_argument(fcinfo, 3));
	check_score(PG_GETARG_FLOAT8(2));
	/* predicted 0: of label 1, of label 0; predicted 1: of label 1, of label 0 */
	gr_add_count(&counts[(PG_GETARG_FLOAT8(2) >= PG_GETARG_FLOAT8(1) ? 2 : 0) + (label ? 0 : 1)], 1);
	PG_RETURN_ARRAYTYPE_P(array);
}

/* gpu_confusion_combine(bigint[], bigint[]) */
Datum
gr_confusion_combine(PG_FUNCTION_ARGS)
{
	ArrayType  *array;
	ArrayType  *other_array;
	int64	   *counts = open_confusion(fcinfo, 0, true, &array);
	const int64 *other = open_confusion(fcinfo, 1, false, &other_array);

	for (int k = 0; k < CONFUSION_NCOUNTS; k++)
		gr_add_count(&counts[k], other[k]);
	PG_RETURN_ARRAYTYPE_P(array);
}
