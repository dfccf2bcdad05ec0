/*
 * feature_names.h: the names of a model's features, to find them by.
 *
 * A column or key "a" is the feature a. One that is an array is the features a[1], a[2], ..., as in a query that is
 * fitted to.
 */
#ifndef GPUREG_FEATURE_NAMES_H
#define GPUREG_FEATURE_NAMES_H

#include "postgres.h"

#include "utils/array.h"

/* A feature by its name or, where that is name[subscript], by what is before the subscript; not terminated */
typedef struct GrFeatureName
{
	const char *name;
	int			len;
	int			subscript;		/* 0: the whole name */
	int			feature;
} GrFeatureName;

typedef struct GrFeatureNames
{
	MemoryContext context;		/* all of this lies there */
	const ArrayType *terms;		/* a copy of what it was made of */
	int			nfeatures;
	int			n;
	GrFeatureName *sorted;		/* by length, bytes and subscript */
} GrFeatureNames;

/* Features that a name stands for, of ascending subscripts; none where n is 0. */
typedef struct GrFeatureRange
{
	const GrFeatureName *first;
	int			n;
} GrFeatureRange;

/*
 * The terms but for the intercept, if there is one; terms are any texts, none of them NULL. In a context of its own
 * below the current one. ERROR where two features have one name.
 */
extern GrFeatureNames *gr_name_features(const ArrayType *terms, bool intercept);

/* Were they made of terms that are the same to the byte? */
extern bool gr_are_names_of(const GrFeatureNames *names, const ArrayType *terms);

/* The feature of that name, or -1 */
extern int	gr_find_feature(const GrFeatureNames *names, const char *name, int len);

/* The features name[1], name[2], ...; subscripts may be missing. */
extern GrFeatureRange gr_find_elements(const GrFeatureNames *names, const char *name, int len);

/* The name of a feature */
extern const char *gr_feature_name(const GrFeatureNames *names, int feature);

#endif							/* GPUREG_FEATURE_NAMES_H */
