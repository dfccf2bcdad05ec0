/*
 * fn_boot.c: the Poisson bootstrap of a regression over a query or kept rows: gpu_ols_boot, gpu_logreg_boot, and
 * functions that return the replicates as rows.
 *
 * The rows are first fitted, in double-double. Further passes then sum the replicates, as many per pass as there is
 * memory for their sums. Each replicate is one Newton step from the fit, or several with method 'newton'. See boot.h.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "compute/base/dd.h"
#include "compute/resample/boot_draw.h"
#include "compute/resample/boot_fit.h"
#include "compute/resample/boot_interval.h"
#include "rows/columns/columns.h"
#include "rows/query/query.h"
#include "rows/sums/boot_clusters.h"
#include "rows/sums/source.h"
#include "run/args.h"
#include "run/clock.h"
#include "run/job.h"
#include "run/raise.h"
#include "run/result.h"
#include "sql/resample/boot_begin.h"

PG_FUNCTION_INFO_V1(gr_ols_boot);
PG_FUNCTION_INFO_V1(gr_logreg_boot);
PG_FUNCTION_INFO_V1(gr_ols_boot_replicates);
PG_FUNCTION_INFO_V1(gr_logreg_boot_replicates);

/*
 * Convergence of a replicate. STEP_LAST: length of the last step in standard errors, whose square is rounding error.
 * STEPS_MAX: a replicate that needs more steps has no estimate.
 */
#define STEP_LAST 1e-7
#define STEPS_MAX 25

/*
 * Arguments
 */

static void
read_method(FunctionCallInfo fcinfo, GrBoot *boot)
{
	char	   *name;

	if (fcinfo->nargs <= GR_BOOT_ARG_METHOD(fcinfo))
		return;
	if (PG_ARGISNULL(GR_BOOT_ARG_METHOD(fcinfo)))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("method must not be null")));
	name = text_to_cstring(PG_GETARG_TEXT_PP(GR_BOOT_ARG_METHOD(fcinfo)));
	boot->iterates = strcmp(name, "newton") == 0;
	if (!boot->iterates && strcmp(name, "one-step") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown method \"%s\"", name),
				 errhint("Use 'one-step' or 'newton'.")));
}

static void
read_arguments(FunctionCallInfo fcinfo, GrBoot *boot)
{
	gr_boot_read_arguments(fcinfo, boot);
	read_method(fcinfo, boot);
}

static double
read_conf_level(FunctionCallInfo fcinfo)
{
	double		conf_level = PG_GETARG_FLOAT8(GR_BOOT_ARG_CONF_LEVEL);

	if (!(conf_level > 0 && conf_level < 1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("conf_level must be between 0 and 1, got %g", conf_level),
				 errhint("0.95 gives 95%% confidence limits.")));
	return conf_level;
}

static GrBootKind
read_kind(FunctionCallInfo fcinfo)
{
	static const char *const kinds[] = {"percentile", "basic", "normal", "bca"};
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(GR_BOOT_ARG_KIND));

	for (int k = 0; k < (int) lengthof(kinds); k++)
		if (pg_strcasecmp(name, kinds[k]) == 0)
			return (GrBootKind) k;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown kind \"%s\"", name),
			 errhint("Use 'percentile', 'basic', 'normal' or 'bca'.")));
}

/*
 * Replicates
 */

/* Solves the replicates of a pass, and stores them from replicate number `first` on. */
static void
take_replicates(GrBoot *boot, const double *sums, int first, double *work)
{
	const GrGlmFit *fit = boot->f.fit;
	int			t = gr_nterms(boot->pass.shape.nfeatures);
	double	   *delta = work;

	for (int r = 0; r < boot->pass.nreps; r++)
	{
		bool		found = gr_boot_solve(&boot->pass, sums, r, delta, work + 2 * t);

		CHECK_FOR_INTERRUPTS();
		boot->singular[first + r] = !found;
		boot->nsingular += found ? 0 : 1;
		if (found)
			gr_boot_to_model(fit, delta, delta + t);
		for (int k = 0; k < fit->nterms; k++)
			boot->coef[(Size) k * boot->reps + first + r] = found ? fit->coef[k] + delta[k] : NAN;
	}
}

