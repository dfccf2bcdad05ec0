/*
 * family.c: what is required of rows; see family.h.
 */
#include "compute/family.h"

#include <math.h>
#include <string.h>

/* Of rows with finite numbers: response and weight, one after the other */
static bool
one_valid(const double *response, GrRowShape shape, GrRowRules rules, GrError *err)
{
	double		y = response[0];
	double		weight = shape.weight ? response[1] : 1.0;
	bool		trials = shape.weight && rules.weighting == GR_PRIOR_WEIGHTS;

	if (rules.family == GR_BINOMIAL && y != 0.0 && y != 1.0 && !(trials && y > 0.0 && y < 1.0))
	{
		err->value = y;
		return gr_fail(err, trials ? GR_NOT_A_SHARE : GR_NOT_BINARY, gr_response_at(shape), "%s", "");
	}
	if (weight < 0.0 || (rules.weighting == GR_FREQUENCIES && weight != floor(weight)))
	{
		err->value = weight;
		return gr_fail(err, weight < 0.0 ? GR_NEGATIVE_WEIGHT : GR_NOT_WHOLE, gr_weight_at(shape), "%s", "");
	}
	return true;
}

/* Of single rows, which are looked at as float8 where one of their features may be bad */
static bool
single_rows_valid(const char *rows, int64_t nrows, GrRowShape shape, GrRowRules rules, GrError *err)
{
	size_t		row_nbytes = gr_row_nbytes(shape);
	int			nrest = gr_row_ncols(shape) - shape.nfeatures;

	for (int64_t r = 0; r < nrows; r++, rows += row_nbytes)
	{
		const float *features = (const float *) rows;
		float		acc = 0;
		double		rest[3];

		memcpy(rest, features + shape.nfeatures, (size_t) nrest * sizeof(double));
		/* v * 0 is 0 for finite v and NaN otherwise */
		for (int j = 0; j < shape.nfeatures; j++)
			acc += features[j] * 0.0f;
		if (acc != 0.0f)
			for (int j = 0; j < shape.nfeatures; j++)
				if (!isfinite(features[j]))
					return gr_fail(err, GR_NOT_FINITE, j, "%s", "");
		for (int k = 0; k < nrest; k++)
			if (!isfinite(rest[k]))
				return gr_fail(err, GR_NOT_FINITE, shape.nfeatures + k, "%s", "");
		if (!one_valid(rest, shape, rules, err))
			return false;
	}
	return true;
}

bool
gr_rows_valid(const void *rows, int64_t nrows, GrRowShape shape, GrRowRules rules, GrError *err)
{
	const double *response = (const double *) rows + gr_response_at(shape);
	int			stride = gr_row_ncols(shape);
	int			column;

	if (shape.single)
		return single_rows_valid(rows, nrows, shape, rules, err);
	if (!gr_all_finite(rows, nrows, stride, &column))
		return gr_fail(err, GR_NOT_FINITE, column, "%s", "");
	/* a plain gaussian row may have any response */
	for (int64_t r = 0; (rules.family != GR_GAUSSIAN || shape.weight) && r < nrows; r++, response += stride)
		if (!one_valid(response, shape, rules, err))
			return false;
	return true;
}
