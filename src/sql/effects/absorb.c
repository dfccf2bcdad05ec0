/*
 * absorb.c: fits linear regressions with absorbed effects; see absorb.h.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "utils/memutils.h"

#include "compute/effects/effects.h"
#include "compute/effects/meat.h"
#include "compute/linalg/gram.h"
#include "compute/linear/variance.h"
#include "rows/query/query.h"
#include "rows/sums/effect_rows.h"
#include "run/clock.h"
#include "run/device.h"
#include "run/raise.h"
#include "run/report.h"
#include "sql/effects/absorb.h"
#include "sql/model/model.h"
#include "sql/model/vcov_warnings.h"

/* Rows whose products are summed at a time */
#define BLOCK 4096

static void
close_fit(void *arg)
{
	gr_effects_close(&((GrAbsorbFit *) arg)->effects);
}

void
gr_absorb_raise(const GrAbsorbFit *fit, const GrError *err)
{
	gr_raise_columns(err, fit->coded.shape.nfeatures, fit->ingest.names);
}

/* Raises an ERROR if there is nothing to estimate. */
static void
check_features(const GrAbsorbFit *fit)
{
	if (fit->coded.shape.nfeatures == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a fit with absorbed effects needs a feature"),
				 errdetail("The effects span the intercept."),
				 errhint("Add a feature to the formula or the query.")));
}

/* Numbers the levels of each absorbed column in the order of their values. */
static void
sort_levels(GrAbsorbFit *fit)
{
	GrEffectRows *rows = &fit->coded.rows;

	for (int f = 0; f < rows->nfactors; f++)
	{
		int32	   *order = gr_dictionary_order(&fit->coded.absorbed[f]);
		int32	   *rank = palloc_extended(((Size) rows->nlevels[f] + 1) * sizeof(int32), MCXT_ALLOC_HUGE);

		for (int32 l = 0; l < rows->nlevels[f]; l++)
			rank[order[l]] = l;
		for (int64 r = 0; r < rows->nrows; r++)
			rows->code[f][r] = rank[rows->code[f][r]];
		fit->level_code[f] = order;
		pfree(rank);
		CHECK_FOR_INTERRUPTS();
	}
}

/* Makes fit->level_code[f] the dictionary's codes of the levels that are left. old: their numbers before */
static void
keep_old_codes(GrAbsorbFit *fit, int f, const int32_t *old)
{
	for (int32 l = 0; fit->level_code[f] != NULL && l < fit->coded.rows.nlevels[f]; l++)
		fit->level_code[f][l] = fit->level_code[f][old[l]];
}

/* Raises an ERROR if a way of clusters has a single one. */
static void
check_clusters(const GrAbsorbFit *fit)
{
	const GrEffectRows *rows = &fit->coded.rows;

	for (int c = 0; c < rows->nclusters; c++)
		if (rows->cluster_nlevels[c] < 2)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("cluster-robust covariances need at least two clusters"),
					 errdetail("Column \"%s\" has the same value in every row used.", fit->roles.clusters[c]),
					 errhint("Name a column that has different values among these rows.")));
}

void
gr_absorb_prune(GrAbsorbFit *fit)
{
	GrEffectRows *rows = &fit->coded.rows;
	GrError		err = {0};
	int64_t		ndropped;

	if (!gr_effect_rows_prune(rows, &ndropped, &gr_host, &err))
		gr_absorb_raise(fit, &err);
	fit->nsingletons += ndropped;
	if (rows->nrows == 0)
		ereport(ERROR,
				(errcode(ERRCODE_NO_DATA_FOUND),
				 errmsg("no row is left: each is the only one of a level"),
				 errdetail("All " INT64_FORMAT " complete rows were dropped as singletons.", fit->nsingletons),
				 errhint("Absorb columns whose levels have several rows.")));
	for (int f = 0; f < rows->nfactors + rows->nclusters; f++)
	{
		bool		absorbed = f < rows->nfactors;
		int			c = f - rows->nfactors;
		int32_t    *old = gr_effect_compact(absorbed ? rows->code[f] : rows->cluster[c], rows->nrows,
											absorbed ? &rows->nlevels[f] : &rows->cluster_nlevels[c], &err);

		if (old == NULL)
			gr_absorb_raise(fit, &err);
		if (absorbed)
			keep_old_codes(fit, f, old);
		free(old);
	}
	check_clusters(fit);
	fit->nobs = 0;
	for (int64 r = 0; r < rows->nrows; r++)
	{
		double		w = rows->weights == NULL ? 1 : rows->weights[r];

		fit->nobs += rows->counts ? w : 1;
		fit->log_constant += rows->counts ? 0 : 0.5 * log(w);
	}
}

