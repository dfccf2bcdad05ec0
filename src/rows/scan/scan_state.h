/*
 * scan_state.h: the execution state of a custom scan, shared by scan_node.c, scan_begin.c, scan_grouped.c and
 * scan_explain.c.
 */
#ifndef GPUREG_SCAN_STATE_H
#define GPUREG_SCAN_STATE_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "nodes/extensible.h"

#include "rows/scan/heap_rows.h"
#include "rows/scan/scan_design.h"
#include "rows/scan/scan_folds.h"
#include "rows/scan/scan_groups.h"
#include "rows/scan/scan_transitions.h"
#include "rows/scan/scan_values.h"
#include "rows/scan/taker.h"

/* Adjacent float8 of a tuple that are adjacent numbers of a row, in the same order */
typedef struct GrScanSpan
{
	int32		from;			/* offset in a tuple without NULLs, in bytes */
	int			n;				/* number of float8 */
} GrScanSpan;

#define GR_SCAN_GUARDS_MAX 8

/* An aggregate of a scan, and how its rows are made of tuples */
typedef struct GrScanAggregate
{
	const Aggref *call;
	GrTransition *transition;	/* calls the aggregate's own functions; NULL: a taker takes the rows */
	GrTransitionValue value;	/* transition value of a scan without groups */
	GrTakerCall parts;			/* if transition is NULL */
	ExprState  *filter;			/* FILTER clause, or NULL */
	List	   *constants;		/* ExprStates of the arguments that are the same in all rows */
	int			nsources;
	ExprState **sources;		/* [nsources] expressions of the values that a row is made of */
	Oid		   *types;			/* [nsources] base types of those values */
	Datum	   *values;			/* [nsources] values of the current row */
	bool	   *isnull;			/* [nsources] */

	/* all sources are columns, of numbers or types that a transition reads in place; the members to spans need it */
	bool		direct;
	/* columns of a CASE around the response: a row in which one is NULL is skipped */
	int			nguards;
	AttrNumber	guards[GR_SCAN_GUARDS_MAX];
	int			guards_wanted[GR_SCAN_GUARDS_MAX];	/* indexes in columns.wanted of the scan */
	GrNumberKind *kinds;		/* [nsources] types, in the order of the sources */
	AttrNumber *attributes;		/* [nsources] attribute numbers, in the order of the sources */
	/* the remaining arrays are in the order of a row: features first, or with a transition in that of the sources */
	int			nroles;			/* columns with a role, which are the last of a row */
	GrNumberKind *row_kinds;	/* [nsources] types, with GR_INT8_EXACT */
	bool		any_bigint;		/* row_kinds has GR_INT8_EXACT */
	int		   *wanted;			/* [nsources] indexes in columns.wanted of the scan */
	int32	   *fixed;			/* [nsources] offsets in tuples without NULLs; -1: they vary */
	int32	   *row_at;			/* [nsources] offsets in the current tuple */
	bool		all_float8;		/* row_kinds has only GR_FLOAT8 */
	int			nspans;			/* used if all_float8 is true and no element of fixed is -1 */
	GrScanSpan *spans;

	GrScanDesign *design;		/* features that a formula makes of columns; NULL: other sources */
	GrTaker    *taker;			/* taker of the running scan; NULL before the first row, or with a transition */
	int64		nwith_states;	/* with groups: groups in memory when the taker's rows were last moved into states */
	struct GrState ***states;	/* with groups: [GR_TAKER_ROWS_MAX] for each row of taker, the group's state pointer */
} GrScanAggregate;

/* A column of GROUP BY */
typedef struct GrScanKey
{
	ExprState  *value;
	bool		direct;			/* the key is a column passed by value, or a text, and read from the tuple */
	AttrNumber	attribute;		/* if direct */
	int			wanted;			/* if direct: index in columns.wanted of the scan */
	GrScanFold *fold;			/* the key is a fold computed from columns; else NULL */
	int16		nbytes;			/* the type's typlen */
} GrScanKey;

