/*
 * start_test.c: tests logistic regressions that start from an estimate of a sample, or from anywhere: the answers are
 * those from 0, and a bad start costs a pass.
 */
#include "logreg_driver.h"

/* Makes a response that depends strongly on the features, so a fit from 0 takes many steps. */
static Data
close_data(int p, int64_t nrows, double intercept)
{
	Data		data = data_new(p, nrows);

	for (int64_t r = 0; r < nrows; r++)
	{
		double	   *row = row_of(&data, r);
		double		eta = intercept;

		for (int j = 0; j < p; j++)
		{
			row[j] = uniform() + uniform();
			eta += row[j] * (j % 2 == 0 ? 4 : -4) / sqrt(p);
		}
		row[p] = uniform() < 2 * gr_link_mean(GR_LOGIT, eta) - 1 ? 1 : 0;
	}
	return data;
}

/* Returns the first rows, which data still owns. */
static Data
first_rows(const Data *data, int64_t nrows)
{
	Data		first = {data->p, nrows, data->rows};

	return first;
}

static Run
run_from(const Data *data, const GrGlmOptions *options, const double *start)
{
	GrGlmOptions with = *options;

	with.start = start;
	return run_fit(data, &with);
}

/* Fits a sample; true if it gives a start. */
static bool
sample_start(const Data *sample, const GrGlmOptions *options, double share, double *start)
{
	GrGlmOptions few = gr_glm_sample(options, share);
	Run			run = run_fit(sample, &few);
	bool		given = run.ok && gr_glm_take_start(run.fit, start);

	run_free(&run);
	return given;
}

static Run
run_without_zero(const Data *data, const GrGlmOptions *options, const double *start, const double *shift)
{
	GrGlmOptions with = *options;

	with.start = start;
	with.start_shift = shift;
	return run_fit(data, &with);
}

/* Fits a sample; true if it gives a start that spares the pass at 0. Sets the options' start_theta. */
static bool
sample_shift(const Data *sample, GrGlmOptions *options, double share, double *start, double *shift)
{
	GrGlmOptions few = gr_glm_sample(options, share);
	Run			run = run_fit(sample, &few);
	bool		given = run.ok && gr_glm_take_shift(run.fit, start, shift);

	if (given)
		options->start_theta = gr_glm_start_theta(run.fit);
	run_free(&run);
	return given;
}

/* Returns the largest difference of two fits' reported results; terms may lack an estimate. */
static double
apart(const GrGlmFit *a, const GrGlmFit *b)
{
	double		worst = fmax(relative_error(a->deviance, b->deviance),
							 relative_error(a->null_deviance, b->null_deviance));

	if (!isnan(a->theta_error))
		worst = fmax(fmax(worst, relative_error(a->theta, b->theta)),
					 fmax(relative_error(a->theta_error, b->theta_error),
						  relative_error(a->log_likelihood, b->log_likelihood)));
	if (a->rank != b->rank || a->nrows != b->nrows || a->df_residual != b->df_residual ||
		a->nseparated != b->nseparated ||
		a->converged != b->converged)
		return INFINITY;
	for (int k = 0; k < a->nterms; k++)
	{
		double		va = a->vcov[k * a->nterms + k];
		double		vb = b->vcov[k * a->nterms + k];

		if (a->separated[k] != b->separated[k] || isnan(a->coef[k]) != isnan(b->coef[k]) || isnan(va) != isnan(vb))
			return INFINITY;
		if (!isnan(va))
			worst = fmax(worst, fmax(relative_error(a->coef[k], b->coef[k]), relative_error(va, vb)));
	}
	return worst;
}

/*
 * Checks that a sample saves passes and changes nothing, with and without an intercept and a penalty, wherever the
 * features are.
 */
