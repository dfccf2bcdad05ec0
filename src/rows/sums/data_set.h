/*
 * data_set.h: the rows of a fit, opened: those of a query or kept ones, all of them or fold by fold, ready for passes
 * or summed up.
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
	Oid			function;		/* the extension's function that is being called, beside which its aggregates are */
	const GrRoles *roles;
	GrFamily	family;			/* which responses there may be */
	double		theta;			/* of the negative binomial family */
	GrRowsUse	use;
	int			nfolds;			/* FOLD_...: how many folds rows are drawn into where no column tells them apart */
	const GrMorePasses *more;	/* passes that are wanted over the rows after the fit's; NULL: none */
} GrRowsWanted;

typedef struct GrDataSet
{
	GrRowsWanted wanted;
	GrIngest	ingest;			/* names, design and numbers of the rows */
	int			n;				/* sources, or sums: one, or one for each fold that has rows */
	GrRowSource *source;		/* NULL: PostgreSQL has summed the rows up */
	GrGram	   *sums;			/* n, with nsummed; NULL: rows are for passes */
	int64	   *label;			/* PART_SUMS: the key of each */
	GrJob	   *job;			/* has the rows, or had them summed up; NULL: PostgreSQL has summed the rows up */
	GrPlace		place;			/* where PostgreSQL summed them up, ... */
	int			nsummed;		/* ... how many features they had */
	int			nworkers;		/* ... and in how many workers */
	bool		refitted;		/* for gr_record_rows(): the fit opened the rows twice */
	int			npasses;		/* passes over all sources, or over all but one: for the caller to count */
	double		read_done;		/* when the rows were open */
} GrDataSet;

/*
 * Opens the rows that are wanted. The current memory context owns the data set and what it has on a device; a release
 * gives the latter up before. ERROR if no row takes part.
 */
extern GrDataSet *gr_open_rows(const GrRowsWanted *wanted);

/* Notes the run that began at started, for gpu_last_run(), before the rows are released. */
extern void gr_record_rows(GrDataSet *data, const char *name, double started);

/* Returns the Gram matrix of a job of kind SUM, with nsummed, and ends its sink. */
extern GrGram gr_finish_job(GrJob *job);

/* Gives up what the rows have on a device, or in memory of the session's jobs. */
extern void gr_release_rows(GrDataSet *data);

/* Returns the name of the device that has the rows, or had them summed up, in the current memory context. */
extern const char *gr_rows_device(const GrDataSet *data);

/* Records the rows, releases them, and returns the name of their device, as the three functions above do. */
extern const char *gr_close_rows(GrDataSet *data, const char *name, double started);

/* Returns how many rows were left out for a NULL, as far as passes have told. */
extern int64 gr_rows_nskipped(const GrDataSet *data);

#endif							/* GPUREG_DATA_SET_H */
