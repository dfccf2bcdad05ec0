/*
 * state.c: the states of the aggregates, and their transition, combine and final functions.
 *
 * The transition type is the SQL type itself, a flat varlena that is updated in place, and not an expanded object:
 * those need a memory context each, and HashAggregate walks all of its child contexts whenever it meets a new group,
 * which is quadratic in the number of groups. A value is only ever changed in place when the caller is an aggregate and
 * the value is its own transition value.
 *
 * gpu_ols_agg(y, x...) and its like, and gpu_logreg_step_agg(beta, y, x...), take rows as arrays. gpu_ols_pass(names,
 * widths, columns...) and gpu_logreg_pass(request, names, widths, columns...) are what gpu_ols_fit() and
 * gpu_logreg_fit() run over their query, in parallel workers, and take the columns as they are. The families differ in
 * their sums; what holds the rows until there are enough is the same. A function that runs for each row is made twice
 * by the compiler, its family a constant.
 */
#include "postgres.h"

#include <math.h>

#include "access/parallel.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/memutils.h"

#include "compute/basis.h"
#include "compute/compute.h"
#include "compute/glm.h"
#include "compute/gram_shift.h"
#include "rows/columns.h"
#include "rows/state.h"
#include "run/args.h"
#include "run/raise.h"

/* The kernels' scratch memory comes from the stack up to this many bytes. */
#define STACK_SCRATCH_NBYTES 32768

typedef struct Family
{
	const char *type;
	const char *pass;			/* the aggregate over a query's columns, and whose it is */
	const char *fit;
	/*
	 * rows that a state holds back: few at first, so that a small group stays small, then as many as the kernels like
	 * at a time
	 */
	int			first_capacity;
	int			full_capacity;
	int			oldest;			/* version that is read from a table */
} Family;

static const Family families[] = {
	[GR_GAUSSIAN] = {"gpu_ols_stats", "gpu_ols_pass", "gpu_ols_fit", 4, 32, 1},
	[GR_BINOMIAL] = {"gpu_logreg_step", "gpu_logreg_pass", "gpu_logreg_fit", 8, 256, GR_STATE_VERSION}
};

PG_FUNCTION_INFO_V1(gr_ols_stats_accum);
PG_FUNCTION_INFO_V1(gr_ols_stats_accum_bool);
PG_FUNCTION_INFO_V1(gr_logreg_step_accum);
PG_FUNCTION_INFO_V1(gr_logreg_step_accum_bool);

/*
 * Layout
 */

/* A head's numbers must be within their bounds: then nothing here overflows. */
static Size
state_size(const GrState *head, int capacity)
{
	Size		t = gr_state_nterms(head);
	Size		ncells = head->nfeatures < 0 ? 0 :
		(head->family == GR_BINOMIAL ? 3 : 1) * t + (head->nfaces + head->nchanged) * (t + 1) +
		gr_kind_nsums(head->kind, head->nfeatures) + capacity * t;

	return offsetof(GrState, data) + ncells * sizeof(double);
}

/* A value with this head, whose numbers are within their bounds, but for its capacity; what follows is 0. */
static GrState *
create_like(const GrState *head, int capacity)
{
	Size		size = state_size(head, capacity);
	GrState    *state;

	if (size > MaxAllocSize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a Newton step over %d features is too large for a value", head->nfeatures),
				 errhint("Use gpu_logreg_fit with solver => 'lbfgs', which needs no matrix of them.")));
	state = palloc0(size);
	memcpy(state, head, offsetof(GrState, data));
	SET_VARSIZE(state, size);
	state->version = GR_STATE_VERSION;
	state->capacity = capacity;
	return state;
}

/* So that rows can be added */
static GrState *
clear_sums(GrState *state)
{
	if (state->family == GR_BINOMIAL && state->nfeatures >= 0)
		gr_pass_clear((GrPassKind) state->kind, state->nfeatures, gr_state_sums(state));
	return state;
}

GrState *
gr_state_create(GrFamily family, int nfeatures, int capacity)
{
	const GrState head = {.family = family,.kind = gr_public_kind(family),.nfeatures = nfeatures,.intercept = 1};

	return clear_sums(create_like(&head, capacity));
}

