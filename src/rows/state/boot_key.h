/*
 * boot_key.h: the keys by which a bootstrap draws; boot_draw.h says what values have which.
 */
#ifndef GPUREG_BOOT_KEY_H
#define GPUREG_BOOT_KEY_H

#include "postgres.h"

#include "fmgr.h"

/* ERROR unless values of the type, which the query's column of that name has, have keys. */
extern void gr_check_boot_key(Oid type, const char *name);

/* ERROR unless it is a type of integers or boolean, as that of a column of folds must be, whose keys are themselves. */
extern void gr_check_fold(Oid type, const char *name);

/*
 * True if values of the type, or of the type below a domain, have keys of clusters (gpu_cluster_key): integers that are
 * equal exactly if the values are.
 */
extern bool gr_has_cluster_keys(Oid type);

/* The type of an argument, whose values have keys; ERROR if they don't. */
extern Oid	gr_boot_key_type(FunctionCallInfo fcinfo, int argument);

/* The key of a value of such a type: an integer that is within 2^53 */
extern int64 gr_boot_key_of(Oid type, Datum value);

/* The key of a text, whose blanks at the end count */
extern int64 gr_boot_text_key(const char *bytes, int nbytes);

#endif							/* GPUREG_BOOT_KEY_H */
