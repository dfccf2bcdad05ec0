/*
 * class_rows.c: opens the rows of a fit of classes, and raises its failures; see class_rows.h.
 */
#include "postgres.h"

#include "compute/classes/classes_pass.h"
#include "run/args.h"
#include "run/device.h"
#include "run/raise.h"
#include "sql/classes/class_rows.h"

/* Raises an ERROR unless the response is one that the fit can have. */
static void
check_response(const GrClassRows *c)
{
	int			t = gr_nterms(c->shape.nfeatures);
	int64		n = c->per_class ? (int64) (c->classes.n - 1) * t : (int64) c->classes.n - 1 + t;

	if (c->classes.column == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the response of %s must be a column", c->model),
				 errhint("Name the column before the ~ of the formula, and compute its classes in the query.")));
	if (c->classes.n < 2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("response \"%s\" has only one class, \"%s\"", c->classes.column, c->classes.labels[0]),
				 errhint("Pass rows of at least two classes.")));
	if (n > GR_MULTINOM_TERMS_MAX || (int64) (c->classes.n - 1) * t > GR_MULTINOM_TERMS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("%s of %d classes and %d terms is too large", c->model, c->classes.n, t),
				 errdetail("Terms times classes less one can be %d at most, and are " INT64_FORMAT ".",
						   GR_MULTINOM_TERMS_MAX, (int64) (c->classes.n - 1) * t),
				 errhint("Merge classes in the query, or leave columns out.")));
}

void
gr_open_class_rows(FunctionCallInfo fcinfo, const GrFitRows *rows, GrClassRows *c)
{
	const GrRowsWanted wanted = {
		.from = *rows,.function = fcinfo->flinfo->fn_oid,.roles = &c->roles,.family = GR_GAUSSIAN
	};

	c->roles.classes = &c->classes;
	/* rows have no keys, as the sums of clusters are grouped by PostgreSQL */
	c->roles.cluster_keys = false;
	c->data = gr_open_rows(&wanted);
	c->shape = c->data->source->shape;
	check_response(c);
}

void
gr_raise_classes(const GrClassRows *c, GrError *err)
{
	if (err->status == GR_ONE_CLASS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("response \"%s\" has only one class, \"%s\"", c->classes.column,
						c->classes.labels[(int) err->value]),
				 errdetail("Rows of other classes have a NULL in another column, or no weight."),
				 errhint("Pass rows of at least two classes.")));
	if (err->status == GR_INVALID)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("query returned other rows when it was run again"),
				 errdetail("A pass failed: %s.", err->detail),
				 errhint("Store the result of the query in a table, and use that.")));
	gr_note_device_error(err);
	gr_raise_row(err, c->shape, c->data->ingest.names);
}

const char **
gr_present_classes(const GrClassRows *c, const bool *present, int n)
{
	const char **labels = palloc(n * sizeof(char *));

	n = 0;
	for (int k = 0; k < c->classes.n; k++)
		if (present[k])
			labels[n++] = c->classes.labels[k];
	return labels;
}
