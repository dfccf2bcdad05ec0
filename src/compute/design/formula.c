/*
 * formula.c: reads R formulas into terms, in R's order and with R's choice of contrasts.
 *
 * A recursive descent by the grammar in formula.h, over a stack of terms: each function leaves the terms of its part of
 * the text at the top of the stack. The depth of brackets and the size of the stack are limited.
 */
#include <string.h>

#include "compute/base/token.h"
#include "compute/design/formula.h"

/* Most terms on the stack: two lists and their products, each of at most GR_MAX_FEATURES. */
#define STACK_MAX (4 * GR_MAX_FEATURES)
#define VARIABLES_MAX 16384

typedef enum TokenKind
{
	TOKEN_END,
	TOKEN_NAME,
	TOKEN_NUMBER,
	TOKEN_SYMBOL,				/* one of ~+-*:(),.^ */
	TOKEN_FOREIGN				/* anything else */
} TokenKind;

typedef struct Token
{
	TokenKind	kind;
	char		symbol;
	bool		quoted;			/* a quoted name */
	size_t		at;
	size_t		nbytes;
} Token;

typedef struct Reader
{
	GrFormula  *formula;
	const char *text;
	size_t		nbytes;
	size_t		next;			/* position after the token */
	Token		token;
	Token		response;		/* the response on the right side, if nbytes is not 0 */
	const GrFormulaColumn *columns;
	int			ncolumns;
	GrFormulaTerm *stack;
	int			top;
	int			depth;
	GrPoll		poll;
	GrFormulaError *err;
} Reader;

static bool
fail_at(Reader *r, GrFormulaFault fault, size_t at, size_t nbytes)
{
	if (r->err->fault == GR_FORMULA_OK)
		*r->err = (GrFormulaError) {.fault = fault,.at = at,.nbytes = nbytes,.column = -1};
	return false;
}

/* Fails at the present token. At the end of the text, GR_FORMULA_UNEXPECTED becomes GR_FORMULA_ENDS. */
static bool
fail(Reader *r, GrFormulaFault fault)
{
	if (fault == GR_FORMULA_UNEXPECTED && r->token.kind == TOKEN_END)
		fault = GR_FORMULA_ENDS;
	/* ^ is supported only after `.` and brackets */
	if (fault == GR_FORMULA_UNEXPECTED &&
		(r->token.kind == TOKEN_FOREIGN || (r->token.kind == TOKEN_SYMBOL && r->token.symbol == '^')))
		fault = GR_FORMULA_FOREIGN;
	return fail_at(r, fault, r->token.at, r->token.nbytes);
}

/* Counts work. Fails if the host asked to stop. */
static bool
polled(Reader *r, int64_t work)
{
	return gr_poll(&r->poll, work) ? fail(r, GR_FORMULA_CANCELED) : true;
}

/*
 * Tokens
 */

/* Reads the next token into r->token. */
static void
advance(Reader *r)
{
	Token	   *token = &r->token;
	size_t		at = r->next;
	size_t		end;
	char		c;

	while (at < r->nbytes && gr_is_space(r->text[at]))
		at++;
	*token = (Token) {.kind = TOKEN_END,.at = at};
	end = at;
	c = at < r->nbytes ? r->text[at] : '\0';
	if (at >= r->nbytes)
		token->kind = TOKEN_END;
	else if (gr_begins_name(c))
	{
		token->kind = TOKEN_NAME;
		while (end < r->nbytes && gr_goes_on_name(r->text[end]))
			end++;
	}
	else if (c == '"' && (end = gr_end_of_quoted(r->text, r->nbytes, at)) > at + 2)
	{
		token->kind = TOKEN_NAME;
		token->quoted = true;
	}
	else if (gr_is_digit(c))
	{
		token->kind = TOKEN_NUMBER;
		while (end < r->nbytes && (gr_goes_on_name(r->text[end]) || r->text[end] == '.'))
			end++;
	}
	else
	{
		token->kind = c != '\0' && strchr("~+-*:(),.^", c) != NULL ? TOKEN_SYMBOL : TOKEN_FOREIGN;
		token->symbol = c;
		end = at + 1;
	}
	token->nbytes = end - at;
	r->next = end;
}

static bool
is_symbol(const Reader *r, char symbol)
{
	return r->token.kind == TOKEN_SYMBOL && r->token.symbol == symbol;
}

