/*
 * fn_wild.c: gpu_wild_boot_agg, the wild cluster bootstrap of one coefficient, from one gpu_ols_stats per cluster. See
 * wild.h.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "compute/linear/sum_clusters.h"
#include "compute/linear/variance.h"
#include "compute/resample/wild.h"
#include "rows/state/aggregate.h"
#include "rows/state/boot_key.h"
#include "run/args.h"
#include "run/clock.h"
#include "run/raise.h"
#include "sql/linear/cluster_states.h"
#include "sql/model/model.h"
#include "sql/model/vcov_warnings.h"

PG_FUNCTION_INFO_V1(gr_wild_boot_accum);
PG_FUNCTION_INFO_V1(gr_wild_boot_final);

/* Arguments of the transition function, the state included; missing ones have their defaults. */
enum
{
	ARG_STATE, ARG_STATS, ARG_TERM, ARG_REPS, ARG_WEIGHTS, ARG_NULL, ARG_CONF_LEVEL, ARG_SEED, ARG_KEY, ARG_INTERCEPT,
	ARG_FEATURES, ARG_RESPONSE
};

#define DEFAULT_REPS 9999
#define DEFAULT_CONF_LEVEL 0.95

/* State of the aggregate. */
typedef struct WildBoot
{
	GrClusterStates *states;
	char	   *term;
	int			reps;
	GrWildWeights weights;
	double		null;
	double		conf_level;
	uint64		seed;
	bool		intercept;
	Oid			key_type;		/* type of the clusters' keys; InvalidOid: they have none */
	int64	   *keys;			/* keys of the clusters */
	int64		capacity;
} WildBoot;

/* Columns of the result. */
typedef struct WildResult
{
	double		estimate;
	double		std_error;
	double		statistic;
	double		p_value;
	double		conf_low;
	double		conf_high;
	int64		reps;
} WildResult;

/*
 * Arguments
 */

static const char *const argument_names[] = {
	"state", "stats", "term", "reps", "weights", "null", "conf_level", "seed", "key", "intercept"
};

/* True if the call has the argument. Raises an ERROR if it is NULL. */
static bool
is_given(FunctionCallInfo fcinfo, int argument)
{
	if (PG_NARGS() <= argument)
		return false;
	if (PG_ARGISNULL(argument))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", argument_names[argument])));
	return true;
}

static void
read_weights(FunctionCallInfo fcinfo, WildBoot *boot)
{
	char	   *name;

	if (!is_given(fcinfo, ARG_WEIGHTS))
		return;
	name = text_to_cstring(PG_GETARG_TEXT_PP(ARG_WEIGHTS));
	if (!gr_wild_weights_named(name, &boot->weights))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown weights \"%s\"", name),
				 errhint("Use 'rademacher' or 'webb'.")));
}

static void
read_numbers(FunctionCallInfo fcinfo, WildBoot *boot)
{
	if (is_given(fcinfo, ARG_REPS))
		boot->reps = PG_GETARG_INT32(ARG_REPS);
	if (boot->reps < 1 || boot->reps > GR_WILD_REPS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("reps must be from 1 to %d, got %d", GR_WILD_REPS_MAX, boot->reps)));
	if (is_given(fcinfo, ARG_NULL))
		boot->null = PG_GETARG_FLOAT8(ARG_NULL);
	if (!isfinite(boot->null))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("null must be finite, got %g", boot->null)));
	if (is_given(fcinfo, ARG_CONF_LEVEL))
		boot->conf_level = PG_GETARG_FLOAT8(ARG_CONF_LEVEL);
	if (!(boot->conf_level > 0 && boot->conf_level < 1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("conf_level must be between 0 and 1, got %g", boot->conf_level),
				 errhint("0.95 gives 95%% confidence limits.")));
}

