/*
 * scan_transitions.h: aggregates beside this extension's in a custom scan, such as count(*). The scan calls their
 * transition functions as the executor's aggregate node (nodeAgg.c) does, and returns their partial states.
 */
#ifndef GPUREG_SCAN_TRANSITIONS_H
#define GPUREG_SCAN_TRANSITIONS_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "storage/buffile.h"

#include "rows/scan/heap_rows.h"

typedef struct GrTransition GrTransition;

/* Transition value of an aggregate, or of one of its groups. All zeros: no row yet. */
typedef struct GrTransitionValue
{
	Datum		value;
	bool		isnull;
	bool		begun;			/* the initial value has been set */
	bool		awaits_input;	/* the next input that is not NULL becomes the value */
} GrTransitionValue;

/*
 * True if a custom scan can compute the partial state of aggregate: a plain aggregate, without DISTINCT and ORDER BY,
 * that parallel workers could compute in parts.
 */
extern bool gr_transition_possible(const Aggref *aggregate);

/*
 * Prepares calls for aggregate, in the current memory context. parent: the node whose slot has the rows. memory:
 * the context whose ecxt_per_tuple_memory holds transition values. Checks the privileges of the aggregate's owner
 * unless the statement is only explained.
 */
extern GrTransition *gr_transition_create(const Aggref *aggregate, PlanState *parent, ExprContext *memory,
										  bool explains);

/* Makes memory the context whose ecxt_per_tuple_memory holds transition values. */
extern void gr_transition_use(GrTransition *transition, ExprContext *memory);

/* Number of arguments of the aggregate */
extern int	gr_transition_nargs(const GrTransition *transition);

/*
 * If all arguments are columns of table that are passed by value, or varlenas aligned to int, returns true and sets
 * attributes[] to their numbers: the functions below with data and at may be used.
 */
extern bool gr_transition_direct(GrTransition *transition, TupleDesc table, AttrNumber *attributes);

/* Applies the transition function to the row in econtext. Allocates in the current memory context. */
extern void gr_transition_take(GrTransition *transition, GrTransitionValue *value, ExprContext *econtext);

/* Like gr_transition_take(), for a row whose arguments are at data + at[k]; at[k] < 0: argument k is NULL. */
extern void gr_transition_take_direct(GrTransition *transition, GrTransitionValue *value, const char *data,
									  const int32 *at);

/* Like gr_transition_take(), for n rows without NULLs, whose arguments are at rows[] + at[k]. */
extern void gr_transition_take_rows(GrTransition *transition, GrTransitionValue *value, const char *const *rows, int n,
									const int32 *at);

/* Returns the partial state of value. May allocate in the current memory context. */
extern Datum gr_transition_partial(GrTransition *transition, GrTransitionValue *value, bool *isnull);

/* Writes the partial state of value to a file. */
extern void gr_transition_write(GrTransition *transition, GrTransitionValue *value, BufFile *file);

/* Reads a partial state from file and merges it into value. */
extern void gr_transition_merge(GrTransition *transition, GrTransitionValue *value, BufFile *file);

/* Copies a partial state from one file to another. */
extern void gr_transition_copy(BufFile *from, BufFile *to);

#endif							/* GPUREG_SCAN_TRANSITIONS_H */
