/*
 * fn_compare.c: the SQL functions gpu_anova (compares nested models, or tests a model's terms), gpu_wald (tests terms
 * jointly) and gpu_vif (measures how collinear terms are).
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "compute/base/compute.h"
#include "compute/base/dd.h"
#include "compute/dist/family.h"
#include "compute/dist/inference.h"
#include "compute/linear/ols.h"
#include "rows/state/aggregate.h"
#include "rows/state/state.h"
#include "run/args.h"
#include "run/clock.h"
#include "run/grams.h"
#include "run/raise.h"
#include "run/result.h"
#include "sql/model/combination.h"
#include "sql/model/effects_of_design.h"
#include "sql/model/model.h"
#include "sql/model/wald.h"

PG_FUNCTION_INFO_V1(gr_anova);
PG_FUNCTION_INFO_V1(gr_anova_model);
PG_FUNCTION_INFO_V1(gr_wald);
PG_FUNCTION_INFO_V1(gr_vif_model);
PG_FUNCTION_INFO_V1(gr_vif_stats);

/* Names of the tests in results, as in R */
#define BY_F "F"
#define BY_CHISQ "Chisq"

/* A deviance that grows by at most this share of itself is regarded as equal: the growth may be rounding. */
#define DEVIANCE_ROUNDING 1e-10

/*
 * A feature takes part in a collinearity if its coefficient, times its spread, exceeds this share of the spread of the
 * aliased feature. Less than that is rounding.
 */
#define COLLINEAR_SHARE 1e-8

/*
 * gpu_anova
 */

static void
bad_comparison(const char *detail, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("models cannot be compared"),
			 errdetail("%s", detail),
			 errhint("%s", hint)));
}

#define NESTED_HINT "Pass two models of the same rows, one of which has only some of the terms of the other."

static const char *
absorbed_names(const GrModel *model)
{
	return model->extras.absorbed == NULL ? "" : model->extras.absorbed->names;
}

/* Returns the number of parameters of a model. A linear model counts its variance, as a mixed model does. */
static int64
nparameters_of(const GrModel *model)
{
	return model->mixed ? model->nrows - model->df_residual : (int64) model->rank + 1;
}

/* Raises an ERROR unless models, one of which is mixed, may be compared by likelihood. */
static void
check_mixed(const GrModel *small, const GrModel *large)
{
	bool		same_terms = small->nterms == large->nterms;

	for (int k = 0; k < small->nterms && same_terms; k++)
		same_terms = strcmp(small->terms[k], large->terms[k]) == 0;
	if ((small->reml || large->reml) && !(small->reml && large->reml && same_terms))
		bad_comparison("REML criteria depend on the fixed terms: only models with the same fixed terms have "
					   "comparable ones.", "Fit both with method => 'ml'.");
}

/* Raises an ERROR unless small may be nested in large. */
static void
check_nested(const GrModel *small, const GrModel *large)
{
	if (small->kind != large->kind || small->distribution.family != large->distribution.family ||
		small->quasi != large->quasi || small->distribution.link != large->distribution.link)
		bad_comparison(psprintf("The families and links are %s (%s) and %s (%s).",
								gr_model_family(small),
								gr_link_name(small->distribution.link),
								gr_model_family(large),
								gr_link_name(large->distribution.link)), NESTED_HINT);
	if (small->nrows != large->nrows)
		bad_comparison(psprintf("The models are fitted to " INT64_FORMAT " and " INT64_FORMAT " rows.", small->nrows,
								large->nrows),
					   "Fit both to the rows in which no column of either model is NULL: rows with a NULL are "
					   "skipped.");
	if (strcmp(absorbed_names(small), absorbed_names(large)) != 0)
		bad_comparison("The models absorb different effects.", "Absorb the same columns in both fits.");
	if (small->l2 > 0 || large->l2 > 0)
		bad_comparison("A penalised fit is not at the maximum of the likelihood.", "Fit both with l2 => 0.");
	if (small->net || large->net)
		bad_comparison("An elastic net is not at the maximum of the likelihood.",
					   "Choose the penalty by cross-validation, with gpu_enet_cv or gpu_enet_cv_agg.");
	if (small->firth || large->firth)
		bad_comparison("A fit with Firth's penalty is not at the maximum of the likelihood.",
					   "Use gpu_wald, or fit both with firth => false.");
	if (small->mixed || large->mixed)
		check_mixed(small, large);
	if (small->iv || large->iv)
		bad_comparison("A fit by two-stage least squares does not minimise the sum of squares.", "Use gpu_wald.");
	if (nparameters_of(small) == nparameters_of(large))
		bad_comparison(psprintf("Both models have rank %d.", small->rank), NESTED_HINT);
}

