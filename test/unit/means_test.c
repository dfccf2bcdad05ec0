/*
 * means_test.c: tests the vectorised rows of mean_cpu.h: the same bits on all instruction sets, and the values of the
 * definitions in long double.
 */
#include <math.h>
#include <string.h>

#include "compute/glm/glm_row.h"
#include "compute/glm/step_cpu.h"
#include "negbin_table.h"
#include "unit.h"

#define NROWS 64
#define PITCH (NROWS + 8)

typedef struct Rows
{
	double		eta[PITCH];
	double		y[PITCH];
	double		prior[PITCH];
	double		u[PITCH];
	double		v[PITCH];
	double		half[PITCH];
} Rows;

static double
uniform(void)
{
	return (double) random() / 2147483648.0;
}

/* Makes predictors in +- reach, and responses near the mean (share 0), at random (1), or 0 in every fourth row. */
static void
make_rows(Rows *rows, GrFamily family, double reach, double share)
{
	memset(rows, 0, sizeof(*rows));
	for (int r = 0; r < NROWS; r++)
	{
		double		mu;

		rows->eta[r] = reach * (2 * uniform() - 1);
		mu = exp(rows->eta[r]);
		rows->y[r] = mu * exp(share * 8 * (uniform() - 0.5) + 1e-3 * uniform());
		if (family != GR_GAMMA && r % 4 == 0)
			rows->y[r] = 0;
		rows->prior[r] = 0.25 + 4 * uniform();
	}
}

/* Returns half the deviance of a row in long double, from its definition. */
static long double
half_deviance(GrDistribution distribution, long double y, long double mu)
{
	long double theta = distribution.theta;

	if (distribution.family == GR_POISSON)
		return (y > 0 ? y * logl(y / mu) : 0) - (y - mu);
	if (distribution.family == GR_GAMMA)
		return -logl(y / mu) + (y - mu) / mu;
	return (y > 0 ? y * logl(y / mu) : 0) - (y + theta) * log1pl((y - mu) / (mu + theta));
}

/* Returns a bound of the magnitude of the terms that the definition adds. */
static long double
magnitude(GrDistribution distribution, long double y, long double mu)
{
	return distribution.family == GR_GAMMA ? fabsl(logl(y / mu)) + fabsl(y - mu) / mu :
		(y > 0 ? y * fabsl(logl(y / mu)) : 0) + fabsl(y - mu);
}

/* Largest relative errors of w, r and the half deviance. */
typedef struct Errors
{
	double		weight;
	double		residual;
	double		deviance;
} Errors;

static void
compare(const Rows *rows, GrDistribution distribution, bool observed, bool weighted, Errors *errors)
{
	for (int r = 0; r < NROWS; r++)
	{
		long double mu = expl(rows->eta[r]);
		long double y = rows->y[r];
		long double prior = weighted ? rows->prior[r] : 1;
		long double m = mu + distribution.theta;
		long double w = distribution.family == GR_POISSON ? mu : distribution.family == GR_GAMMA ?
			(observed ? y / mu : 1) : mu * distribution.theta / m *
			(observed ? (y + distribution.theta) / m : 1);
		long double g = distribution.family == GR_POISSON ? y - mu : distribution.family == GR_GAMMA ?
			(y - mu) / mu : (y - mu) * distribution.theta / m;
		/* the mean of a row is rounded to float8, so that a residual that cancels is off by that */
		double		scale = (double) (prior * (fabsl(g) + 1e-3L * (distribution.family == GR_GAMMA ? 1 : mu)));
		long double half = prior * half_deviance(distribution, y, mu);
		double		rounding = (double) (1e-19L * prior * magnitude(distribution, y, mu));

		errors->weight = fmax(errors->weight, relative_error(rows->u[r] * rows->u[r], (double) (prior * w)));
		errors->residual = fmax(errors->residual, fabs((double) (rows->u[r] * rows->v[r] - prior * g)) / scale);
		/* the deviance moves by the residual times the error of eta's mean */
		errors->deviance = fmax(errors->deviance, (fabs((double) (rows->half[r] - half)) - 8 * rounding) /
								((double) half + 1e-3 * scale));
	}
}

