/*
 * influence.c: residuals and influence of one row; see influence.h.
 *
 * The formulas are those of R's lm.influence, rstandard, rstudent, cooks.distance and dffits for glm, which for linear
 * models equal those for lm (Williams 1987, "Generalized linear model diagnostics using the deviance and single case
 * deletions").
 */
#include <float.h>
#include <math.h>

#include "compute/glm/glm_row.h"
#include "compute/glm/influence.h"

/* A leverage nearer to 1 than this counts as 1, as in R's lm.influence. */
#define HAT_ROUNDING (10 * DBL_EPSILON)

/* True if R's rstudent divides by no estimate of the dispersion. */
static bool
has_unit_dispersion(const GrInfluenceModel *model)
{
	return !model->quasi && (model->distribution.family == GR_BINOMIAL || model->distribution.family == GR_POISSON);
}

/* Returns x, or NaN in place of an infinity that a division by 0 made. */
static double
defined(double x)
{
	return isinf(x) ? NAN : x;
}

/* Sets what depends on the leverage. */
static void
set_influence(const GrInfluenceModel *model, GrInfluence *r)
{
	double		left = 1.0 - r->hat;
	double		square = r->deviance * r->deviance;
	double		sigma;
	double		jackknife;

	if (!(left > HAT_ROUNDING))
	{
		if (r->hat > 0.5)
			r->hat = 1.0;
		return;
	}
	sigma = sqrt((model->deviance - square / left) / (model->df_residual - 1.0));
	jackknife = copysign(sqrt(square + r->hat * r->pearson * r->pearson / left), r->deviance);
	r->std_residual = defined(r->deviance / sqrt(model->dispersion * left));
	r->student = defined(has_unit_dispersion(model) ? jackknife : jackknife / sigma);
	r->cooks_distance = defined(r->pearson * r->pearson * r->hat / (left * left * model->dispersion * model->rank));
	r->dffits = defined(r->deviance * sqrt(r->hat) / (sigma * left));
}

GrInfluence
gr_influence(const GrInfluenceModel *model, const GrInfluenceRow *row)
{
	GrDistribution distribution = model->distribution;
	double		mean = gr_link_mean(distribution.link, row->eta);
	GrGlmRow	of_fit;
	GrInfluence r = {
		.fitted = mean,.residual = row->y - mean,.pearson = NAN,.deviance = NAN,.working = NAN,.std_residual = NAN,
		.student = NAN,.hat = NAN,.cooks_distance = NAN,.dffits = NAN
	};

	if (!(row->weight > 0.0))
		return r;
	of_fit = gr_glm_row(distribution, row->eta, row->y, row->weight);
	if (isinf(of_fit.half_deviance))
		return r;
	r.pearson = of_fit.v;
	r.deviance = copysign(sqrt(2.0 * fmax(of_fit.half_deviance, 0.0)), r.pearson);
	r.working = of_fit.v / of_fit.u;
	r.hat = of_fit.u * of_fit.u * row->quadratic;
	if (!isnan(r.hat))
		set_influence(model, &r);
	return r;
}
