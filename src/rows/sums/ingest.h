/*
 * ingest.h: prepares a user's query and reads its rows as blocks of float8. source.h chooses how rows are read and
 * where they go; this header holds the plans and the reading by one process.
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

/* Sums of a query's rows by the levels of factors; see cells.h */
typedef struct GrCells GrCells;

/* Arguments that packed columns take at most: FUNC_MAX_ARGS (100) less room for parameters */
#define GR_ARGUMENTS_MAX 90

/* A query, and what preparing and reading it found */
typedef struct GrIngest
{
	/* set by gr_ingest_prepare() */
	GrQuery    *query;			/* the user's query, or the frame's query around it */
	GrQuery    *clustered;		/* query, followed by the cluster columns; NULL: there are no clusters */
	GrQuery    *keyless;		/* replaces query in passes without keys; NULL: query serves them, too */
	int			nclusters;
	bool		keyed_clusters;	/* rows have the keys of their clusters */
	const char *design;			/* text of the design that makes the features; NULL or "": there is none */
	const char *row_design;		/* design of the rows, see GrFrame */
	const GrDomain *domain;		/* the formula's expressions; NULL: it has none */
	bool		intercept;		/* roles->intercept, or the formula's */
	int			nlow;			/* number of rests, the last features; see gr_gram_fold() */
	GrCells    *cells;			/* the rows are summed by cell already; NULL: the rows are not read yet */
	Oid			function;		/* SQL function of the extension that is being called */
	GrPlan	   *plan;			/* NULL until gr_ingest_plan() */
	GrPlan	   *sums_plan;		/* plan of gpu_ols_pass over query, if made first; or NULL */
	Oid			sums_type;		/* type of its result, gpu_ols_stats; InvalidOid until looked up */
	/* columns of the rows; the widths of arrays are those in the first complete row, if it is cheap to read */
	GrColumns  *columns;
	GrColumns  *arguments;		/* columns, packed as arguments of an aggregate over the query */
	double		nrows_estimate; /* number of rows that the planner expects */
	GrPlan	   *ring_plan;		/* NULL until gr_plan_ring() */
	int			nworkers;		/* parallel workers of sums_plan or ring_plan */
	bool		pulled;			/* a remote query's rows come here: its nodes do not make the sums */
	bool		remote;			/* gr_is_remote(plan); then nrows_estimate is 0 */
	bool		shipped;		/* a foreign server makes the sums */
	bool		repeatable;		/* the query returns the same rows again under the same snapshot */
	bool		real_features;	/* every feature is of type real */
	/*
	 * shape.nfeatures is a guess while the width of an array is not known. shape.single: every feature's values fit
	 * float4 exactly
	 */
	GrRowShape	shape;
	GrRowRules	rules;			/* family of the caller, and what weights mean */

	/* set by the caller after preparing */
	const struct GrMorePasses *more;	/* passes over the rows after a fit's passes; NULL: none */
	bool		parted;			/* rows are parted into folds later: read them once, into a file if they do not fit */

	/* set by reading the rows */
	GrJob	   *job;			/* NULL if no complete row was seen */
	int			nfeatures;
	const char **names;			/* names of the features, then of the response */
	int64		nrows;
	int64		nskipped;
	bool		overflowed;		/* the rows do not fit: reading stopped and released the job */
} GrIngest;

/* Type of GrFrameCells.read; arg is a GrIngest, whose query is the user's. cells.h has the one such function. */
typedef bool (*GrReadCells) (void *arg, const GrRoles *roles, const GrCellsQuery *query, GrLevels *levels);

/*
 * Analyses a query and plans it once. If summed is not NULL, the rows are wanted as a Gram matrix. With factors, summed
 * reads their sums by cell, if it can. Otherwise the first plan is that of the aggregate gpu_ols_pass, if the CPU may
 * run it. If the rows are not summed, the first plan is that of the query as it stands, and the widths of arrays are
 * read from its first complete row, if that is cheap.
 *
 * function: the extension's SQL function that is being called; other functions of the extension are looked up beside
 * it. roles: roles of columns besides response and features. ERROR for a query, a column or a type that cannot be used
 */
extern void gr_ingest_prepare(const char *query, Oid function, GrFamily family, const GrRoles *roles,
							  GrReadCells summed, GrIngest *ingest);

/* Sets shape and arguments by the columns. Call again when a row has told the widths of arrays. */
extern void gr_ingest_note_shape(GrIngest *ingest);

/* Returns the plan of the query as it stands, and makes it at the first call. */
extern const GrPlan *gr_ingest_plan(GrIngest *ingest);

/*
 * True if the widths of all arrays are known, or follow from the number of features because only one is unknown. (The
 * first row, whose arrays gr_ingest_prepare() looked at, may be left out and have arrays of another length.)
 */
extern bool gr_ingest_tells_widths(const GrIngest *ingest);

/*
 * Returns the work of a job over these rows on the CPU, in products of one process; see gr_job_work(). Work that
 * parallel workers can share is divided by the number of processes. Reading the rows again for each pass is included.
 */
extern double gr_ingest_work(GrIngest *ingest, GrSinkKind kind);

/* Passes that follow a fit's passes over the same rows */
typedef struct GrMorePasses
{
	int			reps;			/* number of replicates that the passes make */
	const char *name;			/* maker of the passes, for messages: "a bootstrap" */
	/* returns the work of the passes, in the unit of gr_ingest_work() */
	double		(*work) (const GrIngest *ingest);
} GrMorePasses;

/*
 * Plans the aggregate that writes the rows into a ring; see ring_consumer.h. Returns false if the plan has no workers.
 */
extern bool gr_plan_ring(GrIngest *ingest);