/*
 * Newton's steps
 */

/* The replicates of a pass while they are iterated; n = pass.nactive. */
typedef struct Iterating
{
	GrBootPass	pass;
	double	   *steps;			/* nreps x n: current steps from the fit */
	double	   *asked;			/* copy of steps for a pass; NaN as the first number of a finished replicate */
	bool	   *done;
	bool	   *failed;
	int			nleft;
} Iterating;

/* Takes a step of replicate r from the sums of a pass, in which it is number at. */
static void
take_step(Iterating *it, int r, const GrBootPass *pass, const double *sums, int at, double *work)
{
	int			n = it->pass.nactive;
	const double *step = work + 2 * gr_nterms(pass->shape.nfeatures) + GR_BOOT_STEP(n);
	double		square = 0;

	if (!gr_boot_solve(pass, sums, at, work, work + 2 * gr_nterms(pass->shape.nfeatures)))
		it->failed[r] = true;
	for (int i = 0; i < n && !it->failed[r]; i++)
	{
		it->steps[(Size) r * n + i] += step[i];
		square += step[i] * step[i];
	}
	it->failed[r] |= !isfinite(square);
	it->done[r] = it->failed[r] || square <= STEP_LAST * STEP_LAST;
	it->nleft -= it->done[r] ? 1 : 0;
}

/* Makes one step of all unfinished replicates, in one pass over the rows. */
static void
step_together(GrBoot *boot, Iterating *it, double *sums, double *work)
{
	int			n = it->pass.nactive;

	memcpy(it->asked, it->steps, (Size) it->pass.nreps * n * sizeof(double));
	for (int r = 0; r < it->pass.nreps; r++)
		if (it->done[r])
			it->asked[(Size) r * n] = NAN;
	it->pass.steps = it->asked;
	memset(sums, 0, gr_boot_nsums(&it->pass) * sizeof(double));
	gr_boot_sums(boot, &it->pass, sums);
	for (int r = 0; r < it->pass.nreps; r++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!it->done[r])
			take_step(it, r, &it->pass, sums, r, work);
	}
}

/*
 * Makes one step of each unfinished replicate, in a pass of its own about its own coefficients. For devices, which have
 * no pass for step_together().
 */
static void
step_one_by_one(GrBoot *boot, Iterating *it, double *sums, double *work)
{
	int			n = it->pass.nactive;
	int			t = gr_nterms(it->pass.shape.nfeatures);
	double	   *beta = palloc(2 * t * sizeof(double));

	for (int r = 0; r < it->pass.nreps; r++)
	{
		GrBootPass	one = it->pass;

		if (it->done[r])
			continue;
		for (int j = 0; j < t; j++)
		{
			GrDD		sum = {it->pass.beta[j], it->pass.beta_lo[j]};

			for (int i = 0; i < n; i++)
				sum = gr_dd_add(sum, gr_two_prod(it->pass.factor[(Size) i * t + j], it->steps[(Size) r * n + i]));
			beta[j] = sum.hi;
			beta[t + j] = sum.lo;
		}
		one.beta = beta;
		one.beta_lo = beta + t;
		/* draws are made in groups of four */
		one.first = (it->pass.first + r) / 4 * 4;
		one.nreps = 4;
		memset(sums, 0, gr_boot_nsums(&one) * sizeof(double));
		gr_boot_sums(boot, &one, sums);
		take_step(it, r, &one, sums, (it->pass.first + r) % 4, work);
	}
	pfree(beta);
}

