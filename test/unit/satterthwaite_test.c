/*
 * satterthwaite_test.c: tests degrees of freedom of CR2's variances against the sum over pairs of clusters, also with
 * the coefficients computed in several turns.
 */
#include <stdlib.h>
#include <string.h>

#include "compute/dist/satterthwaite.h"
#include "unit.h"

#define MAX_N 300
#define MAX_G 6

typedef struct Problem
{
	int			n;
	int			ng;
	double	   *hat;			/* ng x n x n: each cluster's part of the hat matrix, with its eigenvalues on the
								 * diagonal */
	double	   *vectors;		/* ng x n x n */
	double		f[MAX_G][MAX_N];
	GrSatterthwaite s;
} Problem;

/* Returns a number between -1 and 1. */
static double
uniform(void)
{
	return 2.0 * random() / 2147483648.0 - 1.0;
}

/*
 * Makes a problem. Eigenvectors are those of a reflection along a random vector; the first cluster's last eigenvalue is
 * 1.
 */
static void
start(Problem *problem, int n, int ng)
{
	size_t		square = (size_t) n * n;
	GrArena		arena = {.base = NULL};

	problem->n = n;
	problem->ng = ng;
	problem->hat = calloc(ng * square, sizeof(double));
	problem->vectors = calloc(ng * square, sizeof(double));
	for (int g = 0; g < ng; g++)
	{
		double		v[MAX_N];
		double		length = 0;

		for (int i = 0; i < n; i++)
		{
			v[i] = uniform();
			length += v[i] * v[i];
		}
		for (int i = 0; i < n; i++)
		{
			double		value = g == 0 && i == n - 1 ? 1 : 0.9 * fabs(uniform());

			problem->hat[g * square + (size_t) i * n + i] = value;
			problem->f[g][i] = value == 1 ? 0 : 1 / sqrt(1 - value);
			for (int j = 0; j < n; j++)
				problem->vectors[g * square + (size_t) i * n + j] = (i == j) - 2 * v[i] * v[j] / length;
		}
	}
	gr_satterthwaite_carve(&problem->s, n, &arena);
	arena = (GrArena) {.base = calloc(1, arena.used)};
	gr_satterthwaite_carve(&problem->s, n, &arena);
	for (size_t k = 0; k < square; k++)
		problem->s.lines[k] = uniform();
}

/* Computes m_g of a coefficient into m. Returns the part of p_g' p_g beyond m_g' m_g. */
static double
vector_of(const Problem *problem, int g, int c, double *m)
{
	int			n = problem->n;
	const double *line = problem->s.lines + (size_t) c * n;
	double		sum = 0;

	memset(m, 0, n * sizeof(double));
	for (int i = 0; i < n; i++)
	{
		const double *vector = problem->vectors + ((size_t) g * n + i) * n;
		double		value = problem->hat[((size_t) g * n + i) * n + i];
		double		part = 0;

		for (int j = 0; j < n; j++)
			part += vector[j] * line[j];
		sum += value * problem->f[g][i] * problem->f[g][i] * part * part;
		for (int j = 0; j < n; j++)
			m[j] += value * problem->f[g][i] * part * vector[j];
	}
	return sum;
}

static double
df_by_pairs(const Problem *problem, int c)
{
	static double m[MAX_G][MAX_N];
	double		own[MAX_G];
	double		mean = 0;
	double		sum = 0;

	for (int g = 0; g < problem->ng; g++)
		own[g] = vector_of(problem, g, c, m[g]);
	for (int g = 0; g < problem->ng; g++)
		for (int h = 0; h < problem->ng; h++)
		{
			double		product = g == h ? own[g] : 0;

			for (int i = 0; i < problem->n; i++)
				product -= m[g][i] * m[h][i];
			if (g == h)
				mean += product;
			sum += product * product;
		}
	return mean * mean / sum;
}

static void
check_problem(int n, int ng)
{
	static Problem problem;
	GrPoll		poll = {.host = NULL};
	double		worst = 0;
	int			nturns = 0;
	int			first = 0;

	start(&problem, n, ng);
	while (first < n)
	{
		gr_satterthwaite_begin(&problem.s, first);
		for (int g = 0; g < ng; g++)
			(void) gr_satterthwaite_add(&problem.s, problem.hat + (size_t) g * n * n, n + 1,
										problem.vectors + (size_t) g * n * n, problem.f[g], &poll);
		for (int k = 0; k < problem.s.count; k++)
			worst = fmax(worst, fabs(gr_satterthwaite_df(&problem.s, k) / df_by_pairs(&problem, first + k) - 1));
		first += problem.s.count;
		nturns++;
	}
	check(first == n && worst < 1e-11, "%d terms, %d clusters: df to %.1e", n, ng, worst);
	check((nturns > 1) == (n > 256), "%d terms in %d turns", n, nturns);
	free(problem.hat);
	free(problem.vectors);
	free(problem.s.lines);
}

int
main(void)
{
	static Problem problem;
	GrPoll		poll = {.host = NULL};

	check_problem(1, 2);
	check_problem(5, 3);
	check_problem(40, 6);
	check_problem(270, 3);
	start(&problem, 3, 1);
	memset(problem.s.lines, 0, 9 * sizeof(double));
	gr_satterthwaite_begin(&problem.s, 0);
	check(gr_satterthwaite_add(&problem.s, problem.hat, 4, problem.vectors, problem.f[0], &poll) &&
		  isnan(gr_satterthwaite_df(&problem.s, 0)), "a coefficient without a variance");
	return unit_done();
}
