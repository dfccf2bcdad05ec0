/*
 * design_text.c: writes and reads designs as text; see design_text.h.
 */
#include <stdio.h>
#include <string.h>

#include "compute/design/design_text.h"

static void
put_text(GrWriter *w, const char *text)
{
	gr_write_bytes(w, text, strlen(text));
}

static void
put_number(GrWriter *w, int n)
{
	char		text[20];

	gr_write_bytes(w, text, (size_t) snprintf(text, sizeof(text), " %d", n));
}

static void
put_string(GrWriter *w, GrString string)
{
	put_text(w, " \"");
	for (int k = 0; k < string.nbytes; k++)
	{
		gr_write_bytes(w, string.bytes + k, 1);
		if (string.bytes[k] == '"')
			put_text(w, "\"");
	}
	put_text(w, "\"");
}

/* Uses of a column by a formula: a bit mask */
#define AS_NUMBER 1
#define AS_FACTOR 2

/* Returns how formula uses a column: AS_NUMBER, AS_FACTOR, both (a bit mask), or 0 if no term and no offset uses it. */
static int
uses_of(const GrFormula *formula, int column)
{
	int			uses = gr_formula_uses(formula, column);
	int			factor = 1 << GR_VARIABLE_FACTOR;

	return ((uses & factor) != 0 ? AS_FACTOR : 0) | ((uses & ~factor) != 0 ? AS_NUMBER : 0);
}

static void
put_column(GrWriter *w, int uses, const char *name, const GrLevels *levels)
{
	put_text(w, uses == AS_NUMBER ? " n" : uses == AS_FACTOR ? " f" : " b");
	put_string(w, (GrString) {name, (int) strlen(name)});
	if (uses == AS_NUMBER)
		return;
	put_number(w, levels->n);
	for (int k = 0; k < levels->n; k++)
		put_string(w, levels->level[k]);
}

/* Writes a float8 as the hexadecimal digits of its bits. */
static void
put_bits(GrWriter *w, double value)
{
	char		text[20];
	uint64_t	bits;

	memcpy(&bits, &value, sizeof(bits));
	gr_write_bytes(w, text, (size_t) snprintf(text, sizeof(text), " %016llx", (unsigned long long) bits));
}

/* Letters of the steps of expressions, by GrExpressionOp */
static const char step_letters[] = "xk+-*/^~lbtpemra";

/* number: per column, its number among the columns that are written */
static void
put_expression(GrWriter *w, const GrExpression *expression, const int *number)
{
	put_string(w, expression->name);
	put_number(w, expression->nsteps);
	for (int k = 0; k < expression->nsteps; k++)
	{
		const GrExpressionStep *step = &expression->step[k];
		const char	letter[2] = {' ', step_letters[step->op]};

		gr_write_bytes(w, letter, 2);
		if (step->op == GR_STEP_COLUMN)
			put_number(w, number[step->column]);
		else if (step->op == GR_STEP_CONSTANT)
			put_bits(w, step->value);
	}
}

/* Numbers the columns of an expression in number, -1 for others. Returns how many there are. */
static int
number_columns(const GrExpression *expression, int ncolumns, int *number)
{
	int			n = 0;

	memset(number, 0xff, (size_t) ncolumns * sizeof(int));
	for (int k = 0; k < expression->nsteps; k++)
		if (expression->step[k].op == GR_STEP_COLUMN)
			number[expression->step[k].column] = 0;
	for (int k = 0; k < ncolumns; k++)
		if (number[k] == 0)
			number[k] = n++;
	return n;
}

/* Writes the response, if it is an expression: its columns and the expression. */
static void
put_response(GrWriter *w, const GrExpression *response, const GrFormulaColumn *columns, int ncolumns)
{
	int			number[GR_DESIGN_COLUMNS_MAX];

	put_number(w, number_columns(response, ncolumns, number));
	for (int k = 0; k < ncolumns; k++)
		if (number[k] >= 0)
			put_string(w, (GrString) {columns[k].name, (int) strlen(columns[k].name)});
	if (response->nsteps > 0)
		put_expression(w, response, number);
}

