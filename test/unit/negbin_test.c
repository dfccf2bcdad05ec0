/*
 * negbin_test.c: tests a row's likelihood by the negative binomial theta, and fits that estimate theta.
 */
#include <stdlib.h>
#include <string.h>

#include "compute/glm/glm_fit.h"
#include "compute/glm/negbin_row.h"
#include "negbin_table.h"
#include "unit.h"

#define NROWS 500

static void
test_rows(void)
{
	double		first = 0;
	double		second = 0;
	double		likelihood = 0;
	double		deviance = 0;

	for (int k = 0; k < COUNT(negbin_rows); k++)
	{
		GrDistribution distribution = {GR_NEGATIVE_BINOMIAL, GR_IDENTITY, negbin_rows[k].theta, 0};
		GrGlmRow	row = gr_theta_row(distribution, negbin_rows[k].mu, negbin_rows[k].y, 1.0);
		GrGlmRow	thrice = gr_theta_row(distribution, negbin_rows[k].mu, negbin_rows[k].y, 3.0);

		if (negbin_rows[k].first_size > 0)
			first = fmax(first, fabs(row.u - negbin_rows[k].first) / negbin_rows[k].first_size);
		if (negbin_rows[k].second_size > 0)
			second = fmax(second, fabs(row.v - negbin_rows[k].second) / negbin_rows[k].second_size);
		likelihood = fmax(likelihood, fabs(row.half_deviance + negbin_rows[k].log_probability) /
						  fmax(1, fabs(negbin_rows[k].log_probability)));
		deviance = fmax(deviance, relative_error(gr_half_deviance(distribution, negbin_rows[k].y, negbin_rows[k].mu),
												 negbin_rows[k].half_deviance));
		check(relative_error(thrice.u, 3 * row.u) < 1e-15 && relative_error(thrice.v, 3 * row.v) < 1e-15 &&
			  relative_error(thrice.half_deviance, 3 * row.half_deviance) < 1e-15, "a weight of 3, line %d", k);
	}
	check(first < 2e-14, "first derivatives: error %.2g", first);
	check(second < 2e-14, "second derivatives: error %.2g", second);
	check(likelihood < 2e-14, "likelihoods: error %.2g", likelihood);
	check(deviance < 1e-14, "deviances: error %.2g", deviance);
}

/*
 * Checks that observed weights are minus the second derivatives of the log-likelihood by eta, with an unchanged
 * gradient.
 */
static void
test_observed(void)
{
	double		weight = 0;
	double		gradient = 0;
	double		least = INFINITY;

	for (int k = 0; k < COUNT(negbin_rows); k++)
	{
		GrDistribution distribution = {GR_NEGATIVE_BINOMIAL, GR_LOG, negbin_rows[k].theta, 0};
		double		eta = log(negbin_rows[k].mu);
		double		y = negbin_rows[k].y;
		GrGlmRow	expected = gr_glm_row(distribution, eta, y, 3.0);
		GrGlmRow	row = gr_observed_row(distribution, expected, eta, y);
		long double mu = expl((long double) eta);
		long double m = mu + (long double) distribution.theta;
		long double h = 3 * mu * (long double) distribution.theta / m * ((long double) (y + distribution.theta) / m);

		weight = fmax(weight, relative_error(row.u * row.u, (double) h));
		gradient = fmax(gradient, fabs(row.u * row.v - expected.u * expected.v));
		least = fmin(least, row.u);
		check(row.half_deviance == expected.half_deviance, "the deviance stays, line %d", k);
	}
	check(weight < 1e-13, "observed weights: error %.2g", weight);
	check(gradient < 1e-9 && least > 0, "the gradient stays: difference %.2g", gradient);
	check(gr_observed_row((GrDistribution) {GR_NEGATIVE_BINOMIAL, GR_LOG, 2, 0}, (GrGlmRow) {0, 0, INFINITY}, 800,
						  1).u == 0, "a predictor without a mean has no weight");
}

/* Makes rows of one feature and counts of mean exp(1 + x / 2), whose variance is above Poisson's, or below. */
static void
make_rows(double *rows, bool overdispersed)
{
	for (int r = 0; r < NROWS; r++)
	{
		double		x = (double) (r * 7 % 41) / 20 - 1;
		double		factor = overdispersed ? (double) (r % 5) / 2 : 1.0 + (double) (r % 3 - 1) / 10;

		rows[2 * r] = x;
		rows[2 * r + 1] = floor(exp(1 + x / 2) * factor + 0.5);
	}
}

