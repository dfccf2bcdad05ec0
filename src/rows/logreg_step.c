/*
 * logreg_step.c: the SQL type gpu_logreg_step and its aggregates' transition functions.
 *
 * Two aggregates share them. gpu_logreg_step_agg(beta, y, x...) is for users: one Newton step, by a client's own loop
 * or a distributed engine's. gpu_logreg_pass(request, names, widths, columns...) is what gpu_logreg_fit() runs over its
 * query, in parallel workers, once a pass; it takes the columns as they are. As with gpu_ols_stats, the state is flat
 * and updated in place by an aggregate.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "compute/basis.h"
#include "compute/compute.h"
#include "compute/glm.h"
#include "rows/columns.h"
#include "rows/logreg_step.h"
#include "run/args.h"
#include "run/raise.h"

/*
 * Rows a state holds back: few at first, so that a small group stays small, then as many as the kernels like at a time.
 */
#define FIRST_CAPACITY 8
#define FULL_CAPACITY 256

/* More than a fit ever follows. */
#define MAX_FACES 64

PG_FUNCTION_INFO_V1(gr_logreg_step_accum);
PG_FUNCTION_INFO_V1(gr_logreg_step_accum_bool);
PG_FUNCTION_INFO_V1(gr_logreg_pass_accum);
PG_FUNCTION_INFO_V1(gr_logreg_step_combine);
PG_FUNCTION_INFO_V1(gr_logreg_step_final);

static Size
step_size(GrPassKind kind, int nfeatures, int nfaces, int internal, int capacity)
{
	Size		t = nfeatures + 1;
	Size		nchanged = internal > 0 ? internal - 1 : 0;
	Size		ncells = nfeatures < 0 ? 0 :
		3 * t + (nfaces + nchanged) * (t + 1) + gr_pass_nsums(kind, nfeatures) + capacity * t;

	return offsetof(GrStep, data) + ncells * sizeof(double);
}

GrStep *
gr_step_create(GrPassKind kind, int nfeatures, int nfaces, int internal, int capacity)
{
	Size		size = step_size(kind, nfeatures, nfaces, internal, capacity);
	GrStep	   *step;

	if (size > MaxAllocSize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a Newton step over %d features is too large for a value", nfeatures),
				 errhint("Use gpu_logreg_fit with solver => 'lbfgs', which needs no matrix of them.")));
	step = palloc0(size);
	SET_VARSIZE(step, size);
	step->version = GR_STEP_VERSION;
	step->kind = kind;
	step->intercept = 1;
	step->nfeatures = nfeatures;
	step->nfaces = nfaces;
	step->internal = internal;
	step->capacity = capacity;
	step->nparts = 1;
	if (nfeatures >= 0)
		gr_pass_clear(kind, nfeatures, gr_step_sums(step));
	return step;
}

/* A copy with another capacity, which must hold the rows that are pending. */
static GrStep *
step_resize(GrStep *from, int capacity)
{
	GrStep	   *step = gr_step_create((GrPassKind) from->kind, from->nfeatures, from->nfaces, from->internal, capacity);

	Assert(from->npending <= capacity);
	step->intercept = from->intercept;
	step->npending = from->npending;
	step->nskipped = from->nskipped;
	step->nparts = from->nparts;
	step->face_relative = from->face_relative;
	memcpy(step->data, from->data,
		   step_size((GrPassKind) from->kind, from->nfeatures, from->nfaces, from->internal, from->npending) -
		   offsetof(GrStep, data));
	return step;
}

GrStep *
gr_step_request(const GrPass *pass, const GrBasis *basis)
{
	int			nchanged = basis == NULL ? 0 : basis->nchanged;
	GrStep	   *step = gr_step_create(pass->kind, pass->nfeatures, pass->nfaces, 1 + nchanged, 0);
	Size		t = pass->nfeatures + 1;

	step->face_relative = pass->face_relative;
	if (pass->beta != NULL)
		memcpy(gr_step_beta(step), pass->beta, t * sizeof(double));
	memcpy(gr_step_shift(step), pass->shift, (t - 1) * sizeof(double));
	memcpy(gr_step_face_absolute(step), pass->face_absolute, pass->nfaces * sizeof(double));
	memcpy(gr_step_faces(step), pass->faces, pass->nfaces * t * sizeof(double));
	for (int k = 0; k < nchanged; k++)
		gr_step_changed(step)[k] = basis->changed[k];
	if (nchanged > 0)
		memcpy(gr_step_basis(step), basis->coef, nchanged * t * sizeof(double));
	return step;
}

