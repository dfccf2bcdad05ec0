/*
 * weights_test.c: tests rows with weights and offsets: their validation, their Gram matrices, and the contribution of
 * each row to a logistic regression. Passes and fits are in weights_passes.h and weights_fits.h.
 */
#include <stdlib.h>
#include <string.h>

#include "compute/dist/family.h"
#include "compute/glm/glm_row.h"
#include "compute/linalg/gram.h"
#include "gram_reference.h"
#include "unit.h"
#include "weights_fits.h"
#include "weights_tables.h"

/* 2^-98: a hundred roundings of 2^-105 or so */
#define GRAM_TOLERANCE 3.2e-30

/*
 * Gram matrices
 */

/* Returns the largest error of the triangle, relative to the sums of magnitudes; z is x less the shift, rounded. */
static double
gram_error(const Rows *data, int64_t nrows, const double *shift, const double *hi, const double *lo)
{
	int			q = gr_norder(data->shape.nfeatures);
	double	   *z = calloc((size_t) (nrows > 0 ? nrows : 1) * q, sizeof(double));
	double		worst = 0;

	for (int64_t r = 0; r < nrows; r++)
		for (int k = 0; k < q; k++)
			z[r * q + k] = k == 0 ? 1.0 : weighted_row(data, r)[k - 1] - (shift != NULL ? shift[k - 1] : 0.0);
	for (int i = 0; i < q; i++)
		for (int j = 0; j <= i; j++)
		{
			int64_t		at = gr_triangle(i) + j;
			Quad		sum = 0;
			double		size = 0;
			double		error;

			for (int64_t r = 0; r < nrows; r++)
			{
				double		weight = gr_row_weight(weighted_row(data, r), data->shape);

				sum += (Quad) weight * z[r * q + i] * z[r * q + j];
				size += fabs(weight * z[r * q + i] * z[r * q + j]);
			}
			error = fabs((double) ((Quad) hi[at] + lo[at] - sum));
			worst = error == 0 ? worst : error > 0 && size > 0 ? fmax(worst, error / size) : INFINITY;
		}
	free(z);
	return worst;
}

/*
 * Sums the first nrows rows in blocks of 97; the scratch memory starts as NaNs. The caller frees hi and lo, one block.
 */
static double *
gram_sum(const Rows *data, int64_t nrows, const double *shift, int lanes)
{
	int64_t		triangle = gr_triangle(gr_norder(data->shape.nfeatures));
	double	   *hi = calloc(2 * (size_t) triangle, sizeof(double));
	size_t		nbytes = gr_gram_scratch_nbytes(data->shape);
	double	   *scratch = malloc(nbytes);
	GrGram		gram = {.hi = hi,.lo = hi + triangle,.shift = (double *) shift,.nfeatures = data->shape.nfeatures};

	memset(scratch, 0xff, nbytes);
	for (int64_t at = 0; at < nrows; at += 97)
		gr_gram_add_lanes(&gram, weighted_row(data, at), nrows - at < 97 ? nrows - at : 97, data->shape, scratch,
						  lanes);
	free(scratch);
	return hi;
}

/* Checks the weighted rows' sums, that weights of 1 give the sums of rows without weights, and that all lanes agree. */
static void
check_gram(GrRowShape shape, bool shifted)
{
	static const int64_t counts[] = {0, 1, 63, 64, 65, 200};
	int			q = gr_norder(shape.nfeatures);
	size_t		nbytes = 2 * (size_t) gr_triangle(q) * sizeof(double);
	Rows		data = random_rows_of(shape, 200, 100);
	Rows		ones = rows_with_ones(&data);
	GrRowShape	bare = gr_plain_shape(shape.nfeatures);
	Rows		plain = rows_as(&data, bare);
	double	   *shift = shifted ? calloc((size_t) q, sizeof(double)) : NULL;
	double		worst = 0;
	bool		same = true;

	for (int k = 0; shifted && k < q - 1; k++)
		shift[k] = k % 3 == 1 ? 0.0 : uniform();
	for (size_t c = 0; c < LENGTH(counts); c++)
		for (int v = 0; v < 3; v++)
		{
			double	   *first = gram_sum(&data, counts[c], shift, 8);
			double	   *other = gram_sum(&data, counts[c], shift, all_lanes[v]);
			double	   *of_ones = gram_sum(&ones, counts[c], shift, all_lanes[v]);
			double	   *of_plain = gram_sum(&plain, counts[c], shift, all_lanes[v]);

			if (v == 0)
				worst = fmax(worst, gram_error(&data, counts[c], shift, first, first + gr_triangle(q)));
			same = same && memcmp(first, other, nbytes) == 0 && memcmp(of_ones, of_plain, nbytes) == 0;
			free(first);
			free(other);
			free(of_ones);
			free(of_plain);
		}
	check(worst < GRAM_TOLERANCE, "%d features%s, Gram matrix: error %.2g of the sum of magnitudes", shape.nfeatures,
		  shape_names(shape), worst);
	check(same, "%d features%s%s, Gram matrix: the same bits on all vectors, and without weights of 1", shape.nfeatures,
		  shape_names(shape), shifted ? ", shifted" : "");
	rows_free(&data);
	rows_free(&ones);
	rows_free(&plain);
	free(shift);
}