/*
 * Writes the response, the offset and the expressions that terms use. used: per expression, its number among those that
 * are written, set here
 */
static void
put_expressions(GrWriter *w, const GrFormula *formula, const GrFormulaColumn *columns, int ncolumns, const int *number,
				int *used)
{
	int			n = 0;

	put_response(w, &formula->response_expression, columns, ncolumns);
	put_number(w, formula->offset.nsteps > 0 ? 1 : 0);
	if (formula->offset.nsteps > 0)
		put_expression(w, &formula->offset, number);
	for (int v = 0; v < formula->nvariables; v++)
		if (formula->variables[v].used && formula->variables[v].kind == GR_VARIABLE_EXPRESSION)
			used[formula->variables[v].column] = n++;
	put_number(w, n);
	for (int v = 0; v < formula->nvariables; v++)
		if (formula->variables[v].used && formula->variables[v].kind == GR_VARIABLE_EXPRESSION)
			put_expression(w, &formula->expressions[formula->variables[v].column], number);
}

/* number: per column, its number among the columns that are written; used: likewise of expressions */
static void
put_term(GrWriter *w, const GrFormula *formula, const GrFormulaTerm *term, const int *number, const int *used,
		 const double *centers)
{
	int			n = gr_formula_order(term);

	put_number(w, n);
	for (int i = 0; i < n; i++)
	{
		const GrVariable *v = &formula->variables[term->variable[i]];
		bool		centered = centers != NULL && v->kind == GR_VARIABLE_POLY && v->degree > 1;

		if (v->kind == GR_VARIABLE_EXPRESSION)
		{
			put_text(w, " e");
			put_number(w, used[v->column]);
			continue;
		}
		put_text(w, v->kind == GR_VARIABLE_NUMBER ? " n" : centered ? " q" : v->kind == GR_VARIABLE_POLY ? " p" :
				 (term->dummies & 1 << i) != 0 ? " d" : " c");
		put_number(w, number[v->column]);
		if (v->kind == GR_VARIABLE_POLY)
			put_number(w, v->degree);
		if (centered)
			put_bits(w, centers[v->column]);
	}
}

void
gr_design_write(GrWriter *w, const GrFormula *formula, GrString text, const GrFormulaColumn *columns,
				int ncolumns, const GrLevels *levels, const double *centers)
{
	int			number[GR_DESIGN_COLUMNS_MAX];
	int			used[GR_FORMULA_VARIABLES_MAX];
	int			n = 0;

	for (int k = 0; k < ncolumns; k++)
		number[k] = uses_of(formula, k) != 0 ? n++ : -1;
	put_text(w, gr_formula_has_expressions(formula) ? "3" : "1");
	put_string(w, text);
	put_number(w, n);
	for (int k = 0; k < ncolumns; k++)
		if (number[k] >= 0)
			put_column(w, uses_of(formula, k), columns[k].name, &levels[k]);
	if (gr_formula_has_expressions(formula))
		put_expressions(w, formula, columns, ncolumns, number, used);
	put_number(w, formula->nterms);
	for (int t = 0; t < formula->nterms; t++)
		put_term(w, formula, &formula->terms[t], number, used, centers);
}

void
gr_design_write_number(GrWriter *w, const GrExpression *expression, const GrFormulaColumn *columns, int ncolumns)
{
	int			number[GR_DESIGN_COLUMNS_MAX];
	int			n = number_columns(expression, ncolumns, number);

	put_text(w, "3 \"\"");
	put_number(w, n);
	for (int k = 0; k < ncolumns; k++)
		if (number[k] >= 0)
			put_column(w, AS_NUMBER, columns[k].name, NULL);
	put_text(w, " 0 1");
	put_expression(w, expression, number);
	put_text(w, " 0 0");
}

