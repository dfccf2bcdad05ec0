/*
 * absorb_glm.c: fits generalised linear models with absorbed effects; see absorb_glm.h.
 *
 * Each iteration of Fisher's scoring is a weighted linear fit of the working response, whose effects are absorbed by
 * the working weights (Correia, Guimaraes and Zylkin 2020; Berge 2018). Features stay projected: projecting them again
 * by other weights gives what projecting the original ones would.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "miscadmin.h"

#include "compute/dist/stirling.h"
#include "compute/effects/meat.h"
#include "compute/effects/working.h"
#include "rows/query/query.h"
#include "run/raise.h"
#include "sql/effects/absorb.h"
#include "sql/effects/absorb_glm.h"

/*
 * Squared change of the linear predictors, as a share of their size, at which a fit has converged. With the canonical
 * link the next step's is the square of it; with others steps become shorter by a factor.
 */
#define CONVERGED_CANONICAL 1e-18
#define CONVERGED_OTHER 1e-28

/* Squared change at which a fit has converged if rounding, or the limit of iterations, prevents smaller ones. */
#define CONVERGED_AT_LAST 1e-20

/* Halvings of a step that does not reduce the deviance */
#define HALVINGS_MAX 20

/* A step may raise the deviance by this share, which is rounding. */
#define DEVIANCE_ROUNDING 1e-12

typedef struct GlmFit
{
	GrAbsorbFit *fit;
	GrEffectWorking working;
	double	   *step;			/* change of each linear predictor */
	double		deviance;
	double		change;			/* squared change of the linear predictors over their size, by working weights */
	int			iterations;
	bool		converged;
} GlmFit;

static double *
new_numbers(int64 n)
{
	return palloc_extended(Max(n, 1) * sizeof(double), MCXT_ALLOC_HUGE);
}

/* Raises an ERROR if an option cannot be combined with absorbed effects. */
static void
check_options(const GrGlmOptions *options, const GrRoles *roles)
{
	const char *what = options->l2 > 0 ? "l2" : options->firth ? "firth" :
		options->estimate_theta ? "an estimated theta" : options->solver != GR_SOLVER_NEWTON ? "this solver" : NULL;

	if (what != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("%s cannot be used with absorbed effects", what),
				 options->estimate_theta ? errhint("Pass theta, or use another family.") : errhint("Leave it out.")));
	if (roles->weighting == GR_FREQUENCIES && (options->vcov == GR_VCOV_HC0 || options->vcov == GR_VCOV_HC1))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("vcov %s cannot be used with frequencies and absorbed effects", gr_vcov_name(options->vcov)),
				 errhint("Repeat the rows in the query, or use vcov => 'iid'.")));
}

/* Drops rows that an infinite effect fits, and singletons, until there are none. */
static void
drop_rows(GrAbsorbFit *fit, GrDistribution distribution)
{
	GrEffectRows *rows = &fit->coded.rows;
	bool		binary = gr_family(distribution.family)->is_binary;
	GrError		err = {0};
	int64_t		nbefore;

	do
	{
		int64_t		ndropped = 0;

		nbefore = rows->nrows;
		if ((binary || gr_family(distribution.family)->is_count) &&
			!gr_effect_rows_drop_constant(rows, binary, &fit->nseparated, &err))
			gr_absorb_raise(fit, &err);
		if (rows->nrows > 0 && !gr_effect_rows_prune(rows, &ndropped, &gr_host, &err))
			gr_absorb_raise(fit, &err);
		fit->nsingletons += ndropped;
		CHECK_FOR_INTERRUPTS();
	} while (rows->nrows > 0 && rows->nrows < nbefore);
	if (rows->nrows == 0 && fit->nseparated > 0)
		ereport(ERROR,
				(errcode(ERRCODE_NO_DATA_FOUND),
				 binary ? errmsg("no row is left: the responses of each level are equal") :
				 errmsg("no row is left: the responses of each level are 0"),
				 errdetail(INT64_FORMAT " rows were dropped because an infinite effect fits them, and " INT64_FORMAT
						   " as singletons.", fit->nseparated, fit->nsingletons),
				 errhint("Absorb columns whose levels have responses that differ.")));
}

/* Takes the responses and the weights out of the rows, whose places are for working ones. */
static void
begin(GlmFit *g, GrDistribution distribution)
{
	GrEffectRows *rows = &g->fit->coded.rows;
	GrRowRules	rules = g->fit->ingest.rules;

	g->working = (GrEffectWorking) {
		.distribution = distribution,.prior = rows->weights,.counts = rows->counts,.y = new_numbers(rows->nrows),
		.eta = new_numbers(rows->nrows),.z = new_numbers(rows->nrows)
	};
	g->step = new_numbers(rows->nrows);
	rows->weights = new_numbers(rows->nrows);
	rules.theta = distribution.theta;
	g->fit->log_constant = 0;
	for (int64 r = 0; r < rows->nrows; r++)
	{
		double		w = g->working.prior == NULL ? 1 : g->working.prior[r];

		g->working.y[r] = rows->values[r * rows->stride + rows->ncols - 1];
		g->fit->log_constant += gr_log_constant(rules, distribution.theta > 0 ? gr_stirling_error(distribution.theta) :
												0, g->working.y[r], w);
	}
	gr_effect_start(rows, &g->working);
}

