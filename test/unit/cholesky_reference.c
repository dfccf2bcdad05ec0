/*
 * cholesky_reference.c: computes L D L', back substitution and the inverse in quadruple precision.
 */
#include "cholesky_reference.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gram_reference.h"

typedef struct Solve
{
	int			m;
	Quad	   *l;				/* (m + 1) x (m + 1): L below the diagonal, D on it */
	Quad	   *x;				/* m x m: inv(L) */
	Quad	   *coef;
	bool	   *aliased;
} Solve;

static Quad
absolute(Quad a)
{
	return a < 0 ? -a : a;
}

static void
factorise(Solve *s, const CholeskyAnswer *a)
{
	int			n = s->m + 1;

	for (int i = 0; i < n; i++)
		for (int j = 0; j <= i; j++)
		{
			int64_t		k = (int64_t) i * (i + 1) / 2 + j;
			Quad		sum = ((Quad) a->hi[k] + a->lo[k]) * a->scale[i] * a->scale[j];

			for (int t = 0; t < j; t++)
				sum -= s->l[i * n + t] * s->l[j * n + t] * s->l[t * n + t];
			if (j < i)
				s->l[i * n + j] = s->aliased[j] ? 0 : sum / s->l[j * n + j];
			else
				s->l[i * n + i] = sum;
			if (j == i && i < s->m)
				s->aliased[i] = a->left_out[i] || !(sum > a->least_pivot[i]);
		}
}

static void
invert(Solve *s)
{
	int			n = s->m + 1;

	for (int j = 0; j < s->m; j++)
		for (int k = j; k < s->m; k++)
		{
			Quad		sum = k == j ? 1 : 0;

			for (int i = j; i < k; i++)
				sum -= s->l[k * n + i] * s->x[i * s->m + j];
			s->x[k * s->m + j] = s->aliased[k] ? 0 : sum;
		}
	for (int j = s->m - 1; j >= 0; j--)
	{
		Quad		sum = s->l[s->m * n + j];

		for (int i = j + 1; i < s->m; i++)
			sum -= s->l[i * n + j] * s->coef[i];
		s->coef[j] = s->aliased[j] ? 0 : sum;
	}
}

/* worst = max(worst, |got - want| / size), NaN counting as infinite */
static void
note(double *worst, Quad got, Quad want, Quad size)
{
	double		e = got == want ? 0 : (double) (absolute(got - want) / size);

	*worst = e <= *worst ? *worst : e < INFINITY ? e : INFINITY;
}

static void
compare_inverse(const Solve *s, const CholeskyAnswer *a, double *worst)
{
	int			n = s->m + 1;
	Quad	   *inverse = calloc((size_t) s->m * (size_t) s->m, sizeof(Quad));

	for (int i = 0; i < s->m; i++)
		for (int j = 0; j <= i; j++)
			for (int k = i; k < s->m; k++)
				if (!s->aliased[k])
					inverse[i * s->m + j] += s->x[k * s->m + i] * s->x[k * s->m + j] / s->l[k * n + k];
	for (int i = 0; i < s->m; i++)
		for (int j = 0; j <= i; j++)
		{
			/* the result is scaled like the terms */
			Quad		got = (Quad) a->inverse[i * s->m + j] / a->scale[i] / a->scale[j];

			if (s->aliased[i] || s->aliased[j])
				continue;
			note(worst, got, inverse[i * s->m + j],
				 sqrt((double) inverse[i * s->m + i]) * sqrt((double) inverse[j * s->m + j]));
			if (a->inverse[i * s->m + j] != a->inverse[j * s->m + i])
				*worst = INFINITY;
		}
	free(inverse);
}

CholeskyErrors
cholesky_reference(const CholeskyAnswer *a)
{
	size_t		m = (size_t) a->m;
	size_t		n = m + 1;
	Solve		s = {
		a->m, calloc(n * n, sizeof(Quad)), calloc(m * m, sizeof(Quad)), calloc(m, sizeof(Quad)), calloc(m, sizeof(bool))
	};
	CholeskyErrors errors = {false, 0, 0, 0, 0};
	Quad		largest_row = 0;
	Quad		largest_coef = 0;

	factorise(&s, a);
	invert(&s);
	errors.same_aliased = memcmp(s.aliased, a->aliased, m * sizeof(bool)) == 0;
	for (size_t k = 0; k < m; k++)
	{
		Quad		row = absolute(s.l[m * n + k]);
		Quad		coef = absolute(s.coef[k]);

		largest_row = row > largest_row ? row : largest_row;
		largest_coef = coef > largest_coef ? coef : largest_coef;
	}
	for (size_t k = 0; k < n; k++)
		if (k == m || !s.aliased[k])
			note(&errors.d, (Quad) a->d_hi[k] + a->d_lo[k], s.l[k * n + k], absolute(s.l[k * n + k]));
	for (size_t k = 0; k < m; k++)
	{
		note(&errors.row, (Quad) a->row_hi[k] + a->row_lo[k], s.l[m * n + k], largest_row);
		note(&errors.coef, (Quad) a->coef_hi[k] + a->coef_lo[k], s.coef[k], largest_coef);
	}
	compare_inverse(&s, a, &errors.inverse);
	free(s.l);
	free(s.x);
	free(s.coef);
	free(s.aliased);
	return errors;
}
