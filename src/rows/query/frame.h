/*
 * frame.h: makes the frame of a query: a query around it that returns the response, the columns with roles, and an
 * array of the features that a formula or categories make. gr_ingest_prepare() makes it unless
 * gr_make_frame() returns NULL.
 *
 * An aggregate over the query finds the levels of factors first. Then gpu_design_row(), a function of this extension,
 * makes the features of each row. Workers, rings, passes, samples and sinks therefore see a single array of known
 * width.
 */
#ifndef GPUREG_FRAME_H
#define GPUREG_FRAME_H

#include "postgres.h"

#include "compute/design/design.h"
#include "compute/linear/ols.h"
#include "rows/columns/columns.h"
#include "rows/query/cells_query.h"
#include "rows/query/formula_numbers.h"
#include "rows/query/query.h"

typedef struct GrFrame
{
	GrQuery    *query;			/* replaces the user's query */
	GrQuery    *clustered;		/* query, followed by the absorbed and the cluster columns; NULL: there are none */
	GrQuery    *keyless;		/* for passes without keys, if a NULL key marks a row in no cluster; else NULL */
	const char *design;			/* text of the design, see design.h; NULL: each feature is a column */
	const char *row_design;		/* design of the rows: another than design if powers are centered, see design_moves.h */
	bool		plain;			/* true: each feature is a column of query; false: the features are one array */
	bool		intercept;
	const char *offset;			/* name of the offset that the formula makes; NULL: none */
	const GrDomain *domain;		/* the formula's expressions; NULL: it has none */
	int			nlow;			/* number of rests (the last features); see gr_gram_fold() */
	int			found[GR_ROLES_MAX];	/* positions of the response and the columns with roles in the user's query */
	int			nroles;
} GrFrame;

/* Columns of kept rows: functions that answer what is otherwise read from a query's rows */
typedef struct GrFrameColumns
{
	/*
	 * Adds the levels of column k that occur in complete rows. A row is complete if it has no NULL in the used columns,
	 * in the response (found[0]) or in the columns with roles (the rest of found).
	 */
	void		(*find_levels) (void *arg, int k, const int *found, int nroles, const bool *used, GrLevels *levels);
	double		(*find_center) (void *arg, int k);	/* returns a center for the powers of column k */
	void	   *arg;
} GrFrameColumns;

/* Reader of sums by cell, which finds the levels of factors, too */
typedef struct GrFrameCells
{
	/*
	 * Adds the levels of the factors' columns to levels, unless they are there. Returns false if the rows cannot be
	 * summed by cell, or not before the levels are known. NULL: rows are not summed
	 */
	bool		(*read) (void *arg, const GrRoles *roles, const GrCellsQuery *query, GrLevels *levels);
	void	   *arg;
} GrFrameCells;

/*
 * Makes the frame of a query, in the current memory context. Returns NULL if the columns are the features as they are:
 * there is no formula, each feature is a number or an array, and there are no clusters. In the frame's query, a row in
 * no cluster has a NULL response or a NULL key. function: as for gr_ingest_prepare(). cells: reads the rows, if the
 * formula allows sums by cell; otherwise only the levels of factors are read
 */
extern GrFrame *gr_make_frame(const GrQuery *query, Oid function, const GrRoles *roles, const GrFrameCells *cells);

/*
 * Makes a frame of kept columns, which `described` describes as it would a query's. described->tree is NULL, and so is
 * the frame's query.
 */
extern GrFrame *gr_make_frame_of(const GrQuery *described, const GrFrameColumns *columns, const GrRoles *roles);

/*
 * Returns rest_of for gr_gram_fold(): for each feature of a row's design the index of its rest, from 0, or -1.
 * *nfeatures: number of features without the rests. The current memory context owns the array.
 */
extern int *gr_frame_rests(const char *design, int *nfeatures);

/* Returns the moves from the terms of a row's design to those of the model; NULL if they are the same terms. */
extern const GrTermMoves *gr_frame_moves(const char *design);

/*
 * Sets names (room for design->nfeatures + nlow) to the names of a row's features. The rests (see gr_gram_fold()),
 * nlow of them or 0, follow all features and repeat the names of their features.
 */
extern void gr_frame_names(const GrDesign *design, int nlow, const char **names);

/* Returns the columns of the frame's query. A rest has the name of its feature. */
extern GrColumns *gr_frame_columns(const GrFrame *frame, const GrRoles *roles);

#endif							/* GPUREG_FRAME_H */
