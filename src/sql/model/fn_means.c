/*
 * fn_means.c: gpu_contrast, a linear combination of a model's coefficients, and gpu_means, the means of a factor's
 * levels that a model predicts, and their differences, as R's emmeans has them.
 *
 * A mean is the average of the linear predictor over all combinations of the other factors' levels, each with the same
 * weight, where numbers have given values. It is a combination of the coefficients, too.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/numeric.h"
#include "utils/tuplestore.h"

#include "compute/base/dd.h"
#include "compute/dist/inference.h"
#include "compute/dist/studentized_range.h"
#include "rows/columns/design_values.h"
#include "run/args.h"
#include "run/result.h"
#include "sql/model/combination.h"
#include "sql/model/model.h"
#include "sql/model/predict_design.h"

PG_FUNCTION_INFO_V1(gr_contrast);
PG_FUNCTION_INFO_V1(gr_means);

/* Largest number of combinations of levels that a mean is averaged over, and of pairs */
#define COMBINATIONS_MAX 1000000
#define PAIRS_MAX 1000000

/* Value of columns without a given one: combinations that depend on it show, as functions are not 0 there */
#define UNKNOWN_VALUE 1.7320508

/* Arguments of gpu_means */
enum
{
	ARG_MODEL, ARG_FACTOR, ARG_PAIRWISE, ARG_ADJUST, ARG_AT, ARG_TYPE, ARG_CONF_LEVEL
};

/* Adjustments of p-values and limits for several comparisons */
typedef enum Adjust
{
	BY_TUKEY, BY_BONFERRONI, BY_HOLM, BY_NONE
} Adjust;

static const char *const adjusts[] = {"tukey", "bonferroni", "holm", "none"};

/* A combination of coefficients */
typedef struct Estimate
{
	const char *name;			/* first column of the row; NULL: rows have none */
	double		estimate;		/* NaN: a term without a coefficient takes part */
	double		error;			/* NaN: not known */
	double		df;
	double		p_value;
} Estimate;

/*
 * Estimates
 */

/* Returns conf_level. Raises an ERROR if it is NULL or out of range. */
static double
read_conf_level(FunctionCallInfo fcinfo, int argument)
{
	double		conf_level = PG_ARGISNULL(argument) ? NAN : PG_GETARG_FLOAT8(argument);

	if (PG_ARGISNULL(argument))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("conf_level must not be null")));
	if (!(conf_level > 0 && conf_level < 1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("conf_level must be between 0 and 1, got %g", conf_level),
				 errhint("0.95 gives 95%% confidence limits.")));
	return conf_level;
}

/* Raises an ERROR if a term of the combination has no finite estimate. */
static void
check_finite(const GrModel *model, const GrDD *x)
{
	for (int k = 0; k < model->nterms; k++)
		if (x[k].hi != 0 && model->separated != NULL && model->separated[k] != 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("term \"%s\" has no finite estimate", model->terms[k]),
					 errhint("Use gpu_anova to compare with a model without this term.")));
}

/* Returns the combination of coefficients with weights x, which is overwritten. *precise: false for too few digits. */
static Estimate
estimate_of(const GrModel *model, GrDD *x, bool *precise)
{
	GrCombination c = {
		.vcov = model->vcov,.nterms = model->nterms,.vcov_low = model->extras.vcov_low,.x = x
	};
	Estimate	e = {.error = NAN};
	bool	   *used = palloc_extended(model->nterms * sizeof(bool), MCXT_ALLOC_HUGE);
	GrDD		sum = {0, 0};
	bool		known = true;

	check_finite(model, x);
	for (int k = 0; k < model->nterms; k++)
	{
		used[k] = x[k].hi != 0;
		known &= !used[k] || !isnan(model->coef[k]);
		if (used[k])
			sum = gr_dd_add(sum, gr_dd_mul_d(x[k], model->coef[k]));
		gr_poll_loop(k);
	}
	e.estimate = gr_dd_to_double(sum);
	e.df = gr_least_df(model->extras.df, model->df_inference, used, model->nterms);
	pfree(used);
	if (known && !isfinite(e.estimate))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("a combination of coefficients is out of range for float8"),
				 errhint("Use smaller weights.")));
	if (isnan(e.estimate) || model->vcov == NULL || !gr_combination_error(&c))
		return e;
	*precise &= gr_combination_is_precise(&c, 0);
	if (gr_combination_is_precise(&c, 0))
		e.error = c.error;
	return e;
}