/* ERROR if a sum left float8's range: such a state is of no use, and its text couldn't be read back. */
static void
check_range(GrStep *step)
{
	GrError		err = {0};
	int			column;

	if (gr_step_sums(step)[GR_SUM_NROWS] > GR_STEP_ROWS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("number of rows is out of range")));
	if (step->internal || gr_gram_finite(gr_step_sums(step) + GR_SUM_HEAD, step->nfeatures + 1, &column))
		return;
	/* the first column is the weight's root, which beta alone can spoil */
	if (column == 0)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("beta times x is out of range for float8")));
	gr_fail(&err, GR_OUT_OF_RANGE, column - 1, "%s", "");
	gr_raise_columns(&err, step->nfeatures, NULL);
}

/* Brings the pending rows to the basis that is asked for, if any is. */
static void
change_pending(GrStep *step)
{
	int			nchanged = gr_step_nchanged(step);
	int		   *changed;

	if (nchanged == 0)
		return;
	changed = palloc(nchanged * sizeof(int));
	for (int k = 0; k < nchanged; k++)
		changed[k] = (int) gr_step_changed(step)[k];
	gr_change_rows(&(GrBasis) {step->nfeatures, nchanged, changed, gr_step_basis(step)}, gr_step_pending(step), step->npending);
	pfree(changed);
}

/* Adds the pending rows to the sums. */
static void
step_flush(GrStep *step)
{
	GrPass		pass = {
		.kind = (GrPassKind) step->kind,
		.nfeatures = step->nfeatures,
		.beta = gr_step_beta(step),
		.shift = gr_step_shift(step),
		.nfaces = step->nfaces,
		.faces = gr_step_faces(step),
		.face_absolute = gr_step_face_absolute(step),
		.face_relative = step->face_relative
	};
	double	   *scratch;

	if (step->npending == 0)
		return;
	change_pending(step);
	scratch = palloc_extended(gr_pass_scratch_nbytes(pass.kind, pass.nfeatures), MCXT_ALLOC_HUGE);
	gr_add_pass(&pass, gr_step_sums(step), gr_step_pending(step), step->npending, scratch);
	pfree(scratch);
	step->npending = 0;
	check_range(step);
}

void
gr_step_check_version(int version)
{
	if (version != GR_STEP_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("unsupported gpu_logreg_step version %d", version),
				 errdetail("This version of gpureg reads version %d.", GR_STEP_VERSION)));
}

/* Are the features that the basis changes features, in ascending order? That no memory but the rows' is changed rests on it. */
static bool
is_basis(GrStep *step)
{
	double		last = -1;

	for (int k = 0; k < gr_step_nchanged(step); k++)
	{
		double		feature = gr_step_changed(step)[k];

		if (!(feature > last && feature < step->nfeatures && feature == floor(feature)))
			return false;
		last = feature;
	}
	return true;
}

/*
 * Is the value laid out as its own head says, with parts that go together? All that is done with one rests on that;
 * what the numbers are doesn't matter.
 */
static bool
is_well_formed(GrStep *step)
{
	bool		is_public = step->internal == 0 && step->kind == GR_PASS_EXACT && step->nfaces == 0;
	bool		is_pass = step->internal >= 1 && step->internal <= 1 + Max(step->nfeatures, 0) &&
		step->kind >= GR_PASS_EXACT && step->kind <= GR_PASS_FACE;

	if (!is_public && !is_pass)
		return false;
	if (step->nfeatures < -1 || step->nfeatures > GR_MAX_FEATURES)
		return false;
	/* a FACE pass has a candidate */
	if (step->nfaces < (step->kind == GR_PASS_FACE ? 1 : 0) || step->nfaces > MAX_FACES)
		return false;
	if (step->npending < 0 || step->npending > step->capacity || step->capacity > FULL_CAPACITY ||
		(step->nfeatures < 0 && step->capacity > 0))
		return false;
	return VARSIZE(step) == step_size((GrPassKind) step->kind, step->nfeatures, step->nfaces, step->internal, step->capacity) &&
		is_basis(step);
}

