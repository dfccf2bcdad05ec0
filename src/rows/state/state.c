/*
 * state.c: the states of the aggregates: layout, sums, checks of a caller's values, and the combine functions.
 *
 * The transition type is the SQL type itself, a flat varlena that is updated in place, and not an expanded object:
 * those need a memory context each, and HashAggregate walks all of its child contexts whenever it meets a new group,
 * which is quadratic in the number of groups. A value is only ever changed in place when the caller is an aggregate and
 * the value is its own transition value.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "utils/memutils.h"

#include "compute/base/compute.h"
#include "compute/dist/family.h"
#include "compute/glm/glm.h"
#include "compute/glm/glm_row.h"
#include "compute/linalg/basis.h"
#include "compute/linalg/gram_shift.h"
#include "rows/state/state.h"
#include "run/args.h"
#include "run/progress.h"
#include "run/raise.h"

/* The kernels' scratch memory comes from the stack up to this many bytes. */
#define STACK_SCRATCH_NBYTES 32768

const GrStateKind gr_state_kinds[] = {
	[GR_STATS] = {"gpu_ols_stats", "gpu_ols_pass", "gpu_ols_fit", 4, 32, 1},
	[GR_STEP] = {"gpu_logreg_step", "gpu_logreg_array_pass", "gpu_logreg_fit", 8, 256, GR_STATE_VERSION}
};

/*
 * Layout
 */

/* Size of a value in bytes. The numbers of head must be within their bounds, so that nothing overflows. */
static Size
state_size(const GrState *head, int capacity)
{
	Size		t = gr_state_nterms(head);
	Size		ncells = head->nfeatures < 0 ? 0 :
		(head->type == GR_STEP ? 3 : 1) * t + head->nfaces * (2 * t + 1) + head->nchanged * (t + 1) +
		gr_state_nfactor(head) + gr_kind_nsums(head->kind, head->nfeatures) + gr_state_ntotals(head) + head->nnames +
		capacity * gr_state_ncols(head);

	return offsetof(GrState, data) + ncells * sizeof(double);
}

GrState *
gr_state_create_like(const GrState *head, int capacity)
{
	Size		size = state_size(head, capacity);
	GrState    *state;

	if (size > MaxAllocSize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a %s of %d features is too large for one value", gr_state_kinds[head->type].type,
						head->nfeatures),
				 head->type == GR_STEP ?
				 errhint("Use gpu_logreg_fit with solver => 'lbfgs', which needs no matrix of features by "
						 "features.") : 0));
	state = palloc0(size);
	memcpy(state, head, offsetof(GrState, data));
	SET_VARSIZE(state, size);
	state->version = GR_STATE_VERSION;
	state->capacity = capacity;
	return state;
}

GrState *
gr_state_clear(GrState *state)
{
	if (state->type == GR_STEP && state->nfeatures >= 0)
		gr_pass_clear((GrPassKind) state->kind, state->nfeatures, gr_state_sums(state));
	return state;
}

GrState *
gr_state_create(GrStateType type, int nfeatures, int capacity)
{
	const GrState head = {
		.type = type,.kind = gr_public_kind(type),.nfeatures = nfeatures,.intercept = 1,
		.family = type == GR_STEP ? GR_BINOMIAL : GR_GAUSSIAN,.link = type == GR_STEP ? GR_LOGIT : GR_IDENTITY
	};

	return gr_state_clear(gr_state_create_like(&head, capacity));
}

GrState *
gr_state_create_step(GrDistribution distribution, bool quasi, int nfeatures, int capacity)
{
	const GrState head = {
		.type = GR_STEP,.kind = GR_PASS_EXACT,.nfeatures = nfeatures,.intercept = 1,.family = distribution.family,
		.link = distribution.link,.theta = distribution.theta,.quasi = quasi
	};

	return gr_state_clear(gr_state_create_like(&head, capacity));
}

GrState *
gr_state_resize(const GrState *from, int capacity)
{
	GrState    *state = gr_state_create_like(from, capacity);

	Assert(from->npending <= capacity);
	memcpy(state->data, from->data, state_size(from, from->npending) - offsetof(GrState, data));
	return state;
}

