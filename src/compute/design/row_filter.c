/*
 * row_filter.c: reads the text of a filter into steps. A recursive descent by the grammar in row_filter.h, of limited
 * depth.
 */
#include "compute/design/row_filter.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/base/token.h"

/*
 * Most bytes of a token shown in messages, which have room for this and a name. Longer tokens are left out, as cutting
 * one could split a character.
 */
#define SHOWN_NBYTES 100

typedef enum TokenKind
{
	TOKEN_END,
	TOKEN_NAME,
	TOKEN_NUMBER,
	TOKEN_STRING,
	TOKEN_OPERATOR,
	TOKEN_SYMBOL				/* anything else, usually one byte */
} TokenKind;

typedef struct Token
{
	TokenKind	kind;
	bool		quoted;			/* a quoted name */
	GrFilterOp	op;				/* TOKEN_OPERATOR only */
	size_t		at;
	size_t		nbytes;
} Token;

typedef struct Reader
{
	const char *text;
	size_t		nbytes;
	size_t		next;			/* position after the token */
	Token		token;
	const GrFilterColumns *columns;
	GrFilterStep *steps;
	int			nsteps;
	int			on_stack;		/* truth values on the stack after the steps so far */
	int			depth;			/* levels of brackets */
	GrFilterFault *fault;
	GrError    *err;
} Reader;

typedef enum ConstantKind
{
	CONSTANT_NUMBER,
	CONSTANT_STRING,
	CONSTANT_BOOLEAN,
	CONSTANT_NULL
} ConstantKind;

typedef struct Constant
{
	ConstantKind kind;
	Token		token;			/* the string, or the number without its sign */
	double		value;
	float		single;			/* a number rounded to float4; infinite or 0 if out of float4's range */
} Constant;

/*
 * Failures
 */

/* Fails at a token. format takes the token by %.*s, unless the token is too long. */
#define FAIL_AT(r, token_, fault_, format, ...) \
	(*(r)->fault = (fault_), gr_fail((r)->err, GR_INVALID, (int64_t) (token_)->at, format, __VA_ARGS__))

static bool
fail_syntax(Reader *r)
{
	const Token *token = &r->token;

	if (token->kind == TOKEN_END)
		return FAIL_AT(r, token, GR_FILTER_SYNTAX, "%s", "syntax error at end of filter");
	if (token->nbytes > SHOWN_NBYTES)
		return FAIL_AT(r, token, GR_FILTER_SYNTAX, "%s", "syntax error in filter");
	return FAIL_AT(r, token, GR_FILTER_SYNTAX, "syntax error at or near \"%.*s\"", (int) token->nbytes,
				   r->text + token->at);
}

static bool
fail_limit(Reader *r, const char *what)
{
	return FAIL_AT(r, &r->token, GR_FILTER_LIMIT, "%s", what);
}

/* Fails at a token. what: the message after the column's name. */
static bool
fail_mismatch(Reader *r, const Token *at, int column, const char *what)
{
	return FAIL_AT(r, at, GR_FILTER_MISMATCH, "column \"%.*s\" %s", SHOWN_NBYTES, r->columns->column[column].name,
				   what);
}

/*
 * Tokens
 */

/* Returns the end of digits, a point, digits and an exponent that begin at `at`. */
static size_t
end_of_number(const Reader *r, size_t at)
{
	size_t		exponent;

	while (at < r->nbytes && gr_is_digit(r->text[at]))
		at++;
	if (at < r->nbytes && r->text[at] == '.')
		at++;
	while (at < r->nbytes && gr_is_digit(r->text[at]))
		at++;
	if (at >= r->nbytes || (r->text[at] != 'e' && r->text[at] != 'E'))
		return at;
	exponent = at + 1;
	if (exponent < r->nbytes && (r->text[exponent] == '+' || r->text[exponent] == '-'))
		exponent++;
	if (exponent >= r->nbytes || !gr_is_digit(r->text[exponent]))
		return at;
	while (exponent < r->nbytes && gr_is_digit(r->text[exponent]))
		exponent++;
	return exponent;
}