/*
 * Returns twice the log-likelihood ratio, in units of the dispersion: the difference of the deviances. Negative
 * binomial models with different thetas, whose saturated models differ, and mixed models are compared by
 * log-likelihood.
 */
static double
deviance_drop(const GrModel *small, const GrModel *large)
{
	double		drop = small->deviance - large->deviance;
	bool		own_theta = small->distribution.theta != large->distribution.theta;

	if (own_theta || small->mixed || large->mixed)
		drop = 2 * (large->log_lik - small->log_lik);
	if (drop < 0 && drop >= -DEVIANCE_ROUNDING * fabs(small->deviance))
		drop = 0;
	if (drop < 0)
		bad_comparison(psprintf("The model with the larger rank, %d, fits worse.", large->rank), NESTED_HINT);
	return drop;
}

/*
 * Returns the F statistic of a deviance drop on df degrees of freedom, by large's dispersion. NaN if that is not known.
 */
static double
f_of_drop(double drop, double df, const GrModel *large)
{
	double		dispersion = large->dispersion;
	/* keeps digits of tiny sums; see gr_model_mean_square() */
	double		unit = large->deviance > 0 && large->deviance < 1e-280 ? 0x1p200 : 1.0;

	if (gr_family(large->distribution.family)->least_squares)
		dispersion = large->df_residual > 0 ? large->deviance * unit / (double) large->df_residual : NAN;
	else
		unit = 1.0;
	return dispersion >= 0 ? drop * unit / df / dispersion : NAN;
}

/* Adds a row of gpu_anova's result. smaller: model to test against; NULL for the first row, which has no test. */
static void
put_model(ReturnSetInfo *rsinfo, int number, const GrModel *model, const GrModel *smaller)
{
	Datum		values[8];
	bool		nulls[8] = {false, false, false, true, true, true, true, true};

	values[0] = Int32GetDatum(number);
	values[1] = Int64GetDatum(model->df_residual);
	gr_set_float(&values[2], &nulls[2], model->deviance);
	if (smaller != NULL)
	{
		bool		mixed = model->mixed || smaller->mixed;
		bool		estimated = !mixed && gr_family_has_dispersion(model->distribution.family, model->quasi);
		int64		df = nparameters_of(model) - nparameters_of(smaller);
		double		drop = deviance_drop(smaller, model);
		double		statistic = estimated ? f_of_drop(drop, (double) df, model) : drop;

		values[3] = Int64GetDatum(df);
		nulls[3] = nulls[7] = false;
		gr_set_float(&values[4], &nulls[4], drop);
		gr_set_float(&values[5], &nulls[5], statistic);
		gr_set_float(&values[6], &nulls[6],
					 estimated ? gr_f_upper(statistic, (double) df, (double) model->df_residual) :
					 gr_chisq_probability(statistic, (double) df, false));
		values[7] = CStringGetTextDatum(estimated ? BY_F : BY_CHISQ);
	}
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* gpu_anova(m0 gpu_model, m1 gpu_model): one row per model, the model of smaller rank first */
Datum
gr_anova(PG_FUNCTION_ARGS)
{
	GrModel		models[2];
	const GrModel *small = &models[0];
	const GrModel *large = &models[1];

	gr_read_any_model(fcinfo, 0, &models[0], GR_MODEL_SUMS);
	gr_read_any_model(fcinfo, 1, &models[1], GR_MODEL_SUMS);
	if (nparameters_of(small) > nparameters_of(large))
	{
		small = &models[1];
		large = &models[0];
	}
	check_nested(small, large);
	InitMaterializedSRF(fcinfo, 0);
	put_model((ReturnSetInfo *) fcinfo->resultinfo, small == &models[0] ? 1 : 2, small, NULL);
	put_model((ReturnSetInfo *) fcinfo->resultinfo, large == &models[0] ? 1 : 2, large, small);
	return (Datum) 0;
}

/*
 * gpu_wald
 */

static void
refuse_term(const char *name, const char *what, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("term \"%s\" %s", name, what),
			 hint == NULL ? 0 : errhint("%s", hint)));
}