GrState *
gr_state_create_pass(GrPassKind kind, int nfeatures, int nfaces, int nchanged)
{
	const GrState head = {
		.family = GR_BINOMIAL,.kind = kind,.nfeatures = nfeatures,.nfaces = nfaces,.nchanged = nchanged,
		.intercept = 1,.internal = 1
	};

	return clear_sums(create_like(&head, 0));
}

/* A copy with another capacity, which must hold the rows that are pending. */
static GrState *
resize(const GrState *from, int capacity)
{
	GrState    *state = create_like(from, capacity);

	Assert(from->npending <= capacity);
	memcpy(state->data, from->data, state_size(from, from->npending) - offsetof(GrState, data));
	return state;
}

GrState *
gr_state_request(const GrPass *pass, const GrBasis *basis)
{
	int			nchanged = basis == NULL ? 0 : basis->nchanged;
	GrState    *state = gr_state_create_pass(pass->kind, pass->nfeatures, pass->nfaces, nchanged);
	Size		t = gr_state_nterms(state);

	state->face_relative = pass->face_relative;
	if (pass->beta != NULL)
		memcpy(gr_state_beta(state), pass->beta, t * sizeof(double));
	memcpy(gr_state_shift(state), pass->shift, (t - 1) * sizeof(double));
	memcpy(gr_state_face_absolute(state), pass->face_absolute, pass->nfaces * sizeof(double));
	memcpy(gr_state_faces(state), pass->faces, pass->nfaces * t * sizeof(double));
	for (int k = 0; k < nchanged; k++)
		gr_state_changed(state)[k] = basis->changed[k];
	if (nchanged > 0)
		memcpy(gr_state_basis(state), basis->coef, nchanged * t * sizeof(double));
	return state;
}

/*
 * Sums
 */

static void
raise_canceled(void)
{
	GrError		err = {0};

	gr_fail(&err, GR_CANCELED, 0, "Gram matrix");
	gr_raise(&err);
}

/*
 * ERROR if a sum left float8's range, or a pending row has a value that isn't finite: such a state is of no use, and
 * its text couldn't be read back. names: of the columns, for messages, or NULL
 */
static void
check_range(GrState *state, const char *const *names)
{
	bool		weighted = state->family == GR_BINOMIAL;
	int			p = state->nfeatures;
	GrError		err = {0};
	int			column;
	int			nonfinite;

	if (weighted && gr_state_sums(state)[GR_SUM_NROWS] > GR_PASS_ROWS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("number of rows is out of range")));
	if (state->internal || gr_gram_finite(gr_state_hi(state), p + weighted, &column))
		return;
	if (!gr_all_finite(gr_state_pending(state), state->npending, p + 1, &nonfinite))
		gr_fail(&err, GR_NOT_FINITE, nonfinite, "%s", "");
	else if (weighted && column == 0)
		/* it is the weight's root, which beta alone can spoil */
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("beta times x is out of range for float8")));
	else
		gr_fail(&err, GR_OUT_OF_RANGE, column - weighted, "%s", "");
	gr_raise_columns(&err, p, names);
}

/* The first rows choose the shift; where later ones don't bear it, the matrix is translated to one that they do. */
static void
settle_shift(GrState *state, GrPoll *poll)
{
	int			p = state->nfeatures;
	double	   *shift = gr_state_shift(state);
	double	   *pending = gr_state_pending(state);
	double	   *narrowed;

	if (gr_state_hi(state)[0] == 0.0)
	{
		int			column;

		/* a row may be alone because it isn't finite: then it has no range, and the sums will say what it is */
		if (state->npending > 1 || gr_all_finite(pending, 1, p + 1, &column))
			(void) gr_shift_choose(shift, pending, state->npending, p);
		return;
	}
	if (!gr_shift_any(shift, p) || gr_shift_exact(shift, pending, state->npending, p))
		return;
	narrowed = palloc((p + 1) * sizeof(double));
	gr_shift_narrow(narrowed, shift, pending, state->npending, p);
	if (!gr_gram_translate(gr_state_hi(state), gr_state_lo(state), p, shift, narrowed, poll))
		raise_canceled();
	memcpy(shift, narrowed, (p + 1) * sizeof(double));
	pfree(narrowed);
}

