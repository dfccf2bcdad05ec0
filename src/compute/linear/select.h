/*
 * select.h: selection of features for a linear regression: the best subset of each size, or forward or backward steps,
 * from a Gram matrix in double-double. Call gr_select_workspace_nbytes() first, then gr_select().
 *
 * Best: branch and bound over all subsets. The residual sum of squares (RSS) of a subset is at least that of its
 * supersets (Furnival and Wilson (1974), Regressions by leaps and bounds). The tree is that of Gatu and Kontoghiorghes
 * (2006), Branch-and-bound algorithms for computing the best-subset regression models, JCGS 15: a node is a set, of
 * which some features may be dropped, with an orthogonal factor of these. A child has one feature less, and the
 * factor's rows before that feature stay. The features that may be dropped are sorted by the cost of dropping them
 * (Hofmann, Gatu and Kontoghiorghes (2007), CSDA 52). The search is in float8 if the features are far enough from
 * collinear, else in double-double. A subset that is the best up to rounding is solved in double-double as a fit, which
 * decides. With at least as many features as rows nothing bounds the search.
 *
 * Forward: adds the feature that reduces the RSS most. Backward: begins with the features that are not aliased in a fit
 * of all, and removes the feature that increases the RSS least. Ties go to the first feature.
 */
#ifndef GPUREG_SELECT_H
#define GPUREG_SELECT_H

#include "compute/linear/select_subset.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Limit of features for the best subset. Even far fewer can take forever. */
#define GR_SELECT_BEST_MAX 200

/* Returns the bytes of workspace for gr_select(). */
extern size_t gr_select_workspace_nbytes(int nfeatures, GrSelectMethod method);

/*
 * Selects features by gram, which has at least 1 row. The caller owns the arrays of selection: max_size (max_size + 1)
 * / 2 features and max_size + 1 sums. Fails as gr_ols_solve() does.
 */
extern bool gr_select(const GrGram *gram, void *workspace, GrSelection *selection, const GrHost *host, GrError *err);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_SELECT_H */
