/*
 * args.c: checks of arguments that SQL functions share; see args.h.
 */
#include "postgres.h"

#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "compute/base/compute.h"
#include "run/args.h"
#include "run/compat.h"

void
gr_raise_nfeatures(int64 p)
{
	if (p < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("x must have at least one feature"),
				 errhint("Exclude rows with an empty array.")));
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("too many features: " INT64_FORMAT, p),
			 errdetail("A model can have at most %d features.", GR_MAX_FEATURES),
			 errhint("Leave features out, or reduce their number with gpu_project().")));
}

void
gr_raise_no_terms(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("a model needs an intercept or a feature"),
			 errhint("Pass intercept => true, or add features to the query after its first column, the response.")));
}

void
gr_raise_count(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("bigint out of range")));
}

void
gr_raise_other_width(int expected, int p)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("all rows must have the same number of features"),
			 errdetail("A row has %d features, earlier rows have %d.", p, expected),
			 errhint("Exclude rows with another number of features.")));
}

void
gr_raise_other_dimensions(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
			 errmsg("cannot accumulate arrays of different dimensionality")));
}

void
gr_check_vector(ArrayType *array, const char *name)
{
	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("%s must be a one-dimensional array", name),
				 errdetail("%s has %d dimensions.", name, ARR_NDIM(array))));
}

void
gr_check_ndim(int ndim, const char *name)
{
	if (ndim > 2)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("%s must have one or two dimensions", name),
				 errdetail("%s has %d dimensions.", name, ndim),
				 errhint("Pass one number per row, or a two-dimensional array with one row per observation, as "
						 "array_agg(ARRAY[x1, x2]) returns.")));
}

void
gr_check_accumulated(ArrayType *x, bool first)
{
	int			ndim = ARR_NDIM(x);

	if (ndim == 1)
		return;
	if (!first)
		gr_raise_other_dimensions();
	if (ndim == 0)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("cannot accumulate empty arrays")));
	if (ndim == MAXDIM)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("number of array dimensions (%d) exceeds the maximum allowed (%d)", ndim + 1, MAXDIM)));
	gr_check_ndim(ndim + 1, "x");
}

bool
gr_argument_is_boolean(FmgrInfo *flinfo, int k)
{
	Oid			type = get_fn_expr_argtype(flinfo, k);

	/* an aggregate that a user makes of our functions may have arguments of domains */
	return type == BOOLOID || (OidIsValid(type) && type != FLOAT8OID && getBaseType(type) == BOOLOID);
}

void
gr_keep_is_boolean(FunctionCallInfo fcinfo, int k)
{
	static bool is_boolean[] = {false, true};

	fcinfo->flinfo->fn_extra = &is_boolean[gr_argument_is_boolean(fcinfo->flinfo, k) ? 1 : 0];
}

MemoryContext
gr_aggregate_context(FunctionCallInfo fcinfo)
{
	MemoryContext context;

	if (!AggCheckCallContext(fcinfo, &context))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("function %s called in non-aggregate context", gr_called_name(fcinfo))));
	return context;
}

const char *
gr_called_name(FunctionCallInfo fcinfo)
{
	const char *name = get_func_name(fcinfo->flinfo->fn_oid);

	return name == NULL ? "the function" : name;
}

bool
gr_is_second_word(FunctionCallInfo fcinfo, int argno, const char *name, const char *first, const char *second)
{
	const text *value;
	Size		nbytes;

	if (PG_ARGISNULL(argno))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", name),
				 errhint("Use '%s' or '%s'.", first, second)));
	value = PG_GETARG_TEXT_PP(argno);
	nbytes = VARSIZE_ANY_EXHDR(value);
	if (nbytes == strlen(first) && memcmp(VARDATA_ANY(value), first, nbytes) == 0)
		return false;
	if (nbytes == strlen(second) && memcmp(VARDATA_ANY(value), second, nbytes) == 0)
		return true;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s must be '%s' or '%s', got \"%s\"", name, first, second, text_to_cstring(value))));
}
