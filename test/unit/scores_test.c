/*
 * scores_test.c: tests the sums of clusters against float128, against passes, and in fits whose clusters are single
 * rows.
 */
#include "compute/glm/scores.h"

#include "compute/base/dd.h"
#include "gram_reference.h"
#include "logreg_driver.h"

#define P 3
#define T (P + 1)
#define NROWS 200
#define NSUMS (GR_SCORES_HEAD + 2 * T + T * (T + 1) / 2)

static const GrDistribution distributions[] = {
	{GR_GAUSSIAN, GR_IDENTITY, 0, 0}, {GR_BINOMIAL, GR_LOGIT, 0, 0}, {GR_BINOMIAL, GR_PROBIT, 0, 0},
	{GR_POISSON, GR_LOG, 0, 0},
	{GR_GAMMA, GR_LOG, 0, 0}, {GR_NEGATIVE_BINOMIAL, GR_LOG, 1.5, 0}
};

/* Makes rows with a weight and an offset, about a shift far from 0. */
static GrRowShape
weighted_shape(void)
{
	GrRowShape	shape = gr_plain_shape(P);

	shape.weight = shape.offset = true;
	return shape;
}

static double *
make_rows(GrFamily family, const double *shift)
{
	double	   *rows = malloc(NROWS * (P + 3) * sizeof(double));

	for (int r = 0; r < NROWS; r++)
	{
		double	   *row = rows + r * (P + 3);

		for (int j = 0; j < P; j++)
			row[j] = shift[j] + floor(1024 * uniform()) / 1024;
		row[P] = family == GR_GAUSSIAN ? 1e6 + uniform() : family == GR_BINOMIAL ? r % 2 : 1 + r % 5;
		row[P + 1] = 0.5 + r % 3;
		row[P + 2] = 0.25 * uniform();
	}
	return rows;
}

static const double shift[P] = {1048576, 0, -64};
static const double no_lo[T];

static GrScores
scores_of(GrDistribution distribution, const double *beta, const double *beta_lo, double *terms)
{
	return (GrScores) {weighted_shape(), distribution, beta, beta_lo, shift, true, terms};
}

static void
add_rows(const GrScores *scores, const double *rows, int from, int to, double *sums)
{
	memset(sums, 0, NSUMS * sizeof(double));
	for (int r = from; r < to; r++)
		gr_scores_add(scores, rows + r * (P + 3), sums);
}

/* Checks that the gradient and the Hessian are those of a FAST pass. */
static void
test_against_pass(GrDistribution distribution)
{
	double		beta[T] = {distribution.family == GR_GAUSSIAN ? 1e6 : 0.125, 0.25, -0.5, 0.375};
	double		terms[T];
	double		sums[NSUMS];
	GrScores	scores = scores_of(distribution, beta, no_lo, terms);
	double	   *rows = make_rows(distribution.family, shift);
	GrPass		pass = {
		.kind = GR_PASS_FAST,.shape = weighted_shape(),.distribution = distribution,.beta = beta,.shift = shift
	};
	double	   *made = malloc(gr_pass_nsums(GR_PASS_FAST, P) * sizeof(double));
	void	   *scratch = aligned_alloc(64, (gr_pass_scratch_nbytes(GR_PASS_FAST, pass.shape) + 63) / 64 * 64);
	const double *gradient = made + GR_SUM_HEAD;
	double		worst = 0;

	add_rows(&scores, rows, 0, NROWS, sums);
	gr_pass_clear(GR_PASS_FAST, P, made);
	gr_pass_add(&pass, made, rows, NROWS, scratch);
	for (int j = 0; j < T; j++)
		worst = fmax(worst, relative_error(sums[GR_SCORES_HEAD + j] + sums[GR_SCORES_HEAD + T + j],
										   gradient[j] + gradient[T + j]));
	/* FAST's predictor is float8, and residuals of a response far from 0 have fewer digits */
	check(worst < 1e-9, "family %d, link %d: the gradient is a pass's, %g",
		  distribution.family, distribution.link, worst);
	worst = 0;
	for (int k = 0; k < T * (T + 1) / 2; k++)
		worst = fmax(worst, relative_error(sums[GR_SCORES_HEAD + 2 * T + k], gradient[2 * T + k]));
	check(worst < 1e-12, "family %d, link %d: the Hessian is a pass's, %g", distribution.family, distribution.link,
		  worst);
	free(rows);
	free(made);
	free(scratch);
}

/* Checks residuals of a millionth of the response, and digits of beta beyond float8. */
static void
test_against_float128(void)
{
	double		beta[T] = {1e6 + 0.1, 0.1, -0.3, 0.7};
	double		beta_lo[T] = {3e-11, 1e-18, -2e-18, 4e-18};
	double		terms[T];
	double		sums[NSUMS];
	GrScores	scores = scores_of((GrDistribution) {GR_GAUSSIAN, GR_IDENTITY, 0, 0}, beta, beta_lo, terms);
	double	   *rows = make_rows(GR_GAUSSIAN, shift);
	Quad	want[T] = {0};
	Quad	size[T] = {0};
	double		worst = 0;

	add_rows(&scores, rows, 0, NROWS, sums);
	for (int r = 0; r < NROWS; r++)
	{
		const double *row = rows + r * (P + 3);
		Quad	residual = (Quad) row[P] - row[P + 2] - beta[0] - beta_lo[0];

		for (int j = 0; j < P; j++)
			residual -= ((Quad) beta[j + 1] + beta_lo[j + 1]) * ((Quad) row[j] - shift[j]);
		for (int j = 0; j < T; j++)
		{
			Quad	score = row[P + 1] * residual * (j == 0 ? 1 : (Quad) row[j - 1] - shift[j - 1]);

			want[j] += score;
			size[j] += score < 0 ? -score : score;
		}
	}
	for (int j = 0; j < T; j++)
		worst = fmax(worst, fabs((double) ((sums[GR_SCORES_HEAD + j] + (Quad) sums[GR_SCORES_HEAD + T + j] -
											want[j]) / size[j])));
	/* the last place of eta is 1e-10 */
	check(worst < 1e-15, "scores far from 0 are right, %g", worst);
	free(rows);
}

