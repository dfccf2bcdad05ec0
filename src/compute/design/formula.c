/*
 * formula.c: reads R formulas into terms, in R's order and with R's choice of contrasts.
 *
 * A recursive descent by the grammar in formula.h, over a stack of terms: each function leaves the terms of its part of
 * the text at the top of the stack. The depth of brackets and the size of the stack are limited.
 */
#include <string.h>

#include "compute/base/token.h"
#include "compute/design/formula.h"
#include "compute/design/formula_expression.h"
#include "compute/design/formula_reader.h"

/* Most terms on the stack: two lists and their products, each of at most GR_MAX_FEATURES. */
#define STACK_MAX (4 * GR_MAX_FEATURES)

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
find_term(GrFormulaReader *r, int from, const GrFormulaTerm *term)
{
	int			k = from;

	while (k < r->top && !same_term(&r->stack[k], term))
		k++;
	return gr_formula_polled(r, k - from) ? k : -1;
}

/* Pushes a term unless the stack already has it at or after from. Returns false on an error: too many, or canceled. */
static bool
push(GrFormulaReader *r, int from, const GrFormulaTerm *term)
{
	int			k = find_term(r, from, term);

	if (k < 0)
		return false;
	if (k < r->top)
		return true;
	if (r->top - from >= GR_MAX_FEATURES || r->top >= STACK_MAX)
		return gr_formula_fail(r, GR_FORMULA_TOO_MANY);
	r->stack[r->top++] = *term;
	return true;
}

static bool
push_variable(GrFormulaReader *r, int from, int variable)
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
multiply(GrFormulaReader *r, const GrFormulaTerm *a, const GrFormulaTerm *b, GrFormulaTerm *product)
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
			return gr_formula_fail(r, GR_FORMULA_ORDER);
		product->variable[n] = (uint16_t) (u < v ? u : v);
		i += u <= v ? 1 : 0;
		j += v <= u ? 1 : 0;
	}
	return true;
}

/* Replaces the lists [left, right) and [right, top) by their terms' products; keep: by both lists and products. */
static bool
cross(GrFormulaReader *r, int left, int right, bool keep)
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
take_away(GrFormulaReader *r, int left, int right)
{
	int			n = left;

	for (int i = left; i < right; i++)
	{
		bool		stays = true;

		for (int j = right; j < r->top && stays; j++)
			stays = !same_term(&r->stack[i], &r->stack[j]);
		if (!gr_formula_polled(r, r->top - right))
			return false;
		if (stays)
			r->stack[n++] = r->stack[i];
	}
	r->top = n;
	return true;
}

/* The grammar. Each function leaves its terms at the top of the stack. */

static bool read_sum(GrFormulaReader *r);

/* Pushes all columns that neither make the response nor have a role. */
static bool
push_others(GrFormulaReader *r)
{
	int			from = r->top;
	GrToken		token = r->token;

	for (int k = 0; k < r->ncolumns; k++)
		if (!gr_formula_makes_response(r->formula, k) && !r->columns[k].has_role &&
			!push_variable(r, from, gr_formula_variable(r, k, GR_VARIABLE_NUMBER, 0, &token)))
			return false;
	return true;
}

/* Reads a degree. */
static bool
read_degree(GrFormulaReader *r, int *degree)
{
	*degree = 0;
	if (r->token.kind != GR_TOKEN_NUMBER)
		return gr_formula_fail(r, r->token.kind == GR_TOKEN_END ? GR_FORMULA_ENDS : GR_FORMULA_BAD_DEGREE);
	for (size_t k = 0; k < r->token.nbytes; k++)
	{
		char		c = r->text[r->token.at + k];

		if (!gr_is_digit(c) || *degree > GR_POLY_DEGREE_MAX)
			return gr_formula_fail(r, GR_FORMULA_BAD_DEGREE);
		*degree = 10 * *degree + (c - '0');
	}
	if (*degree < 1 || *degree > GR_POLY_DEGREE_MAX)
		return gr_formula_fail(r, GR_FORMULA_BAD_DEGREE);
	gr_formula_advance(r);
	return true;
}

