/*
 * sandwich.c: the phases of a fit that make a sandwich estimate of its covariances, from one pass over the scores of
 * rows or from the clusters' sums of scores; see vcov.h.
 */
#include "compute/glm/sandwich.h"

#include <math.h>
#include <string.h>

#include "compute/base/dd.h"
#include "compute/glm/finish.h"
#include "compute/glm/phases.h"
#include "compute/glm/scores.h"
#include "compute/linalg/congruence.h"
#include "compute/linalg/eigen.h"

/* An eigenvalue of a cluster's hat matrix nearer to 1 than this counts as 1: there is no residual in that direction. */
#define HAT_ROUNDING 1e-11

/* Bounds of root sums of squares of scores; outside, their squares lose digits or float8's range. */
#define LEAST_ROOT 1e-145
#define MOST_ROOT 1e145

/* Squares of scores that cancel to less than this share are rounding error. */
#define NEARLY_ZERO 1e-24

/* A standard error below this has a square below DBL_MIN. */
#define LEAST_DEVIATION 0x1p-510

static const char *const names[] = {"iid", "HC0", "HC1", "HC2", "HC3", "CR0", "CR1", "CR2"};

const char *
gr_vcov_name(GrVcov vcov)
{
	return names[vcov];
}

static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char) (c - 'A' + 'a') : c;
}

/* True if the names differ only in case. */
static bool
same_name(const char *a, const char *b)
{
	while (*a != '\0' && lower(*a) == lower(*b))
		a++, b++;
	return *a == *b;
}

bool
gr_vcov_named(const char *name, GrVcov *vcov)
{
	for (int k = 0; k < GR_NVCOVS; k++)
	{
		if (!same_name(name, names[k]))
			continue;
		*vcov = (GrVcov) k;
		return true;
	}
	return false;
}

/*
 * Computes the factor: row k is the part of term k that the terms before it do not explain, over its standard
 * deviation.
 */
bool
gr_sandwich_factor(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;
	int			first = state->first;
	GrPoll		poll = {.host = host};
	GrNormalFit solved = {
		.nterms = fit->nterms,.aliased = state->frozen,.coef = state->solution,.pivot = state->pivot,
		.skip = 1 + first,.tolerance = GR_FROZEN_TOLERANCE,.max_rank = gr_fit_max_rank(fit),.rows = GR_ROWS_PASS
	};
	double	   *coef = state->solution;

	memset(state->factor, 0, (size_t) gr_triangle(state->nfull) * sizeof(double));
	memcpy(state->frozen, state->aliased, (size_t) fit->nterms * sizeof(bool));
	if (!gr_normal_solve(gr_dd_from(gr_fit_triangle(fit), 0), state->workspace, &solved, host, err))
		return false;
	for (int k = 0; k < fit->nterms; k++)
	{
		double	   *row = state->factor + gr_at(k + first, first);
		double		deviation = sqrt(state->pivot[k] * gr_fit_hi(fit)[gr_at(k + first + 1, k + first + 1)]);

		if (state->frozen[k])
			continue;
		if (!gr_normal_residual(state->workspace, fit->nterms, k, coef, &poll))
			return gr_fail(err, GR_CANCELED, 0, "leverages");
		for (int j = 0; j <= k; j++)
			row[j] = coef[j] / coef[k] / deviation;
	}
	return true;
}

static bool
fail_canceled(GrError *err)
{
	return gr_fail(err, GR_CANCELED, 0, "covariance matrix");
}

/*
 * The middle
 */

/* Returns the measure of the pass of scores. */
static GrMeasure
measure_of(GrVcov vcov)
{
	return vcov == GR_VCOV_HC2 ? GR_MEASURE_SCORES_HC2 : vcov == GR_VCOV_HC3 ? GR_MEASURE_SCORES_HC3 :
		GR_MEASURE_SCORES;
}

/* True if the pass over clusters also sums degrees of freedom, which the third way (both columns) does not have. */
static bool
wants_df(const GrGlmFit *fit)
{
	return fit->df != NULL && fit->way < 2;
}

/* Requests the sums of clusters of way fit->way. */
static bool
ask_for_clusters(GrGlmFit *fit)
{
	GrGlmState *state = fit->state;

	gr_fit_ask(fit, GR_PHASE_CLUSTERS, GR_PASS_EXACT);
	fit->pass.measure = GR_MEASURE_STEP;
	fit->pass_lo = state->theta_lo;
	fit->nclusters_met = 0;
	state->pearson_hi = state->pearson_lo = 0;
	state->npending = 0;
	gr_gram_clear(&state->middle);
	if (wants_df(fit))
		gr_satterthwaite_begin(&state->df, state->df_first);
	return true;
}

