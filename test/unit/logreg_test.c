/*
 * logreg_test.c: tests logistic regression against answers known in closed form and in long double.
 */
#include <float.h>

#include "logreg_driver.h"

/*
 * Known answers
 */

/* Checks 2 x 2 tables: logits of proportions, and standard errors by Woolf's formula. */
static void
test_tables(void)
{
	/* counts of (x = 1: y = 1, y = 0; x = 0: y = 1, y = 0) */
	static const int tables[][4] = {{3, 7, 2, 9}, {1, 999, 500, 3}, {5, 5, 5, 5}, {1, 1, 1, 2}, {400, 100, 900, 600},
		{1, 1000, 1, 2}};

	for (size_t t = 0; t < LENGTH(tables); t++)
	{
		const int  *count = tables[t];
		Data		data = data_new(1, count[0] + count[1] + count[2] + count[3]);
		GrGlmOptions options = defaults(&data);
		long double a = count[0], b = count[1], c = count[2], d = count[3];
		long double deviance = -2 * (a * logl(a / (a + b)) + b * logl(b / (a + b)) + c * logl(c / (c + d)) +
									 d * logl(d / (c + d)));
		long double n = a + b + c + d;
		long double null_deviance = -2 * ((a + c) * logl((a + c) / n) + (b + d) * logl((b + d) / n));
		int64_t		r = 0;
		double		coef;
		double		vcov;
		Run			run;

		for (int cell = 0; cell < 4; cell++)
			for (int k = 0; k < count[cell]; k++, r++)
			{
				row_of(&data, r)[0] = cell < 2 ? 1 : 0;
				row_of(&data, r)[1] = cell % 2 == 0 ? 1 : 0;
			}
		run = run_fit(&data, &options);
		coef = fmax(relative_error(run.fit->coef[0], (double) logl(c / d)),
					relative_error(run.fit->coef[1], (double) logl(a * d / (b * c))));
		vcov = fmax(fmax(relative_error(run.fit->vcov[0], (double) (1 / c + 1 / d)),
						 relative_error(run.fit->vcov[1], (double) -(1 / c + 1 / d))),
					relative_error(run.fit->vcov[3], (double) (1 / a + 1 / b + 1 / c + 1 / d)));
		check(regular(&run) && coef < 1e-15 && vcov < 1e-15, "table %zu: coefficients off by %.2g, covariances by %.2g",
			  t, coef, vcov);
		check(run.fit->nrows == data.nrows && run.fit->df_residual == data.nrows - 2 &&
			  relative_error(run.fit->deviance, (double) deviance) < 1e-15 &&
			  relative_error(run.fit->null_deviance, (double) null_deviance) < 1e-15,
			  "table %zu: deviances and degrees of freedom", t);
		run_free(&run);
		data_free(&data);
	}
}

/* Fits 5 of 13 by a column of ones without an intercept, and with one and a column that adds nothing. */
static void
test_intercept_only(void)
{
	double		logit = log(5.0 / 8);
	double		variance = 1 / 5.0 + 1 / 8.0;

	for (int constant = 0; constant <= 1; constant++)
	{
		Data		data = data_new(1, 13);
		GrGlmOptions options = defaults(&data);
		Run			run;

		for (int r = 0; r < 13; r++)
		{
			row_of(&data, r)[0] = constant;
			row_of(&data, r)[1] = r % 3 == 1 || r == 12 ? 1 : 0;
		}
		run = run_fit(&data, &options);
		check(run.ok && run.fit->converged && run.fit->rank == 1 && run.fit->df_residual == 12 &&
			  isnan(run.fit->coef[1]) &&
			  isnan(run.fit->vcov[1]) && isnan(run.fit->vcov[3]) && relative_error(run.fit->coef[0], logit) < 1e-15 &&
			  relative_error(run.fit->vcov[0], variance) < 1e-15 &&
			  relative_error(run.fit->deviance, run.fit->null_deviance) < 1e-15, "an intercept and a column of %d",
			  constant);
		run_free(&run);
		options.intercept = false;
		run = run_fit(&data, &options);
		if (constant == 1)
			check(regular(&run) && relative_error(run.fit->coef[0], logit) < 1e-15 &&
				  relative_error(run.fit->vcov[0], variance) < 1e-15,
				  "a column of ones as the intercept");
		else
			check(run.ok && run.fit->rank == 0 && isnan(run.fit->coef[0]) &&
				  relative_error(run.fit->deviance, 26 * log(2)) < 1e-15,
				  "a column of zeros alone");
		check(relative_error(run.fit->null_deviance, 26 * log(2)) < 1e-15, "without an intercept nothing predicts 1/2");
		run_free(&run);
		data_free(&data);
	}
}

