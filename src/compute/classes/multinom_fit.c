/*
 * multinom_fit.c: Newton's method for a multinomial logistic regression; see multinom_fit.h.
 *
 * Parameters are numbered by class and term: j t + a stands for term a, from 0, of class j + 1.
 */
#include "compute/classes/multinom_fit.h"

#include <math.h>
#include <string.h>

#include "compute/classes/classes_start.h"
#include "compute/linalg/normal.h"

/* Length of a step after which an exact pass gives the last one: its error is the length's square. */
#define LAST_LENGTH 1e-7

#define HALVINGS_MAX 40

/* A step is shorter by at least this factor unless estimates diverge; with separation the factor is exp(-1/2). */
#define SLOW 0.4

/* Rows whose differences of linear predictors are below this share of the largest one lie on the face. */
#define FACE_SHARE 1e-4

/* A face's largest difference: a step that separates moves linear predictors by about 1. */
#define FACE_LEAST 0.1

/* Terms that move predictors by less than this share of what the direction's largest term does have no part in it. */
#define TERM_SHARE 1e-3

/* Share of its diagonal entry below which a pivot counts as 0 once a direction separates: weights are float8. */
#define FACE_TOLERANCE 1e-12

typedef enum Phase
{
	START, NEWTON, FURTHEST, FACE, MIDDLE, CLUSTERS
} Phase;

struct GrMultinomState
{
	GrMultinomOptions options;
	Phase		phase;
	int			t;				/* terms of a predictor, the ones included */
	int			m;				/* parameters of all predictors */
	double	   *values;			/* responses of the classes that have rows */
	double	   *shift;
	double	   *spread;			/* t: root of the mean square of each shifted term */
	bool	   *aliased;		/* t */
	double	   *beta;			/* m: parameters of the last accepted pass */
	double	   *beta_lo;		/* m: what the last step leaves beside beta */
	double	   *next;			/* m: parameters of fit->pass */
	double	   *step;			/* m */
	double	   *faces;
	double	   *face_absolute;
	double		furthest;
	bool	   *left_out;		/* m */
	double	   *pivot;			/* m + 1 */
	GrDDVector	triangle;		/* information and gradient, packed, m + 1 rows */
	double	   *inverse;		/* m x m */
	double	   *inverse_low;	/* packed triangle */
	GrDD	   *covariance;		/* m x m: the inverse, then the sandwich; 0 for parameters that are left out */
	GrDD	   *middle;			/* m x m */
	GrDD	   *half;			/* m x m: scratch */
	void	   *workspace;
	double		objective;		/* penalised log-likelihood at beta */
	double		length;
	int			nslow;			/* steps in a row that were slow to shrink */
	int			nhalvings;
	bool		finite;			/* an information matrix at beta has been inverted */
};

static void
carve(const GrMultinomOptions *options, GrMultinomFit *fit, GrMultinomState *s, GrArena *arena)
{
	int64_t		t = gr_nterms(options->shape.nfeatures);
	int64_t		k = options->nclasses;
	int64_t		m = (k - 1) * t;
	GrMultinomPass widest = {.measure = GR_MULTINOM_STEP,.shape = options->shape,.nclasses = options->nclasses};
	GrMultinomPass first = {.measure = GR_MULTINOM_START,.shape = options->shape,.nclasses = options->nclasses};
	GrMultinomPass face = {.measure = GR_MULTINOM_FACE,.shape = options->shape,.nclasses = options->nclasses};
	size_t		nsums = gr_multinom_nsums(&widest);

	if (gr_multinom_nsums(&first) > nsums)
		nsums = gr_multinom_nsums(&first);
	if (gr_multinom_nsums(&face) > nsums)
		nsums = gr_multinom_nsums(&face);
	fit->sums = gr_carve(arena, nsums * sizeof(GrDD));
	fit->present = gr_carve_bools(arena, k);
	fit->weights = gr_carve_doubles(arena, k);
	fit->coef = gr_carve_doubles(arena, m);
	fit->vcov = gr_carve_doubles(arena, m * m);
	fit->separated = gr_carve_ints(arena, m);
	fit->apart = gr_carve_doubles(arena, k * k);
	s->values = gr_carve_doubles(arena, k);
	s->shift = gr_carve_doubles(arena, t);
	s->spread = gr_carve_doubles(arena, t);
	s->aliased = gr_carve_bools(arena, t);
	s->beta = gr_carve_doubles(arena, m);
	s->beta_lo = gr_carve_doubles(arena, m);
	s->next = gr_carve_doubles(arena, m);
	s->step = gr_carve_doubles(arena, m);
	s->faces = gr_carve_doubles(arena, GR_MULTINOM_FACES_MAX * m);
	s->face_absolute = gr_carve_doubles(arena, GR_MULTINOM_FACES_MAX + 1);
	s->left_out = gr_carve_bools(arena, m);
	s->pivot = gr_carve_doubles(arena, m + 1);
	s->triangle = gr_carve_dd(arena, gr_triangle(m + 1));
	s->inverse = gr_carve_doubles(arena, m * m);
	s->inverse_low = gr_carve_doubles(arena, gr_triangle(m));
	s->covariance = gr_carve(arena, (size_t) (m * m) * sizeof(GrDD));
	s->middle = gr_carve(arena, (size_t) (m * m) * sizeof(GrDD));
	s->half = gr_carve(arena, options->vcov == GR_VCOV_IID ? 0 : (size_t) (m * m) * sizeof(GrDD));
	s->workspace = gr_carve(arena, gr_normal_workspace_nbytes((int) (m > t ? m : t)));
}

