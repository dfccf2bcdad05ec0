/*
 * project.c: projects columns of rows onto the complement of absorbed factors, and counts the factors' degrees of
 * freedom; see effects.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/effects/four.h"
#include "compute/effects/schur.h"

/* Most projections of a column: conjugate gradients may need several. */
#define PROJECTIONS_MAX 12

/* Squared share of a column that the next projection may still move. */
#define CONVERGED 1e-30

/*
 * A projected column with at most this share of its own sum of squares is rounding errors; at most the second of that
 * about its mean, it is collinear. As GR_ROUNDING_TOLERANCE and GR_ALIAS_TOLERANCE of linalg/normal.h.
 */
#define ROUNDING 1e-29
#define COLLINEAR 1e-24

/* Squared share of a column's size to which its sums by level are exact. */
#define NOISE 1e-31

static bool
no_memory(GrError *err)
{
	return gr_fail(err, GR_NO_MEMORY, GR_NO_COLUMN, "absorbed effects");
}

/*
 * Connected components
 */

static int32_t
root_of(int32_t *parent, int32_t node)
{
	while (parent[node] != node)
		node = parent[node] = parent[parent[node]];
	return node;
}

static void
unite(int32_t *parent, int32_t a, int32_t b)
{
	a = root_of(parent, a);
	b = root_of(parent, b);
	/* the smaller number becomes the root, so that components are in the order of their first level */
	if (a < b)
		parent[b] = a;
	else
		parent[a] = b;
}

/* Sets effects->ncomponents and component. Nodes: the levels of S, then those of the main factor */
static bool
find_components(GrEffects *effects, GrError *err)
{
	const GrEffectRows *rows = effects->rows;
	int32_t		q = effects->q;
	int64_t		n = (int64_t) q + rows->nlevels[effects->main];
	int32_t    *parent = malloc(((size_t) n + 1) * sizeof(int32_t));

	effects->component = malloc(((size_t) n + 1) * sizeof(int32_t));
	if (parent == NULL || effects->component == NULL)
	{
		free(parent);
		return no_memory(err);
	}
	for (int32_t k = 0; k < n; k++)
		parent[k] = k;
	for (int64_t r = 0; r < rows->nrows; r++)
		for (int h = 0; h < effects->nothers; h++)
		{
			int			f = effects->other[h];

			unite(parent, q + rows->code[effects->main][r], effects->base[f] + rows->code[f][r]);
		}
	effects->ncomponents = 0;
	for (int32_t k = 0; k < n; k++)
	{
		int32_t		root = root_of(parent, k);

		effects->component[k] = root == k ? (int32_t) effects->ncomponents++ : effects->component[root];
	}
	free(parent);
	return true;
}

/*
 * Opening
 */

/* Chooses the main factor, and numbers the levels of the others. */
static void
number_levels(GrEffects *effects)
{
	const GrEffectRows *rows = effects->rows;

	for (int f = 1; f < rows->nfactors; f++)
		if (rows->nlevels[f] > rows->nlevels[effects->main])
			effects->main = f;
	for (int f = 0; f < rows->nfactors; f++)
	{
		if (f == effects->main)
			continue;
		effects->base[f] = effects->q;
		effects->q += rows->nlevels[f];
		effects->other[effects->nothers++] = f;
	}
}

static bool
sum_weights(GrEffects *effects, GrError *err)
{
	const GrEffectRows *rows = effects->rows;
	const int32_t *code = rows->code[effects->main];

	effects->main_weight = calloc((size_t) rows->nlevels[effects->main] + 1, sizeof(double));
	if (effects->main_weight == NULL)
		return no_memory(err);
	for (int64_t r = 0; r < rows->nrows; r++)
		effects->main_weight[code[r]] += rows->weights == NULL ? 1.0 : rows->weights[r];
	return true;
}

bool
gr_effects_open(GrEffects *effects, const GrEffectRows *rows, const GrHost *host, GrError *err)
{
	memset(effects, 0, sizeof(*effects));
	effects->rows = rows;
	number_levels(effects);
	effects->df = rows->nlevels[effects->main];
	if (!sum_weights(effects, err))
		return false;
	if (effects->nothers == 0)
	{
		effects->ncomponents = rows->nlevels[0];
		return true;
	}
	if (!find_components(effects, err) || !gr_schur_open(effects, host, err))
		return false;
	effects->solver = effects->schur->factored ? GR_EFFECTS_FACTORED : GR_EFFECTS_ITERATED;
	/* each further factor has at least one spanned level per component, and of two factors no more than that */
	if (effects->nothers > 1 && effects->schur->factored)
		effects->df += effects->schur->rank;
	else
		effects->df += effects->q - effects->nothers * effects->ncomponents;
	effects->df_is_bound = effects->nothers > 1 && !effects->schur->factored;
	return true;
}

