/*
 * ordinal_fit.c: Newton's method for an ordinal regression; see ordinal_fit.h. Inside a fit, parameters are the slopes
 * about the shift, then the thresholds.
 */
#include "compute/classes/ordinal_fit.h"

#include <math.h>
#include <string.h>

#include "compute/classes/classes_start.h"
#include "compute/classes/multinom_sums.h"
#include "compute/classes/ordinal_sums.h"
#include "compute/dist/inference.h"

/* Length of a step after which an exact pass gives the last one: its error is the length's square. */
#define LAST_LENGTH 1e-7

#define HALVINGS_MAX 40

/* A step is shorter by at least this factor unless estimates diverge; see multinom_fit.c. */
#define SLOW 0.4

struct GrOrdinalState
{
	GrOrdinalOptions options;
	bool		started;
	int			p;				/* slopes */
	int			m;				/* parameters */
	double	   *values;			/* responses of the classes that have rows */
	double	   *weights;		/* weights of these classes */
	double	   *shift;
	double	   *spread;			/* p + 1 */
	bool	   *aliased;		/* p + 1: the ones, then the slopes */
	double	   *beta;			/* m: parameters of the last accepted pass */
	double	   *beta_lo;
	double	   *next;			/* m: parameters of fit->pass */
	double	   *step;
	double	   *scratch;		/* m + 1 */
	bool	   *left_out;
	GrDDVector	triangle;		/* information and gradient, packed, m + 1 rows */
	double	   *inverse;
	double	   *inverse_low;
	void	   *workspace;
	double		log_likelihood; /* at beta */
	double		length;
	int			nslow;
	int			nhalvings;
	bool		inverted;
};

static void
carve(const GrOrdinalOptions *options, GrOrdinalFit *fit, GrOrdinalState *s, GrArena *arena)
{
	int64_t		t = gr_nterms(options->shape.nfeatures);
	int64_t		k = options->nclasses;
	int64_t		m = t - 1 + k - 1;
	int64_t		n = m > t ? m : t;
	const GrMultinomPass first = {.measure = GR_MULTINOM_START,.shape = options->shape,.nclasses = options->nclasses};
	const GrMultinomPass other = {.measure = GR_MULTINOM_ORDINAL,.shape = options->shape,.nclasses = options->nclasses};
	size_t		nsums = gr_multinom_nsums(&first);

	if (gr_multinom_nsums(&other) > nsums)
		nsums = gr_multinom_nsums(&other);
	fit->sums = gr_carve(arena, nsums * sizeof(GrDD));
	fit->present = gr_carve_bools(arena, k);
	fit->coef = gr_carve_doubles(arena, m);
	fit->vcov = gr_carve_doubles(arena, m * m);
	s->values = gr_carve_doubles(arena, k);
	s->weights = gr_carve_doubles(arena, k);
	s->shift = gr_carve_doubles(arena, t);
	s->spread = gr_carve_doubles(arena, t);
	s->aliased = gr_carve_bools(arena, t);
	s->beta = gr_carve_doubles(arena, m);
	s->beta_lo = gr_carve_doubles(arena, m);
	s->next = gr_carve_doubles(arena, m);
	s->step = gr_carve_doubles(arena, n);
	s->scratch = gr_carve_doubles(arena, n + 1);
	s->left_out = gr_carve_bools(arena, m);
	s->triangle = gr_carve_dd(arena, gr_triangle(n + 1));
	s->inverse = gr_carve_doubles(arena, m * m);
	s->inverse_low = gr_carve_doubles(arena, gr_triangle(m));
	s->workspace = gr_carve(arena, gr_normal_workspace_nbytes((int) n));
}

size_t
gr_ordinal_nbytes(const GrOrdinalOptions *options)
{
	GrOrdinalFit fit;
	GrOrdinalState state;
	GrArena		arena = {NULL, 0};

	(void) gr_carve(&arena, sizeof(GrOrdinalFit));
	(void) gr_carve(&arena, sizeof(GrOrdinalState));
	carve(options, &fit, &state, &arena);
	return arena.used;
}