size_t
gr_multinom_nbytes(const GrMultinomOptions *options)
{
	GrMultinomFit fit;
	GrMultinomState state;
	GrArena		arena = {NULL, 0};

	(void) gr_carve(&arena, sizeof(GrMultinomFit));
	(void) gr_carve(&arena, sizeof(GrMultinomState));
	carve(options, &fit, &state, &arena);
	return arena.used;
}

/* Asks for a pass at beta, or along a direction. */
static void
ask(GrMultinomFit *fit, Phase phase, GrMultinomMeasure measure, const double *beta)
{
	GrMultinomState *s = fit->state;

	s->phase = phase;
	fit->pass.measure = measure;
	fit->pass.beta = beta;
	memset(fit->sums, 0, gr_multinom_nsums(&fit->pass) * sizeof(GrDD));
}

GrMultinomFit *
gr_multinom_begin(void *memory, const GrMultinomOptions *options)
{
	GrArena		arena = {(char *) memory, 0};
	GrMultinomFit *fit = gr_carve(&arena, sizeof(GrMultinomFit));
	GrMultinomState *s = gr_carve(&arena, sizeof(GrMultinomState));

	memset(fit, 0, sizeof(*fit));
	memset(s, 0, sizeof(*s));
	carve(options, fit, s, &arena);
	fit->state = s;
	s->options = *options;
	s->t = gr_nterms(options->shape.nfeatures);
	s->m = (options->nclasses - 1) * s->t;
	memcpy(s->values, options->values, (size_t) options->nclasses * sizeof(double));
	memset(s->shift, 0, (size_t) s->t * sizeof(double));
	memset(s->next, 0, (size_t) s->m * sizeof(double));
	memset(s->beta_lo, 0, (size_t) s->m * sizeof(double));
	memset(fit->separated, 0, (size_t) s->m * sizeof(int));
	memset(fit->apart, 0, (size_t) options->nclasses * options->nclasses * sizeof(double));
	memset(s->middle, 0, (size_t) s->m * s->m * sizeof(GrDD));
	s->length = INFINITY;
	fit->pass = (GrMultinomPass) {
		.shape = options->shape,.nclasses = options->nclasses,.values = s->values,.shift = s->shift,
		.faces = s->faces,.face_absolute = s->face_absolute,.counts = options->counts,.exact = true
	};
	ask(fit, START, GR_MULTINOM_START, s->next);
	return fit;
}

/*
 * The first pass
 */