void
gr_effects_close(GrEffects *effects)
{
	gr_schur_close(effects->schur);
	free(effects->main_weight);
	free(effects->component);
	free(effects->kept);
	memset(effects, 0, sizeof(*effects));
}

/*
 * Projections
 */

/* Work of projections: sums, then effects, by level */
typedef struct Projection
{
	GrEffects  *effects;
	double	   *values;
	int			ncols;
	int			stride;
	double	   *main;			/* levels of the main factor x stride */
	double	   *other;			/* levels of S x stride */
	double	   *work;
	double	   *moved;			/* ncols: weighted sum of squares that the last projection took away */
	double	   *left;			/* ncols: weighted sum of squares after it */
	double	   *moved_before;	/* ncols */
	double	   *noise;			/* ncols: squared size of sums by level that is rounding errors; 0: not known */
} Projection;

/* Sums the values, times their weights, by level of each factor. */
GR_FOUR_VERSIONS
static void
sum_levels(Projection *p)
{
	const GrEffectRows *rows = p->effects->rows;
	int			stride = p->stride;

	memset(p->main, 0, (size_t) rows->nlevels[p->effects->main] * (size_t) stride * sizeof(double));
	if (p->effects->q > 0)
		memset(p->other, 0, (size_t) p->effects->q * (size_t) stride * sizeof(double));
	for (int64_t r = 0; r < rows->nrows; r++)
	{
		const double *x = p->values + r * stride;
		double	   *to[GR_EFFECTS_MAX];
		double		w = rows->weights == NULL ? 1.0 : rows->weights[r];

		to[0] = p->main + (int64_t) rows->code[p->effects->main][r] * stride;
		for (int h = 0; h < p->effects->nothers; h++)
		{
			int			f = p->effects->other[h];

			to[h + 1] = p->other + ((int64_t) p->effects->base[f] + rows->code[f][r]) * stride;
		}
		for (int c = 0; c < stride; c += GR_EFFECT_LANES)
		{
			GrFour		v = w * GR_FOUR_FROM(x + c);

			for (int h = 0; h <= p->effects->nothers; h++)
				GR_FOUR_AT(to[h] + c) += v;
		}
	}
}

/* Turns sums by the main factor into means, and subtracts these from the sums by other levels. */
GR_FOUR_VERSIONS
static void
reduce(Projection *p)
{
	const GrEffects *effects = p->effects;
	const GrSparse *cells = effects->schur == NULL ? NULL : &effects->schur->cells;
	int			stride = p->stride;

	for (int32_t i = 0; i < effects->rows->nlevels[effects->main]; i++)
	{
		double	   *mean = p->main + (int64_t) i * stride;

		for (int c = 0; c < stride; c += GR_EFFECT_LANES)
			GR_FOUR_AT(mean + c) /= effects->main_weight[i];
		for (int64_t k = cells == NULL ? 0 : cells->begin[i]; cells != NULL && k < cells->begin[i + 1]; k++)
		{
			double	   *to = p->other + (int64_t) cells->column[k] * stride;
			double		value = cells->value[k];

			for (int c = 0; c < stride; c += GR_EFFECT_LANES)
				GR_FOUR_AT(to + c) -= value * GR_FOUR_FROM(mean + c);
		}
	}
}

/* Turns the means of the main factor's levels into their effects, given the effects of the others. */
GR_FOUR_VERSIONS
static void
take_others(Projection *p)
{
	const GrEffects *effects = p->effects;
	const GrSparse *cells = &effects->schur->cells;
	int			stride = p->stride;

	for (int32_t i = 0; i < effects->rows->nlevels[effects->main]; i++)
	{
		double	   *effect = p->main + (int64_t) i * stride;

		for (int64_t k = cells->begin[i]; k < cells->begin[i + 1]; k++)
		{
			const double *from = p->other + (int64_t) cells->column[k] * stride;
			double		share = cells->value[k] / effects->main_weight[i];

			for (int c = 0; c < stride; c += GR_EFFECT_LANES)
				GR_FOUR_AT(effect + c) -= share * GR_FOUR_FROM(from + c);
		}
	}
}

/*
 * Subtracts the effects from the values, as if each row's sum were rounded once. Sets p->moved and p->left, whose
 * memory has p->stride numbers.
 */