static const double fourteen[14][3] = {
	{0.5, 2, 0}, {1.25, -1, 0}, {-0.75, 3.5, 1}, {2, 0.25, 1}, {3.5, 1.5, 0}, {-1.5, -2, 0}, {0, 4, 1}, {1, 1, 1},
	{2.75, -0.5, 0}, {-2.25, 2.5, 1}, {4, 3, 1}, {0.25, -3, 0}, {1.5, 0.75, 1}, {-0.5, 1.25, 0}
};

/* Checks fits that were solved with 60 digits. */
static void
test_solved(void)
{
	static const struct
	{
		const char *name;
		bool		intercept;
		double		l2;
		double		coef[3];
		double		errors[3];
		double		covariance; /* covariance of the first two coefficients */
		double		deviance;
	}			cases[] = {
		{"intercept", true, 0, {-0.9660214511609125, -0.0088699759403389118, 0.93060012453578177},
		{1.0418324870636349, 0.40273682986704127, 0.51288675578464091}, -0.21497629351837559, 13.216229877369479},
		{"no intercept", false, 0, {-0.22065347979743539, 0.72135188112477721},
		{0.33853367859746121, 0.40233352584174241}, -0.052822264461116832, 14.26486839481699},
		{"l2 = 1/2", true, 0.5, {-0.84345971195502741, -0.017560928453643723, 0.83162941334135574},
		{0.94446864420006909, 0.37137306307815418, 0.44224800635813146}, -0.17027725496565289, 13.255994759850636}
	};
	Data		data = data_of(2, 14, fourteen[0]);

	for (size_t c = 0; c < LENGTH(cases); c++)
	{
		GrGlmOptions options = defaults(&data);
		double		worst = 0;
		Run			run;

		options.intercept = cases[c].intercept;
		options.l2 = cases[c].l2;
		run = run_fit(&data, &options);
		for (int k = 0; k < run.fit->nterms; k++)
		{
			/* an estimate near 0 is compared relative to its standard error */
			double		size = fmax(fabs(cases[c].coef[k]), cases[c].errors[k]);

			worst = fmax(worst, fmax(fabs(run.fit->coef[k] - cases[c].coef[k]) / size,
									 relative_error(std_error(run.fit, k), cases[c].errors[k])));
		}
		worst = fmax(worst, fmax(relative_error(run.fit->vcov[1], cases[c].covariance),
								 relative_error(run.fit->deviance, cases[c].deviance)));
		check(regular(&run) && worst < 1e-15, "solved by other means, %s: worst %.2g", cases[c].name, worst);
		check(run.npasses <= 9, "%s: %d passes", cases[c].name, run.npasses);
		run_free(&run);
	}
	data_free(&data);
}

/*
 * Properties
 */

static void
test_score_equations(void)
{
	static const int widths[] = {1, 2, 3, 7, 8, 20, 40};

	for (size_t k = 0; k < LENGTH(widths); k++)
	{
		Data		data = random_data(widths[k], widths[k] == 40 ? 2000 : 30 + 40 * widths[k], false);
		double		score = 0;
		double		vcov = 0;
		double		parts = 0;
		bool		all = true;

		for (int kind = 0; kind < 4; kind++)
		{
			GrGlmOptions options = defaults(&data);
			Run			run;
			Run			split;

			options.intercept = kind % 2 == 0;
			options.l2 = kind < 2 ? 0 : 0.7;
			run = run_fit(&data, &options);
			split = run_in_parts(&data, &options, 4, NULL);
			all &= regular(&run) && regular(&split) && run.fit->iterations == split.fit->iterations;
			score = fmax(score, score_error(&data, run.fit->coef, options.intercept, options.l2));
			vcov = fmax(vcov, vcov_error(&data, run.fit, options.intercept, options.l2));
			parts = fmax(parts, difference(run.fit, split.fit));
			run_free(&run);
			run_free(&split);
		}
		check(all && score < 1e-13 && vcov < 1e-12, "%d features, %d rows: score %.2g, covariances %.2g", widths[k],
			  (int) data.nrows,
			  score, vcov);
		check(parts < 1e-13, "%d features: partial sums change %.2g", widths[k], parts);
		data_free(&data);
	}
}