/*
 * Plans SELECT aggregate($1, ..., columns ...) FROM (query). aggregate: an aggregate of the extension with nparams
 * parameters of these types, then VARIADIC "any" for ingest->arguments. *nworkers: number of planned parallel workers.
 * Returns NULL if a function cannot have that many arguments.
 */
extern GrPlan *gr_plan_aggregate(const GrIngest *ingest, const char *aggregate, int nparams, const Oid *types,
								 Oid result,
								 int *nworkers);

/* Returns a copy of ingest whose columns, arguments and query are without keys, for passes that do not read keys. */
extern GrIngest gr_ingest_without_key(const GrIngest *ingest);

/* True if a function can have nparams parameters and ingest->arguments. */
extern bool gr_fits_aggregate(const GrIngest *ingest, int nparams);

/* Way of gr_plan_clusters(): groups by all cluster columns, and selects them behind the aggregate */
#define GR_WAY_SELECTED 3

/*
 * Plans SELECT aggregate(values ..., columns ...) FROM (query) GROUP BY the first cluster column (way 0), the second
 * (way 1), or both (way 2). The values are constants: unlike parameters, they cost nothing per row. The caller checks
 * gr_fits_aggregate(). values: nvalues Datums of these types
 */
extern GrPlan *gr_plan_clusters(const GrIngest *ingest, const char *aggregate, int nvalues, const Oid *types,
								const Datum *values, Oid result, int way);

/*
 * Plans SELECT aggregate($1, ..., columns ...) FROM (query), like gr_plan_aggregate(), for each fold. If rows have a
 * key, the query is grouped by the key, which is the plan's second column, an integer or a float8. Else it is grouped
 * by the cluster column, which is not returned, or, without one, by gpu_enet_fold(), which draws one of nfolds numbers
 * from the row's values and is the second column.
 *
 * If nfolds is GR_FOLDS_ARE_CELLS, a fold has the rows that share the values of all cluster columns, which are the
 * columns from the second on.
 */
#define GR_FOLDS_ARE_CELLS (-1)

extern GrPlan *gr_plan_folds(const GrIngest *ingest, int nfolds, const char *aggregate, int nparams, const Oid *types,
							 Oid result);

/*
 * Plans the query's rows, followed by a column that tells the fold: the cluster column or, without one,
 * gpu_enet_fold().
 */
extern GrPlan *gr_plan_fold_rows(const GrIngest *ingest, int nfolds);

/* Return the name and the type of cluster column k. */
extern const char *gr_cluster_name(const GrIngest *ingest, int k);
extern Oid	gr_cluster_type(const GrIngest *ingest, int k);

/* Columns that gpu_features_pass() can take besides its three parameters */
#define GR_TYPED_COLUMNS_MAX (FUNC_MAX_ARGS - 3)

/*
 * Plans SELECT aggregate(request, response, features) FROM (query), for a remote query. The arguments are typed: a
 * request (omitted if NULL), a float8 and a float8[]. An engine that ships aggregates to where its rows are checks the
 * types of arguments, calls functions without the expression that tells the types of VARIADIC "any", and keeps no
 * memory between rows except the state, which travels as text. So a function of its own, gpu_features_pass(), makes the
 * array of features, followed by weight and offset. Names of columns and the request are constants, not parameters,
 * because they must be part of the shipped text. ingest->arguments: at most GR_TYPED_COLUMNS_MAX
 */
extern GrPlan *gr_plan_typed_pass(const GrIngest *ingest, const char *aggregate, const GrState *request, Oid result);

/*
 * Plans SELECT gpu_ols_stats_agg(response, VARIADIC ARRAY[features]) FROM (query) for a query of plain numbers that a
 * foreign server computes, where the custom scan can take it. result: type of the state
 */
extern GrPlan *gr_plan_plain_sums(const GrIngest *ingest, Oid result);

/* Sets ingest->nfeatures and names from the columns, whose widths must be known. */
extern void gr_name_ingested(GrIngest *ingest);

/*
 * Like gr_name_ingested(), for rows with nfeatures features that an aggregate has summed. An array of unknown width
 * gets what the other columns leave of nfeatures.
 */
extern void gr_name_summed(GrIngest *ingest, int nfeatures);

/*
 * Runs the query in this process and passes its rows to a job. Memory does not grow with the number of rows, except for
 * rows that the job keeps. The current memory context owns the job and the names. options: shape, rules and names are
 * set here, from the first complete row
 */
extern void gr_ingest_read_here(GrIngest *ingest, const GrJobOptions *options);

/*
 * Reads the first complete rows of a query, at most nrows, in this process, by a plan without workers. They are kept in
 * a job in memory on the CPU, in the current memory context. Returns NULL if the first row is not cheap (a sort or an
 * aggregate reads all rows first), or if no complete row was met. ingest is not changed.
 */
extern GrJob *gr_ingest_sample(const GrIngest *ingest, int64 nrows);

/* Returns the moves to apply to a solved fit; NULL if there are none. */
static inline const GrTermMoves *
gr_ingest_moves(const GrIngest *ingest)
{
	return ingest->row_design == ingest->design ? NULL : gr_frame_moves(ingest->row_design);
}

/*
 * Raises an ERROR if an expression of the formula is not defined for some rows, which were skipped as if they had a
 * NULL. nskipped: number of skipped rows; 0: there is nothing to check
 */
extern void gr_ingest_check(const GrIngest *ingest, int64 nskipped);

/* Calls gr_ingest_check(), then gr_raise_no_rows(). */
extern void gr_raise_no_ingested(const GrIngest *ingest, int64 nskipped) __attribute__((noreturn));

/* Raises the ERROR that the query had no row without a NULL. */
extern void gr_raise_no_rows(int64 nskipped) __attribute__((noreturn));

#endif							/* GPUREG_INGEST_H */