/* Reads a model. Raises an ERROR if it has no covariances. */
static void
read_model(FunctionCallInfo fcinfo, GrModel *model)
{
	gr_read_model(fcinfo, 0, model, GR_MODEL_ALL);
	if (model->vcov == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the model has no covariance matrix"),
				 errhint("Fit the model with solver => 'newton', without a learning_rate.")));
}

/* Adds a row to the result. quantile: of the limits; link: transformation of estimate and limits, or GR_IDENTITY */
static void
put_estimate(ReturnSetInfo *rsinfo, const Estimate *e, double quantile, GrLink link)
{
	double		limits[2] = {e->estimate - quantile * e->error, e->estimate + quantile * e->error};
	double		mean = gr_link_mean(link, e->estimate);
	Datum		values[8];
	bool		nulls[8] = {false};
	int			n = 0;

	for (int k = 0; k < 2; k++)
		limits[k] = gr_link_mean(link, limits[k]);
	if (e->name != NULL)
		values[n++] = CStringGetTextDatum(e->name);
	gr_set_float(&values[n], &nulls[n], isnan(e->estimate) ? NAN : mean);
	n++;
	gr_set_float(&values[n], &nulls[n], e->error * fabs(gr_mean_slope(link, e->estimate)));
	n++;
	gr_set_float(&values[n], &nulls[n], e->estimate / e->error);
	n++;
	gr_set_float(&values[n], &nulls[n], isnan(e->error) ? NAN : e->df);
	n++;
	gr_set_float(&values[n], &nulls[n], e->p_value);
	n++;
	gr_set_float(&values[n], &nulls[n], isnan(limits[0]) ? NAN : fmin(limits[0], limits[1]));
	n++;
	gr_set_float(&values[n], &nulls[n], isnan(limits[0]) ? NAN : fmax(limits[0], limits[1]));
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	CHECK_FOR_INTERRUPTS();
}

/*
 * JSON objects of numbers
 */

/* Calls take(name, number, arg) for each key of a JSON object. what: the argument's name, for messages */
static void
each_number(Jsonb *object, const char *what, void (*take) (const char *name, double number, void *arg), void *arg)
{
	JsonbIterator *iterator = JsonbIteratorInit(&object->root);
	JsonbValue	value;
	JsonbIteratorToken token = JsonbIteratorNext(&iterator, &value, false);
	char	   *name = NULL;

	if (token != WJB_BEGIN_OBJECT)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be a JSON object", what),
				 errhint("Write it as '{\"name\": 1}'.")));
	while ((token = JsonbIteratorNext(&iterator, &value, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
			name = pnstrdup(value.val.string.val, value.val.string.len);
		else if (token == WJB_VALUE)
		{
			double		number = value.type == jbvBool ? (value.val.boolean ? 1 : 0) : NAN;

			if (value.type == jbvNumeric)
				number = DatumGetFloat8(DirectFunctionCall1(numeric_float8, NumericGetDatum(value.val.numeric)));
			if (isnan(number))
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("%s of \"%s\" must be a number", what, name)));
			take(name, number, arg);
		}
	}
}

/*
 * gpu_contrast
 */

typedef struct Contrast
{
	const GrModel *model;
	GrDD	   *x;
} Contrast;

static void
take_weight(const char *name, double number, void *arg)
{
	Contrast   *contrast = arg;
	bool		found = false;

	for (int k = 0; k < contrast->model->nterms; k++)
		if (strcmp(contrast->model->terms[k], name) == 0)
		{
			contrast->x[k] = gr_dd(number);
			found = true;
		}
	if (!found)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("term \"%s\" is not in the model", name),
				 errhint("Names of terms are those that gpu_tidy shows.")));
}

