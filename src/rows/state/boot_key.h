/*
 * boot_key.h: computes the integer keys of values, which decide their draws in a bootstrap; see also boot_draw.h.
 */
#ifndef GPUREG_BOOT_KEY_H
#define GPUREG_BOOT_KEY_H

#include "postgres.h"

#include "fmgr.h"

/* Raises an error unless values of type have keys. name: the query's column, for the message */
extern void gr_check_boot_key(Oid type, const char *name);

/* Raises an error unless type, of a column of folds, is an integer type or boolean. name: as above */
extern void gr_check_fold(Oid type, const char *name);

/*
 * True if values of the type, or of the type below a domain, have keys of clusters (gpu_cluster_key): integers that are
 * equal exactly if the values are.
 */
extern bool gr_has_cluster_keys(Oid type);

/* Returns the base type of an argument. Raises an error if its values have no keys. */
extern Oid	gr_boot_key_type(FunctionCallInfo fcinfo, int argument);

/* Returns the key of a value: an integer within +-2^53. type: a base type whose values have keys */
extern int64 gr_boot_key_of(Oid type, Datum value);

/* Returns the key of a text in the server's encoding. Trailing blanks count. */
extern int64 gr_boot_text_key(const char *bytes, int nbytes);

#endif							/* GPUREG_BOOT_KEY_H */
