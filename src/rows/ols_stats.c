/*
 * ols_stats.c: the SQL type gpu_ols_stats and the aggregates' transition functions.
 *
 * The transition type is this type itself, a flat varlena that is updated in place, and not an expanded object: those
 * need a memory context each, and HashAggregate walks all of its child contexts whenever it meets a new group, which is
 * quadratic in the number of groups. A value is only ever changed in place when the caller is an aggregate
 * and the value is its own transition value.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "access/parallel.h"
#include "common/int.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "lib/stringinfo.h"
#include "libpq/pqformat.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "compute/compute.h"
#include "compute/gram_shift.h"
#include "rows/columns.h"
#include "rows/ols_stats.h"
#include "rows/state_text.h"
#include "run/args.h"
#include "run/raise.h"

/* Rows a state can hold back: few at first, so that a small group stays small. */
#define FIRST_CAPACITY 4
#define FULL_CAPACITY 32

/* The kernel's scratch memory comes from the stack up to this many bytes. */
#define STACK_SCRATCH_NBYTES 32768

PG_FUNCTION_INFO_V1(gr_ols_stats_in);
PG_FUNCTION_INFO_V1(gr_ols_stats_out);
PG_FUNCTION_INFO_V1(gr_ols_stats_recv);
PG_FUNCTION_INFO_V1(gr_ols_stats_send);
PG_FUNCTION_INFO_V1(gr_ols_stats_accum);
PG_FUNCTION_INFO_V1(gr_ols_stats_accum_bool);
PG_FUNCTION_INFO_V1(gr_ols_pass_accum);
PG_FUNCTION_INFO_V1(gr_ols_stats_combine);
PG_FUNCTION_INFO_V1(gr_ols_stats_final);

/* Of a value of this version; a shift is as long as a row */
static Size
versioned_size(int version, int nfeatures, int capacity)
{
	Size		nrows = (Size) capacity + (version == 1 ? 0 : 1);
	Size		ncells = nfeatures < 0 ? 0 : 2 * (Size) gr_triangle((int64) nfeatures + 2) + nrows * ((Size) nfeatures + 1);

	return offsetof(GrOlsStats, data) + ncells * sizeof(double);
}

static Size
stats_size(int nfeatures, int capacity)
{
	return versioned_size(GR_OLS_STATS_VERSION, nfeatures, capacity);
}

static GrOlsStats *
stats_create(int nfeatures, int capacity)
{
	Size		size = stats_size(nfeatures, capacity);
	GrOlsStats *stats = palloc0(size);

	SET_VARSIZE(stats, size);
	stats->version = GR_OLS_STATS_VERSION;
	stats->nfeatures = nfeatures;
	stats->capacity = capacity;
	return stats;
}

/* A copy with another capacity, which must hold the rows that are pending. */
static GrOlsStats *
stats_resize(GrOlsStats *from, int capacity)
{
	GrOlsStats *stats;

	Assert(from->npending <= capacity);
	stats = stats_create(from->nfeatures, capacity);
	stats->nrows = from->nrows;
	stats->nskipped = from->nskipped;
	stats->nworkers = from->nworkers;
	stats->npending = from->npending;
	memcpy(stats->data, from->data, stats_size(from->nfeatures, from->npending) - offsetof(GrOlsStats, data));
	return stats;
}

static void
raise_canceled(void)
{
	GrError		err = {0};

	gr_fail(&err, GR_CANCELED, 0, "Gram matrix");
	gr_raise(&err);
}

/* The first rows choose the shift; where later ones don't bear it, the matrix is translated to one that they do. */
static void
settle_shift(GrOlsStats *stats, GrPoll *poll)
{
	int			p = stats->nfeatures;
	double	   *shift = gr_stats_shift(stats);
	double	   *pending = gr_stats_pending(stats);
	double	   *narrowed;

	if (gr_stats_hi(stats)[0] == 0.0)
	{
		(void) gr_shift_choose(shift, pending, stats->npending, p);
		return;
	}
	if (!gr_shift_any(shift, p) || gr_shift_exact(shift, pending, stats->npending, p))
		return;
	narrowed = palloc((p + 1) * sizeof(double));
	gr_shift_narrow(narrowed, shift, pending, stats->npending, p);
	if (!gr_gram_translate(gr_stats_hi(stats), gr_stats_lo(stats), p, shift, narrowed, poll))
		raise_canceled();
	memcpy(shift, narrowed, (p + 1) * sizeof(double));
	pfree(narrowed);
}

