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

#include "compute/design/design.h"
#include "compute/linear/ols.h"
#include "rows/columns/columns.h"
#include "rows/query/query.h"

typedef struct GrFrame
{
	GrQuery    *query;			/* in place of the user's */
	GrQuery    *clustered;		/* the same, with the cluster columns behind the others; NULL: there are none */
	GrQuery    *keyless;		/* for passes without keys, where those of query tell rows in no cluster; else NULL */
	const char *design;			/* see design.h; NULL: each feature is a column */
	const char *row_design;		/* of its rows: where powers are about centers, another one; see design_moves.h */
	bool		plain;			/* the features are columns as they are, not one array */
	bool		intercept;
	int			nlow;			/* of the features, the last ones: what rounding left of some of the others */
	int			found[GR_ROLES_MAX];	/* where the response and the columns with a role are */
	int			nroles;
} GrFrame;

/* Columns that aren't a query's: what their rows would tell otherwise */
typedef struct GrFrameColumns
{
	/*
	 * Adds the levels of column k that complete rows have. These have no NULL in the used columns, nor in the response
	 * and the columns with a role, which are found.
	 */
	void		(*find_levels) (void *arg, int k, const int *found, int nroles, const bool *used, GrLevels *levels);
	double		(*find_center) (void *arg, int k);	/* about which powers of column k may be */
	void	   *arg;
} GrFrameColumns;

/*
 * The frame of a query, in the current memory context; NULL if its columns are its features as they are: there is no
 * formula, no column that isn't a number or an array is a feature, and there are no clusters. A row without a cluster
 * has no response in it, or no key. function: as for gr_ingest_prepare()
 */
extern GrFrame *gr_make_frame(const GrQuery *query, Oid function, const GrRoles *roles);

/* The same of columns that are described as a query's are: its query is NULL, and so is that of the frame. */
extern GrFrame *gr_make_frame_of(const GrQuery *described, const GrFrameColumns *columns, const GrRoles *roles);

/*
 * Of a row's design without its nlow last features: which of these has what rounding left of each, from 0 on, or -1;
 * in the current memory context. *nfeatures: how many they are
 */
extern int *gr_frame_rests(const char *design, int *nfeatures);

/* What brings the terms of a row's design to those of the model's; NULL: they are those */
extern const GrTermMoves *gr_frame_moves(const char *design);

/* Names the features of a row's design, nlow of them twice. */
extern void gr_frame_names(const GrDesign *design, int nlow, const char **names);

/* The columns of the frame's query; features that are what rounding left are called as the others */
extern GrColumns *gr_frame_columns(const GrFrame *frame, const GrRoles *roles);

#endif							/* GPUREG_FRAME_H */
