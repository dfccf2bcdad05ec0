/*
 * formula.h: reads R formulas that select products of columns as features: `y ~ a * b + poly(x, 3) - 1`. frame.c calls
 * it first.
 *
 * A formula becomes a list of terms, each a set of variables. One column may appear as several variables: as it is, as
 * a factor, as its powers. Terms are in the order of R's terms(): by number of variables, then as written. Names are as
 * in SQL, folded to lower case unless "quoted". The caller says which columns exist and which are categories; `.`
 * stands for those that are neither the response nor have a role.
 *
 *	 formula := name ~ sum
 *	 sum     := [+ | -] cross { (+ | -) cross }
 *	 cross   := product { * product }
 *	 product := atom { : atom }
 *	 atom    := name | 0 | 1 | factor(name) | poly(name, degree) | group [ ^ degree ]
 *	 group   := . | ( sum )
 *
 * 0 and 1 stand for the intercept, and only as terms of a sum. A group to a degree is crossed with itself, as in R.
 * Other expressions must be computed in the query.
 */
#ifndef GPUREG_FORMULA_H
#define GPUREG_FORMULA_H

#include "compute/base/compute.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GR_FORMULA_NBYTES_MAX 65536
#define GR_FORMULA_DEPTH_MAX 32	/* levels of brackets */
#define GR_FORMULA_ORDER_MAX 8	/* variables of a term */
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
	GR_VARIABLE_POLY
} GrVariableKind;

typedef struct GrVariable
{
	int			column;
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
	int			response;		/* column of the response */
	bool		intercept;
	int			nvariables;		/* variables in the order in which they were named */
	GrVariable *variables;
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

/*
 * Reads a formula into arrays from `memory`. The caller sets formula->intercept, which stays unless the text decides
 * it. Returns false and sets *err; the formula is then undefined.
 */
extern bool gr_formula_read(GrFormula *formula, const GrFormulaText *from, GrMemory memory, const GrHost *host,
							GrFormulaError *err);

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
#endif							/* GPUREG_FORMULA_H */
