/*
 * logit_path.c: elastic nets of a logistic regression; see logit_path.h.
 */
#include "compute/enet/logit_path.h"

#include <math.h>
#include <string.h>

#include "compute/base/arena.h"
#include "compute/dist/family.h"
#include "compute/linalg/gram_shift.h"
#include "compute/linear/ols.h"

/* A feature is centred if its mean is more than this many standard deviations from 0. */
#define FAR_SPREADS 4.0

/* Error that the last step of a lambda may leave, as a share of the linear predictor's standard deviation. */
#define LEFT_MAX 1e-12
/* A step as short as this, the size of rounding, ends a lambda. */
#define LENGTH_ROUNDING 1e-13
/* If the features' least pivot is above this share, a FAST pass determines the minimum to about 1e-13. */
#define PIVOT_FAST 1e-3
/* An objective that is higher by at most this share counts as equal. */
#define OBJECTIVE_ROUNDING 1e-12

/*
 * With at least this many terms, a pass for the gradient alone costs so much less than one with the Hessian that steps
 * may use the Hessian of an earlier pass.
 */
#define CHORD_TERMS_MIN 32
/* Safety factor of the rate at which such steps become shorter, and the largest rate at which they are made */
#define CHORD_SAFETY 2.0
#define CHORD_RATE_MAX 0.2

/*
 * The Hessian at hand is corrected by the change of the gradient along a step unless the step is so short that rounding
 * shows in the change, or the curvature along it has changed by more than this ratio.
 */
#define UPDATE_LENGTH_MIN 1e-7
#define UPDATE_RATIO_MAX 4.0

/* Most halvings of one step */
#define HALVINGS_MAX 40

/* Rows count as separated if this share of the deviance is explained and steps are still longer than LONG_STEP. */
#define SEPARATED (1 - 1e-10)
#define LONG_STEP 0.25

/* glmnet's rule for this family: a path ends once a step explains less than this much more of the deviance. */
#define LEAST_GAIN 1e-5

/*
 * Memory
 */

static void
carve_path(GrLogitPath *path, const GrLogitPathOptions *options, GrArena *arena)
{
	int64_t		p = options->shape.nfeatures;
	double	  **vectors[] = {
		&path->shift, &path->deviation, &path->penalty1, &path->penalty2, &path->beta, &path->anchor,
		&path->solved, &path->gradient, &path->coef, &path->change,
		&path->product
	};

	for (size_t k = 0; k < sizeof(vectors) / sizeof(vectors[0]); k++)
		*vectors[k] = gr_carve_doubles(arena, p + 2);
	path->sums = gr_carve_doubles(arena, (int64_t) gr_pass_nsums(GR_PASS_EXACT, (int) p));
	path->gram = (GrGram) {.shift = path->shift,.nfeatures = (int) p};
	path->gram.hi = gr_carve_doubles(arena, gr_triangle(p + 2));
	path->gram.lo = gr_carve_doubles(arena, gr_triangle(p + 2));
	path->workspace = gr_carve(arena, gr_path_workspace_nbytes((int) p, options->net.intercept));
}

size_t
gr_logit_path_nbytes(const GrLogitPathOptions *options)
{
	GrLogitPath path;
	GrArena		arena = {.base = NULL};

	carve_path(&path, options, &arena);
	return gr_arena_lines_nbytes(&arena);
}

/*
 * Passes
 */

/* Asks for a pass at beta. */
static void
ask(GrLogitPath *path, GrPassKind kind)
{
	path->pass = (GrPass) {
		.kind = kind,.shape = path->options.shape,.distribution = GR_LOGISTIC,.beta = path->beta,
		.shift = path->shift,.measure = GR_MEASURE_STEP,.counts = path->options.counts
	};
	gr_pass_clear(kind, path->p, path->sums);
	path->wants_pass = true;
}

void
gr_logit_path_begin(GrLogitPath *path, const GrLogitPathOptions *options, void *memory)
{
	size_t		nbytes = (size_t) (options->shape.nfeatures + 2) * sizeof(double);
	GrArena		arena = gr_arena_on_lines(memory);

	memset(path, 0, sizeof(*path));
	path->options = *options;
	path->p = options->shape.nfeatures;
	carve_path(path, options, &arena);
	memset(path->shift, 0, nbytes);
	memset(path->beta, 0, nbytes);
	path->lambda = INFINITY;
	path->curvature = 1;
	ask(path, GR_PASS_EXACT);
}

