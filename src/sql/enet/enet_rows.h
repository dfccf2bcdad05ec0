/*
 * enet_rows.h: the rows of an elastic net, of a query or kept ones, all of them or fold by fold, and their sums.
 */
#ifndef GPUREG_ENET_ROWS_H
#define GPUREG_ENET_ROWS_H

#include "postgres.h"

#include "fmgr.h"

#include "rows/sums/fold_rows.h"
#include "rows/sums/kept_source.h"
#include "rows/sums/source.h"
#include "sql/enet/enet_cv.h"

/* What is fitted, as a function's arguments have it */
typedef struct GrEnetRequest
{
	const char *function;		/* its name, static */
	GrFitRows	rows;
	GrRoles		roles;
	bool		binomial;		/* a logistic regression; else a linear one */
	int			nfolds;			/* where no column tells them apart; 0: all rows are one */
	double		started;
} GrEnetRequest;

/* Rows that stay where they are until gr_enet_release() */
typedef struct GrEnetRows
{
	GrIngest	ingest;			/* what they are called and made of */
	int			n;				/* sources: one, or one a fold */
	GrRowSource *source;
	int64		nskipped;
	int			npasses;		/* that were made over all of them, or all but a fold */
	double		read_done;
} GrEnetRows;

/* ERROR unless there may be so many folds. */
extern void gr_check_nfolds(int n);

/* gaussian or binomial; ERROR for another name */
extern bool gr_enet_is_binomial(const char *family);

/* Rows for passes */
extern void gr_enet_read(FunctionCallInfo fcinfo, const GrEnetRequest *request, GrEnetRows *rows);

/* Notes the run, and releases what the rows are in; device: what a model says of where it was. */
extern const char *gr_enet_release(const GrEnetRequest *request, GrEnetRows *rows);

/*
 * Sums of all rows, which are read, and the run noted. ingest: is filled in; *log_constant: see GrRowTotals; device: as
 * above
 */
extern GrEnetSums gr_enet_sum(FunctionCallInfo fcinfo, const GrEnetRequest *request, GrIngest *ingest,
							  double *log_constant, const char **device);

/* The same of each fold */
extern GrFolds *gr_enet_sum_folds(FunctionCallInfo fcinfo, const GrEnetRequest *request, GrIngest *ingest,
								  const char **device);

#endif							/* GPUREG_ENET_ROWS_H */