/* Creates the aggregate's state with the options of the first row. */
static WildBoot *
create_boot(FunctionCallInfo fcinfo)
{
	WildBoot   *boot = MemoryContextAllocZero(gr_aggregate_context(fcinfo), sizeof(WildBoot));

	*boot = (WildBoot) {.reps = DEFAULT_REPS,.conf_level = DEFAULT_CONF_LEVEL,.intercept = true};
	(void) is_given(fcinfo, ARG_TERM);
	boot->term = MemoryContextStrdup(gr_aggregate_context(fcinfo), text_to_cstring(PG_GETARG_TEXT_PP(ARG_TERM)));
	read_numbers(fcinfo, boot);
	read_weights(fcinfo, boot);
	if (is_given(fcinfo, ARG_SEED))
		boot->seed = (uint64) PG_GETARG_INT64(ARG_SEED);
	if (is_given(fcinfo, ARG_INTERCEPT))
		boot->intercept = PG_GETARG_BOOL(ARG_INTERCEPT);
	if (PG_NARGS() > ARG_KEY && !PG_ARGISNULL(ARG_KEY))
		boot->key_type = gr_boot_key_type(fcinfo, ARG_KEY);
	boot->states = gr_cluster_states_create(fcinfo);
	return boot;
}

/* Stores the key of the cluster that was added last. Raises an ERROR unless all clusters have keys, or none. */
static void
add_key(FunctionCallInfo fcinfo, WildBoot *boot)
{
	int64		n = boot->states->n;

	if (PG_NARGS() <= ARG_KEY)
		return;
	if (PG_ARGISNULL(ARG_KEY) == OidIsValid(boot->key_type))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("key must be null in all rows or in none"),
				 errhint("Pass a key for every state, or for none.")));
	if (!OidIsValid(boot->key_type))
		return;
	if (n > boot->capacity)
	{
		boot->capacity = Max(2 * boot->capacity, 64);
		boot->keys = boot->keys == NULL ?
			MemoryContextAlloc(boot->states->context, boot->capacity * sizeof(int64)) :
			repalloc_huge(boot->keys, boot->capacity * sizeof(int64));
	}
	boot->keys[n - 1] = gr_boot_key_of(boot->key_type, PG_GETARG_DATUM(ARG_KEY));
}

/*
 * gpu_wild_boot_accum(state internal, stats gpu_ols_stats, term text [, reps int [, weights text, "null" float8,
 * conf_level float8, seed bigint [, key "any" [, intercept boolean, features "any", response "any"]]]])
 */
Datum
gr_wild_boot_accum(PG_FUNCTION_ARGS)
{
	WildBoot   *boot = PG_ARGISNULL(ARG_STATE) ? NULL : (WildBoot *) PG_GETARG_POINTER(ARG_STATE);
	bool		chosen = PG_NARGS() > ARG_RESPONSE;

	(void) gr_aggregate_context(fcinfo);
	if (PG_ARGISNULL(ARG_STATS))
	{
		if (boot == NULL)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(boot);
	}
	if (boot == NULL)
		boot = create_boot(fcinfo);
	if (gr_cluster_states_add(boot->states, fcinfo, chosen ? ARG_FEATURES : -1, chosen ? ARG_RESPONSE : -1))
		add_key(fcinfo, boot);
	PG_RETURN_POINTER(boot);
}

/*
 * Regression
 */

/*
 * Returns the number of the tested term, which is given by name or by a feature's number. Raises an ERROR if there is
 * no such term or it has no coefficient.
 */
static int
find_term(const WildBoot *boot, const GrModel *model)
{
	char	   *end;
	long		number = strtol(boot->term, &end, 10);
	int			found = -1;

	for (int k = 0; k < model->nterms && found < 0; k++)
		if (strcmp(gr_model_term(model, k), boot->term) == 0)
			found = k;
	if (found < 0 && end != boot->term && *end == '\0' && number >= 1 &&
		number <= model->nterms - (model->intercept ? 1 : 0))
		found = (int) number - (model->intercept ? 0 : 1);
	if (found < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the model has no term \"%s\"", boot->term),
				 errhint("Use a name that gpu_tidy() shows: %s, x1, x2, ... if columns have no names.",
						 GR_INTERCEPT)));
	if (isnan(model->coef[found]))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("term \"%s\" is collinear with others and has no coefficient", boot->term),
				 errhint("Name another term, or leave columns out.")));
	return found;
}