double
gr_formula_nfeatures(const GrFormula *formula, const GrLevels *levels)
{
	double		nfeatures = 0;

	for (int t = 0; t < formula->nterms; t++)
	{
		const GrFormulaTerm *term = &formula->terms[t];
		int			n = gr_formula_order(term);
		double		width = 1;

		for (int i = 0; i < n; i++)
		{
			const GrVariable *v = &formula->variables[term->variable[i]];

			width *= v->kind == GR_VARIABLE_NUMBER || v->kind == GR_VARIABLE_EXPRESSION ? 1 :
				v->kind == GR_VARIABLE_POLY ? v->degree :
				levels[v->column].n - ((term->dummies & 1 << i) != 0 ? 0 : 1);
		}
		nfeatures += width;
	}
	return nfeatures;
}

/*
 * Reading
 */

typedef struct Text
{
	const char *at;
	const char *end;
	GrMemory	memory;
} Text;

static bool
take_space(Text *text)
{
	return text->at < text->end && *text->at++ == ' ';
}

/* Reads a space and a decimal number from least to most, without leading zeros. */
static bool
take_number(Text *text, int least, int most, int *n)
{
	const char *first;

	*n = 0;
	if (!take_space(text))
		return false;
	first = text->at;
	for (; text->at < text->end && *text->at >= '0' && *text->at <= '9'; text->at++)
	{
		*n = 10 * *n + (*text->at - '0');
		if (*n > most)
			return false;
	}
	return text->at > first && (*first != '0' || text->at == first + 1) && *n >= least;
}

/* Reads a space and one of the characters in letters. */
static bool
take_letter(Text *text, const char *letters, char *letter)
{
	if (!take_space(text) || text->at >= text->end || *text->at == '\0' || strchr(letters, *text->at) == NULL)
		return false;
	*letter = *text->at++;
	return true;
}

/* Returns a copy with doubled quotes made single, or NULL if there is no memory. */
static const char *
without_doubles(const GrMemory *memory, const char *from, int nbytes)
{
	char	   *copy = memory->take(memory->arg, (size_t) nbytes + 1);
	int			n = 0;

	for (int k = 0; copy != NULL && k < nbytes; k++)
	{
		copy[n++] = from[k];
		k += from[k] == '"' ? 1 : 0;
	}
	return copy;
}

/* Takes a space and a string of at most `most` bytes. */
static bool
take_string(Text *text, int most, GrString *string)
{
	int			ndoubled = 0;
	const char *first;

	if (!take_space(text) || text->at >= text->end || *text->at++ != '"')
		return false;
	first = text->at;
	for (;; text->at++)
	{
		if (text->at >= text->end || text->at - first > 2 * (ptrdiff_t) most + 2)
			return false;
		if (*text->at != '"')
			continue;
		if (text->at + 1 >= text->end || text->at[1] != '"')
			break;
		text->at++;
		ndoubled++;
	}
	string->nbytes = (int) (text->at - first) - ndoubled;
	string->bytes = ndoubled == 0 ? first : without_doubles(&text->memory, first, (int) (text->at - first));
	text->at++;
	return string->nbytes <= most && string->bytes != NULL;
}

/* Reads the number of levels, at least 2, and as many distinct levels. */
static bool
take_levels(Text *text, GrLevels *levels)
{
	int			n;

	if (!take_number(text, 2, GR_MAX_FEATURES + 1, &n))
		return false;
	for (int k = 0; k < n; k++)
	{
		GrString	level;

		if (!take_string(text, GR_LEVEL_NBYTES_MAX, &level) ||
			gr_level_find(levels, level.bytes, level.nbytes) >= 0 || !gr_level_add(levels, level, text->memory))
			return false;
	}
	return true;
}