/* Checks that x + 1e9 gives the same slopes, and x 1e6 the same iterations. */
static void
test_units(void)
{
	static const double scales[] = {1e-6, 1e6, 1e-100, 1e100};
	Data		data = random_data(3, 300, true);
	Data		far = data_moved(&data, 1, 1e9);
	GrGlmOptions options = defaults(&data);
	Run			run = run_fit(&data, &options);
	Run			moved = run_fit(&far, &options);
	double		intercept = run.fit->coef[0];
	double		worst = 0;

	for (int k = 1; k <= 3; k++)
	{
		worst = fmax(worst, fmax(relative_error(moved.fit->coef[k], run.fit->coef[k]),
								 relative_error(std_error(moved.fit, k), std_error(run.fit, k))));
		intercept -= 1e9 * run.fit->coef[k];
	}
	worst = fmax(worst, relative_error(moved.fit->deviance, run.fit->deviance));
	check(regular(&moved) && worst < 1e-13 && relative_error(moved.fit->coef[0], intercept) < 1e-13,
		  "features about 1e9: slopes, their errors and the deviance off by %.2g", worst);
	check(moved.fit->iterations == run.fit->iterations, "and as many iterations");
	run_free(&moved);
	for (size_t s = 0; s < LENGTH(scales); s++)
	{
		Data		scaled = data_moved(&data, scales[s], 0);

		moved = run_fit(&scaled, &options);
		worst = relative_error(moved.fit->coef[0], run.fit->coef[0]);
		for (int k = 1; k <= 3; k++)
			worst = fmax(worst, fmax(relative_error(moved.fit->coef[k] * scales[s], run.fit->coef[k]),
									 relative_error(std_error(moved.fit, k) * scales[s], std_error(run.fit, k))));
		check(regular(&moved) && worst < 1e-13 && moved.fit->iterations == run.fit->iterations &&
			  moved.npasses == run.npasses,
			  "features times %g: off by %.2g", scales[s], worst);
		run_free(&moved);
		data_free(&scaled);
	}
	run_free(&run);
	data_free(&data);
	data_free(&far);
}

/* Checks data on which Newton's full step overshoots, found by trying: the deviance must fall in every iteration. */
static void
test_halving(void)
{
	static const double rows[9][4] = {
		{1, -1, 0, 0}, {1, -4, 0, 0}, {-43, -1, -4, 0}, {-1, -6, -1, 1}, {-4, 60, 89, 0}, {4, 5, 1, 0}, {36, 29, -4, 0},
		{0, -1, 0, 1}, {0, -2, 0, 0}
	};
	Data		data = data_of(3, 9, rows[0]);
	GrGlmOptions options = defaults(&data);
	Run			run = run_fit(&data, &options);
	bool		falls = true;
	int			nhalvings = 0;
	double		accepted = run.deviance[0];

	for (int k = 1; k < run.nkept; k++)
	{
		/* the last pass of an iteration belongs to the step that was taken */
		if (k + 1 < run.nkept && run.iteration[k + 1] == run.iteration[k])
		{
			nhalvings++;
			falls &= run.deviance[k] > accepted;
			continue;
		}
		falls &= run.deviance[k] <= accepted * (1 + 1e-14);
		accepted = run.deviance[k];
	}
	check(regular(&run) && nhalvings >= 3, "%d halvings in %d iterations", nhalvings, run.fit->iterations);
	check(falls, "the deviance falls with every step, and halved are those that raise it");
	check(score_error(&data, run.fit->coef, true, 0) < 1e-13 && vcov_error(&data, run.fit, true, 0) < 1e-12,
		  "and the answer is right");
	run_free(&run);
	data_free(&data);
}

