/*
 * fn_drop.c: gpu_drop1 and gpu_step: a linear model without some of the terms of its formula, as R's drop1 and step.
 *
 * The residual sum of squares without a set of terms is that of the model plus the dispersion times the Wald statistic
 * of the set. So one fit is enough for all models whose terms are among its own.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "compute/dist/inference.h"
#include "run/args.h"
#include "run/result.h"
#include "sql/model/combination.h"
#include "sql/model/effects_of_design.h"
#include "sql/model/wald.h"

PG_FUNCTION_INFO_V1(gr_drop1);
PG_FUNCTION_INFO_V1(gr_step_model);

typedef struct Search
{
	GrModel		model;
	GrModelEffect *effects;
	int			n;				/* number of effects */
	bool	   *dropped;		/* n flags */
	int		   *terms;			/* room for the model's terms */
	bool		imprecise;		/* a statistic had too few digits */
} Search;

/* The model without the dropped effects */
typedef struct Reduced
{
	double		rss;			/* NaN: not known */
	int			ndropped;		/* coefficients that were dropped */
} Reduced;

/* Reads a model. Raises an ERROR unless sums of squares of smaller models follow from it. */
static void
open_search(FunctionCallInfo fcinfo, Search *s)
{
	const char *why = NULL;

	gr_read_model(fcinfo, 0, &s->model, GR_MODEL_ALL);
	if (!gr_is_linear(s->model.distribution))
		why = "The model is not linear: each smaller model needs a fit of its own.";
	else if (s->model.l2 > 0 || s->model.net || s->model.iv)
		why = "The model does not minimise the sum of squares.";
	else if (gr_model_is_robust(&s->model))
		why = "The model's covariances are robust.";
	else if (s->model.vcov == NULL || !(s->model.dispersion > 0))
		why = "The model has no covariances.";
	for (int k = 0; k < s->model.nterms && why == NULL; k++)
	{
		/* a term without a coefficient may take the place of one that is dropped */
		if (isnan(s->model.coef[k]))
			why = psprintf("The term \"%s\" is collinear with others.", s->model.terms[k]);
		gr_poll_loop(k);
	}
	if (why != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("terms cannot be dropped from this model"),
				 errdetail("%s", why),
				 errhint("Use a linear model with vcov => 'iid', or gpu_anova of two models.")));
	s->effects = gr_model_effects(&s->model, &s->n);
	s->dropped = palloc0((s->n + 1) * sizeof(bool));
	s->terms = palloc_extended((s->model.nterms + 1) * sizeof(int), MCXT_ALLOC_HUGE);
}

/* Returns the model without the dropped effects. */
static Reduced
drop_effects(Search *s)
{
	Reduced		r = {.rss = s->model.deviance};
	double		statistic;
	int			place;
	GrWaldOutcome outcome;

	CHECK_FOR_INTERRUPTS();
	for (int t = 0; t < s->n; t++)
		for (int k = s->effects[t].first; s->dropped[t] && k < s->effects[t].first + s->effects[t].n; k++)
			if (!isnan(s->model.coef[k]))
				s->terms[r.ndropped++] = k;
	if (r.ndropped == 0)
		return r;
	outcome = gr_wald_statistic(&s->model, s->terms, r.ndropped, &statistic, &place);
	s->imprecise |= outcome == GR_WALD_IMPRECISE || outcome == GR_WALD_SINGULAR;
	r.rss += s->model.dispersion * statistic;
	return r;
}

/* True if no remaining effect contains effect t, which may then be dropped. */
static bool
may_drop(const Search *s, int t)
{
	for (int other = 0; other < s->n; other++)
		if (!s->dropped[other] && gr_effect_contains(&s->effects[other], &s->effects[t]))
			return false;
	return !s->dropped[t];
}

/* True if effect t was dropped and may return: the model has all effects that it contains. */
static bool
may_add(const Search *s, int t)
{
	for (int other = 0; other < s->n; other++)
		if (s->dropped[other] && gr_effect_contains(&s->effects[t], &s->effects[other]))
			return false;
	return s->dropped[t];
}

/* Returns R's extractAIC: penalty is 2 for AIC, log n for BIC. */
static double
criterion_of(const Search *s, Reduced r, double penalty)
{
	double		n = (double) s->model.nrows;

	return n * log(r.rss / n) + penalty * (s->model.rank - r.ndropped);
}

/*
 * gpu_drop1
 */

