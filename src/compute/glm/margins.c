/*
 * margins.c: sums average marginal effects row by row; see margins.h.
 *
 * With eta = b' x and mu = mean(eta), the derivative by a number v is mu'(eta) b' dx/dv, and its derivative by b_k is
 * mu''(eta) x_k b' dx/dv + mu'(eta) dx_k/dv. If v is a feature and no other feature depends on v, b' dx/dv is its
 * coefficient in every row, and all such columns share the sums of mu' and of mu'' x.
 */
#include "compute/glm/margins.h"

#include <math.h>
#include <string.h>

/* Cost of a term for gr_poll(). */
#define TERM_WORK 20

/*
 * Beginning
 */

static bool
is_of_column(const GrDesignPart *part, int column)
{
	return part->column == column && (part->kind == GR_PART_NUMBER || gr_part_is_poly(part));
}

/* Returns the feature that is the column's number itself, if nothing else depends on the column; else -1. */
static int
own_feature(const GrDesign *design, int column)
{
	int			found = -1;
	int			k = 0;

	for (int t = 0; t < design->nterms; k += design->terms[t].width, t++)
	{
		const GrDesignTerm *term = &design->terms[t];

		for (int i = 0; i < term->nparts; i++)
		{
			if (term->part[i].expression != NULL && gr_expression_has(term->part[i].expression, column))
				return -1;
			if (!is_of_column(&term->part[i], column))
				continue;
			if (found >= 0 || term->nparts > 1 || term->width > 1)
				return -1;
			found = k;
		}
	}
	return gr_expression_has(&design->offset, column) ? -1 : found;
}

/* Notes that a term takes part in an effect. */
static void
note_term(const GrMargins *m, GrMarginEffect *effect, int term)
{
	if (isnan(m->coef[term]))
		effect->aliased = true;
	else
		effect->estimable = true;
	effect->separated |= m->separated != NULL && m->separated[term];
}

static void *
take_zeros(GrMemory memory, size_t n, size_t size)
{
	void	   *taken = memory.take(memory.arg, (n + 1) * size);

	if (taken != NULL)
		memset(taken, 0, (n + 1) * size);
	return taken;
}

static bool
take_row(GrMarginRow *row, GrMemory memory, int nfeatures)
{
	row->duals = take_zeros(memory, (size_t) nfeatures, sizeof(GrDual));
	return row->duals != NULL;
}

/*
 * Allocates the gradient of an effect (m->nterms zeros) and, for a step, from_gradient. before: the effect before
 * it, or NULL; if it is of the same column, its from_gradient is shared. Returns false if out of memory.
 */
static bool
take_gradients(const GrMargins *m, GrMarginEffect *effect, const GrMarginEffect *before, GrMemory memory)
{
	effect->gradient = take_zeros(memory, (size_t) m->nterms, sizeof(GrDD));
	if (effect->is_step)
		effect->from_gradient = before != NULL && before->column == effect->column ? before->from_gradient :
			take_zeros(memory, (size_t) m->nterms, sizeof(GrDD));
	return effect->gradient != NULL && (effect->from_gradient != NULL || !effect->is_step);
}

bool
gr_margins_begin(GrMargins *m, GrMemory memory)
{
	m->values = take_zeros(memory, 2 * (size_t) m->design->ncolumns, sizeof(double));
	m->curvature = m->want_gradients ? take_zeros(memory, (size_t) m->nterms, sizeof(GrDD)) : NULL;
	m->weight = m->slope = gr_dd(0);
	if (m->values == NULL || (m->want_gradients && m->curvature == NULL) ||
		!take_row(&m->row, memory, m->design->nfeatures) || !take_row(&m->from, memory, m->design->nfeatures) ||
		!take_row(&m->to, memory, m->design->nfeatures))
		return false;
	for (int e = 0; e < m->neffects; e++)
	{
		GrMarginEffect *effect = &m->effects[e];

		effect->feature = effect->is_step ? -1 : own_feature(m->design, effect->column);
		if (effect->feature >= 0)
			note_term(m, effect, effect->feature + (m->intercept ? 1 : 0));
		else if (m->want_gradients && !take_gradients(m, effect, e > 0 ? effect - 1 : NULL, memory))
			return false;
	}
	return true;
}

/*
 * A row
 */

