/*
 * weights_fits.h: fits of logistic regression over rows with weights and offsets, for weights_test.c: compared with
 * long double, and with fits of the same rows written otherwise.
 */
#ifndef GPUREG_WEIGHTS_FITS_H
#define GPUREG_WEIGHTS_FITS_H

#include "weights_passes.h"

/* Fits rows of any shape, in passes of two blocks. */
static inline Run
fit_weighted(const Rows *data, GrGlmOptions options, GrRowTotals *totals)
{
	Rows		rows = rows_as(data, data->shape);
	Run			run;
	GrGlmWant want;

	memset(totals, 0, sizeof(*totals));
	options.shape = data->shape;
	options.totals = data->shape.weight ? totals : NULL;
	if (data->shape.weight)
		gr_totals_add(totals, data->rows, data->nrows, data->shape, (GrRowRules) {GR_BINOMIAL, options.weighting, 0});
	run = (Run) {.memory = malloc(gr_glm_nbytes(&options)),.ok = true};
	run.fit = gr_glm_begin(run.memory, &options);
	while (run.ok && (want = gr_glm_next(run.fit)) != GR_GLM_DONE)
	{
		if (want == GR_GLM_CHANGE)
		{
			run.changed = true;
			(void) gr_basis_change_rows(run.fit->basis, rows.shape, rows.rows, rows.nrows, &(GrPoll) {.host = NULL});
		}
		else
		{
			double	   *sums = run_weighted(&run.fit->pass, &rows, rows.nrows, rows.nrows / 2 + 1, 8);

			memcpy(run.fit->sums, sums, gr_pass_nsums(run.fit->pass.kind, rows.shape.nfeatures) * sizeof(double));
			free(sums);
			run.npasses++;
		}
		run.ok = gr_glm_advance(run.fit, NULL, &run.err);
	}
	if (!run.ok)
		printf("# status %d, %s\n", run.err.status, run.err.detail);
	rows_free(&rows);
	return run;
}

static inline GrGlmOptions
weighted_defaults(void)
{
	GrGlmOptions options = {
		.distribution = GR_LOGISTIC,.intercept = true,.max_iter = 25,.tol = 1e-10,.solver = GR_SOLVER_NEWTON
	};

	options.learning_rate = NAN;
	options.can_change = true;

	return options;
}

/*
 * Results at coef (the intercept first, if there is one): the deviance, and the gradient relative to the magnitudes of
 * its terms
 */
typedef struct Point
{
	long double deviance;
	double		score;
	long double inverse[TERMS_MAX * TERMS_MAX];	/* inverse of the Hessian */
	long double step;			/* Newton step of the intercept alone */
} Point;

static inline void
look_at(Point *point, const Rows *data, const double *coef, int nterms, bool intercept, double l2)
{
	long double gradient[TERMS_MAX] = {0};
	long double size[TERMS_MAX] = {0};

	memset(point, 0, sizeof(*point));
	for (int64_t r = 0; r < data->nrows; r++)
	{
		const double *row = weighted_row(data, r);
		long double y = gr_row_response(row, data->shape);
		long double weight = gr_row_weight(row, data->shape);
		long double eta = gr_row_offset(row, data->shape);
		long double mu[2];

		for (int k = 0; k < nterms; k++)
			eta += coef[k] * term(row, k, intercept);
		mu[1] = 1 / (1 + expl(-eta));
		mu[0] = 1 / (1 + expl(eta));
		if (y > 0)
			point->deviance += 2 * weight * y * (logl(y) - (eta < -11000 ? eta : logl(mu[1])));
		if (y < 1)
			point->deviance += 2 * weight * (1 - y) * (logl(1 - y) - (eta > 11000 ? -eta : logl(mu[0])));
		for (int i = 0; i < nterms; i++)
		{
			gradient[i] += weight * (y - mu[1]) * term(row, i, intercept);
			size[i] += weight * fabsl((y - mu[1]) * term(row, i, intercept));
			for (int j = 0; j < nterms; j++)
				point->inverse[i * nterms + j] += weight * mu[0] * mu[1] *
					term(row, i, intercept) * term(row, j, intercept);
		}
	}
	for (int i = intercept ? 1 : 0; i < nterms; i++)
	{
		gradient[i] -= l2 * coef[i];
		point->inverse[i * nterms + i] += l2;
	}
	if (nterms == 1)
		point->step = gradient[0] / point->inverse[0];
	for (int i = 0; i < nterms; i++)
		point->score = fmax(point->score, (double) (fabsl(gradient[i]) / size[i]));
	invert(point->inverse, nterms);
}

/* Returns the deviance of the intercept alone, found by bisection of its derivative, or without any term. */
static inline double
null_of(const Rows *data, bool intercept)
{
	Point	   *point = malloc(sizeof(Point));
	double		low = -3000;
	double		high = 3000;
	double		at = 0;
	long double deviance;

	for (int k = 0; k < 90 && intercept; k++)
	{
		at = low + (high - low) / 2;
		look_at(point, data, &at, 1, true, 0);
		if (point->step > 0)
			low = at;
		else
			high = at;
	}
	look_at(point, data, &at, intercept ? 1 : 0, intercept, 0);
	deviance = point->deviance;
	free(point);
	return (double) deviance;
}

