/*
 * boot_row.h: computes u, v and q of one row for a bootstrap, with the same bits on the host and on the device; see
 * boot.h. boot.c calls it first.
 */
#ifndef GPUREG_BOOT_ROW_H
#define GPUREG_BOOT_ROW_H

#include "compute/base/dd.h"
#include "compute/base/row.h"
#include "compute/glm/glm_row.h"
#include "compute/resample/boot_draw.h"

/* A sum of products that is rounded once, as in Dot2 of Ogita, Rump and Oishi (2005) */
typedef struct GrDot
{
	double		sum;
	double		rest;
} GrDot;

GR_HD void
gr_dot_add(GrDot *dot, double a, double b)
{
	GrDD		product = gr_two_prod(a, b);
	GrDD		sum = gr_two_sum(dot->sum, product.hi);

	dot->sum = sum.hi;
	dot->rest += sum.lo + product.lo;
}

/* Returns u and v of a row. A linear regression's residual is rounded once, as it may be small. */
GR_HD GrGlmRow
gr_boot_row(GrDistribution distribution, GrRowShape shape, const double *row, const double *beta,
			const double *beta_lo, const double *shift)
{
	bool		linear = gr_is_linear(distribution);
	double		y = row[gr_response_at(shape)];
	double		weight = shape.weight ? row[gr_weight_at(shape)] : 1.0;
	double		offset = shape.offset ? row[gr_offset_at(shape)] : 0.0;
	GrDD		start = gr_two_sum(beta[0], offset);
	GrDD		more = gr_two_sum(start.hi, linear ? -gr_response_in_unit(distribution, y) : 0.0);
	GrDot		dot = {more.hi, start.lo + more.lo + beta_lo[0]};
	GrGlmRow	made;

	for (int j = 0; j < shape.nfeatures; j++)
	{
		double		z = row[j] - shift[j];

		gr_dot_add(&dot, beta[j + 1], z);
		dot.rest += beta_lo[j + 1] * z;
	}
	if (!linear)
		return gr_glm_row(distribution, dot.sum + dot.rest, y, weight);
	made.u = sqrt(weight);
	made.v = -made.u * (dot.sum + dot.rest);
	made.half_deviance = 0.0;
	return made;
}

/* Returns an entry of q: u times line (a row of B) times z. */
GR_HD double
gr_boot_entry(const double *line, double u, GrRowShape shape, const double *row, const double *shift)
{
	GrDot		dot = {line[0], 0.0};

	for (int j = 0; j < shape.nfeatures; j++)
		gr_dot_add(&dot, line[j + 1], row[j] - shift[j]);
	return u * (dot.sum + dot.rest);
}

GR_HD int64_t
gr_boot_key_of(GrRowShape shape, const double *row)
{
	double		key = row[gr_key_at(shape)];

	/* rows that were not checked may hold a number that is no integer key */
	return key >= -(double) GR_BOOT_KEY_MAX && key <= (double) GR_BOOT_KEY_MAX ? (int64_t) key : 0;
}

#endif							/* GPUREG_BOOT_ROW_H */
