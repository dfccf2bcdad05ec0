/*
 * formula_expression.c: reads the arithmetic of a formula, such as log(x + 1), into programs (expression.h), and writes
 * their names as R's deparse() does: one expression has one name, however it is spaced.
 *
 * R's operators bind in the order ^, unary minus, * and /, + and -; ^ associates to the right.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compute/base/token.h"
#include "compute/design/formula_expression.h"

/* Most bytes of a number, and its name's bytes */
#define NUMBER_NBYTES_MAX 60

/* Name bytes that a byte of the text gives at most: an operator becomes three, a digit "1e+05" less its zeros. */
#define NAME_FACTOR 8

static bool read_sum(GrFormulaReader *r);

/*
 * Steps and names
 */

static void
add_name(GrFormulaReader *r, const char *bytes, size_t nbytes)
{
	memcpy(r->draft.name + r->draft.name_nbytes, bytes, nbytes);
	r->draft.name_nbytes += nbytes;
}

static void
add_text(GrFormulaReader *r, const char *text)
{
	add_name(r, text, strlen(text));
}

static bool
add_step(GrFormulaReader *r, GrExpressionOp op, int column, double value)
{
	GrExpressionDraft *draft = &r->draft;

	draft->depth += 1 - gr_step_operands(op);
	if (draft->nsteps >= GR_EXPRESSION_STEPS_MAX)
		return gr_formula_fail(r, GR_FORMULA_TOO_LARGE);
	if (draft->depth > GR_EXPRESSION_DEPTH_MAX)
		return gr_formula_fail(r, GR_FORMULA_TOO_DEEP);
	draft->step[draft->nsteps++] = (GrExpressionStep) {op, column, value};
	return true;
}

static bool
deeper(GrFormulaReader *r)
{
	return ++r->depth <= GR_FORMULA_DEPTH_MAX ? true : gr_formula_fail(r, GR_FORMULA_TOO_DEEP);
}

/* Adds a column's name: as it is if it is a plain word, else in double quotes. */
static void
add_column_name(GrFormulaReader *r, const char *name)
{
	bool		plain = gr_begins_name(*name);

	for (const char *at = name; *at != '\0' && plain; at++)
		plain = gr_goes_on_name(*at) || *at == '.';
	if (plain)
		add_text(r, name);
	else
	{
		add_text(r, "\"");
		for (const char *at = name; *at != '\0'; at++)
			add_name(r, *at == '"' ? "\"\"" : at, *at == '"' ? 2 : 1);
		add_text(r, "\"");
	}
}

/*
 * Adds a number's name with at most 15 digits, in scientific notation if that is shorter than fixed notation, as R's
 * deparse() does.
 */
static void
add_number_name(GrFormulaReader *r, double value)
{
	char		text[NUMBER_NBYTES_MAX];
	int			exponent;
	int			ndigits = 15;
	int			left;
	int			right;

	(void) snprintf(text, sizeof(text), "%.14e", value);
	exponent = atoi(strchr(text, 'e') + 1);
	while (ndigits > 1 && text[ndigits] == '0')
		ndigits--;
	left = exponent < 0 ? 1 : exponent + 1;
	right = ndigits - exponent - 1 < 0 ? 0 : ndigits - exponent - 1;
	if (left + (right > 0 ? right + 1 : 0) <= ndigits + (ndigits > 1 ? 1 : 0) + (abs(exponent) >= 100 ? 5 : 4))
		(void) snprintf(text, sizeof(text), "%.*f", right, value);
	else
		(void) snprintf(text, sizeof(text), "%.*e", ndigits - 1, value);
	add_text(r, text);
}

/*
 * The grammar. Each function adds the steps and the name of its part of the text.
 */

static bool
read_number(GrFormulaReader *r)
{
	char		text[NUMBER_NBYTES_MAX + 1];
	char	   *end;
	double		value;

	if (r->token.nbytes > NUMBER_NBYTES_MAX)
		return gr_formula_fail(r, GR_FORMULA_NOT_A_DECIMAL);
	memcpy(text, r->text + r->token.at, r->token.nbytes);
	text[r->token.nbytes] = '\0';
	value = strtod(text, &end);
	/* strtod() reads hexadecimal numbers, which R's formulas hardly have */
	if (*end != '\0' || !isfinite(value) || strpbrk(text, "xXpP") != NULL)
		return gr_formula_fail(r, GR_FORMULA_NOT_A_DECIMAL);
	add_number_name(r, value);
	if (!add_step(r, GR_STEP_CONSTANT, 0, value))
		return false;
	gr_formula_advance(r);
	return true;
}

