/*
 * select_best.h: the best subset of each size by branch and bound; see select.h.
 */
#ifndef GPUREG_SELECT_BEST_H
#define GPUREG_SELECT_BEST_H

#include "compute/linear/select_subset.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Doubles of room for the search, and the search, which begins with what is known */
extern size_t gr_select_best_ndoubles(int nfeatures);
extern bool gr_select_best(GrSelect *select);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_SELECT_BEST_H */
