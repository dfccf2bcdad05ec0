/*
 * formula_error.h: reports errors in a formula as errors of PostgreSQL.
 */
#ifndef GPUREG_FORMULA_ERROR_H
#define GPUREG_FORMULA_ERROR_H

#include "postgres.h"

#include "access/tupdesc.h"

#include "compute/design/formula.h"

/* Raises err, with its place in the formula's text. text is NULL without a formula: then a column's type is wrong. */
extern void gr_raise_formula(const GrFormulaError *err, const char *text, TupleDesc columns, const char *const *names)
			__attribute__((noreturn));

#endif							/* GPUREG_FORMULA_ERROR_H */