/* Returns the triangle of the sums at the anchor. */
static inline GrDDVector
gram_of(const GrLogitPath *path)
{
	return (GrDDVector) {path->gram.hi, path->gram.lo};
}

/* Takes X'WX and X'r from an EXACT pass, whose matrix has a row of ones before all others. */
static void
take_exact(GrLogitPath *path)
{
	int64_t		t = gr_nterms(path->p);
	const double *hi = path->sums + GR_SUM_HEAD;
	const double *lo = hi + gr_triangle(t + 2);
	int64_t		k = 0;

	for (int64_t i = 1; i <= t + 1; i++)
		for (int64_t j = 1; j <= i; j++, k++)
		{
			path->gram.hi[k] = hi[gr_packed(i, j)];
			path->gram.lo[k] = lo[gr_packed(i, j)];
		}
	path->square = path->gram.hi[gr_triangle(t + 1) - 1];
}

/* Takes X'WX and X'r from a FAST pass, and the working residuals' squares from the last EXACT pass. */
static void
take_fast(GrLogitPath *path)
{
	int64_t		t = gr_nterms(path->p);
	const double *gradient = path->sums + GR_SUM_HEAD;

	memset(path->gram.lo, 0, (size_t) gr_triangle(t + 1) * sizeof(double));
	memcpy(path->gram.hi, gradient + 2 * t, (size_t) gr_triangle(t) * sizeof(double));
	memcpy(path->gram.hi + gr_triangle(t), gradient, (size_t) t * sizeof(double));
	memcpy(path->gram.lo + gr_triangle(t), gradient + t, (size_t) t * sizeof(double));
	path->gram.hi[gr_triangle(t + 1) - 1] = path->square;
}

/* Sets product to X'WX s, of gr_nterms(p) numbers. */
static void
multiply(const GrLogitPath *path, const double *s, double *product)
{
	const double *row = path->gram.hi;

	for (int64_t i = 0; i <= path->p; row += ++i)
	{
		double		sum = 0;

		for (int64_t j = 0; j < i; j++)
		{
			sum += row[j] * s[j];
			product[j] += row[j] * s[i];
		}
		product[i] = sum + row[i] * s[i];
	}
}

/*
 * Corrects X'WX by how much X'r, whose last values are path->gradient, has changed along the step from anchor to beta:
 * the update of Broyden, Fletcher, Goldfarb and Shanno (Nocedal and Wright 2006, "Numerical Optimization", equation
 * 6.19). Leaves X'WX as it is if the change is mostly rounding. Overwrites path->solved.
 */
static void
update_hessian(GrLogitPath *path, const double *gradient)
{
	double	   *step = path->solved;
	double	   *change = path->change;
	double	   *product = path->product;
	double	   *row = path->gram.hi;
	double		along = 0;
	double		expected = 0;

	for (int j = 0; j <= path->p; j++)
	{
		step[j] = path->beta[j] - path->anchor[j];
		change[j] = path->gradient[j] - gradient[j];
	}
	multiply(path, step, product);
	for (int j = 0; j <= path->p; j++)
	{
		along += step[j] * change[j];
		expected += step[j] * product[j];
	}
	if (!(path->length > UPDATE_LENGTH_MIN && expected > 0 && along > expected / UPDATE_RATIO_MAX &&
		  along < expected * UPDATE_RATIO_MAX))
		return;
	for (int64_t i = 0; i <= path->p; row += ++i)
		for (int64_t j = 0; j <= i; j++)
			row[j] += change[i] / along * change[j] - product[i] / expected * product[j];
}

/* Takes X'r from a GRADIENT pass. X'WX stays that of an earlier pass, but for a correction. */
static void
take_gradient(GrLogitPath *path)
{
	int64_t		t = gr_nterms(path->p);
	const double *gradient = path->sums + GR_SUM_HEAD;

	update_hessian(path, gradient);
	memcpy(path->gram.hi + gr_triangle(t), gradient, (size_t) t * sizeof(double));
	memcpy(path->gram.lo + gr_triangle(t), gradient + t, (size_t) t * sizeof(double));
	path->gram.hi[gr_triangle(t + 1) - 1] = path->square;
	path->gram.lo[gr_triangle(t + 1) - 1] = 0;
}

/* Adds entry k of the Gram matrix times factor to product a. */
static inline void
add_product(GrDDVector products, int64_t a, GrDDVector gram, int64_t k, double factor)
{
	gr_dd_set(products, a, gr_dd_add(gr_dd_get(products, a), gr_dd_mul_d(gr_dd_get(gram, k), factor)));
}

