/*
 * derivation.h: a derivation, which says what is made of kept rows, in memory without pointers; see derive.h.
 */
#ifndef GPUREG_DERIVATION_H
#define GPUREG_DERIVATION_H

#include "compute/base/row.h"
#include "compute/design/formula.h"

/* The most numbers of a row: features, the response, a weight, an offset and two keys */
#define GR_ROW_NCOLS_MAX (GR_MAX_FEATURES + 5)

#define GR_FILTER_STEPS_MAX 4096
#define GR_FILTER_DEPTH_MAX 64	/* truth values on the stack: bits of a word */

/*
 * A step of a filter: it pushes a truth value, or makes one of those at the stack's top. That of a NULL is neither true
 * nor false.
 */
typedef enum GrFilterOp
{
	GR_FILTER_EQ,				/* column = value; NULL where the column is */
	GR_FILTER_NE,
	GR_FILTER_LT,
	GR_FILTER_LE,
	GR_FILTER_GT,
	GR_FILTER_GE,
	GR_FILTER_IS_NULL,			/* of the column: true or false */
	GR_FILTER_IS_NOT_NULL,
	GR_FILTER_TRUE,				/* a constant, of no column */
	GR_FILTER_FALSE,
	GR_FILTER_AND,				/* of the two at the top */
	GR_FILTER_OR,
	GR_FILTER_NOT,
	/* of the row's first so many columns, which column says: is what they come to the fold that value says? */
	GR_FILTER_FOLD,
	GR_FILTER_NULL				/* a constant, of no column: NULL */
} GrFilterOp;

#define GR_NFILTER_OPS 15

/* Fold k of n, k < n <= GR_FILTER_FOLDS_MAX, as a step's value */
#define GR_FILTER_FOLDS_MAX 65535
#define GR_FOLD_VALUE(k, n) ((double) (k) * (GR_FILTER_FOLDS_MAX + 1) + (n))

typedef struct GrFilterStep
{
	int32_t		op;				/* GrFilterOp */
	int32_t		column;			/* 0 where there is none */
	double		value;			/* finite; 0 where there is none */
} GrFilterStep;

/*
 * A factor of a product: (column - value)^power in double-double or, with power 0, 1 where column = value and else 0:
 * the indicator of a level, for which value stands.
 */
typedef struct GrDeriveFactor
{
	int32_t		column;
	int32_t		power;			/* 0 .. GR_POLY_DEGREE_MAX */
	double		value;			/* finite */
} GrDeriveFactor;

/* What of the product is taken. A column is not the same as a product of it alone, which would make 0 of -0. */
typedef enum GrDerivedKind
{
	GR_DERIVED_COLUMN,			/* as it stands, its one factor being of power 1, less 0 */
	GR_DERIVED_PRODUCT,			/* of factors each of which is rounded first */
	GR_DERIVED_HIGH,			/* the product in double-double, rounded */
	GR_DERIVED_LOW,				/* and what rounding left of it */
	/*
	 * the fold of the key in the column, see fold_draw.h: three factors of that column, of power 1, whose values are
	 * the number of folds, and the low and the high half of the seed
	 */
	GR_DERIVED_FOLD
} GrDerivedKind;

#define GR_FOLD_NFACTORS 3

typedef struct GrDerivedNumber
{
	int32_t		first;			/* of the factors, which are multiplied in their order */
	uint16_t	nfactors;		/* 1 .. GR_FORMULA_ORDER_MAX */
	uint16_t	kind;			/* GrDerivedKind */
} GrDerivedNumber;

#define GR_DERIVES_WEIGHT 1
#define GR_DERIVES_OFFSET 2
#define GR_DERIVES_KEY 4
#define GR_DERIVES_SECOND_KEY 8

/*
 * This head, at a multiple of 8 bytes; then as many GrDerivedNumber as a derived row has numbers, in the order of
 * row.h; the factors of all of them; the filter's steps.
 */
typedef struct GrDerivation
{
	int32_t		ncolumns;		/* of the rows that are there */
	int32_t		nfeatures;		/* of the derived ones */
	int32_t		roles;			/* bits: GR_DERIVES_WEIGHT, GR_DERIVES_OFFSET, ... */
	int32_t		nfactors;
	int32_t		nsteps;			/* 0: there is no filter, all rows pass */
	int32_t		zero;			/* 0 */
} GrDerivation;

/* The shape of derived rows, which are not single; and where the parts of a derivation are */
GR_HD GrRowShape
gr_derived_shape(const GrDerivation *d)
{
	GrRowShape	shape = {
		d->nfeatures, false, (d->roles & GR_DERIVES_WEIGHT) != 0, (d->roles & GR_DERIVES_OFFSET) != 0,
		(d->roles & GR_DERIVES_KEY) != 0, (d->roles & GR_DERIVES_SECOND_KEY) != 0
	};

	return shape;
}

GR_HD const GrDerivedNumber *
gr_derived_numbers(const GrDerivation *d)
{
	return (const GrDerivedNumber *) (d + 1);
}

GR_HD const GrDeriveFactor *
gr_derive_factors(const GrDerivation *d)
{
	return (const GrDeriveFactor *) (gr_derived_numbers(d) + gr_row_ncols(gr_derived_shape(d)));
}

GR_HD const GrFilterStep *
gr_derive_filter(const GrDerivation *d)
{
	return (const GrFilterStep *) (gr_derive_factors(d) + d->nfactors);
}

/* Bytes of a derivation, whose head says what it has */
static inline size_t
gr_derivation_nbytes(const GrDerivation *d)
{
	return sizeof(GrDerivation) + (size_t) gr_row_ncols(gr_derived_shape(d)) * sizeof(GrDerivedNumber) +
		(size_t) d->nfactors * sizeof(GrDeriveFactor) + (size_t) d->nsteps * sizeof(GrFilterStep);
}

#endif							/* GPUREG_DERIVATION_H */