static void
test_gram(void)
{
	static const int features[] = {0, 1, 2, 6, 7, 8, 31, 64, 100};

	for (size_t f = 0; f < LENGTH(features); f++)
		for (int kind = 0; kind < 6; kind++)
		{
			GrRowShape	shape = {features[f], false, kind % 3 != 1, kind % 3 != 0, false, false};

			check_gram(shape, kind >= 3);
		}
}

/* Checks single rows whose weights are of all magnitudes that leave the products' halves in float8's range. */
static void
test_gram_magnitudes(void)
{
	GrRowShape	shape = {9, false, true, true, false, false};
	Rows		data = random_rows_of(shape, 400, 0);
	double		worst = 0;

	for (int64_t r = 0; r < data.nrows; r++)
	{
		Rows		one = {shape, 1, weighted_row(&data, r)};
		double	   *sums;

		one.rows[gr_weight_at(shape)] = (1.5 + 0.5 * uniform()) * pow(10, 280 * uniform());
		if (r < 2)
			one.rows[gr_weight_at(shape)] = r == 0 ? 0.0 : 0x1p-800;
		sums = gram_sum(&one, 1, NULL, all_lanes[r % 3]);
		worst = fmax(worst, gram_error(&one, 1, NULL, sums, sums + gr_triangle(gr_norder(9))));
		free(sums);
	}
	check(worst < 0x1p-104, "rows one by one, Gram matrix: error %.2g", worst);
	rows_free(&data);
}

/*
 * Validation of rows
 */

/* Makes valid rows of two features in this shape: y 1, weight 2, offset 3; single or not. */
static void *
valid_rows(GrRowShape shape, int64_t nrows)
{
	char	   *rows = malloc((size_t) nrows * gr_row_nbytes(shape));
	double		rest[3] = {1.0, shape.weight ? 2.0 : 3.0, 3.0};

	for (int64_t r = 0; r < nrows; r++)
	{
		char	   *row = rows + (size_t) r * gr_row_nbytes(shape);
		double		wide[2] = {0.5, 0.25};
		float		narrow[2] = {0.5f, 0.25f};
		size_t		nbytes = shape.single ? sizeof(narrow) : sizeof(wide);

		memcpy(row, shape.single ? (void *) narrow : (void *) wide, nbytes);
		memcpy(row + nbytes, rest, gr_row_nbytes(shape) - nbytes);
	}
	return rows;
}

/* Sets a number of a row. */
static void
put(void *rows, GrRowShape shape, int64_t r, int column, double value)
{
	char	   *row = (char *) rows + (size_t) r * gr_row_nbytes(shape);
	float		narrow = (float) value;

	if (!shape.single)
		memcpy(row + 8 * column, &value, sizeof(value));
	else if (column < shape.nfeatures)
		memcpy(row + 4 * column, &narrow, sizeof(narrow));
	else
		memcpy(row + 4 * shape.nfeatures + 8 * (column - shape.nfeatures), &value, sizeof(value));
}

/*
 * True if rows with this number in row 3 get this status; with 5 rows the last is worse, but the first bad one counts.
 */
