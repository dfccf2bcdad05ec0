/*
 * working.c: working responses and weights of a model with absorbed effects; see working.h.
 */
#include <math.h>

#include "compute/effects/working.h"
#include "compute/glm/glm_row.h"

/* Least working weight: a row of a smaller one would divide by 0 where it is alone. */
#define LEAST_WEIGHT 1e-200

static double
prior_of(const GrEffectWorking *working, int64_t r)
{
	return working->prior == NULL ? 1.0 : working->prior[r];
}

/* Returns the weighted mean of the responses. */
static double
mean_response(const GrEffectRows *rows, const GrEffectWorking *working)
{
	double		sum = 0;
	double		weights = 0;

	for (int64_t r = 0; r < rows->nrows; r++)
	{
		sum += prior_of(working, r) * working->y[r];
		weights += prior_of(working, r);
	}
	return sum / weights;
}

void
gr_effect_start(const GrEffectRows *rows, GrEffectWorking *working)
{
	GrDistribution distribution = working->distribution;
	double		mean = mean_response(rows, working);
	bool		counts = gr_family(distribution.family)->is_count;

	for (int64_t r = 0; r < rows->nrows; r++)
	{
		double		y = working->y[r];
		double		mu = counts ? (y + mean) / 2 :
			gr_first_mean(distribution, y, working->counts ? 1.0 : prior_of(working, r));

		working->eta[r] = gr_first_eta(distribution.link, mu);
	}
}

double
gr_effect_work(GrEffectRows *rows, GrEffectWorking *working)
{
	double		deviance = 0;
	double		rest = 0;

	for (int64_t r = 0; r < rows->nrows; r++)
	{
		GrGlmRow	row = gr_glm_row(working->distribution, working->eta[r], working->y[r], prior_of(working, r));
		double		offset = rows->offsets == NULL ? 0.0 : rows->offsets[r];
		GrDD		sum = gr_two_sum(deviance, 2 * row.half_deviance);

		deviance = sum.hi;
		rest += sum.lo;
		rows->weights[r] = fmax(row.u * row.u, LEAST_WEIGHT);
		working->z[r] = working->eta[r] - offset + (row.u > 0 ? row.v / row.u : 0);
		rows->values[r * rows->stride + rows->ncols - 1] = working->z[r];
	}
	return deviance + rest;
}

double
gr_effect_null_deviance(const GrEffectRows *rows, const GrEffectWorking *working)
{
	GrDistribution distribution = working->distribution;
	double		eta;
	double		deviance = 0;

	/* the deviance depends on the mean alone; gr_first_eta() is exact for these links */
	distribution.link = distribution.family == GR_BINOMIAL ? GR_LOGIT : GR_LOG;
	if (distribution.family == GR_GAUSSIAN)
		distribution.link = GR_IDENTITY;
	eta = gr_first_eta(distribution.link, mean_response(rows, working));
	for (int64_t r = 0; r < rows->nrows; r++)
		deviance += 2 * gr_glm_row(distribution, eta, working->y[r], prior_of(working, r)).half_deviance;
	return deviance;
}