/* Leaves out the classes without rows, and the sums of these. */
static bool
find_classes(GrMultinomFit *fit, GrError *err)
{
	GrMultinomState *s = fit->state;
	GrDD	   *gradient = fit->sums + gr_multinom_gradient_at(fit->pass.nclasses);
	int			n = 0;

	fit->nrows = fit->sums[GR_MULTINOM_NROWS].hi;
	if (fit->sums[GR_MULTINOM_UNKNOWN].hi > 0)
		return gr_fail(err, GR_INVALID, 0, "rows have other responses when they are read again");
	for (int k = 0; k < fit->pass.nclasses; k++)
	{
		double		weight = gr_dd_to_double(fit->sums[GR_MULTINOM_HEAD + k]);

		fit->present[k] = weight > 0;
		if (!fit->present[k])
			continue;
		memmove(gradient + (size_t) n * s->t, gradient + (size_t) k * s->t, (size_t) s->t * sizeof(GrDD));
		s->values[n] = s->values[k];
		fit->weights[n++] = weight;
	}
	fit->nclasses = n;
	if (n == 0)
		return gr_fail(err, GR_INVALID, 0, "no rows");
	if (n == 1)
	{
		for (int k = 0; k < fit->pass.nclasses; k++)
			if (fit->present[k])
				err->value = k;
		return gr_fail(err, GR_ONE_CLASS, 0, "one class");
	}
	s->m = (n - 1) * s->t;
	return true;
}

/* Returns the sum of the squared slopes. */
static double
square_of(const GrMultinomState *s, const double *beta)
{
	double		sum = 0;

	for (int k = 0; k < s->m; k++)
		if (k % s->t != 0)
			sum += beta[k] * beta[k];
	return sum;
}

/* Adds the penalty to the information and the gradient at beta. */
static void
penalise(GrMultinomState *s, const double *beta)
{
	for (int k = 0; k < s->m && s->options.l2 > 0; k++)
	{
		if (k % s->t == 0)
			continue;
		gr_dd_set(s->triangle, gr_packed(k, k),
				  gr_dd_add(gr_dd_get(s->triangle, gr_packed(k, k)), gr_dd(s->options.l2)));
		gr_dd_set(s->triangle, gr_packed(s->m, k),
				  gr_dd_sub(gr_dd_get(s->triangle, gr_packed(s->m, k)), gr_two_prod(s->options.l2, beta[k])));
	}
}

/* Solves for the step, its length and, if wanted, the inverse of the information. */
static bool
solve(GrMultinomFit *fit, bool want_inverse, const GrHost *host, GrError *err)
{
	GrMultinomState *s = fit->state;
	GrNormalFit normal = {
		.nterms = s->m,.aliased = s->left_out,.coef = s->step,.inverse = want_inverse ? s->inverse : NULL,
		.inverse_low = want_inverse ? s->inverse_low : NULL,
		.tolerance = fit->pass.nfaces > 0 ? FACE_TOLERANCE : GR_ALIAS_TOLERANCE,.rows = GR_ROWS_UNNAMED
	};
	double		before = s->length;

	for (int k = 0; k < s->m; k++)
		s->left_out[k] = s->aliased[k % s->t];
	if (!gr_normal_solve((GrDDConstVector) {s->triangle.hi, s->triangle.lo}, s->workspace, &normal, host, err))
		return false;
	for (int k = 0; k < s->m; k++)
		if (s->left_out[k])
			s->step[k] = 0;
	s->length = sqrt(fmax(normal.decrement, 0));
	s->nslow = s->length > SLOW * before && s->length < 3 ? s->nslow + 1 : 0;
	s->finite |= want_inverse;
	return true;
}

/* Asks for the pass at the end of the step. */
static void
go(GrMultinomFit *fit)
{
	GrMultinomState *s = fit->state;

	for (int k = 0; k < s->m; k++)
		s->next[k] = s->beta[k] + s->step[k];
	ask(fit, NEWTON, GR_MULTINOM_STEP, s->next);
}

