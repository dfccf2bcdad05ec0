/*
 * mixed_fit.c: fits a linear mixed model to sums of groups; see mixed_fit.h.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"

#include "compute/linalg/normal.h"
#include "compute/mixed/lmm.h"
#include "compute/mixed/lmm_record.h"
#include "rows/columns/levels.h"
#include "run/args.h"
#include "run/grams.h"
#include "run/raise.h"
#include "run/request.h"
#include "sql/mixed/components.h"
#include "sql/mixed/mixed_fit.h"

/* A column whose mean is more than this many spreads from 0 is shifted to about its mean. */
#define FAR_SPREADS 4.0

/* A column of a term's Lambda that is at most this, in units of the residuals' deviation, is 0. */
#define ZERO_EFFECT 1e-6

/* Members of a fit */
typedef struct Fit
{
	const GrMixedInput *input;
	GrModel    *model;
	GrGram		all;			/* sums of all rows about the shift */
	int		   *terms;			/* fixed terms with coefficients: their numbers among the model's */
	int		   *entries;		/* rows of the triangle of the fixed terms, then of the response */
	double	   *scale;
	GrLmmModel	spec;
	GrComponents map;
	GrLmmCells	cells;
	GrLmmFit	lmm;
	GrLmmResult result;
	GrPoll		poll;
} Fit;

GrLmmFormula *
gr_mixed_formula(const char *text, bool whole)
{
	GrLmmFormula *formula = palloc(sizeof(GrLmmFormula));
	GrLmmFormulaError err = {0};
	GrString	string = {text, (int) strlen(text)};

	if (string.nbytes > GR_FORMULA_NBYTES_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("the formula is too long"),
				 errdetail("It has %d bytes, of at most %d.", string.nbytes, GR_FORMULA_NBYTES_MAX)));
	if (whole ? gr_lmm_formula_split(string, gr_context_memory(CurrentMemoryContext), formula, &err) :
		gr_lmm_formula_read(string, gr_context_memory(CurrentMemoryContext), formula, &err))
		return formula;
	if (err.message == NULL)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	ereport(ERROR,
			(errcode(ERRCODE_SYNTAX_ERROR),
			 errmsg("the random terms cannot be read: %s", err.message),
			 errdetail("This is at character %d of \"%s\".", pg_mbstrlen_with_len(text, (int) err.at) + 1,
					   text),
			 whole ? errhint("Write random terms as in 'y ~ x + (1 + x | school)'.") :
			 errhint("Write random terms as in '1 + x', or '(1 + x | school)' if levels are passed.")));
}

bool
gr_mixed_is_reml(const char *method)
{
	if (pg_strcasecmp(method, "reml") == 0)
		return true;
	if (pg_strcasecmp(method, "ml") == 0)
		return false;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown method \"%s\"", method),
			 errhint("Use 'reml' or 'ml'.")));
}

/* Returns the position of the feature called name. ERROR if there is none. */
static int
find_feature(const GrMixedInput *input, GrString name)
{
	for (int k = 0; k <= input->all->nfeatures; k++)
		if (strcmp(input->names[k], name.bytes) == 0 && k != input->response)
			return k;
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
			 errmsg("there is no column \"%s\", whose effects vary by a random term", name.bytes),
			 errhint("%s", input->columns_hint)));
}

/* Solves for the fixed terms alone, which finds terms that are aliased. Fills model. */
static void
solve_fixed(Fit *fit)
{
	const GrMixedInput *input = fit->input;
	int			n = input->nfixed;
	GrGram		chosen = gr_gram_make(n);
	int		   *columns = palloc((n + 1) * sizeof(int));
	const char **names = palloc((n + 1) * sizeof(char *));

	for (int k = 0; k < n; k++)
		columns[k] = input->fixed[k];
	columns[n] = input->response;
	for (int k = 0; k <= n; k++)
		names[k] = input->names[columns[k]];
	if (!gr_gram_subset(input->all, columns, &chosen))
		elog(ERROR, "a column is none of the state's");
	chosen.nobs = input->all->nobs;
	chosen.nsummed = input->all->nsummed;
	chosen.log_constant = input->all->log_constant;
	gr_model_solve(fit->model, &chosen, input->intercept, names, true, NULL);
	pfree(chosen.hi);
}