/* Checks that totals of rows added at once have the bits of rows added one by one. */
static void
test_totals(const double *rows)
{
	GrRowRules	rules = {GR_NEGATIVE_BINOMIAL, GR_PRIOR_WEIGHTS, 2.5};
	GrRowTotals at_once = {0};
	GrRowTotals one_by_one = {0};
	double		sum = 0;

	gr_totals_add(&at_once, rows, NROWS, gr_plain_shape(1), rules);
	for (int r = 0; r < NROWS; r++)
	{
		gr_totals_add(&one_by_one, rows + 2 * r, 1, gr_plain_shape(1), rules);
		if (rows[2 * r + 1] > 0)
			sum += gr_waiting_saturated(rows[2 * r + 1], 2.5, gr_stirling_error(2.5));
	}
	check(memcmp(&at_once, &one_by_one, sizeof(at_once)) == 0, "totals of counts: the same bits from a table");
	check(relative_error(at_once.log_constant, sum) < 1e-14, "totals of counts");
	rules.theta = 0;
	memset(&at_once, 0, sizeof(at_once));
	gr_totals_add(&at_once, rows, NROWS, gr_plain_shape(1), rules);
	check(at_once.log_constant == 0, "totals of counts: none of the likelihood's where theta isn't known");
}

#define NJOINT 203

/*
 * Checks the sums of a JOINT pass of weighted rows against those of rows one by one, with vectors of any length, and
 * with predictors that vectors do not take.
 */
static void
test_joint(void)
{
	GrRowShape	shape = gr_plain_shape(2);
	const double beta[3] = {0.4, 0.7, -0.6};
	const double shift[2] = {0.25, -0.5};
	static double rows[NJOINT * 4];
	GrPass		pass = {
		.kind = GR_PASS_JOINT,.shape = shape,.distribution = {GR_NEGATIVE_BINOMIAL, GR_LOG, 0.7, 0},.beta = beta,
		.shift = shift
	};
	size_t		n = gr_pass_nsums(GR_PASS_JOINT, 2);
	const double *cross = NULL;

	pass.shape.weight = true;
	for (int wide = 0; wide < 2; wide++)
	{
		double	   *sums = malloc(n * sizeof(double));
		double	   *scratch = malloc(gr_pass_scratch_nbytes(GR_PASS_JOINT, pass.shape));
		double		want[7] = {0};	/* cross, score, curvature, losses, and the deviance */
		double		worst = 0;
		double		other = 0;

		for (int r = 0; r < NJOINT; r++)
		{
			double	   *row = rows + 4 * r;
			double		eta;
			double		mu;
			double		factor;
			GrGlmRow	of_theta;
			GrGlmRow	plain;

			row[0] = wide && r == 11 ? -800 : (double) (r * 7 % 41) / 20 - 1;
			row[1] = (double) (r * 5 % 23) / 10 - 1;
			row[2] = r == 17 ? 300 : r == 19 ? 7 : (double) (r * r % 5);
			row[3] = 1 + (double) (r % 3) / 4;
			eta = beta[0] + beta[1] * (row[0] - shift[0]) + beta[2] * (row[1] - shift[1]);
			mu = exp(eta);
			of_theta = gr_theta_row(pass.distribution, eta, row[2], row[3]);
			plain = gr_glm_row(pass.distribution, eta, row[2], row[3]);
			factor = plain.u * plain.v * mu / (mu + 0.7);
			want[0] += factor;
			want[1] += factor * (row[0] - shift[0]);
			want[2] += factor * (row[1] - shift[1]);
			want[3] += of_theta.u;
			want[4] += of_theta.v;
			/* half the deviance of a mean of 1 less what depends on the mean */
			want[5] += row[3] * (gr_half_deviance(pass.distribution, row[2], 1) - row[2] * log1p(0.7) -
								 0.7 * log1p(1 / 0.7));
			want[6] += 2 * of_theta.half_deviance;
		}
		for (int lanes = 1; lanes <= 8; lanes *= 2)
		{
			gr_pass_clear(GR_PASS_JOINT, 2, sums);
			gr_pass_add_lanes(&pass, sums, rows, NJOINT, scratch, lanes);
			cross = sums + gr_pass_cross_at(2);
			for (int k = 0; k < 6; k++)
				worst = fmax(worst, fabs(cross[k] - want[k]) / NJOINT);
			worst = fmax(worst, relative_error(sums[GR_SUM_DEVIANCE_HI] + sums[GR_SUM_DEVIANCE_LO], want[6]));
			gr_pass_merge(GR_PASS_JOINT, 2, sums, sums);
			for (int k = 0; k < 6; k++)
				other = fmax(other, fabs(cross[k] - 2 * want[k]) / NJOINT);
		}
		check(worst < 1e-13 && other < 2e-13, "joint sums%s: error %.2g", wide ? ", a predictor far out" : "", worst);
		free(sums);
		free(scratch);
	}
}

typedef struct Fit
{
	GrGlmFit *fit;
	void	   *memory;
	int			npasses;
	bool		done;
} Fit;

