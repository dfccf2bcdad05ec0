/*
 * passes_test.c: tests which passes a fit makes over the rows, in which order, and how many, as passes take a fit's
 * time. A fit's passes are written as a word with a letter per pass, and the number of updates of beta.
 */
#include "logreg_driver.h"

#include "compute/glm/fit.h"

#define WORD_MAX 400

/* Scales sums as if each row were there `times` times, a power of two: the sums stay exact. */
static void
repeat_rows(const GrPass *pass, double *sums, double times)
{
	size_t		n = gr_pass_nsums(pass->kind, pass->shape.nfeatures);

	for (size_t k = 0; k < n; k++)
		if (k != GR_SUM_MIN_MARGIN && k != GR_SUM_MIN_RIGHT)
			sums[k] *= times;
}

/*
 * Returns a pass's letter: Z at 0, s at a start; E and F of a Newton step, exact or fast; c and v along a candidate for
 * a direction of separation; d of a solver without a Hessian, L its last ones; p at a beta that is to be moved along
 * such a direction; A the caller's own ascent; n of a null model.
 */
static char
letter_of(const GrGlmFit *fit)
{
	switch (fit->state->phase)
	{
		case GR_PHASE_ZERO:
			return 'Z';
		case GR_PHASE_START:
			return 's';
		case GR_PHASE_ITERATE:
			return fit->pass.kind == GR_PASS_EXACT ? 'E' : 'F';
		case GR_PHASE_CLASSIFY:
			return 'c';
		case GR_PHASE_VERIFY:
			return 'v';
		case GR_PHASE_DESCENT:
		case GR_PHASE_SHIFTED:
			return 'd';
		case GR_PHASE_ASCEND:
			return 'A';
		case GR_PHASE_LAST:
			return 'L';
		case GR_PHASE_PLACE:
			return 'p';
		case GR_PHASE_NULL:
			return 'n';
		default:
			return '?';
	}
}

/* Appends a letter to a word; a sixth equal letter in a row is written as their number. */
static void
add_letter(char *word, char letter)
{
	size_t		n = strlen(word);
	size_t		digits = n;
	int			count = 0;

	while (digits > 0 && word[digits - 1] >= '0' && word[digits - 1] <= '9' && digits > 1)
		digits--;
	if (digits < n && word[digits - 1] == letter)
	{
		(void) snprintf(word + digits, WORD_MAX - digits, "%d", atoi(word + digits) + 1);
		return;
	}
	while (n > 0 && word[n - 1] == letter && count < 5)
		n--, count++;
	if (count == 5)
		(void) snprintf(word + n, WORD_MAX - n, "%c6", letter);
	else
		(void) snprintf(word + n + count, WORD_MAX - n - count, "%c", letter);
}

/* Fits the rows, each counted `times` times, and writes the passes to word. */
static Run
fit_in_word(const Data *data, const GrGlmOptions *options, double times, char *word)
{
	Run			run = {.memory = malloc(gr_glm_nbytes(options)),.ok = true};
	GrGlmWant want;
	size_t		n;

	*word = '\0';
	run.fit = gr_glm_begin(run.memory, options);
	while (run.ok && run.npasses++ < PASSES_MAX && (want = gr_glm_next(run.fit)) != GR_GLM_DONE)
	{
		add_letter(word, letter_of(run.fit));
		if (want == GR_GLM_ASCEND)
			ascend(data, run.fit);
		else
		{
			pass_over(data, &run.fit->pass, run.fit->sums, 0, data->nrows);
			repeat_rows(&run.fit->pass, run.fit->sums, times);
		}
		run.ok = gr_glm_advance(run.fit, NULL, &run.err);
	}
	n = strlen(word);
	(void) snprintf(word + n, WORD_MAX - n, " %d%s", run.fit->iterations, run.fit->converged ? "" : " not converged");
	return run;
}

