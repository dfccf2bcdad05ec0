/*
 * conditions_test.c: tests every solver of logistic regression on columns that cost sums in float8 their digits. The
 * features are dyadic, so shifting and scaling them is exact, with a known effect on the estimates.
 */
#include "logreg_driver.h"

static const struct
{
	const char *name;
	GrGlmSolver solver;
}			solvers[] = {{"Newton", GR_SOLVER_NEWTON}, {"L-BFGS", GR_SOLVER_LBFGS}, {"gradient descent", GR_SOLVER_GD}};

static Run
fit_by(const Data *data, GrGlmSolver solver, bool intercept)
{
	GrGlmOptions options = defaults(data);

	options.solver = solver;
	options.intercept = intercept;
	if (solver != GR_SOLVER_NEWTON)
		options.max_iter = 10000;
	return run_fit(data, &options);
}

/*
 * Computes the largest relative errors of a fit's coefficients and standard errors. The fit's features are x_j =
 * shift_j + scale_j (z_j + tie_j x_1), where plain is the fit to z.
 */
static void
count_digits(const GrGlmFit *fit, const GrGlmFit *plain, const double *scale, const double *shift,
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

		/* the first feature's coefficient makes up for the features that are tied to it */
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

/* Makes x_j = shift + scale (z_j + tie z_1); the first feature has tie 0. */
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
	/* x_2 = z_2 + 2^k z_1, so z_2 is 2^-k of x_2 */
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

/* Fits raw powers of a year by each solver, with the rows in each order: all digits must be right. */
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
		GrGlmOptions options = defaults(&data);

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

/* Fits more terms than Hessians are formed for, far from 0: the slopes must be those that L-BFGS gives near 0. */
static void
test_many(void)
{
	Data		plain = random_data(2000, 120, true);
	Data		data = data_moved(&plain, 1, ldexp(1, 32));
	GrGlmOptions options = defaults(&data);
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

#define CENTER 640.0

/* Makes the moves from powers of z = x - CENTER to those of x. first: the number of the term z. */
static void
make_moves(GrTermMove *move, int first)
{
	move[0] = (GrTermMove) {.to = 0,.from = first,.hi = -CENTER};
	move[1] = (GrTermMove) {.to = 0,.from = first + 1,.hi = CENTER * CENTER};
	move[2] = (GrTermMove) {.to = first,.from = first + 1,.hi = -2 * CENTER};
	move[3] = (GrTermMove) {.to = first + 1,.from = first + 2,.hi = -3 * CENTER};
}

/* Makes data with p powers of z, the first feature: (z, z^2, z^3), or (z^2, z, z^2, z^3) if square_first. */
static Data
powers_of(const Data *plain, bool square_first, int p)
{
	Data		data = data_new(p, plain->nrows);

	for (int64_t r = 0; r < plain->nrows; r++)
	{
		double		z = row_of(plain, r)[0];
		const double powers[] = {z * z, z, z * z, z * z * z};

		memcpy(row_of(&data, r), powers + (square_first ? 0 : 1), (size_t) p * sizeof(double));
		row_of(&data, r)[p] = row_of(plain, r)[plain->p];
	}
	return data;
}

/* Checks that coefficients and variances are those of the terms that moves lead to, up to the last rounding. */
static void
test_moved_estimates(const Data *plain)
{
	GrTermMove	move[4];
	GrTermMoves moves = {3, move};
	Data		data = powers_of(plain, false, 2);
	GrGlmOptions options = defaults(&data);
	Run			before = run_fit(&data, &options);
	Run			after;
	const double *b = before.fit->coef;
	const double *v = before.fit->vcov;
	long double c = CENTER;

	make_moves(move, 1);
	options.moves = &moves;
	after = run_fit(&data, &options);
	check(after.ok && after.fit->converged && !after.fit->unmovable && after.fit->coef[2] == b[2] &&
		  relative_error(after.fit->coef[1], (double) (b[1] - 2 * c * b[2])) < 1e-15 &&
		  relative_error(after.fit->coef[0], (double) (b[0] - c * b[1] + c * c * b[2])) < 1e-14,
		  "moved coefficients");
	check(after.fit->vcov[8] == v[8] &&
		  relative_error(after.fit->vcov[4], (double) (v[4] - 4 * c * v[5] + 4 * c * c * v[8])) < 1e-15 &&
		  relative_error(after.fit->vcov[0], (double) (v[0] + c * c * v[4] + c * c * c * c * v[8] - 2 * c * v[1] +
													   2 * c * c * v[2] - 2 * c * c * c * v[5])) < 1e-15,
		  "moved covariances");
	run_free(&before);
	run_free(&after);
	move[1].hi = 1e200;
	after = run_fit(&data, &options);
	check(!after.ok && after.err.status == GR_RESULT_OUT_OF_RANGE && after.err.where == -1, "a variance out of range");
	run_free(&after);
	data_free(&data);
}

/* Checks moves from or to a term without an estimate, collinear or separated. */
static void
test_unmovable(const Data *plain)
{
	GrTermMove	move[4];
	GrTermMoves moves = {3, move};

	make_moves(move, 2);
	for (int p = 3; p <= 4; p++, moves.n++)
	{
		Data		data = powers_of(plain, true, p);
		GrGlmOptions options = defaults(&data);
		Run			run;

		options.moves = &moves;
		run = run_fit(&data, &options);
		check(run.ok && run.fit->unmovable == (p == 4) && (p == 4 || isnan(run.fit->coef[3])),
			  "a collinear term, %d features", p);
		run_free(&run);
		data_free(&data);
	}
	make_moves(move, 1);
	for (int separated = 1; separated <= 2; separated++)
	{
		Data		data = powers_of(plain, false, 3);
		GrGlmOptions options = defaults(&data);
		Run			run;

		/* separates by z, or by an indicator behind the powers of z */
		for (int64_t r = 0; r < data.nrows; r++)
		{
			row_of(&data, r)[2] = r % 4 == 0 ? 1 : 0;
			if (separated == 1 || r % 4 == 0)
				row_of(&data, r)[3] = separated == 2 || row_of(&data, r)[0] > 0 ? 1 : 0;
		}
		moves.n = 3;
		options.moves = &moves;
		run = run_fit(&data, &options);
		check(run.ok && run.fit->nseparated > 0 && run.fit->unmovable == (separated == 1),
			  "separated by term %d", separated == 1 ? 1 : 3);
		run_free(&run);
		data_free(&data);
	}
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
	test_moved_estimates(&plain);
	test_unmovable(&plain);
	data_free(&plain);
	return unit_done();
}
