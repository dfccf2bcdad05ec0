/*
 * logit_path_test.c: tests elastic nets of a logistic regression: the conditions of a minimum in long double, the
 * number of passes of a path, separated rows, rows far from 0, and invalid arguments. test/sql/enet_logit.sql compares
 * coefficients with 60 digits.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compute/enet/logit_path.h"
#include "unit.h"

#define MAX_P 120
#define NROWS 300
#define MANY_ROWS 1000			/* rows of problems with many columns */

typedef struct Problem
{
	int			p;
	int64_t		nrows;
	double		rows[MANY_ROWS * (MAX_P + 1)];
} Problem;

static Problem problem;

/* Passes for a Hessian that make_passes() has made */
static int	nhessians;

static double
uniform(void)
{
	return 2.0 * (double) random() / 2147483648.0 - 1.0;
}

/*
 * Makes columns about a center that each share much with the one before; the logit is a sum of every third, times a
 * size.
 */
static void
make_problem(int p, int64_t nrows, double share, double place, double size)
{
	problem.p = p;
	problem.nrows = nrows;
	for (int64_t r = 0; r < nrows; r++)
	{
		double	   *row = problem.rows + r * (p + 1);
		double		logit = 0.3;

		for (int j = 0; j < p; j++)
		{
			row[j] = uniform() + (j > 0 ? share * (row[j - 1] - place) : 0) + place;
			logit += j % 3 == 0 ? size * (row[j] - place) : 0;
		}
		row[p] = logit > log(1 / (0.5 + 0.5 * uniform()) - 1);
	}
}

/* Returns how far coefficients are from a minimum, in units of the penalty. */
static double
distance_from_minimum(const GrPathOptions *net, const double *coef, double lambda)
{
	int			p = problem.p;
	const double *b = coef + (net->intercept ? 1 : 0);
	long double gradient[MAX_P + 1] = {0};
	double		sum = 0;
	double		worst;

	for (int64_t r = 0; r < problem.nrows; r++)
	{
		const double *row = problem.rows + r * (p + 1);
		long double eta = net->intercept ? coef[0] : 0;
		long double residual;

		for (int j = 0; j < p; j++)
			eta += (long double) row[j] * b[j];
		residual = row[p] - 1 / (1 + expl(-eta));
		gradient[p] += residual;
		for (int j = 0; j < p; j++)
			gradient[j] += residual * row[j];
	}
	worst = net->intercept ? fabs((double) gradient[p]) / (double) problem.nrows : 0;
	for (int j = 0; j < p; j++)
		sum += net->penalty == NULL ? 1 : net->penalty[j];
	for (int j = 0; j < p; j++)
	{
		long double mean = 0;
		long double square = 0;
		double		factor = (net->penalty == NULL ? 1 : net->penalty[j]) * p / sum;
		double		sd;
		double		g;

		for (int64_t r = 0; r < problem.nrows; r++)
			mean += problem.rows[r * (p + 1) + j] / (long double) problem.nrows;
		for (int64_t r = 0; r < problem.nrows; r++)
			square += powl(problem.rows[r * (p + 1) + j] - mean, 2) / (long double) problem.nrows;
		sd = net->standardize ? (double) sqrtl(square) : 1;
		/* about the mean, as the intercept's gradient is 0 */
		g = (double) ((gradient[j] - (net->intercept ? mean * gradient[p] : 0)) / (long double) problem.nrows -
					  lambda * (1 - net->alpha) * factor * sd * sd * b[j]);
		factor *= lambda * net->alpha * sd;
		worst = fmax(worst, (b[j] != 0 ? fabs(g - copysign(factor, b[j])) :
							 (net->positive != NULL && net->positive[j] ? g : fabs(g)) - factor) / sd);
		if (net->positive != NULL && net->positive[j] && b[j] < 0)
			worst = INFINITY;
	}
	return worst / lambda;
}

static bool
make_passes(GrLogitPath *path, GrError *err)
{
	double	   *scratch = malloc(gr_pass_scratch_nbytes(GR_PASS_EXACT, path->pass.shape) +
								 gr_pass_scratch_nbytes(GR_PASS_FAST, path->pass.shape));
	bool		ok = true;

	while (ok && path->wants_pass)
	{
		nhessians += path->pass.kind != GR_PASS_GRADIENT;
		gr_pass_add(&path->pass, path->sums, problem.rows, problem.nrows, scratch);
		ok = gr_logit_path_advance(path, NULL, err);
	}
	free(scratch);
	return ok;
}

