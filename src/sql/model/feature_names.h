/*
 * feature_names.h: finds a model's features by name. gpu_predict and its relatives use it to match the columns of a
 * row, or the keys of a jsonb object, to features (predict.c); so do gpu_predict_rows and gpu_margins.
 *
 * A column "a" that is a number is the feature a. A column "a" that is an array is the features a[1], a[2], ..., as in
 * the query of a fit.
 */
#ifndef GPUREG_FEATURE_NAMES_H
#define GPUREG_FEATURE_NAMES_H

#include "postgres.h"

#include "utils/array.h"

/* Name of a feature. If subscript is not 0, the feature's name is name[subscript]. name is not terminated by 0. */
typedef struct GrFeatureName
{
	const char *name;			/* points into the array of terms */
	int			len;			/* bytes of name */
	int			subscript;		/* from 1; 0: name is the feature's whole name */
	int			feature;		/* number of the feature, from 0 */
} GrFeatureName;

typedef struct GrFeatureNames
{
	MemoryContext context;		/* owns this struct and everything in it */
	const ArrayType *terms;		/* copy of the array of terms */
	int			nfeatures;		/* number of features */
	int			n;				/* number of entries, nfeatures to 2 nfeatures */
	GrFeatureName *sorted;		/* n entries, ordered by length, bytes and subscript */
} GrFeatureNames;

/* Features that are elements of one array, in ascending order of subscripts; n is 0 if there are none. */
typedef struct GrFeatureRange
{
	const GrFeatureName *first;
	int			n;
} GrFeatureRange;

/*
 * Lists the features: all terms, except the intercept if intercept is true. terms: an array of texts without NULL. The
 * result lies in a context of its own below the current one. Raises an ERROR if two features have the same name.
 */
extern GrFeatureNames *gr_name_features(const ArrayType *terms, bool intercept);

/* True if names was made from an array of terms that equals terms byte for byte. */
extern bool gr_are_names_of(const GrFeatureNames *names, const ArrayType *terms);

/* Returns the number of the feature called name, or -1. len: bytes of name. */
extern int	gr_find_feature(const GrFeatureNames *names, const char *name, int len);

/* Returns the features name[1], name[2], ... that the model has; subscripts may be missing. */
extern GrFeatureRange gr_find_elements(const GrFeatureNames *names, const char *name, int len);

/* Returns a copy of a feature's name in the current memory context, or "" if there is no such feature. */
extern const char *gr_feature_name(const GrFeatureNames *names, int feature);

#endif							/* GPUREG_FEATURE_NAMES_H */
