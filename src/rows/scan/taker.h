/*
 * taker.h: what takes the rows of a scan: it does the work of an aggregate's transition function, a block of rows at a
 * time, and ends with the value that the aggregate's partial state would be.
 *
 * Which aggregates have one is told by the address of their transition and combine functions: only a superuser can
 * declare a function in C, while an aggregate over one may be anybody's. Its arguments are of three kinds: some are the
 * same for every row, some give a row's numbers, and where the last one is an array that is written out, its elements
 * do.
 */
#ifndef GPUREG_TAKER_H
#define GPUREG_TAKER_H

#include "postgres.h"

#include "fmgr.h"
#include "nodes/primnodes.h"

#include "rows/columns/columns.h"

typedef struct GrTakerKind GrTakerKind;

/* What an aggregate's arguments are to its taker */
typedef struct GrTakerCall
{
	const GrTakerKind *kind;
	List	   *constants;		/* expressions that are the same for every row */
	Oid			transition;		/* the functions that the taker stands for */
	Oid			combine;
	List	   *sources;		/* expressions of the values that a row is made of: those with a role first */
	bool		vector;			/* the last source is an array of float8: all features of an aggregate over arrays */
} GrTakerCall;

/*
 * The call that an Aggref is; false if there is no taker for it, or one can't do what it asks for. What it costs is
 * little where the aggregate isn't one of this extension's.
 */
extern bool gr_taker_call(const Aggref *aggregate, GrTakerCall *call);

/* Rows that wait in a taker at most, but for a ring's */
#define GR_TAKER_ROWS_MAX 512

/* Can its rows be taken by groups? Not where each group's arrays may have a length of their own */
extern bool gr_taker_groups(const GrTakerCall *call);

typedef struct GrTaker
{
	const GrTakerKind *kind;
	FunctionCallInfo fcinfo;	/* of the transition function, with its constants */
	int			nsources;
	const Oid  *types;			/* of the sources */
	GrColumns  *columns;		/* how a row is made of the sources' values; NULL until it was started */
	const char *const *names;	/* for messages; or NULL */
	bool		vector;
	bool		discards;		/* nobody wants rows any more */
	GrRowShape	shape;			/* of its rows; nfeatures: -1 until the first complete one */
	Size		row_nbytes;
	char	   *at;				/* where the next row goes */
	int64		nrows;			/* rows before it that weren't handed on */
	int64		capacity;		/* of these; 0: there is no room yet */
	char	   *rows;			/* where they are; NULL: in a ring */
	int64		nskipped;
	struct GrState *state;		/* NULL: of a ring or a request, or none yet */
	struct GrRequestSums *sums; /* of a request; NULL: none yet */
	struct GrProducer *producer;
	MemoryContext context;		/* of all that it has */
	MemoryContext statement;
} GrTaker;

/*
 * A taker in the current memory context, which must outlive its result. types: of the sources, which differ from those
 * of the aggregate's arguments where a cast to float8 was left out, that this does by itself. statement: the memory of
 * the statement that is being run
 */
extern GrTaker *gr_taker_create(const GrTakerCall *call, const Aggref *aggregate, const Oid *types,
								MemoryContext statement);

/* At the first row, complete or not; its constants are in fcinfo->args[1] and up. */
extern void gr_taker_start(GrTaker *taker);

/*
 * Makes room for a row of numbers at *at, where there is none; false if nobody wants rows any more. Not with a vector
 * or arrays of unknown width
 */
extern bool gr_taker_make_room(GrTaker *taker);

static inline bool
gr_taker_has_room(const GrTaker *taker)
{
	return taker->nrows < taker->capacity;
}

/* A row is at *at. */
static inline void
gr_taker_count_row(GrTaker *taker)
{
	taker->nrows++;
	taker->at += taker->row_nbytes;
}

/* A row of these values, one for each source. Allocates in the current memory context */
extern void gr_taker_take(GrTaker *taker, const Datum *values, const bool *isnull);

/*
 * Of scans with groups: instead of into one state, the rows before *at go into those of their groups, at states[k] for
 * row number k, where they wait with others of their group. context: of the states
 */
extern void gr_taker_scatter(GrTaker *taker, struct GrState **const *states, MemoryContext context);

/* A row that was the last one is not taken, but somebody else's. */
static inline const char *
gr_taker_take_back(GrTaker *taker)
{
	taker->nrows--;
	taker->at -= taker->row_nbytes;
	return taker->at;
}

/* Rows that wait in a group's state at most */
#define GR_TAKER_WAITING_MAX 32

/* The partial state, in context, of a group that has no complete row */
extern struct GrState *gr_taker_empty_state(const GrTaker *taker, MemoryContext context);

/* No row is to come: the partial state, in the taker's memory. *isnull: there is none */
extern Datum gr_taker_finish(GrTaker *taker, bool *isnull);

#endif							/* GPUREG_TAKER_H */