/* Makes the information and the gradient at the fit of the intercepts alone, and the first step. */
static bool
take_start(GrMultinomFit *fit, const GrHost *host, GrError *err)
{
	GrMultinomState *s = fit->state;
	GrDD	   *of_class = fit->sums + gr_multinom_gradient_at(fit->pass.nclasses);
	GrDD	   *gram = fit->sums + gr_multinom_products_at(&fit->pass);
	GrClassesStart start;
	double		all;
	int			k1;

	if (!find_classes(fit, err))
		return false;
	start = (GrClassesStart) {
		.t = s->t,.nclasses = fit->nclasses,.intercept = s->options.intercept,.shift = s->shift,.spread = s->spread,
		.aliased = s->aliased,.coef = s->step,.pivot = s->pivot,.triangle = s->triangle,.workspace = s->workspace
	};
	if (!gr_classes_start(&start, gram, of_class, host, err))
		return false;
	fit->rank = start.rank;
	fit->pass.exact = s->options.shape.nfeatures == 0 || start.near_collinear;
	all = gr_dd_to_double(*gr_classes_entry(gram, 0, 0));
	k1 = fit->nclasses;
	memset(s->beta, 0, (size_t) s->m * sizeof(double));
	for (int k = 0; k < k1; k++)
	{
		double		share = s->options.intercept ? fit->weights[k] / all : 1.0 / k1;

		fit->null_log_likelihood += fit->weights[k] * log(share);
		s->pivot[k] = share;
		if (k > 0 && s->options.intercept)
			s->beta[(k - 1) * s->t] = log(fit->weights[k] / fit->weights[0]);
	}
	for (int i = 0; i < s->m; i++)
	{
		int			ci = i / s->t + 1;
		int			a = i % s->t;

		for (int j = 0; j <= i; j++)
		{
			int			cj = j / s->t + 1;
			double		w = ci == cj ? s->pivot[ci] * (1 - s->pivot[ci]) : -s->pivot[ci] * s->pivot[cj];

			gr_dd_set(s->triangle, gr_packed(i, j), gr_dd_mul_d(*gr_classes_entry(gram, a, j % s->t), w));
		}
		gr_dd_set(s->triangle, gr_packed(s->m, i),
				  gr_dd_sub(of_class[ci * s->t + a], gr_dd_mul_d(*gr_classes_entry(gram, a, 0), s->pivot[ci])));
	}
	gr_dd_set(s->triangle, gr_packed(s->m, s->m), gr_dd(0));
	penalise(s, s->beta);
	s->objective = fit->null_log_likelihood;
	fit->pass.nclasses = fit->nclasses;
	if (!solve(fit, false, host, err))
		return false;
	go(fit);
	return true;
}

/*
 * The end
 */

/* Sets the covariance to the inverse, with 0 for parameters that are left out. */
static void
take_inverse(GrMultinomState *s)
{
	for (int i = 0; i < s->m; i++)
		for (int j = 0; j < s->m; j++)
		{
			double		low = s->inverse_low[i >= j ? gr_packed(i, j) : gr_packed(j, i)];
			GrDD		v = {s->inverse[(size_t) i * s->m + j], low};

			s->covariance[(size_t) i * s->m + j] = isnan(v.hi) ? gr_dd(0) : v;
		}
}

/* Sets vcov to the covariance in the terms of the rows: intercepts lose the shift's part. */
static void
move_back(const GrMultinomFit *fit)
{
	const GrMultinomState *s = fit->state;
	int			first = s->options.intercept ? 0 : 1;
	int			n = s->t - first;
	int			nall = (fit->nclasses - 1) * n;

	for (int i = 0; i < nall; i++)
		for (int j = 0; j <= i; j++)
		{
			int			row = i / n * s->t + first + i % n;
			int			col = j / n * s->t + first + j % n;
			int			row_end = row % s->t == 0 ? row + s->t : row + 1;
			int			col_end = col % s->t == 0 ? col + s->t : col + 1;
			GrDD		sum = gr_dd(0);

			for (int a = row; a < row_end; a++)
				for (int b = col; b < col_end; b++)
				{
					GrDD		v = s->covariance[(size_t) a * s->m + b];

					if (a > row)
						v = gr_dd_mul_d(v, -s->shift[a - row - 1]);
					if (b > col)
						v = gr_dd_mul_d(v, -s->shift[b - col - 1]);
					sum = gr_dd_add(sum, v);
				}
			fit->vcov[(size_t) i * nall + j] = fit->vcov[(size_t) j * nall + i] = gr_dd_to_double(sum);
		}
}

/* Sets product to a b, of m x m each, times factor. */
static void
multiply(const GrDD *a, const GrDD *b, size_t m, double factor, GrDD *product)
{
	for (size_t i = 0; i < m; i++)
		for (size_t j = 0; j < m; j++)
		{
			GrDD		sum = gr_dd(0);

			for (size_t l = 0; l < m; l++)
				sum = gr_dd_add(sum, gr_dd_mul(a[i * m + l], b[l * m + j]));
			product[i * m + j] = gr_dd_mul_d(sum, factor);
		}
}