GR_FOUR_VERSIONS
static void
subtract(Projection *p)
{
	const GrEffectRows *rows = p->effects->rows;
	int			stride = p->stride;

	memset(p->moved, 0, (size_t) stride * sizeof(double));
	memset(p->left, 0, (size_t) stride * sizeof(double));
	for (int64_t r = 0; r < rows->nrows; r++)
	{
		double	   *x = p->values + r * stride;
		const double *effect[GR_EFFECTS_MAX];
		double		w = rows->weights == NULL ? 1.0 : rows->weights[r];

		effect[0] = p->main + (int64_t) rows->code[p->effects->main][r] * stride;
		for (int h = 0; h < p->effects->nothers; h++)
		{
			int			f = p->effects->other[h];

			effect[h + 1] = p->other + ((int64_t) p->effects->base[f] + rows->code[f][r]) * stride;
		}
		for (int c = 0; c < stride; c += GR_EFFECT_LANES)
		{
			GrFour		before = GR_FOUR_FROM(x + c);
			GrFour		sum = before;
			GrFour		rest = {0, 0, 0, 0};

			for (int h = 0; h <= p->effects->nothers; h++)
			{
				/* Knuth's exact sum of two numbers */
				GrFour		b = -GR_FOUR_FROM(effect[h] + c);
				GrFour		s = sum + b;
				GrFour		t = s - sum;

				rest += (sum - (s - t)) + (b - t);
				sum = s;
			}
			sum += rest;
			GR_FOUR_AT(x + c) = sum;
			before -= sum;
			GR_FOUR_AT(p->moved + c) += w * before * before;
			GR_FOUR_AT(p->left + c) += w * sum * sum;
		}
	}
}

/* Projects once. On return p->main and p->other have the effects that were subtracted. */
static bool
project_once(Projection *p, const GrHost *host, GrError *err)
{
	sum_levels(p);
	if (gr_canceled(host))
		return gr_fail(err, GR_CANCELED, GR_NO_COLUMN, "absorbed effects");
	reduce(p);
	if (p->effects->nothers > 0)
	{
		const GrSchurSides sides = {.b = p->other,.stride = p->stride,.noise = p->noise,.work = p->work};

		if (!gr_schur_solve(p->effects, &sides, host, err))
			return false;
		take_others(p);
	}
	subtract(p);
	return !gr_canceled(host) || gr_fail(err, GR_CANCELED, GR_NO_COLUMN, "absorbed effects");
}

/* Allocates the work of projections of values. */
static bool
begin_projection(Projection *p, GrEffects *effects, double *values, int ncols, GrError *err)
{
	size_t		stride = (size_t) gr_effect_stride(ncols);
	size_t		nmain = (size_t) effects->rows->nlevels[effects->main] * stride;
	size_t		nother = (size_t) effects->q * stride;
	size_t		nwork = effects->schur == NULL ? 0 : gr_schur_work_size(effects, (int) stride);

	memset(p, 0, sizeof(*p));
	p->effects = effects;
	p->values = values;
	p->ncols = ncols;
	p->stride = (int) stride;
	p->main = malloc((nmain + nother + nwork + 4 * stride) * sizeof(double));
	if (p->main == NULL)
		return no_memory(err);
	p->other = p->main + nmain;
	p->work = p->other + nother;
	p->moved = p->work + nwork;
	p->left = p->moved + stride;
	p->moved_before = p->left + stride;
	p->noise = p->moved_before + stride;
	memset(p->noise, 0, stride * sizeof(double));
	return true;
}

/* Adds the effects that the last projection subtracted to effects->kept. */
static bool
keep_effects(const Projection *p, GrError *err)
{
	GrEffects  *effects = p->effects;
	size_t		n = ((size_t) effects->rows->nlevels[effects->main] + (size_t) effects->q) * (size_t) p->stride;

	if (!effects->keeps)
		return true;
	if (effects->kept == NULL)
		effects->kept = calloc(n, sizeof(double));
	if (effects->kept == NULL)
		return no_memory(err);
	for (size_t k = 0; k < n; k++)
		effects->kept[k] += p->main[k];
	return true;
}

/* Sets mean, square and centered of each column. */
static bool
measure(const GrEffectRows *rows, const double *values, GrEffectColumn *column, GrError *err)
{
	double		weights = 0;

	memset(column, 0, (size_t) rows->ncols * sizeof(GrEffectColumn));
	for (int64_t r = 0; r < rows->nrows; r++)
	{
		double		w = rows->weights == NULL ? 1.0 : rows->weights[r];

		weights += w;
		for (int c = 0; c < rows->ncols; c++)
		{
			double		x = values[r * rows->stride + c];

			column[c].mean += w * x;
			column[c].square += w * x * x;
		}
	}
	for (int c = 0; c < rows->ncols; c++)
	{
		if (!isfinite(column[c].square))
			return gr_fail(err, GR_OUT_OF_RANGE, c, "sum of squares");
		column[c].mean /= weights;
	}
	for (int64_t r = 0; r < rows->nrows; r++)
		for (int c = 0; c < rows->ncols; c++)
		{
			double		d = values[r * rows->stride + c] - column[c].mean;

			column[c].centered += (rows->weights == NULL ? 1.0 : rows->weights[r]) * d * d;
		}
	return true;
}