/* Sets wanted[k] for the terms of a factor or of another term of the formula. Returns false if there is none. */
static bool
mark_effect(const GrModel *model, const char *name, bool *wanted)
{
	int			n;
	GrModelEffect *effects;

	/* terms of other kinds do not follow the design's */
	if (model->kind != GR_KIND_GLM)
		return false;
	effects = gr_model_effects(model, &n);
	for (int t = 0; t < n; t++)
		if (strcmp(effects[t].name, name) == 0)
		{
			memset(wanted + effects[t].first, true, effects[t].n);
			return true;
		}
	return false;
}

/* Sets wanted[k] for the terms of all classes that have this name without their class. Returns false if none has. */
static bool
mark_in_classes(const GrModel *model, const char *name, bool *wanted)
{
	bool		any = false;

	for (int k = 0; k < model->nterms && model->kind == GR_KIND_MULTINOM; k++)
	{
		const char *term;

		(void) gr_model_class(model, k, &term);
		if (strcmp(term, name) == 0)
			wanted[k] = any = true;
	}
	return any;
}

/* Sets wanted[k] for the terms named. Raises an ERROR if the model has no term of a name. */
static void
mark_named(const GrModel *model, ArrayType *names, bool *wanted)
{
	int		   *sorted;
	Datum	   *items;
	bool	   *nulls;
	int			n;

	gr_check_vector(names, "terms");
	deconstruct_array(names, TEXTOID, -1, false, TYPALIGN_INT, &items, &nulls, &n);
	sorted = gr_model_sort_terms(model);
	for (int i = 0; i < n; i++)
	{
		char	   *name;
		int			low;

		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("terms must not contain NULL")));
		name = TextDatumGetCString(items[i]);
		if (mark_in_classes(model, name, wanted))
			continue;
		low = gr_model_find_term(model, sorted, name);
		if ((low == model->nterms || strcmp(model->terms[sorted[low]], name) != 0) && !mark_effect(model, name, wanted))
			refuse_term(name, "is not in the model", NULL);
		for (; low < model->nterms && strcmp(model->terms[sorted[low]], name) == 0 && !wanted[sorted[low]]; low++)
			wanted[sorted[low]] = true;
		pfree(name);
		gr_poll_loop(i);
	}
	pfree(sorted);
}

/* Returns the *n terms to test: those in names (NULL: all but the intercept), without aliased ones. */
static int *
terms_to_test(const GrModel *model, ArrayType *names, int *n)
{
	bool	   *wanted = palloc0(model->nterms * sizeof(bool));
	int		   *terms = palloc(model->nterms * sizeof(int));

	if (names != NULL)
		mark_named(model, names, wanted);
	else
		for (int k = 0; k < model->nterms; k++)
			wanted[k] = !gr_model_is_intercept(model, k);
	*n = 0;
	for (int k = 0; k < model->nterms; k++)
	{
		if (!wanted[k] || isnan(model->coef[k]))
			continue;
		if (model->separated != NULL && model->separated[k] != 0)
			refuse_term(model->terms[k], "has no finite estimate",
						"Use gpu_anova to compare with a model without this term.");
		terms[(*n)++] = k;
	}
	pfree(wanted);
	return terms;
}