/* Makes features in (-2, 2); steep is the strength of the response's dependence on them, level its share of ones. */
static Data
rows_of(int seed, int p, int64_t nrows, double level, double steep)
{
	Data		data = data_new(p, nrows);

	srandom(seed);
	for (int64_t r = 0; r < nrows; r++)
	{
		double	   *row = row_of(&data, r);
		double		eta = level;

		for (int j = 0; j < p; j++)
		{
			row[j] = uniform() + uniform();
			eta += row[j] * (j % 2 == 0 ? steep : -steep) / sqrt(p);
		}
		row[p] = uniform() < 2 * gr_link_mean(GR_LOGIT, eta) - 1 ? 1 : 0;
	}
	return data;
}

/* Makes the last feature a dummy. In rows where it is 1, the response is 1, except in the first `odd` of them. */
static void
make_dummy(Data *data, int odd)
{
	for (int64_t r = 0; r < data->nrows; r++)
	{
		double	   *row = row_of(data, r);

		row[data->p - 1] = row[data->p - 1] > 0.8;
		if (row[data->p - 1] == 1)
			row[data->p] = odd-- > 0 ? 0 : 1;
	}
}

static void
check_word(const char *name, const Data *data, const GrGlmOptions *options, double times, const char *want)
{
	char		word[WORD_MAX];
	Run			run = fit_in_word(data, options, times, word);

	check(run.ok && strcmp(word, want) == 0, "%s: %s, %s wanted", name, word, want);
	run_free(&run);
}

/*
 * Plain fits
 */

static const struct
{
	const char *name;
	int			p;
	int64_t		nrows;
	double		level;
	double		steep;
	double		l2;
	double		tol;
	int			max_iter;
	bool		without_intercept;
	GrGlmSolver solver;
	const char *passes;
}			plain[] = {
	{"few rows", 3, 50, 0.5, 1, 0, 1e-10, 25, false, GR_SOLVER_NEWTON, "ZFFFFE 5"},
	{"many rows", 3, 50000, 0.5, 1, 0, 1e-10, 25, false, GR_SOLVER_NEWTON, "ZFFFFE 5"},
	{"a close response", 3, 3000, 0, 8, 0, 1e-10, 25, false, GR_SOLVER_NEWTON, "ZF8E 9"},
	{"a response that goes with nothing", 2, 3000, 0, 0, 0, 1e-10, 25, false, GR_SOLVER_NEWTON, "ZFFE 3"},
	{"few ones", 2, 3000, -5, 1, 0, 1e-10, 25, false, GR_SOLVER_NEWTON, "ZF8E 9"},
	{"no intercept", 3, 500, 0.5, 2, 0, 1e-10, 25, true, GR_SOLVER_NEWTON, "ZFFFFFE 6"},
	{"a penalty", 3, 500, 0.5, 2, 5, 1e-10, 25, false, GR_SOLVER_NEWTON, "ZFFFFFE 6"},
	{"four digits", 3, 3000, 0, 8, 0, 1e-4, 25, false, GR_SOLVER_NEWTON, "ZF7E 8"},
	{"one digit", 3, 3000, 0, 8, 0, 0.1, 25, false, GR_SOLVER_NEWTON, "ZF6E 7"},
	{"more digits than there are", 3, 500, 0.5, 2, 0, 1e-15, 25, false, GR_SOLVER_NEWTON, "ZFFFFFE 6"},
	{"one iteration", 3, 500, 0.5, 2, 0, 1e-10, 1, false, GR_SOLVER_NEWTON, "ZFcccE 1 not converged"},
	{"two iterations", 3, 500, 0.5, 2, 0, 1e-10, 2, false, GR_SOLVER_NEWTON, "ZFFcccE 2 not converged"},
	{"as many as it takes", 3, 500, 0.5, 2, 0, 1e-10, 5, false, GR_SOLVER_NEWTON, "ZFFFFFcE 5 not converged"},
	{"L-BFGS", 3, 500, 0.5, 2, 0, 1e-10, 500, false, GR_SOLVER_LBFGS, "Zd13LL 13"},
	{"L-BFGS, a penalty", 3, 500, 0.5, 2, 5, 1e-10, 500, false, GR_SOLVER_LBFGS, "Zd11LL 11"},
	{"L-BFGS, few digits", 3, 500, 0.5, 2, 0, 1e-3, 500, false, GR_SOLVER_LBFGS, "Zd7LcL 6"},
	{"L-BFGS, four iterations", 3, 500, 0.5, 2, 0, 1e-10, 4, false, GR_SOLVER_LBFGS, "ZdddddLcccL 4 not converged"},
	{"gradient descent", 2, 200, 0.5, 1, 0, 1e-10, 300, false, GR_SOLVER_GD, "Zd12LL 12"},
};

