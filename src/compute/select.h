/*
 * select.h: which features to regress on: the best subset of each size, or forward or backward steps, from a Gram matrix
 * in double-double.
 *
 * Best: all subsets are searched by branch and bound: a subset's residual sum of squares (RSS) is no less than that of
 * what it is a part of (Furnival and Wilson (1974), Regressions by leaps and bounds). The tree is that of Gatu and
 * Kontoghiorghes (2006), Branch-and-bound algorithms for computing the best-subset regression models, JCGS 15: a node is
 * a set of which some features may be dropped and an orthogonal factor of these, its child has one less, and the
 * factor's rows before that one stay as they are; the features that may be dropped are put in the order of what that
 * costs (Hofmann, Gatu and Kontoghiorghes (2007), CSDA 52). The search is in float8 where the features are far enough
 * from collinear, else in double-double; a subset that is the best but for what rounding may have done to it is solved
 * in double-double, as a fit is, and that decides.
 *
 * Forward: the feature that takes most off the RSS comes next. Backward: beginning with all features that aren't aliased
 * in a fit of all, the one that adds least to it goes. Of equal ones the first counts.
 */
#ifndef GPUREG_SELECT_H
#define GPUREG_SELECT_H

#include "compute/ols.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most features that the best subset can be looked for among; far less than that can take for ever */
#define GR_SELECT_BEST_MAX 200

typedef enum GrSelectMethod
{
	GR_SELECT_BEST,
	GR_SELECT_FORWARD,
	GR_SELECT_BACKWARD
} GrSelectMethod;

typedef struct GrSelection
{
	GrSelectMethod method;		/* in */
	bool		intercept;		/* in: in every model, and counts for no size */
	int			max_size;		/* in: of the subsets; 0 .. nfeatures */
	int			rank;			/* how many features a model can have, among all of them */
	double		full_rss;		/* of the fit of all features */
	int			nsizes;			/* subsets: of 0 .. nsizes - 1 features; backward: of those that are no larger */
	int		   *features;		/* subset of size k: k places (0 ..) in ascending order, at k (k - 1) / 2 */
	double	   *rss;			/* max_size + 1; rss[0]: the total sum of squares */
	int64_t		nnodes;			/* of the search, and ... */
	int64_t		nsolved;		/* subsets that were solved in double-double */
} GrSelection;

/* Bytes of workspace for gr_select() */
extern size_t gr_select_workspace_nbytes(int nfeatures, GrSelectMethod method);

/*
 * Selects. hi, lo, shift: as in gr_ols_solve(), over nrows >= 1 rows. The selection's arrays are the caller's: room for
 * max_size (max_size + 1) / 2 features and max_size + 1 sums. Fails as gr_ols_solve() does.
 */
extern bool gr_select(const double *hi, const double *lo, const double *shift, int nfeatures, int64_t nrows,
					  void *workspace, GrSelection *selection, const GrHost *host, GrError *err);

/*
 * Between select.c and select_best.c: what a subset's fit is, and which are the best so far
 */

typedef struct GrSelect
{
	const double *hi;			/* as given */
	const double *lo;
	const double *shift;
	int			nfeatures;
	int64_t		nrows;
	GrSelection *selection;
	const GrHost *host;
	GrError    *err;
	double	   *c_hi;			/* packed triangle of the features and the response, scaled, about the mean */
	double	   *c_lo;
	double	   *least_pivot;	/* nfeatures: of c */
	double	   *subset_hi;		/* room for a subset */
	double	   *subset_lo;
	double	   *subset_shift;
	double	   *coef;
	int		   *entries;
	int		   *sorted;
	bool	   *known;			/* max_size + 1: is there a subset of that size? */
	void	   *ols_workspace;
	double	   *room;			/* for the search */
} GrSelect;

/*
 * Solves a subset of n features, in any order; where it is the best of its size so far, that is noted. *better says so.
 * False: failed
 */
extern bool gr_select_try(GrSelect *select, const int *subset, int n, bool *better);

/* Doubles of room for the search, and the search, which begins with what is known */
extern size_t gr_select_best_ndoubles(int nfeatures);
extern bool gr_select_best(GrSelect *select);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_SELECT_H */