/* Fits with the given theta; 0: theta is estimated. */
static Fit
fit_rows(const double *rows, double theta, double l2, int max_iter)
{
	GrRowShape	shape = gr_plain_shape(1);
	GrRowTotals totals = {0};
	GrGlmOptions options = {
		.shape = shape,.distribution = {GR_NEGATIVE_BINOMIAL, GR_LOG, theta, 0},.estimate_theta = theta == 0,
		.intercept = true,.totals = &totals,.l2 = l2,.max_iter = max_iter,.tol = 1e-10,.learning_rate = NAN
	};
	GrRowRules	rules = {GR_NEGATIVE_BINOMIAL, GR_PRIOR_WEIGHTS, theta};
	double	   *scratch = malloc(gr_pass_scratch_nbytes(GR_PASS_EXACT, shape) +
								 gr_pass_scratch_nbytes(GR_PASS_FAST, shape));
	GrError		err = {0};
	Fit			run = {.done = true};

	gr_totals_add(&totals, rows, NROWS, shape, rules);
	run.memory = malloc(gr_glm_nbytes(&options));
	run.fit = gr_glm_begin(run.memory, &options);
	while (run.done && gr_glm_next(run.fit) != GR_GLM_DONE)
	{
		gr_pass_add(&run.fit->pass, run.fit->sums, rows, NROWS, scratch);
		run.npasses++;
		run.done = gr_glm_advance(run.fit, NULL, &err);
	}
	if (theta > 0)
		run.fit->log_likelihood = gr_log_likelihood(GR_NEGATIVE_BINOMIAL, run.fit->deviance, NROWS,
													totals.log_constant);
	free(scratch);
	return run;
}

/* Returns the penalised log-likelihood of a fit at that theta. */
static double
likelihood_at(const double *rows, double theta, double l2)
{
	Fit			run = fit_rows(rows, theta, l2, 100);
	double		likelihood = run.fit->log_likelihood - 0.5 * l2 * run.fit->coef[1] * run.fit->coef[1];

	free(run.memory);
	return likelihood;
}

/* Checks that the estimate maximises the likelihood of fits at given thetas, and equals the fit at that theta. */
static void
test_estimate(const double *rows, double l2)
{
	Fit			run = fit_rows(rows, 0, l2, 25);
	Fit			given = fit_rows(rows, run.fit->theta, l2, 25);
	double		theta = run.fit->theta;
	double		step = 1e-3 * theta;
	double		above = likelihood_at(rows, theta + step, l2);
	double		below = likelihood_at(rows, theta - step, l2);
	double		there = likelihood_at(rows, theta, l2);
	double		curvature = (above - 2 * there + below) / (step * step);

	check(run.done && run.fit->converged && !run.fit->theta_runs_off, "l2 %g: theta is estimated, %g, in %d passes", l2,
		  theta, run.npasses);
	check(run.npasses <= 45, "l2 %g: in few passes", l2);
	check(fabs(above - below) / (2 * step) < 1e-3 * fabs(curvature) * run.fit->theta_error, "l2 %g: the highest", l2);
	/* the likelihood maximised over coefficients is less curved than that of theta alone */
	check(run.fit->theta_error * sqrt(-curvature) > 0.8 && run.fit->theta_error * sqrt(-curvature) < 1.0001,
		  "l2 %g: its error", l2);
	check(relative_error(run.fit->log_likelihood, given.fit->log_likelihood) < 1e-13, "l2 %g: the likelihood", l2);
	for (int k = 0; k < 2; k++)
		check(relative_error(run.fit->coef[k], given.fit->coef[k]) < 1e-12 &&
			  relative_error(run.fit->vcov[3 * k], given.fit->vcov[3 * k]) < 1e-12, "l2 %g: coefficient %d", l2, k);
	check(relative_error(run.fit->null_deviance, given.fit->null_deviance) < 1e-12, "l2 %g: the null deviance", l2);
	free(run.memory);
	free(given.memory);
}

static void
test_ends(const double *over, const double *under)
{
	Fit			run = fit_rows(under, 0, 0, 25);

	check(run.done && run.fit->converged && run.fit->theta_runs_off && run.npasses <= 40,
		  "counts that vary less than Poisson's: theta runs off, in %d passes", run.npasses);
	free(run.memory);
	run = fit_rows(over, 0, 0, 2);
	check(run.done && !run.fit->converged && run.fit->theta > 0 && isfinite(run.fit->log_likelihood),
		  "too few iterations");
	free(run.memory);
}

int
main(void)
{
	static double over[2 * NROWS];
	static double under[2 * NROWS];

	make_rows(over, true);
	make_rows(under, false);
	test_rows();
	test_observed();
	test_totals(over);
	test_estimate(over, 0);
	test_estimate(over, 30);
	test_ends(over, under);
	test_joint();
	return unit_done();
}