static void
test_plain(void)
{
	for (size_t k = 0; k < LENGTH(plain); k++)
	{
		Data		data = rows_of(1, plain[k].p, plain[k].nrows, plain[k].level, plain[k].steep);
		GrGlmOptions options = defaults(&data);

		options.can_change = false;
		options.l2 = plain[k].l2;
		options.tol = plain[k].tol;
		options.max_iter = plain[k].max_iter;
		options.intercept = !plain[k].without_intercept;
		options.solver = plain[k].solver;
		check_word(plain[k].name, &data, &options, 1, plain[k].passes);
		data_free(&data);
	}
}

/*
 * Checks that with enough rows a longer step is the last one: each row is counted ever more often. The results are the
 * same except the covariances, and so are the passes except the last ones. (At 2^49 times as many, more than 1e17,
 * rounding decides the passes, so they depend on the processor's vectors.)
 */
static void
test_repeated(void)
{
	static const struct
	{
		int			seed;
		int			p;
		int64_t		nrows;
		double		steep;
		int			power;		/* each row counts 2^power times */
		const char *passes;
	}			cases[] = {
		{1, 4, 294, 1, 0, "ZFFFFE 5"},
		{1, 4, 294, 1, 20, "ZFFFFE 5"},
		{1, 4, 294, 1, 40, "ZFFFFE 5"},
		{1, 4, 294, 1, 47, "ZFFFFFE 6"},
		{16, 1, 40, 0.3, 0, "ZFFFE 4"},
		{16, 1, 40, 0.3, 20, "ZFFFE 4"},
		{16, 1, 40, 0.3, 30, "ZFFFE 4"},
		{23, 1, 40, 0.3, 20, "ZFFE 3"}
	};

	for (size_t k = 0; k < LENGTH(cases); k++)
	{
		Data		data = rows_of(cases[k].seed, cases[k].p, cases[k].nrows, 0, cases[k].steep);
		GrGlmOptions options = defaults(&data);
		char		name[100];

		options.can_change = false;
		(void) snprintf(name, sizeof(name), "%d rows, 2^%d times", (int) cases[k].nrows, cases[k].power);
		check_word(name, &data, &options, ldexp(1, cases[k].power), cases[k].passes);
		data_free(&data);
	}
}

/* Checks starts near the estimate, far off and of the other sign, after a pass at 0 and in its place. */
static void
test_starts(void)
{
	static const struct
	{
		const char *name;
		double		factor;		/* start = factor x estimate */
		bool		without_zero;
		const char *passes;
	}			cases[] = {
		{"a near start", 1.02, false, "ZsFFFE 5"},
		{"a start far off", 30, false, "ZsF6E 7"},
		{"a start at 0", 0, false, "ZsF6E 7"},
		{"a start on the other side", -1, false, "ZsF6E 7"}, {"a start at a half", 0.5, false, "ZsFFFFFE 7"},
		{"a near start, no pass at 0", 1.02, true, "sFFFE 5"}, {"a start far off, no pass at 0", 30, true, "sZF6E 7"},
		{"a start at 0, no pass there", 0, true, "sZF6E 7"},
		{"a start at a half, no pass at 0", 0.5, true, "sFFFFFE 7"},
		{"a start at twice it, no pass at 0", 2, true, "sZF6E 7"}
	};
	Data		data = rows_of(3, 3, 5000, 0.5, 3);
	GrGlmOptions options = defaults(&data);
	char		word[WORD_MAX];
	Run			from_zero = fit_in_word(&data, &options, 1, word);

	for (size_t k = 0; k < LENGTH(cases); k++)
	{
		double		start[4] = {0};
		const double shift[3] = {0};

		for (int j = 0; j < 4; j++)
			start[j] = from_zero.fit->coef[j] * cases[k].factor;
		options.start = start;
		options.start_shift = cases[k].without_zero ? shift : NULL;
		check_word(cases[k].name, &data, &options, 1, cases[k].passes);
	}
	run_free(&from_zero);
	data_free(&data);
}

