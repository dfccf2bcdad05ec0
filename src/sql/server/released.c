/*
 * released.c: symbols that only the SQL of released versions uses. A database whose extension is not updated yet, or
 * was created with an earlier VERSION, looks them up in this library.
 */
#include "postgres.h"

#include "fmgr.h"

#define RELEASED_SYMBOL(symbol, function) \
	extern Datum function(PG_FUNCTION_ARGS); \
	PG_FUNCTION_INFO_V1(symbol); \
	Datum \
	symbol(PG_FUNCTION_ARGS) \
	{ \
		return function(fcinfo); \
	} \
	extern int	gr_no_such_symbol

/* Symbols of 0.1.0 for a boolean y, beside those for a number */
RELEASED_SYMBOL(gr_ols_stats_accum_bool, gr_ols_stats_accum);
RELEASED_SYMBOL(gr_wls_stats_accum_bool, gr_wls_stats_accum);
RELEASED_SYMBOL(gr_logreg_step_accum_bool, gr_logreg_step_accum);
RELEASED_SYMBOL(gr_glm_step_accum_bool, gr_glm_step_accum);
RELEASED_SYMBOL(gr_logreg_arrays_bool, gr_logreg_arrays);
RELEASED_SYMBOL(gr_logreg_agg_accum_bool, gr_logreg_agg_accum);
RELEASED_SYMBOL(gr_logreg_rows_accum_bool, gr_logreg_rows_accum);
RELEASED_SYMBOL(gr_auc_accum_bool, gr_auc_accum);
RELEASED_SYMBOL(gr_brier_accum_bool, gr_brier_accum);

static void raise_retired(void) __attribute__((noreturn));

static void
raise_retired(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("this function belongs to an earlier version of gpureg"),
			 errhint("Run ALTER EXTENSION gpureg UPDATE.")));
}

#define RETIRED(name) \
	PG_FUNCTION_INFO_V1(name); \
	Datum \
	name(PG_FUNCTION_ARGS) \
	{ \
		(void) fcinfo; \
		raise_retired(); \
	}

/* Functions of aggregates in 0.1.0 that only gpureg's own queries used */
RETIRED(gr_logreg_pass_accum)
RETIRED(gr_scores_accum)
RETIRED(gr_scores_combine)
RETIRED(gr_scores_serial)
RETIRED(gr_scores_deserial)
RETIRED(gr_scores_final)
RETIRED(gr_boot_accum)
RETIRED(gr_boot_combine)
RETIRED(gr_boot_serial)
RETIRED(gr_boot_deserial)
RETIRED(gr_boot_final)
