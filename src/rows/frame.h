/*
 * frame.h: a query whose features are made of its columns by a formula, or of categories: as a query of its own, which
 * gives the response, the columns with a role, and the features as one array.
 *
 * The levels of factors are found first, by an aggregate over the query. Then a function of the extension's own,
 * gpu_design_row, is put around each row, so that workers, rings, passes, samples and sinks meet an array of known
 * width and nothing else.
 */
#ifndef GPUREG_FRAME_H
#define GPUREG_FRAME_H

#include "postgres.h"

#include "rows/columns.h"
#include "rows/query.h"

typedef struct GrFrame
{
	GrQuery    *query;			/* in place of the user's */
	const char *design;			/* see design.h */
	bool		intercept;
} GrFrame;

/*
 * The frame of a query, in the current memory context; NULL if its columns are its features as they are: there is no
 * formula, and no column that isn't a number or an array is a feature. function: as for gr_ingest_prepare()
 */
extern GrFrame *gr_make_frame(const GrQuery *query, Oid function, const GrRoles *roles);

/* The columns of the frame's query */
extern GrColumns *gr_frame_columns(const GrFrame *frame, const GrRoles *roles);

#endif							/* GPUREG_FRAME_H */