/*
 * Sets df.lines to the coefficients' rows of A C'. Terms that are left out have rows of zeros. Returns false if
 * canceled.
 */
static bool
fill_lines(GrGlmFit *fit, const GrHost *host)
{
	GrGlmState *state = fit->state;
	size_t		n = (size_t) fit->nterms;
	double	   *lines = state->df.lines;

	memset(lines, 0, n * n * sizeof(double));
	for (size_t i = 0; i < n; i++)
		for (size_t k = i; k < n; k++)
			if (!state->frozen[i] && !state->frozen[k])
				lines[i * n + k] = state->factor[gr_at((int64_t) k + state->first, (int64_t) i + state->first)];
	for (size_t k = 0; k < n; k++)
		fit->df[k] = NAN;
	return gr_rows_to_model(fit, lines, host);
}

/*
 * Sets state->inverse, by which variances are judged, to the inverse's diagonal in the reported terms, and fit->bread
 * to the inverse. fit->vcov stays.
 */
static bool
measure_inverse(GrGlmFit *fit, const GrHost *host)
{
	size_t		n = (size_t) fit->nterms;
	double	   *saved = fit->state->workspace;

	memcpy(saved, fit->vcov, n * n * sizeof(double));
	if (!gr_vcov_to_model(fit, false, host))
		return false;
	for (size_t k = 0; k < n; k++)
		fit->state->inverse[k] = fit->vcov[k * n + k];
	for (size_t i = 0; i < n && fit->bread != NULL; i++)
		for (size_t j = 0; j <= i; j++)
			fit->bread[gr_packed((int64_t) i, (int64_t) j)] = fit->vcov[i * n + j];
	fit->have_bread = fit->bread != NULL;
	memcpy(fit->vcov, saved, n * n * sizeof(double));
	return true;
}

/*
 * True if the middle keeps 12 digits though its products are summed in float8: no term is nearly collinear, and the
 * covariances are those of the reported terms, so that no digits are lost in moving them.
 */
static bool
can_be_coarse(const GrGlmFit *fit)
{
	const GrGlmState *state = fit->state;
	bool		can = state->options.can_be_coarse && state->nfull >= GR_COARSE_TERMS_MIN && fit->basis == NULL &&
		state->options.moves == NULL && state->nfaces == 0;

	for (int j = 1; j < state->nfull; j++)
		can &= state->shift[j - 1] == 0;
	for (int k = 0; k < fit->nterms; k++)
		can &= !state->frozen[k] && state->pivot[k] > GR_COARSE_PIVOT_MIN;
	return can;
}

/* Enters SCORES with the inverse in fit->vcov, from the sums of the last pass. */
bool
gr_sandwich_enter(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;
	GrVcov		vcov = state->options.vcov;

	if ((gr_vcov_has_leverages(vcov) || state->options.want_factor) && !gr_sandwich_factor(fit, host, err))
		return false;
	if (state->options.want_factor)
	{
		state->have_factor = true;
		/* keep theta_lo, which the estimate overwrites; delta is free, as there is no further step */
		memcpy(state->delta, state->theta_lo, (size_t) state->nfull * sizeof(double));
		return gr_finish(fit, host, err);
	}
	if (!measure_inverse(fit, host) || (fit->df != NULL && !fill_lines(fit, host)))
		return fail_canceled(err);
	if (gr_vcov_is_clustered(vcov))
	{
		fit->way = 0;
		state->df_first = 0;
		memset(state->total, 0, 2 * (size_t) gr_triangle(fit->nterms) * sizeof(double));
		return ask_for_clusters(fit);
	}
	gr_fit_ask(fit, GR_PHASE_SCORES, GR_PASS_EXACT);
	fit->pass.measure = measure_of(vcov);
	fit->pass.factor = state->factor;
	fit->pass.coarse = fit->pass.measure == GR_MEASURE_SCORES && can_be_coarse(fit);
	return true;
}

/* Adds the scores of the pending clusters to the middle. Returns false if canceled. */
static bool
add_pending(GrGlmFit *fit, const GrHost *host)
{
	GrGlmState *state = fit->state;
	GrPoll		poll = {.host = host};
	int			n = state->npending;

	state->npending = 0;
	return gr_gram_add_polling(&state->middle, state->scores, n, gr_plain_shape(fit->nterms - 1), state->panels,
							   gr_gram_lanes(fit->nterms), &poll);
}