static bool
expect(Reader *r, char symbol)
{
	if (!is_symbol(r, symbol))
		return fail(r, GR_FORMULA_UNEXPECTED);
	advance(r);
	return true;
}

/* True if the token is the name of a keyword or column. Unquoted tokens are folded to lower case. */
static bool
is_named(const Reader *r, const char *name, bool may_be_quoted)
{
	return (!r->token.quoted || may_be_quoted) &&
		gr_is_named(r->text + r->token.at, r->token.nbytes, r->token.quoted, name);
}

/*
 * Variables
 */

/* Finds the column that the token names. */
static bool
find_column(Reader *r, int *column)
{
	*column = -1;
	if (r->token.kind != TOKEN_NAME)
		return fail(r, GR_FORMULA_UNEXPECTED);
	for (int k = 0; k < r->ncolumns; k++)
		if (is_named(r, r->columns[k].name, true))
		{
			if (*column >= 0)
				return fail(r, GR_FORMULA_AMBIGUOUS);
			*column = k;
		}
	return *column >= 0 && polled(r, r->ncolumns) ? true : fail(r, GR_FORMULA_UNKNOWN);
}

/* Returns the number of a variable, added if it is new, or -1 on failure. token: the name, for errors. */
static int
variable_of(Reader *r, int column, GrVariableKind kind, int degree, const Token *token)
{
	GrFormula  *formula = r->formula;
	GrFormulaFault fault = GR_FORMULA_OK;

	if (r->columns[column].kind == GR_COLUMN_FACTOR && kind == GR_VARIABLE_NUMBER)
		kind = GR_VARIABLE_FACTOR;
	/* `- y` may still remove the response; see check_response() */
	if (column == formula->response && r->response.nbytes == 0)
		r->response = *token;
	if (kind == GR_VARIABLE_FACTOR ? !r->columns[column].can_be_factor :
			 r->columns[column].kind == GR_COLUMN_OTHER)
		fault = GR_FORMULA_NOT_USABLE;
	else if (kind == GR_VARIABLE_POLY && r->columns[column].kind != GR_COLUMN_NUMBER)
		fault = GR_FORMULA_NOT_A_NUMBER;
	if (fault != GR_FORMULA_OK)
	{
		(void) fail_at(r, fault, token->at, token->nbytes);
		r->err->column = column;
		return -1;
	}
	for (int k = 0; k < formula->nvariables; k++)
	{
		const GrVariable *v = &formula->variables[k];

		if (v->column == column && v->kind == kind && v->degree == degree)
			return k;
	}
	if (formula->nvariables >= VARIABLES_MAX || !polled(r, formula->nvariables))
	{
		(void) fail_at(r, GR_FORMULA_TOO_MANY, token->at, token->nbytes);
		return -1;
	}
	formula->variables[formula->nvariables] = (GrVariable) {column, kind, degree, false};
	return formula->nvariables++;
}

/*
 * Terms
 */

/* True if a and b are products of the same variables. */
static bool
same_term(const GrFormulaTerm *a, const GrFormulaTerm *b)
{
	return memcmp(a->variable, b->variable, sizeof(a->variable)) == 0;
}

/* Returns the position of term in the stack at or after from, r->top if absent, or -1 on failure. */
static int
find_term(Reader *r, int from, const GrFormulaTerm *term)
{
	int			k = from;

	while (k < r->top && !same_term(&r->stack[k], term))
		k++;
	return polled(r, k - from) ? k : -1;
}

/* Pushes a term unless the stack already has it at or after from. Returns false on an error: too many, or canceled. */
static bool
push(Reader *r, int from, const GrFormulaTerm *term)
{
	int			k = find_term(r, from, term);

	if (k < 0)
		return false;
	if (k < r->top)
		return true;
	if (r->top - from >= GR_MAX_FEATURES || r->top >= STACK_MAX)
		return fail(r, GR_FORMULA_TOO_MANY);
	r->stack[r->top++] = *term;
	return true;
}

static bool
push_variable(Reader *r, int from, int variable)
{
	GrFormulaTerm term;

	if (variable < 0)
		return false;
	memset(&term, 0xff, sizeof(term));
	term.variable[0] = (uint16_t) variable;
	term.dummies = 0;
	return push(r, from, &term);
}

