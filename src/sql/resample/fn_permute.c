/*
 * fn_permute.c: gpu_ols_permute, which tests coefficients of a linear regression by flipping signs, over a query or
 * kept rows.
 *
 * The method is Freedman and Lane's (1983), for signs as in Winkler et al. (2014, "Permutation inference for the
 * general linear model", NeuroImage 92). To test term k, the model without term k is fitted. Replicate r fits the whole
 * model to that fit plus its residuals, each with the sign that is drawn for its row (flip_draw.h). The t of the
 * replicate is compared with that of the original fit. Flips are valid if errors are independent and symmetric.
 *
 * Residuals of the full model (ter Braak 1992) would be cheaper, but rows with a large leverage have small residuals:
 * with signs such tests reject too often, about 13% of the time at a level of 5% with 32 rows and 4 terms.
 *
 * One set of draws and one pass serve all terms, by the sums G and h of boot.h. Let b be the coefficient of term k in
 * the fit, and a the vector such that a'h is a coefficient (gr_boot_influence()). The part of term k that the other
 * terms do not explain is q'a / a'a. So residuals of the model without term k are v + q'c, with c = a b / a'a, and
 * their sum of squares is e'e + b^2 / a'a. A replicate has g = h + G c. Its coefficient is a'g, and because X'X does
 * not change, its residual sum of squares is that sum less g'g.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "compute/resample/boot_fit.h"
#include "rows/query/query.h"
#include "rows/sums/source.h"
#include "run/args.h"
#include "run/clock.h"
#include "run/job.h"
#include "sql/resample/boot_begin.h"

PG_FUNCTION_INFO_V1(gr_ols_permute);

/*
 * A replicate counts as extreme if its |t| is at most this share below that of the fit. So ties count whatever rounding
 * does, and however rows are divided among workers.
 */
#define TIE_SHARE 1e-10

/* A test: its fit and passes, and data per term. */
typedef struct Permutation
{
	GrBoot		boot;
	double		rss;			/* residual sum of squares; NaN: there are no residuals to flip */
	double	   *influence;		/* model.nterms x nactive: vector a of each term, divided by its length sqrt(a'a) */
	double	   *along;			/* model.nterms: coefficients divided by that length */
	double	   *statistic;		/* model.nterms: t of the fit; NaN: not defined */
	int		   *nextreme;		/* model.nterms: number of replicates whose |t| is at least the fit's */
} Permutation;