static bool
read_column(GrFormulaReader *r)
{
	GrToken		token = r->token;
	int			column;

	if (!gr_formula_find_column(r, &column))
		return false;
	if (r->columns[column].kind != GR_COLUMN_NUMBER)
	{
		(void) gr_formula_fail_at(r, GR_FORMULA_NOT_A_NUMBER, token.at, token.nbytes);
		r->err->column = column;
		return false;
	}
	add_column_name(r, r->columns[column].name);
	if (!add_step(r, GR_STEP_COLUMN, column, 0))
		return false;
	gr_formula_advance(r);
	return true;
}

/* Returns the function that the token names: GR_STEP_LOG ..., GR_STEP_COLUMN for I, or -1. */
static int
function_of(const GrFormulaReader *r)
{
	if (gr_formula_is_named(r, "i", false))
		return GR_STEP_COLUMN;
	for (int op = GR_STEP_LOG; op < GR_NSTEP_OPS; op++)
		if (gr_formula_is_named(r, gr_step_name(op), false))
			return op;
	return -1;
}

bool
gr_formula_is_function(const GrFormulaReader *r)
{
	return function_of(r) >= 0;
}

/* Reads a function's brackets with its one argument. */
static bool
read_argument(GrFormulaReader *r)
{
	if (!deeper(r))
		return false;
	gr_formula_advance(r);
	add_text(r, "(");
	if (gr_formula_is_symbol(r, ')'))
		return gr_formula_fail(r, GR_FORMULA_ARITY);
	if (!read_sum(r))
		return false;
	if (gr_formula_is_symbol(r, ','))
		return gr_formula_fail(r, GR_FORMULA_ARITY);
	add_text(r, ")");
	r->depth--;
	return gr_formula_expect(r, ')');
}

static bool
read_call(GrFormulaReader *r)
{
	int			op = function_of(r);

	if (op < 0)
		return gr_formula_fail(r, GR_FORMULA_NO_FUNCTION);
	add_text(r, op == GR_STEP_COLUMN ? "I" : gr_step_name(op));
	gr_formula_advance(r);
	return read_argument(r) && (op == GR_STEP_COLUMN || add_step(r, (GrExpressionOp) op, 0, 0));
}

static bool
read_operand(GrFormulaReader *r)
{
	if (gr_formula_is_symbol(r, '('))
		return read_argument(r);
	if (r->token.kind == GR_TOKEN_NUMBER)
		return read_number(r);
	return gr_formula_is_called(r) ? read_call(r) : read_column(r);
}

static bool read_signed(GrFormulaReader *r);

/* Reads an operand with an optional exponent, which may have a sign. */
static bool
read_power(GrFormulaReader *r)
{
	if (!read_operand(r))
		return false;
	if (!gr_formula_is_symbol(r, '^'))
		return true;
	gr_formula_advance(r);
	add_text(r, "^");
	if (!deeper(r) || !read_signed(r))
		return false;
	r->depth--;
	return add_step(r, GR_STEP_POWER, 0, 0);
}

static bool
read_signed(GrFormulaReader *r)
{
	bool		minus = gr_formula_is_symbol(r, '-');

	if (!minus && !gr_formula_is_symbol(r, '+'))
		return read_power(r);
	gr_formula_advance(r);
	add_text(r, minus ? "-" : "+");
	if (!deeper(r) || !read_signed(r))
		return false;
	r->depth--;
	return !minus || add_step(r, GR_STEP_NEGATE, 0, 0);
}

static bool
read_product(GrFormulaReader *r)
{
	if (!read_signed(r))
		return false;
	for (;;)
	{
		bool		divides = gr_formula_is_symbol(r, '/');

		if (!divides && !gr_formula_is_symbol(r, '*'))
			return true;
		gr_formula_advance(r);
		add_text(r, divides ? "/" : " * ");
		if (!read_signed(r) || !add_step(r, divides ? GR_STEP_DIVIDE : GR_STEP_MULTIPLY, 0, 0))
			return false;
	}
}

static bool
read_sum(GrFormulaReader *r)
{
	if (!read_product(r))
		return false;
	for (;;)
	{
		bool		minus = gr_formula_is_symbol(r, '-');

		if (!minus && !gr_formula_is_symbol(r, '+'))
			return true;
		gr_formula_advance(r);
		add_text(r, minus ? " - " : " + ");
		if (!read_product(r) || !add_step(r, minus ? GR_STEP_SUBTRACT : GR_STEP_ADD, 0, 0))
			return false;
	}
}

/*
 * Expressions
 */