/* Returns the largest error of vcov, in units of the two standard errors. */
static inline double
covariance_error(const GrGlmFit *fit, const Point *point)
{
	int			n = fit->nterms;
	double		worst = 0;

	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
		{
			long double scale = sqrtl(point->inverse[i * n + i] * point->inverse[j * n + j]);
			long double error = fabsl(fit->vcov[i * n + j] - point->inverse[i * n + j]) / scale;

			worst = error >= 0 ? fmax(worst, (double) error) : INFINITY;
		}
	return worst;
}

/*
 * Checks a fit against its conditions in long double, and returns it. condition: factor by which the gradient, at
 * coefficients rounded to float8, may be less exact; the reference's inverse by its square.
 */
static inline Run
check_fit(const Rows *data, GrGlmOptions options, double condition, const char *name)
{
	GrRowTotals totals;
	Run			run = fit_weighted(data, options, &totals);
	Point	   *point = malloc(sizeof(Point));
	double		null = null_of(data, options.intercept);
	double		worst;

	if (!check(regular(&run), "%s: converges, %d passes", name, run.npasses))
	{
		free(point);
		return run;
	}
	look_at(point, data, run.fit->coef, run.fit->nterms, options.intercept, options.l2);
	worst = covariance_error(run.fit, point);
	check(point->score < 2e-14 * condition, "%s: gradient, error %.2g", name, point->score);
	check(worst < 1e-12 * condition * condition, "%s: covariances, error %.2g", name, worst);
	check(relative_error(run.fit->deviance, (double) point->deviance) < 1e-14, "%s: deviance, error %.2g", name,
		  relative_error(run.fit->deviance, (double) point->deviance));
	check(relative_error(run.fit->null_deviance, null) < 1e-13, "%s: null deviance %.17g, error %.2g", name,
		  run.fit->null_deviance, relative_error(run.fit->null_deviance, null));
	free(point);
	return run;
}

/* Makes integer weights: trials whose shares are multiples of 1/weight, or frequencies of rows of 0 and 1. */
static inline Rows
counted_rows(int p, int64_t nrows, bool offset, bool shares)
{
	GrRowShape	shape = {p, false, true, offset, false, false};
	Rows		data = random_rows_of(shape, nrows, 0);

	make_binary(&data);
	for (int64_t r = 0; r < nrows; r++)
	{
		double	   *row = weighted_row(&data, r);
		double		weight = whole(1, 6);

		row[gr_weight_at(shape)] = weight;
		if (shares)
			row[gr_response_at(shape)] = whole(0, (int) weight) / weight;
	}
	return data;
}

/* Expands the rows to one per trial, or one per count. */
static inline Rows
spelt_out(const Rows *data)
{
	GrRowShape	shape = {data->shape.nfeatures, false, false, data->shape.offset, false, false};
	Rows		rows = rows_new(shape, 6 * data->nrows);

	rows.nrows = 0;
	for (int64_t r = 0; r < data->nrows; r++)
	{
		const double *row = weighted_row(data, r);
		double		weight = gr_row_weight(row, data->shape);
		double		nones = nearbyint(weight * gr_row_response(row, data->shape));

		for (double k = 0; k < weight; k++)
		{
			double	   *to = weighted_row(&rows, rows.nrows++);

			memcpy(to, row, (size_t) shape.nfeatures * sizeof(double));
			to[gr_response_at(shape)] = k < nones ? 1 : 0;
			if (shape.offset)
				to[gr_offset_at(shape)] = gr_row_offset(row, data->shape);
		}
	}
	return rows;
}

static inline void
test_spelt_out(void)
{
	for (int k = 0; k < 4; k++)
	{
		Rows		data = counted_rows(4, 300, (k & 1) != 0, (k & 2) != 0);
		Rows		rows = spelt_out(&data);
		GrGlmOptions options = weighted_defaults();
		GrRowTotals totals;
		Run			one;
		Run			other;
		char		name[64];

		options.weighting = k & 2 ? GR_PRIOR_WEIGHTS : GR_FREQUENCIES;
		snprintf(name, sizeof(name), "%s%s", k & 2 ? "shares" : "frequencies", k & 1 ? " with offsets" : "");
		one = check_fit(&data, options, 1, name);
		other = fit_weighted(&rows, options, &totals);
		check(difference(one.fit, other.fit) < 1e-11, "%s: as of the rows spelt out, difference %.2g", name,
			  difference(one.fit, other.fit));
		check(one.fit->nrows == (k & 2 ? 300 : rows.nrows) && one.fit->df_residual == one.fit->nrows - 5,
			  "%s: counts", name);
		if ((k & 2) == 0)
			check(relative_error(one.fit->deviance, other.fit->deviance) < 1e-13 &&
				  relative_error(one.fit->null_deviance, other.fit->null_deviance) < 1e-13, "%s: deviances", name);
		else
			check(relative_error(one.fit->null_deviance - one.fit->deviance,
								 other.fit->null_deviance - other.fit->deviance) < 1e-11,
				  "%s: deviances' difference", name);
		run_free(&one);
		run_free(&other);
		rows_free(&data);
		rows_free(&rows);
	}
}