static void
add_to_gram(GrState *state, double *scratch)
{
	int			p = state->nfeatures;
	double	   *shift = gr_state_shift(state);
	GrPoll		poll = {.host = &gr_host};

	settle_shift(state, &poll);
	if (!gr_gram_add_polling(gr_state_hi(state), gr_state_lo(state), gr_state_pending(state), state->npending, p,
							 gr_shift_any(shift, p) ? shift : NULL, scratch, gr_gram_lanes(p), &poll))
		raise_canceled();
}

/* Brings the pending rows to the basis that is asked for, if any is. */
static void
change_pending(GrState *state)
{
	int			nchanged = state->nchanged;
	int		   *changed;

	if (nchanged == 0)
		return;
	changed = palloc(nchanged * sizeof(int));
	for (int k = 0; k < nchanged; k++)
		changed[k] = (int) gr_state_changed(state)[k];
	gr_change_rows(&(GrBasis) {state->nfeatures, nchanged, changed, gr_state_basis(state)}, gr_state_pending(state),
				   state->npending);
	pfree(changed);
}

static void
add_to_pass(GrState *state, double *scratch)
{
	GrPass		pass = {
		.kind = (GrPassKind) state->kind,
		.nfeatures = state->nfeatures,
		.beta = gr_state_beta(state),
		.shift = gr_state_shift(state),
		.nfaces = state->nfaces,
		.faces = gr_state_faces(state),
		.face_absolute = gr_state_face_absolute(state),
		.face_relative = state->face_relative
	};

	change_pending(state);
	gr_add_pass(&pass, gr_state_sums(state), gr_state_pending(state), state->npending, scratch);
}

/* Adds the pending rows to the sums. names: of the columns, for messages, or NULL */
static void
flush(GrState *state, const char *const *names)
{
	union
	{
		char		bytes[STACK_SCRATCH_NBYTES];
		double		align;
	}			local;
	int			p = state->nfeatures;
	bool		is_gram = state->family == GR_GAUSSIAN;
	Size		nbytes;
	double	   *scratch;

	if (state->npending == 0)
		return;
	nbytes = is_gram ? gr_gram_scratch_nbytes(p) : gr_pass_scratch_nbytes((GrPassKind) state->kind, p);
	scratch = nbytes <= sizeof(local) ? (double *) &local : palloc_extended(nbytes, MCXT_ALLOC_HUGE);
	if (is_gram)
		add_to_gram(state, scratch);
	else
		add_to_pass(state, scratch);
	if (scratch != (double *) &local)
		pfree(scratch);
	check_range(state, names);
	state->npending = 0;
}

/*
 * What comes from a caller
 */

const char *
gr_state_type(GrFamily family)
{
	return families[family].type;
}

void
gr_state_check_version(GrFamily family, int version, int oldest, int newest)
{
	if (version < oldest || version > newest)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("unsupported %s version %d", families[family].type, version),
				 oldest == newest ? errdetail("This version of gpureg reads version %d.", newest) :
				 errdetail("This version of gpureg reads versions %d to %d.", oldest, newest)));
}

static void
raise_malformed(GrFamily family)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("malformed %s", families[family].type)));
}

/*
 * Are the features that the basis changes features, in ascending order? That no memory but the rows' is changed rests
 * on it.
 */
static bool
is_basis(GrState *state)
{
	double		last = -1;

	for (int k = 0; k < state->nchanged; k++)
	{
		double		feature = gr_state_changed(state)[k];

		if (!(feature > last && feature < state->nfeatures && feature == floor(feature)))
			return false;
		last = feature;
	}
	return true;
}

/* Do the parts go together that the head names? */
static bool
is_of_a_kind(const GrState *state)
{
	if (state->internal == 0)
		return state->kind == gr_public_kind((GrFamily) state->family) && state->nfaces == 0 && state->nchanged == 0;
	/* a FACE pass has a candidate */
	return state->internal == 1 && state->family == GR_BINOMIAL && state->intercept == 1 && state->nfeatures >= 0 &&
		state->kind >= GR_PASS_EXACT && state->kind <= GR_PASS_FACE &&
		state->nfaces >= (state->kind == GR_PASS_FACE ? 1 : 0) && state->nfaces <= GR_MAX_FACES &&
		state->nchanged >= 0 && state->nchanged <= state->nfeatures;
}

