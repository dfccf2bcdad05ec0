/*
 * boot_begin.c: reads the arguments and makes the fit of a bootstrap or a permutation test; see boot_begin.h.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "compute/resample/boot_draw.h"
#include "compute/resample/boot_fit.h"
#include "rows/columns/columns.h"
#include "run/args.h"
#include "run/raise.h"
#include "run/request.h"
#include "sql/model/fit_arguments.h"
#include "sql/resample/boot_begin.h"

/*
 * Arguments
 */

static const char *const argument_names[] = {
	"query", "reps", "key", "seed", "intercept", "formula", "weights", "clusters", "conf_level", "kind"
};

/* Raises an ERROR if an argument is NULL that must not be. query may be NULL if there are kept rows. */
static void
check_nulls(FunctionCallInfo fcinfo)
{
	for (int k = PG_ARGISNULL(GR_BOOT_ARG_KEPT(fcinfo)) ? 0 : 1; k < GR_BOOT_ARG_KEPT(fcinfo); k++)
		if (PG_ARGISNULL(k) && k != GR_BOOT_ARG_KEY && k != GR_BOOT_ARG_FORMULA && k != GR_BOOT_ARG_WEIGHTS &&
			k != GR_BOOT_ARG_CLUSTERS)
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("%s must not be null", argument_names[k])));
}

static void
read_key(FunctionCallInfo fcinfo, bool flips, GrRoles *roles)
{
	bool		clusters = !PG_ARGISNULL(GR_BOOT_ARG_CLUSTERS);

	if (clusters != PG_ARGISNULL(GR_BOOT_ARG_KEY))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 clusters ? errmsg("key and clusters cannot be used together") :
				 errmsg("%s needs key or clusters", gr_called_name(fcinfo)),
				 flips ? errdetail("The signs of a row's residual are drawn from its key or from its cluster.") :
				 errdetail("How often a row appears in a replicate is drawn from its key or from its cluster."),
				 errhint("Name a column that identifies each row, as in key => 'id', or one that identifies its "
						 "cluster, as in clusters => 'firm'.")));
	roles->key = text_to_cstring(PG_GETARG_TEXT_PP(clusters ? GR_BOOT_ARG_CLUSTERS : GR_BOOT_ARG_KEY));
	roles->key_role = clusters ? "clusters" : "key";
}

void
gr_boot_read_arguments(FunctionCallInfo fcinfo, GrBoot *boot)
{
	check_nulls(fcinfo);
	boot->reps = PG_GETARG_INT32(GR_BOOT_ARG_REPS);
	if (boot->reps < 1 || boot->reps > GR_BOOT_REPS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("reps must be from 1 to %d, got %d", GR_BOOT_REPS_MAX, boot->reps)));
	(void) gr_fit_arguments(fcinfo, GR_BOOT_ARG_QUERY, GR_BOOT_ARG_KEPT(fcinfo), GR_BOOT_ARG_ROWS(fcinfo), &boot->rows);
	boot->seed = (uint64) PG_GETARG_INT64(GR_BOOT_ARG_SEED);
	boot->roles = gr_role_arguments(fcinfo, GR_BOOT_ARG_WEIGHTS, -1, -1);
	gr_formula_argument(fcinfo, GR_BOOT_ARG_FORMULA, PG_GETARG_BOOL(GR_BOOT_ARG_INTERCEPT), &boot->roles);
	read_key(fcinfo, boot->flips, &boot->roles);
}

/*
 * Fit
 */

/* Raises an ERROR unless the fit has finite estimates to resample. */
static void
check_fit(GrBoot *boot)
{
	const GrGlmFit *fit = boot->f.fit;
	StringInfoData terms;

	initStringInfo(&terms);
	for (int k = 0; k < fit->nterms; k++)
		if (fit->separated[k] != 0)
			appendStringInfo(&terms, "%s%s", terms.len > 0 ? ", " : "", gr_model_term(&boot->model, k));
	if (fit->nseparated > 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the response is separated: there is no finite estimate to bootstrap"),
				 errdetail("Terms without a finite estimate: %s.", terms.data),
				 errhint("Leave these terms out.")));
	if (!fit->converged)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 boot->flips ? errmsg("the fit did not converge in %d iterations: there is no estimate to test",
									  fit->iterations) :
				 errmsg("the fit did not converge in %d iterations: there is no estimate to bootstrap",
						fit->iterations),
				 errhint("Run the fit by itself to see why: the response may be separated, or the features may have "
						 "very different magnitudes.")));
}

/* Raises an ERROR if the replicates of the model are too large. */
static void
check_size(const GrBoot *boot)
{
	if (gr_nterms(boot->f.options.shape.nfeatures) > GR_BOOT_TERMS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 boot->flips ? errmsg("a permutation test of %d terms is too large", boot->f.fit->nterms) :
				 errmsg("a bootstrap of %d terms is too large", boot->f.fit->nterms),
				 errdetail("A model can have at most %d terms for this.", GR_BOOT_TERMS_MAX),
				 errhint("Leave features out of the query.")));
	/* replicates of a test are counted, not kept */
	if (!boot->flips && (Size) boot->reps * boot->f.fit->nterms > MaxAllocSize / sizeof(double))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("%d replicates of %d terms are too large", boot->reps, boot->f.fit->nterms),
				 errhint("Lower reps.")));
}

/* A product of a replicate costs an eighth of one in double-double. */
#define REPLICATE_WORK 0.125

static double
replicates_work(const GrIngest *ingest)
{
	return ingest->nrows_estimate * gr_boot_nproducts(gr_nterms(ingest->shape.nfeatures)) * ingest->more->reps *
		REPLICATE_WORK;
}

static const GrMorePasses *
further_passes(const GrBoot *boot)
{
	GrMorePasses *more = palloc(sizeof(GrMorePasses));

	*more = (GrMorePasses) {
		.reps = boot->reps,.name = boot->flips ? "a permutation test" : "a bootstrap",.work = replicates_work
	};
	return more;
}

void
gr_boot_fit_rows(FunctionCallInfo fcinfo, GrBoot *boot, GrDistribution distribution)
{
	GrGlmOptions options = gr_glm_defaults(0);
	int			t;

	options.distribution = distribution;
	options.intercept = boot->roles.intercept;
	options.skip_null = true;
	options.want_factor = true;
	boot->f.more = further_passes(boot);
	gr_glm_open_rows(fcinfo, &boot->rows, &boot->roles, &options, &boot->f);
	boot->model.nterms = boot->f.fit->nterms;
	boot->model.intercept = boot->f.options.intercept;
	gr_model_name_terms(&boot->model, boot->f.data->ingest.names);
	check_fit(boot);
	check_size(boot);
	t = gr_nterms(boot->f.options.shape.nfeatures);
	if (!gr_boot_begin(&boot->pass, boot->f.fit, palloc_extended((Size) t * t * sizeof(double), MCXT_ALLOC_HUGE)))
		elog(ERROR, "a fit that has converged has no triangle");
	boot->pass.seed = boot->seed;
}

void
gr_boot_sums(GrBoot *boot, const GrBootPass *pass, double *sums)
{
	if (pass->nactive < 1)
		elog(ERROR, "a bootstrap of no terms has nothing to sum");
	gr_source_sums(boot->f.data->source, gr_boot_request(pass), sums);
}
