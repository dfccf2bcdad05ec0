/*
 * fn_distributions.c: the SQL functions gpu_pnorm, gpu_qnorm and so on, which compute what R's pnorm, qnorm, pt, qt,
 * pchisq, qchisq, pf and qf do.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"

#include "compute/dist/inference.h"

PG_FUNCTION_INFO_V1(gr_pnorm);
PG_FUNCTION_INFO_V1(gr_qnorm);
PG_FUNCTION_INFO_V1(gr_pt);
PG_FUNCTION_INFO_V1(gr_qt);
PG_FUNCTION_INFO_V1(gr_pchisq);
PG_FUNCTION_INFO_V1(gr_qchisq);
PG_FUNCTION_INFO_V1(gr_pf);
PG_FUNCTION_INFO_V1(gr_qf);

/* Returns argument i. Raises an ERROR if it is outside 0 .. 1. NaN passes this check and becomes the result. */
static double
probability_argument(FunctionCallInfo fcinfo, int i)
{
	double		p = PG_GETARG_FLOAT8(i);

	if (p < 0 || p > 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("p must be between 0 and 1, got %g", p)));
	return p;
}

static double
df_argument(FunctionCallInfo fcinfo, int i, const char *name)
{
	double		df = PG_GETARG_FLOAT8(i);

	if (df <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be greater than 0, got %g", name, df)));
	return df;
}

static double
sd_argument(FunctionCallInfo fcinfo, int i)
{
	double		sd = PG_GETARG_FLOAT8(i);

	if (sd < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("sd must not be negative, got %g", sd)));
	return sd;
}

/* gpu_pnorm(q, mean, sd, lower_tail) */
Datum
gr_pnorm(PG_FUNCTION_ARGS)
{
	double		sd = sd_argument(fcinfo, 2);

	PG_RETURN_FLOAT8(gr_normal_probability(PG_GETARG_FLOAT8(0), PG_GETARG_FLOAT8(1), sd, PG_GETARG_BOOL(3)));
}

/* gpu_qnorm(p, mean, sd, lower_tail) */
Datum
gr_qnorm(PG_FUNCTION_ARGS)
{
	double		p = probability_argument(fcinfo, 0);
	double		sd = sd_argument(fcinfo, 2);

	PG_RETURN_FLOAT8(gr_normal_quantile(p, PG_GETARG_FLOAT8(1), sd, PG_GETARG_BOOL(3)));
}

/* gpu_pt(q, df, lower_tail) */
Datum
gr_pt(PG_FUNCTION_ARGS)
{
	double		df = df_argument(fcinfo, 1, "df");

	PG_RETURN_FLOAT8(gr_t_probability(PG_GETARG_FLOAT8(0), df, PG_GETARG_BOOL(2)));
}

/* gpu_qt(p, df, lower_tail) */
Datum
gr_qt(PG_FUNCTION_ARGS)
{
	double		p = probability_argument(fcinfo, 0);
	double		df = df_argument(fcinfo, 1, "df");

	PG_RETURN_FLOAT8(gr_t_quantile(p, df, PG_GETARG_BOOL(2)));
}

/* gpu_pchisq(q, df, lower_tail) */
Datum
gr_pchisq(PG_FUNCTION_ARGS)
{
	double		df = df_argument(fcinfo, 1, "df");

	PG_RETURN_FLOAT8(gr_chisq_probability(PG_GETARG_FLOAT8(0), df, PG_GETARG_BOOL(2)));
}

/* gpu_qchisq(p, df, lower_tail) */
Datum
gr_qchisq(PG_FUNCTION_ARGS)
{
	double		p = probability_argument(fcinfo, 0);
	double		df = df_argument(fcinfo, 1, "df");

	PG_RETURN_FLOAT8(gr_chisq_quantile(p, df, PG_GETARG_BOOL(2)));
}

/* gpu_pf(q, df1, df2, lower_tail) */
Datum
gr_pf(PG_FUNCTION_ARGS)
{
	double		df1 = df_argument(fcinfo, 1, "df1");
	double		df2 = df_argument(fcinfo, 2, "df2");

	PG_RETURN_FLOAT8(gr_f_probability(PG_GETARG_FLOAT8(0), df1, df2, PG_GETARG_BOOL(3)));
}

/* gpu_qf(p, df1, df2, lower_tail) */
Datum
gr_qf(PG_FUNCTION_ARGS)
{
	double		p = probability_argument(fcinfo, 0);
	double		df1 = df_argument(fcinfo, 1, "df1");
	double		df2 = df_argument(fcinfo, 2, "df2");

	PG_RETURN_FLOAT8(gr_f_quantile(p, df1, df2, PG_GETARG_BOOL(3)));
}