/* gpu_contrast(model gpu_model, weights jsonb, conf_level float8): one row, or none if the model is NULL */
Datum
gr_contrast(PG_FUNCTION_ARGS)
{
	double		conf_level;
	GrModel		model;
	Contrast	contrast = {.model = &model};
	Estimate	e;
	bool		precise = true;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0))
		return (Datum) 0;
	if (PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("weights must not be null")));
	conf_level = read_conf_level(fcinfo, 2);
	read_model(fcinfo, &model);
	contrast.x = palloc_extended(model.nterms * sizeof(GrDD), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	each_number(PG_GETARG_JSONB_P(1), "weights", take_weight, &contrast);
	e = estimate_of(&model, contrast.x, &precise);
	if (!precise)
		gr_warn_imprecise(fcinfo, NULL, "standard errors of combinations");
	e.p_value = gr_t_two_sided(e.estimate / e.error, e.df);
	put_estimate((ReturnSetInfo *) fcinfo->resultinfo, &e,
				 e.df > 0 ? gr_t_upper_quantile((1 - conf_level) / 2, e.df) : NAN, GR_IDENTITY);
	return (Datum) 0;
}

/*
 * gpu_means
 */

typedef struct Means
{
	const GrModel *model;
	GrDesign   *design;
	int			factor;			/* number of the design's column */
	bool	   *given;			/* per column: it is a factor, or its value is given */
	double	   *values;			/* see gr_design_expand() */
	double	   *features;		/* features, then their low halves */
	GrDD	   *pairs;			/* features in double-double */
	GrDD	   *x;				/* per level, the weights of all terms */
} Means;

/* Returns the number of the design's column called name, or -1. */
static int
column_named(const GrDesign *design, const char *name)
{
	for (int k = 0; k < design->ncolumns; k++)
	{
		GrString	column = design->columns[k].name;

		if ((Size) column.nbytes == strlen(name) && memcmp(column.bytes, name, column.nbytes) == 0)
			return k;
	}
	return -1;
}

static void
take_value(const char *name, double number, void *arg)
{
	Means	   *means = arg;
	int			column = column_named(means->design, name);

	if (column < 0 || means->design->columns[column].is_factor)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the model was not fitted to a number \"%s\"", name),
				 errdetail("The argument at gives the values of columns of numbers.")));
	means->values[column] = number;
	means->given[column] = true;
}

/* Returns a level's number, for a factor that is a number in other terms. */
static double
number_of_level(GrString level)
{
	char	   *text = pnstrdup(level.bytes, level.nbytes);
	double		number = strcmp(text, "true") == 0 ? 1 : strcmp(text, "false") == 0 ? 0 : strtod(text, NULL);

	pfree(text);
	return number;
}

static void
set_level(Means *means, int column, int level)
{
	const GrDesignColumn *c = &means->design->columns[column];

	means->values[means->design->ncolumns + column] = level;
	if (c->is_number)
		means->values[column] = number_of_level(c->levels.level[level]);
}

/* Adds the features of the current values to the weights x, times share. */
static void
add_features(Means *means, GrDD *x, double share)
{
	GrDesign   *design = means->design;
	int			first = means->model->intercept ? 1 : 0;
	double	   *low = means->features + design->nfeatures;

	gr_check_design_values(design, means->values);
	gr_design_expand_pairs(design, means->values, means->features, low);
	gr_design_pairs(design, means->features, low, means->pairs);
	if (first > 0)
		x[0] = gr_dd(1);
	for (int k = 0; k < design->nfeatures; k++)
		x[first + k] = gr_dd_add(x[first + k], gr_dd_div(means->pairs[k], gr_dd(share)));
}

