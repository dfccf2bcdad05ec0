/*
 * args.h: what every function asks of its arguments.
 */
#ifndef GPUREG_ARGS_H
#define GPUREG_ARGS_H

#include "postgres.h"

#include "common/int.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/nodes.h"
#include "utils/array.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* In the loops over what a caller gave, however little each turn takes: k counts them. */
static inline void
gr_poll_loop(int64 k)
{
	if ((k & 0xffff) == 0xffff)
		CHECK_FOR_INTERRUPTS();
}

/* ERROR unless 1 <= p <= GR_MAX_FEATURES. */
extern void gr_check_nfeatures(int64 p);

/* ERROR if neither an intercept nor a feature is there: without terms there is no model. */
extern void gr_check_terms(int nfeatures, bool intercept);

extern void gr_raise_count(void) __attribute__((noreturn));

/* *count += more; ERROR on overflow, which only made-up states can bring about. */
static inline void
gr_add_count(int64 *count, int64 more)
{
	if (unlikely(pg_add_s64_overflow(*count, more, count)))
		gr_raise_count();
}

/* A sum of counts as a count; ERROR where it is more than a bigint holds. */
static inline int64
gr_count(double sum)
{
	if (unlikely(!(sum < 9223372036854775807.0)))
		gr_raise_count();
	return (int64) sum;
}

/* ERROR unless a row's number of features is that of the rows before it. */
extern void gr_raise_other_width(int expected, int p) __attribute__((noreturn));

static inline void
gr_check_same_width(int expected, int p)
{
	if (unlikely(p != expected))
		gr_raise_other_width(expected, p);
}

/* What array_agg says of arrays of different sizes or lower bounds */
extern void gr_raise_other_dimensions(void) __attribute__((noreturn));

/* Does an aggregate call the function? What AggCheckCallContext() says, without a call for each row */
static inline bool
gr_in_aggregate(FunctionCallInfo fcinfo)
{
	return fcinfo->context != NULL && (IsA(fcinfo->context, AggState) || IsA(fcinfo->context, WindowAggState));
}

/* ERROR unless the array has one dimension (or none, when it is empty). */
extern void gr_check_vector(ArrayType *array, const char *name);

/* ERROR if an array of rows has more than two dimensions. */
extern void gr_check_ndim(int ndim, const char *name);

/*
 * ERROR where array_agg would raise one, or gpu_ols over what it gives; first: no array came before. What is left has
 * one dimension, perhaps with another size or lower bound than those before.
 */
extern void gr_check_accumulated(ArrayType *x, bool first);

/* May the role call the function? */
extern bool gr_may_execute(Oid function, Oid role);

/* The name of the SQL function that is called, for messages that several have */
extern const char *gr_called_name(FunctionCallInfo fcinfo);

#endif							/* GPUREG_ARGS_H */