static void
test_sample(void)
{
	static const struct
	{
		int			p;
		bool		intercept;
		double		l2;
		double		offset;
		double		level;		/* mean of the predictor; decides the share of ones */
		int			saved;		/* least number of passes saved */
	}			cases[] = {
		{3, true, 0, 0, 0, 1}, {3, false, 0, 0, 0, 1}, {3, true, 40, 0, 0, 1}, {8, true, 0, 100, 0, 1},
			{8, false, 7, 0, 0, 1}, {4, true, 0, 0, -6, 3}
	};

	for (size_t c = 0; c < LENGTH(cases); c++)
	{
		Data		plain = close_data(cases[c].p, 60000, cases[c].level);
		Data		data = data_moved(&plain, 1, cases[c].offset);
		Data		sample = first_rows(&data, 6000);
		GrGlmOptions options = defaults(&data);
		double		start[9];
		double		shift[8];
		double		worst;
		bool		given;
		Run			from_zero;
		Run			run;
		Run			without;

		options.intercept = cases[c].intercept;
		options.l2 = cases[c].l2;
		given = sample_start(&sample, &options, 0.1, start);
		from_zero = run_fit(&data, &options);
		run = run_from(&data, &options, start);
		worst = apart(run.fit, from_zero.fit);
		check(given && regular(&run) && run.npasses <= from_zero.npasses - cases[c].saved &&
			  run.fit->iterations < from_zero.fit->iterations,
			  "a sample of a tenth, case %zu: %d passes, not %d", c, run.npasses, from_zero.npasses);
		check(worst < 3e-14, "a sample of a tenth, case %zu: results differ by %.2g", c, worst);
		given = sample_shift(&sample, &options, 0.1, start, shift);
		without = run_without_zero(&data, &options, start, shift);
		worst = apart(without.fit, from_zero.fit);
		check(given && regular(&without) && without.npasses == run.npasses - 1,
			  "without a pass at 0, case %zu: %d passes, not %d", c, without.npasses, run.npasses);
		check(worst < 3e-14, "without a pass at 0, case %zu: results differ by %.2g", c, worst);
		run_free(&without);
		run_free(&run);
		run_free(&from_zero);
		data_free(&data);
		data_free(&plain);
	}
}

/*
 * Replaces the classes by counts, or by times for the gamma family, with the mean exp(0.2 + x'b). spread: counts have a
 * theta of 1
 */
static void
respond(Data *data, GrFamily family, bool spread)
{
	for (int64_t r = 0; r < data->nrows; r++)
	{
		double	   *row = row_of(data, r);
		double		eta = 0.2;
		double		size = 0;

		for (int j = 0; j < data->p; j++)
			eta += row[j] * (j % 2 == 0 ? 0.7 : -0.5);
		if (spread)
			eta += log(-log(0.5 + 0.5 * uniform()));
		while (family != GR_GAMMA && (size -= log(0.5 + 0.5 * uniform()) / exp(eta)) < 1 && row[data->p] < 1000)
			row[data->p] += 1;
		if (family == GR_GAMMA)
			row[data->p] = -log(0.5 + 0.5 * uniform()) * exp(eta);
	}
}

/* Fits other families than the logistic one from a sample: the answers are those from 0, in fewer passes. */
static void
test_families(void)
{
	static const struct
	{
		GrDistribution distribution;
		bool		intercept;
		double		l2;
		int			saved;		/* least number of passes saved */
	}			cases[] = {
		{{GR_POISSON, GR_LOG, 0, 0}, true, 0, 3}, {{GR_POISSON, GR_LOG, 0, 0}, false, 0, 1},
		{{GR_POISSON, GR_LOG, 0, 0}, true, 50, 3}, {{GR_GAMMA, GR_LOG, 0, 0}, true, 0, 5},
		{{GR_GAMMA, GR_LOG, 0, 0}, false, 30, 3}, {{GR_NEGATIVE_BINOMIAL, GR_LOG, 4, 0}, true, 0, 3},
		/* theta is estimated */
		{{GR_NEGATIVE_BINOMIAL, GR_LOG, 0, 0}, true, 0, 8}, {{GR_NEGATIVE_BINOMIAL, GR_LOG, 0, 0}, false, 0, 8},
		{{GR_NEGATIVE_BINOMIAL, GR_LOG, 0, 0}, true, 20, 8}
	};

	for (size_t c = 0; c < LENGTH(cases); c++)
	{
		Data		data = data_new(3, 40000);
		Data		sample;
		GrRowRules	rules = {cases[c].distribution.family, GR_PRIOR_WEIGHTS, cases[c].distribution.theta};
		GrRowTotals totals = {0};
		GrRowTotals few = {0};
		GrGlmOptions options = defaults(&data);
		GrGlmOptions of_sample;
		double		start[4] = {NAN};
		double		shift[3];
		double		worst;
		bool		estimate = gr_family(rules.family)->has_theta && rules.theta == 0;
		bool		given;
		Run			from_zero;
		Run			run;

		for (int64_t k = 0; k < data.nrows * 4; k++)
			data.rows[k] = k % 4 == 3 ? 0 : uniform();
		respond(&data, rules.family, estimate);
		sample = first_rows(&data, 5000);
		gr_totals_add(&totals, data.rows, data.nrows, options.shape, rules);
		gr_totals_add(&few, sample.rows, sample.nrows, options.shape, rules);
		options.distribution = cases[c].distribution;
		options.intercept = cases[c].intercept;
		options.l2 = cases[c].l2;
		options.totals = &few;
		options.can_be_coarse = true;
		options.estimate_theta = estimate;
		of_sample = options;
		given = sample_shift(&sample, &of_sample, 0.125, start, shift);
		options.totals = &totals;
		options.start_theta = of_sample.start_theta;
		from_zero = run_fit(&data, &options);
		run = run_without_zero(&data, &options, start, shift);
		worst = apart(run.fit, from_zero.fit);
		check(given && regular(&run) && run.npasses <= from_zero.npasses - cases[c].saved,
			  "%s, case %zu: %d passes, not %d", gr_family(rules.family)->name, c, run.npasses, from_zero.npasses);
		check(worst < 1e-12, "%s, case %zu: results differ by %.2g", gr_family(rules.family)->name, c, worst);
		run_free(&run);
		for (int j = 0; j < 4; j++)
			start[j] += 4;
		run = run_without_zero(&data, &options, start, shift);
		check(run.npasses <= from_zero.npasses + 2 && apart(run.fit, from_zero.fit) < 1e-12,
			  "%s, case %zu, a start far off: %d passes", gr_family(rules.family)->name, c, run.npasses);
		run_free(&run);
		run_free(&from_zero);
		data_free(&data);
	}
}

