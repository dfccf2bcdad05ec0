/*
 * derivation.h: layout of a derivation: which rows of kept data take part in a fit, and how its features are made of
 * their columns. One block of memory without pointers, which processes and devices copy. derive.h makes and applies it.
 */
#ifndef GPUREG_DERIVATION_H
#define GPUREG_DERIVATION_H

#include "compute/base/row.h"
#include "compute/design/formula_terms.h"

/* Most numbers of a row: features, the response, a weight, an offset and two keys. */
#define GR_ROW_NCOLS_MAX (GR_MAX_FEATURES + 5)

#define GR_FILTER_STEPS_MAX 4096
#define GR_FILTER_DEPTH_MAX 64	/* truth values on the stack: bits of a word */

/*
 * Operation of a filter step. A filter runs on a stack of truth values (true, false or NULL): comparisons and constants
 * push one, AND, OR and NOT replace those at the top. NULL is neither true nor false.
 */
typedef enum GrFilterOp
{
	GR_FILTER_EQ,				/* column = value; NULL if the column is NULL */
	GR_FILTER_NE,
	GR_FILTER_LT,
	GR_FILTER_LE,
	GR_FILTER_GT,
	GR_FILTER_GE,
	GR_FILTER_IS_NULL,			/* true or false, never NULL */
	GR_FILTER_IS_NOT_NULL,
	GR_FILTER_TRUE,				/* a constant; column is 0 */
	GR_FILTER_FALSE,
	GR_FILTER_AND,				/* replaces the two values at the top by their conjunction */
	GR_FILTER_OR,
	GR_FILTER_NOT,
	/* true if the hash of the row's first `column` columns is in fold k of n, with value = GR_FOLD_VALUE(k, n) */
	GR_FILTER_FOLD,
	GR_FILTER_NULL				/* a constant; column is 0 */
} GrFilterOp;

#define GR_NFILTER_OPS 15

/* Value of a step that selects fold k of n, 0 <= k < n <= GR_FILTER_FOLDS_MAX. */
#define GR_FILTER_FOLDS_MAX 65535
#define GR_FOLD_VALUE(k, n) ((double) (k) * (GR_FILTER_FOLDS_MAX + 1) + (n))

typedef struct GrFilterStep
{
	int32_t		op;				/* GrFilterOp */
	int32_t		column;			/* 0 if op has no column */
	double		value;			/* finite; 0 if op has no value */
} GrFilterStep;

/*
 * Factor of a product: (column - value)^power in double-double. With power 0 it is 1 if column = value, else 0: the
 * indicator of the level whose code is value.
 */
typedef struct GrDeriveFactor
{
	int32_t		column;
	int32_t		power;			/* 0 .. GR_POLY_DEGREE_MAX */
	double		value;			/* finite */
} GrDeriveFactor;

/* Ways to make a number of its factors. (A product with one factor would turn -0 into 0.) */
typedef enum GrDerivedKind
{
	GR_DERIVED_COLUMN,			/* the column itself; one factor of power 1 and value 0 */
	GR_DERIVED_PRODUCT,			/* product of factors, each rounded to float8 first */
	GR_DERIVED_HIGH,			/* product in double-double, rounded to float8 */
	GR_DERIVED_LOW,				/* rounding error of GR_DERIVED_HIGH */
	/*
	 * fold of the key in a column (fold_draw.h): three factors of that column with power 1, whose values are the number
	 * of folds and the low and high half of the seed
	 */
	GR_DERIVED_FOLD
} GrDerivedKind;

#define GR_FOLD_NFACTORS 3

typedef struct GrDerivedNumber
{
	int32_t		first;			/* index of the first factor; factors are multiplied in their order */
	uint16_t	nfactors;		/* 1 .. GR_FORMULA_ORDER_MAX */
	uint16_t	kind;			/* GrDerivedKind */
} GrDerivedNumber;

#define GR_DERIVES_WEIGHT 1
#define GR_DERIVES_OFFSET 2
#define GR_DERIVES_KEY 4
#define GR_DERIVES_SECOND_KEY 8

/*
 * Head of a derivation, at a multiple of 8 bytes. The arrays follow it without gaps:
 *
 *   GrDerivation | GrDerivedNumber, one per number of a derived row, in row.h's order |
 *                  GrDeriveFactor [nfactors] | GrFilterStep [nsteps]
 */
typedef struct GrDerivation
{
	int32_t		ncolumns;		/* columns of the kept rows */
	int32_t		nfeatures;		/* features of the derived rows */
	int32_t		roles;			/* bit mask: GR_DERIVES_WEIGHT, GR_DERIVES_OFFSET, ... */
	int32_t		nfactors;
	int32_t		nsteps;			/* 0: no filter, all rows pass */
	int32_t		zero;			/* must be 0 */
} GrDerivation;

/* Returns the shape of derived rows: float8 features, and the numbers named by roles. */
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

/* Returns the bytes of derivation d with the arrays behind it, which need not be there yet. */
static inline size_t
gr_derivation_nbytes(const GrDerivation *d)
{
	return sizeof(GrDerivation) + (size_t) gr_row_ncols(gr_derived_shape(d)) * sizeof(GrDerivedNumber) +
		(size_t) d->nfactors * sizeof(GrDeriveFactor) + (size_t) d->nsteps * sizeof(GrFilterStep);
}

#endif							/* GPUREG_DERIVATION_H */
