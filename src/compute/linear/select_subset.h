/*
 * select_subset.h: what a selection of features is, and the fits of subsets that it is made of; see select.h.
 */
#ifndef GPUREG_SELECT_SUBSET_H
#define GPUREG_SELECT_SUBSET_H

#include "compute/linear/ols.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/* What all ways of selecting work on */
typedef struct GrSelect
{
	GrGram		gram;			/* as given or, without an intercept, about 0 */
	int			nfeatures;
	int64_t		nrows;
	GrSelection *selection;
	const GrHost *host;
	GrError    *err;
	GrDDVector	c;				/* packed triangle of the features and the response, scaled, about the mean */
	double	   *least_pivot;	/* nfeatures: of c */
	GrGram		subset;			/* room for a subset, and its columns */
	int		   *columns;
	double	   *coef;
	int		   *sorted;
	bool	   *known;			/* max_size + 1: is there a subset of that size? */
	void	   *ols_workspace;
	GrArena		arena;			/* the workspace; the search carves what is left */
} GrSelect;

/*
 * Solves a subset of n features in ascending order, of which the RSS and the rank are wanted. Where it fails, the error
 * is about a column of all.
 */
extern bool gr_select_solve(GrSelect *select, const int *features, int n, GrOlsFit *fit);

/*
 * Solves a subset of n features, in any order; where it is the best of its size so far, that is noted. *better says so.
 * False: failed
 */
extern bool gr_select_try(GrSelect *select, const int *subset, int n, bool *better);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_SELECT_SUBSET_H */