/* Makes the product of two terms: the union of their variables. Fails if there are too many. */
static bool
multiply(Reader *r, const GrFormulaTerm *a, const GrFormulaTerm *b, GrFormulaTerm *product)
{
	int			na = gr_formula_order(a);
	int			nb = gr_formula_order(b);
	int			n = 0;

	memset(product, 0xff, sizeof(*product));
	product->dummies = 0;
	for (int i = 0, j = 0; i < na || j < nb; n++)
	{
		int			u = i < na ? a->variable[i] : GR_NO_VARIABLE;
		int			v = j < nb ? b->variable[j] : GR_NO_VARIABLE;

		if (n == GR_FORMULA_ORDER_MAX)
			return fail(r, GR_FORMULA_ORDER);
		product->variable[n] = (uint16_t) (u < v ? u : v);
		i += u <= v ? 1 : 0;
		j += v <= u ? 1 : 0;
	}
	return true;
}

/* Replaces the lists [left, right) and [right, top) by their terms' products; keep: by both lists and products. */
static bool
cross(Reader *r, int left, int right, bool keep)
{
	int			end = r->top;
	int			from = end;
	int			kept = left;

	for (int i = left; i < right; i++)
		for (int j = right; j < end; j++)
		{
			GrFormulaTerm product;

			if (!multiply(r, &r->stack[i], &r->stack[j], &product) || !push(r, from, &product))
				return false;
		}
	/* one list, with each term once */
	from = keep ? right : end;
	kept = keep ? right : left;
	end = r->top;
	r->top = kept;
	for (int k = from; k < end; k++)
	{
		GrFormulaTerm term = r->stack[k];

		if (!push(r, left, &term))
			return false;
	}
	return true;
}

/* Removes the terms at or after right from the list [left, right), and from the stack. */
static bool
take_away(Reader *r, int left, int right)
{
	int			n = left;

	for (int i = left; i < right; i++)
	{
		bool		stays = true;

		for (int j = right; j < r->top && stays; j++)
			stays = !same_term(&r->stack[i], &r->stack[j]);
		if (!polled(r, r->top - right))
			return false;
		if (stays)
			r->stack[n++] = r->stack[i];
	}
	r->top = n;
	return true;
}

/* The grammar. Each function leaves its terms at the top of the stack. */

static bool read_sum(Reader *r);

/* Pushes all columns that are neither the response nor have a role. */
static bool
push_others(Reader *r)
{
	int			from = r->top;
	Token		token = r->token;

	for (int k = 0; k < r->ncolumns; k++)
		if (k != r->formula->response && !r->columns[k].has_role &&
			!push_variable(r, from, variable_of(r, k, GR_VARIABLE_NUMBER, 0, &token)))
			return false;
	return true;
}

/* Reads a degree. */
static bool
read_degree(Reader *r, int *degree)
{
	*degree = 0;
	if (r->token.kind != TOKEN_NUMBER)
		return fail(r, r->token.kind == TOKEN_END ? GR_FORMULA_ENDS : GR_FORMULA_BAD_DEGREE);
	for (size_t k = 0; k < r->token.nbytes; k++)
	{
		char		c = r->text[r->token.at + k];

		if (!gr_is_digit(c) || *degree > GR_POLY_DEGREE_MAX)
			return fail(r, GR_FORMULA_BAD_DEGREE);
		*degree = 10 * *degree + (c - '0');
	}
	if (*degree < 1 || *degree > GR_POLY_DEGREE_MAX)
		return fail(r, GR_FORMULA_BAD_DEGREE);
	advance(r);
	return true;
}

/* True if a bracket follows the token. */
static bool
is_called(const Reader *r)
{
	size_t		at = r->next;

	while (at < r->nbytes && gr_is_space(r->text[at]))
		at++;
	return at < r->nbytes && r->text[at] == '(';
}

/* Reads factor(name) or poly(name, degree). */
static bool
read_call(Reader *r)
{
	GrVariableKind kind = is_named(r, "factor", false) ? GR_VARIABLE_FACTOR : GR_VARIABLE_POLY;
	Token		token;
	int			column;
	int			degree = 0;

	if (kind == GR_VARIABLE_POLY && !is_named(r, "poly", false))
		return fail(r, GR_FORMULA_FOREIGN);
	advance(r);
	advance(r);
	token = r->token;
	if (!find_column(r, &column))
		return false;
	advance(r);
	if (kind == GR_VARIABLE_POLY && (!expect(r, ',') || !read_degree(r, &degree)))
		return false;
	return expect(r, ')') && push_variable(r, r->top, variable_of(r, column, kind, degree, &token));
}

