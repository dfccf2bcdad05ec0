/* scores_row.h: a row's part of a fit's scores, shared by host and device; see scores.h. */
#ifndef GPUREG_SCORES_ROW_H
#define GPUREG_SCORES_ROW_H

#include "compute/base/dd.h"
#include "compute/base/row.h"
#include "compute/glm/glm_row.h"

/* Factors of a row's terms z = (1, x - shift) in the sums of its cluster. */
typedef struct GrScoreParts
{
	double		factor;			/* the score is factor z */
	double		weight;			/* the row's part of the Hessian is weight z z' */
	double		square;			/* squared Pearson residual */
} GrScoreParts;

/*
 * Returns beta' z plus the row's offset plus more, about as accurate as if it was computed in double-double and rounded
 * once (Dot2 of Ogita, Rump and Oishi 2005). beta, beta_lo: nfeatures + 1; shift: nfeatures.
 */
GR_HD double
gr_score_predict(GrRowShape shape, const double *row, const double *beta, const double *beta_lo, const double *shift,
				 double more)
{
	GrDD		start = gr_two_sum(beta[0], gr_row_offset(row, shape));
	GrDD		sum = gr_two_sum(start.hi, more);
	double		rest = start.lo + sum.lo + beta_lo[0];

	for (int j = 1; j <= shape.nfeatures; j++)
	{
		double		z = row[j - 1] - shift[j - 1];
		GrDD		product = gr_two_prod(beta[j], z);

		sum = gr_two_sum(sum.hi, product.hi);
		rest += sum.lo + product.lo + beta_lo[j] * z;
	}
	return sum.hi + rest;
}

/* Returns the parts of a row whose weight is not 0. The residual of a linear regression is rounded once. */
GR_HD GrScoreParts
gr_score_parts(GrDistribution distribution, GrRowShape shape, const double *row, const double *beta,
			   const double *beta_lo, const double *shift)
{
	double		y = gr_row_response(row, shape);
	double		w = gr_row_weight(row, shape);
	GrScoreParts parts;
	GrGlmRow	made;

	if (gr_is_linear(distribution))
	{
		double		residual = -gr_score_predict(shape, row, beta, beta_lo, shift,
												 -gr_response_in_unit(distribution, y));

		parts.factor = w * residual;
		parts.weight = w;
		parts.square = w * residual * residual;
		return parts;
	}
	made = gr_glm_row(distribution, gr_score_predict(shape, row, beta, beta_lo, shift, 0.0), y, w);
	parts.factor = made.u * made.v;
	parts.weight = made.u * made.u;
	parts.square = made.v * made.v;
	return parts;
}

#endif							/* GPUREG_SCORES_ROW_H */