/* Checks starts at the maximum, nearby, far off, on the other side, at NaN, and at the end of float8's range. */
static void
test_places(void)
{
	static const struct
	{
		const char *name;
		double		factor;
		double		added;
		int			more;		/* most passes beyond those of the fit from 0 */
	}			places[] = {
		{"the maximum", 1, 0, -3}, {"near it", 1.01, 0, -1}, {"0", 0, 0, 1}, {"too far out", 20, 0, 1},
			{"on the other side", -1, 0, 1},
		{"somewhere else", 1, 5, 1}, {"at 1e6", 1e6, 0, 1}, {"at 1e300", 1e300, 0, 1}, {"infinite", INFINITY, 0, 0},
		{"not a number", NAN, 0, 0}
	};
	Data		data = close_data(3, 3000, 0.5);

	for (double l2 = 0; l2 < 9; l2 += 8)
	{
		GrGlmOptions options = defaults(&data);
		Run			from_zero;

		options.l2 = l2;
		from_zero = run_fit(&data, &options);
		for (size_t k = 0; k < LENGTH(places); k++)
		{
			double		start[4];
			double		worst;
			Run			run;

			for (int j = 0; j < 4; j++)
				start[j] = from_zero.fit->coef[j] * places[k].factor + places[k].added;
			run = run_from(&data, &options, start);
			worst = apart(run.fit, from_zero.fit);
			check(regular(&run) && worst < 1e-14, "start: %s, l2 = %g: results differ by %.2g", places[k].name, l2,
				  worst);
			check(run.npasses <= from_zero.npasses + places[k].more, "start: %s, l2 = %g: %d passes, not %d",
				  places[k].name, l2, run.npasses,
				  from_zero.npasses);
			run_free(&run);
		}
		run_free(&from_zero);
	}
	data_free(&data);
}

/* Checks a sample of the first rows, whose responses are inverted. */
static void
test_unlike(void)
{
	Data		data = close_data(4, 8000, 0);
	Data		sample = first_rows(&data, 2000);
	GrGlmOptions options = defaults(&data);
	double		start[5];
	bool		given;
	Run			from_zero;
	Run			run;

	for (int r = 0; r < 2000; r++)
		row_of(&data, r)[4] = 1 - row_of(&data, r)[4];
	given = sample_start(&sample, &options, 0.25, start);
	from_zero = run_fit(&data, &options);
	run = run_from(&data, &options, start);
	check(given && regular(&run) && run.npasses == from_zero.npasses + 1 && apart(run.fit, from_zero.fit) == 0,
		  "a sample unlike the others costs one pass: %d, not %d", run.npasses, from_zero.npasses);
	check(run.fit->iterations == from_zero.fit->iterations, "which isn't an iteration");
	run_free(&run);
	run_free(&from_zero);
	data_free(&data);
}

