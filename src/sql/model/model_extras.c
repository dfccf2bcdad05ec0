/*
 * model_extras.c: reads and writes gpu_model's field design. Each record is a member of GrModelExtras:
 * gr_read_model_extras() reads it, and gr_model_extras_text() writes it.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/memutils.h"

#include "compute/glm/glm_fit.h"
#include "compute/linear/vcov_low.h"
#include "run/compat.h"
#include "sql/model/model_extras.h"

void
gr_bad_model(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("malformed gpu_model"),
			 errdetail("%s", detail),
			 errhint("Use a value that a gpureg function returned.")));
}

void
gr_read_extras(const text *field, GrExtras *extras)
{
	if (!gr_extras_read(VARDATA_ANY(field), VARSIZE_ANY_EXHDR(field), extras))
		gr_bad_model("This version of gpureg cannot read its design.");
}

const double *
gr_read_df(const GrExtras *records, int *n)
{
	const GrString *value = gr_extras_find(records, GR_EXTRA_DF);
	double	   *df;

	*n = 0;
	if (value == NULL)
		return NULL;
	*n = value->nbytes / GR_EXTRA_NUMBER_SIZE + 1;
	df = palloc_extended((Size) *n * sizeof(double), MCXT_ALLOC_HUGE);
	if (!gr_extras_numbers(*value, *n, df))
		gr_bad_model("This version of gpureg cannot read its design.");
	return df;
}

/* Numbers of GrAbsorbed before those of the factors' levels */
#define NABSORBED 5

void
gr_check_not_absorbed(const GrExtras *records)
{
	const GrString *names = gr_extras_find(records, GR_EXTRA_ABSORBED);

	if (names == NULL)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("the model has absorbed effects, which predictions need"),
			 errdetail("The absorbed effects are: %.*s.", names->nbytes, names->bytes),
			 errhint("Get the effects from gpu_effects, and add them to the sum of coefficients times columns.")));
}

/* Reads the records of absorbed effects; NULL: there are none. */
static const GrAbsorbed *
read_absorbed(const GrExtras *records)
{
	const GrString *names = gr_extras_find(records, GR_EXTRA_ABSORBED);
	const GrString *value = gr_extras_find(records, GR_EXTRA_EFFECTS);
	double		numbers[NABSORBED + GR_EFFECTS_MAX];
	GrAbsorbed *absorbed;
	int			n;

	if (names == NULL && value == NULL)
		return NULL;
	n = value == NULL ? 0 : value->nbytes / GR_EXTRA_NUMBER_SIZE + 1;
	if (names == NULL || n <= NABSORBED || n > NABSORBED + GR_EFFECTS_MAX || !gr_extras_numbers(*value, n, numbers))
		gr_bad_model("Its absorbed effects are malformed.");
	absorbed = palloc0(sizeof(GrAbsorbed));
	absorbed->names = pnstrdup(names->bytes, names->nbytes);
	absorbed->df = numbers[0];
	absorbed->df_is_bound = numbers[1] != 0;
	absorbed->within_tss = numbers[2];
	absorbed->nsingletons = numbers[3];
	absorbed->nseparated = numbers[4];
	absorbed->nfactors = n - NABSORBED;
	memcpy(absorbed->nlevels, numbers + NABSORBED, absorbed->nfactors * sizeof(double));
	return absorbed;
}

double *
gr_read_bread(GrString bread, int nterms)
{
	int64		n = nterms;
	double	   *triangle;
	double	   *matrix;

	if (n > GR_BREAD_TERMS_MAX)
		gr_bad_model("This version of gpureg cannot read its design.");
	triangle = palloc(gr_triangle(n) * sizeof(double));
	matrix = palloc(n * n * sizeof(double));
	if (!gr_extras_numbers(bread, (int) gr_triangle(n), triangle))
		gr_bad_model("This version of gpureg cannot read its design.");
	for (int64 i = 0; i < n; i++)
		for (int64 j = 0; j <= i; j++)
			matrix[i * n + j] = matrix[j * n + i] = triangle[gr_packed(i, j)];
	pfree(triangle);
	return matrix;
}

GrString
gr_bread_text(const double *triangle, int nterms)
{
	int			n = (int) gr_triangle(nterms);
	char	   *value = palloc((Size) n * GR_EXTRA_NUMBER_SIZE);

	gr_extras_put_numbers(triangle, n, value);
	return (GrString) {value, n * GR_EXTRA_NUMBER_SIZE - 1};
}

const char **
gr_read_classes(const GrExtras *records, int *n)
{
	const GrString *value = gr_extras_find(records, GR_EXTRA_CLASSES);
	const char *at = value == NULL ? NULL : value->bytes;
	const char *end = value == NULL ? NULL : value->bytes + value->nbytes;
	const char **classes;

	*n = 0;
	if (value == NULL)
		return NULL;
	classes = palloc(((Size) value->nbytes / 2 + 1) * sizeof(char *));
	while (at < end)
	{
		int64		nbytes = 0;
		int			ndigits = 0;

		for (; at < end && *at >= '0' && *at <= '9' && ndigits < 9; at++, ndigits++)
			nbytes = nbytes * 10 + (*at - '0');
		if (ndigits == 0 || at == end || *at++ != ' ' || nbytes > end - at)
			gr_bad_model("This version of gpureg cannot read its classes.");
		classes[(*n)++] = pnstrdup(at, nbytes);
		at += nbytes;
	}
	return classes;
}

/* Returns the value of the record key as a C string, or NULL if there is no such record. */
static const char *
read_name(const GrExtras *records, const char *key)
{
	const GrString *value = gr_extras_find(records, key);

	return value == NULL ? NULL : pnstrdup(value->bytes, value->nbytes);
}