static void
put_drop(ReturnSetInfo *rsinfo, const Search *s, const char *name, Reduced r)
{
	double		drop = r.rss - s->model.deviance;
	double		statistic = drop / r.ndropped / s->model.dispersion;
	Datum		values[7];
	bool		nulls[7] = {false};

	values[0] = CStringGetTextDatum(name);
	values[1] = Int32GetDatum(r.ndropped);
	gr_set_float(&values[2], &nulls[2], drop);
	gr_set_float(&values[3], &nulls[3], r.rss);
	gr_set_float(&values[4], &nulls[4], criterion_of(s, r, 2));
	gr_set_float(&values[5], &nulls[5], statistic);
	gr_set_float(&values[6], &nulls[6], r.ndropped == 0 ? NAN :
				 gr_f_upper(statistic, r.ndropped, (double) s->model.df_residual));
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* gpu_drop1(model gpu_model): a row for the model, and one per term that no other term contains */
Datum
gr_drop1(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Search		s = {.n = 0};

	open_search(fcinfo, &s);
	InitMaterializedSRF(fcinfo, 0);
	put_drop(rsinfo, &s, "<none>", drop_effects(&s));
	for (int t = 0; t < s.n; t++)
	{
		if (!may_drop(&s, t))
			continue;
		s.dropped[t] = true;
		put_drop(rsinfo, &s, s.effects[t].name, drop_effects(&s));
		s.dropped[t] = false;
	}
	if (s.imprecise)
		gr_warn_imprecise(fcinfo, NULL, "sums of squares");
	return (Datum) 0;
}

/*
 * gpu_step
 */

/* Returns the names of the terms that remain, or 1 if there are none. */
static char *
remaining_terms(const Search *s)
{
	StringInfoData names;

	initStringInfo(&names);
	for (int t = 0; t < s->n; t++)
		if (!s->dropped[t])
			appendStringInfo(&names, "%s%s", names.len > 0 ? " + " : "", s->effects[t].name);
	return names.len > 0 ? names.data : "1";
}

static void
put_step(ReturnSetInfo *rsinfo, const Search *s, int step, const char *change, double criterion)
{
	Reduced		r = drop_effects(unconstify(Search *, s));
	Datum		values[6];
	bool		nulls[6] = {false};

	values[0] = Int32GetDatum(step);
	values[1] = CStringGetTextDatum(change);
	values[2] = CStringGetTextDatum(remaining_terms(s));
	values[3] = Int64GetDatum(s->model.df_residual + r.ndropped);
	gr_set_float(&values[4], &nulls[4], r.rss);
	gr_set_float(&values[5], &nulls[5], criterion);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* Returns the effect whose change lowers *criterion most, and sets *criterion; or -1 if none lowers it. */
static int
best_change(Search *s, bool both, double penalty, double *criterion)
{
	int			best = -1;

	for (int t = 0; t < s->n; t++)
	{
		double		changed;

		if (!may_drop(s, t) && !(both && may_add(s, t)))
			continue;
		s->dropped[t] = !s->dropped[t];
		changed = criterion_of(s, drop_effects(s), penalty);
		s->dropped[t] = !s->dropped[t];
		/* a change must be more than rounding */
		if (changed < *criterion - 1e-7)
		{
			*criterion = changed;
			best = t;
		}
	}
	return best;
}

/* Returns whether a text argument is the second of two values. Raises an ERROR unless it is one of them. */
static bool
read_choice(FunctionCallInfo fcinfo, int argument, const char *what, const char *first, const char *second)
{
	char	   *value = text_to_cstring(PG_GETARG_TEXT_PP(argument));

	if (strcmp(value, first) != 0 && strcmp(value, second) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be '%s' or '%s', got \"%s\"", what, first, second, value)));
	return strcmp(value, second) == 0;
}

/* gpu_step(model gpu_model, criterion text, direction text): a row per step */
Datum
gr_step_model(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Search		s = {.n = 0};
	bool		by_bic = read_choice(fcinfo, 1, "criterion", "aic", "bic");
	bool		both = read_choice(fcinfo, 2, "direction", "backward", "both");
	double		penalty;
	double		criterion;
	int			changed;

	open_search(fcinfo, &s);
	InitMaterializedSRF(fcinfo, 0);
	penalty = by_bic ? log((double) s.model.nrows) : 2;
	criterion = criterion_of(&s, drop_effects(&s), penalty);
	put_step(rsinfo, &s, 0, "", criterion);
	/* the criterion falls with each step, so that no set of terms comes twice */
	for (int step = 1; (changed = best_change(&s, both, penalty, &criterion)) >= 0; step++)
	{
		s.dropped[changed] = !s.dropped[changed];
		put_step(rsinfo, &s, step, psprintf("%s %s", s.dropped[changed] ? "-" : "+", s.effects[changed].name),
				 criterion);
	}
	if (s.imprecise)
		gr_warn_imprecise(fcinfo, NULL, "sums of squares");
	return (Datum) 0;
}