/* Checks classes that are separated, by a dummy or completely, or nearly so. */
static void
test_separated(void)
{
	static const struct
	{
		const char *name;
		int			seed;
		int64_t		nrows;
		double		steep;
		bool		dummy;
		int			odd;
		int			max_iter;
		const char *passes;
	}			cases[] = {
		{"a dummy of ones", 1, 400, 1, true, 0, 25, "ZFFFFFcvEEEp 7 not converged"},
		{"a dummy with one zero", 1, 400, 1, true, 1, 25, "ZF7E 8"},
		{"a dummy of ones, two iterations", 1, 400, 1, true, 0, 2, "ZFFcvEEEcEp 4 not converged"},
		{"a dummy of ones, six iterations", 1, 400, 1, true, 0, 6, "ZFFFFFcvEEEp 7 not converged"},
		{"complete separation", 4, 12, 30, false, 0, 25, "ZFvp 1 not converged"},
		{"many rows, nearly", 5, 400, 60, false, 0, 25, "ZFFFFFcccFFcccFFcccFFFFE 14"},
		{"few rows, two iterations", 6, 12, 1, false, 0, 2, "ZFFcE 2 not converged"}
	};

	for (size_t k = 0; k < LENGTH(cases); k++)
	{
		Data		data = rows_of(cases[k].seed, 2, cases[k].nrows, 0.3, cases[k].steep);
		GrGlmOptions options = defaults(&data);

		options.can_change = false;
		options.max_iter = cases[k].max_iter;
		if (cases[k].dummy)
			make_dummy(&data, cases[k].odd);
		check_word(cases[k].name, &data, &options, 1, cases[k].passes);
		data_free(&data);
	}
}

/*
 * Checks that a direction of separation is followed from where the steps ended: the separated rows' margins grow by 40.
 */
static void
test_far_out(void)
{
	Data		data = rows_of(1, 2, 400, 0.3, 1);
	GrGlmOptions options = defaults(&data);
	double		least = INFINITY;
	char		word[WORD_MAX];
	Run			run;

	make_dummy(&data, 0);
	run = fit_in_word(&data, &options, 1, word);
	for (int64_t r = 0; r < data.nrows; r++)
	{
		const double *row = row_of(&data, r);
		double		eta = run.fit->coef[0] + run.fit->coef[1] * row[0] + run.fit->coef[2] * row[1];

		if (row[1] == 1)
			least = fmin(least, eta);
	}
	check(run.ok && run.fit->separated[2] == 1 && least > 43 && least < 60, "separated rows' margins are %.3g and more",
		  least);
	run_free(&run);
	data_free(&data);
}

/* Checks that the last step isn't cut where iterations end: an exact pass is made for the covariances alone. */
static void
test_last_iteration(void)
{
	Data		data = rows_of(1, 3, 500, 0.5, 2);

	for (int n = 1; n <= 4; n++)
	{
		GrGlmOptions options = defaults(&data);
		char		word[WORD_MAX];
		double		deviance = 0;
		Run			run;

		options.max_iter = n;
		run = fit_in_word(&data, &options, 1, word);
		for (int64_t r = 0; r < data.nrows; r++)
		{
			double		mu = (double) mean_at(&data, row_of(&data, r), run.fit->coef, true);

			deviance -= 2 * log(row_of(&data, r)[3] == 1 ? mu : 1 - mu);
		}
		check(run.ok && relative_error(run.fit->deviance, deviance) < 1e-12 && run.fit->iterations == n,
			  "%d iterations: the deviance is that of the estimates, %s", n, word);
		run_free(&run);
	}
	data_free(&data);
}

