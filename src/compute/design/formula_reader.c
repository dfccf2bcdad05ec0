/*
 * formula_reader.c: tokens, columns and variables of a formula; see formula_reader.h.
 */
#include <string.h>

#include "compute/base/token.h"
#include "compute/design/formula_reader.h"

bool
gr_formula_fail_at(GrFormulaReader *r, GrFormulaFault fault, size_t at, size_t nbytes)
{
	if (r->err->fault == GR_FORMULA_OK)
		*r->err = (GrFormulaError) {.fault = fault,.at = at,.nbytes = nbytes,.column = -1};
	return false;
}

bool
gr_formula_fail(GrFormulaReader *r, GrFormulaFault fault)
{
	if (fault == GR_FORMULA_UNEXPECTED && r->token.kind == GR_TOKEN_END)
		fault = GR_FORMULA_ENDS;
	/* as a term, ^ is supported only after `.` and brackets */
	if (fault == GR_FORMULA_UNEXPECTED &&
		(r->token.kind == GR_TOKEN_FOREIGN || (r->token.kind == GR_TOKEN_SYMBOL && r->token.symbol == '^')))
		fault = GR_FORMULA_FOREIGN;
	return gr_formula_fail_at(r, fault, r->token.at, r->token.nbytes);
}

bool
gr_formula_polled(GrFormulaReader *r, int64_t work)
{
	return gr_poll(&r->poll, work) ? gr_formula_fail(r, GR_FORMULA_CANCELED) : true;
}

/*
 * Tokens
 */

static size_t
skip_space(const GrFormulaReader *r, size_t at)
{
	while (at < r->nbytes && gr_is_space(r->text[at]))
		at++;
	return at;
}

/* Returns the end of the number at a position, with an exponent that may have a sign. Letters may follow the digits. */
static size_t
end_of_number(const GrFormulaReader *r, size_t at)
{
	bool		decimal = true;

	for (; at < r->nbytes; at++)
	{
		char		c = r->text[at];
		bool		is_exponent = decimal && (c == 'e' || c == 'E');

		if (!gr_goes_on_name(c) && c != '.')
			break;
		decimal = decimal && (gr_is_digit(c) || c == '.');
		if (is_exponent && at + 2 < r->nbytes && (r->text[at + 1] == '-' || r->text[at + 1] == '+') &&
			gr_is_digit(r->text[at + 2]))
			at++;
	}
	return at;
}

void
gr_formula_advance(GrFormulaReader *r)
{
	GrToken	   *token = &r->token;
	size_t		at = r->next;
	size_t		end;
	char		c;

	r->end = at;
	at = skip_space(r, at);
	*token = (GrToken) {.kind = GR_TOKEN_END,.at = at};
	end = at;
	c = at < r->nbytes ? r->text[at] : '\0';
	if (at >= r->nbytes)
		token->kind = GR_TOKEN_END;
	else if (gr_begins_name(c))
	{
		token->kind = GR_TOKEN_NAME;
		while (end < r->nbytes && gr_goes_on_name(r->text[end]))
			end++;
	}
	else if (c == '"' && (end = gr_end_of_quoted(r->text, r->nbytes, at)) > at + 2)
	{
		token->kind = GR_TOKEN_NAME;
		token->quoted = true;
	}
	else if (gr_is_digit(c) || (c == '.' && at + 1 < r->nbytes && gr_is_digit(r->text[at + 1])))
	{
		token->kind = GR_TOKEN_NUMBER;
		end = end_of_number(r, at);
	}
	else
	{
		token->kind = c != '\0' && strchr("~+-*:(),.^/", c) != NULL ? GR_TOKEN_SYMBOL : GR_TOKEN_FOREIGN;
		token->symbol = c;
		end = at + 1;
		if (c == '%' && r->nbytes - at >= 4 && memcmp(r->text + at, "%in%", 4) == 0)
		{
			token->kind = GR_TOKEN_SYMBOL;
			end = at + 4;
		}
	}
	token->nbytes = end - at;
	r->next = end;
}