/* True if a projected column is rounding errors, or collinear with the effects. */
static bool
is_spanned(const GrEffectColumn *column, double projected)
{
	return projected <= ROUNDING * column->square || projected <= COLLINEAR * column->centered;
}

/* True if one more projection would change some column. */
static bool
goes_on(const Projection *p, const GrEffectColumn *column, int n)
{
	for (int c = 0; c < p->ncols; c++)
	{
		/* share that the last projection moved, and what it moved of what the one before did */
		double		share = p->moved[c] / p->left[c];
		double		gain = p->moved[c] / p->moved_before[c];

		if (p->moved[c] == 0 || is_spanned(&column[c], p->left[c]))
			continue;
		if (n == 1 || share * fmin(gain, 1.0) > CONVERGED)
			return true;
	}
	return false;
}

static void
clear_spanned(const GrEffectRows *rows, double *values, GrEffectColumn *column)
{
	for (int c = 0; c < rows->ncols; c++)
	{
		if (!is_spanned(&column[c], column[c].projected))
			continue;
		column[c].projected = 0;
		for (int64_t r = 0; r < rows->nrows; r++)
			values[r * rows->stride + c] = 0;
	}
}

bool
gr_effects_project(GrEffects *effects, double *values, GrEffectColumn *column, const GrHost *host, GrError *err)
{
	const GrEffectRows *rows = effects->rows;
	Projection	p;
	bool		ok = true;

	if (!measure(rows, values, column, err) || !begin_projection(&p, effects, values, rows->ncols, err))
		return false;
	for (int n = 1; ok && n <= PROJECTIONS_MAX; n++)
	{
		ok = project_once(&p, host, err) && keep_effects(&p, err);
		if (effects->nprojections < n)
			effects->nprojections = n;
		if (!ok || !goes_on(&p, column, n))
			break;
		memcpy(p.moved_before, p.moved, (size_t) p.stride * sizeof(double));
		for (int c = 0; c < p.stride; c++)
			p.noise[c] = NOISE * p.left[c];
	}
	for (int c = 0; c < rows->ncols; c++)
		column[c].projected = ok ? p.left[c] : 0;
	free(p.main);
	if (ok)
		clear_spanned(rows, values, column);
	return ok;
}

/* Returns the position of a level in effects->kept and, with several factors, in effects->component. */
static int64_t
kept_at(const GrEffects *effects, int f, int32_t level)
{
	return f == effects->main ? level : (int64_t) effects->rows->nlevels[effects->main] + effects->base[f] + level;
}

static int32_t
component_of(const GrEffects *effects, int f, int32_t level)
{
	return effects->component[f == effects->main ? effects->q + level : effects->base[f] + level];
}

/* Moves a constant from factor f to the first in each component, so that the first level of f there is 0. */
static bool
normalise(const GrEffects *effects, int f, double *const *estimate, GrError *err)
{
	const int32_t *nlevels = effects->rows->nlevels;
	double	   *constant = malloc((size_t) effects->ncomponents * sizeof(double));

	if (constant == NULL)
		return no_memory(err);
	for (int32_t l = nlevels[f] - 1; l >= 0; l--)
		constant[component_of(effects, f, l)] = estimate[f][l];
	for (int32_t l = 0; l < nlevels[f]; l++)
		estimate[f][l] -= constant[component_of(effects, f, l)];
	for (int32_t l = 0; l < nlevels[0]; l++)
		estimate[0][l] += constant[component_of(effects, 0, l)];
	free(constant);
	return true;
}

bool
gr_effects_estimate(const GrEffects *effects, const double *coef, double *const *estimate, GrError *err)
{
	const GrEffectRows *rows = effects->rows;
	int			k = rows->ncols - 1;
	bool		ok = true;

	for (int f = 0; f < rows->nfactors; f++)
		for (int32_t l = 0; l < rows->nlevels[f]; l++)
		{
			const double *kept = effects->kept + kept_at(effects, f, l) * rows->stride;

			estimate[f][l] = kept[k];
			for (int c = 0; c < k; c++)
				if (!isnan(coef[c]))
					estimate[f][l] -= coef[c] * kept[c];
		}
	for (int f = 1; ok && f < rows->nfactors; f++)
		ok = normalise(effects, f, estimate, err);
	return ok;
}