/* Goes to the next combination of the levels of all factors but one. Returns false after the last one. */
static bool
next_combination(Means *means)
{
	const GrDesign *design = means->design;

	for (int k = 0; k < design->ncolumns; k++)
	{
		int			level = (int) means->values[design->ncolumns + k];

		if (k == means->factor || !design->columns[k].is_factor)
			continue;
		if (level + 1 < design->columns[k].levels.n)
		{
			set_level(means, k, level + 1);
			return true;
		}
		set_level(means, k, 0);
	}
	return false;
}

/* Computes the weights of each level's mean. */
static void
average(Means *means)
{
	const GrDesign *design = means->design;
	double		n = 1;

	for (int k = 0; k < design->ncolumns; k++)
		if (design->columns[k].is_factor)
		{
			set_level(means, k, 0);
			n *= k == means->factor ? 1 : design->columns[k].levels.n;
		}
	if (n * design->columns[means->factor].levels.n > COMBINATIONS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("means would be averages of more than %d combinations of levels", COMBINATIONS_MAX)));
	for (int level = 0; level < design->columns[means->factor].levels.n; level++)
	{
		set_level(means, means->factor, level);
		do
		{
			add_features(means, means->x + (Size) level * means->model->nterms, n);
			CHECK_FOR_INTERRUPTS();
		} while (next_combination(means));
	}
}

static void
raise_not_given(const GrDesign *design, int column)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("the means depend on the value of \"%s\"", gr_design_column_name(design, column)),
			 errhint("Pass a value, such as its mean, as in at => '{\"%s\": 1.5}'.",
					 gr_design_column_name(design, column))));
}

static bool
has_column(const GrDesignPart *part, int column)
{
	return part->kind == GR_PART_EXPRESSION ? gr_expression_has(part->expression, column) : part->column == column;
}

/* Raises an ERROR if a combination depends on a column whose value is not known. */
static void
check_given(const Means *means, const GrDD *x)
{
	const GrDesign *design = means->design;
	int			k = means->model->intercept ? 1 : 0;

	for (int t = 0; t < design->nterms; t++)
	{
		const GrDesignTerm *term = &design->terms[t];
		bool		used = false;

		for (int i = 0; i < term->width; i++)
			used |= x[k++].hi != 0;
		for (int i = 0; i < term->nparts && used; i++)
			for (int column = 0; column < design->ncolumns; column++)
				if (!means->given[column] && has_column(&term->part[i], column))
					raise_not_given(design, column);
	}
}

/* Opens the model's design and finds the factor. */
static void
open_means(FunctionCallInfo fcinfo, Means *means, const GrModel *model)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(ARG_FACTOR));
	Size		n;

	means->model = model;
	means->factor = -1;
	if (model->design != NULL && model->design[0] != '\0')
	{
		means->design = gr_open_model_design(CurrentMemoryContext,
											 (GrString) {model->design, (int) strlen(model->design)});
		gr_check_design_size(means->design, model->nterms - (model->intercept ? 1 : 0));
		means->factor = column_named(means->design, name);
	}
	if (means->factor < 0 || !means->design->columns[means->factor].is_factor)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the model has no factor \"%s\"", name),
				 errhint("Factors are columns of texts or enums, and factor(column) in a formula: gpu_levels lists "
						 "them.")));
	n = means->design->ncolumns;
	means->given = palloc(n * sizeof(bool));
	means->values = palloc(GR_DESIGN_NVALUES(means->design) * sizeof(double));
	for (Size k = 0; k < n; k++)
	{
		means->given[k] = means->design->columns[k].is_factor;
		means->values[k] = UNKNOWN_VALUE;
		means->values[n + k] = 0;
	}
	n = means->design->nfeatures;
	means->features = palloc_extended((n + means->design->npaired + 1) * sizeof(double), MCXT_ALLOC_HUGE);
	means->pairs = palloc_extended((n + 1) * sizeof(GrDD), MCXT_ALLOC_HUGE);
	means->x = palloc_extended((Size) means->design->columns[means->factor].levels.n * model->nterms * sizeof(GrDD),
							   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	if (!PG_ARGISNULL(ARG_AT))
		each_number(PG_GETARG_JSONB_P(ARG_AT), "at", take_value, means);
}

