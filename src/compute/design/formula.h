/*
 * formula.h: R's formulas, as far as they say which products of columns are features: `y ~ a * b + poly(x, 3) - 1`.
 *
 * A formula is read into terms, sets of variables, of which a column may have several: as it is, as a factor, as its
 * powers. Their order is that of R's terms(): by how many variables they have, and among those of as many as they were
 * written. Names are as in SQL, folded to lower case unless they are "quoted". What is a column's name is told by the
 * caller; so is which columns are categories, and `.` means those that are neither the response nor have a role.
 *
 *	 formula := name ~ sum			sum := [+ | -] cross { (+ | -) cross }		cross := product { * product }
 *	 product := atom { : atom }		atom := name | 0 | 1 | factor(name) | poly(name, degree) | group [ ^ degree ]
 *	 group := . | ( sum )
 *
 * 0 and 1 stand for the intercept, alone in a sum. A group to a degree is crossed with itself, as in R. All else is a
 * matter of the query.
 */
#ifndef GPUREG_FORMULA_H
#define GPUREG_FORMULA_H

#include "compute/base/compute.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GR_FORMULA_NBYTES_MAX 65536
#define GR_FORMULA_DEPTH_MAX 32	/* of brackets */
#define GR_FORMULA_ORDER_MAX 8	/* variables of a term */
#define GR_POLY_DEGREE_MAX 50

/* Where memory comes from, whose end is the caller's; take() gives NULL where there is none. */
typedef struct GrMemory
{
	void	   *(*take) (void *arg, size_t nbytes);
	void	   *arg;
} GrMemory;

typedef enum GrFormulaColumnKind
{
	GR_COLUMN_NUMBER,
	GR_COLUMN_FACTOR,
	GR_COLUMN_OTHER				/* of no use in a formula */
} GrFormulaColumnKind;

typedef struct GrFormulaColumn
{
	const char *name;
	GrFormulaColumnKind kind;
	bool		can_be_factor;
	bool		has_role;		/* one other than the response's, so that `.` does not mean it */
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
	int			degree;			/* of a polynomial */
	bool		used;			/* it is in a term */
} GrVariable;

#define GR_NO_VARIABLE 0xffff

/* A product of variables, ascending; then GR_NO_VARIABLE */
typedef struct GrFormulaTerm
{
	uint16_t	variable[GR_FORMULA_ORDER_MAX];
	uint8_t		dummies;		/* a bit a factor: it has a feature for each of its levels, not for all but the first */
} GrFormulaTerm;

typedef struct GrFormula
{
	int			response;		/* its column */
	bool		intercept;
	int			nvariables;		/* in the order in which they were named */
	GrVariable *variables;
	int			nterms;
	GrFormulaTerm *terms;
} GrFormula;

typedef enum GrFormulaFault
{
	GR_FORMULA_OK,
	GR_FORMULA_UNEXPECTED,		/* what stands there can't */
	GR_FORMULA_ENDS,			/* more was expected */
	GR_FORMULA_FOREIGN,			/* an operator or function of R's or SQL's that formulas don't have here */
	GR_FORMULA_BAD_NUMBER,		/* neither 0 nor 1 nor a degree */
	GR_FORMULA_BAD_DEGREE,
	GR_FORMULA_NO_RESPONSE,
	GR_FORMULA_RESPONSE_USED,	/* in a term on the right side, too */
	GR_FORMULA_UNKNOWN,			/* no column has that name */
	GR_FORMULA_AMBIGUOUS,		/* several have */
	GR_FORMULA_NOT_A_NUMBER,	/* column: poly of a category */
	GR_FORMULA_NOT_USABLE,		/* column: its type is of no use */
	GR_FORMULA_TOO_LONG,
	GR_FORMULA_TOO_DEEP,
	GR_FORMULA_TOO_MANY,		/* more than GR_MAX_FEATURES terms */
	GR_FORMULA_ORDER,			/* of more than GR_FORMULA_ORDER_MAX variables */
	GR_FORMULA_NO_MEMORY,
	GR_FORMULA_CANCELED
} GrFormulaFault;

typedef struct GrFormulaError
{
	GrFormulaFault fault;
	size_t		at;				/* bytes before what it is about */
	size_t		nbytes;			/* how long that is */
	int			column;
} GrFormulaError;

/* A formula's text, and the columns that it may name */
typedef struct GrFormulaText
{
	const char *text;			/* without a 0 at its end; NULL: `.`, and formula->response is the caller's */
	size_t		nbytes;
	const GrFormulaColumn *columns;
	int			ncolumns;
} GrFormulaText;

/*
 * Reads a formula, with arrays from memory. formula->intercept is the caller's where the text says nothing of it.
 * Returns false with *err; the formula then is of no use.
 */
extern bool gr_formula_read(GrFormula *formula, const GrFormulaText *from, GrMemory memory, const GrHost *host,
							GrFormulaError *err);

/* How many variables a term has */
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