/* Lists the entries of the terms that have coefficients, the tested term last. Returns their number. */
static int
order_terms(const GrModel *model, int term, int *entries)
{
	int			n = 0;

	for (int k = 0; k < model->nterms; k++)
		if (k != term && !isnan(model->coef[k]))
			entries[n++] = model->intercept ? k : k + 1;
	entries[n++] = model->intercept ? term : term + 1;
	return n;
}

/*
 * Computes the scores q and the columns u of K, see wild.h, of all clusters: nclusters x nterms each, in the order in
 * which the clusters came.
 */
static void
fill_scores(GrClusterStates *states, GrClusterFit *fit, double *q, double *u)
{
	GrClusterReader reader;
	GrPoll		poll = {.host = &gr_host};
	Size		record = gr_cluster_states_record(states);
	const double *records;
	int64		n;

	gr_cluster_reader_begin(&reader, states);
	while ((records = gr_cluster_reader_next(&reader, &n)) != NULL)
		for (int64 done = 0; done < n; done += GR_CLUSTER_LANES)
		{
			int			some = (int) Min(n - done, GR_CLUSTER_LANES);

			if (gr_poll(&poll, 20 * (int64) record) ||
				!gr_cluster_fit_scores(fit, records + done * record, some, q, u, &poll))
				gr_raise(&(GrError) {.status = GR_CANCELED});
			q += (Size) some * fit->nterms;
			u += (Size) some * fit->nterms;
		}
}

/*
 * Multiplies the scores by a power of two such that the sum of squares of the last term is 1 to 4, which keeps products
 * of squares in range. Returns that power. If the last term's scores are only rounding, sets all scores to 0: then
 * there is no t.
 */
static double
scale_scores(double *q, int64 nclusters, int nterms, double rss)
{
	double		unit;
	double		squares = 0;

	for (int64 g = 0; g < nclusters; g++)
		squares += q[g * nterms + nterms - 1] * q[g * nterms + nterms - 1];
	if (gr_judge_variance(squares, 1, rss, false) != GR_VARIANCE_KNOWN)
	{
		memset(q, 0, nclusters * nterms * sizeof(double));
		return 1;
	}
	unit = ldexp(1.0, -(int) floor(0.5 * ilogb(squares)));
	for (int64 k = 0; k < nclusters * nterms; k++)
	{
		q[k] *= unit;
		gr_poll_loop(k);
	}
	return unit;
}

/*
 * Order of the clusters
 */

typedef struct Order
{
	const int64 *keys;			/* NULL: clusters are ordered by their scores */
	const double *q;
	const double *u;
	int			nterms;
} Order;

static int
compare_vectors(const double *a, const double *b, int n)
{
	for (int i = 0; i < n; i++)
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	return 0;
}

static int
compare_clusters(const void *a, const void *b, void *arg)
{
	const Order *order = arg;
	int64		i = *(const int64 *) a;
	int64		j = *(const int64 *) b;
	int			result;

	if (order->keys != NULL)
		return order->keys[i] < order->keys[j] ? -1 : order->keys[i] > order->keys[j] ? 1 : 0;
	result = compare_vectors(order->q + i * order->nterms, order->q + j * order->nterms, order->nterms);
	return result != 0 ? result :
		compare_vectors(order->u + i * order->nterms, order->u + j * order->nterms, order->nterms);
}

