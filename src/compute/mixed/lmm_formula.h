/*
 * lmm_formula.h: reads the random terms of a mixed model's formula, as lme4 writes them.
 *
 *	 random  := columns | term { + term }
 *	 term    := ( columns bar groups )
 *	 bar     := "|" | "||"
 *	 columns := item { + item }
 *	 item    := 0 | 1 | name
 *	 groups  := name { : name } | name / name { / name }
 *
 * Columns have an intercept unless there is a 0. A double bar makes each column a term of its own, without covariances.
 * a/b stands for a term of a and one of a:b. Columns without groups are one term whose group is not named. Names are as
 * in SQL, folded to lower case unless "quoted".
 */
#ifndef GPUREG_LMM_FORMULA_H
#define GPUREG_LMM_FORMULA_H

#include "compute/design/design.h"
#include "compute/mixed/lmm.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GR_LMM_FACTORS_MAX 4	/* columns that make up a grouping factor */

/* A random term as written. Names are terminated by 0 as well. */
typedef struct GrLmmFormulaTerm
{
	bool		intercept;
	int			ncolumns;		/* without the intercept */
	GrString	columns[GR_LMM_COLUMNS_MAX];
	int			nfactors;		/* 0: the groups are not named */
	GrString	factors[GR_LMM_FACTORS_MAX];
} GrLmmFormulaTerm;

typedef struct GrLmmFormula
{
	int			nterms;
	GrLmmFormulaTerm terms[GR_LMM_TERMS_MAX];
	GrString	fixed;			/* gr_lmm_formula_split(): the formula without random terms */
} GrLmmFormula;

/* Failure to read random terms */
typedef struct GrLmmFormulaError
{
	const char *message;		/* reason, such as "a name is expected"; NULL: memory is short */
	size_t		at;				/* position in the text in bytes */
} GrLmmFormulaError;

/* Reads random terms, or columns alone. Returns false and sets err on failure. */
extern bool gr_lmm_formula_read(GrString text, GrMemory memory, GrLmmFormula *formula, GrLmmFormulaError *err);

/*
 * Reads the random terms of a whole formula, those in brackets with a bar, and leaves the rest in formula->fixed. There
 * must be at least one random term.
 */
extern bool gr_lmm_formula_split(GrString text, GrMemory memory, GrLmmFormula *formula, GrLmmFormulaError *err);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_LMM_FORMULA_H */