/*
 * Adds the working response X beta + r / w to the Gram matrix: its products with all terms and itself. The products of
 * all terms grow side by side, so that no addition waits for the one before.
 */
static void
add_response(GrLogitPath *path)
{
	int64_t		t = gr_nterms(path->p);
	int64_t		last = gr_triangle(t);
	GrDDVector	gram = gram_of(path);
	GrDDVector	products = {path->change, path->product};
	GrDD		square = gr_dd_get(gram, last + t);

	memcpy(products.hi, gram.hi + last, (size_t) t * sizeof(double));
	memcpy(products.lo, gram.lo + last, (size_t) t * sizeof(double));
	memcpy(path->gradient, gram.hi + last, (size_t) t * sizeof(double));
	for (int64_t b = 0; b < t; b++)
	{
		if (path->anchor[b] == 0)
			continue;
		for (int64_t a = 0; a < b; a++)
			add_product(products, a, gram, gr_packed(b, a), path->anchor[b]);
		for (int64_t a = b; a < t; a++)
			add_product(products, a, gram, gr_packed(a, b), path->anchor[b]);
	}
	for (int64_t a = 0; a < t; a++)
	{
		GrDD		r = gr_dd_get(gram, last + a);
		GrDD		product = gr_dd_get(products, a);

		square = gr_dd_add(square, gr_dd_mul_d(gr_dd_add(product, r), path->anchor[a]));
		gr_dd_set(gram_of(path), last + a, product);
	}
	/* after a FAST pass the square is approximate, and only used for scaling */
	if (path->rounded && !(square.hi > 0))
		square = gr_dd(1);
	gr_dd_set(gram_of(path), last + t, square);
}

/* The minimum of the quadratic */

/*
 * Finds the minimum of the anchor's quadratic at the present lambda, into solved. At an infinite lambda, computes
 * path->largest, and solves at the largest lambda of a lasso, where every penalised coefficient is 0.
 */
static bool
solve(GrLogitPath *path, const GrHost *host, GrError *err)
{
	GrPathOptions options = path->options.net;
	GrPathPoint point;
	GrPath		net;
	GrGram		about_0 = path->gram;	/* the shift belongs to the pass; the path is over the shifted features */
	double		alpha = fmax(options.alpha, GR_PATH_LEAST_ALPHA);
	double		lambda = path->lambda;
	int			n = 1;
	bool		ok;

	options.deviation = path->deviation;
	options.total = path->weights;
	options.rounded = path->rounded;
	about_0.shift = NULL;
	if (isinf(lambda))
		options.alpha = 1;
	ok = gr_path_open(&net, &options, &about_0, path->workspace, host, err) &&
		gr_path_resume(&net, lambda, path->anchor + 1, err);
	if (ok && isinf(lambda))
		ok = gr_path_grid(&net, 0.5, &n, &lambda, err);
	if (!ok)
		return false;
	path->nusable = net.nusable;
	path->any_positive = net.any_positive;
	path->solved[0] = 0;
	if (isinf(path->lambda))
		path->largest = alpha == 1 || lambda == 0 ? lambda : nextafter(lambda / alpha, INFINITY);
	ok = gr_path_step(&net, lambda, &point, path->solved + (path->options.net.intercept ? 0 : 1), err);
	path->pivot = ok ? gr_path_least_pivot(&net) : 0;
	return ok;
}

/*
 * Returns b'X'WX b / sum of w. centred: leaves out the intercept's entry and, if the model has an intercept, centres X.
 */
static double
spread(const GrLogitPath *path, const double *b, bool centred)
{
	double		sum = 0;
	double		first = 0;

	for (int64_t i = centred ? 1 : 0; i <= path->p; i++)
	{
		double		product = 0;

		if (b[i] == 0)
			continue;
		for (int64_t j = centred ? 1 : 0; j < i; j++)
			product += 2 * path->gram.hi[gr_packed(i, j)] * b[j];
		sum += b[i] * (product + path->gram.hi[gr_packed(i, i)] * b[i]);
		first += path->gram.hi[gr_packed(i, 0)] * b[i];
	}
	if (centred && path->options.net.intercept)
		sum -= first * first / path->gram.hi[0];
	return sum > 0 ? sum / path->gram.hi[0] : 0;
}