/* Iterates the replicates of a pass, and stores their estimates from replicate number `first` on. */
static void
iterate_replicates(GrBoot *boot, double *sums, int first, double *work)
{
	const GrGlmFit *fit = boot->f.fit;
	const GrRowSource *source = boot->f.data->source;
	bool		together = source->kind == &gr_source_query || gr_on_cpu(&source->job->place);
	int			n = boot->pass.nactive;
	int			t = gr_nterms(boot->pass.shape.nfeatures);
	int			nreps = boot->pass.nreps;
	Iterating	it = {.pass = boot->pass,.nleft = nreps};

	it.steps = palloc_extended((Size) nreps * n * sizeof(double), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	it.asked = palloc_extended((Size) nreps * n * sizeof(double), MCXT_ALLOC_HUGE);
	it.done = palloc0(nreps * sizeof(bool));
	it.failed = palloc0(nreps * sizeof(bool));
	for (int k = 0; k < STEPS_MAX && it.nleft > 0; k++)
		(together ? step_together : step_one_by_one) (boot, &it, sums, work);
	for (int r = 0; r < nreps; r++)
	{
		bool		found = it.done[r] && !it.failed[r];
		double	   *delta = work;

		CHECK_FOR_INTERRUPTS();
		boot->singular[first + r] = !found;
		boot->nsingular += found ? 0 : 1;
		memset(delta, 0, t * sizeof(double));
		for (int i = 0; i < n; i++)
			for (int j = 0; j < t; j++)
				delta[j] += it.steps[(Size) r * n + i] * boot->pass.factor[(Size) i * t + j];
		gr_boot_to_model(fit, delta, delta + t);
		for (int k = 0; k < fit->nterms; k++)
			boot->coef[(Size) k * boot->reps + first + r] = found ? fit->coef[k] + delta[k] : NAN;
	}
	pfree(it.steps);
	pfree(it.asked);
	pfree(it.done);
	pfree(it.failed);
}

/* Fills the replicates with NaN, for a model whose terms are all aliased. */
static void
make_no_estimates(GrBoot *boot)
{
	Size		n = (Size) boot->reps * boot->f.fit->nterms;

	boot->coef = palloc_extended(n * sizeof(double), MCXT_ALLOC_HUGE);
	boot->singular = palloc0(boot->reps * sizeof(bool));
	for (Size k = 0; k < n; k++)
		boot->coef[k] = NAN;
}

static void
make_replicates(GrBoot *boot)
{
	GrBootPass *pass = &boot->pass;
	int			t = gr_nterms(pass->shape.nfeatures);
	int			step = gr_boot_reps_a_pass(pass->nactive, boot->reps, GR_BOOT_SUMS_NBYTES);
	double	   *work = palloc_extended((2 * t + (Size) pass->nactive * (pass->nactive + 3)) * sizeof(double),
									   MCXT_ALLOC_HUGE);
	double	   *sums;

	pass->nreps = step;
	/* a pass for one replicate sums its group of four */
	sums = palloc_extended(Max(gr_boot_nsums(pass), GR_BOOT_HEAD + 4 * gr_boot_nproducts(pass->nactive)) *
						   sizeof(double), MCXT_ALLOC_HUGE);
	boot->coef = palloc_extended((Size) boot->reps * boot->f.fit->nterms * sizeof(double), MCXT_ALLOC_HUGE);
	boot->singular = palloc(boot->reps * sizeof(bool));
	for (int first = 0; first < boot->reps; first += step)
	{
		pass->first = first;
		pass->nreps = Min(step, boot->reps - first);
		if (boot->iterates)
		{
			iterate_replicates(boot, sums, first, work);
			continue;
		}
		memset(sums, 0, gr_boot_nsums(pass) * sizeof(double));
		gr_boot_sums(boot, pass, sums);
		take_replicates(boot, sums, first, work);
	}
	pfree(sums);
	pfree(work);
}

/* Returns the acceleration, given the sums of squares and cubes of influence values. */
static double
acceleration_of(double squares, double cubes)
{
	return cubes / (6 * squares * sqrt(squares));
}

/* Computes the acceleration of each term, for BCa intervals, from the influence of all rows or clusters. One pass. */
static void
find_acceleration(GrBoot *boot)
{
	GrBootPass	pass = boot->pass;
	int			n = boot->f.fit->nterms;
	int			t = gr_nterms(pass.shape.nfeatures);
	double	   *influence = palloc_extended((Size) n * pass.nactive * sizeof(double), MCXT_ALLOC_HUGE);
	double	   *sums = palloc0((GR_BOOT_HEAD + 2 * (Size) n) * sizeof(double));

	gr_boot_influence(boot->f.fit, &pass, influence, palloc(2 * t * sizeof(double)));
	pass.nreps = 0;
	pass.first = 0;
	pass.influence = influence;
	pass.ninfluence = n;
	if (strcmp(boot->roles.key_role, "clusters") == 0)
		gr_boot_clusters(boot->f.data->source, &boot->f.data->ingest, &pass, sums);
	else
		gr_boot_sums(boot, &pass, sums);
	boot->acceleration = palloc(n * sizeof(double));
	for (int k = 0; k < n; k++)
		boot->acceleration[k] = acceleration_of(sums[GR_BOOT_HEAD + k], sums[GR_BOOT_HEAD + n + k]);
}

/* Fits the rows and makes the replicates. */
static void
run_boot(FunctionCallInfo fcinfo, GrBoot *boot, GrDistribution distribution)
{
	double		started = gr_now();
	ErrorContextCallback context;

	gr_enter_query(&context, boot->rows.query);
	gr_boot_fit_rows(fcinfo, boot, distribution);
	/* first, because this pass may raise an ERROR, and replicates take long */
	if (boot->wants_acceleration && boot->pass.nactive > 0)
		find_acceleration(boot);
	if (boot->pass.nactive > 0)
		make_replicates(boot);
	else
		make_no_estimates(boot);
	gr_record_rows(boot->f.data, boot->name, started);
	gr_leave_query(&context);
	gr_release_rows(boot->f.data);
	if (boot->nsingular > 0)
		ereport(WARNING,
				(errmsg_plural("%d of %d replicate is singular", "%d of %d replicates are singular", boot->reps,
							   boot->nsingular, boot->reps),
				 boot->iterates ? errdetail("The rows of a singular replicate do not determine all terms, or separate "
											"the response. Such replicates are left out.") :
				 errdetail("The rows of a singular replicate do not determine all terms. Such replicates are left "
						   "out."),
				 errhint("Leave out terms that few rows determine, or merge rare levels.")));
}

/*
 * Results
 */

static int
compare_floats(const void *a, const void *b, void *arg)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return x < y ? -1 : x > y;
}

