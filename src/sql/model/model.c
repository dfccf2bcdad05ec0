/*
 * model.c: builds and reads values of the type gpu_model; see model.h.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "common/shortest_dec.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "compute/base/compute.h"
#include "compute/base/dd.h"
#include "compute/design/design_moves.h"
#include "compute/dist/family.h"
#include "compute/linear/ols.h"
#include "compute/linear/vcov_low.h"
#include "run/args.h"
#include "run/device.h"
#include "run/grams.h"
#include "run/raise.h"
#include "run/result.h"
#include "sql/model/method.h"
#include "sql/model/model.h"

/* Fields of gpu_model, in the order of its definition. */
enum
{
	F_METHOD, F_TERMS, F_COEF, F_VCOV, F_N, F_N_SKIPPED, F_RANK, F_DF_RESIDUAL, F_DEVIANCE, F_NULL_DEVIANCE,
	F_ITERATIONS, F_CONVERGED, F_SEPARATED, F_DEVICE, F_LOG_LIK, F_FAMILY, F_LINK, F_THETA, F_DISPERSION, F_VCOV_TYPE,
	F_DF_INFERENCE, F_DESIGN, MODEL_NFIELDS
};

static const Oid field_types[MODEL_NFIELDS] = {
	TEXTOID, TEXTARRAYOID, FLOAT8ARRAYOID, FLOAT8ARRAYOID, INT8OID, INT8OID, INT4OID, INT8OID, FLOAT8OID, FLOAT8OID,
	INT4OID, BOOLOID, TEXTARRAYOID, TEXTOID, FLOAT8OID, TEXTOID, TEXTOID, FLOAT8OID, FLOAT8OID, TEXTOID,
	FLOAT8OID, TEXTOID
};

/*
 * Building
 */

/* Returns a float8[] of n numbers, some of them NaN, which become NULL. */
static ArrayType *
float_array_with_nulls(const double *values, int64 n, int ndim, int *dims, int *lbs)
{
	Datum	   *items = palloc(n * sizeof(Datum));
	bool	   *nulls = palloc(n * sizeof(bool));
	ArrayType  *array;

	for (int64 k = 0; k < n; k++)
	{
		nulls[k] = isnan(values[k]);
		items[k] = Float8GetDatum(nulls[k] ? 0.0 : values[k]);
		gr_poll_loop(k);
	}
	array = construct_md_array(items, nulls, ndim, dims, lbs, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL,
							   TYPALIGN_DOUBLE);
	pfree(items);
	pfree(nulls);
	return array;
}

/*
 * Returns a float8[] of one (ncols 0) or two dimensions in which NaN becomes NULL. Without NaN the numbers are copied
 * at once, because a covariance matrix may have many megabytes.
 */
static ArrayType *
float_array_nan_null(const double *values, int nrows, int ncols)
{
	int			ndim = ncols > 0 ? 2 : 1;
	int			dims[2] = {nrows, ncols};
	int			lbs[2] = {1, 1};
	int64		n = ncols > 0 ? (int64) nrows * ncols : nrows;
	Size		nbytes = ARR_OVERHEAD_NONULLS(ndim) + n * sizeof(double);
	ArrayType  *array;
	bool		plain = n > 0;

	for (int64 k = 0; k < n; k++)
		plain &= !isnan(values[k]);
	if (!plain)
		return float_array_with_nulls(values, n, ndim, dims, lbs);
	array = palloc(nbytes);
	*array = (ArrayType) {.ndim = ndim,.elemtype = FLOAT8OID};
	SET_VARSIZE(array, nbytes);
	memcpy(ARR_DIMS(array), dims, ndim * sizeof(int));
	memcpy(ARR_LBOUND(array), lbs, ndim * sizeof(int));
	memcpy(ARR_DATA_PTR(array), values, n * sizeof(double));
	return array;
}

const char *
gr_model_term(const GrModel *model, int k)
{
	int			feature = k - (model->intercept ? 1 : 0);

	if (model->terms != NULL)
		return model->terms[k];
	return feature < 0 ? GR_INTERCEPT : psprintf("x%d", feature + 1);
}

