/*
 * state.h: what aggregates carry: the SQL types gpu_ols_stats and gpu_logreg_step, which are one to this code.
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
 * Of the value as it lies in memory and in tables; the text and the wire have their own. A gpu_ols_stats of versions 1
 * and 2, which had another head, is read wherever a value comes from.
 */
#define GR_STATE_VERSION 3

/* The SQL types */
typedef enum GrStateType
{
	GR_STATS,					/* gpu_ols_stats: a Gram matrix */
	GR_STEP						/* gpu_logreg_step: a pass */
} GrStateType;

/* The kind of sums that a gpu_ols_stats has: the Gram matrix of (1, x, y) about a shift, as gram_shift.h has it */
#define GR_KIND_GRAM (-1)

/* More than a fit ever follows */
#define GR_MAX_FACES 64

/* Rows are counted in a float8 among the sums of a pass, which is exact up to here. */
#define GR_PASS_ROWS_MAX 9007199254740992.0

/*
 * What is asked of the rows, the sums so far, and rows that are not in them yet. A value on disk, on the wire or given
 * to a user has none of those: capacity and npending are 0. Inside an aggregate the same varlena has room for a batch
 * of rows, since the kernels want many at a time, and is updated in place.
 *
 * What is asked of a gpu_ols_stats' rows is nothing; of a gpu_logreg_step's, a pass. A value given to a user is of
 * kind EXACT, without faces, basis or shift, all of its sums but the deviance finite; others exist within a statement
 * of gpu_logreg_fit(). One without a complete row is a logistic regression's, whatever family its aggregate is of.
 */
typedef struct GrState
{
	/* what a row is taken with: in one cache line, mostly, where there are as many states as groups */
	int32		vl_len_;		/* varlena header */
	int16		version;		/* GR_STATE_VERSION */
	int8		type;			/* GrStateType */
	int8		kind;			/* GR_KIND_GRAM or a GrPassKind */
	int32		nfeatures;		/* -1 until a complete row was seen */
	int16		npending;		/* rows in pending, <= capacity */
	int16		capacity;
	int64		nrows;			/* complete rows, the pending ones included */

	int64		nskipped;		/* rows left out for a NULL */
	double		face_relative;	/* of a gpu_ols_stats: gr_state_lower_bound() */
	int16		nfaces;
	int16		nchanged;		/* features that a basis changes */
	int16		nworkers;		/* of a pass over a query: parallel workers that had rows; else 0 */
	int8		intercept;		/* of a gpu_logreg_step: is there one in the model? */
	int8		internal;		/* asked for by gpu_logreg_fit(), which looks at the sums itself */
	int8		weight;			/* the rows that it takes have weights */
	int8		offset;			/* ... offsets: for gpu_logreg_fit() alone */
	int8		weighting;		/* GrWeighting */
	int8		weighted;		/* gpu_ols_stats: rows with weights are in the sums */
	int8		linear;			/* the pass is linear, see glm.h */
	int8		family;			/* GrFamily; gaussian of a gpu_ols_stats */
	int8		link;			/* GrLink; identity of a gpu_ols_stats */
	int8		measure;		/* GrMeasure */
	int8		quasi;			/* of a gpu_logreg_step that users have: the family is quasibinomial or -poisson */
	int32		nnames;			/* of a gpu_ols_stats: cells that its columns' names take; 0: they have none */
	double		theta;			/* gr_parameter_of() the distribution; users have no exponent but 0 */
	double		log_constant;	/* gpu_ols_stats: of rows with weights, see GrRowTotals */
	/*
	 * gpu_ols_stats: shift[t], sums[], names[nnames], pending[capacity][c]; t: gr_state_nterms(), c: gr_state_ncols().
	 * The sums: hi[triangle of t + 1], lo[same]. The names: t strings one behind the other, each with its final 0, the
	 * response's first; then zeros.
	 *
	 * gpu_logreg_step: beta[t], fixed[t], shift[t], face_absolute[nfaces], faces[nfaces][2 t], changed[nchanged],
	 * basis[nchanged][t], factor[triangle of t] where the measure has one, sums[], the totals of rows that have some,
	 * pending[capacity][c]. The sums: as glm.h has them.
	 */
	double		data[FLEXIBLE_ARRAY_MEMBER];
} GrState;