/* Checks that a collinear column loses to earlier ones, and that the others' estimates are those without it. */
static void
test_collinear(void)
{
	Data		all = data_new(5, 90);
	Data		kept = random_data(2, 90, true);
	GrGlmOptions options = defaults(&all);
	GrGlmOptions kept_options = defaults(&kept);
	static const int of_kept[] = {0, 1, -1, 2, -1, -1};
	bool		nan = true;
	double		worst = 0;
	Run			run;
	Run			without;

	for (int r = 0; r < 90; r++)
	{
		const double *k = row_of(&kept, r);
		double		row[6] = {k[0], 3 * k[0] - 7, k[1], k[0] + k[1], -4, k[2]};

		memcpy(row_of(&all, r), row, sizeof(row));
	}
	run = run_fit(&all, &options);
	without = run_fit(&kept, &kept_options);
	for (int i = 0; i < 6; i++)
	{
		nan &= of_kept[i] >= 0 || isnan(run.fit->coef[i]);
		if (of_kept[i] >= 0)
			worst = fmax(worst, relative_error(run.fit->coef[i], without.fit->coef[of_kept[i]]));
		for (int j = 0; j < 6; j++)
		{
			double		v = run.fit->vcov[i * 6 + j];

			nan &= (of_kept[i] >= 0 && of_kept[j] >= 0) || isnan(v);
			if (of_kept[i] >= 0 && of_kept[j] >= 0)
				worst = fmax(worst, relative_error(v, without.fit->vcov[of_kept[i] * 3 + of_kept[j]]));
		}
	}
	check(run.ok && run.fit->converged && run.fit->rank == 3 && run.fit->df_residual == 87 && run.fit->nseparated == 0,
		  "rank 3 of 6");
	check(nan, "the later columns of collinear ones have no estimate");
	check(worst < 1e-13, "the others are those of the fit without them: %.2g", worst);
	run_free(&run);
	run_free(&without);
	data_free(&all);
	data_free(&kept);
}

/*
 * Failures and limits
 */

static bool
counted(void *arg)
{
	int		   *left = arg;

	return --*left < 0;
}

static void
test_failures(void)
{
	Data		data = random_data(3, 50, false);
	Data		none = data_new(3, 0);
	GrGlmOptions options = defaults(&data);
	Run			run = run_fit(&none, &options);
	int			npolls = 0;

	check(!run.ok && run.err.status == GR_INVALID, "no rows");
	run_free(&run);
	for (int y = 0; y <= 1; y++)
	{
		Data		same = data_of(3, 50, data.rows);

		for (int r = 0; r < 50; r++)
			row_of(&same, r)[3] = y;
		run = run_fit(&same, &options);
		check(!run.ok && run.err.status == GR_ONE_CLASS && run.err.value == y, "the response is %d in every row", y);
		run_free(&run);
		data_free(&same);
	}
	for (int k = 0; k < 12; k++)
	{
		double		value = k < 6 ? 1e200 : 1e-145;
		Data		wild = data_of(3, 50, data.rows);

		/* one value that is too large, or a column that is too small */
		for (int r = 0; r < 50; r++)
			row_of(&wild, r)[k % 3] = k >= 6 ? value * (r + 1) : r == 17 ? value : row_of(&data, r)[k % 3];
		options.intercept = k % 6 < 3;
		run = run_fit(&wild, &options);
		check(!run.ok && run.err.status == GR_OUT_OF_RANGE && run.err.where == k % 3, "%g in feature %d%s: column %d",
			  value, k % 3,
			  options.intercept ? "" : " (no intercept)", (int) run.err.where);
		run_free(&run);
		data_free(&wild);
	}
	options.intercept = true;
	for (;; npolls++)
	{
		int			left = npolls;
		GrHost		host = {.canceled = counted,.arg = &left};

		run = run_in_parts(&data, &options, 1, &host);
		run_free(&run);
		if (run.ok || run.err.status != GR_CANCELED)
			break;
	}
	check(run.ok && npolls > 20, "cancel is heard at each of %d polls", npolls);
	data_free(&data);
	data_free(&none);
}

/* Checks that the estimates after 1, 2 and 3 iterations are Newton's, with the covariances at these estimates. */
static void
test_iteration_limits(void)
{
	Data		data = data_of(2, 14, fourteen[0]);
	double		coef[3] = {0, 0, 0};

	for (int n = 1; n <= 3; n++)
	{
		GrGlmOptions options = defaults(&data);
		long double inverse[9];
		long double step[3];
		double		worst = 0;
		Run			run;

		reference_step(&data, coef, true, 0, inverse, step);
		options.max_iter = n;
		run = run_fit(&data, &options);
		for (int k = 0; k < 3; k++)
		{
			coef[k] += (double) step[k];
			worst = fmax(worst, relative_error(run.fit->coef[k], coef[k]));
		}
		check(run.ok && !run.fit->converged && run.fit->iterations == n && run.fit->nseparated == 0 &&
			  run.fit->rank == 3,
			  "max_iter %d: not converged", n);
		check(worst < 1e-12 && vcov_error(&data, run.fit, true, 0) < 1e-12,
			  "max_iter %d: the estimates are %d steps from 0", n, n);
		check(n < 3 || (run.fit->deviance > 13.216229877369479 && run.fit->deviance < 13.3),
			  "max_iter %d: the deviance there", n);
		run_free(&run);
	}
	data_free(&data);
}

