/*
 * fn_effects.c: gpu_effects, the estimates of absorbed effects.
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "rows/columns/dictionary.h"
#include "run/raise.h"
#include "sql/effects/absorb.h"
#include "sql/model/fit_arguments.h"

PG_FUNCTION_INFO_V1(gr_effects);

#define NCOLUMNS 4

/* Counts the rows of each level of factor f, or their frequencies. */
static double *
count_rows(const GrEffectRows *rows, int f)
{
	double	   *n = palloc_extended((Size) rows->nlevels[f] * sizeof(double), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

	for (int64 r = 0; r < rows->nrows; r++)
		n[rows->code[f][r]] += rows->counts ? rows->weights[r] : 1;
	return n;
}

/* Puts a row per level of factor f. */
static void
put_levels(ReturnSetInfo *rsinfo, const GrAbsorbFit *fit, int f, const double *estimate)
{
	const GrEffectRows *rows = &fit->coded.rows;
	const double *n = count_rows(rows, f);

	for (int32 l = 0; l < rows->nlevels[f]; l++)
	{
		char	   *level = gr_dictionary_text(&fit->coded.absorbed[f], fit->level_code[f][l]);
		Datum		values[NCOLUMNS];
		bool		nulls[NCOLUMNS] = {false};

		CHECK_FOR_INTERRUPTS();
		values[0] = CStringGetTextDatum(fit->roles.absorbed[f]);
		values[1] = CStringGetTextDatum(level);
		values[2] = Float8GetDatum(estimate[l]);
		values[3] = Int64GetDatum((int64) n[l]);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
		pfree(DatumGetPointer(values[0]));
		pfree(DatumGetPointer(values[1]));
		pfree(level);
	}
}

/*
 * gpu_effects(query text, formula text, absorb text[], weights text, frequencies text): a row per level of each
 * absorbed column; no row if query is NULL
 */
Datum
gr_effects(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	GrGlmOptions options = gr_glm_defaults(0);
	GrAbsorbOptions own = {.fit = &options,.effects = true};
	GrFitRows	rows = {0};
	double	   *estimate[GR_EFFECTS_MAX];
	GrModel		model = {0};
	GrAbsorbFit *fit;
	GrError		err = {0};

	options.distribution = (GrDistribution) {GR_GAUSSIAN, GR_IDENTITY};
	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0))
		return (Datum) 0;
	rows.query = text_to_cstring(PG_GETARG_TEXT_PP(0));
	own.roles = gr_role_arguments(fcinfo, 3, 4, -1);
	gr_formula_argument(fcinfo, 1, true, &own.roles);
	gr_absorb_arguments(fcinfo, 2, &own.roles);
	if (own.roles.nabsorbed == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("no columns are absorbed"),
				 errhint("Name them in the formula, as in y ~ x | firm + year, or by absorb => '{firm,year}'.")));
	fit = gr_absorb_run(fcinfo, "gpu_effects", &rows, &own, &model);
	for (int f = 0; f < fit->coded.rows.nfactors; f++)
		estimate[f] = palloc_extended((Size) fit->coded.rows.nlevels[f] * sizeof(double), MCXT_ALLOC_HUGE);
	if (!gr_effects_estimate(&fit->effects, model.coef, estimate, &err))
		gr_raise(&err);
	for (int f = 0; f < fit->coded.rows.nfactors; f++)
		put_levels(rsinfo, fit, f, estimate[f]);
	return (Datum) 0;
}