/* Computes y = C x, or y = C' x if transposed. x, y: nterms. */
static void
multiply_factor(const GrGlmFit *fit, const double *x, double *y, bool transposed)
{
	const GrGlmState *state = fit->state;
	int			first = state->first;

	memset(y, 0, (size_t) fit->nterms * sizeof(double));
	for (int i = 0; i < fit->nterms; i++)
	{
		const double *row = state->factor + gr_at(i + first, first);

		for (int j = 0; j <= i; j++)
			y[transposed ? j : i] += row[j] * x[transposed ? i : j];
	}
}

/* Computes K = C H C', n x n, from the packed Hessian of a cluster. work: n x n. */
static void
cluster_hat(const GrGlmFit *fit, const double *hessian, double *hat, double *work)
{
	int			n = fit->nterms;
	int			first = fit->state->first;
	double	   *column = fit->state->solution;

	for (int j = 0; j < n; j++)
	{
		for (int i = 0; i < n; i++)
			column[i] = hessian[i >= j ? gr_at(i + first, j + first) : gr_at(j + first, i + first)];
		multiply_factor(fit, column, work + (size_t) j * n, false);
	}
	/* row j of work is column j of C H, so column i of work is row i of H C' */
	for (int i = 0; i < n; i++)
	{
		for (int j = 0; j < n; j++)
			column[j] = work[(size_t) j * n + i];
		multiply_factor(fit, column, hat + (size_t) i * n, false);
	}
}

/*
 * Computes K of a cluster and its eigenvectors in state->hat, and f(eigenvalues) in state->roots: the inverse square
 * root of 1 - K, and 0 where 1 - K is 0; see Pustejovsky and Tipton (2018). Returns false if canceled.
 */
static bool
solve_cluster(GrGlmFit *fit, const double *hessian, GrPoll *poll)
{
	GrGlmState *state = fit->state;
	size_t		n = (size_t) fit->nterms;

	cluster_hat(fit, hessian, state->hat, state->hat + n * n);
	if (!gr_eigen(state->hat, state->hat + n * n, fit->nterms, poll))
		return false;
	for (size_t k = 0; k < n; k++)
	{
		double		left = 1 - state->hat[k * n + k];

		state->roots[k] = left < HAT_ROUNDING ? 0 : 1 / sqrt(left);
	}
	return true;
}

/* Replaces scores s by CR2's f(K) C s, after solve_cluster(). The final multiplication by C' comes later. */
static void
adjust_scores(GrGlmFit *fit, double *scores)
{
	GrGlmState *state = fit->state;
	int			n = fit->nterms;
	const double *vectors = state->hat + (size_t) n * n;
	double	   *q = state->delta;

	multiply_factor(fit, scores, q, false);
	memset(scores, 0, (size_t) n * sizeof(double));
	for (int k = 0; k < n; k++)
	{
		const double *vector = vectors + (size_t) k * n;
		double		part = 0;

		for (int i = 0; i < n; i++)
			part += vector[i] * q[i];
		part *= state->roots[k];
		for (int i = 0; i < n; i++)
			scores[i] += part * vector[i];
	}
}

GrVcov
gr_fit_vcov(const GrGlmFit *fit)
{
	return fit->state->options.vcov;
}

bool
gr_glm_add_cluster(GrGlmFit *fit, const double *sums, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;
	int			n = fit->nterms;
	GrPoll		poll = {.host = host};
	const double *hi = sums + GR_SCORES_HEAD;
	const double *lo = hi + state->nfull;
	double	   *scores = state->scores + (size_t) state->npending * (size_t) n;
	GrDD		pearson = {state->pearson_hi, state->pearson_lo};

	for (int k = 0; k < n; k++)
		scores[k] = state->frozen[k] ? 0 : hi[k + state->first] + lo[k + state->first];
	if (state->options.vcov == GR_VCOV_CR2)
	{
		if (!solve_cluster(fit, lo + state->nfull, &poll) ||
			(wants_df(fit) && !gr_satterthwaite_add(&state->df, state->hat, n + 1, state->hat + (size_t) n * n,
													state->roots, &poll)))
			return fail_canceled(err);
		adjust_scores(fit, scores);
	}
	if (++state->npending == GR_GRAM_CHUNK_NROWS && !add_pending(fit, host))
		return fail_canceled(err);
	pearson = gr_dd_add(pearson, (GrDD) {sums[GR_SCORES_PEARSON_HI], sums[GR_SCORES_PEARSON_LO]});
	state->pearson_hi = pearson.hi;
	state->pearson_lo = pearson.lo;
	fit->nclusters_met++;
	return true;
}