/* Checks that an offset that all rows share goes into the intercept, however large it is. */
static inline void
test_far_offsets(void)
{
	static const double offsets[] = {0, -37, 300, -470, 1000};

	for (int weight = 0; weight < 2; weight++)
	{
		GrRowShape	shape = {3, false, weight != 0, true, false, false};
		Rows		data = random_rows_of(shape, 400, 1);
		Run			first = {0};

		for (size_t k = 0; k < LENGTH(offsets); k++)
		{
			Rows		moved = rows_as(&data, shape);
			char		name[64];
			Run			run;

			for (int64_t r = 0; r < moved.nrows; r++)
				weighted_row(&moved, r)[gr_offset_at(shape)] += offsets[k];
			snprintf(name, sizeof(name), "offsets about %g%s", offsets[k], weight ? " with shares" : "");
			run = check_fit(&moved, weighted_defaults(), 1, name);
			if (k > 0)
			{
				check(fabs(run.fit->coef[0] + offsets[k] - first.fit->coef[0]) < 1e-12 * (1 + fabs(offsets[k])) &&
					  relative_error(run.fit->coef[1], first.fit->coef[1]) < 1e-11, "%s: the intercept has them", name);
				run_free(&run);
			}
			else
				first = run;
			rows_free(&moved);
		}
		run_free(&first);
		rows_free(&data);
	}
}

/* Checks offsets that are far apart, without an intercept, with a penalty, by other solvers, and a change of basis. */
static inline void
test_other_fits(void)
{
	for (int k = 0; k < 10; k++)
	{
		GrRowShape	shape = {4, false, k % 2 == 0, k % 4 != 0, false, false};
		Rows		data = random_rows_of(shape, 500, 1);
		GrGlmOptions options = weighted_defaults();
		double		spread = k == 1 || k == 2 ? 20 : 1;
		char		name[96];
		Run			run;

		for (int64_t r = 0; r < data.nrows; r++)
		{
			if (shape.offset)
				weighted_row(&data, r)[gr_offset_at(shape)] *= spread;
			/* nearly the same column */
			if (k >= 8)
				weighted_row(&data, r)[1] = weighted_row(&data, r)[0] + ldexp(whole(-1000, 1000), -28);
		}
		options.intercept = k != 3 && k != 4;
		options.l2 = k == 5 ? 2.5 : 0;
		options.solver = k == 6 ? GR_SOLVER_LBFGS : k == 7 ? GR_SOLVER_GD : GR_SOLVER_NEWTON;
		options.max_iter = k == 6 || k == 7 ? 2000 : 25;
		snprintf(name, sizeof(name), "fit %d%s, spread %g%s%s", k, shape_names(shape), spread,
				 options.intercept ? "" : ", no intercept", k == 6 ? ", L-BFGS" : k == 7 ? ", gradient descent" : "");
		run = check_fit(&data, options, k >= 8 ? 1000 : 1, name);
		if (k >= 8)
			check(run.changed, "%s: the rows were changed", name);
		run_free(&run);
		rows_free(&data);
	}
}

/*
 * Checks offsets far above 0 for half the rows and far below for the others, with responses that don't follow them:
 * Newton steps from between the two go much too far.
 */
static inline void
check_two_groups(bool weight, double far, int kind)
{
	GrRowShape	shape = {1, false, weight, true, false, false};
	Rows		data = random_rows_of(shape, 200, 0);
	GrRowTotals totals;
	char		name[64];
	double		null;
	Run			run;

	for (int64_t r = 0; r < data.nrows; r++)
	{
		double	   *row = weighted_row(&data, r);
		bool		above = r % 2 == 1;

		row[gr_offset_at(shape)] = (above ? far : -far) + 0.1 * uniform();
		if (!weight || r % 3 != 0)
			row[gr_response_at(shape)] = kind == 0 ? whole(0, 1) : kind == 1 ? r % 4 == 1 : above || r % 4 == 0;
	}
	snprintf(name, sizeof(name), "offsets of %g and %g, kind %d%s", -far, far, kind, weight ? ", shares" : "");
	run = fit_weighted(&data, weighted_defaults(), &totals);
	null = null_of(&data, true);
	check(relative_error(run.fit->null_deviance, null) < 1e-13, "%s: null deviance %.17g, error %.2g, %d passes", name,
		  run.fit->null_deviance, relative_error(run.fit->null_deviance, null), run.npasses);
	run_free(&run);
	rows_free(&data);
}

static inline void
test_two_groups(void)
{
	static const double fars[] = {5, 10, 15, 20, 30, 40, 100};

	for (size_t k = 0; k < 6 * LENGTH(fars); k++)
		check_two_groups(k % 2 == 0, fars[k / 6], (int) (k / 2 % 3));
}

static inline void
test_weighted_fits(void)
{
	test_spelt_out();
	test_far_offsets();
	test_two_groups();
	test_other_fits();
}

#endif							/* GPUREG_WEIGHTS_FITS_H */