static GrLogitPathOptions
options_of(double alpha)
{
	return (GrLogitPathOptions) {
		.net = {.alpha = alpha,.intercept = true,.standardize = true},.shape = gr_plain_shape(problem.p)
	};
}

static void
check_path(const char *name, const GrLogitPathOptions *options, double min_ratio, double most_passes)
{
	void	   *memory = malloc(gr_logit_path_nbytes(options));
	GrLogitPath path;
	GrError		err = {0};
	double		lambda[50];
	int			n = COUNT(lambda);
	double		worst = 0;
	bool		ok;

	gr_logit_path_begin(&path, options, memory);
	ok = make_passes(&path, &err) && path.converged && path.point.df == 0;
	gr_logit_path_grid(&path, min_ratio, &n, lambda);
	for (int k = 0; ok && k < n; k++)
	{
		ok = gr_logit_path_go_to(&path, lambda[k], NULL, &err) && make_passes(&path, &err) && path.converged;
		if (ok)
			worst = fmax(worst, distance_from_minimum(&options->net, path.coef, lambda[k]));
	}
	check(ok && n == COUNT(lambda) && worst < 1e-9 && path.npasses <= most_passes * n + 2,
		  "%s: %g, %d passes for %d lambdas", name, worst, path.npasses, n);
	free(memory);
}

static void
check_paths(void)
{
	double		penalty[MAX_P];
	bool		positive[MAX_P];
	GrLogitPathOptions options;

	for (int j = 0; j < MAX_P; j++)
	{
		penalty[j] = 1 + j % 3;
		positive[j] = j % 2 == 0;
	}
	make_problem(8, NROWS, 0.5, 0, 1);
	options = options_of(1);
	check_path("lasso", &options, 1e-4, 2);
	options = options_of(0.5);
	check_path("net", &options, 1e-4, 2);
	options = options_of(0);
	check_path("ridge", &options, 1e-4, 2.5);
	options = options_of(0.7);
	options.net.intercept = false;
	check_path("without intercept", &options, 1e-4, 2);
	options = options_of(0.7);
	options.net.standardize = false;
	check_path("as they are", &options, 1e-4, 2);
	options = options_of(0.7);
	options.net.penalty = penalty;
	options.net.positive = positive;
	check_path("factors, positive", &options, 1e-4, 2);
	make_problem(8, NROWS, 0.5, 1000, 1);
	options = options_of(1);
	check_path("far from 0", &options, 1e-3, 2);
	make_problem(5, NROWS, 10, 0, 1e-3);
	options = options_of(1);
	check_path("correlated", &options, 1e-4, 2.5);
	make_problem(40, 30, 0.5, 0, 1);
	options = options_of(1);
	check_path("more columns than rows", &options, 1e-2, 3);
	make_problem(4, 60, 0.5, 0, 1e3);
	options = options_of(1);
	check_path("separated", &options, 1e-4, 3);
}

/*
 * Checks paths with so many columns that steps use the Hessian of an earlier pass: the minimum is as near, and few
 * passes compute a Hessian.
 */
static void
check_many_columns(void)
{
	static const double shares[] = {0, 0.5, 0.95, 3};
	GrLogitPathOptions options;
	char		name[80];

	for (int k = 0; k < COUNT(shares); k++)
		for (int ridge = 0; ridge <= 1; ridge++)
		{
			make_problem(MAX_P, MANY_ROWS, shares[k], 0, 0.3);
			options = options_of(ridge ? 0.02 : 1);
			nhessians = 0;
			snprintf(name, sizeof(name), "many columns, share %g, alpha %g", shares[k], options.net.alpha);
			check_path(name, &options, 1e-3, 8);
			check(nhessians < (shares[k] < 0.9 ? 50 : 100), "%s: %d Hessians", name, nhessians);
		}
	make_problem(MAX_P, 90, 0.5, 0, 0.3);
	options = options_of(1);
	check_path("many columns, fewer rows", &options, 1e-1, 8);
	make_problem(MAX_P, MANY_ROWS, 0.5, 1000, 0.3);
	options = options_of(0.5);
	check_path("many columns, far from 0", &options, 1e-3, 8);
	options.net.intercept = false;
	make_problem(MAX_P, MANY_ROWS, 0.5, 0, 0.3);
	check_path("many columns, without intercept", &options, 1e-3, 8);
}

