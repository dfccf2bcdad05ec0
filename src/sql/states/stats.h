/*
 * stats.h: a gpu_ols_stats as the functions of stored states compute with it: some of its columns, by number or name.
 *
 * Column 0 is the state's response, 1 .. p its features. What is asked of some columns is answered from the products of
 * these, as if the state had been made of them alone.
 */
#ifndef GPUREG_STATS_H
#define GPUREG_STATS_H

#include "postgres.h"

#include "fmgr.h"

#include "rows/state/state.h"

typedef struct GrStats
{
	GrState    *state;			/* all of it, settled; not to be changed */
	int			nfeatures;		/* chosen; 0 or more */
	int		   *features;		/* nfeatures: their columns */
	int			response;		/* its column */
	GrGram		gram;			/* of the features and the response; may be the state's; see gr_state_gram() */
	const char **names;			/* nfeatures + 1: of the features and the response; where the state has none x3, y */
	bool		whole;			/* the state's own columns in their order */
} GrStats;

/* All columns of a gpu_ols_stats. False if it has no complete row: its functions return NULL then. */
extern bool gr_stats_open(Datum datum, GrStats *stats);

/*
 * The same, of some columns. features_arg: an "any" that is an array of numbers or names, or a literal of one; NULL:
 * all features but the response. response_arg: an "any" that is a number or a name; NULL: 0. -1: there is no such
 * argument. A name that is a number's digits is a name if a column has it. ERROR 22023 for what is no column, or is
 * there twice, and 42804 for other types.
 */
extern bool gr_stats_arguments(FunctionCallInfo fcinfo, int stats_arg, int features_arg, int response_arg,
							   GrStats *stats);

/*
 * Another list of columns, in an argument like features: their places among the chosen features, from 0; *n of them.
 * what: the argument's name. ERROR as above; NULL is an empty list
 */
extern int *gr_stats_columns(FunctionCallInfo fcinfo, int argument, const char *what, const GrStats *stats, int *n);

/* The place among the chosen features, from 0, of the column that an argument like response names; ERROR as above */
extern int	gr_stats_column(FunctionCallInfo fcinfo, int argument, const char *what, const GrStats *stats);

/* For gr_model_solve() and gr_raise_columns(): NULL where a message had better number the columns */
static inline const char *const *
gr_stats_names(const GrStats *stats)
{
	return stats->whole && stats->state->nnames == 0 ? NULL : (const char *const *) stats->names;
}

#endif							/* GPUREG_STATS_H */
