/*
 * data_set.h: opens the rows of a fit: rows of a query or kept rows, all of them or fold by fold, ready for passes or
 * summed.
 */
#ifndef GPUREG_DATA_SET_H
#define GPUREG_DATA_SET_H

#include "postgres.h"

#include "rows/sums/fold_rows.h"
#include "rows/sums/folds.h"
#include "rows/sums/ingest.h"
#include "rows/sums/kept_source.h"
#include "rows/sums/source.h"

/* Purposes for which rows are opened */
typedef enum GrRowsUse
{
	GR_ROWS_PASSES,				/* passes over all rows, which are one source */
	GR_ROWS_SUM,				/* the Gram matrix of all rows */
	GR_ROWS_FOLD_PASSES,		/* passes over each fold, which is a source of its own */
	GR_ROWS_FOLD_SUMS,			/* the Gram matrix of each fold */
	GR_ROWS_PARTS,				/* passes over the parts of one source, told apart by the rows' key */
	GR_ROWS_PART_SUMS			/* the Gram matrix of each of these parts */
} GrRowsUse;

typedef struct GrRowsWanted
{
	GrFitRows	from;
	Oid			function;		/* SQL function of the extension that is being called */
	const GrRoles *roles;
	GrFamily	family;			/* family of the fit: decides which responses are allowed */
	double		theta;			/* parameter of the negative binomial family */
	GrRowsUse	use;
	int			nfolds;			/* GR_ROWS_FOLD_...: number of folds to draw, without a cluster column */
	const GrMorePasses *more;	/* passes over the rows after the fit's passes; NULL: none */
} GrRowsWanted;

typedef struct GrDataSet
{
	GrRowsWanted wanted;
	GrIngest	ingest;			/* names, design and row counts */
	int			n;				/* number of sources or sums: 1, or one per fold that has rows */
	GrRowSource *source;		/* n sources; NULL: PostgreSQL has summed the rows */
	GrGram	   *sums;			/* n Gram matrices, with nsummed; NULL: rows are for passes */
	int64	   *label;			/* GR_ROWS_PART_SUMS: key of each matrix */
	GrJob	   *job;			/* has the rows, or has summed them; NULL: PostgreSQL has summed the rows */
	GrPlace		place;			/* job is NULL: where PostgreSQL summed the rows */
	int			nsummed;		/* job is NULL: number of features that were summed */
	int			nworkers;		/* job is NULL: number of parallel workers */
	bool		refitted;		/* set by the caller: the fit opened the rows twice, for gr_record_rows() */
	int			npasses;		/* set by the caller: passes over all sources, or over all but one */
	double		read_done;		/* time when the rows were open, as gr_now() */
} GrDataSet;

/*
 * Opens the rows. The current memory context owns the data set and its device memory; gr_release_rows() gives device
 * memory back earlier. ERROR if no row takes part.
 */
extern GrDataSet *gr_open_rows(const GrRowsWanted *wanted);

/* Records the run that began at started, for gpu_last_run(). Call before the rows are released. */
extern void gr_record_rows(GrDataSet *data, const char *name, double started);

/* Ends the sink of a job of kind GR_SINK_SUM and returns its Gram matrix, with nsummed. */
extern GrGram gr_finish_job(GrJob *job);

/* Gives back what the rows have on a device or in memory of the session's jobs. */
extern void gr_release_rows(GrDataSet *data);

/* Returns the name of the device that has or summed the rows, in the current memory context. */
extern const char *gr_rows_device(const GrDataSet *data);

/* Calls gr_record_rows() and gr_release_rows(); returns gr_rows_device(). */
extern const char *gr_close_rows(GrDataSet *data, const char *name, double started);

/* Returns the number of rows left out for a NULL, as far as passes have counted them. */
extern int64 gr_rows_nskipped(const GrDataSet *data);

#endif							/* GPUREG_DATA_SET_H */