void
gr_glm_take_clusters(GrGlmFit *fit, int64_t n, GrDDConstVector middle, GrDD pearson)
{
	GrGlmState *state = fit->state;

	for (int i = 0; i < fit->nterms; i++)
		for (int j = 0; j <= i; j++)
		{
			bool		out = state->frozen[i] || state->frozen[j];
			int64_t		from = gr_at(i + state->first, j + state->first);

			gr_gram_set(&state->middle, i + 1, j + 1, out ? gr_dd(0) : (GrDD) {middle.hi[from], middle.lo[from]});
		}
	state->pearson_hi = pearson.hi;
	state->pearson_lo = pearson.lo;
	fit->nclusters_met = n;
}

/*
 * Around the middle
 */

/* Sets fit->vcov to the matrix on the left of the middle: the inverse, or C'. Terms that are left out have zeros. */
static void
fill_bread(GrGlmFit *fit)
{
	const GrGlmState *state = fit->state;
	bool		by_factor = state->options.vcov == GR_VCOV_CR2;
	size_t		n = (size_t) fit->nterms;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n; k++)
		{
			double	   *entry = &fit->vcov[i * n + k];

			if (state->frozen[i] || state->frozen[k] || (by_factor && k < i))
				*entry = 0;
			else if (by_factor)
				*entry = state->factor[gr_at((int64_t) k + state->first, (int64_t) i + state->first)];
		}
}

/* Copies a packed lower triangle at the end of the array to the lower triangle of an n x n matrix at its beginning. */
static void
spread_triangle(double *matrix, const double *packed, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j <= i; j++)
			matrix[i * n + j] = packed[gr_at(i, j)];
}

/*
 * Sets fit->vcov and its low halves in state->triangle to A M A' factor, where A is the inverse in fit->vcov or C'.
 * middle: M, packed, from row and column `from` on. Its low halves matter because variances may cancel when terms are
 * shifted back. Returns false if canceled.
 */
static bool
surround(GrGlmFit *fit, GrDDConstVector middle, int from, double factor, const GrHost *host)
{
	GrGlmState *state = fit->state;
	int			n = fit->nterms;
	double	   *result_hi = state->workspace;
	double	   *result_lo = state->triangle + gr_triangle(n);
	GrPoll		poll = {.host = host};

	fill_bread(fit);
	if (!gr_congruence(&(GrCongruence) {
		.n = n,.a = fit->vcov,.middle = middle,.from = from,.factor = factor,.result = {result_hi, result_lo},
		.scratch = state->product,.max_lanes = GR_GRAM_LANES_MAX
	}, &poll))
		return false;
	spread_triangle(fit->vcov, result_hi, n);
	spread_triangle(state->triangle, result_lo, n);
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j <= i; j++)
		{
			if (state->frozen[i] || state->frozen[j])
				fit->vcov[i * n + j] = NAN;
			fit->vcov[j * n + i] = fit->vcov[i * n + j];
			state->triangle[j * n + i] = state->triangle[i * n + j];
		}
	return true;
}

/* Returns above / (rows - rank), the small-sample factor of CR1 and HC1, or NaN. */
static double
degrees_factor(const GrGlmFit *fit, double above)
{
	double		left = (double) fit->nrows - fit->rank;

	return left > 0 ? above / left : NAN;
}

/*
 * Checks that the squared scores x (y - mu) and the variances of a linear regression keep their digits in float8. Both
 * are estimated roughly, as if all residuals were equal. fit->vcov must still hold the inverse of the Hessian. middle:
 * packed triangle of the sums of squared scores, whose first skip rows are ignored. A variance that is zero but for
 * rounding passes; variance.h judges it. Fails with GR_OUT_OF_RANGE or GR_RESULT_OUT_OF_RANGE.
 */