/* Returns the length of the operator at `at`, and sets *op; 0 if there is none. */
static size_t
read_operator(const Reader *r, size_t at, GrFilterOp *op)
{
	static const struct
	{
		const char *text;
		GrFilterOp	op;
	}			operators[] = {
		{"<>", GR_FILTER_NE}, {"!=", GR_FILTER_NE}, {"<=", GR_FILTER_LE}, {">=", GR_FILTER_GE},
		{"=", GR_FILTER_EQ}, {"<", GR_FILTER_LT}, {">", GR_FILTER_GT}
	};

	for (size_t k = 0; k < sizeof(operators) / sizeof(operators[0]); k++)
	{
		size_t		n = strlen(operators[k].text);

		if (r->nbytes - at < n || memcmp(r->text + at, operators[k].text, n) != 0)
			continue;
		/* like SQL, takes a sign after != as a part of the operator */
		if (operators[k].text[0] == '!' && at + n < r->nbytes && strchr("+-", r->text[at + n]) != NULL)
			return 0;
		*op = operators[k].op;
		return n;
	}
	return 0;
}

/* Reads the next token. A number followed by letters, and a quote without its end, become symbols. */
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
	else if ((c == '"' || c == '\'') && (end = gr_end_of_quoted(r->text, r->nbytes, at)) > (c == '"' ? at + 2 : at))
	{
		token->kind = c == '"' ? TOKEN_NAME : TOKEN_STRING;
		token->quoted = true;
	}
	else if (gr_is_digit(c) || (c == '.' && at + 1 < r->nbytes && gr_is_digit(r->text[at + 1])))
	{
		end = end_of_number(r, at);
		token->kind = TOKEN_NUMBER;
		while (end < r->nbytes && (gr_goes_on_name(r->text[end]) || r->text[end] == '.'))
		{
			token->kind = TOKEN_SYMBOL;
			end++;
		}
	}
	else
	{
		token->kind = TOKEN_OPERATOR;
		end = at + read_operator(r, at, &token->op);
		if (end == at)
		{
			token->kind = TOKEN_SYMBOL;
			end = at + 1;
		}
	}
	token->nbytes = end - at;
	r->next = end;
}

static bool
is_symbol(const Reader *r, char symbol)
{
	return r->token.kind == TOKEN_SYMBOL && r->token.nbytes == 1 && r->text[r->token.at] == symbol;
}

static bool
is_word(const Reader *r, const char *word)
{
	return r->token.kind == TOKEN_NAME && !r->token.quoted &&
		gr_is_named(r->text + r->token.at, r->token.nbytes, false, word);
}

/* Takes the word if it is the token. */
static bool
take_word(Reader *r, const char *word)
{
	if (!is_word(r, word))
		return false;
	advance(r);
	return true;
}

static bool
expect_word(Reader *r, const char *word)
{
	return take_word(r, word) || fail_syntax(r);
}

static bool
expect_symbol(Reader *r, char symbol)
{
	if (!is_symbol(r, symbol))
		return fail_syntax(r);
	advance(r);
	return true;
}

static bool
is_keyword(const Reader *r)
{
	static const char *const words[] = {"and", "or", "not", "is", "null", "in", "between", "true", "false"};

	for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++)
		if (is_word(r, words[k]))
			return true;
	return false;
}

/*
 * Steps
 */

/* Appends a step. Fails if there are too many, or the stack is too deep. */
static bool
put(Reader *r, GrFilterOp op, int column, double value)
{
	if (r->nsteps >= GR_FILTER_STEPS_MAX)
		return fail_limit(r, "filter has too many comparisons");
	r->on_stack += op == GR_FILTER_NOT ? 0 : op == GR_FILTER_AND || op == GR_FILTER_OR ? -1 : 1;
	if (r->on_stack > GR_FILTER_DEPTH_MAX)
		return fail_limit(r, "filter is nested too deeply");
	r->steps[r->nsteps++] = (GrFilterStep) {op, column, value};
	return true;
}

/*
 * Constants
 */