static bool
judged(GrRowShape shape, GrRowRules rules, int column, double value, GrStatus status)
{
	bool		good = true;

	for (int64_t nrows = 4; nrows <= 5; nrows++)
	{
		void	   *rows = valid_rows(shape, nrows);
		GrError		err = {0};
		bool		valid;

		put(rows, shape, 3, column, value);
		if (nrows == 5 && status != GR_OK && status != GR_NOT_FINITE)
			put(rows, shape, 4, gr_response_at(shape), -7.0);
		valid = gr_rows_valid(rows, nrows, shape, rules, &err);
		good = good && valid == (status == GR_OK) &&
			(valid || (err.status == status && err.where == column && (status == GR_NOT_FINITE || err.value == value)));
		free(rows);
	}
	return good;
}

static void
test_valid(void)
{
	static const double shares[] = {0.5, 5e-324, 0.99999999999999989};
	static const double others[] = {-1.0, 2.0, -5e-324, 1.0000000000000002, 1e300};

	for (int k = 0; k < 32; k++)
	{
		GrRowShape	shape = {2, (k & 1) != 0, (k & 2) != 0, (k & 4) != 0, false, false};
		GrRowRules	rules = {k & 8 ? GR_BINOMIAL : GR_GAUSSIAN, k & 16 ? GR_FREQUENCIES : GR_PRIOR_WEIGHTS, 0};
		bool		trials = shape.weight && rules.weighting == GR_PRIOR_WEIGHTS;
		GrStatus	of_share = rules.family == GR_GAUSSIAN || trials ? GR_OK : GR_NOT_BINARY;
		GrStatus	of_other = rules.family == GR_GAUSSIAN ? GR_OK : trials ? GR_NOT_A_SHARE : GR_NOT_BINARY;
		GrStatus	negative = trials ? GR_NEGATIVE_WEIGHT : GR_NOT_A_COUNT;
		int			y = gr_response_at(shape);
		int			w = gr_weight_at(shape);
		bool		good = judged(shape, rules, y, 0.0, GR_OK) && judged(shape, rules, y, -0.0, GR_OK);

		for (int column = 0; column < gr_row_ncols(shape); column++)
			good = good && judged(shape, rules, column, NAN, GR_NOT_FINITE) &&
				judged(shape, rules, column, INFINITY, GR_NOT_FINITE) &&
				judged(shape, rules, column, -INFINITY, GR_NOT_FINITE);
		for (size_t i = 0; i < LENGTH(shares); i++)
			good = good && judged(shape, rules, y, shares[i], of_share);
		for (size_t i = 0; i < LENGTH(others); i++)
			good = good && judged(shape, rules, y, others[i], of_other);
		if (shape.weight)
			good = good && judged(shape, rules, w, 0.0, GR_OK) && judged(shape, rules, w, 1e15, GR_OK) &&
				judged(shape, rules, w, 0.5, trials ? GR_OK : GR_NOT_A_COUNT) &&
				judged(shape, rules, w, -1.0, negative) && judged(shape, rules, w, -5e-324, negative);
		if (shape.offset)
			good = good && judged(shape, rules, gr_offset_at(shape), -1e300, GR_OK);
		good = good && judged(shape, rules, 0, -3e38, GR_OK);
		check(good, "valid rows: %s%s, %s, %s", shape.single ? "single" : "float8", shape_names(shape),
			  rules.family == GR_GAUSSIAN ? "gaussian" : "binomial",
			  rules.weighting == GR_FREQUENCIES ? "frequencies" : "prior weights");
	}
}

/* Checks single rows at addresses that are multiples of 4 but not of 8; all bits behind the features must be used. */
static void
test_widen(void)
{
	static const int features[] = {1, 2, 5, 8};
	int			nwrong = 0;

	for (size_t f = 0; f < LENGTH(features); f++)
		for (int k = 0; k < 4; k++)
		{
			GrRowShape	shape = {features[f], true, (k & 1) != 0, (k & 2) != 0, false, false};
			GrRowShape	wide_shape = gr_wide_shape(shape);
			Rows		want = random_rows_of(wide_shape, 67, 10);
			char	   *single = malloc(67 * gr_row_nbytes(shape) + 4);
			double	   *wide = malloc(67 * gr_row_nbytes(wide_shape));

			for (int64_t r = 0; r < 67; r++)
				for (int c = 0; c < gr_row_ncols(shape); c++)
				{
					if (c < shape.nfeatures)
						weighted_row(&want, r)[c] = (float) weighted_row(&want, r)[c];
					put(single + 4, shape, r, c, weighted_row(&want, r)[c]);
				}
			gr_widen_rows(single + 4, 67, shape, wide);
			nwrong += memcmp(wide, want.rows, 67 * gr_row_nbytes(wide_shape)) != 0;
			free(single);
			free(wide);
			rows_free(&want);
		}
	check(nwrong == 0, "single rows with weights and offsets made float8: %d wrong", nwrong);
}