/* Sorts the estimates of term k in place, without those of singular replicates. Returns their number. */
static int
sort_replicates(GrBoot *boot, int k)
{
	double	   *coef = boot->coef + (Size) k * boot->reps;
	int			n = 0;

	for (int r = 0; r < boot->reps; r++)
		if (!boot->singular[r])
			coef[n++] = coef[r];
	qsort_interruptible(coef, n, sizeof(double), compare_floats, NULL);
	return n;
}

static void
warn_of_extremes(int nextreme)
{
	if (nextreme > 0)
		ereport(WARNING,
				(errmsg("there are too few replicates for some confidence limits"),
				 errdetail_plural("The limits of %d term are the smallest or the largest replicate.",
								  "The limits of %d terms are the smallest or the largest replicate.", nextreme,
								  nextreme),
				 errhint("Raise reps, or lower conf_level.")));
}

/* Adds a row per term to the result. */
static Datum
put_summaries(FunctionCallInfo fcinfo, const char *name, GrDistribution distribution)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	GrBoot		boot = {.name = name};
	int			nextreme = 0;
	double		conf_level;
	GrBootKind	kind;

	InitMaterializedSRF(fcinfo, 0);
	read_arguments(fcinfo, &boot);
	conf_level = read_conf_level(fcinfo);
	kind = read_kind(fcinfo);
	boot.wants_acceleration = kind == GR_BOOT_BCA;
	run_boot(fcinfo, &boot, distribution);
	for (int k = 0; k < boot.model.nterms; k++)
	{
		double		estimate = boot.f.fit->coef[k];
		int			n = isnan(estimate) ? 0 : sort_replicates(&boot, k);
		Datum		values[6] = {CStringGetTextDatum(gr_model_term(&boot.model, k))};
		bool		nulls[6] = {false};
		GrBootSummary summary;

		gr_boot_summarise(&summary, boot.coef + (Size) k * boot.reps, n, estimate, kind, conf_level,
						  boot.acceleration == NULL ? NAN : boot.acceleration[k]);
		nextreme += summary.extreme ? 1 : 0;
		gr_set_float(&values[1], &nulls[1], estimate);
		gr_set_float(&values[2], &nulls[2], summary.std_error);
		gr_set_float(&values[3], &nulls[3], summary.bias);
		gr_set_float(&values[4], &nulls[4], summary.low);
		gr_set_float(&values[5], &nulls[5], summary.high);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
		CHECK_FOR_INTERRUPTS();
	}
	warn_of_extremes(nextreme);
	return (Datum) 0;
}

