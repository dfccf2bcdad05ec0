/*
 * design.c: finds levels, names features, and computes a row's features; see design.h.
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
 * Names
 */

void
gr_write_bytes(GrWriter *w, const char *bytes, size_t nbytes)
{
	if (w->nbytes < w->size)
		memcpy(w->text + w->nbytes, bytes, nbytes < w->size - w->nbytes ? nbytes : w->size - w->nbytes);
	w->nbytes += nbytes;
}

/*
 * Writing
 */

static void
put_part_name(GrWriter *w, const GrDesign *design, const GrDesignPart *part, int k)
{
	const GrDesignColumn *column;
	char		power[20];

	if (part->kind == GR_PART_EXPRESSION)
	{
		gr_write_bytes(w, part->expression->name.bytes, (size_t) part->expression->name.nbytes);
		return;
	}
	column = &design->columns[part->column];
	gr_write_bytes(w, column->name.bytes, (size_t) column->name.nbytes);
	if (gr_part_is_poly(part) && k > 0)
		gr_write_bytes(w, power, (size_t) snprintf(power, sizeof(power), "^%d", k + 1));
	if (part->kind == GR_PART_CONTRASTS || part->kind == GR_PART_DUMMIES)
	{
		const GrString *level = &column->levels.level[k + (part->kind == GR_PART_CONTRASTS ? 1 : 0)];

		gr_write_bytes(w, "[", 1);
		gr_write_bytes(w, level->bytes, (size_t) level->nbytes);
		gr_write_bytes(w, "]", 1);
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
			gr_write_bytes(w, ":", 1);
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

/* Returns the number of an expression's part. */
static double
compute(const GrDesignPart *part, const double *values)
{
	return gr_expression_number(part->expression->step, part->expression->nsteps, values);
}

/* Computes powers x, x^2, ... of a number's part, up to the part's width. Does nothing for a factor. */
static void
raise_powers(GrDD *powers, const GrDesignPart *part, const double *values)
{
	if (!gr_part_is_number(part))
		return;
	if (part->kind == GR_PART_EXPRESSION)
	{
		powers[0] = gr_dd(compute(part, values));
		return;
	}
	powers[0] = gr_two_sum(values[part->at], -part->center);
	for (int k = 1; k < part->width; k++)
		powers[k] = gr_dd_mul(powers[k - 1], powers[0]);
}

/* Returns number k of a part: a power or an indicator. */
static inline GrDD
number_of(const GrDesignPart *part, const GrDD *powers, const double *values, int k)
{
	if (gr_part_is_number(part))
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
	else if (part->kind == GR_PART_EXPRESSION)
		*into = compute(part, values);
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

		if (gr_part_is_number(part))
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

const GrExpression *
gr_design_fault(const GrDesign *design, const double *values, int *step)
{
	for (int k = 0; k <= design->nexpressions; k++)
	{
		const GrExpression *expression = k < design->nexpressions ? &design->expressions[k] : &design->offset;

		*step = gr_expression_fault(expression, values);
		if (*step >= 0)
			return expression;
	}
	return NULL;
}
