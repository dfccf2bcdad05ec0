/*
 * ingest.h: a query's rows -> blocks of float8.
 */
#ifndef GPUREG_INGEST_H
#define GPUREG_INGEST_H

#include "postgres.h"

#include "executor/spi.h"
#include "lib/stringinfo.h"

#include "args.h"
#include "bridge.h"
#include "job.h"

/* Plans a query. The caller is connected to SPI. */
extern SPIPlanPtr gr_prepare_query(const char *query);

/* ERROR unless the plan is one SELECT that neither writes nor locks rows; else its row type. */
extern TupleDesc gr_check_query(SPIPlanPtr plan);

/* The planner's word on how many rows will come. */
extern double gr_estimate_rows(SPIPlanPtr plan);

/* Does the query give the same rows when it is run again under the same snapshot? */
extern bool gr_is_repeatable(SPIPlanPtr plan);

/*
 * Runs the query for its first row, if that comes at little cost; true if there is one, which is then in SPI_tuptable, to be freed by the
 * caller. For a query that may be run twice.
 */
extern bool gr_peek_at_row(SPIPlanPtr plan);

/*
 * Turns jit off for plans of the extension's own: compiling the calls of one function takes longer than it gains, in each worker and for each
 * pass. AtEOXact_GUC(true, level) with the level returned brings the setting back, as the end of a failed subtransaction does.
 */
extern int	gr_turn_jit_off(void);

/* What a DestReceiver that cares for nothing but rows has for its other functions. */
extern void gr_receiver_startup(DestReceiver *self, int operation, TupleDesc typeinfo);
extern void gr_receiver_nothing(DestReceiver *self);

/* A query, and what reading it gave. */
typedef struct GrIngest
{
	/* from gr_ingest_prepare() */
	const char *query;
	Oid			namespace;		/* where the extension's functions are */
	SPIPlanPtr	plan;
	int			ncolumns;
	GrColumn   *columns;		/* the response first; an array's width is the first row's, or -1 */
	double		nrows_estimate; /* the planner's */
	int			nfeatures_estimate; /* right, unless the width of an array isn't known */
	bool		has_arrays;
	bool		widths_known;	/* all of them are */
	SPIPlanPtr	ring_plan;		/* gr_plan_ring()'s, when it was called */
	int32	   *packed;			/* its arguments; see gr_write_arguments() */
	int			narguments;
	int			nworkers;		/* that are planned for it */
	bool		repeatable;		/* it gives the same rows when it is run again under the same snapshot */
	bool		real_features;	/* every feature is of type real */
	bool		single;			/* every feature's values fit float4 as they are */

	/* from gr_ingest_read() */
	GrJob	   *job;			/* NULL if no complete row was seen */
	int			nfeatures;
	const char **names;			/* nfeatures + 1: the terms, then the response */
	int64		nrows;
	int64		nskipped;
	bool		overflowed;		/* the rows don't fit: reading stopped, and the job is released */
} GrIngest;

/*
 * Looks a query over, and plans it; where it has arrays, and its first row comes at little cost, that too. function: an SQL function of the
 * extension's, in whose schema aggregates are looked for. The caller is connected to SPI. ERRORs for whatever the query may not be.
 */
extern void gr_ingest_prepare(const char *query, Oid function, GrIngest *ingest);

/*
 * What a job over these rows takes on the CPU, as products of one process's; see gr_job_work(). What parallel workers would share is divided by
 * their number; rows that would be read again for each pass count for that too.
 */
extern double gr_ingest_work(GrIngest *ingest, GrJobKind kind);

/* Plans the aggregate that brings the rows into a ring; false if it wouldn't run in parallel. See ring_reader.h. */
extern bool gr_plan_ring(GrIngest *ingest);

/* The names of the query's columns as a text[] */
extern Datum gr_column_names(const GrIngest *ingest);

/*
 * Writes the arguments of an aggregate over the query's columns, ", c0, c1 ..": these as they are, or, where there are too many, arrays
 * made of the numbers among them, of float8 or, if ingest->single, of float4. packed, with room for a column each: of how many columns an
 * argument is such an array, or 0. Returns how many arguments there are.
 */
extern int	gr_write_arguments(const GrIngest *ingest, StringInfo sql, int32 *packed);

/* Sets ingest->names, where nfeatures and the arrays' widths are known. */
extern void gr_name_ingested(GrIngest *ingest);

/*
 * Runs the query, whose first column is the response and the others features, and hands its rows to a job: through a ring and parallel
 * workers where there is a device, else through this process alone. Memory doesn't grow with their number, but for what the job keeps. The
 * result's memory is of the context current at the call. options: but for the number of features and their names, which the first complete
 * row tells.
 */
extern void gr_ingest_read(GrIngest *ingest, const GrJobOptions *options);

/*
 * The first rows of a query, at most nrows of them, for a look at them: those without a NULL are kept in a job in memory on the CPU, of the
 * current context. Read by this process alone, from a plan of its own; NULL if that one's first row comes at some cost (a sort or an
 * aggregate must see all rows), or if no complete row was seen. ingest: where gr_ingest_read() has been, it stays as it is.
 */
extern GrJob *gr_ingest_sample(const GrIngest *ingest, int64 nrows);

/*
 * The statement in a query's text, without what may stand around it: semicolons, white space. The query must have passed
 * gr_ingest_prepare().
 */
extern char *gr_bare_statement(const char *query);

/*
 * Plans SELECT namespace.aggregate(arguments) FROM (query) AS q(c0, c1, ..), with parameters of these types; *nworkers says how many parallel
 * workers it would run in. The query must have passed gr_check_query(); the caller is connected to SPI.
 */
extern SPIPlanPtr gr_plan_aggregate(const char *query, int ncolumns, Oid namespace, const char *aggregate, const char *arguments,
									int nparams, Oid *types, int *nworkers);

/* Runs such a plan; the result is in SPI_tuptable, which the caller frees. Leaves SPI's context current, as SPI does. */
extern Datum gr_execute_aggregate(SPIPlanPtr plan, Datum *values, bool *isnull);

/* The query had no row without a NULL. */
extern void gr_raise_no_rows(int64 nskipped) __attribute__((noreturn));

#endif							/* GPUREG_INGEST_H */