/* Raises an ERROR if two clusters have the same key. keys must be sorted. */
static void
check_keys(const int64 *keys, int64 n)
{
	for (int64 k = 1; k < n; k++)
	{
		if (keys[k] == keys[k - 1])
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("two states have the same key"),
					 errhint("Aggregate one state per cluster. gpu_ols_rollup() merges the states of one cluster.")));
		gr_poll_loop(k);
	}
}

/* Sorts the clusters, so that their order of arrival does not matter, and sets the keys by which they are drawn. */
static void
order_clusters(const WildBoot *boot, GrWild *wild, const double *q, const double *u)
{
	int64		n = wild->nclusters;
	Size		nbytes = wild->nterms * sizeof(double);
	int64	   *sorted = palloc_extended(n * sizeof(int64), MCXT_ALLOC_HUGE);
	int64	   *keys = palloc_extended(n * sizeof(int64), MCXT_ALLOC_HUGE);
	double	   *own_q = palloc_extended(n * nbytes, MCXT_ALLOC_HUGE);
	double	   *own_u = palloc_extended(n * nbytes, MCXT_ALLOC_HUGE);
	Order		order = {.keys = boot->keys,.q = q,.u = u,.nterms = wild->nterms};

	for (int64 k = 0; k < n; k++)
		sorted[k] = k;
	qsort_interruptible(sorted, n, sizeof(int64), compare_clusters, &order);
	for (int64 k = 0; k < n; k++)
	{
		keys[k] = boot->keys == NULL ? k : boot->keys[sorted[k]];
		memcpy(own_q + k * wild->nterms, q + sorted[k] * wild->nterms, nbytes);
		memcpy(own_u + k * wild->nterms, u + sorted[k] * wild->nterms, nbytes);
		gr_poll_loop(k);
	}
	if (boot->keys != NULL)
		check_keys(keys, n);
	wild->keys = keys;
	wild->q = own_q;
	wild->u = own_u;
}

/*
 * Bootstrap
 */

/* Warns that the coefficient's variance is zero, if scale_scores() has set all n scores to 0. */
static void
warn_of_zero(const GrModel *model, int term, const double *q, int64 n)
{
	GrVarianceKind *kinds = palloc0(model->nterms * sizeof(GrVarianceKind));
	bool		zero = true;

	for (int64 k = 0; k < n && zero; k++)
		zero = q[k] == 0;
	kinds[term] = GR_VARIANCE_ZERO;
	if (zero)
		gr_warn_of_variances(model, kinds, model->deviance == 0, GR_VCOV_OF_STATES);
	pfree(kinds);
}

/* Fills the result. scale: C_kk, divided by the unit of the scores. */
static void
fill_result(const WildBoot *boot, const GrModel *model, const GrWild *wild, double scale, WildResult *result)
{
	double		g = (double) wild->nclusters;
	double		left = (double) model->nrows - model->rank;
	double		factor = left > 0 ? g / (g - 1) * (((double) model->nrows - 1) / left) : NAN;
	double		error = sqrt(factor * wild->squares);
	double		alpha = 1 - boot->conf_level;
	double		limits[2];

	/* if squares is 0, the standard error would be rounding */
	result->std_error = wild->squares > 0 ? error * scale : NAN;
	result->statistic = (result->estimate - boot->null) / result->std_error;
	result->conf_low = result->conf_high = NAN;
	result->reps = wild->reps;
	result->p_value = gr_wild_p_value(wild, (boot->null - result->estimate) / scale);
	if (!(error > 0) || !isfinite(error))
		return;
	for (int k = 0; k < 2; k++)
		if (!gr_wild_limit(wild, alpha, k == 0 ? -1 : 1, error, &limits[k], &gr_host))
			gr_raise(&(GrError) {.status = GR_CANCELED});
	result->conf_low = result->estimate + scale * limits[0];
	result->conf_high = result->estimate + scale * limits[1];
}

