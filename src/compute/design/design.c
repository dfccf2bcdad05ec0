/*
 * design.c: writes and reads designs, names features, and computes a row's features; see design.h.
 */
#include <stdio.h>
#include <string.h>

#include "compute/base/dd.h"
#include "compute/design/design.h"

/*
 * Levels
 */

/* FNV-1a. Nothing protects from chosen collisions: a caller who makes levels collide slows down only himself. */
static uint32_t
hash_bytes(const char *bytes, int nbytes)
{
	uint32_t	hash = 2166136261u;

	for (int k = 0; k < nbytes; k++)
		hash = (hash ^ (unsigned char) bytes[k]) * 16777619u;
	return hash ^ hash >> 15;
}

/* Returns the slot of a level, or the empty slot where it belongs. */
static int
slot_of(const GrLevels *levels, const char *bytes, int nbytes)
{
	uint32_t	slot = hash_bytes(bytes, nbytes) & (uint32_t) (levels->nslots - 1);

	while (levels->slots[slot] != 0)
	{
		const GrString *there = &levels->level[levels->slots[slot] - 1];

		if (there->nbytes == nbytes && memcmp(there->bytes, bytes, (size_t) nbytes) == 0)
			break;
		slot = (slot + 1) & (uint32_t) (levels->nslots - 1);
	}
	return (int) slot;
}

int
gr_level_find(const GrLevels *levels, const char *bytes, int nbytes)
{
	return levels->n == 0 ? -1 : levels->slots[slot_of(levels, bytes, nbytes)] - 1;
}

/* Doubles the slots and moves all levels. */
static bool
grow(GrLevels *levels, GrMemory memory)
{
	GrLevels	larger = {.n = levels->n,.nslots = levels->nslots == 0 ? 8 : 2 * levels->nslots};

	larger.slots = memory.take(memory.arg, (size_t) larger.nslots * sizeof(int));
	larger.level = memory.take(memory.arg, (size_t) larger.nslots / 2 * sizeof(GrString));
	if (larger.slots == NULL || larger.level == NULL)
		return false;
	memset(larger.slots, 0, (size_t) larger.nslots * sizeof(int));
	for (int k = 0; k < levels->n; k++)
	{
		larger.level[k] = levels->level[k];
		larger.slots[slot_of(&larger, levels->level[k].bytes, levels->level[k].nbytes)] = k + 1;
	}
	*levels = larger;
	return true;
}

bool
gr_level_add(GrLevels *levels, GrString level, GrMemory memory)
{
	if (2 * levels->n >= levels->nslots && !grow(levels, memory))
		return false;
	levels->slots[slot_of(levels, level.bytes, level.nbytes)] = levels->n + 1;
	levels->level[levels->n++] = level;
	return true;
}

/*
 * Writing
 */

void
gr_write_bytes(GrWriter *w, const char *bytes, size_t nbytes)
{
	if (w->nbytes < w->size)
		memcpy(w->text + w->nbytes, bytes, nbytes < w->size - w->nbytes ? nbytes : w->size - w->nbytes);
	w->nbytes += nbytes;
}

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