/* t: terms of a pass; 0 until a complete row was seen */
static inline Size
gr_state_nterms(const GrState *state)
{
	return gr_nterms(state->nfeatures);
}

/* Entries of the Gram matrix's triangle hi, and of lo, of GRAM, EXACT and FACE */
static inline int64
gr_state_triangle(const GrState *state)
{
	return state->nfeatures < 0 ? 0 : gr_triangle((int64) gr_norder(state->nfeatures) +
												  (state->kind == GR_KIND_GRAM ? 0 : 1));
}

/* The kind of the values that users have */
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

/* Of the rows that it takes */
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

/* c: values of a row; 0 until a complete row was seen */
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

/* Is it a step of logistic regression, or a pass of such a fit? Asked for each row: one branch */
static inline bool
gr_state_is_logistic(const GrState *state)
{
	return ((state->family ^ GR_BINOMIAL) | (state->link ^ GR_LOGIT) | state->quasi) == 0;
}

/* Cells that totals take */
static inline Size
gr_state_ntotals(const GrState *state)
{
	return state->type == GR_STEP && gr_has_totals(gr_state_shape(state), gr_state_rules(state)) ?
		sizeof(GrRowTotals) / sizeof(double) : 0;
}

static inline double *
gr_state_beta(GrState *state)
{
	return state->data;
}

/* 1 for a term that is to stay out of the model, since its beta was given as NULL; else 0 */
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

/* which features the basis changes */
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
 * The lower bound of the arrays that gpu_ols_vector_pass has met, which array_agg wants to be the same in all rows; of
 * use within that aggregate alone
 */
static inline double *
gr_state_lower_bound(GrState *state)
{
	return &state->face_relative;
}

/* Of a gpu_ols_stats that has some */
static inline char *
gr_state_names(GrState *state)
{
	return (char *) (gr_state_sums(state) + gr_kind_nsums(state->kind, state->nfeatures));
}

/* They are the value's end: wanted for each row, they are found from there. */
static inline double *
gr_state_pending(GrState *state)
{
	return (double *) ((char *) state + VARSIZE(state)) - state->capacity * gr_state_ncols(state);
}

/* Of a gpu_logreg_step that has some */
static inline GrRowTotals *
gr_state_totals(GrState *state)
{
	return (GrRowTotals *) (gr_state_sums(state) + gr_kind_nsums(state->kind, state->nfeatures));
}

/* What is beside the matrix of a public value's sums, as far as it has to be finite for its text to be read back */
static inline bool
gr_state_others_finite(GrState *state)
{
	const double *totals = gr_state_ntotals(state) > 0 ? &gr_state_totals(state)->weights : NULL;
	bool		ok = isfinite(state->log_constant) &&
		(state->type == GR_STATS || isfinite(gr_state_sums(state)[GR_SUM_NONES]));

	for (Size k = 0; k < gr_state_ntotals(state); k++)
		ok &= isfinite(totals[k]);
	return ok;
}

/* True if all is finite that has to be for a public value's text to be read back. */
static inline bool
gr_state_is_finite(GrState *state)
{
	int			column;

	return gr_state_others_finite(state) &&
		gr_gram_finite(gr_state_hi(state), state->nfeatures + (state->type == GR_STEP ? 1 : 0), &column);
}

/* The Gram matrix of a gpu_ols_stats, as it lies there; its counts are 0. */
static inline GrGram
gr_state_matrix(GrState *state)
{
	return (GrGram) {
		.hi = gr_state_hi(state),.lo = gr_state_lo(state),.shift = gr_state_shift(state),.nfeatures = state->nfeatures
	};
}

/* Observations: rows, or the sum of their frequencies, whose ERROR see gr_count() */
static inline int64
gr_state_nobs(GrState *state)
{
	return state->weighted && state->weighting == GR_FREQUENCIES ? gr_count(gr_state_hi(state)[0]) : state->nrows;
}

/* gr_state_matrix() with its observations and log_constant; ERROR as above. The rows summed are left out. */
static inline GrGram
gr_state_gram(GrState *state)
{
	GrGram		gram = gr_state_matrix(state);

	gram.nobs = gr_state_nobs(state);
	gram.log_constant = state->log_constant;
	return gram;
}

/* A value for users, without rows; of a model with an intercept, at a beta of 0 */
extern GrState *gr_state_create(GrStateType type, int nfeatures, int capacity);

