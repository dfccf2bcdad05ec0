/*
 * ingest.h: a query's rows -> blocks of float8.
 */
#ifndef GPUREG_INGEST_H
#define GPUREG_INGEST_H

#include "postgres.h"

#include "compute/linear/ols.h"
#include "rows/columns/columns.h"
#include "rows/query/frame.h"
#include "rows/query/query.h"
#include "rows/state/state.h"
#include "run/job.h"

/* A query, and what reading it gave. */
typedef struct GrIngest
{
	/* from gr_ingest_prepare() */
	GrQuery    *query;			/* the user's, or a frame's around it */
	GrQuery    *clustered;		/* the same, with the cluster columns behind the others; NULL: there are none */
	GrQuery    *keyless;		/* in place of query for passes without keys; NULL: query serves them, too */
	int			nclusters;
	bool		keyed_clusters;	/* rows have the keys of their clusters */
	const char *design;			/* that makes the features; NULL or "": each is a column */
	const char *row_design;		/* of its rows, see frame.h */
	bool		intercept;		/* roles->intercept, or what a formula says */
	int			nlow;			/* of the design's features, the last ones: what rounding left; see gr_fold_sums() */
	Oid			function;		/* the SQL function that reads it */
	GrPlan	   *plan;			/* gr_ingest_plan()'s, when it was called */
	GrPlan	   *sums_plan;		/* of gpu_ols_pass over it, if that was the first plan; its workers: nworkers */
	Oid			sums_type;		/* what that gives: gpu_ols_stats; InvalidOid until it is looked up */
	/* arrays have the width that they have in the first complete row, if that is soon met */
	GrColumns  *columns;
	GrColumns  *arguments;		/* the same, packed: those of an aggregate over the query */
	double		nrows_estimate; /* the planner's */
	GrPlan	   *ring_plan;		/* gr_plan_ring()'s, when it was called */
	int			nworkers;		/* that are planned for it */
	bool		remote;			/* gr_is_remote(): then the number of rows is estimated as 0, as nobody knows it */
	bool		repeatable;		/* it gives the same rows when it is run again under the same snapshot */
	bool		real_features;	/* every feature is of type real */
	/*
	 * How many features there are is right, unless the width of an array isn't known; single: every feature's values
	 * fit float4 as they are
	 */
	GrRowShape	shape;
	GrRowRules	rules;			/* the caller's family; what weights are */

	/* the caller's, behind it */
	const struct GrMorePasses *more;	/* what goes over the rows after a fit's passes; NULL: nothing */
	bool		parted;			/* rows are wanted in parts: read once, into a file where they have no room */

	/* from reading it */
	GrJob	   *job;			/* NULL if no complete row was seen */
	int			nfeatures;
	const char **names;			/* of the features, then the response */
	int64		nrows;
	int64		nskipped;
	bool		overflowed;		/* the rows don't fit: reading stopped, and the job is released */
} GrIngest;

/*
 * Looks a query over, and plans it once: as it stands or, if its rows are wanted as sums and these may be made on the
 * CPU, within the aggregate that makes them. Where it has arrays, a look at its first complete row may tell their
 * widths.
 * function: the extension's function that is being called, beside which its aggregates are. ERRORs for whatever the
 * query may not be. roles: what columns are besides the response and features
 */
extern void gr_ingest_prepare(const char *query, Oid function, GrFamily family, const GrRoles *roles,
							  bool summed, GrIngest *ingest);

/* Returns the plan of the query as it stands, which is made when it is first asked for. */
extern const GrPlan *gr_ingest_plan(GrIngest *ingest);

/*
 * True if the widths of the arrays can be told: they are known, or there is but one array, of which the number of
 * features tells. The first row's array, which was looked at before, may have been left out, and be of another length.
 */
extern bool gr_ingest_tells_widths(const GrIngest *ingest);

/*
 * What a job over these rows takes on the CPU, as products of one process's; see gr_job_work(). What parallel workers
 * would share is divided by their number; rows that would be read again for each pass count for that too.
 */
extern double gr_ingest_work(GrIngest *ingest, GrSinkKind kind);

/* Passes of another kind than a fit's, which are made over its rows after it */
typedef struct GrMorePasses
{
	int			reps;			/* replicates that they are to make */
	const char *name;			/* of what makes them, as in "a bootstrap" */
	/* products that they take, as in gr_ingest_work() */
	double		(*work) (const GrIngest *ingest);
} GrMorePasses;

/* Plans the aggregate that brings the rows into a ring; false if it wouldn't run in parallel. See ring_consumer.h. */
extern bool gr_plan_ring(GrIngest *ingest);

/*
 * Plans SELECT aggregate($1, .., columns ..) FROM (query): an aggregate of the extension's own, whose first nparams
 * arguments are of these types, and then VARIADIC "any", for ingest->arguments. *nworkers says how many parallel
 * workers it would run in. NULL if these are more arguments than a function can have.
 */