/*
 * Functions of one row, and of all rows
 */

static void
test_tables(void)
{
	double		parts = 0;
	double		shares = 0;
	double		nulls = 0;
	double		gaussian = 0;

	for (size_t k = 0; k < LENGTH(deviance_parts); k++)
		parts = fmax(parts, relative_error(gr_deviance_part(deviance_parts[k].x, deviance_parts[k].m,
															deviance_parts[k].x - deviance_parts[k].m),
										   deviance_parts[k].want));
	check(parts < 4e-15, "deviance parts: error %.2g", parts);
	for (size_t k = 0; k < LENGTH(share_deviances); k++)
		shares = fmax(shares, relative_error(gr_share_deviance(share_deviances[k].y, share_deviances[k].one,
															   share_deviances[k].zero), share_deviances[k].want));
	check(shares < 4e-15, "deviances of shares: error %.2g", shares);
	for (size_t k = 0; k < LENGTH(null_deviances); k++)
		nulls = fmax(nulls, relative_error(gr_binomial_null_deviance(null_deviances[k].weights, null_deviances[k].ones),
										   null_deviances[k].want));
	check(nulls < 1e-15, "null deviances: error %.2g", nulls);
	for (size_t k = 0; k < LENGTH(gaussian_likelihoods); k++)
	{
		double		deviance = gaussian_likelihoods[k].deviance;
		double		nobs = gaussian_likelihoods[k].nobs;
		double		want = gaussian_likelihoods[k].want;

		/* for deviances at which the logarithm and the constants all but cancel; relative to the number of rows */
		for (double constant = 0; constant <= 1e3; constant += 1e3)
			gaussian = fmax(gaussian, fabs(gr_log_likelihood(GR_GAUSSIAN, deviance, nobs, constant) - constant - want) /
							fmax(constant, fmax(fabs(want), nobs)));
	}
	check(gaussian < 1e-15, "gaussian log-likelihoods: error %.2g", gaussian);
	check(gr_log_likelihood(GR_GAUSSIAN, 0, 10, 0) == INFINITY, "the log-likelihood of a perfect fit is infinite");
	check(gr_log_likelihood(GR_BINOMIAL, 12.5, 10, 0.25) == -6.0, "binomial log-likelihood");
}

/*
 * Returns the largest error of one row's u, v and half deviance. v and the deviance are computed from y - mu, which is
 * as exact as the lesser of mu and 1 - mu.
 */
static double
logistic_error(const LogisticCase *rows, size_t n, bool far)
{
	double		worst = 0;

	for (size_t k = 0; k < n; k++)
	{
		LogisticCase c = rows[k];
		bool		share = c.y != 0.0 && c.y != 1.0;
		GrGlmRow row = gr_logistic_row(c.eta, c.y, c.weight);
		double		mu = gr_link_mean(GR_LOGIT, c.eta);
		double		near = share ? c.weight * (c.y < 0.5 ? mu : gr_link_mean(GR_LOGIT, -c.eta)) : 0;
		double		residual = fabs(c.v * c.u) / c.weight;
		double		slack = share ? near * residual / (mu * gr_link_mean(GR_LOGIT, -c.eta)) : 0;

		worst = fmax(worst, relative_error(row.u, c.u));
		worst = fmax(worst, fabs(row.v - c.v) / (fabs(c.v) + near / c.u));
		/* the deviance of a row on the right side stops shrinking, too */
		if (far)
			slack = 1e-180 * c.weight;
		worst = fmax(worst, fabs(row.half_deviance - c.half_deviance) / (fabs(c.half_deviance) + slack));
	}
	return worst;
}