/* Adds the pending rows to the matrix. names: of the columns, for messages, or NULL */
static void
stats_flush(GrOlsStats *stats, const char *const *names)
{
	union
	{
		char		bytes[STACK_SCRATCH_NBYTES];
		double		align;
	}			local;
	int			p = stats->nfeatures;
	GrPoll		poll = {.host = &gr_host};
	Size		scratch_nbytes;
	double	   *scratch;
	int			column;

	if (stats->npending == 0)
		return;
	scratch_nbytes = gr_gram_scratch_nbytes(p);
	scratch = scratch_nbytes <= sizeof(local) ? (double *) &local : palloc(scratch_nbytes);
	settle_shift(stats, &poll);
	if (!gr_gram_add_polling(gr_stats_hi(stats), gr_stats_lo(stats), gr_stats_pending(stats), stats->npending, p,
							 gr_shift_any(gr_stats_shift(stats), p) ? gr_stats_shift(stats) : NULL, scratch,
							 gr_gram_lanes(p), &poll))
		raise_canceled();
	if (scratch != (double *) &local)
		pfree(scratch);

	if (!gr_gram_finite(gr_stats_hi(stats), p, &column))
	{
		GrError		err = {0};
		int			nonfinite;

		if (!gr_all_finite(gr_stats_pending(stats), stats->npending, p + 1, &nonfinite))
			gr_fail(&err, GR_NOT_FINITE, nonfinite, "%s", "");
		else
			gr_fail(&err, GR_OUT_OF_RANGE, column, "%s", "");
		gr_raise_columns(&err, p, names);
	}
	stats->npending = 0;
}

/* Wherever a state comes from outside an aggregate: text, the wire, a table. */
static void
check_version(int version)
{
	if (version < 1 || version > GR_OLS_STATS_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("unsupported gpu_ols_stats version %d", version),
				 errdetail("This version of gpureg reads versions 1 to %d.", GR_OLS_STATS_VERSION)));
}

/*
 * Is the value laid out as its own head says? All that is done with one rests on that; what the numbers are doesn't
 * matter.
 */
static bool
is_well_formed(const GrOlsStats *stats)
{
	if (stats->nfeatures < -1 || stats->nfeatures > GR_MAX_FEATURES || stats->npending < 0 ||
		stats->npending > stats->capacity || stats->capacity > FULL_CAPACITY ||
		(stats->nfeatures < 0 && stats->capacity > 0))
		return false;
	return VARSIZE(stats) == versioned_size(stats->version, stats->nfeatures, stats->capacity);
}

/* A value of version 1, well formed, as one of this version: its shift is 0. */
static GrOlsStats *
upgraded(const GrOlsStats *from)
{
	GrOlsStats *stats = stats_create(from->nfeatures, from->capacity);
	Size		nsums = 2 * gr_stats_triangle(from);

	stats->nrows = from->nrows;
	stats->nskipped = from->nskipped;
	stats->nworkers = from->nworkers;
	stats->npending = from->npending;
	memcpy(stats->data, from->data, nsums * sizeof(double));
	memcpy(gr_stats_pending(stats), from->data + nsums, (Size) from->npending * gr_stats_ncols(from) * sizeof(double));
	return stats;
}

/* A value that comes from a caller: well formed, and of this version or made so. ERROR if it isn't. */
static GrOlsStats *
checked(GrOlsStats *stats)
{
	if (VARSIZE(stats) >= offsetof(GrOlsStats, data))
		check_version(stats->version);
	if (VARSIZE(stats) < offsetof(GrOlsStats, data) || !is_well_formed(stats))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("malformed gpu_ols_stats")));
	return stats->version == GR_OLS_STATS_VERSION ? stats : upgraded(stats);
}

GrOlsStats *
gr_stats_settled_named(Datum datum, const char *const *names)
{
	GrOlsStats *stats = checked((GrOlsStats *) PG_DETOAST_DATUM(datum));

	if (stats->capacity == 0)
		return stats;
	stats = stats_resize(stats, stats->npending);
	stats_flush(stats, names);
	stats->capacity = 0;
	SET_VARSIZE(stats, stats_size(stats->nfeatures, 0));
	return stats;
}

static GrOlsStats *
state_argument(FunctionCallInfo fcinfo, int argno)
{
	bool		own;
	GrOlsStats *state = gr_aggregate_state(fcinfo, argno, &own);

	return state == NULL || (own && likely(state->version == GR_OLS_STATS_VERSION)) ? state : checked(state);
}

