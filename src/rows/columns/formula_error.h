/*
 * formula_error.h: reports errors in a formula as errors of PostgreSQL.
 */
#ifndef GPUREG_FORMULA_ERROR_H
#define GPUREG_FORMULA_ERROR_H

#include "postgres.h"

#include "access/tupdesc.h"

#include "compute/design/formula_terms.h"

/* Raises err, with its place in the formula's text. text is NULL without a formula: then a column's type is wrong. */
extern void gr_raise_formula(const GrFormulaError *err, const char *text, TupleDesc columns, const char *const *names)
			__attribute__((noreturn));

/*
 * Raises the ERROR that a function or an operator (op) of an expression is not defined for values of a column. column:
 * its name, NULL if there is none; expression: its name; nrows: number of rows, 0: one value of a prediction
 */
extern void gr_raise_domain(int op, const char *column, const char *expression, int64 nrows) __attribute__((noreturn));

#endif							/* GPUREG_FORMULA_ERROR_H */
