/*
 * folds.h: parts the rows of a cross-validation into folds, where the rows are.
 *
 * Each part is a job with the rows of one fold. Sums without a fold are the sums over all other parts; they are never
 * differences of sums. All fits that leave out one fold begin at the same estimate, so their first pass is the same
 * request: its sums are made once per part and kept.
 */
#ifndef GPUREG_FOLDS_H
#define GPUREG_FOLDS_H

#include "postgres.h"

#include "compute/glm/glm.h"
#include "run/job.h"

#define GR_NO_FOLD (-1)

typedef struct GrFoldRows
{
	GrRowShape	shape;			/* shape of the rows, without a key */
	GrRowRules	rules;
	int			n;				/* number of folds that have rows, in all arrays below */
	int64	   *label;			/* keys, ascending */
	GrJob	  **part;
	int64		nrows;			/* rows of all parts */
	int			npasses;		/* passes over single parts */
	double		pass_s;
	/* sums of the first request that left out a fold */
	GrRequest  *first;			/* NULL: no such request yet */
	double	  **first_sums;		/* sums of each part; NULL: not made yet */
} GrFoldRows;

/*
 * Parts the kept or spooled rows of a job by their keys, which are the folds: 1 .. nfolds or, if nfolds is 0, up to
 * GR_FOLDS_MAX distinct integers. The job gives its rows up but keeps the place of the parts, and must live as long as
 * they. ERROR if there are fewer than two folds
 */
extern GrFoldRows *gr_fold_rows(GrJob *job, int nfolds, const char *const *names);

/* Adds the sums of a request over all parts except left_out (or GR_NO_FOLD) to sums. */
extern void gr_fold_request(GrFoldRows *rows, int left_out, const GrRequest *request, double *sums);

/* Adds the sums of a request over the rows of one part to sums, and frees the request. */
extern void gr_fold_part_sums(GrFoldRows *rows, int part, GrRequest *request, double *sums);

/* Return the totals, and the number, of the rows of all parts except left_out; see gr_has_totals(). */
extern GrRowTotals gr_fold_totals(const GrFoldRows *rows, int left_out);
extern int64 gr_fold_nrows(const GrFoldRows *rows, int left_out);

extern void gr_fold_release(GrFoldRows *rows);

/* Raises the ERROR that there are more folds than most. */
extern void gr_raise_many_folds(int most) __attribute__((noreturn));

#endif							/* GPUREG_FOLDS_H */