/* Returns the names of all terms or, if separated is true, of the separated ones. */
static ArrayType *
terms_array(const GrModel *model, bool separated)
{
	Datum	   *items = palloc(model->nterms * sizeof(Datum));
	int			n = 0;

	for (int k = 0; k < model->nterms; k++)
		if (!separated || (model->separated != NULL && model->separated[k] != 0))
			items[n++] = CStringGetTextDatum(gr_model_term(model, k));
	return construct_array(items, n, TEXTOID, -1, false, TYPALIGN_INT);
}

ArrayType *
gr_model_coefficients(const GrModel *model)
{
	return float_array_nan_null(model->coef, model->nterms, 0);
}

Datum
gr_model_datum(FunctionCallInfo fcinfo, const GrModel *model)
{
	TupleDesc	tupdesc;

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "result type is not gpu_model");
	return gr_model_row(tupdesc, model);
}

/* Returns the model's extras, with the low halves of its covariances if sums of these cancel. */
static GrModelExtras
extras_of(const GrModel *model)
{
	GrModelExtras extras = model->extras;
	GrWriter	writer = {.size = model->vcov_low == NULL ? 0 : 16 * gr_triangle(model->nterms)};
	double	   *work;

	extras.vcov_low = (GrString) {.bytes = NULL};
	if (model->vcov_low == NULL || model->vcov == NULL ||
		(model->vcov_type != NULL && strcmp(model->vcov_type, "iid") != 0))
		return extras;
	work = palloc((Size) model->nterms * model->nterms * sizeof(double));
	if (gr_vcov_loses_digits(model->vcov, model->nterms, work))
	{
		writer.text = palloc(writer.size);
		gr_vcov_low_write(&writer, model->vcov_low, model->nterms);
		extras.vcov_low = (GrString) {writer.text, (int) writer.nbytes};
	}
	pfree(work);
	return extras;
}

Datum
gr_model_row(TupleDesc tupdesc, const GrModel *model)
{
	Datum		values[MODEL_NFIELDS];
	bool		nulls[MODEL_NFIELDS] = {false};
	GrModelExtras extras;
	const GrMethod method = {
		.kind = model->kind,.distribution = model->distribution,.quasi = model->quasi,.l2 = model->l2,
		.firth = model->firth,.iv = model->iv,.mixed = model->mixed,.reml = model->reml,
		.theta_error = model->theta_error,.net = model->net,.alpha = model->net_alpha,.lambda = model->net_lambda
	};

	if (tupdesc->natts != MODEL_NFIELDS)
		elog(ERROR, "result type is not gpu_model");
	if (model->vcov != NULL && (int64) model->nterms * model->nterms > MaxArraySize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("the covariance matrix of %d terms is too large for an array", model->nterms)));

	values[F_METHOD] = gr_method_is_plain(&method) && method.kind == GR_KIND_GLM ?
		CStringGetTextDatum(gr_family_method(method.distribution, method.quasi)) :
		PointerGetDatum(gr_method_text(&method));
	values[F_TERMS] = PointerGetDatum(terms_array(model, false));
	values[F_COEF] = PointerGetDatum(gr_model_coefficients(model));
	nulls[F_VCOV] = model->vcov == NULL;
	if (model->vcov != NULL)
		values[F_VCOV] = PointerGetDatum(float_array_nan_null(model->vcov, model->nterms, model->nterms));
	values[F_N] = Int64GetDatum(model->nrows);
	values[F_N_SKIPPED] = Int64GetDatum(model->nskipped);
	values[F_RANK] = Int32GetDatum(model->rank);
	values[F_DF_RESIDUAL] = Int64GetDatum(model->df_residual);
	gr_set_float(&values[F_DEVIANCE], &nulls[F_DEVIANCE], model->deviance);
	gr_set_float(&values[F_NULL_DEVIANCE], &nulls[F_NULL_DEVIANCE], model->null_deviance);
	values[F_ITERATIONS] = Int32GetDatum(model->iterations);
	values[F_CONVERGED] = BoolGetDatum(model->converged);
	values[F_SEPARATED] = PointerGetDatum(terms_array(model, true));
	values[F_DEVICE] = CStringGetTextDatum(model->device);
	gr_set_float(&values[F_LOG_LIK], &nulls[F_LOG_LIK], model->log_lik);
	values[F_FAMILY] = CStringGetTextDatum(gr_model_family(model));
	values[F_LINK] = CStringGetTextDatum(gr_link_name(model->distribution.link));
	/* INFINITY, not NULL: no field of a common model is NULL, so "model IS NOT NULL" is true */
	values[F_THETA] = Float8GetDatum(gr_family(model->distribution.family)->has_theta ? model->distribution.theta :
									 INFINITY);
	gr_set_float(&values[F_DISPERSION], &nulls[F_DISPERSION], model->dispersion);
	values[F_VCOV_TYPE] = CStringGetTextDatum(model->vcov_type == NULL ? "iid" : model->vcov_type);
	nulls[F_VCOV_TYPE] = model->vcov == NULL;
	values[F_DF_INFERENCE] = Float8GetDatum(model->df_inference);
	extras = extras_of(model);
	values[F_DESIGN] = gr_extras_are_none(&extras) ? CStringGetTextDatum(model->design == NULL ? "" : model->design) :
		PointerGetDatum(gr_model_extras_text(&extras, model->design));
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tupdesc), values, nulls));
}