/* Begins an expression, in memory that holds all expressions of the text. */
static bool
begin_draft(GrFormulaReader *r)
{
	GrExpressionDraft *draft = &r->draft;

	if (draft->name == NULL)
	{
		size_t		room = r->nbytes;

		draft->name = r->memory.take(r->memory.arg, NAME_FACTOR * room + NUMBER_NBYTES_MAX);
		draft->step = r->memory.take(r->memory.arg, (room + 1) * sizeof(GrExpressionStep));
		r->formula->expressions = r->memory.take(r->memory.arg, (room + 1) * sizeof(GrExpression));
		if (draft->name == NULL || draft->step == NULL || r->formula->expressions == NULL)
			return gr_formula_fail_at(r, GR_FORMULA_NO_MEMORY, 0, 0);
	}
	draft->nsteps = draft->depth = 0;
	draft->name_nbytes = 0;
	return true;
}

/* Fails if the expression, which begins at a position of the text, has no column: it is the same in all rows. */
static bool
check_column(GrFormulaReader *r, size_t from)
{
	const GrExpression draft = {.nsteps = r->draft.nsteps,.step = r->draft.step};

	return gr_expression_column(&draft) >= 0 ||
		gr_formula_fail_at(r, GR_FORMULA_NO_COLUMN, from, r->end - from);
}

/* Ends an expression and keeps its memory. */
static GrExpression
end_draft(GrFormulaReader *r)
{
	GrExpressionDraft *draft = &r->draft;
	GrExpression expression = {{draft->name, (int) draft->name_nbytes}, draft->nsteps, draft->step};

	draft->name += draft->name_nbytes;
	draft->step += draft->nsteps;
	return expression;
}

/* Returns the number of the formula's expression that has the draft's name, added if it is new. */
static int
expression_of(GrFormulaReader *r)
{
	GrFormula  *formula = r->formula;

	for (int k = 0; k < formula->nexpressions; k++)
	{
		const GrString *name = &formula->expressions[k].name;

		if ((size_t) name->nbytes == r->draft.name_nbytes &&
			memcmp(name->bytes, r->draft.name, r->draft.name_nbytes) == 0)
			return k;
	}
	formula->expressions[formula->nexpressions] = end_draft(r);
	return formula->nexpressions++;
}

bool
gr_formula_read_function(GrFormulaReader *r, int *expression)
{
	size_t		from = r->token.at;

	if (!begin_draft(r) || !read_call(r) || !check_column(r, from) ||
		!gr_formula_polled(r, r->formula->nexpressions))
		return false;
	*expression = expression_of(r);
	return true;
}

bool
gr_formula_read_response(GrFormulaReader *r)
{
	size_t		from = r->token.at;

	if (!begin_draft(r) || !read_sum(r) || !check_column(r, from))
		return false;
	r->formula->response = -1;
	r->formula->response_expression = end_draft(r);
	return true;
}

/* Adds an expression to the formula's offset, as steps of one program. */
static bool
add_offset(GrFormulaReader *r, GrExpression more)
{
	GrExpression *offset = &r->formula->offset;
	size_t		nbytes = (size_t) offset->name.nbytes + (size_t) more.name.nbytes + 3;
	GrExpressionStep *step;
	char	   *name;
	int			n = 0;

	if (offset->nsteps == 0)
	{
		*offset = more;
		return true;
	}
	if (offset->nsteps + more.nsteps + 1 > GR_EXPRESSION_STEPS_MAX)
		return gr_formula_fail(r, GR_FORMULA_TOO_LARGE);
	step = r->memory.take(r->memory.arg, (size_t) (offset->nsteps + more.nsteps + 1) * sizeof(GrExpressionStep));
	name = r->memory.take(r->memory.arg, nbytes);
	if (step == NULL || name == NULL)
		return gr_formula_fail_at(r, GR_FORMULA_NO_MEMORY, 0, 0);
	for (int k = 0; k < offset->nsteps; k++)
		step[n++] = offset->step[k];
	for (int k = 0; k < more.nsteps; k++)
		step[n++] = more.step[k];
	step[n++] = (GrExpressionStep) {GR_STEP_ADD, 0, 0};
	memcpy(name, offset->name.bytes, (size_t) offset->name.nbytes);
	memcpy(name + offset->name.nbytes, " + ", 3);
	memcpy(name + offset->name.nbytes + 3, more.name.bytes, (size_t) more.name.nbytes);
	*offset = (GrExpression) {{name, (int) nbytes}, n, step};
	/* one number of the sum so far lies below those of the new part */
	return gr_expression_valid(step, n, r->ncolumns) ? true : gr_formula_fail(r, GR_FORMULA_TOO_DEEP);
}

bool
gr_formula_read_offset(GrFormulaReader *r)
{
	size_t		from = r->token.at;
	GrExpression more;

	gr_formula_advance(r);
	if (!begin_draft(r) || !read_argument(r) || !check_column(r, from))
		return false;
	more = end_draft(r);
	/* without the brackets */
	more.name.bytes++;
	more.name.nbytes -= 2;
	return add_offset(r, more);
}