/* A value that comes from a caller: of this version, and well formed. ERROR if it isn't. */
static GrStep *
checked(GrStep *step)
{
	if (VARSIZE(step) >= offsetof(GrStep, data))
		gr_step_check_version(step->version);
	if (VARSIZE(step) < offsetof(GrStep, data) || !is_well_formed(step))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("malformed gpu_logreg_step")));
	return step;
}

GrStep *
gr_step_settled(Datum datum)
{
	GrStep	   *step = checked((GrStep *) PG_DETOAST_DATUM(datum));

	if (step->capacity == 0)
		return step;
	step = step_resize(step, step->npending);
	step_flush(step);
	step->capacity = 0;
	SET_VARSIZE(step, step_size((GrPassKind) step->kind, step->nfeatures, step->nfaces, step->internal, 0));
	return step;
}

static GrStep *
state_argument(FunctionCallInfo fcinfo)
{
	bool		own;
	GrStep	   *state = gr_aggregate_state(fcinfo, 0, &own);

	return state == NULL || own ? state : checked(state);
}

static Datum
state_result(FunctionCallInfo fcinfo, GrStep *state)
{
	if (AggCheckCallContext(fcinfo, NULL))
		PG_RETURN_POINTER(state);
	PG_RETURN_POINTER(gr_step_settled(PointerGetDatum(state)));
}

/*
 * Looks a new row over, and lets it count; false if gr_check_rows() has an error for it. NaN and infinity are looked
 * for here and not in whole batches, since a batch may be finished in another function, which knows no names.
 */
static inline bool
take_row(GrStep *state, const double *row)
{
	int			p = state->nfeatures;
	double		sum = 0;

	/* v * 0 is 0 for finite v and NaN otherwise */
	for (int c = 0; c <= p; c++)
		sum += row[c] * 0.0;
	if (sum != 0 || (row[p] != 0 && row[p] != 1))
		return false;
	state->npending++;
	return true;
}

/* A state for p features, at the beta that the first complete row brings. */
static GrStep *
first_state(ArrayType *beta, int p)
{
	int			n = ArrayGetNItems(ARR_NDIM(beta), ARR_DIMS(beta));
	const double *at = (const double *) ARR_DATA_PTR(beta);
	const bits8 *nulls = ARR_NULLBITMAP(beta);
	GrStep	   *state;
	int			first;

	gr_check_vector(beta, "beta");
	gr_check_nfeatures(p);
	if (n != 0 && n != p && n != p + 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("beta has the wrong number of elements"),
				 errdetail("It has %d, and x has %d.", n, p),
				 errhint("Give the intercept and a coefficient a feature, the coefficients alone for a model without "
						 "intercept, or '{}' to begin.")));
	state = gr_step_create(GR_PASS_EXACT, p, 0, 0, FIRST_CAPACITY);
	first = n == p ? 1 : 0;
	state->intercept = first == 0;
	for (int k = 0; k < n; k++)
	{
		if (nulls != NULL && (nulls[k / 8] & (1 << (k % 8))) == 0)
			gr_step_fixed(state)[k + first] = 1;
		else if (!isfinite(*at))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("beta has a value that is NaN or infinite")));
		else
			gr_step_beta(state)[k + first] = *at++;
	}
	return state;
}

static void
check_same_beta(GrStep *state, ArrayType *beta)
{
	int			n = ArrayGetNItems(ARR_NDIM(beta), ARR_DIMS(beta));
	const double *at = (const double *) ARR_DATA_PTR(beta);
	const bits8 *nulls = ARR_NULLBITMAP(beta);
	int			first = state->intercept ? 0 : 1;
	bool		same = n == 0 || n == state->nfeatures + 1 - first;

	for (int k = 0; same && k < n; k++)
	{
		if (nulls != NULL && (nulls[k / 8] & (1 << (k % 8))) == 0)
			same = gr_step_fixed(state)[k + first] == 1;
		else
			same = *at++ == gr_step_beta(state)[k + first];
	}
	if (!same)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("beta must be the same for all rows")));
}

