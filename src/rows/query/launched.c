/*
 * launched.c: counts the parallel workers that a plan launched.
 */
#include "postgres.h"

#include "nodes/execnodes.h"
#include "nodes/nodeFuncs.h"

#include "rows/query/launched.h"

static bool
count_launched(PlanState *state, void *arg)
{
	int		   *n = arg;

	if (state == NULL)
		return false;
	if (IsA(state, GatherState))
		*n += ((GatherState *) state)->nworkers_launched;
	else if (IsA(state, GatherMergeState))
		*n += ((GatherMergeState *) state)->nworkers_launched;
	else
		return planstate_tree_walker(state, count_launched, arg);
	return false;
}

int
gr_launched_workers(PlanState *state)
{
	int			n = 0;

	(void) count_launched(state, &n);
	return n;
}
