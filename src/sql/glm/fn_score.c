/*
 * fn_score.c: gpu_auc and gpu_brier, aggregates that score predictions against outcomes.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "port.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "compute/base/dd.h"
#include "rows/state/aggregate.h"
#include "run/args.h"
#include "run/clock.h"

PG_FUNCTION_INFO_V1(gr_auc_accum);
PG_FUNCTION_INFO_V1(gr_auc_combine);
PG_FUNCTION_INFO_V1(gr_auc_serialize);
PG_FUNCTION_INFO_V1(gr_auc_deserialize);
PG_FUNCTION_INFO_V1(gr_auc_final);
PG_FUNCTION_INFO_V1(gr_brier_accum);
PG_FUNCTION_INFO_V1(gr_brier_combine);
PG_FUNCTION_INFO_V1(gr_brier_final);

/* Limit in bytes of gpu_auc's state per group. Documented in docs/reference/tests.md. */
#define KEPT_NBYTES_MAX ((Size) 256 << 20)
#define FIRST_CAPACITY 16

/* Number of rows with one score, by label. */
typedef struct Tally
{
	double		score;
	uint32		nzeros;
	uint32		nones;
} Tally;

/* State of gpu_auc, in the aggregate's memory. Its serialized form is the tallies, in this machine's byte order. */
typedef struct Auc
{
	int64		n;				/* number of tallies */
	int64		capacity;
	Tally	   *tallies;		/* in any order; a score may have several tallies */
} Auc;

/*
 * gpu_auc: the area under the ROC curve, from the rank sum of Mann and Whitney
 */

static int
compare_scores(const void *a, const void *b, void *arg)
{
	double		x = ((const Tally *) a)->score;
	double		y = ((const Tally *) b)->score;

	return x < y ? -1 : x > y;
}

/* Sorts the tallies by score and merges those of equal scores, unless their counts would overflow. */
static void
merge_tallies(Auc *auc)
{
	int64		n = 0;

	qsort_interruptible(auc->tallies, auc->n, sizeof(Tally), compare_scores, NULL);
	for (int64 k = 0; k < auc->n; k++)
	{
		const Tally next = auc->tallies[k];
		Tally	   *last = n > 0 ? &auc->tallies[n - 1] : NULL;

		if (last != NULL && last->score == next.score && next.nzeros <= PG_UINT32_MAX - last->nzeros &&
			next.nones <= PG_UINT32_MAX - last->nones)
		{
			last->nzeros += next.nzeros;
			last->nones += next.nones;
		}
		else
			auc->tallies[n++] = next;
		gr_poll_loop(k);
	}
	auc->n = n;
}

/*
 * Makes room for one more tally: merges, and doubles the capacity if more than half of it stays in use. Raises an ERROR
 * if the limit is reached.
 */
static void
make_room(Auc *auc)
{
	int64		capacity_max = KEPT_NBYTES_MAX / sizeof(Tally);

	if (auc->n < auc->capacity)
		return;
	merge_tallies(auc);
	if (auc->n > auc->capacity / 2 && auc->capacity < capacity_max)
	{
		auc->capacity = Min(2 * auc->capacity, capacity_max);
		auc->tallies = repalloc(auc->tallies, auc->capacity * sizeof(Tally));
	}
	/* a nearly full state would be sorted again and again */
	if (auc->n > auc->capacity - auc->capacity / 8)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("gpu_auc keeps at most %zu MB of scores", KEPT_NBYTES_MAX >> 20),
				 errdetail("There are " INT64_FORMAT " different scores so far.", auc->n),
				 errhint("Round the scores, or take a sample of the rows.")));
}

static void
add_tally(Auc *auc, Tally tally)
{
	make_room(auc);
	auc->tallies[auc->n++] = tally;
}

static Auc *
create_auc(MemoryContext context, int64 capacity)
{
	Auc		   *auc = MemoryContextAllocZero(context, sizeof(Auc));

	auc->capacity = Max(capacity, FIRST_CAPACITY);
	auc->tallies = MemoryContextAlloc(context, auc->capacity * sizeof(Tally));
	return auc;
}

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

/* gpu_auc_accum(internal, score float8, label float8 or boolean): counts one row; skips it if either is NULL. */
Datum
gr_auc_accum(PG_FUNCTION_ARGS)
{
	MemoryContext context = gr_aggregate_context(fcinfo);
	Auc		   *auc = PG_ARGISNULL(0) ? NULL : (Auc *) PG_GETARG_POINTER(0);
	double		score;
	bool		label;

	if (PG_ARGISNULL(1) || PG_ARGISNULL(2))
	{
		if (auc == NULL)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(auc);
	}
	score = PG_GETARG_FLOAT8(1);
	label = label_of(gr_number_argument(fcinfo, 2));
	if (isnan(score))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("score must not be NaN"),
				 errhint("Leave such rows out, or make the value NULL: rows with a NULL are skipped.")));
	if (auc == NULL)
		auc = create_auc(context, FIRST_CAPACITY);
	add_tally(auc, (Tally) {score, label ? 0 : 1, label ? 1 : 0});
	PG_RETURN_POINTER(auc);
}