static void
run_boot(const WildBoot *boot, const GrStats *total, const GrModel *model, int term, WildResult *result)
{
	int			p = total->nfeatures;
	int		   *entries = palloc(model->nterms * sizeof(int));
	int			n = order_terms(model, term, entries);
	GrClusterFit fit = {
		.nterms = n,.entries = entries,.origin = !model->intercept || (term == 0 && model->intercept)
	};
	GrWild		wild = {
		.nterms = n,.nclusters = boot->states->n,.weights = boot->weights,.seed = boot->seed,.reps = boot->reps
	};
	GrError		err = {0};
	double	   *q = palloc_extended(wild.nclusters * n * sizeof(double), MCXT_ALLOC_HUGE);
	double		unit;
	double	   *u = palloc_extended(wild.nclusters * n * sizeof(double), MCXT_ALLOC_HUGE);

	if (!gr_cluster_fit_begin(&fit, &total->gram, palloc_extended(gr_cluster_fit_nbytes(p, n), MCXT_ALLOC_HUGE),
							  &gr_host, &err))
		gr_raise_columns(&err, p, gr_stats_names(total));
	fill_scores(boot->states, &fit, q, u);
	unit = scale_scores(q, wild.nclusters, n, model->deviance);
	warn_of_zero(model, term, q, wild.nclusters * n);
	order_clusters(boot, &wild, q, u);
	pfree(q);
	pfree(u);
	wild.replicates = palloc_extended(5 * gr_wild_pitch(gr_wild_reps(&wild)) * sizeof(double), MCXT_ALLOC_HUGE);
	if (!gr_wild_run(&wild, palloc_extended(gr_wild_workspace_nbytes(n), MCXT_ALLOC_HUGE), GR_CLUSTER_LANES, &gr_host,
					 &err))
		gr_raise(&err);
	fill_result(boot, model, &wild, fit.factor[(Size) n * n - 1] / unit, result);
}

static Datum
result_datum(FunctionCallInfo fcinfo, const WildBoot *boot, const char *term, const WildResult *result)
{
	const double numbers[] = {
		result->estimate, result->std_error, result->statistic, result->p_value, result->conf_low, result->conf_high
	};
	Datum		values[9];
	bool		nulls[9] = {false};
	TupleDesc	tupdesc;

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE || tupdesc->natts != (int) lengthof(values))
		elog(ERROR, "result type is not gpu_wild_boot");
	values[0] = CStringGetTextDatum(term);
	for (int k = 0; k < (int) lengthof(numbers); k++)
	{
		values[k + 1] = Float8GetDatum(numbers[k]);
		nulls[k + 1] = isnan(numbers[k]);
	}
	values[7] = Int32GetDatum((int32) result->reps);
	values[8] = Int64GetDatum(boot->states->n);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tupdesc), values, nulls));
}

/* gpu_wild_boot_final(state internal): NULL if there is no complete row */
Datum
gr_wild_boot_final(PG_FUNCTION_ARGS)
{
	double		began = gr_now();
	WildBoot   *boot = PG_ARGISNULL(0) ? NULL : (WildBoot *) PG_GETARG_POINTER(0);
	GrModel		model = {0};
	GrStats		total;
	WildResult	result = {NAN, NAN, NAN, NAN, NAN, NAN, 0};
	bool		enough;
	int			term;

	(void) gr_aggregate_context(fcinfo);
	if (boot == NULL || boot->states->n == 0)
		PG_RETURN_NULL();
	enough = gr_cluster_states_check(boot->states, boot->intercept);
	gr_cluster_states_total(boot->states, &total);
	gr_model_solve(&model, &total.gram, boot->intercept, gr_stats_names(&total), true, NULL);
	term = find_term(boot, &model);
	result.estimate = model.coef[term];
	if (enough)
		run_boot(boot, &total, &model, term, &result);
	gr_record_group(fcinfo, "gpu_wild_boot_agg", total.state->nrows, total.nfeatures, began);
	return result_datum(fcinfo, boot, gr_model_term(&model, term), &result);
}
