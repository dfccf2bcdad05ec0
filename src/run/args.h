/*
 * args.h: checks of arguments that SQL functions share.
 */
#ifndef GPUREG_ARGS_H
#define GPUREG_ARGS_H

#include "postgres.h"

#include "catalog/pg_proc.h"
#include "common/int.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/nodes.h"
#include "utils/acl.h"
#include "utils/array.h"

#include "compute/base/compute.h"
#include "run/compat.h"

/* Polls for interrupts in a loop over a caller's values, once in 65,536 turns. k: number of the turn. */
static inline void
gr_poll_loop(int64 k)
{
	if ((k & 0xffff) == 0xffff)
		CHECK_FOR_INTERRUPTS();
}

/* ERROR unless 1 <= p <= GR_MAX_FEATURES. */
extern void gr_raise_nfeatures(int64 p) __attribute__((noreturn));

static inline void
gr_check_nfeatures(int64 p)
{
	if (unlikely(p < 1 || p > GR_MAX_FEATURES))
		gr_raise_nfeatures(p);
}

extern void gr_raise_no_terms(void) __attribute__((noreturn));

/* ERROR if a model has no terms: neither an intercept nor features. */
static inline void
gr_check_terms(int nfeatures, bool intercept)
{
	if (nfeatures == 0 && !intercept)
		gr_raise_no_terms();
}

extern void gr_raise_count(void) __attribute__((noreturn));

/* Adds more to *count. ERROR on overflow, which only made-up states can cause. */
static inline void
gr_add_count(int64 *count, int64 more)
{
	if (unlikely(pg_add_s64_overflow(*count, more, count)))
		gr_raise_count();
}

/* Returns a sum of counts as a count. ERROR if a bigint cannot hold it. */
static inline int64
gr_count(double sum)
{
	if (unlikely(!(sum < 9223372036854775807.0)))
		gr_raise_count();
	return (int64) sum;
}

/* Raises the ERROR of gr_check_same_width(). */
extern void gr_raise_other_width(int expected, int p) __attribute__((noreturn));

/* ERROR unless a row's number of features, p, is that of the rows before it, expected. */
static inline void
gr_check_same_width(int expected, int p)
{
	if (unlikely(p != expected))
		gr_raise_other_width(expected, p);
}

/* Raises the ERROR that array_agg raises for arrays of different sizes or lower bounds. */
extern void gr_raise_other_dimensions(void) __attribute__((noreturn));

/* True if an aggregate calls the function. An inline form of AggCheckCallContext(), as it is needed for each row. */
static inline bool
gr_in_aggregate(FunctionCallInfo fcinfo)
{
	return fcinfo->context != NULL && (IsA(fcinfo->context, AggState) || IsA(fcinfo->context, WindowAggState));
}

/* True if argument k is a boolean, or of a domain over boolean, as the calling expression says. */
extern bool gr_argument_is_boolean(FmgrInfo *flinfo, int k);

/* Keeps in fn_extra whether argument k is a boolean. */
extern void gr_keep_is_boolean(FunctionCallInfo fcinfo, int k);

/*
 * Returns argument k, a boolean or a double precision that is not NULL, as a number. The argument's type is read at the
 * first call and kept in fn_extra, which the function has no other use for.
 */
static inline double
gr_number_argument(FunctionCallInfo fcinfo, int k)
{
	if (unlikely(fcinfo->flinfo->fn_extra == NULL))
		gr_keep_is_boolean(fcinfo, k);
	if (*(const bool *) fcinfo->flinfo->fn_extra)
		return PG_GETARG_BOOL(k) ? 1 : 0;
	return PG_GETARG_FLOAT8(k);
}

/* True if argument argno, called name, is the second of two words; false if it is the first. ERROR for all others. */
extern bool gr_is_second_word(FunctionCallInfo fcinfo, int argno, const char *name, const char *first,
							  const char *second);

/* Returns the context of the calling aggregate's states. ERROR if no aggregate calls the function. */
extern MemoryContext gr_aggregate_context(FunctionCallInfo fcinfo);

/* ERROR unless the array has one dimension (or none, when it is empty). */
extern void gr_check_vector(ArrayType *array, const char *name);

/* ERROR if an array of rows has more than two dimensions. */
extern void gr_check_ndim(int ndim, const char *name);

/*
 * ERROR if array_agg would reject x, or gpu_ols would reject the array that array_agg makes. first: x is the group's
 * first array. An accepted x has one dimension; its size and lower bound may differ from those of earlier arrays.
 */
extern void gr_check_accumulated(ArrayType *x, bool first);

/* True if the role may execute the function. */
static inline bool
gr_may_execute(Oid function, Oid role)
{
	return gr_function_aclcheck(function, role, ACL_EXECUTE) == ACLCHECK_OK;
}

/* Returns the name of the SQL function that is called, for messages that several functions share. */
extern const char *gr_called_name(FunctionCallInfo fcinfo);

#endif							/* GPUREG_ARGS_H */
