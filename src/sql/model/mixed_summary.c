/*
 * mixed_summary.c: prints the random terms of a mixed model; see mixed_summary.h.
 */
#include "postgres.h"

#include <math.h>

#include "mb/pg_wchar.h"

#include "sql/model/mixed_summary.h"

#define DIGITS 4				/* significant digits of variances */
#define NAME_WIDTH 24			/* names are cut off at this width */

void
gr_read_mixed(const GrModel *model, GrLmmRecord *record)
{
	if (!model->mixed || model->extras.mixed.bytes == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the model has no random effects"),
				 errhint("Pass a model of gpu_lmm_agg or gpu_lmm_fit.")));
	if (!gr_lmm_record_read(model->extras.mixed, record))
		gr_bad_model("Its random terms cannot be read.");
}

/* Appends a name and spaces up to a width. */
static void
append_name(StringInfo out, GrString name, int width)
{
	int			shown = Min(name.nbytes, pg_mbcharcliplen(name.bytes, name.nbytes, NAME_WIDTH));

	appendBinaryStringInfo(out, name.bytes, shown);
	appendStringInfoSpaces(out, Max(width - pg_mbstrlen_with_len(name.bytes, shown), 0));
}

/* Returns the width of the longest name, at least least. */
static int
widest(int width, GrString name)
{
	return Max(width, Min(pg_mbstrlen_with_len(name.bytes, name.nbytes), NAME_WIDTH));
}

/* Appends a variance, its root, and the correlations of column i with the columns before it. term: NULL: none */
static void
append_numbers(StringInfo out, double variance, const GrLmmRecordTerm *term, int i)
{
	appendStringInfo(out, " %10.*g %10.*g", DIGITS, variance, DIGITS, sqrt(variance));
	for (int j = 0; j < i; j++)
	{
		double		product = term->covariance[gr_packed(i, i)] * term->covariance[gr_packed(j, j)];

		appendStringInfo(out, " %6s", product > 0 ?
						 psprintf("%.2f", term->covariance[gr_packed(i, j)] / sqrt(product)) : "NA");
	}
	appendStringInfoChar(out, '\n');
}

static void
append_components(StringInfo out, const GrLmmRecord *record)
{
	const GrString residual = {"residual", 8};
	const GrString none = {"", 0};
	int			group_width = 8;
	int			term_width = 4;

	for (int k = 0; k < record->nterms; k++)
	{
		group_width = widest(group_width, record->terms[k].group);
		for (int i = 0; i < record->terms[k].ncolumns; i++)
			term_width = widest(term_width, record->terms[k].columns[i]);
	}
	appendStringInfoString(out, "Random effects:\n");
	append_name(out, (GrString) {"group", 5}, group_width + 1);
	append_name(out, (GrString) {"term", 4}, term_width);
	appendStringInfo(out, " %10s %10s   corr\n", "variance", "std. dev.");
	for (int k = 0; k < record->nterms; k++)
		for (int i = 0; i < record->terms[k].ncolumns; i++)
		{
			append_name(out, i == 0 ? record->terms[k].group : none, group_width + 1);
			append_name(out, record->terms[k].columns[i], term_width);
			append_numbers(out, record->terms[k].covariance[gr_packed(i, i)], &record->terms[k], i);
		}
	append_name(out, residual, group_width + 1);
	append_name(out, none, term_width);
	append_numbers(out, record->variance, NULL, 0);
}

void
gr_append_mixed(StringInfo out, const GrModel *model, const GrModelSummary *s)
{
	GrLmmRecord record;

	gr_read_mixed(model, &record);
	append_components(out, &record);
	appendStringInfo(out, "Number of observations: " INT64_FORMAT ", groups: ", model->nrows);
	for (int k = 0; k < record.nterms; k++)
	{
		appendStringInfoString(out, k == 0 ? "" : "; ");
		append_name(out, record.terms[k].group, 0);
		appendStringInfo(out, ", " INT64_FORMAT, record.terms[k].ngroups);
	}
	if (model->nskipped > 0)
		appendStringInfo(out, "\n  (" INT64_FORMAT " observations deleted due to missingness)", model->nskipped);
	appendStringInfo(out, "\n%s: %.7g, AIC: %.7g, BIC: %.7g\n", record.reml ? "REML criterion" : "-2 log-likelihood",
					 model->deviance, s->aic, s->bic);
}