GrState *
gr_state_named(GrState *state, const char *names, Size nbytes)
{
	GrState		head;
	GrState    *named;

	gr_state_flush(state, NULL);
	head = *state;
	head.npending = 0;
	head.nnames = (nbytes + sizeof(double) - 1) / sizeof(double);
	named = gr_state_create_like(&head, 0);
	memcpy(named->data, state->data, gr_state_names(state) - (char *) state->data);
	memcpy(gr_state_names(named), names, nbytes);
	return named;
}

const char **
gr_state_column_names(GrState *state)
{
	const char **names;
	const char *at = gr_state_names(state);

	if (state->nnames == 0)
		return NULL;
	names = palloc(gr_state_nterms(state) * sizeof(char *));
	for (int k = 0; k <= state->nfeatures; k++)
	{
		names[k == 0 ? state->nfeatures : k - 1] = at;
		at += strlen(at) + 1;
	}
	return names;
}

GrState *
gr_state_reshape(GrState *state, GrRowShape shape, GrWeighting weighting, int capacity)
{
	GrState		head;
	GrState    *reshaped;

	gr_state_flush(state, NULL);
	head = *state;
	head.npending = 0;
	head.weight = shape.weight;
	head.offset = shape.offset;
	head.weighting = weighting;
	reshaped = gr_state_create_like(&head, capacity);
	/* names of a gpu_ols_stats, at the position where a gpu_logreg_step has totals */
	memcpy(reshaped->data, state->data,
		   gr_state_names(state) - (char *) state->data + (Size) state->nnames * sizeof(double));
	return reshaped;
}

GrState *
gr_state_request_sums(GrRowShape shape, GrRowRules rules)
{
	GrState    *state = gr_state_create(GR_STATS, -1, 0);

	state->weight = shape.weight;
	state->weighting = rules.weighting;
	return state;
}

double *
gr_state_array(GrState *state, GrRequestArray array)
{
	switch (array)
	{
		case GR_REQUEST_BETA:
			return gr_state_beta(state);
		case GR_REQUEST_SHIFT:
			return gr_state_shift(state);
		case GR_REQUEST_FACES:
			return state->nfaces > 0 ? gr_state_faces(state) : NULL;
		case GR_REQUEST_FACE_ABSOLUTE:
			return state->nfaces > 0 ? gr_state_face_absolute(state) : NULL;
		case GR_REQUEST_FACTOR:
			return gr_state_nfactor(state) > 0 ? gr_state_factor(state) : NULL;
		default:
			return NULL;
	}
}

GrBasis
gr_state_requested_basis(GrState *request)
{
	int		   *changed = palloc(Max(request->nchanged, 1) * sizeof(int));

	for (int k = 0; k < request->nchanged; k++)
		changed[k] = (int) gr_state_changed(request)[k];
	return (GrBasis) {request->nfeatures, request->nchanged, changed, gr_state_basis(request)};
}

/*
 * Sums
 */

static void
raise_canceled(const char *what)
{
	GrError		err = {0};

	gr_fail(&err, GR_CANCELED, 0, "%s", what);
	gr_raise(&err);
}

/*
 * Raises an ERROR if a sum left float8's range, or if a row just added has a value that is not finite: such a state is
 * useless, and its text could not be read back. rows: the nrows rows just added. names: names of the columns for
 * messages, or NULL
 */
static void
check_range(GrState *state, const double *rows, int nrows, const char *const *names)
{
	bool		weighted = state->type == GR_STEP;
	int			p = state->nfeatures;
	GrError		err = {0};
	int			column = 0;
	int			nonfinite;

	if (weighted && gr_state_sums(state)[GR_SUM_NROWS] > GR_PASS_ROWS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("number of rows is out of range")));
	if (state->internal || (gr_state_others_finite(state) && gr_gram_finite(gr_state_hi(state), p + weighted, &column)))
		return;
	if (!gr_all_finite(rows, nrows, gr_row_ncols(gr_state_shape(state)), &nonfinite))
		gr_fail(&err, GR_NOT_FINITE, nonfinite, "%s", "");
	else if (!gr_state_others_finite(state) || (state->linear && column == 0))
		/* In a pass without beta, the response is so extreme that no mean near it can be computed. */
		gr_fail(&err, GR_OUT_OF_RANGE, p, "%s", "");
	else if (weighted && column == 0)
		/* Column 0 is the root of the row's weight, which only beta can make infinite. */
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("beta times x is out of range for float8"),
				 errhint("Start from another beta, such as '{}', or rescale the features.")));
	else
		gr_fail(&err, GR_OUT_OF_RANGE, gr_column_of_row(weighted ? GR_ROWS_PASS : GR_ROWS_ENTRIES, column + 1),
				"%s", "");
	gr_raise_row(&err, gr_state_shape(state), names);
}