/* Adds a row per replicate and term to the result. */
static Datum
put_replicates(FunctionCallInfo fcinfo, const char *name, GrDistribution distribution)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	GrBoot		boot = {.name = name};
	Datum	   *terms;

	InitMaterializedSRF(fcinfo, 0);
	read_arguments(fcinfo, &boot);
	run_boot(fcinfo, &boot, distribution);
	terms = palloc(boot.model.nterms * sizeof(Datum));
	for (int k = 0; k < boot.model.nterms; k++)
		terms[k] = CStringGetTextDatum(gr_model_term(&boot.model, k));
	for (int r = 0; r < boot.reps; r++)
		for (int k = 0; k < boot.model.nterms; k++)
		{
			Datum		values[3] = {Int32GetDatum(r + 1), terms[k]};
			bool		nulls[3] = {false};

			gr_set_float(&values[2], &nulls[2], boot.coef[(Size) k * boot.reps + r]);
			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
			CHECK_FOR_INTERRUPTS();
		}
	return (Datum) 0;
}

#define LINEAR ((GrDistribution) {GR_GAUSSIAN, GR_IDENTITY, 0, 0})

/*
 * gpu_ols_boot(query text, reps int, key text, seed bigint, intercept boolean, formula text, weights text, clusters
 * text, conf_level float8, kind text, kept text, rows text): bootstraps a linear regression; one row per term
 */
Datum
gr_ols_boot(PG_FUNCTION_ARGS)
{
	return put_summaries(fcinfo, "gpu_ols_boot", LINEAR);
}

/* gpu_logreg_boot(arguments as gpu_ols_boot, method text): bootstraps a logistic regression; one row per term */
Datum
gr_logreg_boot(PG_FUNCTION_ARGS)
{
	return put_summaries(fcinfo, "gpu_logreg_boot", (GrDistribution) GR_LOGISTIC);
}

/* gpu_ols_boot_replicates(arguments as gpu_ols_boot, without conf_level and kind): the replicates themselves */
Datum
gr_ols_boot_replicates(PG_FUNCTION_ARGS)
{
	return put_replicates(fcinfo, "gpu_ols_boot_replicates", LINEAR);
}

/* gpu_logreg_boot_replicates(arguments as gpu_ols_boot_replicates, method text): the replicates themselves */
Datum
gr_logreg_boot_replicates(PG_FUNCTION_ARGS)
{
	return put_replicates(fcinfo, "gpu_logreg_boot_replicates", (GrDistribution) GR_LOGISTIC);
}
