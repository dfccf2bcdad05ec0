/*
 * released.c: symbols that only the SQL of released versions names. A database whose extension is not updated yet calls
 * them in this version's library.
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

/* 0.1.0 had a symbol for y that is a boolean beside that for a number. */
RELEASED_SYMBOL(gr_ols_stats_accum_bool, gr_ols_stats_accum);
RELEASED_SYMBOL(gr_wls_stats_accum_bool, gr_wls_stats_accum);
RELEASED_SYMBOL(gr_logreg_step_accum_bool, gr_logreg_step_accum);
RELEASED_SYMBOL(gr_glm_step_accum_bool, gr_glm_step_accum);
RELEASED_SYMBOL(gr_logreg_arrays_bool, gr_logreg_arrays);
RELEASED_SYMBOL(gr_logreg_agg_accum_bool, gr_logreg_agg_accum);
RELEASED_SYMBOL(gr_logreg_rows_accum_bool, gr_logreg_rows_accum);
RELEASED_SYMBOL(gr_auc_accum_bool, gr_auc_accum);
RELEASED_SYMBOL(gr_brier_accum_bool, gr_brier_accum);
