/*
 * row.h: how a row lies in memory, and how many terms and entries come of it. Nobody else adds 1 to a number of
 * features.
 *
 * A row is x_1 .. x_p, y, then its weight, its offset and its keys where rows have those: all float8, row after row
 * without a gap. Of a single row the features are float4, and what follows them is float8 at any multiple of 4 bytes.
 *
 * The column of ones is never stored. Terms are (1, x): those of a linear predictor, whether a model has an intercept
 * or not. What is summed up are products of (1, x, y), the entries.
 */
#ifndef GPUREG_ROW_H
#define GPUREG_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compute/base/portable.h"

typedef struct GrRowShape
{
	int			nfeatures;		/* p: 1 .. GR_MAX_FEATURES; 0: the response alone */
	bool		single;			/* the features are float4 */
	bool		weight;			/* there is one behind the response */
	bool		offset;			/* there is one behind those */
	bool		key;			/* an integer behind those, by which a bootstrap draws or rows are grouped */
	bool		second_key;		/* there is another behind it, by which rows are grouped, too */
} GrRowShape;

/* Terms of (1, x) */
GR_HD_CONSTANT int
gr_nterms(int nfeatures)
{
	return nfeatures + 1;
}

/* Entries of (1, x, y): the order of a Gram matrix */
GR_HD_CONSTANT int
gr_norder(int nfeatures)
{
	return nfeatures + 2;
}

/* Numbers of a row, whatever their types: the stride of rows that are not single, in float8 */
GR_HD int
gr_row_ncols(GrRowShape shape)
{
	return shape.nfeatures + 1 + (shape.weight ? 1 : 0) + (shape.offset ? 1 : 0) + (shape.key ? 1 : 0) +
		(shape.second_key ? 1 : 0);
}

/* Where they are in a row */
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

/* Of a row that is not single */
GR_HD double
gr_row_response(const double *row, GrRowShape shape)
{
	return row[gr_response_at(shape)];
}

/* 1 where rows have none */
GR_HD double
gr_row_weight(const double *row, GrRowShape shape)
{
	return shape.weight ? row[gr_weight_at(shape)] : 1.0;
}

/* 0 where rows have none */
GR_HD double
gr_row_offset(const double *row, GrRowShape shape)
{
	return shape.offset ? row[gr_offset_at(shape)] : 0.0;
}

/* Bytes of a row */
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

/* The same rows as float8 */
GR_HD GrRowShape
gr_wide_shape(GrRowShape shape)
{
	shape.single = false;
	return shape;
}

/* Rows of features and the response, as float8 */
GR_HD GrRowShape
gr_plain_shape(int nfeatures)
{
	GrRowShape	shape = {nfeatures, false, false, false, false, false};

	return shape;
}

#endif							/* GPUREG_ROW_H */
