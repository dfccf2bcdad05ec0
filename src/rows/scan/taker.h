/*
 * taker.h: takes the rows of a custom scan in place of an aggregate's transition function, a block of rows at a time,
 * and returns the aggregate's partial state.
 *
 * An aggregate has a taker if its transition function is a known function of this library, by address, and its combine
 * function has the right symbol in C. The name proves nothing: anybody can declare an aggregate, but only a superuser a
 * function in C. The first arguments are constants, the same for every row. The others are sources of a row's numbers.
 * If the last argument is an array constructor, its elements are the sources.
 */
#ifndef GPUREG_TAKER_H
#define GPUREG_TAKER_H

#include "postgres.h"

#include "fmgr.h"
#include "nodes/primnodes.h"

#include "rows/columns/columns.h"

typedef struct GrTakerKind GrTakerKind;

/* An aggregate's call, with its arguments divided into constants and sources */
typedef struct GrTakerCall
{
	const GrTakerKind *kind;
	List	   *constants;		/* expressions of arguments that are the same for every row */
	Oid			transition;		/* transition function that the taker replaces */
	Oid			combine;		/* combine function of the aggregate */
	List	   *sources;		/* expressions of the values that a row is made of, those with a role first */
	Bitmapset  *numeric_casts;	/* sources without their cast from numeric to float8 */
	bool		vector;			/* the last source is a float8[] with all features */
} GrTakerCall;

/*
 * Fills *call from aggregate. Returns false if there is no taker for it, or the call has DISTINCT, ORDER BY or a
 * constant argument that depends on columns. Cheap for aggregates of other extensions.
 */
extern bool gr_taker_call(const Aggref *aggregate, GrTakerCall *call);

/* Largest number of rows in a taker's block; a ring, or a request with a block size, has its own limit */
#define GR_TAKER_ROWS_MAX 512

/* True if the taker can divide its rows among groups. False for a vector, whose length may differ between groups. */
extern bool gr_taker_groups(const GrTakerCall *call);

/* A taker with its block of rows */
typedef struct GrTaker
{
	const GrTakerKind *kind;
	FunctionCallInfo fcinfo;	/* call of the transition function, with the constants as arguments */
	int			nsources;
	const Oid  *types;			/* [nsources] base types of the sources' values */
	const Bitmapset *numeric_casts; /* sources whose cast from numeric to float8 the taker does itself */
	GrColumns  *columns;		/* conversion of the sources' values to a row; NULL before gr_taker_start() */
	const char *const *names;	/* names of the columns for messages, or NULL */
	bool		vector;			/* the call's vector */
	bool		discards;		/* the ring accepts no more rows */
	GrRowShape	shape;			/* shape of the rows; nfeatures is -1 before the first complete row */
	Size		row_nbytes;		/* size of a row */
	char	   *at;				/* address of the next row in the block */
	int64		nrows;			/* rows in the block */
	int64		capacity;		/* rows that the block can hold; 0: there is no block yet */
	char	   *rows;			/* the block; NULL if it is in a ring */
	int64		nskipped;		/* rows left out for a NULL */
	struct GrState *state;		/* sums of the rows handed on; NULL: none yet, or a ring or request */
	struct GrRequestSums *sums; /* sums of a request; NULL: none yet, or not a request */
	struct GrProducer *producer;	/* producer of a ring, or NULL */
	MemoryContext context;		/* holds all that the taker allocates */
	MemoryContext statement;	/* memory of the running statement */
} GrTaker;

/*
 * Creates a taker in the current memory context, which must live until the result of gr_taker_finish() was used. types:
 * base types of the sources without casts to float8 (gr_without_cast()), which the taker does itself. statement: memory
 * of the running statement
 */
extern GrTaker *gr_taker_create(const GrTakerCall *call, const Aggref *aggregate, const Oid *types,
								MemoryContext statement);

/* Starts a taker at the first row, complete or not. The caller has set the constants in fcinfo->args[1] and up. */
extern void gr_taker_start(GrTaker *taker);

/*
 * Makes room for a row at taker->at. Returns false if no more rows are accepted. Must not be called with a vector or
 * arrays of unknown width.
 */
extern bool gr_taker_make_room(GrTaker *taker);

/* Likewise, for rows whose arrays have the widths of those in values[nsources]. */
extern bool gr_taker_make_room_like(GrTaker *taker, const Datum *values);

static inline bool
gr_taker_has_room(const GrTaker *taker)
{
	return taker->nrows < taker->capacity;
}

/* Counts a row that the caller has written at taker->at. */
static inline void
gr_taker_count_row(GrTaker *taker)
{
	taker->nrows++;
	taker->at += taker->row_nbytes;
}

/* Converts values[nsources] to a row and appends it. Skips rows with a NULL. May allocate in the current context. */
extern void gr_taker_take(GrTaker *taker, const Datum *values, const bool *isnull);

/*
 * Moves the rows of the block into states of groups, for a scan with groups. Row k goes to *states[k], where it waits
 * with other rows of its group; a state that is NULL is created. context: memory of the states; once it has limit
 * bytes, states get no more room for waiting rows, which are summed earlier
 */
extern void gr_taker_scatter(GrTaker *taker, struct GrState **const *states, MemoryContext context, Size limit);

/* Returns the size of the state of a new group, in bytes. */
extern Size gr_taker_group_nbytes(const GrTaker *taker);

/* Removes the last row from the block. Returns its address. */
static inline const char *
gr_taker_take_back(GrTaker *taker)
{
	taker->nrows--;
	taker->at -= taker->row_nbytes;
	return taker->at;
}

/* Largest number of rows that wait in a group's state */
#define GR_TAKER_WAITING_MAX 32

/* Creates the partial state of a group without complete rows, in context. */
extern struct GrState *gr_taker_empty_state(const GrTaker *taker, MemoryContext context);

/*
 * Returns the partial state after the last row, in the taker's memory; for a ring, the number of rows left out. Sets
 * *isnull if there is no state.
 */
extern Datum gr_taker_finish(GrTaker *taker, bool *isnull);

#endif							/* GPUREG_TAKER_H */