void
gr_model_name_terms(GrModel *model, const char *const *names)
{
	model->terms = NULL;
	if (names == NULL)
		return;
	model->terms = palloc(model->nterms * sizeof(char *));
	for (int k = 0; k < model->nterms; k++)
		model->terms[k] = !model->intercept ? names[k] : k == 0 ? GR_INTERCEPT : names[k - 1];
}

void
gr_model_disperse(GrModel *model)
{
	int64		n = model->nterms;

	if (model->vcov == NULL || model->dispersion == 1)
		return;
	for (int64 i = 0; i < n && model->vcov_low != NULL; i++)
		for (int64 j = 0; j <= i; j++)
		{
			double	   *low = &model->vcov_low[gr_packed(i, j)];
			GrDD		entry = gr_dd_mul_d((GrDD) {model->vcov[i * n + j], *low}, model->dispersion);

			*low = entry.hi - model->vcov[i * n + j] * model->dispersion + entry.lo;
		}
	for (int64 k = 0; k < n * n; k++)
		model->vcov[k] *= model->dispersion;
}

/* Solves the moved sums. Used if terms are aliased to which others would be moved after the solve. */
static void
solve_moved(GrModel *model, const GrGram *gram, const char *const *names, bool want_vcov)
{
	const GrTermMoves *moves = model->moves;
	GrPoll		poll = {.host = &gr_host};
	GrGram		moved = gr_gram_duplicate(gram);

	if (!gr_gram_move(&moved, moves, &poll))
		gr_gram_raise_canceled();
	model->moves = NULL;
	gr_model_solve(model, &moved, true, names, want_vcov, NULL);
	pfree(moved.hi);
}

void
gr_model_solve(GrModel *model, const GrGram *gram, bool intercept, const char *const *names, bool want_vcov,
			   const GrSolver *solver)
{
	int			nfeatures = gram->nfeatures;
	GrOlsFit	fit = {0};
	GrError		err = {0};
	int			nterms = nfeatures + (intercept ? 1 : 0);
	void	   *workspace = palloc_extended(gr_normal_workspace_nbytes(nfeatures), MCXT_ALLOC_HUGE);

	gr_check_terms(nfeatures, intercept);
	model->distribution = (GrDistribution) {GR_GAUSSIAN, GR_IDENTITY};
	model->nterms = nterms;
	model->intercept = intercept;
	gr_model_name_terms(model, names);
	fit.coef = palloc(nterms * sizeof(double));
	fit.vcov = want_vcov ? palloc_extended((Size) nterms * nterms * sizeof(double), MCXT_ALLOC_HUGE) : NULL;
	fit.vcov_low = want_vcov && nterms <= GR_LOW_TERMS_MAX ? palloc(gr_triangle(nterms) * sizeof(double)) : NULL;
	fit.moves = model->moves;
	fit.l2 = model->l2;
	fit.intercept = intercept;
	fit.solver = solver;
	if (!gr_ols_solve(gram, workspace, &fit, &gr_host, &err))
	{
		gr_note_device_error(&err);
		gr_raise_columns(&err, nfeatures, names);
	}
	pfree(workspace);
	if (fit.unmovable)
	{
		solve_moved(model, gram, names, want_vcov);
		return;
	}
	model->coef = fit.coef;
	model->vcov = fit.vcov;
	model->vcov_low = fit.on_device ? NULL : fit.vcov_low;
	model->nrows = gram->nobs;
	model->rank = fit.rank;
	model->df_residual = fit.df_residual;
	model->deviance = fit.rss;
	model->null_deviance = fit.tss;
	model->log_lik = gr_gaussian_log_likelihood(fit.rss, (double) gram->nobs, gram->log_constant);
	model->dispersion = gr_model_mean_square(fit.rss, (double) fit.df_residual);
	model->df_inference = (double) fit.df_residual;
	model->iterations = 1;
	model->converged = true;
}