static bool
read_brackets(Reader *r)
{
	if (++r->depth > GR_FORMULA_DEPTH_MAX)
		return fail(r, GR_FORMULA_TOO_DEEP);
	advance(r);
	if (!read_sum(r))
		return false;
	r->depth--;
	return expect(r, ')');
}

/* Reads an optional ^ degree, and crosses the terms at or after left with themselves that often. */
static bool
read_power(Reader *r, int left)
{
	int			n = r->top - left;
	int			degree;

	if (!is_symbol(r, '^'))
		return true;
	advance(r);
	if (!read_degree(r, &degree))
		return false;
	/* products of n terms have at most n of them */
	for (int k = 1; k < degree && k < n; k++)
	{
		int			right = r->top;

		if (right + n > STACK_MAX)
			return fail(r, GR_FORMULA_TOO_MANY);
		/* cross() keeps the first n terms in their place */
		memcpy(r->stack + right, r->stack + left, (size_t) n * sizeof(GrFormulaTerm));
		r->top += n;
		if (!cross(r, left, right, true))
			return false;
	}
	return true;
}

/* Reads a name, a call, or `.` or brackets with an optional degree. */
static bool
read_atom(Reader *r)
{
	int			left = r->top;
	int			column;

	if (is_symbol(r, '('))
		return read_brackets(r) && read_power(r, left);
	if (r->token.kind == TOKEN_NUMBER)
		return fail(r, GR_FORMULA_BAD_NUMBER);
	if (r->token.kind == TOKEN_NAME && !r->token.quoted && is_called(r))
		return read_call(r);
	if (is_symbol(r, '.'))
	{
		if (!push_others(r))
			return false;
		advance(r);
		return read_power(r, left);
	}
	if (!find_column(r, &column) ||
			 !push_variable(r, r->top, variable_of(r, column, GR_VARIABLE_NUMBER, 0, &r->token)))
		return false;
	advance(r);
	return true;
}

static bool
read_product(Reader *r)
{
	int			left = r->top;

	if (!read_atom(r))
		return false;
	while (is_symbol(r, ':'))
	{
		int			right = r->top;

		advance(r);
		if (!read_atom(r) || !cross(r, left, right, false))
			return false;
	}
	return true;
}

static bool
read_cross(Reader *r)
{
	int			left = r->top;

	if (!read_product(r))
		return false;
	while (is_symbol(r, '*'))
	{
		int			right = r->top;

		advance(r);
		if (!read_product(r) || !cross(r, left, right, true))
			return false;
	}
	return true;
}

/* Reads 0 or 1, if it is the token, and sets *is. minus: it is subtracted. */
static bool
read_intercept(Reader *r, bool minus, bool *is)
{
	char		digit = r->token.kind == TOKEN_NUMBER ? r->text[r->token.at] : '\0';

	*is = r->token.kind == TOKEN_NUMBER;
	if (!*is)
		return true;
	if (r->token.nbytes != 1 || (digit != '0' && digit != '1'))
		return fail(r, GR_FORMULA_BAD_NUMBER);
	r->formula->intercept = (digit == '1') != minus;
	advance(r);
	if (is_symbol(r, ':') || is_symbol(r, '*'))
		return fail(r, GR_FORMULA_UNEXPECTED);
	return true;
}

static bool
read_sum(Reader *r)
{
	int			left = r->top;
	bool		minus = is_symbol(r, '-');

	if (minus || is_symbol(r, '+'))
		advance(r);
	for (;;)
	{
		int			right = r->top;
		int			end;
		bool		is_intercept;

		if (!read_intercept(r, minus, &is_intercept) || (!is_intercept && !read_cross(r)))
			return false;
		if (minus && !is_intercept && !take_away(r, left, right))
			return false;
		/* terms that the sum already has are not added again */
		end = r->top;
		if (!minus)
			r->top = right;
		for (int k = right; !minus && k < end; k++)
		{
			GrFormulaTerm term = r->stack[k];

			if (!push(r, left, &term))
				return false;
		}
		minus = is_symbol(r, '-');
		if (!minus && !is_symbol(r, '+'))
			return true;
		advance(r);
	}
}

static bool
read_response(Reader *r)
{
	if (is_symbol(r, '~'))
		return fail(r, GR_FORMULA_NO_RESPONSE);
	if (r->token.kind == TOKEN_NAME && is_called(r))
		return fail(r, GR_FORMULA_FOREIGN);
	if (!find_column(r, &r->formula->response))
		return false;
	advance(r);
	return expect(r, '~');
}