/* Sets the covariance to inverse middle inverse, times factor. */
static void
surround(GrMultinomState *s, double factor)
{
	size_t		m = (size_t) s->m;

	multiply(s->covariance, s->middle, m, factor, s->half);
	memcpy(s->middle, s->half, m * m * sizeof(GrDD));
	multiply(s->middle, s->covariance, m, 1, s->half);
	for (size_t i = 0; i < m; i++)
		for (size_t j = 0; j <= i; j++)
			s->covariance[i * m + j] = s->covariance[j * m + i] =
				gr_dd_scale(gr_dd_add(s->half[i * m + j], s->half[j * m + i]), 0.5);
}

/* Marks as separated the parameters of the terms of the rows that direction d moves. */
static void
mark_separated(GrMultinomFit *fit, const double *d)
{
	const GrMultinomState *s = fit->state;
	int			first = s->options.intercept ? 0 : 1;
	int			n = s->t - first;

	for (int j = 0; j < fit->nclasses - 1; j++)
	{
		double		most = 0;
		double		origin = d[j * s->t];
		double		size = fabs(origin);

		for (int k = 0; k < s->m; k++)
			most = fmax(most, fabs(d[k]) * s->spread[k % s->t]);
		for (int a = 1; a < s->t; a++)
		{
			bool		moves = fabs(d[j * s->t + a]) * s->spread[a] > TERM_SHARE * most;

			if (!moves || s->aliased[a])
				continue;
			origin -= s->shift[a - 1] * d[j * s->t + a];
			size += fabs(s->shift[a - 1] * d[j * s->t + a]);
			if (fit->separated[j * n + a - first] == 0)
				fit->separated[j * n + a - first] = d[j * s->t + a] > 0 ? 1 : -1;
		}
		if (first == 0 && fabs(origin) > TERM_SHARE * fmax(most, size) && fit->separated[j * n] == 0)
			fit->separated[j * n] = origin > 0 ? 1 : -1;
	}
}

/* Sets the results in the terms of the rows. */
static void
finish(GrMultinomFit *fit)
{
	GrMultinomState *s = fit->state;
	int			first = s->options.intercept ? 0 : 1;
	int			n = s->t - first;
	int			nall = (fit->nclasses - 1) * n;

	fit->nterms = n;
	for (int f = 0; f < fit->pass.nfaces; f++)
		mark_separated(fit, s->faces + (size_t) f * s->m);
	move_back(fit);
	for (int i = 0; i < nall; i++)
	{
		int			at = i / n * s->t + first + i % n;
		GrDD		sum = gr_two_sum(s->beta[at], s->beta_lo[at]);

		if (at % s->t == 0)
			for (int a = 1; a < s->t; a++)
				if (!s->aliased[a])
					sum = gr_dd_sub(sum, gr_dd_mul_d(gr_two_sum(s->beta[at + a], s->beta_lo[at + a]),
													 s->shift[a - 1]));
		fit->coef[i] = s->aliased[at % s->t] ? NAN : gr_dd_to_double(sum);
		/* with a direction of separation, the data may determine no more parameters than those it moves */
		if (!s->aliased[at % s->t] && s->left_out[at] && fit->separated[i] == 0)
			fit->separated[i] = 2;
		fit->nseparated += fit->separated[i] != 0;
	}
	for (int i = 0; i < nall; i++)
		for (int j = 0; j < nall; j++)
			if (isnan(fit->coef[i]) || isnan(fit->coef[j]) || fit->separated[i] != 0 || fit->separated[j] != 0)
				fit->vcov[(size_t) i * nall + j] = NAN;
	fit->done = true;
}

/* Ends the search at beta, whose inverse is known, and asks for the middle of a sandwich. */
static void
end(GrMultinomFit *fit, bool converged)
{
	GrMultinomState *s = fit->state;

	take_inverse(s);
	fit->converged = converged;
	fit->slow = s->nslow >= 3;
	if (s->options.vcov == GR_VCOV_IID)
		finish(fit);
	else if (gr_vcov_is_clustered(s->options.vcov))
	{
		ask(fit, CLUSTERS, GR_MULTINOM_SCORES, s->beta);
		fit->wants_clusters = true;
	}
	else
		ask(fit, MIDDLE, GR_MULTINOM_MIDDLE, s->beta);
}

