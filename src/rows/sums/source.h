/*
 * source.h: where rows come from, and where they go: onto a device, into memory, into a file, or into sums that
 * parallel workers make.
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

/* A kind of source: how rows come, and how sums are made over them */
typedef struct GrSourceKind
{
	/* Reads the rows of the source's query, as far as sums need them read. options: of the job that gets them */
	void		(*read) (GrRowSource *source, const GrJobOptions *options);
	/* Goes over the rows once more for the sums of a request: adds to sums. */
	void		(*again) (GrRowSource *source, const GrRequest *request, double *sums);
	/* Gives up what the rows have on a device or in files. */
	void		(*close) (GrRowSource *source);
} GrSourceKind;

/* Rows that stay in a job, on a device, in memory or in a file; or in several, the parts of a cross-validation */
extern const GrSourceKind gr_source_held;

/*
 * A query that is run again for each request, by gpu_request_pass in parallel workers or by a scan, or, where it is
 * remote, by gpu_logreg_array_pass where its rows are
 */
extern const GrSourceKind gr_source_query;

/* Rows in memory that an aggregate has read */
extern const GrSourceKind gr_source_chunks;

struct GrRowSource
{
	const GrSourceKind *kind;
	GrRowShape	shape;			/* of its rows; not single */
	GrRowRules	rules;
	bool		single;			/* the features are of type real: gradient ascent on a device may iterate in float4 */
	GrJob	   *job;			/* held: has the rows, but for folds; others: has none, for what is reported */
	const GrRowChunk *chunks;	/* rows of features and the response that an aggregate owns */
	GrFoldRows *folds;			/* held: the rows are in these parts; or NULL */
	int			left_out;		/* the part that sums leave out, or GR_NO_FOLD */
	const GrBasis *basis;		/* rows of chunks and of a query are changed by it for each pass; or NULL */

	const GrIngest *clustered;	/* the query, where the fit wants the sums of clusters; or NULL */
	const GrKeptClusters *kept_clusters;	/* the same of kept rows */
	int			nclusterings;	/* runs of the query, or readings of the kept rows, for those */

	/* of a query */
	GrIngest   *ingest;			/* NULL: kept rows, or an aggregate's */
	bool		remote;			/* each pass is planned anew, and made where the query has its rows */
	GrPlan	   *plan;			/* of requests without keys, over another */
	GrPlan	   *keyed_plan;		/* of requests with keys, once there was one */
	bool		parallel;		/* passes would run in parallel workers or by a scan, as planned */
	bool		for_workers;	/* rows that could be kept are read again, as ingest->more is worth workers */
	GrRowTotals totals;			/* of weighted rows that a pass has met */
	int64		nrows;			/* that every pass must meet; -1 before the first */
	int64		nskipped;
	int			nworkers;		/* most in any pass */
	int			npasses;
	int64		nsampled;		/* first rows to which a fit said where to start; 0: none did */
	double		pass_s;			/* time in passes, and in reading a sample */
};

/*
 * Sums a query's rows up for a linear regression; ERROR if none is complete. ingest: prepared; its results are filled
 * in.
 * - In parallel workers or by a scan on the CPU, where the planner likes that: the sums, and *place says why it is the
 *   CPU.
 * - Of a remote query, where its rows are: likewise. (Not for gpureg.device = gpu, or with several arrays of which only
 *   rows could tell how wide each is.)
 * - Else NULL, and they are ingest->job's: on a device, the rows come through a ring, or through this process.
 */
extern GrState *gr_source_sum(GrIngest *ingest, GrPlace *place);

/*
 * The sums of each fold of a query's rows, on the CPU: by the cluster column, if there is one, else by what rows come
 * to, nfolds of them; *n states, some of which may have no complete row. The query runs once. ERROR where it is remote,
 * where it has several arrays of which only rows could tell how wide each is, and if no row is complete. ingest: as
 * with gr_source_sum()
 */
extern GrState **gr_source_folds(GrIngest *ingest, int nfolds, int *n);

/* ERROR unless the query's rows can be put into folds. */
extern void gr_check_foldable(const GrIngest *ingest);

/*
 * The same by the key, which is what rows are grouped by; labels: the folds', ascending. Rows without a key are
 * skipped.
 */
extern GrState **gr_source_key_folds(GrIngest *ingest, int64 **labels, int *n);

/*
 * Reads a query's rows, to where passes can be made over them:
 * - onto the device, where that is the choice and they fit;
 * - into memory, up to gpureg.ring_size, unless further passes (ingest->more) are worth parallel workers;
 * - beyond, they are read again for each pass, under the snapshot that is active, if the planner does that with
 *   parallel workers or by a scan;
 * - else into a temporary file, as well as those of a query that could give other rows when it is run again.
 *
 * A remote query could, unless the transaction keeps to one snapshot, REPEATABLE READ or above: what is run on several
 * machines takes snapshots there, new ones for each statement. Then passes are made where the rows are, else the rows
 * are pulled once, into a file. ingest: prepared, and to stay as long as the source; its results are filled in. Without
 * a complete row source->job is NULL.
 */
extern void gr_source_read(GrRowSource *source, GrIngest *ingest);

/*
 * A few of a source's rows as a source of their own, where passes over them all cost so much more that it may be worth
 * it: false if they don't, or if the few would be too few for so many terms. *share: how much of all they are, as far
 * as is known. The current memory context owns them.
 */
extern bool gr_source_sample(GrRowSource *source, const GrIngest *ingest, int nterms, GrRowSource *sample,
							 double *share);

/* Changes the rows for all passes to come, once. basis must stay. */
extern void gr_source_change(GrRowSource *source, const GrBasis *basis);

/* Gives the fit, which asks for clusters, their sums: runs source->clustered again, or reads kept rows back. */
extern void gr_source_clusters(GrRowSource *source, GrGlmFit *fit);

/* Adds the sums of a request over the source's rows to sums, and frees the request. */
extern void gr_source_sums(GrRowSource *source, GrRequest *request, double *sums);

/* Makes the sums of a request, *n of them, in the current memory context, and frees the request. */
extern double *gr_source_new_sums(GrRowSource *source, GrRequest *request, Size *n);

#endif							/* GPUREG_SOURCE_H */
