/*
 * select_subset.h: a selection of features, and the fits of its subsets; see select.h. Called by select.c and
 * select_best.c.
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
	GrSelectMethod method;		/* input */
	bool		intercept;		/* input: the intercept is in every model and does not count in sizes */
	int			max_size;		/* input: largest size of a subset, 0 .. nfeatures */
	int			rank;			/* largest number of features of a model among all of them */
	double		full_rss;		/* RSS of the fit of all features */
	int			nsizes;			/* sizes with a subset: 0 .. nsizes - 1; backward: sizes up to the rank */
	int		   *features;		/* subset of size k: k ascending indexes from 0, at k (k - 1) / 2 */
	double	   *rss;			/* max_size + 1; rss[0]: the total sum of squares */
	int64_t		nnodes;			/* nodes of the search */
	int64_t		nsolved;		/* subsets solved in double-double */
} GrSelection;

/* Data shared by all methods of selection. */
typedef struct GrSelect
{
	GrGram		gram;			/* the given matrix; about 0 without an intercept */
	int			nfeatures;
	int64_t		nrows;
	GrSelection *selection;
	const GrHost *host;
	GrError    *err;
	GrDDVector	c;				/* packed triangle of the features and the response, scaled, about the mean with an
								 * intercept */
	double	   *least_pivot;	/* nfeatures: least pivots of c */
	GrGram		subset;			/* memory for the Gram matrix of a subset, and its columns */
	int		   *columns;
	double	   *coef;
	int		   *sorted;
	bool	   *known;			/* max_size + 1: a subset of that size is known */
	void	   *ols_workspace;
	GrArena		arena;			/* the workspace; the search carves the rest */
} GrSelect;

/* Solves a subset of n ascending features for its RSS and rank. The column of an error is that of all features. */
extern bool gr_select_solve(GrSelect *select, const int *features, int n, GrOlsFit *fit);

/*
 * Solves a subset of n features in any order and stores it if it is the best of its size so far. *better tells whether
 * it is. Returns false on an error.
 */
extern bool gr_select_try(GrSelect *select, const int *subset, int n, bool *better);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_SELECT_SUBSET_H */