bool
gr_state_is_well_formed(GrState *state, GrFamily family)
{
	return state->family == family && (state->intercept == 0 || state->intercept == 1) &&
		state->nfeatures >= -1 && state->nfeatures <= GR_MAX_FEATURES && is_of_a_kind(state) &&
		state->npending >= 0 && state->npending <= state->capacity &&
		state->capacity <= families[family].full_capacity &&
		(state->nfeatures >= 0 || state->capacity == 0) &&
		VARSIZE(state) == state_size(state, state->capacity) && is_basis(state);
}

/* A gpu_ols_stats as it was before the types shared a layout */
typedef struct OldStats
{
	int32		vl_len_;
	int16		version;
	int16		nworkers;
	int32		nfeatures;
	int16		npending;
	int16		capacity;
	int64		nrows;
	int64		nskipped;
	double		data[FLEXIBLE_ARRAY_MEMBER];	/* hi, lo, from version 2 on the shift, pending */
} OldStats;

/* A gpu_ols_stats of version 1 or 2 as one of this; what was left pending stays so. ERROR if it is malformed. */
static GrState *
upgraded_stats(const OldStats *old)
{
	const double *shift;
	GrState    *state;
	Size		t;
	Size		nsums;

	if (VARSIZE(old) < offsetof(OldStats, data) || old->nfeatures < -1 || old->nfeatures > GR_MAX_FEATURES ||
		old->npending < 0 || old->npending > old->capacity || old->capacity > families[GR_GAUSSIAN].full_capacity ||
		(old->nfeatures < 0 && old->capacity > 0))
		raise_malformed(GR_GAUSSIAN);
	t = old->nfeatures + 1;
	nsums = gr_kind_nsums(GR_KIND_GRAM, old->nfeatures);
	shift = old->data + nsums;
	if (VARSIZE(old) != offsetof(OldStats, data) +
		(nsums + (old->version - 1 + (Size) old->capacity) * t) * sizeof(double))
		raise_malformed(GR_GAUSSIAN);
	state = gr_state_create(GR_GAUSSIAN, old->nfeatures, old->capacity);
	state->npending = old->npending;
	state->nworkers = old->nworkers;
	state->nrows = old->nrows;
	state->nskipped = old->nskipped;
	if (old->version > 1)
		memcpy(gr_state_shift(state), shift, t * sizeof(double));
	memcpy(gr_state_sums(state), old->data, nsums * sizeof(double));
	memcpy(gr_state_pending(state), shift + (old->version - 1) * t, old->npending * t * sizeof(double));
	return state;
}

GrState *
gr_state_checked(GrState *state, GrFamily family)
{
	if (VARSIZE(state) < offsetof(GrState, family))
		raise_malformed(family);
	gr_state_check_version(family, state->version, families[family].oldest, GR_STATE_VERSION);
	if (state->version <= 2)
		return upgraded_stats((const OldStats *) state);
	if (VARSIZE(state) < offsetof(GrState, data) || !gr_state_is_well_formed(state, family))
		raise_malformed(family);
	return state;
}

GrState *
gr_state_settled(Datum datum, GrFamily family, const char *const *names)
{
	GrState    *state = gr_state_checked((GrState *) PG_DETOAST_DATUM(datum), family);

	if (state->capacity == 0)
		return state;
	state = resize(state, state->npending);
	flush(state, names);
	state->capacity = 0;
	SET_VARSIZE(state, state_size(state, 0));
	return state;
}

/*
 * Not inlined: it was measured to be slower then over many groups, where it waits for a state to come into the cache.
 */
static pg_noinline GrState *
state_argument(FunctionCallInfo fcinfo, GrFamily family)
{
	bool		own;
	GrState    *state = gr_aggregate_state(fcinfo, 0, &own);

	return state == NULL || (own && likely(state->version == GR_STATE_VERSION)) ? state :
		gr_state_checked(state, family);
}