static bool
take_column(Text *text, GrDesignColumn *column)
{
	char		kind;

	memset(column, 0, sizeof(*column));
	if (!take_letter(text, "nfb", &kind) || !take_string(text, GR_FORMULA_NBYTES_MAX, &column->name))
		return false;
	column->is_number = kind != 'f';
	column->is_factor = kind != 'n';
	return !column->is_factor || take_levels(text, &column->levels);
}

/*
 * Reads a space and a finite float8, written as the 16 hexadecimal digits of its bits. Returns false if the text has
 * another form.
 */
static bool
take_bits(Text *text, double *value)
{
	uint64_t	bits = 0;

	if (!take_space(text) || text->end - text->at < 16)
		return false;
	for (int k = 0; k < 16; k++, text->at++)
	{
		char		c = *text->at;

		if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f'))
			return false;
		bits = bits << 4 | (uint64_t) (c <= '9' ? c - '0' : c - 'a' + 10);
	}
	memcpy(value, &bits, sizeof(bits));
	return isfinite(*value);
}

static bool
take_step(Text *text, int ncolumns, GrExpressionStep *step)
{
	char		letter;

	*step = (GrExpressionStep) {0};
	if (!take_letter(text, step_letters, &letter))
		return false;
	step->op = (int32_t) (strchr(step_letters, letter) - step_letters);
	if (step->op == GR_STEP_COLUMN)
		return take_number(text, 0, ncolumns - 1, &step->column);
	return step->op != GR_STEP_CONSTANT || take_bits(text, &step->value);
}

/* Reads an expression of ncolumns columns, which must be numbers if they are the design's. */
static bool
take_expression(Text *text, int ncolumns, const GrDesignColumn *columns, GrExpression *expression)
{
	GrExpressionStep *step;

	if (!take_string(text, GR_EXPRESSION_NAME_MAX, &expression->name) ||
		!take_number(text, 1, GR_EXPRESSION_STEPS_MAX, &expression->nsteps) ||
		(text->end - text->at) / 2 < expression->nsteps)
		return false;
	step = text->memory.take(text->memory.arg, (size_t) expression->nsteps * sizeof(GrExpressionStep));
	if (step == NULL)
		return false;
	expression->step = step;
	for (int k = 0; k < expression->nsteps; k++)
		if (!take_step(text, ncolumns, &step[k]) ||
			(step[k].op == GR_STEP_COLUMN && columns != NULL && !columns[step[k].column].is_number))
			return false;
	return gr_expression_valid(step, expression->nsteps, ncolumns);
}

static bool
take_response(Text *text, GrDesign *design)
{
	int			n;

	if (!take_number(text, 0, GR_DESIGN_COLUMNS_MAX, &n))
		return false;
	design->nresponse_columns = n;
	if (n == 0)
		return true;
	/* a column takes at least three bytes */
	if ((text->end - text->at) / 3 < n)
		return false;
	design->response_columns = text->memory.take(text->memory.arg, (size_t) n * sizeof(GrString));
	if (design->response_columns == NULL)
		return false;
	for (int k = 0; k < n; k++)
		if (!take_string(text, GR_FORMULA_NBYTES_MAX, &design->response_columns[k]))
			return false;
	return take_expression(text, n, NULL, &design->response);
}

/* Reads the response, the offset and the expressions of a design of version 3. */
static bool
take_expressions(Text *text, GrDesign *design)
{
	int			has_offset;

	if (!take_response(text, design) || !take_number(text, 0, 1, &has_offset) ||
		(has_offset == 1 && !take_expression(text, design->ncolumns, design->columns, &design->offset)))
		return false;
	/* an expression takes at least eight bytes */
	if (!take_number(text, 0, GR_MAX_FEATURES, &design->nexpressions) ||
		(text->end - text->at) / 8 < design->nexpressions)
		return false;
	design->expressions = text->memory.take(text->memory.arg,
											(size_t) (design->nexpressions + 1) * sizeof(GrExpression));
	if (design->expressions == NULL)
		return false;
	for (int k = 0; k < design->nexpressions; k++)
		if (!take_expression(text, design->ncolumns, design->columns, &design->expressions[k]))
			return false;
	return true;
}

