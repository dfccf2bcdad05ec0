/*
 * edge_row.h: weight and residual of a count near a mean of 0, the edge of what the link allows. Shared by host and
 * device; see edge.h.
 */
#ifndef GPUREG_EDGE_ROW_H
#define GPUREG_EDGE_ROW_H

#include "compute/glm/glm_row.h"

/* Least curvature of a row, as a share of 1 / mu. The gradient is divided by the square root of the curvature. */
#define GR_LEAST_CURVATURE 0x1p-30

/*
 * Returns a row with its observed curvature in place of the expected one, so that steps are Newton's. u^2 is minus the
 * second derivative of the log-likelihood by eta, u v the first derivative. Negative parts of the negative binomial
 * curvature are left out, so that steps may be short.
 */
GR_HD GrGlmRow
gr_curved_row(GrDistribution distribution, double eta, double y, double weight)
{
	GrGlmRow	row = gr_mean_row(distribution, eta, y, weight);
	double		theta = distribution.theta;
	double		root = distribution.link == GR_SQRT;
	double		mu = root ? eta * eta : eta;
	double		curvature;
	double		gradient;

	if (!(row.half_deviance < INFINITY))
		return row;
	if (distribution.family == GR_POISSON)
	{
		gradient = root ? 2.0 * (y - mu) / eta : (y - mu) / mu;
		curvature = root ? 2.0 * y / mu + 2.0 : y / mu / mu;
	}
	else
	{
		double		m = mu + theta;
		double		bend = theta > mu ? 2.0 * (y + theta) * (theta - mu) / m / m : 0.0;

		gradient = (root ? 2.0 : 1.0) * theta * (y - mu) / eta / m;
		curvature = root ? 2.0 * y / mu + bend : y * theta * (2.0 * mu + theta) / mu / mu / m / m;
	}
	curvature += GR_LEAST_CURVATURE / (root ? 1.0 : mu);
	row.u = sqrt(weight) * sqrt(curvature);
	row.v = sqrt(weight) * gradient / sqrt(curvature);
	return row;
}

/*
 * Returns the row by a measure of edge.h. y: the response in its own unit; edge: GrPass.edge, in the distribution's
 * unit.
 */
GR_HD GrGlmRow
gr_edge_row(GrMeasure measure, GrDistribution distribution, double eta, double y, double weight, double edge)
{
	GrGlmRow	row = {0.0, 0.0, 0.0};

	y = gr_response_in_unit(distribution, y);
	distribution.exponent = 0;
	if (measure == GR_MEASURE_BARRIER)
		return gr_curved_row(distribution, eta, y > 0.0 ? y : edge, weight);
	if (measure == GR_MEASURE_ON_EDGE)
	{
		row = gr_mean_row(distribution, eta, y, weight);
		row.u = y == 0.0 && fabs(eta) <= edge ? 1.0 : 0.0;
		row.v = row.u * eta;
		return row;
	}
	if (y == 0.0 && fabs(eta) <= edge)
		return row;
	return measure == GR_MEASURE_EDGE_STEP ? gr_curved_row(distribution, eta, y, weight) :
		gr_mean_row(distribution, eta, y, weight);
}

#endif							/* GPUREG_EDGE_ROW_H */
