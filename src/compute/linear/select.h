/*
 * select.h: which features to regress on: the best subset of each size, or forward or backward steps, from a Gram
 * matrix in double-double.
 *
 * Best: all subsets are searched by branch and bound: a subset's residual sum of squares (RSS) is no less than that of
 * what it is a part of (Furnival and Wilson (1974), Regressions by leaps and bounds). The tree is that of Gatu and
 * Kontoghiorghes (2006), Branch-and-bound algorithms for computing the best-subset regression models, JCGS 15: a node
 * is a set of which some features may be dropped and an orthogonal factor of these, its child has one less, and the
 * factor's rows before that one stay as they are; the features that may be dropped are put in the order of what that
 * costs (Hofmann, Gatu and Kontoghiorghes (2007), CSDA 52). The search is in float8 where the features are far enough
 * from collinear, else in double-double; a subset that is the best but for what rounding may have done to it is solved
 * in double-double, as a fit is, and that decides. Where there are no fewer features than rows nothing bounds it.
 *
 * Forward: the feature that takes most off the RSS comes next. Backward: begins with the features that aren't aliased
 * in a fit of all; the one that adds least to the RSS goes. Of equal ones the first counts.
 */
#ifndef GPUREG_SELECT_H
#define GPUREG_SELECT_H

#include "compute/linear/select_subset.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most features that the best subset can be looked for among; far less than that can take for ever */
#define GR_SELECT_BEST_MAX 200

/* Bytes of workspace for gr_select() */
extern size_t gr_select_workspace_nbytes(int nfeatures, GrSelectMethod method);

/*
 * Selects by gram, of 1 row or more. The selection's arrays are the caller's: room for max_size (max_size + 1) / 2
 * features and max_size + 1 sums. Fails as gr_ols_solve() does.
 */
extern bool gr_select(const GrGram *gram, void *workspace, GrSelection *selection, const GrHost *host, GrError *err);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_SELECT_H */