/* Returns N times the penalty of b. At an infinite lambda no penalised coefficient is nonzero, and the penalty is 0. */
static double
penalty_of(const GrLogitPath *path, const double *b)
{
	double		alpha = path->options.net.alpha;
	double		sum = 0;

	for (int j = 0; j < path->p; j++)
		if (b[j + 1] != 0 && path->penalty1[j] != 0)
			sum += alpha * path->penalty1[j] * fabs(b[j + 1]) +
				(1 - alpha) / 2 * path->penalty2[j] * b[j + 1] * b[j + 1];
	return sum == 0 ? 0 : path->lambda * path->weights * sum;
}

/* Returns the share of the null deviance that is explained at the anchor. */
static double
explained(const GrLogitPath *path)
{
	return path->null_deviance > 0 ? 1 - path->deviance / path->null_deviance : 0;
}

/* Ends the present lambda with the solved coefficients or, if not converged, those of the anchor. */
static void
end_lambda(GrLogitPath *path, bool converged)
{
	int			p = path->p;
	bool		intercept = path->options.net.intercept;
	double		deviance = path->deviance;
	GrDD		constant;

	path->point = (GrPathPoint) {
		.lambda = isinf(path->lambda) ? path->largest : path->lambda,.tss = path->null_deviance
	};
	if (!converged)
		memcpy(path->solved, path->anchor, (size_t) (p + 1) * sizeof(double));
	constant = gr_dd(path->solved[0]);
	for (int j = 0; j <= p; j++)
	{
		path->beta[j] = path->solved[j] - path->anchor[j];
		deviance -= 2 * path->beta[j] * path->gradient[j];
	}
	deviance += path->gram.hi[0] * spread(path, path->beta, false);
	for (int j = 0; j < p; j++)
	{
		double		b = path->solved[j + 1];

		path->coef[j + (intercept ? 1 : 0)] = b;
		path->point.df += b != 0;
		constant = gr_dd_sub(constant, gr_two_prod(b, path->shift[j]));
	}
	if (intercept)
		path->coef[0] = gr_dd_to_double(constant);
	path->point.rss = deviance > 0 ? deviance : 0;
	path->point.dev_ratio = path->null_deviance > 0 ? 1 - path->point.rss / path->null_deviance : 0;
	path->converged = converged;
	path->wants_pass = false;
}

/*
 * Handles a quadratic without a minimum in float8's range: asks for an EXACT pass after a FAST one, else ends the
 * lambda without convergence. Returns false and keeps err if it is another error or comes before the first step.
 */
static bool
go_on_unsolved(GrLogitPath *path, GrError *err)
{
	if (err->status != GR_OUT_OF_RANGE || path->nsteps == 0)
		return false;
	memset(err, 0, sizeof(*err));
	if (!path->rounded)
	{
		end_lambda(path, false);
		return true;
	}
	memcpy(path->beta, path->anchor, (size_t) (path->p + 1) * sizeof(double));
	ask(path, GR_PASS_EXACT);
	return true;
}

/* Returns the error, relative to limit, that a step of this length leaves behind, where the rate of steps is known. */
static double
left_after(const GrLogitPath *path, double length)
{
	return path->stale ? CHORD_SAFETY * path->rate * length : path->curvature * length * length;
}

/* Returns the cost of a GRADIENT pass as a share of that of a FAST pass, from counts of operations per row. */
static double
gradient_cost(const GrLogitPath *path)
{
	double		t = gr_nterms(path->p);
	double		gradient = 24 * t + 100;

	return gradient / (gradient + t * t / 2);
}

/*
 * True if the next steps should use the Hessian at hand: if its passes for gradients cost less, until errors are at
 * most limit, than a pass with a new Hessian and the passes for gradients that would follow. length: of the next step,
 * whose error is as large as the step that follows
 */
static bool
keeps_hessian(const GrLogitPath *path, double length, double limit)
{
	double		cost = gradient_cost(path);
	bool		measured = path->stale && path->length > 0;
	double		rate = fmax(path->stale ? path->rate : 0, measured ? 0 : path->curvature * length);
	double		error = rate * length;
	double		error_anew = error;
	double		rate_anew = path->curvature * error;
	double		chords = 0;
	double		anew = 1;

	if (gr_nterms(path->p) < CHORD_TERMS_MIN || !(rate <= CHORD_RATE_MAX))
		return false;
	for (error *= CHORD_SAFETY * rate; error > limit; error *= CHORD_SAFETY * rate)
		chords += cost;
	for (error_anew *= rate_anew; error_anew > limit && anew <= GR_LOGIT_PATH_PASSES_MAX;
		 error_anew *= CHORD_SAFETY * rate_anew)
		anew += cost;
	return chords + cost <= anew;
}

