/*
 * folds.h: the rows of a cross-validation, in parts: one for each fold, at the place where the rows were.
 *
 * Whatever is summed over the rows of a fit that leaves a fold out is the sum over the other parts: rows are copied
 * once, and sums are added up, and never taken away from others. Fits that leave out one fold after the other begin at
 * the same estimate: what their first pass gives is summed once for each part, and kept.
 */
#ifndef GPUREG_FOLDS_H
#define GPUREG_FOLDS_H

#include "postgres.h"

#include "compute/glm/glm.h"
#include "run/job.h"

#define GR_NO_FOLD (-1)

typedef struct GrFoldRows
{
	GrRowShape	shape;			/* of the rows, which have no key */
	GrRowRules	rules;
	int			n;				/* folds that have rows */
	int64	   *label;			/* ascending */
	GrJob	  **part;
	int64		nrows;			/* of all parts */
	int			npasses;		/* over parts */
	double		pass_s;
	/* what the first request that left a fold out gave */
	GrRequest  *first;			/* NULL: there was none */
	double	  **first_sums;		/* a part's; NULL: not yet */
} GrFoldRows;

/*
 * Parts the rows of a job that are kept or spooled, by their keys, which are folds: 1 .. nfolds or, with nfolds 0, at
 * most GR_FOLDS_MAX integers that are found. The job's own rows are given up; it has the place of the parts, and must
 * stay. ERROR unless there are two folds or more
 */
extern GrFoldRows *gr_fold_rows(GrJob *job, int nfolds, const char *const *names);

/* Adds the rows of the parts but number left_out to the sums of a request. */
extern void gr_fold_request(GrFoldRows *rows, int left_out, const GrRequest *request, double *sums);

/* Adds the sums of a request over the rows of one part to sums, and frees the request. */
extern void gr_fold_part_sums(GrFoldRows *rows, int part, GrRequest *request, double *sums);

/* The totals of the rows of all parts but one, and how many rows these are; see gr_has_totals() */
extern GrRowTotals gr_fold_totals(const GrFoldRows *rows, int left_out);
extern int64 gr_fold_nrows(const GrFoldRows *rows, int left_out);

extern void gr_fold_release(GrFoldRows *rows);

/* Raises the ERROR that there are more folds than most. */
extern void gr_raise_many_folds(int most) __attribute__((noreturn));

#endif							/* GPUREG_FOLDS_H */