static void
test_tolerance(void)
{
	Data		data = random_data(5, 400, false);
	GrGlmOptions options = defaults(&data);
	Run			fine = run_fit(&data, &options);
	Run			coarse;
	double		worst = 0;

	options.tol = 1e-3;
	coarse = run_fit(&data, &options);
	for (int k = 0; k < 6; k++)
		worst = fmax(worst, fabs(coarse.fit->coef[k] - fine.fit->coef[k]) / std_error(fine.fit, k));
	check(regular(&coarse) && coarse.npasses < fine.npasses && worst < 1e-3,
		  "tol 1e-3: %d passes, not %d; off by %.2g standard errors",
		  coarse.npasses, fine.npasses, worst);
	check(vcov_error(&data, coarse.fit, true, 0) < 1e-3, "and covariances of the same quality");
	run_free(&fine);
	run_free(&coarse);
	data_free(&data);
}

/*
 * Solvers without a Hessian
 */

/* Checks that one step from 0 is beta = rate X'(y - 1/2), with and without the caller's own ascent. */
static void
test_ascent(void)
{
	Data		data = random_data(2, 60, false);
	GrGlmOptions options = defaults(&data);
	Run			newton = run_fit(&data, &options);
	double		gradient[3] = {0, 0, 0};

	for (int r = 0; r < 60; r++)
		for (int k = 0; k < 3; k++)
			gradient[k] += (double) term(row_of(&data, r), k, true) * (row_of(&data, r)[2] - 0.5);
	options.solver = GR_SOLVER_GD;
	for (int own = 0; own <= 1; own++)
	{
		double		worst = 0;
		Run			run;

		options.can_ascend = own == 1;
		options.learning_rate = 0.01;
		options.max_iter = 1;
		options.tol = 1e-10;
		run = run_fit(&data, &options);
		for (int k = 0; k < 3; k++)
			worst = fmax(worst, relative_error(run.fit->coef[k], 0.01 * gradient[k]));
		check(run.ok && !run.fit->converged && run.fit->iterations == 1 && worst < 1e-14 &&
			  vcov_error(&data, run.fit, true, 0) < 1e-12, "one step of gradient ascent%s", own ?
			  ", made by the caller" : "");
		run_free(&run);
		options.learning_rate = 0.03;
		options.max_iter = 5000;
		run = run_fit(&data, &options);
		worst = difference(run.fit, newton.fit);
		check(regular(&run) && worst < 1e-14 && run.fit->iterations > 50,
			  "gradient ascent%s converges in %d steps: %.2g",
			  own ? ", made by the caller," : "", run.fit->iterations, worst);
		run_free(&run);
		options.learning_rate = NAN;
		run = run_fit(&data, &options);
		worst = difference(run.fit, newton.fit);
		check(regular(&run) && worst < 1e-14 && run.fit->iterations < 50,
			  "gradient descent without a rate converges in %d steps: %.2g", run.fit->iterations, worst);
		run_free(&run);
	}
	run_free(&newton);
	data_free(&data);
}

/* Checks that ascent without a given rate never raises the penalised deviance, and converges, whatever the units. */
static void
test_default_rate(void)
{
	static const double scales[] = {1, 1e-3, 1e3};

	for (size_t s = 0; s < LENGTH(scales); s++)
	{
		Data		plain = random_data(4, 200, false);
		Data		data = data_moved(&plain, scales[s], s == 2 ? 5e3 : 0);
		bool		falls = true;
		bool		converged = true;

		for (int kind = 0; kind < 2; kind++)
		{
			GrGlmOptions options = defaults(&data);
			Run			run;

			options.solver = GR_SOLVER_GD;
			options.max_iter = 400;
			options.intercept = kind == 0;
			run = run_fit(&data, &options);
			falls &= run.ok && run.nkept < PASSES_MAX;
			for (int k = 1, last = 0; k < run.nkept; k++)
			{
				/* further passes in the same iteration are trials of its line search */
				if (k + 1 < run.nkept && run.iteration[k + 1] == run.iteration[k])
					continue;
				falls &= run.deviance[k] <= run.deviance[last] * (1 + 1e-12);
				last = k;
			}
			falls &= run.deviance[run.nkept - 1] < run.deviance[0];
			converged &= regular(&run);
			run_free(&run);
		}
		check(falls && converged, "gradient descent without a rate falls all the way, features times %g", scales[s]);
		data_free(&plain);
		data_free(&data);
	}
}