/* Copies the sums of all rows about the shift of the fit. */
static void
choose_shift(Fit *fit)
{
	const GrGram *from = fit->input->all;
	double	   *shift = palloc0((from->nfeatures + 1) * sizeof(double));

	for (int j = 0; j <= from->nfeatures && fit->input->intercept; j++)
		shift[j] = gr_gram_better_shift(from, j + 1, FAR_SPREADS);
	fit->all = gr_gram_make(from->nfeatures);
	if (!gr_gram_copy_about(&fit->all, from, shift, &fit->poll))
		gr_gram_raise_canceled();
	pfree(shift);
}

/* Returns the power of two that brings the mean square of a column, plus origin, into [1, 4). */
static double
scale_of(const Fit *fit, int entry, double origin)
{
	const GrGram *all = &fit->all;
	double		n = all->hi[0];
	double		square = all->hi[gr_packed(entry, entry)] / n + 2 * origin * all->hi[gr_packed(entry, 0)] / n +
		origin * origin;

	return square > 0 && isfinite(square) ? gr_ldl_scale_for(square) : 1;
}

/* Sets the fixed terms that have coefficients. */
static void
take_fixed(Fit *fit)
{
	const GrModel *model = fit->model;
	int			n = 0;

	fit->terms = palloc(model->nterms * sizeof(int));
	fit->entries = palloc((model->nterms + 1) * sizeof(int));
	fit->scale = palloc((model->nterms + 1) * sizeof(double));
	for (int k = 0; k < model->nterms; k++)
	{
		int			feature = k - (model->intercept ? 1 : 0);

		if (isnan(model->coef[k]))
			continue;
		fit->terms[n] = k;
		fit->entries[n++] = feature < 0 ? 0 : fit->input->fixed[feature] + 1;
	}
	fit->entries[n] = fit->input->response + 1;
	for (int k = 0; k <= n; k++)
		fit->scale[k] = scale_of(fit, fit->entries[k], 0);
	fit->spec.nfixed = n;
	fit->spec.entries = fit->entries;
	fit->spec.scale = fit->scale;
	if (n > GR_LMM_FIXED_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a mixed model can have at most %d fixed terms", GR_LMM_FIXED_MAX)));
}

/* Sets the columns of a random term. */
static void
take_random(Fit *fit, const GrLmmFormulaTerm *from, GrLmmTerm *term)
{
	int			n = 0;

	if (from->intercept)
	{
		term->entries[0] = 0;
		term->origin[0] = 0;
		term->scale[n++] = 1;
	}
	for (int k = 0; k < from->ncolumns; k++, n++)
	{
		int			entry = find_feature(fit->input, from->columns[k]) + 1;

		term->entries[n] = entry;
		/* a term without the ones needs its columns about 0 */
		term->origin[n] = from->intercept ? 0 : gr_gram_shift_of(&fit->all, entry);
		term->scale[n] = scale_of(fit, entry, term->origin[n]);
	}
	term->ncolumns = n;
}

const char *
gr_mixed_group_name(const GrLmmFormulaTerm *term)
{
	StringInfoData name;

	if (term->nfactors == 0)
		return GR_LMM_STATES;
	initStringInfo(&name);
	for (int k = 0; k < term->nfactors; k++)
		appendStringInfo(&name, "%s%s", k == 0 ? "" : ":", term->factors[k].bytes);
	return name.data;
}

static int64
nlevels_of(const GrMixedInput *input, int term)
{
	return input->levels[term] == NULL ? input->ncells : input->nlevels[term];
}

/* Returns NULL, or else why a random term cannot be fitted to its groups. */
static const char *
check_groups(const Fit *fit, const char **hint)
{
	for (int k = 0; k < fit->spec.nterms; k++)
	{
		const char *group = gr_mixed_group_name(&fit->input->formula->terms[k]);
		int			nparameters = (int) gr_triangle(fit->spec.terms[k].ncolumns);
		int64		ngroups = nlevels_of(fit->input, k);

		*hint = "Fit a linear model, or pass one state per group.";
		if (ngroups < 2)
			return psprintf("There is only one group by \"%s\".", group);
		*hint = "Leave columns out of the random term, or write it with two bars: ( ... || group).";
		if (ngroups < nparameters)
			return psprintf("The random term by \"%s\" has %d parameters, but there are only " INT64_FORMAT
							" groups.", group, nparameters, ngroups);
	}
	return NULL;
}

/* Translates a record, which is changed, to the fit's shift. */
static GrGram
open_record(Fit *fit, double *record)
{
	GrGram		gram = gr_gram_at(record, fit->all.nfeatures);

	if (!gr_gram_translate(&gram, fit->all.shift, &fit->poll))
		gr_gram_raise_canceled();
	return gram;
}

/* Ends the present component: factorises it into memory of its own. */
static void
end_component(Fit *fit, const int *term, GrLmmComponent *component)
{
	double	   *numbers = palloc_extended((gr_lmm_component_size(&fit->cells) + 1) * sizeof(double), MCXT_ALLOC_HUGE);

	if (!gr_lmm_cells_end(&fit->cells, term, numbers, component, &fit->poll))
		gr_gram_raise_canceled();
}

/* Makes the components of a single random term whose levels are the cells. */
static void
make_groups(Fit *fit, GrLmmComponent *components)
{
	const GrMixedInput *input = fit->input;
	static const int term = 0;
	Size		size = gr_gram_ndoubles(fit->all.nfeatures);
	double	   *copy = palloc_extended(size * sizeof(double), MCXT_ALLOC_HUGE);
	const double *records;
	int64		n;
	int64		done = 0;

	while ((records = input->next(input->arg, &n)) != NULL)
		for (int64 k = 0; k < n; k++)
		{
			GrGram		gram;

			memcpy(copy, records + k * size, size * sizeof(double));
			gram = open_record(fit, copy);
			gr_lmm_cells_begin(&fit->cells, &term, 1);
			gr_lmm_cells_add(&fit->cells, &gram, &term);
			end_component(fit, &term, &components[done++]);
		}
	pfree(copy);
}

/* Makes the components of several random terms, or of cells that share levels. */
static void
make_components(Fit *fit, GrLmmComponent *components)
{
	const GrComponents *map = &fit->map;
	const GrMixedInput *input = fit->input;
	Size		size = gr_gram_ndoubles(fit->all.nfeatures);
	double	   *all = palloc_extended(input->ncells * size * sizeof(double), MCXT_ALLOC_HUGE);
	const double *records;
	int64		n;
	int64		done = 0;

	for (; (records = input->next(input->arg, &n)) != NULL; done += n)
		memcpy(all + done * size, records, n * size * sizeof(double));
	for (int64 c = 0; c < map->ncomponents; c++)
	{
		const int  *term = map->term + map->first_block[c];

		gr_lmm_cells_begin(&fit->cells, term, map->first_block[c + 1] - map->first_block[c]);
		for (int64 k = map->first_cell[c]; k < map->first_cell[c + 1]; k++)
		{
			GrGram		gram = open_record(fit, all + map->cells[k] * size);

			gr_lmm_cells_add(&fit->cells, &gram, map->blocks + map->cells[k] * fit->spec.nterms);
		}
		end_component(fit, term, &components[c]);
	}
	pfree(all);
}

/* Makes all components. Returns their number. */
static int64
read_cells(Fit *fit, GrLmmComponent **components)
{
	const GrMixedInput *input = fit->input;
	bool		single = fit->spec.nterms == 1 && input->levels[0] == NULL;
	GrComponents *map = &fit->map;
	GrArena		arena = {.base = NULL};
	int			most_effects = fit->spec.terms[0].ncolumns;

	*map = (GrComponents) {.ncomponents = input->ncells,.most_blocks = 1};
	if (!single)
	{
		gr_find_components(fit->spec.nterms, input->levels, input->nlevels, input->ncells, map);
		most_effects = gr_components_most_effects(map, &fit->spec);
	}
	if (most_effects > GR_LMM_EFFECTS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("the random terms link %d effects, of at most %d", most_effects, GR_LMM_EFFECTS_MAX),
				 errdetail("Effects of crossed grouping factors are solved together."),
				 errhint("Take a grouping factor with fewer levels as a fixed factor, or leave it out.")));
	*components = palloc_extended(map->ncomponents * sizeof(GrLmmComponent), MCXT_ALLOC_HUGE);
	gr_lmm_cells_carve(&fit->cells, &fit->spec, map->most_blocks, most_effects, &arena);
	arena = (GrArena) {.base = palloc_extended(arena.used + 1, MCXT_ALLOC_HUGE)};
	gr_lmm_cells_carve(&fit->cells, &fit->spec, map->most_blocks, most_effects, &arena);
	if (single)
		make_groups(fit, *components);
	else
		make_components(fit, *components);
	return map->ncomponents;
}

