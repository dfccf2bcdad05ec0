/*
 * source.h: chooses how the rows of a query are read and where they go: onto a device, into memory, into a file, or
 * into sums that parallel workers make. Also for kept rows and the rows of an aggregate.
 */
#ifndef GPUREG_SOURCE_H
#define GPUREG_SOURCE_H

#include "postgres.h"

#include "compute/base/compute.h"
#include "compute/base/row_list.h"
#include "compute/glm/glm_fit.h"
#include "rows/query/query.h"
#include "rows/state/state.h"
#include "rows/sums/folds.h"
#include "rows/sums/ingest.h"
#include "rows/sums/kept_clusters.h"
#include "run/device.h"
#include "run/job.h"

typedef struct GrRowSource GrRowSource;

/* Operations of a kind of source */
typedef struct GrSourceKind
{
	/* Reads the rows of source->ingest, as far as sums need them read. options: of the job that gets the rows */
	void		(*read) (GrRowSource *source, const GrJobOptions *options);
	/* Reads the rows and adds the sums of a request to sums. */
	void		(*again) (GrRowSource *source, const GrRequest *request, double *sums);
	/* Releases what the rows have on a device or in files. */
	void		(*close) (GrRowSource *source);
} GrSourceKind;

/* Rows in a job: on a device, in memory or in a file. With folds, they are in several jobs, the parts. */
extern const GrSourceKind gr_source_held;

/*
 * A query that is run again for each request: by gpu_request_pass() in parallel workers or by a scan or, if it is
 * remote, by gpu_logreg_array_pass() where its rows are
 */
extern const GrSourceKind gr_source_query;

/* Rows in memory that an aggregate owns */
extern const GrSourceKind gr_source_chunks;

struct GrRowSource
{
	const GrSourceKind *kind;
	GrRowShape	shape;			/* shape of the rows; never single */
	GrRowRules	rules;
	bool		single;			/* the features are of type real: gradient ascent on a device may iterate in float4 */
	GrJob	   *job;			/* held: has the rows, unless folds has them; else: for reports only */
	const GrRowChunk *chunks;	/* kind chunks: rows of features and the response */
	GrFoldRows *folds;			/* held: the parts that have the rows; or NULL */
	int			left_out;		/* the part that sums leave out, or GR_NO_FOLD */
	const GrBasis *basis;		/* chunks and query: basis that changes the rows in each pass; or NULL */

	const GrIngest *clustered;	/* query to run again for the sums of clusters; or NULL */
	const GrKeptClusters *kept_clusters;	/* kept rows to read back for the sums of clusters; or NULL */
	int			nclusterings;	/* times that the query was run, or the kept rows were read, for clusters */

	/* only if the rows are a query's */
	GrIngest   *ingest;			/* NULL: kept rows, or an aggregate's */
	bool		remote;			/* each pass is planned anew and made where the rows are */
	GrPlan	   *plan;			/* plan of requests that do not read keys; or NULL */
	GrPlan	   *keyed_plan;		/* plan of requests that read keys; or NULL until the first */
	bool		parallel;		/* passes would run in parallel workers or by a scan, as planned */
	bool		for_workers;	/* rows that fit into memory are read again, as ingest->more is worth workers */
	GrRowTotals totals;			/* totals of the rows, from a pass */
	int64		nrows;			/* rows that each pass must meet; -1 before the first pass */
	int64		nskipped;
	int			nworkers;		/* most workers in any pass */
	int			npasses;
	int64		nsampled;		/* rows of the sample in which a fit found its start; 0: none */
	double		pass_s;			/* time in passes, and in reading a sample */
};

/*
 * Sums a query's rows for a linear regression; ERROR if no row is complete. ingest: prepared; its results are set.
 * - Returns the sums if parallel workers or a scan on the CPU make them, as the planner chooses. *place says why the
 *   CPU does.
 * - Returns the sums of a remote query, made where its rows are, and sets *place. Not if gpureg.device is gpu, or if
 *   several arrays have unknown widths.
 * - Else returns NULL, and ingest->job has the rows: they came through a ring if they go to a device, or through this
 *   process.
 */
extern GrState *gr_source_sum(GrIngest *ingest, GrPlace *place);

/*
 * Sums each fold of a query's rows on the CPU. Folds are the values of the cluster column or, without one, nfolds
 * numbers drawn from the row's values. Returns *n states, some of which may have no complete row. The query runs once.
 * ERROR if the query is remote, if several arrays have unknown widths, or if no row is complete. ingest: as for
 * gr_source_sum()
 */
extern GrState **gr_source_folds(GrIngest *ingest, int nfolds, int *n);

/* Raises an ERROR unless the query's rows can be put into folds. */
extern void gr_check_foldable(const GrIngest *ingest);

/*
 * Like gr_source_folds(), but one fold per distinct value of the key; rows without a key are skipped. *labels: the
 * keys, ascending
 */
extern GrState **gr_source_key_folds(GrIngest *ingest, int64 **labels, int *n);

/*
 * Reads a query's rows so that passes can be made over them. The rows go
 * - onto the device, if the device is chosen and they fit;
 * - into memory, up to gpureg.ring_size, unless further passes (ingest->more) are worth parallel workers;
 * - nowhere, if there are more rows: each pass reads them again under the active snapshot, if the planner uses parallel
 *   workers or a scan;
 * - else into a temporary file, as do rows of a query that may return other rows when it is run again.
 *
 * A remote query may return other rows unless the transaction has one snapshot (REPEATABLE READ or above), because
 * other machines take a new snapshot for each statement. With one snapshot, passes are made where the rows are;
 * without, the rows are pulled once, into a file. ingest: prepared; must live as long as the source; its results are
 * set. If no row is complete, source->job is NULL.
 */
extern void gr_source_read(GrRowSource *source, GrIngest *ingest);

/*
 * Makes a small source of some of a source's rows, if passes over all rows cost much more than over these. Returns
 * false if they do not, or if the sample would have too few rows for nterms terms. *share: share of all rows, as far as
 * known. The current memory context owns the sample.
 */
extern bool gr_source_sample(GrRowSource *source, const GrIngest *ingest, int nterms, GrRowSource *sample,
							 double *share);

/* Sets the basis that changes the rows in all later passes. Call once. basis must live as long as the source. */
extern void gr_source_change(GrRowSource *source, const GrBasis *basis);

/*
 * Passes the sums of clusters to a fit that has requested them: runs source->clustered again, or reads kept rows back.
 */
extern void gr_source_clusters(GrRowSource *source, GrGlmFit *fit);

/* Adds the sums of a request over the source's rows to sums, and frees the request. */
extern void gr_source_sums(GrRowSource *source, GrRequest *request, double *sums);

/* Returns the *n sums of a request, in the current memory context, and frees the request. */
extern double *gr_source_new_sums(GrRowSource *source, GrRequest *request, Size *n);

#endif							/* GPUREG_SOURCE_H */
