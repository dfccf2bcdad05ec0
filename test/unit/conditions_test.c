/*
 * conditions_test.c: logistic regression over columns that float8 sums would lose digits over, by each solver. The
 * features are dyadic, so that what is done to them is exact, and what it does to the estimates is known.
 */
#include "logreg_driver.h"

static const struct
{
	const char *name;
	GrLogregSolver solver;
}			solvers[] = {{"Newton", GR_SOLVER_NEWTON}, {"L-BFGS", GR_SOLVER_LBFGS}, {"gradient descent", GR_SOLVER_GD}};

static Run
fit_by(const Data *data, GrLogregSolver solver, bool intercept)
{
	GrLogregOptions options = defaults(data);

	options.solver = solver;
	options.intercept = intercept;
	if (solver != GR_SOLVER_NEWTON)
		options.max_iter = 10000;
	return run_fit(data, &options);
}

/*
 * Right digits of the coefficients and standard errors of a fit over moved data, whose features are x_j = shift_j +
 * scale_j (z_j + tie_j x_1)
 */
static void
count_digits(const GrLogregFit *fit, const GrLogregFit *plain, const double *scale, const double *shift,
			 const double *tie, double *coef,
			 double *se)
{
	int			first = fit->nterms == plain->nterms && shift != NULL ? 1 : 0;
	double		worst_coef = 0;
	double		worst_se = 0;

	for (int j = 0; j < fit->nterms - first; j++)
	{
		long double want = plain->coef[j + first] / scale[j];
		double		error = std_error(plain, j + first) / scale[j];

		/* the first feature makes up for what those tied to it bring along */
		if (j == 0)
			for (int i = 1; i < fit->nterms - first; i++)
				want -= (long double) tie[i] * plain->coef[i + first] / scale[0];
		else
			worst_se = fmax(worst_se, relative_error(std_error(fit, j + first), error));
		worst_coef = fmax(worst_coef, relative_error(fit->coef[j + first], (double) want));
	}
	*coef = worst_coef;
	*se = worst_se;
}

/* x_j = shift + scale (z_j + tie z_1); tie 0 for the first */
static Data
moved(const Data *plain, double scale, double shift, double tie)
{
	Data		data = data_of(plain->p, plain->nrows, plain->rows);

	for (int64_t r = 0; r < data.nrows; r++)
	{
		double		z = row_of(plain, r)[0];

		for (int j = 0; j < data.p; j++)
			row_of(&data, r)[j] = shift + scale * (row_of(plain, r)[j] + (j > 0 ? tie * z : 0));
	}
	return data;
}

static void
check_moved(const Data *plain, double scale, double shift, double tie, bool intercept)
{
	Data		data = moved(plain, scale, shift, tie);
	double		scales[] = {scale, scale, scale};
	double		ties[] = {0, tie, tie};

	for (size_t s = 0; s < LENGTH(solvers); s++)
	{
		Run			want = fit_by(plain, GR_SOLVER_NEWTON, intercept);
		Run			run = fit_by(&data, solvers[s].solver, intercept);
		double		coef = INFINITY;
		double		se = INFINITY;

		if (regular(&run))
			count_digits(run.fit, want.fit, scales, intercept ? &shift : NULL, ties, &coef, &se);
		check(regular(&run) && coef < 1e-12 && se < 1e-12,
			  "%s, features %g + %g (z + %g z_1)%s: coefficients to %.2g, standard errors to %.2g, %d steps%s",
			  solvers[s].name, shift, scale,
			  tie, intercept ? "" : ", no intercept", coef, se, run.fit->iterations, run.changed ? ", changed" : "");
		run_free(&want);
		run_free(&run);
	}
	data_free(&data);
}

static void
test_collinearity(const Data *plain)
{
	/* x_2 = z_2 + 2^k z_1, so that z_2 is 2^-k of it */
	for (int k = 0; k <= 36; k += 4)
	{
		check_moved(plain, 1, 0, ldexp(1, k), true);
		check_moved(plain, 1, 0, ldexp(1, k), false);
	}
}

static void
test_offsets(const Data *plain)
{
	for (int k = 0; k <= 40; k += 4)
		check_moved(plain, 1, ldexp(1, k), 0, true);
}

static void
test_scales(const Data *plain)
{
	for (int k = -340; k <= 340; k += 85)
		check_moved(plain, ldexp(1, k), 0, 0, true);
	check_moved(plain, ldexp(1, 300), ldexp(1, 320), 0, true);
}

/* Raw powers of a year, by each solver in each order of the rows to the last digits */
static void
test_powers(void)
{
	Data		data = data_new(3, 300);

	for (int r = 0; r < 300; r++)
	{
		double		year = 1990 + whole(0, 30);
		double	   *row = row_of(&data, r);

		row[0] = year;
		row[1] = year * year;
		row[2] = year * year * year;
		row[3] = uniform() < (year - 2005) / 20 ? 1 : 0;
	}
	for (size_t s = 0; s < LENGTH(solvers); s++)
	{
		Run			newton = fit_by(&data, GR_SOLVER_NEWTON, true);
		Run			run = fit_by(&data, solvers[s].solver, true);
		Run			parts;
		GrLogregOptions options = defaults(&data);

		options.solver = solvers[s].solver;
		options.max_iter = 10000;
		parts = run_in_parts(&data, &options, 5, NULL);
		check(regular(&run) && difference(run.fit, newton.fit) < 1e-12 && difference(run.fit, parts.fit) < 1e-12,
			  "%s, powers of a year: %d steps, off by %.2g, %.2g by partial sums", solvers[s].name, run.fit->iterations,
			  difference(run.fit, newton.fit), difference(run.fit, parts.fit));
		run_free(&newton);
		run_free(&run);
		run_free(&parts);
	}
	data_free(&data);
}

/* More terms than Hessians are formed for, far from 0: the same slopes, to what L-BFGS alone gives */
static void
test_many(void)
{
	Data		plain = random_data(2000, 120, true);
	Data		data = data_moved(&plain, 1, ldexp(1, 32));
	GrLogregOptions options = defaults(&data);
	double		worst = 0;
	Run			want;
	Run			run;

	options.l2 = 3;
	options.solver = GR_SOLVER_LBFGS;
	options.max_iter = 500;
	want = run_fit(&plain, &options);
	run = run_fit(&data, &options);
	for (int k = 1; k <= 2000; k++)
		worst = fmax(worst, fabs(run.fit->coef[k] - want.fit->coef[k]) / fabs(want.fit->coef[1]));
	check(want.ok && want.fit->converged && run.ok && run.fit->converged && run.fit->vcov == NULL && worst < 1e-6,
		  "L-BFGS, 2,000 features + 2^32: off by %.2g after %d iterations, %d without", worst, run.fit->iterations,
		  want.fit->iterations);
	run_free(&want);
	run_free(&run);
	data_free(&plain);
	data_free(&data);
}

int
main(void)
{
	Data		plain = random_data(3, 400, true);

	test_collinearity(&plain);
	test_offsets(&plain);
	test_scales(&plain);
	test_powers();
	test_many();
	data_free(&plain);
	return unit_done();
}