/*
 * Checks fits without a pass at 0 from any start and shift, over rows unlike the sample's: the answer is that from 0,
 * with a pass or two more.
 */
static void
test_disproved(void)
{
	static const struct
	{
		const char *name;
		double		factor;		/* start = factor x estimate */
		double		shift;		/* added to the shift */
		double		heavy;		/* a column's value in two rows; 0: none */
		int			more;		/* most passes more */
	}			cases[] = {
		{"far off", 30, 0, 0, 1}, {"on the other side", -1, 0, 0, 1}, {"at 1e300", 1e300, 0, 0, 1},
		{"too far", 6, 0, 0, 2}, {"a shift beside the column", 1, 1e5, 0, 1}, {"0", 0, 0, 0, 1},
		{"a heavy row", 1, 0, 1e9, 1}, {"a column that is collinear but for rounding", 1, 0, 1e18, 1}
	};

	for (size_t c = 0; c < LENGTH(cases); c++)
	{
		Data		data = close_data(3, 20000, 0.3);
		Data		sample = first_rows(&data, 2000);
		GrGlmOptions options = defaults(&data);
		double		start[4];
		double		shift[3];
		double		worst;
		Run			from_zero;
		Run			run;

		for (int r = 19998; r < 20000 && cases[c].heavy > 0; r++)
		{
			row_of(&data, r)[0] = row_of(&data, r)[1] = r == 19998 ? cases[c].heavy : -cases[c].heavy;
			row_of(&data, r)[3] = r - 19998;
		}
		check(sample_shift(&sample, &options, 0.1, start, shift), "a sample, %s", cases[c].name);
		for (int j = 0; j < 4; j++)
			start[j] *= cases[c].factor;
		for (int j = 0; j < 3; j++)
			shift[j] += cases[c].shift;
		from_zero = run_fit(&data, &options);
		run = run_without_zero(&data, &options, start, shift);
		worst = apart(run.fit, from_zero.fit);
		check(run.ok && run.npasses <= from_zero.npasses + cases[c].more && worst < 1e-12,
			  "disproved: %s: %d passes, not %d, results differ by %.2g", cases[c].name, run.npasses,
			  from_zero.npasses, worst);
		run_free(&run);
		run_free(&from_zero);
		data_free(&data);
	}
}

/*
 * Checks column 1 = 2 x column 0: a start that leaves out the aliased term is used; one that keeps it, or leaves out
 * another, is not.
 */
static void
test_aliased(void)
{
	Data		data = close_data(3, 20000, 0.2);
	Data		sample = first_rows(&data, 2000);
	GrGlmOptions options = defaults(&data);
	double		start[4];
	bool		given;
	Run			from_zero;
	Run			run;

	for (int r = 0; r < 20000; r++)
		row_of(&data, r)[1] = 2 * row_of(&data, r)[0];
	given = sample_start(&sample, &options, 0.1, start);
	from_zero = run_fit(&data, &options);
	run = run_from(&data, &options, start);
	check(given && isnan(start[2]) && run.ok && run.fit->rank == 3 && run.npasses < from_zero.npasses &&
		  apart(run.fit, from_zero.fit) < 3e-14,
		  "an aliased term: %d passes, not %d", run.npasses, from_zero.npasses);
	run_free(&run);
	start[2] = 0;
	run = run_from(&data, &options, start);
	check(run.npasses == from_zero.npasses && apart(run.fit, from_zero.fit) == 0,
		  "aliased, but not in the start: not tried");
	run_free(&run);
	start[2] = start[3] = NAN;
	run = run_from(&data, &options, start);
	check(run.npasses == from_zero.npasses && apart(run.fit, from_zero.fit) == 0,
		  "aliased in the start alone: not tried");
	run_free(&run);
	run_free(&from_zero);
	data_free(&data);
}

/*
 * Checks that separation is found from any start: all rows with feature 0 > 0.7 have the response 1. kind 1: complete
 * separation by feature 1, which has many directions, any of which may be found.
 */