/* A state handed to SQL outside an aggregate has no pending rows. */
static inline Datum
state_result(FunctionCallInfo fcinfo, GrState *state)
{
	if (likely(AggCheckCallContext(fcinfo, NULL)))
		PG_RETURN_POINTER(state);
	PG_RETURN_POINTER(gr_state_settled(PointerGetDatum(state), (GrFamily) state->family, NULL));
}

/*
 * Rows
 */

/* Where the matrix is larger than all the rows that a state may hold back, these are few. */
static int
first_capacity(GrFamily family, int p)
{
	return p < families[family].full_capacity ? families[family].first_capacity : families[family].full_capacity;
}

/* Counts a row that is left out. */
static Datum
skip_row(FunctionCallInfo fcinfo, GrState *state, GrFamily family)
{
	if (state == NULL)
		state = gr_state_create(family, -1, 0);
	gr_add_count(&state->nskipped, 1);
	return state_result(fcinfo, state);
}

/*
 * Room for another row, where there is none: by a new state, in the current context, or by adding the pending rows. The
 * aggregate takes a state over by a copy into its own context, so that happens once or twice in a state's life.
 */
static pg_noinline GrState *
make_room(GrState *state)
{
	GrFamily	family = (GrFamily) state->family;
	int			full = families[family].full_capacity;

	if (state->capacity < full)
		return resize(state, state->capacity == 0 ? first_capacity(family, state->nfeatures) : full);
	flush(state, NULL);
	return state;
}

/*
 * Where the next row of p features goes; ERROR if the state, which has a width, is for others. It may become another
 * one.
 */
static inline double *
next_row(GrState **state, int p)
{
	gr_check_same_width((*state)->nfeatures, p);
	if (unlikely((*state)->npending == (*state)->capacity))
		*state = make_room(*state);
	return gr_state_pending(*state) + (*state)->npending * (Size) (p + 1);
}

static inline void
count_row(GrState *state)
{
	state->npending++;
	gr_add_count(&state->nrows, 1);
}

/*
 * Can the row be left to its batch? Not in a pass: NaN and infinity are looked for here, since a batch may be finished
 * in another function, which knows no names. A gaussian row may also have no value whose square leaves float8's range,
 * or comes so near that a sum could.
 */
static inline bool
is_plain(const double *row, int p, GrFamily family)
{
	double		sum = 0;
	bool		extreme = false;

	if (family == GR_GAUSSIAN)
	{
		for (int k = 0; k <= p; k++)
			extreme |= !(fabs(row[k]) < 1e140);
		return !extreme;
	}
	/* v * 0 is 0 for finite v and NaN otherwise */
	for (int k = 0; k <= p; k++)
		sum += row[k] * 0.0;
	return sum == 0 && (row[p] == 0 || row[p] == 1);
}

/*
 * Arrays
 */

/*
 * A state for p features, in place of one that has only left rows out, or of none. beta: that the first complete row
 * brings, or NULL
 */
static GrState *
first_state(const GrState *before, GrFamily family, ArrayType *beta, int p)
{
	int			n = beta == NULL ? 0 : ArrayGetNItems(ARR_NDIM(beta), ARR_DIMS(beta));
	const double *at = beta == NULL ? NULL : (const double *) ARR_DATA_PTR(beta);
	const bits8 *nulls = beta == NULL ? NULL : ARR_NULLBITMAP(beta);
	int			first = n == p ? 1 : 0;
	GrState    *state;

	gr_check_nfeatures(p);
	if (n != 0 && n != p && n != p + 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("beta has the wrong number of elements"),
				 errdetail("It has %d, and x has %d.", n, p),
				 errhint("Give the intercept and a coefficient a feature, the coefficients alone for a model without "
						 "intercept, or '{}' to begin.")));
	state = gr_state_create(family, p, first_capacity(family, p));
	state->intercept = first == 0;
	state->nskipped = before == NULL ? 0 : before->nskipped;
	for (int k = 0; k < n; k++)
	{
		if (nulls != NULL && (nulls[k / 8] & (1 << (k % 8))) == 0)
			gr_state_fixed(state)[k + first] = 1;
		else if (!isfinite(*at))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("beta has a value that is NaN or infinite")));
		else
			gr_state_beta(state)[k + first] = *at++;
	}
	return state;
}