/* The same, a gpu_logreg_step, of a family; nfeatures >= 0 */
extern GrState *gr_state_create_step(GrDistribution distribution, bool quasi, int nfeatures, int capacity);

/*
 * A value with this head, all of whose numbers but the capacity are its own and must be within their bounds. Its arrays
 * are 0, and sums that are not are for gr_state_clear().
 */
extern GrState *gr_state_create_like(const GrState *head, int capacity);

/* Where a gpu_logreg_step has an array of a request; NULL: it has none such */
extern double *gr_state_array(GrState *state, GrRequestArray array);

/* The basis that a request has, whose numbers stay the request's; in the current memory context */
extern GrBasis gr_state_requested_basis(GrState *request);

/* The same for the sums of gpu_ols_fit(), of rows whose number of features may not be known */
extern GrState *gr_state_request_sums(GrRowShape shape, GrRowRules rules);

/* Room for rows of another shape: a state without pending rows, its own or a copy */
extern GrState *gr_state_reshape(GrState *state, GrRowShape shape, GrWeighting weighting, int capacity);

/*
 * Is the value, of this version and with a head, laid out as that says, with parts that go together? All that is done
 * with one rests on that; what the numbers are doesn't matter.
 */
extern bool gr_state_is_well_formed(GrState *state, GrStateType type);

/* A value that comes from a caller: well formed, and of this version or made so. ERROR if it isn't. */
extern GrState *gr_state_checked(GrState *state, GrStateType type);

/*
 * The argument as a value without pending rows: itself where it has none, else a copy in the current context. names: of
 * the columns, for messages, as in gr_raise_columns(), or NULL.
 */
extern GrState *gr_state_settled(Datum datum, GrStateType type, const char *const *names);

/* Adds the pending rows of a state of this process's own, which then has no room for others. */
extern void gr_state_settle(GrState *state, const char *const *names);

/*
 * Adds what other has, without pending rows, to a state that has a width. ERROR if something else was asked of other's
 * rows
 */
extern void gr_state_merge(GrState *state, GrState *other);

/*
 * names: nbytes of them, as GrState has them, a column of state's each: a copy of a gpu_ols_stats without pending rows
 * that has these names. ERROR where they are too long for a value.
 */
extern GrState *gr_state_named(GrState *state, const char *names, Size nbytes);

/* The names of its columns, which are the state's: of the features, and then of the response; NULL: they have none */
extern const char **gr_state_column_names(GrState *state);

/* Its name */
extern const char *gr_state_type(GrStateType type);

/* ERROR unless it is one of these; wherever a state comes from outside an aggregate: text, the wire, a table. */
extern void gr_state_check_version(GrStateType type, int version, int oldest, int newest);

/*
 * For the functions that take rows, state_rows.c
 */

/* What differs between the types, but for their sums */
typedef struct GrStateKind
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
} GrStateKind;

extern const GrStateKind gr_state_kinds[];

/* So that rows can be added: sums of none. The state */
extern GrState *gr_state_clear(GrState *state);

/* A copy with another capacity, which must hold the rows that are pending. */
extern GrState *gr_state_resize(const GrState *from, int capacity);

/*
 * Adds rows of its shape to the sums, at least one; where a basis is asked for they are changed in place. Whoever has
 * them counts them. names: of the columns, for messages, or NULL
 */
extern void gr_state_add(GrState *state, double *rows, int nrows, const char *const *names);

/* Adds the pending rows to the sums. */
extern void gr_state_flush(GrState *state, const char *const *names);

/* The first argument as a state that may be changed: the aggregate's own, or a copy, checked; NULL for NULL */
extern GrState *gr_state_argument(FunctionCallInfo fcinfo, GrStateType type);

/* A state handed to SQL outside an aggregate has no pending rows. */
static inline Datum
gr_state_result(FunctionCallInfo fcinfo, GrState *state)
{
	if (likely(gr_in_aggregate(fcinfo)))
		PG_RETURN_POINTER(state);
	PG_RETURN_POINTER(gr_state_settled(PointerGetDatum(state), (GrStateType) state->type, NULL));
}

/* A function of SQL's as what one of ours does for a type */
#define GR_STATE_FUNCTION(name, function, type) \
	PG_FUNCTION_INFO_V1(name); \
	Datum \
	name(PG_FUNCTION_ARGS) \
	{ \
		return function(fcinfo, type); \
	}

#endif							/* GPUREG_STATE_H */