static void
test_separated(void)
{
	static const double factors[] = {1, 3, -1};

	for (int kind = 0; kind <= 1; kind++)
	{
		Data		data = close_data(3, 4000, 0);
		GrGlmOptions options = defaults(&data);
		Run			penalised;
		Run			from_zero;
		double		start[4];

		for (int r = 0; r < 4000; r++)
		{
			double	   *row = row_of(&data, r);

			row[0] = row[0] > 0.7 ? 1 : 0;
			if (kind == 0 && row[0] == 1)
				row[3] = 1;
			if (kind == 1)
				row[3] = row[1] > 0.3 ? 1 : 0;
		}
		check(!sample_start(&data, &options, 1, start), "a separated sample gives no start");
		options.l2 = 1;
		penalised = run_fit(&data, &options);
		options.l2 = 0;
		from_zero = run_fit(&data, &options);
		for (size_t k = 0; k < LENGTH(factors); k++)
		{
			double		worst;
			Run			run;

			for (int j = 0; j < 4; j++)
				start[j] = factors[k] * penalised.fit->coef[j];
			run = run_from(&data, &options, start);
			worst = kind == 0 ? apart(run.fit, from_zero.fit) : run.fit->deviance;
			check(run.ok && from_zero.fit->nseparated == (kind == 0 ? 1 : 4) &&
				  run.fit->nseparated == from_zero.fit->nseparated &&
				  !run.fit->converged && worst < 1e-14, "separated rows, start %zu: %.2g", k, worst);
			run_free(&run);
		}
		run_free(&penalised);
		run_free(&from_zero);
		data_free(&data);
	}
}

/*
 * Checks that no start comes from a sample of one class, from too simple a fit, or from a fit that was broken off, nor
 * for few iterations and the other solvers.
 */
static void
test_none(void)
{
	Data		data = close_data(2, 3000, 0);
	Data		weak = random_data(2, 3000, false);
	GrGlmOptions options = defaults(&data);
	GrGlmOptions few = gr_glm_sample(&options, 0.1);
	double		start[3] = {1, 1, 1};
	Run			from_zero;
	Run			run;
	void	   *memory = malloc(gr_glm_nbytes(&few));

	check(sample_start(&data, &options, 0.1, start), "a sample that gives a start");
	for (int r = 0; r < 3000; r++)
		row_of(&weak, r)[2] = uniform() < 0 ? 1 : 0;
	check(!sample_start(&weak, &options, 0.1, start),
		  "a response that goes with nothing: one step from 0 is near enough");
	for (int r = 0; r < 3000; r++)
		row_of(&weak, r)[2] = 1;
	check(!sample_start(&weak, &options, 0.1, start), "one class");
	check(!gr_glm_take_start(gr_glm_begin(memory, &few), start), "a fit that has hardly begun");
	free(memory);
	check(gr_glm_uses_start(&options), "Newton's solver uses a start");
	options.solver = GR_SOLVER_LBFGS;
	check(!gr_glm_uses_start(&options), "none for L-BFGS");
	options.solver = GR_SOLVER_GD;
	check(!gr_glm_uses_start(&options), "none for gradient ascent");
	options.solver = GR_SOLVER_NEWTON;
	options.max_iter = 4;
	check(!gr_glm_uses_start(&options), "none for four iterations");
	from_zero = run_fit(&data, &options);
	run = run_from(&data, &options, start);
	check(run.npasses == from_zero.npasses && apart(run.fit, from_zero.fit) == 0, "and one that is given isn't tried");
	run_free(&run);
	run_free(&from_zero);
	data_free(&data);
	data_free(&weak);
}

/*
 * Checks that many rows end without a confirming pass, with covariances right to all digits, also if one row has most
 * of the weight.
 */
static void
test_last_pass(void)
{
	for (int heavy = 0; heavy <= 1; heavy++)
	{
		Data		data = random_data(3, 200000, false);
		GrGlmOptions options = defaults(&data);
		double		score;
		double		vcov;
		Run			run;

		if (heavy)
			for (int r = 0; r < 5; r++)
				row_of(&data, r)[1] = 300;
		run = run_fit(&data, &options);
		score = score_error(&data, run.fit->coef, true, 0);
		vcov = vcov_error(&data, run.fit, true, 0);
		check(regular(&run) && score < 1e-15 && vcov < 3e-15, "200,000 rows%s, %d passes: score %.2g, covariances %.2g",
			  heavy ? ", five heavy" : "", run.npasses, score, vcov);
		run_free(&run);
		data_free(&data);
	}
}

int
main(void)
{
	srandom(12);
	test_sample();
	test_places();
	test_unlike();
	test_disproved();
	test_aliased();
	test_separated();
	test_none();
	test_last_pass();
	test_families();
	return unit_done();
}
