/*
 * kept_source.h: the rows of a fit, derived from kept ones.
 */
#ifndef GPUREG_KEPT_SOURCE_H
#define GPUREG_KEPT_SOURCE_H

#include "postgres.h"

#include "rows/columns/columns.h"
#include "rows/sums/ingest.h"
#include "rows/sums/source.h"

/* What a fit is to: a query, or kept rows of a name, those for which a filter is true (NULL: all) */
typedef struct GrFitRows
{
	const char *query;
	const char *kept;
	const char *filter;
} GrFitRows;

/*
 * gr_ingest_prepare() and gr_source_read() of kept rows: ingest and source are as those leave them, in as far as a fit
 * looks at them, and the source is a job, with clusters where the fit has some, or a bootstrap's key is theirs. ERROR
 * unless there are such rows which the role may use, and some take part.
 */
extern void gr_kept_read(const GrFitRows *rows, GrRowRules rules, const GrRoles *roles, GrIngest *ingest,
						 GrRowSource *source);

/*
 * The same fold by fold, each as a source of its own, so that passes can be made over all but one: *n of them, all of
 * which have rows. Folds are told apart by the cluster column, if there is one, of which there may be so many values at
 * most, or by what all kept columns of a row come to (GR_FILTER_FOLD), nfolds of them. The job isn't ingest's.
 */
extern GrRowSource *gr_kept_read_folds(const GrFitRows *rows, GrRowRules rules, const GrRoles *roles, int nfolds,
									   int most, GrIngest *ingest, int *n);

#endif							/* GPUREG_KEPT_SOURCE_H */