/* A state handed to SQL outside an aggregate has no pending rows. */
static Datum
state_result(FunctionCallInfo fcinfo, GrOlsStats *state)
{
	if (AggCheckCallContext(fcinfo, NULL))
		PG_RETURN_POINTER(state);
	PG_RETURN_POINTER(gr_stats_settled(PointerGetDatum(state)));
}

static int
first_capacity(int p)
{
	return p < FULL_CAPACITY ? FIRST_CAPACITY : FULL_CAPACITY;
}

/* A state for p features, in place of one that has only left rows out, or of none */
static GrOlsStats *
first_state(const GrOlsStats *before, int p)
{
	GrOlsStats *state;

	state = stats_create(p, first_capacity(p));
	state->nskipped = before == NULL ? 0 : before->nskipped;
	return state;
}

/*
 * Where the next row of p features goes; ERROR if the state is for others. Room for it may take a new state, in the
 * current context: the aggregate takes it over by a copy into its own context, so this happens once or twice for a
 * state, and once where the matrix is larger than the rows.
 */
static inline double *
next_row(GrOlsStats **state, int p)
{
	GrOlsStats *stats = *state;

	if (unlikely(stats == NULL || stats->nfeatures < 0))
		stats = first_state(stats, p);
	gr_check_same_width(stats->nfeatures, p);
	if (unlikely(stats->npending == stats->capacity))
	{
		if (stats->capacity < FULL_CAPACITY)
			stats = stats_resize(stats, stats->capacity == 0 ? first_capacity(p) : FULL_CAPACITY);
		else
			stats_flush(stats, NULL);
	}
	*state = stats;
	return gr_stats_pending(stats) + (Size) stats->npending * (p + 1);
}

/* y and x of one row; y_null stands for a NULL of either kind of y */
static inline Datum
accumulate(FunctionCallInfo fcinfo, double y, bool y_null)
{
	GrOlsStats *state = state_argument(fcinfo, 0);
	ArrayType  *x = PG_ARGISNULL(2) ? NULL : PG_GETARG_ARRAYTYPE_P(2);
	double	   *row;
	int			p;

	if (x != NULL)
		gr_check_vector(x, "x");
	if (x == NULL || y_null || array_contains_nulls(x))
	{
		if (state == NULL)
			state = stats_create(-1, 0);
		gr_add_count(&state->nskipped, 1);
		return state_result(fcinfo, state);
	}
	p = ArrayGetNItems(ARR_NDIM(x), ARR_DIMS(x));
	if (unlikely(state == NULL || state->nfeatures < 0))
		gr_check_nfeatures(p);
	row = next_row(&state, p);
	memcpy(row, ARR_DATA_PTR(x), p * sizeof(double));
	row[p] = y;
	state->npending++;
	gr_add_count(&state->nrows, 1);
	return state_result(fcinfo, state);
}

/* gr_ols_stats_accum(state gpu_ols_stats, y float8, VARIADIC x float8[]) */
Datum
gr_ols_stats_accum(PG_FUNCTION_ARGS)
{
	bool		null = PG_ARGISNULL(1);

	return accumulate(fcinfo, null ? 0 : PG_GETARG_FLOAT8(1), null);
}

/* gr_ols_stats_accum_bool(state gpu_ols_stats, y boolean, VARIADIC x float8[]) */
Datum
gr_ols_stats_accum_bool(PG_FUNCTION_ARGS)
{
	bool		null = PG_ARGISNULL(1);

	return accumulate(fcinfo, null ? 0 : PG_GETARG_BOOL(1) ? 1 : 0, null);
}

