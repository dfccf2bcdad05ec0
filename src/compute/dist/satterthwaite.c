/* satterthwaite.c: degrees of freedom of CR2's variances; see satterthwaite.h. */
#include "compute/dist/satterthwaite.h"

#include <math.h>
#include <string.h>

/* Returns the number of coefficients per turn. */
static int
most_at_a_time(int n)
{
	int64_t		most = n == 0 ? 0 : GR_SATTERTHWAITE_SIZE / gr_triangle(n);

	return most < 1 ? 1 : most > n ? n : (int) most;
}

void
gr_satterthwaite_carve(GrSatterthwaite *s, int n, GrArena *arena)
{
	int			count = most_at_a_time(n);

	s->n = n;
	s->lines = gr_carve_doubles(arena, (int64_t) n * n);
	s->squares = gr_carve_doubles(arena, count * gr_triangle(n));
	s->mean = gr_carve_doubles(arena, count);
	s->own = gr_carve_doubles(arena, count);
	s->work = gr_carve_doubles(arena, 2 * (int64_t) n);
}

void
gr_satterthwaite_begin(GrSatterthwaite *s, int first)
{
	int			most = most_at_a_time(s->n);

	s->first = first;
	s->count = s->n - first < most ? s->n - first : most;
	memset(s->squares, 0, (size_t) s->count * (size_t) gr_triangle(s->n) * sizeof(double));
	memset(s->mean, 0, (size_t) s->count * sizeof(double));
	memset(s->own, 0, (size_t) s->count * sizeof(double));
}

static double
multiply(const double *a, const double *b, int n)
{
	double		sum = 0;

	for (int i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

bool
gr_satterthwaite_add(GrSatterthwaite *s, const double *values, int stride, const double *vectors, const double *f,
					 GrPoll *poll)
{
	int64_t		n = s->n;
	double	   *m = s->work;

	for (int k = 0; k < s->count; k++)
	{
		const double *line = s->lines + (s->first + k) * n;
		double	   *square = s->squares + k * gr_triangle(n);
		double		left = 0;	/* p_g' p_g */
		double		taken = 0;	/* m_g' m_g */

		if (gr_poll(poll, 3 * n * n))
			return false;
		memset(m, 0, (size_t) n * sizeof(double));
		for (int64_t i = 0; i < n; i++)
		{
			double		value = values[i * stride];
			double		part = f[i] == 0 || !(value > 0) ? 0 : multiply(vectors + i * n, line, (int) n);

			left += value * part * part;
			part *= value * f[i];
			taken += part * part;
			for (int64_t j = 0; part != 0 && j < n; j++)
				m[j] += part * vectors[i * n + j];
		}
		for (int64_t i = 0; i < n; i++)
			for (int64_t j = 0; j <= i; j++)
				*square++ += m[i] * m[j];
		s->mean[k] += left;
		s->own[k] += left * left - taken * taken;
	}
	return true;
}

double
gr_satterthwaite_df(const GrSatterthwaite *s, int k)
{
	const double *square = s->squares + k * gr_triangle(s->n);
	double		sum = s->own[k];

	for (int i = 0; i < s->n; i++)
		for (int j = 0; j <= i; j++, square++)
			sum += (j < i ? 2 : 1) * *square * *square;
	return s->mean[k] > 0 ? s->mean[k] / sum * s->mean[k] : NAN;
}
