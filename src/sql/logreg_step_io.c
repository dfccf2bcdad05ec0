/*
 * logreg_step_io.c: input and output of the SQL type gpu_logreg_step.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"

#include "compute/compute.h"
#include "compute/glm.h"
#include "rows/logreg_step.h"
#include "rows/state_text.h"
#include "run/args.h"

PG_FUNCTION_INFO_V1(gr_logreg_step_in);
PG_FUNCTION_INFO_V1(gr_logreg_step_out);
PG_FUNCTION_INFO_V1(gr_logreg_step_recv);
PG_FUNCTION_INFO_V1(gr_logreg_step_send);

static void
check_public(const GrStep *step)
{
	if (step->internal)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot display a gpu_logreg_step that gpu_logreg_fit uses within a statement")));
}

/* ERROR unless the numbers could have come from rows. */
static void
check_step(GrStep *step)
{
	double	   *sums = gr_step_sums(step);
	double	   *hi = sums + GR_SUM_HEAD;
	bool		ok = step->nskipped >= 0;

	if (step->nfeatures >= 0)
	{
		double		n = sums[GR_SUM_NROWS];
		int			t = step->nfeatures + 1;

		ok &= n >= 0 && n <= GR_STEP_ROWS_MAX && n == floor(n) && sums[GR_SUM_NONES] >= 0 && sums[GR_SUM_NONES] <= n &&
			sums[GR_SUM_NONES] == floor(sums[GR_SUM_NONES]) && sums[GR_SUM_DEVIANCE_HI] >= 0 &&
			!isnan(sums[GR_SUM_MIN_MARGIN]) && hi[0] == n;
		for (int k = 0; k < t; k++)
			ok &= isfinite(gr_step_beta(step)[k]) && (gr_step_fixed(step)[k] == 0 || gr_step_fixed(step)[k] == 1);
		for (int64 k = 0; ok && k < 2 * gr_triangle(t + 2); k++)
		{
			ok = isfinite(hi[k]);
			gr_poll_loop(k);
		}
		for (int64 k = 1; ok && k <= t + 1; k++)
			ok = hi[k * (k + 1) / 2 + k] >= 0;
	}
	if (!ok)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("invalid value for type %s", "gpu_logreg_step"),
				 errdetail("Its sums cannot come from any rows.")));
}

static void
append_numbers(StringInfo buf, const char *key, const double *values, const double *fixed, int64 n)
{
	appendStringInfo(buf, ",\"%s\":[", key);
	for (int64 k = 0; k < n; k++)
	{
		if (k > 0)
			appendStringInfoChar(buf, ',');
		if (fixed != NULL && fixed[k] == 1)
			appendStringInfoString(buf, "null");
		else
			gr_append_number(buf, values[k]);
		if ((k & 0xfff) == 0)
			CHECK_FOR_INTERRUPTS();
	}
	appendStringInfoChar(buf, ']');
}

/*
 * Text: {"version":1,"features":p,"skipped":k,"intercept":1,"beta":[...],"head":[...],"gram":[...]}; beta has p + 1 numbers, null for
 * a term that stays out; head and gram are the sums as glm.h has them, null standing for infinity. Features are -1, and the
 * lists empty, before the first complete row.
 */
Datum
gr_logreg_step_out(PG_FUNCTION_ARGS)
{
	GrStep	   *step = gr_step_settled(PG_GETARG_DATUM(0));
	int64		t = step->nfeatures + 1;
	StringInfoData buf;

	check_public(step);
	initStringInfo(&buf);
	appendStringInfo(&buf, "{\"version\":%d,\"features\":%d,\"skipped\":" INT64_FORMAT ",\"intercept\":%d", step->version,
					 step->nfeatures, step->nskipped, step->intercept);
	append_numbers(&buf, "beta", gr_step_beta(step), gr_step_fixed(step), t);
	append_numbers(&buf, "head", gr_step_sums(step), NULL, t > 0 ? GR_SUM_HEAD : 0);
	append_numbers(&buf, "gram", gr_step_sums(step) + GR_SUM_HEAD, NULL, t > 0 ? 2 * gr_triangle(t + 2) : 0);
	appendStringInfoChar(&buf, '}');
	PG_RETURN_CSTRING(buf.data);
}

/* n numbers; null reads as null_value (NaN: there may be none), and is noted in fixed, where that is wanted */
static void
read_numbers(GrTextReader *reader, const char *key, double *values, double *fixed, double null_value, int64 n)
{
	gr_text_expect(reader, ",");
	gr_text_key(reader, key);
	gr_text_expect(reader, "[");
	for (int64 k = 0; k < n; k++)
	{
		if (k > 0)
			gr_text_expect(reader, ",");
		if (fixed != NULL && *reader->at == 'n')
			fixed[k] = 1;
		values[k] = gr_text_number(reader, null_value);
		if ((k & 0xfff) == 0)
			CHECK_FOR_INTERRUPTS();
	}
	gr_text_expect(reader, "]");
}

