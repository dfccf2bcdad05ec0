/*
 * fn_terms.c: gpu_with_terms, which gives a model's terms other names.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "run/args.h"
#include "sql/model/model.h"

PG_FUNCTION_INFO_V1(gr_with_terms);

static void
bad_terms(const char *message, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s", message),
			 detail == NULL ? 0 : errdetail("%s", detail)));
}

static int
compare_names(const void *a, const void *b, void *arg)
{
	return strcmp(*(const char *const *) a, *(const char *const *) b);
}

/* Raises an ERROR if two names are equal. */
static void
check_distinct(const char *const *names, int n)
{
	const char **sorted = palloc(n * sizeof(char *));

	memcpy(sorted, names, n * sizeof(char *));
	qsort_interruptible(sorted, n, sizeof(char *), compare_names, NULL);
	for (int k = 1; k < n; k++)
		if (strcmp(sorted[k - 1], sorted[k]) == 0)
			bad_terms(psprintf("term \"%s\" appears twice", sorted[k]), NULL);
	pfree(sorted);
}

/* Returns the names of all terms. array may leave out the intercept's name. */
static const char **
new_names(const GrModel *model, ArrayType *array)
{
	const char **names = palloc((model->nterms + 1) * sizeof(char *));
	int			nfeatures = model->nterms - (model->intercept ? 1 : 0);
	int			first = 0;
	Datum	   *items;
	bool	   *nulls;
	int			n;

	gr_check_vector(array, "terms");
	if (array_contains_nulls(array))
		bad_terms("terms must not contain NULL", NULL);
	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &items, &nulls, &n);
	if (n != model->nterms && n != nfeatures)
		bad_terms("wrong number of terms", psprintf("The model has %d%s, and %d names were given.", nfeatures,
													model->intercept ? " besides the intercept" : "", n));
	if (n < model->nterms)
		names[first++] = GR_INTERCEPT;
	for (int k = 0; k < n; k++)
	{
		names[first + k] = TextDatumGetCString(items[k]);
		gr_poll_loop(k);
	}
	/* the name marks the intercept: the first term of a model with an intercept, and no other, must have it */
	for (int k = 0; k < model->nterms; k++)
		if ((strcmp(names[k], GR_INTERCEPT) == 0) != (model->intercept && k == 0))
			bad_terms(psprintf("term %d must %sbe called \"%s\"", k + 1, model->intercept && k == 0 ? "" : "not ",
							   GR_INTERCEPT), NULL);
	check_distinct(names, model->nterms);
	return names;
}

/* gpu_with_terms(model gpu_model, terms text[]): the model with its terms renamed */
Datum
gr_with_terms(PG_FUNCTION_ARGS)
{
	GrModel		model;
	const char **names;
	Datum	   *items;
	Datum	   *separated;
	int			nseparated = 0;

	gr_read_model(fcinfo, 0, &model, GR_MODEL_ALL);
	if (model.design[0] != '\0')
		bad_terms("terms of a model with a formula or factors cannot be renamed",
				  "Predictions find the values of such a model by the names of its columns.");
	names = new_names(&model, PG_GETARG_ARRAYTYPE_P(1));
	items = palloc(model.nterms * sizeof(Datum));
	separated = palloc(model.nterms * sizeof(Datum));
	for (int k = 0; k < model.nterms; k++)
	{
		items[k] = CStringGetTextDatum(names[k]);
		if (model.separated != NULL && model.separated[k] != 0)
			separated[nseparated++] = items[k];
		gr_poll_loop(k);
	}
	return gr_model_rename(fcinfo, construct_array(items, model.nterms, TEXTOID, -1, false, TYPALIGN_INT),
						   construct_array(separated, nseparated, TEXTOID, -1, false, TYPALIGN_INT));
}
