/*
 * formula_error.h: what is wrong with a formula, in the server's words.
 */
#ifndef GPUREG_FORMULA_ERROR_H
#define GPUREG_FORMULA_ERROR_H

#include "postgres.h"

#include "access/tupdesc.h"

#include "compute/design/formula.h"

/* Raises it, with where it is in the formula's text; NULL text: there is no formula, and the columns are wrong. */
extern void gr_raise_formula(const GrFormulaError *err, const char *text, TupleDesc columns, const char *const *names)
			__attribute__((noreturn));

#endif							/* GPUREG_FORMULA_ERROR_H */