/* Returns the number of parameters that have estimates. */
static double
nestimates(const GrMultinomState *s)
{
	double		n = 0;

	for (int k = 0; k < s->m; k++)
		n += !s->left_out[k];
	return n;
}

/* Returns n / (n - k), or 1 if that is not positive. */
static double
small_sample(const GrMultinomFit *fit)
{
	double		k = nestimates(fit->state);

	return fit->nrows > k ? fit->nrows / (fit->nrows - k) : 1;
}

static bool
take_middle(GrMultinomFit *fit, const GrHost *host, GrError *err)
{
	GrMultinomState *s = fit->state;
	GrDD	   *products = fit->sums + gr_multinom_products_at(&fit->pass);

	(void) host;
	(void) err;
	for (int i = 0; i < fit->nclasses - 1; i++)
		for (int j = 0; j <= i; j++, products += gr_triangle(s->t))
			for (int a = 0; a < s->t; a++)
				for (int b = 0; b < s->t; b++)
					s->middle[(size_t) (i * s->t + a) * s->m + j * s->t + b] =
						s->middle[(size_t) (j * s->t + b) * s->m + i * s->t + a] = *gr_classes_entry(products, a, b);
	surround(s, s->options.vcov == GR_VCOV_HC1 ? small_sample(fit) : 1);
	finish(fit);
	return true;
}

void
gr_multinom_add_cluster(GrMultinomFit *fit, const GrDD *sums)
{
	GrMultinomState *s = fit->state;
	const GrDD *scores = sums + gr_multinom_gradient_at(fit->nclasses);

	for (int i = 0; i < s->m; i++)
		for (int j = 0; j < s->m; j++)
			s->middle[(size_t) i * s->m + j] = gr_dd_add(s->middle[(size_t) i * s->m + j],
														 gr_dd_mul(scores[i], scores[j]));
	fit->nclusters++;
}

static bool
take_clusters(GrMultinomFit *fit, const GrHost *host, GrError *err)
{
	GrMultinomState *s = fit->state;
	double		g = (double) fit->nclusters;

	(void) host;
	(void) err;
	surround(s, s->options.vcov != GR_VCOV_CR1 ? 1 : g > 1 ? g / (g - 1) * small_sample(fit) *
			 (fit->nrows - 1) / fit->nrows : NAN);
	finish(fit);
	return true;
}

/*
 * Newton's method
 */

/* Sets the triangle from the sums of a pass at s->next. */
static void
load(GrMultinomFit *fit)
{
	GrMultinomState *s = fit->state;
	const GrDD *gradient = fit->sums + gr_multinom_gradient_at(fit->nclasses);
	GrDD	   *products = fit->sums + gr_multinom_products_at(&fit->pass);

	for (int i = 0; i < fit->nclasses - 1; i++)
		for (int j = 0; j <= i; j++, products += gr_triangle(s->t))
			for (int a = 0; a < s->t; a++)
				for (int b = 0; b < s->t; b++)
					if (i > j || b <= a)
						gr_dd_set(s->triangle, gr_packed(i * s->t + a, j * s->t + b),
								  *gr_classes_entry(products, a, b));
	for (int k = 0; k < s->m; k++)
		gr_dd_set(s->triangle, gr_packed(s->m, k), gradient[k]);
	gr_dd_set(s->triangle, gr_packed(s->m, s->m), gr_dd(0));
	penalise(s, s->next);
}

/* Goes on after a solve: makes the step, or ends. */
static bool
decide(GrMultinomFit *fit, bool was_exact)
{
	GrMultinomState *s = fit->state;

	if (s->length <= LAST_LENGTH && was_exact && s->finite)
	{
		for (int k = 0; k < s->m; k++)
		{
			GrDD		sum = gr_two_sum(s->beta[k], s->step[k]);

			s->beta[k] = sum.hi;
			s->beta_lo[k] = sum.lo;
		}
		end(fit, s->nslow < 3 && s->length <= s->options.tol);
		return true;
	}
	if (fit->iterations >= s->options.max_iter && s->finite)
	{
		end(fit, false);
		return true;
	}
	if (s->length <= LAST_LENGTH || fit->iterations >= s->options.max_iter)
		fit->pass.exact = true;
	s->nhalvings = 0;
	go(fit);
	return true;
}