const char *
gr_read_model_extras(const text *field, GrModelExtras *extras)
{
	GrExtras	records;

	*extras = (GrModelExtras) {0};
	if (field == NULL)
		return "";
	gr_read_extras(field, &records);
	extras->offsets = read_name(&records, GR_EXTRA_OFFSETS);
	extras->weights = read_name(&records, GR_EXTRA_WEIGHTS);
	extras->frequencies = read_name(&records, GR_EXTRA_FREQUENCIES);
	extras->df = gr_read_df(&records, &extras->ndf);
	extras->absorbed = read_absorbed(&records);
	extras->classes = gr_read_classes(&records, &extras->nclasses);
	if (gr_extras_find(&records, GR_EXTRA_VCOV_LOW) != NULL)
		extras->vcov_low = *gr_extras_find(&records, GR_EXTRA_VCOV_LOW);
	if (gr_extras_find(&records, GR_EXTRA_BREAD) != NULL)
		extras->bread = *gr_extras_find(&records, GR_EXTRA_BREAD);
	if (gr_extras_find(&records, GR_EXTRA_MIXED) != NULL)
		extras->mixed = *gr_extras_find(&records, GR_EXTRA_MIXED);
	return pnstrdup(records.design.bytes, records.design.nbytes);
}

/* Adds a record, unless value is NULL. */
static void
add_name(GrExtras *records, const char *key, const char *value)
{
	if (value != NULL && !gr_extras_add(records, key, (GrString) {value, (int) strlen(value)}))
		elog(ERROR, "a gpu_model has too many records");
}

/* Adds the record of degrees of freedom, if extras has any. */
static void
add_df(GrExtras *records, const GrModelExtras *extras)
{
	char	   *value;

	if (extras->df == NULL || extras->ndf == 0)
		return;
	value = palloc_extended((Size) extras->ndf * GR_EXTRA_NUMBER_SIZE, MCXT_ALLOC_HUGE);
	gr_extras_put_numbers(extras->df, extras->ndf, value);
	add_name(records, GR_EXTRA_DF, value);
}

/* Adds the records of absorbed effects, if there are any. */
static void
add_absorbed(GrExtras *records, const GrAbsorbed *absorbed)
{
	double		numbers[NABSORBED + GR_EFFECTS_MAX];
	char	   *value;

	if (absorbed == NULL)
		return;
	numbers[0] = absorbed->df;
	numbers[1] = absorbed->df_is_bound ? 1 : 0;
	numbers[2] = absorbed->within_tss;
	numbers[3] = absorbed->nsingletons;
	numbers[4] = absorbed->nseparated;
	memcpy(numbers + NABSORBED, absorbed->nlevels, absorbed->nfactors * sizeof(double));
	value = palloc((NABSORBED + absorbed->nfactors) * GR_EXTRA_NUMBER_SIZE);
	gr_extras_put_numbers(numbers, NABSORBED + absorbed->nfactors, value);
	add_name(records, GR_EXTRA_ABSORBED, absorbed->names);
	add_name(records, GR_EXTRA_EFFECTS, value);
}

/* Adds the record of classes, if extras has any. */
static void
add_classes(GrExtras *records, const GrModelExtras *extras)
{
	StringInfoData value;

	if (extras->nclasses == 0)
		return;
	initStringInfo(&value);
	for (int k = 0; k < extras->nclasses; k++)
		appendStringInfo(&value, "%zu %s", strlen(extras->classes[k]), extras->classes[k]);
	add_name(records, GR_EXTRA_CLASSES, value.data);
}

text *
gr_model_extras_text(const GrModelExtras *extras, const char *design)
{
	GrExtras	records = {.design = {.bytes = design == NULL ? "" : design}};
	GrWriter	writer = {0};
	text	   *field;

	records.design.nbytes = (int) strlen(records.design.bytes);
	add_name(&records, GR_EXTRA_OFFSETS, extras->offsets);
	add_name(&records, GR_EXTRA_WEIGHTS, extras->weights);
	add_name(&records, GR_EXTRA_FREQUENCIES, extras->frequencies);
	add_df(&records, extras);
	add_absorbed(&records, extras->absorbed);
	add_classes(&records, extras);
	if (extras->vcov_low.bytes != NULL && !gr_extras_add(&records, GR_EXTRA_VCOV_LOW, extras->vcov_low))
		elog(ERROR, "a gpu_model has too many records");
	if (extras->bread.bytes != NULL && !gr_extras_add(&records, GR_EXTRA_BREAD, extras->bread))
		elog(ERROR, "a gpu_model has too many records");
	if (extras->mixed.bytes != NULL && !gr_extras_add(&records, GR_EXTRA_MIXED, extras->mixed))
		elog(ERROR, "a gpu_model has too many records");

	gr_extras_write(&writer, &records);
	field = palloc_extended(VARHDRSZ + writer.nbytes, MCXT_ALLOC_HUGE);
	SET_VARSIZE(field, VARHDRSZ + writer.nbytes);
	writer = (GrWriter) {.text = VARDATA(field),.size = writer.nbytes};
	gr_extras_write(&writer, &records);
	return field;
}

double *
gr_read_low(GrString string, const double *vcov, int nterms)
{
	double	   *low;

	if (string.bytes == NULL)
		return NULL;
	low = palloc(Max(string.nbytes, 16 * gr_triangle(Min(nterms, GR_LOW_TERMS_MAX))) / 16 * sizeof(double));
	if (!gr_vcov_low_read(&string, vcov, nterms, low))
		gr_bad_model("Its vcov and vcov_low do not match.");
	return low;
}