/* gpu_auc_combine(internal, internal) */
Datum
gr_auc_combine(PG_FUNCTION_ARGS)
{
	MemoryContext context = gr_aggregate_context(fcinfo);
	Auc		   *auc = PG_ARGISNULL(0) ? NULL : (Auc *) PG_GETARG_POINTER(0);
	Auc		   *other = PG_ARGISNULL(1) ? NULL : (Auc *) PG_GETARG_POINTER(1);

	if (auc == NULL && other == NULL)
		PG_RETURN_NULL();
	if (auc == NULL)
		auc = create_auc(context, other->n);
	for (int64 k = 0; other != NULL && k < other->n; k++)
	{
		add_tally(auc, other->tallies[k]);
		gr_poll_loop(k);
	}
	PG_RETURN_POINTER(auc);
}

/* gpu_auc_serialize(internal) */
Datum
gr_auc_serialize(PG_FUNCTION_ARGS)
{
	Auc		   *auc;
	Size		nbytes;
	bytea	   *result;

	(void) gr_aggregate_context(fcinfo);
	auc = (Auc *) PG_GETARG_POINTER(0);
	merge_tallies(auc);
	nbytes = auc->n * sizeof(Tally);
	result = palloc(VARHDRSZ + nbytes);
	SET_VARSIZE(result, VARHDRSZ + nbytes);
	memcpy(VARDATA(result), auc->tallies, nbytes);
	PG_RETURN_BYTEA_P(result);
}

static void raise_malformed_auc(void) __attribute__((noreturn));

static void
raise_malformed_auc(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
			 errmsg("malformed state of gpu_auc")));
}

/* gpu_auc_deserialize(bytea, internal) */
Datum
gr_auc_deserialize(PG_FUNCTION_ARGS)
{
	bytea	   *bytes;
	Size		nbytes;
	Auc		   *auc;

	(void) gr_aggregate_context(fcinfo);
	bytes = PG_GETARG_BYTEA_PP(0);
	nbytes = VARSIZE_ANY_EXHDR(bytes);
	if (nbytes % sizeof(Tally) != 0 || nbytes > KEPT_NBYTES_MAX)
		raise_malformed_auc();
	/* in the caller's memory, because a deserialized state is only read */
	auc = create_auc(CurrentMemoryContext, nbytes / sizeof(Tally));
	auc->n = nbytes / sizeof(Tally);
	memcpy(auc->tallies, VARDATA_ANY(bytes), nbytes);
	for (int64 k = 0; k < auc->n; k++)
	{
		/* NaN is not equal to itself, so its tallies could not be merged */
		if (isnan(auc->tallies[k].score))
			raise_malformed_auc();
		gr_poll_loop(k);
	}
	PG_RETURN_POINTER(auc);
}

/*
 * gpu_auc_final(internal): the share of pairs of a one and a zero in which the one has the greater score; equal scores
 * count half. The sums of products of counts are exact in double-double.
 */
Datum
gr_auc_final(PG_FUNCTION_ARGS)
{
	double		began = gr_now();
	Auc		   *auc;
	double		nzeros = 0;
	double		nones = 0;
	GrDD		twice = {0, 0};	/* twice the number of pairs won; a pair of equal scores counts 1 */

	(void) gr_aggregate_context(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	auc = (Auc *) PG_GETARG_POINTER(0);
	merge_tallies(auc);
	for (int64 k = 0; k < auc->n;)
	{
		double		score = auc->tallies[k].score;
		double		zeros = 0;
		double		ones = 0;

		for (; k < auc->n && auc->tallies[k].score == score; k++)
		{
			zeros += auc->tallies[k].nzeros;
			ones += auc->tallies[k].nones;
			gr_poll_loop(k);
		}
		twice = gr_dd_add(twice, gr_two_prod(ones, 2 * nzeros + zeros));
		nzeros += zeros;
		nones += ones;
	}
	if (nzeros == 0 || nones == 0)
		PG_RETURN_NULL();
	gr_record_group(fcinfo, "gpu_auc", (int64) (nzeros + nones), 1, began);
	PG_RETURN_FLOAT8(gr_dd_to_double(gr_dd_div(twice, gr_two_prod(2 * nones, nzeros))));
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