/* Reads factor(name), poly(name, degree) or a function of expressions. */
static bool
read_call(GrFormulaReader *r)
{
	GrVariableKind kind = gr_formula_is_named(r, "factor", false) ? GR_VARIABLE_FACTOR : GR_VARIABLE_POLY;
	GrToken		token = r->token;
	int			column;
	int			degree = 0;

	if (gr_formula_is_function(r))
	{
		if (!gr_formula_read_function(r, &column))
			return false;
		token.nbytes = r->end - token.at;
		return push_variable(r, r->top, gr_formula_variable(r, column, GR_VARIABLE_EXPRESSION, 0, &token));
	}
	if (kind == GR_VARIABLE_POLY && !gr_formula_is_named(r, "poly", false))
		return gr_formula_fail(r, gr_formula_is_named(r, "offset", false) ? GR_FORMULA_UNEXPECTED :
							   GR_FORMULA_NO_FUNCTION);
	gr_formula_advance(r);
	gr_formula_advance(r);
	token = r->token;
	if (!gr_formula_find_column(r, &column))
		return false;
	gr_formula_advance(r);
	if (kind == GR_VARIABLE_POLY && (!gr_formula_expect(r, ',') || !read_degree(r, &degree)))
		return false;
	return gr_formula_expect(r, ')') && push_variable(r, r->top, gr_formula_variable(r, column, kind, degree, &token));
}

static bool
read_brackets(GrFormulaReader *r)
{
	if (++r->depth > GR_FORMULA_DEPTH_MAX)
		return gr_formula_fail(r, GR_FORMULA_TOO_DEEP);
	gr_formula_advance(r);
	if (!read_sum(r))
		return false;
	r->depth--;
	return gr_formula_expect(r, ')');
}

/*
 * Reads an optional ^ degree, and multiplies the terms at or after left with themselves that often. A term times itself
 * is the term, so lower powers remain. As in R, products are in the order of their first factor.
 */
static bool
read_power(GrFormulaReader *r, int left)
{
	int			n = r->top - left;
	int			from = r->top;
	int			degree;

	if (!gr_formula_is_symbol(r, '^'))
		return true;
	gr_formula_advance(r);
	if (!read_degree(r, &degree))
		return false;
	/* a product of n terms has at most n of them; the terms stay below the products until these are complete */
	for (int k = 0; k < degree && k < n; k++)
	{
		int			right = r->top;

		if (right + n > STACK_MAX)
			return gr_formula_fail(r, GR_FORMULA_TOO_MANY);
		memcpy(r->stack + right, r->stack + left, (size_t) n * sizeof(GrFormulaTerm));
		r->top += n;
		if (k > 0 && !cross(r, from, right, false))
			return false;
	}
	if (n > 0)
	{
		memmove(r->stack + left, r->stack + from, (size_t) (r->top - from) * sizeof(GrFormulaTerm));
		r->top -= n;
	}
	return true;
}

/* Reads a name, a call, or `.` or brackets with an optional degree. */
static bool
read_atom(GrFormulaReader *r)
{
	int			left = r->top;
	int			column;

	if (gr_formula_is_symbol(r, '('))
		return read_brackets(r) && read_power(r, left);
	if (r->token.kind == GR_TOKEN_NUMBER)
		return gr_formula_fail(r, GR_FORMULA_BAD_NUMBER);
	if (gr_formula_is_called(r))
		return read_call(r);
	if (gr_formula_is_symbol(r, '.'))
	{
		if (!push_others(r))
			return false;
		gr_formula_advance(r);
		return read_power(r, left);
	}
	if (!gr_formula_find_column(r, &column) ||
			 !push_variable(r, r->top, gr_formula_variable(r, column, GR_VARIABLE_NUMBER, 0, &r->token)))
		return false;
	gr_formula_advance(r);
	return true;
}

static bool
read_product(GrFormulaReader *r)
{
	int			left = r->top;

	if (!read_atom(r))
		return false;
	while (gr_formula_is_symbol(r, ':'))
	{
		int			right = r->top;

		gr_formula_advance(r);
		if (!read_atom(r) || !cross(r, left, right, false))
			return false;
	}
	return true;
}

