/*
 * effects_of_design.c: the terms of a model's formula; see effects_of_design.h.
 */
#include "postgres.h"

#include "lib/stringinfo.h"

#include "rows/columns/design_values.h"
#include "run/args.h"
#include "sql/model/effects_of_design.h"
#include "sql/model/predict_design.h"

static bool
is_factor(const GrDesignPart *part)
{
	return part->kind == GR_PART_CONTRASTS || part->kind == GR_PART_DUMMIES;
}

static const char *
name_of_term(const GrDesign *design, const GrDesignTerm *term)
{
	StringInfoData name;

	initStringInfo(&name);
	for (int i = 0; i < term->nparts; i++)
	{
		const GrDesignPart *part = &term->part[i];

		if (i > 0)
			appendStringInfoChar(&name, ':');
		if (part->kind == GR_PART_EXPRESSION)
			appendBinaryStringInfo(&name, part->expression->name.bytes, part->expression->name.nbytes);
		else if (gr_part_is_poly(part))
			appendStringInfo(&name, "poly(%s, %d)", gr_design_column_name(design, part->column), part->width);
		else
			appendStringInfoString(&name, gr_design_column_name(design, part->column));
	}
	return name.data;
}

GrModelEffect *
gr_model_effects(const GrModel *model, int *n)
{
	int			at = model->intercept ? 1 : 0;
	GrDesign   *design;
	GrModelEffect *effects;

	if (model->design == NULL || model->design[0] == '\0')
	{
		*n = model->nterms - at;
		effects = palloc_extended((*n + 1) * sizeof(GrModelEffect), MCXT_ALLOC_HUGE);
		for (int k = 0; k < *n; k++)
		{
			effects[k] = (GrModelEffect) {.name = model->terms[at + k],.first = at + k,.n = 1};
			gr_poll_loop(k);
		}
		return effects;
	}
	design = gr_open_model_design(CurrentMemoryContext, (GrString) {model->design, (int) strlen(model->design)});
	gr_check_design_size(design, model->nterms - at);
	*n = design->nterms;
	effects = palloc_extended((*n + 1) * sizeof(GrModelEffect), MCXT_ALLOC_HUGE);
	for (int t = 0; t < *n; t++)
	{
		const GrDesignTerm *term = &design->terms[t];

		effects[t] = (GrModelEffect) {.name = name_of_term(design, term),.first = at,.n = term->width,.term = term};
		at += term->width;
		gr_poll_loop(t);
	}
	return effects;
}

/* True if both parts are the same expression. */
static bool
is_same_expression(const GrDesignPart *a, const GrDesignPart *b)
{
	return a->kind == GR_PART_EXPRESSION && b->kind == GR_PART_EXPRESSION &&
		gr_same_name(a->expression->name, b->expression->name);
}

/* True if the term has the part's variable, in the same form: a number, powers of it, an expression, or a factor. */
static bool
has_part(const GrDesignTerm *term, const GrDesignPart *part)
{
	for (int i = 0; i < term->nparts; i++)
	{
		const GrDesignPart *other = &term->part[i];

		if (is_same_expression(other, part))
			return true;
		if (part->column >= 0 && other->column == part->column && is_factor(other) == is_factor(part) &&
			gr_part_is_poly(other) == gr_part_is_poly(part))
			return true;
	}
	return false;
}

bool
gr_effect_contains(const GrModelEffect *b, const GrModelEffect *a)
{
	if (a->term == NULL || b->term == NULL || a->term == b->term)
		return false;
	for (int i = 0; i < a->term->nparts; i++)
		if (!has_part(b->term, &a->term->part[i]))
			return false;
	return true;
}