static bool
read_number(Reader *r, double sign, Constant *constant)
{
	const Token *token = &r->token;
	char		text[GR_FILTER_NUMBER_NBYTES_MAX + 1];
	double	   *value = &constant->value;

	if (token->kind != TOKEN_NUMBER)
		return fail_syntax(r);
	if (token->nbytes > GR_FILTER_NUMBER_NBYTES_MAX)
		return fail_limit(r, "number is too long");
	constant->kind = CONSTANT_NUMBER;
	constant->token = *token;
	memcpy(text, r->text + token->at, token->nbytes);
	text[token->nbytes] = '\0';
	constant->single = (float) sign * strtof(text, NULL);
	errno = 0;
	*value = sign * strtod(text, NULL);
	/* subnormal numbers are in range */
	if (errno == ERANGE && (*value == 0.0 || isinf(*value)))
		return FAIL_AT(r, token, GR_FILTER_RANGE, "\"%.*s\" is out of range for type double precision",
					   SHOWN_NBYTES, text);
	advance(r);
	return true;
}

static bool
read_constant(Reader *r, Constant *constant)
{
	*constant = (Constant) {.token = r->token};
	if (is_word(r, "true") || is_word(r, "false"))
	{
		constant->kind = CONSTANT_BOOLEAN;
		constant->value = is_word(r, "true") ? 1 : 0;
		advance(r);
		return true;
	}
	if (r->token.kind == TOKEN_STRING || is_word(r, "null"))
	{
		constant->kind = r->token.kind == TOKEN_STRING ? CONSTANT_STRING : CONSTANT_NULL;
		advance(r);
		return true;
	}
	if (is_symbol(r, '-') || is_symbol(r, '+'))
	{
		double		sign = is_symbol(r, '-') ? -1 : 1;

		advance(r);
		return read_number(r, sign, constant);
	}
	return read_number(r, 1, constant);
}

static bool
begins_constant(const Reader *r)
{
	return r->token.kind == TOKEN_NUMBER || r->token.kind == TOKEN_STRING || is_symbol(r, '-') || is_symbol(r, '+') ||
		is_word(r, "true") || is_word(r, "false") || is_word(r, "null");
}

/* Returns the code of the level that a string names, or -1, no level's code, if there is no such level. */
static double
code_of(const Reader *r, int column, const Token *string)
{
	char		level[GR_LEVEL_NBYTES_MAX];
	int			n = 0;
	double		code;

	for (size_t k = 1; k < string->nbytes - 1; k++)
	{
		char		c = r->text[string->at + k];

		if (n == GR_LEVEL_NBYTES_MAX)
			return -1;
		level[n++] = c;
		k += c == '\'' ? 1 : 0;
	}
	return r->columns->find_level(r->columns->arg, column, level, n, &code) ? code : -1;
}

/* Puts a comparison that gives truth for every value of column and NULL for a NULL; kept numbers are finite. */
static bool
put_for_all(Reader *r, int column, bool truth)
{
	return put(r, truth ? GR_FILTER_GE : GR_FILTER_LT, column, -DBL_MAX);
}

/* Puts column op number, decided as by SQL for the original values. listed: in a list of several constants. */
static bool
put_number(Reader *r, const Token *name, int column, GrFilterOp op, const Constant *constant, bool listed)
{
	const GrFilterColumn *c = &r->columns->column[column];
	const Token *token = &constant->token;
	GrFilterOrder order;

	if (c->kind == GR_FILTER_SINGLE && listed)
	{
		if (isinf(constant->single) || (constant->single == 0 && constant->value != 0))
			return FAIL_AT(r, token, GR_FILTER_RANGE, "\"%.*s\" is out of range for type real",
						   (int) (token->nbytes < SHOWN_NBYTES ? token->nbytes : SHOWN_NBYTES), r->text + token->at);
		return put(r, op, column, constant->single);
	}
	order = gr_filter_order(c, r->text + token->at, token->nbytes, constant->value);
	if (order == GR_FILTER_UNDECIDED)
		return FAIL_AT(r, name, GR_FILTER_ROUNDED, "column \"%.*s\" has rounded values, which might be %s%.*s",
					   SHOWN_NBYTES, c->name, signbit(constant->value) ? "-" : "",
					   (int) (token->nbytes < SHOWN_NBYTES ? token->nbytes : SHOWN_NBYTES), r->text + token->at);
	if (order == GR_FILTER_SAME)
		return put(r, op, column, constant->value);
	if (op == GR_FILTER_EQ || op == GR_FILTER_NE)
		return put_for_all(r, column, op == GR_FILTER_NE);
	/* values with the same float8 are all less than the constant, or all greater */
	if (op == GR_FILTER_LT || op == GR_FILTER_LE)
		return put(r, order == GR_FILTER_LESS ? GR_FILTER_LE : GR_FILTER_LT, column, constant->value);
	return put(r, order == GR_FILTER_LESS ? GR_FILTER_GT : GR_FILTER_GE, column, constant->value);
}