/* Makes the product of the terms [left, right): the union of their variables. An empty list gives an empty product. */
static bool
multiply_all(GrFormulaReader *r, int left, int right, GrFormulaTerm *product)
{
	memset(product, 0xff, sizeof(*product));
	product->dummies = 0;
	for (int k = left; k < right; k++)
	{
		GrFormulaTerm so_far = *product;

		if (!multiply(r, &so_far, &r->stack[k], product))
			return false;
	}
	return gr_formula_polled(r, right - left);
}

/* Multiplies each term of the list [from, to) by factor, in place, and drops repeated terms. Ends the stack at them. */
static bool
multiply_each(GrFormulaReader *r, int left, int from, int to, const GrFormulaTerm *factor)
{
	for (int k = from; k < to; k++)
	{
		GrFormulaTerm product;

		if (!multiply(r, &r->stack[k], factor, &product))
			return false;
		/* no term that is still to be multiplied is overwritten: the list never grows */
		r->top = k == from ? from : r->top;
		if (!push(r, left, &product))
			return false;
	}
	return true;
}

/* Reads products that are nested by %in%: each term on the left is multiplied by all terms on the right. */
static bool
read_nested(GrFormulaReader *r)
{
	int			left = r->top;

	if (!read_product(r))
		return false;
	while (gr_formula_is_symbol(r, '%'))
	{
		int			right = r->top;
		GrFormulaTerm all;

		gr_formula_advance(r);
		if (!read_product(r) || !multiply_all(r, right, r->top, &all))
			return false;
		r->top = right;
		if (!multiply_each(r, left, left, right, &all))
			return false;
	}
	return true;
}

/* Makes a / b of the lists a, [left, right), and b, [right, top): a, and each term of b times all terms of a. */
static bool
nest(GrFormulaReader *r, int left, int right)
{
	GrFormulaTerm all;

	return multiply_all(r, left, right, &all) && multiply_each(r, left, right, r->top, &all);
}

static bool
read_cross(GrFormulaReader *r)
{
	int			left = r->top;

	if (!read_nested(r))
		return false;
	for (;;)
	{
		int			right = r->top;
		bool		nests = gr_formula_is_symbol(r, '/');

		if (!nests && !gr_formula_is_symbol(r, '*'))
			return true;
		gr_formula_advance(r);
		if (!read_nested(r) || !(nests ? nest(r, left, right) : cross(r, left, right, true)))
			return false;
	}
}

/* Fails if the token goes on with a product. */
static bool
ends_term(GrFormulaReader *r)
{
	for (const char *symbol = ":*/%^"; *symbol != '\0'; symbol++)
		if (gr_formula_is_symbol(r, *symbol))
			return gr_formula_fail(r, GR_FORMULA_UNEXPECTED);
	return true;
}

/* Reads 0 or 1, if it is the token, and sets *is. minus: it is subtracted. */
static bool
read_intercept(GrFormulaReader *r, bool minus, bool *is)
{
	char		digit = r->token.kind == GR_TOKEN_NUMBER ? r->text[r->token.at] : '\0';

	*is = r->token.kind == GR_TOKEN_NUMBER;
	if (!*is)
		return true;
	if (r->token.nbytes != 1 || (digit != '0' && digit != '1'))
		return gr_formula_fail(r, GR_FORMULA_BAD_NUMBER);
	r->formula->intercept = (digit == '1') != minus;
	gr_formula_advance(r);
	return ends_term(r);
}

/* Reads offset(arithmetic), if the token begins it, and sets *is. minus: it is subtracted, which has no meaning. */
static bool
read_offset(GrFormulaReader *r, bool minus, bool *is)
{
	*is = gr_formula_is_called(r) && gr_formula_is_named(r, "offset", false) && !minus;
	return !*is || (gr_formula_read_offset(r) && ends_term(r));
}