/* Asks for a pass at s->next. */
static void
ask(GrOrdinalFit *fit, GrMultinomMeasure measure)
{
	fit->pass.measure = measure;
	memset(fit->sums, 0, gr_multinom_nsums(&fit->pass) * sizeof(GrDD));
}

GrOrdinalFit *
gr_ordinal_begin(void *memory, const GrOrdinalOptions *options)
{
	GrArena		arena = {(char *) memory, 0};
	GrOrdinalFit *fit = gr_carve(&arena, sizeof(GrOrdinalFit));
	GrOrdinalState *s = gr_carve(&arena, sizeof(GrOrdinalState));
	int64_t		nbeta = (int64_t) (options->nclasses - 1) * gr_nterms(options->shape.nfeatures);

	memset(fit, 0, sizeof(*fit));
	memset(s, 0, sizeof(*s));
	carve(options, fit, s, &arena);
	fit->state = s;
	s->options = *options;
	s->p = options->shape.nfeatures;
	s->m = s->p + options->nclasses - 1;
	memcpy(s->values, options->values, (size_t) options->nclasses * sizeof(double));
	memset(s->shift, 0, (size_t) (s->p + 1) * sizeof(double));
	memset(s->beta_lo, 0, (size_t) s->m * sizeof(double));
	/* the first pass takes an array of a multinomial regression's size, and does not look at it */
	memset(s->workspace, 0, (size_t) nbeta * sizeof(double));
	s->length = INFINITY;
	fit->pass = (GrMultinomPass) {
		.link = options->link,.shape = options->shape,.nclasses = options->nclasses,.values = s->values,
		.beta = s->workspace,.shift = s->shift,.counts = options->counts,.exact = true
	};
	ask(fit, GR_MULTINOM_START);
	return fit;
}

/* Returns the link of a mean between 0 and 1. */
static double
link_of(GrLink link, double mean)
{
	return link == GR_LOGIT ? log(mean) - log1p(-mean) : link == GR_PROBIT ? -gr_normal_upper_quantile(mean) :
		log(-log1p(-mean));
}

/* Leaves out the classes without rows. */
static bool
find_classes(GrOrdinalFit *fit, GrError *err)
{
	GrOrdinalState *s = fit->state;
	int			n = 0;
	int			last = 0;

	fit->nrows = fit->sums[GR_MULTINOM_NROWS].hi;
	if (fit->sums[GR_MULTINOM_UNKNOWN].hi > 0)
		return gr_fail(err, GR_INVALID, 0, "rows have other responses when they are read again");
	for (int k = 0; k < fit->pass.nclasses; k++)
	{
		double		weight = gr_dd_to_double(fit->sums[GR_MULTINOM_HEAD + k]);

		fit->present[k] = weight > 0;
		if (!fit->present[k])
			continue;
		last = k;
		s->values[n] = s->values[k];
		s->weights[n++] = weight;
	}
	fit->nclasses = n;
	err->value = last;
	if (n < 2)
		return gr_fail(err, n == 0 ? GR_INVALID : GR_ONE_CLASS, 0, n == 0 ? "no rows" : "one class");
	s->m = s->p + n - 1;
	return true;
}

