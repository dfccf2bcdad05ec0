/*
 * formula_numbers.h: the numbers that a formula's expressions make of a query's columns, as parts of a frame's query;
 * and the check of the rows that they are not defined for. frame.c calls it first.
 *
 * gpu_design_number() and gpu_design_row() return NULL for such a row, so the fit skips it and counts it as a row with
 * a NULL. A fit that has skipped rows calls gr_check_domain(), which reads the query once more and counts.
 */
#ifndef GPUREG_FORMULA_NUMBERS_H
#define GPUREG_FORMULA_NUMBERS_H

#include "postgres.h"

#include "compute/design/formula_terms.h"
#include "rows/query/query.h"
#include "rows/query/wrapper.h"

/* Columns that one call of a function passes; the other arguments, up to FUNC_MAX_ARGS, are left for parameters. */
#define GR_COLUMN_ARGUMENTS_MAX 90

/* The expressions of a formula over a query */
typedef struct GrDomain
{
	const GrQuery *query;		/* the user's query */
	Oid			function;		/* SQL function of the extension that is being called */
	GrFormula	formula;
	const GrFormulaColumn *columns;
	bool	   *needed;			/* per column: rows with a NULL in it are skipped */
} GrDomain;

/*
 * Returns the values of a design's columns as arguments: one by one or, if there are too many, the numbers in arrays
 * and then the factors. Numbers come first either way; see order_columns() in design_values.c. numbers, factors: lists
 * of columns of the query
 */
extern List *gr_write_design_values(const GrWrapper *wrapper, List *numbers, List *factors);

/* Returns a call that computes an expression of the query's columns, a float8. */
extern Expr *gr_write_number(const GrWrapper *wrapper, Oid function, const GrExpression *expression,
							 const GrFormulaColumn *columns);

/* Returns an expression's name in the current memory context. */
static inline const char *
gr_expression_name(const GrExpression *expression)
{
	return pnstrdup(expression->name.bytes, expression->name.nbytes);
}

/*
 * Counts the rows without a NULL that an expression is not defined for. Raises an ERROR if there are some, with their
 * number, the function and the column.
 */
extern void gr_check_domain(const GrDomain *domain);

#endif							/* GPUREG_FORMULA_NUMBERS_H */