static bool
take_part(Text *text, const GrDesign *design, GrDesignPart *part)
{
	const GrDesignColumn *column;
	char		kind;
	int			number;

	memset(part, 0, sizeof(*part));
	part->width = 1;
	if (!take_letter(text, "npqcde", &kind))
		return false;
	part->kind = (GrPartKind) kind;
	if (kind == 'e')
	{
		part->column = part->at = -1;
		if (!take_number(text, 0, design->nexpressions - 1, &number))
			return false;
		part->expression = &design->expressions[number];
		return true;
	}
	if (!take_number(text, 0, design->ncolumns - 1, &part->column))
		return false;
	column = &design->columns[part->column];
	part->at = part->column;
	if ((kind == 'p' || kind == 'q') && !take_number(text, 1, GR_POLY_DEGREE_MAX, &part->width))
		return false;
	if (kind == 'q' && !take_bits(text, &part->center))
		return false;
	if (kind == 'n' || kind == 'p' || kind == 'q')
		return column->is_number;
	part->at += design->ncolumns;
	part->width = column->levels.n - (kind == 'c' ? 1 : 0);
	return column->is_factor;
}

static bool
take_term(Text *text, GrDesign *design, GrDesignTerm *term)
{
	GrDesignPart *parts;
	int64_t		width = 1;

	memset(term, 0, sizeof(*term));
	if (!take_number(text, 1, GR_FORMULA_ORDER_MAX, &term->nparts))
		return false;
	parts = text->memory.take(text->memory.arg, (size_t) term->nparts * sizeof(GrDesignPart));
	if (parts == NULL)
		return false;
	term->part = parts;
	for (int i = 0; i < term->nparts; i++)
	{
		if (!take_part(text, design, &parts[i]))
			return false;
		width *= parts[i].width;
		if (width > GR_MAX_FEATURES)
			return false;
		term->paired |= gr_part_is_poly(&parts[i]) && parts[i].width > 1;
	}
	term->width = (int) width;
	design->nfeatures += term->width;
	design->npaired += term->paired ? term->width : 0;
	return design->nfeatures <= GR_MAX_FEATURES;
}

static bool
take_design(Text *text, GrDesign *design)
{
	char		version = text->at < text->end ? *text->at++ : '\0';

	if ((version != '1' && version != '3') || !take_string(text, GR_FORMULA_NBYTES_MAX, &design->formula) ||
		!take_number(text, 0, GR_DESIGN_COLUMNS_MAX, &design->ncolumns))
		return false;
	design->columns = text->memory.take(text->memory.arg, (size_t) (design->ncolumns + 1) * sizeof(GrDesignColumn));
	if (design->columns == NULL)
		return false;
	for (int k = 0; k < design->ncolumns; k++)
		if (!take_column(text, &design->columns[k]))
			return false;
	if (version == '3' && !take_expressions(text, design))
		return false;
	/* a term takes at least four bytes */
	if (!take_number(text, 0, GR_MAX_FEATURES, &design->nterms) || (text->end - text->at) / 4 < design->nterms)
		return false;
	design->terms = text->memory.take(text->memory.arg, (size_t) (design->nterms + 1) * sizeof(GrDesignTerm));
	if (design->terms == NULL)
		return false;
	for (int t = 0; t < design->nterms; t++)
		if (!take_term(text, design, &design->terms[t]))
			return false;
	return text->at == text->end;
}

GrDesign *
gr_design_read(const char *text, size_t nbytes, GrMemory memory)
{
	GrDesign   *design = memory.take(memory.arg, sizeof(GrDesign));
	Text		from = {.at = text,.end = text + nbytes,.memory = memory};

	if (design == NULL)
		return NULL;
	memset(design, 0, sizeof(*design));
	return take_design(&from, design) ? design : NULL;
}