/* Chooses the shift at the first rows. Translates the matrix to another shift if later rows aren't exact with it. */
static void
settle_shift(GrState *state, const double *rows, int nrows, GrPoll *poll)
{
	int			p = state->nfeatures;
	GrRowShape	shape = gr_state_shape(state);
	GrGram		gram = gr_state_matrix(state);
	double	   *shift = gram.shift;
	double	   *narrowed;

	if (gram.hi[0] == 0.0)
	{
		(void) gr_shift_choose(shift, rows, nrows, shape);
		return;
	}
	if (!gr_shift_any(shift, p) || gr_shift_exact(shift, rows, nrows, shape))
		return;
	narrowed = palloc(gr_nterms(p) * sizeof(double));
	gr_shift_narrow(narrowed, shift, rows, nrows, shape);
	if (!gr_gram_translate(&gram, narrowed, poll))
		raise_canceled("Gram matrix");
	pfree(narrowed);
}

static void
add_to_gram(GrState *state, const double *rows, int nrows, double *scratch)
{
	GrGram		gram = gr_state_matrix(state);
	GrPoll		poll = {.host = &gr_host};

	settle_shift(state, rows, nrows, &poll);
	if (!gr_gram_is_shifted(&gram))
		gram.shift = NULL;
	if (!gr_gram_add_polling(&gram, rows, nrows, gr_state_shape(state), scratch, gr_gram_lanes(gram.nfeatures), &poll))
		raise_canceled("Gram matrix");
}

/* Changes rows in place to the state's basis, if it has one. */
static void
change_rows(GrState *state, double *rows, int nrows)
{
	int			nchanged = state->nchanged;
	int		   *changed;

	if (nchanged == 0)
		return;
	changed = palloc(nchanged * sizeof(int));
	for (int k = 0; k < nchanged; k++)
		changed[k] = (int) gr_state_changed(state)[k];
	gr_change_rows(&(GrBasis) {state->nfeatures, nchanged, changed, gr_state_basis(state)}, gr_state_shape(state),
				   rows, nrows);
	pfree(changed);
}

static void
add_to_pass(GrState *state, double *rows, int nrows, double *scratch)
{
	const GrPass pass = {
		.kind = (GrPassKind) state->kind,.shape = gr_state_shape(state),
		.distribution = gr_state_distribution(state),
		.beta = gr_state_array(state, GR_REQUEST_BETA),
		.shift = gr_state_array(state, GR_REQUEST_SHIFT),
		.nfaces = state->nfaces,
		.faces = gr_state_array(state, GR_REQUEST_FACES),
		.face_absolute = gr_state_array(state, GR_REQUEST_FACE_ABSOLUTE),
		.face_relative = state->face_relative,.edge = state->face_relative,
		.linear = state->linear != 0,
		.measure = (GrMeasure) state->measure,
		.counts = state->weighting == GR_FREQUENCIES,
		.factor = gr_state_array(state, GR_REQUEST_FACTOR)
	};

	change_rows(state, rows, nrows);
	if (!gr_pass_add_polling(&pass, gr_state_sums(state), rows, nrows, scratch, &gr_host))
		raise_canceled("a pass over the rows");
}

/* Adds the totals of rows with weights. */
static void
add_totals(GrState *state, const double *rows, int nrows)
{
	GrRowTotals totals = {0};

	if (state->type == GR_STEP)
		totals = gr_state_totals(state);
	gr_totals_add(&totals, rows, nrows, gr_state_shape(state), gr_state_rules(state));
	if (state->type == GR_STEP)
		gr_state_set_totals(state, &totals);
	else
	{
		state->weighted = 1;
		state->log_constant += totals.log_constant;
	}
}

