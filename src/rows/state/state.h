/*
 * state.h: the states of the aggregates: the SQL types gpu_ols_stats and gpu_logreg_step, which share one layout.
 */
#ifndef GPUREG_STATE_H
#define GPUREG_STATE_H

#include "postgres.h"

#include <math.h>

#include "fmgr.h"

#include "compute/base/compute.h"
#include "compute/dist/family.h"
#include "compute/glm/glm.h"
#include "compute/linalg/basis.h"
#include "compute/linalg/gram.h"
#include "compute/request/request.h"
#include "run/args.h"
#include "run/compat.h"

/*
 * Version of the layout in memory and in tables; text and binary output have their own versions. A gpu_ols_stats of
 * version 1 or 2, which had another head, is still read from everywhere.
 */
#define GR_STATE_VERSION 3

/* The SQL types */
typedef enum GrStateType
{
	GR_STATS,					/* gpu_ols_stats: a Gram matrix */
	GR_STEP						/* gpu_logreg_step: a pass */
} GrStateType;

/* Kind of the sums of a gpu_ols_stats: the Gram matrix of (1, x, y) about a shift; see gram_shift.h */
#define GR_KIND_GRAM (-1)

/* Largest number of faces in a state, more than a fit ever needs */
#define GR_MAX_FACES 64

/* Largest number of rows: a pass counts them in a float8, which is exact up to 2^53. */
#define GR_PASS_ROWS_MAX 9007199254740992.0

/*
 * A state has the request for sums, the sums so far, and pending rows, which are not in the sums yet. A value on disk,
 * on the wire or given to a user has no pending rows: capacity and npending are 0. Inside an aggregate the same varlena
 * has room for a batch of rows, since the kernels need many at a time, and is updated in place.
 *
 * A gpu_ols_stats has no request; the request of a gpu_logreg_step is a pass. A value given to a user is of kind EXACT,
 * without faces, basis or shift, and all of its sums but the deviance are finite; other values exist within a statement
 * of gpu_logreg_fit(). A step without a complete row is a logistic regression's, whatever its aggregate's family is.
 */
typedef struct GrState
{
	/* members used for each row come first, so that they mostly share a cache line if there are many groups */
	int32		vl_len_;		/* varlena header */
	int16		version;		/* GR_STATE_VERSION */
	int8		type;			/* GrStateType */
	int8		kind;			/* GR_KIND_GRAM or a GrPassKind */
	int32		nfeatures;		/* -1 until a complete row was seen */
	int16		npending;		/* rows in pending, <= capacity */
	int16		capacity;		/* rows that pending can hold */
	int64		nrows;			/* complete rows, the pending ones included */

	int64		nskipped;		/* rows left out for a NULL */
	double		face_relative;	/* face_relative or edge of the GrPass; gpu_ols_stats: gr_state_lower_bound() */
	int16		nfaces;
	int16		nchanged;		/* features that a basis changes */
	int16		nworkers;		/* pass over a query: parallel workers that had rows; else 0 */
	int8		intercept;		/* gpu_logreg_step: the model has an intercept */
	int8		internal;		/* requested by gpu_logreg_fit(), which checks the sums itself */
	int8		weight;			/* rows have weights */
	int8		offset;			/* rows have offsets: for gpu_logreg_fit() only */
	int8		weighting;		/* GrWeighting */
	int8		weighted;		/* gpu_ols_stats: rows with weights are in the sums */
	int8		linear;			/* the pass is linear, see glm.h */
	int8		family;			/* GrFamily; gpu_ols_stats: gaussian */
	int8		link;			/* GrLink; gpu_ols_stats: identity */
	int8		measure;		/* GrMeasure */
	int8		quasi;			/* public gpu_logreg_step: the family is quasibinomial or quasipoisson */
	int32		nnames;			/* gpu_ols_stats: float8 cells of the columns' names; 0: there are no names */
	double		theta;			/* gr_parameter_of() the distribution; 0 in public values of families without theta */
	double		log_constant;	/* gpu_ols_stats: constant of rows with weights, see GrRowTotals */
	/*
	 * gpu_ols_stats: shift[t], sums[], names[nnames], pending[capacity][c]; t: gr_state_nterms(), c: gr_state_ncols().
	 * The sums are hi[triangle of t + 1], lo[same]. The names are t consecutive strings, each with its final 0, the
	 * response's first; zeros fill the last cell.
	 *
	 * gpu_logreg_step: beta[t], fixed[t], shift[t], face_absolute[nfaces], faces[nfaces][2 t], changed[nchanged],
	 * basis[nchanged][t], factor[triangle of t] if the measure has one, sums[], totals if the rows have some,
	 * pending[capacity][c]. glm.h defines the sums.
	 */
	double		data[FLEXIBLE_ARRAY_MEMBER];
} GrState;

