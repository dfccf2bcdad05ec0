/* lmm_formula.c: reads the random terms of a mixed model's formula; see lmm_formula.h. */
#include <string.h>

#include "compute/base/token.h"
#include "compute/mixed/lmm_formula.h"

typedef struct Reader
{
	const char *text;
	size_t		nbytes;
	size_t		at;
	GrMemory	memory;
	GrLmmFormula *formula;
	GrLmmFormulaError *err;
} Reader;

static bool
fail(const Reader *r, const char *message)
{
	*r->err = (GrLmmFormulaError) {.message = message,.at = r->at};
	return false;
}

static void
skip_space(Reader *r)
{
	while (r->at < r->nbytes && gr_is_space(r->text[r->at]))
		r->at++;
}

/* Takes a symbol behind spaces, if it comes next. */
static bool
take(Reader *r, char symbol)
{
	skip_space(r);
	if (r->at >= r->nbytes || r->text[r->at] != symbol)
		return false;
	r->at++;
	return true;
}

static bool
expect(Reader *r, char symbol, const char *message)
{
	return take(r, symbol) || fail(r, message);
}

/* Copies a name: folded to lower case or, if quoted, without quotes. */
static bool
copy_name(Reader *r, size_t first, bool quoted, GrString *name)
{
	size_t		end = r->at - (quoted ? 1 : 0);
	char	   *copy = r->memory.take(r->memory.arg, end - first + 1);
	int			n = 0;

	if (copy == NULL)
		return fail(r, NULL);
	for (size_t k = first + (quoted ? 1 : 0); k < end; k++)
	{
		char		c = r->text[k];

		if (!quoted && c >= 'A' && c <= 'Z')
			c = (char) (c - 'A' + 'a');
		if (quoted && c == '"')
			k++;
		copy[n++] = c;
	}
	copy[n] = '\0';
	*name = (GrString) {.bytes = copy,.nbytes = n};
	return true;
}

static bool
read_name(Reader *r, GrString *name)
{
	size_t		first;

	skip_space(r);
	first = r->at;
	if (r->at < r->nbytes && r->text[r->at] == '"')
	{
		size_t		end = gr_end_of_quoted(r->text, r->nbytes, r->at);

		if (end <= r->at + 2)
			return fail(r, "a quoted name has no end, or is empty");
		r->at = end;
		return copy_name(r, first, true, name);
	}
	if (r->at >= r->nbytes || !gr_begins_name(r->text[r->at]))
		return fail(r, "the name of a column is expected");
	while (r->at < r->nbytes && gr_goes_on_name(r->text[r->at]))
		r->at++;
	return copy_name(r, first, false, name);
}

static bool
is_same(GrString a, GrString b)
{
	return a.nbytes == b.nbytes && memcmp(a.bytes, b.bytes, (size_t) a.nbytes) == 0;
}

/* Reads an item of the columns: 0, 1 or a name. */
static bool
read_item(Reader *r, GrLmmFormulaTerm *term)
{
	GrString	name;

	if (take(r, '0'))
	{
		term->intercept = false;
		return true;
	}
	if (take(r, '1'))
		return true;
	if (!read_name(r, &name))
		return false;
	if (term->ncolumns == GR_LMM_COLUMNS_MAX - 1)
		return fail(r, "a random term has too many columns");
	for (int k = 0; k < term->ncolumns; k++)
		if (is_same(term->columns[k], name))
			return fail(r, "a column is twice in a random term");
	term->columns[term->ncolumns++] = name;
	return true;
}

static bool
read_columns(Reader *r, GrLmmFormulaTerm *term)
{
	*term = (GrLmmFormulaTerm) {.intercept = true};
	do
	{
		if (!read_item(r, term))
			return false;
	} while (take(r, '+'));
	return term->intercept || term->ncolumns > 0 || fail(r, "a random term has no columns");
}

/* Adds the term, or with separate one term per column. */
static bool
add_term(Reader *r, const GrLmmFormulaTerm *term, bool separate)
{
	GrLmmFormula *formula = r->formula;

	for (int k = separate && !term->intercept ? 0 : -1; k < (separate ? term->ncolumns : 0); k++)
	{
		GrLmmFormulaTerm *into = &formula->terms[formula->nterms];

		if (formula->nterms == GR_LMM_TERMS_MAX)
			return fail(r, "there are too many random terms");
		formula->nterms++;
		*into = *term;
		if (!separate)
			return true;
		into->intercept = k < 0;
		into->ncolumns = k < 0 ? 0 : 1;
		if (k >= 0)
			into->columns[0] = term->columns[k];
	}
	return true;
}