/* gr_ols_stats_combine(state gpu_ols_stats, other gpu_ols_stats): either may be NULL */
Datum
gr_ols_stats_combine(PG_FUNCTION_ARGS)
{
	GrOlsStats *state = state_argument(fcinfo, 0);
	GrOlsStats *other;
	GrPoll		poll = {.host = &gr_host};
	int			column;

	if (PG_ARGISNULL(1))
	{
		if (state == NULL)
			PG_RETURN_NULL();
		return state_result(fcinfo, state);
	}
	other = gr_stats_settled(PG_GETARG_DATUM(1));
	if (state == NULL || state->nfeatures < 0)
	{
		GrOlsStats *fresh = stats_resize(other, 0);

		if (state != NULL)
			gr_add_count(&fresh->nskipped, state->nskipped);
		return state_result(fcinfo, fresh);
	}
	gr_add_count(&state->nskipped, other->nskipped);
	if (other->nfeatures < 0)
		return state_result(fcinfo, state);
	if (state->nfeatures != other->nfeatures)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot combine states with different numbers of features"),
				 errdetail("One has %d, the other has %d.", Min(state->nfeatures, other->nfeatures),
						   Max(state->nfeatures, other->nfeatures))));
	stats_flush(state, NULL);
	if (!gr_gram_merge_shifted(gr_stats_hi(state), gr_stats_lo(state), gr_stats_shift(state), gr_stats_hi(other),
							   gr_stats_lo(other), gr_stats_shift(other), state->nfeatures, &poll))
		raise_canceled();
	gr_add_count(&state->nrows, other->nrows);
	state->nworkers = (int16) Min(state->nworkers + other->nworkers, PG_INT16_MAX);
	if (!gr_gram_finite(gr_stats_hi(state), state->nfeatures, &column))
	{
		GrError		err = {0};

		gr_fail(&err, GR_OUT_OF_RANGE, column, "%s", "");
		gr_raise_columns(&err, state->nfeatures, NULL);
	}
	return state_result(fcinfo, state);
}

/*
 * gpu_ols_pass
 */

/* Arguments */
#define ARG_NAMES 1
#define ARG_WIDTHS 2
#define FIRST_COLUMN 3			/* the response, then the features */

/* Described at the first call; arrays whose widths aren't given have those of the first complete row. */
static GrColumns *
pass_columns(FunctionCallInfo fcinfo)
{
	GrColumns  *columns = fcinfo->flinfo->fn_extra;

	if (columns == NULL)
	{
		columns = gr_argument_columns(fcinfo, FIRST_COLUMN);
		if (!PG_ARGISNULL(ARG_WIDTHS) && !gr_read_widths(fcinfo, columns, ARG_WIDTHS))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("gpu_ols_pass needs a width for each column"),
					 errhint("It is for the use of gpu_ols_fit.")));
		if (columns->nfeatures >= 0)
		{
			if (columns->n > 1)
				gr_check_nfeatures(columns->nfeatures);
			gr_name_arrays(fcinfo, columns, ARG_NAMES);
		}
		fcinfo->flinfo->fn_extra = columns;
	}
	if (columns->nfeatures < 0 && gr_arguments_complete(fcinfo, columns, FIRST_COLUMN))
	{
		gr_measure_row(columns, GR_ARGUMENT_VALUES(fcinfo, FIRST_COLUMN));
		gr_name_arrays(fcinfo, columns, ARG_NAMES);
	}
	return columns;
}

/* Values whose squares may leave float8's range, or that have none; the sums of others of so many rows can't. */
static inline bool
is_extreme(const double *row, int n)
{
	bool		extreme = false;

	for (int k = 0; k < n; k++)
		extreme |= !(fabs(row[k]) < 1e140);
	return extreme;
}

/* gr_ols_pass_accum(state gpu_ols_stats, names text[], widths int[], VARIADIC "any") */
Datum
gr_ols_pass_accum(PG_FUNCTION_ARGS)
{
	GrOlsStats *state = state_argument(fcinfo, 0);
	GrColumns  *columns = pass_columns(fcinfo);
	double	   *row;

	if (!gr_arguments_complete(fcinfo, columns, FIRST_COLUMN))
	{
		if (state == NULL)
			state = stats_create(-1, 0);
		gr_add_count(&state->nskipped, 1);
		return state_result(fcinfo, state);
	}
	row = next_row(&state, columns->nfeatures);
	if (!gr_convert_row(columns, GR_ARGUMENT_VALUES(fcinfo, FIRST_COLUMN), row))
	{
		gr_add_count(&state->nskipped, 1);
		return state_result(fcinfo, state);
	}
	state->npending++;
	state->nworkers = IsParallelWorker();
	gr_add_count(&state->nrows, 1);
	/* here and now, where the names are at hand */
	if (unlikely(is_extreme(row, state->nfeatures + 1)))
		stats_flush(state, gr_read_names(fcinfo, columns, ARG_NAMES));
	return state_result(fcinfo, state);
}

/* gr_ols_stats_final(state gpu_ols_stats): the state as a value; NULL if it has no complete row */
Datum
gr_ols_stats_final(PG_FUNCTION_ARGS)
{
	GrOlsStats *stats;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	stats = gr_stats_settled(PG_GETARG_DATUM(0));
	if (stats->nrows == 0)
		PG_RETURN_NULL();
	/* in a window frame that grows, the aggregate goes on changing its state: what was returned must not follow */
	if ((Pointer) stats == PG_GETARG_POINTER(0))
		stats = stats_resize(stats, 0);
	PG_RETURN_POINTER(stats);
}