/* Raises an ERROR if the terms cannot be tested. place: the term that prevents it, for outcomes with one. */
static void
check_outcome(const GrModel *model, GrWaldOutcome outcome, int place)
{
	bool		clustered = model->vcov_type != NULL && strncmp(model->vcov_type, "CR", 2) == 0;

	switch (outcome)
	{
		case GR_WALD_FOUND:
		case GR_WALD_NONE:
			return;
		case GR_WALD_IMPRECISE:
			return;
		case GR_WALD_NO_VARIANCE:
			refuse_term(model->terms[place], "has no variance",
						"Leave this term out of terms, or fit the model with another vcov.");
			return;
		case GR_WALD_NEGATIVE:
			refuse_term(model->terms[place], "has a negative variance",
						"Cluster by one column: with two-way clustering, variances can be negative.");
			return;
		case GR_WALD_MALFORMED:
			refuse_term(model->terms[place], "has an invalid variance",
						"Use a value that a gpureg function returned.");
			return;
		case GR_WALD_SINGULAR:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("the covariance matrix of the terms is singular"),
					 clustered ?
					 errhint("Test fewer terms at a time, fewer than there are clusters.") :
					 errhint("Test fewer terms at a time.")));
	}
}

/* Returns the degrees of freedom of a joint test of n terms: the least of theirs, if terms have their own. */
static double
df_of_terms(const GrModel *model, const int *terms, int n)
{
	bool	   *used = palloc_extended(model->nterms * sizeof(bool), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

	for (int k = 0; k < n; k++)
		used[terms[k]] = true;
	return gr_least_df(model->extras.df, model->df_inference, used, model->nterms);
}

/* gpu_wald(model gpu_model, terms text[]): one row; no row if the model is NULL */
Datum
gr_wald(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Datum		values[5];
	bool		nulls[5] = {false};
	GrModel		model;
	int		   *terms;
	int			n;
	int			place = 0;
	GrWaldOutcome outcome;
	double		statistic;
	double		df;
	bool		has_df;

	if (PG_ARGISNULL(0))
	{
		InitMaterializedSRF(fcinfo, 0);
		return (Datum) 0;
	}
	gr_read_any_model(fcinfo, 0, &model, GR_MODEL_ALL);
	terms = terms_to_test(&model, PG_ARGISNULL(1) ? NULL : PG_GETARG_ARRAYTYPE_P(1), &n);
	if (model.vcov == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the model has no covariance matrix"),
				 errhint("Fit the model with solver => 'newton', without a learning_rate.")));
	outcome = gr_wald_statistic(&model, terms, n, &statistic, &place);
	check_outcome(&model, outcome, place);
	if (outcome == GR_WALD_IMPRECISE)
		gr_warn_imprecise(fcinfo, NULL, "test statistics");
	df = df_of_terms(&model, terms, n);
	has_df = !isinf(df);
	if (has_df)
		statistic /= n;
	InitMaterializedSRF(fcinfo, 0);
	gr_set_float(&values[0], &nulls[0], statistic);
	values[1] = Int32GetDatum(n);
	gr_set_float(&values[2], &nulls[2], has_df ? df : NAN);
	gr_set_float(&values[3], &nulls[3], has_df ? gr_f_upper(statistic, n, df) :
				 gr_chisq_probability(statistic, n, false));
	values[4] = CStringGetTextDatum(has_df ? BY_F : BY_CHISQ);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	return (Datum) 0;
}

/*
 * gpu_anova of one model
 */

/* The effects of a model */
typedef struct Effects
{
	GrModelEffect *effect;
	int			n;
} Effects;

/* Returns the *n terms of effect and, if with is true, of the effects that contain it; or of these alone. */
static int *
terms_of_effect(const GrModel *model, const Effects *effects, const GrModelEffect *effect, bool with, int *n)
{
	int		   *terms = palloc_extended((model->nterms + 1) * sizeof(int), MCXT_ALLOC_HUGE);

	*n = 0;
	for (int t = 0; t < effects->n; t++)
	{
		const GrModelEffect *other = &effects->effect[t];

		if (other == effect ? !with : !gr_effect_contains(other, effect))
			continue;
		for (int k = other->first; k < other->first + other->n; k++)
			if (!isnan(model->coef[k]))
				terms[(*n)++] = k;
	}
	return terms;
}