/*
 * Where the next row of p features goes; ERROR if the state is for others. Room for it may take a new state, in the
 * current context: the aggregate takes it over by a copy into its own context, once in a state's life.
 */
static inline double *
next_row(GrStep **state, int p)
{
	GrStep	   *step = *state;

	gr_check_same_width(step->nfeatures, p);
	if (unlikely(step->npending == step->capacity))
	{
		if (step->capacity < FULL_CAPACITY)
			*state = step = step_resize(step, FULL_CAPACITY);
		else
			step_flush(step);
	}
	return gr_step_pending(step) + (Size) step->npending * (p + 1);
}

/* beta, y and x of one row; y_null stands for a NULL of either kind of y */
static Datum
accumulate(FunctionCallInfo fcinfo, double y, bool y_null)
{
	GrStep	   *state = state_argument(fcinfo);
	ArrayType  *x = PG_ARGISNULL(3) ? NULL : PG_GETARG_ARRAYTYPE_P(3);
	ArrayType  *beta;
	double	   *row;
	int			p;

	if (PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("beta must not be NULL"),
				 errhint("Begin with '{}'.")));
	if (state != NULL && state->internal)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("not a state of gpu_logreg_step_agg")));
	beta = PG_GETARG_ARRAYTYPE_P(1);
	if (x != NULL)
		gr_check_vector(x, "x");
	if (x == NULL || y_null || array_contains_nulls(x))
	{
		if (state == NULL)
			state = gr_step_create(GR_PASS_EXACT, -1, 0, 0, 0);
		gr_add_count(&state->nskipped, 1);
		return state_result(fcinfo, state);
	}
	p = ArrayGetNItems(ARR_NDIM(x), ARR_DIMS(x));
	if (state == NULL || state->nfeatures < 0)
	{
		GrStep	   *fresh = first_state(beta, p);

		if (state != NULL)
			fresh->nskipped = state->nskipped;
		state = fresh;
	}
	else
	{
		gr_check_same_width(state->nfeatures, p);
		check_same_beta(state, beta);
	}
	row = next_row(&state, p);
	memcpy(row, ARR_DATA_PTR(x), p * sizeof(double));
	row[p] = y;
	if (!take_row(state, row))
		gr_check_rows(row, 1, p, NULL, true);
	return state_result(fcinfo, state);
}

/* gr_logreg_step_accum(state gpu_logreg_step, beta float8[], y float8, VARIADIC x float8[]) */
Datum
gr_logreg_step_accum(PG_FUNCTION_ARGS)
{
	bool		null = PG_ARGISNULL(2);

	return accumulate(fcinfo, null ? 0 : PG_GETARG_FLOAT8(2), null);
}

/* gr_logreg_step_accum_bool(state gpu_logreg_step, beta float8[], y boolean, VARIADIC x float8[]) */
Datum
gr_logreg_step_accum_bool(PG_FUNCTION_ARGS)
{
	bool		null = PG_ARGISNULL(2);

	return accumulate(fcinfo, null ? 0 : PG_GETARG_BOOL(2) ? 1 : 0, null);
}

/*
 * gpu_logreg_pass
 */

/* Arguments */
#define ARG_REQUEST 1
#define ARG_NAMES 2
#define ARG_WIDTHS 3
#define FIRST_COLUMN 4			/* the response, then the features */

/* Described at the first call, and kept for the others */
static GrColumns *
pass_columns(FunctionCallInfo fcinfo)
{
	GrColumns  *columns = fcinfo->flinfo->fn_extra;

	if (columns != NULL)
		return columns;
	columns = gr_argument_columns(fcinfo, FIRST_COLUMN);
	if (!gr_read_widths(fcinfo, columns, ARG_WIDTHS))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("gpu_logreg_pass needs a width for each column"),
				 errhint("It is for the use of gpu_logreg_fit.")));
	gr_name_arrays(fcinfo, columns, ARG_NAMES);
	fcinfo->flinfo->fn_extra = columns;
	return columns;
}