void
gr_state_add(GrState *state, double *rows, int nrows, const char *const *names)
{
	union
	{
		char		bytes[STACK_SCRATCH_NBYTES];
		double		align;
	}			local;
	bool		is_gram = state->type == GR_STATS;
	Size		nbytes = is_gram ? gr_gram_scratch_nbytes(gr_state_shape(state)) :
		gr_pass_scratch_nbytes((GrPassKind) state->kind, gr_state_shape(state));
	double	   *scratch;

	scratch = nbytes <= sizeof(local) ? (double *) &local : palloc_extended(nbytes, MCXT_ALLOC_HUGE);
	if (is_gram)
		add_to_gram(state, rows, nrows, scratch);
	else
		add_to_pass(state, rows, nrows, scratch);
	if (scratch != (double *) &local)
		pfree(scratch);
	gr_progress_rows(nrows);
	if (gr_has_totals(gr_state_shape(state), gr_state_rules(state)))
		add_totals(state, rows, nrows);
	if (!is_gram || !gr_state_is_finite(state))
		check_range(state, rows, nrows, names);
}

void
gr_state_flush(GrState *state, const char *const *names)
{
	if (state->npending == 0)
		return;
	gr_state_add(state, gr_state_pending(state), state->npending, names);
	state->npending = 0;
}

/*
 * Values from a caller
 */

const char *
gr_state_type(GrStateType type)
{
	return gr_state_kinds[type].type;
}

void
gr_state_check_version(GrStateType type, int version, int oldest, int newest)
{
	if (version < oldest || version > newest)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("unsupported %s version %d", gr_state_kinds[type].type, version),
				 oldest == newest ? errdetail("This version of gpureg reads version %d.", newest) :
				 errdetail("This version of gpureg reads versions %d to %d.", oldest, newest),
				 errhint("Read the value with the version of gpureg that wrote it, or a later one.")));
}

static void
raise_malformed(GrStateType type)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("malformed %s", gr_state_kinds[type].type)));
}

/*
 * True if the basis changes existing features, in ascending order. change_rows() relies on that to stay within the
 * rows' memory.
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

/* True if family, link and theta are a valid distribution. */
static bool
is_distribution(const GrState *state)
{
	if (state->type == GR_STATS)
		return state->family == GR_GAUSSIAN && state->link == GR_IDENTITY && state->theta == 0;
	return state->family >= GR_GAUSSIAN && state->family < GR_NFAMILIES && state->link >= 0 &&
		state->link < GR_NLINKS && gr_family_has_link((GrFamily) state->family, (GrLink) state->link) &&
		gr_is_parameter((GrFamily) state->family, state->theta) &&
		(state->internal != 0 || gr_family((GrFamily) state->family)->has_theta || state->theta == 0);
}

/*
 * True if a user may have the value. Only logistic regression has values without rows. A pass may be linear only if the
 * distribution's fits begin with a linear pass.
 */
static bool
is_public(const GrState *state)
{
	bool		none = state->offset == 0 && state->nfaces == 0 && state->nchanged == 0 &&
		state->measure == GR_MEASURE_STEP && state->kind == gr_public_kind((GrStateType) state->type);

	if (state->type == GR_STATS)
		return none && state->linear == 0 && state->quasi == 0;
	if (state->quasi != 0 && gr_family_name((GrFamily) state->family, true) == NULL)
		return false;
	return none && state->nnames == 0 && state->weight == 0 && (gr_state_is_logistic(state) || state->nfeatures >= 0) &&
		(state->linear == 0 || gr_is_first_linear(gr_state_distribution(state)));
}

