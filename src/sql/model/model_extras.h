/*
 * model_extras.h: reads and writes gpu_model's field design. The field holds a model's design and, before it, records
 * of what the type has no fields for (compute/design/extras.h). model.c is the first caller.
 */
#ifndef GPUREG_MODEL_EXTRAS_H
#define GPUREG_MODEL_EXTRAS_H

#include "postgres.h"

#include "compute/design/extras.h"
#include "compute/effects/effects.h"
#include "rows/columns/columns.h"

/* Effects that a fit absorbed. In the record, the numbers are in this order, then the factors' numbers of levels. */
typedef struct GrAbsorbed
{
	const char *names;			/* names as in a formula: firm + year */
	double		df;				/* degrees of freedom that the effects use */
	bool		df_is_bound;	/* df is an upper bound */
	double		within_tss;		/* sum of squares of the projected response */
	double		nsingletons;	/* rows dropped because they are the only ones of a level */
	double		nseparated;		/* rows dropped because an infinite effect fits them */
	int			nfactors;
	double		nlevels[GR_EFFECTS_MAX];	/* by factor: levels among the rows used */
} GrAbsorbed;

/* Records of a model besides its fields; each member is a record in the text. All 0 if there are none. */
typedef struct GrModelExtras
{
	/*
	 * Names of the columns of offsets (or GR_UNNAMED_OFFSETS), prior weights and frequencies in the fit. NULL: the fit
	 * had none, or the model is of release 0.1.0, which did not record them.
	 */
	const char *offsets;
	const char *weights;
	const char *frequencies;
	/* Degrees of freedom of each of ndf terms, NaN: none. NULL: all terms have df_inference. */
	const double *df;
	int			ndf;
	/*
	 * Low halves of vcov as text, see vcov_low.h. bytes NULL: vcov loses no digits that matter, or they are not known.
	 */
	GrString	vcov_low;
	const GrAbsorbed *absorbed; /* NULL: the fit absorbed no effects */
	/*
	 * (X'WX)^-1 as text, the numbers of a packed triangle, for leverages; NaN for terms without a coefficient. bytes
	 * NULL: vcov is iid, or the model has too many terms or none of it.
	 */
	GrString	bread;
	GrString	mixed;			/* random terms as text, see lmm_record.h; bytes NULL: the model has none */
	/* Labels of the classes: the base first, or in their order if the model is ordinal. NULL: no classes */
	const char **classes;
	int			nclasses;
} GrModelExtras;

/* Raises 22023: the gpu_model is malformed. detail: a sentence that says why. */
extern void gr_bad_model(const char *detail);

/* Records the columns that a fit used for offsets, weights and frequencies. */
static inline void
gr_extras_take_roles(GrModelExtras *extras, const GrRoles *roles)
{
	bool		counts = roles->weighting == GR_FREQUENCIES;

	extras->offsets = roles->offsets;
	extras->weights = counts ? NULL : roles->weights;
	extras->frequencies = counts ? roles->weights : NULL;
}

/* Raises 0A000 if the records say that the model has absorbed effects, which a prediction would need. */
extern void gr_check_not_absorbed(const GrExtras *records);

/* Splits field, a gpu_model's design, into records that point into it. Raises an ERROR if it is malformed. */
extern void gr_read_extras(const text *field, GrExtras *extras);

/* Returns the degrees of freedom of *n terms; NULL: no record has them. Raises an ERROR if the record is malformed. */
extern const double *gr_read_df(const GrExtras *records, int *n);

/*
 * Returns the matrix of the record bread, nterms x nterms, in the current memory context. Raises an ERROR if the record
 * is malformed.
 */
extern double *gr_read_bread(GrString bread, int nterms);

/* Returns a packed triangle of nterms terms as the value of the record bread. */
extern GrString gr_bread_text(const double *triangle, int nterms);

/* Returns the labels of *n classes; NULL: no record has them. Raises an ERROR if the record is malformed. */
extern const char **gr_read_classes(const GrExtras *records, int *n);

/* Reads field, a gpu_model's design or NULL, into extras. Returns a copy of the design's text, or "" if it has none. */
extern const char *gr_read_model_extras(const text *field, GrModelExtras *extras);

/* Returns the text of the field design, made of extras and design (NULL or "": none). */
extern text *gr_model_extras_text(const GrModelExtras *extras, const char *design);

/* True if there are no records: the field is then the design alone. */
static inline bool
gr_extras_are_none(const GrModelExtras *extras)
{
	return extras->offsets == NULL && extras->weights == NULL && extras->frequencies == NULL &&
		(extras->df == NULL || extras->ndf == 0) && extras->vcov_low.bytes == NULL && extras->absorbed == NULL &&
		extras->bread.bytes == NULL && extras->mixed.bytes == NULL && extras->nclasses == 0;
}

/*
 * Returns the low halves of vcov, a packed triangle in the current memory context, or NULL if string's bytes are NULL.
 * Raises an ERROR unless a fit can have written string for vcov.
 */
extern double *gr_read_low(GrString string, const double *vcov, int nterms);

#endif							/* GPUREG_MODEL_EXTRAS_H */