/* Returns a'b. */
static double
multiply(const double *a, const double *b, int n)
{
	double		sum = 0;

	for (int i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

/* Computes t of the fit, and the data per term that replicates need. */
static void
begin_terms(Permutation *p)
{
	GrGlmFit *fit = p->boot.f.fit;
	int			n = fit->nterms;
	int			t = gr_nterms(p->boot.pass.shape.nfeatures);
	double		dispersion = gr_model_mean_square(fit->pearson, (double) fit->df_residual);

	p->rss = dispersion > 0 ? fit->pearson : NAN;
	p->influence = palloc_extended((Size) n * p->boot.pass.nactive * sizeof(double), MCXT_ALLOC_HUGE);
	gr_boot_influence(fit, &p->boot.pass, p->influence, palloc(2 * t * sizeof(double)));
	p->along = palloc(n * sizeof(double));
	p->statistic = palloc(n * sizeof(double));
	p->nextreme = palloc0(n * sizeof(int));
	for (int k = 0; k < n; k++)
	{
		double	   *line = p->influence + (Size) k * p->boot.pass.nactive;
		double		length = sqrt(multiply(line, line, p->boot.pass.nactive));

		for (int j = 0; j < p->boot.pass.nactive; j++)
			line[j] /= length;
		p->along[k] = fit->coef[k] / length;
		p->statistic[k] = dispersion > 0 ?
			fit->coef[k] / sqrt(fit->vcov[(Size) k * n + k]) / sqrt(dispersion) : NAN;
	}
}

/*
 * True if |t| of term k in a replicate is at least the fit's. gram (n x n) and h: sums of the replicate; c, g: work
 * space of n numbers each.
 */
static bool
is_extreme(const Permutation *p, int k, const double *gram, const double *h, double *c, double *g)
{
	int			n = p->boot.pass.nactive;
	const double *a = p->influence + (Size) k * n;
	double		left = p->rss + p->along[k] * p->along[k];

	for (int j = 0; j < n; j++)
		c[j] = a[j] * p->along[k];
	for (int i = 0; i < n; i++)
		g[i] = h[i] + multiply(gram + (Size) i * n, c, n);
	/* if everything is fitted, rounding may make this negative */
	left = Max(left - multiply(g, g, n), 0);
	return fabs(multiply(a, g, n)) >=
		fabs(p->statistic[k]) * sqrt(left / (double) p->boot.f.fit->df_residual) * (1 - TIE_SHARE);
}

/* Counts replicate r of a pass for each term. work: n (n + 3) numbers, n = nactive. */
static void
count_replicate(Permutation *p, const double *sums, int r, double *work)
{
	const GrBootPass *pass = &p->boot.pass;
	int			n = pass->nactive;
	const double *at = sums + GR_BOOT_HEAD + r;
	double	   *h = work + (Size) n * n;

	for (int i = 0; i < n; i++)
		for (int j = 0; j <= i; j++, at += pass->nreps)
			work[(Size) i * n + j] = work[(Size) j * n + i] = *at;
	for (int i = 0; i < n; i++, at += pass->nreps)
		h[i] = *at;
	for (int k = 0; k < p->boot.f.fit->nterms; k++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!isnan(p->statistic[k]) && is_extreme(p, k, work, h, h + n, h + 2 * n))
			p->nextreme[k]++;
	}
}

/* Makes all replicates, in as few passes as memory allows, and counts the extreme ones per term. */
static void
make_replicates(Permutation *p)
{
	GrBoot	   *boot = &p->boot;
	GrBootPass *pass = &boot->pass;
	int			step = gr_boot_reps_a_pass(pass->nactive, boot->reps, GR_BOOT_SUMS_NBYTES);
	double	   *work = palloc_extended((Size) pass->nactive * (pass->nactive + 3) * sizeof(double), MCXT_ALLOC_HUGE);
	double	   *sums;

	pass->flips = true;
	pass->nreps = step;
	sums = palloc_extended(gr_boot_nsums(pass) * sizeof(double), MCXT_ALLOC_HUGE);
	for (int first = 0; first < boot->reps; first += step)
	{
		pass->first = first;
		pass->nreps = Min(step, boot->reps - first);
		memset(sums, 0, gr_boot_nsums(pass) * sizeof(double));
		gr_boot_sums(boot, pass, sums);
		for (int r = 0; r < pass->nreps; r++)
			count_replicate(p, sums, r, work);
	}
	pfree(sums);
	pfree(work);
}

/* Fits the rows and counts the extreme replicates of each term. */
static void
run_test(FunctionCallInfo fcinfo, Permutation *p)
{
	GrBoot	   *boot = &p->boot;
	double		started = gr_now();
	ErrorContextCallback context;

	gr_enter_query(&context, boot->rows.query);
	gr_boot_fit_rows(fcinfo, boot, (GrDistribution) {GR_GAUSSIAN, GR_IDENTITY, 0, 0});
	begin_terms(p);
	if (!isnan(p->rss) && boot->pass.nactive > 0)
		make_replicates(p);
	gr_record_rows(boot->f.data, boot->name, started);
	gr_leave_query(&context);
	gr_release_rows(boot->f.data);
}

/*
 * gpu_ols_permute(query text, reps int, key text, seed bigint, intercept boolean, formula text, weights text, clusters
 * text, kept text, rows text): returns term, estimate, t, p-value and number of replicates for each term
 */
Datum
gr_ols_permute(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Permutation p = {.boot = {.name = "gpu_ols_permute",.flips = true}};

	InitMaterializedSRF(fcinfo, 0);
	gr_boot_read_arguments(fcinfo, &p.boot);
	run_test(fcinfo, &p);
	for (int k = 0; k < p.boot.model.nterms; k++)
	{
		double		share = (1.0 + p.nextreme[k]) / (1.0 + p.boot.reps);
		double		numbers[] = {p.boot.f.fit->coef[k], p.statistic[k], isnan(p.statistic[k]) ? NAN : share};
		Datum		values[5] = {CStringGetTextDatum(gr_model_term(&p.boot.model, k))};
		bool		nulls[5] = {false};

		for (int i = 0; i < (int) lengthof(numbers); i++)
		{
			values[i + 1] = Float8GetDatum(numbers[i]);
			nulls[i + 1] = isnan(numbers[i]);
		}
		values[4] = Int32GetDatum(p.boot.reps);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
		CHECK_FOR_INTERRUPTS();
	}
	return (Datum) 0;
}
