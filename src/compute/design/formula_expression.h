/*
 * formula_expression.h: reads the arithmetic of a formula: functions of columns, a response, offsets. formula.c calls
 * it.
 */
#ifndef GPUREG_FORMULA_EXPRESSION_H
#define GPUREG_FORMULA_EXPRESSION_H

#include "compute/design/formula_reader.h"

/* True if the token, which is called, is a function of expressions, such as log or I. */
extern bool gr_formula_is_function(const GrFormulaReader *r);

/*
 * Reads a call of a function. *expression: its number in the formula, added if no expression has its name. Returns
 * false on an error.
 */
extern bool gr_formula_read_function(GrFormulaReader *r, int *expression);

/* Reads arithmetic up to a token that is no part of it, and sets formula->response_expression. */
extern bool gr_formula_read_response(GrFormulaReader *r);

/* Reads offset(arithmetic) and adds it to the formula's offset. */
extern bool gr_formula_read_offset(GrFormulaReader *r);

#endif							/* GPUREG_FORMULA_EXPRESSION_H */