static bool
read_factor(Reader *r, GrLmmFormulaTerm *term)
{
	if (term->nfactors == GR_LMM_FACTORS_MAX)
		return fail(r, "a grouping factor has too many columns");
	return read_name(r, &term->factors[term->nfactors++]);
}

/* Reads the groups and adds the terms: with slashes one behind each name. */
static bool
read_groups(Reader *r, GrLmmFormulaTerm *term, bool separate)
{
	if (!read_factor(r, term))
		return false;
	while (take(r, '/'))
		if (!add_term(r, term, separate) || !read_factor(r, term))
			return false;
	while (take(r, ':'))
		if (!read_factor(r, term))
			return false;
	return add_term(r, term, separate);
}

/* Reads a term, whose opening bracket was taken. */
static bool
read_term(Reader *r)
{
	GrLmmFormulaTerm term;
	bool		separate;

	if (!read_columns(r, &term) || !expect(r, '|', "a \"|\" is expected between the columns and the group"))
		return false;
	separate = r->at < r->nbytes && r->text[r->at] == '|' && take(r, '|');
	return read_groups(r, &term, separate) && expect(r, ')', "a \")\" is expected behind the group");
}

bool
gr_lmm_formula_read(GrString text, GrMemory memory, GrLmmFormula *formula, GrLmmFormulaError *err)
{
	Reader		r = {
		.text = text.bytes,.nbytes = (size_t) text.nbytes,.memory = memory,.formula = formula,.err = err
	};

	*formula = (GrLmmFormula) {.nterms = 0};
	if (!take(&r, '('))
	{
		if (!read_columns(&r, &formula->terms[0]))
			return false;
		formula->nterms = 1;
	}
	else if (!read_term(&r))
		return false;
	while (formula->terms[0].nfactors > 0 && take(&r, '+'))
		if (!expect(&r, '(', "a \"(\" is expected before a random term") || !read_term(&r))
			return false;
	skip_space(&r);
	return r.at == r.nbytes || fail(&r, "the end is expected");
}

/* Returns the end of what begins at `at`: behind a quoted name, or one byte on. */
static size_t
next_of(GrString text, size_t at)
{
	size_t		end = text.bytes[at] == '"' ? gr_end_of_quoted(text.bytes, (size_t) text.nbytes, at) : at;

	return end > at ? end : at + 1;
}

/* True if the bracket at `at` opens a random term: a bar comes before the bracket closes, outside of inner ones. */
static bool
opens_term(GrString text, size_t at)
{
	int			depth = 0;

	while (at < (size_t) text.nbytes)
	{
		char		c = text.bytes[at];

		depth += c == '(' ? 1 : c == ')' ? -1 : 0;
		if (depth == 0 || (depth == 1 && c == '|'))
			return depth == 1;
		at = next_of(text, at);
	}
	return false;
}

/* Removes spaces and a + from the end of the n bytes, and returns how many are left. */
static size_t
without_plus(const char *bytes, size_t n)
{
	while (n > 0 && gr_is_space(bytes[n - 1]))
		n--;
	if (n > 0 && bytes[n - 1] == '+')
		n--;
	return n;
}

bool
gr_lmm_formula_split(GrString text, GrMemory memory, GrLmmFormula *formula, GrLmmFormulaError *err)
{
	Reader		r = {
		.text = text.bytes,.nbytes = (size_t) text.nbytes,.memory = memory,.formula = formula,.err = err
	};
	char	   *fixed = memory.take(memory.arg, r.nbytes + 3);
	size_t		n = 0;

	*formula = (GrLmmFormula) {.nterms = 0};
	if (fixed == NULL)
		return fail(&r, NULL);
	while (r.at < r.nbytes)
	{
		size_t		end = next_of(text, r.at);

		if (r.text[r.at] != '(' || !opens_term(text, r.at))
		{
			memcpy(fixed + n, r.text + r.at, end - r.at);
			n += end - r.at;
			r.at = end;
			continue;
		}
		n = without_plus(fixed, n);
		r.at++;
		if (!read_term(&r))
			return false;
	}
	if (formula->nterms == 0)
		return fail(&r, "there is no random term");
	if (without_plus(r.text, r.nbytes) < r.nbytes && r.text[without_plus(r.text, r.nbytes)] == '+')
		return fail(&r, "a term is expected behind the last +");
	n = without_plus(fixed, n);
	if (n > 0 && fixed[n - 1] == '~')
	{
		memcpy(fixed + n, " 1", 2);
		n += 2;
	}
	fixed[n] = '\0';
	formula->fixed = (GrString) {.bytes = fixed,.nbytes = (int) n};
	return true;
}