bool
gr_formula_is_symbol(const GrFormulaReader *r, char symbol)
{
	return r->token.kind == GR_TOKEN_SYMBOL && r->token.symbol == symbol;
}

bool
gr_formula_expect(GrFormulaReader *r, char symbol)
{
	if (!gr_formula_is_symbol(r, symbol))
		return gr_formula_fail(r, GR_FORMULA_UNEXPECTED);
	gr_formula_advance(r);
	return true;
}

bool
gr_formula_is_named(const GrFormulaReader *r, const char *name, bool may_be_quoted)
{
	return (!r->token.quoted || may_be_quoted) &&
		gr_is_named(r->text + r->token.at, r->token.nbytes, r->token.quoted, name);
}

/*
 * Variables
 */

bool
gr_formula_find_column(GrFormulaReader *r, int *column)
{
	*column = -1;
	if (r->token.kind != GR_TOKEN_NAME)
		return gr_formula_fail(r, GR_FORMULA_UNEXPECTED);
	for (int k = 0; k < r->ncolumns; k++)
		if (gr_formula_is_named(r, r->columns[k].name, true))
		{
			if (*column >= 0)
				return gr_formula_fail(r, GR_FORMULA_AMBIGUOUS);
			*column = k;
		}
	return *column >= 0 && gr_formula_polled(r, r->ncolumns) ? true : gr_formula_fail(r, GR_FORMULA_UNKNOWN);
}

/* Fails if a column cannot be a variable of this kind. */
static bool
check_kind(GrFormulaReader *r, int column, GrVariableKind kind, const GrToken *token)
{
	GrFormulaFault fault = GR_FORMULA_OK;

	if (kind == GR_VARIABLE_FACTOR ? !r->columns[column].can_be_factor :
		r->columns[column].kind == GR_COLUMN_OTHER)
		fault = GR_FORMULA_NOT_USABLE;
	else if (kind == GR_VARIABLE_POLY && r->columns[column].kind != GR_COLUMN_NUMBER)
		fault = GR_FORMULA_NOT_A_NUMBER;
	if (fault == GR_FORMULA_OK)
		return true;
	(void) gr_formula_fail_at(r, fault, token->at, token->nbytes);
	r->err->column = column;
	return false;
}

int
gr_formula_variable(GrFormulaReader *r, int column, GrVariableKind kind, int degree, const GrToken *token)
{
	GrFormula  *formula = r->formula;
	bool		is_column = kind != GR_VARIABLE_EXPRESSION;

	if (is_column && r->columns[column].kind == GR_COLUMN_FACTOR && kind == GR_VARIABLE_NUMBER)
		kind = GR_VARIABLE_FACTOR;
	/* `- y` may still remove the response; see check_response() */
	if (gr_formula_is_response(formula, column, kind) && r->response.nbytes == 0)
		r->response = *token;
	if (is_column && !check_kind(r, column, kind, token))
		return -1;
	for (int k = 0; k < formula->nvariables; k++)
	{
		const GrVariable *v = &formula->variables[k];

		if (v->column == column && v->kind == kind && v->degree == degree)
			return k;
	}
	if (formula->nvariables >= GR_FORMULA_VARIABLES_MAX || !gr_formula_polled(r, formula->nvariables))
	{
		(void) gr_formula_fail_at(r, GR_FORMULA_TOO_MANY, token->at, token->nbytes);
		return -1;
	}
	formula->variables[formula->nvariables] = (GrVariable) {column, kind, degree, false};
	return formula->nvariables++;
}

char
gr_formula_next_character(const GrFormulaReader *r)
{
	size_t		at = skip_space(r, r->next);

	return at < r->nbytes ? r->text[at] : '\0';
}

bool
gr_formula_is_called(const GrFormulaReader *r)
{
	return r->token.kind == GR_TOKEN_NAME && !r->token.quoted && gr_formula_next_character(r) == '(';
}