static bool
read_sum(GrFormulaReader *r)
{
	int			left = r->top;
	bool		minus = gr_formula_is_symbol(r, '-');

	if (minus || gr_formula_is_symbol(r, '+'))
		gr_formula_advance(r);
	for (;;)
	{
		int			right = r->top;
		int			end;
		bool		is_intercept;
		bool		is_offset;

		if (!read_intercept(r, minus, &is_intercept) || !read_offset(r, minus || is_intercept, &is_offset))
			return false;
		if (!is_intercept && !is_offset && !read_cross(r))
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
		minus = gr_formula_is_symbol(r, '-');
		if (!minus && !gr_formula_is_symbol(r, '+'))
			return true;
		gr_formula_advance(r);
	}
}

/* True if the token begins arithmetic that is more than a name. */
static bool
begins_arithmetic(const GrFormulaReader *r)
{
	char		next = gr_formula_next_character(r);

	if (r->token.kind == GR_TOKEN_NAME)
		return gr_formula_is_called(r) || (next != '\0' && strchr("+-*/^", next) != NULL);
	return r->token.kind == GR_TOKEN_NUMBER || gr_formula_is_symbol(r, '(') || gr_formula_is_symbol(r, '-') ||
		gr_formula_is_symbol(r, '+');
}

static bool
read_response(GrFormulaReader *r)
{
	if (gr_formula_is_symbol(r, '~'))
		return gr_formula_fail(r, GR_FORMULA_NO_RESPONSE);
	if (begins_arithmetic(r))
		return gr_formula_read_response(r) && gr_formula_expect(r, '~');
	if (!gr_formula_find_column(r, &r->formula->response))
		return false;
	gr_formula_advance(r);
	return gr_formula_expect(r, '~');
}

/* Fails if the response is in a term on the right side. */
static bool
check_response(GrFormulaReader *r)
{
	const GrFormula *formula = r->formula;

	for (int v = 0; v < formula->nvariables; v++)
		if (formula->variables[v].used &&
			gr_formula_is_response(formula, formula->variables[v].column, formula->variables[v].kind))
			return gr_formula_fail_at(r, GR_FORMULA_RESPONSE_USED, r->response.at, r->response.nbytes);
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
choose_contrasts(GrFormulaReader *r)
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
			if (!gr_formula_polled(r, 10 * (int64_t) t))
				return false;
		}
	}
	return true;
}

bool
gr_formula_read(GrFormula *formula, const GrFormulaText *from, GrMemory memory, const GrHost *host, GrFormulaError *err)
{
	GrFormulaReader		r = {
		.formula = formula,.text = from->text == NULL ? "." : from->text,
		.nbytes = from->text == NULL ? 1 : from->nbytes,.columns = from->columns,.ncolumns = from->ncolumns,
		.memory = memory,.poll = {.host = host},.err = err
	};

	*err = (GrFormulaError) {.column = -1};
	formula->nvariables = formula->nterms = formula->nexpressions = 0;
	formula->expressions = NULL;
	formula->response_expression = formula->offset = (GrExpression) {.nsteps = 0};
	if (r.nbytes > GR_FORMULA_NBYTES_MAX)
		return gr_formula_fail_at(&r, GR_FORMULA_TOO_LONG, 0, 0);
	formula->variables = memory.take(memory.arg, GR_FORMULA_VARIABLES_MAX * sizeof(GrVariable));
	formula->terms = memory.take(memory.arg, GR_MAX_FEATURES * sizeof(GrFormulaTerm));
	r.stack = memory.take(memory.arg, (STACK_MAX + 1) * sizeof(GrFormulaTerm));
	if (formula->variables == NULL || formula->terms == NULL || r.stack == NULL)
		return gr_formula_fail_at(&r, GR_FORMULA_NO_MEMORY, 0, 0);
	gr_formula_advance(&r);
	if ((from->text != NULL && !read_response(&r)) || !read_sum(&r))
		return false;
	if (r.token.kind != GR_TOKEN_END)
		return gr_formula_fail(&r, GR_FORMULA_UNEXPECTED);
	memset(&r.stack[r.top], 0xff, sizeof(GrFormulaTerm));
	sort_terms(formula, r.stack);
	return check_response(&r) && choose_contrasts(&r);
}