/*
 * Reading
 */

/* Returns an array of n float8 (ndim 1) or n x n (ndim 2). Raises an ERROR if it has another type or shape. */
static ArrayType *
float_array(Datum datum, int ndim, int n)
{
	ArrayType  *array = DatumGetArrayTypeP(datum);

	if (ARR_ELEMTYPE(array) != FLOAT8OID || ARR_NDIM(array) != ndim || ARR_DIMS(array)[0] != n ||
		(ndim == 2 && ARR_DIMS(array)[1] != n))
		gr_bad_model("Its terms, coef and vcov differ in size.");
	return array;
}

/* Returns the array's numbers, with NaN for NULL. */
static double *
read_floats(ArrayType *array)
{
	int64		n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	double	   *values = palloc_extended(n * sizeof(double), MCXT_ALLOC_HUGE);
	const double *at = (const double *) ARR_DATA_PTR(array);
	const uint8 *nulls = ARR_NULLBITMAP(array);

	for (int64 k = 0; k < n; k++)
	{
		values[k] = nulls != NULL && (nulls[k / 8] & (1 << (k % 8))) == 0 ? NAN : *at++;
		gr_poll_loop(k);
	}
	return values;
}

static int
compare_terms(const void *a, const void *b, void *arg)
{
	const char *const *terms = arg;
	int			i = *(const int *) a;
	int			j = *(const int *) b;
	int			order = strcmp(terms[i], terms[j]);

	return order != 0 ? order : i - j;
}

int *
gr_model_sort_terms(const GrModel *model)
{
	int		   *sorted = palloc_extended(model->nterms * sizeof(int), MCXT_ALLOC_HUGE);

	for (int k = 0; k < model->nterms; k++)
		sorted[k] = k;
	qsort_interruptible(sorted, model->nterms, sizeof(int), compare_terms, model->terms);
	return sorted;
}

