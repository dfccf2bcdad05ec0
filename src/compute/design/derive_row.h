/*
 * derive_row.h: applies a derivation to one row, on the host and on the device; see derive.h. derive.c calls it first.
 */
#ifndef GPUREG_DERIVE_ROW_H
#define GPUREG_DERIVE_ROW_H

#include <string.h>

#include "compute/base/dd.h"
#include "compute/base/fold_draw.h"
#include "compute/design/derivation.h"

/*
 * Returns the value of a factor for row. A NULL (NaN) makes every factor NaN, indicators too, so that a product shows
 * each NULL among its columns.
 */
GR_HD GrDD
gr_derive_factor(const GrDeriveFactor *factor, const double *row)
{
	double		x = row[factor->column];
	GrDD		first;
	GrDD		power;

	if (factor->power == 0)
		return gr_dd(x == factor->value ? 1.0 : x == x ? 0.0 : x);
	first = power = gr_two_sum(x, -factor->value);
	for (int k = 1; k < factor->power; k++)
		power = gr_dd_mul(power, first);
	return power;
}

/*
 * Returns the fold, from 1 on, of the key in factor's column; NaN for a NULL. A number that cannot be a key gives 0,
 * which is no fold.
 */
GR_HD double
gr_derive_fold(const GrDeriveFactor *factor, const double *row)
{
	double		key = row[factor[0].column];

	if (!(key >= -0x1p53 && key <= 0x1p53))
		return key == key ? 0.0 : key;
	return gr_fold_of((uint32_t) factor[1].value, (uint32_t) factor[2].value, (int64_t) key, (int) factor[0].value);
}

/* Returns a derived number. The order of multiplications is that of expand_term() and expand_pairs() in design.c. */
GR_HD double
gr_derive_number(const GrDerivedNumber *number, const GrDeriveFactor *factors, const double *row)
{
	const GrDeriveFactor *factor = factors + number->first;
	GrDD		product = gr_dd(1.0);

	if (number->kind == GR_DERIVED_COLUMN)
		return row[factor->column];
	if (number->kind == GR_DERIVED_FOLD)
		return gr_derive_fold(factor, row);
	for (int k = 0; k < number->nfactors; k++)
	{
		GrDD		next = gr_derive_factor(&factor[k], row);

		if (number->kind == GR_DERIVED_PRODUCT)
			product.hi *= gr_dd_to_double(next);
		else
			product = gr_dd_mul(product, next);
	}
	return number->kind == GR_DERIVED_LOW ? product.lo : product.hi;
}

/* Returns the column that a number copies, or -1 if it is computed. */
GR_HD int
gr_derived_column(const GrDerivedNumber *number, const GrDeriveFactor *factors)
{
	return number->kind == GR_DERIVED_COLUMN ? factors[number->first].column : -1;
}

GR_HD bool
gr_filter_compare(int32_t op, double x, double value)
{
	switch (op)
	{
		case GR_FILTER_EQ:
			return x == value;
		case GR_FILTER_NE:
			return x != value;
		case GR_FILTER_LT:
			return x < value;
		case GR_FILTER_LE:
			return x <= value;
		case GR_FILTER_GT:
			return x > value;
		default:
			return x >= value;
	}
}

/*
 * Returns a hash of the row's first ncolumns columns: Stafford's mixing of 64 bits (SplitMix64) of each number's bits
 * and the hash so far. 0 and -0 have the same hash, as do all NULLs.
 */
GR_HD uint64_t
gr_row_hash(const double *row, int ncolumns)
{
	uint64_t	hash = 0;

	for (int k = 0; k < ncolumns; k++)
	{
		double		x = row[k] + 0.0;
		uint64_t	bits = UINT64_C(0x7ff8000000000000);

		if (x == x)
			memcpy(&bits, &x, sizeof(bits));
		hash = (hash ^ bits) + UINT64_C(0x9e3779b97f4a7c15);
		hash = (hash ^ hash >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
		hash = (hash ^ hash >> 27) * UINT64_C(0x94d049bb133111eb);
		hash ^= hash >> 31;
	}
	return hash;
}

/* True if row is in the fold of step, a GR_FILTER_FOLD. */
GR_HD bool
gr_is_fold(const GrFilterStep *step, const double *row)
{
	uint64_t	value = (uint64_t) step->value;
	uint64_t	n = value % (GR_FILTER_FOLDS_MAX + 1);

	return gr_row_hash(row, step->column) % n == value / (GR_FILTER_FOLDS_MAX + 1);
}

/* Stack of truth values; the lowest bit is the top. yes: bits of those that are true; no: of those that are false. */
typedef struct GrTruths
{
	uint64_t	yes;
	uint64_t	no;
} GrTruths;

GR_HD GrTruths
gr_filter_push(GrTruths truths, bool yes, bool no)
{
	truths.yes = truths.yes << 1 | (yes ? 1 : 0);
	truths.no = truths.no << 1 | (no ? 1 : 0);
	return truths;
}

GR_HD GrTruths
gr_filter_step(GrTruths truths, const GrFilterStep *step, const double *row)
{
	GrTruths	below = {truths.yes >> 1, truths.no >> 1};
	double		x;
	bool		is;

	switch (step->op)
	{
		case GR_FILTER_AND:
			below.yes &= truths.yes | ~(uint64_t) 1;
			below.no |= truths.no & 1;
			return below;
		case GR_FILTER_OR:
			below.yes |= truths.yes & 1;
			below.no &= truths.no | ~(uint64_t) 1;
			return below;
		case GR_FILTER_NOT:
			return gr_filter_push(below, truths.no & 1, truths.yes & 1);
		case GR_FILTER_TRUE:
		case GR_FILTER_FALSE:
		case GR_FILTER_NULL:
			return gr_filter_push(truths, step->op == GR_FILTER_TRUE, step->op == GR_FILTER_FALSE);
		case GR_FILTER_FOLD:
			is = gr_is_fold(step, row);
			return gr_filter_push(truths, is, !is);
		case GR_FILTER_IS_NULL:
		case GR_FILTER_IS_NOT_NULL:
			x = row[step->column];
			is = (x != x) == (step->op == GR_FILTER_IS_NULL);
			return gr_filter_push(truths, is, !is);
		default:
			x = row[step->column];
			is = gr_filter_compare(step->op, x, step->value);
			return gr_filter_push(truths, x == x && is, x == x && !is);
	}
}

/* True if the filter is true for row. A filter without steps is true. */
GR_HD bool
gr_filter_passes(const GrFilterStep *steps, int nsteps, const double *row)
{
	GrTruths	truths = {0, 0};

	for (int k = 0; k < nsteps; k++)
		truths = gr_filter_step(truths, &steps[k], row);
	return nsteps == 0 || (truths.yes & 1) != 0;
}

#endif							/* GPUREG_DERIVE_ROW_H */