/* Projects the features and the working response, and solves for the model's coefficients and unscaled covariances. */
static void
solve_step(GlmFit *g, GrModel *model)
{
	GrAbsorbFit *fit = g->fit;
	const GrEffectRows *rows = &fit->coded.rows;
	GrGram		gram;
	double		squares = 0;
	double		size = 0;

	gr_effects_close(&fit->effects);
	gr_absorb_project(fit, false);
	gram = gr_absorb_products(fit);
	gr_model_solve(model, &gram, false, fit->ingest.names, true, NULL);
	pfree(gram.hi);
	gr_effect_residuals(rows, model->coef, fit->residuals);
	for (int64 r = 0; r < rows->nrows; r++)
	{
		double		eta = g->working.eta[r];
		double		offset = rows->offsets == NULL ? 0 : rows->offsets[r];
		double		next = offset + g->working.z[r] - fit->residuals[r];

		g->step[r] = next - eta;
		squares += rows->weights[r] * g->step[r] * g->step[r];
		size += rows->weights[r] * (1 + next * next);
	}
	g->change = squares / size;
}

/* Makes the step, or a part of it that does not raise the deviance. Returns false if there is none. */
static bool
make_step(GlmFit *g)
{
	GrEffectRows *rows = &g->fit->coded.rows;
	double		part = 1;

	for (int64 r = 0; r < rows->nrows; r++)
		g->working.eta[r] += g->step[r];
	for (int k = 0; k <= HALVINGS_MAX; k++)
	{
		double		deviance = gr_effect_work(rows, &g->working);

		CHECK_FOR_INTERRUPTS();
		if (isfinite(deviance) && (g->iterations == 1 ||
								   deviance <= g->deviance + DEVIANCE_ROUNDING * (fabs(g->deviance) + 1)))
		{
			g->deviance = deviance;
			return true;
		}
		part /= 2;
		for (int64 r = 0; r < rows->nrows; r++)
			g->working.eta[r] -= part * g->step[r];
	}
	return false;
}

static void
iterate(GlmFit *g, GrModel *model, int max_iter)
{
	GrAbsorbFit *fit = g->fit;
	double		limit = gr_is_canonical(g->working.distribution) ? CONVERGED_CANONICAL : CONVERGED_OTHER;
	double		before = INFINITY;

	fit->residuals = new_numbers(fit->coded.rows.nrows);
	g->deviance = gr_effect_work(&fit->coded.rows, &g->working);
	while (g->iterations < max_iter && !g->converged)
	{
		g->iterations++;
		solve_step(g, model);
		if (!make_step(g))
			break;
		g->converged = g->change <= limit || (g->change < CONVERGED_AT_LAST && g->change >= before);
		before = g->change;
	}
	g->converged |= before < CONVERGED_AT_LAST;
	/* the covariances and scores at the estimates */
	if (g->converged)
		solve_step(g, model);
}

/* Sets the model's fields besides those of its terms and of the effects. */
static void
describe(GlmFit *g, GrModel *model, const GrGlmOptions *options, bool quasi)
{
	const GrEffectRows *rows = &g->fit->coded.rows;
	GrFamily	family = options->distribution.family;
	double	   *bread = gr_absorb_bread(model);
	double		pearson = model->deviance;
	double		nobs = g->fit->nobs;
	Size		n = (Size) model->nterms * model->nterms;

	gr_absorb_describe(g->fit, model);
	((GrAbsorbed *) model->extras.absorbed)->within_tss = NAN;
	model->distribution = options->distribution;
	model->quasi = quasi;
	model->deviance = g->deviance;
	model->null_deviance = rows->offsets != NULL ? NAN : gr_effect_null_deviance(rows, &g->working);
	if (gr_family(family)->nobs_by_weight && g->working.prior != NULL)
	{
		nobs = 0;
		for (int64 r = 0; r < rows->nrows; r++)
			nobs += g->working.prior[r];
	}
	model->log_lik = quasi ? NAN : gr_log_likelihood(family, g->deviance, nobs, g->fit->log_constant);
	model->iterations = g->iterations;
	model->converged = g->converged;
	model->dispersion = 1;
	model->df_inference = INFINITY;
	if (gr_family_has_dispersion(family, quasi))
	{
		model->dispersion = gr_model_mean_square(pearson, (double) model->df_residual);
		model->df_inference = (double) model->df_residual;
	}
	model->vcov_low = NULL;
	for (Size i = 0; i < n; i++)
		model->vcov[i] = bread[i] * model->dispersion;
	if (options->vcov != GR_VCOV_IID)
	{
		model->df_inference = INFINITY;
		gr_absorb_robust(g->fit, model, bread, pearson, false);
	}
}

static void
warn(const GlmFit *g)
{
	if (!g->converged)
		ereport(WARNING,
				(errmsg_plural("the fit did not converge in %d iteration", "the fit did not converge in %d iterations",
							   g->iterations, g->iterations),
				 errhint("Raise max_iter. If coefficients grow with every iteration, leave out the features that "
						 "determine the response.")));
}

Datum
gr_absorb_glm_fit(FunctionCallInfo fcinfo, const char *name, const GrFitRows *rows, const GrRoles *roles,
				  const GrGlmOptions *options, bool quasi)
{
	const GrAbsorbOptions own = {.roles = *roles,.fit = options};
	GlmFit		g = {0};
	GrModel		model = {0};
	ErrorContextCallback context;

	check_options(options, roles);
	gr_enter_query(&context, rows->query);
	g.fit = gr_absorb_begin(fcinfo, rows, &own);
	drop_rows(g.fit, options->distribution);
	gr_absorb_prune(g.fit);
	begin(&g, options->distribution);
	iterate(&g, &model, options->max_iter);
	describe(&g, &model, options, quasi);
	gr_leave_query(&context);
	gr_absorb_record(g.fit, name);
	warn(&g);
	return gr_model_datum(fcinfo, &model);
}