/* Solves the anchor's quadratic, and either ends the present lambda or asks for the next pass. */
static bool
improve(GrLogitPath *path, const GrHost *host, GrError *err)
{
	double		length;
	double		size;
	double		left;
	bool		fast;
	bool		keeps;

	if (!solve(path, host, err))
		return go_on_unsolved(path, err);
	for (int j = 0; j <= path->p; j++)
		path->beta[j] = path->solved[j] - path->anchor[j];
	length = sqrt(spread(path, path->beta, false));
	size = fmin(sqrt(spread(path, path->solved, true)), 1);
	if (path->length > 0 && path->stale)
		path->rate = fmax(length / path->length, path->rate / 10);
	else if (path->length > 0 && !path->was_stale)
		path->curvature = fmax(1, length / (path->length * path->length));
	left = left_after(path, length);
	fast = path->pivot > PIVOT_FAST;
	if ((fast || !path->rounded) && (left <= LEFT_MAX * size || length <= LENGTH_ROUNDING))
	{
		end_lambda(path, true);
		return true;
	}
	if (path->nsteps >= GR_LOGIT_PATH_PASSES_MAX || (length > LONG_STEP && explained(path) > SEPARATED))
	{
		end_lambda(path, false);
		return true;
	}
	keeps = fast && keeps_hessian(path, length, LEFT_MAX * size);
	path->length = length;
	path->was_stale = path->stale;
	memcpy(path->beta, path->solved, (size_t) (path->p + 1) * sizeof(double));
	path->nhalvings = 0;
	if (keeps)
		ask(path, GR_PASS_GRADIENT);
	/* FAST unless the next step is expected to be the last one */
	else
		ask(path, fast || path->curvature * left * left > LEFT_MAX * size ? GR_PASS_FAST : GR_PASS_EXACT);
	return true;
}

/* The first pass, at beta = 0 */

/* Sets s_j and the penalties, from sums at beta = 0, where every row's w is a quarter of its weight. */
static void
find_deviations(GrLogitPath *path)
{
	const GrPathOptions *net = &path->options.net;
	GrDD		total = gr_dd_get(gram_of(path), 0);
	double		sum = 0;

	for (int j = 0; j < path->p; j++)
		sum += net->penalty == NULL || isinf(net->penalty[j]) ? 1 : net->penalty[j];
	for (int j = 0; j < path->p; j++)
	{
		GrDD		square = gr_path_spread(&path->gram, j);
		double		sd = sqrt(gr_dd_to_double(gr_dd_div(square, total)));
		double		own = net->standardize ? sd : 1;

		path->deviation[j] = sd;
		path->penalty1[j] = (net->penalty == NULL ? 1 : net->penalty[j]) * path->p / sum * own;
		path->penalty2[j] = path->penalty1[j] * own;
	}
}

/*
 * Converts the sums at beta = 0, where w = 1/4 and r = y - 1/2 (times a row's weight), to those at the intercept-only
 * model of mean m: w = m (1 - m), r = y - m. Its deviance is that at 0 minus what the intercept explains.
 */
static void
move_to_mean(GrLogitPath *path)
{
	int64_t		t = gr_nterms(path->p);
	int64_t		last = gr_triangle(t);
	GrDD		total = gr_dd_get(gram_of(path), 0);
	/* the mean minus 1/2 */
	GrDD		away = gr_dd_div(gr_dd_get(gram_of(path), last), gr_dd_scale(total, 4));
	GrDD		share = gr_dd_sub(gr_dd(1), gr_dd_scale(gr_dd_mul(away, away), 4));
	double		mean = 0.5 + away.hi;
	double		explained = mean * log1p(2 * away.hi) + (1 - mean) * log1p(-2 * away.hi);

	for (int64_t a = 0; a < t; a++)
	{
		GrDD		sum = gr_dd_get(gram_of(path), gr_packed(a, 0));
		GrDD		r = gr_dd_get(gram_of(path), last + a);

		r = gr_dd_sub(r, gr_dd_scale(gr_dd_mul(sum, away), 4));
		gr_dd_set(gram_of(path), last + a, r);
	}
	for (int64_t k = 0; k < last; k++)
	{
		GrDD		g = gr_dd_mul(gr_dd_get(gram_of(path), k), share);

		gr_dd_set(gram_of(path), k, g);
	}
	path->anchor[0] = log1p(2 * away.hi) - log1p(-2 * away.hi);
	path->deviance -= 2 * path->weights * explained;
}

