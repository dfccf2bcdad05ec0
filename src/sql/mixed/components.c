/*
 * components.c: finds which levels of grouping factors are linked by cells; see components.h.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "sql/mixed/components.h"

/* Returns the root of a level, and shortens the path to it. */
static int
root_of(int *parent, int level)
{
	while (parent[level] != level)
	{
		parent[level] = parent[parent[level]];
		level = parent[level];
	}
	return level;
}

/* Links the levels that share a cell. first: number of each term's first level among all. Returns the parents. */
static int *
link_levels(int nterms, const int *const *levels, const int *first, int64 ncells)
{
	int			n = first[nterms];
	int		   *parent = palloc_extended((Size) n * sizeof(int), MCXT_ALLOC_HUGE);

	for (int k = 0; k < n; k++)
		parent[k] = k;
	for (int64 c = 0; c < ncells; c++)
	{
		for (int k = 1; k < nterms; k++)
		{
			int			a = root_of(parent, first[0] + levels[0][c]);
			int			b = root_of(parent, first[k] + levels[k][c]);

			/* the smaller number becomes the root: components are in the order of their first levels */
			parent[Max(a, b)] = Min(a, b);
		}
		if (c % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
	}
	return parent;
}

/* Turns counts of n items, at counts[k + 1], into the first position of each. */
static void
accumulate(int *counts, int64 n)
{
	for (int64 k = 0; k < n; k++)
		counts[k + 1] += counts[k];
}

void
gr_find_components(int nterms, const int *const *levels, const int *nlevels, int64 ncells, GrComponents *map)
{
	int			first[GR_LMM_TERMS_MAX + 1] = {0};
	int		   *parent;
	int		   *component;		/* number of each level's component */
	int		   *block;			/* number of each level's block within its component */
	int			n;

	for (int k = 0; k < nterms; k++)
		first[k + 1] = first[k] + nlevels[k];
	n = first[nterms];
	parent = link_levels(nterms, levels, first, ncells);
	component = palloc_extended((Size) n * sizeof(int), MCXT_ALLOC_HUGE);
	block = palloc_extended((Size) n * sizeof(int), MCXT_ALLOC_HUGE);
	map->ncomponents = 0;
	for (int k = 0; k < n; k++)
		component[k] = parent[k] == k ? (int) map->ncomponents++ : component[root_of(parent, k)];

	map->first_block = palloc_extended((map->ncomponents + 1) * sizeof(int), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	map->first_cell = palloc_extended((map->ncomponents + 1) * sizeof(int), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	map->term = palloc_extended((Size) n * sizeof(int), MCXT_ALLOC_HUGE);
	map->level = palloc_extended((Size) n * sizeof(int), MCXT_ALLOC_HUGE);
	map->cells = palloc_extended(ncells * sizeof(int), MCXT_ALLOC_HUGE);
	map->blocks = palloc_extended(ncells * nterms * sizeof(int), MCXT_ALLOC_HUGE);
	for (int k = 0; k < n; k++)
		block[k] = map->first_block[component[k] + 1]++;
	map->most_blocks = 0;
	for (int64 c = 0; c < map->ncomponents; c++)
		map->most_blocks = Max(map->most_blocks, map->first_block[c + 1]);
	accumulate(map->first_block, map->ncomponents);
	for (int k = 0; k < nterms; k++)
		for (int level = first[k]; level < first[k + 1]; level++)
		{
			int			at = map->first_block[component[level]] + block[level];

			map->term[at] = k;
			map->level[at] = level - first[k];
		}
	for (int64 c = 0; c < ncells; c++)
		map->first_cell[component[levels[0][c]] + 1]++;
	accumulate(map->first_cell, map->ncomponents);
	for (int64 c = 0; c < ncells; c++)
	{
		map->cells[map->first_cell[component[levels[0][c]]]++] = (int) c;
		for (int k = 0; k < nterms; k++)
			map->blocks[c * nterms + k] = block[first[k] + levels[k][c]];
	}
	/* each first cell was advanced to the next component's */
	memmove(map->first_cell + 1, map->first_cell, map->ncomponents * sizeof(int));
	map->first_cell[0] = 0;
	pfree(parent);
	pfree(component);
	pfree(block);
}

int
gr_components_most_effects(const GrComponents *map, const GrLmmModel *model)
{
	int64		most = 0;

	for (int64 c = 0; c < map->ncomponents; c++)
	{
		int64		n = 0;

		for (int k = map->first_block[c]; k < map->first_block[c + 1]; k++)
			n += model->terms[map->term[k]].ncolumns;
		most = Max(most, n);
	}
	return (int) most;
}