static void
test_lbfgs(void)
{
	static const struct
	{
		int			p;
		int			nrows;
		bool		intercept;
		double		l2;
		double		scale;
		double		offset;
		int			least;
	}			cases[] = {
		{3, 200, true, 0, 1, 0, 0}, {3, 200, false, 0, 1, 0, 0}, {5, 300, true, 2, 1, 0, 0},
		{60, 1000, true, 0, 1, 0, 0}, {60, 1000, false, 0.1, 1, 0, 0},
		{4, 300, true, 0, 1e-6, 0, 0}, {4, 300, true, 0, 1e6, 0, 0}, {4, 300, true, 0, 1, 1e6, 0},
		/* more iterations than L-BFGS remembers; where its steps lack memory, Newton's end the fit sooner */
		{30, 300, false, 0, 1, 10, 80}, {80, 200, true, 1e-6, 1, 0, 80}
	};

	for (size_t c = 0; c < LENGTH(cases); c++)
	{
		Data		plain = random_data(cases[c].p, cases[c].nrows, true);
		Data		data = data_moved(&plain, cases[c].scale, cases[c].offset);
		GrGlmOptions options = defaults(&data);
		double		worst;
		Run			newton;
		Run			run;

		options.intercept = cases[c].intercept;
		options.l2 = cases[c].l2;
		newton = run_fit(&data, &options);
		options.solver = GR_SOLVER_LBFGS;
		options.max_iter = 200;
		run = run_fit(&data, &options);
		worst = difference(run.fit, newton.fit);
		check(regular(&run) && worst < 1e-8 && run.fit->iterations >= cases[c].least,
			  "L-BFGS, %d features x %g + %g%s, l2 = %g: off by %.2g after %d iterations", cases[c].p,
			  cases[c].scale, cases[c].offset, cases[c].intercept ? "" : ", no intercept", cases[c].l2, worst,
			  run.fit->iterations);
		run_free(&newton);
		run_free(&run);
		data_free(&plain);
		data_free(&data);
	}
}

/* Fits more terms than Hessians are formed for, and more than rows. */
static void
test_many_features(void)
{
	Data		data = random_data(2100, 300, false);
	GrGlmOptions options = defaults(&data);
	double		worst;
	Run			run;

	options.solver = GR_SOLVER_LBFGS;
	options.l2 = 1;
	options.max_iter = 200;
	run = run_fit(&data, &options);
	worst = score_error(&data, run.fit->coef, true, 1);
	check(run.ok && run.fit->converged && run.fit->vcov == NULL && run.fit->nseparated == 0 && worst < 1e-9,
		  "L-BFGS, 2,100 features: gradient %.2g after %d iterations", worst, run.fit->iterations);
	run_free(&run);
	options.solver = GR_SOLVER_GD;
	options.max_iter = 20;
	run = run_fit(&data, &options);
	check(run.ok && !run.fit->converged && run.fit->vcov == NULL && run.fit->iterations == 20 &&
		  run.fit->deviance > 0 &&
		  run.fit->deviance < run.fit->null_deviance, "gradient ascent, 2,100 features");
	run_free(&run);
	data_free(&data);
}

/*
 * Single steps
 */

typedef struct Step
{
	bool		ok;
	GrError		err;
	GrGlmStep step;
	double		coef[TERMS_MAX];
	double		vcov[TERMS_MAX * TERMS_MAX];
} Step;