static bool
take_step(GrMultinomFit *fit, const GrHost *host, GrError *err)
{
	GrMultinomState *s = fit->state;
	bool		was_exact = fit->pass.exact;
	double		log_likelihood = gr_dd_to_double(fit->sums[GR_MULTINOM_LOG_LIKELIHOOD]);
	double		objective = log_likelihood - s->options.l2 / 2 * square_of(s, s->next);

	if (fit->sums[GR_MULTINOM_UNKNOWN].hi > 0 || fit->sums[GR_MULTINOM_NROWS].hi != fit->nrows)
		return gr_fail(err, GR_INVALID, 0, "rows are others when they are read again");
	if (!(objective >= s->objective - 1e-9 * (1 + fabs(s->objective))) && s->nhalvings < HALVINGS_MAX)
	{
		s->nhalvings++;
		for (int k = 0; k < s->m; k++)
			s->step[k] /= 2;
		go(fit);
		return true;
	}
	memcpy(s->beta, s->next, (size_t) s->m * sizeof(double));
	s->objective = objective;
	fit->log_likelihood = log_likelihood;
	fit->iterations++;
	load(fit);
	if (!solve(fit, was_exact, host, err))
		return false;
	if (s->nslow >= 3 && s->options.l2 == 0 && fit->pass.nfaces < GR_MULTINOM_FACES_MAX)
	{
		s->face_absolute[fit->pass.nfaces] = INFINITY;
		ask(fit, FURTHEST, GR_MULTINOM_FACE, s->step);
		return true;
	}
	return decide(fit, was_exact);
}

/* Takes the largest difference of linear predictors along the step. */
static bool
take_furthest(GrMultinomFit *fit, const GrHost *host, GrError *err)
{
	GrMultinomState *s = fit->state;

	(void) host;
	(void) err;
	s->furthest = fit->sums[GR_MULTINOM_FURTHEST].hi;
	if (!(s->furthest > FACE_LEAST) || !isfinite(s->furthest))
		return decide(fit, fit->pass.exact);
	s->face_absolute[fit->pass.nfaces] = FACE_SHARE * s->furthest;
	ask(fit, FACE, GR_MULTINOM_FACE, s->step);
	return true;
}

/* Takes the counts of rows by their side of the step. If none is on the wrong side, the step is a direction. */
static bool
take_face(GrMultinomFit *fit, const GrHost *host, GrError *err)
{
	GrMultinomState *s = fit->state;
	const GrDD *pairs = fit->sums + gr_multinom_gradient_at(fit->nclasses);

	(void) host;
	(void) err;
	if (fit->sums[GR_MULTINOM_AGAINST].hi > 0)
		return decide(fit, fit->pass.exact);
	for (int k = 0; k < fit->nclasses * fit->nclasses; k++)
		fit->apart[k] += pairs[k].hi;
	memcpy(s->faces + (size_t) fit->pass.nfaces * s->m, s->step, (size_t) s->m * sizeof(double));
	fit->pass.nfaces++;
	fit->pass.exact = true;
	s->objective = -INFINITY;
	s->length = INFINITY;
	s->nslow = 0;
	s->finite = false;
	memcpy(s->next, s->beta, (size_t) s->m * sizeof(double));
	ask(fit, NEWTON, GR_MULTINOM_STEP, s->next);
	return true;
}

bool
gr_multinom_advance(GrMultinomFit *fit, const GrHost *host, GrError *err)
{
	switch (fit->state->phase)
	{
		case START:
			return take_start(fit, host, err);
		case NEWTON:
			return take_step(fit, host, err);
		case FURTHEST:
			return take_furthest(fit, host, err);
		case FACE:
			return take_face(fit, host, err);
		case MIDDLE:
			return take_middle(fit, host, err);
		default:
			fit->wants_clusters = false;
			return take_clusters(fit, host, err);
	}
}