typedef struct GrScanState
{
	CustomScanState css;
	SeqScanState *child;
	int			naggregates;
	GrScanAggregate *aggregates;
	ExprContext *transition_memory; /* holds transition values; NULL: no aggregate has a transition */
	ExprContext *spill_memory;	/* in place of transition_memory for a row that goes to a file */
	int			ncomparisons;
	GrComparison *comparisons;	/* comparisons in the WHERE clause, all of which a row must pass */
	ExprState **constants;		/* [ncomparisons] constants of the comparisons */
	bool		has_constants;	/* the constants have been evaluated in the running scan */
	bool		has_policies;	/* policies or security barriers apply to the table */
	bool		has_more;		/* the WHERE clause has more than comparisons */
	bool		by_slot;		/* the WHERE clause, an aggregate or a key needs the tuple in a slot */
	bool		has_texts;		/* texts of keys of the row before are in the row's memory */
	GrHeapColumns columns;		/* attributes for comparisons, direct keys and direct aggregates */
	int32	   *at;				/* [columns.n] offsets in the current tuple if they aren't columns.fixed */
	HeapTupleData tuple;		/* the tuple in the child's slot */
	MemoryContext scan_context; /* reset by a rescan */

	int			nkeys;			/* 0: there are no groups */
	GrScanKey  *keys;
	GrGroupKey *group_keys;
	Datum	   *key_values;		/* [nkeys] keys of the current row */
	GrGroups   *groups;			/* groups of the running scan; NULL before the first row */
	GrExchange *shared;			/* exchange of the parallel plan, or NULL */
	GrExchange *exchange;		/* shared while the scan is running, else NULL */
	int			process;		/* this process's number in the exchange; -1: it only reads */
	/*
	 * Rows of simple pages wait in the taker of the only aggregate, until the folds of all of them are drawn. The only
	 * key is the fold.
	 */
	bool		has_undrawn;	/* the folds of the taker's rows are not drawn yet */
	int64	   *fold_keys;		/* [GR_TAKER_ROWS_MAX] keys of these rows; NULL: folds are drawn from the rows */
	int		   *fold_columns;	/* positions in a row of the values that folds are drawn from */
	bool		wrote_groups;	/* groups went to files of the exchange before the scan's end */
	int64		nexchanged;		/* for EXPLAIN: records of all processes in exchanges that have ended */
	Size		nbytes_peak;	/* for EXPLAIN: largest scan_context at the end of a scan in this process */
	int64		nspilled;		/* for EXPLAIN: records that this process wrote to files in earlier scans */
	GrGroup    *next;			/* next group to be returned */
	bool		emitting;		/* the table was read, and results are being returned */

	double		npassed;		/* rows that passed the WHERE clause */
	double		nremoved;		/* rows that did not */
} GrScanState;

/* BeginCustomScan of the node */
extern void gr_scan_begin(CustomScanState *node, EState *estate, int eflags);

/* Creates and starts the taker of a. Called at the aggregate's first row. */
extern void gr_scan_start_aggregate(GrScanState *s, GrScanAggregate *a);

/*
 * Rows; see scan_rows.c
 */

/* Gives the tuples of a page that pass the WHERE clause to all aggregates. */
extern void gr_scan_take_page(GrScanState *s, const GrHeapPage *page);

/* Gives the tuple in the child's slot to all aggregates if it passes the WHERE clause. */
extern void gr_scan_take_slot(GrScanState *s);

/*
 * With groups
 */

/* Creates s->groups, at the first row. They may take what a hash table may (get_hash_memory_limit()). */
extern void gr_scan_begin_groups(GrScanState *s);

/*
 * Called when there is no memory for the group of s->key_values. Returns the group if writing all groups to files made
 * room. Otherwise begins a record in *file and returns NULL.
 */
extern GrGroup *gr_scan_make_room(GrScanState *s, uint32 hash, uint32 nulls, BufFile **file);

/*
 * Assigns the row that the taker of aggregate i has just looked at to group, or writes it to file if group is NULL.
 * nrows_before: number of the taker's rows before that row; unchanged if the row was skipped
 */
extern void gr_scan_put(GrScanState *s, int i, GrGroup *group, BufFile *file, int64 nrows_before);

/* Gives the taker's rows to their groups, which gr_scan_put() has noted or gr_scan_put_folds() finds. */
extern void gr_scan_scatter(GrScanState *s, GrScanAggregate *a);

/* Finds, or adds, the groups of the taker's rows by their folds, and gives the rows to the groups. */
extern void gr_scan_put_folds(GrScanState *s);

/* Called after the last row: exchanges groups if there is an exchange, and sets s->next to the first group. */
extern void gr_scan_end_groups(GrScanState *s);

/* Reads the next waiting file or partition, and sets s->next to its first group. Returns false if none is left. */
extern bool gr_scan_read_waiting(GrScanState *s);

/*
 * For EXPLAIN
 */

/* Number of records that this process wrote to files, for groups without memory or for the exchange */
extern int64 gr_scan_count_spilled(const GrScanState *s);

/* ExplainCustomScan of the node: shows how tuples are read, the rows and speed, and the records in files. */
extern void gr_scan_explain(CustomScanState *node, List *ancestors, struct ExplainState *es);

/* Returns the index of attribute in columns->wanted, which must have it. */
extern int	gr_find_wanted(const GrHeapColumns *columns, AttrNumber attribute);

#endif							/* GPUREG_SCAN_STATE_H */