/* Makes a Newton step. beta: all nfeatures + 1 terms; NaN leaves a term out. */
static void
make_step(const Data *data, const double *beta, bool intercept, double l2, Step *result)
{
	double		at[TERMS_MAX];
	double		shift[TERMS_MAX] = {0};
	GrPass		pass = {
		.kind = GR_PASS_EXACT,.distribution = GR_LOGISTIC,.shape = gr_plain_shape(data->p),.beta = at,.shift = shift
	};
	double	   *sums = malloc(gr_pass_nsums(GR_PASS_EXACT, data->p) * sizeof(double));
	void	   *workspace = malloc(gr_glm_step_nbytes(data->p));

	for (int j = 0; j <= data->p; j++)
		at[j] = isnan(beta[j]) ? 0 : beta[j];
	memset(result, 0, sizeof(*result));
	result->step.distribution = (GrDistribution) GR_LOGISTIC;
	result->step.coef = result->coef;
	result->step.vcov = result->vcov;
	gr_pass_clear(GR_PASS_EXACT, data->p, sums);
	pass_over(data, &pass, sums, 0, data->nrows);
	result->step.nfeatures = data->p;
	result->step.intercept = intercept;
	result->step.l2 = l2;
	result->ok = gr_glm_step(&result->step, beta, sums, workspace, NULL, &result->err);
	free(sums);
	free(workspace);
}

/* Checks that steps from 0, repeated until one changes nothing, give the fit's answer. */
static void
test_steps(void)
{
	for (int kind = 0; kind < 4; kind++)
	{
		Data		data = random_data(4, 250, false);
		GrGlmOptions options = defaults(&data);
		double		beta[5] = {0, 0, 0, 0, 0};
		int			first;
		int			nsteps = 0;
		double		worst = 0;
		bool		shorter = true;
		double		before = INFINITY;
		Run			run;
		Step		step;

		options.intercept = kind % 2 == 0;
		options.l2 = kind < 2 ? 0 : 3;
		first = options.intercept ? 0 : 1;
		run = run_fit(&data, &options);
		do
		{
			make_step(&data, beta, options.intercept, options.l2, &step);
			shorter &= step.ok && step.step.decrement < before;
			before = step.step.decrement;
			memcpy(beta + first, step.coef, run.fit->nterms * sizeof(double));
		} while (step.ok && ++nsteps < 20 && step.step.decrement > 1e-13);
		for (int k = 0; k < run.fit->nterms; k++)
			worst = fmax(worst, fmax(relative_error(step.coef[k], run.fit->coef[k]),
									 relative_error(step.vcov[k * run.fit->nterms + k],
													run.fit->vcov[k * run.fit->nterms + k])));
		worst = fmax(worst, fmax(relative_error(step.step.deviance, run.fit->deviance),
								 relative_error(step.step.null_deviance, run.fit->null_deviance)));
		check(shorter && nsteps < 9 && worst < 1e-14 && step.step.nterms == run.fit->nterms &&
			  step.step.rank == run.fit->rank &&
			  step.step.nrows == 250, "%d steps, intercept %d, l2 = %g: off by %.2g", nsteps, options.intercept,
			  options.l2, worst);
		run_free(&run);
		data_free(&data);
	}
}

/* Checks sums of a made-up state, whose number of rows is too large to count: the largest number is reported. */
static void
test_most_rows(void)
{
	static const double nrows[] = {0x1p62, 0x1.fffffffffffffp62, 0x1p63, 0x1p64, DBL_MAX};
	static const double row[2] = {0.5, 1};
	Data		data = data_of(1, 1, row);
	double		sums[GR_SUM_HEAD + 2 * 10];
	double		beta[2] = {0};
	double		shift[1] = {0};
	GrPass		pass = {
		.kind = GR_PASS_EXACT,.distribution = GR_LOGISTIC,.shape = gr_plain_shape(1),.beta = beta,.shift = shift
	};
	void	   *workspace = malloc(gr_glm_step_nbytes(1));
	double		coef[2];
	double		vcov[4];
	int			nwrong = 0;

	for (size_t k = 0; k < LENGTH(nrows); k++)
	{
		GrGlmStep step = {
			.distribution = GR_LOGISTIC,.nfeatures = 1,.intercept = true,.coef = coef,.vcov = vcov
		};
		GrError		err = {0};

		gr_pass_clear(GR_PASS_EXACT, 1, sums);
		pass_over(&data, &pass, sums, 0, 1);
		sums[GR_SUM_NROWS] = nrows[k];
		nwrong += !gr_glm_step(&step, beta, sums, workspace, NULL, &err) ||
			step.nrows != (k < 2 ? (int64_t) nrows[k] : INT64_MAX);
	}
	check(nwrong == 0, "a step over more rows than there can be");
	free(workspace);
	data_free(&data);
}

