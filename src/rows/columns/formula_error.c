/*
 * formula_error.c: reports errors in a formula as errors of PostgreSQL.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "rows/columns/formula_error.h"

#define SHOWN_NBYTES 60

/* Returns the part of the formula that the error is about, cut off if it is long. */
static const char *
excerpt(const GrFormulaError *err, const char *text)
{
	int			n = (int) err->nbytes;
	int			shown = n <= SHOWN_NBYTES ? n : pg_mbcliplen(text + err->at, n, SHOWN_NBYTES);

	return psprintf("%.*s%s", shown, text + err->at, shown < n ? "..." : "");
}

/* Returns the whole character at the error. The compute layer knows only its first byte. */
static const char *
character(const GrFormulaError *err, const char *text)
{
	int			n = pg_mblen(text + err->at);

	return pnstrdup(text + err->at, n);
}

/* Reports that a column's type can't be used in the formula. */
static int
describe_type(const GrFormulaError *err, TupleDesc columns, const char *const *names)
{
	Oid			type = TupleDescAttr(columns, err->column)->atttypid;

	errcode(ERRCODE_DATATYPE_MISMATCH);
	errmsg("column \"%s\" of the query has unsupported type %s", names[err->column], format_type_be(type));
	if (err->fault == GR_FORMULA_NOT_A_NUMBER)
		errdetail("poly(), functions and arithmetic need columns of numbers.");
	else
		errdetail("If there is a formula or a category, features must be numbers, booleans, texts or enums.");
	return OidIsValid(get_element_type(getBaseType(type))) ?
		errhint("Select its elements as separate columns, as in %s[1] AS x1.", quote_identifier(names[err->column])) :
		errhint("Cast the column in the query: to a number, or to text if it is a category.");
}

static int
describe_word(const GrFormulaError *err, const char *text)
{
	switch (err->fault)
	{
		case GR_FORMULA_UNKNOWN:
			errcode(ERRCODE_UNDEFINED_COLUMN);
			errmsg("query has no column %s", excerpt(err, text));
			return errhint("Use names of the query's columns. Names are folded to lower case unless they are in double "
						   "quotes.");
		case GR_FORMULA_AMBIGUOUS:
			errcode(ERRCODE_AMBIGUOUS_COLUMN);
			return errmsg("query has several columns %s", excerpt(err, text));
		case GR_FORMULA_RESPONSE_USED:
			errcode(ERRCODE_INVALID_PARAMETER_VALUE);
			return errmsg("response %s also appears among the features of the formula", excerpt(err, text));
		case GR_FORMULA_FOREIGN:
			errcode(ERRCODE_SYNTAX_ERROR);
			errmsg("\"%s\" is not supported in a formula",
				   err->nbytes == 1 ? character(err, text) : excerpt(err, text));
			errdetail("A formula can have column names, +, -, :, *, /, %%in%%, parentheses, powers such as (a + b)^2, "
					  "0, 1, \".\", factor(name), poly(name, degree), offset() and functions.");
			return errhint("Write arithmetic in I(), as in I(x^2), and compute other expressions in the query.");
		case GR_FORMULA_NO_FUNCTION:
			errcode(ERRCODE_UNDEFINED_FUNCTION);
			errmsg("function \"%s\" is not supported in a formula", excerpt(err, text));
			errdetail("A formula can have I, log, log2, log10, log1p, exp, expm1, sqrt, abs, factor, poly and offset.");
			return errhint("Compute other expressions in the query, as in SELECT sin(x) AS sx.");
		case GR_FORMULA_ARITY:
			errcode(ERRCODE_SYNTAX_ERROR);
			errmsg("function in a formula needs exactly one argument");
			return errhint("Write the function as in log(x + 1).");
		case GR_FORMULA_NO_COLUMN:
			errcode(ERRCODE_INVALID_PARAMETER_VALUE);
			errmsg("%s in the formula has no column", excerpt(err, text));
			return errdetail("It would be the same in each row.");
		case GR_FORMULA_NOT_A_DECIMAL:
			errcode(ERRCODE_SYNTAX_ERROR);
			return errmsg("\"%s\" is not a number of a formula", excerpt(err, text));
		case GR_FORMULA_BAD_NUMBER:
			errcode(ERRCODE_SYNTAX_ERROR);
			errmsg("number %s is not allowed there in a formula", excerpt(err, text));
			return errdetail("Only 0 and 1 are allowed, as terms of their own: + 0 leaves the intercept out.");
		case GR_FORMULA_BAD_DEGREE:
			errcode(ERRCODE_INVALID_PARAMETER_VALUE);
			return errmsg("degree of a polynomial must be a whole number from 1 to %d", GR_POLY_DEGREE_MAX);
		default:
			errcode(ERRCODE_SYNTAX_ERROR);
			return errmsg("syntax error at or near \"%s\" in formula", excerpt(err, text));
	}
}

