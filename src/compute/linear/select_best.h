/*
 * select_best.h: the best subset of each size by branch and bound; see select.h.
 */
#ifndef GPUREG_SELECT_BEST_H
#define GPUREG_SELECT_BEST_H

#include "compute/linear/select_subset.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Counts in arena what the search carves from select->arena. */
extern void gr_select_best_count(int nfeatures, GrArena *arena);

/* The search, which begins with what is known */
extern bool gr_select_best(GrSelect *select);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_SELECT_BEST_H */