/*
 * Sets *statistic to the Wald statistic of an effect in the model without the effects that contain it: the statistic of
 * all these terms less that of the latter. *n: number of the effect's own terms. Returns false if it has too few
 * digits.
 */
static bool
test_effect(const GrModel *model, const Effects *effects, const GrModelEffect *effect, double *statistic, int *n)
{
	int			nall;
	int			nothers;
	int			place = 0;
	int		   *all = terms_of_effect(model, effects, effect, true, &nall);
	int		   *others = terms_of_effect(model, effects, effect, false, &nothers);
	GrWaldOutcome outcome;
	double		of_others = 0;

	*n = nall - nothers;
	for (int k = 0; k < nall; k++)
		if (model->separated != NULL && model->separated[all[k]] != 0)
			refuse_term(model->terms[all[k]], "has no finite estimate",
						"Use gpu_anova to compare with a model without this term.");
	outcome = gr_wald_statistic(model, all, *n == 0 ? 0 : nall, statistic, &place);
	check_outcome(model, outcome, place);
	if (outcome == GR_WALD_FOUND && nothers > 0)
	{
		outcome = gr_wald_statistic(model, others, nothers, &of_others, &place);
		check_outcome(model, outcome, place);
	}
	/* both are infinite in a perfect fit */
	if (!isinf(*statistic))
		*statistic = fmax(*statistic - of_others, 0);
	pfree(all);
	pfree(others);
	return outcome != GR_WALD_IMPRECISE;
}

/* gpu_anova(model gpu_model): a row per term of the formula, with its test of type II */
Datum
gr_anova_model(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	GrModel		model;
	Effects		effects;
	bool		precise = true;

	gr_read_model(fcinfo, 0, &model, GR_MODEL_ALL);
	if (model.vcov == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the model has no covariance matrix"),
				 errhint("Fit the model with solver => 'newton', without a learning_rate.")));
	effects.effect = gr_model_effects(&model, &effects.n);
	InitMaterializedSRF(fcinfo, 0);
	for (int t = 0; t < effects.n; t++)
	{
		const GrModelEffect *effect = &effects.effect[t];
		int			n;
		double		statistic;
		int		   *terms = palloc_extended((effect->n + 1) * sizeof(int), MCXT_ALLOC_HUGE);
		Datum		values[6];
		bool		nulls[6] = {false};
		double		df;

		CHECK_FOR_INTERRUPTS();
		for (int k = 0; k < effect->n; k++)
			terms[k] = effect->first + k;
		df = df_of_terms(&model, terms, effect->n);
		precise &= test_effect(&model, &effects, effect, &statistic, &n);
		if (!isinf(df))
			statistic /= n;
		values[0] = CStringGetTextDatum(effect->name);
		gr_set_float(&values[1], &nulls[1], statistic);
		values[2] = Int32GetDatum(n);
		gr_set_float(&values[3], &nulls[3], isinf(df) ? NAN : df);
		gr_set_float(&values[4], &nulls[4], isinf(df) ? gr_chisq_probability(statistic, n, false) :
					 gr_f_upper(statistic, n, df));
		values[5] = CStringGetTextDatum(isinf(df) ? BY_CHISQ : BY_F);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
		pfree(terms);
	}
	if (!precise)
		gr_warn_imprecise(fcinfo, NULL, "test statistics");
	return (Datum) 0;
}

/*
 * gpu_vif
 */

/* Adds a term's row to gpu_vif's result. */
static void
put_vif(ReturnSetInfo *rsinfo, const char *term, double vif)
{
	Datum		values[2];
	bool		nulls[2] = {false};

	values[0] = CStringGetTextDatum(term);
	/* only rounding makes it less than 1 */
	gr_set_float(&values[1], &nulls[1], vif < 1 ? 1 : vif);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	CHECK_FOR_INTERRUPTS();
}