static char *
level_name(const Means *means, int level)
{
	GrString	name = means->design->columns[means->factor].levels.level[level];

	return pnstrdup(name.bytes, name.nbytes);
}

/* Returns the quantile of an estimate's limits for n comparisons of k means. */
static double
quantile_of(double conf_level, double df, Adjust adjust, int k, double n)
{
	double		outside = 1 - conf_level;

	if (!(df > 0))
		return NAN;
	if (adjust == BY_TUKEY && k > 1)
		return gr_range_upper_quantile(outside, k, df) / M_SQRT2;
	/* Holm's procedure has no limits of its own */
	if (adjust == BY_BONFERRONI || adjust == BY_HOLM)
		outside /= n;
	return gr_t_upper_quantile(outside / 2, df);
}

static int
by_p_value(const void *a, const void *b)
{
	const Estimate *u = *(Estimate *const *) a;
	const Estimate *v = *(Estimate *const *) b;

	return (u->p_value > v->p_value) - (u->p_value < v->p_value);
}

/* Adjusts the p-values of n comparisons of k means. */
static void
adjust_p_values(Estimate *e, int n, Adjust adjust, int k)
{
	Estimate  **order = palloc(n * sizeof(Estimate *));
	int			ntests = 0;
	double		least = 0;

	for (int i = 0; i < n; i++)
		if (!isnan(e[i].p_value))
			order[ntests++] = &e[i];
	qsort(order, ntests, sizeof(Estimate *), by_p_value);
	for (int i = 0; i < ntests; i++)
	{
		Estimate   *at = order[i];

		CHECK_FOR_INTERRUPTS();
		if (adjust == BY_TUKEY)
			at->p_value = gr_range_upper(M_SQRT2 * fabs(at->estimate / at->error), k, at->df);
		else if (adjust != BY_NONE)
			at->p_value = fmin(1, at->p_value * (adjust == BY_HOLM ? ntests - i : ntests));
		/* p-values rise with Holm's steps */
		if (adjust == BY_HOLM)
			at->p_value = least = fmax(least, at->p_value);
	}
	pfree(order);
}

/* Returns the estimates of all differences of two levels' means, of which there are *n. */
static Estimate *
compare_pairs(Means *means, int nlevels, int *n, bool *precise)
{
	int			nterms = means->model->nterms;
	Estimate   *e;
	GrDD	   *x = palloc_extended(nterms * sizeof(GrDD), MCXT_ALLOC_HUGE);

	if ((int64) nlevels * (nlevels - 1) / 2 > PAIRS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("factor has too many levels for comparisons of all pairs"),
				 errdetail("There are %d levels.", nlevels)));
	e = palloc_extended((Size) nlevels * nlevels / 2 * sizeof(Estimate) + 1, MCXT_ALLOC_HUGE);
	*n = 0;
	for (int i = 0; i < nlevels; i++)
		for (int j = i + 1; j < nlevels; j++)
		{
			CHECK_FOR_INTERRUPTS();
			for (int k = 0; k < nterms; k++)
				x[k] = gr_dd_sub(means->x[(Size) i * nterms + k], means->x[(Size) j * nterms + k]);
			check_given(means, x);
			e[*n] = estimate_of(means->model, x, precise);
			e[*n].p_value = gr_t_two_sided(e[*n].estimate / e[*n].error, e[*n].df);
			e[(*n)++].name = psprintf("%s - %s", level_name(means, i), level_name(means, j));
		}
	return e;
}

/* Returns the estimates of all levels' means. */
static Estimate *
estimate_means(Means *means, int nlevels, bool *precise)
{
	Estimate   *e = palloc(nlevels * sizeof(Estimate));

	for (int i = 0; i < nlevels; i++)
	{
		GrDD	   *x = means->x + (Size) i * means->model->nterms;

		CHECK_FOR_INTERRUPTS();
		check_given(means, x);
		e[i] = estimate_of(means->model, x, precise);
		e[i].p_value = gr_t_two_sided(e[i].estimate / e[i].error, e[i].df);
		e[i].name = level_name(means, i);
	}
	return e;
}