/* Checks a column given twice: one copy has the coefficient, or with ridge both share it. */
static void
check_collinear(double alpha)
{
	GrLogitPathOptions options;
	void	   *memory;
	GrLogitPath path;
	GrError		err = {0};
	bool		ok;

	make_problem(4, NROWS, 0.5, 0, 1);
	for (int64_t r = 0; r < NROWS; r++)
		problem.rows[r * 5 + 3] = problem.rows[r * 5];
	options = options_of(alpha);
	memory = malloc(gr_logit_path_nbytes(&options));
	gr_logit_path_begin(&path, &options, memory);
	ok = make_passes(&path, &err);
	for (double lambda = path.largest; ok && lambda > path.largest * 1e-3; lambda *= 0.8)
		ok = gr_logit_path_go_to(&path, lambda, NULL, &err) && make_passes(&path, &err) && path.converged &&
			distance_from_minimum(&options.net, path.coef, lambda) < 1e-9 &&
			(alpha == 1 || fabs(path.coef[1] - path.coef[4]) <= 1e-12 * fabs(path.coef[1]));
	ok &= gr_logit_path_go_to(&path, 0, NULL, &err) && make_passes(&path, &err) && path.converged;
	check(ok, "a column twice, alpha %g: %d passes", alpha, path.npasses);
	free(memory);
}

/* Checks that without a penalty the coefficients of separated rows grow without limit, and the path reports that. */
static void
check_separated(void)
{
	GrLogitPathOptions options;
	void	   *memory;
	GrLogitPath path;
	GrError		err = {0};
	bool		ok;

	make_problem(3, 60, 0, 0, 1e3);
	options = options_of(1);
	memory = malloc(gr_logit_path_nbytes(&options));
	gr_logit_path_begin(&path, &options, memory);
	ok = make_passes(&path, &err) && gr_logit_path_go_to(&path, 0, NULL, &err) && make_passes(&path, &err);
	check(ok && !path.converged && path.npasses < 60 && isfinite(path.coef[1]) && path.point.dev_ratio > 0.999,
		  "separated: %d passes", path.npasses);
	free(memory);
}

static void
check_refused(void)
{
	GrLogitPathOptions options;
	void	   *memory;
	GrLogitPath path;
	GrError		err = {0};
	Stopper		stopper = {.stop_at = 1};
	GrHost		host = {.canceled = stop,.arg = &stopper};

	make_problem(3, 60, 0, 0, 1);
	options = options_of(1);
	memory = malloc(gr_logit_path_nbytes(&options));
	for (int64_t r = 0; r < 60; r++)
		problem.rows[r * 4 + 3] = 1;
	gr_logit_path_begin(&path, &options, memory);
	check(!make_passes(&path, &err) && err.status == GR_ONE_CLASS && err.value == 1, "one class");
	problem.nrows = 0;
	err = (GrError) {0};
	gr_logit_path_begin(&path, &options, memory);
	check(!make_passes(&path, &err) && err.status == GR_INVALID, "no rows");
	free(memory);
	/* enough work to poll the host */
	make_problem(40, NROWS, 0.5, 0, 1);
	options = options_of(0.5);
	memory = malloc(gr_logit_path_nbytes(&options));
	err = (GrError) {0};
	gr_logit_path_begin(&path, &options, memory);
	check(make_passes(&path, &err), "begun");
	for (int k = 0; k < 10000 && err.status == GR_OK; k++)
		(void) gr_logit_path_go_to(&path, path.largest / 100 * (1 + k % 2), &host, &err);
	check(stopper.asked == 0 || err.status == GR_CANCELED, "canceled");
	free(memory);
}

int
main(void)
{
	srandom(20261121);
	check_paths();
	check_many_columns();
	check_collinear(1);
	check_collinear(0.5);
	check_separated();
	check_refused();
	return unit_done();
}