/* Takes a pass at 0: asks for another one about a shift, or begins the path. */
static bool
take_first(GrLogitPath *path, const GrHost *host, GrError *err)
{
	int			column;

	if (!gr_can_fit(GR_BINOMIAL, path->sums[GR_SUM_NROWS], path->sums[GR_SUM_NONES], err))
		return false;
	take_exact(path);
	if (!gr_gram_finite(path->gram.hi, path->p, &column))
		return gr_fail(err, GR_OUT_OF_RANGE, column, "%s", "");
	if (path->options.net.intercept && !path->far &&
		gr_gram_choose_shift(&path->gram, FAR_SPREADS, path->shift))
	{
		path->far = true;
		ask(path, GR_PASS_EXACT);
		return true;
	}
	path->weights = 4 * path->gram.hi[0];
	path->begun = true;
	find_deviations(path);
	memset(path->anchor, 0, (size_t) (path->p + 1) * sizeof(double));
	if (path->options.net.intercept)
		move_to_mean(path);
	path->null_deviance = path->deviance;
	add_response(path);
	return improve(path, host, err);
}

/* Further passes */

/* Moves beta half the way to the anchor, and asks for a pass. Returns false at the limits of halvings or passes. */
static bool
halve(GrLogitPath *path)
{
	if (path->nhalvings++ >= HALVINGS_MAX || path->nsteps >= GR_LOGIT_PATH_PASSES_MAX)
		return false;
	for (int j = 0; j <= path->p; j++)
		path->beta[j] = path->anchor[j] + 0.5 * (path->beta[j] - path->anchor[j]);
	/* a halved step's length says nothing about convergence */
	path->length = 0;
	ask(path, GR_PASS_FAST);
	return true;
}

bool
gr_logit_path_advance(GrLogitPath *path, const GrHost *host, GrError *err)
{
	double		deviance = path->sums[GR_SUM_DEVIANCE_HI] + path->sums[GR_SUM_DEVIANCE_LO];
	double		before;
	double		now;

	path->wants_pass = false;
	path->npasses++;
	path->nsteps++;
	if (!path->begun)
	{
		path->deviance = deviance;
		return take_first(path, host, err);
	}
	before = path->deviance / 2 + penalty_of(path, path->anchor);
	now = deviance / 2 + penalty_of(path, path->beta);
	if (!(now <= before * (1 + OBJECTIVE_ROUNDING)))
	{
		if (halve(path))
			return true;
		end_lambda(path, false);
		return true;
	}
	path->deviance = deviance;
	path->rounded = path->pass.kind != GR_PASS_EXACT;
	path->stale = path->pass.kind == GR_PASS_GRADIENT;
	if (path->stale)
		take_gradient(path);
	else if (path->rounded)
		take_fast(path);
	else
		take_exact(path);
	memcpy(path->anchor, path->beta, (size_t) (path->p + 1) * sizeof(double));
	add_response(path);
	return improve(path, host, err);
}

bool
gr_logit_path_go_to(GrLogitPath *path, double lambda, const GrHost *host, GrError *err)
{
	path->lambda = lambda;
	path->length = 0;
	path->nsteps = 0;
	/* no later lambda is fitted after one that did not converge */
	if (!path->converged)
	{
		path->point.lambda = lambda;
		return true;
	}
	return improve(path, host, err);
}

void
gr_logit_path_grid(const GrLogitPath *path, double min_ratio, int *n, double *lambda)
{
	if (path->largest == 0)
		*n = 1;
	for (int k = 0; k < *n; k++)
		lambda[k] = path->largest * (k == 0 ? 1 : pow(min_ratio, (double) k / (*n - 1)));
}

bool
gr_logit_path_ends(const GrLogitPath *path, const GrPathPoint *before, int k, int n)
{
	int			least = n < GR_PATH_LEAST_LAMBDAS ? n : GR_PATH_LEAST_LAMBDAS;

	return k > 0 && k + 1 >= least &&
		(path->point.dev_ratio - before->dev_ratio < (path->any_positive ? 0 : LEAST_GAIN) ||
		 path->point.dev_ratio > GR_PATH_MOST_EXPLAINED);
}