static void
check_same_beta(GrState *state, ArrayType *beta)
{
	int			n = ArrayGetNItems(ARR_NDIM(beta), ARR_DIMS(beta));
	const double *at = (const double *) ARR_DATA_PTR(beta);
	const bits8 *nulls = ARR_NULLBITMAP(beta);
	int			first = state->intercept ? 0 : 1;
	bool		same = n == 0 || n == state->nfeatures + 1 - first;

	for (int k = 0; same && k < n; k++)
	{
		if (nulls != NULL && (nulls[k / 8] & (1 << (k % 8))) == 0)
			same = gr_state_fixed(state)[k + first] == 1;
		else
			same = *at++ == gr_state_beta(state)[k + first];
	}
	if (!same)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("beta must be the same for all rows")));
}

/* Argument 1, before anything is done for a row. */
static inline ArrayType *
beta_argument(FunctionCallInfo fcinfo, const GrState *state)
{
	if (PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("beta must not be NULL"),
				 errhint("Begin with '{}'.")));
	if (state != NULL && state->internal)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("not a state of gpu_logreg_step_agg")));
	return PG_GETARG_ARRAYTYPE_P(1);
}

/*
 * The state, with a row of y and the last argument, x; binomial: at beta, argument 1. y_null stands for a NULL of
 * whatever kind of y
 */
static pg_attribute_always_inline Datum
accumulate(FunctionCallInfo fcinfo, GrFamily family, double y, bool y_null)
{
	const int	x_argno = family == GR_BINOMIAL ? 3 : 2;
	GrState    *state = state_argument(fcinfo, family);
	ArrayType  *beta = family == GR_BINOMIAL ? beta_argument(fcinfo, state) : NULL;
	ArrayType  *x = PG_ARGISNULL(x_argno) ? NULL : PG_GETARG_ARRAYTYPE_P(x_argno);
	double	   *row;
	int			p;

	if (x != NULL)
		gr_check_vector(x, "x");
	if (x == NULL || y_null || array_contains_nulls(x))
		return skip_row(fcinfo, state, family);
	p = ArrayGetNItems(ARR_NDIM(x), ARR_DIMS(x));
	if (unlikely(state == NULL || state->nfeatures < 0))
	{
		if (beta != NULL)
			gr_check_vector(beta, "beta");
		state = first_state(state, family, beta, p);
	}
	else if (beta != NULL)
	{
		gr_check_same_width(state->nfeatures, p);
		check_same_beta(state, beta);
	}
	row = next_row(&state, p);
	memcpy(row, ARR_DATA_PTR(x), p * sizeof(double));
	row[p] = y;
	if (family == GR_BINOMIAL && unlikely(!is_plain(row, p, family)))
		gr_check_rows(row, 1, p, NULL, true);
	count_row(state);
	return state_result(fcinfo, state);
}

/* gr_ols_stats_accum(state gpu_ols_stats, y float8, VARIADIC x float8[]) */
Datum
gr_ols_stats_accum(PG_FUNCTION_ARGS)
{
	bool		null = PG_ARGISNULL(1);

	return accumulate(fcinfo, GR_GAUSSIAN, null ? 0 : PG_GETARG_FLOAT8(1), null);
}

/* gr_ols_stats_accum_bool(state gpu_ols_stats, y boolean, VARIADIC x float8[]) */
Datum
gr_ols_stats_accum_bool(PG_FUNCTION_ARGS)
{
	bool		null = PG_ARGISNULL(1);

	return accumulate(fcinfo, GR_GAUSSIAN, null ? 0 : PG_GETARG_BOOL(1) ? 1 : 0, null);
}

/* gr_logreg_step_accum(state gpu_logreg_step, beta float8[], y float8, VARIADIC x float8[]) */
Datum
gr_logreg_step_accum(PG_FUNCTION_ARGS)
{
	bool		null = PG_ARGISNULL(2);

	return accumulate(fcinfo, GR_BINOMIAL, null ? 0 : PG_GETARG_FLOAT8(2), null);
}

