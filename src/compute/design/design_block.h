/*
 * design_block.h: computes the features of many rows, a column at a time, with the bits that gr_design_expand() and
 * gr_design_expand_pairs() give for each row. The custom scan calls it (scan_design.c).
 *
 * Numbers are stored by columns: number r of column c is at [c * GR_DESIGN_BLOCK + r]. Factors are not supported.
 */
#ifndef GPUREG_DESIGN_BLOCK_H
#define GPUREG_DESIGN_BLOCK_H

#include "compute/design/design.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GR_DESIGN_BLOCK 64		/* most rows of a block */
#define GR_DESIGN_BLOCK_FEATURES_MAX 512	/* most features of a row, with the low halves */

typedef struct GrDesignBlock GrDesignBlock;

/*
 * Returns a workspace for blocks of a design's rows. pairs: with the low halves of paired terms behind the features.
 * Returns NULL if the design has a factor or more than GR_DESIGN_BLOCK_FEATURES_MAX features, or there is no memory.
 */
extern GrDesignBlock *gr_design_block(const GrDesign *design, bool pairs, GrMemory memory);

/*
 * Computes the features of nrows rows, at most GR_DESIGN_BLOCK. columns: numbers of each of the design's columns.
 * Returns the features' numbers by columns, which the next call overwrites. Clears bit r of *defined if an expression
 * is not finite in row r although the row's numbers are.
 */
extern const double *gr_design_block_features(GrDesignBlock *block, const double *const *columns, int nrows,
											  uint64_t *defined);

/* Computes the numbers of the design's offset. columns, nrows, defined: as above */
extern void gr_design_block_offset(GrDesignBlock *block, const double *const *columns, int nrows, double *numbers,
								   uint64_t *defined);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_DESIGN_BLOCK_H */