/*
 * Refuses what no rows can have summed to. Entries are checked one by one and against their diagonal (Cauchy and
 * Schwarz); a matrix that passes and still isn't one of cross products is met by the solver as collinear terms.
 */
static void
check_stats(GrOlsStats *stats)
{
	double	   *hi = gr_stats_hi(stats);
	double	   *lo = gr_stats_lo(stats);
	bool		ok = stats->nrows >= 0 && stats->nskipped >= 0 && (stats->nfeatures >= 0 || stats->nrows == 0);

	for (int64 i = 0; ok && stats->nfeatures >= 0 && i < stats->nfeatures + 2; i++)
	{
		double		dii = hi[i * (i + 1) / 2 + i];

		CHECK_FOR_INTERRUPTS();
		for (int64 j = 0; ok && j <= i; j++)
		{
			int64		k = i * (i + 1) / 2 + j;
			double		djj = hi[j * (j + 1) / 2 + j];

			ok = isfinite(hi[k]) && isfinite(lo[k]) && hi[k] + lo[k] == hi[k] &&
				fabs(hi[k]) <= sqrt(dii) * sqrt(djj) * (1 + 1e-14) + DBL_MIN;
		}
	}
	if (ok && stats->nfeatures >= 0)
		ok = hi[0] == (double) stats->nrows || hi[0] + lo[0] == (double) stats->nrows;
	for (int j = 0; ok && j < gr_stats_ncols(stats); j++)
		ok = isfinite(gr_stats_shift(stats)[j]);
	if (!ok)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("invalid value for type %s", "gpu_ols_stats"),
				 errdetail("Its sums cannot come from any rows.")));
}

/*
 * Text: {"version":2,"features":p,"rows":n,"skipped":k,"shift":[c,...],"gram":[hi,lo,hi,lo,...]}, valid JSON, each number
 * with the digits that give back the same float8 whatever extra_float_digits says. Version 1 has no shift.
 */
Datum
gr_ols_stats_out(PG_FUNCTION_ARGS)
{
	GrOlsStats *stats = gr_stats_settled(PG_GETARG_DATUM(0));
	int64		triangle = gr_stats_triangle(stats);
	double	   *hi = gr_stats_hi(stats);
	double	   *lo = gr_stats_lo(stats);
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfo(&buf, "{\"version\":%d,\"features\":%d,\"rows\":" INT64_FORMAT ",\"skipped\":" INT64_FORMAT ",\"shift\":[",
					 stats->version, stats->nfeatures, stats->nrows, stats->nskipped);
	for (int j = 0; j < gr_stats_ncols(stats); j++)
	{
		if (j > 0)
			appendStringInfoChar(&buf, ',');
		gr_append_number(&buf, gr_stats_shift(stats)[j]);
	}
	appendStringInfoString(&buf, "],\"gram\":[");
	for (int64 k = 0; k < triangle; k++)
	{
		if (k > 0)
			appendStringInfoChar(&buf, ',');
		gr_append_number(&buf, hi[k]);
		appendStringInfoChar(&buf, ',');
		gr_append_number(&buf, lo[k]);
		if ((k & 0xfff) == 0)
			CHECK_FOR_INTERRUPTS();
	}
	appendStringInfoString(&buf, "]}");
	PG_RETURN_CSTRING(buf.data);
}

/* The frame of the text up to its shift or its sums: a state with room for them. Its version is then this one; *version: the text's */
static GrOlsStats *
parse_head(GrTextReader *reader, int *version)
{
	int			nfeatures;
	int64		nrows;
	int64		nskipped;
	GrOlsStats *stats;

	gr_text_expect(reader, "{");
	gr_text_key(reader, "version");
	*version = (int) gr_text_integer(reader, 0, PG_INT32_MAX);
	check_version(*version);
	gr_text_expect(reader, ",");
	gr_text_key(reader, "features");
	nfeatures = (int) gr_text_integer(reader, -1, GR_MAX_FEATURES);
	gr_text_expect(reader, ",");
	gr_text_key(reader, "rows");
	nrows = gr_text_integer(reader, 0, PG_INT64_MAX);
	gr_text_expect(reader, ",");
	gr_text_key(reader, "skipped");
	nskipped = gr_text_integer(reader, 0, PG_INT64_MAX);
	gr_text_expect(reader, ",");
	/* a number takes two bytes at least: don't allocate for more than the text can hold */
	if (nfeatures >= 0 && (Size) gr_triangle(nfeatures + 2) * 4 > strlen(reader->at) + 1)
		gr_text_bad(reader);
	stats = stats_create(nfeatures, 0);
	stats->nrows = nrows;
	stats->nskipped = nskipped;
	return stats;
}

