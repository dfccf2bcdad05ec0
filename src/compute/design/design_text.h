/*
 * design_text.h: writes designs as text and reads them; design.h has the text's form. frame.c writes, and everything
 * that has a row or a model reads.
 */
#ifndef GPUREG_DESIGN_TEXT_H
#define GPUREG_DESIGN_TEXT_H

#include "compute/design/design.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Reads a design. The design points into text, which must outlive it; other memory, of the order of the text's length,
 * comes from `memory`. Returns NULL if text is not a design, has more than GR_MAX_FEATURES features, or there is no
 * memory.
 */
extern GrDesign *gr_design_read(const char *text, size_t nbytes, GrMemory memory);

/*
 * Writes the design of formula, whose text is also given. levels: per column, set for columns used as factors. Columns
 * that no term uses are left out. centers: per column, the center of powers if their degree is 2 or more; NULL: no
 * centers.
 */
extern void gr_design_write(GrWriter *writer, const GrFormula *formula, GrString text, const GrFormulaColumn *columns,
							int ncolumns, const GrLevels *levels, const double *centers);

/*
 * Writes a design of version 3 without terms whose offset is an expression of columns: gpu_design_number() computes it.
 */
extern void gr_design_write_number(GrWriter *writer, const GrExpression *expression, const GrFormulaColumn *columns,
								   int ncolumns);

/* Returns the number of features, which may exceed the range of an int. */
extern double gr_formula_nfeatures(const GrFormula *formula, const GrLevels *levels);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_DESIGN_TEXT_H */
