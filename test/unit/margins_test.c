/*
 * margins_test.c: tests derivatives of means and of features against differences, and average marginal effects against
 * sums over rows in long double.
 */
#include <stdlib.h>
#include <string.h>

#include "compute/design/design_text.h"
#include "compute/glm/margins.h"

#include "unit.h"

/* y ~ poly(x, 3) * g + x:z + h without an intercept; g has three levels, all with a feature, h two */
static const char design_text[] =
	"1 \"\" 4 n \"x\" f \"g\" 3 \"a\" \"b\" \"c\" n \"z\" f \"h\" 2 \"u\" \"v\" "
	"5 1 p 0 3 1 d 1 2 n 0 n 2 1 c 3 2 p 0 3 c 1";

/* The columns of design_text with powers of x about 3/2 and of z about -2 */
static const char centered_text[] =
	"1 \"\" 4 n \"x\" f \"g\" 3 \"a\" \"b\" \"c\" n \"z\" f \"h\" 2 \"u\" \"v\" "
	"2 1 q 0 3 3ff8000000000000 2 q 2 2 c000000000000000 d 1";

#define NCOLUMNS 4
#define NFEATURES (3 + 3 + 1 + 1 + 6)
#define NTERMS (NFEATURES + 1)

static const char *const link_names[GR_NLINKS] = {"identity", "logit", "probit", "cloglog", "log", "sqrt", "inverse"};

static void *
take(void *arg, size_t nbytes)
{
	(void) arg;
	return malloc(nbytes);
}

static const GrMemory memory = {take, NULL};

static uint32_t seed = 1;