/* Carves what the fit needs, in one block. */
static void
carve_fit(Fit *fit)
{
	GrArena		arena = {.base = NULL};

	gr_lmm_fit_carve(&fit->lmm, &arena);
	gr_lmm_result_carve(&fit->result, &fit->spec, &arena);
	arena = (GrArena) {.base = palloc_extended(arena.used + 1, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO)};
	gr_lmm_fit_carve(&fit->lmm, &arena);
	gr_lmm_result_carve(&fit->result, &fit->spec, &arena);
}

/* Sets columns of Lambda that are 0 up to rounding to 0. Returns true if there are some. */
static bool
clear_zero_effects(Fit *fit)
{
	bool		found = false;
	int64		first = 0;

	for (int k = 0; k < fit->spec.nterms; k++)
	{
		int			q = fit->spec.terms[k].ncolumns;

		for (int j = 0; j < q; j++)
		{
			double		largest = 0;

			for (int i = j; i < q; i++)
				largest = fmax(largest, fabs(fit->lmm.lambda[first + gr_packed(i, j)]));
			if (largest > ZERO_EFFECT)
				continue;
			found = true;
			for (int i = j; i < q; i++)
				fit->lmm.lambda[first + gr_packed(i, j)] = 0;
		}
		first += gr_triangle(q);
	}
	return found;
}

