/*
 * model_extras.h: the text of gpu_model's field design: a model's design and, in front of it, what else the model
 * remembers beside its fields (compute/design/extras.h).
 */
#ifndef GPUREG_MODEL_EXTRAS_H
#define GPUREG_MODEL_EXTRAS_H

#include "postgres.h"

#include "compute/design/extras.h"
#include "rows/columns/columns.h"

/* Memory of a model beside its fields; each member is a record in the text. All 0 if it remembers nothing. */
typedef struct GrModelExtras
{
	/*
	 * Names of the columns that the fit took for offsets (or GR_UNNAMED_OFFSETS), prior weights and frequencies. NULL:
	 * there was none, or the model is of release 0.1.0, which did not remember them
	 */
	const char *offsets;
	const char *weights;
	const char *frequencies;
	/* Degrees of freedom of each of ndf terms, NaN for terms without; NULL: all have those of df_inference */
	const double *df;
	int			ndf;
	/* low halves of vcov as text, see vcov_low.h; bytes NULL: vcov loses no digits that matter, or they aren't known */
	GrString	vcov_low;
} GrModelExtras;

/* Raises 22023: a gpu_model is malformed, as detail says. */
extern void gr_bad_model(const char *detail);

/* Remembers the columns that a fit took for roles. */
static inline void
gr_extras_take_roles(GrModelExtras *extras, const GrRoles *roles)
{
	bool		counts = roles->weighting == GR_FREQUENCIES;

	extras->offsets = roles->offsets;
	extras->weights = counts ? NULL : roles->weights;
	extras->frequencies = counts ? roles->weights : NULL;
}

/* Reads the field into records that point into it. ERROR if it is malformed. */
extern void gr_read_extras(const text *field, GrExtras *extras);

/* The degrees of freedom of each of *n terms, or NULL if the model has one number for all. ERROR if malformed. */
extern const double *gr_read_df(const GrExtras *records, int *n);

/*
 * Reads the field, which is NULL if it is NULL in the model, into the members of extras. Returns the design, or "" if
 * the model has none.
 */
extern const char *gr_read_model_extras(const text *field, GrModelExtras *extras);

/* The field, of extras and a design, which is "" or NULL if there is none. */
extern text *gr_model_extras_text(const GrModelExtras *extras, const char *design);

/* True if there are no records: then the field is the design alone. */
static inline bool
gr_extras_are_none(const GrModelExtras *extras)
{
	return extras->offsets == NULL && extras->weights == NULL && extras->frequencies == NULL &&
		(extras->df == NULL || extras->ndf == 0) && extras->vcov_low.bytes == NULL;
}

/*
 * Reads low halves of a covariance matrix, a packed triangle, into the current memory context. Returns NULL if string's
 * bytes are NULL. ERROR unless a fit can have written string for vcov
 */
extern double *gr_read_low(GrString string, const double *vcov, int nterms);

#endif							/* GPUREG_MODEL_EXTRAS_H */