static void
test_family(GrDistribution distribution, bool observed, bool weighted)
{
	static const double reaches[] = {0.5, 8, 200};
	Errors		errors = {0};
	GrMeanRule	rule = gr_mean_rule(distribution, observed);
	bool		same = true;

	for (int k = 0; k < 3 * 2; k++)
	{
		Rows		rows;
		Rows		first;

		make_rows(&rows, distribution.family, reaches[k / 2], k % 2);
		for (int lanes = 1; lanes <= 8; lanes *= 2)
		{
			const GrStepVersion *version = gr_step_version(lanes);
			GrMeanRows	means = {rows.eta, rows.y, weighted ? rows.prior : NULL, rows.u, rows.v, rows.half, NROWS};

			same &= version->in_range(rows.eta, rows.y, rule.unit, NROWS);
			version->mean_rows_exact(&rule, &means);
			if (lanes == 1)
				first = rows;
			same &= memcmp(&first, &rows, sizeof(rows)) == 0;
		}
		compare(&rows, distribution, observed, weighted, &errors);
	}
	check(same, "%s: the same bits on all instruction sets", gr_family(distribution.family)->name);
	check(errors.weight < 2e-15 && errors.residual < 2e-12 && errors.deviance < 2e-13,
		  "%s, theta %g, observed %d, weighted %d: errors %.2g, %.2g, %.2g", gr_family(distribution.family)->name,
		  distribution.theta, observed, weighted, errors.weight, errors.residual, errors.deviance);
}

/* Checks half deviances against negbin_table.h, which has 25 digits. */
static void
test_table(void)
{
	double		worst = 0;
	double		plain = 0;

	for (int k = 0; k < COUNT(negbin_rows); k++)
	{
		GrDistribution distribution = {GR_NEGATIVE_BINOMIAL, GR_LOG, negbin_rows[k].theta, 0};
		GrMeanRule	rule = gr_mean_rule(distribution, false);
		double		mu = negbin_rows[k].mu;
		Rows		rows;
		GrMeanRows	means = {rows.eta, rows.y, NULL, rows.u, rows.v, rows.half, 8};
		double		rounding;

		memset(&rows, 0, sizeof(rows));
		for (int r = 0; r < 8; r++)
		{
			rows.eta[r] = log(mu);
			rows.y[r] = negbin_rows[k].y;
		}
		if (!gr_has_mean_rows(distribution) || !gr_step_version(8)->in_range(rows.eta, rows.y, 1, 8))
			continue;
		gr_step_version(8)->mean_rows_exact(&rule, &means);
		/* a rounded predictor moves the mean by eta 2^-53 of itself */
		rounding = fabs(rows.y[0] - mu) * (1 + fabs(rows.eta[0])) * 0x1p-52 + mu * 0x1p-104;
		worst = fmax(worst, (fabs(rows.half[0] - negbin_rows[k].half_deviance) - rounding) /
					 negbin_rows[k].half_deviance);
		plain = fmax(plain, (fabs(gr_glm_row(distribution, rows.eta[0], rows.y[0], 1).half_deviance -
								  negbin_rows[k].half_deviance) - rounding) / negbin_rows[k].half_deviance);
	}
	check(worst < 1e-14, "deviances of the table: error %.2g, by glm_row.h %.2g", worst, plain);
}

/* Checks that rows beyond the bounds are refused, in any lane. */
static void
test_range(void)
{
	static const struct
	{
		double		eta;
		double		y;
		bool		in_range;
	}			cases[] = {
		{0, 0, true}, {460, 1, true}, {-460, 1e100, true}, {461, 1, false}, {-461, 1, false}, {NAN, 1, false},
		{INFINITY, 1, false}, {-INFINITY, 0, false}, {0, 1e-101, false}, {0, 1e101, false}, {0, 0x1p-1074, false}
	};
	bool		right = true;

	for (int lanes = 1; lanes <= 8; lanes *= 2)
		for (int k = 0; k < COUNT(cases); k++)
			for (int at = 0; at < 19; at++)
			{
				Rows		rows;

				make_rows(&rows, GR_POISSON, 3, 1);
				rows.eta[at] = cases[k].eta;
				rows.y[at] = cases[k].y;
				right &= gr_step_version(lanes)->in_range(rows.eta, rows.y, 1, 19) == cases[k].in_range;
			}
	check(right, "rows out of range are refused");
}

int
main(void)
{
	static const double thetas[] = {0.01, 1, 7, 1e6, 1e30};

	for (int weighted = 0; weighted < 2; weighted++)
	{
		test_family((GrDistribution) {GR_POISSON, GR_LOG, 0, 0}, false, weighted);
		for (int observed = 0; observed < 2; observed++)
		{
			test_family((GrDistribution) {GR_GAMMA, GR_LOG, 0, 0}, observed, weighted);
			for (int k = 0; k < COUNT(thetas); k++)
				test_family((GrDistribution) {GR_NEGATIVE_BINOMIAL, GR_LOG, thetas[k], 0}, observed, weighted);
		}
	}
	test_table();
	test_range();
	return unit_done();
}