static void
test_logistic_rows(void)
{
	double		worst = logistic_error(logistic_rows, LENGTH(logistic_rows), false);
	bool		same = true;

	check(worst < 1e-15, "logistic rows: error %.2g", worst);
	worst = logistic_error(far_rows, LENGTH(far_rows), true);
	check(worst < 1e-15, "logistic rows far out: error %.2g", worst);
	for (int k = 0; k < 1000; k++)
	{
		double		y = k % 2;
		double		one = 0.5 + 0.5 * uniform();

		same = same && gr_residual(y, one, 1 - one) == (y == 1 ? 1 - one : -one) &&
			gr_margin(one, y) == (y == 1 ? one : -one);
	}
	check(same, "residuals and margins of 0 and 1");
	check(gr_margin(2.0, 0.25) == -2.0 && gr_margin(-2.0, 0.75) == -2.0, "a share has trials on the wrong side");
	for (int k = 0; k < 100; k++)
	{
		double		weight = pow(10, 5 * uniform());
		double		y = 0.5 + 0.5 * uniform();
		double		offset = 300 * uniform();
		GrGlmRow row = gr_linear_row(offset, y, weight);

		same = same && relative_error(row.u * row.u, weight / 4) < 1e-15 && row.half_deviance == 0 &&
			fabs(row.u * row.v - weight * (y - 0.5 - offset / 4)) < 1e-15 * weight * (1 + fabs(offset));
	}
	check(same, "linear rows");
}

/* Checks logarithms, whose error is absolute near 0, as the log-likelihood that they are added to isn't near 0. */
static void
test_saturated(void)
{
	double		worst = 0;
	GrRowTotals all = {0};
	Quad		sum = 0;

	for (size_t k = 0; k < LENGTH(saturated); k++)
		for (int single = 0; single < 2; single++)
		{
			GrRowShape	shape = {1, single != 0, true, k % 2 == 0, false, false};
			void	   *rows = valid_rows(shape, 1);
			GrRowTotals totals = {0};
			double		error;

			put(rows, shape, 0, 1, saturated[k].y);
			put(rows, shape, 0, 2, saturated[k].n);
			gr_totals_add(&totals, rows, 1, shape, (GrRowRules) {GR_BINOMIAL, GR_PRIOR_WEIGHTS, 0});
			error = fabs(totals.log_constant + totals.log_constant_lo - saturated[k].want) /
				fmax(1.0, fabs(saturated[k].want));
			if (!(error < 4e-14))
				printf("# share %.17g of %.17g trials: %.17g, not %.17g\n", saturated[k].y, saturated[k].n,
					   totals.log_constant, saturated[k].want);
			worst = error <= worst ? worst : error;
			if (totals.weights != saturated[k].n || totals.ones != saturated[k].n * saturated[k].y ||
				totals.nshares != 1)
				worst = INFINITY;
			gr_totals_merge(&all, &totals);
			sum += totals.log_constant;
			free(rows);
		}
	check(worst < 4e-14, "log-likelihoods of shares' own means: error %.2g", worst);
	check(fabs((double) ((Quad) all.log_constant + all.log_constant_lo - sum)) < 1e-28 * fabs((double) sum) &&
		  all.nshares == 2 * LENGTH(saturated), "totals merge");
}