/* gr_logreg_step_accum_bool(state gpu_logreg_step, beta float8[], y boolean, VARIADIC x float8[]) */
Datum
gr_logreg_step_accum_bool(PG_FUNCTION_ARGS)
{
	bool		null = PG_ARGISNULL(2);

	return accumulate(fcinfo, GR_BINOMIAL, null ? 0 : PG_GETARG_BOOL(2) ? 1 : 0, null);
}

/*
 * A query's columns
 */

/*
 * Arguments: the state, the request of a binomial pass, names, widths, and the columns from this one on: the response,
 * then the features
 */
static inline int
first_column(GrFamily family)
{
	return family == GR_BINOMIAL ? 4 : 3;
}

#define ARG_REQUEST 1
#define ARG_NAMES(family) (first_column(family) - 2)
#define ARG_WIDTHS(family) (first_column(family) - 1)

/* Described at the first call, and kept for the others */
static pg_noinline GrColumns *
describe_columns(FunctionCallInfo fcinfo, GrFamily family)
{
	GrColumns  *columns = gr_argument_columns(fcinfo, first_column(family));
	bool		needs_widths = family == GR_BINOMIAL || !PG_ARGISNULL(ARG_WIDTHS(family));

	if (needs_widths && !gr_read_widths(fcinfo, columns, ARG_WIDTHS(family)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s needs a width for each column", families[family].pass),
				 errhint("It is for the use of %s.", families[family].fit)));
	if (columns->nfeatures >= 0)
	{
		if (columns->n > 1)
			gr_check_nfeatures(columns->nfeatures);
		gr_name_arrays(fcinfo, columns, ARG_NAMES(family));
	}
	fcinfo->flinfo->fn_extra = columns;
	return columns;
}

/*
 * The state of a pass to begin with: empty while the columns' widths aren't known. ERROR unless what is requested is
 * for so many features.
 */
static pg_noinline GrState *
begin_pass(FunctionCallInfo fcinfo, GrFamily family, int p, const GrState *before)
{
	GrState    *state;

	if (family == GR_GAUSSIAN)
		state = gr_state_create(family, p, p < 0 ? 0 : first_capacity(family, p));
	else
	{
		GrState    *request = PG_ARGISNULL(ARG_REQUEST) ? NULL :
			gr_state_settled(PG_GETARG_DATUM(ARG_REQUEST), family, NULL);

		if (request == NULL || request->nfeatures < 0 || request->nfeatures != p)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s needs a request for as many features as there are", families[family].pass),
					 errhint("It is for the use of %s.", families[family].fit)));
		state = clear_sums(resize(request, families[family].full_capacity));
		state->nrows = 0;
	}
	state->nskipped = before == NULL ? 0 : before->nskipped;
	state->nworkers = IsParallelWorker();
	return state;
}

/* The state, with a row of the columns */
static pg_attribute_always_inline Datum
accumulate_columns(FunctionCallInfo fcinfo, GrFamily family)
{
	const int	first = first_column(family);
	GrState    *state = state_argument(fcinfo, family);
	GrColumns  *columns = fcinfo->flinfo->fn_extra;
	bool		complete;
	double	   *row;

	if (unlikely(columns == NULL))
		columns = describe_columns(fcinfo, family);
	complete = gr_arguments_complete(fcinfo, columns, first);
	/* arrays whose widths aren't given have those of the first complete row */
	if (unlikely(columns->nfeatures < 0) && complete)
	{
		gr_measure_row(columns, GR_ARGUMENT_VALUES(fcinfo, first));
		gr_name_arrays(fcinfo, columns, ARG_NAMES(family));
	}
	if (unlikely(state == NULL || (state->nfeatures < 0 && columns->nfeatures >= 0)))
		state = begin_pass(fcinfo, family, columns->nfeatures, state);
	if (!complete)
		return skip_row(fcinfo, state, family);
	row = next_row(&state, columns->nfeatures);
	if (!gr_convert_row(columns, GR_ARGUMENT_VALUES(fcinfo, first), row))
		return skip_row(fcinfo, state, family);
	count_row(state);
	/* here and now, where the names are at hand */
	if (unlikely(!is_plain(row, columns->nfeatures, family)))
	{
		const char *const *names = gr_read_names(fcinfo, columns, ARG_NAMES(family));

		if (family == GR_BINOMIAL)
			gr_check_rows(row, 1, columns->nfeatures, names, true);
		else
			flush(state, names);
	}
	return state_result(fcinfo, state);
}

