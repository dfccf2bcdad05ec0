/*
 * components.h: finds which levels of grouping factors are linked by cells. Linked levels make a component, which is
 * solved together; see lmm.h.
 */
#ifndef GPUREG_MIXED_COMPONENTS_H
#define GPUREG_MIXED_COMPONENTS_H

#include "postgres.h"

#include "compute/mixed/lmm.h"

typedef struct GrComponents
{
	int64		ncomponents;
	int		   *first_block;	/* ncomponents + 1: first block of each in term */
	int		   *term;			/* random term of each block, those of a component in order of terms */
	int		   *level;			/* level of each block, among its term's */
	int		   *first_cell;		/* ncomponents + 1: first cell of each in cells */
	int		   *cells;			/* numbers of the cells, ordered by component */
	int		   *blocks;			/* per cell and random term: the block, within the component */
	int			most_blocks;	/* blocks of the largest component */
} GrComponents;

/* Finds the components of ncells cells. levels: as in GrMixedInput, but never NULL */
extern void gr_find_components(int nterms, const int *const *levels, const int *nlevels, int64 ncells,
							   GrComponents *map);

/* Returns the most effects of a component. */
extern int	gr_components_most_effects(const GrComponents *map, const GrLmmModel *model);

#endif							/* GPUREG_MIXED_COMPONENTS_H */