/* Number t of terms of a pass; 0 until a complete row was seen */
static inline Size
gr_state_nterms(const GrState *state)
{
	return gr_nterms(state->nfeatures);
}

/* Number of entries of the triangle hi, and of lo, for the kinds GRAM, EXACT and FACE */
static inline int64
gr_state_triangle(const GrState *state)
{
	return state->nfeatures < 0 ? 0 : gr_triangle((int64) gr_norder(state->nfeatures) +
												  (state->kind == GR_KIND_GRAM ? 0 : 1));
}

/* Kind of the public values of a type */
static inline int
gr_public_kind(GrStateType type)
{
	return type == GR_STATS ? GR_KIND_GRAM : GR_PASS_EXACT;
}

static inline Size
gr_kind_nsums(int kind, int nfeatures)
{
	if (nfeatures < 0)
		return 0;
	return kind == GR_KIND_GRAM ? 2 * (Size) gr_triangle(gr_norder(nfeatures)) :
		gr_pass_nsums((GrPassKind) kind, nfeatures);
}

/* Shape of the state's rows */
static inline GrRowShape
gr_state_shape(const GrState *state)
{
	return (GrRowShape) {
		.nfeatures = state->nfeatures,.weight = state->weight,.offset = state->offset
	};
}

static inline GrRowRules
gr_state_rules(const GrState *state)
{
	return (GrRowRules) {(GrFamily) state->family, (GrWeighting) state->weighting, state->theta};
}

/* Number c of float8 in a row; 0 until a complete row was seen */
static inline Size
gr_state_ncols(const GrState *state)
{
	return state->nfeatures < 0 ? 0 : gr_row_ncols(gr_state_shape(state));
}

static inline GrDistribution
gr_state_distribution(const GrState *state)
{
	return gr_distribution_of((GrFamily) state->family, (GrLink) state->link, state->theta);
}

/* True if the state is of a logistic regression. Called for each row, so the test has one branch. */
static inline bool
gr_state_is_logistic(const GrState *state)
{
	return ((state->family ^ GR_BINOMIAL) | (state->link ^ GR_LOGIT) | state->quasi) == 0;
}

/* Number of float8 cells that the totals of a public value take: those before the losses, which only fits need */
#define GR_STATE_NTOTALS (offsetof(GrRowTotals, losses) / sizeof(double))

/* Number of float8 cells that the totals take */
static inline Size
gr_state_ntotals(const GrState *state)
{
	if (state->type != GR_STEP || !gr_has_totals(gr_state_shape(state), gr_state_rules(state)))
		return 0;
	return state->internal ? sizeof(GrRowTotals) / sizeof(double) : GR_STATE_NTOTALS;
}

static inline double *
gr_state_beta(GrState *state)
{
	return state->data;
}

/* [t] 1 for a term that stays out of the model because its beta is NULL, else 0 */
static inline double *
gr_state_fixed(GrState *state)
{
	return state->data + gr_state_nterms(state);
}

static inline double *
gr_state_shift(GrState *state)
{
	return state->data + (state->type == GR_STEP ? 2 * gr_state_nterms(state) : 0);
}

static inline double *
gr_state_face_absolute(GrState *state)
{
	return gr_state_shift(state) + gr_state_nterms(state);
}

static inline double *
gr_state_faces(GrState *state)
{
	return gr_state_face_absolute(state) + state->nfaces;
}

/* [nchanged] indexes of the features that the basis changes, ascending */
static inline double *
gr_state_changed(GrState *state)
{
	return gr_state_faces(state) + 2 * state->nfaces * gr_state_nterms(state);
}

static inline double *
gr_state_basis(GrState *state)
{
	return gr_state_changed(state) + state->nchanged;
}

static inline double *
gr_state_factor(GrState *state)
{
	return gr_state_basis(state) + state->nchanged * gr_state_nterms(state);
}

static inline Size
gr_state_nfactor(const GrState *state)
{
	return gr_measure_has_factor((GrMeasure) state->measure) ? (Size) gr_triangle(gr_state_nterms(state)) : 0;
}