/* Takes the first pass: the classes, shift and collinear columns, and the thresholds of the fit without slopes. */
static bool
take_start(GrOrdinalFit *fit, const GrHost *host, GrError *err)
{
	GrOrdinalState *s = fit->state;
	GrDD	   *of_class = fit->sums + gr_multinom_gradient_at(fit->pass.nclasses);
	GrDD	   *gram = fit->sums + gr_multinom_products_at(&fit->pass);
	GrClassesStart start = {
		.t = s->p + 1,.nclasses = fit->pass.nclasses,.intercept = true,.shift = s->shift,.spread = s->spread,
		.aliased = s->aliased,.coef = s->step,.pivot = s->scratch,.triangle = s->triangle,.workspace = s->workspace
	};
	double		all = gr_dd_to_double(*gr_classes_entry(gram, 0, 0));
	double		below = 0;

	if (!find_classes(fit, err) || !gr_classes_start(&start, gram, of_class, host, err))
		return false;
	fit->pass.nclasses = fit->nclasses;
	fit->pass.exact = start.near_collinear;
	memset(s->next, 0, (size_t) s->m * sizeof(double));
	for (int k = 0; k < fit->nclasses; k++)
	{
		fit->null_log_likelihood += s->weights[k] * log(s->weights[k] / all);
		below += s->weights[k];
		if (k < fit->nclasses - 1)
			s->next[s->p + k] = link_of(s->options.link, below / all);
	}
	s->log_likelihood = -INFINITY;
	s->started = true;
	fit->pass.beta = s->next;
	ask(fit, GR_MULTINOM_ORDINAL);
	return true;
}

/* Sets the results: thresholds about the columns' zero, then slopes. */
static void
finish(GrOrdinalFit *fit, bool converged)
{
	GrOrdinalState *s = fit->state;
	int			k1 = fit->nclasses - 1;

	fit->nparameters = s->m;
	fit->converged = converged;
	fit->slow = s->nslow >= 3;
	for (int i = 0; i < s->m; i++)
	{
		int			at = i < k1 ? s->p + i : i - k1;
		GrDD		sum = gr_two_sum(s->beta[at], s->beta_lo[at]);

		for (int a = 0; a < s->p && i < k1; a++)
			if (!s->aliased[1 + a])
				sum = gr_dd_add(sum, gr_dd_mul_d(gr_two_sum(s->beta[a], s->beta_lo[a]), s->shift[a]));
		fit->coef[i] = at < s->p && s->aliased[1 + at] ? NAN : gr_dd_to_double(sum);
		fit->rank += !isnan(fit->coef[i]);
	}
	for (int i = 0; i < s->m; i++)
		for (int j = 0; j <= i; j++)
		{
			GrDD		sum = gr_dd(0);

			/* a threshold is itself, and the sum of the slopes times their shift */
			for (int a = -1; a < (i < k1 ? s->p : 0); a++)
				for (int b = -1; b < (j < k1 ? s->p : 0); b++)
				{
					int			row = a >= 0 ? a : i < k1 ? s->p + i : i - k1;
					int			col = b >= 0 ? b : j < k1 ? s->p + j : j - k1;
					double		low = s->inverse_low[row >= col ? gr_packed(row, col) : gr_packed(col, row)];
					GrDD		v = {s->inverse[(size_t) row * s->m + col], low};

					if (isnan(v.hi))
						continue;
					v = a >= 0 ? gr_dd_mul_d(v, s->shift[a]) : v;
					sum = gr_dd_add(sum, b >= 0 ? gr_dd_mul_d(v, s->shift[b]) : v);
				}
			fit->vcov[(size_t) i * s->m + j] = fit->vcov[(size_t) j * s->m + i] =
				isnan(fit->coef[i]) || isnan(fit->coef[j]) ? NAN : gr_dd_to_double(sum);
		}
	fit->done = true;
}