/* Returns the names of the absorbed columns, as in a formula. */
static char *
name_effects(const GrRoles *roles)
{
	StringInfoData names;

	initStringInfo(&names);
	for (int k = 0; k < roles->nabsorbed; k++)
		appendStringInfo(&names, "%s%s", k > 0 ? " + " : "", roles->absorbed[k]);
	return names.data;
}

void
gr_absorb_project(GrAbsorbFit *fit, bool keeps)
{
	GrEffectRows *rows = &fit->coded.rows;
	GrError		err = {0};

	fit->column = palloc(rows->ncols * sizeof(GrEffectColumn));
	if (!gr_effects_open(&fit->effects, rows, &gr_host, &err))
		gr_absorb_raise(fit, &err);
	if (fit->nobs <= fit->effects.df)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("absorbed effects leave no degrees of freedom"),
				 errdetail("%.0f rows have effects with " INT64_FORMAT " degrees of freedom: %s.", fit->nobs,
						   fit->effects.df, name_effects(&fit->roles)),
				 errhint("Absorb fewer columns, or columns with fewer levels.")));
	fit->effects.keeps = keeps;
	if (!gr_effects_project(&fit->effects, rows->values, fit->column, &gr_host, &err))
		gr_absorb_raise(fit, &err);
}

GrGram
gr_absorb_products(GrAbsorbFit *fit)
{
	const GrEffectRows *rows = &fit->coded.rows;
	GrRowShape	shape = gr_plain_shape(fit->coded.shape.nfeatures);
	GrGram		gram = gr_gram_at(palloc_extended(gr_gram_ndoubles(shape.nfeatures) * sizeof(double),
												  MCXT_ALLOC_HUGE),
								  shape.nfeatures);
	int			ncols;
	double	   *block;
	double	   *scratch;

	shape.weight = rows->weights != NULL;
	ncols = gr_row_ncols(shape);
	block = palloc_extended((Size) BLOCK * ncols * sizeof(double), MCXT_ALLOC_HUGE);
	scratch = palloc_extended(gr_gram_scratch_nbytes(shape), MCXT_ALLOC_HUGE);
	gr_gram_clear(&gram);
	for (int64 from = 0; from < rows->nrows; from += BLOCK)
	{
		int64		n = Min(BLOCK, rows->nrows - from);

		CHECK_FOR_INTERRUPTS();
		for (int64 r = 0; r < n; r++)
		{
			memcpy(block + r * ncols, rows->values + (from + r) * rows->stride, rows->ncols * sizeof(double));
			if (shape.weight)
				block[r * ncols + rows->ncols] = rows->weights[from + r];
		}
		gr_gram_add(&gram, block, n, shape, scratch);
	}
	gram.nobs = (int64) fit->nobs - fit->effects.df;
	gram.nsummed = Max(rows->nrows - fit->effects.df, 1);
	pfree(block);
	pfree(scratch);
	return gram;
}

/*
 * Returns the factor of robust covariances, as fixest's by default: n / (n - k), or (n - 1) / (n - k) G / (G - 1) with
 * clusters. Effects that are nested in clusters do not count in k, beyond one degree of freedom.
 */
static double
small_sample_factor(GrAbsorbFit *fit, const GrModel *model, int64 nclusters)
{
	const GrEffectRows *rows = &fit->coded.rows;
	double		k = model->rank + (double) fit->effects.df;
	int			nnested = 0;
	GrError		err = {0};

	if (fit->options->vcov == GR_VCOV_HC0 || fit->options->vcov == GR_VCOV_CR0)
		return 1;
	if (fit->options->vcov == GR_VCOV_HC1)
		return fit->nobs / (fit->nobs - k);
	for (int f = 0; f < rows->nfactors; f++)
	{
		bool		nested = false;

		for (int c = 0; c < rows->nclusters && !nested; c++)
			nested = gr_effect_is_nested(rows, f, c, &err);
		if (err.status != GR_OK)
			gr_absorb_raise(fit, &err);
		nnested += nested;
		k -= nested ? rows->nlevels[f] - 1 : 0;
	}
	if (nnested == rows->nfactors)
		k = model->rank + 1;
	k = Max(k, model->rank + 1);
	return (fit->nobs - 1) / (fit->nobs - k) * nclusters / (nclusters - 1.0);
}