Datum
gr_logreg_step_in(PG_FUNCTION_ARGS)
{
	char	   *string = PG_GETARG_CSTRING(0);
	GrTextReader reader = {.type = "gpu_logreg_step",.string = string,.at = string};
	int			nfeatures;
	int64		t;
	int64		nskipped;
	GrStep	   *step;

	gr_text_expect(&reader, "{");
	gr_text_key(&reader, "version");
	gr_step_check_version((int) gr_text_integer(&reader, 0, PG_INT32_MAX));
	gr_text_expect(&reader, ",");
	gr_text_key(&reader, "features");
	nfeatures = (int) gr_text_integer(&reader, -1, GR_MAX_FEATURES);
	gr_text_expect(&reader, ",");
	gr_text_key(&reader, "skipped");
	nskipped = gr_text_integer(&reader, 0, PG_INT64_MAX);
	t = nfeatures + 1;
	/* a number takes two bytes at least: don't allocate for more than the text can hold */
	if (t > 0 && (Size) (2 * gr_triangle(t + 2)) * 2 > strlen(reader.at) + 1)
		gr_text_bad(&reader);
	step = gr_step_create(GR_PASS_EXACT, nfeatures, 0, 0, 0);
	step->nskipped = nskipped;
	gr_text_expect(&reader, ",");
	gr_text_key(&reader, "intercept");
	step->intercept = (int8) gr_text_integer(&reader, 0, 1);
	read_numbers(&reader, "beta", gr_step_beta(step), gr_step_fixed(step), 0, t);
	read_numbers(&reader, "head", gr_step_sums(step), NULL, INFINITY, t > 0 ? GR_SUM_HEAD : 0);
	read_numbers(&reader, "gram", gr_step_sums(step) + GR_SUM_HEAD, NULL, NAN, t > 0 ? 2 * gr_triangle(t + 2) : 0);
	gr_text_expect(&reader, "}");
	gr_text_end(&reader);
	check_step(step);
	PG_RETURN_POINTER(step);
}

Datum
gr_logreg_step_send(PG_FUNCTION_ARGS)
{
	GrStep	   *step = gr_step_settled(PG_GETARG_DATUM(0));
	int64		t = step->nfeatures + 1;
	int64		nsums = t > 0 ? gr_pass_nsums(GR_PASS_EXACT, step->nfeatures) : 0;
	StringInfoData buf;

	check_public(step);
	pq_begintypsend(&buf);
	pq_sendint16(&buf, step->version);
	pq_sendint32(&buf, step->nfeatures);
	pq_sendint64(&buf, step->nskipped);
	pq_sendbyte(&buf, step->intercept);
	for (int64 k = 0; k < 2 * t; k++)
		pq_sendfloat8(&buf, step->data[k]);
	for (int64 k = 0; k < nsums; k++)
		pq_sendfloat8(&buf, gr_step_sums(step)[k]);
	PG_RETURN_BYTEA_P(pq_endtypsend(&buf));
}

Datum
gr_logreg_step_recv(PG_FUNCTION_ARGS)
{
	StringInfo	buf = (StringInfo) PG_GETARG_POINTER(0);
	int			version = (int16) pq_getmsgint(buf, 2);
	int			nfeatures;
	int64		t;
	int64		nsums;
	int64		nskipped;
	int			intercept;
	GrStep	   *step;

	gr_step_check_version(version);
	nfeatures = (int) pq_getmsgint(buf, 4);
	nskipped = pq_getmsgint64(buf);
	intercept = pq_getmsgbyte(buf);
	t = (int64) nfeatures + 1;
	nsums = nfeatures < 0 || nfeatures > GR_MAX_FEATURES ? 0 : gr_pass_nsums(GR_PASS_EXACT, nfeatures);
	if ((nfeatures != -1 && nsums == 0) || intercept > 1 || buf->len - buf->cursor != (2 * t + nsums) * 8)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("invalid length in external \"%s\" value", "gpu_logreg_step")));
	step = gr_step_create(GR_PASS_EXACT, nfeatures, 0, 0, 0);
	step->nskipped = nskipped;
	step->intercept = intercept;
	for (int64 k = 0; k < 2 * t; k++)
		step->data[k] = pq_getmsgfloat8(buf);
	for (int64 k = 0; k < nsums; k++)
		gr_step_sums(step)[k] = pq_getmsgfloat8(buf);
	check_step(step);
	PG_RETURN_POINTER(step);
}
