/*
 * model_summary.c: computes R2, F, AIC and other measures of a fitted model; see model_summary.h.
 */
#include "postgres.h"

#include <math.h>

#include "compute/dist/family.h"
#include "compute/dist/inference.h"
#include "sql/model/model_summary.h"
#include "sql/model/wald.h"

/*
 * Returns the effective number of parameters, tr(H (H + l2 P)^-1), where H is the Hessian and P the penalty's matrix.
 * The covariances are (H + l2 P)^-1, so each penalised term subtracts l2 times its variance. NaN if they are not known.
 */
static double
effective_df(const GrModel *model)
{
	double		df = model->rank + (model->extras.absorbed == NULL ? 0 : model->extras.absorbed->df);

	/* the lasso's rank: Zou, Hastie and Tibshirani (2007), "On the degrees of freedom of the lasso" */
	if (model->net && model->net_alpha < 1)
		return NAN;
	if (model->l2 == 0)
		return df;
	if (model->vcov == NULL)
		return NAN;
	/* vcov includes the dispersion as a factor */
	for (int k = 0; k < model->nterms; k++)
		if (!isnan(model->coef[k]))
			df -= (gr_model_is_intercept(model, k) ? 0 : model->l2) * model->vcov[(Size) k * model->nterms + k] /
				(isnan(model->dispersion) ? 1 : model->dispersion);
	return df;
}

/* Sets Wald's F of all slopes, by the model's covariances. NaN if these allow no test. */
static void
test_slopes(const GrModel *model, GrModelSummary *s)
{
	int		   *terms = palloc_extended((model->nterms + 1) * sizeof(int), MCXT_ALLOC_HUGE);
	bool	   *used = palloc_extended((model->nterms + 1) * sizeof(bool), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	int			n = 0;
	int			place;

	s->f_statistic = s->f_p_value = NAN;
	for (int k = model->intercept ? 1 : 0; k < model->nterms; k++)
		if (!isnan(model->coef[k]))
		{
			used[k] = true;
			terms[n++] = k;
		}
	s->f_df = gr_least_df(model->extras.df, model->df_inference, used, model->nterms);
	if (model->vcov == NULL ||
		gr_wald_statistic(model, terms, n, &s->f_statistic, &place) != GR_WALD_FOUND)
		return;
	s->f_p_value = isinf(s->f_df) ? gr_chisq_probability(s->f_statistic, n, false) :
		gr_f_upper(s->f_statistic / n, n, s->f_df);
	s->f_statistic /= n;
}

/* Summarises a least-squares fit. AIC and BIC count the variance as a parameter, as in R. */
static void
summarise_linear(const GrModel *model, GrModelSummary *s)
{
	double		rss = model->deviance;
	double		tss = model->null_deviance;
	double		n = (double) model->nrows;
	double		df = (double) model->df_residual;
	const GrAbsorbed *absorbed = model->extras.absorbed;
	bool		centered = model->intercept || absorbed != NULL;
	double		df_model = model->rank - (model->intercept ? 1 : 0);
	double		explained = (absorbed == NULL ? tss : absorbed->within_tss) - rss;
	double		nparameters = effective_df(model) + 1.0;
	/* keeps digits of tiny sums; see gr_model_mean_square() */
	double		unit = rss > 0 && rss < 1e-280 ? 0x1p200 : 1.0;

	/* 0 / 0 gives NaN on purpose: constant y, df_residual 0, no slope */
	s->r_squared = tss > 0 ? 1 - rss / tss : NAN;
	s->within_r_squared = absorbed != NULL && absorbed->within_tss > 0 ? 1 - rss / absorbed->within_tss : NAN;
	s->sigma = df > 0 ? sqrt(rss * unit / df) / sqrt(unit) : NAN;
	s->adj_r_squared = df > 0 ? 1 - (1 - s->r_squared) * ((n - (centered ? 1 : 0)) / df) : NAN;
	/* sums of squares add up, as F requires, only in least-squares fits */
	s->f_statistic = NAN;
	if (df > 0 && df_model > 0 && tss > 0 && !model->iv && !model->net)
		s->f_statistic = explained * unit / df_model / (rss * unit / df);
	s->f_df = df;
	s->f_p_value = gr_f_upper(s->f_statistic, df_model, df);
	s->robust = gr_model_is_robust(model) && !model->iv && !model->net;
	if (s->robust)
		test_slopes(model, s);
	s->aic = -2 * model->log_lik + 2 * nparameters;
	s->bic = -2 * model->log_lik + log(n) * nparameters;
}

/* Summarises a fit by likelihood. Parameters are the effective terms, and an estimated dispersion or theta. */
static void
summarise_likelihood(const GrModel *model, GrModelSummary *s)
{
	double		nparameters = effective_df(model) +
		(gr_family_has_dispersion(model->distribution.family, model->quasi) || model->theta_error != 0 ? 1 : 0);

	s->robust = false;
	s->f_df = NAN;
	s->r_squared = s->adj_r_squared = s->sigma = s->f_statistic = s->f_p_value = NAN;
	s->aic = -2 * model->log_lik + 2.0 * nparameters;
	s->bic = -2 * model->log_lik + log((double) model->nrows) * nparameters;
}

/* Returns McFadden's 1 - log L / log L0. NaN if the family has a dispersion, which L and L0 would each estimate. */
static double
pseudo_r_squared(const GrModel *model)
{
	GrFamily	family = model->distribution.family;
	double		null_log_lik = model->log_lik - (model->null_deviance - model->deviance) / 2;

	if (gr_family_has_dispersion(family, model->quasi))
		return NAN;
	/* deviances are -2 log L if all responses are 0 or 1 */
	if (model->log_lik == -model->deviance / 2)
		return model->null_deviance > 0 ? 1 - model->deviance / model->null_deviance : NAN;
	return null_log_lik < 0 ? 1 - model->log_lik / null_log_lik : NAN;
}

/* Summarises a mixed model. Parameters: fixed terms, variances and covariances, and the residual variance. */
static void
summarise_mixed(const GrModel *model, GrModelSummary *s)
{
	double		nparameters = (double) (model->nrows - model->df_residual);

	s->robust = false;
	s->f_df = NAN;
	s->r_squared = s->adj_r_squared = s->f_statistic = s->f_p_value = NAN;
	s->sigma = sqrt(model->dispersion);
	s->aic = -2 * model->log_lik + 2 * nparameters;
	s->bic = -2 * model->log_lik + log((double) model->nrows) * nparameters;
}

void
gr_model_summarise(const GrModel *model, GrModelSummary *s)
{
	if (model->mixed)
	{
		summarise_mixed(model, s);
		s->pseudo_r_squared = NAN;
		return;
	}
	if (!gr_family(model->distribution.family)->least_squares)
		summarise_likelihood(model, s);
	else
		summarise_linear(model, s);
	s->pseudo_r_squared = pseudo_r_squared(model);
	/* an infinite F is right for a perfect fit only; otherwise it is an overflow */
	if (isinf(s->f_statistic) && !s->robust && model->deviance > 0 && isfinite(model->null_deviance))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("a statistic of the model is out of range for float8"),
				 errdetail("F is too large: the deviance is %g and the null deviance %g.", model->deviance,
						   model->null_deviance)));
}