void
gr_absorb_robust(GrAbsorbFit *fit, GrModel *model, const double *bread, double squares, bool perfect)
{
	const GrEffectRows *rows = &fit->coded.rows;
	int			k = model->nterms;
	Size		size = (Size) k * k * sizeof(double);
	bool		clustered = gr_vcov_is_clustered(fit->options->vcov);
	GrMeatWay	first = clustered ? GR_MEAT_FIRST : GR_MEAT_ROWS;
	GrMeatWay	last = !clustered ? GR_MEAT_ROWS : rows->nclusters > 1 ? GR_MEAT_BOTH : GR_MEAT_FIRST;
	double	   *meat = palloc_extended(size, MCXT_ALLOC_HUGE);
	double	   *work = palloc_extended(size, MCXT_ALLOC_HUGE);
	double	   *inverse = palloc(k * sizeof(double));
	GrVarianceKind *kinds = palloc(k * sizeof(GrVarianceKind));
	int64		least = PG_INT64_MAX;
	double		factor;
	GrError		err = {0};
	int64_t		nclusters;

	model->vcov_type = gr_vcov_name(fit->options->vcov);
	model->vcov_low = NULL;
	for (int c = 0; c < rows->nclusters; c++)
		least = Min(least, rows->cluster_nlevels[c]);
	if (clustered && gr_is_linear(model->distribution))
		model->df_inference = (double) least - 1;
	if (model->df_residual <= 0)
		return;
	factor = small_sample_factor(fit, model, least);
	for (GrMeatWay way = first; way <= last; way++)
	{
		if (!gr_effect_meat(rows, fit->residuals, way, meat, &nclusters, &gr_host, &err))
			gr_absorb_raise(fit, &err);
		gr_effect_sandwich(bread, meat, k, way == GR_MEAT_BOTH ? -factor : factor, way != first, model->vcov, work);
		CHECK_FOR_INTERRUPTS();
	}
	for (int i = 0; i < k; i++)
		inverse[i] = bread[(Size) i * k + i];
	if (gr_judge_variances(model->vcov, k, inverse, squares, rows->nclusters > 1, perfect, kinds) > 0)
		gr_warn_of_variances(model, kinds, perfect,
							 !clustered ? GR_VCOV_OF_ROWS :
							 rows->nclusters > 1 ? GR_VCOV_OF_TWO_WAYS : GR_VCOV_OF_CLUSTERS);
}

double *
gr_absorb_bread(const GrModel *model)
{
	Size		n = (Size) model->nterms * model->nterms;
	double	   *bread = palloc_extended(n * sizeof(double), MCXT_ALLOC_HUGE);

	for (Size i = 0; i < n; i++)
		bread[i] = model->dispersion > 0 ? model->vcov[i] / model->dispersion : model->vcov[i];
	return bread;
}

void
gr_absorb_describe(const GrAbsorbFit *fit, GrModel *model)
{
	const GrEffectRows *rows = &fit->coded.rows;
	GrAbsorbed *absorbed = palloc0(sizeof(GrAbsorbed));

	absorbed->names = name_effects(&fit->roles);
	absorbed->df = (double) fit->effects.df;
	absorbed->df_is_bound = fit->effects.df_is_bound;
	absorbed->within_tss = model->null_deviance;
	absorbed->nsingletons = (double) fit->nsingletons;
	absorbed->nseparated = (double) fit->nseparated;
	absorbed->nfactors = rows->nfactors;
	for (int f = 0; f < rows->nfactors; f++)
		absorbed->nlevels[f] = rows->nlevels[f];
	model->extras.absorbed = absorbed;
	model->nrows = (int64) fit->nobs;
	model->nskipped = fit->coded.nskipped;
	model->device = "cpu";
	model->design = fit->ingest.design;
	gr_extras_take_roles(&model->extras, &fit->roles);
}

/* Solves the sums, and sets what the model says about the effects. */
static void
solve(GrAbsorbFit *fit, GrModel *model)
{
	const GrEffectRows *rows = &fit->coded.rows;
	const GrEffectColumn *response = &fit->column[rows->ncols - 1];
	GrGram		gram = gr_absorb_products(fit);

	gr_model_solve(model, &gram, false, fit->ingest.names, true, NULL);
	gr_absorb_describe(fit, model);
	model->null_deviance = response->centered;
	model->log_lik = gr_gaussian_log_likelihood(model->deviance, fit->nobs, fit->log_constant);
	if (fit->options->vcov == GR_VCOV_IID)
		return;
	fit->residuals = palloc_extended(rows->nrows * sizeof(double), MCXT_ALLOC_HUGE);
	gr_effect_residuals(rows, model->coef, fit->residuals);
	gr_absorb_robust(fit, model, gr_absorb_bread(model), model->deviance, model->deviance == 0);
}