static void
test_totals(void)
{
	GrRowShape	shape = {3, false, true, true, false, false};
	Rows		data = random_rows_of(shape, 500, 6);
	GrRowTotals totals[4] = {{0}};
	GrRowTotals counts = {0};
	GrRowTotals rest = {0};
	Quad		logs = 0;
	Quad		losses = 0;
	double		weights = 0;

	for (int64_t r = 0; r < 500; r++)
	{
		logs += 0.5 * log(gr_row_weight(weighted_row(&data, r), shape));
		weights += gr_row_weight(weighted_row(&data, r), shape);
	}
	for (int k = 0; k < 4; k++)
		gr_totals_add(&totals[k], data.rows, 500, shape, (GrRowRules) {k % 2 == 0 ? GR_GAUSSIAN : GR_BINOMIAL,
																	   k < 2 ? GR_PRIOR_WEIGHTS : GR_FREQUENCIES, 0});
	check(fabs((double) (totals[0].log_constant - logs + totals[0].log_constant_lo)) < 1e-25,
		  "gaussian totals: half the logarithms of weights");
	check(totals[2].log_constant == 0 && totals[3].log_constant == 0 && totals[2].weights == weights &&
		  totals[0].weights == weights, "frequencies add nothing to the log-likelihood");
	for (int64_t r = 0; r < 500; r++)
	{
		double		y = (double) (r * r % 701);

		put(data.rows, shape, r, 3, y);
		losses += (Quad) gr_row_weight(weighted_row(&data, r), shape) * (y > 0 ? y * logl(y) - y : 0);
	}
	gr_totals_add(&counts, data.rows, 200, shape, (GrRowRules) {GR_POISSON, GR_PRIOR_WEIGHTS, 0});
	gr_totals_add(&rest, weighted_row(&data, 200), 300, shape, (GrRowRules) {GR_POISSON, GR_PRIOR_WEIGHTS, 0});
	gr_totals_merge(&counts, &rest);
	check(fabs((double) (counts.losses / losses - 1)) < 1e-14 && totals[0].losses == 0 && totals[1].losses == 0,
		  "losses of counts");
	gr_totals_add(&totals[0], data.rows, 0, shape, (GrRowRules) {GR_GAUSSIAN, GR_PRIOR_WEIGHTS, 0});
	check(totals[0].weights == weights, "no rows add nothing");
	rows_free(&data);
}

/* Checks that a coarse pass has all sums of an exact one, up to the last digits of the products of terms. */
static void
test_coarse_passes(void)
{
	static const GrDistribution distributions[] = {GR_LOGISTIC, {GR_POISSON, GR_LOG, 0, 0}};

	for (int k = 0; k < 8; k++)
	{
		GrRowShape	shape = {GR_COARSE_TERMS_MIN + 7 * (k % 2), false, (k & 2) != 0, (k & 4) != 0, false, false};
		Rows		data = random_rows_of(shape, 601, 3);
		int			t = gr_nterms(shape.nfeatures);
		double	   *beta = calloc((size_t) t, sizeof(double));
		double	   *shift = calloc((size_t) t, sizeof(double));
		double		worst = 0;
		double		border = 0;

		for (int j = 0; j < t; j++)
		{
			beta[j] = 0.01 * uniform();
			shift[j] = 0.5 * uniform();
		}
		for (int d = 0; d < 4; d++)
		{
			GrPass		pass = {
				.kind = GR_PASS_EXACT,.shape = shape,.distribution = distributions[d / 2],.beta = beta,
				.shift = shift,.linear = d % 2 == 1
			};
			double	   *exact = run_weighted(&pass, &data, data.nrows, 300, 8);
			double	   *coarse;
			const double *a = exact + GR_SUM_HEAD;

			pass.measure = GR_MEASURE_COARSE_STEP;
			coarse = run_weighted(&pass, &data, data.nrows, 300, 8);
			for (int h = 0; h < GR_SUM_HEAD; h++)
				border = fmax(border, relative_error(coarse[h], exact[h]));
			for (int i = 0; i < t + 2; i++)
				for (int j = 0; j <= i; j++)
				{
					double		scale = sqrt(a[gr_triangle(i + 1) - 1] * a[gr_triangle(j + 1) - 1]);
					double		error = fabs(coarse[GR_SUM_HEAD + gr_triangle(i) + j] - a[gr_triangle(i) + j]) /
						scale;

					*(j == 0 || i == t + 1 ? &border : &worst) = fmax(j == 0 || i == t + 1 ? border : worst, error);
				}
			free(exact);
			free(coarse);
		}
		check(worst < 1e-14 && worst > 0 && border < 3e-16, "coarse, %d features%s: products %.2g, all else %.2g",
			  shape.nfeatures, shape_names(shape), worst, border);
		rows_free(&data);
		free(beta);
		free(shift);
	}
}

int
main(void)
{
	srandom(20260301);
	test_gram();
	test_gram_magnitudes();
	test_valid();
	test_widen();
	test_tables();
	test_logistic_rows();
	test_saturated();
	test_totals();
	test_weighted_passes();
	test_weighted_fits();
	test_coarse_passes();
	return unit_done();
}