static bool
scores_in_range(const GrGlmFit *fit, const double *middle, int skip, GrError *err)
{
	const GrGlmState *state = fit->state;
	GrDistribution distribution = state->options.distribution;
	double		residual = sqrt(fit->deviance / (double) fit->nrows);
	int64_t		response = gr_column_of_row(GR_ROWS_TERMS, state->nfull);

	if (!gr_is_linear(distribution) || residual == 0)
		return true;
	if (!isfinite(residual))
		return gr_fail(err, GR_OUT_OF_RANGE, response, "%s", "");
	for (int k = 0; k < fit->nterms; k++)
	{
		int			j = k + state->first;
		double		root = state->scale[j] * residual;
		double		deviation = fit->vcov[(size_t) k * (size_t) fit->nterms + (size_t) k] * root;

		if (state->frozen[k])
			continue;
		if (root < LEAST_ROOT || root > MOST_ROOT)
			return gr_fail(err, GR_OUT_OF_RANGE, j == 0 ? response : gr_column_of_row(GR_ROWS_TERMS, j), "%s", "");
		if ((deviation >= LEAST_DEVIATION && deviation <= 1 / LEAST_DEVIATION) ||
			middle[gr_at(k + skip, k + skip)] <= NEARLY_ZERO * root * root)
			continue;
		err->value = deviation;
		return gr_fail(err, GR_RESULT_OUT_OF_RANGE, gr_column_of_row(GR_ROWS_TERMS, j), "variance of the coefficient");
	}
	return true;
}

bool
gr_scores_take(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;
	double		factor = state->options.vcov == GR_VCOV_HC1 ? degrees_factor(fit, (double) fit->nrows) : 1;

	fit->nwithout_score = gr_count_of(fit->sums[GR_SUM_NWRONG]);
	if (fit->nwithout_score > 0)
		factor = NAN;
	if (state->lacks_deviance)
		fit->pearson = fit->deviance = fit->sums[GR_SUM_DEVIANCE_HI] + fit->sums[GR_SUM_DEVIANCE_LO];
	if (!scores_in_range(fit, gr_fit_hi(fit), 1 + state->first, err))
		return false;
	if (!surround(fit, gr_dd_from(gr_fit_triangle(fit), 0), 1 + state->first, factor, host))
		return fail_canceled(err);
	return gr_finish(fit, host, err);
}

/* Adds the middle of a way of clustering to the total. The last way, by both columns, is subtracted. */
static void
add_way(GrGlmFit *fit)
{
	GrGlmState *state = fit->state;
	int64_t		size = gr_triangle(fit->nterms);
	double		g = (double) fit->nclusters_met;
	double		factor = state->options.vcov == GR_VCOV_CR1 ? degrees_factor(fit, (double) fit->nrows - 1) : 1;

	if (state->options.vcov == GR_VCOV_CR1)
		factor *= g / (g - 1);
	if (state->lacks_deviance)
		fit->pearson = fit->deviance = state->pearson_hi + state->pearson_lo;
	if (fit->way < 2)
		fit->nclusters = fit->way == 0 ? fit->nclusters_met :
			fit->nclusters_met < fit->nclusters ? fit->nclusters_met : fit->nclusters;
	for (int i = 0; i < fit->nterms; i++)
		for (int j = 0; j <= i; j++)
		{
			int64_t		k = gr_at(i, j);
			GrDD		term = gr_gram_entry(&state->middle, i + 1, j + 1);
			GrDD		sum = {state->total[k], state->total[size + k]};

			sum = gr_dd_add(sum, gr_dd_mul_d(term, fit->way == 2 ? -factor : factor));
			state->total[k] = sum.hi;
			state->total[size + k] = sum.lo;
		}
}

/* Takes the degrees of freedom that a turn has summed. Of two ways the lesser counts. */
static void
take_df(GrGlmFit *fit)
{
	GrGlmState *state = fit->state;
	const GrSatterthwaite *s = &state->df;

	for (int k = 0; k < s->count; k++)
	{
		double		df = gr_satterthwaite_df(s, k);

		if (isnan(fit->df[s->first + k]) || df < fit->df[s->first + k])
			fit->df[s->first + k] = df;
	}
	state->df_first += s->count;
}

/* Takes the clusters of a turn of a way of clustering. */
bool
gr_clusters_take(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;

	if (!add_pending(fit, host))
		return fail_canceled(err);
	if (state->df_first == 0)
		add_way(fit);
	if (wants_df(fit))
	{
		take_df(fit);
		if (state->df_first < fit->nterms)
			return ask_for_clusters(fit);
	}
	state->df_first = 0;
	if (state->options.ncluster_columns == 2 && fit->way < 2)
	{
		fit->way++;
		return ask_for_clusters(fit);
	}
	if (!scores_in_range(fit, state->total, 0, err))
		return false;
	if (!surround(fit, (GrDDConstVector) {state->total, state->total + gr_triangle(fit->nterms)}, 0, 1, host))
		return fail_canceled(err);
	return gr_finish(fit, host, err);
}