static uint32_t
draw(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

/*
 * Means
 */

static long double
mean_of(GrLink link, long double eta)
{
	switch (link)
	{
		case GR_LOGIT:
			return 1 / (1 + expl(-eta));
		case GR_PROBIT:
			return 0.5L * erfcl(-eta * M_SQRT1_2);
		case GR_CLOGLOG:
			return -expm1l(-expl(eta));
		case GR_LOG:
			return expl(eta);
		case GR_SQRT:
			return eta * eta;
		case GR_INVERSE:
			return 1 / eta;
		default:
			return eta;
	}
}

/*
 * Returns a difference's error relative to its size; also to the square root of the means' size, as eta + by is
 * rounded.
 */
static double
difference_error(GrLink link, double eta, double by)
{
	double		got = gr_mean_difference(link, eta + by, eta, by);
	long double to = (long double) eta + by;
	long double want = mean_of(link, to) - mean_of(link, eta);

	/* near 1 even long double leaves the difference few digits */
	if (link == GR_CLOGLOG)
		want = expl(-expl(eta)) - expl(-expl(to));
	return (double) (fabsl(got - want) / (link == GR_SQRT ? to * to + eta * eta : fabsl(want)));
}

static void
test_links(void)
{
	for (int link = 0; link < GR_NLINKS; link++)
	{
		double		worst = 0;
		double		apart = 0;

		for (double eta = -3.95; eta < 3.5; eta += 0.1)
		{
			long double h = 1e-4L;
			long double low = mean_of(link, eta - h);
			long double middle = mean_of(link, eta);
			long double high = mean_of(link, eta + h);

			worst = fmax(worst, fabs((double) ((high - low) / (2 * h)) - gr_mean_slope(link, eta)));
			worst = fmax(worst, 0.01 * fabs((double) ((high - 2 * middle + low) / (h * h)) -
											gr_mean_curvature(link, eta)));
			for (double by = -2; by <= 2; by += 0.25)
				if (by != 0 && (link != GR_INVERSE || eta * (eta + by) > 0.01))
					apart = fmax(apart, difference_error(link, eta, by));
		}
		check(worst < (link == GR_INVERSE ? 2.0 : 1e-6), "%s: slope and curvature, to %.1e", link_names[link], worst);
		check(apart < 2e-14, "%s: differences, to %.1e", link_names[link], apart);
	}
	for (int link = GR_LOGIT; link <= GR_CLOGLOG; link++)
		check(gr_mean_slope(link, INFINITY) == 0 && gr_mean_slope(link, -INFINITY) == 0 &&
			  gr_mean_curvature(link, INFINITY) == 0 && gr_mean_curvature(link, -INFINITY) == 0 &&
			  gr_mean_difference(link, INFINITY, -INFINITY, INFINITY) == 1 &&
			  gr_mean_difference(link, -INFINITY, INFINITY, -INFINITY) == -1 &&
			  gr_mean_difference(link, INFINITY, INFINITY, NAN) == 0, "%s: limits", link_names[link]);
	/* a small step must keep its digits in either tail */
	check(relative_error(gr_mean_difference(GR_LOGIT, 40 + 0x1p-20, 40, 0x1p-20), 0x1p-20 * exp(-40)) < 1e-6 &&
		  relative_error(gr_mean_difference(GR_LOGIT, -40, -40 - 0x1p-20, 0x1p-20), 0x1p-20 * exp(-40)) < 1e-6 &&
		  relative_error(gr_mean_difference(GR_CLOGLOG, -40, -40 - 0x1p-20, 0x1p-20), 0x1p-20 * exp(-40)) < 1e-6,
		  "differences in the tails");
}

/*
 * Features
 */

static void
draw_row(const GrDesign *design, double *values)
{
	for (int k = 0; k < design->ncolumns; k++)
	{
		values[k] = design->columns[k].is_number ? (draw(2001) - 1000.0) / 512 : 0;
		values[design->ncolumns + k] = design->columns[k].is_factor ? draw((uint32_t) design->columns[k].levels.n) : 0;
	}
}

/* Computes the features' differences over a small step of a column. */
static void
test_duals(const GrDesign *design, int column)
{
	bool		same = true;
	double		worst = 0;

	for (int round = 0; round < 200; round++)
	{
		double		values[2 * NCOLUMNS];
		double		plain[NFEATURES] = {0};
		double		low[NFEATURES] = {0};
		double		high[NFEATURES] = {0};
		double		seen[NFEATURES] = {0};
		double		slopes[NFEATURES] = {0};
		GrDual		duals[NFEATURES];
		int			n;

		draw_row(design, values);
		n = gr_design_duals(design, column, values, duals);
		gr_design_expand(design, values, plain);
		for (int k = 0; k < n; k++)
		{
			same &= k == 0 || duals[k].feature > duals[k - 1].feature;
			seen[duals[k].feature] = gr_dd_to_double(duals[k].value);
			slopes[duals[k].feature] = gr_dd_to_double(duals[k].slope);
		}
		for (int k = 0; k < NFEATURES; k++)
			same &= relative_error(seen[k], plain[k]) < 1e-15;
		if (column >= 0)
		{
			values[column] -= 0x1p-12;
			gr_design_expand(design, values, low);
			values[column] += 0x1p-11;
			gr_design_expand(design, values, high);
		}
		for (int k = 0; k < NFEATURES; k++)
			worst = fmax(worst, fabs(slopes[k] - (column < 0 ? 0 : (high[k] - low[k]) * 0x1p11)));
	}
	check(same, "column %d: features are those that are expanded", column);
	check(worst < 1e-6, "column %d: slopes, to %.1e", column, worst);
}

/*
 * Effects
 */

#define NROWS 50

static long double
eta_of(const GrDesign *design, const double *coef, const double *values)
{
	double		features[NFEATURES];
	long double eta = isnan(coef[0]) ? 0 : coef[0];

	gr_design_expand(design, values, features);
	for (int k = 0; k < NFEATURES; k++)
		eta += isnan(coef[1 + k]) ? 0 : (long double) coef[1 + k] * features[k];
	return eta;
}

/* Computes an effect by differences of means with these coefficients. */
static double
effect_of(const GrDesign *design, GrLink link, const double *coef, double rows[NROWS][2 * NCOLUMNS],
		  const GrMarginEffect *effect)
{
	long double sum = 0;
	long double weights = 0;

	for (int r = 0; r < NROWS; r++)
	{
		long double weight = 1 + r % 3;
		long double step = effect->is_step ? 1 : 0x1p-11;
		double		from[2 * NCOLUMNS];
		double		to[2 * NCOLUMNS];

		memcpy(from, rows[r], sizeof(from));
		memcpy(to, rows[r], sizeof(to));
		if (effect->is_step)
		{
			from[effect->column] = effect->from.number;
			from[NCOLUMNS + effect->column] = effect->from.level;
			to[effect->column] = effect->to.number;
			to[NCOLUMNS + effect->column] = effect->to.level;
		}
		else
		{
			from[effect->column] -= 0x1p-12;
			to[effect->column] += 0x1p-12;
		}
		sum += weight * (mean_of(link, eta_of(design, coef, to)) - mean_of(link, eta_of(design, coef, from))) / step;
		weights += weight;
	}
	return (double) (sum / weights);
}

static void
test_effects(const GrDesign *design, GrLink link, bool aliased)
{
	GrMarginEffect effects[] = {
		{.column = 0}, {.column = 1,.is_step = true,.to = {0, 1}}, {.column = 1,.is_step = true,.to = {0, 2}},
		{.column = 2}, {.column = 3,.is_step = true,.to = {0, 1}}, {.column = 2,.is_step = true,.to = {1, 0}}
	};
	double		coef[NTERMS] = {aliased ? NAN : 3};
	double		rows[NROWS][2 * NCOLUMNS];
	GrDD		gradient[NTERMS];
	GrPoll		poll = {0};
	GrMargins	m = {
		.design = design,.link = link,.intercept = true,.nterms = NTERMS,.coef = coef,.neffects = COUNT(effects),
		.effects = effects,.want_gradients = true
	};
	double		worst = 0;
	double		steepest = 0;

	for (int k = 1; k < NTERMS; k++)
		coef[k] = aliased && k == 5 ? NAN : (draw(101) - 50.0) / 1024;
	check(gr_margins_begin(&m, memory), "%s: begun", link_names[link]);
	for (int r = 0; r < NROWS; r++)
	{
		draw_row(design, rows[r]);
		(void) gr_margins_add(&m, rows[r], 1 + r % 3, 0, &poll);
	}
	for (int e = 0; e < COUNT(effects); e++)
	{
		worst = fmax(worst, fabs(gr_margins_average(&m, e, gradient) -
								 effect_of(design, link, coef, rows, &effects[e])));
		for (int k = 0; k < NTERMS; k++)
		{
			double		changed[2][NTERMS];
			double		difference;

			if (isnan(coef[k]))
				continue;
			memcpy(changed[0], coef, sizeof(coef));
			memcpy(changed[1], coef, sizeof(coef));
			changed[0][k] -= 0x1p-8;
			changed[1][k] += 0x1p-8;
			difference = effect_of(design, link, changed[1], rows, &effects[e]) -
				effect_of(design, link, changed[0], rows, &effects[e]);
			steepest = fmax(steepest, fabs(gr_dd_to_double(gradient[k]) - difference * 0x1p7) /
							(1 + fabs(difference * 0x1p7)));
		}
	}
	check(worst < 1e-4, "%s: effects, to %.1e", link_names[link], worst);
	check(steepest < 1e-2, "%s: gradients, to %.1e", link_names[link], steepest);
}

/* Checks that a row of many effects stops when the host says so. */
static void
test_cancel(const GrDesign *design)
{
	static GrMarginEffect effects[200000];
	double		coef[NTERMS] = {0};
	double		values[2 * NCOLUMNS];
	Stopper		stopper = {.stop_at = 2};
	GrHost		host = {.canceled = stop,.arg = &stopper};
	GrPoll		poll = {.host = &host};
	GrMargins	m = {
		.design = design,.link = GR_LOG,.intercept = true,.nterms = NTERMS,.coef = coef,.neffects = COUNT(effects),
		.effects = effects
	};

	draw_row(design, values);
	check(gr_margins_begin(&m, memory) && !gr_margins_add(&m, values, 1, 0, &poll) && stopper.asked == 2, "canceled");
}

/* Fails once, after *arg calls */
static void *
take_but_one(void *arg, size_t nbytes)
{
	int		   *left = arg;

	return (*left)-- == 0 ? NULL : malloc(nbytes);
}

/* Checks that effects don't begin if memory fails, at whichever allocation. */
static void
test_memory(const GrDesign *design)
{
	double		coef[NTERMS] = {0};
	int			nfailed = 0;
	int			left = -1;

	for (int given = 0; given < 100 && left < 0; given++)
	{
		GrMarginEffect effects[3] = {{.column = 0}, {.column = 1,.is_step = true}, {.column = 0}};
		GrMargins	m = {
			.design = design,.link = GR_LOG,.intercept = true,.want_gradients = true,.nterms = NTERMS,.coef = coef,
			.neffects = COUNT(effects),.effects = effects
		};
		bool		begun;

		left = given;
		begun = gr_margins_begin(&m, (GrMemory) {take_but_one, &left});
		nfailed += !begun;
		if (left >= 0)
			check(begun && nfailed == given && nfailed > 5, "no memory, at each of %d places", nfailed);
	}
	check(left >= 0, "enough of it");
}

int
main(void)
{
	GrDesign   *design = gr_design_read(design_text, sizeof(design_text) - 1, memory);
	GrDesign   *centered = gr_design_read(centered_text, sizeof(centered_text) - 1, memory);

	if (!check(design != NULL && design->nfeatures == NFEATURES && design->ncolumns == NCOLUMNS, "the design"))
		return unit_done();
	test_links();
	for (int column = -1; column < NCOLUMNS; column++)
		test_duals(design, column);
	if (check(centered != NULL && centered->nfeatures <= NFEATURES, "the design of centered powers"))
		for (int column = -1; column < NCOLUMNS; column++)
			test_duals(centered, column);
	for (int link = 0; link < GR_NLINKS; link++)
		test_effects(design, (GrLink) link, link % 2 == 1);
	test_cancel(design);
	test_memory(design);
	return unit_done();
}
