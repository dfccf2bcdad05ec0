/*
 * logreg_step.h: the SQL type gpu_logreg_step: the sums of one pass of a logistic regression over rows, mergeable.
 */
#ifndef GPUREG_LOGREG_STEP_H
#define GPUREG_LOGREG_STEP_H

#include "postgres.h"

#include "fmgr.h"

#include "compute/compute.h"
#include "compute/glm.h"
#define GR_STEP_VERSION 1

/* Rows are counted in a float8 among the sums, which is exact up to here. */
#define GR_STEP_ROWS_MAX 9007199254740992.0

/*
 * What is asked of the rows (a GrPass), the sums so far, and rows that are not in them yet. A value given to a user is
 * of kind EXACT, without faces or shift, all of its sums finite, and has no pending rows; others exist within a
 * statement of gpu_logreg_fit().
 */
typedef struct GrStep
{
	int32		vl_len_;		/* varlena header */
	int16		version;		/* GR_STEP_VERSION */
	int8		kind;			/* GrPassKind */
	int8		intercept;
	int32		nfeatures;		/* -1 until a complete row was seen */
	int32		nfaces;
	int32		npending;		/* rows in pending, <= capacity */
	int32		capacity;
	int32		nparts;			/* states merged into this one, itself included */
	int32		internal;		/* 0; or asked for by gpu_logreg_fit(), which looks at the sums itself: 1 + nchanged, as GrBasis has it */
	int64		nskipped;		/* rows left out for a NULL */
	double		face_relative;
	/*
	 * beta[t], fixed[t], shift[t], face_absolute[nfaces], faces[nfaces][t], changed[nchanged], basis[nchanged][t], sums[],
	 * pending[capacity][t]; t = nfeatures + 1
	 */
	double		data[FLEXIBLE_ARRAY_MEMBER];
} GrStep;

static inline double *
gr_step_beta(GrStep *step)
{
	return step->data;
}

/* 1 for a term that is to stay out of the model, since its beta was given as NULL; else 0 */
static inline double *
gr_step_fixed(GrStep *step)
{
	return step->data + (step->nfeatures + 1);
}

static inline double *
gr_step_shift(GrStep *step)
{
	return step->data + 2 * (Size) (step->nfeatures + 1);
}

static inline double *
gr_step_face_absolute(GrStep *step)
{
	return step->data + 3 * (Size) (step->nfeatures + 1);
}

static inline double *
gr_step_faces(GrStep *step)
{
	return gr_step_face_absolute(step) + step->nfaces;
}

static inline int
gr_step_nchanged(const GrStep *step)
{
	return step->internal > 0 ? step->internal - 1 : 0;
}

/* which features the basis changes */
static inline double *
gr_step_changed(GrStep *step)
{
	return gr_step_faces(step) + (Size) step->nfaces * (step->nfeatures + 1);
}

static inline double *
gr_step_basis(GrStep *step)
{
	return gr_step_changed(step) + gr_step_nchanged(step);
}

static inline double *
gr_step_sums(GrStep *step)
{
	return gr_step_basis(step) + (Size) gr_step_nchanged(step) * (step->nfeatures + 1);
}

/* They are the value's end: wanted for each row, they are found from there. */
static inline double *
gr_step_pending(GrStep *step)
{
	return (double *) ((char *) step + VARSIZE(step)) - (Size) step->capacity * (step->nfeatures + 1);
}

/* A value without rows, with room for capacity pending ones; at beta = 0, without shift, faces or basis set. */
extern GrStep *gr_step_create(GrPassKind kind, int nfeatures, int nfaces, int internal, int capacity);

/* ERROR unless it is this version's; wherever a state comes from outside an aggregate: text, the wire, a table. */
extern void gr_step_check_version(int version);

/* A value that asks for a pass over rows changed by a basis, or NULL: the state that an aggregate over rows begins with. */
extern GrStep *gr_step_request(const GrPass *pass, const GrBasis *basis);

/* The argument as a value without pending rows: itself where it has none, else a copy in the current context. */
extern GrStep *gr_step_settled(Datum datum);

#endif							/* GPUREG_LOGREG_STEP_H */