static int
describe_limit(const GrFormulaError *err)
{
	switch (err->fault)
	{
		case GR_FORMULA_TOO_LONG:
			errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED);
			return errmsg("formula is longer than %d bytes", GR_FORMULA_NBYTES_MAX);
		case GR_FORMULA_TOO_DEEP:
			errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED);
			return errmsg("parentheses of the formula are nested more than %d deep", GR_FORMULA_DEPTH_MAX);
		case GR_FORMULA_TOO_MANY:
			errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED);
			errmsg("formula has too many terms");
			return errdetail("A model can have at most %d features.", GR_MAX_FEATURES);
		case GR_FORMULA_TOO_LARGE:
			errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED);
			errmsg("formula has an expression of more than %d operations", GR_EXPRESSION_STEPS_MAX);
			return errhint("Compute the expression in the query.");
		case GR_FORMULA_ORDER:
			errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED);
			return errmsg("formula has a product of more than %d variables", GR_FORMULA_ORDER_MAX);
		case GR_FORMULA_NO_MEMORY:
			errcode(ERRCODE_OUT_OF_MEMORY);
			return errmsg("out of memory");
		case GR_FORMULA_NO_RESPONSE:
			errcode(ERRCODE_SYNTAX_ERROR);
			errmsg("formula has no response");
			return errhint("Write the name of the response before the ~, as in y ~ a + b.");
		default:
			errcode(ERRCODE_SYNTAX_ERROR);
			errmsg("syntax error at end of formula");
			return errhint("Write the formula as in y ~ a + b.");
	}
}

static int
describe(const GrFormulaError *err, const char *text, TupleDesc columns, const char *const *names)
{
	switch (err->fault)
	{
		case GR_FORMULA_NOT_A_NUMBER:
		case GR_FORMULA_NOT_USABLE:
			return describe_type(err, columns, names);
		case GR_FORMULA_TOO_LONG:
		case GR_FORMULA_TOO_DEEP:
		case GR_FORMULA_TOO_MANY:
		case GR_FORMULA_ORDER:
		case GR_FORMULA_TOO_LARGE:
		case GR_FORMULA_NO_MEMORY:
		case GR_FORMULA_NO_RESPONSE:
		case GR_FORMULA_ENDS:
			return describe_limit(err);
		default:
			return describe_word(err, text);
	}
}

/* Returns the SQLSTATE of a value that a function is not defined for. */
static int
domain_code(int op)
{
	switch (op)
	{
		case GR_STEP_LOG:
		case GR_STEP_LOG2:
		case GR_STEP_LOG10:
		case GR_STEP_LOG1P:
			return ERRCODE_INVALID_ARGUMENT_FOR_LOG;
		case GR_STEP_POWER:
		case GR_STEP_SQRT:
			return ERRCODE_INVALID_ARGUMENT_FOR_POWER_FUNCTION;
		case GR_STEP_DIVIDE:
			return ERRCODE_DIVISION_BY_ZERO;
		default:
			return ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE;
	}
}

void
gr_raise_domain(int op, const char *column, const char *expression, int64 nrows)
{
	ereport(ERROR,
			(errcode(domain_code(op)),
			 column == NULL ? errmsg("%s has no finite result in the formula", gr_step_name(op)) :
			 nrows == 0 ? errmsg("%s has no finite result for the value of column \"%s\"", gr_step_name(op), column) :
			 errmsg_plural("%s has no finite result for column \"%s\" in %lld row",
						   "%s has no finite result for column \"%s\" in %lld rows", (unsigned long) nrows,
						   gr_step_name(op), column, (long long) nrows),
			 errdetail("The formula has the term %s.", expression),
			 nrows == 0 ? 0 : errhint("Exclude these rows with a WHERE clause, or change the formula.")));
}

void
gr_raise_formula(const GrFormulaError *err, const char *text, TupleDesc columns, const char *const *names)
{
	bool		placed = text != NULL && err->fault != GR_FORMULA_TOO_LONG && err->fault != GR_FORMULA_NO_MEMORY;
	int			position = placed ? pg_mbstrlen_with_len(text, (int) err->at) + 1 : 0;

	ereport(ERROR,
			(describe(err, text, columns, names),
			 placed ? internalerrposition(position) : 0,
			 placed ? internalerrquery(text) : 0));
}