/* Minimises the criterion from Lambda = 1. */
static void
minimise(Fit *fit)
{
	int64		first = 0;

	for (int k = 0; k < fit->spec.nterms; k++)
	{
		int			q = fit->spec.terms[k].ncolumns;

		for (int i = 0; i < q; i++)
			fit->lmm.lambda[first + gr_packed(i, i)] = 1;
		first += gr_triangle(q);
	}
	if (!gr_lmm_minimise(&fit->lmm, &fit->poll) ||
		(clear_zero_effects(fit) && !gr_lmm_settle(&fit->lmm, &fit->poll)))
		gr_gram_raise_canceled();
}

/* Fills the model's record of its random terms. */
static void
fill_record(const Fit *fit, GrLmmRecord *record)
{
	const GrMixedInput *input = fit->input;
	int64		first = 0;

	*record = (GrLmmRecord) {
		.reml = input->reml,.nterms = fit->spec.nterms,.variance = fit->result.variance,
		.fixed_variance = fit->result.fixed_variance,.random_variance = fit->result.random_variance
	};
	for (int k = 0; k < record->nterms; k++)
	{
		GrLmmRecordTerm *term = &record->terms[k];
		const GrLmmFormulaTerm *from = &input->formula->terms[k];
		int			n = 0;

		term->group.bytes = gr_mixed_group_name(from);
		term->group.nbytes = (int) strlen(term->group.bytes);
		term->ngroups = nlevels_of(input, k);
		term->ncolumns = fit->spec.terms[k].ncolumns;
		if (from->intercept)
			term->columns[n++] = (GrString) {GR_INTERCEPT, (int) strlen(GR_INTERCEPT)};
		for (int j = 0; j < from->ncolumns; j++)
			term->columns[n++] = from->columns[j];
		memcpy(term->covariance, fit->result.covariance + first, gr_triangle(term->ncolumns) * sizeof(double));
		first += gr_triangle(term->ncolumns);
	}
}

/* Warns of random terms whose covariance matrices have not full rank. */
static void
warn_of_singular(const GrLmmRecord *record)
{
	for (int k = 0; k < record->nterms; k++)
	{
		const GrLmmRecordTerm *term = &record->terms[k];
		int			rank = gr_lmm_record_rank(term);

		if (rank == term->ncolumns)
			continue;
		ereport(WARNING,
				(errmsg("the fit is singular: the effects by \"%.*s\" have a covariance matrix of rank %d, not %d",
						term->group.nbytes, term->group.bytes, rank, term->ncolumns),
				 term->ncolumns == 1 ?
				 errdetail("The estimate of their variance is 0.") :
				 errdetail("A variance is estimated as 0, or a correlation as 1 or -1."),
				 errhint("Leave columns out of the random term. Estimates on the boundary are valid maxima.")));
	}
}