int
gr_model_find_term(const GrModel *model, const int *sorted, const char *name)
{
	int			low = 0;
	int			high = model->nterms;

	while (low < high)
	{
		int			middle = low + (high - low) / 2;

		if (strcmp(model->terms[sorted[middle]], name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Marks the terms named in datum as separated, with the sign of their coefficients. A name that is listed twice marks
 * two terms of that name. Names of no term are ignored.
 */
static void
read_separated(Datum datum, GrModel *model)
{
	ArrayType  *array = DatumGetArrayTypeP(datum);
	int		   *sorted;
	int		   *nmarked = palloc_extended(model->nterms * sizeof(int), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	Datum	   *items;
	bool	   *nulls;
	int			n;

	if (ARR_ELEMTYPE(array) != TEXTOID || ARR_NDIM(array) > 1)
		gr_bad_model("Its separated terms are not a list of names.");
	model->separated = palloc_extended(model->nterms * sizeof(int), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &items, &nulls, &n);
	sorted = n > 0 ? gr_model_sort_terms(model) : NULL;
	for (int i = 0; i < n; i++)
	{
		const char *name = nulls[i] ? "" : TextDatumGetCString(items[i]);
		int			first = gr_model_find_term(model, sorted, name);
		int			k = first < model->nterms ? first + nmarked[first] : first;

		if (k < model->nterms && strcmp(model->terms[sorted[k]], name) == 0)
		{
			model->separated[sorted[k]] = model->coef[sorted[k]] < 0 ? -1 : 1;
			nmarked[first]++;
		}
		gr_poll_loop(i);
	}
}

/* Returns the array of terms. Raises an ERROR unless it has at least one name, and no NULL. */
static ArrayType *
terms_of(Datum datum)
{
	ArrayType  *array = DatumGetArrayTypeP(datum);

	if (ARR_ELEMTYPE(array) != TEXTOID || ARR_NDIM(array) != 1 || ARR_DIMS(array)[0] < 1)
		gr_bad_model("Its terms are not a list of names.");
	if (array_contains_nulls(array))
		gr_bad_model("A term has no name.");
	return array;
}

static const char **
read_terms(Datum datum, int *nterms)
{
	const char **terms;
	Datum	   *items;

	deconstruct_array(terms_of(datum), TEXTOID, -1, false, TYPALIGN_INT, &items, NULL, nterms);
	terms = palloc(*nterms * sizeof(char *));
	for (int k = 0; k < *nterms; k++)
	{
		terms[k] = TextDatumGetCString(items[k]);
		gr_poll_loop(k);
	}
	return terms;
}

/* Raises an ERROR unless tupdesc, the type that the row itself names, has the fields of a gpu_model. */
static void
check_fields(TupleDesc tupdesc)
{
	bool		ok = tupdesc->natts == MODEL_NFIELDS;

	for (int k = 0; ok && k < MODEL_NFIELDS; k++)
		ok = TupleDescAttr(tupdesc, k)->atttypid == field_types[k] && !TupleDescAttr(tupdesc, k)->attisdropped;
	if (!ok)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("argument is not a gpu_model"),
				 errhint("Pass a model, such as the result of gpu_ols_fit.")));
}

static bool
is_text(const text *value, const char *expected)
{
	Size		n = strlen(expected);

	return VARSIZE_ANY_EXHDR(value) == n && memcmp(VARDATA_ANY(value), expected, n) == 0;
}

/*
 * Returns the family and link, and sets *kind and *quasi. If the model has neither, as models of earlier versions,
 * method decides. Kinds with classes have the binomial family and its links.
 */
static GrDistribution
read_distribution(const Datum *values, const bool *nulls, GrModelKind *kind, bool *quasi)
{
	GrDistribution distribution = {GR_GAUSSIAN, GR_IDENTITY};
	char	   *family;

	*quasi = false;
	*kind = GR_KIND_GLM;
	if (nulls[F_FAMILY] || nulls[F_LINK])
	{
		char	   *method = text_to_cstring(DatumGetTextPP(values[F_METHOD]));

		if (strncmp(method, "logistic", 8) == 0)
			distribution = (GrDistribution) {GR_BINOMIAL, GR_LOGIT};
		return distribution;
	}
	family = text_to_cstring(DatumGetTextPP(values[F_FAMILY]));
	*kind = gr_kind_named(family);
	if (*kind != GR_KIND_GLM)
		distribution.family = GR_BINOMIAL;
	if ((*kind == GR_KIND_GLM && !gr_family_named(family, &distribution.family, quasi)) ||
		!gr_link_named(text_to_cstring(DatumGetTextPP(values[F_LINK])), &distribution.link) ||
		!gr_family_has_link(distribution.family, distribution.link))
		gr_bad_model("Its family or link is unknown to this version of gpureg.");
	if (gr_family(distribution.family)->has_theta)
		distribution.theta = nulls[F_THETA] ? NAN : DatumGetFloat8(values[F_THETA]);
	if (gr_family(distribution.family)->has_theta && !(distribution.theta > 0))
		gr_bad_model("Its theta is not a positive number.");
	return distribution;
}

/* Reads the distribution and the method. */
static void
read_kind(const Datum *values, const bool *nulls, GrModel *model)
{
	GrMethod	method;

	method.distribution = model->distribution = read_distribution(values, nulls, &model->kind, &model->quasi);
	method.kind = model->kind;
	method.quasi = model->quasi;
	if (!gr_read_method(DatumGetTextPP(values[F_METHOD]), &method))
		gr_bad_model("Its method is unknown to this version of gpureg.");
	model->l2 = method.l2;
	model->firth = method.firth;
	model->iv = method.iv;
	model->mixed = method.mixed;
	model->reml = method.reml;
	model->theta_error = method.theta_error;
	model->net = method.net;
	model->net_alpha = method.alpha;
	model->net_lambda = method.lambda;
}

/* Reads all fields. Only vcov, the deviances, separated, device and the fields from log_lik on may be NULL. */
static void
read_fields(HeapTupleHeader header, Datum *values, bool *nulls)
{
	TupleDesc	tupdesc = lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(header), HeapTupleHeaderGetTypMod(header));
	HeapTupleData tuple;

	check_fields(tupdesc);
	tuple.t_len = HeapTupleHeaderGetDatumLength(header);
	ItemPointerSetInvalid(&tuple.t_self);
	tuple.t_tableOid = InvalidOid;
	tuple.t_data = header;
	heap_deform_tuple(&tuple, tupdesc, values, nulls);
	ReleaseTupleDesc(tupdesc);
	for (int k = 0; k < MODEL_NFIELDS; k++)
		if (nulls[k] && k != F_VCOV && (k < F_DEVIANCE || k == F_ITERATIONS || k == F_CONVERGED))
			gr_bad_model("One of its fields is NULL.");
}

/* Reads the scalar fields of a model whose distribution is set. */
static void
read_numbers(const Datum *values, const bool *nulls, GrModel *model)
{
	/* models of earlier versions have no family; they had no weights */
	bool		told = !nulls[F_FAMILY];

	model->nrows = DatumGetInt64(values[F_N]);
	model->nskipped = DatumGetInt64(values[F_N_SKIPPED]);
	model->rank = DatumGetInt32(values[F_RANK]);
	model->df_residual = DatumGetInt64(values[F_DF_RESIDUAL]);
	model->deviance = nulls[F_DEVIANCE] ? NAN : DatumGetFloat8(values[F_DEVIANCE]);
	model->null_deviance = nulls[F_NULL_DEVIANCE] ? NAN : DatumGetFloat8(values[F_NULL_DEVIANCE]);
	model->log_lik = !nulls[F_LOG_LIK] ? DatumGetFloat8(values[F_LOG_LIK]) : told ? NAN :
		gr_log_likelihood(model->distribution.family, model->deviance, (double) model->nrows, 0);
	model->dispersion = nulls[F_DISPERSION] ? NAN : DatumGetFloat8(values[F_DISPERSION]);
	model->df_inference = !nulls[F_DF_INFERENCE] ? DatumGetFloat8(values[F_DF_INFERENCE]) :
		told || gr_family(model->distribution.family)->is_binary ? INFINITY : (double) model->df_residual;
	model->iterations = DatumGetInt32(values[F_ITERATIONS]);
	model->converged = DatumGetBool(values[F_CONVERGED]);
}

/* Raises an ERROR if the model has ndf degrees of freedom of its own, and ndf is not nterms. */
static void
check_df(int ndf, int nterms)
{
	if (ndf > 0 && ndf != nterms)
		gr_bad_model("Its degrees of freedom and terms differ in number.");
}

/* Reads what standard errors need from a model of nterms terms, whose distribution, quasi, l2 and iv are set. */
static void
read_error(const Datum *values, const bool *nulls, int nterms, GrModel *model, GrPredictorError *error)
{
	ArrayType  *vcov = nulls[F_VCOV] ? NULL : float_array(values[F_VCOV], 2, nterms);

	read_numbers(values, nulls, model);
	error->distribution = model->distribution;
	error->l2 = model->l2;
	error->iv = model->iv;
	error->mixed = model->mixed;
	error->robust = !nulls[F_VCOV_TYPE] && !is_text(DatumGetTextPP(values[F_VCOV_TYPE]), "iid");
	error->vcov = vcov == NULL ? NULL : ARR_HASNULL(vcov) ? read_floats(vcov) : (double *) ARR_DATA_PTR(vcov);
	error->dispersion = gr_model_dispersion(model);
	error->df_inference = model->df_inference;
	error->df = NULL;
	error->bread = (GrString) {.bytes = NULL};
	if (!nulls[F_DESIGN])
	{
		GrExtras	extras;
		int			ndf;

		gr_read_extras(DatumGetTextPP(values[F_DESIGN]), &extras);
		error->df = gr_read_df(&extras, &ndf);
		if (gr_extras_find(&extras, GR_EXTRA_BREAD) != NULL)
			error->bread = *gr_extras_find(&extras, GR_EXTRA_BREAD);
		check_df(ndf, nterms);
	}
}

void
gr_errors_of_leverages(GrPredictor *predictor, GrPredictorError *error)
{
	if (!error->robust || error->bread.bytes == NULL)
		return;
	error->vcov = gr_read_bread(error->bread, predictor->nfeatures + (predictor->intercept ? 1 : 0));
	error->dispersion = 1;
	error->robust = false;
	predictor->vcov_low = (GrString) {.bytes = NULL};
}

/* Sets the predictor's design, offsets and vcov_low from field, a gpu_model's design or NULL. */
static void
read_predictor_design(const text *field, GrPredictor *predictor)
{
	GrExtras	extras;
	const GrString *offsets;
	const GrString *low;

	predictor->design = (GrString) {.bytes = ""};
	predictor->offsets = predictor->vcov_low = (GrString) {.bytes = NULL};
	/* most models have neither records nor a design */
	if (field == NULL || VARSIZE_ANY_EXHDR(field) == 0)
		return;
	gr_read_extras(field, &extras);
	gr_check_not_absorbed(&extras);
	predictor->design = extras.design;
	offsets = gr_extras_find(&extras, GR_EXTRA_OFFSETS);
	if (offsets != NULL)
		predictor->offsets = *offsets;
	low = gr_extras_find(&extras, GR_EXTRA_VCOV_LOW);
	if (low != NULL)
		predictor->vcov_low = *low;
}

bool
gr_predicts_alike(HeapTupleHeader a, HeapTupleHeader b)
{
	static const int fields[] = {F_METHOD, F_TERMS, F_COEF, F_FAMILY, F_LINK, F_THETA, F_DESIGN};
	Datum		values[2][MODEL_NFIELDS];
	bool		nulls[2][MODEL_NFIELDS];

	read_fields(a, values[0], nulls[0]);
	read_fields(b, values[1], nulls[1]);
	for (int i = 0; i < lengthof(fields); i++)
	{
		int			k = fields[i];
		bool		is_number = k == F_THETA;

		if (nulls[0][k] != nulls[1][k] ||
			(!nulls[0][k] && !datumIsEqual(values[0][k], values[1][k], is_number && FLOAT8PASSBYVAL,
										   is_number ? (int) sizeof(float8) : -1)))
			return false;
	}
	return true;
}

void
gr_open_predictor(HeapTupleHeader header, GrPredictor *predictor, GrPredictorError *error)
{
	Datum		values[MODEL_NFIELDS];
	bool		nulls[MODEL_NFIELDS];
	GrModel		model;
	ArrayType  *coef;

	read_fields(header, values, nulls);
	read_kind(values, nulls, &model);
	if (model.kind != GR_KIND_GLM)
		gr_refuse_kind(model.kind);
	predictor->serial = 0;
	predictor->kind = model.kind;
	predictor->nclasses = 0;
	predictor->link = model.distribution.link;
	predictor->terms = terms_of(values[F_TERMS]);
	/* an array's data begins aligned, with the first element */
	predictor->intercept = is_text((text *) ARR_DATA_PTR(predictor->terms), GR_INTERCEPT);
	predictor->nfeatures = ARR_DIMS(predictor->terms)[0] - (predictor->intercept ? 1 : 0);
	coef = float_array(values[F_COEF], 1, ARR_DIMS(predictor->terms)[0]);
	predictor->coef = (const double *) ARR_DATA_PTR(coef);
	predictor->nulls = ARR_NULLBITMAP(coef);
	read_predictor_design(nulls[F_DESIGN] ? NULL : DatumGetTextPP(values[F_DESIGN]), predictor);
	if (error != NULL)
		read_error(values, nulls, ARR_DIMS(predictor->terms)[0], &model, error);
}

void
gr_open_class_predictor(HeapTupleHeader header, GrPredictor *predictor)
{
	Datum		values[MODEL_NFIELDS];
	bool		nulls[MODEL_NFIELDS];
	GrModel		model;
	GrExtras	extras;
	const char **terms;
	double	   *coef;
	Datum	   *names;
	int			n;
	int			first;

	read_fields(header, values, nulls);
	read_kind(values, nulls, &model);
	if (model.kind != GR_KIND_MULTINOM && model.kind != GR_KIND_ORDINAL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the model has no classes"),
				 errdetail("Its family is %s.", gr_model_family(&model)),
				 errhint("Use gpu_predict(), or a model of gpu_multinom_fit().")));
	memset(predictor, 0, sizeof(*predictor));
	predictor->kind = model.kind;
	predictor->link = model.distribution.link;
	read_predictor_design(nulls[F_DESIGN] ? NULL : DatumGetTextPP(values[F_DESIGN]), predictor);
	if (!nulls[F_DESIGN])
	{
		gr_read_extras(DatumGetTextPP(values[F_DESIGN]), &extras);
		predictor->classes = gr_read_classes(&extras, &predictor->nclasses);
	}
	terms = read_terms(values[F_TERMS], &model.nterms);
	n = gr_predictor_terms(model.kind, model.nterms, predictor->nclasses, &first);
	coef = read_floats(float_array(values[F_COEF], 1, model.nterms));
	for (int k = 0; k < model.nterms; k++)
		if (isnan(coef[k]))
			coef[k] = 0;
	names = palloc((n + 1) * sizeof(Datum));
	for (int k = 0; k < n; k++)
		names[k] = CStringGetTextDatum(model.kind == GR_KIND_MULTINOM ?
									   gr_term_of_class(terms[k], predictor->classes[1]) : terms[first + k]);
	predictor->terms = construct_array(names, n, TEXTOID, -1, false, TYPALIGN_INT);
	predictor->intercept = n > 0 && is_text((text *) DatumGetPointer(names[0]), GR_INTERCEPT);
	predictor->nfeatures = n - (predictor->intercept ? 1 : 0);
	predictor->class_coef = coef;
	predictor->coef = coef + first;
}

void
gr_read_model(FunctionCallInfo fcinfo, int argument, GrModel *model, GrModelParts parts)
{
	gr_read_any_model(fcinfo, argument, model, parts);
	if (model->kind != GR_KIND_GLM)
		gr_refuse_kind(model->kind);
}

void
gr_read_any_model(FunctionCallInfo fcinfo, int argument, GrModel *model, GrModelParts parts)
{
	Datum		values[MODEL_NFIELDS];
	bool		nulls[MODEL_NFIELDS];
	bool		want_vcov;

	read_fields(PG_GETARG_HEAPTUPLEHEADER(argument), values, nulls);
	read_kind(values, nulls, model);
	model->vcov_type = nulls[F_VCOV_TYPE] ? NULL : text_to_cstring(DatumGetTextPP(values[F_VCOV_TYPE]));
	want_vcov = !nulls[F_VCOV] && (parts == GR_MODEL_ALL || model->l2 > 0 || gr_model_is_robust(model));
	model->terms = read_terms(values[F_TERMS], &model->nterms);
	model->intercept = strcmp(model->terms[0], GR_INTERCEPT) == 0;
	model->coef = read_floats(float_array(values[F_COEF], 1, model->nterms));
	model->vcov = want_vcov ? read_floats(float_array(values[F_VCOV], 2, model->nterms)) : NULL;
	model->vcov_low = NULL;
	model->separated = NULL;
	if (parts == GR_MODEL_ALL && !nulls[F_SEPARATED])
		read_separated(values[F_SEPARATED], model);
	read_numbers(values, nulls, model);
	model->design = gr_read_model_extras(nulls[F_DESIGN] ? NULL : DatumGetTextPP(values[F_DESIGN]), &model->extras);
	check_df(model->extras.ndf, model->nterms);
	gr_check_classes(model->kind, &model->extras, model->terms, model->nterms);
}

double
gr_model_dispersion(const GrModel *model)
{
	GrFamily	family = model->distribution.family;

	if (!isnan(model->dispersion))
		return model->dispersion;
	if (gr_family(family)->least_squares)
		return gr_model_mean_square(model->deviance, (double) model->df_residual);
	return gr_family_has_dispersion(family, model->quasi) ? NAN : 1;
}

Datum
gr_model_rename(FunctionCallInfo fcinfo, ArrayType *terms, ArrayType *separated)
{
	TupleDesc	tupdesc;
	Datum		values[MODEL_NFIELDS];
	bool		nulls[MODEL_NFIELDS];

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE || tupdesc->natts != MODEL_NFIELDS)
		elog(ERROR, "result type is not gpu_model");
	read_fields(PG_GETARG_HEAPTUPLEHEADER(0), values, nulls);
	values[F_TERMS] = PointerGetDatum(terms);
	if (!nulls[F_SEPARATED])
		values[F_SEPARATED] = PointerGetDatum(separated);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tupdesc), values, nulls));
}