/* Returns the adjustment that the argument names; tukey for pairs and none for means if it is NULL. */
static Adjust
read_adjust(FunctionCallInfo fcinfo, bool pairwise)
{
	char	   *name;

	if (PG_ARGISNULL(ARG_ADJUST))
		return pairwise ? BY_TUKEY : BY_NONE;
	name = text_to_cstring(PG_GETARG_TEXT_PP(ARG_ADJUST));
	for (int k = 0; k < lengthof(adjusts); k++)
		if (strcmp(name, adjusts[k]) == 0)
		{
			if (k == BY_TUKEY && !pairwise)
				break;
			return (Adjust) k;
		}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown adjust \"%s\"", name),
			 errhint("The adjustments are tukey (of pairs), bonferroni, holm and none.")));
}

/* Returns the link that results are transformed by. */
static GrLink
read_type(FunctionCallInfo fcinfo, const GrModel *model, bool pairwise)
{
	char	   *type = PG_ARGISNULL(ARG_TYPE) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(ARG_TYPE));

	if (type == NULL || (strcmp(type, "link") != 0 && strcmp(type, "response") != 0))
		ereport(ERROR,
				(errcode(type == NULL ? ERRCODE_NULL_VALUE_NOT_ALLOWED : ERRCODE_INVALID_PARAMETER_VALUE),
				 type == NULL ? errmsg("type must not be null") :
				 errmsg("type must be 'link' or 'response', got \"%s\"", type)));
	if (strcmp(type, "link") == 0)
		return GR_IDENTITY;
	if (pairwise)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("pairs are compared on the scale of the linear predictor"),
				 errhint("Leave type out.")));
	return model->distribution.link;
}

/*
 * gpu_means(model gpu_model, factor text, pairwise boolean, adjust text, at jsonb, type text, conf_level float8): a row
 * per level, or per pair of levels; no rows if the model is NULL
 */
Datum
gr_means(PG_FUNCTION_ARGS)
{
	GrModel		model;
	Means		means = {0};
	Adjust		adjust;
	GrLink		link;
	Estimate   *e;
	bool		pairwise = !PG_ARGISNULL(ARG_PAIRWISE) && PG_GETARG_BOOL(ARG_PAIRWISE);
	bool		precise = true;
	double		conf_level;
	double		df = NAN;
	double		quantile = NAN;
	int			nlevels;
	int			n;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(ARG_MODEL))
		return (Datum) 0;
	if (PG_ARGISNULL(ARG_FACTOR))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("factor must not be null")));
	conf_level = read_conf_level(fcinfo, ARG_CONF_LEVEL);
	read_model(fcinfo, &model);
	if (model.extras.absorbed != NULL && !pairwise)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("the model has absorbed effects, which means need"),
				 errhint("Compare levels with pairwise => true.")));
	adjust = read_adjust(fcinfo, pairwise);
	link = read_type(fcinfo, &model, pairwise);
	open_means(fcinfo, &means, &model);
	average(&means);
	n = nlevels = means.design->columns[means.factor].levels.n;
	e = pairwise ? compare_pairs(&means, nlevels, &n, &precise) : estimate_means(&means, nlevels, &precise);
	adjust_p_values(e, n, adjust, nlevels);
	if (!precise)
		gr_warn_imprecise(fcinfo, NULL, "standard errors of means");
	for (int i = 0; i < n; i++)
	{
		/* most have the same degrees of freedom, and Tukey's quantiles take long */
		if (e[i].df != df)
			quantile = quantile_of(conf_level, df = e[i].df, adjust, nlevels, n);
		put_estimate((ReturnSetInfo *) fcinfo->resultinfo, &e[i], quantile, link);
	}
	return (Datum) 0;
}