/* Fails if the response is in a term on the right side. */
static bool
check_response(Reader *r)
{
	const GrFormula *formula = r->formula;

	for (int v = 0; v < formula->nvariables; v++)
		if (formula->variables[v].used && formula->variables[v].column == formula->response)
			return fail_at(r, GR_FORMULA_RESPONSE_USED, r->response.at, r->response.nbytes);
	return true;
}

/* Order and contrasts of terms */

/* Sorts terms by their number of variables, keeping their order otherwise, and marks the used variables. */
static void
sort_terms(GrFormula *formula, const GrFormulaTerm *unsorted)
{
	formula->nterms = 0;
	for (int order = 1; order <= GR_FORMULA_ORDER_MAX; order++)
		for (const GrFormulaTerm *term = unsorted; term->variable[0] != GR_NO_VARIABLE; term++)
			if (gr_formula_order(term) == order)
			{
				formula->terms[formula->nterms++] = *term;
				for (int i = 0; i < order; i++)
					formula->variables[term->variable[i]].used = true;
			}
}

/* True if all variables of term, except number `without`, are in other. */
static bool
is_margin(const GrFormulaTerm *term, int without, const GrFormulaTerm *other)
{
	int			n = gr_formula_order(term);
	int			m = gr_formula_order(other);

	for (int i = 0, j = 0; i < n; i++)
	{
		if (i == without)
			continue;
		while (j < m && other->variable[j] < term->variable[i])
			j++;
		if (j == m || other->variable[j] != term->variable[i])
			return false;
	}
	return true;
}

/*
 * Chooses contrasts by the rule of Chambers and Hastie (1992), Statistical Models in S, page 38, as in R's terms(): a
 * factor is coded by contrasts if the term without it is empty, or is part of an earlier term. Without an intercept,
 * the first factor of the first term that has one gets all levels.
 */
static bool
choose_contrasts(Reader *r)
{
	GrFormula  *formula = r->formula;
	bool		full = !formula->intercept;

	for (int t = 0; t < formula->nterms; t++)
	{
		GrFormulaTerm *term = &formula->terms[t];
		int			n = gr_formula_order(term);

		for (int i = 0; i < n; i++)
		{
			bool		covered = n == 1;

			if (formula->variables[term->variable[i]].kind != GR_VARIABLE_FACTOR)
				continue;
			for (int u = 0; u < t && !covered; u++)
				covered = is_margin(term, i, &formula->terms[u]);
			if (!covered || full)
				term->dummies |= (uint8_t) (1 << i);
			full = false;
			if (!polled(r, 10 * (int64_t) t))
				return false;
		}
	}
	return true;
}

bool
gr_formula_read(GrFormula *formula, const GrFormulaText *from, GrMemory memory, const GrHost *host, GrFormulaError *err)
{
	Reader		r = {
		.formula = formula,.text = from->text == NULL ? "." : from->text,
		.nbytes = from->text == NULL ? 1 : from->nbytes,.columns = from->columns,.ncolumns = from->ncolumns,
		.poll = {.host = host},.err = err
	};

	*err = (GrFormulaError) {.column = -1};
	formula->nvariables = formula->nterms = 0;
	if (r.nbytes > GR_FORMULA_NBYTES_MAX)
		return fail_at(&r, GR_FORMULA_TOO_LONG, 0, 0);
	formula->variables = memory.take(memory.arg, VARIABLES_MAX * sizeof(GrVariable));
	formula->terms = memory.take(memory.arg, GR_MAX_FEATURES * sizeof(GrFormulaTerm));
	r.stack = memory.take(memory.arg, (STACK_MAX + 1) * sizeof(GrFormulaTerm));
	if (formula->variables == NULL || formula->terms == NULL || r.stack == NULL)
		return fail_at(&r, GR_FORMULA_NO_MEMORY, 0, 0);
	advance(&r);
	if ((from->text != NULL && !read_response(&r)) || !read_sum(&r))
		return false;
	if (r.token.kind != TOKEN_END)
		return fail(&r, GR_FORMULA_UNEXPECTED);
	memset(&r.stack[r.top], 0xff, sizeof(GrFormulaTerm));
	sort_terms(formula, r.stack);
	return check_response(&r) && choose_contrasts(&r);
}