/* Raises an ERROR unless the model's covariances determine variance inflation factors. */
static void
check_vif_model(const GrModel *model)
{
	const char *why = NULL;

	if (!model->intercept)
		why = "The model has no intercept.";
	else if (model->l2 > 0)
		why = "The model is penalised (l2).";
	else if (model->iv)
		why = "The model was fitted by two-stage least squares.";
	else if (model->vcov == NULL)
		why = "The model has no covariance matrix.";
	else if (model->vcov_type != NULL && strcmp(model->vcov_type, "iid") != 0)
		why = "The model's covariances are robust: they depend on the residuals.";
	if (why != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("variance inflation factors are not available for this model"),
				 errdetail("%s", why),
				 errhint("Compute them from a state: gpu_vif(gpu_ols_stats_agg(y, x1, ...)).")));
}

/* Returns the inflation of term i of a solved block; NaN if rounding leaves fewer than six digits. */
static double
inflation_of(const GrVcovBlock *block, int i)
{
	if (block->singular || !gr_vcov_block_is_precise(block, i))
		return NAN;
	return block->inverse[(Size) i * block->n + i] * block->hi[gr_triangle(i) + i];
}

/* gpu_vif(model gpu_model): the diagonal of the inverse of the coefficients' correlation matrix */
Datum
gr_vif_model(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	GrModel		model;
	GrVcovBlock	block = {0};
	int		   *terms;
	int			n = 0;
	bool		precise = true;

	gr_read_model(fcinfo, 0, &model, GR_MODEL_ALL);
	check_vif_model(&model);
	terms = palloc(model.nterms * sizeof(int));
	for (int k = 1; k < model.nterms; k++)
	{
		double		variance = model.vcov[(Size) k * model.nterms + k];

		if (!isnan(model.coef[k]) && variance > 0 && isfinite(variance) &&
			(model.separated == NULL || model.separated[k] == 0))
			terms[n++] = k;
	}
	if (n > 0 && !gr_vcov_block_fill(&block, &model, terms, n))
		n = 0;
	if (n > 0)
		gr_vcov_block_solve(&block, true);
	InitMaterializedSRF(fcinfo, 0);
	for (int k = 1, i = 0; k < model.nterms; k++)
	{
		double		vif = isnan(model.coef[k]) ? INFINITY : NAN;

		if (i < n && terms[i] == k)
		{
			vif = inflation_of(&block, i++);
			precise &= !isnan(vif);
		}
		put_vif(rsinfo, model.terms[k], vif);
	}
	if (!precise)
		gr_warn_imprecise(fcinfo, NULL, "variance inflation factors");
	return (Datum) 0;
}

/* Sums of a state's p features, with a response that is set to 0. */
typedef struct Features
{
	int			p;
	GrGram		gram;
	void	   *workspace;
	bool	   *aliased;		/* p + 1 flags, the intercept first */
	double	   *coef;			/* p + 1 coefficients */
} Features;

/* Returns a feature's sum of squares about its mean. */
static double
spread_of(const Features *f, int64 feature)
{
	GrDD		sum = gr_gram_entry(&f->gram, feature + 1, 0);
	GrDD		square = gr_gram_entry(&f->gram, feature + 1, feature + 1);

	return gr_dd_to_double(gr_dd_sub(square, gr_dd_div(gr_dd_mul(sum, sum), gr_gram_entry(&f->gram, 0, 0))));
}

