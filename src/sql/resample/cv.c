/*
 * cv.c: the parts that cross-validations of linear and logistic regression share; see cv.h.
 */
#include "postgres.h"

#include <math.h>

#include "run/args.h"
#include "sql/resample/cv.h"

void
gr_cv_open(FunctionCallInfo fcinfo, GrCv *cv, GrFamily family, GrRowsUse use)
{
	const GrRowsWanted wanted = {
		.from = cv->rows,.function = fcinfo->flinfo->fn_oid,.roles = &cv->roles,.family = family,.use = use
	};

	cv->data = gr_open_rows(&wanted);
	gr_check_terms(cv->data->ingest.nfeatures, cv->data->ingest.intercept);
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