static inline double *
gr_state_sums(GrState *state)
{
	return gr_state_factor(state) + gr_state_nfactor(state);
}

static inline double *
gr_state_hi(GrState *state)
{
	return gr_state_sums(state) + (state->kind == GR_KIND_GRAM ? 0 : GR_SUM_HEAD);
}

static inline double *
gr_state_lo(GrState *state)
{
	return gr_state_hi(state) + gr_state_triangle(state);
}

/*
 * Lower bound of the arrays in gpu_ols_vector_pass, which must be the same in all rows, as for array_agg. Used within
 * that aggregate only
 */
static inline double *
gr_state_lower_bound(GrState *state)
{
	return &state->face_relative;
}

/* Names of the columns, of a gpu_ols_stats whose nnames isn't 0 */
static inline char *
gr_state_names(GrState *state)
{
	return (char *) (gr_state_sums(state) + gr_kind_nsums(state->kind, state->nfeatures));
}

/* Pending rows. Their address is computed from the value's end, because it is needed for each row. */
static inline double *
gr_state_pending(GrState *state)
{
	return (double *) ((char *) state + VARSIZE(state)) - state->capacity * gr_state_ncols(state);
}

/* The gr_state_ntotals() numbers of a gpu_logreg_step's totals */
static inline double *
gr_state_total_cells(GrState *state)
{
	return gr_state_sums(state) + gr_kind_nsums(state->kind, state->nfeatures);
}

/* Returns the totals. Those that the state has no cells for are 0. */
static inline GrRowTotals
gr_state_totals(GrState *state)
{
	GrRowTotals totals = {0};

	memcpy(&totals, gr_state_total_cells(state), gr_state_ntotals(state) * sizeof(double));
	return totals;
}

static inline void
gr_state_set_totals(GrState *state, const GrRowTotals *totals)
{
	memcpy(gr_state_total_cells(state), totals, gr_state_ntotals(state) * sizeof(double));
}

/* True if all numbers outside the matrix that a public value's text must have finite are finite. */
static inline bool
gr_state_others_finite(GrState *state)
{
	const double *totals = gr_state_total_cells(state);
	bool		ok = isfinite(state->log_constant) &&
		(state->type == GR_STATS || isfinite(gr_state_sums(state)[GR_SUM_NONES]));

	for (Size k = 0; k < gr_state_ntotals(state); k++)
		ok &= isfinite(totals[k]);
	return ok;
}

/* True if all numbers that a public value's text must have finite are finite. Other text could not be read back. */
static inline bool
gr_state_is_finite(GrState *state)
{
	int			column;

	return gr_state_others_finite(state) &&
		gr_gram_finite(gr_state_hi(state), state->nfeatures + (state->type == GR_STEP ? 1 : 0), &column);
}

/* The Gram matrix of a gpu_ols_stats, which shares the state's memory; its counts are 0. */
static inline GrGram
gr_state_matrix(GrState *state)
{
	return (GrGram) {
		.hi = gr_state_hi(state),.lo = gr_state_lo(state),.shift = gr_state_shift(state),.nfeatures = state->nfeatures
	};
}

/* Number of observations: rows, or the sum of their frequencies. ERROR as in gr_count() */
static inline int64
gr_state_nobs(GrState *state)
{
	return state->weighted && state->weighting == GR_FREQUENCIES ? gr_count(gr_state_hi(state)[0]) : state->nrows;
}

/* gr_state_matrix() with its observations and log_constant, but without its rows. ERROR as in gr_state_nobs() */
static inline GrGram
gr_state_gram(GrState *state)
{
	GrGram		gram = gr_state_matrix(state);

	gram.nobs = gr_state_nobs(state);
	gram.log_constant = state->log_constant;
	return gram;
}

/* Creates a public value without rows, of a model with an intercept at beta 0. capacity: pending rows it can hold */
extern GrState *gr_state_create(GrStateType type, int nfeatures, int capacity);

/* Creates a public gpu_logreg_step of a distribution, like gr_state_create(). nfeatures >= 0 */
extern GrState *gr_state_create_step(GrDistribution distribution, bool quasi, int nfeatures, int capacity);

/*
 * Creates a value with the numbers of head, which must be within their bounds, and another capacity. All arrays are 0;
 * gr_state_clear() sets the sums that must not be. ERROR if the value would be too large
 */
extern GrState *gr_state_create_like(const GrState *head, int capacity);