/* gr_ols_pass_accum(state gpu_ols_stats, names text[], widths int[], VARIADIC "any") */
GR_STATE_FUNCTION(gr_ols_pass_accum, accumulate_columns, GR_GAUSSIAN)

/* gr_logreg_pass_accum(state gpu_logreg_step, request gpu_logreg_step, names text[], widths int[], VARIADIC "any") */
GR_STATE_FUNCTION(gr_logreg_pass_accum, accumulate_columns, GR_BINOMIAL)

/*
 * Merging
 */

/* ERROR unless the same is asked of the rows of both. The shifts of Gram matrices may differ. */
static void
check_same_request(GrState *a, GrState *b)
{
	Size		request_nbytes = (char *) gr_state_sums(a) - (char *) a->data;

	if (a->nfeatures != b->nfeatures)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot combine states with different numbers of features"),
				 errdetail("One has %d, the other has %d.", Min(a->nfeatures, b->nfeatures),
						   Max(a->nfeatures, b->nfeatures))));
	if (a->family == GR_BINOMIAL &&
		(a->kind != b->kind || a->nfaces != b->nfaces || a->nchanged != b->nchanged || a->intercept != b->intercept ||
		 a->internal != b->internal || memcmp(a->data, b->data, request_nbytes) != 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot combine Newton steps that were taken at different beta")));
}

static void
merge_sums(GrState *state, GrState *other)
{
	GrPoll		poll = {.host = &gr_host};

	if (state->family == GR_BINOMIAL)
		gr_pass_merge((GrPassKind) state->kind, state->nfeatures, gr_state_sums(state), gr_state_sums(other));
	else if (!gr_gram_merge_shifted(gr_state_hi(state), gr_state_lo(state), gr_state_shift(state), gr_state_hi(other),
									gr_state_lo(other), gr_state_shift(other), state->nfeatures, &poll))
		raise_canceled();
}

/* Two states as one: either may be NULL */
static Datum
combine(FunctionCallInfo fcinfo, GrFamily family)
{
	GrState    *state = state_argument(fcinfo, family);
	GrState    *other;

	if (PG_ARGISNULL(1))
	{
		if (state == NULL)
			PG_RETURN_NULL();
		return state_result(fcinfo, state);
	}
	other = gr_state_settled(PG_GETARG_DATUM(1), family, NULL);
	if (state == NULL || state->nfeatures < 0)
	{
		GrState    *fresh = resize(other, 0);

		if (state != NULL)
			gr_add_count(&fresh->nskipped, state->nskipped);
		return state_result(fcinfo, fresh);
	}
	gr_add_count(&state->nskipped, other->nskipped);
	if (other->nfeatures < 0)
		return state_result(fcinfo, state);
	check_same_request(state, other);
	flush(state, NULL);
	merge_sums(state, other);
	gr_add_count(&state->nrows, other->nrows);
	state->nworkers = (int16) Min(state->nworkers + other->nworkers, PG_INT16_MAX);
	check_range(state, NULL);
	return state_result(fcinfo, state);
}

GR_STATE_FUNCTION(gr_ols_stats_combine, combine, GR_GAUSSIAN)
GR_STATE_FUNCTION(gr_logreg_step_combine, combine, GR_BINOMIAL)

/*
 * The state as a value. NULL if it has no complete row, unless gpu_logreg_fit() asked for it, which wants to know what
 * was left out.
 */
static Datum
final(FunctionCallInfo fcinfo, GrFamily family)
{
	GrState    *state;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	state = gr_state_settled(PG_GETARG_DATUM(0), family, NULL);
	if (state->nrows == 0 && !state->internal)
		PG_RETURN_NULL();
	/* in a window frame that grows, the aggregate goes on changing its state: what was returned must not follow */
	if ((Pointer) state == PG_GETARG_POINTER(0))
		state = resize(state, 0);
	PG_RETURN_POINTER(state);
}

GR_STATE_FUNCTION(gr_ols_stats_final, final, GR_GAUSSIAN)
GR_STATE_FUNCTION(gr_logreg_step_final, final, GR_BINOMIAL)
