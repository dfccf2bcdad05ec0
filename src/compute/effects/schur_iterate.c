/*
 * schur_iterate.c: solves the Schur complement by conjugate gradients; see schur.h.
 *
 * S is applied by two passes over the rows: sums of the residuals by the main factor's levels, then sums of what these
 * leave by the other levels. Each column has its own step; columns that have converged stay as they are.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/effects/four.h"
#include "compute/effects/schur.h"

#define ITERATIONS_MAX 2000

/* Residuals below this share of the right-hand side, in the preconditioner's norm; the next projection goes on. */
#define TOLERANCE 1e-8

/* Iterations without progress after which a column stops: b is not in the range of S, up to rounding errors. */
#define PATIENCE 60

/* Room of the iteration; q x stride each */
typedef struct Room
{
	double	   *x;
	double	   *p;
	double	   *s;
	double	   *main;			/* levels of the main factor x stride */
} Room;

size_t
gr_schur_iterate_size(const GrEffects *effects, int stride)
{
	return ((size_t) 3 * (size_t) effects->q + (size_t) effects->rows->nlevels[effects->main]) * (size_t) stride;
}

/* Sums u = the sum of p at the row's other levels by the main factor's levels, and divides by the sums of weights. */
GR_FOUR_VERSIONS
static void
sum_by_main(const GrEffects *effects, const double *p, double *main, int stride)
{
	const GrSparse *cells = &effects->schur->cells;

	for (int32_t i = 0; i < effects->rows->nlevels[effects->main]; i++)
	{
		double	   *to = main + (int64_t) i * stride;
		double		weight = effects->main_weight[i];

		memset(to, 0, (size_t) stride * sizeof(double));
		for (int64_t k = cells->begin[i]; k < cells->begin[i + 1]; k++)
		{
			const double *from = p + (int64_t) cells->column[k] * stride;
			double		share = cells->value[k] / weight;

			for (int c = 0; c < stride; c += GR_EFFECT_LANES)
				GR_FOUR_AT(to + c) += share * GR_FOUR_FROM(from + c);
		}
	}
}

/* s = S p with two factors, where D' W D is diagonal */
GR_FOUR_VERSIONS
static void
apply_to_pairs(const GrEffects *effects, const double *weight, const double *p, const double *main, double *s,
			   int stride)
{
	const GrSparse *cells = &effects->schur->cells;

	for (int64_t k = 0; k < (int64_t) effects->q * stride; k++)
		s[k] = weight[k / stride] * p[k];
	for (int32_t i = 0; i < effects->rows->nlevels[effects->main]; i++)
	{
		const double *from = main + (int64_t) i * stride;

		for (int64_t k = cells->begin[i]; k < cells->begin[i + 1]; k++)
		{
			double	   *to = s + (int64_t) cells->column[k] * stride;
			double		value = cells->value[k];

			for (int c = 0; c < stride; c += GR_EFFECT_LANES)
				GR_FOUR_AT(to + c) -= value * GR_FOUR_FROM(from + c);
		}
	}
}

/* s = S p with more factors: sums by level of each row's p less the mean of its main level */
GR_FOUR_VERSIONS
static void
apply_to_rows(const GrEffects *effects, const double *p, const double *main, double *s, int stride)
{
	const GrEffectRows *rows = effects->rows;

	memset(s, 0, (size_t) effects->q * (size_t) stride * sizeof(double));
	for (int64_t r = 0; r < rows->nrows; r++)
	{
		const double *mean = main + (int64_t) rows->code[effects->main][r] * stride;
		double		weight = rows->weights == NULL ? 1.0 : rows->weights[r];
		int64_t		at[GR_EFFECTS_MAX];

		for (int h = 0; h < effects->nothers; h++)
		{
			int			f = effects->other[h];

			at[h] = ((int64_t) effects->base[f] + rows->code[f][r]) * stride;
		}
		for (int c = 0; c < stride; c += GR_EFFECT_LANES)
		{
			GrFour		u = -GR_FOUR_FROM(mean + c);

			for (int h = 0; h < effects->nothers; h++)
				u += GR_FOUR_FROM(p + at[h] + c);
			u *= weight;
			for (int h = 0; h < effects->nothers; h++)
				GR_FOUR_AT(s + at[h] + c) += u;
		}
	}
}

/* Adds a' b of each column, with a divided by the diagonal if it is not NULL, to sums, which it clears. */
static void
products(const double *a, const double *b, const double *diagonal, int64_t q, int stride, double *sums)
{
	memset(sums, 0, (size_t) stride * sizeof(double));
	for (int64_t o = 0; o < q; o++)
	{
		double		d = diagonal == NULL ? 1.0 : diagonal[o] > 0 ? 1.0 / diagonal[o] : 0.0;

		for (int c = 0; c < stride; c++)
			sums[c] += a[o * stride + c] * b[o * stride + c] * d;
	}
}

/* x += step p, b -= step s */
static void
advance(const Room *room, double *b, const double *step, int64_t q, int stride)
{
	for (int64_t o = 0; o < q; o++)
		for (int c = 0; c < stride; c++)
		{
			room->x[o * stride + c] += step[c] * room->p[o * stride + c];
			b[o * stride + c] -= step[c] * room->s[o * stride + c];
		}
}

/* p = b / diagonal + turn p */
static void
turn(const Room *room, const double *b, const double *diagonal, const double *turns, int64_t q, int stride)
{
	for (int64_t o = 0; o < q; o++)
	{
		double		d = diagonal[o] > 0 ? 1.0 / diagonal[o] : 0.0;

		for (int c = 0; c < stride; c++)
			room->p[o * stride + c] = b[o * stride + c] * d + turns[c] * room->p[o * stride + c];
	}
}