static GrOlsStats *
parse_stats(const char *string)
{
	GrTextReader reader = {.type = "gpu_ols_stats",.string = string,.at = string};
	int			version;
	GrOlsStats *stats = parse_head(&reader, &version);
	int64		triangle = gr_stats_triangle(stats);

	if (version > 1)
	{
		gr_text_key(&reader, "shift");
		gr_text_expect(&reader, "[");
		for (int j = 0; j < gr_stats_ncols(stats); j++)
		{
			if (j > 0)
				gr_text_expect(&reader, ",");
			gr_stats_shift(stats)[j] = gr_text_number(&reader, NAN);
		}
		gr_text_expect(&reader, "]");
		gr_text_expect(&reader, ",");
	}
	gr_text_key(&reader, "gram");
	gr_text_expect(&reader, "[");
	for (int64 k = 0; k < triangle; k++)
	{
		if (k > 0)
			gr_text_expect(&reader, ",");
		gr_stats_hi(stats)[k] = gr_text_number(&reader, NAN);
		gr_text_expect(&reader, ",");
		gr_stats_lo(stats)[k] = gr_text_number(&reader, NAN);
		if ((k & 0xfff) == 0)
			CHECK_FOR_INTERRUPTS();
	}
	gr_text_expect(&reader, "]");
	gr_text_expect(&reader, "}");
	gr_text_end(&reader);
	return stats;
}

Datum
gr_ols_stats_in(PG_FUNCTION_ARGS)
{
	GrOlsStats *stats = parse_stats(PG_GETARG_CSTRING(0));

	check_stats(stats);
	PG_RETURN_POINTER(stats);
}

Datum
gr_ols_stats_send(PG_FUNCTION_ARGS)
{
	GrOlsStats *stats = gr_stats_settled(PG_GETARG_DATUM(0));
	int64		triangle = gr_stats_triangle(stats);
	StringInfoData buf;

	pq_begintypsend(&buf);
	pq_sendint16(&buf, stats->version);
	pq_sendint32(&buf, stats->nfeatures);
	pq_sendint64(&buf, stats->nrows);
	pq_sendint64(&buf, stats->nskipped);
	for (int j = 0; j < gr_stats_ncols(stats); j++)
		pq_sendfloat8(&buf, gr_stats_shift(stats)[j]);
	for (int64 k = 0; k < triangle; k++)
	{
		pq_sendfloat8(&buf, gr_stats_hi(stats)[k]);
		pq_sendfloat8(&buf, gr_stats_lo(stats)[k]);
	}
	PG_RETURN_BYTEA_P(pq_endtypsend(&buf));
}

Datum
gr_ols_stats_recv(PG_FUNCTION_ARGS)
{
	StringInfo	buf = (StringInfo) PG_GETARG_POINTER(0);
	int			version = pq_getmsgint(buf, 2);
	int			nfeatures;
	int64		triangle;
	int64		nrows;
	int64		nskipped;
	Size		nbytes;
	GrOlsStats *stats;

	check_version(version);
	nfeatures = (int) pq_getmsgint(buf, 4);
	nrows = pq_getmsgint64(buf);
	nskipped = pq_getmsgint64(buf);
	triangle = nfeatures < 0 ? 0 : gr_triangle((int64) nfeatures + 2);
	nbytes = versioned_size(version, nfeatures, 0) - offsetof(GrOlsStats, data);
	if (nfeatures < -1 || nfeatures > GR_MAX_FEATURES || (Size) (buf->len - buf->cursor) != nbytes)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("invalid length in external \"%s\" value", "gpu_ols_stats")));
	stats = stats_create(nfeatures, 0);
	stats->nrows = nrows;
	stats->nskipped = nskipped;
	for (int j = 0; version > 1 && j < gr_stats_ncols(stats); j++)
		gr_stats_shift(stats)[j] = pq_getmsgfloat8(buf);
	for (int64 k = 0; k < triangle; k++)
	{
		gr_stats_hi(stats)[k] = pq_getmsgfloat8(buf);
		gr_stats_lo(stats)[k] = pq_getmsgfloat8(buf);
	}
	check_stats(stats);
	PG_RETURN_POINTER(stats);
}
