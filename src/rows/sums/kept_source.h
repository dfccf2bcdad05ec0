/*
 * kept_source.h: reads the rows of a fit from kept rows.
 */
#ifndef GPUREG_KEPT_SOURCE_H
#define GPUREG_KEPT_SOURCE_H

#include "postgres.h"

#include "rows/columns/columns.h"
#include "rows/sums/ingest.h"
#include "rows/sums/source.h"

/* Rows of a fit: those of a query, or kept rows */
typedef struct GrFitRows
{
	const char *query;
	const char *kept;
	const char *filter;
} GrFitRows;

/*
 * Reads kept rows. Sets ingest and source as gr_ingest_prepare() and gr_source_read() do, as far as fits use them. The
 * source is held in a job, and has kept_clusters if the fit has clusters or clusters are a bootstrap's key. ERROR
 * unless the kept rows exist, the current role may use them, and at least one row takes part.
 */
extern void gr_kept_read(const GrFitRows *rows, GrRowRules rules, const GrRoles *roles, GrIngest *ingest,
						 GrRowSource *source);

/*
 * Reads kept rows fold by fold. Returns *n sources, one per fold that has rows, so that passes can be made over all
 * folds but one. Folds are the values of the cluster column, at most `most` values or, without one, nfolds numbers
 * drawn from all kept columns of a row (GR_FILTER_FOLD). ingest->job is NULL.
 */
extern GrRowSource *gr_kept_read_folds(const GrFitRows *rows, GrRowRules rules, const GrRoles *roles, int nfolds,
									   int most, GrIngest *ingest, int *n);

#endif							/* GPUREG_KEPT_SOURCE_H */