/* True if the parts that the head names can be combined. */
static bool
is_of_a_kind(const GrState *state)
{
	const GrFamilyTraits *family = gr_family((GrFamily) state->family);

	if (state->internal == 0)
		return is_public(state);
	/* a FACE pass has a candidate */
	return state->internal == 1 && state->type == GR_STEP && state->intercept == 1 && state->nfeatures >= 0 &&
		state->quasi == 0 && state->nnames == 0 &&
		state->kind >= GR_PASS_EXACT && (state->kind <= GR_PASS_FACE || state->kind == GR_PASS_JOINT) &&
		(state->kind != GR_PASS_JOINT || (family->has_theta && state->link == GR_LOG && state->linear == 0)) &&
		state->nfaces >= (state->kind == GR_PASS_FACE ? 1 : 0) && state->nfaces <= GR_MAX_FACES &&
		state->nchanged >= 0 && state->nchanged <= state->nfeatures &&
		state->measure >= GR_MEASURE_STEP && state->measure < GR_NMEASURES &&
		(state->measure != GR_MEASURE_THETA || family->has_theta) &&
		(state->measure != GR_MEASURE_OBSERVED ||
		 (family->has_theta && state->link == GR_LOG)) &&
		(!gr_measure_is_of_edge((GrMeasure) state->measure) || family->is_count) &&
		(state->measure == GR_MEASURE_STEP || state->kind == GR_PASS_EXACT) &&
		(gr_measure_is_step((GrMeasure) state->measure) || state->linear == 0) &&
		(state->measure != GR_MEASURE_COARSE_STEP || gr_state_nterms(state) >= GR_COARSE_TERMS_MIN);
}

/* True if there are no names, or as many as columns, none empty. Other functions read no further than these. */
static bool
are_names(GrState *state)
{
	const char *at = gr_state_names(state);
	const char *end = at + (Size) state->nnames * sizeof(double);
	int			n = 0;

	if (state->nnames == 0)
		return true;
	while (at < end && n <= state->nfeatures)
	{
		const char *zero = memchr(at, 0, end - at);

		if (zero == NULL || zero == at)
			return false;
		at = zero + 1;
		n++;
	}
	return n == state->nfeatures + 1;
}

bool
gr_state_is_well_formed(GrState *state, GrStateType type)
{
	return state->type == type && (state->intercept == 0 || state->intercept == 1) &&
		(state->weight == 0 || state->weight == 1) && (state->offset == 0 || state->offset == 1) &&
		(state->weighting == GR_PRIOR_WEIGHTS || state->weighting == GR_FREQUENCIES) &&
		(state->weighted == 0 || state->weighted == 1) && (state->linear == 0 || state->linear == 1) &&
		(state->quasi == 0 || state->quasi == 1) &&
		state->nfeatures >= -1 && state->nfeatures <= GR_MAX_FEATURES && is_distribution(state) &&
		is_of_a_kind(state) &&
		state->npending >= 0 && state->npending <= state->capacity &&
		state->capacity <= gr_state_kinds[type].full_capacity &&
		(state->nfeatures >= 0 || state->capacity == 0) &&
		state->nnames >= 0 && (state->nfeatures >= 0 || state->nnames == 0) &&
		VARSIZE(state) == state_size(state, state->capacity) && is_basis(state) && are_names(state);
}

/* Layout of a gpu_ols_stats of version 1 or 2 */
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
	double		data[FLEXIBLE_ARRAY_MEMBER];	/* hi, lo, shift (version 2), pending */
} OldStats;