/* Solves for the step, its length and, after an exact pass, the inverse of the information. */
static bool
solve(GrOrdinalFit *fit, bool want_inverse, const GrHost *host, GrError *err)
{
	GrOrdinalState *s = fit->state;
	const GrDD *gradient = fit->sums + gr_multinom_gradient_at(fit->nclasses);
	const GrDD *information = gradient + s->m;
	double		before = s->length;
	GrNormalFit normal = {
		.nterms = s->m,.aliased = s->left_out,.coef = s->step,.inverse = want_inverse ? s->inverse : NULL,
		.inverse_low = want_inverse ? s->inverse_low : NULL,.tolerance = GR_ALIAS_TOLERANCE,.rows = GR_ROWS_UNNAMED
	};

	for (int64_t e = 0; e < gr_triangle(s->m); e++)
		gr_dd_set(s->triangle, e, information[e]);
	for (int k = 0; k < s->m; k++)
	{
		gr_dd_set(s->triangle, gr_packed(s->m, k), gradient[k]);
		s->left_out[k] = k < s->p && s->aliased[1 + k];
	}
	gr_dd_set(s->triangle, gr_packed(s->m, s->m), gr_dd(0));
	if (!gr_normal_solve((GrDDConstVector) {s->triangle.hi, s->triangle.lo}, s->workspace, &normal, host, err))
		return false;
	for (int k = 0; k < s->m; k++)
		if (s->left_out[k])
			s->step[k] = 0;
	s->length = sqrt(fmax(normal.decrement, 0));
	s->nslow = s->length > SLOW * before && s->length < 3 ? s->nslow + 1 : 0;
	s->inverted |= want_inverse;
	return true;
}

/* Asks for the pass at the end of the step, which is halved until thresholds ascend. */
static void
go(GrOrdinalFit *fit)
{
	GrOrdinalState *s = fit->state;
	bool		ascends;

	do
	{
		ascends = true;
		for (int k = 0; k < s->m; k++)
			s->next[k] = s->beta[k] + s->step[k];
		for (int k = s->p + 1; k < s->m; k++)
			ascends &= s->next[k] > s->next[k - 1];
		for (int k = 0; k < s->m && !ascends; k++)
			s->step[k] /= 2;
	} while (!ascends && ++s->nhalvings < HALVINGS_MAX);
	ask(fit, GR_MULTINOM_ORDINAL);
}

static bool
take_step(GrOrdinalFit *fit, const GrHost *host, GrError *err)
{
	GrOrdinalState *s = fit->state;
	bool		was_exact = fit->pass.exact;
	double		log_likelihood = gr_dd_to_double(fit->sums[GR_MULTINOM_LOG_LIKELIHOOD]);
	bool		falls = !(log_likelihood >= s->log_likelihood - 1e-9 * (1 + fabs(s->log_likelihood)));

	if (fit->sums[GR_MULTINOM_UNKNOWN].hi > 0 || fit->sums[GR_MULTINOM_NROWS].hi != fit->nrows)
		return gr_fail(err, GR_INVALID, 0, "rows are others when they are read again");
	if (falls && isfinite(s->log_likelihood) && s->nhalvings < HALVINGS_MAX)
	{
		s->nhalvings++;
		for (int k = 0; k < s->m; k++)
			s->step[k] /= 2;
		go(fit);
		return true;
	}
	memcpy(s->beta, s->next, (size_t) s->m * sizeof(double));
	fit->iterations += isfinite(s->log_likelihood);
	s->log_likelihood = fit->log_likelihood = log_likelihood;
	if (!solve(fit, was_exact, host, err))
		return false;
	if (s->inverted && (s->length <= LAST_LENGTH || fit->iterations >= s->options.max_iter))
	{
		for (int k = 0; k < s->m && s->length <= LAST_LENGTH; k++)
		{
			GrDD		sum = gr_two_sum(s->beta[k], s->step[k]);

			s->beta[k] = sum.hi;
			s->beta_lo[k] = sum.lo;
		}
		finish(fit, s->nslow < 3 && s->length <= s->options.tol);
		return true;
	}
	fit->pass.exact |= s->length <= LAST_LENGTH || fit->iterations >= s->options.max_iter;
	s->nhalvings = 0;
	go(fit);
	return true;
}

bool
gr_ordinal_advance(GrOrdinalFit *fit, const GrHost *host, GrError *err)
{
	return fit->state->started ? take_step(fit, host, err) : take_start(fit, host, err);
}
