/* select_best.h: the search for the best subset of each size by branch and bound; see select.h. Called by select.c. */
#ifndef GPUREG_SELECT_BEST_H
#define GPUREG_SELECT_BEST_H

#include "compute/linear/select_subset.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Counts in arena the memory that the search carves from select->arena. */
extern void gr_select_best_count(int nfeatures, GrArena *arena);

/* Runs the search, which begins with the best subsets known so far. Returns false on an error. */
extern bool gr_select_best(GrSelect *select);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_SELECT_BEST_H */
