/*
 * fn_tidy.c: gpu_tidy (a model's coefficients with their tests) and gpu_glance (measures of the whole model).
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "compute/dist/family.h"
#include "compute/dist/inference.h"
#include "run/result.h"
#include "sql/model/model.h"
#include "sql/model/model_summary.h"

PG_FUNCTION_INFO_V1(gr_tidy);
PG_FUNCTION_INFO_V1(gr_glance);

/* Number of columns of gpu_tidy in release 0.1.0, and now */
#define TIDY_COLUMNS_OLD 7
#define TIDY_COLUMNS 9

/*
 * True if the data determine to which infinity the separated term k diverges. If they do not, its variance is infinite.
 * False for a fit without covariances, which did not determine it.
 */
static bool
has_sign(const GrModel *model, int k)
{
	return model->vcov != NULL && !isinf(model->vcov[(Size) k * model->nterms + k]);
}

/* Returns the quantile of t for limits of conf_level; NaN if df is NaN. Infinite df: the normal distribution. */
static double
quantile_of(double conf_level, double df)
{
	return df > 0 ? gr_t_upper_quantile((1 - conf_level) / 2, df) : NAN;
}

/* Fills the row of term k. df: degrees of freedom of the term; quantile: that of its confidence limits. */
static void
fill_row(const GrModel *model, int k, double df, double quantile, bool exponentiate, Datum *values, bool *nulls)
{
	bool		is_separated = model->separated != NULL && model->separated[k] != 0;
	double		estimate = model->coef[k];
	double		std_error = model->vcov == NULL || is_separated ? NAN :
		sqrt(model->vcov[(Size) k * model->nterms + k]);
	double		statistic = estimate / std_error;
	double		low = estimate - quantile * std_error;
	double		high = estimate + quantile * std_error;
	const char *term;
	const char *class;

	if (is_separated)
		estimate = has_sign(model, k) ? model->separated[k] * INFINITY : NAN;
	class = gr_model_class(model, k, &term);
	values[0] = CStringGetTextDatum(term);
	gr_set_float(&values[1], &nulls[1], exponentiate ? exp(estimate) : estimate);
	gr_set_float(&values[2], &nulls[2], std_error);
	gr_set_float(&values[3], &nulls[3], statistic);
	gr_set_float(&values[4], &nulls[4], gr_t_two_sided(statistic, df));
	gr_set_float(&values[5], &nulls[5], exponentiate ? exp(low) : low);
	gr_set_float(&values[6], &nulls[6], exponentiate ? exp(high) : high);
	gr_set_float(&values[7], &nulls[7], isnan(std_error) ? NAN : df);
	nulls[8] = class == NULL;
	if (class != NULL)
		values[8] = CStringGetTextDatum(class);
}

/*
 * gpu_tidy(model gpu_model, conf_level float8, exponentiate boolean): one row per term. The SQL function of release
 * 0.1.0 has neither df nor class.
 */
Datum
gr_tidy(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	double		conf_level = PG_GETARG_FLOAT8(1);
	GrModel		model;
	double		quantile;
	double		df;

	if (!(conf_level > 0 && conf_level < 1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("conf_level must be between 0 and 1, got %g", conf_level),
				 errhint("0.95 gives 95%% confidence limits.")));
	gr_read_any_model(fcinfo, 0, &model, GR_MODEL_ALL);
	InitMaterializedSRF(fcinfo, 0);
	if (rsinfo->setDesc->natts != TIDY_COLUMNS_OLD && rsinfo->setDesc->natts != TIDY_COLUMNS)
		elog(ERROR, "result type is not that of gpu_tidy");
	df = model.df_inference;
	quantile = quantile_of(conf_level, df);

	for (int k = 0; k < model.nterms; k++)
	{
		Datum		values[TIDY_COLUMNS];
		bool		nulls[TIDY_COLUMNS] = {false};

		if (model.extras.df != NULL)
		{
			df = model.extras.df[k];
			quantile = quantile_of(conf_level, df);
		}
		fill_row(&model, k, df, quantile, PG_GETARG_BOOL(2), values, nulls);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
		CHECK_FOR_INTERRUPTS();
	}
	return (Datum) 0;
}

/* gpu_glance(model gpu_model): one row */
Datum
gr_glance(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	GrModel		model;
	GrModelSummary s;
	Datum		values[21];
	bool		nulls[21] = {false};

	gr_read_any_model(fcinfo, 0, &model, GR_MODEL_SUMS);
	gr_model_summarise(&model, &s);
	InitMaterializedSRF(fcinfo, 0);
	values[0] = Int64GetDatum(model.nrows);
	values[1] = Int64GetDatum(model.nskipped);
	values[2] = Int32GetDatum(model.rank);
	values[3] = Int64GetDatum(model.df_residual);
	gr_set_float(&values[4], &nulls[4], s.r_squared);
	gr_set_float(&values[5], &nulls[5], s.adj_r_squared);
	gr_set_float(&values[6], &nulls[6], s.sigma);
	gr_set_float(&values[7], &nulls[7], s.f_statistic);
	gr_set_float(&values[8], &nulls[8], s.f_p_value);
	gr_set_float(&values[9], &nulls[9], model.deviance);
	gr_set_float(&values[10], &nulls[10], model.null_deviance);
	gr_set_float(&values[11], &nulls[11], model.log_lik);
	gr_set_float(&values[12], &nulls[12], s.aic);
	gr_set_float(&values[13], &nulls[13], s.bic);
	values[14] = Int32GetDatum(model.iterations);
	values[15] = BoolGetDatum(model.converged);
	gr_set_float(&values[16], &nulls[16], s.pseudo_r_squared);
	values[17] = CStringGetTextDatum(gr_model_family(&model));
	values[18] = CStringGetTextDatum(gr_link_name(model.distribution.link));
	gr_set_float(&values[19], &nulls[19], gr_model_dispersion(&model));
	nulls[20] = model.vcov_type == NULL;
	if (model.vcov_type != NULL)
		values[20] = CStringGetTextDatum(model.vcov_type);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	return (Datum) 0;
}
