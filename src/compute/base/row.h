/*
 * row.h: layout of a row in memory, and the numbers of terms and entries that follow from its features.
 * Everything that reads or writes rows includes it; no other file adds 1 to a number of features.
 *
 * A row holds, in this order, without gaps:
 *
 *	 x_1 .. x_p   y   [weight]   [offset]   [key]   [second key]
 *
 * All are float8, and rows follow each other without gaps. In a single row the features are float4, and the numbers
 * after them are float8 at any multiple of 4 bytes.
 *
 * The column of ones is never stored. Terms are (1, x), the entries of a linear predictor, whether or not the model has
 * an intercept. Entries are (1, x, y); their products are summed.
 */
#ifndef GPUREG_ROW_H
#define GPUREG_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compute/base/portable.h"

typedef struct GrRowShape
{
	int			nfeatures;		/* p: 1 .. GR_MAX_FEATURES; 0: rows have the response alone */
	bool		single;			/* the features are float4 */
	bool		weight;			/* a weight follows the response */
	bool		offset;			/* an offset follows the weight */
	bool		key;			/* an integer key follows: a bootstrap draws by it, or rows are grouped by it */
	bool		second_key;		/* another integer key follows, by which rows are grouped as well */
} GrRowShape;

/* Returns the number of terms (1, x). */
GR_HD_CONSTANT int
gr_nterms(int nfeatures)
{
	return nfeatures + 1;
}

/* Returns the number of entries (1, x, y), which is the order of a Gram matrix. */
GR_HD_CONSTANT int
gr_norder(int nfeatures)
{
	return nfeatures + 2;
}

/* Returns the count of numbers in a row, of whatever type. It is the stride, in float8, of rows that are not single. */
GR_HD int
gr_row_ncols(GrRowShape shape)
{
	return shape.nfeatures + 1 + (shape.weight ? 1 : 0) + (shape.offset ? 1 : 0) + (shape.key ? 1 : 0) +
		(shape.second_key ? 1 : 0);
}

/* Positions of the response, weight, offset and key in a row, counted in numbers. */
GR_HD int
gr_response_at(GrRowShape shape)
{
	return shape.nfeatures;
}

GR_HD int
gr_weight_at(GrRowShape shape)
{
	return shape.nfeatures + 1;
}

GR_HD int
gr_offset_at(GrRowShape shape)
{
	return shape.nfeatures + 1 + (shape.weight ? 1 : 0);
}

GR_HD int
gr_key_at(GrRowShape shape)
{
	return gr_row_ncols(shape) - (shape.second_key ? 2 : 1);
}

/* Returns the response of a row that is not single. */
GR_HD double
gr_row_response(const double *row, GrRowShape shape)
{
	return row[gr_response_at(shape)];
}

/* Returns the weight of a row that is not single; 1 if rows have no weights. */
GR_HD double
gr_row_weight(const double *row, GrRowShape shape)
{
	return shape.weight ? row[gr_weight_at(shape)] : 1.0;
}

/* Returns the offset of a row that is not single; 0 if rows have no offsets. */
GR_HD double
gr_row_offset(const double *row, GrRowShape shape)
{
	return shape.offset ? row[gr_offset_at(shape)] : 0.0;
}

/* Returns the bytes of a row. */
GR_HD size_t
gr_row_nbytes(GrRowShape shape)
{
	size_t		ncols = (size_t) gr_row_ncols(shape);

	return shape.single ? (2 * ncols - (size_t) shape.nfeatures) * sizeof(float) : ncols * sizeof(double);
}

GR_HD bool
gr_same_shape(GrRowShape a, GrRowShape b)
{
	return a.nfeatures == b.nfeatures && a.single == b.single && a.weight == b.weight && a.offset == b.offset &&
		a.key == b.key && a.second_key == b.second_key;
}

/* Returns the shape of the same rows with float8 features. */
GR_HD GrRowShape
gr_wide_shape(GrRowShape shape)
{
	shape.single = false;
	return shape;
}

/* Returns the shape of rows of float8 features and a response. */
GR_HD GrRowShape
gr_plain_shape(int nfeatures)
{
	GrRowShape	shape = {nfeatures, false, false, false, false, false};

	return shape;
}

#endif							/* GPUREG_ROW_H */