static void
test_merge(void)
{
	double		beta[T] = {0.125, 0.25, -0.5, 0.375};
	double		terms[T];
	double		all[NSUMS];
	double		part[NSUMS];
	double		rest[NSUMS];
	GrScores	scores = scores_of((GrDistribution) {GR_POISSON, GR_LOG, 0, 0}, beta, no_lo, terms);
	double	   *rows = make_rows(GR_POISSON, shift);
	double		worst = 0;

	add_rows(&scores, rows, 0, NROWS, all);
	add_rows(&scores, rows, 0, 70, part);
	add_rows(&scores, rows, 70, NROWS, rest);
	gr_scores_merge(P, true, part, rest);
	for (int j = GR_SCORES_HEAD; j < GR_SCORES_HEAD + T; j++)
		worst = fmax(worst, relative_error(part[j] + part[j + T], all[j] + all[j + T]));
	worst = fmax(worst, relative_error(part[0] + part[1], all[0] + all[1]));
	check(worst < 1e-15, "parts add up to the whole, %g", worst);
	worst = 0;
	/* FAST's sums are float8, and some entries cancel */
	for (int k = GR_SCORES_HEAD + 2 * T; k < NSUMS; k++)
		worst = fmax(worst, relative_error(part[k], all[k]));
	check(worst < 1e-12, "so do those of the Hessian, %g", worst);
	free(rows);
}

/*
 * Fits
 */

/* Keys rows so that every nth row begins a cluster. */
static bool
add_clusters(GrGlmFit *fit, const Data *data, int size, const GrHost *host, GrError *err)
{
	double		terms[T];
	GrScores	scores = {
		gr_plain_shape(P), fit->pass.distribution, fit->pass.beta, fit->pass_lo, fit->pass.shift, true, terms
	};
	double		sums[NSUMS] = {0};

	for (int64_t r = 0; r < data->nrows; r++)
	{
		gr_scores_add(&scores, row_of(data, r), sums);
		if ((r + 1) % size != 0)
			continue;
		if (!gr_glm_add_cluster(fit, sums, host, err))
			return false;
		memset(sums, 0, sizeof(sums));
	}
	return true;
}

/* Returns the covariances of a fit, malloced, or NULL if it failed. */
static double *
covariances(const Data *data, GrDistribution distribution, GrVcov vcov, int size)
{
	GrGlmOptions options = defaults(data);
	GrRowTotals totals = {0};
	GrHost		host = {0};
	GrError		err = {0};
	GrGlmFit *fit;
	GrGlmWant want;
	void	   *memory;
	size_t		exact = gr_pass_scratch_nbytes(GR_PASS_EXACT, gr_plain_shape(P));
	size_t		fast = gr_pass_scratch_nbytes(GR_PASS_FAST, gr_plain_shape(P));
	void	   *scratch = aligned_alloc(64, (exact + fast + 63) / 64 * 64);
	double	   *result = malloc(T * T * sizeof(double));

	gr_totals_add(&totals, data->rows, data->nrows, gr_plain_shape(P), (GrRowRules) {distribution.family, 0, 0});
	options.distribution = distribution;
	options.totals = &totals;
	options.can_change = false;
	options.vcov = vcov;
	options.ncluster_columns = size > 0 ? 1 : 0;
	memory = malloc(gr_glm_nbytes(&options));
	fit = gr_glm_begin(memory, &options);
	while ((want = gr_glm_next(fit)) != GR_GLM_DONE)
	{
		if (want == GR_GLM_CLUSTERS && !add_clusters(fit, data, size, &host, &err))
			break;
		if (want == GR_GLM_PASS)
			gr_pass_add(&fit->pass, fit->sums, data->rows, data->nrows, scratch);
		if (!gr_glm_advance(fit, &host, &err))
			break;
	}
	memcpy(result, fit->vcov, T * T * sizeof(double));
	free(memory);
	free(scratch);
	return result;
}

static void
test_single_rows(GrDistribution distribution)
{
	static const GrVcov pairs[][2] = {{GR_VCOV_CR0, GR_VCOV_HC0}, {GR_VCOV_CR2, GR_VCOV_HC2}};
	Data		data = random_data(P, NROWS, false);

	for (int k = 0; k < COUNT(pairs); k++)
	{
		double	   *clustered = covariances(&data, distribution, pairs[k][0], 1);
		double	   *plain = covariances(&data, distribution, pairs[k][1], 0);
		double		worst = 0;

		for (int i = 0; i < T; i++)
			for (int j = 0; j < T; j++)
				worst = fmax(worst, fabs(clustered[i * T + j] - plain[i * T + j]) /
							 sqrt(plain[i * T + i] * plain[j * T + j]));
		check(worst < 1e-12, "family %d: %s of single rows is %s, %g", distribution.family, gr_vcov_name(pairs[k][0]),
			  gr_vcov_name(pairs[k][1]), worst);
		free(clustered);
		free(plain);
	}
	data_free(&data);
}

int
main(void)
{
	srandom(2026);
	for (int k = 0; k < COUNT(distributions); k++)
		test_against_pass(distributions[k]);
	test_against_float128();
	test_merge();
	test_single_rows(distributions[0]);
	test_single_rows(distributions[1]);
	test_single_rows(distributions[3]);
	return unit_done();
}