/* Checks other families; a linear regression is solved by its pass at 0. */
static void
test_families(void)
{
	static const struct
	{
		const char *name;
		GrDistribution distribution;
		const char *passes;
	}			cases[] = {
		{"gaussian", {.family = GR_GAUSSIAN,.link = GR_IDENTITY}, "ZE 1"},
		{"poisson", {.family = GR_POISSON,.link = GR_LOG}, "ZFFFFFEn 6"},
		{"probit", {.family = GR_BINOMIAL,.link = GR_PROBIT}, "ZFFFFEE 6"},
		{"cloglog", {.family = GR_BINOMIAL,.link = GR_CLOGLOG}, "ZF9EE 9"},
	};

	for (size_t k = 0; k < LENGTH(cases); k++)
	{
		Data		data = rows_of(7, 2, 600, 0.3, 1);
		GrGlmOptions options = defaults(&data);

		options.can_change = false;
		options.distribution = cases[k].distribution;
		check_word(cases[k].name, &data, &options, 1, cases[k].passes);
		data_free(&data);
	}
}

/*
 * Checks responses in other units: one more pass at 0, in the fit's own unit, and then the same passes. Results differ
 * by powers of two and, with the log link, by the intercept.
 */
static void
test_units(void)
{
	static const struct
	{
		GrDistribution distribution;
		int			coef;		/* coefficients scale by 2^(coef k / 2) if responses do by 2^k */
		int			deviance;	/* deviances scale by 2^(deviance k) */
		const char *passes;
	}			cases[] = {
		{{.family = GR_GAUSSIAN,.link = GR_IDENTITY}, 2, 2, "ZE 1"},
		{{.family = GR_GAUSSIAN,.link = GR_LOG}, 0, 2, "ZFFFFFEEn 7"},
		{{.family = GR_GAUSSIAN,.link = GR_INVERSE}, -2, 2, "ZF6EEn 8"},
		{{.family = GR_POISSON,.link = GR_IDENTITY}, 2, 1, "ZFFFFFEn 6"},
		{{.family = GR_POISSON,.link = GR_LOG}, 0, 1, "ZFFFFEn 5"},
		{{.family = GR_POISSON,.link = GR_SQRT}, 1, 1, "ZFFFFEEn 6"},
		{{.family = GR_GAMMA,.link = GR_IDENTITY}, 2, 0, "ZFFFFFEEn 7"},
		{{.family = GR_GAMMA,.link = GR_LOG}, 0, 0, "ZFFFFFEEn 7"},
		{{.family = GR_GAMMA,.link = GR_INVERSE}, -2, 0, "ZFFFFEn 5"}
	};
	static const int exponents[] = {0, 450, -450};

	for (size_t k = 0; k < LENGTH(cases); k++)
	{
		double		slope = 0;
		double		deviance = 0;
		double		variance = 0;

		for (size_t e = 0; e < LENGTH(exponents); e++)
		{
			Data		data = rows_of(7, 2, 600, 0.3, 1);
			GrGlmOptions options = defaults(&data);
			char		word[WORD_MAX];
			int			power = exponents[e];
			int			by_coef = cases[k].coef * power / 2;
			int			by_deviance = cases[k].deviance * power;
			Run			run;

			options.can_change = false;
			options.distribution = cases[k].distribution;
			for (int64_t r = 0; r < data.nrows; r++)
				row_of(&data, r)[2] = ldexp(1.5 + row_of(&data, r)[2] + 0.1 * row_of(&data, r)[0], power);
			run = fit_in_word(&data, &options, 1, word);
			if (power == 0)
			{
				slope = run.fit->coef[1];
				deviance = run.fit->deviance;
				variance = run.fit->vcov[4];
			}
			check(run.ok && strcmp(word + (power == 0 ? 0 : 1), cases[k].passes) == 0 && word[0] == 'Z' &&
				  relative_error(ldexp(run.fit->coef[1], -by_coef), slope) < 1e-12 &&
				  relative_error(ldexp(run.fit->deviance, -by_deviance), deviance) < 1e-12 &&
				  relative_error(ldexp(run.fit->vcov[4], run.fit->vcov_exponent - 2 * by_coef + by_deviance),
								 variance) < 1e-12,
				  "%s, %s, responses of 2^%d: %s, %s wanted",
				  gr_family_name(cases[k].distribution.family, false), gr_link_name(cases[k].distribution.link), power,
				  word, cases[k].passes);
			run_free(&run);
			data_free(&data);
		}
	}
}

int
main(void)
{
	test_plain();
	test_units();
	test_repeated();
	test_starts();
	test_separated();
	test_far_out();
	test_last_iteration();
	test_families();
	return unit_done();
}