/* Puts column op constant. listed: the constant is in a list of several. */
static bool
put_comparison(Reader *r, const Token *name, int column, GrFilterOp op, const Constant *constant, bool listed)
{
	GrFilterColumnKind kind = r->columns->column[column].kind;
	bool		is_factor = kind == GR_FILTER_FACTOR || kind == GR_FILTER_COLLATED;

	if (constant->kind == CONSTANT_NULL)
		return put(r, GR_FILTER_NULL, 0, 0);
	if (!is_factor && kind != GR_FILTER_BOOLEAN)
		return constant->kind == CONSTANT_NUMBER ? put_number(r, name, column, op, constant, listed) :
			fail_mismatch(r, name, column, "must be compared with a number");
	if (kind == GR_FILTER_BOOLEAN && constant->kind != CONSTANT_BOOLEAN)
		return fail_mismatch(r, name, column, "must be compared with true or false");
	if (!is_factor)
		return put(r, op, column, constant->value);
	if (constant->kind != CONSTANT_STRING)
		return fail_mismatch(r, name, column, "must be compared with a string");
	if (kind == GR_FILTER_COLLATED)
		return fail_mismatch(r, name, column, "has a nondeterministic collation");
	if (op != GR_FILTER_EQ && op != GR_FILTER_NE)
		return fail_mismatch(r, name, column, "is a factor, whose levels have no order");
	return put(r, op, column, code_of(r, column, &constant->token));
}

/*
 * The grammar
 */

static bool read_filter(Reader *r);

static bool
find_column(Reader *r, int *column)
{
	const Token *token = &r->token;
	const char *name = r->text + token->at;

	*column = -1;
	if (token->kind != TOKEN_NAME || is_keyword(r))
		return fail_syntax(r);
	for (int k = 0; k < r->columns->n; k++)
	{
		if (!gr_is_named(name, token->nbytes, token->quoted, r->columns->column[k].name))
			continue;
		if (*column >= 0)
			return FAIL_AT(r, token, GR_FILTER_AMBIGUOUS, "column reference \"%.*s\" is ambiguous", SHOWN_NBYTES,
						   r->columns->column[k].name);
		*column = k;
	}
	if (*column >= 0)
	{
		advance(r);
		return true;
	}
	if (token->nbytes > SHOWN_NBYTES)
		return FAIL_AT(r, token, GR_FILTER_UNKNOWN, "%s", "column does not exist");
	return FAIL_AT(r, token, GR_FILTER_UNKNOWN, token->quoted ? "column %.*s does not exist" :
				   "column \"%.*s\" does not exist", (int) token->nbytes, name);
}

/* Reads what follows BETWEEN. */
static bool
read_between(Reader *r, const Token *name, int column)
{
	Constant	least;
	Constant	most;

	return read_constant(r, &least) && expect_word(r, "and") && read_constant(r, &most) &&
		put_comparison(r, name, column, GR_FILTER_GE, &least, false) &&
		put_comparison(r, name, column, GR_FILTER_LE, &most, false) && put(r, GR_FILTER_AND, 0, 0);
}

/* Reads what follows IN. */
static bool
read_list(Reader *r, const Token *name, int column)
{
	Constant	constant;
	bool		listed;

	if (!expect_symbol(r, '(') || !read_constant(r, &constant))
		return false;
	listed = is_symbol(r, ',');
	if (!put_comparison(r, name, column, GR_FILTER_EQ, &constant, listed))
		return false;
	while (is_symbol(r, ','))
	{
		advance(r);
		if (!read_constant(r, &constant) || !put_comparison(r, name, column, GR_FILTER_EQ, &constant, listed) ||
			!put(r, GR_FILTER_OR, 0, 0))
			return false;
	}
	return expect_symbol(r, ')');
}

/* True if the token ends a test. */
static bool
ends_test(const Reader *r)
{
	return r->token.kind == TOKEN_END || is_symbol(r, ')') || is_word(r, "and") || is_word(r, "or");
}

