/*
 * formula_terms.h: what formulas are read into: terms, which are products of variables, and expressions. formula.c
 * makes them, and designs are made of them.
 */
#ifndef GPUREG_FORMULA_TERMS_H
#define GPUREG_FORMULA_TERMS_H

#include "compute/base/compute.h"
#include "compute/design/expression.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GR_FORMULA_NBYTES_MAX 65536
#define GR_FORMULA_DEPTH_MAX 32	/* levels of brackets */
#define GR_FORMULA_ORDER_MAX 8	/* variables of a term */
#define GR_FORMULA_VARIABLES_MAX 16384
#define GR_POLY_DEGREE_MAX 50

/* Allocator of the caller, who frees all memory at the end; take() returns NULL if there is no memory. */
typedef struct GrMemory
{
	void	   *(*take) (void *arg, size_t nbytes);
	void	   *arg;
} GrMemory;

typedef enum GrFormulaColumnKind
{
	GR_COLUMN_NUMBER,
	GR_COLUMN_FACTOR,
	GR_COLUMN_OTHER				/* not usable in a formula */
} GrFormulaColumnKind;

typedef struct GrFormulaColumn
{
	const char *name;
	GrFormulaColumnKind kind;
	bool		can_be_factor;
	bool		has_role;		/* weight, offset or key: `.` does not include it */
} GrFormulaColumn;

typedef enum GrVariableKind
{
	GR_VARIABLE_NUMBER,
	GR_VARIABLE_FACTOR,
	GR_VARIABLE_POLY,
	GR_VARIABLE_EXPRESSION		/* a number that an expression makes of columns */
} GrVariableKind;

typedef struct GrVariable
{
	int			column;			/* GR_VARIABLE_EXPRESSION: number of the expression */
	GrVariableKind kind;
	int			degree;			/* degree of a polynomial */
	bool		used;			/* true if a term contains it */
} GrVariable;

#define GR_NO_VARIABLE 0xffff

/* A product of variables, ascending, padded with GR_NO_VARIABLE */
typedef struct GrFormulaTerm
{
	uint16_t	variable[GR_FORMULA_ORDER_MAX];
	uint8_t		dummies;		/* bit i: variable i is a factor with a feature for every level */
} GrFormulaTerm;

typedef struct GrFormula
{
	int			response;		/* column of the response; -1: an expression is the response */
	GrExpression response_expression;	/* nsteps 0: a column is the response */
	GrExpression offset;		/* sum of the offset() terms; nsteps 0: none */
	bool		intercept;
	int			nvariables;		/* variables in the order in which they were named */
	GrVariable *variables;
	int			nexpressions;	/* distinct expressions among the variables, and unused ones */
	GrExpression *expressions;
	int			nterms;
	GrFormulaTerm *terms;
} GrFormula;

typedef enum GrFormulaFault
{
	GR_FORMULA_OK,
	GR_FORMULA_UNEXPECTED,		/* a token that cannot stand there */
	GR_FORMULA_ENDS,			/* the text ends too early */
	GR_FORMULA_FOREIGN,			/* an operator or function of R or SQL that formulas do not support */
	GR_FORMULA_BAD_NUMBER,		/* neither 0 nor 1 nor a degree */
	GR_FORMULA_BAD_DEGREE,
	GR_FORMULA_NO_RESPONSE,
	GR_FORMULA_RESPONSE_USED,	/* the response is also in a term on the right side */
	GR_FORMULA_UNKNOWN,			/* no column has that name */
	GR_FORMULA_AMBIGUOUS,		/* several columns have that name */
	GR_FORMULA_NOT_A_NUMBER,	/* poly() of a category; column: which */
	GR_FORMULA_NOT_USABLE,		/* the column's type is not usable; column: which */
	GR_FORMULA_TOO_LONG,
	GR_FORMULA_TOO_DEEP,
	GR_FORMULA_TOO_MANY,		/* more than GR_MAX_FEATURES terms */
	GR_FORMULA_NO_FUNCTION,		/* formulas have no function of this name */
	GR_FORMULA_ARITY,			/* a function's arguments are too few or too many */
	GR_FORMULA_NO_COLUMN,		/* an expression of numbers alone */
	GR_FORMULA_NOT_A_DECIMAL,	/* a number in arithmetic */
	GR_FORMULA_TOO_LARGE,		/* an expression of more than GR_EXPRESSION_STEPS_MAX steps */
	GR_FORMULA_ORDER,			/* a term of more than GR_FORMULA_ORDER_MAX variables */
	GR_FORMULA_NO_MEMORY,
	GR_FORMULA_CANCELED
} GrFormulaFault;

typedef struct GrFormulaError
{
	GrFormulaFault fault;
	size_t		at;				/* bytes before the text at fault */
	size_t		nbytes;			/* length of the text at fault */
	int			column;
} GrFormulaError;

/* A formula's text, and the columns that it may name. */
typedef struct GrFormulaText
{
	const char *text;			/* without a final 0; NULL: `.`, with formula->response set by the caller */
	size_t		nbytes;
	const GrFormulaColumn *columns;
	int			ncolumns;
} GrFormulaText;

/* True if the formula needs a design of version 3; see design.h. */
extern bool gr_formula_has_expressions(const GrFormula *formula);

/* True if variable k of a kind (the number of a column or of an expression) is the formula's response. */
extern bool gr_formula_is_response(const GrFormula *formula, int k, GrVariableKind kind);

/* Returns a bit mask of the kinds of variables (GrVariableKind) that terms and the offset make of column k. */
extern int	gr_formula_uses(const GrFormula *formula, int k);

/* True if the response is column k or is made of it. */
extern bool gr_formula_makes_response(const GrFormula *formula, int k);

/* Returns the number of variables of a term. */
static inline int
gr_formula_order(const GrFormulaTerm *term)
{
	int			n = 0;

	while (n < GR_FORMULA_ORDER_MAX && term->variable[n] != GR_NO_VARIABLE)
		n++;
	return n;
}

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_FORMULA_TERMS_H */