/* Converts a gpu_ols_stats of version 1 or 2. Pending rows stay pending. ERROR if it is malformed */
static GrState *
upgraded_stats(const OldStats *old)
{
	const double *shift;
	GrState    *state;
	Size		t;
	Size		nsums;

	if (VARSIZE(old) < offsetof(OldStats, data) || old->nfeatures < -1 || old->nfeatures > GR_MAX_FEATURES ||
		old->npending < 0 || old->npending > old->capacity ||
		old->capacity > gr_state_kinds[GR_STATS].full_capacity ||
		(old->nfeatures < 0 && old->capacity > 0))
		raise_malformed(GR_STATS);
	t = gr_nterms(old->nfeatures);
	nsums = gr_kind_nsums(GR_KIND_GRAM, old->nfeatures);
	shift = old->data + nsums;
	if (VARSIZE(old) != offsetof(OldStats, data) +
		(nsums + (old->version - 1 + (Size) old->capacity) * t) * sizeof(double))
		raise_malformed(GR_STATS);
	state = gr_state_create(GR_STATS, old->nfeatures, old->capacity);
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
gr_state_checked(GrState *state, GrStateType type)
{
	if (VARSIZE(state) < offsetof(GrState, type))
		raise_malformed(type);
	gr_state_check_version(type, state->version, gr_state_kinds[type].oldest, GR_STATE_VERSION);
	if (state->version <= 2)
		return upgraded_stats((const OldStats *) state);
	if (VARSIZE(state) < offsetof(GrState, data) || !gr_state_is_well_formed(state, type))
		raise_malformed(type);
	return state;
}

void
gr_state_settle(GrState *state, const char *const *names)
{
	gr_state_flush(state, names);
	SET_VARSIZE(state, VARSIZE(state) - state->capacity * gr_state_ncols(state) * sizeof(double));
	state->capacity = 0;
}

GrState *
gr_state_settled(Datum datum, GrStateType type, const char *const *names)
{
	GrState    *state = gr_state_checked((GrState *) PG_DETOAST_DATUM(datum), type);

	if (state->capacity == 0)
		return state;
	state = gr_state_resize(state, state->npending);
	gr_state_settle(state, names);
	return state;
}

/*
 * Not inlined: inlined, it was measured to be slower over many groups, where it waits for a state to reach the cache.
 */
pg_noinline GrState *
gr_state_argument(FunctionCallInfo fcinfo, GrStateType type)
{
	GrState    *state = (GrState *) PG_GETARG_POINTER(0);

	if (PG_ARGISNULL(0))
		return NULL;
	/* A state may come from a table even so: an aggregate of the user's may have an initial value. */
	if (unlikely(!gr_in_aggregate(fcinfo) || !VARATT_IS_4B_U(state) || (uintptr_t) state % MAXIMUM_ALIGNOF != 0))
		state = (GrState *) PG_DETOAST_DATUM_COPY(PG_GETARG_DATUM(0));
	else if (likely(state->version == GR_STATE_VERSION))
		return state;
	return gr_state_checked(state, type);
}

/*
 * Merging
 */

static bool
same_family(const GrState *a, const GrState *b)
{
	return a->family == b->family && a->link == b->link && a->theta == b->theta && a->quasi == b->quasi;
}

/* Returns family, theta and link, for messages. */
static char *
family_of(const GrState *state)
{
	const char *name = gr_family_name((GrFamily) state->family, state->quasi);
	const char *link = gr_link_name((GrLink) state->link);

	return !gr_family((GrFamily) state->family)->has_theta ? psprintf("%s with link %s", name, link) :
		psprintf("%s(%g) with link %s", name, state->theta, link);
}

/* Raises an ERROR unless columns that have names in both states have the same names. */
static void
check_same_names(GrState *a, GrState *b)
{
	const char *name = gr_state_names(a);
	const char *other = gr_state_names(b);

	for (int k = 0; a->nnames > 0 && b->nnames > 0 && k <= a->nfeatures; k++)
	{
		if (strcmp(name, other) != 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("cannot combine states whose columns have different names"),
					 errdetail("Column %d is \"%s\" in one state and \"%s\" in the other.", k, name, other),
					 errhint("Aggregate the same columns into each state, or give them the same names with "
							 "gpu_ols_named().")));
		name += strlen(name) + 1;
		other += strlen(other) + 1;
		gr_poll_loop(k);
	}
}

/* Raises an ERROR unless both states have the same request. The shifts of Gram matrices may differ. */
static void
check_same_request(GrState *a, GrState *b)
{
	Size		request_nbytes = (char *) gr_state_sums(a) - (char *) a->data;

	if (a->nfeatures != b->nfeatures)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot combine states with different numbers of features"),
				 errdetail("One state has %d features, the other has %d.", Min(a->nfeatures, b->nfeatures),
						   Max(a->nfeatures, b->nfeatures)),
				 errhint("Aggregate the same columns into each state.")));
	check_same_names(a, b);
	if (!same_family(a, b))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot combine Newton steps of different families or links"),
				 errdetail("One step is of %s, the other of %s.", family_of(a), family_of(b)),
				 errhint("Aggregate all of them with the same family and link.")));
	if (a->type == GR_STEP &&
		(a->kind != b->kind || a->nfaces != b->nfaces || a->nchanged != b->nchanged || a->intercept != b->intercept ||
		 a->internal != b->internal || a->weight != b->weight || a->offset != b->offset ||
		 a->weighting != b->weighting || a->linear != b->linear || a->measure != b->measure ||
		 memcmp(a->data, b->data, request_nbytes) != 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot combine Newton steps that were taken at different beta"),
				 errhint("Aggregate all of them at the same beta.")));
}