/* The state to begin with: the request, with nothing summed up yet. ERROR unless it is one for p features. */
static GrStep *
requested_state(FunctionCallInfo fcinfo, int p, int64 nskipped)
{
	GrStep	   *request = PG_ARGISNULL(ARG_REQUEST) ? NULL : gr_step_settled(PG_GETARG_DATUM(ARG_REQUEST));
	GrStep	   *state;

	if (request == NULL || request->nfeatures < 0 || request->nfeatures != p)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("gpu_logreg_pass needs a request for as many features as there are"),
				 errhint("It is for the use of gpu_logreg_fit.")));
	state = step_resize(request, FULL_CAPACITY);
	gr_pass_clear((GrPassKind) state->kind, state->nfeatures, gr_step_sums(state));
	state->nskipped = nskipped;
	return state;
}

/* gr_logreg_pass_accum(state gpu_logreg_step, request gpu_logreg_step, names text[], widths int[], VARIADIC "any") */
Datum
gr_logreg_pass_accum(PG_FUNCTION_ARGS)
{
	GrStep	   *state = state_argument(fcinfo);
	GrColumns  *columns = pass_columns(fcinfo);
	double	   *row;

	if (state == NULL || state->nfeatures < 0)
		state = requested_state(fcinfo, columns->nfeatures, state == NULL ? 0 : state->nskipped);
	row = next_row(&state, columns->nfeatures);
	if (gr_arguments_complete(fcinfo, columns, FIRST_COLUMN) &&
		gr_convert_row(columns, GR_ARGUMENT_VALUES(fcinfo, FIRST_COLUMN), row))
	{
		if (!take_row(state, row))
			gr_check_rows(row, 1, state->nfeatures, gr_read_names(fcinfo, columns, ARG_NAMES), true);
	}
	else
		gr_add_count(&state->nskipped, 1);
	return state_result(fcinfo, state);
}

/*
 * Merging
 */

static void
check_same_pass(GrStep *a, GrStep *b)
{
	Size		head_nbytes = (char *) gr_step_sums(a) - (char *) a->data;

	if (a->nfeatures != b->nfeatures)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot combine states with different numbers of features"),
				 errdetail("One has %d, the other has %d.", Min(a->nfeatures, b->nfeatures),
						   Max(a->nfeatures, b->nfeatures))));
	if (a->kind != b->kind || a->nfaces != b->nfaces || a->intercept != b->intercept || a->internal != b->internal ||
		memcmp(a->data, b->data, head_nbytes) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot combine Newton steps that were taken at different beta")));
}

/* gr_logreg_step_combine(state gpu_logreg_step, other gpu_logreg_step): either may be NULL */
Datum
gr_logreg_step_combine(PG_FUNCTION_ARGS)
{
	GrStep	   *state = state_argument(fcinfo);
	GrStep	   *other;

	if (PG_ARGISNULL(1))
	{
		if (state == NULL)
			PG_RETURN_NULL();
		return state_result(fcinfo, state);
	}
	other = gr_step_settled(PG_GETARG_DATUM(1));
	if (state == NULL || state->nfeatures < 0)
	{
		GrStep	   *fresh = step_resize(other, 0);

		if (state != NULL)
			gr_add_count(&fresh->nskipped, state->nskipped);
		return state_result(fcinfo, fresh);
	}
	gr_add_count(&state->nskipped, other->nskipped);
	if (other->nfeatures < 0)
		return state_result(fcinfo, state);
	check_same_pass(state, other);
	step_flush(state);
	gr_pass_merge((GrPassKind) state->kind, state->nfeatures, gr_step_sums(state), gr_step_sums(other));
	state->nparts = (int32) Min((int64) state->nparts + other->nparts, PG_INT32_MAX);
	check_range(state);
	return state_result(fcinfo, state);
}

/* gr_logreg_step_final(state gpu_logreg_step): NULL if there was no complete row */
Datum
gr_logreg_step_final(PG_FUNCTION_ARGS)
{
	GrStep	   *state;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	state = gr_step_settled(PG_GETARG_DATUM(0));
	if (state->nfeatures < 0)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(state);
}
