/*
 * mixed_fit.h: fits a linear mixed model to stored sums of groups, and fills a gpu_model. gpu_lmm_agg and gpu_lmm_fit
 * call it.
 */
#ifndef GPUREG_MIXED_FIT_H
#define GPUREG_MIXED_FIT_H

#include "postgres.h"

#include "compute/mixed/lmm_formula.h"
#include "sql/model/model.h"

/* Name of a grouping factor that has none: each state is a group */
#define GR_LMM_STATES "state"

/*
 * Cells: rows that share the levels of all grouping factors. A record has the sums of a cell, as gr_gram_at() reads
 * them.
 */
typedef struct GrMixedInput
{
	const GrGram *all;			/* sums of all cells over columns (x, y) */
	const char *const *names;	/* names of the columns, the response's last */
	int			nfixed;			/* columns with fixed effects */
	const int  *fixed;			/* positions of these nfixed columns, from 0 */
	int			response;		/* position of the response */
	bool		intercept;		/* the fixed terms have an intercept */
	const GrLmmFormula *formula;
	bool		reml;
	const char *columns_hint;	/* hint of the ERROR for a random column that is not among the columns */
	int64		ncells;
	const int  *levels[GR_LMM_TERMS_MAX];	/* ncells numbers per random term, from 0; NULL: each cell is a level */
	int			nlevels[GR_LMM_TERMS_MAX];
	/* Returns the next *n records of gr_gram_ndoubles() numbers each, in the order of the cells; NULL at the end */
	const double *(*next) (void *arg, int64 *n);
	void	   *arg;
	/*
	 * Receives the effects of a level of a random term, and their standard errors, after the fit; NULL: not wanted.
	 * Only for cells with levels.
	 */
	void		(*take_effects) (void *arg, int term, int level, const double *effects, const double *errors);
	void	   *effects_arg;
} GrMixedInput;

/*
 * Fits the model. Fills model except nskipped, device and design. Returns NULL, or else a sentence that says why no
 * model can be fitted, with *hint set; model is then unusable. Raises an ERROR for names of no column.
 */
extern const char *gr_mixed_fit(const GrMixedInput *input, GrModel *model, const char **hint);

/* Returns the name of a term's grouping factor, such as school:class. */
extern const char *gr_mixed_group_name(const GrLmmFormulaTerm *term);

/* Reads a formula's random terms. whole: the text is a whole formula. ERROR if it is malformed */
extern GrLmmFormula *gr_mixed_formula(const char *text, bool whole);

/* Returns true for 'reml', false for 'ml'; ERROR for another method */
extern bool gr_mixed_is_reml(const char *method);

#endif							/* GPUREG_MIXED_FIT_H */