static void
merge_sums(GrState *state, GrState *other)
{
	GrGram		gram;
	GrGram		others;
	GrPoll		poll = {.host = &gr_host};

	if (state->type == GR_STEP)
	{
		gr_pass_merge((GrPassKind) state->kind, state->nfeatures, gr_state_sums(state), gr_state_sums(other));
		return;
	}
	gram = gr_state_matrix(state);
	others = gr_state_matrix(other);
	if (!gr_gram_merge(&gram, &others, &poll))
		raise_canceled("Gram matrix");
}

void
gr_state_merge(GrState *state, GrState *other)
{
	gr_add_count(&state->nskipped, other->nskipped);
	if (other->nfeatures < 0)
		return;
	check_same_request(state, other);
	gr_state_flush(state, NULL);
	merge_sums(state, other);
	if (gr_state_ntotals(state) > 0)
	{
		GrRowTotals totals = gr_state_totals(state);
		GrRowTotals more = gr_state_totals(other);

		gr_totals_merge(&totals, &more);
		gr_state_set_totals(state, &totals);
	}
	state->log_constant += other->log_constant;
	if (other->weighted && !state->weighted)
		state->weighting = other->weighting;
	state->weighted |= other->weighted;
	gr_add_count(&state->nrows, other->nrows);
	state->nworkers = (int16) Min(state->nworkers + other->nworkers, PG_INT16_MAX);
	check_range(state, NULL, 0, NULL);
}

/* Returns the sum of two states, either of which may be NULL. */
static Datum
combine(FunctionCallInfo fcinfo, GrStateType type)
{
	GrState    *state = gr_state_argument(fcinfo, type);
	GrState    *other;

	if (PG_ARGISNULL(1))
	{
		if (state == NULL)
			PG_RETURN_NULL();
		return gr_state_result(fcinfo, state);
	}
	other = gr_state_settled(PG_GETARG_DATUM(1), type, NULL);
	if (state == NULL || state->nfeatures < 0)
	{
		GrState    *fresh = gr_state_resize(other, 0);

		if (state != NULL)
			gr_add_count(&fresh->nskipped, state->nskipped);
		return gr_state_result(fcinfo, fresh);
	}
	if (state->nnames == 0 && other->nnames > 0)
		state = gr_state_named(state, gr_state_names(other), (Size) other->nnames * sizeof(double));
	gr_state_merge(state, other);
	return gr_state_result(fcinfo, state);
}

/* gpu_ols_vector_combine(gpu_ols_stats, gpu_ols_stats): applies array_agg's rules for arrays across workers. */
static Datum
combine_vectors(FunctionCallInfo fcinfo, GrStateType type)
{
	if (!PG_ARGISNULL(0) && !PG_ARGISNULL(1))
	{
		GrState    *state = gr_state_argument(fcinfo, type);
		GrState    *other = gr_state_checked((GrState *) PG_DETOAST_DATUM(PG_GETARG_DATUM(1)), type);

		if (state->nfeatures >= 0 && other->nfeatures >= 0 &&
			(state->nfeatures != other->nfeatures || *gr_state_lower_bound(state) != *gr_state_lower_bound(other)))
			gr_raise_other_dimensions();
	}
	return combine(fcinfo, type);
}

GR_STATE_FUNCTION(gr_ols_vector_combine, combine_vectors, GR_STATS)
GR_STATE_FUNCTION(gr_ols_stats_combine, combine, GR_STATS)
GR_STATE_FUNCTION(gr_logreg_step_combine, combine, GR_STEP)