extern GrPlan *gr_plan_aggregate(const GrIngest *ingest, const char *aggregate, int nparams, const Oid *types,
								 Oid result,
								 int *nworkers);

/* The same query as passes see it that have no use for keys: its columns and arguments are without one. */
extern GrIngest gr_ingest_without_key(const GrIngest *ingest);

/* Can a function have as many arguments as ingest->arguments, with nparams before them? */
extern bool gr_fits_aggregate(const GrIngest *ingest, int nparams);

/*
 * Plans SELECT aggregate(values ..., columns ..) FROM (query) GROUP BY the first cluster column, the second, or both,
 * where way is 0, 1 or 2. The values, of these types, are constants: unlike parameters they cost a row nothing. They
 * must fit.
 */
extern GrPlan *gr_plan_clusters(const GrIngest *ingest, const char *aggregate, int nvalues, const Oid *types,
								const Datum *values, Oid result, int way);

/*
 * Plans SELECT aggregate($1, .., columns ..) FROM (query), as gr_plan_aggregate() does, for each fold: GROUP BY the
 * cluster column, if there is one, else by one of nfolds numbers that a row's values come to, gpu_enet_fold's.
 * With a key that is what rows are grouped by, and the second column of what the plan gives, a float8.
 */
extern GrPlan *gr_plan_folds(const GrIngest *ingest, int nfolds, const char *aggregate, int nparams, const Oid *types,
							 Oid result);

/* Plans the query's rows with the value behind them that tells folds apart. */
extern GrPlan *gr_plan_fold_rows(const GrIngest *ingest, int nfolds);

/* What cluster column k is called, and its type */
extern const char *gr_cluster_name(const GrIngest *ingest, int k);
extern Oid	gr_cluster_type(const GrIngest *ingest, int k);

/* What a function may have less those of gpu_features_pass that are no columns */
#define GR_TYPED_COLUMNS_MAX (FUNC_MAX_ARGS - 3)

/*
 * Plans SELECT aggregate(request, response, features) FROM (query): an aggregate of the extension's own over typed
 * arguments, a request, which is left out if it is NULL, a float8 and a float8[]. That is for a remote query: an engine
 * that ships aggregates to where its rows are checks the types of their arguments, calls their functions without the
 * expression that says what VARIADIC "any" stands for, and keeps nothing from one row to the next but the state, which
 * travels as text. So the features become an array in a function of their own, gpu_features_pass, which is called as
 * any other. A weight and an offset follow the
 * features there. What is told of the columns and the request are constants, not
 * parameters: they must be shipped as well, in the text of a query. At most GR_TYPED_COLUMNS_MAX of ingest->arguments
 */
extern GrPlan *gr_plan_typed_pass(const GrIngest *ingest, const char *aggregate, const GrState *request, Oid result);

/* Sets ingest->nfeatures and names, where the columns' widths are known. */
extern void gr_name_ingested(GrIngest *ingest);

/*
 * Does the same for rows that an aggregate has summed, which have nfeatures features. The one array whose width is not
 * known takes what the other columns leave of nfeatures.
 */
extern void gr_name_summed(GrIngest *ingest, int nfeatures);

/*
 * Runs the query in this process alone, and hands its rows to a job. Memory doesn't grow with their number, but for
 * what the job keeps. The result's memory is of the context current at the call. options: but for what rows are and
 * what they are called, which the first complete row tells.
 */
extern void gr_ingest_read_here(GrIngest *ingest, const GrJobOptions *options);

/*
 * The first rows of a query, at most nrows of them, for a look at them: those without a NULL are kept in a job in
 * memory on the CPU, of the current context. Read by this process alone, from a plan of its own; NULL if that one's
 * first row comes at some cost (a sort or an aggregate must see all rows), or if no complete row was seen. ingest:
 * where it has been read, it stays as it is.
 */
extern GrJob *gr_ingest_sample(const GrIngest *ingest, int64 nrows);

/*
 * Folds sums over the rows that were read: where powers are in two columns (ingest->nlow > 0), these become one, in
 * place; see gr_gram_fold(). Afterwards ingest->nfeatures and names are of those.
 */
extern void gr_fold_sums(GrIngest *ingest, GrGram *gram);

/* What is to be moved once a fit to the rows is solved; NULL: nothing */
static inline const GrTermMoves *
gr_ingest_moves(const GrIngest *ingest)
{
	return ingest->row_design == ingest->design ? NULL : gr_frame_moves(ingest->row_design);
}

/* The query had no row without a NULL. */
extern void gr_raise_no_rows(int64 nskipped) __attribute__((noreturn));

#endif							/* GPUREG_INGEST_H */