static void
open_features(Features *f, GrState *stats)
{
	GrGram		all = gr_state_gram(stats);
	GrOlsFit	fit = {.intercept = true};
	GrError		err = {0};

	f->p = stats->nfeatures;
	f->gram = gr_gram_duplicate(&all);
	for (int64 k = 0; k <= f->p + 1; k++)
		gr_gram_set(&f->gram, f->p + 1, k, gr_dd(0.0));
	f->gram.shift[f->p] = 0;
	f->workspace = palloc_extended(gr_normal_workspace_nbytes(f->p), MCXT_ALLOC_HUGE);
	f->aliased = palloc0((f->p + 1) * sizeof(bool));
	f->coef = fit.coef = palloc((f->p + 1) * sizeof(double));
	/* finds the terms that every fit leaves out, whatever the response */
	if (!gr_ols_solve(&f->gram, f->workspace, &fit, &gr_host, &err))
		gr_raise_columns(&err, f->p, NULL);
	for (int k = 0; k <= f->p; k++)
		f->aliased[k] = isnan(f->coef[k]);
}

/*
 * Marks the features that determine an aliased feature as collinear. The aliased feature is regressed on the others: it
 * takes the response's row in f->gram, which is overwritten.
 */
static void
mark_partners(Features *f, int aliased, double *vif)
{
	GrNormalFit fit = {.nterms = f->p + 1,.coef = f->coef,.rows = GR_ROWS_ENTRIES};
	GrError		err = {0};
	double		least = COLLINEAR_SHARE * sqrt(spread_of(f, aliased));

	vif[aliased] = INFINITY;
	/* the feature is constant */
	if (!(least > 0))
		return;
	for (int64 k = 0; k <= f->p; k++)
		gr_gram_set(&f->gram, f->p + 1, k, k <= aliased + 1 ? gr_gram_entry(&f->gram, aliased + 1, k) :
					gr_gram_entry(&f->gram, k, aliased + 1));
	fit.aliased = palloc((f->p + 1) * sizeof(bool));
	memcpy(fit.aliased, f->aliased, (f->p + 1) * sizeof(bool));
	if (!gr_normal_solve(gr_gram_triangle(&f->gram), f->workspace, &fit, &gr_host, &err))
		gr_raise_columns(&err, f->p, NULL);
	for (int k = 0; k < f->p; k++)
		if (!f->aliased[k + 1] && fabs(f->coef[k + 1]) * sqrt(spread_of(f, k)) > least)
			vif[k] = INFINITY;
	pfree(fit.aliased);
}

/*
 * gpu_vif(stats gpu_ols_stats): a feature's sum of squares over its residual sum of squares, given the other features
 */
Datum
gr_vif_stats(PG_FUNCTION_ARGS)
{
	double		began = gr_now();
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	GrState    *stats = gr_state_settled(PG_GETARG_DATUM(0), GR_STATS, NULL);
	GrNormalFit fit = {0};
	GrError		err = {0};
	Features	f;
	double	   *vif;
	const char **names = gr_state_column_names(stats);

	InitMaterializedSRF(fcinfo, 0);
	if (stats->nrows == 0)
		return (Datum) 0;
	open_features(&f, stats);
	fit.nterms = f.p + 1;
	fit.rows = GR_ROWS_ENTRIES;
	fit.coef = f.coef;
	fit.aliased = palloc((f.p + 1) * sizeof(bool));
	memcpy(fit.aliased, f.aliased, (f.p + 1) * sizeof(bool));
	fit.inverse = palloc_extended((Size) (f.p + 1) * (f.p + 1) * sizeof(double), MCXT_ALLOC_HUGE);
	if (!gr_normal_solve(gr_gram_triangle(&f.gram), f.workspace, &fit, &gr_host, &err))
		gr_raise_columns(&err, f.p, (const char *const *) names);
	vif = palloc(f.p * sizeof(double));
	for (int k = 0; k < f.p; k++)
		vif[k] = f.aliased[k + 1] ? INFINITY :
			fit.inverse[(Size) (k + 1) * (f.p + 1) + k + 1] * spread_of(&f, k);
	for (int k = 0; k < f.p; k++)
		if (f.aliased[k + 1])
			mark_partners(&f, k, vif);
	for (int k = 0; k < f.p; k++)
		put_vif(rsinfo, names != NULL ? names[k] : psprintf("x%d", k + 1), vif[k]);
	gr_record_state(fcinfo, stats->nrows, f.p, began);
	return (Datum) 0;
}