/* Fills the members of the model that the fixed terms alone do not determine. */
static void
fill_model(Fit *fit)
{
	GrModel    *model = fit->model;
	const GrLmmResult *result = &fit->result;
	GrLmmRecord record;
	GrWriter	writer = {0};
	int			p = fit->spec.nfixed;
	int64		n = model->nterms;
	double	   *df = palloc(Max(n, p) * sizeof(double));
	double	   *all_df = palloc(n * sizeof(double));

	gr_lmm_degrees(&fit->lmm, df);
	for (int64 k = 0; k < n; k++)
		all_df[k] = NAN;
	for (int64 k = 0; k < n * n; k++)
		model->vcov[k] = NAN;
	for (int64 i = 0; i < p; i++)
	{
		model->coef[fit->terms[i]] = result->coef[i];
		all_df[fit->terms[i]] = df[i];
		for (int64 j = 0; j < p; j++)
			model->vcov[fit->terms[i] * n + fit->terms[j]] = result->vcov[i * p + j];
	}
	fill_record(fit, &record);
	gr_lmm_record_write(&writer, &record);
	writer = (GrWriter) {.text = palloc(writer.nbytes),.size = writer.nbytes};
	gr_lmm_record_write(&writer, &record);
	model->extras.mixed = (GrString) {writer.text, (int) writer.nbytes};
	model->extras.df = all_df;
	model->extras.ndf = (int) n;
	model->mixed = true;
	model->reml = fit->input->reml;
	model->vcov_low = NULL;
	model->df_residual = model->nrows - p - gr_lmm_nparameters(&fit->spec) - 1;
	model->deviance = result->criterion;
	model->null_deviance = NAN;
	model->log_lik = -result->criterion / 2;
	model->dispersion = result->variance;
	model->df_inference = INFINITY;
	model->iterations = fit->lmm.iterations;
	model->converged = fit->lmm.converged;
	warn_of_singular(&record);
	if (!model->converged)
		ereport(WARNING,
				(errmsg("the fit did not converge in %d iterations", model->iterations),
				 errhint("Scale the columns, or leave columns out of the random terms.")));
}

/* Passes the effects of all levels to the receiver. */
static void
pass_effects(Fit *fit)
{
	const GrMixedInput *input = fit->input;
	double	   *effects = palloc(2 * GR_LMM_EFFECTS_MAX * sizeof(double));
	double	   *errors = effects + GR_LMM_EFFECTS_MAX;

	for (int64 c = 0; c < fit->map.ncomponents; c++)
	{
		int			at = 0;

		gr_lmm_effects(&fit->lmm.sums, &fit->lmm.sums.components[c], &fit->all, effects, errors);
		for (int k = fit->map.first_block[c]; k < fit->map.first_block[c + 1]; k++)
		{
			int			term = fit->map.term[k];

			input->take_effects(input->effects_arg, term, fit->map.level[k], effects + at, errors + at);
			at += fit->spec.terms[term].ncolumns;
		}
		CHECK_FOR_INTERRUPTS();
	}
	pfree(effects);
}

const char *
gr_mixed_fit(const GrMixedInput *input, GrModel *model, const char **hint)
{
	Fit			fit = {.input = input,.model = model,.poll = {.host = &gr_host}};
	GrLmmComponent *components;
	const char *problem;
	double	   *within;

	solve_fixed(&fit);
	choose_shift(&fit);
	take_fixed(&fit);
	fit.spec.nterms = input->formula->nterms;
	fit.spec.reml = input->reml;
	fit.spec.nobs = (double) model->nrows;
	for (int k = 0; k < fit.spec.nterms; k++)
		take_random(&fit, &input->formula->terms[k], &fit.spec.terms[k]);
	problem = check_groups(&fit, hint);
	if (problem != NULL)
		return problem;
	fit.lmm.sums.model = &fit.spec;
	fit.lmm.sums.ncomponents = read_cells(&fit, &components);
	fit.lmm.sums.components = components;
	within = palloc(gr_triangle(fit.spec.nfixed + 1) * sizeof(double));
	fit.lmm.sums.within = within;
	*hint = "Leave columns out of the random terms, or group by a factor with fewer levels.";
	if (!gr_lmm_within(&fit.cells, &fit.all, within))
		return "The effects fit the response exactly: the residual variance is 0, or cannot be told from the effects.";
	carve_fit(&fit);
	minimise(&fit);
	gr_lmm_result(&fit.lmm, &fit.all, &fit.result);
	*hint = "Scale the columns of the query.";
	if (!isfinite(fit.result.criterion))
		return "The criterion is out of range for float8.";
	fill_model(&fit);
	if (input->take_effects != NULL)
		pass_effects(&fit);
	return NULL;
}
