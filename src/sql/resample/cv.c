/*
 * cv.c: what the cross-validations of linear and logistic regression have in common; see cv.h.
 */
#include "postgres.h"

#include <math.h>

#include "run/clock.h"
#include "run/report.h"
#include "sql/resample/cv.h"

GrFoldRows *
gr_cv_rows(FunctionCallInfo fcinfo, GrCv *cv, GrRowRules rules, GrRowSource *source)
{
	GrIngest   *ingest = &cv->ingest;

	if (cv->rows.kept != NULL)
		gr_kept_read(&cv->rows, rules, &cv->roles, ingest, source);
	else
	{
		gr_ingest_prepare(cv->rows.query, fcinfo->flinfo->fn_oid, rules.family, &cv->roles, ingest);
		ingest->parted = true;
		gr_source_read(source, ingest);
		if (ingest->nrows == 0)
			gr_raise_no_rows(ingest->nskipped);
	}
	return gr_fold_rows(source->job, cv->roles.nfolds, ingest->names);
}

void
gr_cv_begin(GrCv *cv, int n)
{
	cv->n = n;
	cv->fold = palloc0(Max(n, 1) * sizeof(GrCvFold));
	for (int k = 0; k < n; k++)
		cv->fold[k].misclassified = NAN;
	cv->all.misclassified = NAN;
}

void
gr_cv_record(const GrCv *cv, const GrFoldRows *rows, GrRowSource *source, double read_done)
{
	GrRun	   *run = &gr_last_run;

	for (int k = 0; k < rows->n; k++)
		source->job->times.kernel_s += rows->part[k]->times.kernel_s;
	gr_record_run(cv->name, source->job, cv->started, read_done, gr_now());
	snprintf(run->reason + strlen(run->reason), sizeof(run->reason) - strlen(run->reason),
			 "; %d folds, %d passes over one each", rows->n, rows->npasses);
	if (rows->part[0]->spool.file != NULL)
		strlcat(run->reason, "; the rows went to a temporary file", sizeof(run->reason));
}
