/*
 * cell_levels.h: numbers the levels of grouping factors, as cells of a mixed model come.
 */
#ifndef GPUREG_MIXED_CELL_LEVELS_H
#define GPUREG_MIXED_CELL_LEVELS_H

#include "postgres.h"

#include "compute/mixed/lmm_formula.h"
#include "utils/jsonb.h"

typedef struct GrCellLevels
{
	MemoryContext context;		/* owns the members */
	const GrLmmFormula *formula;
	GrLevels	tables[GR_LMM_TERMS_MAX];	/* levels of each random term, by their texts */
	int		   *levels[GR_LMM_TERMS_MAX];	/* level of each cell */
	int64		ncells;
	int64		capacity;
} GrCellLevels;

/* Returns no cells yet, in the current memory context. formula must live as long. */
extern GrCellLevels *gr_cell_levels_make(const GrLmmFormula *formula);

/*
 * Adds a cell whose levels are members of an object. Returns false, and adds nothing, if one of them is null. ERROR if
 * one is missing, or is an array or an object
 */
extern bool gr_cell_levels_add(GrCellLevels *cells, Jsonb *object);

/* Like gr_cell_levels_add(), for texts. values: nfactors of each random term, one term after the other; NULL: null */
extern bool gr_cell_levels_add_texts(GrCellLevels *cells, const GrString *values);

/* Returns the values of a level of a random term, joined by colons. */
extern char *gr_cell_level_text(const GrCellLevels *cells, int term, int level);

#endif							/* GPUREG_MIXED_CELL_LEVELS_H */
