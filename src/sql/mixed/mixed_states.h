/*
 * mixed_states.h: stores the states of a mixed model's groups, and fits the model to them. gpu_lmm_agg adds a state per
 * row, gpu_lmm_fit one per group of a query.
 */
#ifndef GPUREG_MIXED_STATES_H
#define GPUREG_MIXED_STATES_H

#include "postgres.h"

#include "sql/linear/cluster_states.h"
#include "sql/mixed/cell_levels.h"
#include "sql/mixed/mixed_fit.h"

typedef struct GrMixedStates
{
	GrClusterStates *states;	/* all columns of the states */
	const GrLmmFormula *formula;
	bool		reml;
	bool		intercept;
	int			nfixed;			/* members of GrMixedInput, to be set before the fit, like the next two */
	int		   *fixed;
	int			response;
	GrCellLevels *levels;		/* level of each state; NULL: each state is a group */
	/* these two as in GrMixedInput */
	void		(*take_effects) (void *arg, int term, int level, const double *effects, const double *errors);
	void	   *effects_arg;
} GrMixedStates;

/*
 * Fits the model; there is at least one state with rows. names: names of the states' columns, the response's last;
 * NULL: their own. Sets model->nskipped to the rows that
 * the states skipped. Else as gr_mixed_fit()
 */
extern const char *gr_mixed_states_fit(const GrMixedStates *mixed, const char *const *names, GrModel *model,
									   const char **hint);

#endif							/* GPUREG_MIXED_STATES_H */