/* Reads a test that begins with a column. */
static bool
read_column(Reader *r)
{
	Token		name = r->token;
	GrFilterOp	op;
	Constant	constant;
	bool		negated;
	int			column;

	if (!find_column(r, &column))
		return false;
	if (r->token.kind == TOKEN_OPERATOR)
	{
		op = r->token.op;
		advance(r);
		return read_constant(r, &constant) && put_comparison(r, &name, column, op, &constant, false);
	}
	if (take_word(r, "is"))
	{
		negated = take_word(r, "not");
		return expect_word(r, "null") && put(r, negated ? GR_FILTER_IS_NOT_NULL : GR_FILTER_IS_NULL, column, 0);
	}
	negated = take_word(r, "not");
	if (is_word(r, "between") || is_word(r, "in"))
	{
		bool		between = is_word(r, "between");

		advance(r);
		return (between ? read_between(r, &name, column) : read_list(r, &name, column)) &&
			(!negated || put(r, GR_FILTER_NOT, 0, 0));
	}
	if (negated || !ends_test(r))
		return fail_syntax(r);
	if (r->columns->column[column].kind != GR_FILTER_BOOLEAN)
		return fail_mismatch(r, &name, column, "is not boolean");
	return put(r, GR_FILTER_NE, column, 0);
}

/* Reads a test that begins with a constant: constant op column, or a truth value. */
static bool
read_reversed(Reader *r)
{
	Constant	constant;
	Token		name;
	GrFilterOp	op;
	int			column;

	if (!read_constant(r, &constant))
		return false;
	if (r->token.kind != TOKEN_OPERATOR)
	{
		if (constant.kind == CONSTANT_NULL)
			return put(r, GR_FILTER_NULL, 0, 0);
		return constant.kind == CONSTANT_BOOLEAN ?
			put(r, constant.value != 0 ? GR_FILTER_TRUE : GR_FILTER_FALSE, 0, 0) : fail_syntax(r);
	}
	op = r->token.op;
	op = op == GR_FILTER_LT ? GR_FILTER_GT : op == GR_FILTER_GT ? GR_FILTER_LT :
		op == GR_FILTER_LE ? GR_FILTER_GE : op == GR_FILTER_GE ? GR_FILTER_LE : op;
	advance(r);
	name = r->token;
	return find_column(r, &column) && put_comparison(r, &name, column, op, &constant, false);
}

/* Reads a test, with its NOTs. */
static bool
read_test(Reader *r)
{
	bool		negated = false;
	bool		ok;

	while (take_word(r, "not"))
		negated = !negated;
	if (is_symbol(r, '('))
	{
		if (++r->depth > GR_ROW_FILTER_DEPTH_MAX)
			return fail_limit(r, "filter is nested too deeply");
		advance(r);
		ok = read_filter(r) && expect_symbol(r, ')');
		r->depth--;
	}
	else
		ok = begins_constant(r) ? read_reversed(r) : read_column(r);
	return ok && (!negated || put(r, GR_FILTER_NOT, 0, 0));
}

static bool
read_both(Reader *r)
{
	if (!read_test(r))
		return false;
	while (take_word(r, "and"))
		if (!read_test(r) || !put(r, GR_FILTER_AND, 0, 0))
			return false;
	return true;
}

static bool
read_filter(Reader *r)
{
	if (!read_both(r))
		return false;
	while (take_word(r, "or"))
		if (!read_both(r) || !put(r, GR_FILTER_OR, 0, 0))
			return false;
	return true;
}

bool
gr_row_filter_read(const char *text, size_t nbytes, const GrFilterColumns *columns, GrFilterStep *steps, int *nsteps,
				   GrFilterFault *fault, GrError *err)
{
	Reader		r = {.text = text,.nbytes = nbytes,.columns = columns,.steps = steps,.fault = fault,.err = err};

	*fault = GR_FILTER_OK;
	*nsteps = 0;
	if (nbytes > GR_ROW_FILTER_NBYTES_MAX)
		return fail_limit(&r, "filter is too long");
	advance(&r);
	if (!read_filter(&r) || (r.token.kind != TOKEN_END && !fail_syntax(&r)))
		return false;
	*nsteps = r.nsteps;
	return true;
}
