/*
 * formula_reader.h: the reader of a formula: its tokens, columns, variables and expressions, for the parts of the
 * grammar in formula.c (terms) and formula_expression.c (arithmetic).
 */
#ifndef GPUREG_FORMULA_READER_H
#define GPUREG_FORMULA_READER_H

#include "compute/design/formula_terms.h"

typedef enum GrTokenKind
{
	GR_TOKEN_END,
	GR_TOKEN_NAME,
	GR_TOKEN_NUMBER,
	GR_TOKEN_SYMBOL,			/* one of ~+-*:(),.^/% */
	GR_TOKEN_FOREIGN			/* anything else */
} GrTokenKind;

typedef struct GrToken
{
	GrTokenKind kind;
	char		symbol;			/* %: the operator %in% */
	bool		quoted;			/* a quoted name */
	size_t		at;
	size_t		nbytes;
} GrToken;

/* An expression that is being read */
typedef struct GrExpressionDraft
{
	int			nsteps;
	GrExpressionStep *step;		/* room for all steps of the rest of the text */
	size_t		name_nbytes;
	char	   *name;			/* room for the names of all expressions of the rest of the text */
	int			depth;			/* numbers on the program's stack */
} GrExpressionDraft;

typedef struct GrFormulaReader
{
	GrFormula  *formula;
	const char *text;
	size_t		nbytes;
	size_t		next;			/* position after the token */
	size_t		end;			/* position after the token before */
	GrToken		token;
	GrToken		response;		/* the response on the right side, if nbytes is not 0 */
	const GrFormulaColumn *columns;
	int			ncolumns;
	GrFormulaTerm *stack;
	int			top;
	int			depth;
	GrExpressionDraft draft;	/* memory of the next expression; name NULL: none was taken yet */
	GrMemory	memory;
	GrPoll		poll;
	GrFormulaError *err;
} GrFormulaReader;

/* Fails at a part of the text, unless there is an earlier error. Returns false. */
extern bool gr_formula_fail_at(GrFormulaReader *r, GrFormulaFault fault, size_t at, size_t nbytes);

/* Fails at the present token. At the end of the text, GR_FORMULA_UNEXPECTED becomes GR_FORMULA_ENDS. Returns false. */
extern bool gr_formula_fail(GrFormulaReader *r, GrFormulaFault fault);

/* Counts work. Fails if the host asked to stop. */
extern bool gr_formula_polled(GrFormulaReader *r, int64_t work);

/* Reads the next token into r->token. */
extern void gr_formula_advance(GrFormulaReader *r);

extern bool gr_formula_is_symbol(const GrFormulaReader *r, char symbol);

/* Advances past a symbol, or fails. */
extern bool gr_formula_expect(GrFormulaReader *r, char symbol);

/* True if the token is the name of a keyword or column. Unquoted tokens are folded to lower case. */
extern bool gr_formula_is_named(const GrFormulaReader *r, const char *name, bool may_be_quoted);

/* True if the token is an unquoted name that a bracket follows. */
extern bool gr_formula_is_called(const GrFormulaReader *r);

/* Returns the first character after the token that is no space, 0 at the end. */
extern char gr_formula_next_character(const GrFormulaReader *r);

/* Finds the column that the token names. */
extern bool gr_formula_find_column(GrFormulaReader *r, int *column);

/*
 * Returns the number of a variable, added if it is new, or -1 on failure. column: number of a column or, for
 * GR_VARIABLE_EXPRESSION, of an expression; token: the name, for errors.
 */
extern int	gr_formula_variable(GrFormulaReader *r, int column, GrVariableKind kind, int degree,
								const GrToken *token);

#endif							/* GPUREG_FORMULA_READER_H */