static void
expand(const GrMargins *m, int column, const double *values, double offset, GrMarginRow *row)
{
	const double *coef = m->coef + (m->intercept ? 1 : 0);
	GrDD		eta = gr_two_sum(offset, m->intercept && isfinite(m->coef[0]) ? m->coef[0] : 0);
	double		infinite = m->intercept && isinf(m->coef[0]) ? m->coef[0] : 0;

	if (m->design->offset.nsteps > 0)
		eta = gr_dd_add(eta, gr_dd(gr_expression_slope(&m->design->offset, -1, values).value));
	row->n = gr_design_duals(m->design, column, values, row->duals);
	for (int k = 0; k < row->n; k++)
	{
		GrDD		value = row->duals[k].value;
		double		b = coef[row->duals[k].feature];

		if (isfinite(b) && isfinite(value.hi))
			eta = gr_dd_add(eta, gr_dd_mul_d(value, b));
		else if (!isnan(b))
			infinite += b * value.hi;
	}
	/* an infinite sum or NaN replaces eta */
	row->eta = infinite != 0 ? gr_dd(infinite) : eta;
}

static void
add_to_sum(GrMarginEffect *effect, GrDD value)
{
	if (isfinite(value.hi) && isfinite(value.lo))
		effect->sum = gr_dd_add(effect->sum, value);
	else
		effect->infinite += value.hi;
}

static inline void
add_product(GrDD *sum, GrDD value, double factor)
{
	if (value.hi != 0 && factor != 0)
		*sum = gr_dd_add(*sum, gr_dd_mul_d(value, factor));
}

/* Adds factor times the values of the terms to sums. */
static void
add_terms(const GrMargins *m, GrDD *sums, const GrMarginRow *row, double factor)
{
	GrDD	   *features = sums + (m->intercept ? 1 : 0);

	if (factor == 0)
		return;
	if (m->intercept)
		sums[0] = gr_dd_add(sums[0], gr_dd(factor));
	for (int k = 0; k < row->n; k++)
		add_product(&features[row->duals[k].feature], row->duals[k].value, factor);
}

/* Returns b' dx/dv of a row for the effect. */
static GrDD
total_slope(const GrMargins *m, GrMarginEffect *effect, const GrMarginRow *row)
{
	int			first = m->intercept ? 1 : 0;
	GrDD		sum = gr_dd(0);
	double		infinite = 0;

	for (int k = 0; k < row->n; k++)
	{
		GrDD		slope = row->duals[k].slope;
		int			term = first + row->duals[k].feature;
		double		b = m->coef[term];

		if (slope.hi == 0)
			continue;
		note_term(m, effect, term);
		if (isfinite(b) && isfinite(slope.hi))
			sum = gr_dd_add(sum, gr_dd_mul_d(slope, b));
		else if (!isnan(b))
			infinite += b * slope.hi;
	}
	return infinite != 0 ? gr_dd(infinite) : sum;
}

/*
 * Adds the derivative of a row. slope, curvature: the weight times the first and second derivative of the mean by eta.
 */
static void
add_slope(GrMargins *m, GrMarginEffect *effect, double slope, double curvature)
{
	GrMarginRow *row = &m->to;
	GrDD		total;

	row->n = gr_design_duals(m->design, effect->column, m->values, row->duals);
	total = total_slope(m, effect, row);
	if (gr_expression_has(&m->design->offset, effect->column))
	{
		total = gr_dd_add(total, gr_dd(gr_expression_slope(&m->design->offset, effect->column, m->values).slope));
		effect->estimable = true;
	}
	if (isfinite(total.hi))
		add_to_sum(effect, gr_dd_mul_d(total, slope));
	else
		add_to_sum(effect, gr_dd(total.hi * slope));
	if (effect->gradient == NULL)
		return;
	add_terms(m, effect->gradient, row, curvature * gr_dd_to_double(total));
	for (int k = 0; k < row->n; k++)
		add_product(&effect->gradient[(m->intercept ? 1 : 0) + row->duals[k].feature], row->duals[k].slope, slope);
}

/* Computes the row's features with another value of a column. */
static void
change_column(GrMargins *m, int column, GrMarginValue value, double offset, GrMarginRow *row)
{
	double	   *number = &m->values[column];
	double	   *level = &m->values[m->design->ncolumns + column];
	GrMarginValue own = {*number, (int) *level};

	*number = value.number;
	*level = value.level;
	expand(m, -1, m->values, offset, row);
	*number = own.number;
	*level = own.level;
}

