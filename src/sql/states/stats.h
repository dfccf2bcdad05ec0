/*
 * stats.h: a gpu_ols_stats with a choice of its columns, by number or name. Functions of stored states open their
 * arguments with it: gpu_ols_solve, gpu_iv_solve, gpu_ols_select, gpu_enet_path, gpu_ols_cluster_agg and others.
 *
 * Column 0 is the state's response, columns 1 .. p are its features. Results for a choice of columns use only the
 * products of these columns, as if the state had been made of them alone.
 */
#ifndef GPUREG_STATS_H
#define GPUREG_STATS_H

#include "postgres.h"

#include "fmgr.h"

#include "rows/state/state.h"

typedef struct GrStats
{
	GrState    *state;			/* the whole state, settled; read-only */
	int			nfeatures;		/* number of chosen features; 0 or more */
	int		   *features;		/* column numbers of the chosen features */
	int			response;		/* column number of the response */
	/* sums of the features and the response; may point into the state, see gr_state_gram() */
	GrGram		gram;
	const char **names;			/* nfeatures + 1 names, the response's last; "x3" or "y" if the state has none */
	bool		whole;			/* true if the choice is the state's own columns in their order */
} GrStats;

/* Opens all columns of a gpu_ols_stats. Returns false if it has no complete row; SQL functions then return NULL. */
extern bool gr_stats_open(Datum datum, GrStats *stats);

/*
 * Opens the columns that arguments choose. Arguments are passed by number; -1: the function has no such argument.
 * features_arg: an "any" that is an array of numbers or names, or a literal of one; NULL: all features except the
 * response. response_arg: an "any" that is a number or a name; NULL: 0. Digits are a name if a column has that name.
 * Returns false as gr_stats_open() does. Raises 22023 for unknown or repeated columns, and 42804 for other types.
 */
extern bool gr_stats_arguments(FunctionCallInfo fcinfo, int stats_arg, int features_arg, int response_arg,
							   GrStats *stats);

/*
 * Returns the positions among the chosen features, from 0, of the *n columns that another argument lists. what: the
 * argument's name. NULL is an empty list. Raises errors as gr_stats_arguments() does.
 */
extern int *gr_stats_columns(FunctionCallInfo fcinfo, int argument, const char *what, const GrStats *stats, int *n);

/* Like gr_stats_columns(), but for an argument that names one column; returns its position. */
extern int	gr_stats_column(FunctionCallInfo fcinfo, int argument, const char *what, const GrStats *stats);

/* Returns the names for gr_model_solve() and gr_raise_columns(); NULL if messages should number the columns. */
static inline const char *const *
gr_stats_names(const GrStats *stats)
{
	return stats->whole && stats->state->nnames == 0 ? NULL : (const char *const *) stats->names;
}

#endif							/* GPUREG_STATS_H */