/* By column: scalars of the iteration */
typedef struct Scalars
{
	double	   *start;			/* b' b, in the preconditioner's norm, at the beginning */
	double	   *now;
	double	   *step;
	double	   *turn;
	double	   *goal;			/* value of now at which a column has converged */
	double	   *best;			/* least value of now */
	double	   *waited;			/* iterations since */
} Scalars;

#define NSCALARS 7

/*
 * Makes the sums of b over each factor's levels in each component 0, which they are but for rounding errors: the
 * factor's dummies add up to those of the main factor there.
 */
static bool
remove_constants(const GrEffects *effects, double *b, int stride, GrError *err)
{
	const double *diagonal = effects->schur->diagonal;
	double	   *sum = malloc((size_t) (effects->ncomponents * (stride + 1)) * sizeof(double));

	if (sum == NULL)
		return gr_fail(err, GR_NO_MEMORY, GR_NO_COLUMN, "absorbed effects");
	for (int h = 0; h < effects->nothers; h++)
	{
		int32_t		from = effects->base[effects->other[h]];
		int32_t		to = from + effects->rows->nlevels[effects->other[h]];

		memset(sum, 0, (size_t) (effects->ncomponents * (stride + 1)) * sizeof(double));
		for (int32_t o = from; o < to; o++)
		{
			double	   *at = sum + (int64_t) effects->component[o] * (stride + 1);

			at[stride] += diagonal[o];
			for (int c = 0; c < stride; c++)
				at[c] += b[(int64_t) o * stride + c];
		}
		for (int32_t o = from; o < to; o++)
		{
			const double *at = sum + (int64_t) effects->component[o] * (stride + 1);

			for (int c = 0; at[stride] > 0 && c < stride; c++)
				b[(int64_t) o * stride + c] -= diagonal[o] / at[stride] * at[c];
		}
	}
	free(sum);
	return true;
}

/* Iterates until every column has converged, or no column advances. */
static bool
iterate(GrEffects *effects, const Room *room, const GrSchurSides *sides, const double *weight, Scalars *k,
		const GrHost *host, GrError *err)
{
	double	   *b = sides->b;
	int			stride = sides->stride;
	const double *noise = sides->noise;
	const double *diagonal = effects->schur->diagonal;
	int64_t		q = effects->q;
	bool		active = true;

	products(b, b, diagonal, q, stride, k->start);
	memcpy(k->now, k->start, (size_t) stride * sizeof(double));
	memcpy(k->best, k->start, (size_t) stride * sizeof(double));
	for (int c = 0; c < stride; c++)
		k->goal[c] = fmax(TOLERANCE * TOLERANCE * k->start[c], noise[c]);
	turn(room, b, diagonal, k->turn, q, stride);
	for (int i = 0; i < ITERATIONS_MAX && active; i++)
	{
		if (gr_canceled(host))
			return gr_fail(err, GR_CANCELED, GR_NO_COLUMN, "absorbed effects");
		sum_by_main(effects, room->p, room->main, stride);
		if (effects->nothers == 1)
			apply_to_pairs(effects, weight, room->p, room->main, room->s, stride);
		else
			apply_to_rows(effects, room->p, room->main, room->s, stride);
		products(room->p, room->s, NULL, q, stride, k->step);
		for (int c = 0; c < stride; c++)
		{
			bool		done = !(k->now[c] > k->goal[c]) || !(k->step[c] > 0) || k->waited[c] > PATIENCE;

			k->step[c] = done ? 0 : k->now[c] / k->step[c];
		}
		advance(room, b, k->step, q, stride);
		products(b, b, diagonal, q, stride, k->turn);
		active = false;
		for (int c = 0; c < stride; c++)
		{
			double		next = k->turn[c];

			k->turn[c] = k->now[c] > 0 && k->step[c] != 0 ? next / k->now[c] : 0;
			k->now[c] = next;
			active |= k->step[c] != 0 && next > k->goal[c];
			k->waited[c] = next < 0.5 * k->best[c] ? 0 : k->waited[c] + 1;
			if (k->waited[c] == 0)
				k->best[c] = next;
		}
		turn(room, b, diagonal, k->turn, q, stride);
		effects->niterations++;
	}
	return true;
}

bool
gr_schur_iterate(GrEffects *effects, const GrSchurSides *sides, const GrHost *host, GrError *err)
{
	int			stride = sides->stride;
	size_t		size = (size_t) effects->q * (size_t) stride;
	double	   *work = sides->work;
	Room		room = {.x = work,.p = work + size,.s = work + 2 * size,.main = work + 3 * size};
	double	   *memory = calloc(NSCALARS * (size_t) stride + (size_t) effects->q, sizeof(double));
	double	   *weight = memory + NSCALARS * (size_t) stride;
	Scalars		k = {
		memory, memory + stride, memory + 2 * stride, memory + 3 * stride, memory + 4 * stride, memory + 5 * stride,
		memory + 6 * stride
	};
	const GrSparse *cells = &effects->schur->cells;
	bool		ok;

	if (memory == NULL)
		return gr_fail(err, GR_NO_MEMORY, GR_NO_COLUMN, "absorbed effects");
	memset(work, 0, 2 * size * sizeof(double));
	for (int64_t e = 0; e < cells->begin[effects->rows->nlevels[effects->main]]; e++)
		weight[cells->column[e]] += cells->value[e];
	ok = remove_constants(effects, sides->b, stride, err) && iterate(effects, &room, sides, weight, &k, host, err);
	memcpy(sides->b, room.x, size * sizeof(double));
	free(memory);
	return ok;
}