/* Notes the terms that a step changes. Both rows have their features in order. */
static void
note_step(const GrMargins *m, GrMarginEffect *effect)
{
	int			first = m->intercept ? 1 : 0;
	int			i = 0;
	int			j = 0;

	/* further rows have the same terms as those before */
	if (effect->estimable && m->separated == NULL)
		return;
	while (i < m->from.n || j < m->to.n)
	{
		int			a = i < m->from.n ? m->from.duals[i].feature : m->nterms;
		int			b = j < m->to.n ? m->to.duals[j].feature : m->nterms;

		if (a != b || m->from.duals[i].value.hi != m->to.duals[j].value.hi)
			note_term(m, effect, first + (a < b ? a : b));
		i += a <= b ? 1 : 0;
		j += b <= a ? 1 : 0;
	}
}

/* Adds the difference between two values of a column. */
static void
add_step(GrMargins *m, GrMarginEffect *effect, double weight, double offset)
{
	double		to;
	double		from;
	double		by;

	if (m->from_column != effect->column)
	{
		m->from_column = effect->column;
		change_column(m, effect->column, effect->from, offset, &m->from);
		if (effect->from_gradient != NULL)
			add_terms(m, effect->from_gradient, &m->from,
					  weight * gr_mean_slope(m->link, gr_dd_to_double(m->from.eta)));
	}
	change_column(m, effect->column, effect->to, offset, &m->to);
	to = gr_dd_to_double(m->to.eta);
	from = gr_dd_to_double(m->from.eta);
	by = isfinite(to) && isfinite(from) ? gr_dd_to_double(gr_dd_sub(m->to.eta, m->from.eta)) : to - from;
	note_step(m, effect);
	add_to_sum(effect, gr_two_prod(weight, gr_mean_difference(m->link, to, from, by)));
	if (effect->gradient != NULL)
		add_terms(m, effect->gradient, &m->to, weight * gr_mean_slope(m->link, to));
}

bool
gr_margins_add(GrMargins *m, const double *values, double weight, double offset, GrPoll *poll)
{
	double		eta;
	double		slope;
	double		curvature;

	memcpy(m->values, values, 2 * (size_t) m->design->ncolumns * sizeof(double));
	expand(m, -1, m->values, offset, &m->row);
	eta = gr_dd_to_double(m->row.eta);
	slope = weight * gr_mean_slope(m->link, eta);
	curvature = weight * gr_mean_curvature(m->link, eta);
	m->weight = gr_dd_add(m->weight, gr_dd(weight));
	m->slope = gr_dd_add(m->slope, gr_dd(slope));
	if (m->curvature != NULL)
		add_terms(m, m->curvature, &m->row, curvature);
	m->from_column = -1;
	for (int e = 0; e < m->neffects; e++)
	{
		GrMarginEffect *effect = &m->effects[e];

		if (effect->feature >= 0)
			continue;
		if (effect->is_step)
			add_step(m, effect, weight, offset);
		else
			add_slope(m, effect, slope, curvature);
		if (gr_poll(poll, (int64_t) (m->to.n + m->design->nterms) * TERM_WORK))
			return false;
	}
	return true;
}

/*
 * The average
 */

/* Returns the average effect of a column that is itself a feature and has no other feature. */
static double
average_of_feature(const GrMargins *m, int term, GrDD *gradient)
{
	GrDD		slope = gr_dd_div(m->slope, m->weight);
	double		b = m->coef[term];

	if (isnan(b))
		return NAN;
	for (int k = 0; gradient != NULL && k < m->nterms; k++)
	{
		gradient[k] = gr_dd_mul_d(gr_dd_div(m->curvature[k], m->weight), b);
		if (k == term)
			gradient[k] = gr_dd_add(gradient[k], slope);
	}
	return isfinite(b) ? gr_dd_to_double(gr_dd_mul_d(slope, b)) : gr_dd_to_double(slope) * b;
}

double
gr_margins_average(const GrMargins *m, int e, GrDD *gradient)
{
	const GrMarginEffect *effect = &m->effects[e];

	if (effect->feature >= 0)
		return average_of_feature(m, effect->feature + (m->intercept ? 1 : 0), gradient);
	for (int k = 0; gradient != NULL && k < m->nterms; k++)
		gradient[k] = gr_dd_div(effect->is_step ? gr_dd_sub(effect->gradient[k], effect->from_gradient[k]) :
								effect->gradient[k], m->weight);
	if (effect->aliased && !effect->estimable)
		return NAN;
	if (effect->infinite != 0)
		return effect->infinite / gr_dd_to_double(m->weight);
	return gr_dd_to_double(gr_dd_div(effect->sum, m->weight));
}