/* Returns a request's array in a gpu_logreg_step, or NULL if the state has no such array. */
extern double *gr_state_array(GrState *state, GrRequestArray array);

/* Returns a request's basis. Its coefficients point into request; changed is allocated in the current context. */
extern GrBasis gr_state_requested_basis(GrState *request);

/* Creates the request of gpu_ols_fit(): a gpu_ols_stats of unknown width, with the weights of shape and rules */
extern GrState *gr_state_request_sums(GrRowShape shape, GrRowRules rules);

/* Returns a copy of state for rows with another weight and offset, without pending rows. Flushes state first. */
extern GrState *gr_state_reshape(GrState *state, GrRowShape shape, GrWeighting weighting, int capacity);

/*
 * True if a value of this version, with a whole head, has the layout that its head describes, and a valid combination
 * of parts. All other functions rely on that. The values of the sums aren't checked.
 */
extern bool gr_state_is_well_formed(GrState *state, GrStateType type);

/* Checks a value from a caller, and upgrades versions that can be. ERROR if it is malformed or of another version */
extern GrState *gr_state_checked(GrState *state, GrStateType type);

/*
 * Returns the argument, checked, as a value without pending rows: datum itself, or a copy in the current context.
 * names: names of the columns for messages, as in gr_raise_columns(), or NULL
 */
extern GrState *gr_state_settled(Datum datum, GrStateType type, const char *const *names);

/* Adds the pending rows of a state that this process made, and removes the room for pending rows. */
extern void gr_state_settle(GrState *state, const char *const *names);

/*
 * Adds the sums of other, which has no pending rows, to state, whose nfeatures is known. ERROR if their requests differ
 */
extern void gr_state_merge(GrState *state, GrState *other);

/*
 * Returns a copy of a gpu_ols_stats with names and without pending rows. names: nbytes bytes in GrState's layout, one
 * name per column. ERROR if they are too long for a value
 */
extern GrState *gr_state_named(GrState *state, const char *names, Size nbytes);

/* Returns the names of the features and then of the response, which point into state, or NULL if there are none. */
extern const char **gr_state_column_names(GrState *state);

/* Returns the SQL name of a type. */
extern const char *gr_state_type(GrStateType type);

/* ERROR unless oldest <= version <= newest. Called for a state from outside an aggregate: text, the wire or a table */
extern void gr_state_check_version(GrStateType type, int version, int oldest, int newest);

/*
 * Used by the functions that take rows, in state_rows.c
 */

/* Differences between the types other than their sums */
typedef struct GrStateKind
{
	const char *type;
	const char *pass;			/* aggregate over a query's columns */
	const char *fit;			/* function that uses that aggregate */
	/* pending rows: few at first, so that a small group stays small, then as many as the kernels are efficient with */
	int			first_capacity;
	int			full_capacity;
	int			oldest;			/* oldest version that is read from a table */
} GrStateKind;

extern const GrStateKind gr_state_kinds[];

/* Sets the sums to those of no rows. Returns state. */
extern GrState *gr_state_clear(GrState *state);

/* Returns a copy with another capacity, which must be enough for the pending rows. */
extern GrState *gr_state_resize(const GrState *from, int capacity);

/*
 * Adds at least one row of the state's shape to the sums, but not to nrows. If the state has a basis, rows are changed
 * in place. names: names of the columns for messages, or NULL
 */
extern void gr_state_add(GrState *state, double *rows, int nrows, const char *const *names);

/* Adds the pending rows to the sums. */
extern void gr_state_flush(GrState *state, const char *const *names);

/* Returns the first argument as a state that may be changed: the aggregate's own, or a checked copy. NULL if NULL */
extern GrState *gr_state_argument(FunctionCallInfo fcinfo, GrStateType type);

/* Returns state to SQL. Outside an aggregate its pending rows are added first. */
static inline Datum
gr_state_result(FunctionCallInfo fcinfo, GrState *state)
{
	if (likely(gr_in_aggregate(fcinfo)))
		PG_RETURN_POINTER(state);
	PG_RETURN_POINTER(gr_state_settled(PointerGetDatum(state), (GrStateType) state->type, NULL));
}

/* Defines the SQL function name, which calls function for a type. */
#define GR_STATE_FUNCTION(name, function, type) \
	PG_FUNCTION_INFO_V1(name); \
	Datum \
	name(PG_FUNCTION_ARGS) \
	{ \
		return function(fcinfo, type); \
	}

#endif							/* GPUREG_STATE_H */
