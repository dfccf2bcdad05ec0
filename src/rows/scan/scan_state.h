/*
 * scan_state.h: what a custom scan keeps, and how it begins.
 */
#ifndef GPUREG_SCAN_STATE_H
#define GPUREG_SCAN_STATE_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "nodes/extensible.h"

#include "rows/scan/heap_rows.h"
#include "rows/scan/scan_groups.h"
#include "rows/scan/scan_values.h"
#include "rows/scan/taker.h"

/* Numbers of a row that are as many of a tuple, in the same order */
typedef struct GrScanSpan
{
	int32		from;			/* bytes, in a tuple without NULLs */
	int			n;
} GrScanSpan;

/* An aggregate, and how a tuple becomes a row of it */
typedef struct GrScanAggregate
{
	const Aggref *call;
	GrTakerCall parts;
	ExprState  *filter;
	List	   *constants;		/* ExprStates */
	int			nsources;
	ExprState **sources;		/* NULL each where all are columns of numbers */
	Oid		   *types;			/* of their values */
	Datum	   *values;
	bool	   *isnull;

	bool		direct;			/* all sources are columns of numbers */
	GrNumberKind *kinds;		/* of these */
	AttrNumber *attributes;
	/* of such a row's numbers, in their order: how and where they are read */
	int			nroles;			/* the last ones */
	GrNumberKind *row_kinds;
	bool		any_bigint;		/* some are GR_INT8_EXACT */
	int		   *wanted;			/* which of the wanted attributes */
	int32	   *fixed;			/* where they are in tuples without NULLs, if that is always the same */
	int32	   *row_at;			/* where they are in another */
	bool		all_float8;
	int			nspans;			/* of a row of float8 alone: its numbers that lie side by side in a tuple, too */
	GrScanSpan *spans;

	GrTaker    *taker;			/* of the scan that is running */
	struct GrState ***states;	/* with groups: where the taker's rows go */
} GrScanAggregate;

/* A key of groups */
typedef struct GrScanKey
{
	ExprState  *value;
	bool		direct;			/* a column of fixed width and passed by value: where it is in a tuple */
	AttrNumber	attribute;
	int			wanted;
	int16		nbytes;
} GrScanKey;

typedef struct GrScanState
{
	CustomScanState css;
	SeqScanState *child;
	int			naggregates;
	GrScanAggregate *aggregates;
	int			ncomparisons;
	GrComparison *comparisons;	/* of the WHERE clause: what doesn't pass one isn't wanted */
	ExprState **constants;		/* of these */
	bool		has_more;		/* clauses than those */
	bool		by_slot;		/* something is wanted that only a slot can give */
	GrHeapColumns columns;		/* what comparisons and direct aggregates want of a tuple */
	int32	   *at;				/* where that is, in one that isn't like others */
	HeapTupleData tuple;		/* the one in the child's slot */
	MemoryContext scan_context; /* of what lives as long as a scan */

	int			nkeys;			/* 0: there are no groups */
	GrScanKey  *keys;
	GrGroupKey *group_keys;
	Datum	   *key_values;
	GrGroups   *groups;			/* of the scan that is running; NULL: none yet */
	GrExchange *shared;			/* of the parallel plan; NULL: it has none */
	GrExchange *exchange;		/* the same, of the scan that is running */
	int			process;		/* in it; -1: only reads */
	bool		wrote_groups;	/* to files of the exchange, before the end */
	int64		nexchanged;		/* for EXPLAIN: records, in all processes, as far as scans have ended */
	Size		nbytes_peak;	/* ... memory of the scan at the end of one, the most in this process */
	int64		nspilled;		/* ... that this process wrote to files of its own, or exchanged */
	GrGroup    *next;			/* to be returned */
	bool		emitting;

	double		npassed;
	double		nremoved;		/* by the WHERE clause */
} GrScanState;

/* As CustomExecMethods have it */
extern void gr_scan_begin(CustomScanState *node, EState *estate, int eflags);

/* At an aggregate's first row */
extern void gr_scan_start_aggregate(GrScanState *s, GrScanAggregate *a);

/*
 * With groups
 */

/* At the first row */
extern void gr_scan_begin_groups(GrScanState *s);

/* There is no memory for a group of the keys that the row has: the group, for which there is some now, or a file */
extern GrGroup *gr_scan_make_room(GrScanState *s, uint32 hash, uint32 nulls, BufFile **file);

/*
 * A row that an aggregate's taker, which had so many rows before, has looked at goes to the group, or, where there is
 * none, into the file.
 */
extern void gr_scan_put(GrScanState *s, int i, GrGroup *group, BufFile *file, int64 nrows_before);

/* No row is to come. */
extern void gr_scan_end_groups(GrScanState *s);

/* Reads the next file of records that wait, and makes s->next the first of its groups. False if there is none. */
extern bool gr_scan_read_waiting(GrScanState *s);

/*
 * For EXPLAIN
 */

/* Records that this process wrote to files for groups that found no room */
extern int64 gr_scan_count_spilled(const GrScanState *s);

/* Says how tuples are read, what came of that, and what of groups went through files; as CustomExecMethods have it. */
extern void gr_scan_explain(CustomScanState *node, List *ancestors, struct ExplainState *es);

/* Which of the wanted attributes one is */
extern int	gr_find_wanted(const GrHeapColumns *columns, AttrNumber attribute);

#endif							/* GPUREG_SCAN_STATE_H */