/* Checks that a term whose beta is NaN is left out, and the others are as without it. */
static void
test_step_without_term(void)
{
	static const double with_gap[4] = {0.25, -0.5, NAN, 1};
	static const double without_gap[3] = {0.25, -0.5, 1};
	static const double zero[4] = {0, 0, 0, 0};
	static const int kept[] = {0, 1, 3};
	Data		data = random_data(3, 80, false);
	Data		narrow = data_new(2, 80);
	Data		none = data_new(3, 0);
	double		worst = 0;
	Step		gap;
	Step		without;

	for (int r = 0; r < 80; r++)
	{
		row_of(&narrow, r)[0] = row_of(&data, r)[0];
		row_of(&narrow, r)[1] = row_of(&data, r)[2];
		row_of(&narrow, r)[2] = row_of(&data, r)[3];
	}
	for (double l2 = 0; l2 < 1; l2 += 0.75)
	{
		make_step(&data, with_gap, true, l2, &gap);
		make_step(&narrow, without_gap, true, l2, &without);
		for (int i = 0; i < 3; i++)
		{
			worst = fmax(worst, relative_error(gap.coef[kept[i]], without.coef[i]));
			for (int j = 0; j < 3; j++)
				worst = fmax(worst, relative_error(gap.vcov[kept[i] * 4 + kept[j]], without.vcov[i * 3 + j]));
		}
		check(gap.ok && without.ok && gap.step.rank == 3 && gap.step.nterms == 4 && isnan(gap.coef[2]) &&
			  isnan(gap.vcov[2]) &&
			  isnan(gap.vcov[2 * 4 + 2]) && worst < 1e-15 &&
			  relative_error(gap.step.decrement, without.step.decrement) < 1e-15,
			  "a step without a term, l2 = %g: %.2g", l2, worst);
	}
	make_step(&none, zero, true, 0, &gap);
	check(!gap.ok && gap.err.status == GR_INVALID, "a step over no rows");
	for (int r = 0; r < 80; r++)
		row_of(&data, r)[3] = 1;
	make_step(&data, zero, true, 0, &gap);
	check(!gap.ok && gap.err.status == GR_ONE_CLASS && gap.err.value == 1, "a step over one class");
	row_of(&data, 7)[3] = 0;
	row_of(&data, 7)[1] = 1e200;
	make_step(&data, zero, true, 0, &gap);
	check(!gap.ok && gap.err.status == GR_OUT_OF_RANGE && gap.err.where == 1, "a step over 1e200: column %d",
		  (int) gap.err.where);
	data_free(&data);
	data_free(&narrow);
	data_free(&none);
}

static void
test_logistic(void)
{
	double		worst = 0;
	bool		ordered = true;

	for (double eta = -708; eta <= 708; eta += 0.37)
	{
		worst = fmax(worst, relative_error(gr_link_mean(GR_LOGIT, eta), (double) (1 / (1 + expl(-eta)))));
		ordered &= gr_link_mean(GR_LOGIT, eta) <= gr_link_mean(GR_LOGIT, eta + 0.37);
	}
	check(worst < 5e-16 && ordered, "the logistic function: %.2g", worst);
	check(gr_link_mean(GR_LOGIT, 0) == 0.5 && gr_link_mean(GR_LOGIT, INFINITY) == 1 &&
		  gr_link_mean(GR_LOGIT, -INFINITY) == 0 && gr_link_mean(GR_LOGIT, -740) > 0 &&
		  gr_link_mean(GR_LOGIT, 1e300) == 1 && gr_link_mean(GR_LOGIT, -1e300) == 0 &&
		  isnan(gr_link_mean(GR_LOGIT, NAN)),
		  "the logistic function at its ends");
}

int
main(void)
{
	srandom(11);
	test_tables();
	test_intercept_only();
	test_solved();
	test_score_equations();
	test_units();
	test_halving();
	test_collinear();
	test_failures();
	test_iteration_limits();
	test_tolerance();
	test_ascent();
	test_default_rate();
	test_lbfgs();
	test_many_features();
	test_steps();
	test_most_rows();
	test_step_without_term();
	test_logistic();
	return unit_done();
}