/* Returns how the terms of formula use a column: AS_NUMBER, AS_FACTOR, both (a bit mask), or 0 if no term uses it. */
static int
uses_of(const GrFormula *formula, int column)
{
	int			uses = 0;

	for (int v = 0; v < formula->nvariables; v++)
		if (formula->variables[v].column == column && formula->variables[v].used)
			uses |= formula->variables[v].kind == GR_VARIABLE_FACTOR ? AS_FACTOR : AS_NUMBER;
	return uses;
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

static void
put_center(GrWriter *w, double center)
{
	char		text[20];
	uint64_t	bits;

	memcpy(&bits, &center, sizeof(bits));
	gr_write_bytes(w, text, (size_t) snprintf(text, sizeof(text), " %016llx", (unsigned long long) bits));
}

/* number: per column, its number among the columns that are written */
static void
put_term(GrWriter *w, const GrFormula *formula, const GrFormulaTerm *term, const int *number, const double *centers)
{
	int			n = gr_formula_order(term);

	put_number(w, n);
	for (int i = 0; i < n; i++)
	{
		const GrVariable *v = &formula->variables[term->variable[i]];
		bool		centered = centers != NULL && v->kind == GR_VARIABLE_POLY && v->degree > 1;

		put_text(w, v->kind == GR_VARIABLE_NUMBER ? " n" : centered ? " q" : v->kind == GR_VARIABLE_POLY ? " p" :
				 (term->dummies & 1 << i) != 0 ? " d" : " c");
		put_number(w, number[v->column]);
		if (v->kind == GR_VARIABLE_POLY)
			put_number(w, v->degree);
		if (centered)
			put_center(w, centers[v->column]);
	}
}

void
gr_design_write(GrWriter *w, const GrFormula *formula, GrString text, const GrFormulaColumn *columns,
				int ncolumns, const GrLevels *levels, const double *centers)
{
	int			number[GR_DESIGN_COLUMNS_MAX];
	int			n = 0;

	for (int k = 0; k < ncolumns; k++)
		number[k] = uses_of(formula, k) != 0 ? n++ : -1;
	put_text(w, "1");
	put_string(w, text);
	put_number(w, n);
	for (int k = 0; k < ncolumns; k++)
		if (number[k] >= 0)
			put_column(w, uses_of(formula, k), columns[k].name, &levels[k]);
	put_number(w, formula->nterms);
	for (int t = 0; t < formula->nterms; t++)
		put_term(w, formula, &formula->terms[t], number, centers);
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

			width *= v->kind == GR_VARIABLE_NUMBER ? 1 : v->kind == GR_VARIABLE_POLY ? v->degree :
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
take_center(Text *text, double *center)
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
	memcpy(center, &bits, sizeof(bits));
	return isfinite(*center);
}

static bool
take_part(Text *text, const GrDesign *design, GrDesignPart *part)
{
	const GrDesignColumn *column;
	char		kind;

	if (!take_letter(text, "npqcd", &kind) || !take_number(text, 0, design->ncolumns - 1, &part->column))
		return false;
	column = &design->columns[part->column];
	part->kind = (GrPartKind) kind;
	part->at = part->column;
	part->width = 1;
	part->center = 0;
	if ((kind == 'p' || kind == 'q') && !take_number(text, 1, GR_POLY_DEGREE_MAX, &part->width))
		return false;
	if (kind == 'q' && !take_center(text, &part->center))
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
	if (text->at >= text->end || *text->at++ != '1' || !take_string(text, GR_FORMULA_NBYTES_MAX, &design->formula) ||
		!take_number(text, 0, GR_DESIGN_COLUMNS_MAX, &design->ncolumns))
		return false;
	design->columns = text->memory.take(text->memory.arg, (size_t) (design->ncolumns + 1) * sizeof(GrDesignColumn));
	if (design->columns == NULL)
		return false;
	for (int k = 0; k < design->ncolumns; k++)
		if (!take_column(text, &design->columns[k]))
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

/*
 * Names
 */

static void
put_part_name(GrWriter *w, const GrDesign *design, const GrDesignPart *part, int k)
{
	const GrDesignColumn *column = &design->columns[part->column];
	char		power[20];

	gr_write_bytes(w, column->name.bytes, (size_t) column->name.nbytes);
	if (gr_part_is_poly(part) && k > 0)
		gr_write_bytes(w, power, (size_t) snprintf(power, sizeof(power), "^%d", k + 1));
	if (part->kind == GR_PART_CONTRASTS || part->kind == GR_PART_DUMMIES)
	{
		const GrString *level = &column->levels.level[k + (part->kind == GR_PART_CONTRASTS ? 1 : 0)];

		put_text(w, "[");
		gr_write_bytes(w, level->bytes, (size_t) level->nbytes);
		put_text(w, "]");
	}
}

void
gr_design_name(GrWriter *w, const GrDesign *design, int k)
{
	const GrDesignTerm *term = design->terms;

	for (; k >= term->width; term++)
		k -= term->width;
	for (int i = 0; i < term->nparts; i++)
	{
		if (i > 0)
			put_text(w, ":");
		put_part_name(w, design, &term->part[i], k % term->part[i].width);
		k /= term->part[i].width;
	}
}

/*
 * Rows
 */

int
gr_part_indicator(const GrDesignPart *part, const double *values)
{
	double		level = values[part->at] - (part->kind == GR_PART_CONTRASTS ? 1 : 0);

	return level >= 0 && level < part->width ? (int) level : -1;
}

/* Writes a factor's indicators: all 0 for the base level. */
static void
expand_factor(const GrDesignPart *part, const double *values, double *into)
{
	int			level = gr_part_indicator(part, values);

	memset(into, 0, (size_t) part->width * sizeof(double));
	if (level >= 0)
		into[level] = 1;
}

/* Computes powers x, x^2, ... of a number's part, up to the part's width. Does nothing for a factor. */
static void
raise_powers(GrDD *powers, const GrDesignPart *part, const double *values)
{
	if (part->kind != GR_PART_NUMBER && !gr_part_is_poly(part))
		return;
	powers[0] = gr_two_sum(values[part->at], -part->center);
	for (int k = 1; k < part->width; k++)
		powers[k] = gr_dd_mul(powers[k - 1], powers[0]);
}

/* Returns number k of a part: a power or an indicator. */
static inline GrDD
number_of(const GrDesignPart *part, const GrDD *powers, const double *values, int k)
{
	if (part->kind == GR_PART_NUMBER || gr_part_is_poly(part))
		return powers[k];
	return gr_dd(gr_part_indicator(part, values) == k ? 1 : 0);
}

/*
 * Computes the products of a term's parts in place. Part by part, the n products so far become n * width: into[j n + k]
 * = into[k] * number j. j goes down, so that j = 0 overwrites the old products last.
 */
static void
expand_term(const GrDesignTerm *term, const double *values, double *into)
{
	int			n = 1;

	into[0] = 1;
	for (int i = 0; i < term->nparts; i++)
	{
		const GrDesignPart *part = &term->part[i];
		GrDD		powers[GR_POLY_DEGREE_MAX];

		raise_powers(powers, part, values);
		for (int j = part->width - 1; j >= 0; j--)
		{
			double		number = gr_dd_to_double(number_of(part, powers, values, j));

			for (int k = 0; k < n; k++)
				into[j * n + k] = into[k] * number;
		}
		n *= part->width;
	}
}

/* Computes the products of a term in double-double, in place, as expand_term() does. */
static void
expand_pairs(const GrDesignTerm *term, const double *values, double *hi, double *lo)
{
	int			n = 1;

	hi[0] = 1;
	lo[0] = 0;
	for (int i = 0; i < term->nparts; i++)
	{
		const GrDesignPart *part = &term->part[i];
		GrDD		powers[GR_POLY_DEGREE_MAX];

		raise_powers(powers, part, values);
		for (int j = part->width - 1; j >= 0; j--)
		{
			GrDD		number = number_of(part, powers, values, j);

			for (int k = 0; k < n; k++)
			{
				GrDD		product = gr_dd_mul((GrDD) {hi[k], lo[k]}, number);

				hi[j * n + k] = product.hi;
				lo[j * n + k] = product.lo;
			}
		}
		n *= part->width;
	}
}

/* Computes a term's features, without multiplications if it has one part that needs none. */
static inline void
expand_any(const GrDesignTerm *term, const double *values, double *into)
{
	const GrDesignPart *part = term->part;

	if (term->nparts > 1 || gr_part_is_poly(part))
		expand_term(term, values, into);
	else if (part->kind == GR_PART_NUMBER)
		*into = values[part->at];
	else
		expand_factor(part, values, into);
}

void
gr_design_expand(const GrDesign *design, const double *values, double *features)
{
	for (const GrDesignTerm *term = design->terms; term < design->terms + design->nterms; term++)
	{
		expand_any(term, values, features);
		features += term->width;
	}
}

void
gr_design_expand_pairs(const GrDesign *design, const double *values, double *features, double *low)
{
	for (const GrDesignTerm *term = design->terms; term < design->terms + design->nterms; term++)
	{
		if (term->paired)
			expand_pairs(term, values, features, low);
		else
			expand_any(term, values, features);
		features += term->width;
		low += term->paired ? term->width : 0;
	}
}

int
gr_design_nonzeros_max(const GrDesign *design)
{
	int			total = 0;

	for (const GrDesignTerm *term = design->terms; term < design->terms + design->nterms; term++)
	{
		int			n = 1;

		for (int i = 0; i < term->nparts; i++)
			n *= gr_part_is_poly(&term->part[i]) ? term->part[i].width : 1;
		total += n;
	}
	return total;
}

/*
 * Writes the features of a term that may be other than 0: their numbers within the term and their values. Returns how
 * many these are: 0 if a factor has its base level.
 */
static int
nonzeros_of_term(const GrDesignTerm *term, const double *values, GrNonzero *into)
{
	int			n = 1;
	int			stride = 1;

	into[0] = (GrNonzero) {0, {1, 0}};
	for (int i = 0; i < term->nparts; i++)
	{
		const GrDesignPart *part = &term->part[i];
		GrDD		powers[GR_POLY_DEGREE_MAX];

		if (part->kind == GR_PART_NUMBER || gr_part_is_poly(part))
		{
			raise_powers(powers, part, values);
			for (int j = part->width - 1; j >= 0; j--)
				for (int k = 0; k < n; k++)
				{
					GrNonzero  *product = &into[j * n + k];

					product->feature = into[k].feature + j * stride;
					product->value = term->paired ? gr_dd_mul(into[k].value, powers[j]) :
						gr_dd(into[k].value.hi * gr_dd_to_double(powers[j]));
				}
			n *= part->width;
		}
		else
		{
			int			level = gr_part_indicator(part, values);

			if (level < 0)
				return 0;
			for (int k = 0; k < n; k++)
				into[k].feature += level * stride;
		}
		stride *= part->width;
	}
	return n;
}

int
gr_design_nonzeros(const GrDesign *design, const double *values, GrNonzero *into)
{
	int			first = 0;
	int			total = 0;

	for (const GrDesignTerm *term = design->terms; term < design->terms + design->nterms; term++)
	{
		int			n = nonzeros_of_term(term, values, into + total);

		for (int k = 0; k < n; k++)
			into[total + k].feature += first;
		total += n;
		first += term->width;
	}
	return total;
}