void
gr_absorb_record(const GrAbsorbFit *fit, const char *name)
{
	const GrEffects *effects = &fit->effects;
	GrPlace		place = {0};
	char		reason[200];

	if (effects->solver == GR_EFFECTS_DIAGONAL)
		snprintf(reason, sizeof(reason), "absorbed effects: group means, %d projections", effects->nprojections);
	else if (effects->solver == GR_EFFECTS_FACTORED)
		snprintf(reason, sizeof(reason), "absorbed effects: elimination of %d levels, %d projections", effects->q,
				 effects->nprojections);
	else
		snprintf(reason, sizeof(reason),
				 "absorbed effects: conjugate gradients over %d levels, %d projections, " INT64_FORMAT " iterations",
				 effects->q, effects->nprojections, effects->niterations);
	gr_place_on_cpu(&place, reason);
	gr_record_pass(&place, &(GrPassRecord) {
		.function = name,.nrows = fit->coded.rows.nrows,.nfeatures = fit->coded.shape.nfeatures,.started = fit->started,
		.read_done = fit->read_done,.solved = gr_now()
	});
}

void
gr_absorb_check(const GrGlmOptions *options)
{
	if (options->vcov == GR_VCOV_HC2 || options->vcov == GR_VCOV_HC3 || options->vcov == GR_VCOV_CR2)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("vcov %s cannot be used with absorbed effects", gr_vcov_name(options->vcov)),
				 errdetail("It needs leverages, which depend on every absorbed level."),
				 errhint("Use 'iid', 'HC0' or 'HC1', or with clusters 'CR0' or 'CR1'.")));
}

GrAbsorbFit *
gr_absorb_begin(FunctionCallInfo fcinfo, const GrFitRows *rows, const GrAbsorbOptions *options)
{
	GrAbsorbFit *fit = palloc0(sizeof(GrAbsorbFit));

	gr_absorb_check(options->fit);
	fit->started = gr_now();
	fit->roles = options->roles;
	fit->roles.cluster_keys = false;
	/* the rows of absorbed fits have no offset that a formula makes */
	fit->roles.takes_offset = false;
	fit->options = options->fit;
	fit->callback.func = close_fit;
	fit->callback.arg = fit;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &fit->callback);
	if (rows->kept != NULL)
		gr_read_coded_kept(rows, (GrRowRules) {options->fit->distribution.family, fit->roles.weighting, 0}, &fit->roles,
						   &fit->ingest, &fit->coded);
	else
	{
		gr_ingest_prepare(rows->query, fcinfo->flinfo->fn_oid, options->fit->distribution.family, &fit->roles, false,
						  &fit->ingest);
		gr_read_coded_rows(&fit->ingest, &fit->roles, &fit->coded);
		gr_ingest_check(&fit->ingest, fit->coded.nskipped);
	}
	check_features(fit);
	if (options->effects)
		sort_levels(fit);
	fit->read_done = gr_now();
	return fit;
}

GrAbsorbFit *
gr_absorb_run(FunctionCallInfo fcinfo, const char *name, const GrFitRows *rows, const GrAbsorbOptions *options,
			  GrModel *model)
{
	GrAbsorbFit *fit;
	ErrorContextCallback context;

	gr_enter_query(&context, rows->query);
	fit = gr_absorb_begin(fcinfo, rows, options);
	gr_absorb_prune(fit);
	gr_absorb_project(fit, options->effects);
	solve(fit, model);
	gr_leave_query(&context);
	gr_absorb_record(fit, name);
	return fit;
}

Datum
gr_absorb_fit(FunctionCallInfo fcinfo, const char *name, const GrFitRows *rows, const GrRoles *roles,
			  const GrGlmOptions *options)
{
	GrGlmOptions linear = *options;
	const GrAbsorbOptions own = {.roles = *roles,.fit = &linear};
	GrModel		model = {0};

	linear.distribution = (GrDistribution) {GR_GAUSSIAN, GR_IDENTITY};
	(void) gr_absorb_run(fcinfo, name, rows, &own, &model);
	return gr_model_datum(fcinfo, &model);
}
