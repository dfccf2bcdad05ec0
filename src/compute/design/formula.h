/*
 * formula.h: reads R formulas that select products of columns as features: `log(y) ~ a * b + poly(x, 3) - 1`. frame.c
 * calls it first.
 *
 * A formula becomes a list of terms, each a set of variables. One column may appear as several variables: as it is, as
 * a factor, as its powers, in expressions. Terms are in the order of R's terms(): by number of variables, then as
 * written. Names are as in SQL, folded to lower case unless "quoted". The caller says which columns exist and which are
 * categories; `.` stands for those that neither make the response nor have a role.
 *
 *	 formula  := response ~ sum
 *	 response := name | arithmetic
 *	 sum      := [+ | -] cross { (+ | -) cross } | offset(arithmetic)
 *	 cross    := nested { (* | /) nested }
 *	 nested   := product { %in% product }
 *	 product  := atom { : atom }
 *	 atom     := name | 0 | 1 | factor(name) | poly(name, degree) | call | group [ ^ degree ]
 *	 group    := . | ( sum )
 *	 call     := (I | log | log2 | log10 | log1p | exp | expm1 | sqrt | abs) (arithmetic)
 *
 * 0, 1 and offset() are allowed only as terms of a sum. A group to a degree is crossed with itself, as in R. a / b
 * stands for a + a:b. Arithmetic has +, -, *, /, ^, numbers, brackets, names and calls; formula_expression.c has its
 * grammar. Other expressions must be computed in the query.
 */
#ifndef GPUREG_FORMULA_H
#define GPUREG_FORMULA_H

#include "compute/design/formula_terms.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Reads a formula into arrays from `memory`. The caller sets formula->intercept, which stays unless the text decides
 * it. Returns false and sets *err; the formula is then undefined.
 */
extern bool gr_formula_read(GrFormula *formula, const GrFormulaText *from, GrMemory memory, const GrHost *host,
							GrFormulaError *err);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_FORMULA_H */
